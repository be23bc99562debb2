"""Hazard 5: high accuracy at low coverage.

A tool answered 58 of 100 claims and was right on every one of them. Scored on what it answered, it had a recall of 1.000 and beat an arm that
answered everything. But the twenty-one flips among the other claims were served as true: nobody had re-verified them. So no verdict is charged
as held in every main figure, the covered-only figures never stand without the coverage, and no table leaves the unanswered claims out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stats import presented
from stats.metrics import measure
from stats.paired import mcnemar
from stats.printed import csv, latex, markdown
from stats.tables import arms_table, intervals_table

TRUTH = [True] * 50 + [False] * 50
RIGHT = ["flipped"] * 50 + ["held"] * 50
TIMID = [verdict if place < 29 or 50 <= place < 79 else None for place, verdict in enumerate(RIGHT)]
STEADY = ["flipped"] * 45 + ["held"] * 5 + ["flipped"] * 5 + ["held"] * 45


def answers() -> pd.DataFrame:
    frames = []
    for arm, verdicts in {"timid": TIMID, "steady": STEADY}.items():
        frame = pd.DataFrame({"arm": arm, "flipped": TRUTH, "verdict": pd.Series(verdicts, dtype=object)})
        frame["question_id"], frame["repo"] = [f"q{place:03}" for place in range(100)], [f"r{place % 12}" for place in range(100)]
        frames.append(frame.assign(fired=frame["verdict"] == "flipped", covered=frame["verdict"].notna()))
    return pd.concat(frames, ignore_index=True)


def test_perfect_on_what_it_answered_is_not_perfect():
    timid = measure(answers(), 0.02).set_index("arm").loc["timid"]
    assert (timid["covered_recall"], timid["covered_f1"], timid["coverage"]) == (1.0, 1.0, 0.58)
    assert (timid["recall"], timid["staleness"]) == pytest.approx((0.58, 0.42))


def test_the_arm_that_answers_everything_wins_where_it_should():
    frame = measure(answers(), 0.02).set_index("arm")
    assert frame.loc["steady", "f1"] > frame.loc["timid", "f1"]
    row = mcnemar(answers()).iloc[0]  # steady is A, timid is B
    assert (row["only_a_right"], row["only_b_right"]) == (16, 5)
    assert (row["covered_only_a_right"], row["covered_only_b_right"]) == (0, 5)  # where both answered it looks the other way round


def test_silence_cannot_shrink_an_interval():
    frame = intervals_table(answers(), 0.02, resamples=400, rng=np.random.default_rng(0))
    recall = frame[(frame["arm"] == "timid") & (frame["metric"] == "recall") & (frame["by"] == "claim")].iloc[0]
    assert recall["low"] < 0.58 < recall["high"] < 1


def test_every_printed_form_of_a_recall_has_its_coverage_in_the_same_row():
    frame = arms_table(answers(), 0.02, intervals_table(answers(), 0.02, resamples=50, rng=np.random.default_rng(0)))
    for table in (presented.arms(frame, "note"), presented.covered(frame, "note")):
        assert "coverage" in table.shown
        assert "coverage" in table.frame
        assert all("0.58" in next(line for line in form(table).splitlines() if "timid" in line) for form in (csv, markdown, latex))
