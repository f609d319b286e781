"""Kill a process in the middle of its writing, and compare what it had acknowledged with what can be read afterwards.

Left out: the power cut. A killed process leaves with the operating system what it had handed over; losing that too
takes a machine that stops, which is what waiting for the disk (`fsync`) is for.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from helpers import crash_writers

PATIENCE_S = 60.0  # a program that has acknowledged nothing for so long is ended, and that is an error


@dataclass(frozen=True)
class Survival:
    """Of one interrupted writer: how many records it had acknowledged, and how many were readable afterwards.

    >>> Survival(acknowledged=101, survived=0).lost
    101
    """

    acknowledged: int
    survived: int

    @property
    def lost(self) -> int:
        """Acknowledged records that are gone; the one that was being written was not acknowledged."""
        return max(0, self.acknowledged - self.survived)


def kill_while_writing(command: Sequence[str], folder: str | Path, writers: int, after_s: float) -> dict[str, int]:
    """Start `command` in `folder`, kill it `after_s` seconds after all its writers have written; what each had said.

    The command prints "NAME tab NUMBER" for each finished write (`crash_writers.write_until_killed`); the result is
    the last number of each name. RuntimeError with its own words when it ends by itself.
    """
    said: dict[str, int] = {}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        try:
            while len(said) < writers and (line := process.stdout.readline()):
                said.update(_acknowledged(line))
            time.sleep(after_s)
            ended_by_itself = process.poll() is not None or len(said) < writers
            process.kill()
            said.update(_acknowledged(process.stdout.read()))  # to the end: no process holds the files any more
            words = process.stderr.read().decode(errors="replace")
        finally:
            timer.cancel()
            process.kill()
    if ended_by_itself:
        raise RuntimeError(f"expected a program that writes until it is killed, got one that ended or fell silent; "
                           f"writers heard of: {sorted(said) or 'none'}; it said: {words.strip() or 'nothing'}")
    return said


def survivors(kills: int, *, copies: int, rng: np.random.Generator) -> dict[str, list[Survival]]:
    """Kill `kills` processes that write to `copies` files in each of the three ways; what became of each file.

    The result has kills × copies entries for each name in `crash_writers.WRITERS`. The moment of each kill is drawn
    from `rng`, up to 10 ms after every writer of the process has finished at least one write.
    """
    names = [f"{kind} {copy}" for kind in crash_writers.WRITERS for copy in range(copies)]
    command = [sys.executable, "-I", "-S", os.path.abspath(crash_writers.__file__), *names]

    def one(after_s: float) -> dict[str, Survival]:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            for name in names:
                crash_writers.fill(os.path.join(folder, name), _kind(name))
            said = kill_while_writing(command, folder, len(names), after_s)
            return counted(said, lambda name: crash_writers.readable(os.path.join(folder, name)))
    with ThreadPoolExecutor(2) as pool:  # one process starts while the other is writing
        trials = list(pool.map(one, rng.uniform(0, 0.01, size=kills).tolist()))
    return {kind: [trial[name] for trial in trials for name in names if _kind(name) == kind]
            for kind in crash_writers.WRITERS}


def counted(said: dict[str, int], count: Callable[[str], int]) -> dict[str, Survival]:
    """What each writer had said, beside what `count` finds under its name now.

    >>> counted({"a": 3}, lambda name: 4)
    {'a': Survival(acknowledged=3, survived=4)}
    """
    return {name: Survival(acknowledged, count(name)) for name, acknowledged in said.items()}


def _kind(name: str) -> str:
    return name.rpartition(" ")[0]


def _acknowledged(output: bytes) -> dict[str, int]:
    """The last number of each name; a line that was cut is none."""
    lines = [line.decode() for line in output.splitlines(keepends=True) if line.endswith(b"\n")]
    return {name: int(number) for name, number in (line.rstrip().split("\t") for line in lines)}
