"""Grade notebooks of exercises: our notebook with the answers of a submission put in, each in a kernel of its own.

Only answer cells are taken from a submission, so its stored outputs, changed checks and other cells count for nothing.
A kernel that dies, hangs or takes too much costs the exercise it was at; the others go on in a new one. Verdicts are
read from the outputs of our check cells alone: one for each check that ended without an error, with a seal whose key
was made for this kernel, and none when functions of the course, of Python or of numpy have been replaced.

Left out: certainty. An answer runs in the same process as its check. One that searches the memory of that process can
find the key of the seal or the expected values, and one that calls machine code (`ctypes`) or replaces what the hook of
`audit_hook.py` calls can reach the network and the files of this account. Easy ways fail, a second Python among them,
and notes name answers that look like such an attempt; reading those answers, and a container for those you do not trust
at all, remain with you.
"""

from __future__ import annotations

import hmac
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from helpers.exercise_seal import signature
from helpers.exercise_source import EXERCISES
from helpers.grading_files import NotGradable, find_submissions
from helpers.grading_kernel import START_S, Limits, WatchedKernel
from helpers.grading_submission import Exercise, Template, read_submission, read_template
from helpers.plain_data import one_line, without_paths

BEGIN = "from helpers.grading_guard import begin as _begin; _begin(memory_mb={}); del _begin"


@dataclass
class Grade:
    """What became of a submission: points of each exercise tried, notes; `problem` when it could not be graded."""

    name: str
    points: dict[int, int] = field(default_factory=dict)  # without exercises that were not attempted
    notes: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def total(self) -> int:
        """All points together."""
        return sum(self.points.values())


def grade_all(paths: Sequence[Path], *, exercises: Path = EXERCISES, processes: int = 2, limits: Limits | None = None,
              done: Callable[[Grade], None] = lambda grade: None) -> tuple[Template, list[Grade]]:
    """Grade the files and folders `paths` against our notebook `exercises`; `done` is called with each finished grade.

    `processes` submissions are run at once. The grades come in the order of the submissions. However this ends, no
    kernel is left behind.

    Raises:
        NotGradable: our own notebook cannot be used, or does not run here.
    """
    template = read_template(exercises)
    stop = threading.Event()

    def one(job: tuple[str, Path, str]) -> Grade:
        grade = _grade(*job, template, limits or Limits(), stop)
        if not stop.is_set():
            done(grade)
        return grade
    with ThreadPoolExecutor(processes) as pool:
        try:
            return template, list(pool.map(one, find_submissions(paths)))
        except BaseException:
            stop.set()  # those that run end themselves, those that wait do not begin
            raise


def _grade(name: str, path: Path, why: str, template: Template, limits: Limits, stop: threading.Event) -> Grade:
    grade = Grade(name, problem=why)
    try:
        if not why:
            submission = read_submission(path, template)
            grade.notes += submission.notes
            _run(submission.answers, template, limits, stop, grade)
    except NotGradable as error:
        grade.problem = str(error)
    except Exception as error:  # one row, not the end of a class; the exit code says that something is wrong
        grade.problem = f"the grader itself failed: {_told(f'{type(error).__name__}: {error}')}"
    return grade


def _run(answers: dict[int, str], template: Template, limits: Limits, stop: threading.Event, grade: Grade) -> None:
    """Run the answers one after the other, in a new kernel whenever one is not to be used any further."""
    left = limits.total_s
    todo = [exercise for exercise in template.exercises if exercise.number in answers]
    while todo and left > 0 and not stop.is_set():
        with _kernel(template, limits, stop) as kernel:
            usable = True
            while todo and usable and left > 0:
                exercise, begun = todo.pop(0), time.monotonic()
                kernel.allow(min(limits.seconds, left))
                points, note, usable = _try(kernel, exercise, answers[exercise.number])
                left -= time.monotonic() - begun
                grade.notes += [f"{exercise.number}: {note}"] * bool(note)
                if points is not None:
                    grade.points[exercise.number] = points
    for exercise in todo:
        grade.points[exercise.number] = 0
        grade.notes.append(f"{exercise.number}: not run, the {limits.total_s:.0f} s for a submission were over")


@contextmanager
def _kernel(template: Template, limits: Limits, stop: threading.Event) -> Iterator[WatchedKernel]:
    """A kernel in a folder of its own in which our set-up cell has run and which is ready for answers."""
    with (tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as name,
          _started(Path(name).resolve(), limits, stop) as kernel):
        for code in (template.setup, BEGIN.format(limits.memory_mb)):
            kernel.allow(START_S)
            run = kernel.run(code)
            if run.ended or run.error:
                raise NotGradable(f"our own cells do not run here: {_told(run.ended or run.error)}")
        yield kernel


def _started(folder: Path, limits: Limits, stop: threading.Event) -> WatchedKernel:
    """A kernel that answers; a second try is worth it, since two that start at once can race for a port."""
    for _ in range(2):
        kernel = WatchedKernel(folder, limits, stop)
        if kernel.answers():
            return kernel
    raise NotGradable("no kernel answers here; does `course doctor` find one?")


def _try(kernel: WatchedKernel, exercise: Exercise, answer: str) -> tuple[int | None, str, bool]:
    """Points (None: not attempted), a note, and whether the kernel may be used for the next exercise."""
    error = ""
    for code in exercise.code:
        run = kernel.run(answer if code is None else code)
        if run.ended:
            return 0, run.ended, False
        error = error or run.error
    if not run.error and len(run.verdicts) == 1 and is_ours(run.verdicts[0], exercise, kernel.key):
        attempted = run.verdicts[0]["outcome"] != "not attempted"
        return run.verdicts[0]["points"] if attempted else None, _told(error) or _lacking(run.told), True
    if run.verdicts:
        return 0, "verdicts that are not from our check, or our functions were changed", False
    return 0, _told(error) or "the check gave no verdict", False


def _lacking(told: str) -> str:
    """A note on the first name that an answer lacks: most are imports that stand in another cell.

    >>> _lacking("✘ f(1) got NameError: name 'np' is not defined expected 1")
    "NameError: name 'np' is not defined; what an answer needs, imports included, stands in its own cell"
    """
    found = re.search(r"NameError: name '\w{1,40}' is not defined", told)
    return f"{found[0]}; what an answer needs, imports included, stands in its own cell" if found else ""


def is_ours(verdict: dict, exercise: Exercise, key: bytes) -> bool:
    """Whether `verdict` is on `exercise` and carries the seal made with `key`.

    >>> is_ours({"number": 2, "points": 5, "seal": "0" * 64}, Exercise(2, (), "", frozenset(), 5), b"key")
    False
    """
    data = {name: value for name, value in verdict.items() if name != "seal"}
    sealed = hmac.compare_digest(str(verdict.get("seal")).encode(), signature(data, key).encode())
    return sealed and verdict["number"] == exercise.number and verdict["of"] == exercise.of


def _told(error: str) -> str:
    return one_line(without_paths(" ".join(error[:2000].split())), 120)
