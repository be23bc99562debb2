"""McNemar's test against the paper, the literature and statsmodels."""

import pytest
from statsmodels.stats.contingency_tables import mcnemar as reference
from synthetic import answers

from stats.paired import exact_p, mcnemar, mid_p
from stats.printed import p_value


@pytest.mark.parametrize(
    ("only_a", "only_b", "published"),
    [(162, 35, "1.0e-20"), (178, 44, "2.7e-20"), (84, 9, "2.2e-16"), (46, 26, "0.024")],
    ids=["A6 against A4", "A6 against A4b", "A6 against A5C", "code against prose"],
)
def test_the_discordant_pairs_of_the_paper_give_its_p_values(only_a, only_b, published):
    assert p_value(exact_p(only_a, only_b)) == published
    assert exact_p(only_b, only_a) == exact_p(only_a, only_b)


@pytest.mark.parametrize(("only_a", "only_b"), [(1, 7), (0, 1), (5, 5), (0, 12), (13, 14), (300, 250)])
def test_the_exact_p_value_is_that_of_statsmodels(only_a, only_b):
    assert exact_p(only_a, only_b) == pytest.approx(reference([[3, only_a], [only_b, 4]], exact=True).pvalue)


def test_the_worked_example_of_fagerland_lydersen_and_laake():
    assert exact_p(1, 7) == pytest.approx(0.0703, abs=5e-5)
    assert mid_p(1, 7) == pytest.approx(0.0391, abs=5e-5)


def test_equally_many_pairs_either_way_are_no_evidence():
    assert exact_p(5, 5) == 1
    assert mid_p(5, 5) == pytest.approx(1 - 252 / 1024 / 2)


def test_arms_that_always_agree_have_a_p_value_of_one():
    frame = answers([True, False], {"a": ["flipped", "held"], "b": ["flipped", "held"]})
    row = mcnemar(frame).iloc[0]
    assert (row["n"], row["only_a_right"], row["only_b_right"], row["p"], row["mid_p"]) == (2, 0, 0, 1, 1)


def test_no_verdict_is_charged_as_held_and_left_out_beside_it():
    truth = [True, True, False, False, True]
    frame = answers(truth, {"a": ["flipped", None, None, "flipped", "held"], "b": ["held", "flipped", "flipped", "held", "flipped"]})
    row = mcnemar(frame).iloc[0]
    assert (row["n"], row["only_a_right"], row["only_b_right"]) == (5, 2, 3)
    assert (row["covered_n"], row["covered_only_a_right"], row["covered_only_b_right"]) == (3, 1, 2)


def test_only_claims_asked_of_both_are_compared():
    frame = answers([True, True, False], {"a": ["flipped"] * 3, "b": ["held"] * 3})
    fewer = frame[~((frame["arm"] == "b") & (frame["question_id"] == "q00000"))]
    assert mcnemar(fewer).iloc[0][["n", "only_a_right", "only_b_right"]].tolist() == [2, 1, 1]


def test_every_pair_once_and_one_arm_has_none():
    frame = answers([True], {arm: ["held"] for arm in ("a0", "a1", "a3", "a4")})
    pairs = mcnemar(frame)[["arm_a", "arm_b"]].to_numpy().tolist()
    assert len(pairs) == 6
    assert pairs == sorted(pairs)
    assert mcnemar(frame[frame["arm"] == "a0"]).empty
