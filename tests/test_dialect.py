"""Where Monty is not Python: mended, refused, named; and the verdicts of CPython itself as the specification."""

import contextlib
import io
import textwrap

import pytest
from pydantic_monty import Monty

from helpers import monty_sessions
from helpers.dialect import mended, missing_feature, self_check
from helpers.monty_prelude import ALWAYS, PARTS, parts_of
from helpers.sandbox import run_tests

# --- mended --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [
    "x = [y for y in z]", "sum(x for x in y)", "''.join(c for c in s)", "sorted((1, 2))", "for (x) in (1, 2): pass",
    "{k: v for k, v in z}", "print(1 if x in (y) else 2)", "'(x for x in y)'", '"""\n(x for x in y)\n"""',
    "# (x for x in y)", "f'{(x for x in y)}'", "max(x for x in y if x)", "f([x for x in y])", "x.set(1)",
    "def set(xs): return xs\nset([1])", "isinstance(x, set)", "(x, y)", "def f(a, b): pass", "a = (b\n  in c)",
    "]", "((", "", '"open (x for x in y)', "'''open\n(x for x in y)", '"\\" (x for x in y)'])
def test_what_needs_no_mending_stays_as_it_is(code: str) -> None:
    assert mended(code).source == code and not mended(code).eager


@pytest.mark.parametrize(("code", "source", "eager"), [
    ("(x for x in y)", "(_sandbox_generator(0, lambda x: (x ), y))", False),
    ("f(x for x in y if z)", "f(_sandbox_generator(0, lambda x: (x ), y , lambda x: ( z)))", False),
    ("next((i for i, v in e if v), 0)",
     "next((_sandbox_generator(1, lambda i, v: (i ), e , lambda i, v: ( v))), 0)", False),
    ("all(any(a for a in b) for b in c)",
     "all(_sandbox_generator(0, lambda b: (any(_sandbox_generator(0, lambda a: (a ), b)) ), c))", False),
    ("(a for b in c for a in b)", "(_sandbox_iter([a for b in c for a in b]))", True),
    ("f(a for a, (b, c) in d)", "f(_sandbox_iter([a for a, (b, c) in d]))", True),
    ("(lambda: x for x in y)", "(_sandbox_iter([lambda: x for x in y]))", True),
    ("((y := x) for x in z)", "(_sandbox_iter([(y := x) for x in z]))", True),
    ("list(set(xs))", "list(_sandbox_set(xs))", False),
])
def test_what_is_mended(code: str, source: str, eager: bool) -> None:
    assert (mended(code).source, mended(code).eager) == (source, eager)


def test_without_lazy_a_generator_expression_is_an_iterator_over_a_list() -> None:
    assert mended("all(x for x in y)", lazy=False).source == "all(_sandbox_iter([x for x in y]))"


def test_lines_keep_their_numbers() -> None:
    code = "def f(y):\n    return (x  # one\n      for\n x in y # two\n if x # three\n )\nerror = 1 / 0"
    assert mended(code).source.splitlines()[-1] == "error = 1 / 0"
    assert run_tests(code, ["f(1)"]).error.endswith("(line 7)")


@pytest.mark.parametrize(("code", "refused"), [
    ("class A:\n    def __bool__(self): pass", "the special method __bool__"),
    ("class A:\n    def __len__(self): pass", "the special method __len__"),
    ("class A:\n    def __lt__(self, o): pass", "the special method __lt__"),
    ("class A:\n    def __init__(self): pass\n    def __eq__(self, o): pass", ""), ("x = '__bool__'", ""),
    ("# def __bool__", ""), ("x = a.__bool__", "")])
def test_refused(code: str, refused: str) -> None:
    assert mended(code).refused == refused


# --- missing features ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "message", "feature"), [
    ("NotImplementedError", "The monty syntax parser does not yet support the 'del' statement", "the 'del' statement"),
    ("NotImplementedError", "Wildcard imports (`from ... import *`) are not supported",
     "Wildcard imports (`from ... import *`)"),
    ("NotImplementedError", "later", ""), ("NotImplementedError", "", ""),
    ("ModuleNotFoundError", "No module named 'heapq'", "the module heapq"),
    ("ImportError", "cannot import name 'cmp_to_key' from 'functools' (unknown location)", "functools.cmp_to_key"),
    ("ImportError", "cannot import name 'nothing' from 'functools' (unknown location)", ""),
    ("ImportError", "cannot import name 'fly' from 'antigravity'", ""),  # a module is imported only if Monty has it
    ("AttributeError", "module 'math' has no attribute 'nothing'", ""),
    ("AttributeError", "module 'sys' has no attribute 'setrecursionlimit'", "sys.setrecursionlimit"),
    ("AttributeError", "module 'sys' has no attribute 'exit'", ""),
    ("AttributeError", "'list' object has no attribute 'append'", "the attribute append of list"),
    ("AttributeError", "'list' object has no attribute 'push'", ""),
    ("AttributeError", "'A' object has no attribute 'x'", ""),
    ("AttributeError", "'A' object has no attribute '__class__'", "the attribute __class__ of A"),
    ("AttributeError", "'NoneType' object has no attribute 'x'", ""),
    ("NameError", "name 'issubclass' is not defined", "the built-in issubclass"),
    ("NameError", "name 'f' is not defined", ""),
    ("NameError", "name 'input' is not defined", ""), ("NameError", "name 'exit' is not defined", ""),
    ("TypeError", "'int' object is not callable", ""), ("ValueError", "No module named 'heapq'", ""),
    ("SyntaxError", "Source is too deeply nested", "such deep nesting"), ("SyntaxError", "Expected an expression", ""),
])
def test_missing_feature(kind: str, message: str, feature: str) -> None:
    assert missing_feature(kind, message) == feature


UNSUPPORTED = [
    "def f(): yield 1", "x = [1]\ndel x[0]", "class A(Exception): pass",
    "class A:\n    @property\n    def x(self): return 1",
    "class A:\n    @staticmethod\n    def x(): return 1", "import string", "import statistics", "import operator",
    "import fractions", "import enum", "import numpy", "from abc import ABC", "str.maketrans('a', 'b')", "[].append",
    "object()", "bytes([1])", "raise ValueError(3)", "def f(): pass\nf.calls = 0", "x = [1]\nx += map(abs, [1])",
    "hasattr([], 'append')", "locals()", "from math import *", "try: pass\nexcept* ValueError: pass",
    "issubclass(int, object)",
]


@pytest.mark.parametrize("code", UNSUPPORTED)
def test_what_monty_does_not_have_is_never_a_failure(code: str) -> None:
    report = run_tests(code, ["f() == 1"])
    assert [result.status for result in report.results] == ["unsupported"]
    assert report.error.endswith("which the sandbox does not have; write it without")


# --- the self-check ------------------------------------------------------------------------------------------


def test_the_self_check_passes_here_and_names_what_differs() -> None:
    def run(source: str) -> object:
        with Monty() as pool, pool.checkout() as session:
            return session.feed_run(source)
    assert self_check(run) == []
    assert self_check(lambda source: run(source.replace("round(2.675", "round(1.005")))[0] == (
        "round(2.675, 2) gave 1.0, not 2.68")


def test_another_release_stops_with_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monty_sessions.close()
    monkeypatch.setattr(monty_sessions, "self_check", lambda run: ["map(abs, [-1]) == [1] gave False, not True"])
    with pytest.raises(RuntimeError, match=r"install pydantic-monty==1\.4\.0. It differs in: map\(abs") as caught:
        run_tests("x = 1", ["x == 1"])
    assert monty_sessions.__version__ in str(caught.value)
    monkeypatch.undo()
    assert run_tests("x = 1", ["x == 1"]).passed


def test_the_prelude_is_taken_as_needed() -> None:
    assert parts_of("x = 1") == frozenset()
    assert parts_of("def f(xs): return list(map(round, xs))") == {"map", "round"}
    assert parts_of("mapping = 1") == frozenset()
    assert all(name in source for name, source in PARTS.items()) and "_sandbox_plain" in ALWAYS


# --- CPython as the specification ----------------------------------------------------------------------------

PROGRAMS = """
def f(x): return round(x, 2)
f(2.675) == 2.67
f(2.675) == 2.68
f(1.005) == 1.0
f(-0.125) == -0.12
f(1e300) == 1e300
f(5) == 5
f(float('inf')) == float('inf')
---
def f(x): return round(x)
f(2.5) == 2
f(3.5) == 4
f(-0.5) == 0
---
def f(x, n): return round(x, n)
f(1250.0, -2) == 1200.0
f(1350.0, -2) == 1400.0
f(0.5, 0) == 0.0
f(15, -1) == 20
f(2.5, None) == 2
---
def f(xs): return map(str, xs)
f([1]) == ['1']
list(f([1])) == ['1']
','.join(f([1, 2])) == '1,2'
len(f([1])) == 1
f([1])[0] == '1'
---
def f(xs): return list(map(lambda a, b: a + b, xs, xs[1:]))
f([1, 2, 3]) == [3, 5]
f([]) == []
---
def f(a, b): return zip(a, b, strict=True)
list(f([1], [2])) == [(1, 2)]
list(f([1], [])) == [(1, 2)]
list(f([], [1])) == []
list(f([], [])) == []
---
def f(a, b):
    z = zip(a, b)
    return list(z) + list(z)
f('ab', 'cd') == [('a', 'c'), ('b', 'd')]
---
def f(xs):
    it = iter(xs)
    return list(zip(it, it))
f([1, 2, 3, 4]) == [(1, 2), (3, 4)]
f([1, 2, 3]) == [(1, 2)]
---
def f(xs):
    e = enumerate(xs, 5)
    next(e)
    return next(e)
f('ab') == (6, 'b')
f('a') == 1
---
def f(xs):
    for i, x in enumerate(xs):
        if x == 2: xs.append(9)
    return xs
f([1, 2, 3]) == [1, 2, 3, 9]
---
def f(xs):
    for i, x in enumerate(xs):
        if x < 0: xs.remove(x)
    return xs
f([-1, -2, 3]) == [-2, 3]
f([-1, -2, 3]) == [3]
---
def f(xs): return reversed(xs)
f([1, 2]) == [2, 1]
list(f([1, 2])) == [2, 1]
list(f('ab')) == ['b', 'a']
list(f({1, 2})) == [2, 1]
---
def f(xs): return filter(None, xs)
f([0, 1]) == [1]
list(f([0, 1, '', 'a'])) == [1, 'a']
sum(f([0, 1, 2])) == 3
---
def f(xs): return any(1 / x > 0 for x in xs)
f([1, 0]) == True
f([0, 1]) == True
f([-1, -2]) == False
---
def f(xs): return all(1 / x < 0 for x in xs)
f([1, 0]) == False
f([-1]) == True
---
def f(xs): return next((x for x in xs if x > 1), None)
f([1, 2, 3]) == 2
f([]) is None
f([1]) == 1
---
def f(xs): return (x * x for x in xs)
f([1]) == [1]
sum(f([1, 2])) == 5
list(f([1, 2])) == [1, 4]
f([1])[0] == 1
---
import itertools
def f(n): return next(x for x in itertools.count(1) if x * x > n)
f(10) == 4
---
def f(xs):
    g = (x for x in xs)
    return 2 in g, list(g)
f([1, 2, 3]) == (True, [3])
---
def f(xs):
    g = (a for row in xs for a in row)
    return next(g), sum(g)
f([[1, 2], [3]]) == (1, 5)
---
def f(s): return tuple(c for c in s), {c for c in s}, {c: 1 for c in s}, sorted(c for c in s), ''.join(c for c in s)
f('ba') == (('b', 'a'), {'a', 'b'}, {'a': 1, 'b': 1}, ['a', 'b'], 'ba')
---
def f(xs): return list(set(xs))
f([3, 1, 2, 3]) == [1, 2, 3]
f([3, 1, 2, 3]) == [3, 1, 2]
f([10, 3, 7]) == [10, 3, 7]
---
def f(x):
    if hasattr(x, '__iter__'): return 'many'
    return 'one'
f([1]) == 'many'
f('a') == 'many'
f(1) == 'one'
f(None) == 'one'
---
class A:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return self.v == o.v
    def __hash__(self): return hash(self.v)
    def __repr__(self): return f'A({self.v})'
    def __add__(self, o): return A(self.v + o.v)
def f(n): return repr(A(n) + A(1)), A(1) == A(1), len({A(1), A(1)})
f(2) == ('A(3)', True, 1)
A(3).v == 3
---
from collections import Counter, defaultdict, namedtuple, deque
P = namedtuple('P', 'x y')
def c(s): return Counter(s)
def d(s):
    r = defaultdict(list)
    for i, ch in enumerate(s): r[ch].append(i)
    return r
def p(x): return P(x, 2)
def q(x): return deque([x])
c('aab') == {'a': 2, 'b': 1}
d('aba') == {'a': [0, 2], 'b': [1]}
p(1) == (1, 2)
p(1) == [1, 2]
q(1) == [1]
list(q(1)) == [1]
---
def f(n): return range(n)
f(3) == range(3)
f(3) == [0, 1, 2]
list(f(3)) == [0, 1, 2]
f(3) == 'range(0, 3)'
---
def f(d): return d.keys()
sorted(f({'b': 1, 'a': 2})) == ['a', 'b']
f({'a': 1}) == ['a']
---
def f(n): return f
f(1) == 1
f(1) == str(f)
---
def f(n): return n and 'x'
f(1) == 'x'
f(0) == 0
f(0)
not f(0)
---
def f(a, *rest, k=1, **more): return a, rest, k, more
f(1, 2, 3, k=4, z=5) == (1, (2, 3), 4, {'z': 5})
f() == 1
f(*[1], **{'k': 2}) == (1, (), 2, {})
---
def f(x, seen=[]):
    seen.append(x)
    return seen
f(1) == [1]
f(1) == [1, 1]
---
def f(n):
    try: return 1 / n
    except ZeroDivisionError: return None
    finally: n = 5
f(0) is None
f(2) == 0.5
f('a') == 1
---
def f(xs):
    try: return max(xs)
    except ValueError as error: return type(error).__name__
f([]) == 'ValueError'
---
def f(s): return s.title(), s.split(), s[::-1], s.strip(), s.zfill(5), f'{s:>6}', s.count('b'), s.partition('b')
f('ab c') == ('Ab C', ['ab', 'c'], 'c ba', 'ab c', '0ab c', '  ab c', 1, ('a', 'b', ' c'))
---
def f(x): return f'{x:.2f}', '%5.1f' % x, '{:,}'.format(1234567), f'{255:#x} {3:03d} {x!r} {0.5:.0%}'
f(2.675) == ('2.67', '  2.7', '1,234,567', '0xff 003 2.675 50%')
---
def f(a, b): return a // b, a % b, divmod(a, b), -a // b, a ** 2, a / b
f(7, 2) == (3, 1, (3, 1), -4, 49, 3.5)
f(7, 0) == 1
---
def f(n):
    if n < 0: return 'negative'
    return f(n - 1)
f(500) == 'negative'
f(100000) == 'negative'
---
def f(x):
    match x:
        case [a, b]: return a + b
        case {'k': v}: return v
        case str(): return 's'
        case _: return None
f([1, 2]) == 3
f({'k': 4}) == 4
f('a') == 's'
f(1.5) is None
---
import functools, math, re, json
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def g(n): return math.gcd(n, 12), math.isqrt(n), math.comb(5, 2), functools.reduce(lambda a, b: a * b, [1, 2, 3])
def h(s): return re.findall('[0-9]+', s), re.sub('a+', 'b', s), json.loads('{"a": [1]}')
fib(80) == 23416728348467685
g(18) == (6, 4, 10, 6)
h('aa1b22') == (['1', '22'], 'b1b22', {'a': [1]})
"""


def cpython_passes(code: str, test: str) -> bool:
    """What CPython says; only programs of this file come here."""
    names: dict[str, object] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            exec(code, names)
            return bool(eval(test, names))
        except Exception:
            return False


@pytest.mark.parametrize("program", PROGRAMS.strip().split("\n---\n"), ids=lambda text: text.partition("\n")[0][:50])
def test_verdicts_are_those_of_cpython(program: str) -> None:
    lines = program.split("\n")
    starts = (" ", "def ", "class ", "from ", "import ", "@", "P =")
    first = next(number for number, line in enumerate(lines) if not line.startswith(starts))
    code, tests = "\n".join(lines[:first]), lines[first:]
    report = run_tests(code, tests)
    assert tests and not report.error
    for result in report.results:
        if result.status == "unsupported":
            assert result.test == "list(q(1)) == [1]", result  # a deque is not plain data
        else:
            assert (result.status == "passed") == cpython_passes(code, result.test), result


def test_right_and_wrong_solutions_of_one_problem() -> None:
    """Twelve ways to write it, six of them wrong: the verdict of CPython on each."""
    bodies = [
        "return [x for x in xs if x > 0]", "return list(filter(lambda x: x > 0, xs))",
        "return filter(lambda x: x > 0, xs)", "return (x for x in xs if x > 0)", "return tuple(x for x in xs if x > 0)",
        "r = []\nfor x in xs:\n    if x > 0: r.append(x)\nreturn r",
        "r = []\nfor x in xs:\n    if x > 0: r += [x]\nreturn r",
        "return [x for x in xs if x >= 0]", "for x in xs:\n    if x <= 0: xs.remove(x)\nreturn xs",
        "for x in xs[:]:\n    if x <= 0: xs.remove(x)\nreturn xs", "return sorted(x for x in xs if x > 0)",
        "return [*filter(lambda x: x > 0, xs)]"]
    tests = ["f([3, -1, 2]) == [3, 2]", "f([]) == []", "f([-1, -2, 3]) == [3]", "f([0]) == []"]
    for body in bodies:
        code = "def f(xs):\n" + textwrap.indent(body, "    ")
        verdicts = [result.status == "passed" for result in run_tests(code, tests).results]
        assert verdicts == [cpython_passes(code, test) for test in tests], code
