"""Sweeps whose workers, scheduler or own process are killed or interrupted: slow, real processes only."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sweep_fakes import kills_its_worker, line, slow_noise

from helpers.sweep import TaskError, grid, sweep
from helpers.sweep_cluster import cluster
from helpers.sweep_scheduler import ClusterError

pytestmark = pytest.mark.slow
POINTS = grid(a=[0, 1, 2, 3], pause=[0.1])
SEEDS = range(60)
HERE = Path(__file__).parent
SCRIPT = """
from helpers.sweep import sweep
from sweep_fakes import slow_noise
if __name__ == "__main__":
    sweep(slow_noise, [{"a": 0, "pause": 0.2}] * 500, range(2), workers=2,
          watch=lambda done, total: print(done, flush=True))
"""


@contextmanager
def running(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen]:
    """Python with `arguments` in a group of its own, which is killed at the end."""
    paths = os.pathsep.join([str(HERE), str(HERE.parent)])
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, env={**os.environ, "PYTHONPATH": paths, **(env or {})})
    with process:
        try:
            yield process
        finally:
            family = [process, *psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []
            for member in family:
                member.kill()


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited 60 s for {what}"
        time.sleep(0.05)


@contextmanager
def scheduler_and_workers(monkeypatch: pytest.MonkeyPatch, folder: Path, *, before: Sequence[str] = ("", "")
                          ) -> Iterator[subprocess.Popen]:
    """A scheduler and two workers as a reader would start them, one when it has code to run first.

    Their address is in the variable. `before` is such code for the scheduler, and for the worker.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    first, second = (f"{code}\nfrom distributed.cli.dask_{name} import main\nmain()"
                     for code, name in zip(before, ("scheduler", "worker"), strict=True))
    with running("-c", first, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--dashboard-address",
                 "127.0.0.1:0") as process, \
            running("-c", second, address, "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard",
                    "--local-directory", str(folder), *(["--no-nanny"] if before[1] else ["--nworkers", "2"])):
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        yield process


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[subprocess.Popen]:
    with scheduler_and_workers(monkeypatch, tmp_path) as process:
        yield process


@pytest.mark.parametrize(("before", "who"), [
    (("import sys; sys.modules['helpers'] = None", ""), "the scheduler of tcp"),
    (("", "import sys; sys.modules['helpers'] = None"), "tcp://127.0.0.1:")])
def test_processes_elsewhere_without_this_project_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                            before: Sequence[str], who: str) -> None:
    with scheduler_and_workers(monkeypatch, tmp_path, before=before), \
            pytest.raises(ClusterError) as caught, cluster(timeout_s=60):
        pass
    assert caught.value.kind == "versions"
    assert f"expected this project on {who}" in str(caught.value)
    assert "No module named 'helpers.sweep_scheduler'" in str(caught.value)


def test_workers_of_another_scheduler_may_be_killed_too(scheduler: subprocess.Popen) -> None:
    serial = sweep(slow_noise, POINTS, SEEDS, workers=0)
    with cluster(timeout_s=60) as opened:
        wait_until(lambda: opened.size() == 2, "two workers")
        assert opened.describe().startswith("2 workers at tcp://127.0.0.1:")
        assert sweep(slow_noise, POINTS, SEEDS, cluster=opened, seeds_per_task=7).same_as(serial)
        victim = psutil.Process(opened.pids()[0])
        killed = sweep(slow_noise, POINTS, SEEDS, cluster=opened, seeds_per_task=7,
                       watch=lambda done, total: victim.kill() if done == 5 else None)
    assert killed.same_as(serial) and not victim.is_running()


def test_a_scheduler_that_goes_away_in_mid_sweep_is_an_error_in_finite_time(scheduler: subprocess.Popen) -> None:
    started = []

    def kill(done: int, total: int) -> None:
        if done == 2:
            scheduler.kill()
            started.append(time.monotonic())

    with pytest.raises(ClusterError, match=r"expected the workers at tcp://.* to stay, got a scheduler or"), \
            cluster(timeout_s=60) as opened:
        sweep(slow_noise, POINTS, SEEDS, cluster=opened, seeds_per_task=2, watch=kill)
    assert time.monotonic() - started[0] < 120


def test_workers_that_all_go_away_are_an_error_in_finite_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
                      scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}, silence_logs=50) as local:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", local.scheduler_address)
        with cluster(timeout_s=5) as opened, pytest.raises(ClusterError) as caught:
            sweep(slow_noise, POINTS, SEEDS, cluster=opened, seeds_per_task=2,
                  watch=lambda done, total: local.scale(0) if done == 2 else None)
    assert caught.value.kind == "lost" and local.scheduler_address in str(caught.value)


def test_many_kills_change_nothing() -> None:
    """Twelve kills, at whatever moment each comes; a task is tried by four workers before it counts as failed."""
    points, seeds = grid(a=[0, 1, 2, 3], pause=[0.05]), range(400)
    serial = sweep(slow_noise, points, seeds, workers=0, seeds_per_task=400)
    kills = []

    with cluster(2) as two:
        def kill(done: int, total: int) -> None:
            if done % 12 == 6:
                kills.append(two.pids()[done // 12 % 2 - 1])
                psutil.Process(kills[-1]).kill()
                wait_until(lambda: two.size() == 2, "the worker to be started again")

        table = sweep(slow_noise, points, seeds, cluster=two, seeds_per_task=10, watch=kill)
    assert len(kills) >= 12 and table.same_as(serial)


def test_a_task_that_kills_its_workers_is_an_error_and_the_others_are_kept() -> None:
    with pytest.raises(TaskError, match=r"^kills_its_worker\(a=1\), seeds 0 to 2: .*every worker that tried it was "
                                        r"killed.*\(1 of 3 tasks failed") as caught:
        sweep(kills_its_worker, grid(a=[0, 1, 2]), range(3), workers=1)
    assert caught.value.table.values[[0, 2]].tolist() == [[0, 1, 2], [2, 3, 4]]


@pytest.mark.parametrize("whom", ["the group", "the process"])
@pytest.mark.parametrize("how", [signal.SIGINT, getattr(signal, "SIGKILL", signal.SIGTERM)])
def test_nothing_is_left_of_a_process_that_is_interrupted_or_killed(whom: str, how: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with running(str(script), env={"TMPDIR": str(temporary)}) as process:
        assert process.stdout.readline() == "1\n"
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        assert [path.name[:13] for path in temporary.iterdir()] == ["course-sweep-"]
        (os.killpg if whom == "the group" else os.kill)(process.pid, how)
        errors = process.communicate(timeout=60)[1]
        wait_until(lambda: not [member for member in family if member.is_running()], "the workers to end")
    if how == signal.SIGINT:  # killed, it cannot take its folder away
        assert errors.rstrip().endswith("KeyboardInterrupt") and not list(temporary.iterdir())


def test_a_script_that_calls_it_while_it_is_imported_is_told_how_to_call_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from helpers.sweep_cluster import cluster\nwith cluster(1): pass\n", encoding="utf-8")
    with running(str(script)) as process:
        errors = process.communicate(timeout=120)[1]
    assert "ClusterError: cluster: expected 1 new processes" in errors
    assert 'below `if __name__ == "__main__":`' in errors


def test_nothing_is_left_in_the_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert sweep(line, [{}], [3], workers=1).values.tolist() == [[3]]
    assert not list(tmp_path.iterdir())
