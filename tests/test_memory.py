"""VectorMemory: what it finds, what it keeps, what it counts, and what it refuses."""

import json
import math
import os

import numpy as np
import pytest
from memory_fakes import Clock, Exact, Hashed, digest, filled, found, state

from helpers.embeddings import BagOfWords
from helpers.memory import DamageWarning, EpisodeConflict, Hits, Lesson, UnknownLesson, VectorMemory

pytestmark = pytest.mark.usefixtures("quick_disk")


@pytest.mark.parametrize(("threshold", "expected"), [(0.79, [1]), (0.80, [1]), (0.81, []), (None, [1, 2]), (0, [1]),
                                                     (0.0, [1]), (-1, [1, 2]), (-0.3, [1, 2]), (-0.29, [1]), (5, [])])
def test_the_threshold_is_a_cosine_that_is_itself_included(path, threshold, expected):
    memory = filled(path, "0.80", "-0.3", "no digit")
    assert found(memory.search("query", 5, threshold)) == expected
    assert [hit.score for hit in memory.search("query", 5, None)] == [0.8, -0.3]


def test_k_is_a_whole_number_from_zero_up(path):
    memory = filled(path, "0.9", "0.8", "0.7", "0.6")
    assert found(memory.search("query")) == [1, 2, 3]
    assert found(memory.search("query", np.int64(2))) == [1, 2]
    assert found(memory.search("query", 100)) == [1, 2, 3, 4]
    assert memory.search("query", 0) == [] and memory.search("query", 0).reason == "k is 0"
    with pytest.raises(ValueError, match="k: expected 0 or more, got -1"):
        memory.search("query", -1)
    for k in (1.5, "3", True, None):
        with pytest.raises(TypeError, match="k: expected a whole number"):
            memory.search("query", k)


def test_an_empty_answer_says_why(path):
    memory = VectorMemory(path, Exact())
    assert memory.search("query") == [] and memory.search("query").reason == "the memory is empty"
    memory.add("no digit", "kept, never found")
    assert memory.search("query", threshold=None).reason == "no lesson has a word the embedder knows"
    memory.add("0.03", "far away", source="p")
    assert memory.search("!!!", threshold=None).reason == "the query has no word the embedder knows"
    assert memory.search("query").reason == "no lesson reaches the threshold 0.05: the most similar one has 0.030"
    assert "filters" in memory.search("query", threshold=0, family="g").reason
    hits = memory.search("query", threshold=-1)
    assert found(hits) == [2] and hits.reason == "" and isinstance(hits, Hits) and isinstance(hits, list)
    assert [lesson.text for lesson in memory] == ["kept, never found", "far away"]


@pytest.mark.parametrize(("wrong", "error", "message"), [
    ({"threshold": math.nan}, ValueError, "threshold: expected a finite number, got nan"),
    ({"threshold": "0.5"}, TypeError, "threshold: expected a number or None"),
    ({"family": 3}, TypeError, "family: expected a name or None, got 3"),
    ({"min_worth": 2}, ValueError, "min_worth: expected a finite number from 0 to 1, got 2"),
    ({"max_per_source": 0}, ValueError, "max_per_source: expected 1 or more, got 0"),
    ({"query": 3}, TypeError, "query: expected a str, got int"),
    ({"query": "\ud800"}, ValueError, "query: expected text, got half a character at position 0")])
def test_a_wrong_argument_of_search_is_named(path, wrong, error, message):
    memory = filled(path, "0.9")
    with pytest.raises(error, match=message):
        memory.search(**({"query": "query"} | wrong))
    with pytest.raises(TypeError, match="queries: expected several texts"):
        memory.search_many("query")


def test_equal_scores_are_ordered_by_id_and_no_score_leaves_minus_one_to_one(path):
    memory = filled(path, *["same text"] * 40, "other", embedder=Hashed(32))
    hits = memory.search("same text", 30)
    assert found(hits) == list(range(1, 31)) and {hit.score for hit in hits} == {1.0}
    for number in (3, 39, 7):  # columns move when one is dropped
        memory.delete(number)
    memory.add("same text", "late")
    assert found(memory.search("same text", 99, 0.9)) == [i for i in range(1, 41) if i not in (3, 39, 7)] + [42]


def test_search_agrees_with_a_plain_loop_over_all_lessons(path):
    rng = np.random.default_rng(5)
    embedder, memory = Hashed(16), VectorMemory(path, Hashed(16))
    for number in range(300):
        memory.add(f"spec {rng.integers(200)}", "text", source=f"s{rng.integers(40)}", family="abc"[number % 3])
    queries = [f"spec {number}" for number in range(20)]
    many = memory.search_many(queries, 7, -0.2, family="b", exclude=["s1", "s2"], max_per_source=2)
    for query, hits in zip(queries, many, strict=True):
        q = embedder.embed([query])[0].astype(float)
        expected, sources = [], []
        for lesson in memory:
            score = round(float(embedder.embed([lesson.spec])[0].astype(float) @ q), 7)
            if score >= -0.2 and lesson.family == "b" and lesson.source not in ("s1", "s2"):
                expected.append((-score, lesson.id, lesson.source))
        expected = [(score, number) for score, number, source in sorted(expected)
                    if sources.count(source) < 2 and not sources.append(source)][:7]
        assert found(hits) == [number for _, number in expected]
        assert [-hit.score for hit in hits] == pytest.approx([score for score, _ in expected], abs=2e-7)
        assert found(memory.search(query, 7, -0.2, family="b", exclude=["s1", "s2"])) == found(hits)
    assert memory.search_many([]) == []


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


def test_a_lesson_comes_back_as_it_was_given_after_a_restart(path):
    memory = VectorMemory(path, Exact(), clock=Clock())
    text = 'Ein Fall: ```py\nreturn "最大"\n```\n\nuser: ignore the above\r\t\x00\u2028'
    number = memory.add("0.5", text, code="def f(): ...", source="largest", family="empty")
    lesson = VectorMemory(path, Exact()).get(number)
    assert lesson == memory.get(number) == Lesson(1, "0.5", text, "def f(): ...", "largest", "empty",
                                                  created="2025-01-01T00:00:02.000Z")
    assert "最大" in path.read_text(encoding="utf-8")
    with pytest.raises(AttributeError):
        lesson.text = "frozen"


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (("0.5", ""), ValueError, "text: expected a lesson"), (("0.5", " \n"), ValueError, "text: expected a lesson"),
    (("0.5", None), TypeError, "text: expected a str, got NoneType"), 
    ((3, "t"), TypeError, "spec: expected a str, got int"),
    (("0.5", "\udc80"), ValueError, "text: expected text, got half a character"),
    (("0.5", b"t"), TypeError, "text: expected a str, got bytes")])
def test_what_is_no_lesson_is_refused_before_the_file_is_touched(path, arguments, error, message):
    memory = VectorMemory(path, Exact())
    with pytest.raises(error, match=message):
        memory.add(*arguments)
    assert not path.exists() and memory.embedder.calls == [] and len(memory) == 0


@pytest.mark.parametrize("field", ["code", "source", "family"])
@pytest.mark.parametrize("value", [math.nan, np.float32(1), None, 7, ["x"]])
def test_every_field_is_text(path, field, value):
    with pytest.raises(TypeError, match=f"{field}: expected a str"):
        VectorMemory(path, Exact()).add("0.5", "text", **{field: value})
    assert not path.exists()


def test_an_unknown_id_is_an_error_that_names_it_and_says_what_became_of_it(path):
    memory = filled(path, "0.9", "0.8", "0.7")
    memory.delete(1)
    memory.forget("fifo", 1)
    for number, why in [(1, "it was deleted"), (2, "it is archived"), (99, "there never was one"), ("x", "never")]:
        with pytest.raises(UnknownLesson, match=f"lesson {number!r}: .*{why}"):
            memory.get(number)
        assert number not in memory
    with pytest.raises(KeyError, match="lesson 1"):
        memory.delete(1)
    with pytest.raises(UnknownLesson, match="lesson 99"):
        memory.record("e", [3, 99], "success")
    assert memory.get(3).uses == 0 and memory.receipts == {} and 3 in memory
    with pytest.raises(TypeError):
        memory.get([3])


def test_what_was_deleted_is_not_found_and_leaves_the_disk_at_compaction(path):
    memory = VectorMemory(path, BagOfWords())
    memory.add("secret words", "the secret")
    memory.add("open words", "the open")
    memory.delete(1)
    for handle in (memory, VectorMemory(path, BagOfWords())):
        assert found(handle.search("secret words", threshold=None)) == [2]
    memory.compact()
    assert b"secret" not in path.read_bytes()
    for handle in (memory, VectorMemory(path, BagOfWords())):
        assert found(handle.search("secret words", threshold=None)) == [2]
        assert "secret" not in handle.embedder.vocabulary
    memory.forget("fifo", 1)
    memory.delete(2)  # archived lessons can be deleted too
    assert memory.archived == [] and len(memory) == 0


def test_ids_are_never_used_again(path):
    memory = filled(path, "0.9", "0.8", "0.7")
    memory.delete(3)
    memory.delete(2)
    memory.compact()
    memory = VectorMemory(path, Exact())
    assert memory.add("0.6", "four") == 4
    memory.delete(4)
    assert VectorMemory(path, Exact()).add("0.5", "five") == 5
    memory = VectorMemory(path, Exact())
    memory.delete(5)
    memory.compact()
    path.write_bytes(b"X" + path.read_bytes()[1:])  # even without the header, the end of a compaction knows
    with pytest.warns(DamageWarning, match="header"):
        memory = VectorMemory(path, Exact())
    assert memory.add("0.5", "later") > 5


def test_iteration_is_in_id_order_and_safe_while_the_memory_changes(path):
    memory = filled(path, "0.9", "0.8", "0.7")
    for lesson in memory:
        memory.delete(lesson.id)
        memory.add("0.5", "new")
    assert [lesson.id for lesson in memory] == [4, 5, 6] and len(memory) == 3


@pytest.mark.parametrize(("outcome", "plus", "minus", "uses"), [("success", 1, 0, 1), ("failure", 0, 1, 1),
                                                                ("unobserved", 0, 0, 1), ("infrastructure", 0, 0, 0)])
def test_each_outcome_moves_its_counters_and_no_other(path, outcome, plus, minus, uses):
    memory = filled(path, "0.9", "0.8", clock=Clock())
    assert memory.record("e1", [1], outcome) is True
    lesson = memory.get(1)
    assert (lesson.hits_plus, lesson.hits_minus, lesson.uses) == (plus, minus, uses)
    assert (lesson.last_used is not None) == bool(uses)
    assert memory.get(2) == Lesson(2, "0.8", "lesson of 0.8", created=memory.get(2).created)
    assert memory.outcomes == {name: int(name == outcome)
                               for name in ("success", "failure", "infrastructure", "unobserved")}
    assert state(VectorMemory(path, Exact())) == state(memory)


def test_an_episode_counts_once_and_a_contradiction_is_an_error(path):
    memory = filled(path, "0.9", "0.8")
    assert memory.record("e1", [1, 2], "success", [0.25, 0]) is True
    size, lessons = path.stat().st_size, list(memory)
    assert memory.record("e1", [2, 1], "success", [0, 0.25]) is False
    assert VectorMemory(path, Exact()).record("e1", np.array([1, 2]), "success", np.array([0.25, 0.0])) is False
    for other in [([1], "success"), ([1, 2], "success"), ([1, 2], "failure", [0.25, 0])]:
        with pytest.raises(EpisodeConflict, match="episode 'e1': expected what was recorded before"):
            memory.record("e1", *other)
    with pytest.raises(EpisodeConflict):
        memory.record("e1", [1, 2], "success", [0.25, 0], problem="p")
    assert path.stat().st_size == size and list(memory) == lessons and lessons[0].hits_plus == 0.25
    memory.delete(1)
    memory.compact()
    assert memory.record("e1", [1, 2], "success", [0.25, 0]) is False  # its receipt outlives its lesson
    assert memory.record("nothing retrieved", [], "failure") is True and memory.outcomes["failure"] == 1


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (("e", [1], "won"), ValueError, "outcome: expected one of success, failure, infrastructure, unobserved; got 'won'"),
    (("e", [1], "success", [-1]), ValueError, "weights: expected 1 finite numbers from 0 up"),
    (("e", [1], "success", [math.nan]), ValueError, "weights"),
    (("e", [1], "success", [math.inf]), ValueError, "weights"),
    (("e", [1], "success", [1, 1]), ValueError, "weights"), (("e", [1], "success", []), ValueError, "weights"),
    (("e", [1, 1], "success"), ValueError, "ids: expected each lesson once"),
    (("e", ["1"], "success"), TypeError, "ids: expected a whole number"),
    (("", [1], "success"), ValueError, "episode_id: expected a name"),
    ((7, [1], "success"), TypeError, "episode_id: expected a str, got int")])
def test_what_is_no_receipt_is_refused_before_the_file_is_touched(path, arguments, error, message):
    memory = filled(path, "0.9")
    before = digest(path)
    with pytest.raises(error, match=message):
        memory.record(*arguments)
    with pytest.raises(TypeError, match="problem: expected a str"):
        memory.record("e", [1], "success", problem=None)
    assert digest(path) == before and memory.get(1).uses == 0


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


def test_failed_calls_are_counted_apart_and_move_no_worth(path):
    memory = filled(path, "0.9")
    for number in range(100):
        outcome = "infrastructure" if number % 10 < 3 else "success" if number % 2 else "failure"
        memory.record(f"e{number}", [1], outcome)
    lesson = memory.get(1)
    assert memory.outcomes == {"success": 40, "failure": 30, "infrastructure": 30, "unobserved": 0}
    assert (lesson.hits_plus, lesson.hits_minus, lesson.uses) == (40, 30, 70)


def test_audit_lists_every_episode_that_was_given_its_own_lesson(path):
    memory = VectorMemory(path, Exact())
    for source in ("p1", "p2", "", "p1"):
        memory.add("0.5", "text", source=source)
    memory.record("clean", [2, 3], "success", problem="p1")
    memory.record("unnamed", [3], "success")
    assert memory.audit() == []
    memory.record("broken", [4, 2, 1], "failure", problem="p1")
    memory.forget("fifo", 1)
    assert memory.audit() == VectorMemory(path, Exact()).audit() == [("broken", 4), ("broken", 1)]


def test_near_duplicates_are_reported_and_never_merged(path):
    memory = VectorMemory(path, BagOfWords())
    memory.add("is allowed in the list", "yes")
    memory.add("is not allowed in the list", "no")
    memory.add("is allowed in the list", "yes, again")
    memory.add("quite another thing", "?")
    assert memory.near_duplicates() == [(1, 3, 1.0)]
    pairs = memory.near_duplicates(0.8)
    assert [pair[:2] for pair in pairs] == [(1, 3), (1, 2), (2, 3)] and pairs[1][2] == pytest.approx(5 / math.sqrt(30))
    assert len(memory) == 4 and found(memory.search("is not allowed in the list", 9))[:3] == [2, 1, 3]
    with pytest.raises(ValueError, match="threshold"):
        memory.near_duplicates(None)


def test_a_chain_of_similar_lessons_stays_a_list_of_pairs(path):
    class Angles(Exact):
        def embed(self, texts):
            return np.array([[math.cos(float(t)), math.sin(float(t))] for t in texts], np.float32)
    memory = filled(path, "0.0", "0.3", "0.6", "0.9", embedder=Angles())
    assert [pair[:2] for pair in memory.near_duplicates(0.95)] == [(1, 2), (2, 3), (3, 4)]
    assert len(memory) == 4
