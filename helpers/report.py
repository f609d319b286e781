"""Pages for a browser: each executed notebook as HTML, and one page that lists what ran, also as JSON for the site.

Left out: navigation between notebooks, search and a theme. A page loads nothing from elsewhere, except that
formulas are drawn by MathJax from its public address; without a network they stand as TeX source.
"""

import html
import json
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from helpers.jobs import Run

if TYPE_CHECKING:
    from nbformat import NotebookNode  # seconds to import, and only the worker processes need it

BUDGET_S = 20.0  # seconds a notebook may take in replay on two free cores
TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js_requirejs -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- if resources.formulas -%}{{ super() }}{%- endif -%}{%- endblock -%}
{%- block extra_css -%}<style>main { max-width: 62rem; margin: auto; }
.celltag_hide-input > .jp-Cell-inputWrapper { display: none; } /* a question's code names its answer */
</style>{%- endblock -%}
"""
STYLE = """body { font-family: sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.4; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .4rem .6rem; }
th, td { border-bottom: 1px solid #bbb; vertical-align: top; } td.number { text-align: right; }
pre { white-space: pre-wrap; margin: .3rem 0 0; } .failed { font-weight: bold; color: #a40000; }"""


def write_page(notebook: "NotebookNode", path: Path) -> None:
    """Write `notebook` with its outputs as one HTML file, titled by the question of its course metadata."""
    from nbconvert import HTMLExporter
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    title = notebook.metadata.get("course", {}).get("question", path.stem)
    resources = {"metadata": {"name": title}, "formulas": bool(re.search(r"\$|\\\(|\\\[", text))}
    page, _ = HTMLExporter(raw_template=TEMPLATE).from_notebook_node(notebook, resources=resources)
    path.write_text(page, encoding="utf-8", newline="\n")


def write_report(runs: Sequence[Run], output: Path, *, answers: Mapping[str, str], versions: Mapping[str, str]) -> Path:
    """Write `output`/report.html and report.json: what ran, how long, who answered the model calls, on what machine.

    `answers` says for a notebook's name where its model answers came from; `versions` are packages by name.
    """
    rows = "\n".join(_row(run, answers.get(run.name, "")) for run in runs)
    failed = sum(not run.passed for run in runs)
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    date = f"{datetime.now().astimezone():%Y-%m-%d %H:%M %Z}"
    packages = ", ".join(f"{html.escape(name)} {html.escape(version)}" for name, version in versions.items())
    page = f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Report of the run</title><style>{STYLE}</style></head><body>
<h1>Report of the run</h1>
<p>{len(runs) - failed} of {len(runs)} notebooks passed, {date}.</p>
<table><thead><tr><th>notebook</th><th>status</th><th>seconds</th><th>budget</th><th>model answers</th></tr></thead>
<tbody>
{rows}
</tbody></table>
<p>{machine}. {packages}.</p>
</body></html>
"""
    record = {"date": date, "machine": machine, "versions": dict(versions), "notebooks": [
        {"name": run.name, "passed": run.passed, "seconds": run.seconds, "answers": answers.get(run.name, "")}
        for run in runs]}
    (output / "report.json").write_text(json.dumps(record, indent=1), encoding="utf-8", newline="\n")
    path = output / "report.html"
    path.write_text(page, encoding="utf-8", newline="\n")
    return path


def _row(run: Run, answers: str) -> str:
    link = f'<a href="{quote(run.name)}.html">{html.escape(run.name)}</a>'
    status = "passed" if run.passed else f'<span class="failed">FAILED</span><pre>{html.escape(run.problem)}</pre>'
    budget = f"{BUDGET_S:.0f}" if run.seconds <= BUDGET_S else f'{BUDGET_S:.0f}, <span class="failed">exceeded</span>'
    return (f'<tr><td>{link}</td><td>{status}</td>'
            f'<td class="number">{run.seconds:.1f}</td><td class="number">{budget}</td>'
            f"<td>{html.escape(answers)}</td></tr>")
