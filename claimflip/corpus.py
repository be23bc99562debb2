"""The corpus folder: every name in it, its Parquet, its digests. Nothing half-written is ever readable under its real name."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from claimflip import __version__
from claimflip.errors import CorpusError
from claimflip.records import Change, Claim, Label, Prediction, Question, content_id

FORMAT = 1
_PARTIAL = ".partial"
Record = TypeVar("Record", Change, Claim, Label, Question, Prediction)
_SCALARS = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), datetime: pa.timestamp("us", tz="UTC")}


def schema(record: type) -> pa.Schema:
    """The Parquet schema of a record class, read off its annotations: tuples become lists, nested records structs, ``X | None`` nullable."""
    hints = typing.get_type_hints(record)
    return pa.schema([_arrow_field(field.name, hints[field.name]) for field in fields(record)])


def _arrow_field(name: str, hint: Any) -> pa.Field:
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        inner = next(argument for argument in arguments if argument is not type(None))
        return pa.field(name, _arrow_type(inner), nullable=True)
    return pa.field(name, _arrow_type(hint), nullable=False)


def _arrow_type(hint: Any) -> pa.DataType:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return pa.string()
    if origin is tuple:
        return pa.list_(pa.field("item", _arrow_type(arguments[0]), nullable=False))
    if is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        return pa.struct([_arrow_field(field.name, hints[field.name]) for field in fields(hint)])
    return _SCALARS[hint]


def table(record: type[Record], rows: Iterable[Record]) -> pa.Table:
    """Rows as an Arrow table of the record's schema; text that is no valid Unicode is kept readable with backslash escapes."""
    return pa.Table.from_pylist([_storable(asdict(row)) for row in rows], schema=schema(record))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


def digest(rows: pa.Table) -> str:
    """SHA-256 over the rows as canonical JSON: equal everywhere, whatever library version wrote the Parquet bytes."""
    hasher = hashlib.sha256()
    for row in rows.to_pylist():
        hasher.update(json.dumps(row, sort_keys=True, default=str, ensure_ascii=True).encode())
        hasher.update(b"\n")
    return hasher.hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write to a temporary name beside ``path``, flush to disk, then rename over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_PARTIAL)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Corpus:
    """One corpus folder and all that is in it.

    Data frames (``changes``, ``claims``, ``labels``, ``questions(split)``, ``predictions(split)``) have one row a record and
    the record's fields as columns. ``read`` gives the records themselves.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.ledger_path = self.path / "ledger.sqlite"
        self.report_path = self.path / "report"

    @classmethod
    def create(cls, path: str | Path) -> Corpus:
        """Open a corpus folder for writing, making it where it is missing; raises CorpusError where that cannot be done."""
        corpus = cls(path)
        try:
            corpus.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=corpus.path):
                pass
        except OSError as error:
            raise CorpusError(f"cannot write to {corpus.path} ({error.strerror}): choose another folder with out=FOLDER") from None
        if corpus.info_path.exists():
            corpus.info()
        return corpus

    # -- corpus.json

    @property
    def info_path(self) -> Path:
        """``corpus.json``: format and tool version, sources, environment locks, settings, counts, status."""
        return self.path / "corpus.json"

    def info(self) -> dict[str, Any]:
        """The contents of ``corpus.json``; raises CorpusError where it is missing, broken or of another format."""
        try:
            found = json.loads(self.info_path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise CorpusError(f"no corpus in {self.path}: run 'claimflip mine' first, or name the folder with out=FOLDER") from None
        except (OSError, ValueError) as error:
            raise CorpusError(f"{self.info_path} cannot be read ({error}): restore it, or mine into another folder with out=FOLDER") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            version = found.get("format") if isinstance(found, dict) else None
            raise CorpusError(f"{self.info_path} is format {version}, this version reads {FORMAT}: mine again into another folder with out=FOLDER")
        return found

    def update_info(self, **entries: Any) -> None:
        """Set top-level entries of ``corpus.json``, keeping the others."""
        found = self.info() if self.info_path.exists() else {}
        found.update(entries, format=FORMAT, version=__version__)
        write_atomically(self.info_path, (json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode())

    # -- Parquet

    def _parquet(self, record: type, split: str | None = None, name: str | None = None) -> Path:
        if record in (Change, Claim, Label):
            return self.path / f"{record.__name__.lower()}s.parquet"
        assert split is not None
        return self.path / "predictions" / split / f"{'questions' if record is Question else name}.parquet"

    def write(self, record: type[Record], rows: Sequence[Record], *, split: str | None = None, name: str | None = None) -> str:
        """Write all rows of one kind and return their digest; ``split`` goes with questions and predictions, ``name`` (the arm) with predictions."""
        rows_table = table(record, rows)
        sink = pa.BufferOutputStream()
        pq.write_table(rows_table, sink, compression="zstd")
        write_atomically(self._parquet(record, split, name), sink.getvalue().to_pybytes())
        return digest(rows_table)

    def read_table(self, record: type, *, split: str | None = None, name: str | None = None) -> pa.Table:
        """The stored rows as an Arrow table; raises CorpusError that names the stage which would make them."""
        path = self._parquet(record, split, name)
        stage = {Change: "mine", Claim: "mine", Label: "label"}.get(record, "score")
        if not path.exists():
            raise CorpusError(f"no {path.name} in {path.parent}: run 'claimflip {stage}' first")
        try:
            found = pq.read_table(path, partitioning=None)
        except (OSError, pa.ArrowException) as error:
            raise CorpusError(f"{path} cannot be read ({str(error).splitlines()[0]}): delete it and run 'claimflip {stage}' again") from None
        if found.schema != schema(record):
            raise CorpusError(f"{path} has other columns than this version's {record.__name__}: delete it and run 'claimflip {stage}' again")
        return found

    def read(self, record: type[Record], *, split: str | None = None, name: str | None = None) -> list[Record]:
        """The stored rows as records, in stored order."""
        return records_of(record, self.read_table(record, split=split, name=name).to_pylist())

    def _frame(self, record: type, *, split: str | None = None, name: str | None = None) -> pd.DataFrame:
        frame: pd.DataFrame = self.read_table(record, split=split, name=name).to_pandas()
        return frame

    @property
    def changes(self) -> pd.DataFrame:
        """One row a change."""
        return self._frame(Change)

    @property
    def claims(self) -> pd.DataFrame:
        """One row a claim."""
        return self._frame(Claim)

    @property
    def labels(self) -> pd.DataFrame:
        """One row a claim: its verdict, reason and outcomes."""
        return self._frame(Label)

    def write_questions(self, split: str, questions: Sequence[Question]) -> str:
        """Write a split's questions; predictions that answer other questions go first, and what is left answers these. Returns the digest."""
        new = digest(table(Question, questions))
        if self.note(split, "questions").get("digest") != new:
            shutil.rmtree(self.path / "predictions" / split, ignore_errors=True)
        return self.write(Question, questions, split=split)

    def has_labels(self) -> bool:
        """Whether claims were labelled."""
        return self._parquet(Label).exists()

    def forget_labels(self) -> None:
        """Remove labels, and with them predictions: they are of claims that are no longer there."""
        self._parquet(Label).unlink(missing_ok=True)
        self.forget_predictions()

    def forget_predictions(self) -> None:
        """Remove predictions and report: they are of labels that are no longer there."""
        shutil.rmtree(self.path / "predictions", ignore_errors=True)
        shutil.rmtree(self.report_path, ignore_errors=True)

    def write_lock(self, lock_id: str, lock: str) -> None:
        """Keep an environment's lock beside the labels that were made in it."""
        write_atomically(self.path / "environments" / f"{lock_id}.txt", lock.encode())

    def splits(self) -> list[str]:
        """Names of the splits that were scored."""
        return sorted(path.parent.name for path in self.path.glob("predictions/*/questions.parquet"))

    def questions(self, split: str) -> pd.DataFrame:
        """One row a question of the split."""
        return self._frame(Question, split=split)

    def arms(self, split: str) -> list[str]:
        """Names under which predictions of the split are stored: the arm, with ``@model`` where it has one."""
        return sorted(path.stem for path in (self.path / "predictions" / split).glob("*.parquet") if path.stem != "questions")

    def predictions(self, split: str) -> pd.DataFrame:
        """The predictions of every arm on the split, one row a question and arm, arms in sorted order."""
        names = self.arms(split)
        if not names:
            raise CorpusError(f"no predictions for split {split!r} in {self.path}: run 'claimflip score' first")
        return pd.concat([self._frame(Prediction, split=split, name=name) for name in names], ignore_index=True)

    def write_note(self, split: str, name: str, note: Mapping[str, Any]) -> None:
        """The JSON beside a Parquet of the split (``questions`` or an arm): settings, coverage, cost, version."""
        content = json.dumps({**note, "version": __version__}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_atomically(self.path / "predictions" / split / f"{name}.json", content.encode())

    def note(self, split: str, name: str) -> dict[str, Any]:
        """What ``write_note`` wrote; empty where there is none."""
        path = self.path / "predictions" / split / f"{name}.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return found

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder against a second writer; raises CorpusError at once where another process has it."""
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise CorpusError(f"another claimflip process is writing to {self.path}: wait for it, or choose another folder with out=FOLDER") from None
        for left in Path(tempfile.gettempdir()).glob(f"{self._scratch_prefix}*"):
            shutil.rmtree(left, ignore_errors=True)  # a killed run's
        for half in self.path.rglob(f".*{_PARTIAL}"):
            half.unlink(missing_ok=True)
        try:
            yield
        finally:
            lock.release()

    @property
    def _scratch_prefix(self) -> str:
        return f"claimflip-{content_id(str(self.path.resolve()))}-"

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A temporary folder, gone afterwards; what a kill leaves behind goes when the corpus is locked next."""
        with tempfile.TemporaryDirectory(prefix=self._scratch_prefix, ignore_cleanup_errors=True) as folder:
            yield Path(folder)


def records_of(record: type[Record], rows: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Records from plain dicts, as Parquet or the ledger's JSON give them."""
    hints = typing.get_type_hints(record)
    return [record(**{key: _revived(hints[key], value) for key, value in row.items()}) for row in rows]


def _revived(hint: Any, value: Any) -> Any:
    """A stored value as the record has it: lists back to tuples, structs back to records."""
    if value is None or typing.get_origin(hint) is not tuple:
        return value
    item = typing.get_args(hint)[0]
    if is_dataclass(item):
        return tuple(typing.cast(Any, item)(**entry) for entry in value)
    return tuple(value)


def open_corpus(path: str | Path) -> Corpus:
    """Open an existing corpus folder: ``open_corpus("results/runs/quickstart").labels`` is a data frame. Raises CorpusError."""
    corpus = Corpus(path)
    corpus.info()
    return corpus
