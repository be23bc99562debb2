"""The page docs/add-an-arm.md, followed to the letter."""

import re
from pathlib import Path

from small_change import answers, small_change

from claimflip.protocols import Arm

PAGE = (Path(__file__).parents[2] / "docs" / "add-an-arm.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_arm_on_the_page_works_as_it_stands(tmp_path):
    scope = {}
    exec(compile(block("python"), "arms/module_name.py", "exec"), scope)
    arm = scope["ModuleName"]()
    assert isinstance(arm, Arm)
    files = {"pkg/__init__.py": "", "pkg/lru.py": "x = 1\n", "tests/test_a.py": "def test_a():\n    import pkg.lru\ndef test_b(): pass\n"}
    given = small_change(tmp_path, files, {"pkg/lru.py": "x = 2\n"}, ["tests/test_a.py::test_a", "tests/test_a.py::test_b"])
    assert [said.verdict for said in answers(arm, given)] == ["flipped", "held"]


def test_the_configuration_on_the_page_names_the_class_on_the_page():
    assert "# @package arms.module-name\n_target_: arms.module_name.ModuleName\n" in block("yaml")
    assert len(block("python").strip().splitlines()) <= 18
