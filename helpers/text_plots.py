"""Figures of sentences in a memory: what each query finds, how worth moves, and what forgetting a memory changes.

Left out: computing anything that is drawn. A memory keeps the colour and the marker of its role in every figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from helpers.plots import BLUE, GREEN, GREY, MARKERS, ORANGE, PURPLE, SERIES, VERMILION

ROLES = {"stale": (VERMILION, "v"), "easy": (BLUE, "o"), "specialist": (GREEN, "s"), "hitchhiker": (ORANGE, "^"),
         "distractor": (PURPLE, "X")}
FORECAST = "forecast by dropout"  # what promises to be the change itself, so that a line says = is belongs beside it
FOUND = {"found, and knows the answer": ("o", "white", "black"), "found beside it": ("o", "none", "white"),
         "knows the answer, not found": ("X", VERMILION, "white")}  # marker, face, edge


def retrieval_maps(panels: Mapping[str, tuple[np.ndarray, np.ndarray]], *, queries: Sequence[str],
                   memories: Sequence[str], topics: Sequence[int]) -> Figure:
    """Cosines as colours, one row a query and one column a memory, and rings around what is found.

    panels: title to cosines (queries, memories) and ids found (queries, k), −1 where nothing was. topics: (queries,)
    ids of the memories that know the answers; queries of one topic follow one another. NaN (no cosine) stays blank.
    """
    shape = (len(queries), len(memories))
    wrong = {title: (np.shape(cosines), np.shape(found)) for title, (cosines, found) in panels.items()
             if np.shape(cosines) != shape or np.shape(found)[:1] != shape[:1]}
    if not panels or wrong or len(topics) != len(queries):
        raise ValueError(f"expected at least one panel of cosines {shape} with ids ({shape[0]}, k) and {shape[0]} "
                         f"topics, got {wrong or list(panels)} and {len(topics)} topics")
    figure, drawn = plt.subplots(1, len(panels), figsize=(0.6 + 2.7 * len(panels), 0.23 * len(queries)), sharey=True,
                                 squeeze=False, gridspec_kw={"wspace": 0.06})  # texts stand outside, cut to size later
    for axes, (title, (cosines, found)) in zip(drawn[0], panels.items(), strict=True):
        image = axes.imshow(cosines, vmin=0, vmax=1, cmap="cividis", aspect="auto", interpolation="nearest")
        _mark_found(axes, np.asarray(found), topics)
        axes.set_xticks(range(len(memories)), memories, rotation=90, fontsize=8)
        axes.set_title(title, fontsize=10)
        for row in range(1, len(topics)):
            if topics[row] != topics[row - 1]:
                axes.axhline(row - 0.5, color="white", linewidth=1.5)
    drawn[0, 0].set_yticks(range(len(queries)), queries, fontsize=7.5)
    figure.colorbar(image, ax=drawn[0].tolist(), label="cosine of query and memory", shrink=0.5, pad=0.03)
    drawn[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 1.05), ncols=3, fontsize=8, facecolor="#7C7B78",
                       labelcolor="white")  # the ground on which white rings are seen
    return figure


def _mark_found(axes: Axes, found: np.ndarray, topics: Sequence[int]) -> None:
    """A dot where the right memory is found, a ring where another is, a cross where the right one is missed."""
    cells = {name: [] for name in FOUND}
    right, beside, missed = cells.values()
    for row, (ids, topic) in enumerate(zip(found.tolist(), topics, strict=True)):
        for memory in ids:
            if memory >= 0:
                (right if memory == topic else beside).append((memory, row))
        if topic not in ids:
            missed.append((topic, row))
    for name, (marker, face, edge) in FOUND.items():
        x, y = zip(*cells[name], strict=True) if cells[name] else ((), ())
        axes.plot(x, y, marker, color=face, markeredgecolor=edge, linestyle="none", markersize=6, label=name)


def worth_paths(episodes: Sequence[int], paths: Mapping[str, tuple[np.ndarray, np.ndarray]], *,
                expected: Mapping[str, np.ndarray], change: int, band: str) -> Figure:
    """Worth by episodes, one line a role: mean with a band of ± the second array, the expected worth dashed."""
    if not paths or set(expected) != set(paths):
        raise ValueError(f"expected paths and their expected values for the same roles, got {sorted(paths)} and "
                         f"{sorted(expected)}")
    figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for number, (role, (mean, half)) in enumerate(paths.items()):
        colour, marker = _style(role)
        wrong = [np.shape(values) for values in (mean, half, expected[role]) if np.shape(values) != (len(episodes),)]
        if wrong:
            raise ValueError(f"{role}: expected a value for each of {len(episodes)} moments, got {wrong[0]}")
        axes.fill_between(episodes, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
        axes.plot(episodes, mean, color=colour, marker=marker, markersize=6, markevery=(number, 6), label=role)
        axes.plot(episodes, expected[role], color="black", linestyle="--", linewidth=1.1,
                  label="_")
    axes.axvline(change, color=GREY, linestyle=":", linewidth=1.4)
    axes.annotate("the fact turns false", (change, 0.02), xytext=(5, 0), textcoords="offset points", color=GREY,
                  fontsize=9)
    axes.fill_between([], [], [], color=GREY, alpha=0.2, label=band)
    axes.plot([], [], color="black", linestyle="--", linewidth=1.1, label="expected, without luck")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return _finish(figure, axes, xlabel="episodes", ylabel="worth [share of successes]")


def worth_and_contrast(names: Sequence[str], roles: Sequence[str],
                       panels: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]], *, bars: str) -> Figure:
    """One row a memory, one panel a number: mean, half-width of the bar and true value of each, (memories,) each."""
    wrong = {title: [np.shape(part) for part in parts] for title, parts in panels.items()
             if any(np.shape(part) != (len(names),) for part in parts)}
    if not panels or wrong or len(roles) != len(names):
        raise ValueError(f"expected three arrays of {len(names)} values a panel and {len(names)} roles, got "
                         f"{wrong or list(panels)} and {len(roles)} roles")
    figure, drawn = plt.subplots(1, len(panels), figsize=(2.2 + 3.4 * len(panels), 1.3 + 0.36 * len(names)),
                                 sharey=True, squeeze=False, layout="constrained")
    for axes, (title, (mean, half, truth)) in zip(drawn[0], panels.items(), strict=True):
        for row, role in enumerate(roles):
            colour, marker = _style(role)
            axes.plot(truth[row], row, "|", color="black", markersize=17, markeredgewidth=1.5,
                      label=None if row else "by the rules of the world")
            axes.errorbar(mean[row], row, xerr=half[row], color=colour, marker=marker, markersize=7, capsize=3)
        if np.min(mean) < 0:
            axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
        axes.grid(axis="y", color="#DDDDDD")
        _finish(figure, axes, xlabel=f"{title}\n({bars})")
    drawn[0, 0].set_yticks(range(len(names)), [f"{name} ({role})" for name, role in zip(names, roles, strict=True)],
                           fontsize=9)
    drawn[0, 0].set_ylim(len(names) - 0.5, -0.5)
    figure.legend(*drawn[0, 0].get_legend_handles_labels(), loc="outside upper right", frameon=False, fontsize=9)
    return figure


def forgetting(roles: Sequence[str], said: Mapping[str, np.ndarray], change: np.ndarray, *, bars: str) -> Figure:
    """The change of the success rate when a memory is forgotten, over what a number said of it; one panel a number.

    said: label to (runs, memories); for the one called `FORECAST` a dashed line marks where it is right. change:
    (runs, memories). Points are means over runs, bars their standard deviations.
    """
    wrong = {label: np.shape(values) for label, values in said.items() if np.shape(values) != np.shape(change)}
    if not said or wrong or np.shape(change)[1:] != (len(roles),):
        raise ValueError(f"expected change and at least one number of shape (runs, {len(roles)}), a column a role, "
                         f"got change {np.shape(change)} and {wrong or list(said)}")
    figure, drawn = plt.subplots(1, len(said), figsize=(1 + 3.7 * len(said), 4), sharey=True, squeeze=False,
                                 layout="constrained")
    middle, half = change.mean(axis=0), change.std(axis=0, ddof=1)
    for axes, (label, values) in zip(drawn[0], said.items(), strict=True):
        if label == FORECAST:
            axes.axline((0, 0), slope=1, color="black", linestyle="--", linewidth=1.1, label="change as forecast")
        for role in dict.fromkeys(roles):
            colour, marker = _style(role)
            its = np.array(roles) == role
            axes.errorbar(values.mean(axis=0)[its], middle[its], xerr=values.std(axis=0, ddof=1)[its], yerr=half[its],
                          color=colour, marker=marker, markersize=7, markerfacecolor="none", linestyle="none",
                          capsize=2, label=role)
        axes.axhline(0, color=GREY, linewidth=1)
        _finish(figure, axes, xlabel=f"{label}\n({bars})")
    drawn[0, 0].set_ylabel("change of the success rate\nwhen the memory is forgotten")
    figure.legend(*drawn[0, -1].get_legend_handles_labels(), loc="outside upper center", ncols=6, frameon=False,
                  fontsize=9)
    return figure


def by_setting(rows: Mapping[str, Mapping[str, tuple[np.ndarray, float]]]) -> Figure:
    """Worth at the end, one row a setting, one series a role: (worth of each run, expected worth), and their mean."""
    if not rows or len({tuple(row) for row in rows.values()}) > 1:
        raise ValueError("expected at least one setting, and the same roles in each, got "
                         f"{ {setting: list(row) for setting, row in rows.items()} }")
    figure, axes = plt.subplots(figsize=(7.5, 1.4 + 0.55 * len(rows)), layout="constrained")
    for place, row in enumerate(rows.values()):
        for number, (role, (runs, expected)) in enumerate(row.items()):
            colour, marker = _style(role)
            height = place + 0.2 * (number - (len(row) - 1) / 2)
            axes.plot(expected, height, "|", color="black", markersize=14, markeredgewidth=1.5,
                      label=None if place or number else "expected, without luck")
            axes.plot(runs, np.full(len(runs), height), marker, color=colour, alpha=0.25, markersize=5, ls="none")
            axes.plot(np.mean(runs), height, marker, color=colour, markersize=8, label=None if place else role)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.02)
    axes.grid(axis="x", color="#DDDDDD")
    axes.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    return _finish(figure, axes, xlabel="worth at the end [share of successes], a faint point a run")


def by_floor(floors: Sequence[float], curves: Mapping[str, np.ndarray], *, ours: tuple[float, float]) -> Figure:
    """Expected worth of the stale memory over the similarity floor, one line a number of slots, and our point."""
    wrong = {name: np.shape(values) for name, values in curves.items() if np.shape(values) != (len(floors),)}
    if not curves or wrong:
        raise ValueError(f"expected at least one curve over {len(floors)} floors, got {wrong or 'none'}")
    figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    lines = zip(curves.items(), cycle(SERIES), cycle(MARKERS), range(len(curves)))
    for (name, values), colour, marker, number in lines:
        axes.plot(floors, values, color=colour, marker=marker, markersize=5, markevery=(2 * number, 8), label=name)
    axes.plot(*ours, "*", color="black", markersize=15, markeredgecolor="white", label="as in this notebook")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, fontsize=9)
    return _finish(figure, axes, xlabel="similarity floor [cosine]", ylabel="expected worth of the stale fact")


def _style(role: str) -> tuple[str, str]:
    """Colour and marker of a role."""
    if role not in ROLES:
        raise ValueError(f"expected a role, one of {', '.join(ROLES)}; got {role!r}")
    return ROLES[role]


def _finish(figure: Figure, axes: Axes, **labels: str) -> Figure:
    axes.set(**labels)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
