"""The rules of the oracle as a table: from the outcomes of cases to held, flipped or unknown."""

from __future__ import annotations

import pytest
from synthetic import a_claim

from claimflip.records import Claim
from oracle.verdict import CaseOutcome, CollectionFailure, SideRuns, broken, collection_failure, label, shadowed

TEST = "tests/test_a.py"
P = CaseOutcome(state="passed")
F = CaseOutcome(state="failed", phase="call", reason="AssertionError")
TEARDOWN = CaseOutcome(state="failed", phase="teardown", reason="OSError")
SETUP_IN_TESTS = CaseOutcome(state="failed", phase="setup", reason="KeyError", origin="tests/conftest.py")
SETUP_IN_SOURCE = CaseOutcome(state="failed", phase="setup", reason="KeyError", origin="pkg/plugin.py")
SETUP_IN_PLUGIN = CaseOutcome(state="failed", phase="setup", reason="KeyError", origin="/env/lib/python3.11/site-packages/plugin/tests/conftest.py")
SKIPPED = CaseOutcome(state="none", phase="call", reason="skipped")
XFAILED = CaseOutcome(state="none", phase="call", reason="xfailed")
XPASSED = CaseOutcome(state="none", phase="call", reason="xpassed")
TIMEOUT = CaseOutcome(state="none", phase="call", reason="timeout")
KILLED = CaseOutcome(state="none", phase="call", reason="killed by signal 9")
MISSING = None
RUNS = 3


def claim(*cases: str) -> Claim:
    return a_claim(nodeid=f"{TEST}::test_a", cases=cases)


def side(*runs: dict[str, CaseOutcome | None]) -> SideRuns:
    """A side from what each run says of each case; None: it says nothing."""
    outcomes = {number: {(f"{TEST}::test_a", case): one for case, one in run.items() if one is not None} for number, run in enumerate(runs)}
    return SideRuns(outcomes=outcomes)


def judged(parent: list[CaseOutcome | None], child: list[CaseOutcome | None]) -> str:
    found = label(claim(""), side(*({"": one} for one in parent)), side(*({"": one} for one in child)), range(RUNS), "lock")
    assert len(found.parent_outcomes) == RUNS
    return found.verdict if found.verdict != "unknown" else f"{found.stage}: {found.reason}"


@pytest.mark.parametrize(
    ("parent", "child", "verdict"),
    [
        ([P] * 3, [P] * 3, "held"),
        ([P] * 3, [F] * 3, "flipped"),
        ([P] * 3, [TEARDOWN] * 3, "flipped"),
        ([P] * 3, [SETUP_IN_TESTS] * 3, "flipped"),
        ([P] * 3, [F, TEARDOWN, SETUP_IN_TESTS], "flipped"),
        ([P] * 3, [F, P, F], "child: outcomes differ at t+1"),
        ([P] * 3, [SETUP_IN_SOURCE] * 3, "child: error in a fixture outside the tests at t+1"),
        ([P] * 3, [SETUP_IN_PLUGIN] * 3, "child: error in a fixture outside the tests at t+1"),
        ([P] * 3, [SKIPPED] * 3, "child: skipped at t+1"),
        ([P] * 3, [XFAILED] * 3, "child: xfailed at t+1"),
        ([P] * 3, [XPASSED] * 3, "child: xpassed at t+1"),
        ([P] * 3, [TIMEOUT] * 3, "child: timeout at t+1"),
        ([P] * 3, [KILLED] * 3, "child: killed by signal 9 at t+1"),
        ([P] * 3, [MISSING] * 3, "child: not collected at t+1"),
        ([P] * 3, [F, F, MISSING], "child: not collected at t+1"),
        ([P] * 3, [F, F, TIMEOUT], "child: timeout at t+1"),
        ([P] * 3, [P, P, SKIPPED], "child: skipped at t+1"),
        ([F] * 3, [P] * 3, "parent: failed at t"),
        ([F] * 3, [F] * 3, "parent: failed at t"),
        ([P, P, F], [F] * 3, "parent: outcomes differ at t"),
        ([P, P, MISSING], [P] * 3, "parent: not collected at t"),
        ([SKIPPED] * 3, [P] * 3, "parent: skipped at t"),
        ([XPASSED] * 3, [F] * 3, "parent: xpassed at t"),
        ([TIMEOUT] * 3, [F] * 3, "parent: timeout at t"),
    ],
)
def test_one_case(parent: list[CaseOutcome | None], child: list[CaseOutcome | None], verdict: str) -> None:
    assert judged(parent, child) == verdict


@pytest.mark.parametrize(
    ("parent", "child", "verdict"),
    [
        ({"[a]": P, "[b]": P}, {"[a]": P, "[b]": P}, "held"),
        ({"[a]": P, "[b]": P}, {"[a]": P, "[b]": F}, "flipped"),
        ({"[a]": P, "[b]": P}, {"[a]": SKIPPED, "[b]": F}, "flipped"),
        ({"[a]": P, "[b]": P}, {"[b]": F}, "flipped"),
        ({"[a]": P, "[b]": P}, {"[a]": P, "[b]": SKIPPED}, "unknown"),
        ({"[a]": P, "[b]": P}, {"[a]": P}, "unknown"),
        ({"[a]": P, "[b]": SKIPPED}, {"[a]": P, "[b]": SKIPPED}, "held"),
        ({"[a]": P, "[b]": SKIPPED}, {"[a]": P, "[b]": F}, "held"),
        ({"[a]": P, "[b]": SKIPPED}, {"[a]": F, "[b]": P}, "flipped"),
        ({"[a]": P, "[b]": XFAILED}, {"[a]": P, "[b]": XFAILED}, "unknown"),
        ({"[a]": P, "[b]": F}, {"[a]": P, "[b]": F}, "unknown"),
        ({"[a]": P, "[b]": P}, {"[a]": P, "[b]": P, "[new]": F}, "held"),
    ],
)
def test_the_cases_are_fixed_at_t_and_any_failing_one_decides(parent: dict[str, CaseOutcome], child: dict[str, CaseOutcome], verdict: str) -> None:
    assert label(claim("[a]", "[b]"), side(*[parent] * RUNS), side(*[child] * RUNS), range(RUNS), "lock").verdict == verdict


def test_a_case_that_is_skipped_in_some_runs_only_still_counts() -> None:
    parent = side({"[a]": P, "[b]": SKIPPED}, {"[a]": P, "[b]": P}, {"[a]": P, "[b]": P})
    found = label(claim("[a]", "[b]"), parent, side(*[{"[a]": P, "[b]": P}] * RUNS), range(RUNS), "lock")
    assert (found.verdict, found.reason) == ("unknown", "skipped at t")


def test_a_flip_keeps_which_case_failed_in_which_phase() -> None:
    found = label(claim("[a]", "[b]"), side(*[{"[a]": P, "[b]": P}] * RUNS), side(*[{"[a]": P, "[b]": TEARDOWN}] * RUNS), range(RUNS), "lock")
    assert {(one.case, one.phase, one.reason) for one in found.child_outcomes} == {("[b]", "teardown", "OSError")}


@pytest.mark.parametrize(
    ("where", "error", "message", "kind"),
    [
        ("child", "ImportError", "cannot import name 'x' from 'pkg' (pkg/__init__.py)", "import of removed name"),
        ("child", "ImportError", "cannot import name 'x' from partially initialized module 'pkg' (most likely due to a circular import)", "collection error"),
        ("child", "ModuleNotFoundError", "No module named 'pkg.old'", "import of removed name"),
        ("child", "AttributeError", "module 'pkg' has no attribute 'x'", "import of removed name"),
        ("child", "AttributeError", "type object 'Thing' has no attribute 'x'", "import of removed name"),
        ("child", "AttributeError", "'NoneType' object has no attribute 'x'", "collection error"),
        ("child", "ImportError", "pkg was built for another machine", "collection error"),
        ("child", "ValueError", "cannot import name 'x'", "collection error"),
        ("child", "SyntaxError", "invalid syntax", "collection error"),
        ("parent", "ImportError", "cannot import name 'x' from 'pkg'", "collection error"),
        ("parent", "ModuleNotFoundError", "No module named 'pytest_somewhat'", "collection error"),
    ],
)
def test_a_name_is_called_removed_only_where_the_child_removed_it(where: str, error: str, message: str, kind: str) -> None:
    assert collection_failure(where, error, message).kind == kind


def test_a_module_that_skips_itself_is_skipped_not_broken() -> None:
    assert collection_failure("child", "Skipped", "not on this machine", skipped=True).kind == "skipped"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("import of removed name", "import of removed name"),
        ("collection error", "collection error at t+1"),
        ("timeout", "timeout at t+1"),
        ("skipped", "skipped at t+1"),
        ("not collected", "not collected at t+1"),
    ],
)
def test_a_module_that_gave_no_items_gives_no_verdicts(kind: str, reason: str) -> None:
    child = SideRuns(failures={TEST: CollectionFailure(kind=kind, detail="ImportError: cannot import name 'x': really")})
    found = label(claim(""), side(*[{"": P}] * RUNS), child, range(RUNS), "lock")
    assert (found.verdict, found.stage, found.reason) == ("unknown", "child", reason)
    assert {(one.state, one.phase) for one in found.child_outcomes} == {("none", "collect")}


def test_a_module_that_one_of_two_processes_could_not_collect_gives_no_verdict() -> None:
    child = side(*[{"": P}] * RUNS)
    child.add(SideRuns(failures={TEST: CollectionFailure(kind="collection error")}))
    assert label(claim(""), side(*[{"": P}] * RUNS), child, range(RUNS), "lock").verdict == "unknown"


def test_a_broken_change_keeps_every_claim_without_a_verdict() -> None:
    (found,) = broken([claim("")], "pkg was not imported from the tree under test", "lock")
    assert (found.verdict, found.stage, found.parent_outcomes, found.child_outcomes) == ("unknown", "change", (), ())


@pytest.mark.parametrize(
    ("changed", "imported", "elsewhere"),
    [
        ({"pkg": {"pkg.py"}}, {"pkg": "pkg.py"}, False),
        ({"pkg": {"pkg.py", "src/pkg.py"}}, {"pkg": "src/pkg.py"}, False),
        ({"pkg": {"pkg.py"}}, {}, False),
        ({"pkg": {"pkg.py"}}, {"pkg": "/env/lib/site-packages/pkg.py"}, True),
        ({"pkg": {"pkg.py"}}, {"pkg": "vendored/pkg.py"}, True),
        ({"pkg": {"pkg.py"}}, {"other": "/env/lib/site-packages/other.py"}, False),
    ],
)
def test_what_was_imported_from_elsewhere_is_seen(changed: dict[str, set[str]], imported: dict[str, str], elsewhere: bool) -> None:
    found = shadowed(changed, SideRuns(imported=imported))
    assert found == ("pkg was not imported from the tree under test" if elsewhere else None)
