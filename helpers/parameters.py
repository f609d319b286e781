"""Check the parameters of worlds and formulas: each function returns its value or says what was expected and what came.

Left out: conversion of strings, and any check that needs two parameters at once.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike


def whole(name: str, value: int, *, low: int = 1, high: int | None = None) -> int:
    """`value` as an int in [low, high]; ValueError for anything else, TypeError never.

    >>> whole("k", 5, low=1, high=100)
    5
    """
    wanted = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: expected {wanted}, got {value!r}") from None
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise ValueError(f"{name}: expected {wanted}, got {value!r}")
    return number


def number(name: str, value: float, *, low: float = -math.inf, high: float = math.inf, above: float = -math.inf,
           below: float = math.inf) -> float:
    """`value` as a finite float with low <= value <= high and above < value < below; ValueError otherwise.

    >>> number("gamma", 0.98, above=0, below=1)
    0.98
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not (math.isfinite(found) and low <= found <= high and above < found < below):
        left = f"[{low:g}" if low > above else f"({above:g}"
        right = f"{high:g}]" if high < below else f"{below:g})"
        raise ValueError(f"{name}: expected a number in {left}, {right}, got {value!r}")
    return found


def probability(name: str, value: float) -> float:
    """`value` as a float in [0, 1]; ValueError otherwise.

    >>> probability("f", 0.3)
    0.3
    """
    return number(name, value, low=0.0, high=1.0)


def probabilities(name: str, values: ArrayLike, *, axes: int | None = None) -> np.ndarray:
    """`values` as a float64 array, each in [0, 1]; ValueError names the first that is not, or the wrong shape.

    `axes` is the number of axes asked for, None is any number from one on.

    >>> probabilities("utility", [0.1, 0.9], axes=1).tolist()
    [0.1, 0.9]
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers in [0, 1], got {values!r}") from None
    if array.size == 0 or array.ndim == 0 or (axes is not None and array.ndim != axes):
        raise ValueError(f"{name}: expected at least one number and {axes or 'one or more'} "
                         f"{'axis' if axes in (1, None) else 'axes'}, got shape {array.shape}")
    if not (inside := (array >= 0) & (array <= 1)).all():  # NaN is outside
        raise ValueError(f"{name}: expected numbers in [0, 1], got {array[~inside][0]}")
    return array
