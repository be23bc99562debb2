"""What a run has already found out, one row a finished piece of work, so that a killed run goes on where it stopped."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from claimflip.errors import CorpusError


class Ledger:
    """Finished pieces of work by stage and key; a row is there whole or not at all. One writer, any number of threads.

    Seconds are kept beside the payload and go into no Parquet: the same work must give the same bytes at any pace.
    """

    def __init__(self, path: Path) -> None:
        self._guard = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS work (stage TEXT, key TEXT, payload TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (stage, key)) WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            raise CorpusError(f"{path} cannot be used ({error}): delete it to start this corpus's work again") from None

    def get(self, stage: str, key: str) -> str | None:
        """The payload that was put, or ``None``."""
        with self._guard:
            row = self._connection.execute("SELECT payload FROM work WHERE stage = ? AND key = ?", (stage, key)).fetchone()
        return None if row is None else str(row[0])

    def put(self, stage: str, key: str, payload: str, seconds: float) -> None:
        """Keep a finished piece of work; raises CorpusError where the disk does not take it."""
        with self._guard:
            try:
                self._connection.execute("INSERT OR REPLACE INTO work VALUES (?, ?, ?, ?)", (stage, key, payload, seconds))
            except sqlite3.Error as error:
                raise CorpusError(f"the ledger cannot take a result ({error}): make room on the disk and run again, nothing is lost") from None

    def seconds(self, stage: str) -> float:
        """The seconds that a stage's finished work took, added up."""
        with self._guard:
            row = self._connection.execute("SELECT COALESCE(SUM(seconds), 0) FROM work WHERE stage = ?", (stage,)).fetchone()
        return float(row[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
