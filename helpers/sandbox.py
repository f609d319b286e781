"""Runs generated code against tests in Monty, a Python interpreter without files, environment or network.

`run_tests(code, tests)` loads the code once, restores that state for every test and gives one verdict each.
The process that runs the code never sees an expected value: it computes calls of the code's functions, and
what comes back counts only as plain data, compared on this side or in a second, clean session. Left out:
running code that Monty does not know (verdict `unsupported`); it never falls back to plain CPython.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic_monty import MontyError

from helpers.dialect import Mended, mended
from helpers.expressions import Plan, plan_of
from helpers.monty_prelude import DRAWN, parts_of
from helpers.monty_sessions import Limits, Session, sessions
from helpers.plain_data import TOO_LARGE, as_text, described, one_line, same, why_not_plain
from helpers.processor_time import Meter, OutOfTime
from helpers.verdicts import Stop, TestReport, TestResult, short, unsupported, verdicts

MAX_CODE = 50_000  # characters of a program; a traceback quotes its line in each of up to 1,000 frames
MAX_PRINTED = 2_000  # characters kept of what a program prints while it is loaded
MAX_TIMEOUT_S = 60.0
AFTER_TIMEOUT_S = 0.5  # for the tests after one that ran into its limit: whoever loops once tends to loop again
_LOADED = "loaded"  # the value of the last line; a `return` at the top level leaves before it
# Not plain data, and yet == may hold with values of these types.
_MAY_EQUAL = {described("Decimal"): (int, float), described("dict_keys"): (set, frozenset),
              described("dict_items"): (set, frozenset)}


def run_tests(code: str | None, tests: Sequence[str], *, timeout_s: float = 5.0, memory_mb: int = 256) -> TestReport:
    """Run `code`, then every test on its own from the state the code left, and report a verdict for each.

    A test is a Python expression over names that the code defines: `f(2) == 4`, `f([]) is None`,
    `abs(f(2) - 1.5) < 1e-6`, `is_even(2)`. `timeout_s` (above 0, up to 60) limits the processor time of the loading
    and of each test, so that a busy machine changes no verdict (on the clock: `helpers.processor_time.longest`); once
    a test has used it up, the next ones get `AFTER_TIMEOUT_S` at most. `memory_mb` limits each session. True is not 1
    and False is not 0, but 1.0 is 1. No tests, no code, or code that cannot be loaded is never a pass.
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
    except Stop as stop:
        text = one_line(stop.text)
        return TestReport(tuple(TestResult(plan.test, stop.status, text) for plan in plans), text, _kept(printed))
    results: list[TestResult] = []
    for plan in plans:
        results.append(run.result(plan))
        if results[-1].status == "timeout":
            run = replace(run, limits=replace(limits, timeout_s=min(limits.timeout_s, AFTER_TIMEOUT_S)))
    return TestReport(tuple(results), None, _kept(printed))


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
        raise Stop("error", "there is no code to test")
    if len(source) > MAX_CODE:
        raise Stop("error", f"the code has more than {MAX_CODE:,} characters")
    if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in source):
        raise Stop("error", "SyntaxError: a Python program holds no NUL and no half of a surrogate pair")
    program = mended(source)
    if program.refused:
        raise unsupported("the code", program.refused)
    return program


def _load(program: Mended, plans: Sequence[Plan], limits: Limits, printed: list[str]) -> "_Run":
    """Run the code once in a fresh session and keep the state that it leaves."""
    def keep(stream: str, text: str) -> None:
        if sum(map(len, printed)) < MAX_PRINTED:
            printed.append(text[:MAX_PRINTED])

    sources = [program.source, *(plan.source for plan in plans), *(c.source for plan in plans for c in plan.calls)]
    if any(plan.calls for plan in plans):
        sources.append("_sandbox_drawn")
    with (verdicts("loading the code", program, limits),
          sessions().code(sessions().start(parts_of(" ".join(sources)), limits), limits) as session):
        left = _fed(session, f"{program.source}\n\n{_LOADED!r}", print_callback=keep)
        if left != _LOADED:
            raise Stop("error", "loading the code raised SyntaxError: 'return' outside function")
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
        except Stop as stop:
            return TestResult(plan.test, stop.status, one_line(stop.text))
        right = bool(value) if constant is None else same(value, constant[0])
        text = f"{short(plan.left)} gave {as_text(value)}"
        if not right:
            text += f", expected {'a true value' if constant is None else as_text(constant[0])}"
            text += f"; {told}" if told and constant is None else ""
        return TestResult(plan.test, "passed" if right else "failed", one_line(text))

    def _from_code(self, plan: Plan) -> Any:
        """The value of a test that is nothing but a call of the code."""
        with verdicts(plan.left, self.program, self.limits), sessions().code(self.state, self.limits) as session:
            problem, value = _answer(session, f"_sandbox_plain({plan.source})")
        if problem:
            wanted = plan.expected or "a true value"
            alike = plan.expected and isinstance(_constant(plan.expected)[0], _MAY_EQUAL.get(problem, ()))
            raise Stop("unsupported" if alike else "failed",
                       f"{short(plan.left)} gave {short(problem)}, expected {short(wanted)}")
        return value

    def _from_test(self, plan: Plan) -> tuple[Any, str]:
        """The value of any other test, computed in a clean session, and what its first calls gave."""
        if not plan.calls:
            raise Stop("error", f"{short(plan.test)} calls nothing that the code defines")
        parts = parts_of(plan.source)
        carrier = None
        try:
            with (verdicts(plan.left, None, self.limits), sessions().code(self.state, self.limits) as code,
                  sessions().tests(parts, self.limits) as clean):
                meter = Meter(self.limits.timeout_s, code.worker_pid, clean.worker_pid, host=True)
                carrier = _Carrier(self, plan, code, meter)
                problem, value = _answer(clean, f"_sandbox_plain({plan.source})",
                                         external_lookup={"_sandbox_host": carrier})
        except Stop as stop:
            if carrier is None or carrier.stop is None:
                raise Stop(stop.status, "; ".join([stop.text, *(carrier.told if carrier else ())])) from None
            raise carrier.stop from None
        if problem:
            raise Stop("unsupported", f"{short(plan.left)} gave {problem}, which cannot be judged")
        return value, "; ".join(carrier.told)


class _Carrier:
    """Carries a call from the session of a test to the session of the code, and plain data back."""

    def __init__(self, run: _Run, plan: Plan, code: Session, meter: Meter) -> None:
        self.run, self.plan, self.code = run, plan, code
        self.meter = meter  # of all calls together; each has the limit for itself as well
        self.told: list[str] = []  # what the first calls gave
        self.stop: Stop | None = None

    def __call__(self, index: int, bound: tuple, args: tuple | None) -> tuple[str, Any]:
        """("", value), (one of DRAWN, what it gives) or ("function", None); any other end is kept in `stop`."""
        call = self.plan.calls[index]
        given = ", ".join(f"{name} = {as_text(value, 40)}" for name, value in zip(call.bound, bound, strict=True))
        shown = short(call.text) + (f" for {given}" if given else "")
        try:
            return self._carried(call.source, shown, bound, args)
        except Stop as stop:
            self.stop = stop
            raise

    def _carried(self, source: str, shown: str, bound: tuple, args: tuple | None) -> tuple[str, Any]:
        limits = self.run.limits
        if self.meter.spent():
            raise Stop("timeout", f"{short(self.plan.left)} timed out after {limits.timeout_s:g} s")
        if args is not None:
            source = f"({source})(*_sandbox_args)"
        with verdicts(shown, self.run.program, limits):
            problem, value = _answer(self.code, f"_sandbox_drawn({source})",
                                     inputs={"_sandbox_bound": bound, "_sandbox_args": args})
            mutable = any(isinstance(variable, (list, dict, set)) for variable in bound)
            kept = _answer(self.code, "_sandbox_plain(_sandbox_bound)") if mutable else ("", bound)
        if kept != ("", bound):
            raise Stop("unsupported", f"{shown} changes its argument, which this test cannot see")
        if len(self.told) < 3:
            gave = described(problem) if problem in DRAWN else problem or as_text(value, 40)
            self.told.append(f"{shown} gave {gave}")
        if problem in ("", *DRAWN):
            return problem, value
        if problem in ("a function object", "a builtin_function_or_method object", "a class"):
            return "function", None
        status = "failed" if problem == TOO_LARGE else "unsupported"
        raise Stop(status, f"{shown} gave {problem}, and the test goes on with plain data only")


def _answer(session: Session, source: str, **options: Any) -> tuple[str, Any]:
    """What a call of `_sandbox_plain` or `_sandbox_drawn` gave: ("", plain value), (one of DRAWN, its parts) or
    (a problem, anything)."""
    answer = _fed(session, source, print_callback=lambda stream, text: None, **options)
    if type(answer) is not tuple or len(answer) != 2 or type(answer[0]) is not str:
        return described("unknown"), None  # the code put something else in the place of those two
    reason, value = answer
    if reason in ("", *DRAWN):
        return why_not_plain(value) or reason, value
    return TOO_LARGE if reason == "too large" else described(one_line(reason.removeprefix("type "), 60)), None


def _fed(session: Session, source: str, **options: Any) -> Any:
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
    except (MontyError, OutOfTime):
        return None
    return None if problem else (value,)
