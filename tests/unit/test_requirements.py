"""What a project needs, from each place where it may say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import write_tree

from oracle.requirements import declared

INFO = """
    Metadata-Version: 2.1
    Name: My.Project
    Version: 1.2
    Requires-Dist: six>=1.10
    Requires-Dist: tomli ; python_version < "3.11"
    Requires-Dist: pytest ; extra == 'test'
    Requires-Dist: freezegun (>=1) ; (python_version >= "3.8") and extra == 'test'
    Requires-Dist: furo ; extra == 'docs'
"""


@pytest.mark.parametrize(
    ("files", "runtime", "test"),
    [
        ({"PKG-INFO": INFO}, ["six>=1.10", 'tomli; python_version < "3.11"'], ["pytest", 'freezegun>=1; python_version >= "3.8"']),
        (
            {"pyproject.toml": "[project]\nname = 'x'\ndependencies = ['six']\noptional-dependencies = {Tests = ['pytest', 'mock'], docs = ['furo']}\n"},
            ["six"],
            ["pytest", "mock"],
        ),
        (
            {"pyproject.toml": "[dependency-groups]\ntests = ['pytest', {include-group = 'shared_things'}]\nshared-things = ['mock']\nlint = ['ruff']\n"},
            [],
            ["pytest", "mock"],
        ),
        (
            {"pyproject.toml": "[dependency-groups]\ntest = [{include-group = 'tests'}]\ntests = [{include-group = 'test'}, 'mock']\n"},
            [],
            ["mock"],
        ),
        (
            {
                "pyproject.toml": """
                    [project]
                    name = "own"
                    [project.optional-dependencies]
                    tests = ["own[more]", "pytest"]
                    more = ["mock"]
                    dev = ["own[tests]", "black"]
                """
            },
            [],
            ["mock", "pytest"],
        ),
        (
            {"pyproject.toml": "[project]\nname = 'own'\n[project.optional-dependencies]\ndev = ['black', 'mock', 'pre-commit', 'Sphinx']\n"},
            [],
            ["mock"],
        ),
        (
            {
                "pyproject.toml": """
                    [tool.poetry]
                    name = "x"
                    version = "2"
                    [tool.poetry.dependencies]
                    python = "^3.8"
                    six = "^1.10"
                    lxml = {version = "*", optional = true}
                    [tool.poetry.group.test.dependencies]
                    pytest = "^7"
                    [tool.poetry.group.docs.dependencies]
                    furo = "*"
                """
            },
            ["six"],
            ["pytest"],
        ),
        ({"pyproject.toml": "[tool.poetry.dev-dependencies]\nmock = '*'\nblack = '*'\n"}, [], ["mock"]),
        ({"pyproject.toml": "[tool.pdm.dev-dependencies]\ntest = ['pytest', 'mock']\nlint = ['ruff']\n"}, [], ["pytest", "mock"]),
        (
            {"setup.cfg": "[metadata]\nname = x\n[options]\ninstall_requires =\n  six\n[options.extras_require]\ntest =\n  pytest\n  mock\ndocs = furo\n"},
            ["six"],
            ["pytest", "mock"],
        ),
        ({"setup.cfg": "[options]\ntests_require =\n  pytest\n  mock\n"}, [], ["pytest", "mock"]),
        (
            {"test-requirements.txt": "mock  # says why\n-r other.txt\n./here\n# none\nhttps://host/x.whl\nsix==1.0 ; python_version > '3'\n"},
            [],
            ["mock", 'six==1.0; python_version > "3"'],
        ),
        ({"requirements-test.txt": "mock\n"}, [], ["mock"]),
        ({"requirements/tests.txt": "mock\n", "requirements/docs.txt": "furo\n"}, [], ["mock"]),
        ({"tests/requirements.txt": "mock\n"}, [], ["mock"]),
        ({"tox.ini": "[testenv]\ndeps =\n  pytest\n  py38,py39: mock\n  !win: six\n  -r{toxinidir}/x.txt\n"}, [], ["pytest", "mock", "six"]),
        ({"test-requirements.txt": "pytest-cov\npytest_xdist\npytest-mock\n"}, [], ["pytest-mock"]),
        ({"pyproject.toml": "[project\n", "setup.cfg": "broken\n", "tox.ini": "[", "PKG-INFO": ""}, [], []),
        ({}, [], []),
    ],
    ids=[
        *("PKG-INFO", "PEP 621", "dependency groups", "groups in a circle", "own extras", "development without tools", "poetry", "old poetry", "pdm"),
        *(
            "setup.cfg",
            "tests_require",
            "requirements",
            "requirements-test",
            "requirements folder",
            "in tests",
            "tox",
            "plugins that measure",
            "broken",
            "nothing",
        ),
    ],
)
def test_a_declaration_is_found_where_it_stands(tmp_path: Path, files: dict[str, str], runtime: list[str], test: list[str]) -> None:
    found = declared(write_tree(tmp_path, files))
    assert list(found.runtime) == runtime
    assert sorted(found.test) == sorted(test)


def test_name_and_version_are_the_distributions_own(tmp_path: Path) -> None:
    files = {"PKG-INFO": INFO, "pyproject.toml": "[project]\nname = 'other'\nversion = '0'\n"}
    found = declared(write_tree(tmp_path, files))
    assert (found.name, found.version) == ("my-project", "1.2")


def test_a_project_never_needs_itself(tmp_path: Path) -> None:
    found = declared(write_tree(tmp_path, {"PKG-INFO": INFO, "test-requirements.txt": "my_project[all]\nmock\n"}))
    assert "mock" in found.test
    assert not [line for line in found.test if "project" in line]


def test_test_groups_are_taken_before_those_for_development(tmp_path: Path) -> None:
    toml = "[dependency-groups]\ndev = ['mock', {include-group = 'test'}]\ntest = ['pytest']\n"
    assert declared(write_tree(tmp_path, {"pyproject.toml": toml})).test == ("pytest",)
