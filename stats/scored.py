"""Questions, answers and truth in one frame: the only input of everything else in ``stats``.

A question that an arm left unanswered stays in the frame, not fired and not covered, so that no statistic can lose it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from claimflip.corpus import Corpus, schema
from claimflip.errors import CorpusError
from claimflip.records import Label, Prediction, Question

ASKED = ["question_id", "claim_id", "change_id", "repo", "kind", "nodeid", "quality", "flipped"]


def asked(questions: pd.DataFrame, claims: pd.DataFrame, changes: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """One row a question with its claim, its repository and the truth (``flipped``, bool).

    Raises CorpusError where a question's claim is gone or no longer held or flipped: the labels are newer than the questions.
    """
    frame = (
        questions[["question_id", "claim_id"]]
        .merge(claims[["claim_id", "change_id", "nodeid"]], on="claim_id", how="left")
        .merge(changes[["change_id", "repo", "kind"]], on="change_id", how="left")
        .merge(labels[["claim_id", "verdict", "quality"]], on="claim_id", how="left")
    )
    stale = ~frame["verdict"].isin(["held", "flipped"]) | frame["repo"].isna()
    if stale.any():
        raise CorpusError(f"{int(stale.sum())} of {len(frame)} questions ask about claims that are gone or have no verdict now: run 'claimflip score' again")
    frame["flipped"] = (frame["verdict"] == "flipped").astype(bool)
    return frame[ASKED].sort_values("question_id", ignore_index=True)


def answered(questions: pd.DataFrame, predictions: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row a (question, arm): the columns of ``asked`` with ``arm``, ``verdict``, ``fired`` and ``covered`` (both bool).

    ``predictions`` maps an arm's name, with ``@model`` where it has one, to its frame; of repeated answers the first (``repeat`` 0)
    counts. No verdict is charged as held: it never fires. Raises CorpusError where an arm answered one question twice, or one that is not asked:
    its answers are older than the questions.
    """
    parts = []
    for arm, frame in predictions.items():
        first = frame.loc[frame["repeat"] == 0, ["question_id", "verdict"]]
        if first["question_id"].duplicated().any():
            raise CorpusError(f"arm {arm!r} answered a question twice: delete its predictions and run 'claimflip score' again")
        if not first["question_id"].isin(questions["question_id"]).all():
            raise CorpusError(f"arm {arm!r} was asked other questions than the split has now: run 'claimflip score' with it")
        parts.append(questions.merge(first, on="question_id", how="left").assign(arm=arm))
    rows = pd.concat(parts, ignore_index=True) if parts else questions.iloc[:0].assign(verdict="", arm="")
    rows["covered"] = rows["verdict"].notna().astype(bool)
    rows["fired"] = (rows["verdict"] == "flipped").astype(bool)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """All that a scored split rests on, each table read once: ``questions`` is of ``asked``, ``answers`` of ``answered``."""

    changes: pd.DataFrame
    claims: pd.DataFrame
    labels: pd.DataFrame
    questions: pd.DataFrame
    answers: pd.DataFrame


def read_scored(corpus: Corpus, split: str) -> Scored:
    """Read a split of a corpus; no labels where there was no claim to label, no questions where no label is a verdict.

    Raises CorpusError where a stage has not been run.
    """
    changes, claims = corpus.changes, corpus.claims
    labels = corpus.labels if len(claims) or corpus.has_labels() else schema(Label).empty_table().to_pandas()
    known = labels["verdict"].isin(["held", "flipped"]).any()
    questions = corpus.questions(split) if known or split in corpus.splits() else schema(Question).empty_table().to_pandas()
    questions = asked(questions, claims, changes, labels)
    stored = {name: corpus.read_table(Prediction, split=split, name=name).to_pandas() for name in corpus.arms(split)}
    return Scored(changes=changes, claims=claims, labels=labels, questions=questions, answers=answered(questions, stored))


def read_answered(corpus: Corpus, split: str) -> pd.DataFrame:
    """``answered`` for a split of a corpus: ``read_answered(open_corpus(path), "heldout")``."""
    return read_scored(corpus, split).answers


def natural_rate(note: Mapping[str, Any], kind: str) -> float:
    """The natural flip rate that a split's note (``corpus.note(split, "questions")``) records for a kind of source; NaN where it is unknown."""
    found = (note.get("natural_rates") or {}).get(kind)
    return np.nan if found is None else float(found)
