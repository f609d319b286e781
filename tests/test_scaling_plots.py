"""Figures of shared memories draw what they are given: read back from the drawn objects."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.agent_trial import Trial
from helpers.index_trial import Measured
from helpers.scaling_plots import recall_and_cost, told_and_counted


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def test_bars_hold_what_is_counted_and_lost_and_the_mark_what_was_told() -> None:
    trials = {"careful": Trial(2, 1, 3, 2, 7.0, 7.0, []), "careless": Trial(2, 1, 3, 2, 7.0, 3.0, [1])}
    axes, = told_and_counted(trials).axes
    counted, lost = (([bar.get_x() for bar in bars], [bar.get_width() for bar in bars]) for bars in axes.containers)
    assert counted == ([0, 0], [7, 3]) and lost == ([7, 3], [0, 4])
    assert list(axes.lines[0].get_xdata()) == [7, 7] and list(axes.lines[0].get_ydata()) == [0, 1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["careful", "careless"]
    assert axes.yaxis_inverted(), "the first kind is on top"
    with pytest.raises(ValueError, match="expected at least one trial"):
        told_and_counted({})


def measured(size: int, **other) -> Measured:
    return Measured(**{"size": size, "load_s": 1.0, "file_ms": 0.5, "exact_ms": 2.0, "indexed_ms": {10: 1.0, 40: 4.0},
                       "recall": {10: 0.5, 40: 1.0}, "file_add_ms": 1.0, "server_add_ms": 1.0} | other)


def test_recall_by_candidates_and_searches_a_second_by_size() -> None:
    left, right = recall_and_cost([measured(100), measured(1000, file_ms=5.0, recall={10: 0.25, 40: 0.75})]).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in left.lines}
    assert lines == {"100 lessons": [0.5, 1.0], "1,000 lessons": [0.25, 0.75], "exact search": [1, 1]}
    assert [list(line.get_xdata()) for line in left.lines[:2]] == [[10, 40]] * 2
    speeds = {line.get_label(): np.round(line.get_ydata(), 6).tolist() for line in right.lines}
    assert speeds == {"file, exact": [2000, 200], "server, exact": [500, 500], "server, index at 10": [1000, 1000],
                      "server, index at 40": [250, 250]}
    assert right.get_xscale() == right.get_yscale() == "log"
    assert len({(line.get_color(), line.get_marker()) for line in right.lines}) == 4
    one, = recall_and_cost([measured(7)]).axes[1].lines[0].get_xdata()
    assert one == 7
    with pytest.raises(ValueError, match="expected at least one size"):
        recall_and_cost([])
