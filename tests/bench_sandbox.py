"""Milliseconds for `run_tests` on five isolated tests, beside one fresh CPython process that runs the same five."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from helpers.sandbox import run_tests

CODE = """def largest(xs):
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best
"""
TESTS = ("largest([1, 5, 2]) == 5", "largest([-3, -1]) == -1", "largest([7]) == 7", "largest([2, 2]) == 2",
         "largest([]) is None")


def in_sandbox() -> None:
    """Five tests, each from the same restored state."""
    assert run_tests(CODE, TESTS).passed


def in_fresh_process() -> None:
    """The five as asserts in one process, which isolates nothing from anything."""
    program = CODE + "".join(f"assert {test}\n" for test in TESTS)
    subprocess.run([sys.executable, "-c", program], check=True)


def milliseconds(work: Callable[[], None], rounds: int) -> float:
    """Median over `rounds`, after one round that is not counted (it starts the pools)."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def main() -> None:
    """Print both in turn and their ratio."""
    sandbox, process = milliseconds(in_sandbox, 100), milliseconds(in_fresh_process, 20)
    print(f"run_tests, five isolated tests:          {sandbox:7.2f} ms")
    print(f"one fresh CPython process, five asserts: {process:7.2f} ms")
    print(f"run_tests is {process / sandbox:.1f} times as fast (to reach: 5)")


if __name__ == "__main__":
    main()
