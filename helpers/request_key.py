"""The one form of a request to a model, and the key under which its answer is recorded.

Left out: every likeness. Two requests have one key only when they say the same.
"""

import hashlib
import json
from typing import Any

# Fields that say how an answer travels, not what it says; anything else that is not in the key is refused.
TRANSPORT_FIELDS = {"cache_prompt", "encoding_format", "stream", "usage", "user"}
ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_request(request: dict[str, Any]) -> dict[str, Any]:
    """The one form of a request that its key is computed from.

    A chat keeps `model`, `messages` (role and content), `temperature` (float, 1.0 when missing),
    `max_tokens`, `seed` and `stop` (a list; one string becomes a list of one); an embedding request keeps `model`,
    `input` (a list) and `dimensions`. Text is taken as it is, to the last blank.

    Raises:
        ValueError: a field that may change the answer but is not part of the key.

    >>> canonical_request({"model": "m", "input": "one"})
    {'dimensions': None, 'input': ['one'], 'model': 'm'}
    """
    rest = {name: value for name, value in request.items() if name not in TRANSPORT_FIELDS}
    if "input" in rest:
        texts = rest.pop("input")
        form = {"dimensions": rest.pop("dimensions", None), "input": [texts] if isinstance(texts, str) else list(texts)}
    else:
        messages, stop = rest.pop("messages"), rest.pop("stop", None)
        form = {"max_tokens": rest.pop("max_tokens", None),
                "messages": [{"content": m["content"], "role": m["role"]} for m in messages]}
        form |= {"seed": rest.pop("seed", None), "stop": [stop] if isinstance(stop, str) else list(stop or ()),
                 "temperature": float(rest.pop("temperature", 1.0))}
    form["model"] = rest.pop("model")
    if rest:
        raise ValueError(f"a recorded request has no field {', '.join(sorted(rest))}: it could change the answer, "
                         "and the key would not show it")
    return dict(sorted(form.items()))


def request_key(request: dict[str, Any]) -> str:
    """SHA-256, 64 hexadecimal digits, of the canonical request as compact UTF-8 JSON with sorted keys.

    >>> one = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0, "stop": "x"}
    >>> request_key(one) == request_key(one | {"temperature": 0.0, "stop": ["x"]})
    True
    """
    return digest(canonical_request(request))


def digest(canonical: dict[str, Any]) -> str:
    """The key of a request that is in canonical form already, as those of a transcript are."""
    return hashlib.sha256(compact_json(canonical).encode()).hexdigest()


def compact_json(value: Any) -> str:
    """`value` as JSON in one line: sorted keys, no blanks, characters as they are, no NaN.

    >>> compact_json({"b": "é", "a": [1, 2]})
    '{"a":[1,2],"b":"é"}'
    """
    return ENCODER.encode(value)
