from math import erfc, sqrt

import numpy as np
import pytest
from exercise_answers import loses, outcome, right_and_not_attempted, solution

from helpers import theory
from helpers.exercise_causes import (
    MOST,
    PAIRS,
    RUNS,
    SIX,
    before_and_after,
    check_dropout,
    check_residual,
    floats,
    formula_power,
    found_by,
    naive_power,
    p_value,
)
from helpers.exercises import TODO, NotAttempted
from helpers.worth import Stream, residual

CHECKS = {7: (check_residual, "residual_worth"), 8: (check_dropout, ("dropout_test", "EPISODES_NEEDED"))}


@pytest.mark.parametrize("number", CHECKS)
def test_the_solution_is_right_and_the_stub_not_attempted(number):
    right_and_not_attempted(number, *CHECKS[number])


# --- exercise 7 -----------------------------------------------------------------------------------------------------

def by_loop(rate_of, *, without=0.0, per_use=True):
    """Residual worth with another rate to compare with; `rate_of` gets the arrays, an episode and a memory."""
    def residual_worth(retrieved, success, task_type, n):
        total, uses = np.zeros(n), np.zeros(n)
        for episode, ids in enumerate(retrieved):
            for memory in ids:
                total[memory] += success[episode] - rate_of(retrieved, success, task_type, episode, memory)
                uses[memory] += 1
        mean = total / np.maximum(uses, 1) if per_use else total
        return np.where(uses > 0, mean, without)
    return residual_worth


def of_the_type(retrieved, success, task_type, episode, memory):
    return success[task_type == task_type[episode]].mean()


def of_all(retrieved, success, task_type, episode, memory):
    return success.mean()


def adds_once(retrieved, success, task_type, n):
    rates = np.array([success[task_type == kind].mean() for kind in (0, 1)])
    total, uses = np.zeros(n), np.zeros(n)
    for slot in retrieved.T:
        total[slot] += success - rates[task_type]
        uses[slot] += 1
    return total / np.maximum(uses, 1)


def own_rate(retrieved, success, task_type, n):
    worth = np.zeros(n)
    for memory in range(n):
        mine = (retrieved == memory).any(axis=1)
        for kind in (0, 1):
            of_kind = mine & (task_type == kind)
            if of_kind.any():
                worth[memory] += (success[of_kind] - success[of_kind].mean()).sum()
    return worth


def small(wrong):
    """The wrong answer on short streams; on the long one the right values, so that a slow loop costs nothing."""
    right = solution(7)["residual_worth"]
    return lambda retrieved, *rest: (wrong if len(retrieved) < 10 else right)(retrieved, *rest)


def grand_mean(retrieved, success, task_type, n):
    return solution(7)["residual_worth"](retrieved, success, 0 * task_type, n)


WRONG_RESIDUAL = [
    (grand_mean, ["got -0.32", "expected above 0.6", "Subtracting the mean of all outcomes changes no order",
                  "neither surprises"]),
    (small(by_loop(of_the_type, without=0.5)), ["got 0.5", "expected 0.0", "best memory of all"]),
    (small(by_loop(of_the_type, per_use=False)), ["got array([ 0.25", "(3 · 0.25 − 0.5) / 4"]),
    (adds_once, ["got array([", "adds once only"]),
    (own_rate, ["got array([0., 0., 0.])", "not over those of one memory"]),
    (lambda *given: solution(7)["residual_worth"](*given)[:2], ["IndexError"])]


@pytest.mark.parametrize(("wrong", "words"), WRONG_RESIDUAL,
    ids=["grand mean", "½ without evidence", "sum", "added once", "own rate", "too short"])
def test_a_wrong_residual_is_told_why(wrong, words):
    assert loses(check_residual, wrong, *words).number == 7


def test_six_episodes_by_hand():
    values = residual(Stream(**SIX, n=4))
    assert np.allclose(values, [(3 * 0.25 - 0.5) / 4, (2 * 0.25 - 0.75 + 0.5 - 0.5) / 5, (0.25 - 0.75 + 0.5) / 3, 0])
    six = {name: np.array(column) for name, column in SIX.items()}
    assert np.allclose(by_loop(of_the_type)(**six, n=4), values)
    assert not np.allclose(by_loop(of_all)(**six, n=4), values)


def test_before_and_after_shows_rho_of_the_readers_function(capsys):
    answer = solution(7)["residual_worth"]
    capsys.readouterr()  # what the notebook's set-up printed
    before_and_after(answer)
    lines = capsys.readouterr().out.splitlines()
    name, before, after = lines[-1].split()
    assert len(lines) == RUNS + 2 and name == "mean" and float(before) < -0.25 and float(after) > 0.75


@pytest.mark.parametrize(("given", "words"), [
    (lambda *_: TODO, "comes when residual_worth is written"), (TODO, "comes when residual_worth is written"),
    (lambda *_: 1 / 0, "stopped with ZeroDivisionError"), (lambda *_: [1.0], "stopped with ValueError"),
    (lambda *_: "?", "stopped with ValueError")], ids=["stub", "TODO", "raises", "short", "text"])
def test_before_and_after_never_stops_the_notebook(capsys, given, words):
    before_and_after(given)
    assert words in capsys.readouterr().out


def test_a_function_may_change_the_arrays_it_gets():
    def greedy(retrieved, success, task_type, n):
        found = solution(7)["residual_worth"](retrieved, success, task_type, n)
        retrieved[:], task_type[:] = 0, 0
        return found
    assert outcome(check_residual, greedy).outcome == outcome(check_residual, greedy).outcome == "right"


def test_a_slow_function_is_asked_once_about_the_large_world():
    sizes = []

    def slow(retrieved, success, task_type, n):
        sizes.append(n)
        return solution(7)["residual_worth"](retrieved, success, task_type, n)
    assert outcome(check_residual, slow).outcome == "right" and sizes.count(100) == 1


def test_floats_of_nothing_yet_is_not_attempted():
    with pytest.raises(NotAttempted):
        floats(TODO)


# --- exercise 8 -----------------------------------------------------------------------------------------------------

NEEDED = 2661


def z_test(pick, *, tails=lambda z: erfc(abs(z) / sqrt(2)), guarded=True):
    """A test that compares the two sets of episodes that `pick` chooses."""
    def dropout_test(kept_a, kept_b, success):
        sides = [success[chosen] for chosen in pick(kept_a, kept_b)]
        n = np.array([len(side) for side in sides])
        pooled = sum(side.sum() for side in sides) / max(n.sum(), 1)
        if guarded and (n.min() == 0 or pooled in (0, 1)):
            return 1.0
        with np.errstate(all="ignore"):
            z = (sides[0].sum() / n[0] - sides[1].sum() / n[1]) / np.sqrt(pooled * (1 - pooled) * (1 / n).sum())
        return tails(z)
    return dropout_test


def alone(a, b):
    return a & ~b, b & ~a


def all_with(a, b):
    return a, b


def with_and_without(a, b):
    return a, ~a


def not_the_other(a, b):
    return ~b, ~a


WRONG_TEST = [
    (z_test(all_with), ["expected 0.0062", "finds the pair in 0.00 of these runs", "showed exactly a with"]),
    (z_test(with_and_without), ["not all with a and all without", "expected 0.0062"]),
    (z_test(not_the_other), ["not all with a and all without", "expected 0.0062"]),
    (z_test(alone, tails=lambda z: erfc(z / sqrt(2)) / 2), ["got 0.0031", "one-sided p-value is half", "Take |z|"]),
    (z_test(alone, tails=lambda z: erfc(z / sqrt(2))), ["got 1.9938", "Take |z|"]),
    (z_test(alone, tails=lambda z: z), ["got 2.7386", "expected 0.0062"]),
    (z_test(alone, guarded=False), ["got nan", "expected 1.0", "no evidence", "not NaN"])]


@pytest.mark.parametrize(("wrong", "words"), WRONG_TEST,
    ids=["naive", "with and without", "neither counts", "one-sided", "z unsigned", "z itself", "no guard"])
def test_a_wrong_test_is_told_why(wrong, words):
    assert loses(check_dropout, (wrong, NEEDED), *words).number == 8


WRONG_PLAN = [
    (NEEDED / 2, "got 0.5"), (2 * 0.25 * (1.96 / 0.128) ** 2 / 0.09, "got 0.5"), (240, "got 0.13"), (2095, "got 0.7"),
    (2395, "got 0.76"), (4000, "got 0.93"), (3 * 10**6, "expected a number in [1, 4000]"),
    (0, "expected a number in [1, inf)"), ("many", "expected a number in [1, inf)")]


@pytest.mark.parametrize(("needed", "power"), WRONG_PLAN,
    ids=["one side", "half power", "episodes apart", "one-sided", "ε without 1 − ε", "too many", "far too many", "none",
         "text"])
def test_a_wrong_number_of_episodes_is_told_its_power(needed, power):
    verdict = loses(check_dropout, (z_test(alone), needed), power, "expected 0.8 ± 0.02")
    assert verdict.points >= 7


def test_half_of_the_exercise_gets_half_of_the_points():
    only_test = outcome(check_dropout, (z_test(alone), TODO))
    only_plan = outcome(check_dropout, (lambda *_: TODO, NEEDED))
    assert [(half.outcome, half.points) for half in (only_test, only_plan)] == [("wrong", 7), ("wrong", 2)]
    assert "  ✘" not in only_test.message + only_plan.message


def test_a_test_may_change_the_arrays_it_gets():
    def greedy(kept_a, kept_b, success):
        p = z_test(alone)(kept_a, kept_b, success)
        kept_a[:], kept_b[:], success[:] = True, True, True
        return p
    assert [outcome(check_dropout, (greedy, NEEDED)).outcome for _ in range(2)] == ["right", "right"]


def test_p_values_by_hand():
    assert p_value((2, 0), (0, 2)) == pytest.approx(erfc(2 / sqrt(2)))
    assert p_value((0, 0), (3, 1)) == p_value((5, 0), (5, 0)) == p_value((1, 1), (1, 1)) == 1.0


def test_the_power_by_formula_is_that_of_the_simulated_runs():
    assert formula_power(NEEDED) == 0.8 and formula_power(1) == 0.03
    for needed in (1330, NEEDED, MOST):
        power = formula_power(needed)
        slack = 4 * sqrt(power * (1 - power) / PAIRS) + 0.01
        assert abs(found_by(z_test(alone), needed) - power) < slack
    assert naive_power() < 0.05 and theory.hitchhiker_gap(0) == 0


def test_the_number_of_episodes_is_checked_before_any_test_runs():
    with pytest.raises(ValueError, match=r"EPISODES_NEEDED: expected a number in \[1, 4000\], got 4001"):
        found_by(lambda *_: 1 / 0, 4001)
