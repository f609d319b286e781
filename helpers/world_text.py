"""A world of sentences: queries retrieve memories by the cosine of their texts, and some memories know the answer.

Left out: how texts become vectors (`helpers.embeddings`); a matrix of cosines comes in. After experiment 5 of Simsek
2026 (arXiv:2604.12007); sentences, success rates and similarity floor are the course's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from helpers.parameters import number, probability, whole
from helpers.settings import DATA
from helpers.world_draws import World, checked_seeds, draw_kept, draw_luck, generator
from helpers.worth_stream import EMPTY, Stream

TEXT_MEMORIES = DATA / "text_memories.json"
GOLD = ("easy", "specialist", "stale")  # roles of memories that answer the queries of their topic
ROLES = (*GOLD, "hitchhiker", "distractor")


@dataclass(frozen=True)
class TextMemories:
    """Sentences a memory holds and queries that retrieve them.

    names, roles (one of `ROLES`) and texts: one entry a memory. queries and topics: one entry a query; its topic is
    the id of the gold memory that answers it. reworded: a query and the same question in other words.
    """

    names: tuple[str, ...]
    roles: tuple[str, ...]
    texts: tuple[str, ...]
    queries: tuple[str, ...]
    topics: tuple[int, ...]
    reworded: Mapping[str, str]

    def id(self, name: str) -> int:
        """The id (column) of the memory of that name."""
        if name not in self.names:
            raise ValueError(f"expected the name of a memory, one of {', '.join(self.names)}; got {name!r}")
        return self.names.index(name)


def load_text_memories(path: str | Path = TEXT_MEMORIES) -> TextMemories:
    """Read and check a file as described in data/README.md; ValueError names what is wrong.

    >>> texts = load_text_memories()
    >>> len(texts.texts), len(texts.queries)
    (8, 32)
    """
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    memories, queries = content["memories"], content["queries"]
    names = tuple(memory["name"] for memory in memories)
    texts = TextMemories(
        names, tuple(memory["role"] for memory in memories), tuple(memory["text"] for memory in memories),
        tuple(query["text"] for query in queries),
        tuple(names.index(query["topic"]) if query["topic"] in names else -1 for query in queries),
        {entry["query"]: entry["text"] for entry in content.get("reworded", [])})
    return check_text_memories(texts)


def check_text_memories(texts: TextMemories) -> TextMemories:
    """`texts` when every role, text and topic can be used; ValueError otherwise."""
    for what, values in (("names", texts.names), ("texts", texts.texts), ("queries", texts.queries)):
        if len(set(values)) < len(values) or not all(isinstance(value, str) and value.strip() for value in values):
            raise ValueError(f"{what}: expected different texts that are not blank, got {values!r}")
    if unknown := sorted(set(texts.roles) - set(ROLES)):
        raise ValueError(f"roles: expected {', '.join(ROLES)}; got {', '.join(unknown)}")
    if not len(texts.names) == len(texts.roles) == len(texts.texts) or len(texts.queries) != len(texts.topics):
        raise ValueError(f"expected one role and text a memory and one topic a query, got {len(texts.names)} names, "
                         f"{len(texts.roles)} roles, {len(texts.texts)} texts, {len(texts.queries)} queries, "
                         f"{len(texts.topics)} topics")
    gold = [i for i, role in enumerate(texts.roles) if role in GOLD]
    if not texts.queries or not set(texts.topics) <= set(gold):
        bad = next((q for q, t in zip(texts.queries, texts.topics, strict=True) if t not in gold), None)
        raise ValueError(f"topics: expected queries about a memory with the role {', '.join(GOLD)}; got {bad!r} "
                         "about another" if bad else "queries: expected at least one, got none")
    if missing := sorted(set(texts.reworded) - set(texts.queries)):
        raise ValueError(f"reworded: expected one of the queries, got {missing[0]!r}")
    return texts


def retrieve(similarity: ArrayLike, *, k: int = 2, floor: float | None = 0.25) -> np.ndarray:
    """(queries, k) int64: ids of the k most similar memories, best first, ties by id; −1 where none reaches `floor`.

    similarity: (queries, memories) cosines; NaN (a text without a known word) is never retrieved. `None` is no floor.

    >>> retrieve([[0.2, 0.9, 0.5], [0.1, 0.2, 0.3]]).tolist()
    [[1, 2], [2, -1]]
    """
    cosines = np.asarray(similarity, dtype=np.float64)
    if cosines.ndim != 2 or cosines.size == 0 or np.isinf(cosines).any():
        raise ValueError(f"similarity: expected cosines of shape (queries, memories), got shape {cosines.shape}"
                         + (" with infinity" if cosines.ndim == 2 and cosines.size else ""))
    k = whole("k", k, high=cosines.shape[1])
    reached = cosines >= (-np.inf if floor is None else number("floor", floor, low=-1, high=1))  # NaN is not
    order = np.argsort(np.where(reached, -cosines, np.inf), axis=1, kind="stable")[:, :k]  # (queries, k)
    return np.where(np.take_along_axis(reached, order, axis=1), order, EMPTY)


def text(seeds: Sequence[int], similarity: ArrayLike, *, texts: TextMemories | None = None, k: int = 2,
         floor: float | None = 0.25, episodes: int = 3000, change: int = 500, easy: float = 0.97,
         specialist: float = 0.77, stale: float = 0.01, without: float = 0.3, dropout: float = 0.0) -> World:
    """Each episode asks a query: a topic by chance, all alike, then one of its queries; `retrieve` finds memories.

    With the gold memory of the topic among them success has probability `easy`, `specialist` or, after `change`
    episodes and for the role "stale", `stale`; else `without`. Task type is the topic, numbered in order of memory
    ids. utility: what a memory adds to the chance of its own topic at the end, 0 for one without a topic.

    similarity: (queries, memories) in the order of `texts`, by default those of the course. dropout as in `uniform`.

    >>> exact = np.eye(8)[list(load_text_memories().topics)]  # every query like its gold memory, unlike the others
    >>> text([0], exact, episodes=4).chance.max()
    np.float64(0.97)
    """
    seeds, texts = checked_seeds(seeds), load_text_memories() if texts is None else check_text_memories(texts)
    found = _checked_found(similarity, texts, k, floor)  # (queries, k)
    episodes = whole("episodes", episodes)
    late = np.arange(episodes) >= whole("change", change, low=0)  # (episodes,)
    first, last = _success(texts, easy, specialist, stale)  # (memories,) each, before and after the change
    topics, gold = np.unique(texts.topics, return_inverse=True)
    asked = np.stack([_questions(seed, gold, episodes) for seed in seeds])  # (seeds, episodes)
    topic = topics[gold[asked]]  # (seeds, episodes), id of the gold memory
    retrieved = found[asked]  # (seeds, episodes, k)
    kept = draw_kept(seeds, retrieved, dropout)
    answered = ((retrieved == topic[..., None]) & (True if kept is None else kept)).any(axis=2)
    chance = np.where(answered, np.where(late, last[topic], first[topic]), probability("without", without))
    stream = Stream(retrieved, draw_luck(seeds, episodes) < chance, gold[asked], n=len(texts.texts),
                    types=len(topics), kept=kept)
    adds = np.where(np.isin(np.arange(len(last)), topics), last - without, 0.0)
    return World(stream, np.tile(adds, (len(seeds), 1)), chance, seeds)


def _checked_found(similarity: ArrayLike, texts: TextMemories, k: int, floor: float | None) -> np.ndarray:
    shape = (len(texts.queries), len(texts.texts))
    if np.shape(similarity) != shape:
        raise ValueError(f"similarity: expected shape {shape} (queries, memories), got {np.shape(similarity)}; "
                         "embed the queries and the memories of the same `texts`")
    return retrieve(similarity, k=k, floor=floor)


def _success(texts: TextMemories, easy: float, specialist: float, stale: float) -> tuple[np.ndarray, np.ndarray]:
    """Chance of success with each memory on its own topic, before and after the change."""
    easy, specialist, stale = (probability(name, value) for name, value in (
        ("easy", easy), ("specialist", specialist), ("stale", stale)))
    first = np.array([specialist if role == "specialist" else easy for role in texts.roles])
    return first, np.where(np.array(texts.roles) == "stale", stale, first)


def _questions(seed: int, gold: np.ndarray, episodes: int) -> np.ndarray:
    """(episodes,) ids of queries: a topic by chance, all alike, then one of its queries by chance."""
    pools = [np.flatnonzero(gold == topic) for topic in range(gold.max() + 1)]
    sizes = np.array([len(pool) for pool in pools])
    table = np.full((len(pools), sizes.max()), -1)  # (topics, queries of the largest)
    for topic, pool in enumerate(pools):
        table[topic, :len(pool)] = pool
    draws = generator(seed, "task").random((2, episodes))
    topic = (draws[0] * len(pools)).astype(np.int64)  # (episodes,)
    return table[topic, (draws[1] * sizes[topic]).astype(np.int64)]
