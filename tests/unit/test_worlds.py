import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest

from claimflip.errors import ConfigError
from claimflip.protocols import Source
from mining.worlds.world import World

SMALL = {"modules": 4, "behaviours": 24}


def _verdicts_by_running(world, change, folder):
    """Run the parent's tests over the child's source with plain pytest; a function flips when any of its cases fails."""
    world.export(change, "parent", folder / "parent")
    world.export(change, "child", folder / "tree")
    for path in change.test_files:
        shutil.copy(folder / "parent" / path, folder / "tree" / path)
    modules = [path for path in change.test_files if path.startswith("tests/test_")]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", *modules]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(command, cwd=folder / "tree", env=environment, capture_output=True, text=True, check=False)
    found = {}
    for line in ran.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in ("PASSED", "FAILED"):
            nodeid = rest.partition("[")[0].partition(" - ")[0]
            found[nodeid] = "flipped" if outcome == "FAILED" or found.get(nodeid) == "flipped" else "held"
    assert "error" not in ran.stdout, ran.stdout
    return found


@pytest.mark.parametrize(
    ("seed", "sizes", "steps"),
    [
        (0, SMALL, ("data", "logic", "rename")),
        (1, SMALL, ("rename", "rename", "logic", "logic", "data", "data")),
        (2, {}, ("data", "logic", "rename")),
    ],
)
def test_truth_is_what_pytest_finds_on_every_claim(tmp_path, seed, sizes, steps):
    world = World("harbour", seed=seed, cache=tmp_path / "cache", steps=steps, **sizes)
    changes = list(world.changes())
    assert len(changes) == len(steps)
    for change in changes:
        truth = dict(world.truth(change))
        assert _verdicts_by_running(world, change, tmp_path / change.child) == truth
        counts = Counter(truth.values())
        assert counts["held"] > counts["flipped"] > 0


@pytest.mark.parametrize("seed", range(6))
def test_every_step_is_a_candidate_with_held_and_flipped_claims(tmp_path, seed):
    for sizes in (SMALL, {"modules": 1, "behaviours": 12}):
        world = World("harbour", seed=seed, cache=tmp_path, **sizes)
        changes = list(world.changes())
        assert {change.child for change in changes} == {"1-data", "2-logic", "3-rename"}
        for change in changes:
            assert change.deleted_assertions > 0
            assert set(world.truth(change).values()) == {"held", "flipped"}


def test_same_seed_gives_same_repository_on_another_machine(tmp_path):
    first, again = (World("harbour", seed=5, cache=tmp_path / name, **SMALL) for name in ("a", "b"))
    assert list(first.changes()) == list(again.changes())
    assert first.describe() == again.describe()
    other = World("harbour", seed=6, cache=tmp_path / "a", **SMALL)
    assert other.describe()["head"] != first.describe()["head"]


def test_seed_five_is_the_same_in_another_process(tmp_path):
    code = f"from mining.worlds.world import World; print(World('h', seed=5, cache={str(tmp_path / 'other')!r}, modules=4, behaviours=24).describe()['head'])"
    printed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": "77"}, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert printed == World("h", seed=5, cache=tmp_path / "here", **SMALL).describe()["head"]


def test_interrupted_writing_is_taken_up_again(tmp_path):
    world = World("harbour", seed=0, cache=tmp_path, **SMALL)
    head = world.describe()["head"]
    (git_dir,) = (tmp_path / "worlds").glob("*.git")
    (git_dir / "refs/heads/main").unlink()
    (git_dir / "HEAD").unlink()
    assert World("harbour", seed=0, cache=tmp_path, **SMALL).describe()["head"] == head


def test_default_size_is_the_specifications(tmp_path):
    world = World("harbour", seed=0, cache=tmp_path)
    assert isinstance(world, Source)
    assert (world.describe()["modules"], world.describe()["behaviours"]) == (12, 96)
    assert len(world._scenes["0-start"].state) == 96
    drifted = [ident for ident, before in world._scenes["0-start"].state.items() if world._scenes["1-data"].state[ident] != before]
    assert len(drifted) == 18


def test_unknown_step_and_impossible_size_are_told_in_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"'sideways'.*data, logic, rename"):
        World("harbour", seed=0, cache=tmp_path, steps=("sideways",), **SMALL)
    with pytest.raises(ConfigError, match="16 to 64"):
        World("harbour", seed=0, cache=tmp_path, modules=4, behaviours=3)
