"""Corpora whose every number is known, written through ``Corpus`` like real ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from claimflip.corpus import Corpus
from claimflip.records import Change, Claim, Label, Prediction, Question, change_id, claim_id, question_id

SPLIT = "heldout"


def a_change(repo: str, order: int = 0, kind: str = "index") -> Change:
    return Change(
        change_id=change_id(kind, repo, f"{order}.0", f"{order + 1}.0"),
        repo=repo,
        kind=kind,
        parent=f"{order}.0",
        child=f"{order + 1}.0",
        date=datetime(2020, 1, 1 + order, tzinfo=UTC),
        order=order,
        is_merge=False,
        deleted_assertions=3,
        net_deleted_assertions=2,
        source_files=("pkg/core.py",),
        test_files=("tests/test_core.py",),
        source_diff="-a\n+b\n",
    )


def a_claim(change: Change, name: str) -> Claim:
    nodeid, text = f"tests/test_core.py::{name}", f"def {name}():\n    assert True\n"
    return Claim(
        claim_id=claim_id(change.change_id, nodeid, text),
        change_id=change.change_id,
        nodeid=nodeid,
        path="tests/test_core.py",
        qualname=name,
        text=text,
        defined_in=nodeid,
        fixtures=(),
        cases=("",),
    )


def a_label(claim: Claim, verdict: str, reason: str = "", stage: str = "child") -> Label:
    quality = "clean" if verdict == "flipped" else None
    return Label(claim_id=claim.claim_id, verdict=verdict, reason=reason, stage=stage, quality=quality, parent_outcomes=(), child_outcomes=(), env_lock="")


def a_question(claim: Claim) -> Question:
    return Question(
        question_id=question_id(SPLIT, "code", claim.claim_id, claim.text, "diff"),
        claim_id=claim.claim_id,
        change_id=claim.change_id,
        split=SPLIT,
        variant="code",
        claim_text=claim.text,
        diff="diff",
        diff_change_id=claim.change_id,
        diff_truncated=False,
    )


def write_corpus(
    folder: Path,
    truths: dict[str, Sequence[str]],
    arms: dict[str, Sequence[str | None]],
    *,
    kinds: dict[str, str] | None = None,
    names: dict[int, str] | None = None,
    sources: Sequence[dict[str, object]] = (),
    problems: Sequence[dict[str, str]] = (),
    natural_rate: float | None = 0.02,
) -> Corpus:
    """``truths``: for each repository its claims' verdicts, ``unknown: reason`` for a discard; ``arms``: the verdicts on what was asked, in the same order."""
    kinds = kinds or {}
    changes = [a_change(repo, kind=kinds.get(repo, "index")) for repo in truths]
    claims, labels = [], []
    for change, verdicts in zip(changes, truths.values(), strict=True):
        for verdict in verdicts:
            truth, _, reason = verdict.partition(": ")
            claims.append(a_claim(change, (names or {}).get(len(claims), f"test_{len(claims)}")))
            labels.append(a_label(claims[-1], truth, reason))
    questions = [a_question(claim) for claim, label in zip(claims, labels, strict=True) if label.verdict != "unknown"]
    corpus = Corpus.create(folder)
    corpus.update_info(sources=[{"repo": repo, "kind": kinds.get(repo, "index")} for repo in truths] + list(sources), problems=list(problems))
    corpus.write(Change, changes)
    corpus.write(Claim, claims)
    corpus.write(Label, labels)
    corpus.write(Question, questions, split=SPLIT)
    corpus.write_note(SPLIT, "questions", {"natural_rate": natural_rate, "seed": 7})
    for arm, verdicts in arms.items():
        answers = [Prediction(question_id=question.question_id, arm=arm, verdict=verdict) for question, verdict in zip(questions, verdicts, strict=True)]
        corpus.write(Prediction, answers, split=SPLIT, name=arm)
    return corpus


def answers(truth: Sequence[bool], arms: dict[str, Sequence[str | None]], repos: Sequence[str] | None = None) -> pd.DataFrame:
    """The frame of ``stats.scored.answered`` without a corpus behind it."""
    frames = []
    for arm, verdicts in arms.items():
        frame = pd.DataFrame({"flipped": list(truth), "verdict": pd.Series(list(verdicts), dtype=object)})
        frame["question_id"] = [f"q{place:05}" for place in range(len(frame))]
        frame["repo"] = list(repos) if repos is not None else "only"
        frames.append(frame.assign(arm=arm, fired=frame["verdict"] == "flipped", covered=frame["verdict"].notna()))
    return pd.concat(frames, ignore_index=True)


def from_counts(tp: int, fp: int, flips: int, held: int, arm: str = "arm") -> pd.DataFrame:
    """Answers of one arm with the given counts, full coverage."""
    verdicts = ["flipped"] * tp + ["held"] * (flips - tp) + ["flipped"] * fp + ["held"] * (held - fp)
    return answers([True] * flips + [False] * held, {arm: verdicts})
