"""What an answer may not do in a process that runs it, as an audit hook, which Python cannot take out again.

Refused: connections and look-ups beyond this machine, writing, deleting and working outside one folder, forking,
replacing the process, a second interpreter in it, signals to processes it did not start, and every program but the
commands that the course itself names, each of which puts the same hook into the process it starts. Left out: what needs
another layer than Python's own. Machine code reached with `ctypes` or an extension the hook never sees; an answer that
searches this process, or replaces functions of `os` that the hook calls, gets by; what listens on this machine can be
asked.
It imports nothing but the standard library, so that a small process can use it by the path of this file.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2, "os.truncate": 1,
         "os.chmod": 1, "os.chown": 1, "os.utime": 1, "os.chdir": 1,
         "shutil.rmtree": 1, "shutil.move": 2}  # how many of the arguments are paths
ADDRESSES = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
REFUSED = ("os.fork", "os.forkpty", "os.exec", "os.system", "os.posix_spawn", "os.spawn", "os.startfile",
           "cpython.PyInterpreterState_New")  # hooks of Python code are not in force in a second interpreter
STARTS = ("subprocess.Popen", "_winapi.CreateProcess")


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


def install(folder: Path, *, commands: Sequence[Sequence[str]] = ()) -> None:
    """From now on this process refuses what `make_hook` tells; there is no way back."""
    hook = make_hook(folder, commands=commands)
    with contextlib.suppress(ImportError):  # Windows has none; there the system's own call raises an event
        import _posixsubprocess
        guarded = _posixsubprocess.fork_exec = _guarded(_posixsubprocess.fork_exec, hook)
        if "subprocess" in sys.modules:
            sys.modules["subprocess"]._fork_exec = guarded
    sys.addaudithook(hook)


def _guarded(fork_exec: Callable, hook: Callable[[str, tuple], None]) -> Callable:
    """`fork_exec` asks nobody, and the event before it is raised by Python code, which an answer can replace."""
    def guarded(args: Sequence, programs: Sequence, close_fds: object, fds: object, cwd: object, *rest: object) -> int:
        args, programs = [os.fsdecode(arg) for arg in args], tuple(os.fsdecode(program) for program in programs)
        for program in programs:
            hook("subprocess.Popen", (program, args, cwd, None))
        return fork_exec(args, [os.fsencode(program) for program in programs], close_fds, fds, cwd, *rest)
    return guarded


def make_hook(folder: Path, *, commands: Sequence[Sequence[str]] = ()) -> Callable[[str, tuple], None]:
    """The audit hook for a run in `folder`; it raises PermissionError for what is refused.

    `commands` are the beginnings of the command lines that may be run, in `folder` or below it.

    >>> make_hook(Path("/run"))("socket.connect", (None, ("192.0.2.1", 80)))
    Traceback (most recent call last):
    PermissionError: no network for an answer: only this machine may be reached, got '192.0.2.1'
    """
    allowed = (os.path.realpath(folder) + os.sep, "/dev/")
    me, starts = os.getpid(), [tuple(command) for command in commands]

    def write(path: object) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.path.realpath(os.fsdecode(path))
            upwards = os.pardir in Path(os.fsdecode(path)).parts  # from where? events do not tell of every `dir_fd`
            inside = f"{place}{os.sep}".startswith(allowed) and not upwards
            if not inside and place.lower() not in ("nul", r"\\.\nul"):
                raise PermissionError("an answer may write and delete files in its working folder only")

    def reach(host: object) -> None:
        if not on_loopback(host):
            raise PermissionError(f"no network for an answer: only this machine may be reached, got {host!r}")

    def hook(event: str, args: tuple) -> None:
        if event == "open":
            if isinstance(args[2], int) and (args[2] & WRITES or _is_folder(args[0])):
                write(args[0])  # an open folder can stand for the place of a file that is then deleted
        elif event in PATHS:
            for path in args[:PATHS[event]]:
                write(path)
        elif event in ADDRESSES:
            reach(args[1][0] if isinstance(args[1], tuple) else "")
        elif event in NAMES:
            reach(args[0])
        elif event in REFUSED:
            raise PermissionError(f"an answer may not use {event}")
        elif event in STARTS:
            program, line, cwd = args[:3]
            if not any(program in (None, start[0]) and _begins(line, start) for start in starts):
                raise PermissionError("an answer may start no program, nor a second Python")
            write(os.getcwd() if cwd is None else cwd)
        elif event in ("os.kill", "os.killpg") and not (event == "os.kill" and _mine(args[0], me)):
            raise PermissionError("an answer may send signals only to processes that it started")
        elif event == "import" and args[0] == "_posixsubprocess":  # it is there, unless somebody wants a fresh one
            raise PermissionError("an answer may not load _posixsubprocess anew")
    return hook


def _is_folder(path: object) -> bool:
    return isinstance(path, str | bytes | os.PathLike) and os.path.isdir(path)


def _begins(line: object, start: Sequence[str]) -> bool:
    """Whether a command line, a list or as on Windows one text, begins with the words of `start`.

    >>> [_begins(line, ["py", "-I"]) for line in (["py", "-I", "x"], ["py", "-c"], "py -I x", "py -Ix")]
    [True, False, True, False]
    """
    if isinstance(line, str):
        from subprocess import list2cmdline
        return f"{line} ".startswith(f"{list2cmdline(start)} ")
    return [os.fsdecode(word) for word in line[:len(start)]] == list(start)


def _mine(pid: int, me: int) -> bool:
    """Whether `pid` is this process or one below it; one that has ended is, too."""
    if pid <= 0:  # a whole group
        return False
    import psutil  # here, since the small processes that use the hook have no need of it
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid == me or me in {parent.pid for parent in psutil.Process(pid).parents()}
    return True
