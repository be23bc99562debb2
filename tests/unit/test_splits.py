import pytest
from synthetic import a_change, a_claim, a_label

from claimflip.protocols import Split
from claimflip.splits.stratified import Development, HeldOut


def corpus(**repos):
    """Changes, claims and labels from ``repo=(flipped, held, unknown)``."""
    changes, claims, labels = [], [], []
    for repo, counts in repos.items():
        change = a_change(repo=repo, kind="worlds" if repo.startswith("world") else "git", source_diff=f"diff of {repo}\n" * 10)
        changes.append(change)
        for verdict, count in zip(("flipped", "held", "unknown"), counts, strict=True):
            for number in range(count):
                claim = a_claim(change_id=change.change_id, nodeid=f"test_a.py::test_{verdict}_{number}")
                claims.append(claim)
                labels.append(a_label(claim, verdict))
    return changes, claims, labels


def verdicts_of(questions, labels):
    truth = {label.claim_id: label.verdict for label in labels}
    return [truth[question.claim_id] for question in questions]


def test_all_flips_and_three_held_claims_for_each_are_asked(tmp_path):
    found = corpus(attrs=(4, 50, 3), empty=(0, 50, 0), boltons=(5, 9, 0))
    questions, note = HeldOut().questions(*found)
    assert sorted(verdicts_of(questions, found[2])) == ["flipped"] * 4 + ["held"] * 12
    assert note["base_rate"] == 0.25
    assert note["natural_rate"] == 4 / 104
    assert note["unknown"] == 3
    assert note["too_few_held"] is False
    assert note["pool"] == {"attrs": {"flipped": 4, "held": 50, "unknown": 3}, "empty": {"flipped": 0, "held": 50, "unknown": 0}}


def test_held_claims_come_from_repositories_without_flips_too():
    found = corpus(attrs=(10, 100, 0), empty=(0, 100, 0))
    questions, _ = HeldOut().questions(*found)
    repo = {change.change_id: change.repo for change in found[0]}
    drawn = [repo[question.change_id] for question in questions if verdicts_of([question], found[2]) == ["held"]]
    assert len(drawn) == 30
    assert 5 <= drawn.count("empty") <= 25


def test_too_few_held_claims_are_all_asked_and_the_rate_that_was_reached_is_said():
    questions, note = HeldOut().questions(*corpus(attrs=(4, 4, 0)))
    assert len(questions) == 8
    assert note["base_rate"] == 0.5
    assert note["too_few_held"] is True


def test_development_repositories_are_in_one_split_and_the_others_in_the_other():
    found = corpus(attrs=(1, 5, 0), boltons=(1, 5, 0), arrow=(0, 5, 0))
    held_out, development = HeldOut().questions(*found), Development().questions(*found)
    assert set(held_out[1]["pool"]) == {"attrs"}
    assert set(development[1]["pool"]) == {"arrow", "boltons"}
    assert {question.change_id for question in held_out[0]}.isdisjoint(question.change_id for question in development[0])


def test_a_mistaken_development_list_of_one_string_does_not_hold_out_letters():
    _, note = HeldOut(development="attrs").questions(*corpus(attrs=(1, 1, 0), a=(1, 1, 0)))
    assert set(note["pool"]) == {"a"}


def test_one_seed_gives_one_selection_whatever_the_order_and_another_seed_another():
    changes, claims, labels = corpus(attrs=(5, 200, 0))
    first, _ = HeldOut(seed=1).questions(changes, claims, labels)
    again, _ = HeldOut(seed=1).questions(changes[::-1], claims[::-1], labels[::-1])
    other, _ = HeldOut(seed=2).questions(changes, claims, labels)
    assert first == again
    assert [question.claim_id for question in first] == sorted(question.claim_id for question in first)
    assert {question.claim_id for question in first} != {question.claim_id for question in other}


def test_without_a_flip_rate_every_labelled_claim_is_asked():
    questions, note = HeldOut(flip_rate=None).questions(*corpus(attrs=(2, 30, 4)))
    assert len(questions) == 32
    assert note["base_rate"] == note["natural_rate"] == 2 / 32


@pytest.mark.parametrize(("limit", "cut"), [(20, True), (12_000, False)])
def test_a_long_diff_is_cut_at_its_end_and_the_question_says_so(limit, cut):
    changes, claims, labels = corpus(attrs=(1, 3, 0))
    questions, note = HeldOut(diff_limit=limit).questions(changes, claims, labels)
    assert {question.diff for question in questions} == {changes[0].source_diff[:limit]}
    assert {question.diff_truncated for question in questions} == {cut}
    assert note["truncated"] == (4 if cut else 0)


def test_kinds_of_source_have_their_own_natural_rates():
    _, note = HeldOut().questions(*corpus(attrs=(1, 9, 0), world=(5, 5, 0)))
    assert note["natural_rates"] == {"git": 0.1, "worlds": 0.5}


def test_a_kind_with_many_flips_takes_no_held_claims_from_another():
    found = corpus(attrs=(2, 60, 0), world=(10, 12, 0))
    questions, note = HeldOut().questions(*found)
    kind = {change.change_id: change.kind for change in found[0]}
    asked = {one: sorted(verdicts_of([q for q in questions if kind[q.change_id] == one], found[2])) for one in ("git", "worlds")}
    assert asked == {"git": ["flipped"] * 2 + ["held"] * 6, "worlds": ["flipped"] * 10 + ["held"] * 12}
    assert note["base_rates"] == {"git": 0.25, "worlds": 10 / 22}
    assert note["too_few_held"] == {"git": False, "worlds": True}
    assert not {"base_rate", "natural_rate"} & note.keys()


def test_nothing_to_ask_is_no_error_and_the_rates_are_unknown():
    questions, note = HeldOut().questions(*corpus(boltons=(1, 3, 0)))
    assert questions == []
    assert note["natural_rate"] is None
    assert note["base_rate"] is None


@pytest.mark.parametrize("rate", [0.0, 1.5])
def test_a_flip_rate_outside_of_nought_to_one_is_refused(rate):
    from claimflip.errors import ConfigError

    with pytest.raises(ConfigError, match="flip_rate"):
        HeldOut(flip_rate=rate)


def test_the_splits_fit_the_seam():
    assert isinstance(HeldOut(), Split)
    assert isinstance(Development(), Split)
