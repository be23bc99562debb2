"""Changes from one release of a distribution to the next, out of the source archives that the user's package index serves.

The releases become a small git repository, one commit each, so that diffs, renames, ranking and export are git's as for any history. They stand in one line
by version, so that a maintenance release (7.1.5, uploaded after 8.0.0) lies between 7.1.4 and 8.0.0, as its content does; a change's date is
its child's upload time, so dates need not rise along the line.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from packaging.utils import InvalidName, canonicalize_name

from claimflip.corpus import write_atomically
from claimflip.errors import ConfigError, SourceError
from claimflip.records import Change, Kind, Side, content_id
from mining.archives import ArchiveError, unpack
from mining.claims import collected_claims
from mining.dates import Date, utc
from mining.index_client import LEFT_OUT, IndexClient, Release
from mining.ranking import Rule, rank
from mining.repository import Repository

_BRANCH = "releases"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """The releases in use as a repository: ``commits`` maps each version, in order, to its commit; ``note`` is the part of describe() known so far."""

    repository: Repository
    commits: Mapping[str, str]
    note: Mapping[str, Any]


class IndexReleases:
    """Successive releases of one distribution on the configured package index.

    ``since`` and ``until`` bound the upload time (ISO 8601; without a zone: UTC; a day means its first moment), so that with ``until`` in the past
    the changes stay the same later on; the release before the first one after ``since`` is its parent. ``releases`` keeps the last so many by
    version. Archives and the repository are kept below ``cache`` and never made twice.
    """

    kind: Kind = "index"

    def __init__(
        self,
        repo: str,
        project: str | None = None,
        *,
        cache: str | Path,
        until: Date | None = None,
        since: Date | None = None,
        releases: int | None = None,
        ranking: Rule = "deleted",
        limit: int | None = None,
        seed: int = 0,
    ) -> None:
        self.repo = repo
        self.project = project or repo
        try:
            name = canonicalize_name(self.project, validate=True)
        except InvalidName:
            raise ConfigError(f"{self.project!r} is no name of a distribution: set project=NAME as the package index has it") from None
        if releases is not None and releases < 2:
            raise ConfigError(f"releases={releases} for {self.project!r} leaves no step: set 2 or more")
        self.until, self.since, self.releases = utc("until", until), utc("since", since), releases
        self.ranking, self.limit, self.seed = ranking, limit, seed
        self._client = IndexClient(self.project)
        self._folder = Path(cache).expanduser() / "index" / name
        self._made: _Line | None = None
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    # -- the Source protocol

    def changes(self) -> Iterator[Change]:
        """The ranked steps from one release to the next by version; ``parent`` and ``child`` are version numbers."""
        line = self._line()
        steps = [step for step in line.repository.steps(_BRANCH) if self.since is None or step.date >= self.since]
        names = {commit: version for version, commit in line.commits.items()}
        ranked, self._counts = rank(line.repository, steps, repo=self.repo, kind=self.kind, rule=self.ranking, limit=self.limit, seed=self.seed, names=names)
        yield from ranked

    def export(self, change: Change, side: Side, into: Path) -> None:
        """Write one release's source archive, unpacked, into the empty folder ``into``."""
        line = self._line()
        version = change.parent if side == "parent" else change.child
        if version not in line.commits:
            raise SourceError(f"release {version} of {self.project!r} is not in the window any more: mine again, with the same until, since and releases")
        line.repository.export(line.commits[version], into)

    claims = staticmethod(collected_claims)

    def describe(self) -> Mapping[str, Any]:
        """Project, window, every release in use with its hash and upload time, those passed over with the reason, counts, ranking."""
        ranking = {"rule": self.ranking, "limit": self.limit, "seed": self.seed}
        window = {"until": self.until and self.until.isoformat(), "since": self.since and self.since.isoformat(), "releases": self.releases}
        return {"project": self.project, "window": window, **self._line().note, **self._counts, "ranking": ranking}

    # -- from the index to a repository

    def _line(self) -> _Line:
        with self._lock:
            if self._made is None:
                try:
                    self._folder.mkdir(parents=True, exist_ok=True)
                    with FileLock(self._folder / ".lock"):
                        self._made = self._prepared()
                except OSError as error:
                    raise SourceError(f"cannot keep releases in {self._folder} ({error.strerror or error}): choose another cache folder") from None
            return self._made

    def _prepared(self) -> _Line:
        window = self._window(self._client.releases())
        left_out = Counter(release.trouble for release in window if release.trouble in LEFT_OUT)
        passed_over = [
            {"version": str(release.version), "reason": release.trouble} for release in window if release.trouble and release.trouble not in LEFT_OUT
        ]
        usable = [release for release in window if not release.trouble]
        archives = self._client.download(usable, self._folder / "archives")
        passed_over += [{"version": str(release.version), "reason": found} for release, found in zip(usable, archives, strict=True) if isinstance(found, str)]
        whole = [(release, found) for release, found in zip(usable, archives, strict=True) if isinstance(found, Path)]
        repository, commits, broken = self._repository(whole)
        passed_over += [{"version": version, "reason": reason} for version, reason in broken.items()]
        if len(commits) < 2:
            raise SourceError(
                f"{self.project!r} has {len(commits)} usable release{'s' * (len(commits) != 1)} in the window and a change needs two "
                f"({_reasons(passed_over)}): widen until, since and releases, or mine its git history"
            )
        used = [
            {"version": str(release.version), "uploaded": release.uploaded.isoformat(), "sha256": release.sha256}
            for release, _ in whole
            if release.uploaded and str(release.version) in commits
        ]
        note = {"used": used, "passed_over": passed_over, "left_out": dict(sorted(left_out.items()))}
        return _Line(repository=repository, commits=commits, note=note)

    def _window(self, listed: Sequence[Release]) -> list[Release]:
        """The releases in the window by version, from the first usable one on; those with trouble do not count in ``releases``."""
        # without any upload time a release cannot be placed, and is told as passed over
        window = [release for release in listed if not (self.until and release.uploaded and release.uploaded > self.until)]
        usable = [number for number, release in enumerate(window) if not release.trouble]
        if not usable:
            return window
        first = 0
        if self.since:
            later = [place for place, number in enumerate(usable) if (window[number].uploaded or self.since) >= self.since]
            first = max(later[0] - 1, 0) if later else len(usable) - 1
        if self.releases:
            first = max(first, len(usable) - self.releases)
        return window[usable[first] :]

    def _repository(self, archives: Sequence[tuple[Release, Path]]) -> tuple[Repository, dict[str, str], dict[str, str]]:
        """The repository of these archives, each version's commit, and the broken ones' reasons; made once, then taken from the cache."""
        name = content_id("releases", *(f"{release.version} {release.sha256}" for release, _ in archives))
        git_dir, state = self._folder / f"{name}.git", self._folder / f"{name}.json"
        # the state is written last: without it the repository may be half made
        if state.exists() and git_dir.exists():
            found = json.loads(state.read_text(encoding="utf-8"))
            return Repository(git_dir), found["commits"], found["broken"]
        shutil.rmtree(git_dir, ignore_errors=True)
        repository = Repository.create(git_dir)
        commits: dict[str, str] = {}
        broken: dict[str, str] = {}
        parent = None
        for release, archive in archives:
            assert release.uploaded is not None
            with tempfile.TemporaryDirectory(dir=self._folder, prefix=".unpack.") as scratch:
                try:
                    unpack(archive, Path(scratch) / "tree")
                except ArchiveError as error:
                    broken[str(release.version)] = str(error)
                    continue
                parent = repository.commit(Path(scratch) / "tree", message=f"{self.project} {release.version}", date=release.uploaded, parent=parent)
            commits[str(release.version)] = parent
        if parent:
            repository.set_branch(_BRANCH, parent)
        write_atomically(state, json.dumps({"commits": commits, "broken": broken}).encode())
        return repository, commits, broken


def _reasons(passed_over: Sequence[Mapping[str, str]]) -> str:
    """The commonest reasons in a few words, for an error message."""
    counted = Counter(entry["reason"] for entry in passed_over).most_common(3)
    return ", ".join(f"{count} × {reason}" for reason, count in counted) or "none passed over"
