"""The built wheel works without the checkout: it carries what the code reads beside itself, and declares all that it imports."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from claimflip import package_index

CHECKOUT = Path(__file__).parents[2]
ROOMS = ("claimflip", "mining", "oracle", "arms", "stats", "configs", "results/paper")
FILES = ("pyproject.toml", "README.md", "LICENSE", "repro_smoke.py", "results/__init__.py")


def ran(command, cwd, **more):
    """What a command printed; it finds nothing of this process's Python, and the index that is configured for pip."""
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    if index := package_index.configured():
        env.setdefault("UV_DEFAULT_INDEX", index)
    done = subprocess.run(list(map(str, command)), cwd=cwd, env={**env, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy, since a build leaves files in its tree."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    for name in ROOMS:
        shutil.copytree(CHECKOUT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(CHECKOUT / name, copy / name)
    ran([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, copy], out)
    (built,) = out.glob("claimflip-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of commands of an empty environment with the wheel and its declared dependencies, in the locked versions."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    python = folder / "bin" / "python"
    ran([find_uv_bin(), "venv", "--quiet", "--python", sys.executable, folder], folder.parent)
    ran([find_uv_bin(), "pip", "install", "--quiet", "--python", python, "--constraint", CHECKOUT / "requirements.lock", wheel], folder.parent)
    return python.parent


def test_it_carries_every_file_that_the_code_reads(wheel):
    carried = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        path.relative_to(CHECKOUT).as_posix()
        for room in ROOMS
        for path in (CHECKOUT / room).rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.name.startswith(".")
    }
    assert {"configs/bench.yaml", "configs/corpus/quickstart.yaml", "arms/prompts/a6_risk.txt", "results/paper/figures.csv", "stats/report/page.html"} <= wanted
    assert wanted - carried == set()


def test_it_carries_no_tests_and_nothing_of_a_run(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "repro_smoke.py" in names
    assert [name for name in names if name.startswith(("tests/", "results/runs", "docs/", "notebooks/"))] == []


def test_the_command_works_in_an_empty_folder(installed, tmp_path):
    assert "usage: claimflip COMMAND" in ran([installed / "claimflip", "--help"], tmp_path)
    assert "arms.symbol_anchoring.SymbolAnchoring" in ran([installed / "claimflip", "arms"], tmp_path)
    assert "name: quickstart" in ran([installed / "claimflip", "bench", "--cfg", "job"], tmp_path)
    assert list(tmp_path.iterdir()) == [], "looking around must leave nothing behind"


def test_the_smoke_passes_outside_of_the_checkout(installed, tmp_path):
    said = ran([installed / "python", "-P", "-m", "repro_smoke"], tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert "ok the_oracle_agrees_with_the_generator" in said
    assert "ok same_bytes" in said
