"""What a claim refers to: the names in its text, its fixtures and its class, as far as the test side goes and no further."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from claimflip.records import Claim
from claimflip.source.definitions import Definition, Definitions, Resolved, class_statements, dotted_name
from claimflip.source.fixtures import Fixtures, parse_function
from claimflip.source.modules import Function, imported_literal
from claimflip.source.paths import is_test_path


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mention:
    """A dotted name as it stands in the file ``path``; ``absolute`` where a function imported it itself."""

    path: str
    dotted: str
    absolute: bool = False

    def resolve(self, definitions: Definitions) -> Resolved:
        """Where the name leads in a tree: the same mention can be followed in the parent and in the child."""
        return definitions.lookup(self.dotted, self.path) if self.absolute else definitions.resolve(self.path, self.dotted)


@dataclass(slots=True, kw_only=True)
class References:
    """What a claim refers to: ``mentions`` that lead to definitions in the source, every name behind a dot, and names of the tree that lead nowhere."""

    mentions: set[Mention] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    unresolved: set[str] = field(default_factory=set)


class ClaimReader:
    """Finds the references of claims in the parent's tree.

    Values in test files (class attributes, module constants, ``CASES = [...]``) are read wherever a claim names them, and a class of a test file like a
    class of the source: header, class-level statements, ``__init__`` and the methods that the claim names. Functions of test files that are neither
    fixtures nor ``setUp`` are read only with ``follow_helpers``. Source is never followed.
    """

    def __init__(self, definitions: Definitions, *, follow_helpers: bool = False) -> None:
        self.definitions = definitions
        self.fixtures = Fixtures(definitions)
        self.follow_helpers = follow_helpers

    def references(self, claim: Claim) -> References:
        """Everything that the claim refers to; a text that cannot be parsed is said in ``unresolved``."""
        reading = _Reading(self, claim)
        node = parse_function(claim.text)
        path, _, qualname = claim.defined_in.partition("::")
        if node is None:
            reading.found.unresolved.add("the claim's text, which cannot be parsed")
        else:
            reading.read(node, path)
        reading.in_source(path, qualname)
        for fixture in self.fixtures.of_claim(claim):
            reading.read(fixture.node, fixture.definition.path)
            reading.in_source(fixture.definition.path, fixture.definition.qualname)
        reading.finish()
        return reading.found


class _Reading:
    """One claim while it is read."""

    def __init__(self, reader: ClaimReader, claim: Claim) -> None:
        self.definitions, self.follow_helpers = reader.definitions, reader.follow_helpers
        self.found = References()
        self.owner = self.definitions.of_file(claim.path).get(".".join(claim.nodeid.split("::")[1:-1]))
        self.test_classes: dict[str, Definition] = {}
        self.seen: set[str] = set()
        for base in self.definitions.mro(self.owner) if self.owner is not None else ():
            for node in (node for node in base.nodes if isinstance(node, ast.ClassDef) and is_test_path(base.path)):
                for decorator in node.decorator_list:
                    self.read(decorator, base.path)
        self.follow(Mention(path=claim.path, dotted="pytestmark"))

    def read(self, node: ast.AST, path: str) -> None:
        """Read every name below a node of the file."""
        local = self._local_names(node, path) if isinstance(node, Function) else {}
        # fixtures of class scope reach the class as request.cls
        own = {"self", "cls", "request"} & local.keys() if self.owner is not None else set()
        for root, *rest in _chains(node):
            self.found.attributes.update(rest)
            if root in own and rest:
                self._member(self.owner, rest[0])
            elif root in local:
                meant = local[root]
                if meant is not None:
                    self.follow(Mention(path=path, dotted=".".join([meant.dotted, *rest]), absolute=meant.absolute))
            elif root:
                self.follow(Mention(path=path, dotted=".".join([root, *rest])))

    def in_source(self, path: str, qualname: str) -> None:
        """Note a fixture or an inherited test that a package which helps others to test holds itself; its class, where it is a method."""
        if not is_test_path(path):
            self.found.attributes.update(qualname.split(".")[1:])
            self.found.mentions.add(Mention(path=path, dotted=qualname.split(".")[0]))

    def follow(self, mention: Mention) -> None:
        """Note a name that leads into the source, and read on where it leads into a test file."""
        resolved = mention.resolve(self.definitions)
        if resolved.definition is None:
            # a name that the file does not bind at all is a builtin's, and "module.__file__" is the module's own
            if resolved.missing and (mention.absolute or resolved.via) and not mention.dotted.endswith("__"):
                self.found.unresolved.add(mention.dotted)
        elif is_test_path(resolved.definition.path):
            self._test_side(resolved.definition)
        else:
            parts = mention.dotted.split(".")
            dotted = ".".join(parts[: len(parts) - len(resolved.rest)])
            self.found.mentions.add(Mention(path=mention.path, dotted=dotted, absolute=mention.absolute))

    def finish(self) -> None:
        """Read the methods that the claim names on the test files' own classes, until nothing new is named."""
        before = -1
        while before != len(self.seen):
            before = len(self.seen)
            for definition in list(self.test_classes.values()):
                for name in sorted({"__init__", *self.found.attributes}):
                    member = self.definitions.member(definition, name)
                    if member is not None and is_test_path(member.path):
                        self._test_side(member, method=True)

    def _test_side(self, definition: Definition, *, method: bool = False) -> None:
        if definition.name in self.seen or (definition.kind == "function" and not method and not self.follow_helpers):
            return
        self.seen.add(definition.name)
        if definition.kind == "class":
            self.test_classes[definition.name] = definition
        for node in definition.nodes:
            for part in _class_level(node) if isinstance(node, ast.ClassDef) else [node]:
                self.read(part, definition.path)

    def _member(self, owner: Definition | None, name: str) -> None:
        attribute = self.definitions.attribute(owner, name) if owner is not None else None
        if attribute is not None and is_test_path(attribute.path):
            self._test_side(attribute)
        elif attribute is not None:
            self.follow(Mention(path=attribute.path, dotted=attribute.qualname.rpartition(".")[0]))

    def _local_names(self, node: ast.AST, path: str) -> dict[str, Mention | None]:
        """What a function's own names mean: what it imports, plain aliases; None for parameters and everything else that it assigns."""
        local: dict[str, Mention | None] = {}
        for below in ast.walk(node):
            if isinstance(below, ast.arg):
                local[below.arg] = None
            elif isinstance(below, ast.Name) and isinstance(below.ctx, ast.Store):
                local[below.id] = None
        for imported in self.definitions.tree.imports_in(path, node):
            if imported.name == "*" or not imported.bound:
                continue
            top = imported.module.split(".")[0]
            dotted = f"{imported.module}.{imported.name}" if imported.name else top if imported.bound == top else imported.module
            local[imported.bound] = Mention(path=path, dotted=dotted, absolute=True)
        for below in ast.walk(node):
            if isinstance(below, ast.Assign) and len(below.targets) == 1 and isinstance(below.targets[0], ast.Name):
                if literal := imported_literal(below.value):
                    local[below.targets[0].id] = Mention(path=path, dotted=literal, absolute=True)
                elif (root := dotted_name(below.value).split(".")[0]) and root not in local:
                    local[below.targets[0].id] = Mention(path=path, dotted=dotted_name(below.value))
        return local


def _class_level(node: ast.ClassDef) -> list[ast.AST]:
    return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords), *class_statements(node)]


def _chains(node: ast.AST) -> Iterator[list[str]]:
    """Every name with the attributes behind it, outermost chains only; the root is ``""`` where attributes hang on another expression."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if not isinstance(current, ast.Attribute | ast.Name):
            waiting.extend(ast.iter_child_nodes(current))
            continue
        parts: list[str] = []
        while isinstance(current, ast.Attribute):
            parts.append(current.attr)
            current = current.value
        if isinstance(current, ast.Name):
            if parts or isinstance(current.ctx, ast.Load):
                yield [current.id, *reversed(parts)]
        else:
            yield ["", *reversed(parts)]
            waiting.append(current)


def used_names(node: ast.AST) -> set[str]:
    """The dotted names below a node, each as long as it is written."""
    return {".".join(chain) for chain in _chains(node) if chain[0]}
