"""The report of `course doctor`: right about what is here, clear about what is not, silent about who asks."""

import getpass
import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import doctor, local_model
from helpers.curriculum import NOTEBOOKS
from helpers.doctor import (
    CHECKS,
    Check,
    Package,
    as_text,
    check_kernel,
    check_key,
    check_model,
    check_packages,
    check_python,
    check_transcripts,
    core_versions,
    declared_packages,
    examine,
    redact,
)

PROJECT = """[project]
requires-python = ">={version}"
dependencies = ["numpy>=2  # c", "not-there-at-all>=1", "colorama; sys_platform == 'nowhere'"]
optional-dependencies.extra = ["papermill<1"]
"""


def test_what_is_declared_is_compared_with_what_is_here(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text(PROJECT.replace("  # c", ""), encoding="utf-8")
    numpy, missing, extra = declared_packages(path)
    assert (numpy.name, numpy.wanted, numpy.fits, numpy.extra) == ("numpy", ">=2", True, None)
    assert (missing.installed, missing.fits) == (None, False)
    assert (extra.name, extra.extra, extra.fits) == ("papermill", "extra", False)


def test_this_environment_is_the_one_declared():
    assert check_packages().ok, check_packages().detail
    assert check_python().ok
    assert set(core_versions()) >= {"numpy", "papermill", "jupyterlab"} and "missing" not in core_versions().values()


@pytest.mark.parametrize(("package", "ok", "told"), [
    (Package("numpy", ">=2", "1.9"), False, "numpy 1.9 (needs >=2)"),
    (Package("numpy", "", None), False, "numpy missing (needs any)"),
    (Package("faiss", ">=1", "0.9", "dev"), False, "faiss 0.9 (needs >=1)"),
    (Package("faiss", ">=1", None, "dev"), True, "extras not installed: dev"),
    (Package("numpy", ">=2", "3.0rc1"), True, "numpy 3.0rc1"),
])
def test_a_package_of_an_extra_may_be_absent_but_not_wrong(package, ok, told):
    check = check_packages([package])
    assert (check.ok, told in check.detail) == (ok, True)
    assert "make run" in check.fix or ok


def test_a_python_too_old_is_named(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(version="9.1"), encoding="utf-8")
    monkeypatch.setattr(doctor, "ROOT", tmp_path)
    assert not check_python().ok
    assert "(needs >=9.1)" in check_python().detail


def test_the_kernel_is_this_environment():
    assert check_kernel() == Check("kernel", True, "python3 starts, and is this environment's Python")


def test_a_kernel_of_another_environment_is_found_out(monkeypatch):
    real = sys.executable
    monkeypatch.setattr(doctor.sys, "executable", str(Path(real).with_name("another-python")))
    check = doctor.compare_kernel(real, "helpers")
    assert not check.ok and "expected" in check.detail and "another-python" in check.detail
    assert "cannot import `helpers`" in doctor.compare_kernel(str(Path(real).with_name("another-python")), "").detail


def test_the_key_is_never_shown(monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-secret")
    text = as_text(examine([check_key]))
    assert "set; provider openrouter.ai" in text and "secret" not in text
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-ör-secret")
    text = as_text(examine([check_key]))
    assert text.startswith("FAIL key") and "secret" not in text


def test_a_missing_model_is_a_note_and_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(local_model, "cache_folder", lambda: tmp_path)
    check = check_model()
    assert check.ok is None and "not fetched" in check.detail and "course model fetch" in check.fix
    (tmp_path / local_model.MODEL_FILE).write_bytes(b"")
    assert check_model().detail.startswith("fetched")


def test_a_model_named_but_missing_is_a_fault(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_MODEL_PATH", str(tmp_path / "mine.gguf"))
    check = check_model()
    assert check.ok is False and "COURSE_MODEL_PATH" in check.fix


def test_transcripts_are_read_not_only_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "DATA", tmp_path)
    assert (check_transcripts().ok, check_transcripts().detail) == (False, "0 with 0 recorded answers")
    (tmp_path / "transcripts").mkdir()
    (tmp_path / "transcripts" / "01_x.jsonl").write_text("damaged\n", encoding="utf-8")
    assert not check_transcripts().ok
    assert "01_x.jsonl, line 1" in check_transcripts().detail


def test_a_check_that_breaks_does_not_end_the_report():
    def check_luck():
        raise OSError("no luck today")
    results = examine([check_luck, check_python])
    assert results[0] == Check("luck", False, "OSError: no luck today", doctor.INSTALL)
    assert results[1].ok


def test_home_and_user_are_removed_and_the_rest_stays(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: "/home/ada")
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert redact("/home/ada/course and\n/home/ada: a") == "~/course and ~: a"
    assert redact("/mnt/ada/x of ada, /home/adam/y, canada") == "/mnt/<user>/x of ada, /home/adam/y, canada"


def test_windows_paths_are_redacted_too(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: r"C:\Users\Ada")
    monkeypatch.setattr(getpass, "getuser", lambda: "Ada")
    assert redact(r"c:\users\ada\course, D:\Ada") == r"~\course, D:\<user>"


def test_a_user_without_a_name_is_not_an_error(monkeypatch):
    def nobody():
        raise OSError("no such user")
    monkeypatch.setattr(getpass, "getuser", nobody)
    assert redact("a path: /srv/x") == "a path: /srv/x"


def test_the_report_is_one_line_a_check_and_the_way_out():
    text = as_text([Check("one", True, "fine", "unused"), Check("two", False, "broken", "mend it"),
                    Check("three", None, "x")])
    assert text.splitlines() == ["ok   one          fine", "FAIL two          broken", "                  -> mend it",
                                 "note three        x"]


def test_every_check_is_in_the_report():
    assert {name for name in vars(doctor) if name.startswith("check_")} == {check.__name__ for check in CHECKS}


def test_a_kernel_without_the_course_is_told_what_to_do(tmp_path):
    """The first cell of notebook 00, as a Python runs it that has no packages and stands in another folder."""
    notebook = json.loads((NOTEBOOKS / "00_start_here.ipynb").read_text(encoding="utf-8"))
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    run = subprocess.run([sys.executable, "-I", "-S", "-c", "".join(first["source"])], cwd=tmp_path,
                         capture_output=True, text=True, encoding="utf-8")
    lines = run.stderr.strip().splitlines()
    assert run.returncode == 1 and run.stdout == "" and run.stderr.count("Traceback") == 1
    assert lines[-1].startswith(f"ModuleNotFoundError: No module named 'helpers': this kernel runs {sys.executable}, ")
    assert f'"{sys.executable}" -m pip install -e .' in lines[-1] and "Choose the kernel" in lines[-1]
    assert len(lines[-1]) < 400 + 2 * len(sys.executable)
