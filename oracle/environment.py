"""One environment of third-party packages for both sides of a change, built by uv from the project's own declarations.

The code under test is never installed: it comes from the tree. Environments are shared by the hash of their lock and built once.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from claimflip import package_index
from claimflip.errors import BuildError, ConfigError, IndexUnreachable
from claimflip.records import content_id
from claimflip.source.modules import SourceTree
from oracle.requirements import Declared, declared

_UNREACHABLE = re.compile(r"error sending request|dns error|[Cc]onnection|timed out|[Ff]ailed to fetch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """An environment that stands: its interpreter, the lock it was built from, the lock's id, and test requirements that could not be had."""

    python: Path
    lock: str
    lock_id: str
    dropped: tuple[str, ...] = ()


class Environments:
    """Builds and shares environments below ``cache``.

    ``as_of`` (a date, ISO) bounds what the resolver may pick; ``python`` is an interpreter or a version that uv finds; with ``wheels_only`` nothing is
    built from source, so that no stranger's build script runs outside a run.
    """

    def __init__(self, cache: str | Path, *, python: str | None = None, as_of: str | None = None, wheels_only: bool = True) -> None:
        self.cache = Path(cache).expanduser().absolute() / "environments"  # runs have a working folder of their own
        self.python = python or sys.executable
        try:
            self.as_of = as_of and str(date.fromisoformat(str(as_of)))
        except ValueError:
            raise ConfigError(f"oracle.environments.as_of={as_of}: it must be a date such as 2024-01-31, or null") from None
        self.wheels_only = wheels_only

    def lock(self, trees: Sequence[Path], *, extra: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Resolve what the trees (newest first) declare; returns the lock's text and the test requirements dropped because they can't be resolved.

        A name counts once, as the newest tree that has it declares it. Raises BuildError where even the runtime requirements can't be resolved.
        """
        found = [declared(tree) for tree in trees]
        needed = _merged([one.runtime for one in found])
        wished = {name: line for name, line in _merged([extra, *(one.test for one in found), ["pytest"]]).items() if name not in needed}
        try:
            return self._compile([*needed.values(), *wished.values()]), ()
        except BuildError:
            pass  # one of them cannot be had: find out which, below
        self._compile([*needed.values(), "pytest"])
        kept, dropped = dict(needed), []
        for name, line in wished.items():
            try:
                self._compile([*kept.values(), line])
                kept[name] = line
            except BuildError:
                dropped.append(line)
        return self._compile(list(kept.values())), tuple(dropped)

    def build(self, lock: str, dropped: tuple[str, ...] = ()) -> Environment:
        """Install a lock, or take the environment that was built from it before; raises BuildError with uv's own reason."""
        lock_id = content_id("environment", lock, self.python_version)
        folder = self.cache / lock_id
        python, complete = folder / "bin" / "python", folder / "complete"
        self.cache.mkdir(parents=True, exist_ok=True)
        with FileLock(self.cache / f"{lock_id}.lock"):
            if not (complete.exists() and python.exists()):
                shutil.rmtree(folder, ignore_errors=True)
                listed = self.cache / f"{lock_id}.txt"
                listed.write_text(lock, encoding="utf-8")
                steps = (["venv", "--python", self.python, str(folder)], ["pip", "sync", "--python", str(python), "--compile-bytecode", str(listed)])
                for step in steps:
                    self._uv(step)
                complete.touch()
        return Environment(python=python, lock=lock, lock_id=lock_id, dropped=dropped)

    @cached_property
    def python_version(self) -> str:
        """The interpreter's version, as it says itself."""
        if self.python == sys.executable:
            return sys.version.split()[0]
        try:
            found = self._uv(["python", "find", self.python])
        except BuildError:
            raise ConfigError(
                f"no interpreter {self.python!r} on this machine: install it, or set oracle.environments.python to one that 'uv python list' shows"
            ) from None
        asked = subprocess.run([found.strip(), "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    def _compile(self, lines: Iterable[str]) -> str:
        bound = ["--exclude-newer", self.as_of] if self.as_of else []
        wheels = ["--only-binary", ":all:"] if self.wheels_only else []
        command = ["pip", "compile", "-", "--python", self.python, "--no-header", "--no-annotate", "--no-emit-index-url", "--generate-hashes", *bound, *wheels]
        return self._uv(command, "\n".join(lines) + "\n")

    def _uv(self, arguments: Sequence[str], stdin: str = "") -> str:
        """What uv printed; raises BuildError with its reason, or IndexUnreachable where the index cannot be reached at all."""
        from uv import find_uv_bin

        quiet = [] if arguments[0] == "python" else ["--quiet"]  # which would silence the answer too
        command = [find_uv_bin(), "--no-config", "--no-progress", *quiet, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, env=package_index.uv_environment(), check=False)
        if done.returncode == 0:
            return done.stdout
        lines = [line.strip(" │├╰▶─×") for line in done.stderr.splitlines() if line.strip()]
        reason = re.sub(r"//[^/@\s]+@", "//***@", " ".join(lines[:4]))[:400]
        if _UNREACHABLE.search(done.stderr):
            raise IndexUnreachable(
                f"the package index cannot be reached ({reason}): check the network, or name your index in UV_DEFAULT_INDEX or pip's configuration"
            )
        raise BuildError(f"uv {arguments[0]} failed: {reason}")


def _merged(declarations: Iterable[Iterable[str]]) -> dict[str, str]:
    """Requirement lines by name: the first declaration that has a name (the newest tree's) counts, with all its lines for different markers."""
    merged: dict[str, str] = {}
    for lines in declarations:
        by_name: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            by_name[canonicalize_name(Requirement(line).name)].append(line)
        merged = {**{name: "\n".join(dict.fromkeys(found)) for name, found in by_name.items()}, **merged}
    return merged


def source_roots(tree: Path) -> list[Path]:
    """The folders of a tree that go on the import path, best first."""
    return [tree / root for root in SourceTree(tree).roots]


def write_metadata(tree: Path, into: Path) -> None:
    """Write the tree's own distribution metadata (name, version, entry points) into ``into``, which goes on the import path; the code stays in the tree."""
    found: Declared = declared(tree)
    if not found.name:
        return
    # a stranger's name and version: nothing of them may lead out of the folder
    name = re.sub(r"[^\w.+!-]", "_", f"{found.name.replace('-', '_')}-{found.version or '0'}")
    folder = into / f"{name[:150]}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    info = tree / "PKG-INFO"
    if info.exists():
        shutil.copyfile(info, folder / "METADATA")
    else:
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {found.name}\nVersion: {found.version or '0'}\n", encoding="utf-8")
    if found.entry_points:
        (folder / "entry_points.txt").write_text(found.entry_points, encoding="utf-8")
