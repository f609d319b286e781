"""A progress bar around a loop that may last, for a reader who waits for it; silent in batch mode.

Left out: runs of whole notebooks, which `helpers.progress` follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from helpers.settings import load_settings

Item = TypeVar("Item")
DELAY_S = 1.0  # what takes less needs no bar


def progress_bar(iterable: Iterable[Item], what: str, *, total: int | None = None) -> Iterator[Item]:
    """The items of `iterable`, one by one, with a bar named `what` once they have taken a second; it goes at the end.

    `total` is how many items there are; by default the length of `iterable`, if it has one. In batch mode (papermill,
    nbval, CI) and with `TQDM_DISABLE` set there is no bar.

    >>> list(progress_bar([1, 2], "problems"))
    [1, 2]
    """
    if load_settings().batch:
        yield from iterable
        return
    from tqdm.auto import tqdm  # a bar of the notebook where there is one, of the terminal elsewhere

    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    yield from tqdm(iterable, desc=what, total=total, delay=DELAY_S, leave=False)
