"""Checks of exercises 5 and 6: worth and its four labels from a log, and counters that fade.

Left out: the exercises themselves, which stand in notebook 09, and what an agent does with a label.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from helpers import theory
from helpers.exercises import Part, check
from helpers.parameters import number
from helpers.worlds import drift, uniform
from helpers.worth import MemoryWorth, counters, discounted

HAND = [("AB", "success"), ("AC", "failure"), ("BC", "success"), ("A", "success"), ("AB", "infrastructure"),
        ("BC", "failure")]
LETTERS = "ABCDEFGHIJKL"
WIDTH = 0.2                          # of an interval that leaves a memory uncertain
LAG, BEFORE, AFTER, HALT = 30, 0.9, 0.4, 0.5  # retrievals; success rates around a change; worth to be reached
SLACK = 1                            # retrievals by which the lag may be off
MEMORIES, LONG = 40, 100             # that change, and their retrievals before they do


# --- exercise 5 ---------------------------------------------------------------------------------------------------

@check(number=5, title="Worth by hand")
def check_judge(judge: Callable[..., object]) -> list[Part]:
    """Counters from a log kept by hand, labels of made-up logs, and both on a small world beside `MemoryWorth`."""
    log = ("HAND", HAND)
    return [
        counted(judge, log, "A", (2, 1), "A has two successes, one failure, and an episode that broke down and says "
                "nothing about A: `infrastructure` moves neither counter."),
        counted(judge, log, "C", (1, 2), "Successes move the first counter and failures the second, in the order "
                "(plus, minus)."),
        Part('judge(HAND, "D")', lambda: tuple(judge(HAND.copy(), "D")), (0, 0, "uncertain"),
             why="D was never retrieved. Without evidence there is nothing to divide: 0/0 is not 0, and no memory is "
                 "low for never having been asked."),
        labelled(judge, (3, 0), (50, 53), "uncertain", "Three of three is luck as likely as merit: its interval "
                 "holds the base rate and is wide. The ratio alone would say high."),
        labelled(judge, (16, 4), (84, 96), "high", "The whole interval is above the base rate. That settles it, "
                 "however wide the interval is: look at its ends first, at its width last."),
        labelled(judge, (45, 55), (55, 245), "high", "Episodes succeed a quarter of the time here, with A nearly half "
                 "of the time. High and low are relative to the base rate of all episodes, not to fixed numbers."),
        labelled(judge, (60, 40), (260, 40), "low", "Episodes succeed in 80 % of the cases here, and with A in 60 %: "
                 "the whole interval is below the base rate."),
        labelled(judge, (200, 200), (100, 100), "mixed", "Much evidence, and the narrow interval holds the base rate: "
                 "there is nothing to wait for, so this is not uncertain."),
        labelled(judge, (12, 8), (48, 52), "uncertain", "The 60 episodes that broke down are no failures: they do "
                 "not count in the base rate either.", broken=60),
        *in_a_world(judge)]


def counted(judge: Callable[..., object], log: tuple[str, list], name: str, expected: tuple, why: str) -> Part:
    """The two counters of one memory."""
    return Part(f'judge({log[0]}, "{name}")[:2]', lambda: tuple(judge(log[1].copy(), name)[:2]), expected, why=why)


def labelled(judge: Callable[..., object], own: tuple[int, int], others: tuple[int, int], expected: str, why: str, *,
             broken: int = 0) -> Part:
    """The label of A with `own` successes and failures, where B had `others` and `broken` episodes broke down."""
    amounts = {("A", "success"): own[0], ("A", "failure"): own[1], ("B", "success"): others[0],
               ("B", "failure"): others[1], ("B", "infrastructure"): broken}
    log = [episode for episode, times in amounts.items() for _ in range(times)]
    typed = " + ".join(f"{times} * [{episode}]" for episode, times in amounts.items() if times)
    return Part(f'judge({typed}, "A")[2]', lambda: judge(log.copy(), "A")[2], expected, why=why)


def in_a_world(judge: Callable[..., object]) -> list[Part]:
    """Counters and labels of every memory in `small_log`."""
    log, worth, labels = small_log()
    hits = [(int(plus), int(minus)) for plus, minus in zip(worth.hits_plus, worth.hits_minus, strict=True)]

    return [
        Part(f'[judge(log, name)[:2] for name in "{LETTERS}"]',
             lambda: [tuple(judge(log.copy(), name)[:2]) for name in LETTERS], hits,
             why="The counters of every memory in a log of 500 episodes, as `helpers.worth` counts them."),
        Part(f'[judge(log, name)[2] for name in "{LETTERS}"]', lambda: [judge(log.copy(), name)[2] for name in LETTERS],
             labels, points=2, why="Their labels, from the Wilson interval that `proportion_interval` gives and the "
                                   "success rate of all 500 episodes.")]


@cache
def small_log() -> tuple[list[tuple[str, str]], MemoryWorth, list[str]]:
    """A log of 500 episodes with 12 memories, some of them popular, the counters after it, and the labels."""
    stream = uniform([5], n=len(LETTERS), k=3, episodes=500, popularity=1.2).stream.run(0)
    log = [("".join(LETTERS[m] for m in ids), "success" if won else "failure")
           for ids, won in zip(stream.retrieved, stream.success, strict=True)]
    worth, base = counters(stream), stream.success.mean()
    low, high = worth.interval()
    labels = np.select([low > base, high < base, high - low > WIDTH], ["high", "low", "uncertain"], "mixed")
    return log, worth, labels.tolist()


# --- exercise 6 ---------------------------------------------------------------------------------------------------

@check(number=6, title="Worth under drift")
def check_fade(answer: tuple[Callable[..., object], object]) -> list[Part]:
    """`fade` on logs worked by hand and beside `discounted`; the lag that GAMMA gives by formula and in a world."""
    fade, gamma = answer
    return [
        faded(fade, [("A", True), ("A", False)], 0.25, 0.2, "The failure first multiplies both counters by 0.25 and "
              "then adds one to minus: 0.25 / (0.25 + 1). Discounting only the counter that moves leaves the old "
              "success at full weight."),
        faded(fade, [("A", True), ("A", False), ("A", True)], 0.5, 1.25 / 1.75, "Plus is 0.25 + 1, minus 0.5: "
              "an outcome counts γ to the power of how many retrievals of A came after it."),
        faded(fade, [("A", True)], 0.9, 1.0, "One retrieval, one success: the worth is 1. Counters start at 0, "
              "without a prior and not at one half."),
        faded(fade, [("A", True), ("B", False), ("B", False), ("B", False), ("A", False)], 0.5, 1 / 3,
              "Three episodes passed without A. Only retrievals of A age A's counters; with every episode as the "
              "clock, a rarely used memory would forget what it has shown."),
        faded(fade, [("AB", True), ("B", False)], 0.5, 1.0, "Every memory of an episode is moved, and B's failure is "
              "none of A's."),
        faded(fade, [("A", True)] * 3 + [("A", False)], 1.0, 0.75, "With γ = 1 nothing is forgotten: plain worth."),
        Part("fade([], 0.9)", lambda: fade([], 0.9), {}, why="No episode, no memory, no worth."),
        beside_helpers(fade),
        Part("theory.discounted_lag(GAMMA, …)", partial(formula_lag, gamma), accept=lag_is_right,
             expected=f"{LAG} retrievals, give or take {SLACK}", points=3,
             why=f"After a long past at {BEFORE} the worth is {AFTER} + ({BEFORE} − {AFTER})·γ^m after m retrievals at "
                 f"{AFTER}; it is to be {HALT} at m = {LAG}. The half-life and 1/(1 − γ) answer other questions."),
        Part(f"mean worth of {MEMORIES} memories, fade(log, GAMMA)", partial(simulated, fade, gamma), accept=near_halt,
             expected=f"within 0.05 of {HALT}", points=2,
             why=f"In a world in which the memories fall from {BEFORE} to {AFTER}: their worth {LAG} retrievals later. "
                 "Above, the counters still remember too much; below, they forget too fast.")]


def faded(fade: Callable[..., object], log: list[tuple[str, bool]], gamma: float, expected: float, why: str) -> Part:
    """The discounted worth of A after a log."""
    return Part(f'fade({log}, {gamma})["A"]', lambda: fade(log, gamma)["A"], expected, why=why)


def beside_helpers(fade: Callable[..., object]) -> Part:
    """All worths after a random log, against `helpers.worth.discounted`."""
    stream = uniform([6], n=len(LETTERS), k=3, episodes=200).stream.run(0)
    log = [("".join(LETTERS[m] for m in ids), bool(won))
           for ids, won in zip(stream.retrieved, stream.success, strict=True)]

    def all_worths() -> list[float]:
        worth = fade(log, 0.9)
        return [round(worth[name], 3) for name in LETTERS]

    return Part(f'[fade(log, 0.9)[name] for name in "{LETTERS}"]', all_worths, discounted(stream, gamma=0.9).round(3),
                why="Twelve memories, 200 episodes, three of them in each, as `helpers.worth.discounted` counts them.")


def formula_lag(gamma: object) -> float:
    """Retrievals until discounted counters with that γ reach `HALT`, by formula.

    >>> formula_lag(0.5)  # a fifth of the distance is left after log(1/5) / log(1/2)
    2.3
    """
    gamma = number("GAMMA", gamma, above=0, below=1)
    return round(theory.discounted_lag(gamma, p_before=BEFORE, p_after=AFTER, threshold=HALT), 1)


def lag_is_right(found: object) -> bool:
    """Whether a lag is the one asked for."""
    return abs(found - LAG) <= SLACK


def near_halt(found: object) -> bool:
    """Whether a mean worth is as near to `HALT` as so many memories allow: four standard errors."""
    return abs(found - HALT) < 0.05


def simulated(fade: Callable[..., object], gamma: object) -> object:
    """Mean worth of the memories, `LAG` retrievals after each of them changed."""
    return round(float(np.mean(list(fade(drifting_log().copy(), gamma).values()))), 3)


@cache
def drifting_log() -> list[tuple[tuple[int], bool]]:
    """One memory an episode, all of them in turn: `LONG` retrievals of each before its change and `LAG` after it."""
    won = drift(range(MEMORIES), before=BEFORE, after=AFTER, change=LONG, episodes=LONG + LAG).stream.success
    return [((memory,), bool(outcome)) for column in won.T for memory, outcome in enumerate(column)]
