"""Tables as they are read: rounded, escaped, with a footnote, as CSV, Markdown and LaTeX. Same frame, same bytes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from claimflip.corpus import write_atomically

UNDEFINED = "–"
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "[": "{[}",  # after a row's end a bracket would be read as that row's spacing
        "]": "{]}",
        "–": "--",
        "−": "$-$",
        "×": r"$\times$",
        "→": r"$\rightarrow$",
        "π": r"$\pi$",
        "†": r"\dag{}",
        "…": r"\ldots{}",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table in both forms: ``frame`` holds the numbers, ``shown`` the same as text; ``left`` names the columns of
    ``shown`` that are words.
    """

    name: str
    title: str
    frame: pd.DataFrame
    shown: pd.DataFrame
    note: str
    caution: str = ""
    left: tuple[str, ...] = ("arm",)

    @property
    def footnote(self) -> str:
        """The note that says what was measured and how, and what to be careful with."""
        return f"{self.note} {self.caution}".rstrip()

    def write(self, folder: Path) -> None:
        """Write ``<name>.csv`` (the numbers), ``<name>.md`` and ``<name>.tex`` (as printed) into the folder."""
        for suffix, text in (("csv", csv(self)), ("md", markdown(self)), ("tex", latex(self))):
            write_atomically(folder / f"{self.name}.{suffix}", text.encode("utf-8", "backslashreplace"))


def number(value: float, digits: int = 3) -> str:
    """A ratio with fixed digits, "–" where it is undefined."""
    return UNDEFINED if math.isnan(value) else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """A share as a percentage, "–" where it is undefined."""
    return UNDEFINED if math.isnan(value) else f"{value:.2%}".replace("%", " %")


def interval(low: float, high: float, mark: str = "") -> str:
    """The two limits in brackets, "–" where there are none; ``mark`` refers to a footnote."""
    return UNDEFINED if math.isnan(low) else f"[{low:.3f}, {high:.3f}]{mark}"


def p_value(value: float) -> str:
    """Two significant digits, as a power of ten below one in a thousand."""
    return f"{value:.1e}" if value < 0.001 else f"{value:#.2g}"


def csv(table: Table) -> str:
    """The numbers in full, below the footnote as a comment: ``pandas.read_csv(path, comment="#")``."""
    return f"# {_one_line(table.footnote)}\n" + table.frame.to_csv(index=False, lineterminator="\n")


def markdown(table: Table) -> str:
    """A pipe table under its title; text from outside can neither end a cell nor start markup."""
    columns = [str(name) for name in table.shown]
    rule = [":--" if name in table.left else "--:" for name in columns]
    rows = [columns, rule, *table.shown.astype(str).to_numpy().tolist()]
    lines = ["| " + " | ".join(cell if row is rule else _markdown(cell) for cell in row) + " |" for row in rows]
    return "\n".join([f"**{_markdown(table.title)}**", "", *lines, "", _markdown(table.footnote), ""])


def latex(table: Table) -> str:
    """A floating booktabs table, ready to paste; text from outside cannot run a command."""
    columns = [str(name) for name in table.shown]
    form = "".join("l" if name in table.left else "r" for name in columns)
    rows = [" & ".join(_latex(str(cell)) for cell in row) + r" \\" for row in [columns, *table.shown.to_numpy().tolist()]]
    body = [rows[0], r"\midrule", *rows[1:]]
    opening = [r"\begin{table}", r"\centering", rf"\caption{{{_latex(table.title)}}}", rf"\label{{tab:{table.name}}}", r"\small"]
    ending = [r"\bottomrule", r"\end{tabular}", rf"\par\smallskip\footnotesize {_latex(table.footnote)}", r"\end{table}", ""]
    return "\n".join(["% needs \\usepackage{booktabs}", *opening, rf"\begin{{tabular}}{{{form}}}", r"\toprule", *body, *ending])


def plain(shown: pd.DataFrame, left: tuple[str, ...] = ("arm",)) -> str:
    """Columns aligned with spaces, for a terminal; control characters are made visible so that no text from outside can steer it."""
    rows = [[visible(str(cell)) for cell in row] for row in [list(shown.columns), *shown.to_numpy().tolist()]]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    sides = [str.ljust if str(name) in left else str.rjust for name in shown.columns]
    return "\n".join("  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)).rstrip() for row in rows)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def visible(text: str) -> str:
    """Text with its control and direction characters as escapes, so that what is read is what is there."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<>]|\](?=[(\[:]))", r"\\\1", visible(_one_line(text)))


def _latex(text: str) -> str:
    return visible(_one_line(text)).translate(_LATEX)
