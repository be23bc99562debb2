"""Trees of files on disk: putting the parent's tests back over the child's source."""

from __future__ import annotations

import shutil
from pathlib import Path

from claimflip.records import Change


def restore_tests(change: Change, parent: Path, child: Path) -> None:
    """Make ``child`` the tree that the claims are put to: for each test file that the change touched, the parent's version; where it has none, nothing.

    Symbolic links are restored as links. The rule is the paper's (section III-B).
    """
    for path in change.test_files:
        ours, theirs = parent / path, child / path
        if theirs.is_symlink() or theirs.is_file():
            theirs.unlink()
        elif theirs.is_dir():
            shutil.rmtree(theirs)
        if ours.is_symlink() or ours.is_file():
            _make_folder(theirs.parent, child)
            shutil.copy2(ours, theirs, follow_symlinks=False)


def _make_folder(folder: Path, root: Path) -> None:
    """Make a folder below the root, also where the child has a file in its way."""
    for one in reversed([folder, *folder.parents]):
        if one.is_relative_to(root) and one.exists() and not one.is_dir():
            one.unlink()
    folder.mkdir(parents=True, exist_ok=True)
