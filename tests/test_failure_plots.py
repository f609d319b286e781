"""Figures of worth that misleads draw what they are given: read back from the drawn objects."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from helpers.failure_plots import (
    Change,
    after_a_change,
    lag_and_noise,
    power,
    retrieval_counts,
    runs,
    share_needed,
    stand_ins,
    two_groups,
)

UTILITY = np.array([0.9, 0.1, 0.5])
MEMBER = np.array([True, False, False])


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def points(line: Line2D) -> list[tuple[float, float]]:
    return list(zip(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True))


def named(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of every line of the legend, by its label; of error bars, the points in their middle."""
    handles, labels = axes.get_legend_handles_labels()
    lines = [handle[0] if isinstance(handle, tuple) else handle for handle in handles]
    return {label: points(line) for label, line in zip(labels, lines, strict=True)}


def test_two_groups_keep_their_markers_and_each_has_its_theory_line_in_order_of_utility() -> None:
    values, limits = np.array([0.4, 0.6, 0.7]), np.array([0.41, 0.61, 0.71])
    figure = two_groups(UTILITY, MEMBER, {"plain": (values, limits), "other": (limits, values)},
                        names=("specialist", "other"))
    left, right = figure.axes
    assert named(left)["specialist"] == [(0.9, 0.4)]
    assert named(left)["other"] == [(0.1, 0.6), (0.5, 0.7)]
    dashed = [points(line) for line in left.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert dashed == [[(0.9, 0.41)], [(0.1, 0.61), (0.5, 0.71)]]
    assert {line.get_marker() for line in left.lines if line.get_linestyle() == "None"} == {"^", "o"}
    assert (left.get_title(), right.get_title()) == ("plain", "other")
    assert right.get_xlabel() == "true utility of the memory"


def test_a_group_without_members_is_left_empty() -> None:
    figure = two_groups(UTILITY, np.zeros(3, dtype=bool), {"plain": (UTILITY, UTILITY)}, names=("a", "b"))
    assert named(figure.axes[0])["a"] == []


def test_stand_ins_show_every_run_their_mean_theory_and_the_marked_value() -> None:
    figure = stand_ins([0.2, 0.5], np.array([[0.0, 1.0], [0.2, 0.4]]), np.array([0.1, 0.9]), marked=0.5)
    axes = figure.axes[0]
    assert [points(line) for line in axes.lines[:2]] == [[(0.2, 0.0), (0.5, 1.0)], [(0.2, 0.2), (0.5, 0.4)]]
    assert named(axes)["mean of runs"] == [(0.2, 0.1), (0.5, 0.7)]
    assert named(axes)["with endless episodes, theory"] == [(0.2, 0.1), (0.5, 0.9)]
    assert [0.5, 0.5] in [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() == ":"]


def test_runs_are_read_from_the_top_with_mean_interval_and_the_marked_line() -> None:
    figure = runs({"first": [0.1, 0.3], "second": [0.5]}, {"first": (0.0, 0.4), "second": (0.5, 0.5)},
                  xlabel="rank correlation", mark=0.25)
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["second", "first"]
    dots = [line for line in axes.lines if line.get_marker() == "."]
    assert [list(line.get_xdata()) for line in dots] == [[0.5], [0.1, 0.3]]
    assert all(abs(y - round(y)) < 0.3 for line in dots for _, y in points(line))
    means = [points(line) for line in axes.lines if line.get_marker() == "D"]
    assert means == [[(0.5, 0)], [(0.2, 1)]]
    assert [(0.0, 1), (0.4, 1)] in [points(line) for line in axes.lines]
    assert [0.25, 0.25] in [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "--"]
    assert axes.get_xlabel() == "rank correlation"


def test_retrieval_counts_are_marked_by_the_first_episode_on_a_log_axis() -> None:
    figure = retrieval_counts({"warm": (UTILITY, np.array([500, 400, 1]), np.array([1, 1, 0]))}, fair=450)
    axes = figure.axes[0]
    assert named(axes)["first episode succeeded"] == [(0.9, 500), (0.1, 400)]
    assert named(axes)["first episode failed"] == [(0.5, 1)]
    assert [y for _, y in named(axes)["retrieval by lot"]] == [450, 450]
    assert axes.get_yscale() == "log"


def test_power_has_markers_bars_theory_and_a_line_at_one_half() -> None:
    found = {"naive": (np.array([0.1, 0.3]), np.array([0.2, 0.6]), np.array([0.05, 0.1]))}
    figure = power(found, {"naive": np.array([0.0, 0.5, 1.0])}, np.array([0.0, 0.25, 1.0]), bars="95 %")
    axes = figure.axes[0]
    assert named(axes)["naive"] == [(0.1, 0.2), (0.3, 0.6)]
    ends = [segment[:, 1].tolist() for segment in axes.containers[0].lines[2][0].get_segments()]
    assert np.allclose(ends, [[0.15, 0.25], [0.5, 0.7]])
    assert [(0.0, 0.0), (0.25, 0.5), (1.0, 1.0)] in [points(line) for line in axes.lines]
    assert [0.5, 0.5] in [list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == ":"]
    assert "95 %" in axes.get_ylabel()


def test_the_share_needed_stands_on_log_axes_below_one() -> None:
    figure = share_needed(np.array([100, 400]), {"naive": np.array([1.2, 0.6])}, mark=0.3)
    axes = figure.axes[0]
    assert named(axes)["naive"] == [(100, 1.2), (400, 0.6)]
    assert [y for _, y in named(axes)["f = 0.3"]] == [0.3, 0.3]
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()[1]) == ("log", "log", 1)


def test_after_a_change_shows_truth_estimates_bands_and_threshold() -> None:
    middle, low, high = np.array([0.9, 0.2]), np.array([0.8, 0.1]), np.array([1.0, 0.3])
    sharp = Change(np.array([0.9, 0.1]), 0.3, {"plain": (middle, low, high)})
    figure = after_a_change(np.array([1, 2]), {"sharp": sharp, "none": Change(np.array([0.5, 0.5]), 0.4)})
    left, right = figure.axes
    assert named(left)["true rate"] == [(1, 0.9), (2, 0.1)]
    assert named(left)["plain"] == [(1, 0.9), (2, 0.2)]
    band = left.collections[0].get_paths()[0].vertices.tolist()
    assert [1, 0.8] in band and [2, 0.3] in band
    assert [y for _, y in named(left)["threshold"]] == [0.3, 0.3]
    assert (left.get_title(), right.get_title(), "plain" in named(right)) == ("sharp", "none", False)


def test_lag_and_noise_has_a_marker_an_estimator_and_the_curve() -> None:
    curve = (np.array([10.0, 100.0]), np.array([0.1, 0.03]))
    figure = lag_and_noise({"plain": (1000, 0.02), "CUSUM": (7, 0.02)}, curve, along="discounted")
    axes = figure.axes[0]
    assert named(axes) == {"discounted": [(10, 0.1), (100, 0.03)], "plain": [(1000, 0.02)], "CUSUM": [(7, 0.02)]}
    assert (axes.get_xscale(), axes.get_ylim()[0]) == ("log", 0)
    assert len({line.get_marker() for line in axes.lines}) == 3


@pytest.mark.parametrize("draw", [
    lambda: two_groups(UTILITY, MEMBER, {}, names=("a", "b")), lambda: runs({}, {}, xlabel="ρ"),
    lambda: retrieval_counts({}, fair=1), lambda: power({}, {}, UTILITY, bars=""),
    lambda: share_needed(UTILITY, {}, mark=0.3), lambda: after_a_change(UTILITY, {}),
    lambda: lag_and_noise({}, (UTILITY, UTILITY), along="")])
def test_nothing_to_draw_is_refused(draw) -> None:
    with pytest.raises(ValueError, match=r"expected at least one .* to draw, got none"):
        draw()


@pytest.mark.parametrize("draw", [
    lambda: two_groups(UTILITY, MEMBER, {"plain": (UTILITY[:2], UTILITY)}, names=("a", "b")),
    lambda: stand_ins([0.1, 0.2], np.zeros((4, 3)), np.zeros(2), marked=0.5),
    lambda: retrieval_counts({"warm": (UTILITY, UTILITY, UTILITY[:1])}, fair=1),
    lambda: power({"a": (UTILITY, UTILITY, UTILITY)}, {"a": UTILITY[:2]}, UTILITY, bars=""),
    lambda: share_needed(UTILITY, {"a": UTILITY[:2]}, mark=0.3),
    lambda: after_a_change(UTILITY, {"sharp": Change(UTILITY[:2], 0.3)}),
    lambda: lag_and_noise({"a": (1, 1)}, (UTILITY, UTILITY[:2]), along="")])
def test_series_of_another_length_are_refused_by_name(draw) -> None:
    with pytest.raises(ValueError, match=r"expected series over \d places, got \{'\w+': \("):
        draw()


def test_rows_and_tests_must_belong_together() -> None:
    with pytest.raises(ValueError, match=r"an interval for each of \['a'\], got \['b'\]"):
        runs({"a": [0.1]}, {"b": (0, 1)}, xlabel="ρ")
    with pytest.raises(ValueError, match=r"theory for the same tests, got \['a'\] and \['b'\]"):
        power({"a": (UTILITY, UTILITY, UTILITY)}, {"b": UTILITY}, UTILITY, bars="")
