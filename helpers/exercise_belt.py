"""Checks a way through a belt of restricted builtins, and why it is none through the sandbox (exercise 10).

The reader's expression runs in a throw-away process only, with limits. Left out: every belt but this one.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from tempfile import TemporaryDirectory, TemporaryFile

from helpers import audit_hook
from helpers.belt import CHILD, MARKER
from helpers.exercise_values import shown
from helpers.exercises import TODO, NotAttempted, Part, check
from helpers.sandbox import run_tests
from helpers.verdicts import TestReport

FLAG = "COURSE_FLAG"  # the variable in the environment of the process whose value is to be read
REFUSED = ("_os", "environ", "subclasses")  # words that notebook 01 used; this belt looks for them
SECONDS, OUTPUT = 5, 100_000  # of one try: its time, and the bytes of output that are read
LIMITS = f"""
import os, runpy, sys
runpy.run_path({audit_hook.__file__!r})["install"](os.getcwd())
del runpy
try:
    import resource
    for name, most in (("RLIMIT_CPU", 2), ("RLIMIT_AS", 1 << 30), ("RLIMIT_FSIZE", 1 << 20)):
        resource.setrlimit(getattr(resource, name), (most, most))
except (ImportError, OSError, ValueError):
    pass  # Windows has none of these and macOS not all; there the time limit of the parent remains
del os
"""
COMMAND = (sys.executable, "-I", "-c", LIMITS + CHILD)
ATTACKS = {
    "environment": f"import os\ndef f():\n    return os.getenv({FLAG!r})",
    "printed": "print('__RESULT__' + '{\"results\": [true], \"error\": null}')\ndef f():\n    return 0",
    "equal": "class Yes:\n    def __eq__(self, other):\n        return True\ndef f():\n    return Yes()",
    "endless": "def f():\n    while True:\n        pass",
}
LAYERS = {
    "A": "an interpreter of its own: no objects of the host, so nothing to climb from one to the next",
    "B": "no environment, no files, no network",
    "C": "what the code prints is kept for the reader and is no channel",
    "D": "only plain data is compared, and outside of the process that ran the code",
    "E": "limits of time and memory",
}


def behind_belt(expression: str, flag: str) -> str:
    """What the value of `expression` is behind the belt, as text, or the error that it ends in.

    The belt is that of notebook 01, which now also refuses the words REFUSED. It runs in a process of its own, whose
    environment holds `flag`, for SECONDS at most.
    """
    if found := [word for word in REFUSED if word in expression]:
        return f"refused by the belt: the text holds {found[0]!r}"
    job = json.dumps({"code": f"raise ValueError({expression}\n)", "tests": []}).encode()
    basic = {name: os.environ[name] for name in ("SYSTEMROOT", "PATH") if name in os.environ}
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, TemporaryFile() as output:
        try:  # into a file, which has a limit: a pipe would carry a flood of output into this process
            subprocess.run(COMMAND, input=job, stdout=output, cwd=folder,
                           stderr=subprocess.DEVNULL, env={**basic, FLAG: flag}, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"no value within {SECONDS} s"
        output.seek(0)
        return _told(output.read(OUTPUT).decode(errors="replace"))


def _told(output: str) -> str:
    """The error in the last marked line; one before it may be of the expression's own making.

    >>> _told('__RESULT__{"error": "ValueError: 42"}')
    '42'
    """
    lines = [line.removeprefix(MARKER) for line in output.splitlines() if line.startswith(MARKER)]
    try:
        return json.loads(lines[-1])["error"].removeprefix("ValueError: ")
    except (IndexError, ValueError, KeyError, TypeError, AttributeError):
        return "no value"


def layer_of(report: TestReport) -> str:
    """The letter of the layer that the verdict on `f() == 42` speaks of.

    >>> layer_of(run_tests(ATTACKS["equal"], ["f() == 42"]))
    'D'
    """
    result = report.results[0]
    if result.status in ("timeout", "memory"):
        return "E"
    if result.status == "failed":
        return "C" if MARKER in report.printed else "D"
    return "B" if "not supported in this environment" in result.detail else "A"


@cache
def in_sandbox(code: str) -> TestReport:
    """The course's sandbox on `code`, which defines f, with the test f() == 42."""
    return run_tests(code, ["f() == 42"], timeout_s=0.3, memory_mb=64)


class _Trial:
    """One answer; its expression is tried once, when the first part asks for it."""

    def __init__(self, expression: object, layer: Callable[[str], object]) -> None:
        self.expression, self.layer = expression, layer

    @cached_property
    def reached(self) -> str:
        """What the expression gives, with "the flag" in place of the flag."""
        if self.expression is TODO:
            raise NotAttempted
        if not isinstance(self.expression, str):
            return f"a {type(self.expression).__name__}, not the text of an expression"
        return behind_belt(self.expression, flag := secrets.token_hex(8)).replace(flag, "the flag")

    def stopped(self, name: str) -> object:
        """The letter chosen for `name` when it is the layer that stops it, else what the sandbox says."""
        letter = self.layer(name)
        if letter is TODO:
            raise NotAttempted
        if letter not in LAYERS:
            return f"{shown(letter)}, which is none of the letters {' '.join(LAYERS)}"
        if name == "yours" and self.reached != "the flag":
            return f"{letter}, but your expression does not reach the flag behind the belt yet"
        report = in_sandbox(ATTACKS.get(name) or f"def f():\n    return ({self.expression}\n)")
        if letter == layer_of(report):
            return letter
        return f"{letter}, but the sandbox says {report.results[0].status}: {report.results[0].detail}"


@check(number=10, title="Break the belt")
def check_belt(answer: tuple[object, Callable[[str], object]]) -> list[Part]:
    """The parts for `(expression, layer)`; `layer` gives a letter for "yours" and for each name in ATTACKS."""
    trial = _Trial(*answer)
    return [
        Part("the value of your expression behind the belt", lambda: trial.reached, "the flag", points=3,
             why="Names were taken away, the objects were not. Which of those that are left is a function written in "
                 "Python, and what does such a function carry with it? A word that is refused can be avoided, or put "
                 "together from parts."),
        *(Part(f'layer("{name}")', partial(trial.stopped, name),
               "the letter of the layer that the verdict speaks of", accept=lambda letter: letter in LAYERS,
               why="Read the verdict, and ask what the attack would have needed to get further.")
          for name in ("yours", *ATTACKS))]
