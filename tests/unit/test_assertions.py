import pytest

from claimflip.source.assertions import DeletedAssertions, deleted_assertions, is_assertion_line
from claimflip.source.diff import file_diffs

ASSERTIONS = [
    "assert x == 1",
    "    assert(x)",
    "assert not x",
    "self.assertEqual(a, b)",
    "    self.assert_(a)",
    "self.fail('no')",
    "self.failUnless(x)",
    "with pytest.raises(ValueError):",
    "with raises(ValueError) as info:",
    "    with self.assertRaises(ValueError):",
    "with open(p) as f, pytest.warns(UserWarning):",
    "async with trio.testing.RaisesGroup(), pytest.raises(E):",
    "pytest.raises(ValueError, f, 1)",
    "pytest.deprecated_call(f)",
    "with deprecated_call():",
    "assertRaises(ValueError, f)",
    "return self.assertFailure(d, E)",
    "np.testing.assert_allclose(a, b)",
    "assert_equal(a, b)",
    "tm.assert_frame_equal(a, b)",
    "m.assert_called_once_with(1)",
    "m.method().assert_called()",
    "await m.assert_awaited()",
    "== pytest.approx(0.3)",
    "expected = approx(0.3)",
]
OTHERS = [
    "",
    "x = 1",
    "# assert x == 1",
    "    # with pytest.raises(ValueError):",
    "def assert_same(a, b):",
    "from numpy.testing import assert_equal",
    "assertion = 3",
    "assert_equal = same",
    "import pytest",
    "x.raises_nothing(1)",
    "return value",
    "# == approx(3)",
    "def test_raises():",
    "with open(path) as stream:",
]


@pytest.mark.parametrize("line", ASSERTIONS)
def test_a_line_that_asserts_counts(line: str) -> None:
    assert is_assertion_line(line)


@pytest.mark.parametrize("line", OTHERS)
def test_a_comment_a_helpers_definition_and_an_import_do_not_count(line: str) -> None:
    assert not is_assertion_line(line)


def test_an_assertion_that_only_moved_counts_raw_but_not_net() -> None:
    diff = (
        "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n"
        "@@ -1,3 +0,0 @@\n-assert moved\n-assert gone\n-assert gone\n"
        "diff --git a/tests/test_b.py b/tests/test_b.py\n--- a/tests/test_b.py\n+++ b/tests/test_b.py\n"
        "@@ -0,0 +1,3 @@\n+        assert moved\n+assert gone\n+assert new\n"
    )
    assert deleted_assertions(file_diffs(diff)) == DeletedAssertions(raw=3, net=1)


def test_a_deleted_line_that_looks_like_a_file_header_is_not_mistaken_for_one() -> None:
    diff = "diff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1,2 +0,0 @@\n--- a/pkg/core.py\n-assert x\n"
    (part,) = file_diffs(diff)
    assert part.paths == ("tests/test_a.py",)
    assert list(part.changed("-")) == ["-- a/pkg/core.py", "assert x"]
