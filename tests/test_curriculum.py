"""What notebooks say about themselves: read, found by name, rendered."""

import json
from pathlib import Path

import pytest

from helpers.curriculum import (
    NOTEBOOKS,
    ROOT,
    TABLE_BEGINS,
    TABLE_ENDS,
    Chapter,
    CurriculumError,
    contents_table,
    find_notebooks,
    list_notebooks,
    load_chapters,
    read_chapter,
    with_table,
)
from helpers.elsewhere import badges, declared_repository

COURSE = {"question": "What stays?", "minutes": 30, "objectives": ["say what stays"], "prerequisites": ["00"]}


def write(folder: Path, *names: str, **changes: object) -> Path:
    """Notebooks called `names`, whose course metadata is COURSE with `changes`; the last one's path."""
    folder.mkdir(exist_ok=True)
    for name in names:
        path = folder / f"{name}.ipynb"
        content = {"cells": [], "metadata": {"course": COURSE | changes}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "notebooks", "00_start_here", "01_volatile_reflexion", "10_scaling_out", "scratch")
    return tmp_path / "notebooks"


def stems(paths: list[Path]) -> list[str]:
    return [path.stem for path in paths]


def test_a_notebook_says_what_it_is(tmp_path):
    chapter = read_chapter(write(tmp_path, "07_stale_facts", minutes=40))
    assert (chapter.number, chapter.minutes, chapter.prerequisites) == (7, 40, ("00",))
    assert chapter.objectives == ("say what stays",)


@pytest.mark.parametrize(("field", "value"), [
    ("question", ""), ("question", 3), ("minutes", "10"), ("minutes", True), ("minutes", 0),
    ("objectives", []), ("objectives", "one"), ("prerequisites", None), ("prerequisites", [0])])
def test_a_wrong_field_is_named(tmp_path, field, value):
    path = write(tmp_path, "01_x", **{field: value})
    with pytest.raises(CurriculumError, match=rf"^01_x.ipynb: metadata course.{field}: expected .* got"):
        read_chapter(path)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"metadata": {}}', '{"metadata": []}'])
def test_a_file_that_is_no_notebook_of_the_course_is_named(tmp_path, text):
    path = tmp_path / "01_x.ipynb"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CurriculumError, match=r"01_x.ipynb: expected a notebook with metadata `course`"):
        read_chapter(path)


def test_a_name_without_number_is_refused(tmp_path):
    with pytest.raises(CurriculumError, match="expected a name such as 03_"):
        read_chapter(write(tmp_path, "x"))


def test_reading_order_is_by_number_and_leaves_out_the_rest(folder):
    write(folder / "solutions", "09_exercises")
    assert stems(list_notebooks(folder)) == ["00_start_here", "01_volatile_reflexion", "10_scaling_out"]
    assert [chapter.number for chapter in load_chapters(folder)] == [0, 1, 10]


@pytest.mark.parametrize("name", [
    "1", "01", "01_vol", "01_volatile_reflexion", "01_volatile_reflexion.ipynb",
    "notebooks/01_volatile_reflexion.ipynb"])
def test_a_number_a_beginning_and_a_path_mean_the_notebook(folder, name):
    assert stems(find_notebooks([name], folder)) == ["01_volatile_reflexion"]


def test_without_a_name_all_are_meant_and_a_name_given_twice_counts_once(folder):
    assert stems(find_notebooks([], folder)) == ["00_start_here", "01_volatile_reflexion", "10_scaling_out"]
    path = str(folder / "01_volatile_reflexion.ipynb")
    assert stems(find_notebooks(["10", "01", "1", path], folder)) == ["10_scaling_out", "01_volatile_reflexion"]


def test_any_notebook_may_be_given_by_its_path(folder, tmp_path):
    assert find_notebooks([str(folder / "scratch.ipynb")], folder) == [folder / "scratch.ipynb"]


def test_an_exact_name_wins_over_a_longer_one(folder):
    write(folder, "01_volatile_reflexion_more")
    assert stems(find_notebooks(["01_volatile_reflexion"], folder)) == ["01_volatile_reflexion"]


@pytest.mark.parametrize(("name", "message"), [
    ("01_volatil_reflection", "did you mean 01_volatile_reflexion"),
    ("zzz", "the notebooks are: 00_start_here, 01_volatile_reflexion, 10_scaling_out"),
    ("", "there is no notebook ''"), ("5", "there is no notebook '5'"), ("missing.ipynb", "there is no notebook"),
    ("0", None), ("1_", "there is no notebook '1_'")])
def test_an_unknown_name_is_answered_with_near_ones(folder, name, message):
    if message is None:
        assert stems(find_notebooks([name], folder)) == ["00_start_here"]
        return
    with pytest.raises(CurriculumError, match=message):
        find_notebooks([name], folder)


@pytest.mark.parametrize("name", ["work/00_start.ipynb", "solutions/00", "/nowhere/00_start.ipynb"])
def test_a_path_that_is_not_there_is_no_other_notebook(folder, name):
    with pytest.raises(CurriculumError, match=f"there is no file {name}; for the course's own"):
        find_notebooks([name], folder)


def test_a_name_that_fits_two_is_refused_with_both(folder):
    write(folder, "10_scaling_up")
    with pytest.raises(CurriculumError, match=r"fits 10_scaling_out, 10_scaling_up; give more"):
        find_notebooks(["10_sca"], folder)


def test_an_empty_folder_says_so(tmp_path):
    with pytest.raises(CurriculumError, match="no notebook to run"):
        find_notebooks([], tmp_path)


def test_a_bar_in_a_question_does_not_split_the_table():
    table = contents_table([Chapter(path=Path("02_x.ipynb"), question="a | b?", minutes=5, prerequisites=("00", "01"))])
    assert table.splitlines()[2] == "| [02_x](notebooks/02_x.ipynb) | a &#124; b? | 5 | 00, 01 |"


def test_the_table_of_a_readme_is_replaced_and_the_rest_kept():
    chapters = [Chapter(path=Path("02_x.ipynb"), question="Why?", minutes=5)]
    readme = f"# Title\n\n{TABLE_BEGINS}\nold\n{TABLE_ENDS}\n\nend\n"
    new = with_table(readme, chapters)
    assert new == f"# Title\n\n{TABLE_BEGINS}\n{contents_table(chapters)}\n{TABLE_ENDS}\n\nend\n"
    assert with_table(new, chapters) == new


@pytest.mark.parametrize("readme", ["# no table", TABLE_BEGINS, TABLE_ENDS, TABLE_BEGINS * 2 + TABLE_ENDS])
def test_a_readme_without_its_markers_is_refused(readme):
    with pytest.raises(CurriculumError, match="once each"):
        with_table(readme, [])


def test_the_readme_lists_the_notebooks_as_they_are():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    opens = badges(declared_repository())
    assert readme == with_table(readme, load_chapters(), opens=opens), "the table is stale: run `course readme`"


def test_every_prerequisite_comes_earlier_in_the_reading_order():
    late = [(chapter.path.name, needed) for chapter in load_chapters() for needed in chapter.prerequisites
            if needed[:2].isdigit() and int(needed[:2]) >= chapter.number]
    assert late == [], f"{NOTEBOOKS.name}: a notebook builds on a later one"


def test_the_table_of_a_page_beside_the_notebooks_links_to_its_neighbours():
    chapter = Chapter(path=Path("notebooks/00_go.ipynb"), question="Does it run?", minutes=10)
    assert "[00_go](00_go.ipynb)" in contents_table([chapter], folder="")
