"""Takes a test apart: which part the model's code must compute, and what that is compared with.

The parts that begin with a name the code defines (`f(2)`, `Stack().size()`, `f(i)[0]`) run in the session of
the code. Everything around them, a builtin or an operator, runs where that code cannot shadow it.
Left out: statements. A test is one expression, written by the course, so it may be parsed here.
"""

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from helpers.dialect import mended
from helpers.python_names import is_builtin


@dataclass(frozen=True)
class Call:
    """A part for the session of the code; `bound` are variables of the test around it that it uses."""

    text: str
    source: str
    bound: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """How to decide `test`: compute `source`, in the session of the code if `direct`, else in a clean one in
    which the calls are carried to the code; then compare with `expected`, source text of a constant, or ask
    for a true value if that is None."""

    test: str
    left: str  # what the reader sees of what is computed
    source: str
    direct: bool
    calls: tuple[Call, ...]
    expected: str | None


@lru_cache(maxsize=4096)
def plan_of(test: str, *, whole: bool = False) -> Plan:
    """The plan of a test; `whole` keeps `a == b` in one piece. `ValueError` if it is not an expression.

    >>> plan_of("f(2) == 4").source, plan_of("4 == f(2)").expected, plan_of("f([]) is None").expected
    ('f(2)', '4', 'None')
    >>> plan = plan_of("sorted(f(3)) == [1, 2]")
    >>> plan.source, plan.calls[0].source, plan.expected
    ('sorted(_sandbox_call(0))', 'f(3)', '[1, 2]')
    >>> plan_of("all(f(i) > 0 for i in (1, 2))").calls[0].source
    '(lambda i: f(i))(*_sandbox_bound)'
    """
    text = test.strip()
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"the test {test!r} is not a Python expression ({error}); expected one such as "
                         "'f(2) == 4', without assert") from None
    left, expected = (tree, None) if whole else _sides(tree)
    shown = ast.get_source_segment(text, left) or text
    if _begins_with(left, _stored(left)):
        return Plan(test, shown, mended(ast.unparse(left)).source, True, (), expected)
    replacer = _Replacer(text, _stored(left))
    left = replacer.visit(left)
    # Monty cannot leave a session from inside a generator: there the calls are made at once.
    inside = [part for node in ast.walk(left) if isinstance(node, ast.GeneratorExp)
              for part in (node.elt, *node.generators[0].ifs, *node.generators[1:])]
    source = mended(ast.unparse(left), lazy="_sandbox_call" not in "".join(map(ast.unparse, inside))).source
    return Plan(test, shown, source, False, tuple(replacer.calls), expected)


def _sides(tree: ast.expr) -> tuple[ast.expr, str | None]:
    """What is computed, and the source of the constant it must equal; the whole test and None otherwise."""
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1):
        return tree, None
    left, right = tree.left, tree.comparators[0]
    if isinstance(tree.ops[0], ast.Eq):
        if _uses_code(right) and not _uses_code(left):
            left, right = right, left
    elif not (isinstance(tree.ops[0], ast.Is) and isinstance(right, ast.Constant)
              and type(right.value) in (bool, type(None))):
        return tree, None
    return (tree, None) if _uses_code(right) or not _uses_code(left) else (left, ast.unparse(right))


def _stored(tree: ast.expr) -> frozenset[str]:
    """Names that the expression itself binds: comprehension targets, parameters of a lambda, `:=`."""
    nodes = list(ast.walk(tree))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)) | (
        frozenset(node.arg for node in nodes if isinstance(node, ast.arg)))


def _begins_with(node: ast.AST, stored: frozenset[str]) -> bool:
    """Whether `node` is a chain of calls, attributes and subscripts that begins with a name of the code."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id not in stored and not is_builtin(node.id)


def _uses_code(tree: ast.expr) -> bool:
    stored = _stored(tree)
    return any(_begins_with(node, stored) for node in ast.walk(tree))


class _Replacer(ast.NodeTransformer):
    """Puts `_sandbox_call(number, variables…)` in the place of every part that the code must compute."""

    def __init__(self, text: str, stored: frozenset[str]) -> None:
        self.text, self.stored, self.calls = text, stored, []

    def visit(self, node: ast.AST) -> Any:
        if not _begins_with(node, self.stored):
            return self.generic_visit(node)
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        bound = tuple(sorted(names & self.stored - _stored(node)))
        source = mended(ast.unparse(node)).source
        if bound:
            source = f"(lambda {', '.join(bound)}: {source})(*_sandbox_bound)"
        self.calls.append(Call(ast.get_source_segment(self.text, node) or source, source, bound))
        number = ast.Constant(len(self.calls) - 1)
        return ast.Call(ast.Name("_sandbox_call", ast.Load()), [number, *(ast.Name(n, ast.Load()) for n in bound)], [])
