"""Seconds to rank a history by its deleted assertion lines: one streaming git process against PyDriller's plain traversal, by the same rules.

    python benchmarks/ranking_speed.py [REPOSITORY BRANCH]

Without a repository, one of 600 commits is generated. Both rank every commit that is no merge, because PyDriller shows no changes of a merge, and read
the same bare clone, because PyDriller writes to the configuration of a repository that it opens. Exits with 1 when the ranks differ.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pydriller

from claimflip.source.assertions import is_assertion_line
from claimflip.source.paths import is_source_path, is_test_path
from mining.ranking import candidates, scan
from mining.repository import Repository

Ranks = list[tuple[str, int]]
FOLDERS = ("pkg", "tests", "docs")
EDITS = ("replace", "replace", "insert", "delete", "delete", "rename", "new", "remove")
LINES = (
    "    assert f({0}) == '{1}'",
    "    self.assertEqual(f({0}), '{1}')",
    "    with pytest.raises(ValueError, match='{1}'):",
    "    value = f({0}, '{1}')",
    "# assert {0}: {1}",
    "-- {0} {1}",
    "",
)
WORDS = ("plain", "größe", "猫", "naïve", "a\x0cb", "c\r", "d\u2028e")


def generated(folder: Path, *, commits: int, seed: int) -> Repository:
    """A repository of so many commits behind its first, each with one to four small edits of package, tests or docs; two commits share a date."""
    rng, tree = random.Random(seed), folder / "tree"
    for name in FOLDERS:
        (tree / name).mkdir(parents=True)
        for number in range(8):
            (tree / name / _name(name, str(number))).write_bytes(b"\n".join(_line(rng) for _ in range(60)))
    repository = Repository.create(folder / "generated.git")
    parent = None
    for number in range(commits + 1):
        for _ in range(rng.randint(1, 4) if number else 0):
            _edit(tree, rng)
        date = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=number // 2)
        parent = repository.commit(tree, message=f"step {number}", date=date, parent=parent)
    assert parent is not None
    repository.set_branch("main", parent)
    return repository


def _edit(tree: Path, rng: random.Random) -> None:
    folder = rng.choice(FOLDERS)
    files = sorted((tree / folder).iterdir())
    file = rng.choice(files)
    lines = file.read_bytes().split(b"\n")
    place = rng.randrange(len(lines))
    match rng.choice(EDITS):
        case "replace":
            lines[place] = _line(rng)
        case "insert":
            lines[place:place] = [_line(rng) for _ in range(rng.randint(1, 6))]
        case "delete":
            del lines[place : place + rng.randint(1, 6)]
        case "rename":
            file.unlink()
            folder = rng.choice(FOLDERS)
            file, lines[place] = tree / folder / _name(folder, f"ß{rng.randrange(10**6)}"), _line(rng)
        case "new":
            file, lines = tree / folder / _name(folder, f"new{rng.randrange(10**6)}"), [_line(rng) for _ in range(40)]
        case _:
            lines = []
    if lines or len(files) < 4:
        file.write_bytes(b"\n".join(lines))
    else:
        file.unlink()


def _name(folder: str, stem: str) -> str:
    return f"test_{stem}.py" if folder == "tests" else f"part_{stem}.py"


def _line(rng: random.Random) -> bytes:
    # some of it is no UTF-8
    return rng.choice(LINES).format(rng.randrange(100), rng.choice(WORDS)).encode(rng.choice(("utf-8", "utf-8", "latin-1")), "replace")


def by_scan(repository: Repository, branch: str) -> Ranks:
    """The candidates and their counts of deleted assertion lines, best first."""
    steps = (step for step in repository.steps(branch, history="all") if not step.is_merge)
    return [(found.step.child, found.deleted) for found in candidates(scan(repository, steps))]


def by_pydriller(git_dir: Path, branch: str) -> Ranks:
    """The same out of PyDriller's traversal."""
    found = []
    for commit in pydriller.Repository(str(git_dir), only_in_branch=branch, only_no_merge=True).traverse_commits():
        deleted, touches_source = 0, False
        for file in commit.modified_files if commit.parents else ():  # a root commit is no step
            paths = [path for path in (file.old_path, file.new_path) if path and path.endswith(".py")]
            touches_source |= any(map(is_source_path, paths))
            if paths and is_test_path(paths[0]):
                deleted += sum(is_assertion_line(text) for _, text in file.diff_parsed["deleted"])
        if touches_source and deleted:
            found.append((-deleted, commit.committer_date, commit.hash))
    return [(sha, -deleted) for deleted, _, sha in sorted(found)]


def main() -> int:
    """Rank both ways, print the seconds, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repository", nargs="?", help="a clone or bare repository")
    parser.add_argument("branch", nargs="?", default="main")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source = Repository.open(asked.repository, Path(scratch)) if asked.repository else generated(Path(scratch), commits=600, seed=0)
        head = source.head(asked.branch)
        clone = Repository(Path(scratch) / "clone.git")
        subprocess.run(["git", "clone", "--quiet", "--bare", "--shared", source.git_dir, clone.git_dir], check=True)
        began = time.perf_counter()
        ours = by_scan(clone, head)
        between = time.perf_counter()
        theirs = by_pydriller(clone.git_dir, head)
        seconds = between - began, time.perf_counter() - between
    print(f"{len(ours)} candidates; scan {seconds[0]:.1f} s, PyDriller {seconds[1]:.1f} s: {seconds[1] / seconds[0]:.1f} times as long")
    if ours == theirs:
        return 0
    counts = dict(ours), dict(theirs)
    differing = sorted(sha for sha in counts[0].keys() | counts[1].keys() if counts[0].get(sha) != counts[1].get(sha))
    print(f"the ranks differ, at {len(differing)} commits: " + ", ".join(f"{sha} ({counts[0].get(sha)}, {counts[1].get(sha)})" for sha in differing[:10]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
