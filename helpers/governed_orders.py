"""What happens in a stream before any policy acts: which task comes when, what changes, when lessons arrive.

Everything random is drawn here, seed by seed, so that policies meet the same course of events. Left out: tasks that
depend on one another, and lessons that arrive because of what a policy did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.governed_world import DRAWS, MOST_SHOWN, World

EPISODES = 300
# Every second family in the order of the bank changes its rule, half-way.
CHANGES: Mapping[str, int] = {"empty_none": 150, "none_text": 150, "wrap_dict": 150}
START = 24  # lessons in the memory before the first episode
FILLED = 100  # the episode at which the last lesson under the first rules has arrived
DELAY = 10  # episodes from the change of a rule to the arrival of the lessons that know the new one


@dataclass(frozen=True, eq=False)
class Orders:
    """Several streams over one world, a seed each, all of them in a leading axis.

    tasks, draws, versions: int (streams, episodes), the task that comes, the recorded draw its visit gets, and the
    version of the rule it is judged by. born: int (streams, lessons), the episode before which a lesson arrives;
    the number of episodes for one that never does. rank: int (streams, lessons), its place among all arrivals.
    changes: episode from which the families named are judged by their revised rule. Uniform numbers in [0, 1): luck
    (streams, episodes, lessons) is at the policy's disposal, placebo (streams, episodes) and withheld (streams,
    episodes, slots) at the run's.
    """

    seeds: tuple[int, ...]
    tasks: np.ndarray
    draws: np.ndarray
    versions: np.ndarray
    born: np.ndarray
    rank: np.ndarray
    changes: Mapping[str, int]
    luck: np.ndarray
    placebo: np.ndarray
    withheld: np.ndarray

    @property
    def episodes(self) -> int:
        return self.tasks.shape[1]


def make_orders(world: World, seeds: Sequence[int], *, episodes: int = EPISODES,
                changes: Mapping[str, int] = CHANGES, start: int = START, filled: int = FILLED,
                delay: int = DELAY) -> Orders:
    """One stream a seed; what a seed gives does not depend on the other seeds.

    Tasks come in rounds, each round all of them in a new order. `start` lessons, drawn by lot among those that know
    no revised rule, are there from the beginning, the others arrive one after the other until episode `filled`; the
    successors of a family arrive together, `delay` episodes after its change, and never without one.
    """
    if not len(seeds) or episodes < 1:
        raise ValueError(f"expected seeds and episodes, at least one of each, got {len(seeds)} and {episodes}")
    if unknown := sorted(set(changes) - set(world.families)):
        raise ValueError(f"changes: expected families out of {', '.join(world.families)}; got {unknown[0]!r}")
    first = int((~world.of_kind("successor")).sum())
    if not 1 <= start <= first or delay < 0:
        raise ValueError(f"expected 1 to {first} lessons at the start and a delay from 0 up, got {start} and {delay}")
    rows = [_order(world, seed, episodes, changes, start, filled, delay) for seed in seeds]
    stacked = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return Orders(tuple(seeds), changes=dict(changes), **stacked)


def _order(world: World, seed: int, episodes: int, changes: Mapping[str, int], start: int, filled: int,
           delay: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([seed, 8])
    n, rounds = len(world.tasks), -(-episodes // len(world.tasks))
    tasks = np.concatenate([rng.permutation(n) for _ in range(rounds)])[:episodes]
    visit = np.array([(tasks[:t] == task).sum() for t, task in enumerate(tasks)])
    starting_draw = rng.integers(len(DRAWS), size=n)  # or all tasks would change their draw at the same time
    change = np.array([changes.get(family, episodes) for family in world.families])
    born = _births(world, change, episodes, start, filled, delay, rng)
    by_arrival = np.lexsort((rng.random(born.size), born))
    return {"tasks": tasks, "draws": (visit + starting_draw[tasks]) % len(DRAWS), "born": born,
            "versions": (np.arange(episodes) >= change[world.task_family[tasks]]).astype(np.int64),
            "rank": np.argsort(by_arrival), "luck": rng.random((episodes, born.size)),
            "placebo": rng.random(episodes), "withheld": rng.random((episodes, MOST_SHOWN))}


def _births(world: World, change: np.ndarray, episodes: int, start: int, filled: int, delay: int,
            rng: np.random.Generator) -> np.ndarray:
    born = np.zeros(len(world.lessons), dtype=np.int64)
    later = world.of_kind("successor")
    arriving = rng.permutation(np.nonzero(~later)[0])[start:]
    born[arriving] = np.linspace(0, filled, arriving.size + 1).round()[1:]
    changed = change[world.lesson_family]  # (lessons,), of no family: never asked for below
    born[later] = np.minimum(np.where(changed < episodes, changed + delay, episodes), episodes)[later]
    return born
