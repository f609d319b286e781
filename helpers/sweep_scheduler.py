"""A Dask scheduler elsewhere: its address, whether it is there, and whether its processes compute what this one does.

Left out: encryption and log-in; `tls://` takes what Dask's own settings say.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from helpers.settings import SettingsError

KINDS = ("start", "unreachable", "no_workers", "versions", "lost")
VARIABLE = "DASK_SCHEDULER_ADDRESS"
PACKAGES = ("dask", "distributed", "numpy", "scipy")


class ClusterError(RuntimeError):
    """There are no workers to compute with; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def checked_address(address: str) -> str:
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


@contextmanager
def scheduler_at(distributed: Any, address: str, timeout_s: float) -> Iterator[Any]:
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
