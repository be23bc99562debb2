"""The project's own pytest configuration: which file counts, and what of its options a run may keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_tree

from claimflip.source.pytest_config import addopts, of_parent

INI = "[pytest]\naddopts = --strict-markers\n"
TOML = '[tool.pytest.ini_options]\naddopts = "--strict-markers"\n'
CFG = "[tool:pytest]\naddopts = --strict-markers\n"
MODULES = ["tests/test_a.py", "tests/sub/test_b.py"]


@pytest.mark.parametrize(
    ("name", "text", "ours"),
    [
        ("pytest.ini", INI, ".claimflip-pytest.ini"),
        (".pytest.ini", INI, ".claimflip-pytest.ini"),
        ("tox.ini", INI, ".claimflip-pytest.ini"),
        ("pyproject.toml", TOML, ".claimflip-pytest.toml"),
        ("setup.cfg", CFG, ".claimflip-pytest.cfg"),
    ],
)
def test_each_kind_of_file_is_found(tmp_path: Path, name: str, text: str, ours: str) -> None:
    write_tree(tmp_path, {name: text})
    found = of_parent(tmp_path, MODULES)
    assert found == (ours, text)
    assert addopts(*found) == ["--strict-markers"]


def test_pytests_own_toml_file_is_found(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pytest.toml": '[pytest]\naddopts = ["--strict-markers"]\n', "pytest.ini": "[pytest]\n"})
    name, text = of_parent(tmp_path, MODULES)
    assert "--strict-markers" in text
    assert addopts(name, text) == ["--strict-markers"]


@pytest.mark.parametrize(
    ("first", "second"), [("pytest.ini", "pyproject.toml"), (".pytest.ini", "pyproject.toml"), ("pyproject.toml", "tox.ini"), ("tox.ini", "setup.cfg")]
)
def test_of_several_files_pytests_order_decides(tmp_path: Path, first: str, second: str) -> None:
    texts = {"pytest.ini": INI, ".pytest.ini": INI, "tox.ini": INI, "pyproject.toml": TOML, "setup.cfg": CFG}
    write_tree(tmp_path, {first: texts[first], second: texts[second].replace("--strict-markers", "--never")})
    assert addopts(*of_parent(tmp_path, MODULES)) == ["--strict-markers"]


def test_an_empty_pytest_ini_counts_and_a_file_without_a_section_does_not(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pyproject.toml": "[project]\nname = 'x'\n", "tox.ini": "[tox]\n", "setup.cfg": CFG})
    assert of_parent(tmp_path, MODULES)[1] == CFG
    write_tree(tmp_path, {"pytest.ini": b""})
    assert of_parent(tmp_path, MODULES)[1] == ""


def test_the_nearest_folder_above_all_modules_comes_first(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pytest.ini": INI, "tests/pytest.ini": "[pytest]\nmarkers = near\n", "tests/sub/pytest.ini": "[pytest]\nmarkers = nearest\n"})
    assert of_parent(tmp_path, MODULES) == ("tests/.claimflip-pytest.ini", "[pytest]\nmarkers = near\n")
    assert of_parent(tmp_path, ["tests/sub/test_b.py"])[0] == "tests/sub/.claimflip-pytest.ini"
    assert of_parent(tmp_path, ["test_c.py", "tests/test_a.py"])[0] == ".claimflip-pytest.ini"


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    write_tree(tmp_path, {"pyproject.toml": "[tool.pytest.ini_options\n", "tox.ini": "no section\n", "setup.cfg": CFG})
    assert of_parent(tmp_path, MODULES)[1] == CFG


def test_without_any_configuration_ours_is_empty_so_that_nothing_above_the_tree_counts(tmp_path: Path) -> None:
    assert of_parent(tmp_path, MODULES) == (".claimflip-pytest.ini", "[pytest]\n")
    assert of_parent(tmp_path, []) == (".claimflip-pytest.ini", "[pytest]\n")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("-ra --strict-markers --doctest-modules", ["-ra", "--strict-markers", "--doctest-modules"]),
        ("--cov=pkg --cov-report=term --cov-report xml --cov pkg -ra", ["-ra"]),
        ("-n auto --dist loadscope -ra", ["-ra"]),
        ("-n4 --numprocesses=4 -ra", ["-ra"]),
        ("-x --exitfirst --maxfail=2 --maxfail 3 -ra", ["-ra"]),
        ("--lf --ff --nf --sw --pdb -ra", ["-ra"]),
        ("--last-failed --failed-first --new-first --stepwise -ra", ["-ra"]),
        ("--durations=10 --durations 5 --junitxml=x.xml --junit-xml y.xml -ra", ["-ra"]),
        ("--reruns 3 --timeout=10 --timeout 20 -ra", ["-ra"]),
        ("--benchmark-skip --random-order -p no:randomly -ra", ["-p", "no:randomly", "-ra"]),
        ("-p xdist -p pytest_cov -ra", ["-ra"]),
        ("-k 'not slow' -m \"not network\"", ["-k", "not slow", "-m", "not network"]),
        ("-W error::DeprecationWarning --import-mode=importlib", ["-W", "error::DeprecationWarning", "--import-mode=importlib"]),
        ("-q\n  # a comment\n  --strict-config", ["-q", "--strict-config"]),
        ("", []),
    ],
)
def test_options_that_measure_distribute_reorder_or_stop_early_are_dropped(given: str, kept: list[str]) -> None:
    assert addopts("pytest.ini", "[pytest]\naddopts = " + given.replace("\n", "\n ")) == kept


def test_a_list_in_toml_is_taken_word_by_word() -> None:
    assert addopts("x.toml", '[tool.pytest.ini_options]\naddopts = ["-ra", "--cov", "pkg", "-n", "4"]\n') == ["-ra"]


def test_a_configuration_that_makes_no_sense_is_no_reason_to_stop(tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    assert of_parent(tmp_path, ["tests/test_a.py"]) == (".claimflip-pytest.ini", "[pytest]\n")
    assert addopts("pytest.ini", "[pytest]\naddopts = -q 'never closed\n") == ["-q", "'never", "closed"]
