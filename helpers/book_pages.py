"""Prepare the sources of the site: committed notebooks and pages of docs/, with what only a site needs added.

Added: links that open a notebook elsewhere, the first use of each term linked to the glossary, the landing page's
figure and findings taken out of the notebooks' outputs, and the status of the last run. Left out: turning the
sources into pages (`book.py`); nothing is executed, and the committed files are only read.
"""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.book_terms import link_terms, terms_of
from helpers.curriculum import ROOT, contents_table, list_notebooks, load_chapters
from helpers.elsewhere import links_elsewhere
from helpers.runs import RunError

LANDING = "landing"  # tag of the cell whose figure stands on the landing page
HEADLINE = re.compile(r"headline(?:-(\d+))?")  # tag: the cell's first claim, or its N-th, is repeated there
TICK = "✔ "


class BookError(RunError):
    """The site cannot be made from what is there; the message says what is missing and how to get it."""


def stage(target: Path, *, root: Path = ROOT, report: Path | None = None, repository: str = "") -> None:
    """Write every source of the site below `target`, which is made anew.

    `report` is the report.json of the run whose status the site shows (default: build/report.json). `repository` is
    OWNER/NAME on GitHub, for the links that open a notebook elsewhere; without it there are none.

    Raises:
        BookError: there is no report, no figure tagged `landing`, or a placeholder of the landing page is missing.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root / "docs", target)
    terms = terms_of((root / "docs" / "glossary.md").read_text(encoding="utf-8"))
    folder = root / "notebooks"
    for path in [*list_notebooks(folder), *sorted(folder.glob("solutions/*.ipynb"))]:
        notebook = nbformat.read(path, as_version=4)
        page = target / path.relative_to(root)
        page.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(_for_site(notebook, path.relative_to(root), terms, repository), page)
    for page in target.glob("*.md"):
        text = page.read_text(encoding="utf-8").replace("](../", "](")  # docs/ has become the top
        page.write_text(text, encoding="utf-8", newline="\n")
    notebooks = {path.name: nbformat.read(path, as_version=4) for path in list_notebooks(folder)}
    _fill(target / "index.md", {
        "figure": lambda: landing_figure(list(notebooks.values())), "findings": lambda: findings(notebooks),
        "notebooks": lambda: contents_table(load_chapters(folder))})
    names = [path.stem for path in list_notebooks(folder)]
    _fill(target / "status.md", {"runs": lambda: status_table(report or root / "build" / "report.json", names)})


def _for_site(notebook: NotebookNode, path: Path, terms: dict[str, str], repository: str) -> NotebookNode:
    seen: set[str] = set()
    solutions = "solutions" in path.parts
    if solutions:
        notebook.cells[0].source = re.sub(r"^# (\d+) · ", r"# \1 · Solutions: ", notebook.cells[0].source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = link_terms(cell.source, terms, seen)
        elif "hide-input" in cell.metadata.get("tags", []):  # a question to oneself: its code names the answer
            cell.metadata["tags"] = ["remove-input"]
        elif solutions and "exercise" in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [*cell.metadata["tags"], "hide-input"]
        for output in cell.get("outputs", []):
            for kind in [kind for kind in output.get("data", {}) if not kind.startswith(("text/", "image/"))]:
                del output.data[kind]  # what only a program reads, such as an exercise's verdict
            if "text/markdown" in output.get("data", {}):  # the site turns links in cells into links to pages, not here
                output.data["text/markdown"] = output.data["text/markdown"].replace(".ipynb)", ".html)")
    if repository and not solutions:  # elsewhere, as here, a reader works on the exercises
        notebook.cells.insert(1, nbformat.v4.new_markdown_cell(links_elsewhere(path, repository), id="elsewhere"))
    return notebook


def landing_figure(notebooks: list[NotebookNode]) -> str:
    """The one figure of the landing page, as `show()` left it: picture, alternative text and caption."""
    figures = [output.data["text/html"] for notebook in notebooks for cell in notebook.cells
               if LANDING in cell.metadata.get("tags", []) for output in cell.outputs
               if "<figure" in output.get("data", {}).get("text/html", "")]
    if len(figures) != 1:
        raise BookError(f"expected one figure in cells tagged `{LANDING}`, found {len(figures)}; tag the cell whose "
                        "figure says what the course found")
    return figures[0]


def findings(notebooks: Mapping[str, NotebookNode]) -> str:
    """The claims that notebooks mark by a tag, below the question they answer: sentences that a run vouches for.

    `notebooks` by the names of their files, as a page beside the folder of notebooks links to them.
    """
    lines = []
    for name, notebook in notebooks.items():
        claims = [_claim(cell, int(tag[1] or 1), name) for cell in notebook.cells
                  for tag in filter(None, map(HEADLINE.fullmatch, cell.metadata.get("tags", [])))]
        if claims:
            lines += [f"[{notebook.metadata.course['question']}](notebooks/{name})",
                      *(f":   {claim}" for claim in claims), ""]
    return "\n".join(lines)


def _claim(cell: NotebookNode, number: int, name: str) -> str:
    printed = "".join(output.get("text", "") for output in cell.outputs).replace("\n  ", " ")
    claims = [line.removeprefix(TICK) for line in printed.splitlines() if line.startswith(TICK)]
    if len(claims) < number:
        raise BookError(f"{name}: a cell tagged for its claim {number} printed {len(claims)}; move the tag")
    return claims[number - 1]


def status_table(report: Path, names: Sequence[str]) -> str:
    """What the last run says of each of the notebooks `names`, as Markdown.

    Raises:
        BookError: no run has left a report, it left a notebook out, or one of its notebooks failed.
    """
    if not report.is_file():
        raise BookError(f"no run to report: expected {report}; run `course run` first")
    run = json.loads(report.read_text(encoding="utf-8"))
    if failed := [row["name"] for row in run["notebooks"] if not row["passed"]]:
        raise BookError(f"the last run failed in {', '.join(failed)}; mend that before the site says it passed")
    if missing := sorted(set(names) - {row["name"] for row in run["notebooks"]}):
        raise BookError(f"the last run left out {', '.join(missing)}; run `course run` for all of them")
    rows = [f"| [{row['name']}](notebooks/{row['name']}.ipynb) | passed | {row['seconds']:.1f} | {row['answers']} |"
            for row in run["notebooks"]]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return "\n".join([f"{run['date']}, {run['machine']}.", "", "| notebook | status | seconds | model answers |",
                      "|---|---|---:|---|", *rows, "", f"Packages: {versions}."])


def _fill(page: Path, parts: dict[str, Callable[[], str]]) -> None:
    """Put each part in the place of its comment, `<!-- name -->`, in `page`."""
    text = page.read_text(encoding="utf-8")
    for name, make in parts.items():
        if text.count(f"<!-- {name} -->") != 1:
            raise BookError(f"{page.name}: expected the line <!-- {name} --> once; put it where that part belongs")
        text = text.replace(f"<!-- {name} -->", make())
    page.write_text(text, encoding="utf-8", newline="\n")
