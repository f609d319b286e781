"""Put a seal on a verdict that only a run of `course check` can have made.

The key stands in a closure and is set once, before the first line of an answer runs. Left out: hiding it from an
answer that searches this process's memory for it (see `grading.py`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable


def signature(data: dict, key: bytes) -> str:
    """The HMAC of `data` under `key`, as hexadecimal digits; the order of names does not matter.

    >>> signature({"a": 1, "b": 2}, b"k") == signature({"b": 2, "a": 1}, b"k") != signature({"a": 1}, b"k")
    True
    """
    text = json.dumps(data, sort_keys=True, ensure_ascii=True)
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def _sealer() -> tuple[Callable[[dict], dict], Callable[..., None]]:
    key: bytes | None = None
    intact: Callable[[], bool] = bool

    def seal(data: dict) -> dict:
        return data if key is None or not intact() else data | {"seal": signature(data, key)}

    def begin(new: bytes, unchanged: Callable[[], bool]) -> None:
        nonlocal key, intact
        if key is not None:
            raise RuntimeError("expected a process whose verdicts have no seal yet; start another kernel")
        key, intact = new, unchanged
    return seal, begin


seal, begin_sealing = _sealer()
