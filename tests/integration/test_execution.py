"""Claims put to the child's source: what is held, what is flipped, what has no verdict and why."""

from __future__ import annotations

from oracle import sandbox

PACKAGE = "def double(x):\n    return 2 * x\n\n\ndef name():\n    return 'old'\n"
TESTS = """
    import pytest
    import pkg


    def test_double():
        assert pkg.double(2) == 4


    def test_name():
        assert pkg.name() == 'old'
"""


def test_the_retired_expectation_flips_and_its_neighbour_holds(judge) -> None:
    child = {"pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": TESTS.replace("'old'", "'new'")}
    judged = judge({"pkg.py": PACKAGE, "tests/test_pkg.py": TESTS}, child)
    assert judged.verdicts() == {"test_double": "held", "test_name": "flipped"}
    flip = judged.labels["tests/test_pkg.py::test_name"]
    assert [one.state for one in flip.parent_outcomes] == ["passed"] * 4
    assert {(one.state, one.phase, one.reason) for one in flip.child_outcomes} == {("failed", "call", "AssertionError")}


def test_a_test_file_added_by_the_child_is_not_there_when_the_claims_run(judge) -> None:
    tests = "import os, pkg\n\n\ndef test_alone():\n    assert [name for name in os.listdir('tests') if name.endswith('.py')] == ['test_pkg.py']\n"
    child = {"pkg.py": PACKAGE + "\n", "tests/test_pkg.py": tests + "\n", "tests/test_new.py": "def test_new(): assert True\n"}
    assert judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, child).verdicts() == {"test_alone": "held"}


def test_a_test_file_deleted_by_the_child_is_restored_with_its_helper(judge) -> None:
    parent = {
        "pkg.py": PACKAGE,
        "tests/helper.py": "WANTED = 4\n",
        "tests/test_pkg.py": "import pkg\nfrom helper import WANTED\n\n\ndef test_double():\n    assert pkg.double(2) == WANTED\n",
    }
    assert judge(parent, {"pkg.py": PACKAGE.replace("2 * x", "3 * x")}).verdicts() == {"test_double": "flipped"}


def test_parametrised_cases_are_one_claim_and_any_failing_case_flips_it(judge) -> None:
    tests = """
        import pytest, pkg


        @pytest.mark.parametrize("x", [0, 1, pytest.param(2, marks=pytest.mark.skip)])
        def test_double(x):
            assert pkg.double(x) == 2 * x
    """
    judged = judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE.replace("2 * x", "3 * x"), "tests/test_pkg.py": "\n"})
    (label,) = judged.labels.values()
    assert label.verdict == "flipped"
    assert {one.case for one in label.child_outcomes} == {"[1]"}
    (claim,) = judged.claims.values()
    assert claim.cases == ("[0]", "[1]", "[2]")


def test_what_gives_no_verdict_says_so_by_name(judge) -> None:
    tests = """
        import os
        import random
        import sys
        import pytest, pkg


        def test_failing_already():
            assert pkg.name() == 'never'

        @pytest.mark.skip
        def test_skipped():
            assert True

        @pytest.mark.xfail
        def test_xfailed():
            assert False

        @pytest.mark.xfail
        def test_xpassed():
            assert True

        def test_skipped_at_child():
            if pkg.name() == 'new':
                pytest.skip()

        def test_hash_order():
            assert hash('claim') % 2

        def test_random():
            assert random.random() < 0.5

        def test_dies_at_child():
            if pkg.name() == 'new':
                os._exit(3)

        def test_exits_pytest_at_child():
            if pkg.name() == 'new':
                pytest.exit('enough')

        def test_after_all_that():
            assert pkg.double(2) == 4
    """
    child = {"pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"}
    assert judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, child, runs=10).verdicts() == {
        "test_failing_already": "unknown: failed at t",
        "test_skipped": "unknown: skipped at t",
        "test_xfailed": "unknown: xfailed at t",
        "test_xpassed": "unknown: xpassed at t",
        "test_skipped_at_child": "unknown: skipped at t+1",
        "test_hash_order": "unknown: outcomes differ at t",
        "test_random": "unknown: outcomes differ at t",
        "test_dies_at_child": "unknown: the interpreter exited with 3 at t+1",
        "test_exits_pytest_at_child": "unknown: aborted by Exit at t+1",
        "test_after_all_that": "held",
    }


def test_an_error_in_setup_counts_only_where_the_fixture_stands_in_a_test_file(judge) -> None:
    plugin = "import pytest\n\n\n@pytest.fixture\ndef outside():\n    import pkg\n    assert pkg.name() == 'old'\n"
    parent = {
        "pkg.py": PACKAGE,
        "plugin.py": plugin,
        "tests/conftest.py": "import pytest, pkg\npytest_plugins = ['plugin']\n\n\n@pytest.fixture\ndef inside():\n    assert pkg.name() == 'old'\n",
        "tests/test_pkg.py": "def test_inside(inside): pass\n\n\ndef test_outside(outside): pass\n",
    }
    child = {**parent, "pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"}
    judged = judge(parent, child)
    assert judged.verdicts() == {"test_inside": "flipped", "test_outside": "unknown: error in a fixture outside the tests at t+1"}
    assert {one.phase for one in judged.labels["tests/test_pkg.py::test_inside"].child_outcomes} == {"setup"}


def test_a_failure_in_teardown_is_a_failing_verdict(judge) -> None:
    tests = "import pytest, pkg\n\n\n@pytest.fixture\ndef thing():\n    yield\n    assert pkg.name() == 'old'\n\n\ndef test_it(thing): pass\n"
    judged = judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"})
    (label,) = judged.labels.values()
    assert (label.verdict, {one.phase for one in label.child_outcomes}) == ("flipped", {"teardown"})


def test_the_parents_pytest_configuration_rules_on_both_sides(judge) -> None:
    tests = "import warnings, pkg\n\n\ndef test_it():\n    pkg.name()\n"
    config = '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\naddopts = "-x --cov=pkg --strict-markers"\n'
    warns = "import warnings\n\n\ndef name():\n    warnings.warn('old', DeprecationWarning)\n"
    parent = {"pkg.py": PACKAGE, "tests/test_pkg.py": tests, "pyproject.toml": config}
    judged = judge(parent, {"pkg.py": warns, "tests/test_pkg.py": "\n", "pyproject.toml": ""})
    (label,) = judged.labels.values()
    assert (label.verdict, {one.reason for one in label.child_outcomes}) == ("flipped", {"Warning:DeprecationWarning"})


def test_runs_differ_in_random_numbers_and_repeat_the_same_ones(judge, tmp_path) -> None:
    log = str(tmp_path / "numbers")
    tests = f"import random\n\n\ndef test_it():\n    with open({log!r}, 'a') as log: log.write(str(random.random()) + chr(10))\n"
    judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE + "\n", "tests/test_pkg.py": "\n"})
    numbers = (tmp_path / "numbers").read_text().split()
    assert len(numbers) == 8
    assert len(set(numbers)) == 4


def test_a_fixture_that_failed_once_is_told_alike_to_all_its_users(judge) -> None:
    plugin = "import pytest\n\n\n@pytest.fixture(scope='module')\ndef outside():\n    import pkg\n    assert pkg.name() == 'old'\n"
    tests = "def test_first(outside): pass\n\n\ndef test_second(outside): pass\n"
    parent = {"pkg.py": PACKAGE, "plugin.py": plugin, "tests/conftest.py": "pytest_plugins = ['plugin']\n", "tests/test_pkg.py": tests}
    judged = judge(parent, {**parent, "pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"})
    assert set(judged.verdicts().values()) == {"unknown: error in a fixture outside the tests at t+1"}


def test_careless_tests_do_not_move_their_neighbours_verdicts(judge) -> None:
    tests = """
        import json, os, sys, time, types
        import pytest, pkg

        time.time = time.monotonic = lambda: 0.0
        json.dumps = json.loads = lambda *_: None
        sys.modules['odd'] = types.SimpleNamespace(__file__=3)


        def test_fork_that_comes_back():
            if os.fork() == 0:
                return
            assert pkg.name() == 'old'

        def test_writes_everywhere():
            for number in range(3, 40):
                try:
                    os.write(number, b'}{ not json\\n')
                except OSError:
                    pass

        @pytest.mark.parametrize('text', ['a::b', '[x]', '\\udcff', 'é', 'x' * 300])
        def test_odd_ids(text):
            assert pkg.name() == 'old'

        def test_plain():
            assert pkg.double(2) == 4
    """
    judged = judge(
        {"pkg.py": PACKAGE, "odd.py": "X = 1\n", "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"}
    )
    assert judged.verdicts() == {
        "test_fork_that_comes_back": "flipped",
        "test_writes_everywhere": "unknown: the test wrote into the probe's pipe at t",
        "test_odd_ids": "flipped",
        "test_plain": "held",
    }


def test_a_name_and_a_version_that_climb_stay_in_the_scratch_folder(judge, tmp_path) -> None:
    info = "Metadata-Version: 2.1\nName: pkg\nVersion: ../../../climbed\n"
    parent = {"pkg.py": PACKAGE, "PKG-INFO": info, "tests/test_pkg.py": TESTS}
    assert judge(parent, {**parent, "tests/test_pkg.py": "\n"}).verdicts() == {"test_double": "held", "test_name": "held"}
    assert not list(tmp_path.rglob("climbed*"))


def test_a_claim_that_looks_at_its_own_path_sees_no_side_in_it(judge, tmp_path) -> None:
    log = str(tmp_path / "paths")
    tests = f"""
        import tempfile, pkg

        def test_path():
            with open({log!r}, 'a') as stream: stream.write(f'{{len(__file__)}} {{len(tempfile.gettempdir())}}\\n')
            assert '/child' not in __file__ + tempfile.gettempdir()
            assert '/parent' not in __file__ + tempfile.gettempdir()
    """
    assert judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE + "\n", "tests/test_pkg.py": "\n"}).verdicts() == {"test_path": "held"}
    assert len(set((tmp_path / "paths").read_text().splitlines())) == 1


def test_a_probe_that_is_killed_once_from_outside_is_run_again(judge, tmp_path) -> None:
    mark = str(tmp_path / "killed")
    tests = f"""
        import os, signal, pkg

        def test_it():
            if pkg.name() == 'new' and not os.path.exists({mark!r}):
                open({mark!r}, 'w').close()
                os.kill(os.getppid(), signal.SIGKILL)
    """
    child = {"pkg.py": PACKAGE.replace("'old'", "'new'"), "tests/test_pkg.py": "\n"}
    assert judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, child, processes=1).verdicts() == {"test_it": "held"}


def test_a_thread_left_running_does_not_hold_a_probe_that_is_done(judge, monkeypatch) -> None:
    ends, run = [], sandbox.run
    monkeypatch.setattr(sandbox, "run", lambda *args, **kwargs: ends.append(run(*args, **kwargs)) or ends[-1])
    tests = "import threading, time, pkg\n\nthreading.Thread(target=time.sleep, args=(600,)).start()\n\n\ndef test_it():\n    assert pkg.double(2) == 4\n"
    judged = judge({"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": PACKAGE + "\n", "tests/test_pkg.py": "\n"}, probe_seconds=10)
    assert judged.verdicts() == {"test_it": "held"}
    assert ends
    assert not any(end.timed_out for end in ends)
