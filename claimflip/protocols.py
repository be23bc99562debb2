"""The seams: what a source, an arm, a workspace and the rest must offer to be plugged in. Nothing else stands here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from claimflip.records import Change, Claim, Kind, Label, Prediction, Question, Side

if TYPE_CHECKING:
    from claimflip.corpus import Corpus
    from claimflip.ledger import Ledger


@runtime_checkable
class Source(Protocol):
    """Where changes come from: a git history, a distribution's releases, a generated world."""

    repo: str
    kind: Kind

    def describe(self) -> Mapping[str, Any]:
        """What was mined, for ``corpus.json``: head, branch, window, counts; JSON values only. Called after ``changes``."""

    def changes(self) -> Iterator[Change]:
        """The ranked candidates, best first, ``order`` counting from 0; raises SourceError where none can be had at all."""

    def export(self, change: Change, side: Side, into: Path) -> None:
        """Write one side's whole tree into the empty folder ``into``."""

    def claims(self, change: Change, workspace: Workspace) -> tuple[list[Claim], dict[str, str]]:
        """The claims of a change, collected in a workspace over the parent's tree; and by node id or module what gave none, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedTest:
    """One test item that pytest collected at *t*, as the probe saw it.

    Paths are POSIX, below the tree's root where the file is inside it.

    ``nodeid`` is the item's, ``case`` its bracketed part (brackets included) or ``""``. ``file``, ``line`` (1-based) and ``qualname`` say where the
    test's function is defined, decorators unwrapped. ``fixtures`` are ``(name, file)`` pairs.
    """

    nodeid: str
    case: str
    file: str
    line: int
    qualname: str
    fixtures: tuple[tuple[str, str], ...]


@runtime_checkable
class Workspace(Protocol):
    """A place in which the mined project's tests can be run at *t*."""

    tree: Path

    def collect(self, test_modules: Sequence[str]) -> tuple[list[CollectedTest], dict[str, str]]:
        """Collect the modules; returns the items and, by module, the reason why one could not be collected."""


@runtime_checkable
class Oracle(Protocol):
    """What decides the truth about the claims of one change by running them."""

    def prepare(self, source: Source, changes: Sequence[Change], ledger: Ledger) -> None:
        """Build what the changes need; a change whose environment cannot be built makes the calls below raise BuildError."""

    def workspace(self, change: Change, parent: Path) -> Workspace:
        """A workspace over the parent's tree."""

    def label(self, change: Change, claims: Sequence[Claim], parent: Path, child: Path) -> list[Label]:
        """One label a claim, in the claims' order. ``child`` is the child's own tree: the oracle restores the parent's tests itself."""

    def locks(self) -> Mapping[str, str]:
        """The locks of the environments in use, by their ids."""

    def remarks(self, source: Source) -> Sequence[str]:
        """What is worth knowing of a source's environment, such as requirements that could not be had."""

    def settings_id(self, change: Change) -> str:
        """A hash of everything that can move a verdict of this change, so that labels made otherwise are not reused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmInput:
    """All that an arm is handed about one change: never a label, never the child's tests.

    ``parent`` and ``child`` are the two trees; the parent's test files stand in both. ``claims`` is keyed by claim id. ``workspace`` is the
    seam for arms that run the parent's tests; none is handed out yet.
    """

    change: Change
    questions: tuple[Question, ...]
    claims: Mapping[str, Claim]
    parent: Path
    child: Path
    workspace: Workspace | None = None


@runtime_checkable
class Arm(Protocol):
    """A predictor: for each question it says held, flipped or nothing."""

    name: str

    def predict(self, given: ArmInput) -> Iterable[Prediction]:
        """One prediction a question; a question left out counts as no verdict."""


@runtime_checkable
class Split(Protocol):
    """Selects the questions that arms are asked; runs nothing."""

    name: str

    def questions(self, changes: Sequence[Change], claims: Sequence[Claim], labels: Sequence[Label]) -> tuple[list[Question], Mapping[str, Any]]:
        """The questions in a fixed order, and what is worth recording of the selection (natural rate, base rate, counts)."""


@runtime_checkable
class Reporter(Protocol):
    """Turns a scored corpus into tables, figures and a page."""

    def write(self, corpus: Corpus, split: str) -> Path:
        """Write everything below the corpus's report folder and return the page's path."""

    def summary(self, corpus: Corpus, split: str) -> str:
        """The arms' figures as plain text, for the end of a command."""
