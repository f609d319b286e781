"""Workers for a sweep: processes of this machine that last as long as a `with` block, or those of a Dask scheduler.

Left out: encryption and log-in. The processes of this machine listen on its loopback address alone, where another
user of the same machine could reach them while they run; a scheduler elsewhere takes `tls://` and Dask's own settings.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from helpers.parameters import number, whole
from helpers.settings import SettingsError, load_settings

KINDS = ("start", "unreachable", "no_workers", "versions", "lost")
INSTALL = 'pip install -e ".[scale]"'
VARIABLE = "DASK_SCHEDULER_ADDRESS"
MEMORY = 2 * 2**30  # bytes: what a worker may fill at most, or its share of the machine where that is less
# A worker that was killed is started again. Dask takes one that is not back in 15 s off the list for ever, which on a
# busy machine may be all of them.
SETTINGS = {"distributed.deploy.lost-worker-timeout": "1 day"}
PACKAGES = ("dask", "distributed", "numpy", "scipy")


class ClusterError(RuntimeError):
    """There are no workers to compute with; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


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
        with self.client.as_current(), suppress(TimeoutError):
            ended = wait(futures, timeout=self.timeout_s, return_when="FIRST_COMPLETED").done
        if not ended and not self._alive():  # else: a long task
            raise self._lost()
        for future in ended:
            try:
                yield future, _outcome(future, self.timeout_s)
            except TimeoutError:  # its worker died since, and it is not computed again yet
                continue
            except (CancelledError, OSError):  # the scheduler did, which passes the results on
                raise self._lost() from None

    def _alive(self) -> bool:
        """Whether the scheduler answers, and has workers."""
        with suppress(OSError, TimeoutError):
            return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=self.timeout_s))
        return False

    def _lost(self) -> ClusterError:
        """What to raise when scheduler or workers went away in the middle."""
        where = f"{self.address} ({VARIABLE})" if self.address else "this machine"
        return ClusterError("lost", f"sweep: expected the workers at {where} to stay, got a scheduler or workers that "
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
    address = _checked_address(load_settings().scheduler)
    distributed = _package()
    opened = _elsewhere(distributed, address, timeout_s) if address else _here(distributed, workers, timeout_s)
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


@contextmanager
def _elsewhere(distributed: Any, address: str, timeout_s: float) -> Iterator[Any]:
    """A client of the scheduler at `address`, once it and its workers are known to compute what we would."""
    try:
        with ThreadPoolExecutor(1) as thread:  # in a notebook this thread's own event loop is taken
            kind = thread.submit(asyncio.run, _kind(distributed, address, timeout_s)).result()
    except Exception as error:  # Dask raises OSError, ValueError, TypeError or RuntimeError, as the address has it
        reason = error
        while isinstance(reason.__cause__, Exception):
            reason = reason.__cause__
        came = f"no answer in {timeout_s:g} s ({type(reason).__name__}{f': {reason}' if str(reason) else ''})"
        raise _unreachable(address, came) from error
    if kind != "Scheduler":
        raise _unreachable(address, f"a {kind}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions are an error below, which says more
        client = distributed.Client(address, timeout=timeout_s, set_as_default=False)
    with client:
        try:
            client.wait_for_workers(1, timeout=timeout_s)
        except TimeoutError:
            raise ClusterError("no_workers", f"{VARIABLE}: expected workers at {address}, got none in {timeout_s:g} s; "
                               f"start one with `dask worker {address} --nthreads 1`") from None
        try:
            theirs = {"the scheduler": client.run_on_scheduler(environment)}
        except Exception as error:  # whatever importing the project raises there
            theirs = {"the scheduler": error}
        check_versions(environment(), theirs | client.run(environment, on_error="return"), address)
        yield client


async def _kind(distributed: Any, address: str, timeout_s: float) -> str:
    """Whether a scheduler or a worker is at `address`. Dask's client would wait for ever for one that says nothing."""
    async with distributed.rpc(address, timeout=timeout_s) as other:  # its error says more than that of the outer limit
        return (await asyncio.wait_for(other.identity(), timeout_s + 1))["type"]


def _unreachable(address: str, got: str) -> ClusterError:
    return ClusterError("unreachable", f"{VARIABLE}: expected a Dask scheduler at {address}, got {got}; start one with "
                        "`dask scheduler`, correct the address, or unset the variable to compute on this machine")


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


def environment() -> dict[str, str]:
    """What decides whether another process computes the same bits: versions, and a digest of the modules in helpers."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(f"{path.name}\n{path.read_text(encoding='utf-8')}".encode())
    versions = {name: metadata.version(name) for name in PACKAGES}
    return {"python": f"{sys.version_info[0]}.{sys.version_info[1]}", **versions, "helpers": digest.hexdigest()[:12]}


def check_versions(ours: Mapping[str, str], theirs: Mapping[str, Any], address: str) -> None:
    """ClusterError naming what differs between here and the first of `theirs`, by name, that is not the same.

    >>> check_versions({"numpy": "2.2"}, {"a worker": {"numpy": "2.2"}}, "tcp://h:1")
    """
    for name, found in theirs.items():
        if isinstance(found, BaseException):
            raise ClusterError("versions", f"{VARIABLE}: expected this project on {name} of {address}, got "
                               f"{type(found).__name__}: {found}; install the project there too, then start it "
                               "again") from found
        wrong = [f"{key} {found.get(key)} (here {version})" for key, version in ours.items()
                 if found.get(key) != version]
        if wrong:
            raise ClusterError("versions", f"{VARIABLE}: expected the versions of this process at {address}, got on "
                               f"{name} {', '.join(wrong)}; install the same there, and the same state of this "
                               "project, then start it again: other versions may give other results")


def _checked_address(address: str) -> str:
    """`address`, or SettingsError, which quotes nothing of it that might be a password."""
    if not address:
        return ""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        good = bool(parts.hostname and parts.port) and parts.scheme in ("tcp", "tls", "ws", "wss")
        extra = parts.username is not None or parts.query or parts.fragment or parts.path.strip("/")
    except ValueError:
        good, extra = False, ""
    if not good or extra:
        got = "one with more in it (not shown: it may be a password)" if extra or "@" in address else repr(address)
        raise SettingsError(f"{VARIABLE}: expected an address such as tcp://127.0.0.1:8786, without user or password, "
                            f"got {got}")
    return f"{parts.scheme}://{parts.netloc}"


def _package() -> Any:
    """Dask's package, imported when it is needed: it takes half a second."""
    try:
        import distributed
        import distributed.system
    except ImportError as error:
        raise ImportError(f"cluster: expected the packages of Dask, got {error}; run `{INSTALL}`, or sweep with "
                          "workers=0 in this process") from error
    return distributed
