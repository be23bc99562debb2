"""The documentation is held to the code: what a page names exists, and what exists is named."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from claimflip import records
from claimflip.cli import COMMANDS
from claimflip.corpus import schema

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])
RECORDS = [one for one in vars(records).values() if is_dataclass(one)]
TYPES = {
    "text": "string",
    "count": "int64",
    "number": "double",
    "yes/no": "bool",
    "time": "timestamp[us, tz=UTC]",
    "list of text": "list<item: string not null>",
}


def section(record):
    """The rows of a record's table in data-format.md: column and type, in order."""
    text = (ROOT / "docs" / "data-format.md").read_text(encoding="utf-8")
    body = text.split(f"\n## {record.__name__}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|", body, re.MULTILINE)
    return [(name, kind.strip()) for names, kind in rows for name in re.findall(r"`(\w+)`", names)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_column_of_a_record_is_described_in_order_and_no_other(record):
    assert [name for name, _ in section(record)] == [field.name for field in fields(record)]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_the_described_types_are_those_of_the_parquet(record):
    stored = schema(record)
    for name, kind in section(record):
        field = stored.field(name)
        assert field.nullable == kind.endswith(" or null"), name
        if kind == "list of Outcome":
            assert get_args(get_type_hints(record)[name])[0] is records.Outcome
        else:
            assert str(field.type) == TYPES[kind.removesuffix(" or null")], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_and_configuration_that_a_page_names_exists(page):
    # what begins a line, a prompt or a code span; a choice out of a folder of one's own is left alone
    for command, rest in re.findall(r"(?:^|`|bin/)claimflip ([a-z]+)\b([^`\n]*)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert command in COMMANDS, command
        if "--config-dir" not in rest:
            for group, choice in re.findall(r" (corpus|split|oracle|report)=(\w+)", rest):
                assert (ROOT / "configs" / group / f"{choice}.yaml").exists(), f"{group}={choice}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_that_a_page_names_exists(page):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`|\$ |run: )make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
