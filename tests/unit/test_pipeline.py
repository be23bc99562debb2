"""What the pipeline makes of an arm's answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import a_change, a_claim, a_question

from claimflip.errors import ConfigError
from claimflip.pipeline import ArmSetting, _answers
from claimflip.protocols import ArmInput
from claimflip.records import Prediction


class Scripted:
    """Says what it is told to."""

    name = "scripted"

    def __init__(self, *said: object) -> None:
        self.said = said

    def predict(self, given: ArmInput):
        for one in self.said:
            if isinstance(one, Exception):
                raise one
            yield one


@pytest.fixture
def given(tmp_path: Path) -> ArmInput:
    change, claim = a_change(), a_claim()
    asked = tuple(a_question(claim, diff=diff) for diff in ("a", "b"))
    return ArmInput(change=change, questions=asked, claims={claim.claim_id: claim}, parent=tmp_path, child=tmp_path)


def said(arm: Scripted, given: ArmInput) -> list[tuple[str | None, str]]:
    return [(row.verdict, row.why) for row in _answers(ArmSetting(arm=arm, params={}), given)]


def test_a_question_left_out_is_no_verdict_in_the_questions_order(given: ArmInput) -> None:
    second = Prediction(question_id=given.questions[1].question_id, arm="x", verdict="flipped")
    assert said(Scripted(second), given) == [(None, "no answer"), ("flipped", "")]


def test_an_arm_that_raises_costs_it_the_change_and_says_why(given: ArmInput) -> None:
    first = Prediction(question_id=given.questions[0].question_id, arm="x", verdict="held")
    assert said(Scripted(first, ValueError("odd code")), given) == [(None, "the arm raised ValueError: odd code")] * 2


def test_an_answer_that_is_none_of_the_verdicts_is_no_verdict(given: ArmInput) -> None:
    maybe = Prediction(question_id=given.questions[0].question_id, arm="x", verdict="maybe")  # type: ignore[arg-type]
    assert said(Scripted(maybe), given)[0] == (None, "the arm said 'maybe', which is no verdict")


def test_an_answer_to_another_question_is_refused(given: ArmInput) -> None:
    with pytest.raises(ConfigError, match="answered a question that it was not asked"):
        said(Scripted(Prediction(question_id="elsewhere", arm="x", verdict="held")), given)
