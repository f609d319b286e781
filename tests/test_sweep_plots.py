"""Figures of sweeps draw what they are given: read back from the drawn objects."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.sweep_plots import cost_by_workers, many_seeds, rank_map
from helpers.sweep_table import Table, grid

POINTS = grid(n=[20, 10], k=[1, 5], episodes=[100, 1000])
MEANS = np.array([0.2, 0.4, 0.1, 0.3, 0.6, 0.8, 0.5, 0.7])


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def table(points=POINTS, means=MEANS) -> Table:
    return Table(tuple(points), (0, 1), np.stack([means - 0.02, means + 0.02], axis=1))  # standard error 0.02


def test_a_map_has_a_panel_for_each_k_with_both_numbers_in_each_cell() -> None:
    figure = rank_map(table(), MEANS + 0.05)
    one, five, difference = figure.axes[:3]
    assert (one.get_title(), five.get_title()) == ("k = 1 retrieved", "k = 5 retrieved")
    assert np.asarray(one.images[0].get_array()) == pytest.approx(np.array([[0.6, 0.8], [0.2, 0.4]]))  # n = 10 first
    assert [text.get_text() for text in five.texts] == [
        "0.50\n(0.55)", "0.70\n(0.75)", "0.10\n(0.15)", "0.30\n(0.35)"]
    assert [text.get_color() for text in five.texts] == ["black", "black", "white", "white"]
    assert [label.get_text() for label in one.get_xticklabels()] == ["100", "1,000"]
    assert [label.get_text() for label in one.get_yticklabels()] == ["10", "20"]
    assert (one.get_xlabel(), one.get_ylabel(), five.get_ylabel()) == ("episodes T", "memories N", "")
    line = difference.containers[1].lines[0]
    assert line.get_xdata().tolist() == [25, 250, 50, 500]
    assert line.get_ydata() == pytest.approx([-0.05] * 4)
    ends = [segment[:, 1] for segment in difference.containers[1].lines[2][0].get_segments()]
    assert np.array(ends) == pytest.approx(np.array([[-0.09, -0.01]] * 4))
    assert difference.get_legend_handles_labels()[1] == ["k = 1", "k = 5"]


def test_a_map_does_not_depend_on_the_order_of_the_points() -> None:
    turned = rank_map(table(POINTS[::-1], MEANS[::-1]), MEANS[::-1])
    assert np.asarray(turned.axes[0].images[0].get_array()) == pytest.approx(np.array([[0.6, 0.8], [0.2, 0.4]]))


def test_a_map_needs_a_full_grid_and_theory_for_each_point() -> None:
    with pytest.raises(ValueError, match="each n, k and episodes of a full grid once, got 7 points of 2 × 2 × 2"):
        rank_map(table(POINTS[1:], MEANS[1:]), MEANS[1:])
    with pytest.raises(ValueError, match="got 8 points of 2 × 2 × 2"):
        rank_map(table((*POINTS[1:], POINTS[1])), MEANS)
    with pytest.raises(ValueError, match="expected series over 8 places"):
        rank_map(table(), MEANS[1:])
    with pytest.raises(ValueError, match="expected a parameter of every point, such as a; got 'n'"):
        rank_map(table([{"a": 1}], MEANS[:1]), MEANS[:1])


def test_many_seeds_stand_beside_the_curve_of_theory() -> None:
    values = np.random.default_rng(0).normal(0.7, 0.1, 500)
    axes = many_seeds(values, mean=0.6, sd=0.1).axes[0]
    area = sum(patch.get_width() * patch.get_height() for patch in axes.patches)
    curve, middle = axes.lines
    assert area == pytest.approx(1)
    assert curve.get_xdata()[curve.get_ydata().argmax()] == pytest.approx(0.6, abs=0.01)
    assert curve.get_ydata().max() == pytest.approx(3.989, abs=0.01)
    assert middle.get_xdata() == pytest.approx([values.mean()] * 2)
    assert "500 seeds" in axes.get_legend_handles_labels()[1]


@pytest.mark.parametrize(("values", "sd"), [([0.5], 1), ([[0.5, 0.6]], 1), ([0.5, np.nan], 1), ([0.5, 0.6], 0)])
def test_many_seeds_are_at_least_two_finite_numbers(values: list, sd: float) -> None:
    with pytest.raises(ValueError, match="at least two finite values"):
        many_seeds(values, mean=0.5, sd=sd)


def test_cost_is_a_ratio_to_the_run_without_workers() -> None:
    axes = cost_by_workers({2: 1.0, 0: 2.0, 1: 3.0}).axes[0]
    measured, shared, without = axes.lines
    assert list(zip(measured.get_xdata(), measured.get_ydata(), strict=True)) == [(1, 1.5), (2, 0.5)]
    assert list(shared.get_ydata()) == [1, 0.5] and set(without.get_ydata()) == {1}
    assert axes.get_ylim()[0] == 0 and list(axes.get_xticks()) == [1, 2]


@pytest.mark.parametrize("seconds", [{}, {1: 1.0, 2: 0.5}, {0: 1.0}, {0: 1.0, 1: 0.0}])
def test_cost_needs_the_run_without_workers(seconds: dict) -> None:
    with pytest.raises(ValueError, match="expected seconds above 0 for 0 workers and at least one more number, got"):
        cost_by_workers(seconds)
