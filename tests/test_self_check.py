"""Self-check questions: what is shown, in which forms, and what is refused."""

import re
from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers.curriculum import find_notebooks
from helpers.self_check import RIGHT, WRONG, SelfCheck, ask, marked_up

OPTIONS = {"blue": "Short waves scatter more.", "green": "That is `grass`, not sky & air."}
NUMBERS = (*range(1, 9), 10)  # 00 asks nothing yet, 09 is all questions
SKY = SelfCheck("What colour is the sky?", OPTIONS, "blue")


def test_the_text_has_question_options_and_then_the_answer(capsys):
    ask("What colour is the sky?", OPTIONS, answer="blue")
    assert capsys.readouterr().out == ("What colour is the sky?\n  (a) blue\n  (b) green\n"
                                       "answer: (a) Right. Short waves scatter more.\n")


def test_every_option_is_folded_with_its_verdict_in_words():
    page = SKY._repr_mimebundle_()["text/html"]
    assert page == ("<p><strong>What colour is the sky?</strong></p>\n"
                    "<details><summary>(a) blue</summary><p>Right. Short waves scatter more.</p></details>\n"
                    "<details><summary>(b) green</summary>"
                    "<p>Not so. That is <code>grass</code>, not sky &amp; air.</p></details>")


def test_exactly_one_option_is_right_also_with_many():
    options = {f"option {n}": "A reason." for n in range(5)}
    for answer in options:
        page = SelfCheck("Which?", options, answer)._repr_mimebundle_()["text/html"]
        assert (page.count(f"<p>{RIGHT}"), page.count(f"<p>{WRONG}")) == (1, 4)
        assert f"{answer}</summary><p>{RIGHT}" in page


def test_markup_in_a_text_is_text():
    assert marked_up("<b>`x < y`</b> `") == "&lt;b&gt;<code>x &lt; y</code>&lt;/b&gt; `"


class Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, list]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


def test_it_needs_no_script_no_style_and_no_colour():
    found = Tags(SKY._repr_mimebundle_()["text/html"]).found
    assert {tag for tag, _ in found} == {"p", "strong", "details", "summary", "code"}
    assert [attrs for _, attrs in found if attrs] == []


def test_an_exported_page_keeps_the_folds():
    cell = new_code_cell("ask(…)", outputs=[new_output("display_data", SKY._repr_mimebundle_())])
    page, _ = HTMLExporter().from_notebook_node(new_notebook(cells=[cell]))
    assert (page.count("<details>"), page.count("<summary>(")) == (2, 2)


@pytest.mark.parametrize(("options", "answer", "message"), [
    ({"blue": "Yes."}, "blue", "at least two options"), ({}, "blue", "at least two options"),
    (OPTIONS, "red", "as the answer, got 'red'"), (OPTIONS, "a", "as the answer"),
    ({"blue": "Yes.", "green": " "}, "blue", "explanation of 'green'"),
    ({"blue": "Yes.", "": "No."}, "blue", "option ''"), ({"blue": "Yes.", "green": None}, "blue", "got None"),
])
def test_a_question_that_teaches_nothing_is_refused(options, answer, message):
    with pytest.raises(ValueError, match="expected") as error:
        ask("What colour is the sky?", options, answer=answer)
    assert message in str(error.value)


def test_a_question_without_words_is_refused():
    with pytest.raises(ValueError, match="as question"):
        ask("  ", OPTIONS, answer="blue")



def questions(number: int) -> list[NotebookNode]:
    """The cells of a notebook that ask."""
    notebook = nbformat.read(find_notebooks([f"{number:02d}"])[0], as_version=4)
    start = next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith("## Check yourself"))
    end = next(i for i, cell in enumerate(notebook.cells) if cell.source.startswith("## What you can now say"))
    return [cell for cell in notebook.cells[start:end] if cell.cell_type == "code"]


@pytest.mark.parametrize("number", NUMBERS)
def test_notebooks_end_with_three_questions_whose_code_is_folded_away(number):
    cells = questions(number)
    assert len(cells) == 3
    for cell in cells:
        assert "hide-input" in cell.metadata.tags, "the code names the answer"
        assert cell.metadata.jupyter.source_hidden
        page, = (output["data"]["text/html"] for output in cell.outputs)
        assert page.count(f"<p>{RIGHT}") == 1 and page.count(f"<p>{WRONG}") >= 2


def test_the_right_option_has_no_place_and_no_length_of_its_own():
    places, longest = [], []
    for cell in (cell for number in NUMBERS for cell in questions(number)):
        options = re.findall(r"<summary>\(\w\) (.+)</summary><p>(\w+)", cell.outputs[0]["data"]["text/html"])
        right = [verdict == RIGHT.rstrip(".") for _, verdict in options].index(True)
        places.append(right)
        longest.append(len(options[right][0]) == max(len(option) for option, _ in options))
    assert max(places.count(place) for place in range(3)) <= len(places) / 2
    assert sum(longest) <= len(longest) * 0.6
