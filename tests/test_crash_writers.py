"""The three ways to write, what a reader gets of them, and the program that writes until it is killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import crash_writers
from helpers.crash_writers import (
    BEFORE,
    WRITERS,
    atomic_rewrite,
    fill,
    journal_append,
    naive_rewrite,
    readable,
    sample,
    write_until_killed,
)

RECORDS = [sample(number) for number in range(3)]


@pytest.mark.parametrize("kind", WRITERS)
def test_what_was_filled_and_written_can_be_read(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    fill(path, kind)
    assert readable(path) == BEFORE
    records = [sample(number) for number in range(BEFORE + 1)]
    WRITERS[kind](path, records)
    assert readable(path) == BEFORE + 1
    text = Path(path).read_text(encoding="utf-8")
    assert ([json.loads(line) for line in text.splitlines()] if kind == "journal" else json.loads(text)) == records
    assert os.listdir(tmp_path) == ["file"]  # no temporary file stays


def test_a_cut_rewrite_is_lost_as_a_whole_and_a_cut_journal_up_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "file"
    naive_rewrite(str(path), RECORDS)
    whole = path.read_bytes()
    assert readable(str(path)) == 3
    path.write_bytes(whole[:-1])
    assert readable(str(path)) == 0
    path.write_bytes(b"")
    for number in range(3):
        journal_append(str(path), RECORDS[:number + 1])
    whole = path.read_bytes()
    counts = []
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        counts.append(readable(str(path)))
    assert counts == sorted(counts)
    assert (counts[0], counts[-2], counts[-1]) == (0, 2, 3)


def test_an_atomic_rewrite_that_fails_leaves_the_old_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic_rewrite(str(path), RECORDS)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="not JSON serializable"):
        atomic_rewrite(str(path), [*RECORDS, {"id": object()}])
    assert path.read_bytes() == before
    with pytest.raises(TypeError, match="not JSON serializable"):
        naive_rewrite(str(path), [*RECORDS, {"id": object()}])
    assert readable(str(path)) == 0  # the plain rewrite had emptied the file before


def test_a_missing_file_is_an_error_not_zero_records(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        readable(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("times", [2, 1000])
def test_a_file_that_is_held_is_tried_again_for_a_while(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def held(path: str, records: list[dict]) -> None:
        tries.append(len(records))
        if len(tries) <= times:
            raise PermissionError(path)
    monkeypatch.setitem(WRITERS, "journal", held)
    monkeypatch.setattr(crash_writers.time, "sleep", lambda seconds: None)
    write = crash_writers._writer("journal 0", "journal")
    if times == 2:
        assert write() == BEFORE + 1
        assert tries == [BEFORE + 1] * 3  # the same record each time
    else:
        with pytest.raises(PermissionError, match="another program keeps it open"):
            write()


def test_a_writer_that_fails_ends_the_process_with_its_error() -> None:
    program = ("from helpers.crash_writers import write_until_killed\n"
               "numbers = iter([1, 2])\n"
               "write_until_killed({'a b': lambda: next(numbers)})")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [b"a b\t1", b"a b\t2"]
    assert b"StopIteration" in done.stderr


def test_the_program_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-I", "-S", crash_writers.__file__, os.path.join("no such folder", "x 0")],
                          cwd=tmp_path, capture_output=True, timeout=60)
    assert b"KeyError" in done.stderr  # "no such folder/x" is no kind of writer
    assert write_until_killed({}) is None  # no writer, nothing to wait for
