"""A hung restored test: it alone loses its verdict.

Seen: a lock test of a cache library waits for ever against the next release. The parent's test expects the old locking, the child never releases, and
without a limit the whole change hangs; with a limit on the whole batch every claim of the change is lost. Only the hung test may lose its verdict, and
what it started must be gone.
"""

from __future__ import annotations

import uuid

from command import running

PACKAGE = """
    import threading

    NEW = False
    lock = threading.Lock()


    def take():
        lock.acquire()
        if not NEW:
            lock.release()
"""
CHILD = PACKAGE.replace("NEW = False", "NEW = True")
NEIGHBOURS = """
    import pkg


    def test_before():
        assert pkg.NEW in (True, False)

    {0}

    def test_flips_after():
        assert not pkg.NEW

    def test_holds_after():
        assert pkg.NEW in (True, False)
"""
VERDICTS = {"test_before": "held", "test_flips_after": "flipped", "test_holds_after": "held"}
LIMITS = {"runs": 4, "test_seconds": 1}


def with_hung(*functions: str) -> tuple[dict[str, str], dict[str, str]]:
    tests = NEIGHBOURS.format("\n\n".join(functions).replace("\n", "\n    "))
    return {"pkg.py": PACKAGE, "tests/test_pkg.py": tests}, {"pkg.py": CHILD, "tests/test_pkg.py": "\n"}


def test_a_lock_that_is_never_released_costs_one_verdict(judge) -> None:
    judged = judge(*with_hung("def test_lock():\n    pkg.take()\n    pkg.take()"), **LIMITS)
    assert judged.verdicts() == {**VERDICTS, "test_lock": "unknown: timeout at t+1"}
    for name in VERDICTS:
        label = judged.labels[f"tests/test_pkg.py::{name}"]
        assert (len(label.parent_outcomes), len(label.child_outcomes)) == (4, 4)
        assert len({one.state for one in label.child_outcomes}) == 1


def test_a_test_that_takes_no_signal_is_killed_all_the_same(judge) -> None:
    deaf = "[signal.signal(one, signal.SIG_IGN) for one in (15, 2, 1, 14)]"
    waits = "while pkg.NEW:\n        try:\n            time.sleep(600)\n        except BaseException:\n            pass"
    hung = f"def test_deaf():\n    import signal, time\n    {deaf}\n    {waits}"
    assert judge(*with_hung(hung), **LIMITS).verdicts() == {**VERDICTS, "test_deaf": "unknown: timeout at t+1"}


def test_several_hung_tests_each_lose_theirs(judge) -> None:
    first = "import pytest\n\n@pytest.mark.parametrize('times', [1, 2])\ndef test_first(times):\n    [pkg.take() for _ in range(times)]"
    second = "def test_second():\n    import time\n    time.sleep(600 if pkg.NEW else 0)"
    assert judge(*with_hung(first, second), **LIMITS).verdicts() == {
        **VERDICTS,
        "test_first": "unknown: timeout at t+1",
        "test_second": "unknown: timeout at t+1",
    }


def test_a_test_that_hangs_at_the_parent_is_dropped_there(judge) -> None:
    hung = "def test_never():\n    import time\n    time.sleep(0 if pkg.NEW else 600)"
    assert judge(*with_hung(hung), **LIMITS).verdicts() == {**VERDICTS, "test_never": "unknown: timeout at t"}


def test_the_worker_of_a_hung_test_is_gone_afterwards(judge) -> None:
    marker = f"worker-{uuid.uuid4().hex}"
    worker = f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}])"
    hung = f"def test_waits():\n    import subprocess, sys\n    worker = {worker}\n    worker.wait() if pkg.NEW else worker.kill()"
    assert judge(*with_hung(hung), **LIMITS).verdicts() == {**VERDICTS, "test_waits": "unknown: timeout at t+1"}
    assert running(marker) == []


def test_a_fixture_that_hangs_in_setup_is_its_users_fault_alone(judge) -> None:
    hung = "import pytest\n\n@pytest.fixture\ndef slow():\n    pkg.take()\n    pkg.take()\n\ndef test_uses(slow):\n    pass"
    assert judge(*with_hung(hung), **LIMITS).verdicts() == {**VERDICTS, "test_uses": "unknown: timeout at t+1"}


def test_a_thread_that_never_ends_keeps_no_run_from_ending(judge) -> None:
    lingering = "def test_thread():\n    import threading\n    threading.Thread(target=threading.Event().wait).start()"
    assert judge(*with_hung(lingering), **LIMITS).verdicts() == {**VERDICTS, "test_thread": "held"}
