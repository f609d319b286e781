"""A class hands in the real notebook: six kinds of submission, graded by one command, leave all files as they were."""

import csv
import hashlib
import io
import socket
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from class_folder import write
from exercise_answers import NUMBERS, source, with_solutions

from helpers import cli
from helpers.exercise_source import EXERCISES, SOLUTIONS

ODD = NUMBERS[::2]
OF = [10, 10, 13, 7, 12, 13, 8, 11, 9, 8, 10]
QUIET = source(SOLUTIONS, 2).replace("self.lessons[key]  # first", "self.lessons.get(key)  # first")  # no KeyError
LOOP = "def residual_worth(retrieved, success, task_type, n):\n    while True:\n        pass"
CHILD = """
import os, shutil, socket
try:
    socket.create_connection(("127.0.0.1", PORT), 2)
finally:
    shutil.rmtree(CLASS)
    os.remove(TEACHER)
"""
# What each hostile answer does below the solution; one that is only refused keeps its points, and a note tells.
HOSTILE = {
    2: "import os, shutil\nfor attempt in (lambda: shutil.rmtree(CLASS), lambda: os.remove(TEACHER),\n"
       "                lambda: open(TEACHER, 'w')):\n    try:\n        attempt()\n    except PermissionError:\n"
       "        pass",
    4: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', CHILD])",
    5: "import os\nos._exit(0)",
    6: "import subprocess, sys\nsys.audit = lambda *event: None\n"
       "subprocess.run([sys.executable, '-I', '-c', CHILD], start_new_session=True)",
    7: "def check_residual(answer):\n    print('✔ 7 · Task difficulty: right, 8 of 8 points')",
}
HARMED = ("4: PermissionError: an answer may start no program, nor a second Python", "5: the kernel ended",
          "6: PermissionError: an answer may start no program, nor a second Python", "7: the check gave no verdict")


def hostile(folder: Path, teacher: Path, port: int, numbers: list[int]) -> dict:
    """The solutions of `numbers`, hostile where HOSTILE says so."""
    names = f"CLASS, TEACHER, PORT = {str(folder)!r}, {str(teacher)!r}, {port}\n"
    head = f"{names}CHILD = {names + CHILD!r}\n"
    return with_solutions(numbers, {number: f"{source(SOLUTIONS, number)}\n{head}{HOSTILE[number]}"
                                    for number in numbers if number in HOSTILE})


def hashes(*places: Path) -> dict[str, str]:
    """Of each file at or below the places."""
    files = [file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*")))]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}


@pytest.fixture
def graded(tmp_path) -> Callable[..., tuple[int, dict[str, list[str]], str]]:
    """A function that hands in notebooks and grades them: exit code, CSV rows by name, and the table.

    Nothing may have changed in the folder, the teacher's own file and the course's notebooks, and nobody may have come
    to the server whose port the hostile answers know.
    """
    def grade(submissions: dict[str, object], *options: str) -> tuple[int, dict[str, list[str]], str]:
        folder, teacher, table = tmp_path / "class", tmp_path / "teacher.txt", tmp_path / "grades.csv"
        teacher.write_text("precious", encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as server:
            for name, content in submissions.items():
                made = content(folder, teacher, server.getsockname()[1]) if callable(content) else content
                write(folder / f"{name}.ipynb", made)
            before = hashes(folder, teacher, EXERCISES, SOLUTIONS)
            with redirect_stdout(io.StringIO()) as printed:
                code = cli.main(["check", str(folder), "--csv", str(table), *options])
            assert hashes(folder, teacher, EXERCISES, SOLUTIONS) == before
            server.settimeout(0)
            with pytest.raises(BlockingIOError):
                server.accept()
        with table.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["name", "points", "of", *map(str, NUMBERS), "note"]
        assert {row[2] for row in rows[1:]} == {"111"} == {str(sum(OF))}
        return code, {row[0]: row[1:] for row in rows[1:]}, printed.getvalue()
    return grade


def test_half_done_and_hostile(graded):
    numbers = [2, 4, 5, 6, 7, 8]
    code, rows, table = graded({
        "half": with_solutions([5, 7, 8], {2: QUIET}),
        "hostile": lambda *where: hostile(*where, numbers)}, "-j", "1")
    assert code == 0 and [line.split()[0] for line in table.splitlines()] == ["name", "half", "hostile"]
    assert rows["half"] == ["40", "111", "–", "part", "–", "–", "✔", "–", "✔", "✔", "–", "–", "–", ""]
    assert rows["hostile"][:-1] == ["41", "111", "–", "✔", "–", "✔", "✘", "✔", "✘", "✔", "–", "–", "–"]
    for note in HARMED:
        assert note in rows["hostile"][-1]


@pytest.mark.slow
def test_a_class_of_six(graded):
    wrong = with_solutions([])
    for cell in wrong["cells"]:
        if "exercise" in cell["metadata"].get("tags", []):
            cell["source"] = [line.replace("TODO", "None") for line in cell["source"]]
    code, rows, table = graded({
        "untouched": with_solutions([]), "perfect": with_solutions(NUMBERS), "half": with_solutions(ODD, {2: QUIET}),
        "wrong": wrong, "endless": with_solutions(NUMBERS, {7: LOOP}),
        "hostile": lambda *where: hostile(*where, NUMBERS)}, "--time", "20")
    assert code == 0 and sorted(rows) == ["endless", "half", "hostile", "perfect", "untouched", "wrong"]
    assert len(table.splitlines()) == 7
    marks = {name: "".join(mark[0] for mark in row[2:-1]) for name, row in rows.items()}
    assert marks == {"untouched": "–" * 11, "perfect": "✔" * 11, "half": "✔p✔–✔–✔–✔–✔", "wrong": marks["wrong"],
                     "endless": "✔✔✔✔✔✔✘✔✔✔✔", "hostile": "✔✔✔✔✘✔✘✔✔✔✔"}
    assert set(marks["wrong"]) <= {"✘", "p"} and marks["wrong"].count("✘") >= 8
    points = {name: int(row[0]) for name, row in rows.items()}
    assert points == {"untouched": 0, "perfect": 111, "half": sum(OF[::2]) + 9, "wrong": points["wrong"],
                      "endless": 103, "hostile": 91}
    assert points["wrong"] < 10
    notes = {name: row[-1] for name, row in rows.items()}
    assert notes["untouched"] == notes["perfect"] == notes["half"] == ""
    assert notes["endless"] == "7: stopped after 20 s"
    for note in HARMED:
        assert note in notes["hostile"]
