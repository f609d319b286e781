"""Panels: sliders that redraw where a reader can move them, one figure where nobody can."""

import re
import subprocess
import sys

import numpy as np
import pytest
from IPython.display import display as real_display
from ipywidgets import HTML, SelectionSlider, Widget
from matplotlib import pyplot as plt
from traitlets import TraitError

from helpers import panel_worlds, panels, theory
from helpers.panel_worlds import FAILURES, RANKING, draw_failures, draw_ranking, power, ranking_theory
from helpers.panels import Drawn, Slider, panel_of, show_panel

WIDGET = "application/vnd.jupyter.widget-view+json"
SLIDERS = (Slider("a", "first number", (1, 2, 3), 2), Slider("b", "second number", (10, 20), 10))


def draw(*, a: int, b: int) -> Drawn:
    figure, axes = plt.subplots(figsize=(1, 1))
    axes.plot([a], [b], "o")
    if a == 3:
        plt.close(figure)
        raise ZeroDivisionError("three <is> too many")
    return Drawn(figure, f"sum {a + b}", f"one point at {a}, {b}")


@pytest.fixture
def shown(monkeypatch) -> list[dict]:
    """What is displayed, in a session with or without a reader."""
    bundles: list[dict] = []

    def keep(bundle, raw=False):
        assert raw
        bundles.append(bundle)
    for module in (panels, panels.notebook):
        assert module.display is real_display
        monkeypatch.setattr(module, "display", keep)
    return bundles


def parts(sliders=SLIDERS, drawing=draw) -> tuple[list[SelectionSlider], HTML]:
    panel, _ = panel_of(drawing, sliders)
    *controls, picture = panel.children
    return controls, picture


def test_batch_shows_the_figure_at_the_start_and_says_how_to_move_it(shown, capsys):
    show_panel(draw, SLIDERS)
    bundle, = shown
    assert set(bundle) == {"text/html", "text/plain"}
    assert "<figcaption>sum 12</figcaption>" in bundle["text/html"]
    assert 'alt="one point at 2, 10"' in bundle["text/html"]
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("To move it, open this notebook in JupyterLab") and "first number; second number" in said
    assert plt.get_fignums() == []


def test_batch_is_the_same_in_every_process_and_imports_no_widgets(shown, capsys):
    code = ("import sys; from helpers import panel_worlds; panel_worlds.ranking_panel(); "
            "panel_worlds.failures_panel(); print('ipywidgets' in sys.modules)")
    there = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
                           encoding="utf-8", check=True)
    panel_worlds.ranking_panel()
    panel_worlds.failures_panel()
    first, second = shown
    here = capsys.readouterr().out.splitlines(keepends=True)
    half = len(here) // 2
    assert there.stdout == f"{first}\n{''.join(here[:half])}{second}\n{''.join(here[half:])}False\n"
    assert there.stderr == ""


def test_a_reader_gets_sliders_and_a_page_made_of_the_notebook_the_figure(shown, monkeypatch, capsys):
    monkeypatch.setenv("BATCH_MODE", "false")
    show_panel(draw, SLIDERS)
    bundle, = shown
    assert set(bundle) == {WIDGET, "text/html", "text/plain"}
    assert "<figcaption>sum 12</figcaption>" in bundle["text/html"]
    assert bundle["text/plain"].startswith("sum 12")
    assert capsys.readouterr().out.endswith("where they are gone, run this cell again.\n")
    assert plt.get_fignums() == []


def test_the_panel_is_the_same_with_ipywidgets_7_which_has_no_bundle_of_its_own(shown, monkeypatch):
    monkeypatch.setenv("BATCH_MODE", "false")
    monkeypatch.delattr(Widget, "_repr_mimebundle_")
    show_panel(draw, SLIDERS)
    assert shown[0][WIDGET].keys() == {"version_major", "version_minor", "model_id"} and shown[0][WIDGET]["model_id"]


def test_moving_a_slider_redraws_with_the_values_of_all():
    (first, second), picture = parts()
    assert "sum 12" in picture.value
    second.value = 20
    assert "<figcaption>sum 22</figcaption>" in picture.value and 'alt="one point at 2, 20"' in picture.value
    first.value = 1
    assert "<figcaption>sum 21</figcaption>" in picture.value
    assert plt.get_fignums() == []


def test_sliders_are_labelled_and_move_when_let_go():
    (first, _), _ = parts()
    assert first.description == first.tooltip == "first number"
    assert not first.continuous_update
    assert [*first.options] == [("1", 1), ("2", 2), ("3", 3)]


def test_what_is_no_value_of_a_slider_cannot_be_chosen():
    (first, _), picture = parts()
    with pytest.raises(TraitError):
        first.value = 4
    assert "sum 12" in picture.value


def test_an_error_takes_the_place_of_the_figure_and_goes_with_the_next_setting():
    (first, _), picture = parts()
    first.value = 3
    assert picture.value == ('<p role="alert"><strong>Not drawn.</strong> With a = 3 and b = 10: ZeroDivisionError: '
                             "three &lt;is&gt; too many</p>")
    first.value = 1
    assert "sum 11" in picture.value


def test_an_error_of_the_first_drawing_is_raised():
    with pytest.raises(ZeroDivisionError, match="too many"):
        panel_of(draw, [Slider("a", "first number", (1, 3), 3), SLIDERS[1]])


@pytest.mark.parametrize("values", [(1,), (), (2, 3)])
def test_a_slider_needs_somewhere_to_go_and_a_start(values):
    with pytest.raises(ValueError, match="slider 'a': expected at least two values and a start among them, got"):
        Slider("a", "first number", values, 1)


# --- what the notebooks draw ------------------------------------------------------------------------------------

def line(axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    drawn, = (line for line in axes.lines if line.get_label() == label)
    return np.asarray(drawn.get_xdata()), np.asarray(drawn.get_ydata())


def start(sliders, **moved) -> dict:
    return {slider.name: slider.start for slider in sliders} | moved


@pytest.mark.parametrize(("sliders", "drawing"), [(RANKING, draw_ranking), (FAILURES, draw_failures)])
def test_every_slider_of_a_panel_changes_its_caption(sliders, drawing):
    for slider in sliders:
        controls, picture = parts(sliders, drawing)
        before = picture.value
        control = controls[sliders.index(slider)]
        control.value = slider.values[0] if slider.values[0] != slider.start else slider.values[-1]
        captions = [re.search("<figcaption>(.*)</figcaption>", page)[1] for page in (before, picture.value)]
        assert captions[0] != captions[1], slider.name


@pytest.mark.parametrize("moved", [{}, {"n": 400, "k": 15, "noise": 0.0, "episodes": 40_000},
                                   {"n": 20, "k": 1, "noise": 0.3, "episodes": 5_000}])
def test_the_simulated_ranking_lies_on_the_line_of_theory_wherever_the_sliders_are(moved):
    now = start(RANKING, **moved)
    axes, = draw_ranking(**now).figure.axes
    moments, middle = line(axes, "simulated, mean over runs")
    expected = ranking_theory(moments, n=now["n"], k=now["k"], noise=now["noise"])
    off = 4 * (1 - expected[-1] ** 2 + 0.01) / np.sqrt((now["n"] - 1) * panel_worlds.RUNS) + 0.02
    assert moments[-1] == now["episodes"]
    assert abs(middle[-1] - expected[-1]) < off
    grid, theory_now = line(axes, "theory")
    assert np.allclose(theory_now, ranking_theory(grid, n=now["n"], k=now["k"], noise=now["noise"]))
    same = np.allclose(theory_now, line(axes, "theory, sliders at the start")[1])
    assert same is not bool(moved)
    plt.close("all")


def test_coin_flips_rank_nothing():
    drawn = draw_ranking(**start(RANKING, noise=0.5))
    assert "0.00 by theory" in drawn.caption and "50% of the outcomes flipped" in drawn.caption
    assert abs(line(drawn.figure.axes[0], "simulated, mean over runs")[1][-1]) < 4 / np.sqrt(99 * panel_worlds.RUNS)
    plt.close("all")


def test_colder_feedback_ranks_worse_and_episodes_by_lot_repair_it():
    last, out = {}, {}
    for setting in ((0.5, 0.0), (0.05, 0.0), (0.05, 0.2)):
        drawn = draw_failures(**start(FAILURES, temperature=setting[0], explore=setting[1]))
        last[setting] = line(drawn.figure.axes[0], "simulated, mean over runs")[1][-1]
        out[setting] = int(re.search(r"(\d+)% of the memories have fewer", drawn.caption)[1])
    assert last[0.5, 0.0] > last[0.05, 0.2] > last[0.05, 0.0] + 0.2
    assert out[0.5, 0.0] == 0 and out[0.05, 0.0] > 30
    plt.close("all")


def test_the_hitchhiker_is_found_as_often_as_theory_says():
    _, right = draw_failures(**start(FAILURES, apart=0.5, retrievals=1_300)).figure.axes
    points = {bars.get_label().split()[0]: bars.lines[0].get_xydata()[0] for bars in right.containers}
    assert set(points) == {"naive", "exclusive"}
    for name, (share, found) in points.items():
        assert share == 0.5
        assert abs(found - power(0.5, 1_300, name)) < 4 * np.sqrt(0.25 / panel_worlds.PAIRS)
    plt.close("all")


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("retrievals", [500, 1_300])
def test_half_power_is_where_the_closed_form_has_it(retrievals, exclusive):
    share = theory.half_power_share(retrievals, exclusive=exclusive)
    assert power(share, retrievals, "exclusive" if exclusive else "naive") == pytest.approx(0.5, abs=0.01)


def test_a_wait_nobody_lives_to_see_is_not_counted_out():
    assert "waits longer than a million episodes" in draw_failures(**start(FAILURES, temperature=0.03)).caption
    assert "waits about 100 episodes" in draw_failures(**start(FAILURES, temperature=0.03, explore=0.2)).caption
    plt.close("all")


def test_other_seeds_give_other_runs():
    one, other = (draw_ranking(**start(RANKING), first_seed=seed).caption for seed in (0, 300))
    assert one != other
    plt.close("all")
