"""Figures of worth that converges: paths, rankings, weightings, intervals, labels, and how long all of it takes.

Left out: computing anything that is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from helpers.plots import BLUE, GREEN, GREY, MARKERS, ORANGE, SERIES, VERMILION

LABELS = {"high": (BLUE, "^"), "mixed": (GREY, "o"), "low": (VERMILION, "v"), "uncertain": (ORANGE, "s")}


@dataclass(frozen=True)
class Thresholds:
    """One way to label memories: the label of each, and the worths and the evidence at which labels change."""

    labels: Sequence[str]
    low: float
    high: float
    min_evidence: float


def fair_game(episodes: Sequence[int], paths: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """One panel a quantity: a line a run, (runs, moments), within the bounds ±(moments,) that theory gives."""
    if not paths:
        raise ValueError("expected at least one quantity to draw, got none")
    figure, panels = plt.subplots(1, len(paths), figsize=(4.9 * len(paths), 3.5), squeeze=False, layout="constrained")
    for axes, (name, (runs, bound)) in zip(panels[0], paths.items(), strict=True):
        same_length(episodes, **{name: runs, "bound": bound})
        axes.plot(episodes, np.transpose(runs), color=BLUE, alpha=0.45, linewidth=0.9)
        axes.plot([], [], color=BLUE, label=f"one memory in each of {len(runs)} runs")
        for sign, label in ((1, "± 2 standard deviations, theory"), (-1, None)):
            axes.plot(episodes, sign * np.asarray(bound), color="black", linestyle="--", linewidth=1.2, label=label)
        axes.axhline(0, color=GREY, linewidth=1)
        axes.set_ylim(*(np.array([-1, 1]) * 1.1 * max(np.abs(runs).max(), np.max(bound))))
        finish(axes, xlabel="episodes", ylabel=name)
    panels[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def against_truth(limits: np.ndarray, panels: Mapping[str, tuple[np.ndarray, float]]) -> Figure:
    """One panel a moment: the worth of each memory over its limit, and ± 2 of the standard error given."""
    if not panels:
        raise ValueError("expected at least one moment to draw, got none")
    figure, drawn = plt.subplots(1, len(panels), figsize=(1 + 3.3 * len(panels), 3.6), sharey=True, squeeze=False,
                                 layout="constrained")
    ends = np.array([np.min(limits) - 0.005, np.max(limits) + 0.005])
    for axes, (title, (worth, error)) in zip(drawn[0], panels.items(), strict=True):
        same_length(limits, worth=worth)
        axes.fill_between(ends, ends - 2 * error, ends + 2 * error, color=GREY, alpha=0.2, linewidth=0,
                          label="± 2 standard errors")
        axes.plot(ends, ends, color="black", linestyle="--", linewidth=1.2, label="worth = limit")
        axes.plot(limits, worth, "o", color=BLUE, markersize=4, alpha=0.7, label="one memory")
        axes.set_title(title, fontsize=10)
        axes.set_xlim(*ends)
        axes.locator_params(axis="x", nbins=4)
        finish(axes, xlabel="limit p⁺ [share of successes]")
    drawn[0, 0].set_ylabel("worth [share of successes]")
    drawn[0, -1].legend(frameon=False, fontsize=8)
    return figure


def correlations(episodes: Sequence[int], found: tuple[np.ndarray, np.ndarray], *, band: str, theory: np.ndarray,
                 never: Mapping[str, np.ndarray]) -> Figure:
    """Spearman's ρ by episodes: (middle, half-width) of the band it names, theory, and systems that never update."""
    middle, half = np.asarray(found[0]), np.asarray(found[1])
    same_length(episodes, middle=middle, half=half, theory=theory, **never)
    figure, axes = plt.subplots(figsize=(7.5, 4))
    axes.fill_between(episodes, middle - half, middle + half, color=BLUE, alpha=0.2, linewidth=0, label=band)
    axes.semilogx(episodes, middle, color=BLUE, marker="o", markersize=6, label="worth, mean over runs")
    axes.semilogx(episodes, theory, color="black", linestyle="--", linewidth=1.4, label="theory")
    for (name, line), colour, marker in zip(never.items(), cycle((VERMILION, ORANGE, GREEN)), cycle("sDv")):
        axes.semilogx(episodes, line, color=colour, marker=marker, markersize=5, label=name)
    axes.set_ylim(min(-0.1, np.min(middle - half) - 0.05), 1)
    plain_numbers(axes, "x")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    finish(axes, xlabel="episodes", ylabel="rank correlation ρ with the true utility")
    return figure


def weightings(utility: Sequence[float], deviation: Mapping[str, tuple[np.ndarray, np.ndarray]], *,
               bars: str) -> Figure:
    """Worth minus limit by utility, one series a weighting: (middle, half-width of the bars) at each utility."""
    if not deviation:
        raise ValueError("expected at least one weighting to draw, got none")
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    step = 0.01 * (np.max(utility) - np.min(utility) or 1)
    for number, ((name, (middle, half)), colour, marker) in enumerate(
            zip(deviation.items(), cycle(SERIES), cycle(MARKERS))):
        same_length(utility, **{name: middle, "half": half})
        places = np.asarray(utility) + step * (number - (len(deviation) - 1) / 2)  # side by side, not on one another
        axes.errorbar(places, middle, yerr=half, color=colour, marker=marker, markersize=6, linestyle="none",
                      capsize=2, label=name)
    axes.axhline(0, color="black", linestyle="--", linewidth=1.2, label="the limit p⁺")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.28))
    finish(axes, xlabel="utility of the memory", ylabel=f"worth − p⁺\n({bars})")
    return figure


def coverage(retrievals: Sequence[float], found: Mapping[str, tuple[np.ndarray, np.ndarray]], *, level: float,
             bars: str) -> Figure:
    """Share of intervals that hold the truth by retrievals, one line a method, beside the level they promise."""
    if not found:
        raise ValueError("expected at least one kind of interval to draw, got none")
    figure, axes = plt.subplots(figsize=(7.5, 3.6))
    for (name, (middle, half)), colour, marker in zip(found.items(), cycle(SERIES), cycle(MARKERS)):
        same_length(retrievals, **{name: middle, "half": half})
        axes.errorbar(retrievals, middle, yerr=half, color=colour, marker=marker, markersize=6, capsize=2, label=name)
    axes.axhline(level, color="black", linestyle="--", linewidth=1.2, label=f"promised: {level:.0%}")
    axes.set_xscale("log")
    plain_numbers(axes, "x")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    finish(axes, xlabel="retrievals of a memory", ylabel=f"share of intervals with p⁺ inside\n({bars})")
    return figure


def taxonomy(evidence: np.ndarray, worth: np.ndarray, panels: Mapping[str, Thresholds]) -> Figure:
    """One panel a way to label: each memory by evidence and worth, coloured by label, between the thresholds."""
    if not panels:
        raise ValueError("expected at least one way to label memories, got none")
    figure, drawn = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 4.2), sharex=True, sharey=True,
                                 squeeze=False, layout="constrained")
    least = min(np.min(evidence), *(cut.min_evidence for cut in panels.values()))
    for axes, (title, cut) in zip(drawn[0], panels.items(), strict=True):
        same_length(evidence, worth=worth, labels=cut.labels)
        for label, (colour, marker) in LABELS.items():
            member = np.asarray(cut.labels) == label
            axes.semilogx(evidence[member], worth[member], marker, color=colour, linestyle="none", markersize=6,
                          markerfacecolor="none" if label == "uncertain" else colour, label=f"{label}: {member.sum()}")
        axes.axvline(cut.min_evidence, color="black", linestyle=":", linewidth=1.2)
        for height in (cut.low, cut.high):
            axes.axhline(height, color="black", linestyle="--", linewidth=1)
        axes.set_title(title, fontsize=10)
        axes.set_xlim(0.8 * least, 1.25 * np.max(evidence))
        axes.set_ylim(min(0.25, np.min(worth) - 0.02), max(0.75, np.max(worth) + 0.02))
        plain_numbers(axes, "x")
        axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8, loc="lower right")
        finish(axes, xlabel="evidence [retrievals]")
    drawn[0, 0].set_ylabel("worth [share of successes]")
    return figure


def episodes_by_size(found: Mapping[str, Mapping[int, float]], theory: Mapping[str, Mapping[int, float]], *,
                     target: str) -> Figure:
    """Episodes until `target` by number of memories on log axes: a marker a simulation, a dashed line by theory."""
    if not found or set(found) != set(theory):
        raise ValueError(f"expected simulation and theory for the same series, got {sorted(found)} and "
                         f"{sorted(theory)}")
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    for name, colour, marker in zip(found, cycle(SERIES), cycle(MARKERS)):
        axes.loglog(list(theory[name]), list(theory[name].values()), color=colour, linestyle="--", linewidth=1.3)
        axes.loglog(list(found[name]), list(found[name].values()), marker, color=colour, linestyle="none",
                    markersize=8, label=f"{name}, simulated")
    axes.plot([], [], color="black", linestyle="--", label="theory")
    sizes = sorted({size for points in found.values() for size in points})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.minorticks_off()
    plain_numbers(axes, "y")
    axes.legend(frameon=False, fontsize=9)
    finish(axes, xlabel="number of memories N", ylabel=f"episodes until {target}")
    return figure


def finish(axes: Axes, **labels: str) -> None:
    """Label the axes and take the frame off."""
    axes.set(**labels)
    axes.spines[["top", "right"]].set_visible(False)


def plain_numbers(axes: Axes, which: str) -> None:
    """Write the ticks of a log axis as 10,000 instead of as a power."""
    getattr(axes, f"{which}axis").set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def same_length(moments: Sequence[float] | np.ndarray, **series: object) -> None:
    """ValueError naming the series whose last axis is not as long as `moments`."""
    wrong = {name: np.shape(values) for name, values in series.items() if np.shape(values)[-1:] != (len(moments),)}
    if wrong:
        raise ValueError(f"expected series over {len(moments)} places, got {wrong}")
