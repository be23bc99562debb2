"""The whole pipeline on one generated repository and three changes, in under a minute, with the invariants that break silently.

``python repro_smoke.py`` (in a checkout) or ``python -m repro_smoke`` (installed) exits with 0 and one line an invariant, or with 1
and the name of the invariant that broke. ``--out FOLDER`` keeps the corpus.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from arms.constant import Always, Never
from arms.file_anchoring import FileAnchoring
from arms.symbol_anchoring import SymbolAnchoring
from claimflip import pipeline
from claimflip.corpus import Corpus
from claimflip.errors import ClaimflipError
from claimflip.ledger import Ledger
from claimflip.protocols import Oracle
from claimflip.records import Change, Claim, Label, Question
from claimflip.splits.stratified import HeldOut
from mining.worlds.world import World
from oracle.environment import Environments
from oracle.execution import ExecutionOracle
from stats.report import HtmlReport

RUNS = 10


class InvariantBroken(Exception):
    """One of the invariants does not hold; the text begins with its name."""


def every_claim_has_its_text(corpus: Corpus, _world: World) -> None:
    """A claim whose text is empty, or is not a function, cannot be asked about."""
    for claim in corpus.read(Claim):
        if not claim.text.strip() or "def " not in claim.text:
            raise InvariantBroken(f"{claim.nodeid} has no text")


def kept_claims_passed_every_run_at_the_parent(corpus: Corpus, _world: World) -> None:
    """Held and flipped claims were true at *t*: passed ten times of ten."""
    for label in corpus.read(Label):
        if label.verdict != "unknown" and [one.state for one in label.parent_outcomes] != ["passed"] * RUNS:
            raise InvariantBroken(f"claim {label.claim_id} is {label.verdict} and did not pass {RUNS} of {RUNS} runs at the parent")


def no_partial_verdict_is_kept(corpus: Corpus, _world: World) -> None:
    """Held means passed in every run at *t+1*, flipped means failed in every run there."""
    wanted = {"held": ["passed"] * RUNS, "flipped": ["failed"] * RUNS}
    for label in corpus.read(Label):
        if label.verdict != "unknown" and [one.state for one in label.child_outcomes] != wanted[label.verdict]:
            raise InvariantBroken(f"claim {label.claim_id} is {label.verdict} on a partial verdict")


def no_test_line_is_in_a_diff(corpus: Corpus, world: World) -> None:
    """No line of the test files that a step touched stands in what a model is shown; a generated world's sources share none of them."""
    questions = corpus.read(Question, split="heldout")
    for change in corpus.read(Change):
        with tempfile.TemporaryDirectory() as scratch:
            world.export(change, "parent", Path(scratch))
            lines = {line.strip() for path in change.test_files for line in Path(scratch, path).read_text(encoding="utf-8").splitlines()}
        diffs = {question.diff for question in questions if question.change_id == change.change_id}
        leaked = sorted(line for line in lines if len(line) >= 20 and any(line in diff for diff in diffs))
        if leaked:
            raise InvariantBroken(f"a test line stands in the diff of {change.parent} → {change.child}: {leaked[0]!r}")


def the_oracle_agrees_with_the_generator(corpus: Corpus, world: World) -> None:
    """The generator knows which claims flip; the oracle must say the same of every single one."""
    verdicts = {label.claim_id: label.verdict for label in corpus.read(Label)}
    claims = corpus.read(Claim)
    for change in corpus.read(Change):
        truth = world.truth(change)
        found = {claim.nodeid: verdicts[claim.claim_id] for claim in claims if claim.change_id == change.change_id}
        for nodeid in sorted(truth.keys() | found.keys()):
            if truth.get(nodeid) != found.get(nodeid):
                raise InvariantBroken(f"{change.child}: {nodeid} is {truth.get(nodeid)} by construction and {found.get(nodeid)} by execution")


INVARIANTS: Sequence[Callable[[Corpus, World], None]] = (
    every_claim_has_its_text,
    kept_claims_passed_every_run_at_the_parent,
    no_partial_verdict_is_kept,
    no_test_line_is_in_a_diff,
    the_oracle_agrees_with_the_generator,
)


def same_bytes(first: Path, second: Path) -> None:
    """Two runs from nothing leave the same files, byte for byte; ledgers, which hold timings, are left out."""
    trees = [
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file() and not path.name.startswith(("ledger", "."))}
        for root in (first, second)
    ]
    for name in sorted(trees[0].keys() | trees[1].keys()):
        if trees[0].get(name) != trees[1].get(name):
            raise InvariantBroken(f"{name} differs between two runs")


def default_oracle() -> ExecutionOracle:
    """The oracle with the configuration's defaults and cache folder."""
    return ExecutionOracle(environments=Environments(os.environ.get("CLAIMFLIP_CACHE", "~/.cache/claimflip")), runs=RUNS)


def run(out: Path, world: World, oracle: Oracle) -> Corpus:
    """Mine, label, score and report one generated world."""
    corpus = Corpus.create(out)
    ledger = Ledger(corpus.ledger_path)
    split = HeldOut(name="heldout", flip_rate=None)
    arms = [pipeline.ArmSetting(arm=arm, params={}) for arm in (Always(), Never(), FileAnchoring(), SymbolAnchoring())]
    try:
        pipeline.mine(corpus, [world], oracle, ledger, name="smoke", settings={}, workers=2)
        pipeline.label(corpus, [world], oracle, ledger, settings={}, workers=3)
        pipeline.score(corpus, [world], split, arms, ledger, workers=2)
        HtmlReport(resamples=1000).write(corpus, split.name)
    finally:
        ledger.close()
    return corpus


def check(corpus: Corpus, world: World) -> list[str]:
    """Hold every invariant against a finished corpus; returns their names, raises InvariantBroken with the name of one that does not hold."""
    for invariant in INVARIANTS:
        try:
            invariant(corpus, world)
        except InvariantBroken as error:
            raise InvariantBroken(f"{invariant.__name__}: {error}") from None
    return [invariant.__name__ for invariant in INVARIANTS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run twice, check, compare; returns the exit code."""
    parser = argparse.ArgumentParser(prog="repro_smoke", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the generated repository")
    parser.add_argument("--out", type=Path, help="keep the corpus in this folder")
    given = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="claimflip-smoke-") as scratch:
            corpora = []
            for number, folder in enumerate((given.out or Path(scratch, "first"), Path(scratch, "second"))):
                world = World("smoke", seed=given.seed, cache=Path(scratch, f"cache-{number}"), modules=4, behaviours=24)
                corpora.append(run(folder, world, default_oracle()))
                for name in check(corpora[-1], world) if number == 0 else []:
                    print(f"ok {name}")
            same_bytes(corpora[0].path, corpora[1].path)
            print("ok same_bytes")
            counts = corpora[0].info()["counts"]
    except InvariantBroken as error:
        print(f"BROKEN {error}")
        return 1
    except ClaimflipError as error:
        print(f"repro_smoke: {error}", file=sys.stderr)
        return 2
    print(f"{counts['changes']} changes, {counts['claims']} claims, {counts['flipped']} flipped, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
