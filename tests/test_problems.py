"""The problem bank: loading and its errors, and whether the tests of every problem tell right from wrong."""

import ast
import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.problems import Problem, Revision, families, load_problems
from helpers.sandbox import run_tests

BANK = load_problems()
VERSIONS = [*BANK, *(p.with_revision() for p in BANK if p.revised)]

# What a solution looks like when it ignores its family's rule: the pattern of the rule, and what is left of it.
WITHOUT_RULE = {
    "empty_none": (r"    if not xs:\n        return .*\n", ""),
    "one_index": (r", 1\):", "):"),
    "inclusive": (r"b \+ 1", "b"),
    "round2": (r"round\((.*), [12]\)", r"\1"),
    "case_fold": (r"\.lower\(\)", ""),
    "clamp": (r"max\(0, min\(\d+, (.*)\)\)", r"\1"),
    "skip_none": (r" if [xw] is not None", ""),
    "dash_join": (r"'[-_]'", "''"),
    "dict_count": (r"return counts", "return list(counts)"),
    "negative_guard": (r"    if n < 0:\n        return .*\n", ""),
    "rules_concat": (r"(\+= '\w+'\n        )if ", r"\1elif "),
    "safe_pair": (r"\(True, (.*)\)", r"\1"),
    "none_text": (r"    if s is None:\n        return .*\n", ""),
    "zero_guard": (r"    if b == 0:\n        return .*\n", ""),
    "wrap_dict": (r"\{'\w+': (.*)\}", r"\1"),
    "ok_text": (r"'[\w: ]+' \+ str\((.*)\)", r"\1"),
}

# Mutants that are as right as the solution: a fragment of each, by problem.
EQUIVALENT = {
    "odds_between": "if i % 2]",  # the remainder itself is the condition
    "sum_known": "for x in xs if x)",  # leaving out zeros does not change a sum
    "fact": "range(2, n + 1)",  # multiplying by 1
    "triangle": "n * (n + 1) / 2",  # exact, and 10.0 equals 10
    "half": "if n < -1",  # -1 // 2 is -1 without the rule too
    "tell_lower": "s.lower()",  # str() of a string
}


def passes(code: str, problem: Problem) -> bool:
    """Plain Python, no sandbox: only the bank's own code and mutants of it come here, thousands of them."""
    try:
        exec(code, names := {})
        return all(eval(test, dict(names)) is True for test in problem.tests)
    except Exception:
        return False


def ids(problem: Problem) -> str:
    return problem.id if problem.revised or problem in BANK else f"{problem.id}-revised"


# --- the bank --------------------------------------------------------------------------------------------


def test_the_bank_is_what_the_course_says():
    assert len({p.id for p in BANK}) == len({p.spec for p in BANK}) == len({p.solution for p in BANK}) == len(BANK)
    assert len(BANK) >= 100 and len(families(BANK)) == 16
    assert all(len(members) >= 6 for members in families(BANK).values())
    assert {"fizzbuzz", "fizzbuzz_jazz"} <= {p.id for p in families(BANK)["rules_concat"]}
    assert Counter(p.family for p in BANK if p.selected).total() == 65


def test_no_two_families_share_a_rule():
    rules = {(p.family, p.rule) for p in VERSIONS}
    assert len(rules) == len({rule for _, rule in rules}) == 16 + 10


@pytest.mark.parametrize("problem", BANK, ids=ids)
def test_names_and_tests_are_well_formed(problem: Problem):
    function = ast.parse(problem.solution).body[0]
    assert isinstance(function, ast.FunctionDef) and len(ast.parse(problem.solution).body) == 1
    assert problem.id == problem.entry_point == function.name
    assert problem.signature == f"{function.name}({ast.unparse(function.args)})"
    assert problem.spec.startswith(f"Write `{problem.signature}` ") and problem.spec.endswith(".")
    for version in filter(None, (problem, problem.revised)):
        assert 2 <= len(version.tests) <= 6 and len(set(version.tests)) == len(version.tests)
        for test in version.tests:  # the sandbox computes the left side and compares with the right
            compare = ast.parse(test, mode="eval").body
            assert isinstance(compare, ast.Compare) and isinstance(compare.ops[0], ast.Eq | ast.Is)
            ast.literal_eval(compare.comparators[0])


@pytest.mark.parametrize("problem", [p for p in BANK if p.revised], ids=ids)
def test_a_revision_changes_expected_values_and_nothing_else(problem: Problem):
    def calls(tests: tuple[str, ...]) -> list[str]:
        found = (node for test in tests for node in ast.walk(ast.parse(test)))
        return [ast.unparse(node) for node in found if isinstance(node, ast.Call)]

    new = problem.with_revision()
    assert calls(problem.tests) == calls(new.tests)
    assert not passes(problem.solution, new) and not passes(new.solution, problem)


# --- right passes, wrong fails -----------------------------------------------------------------------------


@pytest.mark.parametrize("problem", VERSIONS, ids=ids)
def test_the_solution_passes_in_the_sandbox_and_without_its_rule_fails(problem: Problem):
    report = run_tests(problem.solution, problem.tests)
    assert report.passed, report
    pattern, left = WITHOUT_RULE[problem.family]
    ruleless, count = re.subn(pattern, left, problem.solution)
    assert count >= 1, "the solution does not follow the form of its family"
    report = run_tests(ruleless, problem.tests)
    assert not report.passed
    assert {result.status for result in report.results} <= {"passed", "failed", "error"}, report


@pytest.mark.parametrize("problem", VERSIONS, ids=ids)
def test_constants_and_arguments_returned_as_they_are_fail(problem: Problem):
    expected = [ast.unparse(ast.parse(test, mode="eval").body.comparators[0]) for test in problem.tests]
    guesses = [*expected, "None", "0", "-1", "''", "[]", "{}", "a[0]", "a[-1]", "len(a[0])", "max(a[0])", "min(a[0])",
               "sum(a[0])", "a[0][0]", "a[0][-1]", "2 * a[0]", "3 * a[0]", "a[0] + a[1]", "abs(a[0] - a[1])"]
    for guess in guesses:
        assert not passes(f"def {problem.entry_point}(*a): return {guess}", problem), guess


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # a mutant may well say `1 is None`
@pytest.mark.parametrize("problem", VERSIONS, ids=ids)
def test_small_changes_of_the_solution_fail(problem: Problem):
    assert passes(problem.solution, problem)
    tried = list(mutants(problem.solution))
    survivors = [code for code in tried if passes(code, problem)]
    excuse = EQUIVALENT.get(problem.id)
    assert len(tried) >= 8
    assert [code for code in survivors if excuse is None or excuse not in code] == []


# Mistakes a learner makes that still pass most tests: each is why one test of its problem is there.
PLAUSIBLE = {
    "backwards": "return ''.join(sorted(s or '', reverse=True))",
    "count_letter": "return s.count(ch.lower())",
    "digit_sum": "return -1 if n < 0 else math.prod(int(d) for d in str(n))",
    "first_above": "return max((i for i, x in enumerate(xs, 1) if x > limit), default=0)",
    "first_even": "return max((i for i, x in enumerate(xs, 1) if x % 2 == 0), default=0)",
    "has_word": "return w.lower() in ' '.join(words).lower()",
    "is_mirror": "return s[0].lower() == s[-1].lower()",
    "minus": "return abs(a - b) if b else 0",
    "same_word": "return a[0].lower() == b[0].lower()",
    "show_upper": "return '-'.join(w.capitalize() for w in words)",
    "speed": "return int(distance / time * 100) / 100",
    "spread": "return xs[0] - min(xs) if xs else None",
    "tidy": "return (s or '').replace(' ', '')",
    "whole_ratio": "return int(a / b) if b else 0",
    "word_position": "return words.index(w) + 1 if words else 0",
}


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_plausible_mistakes_fail_one_test_only(name: str):
    problem = next(p for p in BANK if p.id == name)
    code = f"import math\ndef {problem.signature}: {PLAUSIBLE[name]}"
    verdicts = [passes(code, replace(problem, tests=(test,))) for test in problem.tests]
    assert verdicts.count(False) == 1, dict(zip(problem.tests, verdicts, strict=True))


@pytest.mark.parametrize("problem", [p for p in VERSIONS if p.rule == "If s is None, return '?'."], ids=ids)
def test_none_is_not_the_empty_string(problem: Problem):
    code = problem.solution.replace("if s is None", "if not s")
    assert passes(code, problem) == (problem.id == "title_case")  # its specification leaves '' open


FLIPS = {ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
         ast.In: ast.NotIn, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv,
         ast.FloorDiv: ast.Div, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult}


def mutants(code: str) -> Iterator[str]:
    """Each code that differs from `code` by one small change of its syntax tree."""
    tree = ast.parse(code)
    seen = {ast.unparse(tree)}
    for place, node in enumerate(ast.walk(tree)):
        for new in changes(node):
            mutant = copy.deepcopy(tree)
            old = list(ast.walk(mutant))[place]
            replace_node(mutant, old, new)
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text not in seen:
                seen.add(text)
                yield text


def changes(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=int(n)) if not isinstance(n, bool):
            yield from (ast.Constant(n + 1), ast.Constant(n - 1))
        case ast.Constant(value=str(text)):
            yield ast.Constant(text + "!")
        case ast.Constant(value=value):  # None or a truth value
            yield ast.Constant(0 if value is None else not value)
        case ast.If():
            yield ast.Pass()
        case ast.Call(func=func, args=args):
            yield from [func.value, *args] if isinstance(func, ast.Attribute) else args
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.comprehension(ifs=[ast.Compare(left=left)]):
            for kept in ([], [left]):
                yield ast.comprehension(node.target, node.iter, kept, 0)
        case ast.Return():
            for constant in ("None", "0", "1", "-1", "''", "[]", "{}"):
                yield ast.Return(ast.parse(constant, mode="eval").body)
        case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
            yield value
    for field, kind in (("op", getattr(node, "op", None)), ("ops", getattr(node, "ops", [None])[0])):
        if type(kind) in FLIPS:
            flipped = copy.copy(node)
            setattr(flipped, field, FLIPS[type(kind)]() if field == "op" else [FLIPS[type(kind)]()])
            yield flipped


def replace_node(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list):
                value[:] = [new if item is old else item for item in value]


def test_mutants_are_small_changes():
    found = list(mutants("def f(a, b):\n    return a + b"))
    assert {"def f(a, b):\n    return a - b", "def f(a, b):\n    return a", "def f(a, b):\n    return None"} <= {*found}
    assert "def f(a, b):\n    return a + b" not in found


# --- records -----------------------------------------------------------------------------------------------


def test_a_problem_by_hand():
    largest = BANK[0]
    assert largest == Problem(
        id="largest", family="empty_none", signature="largest(xs)",
        spec="Write `largest(xs)` returning the largest number in the list xs.",
        rule="If the list is empty, return None.",
        instruction="Check the empty list first: `if not xs: return None`, then compute.",
        tests=("largest([1,5,2])==5", "largest([-3,-1])==-1", "largest([7])==7", "largest([]) is None"),
        solution="def largest(xs):\n    if not xs:\n        return None\n    return max(xs)",
        revised=Revision(
            rule="If the list is empty, return -1.",
            instruction="Check the empty list first: `if not xs: return -1`, then compute.",
            tests=("largest([1,5,2])==5", "largest([-3,-1])==-1", "largest([7])==7", "largest([])==-1"),
            solution="def largest(xs):\n    if not xs:\n        return -1\n    return max(xs)"))
    assert largest.entry_point == "largest" and largest.selected
    assert largest.text == ("Write `largest(xs)` returning the largest number in the list xs. "
                            "If the list is empty, return None.")


def test_problems_can_be_keys_and_cannot_be_changed():
    assert len({*BANK, *load_problems()}) == len(BANK)
    with pytest.raises(AttributeError):
        BANK[0].rule = "Another rule."


def test_with_revision_takes_every_revised_part():
    new = BANK[0].with_revision()
    assert (new.id, new.spec, new.signature) == (BANK[0].id, BANK[0].spec, BANK[0].signature)
    assert (new.rule, new.instruction, new.tests, new.solution) == (
        BANK[0].revised.rule, BANK[0].revised.instruction, BANK[0].revised.tests, BANK[0].revised.solution)
    assert new.revised is None and new.text.endswith("return -1.")


def test_without_a_revision_the_error_names_the_families_that_have_one():
    plain = next(p for p in BANK if p.family == "inclusive")
    for problem in (plain, BANK[0].with_revision()):
        with pytest.raises(ValueError, match=rf"'{problem.id}' of family '{problem.family}'.*: clamp, dash_join, "):
            problem.with_revision()


def test_families_keep_the_order_of_the_file():
    groups = families(BANK)
    assert [p for members in groups.values() for p in members] == BANK
    assert next(iter(groups)) == "empty_none" and families([]) == {}


# --- loading -----------------------------------------------------------------------------------------------


def bank() -> dict:
    """A bank of two problems in two families, one with a revision."""
    return {
        "families": {
            "plain": {"rule": "Both ends count.", "instruction": "Add 1.", "revised": None},
            "guard": {"rule": "If n is 0, return 0.", "instruction": "Check n first.",
                      "revised": {"rule": "If n is 0, return None.", "instruction": "Check n first."}}},
        "problems": [
            {"id": "one", "family": "plain", "signature": "one(a, b)", "spec": "Write `one(a, b)`.",
             "tests": ["one(1, 2)==2"], "solution": "def one(a, b): return b - a + 1", "revised": None},
            {"id": "two", "family": "guard", "signature": "two(n)", "spec": "Write `two(n)`.",
             "tests": ["two(0)==0"], "solution": "def two(n): return n",
             "revised": {"tests": ["two(0) is None"], "solution": "def two(n): return n or None"}}]}


def write(folder: Path, content: object) -> Path:
    path = folder / "bank.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_bank_of_the_readers_own(tmp_path: Path):
    one, two = load_problems(str(write(tmp_path, bank())))
    assert (one.rule, one.revised, one.selected) == ("Both ends count.", None, False)
    assert two.with_revision().tests == ("two(0) is None",)


def change(*keys: object, to: object = None, drop: bool = False) -> Callable[[dict], None]:
    def apply(content: dict) -> None:
        *way, last = keys
        for key in way:
            content = content[key]
        if drop:
            del content[last]
        else:
            content[last] = to
    return apply


ONE, TWO = ("problems", 0), ("problems", 1)


@pytest.mark.parametrize(("fault", "message"), [
    (change("problems", drop=True), "bank.json, field 'problems': missing; add it"),
    (change("problems", to=[]), "bank.json, field 'problems': expected a list that is not empty, got []"),
    (change("version", to=2), "bank.json, field 'version': unknown; expected only families, problems"),
    (change("families", "plain", "rule", drop=True), "bank.json: family 'plain', field 'rule': missing; add it"),
    (change("families", "plain", to="x"), "bank.json: family 'plain': expected an object with the fields rule, "),
    (change("families", "guard", "revised", "rule", to=""), "family 'guard', revised, field 'rule': expected a string"),
    (change(*ONE, to=7), "bank.json: problem number 1: expected an object with the fields id, family, "),
    (change(*ONE, "id", drop=True), "bank.json: problem number 1, field 'id': missing; add it"),
    (change(*TWO, "id", to="one"), "bank.json: problem 'one', field 'id': expected an id of its own"),
    (change(*ONE, "spec", drop=True), "bank.json: problem 'one', field 'spec': missing; add it"),
    (change(*ONE, "spec", to=5), "problem 'one', field 'spec': expected a string that is not blank, got 5"),
    (change(*ONE, "spec", to=" "), "problem 'one', field 'spec': expected a string that is not blank, got ' '"),
    (change(*ONE, "rule", to="x"), "problem 'one', field 'rule': unknown; expected only id, family, signature, "),
    (change(*ONE, "family", to="odd"), "problem 'one', field 'family': expected one of plain, guard, got 'odd'"),
    (change(*ONE, "signature", to="one"), "problem 'one', field 'signature': expected a call form such as"),
    (change(*ONE, "signature", to="one(a, 2)"), "field 'signature': expected a call form such as 'largest(xs)', got"),
    (change(*ONE, "signature", to="one(a"), "field 'signature': expected a call form such as 'largest(xs)', got"),
    (change(*ONE, "solution", to="def uno(a, b): return 1"),
     "problem 'one', field 'solution': expected Python code that defines one, got 'def uno"),
    (change(*ONE, "solution", to="def one(a, b) return"), "problem 'one', field 'solution': expected Python code"),
    (change(*ONE, "tests", to=[]), "problem 'one', field 'tests': expected a list that is not empty, got []"),
    (change(*ONE, "tests", to="one(1, 2)==2"), "problem 'one', field 'tests': expected a list that is not empty"),
    (change(*ONE, "tests", 0, to=None), "field 'tests', number 1: expected a Python expression as a string, got None"),
    (change(*ONE, "tests", 0, to="one(1, 2)="), "field 'tests', number 1: expected a Python expression as a string"),
    (change(*ONE, "tests", 0, to="assert one(1, 2)"), "'tests', number 1: expected a Python expression as a string"),
    (change(*ONE, "tests", 0, to="one == 2"), "'tests', number 1: expected a call of one, got 'one == 2'"),
    (change(*ONE, "tests", 0, to="\0one(1, 2)"), "'tests', number 1: expected a Python expression as a string"),
    (change(*TWO, "revised", to=None), "'revised': expected both or neither of family 'guard' and its problem to be "
                                       "revised, but the family is and the problem is not"),
    (change(*ONE, "revised", to={"tests": ["one(1, 2)==1"], "solution": "def one(a, b): return 1"}),
     "'revised': expected both or neither of family 'plain' and its problem to be revised, but the problem is"),
    (change(*TWO, "revised", "tests", drop=True), "problem 'two', revised, field 'tests': missing; add it"),
    (change(*TWO, "revised", "tests", 0, to="one()"),
     "problem 'two', revised, field 'tests', number 1: expected a call of two, got 'one()'"),
])
def test_a_faulty_bank_is_refused_by_file_problem_and_field(tmp_path: Path, fault: Callable, message: str):
    content = bank()
    fault(content)
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_problems(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(("text", "message"), [
    ('{"families": {},\n "problems": [}', r"bank\.json, line 2, column 15: expected JSON, got: "),
    ("", r"bank\.json, line 1, column 1: expected JSON, got: "),
    ("[]", r"bank\.json: expected an object with the fields families, problems, got \[\]"),
    ('{"families": {"a": 1, "a": 2}, "problems": []}',
     r"bank\.json: expected each name once in an object, got 'a' twice; remove one"),
])
def test_text_that_is_no_bank_is_refused_by_file_and_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        load_problems(write(tmp_path, text))


def test_other_encodings_and_missing_files(tmp_path: Path):
    path = tmp_path / "bank.json"
    with pytest.raises(FileNotFoundError, match=r"bank\.json"):
        load_problems(path)
    path.write_bytes(b'{"caf\xe9": 1}')
    with pytest.raises(ValueError, match=r"bank\.json: expected UTF-8 text, got byte 0xe9 at offset 5"):
        load_problems(path)
