"""What a run has already found out, one row a finished piece of work, so that a killed run goes on where it stopped."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from claimflip.errors import CorpusError


@cache
def code_id(*modules: str) -> str:
    """A hash of the modules' and packages' own code, so that what another version found out is not reused."""
    hasher = hashlib.sha256()
    for module in modules:
        try:
            spec = find_spec(module)
        except ValueError:  # __main__, in a notebook
            continue
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        for path in sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]:
            hasher.update(path.read_bytes())
    return hasher.hexdigest()


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
