"""A world of two tasks and five lessons, small enough to work out by hand, and tables made up for it."""

import numpy as np

from helpers.governed_orders import Orders
from helpers.governed_table import FAILED, PASSED, Table
from helpers.governed_world import Task, World, WorldLesson

# Lessons of the small world, by id.
GOOD, WRONG, SUCCESSOR, OTHER, GENERIC = range(5)


def small_world() -> World:
    """Task 0, family "a", has candidates WRONG, GOOD, SUCCESSOR, GENERIC; task 1, family "b", OTHER and GENERIC."""
    tasks = (Task("t0", "a", "t0(x)", "Zero.", (("t0(1)==1",), ("t0(1)==2",))),
             Task("t1", "b", "t1(x)", "One.", (("t1(1)==3",), ("t1(1)==4",))))
    kinds = ("useful", "wrong", "successor", "useful", "generic")
    lessons = tuple(WorldLesson(i, kind, family, f"s{i}", f"Spec {i}.", f"text {i}", f"def s{i}(x): return {i}")
                    for i, (kind, family) in enumerate(zip(kinds, ("a", "a", "a", "b", ""), strict=True)))
    candidates = np.array([[WRONG, GOOD, SUCCESSOR, GENERIC], [OTHER, GENERIC, -1, -1]])
    return World(tasks, lessons, candidates, np.array([[0.9, 0.8, 0.8, 0.5], [0.7, 0.6, 0.0, 0.0]]))


def rule_table(world: World) -> Table:
    """An answer passes when a lesson shown holds the rule in force; 10 tokens, and 5 a lesson."""
    def answer(task, shown, draw):
        passed = tuple(PASSED if any(world.good[v, task, i] for i in shown) else FAILED for v in (0, 1))
        return passed, 10 + 5 * len(shown)
    return Table.of(world, answer)


def luck_table(world: World, seed: int) -> Table:
    """Answers drawn by lot, more often right with a good lesson."""
    rng = np.random.default_rng(seed)

    def answer(task, shown, draw):
        good = [sum(world.good[v, task, i] for i in shown) for v in (0, 1)]
        return tuple(int(rng.random() < 0.1 + 0.35 * g) for g in good), int(rng.integers(50, 90))
    return Table.of(world, answer)


def small_orders(world: World, tasks, *, changes=None, born=None) -> Orders:
    """One stream of these tasks, draw 0 always; every lesson there from the beginning, unless `born` says otherwise."""
    tasks = np.array([tasks])
    change = np.array([(changes or {}).get(task.family, tasks.size) for task in world.tasks])
    n = len(world.lessons)
    born = np.zeros((1, n), int) if born is None else np.array([born])
    return Orders((0,), tasks, np.zeros_like(tasks), (np.arange(tasks.size) >= change[tasks]).astype(int), born,
                  np.lexsort((np.arange(n), born[0]))[None].argsort(axis=1), changes or {},
                  np.full((1, tasks.size, n), 0.5), np.zeros(tasks.shape), np.full((*tasks.shape, 2), 0.5))
