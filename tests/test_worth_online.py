"""Worth kept episode by episode equals the estimate of the whole stream."""

import re

import numpy as np
import pytest
from worth_loops import KINDS, random_stream

from helpers.worth import (
    DropoutWorth,
    MemoryWorth,
    PerTypeWorth,
    ResidualWorth,
    counters,
    dropout_contrast,
    empirical_bayes,
    per_type,
    residual,
    shrink,
)

SEEN = [kind for kind in KINDS if "withheld" not in kind]


def parts(stream, pieces):
    """Arguments of `update` for single episodes, or for pieces of several."""
    spans = [slice(0, 1), slice(1, 40), slice(40, 60)] if pieces else range(60)
    for span in spans:
        yield (stream.retrieved[:, span], stream.success[:, span],
               None if stream.weights is None else stream.weights[:, span]), span


@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize("kind", SEEN)
def test_online_forms_that_know_the_type(kind, pieces):
    stream = random_stream(0, runs=(2,), length=60, **kind)
    size = {"n": stream.n, "types": stream.types, "shape": (2,)}
    typed, surprising = PerTypeWorth(**size), ResidualWorth(**size)
    for arguments, span in parts(stream, pieces):
        for worth in (typed, surprising):
            worth.update(*arguments, task_type=stream.task_type[:, span])
    np.testing.assert_allclose(typed.value, per_type(stream), rtol=1e-9)
    np.testing.assert_allclose(surprising.value, residual(stream, running=True), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(surprising.evidence, counters(stream).evidence, rtol=1e-9)


@pytest.mark.parametrize("pieces", [True, False])
@pytest.mark.parametrize("kind", SEEN)
def test_dropout_online(kind, pieces):
    stream = random_stream(1, runs=(2,), length=60, withheld=True, **kind)
    worth = DropoutWorth(stream.n, shape=(2,))
    for arguments, span in parts(stream, pieces):
        worth.update(*arguments, kept=stream.kept[:, span])
    np.testing.assert_allclose(worth.value, dropout_contrast(stream), rtol=1e-9, atol=1e-12)


def test_empirical_bayes_online():
    stream = random_stream(2)
    worth = MemoryWorth(stream.n)
    for t in range(stream.episodes):
        worth.update(stream.retrieved[t], stream.success[t])
    np.testing.assert_allclose(shrink(worth), empirical_bayes(stream), rtol=1e-12)


def test_before_the_first_episode():
    assert PerTypeWorth(2, types=3).value.tolist() == [0.5, 0.5]
    assert ResidualWorth(2, types=3).value.tolist() == [0, 0] and DropoutWorth(2).value.tolist() == [0, 0]


def test_a_type_out_of_range_is_refused_and_moves_nothing():
    for worth in (PerTypeWorth(2, types=2), ResidualWorth(2, types=2)):
        with pytest.raises(ValueError, match=re.escape("task_type: expected types from 0 to 1, got 2 to 2 in (1,)")):
            worth.update([0], True, task_type=2)
        assert len(set(worth.value.tolist())) == 1
    with pytest.raises(ValueError, match="at least one task type, got types = 0"):
        PerTypeWorth(2, types=0)
    with pytest.raises(ValueError, match="at least one task type, got types = 0"):
        ResidualWorth(2, types=0)


def test_a_kept_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=re.escape("kept of the shape of retrieved, got (1, 1) and (1, 2)")):
        DropoutWorth(2).update([0, 1], True, kept=[True])
