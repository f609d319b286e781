"""Figures of sweeps: a map of rank correlations beside theory, one point for many seeds, and time by workers.

Left out: computing anything that is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.stats import norm

from helpers.convergence_plots import finish, plain_numbers, same_length
from helpers.plots import BLUE, GREY, MARKERS, SERIES, VERMILION
from helpers.sweep_table import Table

LIGHT = 0.5  # from this ρ on the colour behind a number is light


def rank_map(table: Table, theory: ArrayLike) -> Figure:
    """One panel a k: ρ by memories and episodes, simulated above theory; last, what is between them with ± 2 se.

    `table` has a point for every n, k and episodes of a full grid, `theory` (points,) the expected ρ of each.
    """
    theory = np.asarray(theory, dtype=np.float64)
    same_length(range(len(table.points)), theory=theory)
    n, k, episodes = (table.column(name) for name in ("n", "k", "episodes"))
    sizes, lengths, drawn = np.unique(n), np.unique(episodes), np.unique(k)
    if len({*zip(n, k, episodes, strict=True)}) < len(n) or len(n) != len(sizes) * len(lengths) * len(drawn):
        raise ValueError(f"expected each n, k and episodes of a full grid once, got {len(n)} points of "
                         f"{len(sizes)} × {len(drawn)} × {len(lengths)}")
    figure, panels = plt.subplots(1, len(drawn) + 1, figsize=(1.5 + 3.2 * (len(drawn) + 1), 3.7), squeeze=False,
                                  layout="constrained")
    for axes, value in zip(panels[0], drawn, strict=False):
        rows = np.flatnonzero(k == value)
        rows = rows[np.lexsort((episodes[rows], n[rows]))].reshape(len(sizes), len(lengths))
        image = _cells(axes, table.mean[rows], theory[rows])
        axes.set(title=f"k = {value} retrieved", xlabel="episodes T",
                 ylabel="memories N" if value == drawn[0] else "")
        axes.set_xticks(range(len(lengths)), [f"{length:,}" for length in lengths])
        axes.set_yticks(range(len(sizes)), sizes)
    figure.colorbar(image, ax=panels[0, :-1].tolist(), label="rank correlation ρ with the true utility", shrink=0.9)
    _differences(panels[0, -1], episodes * k / n, k, table.mean - theory, 2 * table.error)
    return figure


def many_seeds(values: ArrayLike, *, mean: float, sd: float) -> Figure:
    """How one number a seed, (seeds,), is spread, beside the normal curve with the mean and sd of theory."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size < 2 or not np.isfinite(values).all() or not sd > 0:
        raise ValueError(f"expected at least two finite values (seeds,) and an sd above 0, got {values.shape} and {sd}")
    figure, axes = plt.subplots(figsize=(7.5, 3.6))
    axes.hist(values, bins="auto", density=True, color=BLUE, alpha=0.45, label=f"{values.size:,} seeds")
    places = np.linspace(min(values.min(), mean - 4 * sd), max(values.max(), mean + 4 * sd), 400)
    axes.plot(places, norm.pdf(places, mean, sd), color="black", linestyle="--", linewidth=1.4, label="theory")
    axes.axvline(values.mean(), color=VERMILION, linewidth=1.6, label="mean over seeds")
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    finish(axes, xlabel="rank correlation ρ with the true utility", ylabel="density over seeds")
    return figure


def cost_by_workers(seconds: Mapping[int, float]) -> Figure:
    """Time of one sweep by the number of workers, as a ratio to that without any (key 0), beside 1/workers."""
    if 0 not in seconds or len(seconds) < 2 or not all(value > 0 for value in seconds.values()):
        raise ValueError(f"expected seconds above 0 for 0 workers and at least one more number, got {dict(seconds)}")
    counts = sorted(set(seconds) - {0})
    figure, axes = plt.subplots(figsize=(5.5, 3.4))
    axes.plot(counts, [seconds[count] / seconds[0] for count in counts], color=BLUE, marker="o", markersize=8,
              label="measured")
    axes.plot(counts, [1 / count for count in counts], color="black", linestyle="--", linewidth=1.2,
              label="shared without loss")
    axes.axhline(1, color=GREY, linestyle=":", linewidth=1.4, label="in this process, without Dask")
    axes.set_xticks(counts)
    axes.set_ylim(0, None)
    axes.legend(frameon=False, fontsize=9)
    finish(axes, xlabel="workers", ylabel="time, ratio to no workers")
    return figure


def _cells(axes: Axes, found: np.ndarray, theory: np.ndarray) -> object:
    """Coloured cells (sizes, lengths), each with both numbers in it."""
    image = axes.imshow(found, vmin=0, vmax=1, cmap="cividis", origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(found):
        axes.text(column, row, f"{value:.2f}\n({theory[row, column]:.2f})", ha="center", va="center", fontsize=8,
                  color="black" if value >= LIGHT else "white")
    return image


def _differences(axes: Axes, retrievals: np.ndarray, k: np.ndarray, difference: np.ndarray, half: np.ndarray) -> None:
    """Simulated minus theory by the retrievals a memory can expect, one series a k."""
    for value, colour, marker in zip(np.unique(k), cycle(SERIES), cycle(MARKERS)):
        rows = k == value
        axes.errorbar(retrievals[rows], difference[rows], yerr=half[rows], color=colour, marker=marker, markersize=6,
                      linestyle="none", capsize=2, label=f"k = {value}")
    axes.axhline(0, color="black", linestyle="--", linewidth=1.2)
    axes.set_xscale("log")
    axes.minorticks_off()
    plain_numbers(axes, "x")
    axes.legend(frameon=False, fontsize=8)
    finish(axes, title="simulated − theory, ± 2 se", xlabel="retrievals a memory, T·k/N", ylabel="difference of ρ")
