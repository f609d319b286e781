"""What is said of generated code: the records of a test run, and which verdict an error of Monty means.

Every text is one line that is the same in every run: no addresses, paths, timings or control characters.
Left out: deciding whether a value is right (`helpers.sandbox`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from pydantic_monty import MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from helpers.dialect import Mended, missing_feature
from helpers.monty_sessions import Limits
from helpers.plain_data import one_line, without_paths
from helpers.processor_time import OutOfTime

CODE = "<python-input-1>"  # how Monty names the code in a traceback; 0 is the prelude


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


class Stop(Exception):
    """The end of a test, or of the loading, with its verdict."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status, self.text = status, text


def short(text: str) -> str:
    """`text` as a part of a detail, so that three of them fit.

    >>> short("f(2)\\n")
    'f(2) '
    """
    return one_line(text, 110)


@contextmanager
def verdicts(what: str, program: Mended | None, limits: Limits) -> Iterator[None]:
    """Turns every error of Monty into the verdict that it means; without `program` it is one of the test."""
    try:
        yield
    except (MontyError, OutOfTime) as error:
        raise stop_for(error, short(what), program, limits) from None


def stop_for(error: MontyError | OutOfTime, what: str, program: Mended | None, limits: Limits) -> Stop:
    """The verdict for an error that `what` ended in: a limit, a missing feature, or an error of the code."""
    timeout = Stop("timeout", f"{what} timed out after {limits.timeout_s:g} s")
    if isinstance(error, OutOfTime):
        return timeout
    if isinstance(error, MontyCrashedError):
        return timeout if error.timed_out else Stop("crash", f"{what} ended the process of the sandbox")
    if not isinstance(error, (MontyRuntimeError, MontySyntaxError)):
        return Stop("error", f"{what} gave a value that cannot leave the sandbox")
    message = error.display("msg")
    kind = error.display("type-msg").removesuffix(message).removesuffix(": ")
    message = message[:2000]
    frames = error.traceback()
    if kind == "TimeoutError" and not frames:  # the limit, not an exception that the code raised
        return timeout
    if kind == "MemoryError" and "memory limit" in message:
        return Stop("memory", f"{what} used more than {limits.memory_mb} MB")
    lines = [frame.line for frame in frames if frame.filename == CODE and program]
    place = f" (line {lines[-1]})" if lines else ""
    if feature := missing_feature(kind, message):
        return unsupported(what, one_line(feature, 80) + place)
    if program and program.eager and kind != "SyntaxError":
        return unsupported(what, "a generator expression that is not computed at once")
    told = f"{kind}: {without_paths(message)}" if message else kind
    return Stop("error", f"{what} raised {one_line(told, 150)}{place}")


def unsupported(what: str, feature: str) -> Stop:
    """The verdict for what Monty does not have, as a request to write it in another way."""
    return Stop("unsupported", f"{what} needs {feature}, which the sandbox does not have; write it without")
