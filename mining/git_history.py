"""Changes from a git history: a URL, a local clone or a bare repository, along one named branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from claimflip.errors import ConfigError
from claimflip.protocols import Workspace
from claimflip.records import Change, Claim, Kind, Side
from mining.claims import collected_claims
from mining.ranking import Rule, candidates, record, scan
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
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        ranking: Rule = "deleted",
        limit: int | None = 20,
        seed: int = 0,
    ) -> None:
        self.repo = repo
        self.location = location
        self.branch = branch
        self.cache = Path(cache)
        self.history = _choice("history", history, ("first-parent", "nonmerge", "all"))
        self.ranking = _choice("ranking", ranking, ("deleted", "net", "keywords", "uniform"))
        self.since, self.until = _date("since", since), _date("until", until)
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
            "since": None if self.since is None else self.since.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
            "ranking": self.ranking,
            "limit": self.limit,
            "seed": self.seed,
            **self._found,
        }

    def changes(self) -> Iterator[Change]:
        """The ranked candidates, best first; raises SourceError for a repository or branch that is not there."""
        head = self.repository.head(self.branch)
        steps = list(self.repository.steps(self.branch, history=self.history, since=self.since, until=self.until))
        scanned = list(scan(self.repository, steps))
        ranked = candidates(scanned, rule=self.ranking, seed=self.seed)
        kept = ranked[: self.limit]
        dates = [step.date for step in steps]
        self._found = {
            "head": head,
            "window": {"first": min(dates).isoformat(), "last": max(dates).isoformat()} if dates else None,
            "steps": len(steps),
            "unreadable": sum(not each.readable for each in scanned),
            "candidates": len(ranked),
            "kept": len(kept),
        }
        for order, found in enumerate(kept):
            yield record(self.repository, found, repo=self.repo, kind=self.kind, order=order, names={})

    def export(self, change: Change, side: Side, into: Path) -> None:
        """Write one side's whole tree into the empty folder ``into``."""
        self.repository.export(change.parent if side == "parent" else change.child, into)

    def claims(self, change: Change, workspace: Workspace) -> tuple[list[Claim], dict[str, str]]:
        """The claims of a change, collected in a workspace over the parent's tree; and by node id or module what gave none, and why."""
        return collected_claims(change, workspace)


def _shown(location: str) -> str:
    """A location for the record: a URL without user and password, a path without its folders."""
    path = Path(location.removeprefix("file://")).expanduser()
    return path.resolve().name if path.exists() else without_password(location)


def _choice(setting: str, given: Any, allowed: tuple[str, ...]) -> Any:
    if given not in allowed:
        raise ConfigError(f"{setting}={given!r} is unknown: choose one of {', '.join(allowed)}")
    return given


def _date(setting: str, given: str | datetime | None) -> datetime | None:
    try:
        return datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise ConfigError(f"{setting}={given!r} is no date: write it as 2024-01-31") from None
