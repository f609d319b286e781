"""Figures draw what they are given: read back from the drawn objects, not from pixels."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.plots import cosine_maps, cost_by_size, differences, measures, pair_cosines
from helpers.ranking import Estimate
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


def test_costs_are_drawn_in_milliseconds_with_one_look_a_way_and_a_dashed_guide() -> None:
    panels = {"search": {"loop": {10: 0.001, 100: 0.01}, "product": {10: 0.0005}, "reading": {10: 0.0001}},
              "add": {"product": {10: 0.002}}}
    figure = cost_by_size(panels, guide="reading")
    search, add = figure.axes
    drawn = {line.get_label(): line for line in search.lines}
    assert list(drawn) == ["loop", "product", "reading"]
    assert drawn["loop"].get_xydata().tolist() == [[10, 1], [100, 10]]
    assert (drawn["reading"].get_linestyle(), drawn["reading"].get_marker()) == ("--", "None")
    assert drawn["loop"].get_marker() != drawn["product"].get_marker()
    assert drawn["product"].get_color() == add.lines[0].get_color() != drawn["loop"].get_color()
    assert (search.get_xscale(), search.get_yscale()) == ("log", "log")
    assert add.get_title() == "add" and "[ms]" in add.get_ylabel() and "lessons" in add.get_xlabel()
    plt.close(figure)


def test_more_ways_than_colours_and_an_empty_way_are_drawn() -> None:
    figure = cost_by_size({"add": {f"way {number}": {1: 1.0} for number in range(9)}, "search": {"nothing": {}}})
    assert len(figure.axes[0].lines) == 9
    plt.close(figure)


def test_no_cost_at_all_is_refused() -> None:
    for panels in ({}, {"search": {}}, {"search": {"loop": {}}}):
        with pytest.raises(ValueError, match="at least one measured cost"):
            cost_by_size(panels)


def test_a_map_shows_the_cosines_and_parts_the_families() -> None:
    values = np.array([[1, 0.5, 0], [0.5, 1, np.nan], [0, np.nan, 1]])
    figure = cosine_maps({"one": values, "two": values.T / 2}, ["f", "f", "g"])
    one, two = figure.axes[:2]
    assert np.array_equal(one.images[0].get_array().filled(-1), np.nan_to_num(values, nan=-1))
    assert (one.images[0].get_clim(), one.get_title(), two.get_title()) == ((0, 1), "one", "two")
    assert [label.get_text() for label in one.get_yticklabels()] == ["f", "g"]
    assert one.get_yticks().tolist() == [0.5, 2]
    assert {tuple(line.get_ydata()) for line in one.lines} >= {(1.5, 1.5)}
    assert figure.axes[2].get_ylabel() == "cosine"
    plt.close(figure)


def test_a_map_of_another_size_or_of_scattered_families_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected matrices of shape \(2, 2\).* got \[\(3, 3\)\]"):
        cosine_maps({"one": np.eye(3)}, ["f", "g"])
    with pytest.raises(ValueError, match="sort texts and families by family"):
        cosine_maps({"one": np.eye(3)}, ["f", "g", "f"])


def test_pairs_are_parted_by_meaning_and_keep_their_cosines() -> None:
    figure = pair_cosines(["1", "2", "3"], [False, True, False], {"bag": [0.9, 0, 0.4], "net": [0.8, 0.6, -0.1]})
    same, other = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["same meaning", "another meaning"]
    assert [list(line.get_xdata()) for line in same.lines] == [[0], [0.6]]
    assert [list(line.get_xdata()) for line in other.lines] == [[0.9, 0.4], [0.8, -0.1]]
    assert [label.get_text() for label in other.get_yticklabels()] == ["1", "3"]
    assert other.get_xlim() == (-0.1, 1)
    assert len({line.get_marker() for line in same.lines}) == len({line.get_color() for line in same.lines}) == 2
    plt.close(figure)


def test_pairs_without_a_cosine_each_are_refused() -> None:
    with pytest.raises(ValueError, match=r"for each of 2 pairs, got {'bag': 1} and 2"):
        pair_cosines(["1", "2"], [True, False], {"bag": [0.5]})


def test_measures_stand_beside_chance() -> None:
    found = {"bag": Estimate(0.5, 0.4, 0.6, 0.95), "net": Estimate(0.7, 0.6, 0.8, 0.95)}
    figure = measures({"spec": {"MRR": found}, "rule": {"MRR": found}}, {"MRR": 0.1})
    axes = figure.axes[0]
    assert [axes.get_title() for axes in figure.axes] == ["spec", "rule"]
    drawn = [tuple(line.get_ydata()) for line in axes.lines]
    assert drawn == [(0.1, 0.1), (0.4, 0.6), (0.5,), (0.6, 0.8), (0.7,)]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["random order", "bag", "net"]
    assert axes.get_ylabel() == "mean over problems, 95% interval"
    plt.close(figure)


def test_a_measure_without_chance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['recall@1'\] that chance is given for, got \[\['MRR'\]\]"):
        measures({"spec": {"MRR": {}}}, {"recall@1": 0.1})


def test_drawing_needs_no_scipy() -> None:
    program = "import sys, helpers.plots; print([name for name in ('scipy', 'helpers.stats') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
