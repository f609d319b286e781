"""A belt of restricted builtins around `exec` in a child process: an exhibit of what does not hold.

Kept because many agents ship something like it, and because reading how it falls explains each rule of
`helpers.sandbox`. Never run a model's code with it. Left out: everything that would make it safe.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

MARKER = "__RESULT__"

# What the child process runs: the builtins it dares to give, a list of modules, and the tests in the same namespace.
CHILD = '''
import builtins, json, sys
ALLOWED_MODULES = {"math", "itertools", "functools", "collections", "string", "re", "statistics", "random"}
REMOVED = {"open", "eval", "exec", "compile", "input", "exit", "quit", "breakpoint", "globals", "locals", "vars"}

def careful_import(name, *rest):
    if name not in ALLOWED_MODULES:
        raise ImportError(f"{name} is not allowed")
    return builtins.__import__(name, *rest)

safe = {name: value for name, value in vars(builtins).items() if name not in REMOVED}
safe["__import__"] = careful_import
job, namespace = json.load(sys.stdin), {"__builtins__": safe, "__name__": "answer"}
try:
    exec(job["code"], namespace)
    results = [bool(eval(test, namespace)) for test in job["tests"]]
    print("__RESULT__" + json.dumps({"results": results, "error": None}))
except BaseException as error:
    print("__RESULT__" + json.dumps({"results": [], "error": f"{type(error).__name__}: {error}"}))
'''


def run_behind_belt(code: str, tests: Sequence[str], *, env: Mapping[str, str], folder: str,
                    timeout_s: float = 10.0) -> dict:
    """Run `code` and `tests` behind the belt, in a child process whose environment is `env` and folder `folder`.

    Returns what the first marked line says: `{"results": [bool, …], "error": str | None}`. That this line may come
    from the code under test is one of the ways through.
    """
    basic = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH") if name in os.environ}
    child = subprocess.run([sys.executable, "-I", "-c", CHILD], input=json.dumps({"code": code, "tests": list(tests)}),
                           capture_output=True, text=True, encoding="utf-8", cwd=folder, env={**basic, **env},
                           timeout=timeout_s)
    line = next((line for line in child.stdout.splitlines() if line.startswith(MARKER)), None)
    return json.loads(line[len(MARKER):]) if line else {"results": [], "error": "no result line"}
