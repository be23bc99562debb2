"""A tree, an environment and the probe: where the tests of one side are collected and run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from claimflip.protocols import CollectedTest
from claimflip.records import Side
from claimflip.source import pytest_config
from oracle import sandbox
from oracle.environment import Environment, source_roots, write_metadata
from oracle.verdict import CaseOutcome, CollectionFailure, SideRuns, collection_failure

PROBE = Path(__file__).with_name("probe.py")
_CONFTEST = re.compile(r"ImportError while loading conftest '(?:(.*)/)?conftest\.py'")
_ERROR = re.compile(r"^E\s+(\w+): (.*)$", re.MULTILINE)
_LIBRARY = re.compile(r"/[^\s'\"():]*/(?=lib/python3|site-packages/)")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
USAGE_ERROR = 4  # pytest's exit code for options or a conftest that it cannot take


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds: for importing one test module (or the first conftests), for one test without a sign of life, and for one probe altogether."""

    collect: float
    test: float
    probe: float


class TreeWorkspace:
    """One side's tree, ready to run: a scratch folder beside it, the environment, pytest's configuration as the parent has it.

    ``parent`` is the tree whose configuration that is; ``slots`` bounds how many probes run at once over all workspaces.
    """

    def __init__(self, tree: Path, scratch: Path, environment: Environment, *, side: Side, parent: Path, limits: Limits, slots: BoundedSemaphore) -> None:
        self.tree = tree
        self.scratch = scratch
        self.environment = environment
        self.side = side
        self.limits = limits
        self.slots = slots
        self._metadata = scratch / "metadata"
        write_metadata(tree, self._metadata)
        self._parent = parent

    def _configure(self, test_modules: Sequence[str]) -> None:
        name, text = pytest_config.of_parent(self._parent, test_modules)
        (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / name).write_text(text, encoding="utf-8")
        self._addopts = pytest_config.addopts(name, text)
        measures = ["--benchmark-disable"] if "pytest-benchmark==" in self.environment.lock else []  # the calls stay, their repetition goes
        # native: pytest's own tracebacks parse the whole test module anew for every failure
        self._arguments = [*measures, "-c", name, f"--rootdir={self.tree}", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=native", "-q"]

    def collect(self, test_modules: Sequence[str]) -> tuple[list[CollectedTest], dict[str, str]]:
        """Collect the modules in a fresh process; returns the items and, by module, the reason why one could not be collected."""
        reports, failures = self._reports(test_modules, {"functions": None, "runs": [], "modules": []}, hash_seed=0)
        items = [
            CollectedTest(
                nodeid=item["function"] + item["case"],
                case=item["case"],
                file=item["file"],
                line=item["line"],
                qualname=item["qualname"],
                fixtures=tuple((name, file) for name, file in item["fixtures"]),
            )
            for report in reports
            for item in report["items"]
        ]
        return items, {module: f"{failure.kind}: {failure.detail}" for module, failure in failures.items()}

    def run(self, test_modules: Sequence[str], functions: Sequence[str], runs: Sequence[int], *, modules: Sequence[str], hash_seed: int) -> SideRuns:
        """Run the functions once for each number in ``runs``, all from one fresh process; ``modules`` are those whose origin is wanted."""
        job = {"functions": list(functions), "runs": list(runs), "modules": list(modules)}
        reports, failures = self._reports(test_modules, job, hash_seed=hash_seed)
        side = SideRuns(failures=failures)
        for report in reports:
            items = [(item["function"], item["case"]) for item in report["items"]]
            side.imported.update(report["modules"])
            for run, outcomes in report["runs"].items():
                found = {items[index]: CaseOutcome(state=state, phase=phase, reason=reason, origin=origin) for index, state, phase, reason, origin in outcomes}
                side.outcomes.setdefault(run, {}).update(found)
            for function, run, reason in report["excluded"]:
                lost = CaseOutcome(state="none", phase="call", reason=reason)
                for later in (one for one in runs if one >= run):
                    side.outcomes.setdefault(later, {}).update({key: lost for key in items if key[0] == function})
            if not report["ended"]:
                lost = CaseOutcome(state="none", phase="call", reason="timeout" if report["died"].kind == "timeout" else "the probe was killed")
                for run in set(runs) - report["runs"].keys():
                    side.outcomes.setdefault(run, {}).update(dict.fromkeys(items, lost))
        return side

    def _reports(self, test_modules: Sequence[str], job: Mapping[str, Any], *, hash_seed: int) -> tuple[list[dict[str, Any]], dict[str, CollectionFailure]]:
        """Probe the modules together; where the process dies, leave the culprit out, or take each alone where nothing names one.

        Returns one report a process that came to its end, and the modules that have none.
        """
        self._configure(test_modules)
        present = [module for module in test_modules if (self.tree / module).is_file()]
        failures = {module: CollectionFailure(kind="not collected", detail="no such file") for module in test_modules if module not in present}
        reports: list[dict[str, Any]] = []
        batches = [present] if present else []
        while batches:
            files = batches.pop(0)
            report = self._probe(files, job, hash_seed)
            if report["killed"]:
                report = self._probe(files, job, hash_seed)  # by whom is not known: believed only when it happens again
            if report["refused"] and self._addopts:
                # options of a plugin that is not there; where pytest does not name them, do without all
                named = [word for word in self._addopts if word in report["refused"]]
                self._addopts = [word for word in self._addopts if named and word not in named]
                batches.insert(0, files)
                continue
            failures.update(report["failures"])
            if report["ended"] or report["items"]:
                reports.append(report)
                continue
            culprits = [file for file in files if file == report["collecting"] or file.startswith(report["conftest"])]
            if not culprits and len(files) > 1:
                batches[:0] = [[file] for file in files]
                continue
            failures.update(dict.fromkeys(culprits or files, report["died"]))
            if rest := [file for file in files if file not in (culprits or files)]:
                batches.insert(0, rest)
        return reports, failures

    def _probe(self, files: Sequence[str], job: Mapping[str, Any], hash_seed: int) -> dict[str, Any]:
        """One process: write the job, run the probe, read its report."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch, prefix="probe-"))
        report, log = folder / "report.jsonl", folder / "log.txt"
        arguments = [*self._arguments, "-o", f"addopts={shlex.join(self._addopts)}"]
        whole = {
            **job,
            "root": str(self.tree),
            "files": [f"./{file}" for file in files],  # a file may be called -v_test.py
            "args": arguments,
            "report": str(report),
            "collect_seconds": self.limits.collect,
            "test_seconds": self.limits.test,
        }
        (folder / "job.json").write_text(json.dumps(whole), encoding="utf-8")
        python_path = [*source_roots(self.tree), self._metadata]
        env = sandbox.clean_environment(folder, path=self.environment.python.parent, hash_seed=hash_seed, python_path=python_path)
        with self.slots:
            finished = sandbox.run(
                [str(self.environment.python), str(PROBE), str(folder / "job.json")], cwd=self.tree, env=env, seconds=self.limits.probe, log=log
            )
        found = self._read(report)
        found["died"], found["conftest"] = self._autopsy(log, finished)
        found["killed"] = finished.returncode == -signal.SIGKILL and not finished.timed_out
        refused = finished.returncode == USAGE_ERROR and not found["collecting"] and found["conftest"] == "//"
        found["refused"] = found["died"].detail.split() if refused else []
        shutil.rmtree(folder, ignore_errors=True)
        return found

    def _autopsy(self, log: Path, finished: sandbox.Finished) -> tuple[CollectionFailure, str]:
        """Why a probe died, from what pytest printed; and the folder of a conftest that cannot be imported, with a slash, or a text that begins no path."""
        if finished.timed_out or finished.returncode == -signal.SIGALRM:
            return CollectionFailure(kind="timeout"), "//"
        printed = self._portable(log.read_bytes()[-8000:].decode("utf-8", "replace"))
        conftest = _CONFTEST.search(printed)
        error = _ERROR.findall(printed)
        lines = [line.strip() for line in printed.splitlines() if line.strip()]
        if conftest and error:
            return collection_failure(self.side, *error[-1]), f"{conftest[1]}/" if conftest[1] else ""
        said = next((line for line in lines if "error:" in line), lines[-1] if lines else f"exit {finished.returncode}")
        return CollectionFailure(kind="collection error", detail=said[:300]), "//"

    def _read(self, path: Path) -> dict[str, Any]:
        """The probe's report, put together; a last line cut off by a kill is left out."""
        found: dict[str, Any] = {"items": [], "runs": {}, "excluded": [], "failures": {}, "modules": {}, "collecting": "", "ended": False}
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
            if not line.endswith(b"\n"):
                break
            event = json.loads(line)
            kind = event["e"]
            if kind == "items":
                found["items"] = event["items"]
            elif kind == "run":
                found["runs"][event["run"]] = event["outcomes"]
            elif kind == "excluded":
                found["excluded"].append((event["function"], event["run"], event["reason"]))
            elif kind == "collecting":
                found["collecting"] = event["file"]
            elif kind == "collect_error":
                found["failures"][event["file"]] = collection_failure(self.side, event["type"], self._portable(event["message"]), skipped=event["skipped"])
            elif kind == "modules":
                found["modules"].update(event["modules"])
            elif kind == "end":
                found["ended"] = True
        return found

    def _portable(self, text: str) -> str:
        """A message as it would read on every machine: paths below the tree or the interpreter's library, no addresses of objects."""
        for root in (self.tree, self.tree.resolve(), PROBE.parent):
            text = text.replace(f"{root}/", "")
        return _ADDRESS.sub("0x…", _LIBRARY.sub("", text))
