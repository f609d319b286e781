"""What a search on the server asks for, and how its answer becomes the same as that of a memory in a file.

Left out: embedding the query. The server filters and ranks, in single precision; the few it puts first are scored
again here, by the code that scores them in a file, so that thresholds, ties and scores are the same to the last digit.
An HNSW index (Malkov and Yashunin 2018, arXiv:1603.09320) looks at a part of the vectors and may miss some; up to
`exact_up_to` lessons, and whenever the index came back with too few, all of them are looked at.
"""

from dataclasses import dataclass

import numpy as np
import psycopg
from psycopg import sql

from helpers.eviction import Z
from helpers.lessons import Lesson
from helpers.pg_rows import LESSON, array_of, lesson_of, stored, vector_of
from helpers.retrieval import Hits, Request, choose
from helpers.vector_index import SLACK, VectorIndex

# The upper end of helpers.eviction.wilson; without evidence it is NULL, which `least` passes over.
EVIDENCE, RATE = "nullif(hits_plus + hits_minus, 0)", "hits_plus / nullif(hits_plus + hits_minus, 0)"
WORTH_PASSES = f"""least(1, (hits_plus + %(z2)s / 2) / ({EVIDENCE} + %(z2)s) + %(z)s / ({EVIDENCE} + %(z2)s)
    * sqrt({RATE} * (1 - {RATE}) * {EVIDENCE} + %(z2)s / 4)) >= %(min_worth)s"""
NEAREST = """
WITH nearest AS MATERIALIZED (
    SELECT embedding.lesson_id, embedding.vector, {distance} AS distance FROM embedding {filters}
    ORDER BY distance LIMIT %(limit)s)
SELECT {columns}, nearest.vector, (SELECT generation FROM memory)
FROM nearest JOIN lesson ON lesson.id = nearest.lesson_id"""

MOST = 2**62  # rows a search may ask for: a bigint holds it, and no memory has so many


class Stale(Exception):
    """All vectors were made anew while a search was under way; it has to begin again."""


@dataclass(frozen=True)
class Search:
    """One search: what is asked for, the query's (d,) unit vector, and the vectors it is meant for."""

    request: Request
    query: np.ndarray
    generation: int
    sparse: bool
    exact: bool

    def hits(self, cursor: psycopg.Cursor, rng: np.random.Generator | None = None) -> Hits:
        """The hits, or an empty list; as `helpers.retrieval.choose` picks them from a ranking of all lessons."""
        hits, found = self._best(cursor)
        if rng is not None and hits and all(hit.lesson.uses for hit in hits):
            found |= self._rows(cursor, limit=None, exact=True, untried=True)
            hits = self._choose(found, rng)
        return hits or self._nothing(cursor)

    def _best(self, cursor: psycopg.Cursor) -> tuple[Hits, dict[int, tuple[Lesson, np.ndarray]]]:
        """The hits, and every lesson that was looked at for them.

        `limit` grows until nothing that was not looked at could take a place: neither because of too many lessons
        of one source, nor because of scores that only the digits of single precision tell apart.
        """
        limit, exact = min(2 * self.request.k + 2, MOST), self.exact
        while True:
            found = self._rows(cursor, limit=limit, exact=exact)
            hits = self._choose(found)
            if len(found) < limit and not exact:
                exact = True  # the index gave up, or there are no more
                continue
            if len(found) < limit or not self.request.k:
                return hits, found
            needed = hits[-1].score if len(hits) == self.request.k else self.request.threshold
            if needed is not None and self._ranked(found)[-1][0] < needed - SLACK:
                return hits, found
            limit = min(8 * limit, MOST)

    def _choose(self, found: dict[int, tuple[Lesson, np.ndarray]], rng: np.random.Generator | None = None) -> Hits:
        if not found:
            return Hits()
        ranked, lessons = self._ranked(found), {key: lesson for key, (lesson, _) in found.items()}
        return choose(self.request, lessons, lambda m: ranked[:m], len(ranked), rng)

    def _ranked(self, found: dict[int, tuple[Lesson, np.ndarray]]) -> list[tuple[float, int]]:
        """All of them as (score, id), the best first, ties by id."""
        index = VectorIndex()
        for key, (_, vector) in found.items():
            index.put(key, vector)
        return index.best(self.query, index.scores(self.query[np.newaxis])[0], len(found))

    def _nothing(self, cursor: psycopg.Cursor) -> Hits:
        """An empty answer with its reason, by the lesson that is most similar whatever the filters."""
        everything = Search(Request.of(1, None), self.query, self.generation, self.sparse, exact=True)
        found = everything._rows(cursor, limit=1, exact=True)
        return self._choose(found)

    def _rows(self, cursor: psycopg.Cursor, *, limit: int | None, exact: bool,
              untried: bool = False) -> dict[int, tuple[Lesson, np.ndarray]]:
        """The nearest lessons that pass the filters, and without a limit the threshold too: lesson and vector by id."""
        request, width = self.request, len(self.query)
        filters = {"family = %(family)s": request.family is not None, "uses = 0": untried,
                   "source <> ALL(%(exclude)s)": bool(request.exclude), WORTH_PASSES: request.min_worth is not None}
        wanted = [sql.SQL(text) for text, given in filters.items() if given]
        distance = sql.SQL("(embedding.vector <=> %(query)s)")
        if exact:
            distance = sql.SQL("({} + 0)").format(distance)  # a sum has no index: all of them are looked at
            if request.threshold is not None:
                wanted.append(sql.SQL("{} <= %(farthest)s").format(distance))
        clause = sql.SQL("JOIN lesson ON lesson.id = embedding.lesson_id WHERE ") + sql.SQL(" AND ").join(wanted)
        statement = sql.SQL(NEAREST).format(distance=distance, columns=sql.SQL(LESSON),
                                            filters=clause if wanted else sql.SQL(""))
        rows = cursor.execute(statement, {
            "query": vector_of(self.query, sparse=self.sparse), "limit": limit, "min_worth": request.min_worth,
            "z": Z, "z2": Z * Z,
            "family": request.family and stored(request.family), "exclude": list(map(stored, request.exclude)),
            "farthest": 1 - (request.threshold or 0) + SLACK}).fetchall()
        if any(row[-1] != self.generation for row in rows):
            raise Stale
        return {row[0]: (lesson_of(row), array_of(row[-2], width)) for row in rows}
