"""Is one arm right more often than another on the same claims? McNemar's test, exact."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
from scipy.stats import binom, binomtest

COLUMNS = ["arm_a", "arm_b", "n", "only_a_right", "only_b_right", "p", "mid_p"]
COVERED = ["covered_n", "covered_only_a_right", "covered_only_b_right", "covered_p"]


def exact_p(only_a: int, only_b: int) -> float:
    """Exact two-sided McNemar p-value: a binomial test of the discordant pairs against one half; 1 where there are none."""
    pairs = only_a + only_b
    return float(binomtest(only_a, pairs, 0.5).pvalue) if pairs else 1.0


def mid_p(only_a: int, only_b: int) -> float:
    """The same with half the probability of what was seen: less conservative than ``exact_p``; 1 where no pair is discordant.

    Source: Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013).
    """
    pairs = only_a + only_b
    if not pairs:
        return 1.0
    seen = float(binom.pmf(only_a, pairs, 0.5))
    return 1 - seen / 2 if only_a == only_b else exact_p(only_a, only_b) - seen


def mcnemar(answers: pd.DataFrame) -> pd.DataFrame:
    """One row a pair of arms, over the claims asked of both; no verdict counts as held, and the covered columns leave such claims out."""
    marked = answers.assign(right=answers["fired"] == answers["flipped"])[["question_id", "arm", "right", "covered"]]
    by_arm = {str(arm): rows.drop(columns="arm") for arm, rows in marked.groupby("arm", sort=True)}
    rows = []
    for first, second in combinations(by_arm, 2):
        both = by_arm[first].merge(by_arm[second], on="question_id", suffixes=("_a", "_b"))
        n, only_a, only_b = _discordant(both)
        covered_n, covered_a, covered_b = _discordant(both[both["covered_a"] & both["covered_b"]])
        charged = (first, second, n, only_a, only_b, exact_p(only_a, only_b), mid_p(only_a, only_b))
        rows.append((*charged, covered_n, covered_a, covered_b, exact_p(covered_a, covered_b)))
    return pd.DataFrame(rows, columns=[*COLUMNS, *COVERED])


def _discordant(both: pd.DataFrame) -> tuple[int, int, int]:
    """How many pairs there are, and on how many of them only the first or only the second arm is right."""
    right_a, right_b = both["right_a"].to_numpy(bool), both["right_b"].to_numpy(bool)
    return len(both), int((right_a & ~right_b).sum()), int((~right_a & right_b).sum())
