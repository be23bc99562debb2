"""The four stages, joined: each reads and writes one corpus folder, and each goes on where a killed run stopped.

Everything comes in built; nothing here knows which source, arm or oracle it drives.
"""

from __future__ import annotations

import inspect
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from claimflip.corpus import Corpus, records_of
from claimflip.errors import BuildError, ConfigError
from claimflip.ledger import Ledger
from claimflip.progress import progress
from claimflip.protocols import Arm, ArmInput, Oracle, Reporter, Source, Split
from claimflip.records import Change, Claim, Label, Prediction, Question, content_id
from claimflip.source.diff import LeakCheck, decoded
from claimflip.source.paths import is_source_path, is_test_path
from claimflip.source.trees import restore_tests

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSetting:
    """An arm with the settings it was built from, which go into its predictions' ``params_hash``."""

    arm: Arm
    params: Mapping[str, Any]


@contextmanager
def _trees(corpus: Corpus, source: Source, change: Change, *, with_child: bool = True) -> Iterator[tuple[Path, Path]]:
    """Both trees of a change in a scratch folder that is gone afterwards."""
    with corpus.scratch() as scratch:
        parent, child = scratch / "parent", scratch / "child"
        parent.mkdir()
        child.mkdir()
        source.export(change, "parent", parent)
        if with_child:
            source.export(change, "child", child)
        yield parent, child


def _over_changes(stage: str, changes: Sequence[Change], work: Callable[[Change], Result], workers: int) -> list[Result]:
    """Do one piece of work a change, several at once, results in the changes' order; the first error stops the stage."""
    pool = ThreadPoolExecutor(max(1, workers))
    with progress(stage, len(changes)) as shown:

        def one(change: Change) -> Result:
            result = work(change)
            shown.step(f"{change.repo} {change.parent[:12]} → {change.child[:12]}")
            return result

        futures = [pool.submit(one, change) for change in changes]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            # an interrupt does not wait for a test that may run for minutes: the command line ends the process, and its runs with it
            pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=True)
            raise


def mine(corpus: Corpus, sources: Sequence[Source], oracle: Oracle, ledger: Ledger, *, name: str, settings: Mapping[str, Any], workers: int) -> None:
    """Find the changes of every source and collect their claims; writes changes, claims and ``corpus.json``."""
    by_repo = {source.repo: source for source in sources}
    changes: list[Change] = []
    with progress("mine", len(sources)) as shown, ThreadPoolExecutor(4) as pool:

        def opened(source: Source) -> list[Change]:
            found = list(source.changes())
            oracle.prepare(source, found, ledger)
            shown.step(f"{source.repo}: {len(found)} changes")
            return found

        for found in pool.map(opened, sources):
            changes += found

    def collected(change: Change) -> tuple[list[Claim], dict[str, str]]:
        key = content_id(change.change_id, oracle.settings_id(change), *change.test_files)
        known = ledger.get("claims", key)
        if known is None:
            began = time.monotonic()
            try:
                with _trees(corpus, by_repo[change.repo], change, with_child=False) as (parent, _):
                    claims, reasons = by_repo[change.repo].claims(change, oracle.workspace(change, parent))
            except BuildError as error:
                claims, reasons = [], {"": str(error)}
            known = json.dumps([[asdict(claim) for claim in claims], reasons])
            ledger.put("claims", key, known, time.monotonic() - began)
        rows, reasons = json.loads(known)
        return records_of(Claim, rows), reasons

    results = _over_changes("claims", changes, collected, workers)
    claims = [claim for found, _ in results for claim in found]
    problems = [
        {"repo": change.repo, "change_id": change.change_id, "stage": "mine", "reason": f"{where}: {reason}" if where else reason}
        for change, (_, reasons) in zip(changes, results, strict=True)
        for where, reason in sorted(reasons.items())
    ]
    old = corpus.info().get("digests") if corpus.info_path.exists() else None
    digests = {"changes": corpus.write(Change, changes), "claims": corpus.write(Claim, claims)}
    if old is not None and {key: old.get(key) for key in digests} != digests:
        corpus.forget_labels()  # they are of other claims; the ledger still has what was found out
    for lock_id, lock in oracle.locks().items():
        corpus.write_lock(lock_id, lock)
    corpus.update_info(
        name=name,
        sources=[{"repo": source.repo, "kind": source.kind, **source.describe()} for source in sources],
        settings=settings,
        problems=problems,
        counts={"changes": len(changes), "claims": len(claims)},
        digests={**(old or {}), **digests} if corpus.has_labels() else digests,
        environments=sorted(oracle.locks()),
    )


def label(corpus: Corpus, sources: Sequence[Source], oracle: Oracle, ledger: Ledger, *, workers: int) -> None:
    """Run every claim at *t* and *t+1*; writes labels. A change whose environment cannot be built keeps its claims, all unknown."""
    changes, claims = corpus.read(Change), corpus.read(Claim)
    by_repo = _by_repo(sources, changes)
    by_change = _grouped(claims)
    for source in sources:
        oracle.prepare(source, [change for change in changes if change.repo == source.repo], ledger)

    def labelled(change: Change) -> list[Label]:
        asked = by_change[change.change_id]
        key = content_id(change.change_id, oracle.settings_id(change), *(claim.claim_id for claim in asked))
        known = ledger.get("labels", key)
        if known is None:
            began = time.monotonic()
            with _trees(corpus, by_repo[change.repo], change) as (parent, child):
                known = json.dumps([asdict(one) for one in oracle.label(change, asked, parent, child)])
            ledger.put("labels", key, known, time.monotonic() - began)
        return records_of(Label, json.loads(known))

    with_claims = [change for change in changes if by_change[change.change_id]]
    labels = [one for found in _over_changes("label", with_claims, labelled, workers) for one in found]
    info = corpus.info()
    old, new = info["digests"].get("labels"), corpus.write(Label, labels)
    if old is not None and old != new:
        corpus.forget_predictions()
    verdicts = Counter(one.verdict for one in labels)
    unknown = Counter(one.reason for one in labels if one.verdict == "unknown")
    corpus.update_info(
        digests={**info["digests"], "labels": new},
        counts={**info["counts"], **{verdict: verdicts[verdict] for verdict in ("held", "flipped", "unknown")}, "unknown_by_reason": dict(unknown)},
    )


def score(corpus: Corpus, sources: Sequence[Source], split: Split, arms: Sequence[ArmSetting], ledger: Ledger, *, workers: int) -> None:
    """Ask every arm every question of the split; writes questions and one file of predictions an arm."""
    changes, claims, labels = corpus.read(Change), corpus.read(Claim), corpus.read(Label)
    questions, note = split.questions(changes, claims, labels)
    by_repo = _by_repo(sources, changes)
    corpus.write(Question, questions, split=split.name)
    corpus.write_note(split.name, "questions", note)
    claims_by_id = {claim.claim_id: claim for claim in claims}
    asked = _grouped(questions)

    def answered(change: Change) -> dict[str, list[Prediction]]:
        mine = tuple(asked[change.change_id])
        keys = {one.arm.name: content_id(_params_hash(one), *(question.question_id for question in mine)) for one in arms}
        known = {name: found for name, key in keys.items() if (found := ledger.get(f"score {name}", key)) is not None}
        todo = [one for one in arms if one.arm.name not in known]
        if todo:
            with _trees(corpus, by_repo[change.repo], change) as (parent, child):
                about = {question.claim_id: claims_by_id[question.claim_id] for question in mine}
                _leak_check(parent, child, mine, {claim.path for claim in about.values()})
                restore_tests(change, parent, child)
                given = ArmInput(change=change, questions=mine, claims=about, parent=parent, child=child)
                for one in todo:
                    began = time.monotonic()
                    found = json.dumps([asdict(prediction) for prediction in _answers(one, given)])
                    ledger.put(f"score {one.arm.name}", keys[one.arm.name], found, time.monotonic() - began)
                    known[one.arm.name] = found
        return {name: records_of(Prediction, json.loads(found)) for name, found in known.items()}

    results = _over_changes("score", [change for change in changes if asked[change.change_id]], answered, workers)
    order = {question.question_id: number for number, question in enumerate(questions)}
    for one in arms:
        rows = sorted((row for found in results for row in found[one.arm.name]), key=lambda row: order[row.question_id])
        corpus.write(Prediction, rows, split=split.name, name=one.arm.name)
        covered = sum(row.verdict is not None for row in rows)
        corpus.write_note(split.name, one.arm.name, {"arm": one.arm.name, "params": dict(one.params), "asked": len(rows), "covered": covered})


def report(corpus: Corpus, reporter: Reporter, split: str) -> Path:
    """Write the tables, figures and page of a scored split; returns the page."""
    return reporter.write(corpus, split)


def _by_repo(sources: Sequence[Source], changes: Sequence[Change]) -> dict[str, Source]:
    by_repo = {source.repo: source for source in sources}
    for change in changes:
        if change.repo not in by_repo:
            raise ConfigError(f"the corpus has changes of {change.repo!r}, the configuration has no such source: give the corpus=… it was mined with")
    return by_repo


def _grouped(rows: Sequence[Any]) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        grouped[row.change_id].append(row)
    return grouped


def _params_hash(one: ArmSetting) -> str:
    """The arm's settings and its file's own text: predictions of another version are not reused."""
    file = inspect.getsourcefile(type(one.arm))
    text = Path(file).read_text(encoding="utf-8") if file else ""
    return content_id(one.arm.name, json.dumps(dict(one.params), sort_keys=True, default=str), text)


def _answers(one: ArmSetting, given: ArmInput) -> list[Prediction]:
    """The arm's predictions for one change, one a question in the questions' order; where it raises or is silent, no verdict with the reason."""
    why = "no answer"
    found: dict[str, Prediction] = {}
    try:
        found = {prediction.question_id: prediction for prediction in one.arm.predict(given)}
    except Exception as error:  # noqa: BLE001 - a stranger's arm: its fault costs it this change, no more
        why = f"the arm raised {type(error).__name__}: {error}"
    strange = found.keys() - {question.question_id for question in given.questions}
    if strange:
        raise ConfigError(f"arm {one.arm.name!r} answered a question that it was not asked ({min(strange)}): it must answer those in given.questions")
    silent = Prediction(question_id="", arm=one.arm.name, verdict=None, why=why)
    rows = (found.get(question.question_id, silent) for question in given.questions)
    extra = {"arm": one.arm.name, "params_hash": _params_hash(one)}
    return [Prediction(**{**asdict(row), "question_id": question.question_id, **extra}) for row, question in zip(rows, given.questions, strict=True)]


def _leak_check(parent: Path, child: Path, questions: Sequence[Question], test_modules: Set[str]) -> None:
    """Raise LeakError if a line of either side's tests, ``test_modules`` by whatever name included, stands in a diff that is about to be shown."""
    tests: list[str] = []
    sources: list[str] = []
    for tree in (parent, child):
        for path in sorted(tree.rglob("*.py")):
            name = path.relative_to(tree).as_posix()
            is_test = name in test_modules or is_test_path(name)
            if (is_test or is_source_path(name)) and path.is_file() and not path.is_symlink():
                (tests if is_test else sources).append(decoded(path.read_bytes()))
    check = LeakCheck.of(tests, sources)
    for diff in {question.diff for question in questions}:
        check.check(diff)
