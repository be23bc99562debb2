"""Assertion lines: the signature of a retired expectation, by which changes are ranked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from claimflip.source.diff import FileDiff

_CALLS = r"raises|warns|deprecated_call|assert[A-Z]\w*|assert_\w*"
_ASSERTION = re.compile(
    rf"""
    assert\b(?!\s*=)                                                # assert x; assert(x)
    | (?:(?:return|await|yield)\s+)?(?:[^\s#'"=,]\S*\.)?(?:{_CALLS})\(  # self.assertEqual(, np.testing.assert_allclose(, m().assert_called_once(
    | (?:self|cls)\.fail\w*\(                                       # self.fail(, self.failUnless(
    | (?:async\s+)?with\b(?:[^#]*[\s.,(])(?:{_CALLS})\(             # with pytest.raises(, with a() as b, self.assertRaises(
    | [^\#]*\bapprox\(                                              # wherever in the line: an expected value
    """,
    re.VERBOSE,
)


def is_assertion_line(line: str) -> bool:
    """Whether the statement that starts on this line asserts something.

    ``assert``, ``self.assert…(``, ``self.fail…(``, ``raises``/``warns``/``deprecated_call`` (qualified or bare, called or in a ``with``), ``assert_…`` helpers,
    and any line that calls ``approx``. Only the line is looked at: a continuation line is none, and prose that begins with "assert" is taken for one.
    """
    return _ASSERTION.match(line.strip()) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedAssertions:
    """Assertion lines that a change deletes from its test files: as they are counted in the paper, and without those it adds again, in whatever place."""

    raw: int
    net: int


def deleted_assertions(test_diffs: Iterable[FileDiff]) -> DeletedAssertions:
    """Count over the test files' parts of one change's diff; lines are compared stripped."""
    deleted: Counter[str] = Counter()
    added: Counter[str] = Counter()
    for part in test_diffs:
        deleted.update(line.strip() for line in part.changed("-") if is_assertion_line(line))
        added.update(line.strip() for line in part.changed("+"))
    return DeletedAssertions(raw=deleted.total(), net=(deleted - added).total())
