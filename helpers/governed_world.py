"""A closed world of tasks and lessons: whatever a policy of memory does in it, the model's answer is recorded.

Tasks are problems asked without their house rule, so that only a lesson can carry it. Each has a fixed list of
candidate lessons, and a policy shows at most `MOST_SHOWN` of them. Left out: lessons that an agent writes itself, and
the order of the lessons in the prompt, which is always that of the list, the most similar one last.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from helpers.embeddings import BagOfWords
from helpers.llm import Reply
from helpers.problems import Problem, load_problems
from helpers.prompts import MAX_TOKENS, STOP, Message, task_messages
from helpers.settings import DATA

KINDS = ("useful", "generic", "wrong", "successor")
CANDIDATES = 8  # lessons that compete for a task
MOST_SHOWN = 2
# Two draws, one for a task's even visits and one for the odd ones. Temperature 0 would answer a repeated task with
# the same text, and at 0.6 this model loses much of what a lesson teaches.
TEMPERATURE, DRAWS = 0.3, (1, 2)


@dataclass(frozen=True)
class Task:
    """A problem with its rule hidden: `text` is the specification alone. `tests[version]` judge an answer, version 0
    by the first house rule and version 1 by the revised one."""

    id: str
    family: str
    signature: str
    text: str
    tests: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def entry_point(self) -> str:
        return self.signature.partition("(")[0]


@dataclass(frozen=True)
class WorldLesson:
    """A lesson with what only its author knows: its `kind`.

    `useful`: reviewed code under its family's first rule, stale once the rule changes; `successor`: the same problem
    under the revised rule; `wrong`: right looking code with another convention, or an error; `generic`: right code
    of no family, which follows no house rule. `source` is the problem it was learnt from, "" for a generic one.
    """

    id: int
    kind: str
    family: str
    source: str
    spec: str
    text: str
    code: str


@dataclass(frozen=True, eq=False)
class World:
    """`candidates[i]` are the lessons that compete for task i, the most similar one first, −1 where there are fewer;
    int (tasks, candidates). `similarity` are their cosines with the task's specification, float of the same shape.
    """

    tasks: tuple[Task, ...]
    lessons: tuple[WorldLesson, ...]
    candidates: np.ndarray
    similarity: np.ndarray

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the task families, in order of first appearance."""
        return tuple(dict.fromkeys(task.family for task in self.tasks))

    @cached_property
    def task_family(self) -> np.ndarray:
        """Place of each task's family in `families`, int (tasks,)."""
        return np.array([self.families.index(task.family) for task in self.tasks])

    @cached_property
    def lesson_family(self) -> np.ndarray:
        """The same of each lesson, −1 for one of no family, int (lessons,)."""
        return np.array([self.families.index(lesson.family) if lesson.family else -1 for lesson in self.lessons])

    @cached_property
    def cosine(self) -> np.ndarray:
        """Similarity of every task with every lesson that is a candidate of it, else 0; float (tasks, lessons)."""
        full = np.zeros((len(self.tasks), len(self.lessons)))
        rows, places = np.nonzero(self.candidates >= 0)
        full[rows, self.candidates[rows, places]] = self.similarity[rows, places]
        return full

    @cached_property
    def good(self) -> np.ndarray:
        """Whether a lesson holds the rule that a task is judged by, bool (versions, tasks, lessons)."""
        own = self.task_family[:, None] == self.lesson_family  # (tasks, lessons)
        return np.stack([own & self.of_kind(kind) for kind in ("useful", "successor")])

    def of_kind(self, *kinds: str) -> np.ndarray:
        """Which lessons are of one of these kinds, bool (lessons,); ValueError for a kind there is not."""
        if unknown := sorted(set(kinds) - set(KINDS)):
            raise ValueError(f"expected kinds out of {', '.join(KINDS)}; got {unknown[0]!r}")
        return np.array([lesson.kind in kinds for lesson in self.lessons])

    @property
    def fingerprint(self) -> str:
        """What was asked, as 16 hexadecimal digits: it changes with any task, lesson or list of candidates."""
        texts = [dataclasses.astuple(one) for one in (*self.tasks, *self.lessons)]
        content = [texts, self.candidates.tolist(), TEMPERATURE, DRAWS]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    def messages(self, task: int, shown: tuple[int, ...]) -> list[Message]:
        """The prompt of a task with lessons shown, as ids; the most similar one stands last, however they are given.

        ValueError when a lesson is no candidate of the task, or stands there twice.
        """
        places = {int(lesson): place for place, lesson in enumerate(self.candidates[task]) if lesson >= 0}
        name = self.tasks[task].id
        if unknown := [lesson for lesson in shown if lesson not in places]:
            raise ValueError(f"task {name!r}: expected lessons out of {sorted(places)}, got {unknown[0]}")
        if len(set(shown)) < len(shown):
            raise ValueError(f"task {name!r}: expected each lesson once, got {list(shown)}")
        return task_messages(self.tasks[task], [self.lessons[i] for i in sorted(shown, key=places.__getitem__)])

    def choices(self, task: int, k: int) -> Iterator[tuple[int, ...]]:
        """Every set of exactly k candidates of a task, as ids in the order of the list."""
        return itertools.combinations([int(lesson) for lesson in self.candidates[task] if lesson >= 0], k)


def load_world(path: str | Path | None = None, problems: list[Problem] | None = None) -> World:
    """The world of data/governed_lessons.json, or of another file of that form.

    A task's candidates are the `CANDIDATES` lessons of its family or of none that are most similar by bag of words,
    its own problem's left out, ties by id. All problems of the named families are tasks. ValueError naming a problem
    that is in none of the families.
    """
    path = DATA / "governed_lessons.json" if path is None else Path(path)
    raw = json.loads(path.read_text(encoding="utf-8"))
    bank = {problem.id: problem for problem in (load_problems() if problems is None else problems)}
    bank = {name: problem for name, problem in bank.items() if problem.family in raw["families"]}
    named = [*(name for entry in raw["families"].values() for name in entry["reviewed"]),
             *(entry["source"] for entry in raw["wrong"])]
    if unknown := [name for name in named if name not in bank]:
        raise ValueError(f"{path.name}: expected problems of the families {', '.join(raw['families'])}; got "
                         f"{unknown[0]!r}")
    tasks = tuple(_task(problem) for problem in bank.values())
    lessons = _lessons(raw, bank)
    return World(tasks, lessons, *_candidates(tasks, lessons))


def prompts(world: World, k: int) -> list[tuple[int, tuple[int, ...], int]]:
    """(task, lessons shown, draw) of every answer with exactly k lessons; one draw after the other."""
    return [(task, shown, draw) for draw in range(len(DRAWS)) for task in range(len(world.tasks))
            for shown in world.choices(task, k)]


def ask(world: World, chat: Callable[..., Reply], task: int, shown: tuple[int, ...], draw: int) -> Reply:
    """The model's answer to a task with lessons shown; `draw` is a place in `DRAWS`."""
    return chat(world.messages(task, shown), temperature=TEMPERATURE, max_tokens=MAX_TOKENS, seed=1000 * DRAWS[draw],
                stop=list(STOP))


def _task(problem: Problem) -> Task:
    if problem.revised is None:
        raise ValueError(f"problem {problem.id!r}: expected a family with a revised rule, got {problem.family!r}")
    return Task(problem.id, problem.family, problem.signature, problem.spec, (problem.tests, problem.revised.tests))


def _lessons(raw: dict, bank: dict[str, Problem]) -> tuple[WorldLesson, ...]:
    """All lessons, numbered in an order that says nothing of their kind: ties go to the smaller id."""
    found = []
    for family, entry in raw["families"].items():
        for problem in (bank[name] for name in entry["reviewed"]):
            new = problem.revised
            found += [("useful", family, problem.id, problem.spec, problem.instruction, problem.solution),
                      ("successor", family, problem.id, problem.spec, new.instruction, new.solution)]
    for entry in raw["wrong"]:
        problem = bank[entry["source"]]
        found.append(("wrong", problem.family, problem.id, problem.spec, entry["text"], entry["code"]))
    found += [("generic", "", "", entry["spec"], entry["text"], entry["code"]) for entry in raw["generic"]]
    found.sort(key=lambda fields: zlib.crc32((fields[3] + fields[5]).encode()))
    return tuple(WorldLesson(number, *fields) for number, fields in enumerate(found))


def _candidates(tasks: tuple[Task, ...], lessons: tuple[WorldLesson, ...]) -> tuple[np.ndarray, np.ndarray]:
    specs = [task.text for task in tasks], [lesson.spec for lesson in lessons]
    words = BagOfWords().fit([*specs[0], *specs[1]])
    cosine = np.round(words.embed(specs[0]).astype(np.float64) @ words.embed(specs[1]).T, 6)  # (tasks, lessons)
    may = np.array([[lesson.family in (task.family, "") and lesson.source != task.id for lesson in lessons]
                    for task in tasks])
    cosine = np.where(may, cosine, -np.inf)
    order = np.argsort(-cosine, axis=1, kind="stable")[:, :CANDIDATES]  # (tasks, candidates)
    similarity = np.take_along_axis(cosine, order, axis=1)
    return np.where(np.isfinite(similarity), order, -1), np.where(np.isfinite(similarity), similarity, 0.0)
