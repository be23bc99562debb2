"""Which paths of a Python project are tests and which are its own source, judged by the path alone.

Paths are POSIX, below the tree's root. Source means Python modules (``.py``): what runs, and so what can falsify a claim. Type stubs
and package data are neither tests nor source; a step that changes nothing else is no candidate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

PYTHON_FILES = ("test_*.py", "*_test.py", "tests.py")
"""Pytest's default ``python_files``, and ``tests.py``, which pytest collects when it is named."""

_TEST_FOLDER = re.compile(r"(.*[-_])?tests?|tests?[-_].*|unittests|testsuites?|testdata", re.IGNORECASE)
# Beside the package these are no source; inside a package (botocore/docs) they may well be, so only the first folder counts.
_OUTSIDE = re.compile(
    r"(.*-)?(asv_bench|bench|benchmarks?|bin|build|ci|contrib|demos?|dist|docs?|documentation|examples?|fuzz|fuzzing|misc|notebooks|perf|samples?|scripts?"
    r"|tools?|tutorials?|venv)",
    re.IGNORECASE,
)
_BUILD_MODULE = re.compile(r"(conftest|distribute_setup|ez_setup|hatch_build|noxfile|setup|setupbase|toxfile|versioneer)\.py")
_ROOT_SCRIPT = re.compile(r"(bench|benchmark|bootstrap|build|conf|demo|dodo|examples?|fabfile|make|manage|pavement|publish|release|run_?tests|tasks|test)\.py")


def is_test_module(path: str, python_files: Sequence[str] = PYTHON_FILES) -> bool:
    """Whether tests are collected from the module, by its name; ``python_files`` are the project's own globs, as pytest reads them."""
    name = path.rpartition("/")[2]
    return name.endswith(".py") and any(fnmatchcase(f"/{path}" if "/" in glob else name, f"*/{glob}" if "/" in glob else glob) for glob in python_files)


def is_test_path(path: str) -> bool:
    """Whether the path belongs to the tests: anything in a test folder (helpers and data too), a test module by name, a ``conftest.py``.

    A folder called ``testing`` holds tests only at the top (as pluggy's); deeper it is a part of the package that helps others to test.
    """
    *folders, name = path.split("/")
    if name == "conftest.py" or is_test_module(path):
        return True
    return any(_TEST_FOLDER.fullmatch(folder) for folder in folders) or (bool(folders) and folders[0] == "testing")


def is_source_path(path: str) -> bool:
    """Whether the path is a Python module of the package itself: not a test, build file, script, doc, example or benchmark."""
    *folders, name = path.split("/")
    if not name.endswith(".py") or _BUILD_MODULE.fullmatch(name) or is_test_path(path):
        return False
    if any(folder.startswith(".") for folder in folders):
        return False
    return not (_OUTSIDE.fullmatch(folders[0]) if folders else _ROOT_SCRIPT.fullmatch(name))
