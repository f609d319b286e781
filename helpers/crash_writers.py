"""Three ways to put one more record on disk, and a program that does so until it is killed.

Left out: a second writer, and mending what a kill left (`helpers.durable` and `helpers.journal` do both). Started
on its own many times by `helpers.crash_trial`, so it imports as little as it can.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping

BEFORE = 30  # records that are in every file before the first write


def naive_rewrite(path: str, records: list[dict]) -> None:
    """Open the file for writing, which empties it, and write all records."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(records, file)


def atomic_rewrite(path: str, records: list[dict]) -> None:
    """Write all records to another file, wait for the disk, then give that file the name of the old one."""
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(records, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)


def journal_append(path: str, records: list[dict]) -> None:
    """Write the last record alone, as one line at the end of the file, and wait for the disk."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(records[-1]) + "\n")
        file.flush()
        os.fsync(file.fileno())


WRITERS: dict[str, Callable[[str, list[dict]], None]] = {
    "naive rewrite": naive_rewrite, "atomic rewrite": atomic_rewrite, "journal": journal_append}


def readable(path: str) -> int:
    """How many records a reader gets from a file of any of the three; 0 when all of them are out of reach.

    A rewritten file is one JSON list, which is readable as a whole or not at all; a journal is readable line by
    line, and its last line may be cut.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith("{"):
        return text.count("\n")  # a line counts when it is whole: only the last one can be cut
    try:
        return len(json.loads(text))
    except ValueError:
        return 0


def sample(number: int) -> dict:
    """A record of about 120 bytes.

    >>> sample(7)["id"]
    7
    """
    return {"id": number, "spec": "the largest number in a list", "lesson": "check first whether the list is empty"}


def fill(path: str, kind: str) -> None:
    """Write the first BEFORE records, in the form that the writer named `kind` goes on with."""
    records = [sample(number) for number in range(BEFORE)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(json.dumps(record) + "\n" for record in records) if kind == "journal"
                   else json.dumps(records))


def write_until_killed(writers: Mapping[str, Callable[[], int]]) -> None:
    """Call each writer again and again, in a thread of its own; after each call, print its name and what it gave.

    What was printed is acknowledged: whoever reads it may count on it. Never returns. The process ends by being
    killed, or by an error in any of the threads.
    """
    def work(name: str, write: Callable[[], int]) -> None:
        try:
            while True:
                os.write(1, f"{name}\t{write()}\n".encode())  # one call: a pipe takes such a line whole or not at all
                time.sleep(0.001)  # so that threads which never wait for the disk leave the others room
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    sys.setswitchinterval(0.0005)  # threads take turns often, so that a kill finds each of them anywhere
    threads = [threading.Thread(target=work, args=item) for item in writers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _writer(path: str, kind: str) -> Callable[[], int]:
    records = [sample(number) for number in range(BEFORE)]

    def write() -> int:
        records.append(sample(len(records)))
        for _ in range(100):
            try:
                WRITERS[kind](path, records)
                return len(records)
            except PermissionError:  # on Windows, when a virus scanner looks into the file at this moment
                time.sleep(0.01)
        raise PermissionError(f"{path}: expected to write within a second, but another program keeps it open; close it")
    return write


if __name__ == "__main__":  # the names of the files to write to, such as "journal 0"
    write_until_killed({name: _writer(name, name.rpartition(" ")[0]) for name in sys.argv[1:]})
