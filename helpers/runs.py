"""Run notebooks, or compare them with what they printed: what `course run` and `course verify` do.

Left out: execution itself (`execute.py`) and recording (`recording.py`).
"""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import util
from pathlib import Path

from helpers.curriculum import ROOT
from helpers.doctor import core_versions
from helpers.execute import DEFAULT_PROCESSES, execute_all
from helpers.jobs import Job, Run, kernel_environment
from helpers.progress import Progress
from helpers.report import write_report
from helpers.settings import load_settings
from helpers.transcript import ReplayMiss

SANITISE = ROOT / "tests" / "nbval_sanitize.cfg"
CELL_TIMEOUT_S = 120  # of a re-checked cell; nbval's own default, 2000 s, is also how long a dead kernel goes unseen


class RunError(ValueError):
    """What was asked for cannot be run; the message says what to do instead."""


def run_notebooks(notebooks: Sequence[Path], *, output: Path, processes: int = DEFAULT_PROCESSES,
                  parameters: Mapping[str, object] | None = None, live: bool = False, update: bool = False) -> int:
    """Execute `notebooks` into the folder `output`, write its report.html, and return how many failed.

    `live` asks a provider instead of the recordings. `update` stores the outputs of the notebooks that passed in
    the notebooks themselves; nothing else ever writes there.

    Raises:
        RunError: two notebooks of one name, an unknown parameter, a live run without a key, an `update` that
            would store other outputs than a plain run prints, or an `output` where notebooks are kept.
    """
    parameters = dict(parameters or {})
    _refuse(notebooks, output, parameters, live, update)
    source = "live" if live else "replay"
    jobs = [Job(notebook=path, output=output, parameters=parameters, source=source,
                cell_timeout_s=None if live else Job.cell_timeout_s) for path in notebooks]
    runs = execute_all(jobs, processes=processes, progress=Progress(len(jobs)))
    if update:
        for path, run in zip(notebooks, runs, strict=True):
            if run.passed:
                store(output / path.name, path)
    answers = {run.name: answers_from(run.name, source) for run in runs}
    report = write_report(runs, output, answers=answers, versions=core_versions())
    return _summary(runs, report)


def _refuse(notebooks: Sequence[Path], output: Path, parameters: Mapping[str, object], live: bool,
            update: bool) -> None:
    if update and (parameters or live):
        raise RunError("--update stores what a plain run prints; leave out -p and --live")
    stems = [path.stem for path in notebooks]
    for path in notebooks:
        if stems.count(path.stem) > 1:
            raise RunError(f"two of the notebooks are called {path.name}, and both would become "
                           f"{output / path.name}; run them one after the other with another --output")
        if path.resolve().parent == output.resolve():
            raise RunError(f"--output {output} is where {path.name} is kept, which would be overwritten; "
                           "name another folder")
    if live and not load_settings().live:
        raise RunError("--live needs a key: set OPENROUTER_API_KEY in `.env` (without --live, none is needed)")
    if parameters:
        problems = [problem for path in notebooks if (problem := unknown_parameters(path, parameters))]
        if problems:
            raise RunError("; ".join(problems))


def known_parameters(notebook: Path) -> list[str]:
    """The names that the cell tagged `parameters` sets, in its order; empty when there is no such cell.

    Raises:
        RunError: the file is no notebook, or that cell is not plain Python.
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
        body = ast.parse("".join(tagged[0]["source"])).body if tagged else []
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise RunError(f"{notebook.name}: its parameters cannot be read ({type(error).__name__}: {error}); expected "
                       "a notebook whose cell tagged `parameters` holds plain Python") from None
    targets = [target for line in body if isinstance(line, ast.Assign | ast.AnnAssign)
               for target in (line.targets if isinstance(line, ast.Assign) else [line.target])]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def unknown_parameters(notebook: Path, given: Mapping[str, object]) -> str:
    """A message naming the parameters `notebook` does not have and those it has, or "" when all are known."""
    known = known_parameters(notebook)
    unknown = [name for name in given if name not in known]
    if not unknown:
        return ""
    return (f"{notebook.stem} has no parameter {' or '.join(unknown)}; "
            f"it has {', '.join(known) if known else 'none (no cell tagged `parameters`)'}")


def store(executed: Path, notebook: Path) -> None:
    """Put the executed copy in the place of `notebook`, in one step, unless the bytes are the same already."""
    new = executed.read_bytes()
    if new != notebook.read_bytes():
        part = notebook.with_suffix(".part")
        part.write_bytes(new)
        part.replace(notebook)
        print(f"stored the outputs of {notebook.name}")


def answers_from(name: str, source: str) -> str:
    """One line saying where the model's answers in the notebook `name` come from."""
    from helpers.llm import connect, transcript_path  # brings the OpenAI client, half a second that only this needs
    if source == "replay" and not transcript_path(name).exists():
        return "no recording of its own"
    try:
        return connect(name, source=source).describe()
    except ReplayMiss as error:  # the notebook fails on the same file; here it is only described
        return str(error)


def _summary(runs: Sequence[Run], report: Path) -> int:
    failed = [run for run in runs if not run.passed]
    for run in failed:
        print(f"\nFAILED {run.name} at {run.problem}\n  kept with its error: "
              f"{report.parent / run.name}.ipynb and .html")
    print(f"\n{len(runs) - len(failed)} passed, {len(failed)} failed; report: {report}")
    return len(failed)


def parse_value(text: str) -> object:
    """The value a parameter's text means: a Python or JSON literal, or the text itself.

    >>> [parse_value(text) for text in ("3", "[1, 2]", "false", "None", "worked_example")]
    [3, [1, 2], False, None, 'worked_example']
    """
    for read in (ast.literal_eval, json.loads):
        with suppress(ValueError, SyntaxError):
            return read(text)
    return text


def verify_notebooks(notebooks: Sequence[Path], *, processes: int = DEFAULT_PROCESSES) -> int:
    """Execute `notebooks` again and compare every output with the stored one; pytest's exit code.

    Runs nbval in the environment of `course run`, so that both see the same outputs. Pictures are not compared:
    another processor draws other pixels.
    """
    paths = [path.resolve() for path in notebooks]
    # A file outside pytest's root folder loses its name, and cells of two such files pass for one another.
    root = os.path.commonpath([path.parent for path in paths])
    command = [sys.executable, "-m", "pytest", "-q", f"--color={'auto' if sys.stdout.isatty() else 'no'}",
               "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-c", str(ROOT / "pyproject.toml"),
               "--rootdir", root, "--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT_S}",
               f"--nbval-sanitize-with={SANITISE}"]
    if util.find_spec("xdist") and min(processes, len(paths)) > 1:
        command += ["-n", str(min(processes, len(paths))), "--dist", "loadfile"]
    return subprocess.run([*command, *map(str, paths)], cwd=ROOT, env=kernel_environment()).returncode
