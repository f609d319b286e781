"""Figures of governed memories: what a lesson carries, what each policy gains, and who fills the prompt.

Left out: computing anything that is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from helpers.convergence_plots import finish, same_length
from helpers.plots import BLUE, GREEN, GREY, MARKERS, ORANGE, PURPLE, SERIES, SKY, VERMILION

if TYPE_CHECKING:  # it brings scipy, a second that a figure of other things does not need
    from helpers.stats import Difference

Rate = tuple[float, float, float]  # mean, lower and upper end of its interval
# A role keeps its look in every figure.
ROLE_STYLES = {"useful": (BLUE, "o"), "stale": (VERMILION, "v"), "successor": (GREEN, "^"), "wrong": (PURPLE, "s"),
               "generic": (ORANGE, "D"), "no lesson": (GREY, "X"), "empty": ("#DDDDDD", "")}


def by_kind(panels: Mapping[str, Mapping[str, Rate]], *, reference: str, bars: str) -> Figure:
    """One panel a version of the rule, one row a kind of lesson: its success rate with interval.

    The row named `reference` is drawn as a dashed line as well; `bars` says what the intervals are.
    """
    if not panels or any(list(rows) != list(next(iter(panels.values()))) for rows in panels.values()):
        raise ValueError(f"expected at least one panel to draw, and the same rows in each, got "
                         f"{[list(rows) for rows in panels.values()]}")
    names = list(next(iter(panels.values())))
    if reference not in names:
        raise ValueError(f"reference: expected one of {names}, got {reference!r}")
    figure, drawn = plt.subplots(1, len(panels), figsize=(1.5 + 3.6 * len(panels), 1 + 0.45 * len(names)),
                                 sharex=True, sharey=True, squeeze=False, layout="constrained")
    for axes, (title, rows) in zip(drawn[0], panels.items(), strict=True):
        axes.axvline(rows[reference][0], color=GREY, linestyle="--", linewidth=1)
        for height, (name, (mean, low, high)) in zip(range(len(names) - 1, -1, -1), rows.items(), strict=True):
            colour, marker = ROLE_STYLES.get(name, (BLUE, "o"))
            axes.plot([low, high], [height, height], color=colour, linewidth=2)
            axes.plot(mean, height, marker, color=colour, markersize=8)
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel=f"success rate, {bars}")
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    return figure


def forest(panels: Mapping[str, Mapping[str, Mapping[str, Difference]]], *, reference: str) -> Figure:
    """Panel, then row, then series: difference to `reference` with its interval, and a line at no difference."""
    if not panels or not all(panels.values()):
        raise ValueError("expected at least one difference to draw, got none")
    names = list(next(iter(panels.values())))
    series = list(dict.fromkeys(one for rows in panels.values() for found in rows.values() for one in found))
    figure, drawn = plt.subplots(1, len(panels), figsize=(2 + 3.7 * len(panels), 1.2 + 0.42 * len(names)),
                                 sharey=True, squeeze=False, layout="constrained")
    for axes, (title, rows) in zip(drawn[0], panels.items(), strict=True):
        for number, (one, colour, marker) in enumerate(zip(series, cycle(SERIES), cycle(MARKERS))):
            shift = 0.22 * ((len(series) - 1) / 2 - number)
            at = {len(names) - 1 - names.index(name) + shift: found[one] for name, found in rows.items()
                  if one in found}
            axes.hlines(list(at), [d.low for d in at.values()], [d.high for d in at.values()], color=colour)
            axes.plot([d.mean for d in at.values()], list(at), marker, color=colour, markersize=6, label=one)
        axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
        axes.set_title(title, fontsize=10)
        level = next(d.level for found in rows.values() for d in found.values())
        finish(axes, xlabel=f"difference to {reference}\n(success rate, {level:.0%} interval)")
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_ylim(-0.6, len(names) - 0.4)
    drawn[0, 0].legend(frameon=False, fontsize=9)
    return figure


def over_stream(episodes: Sequence[float], panels: Mapping[str, Mapping[str, np.ndarray]], *, change: float | None,
                ylabel: str, limits: Sequence[str] = ()) -> Figure:
    """One panel each, one line a name over the episodes, and a dotted line at the change of a rule.

    NaN leaves a gap. Lines named in `limits` are broken and without markers: bounds, not rivals.
    """
    if not panels:
        raise ValueError("expected at least one panel to draw, got none")
    names = [name for name in dict.fromkeys(name for lines in panels.values() for name in lines) if name not in limits]
    own = {name: (colour, marker) for name, colour, marker in zip(names, cycle(SERIES), cycle(MARKERS))}
    figure, drawn = plt.subplots(1, len(panels), figsize=(2.5 + 4.3 * len(panels), 3.9), sharey=True, squeeze=False,
                                 layout="constrained")
    for axes, (title, lines) in zip(drawn[0], panels.items(), strict=True):
        same_length(episodes, **lines)
        for name, values in lines.items():
            colour, marker = ROLE_STYLES.get(name) or own.get(name, (GREY, ""))
            style = {"marker": marker, "markersize": 5, "color": colour}
            if name in limits:
                style = {"color": "black", "linestyle": ("--", "-.")[limits.index(name) % 2], "linewidth": 1.2}
            axes.plot(episodes, values, label=name, **style)
        if change is not None:
            axes.axvline(change, color=GREY, linestyle=":", linewidth=1.4)
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel="episode")
    drawn[0, 0].set_ylabel(ylabel)
    figure.legend(*_merged(drawn[0]), loc="outside right center", frameon=False, fontsize=9)
    return figure


def filled_places(episodes: Sequence[float], panels: Mapping[str, Mapping[str, np.ndarray]], *,
                  change: float) -> Figure:
    """One panel a policy: share of the places in the prompt by role, stacked; what is missing to 1 stayed empty."""
    if not panels:
        raise ValueError("expected at least one policy to draw, got none")
    figure, drawn = plt.subplots(1, len(panels), figsize=(2 + 2.7 * len(panels), 3.4), sharey=True, squeeze=False,
                                 layout="constrained")
    for axes, (title, shares) in zip(drawn[0], panels.items(), strict=True):
        same_length(episodes, **shares)
        rest = 1 - np.sum(list(shares.values()), axis=0)
        drawn_shares = {**shares, "empty": np.clip(rest, 0, 1)}
        axes.stackplot(episodes, *drawn_shares.values(), labels=list(drawn_shares), edgecolor="white", linewidth=0.4,
                       colors=[ROLE_STYLES.get(role, (SKY, ""))[0] for role in drawn_shares])
        axes.axvline(change, color="black", linestyle=":", linewidth=1.4)
        axes.set_title(title, fontsize=10)
        axes.set(ylim=(0, 1), xlim=(min(episodes), max(episodes)))
        finish(axes, xlabel="episode")
    drawn[0, 0].set_ylabel("share of the places in the prompt")
    handles, labels = drawn[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right center", frameon=False, fontsize=9)
    return figure


def against_effects(truth: np.ndarray, panels: Mapping[str, np.ndarray], groups: Mapping[str, np.ndarray], *,
                    equal: Sequence[str] = ()) -> Figure:
    """One panel an estimator: its value of each lesson by what the lesson truly adds, a colour and a marker a group.

    `groups` are masks over the lessons. Panels named in `equal` are in the unit of the truth, and get the line on
    which both are the same. Two panels stand in a row.
    """
    if not panels or not groups:
        raise ValueError("expected at least one estimator and one group to draw, got none")
    columns, rows = min(len(panels), 2), -(-len(panels) // 2)
    figure, drawn = plt.subplots(rows, columns, figsize=(1.4 + 3.8 * columns, 0.2 + 3.3 * rows), squeeze=False,
                                 layout="constrained")
    for unused in drawn.flat[len(panels):]:
        unused.remove()
    for axes, (title, values) in zip(drawn.flat, panels.items(), strict=False):
        same_length(truth, **{title: values}, **groups)
        for name, mask in groups.items():
            colour, marker = ROLE_STYLES.get(name, (BLUE, "o"))
            axes.plot(truth[mask], values[mask], marker, color=colour, markersize=6, alpha=0.8, label=name)
        if title in equal:
            ends = [np.nanmin(truth), np.nanmax(truth)]
            axes.plot(ends, ends, color="black", linestyle="--", linewidth=1.2, label="estimate = truth")
        axes.set_title(title, fontsize=10)
        finish(axes, xlabel="true effect [success rate added]", ylabel="estimate")
    figure.legend(*_merged(figure.axes), loc="outside right center", frameon=False, fontsize=9)
    return figure


def _merged(panels: Sequence[plt.Axes]) -> tuple[list, list[str]]:
    """Handles and labels of several panels, each label once."""
    found: dict[str, object] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
