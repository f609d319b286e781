"""Execute one notebook with papermill in a kernel of its own, and keep what came out, errors included.

Left out: several notebooks at once (`execute.py`) and the choice of what to run (`curriculum.py`).
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from helpers.jobs import Job, Run
from helpers.report import write_page

KERNEL = "python3"
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": KERNEL}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
NOISE = ("papermill", "execution", "ExecuteTime")
LINES = 6  # of an error's text shown in the terminal; the kept notebook has all of it


class KernelNotStarted(RuntimeError):
    """No kernel answered, so no cell ran: worth one more try, since two starts can race for a port."""


class _Engine(NBClientEngine):
    """papermill's own engine; a kernel that dies or hangs leaves an error output in the cell that was running."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, *, on_cell=None, **kwargs):
        started: list[NotebookNode] = []

        def on_cell_start(cell: NotebookNode, cell_index: int) -> None:
            started.append(cell)
            if on_cell:
                on_cell(cell_index + 1, len(nb_man.nb.cells))
        try:
            return super().execute_managed_notebook(nb_man, kernel_name, on_cell_start=on_cell_start, **kwargs)
        except (RuntimeError, CellTimeoutError, DeadKernelError) as error:
            if not started:
                raise KernelNotStarted(f"the kernel did not start: {error}") from error
            text = "the kernel died" if isinstance(error, DeadKernelError) else str(error).strip().split("\n")[0]
            # Stopping the kernel can have left a KeyboardInterrupt, which would hide the reason.
            kept = [output for output in started[-1].outputs if output.output_type != "error"]
            started[-1].outputs = [*kept, nbformat.v4.new_output(
                "error", ename=type(error).__name__, evalue=text, traceback=[f"{type(error).__name__}: {text}"])]


logging.getLogger("papermill").addHandler(logging.NullHandler())  # what it would print is in the `Run`
papermill_engines.register("course", _Engine)


def execute_one(job: Job, on_cell: Callable[[int, int], None] | None = None) -> Run:
    """Execute the notebook of `job`; its executed copy and its HTML page are in `job.output` afterwards.

    `on_cell` is called with the number of the cell that starts and the number of all cells. Nothing is raised for
    a notebook that fails: the `Run` says which cell, and the copy holds the error.
    """
    begun = time.perf_counter()
    copy = job.output / job.notebook.name
    job.output.mkdir(parents=True, exist_ok=True)
    copy.unlink(missing_ok=True)  # a copy of an earlier run must not pass for this one's
    problem = ""
    try:
        try:
            _papermill(job, copy, on_cell)
        except KernelNotStarted:
            _papermill(job, copy, on_cell)
    except PapermillExecutionError:
        pass  # the copy holds it, and `first_failure` reads it from there
    except KernelNotStarted as error:
        problem = str(error)
        copy.write_bytes(job.notebook.read_bytes())
    notebook = clean(nbformat.read(copy, as_version=4))
    write_notebook(notebook, copy)
    problem = problem or first_failure(notebook)
    write_page(notebook, copy.with_suffix(".html"))
    return Run(name=job.notebook.stem, passed=not problem, seconds=time.perf_counter() - begun, problem=problem)


def _papermill(job: Job, copy: Path, on_cell: Callable[[int, int], None] | None) -> None:
    papermill.execute_notebook(
        _literal(job.notebook), _literal(copy), dict(job.parameters), engine_name="course", kernel_name=KERNEL,
        language="python", cwd=job.notebook.parent, progress_bar=False, on_cell=on_cell,
        execution_timeout=job.cell_timeout_s, request_save_on_cell_execute=False, autosave_cell_every=0,
        record_timing=False, coalesce_streams=True)


def _literal(path: Path) -> str:
    return str(path.resolve()).replace("{", "{{").replace("}", "}}")  # papermill formats braces in paths


def first_failure(notebook: NotebookNode) -> str:
    """Which cell failed and how, or "" when every code cell ran without an error output.

    A cell that leaves the kernel (`sys.exit`) counts as a failure, since what stands below it did not run.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    for number, cell in enumerate(cells, start=1):
        where = f"In [{cell.execution_count or number}] ({cell.source.strip().splitlines()[0][:60]})"
        for output in cell.outputs:
            if output.output_type == "error":
                text = "\n".join([output.ename, *output.evalue.strip().splitlines()[-LINES:]])
                return f"{where}: {text.replace(chr(10), ': ', 1)}"
        if cell.execution_count is None:
            return f"{where}: was not executed"
    return ""


def clean(notebook: NotebookNode) -> NotebookNode:
    """`notebook` without what differs from run to run: timings, paths, versions, papermill's own notes."""
    notebook.metadata = NotebookNode({key: value for key, value in notebook.metadata.items()
                                      if key not in (*NOISE, "widgets")})
    notebook.metadata.update(kernelspec=KERNELSPEC, language_info=LANGUAGE)
    for cell in notebook.cells:
        tags = cell.metadata.pop("tags", [])
        cell.metadata = NotebookNode({key: value for key, value in cell.metadata.items() if key not in NOISE})
        if tags:
            cell.metadata["tags"] = tags
        if "injected-parameters" in tags:
            cell["id"] = "injected-parameters"
    return notebook


def write_notebook(notebook: NotebookNode, path: Path) -> None:
    """Write `notebook` as nbformat orders it, in UTF-8 with "\\n" on every system, all of it or nothing."""
    part = path.with_suffix(".part")
    part.write_text(nbformat.writes(notebook).rstrip("\n") + "\n", encoding="utf-8", newline="\n")
    part.replace(path)
