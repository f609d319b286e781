"""Pages of executed notebooks, and the report of a run."""

import re

import nbformat
import pytest

from helpers.jobs import Run
from helpers.report import BUDGET_S, write_page, write_report

ADDRESS = re.compile(r"""(?:src|href)\s*=\s*["']?(https?:[^"' >]+)""")


def page_of(tmp_path, *cells, **metadata) -> str:
    """The HTML page of a notebook with these cells."""
    path = tmp_path / "01_x.html"
    write_page(nbformat.v4.new_notebook(cells=list(cells), metadata=metadata), path)
    return path.read_text(encoding="utf-8")


def test_a_page_is_titled_by_the_question_and_loads_nothing(tmp_path):
    code = nbformat.v4.new_code_cell("print('ü')", execution_count=1,
                                     outputs=[nbformat.v4.new_output("stream", name="stdout", text="✔ ü < 3\n")])
    page = page_of(tmp_path, nbformat.v4.new_markdown_cell("# Why?"), code, course={"question": "Why <not>?"})
    assert "<title>Why &lt;not&gt;?</title>" in page and '<html lang="en">' in page
    assert "✔ ü &lt; 3" in page
    assert ADDRESS.findall(page) == [] and page.count("<script") == 0


@pytest.mark.parametrize("formula", ["worth $w = 1$", r"\(w\)", r"\[w\]"])
def test_only_a_page_with_formulas_asks_for_mathjax(tmp_path, formula):
    page = page_of(tmp_path, nbformat.v4.new_markdown_cell(formula))
    assert [address for address in ADDRESS.findall(page) if "mathjax" not in address.lower()] == []
    assert "mathjax" in page.lower()
    assert "<title>01_x</title>" in page


def test_alternative_text_of_a_figure_reaches_the_page(tmp_path):
    figure = nbformat.v4.new_output("display_data", {
        "text/html": '<figure><img src="data:image/png;base64,AA" alt="A line that rises."></figure>'})
    page = page_of(tmp_path, nbformat.v4.new_code_cell("show()", outputs=[figure]))
    assert 'alt="A line that rises."' in page


def test_the_report_tells_what_ran_how_long_who_answered_and_on_what(tmp_path):
    runs = [Run(name="00_good", passed=True, seconds=1.26),
            Run(name="01_bad & slow", passed=False, seconds=BUDGET_S + 1, problem="In [2] (a < b): NameError")]
    path = write_report(runs, tmp_path, answers={"00_good": "replay of <tiny>"}, versions={"numpy": "2.4.6"})
    page = path.read_text(encoding="utf-8")
    assert path.name == "report.html" and "1 of 2 notebooks passed" in page
    good, bad = page.split("<tbody>")[1].split("</tbody>")[0].strip().split("<tr>")[1:]
    for part in ('<a href="00_good.html">00_good</a>', "passed", ">1.3<", f">{BUDGET_S:.0f}<", "replay of &lt;tiny"):
        assert part in good
    for part in ('href="01_bad%20%26%20slow.html">01_bad &amp; slow<', "FAILED", "(a &lt; b): NameError", "exceeded"):
        assert part in bad
    assert "numpy 2.4.6" in page and ADDRESS.findall(page) == []


def test_a_report_of_nothing_says_so(tmp_path):
    page = write_report([], tmp_path, answers={}, versions={}).read_text(encoding="utf-8")
    assert "0 of 0 notebooks passed" in page
