"""Streams: what belongs together, what is refused and how, cuts of a stream, and sums over it."""

import dataclasses
import re

import numpy as np
import pytest
from worth_loops import KINDS, episodes, random_stream

from helpers.worth_order import later_retrievals, own_order
from helpers.worth_stream import Stream, as_stream
from helpers.worth_tally import ratio, tally

R, Y = np.array([[0, 1], [1, 2]]), np.array([True, False])


@pytest.mark.parametrize("change, message", [
    ({"n": 1}, "got k = 2 of retrieved (2, 2) and n = 1"),
    ({"n": 0, "retrieved": R[:, :0]}, "got k = 0 of retrieved (2, 0) and n = 0"),
    ({"n": 2}, "expected ids from 0 to 1, or -1 for an empty slot, got 0 to 2 in (2, 2)"),
    ({"retrieved": R - 2}, "got -2 to 0 in (2, 2)"),
    ({"retrieved": R.astype(float)}, "expected integer ids (..., k), got float64 (2, 2)"),
    ({"retrieved": [[1, 1], [0, 1]]}, "got one twice in (2, 2)"),
    ({"success": [True]}, "got (2, 2) and (1,)"),
    ({"success": True, "retrieved": [0, 1]}, "got (2,) and ()"),
    ({"success": [0, 2]}, "success: expected True and False (or 1 and 0), got int64 (2,) with others"),
    ({"success": [0.5, np.nan]}, "success: expected True and False"),
    ({"success": ["yes", "no"]}, "success: expected True and False"),
    ({"retrieved": np.zeros((0, 2), int), "success": []}, "at least one episode with one slot, got retrieved (0, 2) "
                                                          "and success (0,)"),
    ({"retrieved": np.zeros((2, 0), int)}, "got retrieved (2, 0) and success (2,)"),
    ({"retrieved": np.zeros((0, 2, 2), int), "success": np.zeros((0, 2), bool)}, "retrieved (0, 2, 2)"),
    ({"task_type": [0]}, "task_type: expected integers of the shape of success, got int64 (1,) and (2,)"),
    ({"task_type": [0.0, 1.0]}, "task_type: expected integers of the shape of success, got float64 (2,) and (2,)"),
    ({"task_type": [0, -1]}, "expected types from 0 to 0, got -1 to 0 in (2,)"),
    ({"task_type": [0, 2], "types": 2}, "expected types from 0 to 1, got 0 to 2 in (2,)"),
    ({"weights": [1, 1]}, "weights: expected the shape of retrieved, got (2,) and (2, 2)"),
    ({"weights": [[1, -1], [1, 1]]}, "weights: expected finite numbers from 0 up, got -1.0 to 1.0 in (2, 2)"),
    ({"weights": [[1, np.nan], [1, 1]]}, "weights: expected finite numbers from 0 up"),
    ({"weights": [[1, np.inf], [1, 1]]}, "weights: expected finite numbers from 0 up, got 1.0 to inf"),
    ({"kept": [True, False]}, "expected kept of the shape of retrieved, got (2,) and (2, 2)"),
    ({"kept": [[1, 2], [0, 0]]}, "kept: expected True and False"),
])
def test_what_does_not_fit_is_refused_with_its_shapes(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Stream(**({"retrieved": R, "success": Y, "n": 3} | change))


@pytest.mark.parametrize("k", [2, 3, 8, 9, 20])
def test_a_memory_twice_in_one_episode_is_refused_for_every_number_of_slots(k):
    rng = np.random.default_rng(k)
    rows = np.stack([rng.permutation(30)[:k] for _ in range(6)]).reshape(2, 3, k)
    Stream(rows, np.ones((2, 3), bool), n=30)
    empty = rows.copy()
    empty[1, 1, [0, -1]] = -1
    Stream(empty, np.ones((2, 3), bool), n=30)  # two empty slots are no memory twice
    for memory, other in ((0, -1), (29, -2), (29, k // 2)):
        rows = np.tile(np.arange(1, k + 1), (2, 3, 1))
        rows[1, 1, [0, other]] = memory
        if k == 2 and other != -1:
            continue
        with pytest.raises(ValueError, match=f"{k} slots of an episode, got one twice"):
            Stream(rows, np.ones((2, 3), bool), n=30)


def test_a_stream_says_its_sizes():
    stream = random_stream(0, runs=(2, 3), length=7, n=12, k=3, types=2)
    assert (stream.lead, stream.episodes, stream.k, stream.n, stream.types) == ((2, 3), 7, 3, 12, 2)
    assert stream.used is None and Stream([[0, -1]], [True], n=2).used.tolist() == [[True, False]]
    assert Stream(R, Y, n=3, kept=[[1, 0], [1, 1]]).used.tolist() == [[True, False], [True, True]]


def test_task_types_are_counted_and_absent_ones_are_one_type():
    assert Stream(R, Y, [0, 2], n=3).types == 3
    assert Stream(R, Y, [0, 0], n=3, types=5).types == 5
    bare = dataclasses.replace(Stream(R, Y, [0, 2], n=3), task_type=None)
    assert bare.types == 1 and bare.labels.tolist() == [0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_stream_holds_the_first_episodes_and_one_run(kind):
    stream = random_stream(1, runs=(2,), **kind)
    cut = stream.first(50).run(1)
    expected = list(episodes(stream.run(1)))[:50]
    assert list(episodes(cut)) == expected and cut.types == stream.types and cut.n == stream.n


def test_cuts_out_of_range_are_refused():
    with pytest.raises(ValueError, match="expected 1 to 2 episodes, got 3"):
        Stream(R, Y, n=3).first(3)
    with pytest.raises(ValueError, match="expected 1 to 2 episodes, got 0"):
        Stream(R, Y, n=3).first(0)
    with pytest.raises(ValueError, match=re.escape("leading axis of runs, got success (2,)")):
        Stream(R, Y, n=3).run(0)


def test_one_episode_and_several_become_a_stream():
    one = as_stream(3, (2,), [[0, 1], [2, 1]], [True, False], weights=np.ones((2, 2)), task_type=[0, 1])
    assert one.retrieved.shape == (2, 1, 2) and one.labels.tolist() == [[0], [1]] and one.weights.shape == (2, 1, 2)
    assert as_stream(3, (), R, Y, weights=None).lead == ()
    with pytest.raises(ValueError, match=re.escape("expected success of shape (3,) or (3, 'episodes'), got (2, 1)")):
        as_stream(3, (3,), [[[0]], [[1]]], [[True], [False]])
    with pytest.raises(ValueError, match=re.escape("integer ids (..., k), got int64 ()")):
        as_stream(3, (), 1, True)


@pytest.mark.parametrize("kind", KINDS)
def test_tally_is_the_sum_over_slots(kind):
    stream = random_stream(2, runs=(2, 2), **kind)
    groups = np.random.default_rng(0).integers(3, size=stream.success.shape)
    fast, weighed = tally(stream, groups, 3), tally(stream, groups, 3, weights=np.arange(200.0)[:, None])
    for a, b in np.ndindex(2, 2):
        slow, slow_weighed = np.zeros((2, 3, stream.n))
        for t, (seen, _, _) in enumerate(episodes(stream.run(a).run(b))):
            for m, _ in seen:
                slow[groups[a, b, t], m] += 1
                slow_weighed[groups[a, b, t], m] += t
        assert (fast[a, b] == slow).all() and (weighed[a, b] == slow_weighed).all()


def test_kept_and_withheld_slots_are_all_there_are():
    stream = random_stream(3, runs=(2,), withheld=True, empty=0.2)
    everything = dataclasses.replace(stream, kept=None)
    assert (tally(stream) + tally(stream, withheld=True) == tally(everything)).all()
    with pytest.raises(ValueError, match="which memories were withheld, got kept = None"):
        tally(everything, withheld=True)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.int64])
def test_the_type_of_the_ids_changes_nothing(dtype):
    stream = random_stream(4, runs=(5,), n=100)
    narrow = dataclasses.replace(stream, retrieved=stream.retrieved.astype(dtype))
    assert (tally(narrow, stream.success, 2) == tally(stream, stream.success, 2)).all()
    assert (later_retrievals(narrow) == later_retrievals(stream)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_own_order_lists_every_memory_s_retrievals_in_time(kind):
    stream = random_stream(5, runs=(2,), **kind)
    slots, counts = own_order(stream)
    expected, sizes = [], []
    for run in range(2):
        for m in range(stream.n):
            own = [(run * 200 + t) * stream.k + slot for t in range(200) for slot in range(stream.k)
                   if stream.retrieved[run, t, slot] == m and (stream.used is None or stream.used[run, t, slot])]
            expected += own
            sizes.append(len(own))
    assert slots.tolist() == expected and counts.tolist() == sizes
    later = later_retrievals(stream).ravel()[slots].tolist()
    assert later == [left for size in sizes for left in range(size - 1, -1, -1)]


def test_more_memories_than_16_bits_hold():
    stream = Stream([[70_000], [3], [70_000]], [True, True, False], n=70_001)
    slots, counts = own_order(stream)
    assert slots.tolist() == [1, 0, 2] and counts[[3, 70_000]].tolist() == [1, 2]
    assert tally(stream)[0, [3, 70_000]].tolist() == [1, 2]


def test_ratio_without_a_whole():
    assert ratio(np.array([[1.0, 2.0]]), np.array([[0.0, 4.0]]), [[0.25, 9.0]]).tolist() == [[0.25, 0.5]]
