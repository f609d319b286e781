"""Exercises 2 and 9: solutions pass, stubs are not attempted, each usual mistake is named; and kills are real."""


import json
import marshal
import os
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from exercise_answers import outcome, solution, stub

from helpers import exercise_store, kill_points
from helpers.exercise_memory import check_lru
from helpers.exercise_store import aftermaths, check_store, killed_where_it_stops
from helpers.exercises import TODO
from helpers.kill_points import RECORDS, packed, unpacked

Solution = solution(2)["LRU"]
append, load = (solution(9)[name] for name in ("append", "load"))


# --- exercise 2: LRU -------------------------------------------------------------------------------------------


class Fifo(Solution):
    def touch(self, key):
        lesson = self.lessons[key]
        self.accesses += 1
        self.last_used.setdefault(key, self.accesses)
        return lesson


class Lfu(Solution):
    def touch(self, key):
        lesson = self.lessons[key]
        self.accesses += 1
        self.last_used[key] = self.last_used.get(key, 0) + 1
        return lesson


class RoomFirst(Solution):
    """Makes room before it looks whether the key is there already."""

    def add(self, key, lesson):
        if len(self.lessons) >= self.max_entries:
            oldest = min(self.last_used, key=self.last_used.get)
            del self.lessons[oldest], self.last_used[oldest]
        self.lessons[key] = lesson
        self.touch(key)


class Newest(Solution):
    """The newcomer has not been used, so it goes first."""

    def add(self, key, lesson):
        self.accesses += 1
        self.lessons[key] = lesson
        self.last_used.setdefault(key, 0)
        if len(self.lessons) > self.max_entries:
            oldest = min(reversed(self.last_used), key=self.last_used.get)
            del self.lessons[oldest], self.last_used[oldest]


class OneTooFew(Solution):
    def add(self, key, lesson):
        super().add(key, lesson)
        if len(self.lessons) == self.max_entries > 1:
            oldest = min(self.last_used, key=self.last_used.get)
            del self.lessons[oldest], self.last_used[oldest]


class Ghost(Solution):
    """A missing key leaves its time behind."""

    def touch(self, key):
        self.accesses += 1
        self.last_used[key] = self.accesses
        return self.lessons[key]


class Quiet(Solution):
    def touch(self, key):
        return super().touch(key) if key in self.lessons else None


class Silent(Solution):
    def touch(self, key):
        super().touch(key)


class Uncounted(Solution):
    def add(self, key, lesson):
        super().add(key, lesson)
        self.accesses -= 1


class NoTimes(Solution):
    """Keeps the order in the dictionary itself, and no times."""

    def add(self, key, lesson):
        self.accesses += 1
        self.lessons.pop(key, None)
        self.lessons[key] = lesson
        if len(self.lessons) > self.max_entries:
            del self.lessons[next(iter(self.lessons))]

    def touch(self, key):
        self.add(key, self.lessons[key])
        return self.lessons[key]


class NoUseInAdd(Solution):
    def add(self, key, lesson):
        if key in self.lessons:
            self.lessons[key] = lesson
            self.accesses += 1
        else:
            super().add(key, lesson)


def test_the_lru_solution_is_right_and_the_stub_not_attempted():
    right = outcome(check_lru, Solution)
    assert (right.outcome, right.points, right.of) == ("right", 10, 10), right.message
    assert outcome(check_lru, stub(2)["LRU"]).outcome == "not attempted"


WRONG_LRU = [
    (Fifo, "that rule is first in, first out"), (Lfu, "asks when, not how often"),
    (RoomFirst, "nothing has to make room for it"), (Newest, "never its own victim"),
    (OneTooFew, "There is room for two"), (Ghost, "no trace of z may stay"), (Quiet, "There is no z"),
    (Silent, "it returns the lesson"), (Uncounted, "Each add and each touch is one access"),
    (NoTimes, "got [3, []] expected [3, ['b', 'a']]"),
    (NoUseInAdd, "To add a lesson again is to use it"),
]


@pytest.mark.parametrize(("answer", "words"), WRONG_LRU)
def test_a_usual_mistake_with_lru_is_named(answer, words):
    said = outcome(check_lru, answer)
    assert said.outcome == "wrong", said.message
    assert 0 < said.points < said.of
    assert words in " ".join(said.message.split())


# --- exercise 9: a store that survives a kill --------------------------------------------------------------------


def naive_load(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def naive(path, record):
    records = [*naive_load(path), record]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(records, file)


def forgiving(path):
    try:
        return naive_load(path)
    except ValueError:
        return []


def atomic(path, record):
    import os
    records = [*naive_load(path), record]
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(records, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)


def removes_first(path, record):
    import os
    records = [*naive_load(path), record]
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(records, file)
    if path.exists():
        os.remove(path)
    os.rename(f"{path}.tmp", path)


def glued(path, record):
    import os
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
        file.flush()
        os.fsync(file.fileno())


def unwaited(path, record):
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n" + json.dumps(record) + "\n")


def strict(path):
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line]


def buffered(path, record, files={}):  # noqa: B006 - the mistake
    if path not in files:
        files[path] = open(path, "a", encoding="utf-8")  # noqa: SIM115 - the mistake
    files[path].write("\n" + json.dumps(record) + "\n")


def by_descriptor(path, record):
    from os import O_APPEND, O_CREAT, O_RDWR, close, fsync, write
    from os import open as open_descriptor
    descriptor = open_descriptor(path, O_RDWR | O_APPEND | O_CREAT)
    write(descriptor, f"\n{json.dumps(record)}\n".encode())
    fsync(descriptor)
    close(descriptor)


def shell(path, record):
    if str(path) == "store":  # in the process that is killed
        os.system("exit")


def mapped(path, record):
    import sqlite3
    with sqlite3.connect(path) as database:
        database.execute("create table if not exists records (text)")
        database.execute("insert into records values (?)", [json.dumps(record)])
    database.close()


def stored(path):
    import sqlite3
    with sqlite3.connect(path) as database:
        database.execute("create table if not exists records (text)")
        rows = database.execute("select text from records").fetchall()
    database.close()
    return [json.loads(text) for text, in rows]


def test_the_store_solution_is_right_and_the_stub_not_attempted():
    right = outcome(check_store, (append, load))
    assert (right.outcome, right.points, right.of) == ("right", 9, 9), right.message
    names = stub(9)
    assert outcome(check_store, (names["append"], names["load"])).outcome == "not attempted"
    assert outcome(check_store, (TODO, TODO)).outcome == "not attempted"
    half = outcome(check_store, (names["append"], load))
    assert (half.outcome, half.points) == ("wrong", 1)


WRONG_STORE = [
    ((naive, naive_load), "killed after a file was opened for writing: load gives JSONDecodeError, but append had "
                          "returned for [0, 1]", 2),
    ((naive, forgiving), "killed after a file was opened for writing: load gives [], but append had returned", 2),
    ((atomic, naive_load), "the cost of one append grows with the store", 8),
    ((removes_first, naive_load), "killed before a file was renamed: load gives [], but", 4),
    ((glued, load), "killed in the middle of a write: load gives [0, 1], and after one more append [0, 1]' ", 7),
    ((unwaited, load), "os.fsync(file.fileno())", 8),
    ((shell, load), "an answer may not use os.system", 1),
    ((mapped, stored), "no write that the check can see: use open, os or pathlib, no database", 8),
    ((append, strict), "killed in the middle of a write: load gives JSONDecodeError", 4),
]


@pytest.mark.parametrize(("answer", "words", "points"), WRONG_STORE)
def test_a_usual_mistake_with_the_store_is_named(answer, words, points):
    said = outcome(check_store, answer)
    assert (said.outcome, said.points) == ("wrong", points), said.message
    assert words in " ".join(said.message.split())


@pytest.mark.filterwarnings("ignore:.*unclosed file:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_append_kept_for_itself_is_lost_although_it_had_returned():
    said = outcome(check_store, (buffered, load))
    assert "killed after append had returned: load gives [], but append had returned for [0, 1, 2]" in " ".join(
        said.message.split())
    for file in buffered.__defaults__[0].values():
        file.close()
    buffered.__defaults__[0].clear()


def test_each_point_is_stopped_at_in_order():
    kills = list(aftermaths(append, load, marshal.dumps(packed(append))))
    assert [kill.where for kill in kills] == ["after a file was opened for writing", "in the middle of a write",
                                              "before waiting for the disk", "after append had returned"]
    assert [len(kill.left) for kill in kills] == [2, 2, 3, 3]
    assert [kill.returned for kill in kills] == [2, 2, 2, 3]
    assert all(kill.more == [*kill.left, RECORDS[-1]] for kill in kills)


@pytest.mark.parametrize("function", [append, by_descriptor])
def test_half_a_line_is_left_by_a_kill_in_the_middle_of_a_write(tmp_path: Path, function):
    said = killed_where_it_stops(marshal.dumps(packed(function)), tmp_path, before=1, stop_at=2)
    whole, half = f"\n{json.dumps(RECORDS[0])}\n", f"\n{json.dumps(RECORDS[1])}\n"
    assert said == {"stopped": "in the middle of a write"}
    assert (tmp_path / "store").read_bytes() == (whole + half[:len(half) // 2]).encode()


def test_the_process_is_killed_and_not_ended(tmp_path: Path, monkeypatch):
    codes = []

    class Remembered(subprocess.Popen):
        def __exit__(self, *error):
            super().__exit__(*error)
            codes.append(self.returncode)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    killed_where_it_stops(marshal.dumps(packed(append)), tmp_path, before=0, stop_at=1)
    assert codes == [1 if sys.platform == "win32" else -9]


def test_a_process_that_ends_or_is_silent_is_an_error_with_its_words(tmp_path: Path, monkeypatch):
    def broken(path, record):
        raise OSError("the disk is full")

    def endless(path, record):
        while True:
            pass

    with pytest.raises(RuntimeError, match="in a process of its own: OSError: the disk is full"):
        killed_where_it_stops(marshal.dumps(packed(broken)), tmp_path, before=0, stop_at=1)
    monkeypatch.setattr(exercise_store, "PATIENCE_S", 0.5)
    with pytest.raises(RuntimeError, match=r"silent for 0\.5 s"):
        killed_where_it_stops(marshal.dumps(packed(endless)), tmp_path, before=0, stop_at=1)


FACTOR = 3


def helper(number):
    return number * FACTOR if number < 10 else helper(number - 10)


def uses(number, plus=1, *, times=2):
    return json.loads(str(helper(number) + plus)) * times, Path("x").name, [helper(n) for n in range(2)]


def test_a_function_goes_along_with_what_it_names():
    again = unpacked(marshal.loads(marshal.dumps(packed(uses))))
    assert again(14) == uses(14) == (26, "x", [0, 3])
    assert again.__globals__["helper"] is not helper


def test_the_open_of_a_notebook_stays_there(monkeypatch):
    monkeypatch.setitem(globals(), "open", tokenize.open)  # of another module, as that of IPython
    assert packed(naive)["globals"].keys() == {"json", "naive_load"}


def test_an_attribute_is_not_taken_for_a_global(monkeypatch):
    monkeypatch.setitem(globals(), "exists", object())
    assert packed(naive_load)["globals"].keys() == {"json"}


def test_what_cannot_go_along_is_named(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", object())
    with pytest.raises(TypeError, match=r"FACTOR: expected a number, a text, or a list of such.*got a object"):
        packed(uses)
    with pytest.raises(TypeError, match="written with def, outside of any other; got builtin_function"):
        packed(len)
    inner = FACTOR
    with pytest.raises(TypeError, match="outside of any other"):
        packed(lambda: inner)


def test_the_program_starts_without_the_course():
    code = f"import sys; sys.path.insert(0, {str(Path(kill_points.__file__).parent)!r}); import kill_points; " \
           "print(any(name.partition('.')[0] in ('numpy', 'helpers') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True).stdout == "False\n"
