"""The fixtures behind a claim and their code: a test that says ``def test_x(self, cr)`` never names the class that ``cr`` builds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from claimflip.records import Claim
from claimflip.source.definitions import Definition, Definitions, dotted_name
from claimflip.source.modules import Function, parsed

_CLASS_SETUPS = ("setUpClass", "setUp", "asyncSetUp", "setup_class", "setup_method", "setup")
_MODULE_SETUPS = ("setUpModule", "setup_module", "setup_function")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One fixture under the name that tests ask for it by; ``requests`` are the names that it asks for itself."""

    name: str
    definition: Definition
    node: ast.FunctionDef | ast.AsyncFunctionDef
    requests: tuple[str, ...]
    autouse: bool


class Fixtures:
    """The fixtures of one tree, read from its definitions."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self._files: dict[str, tuple[Fixture, ...]] = {}

    def of_file(self, path: str) -> Sequence[Fixture]:
        """The fixtures defined in a file, those of its classes included, in the file's order; ``name=`` is resolved."""
        if path not in self._files:
            self._files[path] = tuple(_fixtures(self.definitions.of_file(path).values()))
        return self._files[path]

    def visible(self, path: str, class_name: str = "") -> dict[str, list[Fixture]]:
        """What a test of the module (and class) can ask for, by name, nearest first: its class and bases, the module, ``conftest.py`` files upwards."""
        found: dict[str, list[Fixture]] = {}
        owner = self.definitions.of_file(path).get(class_name)
        for base in self.definitions.mro(owner) if owner is not None else ():
            _add(found, (fixture for fixture in self.of_file(base.path) if fixture.definition.qualname.rpartition(".")[0] == base.qualname))
        for file in (path, *conftests(self.definitions, path)):
            _add(found, [*(fixture for fixture in self.of_file(file) if "." not in fixture.definition.qualname), *self._imported(file)])
        return found

    def of_claim(self, claim: Claim) -> list[Fixture]:
        """The fixtures that the claim's test uses, transitively, autouse ones and xunit-style ``setUp`` functions included.

        What pytest reported for the claim comes first, each from the file that pytest names; where it reported nothing, the test's text decides.
        """
        class_name = ".".join(claim.nodeid.split("::")[1:-1])
        visible = self.visible(claim.path, class_name)
        if claim.fixtures:
            reported = (entry.partition("@")[::2] for entry in claim.fixtures)
            start = [fixture for name, path in reported for fixture in self._reported(name, path, class_name)]
        else:
            asked = [*_requests(claim.text), *self._marks(claim.path, class_name)]
            start = [known[0] for name, known in visible.items() if name in asked or known[0].autouse]
        return [*_closure(start, visible), *self._setups(claim.path, class_name)]

    def _reported(self, name: str, path: str, class_name: str) -> list[Fixture]:
        named = [fixture for fixture in self.of_file(path) if fixture.name == name] if path in self.definitions.tree.files else []
        owner = self.definitions.of_file(path).get(class_name) if named and class_name else None
        bases = {base.qualname for base in self.definitions.mro(owner)} if owner is not None else set()
        # one name may stand in several classes of a file: only those that the claim's class has, or the module's
        return [fixture for fixture in named if (outer := fixture.definition.qualname.rpartition(".")[0]) in bases or not outer] or named

    def _imported(self, path: str) -> Iterator[Fixture]:
        for imported in self.definitions.tree.imports(path):
            location = self.definitions.tree.locate(imported.module, path)
            if location is not None and not location.endswith("/") and imported.name:
                yield from (fixture for fixture in self.of_file(location) if imported.name in ("*", fixture.definition.qualname))

    def _marks(self, path: str, class_name: str) -> list[str]:
        nodes: list[ast.AST] = []
        owner = self.definitions.of_file(path).get(class_name)
        for base in self.definitions.mro(owner) if owner is not None else ():
            nodes += [decorator for node in base.nodes if isinstance(node, ast.ClassDef) for decorator in node.decorator_list]
        mark = self.definitions.of_file(path).get("pytestmark")
        return [name for node in [*nodes, *(mark.nodes if mark else ())] for name in _literals(node, "usefixtures")]

    def _setups(self, path: str, class_name: str) -> Iterator[Fixture]:
        owner = self.definitions.of_file(path).get(class_name)
        methods = [self.definitions.member(owner, name) for name in _CLASS_SETUPS] if owner is not None else []
        functions = [self.definitions.of_file(path).get(name) for name in _MODULE_SETUPS]
        for definition in (*methods, *functions):
            node = definition.nodes[-1] if definition is not None else None
            if definition is not None and isinstance(node, Function):
                yield Fixture(name=definition.qualname, definition=definition, node=node, requests=(), autouse=True)


def conftests(definitions: Definitions, path: str) -> list[str]:
    """The ``conftest.py`` files that hold for a test file, nearest first."""
    return [found for folder in PurePosixPath(path).parents if (found := str(folder / "conftest.py")) in definitions.tree.files]


def _fixtures(found: Iterable[Definition]) -> Iterator[Fixture]:
    for definition in found:
        for node in definition.nodes:
            if not isinstance(node, Function):
                continue
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if dotted_name(called).rpartition(".")[2] not in ("fixture", "yield_fixture"):
                    continue
                options = {keyword.arg: keyword.value for keyword in decorator.keywords} if isinstance(decorator, ast.Call) else {}
                name, autouse = options.get("name"), options.get("autouse")
                yield Fixture(
                    name=name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else node.name,
                    definition=definition,
                    node=node,
                    requests=tuple(_asked(node)),
                    autouse=isinstance(autouse, ast.Constant) and autouse.value is True,
                )


def _asked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Names that a test or fixture asks for: parameters without a default, ``usefixtures`` marks, ``getfixturevalue("…")``."""
    positional = [*node.args.posonlyargs, *node.args.args]
    without_default = positional[: len(positional) - len(node.args.defaults)]
    keyword = [argument for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
    return [*(argument.arg for argument in (*without_default, *keyword)), *_literals(node, "usefixtures", "getfixturevalue")]


def _literals(node: ast.AST, *called: str) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in called:
            yield from (argument.value for argument in call.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str))


def _requests(text: str) -> list[str]:
    node = parse_function(text)
    return _asked(node) if node is not None else []


def parse_function(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that a claim's text is; None where this interpreter cannot parse it."""
    body = parsed(text)[0].body
    return body[0] if body and isinstance(body[0], Function) else None


def _add(found: dict[str, list[Fixture]], fixtures: Iterable[Fixture]) -> None:
    for fixture in fixtures:
        found.setdefault(fixture.name, []).append(fixture)


def _closure(start: Iterable[Fixture], visible: dict[str, list[Fixture]]) -> list[Fixture]:
    """The fixtures and all that they ask for. One that asks for its own name gets the next one outwards, as in pytest."""
    found: dict[int, Fixture] = {}
    waiting = list(start)
    while waiting:
        fixture = waiting.pop(0)
        if id(fixture.node) in found:
            continue
        found[id(fixture.node)] = fixture
        for name in fixture.requests:
            known = visible.get(name, [])
            if name == fixture.name:
                known = known[known.index(fixture) + 1 :] if fixture in known else []
            waiting += known[:1]
    return list(found.values())
