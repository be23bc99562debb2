"""The two figures of a run, as SVG, PDF and PNG; fixed settings and no dates, so the same numbers give the same bytes.

Colours are from Okabe and Ito's palette, which colour-blind readers can tell apart; every distinction is also one of shape or fill.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from claimflip.corpus import write_atomically
from stats.intervals import RELIABLE_FROM

INK, PAPER = "#1b1f24", "#ffffff"
CLAIMS, REPOSITORIES, REFERENCE = "#0072b2", "#d55e00", "#6e7781"
_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "claimflip",
    "pdf.fonttype": 42,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
_WITHOUT_DATE = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def render(draw: Callable[[pd.DataFrame], Figure], arms: pd.DataFrame) -> dict[str, bytes]:
    """The figure in each format, by file suffix."""
    with rc_context(_STYLE):
        figure = draw(arms)
        found = {}
        for suffix, metadata in _WITHOUT_DATE.items():
            sink = io.BytesIO()
            figure.savefig(sink, format=suffix, metadata=metadata, dpi=200, facecolor=PAPER)
            found[suffix] = sink.getvalue()
    return found


def write_figure(rendered: Mapping[str, bytes], folder: Path, name: str) -> None:
    """Write ``<name>.svg``, ``.pdf`` and ``.png``."""
    for suffix, content in rendered.items():
        write_atomically(folder / f"{name}.{suffix}", content)


def forest(arms: pd.DataFrame) -> Figure:
    """Precision and recall of each arm (``stats.tables.arms_table``) with both intervals; the base rate, which always firing achieves, dashed."""
    figure = Figure(figsize=(7.2, 1.5 + 0.42 * len(arms)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharey=True)
    height = np.arange(len(arms))[::-1]
    for panel, metric in zip(panels, ("precision", "recall"), strict=True):
        for low, high, offset, colour, width in (("_low", "_high", 0.1, CLAIMS, 2.6), ("_repo_low", "_repo_high", -0.1, REPOSITORIES, 1.2)):
            panel.hlines(height + offset, arms[metric + low], arms[metric + high], color=colour, linewidth=width)
        panel.plot(arms[metric], height, "o", color=INK, markersize=4.5, zorder=3)
        for place, value in zip(height, arms[metric], strict=True):
            text = "undefined" if np.isnan(value) else f"{value:.3f}"
            panel.annotate(text, (1.03, place), xycoords=("axes fraction", "data"), va="center", fontsize=8, annotation_clip=False)
        panel.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(arms) - 0.4), title=metric.capitalize())
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(height, [_plain(arm) for arm in arms["arm"]])
    base = arms["flips"].sum() / arms["n"].sum() if arms["n"].sum() else np.nan
    panels[0].axvline(base, color=REFERENCE, linestyle="--", linewidth=1)
    keys = [
        Line2D([], [], color=CLAIMS, linewidth=2.6, label="95 % over claims"),
        Line2D([], [], color=REPOSITORIES, linewidth=1.2, label="95 % over repositories" + ("" if _reliable(arms) else ", fewer than 10")),
        Line2D([], [], color=REFERENCE, linestyle="--", linewidth=1, label="base rate" if np.isnan(base) else f"base rate {base:.3f}"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


def costs(arms: pd.DataFrame) -> Figure:
    """Budget against staleness: a filled point an arm on the stratified questions, a hollow one at the natural flip rate, joined."""
    figure = Figure(figsize=(6.0, 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    panel = figure.subplots()
    panel.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05), xlabel="Budget: share of the store re-verified", ylabel="Staleness: share of flips served")
    panel.plot([0, 1], [1, 0], color=REFERENCE, linestyle=":", linewidth=1)
    panel.hlines(arms["staleness"], arms["natural_budget"], arms["budget"], color=REFERENCE, linewidth=0.8)
    panel.plot(arms["natural_budget"], arms["staleness"], "o", color=CLAIMS, markerfacecolor=PAPER, markersize=6)
    panel.plot(arms["budget"], arms["staleness"], "o", color=CLAIMS, markersize=6)
    keys = [
        Line2D([], [], marker="o", linestyle="", color=CLAIMS, label="stratified"),
        Line2D([], [], marker="o", linestyle="", color=CLAIMS, markerfacecolor=PAPER, label="at the natural flip rate"),
        Line2D([], [], color=REFERENCE, linestyle=":", linewidth=1, label="re-verifying at random"),
    ]
    figure.legend(handles=keys, loc="outside lower center", ncols=3)
    _label(figure, arms)
    return figure


_PLACES = tuple(product((6, 16, 26, 38, 52), ((1, 1), (0, 1), (1, 0), (0, -1), (1, -1), (-1, 1), (-1, 0), (-1, -1))))
_SIDES = {1: ("left", "bottom"), 0: ("center", "center"), -1: ("right", "top")}


def _label(figure: Figure, arms: pd.DataFrame) -> None:
    """Name each arm's filled point in the nearest place that hides no point, no joining line and no other name."""
    panel = figure.axes[0]
    figure.draw_without_rendering()
    known = arms.dropna(subset=["budget", "staleness"])
    taken = []
    for budget, natural, staleness in known[["budget", "natural_budget", "staleness"]].itertuples(index=False):
        ends = panel.transData.transform([(budget, staleness), (budget if np.isnan(natural) else natural, staleness)])
        taken += [Bbox.from_extents(ends[:, 0].min(), ends[0, 1] - 1, ends[:, 0].max(), ends[0, 1] + 1)]
        taken += [Bbox.from_bounds(x - 6, y - 6, 12, 12) for x, y in ends]
    for arm, budget, staleness in known[["arm", "budget", "staleness"]].itertuples(index=False):
        text = panel.annotate(_plain(arm), (budget, staleness), (0, 0), textcoords="offset points", fontsize=8)
        for radius, (across, up) in _PLACES:
            text.set(position=(across * radius * 0.8, up * radius * 0.8), ha=_SIDES[across][0], va=_SIDES[up][1])
            box = text.get_window_extent()
            inside = panel.bbox.x0 <= box.x0 and box.x1 <= panel.bbox.x1 and panel.bbox.y0 <= box.y0 and box.y1 <= panel.bbox.y1
            if inside and not any(box.overlaps(other) for other in taken):
                break
        if radius > _PLACES[0][0]:  # too far off to be taken for this point's name without a line between them
            leader = {"arrowstyle": "-", "color": REFERENCE, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
            panel.annotate("", (budget, staleness), text.get_position(), textcoords="offset points", arrowprops=leader)
        taken.append(box)


def _reliable(arms: pd.DataFrame) -> bool:
    return bool((arms["repositories"] >= RELIABLE_FROM).all())


def _plain(text: str) -> str:
    """A dollar sign in a name is a dollar sign, not mathematics."""
    return str(text).replace("$", r"\$")
