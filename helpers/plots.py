"""One function a figure: draws what it is given and returns the figure, for `helpers.notebook.show`.

Left out: computing anything that is drawn, and saving files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

if TYPE_CHECKING:  # they bring scipy, a second that a figure of other things does not need
    from helpers.ranking import Estimate
    from helpers.stats import Difference

# Okabe and Ito's palette (2008): told apart by readers with any common colour blindness; markers differ as well.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#666666")
MARKERS = "osD^vPX*"
SERIES = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY)  # colour n goes with marker n


def differences(rows: Mapping[str, Difference], *, reference: str, unit: str = "share of problems solved") -> Figure:
    """One line a comparison: the mean difference with its interval, beside a line at no difference."""
    if not rows:
        raise ValueError("expected at least one difference to draw, got none")
    figure, axes = plt.subplots(figsize=(7.5, 0.9 + 0.45 * len(rows)))
    for height, row in enumerate(reversed(rows.values())):
        axes.plot([row.low, row.high], [height, height], color=BLUE, linewidth=2)
        axes.plot(row.mean, height, MARKERS[height % len(MARKERS)], color=BLUE, markersize=8)
        axes.annotate(str(row), (1.02, height), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), list(reversed(rows)))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    level = next(iter(rows.values())).level
    axes.set_xlabel(f"difference to {reference} ({unit}), {level:.0%} interval")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def cost_by_size(panels: Mapping[str, Mapping[str, Mapping[int, float]]], *, guide: str | None = None) -> Figure:
    """One panel an operation, one line a way to do it: seconds by number of lessons, drawn in ms on log axes.

    A way has the same colour and marker in every panel. The one named `guide` is a dashed line: a bound, not a rival.
    """
    ways = list(dict.fromkeys(way for lines in panels.values() for way in lines))
    if not any(points for lines in panels.values() for points in lines.values()):
        raise ValueError("expected at least one measured cost to draw, got none")
    styles = {way: {"color": GREY, "linestyle": "--"} if way == guide else {"color": colour, "marker": marker}
              for way, colour, marker in zip(ways, cycle(SERIES), cycle(MARKERS))}
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.6), squeeze=False)
    for panel, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for way, points in lines.items():
            panel.loglog(list(points), [1000 * seconds for seconds in points.values()], label=way, **styles[way])
        panel.set(title=title, xlabel="lessons in the memory", ylabel="time of one call [ms]")
        panel.legend(frameon=False, fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def cosine_maps(maps: Mapping[str, np.ndarray], families: Sequence[str]) -> Figure:
    """One square a pair of texts, one panel a (n, n) matrix of cosines; `families` names the family of each row.

    Rows of one family must follow one another: white lines part the families. NaN (no cosine) stays blank.
    """
    starts = [i for i, family in enumerate(families) if i == 0 or families[i - 1] != family]
    names = [families[i] for i in starts]
    if not maps or any(np.shape(values) != (len(families), len(families)) for values in maps.values()):
        raise ValueError(f"expected matrices of shape {(len(families),) * 2}, a row and a column for each family "
                         f"given, got {[np.shape(values) for values in maps.values()]}")
    if len(set(names)) < len(names):
        raise ValueError("expected the rows of one family one after the other; sort texts and families by family")
    figure, panels = plt.subplots(1, len(maps), figsize=(1 + 4.6 * len(maps), 5.4), squeeze=False,
                                  layout="constrained")
    centres = [(a + b - 1) / 2 for a, b in zip(starts, [*starts[1:], len(families)], strict=True)]
    for number, (axes, (title, values)) in enumerate(zip(panels[0], maps.items(), strict=True)):
        image = axes.imshow(values, vmin=0, vmax=1, cmap="cividis", interpolation="nearest")
        for edge in starts[1:]:
            axes.axhline(edge - 0.5, color="white", linewidth=0.6)
            axes.axvline(edge - 0.5, color="white", linewidth=0.6)
        axes.set_xticks(centres, names, rotation=90, fontsize=8)
        axes.set_yticks(centres, names if number == 0 else [""] * len(names), fontsize=8)
        axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=panels[0].tolist(), label="cosine", shrink=0.75)
    return figure


def pair_cosines(labels: Sequence[str], same: Sequence[bool], scores: Mapping[str, Sequence[float]]) -> Figure:
    """One row a pair of sentences, one marker an embedder; pairs of the same meaning above, of another below."""
    wrong = {name: len(values) for name, values in scores.items() if len(values) != len(labels)}
    if not scores or not len(labels) or wrong or len(same) != len(labels):
        raise ValueError(f"expected one cosine an embedder and one True or False for each of {len(labels)} pairs, "
                         f"got {wrong or dict.fromkeys(scores, len(labels))} and {len(same)}")
    groups = {"same meaning": [i for i, value in enumerate(same) if value],
              "another meaning": [i for i, value in enumerate(same) if not value]}
    groups = {title: rows for title, rows in groups.items() if rows}
    figure, panels = plt.subplots(len(groups), 1, figsize=(7.5, 1.4 + 0.3 * len(labels)), sharex=True,
                                  squeeze=False, layout="constrained",
                                  height_ratios=[len(rows) for rows in groups.values()])
    for axes, (title, rows) in zip(panels[:, 0], groups.items(), strict=True):
        for (name, values), colour, marker in zip(scores.items(), cycle(SERIES), cycle(MARKERS)):
            axes.plot([values[i] for i in rows], range(len(rows)), marker, label=name, color=colour, markersize=9,
                      markerfacecolor="none", markeredgewidth=2, clip_on=False)  # hollow: equal cosines stay visible
        axes.set_yticks(range(len(rows)), [labels[i] for i in rows], fontsize=9)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_title(title, fontsize=10, loc="left")
        axes.grid(axis="y", color="#DDDDDD")
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(min(0.0, *(min(values) for values in scores.values())), 1)
    axes.set_xlabel("cosine of the two sentences")
    panels[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(scores), frameon=False, fontsize=9)
    return figure


def measures(panels: Mapping[str, Mapping[str, Mapping[str, Estimate]]], chance: Mapping[str, float]) -> Figure:
    """Panel, then measure, then embedder: mean with interval, beside what a random order gives for that measure."""
    if not panels or any(set(panel) != set(chance) for panel in panels.values()):
        raise ValueError(f"expected in each panel the measures {sorted(chance)} that chance is given for, "
                         f"got {[sorted(panel) for panel in panels.values()]}")
    figure, drawn = plt.subplots(1, len(panels), figsize=(1 + 4.2 * len(panels), 3.8), sharey=True, squeeze=False,
                                 layout="constrained")
    for axes, (title, panel) in zip(drawn[0], panels.items(), strict=True):
        for place, measure in enumerate(chance):
            axes.plot([place - 0.35, place + 0.35], [chance[measure]] * 2, color=GREY, linestyle="--",
                      label=None if place else "random order")
            width = 0.2 * (len(panel[measure]) - 1)
            xs = np.linspace(place - width / 2, place + width / 2, len(panel[measure]))
            for x, (name, found), colour, marker in zip(xs, panel[measure].items(), cycle(SERIES), cycle(MARKERS)):
                axes.plot([x, x], [found.low, found.high], color=colour, linewidth=2)
                axes.plot(x, found.mean, marker, color=colour, markersize=8, label=None if place else name)
        axes.set_xticks(range(len(chance)), list(chance))
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    level = next(iter(next(iter(panel.values())).values())).level
    drawn[0, 0].set_ylim(0, 1.02)
    drawn[0, 0].set_ylabel(f"mean over problems, {level:.0%} interval")
    figure.legend(*drawn[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure
