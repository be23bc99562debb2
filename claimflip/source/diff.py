"""Git's unified diffs as text: by file, cut down to the source, cut to length, and checked for test lines before a model sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from claimflip.errors import LeakError
from claimflip.source.paths import is_source_path

DIFF_LIMIT = 12_000
LEAK_LENGTH = 20
_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_ESCAPE = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
_LETTERS = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def decoded(content: bytes) -> str:
    """Text of a source file or diff: UTF-8, and backslash escapes for bytes that are not, so that it is valid text and no byte is lost."""
    return content.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """One file's part of a diff. ``paths`` are the old and the new path, once where they are equal or one side has no file."""

    paths: tuple[str, ...]
    header: tuple[str, ...]
    hunks: tuple[str, ...]

    def changed(self, marker: str) -> Iterator[str]:
        """The deleted (``-``) or added (``+``) lines without their marker."""
        return (line[1:] for line in self.hunks if line.startswith(marker))


def file_diffs(diff: str) -> Iterator[FileDiff]:
    """The parts of a git diff, in its order. A line of a hunk always starts with its marker, so a part's start can't be mistaken."""
    starts = [match.start() for match in _FILE.finditer(diff)]
    for start, end in pairwise([*starts, len(diff)]):
        lines = diff[start:end].removesuffix("\n").split("\n")
        body = next((index for index, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
        yield FileDiff(paths=_paths(lines[:body]), header=tuple(lines[:body]), hunks=tuple(lines[body:]))


def _paths(header: list[str]) -> tuple[str, ...]:
    found = []
    for line in header[1:]:
        for prefix, side in (("--- ", "a/"), ("+++ ", "b/"), ("rename from ", ""), ("rename to ", ""), ("copy from ", ""), ("copy to ", "")):
            if line.startswith(prefix) and line != f"{prefix}/dev/null":
                found.append(_unquoted(line.removeprefix(prefix).removesuffix("\t")).removeprefix(side))
    if not found:  # neither hunks nor a rename: both names are equal
        both = header[0].removeprefix("diff --git ")
        found = [_unquoted(both[: (len(both) - 1) // 2]).removeprefix("a/")]
    return tuple(dict.fromkeys(found))


def _unquoted(path: str) -> str:
    """A path as git writes it where it holds a quote, a backslash or a control character: in double quotes with C's escapes."""
    if not path.startswith('"'):
        return path
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)) if match[1].isdigit() else _LETTERS.get(match[1], match[1]), path[1:-1])


def source_only_diff(diff: str) -> str:
    """The parts of a diff whose paths, old and new, are all source. Blob names (``index`` lines) go: they tell a reader nothing."""
    kept = []
    for part in file_diffs(diff):
        if all(is_source_path(path) for path in part.paths):
            kept += [line for line in part.header if not line.startswith("index ")] + list(part.hunks)
    return "".join(f"{line}\n" for line in kept)


def truncate(diff: str, limit: int = DIFF_LIMIT) -> tuple[str, bool]:
    """The first ``limit`` characters of the diff, and whether that cut anything off."""
    return diff[:limit], len(diff) > limit


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakCheck:
    """Keeps a change's tests out of its diff: no test line of 20 or more characters may stand there, unless it stands in the source as well.

    Made for one change, it holds for diffs *of that change* (under shuffled diffs that is not the claim's own). To stand somewhere means to be contained in
    a line: an indented, quoted or commented copy is a copy. So a diff made of source lines alone always passes, a doctest that repeats a test included,
    and a moved file or a test beside the source does not.
    """

    test_lines: frozenset[str]
    source_texts: tuple[str, ...]

    @classmethod
    def of(cls, test_texts: Iterable[str], source_texts: Iterable[str]) -> LeakCheck:
        """From the texts (see ``decoded``) of the tests and of the source files at *t* and at *t+1*; a file that holds claims is a test, wherever it lies."""
        lines = {line.strip() for text in test_texts for line in text.split("\n")}
        return cls(test_lines=frozenset(line for line in lines if len(line) >= LEAK_LENGTH), source_texts=tuple(source_texts))

    def check(self, diff: str) -> None:
        """Pass silently, or raise LeakError with the first such line."""
        for line in sorted(line for line in self.test_lines if line in diff):
            if not any(line in text for text in self.source_texts):
                raise LeakError(f"a test line stands in the diff: {line[:80]!r}: its file must count as a test (claimflip/source/paths.py)")
