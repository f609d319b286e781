"""What may be asked of a model, and what of it is sent to a live provider.

Left out: the canonical form and its key (`request_key.py`), and asking (`llm.py`).
"""

import math
from collections.abc import Sequence
from typing import Any

ROLES = ("system", "user", "assistant")
WHOLE_TURN_TOKENS = 512  # least limit for a provider that writes the whole turn, prose and fence included


def check_request(messages: Sequence[dict[str, str]], temperature: float, max_tokens: int, model: str) -> None:
    """Refuse, with a ValueError that names the argument, what no model can be asked.

    >>> check_request([{"role": "user", "content": "hi"}], 0.0, 1, "fast")
    """
    for i, message in enumerate(messages):
        if message.get("role") not in ROLES or not isinstance(message.get("content"), str):
            raise ValueError(f"messages[{i}]: expected a role of {', '.join(ROLES)} and a text, got {message!r}")
    if not messages:
        raise ValueError("messages: expected at least one, got none")
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature: expected 0 or more, got {temperature!r}")
    if max_tokens < 1:
        raise ValueError(f"max_tokens: expected 1 or more, got {max_tokens!r}")
    if model not in ("fast", "big"):
        raise ValueError(f"model: expected fast or big, got {model!r}")


def for_provider(request: dict[str, Any]) -> dict[str, Any]:
    """The canonical request without a begun turn, and then without what was chosen for its continuation.

    >>> begun = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "def"}]
    >>> for_provider({"messages": begun, "max_tokens": 64, "stop": ["x"]})
    {'messages': [{'role': 'user', 'content': 'hi'}], 'max_tokens': 512}
    """
    if request["messages"][-1]["role"] != "assistant":
        return request if request["stop"] else {name: value for name, value in request.items() if name != "stop"}
    return {**{name: value for name, value in request.items() if name != "stop"},
            "messages": request["messages"][:-1], "max_tokens": max(request["max_tokens"], WHOLE_TURN_TOKENS)}
