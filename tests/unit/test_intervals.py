"""The bootstrap against scipy's, against a plain loop over repositories, and where it has nothing to say."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import stats as scipy_stats
from synthetic import answers, from_counts

from stats.intervals import INTERVALS, bootstrap

NATURAL = 0.02


def run(frame, *, by="claim", resamples=2000, seed=3):
    return bootstrap(frame, NATURAL, by=by, resamples=resamples, rng=np.random.default_rng(seed))


def limits(frame, arm, metric):
    row = frame[(frame["arm"] == arm) & (frame["metric"] == metric)].iloc[0]
    return [row["low"], row["high"]]


def noisy(repos, claims, seed=0, arms=("a", "b")):
    """Claims of ``repos`` repositories, each with a difficulty of its own."""
    rng = np.random.default_rng(seed)
    names = np.repeat([f"r{place:02}" for place in range(repos)], claims)
    truth = rng.random(repos * claims) < 0.3
    skill = np.repeat(rng.random(repos), claims)
    verdicts = {arm: np.where(rng.random(len(truth)) < np.where(truth, skill, 0.2), "flipped", "held").tolist() for arm in arms}
    return answers(truth.tolist(), verdicts, names.tolist())


@pytest.mark.parametrize(
    ("metric", "ratio"),
    [
        ("precision", lambda flipped, fired, axis: (flipped & fired).sum(axis) / fired.sum(axis)),
        ("recall", lambda flipped, fired, axis: (flipped & fired).sum(axis) / flipped.sum(axis)),
        ("budget", lambda flipped, fired, axis: fired.mean(axis)),
    ],
    ids=["precision", "recall", "budget"],
)
def test_the_interval_over_claims_agrees_with_scipy(metric, ratio):
    frame = from_counts(tp=108, fp=28, flips=151, held=453)
    ours = limits(run(frame, resamples=10_000), "arm", metric)
    data = (frame["flipped"].to_numpy(), frame["fired"].to_numpy())
    rng = np.random.default_rng(5)
    theirs = scipy_stats.bootstrap(data, ratio, paired=True, vectorized=True, n_resamples=10_000, batch=500, method="percentile", rng=rng)
    assert ours == pytest.approx(list(theirs.confidence_interval), abs=0.006)


def test_the_interval_over_repositories_agrees_with_drawing_them_one_by_one():
    frame = noisy(repos=12, claims=25)
    one = frame[frame["arm"] == "a"]
    groups = [rows for _, rows in one.groupby("repo")]
    rng = np.random.default_rng(8)
    recalls = []
    for _ in range(1500):
        drawn = pd.concat([groups[place] for place in rng.integers(len(groups), size=len(groups))])
        recalls.append((drawn["flipped"] & drawn["fired"]).sum() / drawn["flipped"].sum())
    ours = limits(run(frame, by="repository", resamples=10_000), "a", "recall")
    assert ours == pytest.approx(np.quantile(recalls, [0.025, 0.975]).tolist(), abs=0.025)


def test_claims_that_share_a_repository_make_the_honest_interval_wider():
    frame = noisy(repos=12, claims=60, seed=4)
    over_claims, over_repositories = (limits(run(frame, by=by), "a", "recall") for by in ("claim", "repository"))
    assert np.ptp(over_repositories) > 2 * np.ptp(over_claims)


def test_one_seed_gives_one_interval_and_another_seed_another():
    frame = noisy(repos=3, claims=20)
    assert_frame_equal(run(frame), run(frame))
    assert limits(run(frame, seed=4), "a", "recall") != limits(run(frame), "a", "recall")


def test_neither_the_order_of_rows_nor_another_arm_moves_an_interval():
    frame = noisy(repos=3, claims=20)
    assert_frame_equal(run(frame.sample(frac=1, random_state=1)), run(frame))
    alone = run(frame[frame["arm"] == "a"])
    assert_frame_equal(alone, run(frame)[lambda rows: rows["arm"] == "a"].reset_index(drop=True))


def test_draws_in_blocks_are_the_draws_in_one(monkeypatch):
    frame = noisy(repos=3, claims=20)
    whole = run(frame, resamples=500)
    monkeypatch.setattr("stats.intervals._BLOCK", 1000)
    assert_frame_equal(run(frame, resamples=500), whole)


def test_resamples_without_a_fire_are_dropped_and_counted():
    frame = answers([True, False, False, False], {"shy": ["flipped", "held", "held", "held"]})
    row = run(frame, resamples=4000).set_index("metric").loc["precision"]
    assert row["dropped"] / 4000 == pytest.approx((3 / 4) ** 4, abs=0.03)  # no draw hits the one claim it fired on
    assert row["used"] + row["dropped"] == 4000
    assert (row["low"], row["high"]) == (1, 1)


def test_an_arm_that_never_fires_has_no_interval_and_says_that_all_were_dropped():
    row = run(answers([True, False], {"silent": ["held", "held"]})).set_index("metric").loc["precision"]
    assert np.isnan([row["low"], row["high"]]).all()
    assert (row["used"], row["dropped"]) == (0, 2000)


def test_one_repository_says_nothing_about_the_next():
    frame = run(noisy(repos=1, claims=30), by="repository")
    assert frame[["low", "high"]].isna().all(axis=None)
    assert (frame["dropped"] == 2000).all()
    assert not frame["reliable"].any()


@pytest.mark.parametrize(("repos", "reliable"), [(9, False), (10, True)])
def test_below_ten_repositories_the_clustered_interval_is_marked(repos, reliable):
    frame = run(noisy(repos=repos, claims=5), by="repository", resamples=50)
    assert (frame["reliable"] == reliable).all()
    assert (frame["units"] == repos).all()


def test_no_resamples_and_no_questions_are_answered_with_nothing_rather_than_a_crash():
    frame = noisy(repos=2, claims=3)
    none = run(frame, resamples=0)
    assert len(none) == 2 * len(INTERVALS)
    assert none["low"].isna().all()
    assert run(frame.iloc[:0]).empty
