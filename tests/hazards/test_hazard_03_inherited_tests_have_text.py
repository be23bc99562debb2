"""A test that a class inherits has no text in its own file.

In the paper's first corpus 31 % of the claims were empty: their text was looked for in the module that pytest names, and the assertions stand in a mixin or
base class, in another file of the tree or in an installed package. Every claim must carry the text of what it asserts and say where that stands.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from synthetic import a_change

import oracle
from claimflip.protocols import CollectedTest
from mining.claims import claims_of, collected_claims
from mining.worlds.world import World

CHANGE = a_change(source_files=("lib.py",), test_files=("tests/test_it.py",))


class Collected:
    """A workspace whose collection is the real probe's, in this interpreter."""

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.tree, self.scratch = tree, scratch

    def collect(self, test_modules):
        job = {"root": str(self.tree), "files": list(test_modules), "functions": None, "runs": [], "modules": [], "report": str(self.scratch / "report")}
        job |= {"args": ["-q", f"--rootdir={self.tree}", "-p", "no:cacheprovider"], "collect_seconds": 60, "test_seconds": 60}
        (self.scratch / "job.json").write_text(json.dumps(job))
        environment = {**os.environ, "PYTHONPATH": str(self.scratch / "site-packages"), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
        probe = Path(oracle.__file__).with_name("probe.py")
        subprocess.run([sys.executable, str(probe), str(self.scratch / "job.json")], cwd=self.tree, env=environment, capture_output=True, check=True)
        events = [json.loads(line) for line in (self.scratch / "report").read_text().splitlines()]
        return [
            CollectedTest(
                nodeid=item["function"] + item["case"],
                case=item["case"],
                file=item["file"],
                line=item["line"],
                qualname=item["qualname"],
                fixtures=tuple((name, file) for name, file in item["fixtures"]),
            )
            for event in events
            if event["e"] == "items"
            for item in event["items"]
        ], {}


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "scratch/site-packages/vendor").mkdir(parents=True)
    (tmp_path / "tree/tests").mkdir(parents=True)
    return Collected(tmp_path / "tree", tmp_path / "scratch")


def test_mixin_in_another_file_gives_its_text(workspace):
    (workspace.tree / "tests/mixins.py").write_text("class Mixin:\n    def test_size(self):\n        assert len(self.make()) == 3\n")
    (workspace.tree / "tests/test_it.py").write_text(
        "from mixins import Mixin\n\n\nclass TestList(Mixin):\n    def make(self):\n        return [1, 2, 3]\n\n\nclass TestTuple(TestList):\n    pass\n"
    )
    claims, reasons = collected_claims(CHANGE, workspace)
    assert reasons == {}
    assert [claim.nodeid for claim in claims] == ["tests/test_it.py::TestList::test_size", "tests/test_it.py::TestTuple::test_size"]
    assert {claim.text for claim in claims} == {"def test_size(self):\n    assert len(self.make()) == 3"}
    assert {claim.defined_in for claim in claims} == {"tests/mixins.py::Mixin.test_size"}
    assert {claim.path for claim in claims} == {"tests/test_it.py"}


def test_base_class_in_an_installed_package_gives_its_text_and_no_path_of_this_machine(workspace):
    (workspace.scratch / "site-packages/vendor/__init__.py").write_text("")
    (workspace.scratch / "site-packages/vendor/suite.py").write_text(
        "import pytest\n\n\n@pytest.fixture\ndef box():\n    return 1\n\n\nclass Base:\n    @pytest.mark.parametrize('n', [1, 2])\n"
        "    def test_n(self, n, box):\n        assert n\n"
    )
    (workspace.tree / "tests/test_it.py").write_text("from vendor.suite import Base, box\n\n\nclass TestMine(Base):\n    pass\n")
    (claim,), reasons = collected_claims(CHANGE, workspace)
    assert reasons == {}
    assert claim.text == "@pytest.mark.parametrize('n', [1, 2])\ndef test_n(self, n, box):\n    assert n"
    assert claim.defined_in == "site-packages/vendor/suite.py::Base.test_n"
    assert str(workspace.scratch) not in "".join(claim.fixtures)
    assert claim.cases == ("[1]", "[2]")


def test_claim_without_text_is_told_and_never_empty(workspace):
    (workspace.tree / "tests/test_it.py").write_text(
        "def test_real():\n    assert True\n\n\nexec('def test_made_up():\\n    assert True\\n')\ntest_short = lambda: None\n"
    )
    claims, reasons = collected_claims(CHANGE, workspace)
    assert [claim.nodeid for claim in claims] == ["tests/test_it.py::test_real"]
    assert sorted(reasons) == ["tests/test_it.py::test_made_up", "tests/test_it.py::test_short"]
    assert all(reason.startswith("no text: ") for reason in reasons.values())


def test_every_claim_of_a_generated_world_has_its_text(workspace, tmp_path):
    world = World("harbour", seed=0, cache=tmp_path / "cache", modules=4, behaviours=24)
    change = next(iter(world.changes()))
    tree = tmp_path / "world"
    world.export(change, "parent", tree)
    claims, reasons = world.claims(change, Collected(tree, workspace.scratch))
    assert reasons == {}
    assert {claim.nodeid for claim in claims} == set(world.truth(change))
    assert all(claim.text.startswith(("def ", "@pytest")) for claim in claims)
    inherited = [claim for claim in claims if claim.defined_in.startswith("tests/contracts.py::RegisterContract.")]
    assert inherited
    assert all("self.make()" in claim.text for claim in inherited)


def test_nothing_is_asked_of_pytest_where_no_test_module_was_touched(workspace):
    assert claims_of(CHANGE, [], workspace.tree) == ([], {})
    assert collected_claims(CHANGE, workspace) == ([], {})
