"""Figures of a memory that many share: outcomes told and counted, and what an index finds at what cost.

Left out: computing anything that is drawn. Figures of sweeps are in `helpers.sweep_plots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from helpers.agent_trial import Trial
from helpers.convergence_plots import finish, plain_numbers
from helpers.index_trial import Measured
from helpers.plots import BLUE, GREY, MARKERS, SERIES, VERMILION


def told_and_counted(trials: Mapping[str, Trial]) -> Figure:
    """One row a kind of memory: what its counters hold, what they have lost, and a mark where its receipts say."""
    if not trials:
        raise ValueError("expected at least one trial to draw, got none")
    figure, axes = plt.subplots(figsize=(7.5, 1.2 + 0.55 * len(trials)))
    rows, counted = range(len(trials)), [trial.counted for trial in trials.values()]
    axes.barh(rows, counted, height=0.5, color=BLUE, label="in the counters")
    axes.barh(rows, [trial.lost for trial in trials.values()], left=counted, height=0.5, color="white",
              edgecolor=VERMILION, hatch="///", label="lost")
    axes.plot([trial.told for trial in trials.values()], rows, linestyle="none", marker="D", color="black",
              label="told, by the receipts")
    axes.set_yticks(rows, list(trials))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.03 * max(trial.told for trial in trials.values()) or 1)  # room for the marks
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    finish(axes, xlabel="outcomes, each by its weight, summed over lessons")
    return figure


def recall_and_cost(rows: Sequence[Measured]) -> Figure:
    """Left, the recall of the index by `ef_search`, a line a size; right, searches a second by size, a line a way."""
    if not rows:
        raise ValueError("expected at least one size to draw, got none")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
    for row, colour, marker in zip(rows, cycle(SERIES), cycle(MARKERS)):
        left.plot(list(row.recall), list(row.recall.values()), color=colour, marker=marker,
                  label=f"{row.size:,} lessons")
    left.axhline(1, color="black", linestyle="--", linewidth=1.2, label="exact search")
    left.set_xscale("log")
    left.minorticks_off()
    left.set_xticks(list(rows[0].recall))
    plain_numbers(left, "x")
    left.set_ylim(min(0.9, *(min(row.recall.values()) - 0.02 for row in rows)), 1.005)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    finish(left, xlabel="candidates the index keeps, ef_search", ylabel="recall of the true nearest")
    _speeds(right, rows)
    return figure


def _speeds(axes: Axes, rows: Sequence[Measured]) -> None:
    """Searches a second of each way by the number of lessons."""
    ways = {"file, exact": [row.file_ms for row in rows], "server, exact": [row.exact_ms for row in rows]}
    ways |= {f"server, index at {ef}": [row.indexed_ms[ef] for row in rows] for ef in rows[0].indexed_ms}
    for (way, times), colour, marker in zip(ways.items(), cycle((GREY, *SERIES[:-1])), cycle(MARKERS)):
        axes.loglog([row.size for row in rows], [1e3 / ms for ms in times], color=colour, marker=marker, label=way)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.minorticks_off()
    axes.set_xticks([row.size for row in rows])
    plain_numbers(axes, "x")
    plain_numbers(axes, "y")
    axes.legend(frameon=False, fontsize=8)
    finish(axes, xlabel="lessons in the memory", ylabel="searches a second, one client")
