"""What a generated package can do: small behaviours that know their source text, their own answer to a call, and how they may drift.

The answer comes from the behaviour's own data, never from running the generated source, so that it is an independent truth.
"""

# ruff: noqa: ARG002 - one signature for all behaviours, whether they look at the others or not
from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

Argument = str | int
State = Mapping[str, "Behaviour"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour(ABC):
    """One public definition of the generated package: ``ident`` is fixed for ever, ``name`` is what callers write and a rename changes."""

    ident: str
    name: str
    module: str

    @property
    def constant(self) -> str:
        """The stem of the definition's module-level constant."""
        return self.ident.partition(".")[2].upper()

    def needs(self) -> tuple[str, ...]:
        """Idents of the behaviours that this one calls."""
        return ()

    @abstractmethod
    def source(self, state: State) -> str:
        """The definition's text, as it stands in its module."""

    @abstractmethod
    def answer(self, state: State, *arguments: Argument) -> object:
        """What a call of the definition returns; raises what the definition would raise."""

    @abstractmethod
    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """Calls worth asserting: some that a drift moves and at least one that it leaves alone."""

    def drifted(self, rng: random.Random) -> Self | None:
        """The behaviour with one value changed (data drift), or None where it has no value of its own."""
        del rng
        return None

    def swapped(self) -> Self | None:
        """The behaviour with two adjacent operations of the same kind swapped (logic drift), or None where it has no such pair."""
        return None

    def renamed(self, name: str) -> Self:
        """The behaviour under another public name."""
        return replace(self, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Behaviour):
    """A look-up table and the function that reads it; an unknown key raises KeyError."""

    entries: tuple[tuple[str, int], ...]

    def source(self, state: State) -> str:
        """See Behaviour."""
        rows = "".join(f'    "{key}": {value},\n' for key, value in self.entries)
        return f'{self.constant} = {{\n{rows}}}\n\n\ndef {self.name}(key):\n    """Look a key up."""\n    return {self.constant}[key]\n'

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return dict[Argument, int](self.entries)[arguments[0]]

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        return (*((key,) for key, _ in self.entries), ("unknown",))

    def drifted(self, rng: random.Random) -> Self:
        """Another value for one entry."""
        moved = rng.randrange(len(self.entries))
        return replace(self, entries=tuple((key, value + rng.randint(1, 9) * (place == moved)) for place, (key, value) in enumerate(self.entries)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Behaviour):
    """Rules tried in order, the first prefix that fits wins: the order is the data."""

    rules: tuple[tuple[str, str], ...]

    def source(self, state: State) -> str:
        """See Behaviour."""
        rows = "".join(f'    ("{prefix}", "{mark}"),\n' for prefix, mark in self.rules)
        return (
            f'{self.constant} = (\n{rows})\n\n\ndef {self.name}(code):\n    """Classify a code by its prefix, first rule first."""\n'
            f'    for prefix, mark in {self.constant}:\n        if code.startswith(prefix):\n            return mark\n    return "unmarked"\n'
        )

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return next((mark for prefix, mark in self.rules if str(arguments[0]).startswith(prefix)), "unmarked")

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        narrow, wide = self.rules[0][0], self.rules[1][0]
        return ((f"{narrow}7",), (f"{wide}9",), ("?",))

    def drifted(self, rng: random.Random) -> Self:
        """The two overlapping rules in the other order."""
        return replace(self, rules=(self.rules[1], self.rules[0], *self.rules[2:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding(Behaviour):
    """Text filled up from the left to a width."""

    width: int
    fill: str

    def source(self, state: State) -> str:
        """See Behaviour."""
        body = f'    """Fill up from the left."""\n    return text.rjust({self.constant}_WIDTH, "{self.fill}")\n'
        return f"{self.constant}_WIDTH = {self.width}\n\n\ndef {self.name}(text):\n{body}"

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return str(arguments[0]).rjust(self.width, self.fill)

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        return (("ab",), ("7",), ("longer than any width",))

    def drifted(self, rng: random.Random) -> Self:
        """A wider field."""
        return replace(self, width=self.width + rng.randint(1, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Behaviour):
    """A bound that an amount keeps or exceeds."""

    bound: int

    def source(self, state: State) -> str:
        """See Behaviour."""
        body = f'    """Whether an amount keeps within the bound."""\n    return amount <= {self.constant}_BOUND\n'
        return f"{self.constant}_BOUND = {self.bound}\n\n\ndef {self.name}(amount):\n{body}"

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return int(arguments[0]) <= self.bound

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        return ((self.bound + 1,), (0,), (10_000,))

    def drifted(self, rng: random.Random) -> Self:
        """A higher bound."""
        return replace(self, bound=self.bound + rng.randint(1, 9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(Behaviour):
    """Additions and multiplications one after the other: their order is the logic."""

    steps: tuple[tuple[str, int], ...]

    def source(self, state: State) -> str:
        """See Behaviour."""
        lines = "".join(f"    amount {sign}= {number}\n" for sign, number in self.steps)
        return f'def {self.name}(amount):\n    """What an amount costs."""\n{lines}    return amount\n'

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        amount = int(arguments[0])
        for sign, number in self.steps:
            amount = amount + number if sign == "+" else amount * number
        return amount

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        return ((2,), (5,), (11,))

    def drifted(self, rng: random.Random) -> Self:
        """Another summand at the end."""
        sign, number = self.steps[-1]
        return replace(self, steps=(*self.steps[:-1], (sign, number + rng.randint(1, 4))))

    def swapped(self) -> Self:
        """The first two operations in the other order; (x + a) * b and x * b + a differ for every x, since a > 0 and b > 1."""
        return replace(self, steps=(self.steps[1], self.steps[0], *self.steps[2:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning(Behaviour):
    """Replacements one after the other, where the second sees what the first has written."""

    steps: tuple[tuple[str, str], ...]

    def source(self, state: State) -> str:
        """See Behaviour."""
        lines = "".join(f'    text = text.replace("{old}", "{new}")\n' for old, new in self.steps)
        return f'def {self.name}(text):\n    """Bring a text into its usual form."""\n    text = text.strip()\n{lines}    return text\n'

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        text = str(arguments[0]).strip()
        for old, new in self.steps:
            text = text.replace(old, new)
        return text

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        first = self.steps[0][0]
        return ((f"north{first}pier",), ("plain",), (f" a{first}b ",))

    def swapped(self) -> Self:
        """The two replacements in the other order."""
        return replace(self, steps=(self.steps[1], self.steps[0], *self.steps[2:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Register(Behaviour):
    """A class that adds up what it is told, each unit counting so much; a call's arguments are the records made."""

    start: int
    unit: int

    def source(self, state: State) -> str:
        """See Behaviour."""
        return (
            f'class {self.name}:\n    """Adds up what is recorded."""\n\n    UNIT = {self.unit}\n\n'
            f"    def __init__(self):\n        self._total = {self.start}\n\n"
            f'    def record(self, count):\n        """Add so many units."""\n        self._total += count * self.UNIT\n        return self\n\n'
            f'    def total(self):\n        """What has been added up."""\n        return self._total\n'
        )

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return self.start + sum(int(count) * self.unit for count in arguments)

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour."""
        return ((), (3,), (1, 4))

    def drifted(self, rng: random.Random) -> Self:
        """Another weight for a unit; an empty register stays as it is."""
        return replace(self, unit=self.unit + rng.randint(1, 5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Behaviour):
    """A function that calls two others, perhaps of another module: it drifts when they do and follows when they are renamed."""

    table: str
    padding: str

    def needs(self) -> tuple[str, ...]:
        """See Behaviour."""
        return (self.table, self.padding)

    def source(self, state: State) -> str:
        """See Behaviour."""
        look_up, pad = (self._spelled(state[ident]) for ident in self.needs())
        return f'def {self.name}(key):\n    """A key with its value, set for the notice board."""\n    return key + ":" + {pad}(str({look_up}(key)))\n'

    def _spelled(self, callee: Behaviour) -> str:
        return callee.name if callee.module == self.module else f"{callee.module}.{callee.name}"

    def answer(self, state: State, *arguments: Argument) -> object:
        """See Behaviour."""
        return f"{arguments[0]}:{state[self.padding].answer(state, str(state[self.table].answer(state, *arguments)))}"

    def examples(self) -> tuple[tuple[Argument, ...], ...]:
        """See Behaviour; the generator gives the keys of the table."""
        return ()
