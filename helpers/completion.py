"""Send one chat completion and read what came: its text, its token counts, its cost, or the error it is.

Left out: everything else a completion may hold (tool calls, log probabilities, further choices).
"""

import math
from typing import Any

import httpx2
import openai

from helpers.provider import LLMError, redact, status_error
from helpers.replay import KEY_HEADER
from helpers.settings import Settings


def ask(client: openai.OpenAI, request: dict[str, Any], *, key: str = "") -> dict[str, Any]:
    """The JSON of one chat completion; ValueError when it is none.

    `key`, only for a client with a `ReplayTransport`, spares that computing it again.

    `client.chat.completions.create` sends the same and takes twice as long: it copies each message by its type.
    """
    completion = client.post("/chat/completions", body=request, cast_to=httpx2.Response,
                             options={"headers": {KEY_HEADER: key}} if key else {}).json()
    if not isinstance(completion, dict):
        raise ValueError(f"expected a JSON object, got {completion!r}")
    return completion


def read_answer(completion: dict[str, Any], settings: Settings, asked: str) -> tuple[str, tuple[int, int], str]:
    """Text, counts (prompt, completion) and finish reason of a completion; `asked` names model and host in errors.

    Raises:
        LLMError: the provider's own failure sent with status 200; no message; or a message without text.

    >>> read_answer({"choices": [{"message": {"content": "4"}, "finish_reason": "length"}]}, Settings(), "m")
    ('4', (0, 0), 'length')
    """
    error = completion.get("error")
    if isinstance(error, dict):  # some providers send their failures with status 200
        code = error.get("code")
        raise status_error(code if isinstance(code, int) else 500, str(error.get("message", "")), settings, asked)
    try:
        choice = completion["choices"][0]
        text, reason = choice["message"].get("content"), choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise LLMError("bad_response", f"{asked}: expected a completion with a message, got "
                       f"{redact(str(completion), settings)}. Check the address and the model's name.") from None
    if text is not None and not isinstance(text, str):
        raise LLMError("bad_response", f"{asked}: expected text, got content of type {type(text).__name__}")
    if not (text or "").strip():
        why = {"content_filter": "the answer was filtered by the provider",
               "length": "the tokens allowed were used up before any text: allow more"}.get(
                   reason, f"finish reason {reason}")
        raise LLMError("empty", f"{asked}: the answer holds no text; {why}")
    usage = _usage(completion)
    return text, (_tokens(usage, "prompt_tokens"), _tokens(usage, "completion_tokens")), reason or "stop"


def _usage(completion: dict[str, Any]) -> dict[str, Any]:
    usage = completion.get("usage")
    return usage if isinstance(usage, dict) else {}


def _tokens(usage: dict[str, Any], name: str) -> int:
    count = usage.get(name)
    return count if isinstance(count, int) and count >= 0 else 0


def cost(completion: dict[str, Any], settings: Settings, most: float) -> float:
    """US dollars of a live call: what the provider reports, else its tokens at COURSE_PRICE_USD, else the most.

    >>> cost({"usage": {"cost": 0.002}}, Settings(), 0.01), cost({}, Settings(), 0.01)
    (0.002, 0.01)
    """
    usage = _usage(completion)
    reported = usage.get("cost")
    if isinstance(reported, int | float) and 0 <= reported < math.inf:
        return float(reported)
    tokens = _tokens(usage, "prompt_tokens") + _tokens(usage, "completion_tokens")
    return min(most, tokens * settings.price_usd / 1e6) if tokens else most
