"""Read the course's programming problems from data/problems.json and check each field while reading.

Left out: running anything. Whether a solution passes its tests is a question for `helpers.sandbox`.
"""

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from helpers.settings import DATA


@dataclass(frozen=True)
class Revision:
    """What changes in a problem when its family's house rule is replaced."""

    rule: str
    instruction: str
    tests: tuple[str, ...]
    solution: str


@dataclass(frozen=True)
class Problem:
    """One small function to write: what it does (`spec`) and the house rule of its family (`rule`).

    A family shares one convention that the specification alone does not force, such as "If the list is
    empty, return None."; `instruction` says in one line how to follow it. Every test is a Python expression
    that is true of a right solution. Equal problems are equal and hash alike.

    >>> p = Problem("inc", "plain", "inc(n)", "Write `inc(n)` returning n plus 1.", "Return an int.",
    ...             "Add 1.", ("inc(1)==2",), "def inc(n):\\n    return n + 1")
    >>> p.entry_point
    'inc'
    >>> p.text
    'Write `inc(n)` returning n plus 1. Return an int.'
    """

    id: str
    family: str
    signature: str
    spec: str
    rule: str
    instruction: str
    tests: tuple[str, ...]
    solution: str
    revised: Revision | None = None

    @property
    def entry_point(self) -> str:
        """Name of the function the tests call: the signature up to its parenthesis."""
        return self.signature.partition("(")[0].strip()

    @property
    def text(self) -> str:
        """The task as the model reads it: specification, one space, rule."""
        return f"{self.spec} {self.rule}"

    @property
    def selected(self) -> bool:
        """True when the family has a revised rule.

        These are the problems kept after a pilot run because worked examples helped there, so a figure
        measured on them alone is optimistic; the figure over the whole bank is not selected in this way.
        """
        return self.revised is not None

    def with_revision(self) -> "Problem":
        """The same problem under its family's revised rule; the result has no further revision.

        Raises ValueError, naming the families of the course's bank that have one, when there is none.
        """
        if self.revised is None:
            names = sorted({p.family for p in load_problems() if p.revised})
            raise ValueError(f"problem {self.id!r} of family {self.family!r} has no revised rule to change to; "
                             f"take a problem, not yet revised, of one of these families: {', '.join(names)}")
        new = self.revised
        return replace(self, rule=new.rule, instruction=new.instruction, tests=new.tests,
                       solution=new.solution, revised=None)


def load_problems(path: str | Path | None = None) -> list[Problem]:
    """All problems of a bank in file order; `None` is the course's own, data/problems.json.

    Raises ValueError naming file, problem (or line, where the file is not JSON) and field when something
    is missing, unknown, repeated, of the wrong type or does not fit together.
    """
    path = DATA / "problems.json" if path is None else Path(path)
    bank = _record(str(path), _parse(path), {"families": dict, "problems": list})
    for name, family in bank["families"].items():
        where = f"{path}: family {name!r}"
        _record(where, family, {"rule": str, "instruction": str, "revised": dict | None})
        if family["revised"] is not None:
            _record(f"{where}, revised", family["revised"], {"rule": str, "instruction": str})
    problems: dict[str, Problem] = {}
    for number, raw in enumerate(bank["problems"], 1):
        name = raw.get("id") if isinstance(raw, dict) else None
        where = f"{path}: problem {name!r}" if isinstance(name, str) else f"{path}: problem number {number}"
        problem = _problem(where, raw, bank["families"])
        if problem.id in problems:
            raise ValueError(f"{where}, field 'id': expected an id of its own, got one used before; rename one")
        problems[problem.id] = problem
    return list(problems.values())


def families(problems: Iterable[Problem]) -> dict[str, tuple[Problem, ...]]:
    """The problems of each family, families in order of first appearance.

    >>> a = Problem("a", "f", "a()", "A.", "R.", "I.", ("a()==1",), "def a(): return 1")
    >>> {name: [p.id for p in members] for name, members in families([a]).items()}
    {'f': ['a']}
    """
    groups: dict[str, list[Problem]] = {}
    for problem in problems:
        groups.setdefault(problem.family, []).append(problem)
    return {name: tuple(members) for name, members in groups.items()}


def _parse(path: Path) -> object:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        record = dict(pairs)
        if len(record) < len(pairs):  # json keeps the last of two equal names and says nothing
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{path}: expected each name once in an object, got {twice!r} twice; remove one")
        return record

    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {error.lineno}, column {error.colno}: expected JSON, got: {error.msg}; "
                         "mend that line") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8 text, got byte {error.object[error.start]:#04x} at offset "
                         f"{error.start}; save the file as UTF-8") from error


def _record(where: str, record: object, kinds: dict[str, object]) -> dict:
    """The record itself, when it is an object with exactly these fields, each of its kind and not empty."""
    fields = ", ".join(kinds)
    if not isinstance(record, dict):
        raise ValueError(f"{where}: expected an object with the fields {fields}, got {_short(record)}")
    for field in (*kinds, *record):
        if field not in record:
            raise ValueError(f"{where}, field {field!r}: missing; add it")
        if field not in kinds:
            raise ValueError(f"{where}, field {field!r}: unknown; expected only {fields}")
    for field, kind in kinds.items():
        value = record[field]
        if not isinstance(value, kind) or (isinstance(value, str) and not value.strip()) or value in ([], {}):
            wanted = {str: "a string that is not blank", list: "a list that is not empty",
                      dict: "an object that is not empty"}.get(kind, "an object or null")
            raise ValueError(f"{where}, field {field!r}: expected {wanted}, got {_short(value)}")
    return record


def _problem(where: str, raw: object, house: dict[str, dict]) -> Problem:
    raw = _record(where, raw, {"id": str, "family": str, "signature": str, "spec": str, "tests": list,
                               "solution": str, "revised": dict | None})
    if raw["family"] not in house:
        raise ValueError(f"{where}, field 'family': expected one of {', '.join(house)}, got {raw['family']!r}")
    family = house[raw["family"]]
    if (raw["revised"] is None) != (family["revised"] is None):
        has, lacks = ("family", "problem") if raw["revised"] is None else ("problem", "family")
        raise ValueError(f"{where}, field 'revised': expected both or neither of family {raw['family']!r} and its "
                         f"problem to be revised, but the {has} is and the {lacks} is not")
    name = _entry_point(where, raw["signature"])
    revised = None
    if raw["revised"] is not None:
        new = _record(f"{where}, revised", raw["revised"], {"tests": list, "solution": str})
        revised = Revision(**family["revised"], **_checked(f"{where}, revised", new, name))
    return Problem(id=raw["id"], family=raw["family"], signature=raw["signature"], spec=raw["spec"],
                   rule=family["rule"], instruction=family["instruction"], revised=revised,
                   **_checked(where, raw, name))


def _entry_point(where: str, signature: str) -> str:
    call = _tree(signature, "eval")
    call = call.body if isinstance(call, ast.Expression) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords
            and all(isinstance(argument, ast.Name) for argument in call.args)):
        raise ValueError(f"{where}, field 'signature': expected a call form such as 'largest(xs)', "
                         f"got {signature!r}")
    return call.func.id


def _checked(where: str, record: dict, name: str) -> dict[str, object]:
    """Tests and solution of a record, when every test calls `name` and the solution defines it."""
    for number, test in enumerate(record["tests"], 1):
        tree = _tree(test, "eval") if isinstance(test, str) else None
        if tree is None:
            raise ValueError(f"{where}, field 'tests', number {number}: expected a Python expression as a "
                             f"string, got {_short(test)}")
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        if not any(isinstance(called, ast.Name) and called.id == name for called in calls):
            raise ValueError(f"{where}, field 'tests', number {number}: expected a call of {name}, got {test!r}")
    module = _tree(record["solution"], "exec")
    if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in getattr(module, "body", [])):
        raise ValueError(f"{where}, field 'solution': expected Python code that defines {name}, "
                         f"got {_short(record['solution'])}")
    return {"tests": tuple(record["tests"]), "solution": record["solution"]}


def _tree(code: str, mode: str) -> ast.AST | None:
    try:
        return ast.parse(code, mode=mode)
    except (SyntaxError, ValueError):  # ValueError: a null byte, before Python 3.11.4
        return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
