"""The project's own pytest configuration: which modules hold its tests, and under what both sides of a change are run."""

from __future__ import annotations

import configparser
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
# options that measure, reorder, distribute, print reports or stop early: a run must do none of it
_WITH_VALUE = (
    *("-n", "--numprocesses", "--dist", "--maxfail", "--durations", "--timeout", "--reruns", "--tx", "--junitxml", "--junit-xml"),
    *("--cov", "--cov-report", "--cov-config", "--cov-fail-under"),
)
_DROPPED = (
    *_WITH_VALUE,
    *("-x", "--exitfirst", "--lf", "--ff", "--nf", "--sw", "--last-failed", "--failed-first", "--new-first", "--stepwise", "--pdb"),
    *("--benchmark", "--random", "--no-cov", "--flake", "--mypy", "--html"),
)
_PLUGINS = ("xdist", "xdist.plugin", "pytest_cov", "pytest_cov.plugin", "randomly", "pytest_randomly")


def python_files(tree: Path) -> tuple[str, ...] | None:
    """The project's own ``python_files`` globs from the tree's root, or ``None`` where it sets none."""
    found = (_section(*_chosen(tree, Path())) or {}).get("python_files")
    return tuple(found.split()) if isinstance(found, str) else tuple(map(str, found)) if isinstance(found, list) else None


def of_parent(tree: Path, test_modules: Sequence[str]) -> tuple[str, str]:
    """The configuration file that pytest would take for these modules, under a name of ours in the same folder, so that both sides can be run with it.

    Returns the path below the tree and the text. The rule is pytest's: from the modules' common folder upwards, the first file with a section of its own.
    """
    common = os.path.commonpath([str(Path(module).parent) for module in test_modules]) if test_modules else ""
    for folder in (Path(common), *Path(common).parents):
        name, text = _chosen(tree, folder)
        if name:
            return (folder / f".claimflip-pytest{Path(name).suffix or '.ini'}").as_posix(), text
    return ".claimflip-pytest.ini", "[pytest]\n"


def _chosen(tree: Path, folder: Path) -> tuple[str, str]:
    """Name and text of the first file in a folder that configures pytest; empty where there is none."""
    for name in _FILES:
        path = tree / folder / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
        if text is not None and (name.endswith("pytest.ini") or _section(name, text) is not None):
            return name, text
    return "", ""


def _section(name: str, text: str) -> Mapping[str, Any] | None:
    """Pytest's own section of a configuration file, or ``None``."""
    if name.endswith(".toml"):
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            return None
        tools = found.get("tool")
        tool = tools.get("pytest") if isinstance(tools, dict) else None
        if isinstance(tool, dict):
            inner = tool.get("ini_options", tool)
            return inner if isinstance(inner, dict) else None
        own = found.get("pytest")
        return own if isinstance(own, dict) and not name.endswith("pyproject.toml") else None
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    section = "tool:pytest" if name.endswith(".cfg") else "pytest"
    return dict(parser.items(section)) if parser.has_section(section) else None


def addopts(name: str, text: str) -> list[str]:
    """The project's own addopts, as words, without those that measure, reorder, distribute, print reports or stop early."""
    value = (_section(name, text) or {}).get("addopts", "")
    try:
        words = [str(word) for word in value] if isinstance(value, list) else shlex.split(str(value), comments=True)
    except ValueError:  # a quote that is never closed
        words = str(value).split()
    kept: list[str] = []
    while words:
        word = words.pop(0)
        follows = words[0] if words and not words[0].startswith("-") else ""
        plugin = word == "-p" and follows in _PLUGINS
        if plugin or (word in _WITH_VALUE and follows):
            words.pop(0)
        elif not word.startswith(_DROPPED):
            kept.append(word)
    return kept
