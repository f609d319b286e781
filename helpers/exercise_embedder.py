"""Checks an `OpenAIEmbedder` of the reader's own (exercise 1) against a real HTTP server on this machine.

Left out: batches, retries, budgets and recordings, which the course's own embedder has (`openai_embedder.py`).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Thread

import httpx2
import numpy as np
from openai import OpenAI

from helpers.embeddings import BagOfWords
from helpers.exercises import NotAttempted, Part, check

MODEL = "model-a"
VECTORS = {"right": [2.0, 0.0], "up": [0.0, 0.5], "slope": [3.0, 4.0]}
TEXTS = ["right", "up", "slope"]
TWO = TEXTS[:2]
UNIT = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
BAG_WORDS = ["up", "right"]  # in another order than the server's columns, so that the two kinds of row differ

Reply = Callable[[list[str]], tuple[int, dict]]


@dataclass(frozen=True)
class Provider:
    """A running server: a client that asks it, and the lists of texts it was asked for."""

    client: OpenAI
    asked: list[list[str]] = field(default_factory=list)


def in_turn(texts: list[str]) -> tuple[int, dict]:
    """HTTP status and body of a good answer.

    >>> in_turn(["up"])
    (200, {'data': [{'object': 'embedding', 'index': 0, 'embedding': [0.0, 0.5]}]})
    """
    return 200, {"data": [{"object": "embedding", "index": index, "embedding": VECTORS[text]}
                          for index, text in enumerate(texts)]}


def backwards(texts: list[str]) -> tuple[int, dict]:
    """A good answer whose last vector comes first; its `index` says whose it is."""
    status, body = in_turn(texts)
    return status, {"data": body["data"][::-1]}


def one_short(texts: list[str]) -> tuple[int, dict]:
    """An answer that lacks the last vector."""
    status, body = in_turn(texts)
    return status, {"data": body["data"][:-1]}


def all_zeros(texts: list[str]) -> tuple[int, dict]:
    """An answer whose vectors have length 0, so that no division makes them unit rows."""
    status, body = in_turn(texts)
    return status, {"data": [item | {"embedding": [0.0, 0.0]} for item in body["data"]]}


def overloaded(texts: list[str]) -> tuple[int, dict]:
    """No answer: the error of a server that has too much to do."""
    return 503, {"error": {"message": "try again later"}}


@contextmanager
def provider(reply: Reply) -> Iterator[Provider]:
    """A server that embeds with `reply`, and a client for it; both are gone at the end of the `with` block."""
    asked: list[list[str]] = []
    server = ThreadingTCPServer(("127.0.0.1", 0), _handler(reply, asked))  # http.server's own looks its name up first
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:  # without trust_env, the proxy of a company's network would be asked for this machine
        with OpenAI(api_key="none", base_url=address, max_retries=0, timeout=5,
                    http_client=httpx2.Client(trust_env=False, verify=False)) as client:
            yield Provider(client, asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(reply: Reply, asked: list[list[str]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = [sent["input"]] if isinstance(sent["input"], str) else sent["input"]
            asked.append(texts)
            status, body = reply(texts)
            data = json.dumps(body | {"object": "list", "model": sent["model"], "usage": {
                "prompt_tokens": 1, "total_tokens": 1}} if status == 200 else body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    return Handler


# --- what the parts run --------------------------------------------------------------------------------------


def _rows(answer: Callable, reply: Reply, texts: list[str]) -> object:
    with provider(reply) as there:
        return answer(there.client, MODEL).embed(texts)


def _dtype(answer: Callable) -> object:
    rows = _rows(answer, in_turn, TEXTS)
    return str(rows.dtype) if isinstance(rows, np.ndarray) else rows


def _requests(answer: Callable, texts: list[str]) -> object:
    """How many rows came, and what the server was asked for."""
    with provider(in_turn) as there:
        rows = answer(there.client, MODEL).embed(texts)
        return [len(rows), there.asked] if isinstance(rows, np.ndarray) else rows


def _error(answer: Callable, reply: Reply) -> object:
    """The text of the error that `embed` raises, or what it returns instead."""
    with provider(reply) as there:
        embedder = answer(there.client, MODEL)
        try:
            return embedder.embed(TWO)
        except NotAttempted:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _fallen_back(answer: Callable, failing: Reply) -> object:
    """Rows of a call that the provider fails, rows of the next call, which it would answer, and the fingerprint."""
    replies, bag = iter([failing]), BagOfWords().fit(BAG_WORDS)
    with provider(lambda texts: next(replies, in_turn)(texts)) as there:
        embedder = answer(there.client, MODEL, bag)
        rows = [embedder.embed(TWO), embedder.embed(TWO)]
        return [*rows, "the bag's" if embedder.fingerprint == bag.fingerprint else embedder.fingerprint]


def _fingerprints(answer: Callable) -> object:
    return [answer(None, model).fingerprint for model in (MODEL, MODEL, "model-b")]


def _tell_apart(prints: object) -> bool:
    one, again, other = prints
    return isinstance(one, str) and one == again != other


def _names_the_model(got: object) -> bool:
    return isinstance(got, str) and MODEL in got


@check(number=1, title="OpenAIEmbedder")
def check_embedder(answer: Callable) -> list[Part]:
    """The parts for a class made as `answer(client, model, fallback=None)`, with `embed(texts)` and `fingerprint`."""
    bag = BagOfWords().fit(BAG_WORDS).embed(TWO)
    error = f"an error whose text names {MODEL}"
    new = f'OpenAIEmbedder(client, "{MODEL}")'
    return [
        Part(f"{new}.embed({TEXTS})", lambda: _rows(answer, in_turn, TEXTS), UNIT,
             why="Every row is divided by its own length: the root of the sum of its squares."),
        Part(f"{new}.embed({TEXTS}).dtype", lambda: _dtype(answer), "float32",
             why="numpy computes in float64; the memory keeps float32, half the size."),
        Part(f"{new}.embed({TEXTS}), the server answers in another order",
             lambda: _rows(answer, backwards, TEXTS), UNIT,
             why="Each item of `data` carries an `index`: the number of the text it belongs to. Sort by it."),
        Part(f"{new}.embed({TEXTS}): number of rows, requests sent", lambda: _requests(answer, TEXTS), [3, [TEXTS]],
             why="All texts go in one request: each request costs a journey."),
        Part(f"{new}.embed([]): number of rows, requests sent", lambda: _requests(answer, []), [0, []],
             why="No texts, no request, and an array of no rows, such as np.zeros((0, 0), dtype=np.float32)."),
        Part(f"{new}.embed({TWO}), the server answers 503", lambda: _error(answer, overloaded), error,
             accept=_names_the_model,
             why="Nothing was embedded, so nothing is returned: zeros would be stored, and never be found. "
                 "Raise an error that says which model failed; a fallback is used only when one was given."),
        Part(f"{new}.embed({TWO}), the server answers with one vector", lambda: _error(answer, one_short), error,
             accept=_names_the_model,
             why="Two texts need two vectors; count them, or rows and texts go apart without a word."),
        Part(f"{new}.embed({TWO}), the server answers with zeros", lambda: _error(answer, all_zeros), error,
             accept=_names_the_model,
             why="A vector of zeros has no direction: dividing by its length gives NaN, which poisons each cosine."),
        Part(f'OpenAIEmbedder(client, "{MODEL}", bag), the first of two calls fails, by 503 or by one vector for two '
             "texts: rows, rows, fingerprint",
             lambda: [_fallen_back(answer, failing) for failing in (overloaded, one_short)],
             [[bag, bag, "the bag's"]] * 2,
             why="The fallback was asked for. From the first failure on, all rows and the fingerprint are its own: "
                 "rows of two embedders cannot be compared. Vectors that cannot be used are a failure, too."),
        Part(f'fingerprints of two embedders for "{MODEL}" and one for "model-b"', lambda: _fingerprints(answer),
             "the same, the same, another", accept=_tell_apart,
             why="The fingerprint names the model: vectors of two models cannot be compared."),
    ]
