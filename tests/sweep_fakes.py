"""Measures for tests of sweeps: workers import them from here."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def line(seeds, *, a=0.0, b=1.0) -> np.ndarray:
    return a + b * np.array(seeds)


def slow_noise(seeds, *, a, pause=0.05) -> np.ndarray:
    """Numbers whose last bits tell whether a seed and a parameter were mixed up; later points end sooner."""
    time.sleep(pause / (1 + a))
    return np.array([np.random.default_rng([seed, a]).random() for seed in seeds])


def fails_at(seeds, *, a, at, error="ValueError") -> np.ndarray:
    if a == at and 3 in seeds:
        raise ERRORS[error]()
    return line(seeds, a=a)


class Awkward(Exception):
    """An exception that cannot be pickled back: it is made from two values and remembers one."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)


ERRORS = {"ValueError": lambda: ValueError("a: too much"), "TimeoutError": lambda: TimeoutError("a: too late"),
          "Awkward": lambda: Awkward("x", "a: too odd")}


def wrong_shape(seeds, *, a) -> np.ndarray:
    return np.zeros((len(seeds), a))


def kills_its_worker(seeds, *, a) -> np.ndarray:
    if a == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return line(seeds, a=a)


def around(dask_worker) -> dict[str, object]:
    """What a worker sees of where it is; Dask's `Client.run` hands the worker in."""
    return {"pid": os.getpid(), "omp": os.environ.get("OMP_NUM_THREADS"), "threads": dask_worker.state.nthreads,
            "folder": Path(dask_worker.local_directory), "memory": dask_worker.memory_manager.memory_limit}
