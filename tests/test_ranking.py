"""Ranks and measures, checked by hand, against a plain sort, and against shuffled rankings."""

import numpy as np
import pytest

from helpers.ranking import (
    cosines,
    estimate,
    first_ranks,
    leave_one_out_ranks,
    random_rank_probabilities,
    recall_at,
    reciprocal_ranks,
)


def test_cosines_by_hand_do_not_depend_on_length() -> None:
    assert cosines([[1, 0], [0, 2], [3, 4]]).tolist() == [[1, 0, 0.6], [0, 1, 0.8], [0.6, 0.8, 1]]
    assert cosines([[10, 0]], [[-3, 0], [0, 0.1]]).tolist() == [[-1, 0]]


def test_a_zero_row_is_like_nothing() -> None:
    similar = cosines([[1, 0], [0, 0]])
    assert similar[0, 0] == 1
    assert np.isnan([similar[0, 1], similar[1, 0], similar[1, 1]]).all()
    assert np.isnan(cosines(np.zeros((2, 0)))).all()  # a vocabulary without a word


def test_equal_texts_tie_though_their_float32_rows_were_rounded() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert (np.diag(cosines(rows)) == 1).all()
    assert cosines(np.zeros((0, 3))).shape == (0, 0)


@pytest.mark.parametrize(("vectors", "others", "words"), [
    ([1.0, 2.0], None, r"vectors: expected finite numbers of shape \(n, d\), got shape \(2,\)"),
    ([[np.nan]], None, "with NaN or infinity; look at the embedder"),
    ([[1.0]], [[np.inf]], "others: expected finite"),
    ([[1.0]], [[1.0, 2.0]], "one width, got 1 and 2 numbers; embed both with one embedder")])
def test_what_has_no_cosine_is_refused(vectors, others, words) -> None:
    with pytest.raises(ValueError, match=words):
        cosines(vectors, others)


def test_ranks_by_hand_also_for_a_candidate_that_is_in_no_ranking() -> None:
    scores = [[0.1, 0.9, 0.5], [0.1, np.nan, 0.5], [np.nan, 0.9, np.nan]]
    relevant = np.array([[True, False, False], [True, True, False], [True, False, True]])
    assert first_ranks(scores, relevant).tolist() == [3, 2, np.inf]


def test_ties_go_by_column_or_for_or_against_the_relevant_one() -> None:
    scores = np.array([[0.9, 0.5, 0.5, 0.5, 0.5]])
    relevant = np.array([[False, False, True, False, True]])
    assert {ties: first_ranks(scores, relevant, ties=ties).tolist() for ties in ("order", "best", "worst")} == {
        "order": [3], "best": [2], "worst": [4]}


def test_ranks_agree_with_a_plain_sort() -> None:
    rng = np.random.default_rng(1)
    scores, relevant = rng.integers(5, size=(200, 12)) / 4, rng.random((200, 12)) < 0.2
    relevant[:, 7] = True
    expected = []
    for row, wanted in zip(scores, relevant, strict=True):
        order = sorted(range(12), key=lambda i: (-row[i], i))
        expected.append(1 + [bool(wanted[i]) for i in order].index(True))
    assert first_ranks(scores, relevant).tolist() == expected


@pytest.mark.parametrize(("scores", "relevant", "words"), [
    ([[1.0]], [[True, False]], r"of one shape \(queries, candidates\), got \(1, 1\) and \(1, 2\) of bool"),
    ([[1.0]], [[1]], r"True or False.* of int"),
    ([1.0], [True], r"got \(1,\)"),
    ([[1.0], [1.0]], [[True], [False]], "query 1: expected a relevant candidate, got none; leave out")])
def test_what_cannot_be_ranked_is_refused(scores, relevant, words) -> None:
    with pytest.raises(ValueError, match=words):
        first_ranks(scores, relevant)


def test_an_unknown_rule_for_ties_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of order, best, worst, got 'mean'"):
        first_ranks([[1.0]], [[True]], ties="mean")


def test_an_item_never_finds_itself() -> None:
    scores = np.array([[1, 0.2, 0.8, 0.1], [0.2, 1, 0.3, 0.9], [0.8, 0.3, 1, 0.4], [0.1, 0.9, 0.4, 1]])
    assert leave_one_out_ranks(scores, ["a", "a", "b", "b"]).tolist() == [2, 3, 2, 2]
    assert scores[0, 0] == 1  # what was given is left as it was


def test_an_item_without_a_known_word_finds_nothing_and_is_not_found() -> None:
    scores = cosines([[1, 0], [0, 0], [1, 1]])
    assert leave_one_out_ranks(scores, ["a", "a", "a"]).tolist() == [1, np.inf, 1]
    assert leave_one_out_ranks(cosines([[1, 0], [0, 0]]), ["a", "a"]).tolist() == [np.inf, np.inf]


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected scores of shape \(2, 2\) for 2 labels, got \(3, 3\)"):
        leave_one_out_ranks(np.eye(3), ["a", "a"])
    with pytest.raises(ValueError, match="label 'lonely': expected two items or more, got one"):
        leave_one_out_ranks(np.eye(3), ["a", "lonely", "a"])


def test_measures_by_hand_and_at_their_edges() -> None:
    ranks = [1, 2, 3, 4, np.inf]
    assert recall_at(ranks, 1).tolist() == [1, 0, 0, 0, 0]
    assert recall_at(ranks, 3).tolist() == [1, 1, 1, 0, 0]
    assert reciprocal_ranks(ranks) == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 0])


@pytest.mark.parametrize("ranks", [[1, 0], [np.nan], [-2]])
def test_what_is_no_rank_is_refused(ranks) -> None:
    with pytest.raises(ValueError, match=f"expected ranks from 1 to infinity, got {float(ranks[-1])}"):
        reciprocal_ranks(ranks)
    with pytest.raises(ValueError, match="expected ranks from 1 to infinity"):
        recall_at(ranks, 1)


def test_a_top_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="k: expected 1 or more, got 0"):
        recall_at([1], 0)


def test_chance_by_hand_and_with_a_label_alone() -> None:
    chance = random_rank_probabilities(["a", "a", "b", "b", "b"])  # four others: one like "a", two like "b"
    assert chance[0] == pytest.approx([1 / 4] * 4)
    assert chance[2] == pytest.approx([1 / 2, 1 / 2 * 2 / 3, 1 / 2 * 1 / 3, 0])
    with pytest.raises(ValueError, match="label 'b': expected two items or more"):
        random_rank_probabilities(["a", "a", "b"])


def test_chance_agrees_with_shuffled_rankings() -> None:
    labels, rng, trials = np.repeat(["a", "b", "c"], [2, 3, 5]), np.random.default_rng(2), 4000
    ranks = np.array([leave_one_out_ranks(rng.random((10, 10)), labels) for _ in range(trials)])  # (trials, 10)
    chance = random_rank_probabilities(labels)
    for k in range(1, 10):
        share = (ranks == k).mean(axis=0)
        assert (np.abs(share - chance[:, k - 1]) <= 4.5 * np.sqrt(0.25 / trials)).all()
    assert chance.sum(axis=1) == pytest.approx(np.ones(10))
    mean, spread = reciprocal_ranks(ranks).mean(axis=0), reciprocal_ranks(ranks).std(axis=0) / np.sqrt(trials)
    assert (np.abs(mean - chance @ (1 / np.arange(1, 10))) <= 4.5 * spread).all()


def test_an_estimate_is_the_mean_between_its_bounds() -> None:
    values = np.r_[np.ones(30), np.zeros(10)]
    found = estimate(values, rng=np.random.default_rng(3))
    assert found.mean == 0.75
    half = 1.96 * np.sqrt(0.75 * 0.25 / 40)
    assert found.low == pytest.approx(0.75 - half, abs=0.03)
    assert found.high == pytest.approx(0.75 + half, abs=0.03)
    narrow = estimate(values, rng=np.random.default_rng(3), level=0.5, resamples=500)
    assert found.low < narrow.low < narrow.high < found.high
    assert narrow.level == 0.5


def test_an_estimate_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="expected outcomes"):
        estimate([], rng=np.random.default_rng(0))
