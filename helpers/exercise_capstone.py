"""Check and leaderboard of exercise 11: a policy of the reader's own on the recorded stream of notebook 08.

What is practised on and what is judged differ in the orders of the tasks and in the rules that change. Every bound is
another policy's result on the same streams. Left out: an answer that reads the table of recorded answers or searches
this process for the kinds of lessons; it breaks the rules of the exercise, and only a reader of its code can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache, partial

import numpy as np

from helpers.exercises import TODO, NotAttempted, Part, check
from helpers.governance import Policy, View, standard_policies
from helpers.governed_measures import by_task
from helpers.governed_orders import CHANGES, Orders, make_orders
from helpers.governed_runs import StreamRun, run_streams
from helpers.governed_table import Table, load_table
from helpers.governed_world import World, load_world
from helpers.plain_data import one_line, without_paths
from helpers.settings import DATA
from helpers.stats import Difference, paired_difference

TABLE = DATA / "governed_table.npz"
K = 2  # lessons shown an episode, as in most of notebook 08
STREAMS = 40
RIVALS = ("no memory", "no governance", "LRU", "re-ranking", "oracle")
PRACTICE, JUDGED = 0, 1000                    # the first seed of the orders
HELD_OUT = {"ok_text": 120, "zero_guard": 120}  # other families change their rule, at another time
WAY = 0.1  # of the way from re-ranking to the oracle, for the last points
FEW, SHORT = 3, 150  # streams and episodes of a first look


@cache
def table() -> Table:
    """The recorded answers of notebook 08."""
    return load_table(TABLE, load_world())


@cache
def orders(judged: bool = False) -> Orders:
    """The streams to practise on, those of notebook 08, or those by which a policy is judged."""
    first, changes = (JUDGED, HELD_OUT) if judged else (PRACTICE, CHANGES)
    return make_orders(table().world, range(first, first + STREAMS), changes=changes)


@cache
def rival(name: str, judged: bool = False) -> StreamRun:
    """The run of a policy of notebook 08."""
    return run_streams(standard_policies()[name], table(), orders(judged), k=K)


def mine(score: Callable[[View], object], judged: bool = False) -> StreamRun:
    """The run of the reader's policy; NotAttempted when it says TODO."""
    return _run(score, orders(judged))


def _run(score: Callable[[View], object], course: Orders, known: Table | None = None) -> StreamRun:
    def attempted(view: View) -> np.ndarray:
        scores = score(_copied(view))
        if scores is TODO:
            raise NotAttempted
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != view.similarity.shape or np.isnan(scores).any():
            raise ValueError("no run without one number for each lesson in each stream, none of them NaN")
        return scores

    with np.errstate(all="ignore"):  # what a division by zero makes is told by the check, not as a warning
        return run_streams(Policy("yours", attempted), known or table(), course, k=K)


def _copied(view: View, kind: type[View] = View) -> View:
    """The same view in arrays of its own, so that what an answer writes reaches no other run."""
    values = {field.name: getattr(view, field.name) for field in fields(View)}
    return kind(**{name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()})


def difference(run: StreamRun, other: StreamRun) -> Difference:
    """Success of one run minus another's, with an interval over tasks; one seed, so that it is always the same."""
    return paired_difference(by_task(run), by_task(other), rng=np.random.default_rng(11))


# --- the leaderboard ----------------------------------------------------------------------------------------------

def leaderboard(score: Callable[[View], object]) -> None:
    """Print the policy beside its rivals on the streams to practise on, the best first."""
    runs, missing = {name: rival(name) for name in RIVALS}, ""
    try:
        runs["yours"] = mine(score)
    except NotAttempted:
        missing = "yours: not attempted yet"
    except Exception as error:  # a wrong answer never stops a notebook
        missing = f"yours: {type(error).__name__}: {one_line(without_paths(str(error)))}"
    base, changed = runs["no governance"], min(orders().changes.values())
    print(f"{'policy':<15} {'success':>7} {'before':>7} {'after the change':>17}   difference to no governance")
    for name in sorted(runs, key=lambda name: -runs[name].success.mean()):
        won = runs[name].success
        print(f"{name:<15} {won.mean():>7.3f} {won[:, :changed].mean():>7.3f} {won[:, changed:].mean():>17.3f}   "
              f"{'' if runs[name] is base else difference(runs[name], base)}".rstrip())
    if missing:
        print(missing)


# --- the check ----------------------------------------------------------------------------------------------------

@check(number=11, title="A policy of your own")
def check_policy(score: Callable[[View], object]) -> list[Part]:
    """Whether it is a policy at all, keeps to the rules, and what it is worth on streams that it has not met."""
    look = cache(partial(observe, score))
    return [
        Part("score(view).shape: streams, lessons", lambda: _shape(score), (FEW, len(load_world().lessons)),
             why="One score for each lesson in each stream. Elementwise arithmetic on the arrays of the view gives it; "
                 "one number for all lessons, or one a stream, says nothing about which to show."),
        Part(f"scores that are NaN, in {SHORT} episodes", lambda: look().nan, 0, why="0 / 0 is NaN, and a lesson that "
             "was never shown has no evidence to divide by: `view.worth.value` is ½ then, or add to both counts. A "
             "lesson that is not to be shown gets -np.inf."),
        Part("what changed in the view", lambda: sorted(look().changed), [], why="A policy looks and says scores; it "
             "does not write: `scores = view.similarity * 2` makes a new array, `scores *= 2` changes the view's."),
        Part("what was read of the view that only an oracle knows", lambda: sorted(look().peeked), [],
             why="`view.good` says which lessons hold the rule in force. No agent knows that: for every policy but the "
                 "oracle it is None."),
        Part("choices that stay when lessons are renumbered, and in a second run", lambda: same_choices(score), 1.0,
             why="The score of a lesson must follow from what the view says of it, not from its number, and not from "
                 "chance or counters of your own: for chance there is `view.luck`."),
        *worth_it(score)]


def worth_it(score: Callable[[View], object]) -> list[Part]:
    """What the policy adds on streams that it has not met, against bounds from the same streams."""
    judged = cache(partial(mine, score, judged=True))
    apart = cache(lambda name: difference(judged(), rival(name, judged=True)))
    return [
        Part("success − no governance, new streams", lambda: str(apart("no governance")), "an interval above 0",
             accept=lambda _: apart("no governance").low > 0, points=2, why="Most similar first, whatever became of "
             "it, is what a policy has to beat. `view.uses` counts what was shown, not what helped; `view.rank` knows "
             "when a lesson came, not whether it fits."),
        Part("success − re-ranking, new streams", lambda: str(apart("re-ranking")), "an interval not below 0",
             accept=lambda _: apart("re-ranking").high >= 0, why="Similarity × (hits⁺ + 1) / (evidence + 2) is the "
             "policy of notebook 08. Without similarity a lesson is shown where it does not fit; without worth, where "
             "it failed before."),
        Part("part of the way from re-ranking to the oracle, new streams", lambda: way(judged()), f"at least {WAY}",
             accept=lambda got: got >= WAY, points=2, why="A tie with re-ranking is a good answer; these points are "
             "for a race, in which a little more counts. What else does the view know? Of which family a lesson is, "
             "when it came, and how much of its worth is a guess.")]


def way(run: StreamRun) -> float:
    """How much of the distance from re-ranking to the oracle a judged run covers, in success; below 0 behind both."""
    low, high = (rival(name, judged=True).success.mean() for name in ("re-ranking", "oracle"))
    return round(float((run.success.mean() - low) / (high - low)), 2)


@dataclass(frozen=True)
class Seen:
    """What was seen of a policy: scores that were NaN, fields of the view it changed, and those it should not read."""

    nan: int
    changed: frozenset[str]
    peeked: frozenset[str]


class _Watched(View):
    """A view that notes in `peeked` when the oracle's knowledge is read."""

    def __getattribute__(self, name: str) -> object:
        if name == "good":
            object.__getattribute__(self, "__dict__").setdefault("peeked", set()).add(name)
        return object.__getattribute__(self, name)


@cache
def few_orders() -> Orders:
    """A few streams for a first look."""
    return make_orders(table().world, range(JUDGED, JUDGED + FEW), episodes=SHORT, changes=HELD_OUT)


@cache
def a_view() -> View:
    """What a policy sees in the last episode of these streams, when it showed the most similar lessons before."""
    views: list[View] = []
    _run(lambda view: views.append(view) or view.similarity, few_orders())
    return views[-1]


def _shape(score: Callable[[View], object]) -> object:
    with np.errstate(all="ignore"):
        scores = score(_copied(a_view()))
    return scores if scores is TODO else tuple(np.shape(scores))


def observe(score: Callable[[View], object]) -> Seen:
    """Run a policy on a few streams and watch it."""
    nan, changed, peeked = 0, set(), set()

    def watched(view: View) -> object:
        nonlocal nan
        seen = _copied(view, _Watched)
        before = _contents(seen)
        scores = score(seen)
        if scores is TODO:
            return TODO
        peeked.update(vars(seen).get("peeked", ()))
        changed.update(name for name, now in _contents(seen).items() if not np.array_equal(before[name], now))
        scores = np.array(scores, dtype=np.float64)
        nan += int(np.isnan(scores).sum())
        return np.nan_to_num(scores, nan=0.0)

    _run(watched, few_orders())
    return Seen(nan, frozenset(changed), frozenset(peeked))


def _contents(view: View) -> dict[str, np.ndarray]:
    """A copy of every array that a policy could write to."""
    arrays = {name: value for name, value in vars(view).items() if isinstance(value, np.ndarray)}
    counts = {f"worth.{name}": getattr(view.worth, name) for name in ("hits_plus", "hits_minus")}
    return {name: array.copy() for name, array in (arrays | counts).items()}


def same_choices(score: Callable[[View], object]) -> float:
    """Share of choices that are the same in a second run, in which lessons have other numbers."""
    order = np.random.default_rng(11).permutation(len(table().world.lessons))  # the old number of each new one
    first = _run(score, few_orders()).chosen
    again = _run(score, *renumbered(few_orders(), table(), order)).chosen
    back = np.where(again >= 0, order[again], -1)
    return round(float((first == back).mean()), 3)


def renumbered(course: Orders, known: Table, order: np.ndarray) -> tuple[Orders, Table]:
    """The same streams and answers when lesson `order[i]` has number i."""
    world, new = known.world, np.argsort(order)
    lessons = tuple(replace(world.lessons[old], id=i) for i, old in enumerate(order))
    candidates = np.where(world.candidates >= 0, new[world.candidates], -1)
    moved = {name: getattr(course, name)[..., order] for name in ("born", "rank", "luck")}
    return replace(course, **moved), replace(known, world=World(world.tasks, lessons, candidates, world.similarity))
