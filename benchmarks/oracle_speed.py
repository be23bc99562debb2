"""Seconds for N = 10 + 10 by the oracle against twenty cold ``pytest`` processes, one after another, over the same files, trees and environment.

    python benchmarks/oracle_speed.py [CORPUS] [--changes REPO:CHILD …] [--workers 2]

CORPUS is a mined folder (``claimflip mine corpus=quickstart``). The verdicts of both must be the same, or it exits with 1. The floor is the tests' own time
(the sum of what pytest reports for each phase) × 20 ÷ workers: no way of running every test twenty times on that many workers can be faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from claimflip.building import build
from claimflip.corpus import Corpus, open_corpus
from claimflip.ledger import Ledger
from claimflip.protocols import Source
from claimflip.records import Change, Claim
from claimflip.source import pytest_config
from claimflip.source.trees import restore_tests
from oracle import sandbox
from oracle.environment import Environment, source_roots, write_metadata
from oracle.execution import ExecutionOracle

RUNS = 10
CHANGES = ("cachetools:7.3.0", "structlog:23.2.0", "humanize:4.15.0")


def cold(tree: Path, config: tuple[str, str], environment: Environment, files: Sequence[str], scratch: Path) -> tuple[list[dict[str, str]], float]:
    """Ten cold processes over one tree; returns each run's outcome by item and the mean of the tests' own seconds."""
    name, text = config
    (tree / name).write_text(text, encoding="utf-8")
    write_metadata(tree, scratch / "metadata")
    python, benchmark = environment.python, ["--benchmark-disable"] if "pytest-benchmark==" in environment.lock else []
    options = [*pytest_config.addopts(name, text), *benchmark]
    python_path = [*source_roots(tree), scratch / "metadata", Path(__file__).parent]
    runs, own = [], 0.0
    for run in range(RUNS):
        report = scratch / f"{run}.jsonl"
        env = sandbox.clean_environment(scratch, path=python.parent, hash_seed=run, python_path=python_path)
        command = [str(python), "-m", "pytest", "-q", "-c", name, f"--rootdir={tree}", "-p", "cold_report", "-p", "no:cacheprovider", "-o"]
        command += [f"addopts={' '.join(options)}", *files]
        subprocess.run(command, cwd=tree, env={**env, "COLD_REPORT": str(report)}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        outcomes: dict[str, str] = {}
        for line in report.read_text(encoding="utf-8").splitlines():
            nodeid, outcome, seconds = json.loads(line)
            own += seconds
            if outcome != "passed" or nodeid not in outcomes:
                outcomes[nodeid] = "failed" if "failed" in (outcome, outcomes.get(nodeid)) else outcome
        runs.append(outcomes)
    return runs, own / RUNS


def cold_verdict(claim: Claim, before: Sequence[Mapping[str, str]], after: Sequence[Mapping[str, str]]) -> str:
    """Held, flipped or unknown by the outcomes of cold processes."""
    cases = [claim.nodeid + case for case in claim.cases if any(run.get(claim.nodeid + case) != "skipped" for run in before)]
    if not cases or any(run.get(case) != "passed" for run in before for case in cases):
        return "unknown"
    states = {
        "failed" if any(run.get(case) == "failed" for case in cases) else "passed" if all(run.get(case) == "passed" for case in cases) else "" for run in after
    }
    return "held" if states == {"passed"} else "flipped" if states == {"failed"} else "unknown"


def compare(corpus: Corpus, change: Change, source: Source, oracle: ExecutionOracle, workers: int) -> dict[str, Any]:
    """Label one change both ways."""
    claims = [claim for claim in corpus.read(Claim) if claim.change_id == change.change_id]
    files = sorted({claim.path for claim in claims})
    with tempfile.TemporaryDirectory() as scratch:
        trees = {}
        for way in ("ours", "cold"):
            for side in ("parent", "child"):
                trees[way, side] = Path(scratch, way, side)
                trees[way, side].mkdir(parents=True)
                source.export(change, side, trees[way, side])
        began = time.monotonic()
        labels = oracle.label(change, claims, trees["ours", "parent"], trees["ours", "child"])
        ours = time.monotonic() - began
        environment, config = oracle.environment(change), pytest_config.of_parent(trees["cold", "parent"], change.test_files)
        restore_tests(change, trees["cold", "parent"], trees["cold", "child"])
        began = time.monotonic()
        before, own_before = cold(trees["cold", "parent"], config, environment, files, Path(tempfile.mkdtemp(dir=scratch)))
        after, own_after = cold(trees["cold", "child"], config, environment, files, Path(tempfile.mkdtemp(dir=scratch)))
        theirs = time.monotonic() - began
    differ = [claim.nodeid for claim, label in zip(claims, labels, strict=True) if label.verdict != cold_verdict(claim, before, after)]
    floor = (own_before + own_after) * RUNS / workers
    return {"change": f"{change.repo} {change.parent}→{change.child}", "claims": len(claims), "ours": ours, "cold": theirs, "floor": floor, "differ": differ}


def slowdown(workers: int) -> float:
    """How much longer a busy loop takes on this machine when as many as ``workers`` run at once: 1 where each has a core of its own."""
    loop = [sys.executable, "-c", "sum(range(30_000_000))"]

    def seconds(at_once: int) -> float:
        began = time.monotonic()
        for process in [subprocess.Popen(loop) for _ in range(at_once)]:
            process.wait()
        return time.monotonic() - began

    return seconds(workers) / seconds(1)


def main() -> int:
    """Print a line a change and the ratio over all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default="results/runs/quickstart")
    parser.add_argument("--changes", nargs="+", default=CHANGES)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    corpus, cache = open_corpus(given.corpus), os.environ.get("CLAIMFLIP_CACHE", "~/.cache/claimflip")
    settings = corpus.info()["settings"]
    environments = {**settings["oracle"]["environments"], "cache": cache}
    oracle: ExecutionOracle = build({**settings["oracle"], "environments": environments, "runs": RUNS, "workers": given.workers}, "oracle")
    by_repo: dict[str, list[Change]] = defaultdict(list)
    for change in corpus.read(Change):
        by_repo[change.repo].append(change)
    total: dict[str, float] = defaultdict(float)
    wrong = 0
    print(f"{'change':<36}{'claims':>7}{'ours s':>9}{'cold s':>9}{'ratio':>7}{'floor s':>9}")
    for wanted in given.changes:
        repo, _, child = wanted.partition(":")
        change = next((one for one in by_repo[repo] if one.child == child), None)
        if change is None:
            parser.error(f"the corpus has no change {wanted}: it has {', '.join(f'{one.repo}:{one.child}' for ones in by_repo.values() for one in ones)}")
        source = build({"repo": repo, **settings["corpus"]["each"], **(settings["corpus"]["sources"][repo] or {}), "cache": cache}, "source")
        with tempfile.TemporaryDirectory() as scratch:
            oracle.prepare(source, by_repo[repo], Ledger(Path(scratch, "ledger.sqlite")))
        row = compare(corpus, change, source, oracle, given.workers)
        print(f"{row['change']:<36}{row['claims']:>7}{row['ours']:>9.1f}{row['cold']:>9.1f}{row['cold'] / row['ours']:>7.2f}{row['floor']:>9.1f}")
        for name in ("ours", "cold", "floor"):
            total[name] += row[name]
        wrong += len(row["differ"])
        for nodeid in row["differ"]:
            print(f"  verdicts differ: {nodeid}")
    print(f"{'together':<43}{total['ours']:>9.1f}{total['cold']:>9.1f}{total['cold'] / total['ours']:>7.2f}{total['floor']:>9.1f}")
    print(f"{given.workers} busy loops at once take {slowdown(given.workers):.2f} times as long as one alone: above 1, the machine shares its cores")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
