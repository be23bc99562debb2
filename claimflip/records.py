"""The vocabulary: what is mined, what is true, what is asked and what is answered.

Every record is frozen and knows nothing of files; its Parquet schema follows from its annotations (see ``corpus.schema``).
Ids are content hashes, so that one claim has one id on every machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["git", "index", "worlds"]
Side = Literal["parent", "child"]
State = Literal["passed", "failed", "none"]
Truth = Literal["held", "flipped", "unknown"]
Verdict = Literal["held", "flipped"]


def content_id(*parts: str) -> str:
    """Sixteen hex digits that depend on the parts and on where one part ends and the next begins."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a repository, from state *t* (``parent``) to *t+1* (``child``).

    ``source_files`` and ``test_files`` are POSIX paths below the tree's root, old and new names of renamed files both, sorted.
    Restoring the parent's tests means: for each of ``test_files``, copy it from the parent or, where the parent has none, remove it.
    """

    change_id: str
    repo: str
    kind: Kind
    parent: str
    child: str
    date: datetime
    order: int
    is_merge: bool
    deleted_assertions: int
    net_deleted_assertions: int
    source_files: tuple[str, ...]
    test_files: tuple[str, ...]
    source_diff: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One test function that was collected at *t*, all its parametrised cases together.

    ``nodeid`` is the function's, without a case in brackets. ``defined_in`` is ``path::qualname`` of the function that the text was
    taken from: for an inherited test, the base's. ``fixtures`` are ``name@path``, sorted. ``cases`` are the bracketed case
    ids in collection order, ``""`` for a test without parameters.
    """

    claim_id: str
    change_id: str
    nodeid: str
    path: str
    qualname: str
    text: str
    defined_in: str
    fixtures: tuple[str, ...]
    cases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run said of one claim.

    ``state`` is ``none`` where the run gave no verdict; ``reason`` then says why, and for ``failed`` it is the exception's type name.
    ``phase`` is setup, call, teardown or collect; ``case`` is the first case that decided.
    """

    state: State
    phase: str = ""
    reason: str = ""
    case: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The truth about one claim: every run's outcome on both sides and what follows from them.

    ``stage`` is where the verdict was decided: ``parent``, ``child`` or ``change`` (the whole change is broken). ``quality`` grades a flip and is
    ``None`` where it was not graded. ``env_lock`` is the content hash of the environment's lock.
    """

    claim_id: str
    verdict: Truth
    reason: str
    stage: str
    quality: str | None
    parent_outcomes: tuple[Outcome, ...]
    child_outcomes: tuple[Outcome, ...]
    env_lock: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an arm is asked: a claim's text and a diff, under a split. ``diff_change_id`` differs from ``change_id`` only where diffs are shuffled."""

    question_id: str
    claim_id: str
    change_id: str
    split: str
    variant: str
    claim_text: str
    diff: str
    diff_change_id: str
    diff_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What an arm answered to one question; ``verdict`` is ``None`` where it gave none, and ``why`` says the rest.

    ``strict`` and ``lenient`` are the two readings of a model's answer; tokens are counts, ``usd`` is money.
    """

    question_id: str
    arm: str
    verdict: Verdict | None
    why: str = ""
    model: str = ""
    params_hash: str = ""
    repeat: int = 0
    strict: Verdict | None = None
    lenient: Verdict | None = None
    confidence: float | None = None
    evidence: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    usd: float = 0.0


def change_id(kind: Kind, repo: str, parent: str, child: str) -> str:
    """The id of a change: its source's kind and name and the two states."""
    return content_id("change", kind, repo, parent, child)


def claim_id(change: str, nodeid: str, text: str) -> str:
    """The id of a claim: its change, the function's node id and the text that was asserted."""
    return content_id("claim", change, nodeid, text)


def question_id(split: str, variant: str, claim: str, claim_text: str, diff: str) -> str:
    """The id of a question: the split and variant it is asked under, the claim, and all that the arm is shown."""
    return content_id("question", split, variant, claim, claim_text, diff)
