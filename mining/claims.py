"""Turn what pytest collected from the parent's tree into claims: each test function once, with the text of what it asserts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from claimflip.protocols import CollectedTest, Workspace
from claimflip.records import Change, Claim, claim_id
from claimflip.source import pytest_config
from claimflip.source.modules import Function, SourceFile, first_line, read_source
from claimflip.source.paths import PYTHON_FILES, is_test_module


def collected_claims(change: Change, workspace: Workspace) -> tuple[list[Claim], dict[str, str]]:
    """The claims of a change, collected in a workspace over the parent's tree; and by node id or module what gave none, and why."""
    modules = touched_test_modules(change, workspace.tree)
    items, failures = workspace.collect(modules) if modules else ([], {})
    claims, reasons = claims_of(change, items, workspace.tree)
    return claims, {**failures, **reasons}


def claims_of(change: Change, items: Sequence[CollectedTest], parent: Path) -> tuple[list[Claim], dict[str, str]]:
    """The claims among the collected items, sorted by node id, and for every function that cannot be one the reason, by node id.

    ``parent`` is the parent's tree, the root of the items' paths. Line ends in the texts are ``\\n`` and the function's own indent is taken off.
    """
    functions: dict[str, list[CollectedTest]] = {}
    for item in items:
        functions.setdefault(item.nodeid.removesuffix(item.case), []).append(item)
    sources = _Sources(parent)
    claims, reasons = [], {}
    for nodeid, cases in sorted(functions.items()):
        path, *names = nodeid.split("::")
        try:
            file, function = _definition(sources, cases[0], path, names)
        except LookupError as error:
            reasons[nodeid] = str(error.args[0])
            continue
        text = function.text
        claims.append(
            Claim(
                claim_id=claim_id(change.change_id, nodeid, text),
                change_id=change.change_id,
                nodeid=nodeid,
                path=path,
                qualname=".".join(names),
                text=text,
                defined_in=f"{_portable(file, parent)}::{function.qualname}",
                fixtures=tuple(sorted({f"{name}@{_portable(origin, parent)}" for case in cases for name, origin in case.fixtures})),
                cases=tuple(case.case for case in cases),
            )
        )
    return claims, reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class _Defined:
    """One ``def`` of a file: ``first`` is the line of its first decorator, ``last`` its end, both 1-based."""

    qualname: str
    first: int
    last: int
    text: str


def _definition(sources: _Sources, item: CollectedTest, path: str, names: Sequence[str]) -> tuple[str, _Defined]:
    """The file and the ``def`` that an item's text is taken from; raises LookupError with the reason."""
    if "<locals>" in item.qualname:
        # a decorator that does not unwrap hides the function: what stands in the test's own module under the test's own name is the claim
        own = [found for found in sources.functions(path) if found.qualname == ".".join(names)]
        if own:
            return path, own[-1]
    if not item.file:
        raise LookupError("no text: it is no function written in Python")
    named = [found for found in sources.functions(item.file) if found.qualname == item.qualname]
    # one name may be defined several times (if/else, redefinition): the line decides
    at_line = [found for found in named if found.first <= item.line <= found.last]
    if at_line:
        return item.file, at_line[-1]
    if len(named) == 1:
        return item.file, named[0]
    raise LookupError(f"no text: {'no' if not named else 'more than one'} def of {item.qualname or 'the test'} in {_portable(item.file, sources.root)}")


class _Sources:
    """The functions of each file, parsed once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._functions: dict[str, list[_Defined]] = {}

    def functions(self, file: str) -> list[_Defined]:
        """Every ``def`` of the file (below the root, or absolute); raises LookupError where the file cannot be read as Python."""
        if file not in self._functions:
            source = read_source(self.root / file)
            if source.note:
                raise LookupError(f"no text: {_portable(file, self.root)} cannot be read as Python ({source.note.partition(':')[0]})")
            self._functions[file] = list(_functions(source.tree, source, ""))
        return self._functions[file]


def _functions(node: ast.AST, source: SourceFile, prefix: str) -> Iterator[_Defined]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            first, last = first_line(child), child.end_lineno or child.lineno
            yield _Defined(qualname=prefix + child.name, first=first, last=last, text=source.excerpt(first, last))
            yield from _functions(child, source, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, source, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, source, prefix)


def _portable(file: str, root: Path) -> str:
    """A path that is the same on every machine: below the tree, below site-packages, or the file's name alone."""
    path = PurePosixPath(file)
    if not path.is_absolute():
        return file
    for base in (root, root.resolve()):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    for folder in ("site-packages", "dist-packages"):
        if folder in path.parts:
            last = len(path.parts) - 1 - path.parts[::-1].index(folder)
            return PurePosixPath("site-packages", *path.parts[last + 1 :]).as_posix()
    return path.name


def touched_test_modules(change: Change, parent: Path) -> list[str]:
    """The test modules among the change's test files that the parent's tree has, sorted, by the project's own ``python_files`` where it sets them."""
    patterns = pytest_config.python_files(parent) or PYTHON_FILES
    return sorted(path for path in change.test_files if is_test_module(path, patterns) and (parent / path).is_file())
