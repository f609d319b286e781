import numpy as np
import pytest

from helpers.eviction import victims
from helpers.governance import (
    NEVER,
    Policy,
    View,
    cut_above_baseline,
    cut_fixed,
    least_recent_first,
    least_used_first,
    least_worth_first,
    nearest,
    newest,
    nothing,
    oldest_first,
    oracle,
    similarity_by_residual,
    similarity_by_worth,
    standard_policies,
)
from helpers.lessons import Lesson
from helpers.worth_counters import MemoryWorth
from helpers.worth_online import ResidualWorth


def view(plus=(0, 0, 0), minus=(0, 0, 0), similarity=(0.9, 0.8, 0.5), **fields):
    """One stream, three lessons at hand, the first one arrived last."""
    similarity = np.array([similarity], dtype=float)
    shape = similarity.shape
    usual = {"episode": 5, "similarity": similarity, "at_hand": similarity > 0, "born": np.array([[4, 0, 2]]),
             "rank": np.array([[2, 0, 1]]), "uses": np.zeros(shape), "touched": np.zeros(shape),
             "worth": MemoryWorth.of([plus], [minus]), "baseline": 0.1, "family": np.array([0]),
             "lesson_family": np.array([0, 0, -1]), "luck": np.full(shape, 0.5)}
    return View(**usual | fields)


def test_scores_that_ask_for_no_record():
    assert (nothing(view()) == NEVER).all()
    assert nearest(view()).tolist() == [[0.9, 0.8, 0.5]]
    assert newest(view()).tolist() == [[2, 0, 1]]


def test_a_cut_takes_out_what_is_shown_bad_and_waits_for_evidence():
    seen = view(plus=(0, 2, 0), minus=(4, 6, 3))
    assert cut_fixed(seen).tolist() == [[NEVER, NEVER, 0.5]]  # 0 of 4, 2 of 8; 0 of 3 is too little
    assert cut_fixed(seen, below=0.2).tolist() == [[NEVER, 0.8, 0.5]]
    assert cut_fixed(seen, min_evidence=3).tolist() == [[NEVER, NEVER, NEVER]]


def test_a_relative_cut_stands_a_margin_above_the_rate_without_memory():
    seen = view(plus=(0, 2, 0), minus=(4, 6, 3))
    assert cut_above_baseline(seen).tolist() == [[NEVER, 0.8, 0.5]]  # 0.1 + 0.05
    assert cut_above_baseline(view(plus=(0, 2, 0), minus=(4, 6, 3), baseline=0.3)).tolist() == [[NEVER, NEVER, 0.5]]
    assert cut_above_baseline(view(plus=(9, 0, 0), baseline=1.0)).tolist() == [[0.9, 0.8, 0.5]]


def test_re_ranking_multiplies_similarity_by_the_rule_of_succession():
    assert similarity_by_worth(view(plus=(0, 3, 0), minus=(2, 0, 0))).round(3).tolist() == [[0.225, 0.64, 0.25]]


def test_residual_re_ranking_counts_against_the_task_type():
    worth = ResidualWorth(3, types=1, shape=(1,))
    worth.surprise, worth.evidence = np.array([[-1.0, 1.0, -9.0]]), np.array([[2.0, 2.0, 9.0]])
    found = similarity_by_residual(view(worth=worth))
    assert found.round(4).tolist() == [[0.225, 0.6, 0.005]]  # 0.9 × ¼, 0.8 × ¾, 0.5 × the floor of 0.01


def test_the_oracle_shows_what_holds_the_rule_and_nothing_else():
    assert oracle(view(good=np.array([[False, True, False]]))).tolist() == [[NEVER, 0.8, NEVER]]


def order(keys, rank):
    return np.lexsort((rank, *keys))[0].tolist()


def test_what_is_given_up_first():
    seen = view(uses=np.array([[1, 3, 1]]), touched=np.array([[5.0, 2.0, 4.0]]))
    assert order(oldest_first(seen), seen.rank) == [1, 2, 0]
    assert order(least_recent_first(seen), seen.rank) == [1, 2, 0]
    assert order(least_used_first(seen), seen.rank) == [2, 0, 1]


@pytest.mark.parametrize("name, keys", [("worth", least_worth_first), ("lru", least_recent_first),
                                        ("lfu", least_used_first), ("fifo", oldest_first)])
def test_the_order_is_that_of_the_memory_on_disk(name, keys):
    rng = np.random.default_rng(0)
    plus, minus = rng.integers(0, 12, (2, 60))
    touched = rng.permutation(60)
    lessons = [Lesson(i, "", "text", hits_plus=float(p), hits_minus=float(m), uses=int(p + m))
               for i, (p, m) in enumerate(zip(plus, minus, strict=True))]
    expected = victims(name, lessons, 60, touched=dict(enumerate(touched)), rng=rng)
    ids = np.arange(60)[None]
    seen = view(plus=plus, minus=minus, similarity=np.ones(60), uses=(plus + minus)[None].astype(float), rank=ids,
                touched=touched[None].astype(float))
    assert order(keys(seen), ids) == expected


def test_every_standard_policy_scores_every_lesson_and_the_names_are_the_keys():
    policies = standard_policies(capacity=2)
    for name, policy in policies.items():
        assert policy.name == name
        evidence = policy.evidence(3, 1, 2)
        fields = {"good": np.array([[True, False, False]])} if policy.oracle else {}
        assert np.shape(policy.score(view(worth=evidence, **fields))) == (1, 3), name
    assert {policy.capacity for policy in policies.values()} == {2, None}
    assert [name for name, policy in policies.items() if policy.oracle] == ["oracle"]
    assert [name for name, policy in policies.items() if policy.placebo] == ["re-ranking, placebo"]


def test_the_discounted_policy_forgets():
    worth = standard_policies()["re-ranking, discounted"].evidence(2, 1, 1)
    for _ in range(3):
        worth.update([[0]], [True])
    worth.update([[0]], [False])
    assert worth.value[0, 0] < 0.75


@pytest.mark.parametrize("fields", [{"capacity": 3}, {"give_up": oldest_first},
                                    {"capacity": 0, "give_up": oldest_first}])
def test_a_capacity_comes_with_what_to_give_up(fields):
    with pytest.raises(ValueError, match="policy 'mine': expected a capacity of at least one lesson with give_up"):
        Policy("mine", nearest, **fields)


