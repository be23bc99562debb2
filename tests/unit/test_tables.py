"""The tables' rows and numbers, and how they are printed."""

import csv
import io
import math

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from synthetic import SPLIT, answers, from_counts, write_corpus

from stats import presented
from stats.printed import Table, interval, latex, markdown, number, p_value, percent, plain
from stats.printed import csv as as_csv
from stats.scored import read_answered
from stats.tables import arms_table, corpus_table, discards_table, flips_table, intervals_table, problems_table

NOTE = "Corpus c (0123), split heldout."


def all_arms(frame, rate=0.02, resamples=200):
    return arms_table(frame, rate, intervals_table(frame, rate, resamples=resamples, rng=np.random.default_rng(0)))


def corpus_rows(corpus):
    info = corpus.info()
    return corpus_table(corpus.changes, corpus.claims, corpus.labels, info["sources"], info["problems"])


def test_counts_ratios_and_both_intervals_stand_in_one_row_an_arm():
    row = all_arms(from_counts(tp=108, fp=28, flips=151, held=453)).iloc[0]
    assert (row["n"], row["tp"], row["fp"], row["repositories"]) == (604, 108, 28, 1)
    assert row["precision_low"] < row["precision"] < row["precision_high"]
    assert math.isnan(row["precision_repo_low"])


def test_repositories_that_yielded_nothing_are_in_the_corpus_table(tmp_path):
    empty = {"repo": "inflect", "kind": "index"}
    broken = {"repo": "attrs", "change_id": "x", "stage": "label", "reason": "no environment"}
    truths = {"attrs": ["flipped", "held", "unknown: timeout at t+1", "unknown: timeout at t+1", "unknown: flaky"]}
    frame = corpus_rows(write_corpus(tmp_path, truths, {}, sources=[empty], problems=[broken, broken])).set_index("repo")
    attrs = frame.loc["attrs"]
    assert attrs[["changes", "broken", "claims", "held", "flips", "discarded"]].tolist() == [1, 1, 5, 1, 1, 3]
    assert attrs["rate"] == 0.5
    assert attrs["discards"] == "2 timeout at t+1 · 1 flaky"
    assert frame.loc["inflect", ["changes", "claims", "flips"]].tolist() == [0, 0, 0]
    assert math.isnan(frame.loc["inflect", "rate"])


def test_kinds_of_source_have_a_total_each_and_are_never_added_up(tmp_path):
    truths = {"attrs": ["flipped", "held"], "parse": ["held"], "world": ["flipped"] * 3}
    frame = corpus_rows(write_corpus(tmp_path, truths, {}, kinds={"world": "worlds"}))
    totals = frame[frame["repo"] == "total"]
    assert totals[["kind", "changes", "claims", "held", "flips"]].to_numpy().tolist() == [["index", 2, 3, 2, 1], ["worlds", 1, 3, 0, 3]]


def test_every_discarded_claim_has_a_reason_even_one_never_labelled(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["held", "unknown: flaky", "unknown: flaky", "unknown: crash"]}, {})
    frame = discards_table(corpus.changes, corpus.claims, corpus.labels.iloc[:3])
    assert frame[["repo", "stage", "reason", "claims"]].to_numpy().tolist() == [["attrs", "child", "flaky", 2], ["attrs", "change", "not labelled", 1]]


def test_a_source_that_failed_altogether_is_a_problem_without_a_change(tmp_path):
    changes = write_corpus(tmp_path, {"attrs": []}, {}).changes
    failed = {"repo": "glom", "change_id": None, "stage": "mine", "reason": "index unreachable"}
    broken = {"repo": "attrs", "change_id": changes["change_id"][0], "stage": "label", "reason": "no environment"}
    frame = problems_table([failed, broken], changes)
    assert presented.problems(frame, NOTE).shown.to_numpy().tolist() == [
        ["attrs", "0.0 → 1.0", "label", "no environment"],
        ["glom", "", "mine", "index unreachable"],
    ]
    assert problems_table([], changes).empty


def test_many_reasons_are_three_in_print_and_all_in_the_numbers(tmp_path):
    reasons = [f"unknown: a; b{place} " + "x" * 100 for place in range(5)]
    frame = corpus_rows(write_corpus(tmp_path, {"attrs": reasons}, {}))
    shown = presented.corpus(frame, NOTE).shown["most frequent reasons"].iloc[0]
    assert shown.count("…") == 3
    assert shown.endswith("; and 2 more reasons")
    assert frame["discards"].iloc[0].count("x" * 100) == 5


def test_the_sample_of_flips_says_what_each_arm_made_of_it_and_is_chosen_by_id(tmp_path):
    arms = {"a0": ["flipped"] * 4, "a4": ["held", None, "flipped", "held"]}
    corpus = write_corpus(tmp_path, {"attrs": ["flipped"] * 3, "parse": ["held"]}, arms)
    frame = flips_table(read_answered(corpus, SPLIT), corpus.changes, per_repo=2)
    assert frame["repo"].tolist() == ["attrs", "attrs"]
    claims = corpus.claims.set_index("nodeid")["claim_id"].iloc[:3].sort_values()
    assert frame["nodeid"].tolist() == claims.index[:2].tolist()
    shown = presented.flips(frame, NOTE).shown
    assert set(shown["a0"]) == {"caught"}
    assert set(shown["a4"]) <= {"missed", "no verdict", "caught"}
    assert shown["change"].tolist() == ["0.0 → 1.0"] * 2


def test_undefined_ratios_are_nan_in_the_frame_and_a_dash_in_print():
    table = presented.arms(all_arms(answers([True, False], {"silent": ["held", "held"]})), NOTE)
    assert table.shown.iloc[0]["precision"] == "–"
    assert table.shown.iloc[0]["recall"] == "0.000"
    assert math.isnan(table.frame["precision"].iloc[0])
    assert pd.read_csv(io.StringIO(as_csv(table)), comment="#")["precision"].isna().all()
    assert " & -- & " in latex(table)


def test_an_interval_from_few_repositories_carries_a_mark_and_the_mark_a_footnote():
    frame = answers([True, False] * 6, {"a": ["flipped"] * 12}, ["x", "y", "z"] * 4)
    few = presented.arms(all_arms(frame), NOTE)
    assert "†" in " ".join(few.shown.iloc[0])
    assert "† From fewer than 10 repositories: not reliable." in markdown(few)
    many = presented.arms(all_arms(frame.assign(repo=[f"r{place}" for place in range(12)])), NOTE)
    assert "†" not in markdown(many)


def test_each_form_carries_the_footnote_and_the_csv_holds_the_numbers_in_full():
    table = presented.arms(all_arms(from_counts(tp=1, fp=2, flips=3, held=4)), NOTE)
    assert all(NOTE in form(table) for form in (as_csv, markdown, latex))
    again = pd.read_csv(io.StringIO(as_csv(table)), comment="#")
    assert_frame_equal(again, table.frame, check_dtype=False)


def test_a_name_from_mined_code_cannot_break_out_of_any_form():
    evil = 'x|y & 100% \\input{a} <b>_$\n"q"\x1b[2J'
    frame = pd.DataFrame({"repo": [evil], "step": [""], "change_id": [""], "stage": ["mine"], "reason": [evil]})
    table = presented.problems(frame, NOTE)
    row = markdown(table).splitlines()[4]
    assert row.count("|") - row.count("\\|") == 5  # four cells
    assert "\\<b\\>" in row
    body = latex(table).split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert r"\textbackslash{}input\{a\}" in body
    assert body.count("&") - body.count(r"\&") == 3
    assert r"100\%" in body
    assert "\x1b" not in markdown(table) + latex(table) + plain(table.shown)
    assert next(csv.reader(io.StringIO(as_csv(table).split("\n", 2)[2])))[0] == evil


def test_writing_twice_gives_the_same_bytes(tmp_path):
    frame = from_counts(tp=10, fp=5, flips=20, held=60)
    for folder in ("one", "two"):
        presented.arms(all_arms(frame), NOTE).write(tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["arms.csv", "arms.md", "arms.tex"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_latex_is_a_booktabs_table_with_as_many_cells_as_columns():
    text = latex(presented.costs(all_arms(from_counts(tp=1, fp=2, flips=3, held=4)), NOTE))
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    header, row = (line for line in text.splitlines() if line.endswith(r" \\"))
    assert header.count("&") == row.count("&") == 6
    assert r"\begin{tabular}{lrrrrrr}" in text


def test_an_empty_table_is_a_header_and_a_footnote():
    table = Table(name="none", title="None", frame=pd.DataFrame({"arm": []}), shown=pd.DataFrame({"arm": []}), note=NOTE)
    assert as_csv(table) == f"# {NOTE}\narm\n"
    assert markdown(table).splitlines()[2:4] == ["| arm |", "| :-- |"]
    assert r"\bottomrule" in latex(table)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (number(0.12345), "0.123"),
        (number(math.nan), "–"),
        (percent(184 / 10369), "1.77 %"),
        (percent(math.nan), "–"),
        (interval(0.1, 0.25, "†"), "[0.100, 0.250]†"),
        (interval(math.nan, math.nan, "†"), "–"),
        (p_value(1), "1.0"),
        (p_value(0.0244), "0.024"),
        (p_value(0.00012), "1.2e-04"),
    ],
)
def test_numbers_are_printed_alike_everywhere(text, expected):
    assert text == expected
