"""From the outcomes of single test cases to the truth about claims. Pure: nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from claimflip.records import Claim, Label, Outcome, Side, State, Truth
from claimflip.source.paths import is_test_path

_REMOVED = re.compile(
    r"cannot import name (?!.*partially initialized module)|^No module named|^module '[^']+' has no attribute|^type object '[^']+' has no attribute"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """What one run said of one case. ``origin`` is, for an error in setup, the file of the fixture that raised (below the tree where it is inside)."""

    state: State
    phase: str = ""
    reason: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionFailure:
    """Why a module gave no items: a kind of reason (few, countable) and the details."""

    kind: str
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class SideRuns:
    """All runs of one side: by run number and by (function, case) the outcomes, and by module the failures to collect.

    ``imported`` says, by dotted name, which file a changed module was imported from.
    """

    outcomes: dict[int, dict[tuple[str, str], CaseOutcome]] = field(default_factory=dict)
    failures: dict[str, CollectionFailure] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)

    def add(self, other: SideRuns) -> None:
        """Take in the runs of another process over the same side."""
        for run, outcomes in other.outcomes.items():
            self.outcomes.setdefault(run, {}).update(outcomes)
        self.failures.update(other.failures)
        self.imported.update(other.imported)


def collection_failure(side: Side, error_type: str, message: str, *, skipped: bool = False) -> CollectionFailure:
    """Name a collection error. At *t+1* an import that worked at *t* in the same environment fails because the child removed the name."""
    detail = f"{error_type}: {message}"
    if skipped:
        return CollectionFailure(kind="skipped", detail=detail)
    if side == "child" and error_type in ("ImportError", "ModuleNotFoundError", "AttributeError") and _REMOVED.search(message):
        return CollectionFailure(kind="import of removed name", detail=detail)
    return CollectionFailure(kind="collection error", detail=detail)


def confirmed(failure: CollectionFailure, parent_has: Callable[[str], bool]) -> CollectionFailure:
    """The failure as it is, but that a module which the parent's tree never had was not removed by the child: the environment lacks it."""
    missing = re.search(r"No module named '([\w.]+)'", failure.detail)
    if failure.kind == "import of removed name" and missing and not parent_has(missing[1]):
        return CollectionFailure(kind="collection error", detail=failure.detail)
    return failure


def cases_at_parent(claim: Claim, parent: SideRuns) -> list[str]:
    """The cases that count: those collected at *t* which were not skipped in every run there."""
    keys = [(claim.nodeid, case) for case in claim.cases]
    found = [[outcomes[key] for outcomes in parent.outcomes.values() if key in outcomes] for key in keys]
    return [case for case, seen in zip(claim.cases, found, strict=True) if not (seen and all(one.reason == "skipped" for one in seen))]


def claim_outcome(claim: Claim, cases: Sequence[str], side: SideRuns, run: int) -> Outcome:
    """One run's outcome of a claim: any case fails → failed; else any case without an outcome → none; else passed."""
    failure = side.failures.get(claim.path)
    if failure is not None:
        return Outcome(state="none", phase="collect", reason=f"{failure.kind}: {failure.detail}" if failure.detail else failure.kind)
    if not cases:
        return Outcome(state="none", phase="setup", reason="skipped")
    found = [(case, _judged(side.outcomes.get(run, {}).get((claim.nodeid, case)))) for case in cases]
    for state in ("failed", "none"):
        for case, one in found:
            if one.state == state:
                return Outcome(state=one.state, phase=one.phase, reason=one.reason, case=case)
    return Outcome(state="passed")


def _judged(outcome: CaseOutcome | None) -> CaseOutcome:
    """A missing outcome is no verdict, and so is an error in setup whose fixture stands in no test file: neither is a failure."""
    if outcome is None:
        return CaseOutcome(state="none", reason="not collected")
    if outcome.state == "failed" and outcome.phase == "setup" and (outcome.origin.startswith("/") or not is_test_path(outcome.origin)):
        return CaseOutcome(state="none", phase="setup", reason="error in a fixture outside the tests")
    return outcome


def label(claim: Claim, parent: SideRuns, child: SideRuns, runs: Sequence[int], env_lock: str) -> Label:
    """The truth about one claim: held or flipped only where both sides said the same in every run."""
    cases = cases_at_parent(claim, parent)
    before = tuple(claim_outcome(claim, cases, parent, run) for run in runs)
    after = tuple(claim_outcome(claim, cases, child, run) for run in runs)
    if any(one.state != "passed" for one in before):
        return _label(claim, "unknown", _reason(before, "t"), "parent", before, (), env_lock)
    verdicts: dict[frozenset[str], Truth] = {frozenset({"passed"}): "held", frozenset({"failed"}): "flipped"}
    verdict = verdicts.get(frozenset(one.state for one in after))
    if verdict is None:
        return _label(claim, "unknown", _reason(after, "t+1"), "child", before, after, env_lock)
    return _label(claim, verdict, "", "child", before, after, env_lock)


def broken(claims: Sequence[Claim], reason: str, env_lock: str) -> list[Label]:
    """Labels of a change in which nothing can be said: every claim unknown, none forgotten."""
    return [_label(claim, "unknown", reason, "change", (), (), env_lock) for claim in claims]


def _label(claim: Claim, verdict: Truth, reason: str, stage: str, before: tuple[Outcome, ...], after: tuple[Outcome, ...], env_lock: str) -> Label:
    return Label(
        claim_id=claim.claim_id,
        verdict=verdict,
        reason=reason,
        stage=stage,
        quality=None,
        parent_outcomes=before,
        child_outcomes=after,
        env_lock=env_lock,
    )


def _reason(outcomes: Sequence[Outcome], side: str) -> str:
    """One countable reason for a claim without a verdict: what kept it from one, or that the runs disagree."""
    states = {one.state for one in outcomes}
    if states == {"failed"}:
        return f"failed at {side}"
    kinds = sorted({one.reason.split(":")[0] for one in outcomes if one.state == "none"})
    if not kinds:
        return f"outcomes differ at {side}"
    return kinds[0] if kinds[0] == "import of removed name" else f"{kinds[0]} at {side}"


def shadowed(changed: Mapping[str, Collection[str]], side: SideRuns) -> str | None:
    """Why the code that ran is not the tree's: a changed module that came from elsewhere; ``changed`` maps dotted name to paths below the tree."""
    for name, paths in sorted(changed.items()):
        came_from = side.imported.get(name)
        if came_from is not None and came_from not in paths:
            return f"{name} was not imported from the tree under test"
    return None
