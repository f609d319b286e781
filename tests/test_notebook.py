"""Claims that can fail, figures with words, predictions that never stop a run."""

import base64
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import notebook
from helpers.notebook import ClaimFailed, Predictions, claim, claims_checked, show, side_by_side, wrap


def test_a_true_claim_is_printed_with_a_tick_and_counted(capsys) -> None:
    before = claims_checked()
    claim("Three is more than two.", 3 > 2)
    claim("So says numpy.", np.float64(3) > 2)
    assert capsys.readouterr().out == "✔ Three is more than two.\n✔ So says numpy.\n"
    assert claims_checked() == before + 2


def test_a_false_claim_stops_the_run_and_prints_nothing(capsys) -> None:
    before = claims_checked()
    with pytest.raises(ClaimFailed, match="no longer true in this run: Two is more"):
        claim("Two is more than three.", 2 > 3)
    assert capsys.readouterr().out == ""
    assert claims_checked() == before


@pytest.mark.parametrize("condition", [1, None, "yes", np.array([True]), (True,), float("nan")])
def test_a_claim_that_cannot_fail_is_refused(condition) -> None:
    with pytest.raises(TypeError, match="expected True or False"):
        claim("Anything.", condition)


@pytest.mark.parametrize("sentence", ["", "  ", None])
def test_a_claim_without_a_sentence_is_refused(sentence) -> None:
    with pytest.raises(TypeError, match="expected a sentence"):
        claim(sentence, True)


def test_long_sentences_wrap_and_keep_their_lines() -> None:
    text = wrap("word " * 40 + "\nsecond")
    assert max(map(len, text.split("\n"))) <= notebook.WIDTH
    assert text.split("\n")[-1] == "second"
    assert text.split("\n")[1].startswith("  word")


@pytest.fixture
def displayed(monkeypatch) -> list[dict]:
    bundles: list[dict] = []
    monkeypatch.setattr(notebook, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def test_a_figure_carries_caption_alt_text_and_picture(displayed) -> None:
    figure, axes = plt.subplots()
    axes.plot([0, 1])
    show(figure, caption="It rises to 1 & stays.", alt='line "y" from 0 to 1')
    html, plain = displayed[0]["text/html"], displayed[0]["text/plain"]
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    assert picture.startswith(b"\x89PNG")
    assert 'alt="line &quot;y&quot; from 0 to 1"' in html
    assert "<figcaption>It rises to 1 &amp; stays.</figcaption>" in html
    assert plain == 'It rises to 1 & stays.\n[figure: line "y" from 0 to 1]'
    assert plt.get_fignums() == []


def test_the_same_figure_gives_the_same_bytes(displayed) -> None:
    for _ in range(2):
        figure, axes = plt.subplots()
        axes.plot([0, 1])
        show(figure, caption="c", alt="a")
    assert displayed[0] == displayed[1]


@pytest.mark.parametrize(("caption", "alt"), [("", "words"), ("words", " "), (None, "words")])
def test_a_figure_without_words_is_refused(caption, alt) -> None:
    figure = plt.figure()
    with pytest.raises(ValueError, match="say what the figure shows"):
        show(figure, caption=caption, alt=alt)
    plt.close(figure)


def test_guesses_by_option_or_letter_stand_beside_answers(capsys) -> None:
    predictions = Predictions()
    predictions.ask("a", "First?", ["low", "high"], my_guess="b")
    predictions.ask("b", "Second?", ["low", "high"], my_guess="low")
    predictions.ask("c", "Third?", ["low", "high"], my_guess=None)
    for name in "abc":
        predictions.answer(name, "high")
    capsys.readouterr()
    predictions.review()
    assert capsys.readouterr().out.split("\n") == [
        "First?", "  answer: high; your guess: high (right)", "Second?", "  answer: high; your guess: low (not so)",
        "Third?", "  answer: high; your guess: none", ""]


def test_a_guess_that_is_no_option_is_refused_with_the_options() -> None:
    with pytest.raises(ValueError, match=r"one of \['low', 'high'\] or its letter; got 'medium'"):
        Predictions().ask("a", "First?", ["low", "high"], my_guess="medium")


def test_answers_are_held_against_the_questions() -> None:
    predictions = Predictions()
    predictions.ask("a", "First?", ["low", "high"], my_guess=None)
    with pytest.raises(ClaimFailed, match="asked but never answered: \\['a'\\]"):
        predictions.review()
    with pytest.raises(ClaimFailed, match="'middle', none of"):
        predictions.answer("a", "middle")
    with pytest.raises(KeyError, match="asked so far"):
        predictions.answer("z", "low")


def test_texts_stand_side_by_side_and_long_lines_go_on_below(capsys) -> None:
    side_by_side({"left": "def f():\n    return 1", "right": "x" * 3 + " " + "y" * 30, "none": ""}, width=60)
    lines = capsys.readouterr().out.splitlines()
    assert [len(part) for part in lines[1].split()] == [18, 18, 18]
    assert lines[0].split() == ["left", "right", "none"]
    assert lines[2].startswith("def f():            xxx")
    assert lines[3].startswith("    return 1            ")
    assert sum(line.count("y") for line in lines) == 30
    assert all(len(line) <= 60 for line in lines)


def test_nothing_beside_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one text"):
        side_by_side({})
