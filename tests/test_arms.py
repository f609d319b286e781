"""Arms run the same problems; failures of the infrastructure are counted apart and never as wrong answers."""

import threading
import time

import numpy as np
import pytest

from helpers.arms import ARMS, DRAWS, ArmResult, compare, price, run_arm
from helpers.embeddings import BagOfWords
from helpers.llm import LLMError, Reply
from helpers.memory import VectorMemory
from helpers.problems import load_problems
from helpers.reflexion import Attempt, Episode
from helpers.sandbox import TestReport

PROBLEMS = load_problems()[:3]


def episode(problem: str, outcome: str, tokens: int = 0) -> Episode:
    reply = Reply("", tokens, tokens // 2, "stop", "replay", 0.1)
    attempts = (Attempt((), 0.0, 0, reply, "", TestReport(results=(), error=None)),) if tokens else ()
    return Episode(problem, attempts, outcome)


def arm(name: str, *rows: str) -> ArmResult:
    """An arm from one string a problem: S success, F failure, U unsupported, I infrastructure, one letter a seed."""
    words = {"S": "success", "F": "failure", "U": "unsupported", "I": "infrastructure"}
    return ArmResult(name, tuple(tuple(episode(f"p{i}", words[letter]) for letter in row)
                                 for i, row in enumerate(rows)))


def test_outcomes_are_problems_by_seeds_and_infrastructure_is_not_a_number() -> None:
    result = arm("a", "SF", "UI")
    assert np.array_equal(result.outcomes, [[1, 0], [0, np.nan]], equal_nan=True)
    assert result.solved == pytest.approx(1 / 3)
    assert [result.count(o) for o in ("success", "failure", "unsupported", "infrastructure")] == [1, 1, 1, 1]


def test_the_interval_of_an_arm_counts_problems_not_episodes() -> None:
    assert arm("a", "SS", "FF").interval == arm("a", "S", "F").interval
    assert arm("a", "S", "F", "I").interval == arm("a", "S", "F").interval


def test_draws_of_an_arm_can_be_taken_out_and_repeated() -> None:
    assert np.array_equal(arm("a", "SF", "FS").columns(1, 0, 1).outcomes, [[0, 1, 0], [1, 0, 1]])


def test_tokens_are_means_over_episodes() -> None:
    result = ArmResult("a", ((episode("p", "success", 10), episode("p", "failure", 30)),))
    assert result.tokens == (20.0, 10.0)


def test_a_problem_that_was_not_reached_is_left_out_of_both_arms() -> None:
    d = compare(arm("a", "S", "I", "S"), arm("b", "F", "S", "S"), rng=np.random.default_rng(0))
    assert (d.mean, d.up, d.down) == (0.5, 1, 0)


def test_a_third_of_the_calls_failing_changes_no_rate() -> None:
    whole, holed = arm("a", *["S", "F"] * 6), arm("a", *["S", "F", "I"] * 6)
    assert whole.solved == holed.solved
    assert holed.count("infrastructure") == 6


def test_different_problems_cannot_be_compared() -> None:
    other = ArmResult("b", ((episode("q", "success"),),))
    with pytest.raises(ValueError, match="a and b ran different problems"):
        compare(arm("a", "S"), other, rng=np.random.default_rng(0))


class Alternating:
    """Solves every problem it is asked about at even seeds; unreachable for one problem."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    def __call__(self, messages, *, seed, **settings) -> Reply:
        self.seeds.append(seed)
        task = messages[0]["content"]
        if PROBLEMS[2].spec in task:
            raise LLMError("server", "503")
        solution = next(p.solution for p in PROBLEMS if p.spec in task)
        return Reply(f"```python\n{solution}" if seed % 2 == 0 else "no", 5, 2, "stop", "replay", 0.1)


def test_every_problem_runs_once_a_seed_with_the_settings_of_the_arm() -> None:
    chat = Alternating()
    result = run_arm("sampled", PROBLEMS, chat, seeds=(0, 1), iterations=1, temperature=0.6)
    assert chat.seeds == [0, 1000] * 3
    assert [[e.outcome for e in row] for row in result.episodes] == [
        ["success", "success"], ["success", "success"], ["infrastructure", "infrastructure"]]


def test_a_named_arm_has_its_own_settings_and_a_run_of_nothing_is_refused() -> None:
    assert run_arm("single attempt", PROBLEMS[:1], Alternating()).episodes[0][0].outcome == "success"
    assert ARMS["single attempt"] == {"iterations": 1}
    with pytest.raises(ValueError, match="expected problems and seeds, got 0 and 1"):
        run_arm("single attempt", [], Alternating())


def test_a_mistyped_arm_is_refused_with_the_known_names() -> None:
    chat = Alternating()
    with pytest.raises(ValueError, match=r"arm 'Reflexon' has no settings: .* a name out of single"):
        run_arm("Reflexon", PROBLEMS, chat)
    assert chat.seeds == []


class Watched(Alternating):
    """Notes which threads ask, and how many at once; every answer takes a moment."""

    def __init__(self, parallel: int) -> None:
        super().__init__()
        self.parallel, self.inside, self.most, self.lock = parallel, 0, 0, threading.Lock()

    def __call__(self, messages, **settings) -> Reply:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.05)
        with self.lock:
            self.inside -= 1
        return super().__call__(messages, **settings)


@pytest.mark.parametrize("parallel", [1, 2])
def test_as_many_ask_at_once_as_the_chat_says_and_the_order_is_kept(parallel: int) -> None:
    chat = Watched(parallel)
    result = run_arm("single attempt", [*PROBLEMS, *reversed(PROBLEMS)], chat)
    assert chat.most == parallel
    assert [row[0].problem for row in result.episodes] == [p.id for p in (*PROBLEMS, *reversed(PROBLEMS))]
    assert [row[0].outcome for row in result.episodes] == ["success", "success", "infrastructure",
                                                           "infrastructure", "success", "success"]


class Noted:
    """Answers nothing of use and notes temperature and seed of each request."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, int]] = []

    def __call__(self, messages, *, temperature: float, seed: int, **settings) -> Reply:
        self.asked.append((temperature, seed))
        return Reply("no code", 10, 5, "stop", "replay", 0.1)


def test_a_draw_sets_temperature_and_seed_of_the_first_attempt() -> None:
    chat = Noted()
    run_arm("cold", PROBLEMS[:1], chat, draws=DRAWS, iterations=2, retry_temperature=0.9)
    assert chat.asked == [(0.0, 0), (0.9, 1), (0.6, 1000), (0.9, 1001), (0.6, 2000), (0.9, 2001)]


def test_a_memory_may_be_a_function_of_the_seed_and_is_only_read(tmp_path) -> None:
    memory = VectorMemory(tmp_path / "m.jsonl", BagOfWords())
    for problem in PROBLEMS:
        memory.add(problem.text, "note", code=problem.solution, source=problem.id)
    before = (tmp_path / "m.jsonl").read_bytes()
    asked_for: list[int] = []

    def by_seed(seed: int) -> VectorMemory:
        asked_for.append(seed)
        return memory

    result = run_arm("with memory", PROBLEMS, Noted(), draws=DRAWS, memory=by_seed, iterations=1, k=1)
    assert sorted(set(asked_for)) == [0, 1, 2]
    assert all(len(episode.retrieved) == 1 for row in result.episodes for episode in row)
    assert (tmp_path / "m.jsonl").read_bytes() == before


def test_the_price_of_a_problem_more() -> None:
    cheap = ArmResult("a", ((episode("p", "failure", 100),), (episode("q", "failure", 100),)))
    dear = ArmResult("b", ((episode("p", "success", 200),), (episode("q", "failure", 200),)))
    assert (price(dear, cheap).tokens, price(dear, cheap).gain) == (150.0, 0.5)  # half as many written as read
    assert price(dear, cheap).per_solved == 300.0
    assert np.isnan(price(cheap, dear).per_solved)  # nothing gained: no price
