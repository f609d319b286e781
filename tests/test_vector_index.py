"""The index: growing, dropping, and the same answers as plain loops."""

import numpy as np
import pytest

from helpers.vector_index import VectorIndex


def test_pairs_agree_with_a_plain_double_loop():
    rng, index = np.random.default_rng(0), VectorIndex()
    vectors = rng.standard_normal((1100, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for number, vector in enumerate(vectors):
        index.put(number * 7 % 1100, vector.astype(np.float32))
    expected = {tuple(sorted((i * 7 % 1100, j * 7 % 1100))) for i, j in np.argwhere(vectors @ vectors.T >= 0.9999)
                if i < j}
    pairs = index.pairs(0.9999)
    assert len(expected) > 10 and {pair[:2] for pair in pairs} == expected
    assert [pair[2] for pair in pairs] == sorted((pair[2] for pair in pairs), reverse=True)


def test_the_index_grows_by_doubling_and_forgets_in_place():
    index, rooms = VectorIndex(), set()
    for number in range(1000):
        index.put(number, np.array([1.0, 0.0], np.float32))
        rooms.add(index._room.shape)
    assert len(rooms) == 7  # 16, 32, … 1024
    for number in range(500):
        index.drop(number)
    index.drop(5)
    assert len(index) == 500 and sorted(index.ids) == list(range(500, 1000)) and index._room.shape == (2, 1024)
    index.put(7, np.array([0.6, 0, 0.8], np.float32))
    assert index.best(np.array([0, 0, 1.0]), index.scores(np.array([[0, 0, 1.0]]))[0], 1) == [(0.8, 7)]
    index.drop(7)
    index.put(8, np.array([0.6, 0.8], np.float32))  # shorter, where a longer one was
    assert index.columns[:, -1].tolist() == pytest.approx([0.6, 0.8, 0])
    index.drop(8)
    index.put(7, np.array([0, 1.0, 0], np.float32))
    assert len(index) == 501 and index.best(np.eye(3)[1], index.scores(np.eye(3)[1:2])[0], 1) == [(1.0, 7)]
    with pytest.raises(ValueError, match="queries: expected rows of 3 numbers, got 2"):
        index.scores(np.eye(2))


def test_random_puts_and_drops_agree_with_a_dictionary():
    rng, index, model = np.random.default_rng(2), VectorIndex(), {}
    for _ in range(600):
        key = int(rng.integers(30))
        if rng.random() < 0.6:
            vector = rng.standard_normal(int(rng.integers(1, 6))).astype(np.float32)
            model[key] = vector / np.linalg.norm(vector)
            index.put(key, model[key])
        else:
            model.pop(key, None)
            index.drop(key)
        assert len(index) == len(model) == len(set(index.ids.tolist()))
    query = np.zeros(8)
    query[:3] = 0.6, 0, 0.8
    expected = sorted((-round(float(vector[:3] @ query[:len(vector[:3])]), 6), key) for key, vector in model.items())
    best = index.best(query, index.scores(query[np.newaxis])[0], 5)
    assert [(-round(score, 6), key) for score, key in best] == expected[:5] and len(model) > 5
