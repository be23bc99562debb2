import ast

import pytest
from synthetic import a_change

from claimflip.protocols import CollectedTest
from claimflip.records import claim_id
from mining.claims import claims_of, touched_test_modules


def _change(*test_files):
    return a_change(change_id="f" * 16, source_files=("lib.py",), test_files=test_files)


def _item(nodeid, line, *, case="", qualname=None, file=None, fixtures=()):
    path, *names = nodeid.split("::")
    return CollectedTest(nodeid=nodeid + case, case=case, file=file or path, line=line, qualname=qualname or ".".join(names), fixtures=fixtures)


def _claim(tree, item):
    claims, reasons = claims_of(_change(), [item], tree)
    assert reasons == {}
    return claims[0]


def test_cases_of_one_function_are_one_claim_in_collection_order(tmp_path):
    (tmp_path / "test_x.py").write_text("class TestA:\n    def test_b(self, a):\n        assert a\n")
    cases = ["[z]", "[a::b]", "[x[1]-y]", "[]"]
    items = [_item("test_x.py::TestA::test_b", 2, case=case) for case in cases]
    (claim,), reasons = claims_of(_change(), items, tmp_path)
    assert reasons == {}
    assert claim.nodeid == "test_x.py::TestA::test_b"
    assert (claim.path, claim.qualname, claim.cases) == ("test_x.py", "TestA.test_b", tuple(cases))
    assert claim.claim_id == claim_id("f" * 16, claim.nodeid, claim.text)


def test_text_is_decorators_and_function_dedented_as_written(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "class TestA:\n    class TestIn:\n        # before\n        @mark.one\n        @mark.two(\n            1,\n        )\n"
        "        async def test_b(self):  # why\n            assert 1  # so\n\n            assert  2\n        # after\n"
    )
    claim = _claim(tmp_path, _item("test_x.py::TestA::TestIn::test_b", 4))
    assert claim.text == "@mark.one\n@mark.two(\n    1,\n)\nasync def test_b(self):  # why\n    assert 1  # so\n\n    assert  2"
    assert claim.defined_in == "test_x.py::TestA.TestIn.test_b"


def test_string_in_column_zero_leaves_the_claim_parseable(tmp_path):
    (tmp_path / "test_x.py").write_text('class TestA:\n    def test_b(self):\n        assert f() == """\nleft\n"""\n')
    text = _claim(tmp_path, _item("test_x.py::TestA::test_b", 2)).text
    assert text == 'def test_b(self):\n    assert f() == """\nleft\n"""'
    assert ast.parse(text)


def test_line_decides_between_definitions_of_one_name(tmp_path):
    (tmp_path / "test_x.py").write_text("if FAST:\n    def test_a():\n        assert 1\nelse:\n    def test_a():\n        assert 2\n")
    assert _claim(tmp_path, _item("test_x.py::test_a", 2)).text.endswith("assert 1")
    assert _claim(tmp_path, _item("test_x.py::test_a", 5)).text.endswith("assert 2")
    claims, reasons = claims_of(_change(), [_item("test_x.py::test_a", 99)], tmp_path)
    assert claims == []
    assert "more than one def of test_a" in reasons["test_x.py::test_a"]


def test_decorator_that_hides_the_function_does_not_put_the_wrapper_in_its_place(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "def retried(function):\n    def again(*args):\n        return function(*args)\n    return again\n\n\n@retried\ndef test_a():\n    assert 1\n"
    )
    claim = _claim(tmp_path, _item("test_x.py::test_a", 2, qualname="retried.<locals>.again"))
    assert claim.text == "@retried\ndef test_a():\n    assert 1"
    assert claim.defined_in == "test_x.py::test_a"


def test_function_from_a_factory_has_the_text_of_what_runs(tmp_path):
    (tmp_path / "factory.py").write_text("def make(n):\n    def check():\n        assert n\n    return check\n")
    (tmp_path / "test_x.py").write_text("from factory import make\ntest_a = make(1)\n")
    claim = _claim(tmp_path, _item("test_x.py::test_a", 2, qualname="make.<locals>.check", file="factory.py"))
    assert claim.text == "def check():\n    assert n"
    assert claim.defined_in == "factory.py::make.<locals>.check"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# -*- coding: latin-1 -*-\ndef test_a():\n    assert 'é'\n".encode("latin-1"), "def test_a():\n    assert 'é'"),
        (b"\xef\xbb\xbf# bom\r\ndef test_a():\r\n    assert 1\r\n", "def test_a():\n    assert 1"),
        (b"#\x0c page\ndef test_a():\n    assert 'a\x0cb'\n", "def test_a():\n    assert 'a\x0cb'"),
    ],
    ids=["latin-1", "bom-crlf", "form-feed"],
)
def test_odd_sources_are_read_as_python_reads_them(tmp_path, source, expected):
    (tmp_path / "test_x.py").write_bytes(source)
    assert _claim(tmp_path, _item("test_x.py::test_a", 2)).text == expected


def test_unreadable_source_is_a_reason_for_each_of_its_functions_and_stops_nothing(tmp_path):
    (tmp_path / "test_x.py").write_bytes(b"def test_a(:\n")
    (tmp_path / "test_y.py").write_text("def test_b():\n    pass\n")
    items = [_item("test_x.py::test_a", 1), _item("test_y.py::test_b", 1), _item("test_z.py::test_c", 1), _item("test_y.py::test_d", 1, file="<string>")]
    claims, reasons = claims_of(_change(), items, tmp_path)
    assert [claim.nodeid for claim in claims] == ["test_y.py::test_b"]
    assert reasons == {
        "test_x.py::test_a": "no text: test_x.py cannot be read as Python (SyntaxError)",
        "test_y.py::test_d": "no text: <string> cannot be read as Python (FileNotFoundError)",
        "test_z.py::test_c": "no text: test_z.py cannot be read as Python (FileNotFoundError)",
    }


def test_fixtures_are_named_with_their_files_and_no_path_of_this_machine(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_a(box, tmp_path):\n    pass\n")
    fixtures = (("tmp_path", "/opt/venv/lib/python3.11/site-packages/_pytest/tmpdir.py"), ("box", str(tmp_path / "conftest.py")), ("odd", "/usr/lib/odd.py"))
    claim = _claim(tmp_path, _item("test_x.py::test_a", 1, fixtures=fixtures))
    assert claim.fixtures == ("box@conftest.py", "odd@odd.py", "tmp_path@site-packages/_pytest/tmpdir.py")


def test_claims_do_not_depend_on_the_order_of_collection(tmp_path):
    (tmp_path / "test_x.py").write_text("def test_b():\n    pass\n\n\ndef test_a():\n    pass\n")
    items = [_item("test_x.py::test_b", 1), _item("test_x.py::test_a", 5)]
    assert claims_of(_change(), items, tmp_path) == claims_of(_change(), items[::-1], tmp_path)


def test_touched_test_modules_are_those_that_the_parent_has(tmp_path):
    for name in ("tests/test_a.py", "tests/conftest.py", "tests/helper.py", "tests/data.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    change = _change("tests/conftest.py", "tests/data.txt", "tests/helper.py", "tests/test_a.py", "tests/test_new.py")
    assert touched_test_modules(change, tmp_path) == ["tests/test_a.py"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\npython_files = check_*.py\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'),
        ("pyproject.toml", '[tool.pytest.ini_options]\npython_files = "check_*.py other_*.py"\n'),
        ("tox.ini", "[pytest]\npython_files =\n    check_*.py\n"),
        ("setup.cfg", "[tool:pytest]\npython_files=check_*.py\n"),
    ],
)
def test_projects_own_pattern_for_test_modules_is_honoured(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    for file in ("check_a.py", "test_a.py"):
        (tmp_path / file).write_text("")
    assert touched_test_modules(_change("check_a.py", "test_a.py"), tmp_path) == ["check_a.py"]


def test_broken_or_silent_configuration_leaves_the_default(tmp_path):
    (tmp_path / "test_a.py").write_text("")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest\n")
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = x\n")
    assert touched_test_modules(_change("test_a.py"), tmp_path) == ["test_a.py"]
    # pytest reads the first file that configures it and no other
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q\n")
    (tmp_path / "tox.ini").write_text("[pytest]\npython_files = check_*.py\n")
    assert touched_test_modules(_change("test_a.py"), tmp_path) == ["test_a.py"]
