"""Running strangers' code: a clean environment, its own process group, a time limit that kills the whole group."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended: its exit code (negative: the signal that ended it) and whether it was killed at its limit."""

    returncode: int
    timed_out: bool


def clean_environment(scratch: Path, *, path: Path, hash_seed: int, python_path: Sequence[Path]) -> dict[str, str]:
    """All that a run finds in its environment: nothing of the caller's, home and temporary files in ``scratch``, fixed locale and time zone."""
    for name in ("home", "tmp"):
        (scratch / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": f"{path}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch / "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": os.pathsep.join(str(entry) for entry in python_path),
    }


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], seconds: float, log: Path) -> Finished:
    """Run a command to its end or its limit; its whole process group is gone afterwards. What it prints goes to ``log``."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            list(command), cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            return Finished(returncode=process.wait(seconds), timed_out=False)
        except subprocess.TimeoutExpired:
            process.terminate()  # the probe takes along what has left its group
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
            return Finished(returncode=-signal.SIGKILL, timed_out=True)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
