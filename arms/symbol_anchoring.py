"""A4, symbol anchoring: a claim is anchored to the definitions of the symbols that it references. Static change-impact analysis."""

from __future__ import annotations

from collections.abc import Iterator

from claimflip.protocols import ArmInput
from claimflip.records import Claim, Prediction
from claimflip.source.definitions import Definition, Definitions
from claimflip.source.modules import SourceTree
from claimflip.source.references import ClaimReader, Mention, References


class SymbolAnchoring:
    """Fires if the definition of a symbol that the claim references changed as text, or is gone.

    References are the names in the claim's text, its fixtures and its class's attributes; what the source itself references is not followed.
    A class counts through its header, its class-level statements, ``__init__`` and the methods that the claim names, inherited ones included.
    Definitions are compared under the name that the test knows them by, so that a move behind a re-export is no change, and under a class's qualified
    name, so that ``pop`` of another class is none either. What cannot be resolved counts as not referenced and is listed in ``evidence``.

    ``follow_helpers`` also reads the plain functions of test files that a claim names.
    """

    def __init__(self, name: str = "a4", follow_helpers: bool = False) -> None:
        self.name = name
        self.follow_helpers = follow_helpers

    def predict(self, given: ArmInput) -> Iterator[Prediction]:
        """One verdict a question; each tree is indexed once for all claims."""
        parent, child = Definitions(SourceTree(given.parent)), Definitions(SourceTree(given.child))
        reader = ClaimReader(parent, follow_helpers=self.follow_helpers)
        for question in given.questions:
            yield self._answer(question.question_id, given.claims[question.claim_id], reader, child)

    def _answer(self, question_id: str, claim: Claim, reader: ClaimReader, child: Definitions) -> Prediction:
        references = reader.references(claim)
        before = _anchors(reader.definitions, references)
        after = _anchors(child, references)
        reasons = sorted({reason for key in before.keys() | after.keys() if (reason := _difference(key, before.get(key), after.get(key)))})
        unresolved = sorted(references.unresolved)
        return Prediction(
            question_id=question_id,
            arm=self.name,
            verdict="flipped" if reasons else "held",
            why="; ".join(reasons[:3]) if reasons else f"{len({anchor.name for anchor in before.values()})} referenced definitions, none changed",
            evidence=f"not resolved: {', '.join(unresolved)}" if unresolved else "",
        )


Anchors = dict[tuple[Mention, str], Definition]


def _anchors(definitions: Definitions, references: References) -> Anchors:
    """The definitions that the references lead to in one tree, keyed by the mention and, for parts of a class, the part's name."""
    found: Anchors = {}
    for mention in references.mentions:
        definition = mention.resolve(definitions).definition
        if definition is None:
            continue
        found[mention, ""] = definition
        if definition.kind == "class":
            for name in ("__init__", *references.attributes):
                member = definitions.member(definition, name)
                if member is not None:
                    found[mention, name] = member
    return found


def _difference(key: tuple[Mention, str], before: Definition | None, after: Definition | None) -> str:
    """What happened to one definition, or ``""``. A part that is new counts only where every use of the class goes through it."""
    if before is None:
        return f"{after.name} is new" if after is not None and key[1] == "__init__" else ""
    if after is None:
        return f"{before.name} is gone"
    return f"{before.name} changed" if before.text != after.text else ""
