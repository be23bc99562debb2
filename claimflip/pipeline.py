"""The four stages, joined: each reads and writes one corpus folder, and each goes on where a killed run stopped.

Everything comes in built; nothing here knows which source, arm or oracle it drives.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from claimflip.corpus import Corpus, records_of
from claimflip.errors import BuildError, ClaimflipError, ConfigError, IndexUnreachable, SourceError
from claimflip.ledger import Ledger, code_id
from claimflip.progress import progress
from claimflip.protocols import Arm, ArmInput, Oracle, Source, Split
from claimflip.records import Change, Claim, Label, Prediction, Question, content_id
from claimflip.source.diff import LeakCheck, decoded
from claimflip.source.paths import is_source_path, is_test_path
from claimflip.source.trees import restore_tests

Item = TypeVar("Item")
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


def _over(stage: str, items: Sequence[Item], work: Callable[[Item], Result], name: Callable[[Item], str], workers: int) -> list[Result]:
    """Do one piece of work an item, several at once, results in the items' order; the first error stops the stage."""
    pool = ThreadPoolExecutor(max(1, workers))
    with progress(stage, len(items)) as shown:

        def one(item: Item) -> Result:
            result = work(item)
            if not isinstance(result, Exception):
                shown.step(name(item))
            return result

        futures = [pool.submit(one, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException as error:
            # an interrupt does not wait for a test that may run for minutes: the command line ends the process, and its runs with it
            pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=True)
            raise


def _step(change: Change) -> str:
    return f"{change.repo} {change.parent[:12]} → {change.child[:12]}"


def _remembered(ledger: Ledger, stage: str, key: str, work: Callable[[], Any]) -> Any:
    """The result of a piece of work, JSON all through, from the ledger or done now and kept there with its seconds."""
    known = ledger.get(stage, key)
    if known is None:
        began = time.monotonic()
        known = json.dumps(work())
        ledger.put(stage, key, known, time.monotonic() - began)
    return json.loads(known)


def mine(corpus: Corpus, sources: Sequence[Source], oracle: Oracle, ledger: Ledger, *, name: str, settings: Mapping[str, Any], workers: int) -> None:
    """Find the changes of every source and collect their claims; writes changes, claims and ``corpus.json``.

    A source that yields nothing is a problem on record and the others go on. An index that cannot be read stops the run, and where every source
    fails, the first error is raised.
    """

    def opened(source: Source) -> list[Change] | SourceError:
        try:
            found = list(source.changes())
            oracle.prepare(source, found, ledger)
        except IndexUnreachable:
            raise
        except SourceError as error:
            return error
        return found

    found = _over("mine", sources, opened, lambda source: source.repo, workers + 1)
    errors = {source.repo: one for source, one in zip(sources, found, strict=True) if isinstance(one, SourceError)}
    if errors and len(errors) == len(sources):
        raise next(iter(errors.values()))
    changes = [change for one in found if not isinstance(one, SourceError) for change in one]
    problems = [_problem(repo, "", str(error)) for repo, error in errors.items()]
    problems += [_problem(source.repo, "", remark) for source in sources for remark in oracle.remarks(source)]
    by_repo = {source.repo: source for source in sources}

    def collected(change: Change) -> tuple[list[Claim], dict[str, str]]:
        source = by_repo[change.repo]

        def work() -> Any:
            try:
                with _trees(corpus, source, change, with_child=False) as (parent, _):
                    claims, reasons = source.claims(change, oracle.workspace(change, parent))
            except BuildError as error:
                claims, reasons = [], {"": str(error)}
            except (ClaimflipError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - a stranger's tree: what it trips costs it this change, no more
                claims, reasons = [], {"": f"{type(error).__name__}: {error}"}
            return [[asdict(claim) for claim in claims], reasons]

        key = content_id(change.change_id, oracle.settings_id(change), code_id(type(source).__module__.partition(".")[0]), *change.test_files)
        rows, reasons = _remembered(ledger, "claims", key, work)
        return records_of(Claim, rows), reasons

    results = _over("claims", changes, collected, _step, workers)
    claims = [claim for one, _ in results for claim in one]
    for change, (_, reasons) in zip(changes, results, strict=True):
        problems += [_problem(change.repo, change.change_id, f"{where}: {reason}" if where else reason) for where, reason in sorted(reasons.items())]
    old = corpus.info().get("digests") if corpus.info_path.exists() else None
    digests = {"changes": corpus.write(Change, changes), "claims": corpus.write(Claim, claims)}
    if old is not None and {key: old.get(key) for key in digests} != digests:
        corpus.forget_labels()  # they are of other claims; the ledger still has what was found out
    corpus.update_info(
        name=name,
        sources=[{"repo": source.repo, "kind": source.kind, **({} if source.repo in errors else source.describe())} for source in sources],
        settings=settings,
        problems=problems,
        counts={"changes": len(changes), "claims": len(claims)},
        digests={**(old or {}), **digests} if corpus.has_labels() else digests,
        environments=_kept_locks(corpus, oracle),
    )


def label(corpus: Corpus, sources: Sequence[Source], oracle: Oracle, ledger: Ledger, *, settings: Mapping[str, Any], workers: int) -> None:
    """Run every claim at *t* and *t+1*; writes labels. A change that cannot be run keeps its claims, all unknown, and is a problem on record."""
    changes, claims = corpus.read(Change), corpus.read(Claim)
    by_repo = _by_repo(sources, changes)
    by_change = _grouped(claims)
    for source in sources:
        oracle.prepare(source, [change for change in changes if change.repo == source.repo], ledger)

    def labelled(change: Change) -> list[Label]:
        asked = by_change[change.change_id]

        def work() -> Any:
            with _trees(corpus, by_repo[change.repo], change) as (parent, child):
                return [asdict(one) for one in oracle.label(change, asked, parent, child)]

        key = content_id(oracle.settings_id(change), _text(asdict(change)), *(_text(asdict(claim)) for claim in asked))
        return records_of(Label, _remembered(ledger, "labels", key, work))

    with_claims = [change for change in changes if by_change[change.change_id]]
    results = _over("label", with_claims, labelled, _step, workers)
    labels = [one for found in results for one in found]
    info = corpus.info()
    old, new = info["digests"].get("labels"), corpus.write(Label, labels)
    if old is not None and old != new:
        corpus.forget_predictions()
    verdicts = Counter(one.verdict for one in labels)
    unknown = Counter(one.reason for one in labels if one.verdict == "unknown")
    broken = [(change, found[0]) for change, found in zip(with_claims, results, strict=True) if found[0].stage == "change"]
    problems = [problem for problem in info["problems"] if problem["stage"] != "label"]
    corpus.update_info(
        settings={**info["settings"], **settings},
        problems=problems + [_problem(change.repo, change.change_id, one.reason, stage="label") for change, one in broken],
        digests={**info["digests"], "labels": new},
        counts={**info["counts"], **{verdict: verdicts[verdict] for verdict in ("held", "flipped", "unknown")}, "unknown_by_reason": dict(unknown)},
        environments=_kept_locks(corpus, oracle),
    )


def score(corpus: Corpus, sources: Sequence[Source], split: Split, arms: Sequence[ArmSetting], ledger: Ledger, *, workers: int) -> None:
    """Ask every arm every question of the split; writes questions and one file of predictions an arm. Those of other arms stay while the questions do."""
    changes, claims, labels = corpus.read(Change), corpus.read(Claim), corpus.read(Label)
    questions, note = split.questions(changes, claims, labels)
    by_repo = _by_repo(sources, changes)
    digest = corpus.write_questions(split.name, questions)
    corpus.write_note(split.name, "questions", {**note, "digest": digest})
    claims_by_id = {claim.claim_id: claim for claim in claims}
    asked = _grouped(questions)

    def answered(change: Change) -> dict[str, list[Prediction]]:
        mine = tuple(asked[change.change_id])
        about = {question.claim_id: claims_by_id[question.claim_id] for question in mine}
        shown = [_text(asdict(change)), *(_text(asdict(claim)) for claim in about.values()), *(_text(asdict(question)) for question in mine)]
        keys = {one.arm.name: content_id(_params_hash(one), *shown) for one in arms}
        known = {name: found for name, key in keys.items() if (found := ledger.get(f"score {name}", key)) is not None}
        todo = [one for one in arms if one.arm.name not in known]
        if todo:
            with _trees(corpus, by_repo[change.repo], change) as (parent, child):
                _leak_check(parent, child, mine, {claim.path for claim in about.values()})
                restore_tests(change, parent, child)
                given = ArmInput(change=change, questions=mine, claims=about, parent=parent, child=child)
                for one in todo:
                    began = time.monotonic()
                    found = json.dumps([asdict(prediction) for prediction in _answers(one, given)])
                    ledger.put(f"score {one.arm.name}", keys[one.arm.name], found, time.monotonic() - began)
                    known[one.arm.name] = found
        return {name: records_of(Prediction, json.loads(found)) for name, found in known.items()}

    results = _over("score", [change for change in changes if asked[change.change_id]], answered, _step, workers)
    order = {question.question_id: number for number, question in enumerate(questions)}
    for one in arms:
        rows = sorted((row for found in results for row in found[one.arm.name]), key=lambda row: order[row.question_id])
        corpus.write(Prediction, rows, split=split.name, name=one.arm.name)
        cost = {"tokens_in": sum(row.tokens_in for row in rows), "tokens_out": sum(row.tokens_out for row in rows), "usd": sum(row.usd for row in rows)}
        covered = sum(row.verdict is not None for row in rows)
        corpus.write_note(split.name, one.arm.name, {"arm": one.arm.name, "params": dict(one.params), "asked": len(rows), "covered": covered, **cost})


def _problem(repo: str, change: str, reason: str, *, stage: str = "mine") -> dict[str, str]:
    """One thing that gave less than it should have, as ``corpus.json`` keeps it; without a change it is about the whole source."""
    return {"repo": repo, "change_id": change, "stage": stage, "reason": reason}


def _kept_locks(corpus: Corpus, oracle: Oracle) -> list[str]:
    """Write the locks of the environments in use beside the labels; returns their ids."""
    for lock_id, lock in oracle.locks().items():
        corpus.write_lock(lock_id, lock)
    return sorted(oracle.locks())


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


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
    """The arm's settings and its code: predictions of another version are not reused."""
    code = code_id(type(one.arm).__module__.partition(".")[0], "claimflip.source")
    return content_id(one.arm.name, _text(dict(one.params)), code)


def _answers(one: ArmSetting, given: ArmInput) -> list[Prediction]:
    """The arm's predictions for one change, one a question in the questions' order; where it raises or is silent, no verdict with the reason."""
    why = "no answer"
    found: dict[str, Prediction] = {}
    try:
        found = {prediction.question_id: prediction for prediction in one.arm.predict(given)}
    except Exception as error:  # noqa: BLE001 - a stranger's arm: its fault costs it this change, no more
        why = f"the arm raised {type(error).__name__}: {error}"
    for key, prediction in found.items():
        if prediction.verdict not in ("held", "flipped", None):
            found[key] = replace(prediction, verdict=None, why=f"the arm said {prediction.verdict!r}, which is no verdict")
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
