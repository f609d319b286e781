"""Read our own notebook of exercises, and the answers in a submission.

Only the text of answer cells is taken from a submission. Outputs stored in it, and every other cell, are left out; a
code cell that is not as we wrote it is mentioned in a note.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.exercises import MIME
from helpers.grading_files import NotGradable, read_cells

MAX_ANSWER = 100_000  # characters of one answer
FEW = 3  # changed cells that a note names; of more it says how many
ANSWER = re.compile(r"answer-(\d\d)")
CHECK = re.compile(r"check-(\d\d)")
# What an answer needs for forging and not for solving; seeing one of these costs nothing but a note.
SUSPICIOUS = {
    "helpers.exercises": r"helpers\.exercises|from helpers import [^\n]*\bexercises\b",
    "the seal of verdicts": rf"exercise_seal|begin_sealing|grading_guard|{re.escape(MIME)}",
    "frames of its callers": r"\b_getframe\b|\bf_locals\b|\bf_back\b|inspect\.(?:stack|currentframe)",
    "what watches an answer": r"\baudit_hook\b|\bsys\.audit|_posixsubprocess|_winapi|interpreters\b|\b_imp\b",
    "the memory of the process": r"\bgc\.get_|\bctypes\b|__closure__|cell_contents",
    "the solutions": r"\bSOLUTIONS\b|solutions[/\\]",
    "other programs or whole folders": r"\bos\.(?:system|exec|popen|spawn)|\b(?:subprocess|multiprocessing|rmtree)\b",
    "COURSE_ variables": r"COURSE_(?!FLAG)[A-Z]",  # the flag is what one exercise is about
}


@dataclass(frozen=True)
class Exercise:
    """One exercise of our notebook: its cells in order (`code`, None where the answer goes), its stub, its points."""

    number: int
    code: tuple[str | None, ...]
    stub: str
    names: frozenset[str]
    of: int


@dataclass(frozen=True)
class Template:
    """Our notebook: the set-up cell, the exercises, and the text of every code cell that is no answer."""

    setup: str
    exercises: tuple[Exercise, ...]
    ours: dict[str, str]

    @property
    def of(self) -> int:
        """All points there are."""
        return sum(exercise.of for exercise in self.exercises)


@dataclass(frozen=True)
class Submission:
    """The answers by number of the exercise, without those that are missing or empty, and notes for the teacher."""

    answers: dict[int, str]
    notes: tuple[str, ...]


def read_template(path: Path) -> Template:
    """Our own notebook of exercises, executed: the points of each exercise stand in the output of its check.

    The first code cell is the set-up; an exercise goes from its heading to its check. What stands between a check and
    the next heading uses the answer for the reader's own interest, and is not run.

    Raises:
        NotGradable: a check shows no verdict; the notebook has not been executed.
    """
    setup, exercises, code, stub, ours = "", [], [], "", {}
    for cell in read_cells(path):
        if cell["cell_type"] != "code":
            code = [] if cell["source"].startswith("## ") else code
            continue
        setup = setup or _text(cell)
        if _tagged(cell, ANSWER):
            code, stub = [*code, None], _text(cell)
            continue
        code, ours[cell["id"]] = [*code, _text(cell)], _text(cell)
        if number := _tagged(cell, CHECK):
            exercises.append(Exercise(number, tuple(code), stub, _rebound(stub), _points(cell, path)))
    return Template(setup, tuple(exercises), ours)


def _points(check: dict, path: Path) -> int:
    for output in check["outputs"]:
        if MIME in output.get("data", {}):
            return output["data"][MIME]["of"]
    raise NotGradable(f"{path.name}: {check['id']} shows no verdict; store its outputs with `course run 09 --update`")


def read_submission(path: Path, template: Template) -> Submission:
    """The answers in the notebook at `path`: cells found by tag, else by id, else by the name they define.

    Raises:
        NotGradable: no notebook, too large, damaged, or none of the answer cells in it.
    """
    cells = [cell for cell in read_cells(path) if cell["cell_type"] == "code"]
    found = {exercise.number: _answer_cells(cells, exercise) for exercise in template.exercises}
    if not any(found.values()) or not any(_from_ours(cell, template) for cell in cells):
        raise NotGradable("none of the answer cells is in it: is it the notebook of exercises?")
    notes = _differences(cells, [cell for group in found.values() for cell in group], template)
    answers: dict[int, str] = {}
    for exercise in template.exercises:
        texts = [_text(cell) for cell in found[exercise.number]]
        text = "\n".join(texts)
        if not texts:
            notes.append(f"{exercise.number}: no answer cell")
        elif len(texts) > 1:
            notes.append(f"{exercise.number}: {len(texts)} answer cells, run in order")
        if len(text) > MAX_ANSWER:
            notes.append(f"{exercise.number}: {len(text):,} characters, more than {MAX_ANSWER:,}; not run")
        elif text.strip() and text.strip() != exercise.stub.strip():
            answers[exercise.number] = text
            notes += [f"{exercise.number}: touches {what}" for what in suspicions(text, exercise, template)]
    return Submission(answers, tuple(notes))


def suspicions(answer: str, exercise: Exercise, template: Template) -> list[str]:
    """What in `answer` looks like an attempt at a verdict instead of a solution; a reason to read it, no proof."""
    seen = [what for what, pattern in SUSPICIOUS.items()
            if re.search(pattern, answer) and not re.search(pattern, exercise.stub)]
    return seen + sorted(_rebound(answer) & _bound(template.setup))


def _text(cell: dict) -> str:
    return cell["source"].rstrip()


def _tagged(cell: dict, pattern: re.Pattern[str]) -> int:
    numbers = [int(found[1]) for tag in cell["tags"] if (found := pattern.fullmatch(tag))]
    return numbers[0] if numbers else 0


def _answer_cells(cells: Sequence[dict], exercise: Exercise) -> list[dict]:
    tagged = [cell for cell in cells if _tagged(cell, ANSWER) == exercise.number]
    untagged = [cell for cell in cells if not cell["tags"]]
    named = [cell for cell in untagged if cell["id"] == f"answer-{exercise.number:02d}"]
    return tagged or named or [cell for cell in untagged if exercise.names & _rebound(_text(cell))]


def _from_ours(cell: dict, template: Template) -> bool:
    """Whether a cell is an answer or a check of the exercises; other notebooks define `score` or `load`, too."""
    if _tagged(cell, ANSWER) or _tagged(cell, CHECK):
        return True
    name = str(cell["id"])
    checks = [text.rstrip() for key, text in template.ours.items() if CHECK.fullmatch(key)]
    return bool(ANSWER.fullmatch(name) or CHECK.fullmatch(name)) or _text(cell) in checks


def _differences(cells: Sequence[dict], answers: Sequence[dict], template: Template) -> list[str]:
    others = [_text(cell) for cell in cells if not any(cell is answer for answer in answers)]
    ours = {text.rstrip() for text in template.ours.values()}
    changed = sorted(name for name, text in template.ours.items() if text.rstrip() not in others)
    extra = sum(bool(text.strip()) and text not in ours for text in others)
    named = ", ".join(changed) if len(changed) <= FEW else f"{len(changed)} cells that are no answers"
    notes = [f"changed: {named}"] * bool(changed)
    left = extra - len(changed)
    return notes + [f"{left} cell{'s' * (left > 1)} of their own, not run"] * (left > 0)


def _bound(code: str) -> frozenset[str]:
    """The names that the top level of `code` defines, imports or assigns; none when it is not Python."""
    return frozenset(_names(code, imports=True))


def _rebound(code: str) -> frozenset[str]:
    return frozenset(_names(code, imports=False))


def _names(code: str, *, imports: bool) -> Iterator[str]:
    try:
        with warnings.catch_warnings(action="ignore"):  # about the answer's text; the kernel says them too
            body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom) and imports:
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
