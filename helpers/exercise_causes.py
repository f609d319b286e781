"""Checks of exercises 7 and 8: residual worth, and a test by memory dropout that finds a hitchhiker.

Left out: task types that have to be guessed, and more than two memories that travel together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.special import ndtr

from helpers import theory
from helpers.exercises import TODO, NotAttempted, Part, check
from helpers.parameters import number
from helpers.worlds import USEFUL, USELESS, World, difficulty, hitchhiker
from helpers.worth import Stream, exclusive_test, naive_test, plain, residual, spearman

RUNS, BELOW = 3, 0.6  # worlds whose ρ is shown; a ρ that says the order was not mended
# Invented: three easy tasks (type 0) that succeed and one that fails, then a hard one (type 1) of each.
SIX = {"retrieved": [[0, 1], [0, 1], [0, 2], [1, 2], [1, 2], [0, 1]], "success": [1, 1, 1, 0, 1, 0],
       "task_type": [0, 0, 0, 0, 1, 1]}
EPSILON, POWER, LEVEL_Z = 0.1, 0.8, 1.96
MOST, PAIRS = 4000, 150  # episodes that are simulated of each pair, and pairs


# --- exercise 7 ---------------------------------------------------------------------------------------------------

@check(number=7, title="Task difficulty")
def check_residual(answer: Callable[..., object]) -> list[Part]:
    """Six episodes by hand, a memory without any, a specialist, and the world of notebook 06."""
    six = residual(Stream(**SIX, n=4))
    world = difficulty_worlds().stream.run(0)
    truth = difficulty_worlds().utility[0]

    @cache  # two parts look at it, and a slow answer takes seconds
    def values() -> np.ndarray:
        return floats(on_run(answer, world))

    return [
        Part("residual_worth(*SIX.values(), 4)[:3]", lambda: six_by(answer)[:3], six[:3], points=2,
             why="Easy tasks succeed in 3 of 4 cases, hard ones in 1 of 2. Memory 0: three easy successes and a hard "
                 "failure, (3 · 0.25 − 0.5) / 4. Each retrieval counts, also when a memory comes again and again: "
                 "`total[retrieved] += …` adds once only."),
        Part("residual_worth(*SIX.values(), 4)[3]", lambda: six_by(answer)[3], 0.0,
             why="Memory 3 was never retrieved: no surprise, 0. A residual is centred on 0; 0.5 would be the best "
                 "memory of all, and 0/0 is not a number."),
        Part("residual_worth([[0], [0], [1], [1]], [1, 1, 1, 0], [0, 0, 1, 1], 2)", partial(specialist, answer),
             np.array([0.0, 0.0]), why="Memory 0 always succeeds where everything succeeds, memory 1 half of the time "
                                       "where half succeeds: neither surprises. Against the rate of all tasks the one "
                                       "used on easy tasks looks good for its tasks."),
        Part("largest distance from helpers.worth.residual in the world of notebook 06",
             lambda: np.abs(values() - residual(world)).max().round(6), 0.0, points=2,
             why="10,000 episodes, 100 memories. The success rate of a type is taken over all of its episodes, not "
                 "over those of one memory, and the mean over the memory's own retrievals."),
        Part("ρ of residual_worth with the true utility there",
             lambda: round(float(spearman(values(), truth)), 2), accept=mended,
             expected=f"above {BELOW}", points=2,
             why=f"Plain worth has ρ = {float(spearman(plain(world), truth)):.2f} there. Subtracting the mean of all "
                 "outcomes changes no order; the rate must be that of the episode's task type.")]


def on_run(answer: Callable[..., object], run: Stream) -> object:
    """The answer for a stream of one run, in arrays that it may change."""
    return answer(run.retrieved.copy(), run.success.copy(), run.task_type.copy(), run.n)


def floats(found: object) -> np.ndarray:
    """What an answer gave, as an array of floats, rounded to six digits.

    >>> floats([0.1 + 0.2])
    array([0.3])
    """
    if found is TODO:
        raise NotAttempted
    return np.asarray(found, dtype=float).round(6)


def six_by(answer: Callable[..., object]) -> np.ndarray:
    """The answer for `SIX`."""
    return floats(answer(*map(np.array, SIX.values()), 4))


def specialist(answer: Callable[..., object]) -> np.ndarray:
    """The answer for two memories, each used on one type of task only."""
    return floats(answer(np.array([[0], [0], [1], [1]]), np.array([1, 1, 1, 0]), np.array([0, 0, 1, 1]), 2))


def mended(found: object) -> bool:
    """Whether a rank correlation says that the order was mended."""
    return found > BELOW


@cache
def difficulty_worlds() -> World:
    """The world of notebook 06 in which good memories meet hard tasks."""
    return difficulty(range(RUNS))


def before_and_after(answer: Callable[..., object]) -> None:
    """Print ρ with the true utility, run by run: plain worth and what `answer` gives; a line where it gives nothing."""
    world = difficulty_worlds()
    try:
        found = [floats(on_run(answer, world.stream.run(run))) for run in range(RUNS)]
        after = spearman(np.array(found), world.utility)
    except NotAttempted:
        print("ρ before and after: comes when residual_worth is written")
        return
    except (Exception, SystemExit) as error:  # the reader's function raised it; the notebook goes on
        print(f"ρ before and after: residual_worth stopped with {type(error).__name__}; the check says more")
        return
    before = spearman(plain(world.stream), world.utility)
    print("run    plain   yours")
    for run, pair in enumerate(zip(before, after, strict=True)):
        print(f"{run:<4} {pair[0]:>+7.2f} {pair[1]:>+7.2f}")
    print(f"mean {before.mean():>+7.2f} {after.mean():>+7.2f}")


# --- exercise 8 ---------------------------------------------------------------------------------------------------

@check(number=8, title="Hitchhiker")
def check_dropout(answer: tuple[Callable[..., object], object]) -> list[Part]:
    """`dropout_test` by hand and on pairs that are always retrieved together; the power at EPISODES_NEEDED."""
    test, needed = answer
    return [
        p_of(test, (30, 10), (18, 22), 0, "30 of 40 against 18 of 40 with the pooled rate 48 of 80: z = 2.74. A "
               "one-sided p-value is half of this one."),
        p_of(test, (18, 22), (30, 10), 0, "The same with a and b exchanged: a two-sided p-value does not change. "
               "Take |z|."),
        p_of(test, (30, 10), (18, 22), 200, "Episodes that showed both or neither were added. They cannot tell a "
               "and b apart: compare those that showed exactly a with those that showed exactly b, not all with a "
               "and all without."),
        p_of(test, (0, 0), (0, 0), 200, "No episode showed just one of them: no evidence, p = 1."),
        p_of(test, (20, 0), (20, 0), 0, "Everything succeeded: the difference is 0 and so is its error. That is no "
               "evidence against equal memories: p = 1, not NaN."),
        Part(f"share of 60 runs with dropout_test(…) < 0.05, {MOST:,} episodes", partial(found_by, test, MOST, runs=60),
             accept=at_least(0.8), expected="at least 0.8", points=2,
             why=f"A and H were always retrieved together, each withheld with probability {EPSILON:g}. The naive test, "
                 f"which compares the worths of the two, finds the pair in {naive_power():.2f} of these runs."),
        Part("power with EPISODES_NEEDED by formula", partial(formula_power, needed), accept=near_power(0.02),
             expected=f"{POWER} ± 0.02", points=2,
             why="Exactly A is shown in n·ε(1−ε) episodes, exactly H in as many; the difference of their two rates "
                 f"has the variance 2·pq / (n·ε(1−ε)). The power is Φ(D/error − {LEVEL_Z}): for one half, D is "
                 f"{LEVEL_Z} errors; for {POWER}, it must be more."),
        Part(f"share of {PAIRS} runs of EPISODES_NEEDED episodes with dropout_test(…) < 0.05",
             partial(found_by, test, needed), accept=near_power(0.13), expected=f"{POWER} ± 0.13", points=2,
             why="The plan tried out, with your test and your number.")]


def p_of(test: Callable[..., object], a: tuple[int, int], b: tuple[int, int], rest: int, why: str) -> Part:
    """The p-value for successes and failures of a alone and b alone; `rest` episodes showed both, as many neither."""
    amounts = [sum(a), sum(b), rest, rest]
    kept_a, kept_b = (np.repeat(shown, amounts) for shown in ([True, False, True, False], [False, True, True, False]))
    won = np.concatenate([np.repeat([True, False] * 2, [*a, *b]), np.arange(2 * rest) % 2 == 0])
    typed = f"dropout_test(…)  # a alone {a[0]} of {sum(a)}, b alone {b[0]} of {sum(b)}"
    typed += f", both {rest // 2} of {rest}, neither {rest // 2} of {rest}" * (rest > 0)
    return Part(typed, lambda: round(float(test(kept_a.copy(), kept_b.copy(), won.copy())), 4),
                round(p_value(a, b), 4), why=why)


def p_value(a: tuple[int, int], b: tuple[int, int]) -> float:
    """Two-sided p-value of the pooled z test for successes and failures of two memories; 1 without evidence.

    >>> round(p_value((2, 0), (0, 2)), 3)  # 2 of 2 against 0 of 2: z = 1 / sqrt(½ · ½ · (½ + ½)) = 2
    0.046
    """
    stream = Stream([[0, -1]] * sum(a) + [[1, -1]] * sum(b) + [[0, 1]],
                    [True] * a[0] + [False] * a[1] + [True] * b[0] + [False] * b[1] + [True], n=2)
    z = float(exclusive_test(stream, 0, 1).z)
    return 1.0 if np.isnan(z) else float(2 * ndtr(-abs(z)))


def formula_power(needed: object) -> float:
    """Power of the two-sided test at 5 % after so many episodes in which both were retrieved.

    >>> formula_power(0.5 * (1.96 / 0.128)**2 / 0.09)  # D is 1.96 standard errors: half of the runs get beyond
    0.5
    """
    error = np.sqrt(2 * 0.25 / (number("EPISODES_NEEDED", needed, low=1) * EPSILON * (1 - EPSILON)))
    return round(float(ndtr(theory.hitchhiker_gap(1) / error - LEVEL_Z)), 2)


def at_least(share: float) -> Callable[[object], bool]:
    """Accepts that share and more."""
    return lambda found: found >= share


def near_power(slack: float) -> Callable[[object], bool]:
    """Accepts a power within `slack` of the one asked for."""
    return lambda found: abs(found - POWER) <= slack


@cache
def pairs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which episodes showed A, which showed H, and which succeeded: bool (runs, episodes) each; never apart."""
    stream = hitchhiker_stream()
    seen = [((stream.retrieved == memory) & stream.kept).any(axis=-1) for memory in (USEFUL, USELESS)]
    return seen[0], seen[1], stream.success


@cache
def hitchhiker_stream() -> Stream:
    """Pairs that are always retrieved together, with memory dropout."""
    return hitchhiker(range(PAIRS), apart=0, retrievals=MOST, dropout=EPSILON).stream


@cache
def naive_power() -> float:
    """Share of the pairs that the naive test finds."""
    return float(naive_test(hitchhiker_stream(), USEFUL, USELESS).detected().mean())


def found_by(test: Callable[..., object], needed: object, runs: int = PAIRS) -> float:
    """Share of the pairs a reader's test finds at the 5 % level in their first `needed` episodes."""
    n = int(np.ceil(number("EPISODES_NEEDED", needed, low=1, high=MOST)))
    p = [float(test(a[:n].copy(), b[:n].copy(), won[:n].copy()))
         for a, b, won in zip(*(array[:runs] for array in pairs()), strict=True)]
    return round(float((np.array(p) < 0.05).mean()), 2)
