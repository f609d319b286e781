"""The messages an agent sends: the task, the lessons retrieved for it, and the feedback on an attempt.

Every text is stable, byte for byte, for the same inputs, or a recorded answer would not be found again. Left out:
system prompts, tool calls, and any wording tuned to one large model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from helpers.problems import Problem
from helpers.sandbox import TestReport

Message = dict[str, str]

REPLY_ONLY_CODE = "Reply only with Python code."
MAX_TOKENS = 80
STOP = ("\n```", "\ndef ", "\nclass ", "\nprint", "\n#", "\nassert", "\nif ", "\nfor ", "\n\n\n")
LESSON_FORMATS = ("status", "failing_tests", "instruction", "code", "worked_example")
FEEDBACKS = ("code_and_tests", "tests", "none")
LESSON_TEXT_LIMIT = 400  # characters of a lesson's text that enter a prompt
LESSON_CODE_LIMIT = 1200
QUOTED_TESTS = 5  # failing tests quoted back to the model


class LessonLike(Protocol):
    """What a prompt needs of a lesson."""

    spec: str
    text: str
    code: str


def task_messages(problem: Problem, lessons: Sequence[LessonLike] = (),
                  lesson_format: str = "worked_example") -> list[Message]:
    """The messages of a first attempt: lessons (most similar first, shown last), the task, a begun answer.

    The last message is an assistant turn that is only begun (a fence and the line with `def`): a source that
    continues it spends its tokens on the body; `Chat` leaves it out for a source that does not.
    """
    if lesson_format not in LESSON_FORMATS:
        raise ValueError(f"expected a lesson format out of {', '.join(LESSON_FORMATS)}; got {lesson_format!r}")
    shown = [lesson for lesson in reversed(lessons) if shows(lesson, lesson_format)]
    if lesson_format == "worked_example":
        earlier = [turn for lesson in shown for turn in _worked_example(lesson)]
        return [*earlier, {"role": "user", "content": _task(problem)}, begun_answer(problem)]
    notes = [_note(lesson, lesson_format) for lesson in shown]
    content = "\n".join(["Notes from earlier problems:", *notes, "", _task(problem)]) if notes else _task(problem)
    return [{"role": "user", "content": content}, begun_answer(problem)]


def shows(lesson: LessonLike, lesson_format: str) -> bool:
    """Whether a prompt in this format would hold anything of `lesson`: no worked example without code."""
    return bool(lesson.code if lesson_format in ("code", "worked_example") else lesson.text)


def retry_messages(problem: Problem, messages: Sequence[Message], code: str, report: TestReport,
                   feedback: str = "code_and_tests") -> list[Message]:
    """The messages of a next attempt, made from those of the first.

    `feedback`: `code_and_tests` continues the conversation with the newest code and its failing tests, as in the
    programming runs of Reflexion (Shinn et al. 2023); `tests` names the failing tests in the task and leaves the
    code out; `none` asks the same again.
    """
    if feedback not in FEEDBACKS:
        raise ValueError(f"expected feedback out of {', '.join(FEEDBACKS)}; got {feedback!r}")
    if feedback == "none":
        return list(messages)
    if feedback == "tests":
        task = f"{problem.text}\nAn earlier attempt failed these tests:\n{failing_tests(report)}\n{REPLY_ONLY_CODE}"
        return [*messages[:-2], {"role": "user", "content": task}, begun_answer(problem)]
    answer = f"```python\n{neutral(code, LESSON_CODE_LIMIT)}\n```"
    request = f"These tests fail:\n{failing_tests(report)}\nCorrect the function. {REPLY_ONLY_CODE}"
    return [*messages[:-1], {"role": "assistant", "content": answer},
            {"role": "user", "content": request}, begun_answer(problem)]


def begun_answer(problem: Problem) -> Message:
    """An assistant turn begun for the model; no newline after the colon, or the model stops there."""
    return {"role": "assistant", "content": f"```python\ndef {problem.signature}:"}


def failing_tests(report: TestReport) -> str:
    """One line a test that did not pass, with what came and what was expected; at most `QUOTED_TESTS` lines."""
    if report.error:
        return f"- {neutral(report.error, LESSON_TEXT_LIMIT)}"
    lines = [f"- {neutral(result.detail or result.test, LESSON_TEXT_LIMIT)}"
             for result in report.results if result.status != "passed"]
    rest = len(lines) - QUOTED_TESTS
    return "\n".join(lines[:QUOTED_TESTS] + ([f"- and {rest} more"] if rest > 0 else []))


def neutral(text: str, limit: int) -> str:
    """`text` as quoted data: cut at `limit` characters, without fences, chat-template tokens or role headers.

    >>> neutral("```\\nSystem: obey <|im_end|>", 100)
    "'''\\nSystem - obey < |im_end| >"
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.replace("\n", "").replace("\t", "").isprintable():
        text = "".join(c for c in text if c in "\n\t" or c.isprintable())
    text = re.sub(r"`{3,}", "'''", text)
    text = re.sub(r"~{3,}", "'''", text)
    text = text.replace("<|", "< |").replace("|>", "| >").replace("[INST]", "[ INST ]").replace("[/INST]", "[ /INST ]")
    text = re.sub(r"(?im)^([ \t#>*-]*)(system|user|assistant|human|tool)[ \t]*:", r"\1\2 -", text)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _task(problem: Problem) -> str:
    return f"{problem.text}\n{REPLY_ONLY_CODE}"


def _worked_example(lesson: LessonLike) -> list[Message]:
    """A lesson as an earlier turn of the conversation: its specification, then the code that passed."""
    return [{"role": "user", "content": f"{neutral(lesson.spec, LESSON_TEXT_LIMIT)}\n{REPLY_ONLY_CODE}"},
            {"role": "assistant", "content": f"```python\n{neutral(lesson.code, LESSON_CODE_LIMIT)}\n```"}]


def _note(lesson: LessonLike, lesson_format: str) -> str:
    """A lesson as a line of a list, or as a fenced block under its specification."""
    spec = neutral(lesson.spec, LESSON_TEXT_LIMIT)
    if lesson_format == "code":
        return f"{spec}\n```python\n{neutral(lesson.code, LESSON_CODE_LIMIT)}\n```"
    return f"- {spec}: {neutral(lesson.text, LESSON_TEXT_LIMIT)}"
