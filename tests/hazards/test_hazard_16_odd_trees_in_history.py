"""Hazard 16, in mining: non-UTF-8 sources, CRLF, links, submodules, files that vanish by rename, ``src/`` layouts, tests inside the package.

Each of them is ordinary in old libraries, and each has stopped a miner or silently changed what it saw.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claimflip.records import Change
from mining.ranking import rank
from mining.repository import Repository


def write(tree: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)


def changes(tmp_path: Path, before: dict[str, bytes], after: dict[str, bytes]) -> tuple[Repository, list[Change]]:
    """The ranked changes of a repository with two states, each given whole."""
    repository = Repository.create(tmp_path / "toy.git")
    sha = None
    for number, files in enumerate((before, after)):
        tree = tmp_path / f"tree{number}"
        write(tree, files)
        sha = repository.commit(tree, message=str(number), date=datetime(2024, 1, 1 + number, tzinfo=UTC), parent=sha)
    assert sha is not None
    repository.set_branch("main", sha)
    return repository, rank(repository, repository.steps("main"), repo="toy", kind="git", limit=None)[0]


def test_latin1_sources_are_ranked_shown_and_exported_as_they_are(tmp_path: Path) -> None:
    old, new = "# -*- coding: latin-1 -*-\nNAME = 'caf\xe9'\n".encode("latin-1"), "# -*- coding: latin-1 -*-\nNAME = 'th\xe9'\n".encode("latin-1")
    repository, (change,) = changes(
        tmp_path,
        {"pkg/core.py": old, "tests/test_core.py": "# coding: latin-1\nassert NAME == 'caf\xe9'\n".encode("latin-1")},
        {"pkg/core.py": new, "tests/test_core.py": b"# coding: latin-1\n"},
    )
    assert change.deleted_assertions == 1
    assert "-NAME = 'caf\\xe9'\n+NAME = 'th\\xe9'\n" in change.source_diff
    for sha, content in ((change.parent, old), (change.child, new)):
        repository.export(sha, tmp_path / sha)
        assert (tmp_path / sha / "pkg/core.py").read_bytes() == content


def test_carriage_returns_and_attributes_that_would_convert_them_change_nothing(tmp_path: Path) -> None:
    attributes = {".gitattributes": b"* text=auto eol=lf\n*.py -diff export-ignore\n"}
    repository, (change,) = changes(
        tmp_path,
        {**attributes, "pkg/core.py": b"A = 1\r\nB = 1\r\n", "tests/test_core.py": b"assert A == 1\r\n"},
        {**attributes, "pkg/core.py": b"A = 2\r\nB = 1\r\n", "tests/test_core.py": b"assert A == 2\r\n"},
    )
    assert change.source_diff.endswith("@@ -1,2 +1,2 @@\n-A = 1\r\n+A = 2\r\n B = 1\r\n")
    repository.export(change.child, tmp_path / "out")
    assert (tmp_path / "out/pkg/core.py").read_bytes() == b"A = 2\r\nB = 1\r\n"


def test_links_stay_links_but_none_leads_out_of_the_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree, {"pkg/core.py": b"secret = 0\n"})
    targets = {
        "inside": "pkg/core.py",
        "pkg/up": "../pkg/core.py",
        "dangling": "pkg/none.py",
        "folder": "pkg",
        "absolute": str(tree / "pkg"),
        "outside": "../../etc",
        "pkg/through": "../folder/../../x",
        "self": "self",
    }
    for name, target in targets.items():
        (tree / name).symlink_to(target)
    repository = Repository.create(tmp_path / "toy.git")
    sha = repository.commit(tree, message="x", date=datetime(2024, 1, 1, tzinfo=UTC), parent=None)
    repository.export(sha, tmp_path / "deep/out")
    out = tmp_path / "deep/out"
    found = {str(path.relative_to(out)): os.readlink(path) for path in out.rglob("*") if path.is_symlink()}
    assert found == {name: targets[name] for name in ("inside", "pkg/up", "dangling", "folder", "self")}
    assert (out / "inside").read_bytes() == b"secret = 0\n"


def test_a_submodule_is_an_empty_folder_and_no_reason_to_stop(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "toy.git")
    blobs = {value: repository.git("hash-object", "-w", "--stdin", given=value).decode().strip() for value in (b"A = 1\n", b"A = 2\n", b"assert A == 1\n", b"")}
    parent = ""
    for link, core, test in (("1" * 40, b"A = 1\n", b"assert A == 1\n"), ("2" * 40, b"A = 2\n", b"")):
        package = repository.git("mktree", given=f"100644 blob {blobs[core]}\tcore.py\n".encode()).decode().strip()
        tests = repository.git("mktree", "--missing", given=f"160000 commit {link}\tcases\n100644 blob {blobs[test]}\ttest_core.py\n".encode()).decode().strip()
        root = repository.git("mktree", given=f"040000 tree {package}\tpkg\n040000 tree {tests}\ttests\n".encode()).decode().strip()
        who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
        parent = _commit_tree(repository, who, root, parent)
    repository.set_branch("main", parent)
    (change,), _ = rank(repository, repository.steps("main"), repo="toy", kind="git", limit=None)
    assert change.test_files == ("tests/cases", "tests/test_core.py")
    repository.export(change.child, tmp_path / "out")
    assert list((tmp_path / "out/tests/cases").iterdir()) == []


def _commit_tree(repository: Repository, who: list[str], root: str, parent: str) -> str:
    text = (
        f"tree {root}\n"
        + (f"parent {parent}\n" if parent else "")
        + "author a <a@b.invalid> 1700000000 +0000\ncommitter a <a@b.invalid> 1700000000 +0000\n\nx\n"
    )
    return repository.git("hash-object", "-w", "-t", "commit", "--stdin", given=text.encode()).decode().strip()


def test_a_module_that_vanishes_by_rename_is_known_by_both_names(tmp_path: Path) -> None:
    body = b"".join(b"def f%d():\n    return %d\n\n\n" % (i, i) for i in range(20))
    _, (change,) = changes(
        tmp_path,
        {"pkg/old.py": body, "tests/test_old.py": b"assert f1() == 1\n" + body},
        {"pkg/new.py": body.replace(b"return 1\n", b"return 100\n"), "tests/test_new.py": b"assert f1() == 100\n" + body},
    )
    assert change.source_files == ("pkg/new.py", "pkg/old.py")
    assert change.test_files == ("tests/test_new.py", "tests/test_old.py")
    assert "rename from pkg/old.py\nrename to pkg/new.py\n" in change.source_diff
    assert change.source_diff.count("\n-") == 2  # the old name and the one changed line, not the whole module
    assert change.deleted_assertions == 1


def test_a_helper_that_moves_from_the_tests_into_the_package_is_not_shown(tmp_path: Path) -> None:
    body = b"".join(b"def f%d():\n    return %d\n\n\n" % (i, i) for i in range(20))
    _, (change,) = changes(
        tmp_path,
        {"pkg/core.py": b"A = 1\n", "tests/support.py": body, "tests/test_core.py": b"assert A == 1\n"},
        {"pkg/core.py": b"A = 2\n", "pkg/support.py": body + b"# moved\n", "tests/test_core.py": b"assert A == 2\n"},
    )
    assert change.source_files == ("pkg/core.py", "pkg/support.py")
    assert change.test_files == ("tests/support.py", "tests/test_core.py")
    assert "support" not in change.source_diff


@pytest.mark.parametrize(("package", "tests"), [("src/pkg", "tests"), ("pkg", "pkg/tests"), ("src/pkg", "src/pkg/tests"), ("pkg", "pkg")])
def test_layouts_with_src_and_with_tests_inside_or_beside_the_source_are_told_apart(tmp_path: Path, package: str, tests: str) -> None:
    _, (change,) = changes(
        tmp_path,
        {f"{package}/core.py": b"A = 1\n", f"{tests}/test_core.py": b"assert A == 1\n", "tests/data.json": b"1"},
        {f"{package}/core.py": b"A = 2\n", f"{tests}/test_core.py": b"assert A == 2\n", "tests/data.json": b"2"},
    )
    assert change.source_files == (f"{package}/core.py",)
    assert change.test_files == tuple(sorted(["tests/data.json", f"{tests}/test_core.py"]))
    assert "assert" not in change.source_diff
