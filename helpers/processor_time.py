"""Ends the work of a process when it has had its seconds of processor time, however long it waited for them.

A limit on the wall clock would let a busy machine decide what is right: a program that shares its core with ten
others gets a tenth of the seconds. Left out: memory (Monty's own limit) and what a spent limit means
(`helpers.verdicts`).
"""

import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

PATIENCE = 20  # times the limit on the wall clock: a core may be shared by that many
LONGEST_S = 60.0  # that patience ends here; a longer limit is its own
FIRST_LOOK = 0.1  # of the limit: nearly every test has ended by then, and costs nothing
SHORTEST_S = 0.02  # between two looks; systems count processor time in steps of 10 to 16 ms


class OutOfTime(Exception):
    """A piece of work was ended because its time was spent."""


def longest(limit_s: float) -> float:
    """Seconds on the wall clock after which `limit_s` seconds of processor time are given up.

    >>> [longest(limit_s) for limit_s in (0.5, 3.0, 60.0)]
    [10.0, 60.0, 60.0]
    """
    return max(limit_s, min(PATIENCE * limit_s, LONGEST_S))


class Meter:
    """The processor time that child processes use from now on, together, against a limit in seconds.

    `host` adds the time of the thread that asks. Processes are first looked at after a tenth of the limit, which is
    taken as used; where the system does not tell, the wall clock counts.
    """

    def __init__(self, limit_s: float, *pids: int | None, host: bool = False) -> None:
        self._limit_s, self._pids = limit_s, pids
        self._begun = time.monotonic()
        self._host = time.thread_time() if host else None
        self._processes: list[psutil.Process] | None = None
        self._base = 0.0  # what the processes had used before
        self.due = self._begun + FIRST_LOOK * limit_s  # the next look
        self.killed = False

    def spent(self) -> bool:
        """Whether the limit is used up; False for a process that is gone, which whoever asked it will notice."""
        now = time.monotonic()
        if now < self.due:
            return False
        waited = now - self._begun
        try:
            used = self._used(waited)
        except psutil.NoSuchProcess:
            self.due = math.inf
            return False
        except (psutil.Error, OSError):
            used = waited
        left = self._begun + longest(self._limit_s) - now
        self.due = now + min(max(self._limit_s - used, SHORTEST_S), max(left, SHORTEST_S))
        return used >= self._limit_s or left <= 0

    def kill(self) -> None:
        """End the first process, if it is still the one that was looked at."""
        self.killed, self.due = True, math.inf
        try:
            if self._processes:
                self._processes[0].kill()
            elif self._pids[0] is not None:
                os.kill(self._pids[0], signal.SIGTERM)
        except (psutil.Error, OSError):
            pass  # gone already; what is left without permission to end it is Monty's limit on the wall clock

    def _used(self, waited: float) -> float:
        if self._processes is None:
            self._processes = [_child(pid) for pid in self._pids if pid is not None]
            self._base = self._total() - min(waited, FIRST_LOOK * self._limit_s)
        return self._total() - self._base

    def _total(self) -> float:
        host = 0.0 if self._host is None else time.thread_time() - self._host
        return host + sum(times.user + times.system for times in (p.cpu_times() for p in self._processes or ()))


def _child(pid: int) -> psutil.Process:
    process = psutil.Process(pid)
    if process.ppid() != os.getpid():  # the number was given to another process, which is none of ours
        raise psutil.NoSuchProcess(pid)
    return process


class Watch:
    """One thread that looks at the processes at work when a limit may be spent, and ends those that spent it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._meters: set[Meter] = set()
        self._wakes, self._closed = math.inf, False
        self._thread = threading.Thread(target=self._run, name="processor-time", daemon=True)
        self._thread.start()

    @contextmanager
    def limited(self, pid: int | None, limit_s: float) -> Iterator[Meter]:
        """End process `pid` once it has used `limit_s` seconds in here; `killed` says so. Never after this."""
        meter = Meter(limit_s, pid)
        try:
            with self._changed:
                self._meters.add(meter)
                if meter.due < self._wakes:
                    self._changed.notify()
            yield meter
        finally:
            with self._changed:
                self._meters.discard(meter)

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._closed:
                for meter in self._meters:
                    if meter.spent():
                        meter.kill()  # with the lock held: the process cannot be at other work by now
                self._wakes = min((meter.due for meter in self._meters), default=math.inf)
                wait_s = max(0.0, self._wakes - time.monotonic())
                self._changed.wait(None if wait_s == math.inf else wait_s)
