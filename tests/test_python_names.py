"""The frozen names of Python are those of the Python they say, and nothing that runs here adds to them.

`python tests/test_python_names.py`, in Python 3.11 on Linux, writes the file anew.
"""

import builtins
import json
import subprocess
import sys

import pytest

from helpers.curriculum import ROOT
from helpers.expressions import plan_of
from helpers.python_names import FILE, MODULES, in_module, is_builtin, names_here, of_type
from helpers.sandbox import run_tests

FROZEN = (3, 11)


@pytest.mark.skipif(sys.version_info[:2] != FROZEN or sys.platform != "linux", reason="the names are of another Python")
def test_the_file_is_what_python_3_11_has() -> None:
    program = "import json; from helpers.python_names import names_here; print(json.dumps(names_here()))"
    here = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(here.stdout)  # in a process that nothing added to


def test_the_file_is_whole() -> None:
    assert set(json.loads(FILE.read_text(encoding="utf-8"))["modules"]) == set(MODULES)
    assert is_builtin("print") and is_builtin("ValueError") and is_builtin("NotImplemented") and is_builtin("__name__")
    assert in_module("os.path", "join") and not in_module("numpy", "array")
    assert of_type("deque", "rotate") and of_type("KeyError", "add_note") and not of_type("deque", "push")


@pytest.mark.parametrize("name", ["display", "credits", "PythonFinalizationError"])
def test_what_ipython_site_or_a_newer_python_adds_changes_no_verdict(name, monkeypatch) -> None:
    """In a notebook `display` is a built-in, and then code that defines it could not be tested."""
    code, tests = f"def {name}(n):\n    return n", [f"{name}(2) == 2"]
    without = run_tests(f"def f(n):\n    return {name}(n)", ["f(2) == 2"]).results[0]
    assert run_tests(code, tests).passed
    monkeypatch.setattr(builtins, name, print, raising=False)
    plan_of.cache_clear()
    assert run_tests(code, tests).passed
    assert run_tests(f"def f(n):\n    return {name}(n)", ["f(2) == 2"]).results[0] == without
    assert without.status == "error"


def test_a_member_that_a_newer_python_adds_changes_no_verdict(monkeypatch) -> None:
    code = "from functools import Placeholder\ndef f(n):\n    return n"
    without = run_tests(code, ["f(2) == 2"]).error
    monkeypatch.setattr("functools.Placeholder", print, raising=False)
    assert run_tests(code, ["f(2) == 2"]).error == without
    assert "ImportError" in without


if __name__ == "__main__":
    assert sys.version_info[:2] == FROZEN and sys.platform == "linux", sys.version
    FILE.write_text(json.dumps(names_here(), indent=1) + "\n", encoding="utf-8")
