"""Limits on processor time: the meter by hand, and programs in the sandbox whose worker has to wait for its core."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import psutil
import pytest

from helpers import monty_sessions, processor_time
from helpers.monty_sessions import Limits, Session
from helpers.processor_time import Meter, OutOfTime, Watch, longest
from helpers.sandbox import run_tests

FINITE = "def f(n):\n    return len([i for i in range(200_000) if i % 2 == n])"
ENDLESS = "def f(n):\n    while True:\n        pass"


class System:
    """A stand-in for clocks and processes: what a test sets is what the meter reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.host, self.used, self.parent = 0.0, 0.0, {7: 5.0, 8: 1.0}, os.getpid()
        self.raises: Exception | None = None
        monkeypatch.setattr(processor_time, "time", SimpleNamespace(
            monotonic=lambda: self.clock, thread_time=lambda: self.host))
        monkeypatch.setattr(processor_time.psutil, "Process", self.process)

    def process(self, pid: int) -> SimpleNamespace:
        if self.raises:
            raise self.raises
        return SimpleNamespace(ppid=lambda: self.parent, kill=lambda: self.used.pop(pid),
                               cpu_times=lambda: SimpleNamespace(user=self.used[pid], system=0.0))


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    return System(monkeypatch)


def test_processor_time_counts_and_waiting_does_not(system: System) -> None:
    meter = Meter(3.0, 7)
    assert meter.due == pytest.approx(0.3)
    system.clock = 0.2
    assert not meter.spent()
    system.clock = 0.31  # a tenth is taken as used, whatever it was
    assert not meter.spent() and meter.due == pytest.approx(0.31 + 2.7)
    system.clock, system.used[7] = 10.0, 6.0  # 1.3 of 3 seconds used in ten
    assert not meter.spent() and meter.due == pytest.approx(10.0 + 1.7)
    system.clock, system.used[7] = 20.0, 7.71
    assert meter.spent()


def test_a_first_look_that_comes_late_takes_no_more_than_a_tenth_as_used(system: System) -> None:
    meter = Meter(3.0, 7)
    system.clock = 9.0
    assert not meter.spent() and meter.due == pytest.approx(9.0 + 2.7)


def test_time_on_the_clock_ends_what_uses_none(system: System) -> None:
    meter = Meter(3.0, 7)
    for system.clock in (1.0, 59.9):
        assert not meter.spent()
    assert meter.due <= 60.0
    system.clock = 60.0
    assert meter.spent()
    assert (longest(0.1), longest(59.0), longest(61.0)) == (2.0, 60.0, 61.0)


def test_several_processes_and_the_thread_that_asks_count_together(system: System) -> None:
    meter = Meter(3.0, 7, 8, host=True)
    system.clock = 0.31
    assert not meter.spent()
    system.clock, system.used, system.host = 5.0, {7: 5.9, 8: 1.9}, 0.8  # 0.3 + 0.9 + 0.9 + 0.8
    assert not meter.spent()
    system.clock, system.host = 6.0, 0.91
    assert meter.spent()


def test_where_the_system_does_not_tell_the_clock_counts(system: System) -> None:
    system.raises = psutil.AccessDenied(7)
    meter = Meter(3.0, 7)
    system.clock = 2.9
    assert not meter.spent()
    system.clock = 3.0
    assert meter.spent()


@pytest.mark.parametrize("gone", [True, False])
def test_a_process_that_is_gone_is_not_mistaken_for_another(system: System, gone: bool) -> None:
    system.raises, system.parent = psutil.NoSuchProcess(7) if gone else None, 1
    meter = Meter(3.0, 7)
    system.clock = 100.0
    assert not meter.spent() and meter.due == float("inf")


def test_ending_a_process_twice_is_no_error(system: System) -> None:
    meter = Meter(3.0, 7)
    system.clock = 0.31
    meter.spent()
    meter.kill()
    assert meter.killed and 7 not in system.used
    system.raises = psutil.NoSuchProcess(7)
    meter = Meter(3.0, None)
    meter.kill()
    assert meter.killed


@contextmanager
def child(program: str) -> Iterator[subprocess.Popen]:
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_watch_ends_a_process_that_spent_its_limit_and_no_other() -> None:
    watch = Watch()
    with child("while True: pass") as busy, child("import time; time.sleep(600)") as idle:
        with watch.limited(idle.pid, 30.0) as other, watch.limited(busy.pid, 0.2) as meter:
            assert busy.wait(timeout=60) != 0
        assert meter.killed and not other.killed and idle.poll() is None
        with watch.limited(idle.pid, 30.0) as meter:
            pass
        assert not meter.killed and idle.poll() is None
    watch.close()


def test_after_its_block_a_process_is_left_alone() -> None:
    watch = Watch()
    with child("while True: pass") as busy:
        with watch.limited(busy.pid, 0.05):
            pass
        process = psutil.Process(busy.pid)
        while sum(process.cpu_times()[:2]) < 0.2:
            assert busy.poll() is None
            threading.Event().wait(0.05)
        assert busy.poll() is None
    watch.close()


def test_a_value_that_came_as_its_process_was_ended_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "PATIENCE", 1)
    watch = Watch()
    with child("import time; time.sleep(600)") as idle:
        late = SimpleNamespace(worker_pid=idle.pid, feed_run=lambda source: idle.wait(timeout=60))
        with pytest.raises(OutOfTime):
            Session(late, watch, Limits(0.1)).feed_run("1")
    watch.close()


# --- in the sandbox ------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Holds the worker of every session for code, from the second on, for seconds before it may go on."""
    whole, number, hold_s, timers = monty_sessions.Sessions.code, 0, 0.0, []

    @contextmanager
    def code(self, state, limits) -> Iterator:
        nonlocal number
        number += 1
        with whole(self, state, limits) as session:
            if number > 1:  # the first is the loading
                process = psutil.Process(session.worker_pid)
                process.suspend()
                timers.append(threading.Timer(hold_s, process.resume))
                timers[-1].start()
            yield session

    def for_seconds(seconds: float) -> None:
        nonlocal hold_s
        hold_s = seconds
        monkeypatch.setattr(monty_sessions.Sessions, "code", code)

    yield for_seconds
    for timer in timers:
        timer.cancel()


@pytest.mark.parametrize("test", ["f(0) == 100_000", "abs(f(1) - 100_000) < 1"])
def test_a_slow_program_that_has_to_wait_is_judged_right(waiting, test: str) -> None:
    waiting(1.5)
    assert run_tests(FINITE, [test], timeout_s=1.0).passed


def test_an_endless_program_that_has_to_wait_still_ends(waiting) -> None:
    waiting(0.6)
    report = run_tests(ENDLESS, ["f(0) == 1", "[f(0)] == [1]"], timeout_s=0.3)
    assert [result.detail for result in report.results] == ["f(0) timed out after 0.3 s"] * 2


def test_a_program_that_never_gets_the_processor_ends(waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_time, "PATIENCE", 2)
    waiting(600.0)
    [result] = run_tests(FINITE, ["f(0) == 100_000"], timeout_s=0.3).results
    assert (result.status, result.detail) == ("timeout", "f(0) timed out after 0.3 s")


def test_an_endless_program_uses_about_its_limit_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    kill = Meter.kill

    def kept(self) -> None:
        used.append(sum(self._processes[0].cpu_times()[:2]))
        kill(self)

    monty_sessions.close()  # so that the worker has used nothing before
    monkeypatch.setattr(Meter, "kill", kept)
    [result] = run_tests(ENDLESS, ["f(0) == 1"], timeout_s=0.5).results
    assert result.status == "timeout"
    assert len(used) == 1 and used[0] < 1.0


def test_all_calls_of_one_test_share_its_limit() -> None:
    code, test = "def f(n):\n    return sum(range(1_000_000))", "all(f(i) > 0 for i in range(30))"
    [result] = run_tests(code, [test], timeout_s=0.5).results
    assert (result.status, result.detail.partition(";")[0]) == ("timeout", f"{test} timed out after 0.5 s")


def test_what_looks_at_no_clock_inside_ends_as_well() -> None:
    [result] = run_tests("def f(n): return 10**10**8 % 7", ["f(0) == 1"], timeout_s=0.3).results
    assert (result.status, result.detail) == ("timeout", "f(0) timed out after 0.3 s")


def test_two_threads_at_once_spend_only_their_own_limits() -> None:
    reports = {}

    def work(name: str, code: str, timeout_s: float) -> None:
        reports[name] = run_tests(code, ["f(0) == 100_000"] * 3, timeout_s=timeout_s)

    threads = [threading.Thread(target=work, args=arguments)
               for arguments in (("endless", ENDLESS, 0.2), ("finite", FINITE, 5.0), ("finite too", FINITE, 5.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert reports["finite"].passed and reports["finite too"].passed
    assert {result.status for result in reports["endless"].results} == {"timeout"}
