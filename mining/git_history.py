"""Changes from a git history: a URL, a local clone or a bare repository, along one named branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from claimflip.records import Change, Kind, Side
from mining.claims import collected_claims
from mining.dates import Date, utc
from mining.ranking import Rule, rank
from mining.repository import History, Repository, without_password


class GitHistory:
    """The ranked steps of one branch.

    ``branch`` is a branch, a tag or a full SHA, never HEAD: a run that is taken up later must see the same window. ``cache`` is the folder in which
    clones of URLs are kept. ``since`` and ``until`` are dates (ISO 8601; without a zone: UTC; a day means its first moment).
    ``limit`` None keeps every candidate.
    """

    kind: Kind = "git"

    def __init__(
        self,
        repo: str,
        location: str,
        branch: str,
        *,
        cache: str | Path,
        history: History = "first-parent",
        since: Date | None = None,
        until: Date | None = None,
        ranking: Rule = "deleted",
        limit: int | None = 20,
        seed: int = 0,
    ) -> None:
        self.repo = repo
        self.location = location
        self.branch = branch
        self.cache = Path(cache)
        self.history, self.ranking = history, ranking
        self.since, self.until = utc("since", since), utc("until", until)
        self.limit, self.seed = limit, seed
        self._found: dict[str, Any] = {}

    @cached_property
    def repository(self) -> Repository:
        """The repository, cloned at the first use where the location is a URL."""
        return Repository.open(self.location, self.cache)

    def describe(self) -> Mapping[str, Any]:
        """Location (of a local path only the name), branch, head, window, counts, and the settings that chose the changes."""
        return {
            "location": _shown(self.location),
            "branch": self.branch,
            "history": self.history,
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
            "ranking": self.ranking,
            "limit": self.limit,
            "seed": self.seed,
            **self._found,
        }

    def changes(self) -> Iterator[Change]:
        """The ranked candidates, best first; raises SourceError for a repository or branch that is not there."""
        head = self.repository.head(self.branch)
        steps = list(self.repository.steps(self.branch, history=self.history, since=self.since, until=self.until))
        ranked, counts = rank(self.repository, steps, repo=self.repo, kind=self.kind, rule=self.ranking, limit=self.limit, seed=self.seed)
        dates = [step.date for step in steps]
        window = {"first": min(dates).isoformat(), "last": max(dates).isoformat()} if dates else None
        self._found = {"head": head, "window": window, **counts}
        yield from ranked

    def export(self, change: Change, side: Side, into: Path) -> None:
        """Write one side's whole tree into the empty folder ``into``."""
        self.repository.export(change.parent if side == "parent" else change.child, into)

    claims = staticmethod(collected_claims)


def _shown(location: str) -> str:
    """A location for the record: a URL without user and password, a path without its folders."""
    path = Path(location.removeprefix("file://")).expanduser()
    return path.resolve().name if path.exists() else without_password(location)
