"""Discounting and change detection: against the loops, at a change, and without one."""

import math
import re

import numpy as np
import pytest
from worth_loops import loop_cusum, loop_discounted, random_stream

from helpers.worth import (
    CusumWorth,
    MemoryWorth,
    Stream,
    cusum_reset,
    cusum_series,
    discounted,
    discounted_series,
    lag,
    plain,
    plain_series,
)


def drifting(seed: int, *, weighted: bool = False) -> Stream:
    """Four memories whose success rates move apart half-way, in two runs; used unevenly."""
    rng = np.random.default_rng(seed)
    retrieved = rng.permuted(np.tile(np.arange(5), (2, 800, 1)), axis=-1)[..., :2]
    retrieved[retrieved == 4] = -1
    retrieved[(retrieved == 3) & (rng.random(retrieved.shape) < 0.8)] = -1
    rate = np.array([[0.9, 0.1, 0.5, 0.3, 0.5], [0.1, 0.8, 0.5, 0.9, 0.5]])[(np.arange(800) >= 400) * 1]
    best = np.where(retrieved >= 0, np.take_along_axis(np.broadcast_to(rate, (2, 800, 5)), retrieved, -1), 0).max(-1)
    return Stream(retrieved, rng.random((2, 800)) < best, n=4,
                  weights=0.5 + rng.random(retrieved.shape) if weighted else None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"shift": 0.4, "alarm": 3.0, "warm_up": 5}, {"alarm": 2.0, "warm_up": 0}])
def test_cusum_is_its_loop_through_many_alarms(weighted, options):
    stream = drifting(0, weighted=weighted)
    fast = cusum_reset(stream, **options)
    for run in range(2):
        np.testing.assert_allclose(fast[run], loop_cusum(stream.run(run), **options), rtol=1e-9)
    if options.get("alarm", 10) < 10 or not weighted:
        assert np.abs(fast - plain(stream)).max() > 0.1  # it did alarm


def test_cusum_episode_by_episode_and_in_pieces_is_the_batch():
    stream = drifting(1)
    online, pieces = (CusumWorth(4, shape=(2,), alarm=4.0) for _ in range(2))
    pieces.update(stream.retrieved[:, :390], stream.success[:, :390])
    online.update(stream.retrieved[:, :300], stream.success[:, :300])
    for t in range(300, 500):
        online.update(stream.retrieved[:, t], stream.success[:, t])
    for worth, t in ((online, 500), (pieces, 390)):
        worth.update(stream.retrieved[:, t:], stream.success[:, t:])
    expected = cusum_reset(stream, alarm=4.0)
    assert (online.value == expected).all() and (pieces.value == expected).all()
    assert (online.hits_plus == pieces.hits_plus).all() and (online.hits_minus == pieces.hits_minus).all()


def test_the_sums_start_with_the_first_retrieval_after_the_warm_up():
    """4 successes: rate 5/6, and 7/12 a shift below; one failure adds log(5/12 ÷ 1/6) = 0.916."""
    for alarm, warm_up, plus in ((0.91, 4, 0), (0.92, 4, 4), (0.91, 5, 4)):
        worth = CusumWorth(1, alarm=alarm, warm_up=warm_up)
        worth.update([[0]] * 5, [True] * 4 + [False])
        assert (worth.hits_plus[0], worth.hits_minus[0]) == (plus, 1)


def test_after_an_alarm_the_counters_hold_what_came_since_the_change():
    worth = CusumWorth(2)
    worth.update([[0]] * 300 + [[1]] * 50, [False] * 300 + [True] * 50)
    worth.update([[0]] * 6, [True] * 6)
    assert worth.hits_plus.tolist() == [6, 50] and worth.hits_minus.tolist() == [0, 0]


def test_detection_is_quick_and_plain_worth_slow():
    """Rates .97 before and .01 after 500 retrievals, as in the drift world."""
    rng = np.random.default_rng(2)
    outcomes = np.concatenate([rng.random((40, 500)) < 0.97, rng.random((40, 2000)) < 0.01], axis=1)
    lags = {name: np.median(lag(series, 0.3, after=500)) for name, series in (
        ("plain", plain_series(outcomes)), ("discounted", discounted_series(outcomes)),
        ("cusum", cusum_series(outcomes)))}
    assert abs(lags["plain"] - 500 * (0.97 - 0.3) / (0.3 - 0.01)) < 25
    assert abs(lags["discounted"] - math.log(0.96 / 0.29) / -math.log(0.98)) < 5
    assert 3 <= lags["cusum"] <= 10


def test_false_alarms_are_rare():
    """40 memories at rates from .1 to .9, 500 retrievals each: the counters keep nearly everything."""
    rng = np.random.default_rng(3)
    rates = np.tile(np.linspace(0.1, 0.9, 20), 10)
    worth = CusumWorth(1, shape=(200,))
    worth.add(Stream(np.zeros((200, 500, 1), int), rng.random((200, 500)) < rates[:, None], n=1))
    kept = (worth.hits_plus + worth.hits_minus)[:, 0]
    assert (kept < 500).mean() < 0.05
    quick = CusumWorth(1, shape=(200,), alarm=3.0)
    quick.add(Stream(np.zeros((200, 500, 1), int), rng.random((200, 500)) < rates[:, None], n=1))
    assert ((quick.hits_plus + quick.hits_minus)[:, 0] < 500).mean() > 0.3  # the price of a lower alarm


@pytest.mark.parametrize("gamma", [0.5, 0.98, 1.0])
def test_discounted_is_its_loop(gamma):
    for stream in (drifting(4), drifting(4, weighted=True)):
        np.testing.assert_allclose(discounted(stream, gamma=gamma)[1], loop_discounted(stream.run(1), gamma), rtol=1e-9)


def test_discounting_goes_by_a_memory_s_own_retrievals():
    busy = Stream([[0]] + [[1]] * 50 + [[0]], [True] + [False] * 51, n=2)
    assert discounted(busy, gamma=0.5)[0] == pytest.approx(0.5 / 1.5)


def test_discount_one_is_plain():
    stream = random_stream(5)
    assert (discounted(stream, gamma=1.0) == plain(stream)).all()


def test_a_long_discount_underflows_to_nothing_without_a_warning():
    assert discounted(Stream([[0]] * 5000, [True] + [False] * 4999, n=1), gamma=0.5).tolist() == [0.0]


@pytest.mark.parametrize("options, message", [
    ({"shift": 0.0}, "shift of the success rate between 0 and 1, got 0.0"),
    ({"shift": 1.5}, "shift of the success rate between 0 and 1, got 1.5"),
    ({"alarm": 0.0}, "finite alarm above 0 and a warm-up from 0 up, got 0.0 and 30"),
    ({"alarm": math.inf}, "finite alarm above 0"),
    ({"warm_up": -1}, "got 10.0 and -1"),
])
def test_cusum_refuses_options(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        cusum_reset(random_stream(0), **options)


def test_cusum_refuses_streams_and_steps_of_another_shape():
    with pytest.raises(ValueError, match=re.escape("3 memories with leading axes (), got 12 with ()")):
        CusumWorth(3).add(random_stream(0))
    with pytest.raises(ValueError, match=re.escape("an outcome for each memory, (2, 3), got (2,)")):
        CusumWorth(3, shape=(2,)).step(np.array([True, False]))
    with pytest.raises(ValueError, match="at least one memory, got n = 0"):
        CusumWorth(0)
    with pytest.raises(ValueError, match=r"discount above 0 and at most 1, got 1\.2"):
        discounted(random_stream(0), gamma=1.2)


def test_series_are_the_values_after_every_outcome():
    rng = np.random.default_rng(6)
    outcomes = np.concatenate([rng.random((2, 60)) < 0.9, rng.random((2, 40)) < 0.1], axis=1)
    for series, make in ((plain_series(outcomes), lambda: MemoryWorth(1, shape=(2,))),
                         (discounted_series(outcomes, gamma=0.9), lambda: MemoryWorth(1, shape=(2,), discount=0.9)),
                         (cusum_series(outcomes, alarm=4.0), lambda: CusumWorth(1, shape=(2,), alarm=4.0))):
        worth, values = make(), []
        for t in range(100):
            worth.update(np.zeros((2, 1), int), outcomes[:, t])
            values.append(worth.value[:, 0])
        np.testing.assert_allclose(series, np.stack(values, axis=-1), rtol=1e-9)


@pytest.mark.parametrize("series", [plain_series, discounted_series, cusum_series])
def test_series_refuse(series):
    with pytest.raises(ValueError, match=re.escape("outcomes (..., retrievals), at least one, got (2, 0)")):
        series(np.zeros((2, 0), bool))
    with pytest.raises(ValueError, match="outcomes: expected True and False"):
        series([0.3, 0.7])


def test_series_of_a_discount_out_of_range():
    with pytest.raises(ValueError, match="discount above 0 and at most 1, got 0"):
        discounted_series([True], gamma=0)


def test_lag_by_hand():
    series = [[0.9, 0.2, 0.9, 0.9, 0.3], [0.9, 0.9, 0.9, 0.9, 0.9], [0.9, 0.9, 0.1, 0.1, 0.1]]
    assert lag(series, 0.3, after=2).tolist() == [3, math.inf, 1]  # what lay low before does not count
    assert lag(series[0], 0.3, after=0) == 2
    with pytest.raises(ValueError, match=re.escape("longer than after = 5, got (3, 5)")):
        lag(series, 0.3, after=5)
