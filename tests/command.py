"""The command line in a process of its own, over a corpus that needs no network but the environment's index."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

COMMAND = Path(sys.executable).with_name("claimflip")
WORLD = """
name: world
only: null
sources:
  first:
    _target_: mining.worlds.world.World
    seed: 0
    cache: ${cache}
    modules: 3
    behaviours: 12
    steps: [data, logic]
"""


def config_folder(root: Path) -> Path:
    """A folder of configurations that holds the corpus ``world``: one small generated repository."""
    (root / "corpus").mkdir(parents=True)
    (root / "corpus" / "world.yaml").write_text(WORLD)
    return root


def settings(configs: Path, cache: Path, out: Path, *more: str) -> list[str]:
    """The overrides of a small and quick run."""
    return ["--config-dir", str(configs), "corpus=world", f"cache={cache}", f"out={out}", "oracle.runs=2", "report.resamples=20", "arms=[a0,a4]", *more]


def claimflip(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, command: Sequence[str | Path] = (COMMAND,)) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*map(str, command), *arguments], cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False, timeout=240
    )


def files(corpus: Path) -> dict[str, bytes]:
    """Every file of a corpus but the ledger, which holds timings, and hidden ones."""
    names = (path for path in corpus.rglob("*") if path.is_file() and not path.name.startswith(("ledger", ".")))
    return {path.relative_to(corpus).as_posix(): path.read_bytes() for path in names}


def running(marker: str) -> list[str]:
    """Command lines of the processes that have the marker in it; a moment is given to the kernel to bury the killed."""
    found: list[str] = []
    for _ in range(50):
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().decode(errors="replace")
            except OSError:
                continue
            found += [line] if marker in line else []
        if not found:
            break
        time.sleep(0.1)
    return found
