"""The two counters: what moves them, the exact invariants, intervals, and the four classes."""

import dataclasses
import re

import numpy as np
import pytest
from scipy.stats import beta, binomtest
from worth_loops import KINDS, loop_counts, loop_discounted, random_stream

import helpers.worth
from helpers.worth import EMPTY, ESTIMATORS, MemoryWorth, Stream, counters, per_type, plain, withhold


def test_counters_by_hand():
    worth = MemoryWorth(3)
    assert worth.value.tolist() == [0.5, 0.5, 0.5] and worth.evidence.tolist() == [0, 0, 0]
    worth.update([0, 1], True)
    worth.update([1], False)
    worth.update([0, EMPTY], True)
    assert worth.hits_plus.tolist() == [2, 1, 0] and worth.hits_minus.tolist() == [0, 1, 0]
    assert worth.value.tolist() == [1.0, 0.5, 0.5]


def test_weights_by_hand():
    worth = MemoryWorth(2)
    worth.update([[0, 1], [0, 1]], [True, False], [[0.5, 2.0], [1.5, 0.0]])
    assert worth.hits_plus.tolist() == [0.5, 2.0] and worth.hits_minus.tolist() == [1.5, 0.0]
    assert worth.squares.tolist() == [0.25 + 2.25, 4.0] and worth.value.tolist() == [0.25, 1.0]
    assert worth.effective.tolist() == [4 / 2.5, 1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_counters_of_a_stream_are_those_of_the_loop(kind):
    stream = random_stream(0, runs=(2, 2), **kind)
    worth = counters(stream)
    for a, b in np.ndindex(2, 2):
        plus, minus = loop_counts(stream.run(a).run(b))
        np.testing.assert_allclose(worth.hits_plus[a, b], plus, rtol=1e-12)
        np.testing.assert_allclose(worth.hits_minus[a, b], minus, rtol=1e-12)


@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "withheld" not in kind])
def test_episode_by_episode_in_pieces_and_at_once_agree(kind, discount):
    stream = random_stream(1, runs=(3,), **kind)
    whole, pieces, online = counters(stream, discount=discount), *(MemoryWorth(stream.n, shape=(3,), discount=discount)
                                                                 for _ in range(2))
    for part in (slice(0, 50), slice(50, 51), slice(51, 200)):
        weights = None if stream.weights is None else stream.weights[:, part]
        pieces.update(stream.retrieved[:, part], stream.success[:, part], weights)
    for t in range(stream.episodes):
        weights = None if stream.weights is None else stream.weights[:, t]
        online.update(stream.retrieved[:, t], stream.success[:, t], weights)
    for other in (pieces, online):
        for name in ("hits_plus", "hits_minus", "squares"):
            np.testing.assert_allclose(getattr(other, name), getattr(whole, name), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(whole.value[2], loop_discounted(stream.run(2), discount), rtol=1e-10)


def test_hits_add_up_to_the_number_of_slots():
    stream = random_stream(2, runs=(4,), length=300, k=5)
    worth = counters(stream)
    assert ((worth.hits_plus + worth.hits_minus).sum(axis=-1) == 300 * 5).all()
    assert (worth.squares == worth.evidence).all() and (worth.effective == worth.evidence).all()


def test_oracle_weights_equal_uniform_ones():
    """A weight that depends on the memory alone stands above and below the fraction line."""
    stream = random_stream(3, runs=(4,), n=12)
    for oracle, exact in ((2.0 ** np.arange(-6, 6), True), (np.random.default_rng(0).random(12), False)):
        weighed = counters(dataclasses.replace(stream, weights=oracle[stream.retrieved]))
        if exact:  # powers of two do not round
            assert (weighed.value == plain(stream)).all() and (weighed.effective == counters(stream).evidence).all()
        np.testing.assert_allclose(weighed.value, plain(stream), rtol=1e-12)
        np.testing.assert_allclose(weighed.effective, counters(stream).evidence, rtol=1e-12)


def test_weights_shared_among_companions_are_not_uniform_ones():
    stream = random_stream(3, n=12)
    shared = stream.retrieved / stream.retrieved.sum(axis=-1, keepdims=True)
    assert not np.allclose(plain(dataclasses.replace(stream, weights=shared)), plain(stream), atol=0.01)


def test_weight_zero_is_no_evidence():
    worth = counters(Stream([[0]], [True], weights=[[0.0]], n=1))
    assert worth.value.tolist() == [0.5] and worth.effective.tolist() == [0.0]


def test_always_together_means_equal_worth():
    stream = random_stream(4, runs=(3,), n=10, k=2)
    pair = np.where(stream.retrieved[..., :1] == 0, [0, 10], [EMPTY, EMPTY])  # 10 comes exactly when 0 does
    others = np.where(stream.retrieved == 0, EMPTY, stream.retrieved)
    together = dataclasses.replace(stream, retrieved=np.concatenate([others, pair], axis=-1), n=11)
    assert 5 < counters(together).evidence[0, 0] < 100
    for name, estimator in ESTIMATORS.items():
        if name not in ("dropout contrast", "ridge"):
            values = estimator(together)
            assert (values[..., 0] == values[..., 10]).all(), name
    ridge = ESTIMATORS["ridge"](together)
    np.testing.assert_allclose(ridge[..., 0], ridge[..., 10], rtol=1e-9)


def test_no_evidence_is_the_neutral_value_of_every_estimator():
    stream = Stream([[0], [1], [0], [1]], [True, False, False, True], [0, 0, 1, 1], n=3,
                    kept=[[1], [0], [1], [1]])
    neutral = {"plain": 0.5, "per type": 0.5, "residual": 0.0, "discounted": 0.5, "CUSUM with reset": 0.5, "ridge": 0.0,
               "dropout contrast": 0.0}
    for name, value in neutral.items():
        assert ESTIMATORS[name](stream)[2] == value, name
    assert ESTIMATORS["empirical Bayes"](stream)[2] == pytest.approx(2 / 3)  # the mean of the others: 2 of 3 kept


def test_evidence_weighted_per_type_worth_is_plain_worth():
    for kind in KINDS:
        stream = random_stream(5, runs=(2,), **kind)
        np.testing.assert_allclose(per_type(stream, by_evidence=True), plain(stream), rtol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_run_does_not_depend_on_the_runs_beside_it(name):
    stream = random_stream(6, runs=(4,), weighted=True, withheld=True, empty=0.1)
    together = ESTIMATORS[name](stream)
    for run in range(4):
        np.testing.assert_allclose(ESTIMATORS[name](stream.run(run)), together[run], rtol=1e-9, atol=1e-12)
    assert together.shape == (4, 12)


def test_worth_converges_to_the_success_rate_given_the_memory():
    """Theorem 4.1 of the source, for memories whose rate is known: within 4 standard errors."""
    rng = np.random.default_rng(7)
    retrieved = rng.integers(5, size=(8, 4000, 1))
    rate = np.linspace(0.1, 0.9, 5)
    worth = counters(Stream(retrieved, rng.random((8, 4000)) < rate[retrieved[..., 0]], n=5))
    assert (np.abs(worth.value - rate) < 4 * np.sqrt(rate * (1 - rate) / worth.evidence)).all()


@pytest.mark.parametrize("plus, minus", [(0, 10), (3, 7), (10, 0), (450, 550)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_intervals_are_those_of_scipy(plus, minus, level):
    worth = MemoryWorth.of([plus], [minus])
    wilson = binomtest(plus, plus + minus).proportion_ci(level, method="wilson")
    np.testing.assert_allclose(np.ravel(worth.interval(level)), [wilson.low, wilson.high], atol=1e-9)
    posterior = beta(plus + 1, minus + 1)
    np.testing.assert_allclose(np.ravel(worth.interval(level, "beta")), posterior.interval(level), rtol=1e-9)


def test_intervals_without_evidence_and_with_weights():
    low, high = MemoryWorth(1, shape=(2,)).interval()
    assert low.tolist() == [[0.0], [0.0]] and high.tolist() == [[1.0], [1.0]]
    low, high = MemoryWorth(1).interval(0.9, method="beta")
    assert (low[0], high[0]) == pytest.approx((0.05, 0.95))
    heavy = MemoryWorth(1)
    heavy.update([[0]] * 10, [True] * 3 + [False] * 7, [[100.0]] * 10)
    np.testing.assert_allclose(heavy.interval(), MemoryWorth.of([3], [7]).interval())  # ten retrievals, not a thousand


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(8)
    plus = rng.binomial(60, 0.3, size=(4000, 1))
    for method in ("wilson", "beta"):
        low, high = MemoryWorth.of(plus, 60 - plus).interval(0.9, method)
        assert abs(((low <= 0.3) & (high >= 0.3)).mean() - 0.9) < 0.03, method  # the count is discrete: no closer


def test_the_discounted_interval_is_as_wide_as_the_theory_says():
    """Variance of a discounted rate: p q (1 − γ) / (1 + γ), so (1 + γ) / (1 − γ) effective retrievals."""
    worth = MemoryWorth(1, discount=0.9)
    worth.update([[0]] * 400, [True, False] * 200)
    assert worth.effective[0] == pytest.approx(1.9 / 0.1)


def test_interval_refuses():
    with pytest.raises(ValueError, match="level between 0 and 1, got 95"):
        MemoryWorth(1).interval(95)
    with pytest.raises(ValueError, match="method: expected one of wilson, beta; got 'normal'"):
        MemoryWorth(1).interval(method="normal")


def test_classes_at_their_edges():
    worth = MemoryWorth.of([7, 3, 6, 9, 1, 0], [3, 7, 4, 0, 9, 0])
    assert worth.classify(0.3, 0.7, 10).tolist() == ["high", "low", "mixed", "uncertain", "low", "uncertain"]
    assert worth.classify(0.3, 0.7, 9).tolist()[3] == "high"
    assert worth.classify(0.3, 0.7, 0).tolist()[5] == "mixed"


def test_classes_relative_to_a_base_rate_of_each_set():
    worth = MemoryWorth.of([[58, 42], [58, 42]], [[42, 58], [42, 58]])
    assert worth.classify().tolist() == [["mixed", "mixed"]] * 2  # fixed thresholds say nothing where k memories share
    relative = worth.classify(-0.05, 0.05, relative_to=[0.5, 0.6])
    assert relative.tolist() == [["high", "low"], ["mixed", "low"]]
    assert worth.classify([0.4, 0.5], [0.55, 0.6]).tolist() == [["high", "mixed"], ["mixed", "low"]]


@pytest.mark.parametrize("arguments, message", [
    (((0.7, 0.3)), "expected low < high, got 0.7 and 0.3"),
    ((0.5, np.nan), "expected low < high"),
])
def test_thresholds_that_do_not_rise_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MemoryWorth(1).classify(*arguments)


def test_relative_thresholds_are_distances_from_a_rate():
    with pytest.raises(ValueError, match="expected low below 0 and high above, to be added to the base rate"):
        MemoryWorth(1).classify(relative_to=0.5)
    with pytest.raises(ValueError, match=re.escape("relative_to: expected base rates in [0, 1], got 1.5")):
        MemoryWorth(1).classify(-0.1, 0.1, relative_to=1.5)


def test_classes_follow_effective_evidence():
    heavy = MemoryWorth(1)
    heavy.update([[0]] * 3, [True] * 3, [[100.0]] * 3)
    assert heavy.classify().tolist() == ["uncertain"]


@pytest.mark.parametrize("make, message", [
    (lambda: MemoryWorth(0), "at least one memory, got n = 0"),
    (lambda: MemoryWorth(1, discount=0.0), "discount above 0 and at most 1, got 0.0"),
    (lambda: MemoryWorth(1, discount=1.01), "discount above 0 and at most 1, got 1.01"),
    (lambda: MemoryWorth(1, discount=float("nan")), "discount above 0 and at most 1, got nan"),
    (lambda: MemoryWorth.of([1, 2], [1]), "counts (..., n) of one shape, got (2,) and (1,)"),
    (lambda: MemoryWorth.of([1], [1], [1, 1]), "got (1,) and (1,) with squares (2,)"),
    (lambda: MemoryWorth.of(1, 1), "counts (..., n) of one shape, got () and ()"),
    (lambda: MemoryWorth.of([-1, 0], [1, 0]), "finite counts from 0 up, got -1.0 to 0.0 and 0.0 to 1.0 in (2,)"),
    (lambda: MemoryWorth.of([np.nan], [1]), "finite counts from 0 up"),
    (lambda: MemoryWorth(3).update([0, 3], True), "expected ids from 0 to 2, or -1 for an empty slot, got 0 to 3"),
    (lambda: MemoryWorth(3).update([0, 1], 0.5), "success: expected True and False"),
    (lambda: MemoryWorth(3).update([[0, 1]], [True, False]), "got (1, 2) and (2,)"),
    (lambda: MemoryWorth(3, shape=(2,)).update([[[0]]], [[True]]), "expected success of shape (2,) or (2, 'episodes')"),
    (lambda: MemoryWorth(3).update([0], True, [-1.0]), "weights: expected finite numbers from 0 up, got -1.0"),
    (lambda: MemoryWorth(3).add(random_stream(0)), "a stream of 3 memories with leading axes (), got 12 with ()"),
    (lambda: MemoryWorth(3).merge(MemoryWorth(2)), "expected counters of shape (3,), got (2,)"),
    (lambda: MemoryWorth(3).merge(MemoryWorth(3, discount=0.5)), "got discounts 1.0 and 0.5"),
])
def test_counters_refuse(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_refused_update_moves_nothing():
    worth = MemoryWorth(3)
    with pytest.raises(ValueError, match="expected ids"):
        worth.update([[0], [3]], [True, True])
    assert worth.evidence.tolist() == [0, 0, 0]


def test_given_counts_are_copied():
    plus = np.array([1.0])
    worth = MemoryWorth.of(plus, [0])
    worth.update([0], True)
    assert plus.tolist() == [1.0] and worth.hits_plus.tolist() == [2.0]


def test_the_gathering_module_offers_what_it_lists():
    assert all(hasattr(helpers.worth, name) for name in helpers.worth.__all__)
    assert sorted(helpers.worth.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)) \
        == helpers.worth.__all__
    assert withhold.__module__ == "helpers.worth_dropout"
