"""Execution: fresh kernels, failures that are kept, the same bytes twice, and no process left behind."""

import io
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from papermill.engines import NBClientEngine

from helpers.execute import execute_all
from helpers.fresh_kernel import clean, execute_one, first_failure
from helpers.jobs import Job, Run, kernel_environment
from helpers.progress import Progress

# On Windows, papermill chooses an event loop in a way that Python 3.14 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:'asyncio\\.:DeprecationWarning")
FIGURE = """import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.show()"""
CELLS = {
    "00_good": ["print('one')\nprint('two')", "import warnings\nwarnings.warn('careful')", "{'a', 'bc', 'def'}", FIGURE,
                "hash('word')", "import time\ntime.strftime('%Z')"],
    "01_error": ["print('before')", "first = 1\nfirst / 0", "print('after')"],
    "02_exit": ["import sys", "sys.exit(0)", "print('never')"],
    "03_exit_at_the_end": ["import sys\nsys.exit()"],
    "04_dead_kernel": ["print('kept')", "import os\nos._exit(1)", "print('never')"],
    "05_dead_worker": ["import os\nos.kill(os.getppid(), 9)", "import time\ntime.sleep(60)"],
    "06_environment": ["import os\nprint(os.environ['BATCH_MODE'], os.environ['COURSE_SOURCE'], "
                       "os.environ['MPLBACKEND'][-6:], os.path.basename(os.getcwd()))"],
    "07_{braces} and ünicode": ["print('✔')"],
}


def write(folder: Path, name: str, *cells: str, tags: tuple[str, ...] = ()) -> Path:
    """A notebook in `folder` with these code cells, the first one tagged with `tags`."""
    notebook = nbformat.v4.new_notebook(metadata={"course": {"question": "Does it run?"}, "widgets": {"state": {}}})
    notebook.cells = [nbformat.v4.new_markdown_cell("# Does it run?"), *map(nbformat.v4.new_code_cell, cells)]
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    if tags:
        notebook.cells[1].metadata["tags"] = list(tags)
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    return path


def outputs(path: Path) -> list[str]:
    """The text of every output of the executed notebook at `path`."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return [output.get("text") or output.get("ename") or output.data["text/plain"]
            for cell in cells for output in cell.outputs]


@pytest.fixture(scope="module")
def executed(tmp_path_factory) -> tuple[Path, dict[str, Run], str]:
    """The notebooks of CELLS, executed two at a time: their folder, what became of each, what was printed."""
    folder = tmp_path_factory.mktemp("course")
    jobs = [Job(notebook=write(folder / "notebooks", name, *cells), output=folder / "build")
            for name, cells in CELLS.items()]
    (folder / "notebooks" / "08_no_notebook.ipynb").write_text("no JSON", encoding="utf-8")
    jobs.append(Job(notebook=folder / "notebooks" / "08_no_notebook.ipynb", output=folder / "build"))
    log = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")  # as in a shell set up for scripts: figures would not be shown
        patch.setenv("BATCH_MODE", "false")
        patch.setenv("PYTHONHASHSEED", "1")
        runs = execute_all(jobs, processes=2, progress=Progress(len(jobs), log))
    assert [run.name for run in runs] == [*CELLS, "08_no_notebook"], "expected the runs in the order of the jobs"
    return folder, {run.name: run for run in runs}, log.getvalue()


def test_what_ran_through_passed_and_nothing_else(executed):
    _, runs, log = executed
    passed = {name for name, run in runs.items() if run.passed}
    assert passed == {"00_good", "06_environment", "07_{braces} and ünicode"}
    assert all(run.seconds > 0 for run in runs.values())
    assert len([line for line in log.splitlines() if line.startswith("[")]) == len(runs)


@pytest.mark.parametrize(("name", "problem"), [
    ("01_error", "In [2] (first = 1): ZeroDivisionError: division by zero"),
    ("02_exit", "In [2] (sys.exit(0)): SystemExit: 0"),
    ("03_exit_at_the_end", "In [1] (import sys): SystemExit"),
    ("04_dead_kernel", "In [2] (import os): DeadKernelError: the kernel died"),
])
def test_a_failure_names_cell_and_error_and_is_kept(executed, name, problem):
    folder, runs, _ = executed
    assert runs[name].problem == problem
    assert problem.split(": ")[1] in outputs(folder / "build" / f"{name}.ipynb")
    page = (folder / "build" / f"{name}.html").read_text(encoding="utf-8")
    assert problem.split(": ")[1] in page


def test_what_came_before_a_dead_kernel_is_kept(executed):
    assert outputs(executed[0] / "build" / "04_dead_kernel.ipynb")[0] == "kept\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a process ended from outside has another exit code there")
def test_a_dead_worker_costs_its_own_notebook_only(executed):
    _, runs, _ = executed
    assert runs["05_dead_worker"].problem == "the process executing it ended with exit code -9"
    assert runs["06_environment"].passed


def test_the_kernel_is_in_batch_mode_and_in_the_notebooks_folder(executed):
    assert outputs(executed[0] / "build" / "06_environment.ipynb") == ["true replay inline notebooks\n"]


def test_the_sources_are_as_they_were(executed):
    folder, _, _ = executed
    for path in (folder / "notebooks" / f"{name}.ipynb" for name in CELLS):
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert [cell.source for cell in cells] == CELLS[path.stem]
        assert not any(cell.outputs or cell.execution_count for cell in cells)


def test_a_second_run_gives_the_same_bytes_without_paths_and_times(executed, tmp_path, monkeypatch):
    folder, _, _ = executed
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    execute_all([Job(notebook=folder / "notebooks" / "00_good.ipynb", output=tmp_path)])
    first, second = ((place / "00_good.ipynb").read_bytes() for place in (folder / "build", tmp_path))
    assert first == second
    assert first.endswith(b"}\n") and b"\r" not in first
    for noise in (b"papermill", b"iopub", b"widgets", str(folder).encode(), sys.version.split()[0].encode()):
        assert noise not in first
    assert "<cell>:2: UserWarning: careful" in "".join(outputs(tmp_path / "00_good.ipynb"))


def test_streams_are_whole_and_the_time_zone_is_fixed(executed):
    printed = outputs(executed[0] / "build" / "00_good.ipynb")
    assert printed[0] == "one\ntwo\n"
    assert printed[-1] == "'UTC'"


def test_a_parameter_reaches_the_notebook(tmp_path):
    path = write(tmp_path / "notebooks", "01_x", "n_seeds = 20\nname = 'a'", "print(n_seeds, name)",
                 tags=("parameters",))
    run = execute_one(Job(notebook=path, output=tmp_path / "build", parameters={"n_seeds": 3}))
    assert run.passed
    assert outputs(tmp_path / "build" / "01_x.ipynb") == ["3 a\n"]
    assert nbformat.read(tmp_path / "build" / "01_x.ipynb", as_version=4).cells[2].id == "injected-parameters"


def starting_badly(times: int, monkeypatch) -> list[int]:
    """Make the next `times` starts of a kernel fail; the list that is returned counts all starts."""
    real, starts = NBClientEngine.execute_managed_notebook.__func__, []

    def execute(cls, *args, **kwargs):
        starts.append(1)
        if len(starts) <= times:
            raise RuntimeError("Kernel died before replying to kernel_info")
        return real(cls, *args, **kwargs)
    monkeypatch.setattr(NBClientEngine, "execute_managed_notebook", classmethod(execute))
    return starts


def test_a_kernel_that_does_not_start_is_started_once_more(tmp_path, monkeypatch):
    starts, cells = starting_badly(1, monkeypatch), []
    run = execute_one(Job(notebook=write(tmp_path, "01_x", "1 + 1"), output=tmp_path / "build"),
                      lambda number, of: cells.append((number, of)))
    assert (run.passed, len(starts), cells) == (True, 2, [(1, 2), (2, 2)])


def test_a_kernel_that_does_not_start_twice_is_a_failure(tmp_path, monkeypatch):
    starts = starting_badly(9, monkeypatch)
    run = execute_one(Job(notebook=write(tmp_path, "01_x", "1 + 1"), output=tmp_path / "build"))
    assert len(starts) == 2
    assert run.problem == "the kernel did not start: Kernel died before replying to kernel_info"
    assert (tmp_path / "build" / "01_x.html").exists()


def test_a_cell_that_takes_too_long_fails(tmp_path):
    path = write(tmp_path, "01_x", "import time\ntime.sleep(60)")
    run = execute_one(Job(notebook=path, output=tmp_path / "build", cell_timeout_s=1))
    assert run.problem.startswith("In [1] (import time): CellTimeoutError: ")
    assert run.seconds < 30


def test_a_file_that_is_no_notebook_fails_and_says_so(executed):
    assert "JSON" in executed[1]["08_no_notebook"].problem


def test_a_cell_that_was_not_executed_is_a_failure():
    notebook = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_code_cell("a = 1", execution_count=1), nbformat.v4.new_code_cell("  "),
        nbformat.v4.new_code_cell("b = 2")])
    assert first_failure(notebook) == "In [2] (b = 2): was not executed"
    notebook.cells[2].execution_count = 2
    assert first_failure(notebook) == ""


def test_cleaning_drops_what_differs_from_run_to_run_and_keeps_the_rest():
    cell = nbformat.v4.new_code_cell("a = 1", metadata={
        "tags": ["given"], "papermill": {"duration": 1.0}, "execution": {}, "mystnb": {"image": {"alt": "A line."}}})
    bare = nbformat.v4.new_code_cell("b = 2", metadata={"tags": []})
    notebook = nbformat.v4.new_notebook(cells=[cell, bare], metadata={
        "course": {"minutes": 5}, "papermill": {}, "kernelspec": {"name": "my-env", "display_name": "Mine"},
        "language_info": {"name": "python", "version": "3.9"}})
    clean(notebook)
    assert cell.metadata == {"tags": ["given"], "mystnb": {"image": {"alt": "A line."}}}
    assert bare.metadata == {}
    assert notebook.metadata.course == {"minutes": 5}
    assert notebook.metadata.kernelspec.name == "python3" and "version" not in notebook.metadata.language_info
    nbformat.validate(notebook)


@pytest.mark.parametrize(("source", "batch"), [("replay", "true"), ("live", "false"), ("record", "false")])
def test_the_environment_says_who_answers_and_hides_the_front_end(source, batch):
    environment = kernel_environment(source, base={
        "JPY_SESSION_NAME": "x", "BATCH_MODE": "maybe", "TZ": "CET", "A": "b"})
    assert (environment["BATCH_MODE"], environment["COURSE_SOURCE"], environment["TZ"]) == (batch, source, "UTC")
    assert environment["A"] == "b" and "JPY_SESSION_NAME" not in environment


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="expected one of replay, live, record as source, got 'cloud'"):
        kernel_environment("cloud")


def test_no_jobs_are_no_runs_and_no_process_is_refused():
    assert execute_all([]) == []
    with pytest.raises(ValueError, match="expected at least one process, got 0"):
        execute_all([], processes=0)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send to one process there")
def test_an_interrupt_stops_every_child(tmp_path):
    path = write(tmp_path, "01_x", "import os\nopen('pids', 'w').write(f'{os.getpid()} {os.getppid()}')",
                 "import time\ntime.sleep(120)")
    command = [sys.executable, "-m", "helpers.cli", "run", str(path), "--output", str(tmp_path / "build")]
    course = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text():
        assert time.monotonic() < deadline and course.poll() is None, "the notebook did not start"
        time.sleep(0.1)
    course.send_signal(signal.SIGINT)
    out, err = course.communicate(timeout=30)
    assert course.returncode == 130, out + err
    assert err.strip() == "course: interrupted, nothing is left running"
    left = [process for pid in map(int, (tmp_path / "pids").read_text().split())
            for process in psutil.process_iter() if process.pid == pid and process.status() != psutil.STATUS_ZOMBIE]
    assert left == []


def test_in_a_log_progress_is_a_line_every_ten_seconds_and_one_a_notebook():
    now, log = [0.0], io.StringIO()
    progress = Progress(2, log, clock=lambda: now[0])
    progress.cell("00_x", 0, 0)
    progress.tick()
    assert log.getvalue() == ""
    now[0] = 12.4
    progress.cell("00_x", 3, 14)
    progress.cell("01_y", 0, 0)
    progress.tick()
    progress.tick()
    progress.done("00_x", passed=True, seconds=12.44)
    progress.done("01_y", passed=False, seconds=0.04)
    assert log.getvalue().splitlines() == [
        "      00_x cell 3/14, 12 s", "      01_y starting, 0 s",
        f"[1/2] {'00_x':<36} passed    12.4 s", f"[2/2] {'01_y':<36} FAILED     0.0 s"]


def test_in_a_terminal_progress_is_one_line_that_fits(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    progress = Progress(1, terminal, clock=lambda: 0.0)
    for name in ("00_start_here", "01_volatile_reflexion"):
        progress.cell(name, 1, 2)
    progress.tick()
    progress.done("00_start_here", passed=True, seconds=1.0)
    before, moving, wiped, stays = terminal.getvalue().split("\r")
    assert (before, moving, wiped) == ("", "00_start_here cell 1/2, 0 s | 01_volati", " " * 39)
    assert stays == f"[1/1] {'00_start_here':<36} passed     1.0 s\n"
