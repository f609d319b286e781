"""VectorMemory and its file; what it promises beyond that is in test_memory_contract, asked of both stores."""

import json
import math
import os

import numpy as np
import pytest
from memory_fakes import Exact, digest, filled
from test_memory_contract import NO_LESSONS, NO_RECEIPTS

from helpers.embeddings import BagOfWords
from helpers.memory import DamageWarning, EpisodeConflict, VectorMemory

pytestmark = pytest.mark.usefixtures("quick_disk")


def test_a_search_writes_nothing_and_moves_no_counter(path):
    memory = filled(path, "0.9", "0.8")
    memory.close()
    before = {name: digest(path.parent / name) for name in os.listdir(path.parent)}
    lessons = list(memory)
    reader = VectorMemory(path, Exact())
    for _ in range(3):
        reader.search("query", rng=np.random.default_rng(0))
        reader.near_duplicates()
        reader.audit()
        assert reader.get(1).id in reader and len(reader) == 2
    reader.close()
    assert {name: digest(path.parent / name) for name in os.listdir(path.parent)} == before
    assert list(reader) == lessons and all(lesson.uses == 0 for lesson in lessons)
    untouched = path.parent / "folder" / "new.jsonl"
    VectorMemory(untouched, Exact()).search("query")
    assert not untouched.parent.exists()


def test_the_words_of_a_lesson_can_be_read_in_the_file(path):
    filled(path, "0.5", "列表中最大的数字").close()
    assert "lesson of 列表中最大的数字" in path.read_text(encoding="utf-8")


def test_what_is_refused_or_known_never_reaches_the_file(path):
    memory = VectorMemory(path, Exact())
    for arguments, error, _ in NO_LESSONS:
        with pytest.raises(error):
            memory.add(*arguments)
    assert not path.exists()
    memory.add("0.9", "text")
    memory.record("known", [1], "success")
    before = digest(path)
    for arguments, error, _ in NO_RECEIPTS:
        with pytest.raises(error):
            memory.record(*arguments)
    with pytest.raises(EpisodeConflict):
        memory.record("known", [1], "failure")
    assert memory.record("known", [1], "success") is False and digest(path) == before


def test_what_was_deleted_leaves_the_disk_at_compaction(path):
    memory = filled(path, "secret words", "open words", embedder=BagOfWords())
    memory.delete(1)
    memory.compact()
    assert b"secret" not in path.read_bytes() and b"open" in path.read_bytes()


def test_ids_are_never_used_again_also_when_the_header_is_damaged(path):
    memory = filled(path, *["0.9"] * 5)
    memory.delete(5)
    memory.compact()
    path.write_bytes(b"X" + path.read_bytes()[1:])  # even without the header, the end of a compaction knows
    with pytest.warns(DamageWarning, match="header"):
        memory = VectorMemory(path, Exact())
    assert memory.add("0.5", "later") > 5


def test_counters_are_the_sum_of_the_receipts_in_the_log(path):
    rng, memory = np.random.default_rng(1), None
    memory = filled(path, *["0.5"] * 6)
    for number in range(80):
        ids = rng.choice(6, size=2, replace=False) + 1
        outcome = rng.choice(["success", "failure", "infrastructure", "unobserved"])
        memory.record(f"e{number}", ids, str(outcome), rng.random(2))
    memory.forget("worth", 2)
    memory.compact()
    counted = {number: [0.0, 0.0, 0] for number in range(1, 7)}
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event.get("event") == "outcome":
            for number, weight in zip(event["ids"], event["weights"], strict=True):
                counted[number][0] += weight * (event["outcome"] == "success")
                counted[number][1] += weight * (event["outcome"] == "failure")
                counted[number][2] += event["outcome"] != "infrastructure"
    lessons = [*memory, *memory.archived]
    assert {lesson.id: [lesson.hits_plus, lesson.hits_minus, lesson.uses] for lesson in lessons} == counted


def test_a_chain_of_similar_lessons_stays_a_list_of_pairs(path):
    class Angles(Exact):
        def embed(self, texts):
            return np.array([[math.cos(float(t)), math.sin(float(t))] for t in texts], np.float32)
    memory = filled(path, "0.0", "0.3", "0.6", "0.9", embedder=Angles())
    assert [pair[:2] for pair in memory.near_duplicates(0.95)] == [(1, 2), (2, 3), (3, 4)]
    assert len(memory) == 4
