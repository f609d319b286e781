"""Figures of converging worth draw what they are given: read back from the drawn objects."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from helpers.convergence_plots import (
    LABELS,
    Thresholds,
    against_truth,
    correlations,
    coverage,
    episodes_by_size,
    fair_game,
    taxonomy,
    weightings,
)

HALF = np.array([0.1, 0.2])


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def drawn(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of every line of the legend, by its label; of error bars, the points in their middle."""
    handles, labels = axes.get_legend_handles_labels()
    lines = [handle[0] if isinstance(handle, tuple) else handle for handle in handles]
    return {label: list(zip(line.get_xdata(), line.get_ydata(), strict=True))
            for label, line in zip(labels, lines, strict=True) if hasattr(line, "get_xdata")}


def bars(axes: Axes, number: int) -> list[list[float]]:
    """Lower and upper ends of one set of error bars."""
    return [segment[:, 1].tolist() for segment in axes.containers[number].lines[2][0].get_segments()]


def test_a_fair_game_has_one_line_a_run_between_the_bounds() -> None:
    runs = np.array([[1.0, -2.0], [0.0, 3.0], [-1.0, 1.0]])
    figure = fair_game([10, 20], {"sum": (runs, [2.0, 4.0]), "mean": (runs / 10, [0.2, 0.1])})
    left, right = figure.axes
    lines = [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in left.lines[:3]]
    assert lines == [([10, 20], row) for row in runs.tolist()]
    assert [list(line.get_ydata()) for line in left.lines[4:6]] == [[2, 4], [-2, -4]]
    assert "one memory in each of 3 runs" in drawn(left)
    assert (left.get_ylabel(), right.get_ylabel(), left.get_xlabel()) == ("sum", "mean", "episodes")
    assert left.get_ylim() == pytest.approx((-4.4, 4.4))


def test_worth_is_drawn_over_its_limit_with_the_line_of_truth_and_the_error() -> None:
    figure = against_truth(np.array([0.4, 0.6]), {"early": (np.array([0.2, 0.9]), 0.1), "late": (HALF, 0.02)})
    early, late = figure.axes
    points = drawn(early)
    assert points["one memory"] == [(0.4, 0.2), (0.6, 0.9)]
    assert all(x == y for x, y in points["worth = limit"])
    for axes, error in ((early, 0.1), (late, 0.02)):
        band = axes.collections[0].get_paths()[0].vertices
        above = band[:, 1] - band[:, 0]
        assert (above.min(), above.max()) == pytest.approx((-2 * error, 2 * error))
    assert [axes.get_title() for axes in figure.axes] == ["early", "late"]


def test_correlations_have_a_named_band_theory_and_the_systems_that_never_update() -> None:
    middle = np.array([0.2, 0.9])
    figure = correlations([10, 100], (middle, HALF), band="± 1 sd", theory=np.array([0.3, 0.8]),
                          never={"constant": np.zeros(2), "lot": np.array([0.01, 0.01])})
    axes, = figure.axes
    points = drawn(axes)
    assert points["worth, mean over runs"] == [(10, 0.2), (100, 0.9)]
    assert points["theory"] == [(10, 0.3), (100, 0.8)]
    assert points["constant"] == [(10, 0), (100, 0)] and points["lot"] == [(10, 0.01), (100, 0.01)]
    band = axes.collections[0]
    assert band.get_label() == "± 1 sd"
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.round(6).tolist()}
    assert {(10, 0.1), (10, 0.3), (100, 0.7), (100, 1.1)} <= corners
    assert axes.get_xscale() == "log" and axes.get_ylim()[0] <= -0.1


def test_weightings_stand_beside_one_another_around_the_limit() -> None:
    figure = weightings([0.0, 1.0], {"uniform": (np.zeros(2), HALF), "share": (np.array([-0.2, -0.1]), HALF)},
                        bars="± 2 se")
    axes, = figure.axes
    points = drawn(axes)
    assert [y for _, y in points["uniform"]] == [0, 0] and [y for _, y in points["share"]] == [-0.2, -0.1]
    assert [x for x, _ in points["uniform"]] == [-0.005, 0.995] and [x for x, _ in points["share"]] == [0.005, 1.005]
    assert np.allclose(bars(axes, 1), [[-0.3, -0.1], [-0.3, 0.1]])
    assert "the limit p⁺" in points and "± 2 se" in axes.get_ylabel()


def test_coverage_is_drawn_beside_what_is_promised() -> None:
    figure = coverage([5, 500], {"naive": (np.array([0.8, 0.95]), HALF / 10)}, level=0.95, bars="± 2 se")
    axes, = figure.axes
    points = drawn(axes)
    assert points["naive"] == [(5, 0.8), (500, 0.95)]
    assert [y for _, y in points["promised: 95%"]] == [0.95, 0.95]
    assert np.allclose(bars(axes, 0), [[0.79, 0.81], [0.93, 0.97]])
    assert axes.get_xscale() == "log" and "± 2 se" in axes.get_ylabel()


def test_every_label_has_its_colour_marker_and_count_between_the_thresholds() -> None:
    evidence, worth = np.array([100.0, 100.0, 100.0, 2.0, 90.0]), np.array([0.9, 0.1, 0.5, 1.0, 0.8])
    cut = Thresholds(["high", "low", "mixed", "uncertain", "high"], 0.3, 0.7, 10)
    figure = taxonomy(evidence, worth, {"fixed": cut, "again": Thresholds(cut.labels, 0.4, 0.6, 1)})
    axes = figure.axes[0]
    assert drawn(axes) == {"high: 2": [(100, 0.9), (90, 0.8)], "mixed: 1": [(100, 0.5)], "low: 1": [(100, 0.1)],
                           "uncertain: 1": [(2, 1.0)]}
    shown = {line.get_label().split(":")[0]: (to_hex(line.get_color()).upper(), line.get_marker())
             for line in axes.lines[:4]}
    assert shown == {label: (colour.upper(), marker) for label, (colour, marker) in LABELS.items()}
    assert [line.get_xdata()[0] for line in axes.lines[4:5]] == [10]
    assert [line.get_ydata()[0] for line in axes.lines[5:]] == [0.3, 0.7]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    assert left < 1 and right > 100 and low < 0.1 and high > 1
    assert figure.axes[1].get_xlim() == (left, right) and figure.axes[1].get_ylim() == (low, high)


def test_episodes_by_size_show_simulation_and_theory_of_a_series_in_one_colour() -> None:
    figure = episodes_by_size({"k = 2": {50: 800.0, 100: 1700.0}, "k = 5": {50: 2000.0}},
                              {"k = 2": {50: 817.0, 100: 1550.0}, "k = 5": {50: 2280.0}}, target="ρ = 0.8")
    axes, = figure.axes
    points = drawn(axes)
    assert points["k = 2, simulated"] == [(50, 800), (100, 1700)] and points["k = 5, simulated"] == [(50, 2000)]
    dashed = {line.get_color(): line.get_ydata().tolist() if hasattr(line.get_ydata(), "tolist") else
              list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == "--" and len(line.get_ydata())}
    assert list(dashed.values()) == [[817, 1550], [2280]]
    assert list(dashed) == [line.get_color() for line in axes.lines if line.get_label().endswith("simulated")]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["50", "100"]
    assert axes.get_ylabel() == "episodes until ρ = 0.8"


@pytest.mark.parametrize(("draw", "message"), [
    (lambda: fair_game([1], {}), "at least one quantity"),
    (lambda: against_truth(HALF, {}), "at least one moment"),
    (lambda: weightings([1], {}, bars="se"), "at least one weighting"),
    (lambda: coverage([1], {}, level=0.9, bars="se"), "at least one kind of interval"),
    (lambda: taxonomy(HALF, HALF, {}), "at least one way"),
    (lambda: episodes_by_size({}, {}, target="ρ"), "same series"),
    (lambda: episodes_by_size({"a": {1: 1.0}}, {"b": {1: 1.0}}, target="ρ"), r"got \['a'\] and \['b'\]")])
def test_nothing_to_draw_is_refused(draw, message) -> None:
    with pytest.raises(ValueError, match=f"expected .*{message}"):
        draw()


@pytest.mark.parametrize(("draw", "wrong"), [
    (lambda: fair_game([1, 2, 3], {"sum": (np.zeros((4, 2)), np.zeros(3))}), "'sum': (4, 2)"),
    (lambda: against_truth(HALF, {"early": (np.zeros(3), 0.1)}), "'worth': (3,)"),
    (lambda: correlations([1, 2], (HALF, HALF), band="b", theory=HALF, never={"lot": np.zeros(1)}), "'lot': (1,)"),
    (lambda: weightings([1, 2], {"share": (np.zeros(3), HALF)}, bars="se"), "'share': (3,)"),
    (lambda: coverage([1, 2], {"naive": (HALF, np.zeros(1))}, level=0.9, bars="se"), "'half': (1,)"),
    (lambda: taxonomy(HALF, HALF, {"fixed": Thresholds(["low"], 0.3, 0.7, 10)}), "'labels': (1,)")])
def test_a_series_of_another_length_is_named(draw, wrong) -> None:
    with pytest.raises(ValueError) as refused:
        draw()
    assert wrong in str(refused.value) and "places" in str(refused.value)


def test_equal_utilities_still_part_the_weightings() -> None:
    axes, = weightings([0.5], {"a": (np.zeros(1), HALF[:1]), "b": (np.zeros(1), HALF[:1])}, bars="se").axes
    assert drawn(axes)["a"] != drawn(axes)["b"]
