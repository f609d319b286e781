"""File and memory kept equal: handles, embedders, interrupts, damage, older formats, compaction."""

import json
import os
import threading
import warnings

import numpy as np
import pytest
from memory_fakes import Clock, Exact, Growing, Hashed, digest, filled, found, state

from helpers import durable, lesson_vectors, memory_store
from helpers.lessons import Ledger, check_event, compacted
from helpers.memory import DamageWarning, EmbedderMismatch, JournalError, NotAMemory, VectorMemory
from helpers.memory_format import BadLine, encode

DISK_FULL = OSError(28, "No space left on device")


pytestmark = pytest.mark.usefixtures("quick_disk")


@pytest.mark.parametrize("failure", [RuntimeError("out of memory"), KeyboardInterrupt()])
@pytest.mark.parametrize("kind", [Exact, Growing])
def test_an_interrupted_embedding_leaves_file_and_memory_as_they_were(path, failure, kind):
    words = ["0.9", "0.8"] if kind is Exact else ["a b", "b c"]
    memory = filled(path, *words, embedder=kind())
    memory.search("b")
    before, lessons = digest(path), list(memory)
    memory.embedder.fail = failure
    with pytest.raises(type(failure)):
        memory.add("0.7" if kind is Exact else "d e a", "never stored")
    memory.embedder.fail = None
    assert digest(path) == before and list(memory) == lessons
    assert memory.add(words[0], "later") == 3
    query = "query" if kind is Exact else "a d"  # d is not known: it was never stored
    fresh = VectorMemory(path, kind())
    assert memory.search(query) == fresh.search(query) != []


@pytest.mark.parametrize("kind", [Exact, Growing])
def test_a_full_disk_loses_nothing_and_memory_stays_equal_to_the_file(path, monkeypatch, kind):
    memory = filled(path, "0.9", "0.8", embedder=kind())
    memory.record("e", [1], "success")
    before, held = digest(path), state(memory)

    def full(descriptor):
        raise DISK_FULL
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for act in (lambda: memory.add("0.75", "t"), lambda: memory.record("f", [1], "failure"),
                    lambda: memory.delete(1), lambda: memory.forget("lru", 1), memory.compact):
            with pytest.raises(JournalError, match=r"m\.jsonl: .*intact.*No space left"):
                act()
            assert digest(path) == before and state(memory) == held
            assert state(VectorMemory(path, kind())) == held
    assert memory.add("0.7", "t") == 3 and len(VectorMemory(path, kind())) == 3
    assert found(memory.search("0.7", 1)) == [3]
    if kind is Growing:  # 0.75 was never stored, so it is no word
        assert memory.embedder.vocabulary == {"0.9": 0, "0.8": 1, "0.7": 2}


def test_a_write_interrupted_after_it_reached_the_disk_is_found_again(path, monkeypatch):
    memory = filled(path, "0.9")
    real = memory._ledger.apply

    def interrupt(event):
        real(event)
        raise KeyboardInterrupt
    monkeypatch.setattr(memory._ledger, "apply", interrupt)
    with pytest.raises(KeyboardInterrupt):
        memory.add("0.8", "on disk")
    monkeypatch.undo()
    assert found(memory.search("query")) == [1, 2] and state(memory) == state(VectorMemory(path, Exact()))
    assert memory.add("0.7", "next") == 3


def test_a_second_handle_embeds_nothing_again_after_a_compaction_by_the_first(path):
    one, other = filled(path, "0.9", "0.8"), VectorMemory(path, Exact())
    one.delete(1)
    assert found(other.search("query")) == [2]
    calls = len(other.embedder.calls)
    one.compact()
    other.add("0.1", "after")
    assert found(other.search("query")) == [2, 3]
    assert len(other.embedder.calls) == calls + 2


def test_twenty_threads_on_one_handle_and_on_their_own(path):
    shared, errors = VectorMemory(path, Exact()), []

    def work(number):
        try:
            mine = shared if number % 2 else VectorMemory(path, Exact())
            for step in range(20):
                lesson_id = mine.add("0.5", f"{number} {step}")
                mine.record(f"{number} {step}", [lesson_id], "success")
                mine.search("query")
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    lessons = list(VectorMemory(path, Exact()))
    assert [lesson.id for lesson in lessons] == list(range(1, 401))
    assert {lesson.text for lesson in lessons} == {f"{n} {step}" for n in range(20) for step in range(20)}
    assert {lesson.uses for lesson in lessons} == {1}


def test_an_add_writes_one_line_and_the_cache_only_after_powers_of_two(path, monkeypatch):
    saved, memory, sizes = [], VectorMemory(path, Exact()), []
    real = lesson_vectors.VectorCache.save
    monkeypatch.setattr(lesson_vectors.VectorCache, "save", lambda *a: (saved.append(len(sizes) + 1), real(*a)))
    for _ in range(1100):
        memory.add("0.5", "the same lesson")
        sizes.append(path.stat().st_size)
    assert saved == [65, 129, 257, 513, 1025]
    assert max(np.diff(sizes)) <= min(np.diff(sizes)) + 3  # the id gets longer
    assert len(memory.embedder.calls) == 1100


def damaged(path):
    """A memory of five lessons whose middle one is damaged, and the damaged line."""
    filled(path, "0.9", "0.8", "0.7", "0.6", "0.5")
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"lesson of 0.7", b"lesson of 0.X")
    path.write_bytes(b"\n".join(lines))
    return lines[3] + b"\n"


def test_opening_and_searching_a_damaged_file_writes_nothing(path):
    line = damaged(path)
    before = digest(path)
    with pytest.warns(DamageWarning, match=r"m\.jsonl: \d records were read; damaged lines: 1, left") as caught:
        memory = VectorMemory(path, Exact())
    assert caught[0].filename == __file__
    assert found(memory.search("query", 9)) == [1, 2, 4, 5]
    assert memory.damage.pieces[0].data == line and memory.damage.saved_to is None
    assert digest(path) == before and sorted(os.listdir(path.parent)) == ["m.jsonl", "m.jsonl.lock"]


def test_the_first_write_sets_the_damaged_line_aside_and_keeps_the_rest(path):
    line = damaged(path)
    with pytest.warns(DamageWarning):
        memory = VectorMemory(path, Exact(), clock=Clock())
    new = memory.add("0.4", "new")
    assert new > 5 and found(memory.search("query", 9)) == [1, 2, 4, 5, new]
    assert memory.damage.saved_to.name == "m.jsonl.corrupt-20250101T000001.000Z"
    assert memory.damage.saved_to.read_bytes() == line
    assert any("set aside in" in note for note in memory.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fresh = VectorMemory(path, Exact())
    assert fresh.damage is None and state(fresh) == state(memory)


def test_repair_does_the_same_without_a_write_to_wait_for(path):
    line = damaged(path)
    with pytest.warns(DamageWarning):
        memory = VectorMemory(path, Exact())
    report = memory.repair()
    assert report.saved_to.read_bytes() == line and report.kept == 4 and memory.damage == report
    assert memory.repair() is None and len(VectorMemory(path, Exact())) == 4


def test_an_id_lost_with_a_damaged_line_is_not_given_again(path):
    filled(path, "0.9", "0.8", "0.7")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], lines[2] + b" " + lines[3], b""]))  # two lines became one
    with pytest.warns(DamageWarning):
        memory = VectorMemory(path, Exact())
    assert len(memory) == 1 and memory.add("0.5", "new") > 3


@pytest.mark.filterwarnings("ignore::helpers.memory_format.DamageWarning")
def test_an_event_that_makes_no_sense_is_set_aside_like_a_damaged_line(path):
    filled(path, "0.9", "0.8")
    nonsense = [{"event": "explode"}, {"event": "add", "id": 9}, {"event": "delete", "id": "1", "time": ""},
                {"event": "outcome", "episode": "e", "ids": [1], "weights": [], "outcome": "success", "problem": "",
                 "time": ""}, {"no": "event"}, {"event": "archive", "archived": [True], "policy": "", "time": ""},
                {"event": "add", "id": 1, "spec": "0.5", "text": "again", "code": "", "source": "", "family": "",
                 "time": ""}, {"event": ["add"]}]
    for event in nonsense:
        with pytest.raises(BadLine):
            check_event(event)
            Ledger(0).apply(event)
            raise BadLine("only in its place: an id twice")
    with path.open("ab") as file:
        file.writelines(map(encode, nonsense))
    memory = VectorMemory(path, Exact())
    assert len(memory.damage.pieces) == len(nonsense) and [lesson.id for lesson in memory] == [1, 2]
    memory.repair()
    assert memory.damage.saved_to.read_bytes() == b"".join(map(encode, nonsense))


@pytest.mark.parametrize("content", [b"{}", b"not a memory", b'{"half": '])
def test_unreadable_is_never_taken_for_empty(path, content):
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(NotAMemory, match=r"m\.jsonl: .*nothing was written"):
            VectorMemory(path, Exact()).add("0.5", "text")
    assert path.read_bytes() == content and os.listdir(path.parent) == ["m.jsonl"]
    path.unlink()
    memory = filled(path, "0.9")
    path.write_bytes(content)
    for act in (lambda: memory.add("0.5", "text"), memory.compact, lambda: memory.search("query"), memory.close):
        with pytest.raises(NotAMemory):
            act()
    assert path.read_bytes() == content


def test_zero_bytes_are_a_new_memory_unless_something_was_there_before(path):
    path.write_bytes(b"")
    memory = VectorMemory(path, Exact())
    assert "zero bytes long, a new memory begins here" in memory.notes[0] and memory.add("0.5", "text") == 1
    (path.parent / "m.jsonl.corrupt-20250101T000000.000Z").write_bytes(b"old")
    path.unlink()
    for prepare in (lambda: None, lambda: path.write_bytes(b"")):
        prepare()
        with pytest.warns(DamageWarning, match=r"since m\.jsonl\.corrupt-20250101T000000\.000Z stands") as caught:
            memory = VectorMemory(path, Exact())
        assert len(memory) == 0 and "corrupt" in memory.notes[0]
        assert caught[0].filename == __file__


def test_a_file_deleted_under_an_open_memory_is_not_begun_again_with_one_lesson(path):
    memory = filled(path, "0.9", "0.8")
    content = path.read_bytes()
    path.unlink()
    for act in (lambda: memory.add("0.5", "text"), lambda: memory.search("query"), memory.compact):
        with pytest.raises(JournalError, match="disappeared"):
            act()
    assert not path.exists()
    path.write_bytes(content)
    assert found(memory.search("query")) == [1, 2]


def test_the_list_format_is_read_without_a_write_and_kept_at_the_first_one(path):
    content = json.dumps([{"id": 0, "spec": "0.9", "lesson": "first", "vector": [1.0]},
                          {"id": 5, "spec": "0.8", "lesson": "zweite, é", "vector": []}]).encode()
    path.write_bytes(content)
    memory = VectorMemory(path, Exact())
    assert [(lesson.id, lesson.text) for lesson in memory] == [(0, "first"), (5, "zweite, é")]
    assert found(memory.search("query")) == [0, 5] and path.read_bytes() == content
    assert memory.add("0.7", "new") == 6
    old = [name for name in os.listdir(path.parent) if ".format-0-" in name]
    assert (path.parent / old[0]).read_bytes() == content and old[0] in memory.notes[0]
    fresh = VectorMemory(path, Exact())
    assert state(fresh) == state(memory) and found(fresh.search("query")) == [0, 5, 6]


def test_a_log_without_checksums_is_read_and_rewritten_at_the_first_write(path):
    memory = filled(path, "0.9", "0.8")
    memory.record("e", [1], "success")
    held, lines = state(memory), []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        del record["zlib_crc32"]
        lines.append(json.dumps(record | ({"version": 1} if "version" in record else {})))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    before = path.read_bytes()
    old = VectorMemory(path, Exact())
    assert state(old) == held and path.read_bytes() == before
    with pytest.raises(EmbedderMismatch):
        VectorMemory(path, Hashed())
    old.record("f", [2], "failure")
    assert b'"version": 2' in path.read_bytes() and state(VectorMemory(path, Exact())) == state(old)
    kept = [name for name in os.listdir(path.parent) if ".format-1-" in name]
    assert (path.parent / kept[0]).read_bytes() == before


def test_a_newer_format_is_a_clear_error(path):
    path.write_bytes(encode({"format": "vector-memory", "version": 3, "embedder": "Exact()"}))
    with pytest.raises(NotAMemory, match=r"m\.jsonl: expected format version 1 to 2, got 3; open it with the newer"):
        VectorMemory(path, Exact())


def test_compaction_under_a_windows_reader_fails_cleanly(path, monkeypatch):
    memory = filled(path, "0.9", "0.8")
    memory.delete(1)
    before = digest(path)

    def busy(source, target):
        raise PermissionError(13, "The process cannot access the file")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", busy)
        patch.setattr(durable.time, "sleep", lambda seconds: None)
        with pytest.raises(JournalError, match=r"was not replaced.*close other programs that have it open"):
            memory.compact()
    assert digest(path) == before and found(memory.search("query")) == [2]
    memory.compact()
    assert b"lesson of 0.9" not in path.read_bytes() and found(memory.search("query")) == [2]


def test_compaction_keeps_everything_but_deleted_lessons_and_shrinks_the_file(path):
    memory = filled(path, *["0.5"] * 30, capacity=20, policy="fifo")
    for number in range(11, 30):
        memory.delete(number)
    memory.record("e", [30], "success", problem="p")
    held, size = state(memory), path.stat().st_size
    memory.compact()
    assert path.stat().st_size < size / 2
    assert state(memory) == state(VectorMemory(path, Exact())) == held and len(memory.archived) == 10
    events = [{"event": "compacted", "next_id": 3, "time": ""},
              {"event": "delete", "id": 2, "time": "", "archived": [1]}]
    assert list(compacted(events, {1})) == [{"event": "archive", "policy": "", "archived": [1], "time": ""}]


def test_a_record_that_is_being_written_while_the_file_is_opened_is_no_damage(path, monkeypatch):
    filled(path, "0.9", "0.8")
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    looked = []

    def finish(seconds):
        looked.append(seconds)
        if len(looked) == 3:
            path.write_bytes(content)
    monkeypatch.setattr(memory_store.time, "sleep", finish)
    memory = VectorMemory(path, Exact())  # a warning would be an error
    assert len(memory) == 2 and memory.damage is None and len(looked) == 3
