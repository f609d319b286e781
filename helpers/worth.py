"""Memory Worth: two counters a memory, moved by the outcome of every episode that retrieved it.

This module gathers the public names of `helpers.worth_*` and holds no code of its own. Source: B. Simsek, When to
Forget: A Memory Governance Primitive, arXiv:2604.12007 (2026).
"""

from collections.abc import Callable

import numpy as np

from helpers.worth_counters import MemoryWorth, counters
from helpers.worth_drift import CusumWorth, cusum_reset, discounted
from helpers.worth_dropout import contrast, dropout_contrast, dropout_counters, withhold
from helpers.worth_estimators import (
    by_type,
    empirical_bayes,
    lower_bound,
    per_type,
    plain,
    residual,
    ridge,
    shrink,
    success_rates,
)
from helpers.worth_history import counters_at, cusum_series, discounted_series, lag, plain_series, worth_at
from helpers.worth_online import DropoutWorth, PerTypeWorth, ResidualWorth
from helpers.worth_pairs import PairTest, exclusive_test, naive_test, share_apart
from helpers.worth_policies import cut, cut_relative, rank_by_worth, rerank
from helpers.worth_ranks import spearman
from helpers.worth_stream import EMPTY, Stream
from helpers.worth_tally import tally

ESTIMATORS: dict[str, Callable[..., np.ndarray]] = {
    "plain": plain, "per type": per_type, "residual": residual, "empirical Bayes": empirical_bayes,
    "discounted": discounted, "CUSUM with reset": cusum_reset, "ridge": ridge, "dropout contrast": dropout_contrast}

__all__ = [
    "EMPTY", "ESTIMATORS", "CusumWorth", "DropoutWorth", "MemoryWorth", "PairTest", "PerTypeWorth", "ResidualWorth",
    "Stream", "by_type", "contrast", "counters", "counters_at", "cusum_reset", "cusum_series", "cut", "cut_relative",
    "discounted", "discounted_series", "dropout_contrast", "dropout_counters", "empirical_bayes", "exclusive_test",
    "lag", "lower_bound", "naive_test", "per_type", "plain", "plain_series", "rank_by_worth", "rerank", "residual",
    "ridge", "share_apart", "shrink", "spearman", "success_rates", "tally", "withhold", "worth_at"]
