"""The `course` command: read the arguments, call the module that does the work, turn errors into one line.

Left out: any work of its own.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from helpers.curriculum import ROOT, CurriculumError, find_notebooks, load_chapters, with_table
from helpers.doctor import as_text, examine
from helpers.execute import DEFAULT_PROCESSES
from helpers.exercise_source import EXERCISES, SOLUTIONS, write_exercises
from helpers.local_model import LocalModelError, fetch_model, model_path
from helpers.runs import RunError, parse_value, run_notebooks, verify_notebooks
from helpers.settings import SettingsError
from helpers.transcript import ReplayMiss
from helpers.working_copy import make_copy

INTERRUPTED = 130  # the exit code shells use for Ctrl-C
REFUSALS = (CurriculumError, LocalModelError, OSError, ReplayMiss, RunError, SettingsError)  # each says what to do


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (the process's own arguments by default) and return its exit code.

    0: done. 1: a notebook or a check failed, or the command could not be carried out. 2: wrong arguments.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console that cannot show a sign must not end a run
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside as by Ctrl-C: children first
    arguments = build_parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except REFUSALS as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ncourse: interrupted, nothing is left running", file=sys.stderr)
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """The arguments of every subcommand, each with an example in its help."""
    parser = argparse.ArgumentParser(prog="course", description="Run, check and work on the notebooks of the course.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, function: Callable[[argparse.Namespace], int], text: str, example: str,
            notebooks: str | None = "*") -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, epilog=f"example: {example}")
        command.set_defaults(command=function)
        if notebooks:
            command.add_argument("notebooks", nargs=notebooks, metavar="NB",
                                 help="number, beginning of a name, or path; none means all of notebooks/")
        return command

    add("doctor", doctor, "Check what the course needs to run here.", "course doctor", None)
    run_options(add("run", run, "Execute notebooks and write their pages and a report.",
                    "course run 01 05 -p N_SEEDS 5"))
    processes_option(add("verify", verify, "Execute notebooks again and compare their outputs with the stored ones.",
                         "course verify 01"))
    option = add("start", start, "Make a copy of a notebook to write in, in work/.", "course start 01 --open", None)
    option.add_argument("notebook", metavar="NB", help="number, beginning of a name, or path")
    option.add_argument("--again", action="store_true", help="begin anew; the former copy is kept under a number")
    option.add_argument("--open", action="store_true", help="open the copy in JupyterLab")
    option = add("model", model, "Fetch the local model, or say where it is.", "course model fetch", None)
    option.add_argument("action", choices=("fetch", "path"))
    option = add("record", record, "Record the answers of the local model that a notebook replays.",
                 "course record 01 --fresh", "+")
    option.add_argument("--fresh", action="store_true", help="ask everything anew, not only what is not recorded yet")
    option.add_argument("-j", dest="servers", type=at_least_one, metavar="N",
                        help="how many copies of the model answer side by side, one core each; the answers stay the "
                             "same (default: COURSE_SERVERS, else one a core, at most 4)")
    output_option(option)
    option = add("export", transfer, "Copy a memory from a server to a new file.", "course export lessons.jsonl", None)
    option.add_argument("source", nargs="?", default="", help="address of the server (default: that of DATABASE_URL)")
    option.add_argument("target", help="path of the new file")
    name_option(option)
    option = add("import", transfer, "Copy a memory from a file to a server.", "course import lessons.jsonl", None)
    option.add_argument("source", help="path of the file")
    option.add_argument("target", nargs="?", default="", help="address of the server (default: that of DATABASE_URL)")
    name_option(option)
    grading_options(add("check", grade, "Grade notebooks of exercises, or a folder of them; exit code 1 when "
                        "one could not be graded.",
                        "course check work/09_exercises.ipynb", None))
    add("exercises", exercises, "Write the notebook of exercises from the one with the solutions.", "course exercises",
        None)
    option = add("book", book, "Build the site from the committed notebooks, docs/ and the last run's report.",
                 "course book", None)
    option.add_argument("--output", type=Path, default=ROOT / "build" / "book", metavar="FOLDER",
                        help="where the site goes (default: build/book)")
    add("readme", readme, "Write the table of notebooks in README.md from the notebooks.", "course readme", None)
    return parser


def run_options(command: argparse.ArgumentParser) -> None:
    """The options of `course run`."""
    processes_option(command)
    command.add_argument("-p", dest="parameters", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"),
                         help="a value for a name set in the cell tagged `parameters`; may be given several times")
    command.add_argument("--live", action="store_true", help="ask the provider of `.env` instead of the recordings")
    command.add_argument("--update", action="store_true", help="store the outputs in the notebooks that passed")
    output_option(command)


def processes_option(command: argparse.ArgumentParser) -> None:
    """How many notebooks run at once."""
    command.add_argument("-j", dest="processes", type=at_least_one, default=DEFAULT_PROCESSES, metavar="N",
                         help="how many notebooks at once (default: %(default)s)")


def at_least_one(text: str) -> int:
    """The whole number `text`, which argparse refuses when it is none or below one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of 1 or more, got {text!r}")
    return int(text)


def output_option(command: argparse.ArgumentParser) -> None:
    """Where executed notebooks go."""
    command.add_argument("--output", type=Path, default=ROOT / "build", metavar="FOLDER",
                         help="where executed notebooks and pages go (default: build)")


def name_option(command: argparse.ArgumentParser) -> None:
    """Which of the memories on the server."""
    command.add_argument("--name", default="lessons", help="name of the memory on the server (default: %(default)s)")


def doctor(arguments: argparse.Namespace) -> int:
    """`course doctor`: 1 when a check failed."""
    results = examine()
    print(as_text(results))
    return int(any(result.ok is False for result in results))


def run(arguments: argparse.Namespace) -> int:
    """`course run`: 1 when a notebook failed."""
    parameters = {name: parse_value(value) for name, value in arguments.parameters}
    notebooks, output = find_notebooks(arguments.notebooks), arguments.output
    if all(path.resolve().parent == SOLUTIONS.parent for path in notebooks):
        output /= SOLUTIONS.parent.name  # their pages have the names of the exercises'
    return int(run_notebooks(notebooks, output=output, parameters=parameters,
                             processes=arguments.processes, live=arguments.live, update=arguments.update) > 0)


def verify(arguments: argparse.Namespace) -> int:
    """`course verify`: pytest's exit code; without a name the solutions are compared, too."""
    notebooks = find_notebooks(arguments.notebooks) + [SOLUTIONS] * (not arguments.notebooks)
    return verify_notebooks(notebooks, processes=arguments.processes)


def record(arguments: argparse.Namespace) -> int:
    """`course record`: 1 when a notebook failed."""
    from helpers.recording import record_notebooks  # brings the OpenAI client, half a second no other command needs
    notebooks = find_notebooks(arguments.notebooks)
    return int(record_notebooks(notebooks, output=arguments.output, fresh=arguments.fresh,
                                servers=arguments.servers) > 0)


def start(arguments: argparse.Namespace) -> int:
    """`course start`: says where the copy is, and opens it when asked to."""
    copy, new = make_copy(find_notebooks([arguments.notebook])[0], again=arguments.again)
    print(f"made {copy}" if new else f"{copy} is there already and is left as it is (--again begins anew)")
    if arguments.open:
        return subprocess.run([sys.executable, "-m", "jupyterlab", str(copy)]).returncode
    print(f'open it with: "{sys.executable}" -m jupyterlab "{copy}"')
    return 0


def model(arguments: argparse.Namespace) -> int:
    """`course model`: prints the path of the model's file; 1 when it is not there."""
    path = fetch_model() if arguments.action == "fetch" else model_path()
    print(path)
    if not path.is_file():
        print("not there yet: run `course model fetch`", file=sys.stderr)
    return int(not path.is_file())


def transfer(arguments: argparse.Namespace) -> int:
    """`course export` and `course import`: says how much was carried."""
    try:
        from helpers.transfer import carry  # brings the client of the server, which not everybody has installed
    except ImportError as error:
        raise RunError(f'expected the packages of the memory on a server, got {error}; run pip install -e ".[postgres]"'
                       ) from error
    print(carry(arguments.source, arguments.target, name=arguments.name))
    return 0


def grading_options(command: argparse.ArgumentParser) -> None:
    """The options of `course check`."""
    command.add_argument("submissions", nargs="+", type=Path, metavar="FILE|FOLDER",
                         help="a notebook with answers, or a folder in which every notebook is one")
    processes_option(command)
    command.add_argument("--csv", type=Path, metavar="FILE", help="write the table to a CSV file, too")
    command.add_argument("--time", type=at_least_one, default=60, metavar="SECONDS",
                         help="limit for one exercise; ten times that for a submission (default: %(default)s)")
    command.add_argument("--memory", type=at_least_one, default=2048, metavar="MB",
                         help="limit of memory for one submission (default: %(default)s)")


def grade(arguments: argparse.Namespace) -> int:
    """`course check`: 1 when something could not be graded; wrong answers are no failure of the command."""
    from helpers.grading import Limits, grade_all  # brings Jupyter's client, which no other command needs
    from helpers.grading_table import as_csv, as_table, progress_line
    if arguments.csv:
        _can_write(arguments.csv)
    limits = Limits(seconds=arguments.time, memory_mb=arguments.memory)
    template, grades = grade_all(arguments.submissions, processes=arguments.processes, limits=limits,
                                 done=lambda grade: print(progress_line(grade), file=sys.stderr, flush=True))
    print(as_table(grades, template))
    if arguments.csv:
        arguments.csv.write_text(as_csv(grades, template), encoding="utf-8", newline="")
    return int(any(grade.problem for grade in grades))


def _can_write(table: Path) -> None:
    """A table that cannot be written is an error now, not after an hour; a submission is never written over."""
    if table.resolve().suffix.lower() == ".ipynb":  # a link may lead to one
        raise RunError(f"--csv: expected a name such as grades.csv, got {table}, a notebook, which would be written "
                       "over")
    try:
        with table.open("a"):
            pass
    except OSError as error:
        raise RunError(f"--csv: {table} cannot be written ({error.strerror}); name a file in a folder that is there"
                       ) from error


def exercises(arguments: argparse.Namespace) -> int:
    """`course exercises`: the solutions are taken out of notebooks/solutions/, what is left is notebook 09."""
    changed = write_exercises()
    print(f"{EXERCISES.name}: {'written' if changed else 'unchanged'}")
    return 0


def book(arguments: argparse.Namespace) -> int:
    """`course book`: says where the landing page is."""
    from helpers.book import build_book  # brings nbformat, which few commands need
    print(build_book(arguments.output))
    return 0


def readme(arguments: argparse.Namespace) -> int:
    """`course readme`: the table between the two markers is written anew."""
    from helpers.elsewhere import badges, declared_repository
    path = ROOT / "README.md"
    text = with_table(path.read_text(encoding="utf-8"), load_chapters(), opens=badges(declared_repository()))
    path.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
