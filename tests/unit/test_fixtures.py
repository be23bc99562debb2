import pytest
from small_change import small_change, write

from claimflip.source.definitions import Definitions
from claimflip.source.fixtures import Fixtures
from claimflip.source.modules import SourceTree

PROJECT = {
    "conftest.py": """
        import pytest

        @pytest.fixture
        def outer(): ...

        @pytest.fixture(autouse=True)
        def always(inner): ...

        @pytest.fixture
        def inner(): ...
    """,
    "tests/conftest.py": """
        import pytest
        from fixture_library import shared

        @pytest.fixture
        def outer(outer): ...

        @pytest.fixture(name="cr")
        def cr_fixture(outer): ...

        @pytest.fixture
        def unrelated(): ...
    """,
    "tests/fixture_library.py": """
        from pytest import fixture

        @fixture()
        def shared(): ...
    """,
    "tests/test_a.py": """
        import pytest

        @pytest.fixture
        def late(): ...

        @pytest.mark.usefixtures("marked")
        class TestA:
            @pytest.fixture
            def marked(self, shared): ...

            def setup_method(self): ...

            def test_renamed(self, cr): ...

            def test_nothing(self): ...

        def test_dynamic(request):
            request.getfixturevalue("late")

        def test_default(unrelated=1): ...
    """,
}


def names(tmp_path, claim, reported=()):
    given = small_change(tmp_path, PROJECT, {}, [claim], reported)
    found = Fixtures(Definitions(SourceTree(given.parent))).of_claim(next(iter(given.claims.values())))
    return [f"{fixture.definition.path}::{fixture.definition.qualname}" for fixture in found]


def test_a_renamed_fixture_is_found_by_its_name_with_all_that_it_asks_for(tmp_path):
    assert set(names(tmp_path, "tests/test_a.py::TestA::test_renamed")) == {
        "tests/conftest.py::cr_fixture",
        "tests/conftest.py::outer",
        "conftest.py::outer",
        "conftest.py::always",
        "conftest.py::inner",
        "tests/test_a.py::TestA.marked",
        "tests/fixture_library.py::shared",
        "tests/test_a.py::TestA.setup_method",
    }


def test_autouse_and_class_level_fixtures_count_for_a_test_that_asks_for_none(tmp_path):
    found = names(tmp_path, "tests/test_a.py::TestA::test_nothing")
    assert "conftest.py::always" in found
    assert "tests/test_a.py::TestA.marked" in found
    assert "tests/conftest.py::cr_fixture" not in found


def test_a_fixture_asked_for_by_a_literal_name_counts(tmp_path):
    assert "tests/test_a.py::late" in names(tmp_path, "tests/test_a.py::test_dynamic")


def test_a_parameter_with_a_default_asks_for_nothing(tmp_path):
    assert "tests/conftest.py::unrelated" not in names(tmp_path, "tests/test_a.py::test_default")


def test_what_pytest_reported_decides_between_two_fixtures_of_one_name(tmp_path):
    found = names(tmp_path, "tests/test_a.py::test_default", ["outer@conftest.py", "request@/site-packages/_pytest/fixtures.py"])
    assert found == ["conftest.py::outer"]


@pytest.mark.parametrize("text", ["@pytest.fixture(name=NAME)\ndef f(): ...\n", "def f(:\n", "x = 1\n"])
def test_odd_fixture_files_are_read_without_harm(tmp_path, text):
    root = write(tmp_path, {"conftest.py": text, "test_a.py": "def test_a(f): ...\n"})
    assert set(Fixtures(Definitions(SourceTree(root))).visible("test_a.py")) <= {"f"}
