"""One function a figure: draws what it is given and returns the figure, for `helpers.notebook.show`.

Left out: computing anything that is drawn, and saving files.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from helpers.stats import Difference

# Okabe and Ito's palette (2008): told apart by readers with any common colour blindness; markers differ as well.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#666666")
MARKERS = "osD^vPX*"


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
