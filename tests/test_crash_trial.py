"""Killing a writing process: what it had said is compared with what is there."""

import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import crash_trial
from helpers.crash_trial import Survival, counted, kill_while_writing, survivors
from helpers.crash_writers import WRITERS

TALK = "import sys, time\nfor line in {lines!r}: sys.stdout.write(line); sys.stdout.flush()\n{then}"
WAIT = "time.sleep(60)"


def program(lines: list[str], then: str = WAIT) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", TALK.format(lines=lines, then=then)]


def test_the_last_number_of_each_name_counts_and_a_cut_line_does_not(tmp_path: Path) -> None:
    said = kill_while_writing(program(["a 0\t1\n", "b\t5\na 0\t2\n", "a 0\t3"]), tmp_path, 2, 0.05)
    assert said == {"a 0": 2, "b": 5}


@pytest.mark.parametrize(("lines", "then"), [
    (["a\t1\n"], ""),                                           # one of two writers was heard of
    (["a\t1\n", "b\t1\n"], ""),                                 # both, but then it ended by itself
    ([], "raise OSError('no room left')"),
])
def test_a_program_that_ends_by_itself_is_no_trial(lines: list[str], then: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="expected a program that writes until it is killed") as caught:
        kill_while_writing(program(lines, then), tmp_path, 2, 1.0)
    assert ("no room left" in str(caught.value)) == ("no room left" in then)


def test_a_silent_program_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_trial, "PATIENCE_S", 0.3)
    with pytest.raises(RuntimeError, match="writers heard of: none"):
        kill_while_writing(program([]), tmp_path, 1, 0.0)


def test_only_the_naive_rewrite_loses_what_it_had_acknowledged() -> None:
    trials = survivors(6, copies=2, rng=np.random.default_rng(0))
    assert {kind: len(files) for kind, files in trials.items()} == dict.fromkeys(WRITERS, 12)
    assert any(file.survived == 0 for file in trials["naive rewrite"])
    assert all(file.survived - file.acknowledged in (0, 1) for kind in ("atomic rewrite", "journal")
               for file in trials[kind])
    assert all(file.acknowledged > crash_trial.crash_writers.BEFORE for files in trials.values() for file in files)


def test_a_writer_that_breaks_its_promise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crash_trial, "kill_while_writing",
                        lambda command, folder, writers, after_s: dict.fromkeys(command[4:], 33))
    trials = survivors(1, copies=1, rng=np.random.default_rng(0))  # 30 records are there, 33 were promised
    assert {kind: files[0].lost for kind, files in trials.items()} == dict.fromkeys(WRITERS, 3)


def test_lost_is_what_was_acknowledged_and_is_gone() -> None:
    assert [Survival(5, survived).lost for survived in (0, 5, 6)] == [5, 0, 0]
    assert counted({"x": 2, "y": 1}, {"x": 2, "y": 0}.get) == {"x": Survival(2, 2), "y": Survival(1, 0)}
