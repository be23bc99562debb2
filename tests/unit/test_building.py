"""Objects out of configurations: each mistake is told by the setting's own name."""

from __future__ import annotations

from typing import Literal

import pytest

from claimflip.building import build, with_default
from claimflip.errors import ConfigError
from claimflip.protocols import Arm, Split

HERE = "test_building"


class Inner:
    def __init__(self, size: int) -> None:
        self.size = size


class Outer:
    def __init__(self, inner: Inner, rate: float | None = None, mode: Literal["fast", "slow"] = "fast", name: str = "outer") -> None:
        self.inner, self.rate, self.mode, self.name = inner, rate, mode, name

    def predict(self, given: object) -> list[object]:
        return []


class Raising:
    def __init__(self) -> None:
        raise RuntimeError("no luck")


INNER = {"_target_": f"{HERE}.Inner", "size": 3}


def test_what_has_a_target_is_built_inside_out() -> None:
    built = build({"_target_": f"{HERE}.Outer", "inner": INNER, "rate": 1}, "oracle", Arm)
    assert (built.inner.size, built.rate) == (3, 1)


@pytest.mark.parametrize(
    ("settings", "wanted", "told"),
    [
        ({}, None, "x has no _target_"),
        ({"_target_": "no.such.Class"}, None, "x._target_=no.such.Class cannot be loaded"),
        ({"_target_": f"{HERE}.Outer"}, None, "x lacks inner"),
        ({"_target_": f"{HERE}.Outer", "inner": {**INNER, "size": "big"}}, None, "x.inner.size='big' is no int"),
        ({"_target_": f"{HERE}.Outer", "inner": {**INNER, "size": True}}, None, "x.inner.size=True is no int"),
        ({"_target_": f"{HERE}.Outer", "inner": INNER, "name": 3.11}, None, "x.name=3.11 is no text: quote it"),
        ({"_target_": f"{HERE}.Outer", "inner": INNER, "mode": "idle"}, None, "x.mode='idle' is none of fast, slow"),
        ({"_target_": f"{HERE}.Outer", "inner": INNER, "colour": 1}, None, "x has no setting 'colour': it takes inner, rate, mode, name"),
        ({"_target_": f"{HERE}.Raising"}, None, "x cannot be built: RuntimeError: no luck"),
        ({"_target_": f"{HERE}.Outer", "inner": INNER}, Split, "is no Split: it lacks questions"),
    ],
)
def test_a_mistake_is_told_by_its_setting(settings: dict[str, object], wanted: type | None, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(settings, "x", wanted)
    assert told in str(caught.value)


def test_a_default_goes_to_a_class_that_takes_it_and_gives_way_to_what_is_set() -> None:
    outer = {"_target_": f"{HERE}.Outer", "inner": INNER}
    assert with_default(outer, "arms.mine", "name", "mine")["name"] == "mine"
    assert with_default({**outer, "name": "set"}, "arms.mine", "name", "mine")["name"] == "set"
    assert "name" not in with_default(INNER, "arms.mine", "name", "mine")
