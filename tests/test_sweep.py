"""Sweeps: the table is the serial one bit by bit whatever happens to the workers; real processes, real kills."""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path

import numpy as np
import psutil
import pytest
from sweep_fakes import around, fails_at, line, slow_noise, wrong_shape

from helpers import progress_bar, sweep_cluster, sweep_scheduler
from helpers.settings import SettingsError
from helpers.sweep import Failure, Table, TaskError, grid, sweep
from helpers.sweep_cluster import Cluster, cluster
from helpers.sweep_measures import uniform_ranks, uniform_ranks_theory
from helpers.sweep_scheduler import ClusterError, check_versions, environment

POINTS = grid(a=[0, 1, 2], pause=[0.05])
SEEDS = range(40)


def serial(measure=slow_noise, points=POINTS, seeds=SEEDS, **options) -> Table:
    return sweep(measure, points, seeds, workers=0, **options)


@pytest.fixture(scope="module")
def two() -> Iterator[Cluster]:
    """Two workers for all tests of this file; afterwards nothing of them is left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
        with cluster(2) as opened:
            seen = opened.client.run(around)
            yield opened
            seen |= opened.client.run(around)
    assert not [place["pid"] for place in seen.values() if psutil.pid_exists(place["pid"])]
    assert not [place["folder"] for place in seen.values() if place["folder"].exists()]


@pytest.fixture
def elsewhere(two: Cluster, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a scheduler on the loopback address, as a reader would set it."""
    address = two.client.scheduler.address
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    return address


# --- the table, computed here -----------------------------------------------------------------------------------

def test_a_table_by_hand() -> None:
    table = sweep(line, grid(a=[0, 10], b=[1, 2]), [1, 3], workers=0)
    assert table.values.tolist() == [[1, 3], [2, 6], [11, 13], [12, 16]]
    assert table.points[1] == {"a": 0, "b": 2} and table.seeds == (1, 3)
    assert table.mean.tolist() == [2, 4, 12, 14]
    assert table.sd == pytest.approx(np.sqrt([2, 8, 2, 8])) and table.error == pytest.approx([1, 2, 1, 2])
    assert table.column("a").tolist() == [0, 0, 10, 10]
    assert table.where(b=2).values.tolist() == [[2, 6], [12, 16]]
    assert table.where(a=10, b=1).points == ({"a": 10, "b": 1},)
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = 5


def test_a_single_seed_has_no_spread() -> None:
    table = sweep(line, [{}], [7], workers=0)
    assert table.values.tolist() == [[7]] and np.isnan(table.sd).all() and np.isnan(table.error).all()


def test_tables_are_the_same_only_bit_by_bit() -> None:
    table, zero = sweep(line, [{"a": 0.0}], [0, 1], workers=0), sweep(line, [{"a": 0.0}], [0, 1], workers=0)
    assert table.same_as(zero)
    assert not table.same_as(Table(zero.points, zero.seeds, np.array([[-0.0, 1.0]])))
    assert not table.same_as(Table(({"a": 1.0},), zero.seeds, zero.values))
    assert not table.same_as(Table(zero.points, (0, 2), zero.values))


def test_a_grid_has_the_last_axis_fastest() -> None:
    assert [tuple(point.values()) for point in grid(x=[2, 1], y="ab")] == [(2, "a"), (2, "b"), (1, "a"), (1, "b")]
    assert grid() == ({},)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_size_of_tasks_changes_no_bit_of_the_lab(size: int) -> None:
    points = grid(n=[10, 33], k=[1, 4], episodes=[200])
    whole = serial(uniform_ranks, points, range(15))
    assert serial(uniform_ranks, points, range(15), seeds_per_task=size).same_as(whole)


def test_watch_sees_every_task() -> None:
    seen = []
    serial(line, [{}, {}], range(5), seeds_per_task=2, watch=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize(("change", "message"), [
    ({"points": []}, "points: expected at least one, got none; an axis"),
    ({"points": [3]}, r"points: expected parameters by name, such as grid\(n=\[50, 100\]\) has, got 3"),
    ({"points": [{3: 1}]}, r"expected parameters by name.*\{3: 1\}"),
    ({"seeds": []}, "seeds: expected at least one seed"),
    ({"seeds": [-1]}, "seeds: expected a whole number of at least 0, got -1"),
    ({"seeds_per_task": 0}, "seeds_per_task: expected a whole number of at least 1, got 0"),
    ({"workers": -1}, "workers: expected a whole number of at least 0, got -1"),
    ({"measure": lambda seeds: seeds}, "measure: expected a function at the top of a module that workers can import"),
    ({"measure": np.random.default_rng(0).random}, "measure: expected a function at the top of a module"),
])
def test_what_cannot_be_swept(change: dict, message: str) -> None:
    asked = {"measure": line, "points": [{}], "seeds": [0], "workers": 0} | change
    with pytest.raises(ValueError, match=message):
        sweep(asked.pop("measure"), **asked)


def test_a_table_has_only_the_parameters_of_its_points() -> None:
    table = sweep(line, [{"a": 1}, {"a": 2, "b": 3}], [0], workers=0)
    with pytest.raises(ValueError, match="expected a parameter of every point, such as a; got 'b'"):
        table.column("b")
    with pytest.raises(ValueError, match="expected parameters of a point of the grid, got a=3"):
        table.where(a=3)


def test_progress_is_silent_in_batch_and_a_bar_otherwise(monkeypatch, capsys) -> None:
    serial(line, [{}], range(5))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("BATCH_MODE", "false")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr(progress_bar, "DELAY_S", 0)
    serial(line, [{}], range(5), seeds_per_task=1)
    captured = capsys.readouterr()
    assert captured.out == "" and "tasks:   0%|" in captured.err and "0/5" in captured.err
    assert captured.err.rsplit("\r", 2)[-2].strip() == "", "the line is wiped"
    monkeypatch.setattr(progress_bar, "DELAY_S", 60)
    serial(line, [{}], range(5), seeds_per_task=1)
    assert "tasks" not in capsys.readouterr().err, "what is quick shows none"


def test_ranks_of_the_uniform_world_follow_theory() -> None:
    points = grid(n=[40], k=[2, 5], episodes=[2500])
    table, (mean, sd) = serial(uniform_ranks, points, range(60)), uniform_ranks_theory(points)
    assert np.abs(table.mean - mean).max() < 4 * sd.max() / np.sqrt(60)
    assert table.sd == pytest.approx(sd, rel=4 / np.sqrt(2 * 59))
    assert mean == pytest.approx([0.935, 0.845], abs=0.02)
    with pytest.raises(ValueError, match="k: expected a whole number from 1 to 4, got 5"):
        uniform_ranks([0], n=4, k=5, episodes=10)
    with pytest.raises(ValueError, match="n: expected a whole number of at least 2, got 1"):
        uniform_ranks_theory([{"n": 1}])


# --- on workers -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("workers", "size"), [(None, 3), (None, 40), (1, 20), (2, 7)])
def test_workers_give_the_serial_table(two: Cluster, workers: int | None, size: int) -> None:
    assert sweep(slow_noise, POINTS, SEEDS, cluster=two, workers=workers, seeds_per_task=size).same_as(serial())


def test_no_more_workers_than_asked_for_compute_at_once(two: Cluster) -> None:
    started = time.perf_counter()
    sweep(slow_noise, [{"a": 0, "pause": 0.1}], range(6), cluster=two, workers=1, seeds_per_task=1)
    assert time.perf_counter() - started >= 6 * 0.1  # not a limit on speed: two at once could take 0.3 s


def test_workers_are_small_quiet_and_on_the_loopback_address(two: Cluster) -> None:
    places = list(two.client.run(around).values())
    assert len(places) == two.size() == 2 and sorted(two.pids()) == sorted(place["pid"] for place in places)
    assert {(place["omp"], place["threads"]) for place in places} == {("1", 1)}
    assert all(place["folder"].parents[1].parent == Path(tempfile.gettempdir()) for place in places)
    assert all(place["folder"].parents[1].name.startswith("course-sweep-") for place in places)
    assert all(0 < place["memory"] <= sweep_cluster.MEMORY for place in places)
    listening = [c.laddr.ip for pid in (*two.pids(), os.getpid()) for c in psutil.Process(pid).net_connections("tcp")
                 if c.status == psutil.CONN_LISTEN]
    assert len(listening) >= 3 and set(listening) == {"127.0.0.1"}
    assert two.describe() == "2 workers on this machine" and "client" not in repr(two)


@pytest.mark.parametrize("on", ["here", "workers"])
@pytest.mark.parametrize(("error", "got"), [
    ("ValueError", "ValueError: a: too much"), ("TimeoutError", "TimeoutError: a: too late"),
    ("Awkward", "a: too odd")])
def test_a_task_that_fails_is_one_error_and_the_others_are_kept(two: Cluster, on: str, error: str, got: str) -> None:
    points = grid(a=[0, 5, 6], at=[5], error=[error])
    with pytest.raises(TaskError) as caught:
        sweep(fails_at, points, range(6), seeds_per_task=2, cluster=two, workers=0 if on == "here" else None)
    assert str(caught.value).startswith(
        f"fails_at(a=5, at=5, error={error!r}), seeds 2 to 3: expected one number a seed, got ")
    assert f"{got} (1 of 9 tasks failed: see failures; what the others gave is in table)" in str(caught.value)
    assert [(f.point, f.seeds) for f in caught.value.failures] == [(points[1], (2, 3))]
    assert isinstance(caught.value.failures[0], Failure)
    assert caught.value.__cause__ is caught.value.failures[0].error
    nan = float("nan")
    np.testing.assert_array_equal(caught.value.table.values,
                                  [[0, 1, 2, 3, 4, 5], [5, 6, nan, nan, 9, 10], [6, 7, 8, 9, 10, 11]])


def test_failures_come_in_grid_order_whatever_ends_first(two: Cluster) -> None:
    with pytest.raises(TaskError, match=r"^wrong_shape\(a=2\), seed 8: .*, got shape \(1, 2\) \(3 of 3") as caught:
        sweep(wrong_shape, [{"a": 2}, {"a": 1}, {"a": 3}], [8], cluster=two)
    assert [failure.point["a"] for failure in caught.value.failures] == [2, 1, 3]


def interrupt(*numbers: int) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("when", ["after a task", "while waiting"])
def test_an_interrupt_stops_the_sweep_and_leaves_the_cluster_usable(two: Cluster, when: str) -> None:
    later = threading.Timer(0.5, interrupt)
    if when == "while waiting":
        later.start()
    with pytest.raises(KeyboardInterrupt) as held:  # as a notebook does, for its traceback: nothing is freed yet
        sweep(slow_noise, [{"a": 0, "pause": 0.2}] * 50, range(2), cluster=two,
              watch=interrupt if when == "after a task" else None)
    started = time.perf_counter()
    assert sweep(line, [{}], [4], cluster=two).values.tolist() == [[4]]
    assert time.perf_counter() - started < 50 * 0.2 / 3  # it does not wait behind the others
    assert held.type is KeyboardInterrupt


def test_a_scheduler_by_address_gives_the_serial_table(elsewhere: str) -> None:
    with cluster() as opened:
        assert opened.describe() == f"2 workers at {elsewhere}"
        assert sweep(slow_noise, POINTS, SEEDS, cluster=opened, seeds_per_task=11).same_as(serial())
    assert sweep(line, [{}], [4]).values.tolist() == [[4]]  # the same without a cluster by hand


def test_other_versions_elsewhere_are_named(elsewhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_scheduler.metadata, "version", lambda name: "9.9" if name == "scipy" else real(name))
    with pytest.raises(ClusterError) as caught, cluster():
        pass
    assert caught.value.kind == "versions"
    assert f"expected the versions of this process at {elsewhere}, got on tcp://127.0.0.1:" in str(caught.value)
    assert f" scipy {real('scipy')} (here 9.9); install the same there" in str(caught.value)


real = metadata.version


def test_a_worker_killed_in_mid_sweep_changes_nothing(two: Cluster, capfd) -> None:
    victim = two.pids()[0]
    killed = []

    def kill(done: int, total: int) -> None:
        if done == 3:
            killed.append(victim)
            psutil.Process(victim).kill()

    table = sweep(slow_noise, POINTS, SEEDS, cluster=two, seeds_per_task=4, watch=kill)
    assert killed and table.same_as(serial())
    assert capfd.readouterr() == ("", "")


# --- no workers -------------------------------------------------------------------------------------------------

def test_no_module_of_sweeps_needs_dask_to_be_imported() -> None:
    names = ["sweep", "sweep_cluster", "sweep_scheduler", "sweep_table", "sweep_measures", "sweep_plots"]
    code = (f"import sys; import {', '.join(f'helpers.{name}' for name in names)}\n"
            "print(sorted({'dask', 'distributed', 'tqdm'} & set(sys.modules)))")
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_missing_package_is_one_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r'expected the packages of Dask.*run `pip install -e "\.\[scale\]"`, or '
                                          "sweep with workers=0"):
        sweep(line, [{}], [0])
    assert sweep(line, [{}], [0], workers=0).values.tolist() == [[0]]


def test_an_address_where_nobody_listens_is_an_error_in_finite_time(monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))  # bound, not listening
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        with pytest.raises(ClusterError) as caught, cluster(timeout_s=0.5):
            pass
    assert caught.value.kind == "unreachable"
    assert f"DASK_SCHEDULER_ADDRESS: expected a Dask scheduler at {address}, got no answer" in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_server_of_another_kind_is_an_error_in_finite_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as mute:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", f"127.0.0.1:{mute.getsockname()[1]}")
        with pytest.raises(ClusterError, match=r":\d+, got no answer in 0\.5 s \(TimeoutError\);"), \
                cluster(timeout_s=0.5):
            pass


@pytest.mark.parametrize(("address", "got"), [
    ("tcp://ann:secret@127.0.0.1:8786", "got one with more in it"),
    ("tcp://secret@h:1", "got one with more in it"), ("tcp://h:1/?token=secret", "got one with more in it"),
    ("tcp://ann:se/cret@h:1", "got one with more in it"), ("tcp://h:1#secret", "got one with more in it"),
    ("h", "got 'h'"), ("tcp://h", "got 'tcp://h'"), ("tcp://h:port", "got 'tcp://h:port'"), ("tcp://:8786", "got"),
    ("tcp://h:99999", "got 'tcp://h:99999'"), ("inproc://h:1", "got 'inproc://h:1'"), ("tcp://[::1:8786", "got")])
def test_an_address_that_cannot_be_read_is_refused_and_no_password_shown(
        monkeypatch: pytest.MonkeyPatch, no_sockets, address: str, got: str) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
    with pytest.raises(SettingsError) as caught, cluster():
        pass
    assert "DASK_SCHEDULER_ADDRESS: expected an address such as tcp://127.0.0.1:8786" in str(caught.value)
    assert got in str(caught.value) and "cret" not in str(caught.value)


@pytest.mark.parametrize(("options", "message"), [
    ({"workers": 0}, "workers: expected a whole number of at least 1, got 0"),
    ({"timeout_s": 0}, r"timeout_s: expected a number in \(0, inf\), got 0")])
def test_a_cluster_without_workers_or_patience_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message), cluster(**options):
        pass


def test_a_scheduler_without_workers_is_an_error_in_finite_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, silence_logs=logging.CRITICAL) as none:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", none.scheduler_address)
        with pytest.raises(ClusterError, match=r"expected workers at tcp://.*none in 0\.3 s; start one") as caught, \
                cluster(timeout_s=0.3):
            pass
    assert caught.value.kind == "no_workers"


def test_versions_are_compared_by_name() -> None:
    ours = environment()
    assert list(ours) == ["python", "dask", "distributed", "numpy", "scipy", "helpers"] and len(ours["helpers"]) == 12
    check_versions(ours, {"a": dict(ours)}, "tcp://h:1")
    with pytest.raises(ClusterError, match=rf"got on b numpy 1\.0 \(here {ours['numpy']}\), helpers None \(here"):
        check_versions(ours, {"a": ours, "b": {**{k: v for k, v in ours.items() if k != "helpers"}, "numpy": "1.0"}},
                       "tcp://h:1")
    with pytest.raises(ClusterError, match="expected this project on b of tcp://h:1, got ModuleNotFoundError: No mod"):
        check_versions(ours, {"b": ModuleNotFoundError("No module named 'helpers'")}, "tcp://h:1")


def test_nothing_keeps_running_after_these_tests(two: Cluster) -> None:
    assert {thread.name for thread in threading.enumerate() if not thread.daemon} == {"MainThread"}
