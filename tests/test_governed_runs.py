import dataclasses

import numpy as np
import pytest
from governed_fakes import GENERIC, GOOD, OTHER, SUCCESSOR, WRONG, luck_table, rule_table, small_orders, small_world

from helpers.eviction import victims
from helpers.governance import NEVER, Policy, nearest, oldest_first, standard_policies
from helpers.governed_orders import make_orders
from helpers.governed_runs import ceiling, run_streams
from helpers.governed_table import PASSED, UNSUPPORTED, Table
from helpers.governed_world import load_world
from helpers.lessons import Lesson
from helpers.worth_counters import counters

POLICIES = standard_policies(capacity=4)


@pytest.fixture(scope="module")
def world():
    return load_world()


@pytest.fixture(scope="module")
def table(world):
    return luck_table(world, 1)


def run(name, tasks, *, k=1, dropout=0.0, table=None, **order):
    world = small_world()
    policy = POLICIES[name] if isinstance(name, str) else name
    return run_streams(policy, table or rule_table(world), small_orders(world, tasks, **order), k=k, dropout=dropout)


def test_without_governance_the_most_similar_lesson_is_shown_again_and_again():
    found = run("no governance", [0, 0, 1])
    assert found.chosen[0, :, 0].tolist() == [WRONG, WRONG, OTHER]
    assert found.success[0].tolist() == [False, False, True]
    assert found.tokens[0].tolist() == [15, 15, 15]


def test_without_memory_nothing_is_shown_and_everything_is_silenced():
    found = run("no memory", [0, 1])
    assert (found.chosen == -1).all() and found.kept.all() and not found.success.any()
    assert found.silenced[0].tolist() == [[True, True, True, False, True], [False, False, False, True, True]]
    assert found.tokens.tolist() == [[10, 10]]


def test_two_lessons_and_equals_in_the_order_of_the_list():
    found = run("no governance", [0, 1], k=2)
    assert found.chosen[0].tolist() == [[WRONG, GOOD], [OTHER, GENERIC]]
    assert found.success.all() and found.tokens.tolist() == [[20, 20]]


def test_re_ranking_leaves_the_wrong_lesson_after_one_failure_and_stays_with_the_good_one():
    # 0.9 × ½ wins over 0.8 × ½; after a failure 0.9 × ⅓ loses to it; the good lesson then rises.
    found = run("re-ranking", [0, 0, 0, 0])
    assert found.chosen[0, :, 0].tolist() == [WRONG, GOOD, GOOD, GOOD]
    assert found.success[0].tolist() == [False, True, True, True]


def test_a_changed_rule_turns_the_good_lesson_stale_until_the_successor_wins():
    found = run("re-ranking", [0] * 8, changes={"a": 3})
    # WRONG, then GOOD twice (¾). Stale: 0.8 × 3/5, 0.8 × 3/6, which still wins a tie with the successor's 0.8 × ½.
    assert found.chosen[0, :, 0].tolist() == [WRONG, GOOD, GOOD, GOOD, GOOD, GOOD, SUCCESSOR, SUCCESSOR]
    assert found.success[0].tolist() == [False, True, True, False, False, False, True, True]


def test_the_oracle_follows_the_rule_in_force():
    found = run("oracle", [0, 0, 1, 1], changes={"a": 1, "b": 3})
    assert found.chosen[0, :, 0].tolist() == [GOOD, SUCCESSOR, OTHER, -1]
    assert found.silenced[0, 0].tolist() == [False, True, True, False, True]  # OTHER is no candidate of task 0


def test_a_lesson_is_not_at_hand_before_it_arrives():
    found = run("no governance", [0, 0, 0], born=[0, 2, 9, 0, 0])
    assert found.chosen[0, :, 0].tolist() == [GOOD, GOOD, WRONG]
    assert not found.silenced.any()  # what has not arrived was not silenced


def test_a_full_memory_gives_up_for_good_and_spares_the_newcomer():
    policy = Policy("small", nearest, capacity=2, give_up=oldest_first)
    found = run(policy, [0, 0, 0, 0], born=[0, 1, 3, 9, 0])  # GOOD and GENERIC first, then WRONG, then SUCCESSOR
    assert found.chosen[0, :, 0].tolist() == [GOOD, WRONG, WRONG, WRONG]
    assert found.silenced[0].tolist() == [[False] * 5, [True, False, False, False, False],
                                          [True, False, False, False, False], [True, False, False, False, True]]


def test_a_newcomer_is_never_its_own_victim():
    policy = Policy("small", nearest, capacity=2, give_up=lambda view: (-view.rank,))  # would take the newest first
    found = run(policy, [0, 0, 0, 0], born=[0, 1, 3, 9, 0])
    assert found.chosen[0, :, 0].tolist() == [GOOD, WRONG, WRONG, GOOD]  # GENERIC goes first, then WRONG


def test_more_lessons_than_fit_at_the_start():
    policy = Policy("tiny", nearest, capacity=1, give_up=oldest_first)
    found = run(policy, [0, 1])  # all five arrive at once, the last one stays
    assert found.chosen[0, :, 0].tolist() == [GENERIC, GENERIC]


def test_a_cut_with_nothing_left_shows_nothing():
    policy = dataclasses.replace(POLICIES["cut at 0.3"], score=lambda view: np.where(
        view.worth.evidence > 0, NEVER, view.similarity))
    found = run(policy, [1, 1, 1])
    assert found.chosen[0, :, 0].tolist() == [OTHER, GENERIC, -1]
    assert found.success[0].tolist() == [True, False, False] and found.tokens[0].tolist() == [15, 15, 10]


def test_a_withheld_lesson_is_not_seen_and_moves_no_counter():
    found = run("no governance", [0, 0, 1], k=2, dropout=0.6)  # 0.5 is drawn everywhere: all are withheld
    assert not found.kept.any() and not found.success.any() and found.tokens.tolist() == [[10, 10, 10]]
    assert (found.shown == -1).all() and (found.chosen >= 0).all()
    assert counters(found.stream).evidence.sum() == 0
    assert run("no governance", [0, 0, 1], k=2, dropout=0.5).kept.all()
    blamed = run("re-ranking", [0, 0], dropout=0.6)  # the failure is not that of the lesson nobody saw
    assert blamed.chosen[0, :, 0].tolist() == [WRONG, WRONG]


def test_an_outcome_that_nobody_saw_is_no_success_and_no_evidence():
    world = small_world()
    table = Table.of(world, lambda task, shown, draw: ((UNSUPPORTED, PASSED), 1))
    found = run("re-ranking", [0, 0, 0], table=table, changes={"a": 2})
    assert found.success[0].tolist() == [False, False, True] and found.observed[0].tolist() == [False, False, True]
    assert found.chosen[0, :, 0].tolist() == [WRONG, WRONG, WRONG]
    assert counters(found.stream).hits_plus[0].tolist() == [0, 1, 0, 0, 0]
    assert counters(found.stream).hits_minus.sum() == 0


def test_the_placebo_gets_an_outcome_by_lot():
    world = small_world()
    orders = small_orders(world, [1, 0, 0, 0])
    real = run_streams(POLICIES["re-ranking"], rule_table(world), orders)
    first = run_streams(POLICIES["re-ranking, placebo"], rule_table(world), orders)  # lot 0: the first episode, a pass
    assert real.chosen[0, :, 0].tolist() == [OTHER, WRONG, GOOD, GOOD]
    assert first.chosen[0, :, 0].tolist() == [OTHER, WRONG, WRONG, WRONG]
    last = dataclasses.replace(orders, placebo=np.full((1, 4), 0.999))  # the newest episode: what really came
    same = run_streams(POLICIES["re-ranking, placebo"], rule_table(world), last)
    assert (same.chosen == real.chosen).all()


def test_the_view_tells_a_policy_what_happened_and_no_more():
    views = []
    run(Policy("look", lambda view: (views.append(view), view.similarity)[1]), [0, 0, 1])
    assert [view.episode for view in views] == [0, 1, 2]
    assert views[2].uses[0].tolist() == [0, 2, 0, 0, 0]
    assert views[2].touched[0, WRONG] == views[2].touched.max() == 1.5
    assert views[2].family.tolist() == [1] and views[0].good is None and views[0].baseline == 0.0
    assert views[1].at_hand[0].tolist() == [True, True, True, False, True]


def test_the_stream_holds_what_estimators_read():
    found = run("no governance", [0, 1], k=2)
    stream = found.stream
    assert stream.retrieved[0].tolist() == [[WRONG, GOOD], [OTHER, GENERIC]] and stream.n == 5
    assert stream.task_type.tolist() == [[0, 1]] and stream.types == 2 and stream.kept is None


def plain_loop(kind, table, orders, seed, k, capacity):
    """The specification: one stream, lists and dictionaries, re-ranking or no governance with LRU."""
    world, shown_all, won = table.world, [], []
    plus, minus, touched, alive = {}, {}, {}, []
    clock = 0
    by_arrival = sorted(range(len(world.lessons)), key=lambda i: orders.rank[seed, i])
    for t in range(orders.episodes):
        arriving = [i for i in by_arrival if orders.born[seed, i] == t]
        for i in arriving:
            clock += 1
            touched[i] = clock
            alive.append(i)
        if kind == "LRU" and arriving and len(alive) > capacity:
            # On disk, ids are given in order of arrival.
            old = [Lesson(by_arrival.index(i), "", "x") for i in alive if i not in arriving]
            used = {by_arrival.index(i): when for i, when in touched.items()}
            for i in victims("lru", old, len(alive) - capacity, touched=used, rng=np.random.default_rng(0)):
                alive.remove(by_arrival[i])
        task = orders.tasks[seed, t]
        row = [int(i) for i in world.candidates[task] if i in alive]
        score = {i: world.cosine[task, i] * (plus.get(i, 0) + 1) / (plus.get(i, 0) + minus.get(i, 0) + 2)
                 if kind == "re-ranking" else world.cosine[task, i] for i in row}
        shown = sorted(row, key=lambda i: -round(score[i], 12))[:k]
        places = [world.candidates[task].tolist().index(i) for i in shown]
        a, b = [*places, table.nothing, table.nothing][:2]
        passed = table.verdicts[task, a, b, orders.draws[seed, t], orders.versions[seed, t]] == PASSED
        clock += 1
        for i in shown:
            touched[i] = clock
            side = plus if passed else minus
            side[i] = side.get(i, 0) + 1
        shown_all.append(shown + [-1] * (k - len(shown)))
        won.append(passed)
    return shown_all, won


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("kind", ["re-ranking", "no governance", "LRU"])
def test_streams_side_by_side_are_the_plain_loop(world, table, kind, k):
    orders = make_orders(world, [5, 6], episodes=200, changes={"wrap_dict": 80, "none_text": 90})
    found = run_streams(standard_policies(capacity=24)[kind], table, orders, k=k)
    for row in range(2):
        shown, won = plain_loop(kind, table, orders, row, k, 24)
        assert found.chosen[row].tolist() == shown
        assert found.success[row].tolist() == won


def test_a_seed_runs_the_same_whatever_runs_beside_it(world, table):
    both, one = (make_orders(world, seeds, episodes=80, changes={"ok_text": 40}) for seeds in ([1, 2], [2]))
    for name, policy in standard_policies().items():
        pair, alone = (run_streams(policy, table, orders, k=2, dropout=0.2) for orders in (both, one))
        assert (pair.chosen[1] == alone.chosen[0]).all() and (pair.tokens[1] == alone.tokens[0]).all(), name


def test_the_ceiling_is_the_best_choice_by_trying_all(world, table):
    orders = make_orders(world, [3], episodes=60)
    for k in (1, 2):
        best = ceiling(table, orders, k=k)
        for t in range(60):
            task, draw, version = orders.tasks[0, t], orders.draws[0, t], orders.versions[0, t]
            there = [p for p, i in enumerate(world.candidates[task]) if i >= 0 and orders.born[0, i] <= t]
            there.append(table.nothing)
            seconds = there if k == 2 else [table.nothing]
            tried = [table.verdicts[task, a, b, draw, version] == PASSED for a in there for b in seconds]
            assert best[0, t] == any(tried)


def test_no_policy_passes_the_ceiling(world, table):
    orders = make_orders(world, [3, 4], episodes=80)
    best = ceiling(table, orders, k=2)
    for policy in standard_policies().values():
        assert (run_streams(policy, table, orders, k=2).success <= best).all()


@pytest.mark.parametrize("k", [0, 3])
def test_a_k_that_is_not_recorded_is_refused(k):
    with pytest.raises(ValueError, match=f"k: expected 1 to 2 lessons, of which answers are recorded, got {k}"):
        run("no governance", [0], k=k)
    with pytest.raises(ValueError, match="k: expected 1 to 2"):
        ceiling(rule_table(small_world()), small_orders(small_world(), [0]), k=k)


def test_a_dropout_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"dropout: expected a probability, got 1\.5"):
        run("no governance", [0], dropout=1.5)


@pytest.mark.parametrize("score, got", [(lambda view: view.similarity[0], r"\(5,\) with 0 NaN"),
                                        (lambda view: view.similarity * np.nan, r"\(1, 5\) with 5 NaN")])
def test_scores_that_are_none_are_refused_by_name(score, got):
    with pytest.raises(ValueError, match=rf"policy 'mine': expected a score for each lesson.*; got {got}"):
        run(Policy("mine", score), [0])


