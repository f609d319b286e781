"""Each memory's own retrievals in order of time: what discounting and change detection work along.

Left out: anything that needs episodes of different memories side by side.
"""

from __future__ import annotations

import math

import numpy as np

from helpers.worth_stream import Stream


def own_order(stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Used slots sorted by run, memory, episode, as indices into the flattened `retrieved`; and how many a memory has.

    Returns int (used slots,) and int (runs × n,).

    >>> slots, counts = own_order(Stream([[0, 1], [1, 2]], [True, False], n=3))
    >>> slots.tolist(), counts.tolist()
    ([0, 1, 2, 3], [1, 2, 1])
    """
    runs, n = math.prod(stream.lead), stream.n
    ids = stream.retrieved if stream.used is None else np.where(stream.used, stream.retrieved, n)
    # numpy sorts 16-bit integers by counting digits, several times faster than longer ones
    ids = ids.astype(np.uint16 if n < 2**16 else np.int64).reshape(runs, -1)  # (runs, slots)
    order = np.argsort(ids, axis=-1, kind="stable")
    order += np.arange(runs)[:, None] * ids.shape[1]
    order = order.ravel()
    if stream.used is not None:
        order = order[ids.ravel()[order] < n]  # (used slots,)
    cells = ids + np.arange(0, runs * (n + 1), n + 1)[:, None]
    counts = np.bincount(cells.ravel(), minlength=runs * (n + 1)).reshape(runs, n + 1)[:, :n].ravel()
    return order, counts


def later_retrievals(stream: Stream) -> np.ndarray:
    """How often the memory of each slot is used later in the stream, int (..., episodes, k); 0 in unused slots.

    >>> later_retrievals(Stream([[0, 1], [1, 2]], [True, False], n=3)).tolist()
    [[0, 1], [0, 0]]
    """
    slots, counts = own_order(stream)
    last = np.repeat(np.cumsum(counts), counts) - 1  # (used slots,), position of the memory's last slot
    later = np.zeros(stream.retrieved.shape, dtype=np.int64)
    later.ravel()[slots] = last - np.arange(slots.size)
    return later
