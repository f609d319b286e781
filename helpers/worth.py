"""Memory Worth: two counters a memory, moved by the outcome of every episode that retrieved it.

This module holds the counters and gathers the public names of `helpers.worth_*`. Left out against its source:
weights learnt from the outcome. Source: B. Simsek, When to Forget: A Memory Governance Primitive, arXiv:2604.12007.
"""

from helpers.worth_stream import EMPTY, Stream, tally

__all__ = ["EMPTY", "Stream", "tally"]
