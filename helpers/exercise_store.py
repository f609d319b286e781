"""Checks a store on disk (exercise 9) by killing a process at each point of its writing, in turn and not by luck.

Left out: a second writer, and the power cut, of which only the waiting for the disk is looked at.
"""

import json
import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from helpers import kill_points
from helpers.exercises import TODO, NotAttempted, Part, check
from helpers.kill_points import RECORDS

PATIENCE_S = 8.0  # a process that says nothing for so long is ended
MOST_KILLS = 12   # points looked at; an append that writes a byte at a time has many more of the same kind
BEFORE = 2        # records in the store whose next append is killed
COMMAND = (sys.executable, "-I", os.path.abspath(kill_points.__file__))
LONG = 25         # records in the store whose next append is measured


@dataclass(frozen=True)
class Aftermath:
    """Of one kill: where it was, how many appends had returned, what load gave, and gave after one more append."""

    where: str
    returned: int
    left: object
    more: object


def killed_where_it_stops(parcel: bytes, folder: Path, *, before: int, stop_at: int) -> dict:
    """Start a process that appends to the file "store" in `folder`, and kill it where it stops.

    The result says {"stopped": where}, or {"returned": True, "written": bytes, "waiting": bytes without fsync} when
    the point `stop_at` was not reached. RuntimeError with its last words when it ended or was silent for PATIENCE_S.
    """
    (folder / "parcel").write_bytes(parcel)
    command = [*COMMAND, "parcel", "store", str(before), str(stop_at)]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        said = process.stdout.readline()
        timer.cancel()
        process.kill()  # SIGKILL, or TerminateProcess on Windows: not a line of its code runs after that
        words = process.stderr.read().decode(errors="replace").strip().splitlines()
    if not said:
        raise RuntimeError(f"append, in a process of its own: {words[-1] if words else f'silent for {PATIENCE_S:g} s'}")
    return json.loads(said)


def aftermaths(append: Callable, load: Callable, parcel: bytes) -> Iterator[Aftermath]:
    """One for each point of the third append, in order, and one for a kill right after it had returned."""
    for stop_at in range(1, MOST_KILLS + 1):
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            said = killed_where_it_stops(parcel, Path(folder), before=BEFORE, stop_at=stop_at)
            store = Path(folder) / "store"
            left = _tried(load, store)
            _tried(append, store, RECORDS[-1])
            yield Aftermath(said.get("stopped", "after append had returned"), BEFORE + ("returned" in said), left,
                            _tried(load, store))
        if "returned" in said:
            return


def _tried(function: Callable, *arguments: object) -> object:
    """What `function` returns, or the name of what it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__


def _numbers(records: object) -> object:
    """The ids of a list of records, which are shorter to read; "changed" for one that is not as it was."""
    if not isinstance(records, list):
        return records
    return [record["id"] if record in RECORDS else "changed" for record in records]


def _lost(found: list[Aftermath]) -> str:
    """The first kill after which a record is missing for which append had returned, or there is one too many."""
    for kill in found:
        if kill.left not in (RECORDS[:kill.returned], RECORDS[:kill.returned + 1]):
            return (f"killed {kill.where}: load gives {_numbers(kill.left)}, but append had returned for "
                    f"{list(range(kill.returned))}")
    return "nothing"


def _not_added(found: list[Aftermath]) -> str:
    """The first kill after which one more append does not add one record."""
    for kill in found:
        if not isinstance(kill.left, list) or kill.more != [*kill.left, RECORDS[-1]]:
            return (f"killed {kill.where}: load gives {_numbers(kill.left)}, and after one more append "
                    f"{_numbers(kill.more)}")
    return "nothing"


def _loaded(load: Callable, append: Callable | None = None, number: int = 0) -> object:
    """What `load` gives of a new store, after `number` appends."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for record in RECORDS[:number]:
            if append(Path(folder) / "store", record) is TODO:
                raise NotAttempted
        return load(Path(folder) / "store")


class _Trials:
    """The processes of one check, each trial made once, when the first part asks for it."""

    def __init__(self, append: Callable, load: Callable) -> None:
        self.append, self.load = append, load

    @cached_property
    def parcel(self) -> bytes:
        if self.append is TODO or "TODO" in getattr(getattr(self.append, "__code__", None), "co_names", ()):
            raise NotAttempted
        return marshal.dumps(kill_points.packed(self.append))

    @cached_property
    def killed(self) -> list[Aftermath]:
        if _loaded(self.load) is TODO:
            raise NotAttempted
        return list(aftermaths(self.append, self.load, self.parcel))

    @cached_property
    def undisturbed(self) -> dict:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            return killed_where_it_stops(self.parcel, Path(folder), before=LONG, stop_at=0)

    def size(self) -> object:
        """Bytes written by one append to a long store, or a word about writing that is not seen."""
        return self.undisturbed["written"] or "no write that the check can see: use open, os or pathlib, no database"

    def in_this_process(self) -> object:
        _ = self.parcel  # packed before its first call, which may leave an open file somewhere
        return _loaded(self.load, self.append, 3)


@check(number=9, title="Crash-safe append")
def check_store(answer: tuple[Callable, Callable]) -> list[Part]:
    """The parts for `(append, load)`: `append(path, record)` adds a dict to a file, `load(path)` gives all of them."""
    append, load = answer
    trials = _Trials(append, load)
    small = 2 * len(json.dumps(RECORDS[LONG]))
    return [
        Part("append three records, then load(path)", trials.in_this_process, RECORDS[:3],
             why="Each record comes back as it was and in order, line breaks and letters of other scripts included."),
        Part("load(path) when there is no file", lambda: _loaded(load), [],
             why="Before the first append there is no file. That is an empty store, not an error."),
        Part(f"{BEFORE} records are written, and the next append is killed at each of its steps; what is lost?",
             lambda: _lost(trials.killed), "nothing", points=3,
             why='Opening a file with "w" empties it. Write behind the old bytes (mode "a"), or to another file that '
                 "then takes the name of the old one (os.replace). And load passes over a line that was cut."),
        Part("after each kill: one more append, then load(path); what goes wrong?", lambda: _not_added(trials.killed),
             "nothing", points=2,
             why="A line that was cut has no line break at its end, so the next record is glued to it, and both are "
                 "unreadable. Begin a new line first."),
        Part(f"bytes written by one append to a store of {LONG} records", trials.size,
             "at most as many as two records have", accept=lambda size: isinstance(size, int) and 0 < size <= small,
             why="All the old records are written again, each time: the cost of one append grows with the store."),
        Part("bytes for which append does not wait until the disk has them", lambda: trials.undisturbed["waiting"], 0,
             why="A kill leaves them with the operating system, a power cut does not. Before append returns: "
                 "file.flush(), then os.fsync(file.fileno())."),
    ]
