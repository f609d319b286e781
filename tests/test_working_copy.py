"""Copies to write in: made once, never overwritten."""

from helpers.working_copy import make_copy


def test_a_copy_is_made_once_and_kept_as_the_reader_left_it(tmp_path):
    notebook = tmp_path / "01_x.ipynb"
    notebook.write_bytes(b"original\n")
    copy, new = make_copy(notebook, folder=tmp_path / "work")
    assert new and copy.read_bytes() == b"original\n" and copy.parent.name == "work"
    copy.write_text("my answers", encoding="utf-8")
    assert make_copy(notebook, folder=tmp_path / "work") == (copy, False)
    assert copy.read_text(encoding="utf-8") == "my answers"


def test_beginning_anew_keeps_every_former_copy_under_a_number(tmp_path):
    notebook, work = tmp_path / "01_x.ipynb", tmp_path / "work"
    notebook.write_text("original", encoding="utf-8")
    for text in ("first", "second"):
        copy, _ = make_copy(notebook, folder=work)
        copy.write_text(text, encoding="utf-8")
        assert make_copy(notebook, folder=work, again=True) == (copy, True)
    assert {path.name: path.read_text(encoding="utf-8") for path in work.iterdir()} == {
        "01_x.ipynb": "original", "01_x.1.ipynb": "first", "01_x.2.ipynb": "second"}


def test_beginning_anew_without_a_copy_makes_one(tmp_path):
    notebook = tmp_path / "01_x.ipynb"
    notebook.write_text("original", encoding="utf-8")
    copy, new = make_copy(notebook, folder=tmp_path / "work", again=True)
    assert new and [path.name for path in copy.parent.iterdir()] == ["01_x.ipynb"]
