"""The smoke passes; and for each invariant, where that is broken on purpose, it fails with the invariant's name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import repro_smoke
from claimflip.corpus import Corpus, open_corpus
from claimflip.records import Claim, Label, Outcome, Question
from mining.worlds.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World("smoke", seed=0, cache=tmp_path_factory.mktemp("cache"), modules=4, behaviours=24)


@pytest.fixture(scope="module")
def smoked(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus of one of the smoke's two runs; both are made by the wheel's test."""
    return repro_smoke.run(tmp_path_factory.mktemp("smoke") / "corpus", world, repro_smoke.default_oracle()).path


@pytest.fixture
def corpus(smoked: Path, tmp_path: Path) -> Corpus:
    """A copy of the smoke's corpus, to be damaged."""
    shutil.copytree(smoked, tmp_path / "corpus")
    return open_corpus(tmp_path / "corpus")


def test_the_smoke_passes_and_names_each_invariant(monkeypatch: pytest.MonkeyPatch, smoked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(repro_smoke, "run", lambda out, world, oracle: open_corpus(shutil.copytree(smoked, out)))
    code = repro_smoke.main([])
    printed = capsys.readouterr().out
    assert code == 0, printed
    names = [line.removeprefix("ok ") for line in printed.splitlines() if line.startswith("ok ")]
    assert names == [*(invariant.__name__ for invariant in repro_smoke.INVARIANTS), "same_bytes"]
    assert printed.splitlines()[-1].startswith("3 changes, ")


def no_text(corpus: Corpus) -> None:
    first, *rest = corpus.read(Claim)
    corpus.write(Claim, [replace(first, text=" \n"), *rest])


def with_first(corpus: Corpus, was: str, **changed: object) -> None:
    labels = corpus.read(Label)
    number = next(number for number, label in enumerate(labels) if label.verdict == was)
    labels[number] = replace(labels[number], **changed)
    corpus.write(Label, labels)


def failed_once_at_the_parent(corpus: Corpus) -> None:
    with_first(corpus, "held", parent_outcomes=(Outcome(state="failed"), *[Outcome(state="passed")] * 9))


def a_flip_that_passed_once(corpus: Corpus) -> None:
    with_first(corpus, "flipped", child_outcomes=(*[Outcome(state="failed")] * 9, Outcome(state="passed")))


def a_flip_from_a_missing_run(corpus: Corpus) -> None:
    with_first(corpus, "flipped", child_outcomes=(*[Outcome(state="failed")] * 9, Outcome(state="none", reason="timeout")))


def a_leak(corpus: Corpus) -> None:
    first, *rest = corpus.read(Question, split="heldout")
    line = max((line.strip() for line in first.claim_text.splitlines()), key=len)
    corpus.write(Question, [replace(first, diff=f"{first.diff}\n+{line}\n"), *rest], split="heldout")


def a_held_claim_called_flipped(corpus: Corpus) -> None:
    with_first(corpus, "held", verdict="flipped", child_outcomes=(Outcome(state="failed"),) * 10)


def an_unknown_claim(corpus: Corpus) -> None:
    with_first(corpus, "held", verdict="unknown", reason="timeout at t+1")


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (no_text, "every_claim_has_its_text"),
        (failed_once_at_the_parent, "kept_claims_passed_every_run_at_the_parent"),
        (a_flip_that_passed_once, "no_partial_verdict_is_kept"),
        (a_flip_from_a_missing_run, "no_partial_verdict_is_kept"),
        (a_leak, "no_test_line_is_in_a_diff"),
        (a_held_claim_called_flipped, "the_oracle_agrees_with_the_generator"),
        (an_unknown_claim, "the_oracle_agrees_with_the_generator"),
    ],
)
def test_broken_on_purpose_it_fails_with_the_name_of_the_invariant(corpus: Corpus, world: World, damage: Callable[[Corpus], None], invariant: str) -> None:
    damage(corpus)
    with pytest.raises(repro_smoke.InvariantBroken) as told:
        repro_smoke.check(corpus, world)
    assert str(told.value).startswith(f"{invariant}: ")


def test_an_intact_corpus_passes_every_check(corpus: Corpus, world: World) -> None:
    assert repro_smoke.check(corpus, world) == [invariant.__name__ for invariant in repro_smoke.INVARIANTS]


def test_other_bytes_in_a_second_run_are_told_by_file(corpus: Corpus, smoked: Path) -> None:
    repro_smoke.same_bytes(smoked, corpus.path)
    with_first(corpus, "held", reason="another day")
    with pytest.raises(repro_smoke.InvariantBroken, match=r"labels\.parquet differs between two runs"):
        repro_smoke.same_bytes(smoked, corpus.path)


def test_a_broken_invariant_ends_the_smoke_with_1_and_its_name(monkeypatch: pytest.MonkeyPatch, corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    def doctored(out: Path, world: World, oracle: object) -> Corpus:
        a_held_claim_called_flipped(corpus)
        return corpus

    monkeypatch.setattr(repro_smoke, "run", doctored)
    monkeypatch.setattr(repro_smoke, "default_oracle", lambda: None)
    assert repro_smoke.main([]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("BROKEN the_oracle_agrees_with_the_generator: ")
