"""What an answer may not do in a process that runs it, as an audit hook, which Python cannot take out again.

Refused: connections and look-ups beyond this machine, writing and deleting outside one folder, forking, replacing the
process, programs other than this Python, and signals to processes it did not start. Left out: what needs another layer
than Python's own. What a Python that an answer starts does, or machine code reached with `ctypes`, the hook never sees.
It imports nothing but the standard library, so that a small process can use it by the path of this file.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
from collections.abc import Callable
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.truncate": 1,
         "os.chmod": 1, "os.chown": 1, "os.utime": 1, "shutil.rmtree": 1, "shutil.move": 2}  # how many are paths
ADDRESSES = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
REFUSED = ("os.fork", "os.forkpty", "os.exec", "os.system", "os.posix_spawn", "os.spawn", "os.startfile")


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
    PermissionError: no network for an answer: only this machine may be reached, got '192.0.2.1'
    """
    allowed = (os.path.realpath(folder) + os.sep, "/dev/")
    me = os.getpid()

    def write(path: object) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            if not f"{place}{os.sep}".startswith(allowed) and place.lower() not in ("nul", r"\\.\nul"):
                raise PermissionError("an answer may write and delete files in its working folder only")

    def reach(host: object) -> None:
        if not on_loopback(host):
            raise PermissionError(f"no network for an answer: only this machine may be reached, got {host!r}")

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
        elif event in REFUSED:
            raise PermissionError(f"an answer may not use {event}")
        elif event == "subprocess.Popen":
            if not _is_python(args[0] or args[1]):
                raise PermissionError("an answer may start no program but this Python")
        elif event in ("os.kill", "os.killpg") and not (event == "os.kill" and _mine(args[0], me)):
            raise PermissionError("an answer may send signals only to processes that it started")
    return hook


def _is_python(program: object) -> bool:
    """Whether `program`, a path or on Windows a command line, is the interpreter that runs this.

    >>> _is_python(sys.executable), _is_python("/bin/sh"), _is_python(f'"{sys.executable}" -c pass')
    (True, False, True)
    """
    text = os.fsdecode(program) if isinstance(program, str | bytes | os.PathLike) else ""
    quoted = f'"{sys.executable}"'
    return text in (sys.executable, quoted) or text.startswith((f"{sys.executable} ", f"{quoted} "))


def _mine(pid: int, me: int) -> bool:
    """Whether `pid` is this process or one below it; one that has ended is, too."""
    if pid <= 0:  # a whole group
        return False
    import psutil  # here, since the small processes that use the hook have no need of it
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid == me or me in {parent.pid for parent in psutil.Process(pid).parents()}
    return True
