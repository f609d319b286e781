"""Figures draw what they are given: read back from the drawn objects, not from pixels."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.plots import differences
from helpers.stats import Difference


def test_every_comparison_has_its_interval_mean_and_words() -> None:
    rows = {"retry": Difference(0.05, 0.01, 0.09, 0.95, 6, 1), "Reflexion": Difference(-0.02, -0.06, 0.02, 0.95, 1, 3)}
    figure = differences(rows, reference="one attempt")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Reflexion", "retry"]
    spans = [tuple(np.round(line.get_xdata(), 2)) for line in axes.lines if len(line.get_xdata()) == 2]
    assert (0.01, 0.09) in spans
    assert (-0.06, 0.02) in spans
    assert (0, 0) in spans  # the line at no difference
    assert "one attempt (share of problems solved), 95% interval" in axes.get_xlabel()
    assert {text.get_text() for text in axes.texts} == {str(row) for row in rows.values()}
    plt.close(figure)


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one difference"):
        differences({}, reference="one attempt")
