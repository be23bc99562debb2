"""Which module a file of a tree is, and which modules a file or a function imports. Read as text, nothing is executed."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ROOTS = ("src", "lib", "python", "source")
_IMPORTERS = {"import_module", "__import__", "importorskip"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One Python file: its text with ``\\n`` line ends and its syntax tree, empty where ``note`` says why it cannot be parsed."""

    text: str
    lines: tuple[str, ...]
    tree: ast.Module
    note: str = ""

    def excerpt(self, first: int, last: int) -> str:
        """The lines from the first to the last, 1-based and both included, without the first one's indent."""
        # not textwrap.dedent: a string that starts in column 0 would leave a whole function indented, which no longer parses
        start = self.lines[first - 1]
        indent = start[: len(start) - len(start.lstrip())]
        return "\n".join(line.removeprefix(indent) for line in self.lines[first - 1 : last])


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import: the absolute ``module``, the ``name`` taken from it (``""`` for the module itself, ``*`` for all), and what it is ``bound`` to."""

    module: str
    name: str
    bound: str


class SourceTree:
    """The Python files of one tree, each read and parsed at most once.

    Paths are POSIX, below ``root``. A module's *location* is its file, or for a namespace package the folder with a slash at its end.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = frozenset(_python_files(root))
        self.folders = frozenset(f"{parent}/" for path in self.files for parent in PurePosixPath(path).parents if parent.name)
        # folders that imports start from, best first
        self.roots = (*(f"{name}/" for name in _ROOTS if f"{name}/" in self.folders and f"{name}/__init__.py" not in self.files), "")
        self._read: dict[str, SourceFile] = {}
        self._imports: dict[str, list[Import]] = {}

    def read(self, path: str) -> SourceFile:
        """The file, decoded by its own coding line; one that cannot be read or parsed has an empty tree and a note."""
        if path not in self._read:
            self._read[path] = read_source(self.root / path)
        return self._read[path]

    def module_name(self, path: str) -> str:
        """The dotted name of a file: ``src/pkg/a.py`` is ``pkg.a``, ``six.py`` is ``six``, ``tests/test_a.py`` is ``tests.test_a``."""
        root = max((root for root in self.roots if path.startswith(root)), key=len, default="")
        parts = list(PurePosixPath(path.removeprefix(root)).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    def locate(self, name: str, importer: str = "") -> str | None:
        """Where the module of an absolute name is, seen from the file ``importer``; None for what is not in the tree.

        pytest puts the first folder above a test file that has no ``__init__.py`` in front of the search path, so that one is looked into first.
        """
        below = name.replace(".", "/")
        for root in (*([self._own_root(importer)] if importer else []), *self.roots):
            if (found := self._module_at(root + below)) is not None:
                return found
        return None

    def submodule(self, location: str, name: str) -> str | None:
        """The location of ``name`` below a package's location; None where there is none."""
        if location.endswith("/"):
            return self._module_at(location + name)
        return self._module_at(f"{location.removesuffix('__init__.py')}{name}") if PurePosixPath(location).name == "__init__.py" else None

    def _module_at(self, base: str) -> str | None:
        for candidate in (f"{base}/__init__.py", f"{base}.py"):
            if candidate in self.files:
                return candidate
        return f"{base}/" if f"{base}/" in self.folders else None

    def _own_root(self, path: str) -> str:
        folder = PurePosixPath(path).parent
        while folder.name and f"{folder}/__init__.py" in self.files:
            folder = folder.parent
        return f"{folder}/" if folder.name else ""

    def imports(self, path: str) -> list[Import]:
        """What the file imports when it is itself imported: everything that stands outside of functions, ``try`` and ``if`` branches included."""
        if path not in self._imports:
            self._imports[path] = self._imports_among(path, _outside_functions(self.read(path).tree))
        return self._imports[path]

    def imports_in(self, path: str, node: ast.AST) -> list[Import]:
        """All imports below a node, such as a test function, of the file."""
        return self._imports_among(path, ast.walk(node))

    def _imports_among(self, path: str, nodes: Iterable[ast.AST]) -> list[Import]:
        found: list[Import] = []
        for node in nodes:
            if isinstance(node, ast.Import):
                found += [Import(module=alias.name, name="", bound=alias.asname or alias.name.split(".")[0]) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(path, node)
                found += [Import(module=module, name=alias.name, bound=alias.asname or alias.name) for alias in node.names if module]
            elif literal := imported_literal(node):
                found.append(Import(module=literal, name="", bound=""))
        return found

    def _absolute(self, path: str, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.module_name(path).split(".")
        strip = node.level - (PurePosixPath(path).name == "__init__.py")
        if strip >= len(package):
            return ""  # leads out of the tree, as it would at run time
        kept = package[: len(package) - strip]
        return ".".join([*kept, *([node.module] if node.module else [])])


def imported_literal(node: ast.AST) -> str:
    """The module that a call such as ``importlib.import_module("pkg.a")`` names, else ``""``."""
    if not isinstance(node, ast.Call) or not node.args:
        return ""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
    first = node.args[0]
    literal = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return literal if called in _IMPORTERS and not literal.startswith(".") else ""


def _outside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting.extend(reversed(list(ast.iter_child_nodes(node))))


def _python_files(root: Path) -> Iterator[str]:
    inside = os.path.realpath(root)
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in {"__pycache__", "node_modules"})
        for name in names:
            path = Path(folder) / name
            # a link that leads out of an untrusted tree is none of its modules
            if name.endswith(".py") and path.is_file() and os.path.realpath(path).startswith(inside + os.sep):
                yield path.relative_to(root).as_posix()


def parsed(text: str) -> tuple[ast.Module, str]:
    """The syntax tree of a text, empty with a note where this interpreter cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in mined code are not ours to report
            return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module(body=[], type_ignores=[]), _note(error)


def read_source(path: Path) -> SourceFile:
    """One Python file as its coding line says, every line end ``\\n``; see SourceFile for one that cannot be read or parsed."""
    try:
        with tokenize.open(path) as stream:
            text = stream.read()
    except (SyntaxError, ValueError, OSError) as error:
        return SourceFile(text="", lines=(), tree=ast.Module(body=[], type_ignores=[]), note=_note(error))
    tree, note = parsed(text)
    # not splitlines(): it also breaks at form feeds, which ast does not count
    return SourceFile(text=text, lines=tuple(text.split("\n")), tree=tree, note=note)


def first_line(node: ast.stmt) -> int:
    """The line on which a statement starts, 1-based: that of its first decorator, where it has one."""
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _note(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
