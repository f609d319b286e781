"""Answers that notebook 04 recorded, for exercises: who is asked, which lesson is the nearest, and what came of it.

Only the most probable answer (temperature 0) to the first problems of each family is asked for, to be quick; the
whole bench is notebook 04. Left out: asking a model what was never recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from helpers.arms import judge_once
from helpers.embeddings import BagOfWords
from helpers.exercises import NotAttempted
from helpers.lessons import Lesson
from helpers.llm import Chat, connect
from helpers.plain_data import one_line, without_paths
from helpers.problems import Problem, families, load_problems
from helpers.prompts import MAX_TOKENS, STOP, Message
from helpers.ranking import cosines
from helpers.reflexion import attempt
from helpers.request_key import canonical_request, digest
from helpers.stats import Difference, paired_difference

TRANSCRIPT = "04_memory_augmented_reflexion"
EACH = 4                       # problems of each family
OUT_OF_REACH = "rules_concat"  # a family that this model solves in no arm of notebook 04


@dataclass(frozen=True, eq=False)
class Shelf:
    """Lessons by place: the family each belongs to and the problem it was learnt from, str (n,) each."""

    families: np.ndarray
    sources: np.ndarray


@cache
def bank() -> tuple[Problem, ...]:
    """All problems."""
    return tuple(load_problems())


@cache
def shelf() -> Shelf:
    """The reviewed lessons of all problems; the lesson at a place is that of the problem at this place."""
    return Shelf(np.array([p.family for p in bank()]), np.array([p.id for p in bank()]))


def lesson(place: int) -> Lesson:
    """The reviewed lesson at a place of the shelf."""
    problem = bank()[place]
    return Lesson(place, problem.text, problem.instruction, problem.solution, problem.id, problem.family)


@cache
def similarity() -> np.ndarray:
    """Cosine of every problem with every lesson by bag of words, float (problems, lessons)."""
    texts = [p.text for p in bank()]
    return cosines(BagOfWords().fit(texts).embed(texts))


@cache
def asked() -> tuple[int, ...]:
    """Places of the problems that are asked: the first ones of each family."""
    chosen = [p for name, group in families(bank()).items() if name != OUT_OF_REACH for p in group[:EACH]]
    return tuple(map(bank().index, chosen))


@cache
def recorded() -> Chat:
    """The answers of notebook 04, and nobody else's."""
    return connect(TRANSCRIPT, source="replay")


def outcome(problem: Problem, messages: Sequence[Message]) -> float:
    """1 when the recorded answer to `messages` passes every test of `problem`, 0 when not, NaN without one."""
    return _outcome(problem, tuple((message["role"], message["content"]) for message in messages))


@cache
def _outcome(problem: Problem, turns: tuple[tuple[str, str], ...]) -> float:
    chat, messages = recorded(), [{"role": role, "content": content} for role, content in turns]
    request = canonical_request({"model": chat.model, "messages": messages, "temperature": 0.0, "seed": 0,
                                 "max_tokens": MAX_TOKENS, "stop": list(STOP)})
    if digest(request) not in chat.transcript.exchanges:
        return float("nan")
    return float(attempt(problem, chat, messages, judge=judge_once).verdict == "passed")


def nearest(place: int, own: bool | None = None) -> int:
    """The lesson of another problem that is most similar; of its own family, of another, or of any (`None`)."""
    same = shelf().families == shelf().families[place]
    allowed = (shelf().sources != shelf().sources[place]) & (True if own is None else same == own)
    return int(np.where(allowed, similarity()[place], -np.inf).argmax())


def told(make: Callable[[], list[str]]) -> None:
    """Print the lines of a table, or why there is none: an answer that is missing or wrong never stops a notebook."""
    try:
        print("\n".join(make()))
    except NotAttempted:
        print("no table yet: the answer is not attempted")
    except Exception as error:  # the check below says more
        print(f"no table: {type(error).__name__}: {one_line(without_paths(str(error)))}")


def gain(treated: Sequence[float], control: Sequence[float]) -> Difference:
    """The paired difference of two arms, NaN left out of both; one seed, so that it is the same in every run."""
    a, b = np.asarray(treated, float), np.asarray(control, float)
    both = np.isfinite(a) & np.isfinite(b)
    return paired_difference(a[both], b[both], rng=np.random.default_rng(9))
