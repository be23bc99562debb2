import ast
from pathlib import Path

import pytest

from claimflip.source.definitions import Definitions
from claimflip.source.modules import SourceTree


def definitions(root: Path, files: dict[str, str | bytes]) -> Definitions:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Definitions(SourceTree(root))


PACKAGE = {
    "pkg/__init__.py": "from ._impl import make, Base as PublicBase\nfrom .star import *\nfrom . import sub\n",
    "pkg/_impl.py": """from .deep import leaf

def make():
    return 1

class Base:
    '''Doc.'''
    x = 1

    def __init__(self):
        pass

    @property
    def p(self):
        return 1

    @p.setter
    def p(self, v):
        pass

    def items(self):
        pass

    iteritems = items

    class Inner:
        def m(self):
            pass

Alias = Base
LIMIT = 3
LIMIT += 1
""",
    "pkg/deep.py": "def leaf():\n    pass\n",
    "pkg/star.py": "def shone(): pass\nfrom .deep import leaf\n",
    "pkg/sub.py": "class Child(Base2):\n    pass\nfrom ._impl import Base as Base2\n",
}


@pytest.mark.parametrize(
    ("line", "dotted", "name"),
    [
        ("from pkg import make", "make", "pkg._impl.make"),
        ("from pkg import make as m", "m", "pkg._impl.make"),
        ("import pkg", "pkg.make", "pkg._impl.make"),
        ("import pkg._impl as m", "m.make", "pkg._impl.make"),
        ("import pkg._impl", "pkg._impl.make", "pkg._impl.make"),
        ("from pkg import PublicBase", "PublicBase.Inner", "pkg._impl.Base.Inner"),
        ("from pkg._impl import Alias", "Alias.items", "pkg._impl.Base"),
        ("from pkg._impl import leaf", "leaf", "pkg.deep.leaf"),
        ("from pkg import *", "shone", "pkg.star.shone"),
        ("from pkg import leaf", "leaf", "pkg.deep.leaf"),
        ("from pkg import sub", "sub.Child", "pkg.sub.Child"),
        ("import importlib\nm = importlib.import_module('pkg.deep')", "m.leaf", "pkg.deep.leaf"),
        ("from pkg._impl import LIMIT\nMINE = LIMIT", "MINE", "pkg._impl.LIMIT"),
    ],
)
def test_a_name_in_a_test_leads_to_the_leaf_definition(tmp_path, line, dotted, name):
    found = definitions(tmp_path, {**PACKAGE, "tests/test_a.py": line}).resolve("tests/test_a.py", dotted)
    assert found.definition is not None
    assert found.definition.name == name


def test_a_re_exported_name_is_not_hidden_by_a_submodule_of_the_same_spelling(tmp_path):
    """Seen with griffe 2.4.1: ``natsort.natsort`` was the module and the function's change was never noticed."""
    found = definitions(tmp_path, {"natsort/__init__.py": "from .natsort import natsort", "natsort/natsort.py": "def natsort(): pass"}).lookup(
        "natsort.natsort"
    )
    assert found.definition is not None
    assert found.definition.path == "natsort/natsort.py"
    assert found.via == ("natsort/__init__.py", "natsort/natsort.py")


def test_names_from_outside_are_neither_found_nor_missing_and_removed_ones_are_missing(tmp_path):
    known = definitions(tmp_path, {**PACKAGE, "test_a.py": "import os\nimport pkg"})
    assert not known.resolve("test_a.py", "os.path").found
    assert not known.resolve("test_a.py", "os.path").missing
    assert known.resolve("test_a.py", "pkg.gone").missing


def test_a_class_is_its_header_and_class_level_statements_and_its_methods_stand_apart(tmp_path):
    known = definitions(tmp_path, PACKAGE)
    text = known.of_file("pkg/_impl.py")["Base"].text
    assert text == "class Base:\n'''Doc.'''\nx = 1\niteritems = items"
    assert known.of_file("pkg/_impl.py")["Base.p"].text.count("def p") == 2
    assert "@p.setter" in known.of_file("pkg/_impl.py")["Base.p"].text


def test_a_string_that_starts_in_column_zero_leaves_a_methods_text_parseable(tmp_path):
    known = definitions(tmp_path, {"pkg.py": "class A:\n    def f(self):\n        return '''\nleft\n'''\n"})
    text = known.of_file("pkg.py")["A.f"].text
    assert text == "def f(self):\n    return '''\nleft\n'''"
    assert ast.parse(text)


def test_an_augmented_or_conditional_definition_counts_with_all_its_parts(tmp_path):
    known = definitions(tmp_path, {**PACKAGE, "pkg/cond.py": "if X:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"})
    assert known.of_file("pkg/_impl.py")["LIMIT"].text == "LIMIT = 3\nLIMIT += 1"
    assert known.of_file("pkg/cond.py")["f"].text == "def f():\n    return 1\ndef f():\n    return 2"


def test_members_are_found_through_bases_in_pythons_order_and_through_aliases(tmp_path):
    known = definitions(
        tmp_path,
        {
            **PACKAGE,
            "d.py": "class A:\n    def m(self): pass\nclass B(A): pass\nclass C(A):\n    def m(self): pass\nclass D(B, C): pass\nclass Loop(Loop): pass\n",
        },
    )
    assert [each.qualname for each in known.mro(known.of_file("d.py")["D"])] == ["D", "B", "C", "A"]
    member = known.member(known.of_file("d.py")["D"], "m")
    assert member is not None
    assert member.qualname == "C.m"
    child = known.of_file("pkg/sub.py")["Child"]
    inherited = known.member(child, "iteritems")
    assert inherited is not None
    assert inherited.name == "pkg._impl.Base.items"
    assert [each.qualname for each in known.mro(known.of_file("d.py")["Loop"])] == ["Loop"]


def test_circular_imports_and_broken_files_end_in_nothing(tmp_path):
    known = definitions(tmp_path, {"a.py": "from b import x", "b.py": "from a import x", "c.py": "def f(:", "d.py": "x = x\ny = z\nz = y"})
    assert not known.lookup("a.x").found
    assert not known.lookup("c.f").found
    found = known.lookup("d.y").definition
    assert found is not None


def test_a_latin_1_module_has_definitions(tmp_path):
    known = definitions(tmp_path, {"pkg.py": b"# coding: latin-1\ndef f(): return '\xe9'\r\n"})
    found = known.lookup("pkg.f").definition
    assert found is not None
    assert found.text == "def f(): return 'é'"
