"""Unit vectors under integer ids, and the exact search for the most similar ones: one product, one partial sort.

Left out: approximate search, vectors on disk (`helpers.lesson_vectors`), and what an id stands for.
"""

import numpy as np

SLACK = 1e-5  # more than a float32 product of two unit vectors is ever off by, at the widths used here
DIGITS = 7    # of a score; rows are float32, so what follows would be noise that breaks ties


class VectorIndex:
    """Columns of one matrix that grows in place: adding a vector costs the same at 10 and at 10,000 (amortised).

    A vector may be longer than those before, which are then padded with zeros. When one is dropped, the last takes
    its place. Stored as columns because the product of a row with them runs through memory in one direction, which
    BLAS does 1.5 times as fast as the other way round.

    >>> index = VectorIndex()
    >>> index.put(7, np.array([1, 0], np.float32)); index.put(8, np.array([0.6, 0.8], np.float32))
    >>> query = np.array([[0, 1]], np.float32)
    >>> index.best(query[0], index.scores(query)[0], 2)
    [(0.8, 8), (0.0, 7)]
    """

    def __init__(self) -> None:
        self._room = np.zeros((0, 0), np.float32)  # (numbers a vector, vectors) there is room for
        self._ids = np.zeros(0, np.int64)          # (vectors there is room for,)
        self._place: dict[int, int] = {}
        self.width = 0

    def __len__(self) -> int:
        return len(self._place)

    @property
    def columns(self) -> np.ndarray:
        """(width, n) float32, a view."""
        return self._room[:self.width, :len(self)]

    @property
    def ids(self) -> np.ndarray:
        """(n,) int64, a view; `ids[i]` names column i."""
        return self._ids[:len(self)]

    def put(self, key: int, vector: np.ndarray) -> None:
        """Store a (d,) unit vector under an id; one stored before under it is replaced."""
        self.drop(key)
        place, width = len(self), max(self.width, len(vector))
        self._make_room(width, place + 1)
        self._room[:len(vector), place] = vector
        self._room[len(vector):, place] = 0  # a dropped vector may have left something there
        self._ids[place], self.width = key, width
        self._place[key] = place  # last: until here an interrupted put has changed nothing that is looked at

    def drop(self, key: int) -> None:
        """Forget an id, if it is there."""
        place = self._place.pop(key, None)
        if place is not None and place < len(self):
            last = len(self)  # one outside now
            self._room[:, place], self._ids[place] = self._room[:, last], self._ids[last]
            self._place[int(self._ids[place])] = place

    def _make_room(self, width: int, count: int) -> None:
        have_width, have_count = self._room.shape
        if width > have_width:
            width = max(width, have_width + have_width // 2)
        if count > have_count:
            count = max(2 * have_count, 16)
        if width > have_width or count > have_count:
            room = np.zeros((max(width, have_width), max(count, have_count)), np.float32)
            room[:have_width, :have_count] = self._room
            self._ids = np.concatenate([self._ids, np.zeros(room.shape[1] - have_count, np.int64)])
            self._room = room

    def scores(self, queries: np.ndarray) -> np.ndarray:
        """(q, n) float32 cosines of (q, d) unit rows with all n vectors; numbers only a query has count nothing."""
        if queries.shape[1] < self.width:
            raise ValueError(f"queries: expected rows of {self.width} numbers, got {queries.shape[1]}; "
                             "embed them with the embedder of the index")
        return queries[:, :self.width] @ self.columns

    def best(self, query: np.ndarray, scores: np.ndarray, m: int) -> list[tuple[float, int]]:
        """The `m` best (score, id), best first, ties by id; `scores` is the query's row of `scores(queries)`.

        The float32 scores only choose the candidates. Those are scored again in float64 and rounded, so that equal
        texts tie on every machine and a cosine of 0.8 is the number 0.8.
        """
        places = np.arange(len(scores))
        if m < len(scores):
            floor = np.partition(scores, len(scores) - m)[len(scores) - m]  # the m-th best
            places = np.flatnonzero(scores >= floor - SLACK)                # (m or more,)
        exact = _cosines(self.columns[:, places], query[:self.width])
        order = np.lexsort((self._ids[places], -exact))[:m]
        return list(zip(exact[order].tolist(), self._ids[places[order]].tolist(), strict=True))

    def pairs(self, threshold: float) -> list[tuple[int, int, float]]:
        """(id, later id, cosine) of all pairs at `threshold` or above, most similar first; time and room n²/2."""
        found, columns = [], self.columns
        for start in range(0, len(self), 512):
            block = columns[:, start:start + 512].T @ columns[:, start:]  # (up to 512, n - start)
            for one, other in np.argwhere(block >= threshold - SLACK) + start:
                if one < other:
                    score = float(_cosines(columns[:, [other]], columns[:, one])[0])
                    if score >= threshold:
                        found.append((*sorted((int(self._ids[one]), int(self._ids[other]))), score))
        return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))


def _cosines(columns: np.ndarray, query: np.ndarray) -> np.ndarray:
    """(n,) float64 in [-1, 1]: cosines of (d, n) columns that are not zero with a (d,) query that is not zero."""
    columns, query = columns.astype(np.float64), query.astype(np.float64)
    lengths = np.sqrt((columns * columns).sum(axis=0) * (query @ query))
    return np.clip(np.round(query @ columns / lengths, DIGITS), -1.0, 1.0)
