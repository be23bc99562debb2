"""A0 and A1: what any arm must be compared with."""

from __future__ import annotations

from collections.abc import Iterator

from claimflip.protocols import ArmInput
from claimflip.records import Prediction


class Always:
    """A0: every claim is false after every change. Recall 1, precision the base rate."""

    def __init__(self, name: str = "a0") -> None:
        self.name = name

    def predict(self, given: ArmInput) -> Iterator[Prediction]:
        """Flipped, for every question."""
        for question in given.questions:
            yield Prediction(question_id=question.question_id, arm=self.name, verdict="flipped", why="always fires")


class Never:
    """A1: no claim is ever false. It serves every stale claim and re-verifies nothing."""

    def __init__(self, name: str = "a1") -> None:
        self.name = name

    def predict(self, given: ArmInput) -> Iterator[Prediction]:
        """Held, for every question."""
        for question in given.questions:
            yield Prediction(question_id=question.question_id, arm=self.name, verdict="held", why="never fires")
