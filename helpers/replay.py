"""An `httpx2` transport that answers from a transcript: the client asks as ever, and no socket is opened.

Left out: streaming, and matching by anything but the exact request. A request that was not recorded is a
`ReplayMiss`, or goes to the transport given as `upstream`, whose answer can be recorded at once.
"""

import base64
import bisect
import json
import time
from typing import Any

import httpx2
import numpy as np

from helpers.request_key import canonical_request, request_key
from helpers.transcript import ReplayMiss, Transcript, TranscriptError, provenance, start_recording, tidy

__all__ = ["ReplayMiss", "ReplayTransport", "Transcript", "TranscriptError", "canonical_request", "miss_message",
           "provenance", "request_key", "start_recording", "tidy"]

KEY_HEADER = "x-request-key"  # a caller that has the key hands it on in this; it never leaves the process
EXCERPT = 30  # characters shown on each side of a first difference


class ReplayTransport(httpx2.BaseTransport):
    """Answer `/chat/completions` and `/embeddings` from `transcript`.

    `upstream` is asked what is not recorded. `header`, the provenance of its answers, turns recording on: what
    upstream says is appended to the transcript and replayed from it, and every request asked for is noted.
    Errors and empty answers of upstream are passed on and never recorded. Threads may share one, or have one each
    on the same transcript: a new request is recorded once.

    Raises:
        ReplayMiss: a request that is not recorded, without `upstream`.
    """

    def __init__(self, transcript: Transcript, *, upstream: httpx2.BaseTransport | None = None,
                 header: dict[str, Any] | None = None) -> None:
        self.transcript, self.upstream, self.header = transcript, upstream, header

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            asked = json.loads(request.read())
            key = request.headers.pop(KEY_HEADER, None) or request_key(asked)
        except (ValueError, KeyError) as err:
            raise ReplayMiss(f"{self.transcript.path.name}: {request.url.path} was asked what no transcript can "
                             f"answer: {err}") from err
        if key not in self.transcript.exchanges:
            if self.upstream is None:
                raise ReplayMiss(miss_message(self.transcript, canonical_request(asked)))
            response = self._ask_upstream(request, asked, key)
            if response is not None:
                return response
        if self.header is not None:
            self.transcript.mark_used(key)
        body = response_body(self.transcript.exchanges[key], asked.get("encoding_format", "float"))
        return httpx2.Response(200, json=body, request=request)

    def _ask_upstream(self, request: httpx2.Request, asked: dict[str, Any], key: str) -> httpx2.Response | None:
        """What upstream says, or None once it is recorded, which another thread may have done meanwhile."""
        if self.header is None:
            return self.upstream.handle_request(request)
        with self.transcript.asking(key):
            if key in self.transcript.exchanges:
                return None
            begun = time.perf_counter()
            response = self.upstream.handle_request(request)
            response.read()
            answer = _recordable(response, len(canonical_request(asked).get("input", ())))
            if answer is None:
                return response
            answer["seconds"] = round(time.perf_counter() - begun, 3)
            self.transcript.append(asked, answer, self.header)
            return None

    def close(self) -> None:
        if self.upstream is not None:
            self.upstream.close()


def response_body(exchange: dict[str, Any], encoding: str = "float") -> dict[str, Any]:
    """The JSON a server would have sent for a recorded exchange, with `seconds` beside it.

    >>> answer = {"text": "4", "prompt_tokens": 9, "completion_tokens": 1, "finish_reason": "stop", "seconds": 0.1}
    >>> response_body({"request": {"model": "m"}, "response": answer})["choices"][0]["message"]["content"]
    '4'
    """
    answer, model = exchange["response"], exchange["request"]["model"]
    if "vectors" in answer:
        vectors = answer["vectors"] if encoding == "base64" else [_floats(text) for text in answer["vectors"]]
        data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
        usage = {"prompt_tokens": answer["prompt_tokens"], "total_tokens": answer["prompt_tokens"]}
        return {"object": "list", "data": data, "model": model, "usage": usage, "seconds": answer["seconds"]}
    usage = {name: answer[name] for name in ("prompt_tokens", "completion_tokens")}
    choice = {"index": 0, "finish_reason": answer["finish_reason"],
              "message": {"role": "assistant", "content": answer["text"]}}
    return {"id": "replay", "object": "chat.completion", "created": 0, "model": model, "choices": [choice],
            "usage": usage | {"total_tokens": sum(usage.values())}, "seconds": answer["seconds"]}


def miss_message(transcript: Transcript, asked: dict[str, Any]) -> str:
    """What a reader needs when a canonical request is not recorded: where, how near, and the three ways on."""
    name, n = transcript.path.name, len(transcript.exchanges)
    recorded = [e["request"] for e in transcript.exchanges.values() if e["request"].keys() == asked.keys()]
    text = json.dumps(asked, sort_keys=True)
    nearest = max(recorded, key=lambda other: _same_ends(text, json.dumps(other, sort_keys=True)), default=None)
    compared = "nothing comparable is recorded there" if nearest is None else (
        f"the nearest recorded request begins {_opening(nearest)!r} and differs first in "
        f"{first_difference(nearest, asked)}")
    return (f"{name} holds {n} recorded answers, but none to this request; {compared}. Three ways on, the first two "
            "with BATCH_MODE=false: (1) fetch the local model, `course model fetch`, which answers new requests; "
            "(2) set OPENROUTER_API_KEY in .env, and a live model answers; "
            f"(3) record again, `course record {transcript.path.stem}`.")


def first_difference(recorded: dict[str, Any], asked: dict[str, Any]) -> str:
    """The first field, and in a text the first character, in which two canonical requests differ.

    >>> first_difference({"seed": 0, "messages": []}, {"seed": 1, "messages": []})
    'seed: recorded 0, asked 1'
    """
    for name in sorted(asked.keys() & recorded.keys(), key=lambda name: (name in ("messages", "input"), name)):
        old, new = recorded[name], asked[name]
        if old == new:
            continue
        if name not in ("messages", "input"):
            return f"{name}: recorded {old!r}, asked {new!r}"
        if len(old) != len(new):
            return f"{name}: recorded {len(old)} of them, asked {len(new)}"
        place = next(i for i, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
        old, new, label = old[place], new[place], f"{name}[{place}]"
        if name == "messages":
            part = "role" if old["role"] != new["role"] else "content"
            old, new, label = old[part], new[part], f"{label}.{part}"
        at = _common_prefix(old, new)
        start = max(at - EXCERPT, 0)
        return (f"{label}, character {at}: recorded {old[start:at + EXCERPT]!r}, "
                f"asked {new[start:at + EXCERPT]!r}")
    return "nothing"


def _recordable(response: httpx2.Response, n_texts: int) -> dict[str, Any] | None:
    """What is kept of an answer, without its seconds; None for an error or an empty answer.

    `n_texts` is how many texts were to be embedded, 0 for a chat.
    """
    try:
        body = response.json()
        usage = body.get("usage") or {}
        if n_texts:
            vectors = [_base64(item["embedding"]) for item in sorted(body["data"], key=lambda item: item["index"])]
            answer = {"vectors": vectors, "prompt_tokens": usage.get("prompt_tokens", 0)}
            return answer if response.status_code == 200 and all(vectors) and len(vectors) == n_texts else None
        choice = body["choices"][0]
        answer = {"text": choice["message"]["content"], "finish_reason": choice["finish_reason"]}
        answer |= {name: usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens")}
        whole = isinstance(answer["text"], str) and answer["text"].strip() and answer["finish_reason"]
        return answer if response.status_code == 200 and whole else None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None  # not an answer at all: the client that asked turns it into the right error


def _base64(vector: str | list[float]) -> str:
    # float32 is what the models compute in; base64 of it is a third of the size of decimal text.
    return vector if isinstance(vector, str) else base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def _floats(text: str) -> list[float]:
    return np.frombuffer(base64.b64decode(text), "<f4").tolist()


def _same_ends(one: str, other: str) -> int:
    """How many characters two texts share at both ends: cheap, and right for one edit in one place."""
    head = _common_prefix(one, other)
    return head + _common_prefix(one[head:][::-1], other[head:][::-1])


def _common_prefix(one: str, other: str) -> int:
    size = min(len(one), len(other))
    return bisect.bisect_left(range(size), True, key=lambda i: one[:i + 1] != other[:i + 1])


def _opening(request: dict[str, Any]) -> str:
    """The beginning of a request's task: its last user message, or its first text."""
    texts = request.get("input") or [m["content"] for m in request["messages"] if m["role"] == "user"] or [""]
    text = texts[0] if "input" in request else texts[-1]
    return text if len(text) <= 2 * EXCERPT else text[:2 * EXCERPT] + "…"
