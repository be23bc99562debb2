"""The notebook runs from its first cell to its last on a scored corpus, and what is committed carries no outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from synthetic import write_corpus

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "reproduce_tables.ipynb"


def test_the_committed_notebook_carries_no_outputs():
    cells = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)


def test_it_reproduces_the_tables_of_a_corpus(tmp_path, monkeypatch):
    write_corpus(
        tmp_path / "corpus", {"attrs": ["flipped", "held"], "parse": ["held", "flipped"]}, {"a0": ["flipped"] * 4, "a4": ["flipped", "held", None, "held"]}
    )
    monkeypatch.setenv("CLAIMFLIP_CORPUS", str(tmp_path / "corpus"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    printed = "\n".join(str(output.get("data", {}).get("text/plain", "")) for cell in notebook.cells for output in cell.get("outputs", []))
    for expected in ("precision", "natural budget", "only A right", "attrs"):
        assert expected in printed
    assert sum("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])) == 2


@pytest.mark.parametrize("room", ["mining", "oracle", "arms"])
def test_it_goes_through_the_statistics_only(room):
    source = "\n".join(cell.source for cell in nbformat.read(NOTEBOOK, as_version=4).cells if cell.cell_type == "code")
    assert "from stats" in source
    assert f"\nimport {room}" not in source
    assert f"\nfrom {room}" not in source
