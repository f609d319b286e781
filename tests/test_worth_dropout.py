"""Memory dropout: against the loop, by hand, and unbiased where plain worth is not."""

import re

import numpy as np
import pytest
from worth_loops import KINDS, loop_dropout, random_stream

from helpers.worth import MemoryWorth, Stream, contrast, dropout_contrast, dropout_counters, plain, withhold


@pytest.mark.parametrize("kind", KINDS)
def test_the_contrast_is_its_loop(kind):
    stream = random_stream(0, runs=(2,), **kind | {"withheld": True})
    for run in range(2):
        np.testing.assert_allclose(dropout_contrast(stream)[run], loop_dropout(stream.run(run)), rtol=1e-9, atol=1e-12)


def test_by_hand():
    stream = Stream([[0, 1]] * 4, [True, True, False, True], n=3,
                    kept=[[True, True], [True, False], [False, True], [False, False]])
    kept, withheld = dropout_counters(stream)
    assert kept.hits_plus.tolist() == [2, 1, 0] and kept.hits_minus.tolist() == [0, 1, 0]
    assert withheld.hits_plus.tolist() == [1, 2, 0] and withheld.hits_minus.tolist() == [1, 0, 0]
    assert dropout_contrast(stream).tolist() == [0.5, -0.5, 0.0]


def test_weights_and_their_squares():
    stream = Stream([[0]] * 3, [True, True, False], weights=[[3.0], [1.0], [2.0]], n=1, kept=[[1], [0], [0]])
    _, withheld = dropout_counters(stream)
    assert [a.tolist() for a in (withheld.hits_plus, withheld.hits_minus, withheld.squares)] == [[1], [2], [5]]
    assert dropout_contrast(stream) == pytest.approx(2 / 3)


def test_a_hitchhiker_never_apart_is_told_from_the_useful_memory():
    """Both always retrieved together; only memory 0 helps (by .4). The contrast has the standard error it states."""
    rng = np.random.default_rng(1)
    retrieved = np.broadcast_to([0, 1], (400, 1000, 2))
    kept = withhold(retrieved, 0.2, rng=rng)
    stream = Stream(retrieved, rng.random((400, 1000)) < np.where(kept[..., 0], 0.7, 0.3), n=2, kept=kept)
    difference, error = contrast(*dropout_counters(stream))
    for memory, truth in ((0, 0.4), (1, 0.0)):
        spread = difference[:, memory].std()
        assert abs(difference[:, memory].mean() - truth) < 4 * spread / 20
        assert error[:, memory].mean() == pytest.approx(spread, rel=0.1)
    assert (difference[:, 0] > difference[:, 1]).mean() > 0.99
    assert np.abs(plain(stream)[:, 0] - plain(stream)[:, 1]).mean() < 0.2  # plain worth sees less than half of it


def test_the_difficulty_of_tasks_does_not_enter():
    """Memory 0 helps but is used on hard tasks only, 1 does nothing on easy ones: plain worth has them reversed."""
    rng = np.random.default_rng(2)
    hard = rng.random(40_000) < 0.5
    retrieved = np.where(hard, 0, 1)[:, None]
    kept = withhold(retrieved, 0.3, rng=rng)
    rate = np.where(hard, np.where(kept[:, 0], 0.4, 0.1), 0.8)
    stream = Stream(retrieved, rng.random(40_000) < rate, n=2, kept=kept)  # no task type is told
    assert plain(stream)[0] < plain(stream)[1]
    difference, error = contrast(*dropout_counters(stream))
    assert (np.abs(difference - [0.3, 0.0]) < 4 * error).all()


def test_withholding_is_independent_and_as_often_as_asked():
    kept = withhold(np.zeros((5000, 4), int), 0.3, rng=np.random.default_rng(3))
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / 20_000)
    assert np.abs(np.corrcoef(kept.T)[np.triu_indices(4, 1)]).max() < 4 / np.sqrt(5000)
    assert not withhold([[0, 1]], 1.0, rng=np.random.default_rng(0)).any()


def test_nothing_or_everything_withheld_is_no_evidence():
    for kept in ([[True]], [[False]]):
        difference, error = contrast(*dropout_counters(Stream([[0]], [True], n=1, kept=kept)))
        assert difference.tolist() == [0.0] and error.tolist() == [np.inf]


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, np.nan])
def test_withhold_refuses_what_is_no_probability(epsilon):
    with pytest.raises(ValueError, match=re.escape(f"epsilon: expected a probability in [0, 1], got {epsilon}")):
        withhold([[0]], epsilon, rng=np.random.default_rng(0))


def test_refusals():
    with pytest.raises(ValueError, match="which memories were withheld, got kept = None; draw it with withhold"):
        dropout_contrast(random_stream(0))
    with pytest.raises(ValueError, match=re.escape("counters of one shape, got (2,) and (1, 2)")):
        contrast(MemoryWorth(2), MemoryWorth(2, shape=(1,)))
