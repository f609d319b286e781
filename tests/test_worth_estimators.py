"""Every estimator against its loop, by hand, and on streams whose truth is known."""

import dataclasses
import re

import numpy as np
import pytest
from worth_loops import KINDS, LOOPS, random_stream

from helpers.worth import ESTIMATORS, MemoryWorth, Stream, lower_bound, per_type, plain, residual, ridge, shrink
from helpers.worth_estimators import by_type, co_retrievals, episodes_by_type, running_rates, success_rates
from helpers.worth_ranks import spearman


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_is_its_loop(name, kind):
    stream = random_stream(11, runs=(2,), **({"withheld": True} if name == "dropout contrast" else {}) | kind)
    fast = ESTIMATORS[name](stream)
    for run in range(2):
        np.testing.assert_allclose(fast[run], LOOPS[name](stream.run(run)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_running_residual_is_its_loop(kind):
    stream = random_stream(12, runs=(2,), **kind)
    np.testing.assert_allclose(residual(stream, running=True)[1], LOOPS["residual"](stream.run(1), running=True),
                               rtol=1e-9, atol=1e-12)


def test_specialists_of_hard_tasks_by_hand():
    """Memory 0 wins half the hard tasks and 1 loses the rest; 2 wins most easy tasks but fewer than 3."""
    stream = Stream([[0], [1], [0], [1], [2], [3], [2], [3]], [1, 0, 0, 0, 1, 1, 0, 1], [1] * 4 + [0] * 4, n=4)
    assert plain(stream).tolist() == [0.5, 0.0, 0.5, 1.0]
    assert residual(stream).tolist() == [0.25, -0.25, -0.25, 0.25]  # hard tasks succeed 1 in 4, easy ones 3 in 4
    assert per_type(stream).tolist() == [0.5, 0.25, 0.5, 0.75]
    assert success_rates(stream).tolist() == [0.75, 0.25]


def test_types_never_seen():
    stream = Stream([[0], [0]], [True, False], [2, 2], n=1, types=4)
    assert by_type(stream).evidence.tolist() == [[0], [0], [2], [0]]
    assert success_rates(stream).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert [a.tolist() for a in episodes_by_type(stream)] == [[0, 0, 2, 0], [0, 0, 1, 0]]
    assert residual(stream).tolist() == [0.0] and ridge(stream).tolist() == [0.0]


def test_without_types_residual_and_per_type_rank_as_plain():
    stream = dataclasses.replace(random_stream(13), task_type=None)
    np.testing.assert_allclose(per_type(stream), plain(stream))
    np.testing.assert_allclose(residual(stream), plain(stream) - stream.success.mean(), atol=1e-12)


def test_running_rates_go_on_from_what_was_counted():
    stream = Stream([[0], [0]], [True, True], [0, 1], n=1)
    assert running_rates(stream, [2.0, 0.0], [2.0, 0.0]).tolist() == [0.75, 0.5]


def test_running_residual_comes_to_the_residual_at_the_end():
    stream = random_stream(14, length=5000)
    assert np.abs(residual(stream, running=True) - residual(stream)).max() < 0.02


def test_shrinking_follows_the_evidence():
    worth = MemoryWorth.of([80, 8, 0, 20, 2, 5, 6, 50], [20, 2, 0, 80, 8, 5, 4, 50])
    shrunk, mean = shrink(worth), 171 / 340
    assert shrunk[2] == pytest.approx(mean)
    assert mean < shrunk[1] < shrunk[0] < 0.8 and 0.2 < shrunk[3] < shrunk[4] < mean


def test_shrinking_recovers_the_prior():
    """On counters drawn from Beta(6, 4): the posterior mean (hits⁺ + 6) / (evidence + 10), and a smaller error."""
    rng = np.random.default_rng(15)
    rate, trials = rng.beta(6, 4, 4000), rng.integers(0, 40, 4000)
    plus = rng.binomial(trials, rate)
    worth = MemoryWorth.of(plus, trials - plus)
    np.testing.assert_allclose(shrink(worth), (plus + 6) / (trials + 10), atol=0.02)
    assert ((shrink(worth) - rate) ** 2).mean() < 0.5 * ((worth.value - rate) ** 2).mean()


def test_shrinking_what_spreads_like_chance_or_less():
    assert shrink(MemoryWorth.of([5, 5, 5], [5, 5, 5])).tolist() == [0.5, 0.5, 0.5]
    assert shrink(MemoryWorth.of([5, 1], [0, 0])).tolist() == [1.0, 1.0]
    assert shrink(MemoryWorth.of([3], [1])).tolist() == [0.75]
    assert shrink(MemoryWorth(3, shape=(2,))).tolist() == [[0.5] * 3] * 2


def test_shrinking_never_goes_beyond_one_retrieval_of_doubt():
    shrunk = shrink(MemoryWorth.of([1000, 0, 1], [0, 1000, 0]))
    np.testing.assert_allclose(shrunk, [0.9995, 0.0005, 0.75], atol=1e-3)


def test_the_lower_bound_forgets_the_rarely_used_and_empirical_bayes_does_not():
    """Few retrievals and good outcomes against many and bad: only the lower bound puts the first under the second."""
    worth = MemoryWorth.of([3, 45, 60, 40, 50], [0, 55, 40, 60, 50])
    assert worth.interval()[0][0] < worth.interval()[0][2]
    assert shrink(worth)[0] > shrink(worth)[1]
    stream = Stream([[0], [1]], [True, True], n=3)
    np.testing.assert_allclose(lower_bound(stream, level=0.9), MemoryWorth.of([1, 1, 0], [0, 0, 0]).interval(0.9)[0])


def test_ridge_credits_companions_with_their_own_part():
    """Memory 0 always helps, 1 never; 1 travels with 0 nine times in ten."""
    rng = np.random.default_rng(16)
    together = rng.random(4000) < 0.9
    retrieved = np.where(together[:, None], [0, 1], np.where(rng.random(4000) < 0.5, [[0], [-1]], [[1], [-1]]).T)
    has_0 = (retrieved == 0).any(axis=-1)
    stream = Stream(retrieved, rng.random(4000) < np.where(has_0, 0.8, 0.2), n=2)
    coefficients = ridge(stream)
    assert plain(stream)[1] > 0.7 and coefficients[0] - coefficients[1] > 0.3


def test_a_large_penalty_leaves_the_order_of_the_sums():
    stream = random_stream(17)
    coefficients = ridge(stream, penalty=1e9)
    excess = residual(stream) * by_type(stream).evidence.sum(axis=-2)
    np.testing.assert_allclose(coefficients * 1e9, excess, rtol=1e-4, atol=1e-4)
    assert spearman(coefficients, excess) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_co_retrievals_are_the_product_of_the_table(kind):
    stream = random_stream(18, runs=(2,), **kind)
    used = stream.retrieved >= 0 if stream.used is None else stream.used
    table = ((stream.retrieved[..., None] == np.arange(stream.n)) & used[..., None]).any(axis=-2).astype(float)
    assert (co_retrievals(stream) == table.swapaxes(-1, -2) @ table).all()


@pytest.mark.parametrize("penalty", [0, -1.0, np.nan, np.inf])
def test_ridge_refuses_a_penalty_that_is_none(penalty):
    with pytest.raises(ValueError, match=re.escape(f"finite penalty above 0, got {penalty}")):
        ridge(random_stream(0), penalty=penalty)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_is_changed_in_the_stream(name):
    stream = random_stream(19, weighted=True, withheld=True, empty=0.1)
    arrays = {key: getattr(stream, key).copy() for key in ("retrieved", "success", "task_type", "weights", "kept")}
    ESTIMATORS[name](stream)
    assert all((getattr(stream, key) == array).all() for key, array in arrays.items())
