"""Runs inside the mined project's environment: collects once, forks a child a run, and says what happened to every test.

Standard library and pytest (5 or later) only, one file, Python 3.7 or later. Called as ``python probe.py JOB``; the job is a JSON
file, so that node ids never stand on a command line:

``root`` the tree · ``args`` options for pytest · ``files`` test modules below root · ``functions`` node ids to run, without
case (``null``: all) · ``runs`` run numbers (empty: only collect) · ``report`` where the answer goes · ``modules`` names whose
origin is wanted · ``collect_seconds``, ``test_seconds`` limits.

The report is JSON lines, each an object with a key ``e``: ``collecting``, ``collect_error``, ``items``, ``run``, ``excluded``, ``modules``,
``end``. A report without ``end`` is that of a process that died: the last ``collecting`` names the culprit.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]  # our siblings are not the project's modules

import pytest  # noqa: E402

# taken before any test module is imported: mined code patches what it finds
clock, wait, ready_within = time.monotonic, time.sleep, select.select
dumps, loads = json.dumps, json.loads
read, write, close, pipe, fork = os.read, os.write, os.close, os.pipe, os.fork
waitpid, killpg, getpid, leave = os.waitpid, os.killpg, os.getpid, os._exit


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies (Linux): a killed run must not leave tests running."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        pass


def start_clock(seconds: float) -> None:
    """Have the kernel end this process after so many seconds: nobody else could stop an import that hangs. 0 stops the clock."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def unwrapped(function: Any) -> Any:
    """The function that was written down, below decorators that keep a link to it."""
    for _ in range(50):
        function = getattr(function, "__func__", function)
        hypothesis: Any = getattr(function, "hypothesis", None)
        if hasattr(hypothesis, "inner_test"):
            function = hypothesis.inner_test
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not hasattr(function, "__code__") and hasattr(function, "func"):
            function = function.func
        else:
            break
    return function


def named(item: Any) -> Any:
    """The node id without its case, and the bracketed case or the empty string; what is no valid Unicode is escaped."""
    callspec = getattr(item, "callspec", None)
    case = "[%s]" % callspec.id if callspec is not None else ""
    if not item.nodeid.endswith(case):
        case = ""
    function = item.nodeid[: len(item.nodeid) - len(case)]
    return tuple(part.encode("utf-8", "backslashreplace").decode() for part in (function, case))


def function_of(item: Any) -> str:
    """The node id without the case."""
    return str(named(item)[0])


def item_path(item: Any) -> str:
    """The file that the item was collected from."""
    return str(getattr(item, "path", None) or item.fspath)


class Probe:
    """A pytest plugin that takes the place of the run loop."""

    def __init__(self, job: Any) -> None:
        self.job = job
        self.root = os.path.realpath(job["root"])
        self.report = os.open(job["report"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.started = clock()
        self.running = 0  # the run child under way
        self.child = -1  # the pipe to write to, in a run child only
        self.pid = 0
        self.reports: list[Any] = []
        self.origins: Any = {}  # by the exception's id, the exception and the file of the fixture that raised it

    def say(self, event: str, **fields: Any) -> None:
        """Append one line to the report."""
        line = dumps(dict(fields, e=event)) + "\n"
        write(self.report, line.encode("utf-8", "backslashreplace"))

    def below_root(self, path: str) -> str:
        """A path as POSIX below the root where it is inside, below site-packages where it is there, else absolute."""
        path = os.path.realpath(path)
        if path.startswith(self.root + os.sep):
            path = path[len(self.root) + 1 :]
        return path.replace(os.sep, "/")

    # -- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Settle hypothesis before any test module is imported."""
        settle_hypothesis()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Name what is being collected, so that a process that dies here leaves its culprit; keep the error's type and text."""
        if isinstance(collector, pytest.Module):
            start_clock(self.job["collect_seconds"])  # for each module anew: how many a change touches must not cost one its verdict
            self.say("collecting", file=self.below_root(str(getattr(collector, "path", None) or collector.fspath)))
        outcome = yield
        report = outcome.get_result()
        if report.outcome == "passed":
            return
        excinfo = getattr(getattr(report, "call", None), "excinfo", None)
        error = excinfo.value if excinfo is not None else None
        while error is not None and error.__cause__ is not None:
            error = error.__cause__
        message = (str(error).replace(self.root + os.sep, "").strip().splitlines() or [""])[0][:500]
        file = (collector.nodeid or "").split("::")[0]
        self.say("collect_error", file=file, skipped=report.outcome == "skipped", type=type(error).__name__, message=message)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of running: tell what was collected, then fork a child for each run."""
        start_clock(0)
        signal.signal(signal.SIGTERM, self.stop)
        wanted = self.job["functions"]
        items = [item for item in session.items if isinstance(item, pytest.Function)]
        if wanted is not None:
            wanted = set(wanted)
            items = [item for item in items if function_of(item) in wanted]
        runs = self.job["runs"]
        self.say("items", items=[self.described(item, not runs) for item in items], seconds=round(clock() - self.started, 3))
        excluded: Any = set()
        for run in runs:
            self.one_run(items, run, excluded)
        self.say("end")
        leave(0)  # all is said: a thread left running or a slow end of the session would hold the process
        return True

    def described(self, item: Any, in_full: bool) -> Any:
        """One item for the report: function and case; in full, also where it is defined and which fixtures it uses."""
        function_id, case = named(item)
        short = {"function": function_id, "case": case}
        if not in_full:
            return short
        function = unwrapped(item.obj)
        code = getattr(function, "__code__", None)
        fixtures = []
        for name, definitions in sorted(item._fixtureinfo.name2fixturedefs.items()):
            where = getattr(unwrapped(definitions[-1].func), "__code__", None)
            path = self.below_root(where.co_filename) if where is not None else ""
            if not path.endswith(("/_pytest/python.py", "/_pytest/unittest.py")):  # parameters, setup_class and the like
                fixtures.append([name, path])
        return dict(
            short,
            file=self.below_root(code.co_filename) if code is not None else "",
            line=code.co_firstlineno if code is not None else 0,
            qualname=getattr(function, "__qualname__", ""),
            fixtures=fixtures,
        )

    # -- runs

    def stop(self, *_: Any) -> None:
        """At the end of the probe's time: take the run child's group along, which is not the probe's own."""
        if self.running:
            killpg(self.running, signal.SIGKILL)
        leave(1)

    def one_run(self, items: Any, run: int, excluded: Any) -> None:
        """Run the items in a forked child; where it dies or hangs, name the culprit, leave it out and run the rest again."""
        while True:
            kept = [index for index, item in enumerate(items) if function_of(item) not in excluded]
            if not kept:
                return
            began = clock()
            outcomes, modules, culprit, reason = self.forked([items[index] for index in kept], run)
            if culprit is None:
                self.say("run", run=run, outcomes=[[kept[one[0]]] + one[1:] for one in outcomes], seconds=round(clock() - began, 3))
                if modules:
                    self.say("modules", modules=modules)
                return
            function = function_of(items[kept[culprit]])
            excluded.add(function)
            self.say("excluded", run=run, function=function, reason=reason)

    def forked(self, items: Any, run: int) -> Any:
        """Fork, follow the child's events, kill its group; returns outcomes, modules, and the index and reason of a culprit."""
        receive, send = pipe()
        pid = fork()
        if pid == 0:
            close(receive)
            close(self.report)
            self.run_child(items, run, send)
        self.running = pid
        close(send)
        outcomes: list[Any] = []
        modules: Any = {}
        reason: Any = None
        current, buffer = 0, b""
        limit = self.job["test_seconds"]
        last = clock()
        while reason is None:
            ready, _, _ = ready_within([receive], [], [], 0.05)
            chunk = read(receive, 1 << 16) if ready else None
            if chunk:
                last = clock()
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                for event in map(heard, lines):
                    if event[0] == "start":
                        current = event[1]
                    elif event[0] == "done":
                        outcomes.append(event[1:])
                    elif event[0] == "modules":
                        modules = event[1]
                    elif event[0] == "abort":
                        reason = event[1]
                        break
                    elif event[0] == "end":
                        reason = ""
            elif chunk == b"" or not ready:
                status = waitpid(pid, os.WNOHANG)
                if status[0] == pid:
                    pid, reason = -pid, died(status[1])
                elif clock() - last > limit:
                    reason = "timeout"
                elif chunk == b"":
                    wait(0.01)
        close(receive)
        try:
            killpg(abs(pid), signal.SIGKILL)  # the group: tests leave workers behind
        except OSError:
            pass
        if pid > 0:
            waitpid(pid, 0)
        self.running = 0
        return outcomes, modules, (None if reason == "" else current), reason

    def run_child(self, items: Any, run: int, send: int) -> None:
        """The forked child: its own process group, its own random numbers, one event a test; never returns."""
        try:
            os.setsid()
            die_with_parent()
            self.child, self.pid = send, getpid()
            seed_random(run)
            for index, item in enumerate(items):
                self.tell(["start", index])
                self.reports = []
                following = items[index + 1] if index + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self.tell(["done", index] + self.judged(item))
            names = [(name, getattr(sys.modules.get(name), "__file__", None)) for name in self.job["modules"]]
            self.tell(["modules", {name: self.below_root(path) for name, path in names if isinstance(path, str)}])
            self.tell(["end"])
        except BaseException as error:
            self.tell(["abort", "aborted by %s" % type(error).__name__])
        finally:
            leave(0)

    def tell(self, event: Any) -> None:
        """Send one event to the probe; a fork of a test's own that came back from the test has no say."""
        if getpid() != self.pid:
            leave(0)
        data = (dumps(event) + "\n").encode("utf-8", "backslashreplace")
        while data:
            data = data[write(self.child, data) :]

    def judged(self, item: Any) -> Any:
        """State, phase, reason and (for an error in setup) the file of the fixture that raised, from the phases' reports."""
        for report, error, origin in self.reports:
            if report.failed:
                if isinstance(report.longrepr, str) and report.longrepr.startswith("[XPASS(strict)]"):
                    return ["none", report.when, "xpassed", ""]
                return ["failed", report.when, error, origin or self.below_root(item_path(item)) if report.when == "setup" else ""]
        for report, _, _ in self.reports:
            if hasattr(report, "wasxfail"):
                return ["none", report.when, "xfailed" if report.skipped else "xpassed", ""]
            if report.skipped:
                return ["none", report.when, "skipped", ""]
        return ["passed", "", "", ""] if self.reports else ["none", "", "no report", ""]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Remember the file of the innermost fixture that raised; pytest raises the same exception again for later users of the fixture."""
        outcome = yield
        if outcome.excinfo is not None:
            error = outcome.excinfo[1]
            code = getattr(unwrapped(fixturedef.func), "__code__", None)
            path = self.below_root(code.co_filename) if code is not None else ""
            # setup_class and setUpClass: the test's own file
            self.origins.setdefault(id(error), (error, "" if "/_pytest/" in path else path))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> Any:
        """Keep each phase's report with the type of what was raised; a warning raised as an error is marked as such."""
        outcome = yield
        error, origin = "", ""
        if call.excinfo is not None:
            origin = self.origins.get(id(call.excinfo.value), (None, ""))[1]
            error = call.excinfo.type.__name__
            if issubclass(call.excinfo.type, Warning):
                error = "Warning:" + error
        if self.child >= 0:
            self.reports.append((outcome.get_result(), error, origin))


def heard(line: bytes) -> Any:
    """An event from a run child, or, where a test wrote into the pipe, the end of the run."""
    try:
        event = loads(line.decode())
    except ValueError:
        event = None
    return event if isinstance(event, list) and event else ["abort", "the test wrote into the probe's pipe"]


def died(status: int) -> str:
    """Why a child that sent no end is gone."""
    if os.WIFSIGNALED(status):
        return "killed by signal %d" % os.WTERMSIG(status)
    return "the interpreter exited with %d" % os.WEXITSTATUS(status)


def seed_random(run: int) -> None:
    """Give each run its own random numbers, the same in every repetition: a fork would hand the same ones to all runs."""
    random.seed(run)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(run)
    if "hypothesis" in sys.modules:
        import hypothesis.core

        hypothesis.core.global_force_seed = run  # type: ignore[assignment]


def settle_hypothesis() -> None:
    """Hypothesis without database, deadlines and slowness checks: a verdict must not depend on the machine's pace."""
    try:
        from hypothesis import HealthCheck, settings
    except ImportError:
        return
    default: Any = settings.default
    suppressed = list(default.suppress_health_check) + [HealthCheck.too_slow]
    settings.register_profile("claimflip", default, deadline=None, database=None, suppress_health_check=suppressed)
    settings.load_profile("claimflip")


def main(path: str) -> Any:
    """Do the job; the exit code is pytest's own."""
    die_with_parent()
    with open(path, encoding="utf-8") as stream:
        job = json.load(stream)
    os.chdir(job["root"])
    start_clock(job["collect_seconds"])  # pytest imports the first conftests before any hook of ours
    return pytest.main(job["args"] + job["files"], plugins=[Probe(job)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
