"""Embed texts with a provider's model over HTTP, through the same client, recordings and errors as chat.

Left out: splitting texts that are too long for the model, and counting their tokens. Retries are the client's.
"""

import contextlib
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openai

from helpers.completion import cost
from helpers.llm import transcript_path
from helpers.provider import SPENT, LLMError, clear_errors, most_it_costs, open_client
from helpers.request_key import request_key
from helpers.settings import Settings, load_settings
from helpers.transcript import Transcript, provenance
from helpers.unit_vectors import check_texts, unit_rows

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


class OpenAIEmbedder:
    """A provider's embedding model behind the protocol `Embedder`.

    `client` is any `openai.OpenAI`. Without one, a client is opened as for chat: in batch it replays `transcript`
    (a notebook's name or a path, a file of its own apart from the chat's), else it also asks the provider of the
    settings, within COURSE_BUDGET_USD. `dimensions` asks a model that can for shorter vectors. The fingerprint
    names model and dimensions, not the address: a model may have several, and a recording none.
    """

    def __init__(self, client: openai.OpenAI | None = None, *, model: str = "text-embedding-3-small",
                 dimensions: int | None = None, transcript: str | Path | None = None, batch_size: int = 100,
                 settings: Settings | None = None) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more texts a request, got {batch_size!r}")
        self.model, self.batch_size, self._asked_dimensions = model, batch_size, dimensions
        self.dimension = dimensions or DIMENSIONS.get(model.rpartition("/")[2])  # None until the first answer
        self._settings, self._transcript, self._pays = settings or load_settings(), None, client is None
        if client is None:
            client, self._transcript = _open(transcript, model, self._settings)
            weakref.finalize(self, client.close)
        else:
            key = None if client.api_key == "none" else client.api_key
            self._settings = replace(self._settings, base_url=str(client.base_url), api_key=key)
        self._client = client

    @property
    def fingerprint(self) -> str:
        return f"OpenAIEmbedder(model={self.model}, dimensions={self._asked_dimensions or 'own'})"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32; a blank text is a zero row and is not sent. Without texts d may be unknown, then 0.

        LLMError when an answer fails to come or is unfit: never a made-up vector, never part of the rows.
        """
        texts = check_texts(texts)
        sent = [row for row, text in enumerate(texts) if text.strip()]
        answers = []
        for start in range(0, len(sent), self.batch_size):
            rows = sent[start:start + self.batch_size]
            answers.append(self._ask([texts[row].encode("utf-8", "replace").decode("utf-8") for row in rows]))
        vectors = np.zeros((len(texts), self.dimension or 0), dtype=np.float32)
        if answers:
            vectors[sent] = np.concatenate(answers)
        return vectors

    def _ask(self, texts: list[str]) -> np.ndarray:
        """(b, d) float32 unit rows from one request."""
        request: dict[str, Any] = {"model": self.model, "input": texts}
        if self._asked_dimensions:
            request["dimensions"] = self._asked_dimensions
        billed = self._pays and not (self._transcript and request_key(request) in self._transcript.exchanges)
        most = most_it_costs(self._settings, sum(len(text.encode()) for text in texts), 0)
        with SPENT.one_call(self._settings, most) if billed else contextlib.nullcontext():
            with clear_errors(self._settings, asked=f"{self.model} at {self._settings.host}"):
                answer = self._client.embeddings.with_raw_response.create(**request, encoding_format="float")
                body = answer.http_response.json()
            if billed:
                SPENT.usd += cost(body, self._settings, most) if isinstance(body, dict) else most
        vectors = self._vectors(body, texts)
        self.dimension = vectors.shape[1]
        return unit_rows(vectors)

    def _vectors(self, body: Any, texts: list[str]) -> np.ndarray:
        """(b, d) float64 in the order of the texts; LLMError naming the first that is not one finite vector."""
        data = body.get("data") if isinstance(body, dict) else None
        found = {item.get("index"): item.get("embedding") for item in data or [] if isinstance(item, dict)}
        if len(data or []) != len(texts) or found.keys() != set(range(len(texts))):
            raise self._unfit(f"expected {len(texts)} vectors, one a text, got {len(data or [])} "
                              f"with indices {sorted(map(str, found))[:5]}")
        wanted = self.dimension
        rows = []
        for index, text in enumerate(texts):
            try:
                row = np.array(found[index], dtype=np.float64)
            except (TypeError, ValueError):
                row = np.array(np.nan)
            wanted = wanted or row.size
            with np.errstate(over="ignore"):
                length = np.sqrt((row ** 2).sum())
            if row.shape != (wanted,) or not 0 < length < np.inf:
                raise self._unfit(f"expected a vector of {wanted} finite numbers, not all zero, for the text "
                                  f"{text[:60]!r}, got shape {row.shape} and length {length:g}")
            rows.append(row)
        return np.array(rows)

    def _unfit(self, problem: str) -> LLMError:
        return LLMError("bad_response", f"{self.model} at {self._settings.host}: {problem}; check that the model "
                        "embeds texts and that OPENROUTER_BASE_URL is an OpenAI-compatible address.")


def _open(transcript: str | Path | None, model: str, settings: Settings) -> tuple[openai.OpenAI, Transcript | None]:
    """A client as for chat; the local model does not embed, so that COURSE_SOURCE=local counts as auto."""
    source = settings.source if not settings.batch or settings.source == "record" else "replay"
    source = "auto" if source == "local" else source
    source = "replay" if source == "auto" and not settings.live else source
    if (transcript is None and source in ("replay", "record")) or (source == "live" and not settings.live):
        raise LLMError("no_key", "OpenAIEmbedder: expected a client, a transcript or, with BATCH_MODE=false, a key, "
                       "got none; pass transcript=… or client=…, or set OPENROUTER_API_KEY in .env")
    if source == "live" or transcript is None:
        return open_client(None, source="live", settings=settings), None
    recorded = Transcript.load(transcript_path(transcript), missing_ok=source != "replay",
                               repair=source == "record")
    header = provenance(model, engine=settings.host)
    return open_client(recorded, source=source, settings=settings, header=header), recorded
