"""A change small enough to be written in a test, put to an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

from synthetic import a_change, a_claim, a_question

from claimflip.protocols import Arm, ArmInput
from claimflip.records import Prediction
from claimflip.source.definitions import Definitions
from claimflip.source.modules import SourceTree
from claimflip.source.paths import is_source_path


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below ``root``; text is dedented."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).lstrip("\n").encode())
    return root


def small_change(
    folder: Path,
    parent: Mapping[str, str | bytes],
    child: Mapping[str, str | bytes | None],
    claims: Sequence[str | tuple[str, str]],
    fixtures: Sequence[str] = (),
) -> ArmInput:
    """A change from ``parent`` to the same files with ``child`` laid over (None removes). A claim is a node id, with ``defined_in`` where it is inherited."""
    after = {path: content for path, content in {**parent, **child}.items() if content is not None}
    source = tuple(sorted(path for path in {*parent, *after} if is_source_path(path) and parent.get(path) != after.get(path)))
    change = a_change(repo="small", kind="worlds", source_files=source, test_files=())
    before = write(folder / "parent", parent)
    definitions = Definitions(SourceTree(before))
    found = {}
    for entry in claims:
        nodeid, defined_in = entry if isinstance(entry, tuple) else (entry, entry.replace("::", ".").replace(".py.", ".py::", 1))
        path, _, qualname = defined_in.partition("::")
        text = definitions.of_file(path)[qualname].text
        claim = a_claim(change_id=change.change_id, nodeid=nodeid, text=text, defined_in=defined_in, fixtures=tuple(fixtures))
        found[claim.claim_id] = claim
    questions = tuple(a_question(claim, diff="", split="small") for claim in found.values())
    return ArmInput(change=change, questions=questions, claims=found, parent=before, child=write(folder / "child", after))


def answers(arm: Arm, given: ArmInput) -> list[Prediction]:
    """The arm's predictions in the order in which the claims were given."""
    by_question = {prediction.question_id: prediction for prediction in arm.predict(given)}
    return [by_question[question.question_id] for question in given.questions]
