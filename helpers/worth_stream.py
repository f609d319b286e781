"""A stream of episodes: which memories each retrieved and whether it succeeded.

Left out: how the episodes came about (`helpers.worlds` draws them) and what is concluded from them (`helpers.worth`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

EMPTY = -1  # in `retrieved`: nothing stood in this slot


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Episodes in order of time; many independent runs (seeds) stand in leading axes, written `...` below.

    retrieved: int (..., episodes, k), ids 0 to n − 1 of the memories an episode retrieved, all different; −1 is an
    empty slot, where fewer than k were found. success: bool (..., episodes). task_type: int (..., episodes) from 0,
    None when all tasks are of one type. weights: float (..., episodes, k) from 0 up, the share of credit of each slot,
    None for 1 everywhere. n: number of memories. types: number of task types, by default the largest seen plus one;
    name it when runs that may lack a type are compared. kept: bool (..., episodes, k), False where a retrieved memory
    was withheld from the agent (memory dropout); None when nothing was. A withheld memory moves no counter.

    ValueError with both shapes when two arrays do not belong together, and for k > n, ids out of range, a memory
    retrieved twice in one episode, weights that are negative or not finite, and a stream without episodes.

    >>> s = Stream([[0, 1], [1, 2]], [True, False], n=3)
    >>> s.episodes, s.k, s.lead, s.types
    (2, 2, (), 1)
    """

    retrieved: np.ndarray
    success: np.ndarray
    task_type: np.ndarray | None = None
    weights: np.ndarray | None = None
    n: int = dataclasses.field(kw_only=True)
    types: int | None = dataclasses.field(default=None, kw_only=True)
    kept: np.ndarray | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        retrieved, success = np.asarray(self.retrieved), as_bool(self.success, "success")
        check_ids(retrieved, self.n)
        slots = retrieved.shape
        if success.shape != slots[:-1] or success.ndim < 1:
            raise ValueError(f"expected retrieved (..., episodes, k) with success (..., episodes), got {slots} "
                             f"and {success.shape}")
        if retrieved.size == 0:
            raise ValueError(f"expected at least one episode with one slot, got retrieved {slots} and success "
                             f"{success.shape}")
        task_type, types = check_types(self.task_type, self.types, success.shape)
        kept = None if self.kept is None else as_bool(self.kept, "kept")
        if kept is not None and kept.shape != slots:
            raise ValueError(f"expected kept of the shape of retrieved, got {kept.shape} and {slots}")
        checked = {"retrieved": retrieved, "success": success, "task_type": task_type, "types": types, "kept": kept,
                   "weights": check_weights(self.weights, slots)}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def lead(self) -> tuple[int, ...]:
        """Shape of the leading axes; () for a single run."""
        return self.success.shape[:-1]

    @property
    def episodes(self) -> int:
        return self.success.shape[-1]

    @property
    def k(self) -> int:
        """Slots an episode."""
        return self.retrieved.shape[-1]

    @property
    def used(self) -> np.ndarray | None:
        """Which slots hold a memory the agent saw, bool (..., episodes, k); None when all do."""
        filled = self.retrieved >= 0
        used = filled if self.kept is None else filled & self.kept
        return None if used.all() else used

    @property
    def labels(self) -> np.ndarray:
        """The task type of every episode, int (..., episodes); all 0 when none were given."""
        return np.zeros(self.success.shape, dtype=np.int64) if self.task_type is None else self.task_type

    def first(self, episodes: int) -> Stream:
        """The stream as it stood after so many episodes.

        >>> Stream([[0], [1], [2]], [True, False, True], n=3).first(2).success
        array([ True, False])
        """
        if not 1 <= episodes <= self.episodes:
            raise ValueError(f"expected 1 to {self.episodes} episodes, got {episodes}")
        return self._each(lambda array: array[..., :episodes, :] if array.ndim == self.retrieved.ndim
                          else array[..., :episodes])

    def run(self, index: int) -> Stream:
        """One run (seed) of the first leading axis.

        >>> Stream([[[0], [1]], [[1], [0]]], [[True, True], [False, True]], n=2).run(1).success
        array([False,  True])
        """
        if not self.lead:
            raise ValueError(f"expected a stream with a leading axis of runs, got success {self.success.shape}")
        return self._each(lambda array: array[index])

    def _each(self, cut: Callable[[np.ndarray], np.ndarray]) -> Stream:
        """The stream with every array that is there cut."""
        arrays = {name: getattr(self, name) for name in ("retrieved", "success", "task_type", "weights", "kept")}
        return dataclasses.replace(self, **{name: cut(a) for name, a in arrays.items() if a is not None})


def as_bool(values: object, name: str) -> np.ndarray:
    """`values` as bool; numbers other than 0 and 1 are refused."""
    array = np.asarray(values)
    if array.dtype == bool:
        return array
    if not (np.issubdtype(array.dtype, np.number) or array.size == 0) or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name}: expected True and False (or 1 and 0), got {array.dtype} {array.shape} with others")
    return array.astype(bool)


def check_ids(retrieved: np.ndarray, n: int) -> None:
    """ValueError unless every slot is empty (−1) or holds an id below n, and no episode holds one twice."""
    if retrieved.ndim < 1 or not (np.issubdtype(retrieved.dtype, np.integer) or retrieved.size == 0):
        raise ValueError(f"retrieved: expected integer ids (..., k), got {retrieved.dtype} {retrieved.shape}")
    k = retrieved.shape[-1]
    if n < 1 or k > n:
        raise ValueError(f"expected at most as many slots as memories, got k = {k} of retrieved {retrieved.shape} "
                         f"and n = {n}")
    if retrieved.size == 0:
        return
    low, high = int(retrieved.min()), int(retrieved.max())
    if low < EMPTY or high >= n:
        raise ValueError(f"retrieved: expected ids from 0 to {n - 1}, or -1 for an empty slot, got {low} to {high} "
                         f"in {retrieved.shape}")
    if twice_in_a_row(retrieved, high):
        raise ValueError(f"retrieved: expected different memories in the {k} slots of an episode, got one twice "
                         f"in {retrieved.shape}")


def twice_in_a_row(ids: np.ndarray, high: int) -> bool:
    """Whether any row (last axis) holds an id from 0 to `high` more than once."""
    k = ids.shape[-1]
    if k > 8:
        ordered = np.sort(ids, axis=-1)
        return bool(((ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)).any())
    narrow = np.int16 if high < 2**15 else np.int64  # fewer bytes to compare, and few comparisons instead of sorting
    columns = [ids[..., i].astype(narrow) for i in range(k)]
    for i in range(k):
        for j in range(i):
            same = columns[i] == columns[j]
            if same.any() and (same & (columns[i] >= 0)).any():
                return True
    return False


def check_types(task_type: object, types: int | None, shape: tuple[int, ...]) -> tuple[np.ndarray | None, int]:
    """Task types as int of `shape` and their number; ValueError for another shape or ids out of range."""
    if task_type is None:
        return None, 1  # whatever was named: without labels all tasks are of one type
    array = np.asarray(task_type)
    if array.shape != shape or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"task_type: expected integers of the shape of success, got {array.dtype} {array.shape} "
                         f"and {shape}")
    low, high = int(array.min()), int(array.max())
    types = high + 1 if types is None else types
    if low < 0 or high >= types:
        raise ValueError(f"task_type: expected types from 0 to {types - 1}, got {low} to {high} in {array.shape}")
    return array, types


def check_weights(weights: object, shape: tuple[int, ...]) -> np.ndarray | None:
    """Weights as float64 of `shape`; ValueError for another shape, negative or not finite ones."""
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"weights: expected the shape of retrieved, got {array.shape} and {shape}")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"weights: expected finite numbers from 0 up, got {array.min()} to {array.max()} "
                         f"in {array.shape}")
    return array


def as_stream(n: int, shape: tuple[int, ...], retrieved: ArrayLike, success: ArrayLike,
              **per_episode: ArrayLike | None) -> Stream:
    """One episode, success of `shape`, or several, success (*shape, episodes), as a stream with leading axes `shape`.

    `per_episode` are further arguments of `Stream`.

    >>> as_stream(3, (), [0, 2], True).retrieved.tolist()
    [[0, 2]]
    """
    retrieved, success = np.asarray(retrieved), np.asarray(success)
    if success.shape == shape:
        axis = {"weights": -2, "kept": -2, "task_type": -1}
        retrieved, success = np.expand_dims(retrieved, -2) if retrieved.ndim else retrieved, success[..., None]
        per_episode = {name: np.expand_dims(value, axis[name]) if name in axis and value is not None else value
                       for name, value in per_episode.items()}
    stream = Stream(retrieved, success, n=n, **per_episode)
    if stream.lead != shape:
        raise ValueError(f"expected success of shape {shape} or {(*shape, 'episodes')}, got {stream.success.shape} "
                         f"with retrieved {stream.retrieved.shape}")
    return stream
