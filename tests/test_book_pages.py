"""The sources of the site: what is added to notebooks and pages, and what stops a site that would not be true."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from helpers.book_pages import BookError, findings, landing_figure, stage, status_table

FIGURE = '<figure><img src="data:image/png;base64,AAAA" alt="a line"><figcaption>It rises.</figcaption></figure>'
RUN = {"date": "2026-01-02 03:04 UTC", "machine": "Python 3.11 on Linux", "versions": {"numpy": "2.4"},
       "notebooks": [{"name": "00_go", "passed": True, "seconds": 1.23, "answers": "no recording of its own"}]}


def code(source: str, *outputs, tags=()):
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def printed(text: str):
    return new_output("stream", name="stdout", text=text)


def figure():
    data = {"text/html": FIGURE, "text/plain": "It rises.", "application/vnd.course.verdict+json": {},
            "text/markdown": "[00_go](00_go.ipynb)"}
    return new_output("display_data", data=data)


def course(root: Path) -> Path:
    """A course of one notebook and its solutions in `root`."""
    (root / "docs").mkdir()
    (root / "docs" / "glossary.md").write_text("# Glossary\n\n```{glossary}\nlesson\n  What is kept.\n```\n")
    (root / "docs" / "index.md").write_text("# Course\n\n<!-- figure -->\n<!-- findings -->\n<!-- notebooks -->\n"
                                            "[guide](../README.md)\n")
    (root / "docs" / "status.md").write_text("# Status\n\n<!-- runs -->\n")
    (root / "notebooks" / "solutions").mkdir(parents=True)
    meta = {"course": {"question": "Does it go?", "minutes": 5, "objectives": ["go"], "prerequisites": []}}
    cells = [new_markdown_cell("# 00 · Does it go?\n\nA lesson and a lesson."),
             code("x", printed("✔ It goes 3 times,\n  always.\nmore\n"), tags=["headline"]),
             code("ask(answer='b')", tags=["hide-input"]), code("y", figure(), tags=["landing"])]
    nbformat.write(new_notebook(cells=cells, metadata=meta), root / "notebooks" / "00_go.ipynb")
    nbformat.write(new_notebook(cells=[cells[0], code("z = 1", tags=["exercise"])], metadata=meta),
                   root / "notebooks" / "solutions" / "00_go.ipynb")
    (root / "build").mkdir()
    (root / "build" / "report.json").write_text(json.dumps(RUN))
    return root


def staged(root: Path, name: str) -> nbformat.NotebookNode:
    return nbformat.read(root / "build" / "source" / "notebooks" / name, as_version=4)


def test_pages_get_findings_figure_table_and_the_status_of_the_run(tmp_path):
    stage(tmp_path / "build" / "source", root=course(tmp_path))
    index = (tmp_path / "build" / "source" / "index.md").read_text(encoding="utf-8")
    assert FIGURE in index and "[Does it go?](notebooks/00_go.ipynb)\n:   It goes 3 times, always.\n" in index
    assert "[00_go](notebooks/00_go.ipynb) | Does it go? | 5" in index and "[guide](README.md)" in index
    status = (tmp_path / "build" / "source" / "status.md").read_text(encoding="utf-8")
    assert "| [00_go](notebooks/00_go.ipynb) | passed | 1.2 | no recording of its own |" in status
    assert "numpy 2.4" in status


def test_notebooks_link_their_first_term_and_open_elsewhere_only_for_a_known_repository(tmp_path):
    root = course(tmp_path)
    stage(root / "build" / "source", root=root, repository="us/course")
    cells = staged(root, "00_go.ipynb").cells
    assert cells[0].source.endswith("A {term}`lesson <lesson>` and a lesson.")
    assert "https://mybinder.org/v2/gh/us/course/" in cells[1].source
    assert not any("mybinder" in cell.source for cell in staged(root, "solutions/00_go.ipynb").cells)
    assert set(cells[-1].outputs[0].data) == {"text/html", "text/plain", "text/markdown"}  # what readers read
    assert cells[-1].outputs[0].data["text/markdown"] == "[00_go](00_go.html)"
    stage(root / "build" / "source", root=root)
    assert not any("mybinder" in cell.source for cell in staged(root, "00_go.ipynb").cells)


def test_the_code_of_a_question_to_oneself_is_not_on_the_site(tmp_path):
    stage(tmp_path / "build" / "source", root=course(tmp_path))
    assert [cell.metadata.get("tags") for cell in staged(tmp_path, "00_go.ipynb").cells][2] == ["remove-input"]


def test_solutions_are_named_so_and_folded(tmp_path):
    stage(tmp_path / "build" / "source", root=course(tmp_path))
    cells = staged(tmp_path, "solutions/00_go.ipynb").cells
    assert cells[0].source.startswith("# 00 · Solutions: Does it go?")
    assert cells[1].metadata["tags"] == ["exercise", "hide-input"]


def test_committed_files_are_only_read(tmp_path):
    root = course(tmp_path)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    stage(root / "build" / "source", root=root, repository="us/course")
    assert {path: path.read_bytes() for path in before} == before


def test_a_site_without_a_run_or_after_a_failed_one_is_refused(tmp_path):
    with pytest.raises(BookError, match=r"no run to report: expected .*report.json; run `course run` first"):
        status_table(tmp_path / "report.json", ["00_go"])
    failed = RUN | {"notebooks": [RUN["notebooks"][0] | {"passed": False}]}
    (tmp_path / "report.json").write_text(json.dumps(failed))
    (tmp_path / "report.json").write_text(json.dumps(RUN))
    with pytest.raises(BookError, match="the last run left out 01_on; run `course run` for all of them"):
        status_table(tmp_path / "report.json", ["00_go", "01_on"])
    (tmp_path / "report.json").write_text(json.dumps(failed))
    with pytest.raises(BookError, match="the last run failed in 00_go"):
        status_table(tmp_path / "report.json", ["00_go"])


def test_a_landing_page_with_no_or_two_figures_or_a_headline_without_claim_is_refused():
    one = new_notebook(cells=[code("y", figure(), tags=["landing"])])
    assert landing_figure([one]) == FIGURE
    for notebooks, found in (([], 0), ([one, one], 2)):
        with pytest.raises(BookError, match=f"expected one figure in cells tagged `landing`, found {found}"):
            landing_figure(notebooks)
    mute = new_notebook(cells=[code("x", printed("no claim\n"), tags=["headline"])])
    with pytest.raises(BookError, match=r"00_go.ipynb: a cell tagged for its claim 1 printed 0"):
        findings({"00_go.ipynb": mute})


def test_claims_stand_below_the_question_and_may_be_later_ones_of_their_cells():
    cells = [code("x", printed("✔ First.\n✔ Second.\n"), tags=["headline-2"]),
             code("y", printed("✔ Third.\n"), tags=["headline"]), code("z", printed("✔ Fourth.\n"))]
    asks = new_notebook(cells=cells, metadata={"course": {"question": "Does it go?"}})
    silent = new_notebook(cells=cells[2:], metadata={"course": {"question": "Why?"}})
    assert findings({"03_go.ipynb": asks, "04_why.ipynb": silent}) == (
        "[Does it go?](notebooks/03_go.ipynb)\n:   Second.\n:   Third.\n")


def test_a_page_that_lost_its_placeholder_is_refused(tmp_path):
    root = course(tmp_path)
    (root / "docs" / "status.md").write_text("# Status\n")
    with pytest.raises(BookError, match=r"status.md: expected the line <!-- runs --> once"):
        stage(root / "build" / "source", root=root)
