import pytest
from small_change import answers, small_change

from arms.constant import Always, Never
from arms.file_anchoring import FileAnchoring
from arms.symbol_anchoring import SymbolAnchoring
from claimflip.protocols import Arm

PACKAGE = {
    "pkg/__init__.py": "from pkg._impl import make, Box\nfrom . import other\nVERSION = '1'\n",
    "pkg/_impl.py": """
        from pkg.deep import helper

        def make():
            return helper()

        class Base:
            def inherited(self):
                return 1

        class Box(Base):
            size = 1

            def __init__(self):
                self.made = make()

            def open(self):
                return 1

            def close(self):
                return 1

            shut = close

        class Unrelated:
            def __init__(self):
                pass

            def open(self):
                return 1
    """,
    "pkg/deep.py": "def helper():\n    return 1\n",
    "pkg/other.py": "LIMIT = 3\ndef f():\n    return LIMIT\n",
}


def edited(path, old, new):
    assert old in PACKAGE[path]
    return {path: PACKAGE[path].replace(old, new)}


def verdict(arm, tmp_path, test, change, claim="tests/test_a.py::test_a", fixtures=(), **more):
    files = {**PACKAGE, "tests/test_a.py": test, **more}
    (prediction,) = answers(arm, small_change(tmp_path, files, change, [claim], fixtures))
    assert prediction.why
    return prediction.verdict


@pytest.mark.parametrize(("arm", "said"), [(Always(), "flipped"), (Never(), "held")])
def test_constant_arms_say_one_thing(tmp_path, arm, said):
    assert verdict(arm, tmp_path, "def test_a(): pass\n", {}) == said


@pytest.mark.parametrize("arm", [Always(), Never(), FileAnchoring(), SymbolAnchoring()])
def test_every_arm_fits_the_seam(arm):
    assert isinstance(arm, Arm)


TOUCHED = {
    "impl": edited("pkg/_impl.py", "def make", "# new\n        def make"),
    "deep": edited("pkg/deep.py", "return 1", "return 2"),
    "package": edited("pkg/__init__.py", "'1'", "'2'"),
    "other": edited("pkg/other.py", "3", "4"),
}


@pytest.mark.parametrize(
    ("test", "touched", "said"),
    [
        ("from pkg.other import f\ndef test_a(): pass\n", "other", "flipped"),
        ("from pkg.other import f\ndef test_a(): pass\n", "impl", "held"),
        ("from pkg.other import f\ndef test_a(): pass\n", "package", "held"),  # a package on the way is not imported by name
        ("from pkg import other\ndef test_a(): pass\n", "other", "flipped"),
        ("from pkg import make\ndef test_a(): pass\n", "package", "flipped"),
        ("from pkg import make\ndef test_a(): pass\n", "impl", "flipped"),  # re-exported
        ("from pkg import VERSION\ndef test_a(): pass\n", "impl", "held"),
        ("import pkg\ndef test_a():\n    pkg.make()\n", "impl", "flipped"),
        ("from pkg import *\ndef test_a():\n    make()\n", "impl", "flipped"),
        ("from pkg import make\ndef test_a(): pass\n", "deep", "held"),  # the source's own imports are not followed
        ("def test_a():\n    import pkg.other\n", "other", "flipped"),
        ("def test_a(): pass\ndef test_b():\n    import pkg.other\n", "other", "held"),
        ("import importlib\ndef test_a():\n    importlib.import_module('pkg.other')\n", "other", "flipped"),
        ("try:\n    from pkg.other import f\nexcept ImportError:\n    f = None\ndef test_a(): pass\n", "other", "flipped"),
        ("from .helper import x\ndef test_a(): pass\n", "other", "flipped"),
        ("def test_a(: pass\n", "other", "held"),
    ],
)
def test_file_anchoring_fires_on_touched_modules_that_the_tests_import(tmp_path, test, touched, said):
    more = {"tests/__init__.py": "", "tests/helper.py": "import pkg.other\nx = 1\n"}
    parseable = "(: pass" not in test
    claim = "tests/test_a.py::test_a" if parseable else ("tests/test_a.py::test_a", "tests/test_b.py::test_a")
    assert verdict(FileAnchoring(), tmp_path, test, TOUCHED[touched], claim, **more, **{"tests/test_b.py": "def test_a(): pass\n"}) == said


def test_file_anchoring_without_reexports_stops_at_the_module_that_is_named(tmp_path):
    test = "from pkg import make\ndef test_a(): pass\n"
    assert verdict(FileAnchoring(follow_reexports=False), tmp_path, test, TOUCHED["impl"]) == "held"
    assert verdict(FileAnchoring(follow_reexports=False), tmp_path, test, TOUCHED["package"]) == "flipped"


def test_file_anchoring_counts_conftest_and_the_imports_inside_used_fixtures(tmp_path):
    test = "def test_a(f): pass\n"
    assert verdict(FileAnchoring(), tmp_path, test, TOUCHED["other"], **{"conftest.py": "import pkg.other\n"}) == "flipped"
    conftest = "import pytest\n@pytest.fixture\ndef {}():\n    import pkg.other\n"
    assert verdict(FileAnchoring(), tmp_path / "used", test, TOUCHED["other"], **{"conftest.py": conftest.format("f")}) == "flipped"
    assert verdict(FileAnchoring(), tmp_path / "unused", test, TOUCHED["other"], **{"conftest.py": conftest.format("g")}) == "held"


CHANGED = {
    "make": edited("pkg/_impl.py", "return helper()", "return helper() + 1"),
    "header": edited("pkg/_impl.py", "class Box(Base)", "class Box(Base, object)"),
    "statement": edited("pkg/_impl.py", "size = 1", "size = 2"),
    "init": edited("pkg/_impl.py", "self.made = make()", "self.made = 0"),
    "open": edited(
        "pkg/_impl.py",
        "def open(self):\n                return 1\n\n            def close",
        "def open(self):\n                return 2\n\n            def close",
    ),
    "close": edited("pkg/_impl.py", "def close(self):\n                return 1", "def close(self):\n                return 2"),
    "inherited": edited("pkg/_impl.py", "def inherited(self):\n                return 1", "def inherited(self):\n                return 2"),
    "unrelated": edited("pkg/_impl.py", "def __init__(self):\n                pass", "def __init__(self):\n                self.x = 1"),
    "helper": edited("pkg/deep.py", "return 1", "return 2"),
    "constant": edited("pkg/other.py", "3", "4"),
    "gone": {"pkg/other.py": "def f():\n    return 3\n"},
    "comment": edited("pkg/_impl.py", "from pkg.deep", "# a comment\n        from pkg.deep"),
    "crlf": {"pkg/other.py": PACKAGE["pkg/other.py"].replace("\n", "\r\n").encode()},
    "moved": {
        "pkg/_impl.py": "from pkg.moved import *\n",
        "pkg/moved.py": PACKAGE["pkg/_impl.py"],
        "pkg/__init__.py": "from pkg.moved import make, Box\nfrom . import other\n",
    },
    "module gone": {"pkg/other.py": None},
}
BOX = "from pkg import Box\ndef test_a():\n    Box().open()\n"


@pytest.mark.parametrize(
    ("test", "changed", "said"),
    [
        ("from pkg import make\ndef test_a():\n    make()\n", "make", "flipped"),
        ("import pkg._impl as m\ndef test_a():\n    m.make()\n", "make", "flipped"),
        ("def test_a():\n    from pkg import make as f\n    f()\n", "make", "flipped"),
        ("import importlib\ndef test_a():\n    m = importlib.import_module('pkg._impl')\n    m.make()\n", "make", "flipped"),
        ("from pkg import make\ndef test_a():\n    make()\n", "helper", "held"),  # direct references only
        ("from pkg import make\ndef test_a():\n    make()\n", "comment", "held"),
        ("from pkg import make\ndef test_a():\n    make()\n", "moved", "held"),
        ("from pkg import make\ndef test_a(make):\n    make()\n", "make", "held"),  # the parameter is not the import
        ("from pkg import make\ndef test_a():\n    pass\n", "make", "held"),  # imported, never named
        (BOX, "header", "flipped"),
        (BOX, "statement", "flipped"),
        (BOX, "init", "flipped"),
        (BOX, "open", "flipped"),
        (BOX, "close", "held"),  # a method that the claim does not name
        (BOX, "inherited", "held"),
        (BOX, "unrelated", "held"),
        (BOX.replace("open", "inherited"), "inherited", "flipped"),
        (BOX.replace("open", "shut"), "close", "flipped"),  # shut = close
        ("from pkg.other import LIMIT\ndef test_a():\n    assert LIMIT\n", "constant", "flipped"),
        ("from pkg.other import LIMIT\ndef test_a():\n    assert LIMIT\n", "gone", "flipped"),
        ("from pkg.other import f\ndef test_a():\n    f()\n", "constant", "held"),
        ("from pkg.other import f\ndef test_a():\n    f()\n", "crlf", "held"),
        ("from pkg import other\ndef test_a():\n    other.f()\n", "module gone", "flipped"),
        ("import pkg.other\nCASES = [pkg.other.LIMIT]\n@mark(CASES)\ndef test_a(): pass\n", "constant", "flipped"),  # a test module's value
        ("from pkg import Box\nclass Mine(Box): pass\ndef test_a():\n    Mine().open()\n", "open", "flipped"),  # a test's own subclass
        ("from pkg import Box\nclass Mine(Box): pass\ndef test_a():\n    Mine().open()\n", "close", "held"),
    ],
)
def test_symbol_anchoring_fires_on_changed_definitions_that_the_claim_references(tmp_path, test, changed, said):
    assert verdict(SymbolAnchoring(), tmp_path, test, CHANGED[changed]) == said


FIXTURES = """
    import pytest
    from pkg import make, Box

    @pytest.fixture(name="cr")
    def renamed(inner): ...

    @pytest.fixture
    def inner():
        return Box()
"""


@pytest.mark.parametrize("reported", [(), ("cr@tests/conftest.py", "inner@tests/conftest.py")])
@pytest.mark.parametrize(("changed", "said"), [("open", "flipped"), ("init", "flipped"), ("close", "held"), ("make", "held")])
def test_symbol_anchoring_sees_the_class_behind_a_renamed_transitive_fixture(tmp_path, changed, said, reported):
    """structlog's flips were all lost to this in the paper's first A4: ``def test_x(self, cr)`` never names the class."""
    test = "def test_a(cr):\n    cr.open()\n"
    assert verdict(SymbolAnchoring(), tmp_path, test, CHANGED[changed], fixtures=reported, **{"tests/conftest.py": FIXTURES}) == said


def test_symbol_anchoring_sees_what_set_up_builds(tmp_path):
    test = "from pkg import Box\nclass TestA:\n    def setUp(self):\n        self.box = Box()\n    def test_a(self):\n        self.box.open()\n"
    assert verdict(SymbolAnchoring(), tmp_path, test, CHANGED["open"], "tests/test_a.py::TestA::test_a") == "flipped"
    assert verdict(SymbolAnchoring(), tmp_path / "other", test, CHANGED["close"], "tests/test_a.py::TestA::test_a") == "held"


@pytest.mark.parametrize(("changed", "said"), [("open", "flipped"), ("close", "held"), ("constant", "held")])
def test_an_inherited_test_references_what_its_subclass_sets(tmp_path, changed, said):
    more = {
        "tests/__init__.py": "",
        "tests/base.py": "class Mixin:\n    cls = None\n    def test_a(self):\n        self.cls().open()\n",
    }
    test = "from pkg import Box, other\nfrom .base import Mixin\nclass TestBox(Mixin):\n    cls = Box\nclass TestOther(Mixin):\n    cls = other.LIMIT\n"
    claim = ("tests/test_a.py::TestBox::test_a", "tests/base.py::Mixin.test_a")
    assert verdict(SymbolAnchoring(), tmp_path, test, CHANGED[changed], claim, **more) == said


def test_a_static_method_in_the_test_class_is_a_reference(tmp_path):
    test = "from pkg import make\nclass TestA:\n    factory = staticmethod(make)\n    def test_a(self):\n        self.factory()\n"
    assert verdict(SymbolAnchoring(), tmp_path, test, CHANGED["make"], "tests/test_a.py::TestA::test_a") == "flipped"


@pytest.mark.parametrize(("follow", "said"), [(False, "held"), (True, "flipped")])
def test_helpers_of_the_tests_are_read_only_when_asked_for(tmp_path, follow, said):
    test = "from pkg import make\ndef build():\n    return make()\ndef test_a():\n    build()\n"
    assert verdict(SymbolAnchoring(follow_helpers=follow), tmp_path, test, CHANGED["make"]) == said


@pytest.mark.parametrize(("part", "said"), [("return 1", "flipped"), ("# fixture", "flipped"), ("# elsewhere", "held")])
def test_a_fixture_and_an_inherited_test_that_stand_in_the_source_are_references_themselves(tmp_path, part, said):
    plugin = (
        "import pytest\n@pytest.fixture\ndef box():\n    # fixture\n    yield\nclass Suite:\n    def test_a(self, box):\n        return 1\n    # elsewhere\n"
    )
    files = {**PACKAGE, "pkg/plugin.py": plugin, "tests/test_a.py": "from pkg.plugin import Suite\nclass TestA(Suite): pass\n"}
    given = small_change(
        tmp_path,
        files,
        {"pkg/plugin.py": plugin.replace(part, f"{part}0")},
        [("tests/test_a.py::TestA::test_a", "pkg/plugin.py::Suite.test_a")],
        ["box@pkg/plugin.py"],
    )
    assert [prediction.verdict for prediction in answers(SymbolAnchoring(), given)] == [said]


def test_a_class_that_gains_an_init_has_changed(tmp_path):
    files = {**PACKAGE, "pkg/plain.py": "class Plain:\n    x = 1\n", "tests/test_a.py": "from pkg.plain import Plain\ndef test_a():\n    Plain()\n"}
    change = {"pkg/plain.py": "class Plain:\n    x = 1\n    def __init__(self):\n        raise TypeError\n"}
    (prediction,) = answers(SymbolAnchoring(), small_change(tmp_path, files, change, ["tests/test_a.py::test_a"]))
    assert (prediction.verdict, prediction.why) == ("flipped", "pkg.plain.Plain.__init__ is new")


def test_what_cannot_be_resolved_counts_as_not_referenced_and_is_said(tmp_path):
    files = {**PACKAGE, "tests/test_a.py": "import os, pkg\ndef test_a():\n    pkg.computed()\n    os.fspath(len(pkg.__file__))\n"}
    (prediction,) = answers(SymbolAnchoring(), small_change(tmp_path, files, CHANGED["make"], ["tests/test_a.py::test_a"]))
    assert (prediction.verdict, prediction.evidence) == ("held", "not resolved: pkg.computed")


def test_a_change_that_breaks_a_module_makes_its_names_gone_and_raises_nothing(tmp_path):
    files = {**PACKAGE, "tests/test_a.py": "from pkg.other import f\ndef test_a():\n    f()\n"}
    (prediction,) = answers(SymbolAnchoring(), small_change(tmp_path, files, {"pkg/other.py": b"\xff\xfe def f(:"}, ["tests/test_a.py::test_a"]))
    assert (prediction.verdict, prediction.why) == ("flipped", "pkg.other.f is gone")
