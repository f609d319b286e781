"""Runs generated code against tests in Monty, a Python interpreter without files, environment or network.

`run_tests(code, tests)` loads the code once, restores that state for every test and gives one verdict each.
The process that runs the code never sees an expected value: it computes calls of the code's functions, and
what comes back counts only as plain data, compared on this side or in a second, clean session. Left out:
running code that Monty does not know (verdict `unsupported`); it never falls back to plain CPython.
"""

import ast
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySession, MontySyntaxError

from helpers.dialect import Mended, mended, missing_feature
from helpers.expressions import Plan, plan_of
from helpers.monty_prelude import parts_of
from helpers.monty_sessions import Limits, sessions
from helpers.plain_data import TOO_LARGE, as_text, described, one_line, same, why_not_plain, without_paths

MAX_CODE = 50_000  # characters of a program; a traceback quotes its line in each of up to 1,000 frames
MAX_PRINTED = 2_000  # characters kept of what a program prints while it is loaded
MAX_TIMEOUT_S = 60.0
_LOADED = "loaded"  # the value of the last line; a `return` at the top level leaves before it
_CODE = "<python-input-1>"  # how Monty names the code in a traceback; 0 is the prelude
_EQUAL_TO_PLAIN = ("Decimal", "dict_keys", "dict_items")  # not plain data, and yet == may hold


@dataclass(frozen=True)
class TestResult:
    """What one test said of the code; `detail` is one line of at most 300 characters, the same in every run."""

    __test__: ClassVar[bool] = False  # nothing for pytest to collect

    test: str
    status: str  # passed | failed | error | timeout | memory | unsupported | crash
    detail: str


@dataclass(frozen=True)
class TestReport:
    """The results in the order of the tests; `error` says why the code could not be tested at all, if so."""

    __test__: ClassVar[bool] = False

    results: tuple[TestResult, ...]
    error: str | None
    printed: str = ""  # what the code printed while it was loaded, for a reader; no verdict depends on it

    @property
    def passed(self) -> bool:
        """Whether there was at least one test and all passed."""
        return self.error is None and bool(self.results) and self.n_passed == len(self.results)

    @property
    def n_passed(self) -> int:
        """How many tests passed."""
        return sum(result.status == "passed" for result in self.results)


class _Stop(Exception):
    """The end of a test, or of the loading, with its verdict."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


def run_tests(code: str | None, tests: Sequence[str], *, timeout_s: float = 5.0, memory_mb: int = 256) -> TestReport:
    """Run `code`, then every test on its own from the state the code left, and report a verdict for each.

    A test is a Python expression over names that the code defines: `f(2) == 4`, `f([]) is None`,
    `abs(f(2) - 1.5) < 1e-6`, `is_even(2)`. `timeout_s` (above 0, up to 60) limits the loading and each test;
    `memory_mb` limits each session. True is not 1 and False is not 0, but 1.0 is 1. No tests, no code, or
    code that cannot be loaded is never a pass.
    Errors: `ValueError` naming the argument or the test that cannot be used.

    >>> report = run_tests("def double(n):\\n    return n + 2", ["double(2) == 4", "double(3) == 6"])
    >>> [(result.status, result.detail) for result in report.results]
    [('passed', 'double(2) gave 4'), ('failed', 'double(3) gave 5, expected 6')]
    """
    limits = _checked_limits(timeout_s, memory_mb)
    plans = _checked_plans(code, tests)
    if not plans:
        return TestReport((), "there are no tests, so nothing was checked; give at least one")
    printed: list[str] = []
    try:
        run = _load(_checked_program(code), plans, limits, printed)
    except _Stop as stop:
        text = one_line(stop.text)
        return TestReport(tuple(TestResult(plan.test, stop.status, text) for plan in plans), text, _kept(printed))
    return TestReport(tuple(run.result(plan) for plan in plans), None, _kept(printed))


def _checked_limits(timeout_s: float, memory_mb: int) -> Limits:
    if not isinstance(timeout_s, (int, float)) or not 0 < timeout_s <= MAX_TIMEOUT_S:  # NaN fails this as well
        raise ValueError(f"timeout_s: expected seconds above 0, up to {MAX_TIMEOUT_S:g}; got {timeout_s!r}")
    if not isinstance(memory_mb, int) or memory_mb < 1:
        raise ValueError(f"memory_mb: expected a whole number of megabytes above 0; got {memory_mb!r}")
    return Limits(float(timeout_s), memory_mb)


def _checked_plans(code: object, tests: Sequence[str]) -> list[Plan]:
    if code is not None and not isinstance(code, str):
        raise ValueError(f"code: expected a string or None; got {type(code).__name__}")
    if isinstance(tests, (str, bytes)) or not isinstance(tests, Sequence):
        raise ValueError(f"tests: expected a list of strings; got {type(tests).__name__}")
    for number, test in enumerate(tests):
        if not isinstance(test, str):
            raise ValueError(f"tests[{number}]: expected a string with a Python expression; got {test!r}")
    plans = [plan_of(test) for test in tests]
    # What is compared with something else than plain data (a range, a type) is decided in one piece.
    return [plan if plan.expected is None or _constant(plan.expected) else plan_of(plan.test, whole=True)
            for plan in plans]


def _checked_program(code: str | None) -> Mended:
    source = (code or "").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if not source.strip():
        raise _Stop("error", "there is no code to test")
    if len(source) > MAX_CODE:
        raise _Stop("error", f"the code has more than {MAX_CODE:,} characters")
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in source):
        raise _Stop("error", "SyntaxError: a Python program holds no NUL and no half of a surrogate pair")
    program = mended(source)
    if program.refused:
        raise _unsupported("the code", program.refused)
    return program


def _load(program: Mended, plans: Sequence[Plan], limits: Limits, printed: list[str]) -> "_Run":
    """Run the code once in a fresh session and keep the state that it leaves."""
    def keep(stream: str, text: str) -> None:
        if sum(map(len, printed)) < MAX_PRINTED:
            printed.append(text[:MAX_PRINTED])

    sources = [program.source, *(plan.source for plan in plans), *(c.source for plan in plans for c in plan.calls)]
    if any(plan.calls for plan in plans):
        sources.append("_sandbox_drawn")
    start = sessions().start(parts_of(" ".join(sources)), limits)
    with _verdicts("loading the code", program, limits), sessions().code(start, limits) as session:
        left = _fed(session, f"{program.source}\n\n{_LOADED!r}", print_callback=keep)
        if left != _LOADED:
            raise _Stop("error", "loading the code raised SyntaxError: 'return' outside function")
        return _Run(session.dump(), program, limits)


def _kept(printed: list[str]) -> str:
    return "".join(printed)[:MAX_PRINTED]


# --- one test ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """Code that is loaded: the state of its session, from which every test starts."""

    state: bytes
    program: Mended
    limits: Limits

    def result(self, plan: Plan) -> TestResult:
        """The verdict of one test."""
        constant = None if plan.expected is None else _constant(plan.expected)
        told = ""
        try:
            if plan.direct:
                value = self._from_code(plan)
            else:
                value, told = self._from_test(plan)
        except _Stop as stop:
            return TestResult(plan.test, stop.status, one_line(stop.text))
        right = bool(value) if constant is None else same(value, constant[0])
        text = f"{_short(plan.left)} gave {as_text(value)}"
        if not right:
            text += f", expected {'a true value' if constant is None else as_text(constant[0])}"
            text += f"; {told}" if told and constant is None else ""
        return TestResult(plan.test, "passed" if right else "failed", one_line(text))

    def _from_code(self, plan: Plan) -> Any:
        """The value of a test that is nothing but a call of the code."""
        with _verdicts(plan.left, self.program, self.limits), sessions().code(self.state, self.limits) as session:
            problem, value = _answer(session, f"_sandbox_plain({plan.source})")
        if problem:
            wanted = f", expected {plan.expected or 'a true value'}"
            status = "unsupported" if problem.endswith(_EQUAL_TO_PLAIN) else "failed"
            raise _Stop(status, f"{_short(plan.left)} gave {_short(problem)}{_short(wanted)}")
        return value

    def _from_test(self, plan: Plan) -> tuple[Any, str]:
        """The value of any other test, computed in a clean session, and what its first calls gave."""
        if not plan.calls:
            raise _Stop("error", f"{_short(plan.test)} calls nothing that the code defines")
        parts = parts_of(plan.source)
        carrier = None
        try:
            with (_verdicts(plan.left, None, self.limits), sessions().code(self.state, self.limits) as code,
                  sessions().tests(parts, self.limits) as clean):
                carrier = _Carrier(self, plan, code)
                problem, value = _answer(clean, f"_sandbox_plain({plan.source})",
                                         external_lookup={"_sandbox_host": carrier})
        except _Stop as stop:
            if carrier is None or carrier.stop is None:
                raise _Stop(stop.status, "; ".join([stop.text, *(carrier.told if carrier else ())])) from None
            raise carrier.stop from None
        if problem:
            raise _Stop("unsupported", f"{_short(plan.left)} gave {problem}, which cannot be judged")
        return value, "; ".join(carrier.told)


class _Carrier:
    """Carries a call from the session of a test to the session of the code, and plain data back."""

    def __init__(self, run: _Run, plan: Plan, code: MontySession) -> None:
        self.run, self.plan, self.code = run, plan, code
        self.deadline = time.monotonic() + run.limits.timeout_s
        self.told: list[str] = []  # what the first calls gave
        self.stop: _Stop | None = None

    def __call__(self, index: int, bound: tuple, args: tuple | None) -> tuple[str, Any]:
        """("", value), ("iterator", what it gives) or ("function", None); any other end is kept in `stop`."""
        call = self.plan.calls[index]
        given = ", ".join(f"{name} = {as_text(value, 40)}" for name, value in zip(call.bound, bound, strict=True))
        shown = _short(call.text) + (f" for {given}" if given else "")
        try:
            return self._carried(call.source, shown, bound, args)
        except _Stop as stop:
            self.stop = stop
            raise

    def _carried(self, source: str, shown: str, bound: tuple, args: tuple | None) -> tuple[str, Any]:
        limits = self.run.limits
        if time.monotonic() > self.deadline:
            raise _Stop("timeout", f"{_short(self.plan.left)} timed out after {limits.timeout_s:g} s")
        if args is not None:
            source = f"({source})(*_sandbox_args)"
        with _verdicts(shown, self.run.program, limits):
            problem, value = _answer(self.code, f"_sandbox_drawn({source})",
                                     inputs={"_sandbox_bound": bound, "_sandbox_args": args})
            mutable = any(isinstance(value, (list, dict, set)) for value in bound)
            kept = _answer(self.code, "_sandbox_plain(_sandbox_bound)") if mutable else ("", bound)
        if kept != ("", bound):
            raise _Stop("unsupported", f"{shown} changes its argument, which this test cannot see")
        if len(self.told) < 3:
            self.told.append(f"{shown} gave {problem or as_text(value, 40)}")
        if problem in ("", "iterator"):
            return problem, value
        if problem in ("a function object", "a builtin_function_or_method object", "a class"):
            return "function", None
        status = "failed" if problem == TOO_LARGE else "unsupported"
        raise _Stop(status, f"{shown} gave {problem}, and the test goes on with plain data only")


def _answer(session: MontySession, source: str, **options: Any) -> tuple[str, Any]:
    """What `source`, a call of `_sandbox_plain` or `_sandbox_drawn`, gave: ("", plain value) or (problem, …)."""
    answer = _fed(session, source, print_callback=lambda stream, text: None, **options)
    if type(answer) is not tuple or len(answer) != 2 or type(answer[0]) is not str:
        return described("unknown"), None  # the code put something else in the place of those two
    reason, value = answer
    if reason in ("", "iterator"):
        return why_not_plain(value) or reason, value
    return TOO_LARGE if reason == "too large" else described(one_line(reason.removeprefix("type "), 60)), None


def _fed(session: MontySession, source: str, **options: Any) -> Any:
    """The value of the last line of `source`, or None if no value of this process can stand for it."""
    try:
        return session.feed_run(source, **options)
    except (TypeError, ValueError, OverflowError, RecursionError):  # such as an object as the key of a dict
        return None


@lru_cache(maxsize=4096)
def _constant(source: str) -> tuple[Any] | None:
    """The value of an expression that uses no code, in a tuple; None if that is not plain data."""
    try:
        return (ast.literal_eval(source),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass  # not a literal: Monty computes it, never this process
    limits = Limits()
    try:
        source = mended(source).source
        with sessions().tests(parts_of(source), limits) as session:
            problem, value = _answer(session, f"_sandbox_plain({source})")
    except MontyError:
        return None
    return None if problem else (value,)


# --- verdicts ------------------------------------------------------------------------------------------------


def _short(text: str) -> str:
    return one_line(text, 110)


@contextmanager
def _verdicts(what: str, program: Mended | None, limits: Limits) -> Iterator[None]:
    """Turns every error of Monty into the verdict that it means; without `program` it is one of the test."""
    try:
        yield
    except MontyError as error:
        raise _stop_for(error, _short(what), program, limits) from None


def _stop_for(error: MontyError, what: str, program: Mended | None, limits: Limits) -> _Stop:
    timeout = _Stop("timeout", f"{what} timed out after {limits.timeout_s:g} s")
    if isinstance(error, MontyCrashedError):
        return timeout if error.timed_out else _Stop("crash", f"{what} ended the process of the sandbox")
    if not isinstance(error, (MontyRuntimeError, MontySyntaxError)):
        return _Stop("error", f"{what} gave a value that cannot leave the sandbox")
    message = error.display("msg")
    kind = error.display("type-msg").removesuffix(message).removesuffix(": ")
    message = message[:2000]
    frames = error.traceback()
    if kind == "TimeoutError" and not frames:  # the limit, not an exception that the code raised
        return timeout
    if kind == "MemoryError" and "memory limit" in message:
        return _Stop("memory", f"{what} used more than {limits.memory_mb} MB")
    lines = [frame.line for frame in frames if frame.filename == _CODE and program]
    place = f" (line {lines[-1]})" if lines else ""
    if feature := missing_feature(kind, message):
        return _unsupported(what, one_line(feature, 80) + place)
    if program and program.eager and kind != "SyntaxError":
        return _unsupported(what, "a generator expression that is not computed at once")
    told = f"{kind}: {without_paths(message)}" if message else kind
    return _Stop("error", f"{what} raised {one_line(told, 150)}{place}")


def _unsupported(what: str, feature: str) -> _Stop:
    return _Stop("unsupported", f"{what} needs {feature}, which the sandbox does not have; write it without")
