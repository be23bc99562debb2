"""Counts and ratios of each arm: what it caught, what it costs to follow it, and what that means at the natural flip rate.

Two figures must never be confused. The *charged* ones count a question without a verdict as held; they are the main figures. The
*covered-only* ones (``covered_…``) leave such questions out and are worth nothing without the coverage beside them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

COUNTS = ["n", "flips", "fires", "tp", "fp", "fn", "tn", "covered", "covered_flips"]
BASE_COUNTS = ["n", "flips", "covered", "covered_flips", "tp", "fp"]
"""The counts from which all others, and so all ratios, follow; each is a sum over questions."""


def indicators(answers: pd.DataFrame) -> pd.DataFrame:
    """One row a (question, arm), one 0/1 column for each of ``BASE_COUNTS``: summed over any set of questions they are its counts."""
    flipped, fired, covered = (answers[name].to_numpy(bool) for name in ("flipped", "fired", "covered"))
    columns = [np.ones(len(answers), bool), flipped, covered, covered & flipped, fired & flipped, fired & ~flipped]
    return pd.DataFrame(dict(zip(BASE_COUNTS, (column.astype(np.int64) for column in columns), strict=True)), index=answers.index)


def confusion(answers: pd.DataFrame) -> pd.DataFrame:
    """One row an arm, in sorted order, with the columns ``arm`` and ``COUNTS``; no verdict counts as held."""
    counts = indicators(answers).groupby(answers["arm"], sort=True).sum()
    counts["fires"] = counts["tp"] + counts["fp"]
    counts["fn"] = counts["flips"] - counts["tp"]
    counts["tn"] = counts["n"] - counts["flips"] - counts["fp"]
    return counts[COUNTS].reset_index()


def ratios(counts: Mapping[str, Array] | pd.DataFrame, natural_rate: float) -> dict[str, Array]:
    """Every ratio of the benchmark from ``BASE_COUNTS``, which may be arrays of any one shape; NaN where a denominator is 0.

    ``natural_rate`` (π) is the flip rate before stratification, NaN where it is not known. Precision at that rate is Bayes' rule
    on recall and false positive rate, which stratifying by truth does not move: πR / (πR + (1−π)·FPR). F1 is taken from the
    counts, 2·TP / (fires + flips), so it is 0 for a silent arm although its precision is undefined.
    """
    n, flips, covered, covered_flips, tp, fp = (np.asarray(counts[name], dtype=np.float64) for name in BASE_COUNTS)
    fires = tp + fp
    recall, false_positive_rate = share(tp, flips), share(fp, n - flips)
    natural_hits = natural_rate * recall
    natural_budget = natural_hits + (1 - natural_rate) * false_positive_rate
    return {
        "precision": share(tp, fires),
        "recall": recall,
        "f1": share(2 * tp, fires + flips),
        "fire_rate": share(fires, n),
        "coverage": share(covered, n),
        "budget": share(fires, n),
        "natural_budget": natural_budget,
        "staleness": 1 - recall,
        "false_positive_rate": false_positive_rate,
        "natural_precision": share(natural_hits, natural_budget),
        "covered_precision": share(tp, fires),
        "covered_recall": share(tp, covered_flips),
        "covered_f1": share(2 * tp, fires + covered_flips),
        "covered_fire_rate": share(fires, covered),
    }


def measure(answers: pd.DataFrame, natural_rate: float) -> pd.DataFrame:
    """One row an arm: its counts (``confusion``) and its ratios (``ratios``)."""
    counts = confusion(answers)
    return counts.assign(**ratios(counts, natural_rate))


def share(part: Array, whole: Array) -> Array:
    """``part / whole``, elementwise, with NaN where there is nothing to divide by: undefined is not zero."""
    quotient = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=quotient, where=np.asarray(whole) > 0)
    return quotient
