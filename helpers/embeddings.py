"""Turn texts into unit vectors by counting their words: a bag of words and its TF-IDF weighting.

Left out: word order, meaning, stemming, spelling, and sparse matrices; a matrix of n texts by d words is dense.
`MiniLM` and `OpenAIEmbedder` follow the same protocol; they live in modules of their own.
"""

import hashlib
import importlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from helpers.tokenise import ENGLISH_STOP_WORDS, NEGATIONS, TOKENISER_VERSION, tokens
from helpers.unit_vectors import Embedder, check_texts, unit_rows

if TYPE_CHECKING:
    from helpers.neural_embeddings import MiniLM
    from helpers.openai_embedder import OpenAIEmbedder

__all__ = ["ENGLISH_STOP_WORDS", "NEGATIONS", "BagOfWords", "Embedder", "MiniLM", "OpenAIEmbedder",
           "TfidfBagOfWords", "check_texts", "tokens", "unit_rows"]

_ELSEWHERE = {"MiniLM": "helpers.neural_embeddings", "OpenAIEmbedder": "helpers.openai_embedder"}


class BagOfWords:
    """Text to vector by counting: one column a known word, entry = how often it occurs, row scaled to length 1.

    `vocabulary` maps each word to its column, in order of first appearance. It only ever grows: `partial_fit`
    appends columns, so a vector computed earlier becomes the present one by padding it with zeros, exactly,
    when its text was passed to `partial_fit` before `embed`. Not safe to grow from two threads at once.

    >>> bow = BagOfWords().fit(["the list", "the empty list"])
    >>> bow.vocabulary
    {'the': 0, 'list': 1, 'empty': 2}
    >>> bow.embed(["empty, empty", "unknown"]).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def __init__(self, *, stop_words: Iterable[str] = ()) -> None:
        self.stop_words = _checked_stop_words(stop_words)
        self.vocabulary: dict[str, int] = {}

    def partial_fit(self, texts: Iterable[str]) -> Self:
        """Append the words not seen before, in order of appearance; no existing column moves."""
        for text in check_texts(texts):
            for word in tokens(text):
                if word not in self.vocabulary and word not in self.stop_words:
                    self.vocabulary[word] = len(self.vocabulary)
        return self

    def fit(self, texts: Iterable[str]) -> Self:
        """Learn the vocabulary of exactly these texts; ValueError when another one is there already.

        Starting afresh would move columns under vectors computed earlier, so that is left to a new object.
        """
        fresh = type(self)(stop_words=self.stop_words).partial_fit(texts).vocabulary
        if self.vocabulary and list(self.vocabulary) != list(fresh):
            raise ValueError(f"fit: expected no vocabulary or the same one, got {len(self.vocabulary)} words already; "
                             "grow it by partial_fit(texts), or fit a new BagOfWords()")
        self.vocabulary = fresh
        return self

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32, d = len(vocabulary); words without a column are ignored, none known is a zero row."""
        return unit_rows(_count(texts, self.vocabulary))

    @property
    def fingerprint(self) -> str:
        """The configuration (class, tokeniser, stop words), which stays the same while the vocabulary grows."""
        return f"BagOfWords(tokens={TOKENISER_VERSION}, stop_words={_digest(sorted(self.stop_words))})"

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs, ready for JSON: fingerprint, stop words, words in column order."""
        return {"fingerprint": self.fingerprint, "stop_words": sorted(self.stop_words),
                "vocabulary": list(self.vocabulary)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The embedder that `state()` described; ValueError when this version cannot give the same vectors."""
        embedder = cls(stop_words=state["stop_words"])
        embedder.vocabulary = {word: column for column, word in enumerate(_unique_words(state["vocabulary"]))}
        if embedder.fingerprint != state["fingerprint"]:
            raise ValueError(f"stored embedder: expected {embedder.fingerprint}, got {state['fingerprint']}; "
                             "make a new BagOfWords and embed the texts again")
        return embedder


class TfidfBagOfWords:
    """The bag of words with each count multiplied by ln((1 + n) / (1 + df)) + 1, then scaled to length 1.

    n is the number of fitted texts and df how many of them hold the word (Spärck Jones 1972, smoothed as
    scikit-learn's TfidfVectorizer does by default). One more text would change every weight and so every
    vector computed earlier: the weights are frozen by `fit`, and the fingerprint covers them.

    >>> tfidf = TfidfBagOfWords().fit(["the list", "the empty list"])
    >>> dict(zip(tfidf.vocabulary, tfidf.idf.round(3).tolist()))
    {'the': 1.0, 'list': 1.0, 'empty': 1.405}
    """

    def __init__(self, *, stop_words: Iterable[str] = ()) -> None:
        self.stop_words = _checked_stop_words(stop_words)
        self.vocabulary: dict[str, int] = {}
        self.document_frequency: list[int] = []
        self.n_documents = 0  # 0 means not fitted

    def fit(self, texts: Iterable[str]) -> Self:
        """Learn vocabulary and weights from n >= 1 texts; ValueError for none, or when fitted on others already."""
        texts = check_texts(texts)
        if not texts:
            raise ValueError("fit: expected at least one text, got none; the weights are shares of the texts")
        vocabulary = BagOfWords(stop_words=self.stop_words).partial_fit(texts).vocabulary
        frequency = (_count(texts, vocabulary) > 0).sum(axis=0).tolist()  # (d,)
        fitted = (len(texts), list(vocabulary), frequency)
        if self.n_documents and fitted != (self.n_documents, list(self.vocabulary), self.document_frequency):
            raise ValueError("fit: expected an unfitted TfidfBagOfWords or the same texts; its weights are frozen, "
                             "so fit a new TfidfBagOfWords()")
        self.vocabulary, self.document_frequency, self.n_documents = vocabulary, frequency, len(texts)
        return self

    @property
    def idf(self) -> np.ndarray:
        """(d,) float64: the weight of each column; ValueError before `fit`."""
        self._require_fit()
        return np.array([math.log((1 + self.n_documents) / (1 + df)) + 1 for df in self.document_frequency])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32; words without a column are ignored, none known is a zero row; ValueError before `fit`."""
        return unit_rows(_count(texts, self.vocabulary) * self.idf)

    @property
    def fingerprint(self) -> str:
        """Configuration with a digest of vocabulary, document frequencies and n; ValueError before `fit`."""
        self._require_fit()
        fitted = _digest([self.n_documents, *self.vocabulary, *self.document_frequency])
        return (f"TfidfBagOfWords(tokens={TOKENISER_VERSION}, stop_words={_digest(sorted(self.stop_words))}, "
                f"fitted={fitted})")

    def state(self) -> dict[str, Any]:
        """All that `from_state` needs, ready for JSON."""
        return {"fingerprint": self.fingerprint, "stop_words": sorted(self.stop_words),
                "vocabulary": list(self.vocabulary), "document_frequency": list(self.document_frequency),
                "n_documents": self.n_documents}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The embedder that `state()` described; ValueError when this version cannot give the same vectors."""
        embedder = cls(stop_words=state["stop_words"])
        embedder.vocabulary = {word: column for column, word in enumerate(_unique_words(state["vocabulary"]))}
        embedder.document_frequency = list(state["document_frequency"])
        embedder.n_documents = state["n_documents"]
        if embedder.fingerprint != state["fingerprint"]:
            raise ValueError(f"stored embedder: expected {embedder.fingerprint}, got {state['fingerprint']}; "
                             "fit a new TfidfBagOfWords and embed the texts again")
        return embedder

    def _require_fit(self) -> None:
        if not self.n_documents:
            raise ValueError("TfidfBagOfWords: expected fit(texts) first, got no fitted texts; call fit(texts)")


def _count(texts: Iterable[str], vocabulary: Mapping[str, int]) -> np.ndarray:
    """(n, d): how often each known word occurs in each text."""
    texts = check_texts(texts)
    counts = np.zeros((len(texts), len(vocabulary)))
    for row, text in enumerate(texts):
        for word in tokens(text):
            if word in vocabulary:
                counts[row, vocabulary[word]] += 1
    return counts


def _checked_stop_words(stop_words: Iterable[str]) -> frozenset[str]:
    words = frozenset(word for entry in check_texts(stop_words) for word in tokens(entry))
    if refused := sorted(words & NEGATIONS):
        raise ValueError(f"stop_words: expected no negation, got {', '.join(refused)}; take them out, or "
                         "'is allowed' and 'is not allowed' become one text")
    return words


def _unique_words(words: Sequence[str]) -> list[str]:
    words = check_texts(words)
    if len(set(words)) < len(words):
        raise ValueError("stored vocabulary: expected each word once, got one twice; it is damaged, embed again")
    return words


def _digest(values: Sequence[object]) -> str:
    """'none' for an empty sequence, else the first 16 hexadecimal digits of its SHA-256."""
    return hashlib.sha256("\n".join(map(str, values)).encode()).hexdigest()[:16] if values else "none"


def __getattr__(name: str) -> Any:
    # Looked up late: those modules import this one, and not every reader needs what they import.
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
