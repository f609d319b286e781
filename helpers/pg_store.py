"""A memory's place on a server: opened and checked, written to in transactions, handed over to another embedder.

Left out: what a memory can be asked and told, which is `helpers.pg_memory.PgVectorMemory`, built on this.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

import numpy as np
import psycopg
from pgvector.psycopg import register_vector

from helpers import pg_schema
from helpers.eviction import check_policy, victims
from helpers.lesson_vectors import BATCH
from helpers.lessons import Lesson
from helpers.memory_store import EmbedderMismatch
from helpers.pg_errors import Address
from helpers.pg_rows import given, vector_of
from helpers.pg_schema import About
from helpers.pg_session import Session
from helpers.pg_vectors import SharedVectors
from helpers.retrieval import whole
from helpers.unit_vectors import Embedder

Result = TypeVar("Result")
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))"
TOGETHER = "SELECT pg_advisory_xact_lock_shared(hashtextextended(current_schema(), 0))"


class PgLessonStore:
    """The schema of one memory, seen through one connection; see `helpers.pg_memory` for the arguments."""

    def __init__(self, url: str, embedder: Embedder, *, name: str = "lessons", capacity: int | None = None,
                 policy: str = "none", clock: Callable[[], datetime] | None = None,
                 rng: np.random.Generator | None = None, exact_up_to: int = 2000, ef_search: int = 100,
                 patience_s: float = 15.0, _hand_over: bool = False) -> None:
        self._capacity = None if capacity is None else whole("capacity", capacity, 1)
        if policy == "none" and capacity is not None:
            raise ValueError(f"policy: expected one that says which lesson leaves a memory of capacity {capacity}, got "
                             "'none'; give policy='lru', or no capacity")
        self._policy = policy if policy == "none" else check_policy(policy)
        self.name, self._hand_over = pg_schema.check_name(name), _hand_over
        self._clock = clock or (lambda: datetime.now(UTC))
        self._rng = rng or np.random.default_rng(0)
        self._exact_up_to, self._ef_search = whole("exact_up_to", exact_up_to, 0), whole("ef_search", ef_search, 1)
        self._vectors = SharedVectors(embedder)
        self._has_vectors = self._large = False
        self._address = Address(url)
        self._session = Session(self._address, self._prepare, patience_s=patience_s)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._address)!r}, name={self.name!r})"

    @property
    def embedder(self) -> Embedder:
        """The embedder in use; when its vocabulary grows, this handle's own copy with the words of the lessons."""
        return self._vectors.embedder

    def compact(self) -> None:
        """Give room back to the server; words that only deleted lessons had are unlearnt."""
        if self._vectors.grows:
            self._embed_anew()
        tables = "lesson, receipt, word, memory" + ", embedding" * self._has_vectors
        self._session.alone(f"VACUUM (ANALYZE) {tables}")

    def close(self) -> None:
        """Give up the connection; it is made anew when the memory is used again."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @classmethod
    def reembed(cls, url: str, embedder: Embedder, *, name: str = "lessons", **options: Any) -> Self:
        """Hand a memory over to another embedder, in one step; ids, counters, archive and receipts stay as they are.

        All lessons are embedded before anything is changed. NotAMemory when there is none. `options` are those of
        the constructor, for the memory that is returned.
        """
        store = cls(url, embedder, name=name, _hand_over=True, **options)
        try:
            store._embed_anew()
        except BaseException:
            store.close()
            raise
        store._hand_over = False
        return store

    def _prepare(self, connection: psycopg.Connection) -> None:
        """Make a new connection speak of this memory."""
        pg_schema.enter(connection, self.name, self._address,
                        embedder=None if self._hand_over else self._vectors.fingerprint)
        register_vector(connection)
        connection.execute("SELECT set_config('hnsw.ef_search', %s, false), "
                           "set_config('hnsw.iterative_scan', 'strict_order', false)", [str(self._ef_search)])
        self._about(connection.cursor())

    def _about(self, cursor: psycopg.Cursor) -> About:
        """What the memory is like now; EmbedderMismatch when it was handed over to another embedder."""
        return self._checked(pg_schema.about(cursor))

    def _checked(self, now: About) -> About:
        if now.embedder != self._vectors.fingerprint and not self._hand_over:
            raise EmbedderMismatch(
                f"{self._address}, memory {self.name!r}: expected the embedder it was made with, {now.embedder}, got "
                f"{self._vectors.fingerprint}; open it with that one, or call {type(self).__name__}.reembed(url, "
                "embedder, name=…), which keeps ids and counters")
        self._has_vectors |= now.width is not None  # a table once made stays, if empty
        return now

    def _write(self, work: Callable[[psycopg.Cursor], Result], *, alone: bool = False,
               repeatable: bool = True) -> Result:
        """Do work that changes the memory. What chooses among all lessons needs it alone, the rest goes together."""
        def locked(cursor: psycopg.Cursor) -> Result:
            cursor.execute(ALONE if alone or self._capacity is not None else TOGETHER)
            return work(cursor)
        return self._session.run(locked, repeatable=repeatable)

    def _make_vectors(self, cursor: psycopg.Cursor, rows: Mapping[int, np.ndarray]) -> None:
        """Make the table of vectors anew, one (d,) row a lesson; a zero one is similar to nothing, and stays out."""
        cursor.execute("UPDATE memory SET width = NULL")
        if self._has_vectors:
            cursor.execute("DELETE FROM embedding")
        for row in itertools.islice(rows.values(), 1):
            sparse = self._vectors.grows
            pg_schema.make_vectors(cursor, 0 if sparse else len(row))
            with cursor.copy("COPY embedding (lesson_id, vector) FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(["int8", "sparsevec" if sparse else "vector"])
                for lesson_id, vector in rows.items():
                    if vector.any():
                        copy.write_row((lesson_id, vector_of(vector, sparse=sparse)))
            pg_schema.index_vectors(cursor, 0 if sparse else len(row), len(rows))

    def _victims(self, cursor: psycopg.Cursor, policy: str, n: int, *, leaving: Collection[int] = (),
                 rng: np.random.Generator) -> list[int]:
        """Ids of the `n` lessons that `policy` gives up first; with the memory held alone."""
        rows = cursor.execute("SELECT id, hits_plus, hits_minus, uses, touched FROM lesson WHERE NOT archived AND "
                              "id <> ALL(%s)", [list(leaving)]).fetchall()
        lessons = [Lesson(row[0], "", "", hits_plus=row[1], hits_minus=row[2], uses=row[3]) for row in rows]
        return victims(policy, lessons, n, touched={row[0]: row[4] for row in rows}, rng=rng)

    def _archive_overflow(self, cursor: psycopg.Cursor, *, adding: int = 0, leaving: Iterable[int] = ()) -> None:
        """Archive those `leaving` and what else has to go for the capacity to hold; the newcomer is not in question."""
        gone = list(leaving)
        if self._capacity is not None:
            live, = cursor.execute("SELECT count(*) FROM lesson WHERE NOT archived").fetchone()
            if (over := live - len(gone) + adding - self._capacity) > 0:
                gone += self._victims(cursor, self._policy, over, leaving=gone, rng=self._rng)
        if gone:
            cursor.execute("UPDATE lesson SET archived = true WHERE id = ANY(%s)", [gone])
            cursor.execute("DELETE FROM embedding WHERE lesson_id = ANY(%s)", [gone])

    def _embed_anew(self) -> None:
        """Make all vectors and words anew, in one step; lessons are embedded before, those added meanwhile within."""
        done: dict[int, np.ndarray] = {}
        if not self._vectors.grows:
            self._embed_missing(self._session.run(_specs), done)

        def work(cursor: psycopg.Cursor) -> int:
            generation = self._about(cursor).generation + 1
            self._vectors.begin_anew(cursor)
            specs = _specs(cursor)
            self._vectors.learn(cursor, [spec for _, spec, _ in specs])
            self._embed_missing(specs, done)
            cursor.execute("UPDATE memory SET embedder = %s, generation = %s", [self._vectors.fingerprint, generation])
            self._make_vectors(cursor, {lesson_id: done[lesson_id] for lesson_id, _, archived in specs if not archived})
            return generation
        self._vectors.kept(self._write(work, alone=True))
        self._session.run(self._about)

    def _embed_missing(self, specs: Sequence[tuple[int, str, bool]], done: dict[int, np.ndarray]) -> None:
        missing = [(lesson_id, spec) for lesson_id, spec, archived in specs if not archived and lesson_id not in done]
        for part in (missing[start:start + BATCH] for start in range(0, len(missing), BATCH)):
            rows = self._vectors.embed([spec for _, spec in part], [f"lesson {lesson_id}" for lesson_id, _ in part])
            done |= zip((lesson_id for lesson_id, _ in part), rows, strict=True)

    def _now(self) -> str:
        """The clock's time in UTC, as ISO 8601 with milliseconds."""
        now = self._clock()
        if now.tzinfo is None:
            raise ValueError(f"clock: expected a time with its zone, got {now!r}; use datetime.now(UTC)")
        return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _specs(cursor: psycopg.Cursor) -> list[tuple[int, str, bool]]:
    """(id, specification, whether it is archived) of all lessons in the order in which they came."""
    rows = cursor.execute("SELECT id, spec, archived FROM lesson ORDER BY added").fetchall()
    return [(lesson_id, given(spec), archived) for lesson_id, spec, archived in rows]
