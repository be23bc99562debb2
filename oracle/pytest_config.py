"""The project's own pytest configuration, so that both sides of a change run under the parent's."""

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
_WITH_VALUE = ("-n", "--numprocesses", "--dist", "--maxfail", "--durations", "--timeout", "--reruns", "--tx", "--cov", "--cov-report", "--cov-config")
_DROPPED = (
    *_WITH_VALUE,
    *("-x", "--exitfirst", "--lf", "--ff", "--nf", "--sw", "--pdb", "--junit", "--benchmark", "--random", "--no-cov", "--flake", "--mypy", "--html"),
)


def of_parent(tree: Path, test_modules: Sequence[str]) -> tuple[str, str]:
    """The configuration file that pytest would take for these modules, under a name of ours in the same folder, so that both sides can be run with it.

    Returns the path below the tree and the text. The rule is pytest's: from the modules' common folder upwards, the first file with a section of its own.
    """
    common = os.path.commonpath([str(Path(module).parent) for module in test_modules]) if test_modules else ""
    for folder in (Path(common), *Path(common).parents):
        for name in _FILES:
            path = tree / folder / name
            text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
            if text is not None and _has_section(name, text):
                suffix = {"pytest.ini": ".ini", ".pytest.ini": ".ini", "tox.ini": ".ini", "setup.cfg": ".cfg"}.get(name, ".toml")
                return (folder / f".claimflip-pytest{suffix}").as_posix(), text
    return ".claimflip-pytest.ini", "[pytest]\n"


def _has_section(name: str, text: str) -> bool:
    if name.endswith("pytest.ini"):
        return True
    return _section(name, text) is not None


def _section(name: str, text: str) -> Mapping[str, Any] | None:
    """Pytest's own section of a configuration file, or ``None``."""
    if name.endswith(".toml"):
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            return None
        tool = found.get("tool", {}).get("pytest")
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
    words = iter([str(word) for word in value] if isinstance(value, list) else shlex.split(str(value), comments=True))
    kept: list[str] = []
    for word in words:
        if word in _WITH_VALUE and word != "--cov":
            next(words, None)
        elif not word.startswith(_DROPPED):
            kept.append(word)
    return kept
