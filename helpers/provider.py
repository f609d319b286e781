"""Open an OpenAI client with finite limits, and turn every way it can fail into one `LLMError`.

Left out: streaming, asynchronous calls, and a choice among providers. Retries are those of the `openai` package:
at most four tries, waiting 0.5, 1 and 2 s or what Retry-After asks for; above 120 s it gives up at once.
"""

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai

from helpers.replay import ReplayMiss, ReplayTransport
from helpers.settings import Settings, on_this_machine
from helpers.transcript import Transcript

KINDS = ("no_key", "unauthorised", "not_found", "rate_limited", "timeout", "unreachable", "server", "bad_response",
         "empty", "budget")
TIMEOUT_S = 60.0
TRIES = 4
BY_STATUS = {401: "unauthorised", 403: "unauthorised", 402: "budget", 404: "not_found", 408: "timeout",
             429: "rate_limited"}
ADVICE = {
    "no_key": "set OPENROUTER_API_KEY in .env (see .env.example)",
    "unauthorised": "check OPENROUTER_API_KEY in .env; it may be mistyped, expired or of another provider",
    "not_found": "check OPENROUTER_BASE_URL, and OPENAI_MODEL_FAST or OPENAI_MODEL_BIG: models are retired",
    "rate_limited": "wait and run again, or choose another model",
    "timeout": "run again, or ask for fewer tokens",
    "unreachable": "check the network and OPENROUTER_BASE_URL",
    "server": "the fault is at the provider; wait and run again",
    "bad_response": "check that OPENROUTER_BASE_URL is an OpenAI-compatible address",
    "budget": "add credit at the provider or choose another model",
}


class LLMError(Exception):
    """A call that brought no answer: `kind` is one of `KINDS`. It is never a wrong answer.

    >>> str(LLMError("timeout", "no answer in 60 s")), LLMError("timeout", "").kind
    ('no answer in 60 s', 'timeout')
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind, self.message = kind, message

    def __str__(self) -> str:
        return self.message


@dataclass
class Spending:
    """US dollars spent on live calls by this process: connecting again does not begin a new budget."""

    usd: float = 0.0
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @contextlib.contextmanager
    def one_call(self, settings: Settings, most: float) -> Iterator["Spending"]:
        """For one paid call, made and added to `usd` in here: two at once could pass the budget together.

        A call that times out may have been answered, and billed, unseen: it counts as the `most` it could cost.

        Raises:
            LLMError: as `check`.
        """
        with self.turn:
            self.check(settings, most)
            try:
                yield self
            except LLMError as err:
                self.usd += most if err.kind == "timeout" else 0.0
                raise

    def check(self, settings: Settings, most: float) -> None:
        """Stop before a call that may cost up to `most` when it could pass the budget.

        Raises:
            LLMError: kind `budget`, with what was spent and what to change.
        """
        if settings.budget_usd is not None and self.usd + most > settings.budget_usd:
            raise LLMError("budget", f"stopped before a call: ${self.usd:.4f} of COURSE_BUDGET_USD="
                           f"{settings.budget_usd:g} are spent and the call could cost ${most:.4f} (counted at "
                           f"COURSE_PRICE_USD={settings.price_usd:g} a million tokens). Raise the budget in .env, or, "
                           "when your model is cheaper, lower the price.")


SPENT = Spending()


def most_it_costs(settings: Settings, text_bytes: int, max_tokens: int) -> float:
    """An upper bound in US dollars: a token for every byte sent, every token allowed for the answer.

    A server on this machine costs nothing.

    >>> most_it_costs(Settings(price_usd=2.0), 400_000, 100_000)
    1.0
    """
    return 0.0 if on_this_machine(settings.base_url) else (text_bytes + max_tokens) * settings.price_usd / 1e6


def open_client(transcript: Transcript | None, *, source: str, settings: Settings, base_url: str | None = None,
                header: dict[str, Any] | None = None, timeout_s: float = TIMEOUT_S) -> openai.OpenAI:
    """An OpenAI client, for chat or embeddings, that replays, records, or asks a server.

    `source`: `replay` opens no socket and raises `ReplayMiss` for what is not recorded; `auto` replays, and asks
    the server for the rest; `record` also appends what the server says, under `header` (see `provenance`);
    `live` asks the server. The server is `base_url`, by default that of `settings`. Use it within `clear_errors`.
    """
    transport: httpx2.BaseTransport | None = None
    if source == "replay":
        transport = ReplayTransport(transcript)
    elif source in ("auto", "record"):
        if source == "record":
            transcript.expect_provenance(header)
        transport = ReplayTransport(transcript, upstream=httpx2.HTTPTransport(),
                                    header=header if source == "record" else None)
    url = base_url or settings.base_url
    web = httpx2.Client(transport=transport, follow_redirects=False, trust_env=not on_this_machine(url),
                        event_hooks={"response": [lambda response: _limit(response, timeout_s)]})
    return openai.OpenAI(api_key=settings.api_key if url == settings.base_url and settings.api_key else "none",
                         base_url=url, http_client=web, timeout=timeout_s, max_retries=TRIES - 1)


@contextlib.contextmanager
def clear_errors(settings: Settings, *, asked: str = "") -> Iterator[None]:
    """Turn what the `openai` package raises into an `LLMError` without secrets; `asked` names model and host.

    `ReplayMiss` and `LLMError` come out as themselves, also where the package wraps what a transport raises.
    """
    try:
        yield
    except (openai.OpenAIError, httpx2.HTTPError, ValueError) as err:
        inner: BaseException | None = err
        while inner is not None and not isinstance(inner, ReplayMiss | LLMError):
            inner = inner.__cause__
        # `from None`: the wrapped exception quotes the provider, and with it perhaps the key.
        raise (inner or _llm_error(err, settings, asked)) from None


def redact(text: str, settings: Settings) -> str:
    """`text` in one line of at most 300 characters, without the key or anything that looks like one.

    >>> redact("bad key sk-or-v1-0123456789", Settings())
    'bad key [key]'
    """
    if settings.api_key:
        text = text.replace(settings.api_key, "[key]")
    text = re.sub(r"(?i)\bBearer\s+\S+|\b[sp]k-[\w*.…-]{6,}", "[key]", text)
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def status_error(status: int, said: str, settings: Settings, asked: str) -> LLMError:
    """The `LLMError` for an HTTP status and what the provider said with it.

    >>> status_error(503, "overloaded", Settings(), "m").kind
    'server'
    """
    kind = BY_STATUS.get(status, "server" if status >= 500 else "bad_response")
    if kind == "unauthorised" and settings.api_key is None:
        kind = "no_key"
    advice = ADVICE[kind] if kind != "bad_response" else "the server refuses this request: ask for less, or otherwise"
    return LLMError(kind, f"{asked}: HTTP {status}: {redact(said, settings)}. {kind}: {advice}.")


def _llm_error(err: Exception, settings: Settings, asked: str) -> LLMError:
    if isinstance(err, openai.APITimeoutError | httpx2.TimeoutException):
        return _error("timeout", f"{asked}: no answer within the time limit, in {TRIES} tries")
    if isinstance(err, openai.APIStatusError):
        return status_error(err.status_code, _said(err), settings, asked)
    if isinstance(err, openai.APIConnectionError | httpx2.TransportError):
        return _error("unreachable", f"{asked}: {redact(str(err.__cause__ or err), settings)}")
    return _error("bad_response", f"{asked}: the reply is not the JSON of an answer: {redact(str(err), settings)}")


def _said(err: openai.APIStatusError) -> str:
    body = err.body
    said = body.get("message") if isinstance(body, dict) else None
    return said if isinstance(said, str) else re.sub(r"<[^>]*>", " ", err.response.text)


def _error(kind: str, message: str) -> LLMError:
    """The error with what to do about its kind."""
    return LLMError(kind, f"{message}. {kind}: {ADVICE[kind]}.")


def _limit(response: httpx2.Response, timeout_s: float) -> None:
    """Bound the whole reply: the client's own limit is for each read, and a server may drip bytes for ever."""
    response.stream = _Hurried(response.stream, time.monotonic() + timeout_s)


class _Hurried(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, until: float) -> None:
        self.stream, self.until = stream, until

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.stream:
            if time.monotonic() > self.until:
                raise httpx2.ReadTimeout("the whole reply took longer than the time limit")
            yield chunk

    def close(self) -> None:
        self.stream.close()
