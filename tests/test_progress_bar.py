"""Progress bars: only for a reader who waits, and never in the way of the items."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers import arms, progress_bar, streams
from helpers.progress_bar import progress_bar as bar


@pytest.fixture
def reader(monkeypatch) -> list[dict]:
    """Somebody waits; the options each bar was made with."""
    from tqdm import auto

    made: list[dict] = []

    class Noted(auto.tqdm):
        def __init__(self, *arguments, **options):
            made.append(options)
            super().__init__(*arguments, **options)
    monkeypatch.setenv("BATCH_MODE", "false")
    monkeypatch.setattr(auto, "tqdm", Noted)
    monkeypatch.setattr(progress_bar, "DELAY_S", 0)
    return made


def test_batch_mode_has_no_bar_and_every_item(capfd):
    assert list(bar(iter("abc"), "letters")) == ["a", "b", "c"]
    assert capfd.readouterr() == ("", "")


def test_a_reader_sees_name_and_count_and_afterwards_nothing_is_left(reader, capfd):
    assert list(bar([1, 2, 3], "problems")) == [1, 2, 3]
    seen = capfd.readouterr()
    assert seen.out == "" and "problems:   0%|" in seen.err and "0/3" in seen.err
    assert seen.err.rsplit("\r", 2)[-2].strip() == "", "the line is wiped"


def test_what_takes_less_than_a_second_shows_none(reader, monkeypatch, capfd):
    monkeypatch.setattr(progress_bar, "DELAY_S", 1.0)
    assert list(bar(range(3), "problems")) == [0, 1, 2]
    assert "problems" not in capfd.readouterr().err


def test_the_total_is_the_length_or_what_is_given_or_unknown(reader):
    for items, total in (([1, 2], None), (iter([1, 2]), 2), (iter([1, 2]), None)):
        assert list(bar(items, "x", total=total)) == [1, 2]
    assert [options["total"] for options in reader] == [2, 2, None]


def test_an_error_among_the_items_comes_through(reader):
    def two():
        yield 1
        raise KeyError("second")
    items = bar(two(), "x")
    assert next(items) == 1
    with pytest.raises(KeyError, match="second"):
        next(items)


def test_several_bars_side_by_side_mix_nothing_up(reader):
    with ThreadPoolExecutor(4) as workers:
        results = list(workers.map(lambda j: list(bar(range(50), f"stream {j}")), range(4)))
    assert results == [list(range(50))] * 4
    assert sorted(options["desc"] for options in reader) == [f"stream {j}" for j in range(4)]


class Place:
    """Where a notebook displays something."""

    def __init__(self, shown: object):
        self.shown = [shown]

    def update(self, bundle, raw):
        assert raw
        self.shown.append(bundle)


@pytest.fixture
def places(reader, monkeypatch) -> list[Place]:
    """A notebook instead of a terminal; what was displayed in it."""
    from tqdm import auto, notebook

    def display(shown, display_id):
        found.append(Place(shown))
        return found[-1]
    found: list[Place] = []
    monkeypatch.setattr(auto, "tqdm", notebook.tqdm)
    monkeypatch.setattr(notebook, "display", lambda *_: pytest.fail("tqdm displayed what nobody can take out again"))
    monkeypatch.setattr(progress_bar, "display", display)
    monkeypatch.setattr(progress_bar, "DELAY_S", 1e-9)
    return found


def test_in_a_notebook_the_bar_is_taken_out_at_the_end(places, capfd):
    items = bar(iter([1, 2, 3]), "problems", total=3)
    assert places == [] and next(items) == 1
    place, = places
    assert place.shown[0].children[0].value.startswith("problems") and place.shown[0].children[1].max == 3
    assert list(items) == [2, 3]
    assert places == [place] and place.shown[1:] == [{"text/html": "", "text/plain": ""}]
    assert capfd.readouterr() == ("", "")


def test_in_a_notebook_too_an_error_comes_through_and_the_bar_goes(places):
    with pytest.raises(ZeroDivisionError):
        list(bar((1 // n for n in (1, 0)), "problems"))
    assert len(places) == 1 and len(places[0].shown) == 2


def test_in_a_notebook_too_what_is_quick_shows_none(places, monkeypatch):
    monkeypatch.setattr(progress_bar, "DELAY_S", 60.0)
    assert list(bar(range(3), "problems")) == [0, 1, 2]
    assert places == []


def test_the_variable_of_tqdm_silences_it():
    code = ("from helpers import progress_bar as p; p.DELAY_S = 0; "
            "print(list(p.progress_bar([1, 2], 'problems')))")
    settings = {"shown": {"BATCH_MODE": "false"}, "batch": {"BATCH_MODE": "true"},
                "tqdm": {"BATCH_MODE": "false", "TQDM_DISABLE": "1"}}
    done = {name: subprocess.run([sys.executable, "-W", "error", "-c", code], env=os.environ | variables,
                                 capture_output=True, text=True, check=True) for name, variables in settings.items()}
    assert {name: run.stdout for name, run in done.items()} == dict.fromkeys(done, "[1, 2]\n")
    assert "problems" in done["shown"].stderr and done["tqdm"].stderr == done["batch"].stderr == ""


@pytest.mark.parametrize("module", [arms, streams])
def test_the_long_loops_of_the_notebooks_have_one(module):
    assert module.progress_bar is bar
