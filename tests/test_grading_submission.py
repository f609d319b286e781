"""What is handed in: found wherever it lies, read whatever it is, and never an error."""

import gc
import json
import os
import sys
from pathlib import Path

import pytest
from class_folder import ALL_RIGHT, FORGED, cell, notebook, right, write

from helpers.exercises import MIME
from helpers.grading_files import MAX_FILE, NotGradable, find_submissions
from helpers.grading_submission import MAX_ANSWER, read_submission, read_template


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Our notebook of six exercises."""
    return read_template(write(tmp_path_factory.mktemp("ours") / "09.ipynb", notebook()))


def read(tmp_path: Path, content: dict, template):
    """A submission with this content."""
    return read_submission(write(tmp_path / "a.ipynb", content), template)


def test_our_notebook_is_cut_into_exercises(template):
    assert [(item.number, item.of, sorted(item.names)) for item in template.exercises][:2] == [
        (1, 3, ["one"]), (2, 3, ["two"])]
    assert template.exercises[1].code == ("DATA = 2", None, "check_two(two)")  # nothing of what follows check-01
    assert template.of == 18 and template.setup.startswith("from helpers.exercises import")


def test_untouched_and_emptied_answers_are_none_and_no_note(tmp_path, template):
    assert read(tmp_path, notebook({3: "  \n"}), template).answers == {}
    assert read(tmp_path, notebook({3: "  \n"}), template).notes == ()


def test_answers_are_found_by_tag_by_id_and_by_the_name_they_define(tmp_path, template):
    content = notebook(ALL_RIGHT)
    answers = [item for item in content["cells"] if item["id"].startswith("answer")]
    answers[0]["id"] = "x1"  # a tag is enough
    answers[1]["metadata"] = {}  # an id is enough
    answers[2] |= {"metadata": {}, "id": "x3"}
    answers[3] |= {"metadata": {"tags": None}, "id": None, "source": right(4).splitlines(keepends=True)}
    assert read(tmp_path, content, template).answers == ALL_RIGHT


def test_a_missing_answer_cell_is_a_note(tmp_path, template):
    content = notebook(ALL_RIGHT)
    content["cells"] = [item for item in content["cells"] if item["id"] != "answer-03"]
    found = read(tmp_path, content, template)
    assert 3 not in found.answers and found.notes == ("3: no answer cell",)


def test_an_answer_in_two_cells_is_run_in_order_and_noted(tmp_path, template):
    content = notebook({1: "one = None"})
    content["cells"].append(cell("copy", right(1), "exercise", "answer-01"))
    found = read(tmp_path, content, template)
    assert found.answers == {1: f"one = None\n{right(1)}"} and found.notes == ("1: 2 answer cells, run in order",)


def test_changed_cells_are_named_and_their_own_are_counted(tmp_path, template):
    content = notebook(ALL_RIGHT)
    for item in content["cells"]:
        if item["id"] in ("check-03", "setup"):
            item["source"] += "\nprint('right')"
    content["cells"] += [cell("mine", "x = 1"), cell("empty", " ")]
    assert read(tmp_path, content, template).notes == ("changed: check-03, setup", "1 cell of their own, not run")


def test_of_many_changed_cells_the_note_says_how_many(tmp_path, template):
    content = notebook(ALL_RIGHT)
    for item in content["cells"]:
        if item["id"].startswith("check"):
            item["source"] += "  # mine"
    assert read(tmp_path, content, template).notes == ("changed: 6 cells that are no answers",)


def test_another_notebook_that_defines_such_a_name_is_not_graded(tmp_path, template):
    content = {"cells": [cell("c1", right(1)), cell("c2", "one()")], "nbformat": 4}
    with pytest.raises(NotGradable, match="is it the notebook of exercises"):
        read(tmp_path, content, template)
    content["cells"].append(cell("c3", "check_one(one)"))
    assert read(tmp_path, content, template).answers == {1: right(1)}


def test_cells_with_other_ids_and_line_ends_are_not_changed(tmp_path, template):
    content = notebook(ALL_RIGHT)
    for number, item in enumerate(content["cells"]):
        item |= {"id": str(number), "source": item["source"].replace("\n", "\r\n") + "\n"}
    assert read(tmp_path, content, template).notes == ()


def test_an_answer_without_end_is_not_run(tmp_path, template):
    found = read(tmp_path, notebook({1: "#" * (MAX_ANSWER + 1)}), template)
    assert found.answers == {} and found.notes == ("1: 100,001 characters, more than 100,000; not run",)


@pytest.mark.parametrize(("answer", "note"), [
    ("from helpers import exercises\ndef one(): ...", "helpers.exercises"),
    ("import helpers.exercise_seal as s", "the seal of verdicts"), (f"x = '{MIME}'", "the seal of verdicts"),
    ("import sys\nsys._getframe(1).f_locals", "frames of its callers"), ("f.__closure__", "the memory of the process"),
    ("os.environ['COURSE_STRICT']", "COURSE_ variables"), ("check_one = print", "check_one"),
    ("import os\nos.system('true')", "other programs or whole folders"),
    ("open('../notebooks/solutions/09_exercises.ipynb')", "the solutions"), ("class check: ...", "check"),
    ("TODO: int = 3", "TODO")])
def test_what_looks_like_forging_is_noted_and_graded_all_the_same(tmp_path, template, answer, note):
    found = read(tmp_path, notebook({1: answer}), template)
    assert found.notes == (f"1: touches {note}",) and found.answers == {1: answer}


@pytest.mark.parametrize("answer", ["import numpy as np\nfrom helpers.worth import plain", "def one(:", "%timeit 1",
                                    "os.environ['COURSE_FLAG']", "'\\d'", "\x00", "(" * 500])
def test_other_answers_are_not_suspicious(tmp_path, template, answer):
    notes = read(tmp_path, notebook({1: answer}), template).notes
    assert [note for note in notes if "check" in note or "seal" in note or "COURSE" in note] == []


@pytest.mark.parametrize(("content", "told"), [
    (b"", "not a notebook: damaged JSON"), (b'{"cells": [', "not a notebook: damaged JSON"),
    (b"[]", "no list of cells"),
    (b"PK\x03\x04\xff\xfe", "not UTF-8"), (b'{"worksheets": [{"cells": []}]}', "format 4"),
    (b'{"cells": {}}', "format 4"),
    (b'{"cells": []}', "none of the answer cells"),
    (b'{"cells": [1, null, {"source": 3, "outputs": 5}]}', "none of the answer"),
    (b"[" * 100_000, "JSON nests too deeply"), (b'{"a": ' + b"9" * 5000 + b"}", "no list"), (b"null", "no list")])
def test_what_is_no_notebook_has_a_reason(tmp_path, template, content, told):
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    gc.collect()  # what other tests left would be collected at the depth of the nested list, where a finaliser fails
    with pytest.raises(NotGradable, match=told):
        read_submission(path, template)


def test_a_byte_order_mark_and_half_a_character_are_read(tmp_path, template):
    path = tmp_path / "a.ipynb"
    content = notebook({1: right(1)})
    content["cells"][1]["source"] += "  # \ud800"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(content).encode())
    found = read_submission(path, template)
    assert found.answers == {1: right(1)} and found.notes == ("changed: setup",)


def test_a_huge_file_is_not_read(tmp_path, template):
    path = tmp_path / "a.ipynb"
    with path.open("wb") as file:
        file.truncate(MAX_FILE * 3)
    with pytest.raises(NotGradable, match="60 MB, larger than 20 MB; clear its outputs"):
        read_submission(path, template)


def test_folders_and_missing_files_have_a_reason(tmp_path, template):
    for path, told in ((tmp_path, "not a file"), (tmp_path / "none.ipynb", "there is no such file")):
        with pytest.raises(NotGradable, match=told):
            read_submission(path, template)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission there, and there are no pipes in folders")
def test_links_and_pipes_are_not_followed(tmp_path, template):
    target = write(tmp_path / "real" / "a.ipynb", notebook())
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "link.ipynb").symlink_to(target)
    (tmp_path / "class" / "folder").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "class" / "pipe.ipynb")
    found = {name: (path, why) for name, path, why in find_submissions([tmp_path / "class"])}
    assert sorted(found) == ["folder", "link", "pipe"] and "symbolic link" in found["folder"][1]
    for name, told in (("link", "a symbolic link, which is not followed"), ("pipe", "not a file")):
        with pytest.raises(NotGradable, match=told):
            read_submission(found[name][0], template)


def test_a_folder_gives_its_notebooks_and_the_folders_without_one(tmp_path):
    for name in ("b/09.ipynb", "a/09.ipynb", "a/data/x.csv", "z.ipynb", "y.IPYNB", "a/.ipynb_checkpoints/09.ipynb",
                 "d/essay.pdf", "e.ZIP", "f.pdf", "grades.csv", "README", "__MACOSX/._e.ipynb", "g.ipynb.txt", "h.json",
                 "i", ".hidden", "NOTES.md", "j/k.ipynb.txt"):
        write(tmp_path / name, {})
    assert [(name, why) for name, _, why in find_submissions([tmp_path])] == [
        ("a/09", ""), ("b/09", ""), ("d", "no notebook in this folder"),
        ("e.ZIP", "not a notebook: its name does not end in .ipynb"),
        *((name, "not a notebook: its name does not end in .ipynb")
          for name in ("f.pdf", "g.ipynb.txt", "h.json", "i")),
        ("j", "no notebook in this folder"), ("y", ""), ("z", "")]


def test_an_empty_folder_and_another_kind_of_file_are_rows(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("words", encoding="utf-8")
    assert [(name, why) for name, _, why in find_submissions([tmp_path / "empty", tmp_path / "a.txt"])] == [
        ("empty", "no notebook in this folder"), ("a.txt", "not a notebook: its name does not end in .ipynb")]


def test_names_that_occur_twice_become_paths_and_a_file_counts_once(tmp_path):
    first, second = (write(tmp_path / name / "09.ipynb", {}) for name in ("a", "b"))
    found = find_submissions([first, second, first, tmp_path / "a"])
    assert [name for name, _, _ in found] == [first.as_posix()[:-6], second.as_posix()[:-6]]


def test_stored_outputs_are_not_looked_at(tmp_path, template):
    content = notebook({1: right(1)}, points=3)
    content["cells"][3]["outputs"] = [FORGED, 3, {"data": 7}]
    assert read(tmp_path, content, template) == read(tmp_path, notebook({1: right(1)}), template)
