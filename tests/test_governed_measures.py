import dataclasses

import numpy as np
import pytest
from governed_fakes import GENERIC, GOOD, OTHER, SUCCESSOR, WRONG, luck_table, rule_table, small_orders, small_world

from helpers.governance import Policy, nearest, oldest_first, standard_policies
from helpers.governed_measures import (
    ROLES,
    by_task,
    first_run,
    pooled_effects,
    roles,
    separation,
    shown_share,
    silenced_share,
    stretches,
    true_effects,
    turnover,
    values_at,
)
from helpers.governed_orders import make_orders
from helpers.governed_runs import run_streams
from helpers.governed_table import FAILED, PASSED, Table
from helpers.governed_world import load_world
from helpers.worth_estimators import residual

POLICIES = standard_policies(capacity=4)


def run(name, tasks, **order):
    world = small_world()
    return run_streams(POLICIES[name], rule_table(world), small_orders(world, tasks, **order))


def test_success_by_task_in_a_stretch():
    found = run("re-ranking", [0, 0, 1, 0])  # fails, passes, passes, passes
    assert by_task(found).round(3).tolist() == [0.667, 1.0]
    assert by_task(found, 1, 3).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"expected every task in episodes 0 to 2, but 1 of 2 never came"):
        by_task(found, 0, 2)


def test_stretches_of_unequal_length_and_too_many():
    assert stretches([[True, False, True]], 2).tolist() == [[0.5, 1.0]]
    with pytest.raises(ValueError, match="expected 1 to 3 parts, got 4"):
        stretches([[1, 0, 1]], 4)


def test_roles_follow_the_changes():
    masks = roles(small_world(), {"a": 2}, 3)
    assert tuple(masks) == ROLES
    ids = {role: [np.nonzero(row)[0].tolist() for row in mask] for role, mask in masks.items()}
    assert ids == {"useful": [[GOOD, OTHER], [GOOD, OTHER], [OTHER]], "stale": [[], [], [GOOD]],
                   "successor": [[], [], [SUCCESSOR]], "wrong": [[WRONG]] * 3, "generic": [[GENERIC]] * 3}


def test_the_share_of_places_by_role():
    found = run("re-ranking", [0, 0, 0, 1], changes={"a": 2})  # WRONG, GOOD, GOOD (stale by then), OTHER
    shares = shown_share(found)
    assert {role: share[0].tolist() for role, share in shares.items()} == {
        "useful": [0, 1, 0, 1], "stale": [0, 0, 1, 0], "successor": [0, 0, 0, 0], "wrong": [1, 0, 0, 0],
        "generic": [0, 0, 0, 0]}
    assert not shown_share(run("no memory", [0, 1]))["generic"].any()  # an empty place is no lesson's


def test_the_share_of_silenced_candidates_by_role():
    found = run("oracle", [0, 1, 0, 0], changes={"a": 2}, born=[0, 9, 0, 0, 3])
    shares = silenced_share(found, parts=2)
    nan = np.nan
    expected = {"useful": [0, nan], "stale": [nan, 1], "successor": [nan, 0], "wrong": [nan, nan], "generic": [nan, 1]}
    for role, share in expected.items():  # the wrong lesson never arrives, the generic one in the second half
        assert np.array_equal(shares[role], [share], equal_nan=True), role
    small = Policy("small", nearest, capacity=1, give_up=oldest_first)
    world = small_world()
    found = run_streams(small, rule_table(world), small_orders(world, [0, 0, 0, 0], born=[0, 2, 9, 9, 9]))
    assert silenced_share(found)["useful"].tolist() == [[0.5]]


def test_separation_counts_pairs_within_a_stream():
    values = [[0.9, 0.1, 0.5], [np.nan, 0.1, 0.5]]
    found = separation(values, [1, 0, 1], [0, 1, 0], rng=np.random.default_rng(0))
    assert (found.auc, found.pairs) == (1.0, 2) and found.low == found.high == 1.0
    assert str(found) == "1.00 [1.00, 1.00]"


def test_separation_is_the_share_of_pairs_by_trying_all():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, (6, 12)) / 4
    good, bad = np.arange(12) < 5, np.arange(12) > 7
    pairs = [(a > b) + 0.5 * (a == b) for row in values for a in row[good] for b in row[bad]]
    found = separation(values, good, bad, rng=rng)
    assert found.auc == pytest.approx(np.mean(pairs)) and found.low <= found.auc <= found.high
    assert found.pairs == 20


def test_the_interval_of_separation_covers_its_truth():
    rng = np.random.default_rng(2)
    good, bad = np.arange(40) < 20, np.arange(40) >= 20
    hits = 0
    for _ in range(100):
        values = rng.normal(size=(1, 40)) + good  # AUC of two normals one apart: Φ(1/√2) = 0.760
        found = separation(values, good, bad, rng=rng, resamples=300)
        hits += found.low <= 0.760 <= found.high
    assert hits >= 85  # nominal 95, a small sample's bootstrap is narrower; 4 standard errors below 93


@pytest.mark.parametrize("good, bad, said", [([0, 0], [1, 1], "got 0 and 2"), ([1, 1], [0, 1], "with 1 of both")])
def test_separation_needs_two_sorts(good, bad, said):
    with pytest.raises(ValueError, match=said):
        separation([[0.1, 0.2]], good, bad, rng=np.random.default_rng(0))


def test_separation_needs_a_known_pair():
    with pytest.raises(ValueError, match="expected at least one good and one bad lesson with a value"):
        separation([[np.nan, 1.0]], [1, 0], [0, 1], rng=np.random.default_rng(0))


def test_values_are_known_where_there_is_evidence():
    found = run("re-ranking", [0, 0, 0, 1])
    assert np.array_equal(values_at(found, 3), [[1.0, 0.0, np.nan, np.nan, np.nan]], equal_nan=True)
    assert np.array_equal(values_at(found, 3, min_evidence=2), [[1.0] + [np.nan] * 4], equal_nan=True)
    assert values_at(found, 4, residual)[0, OTHER] == 0.0  # the only lesson of its family's only task


def test_turnover_counts_the_familys_own_episodes():
    found = run("re-ranking", [0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0], changes={"a": 2})
    # After the change, family a: GOOD (stale) at 0, 1, 2 of its own episodes, then the successor for good.
    own = found.chosen[0, [2, 4, 6, 7, 8, 9, 10], 0]
    stale = int((own == GOOD).sum())
    assert own.tolist() == [GOOD] * stale + [SUCCESSOR] * (7 - stale) and 0 < stale < 5
    silent, trusted = turnover(found, window=2)
    assert silent.tolist() == [[stale]] and trusted.tolist() == [[stale]]
    silent, trusted = turnover(found, window=7)
    assert np.isinf(silent).all() and np.isinf(trusted).all()


def test_turnover_without_a_change_has_no_columns():
    assert [a.shape for a in turnover(run("re-ranking", [0, 1]))] == [(1, 0), (1, 0)]


def test_the_first_run_of_a_length():
    assert first_run([True, True, False], 2) == 0.0
    assert first_run([], 1) == float("inf") == first_run([False, True, False], 2)


def test_the_true_effect_of_a_lesson_is_its_gain_over_no_memory():
    world = small_world()

    def answer(task, shown, draw):
        return (PASSED if GOOD in shown or (not shown and draw == 0 and task == 1) else FAILED, FAILED), 1

    effects = true_effects(Table.of(world, answer))
    # GOOD: task 0, from 0 to 1. OTHER: task 1, from ½ to 0. GENERIC: tasks 0 and 1, 0 and −½.
    assert effects.tolist() == [1.0, 0.0, 0.0, -0.5, -0.25]
    assert true_effects(Table.of(world, answer), version=1).tolist() == [0.0] * 5
    alone = dataclasses.replace(world, candidates=np.array([[GOOD, WRONG, SUCCESSOR, -1], [OTHER, -1, -1, -1]]))
    assert np.isnan(true_effects(Table.of(alone, answer))[GENERIC])


def test_dropout_finds_what_a_lesson_adds_on_average_over_streams():
    world = load_world()
    table = luck_table(world, 3)
    orders = make_orders(world, range(30), changes={}, filled=0, start=39)
    found = run_streams(POLICIES["no governance"], table, orders, dropout=0.3)
    effect, error = pooled_effects(found)
    first_rule = ~world.of_kind("successor")
    kept = found.kept[..., 0]
    for lesson in np.unique(found.chosen[found.chosen >= 0])[:8]:  # by hand: the rates with it and without
        chosen = found.chosen[..., 0] == lesson
        with_it, without = (found.success[chosen & side].mean() for side in (kept, ~kept))
        assert effect[lesson] == pytest.approx(with_it - without) and 0 < error[lesson] < 1
    good, bad = (effect[mask & first_rule & np.isfinite(error)].mean() for mask in
                 (world.of_kind("useful"), world.of_kind("wrong", "generic")))
    assert good > bad + 0.1
