"""Calls somebody's `append` and stops at a chosen point of its writing, so that the process can be killed there.

Started on its own by `helpers.exercise_store`. Points are the opening of a file for writing, the middle of each
write, and each renaming, cutting, removal and `fsync`. Left out: writing without Python's own files (`mmap`).
"""

import builtins
import io
import json
import marshal
import os
import runpy
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

# With a line break and letters beyond ASCII: a store must bring them back as they were.
RECORDS = [{"id": number, "lesson": f"first line\nsecond line: é, 列, {number}"} for number in range(30)]
_REAL_WRITE, _REAL_OPEN = os.write, os.open


def packed(function: Callable) -> dict:
    """What `unpacked` needs to make `function` again in another process of this Python; `marshal` takes it.

    Besides its code, the modules, functions and plain values that it names. TypeError naming what cannot go along.
    """
    globals_: dict[str, tuple] = {}
    code = _collect(function, globals_)
    return {"code": code, "globals": globals_}


def _collect(function: Callable, found: dict[str, tuple]) -> tuple:
    if not isinstance(function, FunctionType) or function.__closure__:
        raise TypeError(f"expected a function written with def, outside of any other; got {type(function).__name__}")
    for name in _names(function.__code__):
        if name in found or name not in function.__globals__:
            continue
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            found[name] = ("module", value.__name__)
        elif isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            found[name] = ()  # a function may call itself
            found[name] = ("function", *_collect(value, found))
        elif hasattr(builtins, name):
            continue  # Jupyter puts an `open` of its own into every notebook
        elif _importable(value):
            found[name] = ("member", value.__module__, value.__name__)
        else:
            found[name] = ("value", _plain(name, value))
    defaults = _plain("a default value", (function.__defaults__, function.__kwdefaults__))
    return function.__code__, function.__name__, *defaults


def _importable(value: object) -> bool:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return module is not None and getattr(module, getattr(value, "__name__", ""), None) is value


def _names(code: CodeType) -> set[str]:
    """The globals that it reads; `co_names` also has the names of attributes."""
    import dis  # here, since the process that is killed has no need of it
    here = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return here.union(*(_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def _plain(name: str, value: object) -> object:
    try:
        marshal.dumps(value)
    except ValueError:
        raise TypeError(f"{name}: expected a number, a text, or a list of such, which can go to another process; got "
                        f"a {type(value).__name__}; make it inside the function") from None
    return value


def unpacked(parcel: dict) -> Callable:
    """The function that `packed` was given.

    >>> unpacked(packed(_importable))(print)
    True
    """
    space: dict[str, object] = {"__builtins__": builtins, "__name__": "answer"}
    for name, (kind, *rest) in parcel["globals"].items():
        if kind == "function":
            space[name] = _made(rest, space)
        elif kind == "value":
            space[name] = rest[0]
        else:
            module = import_module(rest[0])
            space[name] = getattr(module, rest[1]) if kind == "member" else module
    return _made(parcel["code"], space)


def _made(parts: tuple, space: dict[str, object]) -> Callable:
    code, name, defaults, keyword_defaults = parts
    function = FunctionType(code, space, name, defaults)
    function.__kwdefaults__ = keyword_defaults
    return function


class Watch:
    """Counts points, and at the one numbered `stop_at` says so and waits to be killed."""

    def __init__(self, stop_at: int) -> None:
        self.stop_at, self.seen, self.armed = stop_at, 0, False
        self.written = self.waiting = 0  # bytes handed to the system, and those not yet waited for with fsync

    def point(self, what: str) -> None:
        self.seen += self.armed
        if self.armed and self.seen == self.stop_at:
            self.say(stopped=what)
            sys.stdin.buffer.read()  # until the kill

    def wrote(self, number: int) -> None:
        self.written += number
        self.waiting += number

    def say(self, **what: object) -> None:
        _REAL_WRITE(1, json.dumps(what).encode() + b"\n")


def watch_files(watch: Watch) -> None:
    """From now on all that this process does to files passes `watch`. Only for a process that is about to end."""

    class Watched(io.FileIO):
        def write(self, data: object) -> int:
            data = bytes(data)
            watch.wrote(len(data))
            half = super().write(data[:len(data) // 2])
            watch.point("in the middle of a write")
            return half + super().write(data[half:])

        def truncate(self, size: int | None = None) -> int:
            watch.point("before a file was cut")
            return super().truncate(size)

    def watched_open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        if not set("wax+") & set(mode):
            return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = Watched(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        watch.point("after a file was opened for writing")
        if buffering == 0:
            return raw
        binary = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline, buffering == 1)

    real_open = io.open
    builtins.open = io.open = watched_open
    system = sys.modules[os.name]  # posix or nt, from which os has its functions
    for name, replacement in _system_calls(watch).items():
        setattr(os, name, replacement)
        setattr(system, name, replacement)


def _system_calls(watch: Watch) -> dict[str, Callable]:
    def before(name: str, what: str) -> Callable:
        real = getattr(os, name)

        def call(*args, **options):
            watch.point(f"before {what}")
            return real(*args, **options)
        return call

    def write(descriptor: int, data: bytes) -> int:
        data = bytes(data)
        watch.wrote(len(data))
        half = _REAL_WRITE(descriptor, data[:len(data) // 2])
        watch.point("in the middle of a write")
        return half + _REAL_WRITE(descriptor, data[half:])

    def open_descriptor(path, flags, *args, **options):
        descriptor = _REAL_OPEN(path, flags, *args, **options)
        if flags & (os.O_WRONLY | os.O_RDWR):
            watch.point("after a file was opened for writing")
        return descriptor

    def fsync(descriptor: int) -> None:  # no power is cut here, so nothing need wait for the disk
        watch.point("before waiting for the disk")
        watch.waiting = 0

    waiting = {name: fsync for name in ("fsync", "fdatasync") if hasattr(os, name)}
    renaming = {name: before(name, "a file was renamed") for name in ("rename", "replace")}
    removing = {name: before(name, "a file was removed") for name in ("remove", "unlink")}
    return {**waiting, **renaming, **removing, "truncate": before("truncate", "a file was cut"), "write": write,
            "open": open_descriptor}


def main(parcel: str, store: str, before: int, stop_at: int) -> None:
    """Append `before` records undisturbed and one more under watch; then say what was seen, and wait once more."""
    watch = Watch(stop_at)
    install = runpy.run_path(str(Path(__file__).with_name("audit_hook.py")))["install"]
    install(Path.cwd())  # nobody has read the answer that comes now
    watch_files(watch)  # before unpacking, so that `from os import replace` gets the watched one
    append, path = unpacked(marshal.loads(Path(parcel).read_bytes())), Path(store)
    for record in RECORDS[:before]:
        append(path, record)
    watch.armed, watch.written, watch.waiting = True, 0, 0
    append(path, RECORDS[before])
    watch.say(returned=True, written=watch.written, waiting=watch.waiting)
    sys.stdin.buffer.read()  # until the kill: what was not handed to the system by now is lost


if __name__ == "__main__":  # the packed function, the store, records before the watch, the point to stop at
    sys.stdout = sys.stderr
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
