"""The verdict of every answer that the closed world can call for, in one table, so that a policy runs without a model.

Left out: which lessons a policy shows (`helpers.governance`), and the run itself (`helpers.governed_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.code_blocks import extract_code
from helpers.governed_world import DRAWS, MOST_SHOWN, Task, World, ask, prompts
from helpers.llm import Reply
from helpers.reflexion import judged
from helpers.sandbox import TestReport

FAILED, PASSED, UNSUPPORTED, UNKNOWN = 0, 1, 2, -1
Answer = tuple[tuple[int, int], int]  # verdicts under the first and the revised rule, tokens read and written


@dataclass(frozen=True, eq=False)
class Table:
    """Verdicts and tokens by task, by the places of the lessons shown, by draw and by version of the rule.

    A place is one of `world.candidates[task]`; the last place stands for no lesson. verdicts: int8 (tasks, places,
    places, draws, versions), one of FAILED, PASSED, UNSUPPORTED, and UNKNOWN where nothing is recorded. tokens: int32
    (tasks, places, places, draws). Which of two lessons is named first makes no difference.
    """

    world: World
    verdicts: np.ndarray
    tokens: np.ndarray

    @classmethod
    def of(cls, world: World, answer: Callable[[int, tuple[int, ...], int], Answer],
           most: int = MOST_SHOWN) -> Table:
        """The table of what `answer(task, lessons shown, draw)` says of every prompt with at most `most` lessons."""
        tasks, nothing = world.candidates.shape
        verdicts = np.full((tasks, nothing + 1, nothing + 1, len(DRAWS), 2), UNKNOWN, dtype=np.int8)
        tokens = np.zeros(verdicts.shape[:-1], dtype=np.int32)
        for task, shown, draw in every_prompt(world, most):
            place = {int(lesson): p for p, lesson in enumerate(world.candidates[task])}
            a, b = [*(place[lesson] for lesson in shown), nothing, nothing][:2]
            found, spent = answer(task, shown, draw)
            for pair in ((a, b), (b, a)):
                verdicts[(task, *pair, draw)], tokens[(task, *pair, draw)] = found, spent
        return cls(world, verdicts, tokens)

    @property
    def nothing(self) -> int:
        """The place that stands for no lesson."""
        return self.verdicts.shape[1] - 1

    def look(self, task: np.ndarray, places: np.ndarray, draw: np.ndarray,
             version: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Verdict and tokens of each stream's episode, (streams,) each; places: int (streams, k), draw and version
        (streams,). ValueError for an answer that is not in the table."""
        places = np.asarray(places)
        if not 1 <= places.shape[-1] <= MOST_SHOWN:
            raise ValueError(f"expected 1 to {MOST_SHOWN} places an episode, got {places.shape[-1]}")
        key = (task, places[..., 0], places[..., 1] if places.shape[-1] == 2 else self.nothing, draw)
        verdicts = self.verdicts[(*key, version)]
        if (verdicts == UNKNOWN).any():
            raise ValueError(f"expected recorded answers, but the table has none for {int((verdicts < 0).sum())} "
                             f"of {verdicts.size} episodes with {places.shape[-1]} places; build it with more lessons")
        return verdicts, self.tokens[key]

    def without_memory(self, version: int = 0) -> float:
        """Success rate of all tasks when no lesson is shown, over the draws."""
        return float((self.verdicts[:, self.nothing, self.nothing, :, version] == PASSED).mean())

    def save(self, path: Path) -> None:
        """Write the table with the fingerprint of its world."""
        np.savez_compressed(path, verdicts=self.verdicts, tokens=self.tokens, world=np.array(self.world.fingerprint))


def load_table(path: Path, world: World) -> Table:
    """The table that `Table.save` wrote; ValueError when it belongs to another world than `world`."""
    with np.load(path) as kept:
        if str(kept["world"]) != world.fingerprint:
            raise ValueError(f"{Path(path).name}: expected the answers of world {world.fingerprint}, got those of "
                             f"{kept['world']}; build the table again with build_table(world, chat)")
        return Table(world, kept["verdicts"], kept["tokens"])


def every_prompt(world: World, most: int = MOST_SHOWN) -> Iterable[tuple[int, tuple[int, ...], int]]:
    """(task, lessons shown, draw) of all prompts with at most `most` lessons."""
    return (prompt for k in range(most + 1) for prompt in prompts(world, k))


def build_table(world: World, chat: Callable[..., Reply], *, most: int = MOST_SHOWN,
                judge: Callable[..., TestReport] = judged) -> Table:
    """Ask (or replay) every prompt, and run each different code of a task once, against the tests of both versions."""
    wanted = list(every_prompt(world, most))
    with ThreadPoolExecutor(getattr(chat, "parallel", 1)) as workers:
        replies = dict(zip(wanted, workers.map(lambda prompt: ask(world, chat, *prompt), wanted), strict=True))
        codes = {prompt: extract_code(reply.text, world.tasks[prompt[0]].entry_point)
                 for prompt, reply in replies.items()}
        different = list(dict.fromkeys((prompt[0], code) for prompt, code in codes.items()))
        found = workers.map(lambda one: both_verdicts(world.tasks[one[0]], one[1], judge), different)
        verdicts = dict(zip(different, found, strict=True))

    def answer(*prompt: object) -> Answer:
        reply = replies[prompt]
        return verdicts[prompt[0], codes[prompt]], reply.prompt_tokens + reply.completion_tokens

    return Table.of(world, answer, most)


def both_verdicts(task: Task, code: str, judge: Callable[..., TestReport] = judged) -> tuple[int, int]:
    """Verdict of `code` under the first rule and under the revised one, from one run of the tests of both."""
    report = judge(code, task.tests[0] + task.tests[1])
    first = len(task.tests[0])
    return _verdict(report, slice(0, first)), _verdict(report, slice(first, None))


def _verdict(report: TestReport, part: slice) -> int:
    statuses = {result.status for result in report.results[part]}
    if report.error is None and statuses == {"passed"}:
        return PASSED
    return UNSUPPORTED if statuses - {"passed"} == {"unsupported"} else FAILED
