"""Generate a small package whose every state is known: its behaviours, its tests, and the steps by which it drifts."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from claimflip.errors import ConfigError
from claimflip.records import Verdict
from mining.worlds.behaviours import Argument, Behaviour, Charge, Cleaning, Limit, Notice, Padding, Register, Scan, State, Table
from mining.worlds.suite import PACKAGE, WorldTest, suite, tests_of

# as in EA-Graph's worlds, about 18 of 96 definitions drift in a data step
MODULES, BEHAVIOURS = 12, 96
_DRIFTING = 18 / 96
_PLACES = ("berths", "cargo", "tariffs", "manifests", "pilots", "tides", "customs", "crews", "routes", "depots", "signals", "ledgers")
_GOODS = ("grain", "timber", "steel", "coal", "salt", "wool", "paper", "glass", "cotton", "copper", "rice", "sugar", "tea", "wine", "cork", "slate")
_VESSELS = ("barge", "ferry", "tug", "liner", "sloop", "dredger")
_MARKS = ("dry", "cold", "bonded", "loose", "fragile", "live")
_KINDS = ("rate", "code", "charge", "mark", "tag", "limit", "register", "notice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One state of a world and the tests written for it; the tests' functions are the same in every state, their expectations follow it."""

    state: State
    tests: tuple[WorldTest, ...]

    def files(self) -> Mapping[str, str]:
        """The whole tree, by path below its root."""
        modules: dict[str, list[Behaviour]] = {}
        for behaviour in self.state.values():
            modules.setdefault(behaviour.module, []).append(behaviour)
        package = f"src/{PACKAGE}"
        sources = {f"{package}/{module}.py": _module(module, found, self.state) for module, found in modules.items()}
        return {
            "pyproject.toml": _PYPROJECT,
            "README.md": f"# {PACKAGE}\n\nA generated package whose every behaviour is known.\n",
            f"{package}/__init__.py": '"""A harbour and its paperwork."""\n',
            **sources,
            **suite(self.tests, self.state),
        }

    def write(self, into: Path) -> None:
        """Write the tree into a folder."""
        for path, text in self.files().items():
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(text.encode())


_PYPROJECT = f"""[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "{PACKAGE}"
version = "1.0"
requires-python = ">=3.8"

[tool.setuptools.packages.find]
where = ["src"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
"""


def truth(parent: Scene, child: Scene) -> dict[str, Verdict]:
    """The verdict on each of the parent's test functions once the child's source is under it, by node id."""
    return {test.nodeid(): test.verdict(parent.state, child.state) for test in parent.tests}


def genesis(*, seed: int, modules: int, behaviours: int) -> Scene:
    """The first state: ``behaviours`` definitions spread evenly over ``modules`` modules."""
    if modules < 1 or not 4 * modules <= behaviours <= len(_GOODS) * modules:
        raise ConfigError(f"a world of {modules} modules cannot have {behaviours} behaviours: take {4 * modules} to {len(_GOODS) * modules}")
    rng = random.Random(f"{seed}/genesis")
    state: dict[str, Behaviour] = {}
    tests: list[WorldTest] = []
    for number in range(modules):
        module = _PLACES[number % len(_PLACES)] + (str(number // len(_PLACES) + 1) if number >= len(_PLACES) else "")
        goods = rng.sample(_GOODS, len(_GOODS))
        count = behaviours // modules + (number < behaviours % modules)
        for place in range(count):
            # the first two of a module are what its notices call; the others take turns from module to module
            kind = _KINDS[place] if place < 2 else _KINDS[2 + (place - 2 + number * (count - 2)) % (len(_KINDS) - 2)]
            made = _made(kind, f"{goods[place]}_{kind}", module, state, rng)
            state[made.ident] = made
            tests += tests_of(made, _calls(made, state), number + place)
    return Scene(state=state, tests=tuple(tests))


def _made(kind: str, name: str, module: str, state: State, rng: random.Random) -> Behaviour:
    ident = f"{module}.{name}"
    match kind:
        case "rate":
            entries = tuple((vessel, rng.randint(10, 99)) for vessel in sorted(rng.sample(_VESSELS, 4)))
            return Table(ident=ident, name=name, module=module, entries=entries)
        case "code":
            return Padding(ident=ident, name=name, module=module, width=rng.randint(4, 8), fill=rng.choice("0.*"))
        case "charge":
            steps = (("+", rng.randint(2, 9)), ("*", rng.randint(2, 5)), ("+", rng.randint(1, 20)))
            return Charge(ident=ident, name=name, module=module, steps=steps)
        case "mark":
            letter, marks = rng.choice("ABCDEF"), rng.sample(_MARKS, 3)
            prefixes = (f"{letter}{rng.choice('GHJK')}", letter, "Z")
            return Scan(ident=ident, name=name, module=module, rules=tuple(zip(prefixes, marks, strict=True)))
        case "tag":
            first, second, third = rng.sample("-_/.~", 3)
            return Cleaning(ident=ident, name=name, module=module, steps=((first, second), (second, third)))
        case "limit":
            return Limit(ident=ident, name=name, module=module, bound=rng.randint(20, 200))
        case "register":
            spelled = "".join(word.capitalize() for word in name.split("_"))
            return Register(ident=ident, name=spelled, module=module, start=rng.randint(0, 9), unit=rng.randint(2, 9))
        case _:
            # only what stands already can be called, so modules never import each other in a circle
            tables = [found.ident for found in state.values() if isinstance(found, Table)]
            paddings = [found.ident for found in state.values() if isinstance(found, Padding)]
            return Notice(ident=ident, name=name, module=module, table=rng.choice(tables), padding=rng.choice(paddings))


def _calls(behaviour: Behaviour, state: State) -> tuple[tuple[Argument, ...], ...]:
    return tuple(call for call in state[behaviour.table].examples() if call != ("unknown",)) if isinstance(behaviour, Notice) else behaviour.examples()


def _module(module: str, behaviours: Sequence[Behaviour], state: State) -> str:
    others = sorted({state[ident].module for behaviour in behaviours for ident in behaviour.needs()} - {module})
    imports = f"\nfrom {PACKAGE} import {', '.join(others)}\n" if others else ""
    return f'"""The {module} of the harbour."""\n{imports}' + "".join(f"\n\n{behaviour.source(state)}" for behaviour in behaviours)


# -- drift


def _data(scene: Scene, rng: random.Random) -> Iterator[Behaviour]:
    """Another value in about 18 of 96 definitions."""
    drifting = [behaviour for behaviour in scene.state.values() if behaviour.drifted(random.Random(0)) is not None]
    for behaviour in _some(drifting, len(scene.state) * _DRIFTING, rng):
        moved = behaviour.drifted(rng)
        assert moved is not None
        yield moved


def _logic(scene: Scene, rng: random.Random) -> Iterator[Behaviour]:
    """Two adjacent operations swapped, in half of the definitions that have such a pair."""
    pairs = [swapped for behaviour in scene.state.values() if (swapped := behaviour.swapped()) is not None]
    yield from _some(pairs, len(pairs) / 2, rng)


def _rename(scene: Scene, rng: random.Random) -> Iterator[Behaviour]:
    """Another public name for one definition in sixteen; what calls it follows."""
    functions = [behaviour for behaviour in scene.state.values() if not isinstance(behaviour, Register)]
    for behaviour in _some(functions, len(scene.state) / 16, rng):
        goods, _, kind = behaviour.ident.partition(".")[2].partition("_")
        spellings = (f"{kind}_of_{goods}", f"{goods}_{kind}")
        yield behaviour.renamed(next(name for name in spellings if name != behaviour.name))


def _some(behaviours: Sequence[Behaviour], number: float, rng: random.Random) -> list[Behaviour]:
    return rng.sample(behaviours, min(len(behaviours), max(1, round(number))))


STEPS: Mapping[str, Callable[[Scene, random.Random], Iterator[Behaviour]]] = {"data": _data, "logic": _logic, "rename": _rename}


def drift(scene: Scene, step: str, *, seed: int, number: int) -> Scene:
    """The scene after one step of the kind ``step``; ``number`` is its place in the world's history."""
    if step not in STEPS:
        raise ConfigError(f"no drift step {step!r}: a world knows {', '.join(sorted(STEPS))}")
    moved = {behaviour.ident: behaviour for behaviour in STEPS[step](scene, random.Random(f"{seed}/{number}/{step}"))}
    return Scene(state={**scene.state, **moved}, tests=scene.tests)
