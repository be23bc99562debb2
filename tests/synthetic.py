"""Records with what a test does not care about filled in, and corpora whose every number is known, written through ``Corpus`` like real ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from claimflip.corpus import Corpus
from claimflip.records import Change, Claim, Label, Prediction, Question, change_id, claim_id, question_id

SPLIT = "heldout"


def a_change(**replaced: Any) -> Change:
    """A change with these fields; its id follows from them, unless that is given too."""
    given: dict[str, Any] = {"kind": "git", "repo": "pkg", "parent": "t", "child": "t+1", **replaced}
    others = {
        "change_id": change_id(given["kind"], given["repo"], given["parent"], given["child"]),
        "date": datetime(2024, 1, 1, tzinfo=UTC),
        "order": 0,
        "is_merge": False,
        "deleted_assertions": 1,
        "net_deleted_assertions": 1,
        "source_files": ("pkg.py",),
        "test_files": ("tests/test_pkg.py",),
        "source_diff": "",
    }
    return Change(**{**others, **given})


def a_claim(**replaced: Any) -> Claim:
    """A claim with these fields; its id, path and names follow from its change, node id and text, unless they are given too."""
    given: dict[str, Any] = {"change_id": "0" * 16, "nodeid": "tests/test_pkg.py::test_it", "text": "def test_it(): ...\n", **replaced}
    path, *names = given["nodeid"].split("::")
    others = {
        "claim_id": claim_id(given["change_id"], given["nodeid"], given["text"]),
        "path": path,
        "qualname": ".".join(names),
        "defined_in": f"{path}::{'.'.join(names)}",
        "fixtures": (),
        "cases": ("",),
    }
    return Claim(**{**others, **given})


def a_label(claim: Claim, verdict: str, reason: str = "", stage: str = "child") -> Label:
    quality = "clean" if verdict == "flipped" else None
    return Label(claim_id=claim.claim_id, verdict=verdict, reason=reason, stage=stage, quality=quality, parent_outcomes=(), child_outcomes=(), env_lock="")


def a_question(claim: Claim, *, diff: str = "diff", split: str = SPLIT) -> Question:
    """The question about a claim as it stands, with a diff of its own change."""
    return Question(
        question_id=question_id(split, "code", claim.claim_id, claim.text, diff),
        claim_id=claim.claim_id,
        change_id=claim.change_id,
        split=split,
        variant="code",
        claim_text=claim.text,
        diff=diff,
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
    changes = [a_change(repo=repo, kind=kinds.get(repo, "index"), parent="0.0", child="1.0") for repo in truths]
    claims, labels = [], []
    for change, verdicts in zip(changes, truths.values(), strict=True):
        for verdict in verdicts:
            truth, _, reason = verdict.partition(": ")
            name = (names or {}).get(len(claims), f"test_{len(claims)}")
            claims.append(a_claim(change_id=change.change_id, nodeid=f"tests/test_core.py::{name}"))
            labels.append(a_label(claims[-1], truth, reason))
    questions = [a_question(claim) for claim, label in zip(claims, labels, strict=True) if label.verdict != "unknown"]
    corpus = Corpus.create(folder)
    corpus.update_info(sources=[{"repo": repo, "kind": kinds.get(repo, "index")} for repo in truths] + list(sources), problems=list(problems))
    corpus.write(Change, changes)
    corpus.write(Claim, claims)
    corpus.write(Label, labels)
    corpus.write(Question, questions, split=SPLIT)
    corpus.write_note(SPLIT, "questions", {"natural_rates": {change.kind: natural_rate for change in changes}, "seed": 7})
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
