"""Streams: each problem learns from those before it, never from itself or later ones."""

import numpy as np
import pytest

from helpers.arms import ArmResult
from helpers.learning import own_pass, reviewed_fix
from helpers.llm import Reply
from helpers.problems import load_problems
from helpers.reflexion import Episode
from helpers.streams import Streams, run_streams

PROBLEMS = load_problems()[:8]


class SolvesWithAnExample:
    """Writes the solution when an earlier turn is shown, and nothing of use without one."""

    parallel = 2

    def __call__(self, messages, **settings) -> Reply:
        problem = next(p for p in PROBLEMS if p.text in messages[-2]["content"])
        text = f"```python\n{problem.solution}" if len(messages) > 2 else "no code"
        return Reply(text, 10, 5, "stop", "replay", 0.1)


def test_a_stream_learns_from_what_came_before_and_from_nothing_else(tmp_path) -> None:
    streams = run_streams("reviewed", PROBLEMS, SolvesWithAnExample(), tmp_path, learn=reviewed_fix,
                          orders=[0, 1, 2], draws=[(0.0, 0), (0.0, 0), (0.6, 1)])
    assert streams.arm.outcomes.shape == streams.positions.shape == (8, 3)
    for j in range(3):
        order = list(np.random.default_rng(j).permutation(8))
        assert [order[position] for position in streams.positions[:, j]] == list(range(8))
        for i, row in enumerate(streams.arm.episodes):
            assert row[j].problem == PROBLEMS[i].id
            seen = {PROBLEMS[o].id for o in order[:streams.positions[i, j]]}
            assert {hit.lesson.source for hit in row[j].retrieved} <= seen
        assert len(streams.memories[j]) == 8
        assert streams.memories[j].audit() == []
        assert sum(streams.memories[j].outcomes.values()) == 8
    assert (streams.arm.outcomes[streams.positions == 0] == 0).all()  # the memory is empty at first


def test_a_stream_of_own_passes_stays_empty_when_nothing_passes(tmp_path) -> None:
    streams = run_streams("own", PROBLEMS, SolvesWithAnExample(), tmp_path, learn=own_pass, orders=[0],
                          draws=[(0.0, 0)])
    assert streams.arm.solved == 0
    assert len(streams.memories[0]) == 0


def test_streams_run_again_give_the_same_and_learn_nothing_twice(tmp_path) -> None:
    again = [run_streams("own", PROBLEMS, SolvesWithAnExample(), tmp_path / str(n), learn=reviewed_fix, orders=[5],
                         draws=[(0.0, 0)]).arm.outcomes.tolist() for n in range(2)]
    assert again[0] == again[1]


def test_orders_and_draws_come_in_pairs(tmp_path) -> None:
    with pytest.raises(ValueError, match="as many orders as draws, at least one; got 2 and 1"):
        run_streams("x", PROBLEMS, SolvesWithAnExample(), tmp_path, learn=own_pass, orders=[0, 1], draws=[(0.0, 0)])


def arm(*rows: str) -> ArmResult:
    words = {"S": "success", "F": "failure", "I": "infrastructure"}
    return ArmResult("a", tuple(tuple(Episode(f"p{i}", (), words[letter]) for letter in row)
                                for i, row in enumerate(rows)))


def test_the_curve_is_the_mean_difference_by_stretch() -> None:
    streams = Streams(arm("S", "F", "S", "S"), np.array([[3], [0], [1], [2]]), ())
    points = streams.curve(arm("F", "F", "F", "F"), 2, rng=np.random.default_rng(0))
    assert [(point.mean, point.up, point.down) for point in points] == [(0.5, 1, 0), (1.0, 2, 0)]
    assert points[1].low == points[1].high == 1.0


def test_the_curve_pairs_stream_and_draw_and_leaves_out_what_was_not_reached() -> None:
    streams = Streams(arm("SF", "SI"), np.array([[0, 0], [1, 1]]), ())
    points = streams.curve(arm("FF", "FF"), 2, rng=np.random.default_rng(0))
    assert [point.mean for point in points] == [0.5, 1.0]
    with pytest.raises(ValueError, match=r"got shapes \(2, 2\) and \(2, 1\)"):
        streams.curve(arm("F", "F"), 2, rng=np.random.default_rng(0))
