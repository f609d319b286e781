"""Which names Python has: built-ins, members of modules, attributes of types, as in Python 3.11 on Linux.

Frozen in `data/python_names.json`, so that a verdict depends neither on the Python that runs the course nor on what
IPython or `site` add to it. Left out: modules of which the sandbox knows nothing.
"""

import builtins
import collections
import datetime
import importlib
import json
import types
from functools import cache

from helpers.settings import DATA

FILE = DATA / "python_names.json"
# Modules of which Monty has a part: what else CPython has in them is a missing feature.
MODULES = ("asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime",
           "decimal", "functools", "hashlib", "itertools", "json", "math", "os", "os.path", "pathlib", "random",
           "re", "sys", "time", "tomllib", "typing", "unicodedata")
_OTHER_TYPES = {"function": types.FunctionType, "builtin_function_or_method": types.BuiltinFunctionType,
                "list_iterator": type(iter([])), "Counter": collections.Counter, "deque": collections.deque,
                "defaultdict": collections.defaultdict, "date": datetime.date, "datetime": datetime.datetime,
                "timedelta": datetime.timedelta}


def is_builtin(name: str) -> bool:
    """Whether the language itself defines `name`.

    >>> is_builtin("len"), is_builtin("display"), is_builtin("credits")
    (True, False, False)
    """
    return name in _names()["builtins"]


def in_module(module: str, name: str) -> bool:
    """Whether one of `MODULES` has a member `name`; False for any other module.

    >>> in_module("math", "prod"), in_module("itertools", "batched")
    (True, False)
    """
    return name in _names()["modules"].get(module, ())


def of_type(kind: str, name: str) -> bool:
    """Whether values of the type named `kind` have an attribute `name`; of an unknown type, whether all values do.

    >>> of_type("str", "removeprefix"), of_type("str", "push"), of_type("Mine", "__eq__")
    (True, False, True)
    """
    types_ = _names()["types"]
    return name in types_["object"] or name in types_.get(kind, ())


@cache
def _names() -> dict:
    told = json.loads(FILE.read_text(encoding="utf-8"))
    return {"builtins": frozenset(told["builtins"].split()),
            **{what: {key: frozenset(names.split()) for key, names in told[what].items()}
               for what in ("modules", "types")}}


def names_here() -> dict[str, object]:
    """The content of `FILE` as the running Python would write it: names divided by spaces."""
    own = {name: value for name, value in vars(builtins).items()
           if name.startswith("__") or getattr(value, "__module__", "builtins") == "builtins"}
    kinds = {name: value for name, value in own.items() if isinstance(value, type)} | _OTHER_TYPES
    always = set(dir(object))
    return {"builtins": " ".join(sorted(own)),
            "modules": {module: " ".join(name for name in dir(importlib.import_module(module))
                                 if not name.startswith("__"))
                        for module in MODULES},
            "types": {kind: " ".join(name for name in dir(kinds[kind]) if kind == "object" or name not in always)
                      for kind in sorted(kinds)}}
