import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from claimflip.errors import ConfigError, SourceError
from claimflip.protocols import Source
from mining.git_history import GitHistory
from mining.ranking import rank, scan
from mining.repository import Repository

CORE = "def f():\n    return {}\n"
TEST = "from pkg.core import f\n\n\ndef test_f():\n    assert f() == {}\n"


class Checkout:
    """A tiny clone with a clock: every commit is a minute later than the one before."""

    def __init__(self, path: Path) -> None:
        self.path, self.minute = path, 0
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        self.minute += 1
        date = f"2024-01-01T00:{self.minute:02}:00+0000"
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b.invalid"), ("DATE", date))}
        environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(["git", *arguments], cwd=self.path, env=environment, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, subject: str, **files: str | None) -> str:
        """Commit files given as keyword ``pkg__core`` for ``pkg/core.py``; None deletes one."""
        for name, text in files.items():
            path = self.path / f"{name.replace('__', '/')}.py"
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def merge(self, branch: str, subject: str) -> str:
        self.git("merge", "--quiet", "--no-ff", "-m", subject, branch)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path / "clone")
    checkout.commit("start", pkg__core=CORE.format(1), tests__test_core=TEST.format(1))
    return checkout


def history(clone: Checkout, **settings: object) -> GitHistory:
    return GitHistory("toy", str(clone.path), "main", cache=clone.path.parent / "cache", **settings)  # type: ignore[arg-type]


def subjects(clone: Checkout, **settings: object) -> list[str]:
    return [step.subject for step in Repository.open(str(clone.path), clone.path).steps("main", **settings)]  # type: ignore[arg-type]


def test_a_change_is_recorded_with_its_counts_paths_and_source_diff(clone: Checkout) -> None:
    child = clone.commit("f is two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2), tests__helpers="x = 1\n", docs__conf="y = 1\n")
    source = history(clone)
    assert isinstance(source, Source)
    (change,) = source.changes()
    assert (change.child, change.parent, change.repo, change.kind, change.order, change.is_merge) == (
        child,
        clone.git("rev-parse", "HEAD~1"),
        "toy",
        "git",
        0,
        False,
    )
    assert (change.deleted_assertions, change.net_deleted_assertions) == (1, 1)
    assert change.source_files == ("pkg/core.py",)
    assert change.test_files == ("tests/helpers.py", "tests/test_core.py")
    assert change.source_diff == (
        "diff --git a/pkg/core.py b/pkg/core.py\n--- a/pkg/core.py\n+++ b/pkg/core.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n"
    )
    for side, value in (("parent", 1), ("child", 2)):
        source.export(change, side, clone.path.parent / side)  # type: ignore[arg-type]
        assert (clone.path.parent / side / "pkg/core.py").read_text() == CORE.format(value)


def test_what_was_mined_is_described_without_a_path_of_the_machine(clone: Checkout) -> None:
    head = clone.commit("f is two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2))
    source = history(clone, limit=0)
    assert list(source.changes()) == []
    said = source.describe()
    assert (said["location"], said["branch"], said["head"]) == ("clone", "main", head)
    assert (said["steps"], said["candidates"], said["kept"], said["unreadable"]) == (1, 1, 0, 0)
    assert said["window"]["first"] == said["window"]["last"]
    assert str(clone.path.parent) not in str(said)


def test_a_merge_counts_as_one_step_and_a_sync_merge_as_none(clone: Checkout) -> None:
    clone.git("checkout", "--quiet", "-b", "feature")
    clone.commit("part one", pkg__core=CORE.format(2))
    clone.commit("part two", tests__test_core=TEST.format(2))
    clone.git("checkout", "--quiet", "main")
    clone.commit("meanwhile", pkg__other="z = 1\n")
    merged = clone.merge("feature", "Merge pull request #1 from someone/feature")
    clone.git("checkout", "--quiet", "-b", "theirs", "HEAD~1")
    clone.commit("other people's work", pkg__more="a = 1\n")
    clone.git("checkout", "--quiet", "main")
    clone.merge("theirs", "Merge branch 'main' of https://example.invalid/x")
    clone.git("checkout", "--quiet", "-b", "again", "HEAD~1")
    clone.commit("more of it", pkg__still="b = 1\n")
    clone.git("checkout", "--quiet", "main")
    clone.merge("again", "Merge remote-tracking branch 'origin/main'")
    assert subjects(clone) == ["Merge pull request #1 from someone/feature", "meanwhile"]
    assert subjects(clone, history="nonmerge") == ["meanwhile"]
    assert set(subjects(clone, history="all")) == {
        "Merge pull request #1 from someone/feature", "meanwhile", "part one", "part two", "other people's work", "more of it",
    }  # fmt: skip
    (change,) = history(clone).changes()
    assert (change.child, change.is_merge, change.source_files, change.test_files) == (merged, True, ("pkg/core.py",), ("tests/test_core.py",))


def test_the_window_is_bounded_by_the_committers_date(clone: Checkout) -> None:
    for subject in ("one", "two", "three"):
        clone.commit(subject)
    dates = {step.subject: step.date for step in Repository.open(str(clone.path), clone.path).steps("main")}
    assert subjects(clone, since=dates["two"]) == ["three", "two"]
    assert subjects(clone, until=dates["two"]) == ["two", "one"]
    assert history(clone, until=dates["two"].replace(tzinfo=None)).until == dates["two"]
    assert subjects(clone, since=datetime(2030, 1, 1, tzinfo=UTC)) == []


def test_a_moved_test_file_loses_no_assertion_and_both_its_names_are_touched(clone: Checkout) -> None:
    clone.commit("move", pkg__core=CORE.format(2), tests__test_core=None, tests__test_moved=TEST.format(1))
    source = history(clone)
    assert list(source.changes()) == []
    clone.commit("and change", pkg__core=CORE.format(3), tests__test_moved=None, tests__test_again=TEST.format(3))
    (change,) = source.changes()
    assert change.test_files == ("tests/test_again.py", "tests/test_moved.py")
    assert change.deleted_assertions == 1


def test_rankings_order_by_their_own_rule_and_the_controls_skip_the_assertion_filter(clone: Checkout) -> None:
    many = "".join(f"def test_{i}():\n    assert f() != {i + 10}\n\n\n" for i in range(3))
    grown = clone.commit("grow", pkg__core=CORE.format(2), tests__test_core=TEST.format(2) + many)
    moved = clone.commit("move three", pkg__core=CORE.format(3), tests__test_core=TEST.format(2), tests__test_more=many)
    fixed = clone.commit("Fix and remove it", pkg__core=CORE.format(4), tests__test_core=TEST.format(4))
    clone.commit("source alone", pkg__core=CORE.format(5))
    clone.commit("tests alone", tests__test_core="")
    found = {rule: [change.child for change in history(clone, ranking=rule, limit=None).changes()] for rule in ("deleted", "net", "keywords", "uniform")}
    assert found["deleted"] == [moved, grown, fixed]  # equally many: the older one first
    assert found["net"] == [grown, fixed, moved]
    assert found["keywords"][0] == fixed
    assert set(found["keywords"]) == set(found["uniform"]) == {grown, moved, fixed}
    orders = {tuple(change.child for change in history(clone, ranking="uniform", seed=seed).changes()) for seed in range(12)}
    assert len(orders) > 1
    assert [change.child for change in history(clone, ranking="uniform", seed=0).changes()] == found["uniform"]


def test_the_best_are_kept_and_called_by_their_display_names(clone: Checkout) -> None:
    first = clone.git("rev-parse", "HEAD")
    second = clone.commit("two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2))
    clone.commit("three", pkg__core=CORE.format(3), tests__test_core=TEST.format(3))
    repository = Repository.open(str(clone.path), clone.path)
    (change,), counts = rank(repository, repository.steps("main"), repo="toy", kind="index", limit=1, names={first: "1.0", second: "2.0"})
    assert (change.parent, change.child, change.kind) == ("1.0", "2.0", "index")
    assert counts == {"steps": 2, "unreadable": 0, "candidates": 2, "kept": 1}


def test_a_missing_branch_is_told_with_those_that_exist(clone: Checkout) -> None:
    clone.git("branch", "stable")
    source = GitHistory("toy", str(clone.path), "master", cache=clone.path.parent)
    with pytest.raises(SourceError, match=r"no branch 'master' .*\(main, stable\)"):
        next(source.changes())


def test_a_location_without_a_repository_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for location in (str(tmp_path / "empty"), str(tmp_path / "gone"), f"file://{tmp_path}/gone"):
        with pytest.raises(SourceError, match=location):
            Repository.open(location, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_password_in_an_address_is_neither_told_nor_recorded(tmp_path: Path) -> None:
    address = "http://user:s3cret@127.0.0.1:1/toy.git"
    source = GitHistory("toy", address, "main", cache=tmp_path)
    with pytest.raises(SourceError) as told:
        next(source.changes())
    assert "s3cret" not in str(told.value)
    assert "http://127.0.0.1:1/toy.git" in str(told.value)
    assert source.describe()["location"] == "http://127.0.0.1:1/toy.git"


def test_a_setting_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="2024-01-31"):
        GitHistory("toy", "x", "main", cache=tmp_path, since="yesterday")


def test_clone_bare_repository_and_url_give_the_same_changes(clone: Checkout, tmp_path: Path) -> None:
    clone.commit("two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2))
    clone.git("clone", "--quiet", "--bare", str(clone.path), str(tmp_path / "bare.git"))
    locations = [str(clone.path), str(tmp_path / "bare.git"), clone.path.as_uri()]
    found = [list(GitHistory("toy", location, "main", cache=tmp_path / "cache").changes()) for location in locations]
    assert len(found[0]) == 1
    assert found[0] == found[1] == found[2]


def test_the_users_clone_and_its_settings_neither_change_nor_matter(clone: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clone.commit("two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2))
    before = list(history(clone).changes())
    for key, value in (("diff.noprefix", "true"), ("diff.external", "false"), ("diff.context", "0"), ("core.abbrev", "4"), ("color.ui", "always")):
        clone.git("config", key, value)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    files = {path: path.read_bytes() for path in (clone.path / ".git").rglob("*") if path.is_file()}
    source = history(clone)
    assert list(source.changes()) == before
    source.export(before[0], "child", tmp_path / "tree")
    assert {path: path.read_bytes() for path in (clone.path / ".git").rglob("*") if path.is_file()} == files


def test_a_step_whose_content_the_clone_lacks_is_counted_and_the_others_are_ranked(clone: Checkout, tmp_path: Path) -> None:
    clone.commit("two", pkg__core=CORE.format(2), tests__test_core=TEST.format(2))
    clone.commit("lost", pkg__lost="lost = 1\n" * 50, pkg__core=CORE.format(3), tests__test_core=TEST.format(3))
    clone.commit("four", pkg__core=CORE.format(4), tests__test_core=TEST.format(4))
    blob = clone.git("rev-parse", "HEAD:pkg/lost.py")
    (clone.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    repository = Repository.open(str(clone.path), tmp_path)
    assert [(each.step.subject, each.readable) for each in scan(repository, repository.steps("main"))] == [("four", True), ("lost", False), ("two", True)]
    source = history(clone)
    assert len(list(source.changes())) == 2
    assert source.describe()["unreadable"] == 1
    repository.export("main", tmp_path / "tree")
    assert (tmp_path / "tree/pkg/core.py").exists()
    assert not (tmp_path / "tree/pkg/lost.py").exists()


def test_a_folder_committed_twice_has_one_sha_and_comes_back_byte_for_byte(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "pkg").mkdir(parents=True)
    (tree / ".gitignore").write_text("*.log\n")
    (tree / ".gitattributes").write_text("* text=auto eol=crlf export-ignore\n*.txt ident\n")
    (tree / "pkg/out.log").write_bytes(b"kept\r\n")
    (tree / 'pkg/odd "name"\\ é.txt').write_bytes(b"$Id$\n\r\n\x00\xff")
    (tree / "pkg/run.sh").write_text("#!/bin/sh\n")
    (tree / "pkg/run.sh").chmod(0o755)
    (tree / "link").symlink_to("pkg/out.log")
    made = []
    for name in ("one.git", "two.git"):
        repository = Repository.create(tmp_path / name)
        first = repository.commit(tree, message="1.0", date=datetime(2020, 1, 1, tzinfo=UTC), parent=None)
        (tmp_path / name / "next").mkdir()
        shutil.copytree(tree / "pkg", tmp_path / name / "next/pkg")
        (tmp_path / name / "next/pkg/out.log").unlink()
        made.append((first, repository.commit(tmp_path / name / "next", message="2.0\n\nbody", date=datetime(2021, 1, 1, tzinfo=UTC), parent=first)))
        repository.set_branch("main", made[-1][1])
    assert made[0] == made[1]
    (step,) = repository.steps("main")
    assert (step.parent, step.child, step.date, step.subject) == (*made[0], datetime(2021, 1, 1, tzinfo=UTC), "2.0")
    (tmp_path / "back").mkdir()
    repository.export(made[0][0], tmp_path / "back")
    for path in tree.rglob("*"):
        back = tmp_path / "back" / path.relative_to(tree)
        assert back.lstat().st_mode == path.lstat().st_mode
        if path.is_file():
            assert back.read_bytes() == path.read_bytes()
    repository.export(made[0][1], tmp_path / "back2")
    assert not (tmp_path / "back2/pkg/out.log").exists()


def test_a_folder_with_something_in_it_is_not_written_over(clone: Checkout, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/mine.txt").write_text("mine")
    repository = Repository.open(str(clone.path), tmp_path)
    with pytest.raises(SourceError, match="taken"):
        repository.export("main", tmp_path / "taken")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["mine.txt"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    with pytest.raises(SourceError, match="not empty"):
        Repository.create(tmp_path / "taken")


def test_an_export_that_breaks_off_leaves_nothing_under_the_trees_name(clone: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.open(str(clone.path), tmp_path)

    def interrupted(root: Path, links: object) -> None:
        assert (root / "pkg/core.py").exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("mining.repository.write_links", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repository.export("main", tmp_path / "out/tree")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(SourceError, match="ls-tree"):
        repository.export("0" * 40, tmp_path / "out/tree")
    assert list((tmp_path / "out").iterdir()) == []
