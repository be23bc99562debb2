"""The corpus folder: what is written can be read again as it was, and nothing half-written ever."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from synthetic import a_change, a_claim, a_question

from claimflip import open_corpus
from claimflip.corpus import FORMAT, Corpus, digest, schema, table, write_atomically
from claimflip.errors import CorpusError
from claimflip.records import Change, Claim, Label, Outcome, Prediction, Question, content_id

CHANGE = a_change(
    date=datetime(2024, 1, 1, 12, 30, 15, 123456, tzinfo=UTC),
    order=3,
    is_merge=True,
    net_deleted_assertions=-1,
    source_files=("pkg/a.py", "pkg/ü.py"),
    test_files=(),
    source_diff="--- a\n+++ b\n+é\r\n",
)
CLAIM = a_claim(change_id=CHANGE.change_id, fixtures=("one@tests/conftest.py",), cases=("", "[a-\n]"))
OUTCOMES = (Outcome(state="passed"), Outcome(state="failed", phase="call", reason="AssertionError", case="[a]"), Outcome(state="none", reason="timeout"))
LABEL = Label(
    claim_id=CLAIM.claim_id,
    verdict="unknown",
    reason="outcomes differ at t+1",
    stage="child",
    quality=None,
    parent_outcomes=OUTCOMES,
    child_outcomes=(),
    env_lock="0123",
)
QUESTION = a_question(CLAIM, diff="+x")
PREDICTION = Prediction(question_id=QUESTION.question_id, arm="a6", verdict=None, why="refused", confidence=0.25, tokens_in=10**12, usd=0.1)
ROWS = {
    Change: [CHANGE, replace(CHANGE, order=4, source_files=())],
    Claim: [CLAIM, replace(CLAIM, fixtures=(), cases=())],
    Label: [LABEL, replace(LABEL, verdict="flipped", quality="clean", child_outcomes=OUTCOMES)],
    Question: [QUESTION],
    Prediction: [PREDICTION, replace(PREDICTION, verdict="held", strict="held", lenient="flipped", confidence=None)],
}
WHERE = {Change: {}, Claim: {}, Label: {}, Question: {"split": "heldout"}, Prediction: {"split": "heldout", "name": "a6@model"}}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    made = Corpus.create(tmp_path / "corpus")
    made.update_info(name="tiny")
    return made


@pytest.mark.parametrize("record", ROWS)
def test_every_record_comes_back_as_it_was(corpus: Corpus, record: type) -> None:
    corpus.write(record, ROWS[record], **WHERE[record])
    assert corpus.read(record, **WHERE[record]) == ROWS[record]


@pytest.mark.parametrize("record", ROWS)
def test_no_rows_are_a_file_with_the_same_columns(corpus: Corpus, record: type) -> None:
    corpus.write(record, [], **WHERE[record])
    assert corpus.read(record, **WHERE[record]) == []
    assert corpus.read_table(record, **WHERE[record]).schema == schema(record)


def test_a_lone_surrogate_is_kept_readable(corpus: Corpus) -> None:
    corpus.write(Claim, [replace(CLAIM, text="def test_a(): '\ud800 é'", fixtures=("\udcff@x",))])
    (found,) = corpus.read(Claim)
    assert (found.text, found.fixtures) == ("def test_a(): '\\ud800 é'", ("\\udcff@x",))


def test_ids_of_text_with_a_lone_surrogate_exist_and_differ() -> None:
    assert content_id("\ud800") != content_id("\ud801")
    assert content_id("ab", "c") != content_id("a", "bc")


def test_a_date_of_another_time_zone_is_the_same_instant(corpus: Corpus) -> None:
    there = CHANGE.date.astimezone(timezone(timedelta(hours=9)))
    assert corpus.write(Change, [replace(CHANGE, date=there)]) == corpus.write(Change, [CHANGE])
    assert corpus.read(Change)[0].date == CHANGE.date


def test_the_same_rows_are_the_same_bytes(corpus: Corpus) -> None:
    corpus.write(Label, ROWS[Label])
    first = (corpus.path / "labels.parquet").read_bytes()
    corpus.write(Label, ROWS[Label])
    assert (corpus.path / "labels.parquet").read_bytes() == first


def test_the_digest_is_of_the_rows_whatever_the_bytes(corpus: Corpus, tmp_path: Path) -> None:
    told = corpus.write(Label, ROWS[Label])
    other = tmp_path / "other.parquet"
    pq.write_table(table(Label, ROWS[Label]), other, compression="none", use_dictionary=False, data_page_version="2.0", row_group_size=1)
    assert other.read_bytes() != (corpus.path / "labels.parquet").read_bytes()
    assert digest(pq.read_table(other)) == told == digest(corpus.read_table(Label))
    assert digest(table(Label, ROWS[Label][::-1])) != told, "order is part of what is stored"


def test_a_writer_that_dies_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.parquet"
    write_atomically(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new and much longer")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"labels.parquet": b"old"}


def test_an_interrupt_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "labels.parquet"
    write_atomically(path, b"old")

    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == {"labels.parquet": b"old"}


def broken_json(corpus: Corpus) -> None:
    corpus.info_path.write_text('{"format": 1, "nam')


def foreign(corpus: Corpus) -> None:
    corpus.info_path.write_text(json.dumps({"format": FORMAT + 1}))


def no_object(corpus: Corpus) -> None:
    corpus.info_path.write_text("[1, 2]")


def not_text(corpus: Corpus) -> None:
    corpus.info_path.write_bytes(b"\xff\xfe\x00")


def gone(corpus: Corpus) -> None:
    corpus.info_path.unlink()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (broken_json, "corpus.json cannot be read"),
        (foreign, f"corpus.json is format {FORMAT + 1}, this version reads {FORMAT}"),
        (no_object, "corpus.json is format None"),
        (not_text, "corpus.json cannot be read"),
        (gone, "no corpus in"),
    ],
)
def test_a_damaged_corpus_is_told_in_one_line_with_the_way_out(corpus: Corpus, damage: Callable[[Corpus], None], said: str) -> None:
    damage(corpus)
    with pytest.raises(CorpusError) as told:
        open_corpus(corpus.path)
    assert said in str(told.value)
    assert "out=FOLDER" in str(told.value)
    assert "\n" not in str(told.value)


def test_a_truncated_parquet_is_told_with_the_stage_that_makes_it(corpus: Corpus) -> None:
    corpus.write(Label, ROWS[Label])
    path = corpus.path / "labels.parquet"
    for size in (0, 3, path.stat().st_size // 2, path.stat().st_size - 1):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(CorpusError, match=r"labels\.parquet cannot be read .*: delete it and run 'claimflip label' again$"):
            corpus.read(Label)
        corpus.write(Label, ROWS[Label])


def test_a_parquet_of_other_columns_is_told(corpus: Corpus) -> None:
    pq.write_table(table(Claim, ROWS[Claim]), corpus.path / "labels.parquet")
    with pytest.raises(CorpusError, match="other columns than this version's Label: delete it and run 'claimflip label' again"):
        corpus.read(Label)


@pytest.mark.parametrize(("record", "stage"), [(Change, "mine"), (Claim, "mine"), (Label, "label"), (Question, "score"), (Prediction, "score")])
def test_a_missing_file_names_the_stage_that_makes_it(corpus: Corpus, record: type, stage: str) -> None:
    with pytest.raises(CorpusError, match=f"run 'claimflip {stage}' first"):
        corpus.read(record, **WHERE[record])


def test_labels_that_are_forgotten_take_their_predictions_with_them(corpus: Corpus) -> None:
    for record, rows in ROWS.items():
        corpus.write(record, rows, **WHERE[record])
    corpus.forget_labels()
    assert not corpus.has_labels()
    assert (corpus.splits(), corpus.arms("heldout")) == ([], [])
    assert corpus.read(Claim) == ROWS[Claim]


def test_a_notebook_gets_frames_of_every_kind(corpus: Corpus) -> None:
    for record, rows in ROWS.items():
        corpus.write(record, rows, **WHERE[record])
    opened = open_corpus(corpus.path)
    assert list(opened.changes.repo) == ["pkg", "pkg"]
    assert list(opened.labels.verdict) == ["unknown", "flipped"]
    assert list(opened.predictions("heldout").arm) == ["a6", "a6"]
    assert len(opened.questions("heldout")) == len(opened.claims) - 1


def test_a_folder_below_a_file_cannot_be_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CorpusError, match=r"cannot write to .*file/below .*: choose another folder with out=FOLDER"):
        Corpus.create(tmp_path / "file" / "below")
