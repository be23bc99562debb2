"""Questions, answers and truth in one frame: the only input of everything else in ``stats``.

A question that an arm left unanswered stays in the frame, not fired and not covered, so that no statistic can lose it.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    counts. No verdict is charged as held: it never fires. Raises CorpusError where an arm answered one question twice.
    """
    parts = []
    for arm, frame in predictions.items():
        first = frame.loc[frame["repeat"] == 0, ["question_id", "verdict"]]
        if first["question_id"].duplicated().any():
            raise CorpusError(f"arm {arm!r} answered a question twice: delete its predictions and run 'claimflip score' again")
        parts.append(questions.merge(first, on="question_id", how="left").assign(arm=arm))
    rows = pd.concat(parts, ignore_index=True) if parts else questions.iloc[:0].assign(verdict="", arm="")
    rows["covered"] = rows["verdict"].notna().astype(bool)
    rows["fired"] = (rows["verdict"] == "flipped").astype(bool)
    return rows


def read_asked(corpus: Corpus, split: str) -> pd.DataFrame:
    """``asked`` for a split of a corpus; no rows where nothing in the corpus could be labelled."""
    labels = read_labels(corpus)
    known = labels["verdict"].isin(["held", "flipped"]).any()
    questions = corpus.questions(split) if known or split in corpus.splits() else schema(Question).empty_table().to_pandas()
    return asked(questions, corpus.claims, corpus.changes, labels)


def read_answered(corpus: Corpus, split: str) -> pd.DataFrame:
    """``answered`` for a split of a corpus: ``read_answered(open_corpus(path), "heldout")``."""
    stored = {name: corpus.read_table(Prediction, split=split, name=name).to_pandas() for name in corpus.arms(split)}
    return answered(read_asked(corpus, split), stored)


def read_labels(corpus: Corpus) -> pd.DataFrame:
    """The corpus's labels; no rows where there was no claim to label, an error where labelling has not been run."""
    if corpus.claims.empty and not (corpus.path / "labels.parquet").exists():
        frame: pd.DataFrame = schema(Label).empty_table().to_pandas()
        return frame
    return corpus.labels
