import numpy as np
import pytest

from helpers.governed_orders import CHANGES, make_orders
from helpers.governed_world import load_world


@pytest.fixture(scope="module")
def world():
    return load_world()


def test_every_round_brings_every_task_once(world):
    orders = make_orders(world, [3, 4])
    assert orders.tasks.shape == (2, 300)
    for row in orders.tasks:
        assert all(sorted(row[r:r + 38]) == list(range(38)) for r in range(0, 266, 38))


def test_a_task_meets_its_draws_in_turn(world):
    orders = make_orders(world, [3])
    for task in range(38):
        draws = orders.draws[0, orders.tasks[0] == task]
        assert (np.diff(draws) != 0).all()
    first = [orders.draws[0, orders.tasks[0] == task][0] for task in range(38)]
    assert 0 < sum(first) < 38


def test_only_the_named_families_change_and_only_from_then_on(world):
    orders = make_orders(world, range(20), changes={"ok_text": 100})
    family = np.array(world.families)[world.task_family[orders.tasks]]
    expected = (family == "ok_text") & (np.arange(300) >= 100)
    assert (orders.versions == expected).all() and expected[:, 100].any() and (family[:, 99] == "ok_text").any()
    assert not make_orders(world, [0], changes={}).versions.any()


def test_lessons_arrive_until_filled_and_successors_after_the_change(world):
    orders = make_orders(world, [0, 1], start=24, filled=100, delay=10)
    later = world.of_kind("successor")
    assert ((orders.born == 0).sum(axis=1) == 24).all() and not (orders.born[:, later] == 0).any()
    assert (orders.born[:, ~later].max(axis=1) == 100).all()
    changed = np.isin([one.family for one in world.lessons], list(CHANGES))
    assert (orders.born[:, later & changed] == 160).all()
    assert (orders.born[:, later & ~changed] == 300).all()
    for born, rank in zip(orders.born, orders.rank, strict=True):
        assert sorted(rank) == list(range(57)) and (np.diff(born[np.argsort(rank)]) >= 0).all()
    assert (orders.born[0] != orders.born[1]).any()


def test_a_change_near_the_end_brings_no_successor(world):
    orders = make_orders(world, [0], changes={"ok_text": 295}, delay=10)
    assert (orders.born[0, world.of_kind("successor")] == 300).all()


def test_a_seed_gives_the_same_whatever_stands_beside_it(world):
    alone, together = make_orders(world, [7], episodes=50), make_orders(world, [1, 7], episodes=50)
    for name in ("tasks", "draws", "versions", "born", "rank", "luck", "placebo", "withheld"):
        assert (getattr(alone, name)[0] == getattr(together, name)[1]).all(), name
    assert (together.tasks[0] != together.tasks[1]).any()


def test_what_cannot_be_ordered_is_refused(world):
    with pytest.raises(ValueError, match="expected seeds and episodes, at least one of each, got 0 and 300"):
        make_orders(world, [])
    with pytest.raises(ValueError, match=r"changes: expected families out of empty_none.*; got 'clamp'"):
        make_orders(world, [0], changes={"clamp": 1})
    with pytest.raises(ValueError, match="expected 1 to 39 lessons at the start and a delay from 0 up, got 40 and 10"):
        make_orders(world, [0], start=40)
