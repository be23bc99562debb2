"""The tests of a generated package: what each asserts in a given state, and whether its assertions of one state are true in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from claimflip.records import Verdict
from mining.worlds.behaviours import Argument, Behaviour, Register, State

Style = Literal["plain", "parametrised", "type", "raises", "fixture", "method", "inherited-empty", "inherited-after"]

PACKAGE = "harbour"
AMOUNTS = (2, 5, 11)
CONFTEST = f'import pytest\n\n\n@pytest.fixture\ndef amounts():\n    """Amounts that every tariff must know."""\n    return {AMOUNTS}\n'
CONTRACTS = '''class RegisterContract:
    """What every register must do; a subclass says which one, and what it holds after three units."""

    def test_holds_its_start_when_empty(self):
        assert self.make().total() == self.start

    def test_counts_three_units(self):
        register = self.make()
        register.record(3)
        assert register.total() == self.after_three
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTest:
    """One test function of the generated suite: the behaviour it is about and the calls that it makes of it, the same in every state."""

    ident: str
    module: str
    function: str
    style: Style
    calls: tuple[tuple[Argument, ...], ...]

    @property
    def path(self) -> str:
        """The test module's path below the tree's root."""
        return f"tests/test_{self.module}.py"

    def nodeid(self) -> str:
        """The function's node id, without a case. The class keeps its first name through renames, as the functions do."""
        return "::".join(part for part in (self.path, _test_class(self.ident) if self.in_class() else "", self.function) if part)

    def in_class(self) -> bool:
        """Whether the function is a method."""
        return self.style in ("method", "inherited-empty", "inherited-after")

    def verdict(self, parent: State, child: State) -> Verdict:
        """Whether what the test asserts in the parent's state is true in the child's: the generator's own truth."""
        if parent[self.ident].name != child[self.ident].name:
            return "flipped"
        same = all(self._seen(parent, call) == self._seen(child, call) for call in self.calls)
        return "held" if same else "flipped"

    def _seen(self, state: State, call: tuple[Argument, ...]) -> object:
        """What the test can tell apart of a call's outcome."""
        outcome = _outcome(state, self.ident, call)
        return type(outcome) if self.style == "type" else outcome

    def source(self, state: State) -> str:
        """The function's text in a state, empty for one that a base class defines; methods are indented."""
        behaviour = state[self.ident]
        spelled = f"{behaviour.module}.{behaviour.name}"
        outcomes = [_outcome(state, self.ident, call) for call in self.calls]
        calls = [_call(spelled, behaviour, call) for call in self.calls]
        asserted = "".join(f"    assert {call} {_compared(outcome)}\n" for call, outcome in zip(calls, outcomes, strict=True))
        match self.style:
            case "plain":
                return f"def {self.function}():\n{asserted}"
            case "method":
                return f"    def {self.function}(self):\n" + "".join(f"    {line}\n" for line in asserted.splitlines())
            case "type":
                kinds = [type(outcome).__name__ for outcome in outcomes]
                return f"def {self.function}():\n" + "".join(f"    assert isinstance({call}, {kind})\n" for call, kind in zip(calls, kinds, strict=True))
            case "raises":
                return f"def {self.function}():\n" + "".join(f"    with pytest.raises(KeyError):\n        {call}\n" for call in calls)
            case "parametrised":
                cases = "".join(f"        ({_literal(call[0])}, {_literal(outcome)}),\n" for call, outcome in zip(self.calls, outcomes, strict=True))
                head = f'@pytest.mark.parametrize(\n    ("given", "expected"),\n    [\n{cases}    ],\n)\n'
                return f"{head}def {self.function}(given, expected):\n    assert {spelled}(given) == expected\n"
            case "fixture":
                expected = ", ".join(_literal(outcome) for outcome in outcomes)
                return f"def {self.function}(amounts):\n    assert [{spelled}(amount) for amount in amounts] == [{expected}]\n"
            case _:
                return ""


def tests_of(behaviour: Behaviour, calls: Sequence[tuple[Argument, ...]], number: int) -> list[WorldTest]:
    """The tests of one behaviour: what a drift moves beside what it leaves alone; ``number`` varies their form."""
    stem = behaviour.ident.partition(".")[2]

    def test(about: str, style: Style, *chosen: tuple[Argument, ...]) -> WorldTest:
        return WorldTest(ident=behaviour.ident, module=behaviour.module, function=f"test_{stem}_{about}" if stem else about, style=style, calls=chosen)

    known = [call for call in calls if call != ("unknown",)]
    if isinstance(behaviour, Register):
        inherited: list[tuple[str, Style, tuple[Argument, ...]]] = [
            ("test_holds_its_start_when_empty", "inherited-empty", ()),
            ("test_counts_three_units", "inherited-after", (3,)),
        ]
        found = [WorldTest(ident=behaviour.ident, module=behaviour.module, function=name, style=style, calls=(call,)) for name, style, call in inherited]
        return [*found, WorldTest(ident=behaviour.ident, module=behaviour.module, function="test_adds_up", style="method", calls=(known[-1],))]
    tests = [test("value", "plain", known[0]), test("other_values", "parametrised" if number % 2 else "plain", *known[1:])]
    if ("unknown",) in calls:
        tests.append(test("refuses_what_it_does_not_know", "raises", ("unknown",)))
    elif known == [(amount,) for amount in AMOUNTS]:
        tests.append(test("for_all_amounts", "fixture", *known))
    else:
        tests.append(test("kind", "type", known[0]))
    return tests


def test_module(module: str, tests: Sequence[WorldTest], state: State) -> str:
    """The text of one test module in a state."""
    imports = [f"from {PACKAGE} import {module}\n"]
    if any(test.style in ("parametrised", "raises") for test in tests):
        imports.insert(0, "import pytest\n")
    if any(test.in_class() for test in tests):
        imports.insert(-1, "from contracts import RegisterContract\n")
    blocks = []
    for ident in dict.fromkeys(test.ident for test in tests):
        own = [test for test in tests if test.ident == ident]
        texts = [text for test in own if (text := test.source(state))]
        if own[0].in_class():
            texts = [_class_head(state, ident) + "\n" + "\n".join(texts)]
        blocks += texts
    return "".join(imports) + "".join(f"\n\n{block}" for block in blocks)


def _class_head(state: State, ident: str) -> str:
    register = state[ident]
    start, after = _outcome(state, ident, ()), _outcome(state, ident, (3,))
    return (
        f"class {_test_class(ident)}(RegisterContract):\n    start = {start}\n    after_three = {after}\n\n"
        f"    def make(self):\n        return {register.module}.{register.name}()\n"
    )


def _test_class(ident: str) -> str:
    return "Test" + "".join(word.capitalize() for word in ident.partition(".")[2].split("_"))


def _outcome(state: State, ident: str, call: tuple[Argument, ...]) -> object:
    try:
        return state[ident].answer(state, *call)
    except KeyError:
        return KeyError


def _call(spelled: str, behaviour: Behaviour, call: tuple[Argument, ...]) -> str:
    if isinstance(behaviour, Register):
        return f"{spelled}()" + "".join(f".record({count})" for count in call) + ".total()"
    return f"{spelled}({', '.join(_literal(argument) for argument in call)})"


def _compared(outcome: object) -> str:
    return f"is {outcome}" if isinstance(outcome, bool) else f"== {_literal(outcome)}"


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def suite(tests: Sequence[WorldTest], state: State) -> Mapping[str, str]:
    """Every file below ``tests/`` in a state, by path."""
    modules = dict.fromkeys(test.module for test in tests)
    files = {f"tests/test_{module}.py": test_module(module, [test for test in tests if test.module == module], state) for module in modules}
    return {**files, "tests/conftest.py": CONFTEST, "tests/contracts.py": CONTRACTS}
