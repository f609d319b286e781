"""The belt judges honest code, and falls to each of the ways notebook 01 shows; a fake key and a made folder only."""

from pathlib import Path

import pytest

from helpers.belt import run_behind_belt

ENV = {"OPENROUTER_API_KEY": "sk-fake-0000"}


def test_honest_code_is_judged_test_by_test(tmp_path: Path) -> None:
    said = run_behind_belt("def f(x):\n    return x + 1", ["f(1) == 2", "f(1) == 3"], env=ENV, folder=str(tmp_path))
    assert said == {"results": [True, False], "error": None}


@pytest.mark.parametrize(("code", "error"), [("import os", "ImportError: os is not allowed"),
                                             ("open('x')", "NameError: name 'open' is not defined"),
                                             ("def f(:", "SyntaxError: invalid syntax (<string>, line 1)")])
def test_the_front_door_is_closed(code: str, error: str, tmp_path: Path) -> None:
    assert run_behind_belt(code, ["1 == 1"], env=ENV, folder=str(tmp_path)) == {"results": [], "error": error}


def test_a_child_that_says_nothing_is_no_pass(tmp_path: Path) -> None:
    said = run_behind_belt("import random\nrandom._os._exit(0)", ["1 == 1"], env=ENV, folder=str(tmp_path))
    assert said == {"results": [], "error": "no result line"}


BY_MODULE = "import random\nraise ValueError(random._os.environ['OPENROUTER_API_KEY'])"
BY_CLASS = ("c = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
            "raise ValueError(c[0].__init__.__globals__['environ']['OPENROUTER_API_KEY'])")


@pytest.mark.parametrize("code", [BY_MODULE, BY_CLASS])
def test_the_key_is_read_through_the_belt(code: str, tmp_path: Path) -> None:
    assert "sk-fake-0000" in run_behind_belt(code, ["1 == 1"], env=ENV, folder=str(tmp_path))["error"]


@pytest.mark.parametrize("code", ["class Yes:\n    def __eq__(self, other): return True\ndef f(): return Yes()",
                                  "print('__RESULT__' + '{\"results\": [true], \"error\": null}')\ndef f(): return 0"])
def test_a_verdict_is_forged_through_the_belt(code: str, tmp_path: Path) -> None:
    assert run_behind_belt(code, ["f() == 42"], env=ENV, folder=str(tmp_path))["results"] == [True]


def test_the_child_sees_only_the_environment_it_is_given(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("A_REAL_SECRET", "do not tell")
    code = "import random\nraise ValueError(str(dict(random._os.environ)))"
    assert "do not tell" not in run_behind_belt(code, ["1 == 1"], env=ENV, folder=str(tmp_path))["error"]
