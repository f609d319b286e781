"""Figures of runs draw what they are given: read back from the drawn objects."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.arm_plots import families, learning_curves
from helpers.stats import Difference


def point(mean: float) -> Difference:
    return Difference(mean, mean - 0.1, mean + 0.2, 0.95, 3, 1)


def test_a_learning_curve_has_its_points_intervals_and_a_line_at_no_difference() -> None:
    figure = learning_curves({"reviewed": [point(0.1), point(0.3)], "own": [point(0.0), point(0.05)]}, reference="cold")
    axes = figure.axes[0]
    lines, labels = axes.get_legend_handles_labels()
    assert labels == ["reviewed", "own"]
    assert [list(line.lines[0].get_ydata()) for line in lines] == [[0.1, 0.3], [0.0, 0.05]]
    ends = lines[0].lines[2][0].get_segments()
    assert np.allclose([segment[:, 1] for segment in ends], [[0.0, 0.3], [0.2, 0.5]])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1 of 2", "2 of 2"]
    assert [0, 0] in [list(line.get_ydata()) for line in axes.lines]
    assert "difference to cold" in axes.get_ylabel()
    plt.close(figure)


def test_families_are_read_from_the_top_with_before_and_after() -> None:
    figure = families({"empties": (0.2, 0.8), "sums": (0.5, 0.1)}, before="cold", after="with a lesson")
    axes = figure.axes[0]
    before, after = axes.lines
    assert list(zip(before.get_xdata(), before.get_ydata(), strict=True)) == [(0.2, 1), (0.5, 0)]
    assert list(zip(after.get_xdata(), after.get_ydata(), strict=True)) == [(0.8, 1), (0.1, 0)]
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    assert {place: label.get_text() for place, label in ticks} == {1: "empties", 0: "sums"}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["cold", "with a lesson"]
    plt.close(figure)


@pytest.mark.parametrize("draw", [lambda: learning_curves({}, reference="cold"),
                                  lambda: learning_curves({"own": []}, reference="cold"),
                                  lambda: families({}, before="a", after="b")])
def test_nothing_to_draw_is_refused(draw) -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        draw()
