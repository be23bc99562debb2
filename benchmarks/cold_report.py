"""A pytest plugin for the cold opponent: writes each test's node id, outcome and seconds to the file named in COLD_REPORT."""

from __future__ import annotations

import json
import os
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    """One line a phase."""
    with open(os.environ["COLD_REPORT"], "a", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(json.dumps([report.nodeid, report.outcome, report.duration]) + "\n")
