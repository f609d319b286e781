"""Put bytes on disk so that a crash or a full disk leaves the old ones: append a line, replace a file, add a file.

Left out: locks, and knowing what the bytes mean (`helpers.journal`). A disk that lies about `fsync` can still lose.
"""

import os
import shutil
import time
from contextlib import suppress
from io import FileIO
from pathlib import Path

RENAME_TRIES = 12  # 2 s in all: Windows refuses to replace a file while somebody reads it


def append_line(file: Path, line: bytes) -> tuple[int, os.stat_result]:
    """Add one line to an existing file and wait for the disk; its size before, in bytes, and its state after.

    A last line without newline gets one first. When anything goes wrong, an interrupt included, the file is cut
    back to its old size and the exception goes on. FileNotFoundError when there is no file.
    """
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)  # without O_CREAT: a lost file is not begun again
    with open(os.open(file, flags), "r+b", buffering=0) as out:
        size = out.seek(0, os.SEEK_END)
        if size:
            out.seek(-1, os.SEEK_END)
            line = line if out.read(1) == b"\n" else b"\n" + line
        try:
            _write(out, line)
            return size, os.fstat(out.fileno())
        except BaseException:
            with suppress(OSError):  # a torn line is found, and set aside, by whoever writes next
                out.truncate(size)
            raise


def replace_file(file: Path, data: bytes) -> None:
    """Make `data` the content of the file in one step: a reader sees the old bytes or the new ones.

    PermissionError, after some seconds, when another process keeps the file open on Windows.
    """
    fresh = file.with_name(file.name + ".tmp")
    try:
        with open(fresh, "wb", buffering=0) as out:
            _write(out, data)
        if file.exists():
            shutil.copymode(file, fresh)
        _rename(fresh, file)
    except BaseException:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)


def add_file(file: Path, data: bytes) -> Path:
    """Write a new file and wait for the disk; a name that is taken gets a number. The path it got."""
    for number in range(1000):
        path = file if number == 0 else file.with_name(f"{file.name}-{number}")
        with suppress(FileExistsError), open(path, "xb", buffering=0) as out:
            try:
                _write(out, data)
            except BaseException:
                path.unlink()
                raise
            _sync_folder(file.parent)
            return path
    raise FileExistsError(f"{file}: expected a free name, got a thousand taken ones; remove some")


def _write(out: FileIO, data: bytes) -> None:
    """All of it, and on the disk when this returns."""
    rest = memoryview(data)
    while rest:
        rest = rest[out.write(rest):]
    os.fsync(out.fileno())


def _rename(fresh: Path, file: Path) -> None:
    for attempt in range(RENAME_TRIES):
        try:
            os.replace(fresh, file)
            return
        except PermissionError:
            if attempt == RENAME_TRIES - 1:
                raise
            time.sleep(0.03 * (attempt + 1))


def _sync_folder(folder: Path) -> None:
    """Make the new name last too; Windows does so by itself, and some network folders know no such call.

    The file itself is on the disk by now, so a folder that refuses takes nothing back.
    """
    if os.name == "posix":
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
