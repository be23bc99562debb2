"""The ledger: a row is there whole or not at all, for any number of threads, and over a crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from claimflip.errors import CorpusError
from claimflip.ledger import Ledger


def test_what_was_put_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "ledger.sqlite")
    first.put("labels", "a", '{"x": "é\\ud800"}', 1.5)
    first.close()
    second = Ledger(tmp_path / "ledger.sqlite")
    assert second.get("labels", "a") == '{"x": "é\\ud800"}'
    assert (second.get("labels", "b"), second.get("claims", "a")) == (None, None)
    second.close()


def test_a_later_result_takes_the_place_of_an_earlier_one_and_seconds_add_up(ledger: Ledger) -> None:
    ledger.put("labels", "a", "old", 1)
    ledger.put("labels", "a", "new", 2)
    ledger.put("labels", "b", "other", 3)
    ledger.put("claims", "a", "another stage", 10)
    assert ledger.get("labels", "a") == "new"
    assert (ledger.seconds("labels"), ledger.seconds("claims"), ledger.seconds("none")) == (5, 10, 0)


def test_many_threads_write_at_once(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ledger.put("labels", str(number), str(number) * 1000, 0), range(300)))
        found = list(pool.map(lambda number: ledger.get("labels", str(number)), range(300)))
    assert found == [str(number) * 1000 for number in range(300)]


def test_what_was_put_survives_the_process_that_is_killed_right_after(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    script = (
        f"import os, pathlib; from claimflip.ledger import Ledger; Ledger(pathlib.Path({str(path)!r})).put('labels', 'a', 'kept', 1); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    again = Ledger(path)
    assert again.get("labels", "a") == "kept"
    again.close()


@pytest.mark.parametrize("content", [b"this is no database, it is a letter to the editor, and a long one", os.urandom(5000)])
def test_a_ledger_that_is_none_is_named_with_the_way_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=r"ledger\.sqlite cannot be used .*: delete it to start this corpus's work again$"):
        Ledger(path)


def test_a_ledger_in_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none/ledger\.sqlite cannot be used"):
        Ledger(tmp_path / "none" / "ledger.sqlite")


def test_a_result_that_cannot_be_stored_is_told_as_such(ledger: Ledger) -> None:
    ledger._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(CorpusError, match="the ledger cannot take a result"):
        ledger.put("labels", "a", "x", 0)
