"""What a memory on a server can be asked: its lessons, the most similar ones, its receipts.

Left out: what it can be told, which is `helpers.pg_memory.PgVectorMemory`, built on this.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import psycopg

from helpers.lessons import OUTCOMES, Lesson, Receipt
from helpers.memory import UnknownLesson, texts_of
from helpers.pg_rows import LESSON, RECEIPT, array_of, given, lesson_of, receipt_of
from helpers.pg_schema import ABOUT, About
from helpers.pg_search import Search, Stale
from helpers.pg_store import PgLessonStore
from helpers.retrieval import Hits, Request
from helpers.vector_index import VectorIndex

Result = TypeVar("Result")


class PgReading(PgLessonStore):
    """The questions a memory answers. None of them writes, and a counter moves by none of them."""

    def get(self, lesson_id: int) -> Lesson:
        """The lesson of this id; UnknownLesson when it was deleted, archived or never there."""
        def work(cursor: psycopg.Cursor) -> Lesson:
            row = cursor.execute(f"SELECT {LESSON} FROM lesson WHERE id = %s AND NOT archived",
                                 [as_id(lesson_id)]).fetchone()
            if row is None:
                raise self._unknown(cursor, lesson_id)
            return lesson_of(row)
        return self._session.read(work)

    def __len__(self) -> int:
        return self._session.read(lambda cursor: cursor.execute(
            "SELECT count(*) FROM lesson WHERE NOT archived").fetchone()[0])

    def __iter__(self) -> Iterator[Lesson]:
        """The lessons as they are now, in the order of their ids."""
        return iter(self._lessons("NOT archived"))

    def __contains__(self, lesson_id: object) -> bool:
        return self._session.read(lambda cursor: cursor.execute(
            "SELECT 1 FROM lesson WHERE id = %s AND NOT archived", [as_id(lesson_id)]).fetchone() is not None)

    def search(self, query: str, k: int = 3, threshold: float | None = 0.05, *, family: str | None = None,
               exclude: str | Iterable[str] = (), min_worth: float | None = None, max_per_source: int | None = 2,
               rng: np.random.Generator | None = None) -> Hits:
        """The `k` lessons most similar to `query` among those that pass the filters, best first, ties by id.

        The arguments and the answer are those of `VectorMemory.search`. Nothing is written.
        """
        return self.search_many([query], k, threshold, family=family, exclude=exclude, min_worth=min_worth,
                                max_per_source=max_per_source, rng=rng)[0]

    def search_many(self, queries: Sequence[str], k: int = 3, threshold: float | None = 0.05, *,
                    rng: np.random.Generator | None = None, **filters: Any) -> list[Hits]:
        """`search` for several queries, one after the other."""
        request = Request.of(k, threshold, **filters)
        if isinstance(queries, str):
            raise TypeError("queries: expected several texts, got one str; call search(query), or put it in a list")
        queries = [texts_of(query=query)["query"] for query in queries]
        names = [f"query {query[:40]!r}" for query in queries]
        vectors = None if self._vectors.grows or not queries else self._vectors.embed(queries, names)

        def work(cursor: psycopg.Cursor) -> list[Hits]:
            now, size = self._size(cursor, self._exact_up_to + 1)
            self._vectors.follow(cursor, now)
            if not size or not queries:
                live = cursor.execute("SELECT 1 FROM lesson WHERE NOT archived LIMIT 1").fetchone()
                reason = "no lesson has a word the embedder knows" if live else "the memory is empty"
                return [Hits(reason=reason) for _ in queries]
            rows = self._vectors.embed(queries, names) if vectors is None else vectors
            self._vectors.check_width(rows, names, now.width)
            exact = self._vectors.grows or size <= self._exact_up_to
            hits = [Search(request, row, now.generation, self._vectors.grows, exact).hits(cursor, rng) if row.any()
                    else Hits(reason="the query has no word the embedder knows") for row in rows]
            if not all(found or found.reason for found in hits):  # there was no lesson left to look at
                self._large = False
                raise Stale
            return hits
        return self._current(work)

    @property
    def archived(self) -> list[Lesson]:
        """The lessons given up, in the order of their ids; they keep their counters."""
        return self._lessons("archived")

    @property
    def receipts(self) -> dict[str, Receipt]:
        """What was recorded, by episode; counters are the sum of these."""
        return self._session.read(lambda cursor: dict(map(receipt_of, cursor.execute(
            f"SELECT {RECEIPT} FROM receipt ORDER BY event").fetchall())))

    @property
    def outcomes(self) -> dict[str, int]:
        """Episodes by outcome, each outcome apart: the denominators."""
        return dict.fromkeys(OUTCOMES, 0) | self._session.read(lambda cursor: dict(cursor.execute(
            "SELECT outcome, count(*) FROM receipt GROUP BY outcome").fetchall()))

    def audit(self) -> list[tuple[str, int]]:
        """(episode, lesson id) wherever an episode was given a lesson learnt from its own `problem`."""
        rows = self._session.read(lambda cursor: cursor.execute(
            "SELECT episode, lesson.id FROM receipt, unnest(ids) WITH ORDINALITY AS told (lesson_id, place) "
            "JOIN lesson ON lesson.id = lesson_id WHERE problem <> '' AND source = problem "
            "ORDER BY event, place").fetchall())
        return [(given(episode), lesson_id) for episode, lesson_id in rows]

    def near_duplicates(self, threshold: float = 0.95) -> list[tuple[int, int, float]]:
        """(id, later id, cosine) of every pair at `threshold` or above, most similar first: a report, never a merge.

        All vectors come here for it, and are compared as those of a memory in a file.
        """
        if Request.of(threshold=threshold).threshold is None:
            raise ValueError("threshold: expected a cosine, got None")

        def work(cursor: psycopg.Cursor) -> VectorIndex:
            (now, size), index = self._size(cursor, 1), VectorIndex()
            self._vectors.follow(cursor, now)
            rows = cursor.execute("SELECT lesson_id, vector, generation FROM embedding, memory") if size else ()
            for lesson_id, vector, generation in rows:
                if generation != now.generation:
                    raise Stale
                index.put(lesson_id, array_of(vector, now.width or self._vectors.words))
            return index
        return self._current(work).pairs(threshold)

    def _size(self, cursor: psycopg.Cursor, most: int) -> tuple[About, int]:
        """What the memory is like, and how many of its lessons have a vector, counted up to `most`."""
        if self._large or not self._has_vectors:  # a memory that was large once is counted again when it seems empty
            now = self._about(cursor)
            if self._large or now.width is None:
                return now, most * self._large
        row = cursor.execute(f"SELECT {ABOUT}, (SELECT count(*) FROM (SELECT FROM embedding LIMIT %s) AS some_of_them) "
                             "FROM memory", [most]).fetchone()
        self._large = row[-1] > self._exact_up_to
        return self._checked(About(*row[:-1])), row[-1]

    def _current(self, work: Callable[[psycopg.Cursor], Result]) -> Result:
        """Read; once more when all vectors were made anew meanwhile."""
        while True:
            with suppress(Stale):
                return self._session.read(work)

    def _lessons(self, which: str) -> list[Lesson]:
        return self._session.read(lambda cursor: list(map(lesson_of, cursor.execute(
            f"SELECT {LESSON} FROM lesson WHERE {which} ORDER BY id").fetchall())))

    def _unknown(self, cursor: psycopg.Cursor, lesson_id: object) -> UnknownLesson:
        state, number = "there never was one", as_id(lesson_id)
        last, = cursor.execute("SELECT last_value * is_called::integer FROM lesson_id_seq").fetchone()
        if cursor.execute("SELECT 1 FROM lesson WHERE id = %s", [number]).fetchone():
            state = "it is archived, see `archived`"
        elif number is not None and 0 < number <= last:
            state = "it was deleted, or its adding came to nothing"
        return UnknownLesson(f"lesson {lesson_id!r}: expected the id of a lesson that is here, but {state}")


def as_id(lesson_id: object) -> int | None:
    """The id as a column can hold it; None, which equals no id, for anything else that could be a key."""
    hash(lesson_id)  # TypeError for what a memory in a file refuses, such as a list
    number = operator.index(lesson_id) if hasattr(lesson_id, "__index__") else -1
    return number if 0 <= number < 2 ** 63 else None
