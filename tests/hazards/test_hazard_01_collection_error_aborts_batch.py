"""A collection error aborts a batch: no verdicts, not failures.

In the paper's first corpus one test module that could no longer be imported stopped the whole batch, and fifteen claims of its neighbours were counted as
flips: a test that was never run is not a test that failed. So a module that cannot be collected, whatever way it goes down, loses its own verdicts and
nobody else's, and keeps the reason.
"""

from __future__ import annotations

import pytest

PACKAGE = "def double(x):\n    return 2 * x\n\n\ndef gone():\n    return 1\n"
WITHOUT = "def double(x):\n    return 3 * x\n"
GOOD = "import pkg\n\n\ndef test_flips():\n    assert pkg.double(2) == 4\n\n\ndef test_holds():\n    assert pkg.double(0) == 0\n"
FATED = "import pkg\n{0}\n\n\ndef test_lost():\n    assert pkg.double(0) == 0\n\n\ndef test_lost_too():\n    assert pkg.double(0) == 0\n"
NEIGHBOURS = {"test_flips": "flipped", "test_holds": "held"}


def both(files: dict[str, str], child_source: str = WITHOUT) -> tuple[dict[str, str], dict[str, str]]:
    """A parent and a child whose tests the child has emptied, so that every test file is restored."""
    child = dict.fromkeys(files, "\n")
    return {"pkg.py": PACKAGE, **files}, {"pkg.py": child_source, **child}


@pytest.mark.parametrize(
    ("at_import", "reason"),
    [
        ("from pkg import gone", "import of removed name"),
        ("pkg.gone", "import of removed name"),
        ("exec('' if hasattr(pkg, 'gone') else 'def broken(:')", "collection error at t+1"),
        ("if not hasattr(pkg, 'gone'): raise RuntimeError('never again')", "collection error at t+1"),
        ("if not hasattr(pkg, 'gone'): __import__('sys').exit(0)", "collection error at t+1"),
        ("if not hasattr(pkg, 'gone'): __import__('os')._exit(0)", "collection error at t+1"),
        ("if not hasattr(pkg, 'gone'): __import__('pytest').exit('enough')", "collection error at t+1"),
        ("if not hasattr(pkg, 'gone'): __import__('os').kill(__import__('os').getpid(), 9)", "collection error at t+1"),
        ("import pytest\nif not hasattr(pkg, 'gone'): pytest.skip('not here', allow_module_level=True)", "skipped at t+1"),
    ],
)
def test_a_module_that_goes_down_at_import_takes_nobody_with_it(judge, at_import: str, reason: str) -> None:
    parent, child = both({"tests/test_a.py": GOOD, "tests/test_b.py": FATED.format(at_import), "tests/test_c.py": GOOD})
    judged = judge(parent, child, runs=1)
    verdicts = {nodeid: f"{label.verdict}: {label.reason}" for nodeid, label in judged.labels.items()}
    assert verdicts == {
        **{f"tests/test_{module}.py::{name}": f"{verdict}: " for module in "ac" for name, verdict in NEIGHBOURS.items()},
        **{f"tests/test_b.py::{name}": f"unknown: {reason}" for name in ("test_lost", "test_lost_too")},
    }
    lost = judged.labels["tests/test_b.py::test_lost"]
    assert {(one.state, one.phase) for one in lost.child_outcomes} == {("none", "collect")}


def test_the_removed_name_is_listed_with_the_claims_that_lost_their_verdict(judge) -> None:
    judged = judge(*both({"tests/test_b.py": FATED.format("from pkg import gone")}), runs=1)
    (outcome,) = set(judged.labels["tests/test_b.py::test_lost"].child_outcomes)
    assert outcome.reason.startswith("import of removed name: ImportError: cannot import name 'gone' from 'pkg'")
    assert "/tmp" not in outcome.reason, "a scratch folder in a label differs from run to run"


def test_an_import_that_hangs_is_cut_off_and_its_neighbours_run(judge) -> None:
    hangs = FATED.format("import time\nif not hasattr(pkg, 'gone'): time.sleep(600)")
    parent, child = both({"tests/test_a.py": GOOD, "tests/test_b.py": hangs, "tests/test_c.py": GOOD.replace("test_", "test_c_")})
    assert judge(parent, child, runs=1, collect_seconds=2).verdicts() == {
        **NEIGHBOURS,
        "test_c_flips": "flipped",
        "test_c_holds": "held",
        "test_lost": "unknown: timeout at t+1",
        "test_lost_too": "unknown: timeout at t+1",
    }


def test_a_conftest_that_hangs_is_cut_off_too(judge) -> None:
    conftest = "import pkg, time\nif not hasattr(pkg, 'gone'): time.sleep(600)\n"
    parent, child = both({"tests/one/conftest.py": conftest, "tests/one/test_one.py": FATED.format(""), "tests/two/test_two.py": GOOD})
    assert judge(parent, child, runs=1, collect_seconds=2).verdicts() == {
        **NEIGHBOURS,
        "test_lost": "unknown: timeout at t+1",
        "test_lost_too": "unknown: timeout at t+1",
    }


def test_a_syntax_error_at_the_parent_gives_no_claims_and_costs_nobody_any(judge) -> None:
    parent, child = both({"tests/test_a.py": GOOD, "tests/test_b.py": "def test_broken(:\n    assert True\n"})
    judged = judge(parent, child, runs=1)
    assert judged.verdicts() == NEIGHBOURS
    assert list(judged.reasons) == ["tests/test_b.py"]
    assert judged.reasons["tests/test_b.py"].startswith("collection error: ")


def test_a_conftest_that_asks_for_a_removed_name_costs_its_own_folder_alone(judge) -> None:
    parent, child = both(
        {
            "tests/one/conftest.py": "from pkg import gone\n",
            "tests/one/test_one.py": FATED.format(""),
            "tests/two/test_two.py": GOOD,
        }
    )
    assert judge(parent, child, runs=1).verdicts() == {
        **NEIGHBOURS,
        "test_lost": "unknown: import of removed name",
        "test_lost_too": "unknown: import of removed name",
    }


@pytest.mark.parametrize(
    "raising",
    ["raise RuntimeError('never again')", "import os; os._exit(3)", "import pytest; pytest.exit('enough')", "def broken(:"],
)
def test_a_conftest_that_raises_for_another_reason_costs_its_own_folder_alone(judge, raising: str) -> None:
    conftest = f"import pkg\nif not hasattr(pkg, 'gone'):\n    exec({raising!r})\n"
    parent, child = both({"tests/one/conftest.py": conftest, "tests/one/test_one.py": FATED.format(""), "tests/two/test_two.py": GOOD})
    assert judge(parent, child, runs=1).verdicts() == {
        **NEIGHBOURS,
        "test_lost": "unknown: collection error at t+1",
        "test_lost_too": "unknown: collection error at t+1",
    }


def test_a_conftest_above_all_tests_leaves_every_claim_without_a_verdict(judge) -> None:
    parent, child = both({"tests/conftest.py": "from pkg import gone\n", "tests/test_a.py": GOOD, "tests/sub/test_b.py": FATED.format("")})
    assert set(judge(parent, child, runs=1).verdicts().values()) == {"unknown: import of removed name"}


def test_a_test_that_is_gone_from_the_restored_module_is_not_a_failure(judge) -> None:
    tests = """
        import pkg

        if hasattr(pkg, 'gone'):

            def test_conditional():
                assert pkg.double(1) == 2

        def test_holds():
            assert pkg.double(0) == 0
    """
    parent, child = both({"tests/test_a.py": tests})
    assert judge(parent, child, runs=1).verdicts() == {"test_conditional": "unknown: not collected at t+1", "test_holds": "held"}


def test_a_case_that_is_gone_at_the_child_is_not_a_failure(judge) -> None:
    tests = """
        import pytest, pkg


        @pytest.mark.parametrize('x', [0, 1] if hasattr(pkg, 'gone') else [0])
        def test_it(x):
            assert pkg.double(x) in (0, 2, 3)
    """
    parent, child = both({"tests/test_a.py": tests})
    judged = judge(parent, child, runs=1)
    assert judged.verdicts() == {"test_it": "unknown: not collected at t+1"}
    assert {one.case for one in judged.labels["tests/test_a.py::test_it"].child_outcomes} == {"[1]"}
