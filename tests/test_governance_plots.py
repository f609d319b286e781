"""Figures of governed memories draw what they are given: read back from the drawn objects."""

from collections.abc import Iterator

import numpy as np
import pytest
from governed_fakes import luck_table, small_orders, small_world
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from helpers.governance import standard_policies
from helpers.governance_plots import ROLE_STYLES, against_effects, by_kind, filled_places, forest, over_stream
from helpers.governed_measures import ROLES, shown_share, stretches
from helpers.governed_runs import run_streams
from helpers.stats import Difference

AT = [10.0, 20.0]


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def points(line) -> list[tuple[float, float]]:
    return list(zip(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True))


def named(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    return {line.get_label(): points(line) for line in axes.lines if not line.get_label().startswith("_")}


def gain(mean: float) -> Difference:
    return Difference(mean, mean - 0.1, mean + 0.2, 0.95, 3, 1)


def test_kinds_are_read_from_the_top_with_interval_and_the_reference_line() -> None:
    rows = {"no lesson": (0.1, 0.0, 0.2), "useful": (0.4, 0.3, 0.6)}
    figure = by_kind({"first rule": rows, "revised rule": rows}, reference="no lesson", bars="95 %")
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["useful", "no lesson"]
    drawn = [points(line) for line in left.lines]
    assert [(0.4, 0)] in drawn and [(0.1, 1)] in drawn  # a row's height is its place from below
    assert [(0.3, 0), (0.6, 0)] in drawn and [(0.0, 1), (0.2, 1)] in drawn
    assert [list(line.get_xdata()) for line in left.lines if line.get_linestyle() == "--"] == [[0.1, 0.1]]
    assert (left.get_title(), right.get_title()) == ("first rule", "revised rule")
    assert "95 %" in right.get_xlabel()


def test_kinds_need_the_same_rows_in_each_panel_and_a_reference_among_them() -> None:
    with pytest.raises(ValueError, match=r"the same rows in each, got \[\['a'\], \['b'\]\]"):
        by_kind({"one": {"a": (0, 0, 0)}, "two": {"b": (0, 0, 0)}}, reference="a", bars="95 %")
    with pytest.raises(ValueError, match=r"reference: expected one of \['a'\], got 'b'"):
        by_kind({"one": {"a": (0, 0, 0)}}, reference="b", bars="95 %")


def test_a_forest_has_a_row_a_policy_and_a_marker_a_series_beside_no_difference() -> None:
    rows = {"LRU": {"k = 1": gain(0.1), "k = 2": gain(0.2)}, "oracle": {"k = 2": gain(0.5)}}
    axes, other = forest({"before": rows, "after": rows}, reference="no governance").axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["oracle", "LRU"]
    found = named(axes)
    assert [x for x, _ in found["k = 1"]] == [0.1] and [x for x, _ in found["k = 2"]] == [0.2, 0.5]
    assert [round(y) for _, y in found["k = 2"]] == [1, 0]  # LRU above, oracle below
    assert len({line.get_marker() for line in axes.lines if line.get_label() in found}) == 2
    ends = [segment[:, 0].tolist() for lines in axes.collections for segment in lines.get_segments()]
    assert np.allclose(sorted(ends), [[0.0, 0.3], [0.1, 0.4], [0.4, 0.7]])
    assert [0, 0] in [list(line.get_xdata()) for line in axes.lines]
    assert "95% interval" in axes.get_xlabel() and other.get_title() == "after"


def test_lines_over_the_stream_mark_the_change_and_their_limits() -> None:
    panels = {"k = 1": {"LRU": np.array([0.1, 0.2]), "oracle": np.array([0.5, np.nan])},
              "k = 2": {"worth": np.array([0.3, 0.4])}}
    figure = over_stream(AT, panels, change=15, ylabel="success rate", limits=["oracle"])
    left, right = figure.axes
    assert named(left)["LRU"] == [(10, 0.1), (20, 0.2)]
    dashed = [line.get_label() for line in left.lines if line.get_linestyle() == "--"]
    assert dashed == ["oracle"]
    assert [list(line.get_xdata()) for line in right.lines if line.get_linestyle() == ":"] == [[15, 15]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LRU", "oracle", "worth"]
    assert left.get_ylabel() == "success rate"


def test_a_stream_without_a_change_has_no_mark_and_roles_keep_their_look() -> None:
    axes, = over_stream(AT, {"": {"wrong": np.zeros(2), "mine": np.ones(2)}}, change=None, ylabel="worth").axes
    assert not [line for line in axes.lines if line.get_linestyle() == ":"]
    assert (axes.lines[0].get_color(), axes.lines[0].get_marker()) == ROLE_STYLES["wrong"]


def test_places_are_stacked_to_one_with_the_empty_ones_on_top() -> None:
    shares = {"useful": np.array([0.5, 0.25]), "wrong": np.array([0.25, 0.25])}
    figure = filled_places(AT, {"LRU": shares}, change=15)
    axes, = figure.axes
    tops = {area.get_label(): area.get_paths()[0].get_extents().y1 for area in axes.collections}
    assert tops == {"useful": 0.5, "wrong": 0.75, "empty": 1.0}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["empty", "wrong", "useful"]
    assert axes.get_ylim() == (0, 1)


def test_effects_are_drawn_by_group_and_the_line_of_equality_only_where_units_agree() -> None:
    truth, worth = np.array([0.0, 0.4, np.nan]), np.array([0.2, 0.6, 0.5])
    groups = {"useful": np.array([False, True, False]), "wrong": np.array([True, False, True])}
    figure = against_effects(truth, {"dropout": worth / 2, "worth": worth}, groups, equal=["dropout"])
    left, right = figure.axes
    assert named(left)["useful"] == [(0.4, 0.3)] and named(right)["useful"] == [(0.4, 0.6)]
    assert named(left)["estimate = truth"] == [(0, 0), (0.4, 0.4)]
    assert "estimate = truth" not in named(right)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["useful", "wrong", "estimate = truth"]


def test_effects_stand_two_in_a_row_without_an_empty_panel() -> None:
    panels = {name: np.zeros(2) for name in "abc"}
    figure = against_effects(np.zeros(2), panels, {"useful": np.ones(2, bool)})
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "c"]
    assert figure.axes[2].get_subplotspec().rowspan.start == 1


def test_a_run_is_drawn_as_it_was_measured() -> None:
    world = small_world()
    orders = small_orders(world, [0, 1] * 6, changes={"a": 6})
    run = run_streams(standard_policies()["no governance"], luck_table(world, 0), orders, k=2)
    shares = {role: stretches(share, 2).mean(axis=0) for role, share in shown_share(run).items()}
    axes, = filled_places(AT, {"no governance": shares}, change=15).axes
    assert [area.get_label() for area in axes.collections] == [*ROLES, "empty"]
    assert set(ROLES) < set(ROLE_STYLES)


@pytest.mark.parametrize("draw", [
    lambda: by_kind({}, reference="a", bars=""), lambda: forest({}, reference="a"),
    lambda: forest({"before": {}}, reference="a"), lambda: over_stream(AT, {}, change=None, ylabel=""),
    lambda: filled_places(AT, {}, change=15), lambda: against_effects(np.zeros(2), {}, {"a": np.ones(2, bool)}),
    lambda: against_effects(np.zeros(2), {"worth": np.zeros(2)}, {})])
def test_nothing_to_draw_is_refused(draw) -> None:
    with pytest.raises(ValueError, match=r"expected at least one .* to draw,"):
        draw()


@pytest.mark.parametrize("draw", [
    lambda: over_stream(AT, {"": {"LRU": np.zeros(3)}}, change=None, ylabel=""),
    lambda: filled_places(AT, {"LRU": {"useful": np.zeros(3)}}, change=15),
    lambda: against_effects(np.zeros(2), {"worth": np.zeros(3)}, {"useful": np.ones(2, bool)}),
    lambda: against_effects(np.zeros(2), {"worth": np.zeros(2)}, {"useful": np.ones(3, bool)})])
def test_series_of_another_length_are_refused_by_name(draw) -> None:
    with pytest.raises(ValueError, match=r"expected series over 2 places, got \{'\w+': \(3,\)\}"):
        draw()
