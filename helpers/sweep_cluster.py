"""Workers for a sweep: processes of this machine that last as long as a `with` block, or those of a Dask scheduler.

Left out: encryption and log-in. The processes of this machine listen on its loopback address alone, where another
user of the same machine could reach them while they run. A scheduler elsewhere: `helpers.sweep_scheduler`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from helpers.parameters import number, whole
from helpers.settings import load_settings
from helpers.sweep_scheduler import VARIABLE, ClusterError, checked_address, scheduler_at

INSTALL = 'pip install -e ".[scale]"'
MEMORY = 2 * 2**30  # bytes: what a worker may fill at most, or its share of the machine where that is less
# A worker that was killed is started again. Dask takes one that is not back in 15 s off the list for ever, which on a
# busy machine may be all of them.
SETTINGS = {"distributed.deploy.lost-worker-timeout": "1 day"}


@dataclass(frozen=True)
class Cluster:
    """Workers that are ready. `client` is Dask's; `address` that of a scheduler elsewhere, "" on this machine."""

    client: Any = field(repr=False, compare=False)
    address: str
    timeout_s: float

    def size(self) -> int:
        """How many workers there are now."""
        return len(self.client.nthreads())

    def pids(self) -> list[int]:
        """The process numbers of the workers, each on the machine it runs on."""
        return list(self.client.run(os.getpid).values())

    def describe(self) -> str:
        """One line: how many workers, and where."""
        size = self.size()
        return f"{size} worker{'' if size == 1 else 's'} {f'at {self.address}' if self.address else 'on this machine'}"

    def finished(self, futures: list[Any]) -> Iterator[tuple[Any, Any]]:
        """Some of Dask's `futures` that have ended, once there are any, each with its result or the error it raised.

        One that was lost with its worker may be left out: it is being computed again. ClusterError when nobody is left
        to do so.
        """
        from distributed import CancelledError, wait

        ended = []
        try:
            with self.client.as_current(), suppress(TimeoutError):
                ended = wait(futures, timeout=self.timeout_s, return_when="FIRST_COMPLETED").done
            if not ended and not self._alive():  # else: a long task
                raise self._lost()
            for future in ended:
                with suppress(TimeoutError):  # its worker died since, and it is not computed again yet
                    yield future, _outcome(future, self.timeout_s)
        except (CancelledError, OSError):  # the scheduler died, which passes the results on
            raise self._lost() from None

    def _alive(self) -> bool:
        """Whether the scheduler answers, and has workers."""
        with suppress(OSError, TimeoutError):
            return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=self.timeout_s))
        return False

    def _lost(self) -> ClusterError:
        """What to raise when scheduler or workers went away in the middle."""
        where = f"at {self.address} ({VARIABLE})" if self.address else "on this machine"
        return ClusterError("lost", f"sweep: expected the workers {where} to stay, got a scheduler or workers that "
                            "are gone; start them again, then sweep again: nothing of this sweep was kept")


@contextmanager
def cluster(workers: int = 2, *, timeout_s: float = 30.0) -> Iterator[Cluster]:
    """Workers for as long as the `with` block: those of DASK_SCHEDULER_ADDRESS when it is set, else new ones here.

    New ones are `workers` processes of one thread each, gone with all they wrote when the block ends, however it ends.
    In a script, the call stands below `if __name__ == "__main__":`, since each process first imports the script.
    timeout_s: the patience with a scheduler or workers that do not answer.

    Raises:
        ImportError: without the packages of the extra `scale`.
        SettingsError: an address that cannot be read.
        ClusterError: a scheduler nobody can reach, without workers, or with other versions than here.
    """
    workers, timeout_s = whole("workers", workers), number("timeout_s", timeout_s, above=0)
    address = checked_address(load_settings().scheduler)
    distributed = _package()
    opened = scheduler_at(distributed, address, timeout_s) if address else _here(distributed, workers, timeout_s)
    with distributed.utils.silence_logging_cmgr("CRITICAL"), opened as client:
        yield Cluster(client, address, timeout_s)


@contextmanager
def _here(distributed: Any, workers: int, timeout_s: float) -> Iterator[Any]:
    """A client of new processes, which keep what they write in a temporary folder."""
    import dask

    memory = min(MEMORY, distributed.system.MEMORY_LIMIT // workers)
    with tempfile.TemporaryDirectory(prefix="course-sweep-", ignore_cleanup_errors=True) as folder, \
            dask.config.set({"temporary-directory": folder, **SETTINGS}):
        try:
            local = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, memory_limit=memory, silence_logs="CRITICAL",
                host="127.0.0.1", dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"})  # a web server there is: any port, not 8787
        except RuntimeError as error:
            raise ClusterError("start", f"cluster: expected {workers} new processes, got {error}; in a script, call "
                               'it below `if __name__ == "__main__":`') from error
        with local, distributed.Client(local, timeout=timeout_s, set_as_default=False) as client:
            yield client


def _outcome(future: Any, timeout_s: float) -> Any:
    """What a task gave, or the error it raised; TimeoutError when that does not arrive."""
    from distributed import KilledWorker

    if future.status != "error":
        return future.result(timeout=timeout_s)
    error = future.exception(timeout=timeout_s)
    if not isinstance(error, KilledWorker):
        return error
    return RuntimeError("every worker that tried it was killed, as one is that needs more memory than a worker may "
                        "fill; take fewer seeds_per_task")


def _package() -> Any:
    """Dask's package, imported when it is needed: it takes half a second."""
    try:
        import distributed
        import distributed.system
    except ImportError as error:
        raise ImportError(f"cluster: expected the packages of Dask, got {error}; run `{INSTALL}`, or sweep with "
                          "workers=0 in this process") from error
    return distributed
