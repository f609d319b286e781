"""What a kernel does before it runs the first answer of a submission: limit itself, refuse the network, seal verdicts.

An audit hook, which Python cannot take out again, refuses connections and look-ups beyond this machine, writing and
deleting outside the run's folder, forking, replacing the process, and signals to processes it did not start.
Left out: what needs another layer than Python's own. A program that an answer starts, or machine code it reaches with
`ctypes`, is not seen by the hook; grade code you do not trust at all in a container or in an account of its own.
"""

from __future__ import annotations

import builtins
import contextlib
import ipaddress
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil

from helpers.exercise_seal import begin_sealing

KEY_FILE = ".key"  # in the run's folder; gone before an answer runs
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.truncate": 1,
         "os.chmod": 1, "os.chown": 1, "os.utime": 1, "shutil.rmtree": 1, "shutil.move": 2}  # how many are paths
ADDRESSES = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
ENDS = ("os.fork", "os.forkpty", "os.exec")


def begin(folder: str | Path = ".", *, memory_mb: int) -> None:
    """Prepare this process for answers nobody has read; `folder` is the only place they may write to.

    Raises:
        FileNotFoundError: `folder` holds no key; it is made by `grading_kernel.py` and read once.
    """
    folder = Path(folder).resolve()
    key = folder / KEY_FILE
    secret = key.read_bytes()
    key.unlink()
    begin_sealing(secret, unchanged_since_now())
    _limit(memory_mb)
    sys.addaudithook(make_hook(folder))


def _limit(memory_mb: int) -> None:
    """A second line of defence: the first one watches this process from outside."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource
        for name, value in (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 2**29), ("RLIMIT_DATA", (memory_mb + 1024) * 2**20)):
            with contextlib.suppress(ValueError, OSError, AttributeError):  # a stricter limit is set already
                resource.setrlimit(getattr(resource, name), (value, value))


def on_loopback(host: object) -> bool:
    """Whether `host`, a name or an address, can only be this machine; an empty name is.

    >>> [on_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "", None, "10.0.0.1", "example.org")]
    [True, True, True, True, True, False, False]
    """
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(str(name).partition("%")[0]).is_loopback
    return False


def make_hook(folder: Path) -> Callable[[str, tuple], None]:
    """The audit hook for a run in `folder`; it raises PermissionError for what is refused.

    >>> make_hook(Path("/run"))("socket.connect", (None, ("192.0.2.1", 80)))
    Traceback (most recent call last):
    PermissionError: no network while grading: only this machine may be reached, got '192.0.2.1'
    """
    allowed = (os.path.realpath(folder) + os.sep, "/dev/")
    me = os.getpid()

    def write(path: object) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            if not f"{place}{os.sep}".startswith(allowed) and place.lower() not in ("nul", r"\\.\nul"):
                raise PermissionError("while grading, files may be written and deleted in the working folder only")

    def reach(host: object) -> None:
        if not on_loopback(host):
            raise PermissionError(f"no network while grading: only this machine may be reached, got {host!r}")

    def hook(event: str, args: tuple) -> None:
        if event == "open":
            if isinstance(args[2], int) and args[2] & WRITES:
                write(args[0])
        elif event in PATHS:
            for path in args[:PATHS[event]]:
                write(path)
        elif event in ADDRESSES:
            reach(args[1][0] if isinstance(args[1], tuple) else "")
        elif event in NAMES:
            reach(args[0])
        elif event in ENDS:
            raise PermissionError(f"while grading, {event} is refused; start a program with subprocess instead")
        elif event in ("os.kill", "os.killpg") and not (event == "os.kill" and _mine(args[0], me)):
            raise PermissionError("while grading, signals go only to processes that this one started")
    return hook


def _mine(pid: int, me: int) -> bool:
    """Whether `pid` is this process or one below it; one that has ended is, too."""
    if pid <= 0:  # a whole group
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid == me or me in {parent.pid for parent in psutil.Process(pid).parents()}
    return True


def unchanged_since_now() -> Callable[[], bool]:
    """A function that says whether the functions and classes of the course, of Python and of numpy are as they are now.

    >>> unchanged = unchanged_since_now()
    >>> unchanged()
    True
    """
    modules = [builtins, math, np, *(module for name, module in sorted(sys.modules.items())
                                     if name.startswith("helpers."))]
    state = [(owner, name, value, _code(value)) for module in modules for owner, name, value in _callables(module)]

    def unchanged() -> bool:
        return all(vars(owner).get(name) is value and _code(value) == code for owner, name, value, code in state)
    return unchanged


def _callables(module: object) -> Iterator[tuple[object, str, object]]:
    for name, value in list(vars(module).items()):
        if name.startswith("__") or name == "input" or not callable(value):  # Jupyter sets `input` for each cell
            continue
        yield module, name, value
        if isinstance(value, type) and value.__module__.startswith("helpers."):
            yield from ((value, member, inner) for member, inner in list(vars(value).items()) if callable(inner))


def _code(value: object) -> tuple:
    return tuple(id(getattr(value, part, None)) for part in ("__code__", "__defaults__", "__kwdefaults__"))
