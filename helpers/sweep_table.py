"""The grid of a sweep and what became of it: a small table, or an error that still has the rest of the table.

Left out: files; `values` and `points` are plain enough for `numpy.savez` and `json`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Point = Mapping[str, Any]  # the parameters of one row, by name


@dataclass(frozen=True, eq=False)
class Table:
    """Results in the order of the grid: values float64 (points, seeds), NaN where a task failed."""

    points: tuple[Point, ...]
    seeds: tuple[int, ...]
    values: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """(points,): mean over the seeds."""
        return self.values.mean(axis=1)

    @property
    def sd(self) -> np.ndarray:
        """(points,): standard deviation over the seeds, NaN for a single seed."""
        return self.values.std(axis=1, ddof=1) if len(self.seeds) > 1 else np.full(len(self.points), np.nan)

    @property
    def error(self) -> np.ndarray:
        """(points,): standard error of the mean."""
        return self.sd / np.sqrt(len(self.seeds))

    def column(self, name: str) -> np.ndarray:
        """(points,): one parameter; ValueError for a name that not every point has."""
        if not all(name in point for point in self.points):
            raise ValueError(f"expected a parameter of every point, such as {', '.join(self.points[0])}; got {name!r}")
        return np.array([point[name] for point in self.points])

    def where(self, **parameters: object) -> Table:
        """The rows whose points have these parameters; ValueError when there is none.

        >>> Table(({"k": 1}, {"k": 5}), (0,), np.array([[0.9], [0.8]])).where(k=5).values
        array([[0.8]])
        """
        rows = [row for row, point in enumerate(self.points) if parameters.items() <= point.items()]
        if not rows:
            raise ValueError(f"expected parameters of a point of the grid, got {written(parameters)}")
        return Table(tuple(self.points[row] for row in rows), self.seeds, self.values[rows])

    def same_as(self, other: Table) -> bool:
        """Whether points, seeds and every bit of the values are the same."""
        return (self.points, self.seeds) == (other.points, other.seeds) and (
            self.values.tobytes() == other.values.tobytes())


@dataclass(frozen=True)
class Failure:
    """One task that raised `error`."""

    point: Point
    seeds: tuple[int, ...]
    error: BaseException


class TaskError(RuntimeError):
    """Tasks failed; `failures` has each of them in grid order, `table` what the others gave."""

    def __init__(self, message: str, failures: tuple[Failure, ...], table: Table) -> None:
        super().__init__(message)
        self.failures, self.table = failures, table


def grid(**axes: Sequence[object]) -> tuple[dict[str, object], ...]:
    """All combinations of the values given for each parameter, the last parameter fastest.

    >>> grid(n=[10, 20], k=[1, 5])
    ({'n': 10, 'k': 1}, {'n': 10, 'k': 5}, {'n': 20, 'k': 1}, {'n': 20, 'k': 5})
    """
    return tuple(dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values()))


def written(parameters: Point) -> str:
    """Parameters as in a call.

    >>> written({"n": 10, "k": 5})
    'n=10, k=5'
    """
    return ", ".join(f"{name}={value!r}" for name, value in parameters.items())
