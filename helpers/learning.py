"""What a loop stores of an episode: a lesson made from the problem and what happened, or none.

Left out: lessons written by a model about its own failures (verbal reflection), and merging of lessons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from helpers.problems import Problem
from helpers.prompts import failing_tests

if TYPE_CHECKING:  # the loop calls what is here; it need not be loaded to read this
    from helpers.reflexion import Episode

NewLesson = dict[str, str]  # the arguments of `VectorMemory.add`
LessonMaker = Callable[[Problem, "Episode"], NewLesson | None]


def own_lesson(problem: Problem, episode: Episode) -> NewLesson:
    """Status and newest diagnosis in one line; the code only when it passed every test."""
    return _lesson(problem, episode.lesson, episode.passing_code)


def own_pass(problem: Problem, episode: Episode) -> NewLesson | None:
    """The agent's own code when it passed every test; otherwise nothing is learnt."""
    return own_lesson(problem, episode) if episode.passing_code else None


def reviewed_fix(problem: Problem, episode: Episode) -> NewLesson:
    """The reference solution with its instruction, as after a review, whatever the agent made of the problem."""
    return _lesson(problem, problem.instruction, problem.solution)


def outcomes_only(problem: Problem, episode: Episode) -> None:
    """Store no lesson: only what became of the retrieved ones is recorded."""


def lesson_about(problem: Problem, episode: Episode, lesson_format: str) -> NewLesson:
    """The reviewed lesson of `problem` with the text that `lesson_format` shows.

    `status`: how the recorded `episode` ended; `failing_tests`: what failed in it; every other format: the
    instruction. The code is the reference solution, which only the formats `code` and `worked_example` show.
    """
    failed = failing_tests(episode.attempts[-1].report).removeprefix("- ").replace("\n- ", "; ")
    text = {"status": episode.status, "failing_tests": f"Failed: {failed}" if failed else "No test failed"}
    return _lesson(problem, text.get(lesson_format, problem.instruction), problem.solution)


def _lesson(problem: Problem, text: str, code: str) -> NewLesson:
    return {"spec": problem.text, "text": text, "code": code, "source": problem.id, "family": problem.family}
