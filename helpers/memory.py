"""A memory that outlives the process: lessons in a log on disk, found by cosine, with what became of their use.

Left out: approximate search, access rights, and any judgement of its own: nothing is merged, reworded or forgotten
unless the caller says so. Parts, in the order of reading: `helpers.lessons` (records, and the state their events
add up to), `helpers.journal` (the file), `helpers.memory_store` (both kept equal), `helpers.lesson_vectors`
(embeddings), `helpers.retrieval` (the choice), `helpers.eviction` (the forgetting).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers.eviction import victims
from helpers.journal import JournalError
from helpers.lesson_vectors import EmbeddingError
from helpers.lessons import OUTCOMES, Lesson, Receipt, own_source
from helpers.memory_format import DamageReport, DamageWarning, NotAMemory
from helpers.memory_store import CACHE_FROM, EmbedderMismatch, LessonStore
from helpers.retrieval import Hit, Hits, Request, choose, whole

__all__ = ["DamageReport", "DamageWarning", "EmbedderMismatch", "EmbeddingError", "EpisodeConflict", "Hit", "Hits",
           "JournalError", "Lesson", "NotAMemory", "Receipt", "UnknownLesson", "VectorMemory"]
HEAVIEST = 1e6  # the largest weight of a receipt: sums of such stay finite, on a server too


class UnknownLesson(KeyError):
    """No lesson has this id; the message names it, and says whether there was one."""

    def __str__(self) -> str:
        return str(self.args[0])


class EpisodeConflict(ValueError):
    """An episode was recorded before, with other lessons, weights, outcome or problem."""


class VectorMemory(LessonStore):
    """Lessons under ids that are never used again, in one log file, with exact search by cosine.

    A full memory (`capacity`) gives up lessons by `policy`, one of "fifo", "lru", "lfu", "worth", "random", whenever
    it is written to; the newcomer stays. Given up means archived: no search finds them, their text and counters
    stay. Everything here reads first what other processes wrote; only add, delete, record, forget, compact and
    repair write, and each of them is on disk when it returns.

    >>> from tempfile import TemporaryDirectory
    >>> from helpers.embeddings import BagOfWords
    >>> with TemporaryDirectory() as folder:
    ...     memory = VectorMemory(f"{folder}/lessons.jsonl", BagOfWords())
    ...     first = memory.add("largest of a list", "an empty list gives None", source="largest")
    ...     hits = memory.search("smallest of a list")
    ...     memory.record("episode 1", [hit.lesson.id for hit in hits], "success")
    ...     [(hit.lesson.text, hit.score) for hit in hits], memory.get(first).hits_plus
    True
    ([('an empty list gives None', 0.8660254)], 1.0)
    """

    def add(self, spec: str, text: str, *, code: str = "", source: str = "", family: str = "") -> int:
        """Store a lesson and return its id; `spec` is what is embedded, an empty `text` is refused.

        Whatever goes wrong, in the embedder, on the disk or by an interrupt, leaves file and memory as they were.
        """
        fields = texts_of(spec=spec, text=text, code=code, source=source, family=family)
        if not text.strip():
            raise ValueError("text: expected a lesson, got nothing but blanks; there is nothing to remember")
        vectors = None if self._vectors.grows else self.embedder.embed([spec])  # may take long: before the lock
        with self._writing():
            lesson_id = self._ledger.next_id
            if lesson_id > CACHE_FROM and (lesson_id - 1) & (lesson_id - 2) == 0:  # flat on average
                self._save_vectors()
            self._interrupted = self._vectors.grows  # from here to the commit its vocabulary is ahead of the log
            self._vectors.learn(spec)
            vectors = self.embedder.embed([spec]) if vectors is None else vectors
            vector = self._vectors.checked(vectors, [f"lesson {lesson_id} ({spec[:40]!r})"])[0]
            self._commit({"event": "add", "id": lesson_id, **fields}, vector)
        return lesson_id

    def get(self, lesson_id: int) -> Lesson:
        """The lesson of this id; UnknownLesson when it was deleted, archived or never there."""
        with self._guard:
            self._refresh()
            if lesson_id not in self._ledger.live:
                raise self._unknown(lesson_id)
            return self._ledger.live[lesson_id]

    def delete(self, lesson_id: int) -> None:
        """Remove a lesson, archived or not; its text leaves the disk at the next `compact`."""
        with self._writing():
            if lesson_id not in self._ledger.live and lesson_id not in self._ledger.archived:
                raise self._unknown(lesson_id)
            self._commit({"event": "delete", "id": whole("lesson_id", lesson_id, 0)})

    def __len__(self) -> int:
        with self._guard:
            self._refresh()
            return len(self._ledger.live)

    def __iter__(self) -> Iterator[Lesson]:
        """The lessons as they are now, in the order of their ids."""
        with self._guard:
            self._refresh()
            return iter(sorted(self._ledger.live.values(), key=lambda lesson: lesson.id))

    def __contains__(self, lesson_id: object) -> bool:
        with self._guard:
            self._refresh()
            return lesson_id in self._ledger.live

    def search(self, query: str, k: int = 3, threshold: float | None = 0.05, *, family: str | None = None,
               exclude: str | Iterable[str] = (), min_worth: float | None = None, max_per_source: int | None = 2,
               rng: np.random.Generator | None = None) -> Hits:
        """The `k` lessons most similar to `query` among those that pass the filters, best first, ties by id.

        `threshold`: least cosine, itself included; None is off. `family`: only that one. `exclude`: sources whose
        lessons stay out, such as the problem at hand. `min_worth`: leaves out a lesson when it has been shown to be
        worth less (the upper end of `helpers.eviction.wilson` lies below), so one never tried passes.
        `max_per_source`: fifty lessons of one problem take no more than two places; None is off. `rng`: let the last
        place go to a lesson never tried (`helpers.retrieval.choose`). Nothing is written; when nothing is found, the
        `reason` of the empty list says why.
        """
        return self.search_many([query], k, threshold, family=family, exclude=exclude, min_worth=min_worth,
                                max_per_source=max_per_source, rng=rng)[0]

    def search_many(self, queries: Sequence[str], k: int = 3, threshold: float | None = 0.05, *,
                    rng: np.random.Generator | None = None, **filters: Any) -> list[Hits]:
        """`search` for several queries at once: one matrix product for all of them."""
        request = Request.of(k, threshold, **filters)
        if isinstance(queries, str):
            raise TypeError("queries: expected several texts, got one str; call search(query), or put it in a list")
        queries = [texts_of(query=query)["query"] for query in queries]
        with self._guard:
            self._refresh()
            if not self._ledger.live or not queries:
                return [Hits(reason="the memory is empty") for _ in queries]
            self._vectors.settle(self._cache)
            vectors = self._vectors.embed(queries, [f"query {query[:40]!r}" for query in queries])  # (queries, d)
            index = self._vectors.index
            if not len(index):
                return [Hits(reason="no lesson has a word the embedder knows") for _ in queries]
            scores = index.scores(vectors)  # (queries, lessons)
            return [choose(request, self._ledger.live, lambda m, row=row: index.best(vectors[row], scores[row], m),
                           len(index), rng)
                    if vectors[row].any() else Hits(reason="the query has no word the embedder knows")
                    for row in range(len(queries))]

    def record(self, episode_id: str, ids: Iterable[int], outcome: str, weights: Iterable[float] | None = None, *,
               problem: str = "") -> bool:
        """Tell what became of an episode that was given these lessons; True when this was news.

        `outcome`: "success" adds each lesson's weight (1 unless given) to `hits_plus`, "failure" to `hits_minus`;
        both, and "unobserved", move `uses` and `last_used`; "infrastructure" moves nothing but its own count. The same
        episode again is no news; with other content it is an EpisodeConflict. `problem` is what `audit` looks at.
        """
        receipt = receipt_told(ids, outcome, weights, texts_of(problem=problem)["problem"])
        episode = texts_of(episode_id=episode_id)["episode_id"]
        if not episode:
            raise ValueError("episode_id: expected a name, got an empty one; without it a repetition goes unnoticed")
        with self._writing():
            known = self._ledger.receipts.get(episode)
            if known is not None and known != receipt:
                raise EpisodeConflict(f"episode {episode!r}: expected what was recorded before, {known}, got {receipt};"
                                      " give a new episode a new id")
            for lesson_id in () if known else receipt.weights:
                if lesson_id not in self._ledger.live and lesson_id not in self._ledger.archived:
                    raise self._unknown(lesson_id)
            if known is None:
                self._commit({"event": "outcome", "episode": episode, "ids": list(receipt.weights), "problem": problem,
                              "outcome": outcome, "weights": list(receipt.weights.values())})
        return known is None

    def forget(self, policy: str, n: int, *, rng: np.random.Generator | None = None) -> list[int]:
        """Archive the `n` lessons that `policy` gives up first (see `helpers.eviction.victims`); their ids in order."""
        n = whole("n", n, 0)
        with self._writing():
            gone = victims(policy, self._ledger.live.values(), n, touched=self._ledger.touched, rng=rng or self._rng)
            if gone:
                self._commit({"event": "archive", "archived": gone, "policy": policy})
        return gone

    @property
    def archived(self) -> list[Lesson]:
        """The lessons given up, in the order of their ids; they keep their counters."""
        with self._guard:
            self._refresh()
            return sorted(self._ledger.archived.values(), key=lambda lesson: lesson.id)

    @property
    def receipts(self) -> dict[str, Receipt]:
        """What was recorded, by episode; counters are the sum of these."""
        with self._guard:
            self._refresh()
            return dict(self._ledger.receipts)

    @property
    def outcomes(self) -> dict[str, int]:
        """Episodes by outcome, each outcome apart: the denominators."""
        with self._guard:
            self._refresh()
            return dict(self._ledger.outcomes)

    def audit(self) -> list[tuple[str, int]]:
        """(episode, lesson id) wherever an episode was given a lesson learnt from its own `problem`."""
        with self._guard:
            self._refresh()
            return own_source(self._ledger)

    def near_duplicates(self, threshold: float = 0.95) -> list[tuple[int, int, float]]:
        """(id, later id, cosine) of every pair at `threshold` or above, most similar first: a report, never a merge.

        Similar is not the same: "is allowed" and "is not allowed" are three words of four alike.
        """
        if Request.of(threshold=threshold).threshold is None:
            raise ValueError("threshold: expected a cosine, got None")
        with self._guard:
            self._refresh()
            self._vectors.settle(self._cache)
            return self._vectors.index.pairs(threshold)

    def _unknown(self, lesson_id: object) -> UnknownLesson:
        state = "there never was one"
        if lesson_id in self._ledger.archived:
            state = "it is archived, see `archived`"
        elif isinstance(lesson_id, int) and 0 < lesson_id < self._ledger.next_id:
            state = "it was deleted, or lost with a damaged line"
        return UnknownLesson(f"lesson {lesson_id!r}: expected the id of a lesson that is here, but {state}")


def texts_of(**values: Any) -> dict[str, str]:
    """The values as str; TypeError or ValueError naming the one that is none, or that UTF-8 cannot hold.

    >>> texts_of(spec="a", text="b")
    {'spec': 'a', 'text': 'b'}
    """
    for name, value in values.items():
        if not isinstance(value, str):
            raise TypeError(f"{name}: expected a str, got {type(value).__name__}; convert it first")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError(f"{name}: expected text, got half a character at position {error.start}; "
                             "decode it again, or drop it") from error
    return {name: str(value) for name, value in values.items()}


def receipt_told(ids: Iterable[int], outcome: str, weights: Iterable[float] | None, problem: str) -> Receipt:
    """What `record` was told, or a TypeError or ValueError that names what is wrong.

    >>> receipt_told([3, 1], "success", None, "").weights
    {3: 1.0, 1: 1.0}
    """
    ids = [whole("ids", lesson_id, 0) for lesson_id in ids]
    if len(set(ids)) < len(ids):
        raise ValueError(f"ids: expected each lesson once, got {ids}")
    if outcome not in OUTCOMES:
        raise ValueError(f"outcome: expected one of {', '.join(OUTCOMES)}; got {outcome!r}")
    weights = [1.0] * len(ids) if weights is None else [float(weight) for weight in weights]
    if len(weights) != len(ids) or not all(0 <= weight <= HEAVIEST for weight in weights):  # NaN is neither
        raise ValueError(f"weights: expected {len(ids)} finite numbers from 0 up to {HEAVIEST:,.0f}, one a lesson, "
                         f"got {weights}")
    return Receipt(dict(zip(ids, weights, strict=True)), outcome, problem)
