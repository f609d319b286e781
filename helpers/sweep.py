"""Run one measure for every point of a grid and every seed, in this process or on Dask, with the same bits either way.

Left out: choosing points by the results so far, and keeping results on disk. Workers are in `helpers.sweep_cluster`.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from helpers import sweep_cluster
from helpers.parameters import whole
from helpers.sweep_cluster import Cluster
from helpers.sweep_table import Failure, Point, Table, TaskError, grid, written
from helpers.world_draws import checked_seeds

__all__ = ["Failure", "Table", "TaskError", "grid", "sweep"]

Measure = Callable[..., np.ndarray]
Call = tuple[Measure, Point, tuple[int, ...]]


def sweep(measure: Measure, points: Sequence[Point], seeds: Sequence[int], *, workers: int | None = None,
          cluster: Cluster | None = None, seeds_per_task: int = 50,
          watch: Callable[[int, int], object] | None = None) -> Table:
    """`measure(seeds, **point)`, float (seeds,), for every point and seed.

    measure: a function that other processes can import; it gives a seed the same value in whatever company.
    workers: 0 computes here without Dask, which is what every other way has to equal. Otherwise how many workers of
    `cluster` compute at once, None for all; without `cluster`, one of so many (2) is opened for this sweep.
    seeds_per_task: handing a task over costs some 5 ms, so a task should take 20 ms or more; a worker that is lost
    costs no more than the tasks it had. watch: called with the numbers of tasks done and in all after each task. Out
    of batch mode, a sweep that lasts has a progress bar.

    Raises:
        TaskError: tasks that raised an error, after all others were done.
        ClusterError, ImportError: no workers, or no Dask.

    >>> from helpers.sweep_measures import uniform_ranks
    >>> sweep(uniform_ranks, grid(n=[4], k=[2, 4], episodes=[9]), range(3), workers=0).values.shape
    (2, 3)
    """
    points, seeds, size = _checked_points(points), checked_seeds(seeds), whole("seeds_per_task", seeds_per_task)
    if workers is not None:
        workers = whole("workers", workers, low=0)
    _check_importable(measure)
    slots = [(row, slice(start, start + size)) for row in range(len(points)) for start in range(0, len(seeds), size)]
    calls = [(measure, points[row], seeds[part]) for row, part in slots]
    values, failures = np.full((len(points), len(seeds)), np.nan), {}
    with closing(_results(calls, workers, cluster)) as results, closing(_shown(results, len(calls))) as shown:
        for done, (number, result) in enumerate(shown, start=1):
            if isinstance(result, Exception):
                failures[number] = Failure(*calls[number][1:], result)
            else:
                values[slots[number]] = result
            if watch is not None:
                watch(done, len(calls))
    values.flags.writeable = False
    table = Table(points, seeds, values)
    if failures:
        raise _task_error(measure, tuple(failures[number] for number in sorted(failures)), len(calls), table)
    return table


def _results(calls: list[Call], workers: int | None, cluster: Cluster | None) -> Iterator[tuple[int, Any]]:
    """Number and result, or the error it raised, of each call, in the order in which they end."""
    if workers == 0:
        for number, call in enumerate(calls):
            try:
                yield number, _run(call)
            except Exception as error:
                yield number, error
        return
    with nullcontext(cluster) if cluster else sweep_cluster.cluster(workers or 2) as opened:
        yield from _on_cluster(calls, opened, workers or len(calls))


def _on_cluster(calls: list[Call], cluster: Cluster, at_once: int) -> Iterator[tuple[int, Any]]:
    """The same by a cluster, `at_once` calls at a time. No call is tied to a worker, so that any may be lost."""
    waiting, running = iter(enumerate(calls)), {}
    try:
        while True:
            for number, call in itertools.islice(waiting, at_once - len(running)):
                # Not pure: what another state of the code left there under the same name is not taken for ours.
                running[cluster.client.submit(_run, call, pure=False)] = number
            if not running:
                return
            for future, result in cluster.finished(list(running)):
                yield running.pop(future), result
    finally:  # after an error, or an interrupt, nobody goes on working for nothing
        if running:
            cluster.client.cancel(list(running), force=True)


def _run(call: Call) -> np.ndarray:
    """One task: float64 (seeds,)."""
    measure, point, seeds = call
    found = np.asarray(measure(seeds, **point), dtype=np.float64)
    if found.shape != (len(seeds),):
        raise ValueError(f"expected one number a seed, shape {(len(seeds),)}, got shape {found.shape}")
    return found


def _task_error(measure: Measure, failures: tuple[Failure, ...], tasks: int, table: Table) -> TaskError:
    """One error for all failures; it names the first."""
    first = failures[0]
    seeds = f"seed {first.seeds[0]}" if len(first.seeds) == 1 else f"seeds {first.seeds[0]} to {first.seeds[-1]}"
    error = TaskError(f"{measure.__name__}({written(first.point)}), {seeds}: expected one number a seed, got "
                      f"{type(first.error).__name__}: {first.error} ({len(failures)} of {tasks} tasks failed: see "
                      "failures; what the others gave is in table)", failures, table)
    error.__cause__ = first.error
    return error


def _shown(results: Iterator[tuple[int, Any]], total: int) -> Iterator[tuple[int, Any]]:
    """The same, with a bar for a reader who waits."""
    from helpers.progress_bar import progress_bar  # here: it imports IPython, which workers have no use for

    return progress_bar(results, "tasks", total=total)


def _checked_points(points: Sequence[Point]) -> tuple[dict[str, object], ...]:
    """The points, copied; ValueError when there is none or one is not a mapping of names."""
    checked = tuple(dict(point) if isinstance(point, Mapping) else point for point in points)
    if not checked:
        raise ValueError("points: expected at least one, got none; an axis of grid() without values leaves none")
    for point in checked:
        if not (isinstance(point, dict) and all(isinstance(name, str) for name in point)):
            raise ValueError(f"points: expected parameters by name, such as grid(n=[50, 100]) has, got {point!r}")
    return checked


def _check_importable(measure: Measure) -> None:
    """ValueError unless another process finds the measure by its module and name."""
    module, name = getattr(measure, "__module__", None), getattr(measure, "__qualname__", None)
    if module == "__main__" or getattr(sys.modules.get(module or ""), name or "", None) is not measure:
        raise ValueError("measure: expected a function at the top of a module that workers can import, such as "
                         f"helpers.sweep_measures.uniform_ranks, got {measure!r}")
