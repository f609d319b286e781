"""What a kernel does before it runs the first answer of a submission: limit itself, refuse the network, seal verdicts.

What an answer may not do is refused by the hook of `audit_hook.py`, which also says what it does not see; grade code
you do not trust at all in a container or in an account of its own.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from helpers.audit_hook import install
from helpers.exercise_seal import begin_sealing

STARTING = ("helpers.exercise_belt", "helpers.exercise_store")  # their COMMAND is all that may be started
KEY_FILE = ".key"  # in the run's folder; gone before an answer runs


def begin(folder: str | Path = ".", *, memory_mb: int) -> None:
    """Prepare this process for answers nobody has read; `folder` is the only place they may write to.

    Raises:
        FileNotFoundError: `folder` holds no key; it is made by `grading_kernel.py` and read once.
    """
    folder = Path(folder).resolve()
    key = folder / KEY_FILE
    secret = key.read_bytes()
    key.unlink()
    begin_sealing(secret, unchanged_since_now())
    _limit(memory_mb)
    install(folder, commands=[sys.modules[name].COMMAND for name in STARTING if name in sys.modules])


def _limit(memory_mb: int) -> None:
    """A second line of defence: the first one watches this process from outside."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource
        for name, value in (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 2**29), ("RLIMIT_DATA", (memory_mb + 1024) * 2**20)):
            with contextlib.suppress(ValueError, OSError, AttributeError):  # a stricter limit is set already
                resource.setrlimit(getattr(resource, name), (value, value))


def unchanged_since_now() -> Callable[[], bool]:
    """A function that says whether the functions and classes of the course, of Python and of numpy are as they are now.

    >>> unchanged = unchanged_since_now()
    >>> unchanged()
    True
    """
    modules = [builtins, math, np, *(module for name, module in sorted(sys.modules.items())
                                     if name.startswith("helpers."))]
    state = [(owner, name, value, _code(value)) for module in modules for owner, name, value in _callables(module)]

    def unchanged() -> bool:
        return all(vars(owner).get(name) is value and _code(value) == code for owner, name, value, code in state)
    return unchanged


def _callables(module: object) -> Iterator[tuple[object, str, object]]:
    for name, value in list(vars(module).items()):
        if name.startswith("__") or name == "input" or not callable(value):  # Jupyter sets `input` for each cell
            continue
        yield module, name, value
        if isinstance(value, type) and value.__module__.startswith("helpers."):
            yield from ((value, member, inner) for member, inner in list(vars(value).items()) if callable(inner))


def _code(value: object) -> tuple:
    return tuple(id(getattr(value, part, None)) for part in ("__code__", "__defaults__", "__kwdefaults__"))
