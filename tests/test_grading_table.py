"""Grades as a table and as CSV: marks, columns, and cells that a spreadsheet must not compute."""

import csv
import io

import pytest

from helpers.grading import Grade
from helpers.grading_submission import Exercise, Template
from helpers.grading_table import as_csv, as_table, progress_line, rows

TEMPLATE = Template("", tuple(Exercise(number, (), "", frozenset(), 4) for number in (1, 2, 3, 4)), {})
GRADES = [Grade("ada", {1: 4, 2: 1, 3: 0}, notes=["2: a note", "3: another"]), Grade("bo", problem="no notebook")]


def test_marks_points_and_notes():
    assert rows(GRADES, TEMPLATE) == [
        ["name", "points", "of", "1", "2", "3", "4", "note"],
        ["ada", "5", "16", "✔", "part", "✘", "–", "2: a note; 3: another"],
        ["bo", "", "16", "", "", "", "", "not graded: no notebook"]]


def test_columns_stand_under_one_another_whatever_the_script():
    grades = [*GRADES, Grade("李明", {1: 4}), Grade("Zoe\u0301", {})]
    assert as_table(grades, TEMPLATE).splitlines() == [
        "name  points  of  1  2     3  4  note",
        "ada        5  16  ✔  part  ✘  –  2: a note; 3: another",
        "bo            16                 not graded: no notebook",
        "李明       4  16  ✔  –     –  –",
        "Zoe\u0301        0  16  –  –     –  –"]


def test_control_characters_do_not_reach_the_terminal():
    grade = Grade("a\x1b[31m\nb", problem="c\rd")
    assert "\x1b" not in as_table([grade], TEMPLATE) and len(as_table([grade], TEMPLATE).splitlines()) == 2
    assert progress_line(grade) == "graded a [31m b: c d"


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(name):
    _, row = csv.reader(io.StringIO(as_csv([Grade(name, notes=[name])], TEMPLATE)))
    assert row[0] == f"'{name}" and row[-1] == f"'{name}"


def test_csv_keeps_commas_quotes_and_every_script():
    _, row = csv.reader(io.StringIO(as_csv([Grade('Müller, "Jo" 李', notes=["a, b"])], TEMPLATE)))
    assert row[0] == 'Müller, "Jo" 李' and row[-1] == "a, b"


def test_progress_says_points_or_the_reason():
    assert [progress_line(grade) for grade in GRADES] == ["graded ada: 5 points", "graded bo: no notebook"]
