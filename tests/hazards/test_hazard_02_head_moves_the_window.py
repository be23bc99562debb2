"""Hazard 2: mining from HEAD shifts the window after an interruption.

A run was stopped half-way with the clone's HEAD parked on another commit; taken up again, it mined "the last N commits" of that one. So a branch is
always named, HEAD is refused, a detached HEAD has no say, a kept clone is not fetched again behind a run's back, and the head is recorded.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from claimflip.errors import SourceError
from mining.git_history import GitHistory
from mining.repository import Repository


def grow(repository: Repository, tree: Path, values: range, parent: str | None) -> list[str]:
    made = []
    for value in values:
        (tree / "pkg").mkdir(parents=True, exist_ok=True)
        (tree / "tests").mkdir(exist_ok=True)
        (tree / "pkg/core.py").write_text(f"def f():\n    return {value}\n")
        (tree / "tests/test_core.py").write_text(f"def test_f():\n    assert f() == {value}\n")
        parent = repository.commit(tree, message=f"f is {value}", date=datetime(2024, 1, 1 + value, tzinfo=UTC), parent=parent)
        made.append(parent)
    repository.set_branch("main", made[-1])
    return made


def test_a_clone_left_on_another_commit_is_mined_over_the_same_window(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "toy.git")
    made = grow(repository, tmp_path / "tree", range(6), None)
    source = GitHistory("toy", str(tmp_path / "toy.git"), "main", cache=tmp_path)
    before = list(source.changes())
    repository.git("update-ref", "--no-deref", "HEAD", made[2])
    (tmp_path / "toy.git/HEAD").write_text(f"{made[2]}\n")
    again = GitHistory("toy", str(tmp_path / "toy.git"), "main", cache=tmp_path)
    assert len(before) == 5
    assert list(again.changes()) == before
    assert again.describe() == source.describe()
    assert again.describe()["head"] == made[5]


@pytest.mark.parametrize("name", ["HEAD", "@", "origin/HEAD", "", "HEAD~1", "main~1", "main@{1}"])
def test_what_moves_is_refused_and_the_branches_are_named(tmp_path: Path, name: str) -> None:
    repository = Repository.create(tmp_path / "toy.git")
    grow(repository, tmp_path / "tree", range(2), None)
    source = GitHistory("toy", str(tmp_path / "toy.git"), name, cache=tmp_path)
    with pytest.raises(SourceError, match=r"no branch.*\(main\)"):
        next(source.changes())


def test_a_run_taken_up_after_upstream_moved_sees_the_clone_it_began_with(tmp_path: Path) -> None:
    upstream = Repository.create(tmp_path / "toy.git")
    made = grow(upstream, tmp_path / "tree", range(3), None)
    url = (tmp_path / "toy.git").as_uri()
    before = list(GitHistory("toy", url, "main", cache=tmp_path / "cache").changes())
    grow(upstream, tmp_path / "tree", range(3, 5), made[-1])
    assert list(GitHistory("toy", url, "main", cache=tmp_path / "cache").changes()) == before
    assert len(list(GitHistory("toy", url, "main", cache=tmp_path / "fresh").changes())) == 4


def test_a_recorded_head_can_be_mined_again_by_its_sha(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "toy.git")
    made = grow(repository, tmp_path / "tree", range(3), None)
    before = list(GitHistory("toy", str(tmp_path / "toy.git"), "main", cache=tmp_path).changes())
    grow(repository, tmp_path / "tree", range(3, 5), made[-1])
    assert list(GitHistory("toy", str(tmp_path / "toy.git"), made[-1], cache=tmp_path).changes()) == before
