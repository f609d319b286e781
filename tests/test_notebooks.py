"""The committed notebooks: whole, executed in order, and written as the course is written."""

import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.curriculum import NOTEBOOKS, list_notebooks, read_chapter
from helpers.fresh_kernel import KERNELSPEC, LANGUAGE, clean

PERSONAL = re.compile(r"(?<![\w.])/(?:home|Users|root|tmp|var/folders)/\w|[A-Z]:\\+Users\\", re.IGNORECASE)
NOT_COMPARED = ("nbval-skip", "nbval-ignore-output", "raises-exception", "NBVAL_SKIP", "NBVAL_IGNORE_OUTPUT",
                "NBVAL_RAISES_EXCEPTION", "PYTEST_VALIDATE_IGNORE_OUTPUT")
# Markdown in which a number is a name or a formula, not a result: code, TeX, links, identifiers of papers.
NO_PROSE = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|arXiv:\d+\.\d+|https?://\S+", re.DOTALL)
RESULT = re.compile(r"\d+[.,]\d+|\d+\s?%|\d+ (?:ms|s|seconds|times)\b")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells with code in them."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return cell.metadata.get("tags", [])


def valid(notebook: NotebookNode) -> Iterator[str]:
    """The format is nbformat's current one."""
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        yield f"not valid: {str(error).splitlines()[0]}"
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        yield "older than format 4.5: cells have no ids"


def executed_in_order(notebook: NotebookNode) -> Iterator[str]:
    """The outputs come from one Restart and Run All."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if not counts or counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts[:8]}, expected 1, 2, 3 and so on"


def without_errors(notebook: NotebookNode) -> Iterator[str]:
    """No cell failed or warned."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                yield f"In [{cell.execution_count}] stores an error or a warning"


def stored_clean(notebook: NotebookNode) -> Iterator[str]:
    """Stored by `course run --update`: nothing in it that differs from run to run."""
    if clean(nbformat.from_dict(notebook)) != notebook:
        yield "holds timings, a private kernel or other leftovers: run `course run --update`"


def opens_well(notebook: NotebookNode) -> Iterator[str]:
    """The first cell tells question, minutes, and that neither key nor network is needed, in under 120 words."""
    first, course = notebook.cells[0] if notebook.cells else {}, notebook.metadata.get("course", {})
    if first.get("cell_type") != "markdown" or len(first.source.split()) >= 120:
        yield "the first cell is not Markdown of under 120 words"
        return
    question, minutes = course.get("question", "(no question in the metadata)"), str(course.get("minutes"))
    for wanted in (question, minutes, "key", "network"):
        if wanted not in first.source:
            yield f"the first cell does not say {wanted!r}"


def closes_honestly(notebook: NotebookNode) -> Iterator[str]:
    """It ends by saying what was not shown."""
    if not any("did not show" in cell.source for cell in notebook.cells[-4:] if cell.cell_type == "markdown"):
        yield "none of its last cells says what this did not show"


def without_personal_paths(notebook: NotebookNode) -> Iterator[str]:
    """No folder of the machine it ran on, in text or output."""
    for number, cell in enumerate(notebook.cells):
        found = PERSONAL.search(nbformat.from_dict(cell).source + str(cell.get("outputs", "")))
        if found:
            yield f"cell {number} holds a personal path: {found.group()}"


def comparable(notebook: NotebookNode) -> Iterator[str]:
    """Every output is compared with a new run."""
    for cell in code_cells(notebook):
        if cell.source.rstrip().endswith(";"):
            yield f"In [{cell.execution_count}] ends in a semicolon, which nbval cannot compare"
        if any(mark in cell.source or mark in tags(cell) for mark in NOT_COMPARED):
            yield f"In [{cell.execution_count}] is taken out of the comparison"


def short_cells(notebook: NotebookNode) -> Iterator[str]:
    """One idea a cell; a solution may hold more than one function, a reader's part of it has ten lines at most."""
    lengths = [len(cell.source.splitlines()) for cell in code_cells(notebook)]
    limits = [30 if "exercise" in tags(cell) else 20 for cell in code_cells(notebook)]
    yield from (f"In [{number}] has {length} lines, at most {limit}"
                for number, (length, limit) in enumerate(zip(lengths, limits, strict=True), start=1) if length > limit)
    if lengths and statistics.median(lengths) > 5:
        yield f"the median cell has {statistics.median(lengths):g} lines, at most 5"


def no_typed_results(notebook: NotebookNode) -> Iterator[str]:
    """Numbers that look like results stand in claims, or in a cell tagged `given`."""
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and "given" not in tags(cell):
            found = RESULT.search(NO_PROSE.sub("", cell.source))
            if found:
                yield f"cell {number} has a typed number, {found.group()!r}: claim() it, or tag the cell `given`"


def described_figures(notebook: NotebookNode) -> Iterator[str]:
    """Every picture has a caption and alternative text."""
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if any(kind.startswith("image/") for kind in output.get("data", {})):
                yield f"In [{cell.execution_count}] shows a bare picture: use show(fig, caption=…, alt=…)"


RULES: tuple[Callable[[NotebookNode], Iterator[str]], ...] = (
    valid, executed_in_order, without_errors, stored_clean, opens_well, closes_honestly, without_personal_paths,
    comparable, short_cells, no_typed_results, described_figures)


def committed() -> list[Path]:
    """Every notebook of the course, solutions included."""
    return [path for path in sorted(NOTEBOOKS.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_notebook_keeps_the_rule(rule):
    problems = [f"{path.name}: {problem}" for path in committed()
                for problem in rule(nbformat.read(path, as_version=4))]
    assert problems == []


def test_every_notebook_is_stored_as_written_by_the_course():
    for path in committed():
        text = path.read_bytes()
        assert text == (nbformat.writes(nbformat.reads(text.decode(), as_version=4)) + "\n").encode(), path.name


def test_numbers_run_from_zero_without_a_gap():
    assert [read_chapter(path).number for path in list_notebooks()] == list(range(len(list_notebooks())))


def good() -> NotebookNode:
    """A notebook that keeps every rule."""
    cells = [new_markdown_cell("# Why?\n\n5 minutes. No key, no network. With `0.5`, $w = 0.5$ and arXiv:2604.12007."),
             new_code_cell("print(1)", execution_count=1, outputs=[new_output("stream", name="stdout", text="1\n")]),
             new_code_cell(""), new_markdown_cell("The paper reports 0.89.", metadata={"tags": ["given"]}),
             new_code_cell("2", execution_count=2), new_markdown_cell("## What this did not show")]
    return new_notebook(cells=cells, metadata={"course": {"question": "Why?", "minutes": 5}, "kernelspec": KERNELSPEC,
                                               "language_info": LANGUAGE})


def test_a_good_notebook_keeps_every_rule():
    assert [problem for rule in RULES for problem in rule(good())] == []


def put(**changes: object) -> Callable[[NotebookNode], None]:
    """A change of the first code cell of a notebook."""
    return lambda notebook: notebook.cells[1].update(nbformat.from_dict(changes))


def first_cell(text: str) -> Callable[[NotebookNode], None]:
    """A change of the text the notebook opens with."""
    return lambda notebook: notebook.cells[0].update(source=text)


@pytest.mark.parametrize(("rule", "spoil"), [
    (valid, put(outputs=[{"output_type": "stream"}])), (valid, lambda notebook: notebook.update(nbformat_minor=4)),
    (executed_in_order, put(execution_count=3)), (executed_in_order, put(execution_count=None)),
    (executed_in_order, lambda notebook: notebook.update(cells=notebook.cells[:1])),
    (without_errors, put(outputs=[new_output("error", ename="E", evalue="", traceback=[])])),
    (without_errors, put(outputs=[new_output("stream", name="stderr", text="careful")])),
    (stored_clean, put(metadata={"execution": {}})),
    (stored_clean, lambda notebook: notebook.metadata.update(kernelspec={"name": "mine", "display_name": "Mine"})),
    (opens_well, first_cell("# Why?")), (opens_well, first_cell("Why? 5 key network " + "word " * 116)),
    (opens_well, first_cell("# Another? 5 minutes, no key, no network")),
    (opens_well, lambda notebook: notebook.cells.pop(0)),
    (closes_honestly, lambda notebook: notebook.cells.pop()),
    (without_personal_paths, put(source="open('/home/ada/x')")),
    (without_personal_paths, put(outputs=[new_output("stream", name="stdout", text="C:\\Users\\Ada\\x")])),
    (without_personal_paths, first_cell("in /tmp/xyz")),
    (comparable, put(source="plot();  ")), (comparable, put(source="# NBVAL_SKIP\n1")),
    (comparable, put(metadata={"tags": ["nbval-ignore-output"]})),
    (short_cells, put(source="\n".join(["a = 1"] * 21))),
    (short_cells, put(source="\n".join(["a = 1"] * 31), metadata={"tags": ["exercise"]})),
    (short_cells, lambda notebook: [cell.update(source="a\n" * 6) for cell in code_cells(notebook)]),
    (no_typed_results, first_cell("It gains 12 %.")), (no_typed_results, first_cell("It falls to 0.41 then.")),
    (no_typed_results, first_cell("It takes 3 ms.")), (no_typed_results, first_cell("`code` 1,5 `code`")),
    (described_figures, put(outputs=[new_output("display_data", {"image/png": "AAAA"})])),
])
def test_a_broken_rule_is_noticed(rule, spoil):
    notebook = good()
    spoil(notebook)
    assert len(list(rule(notebook))) > 0
