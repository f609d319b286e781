"""Worlds without texts: exact sampling, seeds that do not depend on each other, and what is refused."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from helpers import world_draws, world_feedback
from helpers.world_draws import checked_seeds, generator, given_utilities, success_chance
from helpers.worlds import (
    USEFUL,
    USELESS,
    World,
    difficulty,
    drift,
    feedback,
    hitchhiker,
    load_text_memories,
    sample_distinct,
    sample_weighted,
    text,
    uniform,
)

EXACT = np.eye(8)[list(load_text_memories().topics)]  # each query retrieves its gold memory and nothing else
WORLDS = {
    "uniform": lambda seeds: uniform(seeds, n=12, k=3, episodes=60),
    "uniform, Zipf, dropout": lambda seeds: uniform(seeds, n=12, k=3, episodes=60, popularity=1.5, dropout=0.2),
    "difficulty": lambda seeds: difficulty(seeds, n=12, k=3, specialists=4, episodes=60, explore=0.1, dropout=0.2),
    "feedback": lambda seeds: feedback(seeds, n=12, k=3, episodes=60, temperature=0.1),
    "feedback, prior, explore": lambda seeds: feedback(seeds, n=300, k=9, episodes=250, prior=5, explore=0.1),
    "hitchhiker": lambda seeds: hitchhiker(seeds, n=12, k=3, retrievals=40, dropout=0.2),
    "drift": lambda seeds: drift(seeds, change=20, episodes=60),
    "text": lambda seeds: text(seeds, EXACT, episodes=60, change=20, dropout=0.2),
}


def arrays(world: World, index: int) -> dict[str, np.ndarray]:
    """Everything one seed of a world has."""
    stream = world.stream.run(index)
    found = {name: getattr(stream, name) for name in ("retrieved", "success", "task_type", "kept")}
    found |= {name: getattr(world, name)[index] for name in ("utility", "chance")}
    if world.specialist is not None:
        found["specialist"] = world.specialist[index]
    return {name: array for name, array in found.items() if array is not None}


# --- every world ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", WORLDS)
def test_a_seed_does_not_depend_on_the_others(name) -> None:
    batch, turned, alone = (WORLDS[name](seeds) for seeds in ([3, 7, 11], [11, 3], [11]))
    assert batch.seeds == (3, 7, 11)
    for found, index in ((turned, 0), (alone, 0)):
        for part, array in arrays(found, index).items():
            np.testing.assert_array_equal(array, arrays(batch, 2)[part], err_msg=part)
    assert not np.array_equal(batch.stream.success[0], batch.stream.success[1])  # and seeds differ


@pytest.mark.parametrize("name", WORLDS)
def test_outcomes_come_with_the_chance_that_is_told(name) -> None:
    world = WORLDS[name](range(40))
    assert world.chance.min() >= 0
    assert world.chance.max() <= 1
    excess = (world.stream.success - world.chance).sum(axis=0)  # (episodes,)
    noise = np.sqrt((world.chance * (1 - world.chance)).sum(axis=0))
    assert np.abs(excess / noise).max() < 5
    total = excess.sum() / np.sqrt((noise**2).sum())
    assert abs(total) < 4


@pytest.mark.parametrize("name", ["uniform, Zipf, dropout", "difficulty", "hitchhiker"])
def test_the_chance_is_that_of_the_utilities_the_agent_saw(name) -> None:
    world = WORLDS[name]([5])
    stream, utility = world.stream.run(0), world.utility[0]
    for episode in range(stream.episodes):
        helped = [utility[memory] if kept else 0.5
                  for memory, kept in zip(stream.retrieved[episode], stream.kept[episode], strict=True)]
        base = 0.5 if stream.task_type is None else (0.755, 0.345)[stream.task_type[episode]]
        assert world.chance[0, episode] == pytest.approx(min(max(base + 0.8 * (np.mean(helped) - 0.5), 0), 1))


@pytest.mark.parametrize("make", [
    lambda dropout: uniform([1], n=9, k=3, episodes=40, dropout=dropout),
    lambda dropout: difficulty([1], n=9, k=3, specialists=3, episodes=40, dropout=dropout),
    lambda dropout: hitchhiker([1], n=9, k=3, retrievals=40, dropout=dropout),
    lambda dropout: text([1], EXACT, episodes=40, dropout=dropout)])
def test_dropout_changes_only_what_is_kept(make) -> None:
    without, some, everything = make(0.0), make(0.3), make(1.0)
    assert without.stream.kept is None
    assert not everything.stream.kept.any()
    assert 0 < some.stream.kept.mean() < 1
    for world in (some, everything):
        np.testing.assert_array_equal(world.stream.retrieved, without.stream.retrieved)
        np.testing.assert_array_equal(world.utility, without.utility)


def test_the_share_withheld_is_the_dropout() -> None:
    kept = uniform(range(20), n=20, k=5, episodes=500, dropout=0.3).stream.kept
    assert abs((~kept).mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / kept.size)


# --- sampling ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("n", "k"), [(4, 3), (4, 4), (5, 1), (6, 2), (3, 3)])
def test_every_ordered_choice_is_equally_likely(n, k) -> None:
    choices = {choice: i for i, choice in enumerate(itertools.permutations(range(n), k))}
    drawn = sample_distinct(np.random.default_rng(1), n, k, 500 * len(choices))
    counts = np.bincount([choices[tuple(row)] for row in drawn.tolist()], minlength=len(choices))
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(("n", "k"), [(100, 100), (65_535, 4), (65_536, 4), (65_537, 4), (200_000, 3)])
def test_sampling_reaches_every_number_and_repeats_none(n, k) -> None:
    drawn = sample_distinct(np.random.default_rng(2), n, k, 20_000)
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert drawn.max() < n
    ordered = np.sort(drawn, axis=1)
    assert (ordered[:, 1:] > ordered[:, :-1]).all()
    for column in drawn.T:  # the mean of numbers uniform below n
        assert abs(column.mean() - (n - 1) / 2) < 4 * n / np.sqrt(12 * len(column))
    assert sample_distinct(np.random.default_rng(2), n, k, 0).shape == (0, k)


def test_weighted_sampling_draws_one_after_the_other() -> None:
    weights = np.array([4.0, 2.0, 1.0, 1.0])
    share = weights / weights.sum()
    expected = {}
    for pair in itertools.combinations(range(4), 2):
        i, j = pair
        expected[pair] = share[i] * share[j] / (1 - share[i]) + share[j] * share[i] / (1 - share[j])
    drawn = np.sort(sample_weighted(np.random.default_rng(0), weights, 2, 20_500), axis=1)
    counts = np.array([(drawn == pair).all(axis=1).sum() for pair in expected])
    assert counts.sum() == 20_500
    assert chisquare(counts, 20_500 * np.array(list(expected.values()))).pvalue > 1e-3
    assert sorted(sample_weighted(np.random.default_rng(0), weights, 4, 1)[0]) == [0, 1, 2, 3]


def test_popularity_decides_who_is_retrieved() -> None:
    retrieved = uniform(range(40), n=5, k=1, episodes=500, popularity=1.0).stream.retrieved
    share = (1 / np.arange(1, 6)) / (1 / np.arange(1, 6)).sum()
    counts = np.bincount(retrieved.ravel(), minlength=5)
    assert chisquare(counts, retrieved.size * share).pvalue > 1e-3


# --- uniform and difficulty ----------------------------------------------------------------------------------

def test_chances_by_hand() -> None:
    retrieved = np.array([[[0, 1], [2, 1]]])
    utility = np.array([[1.0, 0.0, 0.5]])
    np.testing.assert_allclose(success_chance(utility, retrieved, base=0.5, gain=0.8), [[0.5, 0.3]])
    kept = np.array([[[True, False], [True, True]]])
    np.testing.assert_allclose(success_chance(utility, retrieved, base=0.5, gain=0.8, kept=kept), [[0.7, 0.3]])
    np.testing.assert_allclose(success_chance(utility, retrieved, base=np.array([[0.9, 0.1]]), gain=1.0), [[0.9, 0.0]])


def test_utilities_can_be_given_to_all_seeds_or_to_each() -> None:
    same = uniform([0, 1], n=3, k=1, episodes=5, utility=[0.1, 0.2, 0.3])
    np.testing.assert_array_equal(same.utility, [[0.1, 0.2, 0.3]] * 2)
    each = uniform([0, 1], n=2, k=1, episodes=5, utility=[[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(each.utility, [[0.1, 0.2], [0.3, 0.4]])


def test_utilities_are_uniform_and_the_same_in_every_world() -> None:
    worlds = [uniform(range(50), episodes=1), difficulty(range(50), episodes=1), feedback(range(50), episodes=1)]
    u = worlds[0].utility
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * u.size)
    assert u.std() == pytest.approx(1 / np.sqrt(12), rel=0.02)
    for world in worlds[1:]:
        np.testing.assert_array_equal(world.utility, u)


def test_all_memories_every_time() -> None:
    retrieved = uniform([0], n=4, k=4, episodes=30).stream.retrieved
    np.testing.assert_array_equal(np.sort(retrieved, axis=2), np.broadcast_to(np.arange(4), (1, 30, 4)))


def test_specialists_are_the_best_and_only_met_on_hard_tasks() -> None:
    world = difficulty(range(30), n=20, k=4, specialists=6, hard=0.3, episodes=300)
    stream = world.stream
    assert (world.specialist.sum(axis=1) == 6).all()
    assert (np.where(world.specialist, world.utility, 2).min(axis=1)
            > np.where(world.specialist, -1, world.utility).max(axis=1)).all()
    met = np.take_along_axis(world.specialist[:, None, :], stream.retrieved, axis=2)  # (seeds, episodes, k)
    assert not met[stream.task_type == 0].any()
    hard = stream.task_type.mean()
    assert abs(hard - 0.3) < 4 * np.sqrt(0.3 * 0.7 / stream.task_type.size)
    on_hard = met[stream.task_type == 1]
    assert abs(on_hard.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / on_hard.size)  # 6 of 20, without replacement: less


def test_exploring_easy_tasks_meet_specialists_too() -> None:
    world = difficulty(range(30), n=20, k=4, specialists=10, hard=0.3, explore=0.2, episodes=300)
    met = np.take_along_axis(world.specialist[:, None, :], world.stream.retrieved, axis=2).any(axis=2)
    easy = met[world.stream.task_type == 0]
    expected = 0.2 * (1 - (10 * 9 * 8 * 7) / (20 * 19 * 18 * 17))  # at least one of 4
    assert abs(easy.mean() - expected) < 4 * np.sqrt(expected / easy.size)


def test_a_run_without_a_hard_task_still_has_two_types() -> None:
    stream = difficulty([0], n=10, k=2, specialists=3, hard=0.0, episodes=20).stream
    assert (stream.task_type == 0).all()
    assert stream.types == 2


# --- hitchhiker and drift ------------------------------------------------------------------------------------

@pytest.mark.parametrize(("apart", "alone"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_the_pair_is_together_as_often_as_asked(apart, alone) -> None:
    world = hitchhiker(range(5), apart=apart, retrievals=40, n=10, k=3)
    has = [(world.stream.retrieved == memory).any(axis=2) for memory in (USEFUL, USELESS)]
    assert (has[0].sum(axis=1) == 40).all()
    assert (has[1].sum(axis=1) == 40).all()
    assert ((has[0] & ~has[1]).sum(axis=1) == alone).all()
    assert (has[0] | has[1]).all()
    assert world.stream.episodes == 40 + alone
    np.testing.assert_array_equal(world.utility[:, [USEFUL, USELESS]], [[0.9, 0.1]] * 5)


def test_companions_of_the_pair_are_drawn_alike() -> None:
    retrieved = hitchhiker(range(20), apart=0.5, retrievals=200, n=8, k=3).stream.retrieved
    counts = np.bincount(retrieved.ravel(), minlength=8)[2:]
    assert chisquare(counts).pvalue > 1e-3
    kinds = np.stack([(retrieved == memory).any(axis=2) for memory in (USEFUL, USELESS)])
    early, late = kinds[:, :, :150].mean(), kinds[:, :, 150:].mean()
    assert abs(early - late) < 0.03  # kinds are mixed in time


def test_drift_by_hand() -> None:
    world = drift([0, 1], before=1.0, after=0.0, change=2, episodes=5)
    np.testing.assert_array_equal(world.stream.success, [[True, True, False, False, False]] * 2)
    np.testing.assert_array_equal(world.stream.retrieved, np.zeros((2, 5, 1)))
    np.testing.assert_array_equal(world.utility, [[0.0], [0.0]])
    assert drift([0], before=1.0, change=9, episodes=5).stream.success.all()  # a change that never comes


# --- feedback ------------------------------------------------------------------------------------------------

def feedback_loop(seed: int, *, n: int, k: int, episodes: int, temperature: float, prior: float,
                  explore: float) -> tuple[np.ndarray, np.ndarray]:
    """The world as it reads, one seed and one episode at a time."""
    utility = generator(seed, "utility").random(n)
    times, luck, blind = (generator(seed, purpose) for purpose in ("retrieval", "outcome", "task"))
    hits_plus, hits = [0] * n, [0] * n
    retrieved, success = [], []
    for _ in range(episodes):
        worth = [(won + prior / 2) / (seen + prior) if seen + prior else 0.5
                 for won, seen in zip(hits_plus, hits, strict=True)]
        rate = np.ones(n) if blind.random() < explore else np.exp(np.array(worth) / temperature)
        chosen = np.argsort(times.standard_exponential(n) / rate)[:k]
        ok = bool(luck.random() < 0.5 + 0.8 * (utility[chosen].mean() - 0.5))
        for memory in chosen:
            hits[memory] += 1
            hits_plus[memory] += ok
        retrieved.append(chosen)
        success.append(ok)
    return np.array(retrieved), np.array(success)


@pytest.mark.parametrize(("temperature", "prior", "explore"), [(0.5, 0, 0), (0.05, 0, 0), (0.1, 6, 0), (0.1, 0, 0.3)])
def test_feedback_is_the_plain_loop(temperature, prior, explore) -> None:
    setting = {"n": 9, "k": 3, "episodes": 400, "temperature": temperature, "prior": prior, "explore": explore}
    world = feedback([2, 4], **setting)
    for index, seed in enumerate((2, 4)):
        retrieved, success = feedback_loop(seed, **setting)
        np.testing.assert_array_equal(world.stream.retrieved[index], retrieved)
        np.testing.assert_array_equal(world.stream.success[index], success)


def test_feedback_draws_by_softmax() -> None:
    # After the first episode one memory of three has worth 1 or 0, the others ½; with k = 1 the second is a softmax.
    world = feedback(range(1500), n=3, k=1, episodes=2, temperature=0.4)
    first, second = world.stream.retrieved[:, 0, 0], world.stream.retrieved[:, 1, 0]
    again = first == second
    for won in (True, False):
        weight = np.exp(np.array([float(won), 0.5, 0.5]) / 0.4)
        share = weight[0] / weight.sum()
        rows = world.stream.success[:, 0] == won
        assert abs(again[rows].mean() - share) < 4 * np.sqrt(share * (1 - share) / rows.sum())


def test_feedback_does_not_depend_on_the_block(monkeypatch) -> None:
    whole = feedback([1, 2], n=10, k=2, episodes=70)
    monkeypatch.setattr(world_feedback, "BLOCK", 33)
    parts = feedback([1, 2], n=10, k=2, episodes=70)
    np.testing.assert_array_equal(whole.stream.retrieved, parts.stream.retrieved)
    np.testing.assert_array_equal(whole.stream.success, parts.stream.success)


def test_feedback_at_its_edges() -> None:
    everything = feedback([0], n=4, k=4, episodes=20).stream.retrieved
    np.testing.assert_array_equal(np.sort(everything, axis=2), np.broadcast_to(np.arange(4), (1, 20, 4)))
    cold = feedback([0], n=50, k=1, episodes=300, temperature=0.001, gain=1.0)  # the best so far, and only that
    assert np.isfinite(cold.chance).all()
    assert len(np.unique(cold.stream.retrieved[0, -100:])) < 10
    blind = feedback(range(20), n=5, k=1, episodes=400, temperature=0.01, explore=1.0).stream.retrieved
    assert chisquare(np.bincount(blind.ravel(), minlength=5)).pvalue > 1e-3


# --- what is refused -----------------------------------------------------------------------------------------

@pytest.mark.parametrize(("call", "words"), [
    (lambda: uniform([]), r"seeds: expected at least one seed, got none"),
    (lambda: uniform(5), r"seeds: expected a sequence such as range\(20\), got 5"),
    (lambda: checked_seeds([0, -1]), r"seeds: expected a whole number of at least 0, got -1"),
    (lambda: uniform([0.5]), r"seeds: .* got 0.5"),
    (lambda: uniform([0], n=0), r"n: expected a whole number of at least 1, got 0"),
    (lambda: uniform([0], n=4, k=5), r"k: expected a whole number from 1 to 4, got 5"),
    (lambda: uniform([0], k=0), r"k: expected a whole number from 1 to 100, got 0"),
    (lambda: uniform([0], episodes=0), r"episodes: expected a whole number of at least 1, got 0"),
    (lambda: uniform([0], base=1.2), r"base: expected a number in \[0, 1\], got 1.2"),
    (lambda: uniform([0], gain=-0.1), r"gain: expected a number in \[0, 1\], got -0.1"),
    (lambda: uniform([0], popularity=-1), r"popularity: expected a number in \[0, inf\), got -1"),
    (lambda: uniform([0], episodes=5, dropout=1.5), r"dropout: expected a number in \[0, 1\], got 1.5"),
    (lambda: uniform([0], n=3, k=1, utility=[0.1, 0.2]), r"utility: expected shape \(3,\) or \(1, 3\), got \(2,\)"),
    (lambda: given_utilities([0.1, 1.2], [0], 2), r"utility: expected numbers in \[0, 1\], got 1.2"),
    (lambda: difficulty([0], n=10, k=5, specialists=6), r"k: expected a whole number from 1 to 4, got 5"),
    (lambda: difficulty([0], n=10, specialists=10), r"specialists: expected a whole number from 0 to 9, got 10"),
    (lambda: difficulty([0], hard=-0.1), r"hard: expected a number in \[0, 1\]"),
    (lambda: difficulty([0], explore=2), r"explore: expected a number in \[0, 1\], got 2"),
    (lambda: difficulty([0], base_easy=2), r"base_easy: expected a number in \[0, 1\], got 2"),
    (lambda: feedback([0], temperature=0), r"temperature: expected a number in \[0.001, inf\), got 0"),
    (lambda: feedback([0], prior=-1), r"prior: expected a number in \[0, inf\), got -1"),
    (lambda: feedback([0], explore=1.1), r"explore: expected a number in \[0, 1\], got 1.1"),
    (lambda: feedback([0], n=4, k=5), r"k: expected a whole number from 1 to 4, got 5"),
    (lambda: hitchhiker([0], k=1), r"k: expected a whole number from 2 to 99, got 1"),
    (lambda: hitchhiker([0], n=2), r"n: expected a whole number of at least 3, got 2"),
    (lambda: hitchhiker([0], apart=1.2), r"apart: expected a number in \[0, 1\], got 1.2"),
    (lambda: hitchhiker([0], retrievals=0), r"retrievals: expected a whole number of at least 1, got 0"),
    (lambda: hitchhiker([0], useful=1.2), r"useful: expected a number in \[0, 1\], got 1.2"),
    (lambda: drift([0], before=1.5), r"before: expected a number in \[0, 1\], got 1.5"),
    (lambda: drift([0], change=-1), r"change: expected a whole number of at least 0, got -1"),
    (lambda: drift([0], episodes=0), r"episodes: expected a whole number of at least 1, got 0"),
    (lambda: sample_distinct(np.random.default_rng(0), 3, 4, 1), r"k: expected a whole number from 1 to 3, got 4"),
])
def test_parameters_out_of_range_are_refused(call, words) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_purposes_have_streams_of_their_own() -> None:
    first = {generator(seed, purpose).random() for seed in range(3) for purpose in world_draws.PURPOSES}
    assert len(first) == 3 * len(world_draws.PURPOSES)
