"""The teaching guide agrees with the notebooks: sections, minutes, points, commands and links.

Run as a program it writes the table of the exercises anew: `.venv/bin/python tests/test_teaching.py`.
"""

import re
import shlex
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from helpers.cli import build_parser
from helpers.curriculum import NOTEBOOKS, ROOT, find_notebooks, load_chapters, read_chapter
from helpers.exercises import MIME

GUIDE = ROOT / "docs" / "teaching.md"
BEGINS, ENDS = "<!-- exercises: begin -->", "<!-- exercises: end -->"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
SESSION = 90  # minutes
EXERCISE = re.compile(r"\*\*Objective\.\*\* (.+?)\s+\*\*Difficulty\*\* (★+)☆* .*?"
                      r"\*\*(\d+) minutes\*\* · \*\*(\d+) points\*\*")


def text() -> str:
    return GUIDE.read_text(encoding="utf-8")


def chapter(heading: str) -> str:
    """The part of the guide under the second-level `heading`."""
    return text().split(f"\n## {heading}\n")[1].split("\n## ")[0]


def rows(markdown: str, first: str) -> list[list[str]]:
    """The cells of all tables of `markdown` whose first column is called `first`."""
    found, inside = [], False
    for line in markdown.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        inside = line.startswith("|") and (inside or cells[0] == first)
        if inside and cells[0] != first and not set(cells[0]) <= set("-:"):
            found.append(cells)
    return found


def sources(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown"]


def headings(path: Path) -> set[str]:
    return set(re.findall(r"^#{2,3} (.+)$", "\n".join(sources(path)), re.MULTILINE))


def exercises() -> dict[int, tuple[str, str, str, int, int]]:
    """Number: title, objective, stars, minutes and points, as notebook 09 tells them."""
    found = {}
    for source in sources(find_notebooks(["09"])[0]):
        title, told = re.match(r"## (\d+) · (.+)", source), EXERCISE.search(source)
        if title and told:
            found[int(title[1])] = (title[2], told[1], told[2], int(told[3]), int(told[4]))
    return found


def points_of_the_checks() -> dict[int, int]:
    """Number: points to be had, as the checks of notebook 09 tell them."""
    notebook = nbformat.read(find_notebooks(["09"])[0], as_version=4)
    verdicts = [output["data"][MIME] for cell in notebook.cells for output in cell.get("outputs", [])
                if MIME in output.get("data", {})]
    return {verdict["number"]: verdict["of"] for verdict in verdicts}


def exercise_table() -> str:
    """The table that stands between the two marks."""
    lines = [f"| {number} | {title} | {objective} | {stars} | {minutes} | {points} |"
             for number, (title, objective, stars, minutes, points) in exercises().items()]
    minutes, points = (sum(row[i] for row in exercises().values()) for i in (3, 4))
    head = "| no. | exercise | shown by all points | difficulty | minutes | points |\n|---:|---|---|---|---:|---:|"
    return "\n".join([BEGINS, head, *lines, f"| | **together** | | | **{minutes}** | **{points}** |", ENDS])


def with_exercise_table(guide: str) -> str:
    return f"{guide.split(BEGINS)[0]}{exercise_table()}{guide.split(ENDS)[1]}"


def planned(markdown: str, *columns: str) -> Counter[str]:
    """Minutes planned for each notebook, and for each exercise as "09 · title", in the tables of `markdown`."""
    minutes: Counter[str] = Counter()
    for column in columns:
        for cells in rows(markdown, column):
            number, section = (cells[1], cells[2]) if column == "day" else (cells[0], cells[1])
            names = [name for name, _ in LINK.findall(section)]
            names = {name if name.startswith("09") else name.split(" · ")[0] for name in names}
            assert len(names) <= 1, f"one row, one notebook: {section}"
            minutes[names.pop() if names else "without a notebook"] += int(number)
    return minutes


def whole() -> dict[str, int]:
    """Minutes of every notebook but 09, by number, and of every exercise."""
    return {f"{found.number:02d}": found.minutes for found in load_chapters() if found.number != 9} | {
        f"09 · {number} · {title}": minutes for number, (title, *_, minutes, _) in exercises().items()}


@pytest.mark.parametrize("session", re.split(r"\n#{2,3} (?=One session|Session \d)", text())[1:],
                         ids=lambda part: part.split("\n")[0][:12])
def test_a_session_takes_as_long_as_it_says(session):
    assert sum(int(cells[0]) for cells in rows(session.split("\n## ")[0], "minutes in class")) == SESSION


def test_the_single_session_takes_no_more_of_a_notebook_than_it_has():
    minutes = planned(chapter("One session of 90 minutes"), "minutes in class")
    assert {name for name, planned_for in minutes.items() if planned_for > whole().get(name, SESSION)} == set()


def test_in_four_sessions_class_and_home_make_up_every_notebook():
    minutes = planned(chapter("Four sessions of 90 minutes"), "minutes in class", "minutes at home")
    expected = {name: length for name, length in whole().items() if name in minutes or not name.startswith("09")}
    assert {name: length for name, length in minutes.items() if name != "without a notebook"} == expected


def test_the_week_takes_as_long_as_it_says():
    week = chapter("A week alone")
    expected = {name: length for name, length in whole().items() if name in planned(week, "day")}
    assert planned(week, "day") == expected
    assert set(whole()) - set(expected) <= {name for name in whole() if name.startswith("09")} | {"10"}
    days = Counter()
    for day, minutes, _ in rows(week, "day"):
        days[day] += int(minutes)
    *first, last = (str(minutes) for minutes in days.values())
    assert f"Days 1 to {len(days)} take {', '.join(first)} and {last} minutes." in " ".join(week.split())
    assert f"with its {whole()['10']} minutes" in " ".join(week.split())


def test_links_lead_somewhere_and_name_sections_that_exist():
    for name, target in LINK.findall(text()):
        if target.startswith("#"):
            assert target[1:] in {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", text(), re.MULTILINE)}
            continue
        path = (GUIDE.parent / target).resolve()
        assert path.is_file(), f"{target} does not exist"
        if path.parent == NOTEBOOKS:
            number, _, section = name.partition(" · ")
            assert int(number) == read_chapter(path).number, f"{name} leads to {target}"
            assert not section or section in headings(path), f"{target} has no section {section!r}"


def test_what_is_refuted_names_a_section():
    refuted = rows(chapter("What students believe, and where it is refuted"), "belief")
    assert len(refuted) >= 12
    assert [cells for cells in refuted if " · " not in LINK.search(cells[2])[1]] == []


def test_every_question_has_a_folded_answer():
    part = chapter("Questions to discuss")
    asked = len(re.findall(r"^\*\*.+\?\*\*$", part, re.MULTILINE))
    assert asked == part.count("<details><summary>Answer</summary>\n\n") == part.count("\n\n</details>") >= 6


def test_the_points_are_those_of_the_checks():
    assert {number: row[4] for number, row in exercises().items()} == points_of_the_checks()


def test_the_table_of_exercises_is_that_of_notebook_09():
    assert with_exercise_table(text()) == text(), "python tests/test_teaching.py writes it anew"


def test_the_commands_are_those_of_the_program():
    commands = re.findall(r"^(?:\.venv/bin/)?course (.+)$", text(), re.MULTILINE)
    commands += re.findall(r"`(?:\.venv/bin/)?course ([^`]+)`", text())
    assert len(commands) >= 6
    for command in commands:
        assert build_parser().parse_args(shlex.split(command)).command


if __name__ == "__main__":
    GUIDE.write_text(with_exercise_table(text()), encoding="utf-8", newline="\n")
