"""95 % percentile intervals: over claims as the paper has them, and over whole repositories, which is the honest one.

Claims of one change share its diff and claims of one repository its habits, so claims are not independent; resampling whole repositories
keeps what belongs together together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pandas as pd

from stats.metrics import BASE_COUNTS, Array, indicators, ratios

INTERVALS = ["precision", "recall", "f1", "coverage", "budget", "natural_budget", "natural_precision"]
RELIABLE_FROM = 10
"""Fewest repositories from which the clustered interval is taken at its word."""
_BLOCK = 1 << 22
"""Weights held in memory at once."""


def bootstrap(answers: pd.DataFrame, natural_rate: float, *, by: Literal["claim", "repository"], resamples: int, rng: np.random.Generator) -> pd.DataFrame:
    """One row an (arm, metric): ``low`` and ``high`` of the 95 % percentile bootstrap, ``used`` and ``dropped`` resamples, ``units``, ``reliable``.

    All arms are judged on one set of draws over all asked claims, and the draws depend on ``rng`` and the questions only: adding an arm moves no
    other arm's interval. A resample in which a ratio is undefined (no flip, no fire) is dropped for that ratio and counted. The limits are
    NaN where no resample could be used, and for fewer than two units, since one repository says nothing about the next.
    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), ch. 13; for clusters, Davison and Hinkley (1997), §3.8.
    """
    unit = answers["question_id" if by == "claim" else "repo"]
    cells = pd.DataFrame(indicators(answers).groupby([unit, answers["arm"]], sort=True).sum().unstack("arm", fill_value=0))
    arms, units = sorted(answers["arm"].unique()), len(cells)
    table: Array = cells.reindex(columns=pd.MultiIndex.from_product([BASE_COUNTS, arms])).to_numpy(np.float64)
    usable = resamples if units > 1 else 0
    drawn = np.concatenate([table[:0], *(weights @ table for weights in _weights(units, usable, rng))])
    by_name = drawn.reshape(usable, len(BASE_COUNTS), len(arms))
    values = ratios({name: by_name[:, place, :] for place, name in enumerate(BASE_COUNTS)}, natural_rate)
    reliable = units > 1 if by == "claim" else units >= RELIABLE_FROM
    parts = [_limits(values[metric]).assign(arm=arms, metric=metric) for metric in INTERVALS]
    frame = pd.concat(parts, ignore_index=True).assign(by=by, dropped=lambda rows: resamples - rows["used"], units=units, reliable=reliable)
    return frame[["by", "arm", "metric", "low", "high", "used", "dropped", "units", "reliable"]].sort_values(["arm", "metric"], ignore_index=True)


def _weights(units: int, resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """How often each unit was drawn, one row a resample, in blocks that fit into memory."""
    size = max(1, _BLOCK // max(units, 1))
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        drawn = rng.integers(units, size=(rows, units)) + np.arange(rows)[:, None] * units
        yield np.bincount(drawn.ravel(), minlength=rows * units).reshape(rows, units).astype(np.float64)


def _limits(values: Array) -> pd.DataFrame:
    """The 2.5 and 97.5 percentiles of each column, undefined values left out, and how many were left."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        low, high = np.nanquantile(values, [0.025, 0.975], axis=0) if len(values) else np.full((2, values.shape[1]), np.nan)
    return pd.DataFrame({"low": low, "high": high, "used": np.count_nonzero(~np.isnan(values), axis=0)})
