"""Environments are really resolved and built here, from the package index that the machine is configured for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import write_tree

from claimflip.errors import BuildError
from oracle.environment import Environments

NEVER = "no-such-distribution-of-claimflip"  # a name that no index has


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    return Environments(tmp_path_factory.mktemp("cache"), as_of="2022-06-01")


def project(root: Path, dependencies: list[str], test: list[str]) -> Path:
    toml = f"[project]\nname = 'tiny'\nversion = '1'\ndependencies = {dependencies!r}\n[project.optional-dependencies]\ntest = {test!r}\n"
    return write_tree(root, {"pyproject.toml": toml})


def installed(python: Path) -> dict[str, str]:
    script = "import importlib.metadata as m; print(*sorted(f'{d.name}={d.version}' for d in m.distributions()), sep='\\n')"
    listed = subprocess.run([str(python), "-c", script], capture_output=True, text=True, check=True).stdout
    return dict(line.partition("=")[::2] for line in listed.split())


def test_a_project_gets_what_it_declares_as_of_the_date_and_nothing_of_itself(environments: Environments, tmp_path: Path) -> None:
    lock, dropped = environments.lock([project(tmp_path, ["iniconfig"], ["pytest>=7"])])
    assert dropped == ()
    assert "iniconfig==1.1.1" in lock, "2.0 came out in January 2023"
    assert "--hash=sha256:" in lock
    assert "://" not in lock, "a lock names no index"
    found = installed(environments.build(lock).python)
    assert found["iniconfig"] == "1.1.1"
    assert found["pytest"].startswith("7.")
    assert "tiny" not in found


def test_a_test_requirement_that_cannot_be_had_is_dropped_and_named(environments: Environments, tmp_path: Path) -> None:
    lock, dropped = environments.lock([project(tmp_path, ["iniconfig"], ["toml", NEVER, "pytest>=7"])])
    assert dropped == (NEVER,)
    assert "toml==" in lock
    environment = environments.build(lock, dropped)
    assert environment.dropped == (NEVER,)


def test_a_runtime_requirement_that_cannot_be_had_is_the_end_and_says_why(environments: Environments, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=NEVER) as told:
        environments.lock([project(tmp_path, [NEVER], ["pytest"])])
    assert "\n" not in str(told.value)


def test_the_newest_trees_declaration_of_a_name_counts(environments: Environments, tmp_path: Path) -> None:
    newest, oldest = project(tmp_path / "new", ["toml==0.10.2"], []), project(tmp_path / "old", ["toml==0.10.1", "iniconfig"], [])
    lock, _ = environments.lock([newest, oldest])
    assert "toml==0.10.2" in lock
    assert "iniconfig==" in lock


def test_an_environment_that_was_deleted_cut_short_or_damaged_is_built_again(environments: Environments, tmp_path: Path) -> None:
    lock, _ = environments.lock([project(tmp_path, ["iniconfig"], [])])
    first = environments.build(lock)
    folder = first.python.parent.parent
    mark = folder / "mark"
    mark.touch()
    assert environments.build(lock) == first
    assert mark.exists(), "one lock is built once"
    for damage in (lambda: shutil.rmtree(folder), lambda: (folder / "complete").unlink(), first.python.unlink):
        mark.touch()
        damage()
        again = environments.build(lock)
        assert (again, mark.exists()) == (first, False)
        assert installed(again.python)["iniconfig"] == "1.1.1"


def test_a_lock_that_no_longer_can_be_installed_is_a_build_error(environments: Environments) -> None:
    with pytest.raises(BuildError, match="uv pip failed"):
        environments.build(f"{NEVER}==1.0\n")
