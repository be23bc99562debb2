"""An installed copy shadows the tree.

Where the package under test is also installed in the environment, by itself or as a dependency of one of its test tools, an import may take that copy: then
both sides run the same code and nothing ever flips. What is labelled must have been imported from the tree under test; where it was not, the change is
broken and says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle.environment import Environment, Environments

INSTALLED = "def name():\n    return 'installed'\n"
TESTS = """
    import importlib.metadata
    import pkg


    def test_name():
        assert pkg.name() == 'old'

    def test_kind():
        assert pkg.name() in ('old', 'new')

    def test_version():
        assert importlib.metadata.version('pkg') == '1.0'
"""
FROM_TREE = {"test_kind": "held", "test_name": "flipped", "test_version": "flipped"}


def source(name: str) -> str:
    return f"def name():\n    return {name!r}\n"


def project(version: str) -> str:
    return f'[project]\nname = "pkg"\nversion = "{version}"\n'


@pytest.fixture(scope="module")
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment in which a copy of the package is installed, once as a module and once as a package."""
    environments = Environments(tmp_path_factory.mktemp("environments"))
    environment = environments.build(*environments.lock([]))
    (installed,) = environment.python.parent.parent.glob("lib/python*/site-packages")
    (installed / "pkg.py").write_text(INSTALLED)
    (installed / "whole").mkdir()
    (installed / "whole" / "__init__.py").write_text(INSTALLED)
    (installed / "pkg-0.5.dist-info").mkdir()
    (installed / "pkg-0.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: pkg\nVersion: 0.5\n")
    return environment


@pytest.mark.parametrize("where", ["pkg.py", "pkg/__init__.py", "src/pkg.py", "src/pkg/__init__.py"])
def test_the_trees_code_and_version_are_tested_not_the_installed_ones(judge, where: str) -> None:
    parent = {where: source("old"), "tests/test_pkg.py": TESTS, "pyproject.toml": project("1.0")}
    child = {where: source("new"), "tests/test_pkg.py": "\n", "pyproject.toml": project("2.0")}
    assert judge(parent, child, runs=1).verdicts() == FROM_TREE


def test_tests_that_stand_in_the_package_take_the_tree_too(judge) -> None:
    tests = "import whole\n\n\ndef test_name():\n    assert whole.name() == 'old'\n"
    parent = {"whole/__init__.py": source("old"), "whole/tests/__init__.py": "", "whole/tests/test_whole.py": tests}
    child = {**parent, "whole/__init__.py": source("new"), "whole/tests/test_whole.py": "\n"}
    assert judge(parent, child, runs=1).verdicts() == {"test_name": "flipped"}


@pytest.mark.parametrize(
    "elsewhere",
    ["import sysconfig; sys.path.insert(0, sysconfig.get_paths()['purelib'])", "sys.path.insert(0, os.path.join(os.path.dirname(__file__), 'vendored'))"],
    ids=["installed", "vendored"],
)
def test_a_conftest_that_puts_another_copy_first_breaks_the_change(judge, elsewhere: str) -> None:
    files = {"tests/conftest.py": f"import os, sys\n{elsewhere}\n", "tests/vendored/pkg.py": source("old")}
    parent = {"pkg.py": source("old"), "tests/test_pkg.py": TESTS.replace("'old', 'new'", "'installed', 'old'"), **files}
    child = {"pkg.py": source("new"), "tests/test_pkg.py": "\n", **files}
    judged = judge(parent, child, runs=1)
    assert {(label.verdict, label.stage, label.reason) for label in judged.labels.values()} == {
        ("unknown", "change", "pkg was not imported from the tree under test")
    }
    assert len(judged.labels) == 3, "a broken change keeps its claims"


def test_an_installed_copy_does_not_stand_in_for_a_module_that_the_child_removed(judge) -> None:
    tests = "import pkg\n\n\ndef test_there():\n    assert pkg.name()\n"
    judged = judge({"pkg.py": source("old"), "tests/test_pkg.py": tests}, {"other.py": "", "tests/test_pkg.py": "\n"}, runs=1)
    assert judged.verdicts() == {"test_there": "unknown: pkg was not imported from the tree under test"}


@pytest.mark.parametrize(
    ("before", "after"), [("pkg.py", "src/pkg.py"), ("src/pkg.py", "pkg.py"), ("pkg.py", "pkg/__init__.py"), ("src/pkg/__init__.py", "pkg.py")]
)
def test_a_module_that_moved_within_the_tree_is_still_the_trees(judge, before: str, after: str) -> None:
    parent = {before: source("old"), "tests/test_pkg.py": TESTS, "pyproject.toml": project("1.0")}
    child = {after: source("new"), "tests/test_pkg.py": "\n", "pyproject.toml": project("2.0")}
    assert judge(parent, child, runs=1).verdicts() == FROM_TREE


def test_the_environment_holds_the_copy_that_these_tests_are_about(bare_environment: Environment) -> None:
    (copy,) = Path(bare_environment.python.parent.parent).glob("lib/python*/site-packages/pkg.py")
    assert copy.read_text() == INSTALLED
