"""Which columns a reader sees of each table, in which words, with a line that says what each word means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from stats.intervals import RELIABLE_FROM
from stats.printed import Table, interval, number, p_value, percent
from stats.tables import REASONS_APART, step

UNRELIABLE = "†"
Columns = Sequence[tuple[str, Iterable[Any]]]
LEGEND = {
    "arm": "a predictor; it fires on a claim when it says that the claim is false now",
    "asked": "claims asked, and how many of them had flipped",
    "fires": "claims the arm fired on",
    "caught": "flips it fired on",
    "precision": "share of its fires that were flips, caught / fires; always firing achieves the base rate",
    "recall": "share of flips that it caught",
    "95 % claims": "percentile bootstrap over claims: narrow, since it takes claims of one change for independent",
    "95 % repositories": "the same over whole repositories: what to expect of another repository",
    "F1": "2 × caught / (fires + flips)",
    "coverage": "share of claims on which it gave a verdict; the others are charged as held",
    "budget": "share of the store re-verified if all that fires is re-verified and the rest is served",
    "natural budget": "the same at the natural flip rate π: πR + (1−π)·FPR",
    "staleness": "share of flips that are then served all the same, 1 − recall",
    "natural precision": "precision at the natural flip rate: πR / (πR + (1−π)·FPR)",
    "answered": "claims with a verdict, and how many of them had flipped",
    "recall, answered": "recall over answered claims alone: worth nothing without the coverage",
    "recall, charged": "recall with no verdict charged as held, as in the main table",
    "F1, answered": "F1 over answered claims alone",
    "F1, charged": "F1 as in the main table",
    "only A right": "claims on which A is right and B is wrong; no verdict counts as held",
    "only B right": "the reverse",
    "p": "exact two-sided McNemar test: how likely so uneven a split is where both are right equally often; not corrected for the number of pairs",
    "mid-p": "the same test, less conservative",
    "only A : only B, both answered": "the discordant pairs among claims that both arms answered",
    "p, both answered": "the exact test on those",
    "changes": "steps mined; broken: gave no claim at all, for want of an environment or because nothing could be collected",
    "claims": "test functions that the changes put at risk",
    "held": "passed every time after the change",
    "flips": "failed every time after the change",
    "rate": "flips / (flips + held)",
    "discarded": "no verdict, or not the same one every time: never counted as a flip",
}


def arms(frame: pd.DataFrame, note: str) -> Table:
    """What each arm caught, of ``stats.tables.arms_table``: counts beside ratios, both intervals beside each ratio."""
    mark = UNRELIABLE if (frame["repositories"] < RELIABLE_FROM).any() else ""
    ranges = {
        (metric, unit): [interval(low, high, sign) for low, high in zip(frame[f"{metric}{unit}_low"], frame[f"{metric}{unit}_high"], strict=True)]
        for metric in ("precision", "recall")
        for unit, sign in (("", ""), ("_repo", mark))
    }
    columns: Columns = [
        ("arm", frame["arm"]),
        ("asked", _of(frame["n"], frame["flips"])),
        ("fires", frame["fires"]),
        ("caught", frame["tp"]),
        ("precision", frame["precision"].map(number)),
        ("95 % claims", ranges["precision", ""]),
        ("95 % repositories", ranges["precision", "_repo"]),
        ("recall", frame["recall"].map(number)),
        ("95 % claims", ranges["recall", ""]),
        ("95 % repositories", ranges["recall", "_repo"]),
        ("F1", frame["f1"].map(number)),
        ("coverage", frame["coverage"].map(number)),
    ]
    return Table(name="arms", title="What each arm caught", frame=frame, shown=_shown(columns), note=note, caution=_caution(mark))


def costs(frame: pd.DataFrame, note: str) -> Table:
    """What it costs to follow each arm: budget, staleness, and precision at the natural flip rate."""
    natural = [interval(low, high) for low, high in zip(frame["natural_precision_low"], frame["natural_precision_high"], strict=True)]
    columns: Columns = [
        ("arm", frame["arm"]),
        ("fires", frame["fires"]),
        ("budget", frame["budget"].map(number)),
        ("natural budget", frame["natural_budget"].map(number)),
        ("staleness", frame["staleness"].map(number)),
        ("natural precision", frame["natural_precision"].map(number)),
        ("95 % claims", natural),
    ]
    names = ["arm", "n", "flips", "fires", "tp", "fp", "budget", "natural_budget", "staleness", "natural_precision"]
    numbers = frame[[*names, *(name for name in frame if str(name).startswith(("budget_", "natural_budget_", "natural_precision_")))]]
    return Table(name="costs", title="What it costs to follow each arm", frame=numbers, shown=_shown(columns), note=note)


def covered(frame: pd.DataFrame, note: str) -> Table:
    """Figures over answered claims alone, with the charged ones and the coverage beside them."""
    columns: Columns = [
        ("arm", frame["arm"]),
        ("answered", _of(frame["covered"], frame["covered_flips"])),
        ("coverage", frame["coverage"].map(number)),
        ("caught", frame["tp"]),
        ("precision", frame["covered_precision"].map(number)),
        ("recall, answered", frame["covered_recall"].map(number)),
        ("recall, charged", frame["recall"].map(number)),
        ("F1, answered", frame["covered_f1"].map(number)),
        ("F1, charged", frame["f1"].map(number)),
    ]
    names = ["arm", "n", "flips", "covered", "covered_flips", "coverage", "tp", "fp", "covered_precision", "covered_recall", "recall", "covered_f1", "f1"]
    return Table(name="covered", title="The same on answered claims alone", frame=frame[names], shown=_shown(columns), note=note)


def mcnemar(frame: pd.DataFrame, note: str) -> Table:
    """Each pair of arms on the same claims, of ``stats.paired.mcnemar``."""
    discordant = zip(frame["covered_only_a_right"], frame["covered_only_b_right"], strict=True)
    columns: Columns = [
        ("A", frame["arm_a"]),
        ("B", frame["arm_b"]),
        ("claims", frame["n"]),
        ("only A right", frame["only_a_right"]),
        ("only B right", frame["only_b_right"]),
        ("p", frame["p"].map(p_value)),
        ("mid-p", frame["mid_p"].map(p_value)),
        ("only A : only B, both answered", [f"{a} : {b}" for a, b in discordant]),
        ("p, both answered", frame["covered_p"].map(p_value)),
    ]
    return Table(name="mcnemar", title="Which arm is right where the other is wrong", frame=frame, shown=_shown(columns), note=note, left=("A", "B"))


def intervals(frame: pd.DataFrame, note: str) -> Table:
    """Every interval with the resamples it rests on, of ``stats.tables.intervals_table``."""
    mark = "" if frame["reliable"].all() else UNRELIABLE
    rows = zip(frame["low"], frame["high"], frame["reliable"], strict=True)
    columns: Columns = [
        ("resampled", frame["by"]),
        ("arm", frame["arm"]),
        ("ratio", frame["metric"].astype(str).str.replace("_", " ")),
        ("95 %", [interval(low, high, "" if reliable else UNRELIABLE) for low, high, reliable in rows]),
        ("units", frame["units"]),
        ("used", frame["used"]),
        ("dropped", frame["dropped"]),
    ]
    left = ("resampled", "arm", "ratio")
    return Table(
        name="intervals", title="Every interval and what it rests on", frame=frame, shown=_shown(columns), note=note, caution=_caution(mark), left=left
    )


def corpus(frame: pd.DataFrame, note: str) -> Table:
    """Where the claims come from, one kind of source, of ``stats.tables.corpus_table``; the three most frequent reasons of each repository."""
    columns: Columns = [
        ("repository", frame["repo"]),
        ("changes", [f"{changes} ({broken} broken)" if broken else changes for changes, broken in zip(frame["changes"], frame["broken"], strict=True)]),
        ("claims", frame["claims"]),
        ("held", frame["held"]),
        ("flips", frame["flips"]),
        ("rate", frame["rate"].map(percent)),
        ("discarded", frame["discarded"]),
        ("most frequent reasons", frame["discards"].map(_first_three)),
    ]
    left = ("repository", "most frequent reasons")
    return Table(name="corpus", title="Where the claims come from", frame=frame, shown=_shown(columns), note=note, left=left)


def discards(frame: pd.DataFrame, note: str) -> Table:
    """Every reason for which claims were discarded, of ``stats.tables.discards_table``."""
    columns: Columns = [("repository", frame["repo"]), ("decided at", frame["stage"]), ("reason", frame["reason"]), ("claims", frame["claims"])]
    left = ("repository", "decided at", "reason")
    return Table(name="discards", title="Claims discarded, by reason", frame=frame, shown=_shown(columns), note=note, left=left)


def problems(frame: pd.DataFrame, note: str) -> Table:
    """What broke, of ``stats.tables.problems_table``."""
    columns: Columns = [
        ("repository", frame["repo"]),
        ("change", frame["step"].where(frame["step"] != "", frame["change_id"])),
        ("broke at", frame["stage"]),
        ("reason", frame["reason"]),
    ]
    left = ("repository", "change", "broke at", "reason")
    return Table(name="problems", title="What broke", frame=frame, shown=_shown(columns), note=note, left=left)


def flips(frame: pd.DataFrame, note: str) -> Table:
    """Some claims that became false, and whether each arm caught them, of ``stats.tables.flips_table``."""
    words = {"flipped": "caught", "held": "missed"}
    fixed = {"repo", "nodeid", "parent", "child", "quality"}
    columns: Columns = [
        ("repository", frame["repo"]),
        ("claim", frame["nodeid"]),
        ("change", [step(parent, child) for parent, child in zip(frame["parent"], frame["child"], strict=True)]),
        ("flip", frame["quality"].astype(object).where(frame["quality"].notna(), "not graded")),
        *((str(arm), frame[arm].map(lambda said: words.get(said, said))) for arm in frame if arm not in fixed),
    ]
    left = tuple(name for name, _ in columns)
    return Table(name="flips", title="Some claims that became false", frame=frame, shown=_shown(columns), note=note, left=left)


def _shown(columns: Columns) -> pd.DataFrame:
    """Columns as text; a name may stand twice, as an interval's does."""
    cells = [[str(cell) for cell in values] for _, values in columns]
    return pd.DataFrame(np.array(cells, dtype=object).T.reshape(-1, len(columns)), columns=[name for name, _ in columns])


def _of(total: Iterable[int], flips: Iterable[int]) -> list[str]:
    return [f"{count} ({flipped} flips)" for count, flipped in zip(total, flips, strict=True)]


def _caution(mark: str) -> str:
    return f"{mark} From fewer than {RELIABLE_FROM} repositories: not reliable." if mark else ""


def _first_three(told: str) -> str:
    reasons = told.split(REASONS_APART) if told else []
    shortened = [reason if len(reason) <= 80 else reason[:79] + "…" for reason in reasons[:3]]
    return "; ".join(shortened) + (f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
