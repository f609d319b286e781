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


def milliseconds(*works: Callable[[], None], rounds: int) -> list[float]:
    """Median time of each, taken in turn, after one round that is not counted (it starts the pools)."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 1):
        for kept, work in zip(times, works, strict=True):
            start = time.perf_counter()
            work()
            kept.append(time.perf_counter() - start)
    return [1000 * statistics.median(kept[1:]) for kept in times]


def main() -> dict[str, float]:
    """Print and return milliseconds for both, and their ratio."""
    sandbox_ms, process_ms = milliseconds(in_sandbox, in_fresh_process, rounds=30)
    ratio = process_ms / sandbox_ms
    print(f"run_tests, five isolated tests: {sandbox_ms:.2f} ms; one fresh CPython process for the five: "
          f"{process_ms:.2f} ms; {ratio:.1f} times as fast (to reach: 5)")
    return {"sandbox_ms": sandbox_ms, "process_ms": process_ms, "ratio": ratio}


if __name__ == "__main__":
    main()
