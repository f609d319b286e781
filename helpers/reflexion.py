"""The Reflexion loop: a model writes code, tests judge it, the failing tests go back, it tries again.

Source: Shinn et al. 2023 (arXiv:2303.11366), programming runs. Left out: verbal self-reflection by a second model
call (the failing tests with their actual values take its place), self-written tests, and a scratchpad.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from helpers.code_blocks import extract_code
from helpers.learning import LessonMaker, own_lesson
from helpers.llm import LLMError, Reply
from helpers.problems import Problem
from helpers.prompts import (
    FEEDBACKS,
    LESSON_FORMATS,
    MAX_TOKENS,
    STOP,
    Message,
    failing_tests,
    retry_messages,
    shows,
    task_messages,
)
from helpers.sandbox import TestReport, run_tests

__all__ = ["Attempt", "Episode", "Memory", "extract_code", "judged", "remember", "solve"]

# An outcome that says nothing about the lessons moves no counter of theirs.
RECORDED_AS = {"success": "success", "failure": "failure", "unsupported": "unobserved",
               "infrastructure": "infrastructure"}
# Seconds of processor time; the slowest recorded test that ends takes a quarter of it.
TEST_LIMIT_S = 1.0


def judged(code: str, tests: Sequence[str]) -> TestReport:
    """The verdicts of the sandbox, under the loop's own time limit."""
    return run_tests(code, tests, timeout_s=TEST_LIMIT_S)


class Memory(Protocol):
    """What the loop asks of a memory; `helpers.memory.VectorMemory` answers all of it.

    A loop with `learn=None` only searches.
    """

    @property
    def receipts(self) -> Mapping[str, Any]: ...

    def search(self, query: str, k: int = 3, *, exclude: str = ...) -> list: ...

    def record(self, episode_id: str, ids: Sequence[int], outcome: str, *, problem: str = ...) -> bool: ...

    def add(self, spec: str, text: str, *, code: str = ..., source: str = ..., family: str = ...) -> int: ...


@dataclass(frozen=True)
class Attempt:
    """One answer of the model with what the tests said; `verdict` is passed, failed or unsupported."""

    messages: tuple[Message, ...]
    temperature: float
    seed: int
    reply: Reply
    code: str
    report: TestReport

    @property
    def verdict(self) -> str:
        if self.report.passed:
            return "passed"
        missed = {result.status for result in self.report.results} - {"passed"}
        return "unsupported" if missed == {"unsupported"} else "failed"


@dataclass(frozen=True)
class Episode:
    """Everything one problem's attempts left behind; the receipt from which it can be replayed.

    `outcome` is `success` (an attempt passed every test), `failure`, `unsupported` (no attempt failed by anything
    but what the sandbox cannot run) or `infrastructure` (the model or the embedder could not be asked; `error` says
    why). Tokens are sums over attempts, seconds those the answers took when they were made.
    """

    problem: str
    attempts: tuple[Attempt, ...]
    outcome: str
    retrieved: tuple = ()
    error: str = ""

    @property
    def prompt_tokens(self) -> int:
        return sum(attempt.reply.prompt_tokens for attempt in self.attempts)

    @property
    def completion_tokens(self) -> int:
        return sum(attempt.reply.completion_tokens for attempt in self.attempts)

    @property
    def seconds(self) -> float:
        return sum(attempt.reply.seconds for attempt in self.attempts)

    @property
    def status(self) -> str:
        """How it ended, in a few words, without a reason; "" when the model was never reached."""
        if not self.attempts:
            return ""
        results = self.attempts[-1].report.results
        passed = f"{sum(result.status == 'passed' for result in results)} of {len(results)} tests pass"
        return f"{self.outcome} after {len(self.attempts)} attempt{'s' * (len(self.attempts) != 1)}, {passed}"

    @property
    def lesson(self) -> str:
        """What the loop learnt, in one line: the status, and the newest diagnosis when an attempt failed."""
        failed = [attempt for attempt in self.attempts if attempt.verdict != "passed"]
        newest = failing_tests(failed[-1].report).removeprefix("- ").replace("\n- ", "; ") if failed else ""
        return self.status + (f". Failed: {newest}" if failed else "")

    @property
    def passing_code(self) -> str:
        """The code that passed every test, "" when none did."""
        return next((attempt.code for attempt in self.attempts if attempt.verdict == "passed"), "")


def solve(problem: Problem, chat: Callable[..., Reply], *, iterations: int = 3, memory: Memory | None = None,
          k: int = 3, lesson_format: str = "worked_example", learn: LessonMaker | None = own_lesson,
          episode_id: str = "", seed: int = 0, feedback: str = "code_and_tests", temperature: float = 0.0,
          retry_temperature: float | None = None, max_tokens: int = MAX_TOKENS,
          judge: Callable[..., TestReport] = judged) -> Episode:
    """Let `chat` try `problem` up to `iterations` times, stopping at the first attempt that passes every test.

    `feedback` says what goes back to the model after a failure (see `helpers.prompts.retry_messages`). The first
    attempt runs at `temperature`, the others at `retry_temperature` (default: the same). `seed` picks the draw; at
    temperature 0 nothing is drawn and the request carries seed 0. An answer is cut at `max_tokens`. `judge` runs code
    against tests. A failed call ends the episode as `infrastructure`.

    With a `memory`, the `k` most similar lessons of other problems open the conversation, and two things are written
    when the episode is over: its outcome, to each lesson that was shown, and the lesson that `learn` makes of it
    (see `helpers.learning`). `learn=None` writes neither. Under one `episode_id` this happens once, however often it
    is called; without one every call is an episode of its own. Where the embedder fails, nothing is written, and the
    episode can be told again.

    Errors: `ValueError` for a problem without tests, fewer than one iteration, an unknown lesson format or feedback;
    `ReplayMiss` when a recorded answer is missing.
    """
    if not problem.tests:
        raise ValueError(f"problem {problem.id!r} has no tests; expected at least one, or nothing could be said of it")
    if iterations < 1:
        raise ValueError(f"expected at least one iteration, got {iterations}")
    for value, known, what in ((lesson_format, LESSON_FORMATS, "a lesson format"), (feedback, FEEDBACKS, "feedback")):
        if value not in known:
            raise ValueError(f"expected {what} out of {', '.join(known)}; got {value!r}")
    try:
        found = memory.search(problem.text, k, exclude=problem.id) if memory is not None else []
    except LLMError as err:  # of an embedder that is asked over a network
        return Episode(problem.id, (), "infrastructure", (), f"{err.kind}: {err}")
    hits = tuple(hit for hit in found if shows(hit.lesson, lesson_format))
    first = messages = task_messages(problem, [hit.lesson for hit in hits], lesson_format)
    attempts: list[Attempt] = []
    error = ""
    for number in range(iterations):
        heat = temperature if number == 0 or retry_temperature is None else retry_temperature
        try:
            attempts.append(attempt(problem, chat, messages, temperature=heat, judge=judge, max_tokens=max_tokens,
                                    seed=1000 * seed + number if heat > 0 else 0))
        except LLMError as err:
            error = f"{err.kind}: {err}"
            break
        if attempts[-1].verdict == "passed":
            break
        messages = retry_messages(problem, first, attempts[-1].code, attempts[-1].report, feedback)
    episode = Episode(problem.id, tuple(attempts), "infrastructure" if error else _outcome(attempts), hits, error)
    if memory is not None and learn is not None:
        try:
            remember(memory, problem, episode, learn, episode_id or uuid.uuid4().hex)
        except LLMError as err:
            return replace(episode, outcome="infrastructure", error=f"the lesson was not stored: {err.kind}: {err}")
    return episode


def remember(memory: Memory, problem: Problem, episode: Episode, learn: LessonMaker, episode_id: str) -> None:
    """Store the new lesson, then record what became of those shown; nothing when the episode is known already.

    In this order, because storing may fail: then nothing is recorded, and the same episode can be told again. Where
    the model was not reached nothing happened to learn from.
    """
    lesson = learn(problem, episode) if episode.outcome != "infrastructure" else None
    if lesson and episode_id not in memory.receipts:
        memory.add(**lesson)
    memory.record(episode_id, [hit.lesson.id for hit in episode.retrieved], RECORDED_AS[episode.outcome],
                  problem=problem.id)


def attempt(problem: Problem, chat: Callable[..., Reply], messages: list[Message], *, temperature: float = 0.0,
            seed: int = 0, max_tokens: int = MAX_TOKENS, judge: Callable[..., TestReport] = judged) -> Attempt:
    """Ask once, extract the code, run the tests."""
    reply = chat(messages, temperature=temperature, max_tokens=max_tokens, seed=seed, stop=list(STOP))
    code = extract_code(reply.text, problem.entry_point)
    return Attempt(tuple(messages), temperature, seed, reply, code, judge(code, problem.tests))


def _outcome(attempts: list[Attempt]) -> str:
    verdicts = {attempt.verdict for attempt in attempts}
    return "success" if "passed" in verdicts else "unsupported" if verdicts == {"unsupported"} else "failure"
