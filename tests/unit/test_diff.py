import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimflip.errors import LeakError
from claimflip.source.diff import LeakCheck, decoded, file_diffs, source_only_diff, truncate

EDIT = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-old\n+new\n"
MOVED = "diff --git a/{0} b/{1}\nsimilarity index 80%\nrename from {0}\nrename to {1}\nindex 1..2 100644\n--- a/{0}\n+++ b/{1}\n@@ -1 +1 @@\n-old\n+new\n"
TEST_LINE = "assert frobnicate('left', 'right') == 42"


def paths(diff: str) -> list[tuple[str, ...]]:
    return [part.paths for part in file_diffs(diff)]


def test_only_parts_whose_old_and_new_paths_are_source_are_shown() -> None:
    diff = "".join(
        [
            EDIT.format("docs/conf.py"),
            EDIT.format("pkg/core.py"),
            EDIT.format("pkg/tests/test_core.py"),
            MOVED.format("tests/helpers.py", "pkg/helpers.py"),
            MOVED.format("pkg/check.py", "tests/check.py"),
            MOVED.format("pkg/a.py", "pkg/b.py"),
        ]
    )
    shown = source_only_diff(diff)
    assert paths(shown) == [("pkg/core.py",), ("pkg/a.py", "pkg/b.py")]
    assert "index 1" not in shown
    assert "similarity index 80%" in shown


def test_names_are_read_from_whatever_git_writes() -> None:
    assert paths("diff --git a/pkg/empty.py b/pkg/empty.py\nnew file mode 100644\nindex 0..0\n") == [("pkg/empty.py",)]
    assert paths("diff --git a/p/a b.py b/p/a b.py\nold mode 100644\nnew mode 100755\n") == [("p/a b.py",)]
    assert paths("diff --git a/p/a b.py b/p/a b.py\n--- a/p/a b.py\t\n+++ b/p/a b.py\t\n@@ -1 +1 @@\n-a\n+b\n") == [("p/a b.py",)]
    assert paths("diff --git a/p/x.py b/p/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/p/x.py\n@@ -0,0 +1 @@\n+b\n") == [("p/x.py",)]
    assert paths("diff --git a/p/x.py b/p/x.py\nBinary files a/p/x.py and b/p/x.py differ\n") == [("p/x.py",)]
    quoted = '"a/p/q\\"\\t.py" "b/p/q\\"\\t.py"'
    assert paths(f"diff --git {quoted}\nold mode 100644\nnew mode 100755\n") == [('p/q"\t.py',)]
    assert paths("") == []


def test_a_file_whose_lines_end_in_carriage_returns_keeps_them() -> None:
    diff = "diff --git a/p/x.py b/p/x.py\n--- a/p/x.py\n+++ b/p/x.py\n@@ -1 +1 @@\n-a\r\n+b\x0c\r\n"
    assert source_only_diff(diff) == diff


def test_bytes_that_are_no_utf8_stay_visible_and_the_text_valid() -> None:
    text = decoded("naïve".encode("latin-1") + " ok é".encode())
    assert text == "na\\xefve ok é"
    assert text.encode("utf-8")


def test_a_long_diff_is_cut_at_the_end_and_that_is_said() -> None:
    assert truncate("x" * 12_000) == ("x" * 12_000, False)
    assert truncate("x" * 12_000 + "y") == ("x" * 12_000, True)
    assert truncate("abcdef", limit=3) == ("abc", True)


@pytest.mark.parametrize("line", [f"+{TEST_LINE}", f"-    {TEST_LINE}\r", f" # {TEST_LINE}  # as in the test", f"@@ -1 +1 @@ {TEST_LINE}"])
def test_a_test_line_in_the_diff_is_an_error_in_whatever_dress(line: str) -> None:
    check = LeakCheck.of([f"def test_x():\n    {TEST_LINE}\n"], ["def frobnicate(a, b): ..."])
    with pytest.raises(LeakError, match="frobnicate"):
        check.check(EDIT.format("pkg/core.py") + line + "\n")


@pytest.mark.parametrize("source", [["", f'"""\n    >>> {TEST_LINE}\n"""'], [f"    {TEST_LINE}\r\n", ""]])
def test_a_line_that_the_source_has_on_either_side_is_source(source: list[str]) -> None:
    LeakCheck.of([TEST_LINE], source).check(f"+    {TEST_LINE}\n")
    with pytest.raises(LeakError):
        LeakCheck.of([TEST_LINE], []).check(f"+    {TEST_LINE}\n")


def test_short_lines_are_free_and_twenty_characters_are_not() -> None:
    LeakCheck.of(["assert f(1) == 3456"], []).check("+assert f(1) == 3456\n")
    with pytest.raises(LeakError):
        LeakCheck.of(["assert f(1) == 34567"], []).check("+assert f(1) == 34567\n")


@given(source=st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=40), max_size=8))
def test_a_diff_of_source_lines_alone_always_passes(source: list[str]) -> None:
    text = "\n".join(source)
    LeakCheck.of([text], [text]).check("".join(f"+{line}\n" for line in source))
