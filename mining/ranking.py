"""Which steps are worth running: those that delete assertions from tests, or a control order to compare them with.

One git process scans all steps, limited to Python files (a clone may lack its largest blobs), and only a few numbers a step are kept;
the full record is made for the chosen ones alone. PyDriller is not used: it shows no changes of a merge, which are diffed here against the first parent,
and asks git anew for every commit (``benchmarks/ranking_speed.py``); on all other commits a test holds both to the same ranks.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from claimflip.records import Change, Kind, change_id, content_id
from claimflip.source.assertions import deleted_assertions
from claimflip.source.diff import decoded, file_diffs, source_only_diff
from claimflip.source.paths import is_source_path, is_test_module, is_test_path
from mining.git_command import command, start
from mining.repository import Repository, Step

Rule = Literal["deleted", "net", "keywords", "uniform"]
# Said in full, so that no setting of the repository's own has a say. Fixed rename limits: the same pairs on every machine.
_DIFF = shlex.split(
    "diff-tree -r -p -M50% -l1000 --full-index --diff-algorithm=myers --indent-heuristic --no-ext-diff --no-textconv --no-color --no-relative "
    "--src-prefix=a/ --dst-prefix=b/ --submodule=short --ignore-submodules=none"
)
_ID = re.compile(rb"^[0-9a-f]{40}\n$")
_KEYWORDS = re.compile(r"\b(fix|break|remov)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What the scan keeps of a step. ``readable`` is false where the clone lacks the content of a Python file; the rest is then empty."""

    step: Step
    deleted: int = 0
    net: int = 0
    touches_source: bool = False
    touches_test_module: bool = False
    readable: bool = True


def rank(
    repository: Repository,
    steps: Iterable[Step],
    *,
    repo: str,
    kind: Kind,
    rule: Rule = "deleted",
    limit: int | None,
    seed: int = 0,
    names: Mapping[str, str] | None = None,
) -> tuple[list[Change], dict[str, int]]:
    """Scan, choose and record: the best ``limit`` changes (all for None), best first, and how many steps became how many. ``names``: SHAs as recorded."""
    scanned = list(scan(repository, steps))
    ranked = candidates(scanned, rule=rule, seed=seed)
    kept = [record(repository, found, repo=repo, kind=kind, order=order, names=names or {}) for order, found in enumerate(ranked[:limit])]
    unreadable = sum(not each.readable for each in scanned)
    return kept, {"steps": len(scanned), "unreadable": unreadable, "candidates": len(ranked), "kept": len(kept)}


def scan(repository: Repository, steps: Iterable[Step]) -> Iterator[Scanned]:
    """Every step with its numbers, in the given order, from one streaming git process.

    Git gives up at content that is missing; the step it gave up on is tried alone, marked where that fails too, and the scan goes on behind it.
    """
    left = list(steps)
    while left:
        done = 0
        for step, diff in _stream(repository, left):
            yield _scanned(step, diff)
            done += 1
        left = left[done:]
        if left:
            alone = next(_stream(repository, left[:1]), None)
            yield _scanned(*alone) if alone else Scanned(step=left[0], readable=False)
            left = left[1:]


def _stream(repository: Repository, steps: Sequence[Step]) -> Iterator[tuple[Step, str]]:
    """The Python part of each step's diff without context, up to the step at which git gives up."""
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{step.child} {step.parent}\n" for step in steps).encode())
        asked.seek(0)
        with start(command(*_DIFF, "-U0", "--always", "--stdin", "--", "*.py", git_dir=repository.git_dir), stdin=asked) as process:
            assert process.stdout is not None
            waiting = iter(steps)
            whole: tuple[Step, str] | None = None
            # a line of a diff is never a bare SHA: lines of a hunk start with their marker
            for is_id, lines in groupby(process.stdout, key=lambda line: _ID.match(line) is not None):
                if is_id:
                    for _ in lines:
                        if whole is not None:
                            yield whole
                        whole = (next(waiting), "")
                elif whole is not None:
                    whole = (whole[0], decoded(b"".join(lines)))
        if whole is not None and process.returncode == 0:
            yield whole


def _scanned(step: Step, diff: str) -> Scanned:
    parts = list(file_diffs(diff))
    paths = [path for part in parts for path in part.paths]
    assertions = deleted_assertions(part for part in parts if is_test_path(part.paths[0]))
    return Scanned(
        step=step,
        deleted=assertions.raw,
        net=assertions.net,
        touches_source=any(map(is_source_path, paths)),
        touches_test_module=any(map(is_test_module, paths)),
    )


def candidates(scanned: Iterable[Scanned], *, rule: Rule = "deleted", seed: int = 0) -> list[Scanned]:
    """The candidates under a rule, best first, ties by date (older first), then SHA.

    ``deleted`` and ``net`` take steps that change source and delete an assertion line, by the number of those (``net``: not added again). The controls
    ``keywords`` ("fix", "break", "remove" in the subject) and ``uniform`` (an order drawn by ``seed``) may not profit from that filter: they
    take every step that changes source and touches a test module, without which there are no claims.
    """
    by_assertions = rule in ("deleted", "net")
    found = [each for each in scanned if each.touches_source and (each.deleted > 0 if by_assertions else each.touches_test_module)]
    found.sort(key=lambda each: (each.step.date, each.step.child))
    if rule == "uniform":
        # a hash, not a shuffle: one more commit does not reorder the others
        return sorted(found, key=lambda each: content_id("uniform", str(seed), each.step.parent, each.step.child))
    score = {"deleted": lambda each: each.deleted, "net": lambda each: each.net, "keywords": _keywords}[rule]
    return sorted(found, key=lambda each: -score(each))


def _keywords(scanned: Scanned) -> int:
    return len({word.lower() for word in _KEYWORDS.findall(scanned.step.subject)})


def record(repository: Repository, found: Scanned, *, repo: str, kind: Kind, order: int, names: Mapping[str, str]) -> Change:
    """The full record of a chosen step. Paths are those of every touched file, whatever its kind; their content is not read."""
    step = found.step
    touched = repository.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", step.parent, step.child)
    paths = sorted(os.fsdecode(path) for path in touched.split(b"\0")[:-1])
    diff = decoded(repository.git(*_DIFF, "-U3", step.parent, step.child, "--", "*.py"))
    parent, child = names.get(step.parent, step.parent), names.get(step.child, step.child)
    return Change(
        change_id=change_id(kind, repo, parent, child),
        repo=repo,
        kind=kind,
        parent=parent,
        child=child,
        date=step.date,
        order=order,
        is_merge=step.is_merge,
        deleted_assertions=found.deleted,
        net_deleted_assertions=found.net,
        source_files=tuple(path for path in paths if is_source_path(path)),
        test_files=tuple(path for path in paths if is_test_path(path)),
        source_diff=source_only_diff(diff),
    )
