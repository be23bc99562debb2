"""Lays the findings out as one page that opens from disk: no script, no server, nothing fetched from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from claimflip import __version__
from claimflip.corpus import Corpus, write_atomically
from claimflip.errors import ConfigError
from stats.figures import CLAIMS, INK, PAPER, REFERENCE, REPOSITORIES, write_figure
from stats.metrics import measure
from stats.presented import LEGEND
from stats.printed import number, plain, visible
from stats.report.findings import find
from stats.scored import natural_rate, read_answered

CAPTIONS = {
    "forest": "Precision and recall of each arm: the point is what was measured, the bars are 95 % intervals. An arm left of the dashed line is right less "
    "often, when it fires, than firing always.",
    "costs": "What following each arm costs against what it lets through; nearer the lower left corner is better. Filled: on the questions asked. Hollow: at "
    "the natural flip rate.",
}
_THEMED = {INK: "currentColor", PAPER: "var(--paper)", CLAIMS: "var(--claims)", REPOSITORIES: "var(--repositories)", REFERENCE: "var(--soft)"}
_LIBRARIES = ("numpy", "pandas", "scipy", "matplotlib")


@dataclass(frozen=True, kw_only=True)
class HtmlReport:
    """A Reporter: tables as CSV, Markdown and LaTeX, figures as SVG, PDF and PNG, and the page that shows them.

    ``resamples`` and ``seed`` are the bootstrap's. The same corpus gives the same bytes: nothing here knows the time.
    """

    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise ConfigError(f"report.resamples={self.resamples} gives no interval: set 1 or more (10000 is usual)")

    def write(self, corpus: Corpus, split: str) -> Path:
        """Write everything below ``corpus.report_path`` and return the page's path; raises CorpusError where a stage has not been run."""
        found = find(corpus, split, resamples=self.resamples, seed=self.seed)
        folder = corpus.report_path
        for kind in found.kinds:
            for table in kind.tables.values():
                table.write(folder / "tables")
            for name, formats in kind.figures.items():
                write_figure(formats, folder / "figures", name + kind.suffix)
        found.problems.write(folder / "tables")
        libraries = ", ".join(f"{library} {version(library)}" for library in _LIBRARIES)
        page = _environment().get_template("page.html")
        text = page.render(found=found, legend=LEGEND, captions=CAPTIONS, report=self, version=__version__, libraries=libraries)
        path = folder / "index.html"
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
        return path

    def summary(self, corpus: Corpus, split: str) -> str:
        """The arms in short, for a terminal: what was asked, counts, precision, recall, F1, coverage; one block for each kind of source."""
        answers, note, blocks = read_answered(corpus, split), corpus.note(split, "questions"), []
        kinds = sorted(answers["kind"].unique())
        for kind in kinds:
            frame = measure(answers[answers["kind"] == kind], natural_rate(note, kind))
            ratios = {"P": "precision", "R": "recall", "F1": "f1", "coverage": "coverage", "natural P": "natural_precision"}
            shown = frame[["arm", "n", "fires"]].assign(
                **{"flips caught": [f"{caught} of {flips}" for caught, flips in zip(frame["tp"], frame["flips"], strict=True)]},
                **{name: frame[ratio].map(number) for name, ratio in ratios.items()},
            )
            blocks.append((f"{kind} sources\n" if len(kinds) > 1 else "") + plain(shown))
        nothing = f"no arm has been asked anything under the split {split!r}, which has no claim with a verdict"
        return "\n\n".join(blocks) or f"{nothing} (boltons and arrow, on which rules are designed, have their own: split=development)"


def _environment() -> Environment:
    """The templates, with everything escaped that does not come from here."""
    environment = Environment(loader=PackageLoader("stats.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(inline=_inline, visible=lambda text: visible(str(text)), told=_told)
    environment.globals["stylesheet"] = Markup(environment.get_template("page.css").render())  # our own file
    return environment


def _inline(formats: Mapping[str, bytes], name: str) -> Markup:
    """The SVG to stand in the page: its colours follow the page's theme, and its ids are its own."""
    text = formats["svg"].decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, themed in _THEMED.items():
        text = text.replace(colour, themed)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text).replace("url(#", f"url(#{name}-")
    return Markup(text)  # drawn by matplotlib, which escapes the names in it


def _told(value: Any) -> str:
    """A recorded setting in the words of JSON, but a text without its quotes."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
