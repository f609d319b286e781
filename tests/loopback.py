"""A small real HTTP server on 127.0.0.1 for tests: it gives the scripted replies in turn and keeps what it was asked.

    with loopback(completion("hello"), Canned(status=503)) as server:
        …ask server.base_url…
        server.seen[0].body["messages"]

The last reply is given again for every further request; a function is called with what was asked and returns a reply.
"""

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Canned:
    """One reply. `body` is sent as JSON unless it is bytes or text; `delay_s` comes before it, `drip_s` between
    its bytes; `hang_up` closes the connection without a reply."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0
    hang_up: bool = False


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: Any


Reply = Canned | Callable[[Seen], Canned]


class Loopback:
    """The running server: `base_url` to ask, `seen` for what was asked, `replies` to script further."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.base_url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> "Loopback":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, seen: Seen) -> Canned:
        with self._lock:
            self.seen.append(seen)
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Canned) else reply(seen)


@contextlib.contextmanager
def loopback(*replies: Reply) -> Iterator[Loopback]:
    """A server for the length of a `with` block."""
    with Loopback(*replies) as server:
        yield server


def completion(text: str | None, *, finish_reason: str | None = "stop", prompt_tokens: int = 10,
               completion_tokens: int = 5, cost: float | None = None, model: str = "m") -> Canned:
    """A chat completion with one choice; `cost` is what OpenRouter adds to `usage`."""
    usage: dict[str, Any] = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
                             "total_tokens": prompt_tokens + completion_tokens}
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text}}
    return Canned({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
                   "choices": [choice], "usage": usage | ({} if cost is None else {"cost": cost})})


def embeddings(vectors: list[list[float]], *, prompt_tokens: int = 3, model: str = "e") -> Canned:
    """An embeddings reply with decimal vectors."""
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return Canned({"object": "list", "data": data, "model": model,
                   "usage": {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}})


def error(status: int, message: str = "said the server", **headers: str) -> Canned:
    """An OpenAI-style error; header names are given with underscores."""
    return Canned({"error": {"message": message, "code": status}}, status,
                  {name.replace("_", "-"): value for name, value in headers.items()})


def _handler(owner: Loopback) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = owner.answer(Seen(self.path, headers, json.loads(sent) if sent else None))
            with contextlib.suppress(OSError):  # a client that has given up is what some tests are about
                self._send(reply)

        def _send(self, reply: Canned) -> None:
            owner.stopping.wait(reply.delay_s)
            self.close_connection = reply.hang_up
            if reply.hang_up:
                return
            is_json = not isinstance(reply.body, bytes | str)
            data = json.dumps(reply.body).encode() if is_json else reply.body
            data = data.encode() if isinstance(data, str) else data
            self.send_response(reply.status)
            headers = {"content-type": "application/json" if is_json else "text/html", **reply.headers}
            for name, value in {**headers, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            for part in [data] if not reply.drip_s else [data[i:i + 1] for i in range(len(data))]:
                self.wfile.write(part)
                self.wfile.flush()
                if reply.drip_s and owner.stopping.wait(reply.drip_s):
                    return

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    return Handler
