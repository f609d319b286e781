"""A memory under real trouble: killed processes, cut and changed bytes, two writers, a full disk, no permission."""

import json
import os
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest
from memory_fakes import Exact, Hashed, state

from helpers import memory_store
from helpers.memory import DamageWarning, NotAMemory, VectorMemory

posix = pytest.mark.skipif(os.name != "posix", reason="fork, file-size limits and user ids are POSIX")
KILLS = 200


def child(code, *arguments, **environment):
    """A Python process that runs `code` beside these tests; no test runs longer than it waits."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent)])
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"} | environment)


def answer(process):
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error.decode("utf-8", "replace")
    return json.loads(out)


def contents(memory):
    """What a kill may take one piece of: lesson texts and episodes."""
    return {lesson.text for lesson in memory} | {f"episode {name}" for name in memory.receipts}


# -- kill -9 -------------------------------------------------------------------------------------------------------

def write_until_killed(path, number, acknowledge):
    """Add, record, delete and compact for ever; say what has been done after each."""
    memory = VectorMemory(path, Hashed())
    for step in range(10_000):
        name = f"{number}.{step}"
        lesson_id = memory.add(f"spec {name}", name)
        os.write(acknowledge, f"+{name}\n".encode())
        memory.record(name, [lesson_id], "success")
        os.write(acknowledge, f"+episode {name}\n".encode())
        if step % 3 == 1:
            memory.delete(lesson_id)
            os.write(acknowledge, f"-{name}\n".encode())
        if step % 4 == 2:
            memory.compact()
            os.write(acknowledge, b"c\n")


def killed(path, number, acknowledged, seconds):
    """The lines one writer acknowledged before it was killed, some time after it had so many."""
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            write_until_killed(path, number, writer)
        finally:
            os._exit(1)  # only reached by an exception: its missing acknowledgements are noticed
    os.close(writer)
    with open(reader, "rb") as pipe:
        lines = [pipe.readline().decode().rstrip("\n") for _ in range(acknowledged)]
        time.sleep(seconds)
        os.kill(pid, 9)
        status = os.waitpid(pid, 0)[1]
        lines += pipe.read().decode().splitlines()
    assert os.WIFSIGNALED(status), f"the writer failed by itself after {lines}"
    return lines


def kill_many(folder, kills):
    """Kill that many writers one after the other; after each, compare the file with what had been acknowledged."""
    import random
    rng, done, in_flight, compactions, expected, path = random.Random(0), 0, 0, 0, set(), None
    for number in range(kills):
        if number % 20 == 0:  # a new file now and then, so that opening stays quick and creation is killed too
            path, expected = Path(folder, f"{number}.jsonl"), set()
        lines = killed(path, number, rng.randrange(8), rng.uniform(0, 0.02))
        for line in lines:
            (expected.discard if line[0] == "-" else expected.add)(line[1:])
        expected.discard("")
        compactions += lines.count("c")
        done += len(lines)
        found = contents(VectorMemory(path, Hashed()))
        assert len(found ^ expected) <= 1, (number, found ^ expected)
        in_flight += len(found ^ expected)
        expected = found
    return {"kills": kills, "acknowledged": done, "in flight": in_flight, "compactions": compactions}


@posix
def test_two_hundred_kills_lose_at_most_the_record_being_written(tmp_path):
    # The writers are forked by a process of their own: this one has threads, and theirs would be missing.
    outcome = answer(child("import json, sys, test_memory_crash as t; print(json.dumps(t.kill_many(sys.argv[1], "
                           "int(sys.argv[2]))))", tmp_path, KILLS))
    assert outcome["kills"] == KILLS and outcome["acknowledged"] > KILLS and outcome["compactions"] > 0


# -- cut and changed bytes -----------------------------------------------------------------------------------------

@pytest.fixture
def sample(tmp_path, monkeypatch):
    """The bytes of a small memory, and the records they hold."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(memory_store.time, "sleep", lambda seconds: None)
    memory = VectorMemory(tmp_path / "sample.jsonl", Exact())
    memory.add("0.9", "first, é")
    memory.record("e1", [1], "success")
    memory.add("0.8", "second 最大", source="p")
    memory.forget("fifo", 1)
    memory.add("0.7", "third")
    return memory.path.read_bytes()


def reopened(path):
    """The memory, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        memory = VectorMemory(path, Exact())
    assert all(issubclass(warning.category, DamageWarning) for warning in caught)
    return memory, bool(caught)


def test_a_file_cut_at_any_byte_keeps_every_whole_record(tmp_path, sample):
    path, header = tmp_path / "m.jsonl", sample.index(b"\n")
    ends = [place for place, byte in enumerate(sample) if byte == 10]
    for length in range(len(sample) + 1):
        for other in tmp_path.glob("m.jsonl*"):
            other.unlink()
        path.write_bytes(sample[:length])
        if 0 < length < header:
            with pytest.raises(NotAMemory):
                VectorMemory(path, Exact())
            assert path.read_bytes() == sample[:length]
            continue
        memory, warned = reopened(path)
        whole = sum(end <= length for end in ends)  # lines with all their bytes, whether the newline is there or not
        clean = length in (0, *ends) or length - 1 in ends
        assert warned == (not clean) == (memory.damage is not None)
        held = state(memory)
        assert len(held[0]) + len(held[1]) + len(held[2]) == sum(kind <= whole for kind in (2, 3, 4, 6))
        memory.search("query")
        assert path.read_bytes() == sample[:length]
        new = memory.add("0.6", "after")
        again, warned = reopened(path)
        assert not warned and state(again) == state(memory)
        assert [lesson for lesson in again if lesson.id != new] == held[0] and state(again)[1:] == held[1:]
        if not clean:
            torn = sample[max(end for end in ends if end < length) + 1:length]
            assert memory.damage.saved_to.read_bytes() == torn + b"\n"


def test_a_changed_byte_anywhere_is_reported_and_costs_at_most_its_line(tmp_path, sample):
    path = tmp_path / "m.jsonl"
    path.write_bytes(sample)
    lessons, archived, receipts, _ = state(VectorMemory(path, Exact()))
    whole = {lesson.text for lesson in [*lessons, *archived]}
    for place in range(len(sample)):
        changed = bytearray(sample)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        memory, warned = reopened(path)
        left = {lesson.text for lesson in [*memory, *memory.archived]}
        assert warned and left <= whole and memory.receipts.items() <= receipts.items()
        lost = len(whole - left) + len(receipts) - len(memory.receipts)
        assert lost <= (2 if sample[place] == 10 else 1)  # without its newline a line runs into the next
        assert path.read_bytes() == changed


# -- several processes ---------------------------------------------------------------------------------------------

ADD_200 = """
    import sys
    from memory_fakes import Hashed
    from helpers.memory import VectorMemory
    memory = VectorMemory(sys.argv[1], Hashed())
    for number in range(200):
        new = memory.add(f"spec {number}", f"{sys.argv[2]} {number}")
        memory.record(f"{sys.argv[2]} {number}", [new], "success")
    print(len(memory))
"""


def test_two_processes_add_four_hundred_lessons_while_a_third_reads(tmp_path):
    path = tmp_path / "m.jsonl"
    writers = [child(ADD_200, path, name) for name in "ab"]
    reader, sizes = VectorMemory(path, Hashed()), [0]
    while any(writer.poll() is None for writer in writers):
        reader.search("spec 7", 5, None)  # a warning would be an error here: a record in the making is no damage
        lessons = list(reader)
        assert all(lesson.text[0] in "ab" and lesson.text[1:] == lesson.spec[4:] for lesson in lessons)
        sizes.append(len(lessons))
        time.sleep(0.005)
    assert max(answer(writer) for writer in writers) == 400
    assert sizes == sorted(sizes) and len(set(sizes)) > 10
    expected = {f"{name} {number}" for name in "ab" for number in range(200)}
    for memory in (reader, VectorMemory(path, Hashed())):
        assert {lesson.text for lesson in memory} == expected and memory.receipts.keys() == expected
        assert [lesson.id for lesson in memory] == list(range(1, 401))
        assert {lesson.uses for lesson in memory} == {1}


def test_a_process_whose_encoding_is_not_utf8_writes_the_same_bytes(tmp_path):
    code = """
        import locale, sys
        from memory_fakes import Exact
        from helpers.memory import VectorMemory
        memory = VectorMemory(sys.argv[1], Exact())
        memory.add("0.5", "\\u00e9l\\u00e8ve \\u6700\\u5927\\u5024 \\U0001f600", source="\\u00df")
        memory.compact()
        print(len(memory))
    """
    path = tmp_path / "m.jsonl"
    environment = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert answer(child(code, path, **environment)) == 1
    lesson = VectorMemory(path, Exact()).get(1)
    assert (lesson.text, lesson.source) == ("élève 最大値 😀", "ß")
    assert "élève 最大値 😀" in path.read_text(encoding="utf-8")


# -- full disk, no permission --------------------------------------------------------------------------------------

@posix
def test_a_disk_that_fills_up_stops_writing_and_loses_nothing(tmp_path):
    code = """
        import json, os, resource, sys
        from memory_fakes import Hashed, state
        from helpers.memory import JournalError, VectorMemory
        path = sys.argv[1]
        memory = VectorMemory(path, Hashed())
        memory.add("spec", "before")
        room = os.path.getsize(path) + 1500
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))  # files may not grow beyond
        refused = []
        for number in range(20):
            for act in (lambda: memory.add(f"spec {number}", "x" * 50 * (number % 3)  + "y"),
                        lambda: memory.record(str(number), [1], "success")):
                try:
                    act()
                except JournalError as error:
                    refused.append(str(error))
                assert state(memory) == state(VectorMemory(path, Hashed()))
        small = os.path.getsize(path)
        try:
            memory.delete(1)
            memory.compact()
        except JournalError as error:
            refused.append(str(error))
        memory.close()
        print(json.dumps([len(refused), refused[0], len(memory), small <= room]))
    """
    path = tmp_path / "m.jsonl"
    refused, message, count, bounded = answer(child(code, path))
    assert refused > 5 and bounded and "m.jsonl: nothing was added, and the" in message and "File too large" in message
    memory = VectorMemory(path, Hashed())  # no warning: nothing is damaged
    assert len(memory) == count > 2
    assert memory.add("spec", "room again") and len(VectorMemory(path, Hashed())) == count + 1


@posix
def test_without_permission_to_write_a_memory_can_be_searched_and_a_write_is_an_error(tmp_path):
    # root may write anywhere, so the child gives up being root once all is imported
    code = """
        import hashlib, json, os, sys, tempfile
        from memory_fakes import Exact, state
        from helpers.memory import JournalError, VectorMemory
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "m.jsonl")
        memory = VectorMemory(path, Exact())
        memory.add("0.9", "lesson")
        before = open(path, "rb").read()
        for name in os.listdir(folder):
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
        if os.getuid() == 0:
            os.setuid(65534)
        memory = VectorMemory(path, Exact())
        found = [hit.lesson.text for hit in memory.search("query")]
        messages = []
        for act in (lambda: memory.add("0.8", "x"), lambda: memory.record("e", [1], "success"), memory.compact,
                    lambda: memory.delete(1), lambda: memory.forget("lru", 1),
                    lambda: VectorMemory(os.path.join(folder, "new.jsonl"), Exact()).add("0.8", "x")):
            try:
                act()
            except JournalError as error:
                messages.append(str(error))
        memory.close()
        assert state(memory) == state(VectorMemory(path, Exact())) and open(path, "rb").read() == before
        print(json.dumps([folder, found, messages]))
    """
    folder, found, messages = answer(child(code))
    assert found == ["lesson"] and len(messages) == 6
    assert all("jsonl: could not be locked for writing, and nothing was written (Permission" in m for m in messages)
    for path in sorted(Path(folder).iterdir()):
        path.chmod(0o644)
    Path(folder).chmod(0o755)
    for path in Path(folder).iterdir():
        path.unlink()
    Path(folder).rmdir()
