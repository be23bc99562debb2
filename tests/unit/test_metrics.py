"""Counts and ratios against the paper, against counting by hand, and where nothing can be divided."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import SPLIT, answers, from_counts, write_corpus

from claimflip.errors import CorpusError
from claimflip.records import Prediction
from stats.metrics import confusion, measure
from stats.scored import answered, read_answered

NATURAL = 184 / 10369


@pytest.mark.parametrize(
    ("tp", "fp", "published"),
    [
        (108, 28, {"precision": 0.794, "recall": 0.715, "budget": 0.225, "staleness": 0.285, "natural_precision": 0.173}),
        (81, 128, {"precision": 0.388, "recall": 0.536, "budget": 0.346, "staleness": 0.464, "natural_precision": 0.033}),
        (131, 185, {"precision": 0.415, "recall": 0.868, "budget": 0.523, "staleness": 0.132, "natural_precision": 0.037}),
    ],
    ids=["A6-risk", "A4", "A4b"],
)
def test_the_counts_of_the_paper_give_its_ratios(tp, fp, published):
    row = measure(from_counts(tp, fp, flips=151, held=453), NATURAL).iloc[0]
    assert {name: row[name] for name in published} == pytest.approx(published, abs=6e-4)
    assert row["fires"] == tp + fp
    assert row["fn"] == 151 - tp
    assert row["tn"] == 453 - fp


def test_natural_budget_is_what_firing_costs_before_stratification():
    row = measure(from_counts(tp=3, fp=2, flips=4, held=8), 0.1).iloc[0]
    assert row["natural_budget"] == pytest.approx(0.1 * 3 / 4 + 0.9 * 2 / 8)
    assert row["natural_precision"] == pytest.approx(0.1 * 3 / 4 / row["natural_budget"])


def test_at_the_base_rate_natural_precision_is_precision():
    row = measure(from_counts(tp=5, fp=7, flips=10, held=30), 0.25).iloc[0]
    assert row["natural_precision"] == pytest.approx(row["precision"])
    assert row["natural_budget"] == pytest.approx(row["budget"])


def test_no_verdict_is_charged_as_held_and_stays_in_the_denominator():
    frame = answers([True, True, False, False], {"arm": ["flipped", None, None, "held"]})
    row = measure(frame, 0.5).iloc[0]
    assert (row["n"], row["covered"], row["tp"], row["fn"], row["tn"]) == (4, 2, 1, 1, 2)
    assert (row["coverage"], row["recall"], row["covered_recall"], row["covered_fire_rate"]) == (0.5, 0.5, 1.0, 0.5)


def test_an_arm_that_never_fires_has_no_precision_rather_than_zero():
    row = measure(answers([True, False], {"silent": ["held", "held"]}), 0.02).iloc[0]
    assert math.isnan(row["precision"])
    assert math.isnan(row["natural_precision"])
    assert (row["recall"], row["staleness"], row["budget"], row["f1"]) == (0, 1, 0, 0)


def test_without_flips_there_is_no_recall_and_without_held_no_false_positive_rate():
    no_flips = measure(answers([False, False], {"arm": ["flipped", "held"]}), 0.02).iloc[0]
    assert no_flips["precision"] == 0
    assert no_flips[["recall", "staleness", "natural_budget", "natural_precision"]].isna().all()
    no_held = measure(answers([True, True], {"arm": ["flipped", "held"]}), 0.02).iloc[0]
    assert no_held["recall"] == 0.5
    assert no_held[["false_positive_rate", "natural_budget", "natural_precision"]].isna().all()


def test_zero_coverage_is_a_row_of_its_own_not_a_missing_arm():
    row = measure(answers([True, False], {"mute": [None, None]}), 0.02).iloc[0]
    assert (row["coverage"], row["recall"], row["fires"]) == (0, 0, 0)
    assert row[["precision", "covered_recall", "covered_fire_rate"]].isna().all()


def test_an_unknown_natural_rate_leaves_only_the_natural_figures_undefined():
    row = measure(from_counts(tp=3, fp=2, flips=4, held=8), math.nan).iloc[0]
    assert row[["natural_budget", "natural_precision"]].isna().all()
    assert row["precision"] == pytest.approx(0.6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["held", "flipped", None])), min_size=1, max_size=40))
def test_counts_equal_counting_one_by_one(rows):
    truth, verdicts = [flipped for flipped, _ in rows], [verdict for _, verdict in rows]
    row = confusion(answers(truth, {"arm": verdicts})).iloc[0]
    by_hand = {
        "tp": sum(f and v == "flipped" for f, v in rows),
        "fp": sum(not f and v == "flipped" for f, v in rows),
        "fn": sum(f and v != "flipped" for f, v in rows),
        "tn": sum(not f and v != "flipped" for f, v in rows),
        "covered": sum(v is not None for _, v in rows),
        "covered_flips": sum(f and v is not None for f, v in rows),
    }
    assert {name: row[name] for name in by_hand} == by_hand
    assert row["tp"] + row["fp"] + row["fn"] + row["tn"] == row["n"] == len(rows)


def test_a_corpus_is_joined_to_one_row_a_question_and_arm(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"], "parse": ["unknown: timeout at t+1", "held"]}, {"a4": ["flipped", None, "held"]})
    frame = read_answered(corpus, SPLIT).sort_values("nodeid", ignore_index=True)
    assert frame[["repo", "kind", "arm", "flipped", "fired", "covered"]].to_numpy().tolist() == [
        ["attrs", "index", "a4", True, True, True],
        ["attrs", "index", "a4", False, False, False],
        ["parse", "index", "a4", False, False, True],
    ]


def test_a_question_that_an_arm_left_out_counts_as_no_verdict(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"]}, {"a4": ["flipped", "held"]})
    corpus.write(Prediction, corpus.read(Prediction, split=SPLIT, name="a4")[:1], split=SPLIT, name="a4")
    corpus.write(Prediction, [], split=SPLIT, name="mute")
    counts = confusion(read_answered(corpus, SPLIT)).set_index("arm")
    assert counts["n"].to_dict() == {"a4": 2, "mute": 2}
    assert counts["covered"].to_dict() == {"a4": 1, "mute": 0}


def test_a_question_about_a_claim_that_lost_its_verdict_is_an_error_with_a_way_out(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"]}, {"a4": ["flipped", "held"]})
    later = write_corpus(tmp_path / "later", {"attrs": ["flipped", "unknown: flaky"]}, {})
    (later.path / "labels.parquet").replace(corpus.path / "labels.parquet")
    with pytest.raises(CorpusError, match=r"1 of 2 questions .* run 'claimflip score' again"):
        read_answered(corpus, SPLIT)


def test_an_arm_that_was_asked_before_the_questions_changed_is_named_not_scored(tmp_path):
    corpus = write_corpus(tmp_path, {"attrs": ["flipped", "held"]}, {"a0": ["flipped"] * 2, "a1": ["held"] * 2})
    corpus.write(Prediction, [Prediction(question_id="of another seed", arm="a1", verdict="held")], split=SPLIT, name="a1")
    with pytest.raises(CorpusError, match="arm 'a1' was asked other questions than the split has now: run 'claimflip score' with it"):
        read_answered(corpus, SPLIT)


def test_two_answers_of_one_arm_to_one_question_are_an_error():
    asked = pd.DataFrame({"question_id": ["q"], "flipped": [True]})
    twice = pd.DataFrame({"question_id": ["q", "q"], "verdict": ["held", "flipped"], "repeat": [0, 0]})
    with pytest.raises(CorpusError, match="'a6@m' answered a question twice"):
        answered(asked, {"a6@m": twice})
    repeated = answered(asked, {"a6@m": twice.assign(repeat=[0, 1])})
    assert repeated["verdict"].tolist() == ["held"]
    assert repeated["fired"].dtype == np.dtype(bool)
