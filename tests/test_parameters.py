"""Parameters are returned when they are in range, and refused with the range and the value otherwise."""

import numpy as np
import pytest

from helpers.parameters import number, probabilities, probability, whole


def test_values_in_range_are_returned_as_plain_numbers() -> None:
    assert whole("k", np.int64(5), low=1, high=5) == 5
    assert type(whole("k", np.int64(5))) is int
    assert number("tau", "0.5", low=0.5) == 0.5
    assert (probability("f", 0), probability("f", 1)) == (0.0, 1.0)
    np.testing.assert_array_equal(probabilities("u", [[0, 1]], axes=2), [[0.0, 1.0]])


@pytest.mark.parametrize(("call", "words"), [
    (lambda: whole("k", 0), r"k: expected a whole number of at least 1, got 0"),
    (lambda: whole("k", 6, high=5), r"k: expected a whole number from 1 to 5, got 6"),
    (lambda: whole("k", 2.0), r"got 2.0"),
    (lambda: whole("k", True), r"got True"),
    (lambda: whole("k", "3"), r"got '3'"),
    (lambda: number("tau", float("nan")), r"tau: expected a number in \(-inf, inf\), got nan"),
    (lambda: number("gamma", 1, above=0, below=1), r"gamma: expected a number in \(0, 1\), got 1"),
    (lambda: number("tau", -1, low=0), r"tau: expected a number in \[0, inf\), got -1"),
    (lambda: number("tau", None), r"got None"),
    (lambda: number("tau", float("inf"), low=0), r"got inf"),
    (lambda: probability("f", 1.5), r"f: expected a number in \[0, 1\], got 1.5"),
    (lambda: probabilities("u", [0.5, 1.2]), r"u: expected numbers in \[0, 1\], got 1.2"),
    (lambda: probabilities("u", [0.5, np.nan]), r"got nan"),
    (lambda: probabilities("u", ["a"]), r"got \['a'\]"),
    (lambda: probabilities("u", []), r"got shape \(0,\)"),
    (lambda: probabilities("u", 0.5), r"expected at least one number and one or more axis, got shape \(\)"),
    (lambda: probabilities("u", [0.5], axes=2), r"expected at least one number and 2 axes, got shape \(1,\)"),
])
def test_values_out_of_range_are_refused(call, words) -> None:
    with pytest.raises(ValueError, match=words):
        call()
