import pytest

from claimflip.source.paths import is_source_path, is_test_module, is_test_path

TESTS = [
    "tests/test_core.py",
    "test/helpers.py",
    "tests/data/table.json",
    "tests/__init__.py",
    "pkg/tests/test_core.py",
    "src/pkg/test_core.py",
    "pkg/core_test.py",
    "pkg/tests.py",
    "conftest.py",
    "pkg/conftest.py",
    "testing/test_pluginmanager.py",
    "testing/benchmark_data.txt",
    "unit_tests/support.py",
    "tests-integration/run.py",
    "pkg/testdata/golden.txt",
    "Tests/core.py",
]
SOURCES = [
    "pkg/__init__.py",
    "pkg/core.py",
    "src/pkg/core.py",
    "parse.py",
    "pkg/testing.py",
    "pkg/testing/asserts.py",
    "pkg/test.py",
    "pkg/docs/build.py",
    "pkg/scripts/run.py",
    "pkg/latest.py",
    "contest/entry.py",
    "pkg/tasks.py",
]
NEITHER = [
    "setup.py",
    "sub/setup.py",
    "noxfile.py",
    "tasks.py",
    "docs/conf.py",
    "doc/make.py",
    "examples/demo.py",
    "typing-examples/baseline.py",
    "benchmarks/speed.py",
    "scripts/release.py",
    "tools/gen.py",
    "bin/run.py",
    ".github/check.py",
    "pkg/.hidden/x.py",
    "versioneer.py",
    "pkg/core.pyi",
    "pkg/data.json",
    "README.md",
    "pkg/core.pyx",
]


@pytest.mark.parametrize("path", TESTS)
def test_whatever_lies_in_a_test_folder_or_is_named_like_a_test_is_a_test(path: str) -> None:
    assert is_test_path(path)
    assert not is_source_path(path)


@pytest.mark.parametrize("path", SOURCES)
def test_a_package_module_is_source_even_where_its_name_reminds_of_a_test_or_script(path: str) -> None:
    assert is_source_path(path)
    assert not is_test_path(path)


@pytest.mark.parametrize("path", NEITHER)
def test_build_files_docs_scripts_stubs_and_data_are_neither(path: str) -> None:
    assert not is_source_path(path)
    assert not is_test_path(path)


def test_support_files_of_the_tests_are_no_test_modules() -> None:
    assert is_test_module("tests/test_core.py")
    assert not any(map(is_test_module, ["tests/helpers.py", "conftest.py", "tests/test_data.json", "pkg/test.py"]))


def test_a_projects_own_python_files_replace_the_default() -> None:
    assert is_test_module("tests/check_core.py", ["check_*.py"])
    assert not is_test_module("tests/test_core.py", ["check_*.py"])
    assert is_test_module("unit/core.py", ["unit/*.py"])
    assert not is_test_module("pkg/myunit/core.py", ["unit/*.py"])
