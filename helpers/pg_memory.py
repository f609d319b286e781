"""The memory of `helpers.memory` on PostgreSQL with pgvector: many agents on many machines, and no outcome lost.

Left out: access rights, pooling of connections, and the repair of damaged lines (a server checks its pages itself).
Parts, in the order of reading: `helpers.pg_schema` (the tables), `helpers.pg_session` (the connection),
`helpers.pg_store` (both kept in order), `helpers.pg_vectors` (embeddings), `helpers.pg_search` (the choice),
`helpers.pg_reading` (all questions), `helpers.pg_rows` (what crosses the wire), `helpers.pg_errors`, and
`helpers.pg_server` (a server for this machine).
Lessons, receipts, policies and answers come from the same modules as those of a memory in a file.
"""

import itertools
from collections.abc import Iterable
from uuid import UUID, uuid4

import numpy as np
import psycopg

from helpers import pg_schema
from helpers.eviction import check_policy
from helpers.lessons import Receipt
from helpers.memory import EpisodeConflict, UnknownLesson, receipt_told, texts_of
from helpers.memory_store import EmbedderMismatch
from helpers.pg_errors import MemoryServerError
from helpers.pg_reading import PgReading, as_id
from helpers.pg_rows import RECEIPT, receipt_of, stored, vector_of
from helpers.pg_schema import About
from helpers.pg_store import ALONE
from helpers.retrieval import whole

__all__ = ["EmbedderMismatch", "EpisodeConflict", "MemoryServerError", "PgVectorMemory", "UnknownLesson"]

LONGEST_EPISODE = 2000  # bytes: an entry of the index that makes it unique holds no more than 2700

ADD = ("INSERT INTO lesson (spec, text, code, source, family, created, added, touched, request) VALUES (%(spec)s, "
       "%(text)s, %(code)s, %(source)s, %(family)s, %(time)s, nextval('event'), currval('event'), %(request)s) "
       "RETURNING id")
ADD_WITH_VECTOR = (f"WITH new AS ({ADD}) INSERT INTO embedding (lesson_id, vector) SELECT id, %(vector)s FROM new "
                   "RETURNING lesson_id")


class PgVectorMemory(PgReading):
    """The lessons of the memory `name` on a server, with the interface and the answers of `VectorMemory`.

    `url` is the server's address (`helpers.pg_server.database`), `name` a schema of its database, made when it is not
    there. `capacity`, `policy`, `clock` and `rng` are those of `VectorMemory`. Memories of up to `exact_up_to` lessons
    are searched exactly, larger ones by an index that looks at `ef_search` candidates and may miss a lesson (measured
    in `tests/bench_pg.py`). When the connection is lost, it is made anew for up to `patience_s` seconds and what was
    under way is done once more; what has returned is on the server's disk. One object may be used by many threads,
    one memory by many processes; after `fork` open a new object. Ids grow and are never used again, but may leave gaps
    when a server crashed; an episode's name has at most LONGEST_EPISODE bytes.

    An embedder whose vocabulary grows (BagOfWords) keeps it in a table, word by word in order, and its vectors as
    sparse ones, to which new words change nothing; adding is then one at a time, and searching always exact.
    """

    def add(self, spec: str, text: str, *, code: str = "", source: str = "", family: str = "") -> int:
        """Store a lesson and return its id; `spec` is what is embedded, an empty `text` is refused."""
        fields = texts_of(spec=spec, text=text, code=code, source=source, family=family)
        if not text.strip():
            raise ValueError("text: expected a lesson, got nothing but blanks; there is nothing to remember")
        names = [f"the lesson of {spec[:40]!r}"]
        vectors = None if self._vectors.grows else self._vectors.embed([spec], names)  # may take long: no lock yet
        values = {name: stored(value) for name, value in fields.items()} | {"time": self._now(), "request": uuid4()}
        tries = itertools.count()

        def work(cursor: psycopg.Cursor) -> tuple[int, int]:
            now = self._about(cursor)
            if next(tries) and (known := cursor.execute("SELECT id FROM lesson WHERE request = %(request)s",
                                                        values).fetchone()):
                return known[0], now.generation  # kept, though the connection was lost before that was known
            self._vectors.follow(cursor, now)
            self._vectors.learn(cursor, [spec])
            rows = self._vectors.embed([spec], names) if vectors is None else vectors
            self._ready(cursor, rows, names, now)
            self._archive_overflow(cursor, adding=1)
            values["vector"] = vector_of(rows[0], sparse=self._vectors.grows)
            # A vector that is zero is similar to nothing: it stays out.
            lesson_id, = cursor.execute(ADD_WITH_VECTOR if rows[0].any() else ADD, values).fetchone()
            return lesson_id, now.generation
        lesson_id, generation = self._write(work, alone=self._vectors.grows or not self._has_vectors)
        self._vectors.kept(generation)
        return lesson_id

    def _ready(self, cursor: psycopg.Cursor, rows: np.ndarray, names: list[str], now: About) -> None:
        """See that there is a table for (n, d) vectors, and that these fit into it."""
        if now.width is None:  # also when another handle made that so, and this one was not alone
            cursor.execute(ALONE)
            now = self._about(cursor)
        if now.width is None:
            width = 0 if self._vectors.grows else rows.shape[1]
            pg_schema.make_vectors(cursor, width)
            pg_schema.index_vectors(cursor, width)
        self._vectors.check_width(rows, names, now.width)

    def delete(self, lesson_id: int) -> None:
        """Remove a lesson, archived or not."""
        def work(cursor: psycopg.Cursor) -> None:
            cursor.execute("DELETE FROM lesson WHERE id = %s", [as_id(lesson_id)])  # its vector goes with it
            if not cursor.rowcount:
                raise self._unknown(cursor, lesson_id)
            self._archive_overflow(cursor)
        self._write(work, repeatable=False)

    def record(self, episode_id: str, ids: Iterable[int], outcome: str, weights: Iterable[float] | None = None, *,
               problem: str = "") -> bool:
        """Tell what became of an episode that was given these lessons; True when this was news.

        As `VectorMemory.record`. The server adds to the counters, and locks their rows in the order of ids, so that
        agents recording at once wait for each other and lose nothing.
        """
        receipt = receipt_told(ids, outcome, weights, texts_of(problem=problem)["problem"])
        episode = _episode(texts_of(episode_id=episode_id)["episode_id"])
        request, time = uuid4(), self._now()

        def work(cursor: psycopg.Cursor) -> bool:
            here = self._hold(cursor, receipt)
            new = cursor.execute(
                "INSERT INTO receipt (episode, event, time, outcome, problem, ids, weights, request) VALUES "
                "(%s, nextval('event'), %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING event",
                [stored(episode), time, outcome, stored(receipt.problem), list(receipt.weights),
                 list(receipt.weights.values()), request]).fetchone()
            if new is None:
                return self._known(cursor, episode, receipt) == request
            for lesson_id in receipt.weights:
                if lesson_id not in here:
                    raise self._unknown(cursor, lesson_id)
            self._archive_overflow(cursor)
            if outcome != "infrastructure":  # the model never answered: nothing was used, nothing was shown
                self._count(cursor, receipt, time, new[0])
            return True
        return self._write(work)

    def _hold(self, cursor: psycopg.Cursor, receipt: Receipt) -> set[int]:
        """Keep others from these lessons until the end of the transaction; which of them there are, archived or not.

        Everybody takes them in the same order: otherwise two could wait for each other.
        """
        if far := [lesson_id for lesson_id in receipt.weights if as_id(lesson_id) is None]:
            raise self._unknown(cursor, far[0])
        return {lesson_id for lesson_id, in cursor.execute(
            "SELECT id FROM lesson WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE", [list(receipt.weights)])}

    def _count(self, cursor: psycopg.Cursor, receipt: Receipt, time: str, event: int) -> None:
        """Move the counters: the server adds to what is there, so what another agent has added meanwhile stays."""
        cursor.execute(
            "UPDATE lesson SET hits_plus = hits_plus + weight * %(won)s, hits_minus = hits_minus + weight * %(lost)s, "
            "uses = uses + 1, last_used = %(time)s, touched = %(event)s "
            "FROM unnest(%(ids)s::bigint[], %(weights)s::float8[]) AS told (lesson_id, weight) WHERE id = lesson_id",
            {"won": float(receipt.outcome == "success"), "lost": float(receipt.outcome == "failure"), "time": time,
             "event": event, "ids": list(receipt.weights), "weights": list(receipt.weights.values())})

    def _known(self, cursor: psycopg.Cursor, episode: str, receipt: Receipt) -> UUID | None:
        """The request that recorded this episode before; EpisodeConflict when it told something else."""
        row = cursor.execute(f"SELECT {RECEIPT}, request FROM receipt WHERE episode = %s", [stored(episode)]).fetchone()
        before = receipt_of(row[:-1])[1]
        if before != receipt:
            raise EpisodeConflict(f"episode {episode!r}: expected what was recorded before, {before}, got {receipt};"
                                  " give a new episode a new id")
        return row[-1]

    def forget(self, policy: str, n: int, *, rng: np.random.Generator | None = None) -> list[int]:
        """Archive the `n` lessons that `policy` gives up first (see `helpers.eviction.victims`); their ids in order."""
        n, rng = whole("n", n, 0), rng or self._rng
        check_policy(policy)

        def work(cursor: psycopg.Cursor) -> list[int]:
            gone = self._victims(cursor, policy, n, rng=rng)
            if gone:
                self._archive_overflow(cursor, leaving=gone)
            return gone
        return self._write(work, alone=True, repeatable=False)

def _episode(episode: str) -> str:
    if not episode:
        raise ValueError("episode_id: expected a name, got an empty one; without it a repetition goes unnoticed")
    if len(stored(episode).encode()) > LONGEST_EPISODE:
        raise ValueError(f"episode_id: expected at most {LONGEST_EPISODE} bytes, got {len(episode.encode())}; name it "
                         "by a digest of that, such as its SHA-256")
    return episode
