
import numpy as np
import pytest
from exercise_answers import loses, outcome, right_and_not_attempted

from helpers.exercise_worth import (
    BEFORE,
    HAND,
    LAG,
    LONG,
    MEMORIES,
    check_fade,
    check_judge,
    drifting_log,
    formula_lag,
    small_log,
)
from helpers.exercises import TODO
from helpers.stats import proportion_interval

CHECKS = {5: (check_judge, "judge"), 6: (check_fade, ("fade", "GAMMA"))}


@pytest.mark.parametrize("number", CHECKS)
def test_the_solution_is_right_and_the_stub_not_attempted(number):
    right_and_not_attempted(number, *CHECKS[number])


# --- exercise 5 -----------------------------------------------------------------------------------------------------

def judged(*, skip=("infrastructure",), zero=(0, 0, "uncertain"), base=None, label=None):
    """`judge` with one thing done differently."""
    def judge(log, name, width=0.2):
        ended = [(names, how == "success") for names, how in log if how not in skip]
        own = [won for names, won in ended if name in names]
        plus, minus = sum(own), len(own) - sum(own)
        if not own:
            return zero
        rate = base if base is not None else sum(won for _, won in ended) / len(ended)
        low, high = proportion_interval(plus, plus + minus)
        return plus, minus, (label or by_interval)(plus / len(own), low, high, rate, width)
    return judge


def by_interval(ratio, low, high, rate, width):
    return "high" if low > rate else "low" if high < rate else "uncertain" if high - low > width else "mixed"


def wide_first(ratio, low, high, rate, width):
    return "uncertain" if high - low > width else by_interval(ratio, low, high, rate, width)


def fixed_thresholds(ratio, low, high, rate, width):
    return "high" if ratio >= 0.7 else "low" if ratio <= 0.3 else "mixed"


def swapped(log, name):
    plus, minus, label = judged()(log, name)
    return minus, plus, label


def divides(log, name):
    own = [how == "success" for names, how in log if name in names and how != "infrastructure"]
    return sum(own), len(own) - sum(own), "low" if sum(own) / len(own) < 0.5 else "high"


def one_counter(log, name):
    uses = sum(name in names for names, _ in log)
    return uses, uses, "uncertain"


WRONG_JUDGE = [
    (judged(zero=(0, 0, "low")), ["got (0, 0, 'low')", "0/0 is not 0", "never retrieved"]),
    (divides, ["ZeroDivisionError", "nothing to divide"]),
    (judged(skip=()), ["got (2, 2)", "expected (2, 1)", "moves neither counter", "do not count in the base rate"]),
    (one_counter, ["got (4, 4)", "expected (2, 1)"]),
    (swapped, ["got (1, 2)", "(plus, minus)"]),
    (judged(label=fixed_thresholds), ["Three of three is luck", "not to fixed numbers"]),
    (judged(base=0.5), ["got 'mixed'", "expected 'high'", "relative to the base rate of all episodes"]),
    (judged(label=wide_first), ["got 'uncertain'", "expected 'high'", "its width last"])]


@pytest.mark.parametrize(("wrong", "words"), WRONG_JUDGE,
    ids=["no evidence is low", "0/0", "infrastructure is a failure", "one counter", "swapped", "fixed thresholds",
         "base rate ½", "width first"])
def test_a_wrong_judge_is_told_why(wrong, words):
    assert loses(check_judge, wrong, *words).number == 5


def test_counters_alone_get_their_points():
    verdict = outcome(check_judge, lambda log, name: (*judged()(log, name)[:2], "mixed"))
    assert verdict.outcome == "wrong" and 3 <= verdict.points < 8


def test_the_hand_log_and_the_small_log_are_what_the_exercise_says():
    assert [judged()(HAND, name)[:2] for name in "ABCD"] == [(2, 1), (2, 1), (1, 2), (0, 0)]
    log, worth, labels = small_log()
    assert set(labels) == {"high", "low", "uncertain", "mixed"} and len(log) == 500
    assert worth.hits_plus[0] == sum("A" in names and how == "success" for names, how in log)


def test_a_check_leaves_the_log_as_it_was_for_the_next_one():
    before = list(HAND)
    outcome(check_judge, lambda log, name: log.clear())
    assert before == HAND and outcome(check_judge, judged()).outcome == "right"


# --- exercise 6 -----------------------------------------------------------------------------------------------------

RIGHT = 0.2 ** (1 / 30)


def faded(*, start=0.0, moved_only=False, all_fade=False, none=None):
    """`fade` with one thing done differently."""
    def fade(log, gamma):
        counts = {}
        for names, success in log:
            for name in names:
                counts.setdefault(name, [start, start])
            for name in counts if all_fade else names:
                for which in [int(success)] if moved_only else [0, 1]:
                    counts[name][which] *= gamma
            for name in names:
                counts[name][int(success)] += 1
        return {name: plus / (plus + minus) for name, (minus, plus) in counts.items()} or none or {}
    return fade


def moving_average(log, gamma):
    worth = {}
    for names, success in log:
        for name in names:
            worth[name] = gamma * worth.get(name, 0.5) + (1 - gamma) * success
    return worth


WRONG_FADE = [
    (faded(moved_only=True), ["got 0.5", "expected 0.2", "Discounting only the counter that moves"]),
    (faded(all_fade=True), ["Only retrievals of A age", "a rarely used memory would forget"]),
    (faded(start=1.0), ["expected 1.0", "without a prior"]),
    (moving_average, ["expected 1.0", "not at one half"]),
    (lambda log, gamma: faded()(log, 1.0), ["got 0.5", "multiplies both counters"]),
    (lambda log, gamma: faded()(log, gamma)["A"], ["TypeError"])]


@pytest.mark.parametrize(("wrong", "words"), WRONG_FADE,
    ids=["only what moves", "every episode", "prior", "moving average", "no discount", "one number"])
def test_a_wrong_fade_is_told_why(wrong, words):
    assert loses(check_fade, (wrong, RIGHT), *words).number == 6


WRONG_GAMMA = [
    (1 - 1 / 30, "47.5"), (0.5 ** (1 / 30), "69.7"), ((0.5 / 0.9) ** (1 / 30), "82.1"), (0.9, "15.3")]


@pytest.mark.parametrize(("gamma", "lag"), WRONG_GAMMA,
    ids=["1 − 1/lag", "half-life", "p after forgotten", "too fast"])
def test_a_wrong_gamma_is_told_the_lag_it_gives(gamma, lag):
    verdict = loses(check_fade, (faded(), gamma), f"got {lag}", "30 retrievals, give or take 1", "The half-life and")
    assert verdict.points == verdict.of - 5


@pytest.mark.parametrize("gamma", [1.2, "a half", None])
def test_no_discount_at_all_is_one_clear_line(gamma):
    assert "GAMMA: expected a number in (0, 1)" in loses(check_fade, (faded(), gamma)).message


def test_half_of_the_exercise_gets_half_of_the_points():
    only_fade, only_gamma = outcome(check_fade, (faded(), TODO)), outcome(check_fade, (lambda *_: TODO, RIGHT))
    assert (only_fade.outcome, only_gamma.outcome) == ("wrong", "wrong")
    assert only_fade.points + only_gamma.points == only_fade.of - 2  # the last part needs both
    assert "  –" in only_fade.message and "  ✘" not in only_fade.message


def test_the_lag_by_hand_and_in_the_log():
    assert formula_lag(RIGHT) == LAG and formula_lag(0.2) == 1.0
    with pytest.raises(ValueError, match=r"GAMMA: expected a number in \(0, 1\), got 1.0"):
        formula_lag(1.0)
    log = drifting_log()
    first = np.mean([won for _, won in log[:MEMORIES * LONG]])
    assert len(log) == MEMORIES * (LONG + LAG) and abs(first - BEFORE) < 4 * np.sqrt(0.09 / (MEMORIES * LONG))
