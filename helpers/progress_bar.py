"""A progress bar around a loop that may last, for a reader who waits for it; silent in batch mode.

Left out: runs of whole notebooks, which `helpers.progress` follows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

from IPython.display import display

from helpers.settings import load_settings

Item = TypeVar("Item")
DELAY_S = 1.0  # what takes less needs no bar; above 0, or a notebook's bar is displayed before it has a handle


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
    bar = tqdm(iterable, desc=what, total=total, delay=DELAY_S, leave=False)
    yield from _cleared(bar) if hasattr(bar, "container") else bar


def _cleared(bar: Any) -> Iterator[Any]:
    """The items of a notebook's bar, which is taken out of the notebook at the end.

    tqdm only hides it: saved and opened again, the notebook would say "Error displaying widget: model not found".
    """
    bar.displayed = True  # so that tqdm does not display it, for only what has a handle can be taken out
    started, place = time.monotonic(), None
    try:
        for item in bar:
            if place is None and time.monotonic() - started >= DELAY_S:
                place = display(bar.container, display_id=True)
            yield item
    finally:
        if place is not None:
            place.update({"text/html": "", "text/plain": ""}, raw=True)
