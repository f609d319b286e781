"""Execute several notebooks side by side, each in a fresh kernel, and say how far they are.

Left out: what happens inside one notebook (`fresh_kernel.py`, imported only by the worker processes, because
papermill takes seconds to import) and the pages written about it (`report.py`).
"""

import io
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

import psutil

from helpers.jobs import Job, Run, kernel_environment
from helpers.progress import Progress

DEFAULT_PROCESSES = min(2, os.cpu_count() or 1)


def execute_all(jobs: Sequence[Job], *, processes: int = DEFAULT_PROCESSES,
                progress: Progress | None = None) -> list[Run]:
    """Execute `jobs`, at most `processes` at a time, and return what became of each, in the same order.

    A worker process that dies costs its notebook, not the others. However this ends, no child is left behind.
    """
    if processes < 1:
        raise ValueError(f"expected at least one process, got {processes}; leave out -j or give a larger number")
    progress = progress or Progress(len(jobs), io.StringIO())
    waiting, runs = list(range(len(jobs)))[::-1], {}
    workers = [_Worker() for _ in range(min(processes, len(jobs)))]
    try:
        while len(runs) < len(jobs):
            for worker in workers:
                if worker.number is None and waiting:
                    worker.give(number := waiting.pop(), jobs[number])
                    progress.cell(jobs[number].notebook.stem, 0, 0)
            busy = {worker.pipe: worker for worker in workers if worker.number is not None}
            for pipe in wait(busy, timeout=1.0):
                number, message = busy[pipe].number, busy[pipe].read(jobs)
                if isinstance(message, Run):
                    runs[number] = message
                    progress.done(message.name, passed=message.passed, seconds=message.seconds)
                else:
                    progress.cell(jobs[number].notebook.stem, *message)
            progress.tick()
    finally:
        for worker in workers:
            worker.stop()
    return [runs[number] for number in range(len(jobs))]


class _Worker:
    """A process that executes one notebook after another; `number` is that of its job, or None when idle."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._start()

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would copy locks held by other threads
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()  # so that the death of the process is seen as the end of the pipe

    def give(self, number: int, job: Job) -> None:
        self.number, self.begun = number, time.perf_counter()
        self.pipe.send(job)

    def read(self, jobs: Sequence[Job]) -> "Run | tuple[int, int]":
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            message = Run(name=jobs[self.number].notebook.stem, passed=False,
                          seconds=time.perf_counter() - self.begun,
                          problem=f"the process executing it ended with exit code {self.process.exitcode}")
            self._start()
        if isinstance(message, Run):
            self.number = None
        return message

    def stop(self) -> None:
        """End the process and what it started: its kernel, and what the notebook runs in turn."""
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            for child in family:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """The life of a worker process: take a job, execute it, send what became of it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which then ends its workers
    sys.modules["rfc3987_syntax"] = None  # jsonschema builds a grammar with it, two seconds that nothing here uses
    from helpers.fresh_kernel import execute_one
    while True:
        try:
            job = pipe.recv()
        except EOFError:  # the parent is gone
            return
        environment = kernel_environment(job.source)
        os.environ.clear()
        os.environ.update(environment)
        begun = time.perf_counter()
        try:
            run = execute_one(job, lambda number, cells: pipe.send((number, cells)))
        except Exception as error:  # reported as this notebook's failure; the others still run
            run = Run(name=job.notebook.stem, passed=False, seconds=time.perf_counter() - begun,
                      problem=f"{type(error).__name__}: {error}")
        pipe.send(run)
