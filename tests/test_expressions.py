"""Taking tests apart: what the code computes, what stands around it, what it is compared with."""

import pytest

from helpers.expressions import Call, plan_of


@pytest.mark.parametrize(("test", "left", "expected"), [
    ("f(2)==4", "f(2)", "4"), (" f(2) == 4 ", "f(2)", "4"), ("4 == f(2)", "f(2)", "4"), ("f() is None", "f()", "None"),
    ("f(2) is True", "f(2)", "True"), ("f(2)", "f(2)", None), ("f(2)[0] == 1", "f(2)[0]", "1"),
    ("Stack().push(1).size() == 1", "Stack().push(1).size()", "1"), ("LIMIT == 3", "LIMIT", "3"),
    ("f(lambda x: x + y, 2) == 4", "f(lambda x: x + y, 2)", "4"), ("f(len('ab')) == 2", "f(len('ab'))", "2"),
    ("f([x for x in (1, 2)]) == sorted([2, 1])", "f([x for x in (1, 2)])", "sorted([2, 1])")])
def test_what_is_nothing_but_a_call_runs_with_the_code(test: str, left: str, expected: str | None) -> None:
    plan = plan_of(test)
    assert (plan.left, plan.expected, plan.direct, plan.calls) == (left, expected, True, ())


@pytest.mark.parametrize(("test", "source", "calls", "expected"), [
    ("sorted(f(3)) == [1]", "sorted(_sandbox_call(0))", [("f(3)", "f(3)", ())], "[1]"),
    ("f(1) + f(2) == 5", "_sandbox_call(0) + _sandbox_call(1)", [("f(1)", "f(1)", ()), ("f(2)", "f(2)", ())], "5"),
    ("f(2) != 4", "_sandbox_call(0) != 4", [("f(2)", "f(2)", ())], None),
    ("f(1) == f(2)", "_sandbox_call(0) == _sandbox_call(1)", [("f(1)", "f(1)", ()), ("f(2)", "f(2)", ())], None),
    ("f(2) is not None", "_sandbox_call(0) is not None", [("f(2)", "f(2)", ())], None),
    ("f(2) is 1", "_sandbox_call(0) is 1", [("f(2)", "f(2)", ())], None),
    ("f(2) is x", "_sandbox_call(0) is _sandbox_call(1)", [("f(2)", "f(2)", ()), ("x", "x", ())], None),
    ("f(2) == 4 == 4", "_sandbox_call(0) == 4 == 4", [("f(2)", "f(2)", ())], None),
    ("[f(i, j) for i in (1, 2) for j in (3,)] == []", "[_sandbox_call(0, i, j) for i in (1, 2) for j in (3,)]",
     [("f(i, j)", "(lambda i, j: f(i, j))(*_sandbox_bound)", ("i", "j"))], "[]"),
    ("(lambda g: g(2))(f) == 4", "(lambda g: g(2))(_sandbox_call(0))", [("f", "f", ())], "4"),
    ("''.join(f(2)) == 'a'", "''.join(_sandbox_call(0))", [("f(2)", "f(2)", ())], "'a'")])
def test_everything_else_stays_out_of_reach_of_the_code(test: str, source: str, calls: list, expected) -> None:
    plan = plan_of(test)
    assert (plan.source, plan.expected, plan.direct) == (source, expected, False)
    assert plan.calls == tuple(Call(*call) for call in calls)


def test_calls_inside_a_generator_expression_are_made_at_once() -> None:
    assert plan_of("all(f(i) for i in (1, 2))").source == "all((_sandbox_iter([_sandbox_call(0, i) for i in (1, 2)])))"
    assert plan_of("any(x > 1 for x in f(2))").source == (
        "any((_sandbox_generator(0, lambda x: (x > 1 ), _sandbox_call(0))))")


def test_whole_keeps_the_comparison() -> None:
    assert plan_of("f(2) == range(3)", whole=True).source == "_sandbox_call(0) == range(3)"


def test_a_test_without_the_code_calls_nothing() -> None:
    plan = plan_of("sum([1]) == 1")
    assert (plan.direct, plan.calls) == (False, ())


@pytest.mark.parametrize("test", ["assert f(2) == 4", "f(", "x = 1", "", "f(2) == 4; f(3)", "f(2)\0"])
def test_what_is_not_an_expression_is_named(test: str) -> None:
    with pytest.raises(ValueError, match="is not a Python expression") as caught:
        plan_of(test)
    assert repr(test) in str(caught.value) and "'f(2) == 4', without assert" in str(caught.value)
