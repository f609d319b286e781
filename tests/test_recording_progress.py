"""How far a recording is, with the clock and the list of used keys in the test's hands."""

import io
import math
from pathlib import Path

import pytest

from helpers.recording_progress import RecordingProgress, duration
from helpers.transcript import Transcript

NAME = "04_memory"


def key(number: int) -> str:
    return f"{number:064x}"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Recording:
    """A recording of which `before` answers are there and `total` expected: `at` lets time pass and answers come."""

    def __init__(self, folder: Path, before: int, total: int | None, stream: io.StringIO | None = None) -> None:
        self.now, self.n, self.stream = 0.0, 0, stream or io.StringIO()
        self.transcript = Transcript(folder / f"{NAME}.jsonl", exchanges={key(i): {} for i in range(before)})
        self.progress = RecordingProgress(self.transcript, total, self.stream, clock=lambda: self.now)
        self.progress.cell(NAME, 3, 40)

    def at(self, now: float, used: int) -> str:
        """What is written when `used` keys stand in the list at second `now`."""
        for number in range(self.n, used):
            self.transcript.mark_used(key(number))
        self.now, self.n = now, max(used, self.n)
        self.stream.seek(0)
        self.stream.truncate()
        self.progress.tick()
        return self.stream.getvalue()


def test_the_line_of_a_long_recording(tmp_path):
    # 1,140 answers in 2,166 s are 1.9 s each; 5,260 more take 9,994 s, 2 h 47 min.
    recording = Recording(tmp_path, before=0, total=6500)
    recording.at(34.0, 100)
    assert recording.at(2200.0, 1240) == (
        f"      {NAME}: 1,240 of about 6,500 answers, 1.9 s each, about 2 h 47 min left\n")


def test_it_speaks_every_thirty_seconds_and_not_before_the_first_answer_of_answers(tmp_path):
    recording = Recording(tmp_path, before=0, total=10)
    assert recording.at(29.0, 0) == ""
    assert recording.at(30.0, 0) == f"      {NAME} cell 3/40, 30 s\n"
    assert recording.at(59.0, 2) == "", "it looks, and keeps it to itself"
    assert recording.at(69.0, 4) == f"      {NAME}: 4 of about 10 answers, 5.0 s each, less than a minute left\n"
    assert recording.at(70.0, 5) == ""


def test_replayed_answers_do_not_count_for_the_pace(tmp_path):
    recording = Recording(tmp_path, before=1000, total=1100)
    assert recording.at(30.0, 900) == f"      {NAME}: 900 of about 1,100 answers, all recorded before\n"
    assert recording.at(61.0, 1001) == f"      {NAME}: 1,001 of about 1,100 answers\n", "one new answer has no pace"
    recording.at(85.0, 1010)
    # 9 new answers in 24 s, then 10 in 30 s: 19 in 54 s are 2.842 s each, and 80 more 227 s.
    assert recording.at(115.0, 1020) == f"      {NAME}: 1,020 of about 1,100 answers, 2.8 s each, about 4 min left\n"


def test_time_after_the_last_new_answer_does_not_slow_the_pace(tmp_path):
    recording = Recording(tmp_path, before=0, total=100)
    recording.at(10.0, 1)
    recording.at(30.0, 11)
    recording.at(600.0, 11)
    assert recording.progress.seconds_each == 2.0 and recording.progress.seconds_left == 178.0


def test_what_is_recorded_but_not_asked_for_yet_is_not_asked_anew(tmp_path):
    """A recording that goes on: 50 of 100 are there, of which 10 were asked for when the first new one comes."""
    recording = Recording(tmp_path, before=50, total=100)
    for now, numbers in ((10.0, [*range(10), 60]), (14.0, [61])):
        for number in numbers:
            recording.transcript.mark_used(key(number))
        recording.at(now, 0)
    assert recording.progress.seconds_each == 4.0 and recording.progress.seconds_left == 48 * 4.0


@pytest.mark.parametrize(("total", "said"), [(None, "40 answers, 1.0 s each"), (30, "40 answers, 1.0 s each"),
                                             (40, "40 of about 40 answers, 1.0 s each, less than a minute left")])
def test_a_total_that_is_unknown_exceeded_or_reached(tmp_path, total, said):
    recording = Recording(tmp_path, before=0, total=total)
    recording.at(10.0, 10)
    assert recording.at(40.0, 40) == f"      {NAME}: {said}\n"


def test_changed_questions_of_a_complete_recording_have_a_pace_and_no_end(tmp_path):
    recording = Recording(tmp_path, before=20, total=20)
    for number in (0, 100, 1, 101):
        recording.transcript.mark_used(key(number))
        recording.at(recording.now + 15.0, 0)
    assert recording.at(90.0, 0) == f"      {NAME}: 4 of about 20 answers, 30.0 s each\n"
    assert math.isnan(recording.progress.seconds_left)


def test_a_line_half_written_and_a_key_noted_twice_count_once(tmp_path):
    recording = Recording(tmp_path, before=0, total=9)
    used = recording.transcript.used_path
    used.write_bytes(f"{key(1)}\n{key(2)}\n{key(1)}\n{key(3)[:20]}".encode("ascii"))
    assert "2 of about 9" in recording.at(30.0, 0)
    with used.open("ab") as file:
        file.write(f"{key(3)[20:]}\n".encode("ascii"))
    assert "3 of about 9" in recording.at(60.0, 0)


def test_a_terminal_has_one_line_that_is_rewritten(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "81")
    recording = Recording(tmp_path, before=0, total=6500, stream=Terminal())
    recording.at(0.0, 0)
    recording.at(10.0, 100)
    line = recording.at(11.0, 101)
    assert line == "\r" + "04: 101 of about 6,500 answers, 1.0 s each, about 1 h 47 min left".ljust(80)


def test_duration_counts_whole_minutes():
    assert [duration(seconds) for seconds in (59.9, 3541.0, 3600.1)] == ["less than a minute", "about 1 h 0 min",
                                                                         "about 1 h 1 min"]
