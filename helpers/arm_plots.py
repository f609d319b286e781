"""Figures of an agent's runs: differences along a stream, and family by family.

Left out: computing anything that is drawn. The forest of differences between arms is `helpers.plots.differences`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from helpers.plots import BLUE, GREY, MARKERS, ORANGE, SERIES

if TYPE_CHECKING:
    from helpers.stats import Difference


def learning_curves(curves: Mapping[str, Sequence[Difference]], *, reference: str) -> Figure:
    """One line a stream: the difference to `reference` in equal stretches of it, with intervals, and a line at zero."""
    if not curves or not all(curves.values()):
        raise ValueError("expected at least one curve with at least one point, got none")
    figure, axes = plt.subplots(figsize=(7.5, 3.6))
    for number, ((name, points), colour, marker) in enumerate(zip(curves.items(), cycle(SERIES), cycle(MARKERS))):
        places = [part + 1 + 0.06 * (number - (len(curves) - 1) / 2) for part in range(len(points))]
        means = [point.mean for point in points]
        spread = [[p.mean - p.low for p in points], [p.high - p.mean for p in points]]
        axes.errorbar(places, means, yerr=spread, color=colour, marker=marker, markersize=7, capsize=3, label=name)
    axes.axhline(0, color=GREY, linestyle="--", linewidth=1)
    most = max(len(points) for points in curves.values())
    axes.set_xticks(range(1, most + 1), [f"{part} of {most}" for part in range(1, most + 1)])
    level = next(iter(curves.values()))[0].level
    axes.set(xlabel="part of the stream", ylabel=f"difference to {reference}\n(share solved, {level:.0%} interval)")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def families(shares: Mapping[str, tuple[float, float]], *, before: str, after: str) -> Figure:
    """One line a family: the share solved before and after, joined, so that a loss points to the left."""
    if not shares:
        raise ValueError("expected at least one family to draw, got none")
    figure, axes = plt.subplots(figsize=(7.5, 0.9 + 0.32 * len(shares)))
    for height, (low, high) in enumerate(reversed(shares.values())):
        axes.annotate("", (high, height), (low, height), arrowprops={"arrowstyle": "->", "color": GREY})
    heights = range(len(shares) - 1, -1, -1)
    axes.plot([low for low, _ in shares.values()], heights, "o", color=ORANGE, markersize=7, label=before)
    axes.plot([high for _, high in shares.values()], heights, "D", color=BLUE, markersize=6, label=after)
    axes.set_yticks(list(heights), list(shares))
    axes.set(xlabel="share of episodes solved", xlim=(-0.03, 1.03), ylim=(-0.6, len(shares) - 0.4))
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
