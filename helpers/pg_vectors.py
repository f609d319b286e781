"""The embedder of one handle on a memory that many share: its vectors, and its vocabulary kept equal to the server's.

Left out: where vectors are stored and searched. An embedder whose vocabulary grows gives every word a column in the
order in which words first came. Two agents that meet new words at once would give one column to two words; so the
table `word` holds the order, and whoever adds a word holds the memory alone while doing so.
"""

from collections.abc import Sequence

import numpy as np
import psycopg

from helpers.lesson_vectors import EmbeddingError, LessonVectors
from helpers.pg_rows import given, stored
from helpers.pg_schema import SPARSE_WIDTH, About
from helpers.unit_vectors import Embedder


class SharedVectors:
    """An embedder with the vocabulary of a memory on a server, when it has one that grows."""

    def __init__(self, embedder: Embedder) -> None:
        self._vectors = LessonVectors(embedder)
        self.grows, self.fingerprint = self._vectors.grows, self._vectors.fingerprint
        if self.grows and not (hasattr(embedder, "state") and hasattr(embedder, "from_state")):
            raise TypeError(f"embedder: expected state() and from_state() beside partial_fit(), got none in "
                            f"{type(embedder).__name__}; the words stand on the server, in their order")
        self._generation: int | None = None  # of the vocabulary that is here; None: not known to be the server's

    @property
    def embedder(self) -> Embedder:
        """The embedder in use; when its vocabulary grows, this handle's own copy."""
        return self._vectors.embedder

    @property
    def words(self) -> int:
        """How many words the vocabulary has, as far as is known here; 0 without one."""
        return len(self._words())

    def embed(self, texts: Sequence[str], names: Sequence[str]) -> np.ndarray:
        """(n, d) float32 rows of length 1 or 0; EmbeddingError naming the text that got something else."""
        return self._vectors.embed(texts, names)

    def check_width(self, rows: np.ndarray, names: Sequence[str], width: int | None) -> None:
        """EmbeddingError when (n, d) rows are not of the width of the vectors before; None: there are none."""
        if not self.grows and width is not None and rows.shape[1] != width:
            raise EmbeddingError(f"{names[0]}: expected {width} numbers as for the lessons before, got "
                                 f"{rows.shape[1]}; use the embedder the memory was made with")

    def follow(self, cursor: psycopg.Cursor, now: About) -> None:
        """Take in the words that others have added."""
        if not self.grows:
            return
        if now.generation != self._generation:
            self._vectors.restart()
        words = self._words()
        new = cursor.execute("SELECT word FROM word WHERE place >= %s ORDER BY place", [len(words)]).fetchall()
        if new:
            words += [given(word) for word, in new]
            state = {**self.embedder.state(), "vocabulary": words}
            self._vectors.embedder = type(self.embedder).from_state(state)
        self._generation = now.generation

    def learn(self, cursor: psycopg.Cursor, texts: Sequence[str]) -> None:
        """Add the new words of these texts, here and on the server; after `follow`, with the memory held alone.

        They are taken as unknown, and asked for again, unless `kept` is called when the server has committed.
        """
        if not self.grows:
            return
        known, self._generation = self.words, None
        for text in texts:
            self._vectors.learn(text)
        words = self._words()
        if len(words) > SPARSE_WIDTH:
            raise EmbeddingError(f"expected a vocabulary of at most {SPARSE_WIDTH:,} words, got more; use an embedder "
                                 "whose vectors do not grow")
        with cursor.copy("COPY word (place, word) FROM STDIN") as copy:
            for place, word in enumerate(words[known:], known):
                copy.write_row((place, stored(word)))

    def kept(self, generation: int) -> None:
        """What was learnt is on the server."""
        self._generation = generation

    def begin_anew(self, cursor: psycopg.Cursor) -> None:
        """A vocabulary without words, here and on the server."""
        cursor.execute("DELETE FROM word")
        self._vectors.restart()
        self._generation = None

    def _words(self) -> list[str]:
        return list(self.embedder.state()["vocabulary"]) if self.grows else []
