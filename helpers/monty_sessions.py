"""Keeps the worker processes of Monty: two pools, started at first use, checked once, closed at exit.

Left out: what runs in them (`helpers.sandbox`). Two pools, because a test that waits for a call of the code
holds one worker while it needs another: with one pool, threads would wait for each other for ever.
"""

import atexit
import ctypes
import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic_monty import Monty, MontyCrashedError, MontySession, __version__

from helpers.dialect import self_check
from helpers.monty_prelude import ALWAYS, PARTS
from helpers.processor_time import OutOfTime, Watch, longest

REQUEST_TIMEOUT_S = 90.0  # for what no limit of a session bounds: restoring a state, dumping one
MAX_CALLS = 50_000  # of the code by one test


@dataclass(frozen=True)
class Limits:
    """What one piece of work in a session may use: seconds of processor time, megabytes of memory, and turns to
    this process (calls of the code, and names that nobody defined)."""

    timeout_s: float = 5.0
    memory_mb: int = 256
    suspensions: int = 1000

    def options(self) -> dict[str, object]:
        """As Monty takes them; what is not limited here is not limited. Sleeping takes no time.

        Monty counts on the wall clock, so its limit is the one for a busy machine; `Watch` keeps the other.
        """
        limits = {"max_feed_duration_secs": longest(self.timeout_s), "max_memory": self.memory_mb * 2**20,
                  "max_recursion_depth": 1000, "max_suspensions": self.suspensions, "max_total_sleep_secs": 0.0}
        return {"limits": limits, "os_policy": {"sleep": "zero", "random_start": {"seed": 0}},
                "assert_message_annotations": False}


class Session:
    """A session of Monty in which every feed has its seconds of processor time, or ends as `OutOfTime`."""

    def __init__(self, session: MontySession, watch: Watch, limits: Limits) -> None:
        self._session, self._watch, self._limits = session, watch, limits

    @property
    def worker_pid(self) -> int | None:
        """The process that serves the session."""
        return self._session.worker_pid

    def feed_run(self, source: str, **options: Any) -> Any:
        """The value of the last line of `source`."""
        value = None
        with self._watch.limited(self.worker_pid, self._limits.timeout_s) as meter:
            try:
                value = self._session.feed_run(source, **options)
            except MontyCrashedError:
                if not meter.killed:
                    raise
        if meter.killed:
            raise OutOfTime
        return value

    def dump(self) -> bytes:
        """The state, from which other sessions can start."""
        return self._session.dump()


class Sessions:
    """The two pools of one process: `code` runs what a model wrote, `tests` runs what the course wrote."""

    def __init__(self) -> None:
        # Monty imports opentelemetry at every turn if it can; where it is not installed, Python would search the
        # whole path for it each time, a tenth of the time of a test.
        if importlib.util.find_spec("opentelemetry") is None:
            sys.modules["opentelemetry"] = None
        self._code, self._tests = (Monty(request_timeout=REQUEST_TIMEOUT_S, feed_duration_limit_grace=0.5)
                                   for _ in range(2))
        self._watch = Watch()
        self._starts: dict[object, bytes] = {}
        self._code.__enter__()
        self._tests.__enter__()

    def close(self) -> None:
        """End every worker process."""
        self._watch.close()
        self._code.__exit__(None, None, None)
        self._tests.__exit__(None, None, None)

    @contextmanager
    def code(self, state: bytes, limits: Limits) -> Iterator[Session]:
        """A session for a model's code, restored to `state`."""
        with self._code.checkout(**limits.options()) as session:
            session.load_session(state)
            yield Session(session, self._watch, limits)

    @contextmanager
    def tests(self, parts: frozenset[str], limits: Limits) -> Iterator[Session]:
        """A clean session for a test, with the parts of the prelude that it needs."""
        limits = replace(limits, suspensions=MAX_CALLS)
        start = self.start(parts, limits)  # before a worker is held: it takes one as well
        with self._tests.checkout(**limits.options()) as session:
            session.load_session(start)
            yield Session(session, self._watch, limits)

    def start(self, parts: frozenset[str], limits: Limits) -> bytes:
        """The state of a session in which nothing but the prelude has run; it carries the limits."""
        if (parts, limits) not in self._starts:
            with self._tests.checkout(**limits.options()) as session:
                session.feed_run("\n".join([ALWAYS, *(PARTS[part] for part in PARTS if part in parts), "None"]))
                if len(self._starts) >= 256:
                    self._starts.clear()
                self._starts[parts, limits] = session.dump()
        return self._starts[parts, limits]

    def check(self) -> None:
        """Stop with a `RuntimeError` if this release of Monty behaves otherwise than the one measured."""
        def run(source: str) -> object:
            with self._tests.checkout(**Limits().options()) as session:
                return session.feed_run(source)
        if wrong := self_check(run):
            raise RuntimeError(f"pydantic-monty {__version__} answers otherwise than 1.4.0, for which the sandbox "
                               f"is written; install pydantic-monty==1.4.0. It differs in: {'; '.join(wrong)}")


_lock = threading.Lock()
_current: Sessions | None = None
_process: int | None = None  # the process that started the pools


def sessions() -> Sessions:
    """The pools of this process, started when they are first asked for.

    Errors: `RuntimeError` in a process forked after that (Monty's threads do not exist there, and a call would
    never return), and for a release of Monty that fails the self-check.
    """
    global _current, _process
    if _process not in (None, os.getpid()):
        raise RuntimeError("the sandbox was started before this process was forked, and does not work in the copy; "
                           "start processes with multiprocessing.get_context('spawn')")
    with _lock:
        if _current is None:
            started = Sessions()
            try:
                started.check()
            except BaseException:
                started.close()
                raise
            _register()
            _current, _process = started, os.getpid()
        return _current


@cache
def _register() -> None:
    atexit.register(close)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:  # a kernel waits for its children before it comes to atexit
        shell.observe(lambda change: change.new and close(), "exit_now")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_never_drop)


def _never_drop() -> None:
    """In a forked child, which must not end the parent's workers when it ends: a reference nobody gives back."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_current))


def close() -> None:
    """End the worker processes that this process started; the next `sessions()` starts new ones."""
    global _current
    if _process == os.getpid():
        with _lock:
            closing, _current = _current, None
        if closing is not None:
            closing.close()
