"""What was published stands here word for word: a changed byte would silently make it another instrument."""

import csv
import hashlib
from importlib.resources import files

import pytest

PROMPTS = {
    "a5": "7c151565a29ac78f003df0b6c380ac82f69017f352ca1c81eb8f43af139c6a78",
    "a5c": "bb469ac50f7a5bd10dbf29a778f5f8367ebbd0290945eba4c0adf8be08a28629",
    "a6_base": "9487609d72134829d892aa7f484420cd434b25db90e25e7472570d3f658967a8",
    "a6_risk": "1ab566dfafc930452da5698a7d1aa810e655ae8051f1603234b721a0ed1d7e7c",
}


@pytest.mark.parametrize(("name", "sha256"), PROMPTS.items())
def test_a_prompt_is_the_published_one_byte_for_byte(name, sha256):
    assert hashlib.sha256((files("arms.prompts") / f"{name}.txt").read_bytes()).hexdigest() == sha256


def test_no_prompt_stands_beside_the_published_ones_unnoticed():
    assert {entry.name for entry in files("arms.prompts").iterdir() if entry.name.endswith(".txt")} == {f"{name}.txt" for name in PROMPTS}


def test_the_published_figures_can_be_read():
    text = (files("results.paper") / "figures.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines(), strict=True))
    assert set(rows[0]) == {"id", "where", "split", "arm", "model", "quantity", "value", "recompute", "note"}
    assert all(None not in row and None not in row.values() for row in rows), "a row has too many or too few cells"
    assert len({row["id"] for row in rows}) == len(rows) == 88
    assert {row["id"]: row["value"] for row in rows}["corpus.flips"] == "184"
