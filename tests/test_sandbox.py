"""Verdicts and their texts, isolation, limits, bad arguments, threads and processes of the sandbox."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil  # comes with ipykernel
import pytest
from jupyter_client.manager import start_new_kernel

from helpers import monty_sessions
from helpers.curriculum import ROOT
from helpers.problems import Problem, load_problems
from helpers.sandbox import MAX_CODE, run_tests
from helpers.verdicts import TestReport, TestResult

SQUARE = "def f(n):\n    return n * n\n"


def only(code: str | None, test: str, **options) -> tuple[str, str]:
    """Status and detail of a single test."""
    [result] = run_tests(code, [test], **options).results
    return result.status, result.detail


# --- verdicts ------------------------------------------------------------------------------------------------


def test_a_report_by_hand() -> None:
    report = run_tests("def largest(xs):\n    return max(xs) if xs else 0",
                       ("largest([1,5,2])==5", "largest([]) is None"))
    assert report == TestReport(
        (TestResult("largest([1,5,2])==5", "passed", "largest([1,5,2]) gave 5"),
         TestResult("largest([]) is None", "failed", "largest([]) gave 0, expected None")), None)
    assert (report.passed, report.n_passed) == (False, 1)
    assert run_tests(SQUARE, ["f(2) == 4"]).passed


@pytest.mark.parametrize(("code", "test", "status", "detail"), [
    (SQUARE, "f(3) == 9", "passed", "f(3) gave 9"),
    (SQUARE, "9 == f(3)", "passed", "f(3) gave 9"),
    (SQUARE, "f(3) == 3 ** 2", "passed", "f(3) gave 9"),
    (SQUARE, "f(3) == 10", "failed", "f(3) gave 9, expected 10"),
    (SQUARE, "f(0)", "failed", "f(0) gave 0, expected a true value"),
    (SQUARE, "abs(f(3) - 8) < 1e-6", "failed",
     "abs(f(3) - 8) < 1e-6 gave False, expected a true value; f(3) gave 9"),
    (SQUARE, "all(f(i) == i for i in range(3))", "failed",
     "all(f(i) == i for i in range(3)) gave False, expected a true value; f(i) for i = 0 gave 0; "
     "f(i) for i = 1 gave 1; f(i) for i = 2 gave 4"),
    (SQUARE, "sorted([f(2), f(1)]) == [1, 5]", "failed", "sorted([f(2), f(1)]) gave [1, 4], expected [1, 5]"),
    (SQUARE, "f('a') == 1", "error",
     "f('a') raised TypeError: can't multiply sequence by non-int of type 'str' (line 2)"),
    (SQUARE, "g(3) == 9", "error", "g(3) raised NameError: name 'g' is not defined"),
    (SQUARE, "len(f(3)) == 1", "error", "len(f(3)) raised TypeError: object of type 'int' has no len(); f(3) gave 9"),
    (SQUARE, "1 == 1", "error", "1 == 1 calls nothing that the code defines"),
    ("def f(n):\n    x = 1\n    return x / n", "f(0) == 1", "error",
     "f(0) raised ZeroDivisionError: division by zero (line 3)"),
    ("def f(n):\n    assert n", "f(0) is None", "error", "f(0) raised AssertionError (line 2)"),
    ("def f(n): raise TimeoutError('feed time limit exceeded')", "f(0) == 1", "error",
     "f(0) raised TimeoutError: feed time limit exceeded (line 1)"),
    ("def f(n): raise MemoryError", "f(0) == 1", "error", "f(0) raised MemoryError (line 1)"),
    ("def f(n):\n    while True: pass", "f(0) == 1", "timeout", "f(0) timed out after 0.2 s"),
    ("def f(n): return 'a' * 10**10", "f(0) == 1", "memory", "f(0) used more than 256 MB"),
    ("def f(n): return f", "f(0) == 1", "failed", "f(0) gave a function object, expected 1"),
    ("def f(n): return (x for x in [n])", "f(0) == [0]", "failed", "f(0) gave a generator object, expected [0]"),
    ("def f(n): return [0] * 10**6", "f(0) == 1", "failed", "f(0) gave more data than can be compared, expected 1"),
    ("def f(n):\n    yield n", "f(0) == 1", "unsupported",
     "loading the code needs yield expressions (line 2), which the sandbox does not have; write it without"),
    ("import heapq\ndef f(n): return n", "f(0) == 0", "unsupported",
     "loading the code needs the module heapq (line 1), which the sandbox does not have; write it without"),
    ("class A:\n    def __bool__(self): return False\ndef f(n): return 1 if A() else 2", "f(0) == 2", "unsupported",
     "the code needs the special method __bool__, which the sandbox does not have; write it without"),
    ("from decimal import Decimal\ndef f(n): return Decimal(n)", "f(4) == 4", "unsupported",
     "f(4) gave a Decimal object, expected 4"),
    ("def f(n): return str.upper", "f(0) == 1", "unsupported",
     "f(0) needs the attribute upper of str (line 1), which the sandbox does not have; write it without"),
])
def test_status_and_detail(code: str, test: str, status: str, detail: str) -> None:
    assert only(code, test, timeout_s=0.2 if status == "timeout" else 5.0) == (status, detail)


@pytest.mark.parametrize(("code", "error"), [
    (None, "there is no code to test"),
    ("", "there is no code to test"),
    (" \n\t\n", "there is no code to test"),
    ("Here is the code:\ndef f(n): return n", "SyntaxError"),
    ("```python\ndef f(n): return n\n```", "SyntaxError"),
    ("def f(n)\n    return n", "(line 1)"),
    ("def f(n): return n\nreturn 1", "SyntaxError: 'return' outside function"),
    ("x = 1 / 0\ndef f(n): return n", "loading the code raised ZeroDivisionError: division by zero (line 1)"),
    ("def f(n): return n\nassert f(1) == 2", "AssertionError (line 2)"),
    ("def f(n): return n\n\0", "NUL"),
    ("def f(n): return n  # \ud800", "surrogate"),
    ("def f(n): return n\n" + "#" * MAX_CODE, "50,000 characters"),
    ("raise SystemExit", "SystemExit"), ("exit()", "exit"), ("import sys\nsys.exit(0)", "exit"),
    ("while True: pass", "loading the code timed out after 0.2 s"),
])
def test_code_that_does_not_load_fails_every_test(code: str | None, error: str) -> None:
    report = run_tests(code, ["f(1) == 1", "f(2) == 2"], timeout_s=0.2 if code == "while True: pass" else 5.0)
    assert error in report.error and not report.passed
    assert [result.detail for result in report.results] == [report.error] * 2
    assert {result.status for result in report.results} in ({"error"}, {"timeout"})


def test_code_that_only_comments_defines_nothing() -> None:
    assert only("# a comment", "f(1) == 1") == ("error", "f(1) raised NameError: name 'f' is not defined")


def test_no_tests_is_no_pass() -> None:
    for code in (SQUARE, None, "not Python at all"):
        report = run_tests(code, [])
        assert (report.passed, report.results, report.n_passed) == (False, (), 0)
        assert "no tests" in report.error


def test_printed_text_is_kept_short_and_decides_nothing() -> None:
    report = run_tests("print('passed ' * 1000)\n" + SQUARE, ["f(2) == 5"])
    assert report.printed.startswith("passed passed") and len(report.printed) == 2000
    assert not report.passed
    assert run_tests(SQUARE, ["f(2) == 4"]).printed == ""


def test_numbers_are_equal_across_types_and_truth_values_are_not_numbers() -> None:
    code = "def same(x): return x"
    passed = ["same(2.0) == 2", "same(2) == 2.0", "same(True) == True", "same(1 + 0j) == 1", "same([1.0]) == [1]"]
    failed = ["same(1) == True", "same(True) == 1", "same(0) == False", "same([True]) == [1]", "same(0) is False"]
    assert run_tests(code, passed).passed
    assert run_tests(code, failed).n_passed == 0


def test_the_same_failure_gives_the_same_text() -> None:
    code = ("import random\ndef f(n):\n    return random.random()\ndef g(n): raise ValueError(str(g) + '/tmp/x1/y')\n"
            "def h(n): return {'b', 'a', 'c'}")
    tests = ["f(1) == 1", "g(1) == 1", "h(1) == {'z', 'a'}"]
    first = run_tests(code, tests)
    monty_sessions.close()
    assert run_tests(code, tests) == first
    assert [result.detail for result in first.results][1:] == [
        "g(1) raised ValueError: <function 'g'><path> (line 4)", "h(1) gave {'a', 'b', 'c'}, expected {'a', 'z'}"]


def test_details_are_capped() -> None:
    code = "def f(x): return [x] * 100\ndef g(x): raise ValueError('y' * 10**6)"
    report = run_tests(code, [f"f({'a' * 50!r}) == {['b' * 100]!r}", f"g({'a' * 400!r}) == 1", "g(1) == 1"])
    for result in report.results:
        assert len(result.detail) <= 300
    assert report.results[2].detail.endswith("… (line 2)")


# --- isolation and limits ------------------------------------------------------------------------------------


def test_each_test_starts_from_the_state_the_code_left() -> None:
    code = "seen = [1]\ndef f():\n    seen.append(1)\n    return len(seen)"
    assert run_tests(code, ["f() == 2", "f() == 2", "f() + f() == 5", "f() == 2"]).passed


def test_an_argument_that_the_code_changes_is_the_test_s_own() -> None:
    code = "def f(xs):\n    xs.append(1)\n    return xs"
    assert only(code, "f([2]) == [2, 1]")[0] == "passed"
    assert only(code, "[f(xs) for xs in [[2]]] == [[2, 1]]") == (
        "unsupported", "f(xs) for xs = [2] changes its argument, which this test cannot see")


def test_a_spent_limit_is_not_handed_on() -> None:
    code = "def f(n):\n    if n:\n        while True: pass\n    return sum(range(10**5))"
    report = run_tests(code, ["f(1) == 1", "f(0) == 4999950000", "f(1) == 1", "f(0) == 4999950000"], timeout_s=0.3)
    assert [result.status for result in report.results] == ["timeout", "passed", "timeout", "passed"]


def test_sleeping_takes_no_time_and_no_limit() -> None:
    assert only("import time\ndef f(n):\n    time.sleep(100)\n    return n", "f(1) == 1", timeout_s=0.5)[0] == "passed"


def test_limits_are_those_asked_for() -> None:
    assert only("def f(): return len('a' * 40 * 10**6)", "f() == 40_000_000", memory_mb=20) == (
        "memory", "f() used more than 20 MB")
    assert only("def f(): return len('a' * 40 * 10**6)", "f() == 40_000_000", memory_mb=100)[0] == "passed"
    loop = "def f():\n    while True: pass"
    assert only(loop, "[f()] == [1]", timeout_s=0.1) == ("timeout", "f() timed out after 0.1 s")
    many = "all(f(i) < 0 for i in range(10**5))"
    assert only(SQUARE, many, timeout_s=0.1) == ("timeout", f"{many} timed out after 0.1 s")


def test_a_worker_that_dies_is_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = monty_sessions.Sessions.code
    number = 0

    @contextmanager
    def code(self, state, limits) -> Iterator:
        nonlocal number
        number += 1
        with whole(self, state, limits) as session:
            if number == 3:  # the loading, the first test, the second test
                os.kill(session.worker_pid, signal.SIGTERM)
            yield session

    monkeypatch.setattr(monty_sessions.Sessions, "code", code)
    report = run_tests(SQUARE, ["f(1) == 1", "f(2) == 4", "f(3) == 9"])
    assert [result.status for result in report.results] == ["passed", "crash", "passed"]
    assert report.results[1].detail == "f(2) ended the process of the sandbox"


# --- bad arguments -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arguments", "message"), [
    ({"timeout_s": 0}, r"timeout_s: expected seconds above 0, up to 60; got 0"),
    ({"timeout_s": -1.5}, "timeout_s.*-1.5"), ({"timeout_s": float("nan")}, "timeout_s.*nan"),
    ({"timeout_s": float("inf")}, "timeout_s.*inf"), ({"timeout_s": "5"}, "timeout_s.*'5'"),
    ({"timeout_s": None}, "timeout_s.*None"),
    ({"memory_mb": 0}, "memory_mb: expected a whole number of megabytes above 0; got 0"),
    ({"memory_mb": 1.5}, "memory_mb.*1.5"),
    ({"tests": "f(2) == 4"}, "tests: expected a list of strings; got str"),
    ({"tests": None}, "tests.*NoneType"), ({"tests": {"f(2) == 4"}}, "tests.*set"),
    ({"tests": ["f(2) == 4", 3]}, r"tests\[1\]: expected a string with a Python expression; got 3"),
    ({"tests": ["assert f(2) == 4"]}, "the test 'assert f.*is not a Python expression.*without assert"),
    ({"tests": ["f(2) =="]}, "the test 'f\\(2\\) ==' is not a Python expression"),
    ({"tests": [""]}, "the test '' is not"), ({"tests": ["f(2) == 4\0"]}, "null|NUL|is not a Python"),
    ({"code": b"def f(n): return n"}, "code: expected a string or None; got bytes"),
])
def test_bad_arguments_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_tests(**{"code": SQUARE, "tests": ["f(2) == 4"], **arguments})


# --- threads and processes -----------------------------------------------------------------------------------


def test_threads_at_once_get_their_own_results() -> None:
    tests = ["f(2) == {0}", "abs(f(2) - {0}) < 1e-9", "f(2) == -1", "all(f(i) == i + {1} for i in range(5))"]
    found: dict[int, list] = {}

    def work(number: int) -> None:
        code = f"def f(n): return n + {number}"
        reports = [run_tests(code, [test.format(2 + number, number) for test in tests], timeout_s=30) for _ in range(3)]
        found[number] = [[result.status for result in report.results] for report in reports]

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == {number: [["passed", "passed", "failed", "passed"]] * 3 for number in range(8)}


def workers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if "monty" in child.name()]


def test_closing_ends_every_worker_and_running_again_starts_anew() -> None:
    assert run_tests(SQUARE, ["f(2) == 4", "abs(f(2)) == 4"]).passed
    assert workers()
    monty_sessions.close()
    assert not workers()
    monty_sessions.close()
    assert run_tests(SQUARE, ["f(2) == 4"]).passed
    number = len(workers())
    for _ in range(5):
        run_tests(SQUARE, ["f(2) == 4"])
    assert len(workers()) == number


def in_process(program: str) -> subprocess.CompletedProcess:
    """A process of its own; warnings are off, since newer Pythons warn of every fork beside threads."""
    return subprocess.run([sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)], capture_output=True,
                          text=True, timeout=60)


def test_importing_starts_nothing_and_exit_leaves_nothing() -> None:
    done = in_process("""
        import psutil, threading
        from helpers.sandbox import run_tests
        assert not psutil.Process().children() and threading.active_count() == 1
        assert run_tests("def f(n): return n", ["f(1) == 1"]).passed
        print(*(child.pid for child in psutil.Process().children()))
    """)
    assert (done.returncode, done.stderr) == (0, "")
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids
    assert not [pid for pid in pids if psutil.pid_exists(pid)
                and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]  # a zombie waits for init, not for us


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork; nothing to test without it")
def test_a_forked_process_is_told_so_and_harms_nothing() -> None:
    done = in_process("""
        import os
        from helpers.sandbox import run_tests
        assert run_tests("def f(n): return n", ["f(1) == 1"]).passed
        child = os.fork()
        if child == 0:
            try:
                run_tests("def f(n): return n", ["f(1) == 1"])
            except RuntimeError as error:
                print(error, flush=True)
        else:
            assert os.waitpid(child, 0)[1] == 0
            import psutil
            assert all(p.status() != psutil.STATUS_ZOMBIE for p in psutil.Process().children())
            assert run_tests("def f(n): return n", ["f(1) == 1"]).passed
    """)
    assert (done.returncode, done.stderr) == (0, "")
    assert "get_context('spawn')" in done.stdout


def test_a_kernel_that_used_it_ends_at_once(tmp_path: Path) -> None:
    """Not only when it is killed: a kernel ends its children first, and looks for them for half a minute."""
    manager, client = start_new_kernel(cwd=tmp_path)
    try:
        client.execute(f"import sys; sys.path.insert(0, {str(ROOT)!r})")
        client.execute("from helpers.sandbox import run_tests")
        client.execute("import atexit, pathlib; atexit.register(pathlib.Path('ended').touch)")
        done = client.execute_interactive("assert run_tests('def f(n): return n', ['f(1) == 1']).passed", timeout=60)
        assert done["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_wait_time = 20.0  # after half of it, the manager would end the kernel by a signal
        manager.shutdown_kernel()
    assert (tmp_path / "ended").exists()


def test_it_runs_inside_an_event_loop() -> None:
    done = in_process("""
        import asyncio
        from helpers.sandbox import run_tests
        async def cell(): return run_tests("def f(n): return n", ["f(1) == 1", "abs(f(1)) == 1"]).passed
        assert asyncio.run(cell())
    """)
    assert (done.returncode, done.stderr) == (0, "")


# --- the bank of problems ------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [p for p in load_problems() if p.revised], ids=lambda problem: problem.id)
def test_solutions_pass_their_own_tests_and_not_the_revised_ones(problem: Problem) -> None:
    new = problem.with_revision()
    assert run_tests(problem.solution, problem.tests).passed and run_tests(new.solution, new.tests).passed
    report = run_tests(problem.solution, new.tests)
    assert not report.passed
    assert {result.status for result in report.results} <= {"passed", "failed", "error"}  # error: a missing key


def test_after_a_test_that_ran_into_its_limit_the_next_ones_get_less() -> None:
    loop = "def f(n):\n    while n:\n        pass\n    return n"
    report = run_tests(loop, ["f(1) == 1", "f(0) == 0", "f(2) == 2"], timeout_s=1.0)
    assert [result.status for result in report.results] == ["timeout", "passed", "timeout"]
    assert report.results[0].detail == "f(1) timed out after 1 s"
    assert report.results[2].detail == "f(2) timed out after 0.5 s"


def test_a_limit_below_that_stays_as_it_is() -> None:
    report = run_tests("def f(n):\n    while True:\n        pass", ["f(1) == 1", "f(2) == 2"], timeout_s=0.1)
    assert [result.detail for result in report.results] == ["f(1) timed out after 0.1 s", "f(2) timed out after 0.1 s"]


def test_a_package_that_is_not_installed_is_not_searched_for_at_every_turn(monkeypatch) -> None:
    asked = []

    class Finder:
        def find_spec(self, name, path=None, target=None):
            asked.append(name)

    run_tests(SQUARE, ["f(2) == 4"])
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert run_tests(SQUARE, ["f(3) == 9"]).passed
    assert [name for name in asked if name.startswith("opentelemetry")] == []
