"""What a tree defines, by qualified name, and which definition a name in a file leads to.

Names are walked over the tree's own syntax trees and not through griffe, because a wrong leaf is a wrong verdict: griffe lets a submodule hide the
re-exported name of the same spelling (``from .natsort import natsort``), leaves out modules that are not UTF-8, keeps one of several conditional
definitions, and asks git on every load.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from claimflip.source.modules import Function, Import, SourceFile, SourceTree, first_line, imported_literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One definition of a file, all its branches and overloads together.

    ``name`` is qualified (``pkg.mod.Class.method``), ``qualname`` is within the file. ``text`` is as written, decorators included, dedented;
    a class's is its header and its class-level statements, for its methods are definitions of their own.
    """

    name: str
    path: str
    qualname: str
    kind: Literal["class", "function", "value"]
    text: str
    nodes: tuple[ast.stmt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Where a dotted name leads: to a ``definition``, to a module's location, or nowhere.

    ``via`` are the files on whose bindings the name hangs, re-exporting ones first. ``rest`` is what follows the definition.
    ``missing`` is true where the name starts in the tree and its end is not found there; a name from outside the tree is not missing.
    """

    definition: Definition | None = None
    module: str = ""
    via: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    missing: bool = False

    @property
    def found(self) -> bool:
        """Whether the name leads to something in the tree."""
        return self.definition is not None or bool(self.module)


_OUTSIDE = Resolved()


class Definitions:
    """The definitions of one tree: each file is indexed once, when a name first leads into it."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._files: dict[str, dict[str, Definition]] = {}
        self._bound: dict[str, dict[str, list[Import]]] = {}
        self._stars: dict[str, frozenset[str]] = {}
        self._resolved: dict[tuple[str, str], Resolved] = {}
        self._mros: dict[str, tuple[Definition, ...]] = {}

    def of_file(self, path: str) -> Mapping[str, Definition]:
        """Every definition of a file by its qualified name within the file."""
        if path not in self._files:
            self._files[path] = _index(path, self.tree.module_name(path), self.tree.read(path))
        return self._files[path]

    def resolve(self, path: str, dotted: str) -> Resolved:
        """What a name, or a chain of attributes on one, means at module level of the file ``path``."""
        if (path, dotted) not in self._resolved:
            self._resolved[path, dotted] = self._walk(path, dotted.split("."), frozenset())
        return self._resolved[path, dotted]

    def lookup(self, dotted: str, importer: str = "") -> Resolved:
        """What an absolute dotted name means to code of the file ``importer``."""
        head, *rest = dotted.split(".")
        location = self.tree.locate(head, importer)
        return _OUTSIDE if location is None else self._walk(location, rest, frozenset())

    def mro(self, definition: Definition) -> Sequence[Definition]:
        """The class and those of its bases that are in the tree, in the order in which Python looks them through.

        Depth first, the last occurrence of a shared base kept: equal to Python's own order unless bases disagree among themselves.
        """
        if definition.name not in self._mros:
            self._mros[definition.name] = (definition,)  # ends a circle of bases
            order = [definition]
            for base in (base for node in definition.nodes if isinstance(node, ast.ClassDef) for base in node.bases):
                name = dotted_name(base.value if isinstance(base, ast.Subscript) else base)
                found = self.resolve(definition.path, name).definition if name else None
                if found is not None and found.kind == "class":
                    order += self.mro(found)
            self._mros[definition.name] = tuple(reversed(dict.fromkeys(reversed(order))))
        return self._mros[definition.name]

    def attribute(self, definition: Definition, name: str) -> Definition | None:
        """What sets ``name`` on the class or the first of its bases that has it: a method, a class-level statement, a nested class."""
        owners = (self.of_file(owner.path).get(f"{owner.qualname}.{name}") for owner in self.mro(definition))
        return next((found for found in owners if found is not None), None)

    def member(self, definition: Definition, name: str) -> Definition | None:
        """What ``name`` is on the class: its attribute, with ``alias = other`` followed to the other."""
        found = self.attribute(definition, name)
        if found is None or not (alias := _assigned_name(found)):
            return found
        sibling = self.of_file(found.path).get(f"{found.qualname.rpartition('.')[0]}.{alias}")
        return (sibling if sibling is not found else None) or self.resolve(found.path, alias).definition or found

    def _walk(self, location: str, parts: Sequence[str], seen: frozenset[tuple[str, str]]) -> Resolved:
        """Follow ``parts`` from a module. A name that is already being followed is a submodule's: ``from . import sub`` in ``pkg/__init__.py``."""
        if not parts:
            return Resolved(module=location, via=() if location.endswith("/") else (location,))
        name, *rest = parts
        if not location.endswith("/") and (location, name) not in seen:
            found = self._binding(location, name, rest, seen | {(location, name)})
            if found is not None:
                return Resolved(definition=found.definition, module=found.module, rest=found.rest, missing=found.missing, via=(location, *found.via))
        below = self.tree.submodule(location, name)
        return Resolved(missing=True) if below is None else self._walk(below, rest, seen)

    def _binding(self, path: str, name: str, rest: Sequence[str], seen: frozenset[tuple[str, str]]) -> Resolved | None:
        """What the file itself binds ``name`` to, a definition before an import before a star import; None where it does not."""
        definition = self.of_file(path).get(name)
        if definition is not None:
            return self._definition(definition, rest, seen)
        bound = self._imports(path)
        candidates = [self._imported(path, imported, rest, seen) for imported in bound.get(name, ())]
        if candidates:
            return next((candidate for candidate in candidates if candidate.found), candidates[0])
        for star in bound.get("*", ()):
            location = self.tree.locate(star.module, path)
            if location is not None and name in self._handed_on(location) and (found := self._walk(location, [name, *rest], seen)).found:
                return found
        return None

    def _handed_on(self, location: str) -> frozenset[str]:
        """Every name that a star import of the module can bring, those that it has from star imports itself included."""
        if location not in self._stars:
            names: set[str] = set()
            known, waiting = set[str](), [location]
            while waiting:
                path = waiting.pop()
                if path in known or path.endswith("/"):
                    continue
                known.add(path)
                bound = self._imports(path)
                names.update((qualname for qualname in self.of_file(path) if "." not in qualname), bound)
                waiting += [found for star in bound.get("*", ()) if (found := self.tree.locate(star.module, path)) is not None]
            self._stars[location] = frozenset(names)
        return self._stars[location]

    def _imported(self, path: str, imported: Import, rest: Sequence[str], seen: frozenset[tuple[str, str]]) -> Resolved:
        # "import a.b" binds a, "import a.b as c" binds a.b
        top = imported.module.split(".")[0]
        location = self.tree.locate(top if not imported.name and imported.bound == top else imported.module, path)
        if location is None:
            return _OUTSIDE
        return self._walk(location, [imported.name, *rest] if imported.name else rest, seen)

    def _imports(self, path: str) -> Mapping[str, list[Import]]:
        if path not in self._bound:
            names: dict[str, list[Import]] = {}
            for imported in self.tree.imports(path):
                names.setdefault(imported.bound, []).append(imported)
            self._bound[path] = names
        return self._bound[path]

    def _definition(self, definition: Definition, rest: Sequence[str], seen: frozenset[tuple[str, str]]) -> Resolved:
        """Go on through ``Alias = Other``, ``mod = import_module("pkg.mod")`` and nested classes."""
        if alias := _assigned_name(definition):
            found = self._walk(definition.path, [*alias.split("."), *rest], seen)
            if found.found:
                return found
        if (literal := _assigned_import(definition)) and (location := self.tree.locate(literal, definition.path)) is not None:
            return self._walk(location, rest, seen)
        nested = self.of_file(definition.path).get(f"{definition.qualname}.{rest[0]}") if rest and definition.kind == "class" else None
        if nested is not None and nested.kind == "class":
            return self._definition(nested, rest[1:], seen)
        return Resolved(definition=definition, rest=tuple(rest))


def dotted_name(node: ast.AST | None) -> str:
    """``a.b.c`` for a chain of attributes on a name, else ``""``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def class_statements(node: ast.ClassDef) -> list[ast.stmt]:
    """What a class's body does at class level: everything but its methods and nested classes."""
    return [statement for statement in _flat(node.body) if not isinstance(statement, Function | ast.ClassDef)]


def _assigned_name(definition: Definition) -> str:
    """``Other`` of ``Alias = Other``, where that is the only thing that defines the name."""
    last = definition.nodes[-1]
    return dotted_name(last.value) if len(definition.nodes) == 1 and isinstance(last, ast.Assign | ast.AnnAssign) and not _unpacks(last) else ""


def _unpacks(node: ast.Assign | ast.AnnAssign) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple | ast.List) for target in node.targets)


def _assigned_import(definition: Definition) -> str:
    last = definition.nodes[-1]
    return imported_literal(last.value) if isinstance(last, ast.Assign) else ""


def _index(path: str, module: str, file: SourceFile) -> dict[str, Definition]:
    nodes: dict[str, list[ast.stmt]] = {}
    for qualname, node in _defined(file.tree.body, ""):
        nodes.setdefault(qualname, []).append(node)
    return {
        qualname: Definition(
            name=f"{module}.{qualname}",
            path=path,
            qualname=qualname,
            kind=_kind(found),
            text="\n".join(_text(file, node) for node in found),
            nodes=tuple(found),
        )
        for qualname, found in nodes.items()
    }


def _kind(nodes: Sequence[ast.stmt]) -> Literal["class", "function", "value"]:
    if any(isinstance(node, ast.ClassDef) for node in nodes):
        return "class"
    return "function" if any(isinstance(node, Function) for node in nodes) else "value"


def _defined(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Every name that a module or class body defines, with the statement that does it; methods and nested classes below their class's name."""
    for node in _flat(body):
        if isinstance(node, Function | ast.ClassDef):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{prefix}{node.name}.")
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For) else []
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            yield from ((prefix + name, node) for name in map(dotted_name, names) if name)


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body and of the branches in it, not of functions and classes."""
    for node in body:
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    yield from _flat([child])
                elif isinstance(child, ast.ExceptHandler | ast.match_case):
                    yield from _flat(child.body)


def _text(file: SourceFile, node: ast.stmt) -> str:
    if not isinstance(node, ast.ClassDef):
        return file.excerpt(first_line(node), node.end_lineno or node.lineno).strip()
    header = file.excerpt(first_line(node), max(first_line(node.body[0]) - 1, node.lineno)).strip()
    simple = (statement for statement in class_statements(node) if not any(isinstance(child, ast.stmt) for child in ast.iter_child_nodes(statement)))
    return "\n".join([header, *(file.excerpt(statement.lineno, statement.end_lineno or statement.lineno).strip() for statement in simple)])
