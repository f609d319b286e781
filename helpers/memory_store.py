"""Keep a memory's state equal to its file: read what others wrote, write one event at a time, mend, rewrite.

Left out: what a memory can be asked and told, which is `helpers.memory.VectorMemory`, built on this.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np

from helpers.eviction import check_policy, victims
from helpers.journal import Journal
from helpers.lesson_vectors import LessonVectors, VectorCache
from helpers.lessons import Ledger, compacted
from helpers.memory_format import FORMAT, VERSION, DamageReport, DamageWarning
from helpers.retrieval import whole
from helpers.unit_vectors import Embedder

SHORTEST_ADD = 100  # bytes: no line that adds a lesson is shorter, so damage of n bytes hid at most 1 + n/100 ids
CACHE_FROM = 64     # lessons: the vectors of fewer are embedded again in no time


class EmbedderMismatch(ValueError):
    """The memory was made with another embedder: cosines between the two would mean nothing."""


class LessonStore:
    """Ledger and vectors of one log, and the only way to change any of them.

    `notes` lists what happened beside the point: a cache not used, an older format read, an empty file begun.
    `clock` gives the time, with a time zone; `rng` serves the policy "random". One object may be used by many
    threads, one file by many objects and processes; after `fork` open a new object.
    """

    _any_embedder = False  # `reembed` alone reads a log whatever embedder its header names

    def __init__(self, path: str | Path, embedder: Embedder, *, capacity: int | None = None, policy: str = "none",
                 clock: Callable[[], datetime] | None = None, rng: np.random.Generator | None = None) -> None:
        self._capacity = None if capacity is None else whole("capacity", capacity, 1)
        if policy == "none" and capacity is not None:
            raise ValueError(f"policy: expected one that says which lesson leaves a memory of capacity {capacity}, got "
                             "'none'; give policy='lru', or no capacity")
        self._policy = policy if policy == "none" else check_policy(policy)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._rng = rng or np.random.default_rng(0)
        self.notes: list[str] = []
        self.damage: DamageReport | None = None
        self._guard = threading.RLock()
        self._journal = Journal(path)
        self._vectors = LessonVectors(embedder)
        self._cache = VectorCache(self._journal.beside(".vectors.npz"), self._journal, self.notes)
        self._ledger = Ledger()
        self._interrupted = False
        self._unsaved = False
        self._open()

    @property
    def path(self) -> Path:
        """The log, as it was named."""
        return self._journal.path

    @property
    def embedder(self) -> Embedder:
        """The embedder in use; when its vocabulary grows, the memory's own copy with the words of its lessons."""
        return self._vectors.embedder

    def compact(self) -> None:
        """Rewrite the log in one step without what was deleted; words that only deleted lessons had are unlearnt.

        Lessons, archived ones, receipts and ids stay. A damaged line is set aside before, as in `repair`; files set
        aside may hold deleted text too, and are the reader's to remove.
        """
        with self._writing():
            self._rewrite()
            self._save_vectors()

    def repair(self) -> DamageReport | None:
        """Set damaged lines aside in a file beside the log, as the next write would; what was done, or None."""
        with self._guard:
            self._refresh()
            if self._journal.damage is None:
                return None
            with self._writing():
                return self.damage

    def close(self) -> None:
        """Write the cache of vectors if this object changed the log; it may still be used afterwards."""
        if self._unsaved:
            with self._writing():
                self._save_vectors()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @classmethod
    def reembed(cls, path: str | Path, embedder: Embedder, **options: Any) -> Self:
        """Hand a memory over to another embedder, in one step; ids, counters, archive and receipts stay as they are.

        All lessons are embedded before the file is touched. FileNotFoundError when there is no file. `options`
        are those of the constructor, for the memory that is returned.
        """
        if not Path(path).exists():
            raise FileNotFoundError(f"{path}: expected a memory, got no file; check the path")
        store = cls.__new__(cls)
        store._any_embedder = True
        store.__init__(path, embedder, **options)
        store._vectors.settle()
        with store._writing():
            store._any_embedder = False
            store._rewrite()
            store._vectors.settle()  # what others added meanwhile
            store._save_vectors()
        return store

    def _open(self) -> None:
        self._refresh(quiet=True)
        for _ in range(10):  # an unfinished last line may be being written at this moment
            if self._journal.torn:
                time.sleep(0.01)
                self._refresh(quiet=True)
        self._report(self._journal.damage)
        if self._journal.header is None and (left := ", ".join(self._journal.leftovers())):
            self.notes.append(f"{self.path}: a new memory begins here, though {left} stands beside it")
            warnings.warn(f"{self.path}: expected records, since {left} stands beside it, got an empty or missing "
                          "file; a new memory begins here, and those files stay", DamageWarning, stacklevel=3)
        elif self._journal.header is None and self.path.exists():
            self.notes.append(f"{self.path}: zero bytes long, a new memory begins here")

    def _report(self, report: DamageReport | None) -> None:
        """Keep the report, and warn unless the same pieces were reported before."""
        if report and (self.damage is None or self.damage.pieces != report.pieces):
            self.damage = report
            warnings.warn(str(report), DamageWarning, stacklevel=4)  # whoever opens a memory
        elif report:
            self.damage = report

    def _refresh(self, *, quiet: bool = False) -> None:
        """Read what others wrote; everything, when an interrupt left it unknown what had been taken in."""
        afresh = self._interrupted
        if afresh:
            self._journal.rewind()
        self._interrupted = True
        self._journal.catch_up(self._apply, lambda header: self._restart(header, afresh))
        self._interrupted = False
        if not quiet and not self._journal.torn:
            self._report(self._journal.damage)

    def _restart(self, header: dict[str, Any] | None, afresh: bool) -> None:
        header = header or {}
        made_with = header.get("embedder", self._vectors.fingerprint)
        if made_with != self._vectors.fingerprint and not self._any_embedder:
            raise EmbedderMismatch(
                f"{self.path}: expected the embedder it was made with, {made_with}, got {self._vectors.fingerprint}; "
                f"open it with that one, or call {type(self).__name__}.reembed(path, embedder), which keeps ids and "
                "counters")
        self._ledger = Ledger(header.get("next_id", 1))
        self._vectors.restart(afresh=afresh)

    def _apply(self, event: dict[str, Any], vector: np.ndarray | None = None) -> None:
        """Take one event into ledger and vectors; a second time does nothing."""
        self._ledger.apply(event)
        if event["event"] == "add" and vector is None:
            self._vectors.learn(event["spec"])
            self._vectors.want(event["id"], event["spec"])
        elif event["event"] == "add":
            self._vectors.put(event["id"], event["spec"], vector)
        for lesson_id in [event["id"]] if event["event"] == "delete" else event.get("archived", ()):
            self._vectors.forget(lesson_id)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the file alone, with the state up to date and the file in order."""
        with self._guard, self._journal.lock():
            self._refresh()
            if self._journal.header is None:
                self._journal.replace(self._header(), [])
                self._refresh()
            elif self._journal.damage or self._journal.old_format is not None:
                self._rewrite()
            yield

    def _commit(self, event: dict[str, Any], vector: np.ndarray | None = None) -> None:
        """Write one event with the evictions it causes, then take it in. A failed write changes nothing."""
        event["time"] = self._now()
        if gone := self._overflow(event):
            event["archived"] = [*event.get("archived", ()), *gone]  # in the same line: both happen, or neither
        self._interrupted = True
        try:
            self._journal.append(event)
        except OSError:
            self._interrupted = self._vectors.grows  # its vocabulary has taken in a text the log has not
            raise
        self._apply(event, vector)
        self._interrupted, self._unsaved = False, True

    def _overflow(self, event: dict[str, Any]) -> list[int]:
        """Ids that have to go for the capacity to hold after this event; what it adds is not in question."""
        if self._capacity is None or len(self._ledger.live) < self._capacity:
            return []
        leaving = {*event.get("archived", ()), event["id"] if event["event"] == "delete" else None}
        staying = [lesson for lesson in self._ledger.live.values() if lesson.id not in leaving]
        over = len(staying) + (event["event"] == "add") - self._capacity
        return victims(self._policy, staying, max(0, over), touched=self._ledger.touched, rng=self._rng)

    def _rewrite(self) -> None:
        """Set aside what cannot be kept, and replace the log by what is needed to rebuild this state."""
        report, old = self._journal.set_aside(self._now().translate({ord(sign): None for sign in "-:"}))
        if report:
            self._ledger.next_id += sum(1 + len(piece.data) // SHORTEST_ADD for piece in report.pieces)
            self.notes.append(str(report))
        if old:
            self.notes.append(f"{self.path}: rewritten in format {VERSION}, the older file is kept as {old.name}")
        kept = self._ledger.live.keys() | self._ledger.archived.keys()
        end = {"event": "compacted", "next_id": self._ledger.next_id, "time": self._now()}  # the header may be lost
        self._journal.replace(self._header(), [*compacted(self._journal.records(), kept), end])
        self._refresh()
        self._report(report)
        self._unsaved = True

    def _save_vectors(self) -> None:
        self._cache.save(self._vectors, self._journal.length)
        self._unsaved = False

    def _header(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, "embedder": self._vectors.fingerprint, "log": uuid4().hex,
                "next_id": self._ledger.next_id, "created": self._now()}

    def _now(self) -> str:
        """The clock's time in UTC, as ISO 8601 with milliseconds."""
        now = self._clock()
        if now.tzinfo is None:
            raise ValueError(f"clock: expected a time with its zone, got {now!r}; use datetime.now(UTC)")
        return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
