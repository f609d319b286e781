"""Ask the model behind the agent: one call, answered by recordings, by the local model or by a live provider.

Left out: streaming, tools, several answers to one request, and any use of what the model says.
"""

import contextlib
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai

from helpers import local_model
from helpers.chat_request import check_request, for_provider
from helpers.completion import ask, cost, read_answer
from helpers.provider import KINDS, SPENT, TIMEOUT_S, LLMError, clear_errors, most_it_costs, open_client
from helpers.replay import ReplayMiss
from helpers.request_key import canonical_request, digest
from helpers.settings import DATA, SOURCES, Settings, load_settings
from helpers.transcript import Transcript, tidy

__all__ = ["KINDS", "SPENT", "Chat", "LLMError", "ReplayMiss", "Reply", "Usage", "clear_errors", "connect",
           "open_client", "transcript_path"]

REPLAYS_AT_ONCE = 2  # worth having: while one thread reads a recorded answer, another's code is tested


@dataclass(frozen=True)
class Reply:
    """One answer: the assistant's whole turn, a begun part included.

    Token counts are the source's own, 0 where it reports none; `finish_reason` is `stop`, or `length` when the
    text was cut; `source` is `replay`, `local` or `live`; `seconds` is what the answer took when it was made; `key`
    is that of the request as it was put to the `Chat` (see `request_key`), also where a provider was asked less.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    source: str
    seconds: float
    key: str = ""


@dataclass
class Usage:
    """Running totals of one `Chat`; `cost_usd` counts live calls only."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0


class Chat:
    """Call it with messages, get a `Reply`. Made by `connect`.

    Threads may share one: up to `parallel` of them are answered side by side, and no answer depends on how many.
    """

    def __init__(self, source: str, settings: Settings, transcript: Transcript, timeout_s: float) -> None:
        self.source, self.settings, self.transcript = source, settings, transcript
        self.usage = Usage()
        self._timeout_s = timeout_s
        self._clients: dict[tuple[str, int], openai.OpenAI] = {}
        self._lock = threading.Lock()
        self._servers = local_model.server_count(settings)
        self._free: queue.PriorityQueue[int] = queue.PriorityQueue()  # the local model's servers by number
        for number in range(self._servers):
            self._free.put(number)
        self.model = local_model.model_name(settings)
        recorded = transcript.header["model"]["name"] if transcript.header else None
        if source == "replay" and recorded != self.model:
            self.model = local_model.MODEL_NAME
        if self.model == local_model.MODEL_NAME:
            transcript.expect_model(local_model.MODEL_SHA256, local_model.MODEL_NAME)

    def __call__(self, messages: Sequence[dict[str, str]], *, temperature: float = 0.0, max_tokens: int = 256,
                 seed: int = 0, stop: str | Sequence[str] | None = None, model: str = "fast") -> Reply:
        """Ask once. A last message of the assistant is a begun turn: the source continues it, and the reply is
        the whole turn; a live provider is not sent it, nor the `stop` that was chosen for its continuation.

        `temperature` >= 0; `max_tokens` >= 1 is the most the answer may have; `stop` ends it before any of these
        texts; `model`, `fast` or `big`, chooses among the two live models.

        Raises:
            LLMError: no answer came; `kind` says why. ReplayMiss: it is not recorded and nobody else can answer.
            ValueError: messages, model or numbers that mean nothing.
        """
        check_request(messages, temperature, max_tokens, model)
        request = canonical_request({"model": self.model, "messages": messages, "temperature": temperature,
                                     "max_tokens": max_tokens, "seed": seed, "stop": stop})
        key = digest(request)
        source = self._route(key)
        reply = (self._live(request, key, model) if source == "live" else
                 self._recorded_or_local(request, key, source))
        with self._lock:
            self.usage.calls += 1
            self.usage.prompt_tokens += reply.prompt_tokens
            self.usage.completion_tokens += reply.completion_tokens
        return reply

    @property
    def prefill(self) -> bool:
        """Whether the source continues a begun assistant turn."""
        return self.source != "live"

    @property
    def parallel(self) -> int:
        """How many callers are worth having at once; a further one only waits, or for `replay` gains nothing."""
        if self.source in ("local", "record"):
            return self._servers
        if self.source == "auto" and local_model.is_ready(self.settings):
            return max(REPLAYS_AT_ONCE, self._servers)
        return 1 if self.source == "live" else REPLAYS_AT_ONCE

    def describe(self) -> str:
        """One line: which source answers, with model and date of the recording."""
        header, name = self.transcript.header, self.transcript.path.name
        recorded = f"nothing recorded yet in {name}" if header is None else (
            f"{len(self.transcript.exchanges)} recorded answers of {header['model']['name']} "
            f"({header['engine']}, {header['recorded']})")
        live = f"the live model {self.settings.model_fast} at {self.settings.host}{self._budget()}"
        new = (f"the local model {self.model}" if local_model.is_ready(self.settings) else live
               if self.settings.live else "nobody: no local model is fetched and no key is set")
        line = {"replay": f"replay: {recorded}; no network", "local": f"local: the model {self.model} on this machine",
                "live": f"live: {live}", "auto": f"auto: {recorded}; new requests go to {new}",
                "record": f"record: {recorded}; new requests go to the local model {self.model} and are kept"}
        asked = self.settings.source
        ignored = self.settings.batch and self.source == "replay" and asked not in ("auto", "replay")
        return line[self.source] + (f" (BATCH_MODE is on, so COURSE_SOURCE={asked} is not followed)" if ignored else "")

    def finish(self) -> int:
        """End a recording: keep only the exchanges it asked for, and return their number."""
        if self.source != "record":
            raise ValueError(f"only a recording is finished; this chat's source is {self.source!r}")
        return tidy(self.transcript.path)

    def _route(self, key: str) -> str:
        if self.source != "auto":
            return self.source
        if key in self.transcript.exchanges:
            return "replay"
        if local_model.is_ready(self.settings):
            return "local"
        return "live" if self.settings.live else "replay"  # replay then explains what is missing

    def _recorded_or_local(self, request: dict[str, Any], key: str, source: str) -> Reply:
        begun = request["messages"][-1]["content"] if request["messages"][-1]["role"] == "assistant" else ""
        recorded = source == "replay" or (source == "record" and key in self.transcript.exchanges)
        asked = f"{self.model} on this machine"
        with clear_errors(self.settings, asked=asked), self._lent(source, recorded) as client:
            started = time.perf_counter()
            completion = ask(client, request | {"cache_prompt": False}, key="" if source == "local" else key)
            seconds = time.perf_counter() - started
        text, usage, reason = read_answer(completion, self.settings, asked)
        text = text if text.startswith(begun) else begun + text
        return Reply(text, *usage, reason, "replay" if recorded else "local", completion.get("seconds", seconds), key)

    def _live(self, request: dict[str, Any], key: str, model: str) -> Reply:
        settings = self.settings
        request = for_provider(request) | {"model": settings.model_big if model == "big" else settings.model_fast}
        sent = sum(len(message["content"].encode()) + 16 for message in request["messages"])
        most = most_it_costs(settings, sent, request["max_tokens"])
        # OpenRouter reports the cost of a call when asked to; other servers may refuse a field they do not know.
        extra = {"usage": {"include": True}} if settings.host == "openrouter.ai" else {}
        asked = f"{request['model']} at {settings.host}"
        with SPENT.one_call(settings, most):
            started = time.perf_counter()
            with clear_errors(settings, asked=asked):
                completion = ask(self._client("live"), request | extra)
            seconds = time.perf_counter() - started
            paid = cost(completion, settings, most)
            SPENT.usd += paid
        self.usage.cost_usd += paid
        text, usage, reason = read_answer(completion, settings, asked)
        return Reply(text, *usage, reason, "live", seconds, key)

    @contextlib.contextmanager
    def _lent(self, source: str, recorded: bool) -> Iterator[openai.OpenAI]:
        """The client to ask: any for what is recorded, else that of a server which answers nobody meanwhile.

        The lowest free number is taken, so that a server is started only when all before it are busy.
        """
        if recorded:
            yield self._client(source)
            return
        number = self._free.get()
        try:
            yield self._client(source, number)
        finally:
            self._free.put(number)

    def _client(self, source: str, number: int = 0) -> openai.OpenAI:
        with self._lock:
            if (source, number) not in self._clients:
                self._clients[source, number] = self._open(source, number)
            return self._clients[source, number]

    def _open(self, source: str, number: int) -> openai.OpenAI:
        server = local_model.serve(self.settings, number=number) if source in ("local", "record") else None
        client = open_client(self.transcript, source="live" if source == "local" else source,
                             settings=self.settings, base_url=server and server.base_url,
                             header=server.header() if source == "record" else None, timeout_s=self._timeout_s)
        weakref.finalize(self, client.close)
        return client

    def _budget(self) -> str:
        budget = self.settings.budget_usd
        return ", no budget set" if budget is None else f", budget ${budget:g} (${SPENT.usd:.4f} spent)"


def connect(transcript: str | Path, *, source: str | None = None, settings: Settings | None = None,
            timeout_s: float = TIMEOUT_S) -> Chat:
    """A `Chat` for a notebook's name or the path of a transcript.

    `source` None means: in batch `replay` (or `record`, when COURSE_SOURCE says so), else COURSE_SOURCE, by
    default `auto`: a recorded request is replayed, a new one goes to the local model if it is fetched, else to
    the live provider if one is set. `timeout_s` bounds one try of a call, of which there are at most four.

    Raises:
        ReplayMiss: the transcript is needed and missing, damaged, or of another model. SettingsError: a variable
        that cannot be read. LLMError: kind `no_key` for `live` without a key.
    """
    settings = settings or load_settings()
    if source is None:
        followed = not settings.batch or settings.source == "record"
        source = settings.source if followed else "replay"
    if source not in SOURCES:
        raise ValueError(f"source: expected one of {', '.join(SOURCES)}; got {source!r}")
    if source == "live" and not settings.live:
        raise LLMError("no_key", "the source is live, but no key is set: set OPENROUTER_API_KEY in .env "
                       "(see .env.example), or OPENROUTER_BASE_URL to a server that needs none")
    path = transcript_path(transcript)
    if source in ("local", "live"):
        return Chat(source, settings, Transcript(path), timeout_s)
    return Chat(source, settings, Transcript.load(path, missing_ok=source != "replay", repair=source == "record"),
                timeout_s)


def transcript_path(transcript: str | Path) -> Path:
    """The file for a notebook's name; a path, which ends in .jsonl, is kept.

    >>> transcript_path("00_start_here").name, transcript_path("my/own.jsonl").parts
    ('00_start_here.jsonl', ('my', 'own.jsonl'))
    """
    path = Path(transcript)
    if path.suffix == ".jsonl":
        return path
    if path.name != str(transcript) or not path.name:
        raise ValueError(f"transcript: expected a notebook's name or a path ending in .jsonl; got {str(transcript)!r}")
    return DATA / "transcripts" / f"{path.name}.jsonl"
