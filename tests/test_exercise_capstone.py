import dataclasses

import numpy as np
import pytest
from exercise_answers import outcome, solution, stub

from helpers import exercise_capstone
from helpers.exercise_capstone import (
    HELD_OUT,
    a_view,
    check_policy,
    few_orders,
    leaderboard,
    mine,
    observe,
    orders,
    renumbered,
    rival,
    same_choices,
    table,
    way,
)
from helpers.exercises import NotAttempted
from helpers.governance import NEVER, standard_policies
from helpers.governed_orders import CHANGES
from helpers.governed_runs import run_streams

RIGHT = solution(11)["score"]


def rerank(view):
    return view.similarity * (view.worth.hits_plus + 1) / (view.worth.evidence + 2)


def test_untouched_is_not_attempted():
    verdict = outcome(check_policy, stub(11)["score"])
    assert (verdict.outcome, verdict.points, verdict.of) == ("not attempted", 0, 10)
    with pytest.raises(NotAttempted):
        mine(stub(11)["score"])


def test_the_solution_is_right_and_prints_no_warning(no_sockets):
    verdict = outcome(check_policy, RIGHT)
    assert (verdict.outcome, verdict.points) == ("right", verdict.of)


@pytest.fixture
def other_orders(monkeypatch):
    """Judged on these orders instead, and as ever afterwards."""
    def take(first):
        monkeypatch.setattr(exercise_capstone, "JUDGED", first)
        for cached in (orders, rival):
            cached.cache_clear()
    yield take
    for cached in (orders, rival):
        cached.cache_clear()


@pytest.mark.parametrize("first", [2000, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 3000, 4000))])
def test_the_solution_is_right_on_other_orders_as_well(other_orders, first):
    other_orders(first)
    assert outcome(check_policy, RIGHT).outcome == "right"


def test_re_ranking_itself_misses_the_last_points_only():
    verdict = outcome(check_policy, rerank)
    assert (verdict.outcome, verdict.points) == ("wrong", 8)
    assert "A tie with re-ranking is a good answer" in " ".join(verdict.message.split())
    assert (mine(rerank, judged=True).chosen == rival("re-ranking", judged=True).chosen).all()


calls = []


def counts_its_calls(view):
    calls.append(1)
    return RIGHT(view) + view.luck * (len(calls) % 7)


def writes(view):
    view.worth.hits_plus[:] = 0
    view.similarity[:] *= 2
    return view.similarity


WRONG = [
    (lambda view: view.uses, "`view.uses` counts what was shown, not what helped", 5),
    (lambda view: view.rank, "`view.rank` knows when a lesson came", 5),
    (lambda view: view.similarity, "Most similar first, whatever became of it", 5),
    (lambda view: np.where(view.good, view.similarity, NEVER), "`view.good` says which lessons hold the rule", 4),
    (lambda view: view.similarity * view.worth.hits_plus / view.worth.evidence, "0 / 0 is NaN", 3),
    (lambda view: 1.0, "One score for each lesson in each stream", 0),
    (lambda view: view.similarity.max(axis=1), "got (3,) expected (3, 57)", 0),
    (writes, "['similarity', 'worth.hits_plus']", 4),
    (lambda view: RIGHT(view) + np.arange(57), "not from its number", 4),
    (counts_its_calls, "not from chance or counters of your own", 4),
    (lambda view: [["a"]], "could not convert string to float", 0),
    (lambda view: view.kind, "AttributeError", 0),
    (lambda view: None, "got () expected (3, 57)", 0),
]


@pytest.mark.parametrize(("score", "says", "points"), WRONG)
def test_a_wrong_policy_is_told_why(score, says, points):
    verdict = outcome(check_policy, score)
    assert verdict.outcome == "wrong" and points <= verdict.points < verdict.of
    assert says in " ".join(verdict.message.split())


def test_numpys_own_chance_is_seen_and_that_of_the_view_is_allowed():
    drawn = np.random.default_rng(0)
    assert same_choices(lambda view: drawn.random(view.similarity.shape)) < 0.5
    assert same_choices(lambda view: view.luck) == 1.0


def test_what_an_answer_writes_reaches_no_other_run():
    before = orders().rank.copy(), orders().luck.copy(), table().world.lesson_family.copy()

    def vandal(view):
        for array in (view.rank, view.luck, view.born, view.lesson_family):
            array[...] = 0
        return view.similarity
    assert observe(vandal).changed >= {"rank", "luck", "born", "lesson_family"}
    mine(vandal)
    after = orders().rank, orders().luck, table().world.lesson_family
    assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


def test_the_judged_streams_are_not_those_of_the_leaderboard():
    assert orders().changes == dict(CHANGES) and orders(judged=True).changes == HELD_OUT
    assert not set(HELD_OUT) & set(CHANGES)
    assert not set(orders().seeds) & set(orders(judged=True).seeds)


def test_renumbering_changes_no_outcome():
    order = np.random.default_rng(0).permutation(len(table().world.lessons))
    course, known = renumbered(few_orders(), table(), order)
    for name in ("re-ranking", "oracle", "newest first", "LRU"):
        policy = standard_policies()[name]
        old, new = run_streams(policy, table(), few_orders()), run_streams(policy, known, course)
        assert (old.success == new.success).all()
        assert (old.chosen == np.where(new.chosen >= 0, order[new.chosen], -1)).all()
    assert [lesson.id for lesson in known.world.lessons] == list(range(len(order)))


def test_the_way_to_the_oracle():
    assert way(rival("re-ranking", judged=True)) == 0.0 and way(rival("oracle", judged=True)) == 1.0
    assert way(rival("LRU", judged=True)) < 0


def test_a_view_shows_what_an_agent_knows():
    view = a_view()
    assert view.similarity.shape == (3, 57) and view.good is None and view.worth.evidence.sum() > 100
    assert not {field.name for field in dataclasses.fields(view)} & {"kind", "tests", "verdicts"}


def test_the_leaderboard_with_and_without_a_policy(capsys):
    untouched = stub(11)["score"]
    capsys.readouterr()  # what the set-up cell prints
    leaderboard(RIGHT)
    head, *rows = capsys.readouterr().out.splitlines()
    names = [row[:15].strip() for row in rows]
    assert sorted(names) == sorted(["yours", *exercise_capstone.RIVALS]) and "difference" in head
    successes = [float(row[15:23]) for row in rows]
    assert successes == sorted(successes, reverse=True)
    leaderboard(untouched)
    assert capsys.readouterr().out.splitlines()[-1] == "yours: not attempted yet"
    leaderboard(lambda view: 1.0)
    assert capsys.readouterr().out.splitlines()[-1] == (
        "yours: ValueError: no run without one number for each lesson in each stream, none of them NaN")
