"""Everything the page says, computed from a corpus before any of it is laid out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from claimflip import __version__
from claimflip.corpus import Corpus
from claimflip.records import content_id
from stats import presented, tables
from stats.figures import costs, forest, render
from stats.intervals import RELIABLE_FROM
from stats.paired import mcnemar
from stats.printed import Table, percent
from stats.scored import Scored, natural_rate, read_scored

FLIPS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFindings:
    """What was found on one kind of source; kinds are never pooled.

    ``tables`` and ``figures`` are keyed by their plain names; on disk they carry ``suffix``, which is empty where there is one kind only.
    """

    kind: str
    suffix: str
    footnote: str
    facts: tuple[tuple[str, str], ...]
    tables: Mapping[str, Table]
    figures: Mapping[str, Mapping[str, bytes]]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found on a corpus under a split."""

    corpus: str
    corpus_id: str
    split: str
    kinds: tuple[KindFindings, ...]
    problems: Table
    sources: tuple[Mapping[str, Any], ...]
    written_by: str
    note: Mapping[str, Any]
    locks: tuple[str, ...]
    spent: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]


def find(corpus: Corpus, split: str, *, resamples: int, seed: int) -> Findings:
    """Compute every table and figure; one bootstrap seed serves all kinds. Raises CorpusError where a stage has not been run."""
    info, note, scored = corpus.info(), corpus.note(split, "questions"), read_scored(corpus, split)
    sources, problems = info.get("sources") or [], info.get("problems") or []
    origin = tables.corpus_table(scored.changes, scored.claims, scored.labels, sources, problems)
    name, identity = str(info.get("name") or corpus.path.resolve().name), corpus_id(scored.labels)
    about = f"Corpus {name} ({identity})"
    kinds = []
    for kind, here in origin.groupby("kind", sort=True):
        rate = natural_rate(note, str(kind))
        footnote = (
            f"{about}, {kind} sources; split {split}, seed {note.get('seed', 'not recorded')}; claimflip {__version__}; "
            f"natural flip rate {percent(rate)}; no verdict is charged as held; what fires is re-verified, the rest is served."
        )
        suffix = "" if origin["kind"].nunique() == 1 else f"-{kind}"
        kinds.append(_of_kind(scored, here.reset_index(drop=True), rate, footnote, suffix=suffix, resamples=resamples, seed=seed))
    return Findings(
        corpus=name,
        corpus_id=identity,
        split=split,
        kinds=tuple(kinds),
        problems=presented.problems(tables.problems_table(problems, scored.changes), f"{about}; claimflip {__version__}."),
        sources=tuple(sources),
        written_by=str(info.get("version", "")),
        note=note,
        locks=tuple(sorted({str(lock) for lock in scored.labels["env_lock"] if lock})),
        spent=_spent(corpus, split),
        remarks=_general_remarks(origin),
    )


def _of_kind(scored: Scored, origin: pd.DataFrame, rate: float, footnote: str, *, suffix: str, resamples: int, seed: int) -> KindFindings:
    """What was found on the one kind of source that ``origin`` (``stats.tables.corpus_table``) is about, at its natural rate."""
    kind = str(origin["kind"].iloc[0])
    lost = tables.discards_table(scored.changes, scored.claims, scored.labels)
    asked, answered, lost = (frame[frame["kind"] == kind].reset_index(drop=True) for frame in (scored.questions, scored.answers, lost))
    sampled = f"{footnote} Intervals: 95 % percentile bootstrap, {resamples} resamples, seed {seed}."
    made = [presented.corpus(origin, footnote), presented.discards(lost, footnote)]
    figures: dict[str, dict[str, bytes]] = {}
    if len(answered):
        intervals = tables.intervals_table(answered, rate, resamples=resamples, rng=np.random.default_rng(seed))
        arms = tables.arms_table(answered, rate, intervals)
        made += _of_arms(answered, scored.changes, arms, intervals, footnote, sampled)
        figures = {"forest": render(forest, arms), "costs": render(costs, arms)}
    return KindFindings(
        kind=kind,
        suffix=suffix,
        footnote=sampled,
        facts=_facts(origin, asked, rate),
        tables={table.name: replace(table, name=table.name + suffix) for table in made},
        figures=figures,
        remarks=_remarks(asked, answered, rate),
    )


def _of_arms(answered: pd.DataFrame, changes: pd.DataFrame, arms: pd.DataFrame, intervals: pd.DataFrame, footnote: str, sampled: str) -> list[Table]:
    """The tables that there are once an arm has answered; ``sampled`` is the footnote of those with intervals."""
    return [
        presented.arms(arms, sampled),
        presented.costs(arms, sampled),
        presented.intervals(intervals, sampled),
        presented.covered(arms, footnote),
        presented.mcnemar(mcnemar(answered), footnote),
        presented.flips(tables.flips_table(answered, changes, per_repo=FLIPS_SHOWN), footnote),
    ]


def corpus_id(labels: pd.DataFrame) -> str:
    """The id of what is scored against: a content hash of every claim id and its verdict, whatever their order."""
    return content_id("corpus", *sorted(f"{claim} {verdict}" for claim, verdict in labels[["claim_id", "verdict"]].itertuples(index=False)))


def _spent(corpus: Corpus, split: str) -> tuple[tuple[str, str], ...]:
    """What each arm's answers cost, in words; nothing of an arm whose answers cost nothing."""
    notes = {arm: corpus.note(split, arm) for arm in corpus.arms(split)}
    costly = {arm: note for arm, note in notes.items() if any(note.get(name) for name in ("tokens_in", "tokens_out", "usd"))}
    return tuple((arm, "{tokens_in:,} tokens sent, {tokens_out:,} received, {usd:.2f} USD".format(**note)) for arm, note in costly.items())


def _facts(origin: pd.DataFrame, questions: pd.DataFrame, rate: float) -> tuple[tuple[str, str], ...]:
    """The headline: what was measured, in the order in which a reader asks."""
    total, repositories = origin[origin["repo"] == tables.TOTAL].iloc[-1], origin.iloc[:-1]
    flips = int(questions["flipped"].sum())
    base = flips / len(questions) if len(questions) else np.nan
    return (
        ("repositories", f"{len(repositories)}, {int((repositories['flips'] > 0).sum())} with flips"),
        ("changes", f"{total['changes']:,}"),
        ("claims", f"{total['claims']:,}, {total['discarded']:,} discarded"),
        ("flips", f"{total['flips']:,}"),
        ("natural flip rate", percent(rate)),
        ("claims asked", f"{len(questions):,}, {flips:,} flips"),
        ("base rate", percent(base)),
    )


def _remarks(questions: pd.DataFrame, answers: pd.DataFrame, rate: float) -> tuple[str, ...]:
    """What a reader must know before the tables: whatever makes them empty or weak."""
    flips, repositories = int(questions["flipped"].sum()), questions["repo"].nunique()
    if not len(questions):
        return ("The split asks nothing here: there is no claim with a verdict to ask about.",)
    checks = {
        "No arm has answered: run 'claimflip score'.": answers.empty,
        "No claim asked has flipped: recall and staleness are undefined.": not flips,
        "Every claim asked has flipped: the false positive rate, and all that rests on it, is undefined.": flips == len(questions),
        f"Repositories asked about: {repositories}. Below {RELIABLE_FROM} the interval over repositories is not reliable.": repositories < RELIABLE_FROM,
        "The split recorded no natural flip rate: natural budget and precision are undefined.": bool(np.isnan(rate)),
    }
    return tuple(text for text, applies in checks.items() if applies)


def _general_remarks(origin: pd.DataFrame) -> tuple[str, ...]:
    """What is wrong with the corpus as a whole."""
    if origin.empty:
        return ("Nothing was mined: no source is recorded and no change is stored.",)
    totals = origin[origin["repo"] == tables.TOTAL]
    labelled = int(totals["held"].sum() + totals["flips"].sum())
    broken, changes = int(totals["broken"].sum()), int(totals["changes"].sum())
    if broken and broken >= changes and not labelled:
        return (f"All {changes or broken} changes broke, so there is nothing to score. The reasons are below.",)
    return () if labelled else ("No claim has a verdict, so there is nothing to score.",)
