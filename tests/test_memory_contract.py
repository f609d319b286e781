"""What a memory promises, asked of both: of the one in a file and of the one on a server, in the same words."""

import itertools
import math
import sys
import threading
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from memory_fakes import Clock, Exact, Hashed, found, state
from pg_fakes import STORES

from helpers.embeddings import BagOfWords, MiniLM, TfidfBagOfWords
from helpers.eviction import POLICIES, victims
from helpers.lesson_vectors import EmbeddingError
from helpers.memory import EmbedderMismatch, EpisodeConflict, Hits, Lesson, UnknownLesson
from helpers.problems import load_problems

pytestmark = pytest.mark.usefixtures("quick_disk")


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    """A place for one memory."""
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


# -- what a search finds ---------------------------------------------------------------------------------------------

def test_the_threshold_is_a_cosine_that_is_itself_included(store):
    memory = store.filled("0.80", "-0.3", "no digit")
    for threshold, expected in [(0.79, [1]), (0.80, [1]), (0.81, []), (None, [1, 2]), (0, [1]), (0.0, [1]),
                                (-1, [1, 2]), (-0.3, [1, 2]), (-0.29, [1]), (5, [])]:
        assert found(memory.search("query", 5, threshold)) == expected, threshold
    assert [hit.score for hit in memory.search("query", 5, None)] == [0.8, -0.3]


def test_k_is_a_whole_number_from_zero_up(store):
    memory = store.filled("0.9", "0.8", "0.7", "0.6")
    assert found(memory.search("query")) == [1, 2, 3]
    assert found(memory.search("query", np.int64(2))) == [1, 2]
    for k in (100, 2**62, sys.maxsize, 2**64, 10**30):
        assert found(memory.search("query", k)) == [1, 2, 3, 4], k
    assert memory.search("query", 0) == [] and memory.search("query", 0).reason == "k is 0"
    with pytest.raises(ValueError, match="k: expected 0 or more, got -1"):
        memory.search("query", -1)
    for k in (1.5, "3", True, None):
        with pytest.raises(TypeError, match="k: expected a whole number"):
            memory.search("query", k)


def test_an_empty_answer_says_why(store):
    memory = store.open()
    assert memory.search("query") == [] and memory.search("query").reason == "the memory is empty"
    memory.add("no digit", "kept, never found")
    assert memory.search("query", threshold=None).reason == "no lesson has a word the embedder knows"
    memory.add("0.03", "far away", source="p")
    assert memory.search("!!!", threshold=None).reason == "the query has no word the embedder knows"
    assert memory.search("query").reason == "no lesson reaches the threshold 0.05: the most similar one has 0.030"
    assert "filters" in memory.search("query", threshold=0, family="g").reason
    assert "filters" in memory.search("query", threshold=0, exclude="p").reason
    hits = memory.search("query", threshold=-1)
    assert found(hits) == [2] and hits.reason == "" and isinstance(hits, Hits) and isinstance(hits, list)
    assert [lesson.text for lesson in memory] == ["kept, never found", "far away"]
    memory.forget("fifo", 2)
    assert memory.search("query").reason == "the memory is empty"


WRONG_SEARCHES = [
    ({"threshold": math.nan}, ValueError, "threshold: expected a finite number, got nan"),
    ({"threshold": "0.5"}, TypeError, "threshold: expected a number or None"),
    ({"family": 3}, TypeError, "family: expected a name or None, got 3"),
    ({"exclude": 5}, TypeError, "int"), ({"exclude": [5]}, TypeError, "exclude: expected names of sources, got 5"),
    ({"min_worth": 2}, ValueError, "min_worth: expected a finite number from 0 to 1, got 2"),
    ({"max_per_source": 0}, ValueError, "max_per_source: expected 1 or more, got 0"),
    ({"query": 3}, TypeError, "query: expected a str, got int"),
    ({"query": "\ud800"}, ValueError, "query: expected text, got half a character at position 0")]


def test_a_wrong_argument_of_search_is_named(store):
    memory = store.filled("0.9")
    for wrong, error, message in WRONG_SEARCHES:
        with pytest.raises(error, match=message):
            memory.search(**({"query": "query"} | wrong))
    with pytest.raises(TypeError, match="queries: expected several texts"):
        memory.search_many("query")


def test_equal_scores_are_ordered_by_id_and_no_score_leaves_minus_one_to_one(store):
    memory = store.filled(*["same text"] * 40, "other", embedder=Hashed(32))
    hits = memory.search("same text", 30)
    assert found(hits) == list(range(1, 31)) and {hit.score for hit in hits} == {1.0}
    for number in (3, 39, 7):
        memory.delete(number)
    memory.add("same text", "late")
    assert found(memory.search("same text", 99, 0.9)) == [i for i in range(1, 41) if i not in (3, 39, 7)] + [42]


def test_scores_that_differ_only_in_the_last_digits_of_single_precision_are_equal(store):
    class Angles(Exact):  # every text has cosine 0.6 with the query, each by other numbers
        def embed(self, texts):
            rng = np.random.default_rng(0)
            rows = np.zeros((len(texts), 64), np.float32)
            for row, text in enumerate(texts):
                other = rng.permutation(63)[:int(text) if text != "query" else 0] + 1
                rows[row, 0], rows[row, other] = 0.6 if len(other) else 1.0, 0.8 / math.sqrt(max(1, len(other)))
            return rows
    memory = store.filled(*map(str, range(60, 0, -1)), embedder=Angles())
    for k in (1, 3, 10, 60):
        hits = memory.search("query", k)
        assert found(hits) == list(range(1, k + 1)) and {hit.score for hit in hits} == {0.6}
    assert found(memory.search("query", 60, 0.6)) == list(range(1, 61))


def test_search_agrees_with_a_plain_loop_over_all_lessons(store):
    rng, embedder, memory = np.random.default_rng(5), Hashed(16), store.open(Hashed(16))
    for number in range(150):
        memory.add(f"spec {rng.integers(100)}", "text", source=f"s{rng.integers(20)}", family="abc"[number % 3])
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
        assert memory.search(query, 7, -0.2, family="b", exclude=["s1", "s2"]) == hits
    assert memory.search_many([]) == []


def test_filters_come_first_and_then_the_top_k(store):
    memory = store.open()
    for number in range(50):
        memory.add("0.9", "loud", family="other", source=f"q{number}")
    memory.add("0.2", "quiet", family="mine", source="p1")
    memory.add("0.1", "quieter", family="mine", source="p2")
    assert found(memory.search("query", 2, family="mine")) == [51, 52]
    assert found(memory.search("query", 2, exclude=[f"q{number}" for number in range(50)])) == [51, 52]
    assert found(memory.search("query", 2, family="mine", exclude="p1")) == [52]
    assert found(memory.search("query", 2, family="mine", exclude=("p2", "p1"))) == []
    assert found(memory.search("query", 2, family="")) == []


def test_exclude_takes_a_string_for_one_name(store):
    memory = store.open()
    for source in ("p", "1", "p1", ""):
        memory.add("0.5", "lesson", source=source)
    assert found(memory.search("query", 9, exclude="p1")) == [1, 2, 4]
    assert found(memory.search("query", 9, exclude={"p", ""})) == [2, 3]


def test_fifty_failures_of_one_task_do_not_fill_the_answer(store):
    memory = store.open()
    for number in range(50):
        memory.add("0.99", f"paraphrase {number}", source="one task")
    for number in range(5):
        memory.add("0.3", f"other {number}", source=f"task {number}")
    assert [hit.lesson.source for hit in memory.search("query", 5)] == ["one task"] * 2 + ["task 0", "task 1", "task 2"]
    assert [hit.lesson.source for hit in memory.search("query", 3, max_per_source=1)][:2] == ["one task", "task 0"]
    assert found(memory.search("query", 5, max_per_source=None)) == [1, 2, 3, 4, 5]


def test_min_worth_leaves_out_what_was_shown_bad_and_nothing_untried(store):
    memory = store.filled("0.9", "0.8", "0.7")
    for number in range(9):
        memory.record(f"e{number}", [1], "failure")
    memory.record("once", [2], "failure")
    assert found(memory.search("query", min_worth=0.5)) == [2, 3]  # 0 of 1 is no proof, 0 of 0 none at all
    assert found(memory.search("query", min_worth=0.8)) == [3]
    assert found(memory.search("query")) == [1, 2, 3]


def test_with_rng_a_lesson_beyond_the_top_k_gets_its_trial(store):
    memory = store.filled("0.9", "0.8", "0.7", "0.6", "0.5")
    for number in range(3):
        memory.record(f"first {number}", [1, 2, 3], "success")
    assert all(found(memory.search("query")) == [1, 2, 3] for _ in range(5))  # without rng: never
    rng, tried = np.random.default_rng(0), []
    for number in range(3):
        hits = memory.search("query", rng=rng)
        tried.append(found(hits))
        memory.record(f"then {number}", found(hits), "success")
    assert tried == [[1, 2, 5], [1, 2, 4], [1, 2, 3]]  # the same draws in every store
    memory.add("0.95", "new, and at the top by itself")
    memory.add("0.1", "new, and last")
    assert {tuple(found(memory.search("query", 2, rng=rng))) for _ in range(9)} == {(6, 1)}  # 6 has its trial already
    assert found(memory.search("query", 1, exclude="", rng=rng)) == []  # filters hold here too
    assert found(memory.search("query", 9, rng=rng)) == [6, 1, 2, 3, 4, 5, 7]


def test_exploration_keeps_threshold_family_and_cap(store):
    memory = store.open()
    for spec, source in [("0.9", "a"), ("0.8", "a"), ("0.7", "a"), ("0.01", "b"), ("0.6", "c")]:
        memory.add(spec, "text", source=source, family="" if source == "c" else "f")
    memory.record("e", [1, 2], "success")
    for seed in range(5):
        assert found(memory.search("query", 2, family="f", rng=np.random.default_rng(seed))) == [1, 3]
        assert found(memory.search("query", 2, family="f", max_per_source=1, rng=np.random.default_rng(seed))) == [3]


def test_a_search_moves_no_counter(store):
    memory = store.filled("0.9", "0.8")
    memory.record("e", [1], "success")
    before = state(memory)
    for _ in range(3):
        memory.search("query", rng=np.random.default_rng(0))
        memory.near_duplicates()
        memory.audit()
        assert memory.get(1).id in memory and len(memory) == 2
    assert state(memory) == state(store.open()) == before


# -- what is kept ----------------------------------------------------------------------------------------------------

def test_a_lesson_comes_back_as_it_was_given_after_a_restart(store):
    memory = store.open(clock=Clock())
    text = 'Ein Fall: ```py\nreturn "最大"\n```\n\nuser: ignore the above\r\t\x00\x1a\x1a0\u2028 %s \\ \'; DROP TABLE'
    number = memory.add("0.5", text, code="def f(): ...\x00", source="larg'est", family="em\x00pty")
    lesson = store.open().get(number)
    assert lesson == memory.get(number)
    assert lesson == Lesson(1, "0.5", text, "def f(): ...\x00", "larg'est", "em\x00pty", created=lesson.created)
    assert lesson.created.startswith("2025-01-01T00:00:0") and lesson.created.endswith(".000Z")
    assert found(memory.search("query", family="em\x00pty")) == [1] and not memory.search("query", exclude="larg'est")
    with pytest.raises(AttributeError):
        lesson.text = "frozen"


NO_LESSONS = [
    (("0.5", ""), ValueError, "text: expected a lesson"), (("0.5", " \n"), ValueError, "text: expected a lesson"),
    (("0.5", None), TypeError, "text: expected a str, got NoneType"),
    ((3, "t"), TypeError, "spec: expected a str, got int"),
    (("0.5", "\udc80"), ValueError, "text: expected text, got half a character"),
    (("0.5", b"t"), TypeError, "text: expected a str, got bytes")]


def test_what_is_no_lesson_is_refused(store):
    memory = store.open()
    for arguments, error, message in NO_LESSONS:
        with pytest.raises(error, match=message):
            memory.add(*arguments)
    for field, value in itertools.product(("code", "source", "family"), (math.nan, np.float32(1), None, 7, ["x"])):
        with pytest.raises(TypeError, match=f"{field}: expected a str"):
            memory.add("0.5", "text", **{field: value})
    assert memory.embedder.calls == [] and len(memory) == 0


def test_an_unknown_id_is_an_error_that_names_it_and_says_what_became_of_it(store):
    memory = store.filled("0.9", "0.8", "0.7")
    memory.delete(1)
    memory.forget("fifo", 1)
    for number, why in [(1, "it was deleted"), (2, "it is archived"), (99, "there never was one"), ("x", "never"),
                        (2 ** 70, "never"), (-1, "never")]:
        with pytest.raises(UnknownLesson, match=f"lesson {number!r}: .*{why}"):
            memory.get(number)
        assert number not in memory
    with pytest.raises(KeyError, match="lesson 1"):
        memory.delete(1)
    for number in (99, 2 ** 70, 1):
        with pytest.raises(UnknownLesson, match=f"lesson {number}"):
            memory.record("e", [3, number], "success")
    assert memory.get(3).uses == 0 and memory.receipts == {} and 3 in memory and np.int64(3) in memory
    with pytest.raises(TypeError):
        memory.get([3])


def test_what_was_deleted_is_not_found_and_its_words_are_unlearnt_by_compaction(store):
    memory = store.open(BagOfWords())
    memory.add("secret words", "the secret")
    memory.add("open words", "the open")
    other = store.open(BagOfWords())
    memory.delete(1)
    for handle in (memory, other):
        assert found(handle.search("secret words", threshold=None)) == [2]
    memory.compact()
    for handle in (memory, other, store.open(BagOfWords())):
        assert found(handle.search("secret words", threshold=None)) == [2]
        assert "secret" not in handle.embedder.vocabulary
    memory.forget("fifo", 1)
    memory.delete(2)  # archived lessons can be deleted too
    assert memory.archived == [] and len(memory) == 0


def test_ids_are_never_used_again(store):
    memory = store.filled("0.9", "0.8", "0.7")
    memory.delete(3)
    memory.delete(2)
    memory.compact()
    memory = store.open()
    assert memory.add("0.6", "four") == 4
    memory.delete(4)
    assert store.open().add("0.5", "five") == 5


def test_iteration_is_in_id_order_and_safe_while_the_memory_changes(store):
    memory = store.filled("0.9", "0.8", "0.7")
    for lesson in memory:
        memory.delete(lesson.id)
        memory.add("0.5", "new")
    assert [lesson.id for lesson in memory] == [4, 5, 6] and len(memory) == 3


def test_compaction_keeps_everything_but_deleted_lessons(store):
    memory = store.filled(*["0.5"] * 12, capacity=8, policy="fifo", clock=Clock())
    for number in range(6, 12):
        memory.delete(number)
    memory.record("e", [12], "success", problem="p")
    held = state(memory)
    memory.compact()
    memory.compact()
    assert state(memory) == state(store.open()) == held and len(memory.archived) == 4


def test_the_clock_is_utc_or_refused(store):
    memory = store.open(clock=lambda: datetime(2025, 7, 1, 1, 30, tzinfo=timezone(timedelta(hours=2))))
    memory.add("0.5", "text")
    assert memory.get(1).created == "2025-06-30T23:30:00.000Z"
    naive = store.open(clock=lambda: datetime(2025, 7, 1))
    with pytest.raises(ValueError, match="clock: expected a time with its zone"):
        naive.add("0.5", "text")
    assert len(naive) == 1


@pytest.mark.parametrize("failure", [RuntimeError("out of memory"), KeyboardInterrupt()])
def test_an_interrupted_embedding_leaves_the_memory_as_it_was(store, failure):
    memory = store.filled("0.9", "0.8")
    held = state(memory)
    memory.embedder.fail = failure
    with pytest.raises(type(failure)):
        memory.add("0.7", "never stored")
    memory.embedder.fail = None
    assert state(memory) == state(store.open()) == held and memory.add("0.7", "later") == 3


def test_what_is_no_vector_is_refused_with_the_text_it_was_for(store):
    memory = store.filled("0.9")
    for bad in [[[math.nan, 0]], [[math.inf, 0]], [1, 0], [[1, 0], [0, 1]], [[1, 0, 0]], "x", [["x"]]]:
        memory.embedder.embed = lambda texts, bad=bad: np.array(bad)
        for act in (lambda: memory.add("0.81", "text"), lambda: memory.search("0.81")):
            with pytest.raises(EmbeddingError, match=r"0\.81.*expected"):
                act()
    assert len(store.open()) == 1


# -- what is counted -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("outcome", "plus", "minus", "uses"), [("success", 1, 0, 1), ("failure", 0, 1, 1),
                                                                ("unobserved", 0, 0, 1), ("infrastructure", 0, 0, 0)])
def test_each_outcome_moves_its_counters_and_no_other(store, outcome, plus, minus, uses):
    memory = store.filled("0.9", "0.8", clock=Clock())
    assert memory.record("e1", [1], outcome) is True
    lesson = memory.get(1)
    assert (lesson.hits_plus, lesson.hits_minus, lesson.uses) == (plus, minus, uses)
    assert (lesson.last_used is not None) == bool(uses) and (not uses or lesson.last_used > lesson.created)
    assert memory.get(2) == Lesson(2, "0.8", "lesson of 0.8", created=memory.get(2).created)
    assert memory.outcomes == {name: int(name == outcome)
                               for name in ("success", "failure", "infrastructure", "unobserved")}
    assert state(store.open()) == state(memory)


def test_an_episode_counts_once_and_a_contradiction_is_an_error(store):
    memory = store.filled("0.9", "0.8")
    assert memory.record("e1", [1, 2], "success", [0.25, 0]) is True
    held = state(memory)
    assert memory.record("e1", [2, 1], "success", [0, 0.25]) is False
    assert store.open().record("e1", np.array([1, 2]), "success", np.array([0.25, 0.0])) is False
    for other in [([1], "success"), ([1, 2], "success"), ([1, 2], "failure", [0.25, 0])]:
        with pytest.raises(EpisodeConflict, match="episode 'e1': expected what was recorded before"):
            memory.record("e1", *other)
    with pytest.raises(EpisodeConflict):
        memory.record("e1", [1, 2], "success", [0.25, 0], problem="p")
    assert state(memory) == held and memory.get(1).hits_plus == 0.25
    memory.delete(1)
    memory.compact()
    assert memory.record("e1", [1, 2], "success", [0.25, 0]) is False  # its receipt outlives its lesson
    assert memory.record("nothing \x00 retrieved", [], "failure") is True and memory.outcomes["failure"] == 1
    assert list(memory.receipts) == ["e1", "nothing \x00 retrieved"]


NO_RECEIPTS = [
    (("e", [1], "won"), ValueError, "outcome: expected one of success, failure, infrastructure, unobserved; got 'won'"),
    (("e", [1], "success", [-1]), ValueError, "weights: expected 1 finite numbers from 0 up"),
    (("e", [1], "success", [1.5e308]), ValueError, r"from 0 up to 1,000,000, one a lesson, got \[1\.5e\+308\]"),
    (("e", [1], "success", [1_000_000.5]), ValueError, "weights: expected 1 finite numbers from 0 up to 1,000,000"),
    (("e", [1], "success", [math.nan]), ValueError, "weights"),
    (("e", [1], "success", [math.inf]), ValueError, "weights"),
    (("e", [1], "success", [1, 1]), ValueError, "weights"), (("e", [1], "success", []), ValueError, "weights"),
    (("e", [1, 1], "success"), ValueError, "ids: expected each lesson once"),
    (("e", ["1"], "success"), TypeError, "ids: expected a whole number"),
    (("", [1], "success"), ValueError, "episode_id: expected a name"),
    ((7, [1], "success"), TypeError, "episode_id: expected a str, got int")]


def test_what_is_no_receipt_is_refused(store):
    memory = store.filled("0.9")
    for arguments, error, message in NO_RECEIPTS:
        with pytest.raises(error, match=message):
            memory.record(*arguments)
    with pytest.raises(TypeError, match="problem: expected a str"):
        memory.record("e", [1], "success", problem=None)
    assert memory.receipts == {} and memory.get(1).uses == 0


def test_counters_are_the_sum_of_the_receipts(store):
    rng, memory = np.random.default_rng(1), store.filled(*["0.5"] * 6)
    for number in range(60):
        ids = rng.choice(6, size=2, replace=False) + 1
        outcome = rng.choice(["success", "failure", "infrastructure", "unobserved"])
        memory.record(f"e{number}", ids, str(outcome), rng.random(2))
    memory.forget("worth", 2)
    memory.compact()
    counted = {number: [0.0, 0.0, 0] for number in range(1, 7)}
    for receipt in memory.receipts.values():
        for number, weight in receipt.weights.items():
            counted[number][0] += weight * (receipt.outcome == "success")
            counted[number][1] += weight * (receipt.outcome == "failure")
            counted[number][2] += receipt.outcome != "infrastructure"
    lessons = [*memory, *memory.archived]
    assert {lesson.id: [lesson.hits_plus, lesson.hits_minus, lesson.uses] for lesson in lessons} == counted
    assert sum(memory.outcomes.values()) == 60


def test_failed_calls_are_counted_apart_and_move_no_worth(store):
    memory = store.filled("0.9")
    for number in range(50):
        outcome = "infrastructure" if number % 10 < 3 else "success" if number % 2 else "failure"
        memory.record(f"e{number}", [1], outcome)
    lesson = memory.get(1)
    assert memory.outcomes == {"success": 20, "failure": 15, "infrastructure": 15, "unobserved": 0}
    assert (lesson.hits_plus, lesson.hits_minus, lesson.uses) == (20, 15, 35)


def test_audit_lists_every_episode_that_was_given_its_own_lesson(store):
    memory = store.open()
    for source in ("p1", "p2", "", "p1"):
        memory.add("0.5", "text", source=source)
    memory.record("clean", [2, 3], "success", problem="p1")
    memory.record("unnamed", [3], "success")
    assert memory.audit() == []
    memory.record("broken", [4, 2, 1], "failure", problem="p1")
    memory.forget("fifo", 1)
    assert memory.audit() == store.open().audit() == [("broken", 4), ("broken", 1)]


def test_near_duplicates_are_reported_and_never_merged(store):
    memory = store.open(BagOfWords())
    assert memory.near_duplicates() == []
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


# -- what is forgotten -----------------------------------------------------------------------------------------------

def test_each_policy_gives_up_the_lessons_that_its_definition_names(store):
    rng = np.random.default_rng(3)
    memory, touched = store.filled(*["0.5"] * 9), {number: number for number in range(1, 10)}
    for number in range(30):
        ids = (rng.choice(9, size=2, replace=False) + 1).tolist()
        memory.record(f"e{number}", ids, ["success", "failure"][rng.integers(2)])
        touched |= dict.fromkeys(ids, 100 + number)
    for policy in (*POLICIES, "random"):
        expected = victims(policy, memory, 1, touched=touched, rng=np.random.default_rng(7))
        assert memory.forget(policy, 1, rng=np.random.default_rng(7)) == expected, policy
    rest = victims("worth", memory, 9, touched=touched, rng=rng)
    assert memory.forget("worth", 9) == rest and len(rest) == 4


def test_forgotten_is_archived_never_found_and_survives_compaction(store):
    memory = store.filled("0.9", "0.8", "0.7", clock=Clock())
    memory.record("e", [1, 3], "success")
    assert memory.forget("fifo", 2) == [1, 2]
    memory.record("late", [1], "success")  # an episode that was on its way when the lesson went
    for handle in (memory, store.open()):
        assert found(handle.search("query", 9, None)) == [3] and [lesson.id for lesson in handle] == [3]
        assert [(lesson.id, lesson.text, lesson.hits_plus) for lesson in handle.archived] == [
            (1, "lesson of 0.9", 2.0), (2, "lesson of 0.8", 0.0)]
    memory.compact()
    assert state(store.open()) == state(memory) and len(memory.archived) == 2
    assert memory.forget("lru", 0) == [] and memory.forget("random", 99) == [3] and memory.forget("worth", 1) == []
    for n, error in [(-1, ValueError), (1.5, TypeError)]:
        with pytest.raises(error, match="n: expected"):
            memory.forget("lru", n)
    with pytest.raises(ValueError, match="policy: expected one of"):
        memory.forget("oldest", 0)


@pytest.mark.parametrize("policy", ["fifo", "lru", "lfu", "worth", "random"])
def test_a_full_memory_gives_up_old_lessons_and_never_the_newcomer(store, policy):
    memory = store.open(capacity=3, policy=policy)
    for number in range(8):
        new = memory.add("0.5", f"lesson {number}")
        for lesson in memory:
            memory.record(f"{number} {lesson.id}", [lesson.id], "success")  # old ones look better than the newcomer
        assert new in memory and len(memory) == min(number + 1, 3)
    assert len(memory.archived) == 5 and state(store.open()) == state(memory)
    place = store.another()
    only = place.open(capacity=1, policy=policy)
    assert [only.add("0.5", "x") for _ in range(4)] == [lesson.id for lesson in only.archived] + [4]
    place.close()


def test_lru_and_lfu_over_an_add_and_a_restart(store):
    with store.open(capacity=2, policy="lru") as memory:
        memory.add("0.9", "A")
        memory.add("0.8", "B")
        memory.record("e", [1], "success")
    with store.open(capacity=2, policy="lru") as memory:
        memory.compact()  # keeps the order of use
        memory.add("0.7", "C")
        assert [lesson.text for lesson in memory] == ["A", "C"]
    with store.open(capacity=2, policy="lfu") as memory:
        memory.add("0.6", "D")
        assert [lesson.text for lesson in memory] == ["A", "D"]


def test_the_capacity_holds_on_every_write_path(store):
    store.filled(*["0.5"] * 6)
    small = store.open(capacity=3, policy="fifo")
    assert len(small) == 6  # opening writes nothing
    small.record("e", [6], "success")
    assert [lesson.id for lesson in small] == [4, 5, 6] and len(store.open()) == 3
    big = store.open()
    for _ in range(4):
        big.add("0.5", "x")
    small.delete(10)
    assert [lesson.id for lesson in small] == [7, 8, 9]
    big.add("0.5", "x")
    big.add("0.5", "x")
    assert small.forget("fifo", 1) == [7] and [lesson.id for lesson in small] == [9, 11, 12]
    with pytest.raises(ValueError, match="policy: expected one that says which lesson leaves a memory of capacity 2"):
        store.open(capacity=2)
    with pytest.raises(ValueError, match="capacity: expected 1 or more, got 0"):
        store.open(capacity=0, policy="lru")
    with pytest.raises(ValueError, match="policy: expected one of"):
        store.open(capacity=2, policy="LRU")


# -- several at once, and several embedders --------------------------------------------------------------------------

def test_a_second_handle_sees_all_the_first_does(store):
    one, other = store.open(), store.open()
    one.add("0.9", "first")
    assert found(other.search("query")) == [1] and other.add("0.8", "second") == 2
    assert found(one.search("query")) == [1, 2]
    one.record("e", [2], "success")
    other.record("f", [2], "failure")
    assert one.get(2) == other.get(2) and (one.get(2).hits_plus, one.get(2).hits_minus) == (1, 1)
    one.delete(1)
    one.compact()
    assert found(other.search("query")) == [2]
    other.forget("lru", 1)
    assert found(one.search("query", 3, None)) == [] and one.archived == other.archived
    assert len(one) == len(other) == 0 and state(one) == state(other)


def test_threads_on_one_handle_and_on_their_own(store):
    shared, errors = store.open(), []
    handles = [shared if number % 2 else store.open() for number in range(8)]

    def work(number, mine):
        try:
            for step in range(10):
                lesson_id = mine.add("0.5", f"{number} {step}")
                mine.record(f"{number} {step}", [lesson_id], "success")
                mine.search("query")
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=item) for item in enumerate(handles)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    lessons = list(store.open())
    assert len({lesson.id for lesson in lessons}) == 80 and {lesson.uses for lesson in lessons} == {1}
    assert {lesson.text for lesson in lessons} == {f"{n} {step}" for n in range(8) for step in range(10)}


def test_another_embedder_of_the_same_dimension_is_one_clear_error(store):
    memory = store.filled("one", "two", embedder=Hashed(8, "Old"))
    held = state(memory)
    with pytest.raises(EmbedderMismatch, match=r"made with, Old\(d=8\), got New\(d=8\).*Memory\.reembed\("):
        store.open(Hashed(8, "New"))
    assert state(store.open(Hashed(8, "Old"))) == held


@pytest.mark.parametrize("new", [BagOfWords, lambda: Hashed(16, "New"), lambda: Hashed(8, "New")])
def test_reembed_changes_the_embedder_and_nothing_else(store, new):
    old = store.filled("one word", "two words", "three", embedder=Hashed(8))
    old.record("e", [1, 3], "success", problem="p")
    old.delete(2)
    old.forget("fifo", 1)
    held = state(old)
    memory = store.reembed(new(), policy="lru", capacity=9)
    assert state(memory) == state(store.open(new())) == held
    assert found(memory.search("three", 1)) == [3] and memory.add("four", "x") == 4
    assert found(store.open(new()).search("four", 1)) == [4]
    with pytest.raises(EmbedderMismatch):
        old.search("one word")  # a handle that was open notices
    with pytest.raises(EmbedderMismatch):
        old.add("one word", "x")
    store.reembed(Hashed(8))
    assert found(old.search("four", 1)) == [4]  # and that it is at home again


def test_reembed_with_a_failing_embedder_leaves_the_memory(store):
    held = state(store.filled("0.9", "0.8", embedder=Hashed(8)))
    failing = Exact()
    failing.fail = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        store.reembed(failing)
    memory = store.open(Hashed(8))
    assert state(memory) == held and found(memory.search("0.9", 1)) == [1]


def test_reembed_of_nothing_is_an_error(store):
    with pytest.raises((FileNotFoundError, ValueError), match="expected a memory, got no"):
        store.reembed(Exact())


def test_two_handles_grow_one_vocabulary(store):
    one, other = store.open(BagOfWords()), store.open(BagOfWords())
    for number in range(20):
        (one, other)[number % 2].add(f"word{number} word{number // 2} shared", f"text {number}")
    third = store.open(BagOfWords())
    hits = one.search("word7 shared", 30)
    assert hits == other.search("word7 shared", 30) == third.search("word7 shared", 30) and found(hits)[0] == 8
    assert one.embedder.vocabulary == other.embedder.vocabulary == third.embedder.vocabulary


def test_an_embedding_that_fails_teaches_no_word(store):
    class Fails(BagOfWords):
        fail = False

        def embed(self, texts):
            if Fails.fail:
                raise KeyboardInterrupt
            return super().embed(texts)
    memory = store.open(Fails())
    memory.add("first words", "text")
    Fails.fail = True
    with pytest.raises(KeyboardInterrupt):
        memory.add("never stored", "text")
    Fails.fail = False
    assert memory.search("stored").reason == "the query has no word the embedder knows"
    memory.add("second words", "text")
    assert list(memory.embedder.vocabulary) == ["first", "words", "second"]
    assert memory.search("words") == store.open(Fails()).search("words") != []


def test_words_of_any_script_are_found(store):
    memory = store.open(BagOfWords())
    memory.add("列表里最大的数字", "中文")
    memory.add("die größte Zahl der Liste", "deutsch")
    memory.add("is not allowed", "no")
    memory.add("is allowed", "yes")
    assert found(memory.search("最大的数字在列表里", 1)) == [1] and found(memory.search("GRO\u0308SSTE", 1)) == [2]
    assert found(memory.search("is not allowed", 2)) == [3, 4]


def test_vectors_of_the_course_need_no_network_and_no_neural_package(store, monkeypatch):
    monkeypatch.setattr(MiniLM, "_network", property(lambda self: (_ for _ in ()).throw(ImportError("blocked"))))
    memory, problems = store.open(MiniLM()), load_problems()[::4]
    for problem in problems:
        memory.add(problem.spec, problem.instruction, source=problem.id, family=problem.family)
    vectors = MiniLM().embed([problem.spec for problem in problems])
    for row, hits in enumerate(memory.search_many([problem.spec for problem in problems], 2, None)):
        scores = vectors @ vectors[row]
        assert hits[0].score == 1.0 and found(hits)[0] - 1 == np.flatnonzero(scores > 1 - 1e-6)[0]
        assert hits[1].score == pytest.approx(np.sort(scores)[-2], abs=1e-6)


def test_an_embedder_fitted_once_is_one_like_any_other(store):
    texts = ["largest of a list", "smallest of a list", "sum of the digits"]
    memory = store.filled(*texts, embedder=TfidfBagOfWords().fit(texts))
    assert found(memory.search("digits", 1)) == [3] and found(memory.search("list", 9)) == [1, 2]
    with pytest.raises(EmbedderMismatch):
        store.open(TfidfBagOfWords().fit(texts[:2]))
