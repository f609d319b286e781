"""Checks of exercises 3 and 4: retrieval within one domain, and lessons that teach, both on recorded answers.

Left out: the exercises themselves, which stand in notebook 09, and any wording of a lesson but the recorded one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.arms import judge_once
from helpers.exercise_recorded import (
    Shelf,
    asked,
    bank,
    gain,
    lesson,
    nearest,
    outcome,
    recorded,
    shelf,
    similarity,
    told,
)
from helpers.exercise_values import shown
from helpers.exercises import TODO, NotAttempted, Part, check
from helpers.learning import lesson_about
from helpers.lessons import Lesson
from helpers.problems import Problem
from helpers.prompts import REPLY_ONLY_CODE, Message, task_messages
from helpers.reflexion import solve
from helpers.stats import Difference

MOST_MISSING = 3  # of the lessons that a right search finds, so many were not shown in notebook 04
SAID = ("helps", "hurts", "not shown")

SHELF = Shelf(np.array(["sums", "sums", "texts", "texts", "sums", "texts"]),
              np.array(["add", "subtract", "join", "trim", "negate", "title"]))
SCORES = np.array([0.9, 0.8, 0.6, 0.6, 0.4, 0.3])
OPPOSITE = -SCORES


# --- exercise 3: domains ------------------------------------------------------------------------------------------

@check(number=3, title="Domains")
def check_domains(search: Callable[..., object], conclude: Callable[..., object]) -> list[Part]:
    """Searches on a shelf of six lessons, conclusions from counted outcomes, and both on the recorded runs."""
    return [
        _found(search, '"texts", 2', [2, 3], "The two best of all lessons are of family sums. Filter first, then take "
               "the best k: taking k first and filtering what is left finds none.", "texts", 2),
        _found(search, '"texts", 1', [2], "Lessons 2 and 3 are equally similar; ties go to the smaller place. A sort "
               "that is turned round turns the ties round, too.", "texts", 1),
        _found(search, '"texts", 9', [2, 3, 5], "The family has three lessons; fewer than k is an answer. Scores "
               "set to −infinity keep other families at the end of the ranking instead of outside it.", "texts", 9),
        _found(search, '"texts", 2, exclude="join"', [3, 5], "The lesson at place 2 was learnt from `join`, the "
               "problem at hand: showing it would be showing the answer. Leave it out before counting to k.",
               "texts", 2, exclude="join"),
        _found(search, '"verbs", 2', [], "No lesson is of that family: an empty list, and no error.", "verbs", 2),
        _found(search, '"texts", 1', [5], "With cosines below 0 the best is the one nearest to 0. Scores multiplied by "
               "True and False put lessons of other families, with 0, before it.", "texts", 1, scores=OPPOSITE),
        _said(conclude, (30, 2, 14, 14), "helps", "The whole interval of the paired difference is above 0."),
        _said(conclude, (6, 5, 20, 29), "not shown", "The mean is above 0, but its interval holds 0: the sign of the "
              "mean alone says nothing."),
        _said(conclude, (2, 20, 20, 18), "hurts", "The whole interval is below 0: a lesson can do harm."),
        _said(conclude, (12, 0, 24, 24), "helps", "Twelve problems rose and none fell. Two separate intervals, one an "
              "arm, overlap here; the problems are the same, so compare them pair by pair."),
        _said(conclude, (0, 0, 30, 30), "not shown", "Nothing changed, and the interval is the point 0, which it "
              "holds: above means above, not above or equal."),
        *(_recorded_said(search, conclude, own) for own in (True, False))]


def _found(search: Callable[..., object], typed: str, expected: list[int], why: str, *asked_for: object,
           scores: np.ndarray = SCORES, **options: str) -> Part:
    name = "SCORES" if scores is SCORES else "-SCORES"
    return Part(f"search_in_family({name}, SHELF, {typed})",
                lambda: [int(place) for place in search(scores.copy(), SHELF, *asked_for, **options)],
                expected, why=why)


def _said(conclude: Callable[..., object], counts: tuple[int, int, int, int], expected: str, why: str) -> Part:
    """The conclusion from outcomes of which so many rose, fell, were 1 in both arms and 0 in both."""
    up, down, ones, zeros = counts
    pairs = np.repeat([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)], counts, axis=0)
    return Part(f"conclude(with_lesson, without): {up} rose, {down} fell, {ones + zeros} as before",
                lambda: conclude(pairs[:, 0].copy(), pairs[:, 1].copy()), expected, why=why)


def domain_outcomes(search: Callable[..., object], own: bool) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes with the lesson that `search` finds, in the problem's own family or in the most similar other one, and
    without a lesson; float (problems,) each, problems without a recorded answer left out of both."""
    pairs = np.array([(outcome(bank()[i], task_messages(bank()[i], [_lesson(search, i, own)])),
                       outcome(bank()[i], task_messages(bank()[i]))) for i in asked()])
    kept = np.isfinite(pairs).all(axis=1)
    if len(pairs) - kept.sum() > MOST_MISSING:
        raise ValueError(f"{len(pairs) - kept.sum()} of {len(pairs)} lessons found have no recorded answer, so they "
                         "are not the most similar ones of their family")
    return pairs[kept, 0], pairs[kept, 1]


def _lesson(search: Callable[..., object], place: int, own: bool) -> Lesson:
    family = str(shelf().families[nearest(place, own)])
    found = list(search(similarity()[place].copy(), shelf(), family, 1, exclude=bank()[place].id))
    if len(found) != 1:
        raise ValueError(f"expected one lesson of family {family} for the problem {bank()[place].id}, got {len(found)}")
    return lesson(int(found[0]))


def _recorded_said(search: Callable[..., object], conclude: Callable[..., object], own: bool) -> Part:
    def run() -> object:
        pair = domain_outcomes(search, own)
        word = conclude(*(column.copy() for column in pair))
        return word if word is TODO else (word, str(gain(*pair)))

    def right(got: object) -> bool:
        return got[0] == conclusion(gain(*domain_outcomes(search, own)))

    whose = "its own family" if own else "another family"
    return Part(f"conclude(with a lesson of {whose}, without): recorded runs", run, f"one of {', '.join(SAID)}, as the "
                "interval beside it says", accept=right, why="Your search picked the lessons, your conclusion read the "
                "outcomes of the answers recorded for them.")


def conclusion(found: Difference) -> str:
    """What the interval of a difference says.

    >>> conclusion(Difference(mean=0.1, low=0.0, high=0.2, level=0.95, up=3, down=1))
    'not shown'
    """
    return SAID[0 if found.low > 0 else 1 if found.high < 0 else 2]


def transfer_table(search: Callable[..., object]) -> None:
    """Print what a lesson of the own and of the most similar other family adds to the problems solved."""
    def rows() -> list[str]:
        lines = [f"{'lesson of':<16} {'problems':>8} {'solved':>6} {'without':>7}   difference"]
        for name, own in (("its own family", True), ("another family", False)):
            treated, control = domain_outcomes(search, own)
            lines.append(f"{name:<16} {treated.size:>8} {treated.sum():>6.0f} {control.sum():>7.0f}   "
                         f"{gain(treated, control)}")
        return lines
    told(rows)


# --- exercise 4: lessons that teach -------------------------------------------------------------------------------

@check(number=4, title="Lessons that teach")
def check_teach(teach: Callable[[Problem], object]) -> list[Part]:
    """The note and the two messages for two problems, and what the recorded answers to such prompts are worth."""
    first, second = (next(p for p in bank() if p.id == name) for name in ("get_max", "shout"))
    note, turns = taught(first)
    return [
        Part("teach(get_max)[0]", lambda: told_twice(teach, first)[0], note,
             why="One line: a dash, the task (`problem.text`), a colon, and what to do (`problem.instruction`). How an "
                 "attempt ended is no advice."),
        Part('[turn["role"] for turn in teach(get_max)[1]]',
             lambda: [turn["role"] for turn in told_twice(teach, first)[1]],
             ["user", "assistant"], why="A worked example is an earlier turn of the conversation: the user asked, and "
             "the assistant answered."),
        Part('teach(get_max)[1][0]["content"]', lambda: told_twice(teach, first)[1][0]["content"], turns[0]["content"],
             why=f"The question as it is always asked: `problem.text`, a new line, and {REPLY_ONLY_CODE!r} A model "
                 "imitates an example that looks like its task."),
        Part('teach(get_max)[1][1]["content"]', lambda: told_twice(teach, first)[1][1]["content"], turns[1]["content"],
             why="The answer as it should look: three backticks with the word python, the reviewed "
                 "`problem.solution`, three backticks, each on lines of their own, and nothing else."),
        Part("teach(shout)", lambda: _as_lists(told_twice(teach, second)), _as_lists(taught(second)),
             why="The same for another problem, with its own text, instruction and solution."),
        Part("solved with your worked examples − solved with status lines", lambda: measured(teach),
             "an interval above 0", accept=lambda got: isinstance(got, Difference) and got.low > 0, points=2,
             why="Answers are recorded for one wording, the one above. A lesson told in other words may well teach, "
                 "but a model would have to be asked.")]


def told_twice(teach: Callable[[Problem], object], problem: Problem) -> object:
    """What `teach` returns for `problem`; TypeError when that is not two things."""
    lesson = teach(problem)
    if lesson is TODO:
        raise NotAttempted
    if not isinstance(lesson, tuple | list) or len(lesson) != 2:
        raise TypeError(f"expected two things, a note and a list of messages, got {shown(lesson, 60)}")
    return lesson


def taught(problem: Problem) -> tuple[str, list[Message]]:
    """The note and the worked example of a problem as notebook 04 showed them."""
    shown = [lesson(bank().index(problem))]
    note, turns = (task_messages(problem, shown, name) for name in ("instruction", "worked_example"))
    return note[0]["content"].split("\n")[1], turns[:2]


def status_note(problem: Problem) -> str:
    """The line that notebook 04 stored about `problem`: how its first attempt ended, and no more."""
    episode = solve(problem, recorded(), iterations=1, judge=judge_once)
    return f"- {problem.text}: {lesson_about(problem, episode, 'status')['text']}"


def with_note(problem: Problem, note: str) -> list[Message]:
    """The prompt of a task with one note in front of it."""
    task, begun = task_messages(problem)
    return [{"role": "user", "content": f"Notes from earlier problems:\n{note}\n\n{task['content']}"}, begun]


def lesson_outcomes(teach: Callable[[Problem], object] | None = None) -> dict[str, np.ndarray]:
    """Outcomes without a lesson, with a status line, and with what `teach` makes of the same lesson, the one of the
    most similar other problem; float (problems,) each, NaN where no answer is recorded."""
    arms: dict[str, list[float]] = {"no lesson": [], "status line": []} | (
        {"your note": [], "your worked example": []} if teach else {})
    for place in asked():
        problem, other = bank()[place], bank()[nearest(place)]
        prompts = [task_messages(problem), with_note(problem, status_note(other))]
        if teach:
            note, turns = told_twice(teach, other)
            prompts += [with_note(problem, note), [*turns, *task_messages(problem)]]
        for values, messages in zip(arms.values(), prompts, strict=True):
            values.append(outcome(problem, messages))
    return {name: np.array(values) for name, values in arms.items()}


def measured(teach: Callable[[Problem], object]) -> object:
    """The paired difference, or a sentence about prompts without a recorded answer."""
    if teach(bank()[asked()[0]]) is TODO:
        return TODO
    arms = lesson_outcomes(teach)
    missing = int(np.isnan(arms["your worked example"]).sum())
    if missing:
        return f"no recorded answer to {missing} of {len(asked())} prompts"
    return gain(arms["your worked example"], arms["status line"])


def lesson_table(teach: Callable[[Problem], object]) -> None:
    """Print how many of the problems each way of telling the same lessons solves, beside no lesson."""
    def rows() -> list[str]:
        if teach(bank()[0]) is TODO:
            raise NotAttempted
        arms = lesson_outcomes(teach)
        lines = [f"{'arm':<20} {'solved':>6} of {len(asked())}   difference to no lesson"]
        for name, values in arms.items():
            missing = int(np.isnan(values).sum())
            said = f"no recorded answer to {missing} of them" if missing else str(gain(values, arms["no lesson"]))
            lines.append(f"{name:<20} {np.nansum(values):>6.0f}         {'' if name == 'no lesson' else said}".rstrip())
        return lines
    told(rows)


def _as_lists(lesson: object) -> list[object]:
    note, turns = lesson
    return [note, [[turn["role"], turn["content"]] for turn in turns]]
