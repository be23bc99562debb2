"""A crash between labelling and writing.

A run of hours that dies after the last label and before the file is written must not start again, must not leave half a file under a real name, and above
all must not end in other bytes than a run that nobody disturbed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import COMMAND, claimflip, config_folder, files, running, settings

from claimflip.corpus import Corpus, open_corpus
from claimflip.records import Change, Claim, Label

# runs the command and has the kernel kill its whole process group at one named point: no handler runs, nothing is cleaned up
DRIVER = """
import os, signal, sys
from pathlib import Path
where, *sys.argv[1:] = sys.argv[1:]

def die_at(point):
    if point == where:
        os.killpg(0, signal.SIGKILL)

import claimflip.corpus, claimflip.ledger
from claimflip.ledger import Ledger
put, replace, write = Ledger.put, Path.replace, claimflip.corpus.write_atomically
counts = {}

def putting(self, stage, key, payload, seconds):
    counts[stage] = counts.get(stage, 0) + 1
    point = f"put {stage} {counts[stage]}"
    die_at(f"before {point}")
    if where == f"inside {point}":
        self._connection.execute("BEGIN")
    put(self, stage, key, payload, seconds)
    die_at(f"inside {point}")
    die_at(f"after {point}")

def replacing(self, target):
    die_at(f"half {Path(target).name}")
    return replace(self, target)

def writing(path, content):
    write(path, content)
    die_at(f"wrote {path.name}")

Ledger.put, Path.replace, claimflip.corpus.write_atomically = putting, replacing, writing
from claimflip.cli import main
main()
"""
POINTS = [
    "before put claims 1",
    "inside put labels 1",
    "after put labels 1",
    "half labels.parquet",
    "wrote labels.parquet",
    "half a4.parquet",
]


class Runs:
    """Runs of one small corpus that share a cache; temporary files in a folder of ours, so that a process can be told by its command line."""

    def __init__(self, root: Path) -> None:
        self.root, self.configs, self.cache = root, config_folder(root / "conf"), root / "cache"
        self.env = {"TMPDIR": str(root / "scratch"), "MPLCONFIGDIR": str(root)}
        (root / "scratch").mkdir()

    def settings(self, out: Path) -> list[str]:
        return ["bench", *settings(self.configs, self.cache, out)]

    def to_the_end(self, out: Path) -> subprocess.CompletedProcess[str]:
        return claimflip(*self.settings(out), cwd=self.root, env=self.env)

    def killed_at(self, point: str, out: Path) -> int:
        command = [sys.executable, "-c", DRIVER, point, *self.settings(out)]
        return subprocess.run(command, cwd=self.root, env={**os.environ, **self.env}, capture_output=True, start_new_session=True, check=False).returncode


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def undisturbed(runs: Runs) -> dict[str, bytes]:
    """What a run leaves that nobody disturbed."""
    done = runs.to_the_end(runs.root / "undisturbed")
    assert done.returncode == 0, done.stderr
    return files(runs.root / "undisturbed")


def readable(out: Path) -> None:
    """Whatever stands under a real name can be read."""
    if not (out / "corpus.json").exists():
        return
    corpus = open_corpus(out)
    for record in (Change, Claim, Label):
        if (out / f"{record.__name__.lower()}s.parquet").exists():
            corpus.read(record)


def test_a_run_that_is_killed_at_every_turn_ends_in_the_same_bytes(runs: Runs, undisturbed: dict[str, bytes]) -> None:
    out = runs.root / "killed"
    for point in POINTS:
        assert runs.killed_at(point, out) == -signal.SIGKILL, f"never came to {point!r}"
        assert running(str(runs.root)) == []
        readable(out)
    assert runs.to_the_end(out).returncode == 0
    assert files(out) == undisturbed


def test_a_run_that_is_killed_while_tests_run_leaves_no_process_and_ends_in_the_same_bytes(runs: Runs, undisturbed: dict[str, bytes]) -> None:
    out = runs.root / "amid"
    command, env = [COMMAND, *runs.settings(out)], {**os.environ, **runs.env}
    process = subprocess.Popen(command, cwd=runs.root, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    assert process.stderr is not None
    assert any(line.startswith(b"claims 2/2") for line in process.stderr), "never came to labelling"
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGKILL)
    process.stderr.close()
    process.wait()
    assert running(str(runs.root)) == []
    readable(out)
    assert runs.to_the_end(out).returncode == 0
    assert files(out) == undisturbed


def test_a_second_process_on_the_same_corpus_ends_with_one_line(runs: Runs, undisturbed: dict[str, bytes]) -> None:
    out = runs.root / "undisturbed"
    with Corpus(out).lock():
        second = runs.to_the_end(out)
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr == f"claimflip: another claimflip process is writing to {out}: wait for it, or choose another folder with out=FOLDER\n"
    assert files(out) == undisturbed
