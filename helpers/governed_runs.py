"""Run a policy over streams of tasks in the closed world, all streams side by side, and keep what happened.

Left out: a model. Every outcome is looked up in a `Table`, so that a policy takes a fraction of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.governance import NEVER, Policy, View
from helpers.governed_orders import Orders
from helpers.governed_table import PASSED, UNSUPPORTED, Table
from helpers.governed_world import MOST_SHOWN, World
from helpers.worth_stream import EMPTY, Stream


@dataclass(frozen=True, eq=False)
class StreamRun:
    """What one policy did and met.

    chosen: lessons it chose, by score, −1 for none, int (streams, episodes, k). kept: whether each was shown, which
    dropout may prevent, bool of the same shape. success, observed: whether the tests passed, and whether the outcome
    said anything (not when the sandbox could not run the code), bool (streams, episodes). tokens: read and written,
    int (streams, episodes). silenced: candidates of the task, arrived by then, that the policy had given up or scored
    `NEVER`, bool (streams, episodes, lessons).
    """

    policy: Policy
    world: World
    orders: Orders
    chosen: np.ndarray
    kept: np.ndarray
    success: np.ndarray
    observed: np.ndarray
    tokens: np.ndarray
    silenced: np.ndarray

    @property
    def k(self) -> int:
        return self.chosen.shape[-1]

    @property
    def shown(self) -> np.ndarray:
        """Lessons the agent saw, −1 for none, int (streams, episodes, k)."""
        return np.where(self.kept, self.chosen, EMPTY)

    @property
    def stream(self) -> Stream:
        """The run as the estimators of `helpers.worth` read it, with the task's family for its type.

        An episode whose outcome nobody saw retrieves nothing in it.
        """
        retrieved = np.where(self.observed[..., None], self.chosen, EMPTY)
        return Stream(retrieved, self.success, self.world.task_family[self.orders.tasks], n=len(self.world.lessons),
                      types=len(self.world.families), kept=None if self.kept.all() else self.kept)


def run_streams(policy: Policy, table: Table, orders: Orders, *, k: int = 1, dropout: float = 0.0) -> StreamRun:
    """The policy on every stream of `orders`, showing at most k lessons an episode.

    dropout: probability with which each chosen lesson is withheld, whatever the others; its counters then stay.
    ValueError for a k that is not recorded, and for scores of another shape, or NaN.
    """
    if not 1 <= k <= MOST_SHOWN:
        raise ValueError(f"k: expected 1 to {MOST_SHOWN} lessons, of which answers are recorded, got {k}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout: expected a probability, got {dropout}")
    state = _State(policy, table, orders)
    episodes = [state.episode(t, k, dropout) for t in range(orders.episodes)]
    arrays = {name: np.stack([one[name] for one in episodes], axis=1) for name in episodes[0]}
    return StreamRun(policy, table.world, orders, **arrays)


class _State:
    """The memories of all streams while they run."""

    def __init__(self, policy: Policy, table: Table, orders: Orders) -> None:
        self.policy, self.table, self.orders, self.world = policy, table, orders, table.world
        streams, lessons = orders.born.shape
        self.rows = np.arange(streams)
        self.there = np.zeros((streams, lessons), dtype=bool)  # arrived, and not given up
        self.uses = np.zeros((streams, lessons))
        self.touched = orders.rank / lessons - 1.0  # of those there from the beginning: by arrival, before episode 0
        self.won = np.zeros(orders.tasks.shape, dtype=bool)
        self.worth = policy.evidence(lessons, streams, len(self.world.families))
        self.baseline = table.without_memory()

    def episode(self, t: int, k: int, dropout: float) -> dict[str, np.ndarray]:
        """Arrivals, choice, answer and evidence of one episode in every stream."""
        self._arrive(t)
        view = self._view(t)
        scores = self._scores(view)
        ids, places = self._choose(view, scores, k)
        kept = (self.orders.withheld[:, t, :k] >= dropout) & (ids >= 0)
        tasks, draws, versions = (a[:, t] for a in (self.orders.tasks, self.orders.draws, self.orders.versions))
        verdicts, tokens = self.table.look(tasks, np.where(kept, places, self.table.nothing), draws, versions)
        success, observed = verdicts == PASSED, verdicts != UNSUPPORTED
        self.won[:, t] = success
        self._learn(t, np.where(kept, ids, EMPTY), success, observed, view.family)
        silenced = (self.orders.born <= t) & (view.similarity > 0) & (~self.there | (scores == NEVER))
        return {"chosen": ids, "kept": kept | (ids < 0), "success": success, "observed": observed, "tokens": tokens,
                "silenced": silenced}

    def _arrive(self, t: int) -> None:
        """Add the lessons that arrive; give up what is too much, newcomers last."""
        new = self.orders.born == t
        if not new.any():
            return
        self.there |= new
        if t:
            self.touched = np.where(new, t + self.orders.rank / new.shape[1] / 2, self.touched)
        if self.policy.capacity is None:
            return
        keys = self.policy.give_up(self._view(t))
        order = np.lexsort((self.orders.rank, *keys, new, ~self.there))  # (streams, lessons), first to go first
        excess = self.there.sum(axis=1) - self.policy.capacity  # (streams,)
        first = np.argsort(order, axis=1)  # place of each lesson in that order
        self.there &= first >= excess[:, None]

    def _view(self, t: int) -> View:
        tasks = self.orders.tasks[:, t]
        similarity = self.world.cosine[tasks]
        good = self.world.good[self.orders.versions[:, t], tasks] if self.policy.oracle else None
        return View(t, similarity, (similarity > 0) & self.there, self.orders.born, self.orders.rank, self.uses.copy(),
                    self.touched.copy(), self.worth, self.baseline, self.world.task_family[tasks],
                    self.world.lesson_family, self.orders.luck[:, t], good)

    def _scores(self, view: View) -> np.ndarray:
        scores = np.asarray(self.policy.score(view), dtype=np.float64)
        if scores.shape != self.there.shape or np.isnan(scores).any():
            raise ValueError(f"policy {self.policy.name!r}: expected a score for each lesson in each stream, "
                             f"{self.there.shape}, none of them NaN; got {scores.shape} with "
                             f"{int(np.isnan(scores).sum())} NaN. Score a lesson that is not to be shown {NEVER}")
        return scores

    def _choose(self, view: View, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids and places of the k best lessons at hand, (streams, k) each; −1 and `nothing` where there are fewer."""
        candidates = self.world.candidates[self.orders.tasks[:, view.episode]]  # (streams, places)
        rows = self.rows[:, None]
        usable = (candidates >= 0) & view.at_hand[rows, candidates]
        # Rounded, or two ways of writing one formula could order equal scores differently.
        offered = np.where(usable, scores[rows, candidates].round(12), NEVER)
        places = np.argsort(-offered, axis=1, kind="stable")[:, :k]  # stable: the more similar one among equals
        shown = offered[rows, places] > NEVER
        return (np.where(shown, candidates[rows, places], EMPTY), np.where(shown, places, self.table.nothing))

    def _learn(self, t: int, shown: np.ndarray, success: np.ndarray, observed: np.ndarray,
               family: np.ndarray) -> None:
        rows, slots = np.nonzero(shown >= 0)
        self.uses[rows, shown[rows, slots]] += 1
        self.touched[rows, shown[rows, slots]] = t + 0.5
        outcome = success
        if self.policy.placebo:
            outcome = self.won[self.rows, (self.orders.placebo[:, t] * (t + 1)).astype(np.int64)]
        types = {"task_type": family} if self.policy.typed else {}
        self.worth.update(np.where(observed[:, None], shown, EMPTY), outcome, **types)


def ceiling(table: Table, orders: Orders, *, k: int = 1) -> np.ndarray:
    """Whether at least one choice of at most k lessons that had arrived would have passed, bool (streams, episodes).

    A bound with hindsight: it knows how the draw of this very answer ends, which no agent can.
    """
    if not 1 <= k <= MOST_SHOWN:
        raise ValueError(f"k: expected 1 to {MOST_SHOWN} lessons, of which answers are recorded, got {k}")
    candidates = table.world.candidates[orders.tasks]  # (streams, episodes, places)
    born = np.take_along_axis(orders.born[:, None, :], np.maximum(candidates, 0), axis=2)
    there = (candidates >= 0) & (born <= np.arange(orders.episodes)[:, None])
    there = np.concatenate([there, np.ones((*there.shape[:2], 1), dtype=bool)], axis=2)  # showing none is a choice
    passed = table.verdicts[orders.tasks, :, :, orders.draws, orders.versions] == PASSED  # (…, places, places)
    if k == 1:
        return (passed[..., table.nothing] & there).any(axis=-1)
    return (passed & there[..., :, None] & there[..., None, :]).any(axis=(-1, -2))
