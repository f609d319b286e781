"""A class of six is graded in one command; whatever is handed in is one row, and nothing is left behind."""

import csv
import functools
import io
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import redirect_stdout
from pathlib import Path

import psutil
import pytest
from class_folder import ALL_RIGHT, ENDLESS, FORGED, HALF, HOSTILE, WRONG, notebook, right, write

from helpers import cli, grading
from helpers.exercise_seal import signature
from helpers.exercise_source import EXERCISES, SOLUTIONS
from helpers.grading import Grade, grade_all, is_ours
from helpers.grading_files import NotGradable
from helpers.grading_kernel import MARK, Limits, WatchedKernel, environment
from helpers.grading_submission import Exercise

QUICK = Limits(seconds=5, memory_mb=1024)


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> Path:
    """Our small notebook of six exercises."""
    return write(tmp_path_factory.mktemp("ours") / "09.ipynb", notebook())


@pytest.fixture(scope="module")
def graded(ours, tmp_path_factory) -> tuple[int, str, list[list[str]], Path]:
    """Exit code, table and CSV rows of `course check` on a folder of six, and the folder."""
    folder = tmp_path_factory.mktemp("class")
    hostile = {number: text.replace("VICTIM", repr(str(folder))) for number, text in HOSTILE.items()}
    for name, answers in {"untouched": {}, "perfect": ALL_RIGHT, "half": HALF, "endless": ENDLESS,
                          "hostile": hostile}.items():
        write(folder / f"{name}.ipynb", notebook(answers))
    write(folder / "wrong.ipynb", notebook(WRONG, points=3))  # its stored outputs say that all is right
    (folder / "x.csv").write_text("precious", encoding="utf-8")
    table = folder.parent / f"{folder.name}.csv"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as printed:
        patch.setattr(grading, "grade_all", functools.partial(grade_all, exercises=ours))
        patch.setenv("SECRET_KEY", "sk-secret")
        code = cli.main(["check", str(folder), "--csv", str(table), "--time", "5", "--memory", "1024", "-j", "2"])
    with table.open(encoding="utf-8", newline="") as file:
        return code, printed.getvalue(), list(csv.reader(file)), folder


def test_six_submissions_are_six_rows(graded):
    code, _, rows, _ = graded
    assert code == 0
    assert [row[:-1] for row in rows] == [
        ["name", "points", "of", "1", "2", "3", "4", "5", "6"],
        ["endless", "15", "18", "✔", "✘", "✔", "✔", "✔", "✔"],
        ["half", "8", "18", "✔", "✔", "part", "–", "–", "–"],
        ["hostile", "6", "18", "✘", "✘", "✘", "✘", "✔", "✔"],
        ["perfect", "18", "18", "✔", "✔", "✔", "✔", "✔", "✔"],
        ["untouched", "0", "18", "–", "–", "–", "–", "–", "–"],
        ["wrong", "0", "18", "✘", "✘", "✘", "✘", "✘", "✘"]]


def test_the_notes_say_what_happened(graded):
    notes = {row[0]: row[-1].split("; ") for row in graded[2]}
    assert notes["untouched"] == notes["perfect"] == notes["half"] == [""]
    assert notes["endless"] == ["2: stopped after 5 s"]
    assert notes["wrong"] == ["2: SyntaxError: invalid syntax (<cell>, line 1)",
                              "4: NameError: name 'four' is not defined", "5: SystemExit: 0"]
    forged = "verdicts that are not from our check, or our functions were changed"
    assert notes["hostile"] == [
        "1: touches the seal of verdicts", "2: touches check_two", "3: touches helpers.exercises",
        "5: touches other programs or whole folders", "6: touches other programs or whole folders",
        f"1: {forged}", "2: the check gave no verdict", f"3: {forged}", "4: the kernel ended"]


def test_the_table_on_the_terminal_shows_the_same(graded):
    _, text, rows, _ = graded
    lines = text.splitlines()
    assert lines[0] == "name       points  of  1  2  3     4  5  6  note"
    assert lines[4].rstrip() == "perfect        18  18  ✔  ✔  ✔     ✔  ✔  ✔"
    assert [line.split()[0] for line in lines] == [row[0] for row in rows]


def test_nothing_was_deleted_and_no_process_is_left(graded):
    folder = graded[-1]
    assert (folder / "x.csv").read_text(encoding="utf-8") == "precious" and len(list(folder.glob("*.ipynb"))) == 6
    assert not sleeping("299.25")


def sleeping(seconds: str) -> list[psutil.Process]:
    """Processes that were started to sleep for so long."""
    return [process for process in psutil.process_iter(["cmdline"])
            if f"time.sleep({seconds})" in str(process.info["cmdline"])]


@pytest.mark.parametrize(("answer", "memory_mb", "note"), [
    # What it prints waits in the kernel until it is read, so its memory grows as well: room for that.
    ("def two():\n    while True:\n        print('x' * 5000)", 2_000, "printed more than 1,000,000 characters"),
    ("def two(kept=[]):\n    while True:\n        kept.append(bytearray(b'x') * 5_000_000)", 300,
     "took more than 300 MB of memory"),
], ids=["prints", "fills memory"])
def test_an_answer_that_takes_too_much_costs_itself_only(answer, memory_mb, note, ours, tmp_path):
    path = write(tmp_path / "a.ipynb", notebook({1: right(1), 2: answer, 3: right(3)}))
    _, (grade,) = grade_all([path], exercises=ours, limits=Limits(seconds=20, memory_mb=memory_mb))
    assert (grade.points, grade.notes) == ({1: 3, 2: 0, 3: 3}, [f"2: {note}"])


def test_a_sealed_verdict_of_their_own_counts_neither_alone_nor_beside_ours(ours, tmp_path):
    report = ("from helpers.exercises import Part, judge, report\ndef {0}():\n"
              "    report(judge({1}, 'Number {1}', [Part('f()', lambda: 1, 1, points=3)]))\n    {2}")
    answers = {1: report.format("one", 1, "raise KeyboardInterrupt"), 2: report.format("two", 2, "return 0"),
               3: right(3)}
    _, (grade,) = grade_all([write(tmp_path / "a.ipynb", notebook(answers))], exercises=ours, limits=QUICK)
    assert grade.points == {1: 0, 2: 0, 3: 3}
    assert grade.notes[:2] == ["1: touches helpers.exercises", "2: touches helpers.exercises"]
    assert [note[:25] for note in grade.notes[2:]] == ["1: verdicts that are not ", "2: verdicts that are not "]


def test_when_the_time_of_a_submission_is_over_the_rest_is_not_run(ours, tmp_path, monkeypatch):
    monkeypatch.setattr(Limits, "total_s", 1.0)
    path = write(tmp_path / "a.ipynb", notebook({1: ENDLESS[2].replace("two", "one"), 2: right(2)}))
    _, (grade,) = grade_all([path], exercises=ours, limits=QUICK)
    assert grade.points == {1: 0, 2: 0}
    assert grade.notes == ["1: stopped after 1 s", "2: not run, the 1 s for a submission were over"]


def test_what_cannot_be_graded_is_a_row_and_exit_code_1(ours, tmp_path, monkeypatch, capsys):
    write(tmp_path / "ada" / "09.ipynb", notebook())
    (tmp_path / "bob").mkdir()
    (tmp_path / "cleo.ipynb").write_text("{", encoding="utf-8")
    monkeypatch.setattr(grading, "grade_all", functools.partial(grade_all, exercises=ours))
    assert cli.main(["check", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["name", "ada/09", "bob", "cleo"]
    assert "not graded: no notebook in this folder" in out and "not graded: not a notebook: damaged JSON" in out
    assert sorted(err.splitlines())[0] == "graded ada/09: 0 points"


def test_a_fault_of_the_grader_is_a_row_too(ours, tmp_path, monkeypatch):
    path = write(tmp_path / "a.ipynb", notebook({1: right(1)}))
    monkeypatch.setattr(grading, "read_submission", lambda *_: 1 / 0)
    _, (grade,) = grade_all([path], exercises=ours)
    assert grade.problem == "the grader itself failed: ZeroDivisionError: division by zero"


def test_a_kernel_that_never_answers_is_tried_twice_and_is_a_row(ours, tmp_path, monkeypatch):
    started = []

    class Mute:
        def __init__(self, *_: object) -> None:
            started.append(self)

        def answers(self) -> bool:
            return False
    monkeypatch.setattr(grading, "WatchedKernel", Mute)
    _, (grade,) = grade_all([write(tmp_path / "a.ipynb", notebook({1: right(1)}))], exercises=ours)
    assert grade.problem == "no kernel answers here; does `course doctor` find one?" and len(started) == 2


def test_our_own_cells_that_do_not_run_are_said_to_be_ours(tmp_path):
    broken = notebook()
    broken["cells"][1]["source"] = "import no_such_module_here"
    path = write(tmp_path / "a.ipynb", notebook({1: right(1)}))
    _, (grade,) = grade_all([path], exercises=write(tmp_path / "09.ipynb", broken))
    assert grade.problem == ("our own cells do not run here: ModuleNotFoundError: No module named "
                             "'no_such_module_here'")


def test_our_notebook_without_outputs_is_refused(tmp_path):
    bare = notebook()
    next(cell for cell in bare["cells"] if cell["id"] == "check-01")["outputs"] = []
    with pytest.raises(NotGradable, match="check-01 shows no verdict; store its outputs with `course run 09 --update`"):
        grade_all([], exercises=write(tmp_path / "09.ipynb", bare))


@pytest.mark.parametrize("change", [{}, {"points": 4}, {"number": 3}, {"of": 9}, {"seal": None}])
def test_a_verdict_counts_only_with_its_own_seal(change):
    exercise = Exercise(2, (), "", frozenset(), 3)
    data = {name: value for name, value in FORGED.items() if name != "seal"}
    sealed = data | {"seal": signature(data, b"key")} | change
    assert is_ours(sealed, exercise, b"key") is (change == {})
    assert not is_ours(sealed, exercise, b"another")


def test_a_sealed_verdict_on_another_exercise_does_not_count():
    data = {name: value for name, value in FORGED.items() if name != "seal"} | {"number": 5}
    assert not is_ours(data | {"seal": signature(data, b"key")}, Exercise(2, (), "", frozenset(), 3), b"key")


def test_the_environment_of_an_answer_has_no_secret(tmp_path):
    found = environment(tmp_path, "m", base={"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "HTTPS_PROXY": "p", "Path": "x",
                                             "COURSE_STRICT": "1", "LC_ALL": "C"})
    assert found["PATH"] == "/bin" and found["LC_ALL"] == "C" and found[MARK] == "m"
    assert not {"OPENAI_API_KEY", "HTTPS_PROXY", "COURSE_STRICT"} & set(found)
    assert found["BATCH_MODE"] == "true" and found["TMPDIR"] == str(tmp_path / "tmp")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send to one process there")
def test_an_interrupt_ends_every_kernel(ours, tmp_path):
    answer = "open('here', 'w').close()\nimport time, os\ndef one():\n    print(os.getpid())\n    time.sleep(99.5)"
    write(tmp_path / "a.ipynb", notebook({1: answer}))
    code = (f"import functools\nfrom pathlib import Path\nfrom helpers import cli, grading\ngrading.grade_all = "
            f"functools.partial(grading.grade_all, exercises=Path({str(ours)!r}))\n"
            f"raise SystemExit(cli.main(['check', {str(tmp_path / 'a.ipynb')!r}]))")
    temporary = tmp_path / "t"
    temporary.mkdir()
    course = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=os.environ | {"TMPDIR": str(temporary)})
    deadline = time.monotonic() + 60
    while not list(temporary.glob("*/here")):
        assert time.monotonic() < deadline and course.poll() is None, "the answer did not start"
        time.sleep(0.1)
    kernels = psutil.Process(course.pid).children(recursive=True)
    course.send_signal(signal.SIGINT)
    _, err = course.communicate(timeout=30)
    assert (course.returncode, err.strip()) == (130, "course: interrupted, nothing is left running")
    assert kernels and not [kernel for kernel in kernels if kernel.is_running()] and not list(temporary.iterdir())


def test_a_process_that_has_cut_itself_loose_ends_with_its_kernel(tmp_path):
    """Without the hook, which an answer's machine code could get by."""
    code = ("import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(299.75)'], "
            "start_new_session=True)")
    with WatchedKernel(tmp_path, QUICK, threading.Event()) as kernel:
        assert kernel.answers()
        kernel.allow(60)
        assert (kernel.run(code).error, kernel.run("1 / 0").error) == ("", "ZeroDivisionError: division by zero")
        assert sleeping("299.75")
    assert not sleeping("299.75")


def test_an_import_in_another_cell_is_told_to_the_teacher(ours, tmp_path):
    path = write(tmp_path / "a.ipynb", notebook({1: "def one():\n    return len(np.ones(1))", 2: right(2)}))
    _, (grade,) = grade_all([path], exercises=ours, limits=QUICK)
    assert grade.points == {1: 0, 2: 3}
    assert grade.notes == ["1: NameError: name 'np' is not defined; what an answer needs, imports included, stands in "
                           "its own cell"]


def test_points_are_added():
    assert Grade("a", {1: 3, 5: 2}).total == 5


def test_the_solutions_of_the_course_have_all_points(tmp_path):
    """The real notebook: its solutions handed in as they are, and the exercises as they are."""
    template, (solved, untouched) = grade_all([SOLUTIONS, EXERCISES], exercises=EXERCISES)
    assert (solved.problem, solved.notes) == ("", [])
    assert solved.points == {exercise.number: exercise.of for exercise in template.exercises}
    assert (untouched.points, untouched.notes, untouched.problem) == ({}, [], "")
    assert [exercise.number for exercise in template.exercises] == list(range(1, 12))
