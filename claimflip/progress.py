"""Progress that a person can watch: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """One stage's progress; ``step`` may be called from any thread."""

    def __init__(self, stage: str, total: int) -> None:
        self.stage = stage
        self.total = total
        self.done = 0
        self._guard = threading.Lock()

    def step(self, what: str) -> None:
        """One more piece is done."""
        with self._guard:
            self.done += 1
            self._show(what)

    def _show(self, what: str) -> None:
        sys.stderr.write(f"{self.stage} {self.done}/{self.total} {what}\n")
        sys.stderr.flush()


@contextmanager
def progress(stage: str, total: int) -> Iterator[Progress]:
    """Show the progress of ``total`` pieces of a stage on standard error."""
    if not sys.stderr.isatty():
        yield Progress(stage, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.fields[stage]:<6}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task("", total=total, stage=stage)

        class OnTerminal(Progress):
            """Shows on the bar."""

            def _show(self, what: str) -> None:
                bars.update(task, advance=1, description=what)

        yield OnTerminal(stage, total)
