"""Figures of sentences in a memory draw what they are given: read back from the drawn objects."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from helpers import text_plots
from helpers.text_plots import (
    FORECAST,
    ROLES,
    by_floor,
    by_setting,
    forgetting,
    retrieval_maps,
    worth_and_contrast,
    worth_paths,
)

TWO = {"queries": ["q", "r"], "memories": ["a", "b", "c"], "topics": [0, 1]}
MAP = (np.array([[0.9, 0.1, np.nan], [0.2, 0.3, 0.4]]), np.array([[0, 2], [2, -1]]))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def labelled(figure: Figure, panel: int = 0) -> dict[str, object]:
    handles, labels = figure.axes[panel].get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def points(line) -> list[tuple[float, float]]:
    return list(zip(*map(np.ravel, line.get_data()), strict=True))


def test_a_map_has_the_cosines_and_marks_what_is_found_beside_and_missed() -> None:
    figure = retrieval_maps({"one": MAP, "two": MAP}, **TWO)
    axes = figure.axes[0]
    assert np.array_equal(axes.images[0].get_array().filled(np.nan), MAP[0], equal_nan=True)
    right, beside, missed = labelled(figure).values()
    assert points(right) == [(0, 0)]
    assert points(beside) == [(2, 0), (2, 1)]  # (memory, query); the empty slot is no mark
    assert points(missed) == [(1, 1)]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["q", "r"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]
    assert [panel.get_title() for panel in figure.axes[:2]] == ["one", "two"]
    assert 0.5 in [line.get_ydata()[0] for line in axes.lines if len(line.get_ydata()) == 2]  # between two topics


def test_a_map_where_nothing_is_missed_still_names_the_mark() -> None:
    figure = retrieval_maps({"one": (np.eye(2, 3), np.array([[0], [1]]))}, **TWO)
    assert points(labelled(figure)["knows the answer, not found"]) == []


def test_paths_have_band_expectation_and_the_moment_of_change() -> None:
    paths = {"stale": (np.array([0.9, 0.4]), np.array([0.1, 0.2])), "easy": (np.array([0.8, 0.8]), np.zeros(2))}
    expected = {"stale": np.array([0.95, 0.35]), "easy": np.array([0.7, 0.7])}
    figure = worth_paths([10, 20], paths, expected=expected, change=15, band="± 1 standard deviation")
    axes, named = figure.axes[0], labelled(figure)
    assert set(named) == {"stale", "easy", "expected, without luck", "± 1 standard deviation"}
    assert points(named["stale"]) == [(10, 0.9), (20, 0.4)]
    assert to_hex(named["stale"].get_color()).upper() == ROLES["stale"][0]
    dashed = [list(line.get_ydata()) for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert dashed == [[0.95, 0.35], [0.7, 0.7]]
    assert [15, 15] in [list(line.get_xdata()) for line in axes.lines]
    edges = axes.collections[0].get_paths()[0].vertices
    assert {(10, 0.8), (10, 1.0), (20, 0.2), (20, 0.6)} <= {(x, round(y, 9)) for x, y in edges.tolist()}


def test_worth_and_contrast_has_means_bars_and_truths_row_by_row() -> None:
    first = (np.array([0.2, 0.7]), np.array([0.1, 0.05]), np.array([0.25, 0.75]))
    second = (np.array([-0.1, 0.4]), np.array([0.1, 0.05]), np.array([-0.2, 0.5]))
    figure = worth_and_contrast(["x", "y"], ["stale", "easy"], {"worth": first, "contrast": second}, bars="± sd")
    left, right = figure.axes
    ticks = [points(line)[0] for line in left.lines if line.get_marker() == "|" and line.get_color() == "black"]
    assert ticks == [(0.25, 0), (0.75, 1)]
    means = [points(box.lines[0])[0] for box in right.containers]
    assert means == [(-0.1, 0), (0.4, 1)]
    assert np.allclose(right.containers[1].lines[2][0].get_segments()[0][:, 0], [0.35, 0.45])
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["x (stale)", "y (easy)"]
    assert left.get_xlabel() == "worth\n(± sd)"
    zero = [0.0, 0.0]  # a line at no difference only where differences are drawn
    assert [zero in [list(line.get_xdata()) for line in axes.lines] for axes in (left, right)] == [False, True]


def test_forgetting_puts_the_change_over_what_was_said_and_a_diagonal_where_it_is_promised() -> None:
    worth = np.array([[0.1, 0.8], [0.3, 0.6]])  # (runs, memories)
    forecast, change = np.array([[0.2, -0.1], [0.4, -0.3]]), np.array([[0.1, -0.2], [0.3, -0.2]])
    figure = forgetting(["stale", "easy"], {"worth": worth, FORECAST: forecast}, change, bars="± sd")
    left, right = figure.axes
    assert np.allclose([points(box.lines[0])[0] for box in left.containers], [(0.2, 0.2), (0.7, -0.2)])
    assert np.allclose([points(box.lines[0])[0] for box in right.containers], [(0.3, 0.2), (-0.2, -0.2)])
    across, up = left.containers[0].lines[2]
    assert np.allclose(np.diff(across.get_segments()[0][:, 0]), 2 * worth[:, 0].std(ddof=1))
    assert np.allclose(np.diff(up.get_segments()[0][:, 1]), 2 * change[:, 0].std(ddof=1))
    assert ["change as forecast" in labelled(figure, panel) for panel in (0, 1)] == [False, True]
    assert labelled(figure, 1)["change as forecast"].get_slope() == 1


def test_settings_have_a_point_a_run_their_mean_and_the_expected_value() -> None:
    rows = {"as before": {"stale": (np.array([0.1, 0.3]), 0.25), "easy": (np.array([0.9, 0.9]), 0.95)},
            "changed": {"stale": (np.array([0.5, 0.7]), 0.55), "easy": (np.array([0.9, 0.9]), 0.95)}}
    figure = by_setting(rows)
    axes = figure.axes[0]
    assert set(labelled(figure)) == {"stale", "easy", "expected, without luck"}
    lines = [(list(line.get_xdata()), line.get_ydata()[0]) for line in axes.lines if len(line.get_xdata())]
    by_place = {place: [xs for xs, y in lines if round(y) == place and y < place] for place in (0, 1)}  # the stale ones
    assert [np.round(xs, 9).tolist() for xs in by_place[0]] == [[0.25], [0.1, 0.3], [0.2]]
    assert [np.round(xs, 9).tolist() for xs in by_place[1]] == [[0.55], [0.5, 0.7], [0.6]]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["as before", "changed"]
    low, high = axes.get_ylim()
    assert low > high  # read from the top


def test_floors_have_a_line_a_number_of_slots_and_our_point() -> None:
    figure = by_floor([0.0, 0.5], {"2 slots": np.array([0.2, 0.2]), "3 slots": np.array([0.6, 0.2])}, ours=(0.25, 0.2))
    named = labelled(figure)
    assert points(named["3 slots"]) == [(0.0, 0.6), (0.5, 0.2)]
    assert points(named["as in this notebook"]) == [(0.25, 0.2)]


def test_every_role_of_the_world_has_a_look_of_its_own() -> None:
    from helpers.world_text import ROLES as ROLES_OF_THE_WORLD

    assert set(ROLES) == set(ROLES_OF_THE_WORLD)
    colours, markers = zip(*ROLES.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == len(ROLES)


PATH = {"stale": (np.zeros(2), np.zeros(2))}


@pytest.mark.parametrize(("draw", "message"), [
    (lambda: retrieval_maps({}, **TWO), "at least one panel"),
    (lambda: retrieval_maps({"one": (MAP[0].T, MAP[1])}, **TWO), r"\(3, 2\)"),
    (lambda: retrieval_maps({"one": (MAP[0], MAP[1][:1])}, **TWO), r"\(1, 2\)"),
    (lambda: retrieval_maps({"one": MAP}, **(TWO | {"topics": [0]})), "1 topics"),
    (lambda: worth_paths([1, 2], {}, expected={}, change=1, band="sd"), "expected paths"),
    (lambda: worth_paths([1, 2], PATH, expected={"easy": np.zeros(2)}, change=1, band="sd"), "easy"),
    (lambda: worth_paths([1, 2, 3], PATH, expected={"stale": np.zeros(3)}, change=1, band="sd"), r"3 moments.*\(2,\)"),
    (lambda: worth_and_contrast(["x"], ["easy"], {}, bars="sd"), "three arrays of 1"),
    (lambda: worth_and_contrast(["x"], ["easy"], {"worth": (np.zeros(2),) * 3}, bars="sd"), r"\(2,\)"),
    (lambda: worth_and_contrast(["x"], [], {"worth": (np.zeros(1),) * 3}, bars="sd"), "0 roles"),
    (lambda: forgetting(["easy"], {}, np.zeros((2, 1)), bars="sd"), "at least one number"),
    (lambda: forgetting(["easy"], {"worth": np.zeros((2, 2))}, np.zeros((2, 1)), bars="sd"), r"worth.*\(2, 2\)"),
    (lambda: forgetting(["easy"], {"worth": np.zeros((2, 2))}, np.zeros((2, 2)), bars="sd"), r"\(runs, 1\)"),
    (lambda: by_setting({}), "at least one setting"),
    (lambda: by_setting({"a": {"easy": (np.zeros(1), 0.0)}, "b": {}}), "the same roles"),
    (lambda: by_floor([0.1], {}, ours=(0, 0)), "at least one curve"),
    (lambda: by_floor([0.1], {"2 slots": np.zeros(2)}, ours=(0, 0)), r"2 slots.*\(2,\)"),
    (lambda: by_setting({"a": {"useful": (np.zeros(1), 0.0)}}), "expected a role, one of stale"),
])
def test_what_does_not_fit_together_is_refused(draw, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()


def test_the_module_takes_its_colours_from_the_shared_palette() -> None:
    from helpers import plots

    assert {colour for colour, _ in text_plots.ROLES.values()} <= set(plots.SERIES)
