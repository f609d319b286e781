"""Write grades as a table for a terminal and as a CSV file that a spreadsheet opens safely.

Left out: statistics over a class; a spreadsheet does that better.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence

from helpers.grading import Grade
from helpers.grading_submission import Template
from helpers.plain_data import one_line

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet would compute


def marks(grade: Grade, template: Template) -> list[str]:
    """One mark an exercise: ✔ all points, part, ✘ none, – not attempted; nothing when nothing was graded."""
    if grade.problem:
        return [""] * len(template.exercises)
    return [_mark(grade.points.get(exercise.number), exercise.of) for exercise in template.exercises]


def _mark(points: int | None, of: int) -> str:
    if points is None:
        return "–"
    return "✔" if points == of else "part" if points else "✘"


def rows(grades: Sequence[Grade], template: Template) -> list[list[str]]:
    """The table with its head: name, points, of, one column an exercise, note."""
    head = ["name", "points", "of", *(str(exercise.number) for exercise in template.exercises), "note"]
    body = [[one_line(grade.name, 60), "" if grade.problem else str(grade.total), str(template.of),
             *marks(grade, template), _note(grade)] for grade in grades]
    return [head, *body]


def _note(grade: Grade) -> str:
    problem = [f"not graded: {grade.problem}"] if grade.problem else []
    return one_line("; ".join([*problem, *grade.notes]), 1000)


def progress_line(grade: Grade) -> str:
    """What is said as soon as a submission is graded.

    >>> progress_line(Grade("ada", {1: 3, 2: 2}))
    'graded ada: 5 points'
    """
    return one_line(f"graded {grade.name}: {grade.problem or f'{grade.total} points'}")


def as_table(grades: Sequence[Grade], template: Template) -> str:
    """The rows in columns, points to the right, for a terminal."""
    lines = rows(grades, template)
    widths = [max(_width(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return "\n".join("  ".join([*(_padded(cell, width, right=i in (1, 2)) for i, (cell, width)
                                  in enumerate(zip(line, widths, strict=False))), line[-1]]).rstrip() for line in lines)


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(text: str) -> int:
    """Columns that `text` takes: two for East Asian characters, none for marks that combine."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def as_csv(grades: Sequence[Grade], template: Template) -> str:
    r"""The same rows as CSV; a cell that a spreadsheet would take for a formula begins with an apostrophe.

    >>> as_csv([Grade("=1+1", problem="no notebook")], Template("", (), {}))
    "name,points,of,note\r\n'=1+1,,0,not graded: no notebook\r\n"
    """
    text = io.StringIO()
    csv.writer(text).writerows([[f"'{cell}" if cell.startswith(FORMULA) else cell for cell in line]
                                for line in rows(grades, template)])
    return text.getvalue()
