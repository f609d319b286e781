"""The `course` command: what it passes on, what it refuses in one line, and its exit codes."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from test_execute import write

import helpers.transfer
from helpers import cli, recording
from helpers.cli import build_parser, main
from helpers.curriculum import TABLE_BEGINS, TABLE_ENDS
from helpers.doctor import Check
from helpers.execute import DEFAULT_PROCESSES
from helpers.local_model import LocalModelError
from helpers.settings import SettingsError


def subcommands() -> dict[str, argparse.ArgumentParser]:
    """Every subcommand's parser by name."""
    action, = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def test_the_commands_of_the_course_are_there():
    assert set(subcommands()) == {"doctor", "run", "verify", "start", "model", "record", "check", "exercises",
                                  "readme", "export", "import", "book"}


@pytest.mark.parametrize("name", subcommands())
def test_every_command_shows_an_example_that_it_understands(name):
    example = subcommands()[name].epilog.removeprefix("example: course ").split()
    assert example[0] == name
    assert callable(build_parser().parse_args(example).command)


@pytest.mark.parametrize("arguments", [
    [], ["walk"], ["run", "-j", "0"], ["run", "-j", "two"], ["run", "-p", "n"], ["record"],
    ["record", "01", "-j", "0"], ["start"],
    ["model", "buy"]])
def test_wrong_arguments_are_exit_code_2_and_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("course")


@pytest.fixture
def calls(monkeypatch) -> list[tuple]:
    """What the commands passed on, instead of doing it; each says that one thing failed."""
    seen: list[tuple] = []

    def note(name):
        return lambda *args, **kwargs: (seen.append((name, *args, kwargs)), 1)[1]
    for module, name in ((cli, "run_notebooks"), (cli, "verify_notebooks"), (recording, "record_notebooks")):
        monkeypatch.setattr(module, name, note(name))
    return seen


def test_run_passes_on_every_option_and_fails_when_a_notebook_fails(tmp_path, calls):
    path = write(tmp_path, "01_x", "a = 1")
    options = ["-j", "3", "-p", "a", "5", "-p", "b", "lru", "--live", "--update", "--output", str(tmp_path)]
    assert main(["run", str(path), *options]) == 1
    assert calls == [("run_notebooks", [path], {
        "output": tmp_path, "parameters": {"a": 5, "b": "lru"}, "processes": 3, "live": True, "update": True})]


def test_run_without_options_replays_into_build(tmp_path, calls):
    path = write(tmp_path, "01_x", "a = 1")
    main(["run", str(path), str(path)])
    assert calls == [("run_notebooks", [path], {"output": cli.ROOT / "build", "parameters": {}, "live": False,
                                                "processes": DEFAULT_PROCESSES, "update": False})]


def test_pages_of_solutions_have_a_folder_of_their_own_and_are_verified_with_the_rest(tmp_path, monkeypatch, calls):
    path = write(tmp_path / "solutions", "01_x", "a = 1")
    monkeypatch.setattr(cli, "SOLUTIONS", path)
    main(["run", str(path), "--output", str(tmp_path)])
    main(["verify"])
    assert calls[0][2]["output"] == tmp_path / "solutions"
    assert calls[1][1] == [*cli.find_notebooks([]), path]


def test_verify_and_record_pass_on_theirs(tmp_path, calls):
    path = write(tmp_path, "01_x", "a = 1")
    assert main(["verify", str(path), "-j", "1"]) == 1
    assert main(["record", str(path), "--fresh"]) == main(["record", str(path), "-j", "3"]) == 1
    assert calls == [("verify_notebooks", [path], {"processes": 1}),
                     ("record_notebooks", [path], {"output": cli.ROOT / "build", "fresh": True, "servers": None}),
                     ("record_notebooks", [path], {"output": cli.ROOT / "build", "fresh": False, "servers": 3})]


def test_an_unknown_notebook_is_one_line_and_exit_code_1(capsys):
    assert main(["run", "no_such_notebook"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("course: there is no notebook 'no_such_notebook'; ") and err.count("\n") == 1


@pytest.mark.parametrize("error", [SettingsError("BATCH_MODE: x"), LocalModelError("no pip"), PermissionError("no")])
def test_a_refusal_is_one_line_without_a_traceback(error, monkeypatch, capsys):
    def refuse(checks=None):
        raise error
    monkeypatch.setattr(cli, "examine", refuse)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == f"course: {error}\n"


def test_a_fault_of_the_course_itself_keeps_its_traceback(monkeypatch):
    def break_down():
        raise ZeroDivisionError
    monkeypatch.setattr(cli, "examine", break_down)
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


@pytest.mark.parametrize(("ok", "code"), [(True, 0), (None, 0), (False, 1)])
def test_doctor_fails_when_something_is_to_mend(ok, code, monkeypatch, capsys):
    monkeypatch.setattr(cli, "examine", lambda: [Check("kernel", ok, "told", "mend")])
    assert main(["doctor"]) == code
    assert "told" in capsys.readouterr().out


def test_start_says_where_the_copy_is_and_how_to_open_it(tmp_path, monkeypatch, capsys):
    path, copy = write(tmp_path, "01_x", "a = 1"), tmp_path / "work" / "01_x.ipynb"
    monkeypatch.setattr(cli, "make_copy", lambda notebook, again: (copy, again))
    assert main(["start", str(path), "--again"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"made {copy}", f'open it with: "{sys.executable}" -m jupyterlab "{copy}"']
    assert main(["start", str(path)]) == 0
    assert "is there already and is left as it is" in capsys.readouterr().out


def test_start_opens_jupyterlab_only_when_asked(tmp_path, monkeypatch):
    path, opened = write(tmp_path, "01_x", "a = 1"), []
    monkeypatch.setattr(cli, "make_copy", lambda notebook, again: (notebook, True))
    done = argparse.Namespace(returncode=0)
    monkeypatch.setattr(cli.subprocess, "run", lambda command: opened.append(command) or done)
    main(["start", str(path)])
    assert opened == []
    assert main(["start", str(path), "--open"]) == 0
    assert opened == [[sys.executable, "-m", "jupyterlab", str(path)]]


def test_model_prints_its_path_and_fails_when_it_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "model_path", lambda: tmp_path / "m.gguf")
    assert main(["model", "path"]) == 1
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'm.gguf'}\n" and "course model fetch" in err
    (tmp_path / "m.gguf").write_bytes(b"")
    monkeypatch.setattr(cli, "fetch_model", lambda: tmp_path / "m.gguf")
    assert main(["model", "path"]) == main(["model", "fetch"]) == 0


def test_a_memory_is_exported_and_imported_and_no_password_is_shown(tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(helpers.transfer, "carry", lambda *places, name: seen.append((*places, name)) or "2 lessons")
    address = "postgresql://ann:secret@127.0.0.1:1/course"
    for arguments in (["export", "m.jsonl"], ["export", address, "m.jsonl", "--name", "n"], ["import", "m.jsonl"],
                      ["import", "m.jsonl", address]):
        assert main(arguments) == 0
    assert seen == [("", "m.jsonl", "lessons"), (address, "m.jsonl", "n"), ("m.jsonl", "", "lessons"),
                    ("m.jsonl", address, "lessons")]
    monkeypatch.undo()
    assert main(["export", address, str(tmp_path / "m.jsonl")]) == main(["import", str(tmp_path / "none")]) == 1
    told = capsys.readouterr()
    assert told.out == "2 lessons\n" * 4 and "secret" not in told.err
    assert [line[:16] for line in told.err.splitlines()] == ["course: postgres", "course: DATABASE"]
    monkeypatch.setitem(sys.modules, "helpers.transfer", None)
    assert main(["export", "m.jsonl"]) == 1
    assert 'run pip install -e ".[postgres]"' in capsys.readouterr().err


def test_readme_is_written_where_its_markers_are(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    monkeypatch.setattr(cli, "load_chapters", list)
    (tmp_path / "README.md").write_text(f"a\n{TABLE_BEGINS}\nold\n{TABLE_ENDS}\nz\n", encoding="utf-8", newline="\n")
    assert main(["readme"]) == 0
    text = (tmp_path / "README.md").read_bytes()
    assert b"old" not in text and b"\r" not in text and text.startswith(b"a\n") and text.endswith(b"\nz\n")
    (tmp_path / "README.md").write_text("a\n", encoding="utf-8")
    assert main(["readme"]) == 1
    assert "once each" in capsys.readouterr().err


def test_the_installed_command_runs_and_brings_nothing_heavy():
    heavy = ["papermill", "nbformat", "openai", "matplotlib", "psycopg"]
    code = f"import sys, helpers.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
    command = Path(sys.executable).with_name("course")
    shown = subprocess.run([str(command), "run", "--help"], capture_output=True, text=True)
    assert shown.returncode == 0 and "example: course run" in shown.stdout


@pytest.mark.parametrize(("table", "said"), [
    ("a.ipynb", "a notebook, which would be written"), ("folder", "cannot be written"),
    ("missing/a.csv", "cannot be written")])
def test_a_table_is_never_written_over_a_submission_and_must_be_writable(tmp_path, capsys, table, said):
    (tmp_path / "a.ipynb").write_text("precious", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    assert cli.main(["check", "--csv", str(tmp_path / table), str(tmp_path / "a.ipynb")]) == 1
    assert said in capsys.readouterr().err
    assert (tmp_path / "a.ipynb").read_text(encoding="utf-8") == "precious"
