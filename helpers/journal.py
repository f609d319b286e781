"""An append-only file of records that survives crashes, full disks and second writers: one record, one line.

Left out: what the records mean (`helpers.lessons`), what a line looks like (`helpers.memory_format`), how bytes get
to the disk (`helpers.durable`), and network file systems whose locks do not hold.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock

from helpers.durable import add_file, append_line, replace_file
from helpers.memory_format import (
    BadLine,
    Damage,
    DamageReport,
    NotAMemory,
    decode,
    decode_header,
    encode,
    events_of_list,
)

LOCK_SECONDS = 30.0
Fold = Callable[[dict[str, Any]], None]
Restart = Callable[[dict[str, Any] | None], None]


class JournalError(OSError):
    """The file could not be read or written; the message names it and says what is left in it."""


class Journal:
    """One file of records. `catch_up` reads what is new; `append`, `replace` and `set_aside` need `lock()`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = Path(os.path.realpath(path))  # a changed working folder or a link must not split the store
        self._lock = filelock.FileLock(self.beside(".lock"))
        self.header: dict[str, Any] | None = None  # None: nothing was written yet
        self.old_format: int | None = None         # None: the present one
        self.length = 0                            # bytes understood so far
        self._kept = 0
        self._bad: list[Damage] = []
        self._torn: Damage | None = None
        self._first_line = b""
        self._seen: tuple[int, ...] | None = None

    def beside(self, suffix: str) -> Path:
        """The path of a companion file."""
        return self._file.with_name(self._file.name + suffix)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the file against every other process and thread; JournalError after LOCK_SECONDS."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=LOCK_SECONDS, poll_interval=0.005)
        except filelock.Timeout as error:
            raise JournalError(f"{self.path}: expected the lock within {LOCK_SECONDS:.0f} s, but another process holds "
                               "it; end that process or try again") from error
        except OSError as error:
            raise self._failed("could not be locked for writing, and nothing was written", error) from error
        try:
            yield
        finally:
            self._lock.release()

    def catch_up(self, fold: Fold, restart: Restart) -> None:
        """Call `fold` with every record not yet read; before that `restart(header)` when the file is new or replaced.

        A line that `fold` refuses by BadLine counts as damaged. An unfinished last line is left for later: its
        writer may be at work.
        """
        try:
            state = os.stat(self._file)
            if self._seen == _signature(state):
                return
            data = self._tail()
            whole = self._file.read_bytes() if data is None else b""
        except FileNotFoundError as error:
            if self.header is None:
                return
            raise JournalError(f"{self.path}: expected the file this memory was reading, but it has disappeared; put "
                               "it back, or open a new memory") from error
        except OSError as error:
            raise self._failed("could not be read", error) from error
        if data is None:
            self._seen = None
            data = self._begin(whole, fold, restart)
        self._fold(data, fold)
        self._seen = _signature(state)

    def rewind(self) -> None:
        """Read everything again at the next `catch_up`."""
        self._seen = None

    def append(self, record: dict[str, Any]) -> None:
        """Write one record and wait for the disk; JournalError, leaving the file as it was, when that fails."""
        line = encode(record)
        try:
            before, state = append_line(self._file, line)
        except OSError as error:
            raise self._failed(f"nothing was added, and the {self._kept} records before are intact", error) from error
        self._kept += 1
        if before == self.length:  # else somebody wrote without the lock: the next catch_up reads it all
            self.length, self._seen = state.st_size, _signature(state)

    def replace(self, header: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
        """Rewrite the file in one step, and read it anew at the next `catch_up`; JournalError leaves it as it was."""
        data = b"".join(map(encode, [header, *records]))
        try:
            replace_file(self._file, data)
        except OSError as error:
            raise self._failed(f"was not replaced, and its {self._kept} records are intact; close other programs that "
                               "have it open", error) from error
        self.header, self._seen = header, None

    def set_aside(self, stamp: str) -> tuple[DamageReport | None, Path | None]:
        """Copy what `replace` is about to drop into files beside: damaged lines, and a file of an older format."""
        report, old = self.damage, None
        try:
            if report:
                lines = b"".join(piece.data.removesuffix(b"\n") + b"\n" for piece in report.pieces)
                report = DamageReport(self.path, report.pieces, report.kept,
                                      add_file(self.beside(f".corrupt-{stamp}"), lines))
            if self.old_format is not None:
                old = add_file(self.beside(f".format-{self.old_format}-{stamp}"), self._file.read_bytes())
        except OSError as error:
            raise self._failed("damaged lines could not be set aside, and nothing was changed", error) from error
        return report, old

    def records(self) -> Iterator[dict[str, Any]]:
        """Every intact record that was folded, read from the file once more."""
        data = self._file.read_bytes()
        if self.old_format == 0:
            yield from events_of_list(data)
            return
        damaged, offset = {piece.offset for piece in self._bad}, 0
        for line in _lines(data[:self.length]):
            if offset >= len(self._first_line) and offset not in damaged and line.strip():
                yield self._decode(line)
            offset += len(line)

    @property
    def damage(self) -> DamageReport | None:
        """What is damaged in the file as it lies there, an unfinished last line included."""
        pieces = (*self._bad, self._torn) if self._torn else tuple(self._bad)
        return DamageReport(self.path, pieces, self._kept) if pieces else None

    @property
    def torn(self) -> bool:
        """Whether the last line is unfinished: its writer is at work, or crashed."""
        return self._torn is not None

    def proof(self, length: int) -> str:
        """SHA-256 of the first `length` bytes, "" when the file is shorter."""
        with self._file.open("rb") as file:
            data = file.read(length)
        return hashlib.sha256(data).hexdigest() if len(data) == length else ""

    def leftovers(self) -> list[str]:
        """Names of files beside this one that only a memory with content leaves behind."""
        kinds = tuple(self._file.name + suffix for suffix in (".corrupt-", ".format-", ".vectors"))
        return sorted(path.name for path in self._file.parent.glob("*") if path.name.startswith(kinds))

    def _tail(self) -> bytes | None:
        """What follows the part already read, or None when nothing was, or when it is no longer the same file."""
        if self._seen is None:
            return None
        with self._file.open("rb") as file:
            if file.read(len(self._first_line)) != self._first_line or file.seek(0, os.SEEK_END) < self.length:
                return None
            file.seek(self.length)
            return file.read()

    def _begin(self, data: bytes, fold: Fold, restart: Restart) -> bytes:
        """Understand the first line, tell `restart`, and return what follows."""
        if not data and self.header is not None:
            raise JournalError(f"{self.path}: expected the records this memory was reading, but the file is empty now; "
                               "put it back, or open a new memory")
        events: list[dict[str, Any]] = []
        header, bad, old_format = None, [], None
        first, newline, rest = data.partition(b"\n")
        text = data.removeprefix(b"\xef\xbb\xbf").lstrip()  # an editor may have put a byte-order mark
        try:
            if text[:1] == b"[":
                events, first, newline, rest, header, old_format = events_of_list(data), data, b"", b"", {}, 0
            elif data:
                header = decode_header(text.partition(b"\n")[0])
                old_format = header["version"] if header["version"] < 2 else None
        except NotAMemory as problem:
            raise NotAMemory(f"{self.path}: {problem}; nothing was written") from problem
        except BadLine as problem:
            if not any(map(_is_record, _lines(rest))):
                raise NotAMemory(f"{self.path}: expected a memory, got another file or one damaged beyond reading "
                                 f"({problem}); nothing was written; give another path or restore it") from problem
            header, bad = {}, [Damage(0, f"header: {problem}", first)]
        self.header, self.old_format, self._bad, self._torn = header, old_format, bad, None
        self._first_line, self.length, self._kept = first + newline, len(first + newline), len(events)
        restart(header)
        for event in events:
            fold(event)
        return rest

    def _fold(self, data: bytes, fold: Fold) -> None:
        """Fold each line of `data`, which begins at byte `self.length`; what is damaged is noted."""
        self._torn = None
        for line in _lines(data):
            try:
                if line.strip():
                    fold(self._decode(line))
                    self._kept += 1
            except BadLine as problem:
                damage = Damage(self.length, str(problem), line)
                if not line.endswith(b"\n"):
                    self._torn = damage
                    return
                self._bad.append(damage)
            self.length += len(line)

    def _decode(self, line: bytes) -> dict[str, Any]:
        return decode(line, 2 if self.old_format is None else self.old_format)

    def _failed(self, what: str, error: OSError) -> JournalError:
        return JournalError(error.errno, f"{self.path}: {what} ({error.strerror or error})")


def _lines(data: bytes) -> Iterator[bytes]:
    """Split at newlines only, and keep them: a carriage return may stand inside a damaged line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start) + 1 or len(data)
        yield data[start:end]
        start = end


def _is_record(line: bytes) -> bool:
    try:
        return "event" in decode(line)
    except BadLine:
        return False


def _signature(state: os.stat_result) -> tuple[int, ...]:
    return state.st_ino, state.st_size, state.st_mtime_ns
