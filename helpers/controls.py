"""Memories that answer like a memory and choose like none: the controls a retrieved lesson has to beat.

Left out: placebo lessons without any content, and lessons chosen by another model.
"""

import zlib
from dataclasses import dataclass

import numpy as np

from helpers.memory import Hit, Hits, VectorMemory


@dataclass(frozen=True)
class RandomLesson:
    """`memory`, but a search returns lessons of other problems drawn by lot, whatever was asked.

    One `draw` gives one question the same lessons again, on every machine. The score of a hit is NaN: nothing was
    compared.
    """

    memory: VectorMemory
    draw: int = 0

    def search(self, query: str, k: int = 3, *, exclude: str = "") -> Hits:
        others = [lesson for lesson in self.memory if lesson.source != exclude]
        rng = np.random.default_rng([self.draw, zlib.crc32(query.encode())])
        chosen = rng.choice(len(others), size=min(k, len(others)), replace=False)
        return Hits([Hit(others[i], float("nan")) for i in chosen], reason="there is no lesson of another problem")


@dataclass(frozen=True)
class WrongFamily:
    """`memory`, but a search passes over the family of the problem at hand: similar words, another house rule.

    `families` maps problems to their families; KeyError for one it does not know.
    """

    memory: VectorMemory
    families: dict[str, str]

    def search(self, query: str, k: int = 3, *, exclude: str = "") -> Hits:
        family = self.families[exclude]
        ranked = self.memory.search(query, len(self.memory), exclude=exclude)
        hits = [hit for hit in ranked if hit.lesson.family != family][:k]
        return Hits(hits, reason=ranked.reason or "no lesson of another family is similar")
