"""Bare names collide.

The paper's first A4 keyed definitions by bare name. ``pop`` and ``__init__`` stand in many classes, so an edit of one class's ``pop`` looked like a change
of every other's, and the arm fired on claims that the diff never came near. Keys are qualified: of all the classes with a ``pop``, only those count that
the claim refers to.
"""

import pytest
from small_change import answers, small_change

from arms.symbol_anchoring import SymbolAnchoring

CACHES = """
    class {name}:
        def __init__(self):
            self.{first} = 1

        def pop(self):
            return {second}
"""
FILES = {
    "pkg/__init__.py": "",
    "pkg/lru.py": CACHES.format(name="Cache", first="a", second=1),
    "pkg/ttl.py": CACHES.format(name="Cache", first="a", second=1),  # the same class name in another module, too
    "tests/test_caches.py": """
        from pkg import lru, ttl

        def test_lru():
            assert lru.Cache().pop() == 1

        def test_ttl():
            assert ttl.Cache().pop() == 1
    """,
}


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [("a", 2, "pkg.ttl.Cache.pop changed"), ("b", 1, "pkg.ttl.Cache.__init__ changed")],
)
def test_an_edited_pop_or_init_of_another_class_does_not_fire(tmp_path, first, second, why):
    change = {"pkg/ttl.py": CACHES.format(name="Cache", first=first, second=second)}
    given = small_change(tmp_path, FILES, change, ["tests/test_caches.py::test_lru", "tests/test_caches.py::test_ttl"])
    assert [(prediction.verdict, prediction.why if prediction.verdict == "flipped" else "") for prediction in answers(SymbolAnchoring(), given)] == [
        ("held", ""),
        ("flipped", why),
    ]
