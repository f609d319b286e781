"""Figures of worth that misleads: difficulty, feedback, a hitchhiker and drift, beside what theory says of each.

Left out: computing anything that is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from helpers.convergence_plots import finish, plain_numbers, same_length
from helpers.plots import BLUE, GREY, MARKERS, ORANGE, SERIES

Band = tuple[np.ndarray, np.ndarray, np.ndarray]  # middle, lower and upper end at each place


@dataclass(frozen=True)
class Change:
    """A memory before and after a change: its true success rate at each retrieval, and the estimates of it."""

    truth: np.ndarray
    threshold: float
    estimates: Mapping[str, Band] = field(default_factory=dict)


def two_groups(utility: np.ndarray, member: np.ndarray, panels: Mapping[str, tuple[np.ndarray, np.ndarray]], *,
               names: tuple[str, str]) -> Figure:
    """One panel an estimator, (values, limits) of every memory by utility; `names` are of members and of the others."""
    check_some(panels, "estimator")
    figure, drawn = plt.subplots(1, len(panels), figsize=(4.9 * len(panels), 3.9), squeeze=False, layout="constrained")
    member = np.asarray(member, dtype=bool)
    for axes, (title, (values, limits)) in zip(drawn[0], panels.items(), strict=True):
        same_length(utility, member=member, values=values, limits=limits)
        for group, name, colour, marker in ((member, names[0], ORANGE, "^"), (~member, names[1], BLUE, "o")):
            order = np.flatnonzero(group)[np.argsort(np.asarray(utility)[group])]
            axes.plot(utility[order], values[order], marker, color=colour, markersize=5, alpha=0.75, label=name)
            axes.plot(utility[order], limits[order], color="black", linestyle="--", linewidth=1.3)
        axes.plot([], [], color="black", linestyle="--", label="limit, theory")
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel="true utility of the memory", ylabel="value of the estimator")
    drawn[0, 0].legend(frameon=False, fontsize=8)
    return figure


def stand_ins(values: Sequence[float], found: np.ndarray, theory: np.ndarray, *, marked: float) -> Figure:
    """ρ by the number that stands for a type never seen: a thin line a run, (runs, values), their mean, and theory."""
    same_length(values, found=found, theory=theory)
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    axes.plot(values, np.transpose(found), color=BLUE, alpha=0.25, linewidth=0.8)
    axes.plot([], [], color=BLUE, alpha=0.4, linewidth=0.8, label="one run")
    axes.plot(values, np.mean(found, axis=0), color=BLUE, marker="o", markersize=6, linewidth=2, label="mean of runs")
    axes.plot(values, theory, color="black", linestyle="--", linewidth=1.4, label="with endless episodes, theory")
    axes.axvline(marked, color=GREY, linestyle=":", linewidth=1.4)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    finish(axes, xlabel="worth assumed for a task type the memory was never used on",
           ylabel="rank correlation ρ with utility")
    return figure


def runs(rows: Mapping[str, Sequence[float]], intervals: Mapping[str, tuple[float, float]], *, xlabel: str,
         mark: float = 0.0) -> Figure:
    """One row an arm: a dot a run, and the mean of the runs with its interval; a dashed line at `mark`."""
    check_some(rows, "arm")
    if set(rows) != set(intervals):
        raise ValueError(f"expected an interval for each of {list(rows)}, got {list(intervals)}")
    figure, axes = plt.subplots(figsize=(7.5, 1.0 + 0.42 * len(rows)))
    for height, (name, values) in enumerate(reversed(rows.items())):
        values = np.asarray(values)
        spread = 0.22 * np.cos(np.arange(len(values)) * 2.4)  # apart from one another, the same in every run
        axes.plot(values, height + spread, ".", color=BLUE, alpha=0.45, markersize=6,
                  label="one run" if height == 0 else None)
        axes.plot(intervals[name], [height, height], color=ORANGE, linewidth=3, solid_capstyle="butt",
                  label="mean and its interval" if height == 0 else None)
        axes.plot(values.mean(), height, "D", color=ORANGE, markersize=6, markeredgecolor="black")
    axes.axvline(mark, color=GREY, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), list(reversed(rows)))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))
    finish(axes, xlabel=xlabel)
    return figure


def retrieval_counts(panels: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], *, fair: float) -> Figure:
    """One panel a temperature: how often each memory was retrieved by utility, marked by how its first episode ended.

    Each panel is (utility, retrievals, first episode succeeded); `fair` is the number of retrievals by lot.
    """
    check_some(panels, "temperature")
    figure, drawn = plt.subplots(1, len(panels), figsize=(4.9 * len(panels), 3.9), sharey=True, squeeze=False,
                                 layout="constrained")
    for axes, (title, (utility, counts, won)) in zip(drawn[0], panels.items(), strict=True):
        same_length(utility, counts=counts, won=won)
        won = np.asarray(won, dtype=bool)
        for group, name, colour, marker in ((won, "succeeded", BLUE, "o"), (~won, "failed", ORANGE, "v")):
            axes.semilogy(utility[group], counts[group], marker, color=colour, markersize=5, alpha=0.75,
                          label=f"first episode {name}")
        axes.axhline(fair, color="black", linestyle="--", linewidth=1.2, label="retrieval by lot")
        plain_numbers(axes, "y")
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel="true utility of the memory")
    drawn[0, 0].set_ylabel("retrievals")
    drawn[0, 0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def power(found: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], theory: Mapping[str, np.ndarray],
          shares: np.ndarray, *, bars: str) -> Figure:
    """How often two memories are told apart, by the share of retrievals apart: markers simulated, dashed by theory.

    Each series is (shares, power, half-width of the bars); theory is given over `shares`. A line marks one half.
    """
    check_some(found, "test")
    if set(found) != set(theory):
        raise ValueError(f"expected theory for the same tests, got {list(found)} and {list(theory)}")
    figure, axes = plt.subplots(figsize=(7.5, 4))
    for (name, (places, middle, half)), colour, marker in zip(found.items(), cycle(SERIES), cycle(MARKERS)):
        same_length(places, power=middle, half=half)
        same_length(shares, theory=theory[name])
        axes.errorbar(places, middle, yerr=half, color=colour, marker=marker, markersize=7, linestyle="none",
                      capsize=3, label=name)
        axes.plot(shares, theory[name], color=colour, linestyle="--", linewidth=1.3)
    axes.plot([], [], color="black", linestyle="--", label="theory")
    axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1.4)
    axes.set_ylim(-0.03, 1.03)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    finish(axes, xlabel="share f of the retrievals in which the other is absent",
           ylabel=f"runs in which they are told apart\n({bars})")
    return figure


def share_needed(retrievals: np.ndarray, lines: Mapping[str, np.ndarray], *, mark: float) -> Figure:
    """The share apart at which half of the runs tell two memories apart, by retrievals, log axes; a line at `mark`."""
    check_some(lines, "test")
    figure, axes = plt.subplots(figsize=(7.5, 3.6))
    for (name, line), colour, style in zip(lines.items(), cycle(SERIES), cycle(("-", "--", "-."))):
        same_length(retrievals, **{name: line})
        axes.loglog(retrievals, line, color=colour, linestyle=style, linewidth=2, label=name)
    axes.axhline(mark, color=GREY, linestyle=":", linewidth=1.4, label=f"f = {mark:g}")
    axes.set_ylim(top=1)
    plain_numbers(axes, "x")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.legend(frameon=False, fontsize=9)
    finish(axes, xlabel="retrievals n of each of the two", ylabel="share f apart for half power")
    return figure


def after_a_change(retrievals: np.ndarray, panels: Mapping[str, Change]) -> Figure:
    """One panel a change: estimates with their bands over the runs, the true rate, and the threshold to be passed."""
    check_some(panels, "change")
    figure, drawn = plt.subplots(1, len(panels), figsize=(4.9 * len(panels), 3.8), sharey=True, squeeze=False,
                                 layout="constrained")
    for axes, (title, change) in zip(drawn[0], panels.items(), strict=True):
        same_length(retrievals, truth=change.truth)
        axes.plot(retrievals, change.truth, color="black", linewidth=1.4, label="true rate")
        for (name, (middle, low, high)), colour, style in zip(change.estimates.items(), cycle(SERIES),
                                                              cycle(("-", "--", "-."))):
            same_length(retrievals, middle=middle, low=low, high=high)
            axes.fill_between(retrievals, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(retrievals, middle, color=colour, linestyle=style, linewidth=2, label=name)
        axes.axhline(change.threshold, color=GREY, linestyle=":", linewidth=1.4, label="threshold")
        axes.set_ylim(-0.03, 1.03)
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel="retrieval of the memory")
    drawn[0, 0].set_ylabel("worth [share of successes]")
    drawn[0, -1].legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def lag_and_noise(points: Mapping[str, tuple[float, float]], curve: tuple[np.ndarray, np.ndarray], *,
                  along: str) -> Figure:
    """What quickness costs: noise at rest by lag after a change, a marker an estimator, and the curve `along` names."""
    check_some(points, "estimator")
    same_length(curve[0], curve=curve[1])
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    axes.semilogx(*curve, color="black", linestyle="--", linewidth=1.3, label=along)
    for (name, (lag, noise)), colour, marker in zip(points.items(), cycle(SERIES), cycle(MARKERS)):
        axes.semilogx(lag, noise, marker, color=colour, markersize=9, linestyle="none", label=name)
    plain_numbers(axes, "x")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    finish(axes, xlabel="lag after the change [retrievals]", ylabel="noise at rest [standard deviation]")
    return figure


def check_some(drawn: Mapping[str, object], what: str) -> None:
    """ValueError when there is nothing to draw."""
    if not drawn:
        raise ValueError(f"expected at least one {what} to draw, got none")
