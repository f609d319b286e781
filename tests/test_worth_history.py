"""Worth at chosen moments equals worth of the stream cut there."""

import re

import numpy as np
import pytest
from worth_loops import KINDS, loop_plain, random_stream

from helpers.worth import MemoryWorth, counters, counters_at, discounted, plain, worth_at


@pytest.mark.parametrize("kind", KINDS)
def test_counters_at_checkpoints_are_those_of_the_stream_so_far(kind):
    stream, marks = random_stream(0, runs=(2, 1), **kind), [0, 1, 2, 50, 199, 200]
    history = counters_at(stream, marks)
    assert history.value.shape == (2, 1, 6, stream.n) and (history.value[..., 0, :] == 0.5).all()
    for i, mark in enumerate(marks[1:], 1):
        so_far = counters(stream.first(mark))
        for name in ("hits_plus", "hits_minus", "squares"):
            np.testing.assert_allclose(getattr(history, name)[..., i, :], getattr(so_far, name), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(history.value[1, 0, 3], loop_plain(stream.run(1).run(0).first(50)), rtol=1e-10)


def test_the_last_checkpoint_may_lie_before_the_end():
    stream = random_stream(1)
    assert (worth_at(stream, [120]) == plain(stream.first(120))).all()


def test_a_checkpoint_an_episode():
    stream, online = random_stream(2), MemoryWorth(12)
    history = worth_at(stream, np.arange(201))
    for t in range(200):
        assert (history[t] == online.value).all()
        online.update(stream.retrieved[t], stream.success[t])


def test_other_estimators_at_checkpoints():
    stream = random_stream(3, runs=(2,))
    history = worth_at(stream, [10, 200], discounted, gamma=0.9)
    assert history.shape == (2, 2, 12)
    assert (history[:, 0] == discounted(stream.first(10), gamma=0.9)).all()
    assert (history[:, 1] == discounted(stream, gamma=0.9)).all()


@pytest.mark.parametrize("marks, message", [
    ([], "a list of numbers of episodes, got float64 (0,)"),
    ([0.5, 1], "a list of numbers of episodes, got float64 (2,)"),
    (5, "a list of numbers of episodes, got int64 ()"),
    ([5, 5], "rise from 0 to at most 200 episodes, got [5, 5]"),
    ([-1, 5], "rise from 0 to at most 200 episodes, got [-1, 5]"),
    ([1, 201], "rise from 0 to at most 200 episodes, got [1, 201]"),
    (np.arange(190, 202), "got 12 from 190 to 201"),
])
def test_checkpoints_that_are_none(marks, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        counters_at(random_stream(0), marks)


def test_other_estimators_have_no_value_before_the_first_episode():
    with pytest.raises(ValueError, match=re.escape("rise from 1 to at most 200 episodes, got [0, 5]")):
        worth_at(random_stream(0), [0, 5], discounted)
