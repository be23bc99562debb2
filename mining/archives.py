"""Unpack source archives that strangers wrote: nothing lands outside the folder, and nothing grows without bound."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Literal, cast

from mining.tree_files import write_links

MAX_BYTES = 512 * 2**20
MAX_FILES = 50_000
SUFFIXES = (".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz", ".tar")
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, UnicodeError, RuntimeError, NotImplementedError, ValueError, KeyError)
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)  # the machine's trouble, not the archive's


class ArchiveError(Exception):
    """An archive that is broken, hostile or too large; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """One entry of an archive: ``open`` gives a file's bytes, ``target`` is where a link points."""

    name: str
    kind: Literal["file", "folder", "link"]
    executable: bool = False
    target: bytes = b""
    open: Callable[[], IO[bytes]] | None = None


def unpack(archive: Path, into: Path, *, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
    """Unpack a tar (plain, gz, bz2, xz) or zip archive into the empty or missing folder ``into``, without its single top folder.

    Of the modes only the executable bit is kept. ``.git`` folders and links that lead out are left out; an absolute path, ``..``, a device, or more than
    ``max_bytes`` bytes or ``max_files`` entries raise ArchiveError, and nothing is left behind.
    """
    into.mkdir(parents=True, exist_ok=True)
    try:
        with ExitStack() as opened:
            _write(_members(archive, opened, max_bytes, max_files), into, max_bytes)
    except BaseException as error:
        shutil.rmtree(into, ignore_errors=True)
        if isinstance(error, _BROKEN) or (isinstance(error, OSError) and error.errno not in _OURS):
            raise ArchiveError(f"broken archive ({type(error).__name__}: {str(error).partition(chr(10))[0]})") from None
        raise


def _members(archive: Path, opened: ExitStack, max_bytes: int, max_files: int) -> list[_Member]:
    """The archive's entries, names and number checked; a tar is first decompressed into a scratch file, so that its headers are bounded too."""
    if zipfile.is_zipfile(archive):
        found = _zip_members(opened.enter_context(zipfile.ZipFile(archive)))
    else:
        plain = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        # headers and padding of small files can double a tar
        with _decompressed(archive) as packed:
            _copy(packed, plain, 2 * max_bytes)
        plain.seek(0)
        found = _tar_members(opened.enter_context(tarfile.open(fileobj=plain, mode="r:")))  # noqa: SIM115
    members: list[_Member] = []
    for member in found:
        if len(members) == max_files:
            raise ArchiveError(f"more than {max_files} entries")
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\0" in member.name:
            raise ArchiveError(f"entry {member.name!r} leads out of the archive")
        members.append(member)
    return members


def _decompressed(archive: Path) -> IO[bytes]:
    match archive.suffix:
        case ".gz" | ".tgz":
            return cast(IO[bytes], gzip.open(archive))
        case ".bz2":
            return bz2.open(archive)
        case ".xz":
            return lzma.open(archive)
        case _:
            return archive.open("rb")


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        if info.isdir():
            yield _Member(name=info.name, kind="folder")
        elif info.issym():
            yield _Member(name=info.name, kind="link", target=os.fsencode(info.linkname))
        elif info.isreg() or info.islnk():
            # a hard link is a copy of what it names in the archive itself
            yield _Member(name=info.name, kind="file", executable=bool(info.mode & stat.S_IXUSR), open=partial(_tar_file, archive, info))
        else:
            raise ArchiveError(f"entry {info.name!r} is a device or another special file")


def _tar_file(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    if info.islnk() and not archive.getmember(info.linkname).isreg():
        raise ArchiveError(f"entry {info.name!r} is a hard link to something that is no file of the archive")
    stream = archive.extractfile(info)
    assert stream is not None
    return stream


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        mode = info.external_attr >> 16
        if info.is_dir():
            yield _Member(name=info.filename, kind="folder")
        elif stat.S_ISLNK(mode):
            with archive.open(info) as stream:
                yield _Member(name=info.filename, kind="link", target=stream.read(4096))
        elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
            yield _Member(name=info.filename, kind="file", executable=bool(mode & stat.S_IXUSR), open=partial(archive.open, info))
        else:
            raise ArchiveError(f"entry {info.filename!r} is a device or another special file")


def _write(members: Iterable[_Member], into: Path, max_bytes: int) -> None:
    kept = [(parts, member) for member in members if (parts := PurePosixPath(member.name).parts) and ".git" not in map(str.lower, parts)]
    tops = {parts[0] for parts, _ in kept}
    wrapped = len(tops) == 1 and any(len(parts) > 1 for parts, _ in kept)
    links, left = [], max_bytes
    for parts, member in kept:
        target = into.joinpath(*parts[wrapped:])
        if member.kind == "folder":
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if member.kind == "link":
            links.append((target, member.target))
            continue
        assert member.open is not None
        with member.open() as stream, target.open("wb") as written:
            left -= _copy(stream, written, left)
        target.chmod(0o755 if member.executable else 0o644)
    write_links(into, links)


def _copy(source: IO[bytes], target: IO[bytes], limit: int) -> int:
    """Copy to the end and return the number of bytes; raises ArchiveError past the limit."""
    copied = 0
    while block := source.read(2**20):
        copied += len(block)
        if copied > limit:
            raise ArchiveError("larger than the limit when unpacked")
        target.write(block)
    return copied
