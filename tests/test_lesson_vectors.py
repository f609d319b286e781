"""Vectors of lessons: checked, kept in a vocabulary of their own, cached and never believed."""

import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
from memory_fakes import Exact, Growing, digest, filled, found

from helpers.embeddings import BagOfWords
from helpers.lesson_vectors import LessonVectors, own_copy
from helpers.memory import EmbeddingError, VectorMemory
from helpers.memory_store import CACHE_FROM

pytestmark = pytest.mark.usefixtures("quick_disk")


class Broken(Exact):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def embed(self, texts):
        if "bad" in texts[0]:
            return self.answer(len(texts))
        return super().embed(texts)


@pytest.mark.parametrize(("answer", "message"), [
    (lambda n: np.full((n, 2), np.nan), "expected finite numbers"),
    (lambda n: np.array([[1, np.inf]] * n), "expected finite numbers"),
    (lambda n: np.ones((n, 3)), "expected 2 numbers as for the lessons before, got 3"),
    (lambda n: np.ones(2), r"expected an array of shape \(1, d\) from the embedder, got \(2,\)"),
    (lambda n: np.ones((n + 1, 2)), r".*got \(2, 2\)"), (lambda n: None, r".*got \(\)"),
    (lambda n: [["x", "y"]], "expected an array of numbers from the embedder, got could not convert")])
def test_no_vector_is_refused_with_the_id_of_its_text(path, answer, message):
    memory = filled(path, "0.5", embedder=Broken(answer))
    before = digest(path)
    with pytest.raises(EmbeddingError, match=rf"lesson 2 \('bad 0.7'\): {message}"):
        memory.add("bad 0.7", "text")
    with pytest.raises(EmbeddingError, match="query 'bad'"):
        memory.search("bad")
    assert digest(path) == before and len(memory) == 1 and found(memory.search("query")) == [1]
    assert memory.add("0.6", "text") == 2


def test_rows_that_are_not_of_unit_length_are_made_so(path):
    memory = filled(path, "0.5", "bad", embedder=Broken(lambda n: np.full((n, 2), 3e30)))
    assert memory.search("bad", 1)[0].score == 1.0


def test_each_memory_has_a_vocabulary_of_its_own(tmp_path):
    shared = BagOfWords().fit(["zebra yak wolf"])  # fitted elsewhere, and then handed to two memories
    one, other = (VectorMemory(tmp_path / name, shared) for name in ("one.jsonl", "other.jsonl"))
    one.add("alpha beta", "A")
    other.add("gamma", "G")
    one.add("beta delta", "B")
    other.add("alpha gamma zebra", "Z")
    assert list(shared.vocabulary) == ["zebra", "yak", "wolf"]
    assert list(one.embedder.vocabulary) == ["alpha", "beta", "delta"]
    assert list(other.embedder.vocabulary) == ["gamma", "alpha", "zebra"]
    for memory, query in ((one, "alpha delta"), (other, "zebra gamma")):
        fresh = VectorMemory(memory.path, BagOfWords())
        assert fresh.embedder.vocabulary == memory.embedder.vocabulary
        assert memory.search(query) == fresh.search(query) != []
    assert one.search("zebra").reason == "the query has no word the embedder knows"


def test_two_handles_grow_one_vocabulary_in_the_order_of_the_log(path):
    one, other = VectorMemory(path, BagOfWords()), VectorMemory(path, BagOfWords())
    for number in range(30):
        (one, other)[number % 2].add(f"word{number} word{number // 2} shared", f"text {number}")
    third = VectorMemory(path, BagOfWords())
    assert one.search("word7 shared", 30) == other.search("word7 shared", 30) == third.search("word7 shared", 30)
    assert one.embedder.vocabulary == other.embedder.vocabulary == third.embedder.vocabulary


def test_an_embedder_that_grows_must_be_separable_from_what_it_learnt():
    with pytest.raises(TypeError, match="expected Growing without a vocabulary or with from_state"):
        own_copy(Growing().partial_fit(["a"]))
    fresh = Growing()
    assert own_copy(fresh) is not fresh and own_copy(fresh).vocabulary == {}
    exact = Exact()
    assert own_copy(exact) is exact
    for wrong in (None, object(), type("NoName", (), {"embed": len})(), type("Empty", (Exact,), {"fingerprint": ""})()):
        with pytest.raises(TypeError, match="embedder: expected embed"):
            LessonVectors(wrong)


def test_vectors_are_read_from_the_cache_and_only_new_ones_are_embedded(path):
    with filled(path, "0.9", "0.8", "no digit") as memory:
        pass
    memory.add("0.7", "after the cache was written")
    fresh = VectorMemory(path, Exact())
    assert fresh.embedder.calls == []  # opening embeds nothing
    assert found(fresh.search("query")) == [1, 2, 4]
    assert fresh.embedder.calls == [["0.7"], ["query"]] and fresh.notes == []


def test_a_cache_that_is_changed_in_any_byte_is_not_believed(path):
    with filled(path, "0.9", "0.2"):
        pass
    cache = path.with_name("m.jsonl.vectors.npz")
    data = cache.read_bytes()
    for place in range(0, len(data), 3):
        changed = bytearray(data)
        changed[place] ^= 0x41
        cache.write_bytes(changed)
        memory = VectorMemory(path, Exact())
        assert [(hit.lesson.id, hit.score) for hit in memory.search("query")] == [(1, 0.9), (2, 0.2)]
        assert memory.notes == [] or "vectors are embedded again" in memory.notes[0]
    cache.write_bytes(data[:100])
    memory = VectorMemory(path, Exact())
    memory.search("query")
    assert len(memory.notes) == 1 and memory.notes[0].startswith("m.jsonl.vectors.npz: not used (")


def test_a_cache_of_another_log_is_not_believed(tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    with filled(one, "0.9", "0.2"), filled(other, "0.2", "0.9"):
        pass
    (tmp_path / "one.jsonl.vectors.npz").replace(tmp_path / "other.jsonl.vectors.npz")
    memory = VectorMemory(other, Exact())
    assert found(memory.search("query")) == [2, 1] and "another log" in memory.notes[0]


def test_the_columns_of_a_growing_vocabulary_come_out_of_the_cache_right(path):
    with VectorMemory(path, BagOfWords()) as memory:
        for number in range(20):
            memory.add(f"w{number} shared", "text")
        memory.delete(1)
    memory.add("new words here", "text")
    fresh = VectorMemory(path, BagOfWords())
    assert fresh.search("w5 shared new", 30) == memory.search("w5 shared new", 30) != []
    assert fresh.notes == []
    memory.compact()  # the vocabulary of the deleted lesson goes, columns move
    again = VectorMemory(path, BagOfWords())
    assert "w0" not in again.embedder.vocabulary and again.search("w5 shared", 30) == memory.search("w5 shared", 30)


def test_a_cache_made_under_another_unicode_is_not_believed(path, monkeypatch):
    """A sign that a newer Unicode knows is a word there, and every later word stands in another column."""
    with VectorMemory(path, BagOfWords()) as memory:
        for word in ("\U0001fae8 alpha", "beta", "gamma"):
            memory.add(word, "text")
    newer = SimpleNamespace(unidata_version="99.0", normalize=unicodedata.normalize, category=lambda sign: (
        "So" if sign == "\U0001fae8" else unicodedata.category(sign)))
    for module in ("tokenise", "lesson_vectors"):
        monkeypatch.setattr(f"helpers.{module}.unicodedata", newer)
    fresh = VectorMemory(path, BagOfWords())
    assert [fresh.search(word)[0].lesson.spec for word in ("beta", "gamma")] == ["beta", "gamma"]
    assert "embedded again" in fresh.notes[0]


def test_an_interrupt_while_the_cache_is_written_leaves_no_half_lesson(path, monkeypatch):
    memory = VectorMemory(path, BagOfWords())
    for number in range(CACHE_FROM):
        memory.add(f"w{number}", "text")

    def interrupted(*arrays, **named):
        raise KeyboardInterrupt
    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.add("one more", "text")
    monkeypatch.undo()
    assert len(memory) == len(VectorMemory(path, BagOfWords())) == CACHE_FROM
    assert memory.add("one more", "text") == CACHE_FROM + 1
    assert path.with_name("m.jsonl.vectors.npz").exists()


def test_a_cache_that_cannot_be_written_is_noted_and_nothing_is_lost(path):
    memory = filled(path, "0.9")
    path.with_name("m.jsonl.vectors.npz").mkdir()
    memory.close()
    assert "not written" in memory.notes[0] and found(VectorMemory(path, Exact()).search("query")) == [1]


def test_a_cache_whose_numbers_were_exchanged_is_not_believed(path):
    with filled(path, "0.9", "0.2"):
        pass
    cache = path.with_name("m.jsonl.vectors.npz")
    with np.load(cache) as file:
        content = dict(file)
    np.savez(cache, **content | {"vectors": content["vectors"][::-1]})  # an intact archive, with the wrong rows
    memory = VectorMemory(path, Exact())
    assert found(memory.search("query")) == [1, 2] and "changed after it was written" in memory.notes[0]


def test_wanted_texts_are_embedded_once_and_forgotten_ones_are_gone():
    vectors = LessonVectors(Exact())
    vectors.want(1, "0.9")
    vectors.want(2, "0.8")
    vectors.settle()
    vectors.settle()
    assert vectors.embedder.calls == [["0.9", "0.8"]] and vectors.index.ids.tolist() == [1, 2]
    vectors.restart()
    vectors.want(2, "0.8")
    vectors.want(3, "0.7")
    vectors.settle()
    assert vectors.embedder.calls[1:] == [["0.7"]] and sorted(vectors.index.ids) == [2, 3]
    vectors.restart(afresh=True)
    vectors.want(2, "0.1")
    vectors.settle()
    assert vectors.index.columns[0].tolist() == pytest.approx([0.1])
    vectors.forget(2)
    assert len(vectors.index) == 0 and list(vectors.vectors()) == []
