"""Our scan against PyDriller, which has its own way to git and its own reading of a diff: on commits that are no merges both must say the same."""

import os
import runpy
from pathlib import Path

import pytest

from mining.ranking import rank

SPEED = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "ranking_speed.py"))


@pytest.mark.parametrize("seed", [0, 1])
def test_ranks_and_counts_of_a_history_with_renames_and_odd_bytes_are_pydrillers(tmp_path, monkeypatch, seed):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = SPEED["generated"](tmp_path, commits=40, seed=seed)
    changes, counts = rank(repository, repository.steps("main"), repo="toy", kind="git", limit=None)
    ranks = [(change.child, change.deleted_assertions) for change in changes]
    assert ranks == SPEED["by_pydriller"](repository.git_dir, "main")
    assert ranks == SPEED["by_scan"](repository, "main")
    # the history has what could tell the two apart
    assert counts["steps"] == 40 > counts["candidates"] > 5
    assert len({count for _, count in ranks}) < len(ranks)
    whole = repository.git("log", "-p", "-M", "main")
    for found in (b"rename from ", b"new file", b"deleted file", b"\n-# assert", "größe".encode(), "größe".encode("latin-1"), b"\r", b"\n--- 1"):
        assert found in whole, found
