"""A memory as it is carried from one place to another: the list of events it consists of, with the vectors known.

Left out: a server's tables (`helpers.pg_content`), and what may be carried where (`helpers.transfer`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from helpers.journal import Journal
from helpers.lesson_vectors import VectorCache
from helpers.lessons import Ledger, compacted
from helpers.memory_format import FORMAT, VERSION
from helpers.vector_index import VectorIndex


class TransferError(OSError):
    """A memory was not carried, and the target is as it was; the message says what was expected."""


@dataclass(frozen=True)
class Content:
    """A memory without a place: its embedder's fingerprint, its events in order, vectors as far as they are known."""

    embedder: str
    events: list[dict[str, Any]]
    next_id: int
    vectors: Mapping[int, np.ndarray] = field(default_factory=dict)

    @cached_property
    def ledger(self) -> Ledger:
        """The state these events add up to."""
        ledger = Ledger(self.next_id)
        for event in self.events:
            ledger.apply(event)
        return ledger


def from_file(path: Path) -> Content:
    """The memory in a file, without what was deleted; TransferError when there is none or a damaged one."""
    journal, events, ledger = Journal(path), [], Ledger()

    def fold(event: dict[str, Any]) -> None:
        ledger.apply(event)  # BadLine for an event that makes no sense: it counts as damage
        events.append(event)
    journal.catch_up(fold, lambda header: None)
    if journal.header is None:
        raise TransferError(f"{path}: expected a memory, got {'an empty' if path.exists() else 'no'} file; check the "
                            "path")
    if journal.damage:
        raise TransferError(f"{path}: expected a memory without damage, got damaged lines: "
                            f"{len(journal.damage.pieces)}; open it with VectorMemory and call repair()")
    fingerprint = journal.header.get("embedder", "")
    vectors = VectorCache(journal.beside(".vectors.npz"), journal, []).load(fingerprint)
    kept = ledger.live.keys() | ledger.archived.keys()
    return Content(fingerprint, list(compacted(events, kept)), max(ledger.next_id, journal.header.get("next_id", 1)),
                   vectors)


def to_file(content: Content, path: Path) -> None:
    """Write a memory's file, and its vectors beside it; TransferError when there is a file already."""
    journal = Journal(path)
    with journal.lock():
        if path.exists() and path.stat().st_size:
            raise TransferError(f"{path}: expected no file, got one; nothing was written; give another name")
        header = {"format": FORMAT, "version": VERSION, "embedder": content.embedder, "log": uuid4().hex,
                  "next_id": content.next_id, "created": content.events[0]["time"] if content.events else ""}
        end = {"event": "compacted", "next_id": content.next_id, "time": header["created"]}
        journal.replace(header, [*content.events, end])
        journal.catch_up(lambda event: None, lambda header: None)
        rows = {key: row for key, row in content.vectors.items() if key in content.ledger.live}
        if rows:
            VectorCache(journal.beside(".vectors.npz"), journal, []).save(_Known(content.embedder, rows),
                                                                          journal.length)


class _Known:
    """Vectors as `VectorCache.save` asks for them."""

    grows = False

    def __init__(self, made_by: str, rows: Mapping[int, np.ndarray]) -> None:
        self.made_by, self._rows, self.index = made_by, rows, VectorIndex()
        self.index.width = len(next(iter(rows.values())))

    def vectors(self) -> list[tuple[int, np.ndarray]]:
        return list(self._rows.items())
