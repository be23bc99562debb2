"""Tiny projects on disk, and an oracle over them that runs real pytest in an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest
from synthetic import a_change

from claimflip.ledger import Ledger
from claimflip.protocols import Workspace
from claimflip.records import Change, Claim, Label, Side
from claimflip.source.paths import is_source_path, is_test_path
from mining.claims import claims_of, touched_test_modules
from oracle.environment import Environment, Environments
from oracle.execution import ExecutionOracle


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder; text is dedented."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(dedent(content).lstrip("\n"), encoding="utf-8")
    return root


@dataclass
class TwoTrees:
    """A source with one change, given as two sets of files."""

    parent: Mapping[str, str | bytes]
    child: Mapping[str, str | bytes]
    repo: str = "tiny"
    kind: str = "worlds"
    change: Change = field(init=False)

    def __post_init__(self) -> None:
        touched = sorted(path for path in {*self.parent, *self.child} if self.parent.get(path) != self.child.get(path))
        self.change = a_change(
            repo=self.repo,
            kind="worlds",
            source_files=tuple(path for path in touched if is_source_path(path)),
            test_files=tuple(path for path in touched if is_test_path(path)),
        )

    def describe(self) -> Mapping[str, object]:
        return {}

    def changes(self) -> Iterator[Change]:
        yield self.change

    def export(self, change: Change, side: Side, into: Path) -> None:
        write_tree(into, self.parent if side == "parent" else self.child)

    def claims(self, change: Change, workspace: Workspace) -> tuple[list[Claim], dict[str, str]]:
        items, failed = workspace.collect(touched_test_modules(change, workspace.tree))
        claims, textless = claims_of(change, items, workspace.tree)
        return claims, {**failed, **textless}


@dataclass
class Judged:
    """What became of a change: its claims and labels by node id, and what gave no claim."""

    claims: dict[str, Claim]
    labels: dict[str, Label]
    reasons: dict[str, str]

    def verdicts(self) -> dict[str, str]:
        """Verdict by the last part of the node id, with the reason where it is unknown."""
        return {nodeid.split("::", 1)[1]: label.verdict if label.verdict != "unknown" else f"unknown: {label.reason}" for nodeid, label in self.labels.items()}


class PreparedOracle(ExecutionOracle):
    """The oracle over an environment that was built beforehand."""

    def __init__(self, environment: Environment, tmp_path: Path, **settings: object) -> None:
        limits = {"collect_seconds": 20, "test_seconds": 10, "probe_seconds": 120}
        super().__init__(environments=Environments(tmp_path / "cache"), **{**limits, **settings})  # type: ignore[arg-type]
        self._built["tiny"] = environment


@pytest.fixture(scope="session")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A real environment with nothing but pytest in it."""
    environments = Environments(tmp_path_factory.mktemp("environments"))
    return environments.build(*environments.lock([]))


@pytest.fixture
def judge(tmp_path: Path, bare_environment: Environment):
    """Judge a change given as two sets of files: collect its claims at t, label them."""

    def judged(parent: Mapping[str, str | bytes], child: Mapping[str, str | bytes], **settings: object) -> Judged:
        source = TwoTrees(parent, child)
        oracle = PreparedOracle(bare_environment, tmp_path, **{"runs": 4, **settings})
        trees = {}
        for side in ("parent", "child"):
            trees[side] = tmp_path / side
            trees[side].mkdir()
            source.export(source.change, side, trees[side])
        claims, reasons = source.claims(source.change, oracle.workspace(source.change, trees["parent"]))
        labels = oracle.label(source.change, claims, trees["parent"], trees["child"])
        return Judged(
            claims={claim.nodeid: claim for claim in claims},
            labels={claim.nodeid: label for claim, label in zip(claims, labels, strict=True)},
            reasons=reasons,
        )

    return judged


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    opened = Ledger(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()
