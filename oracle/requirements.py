"""What a project declares that it needs, at run time and for its tests, read from its own files without running any of them."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

TEST_GROUPS = ("test", "tests", "testing", "test-requires", "pytest")
DEVELOPMENT_GROUPS = ("dev", "develop", "development")
REQUIREMENT_FILES = (
    "*test*requirements*.txt",
    "requirements*test*.txt",
    "requirements/*test*.txt",
    "requirements/*test*.in",
    "tests/requirements*.txt",
    "test/requirements*.txt",
)
# tools that a `dev` group lists beside the test dependencies and that no test imports
TOOLS = re.compile(r"(mypy|pyright|ruff|flake8|black|isort|pylint|tox|nox|pre-commit|sphinx|furo|mkdocs|twine|build|wheel|bump|towncrier|docutils)")
# plugins that measure, reorder or distribute: a run must do none of it, and some import half the index when pytest starts
PLUGINS = re.compile(r"pytest[-_](cov|xdist|randomly|random-order|mypy|mypy-plugins|mypy-testing|pyright|flake8|black|ruff|sugar|html|checkdocs|enabler)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A project's declarations: its normalised name (empty where it has none), and its runtime and test requirements as written.

    ``entry_points`` is the text of an ``entry_points.txt``, empty where the project has none.
    """

    name: str
    version: str
    runtime: tuple[str, ...]
    test: tuple[str, ...]
    entry_points: str


def declared(tree: Path) -> Declared:
    """Read a tree's declarations: PKG-INFO, pyproject.toml (PEP 621, dependency groups, poetry, pdm), setup.cfg, egg-info, literals in setup.py,
    requirement files, tox.ini.

    Of optional dependencies and groups, those named for tests count; only where there are none do those for development, without linters and the like.
    """
    info = HeaderParser().parsestr(_text(tree / "PKG-INFO"))
    pyproject = _toml(tree / "pyproject.toml")
    setup = _ini(tree / "setup.cfg")
    project = _table(pyproject, "project")
    poetry = _table(pyproject, "tool", "poetry")
    name = info["Name"] or project.get("name") or poetry.get("name") or setup.get("metadata", "name", fallback="")
    groups = [*_groups(info, pyproject, setup), *_setuptools(tree)]
    runtime = [line for group, line in groups if group == ""]
    by_tests = [line for group, line in groups if group in TEST_GROUPS]
    files = sorted({path for pattern in REQUIREMENT_FILES for path in tree.glob(pattern)})
    by_tests += [line for path in files for line in _requirement_lines(_text(path))]
    by_tests += _requirement_lines(_ini(tree / "tox.ini").get("testenv", "deps", fallback=""))
    if not by_tests:
        by_tests = [line for group, line in groups if group in DEVELOPMENT_GROUPS and not TOOLS.match(line.lower())]
    own = canonicalize_name(str(name)) if name else ""
    version = info["Version"] or project.get("version") or poetry.get("version") or setup.get("metadata", "version", fallback="")
    return Declared(name=own, version=str(version), runtime=_kept(runtime, own), test=_kept(by_tests, own), entry_points=_entry_points(tree, project, setup))


def _kept(lines: Iterable[str], own: str) -> tuple[str, ...]:
    """The lines that are requirements of other projects, by name, without repetition."""
    kept: dict[str, None] = {}
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        name = canonicalize_name(requirement.name)
        if name != own and requirement.url is None and not PLUGINS.match(name):
            kept[str(requirement)] = None
    return tuple(kept)


def _groups(info: Message, pyproject: Mapping[str, Any], setup: configparser.ConfigParser) -> Iterator[tuple[str, str]]:
    """Pairs of group (empty: runtime) and requirement line from every place where they may stand."""
    for line in info.get_all("Requires-Dist") or []:
        base, _, marker = line.partition(";")
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)['"]""", marker)
        rest = re.sub(r"""\s*(and\s+)?\(?extra\s*==\s*['"][^'"]+['"]\)?(\s+and\s+)?""", "", marker).strip()
        yield canonicalize_name(extra[1]) if extra else "", f"{base.strip()} ; {rest}" if rest else base.strip()
    project = _table(pyproject, "project")
    yield from (("", line) for line in _strings(project.get("dependencies")))
    optional, grouped = _table(project, "optional-dependencies"), _table(pyproject, "dependency-groups")
    for table in (optional, grouped, _table(pyproject, "tool", "pdm", "dev-dependencies")):
        yield from ((canonicalize_name(group), line) for group in table for line in _expanded(table, group, set()))
    poetry = _table(pyproject, "tool", "poetry")
    yield from (("", line) for line in _poetry(_table(poetry, "dependencies")))
    yield from (("dev", line) for line in _poetry(_table(poetry, "dev-dependencies")))
    for group, table in _table(poetry, "group").items():
        yield from ((canonicalize_name(group), line) for line in _poetry(_table(table, "dependencies")))
    yield from (("", line) for line in _requirement_lines(setup.get("options", "install_requires", fallback="")))
    yield from (("test", line) for line in _requirement_lines(setup.get("options", "tests_require", fallback="")))
    if setup.has_section("options.extras_require"):
        for group, text in setup.items("options.extras_require"):
            yield from ((canonicalize_name(group), line) for line in _requirement_lines(text))


def _entry_points(tree: Path, project: Mapping[str, Any], setup: configparser.ConfigParser) -> str:
    """What an archive's egg-info says, else what pyproject.toml or setup.cfg declare."""
    for path in sorted(tree.glob("*.egg-info/entry_points.txt")) + sorted(tree.glob("src/*.egg-info/entry_points.txt")):
        return _text(path)
    groups = {"console_scripts": _table(project, "scripts"), "gui_scripts": _table(project, "gui-scripts"), **_table(project, "entry-points")}
    lines = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items()) for group, points in groups.items() if points]
    if not lines and setup.has_section("options.entry_points"):
        lines = [f"[{group}]\n{text.strip()}\n" for group, text in setup.items("options.entry_points")]
    return "\n".join(lines)


def _setuptools(tree: Path) -> Iterator[tuple[str, str]]:
    """Pairs of group and requirement line of projects that declare in ``setup.py``: its literal keywords, and what an archive's egg-info says of them."""
    for path in sorted(tree.glob("*.egg-info/requires.txt")) + sorted(tree.glob("src/*.egg-info/requires.txt")):
        group, marker = "", ""
        for line in _requirement_lines(_text(path)):
            if line.startswith("["):
                group, _, marker = line.strip("[]").partition(":")
            else:
                yield canonicalize_name(group) if group else "", f"{line} ; {marker}" if marker else line
    try:
        calls = [node for node in ast.walk(ast.parse(_text(tree / "setup.py"))) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        return
    for keyword in (keyword for call in calls for keyword in call.keywords):
        if keyword.arg not in ("install_requires", "tests_require", "extras_require"):
            continue
        try:
            value = ast.literal_eval(keyword.value)
        except ValueError:
            continue  # computed when setup.py runs, which it must not
        named = value if isinstance(value, dict) else {"test" if keyword.arg == "tests_require" else "": value}
        yield from ((canonicalize_name(str(group)) if group else "", line) for group, lines in named.items() for line in _strings(lines))


def _expanded(table: Mapping[str, Any], group: str, seen: set[str]) -> Iterator[str]:
    """A group's lines with groups that it includes (``{include-group = …}``, ``own[extra]``) written out."""
    if group in seen:
        return
    seen.add(group)
    entries = table.get(group)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            included = canonicalize_name(str(entry.get("include-group", "")))
            yield from (line for other in table if canonicalize_name(other) == included for line in _expanded(table, other, seen))
        elif isinstance(entry, str):
            yield entry
            extras = re.match(r"[\w.-]+\[([\w.,\s-]+)\]$", entry.strip())
            names = {canonicalize_name(part.strip()) for part in extras[1].split(",")} if extras else set()
            yield from (line for other in table if canonicalize_name(other) in names for line in _expanded(table, other, seen))


def _poetry(table: Mapping[str, Any]) -> Iterator[str]:
    """Poetry's table as requirement names; its caret versions are no PEP 440, and the resolution's date bounds them anyway."""
    for name, value in table.items():
        optional = isinstance(value, dict) and value.get("optional")
        if name != "python" and not optional:
            yield name


def _requirement_lines(text: str) -> list[str]:
    """Requirement lines of a requirements file, without comments, options and includes; tox's ``factor: requirement`` is unpacked."""
    lines = (re.split(r"\s#|^#", line, maxsplit=1)[0].strip() for line in text.splitlines())
    unpacked = (re.sub(r"^[\w,{}!-]+:\s+", "", line) for line in lines)
    return [line for line in unpacked if line and not line.startswith(("-", "."))]


def _strings(value: Any) -> list[str]:
    return [line for line in value if isinstance(line, str)] if isinstance(value, list | tuple) else []


def _table(found: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def _ini(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(path))
    except configparser.Error:
        return configparser.ConfigParser()
    return parser
