"""A generated repository as a source of changes, with the truth about every claim beside it."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from filelock import FileLock

from claimflip.errors import SourceError
from claimflip.records import Change, Kind, Side, Verdict, content_id
from mining.claims import collected_claims
from mining.ranking import rank
from mining.repository import Repository
from mining.worlds.generator import BEHAVIOURS, MODULES, Scene, drift, genesis, truth

_BRANCH = "main"
_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)


class World:
    """One small package and the steps by which it drifts, each a commit a day after the last one; states are called ``0-start``, ``1-data``, ….

    The same arguments give the same repository, SHA for SHA. It is written below ``cache``.
    """

    kind: Kind = "worlds"

    def __init__(
        self,
        repo: str,
        *,
        seed: int,
        cache: str | Path,
        modules: int = MODULES,
        behaviours: int = BEHAVIOURS,
        steps: Sequence[str] = ("data", "logic", "rename"),
    ) -> None:
        self.repo = repo
        self.seed, self.modules, self.behaviours, self.steps = seed, modules, behaviours, tuple(steps)
        scenes = [genesis(seed=seed, modules=modules, behaviours=behaviours)]
        for number, step in enumerate(self.steps, 1):
            scenes.append(drift(scenes[-1], step, seed=seed, number=number))
        names = ("start", *self.steps)
        self._scenes: dict[str, Scene] = {f"{number}-{name}": scene for number, (name, scene) in enumerate(zip(names, scenes, strict=True))}
        self._cache = Path(cache).expanduser() / "worlds"
        self._lock = threading.Lock()
        self._written: tuple[Repository, dict[str, str]] | None = None
        self._kept = 0

    def changes(self) -> Iterator[Change]:
        """The steps, ranked by deleted assertions as those of any repository."""
        repository, commits = self._repository()
        names = {commit: name for name, commit in commits.items()}
        ranked, counts = rank(repository, repository.steps(_BRANCH), repo=self.repo, kind=self.kind, limit=None, names=names)
        self._kept = counts["kept"]
        yield from ranked

    def export(self, change: Change, side: Side, into: Path) -> None:
        """Write one state's whole tree into the empty folder ``into``."""
        repository, commits = self._repository()
        name = change.parent if side == "parent" else change.child
        if name not in commits:
            raise SourceError(f"the world {self.repo!r} has no state {name}: mine again, with the same seed, sizes and steps")
        repository.export(commits[name], into)

    claims = staticmethod(collected_claims)

    def describe(self) -> Mapping[str, Any]:
        """Seed, sizes, steps, head and counts."""
        commits = self._repository()[1]
        sizes = {"modules": self.modules, "behaviours": self.behaviours}
        return {"seed": self.seed, **sizes, "head": list(commits.values())[-1], "branch": _BRANCH, "steps": list(self.steps), "kept": self._kept}

    def truth(self, change: Change) -> Mapping[str, Verdict]:
        """The verdict on each test function of the parent's touched test modules, by node id, as the generator knows it."""
        touched = set(change.test_files)
        known = truth(self._scenes[change.parent], self._scenes[change.child])
        return {nodeid: verdict for nodeid, verdict in known.items() if nodeid.partition("::")[0] in touched}

    def _repository(self) -> tuple[Repository, dict[str, str]]:
        """The repository and each state's commit. Its name is its content's, so that another generator never meets it."""
        with self._lock:
            if self._written is None:
                name = content_id("world", *(part for scene in self._scenes.values() for file in scene.files().items() for part in file))
                try:
                    self._cache.mkdir(parents=True, exist_ok=True)
                    with FileLock(self._cache / f"{name}.lock"):
                        self._written = self._opened(self._cache / f"{name}.git")
                except OSError as error:
                    raise SourceError(f"cannot write a world to {self._cache} ({error.strerror or error}): choose another cache folder") from None
            return self._written

    def _opened(self, git_dir: Path) -> tuple[Repository, dict[str, str]]:
        # the branch is set last: without it the repository is half made
        if not (git_dir / "refs" / "heads" / _BRANCH).exists():
            shutil.rmtree(git_dir, ignore_errors=True)
            self._commit(Repository.create(git_dir))
        repository = Repository(git_dir)
        return repository, {name: repository.resolve(f"{_BRANCH}~{len(self.steps) - number}") for number, name in enumerate(self._scenes)}

    def _commit(self, repository: Repository) -> None:
        parent = None
        for day, (name, scene) in enumerate(self._scenes.items()):
            with tempfile.TemporaryDirectory(dir=self._cache, prefix=".scene.") as scratch:
                scene.write(Path(scratch))
                parent = repository.commit(Path(scratch), message=name, date=_FIRST_DAY + timedelta(days=day), parent=parent)
        assert parent is not None
        repository.set_branch(_BRANCH, parent)
