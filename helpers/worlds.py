"""The synthetic worlds in which Memory Worth is tried out: their utilities are known, so estimates can be judged.

Gathers the public names of the modules `helpers.world_*`; nothing else is here. Every world takes seeds, sizes and
chances, and returns a `World` whose first axis is the seed; a seed's result does not depend on the others.
"""

from helpers.world_draws import World, sample_distinct, sample_weighted
from helpers.world_drift import drift
from helpers.world_feedback import feedback
from helpers.world_hitchhiker import USEFUL, USELESS, hitchhiker
from helpers.world_text import TEXT_MEMORIES, TextMemories, load_text_memories, retrieve, text
from helpers.world_uniform import difficulty, uniform

__all__ = [
    "TEXT_MEMORIES",
    "USEFUL",
    "USELESS",
    "TextMemories",
    "World",
    "difficulty",
    "drift",
    "feedback",
    "hitchhiker",
    "load_text_memories",
    "retrieve",
    "sample_distinct",
    "sample_weighted",
    "text",
    "uniform",
]
