"""The cell of notebook 04 that asks the reader's own model, which no batch run reaches, works when it is reached."""

import nbformat
import numpy as np
import pytest

from helpers.arms import compare, run_arm
from helpers.curriculum import NOTEBOOKS
from helpers.embeddings import BagOfWords
from helpers.learning import reviewed_fix
from helpers.llm import Reply
from helpers.memory import VectorMemory
from helpers.problems import load_problems

BANK = load_problems()


class Live:
    """Solves a problem when an example is shown, and never without."""

    parallel = 1

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, messages, **settings) -> Reply:
        self.calls += 1
        problem = next(p for p in BANK if p.text in messages[-2]["content"])
        return Reply(f"```python\n{problem.solution}" if len(messages) > 2 else "no", 10, 5, "stop", "live", 0.1)

    def describe(self) -> str:
        return "live: a model of the reader's"


def cell(word: str) -> str:
    path = next(NOTEBOOKS.glob("04_*.ipynb"))
    return next(c.source for c in nbformat.read(path, as_version=4).cells
                if c.cell_type == "code" and c.source.startswith(word))


@pytest.fixture
def namespace(tmp_path) -> dict:
    worked = VectorMemory(tmp_path / "m.jsonl", BagOfWords())
    for problem in BANK:
        worked.add(**reviewed_fix(problem, None))
    return {"bank": BANK, "worked": worked, "run_arm": run_arm, "compare": compare, "rng": np.random.default_rng(0)}


def test_ten_problems_are_asked_twice_of_the_live_source(namespace, capsys) -> None:
    live, asked = Live(), []

    def connect(name: str, *, source: str) -> Live:
        asked.append(source)
        return live

    exec(cell("if MY_MODEL"), namespace | {"MY_MODEL": True, "connect": connect})
    assert asked == ["live"]
    assert live.calls == 20
    assert "cold 0.00, with one lesson 1.00: +1.00 [+1.00, +1.00]" in capsys.readouterr().out


def test_untouched_it_asks_nothing(namespace, capsys) -> None:
    exec(cell("if MY_MODEL"), namespace | {"MY_MODEL": False})
    assert capsys.readouterr().out == "MY_MODEL is False: nothing was asked.\n"
