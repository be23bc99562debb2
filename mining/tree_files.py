"""A folder's content on its way into git and out of it: links that stay inside, modes, paths as bytes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path


def write_links(root: Path, links: list[tuple[Path, bytes]]) -> None:
    """Write links last, so that no file is written through one, and take back those that lead out of the tree."""
    inside = os.path.realpath(root)
    written = []
    for target, content in links:
        if not os.path.lexists(target) and content and b"\0" not in content:
            target.symlink_to(os.fsdecode(content))
            written.append(target)
    for target in written:
        reached = os.path.realpath(target)
        if target.readlink().is_absolute() or not (reached == inside or reached.startswith(inside + os.sep)):
            target.unlink()


def files(tree: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Path below ``tree``, git mode and content of everything that git can store."""
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted([*names, *folders]):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            below = os.fsencode(path.relative_to(tree))
            if stat.S_ISLNK(mode):
                yield below, b"120000", os.fsencode(path.readlink())
            elif stat.S_ISREG(mode) and name != ".git":
                yield below, b"100755" if mode & stat.S_IXUSR else b"100644", path.read_bytes()


def quoted(path: bytes) -> bytes:
    """A path as it stands between double quotes in a fast-import stream."""
    return path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
