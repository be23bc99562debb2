import ast
from pathlib import Path

import pytest

from claimflip.source.modules import Import, SourceTree


def tree(root: Path, **files: str | bytes) -> SourceTree:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return SourceTree(root)


@pytest.mark.parametrize(
    ("path", "name", "others"),
    [
        ("pkg/a.py", "pkg.a", ["pkg/__init__.py"]),
        ("pkg/__init__.py", "pkg", []),
        ("src/pkg/sub/a.py", "pkg.sub.a", ["src/pkg/__init__.py", "src/pkg/sub/__init__.py"]),
        ("lib/pkg/a.py", "pkg.a", ["lib/pkg/__init__.py"]),
        ("src/space/pkg/a.py", "space.pkg.a", ["src/space/pkg/__init__.py"]),
        ("space/pkg/a.py", "space.pkg.a", ["space/pkg/__init__.py"]),
        ("pkg/tests/test_a.py", "pkg.tests.test_a", ["pkg/__init__.py", "pkg/tests/__init__.py"]),
        ("six.py", "six", ["test_six.py"]),
        ("src/six.py", "six", ["test_six.py"]),
    ],
)
def test_a_file_is_the_module_that_its_layout_says_and_is_found_under_it(tmp_path, path, name, others):
    found = tree(tmp_path, **dict.fromkeys([path, *others], ""))
    assert found.module_name(path) == name
    assert found.locate(name) == path


def test_a_namespace_package_is_a_folder(tmp_path):
    found = tree(tmp_path, **{"src/space/pkg/__init__.py": ""})
    assert found.locate("space") == "src/space/"
    assert found.submodule("src/space/", "pkg") == "src/space/pkg/__init__.py"


def test_a_helper_beside_a_test_without_init_is_found_as_pytest_finds_it(tmp_path):
    found = tree(tmp_path, **{"tests/test_a.py": "", "tests/helper.py": "", "pkg/__init__.py": ""})
    assert found.locate("helper", importer="tests/test_a.py") == "tests/helper.py"
    assert found.locate("helper", importer="pkg/__init__.py") is None


def test_modules_outside_the_tree_are_not_found(tmp_path):
    assert tree(tmp_path, **{"pkg/__init__.py": ""}).locate("os.path") is None


def test_imports_of_a_module_leave_function_bodies_out_and_take_try_and_class_bodies_in(tmp_path):
    text = """
import pkg.a
import pkg.b as b
try:
    from pkg._fast import f
except ImportError:
    from pkg._slow import f as f
class TestA:
    from pkg import c
    def test(self):
        import pkg.inside
mod = importlib.import_module("pkg.d")
computed = importlib.import_module(name)
"""
    found = tree(tmp_path, **{"test_a.py": text})
    assert found.imports("test_a.py") == [
        Import(module="pkg.a", name="", bound="pkg"),
        Import(module="pkg.b", name="", bound="b"),
        Import(module="pkg._fast", name="f", bound="f"),
        Import(module="pkg._slow", name="f", bound="f"),
        Import(module="pkg", name="c", bound="c"),
        Import(module="pkg.d", name="", bound=""),
    ]
    function = next(node for node in ast.walk(found.read("test_a.py").tree) if isinstance(node, ast.FunctionDef))
    assert [each.module for each in found.imports_in("test_a.py", function)] == ["pkg.inside"]


def test_relative_imports_become_absolute(tmp_path):
    found = tree(
        tmp_path,
        **{
            "src/pkg/__init__.py": "from . import a\nfrom .b import c",
            "src/pkg/sub/__init__.py": "",
            "src/pkg/sub/m.py": "from ..b import x\nfrom . import n\nfrom ....gone import y",
        },
    )
    assert [each.module for each in found.imports("src/pkg/__init__.py")] == ["pkg", "pkg.b"]
    assert [each.module for each in found.imports("src/pkg/sub/m.py")] == ["pkg.b", "pkg.sub"]


def test_latin_1_crlf_broken_and_undecodable_files_are_read_or_noted(tmp_path):
    found = tree(
        tmp_path,
        **{
            "latin.py": b"# -*- coding: latin-1 -*-\nimport pkg\nNAME = '\xe9'\n",
            "crlf.py": b"import pkg\r\nX = 1\r\n",
            "broken.py": b"import pkg\ndef f(:\n",
            "binary.py": b"import pkg\nX = '\xff'\n",
            "null.py": b"import pkg\n\x00\n",
            "bom.py": b"\xef\xbb\xbfimport pkg\n",
        },
    )
    assert [[each.module for each in found.imports(path)] for path in ("latin.py", "crlf.py", "bom.py")] == [["pkg"]] * 3
    assert "\r" not in found.read("crlf.py").text
    for path in ("broken.py", "binary.py", "null.py"):
        assert found.imports(path) == []
        assert found.read(path).note


def test_a_link_that_leads_out_of_the_tree_is_no_module(tmp_path):
    (tmp_path / "outside.py").write_text("X = 1\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "pkg.py").symlink_to(tmp_path / "outside.py")
    (tmp_path / "tree" / "own.py").write_text("")
    (tmp_path / "tree" / "inside.py").symlink_to("own.py")
    assert SourceTree(tmp_path / "tree").files == {"own.py", "inside.py"}
