"""A thin layer over the git command: the steps of a branch, whole trees, and commits of unpacked releases.

A repository of the user's is only read: nothing here touches its index, work tree, references or configuration.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from claimflip.errors import SourceError
from mining.git_command import command, complaint, run, start
from mining.tree_files import files, quoted, write_links

History = Literal["first-parent", "nonmerge", "all"]
_URL = re.compile(r"^([a-z][a-z0-9+.-]*://|[\w.-]+@[\w.-]+:)", re.IGNORECASE)
_SHA = re.compile(r"^[0-9a-f]{40}$")
_AUTHOR = "claimflip <claimflip@example.invalid>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit beside its first parent; ``date`` is the committer's, in UTC."""

    parent: str
    child: str
    date: datetime
    subject: str
    is_merge: bool


class Repository:
    """One git repository, addressed by its git directory. Errors are SourceError."""

    def __init__(self, git_dir: Path, *, location: str | None = None) -> None:
        self.git_dir = git_dir
        self.location = location or str(git_dir)

    @classmethod
    def open(cls, location: str, cache: Path) -> Repository:
        """A repository by URL, or by the path of a clone or bare repository, which is used in place.

        A URL is cloned bare into ``cache`` once and never fetched again by itself, so that a run taken up later sees the same head;
        deleting the clone renews it.
        """
        path = Path(location).expanduser()
        if path.exists():
            return cls(_git_dir(path.resolve(), location), location=location)
        if not _URL.match(location):
            raise SourceError(f"no repository at {location!r}: give the URL or the path of a clone or bare repository")
        name = re.sub(r"\W+", "-", location.rstrip("/").removesuffix(".git").rpartition("/")[2])
        kept = cache.expanduser().resolve() / f"{name}-{hashlib.sha256(location.encode()).hexdigest()[:12]}.git"
        if not kept.exists():
            _clone(location, kept)
        return cls(kept, location=without_password(location))

    @classmethod
    def create(cls, git_dir: Path) -> Repository:
        """A new bare repository in the folder ``git_dir``, which may not have anything in it."""
        if git_dir.exists() and any(git_dir.iterdir()):
            raise SourceError(f"{git_dir} is not empty: choose another folder for the new repository")
        done = run(command("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1", "--", str(git_dir)))
        if done.returncode:
            raise SourceError(f"cannot make a repository in {git_dir} ({complaint(done)}): choose another folder")
        return cls(git_dir)

    def git(self, *arguments: str, given: bytes = b"") -> bytes:
        """The output of one git call on this repository; raises SourceError with git's own complaint."""
        done = run(command(*arguments, git_dir=self.git_dir), given=given)
        if done.returncode:
            raise SourceError(f"git {arguments[0]} failed in {self.location} ({complaint(done)}): check the repository with 'git fsck'")
        return done.stdout

    # -- names

    def resolve(self, ref: str) -> str:
        """The full SHA of the commit that ``ref`` names."""
        found = self._commit(ref)
        if found is None:
            raise SourceError(f"no commit {ref!r} in {self.location}: {self._known_branches()}")
        return found

    def head(self, branch: str) -> str:
        """The head of a branch (local, else of ``origin``) or the commit of a tag or full SHA; HEAD is refused, because it moves."""
        if branch.rpartition("/")[2] in {"HEAD", "@", ""} or re.search(r"[~^:]|@\{", branch):
            raise SourceError(f"{branch!r} is no branch, and would move the window from run to run: {self._known_branches()}")
        names = [branch] if _SHA.match(branch) else [f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", f"refs/tags/{branch}"]
        for name in names:
            if (found := self._commit(name)) is not None:
                return found
        raise SourceError(f"no branch {branch!r} in {self.location}: {self._known_branches()}")

    def branches(self) -> list[str]:
        """Names of the local branches and of those that are known of ``origin``, sorted."""
        listed = self.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes/origin").decode(errors="backslashreplace")
        names = {name.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") for name in listed.splitlines()}
        return sorted(names - {"HEAD"})

    def _commit(self, ref: str) -> str | None:
        done = run(command("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", git_dir=self.git_dir))
        return None if done.returncode else done.stdout.decode().strip()

    def _known_branches(self) -> str:
        names = self.branches()
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        return f"name one of its branches ({', '.join(names[:20])}{more})" if names else "it has no branches"

    # -- history

    def steps(self, branch: str, *, history: History = "first-parent", since: datetime | None = None, until: datetime | None = None) -> Iterator[Step]:
        """The steps of a branch, newest first, each beside its first parent; merges count but those that only bring a branch up to date.

        ``nonmerge`` keeps the steps of the first-parent line that are no merges, ``all`` takes every commit that can be reached. A root commit is no step.
        ``since`` and ``until`` (aware) bound the committer's date, both included.
        """
        walk = {"first-parent": "--first-parent", "nonmerge": "--first-parent", "all": "--date-order"}[history]
        listed = self.git("log", walk, "--no-color", "--encoding=UTF-8", "--format=%H%x00%P%x00%ct%x00%s", self.head(branch), "--")
        sync = _sync_merge(branch)

        def walked() -> Iterator[Step]:
            for line in listed.decode(errors="backslashreplace").split("\n")[:-1]:
                child, parents, stamp, subject = line.split("\0", 3)
                date, is_merge = datetime.fromtimestamp(int(stamp), UTC), " " in parents
                if not parents or (since and date < since) or (until and date > until):
                    continue
                if is_merge and (history == "nonmerge" or sync.match(subject)):
                    continue
                yield Step(parent=parents.split(" ")[0], child=child, date=date, subject=subject, is_merge=is_merge)

        return walked()

    # -- content

    def export(self, sha: str, into: Path) -> None:
        """Write the whole tree of a commit into the empty or missing folder ``into``, byte for byte: no attribute, filter or line-end conversion.

        Symbolic links stay links; one that leads out of the tree is left out, because it would be followed later. Submodules become empty folders.
        Content that the clone lacks is left out. The tree is complete when ``into`` has anything in it.
        """
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=into.parent, prefix=f".{into.name}."))
        try:
            scratch.chmod(0o755)
            self._write_tree(sha, scratch)
            scratch.rename(into)  # POSIX: an empty folder of that name is replaced
        except BaseException as error:
            shutil.rmtree(scratch, ignore_errors=True)
            if isinstance(error, OSError):
                raise SourceError(f"cannot write a tree to {into} ({error.strerror}): give an empty folder with room in it") from None
            raise

    def _write_tree(self, sha: str, root: Path) -> None:
        links: list[tuple[Path, bytes]] = []
        wanted: list[tuple[bytes, bytes, Path]] = []
        for entry in self.git("ls-tree", "-r", "-z", "--full-tree", sha).split(b"\0")[:-1]:
            about, _, name = entry.partition(b"\t")
            mode, kind, blob = about.split(b" ")
            path = os.fsdecode(name)
            if any(part in {"", ".", "..", ".git"} for part in path.split("/")):
                continue  # no honest tree has one; written out it could overwrite what is beside the tree
            if kind == b"commit":
                (root / path).mkdir(parents=True, exist_ok=True)
            else:
                wanted.append((mode, blob, root / path))
        for (mode, _, target), content in zip(wanted, self._blobs([blob for _, blob, _ in wanted]), strict=True):
            if content is None:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            if mode == b"120000":
                links.append((target, content))
            else:
                target.write_bytes(content)
                target.chmod(0o755 if mode == b"100755" else 0o644)
        write_links(root, links)

    def _blobs(self, names: list[bytes]) -> Iterator[bytes | None]:
        """The contents of blobs in the order of their names, None for a missing one, from one process."""
        with tempfile.TemporaryFile() as asked:
            asked.write(b"".join(name + b"\n" for name in names))
            asked.seek(0)
            with start(command("cat-file", "--batch", "--buffer", git_dir=self.git_dir), stdin=asked) as process:
                assert process.stdout is not None
                for _ in names:
                    header = process.stdout.readline().split()
                    if not header:
                        raise SourceError(f"git cat-file broke off in {self.location}: check the repository with 'git fsck'")
                    if header[-1] == b"missing":
                        yield None
                        continue
                    yield process.stdout.read(int(header[2]))
                    process.stdout.read(1)

    # -- writing, for repositories of our own

    def commit(self, tree: Path, *, message: str, date: datetime, parent: str | None) -> str:
        """Commit a folder's whole content and return the SHA, which depends on the arguments and that content alone; ``date`` is aware.

        No ignore rule, attribute or line-end conversion applies; ``.git`` and special files are left out, links are stored as links.
        """
        stamp = f"{_AUTHOR} {int(date.timestamp())} +0000"
        text = message.encode()
        with tempfile.TemporaryFile() as stream:
            head = f"commit refs/claimflip/latest\nmark :1\nauthor {stamp}\ncommitter {stamp}\ndata {len(text)}\n"
            stream.write(head.encode() + text + b"\n" + (f"from {parent}\n".encode() if parent else b"") + b"deleteall\n")
            for path, mode, content in files(tree):
                stream.write(b'M %s inline "%s"\ndata %d\n' % (mode, quoted(path), len(content)) + content + b"\n")
            stream.write(b"get-mark :1\ndone\n")
            stream.seek(0)
            with start(command("fast-import", "--quiet", "--force", "--done", "--date-format=raw", git_dir=self.git_dir), stdin=stream) as process:
                assert process.stdout is not None
                sha = process.stdout.read().decode().strip()
        if process.returncode or not _SHA.match(sha):
            raise SourceError(f"git could not commit {tree} to {self.git_dir}: delete that folder and run again")
        return sha

    def set_branch(self, branch: str, sha: str) -> None:
        """Point a branch at a commit, making it where it is missing."""
        self.git("update-ref", f"refs/heads/{branch}", sha)


def without_password(url: str) -> str:
    """A URL as it may be shown and recorded: without user and password."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def _git_dir(path: Path, location: str) -> Path:
    """The git directory of a clone or bare repository at ``path`` itself, never of one around it."""
    done = run(["git", "-c", "safe.directory=*", "-C", str(path), "rev-parse", "--absolute-git-dir"], extra={"GIT_CEILING_DIRECTORIES": str(path.parent)})
    if done.returncode:
        raise SourceError(f"{location!r} is no git repository: give the URL or the path of a clone or bare repository")
    return Path(os.fsdecode(done.stdout.rstrip(b"\n")))


def _clone(url: str, kept: Path) -> None:
    """Clone under a temporary name, so that an interrupted clone is never taken for a whole one."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=f".{kept.name}.") as scratch:
        target = Path(scratch) / "clone"
        done = run(command("clone", "--quiet", "--bare", "--template=", "--", url, str(target)), network=True)
        if done.returncode:
            said = complaint(done).replace(url, without_password(url))
            raise SourceError(f"cannot clone {without_password(url)} ({said}): check the address and the network, or give the path of a clone")
        target.rename(kept)


def _sync_merge(branch: str) -> re.Pattern[str]:
    """Subjects of merges that bring a branch up to date: of the mainline into it, of its own remote twin, of a remote-tracking branch."""
    return re.compile(rf"Merge remote-tracking branch |Merge branch(es)? '(main|master|trunk|{re.escape(branch)})'")
