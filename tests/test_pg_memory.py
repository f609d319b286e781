"""What only a memory on a server has: its index, its races, its lost connections, its tables."""

import threading
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest
from memory_fakes import Exact, Hashed, found, state
from pg_fakes import new_name, quick_url, server, with_options

from helpers import pg_schema, pg_vectors
from helpers.embeddings import BagOfWords, MiniLM
from helpers.eviction import wilson
from helpers.lesson_vectors import EmbeddingError
from helpers.memory_format import NotAMemory
from helpers.pg_errors import MemoryServerError
from helpers.pg_memory import EmbedderMismatch, EpisodeConflict, PgVectorMemory, UnknownLesson
from helpers.pg_search import Stale
from helpers.problems import load_problems
from helpers.retrieval import Request


@pytest.fixture
def opened():
    """Opens handles on one memory, and closes them."""
    name, handles = new_name(), []

    def open_one(embedder=None, **options) -> PgVectorMemory:
        url, options = options.pop("url", quick_url()), {"name": name} | options
        handles.append(PgVectorMemory(url, embedder or Exact(), **options))
        return handles[-1]
    yield open_one
    for handle in handles:
        handle.close()


def sql(memory: PgVectorMemory, statement: str, *values):
    """Ask the tables of a memory themselves."""
    return memory._session.run(lambda cursor: cursor.execute(statement, values).fetchall())


def at_once(*works: Callable[[], object]) -> list[BaseException]:
    """Run all of them in threads; what they raised."""
    errors, ready = [], threading.Barrier(len(works))

    def run(work):
        ready.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


# -- the index -------------------------------------------------------------------------------------------------------

def test_the_index_is_used_and_gives_what_an_exact_search_gives(opened):
    exact, problems = opened(MiniLM()), load_problems()
    for problem in problems:
        exact.add(problem.spec, problem.instruction, source=problem.id, family=problem.family)
    exact._session.alone("ANALYZE lesson, embedding")  # as the server does by itself after a while: other plans
    indexed = opened(MiniLM(), exact_up_to=0, ef_search=40, url=with_options(
        server().url, "-c enable_seqscan=off -c enable_sort=off"))
    asked = {"exclude": problems[0].id, "family": problems[5].family, "max_per_source": 1}
    for problem in problems[::8]:
        for filters in ({}, asked, {"min_worth": 0.5}):
            assert indexed.search(problem.text, 3, **filters) == exact.search(problem.text, 3, **filters)
    assert indexed.search(problems[3].spec, 200, None) == exact.search(problems[3].spec, 200, None)
    sql(indexed, "SELECT pg_stat_force_next_flush()")
    assert sql(exact, "SELECT idx_scan > 20 FROM pg_stat_user_indexes WHERE indexrelname = 'embedding_nearest' AND "
                        "schemaname = current_schema()") == [(True,)]
    assert sql(indexed, "SELECT current_setting('hnsw.ef_search'), current_setting('hnsw.iterative_scan')") == [
        ("40", "strict_order")]


def test_where_the_index_gives_up_all_lessons_are_looked_at(opened):
    hasty = with_options(server().url, "-c enable_seqscan=off -c hnsw.max_scan_tuples=1")
    memory = opened(Hashed(8), url=hasty, exact_up_to=0, ef_search=5)
    for number in range(200):
        memory.add(f"text {number}", "lesson", source=f"task {number}")
    wanted = {10, 90, 170}
    hits = memory.search("text 3", 3, None, exclude=[f"task {number}" for number in range(200) if number not in wanted])
    assert {hit.lesson.source for hit in hits} == {f"task {number}" for number in wanted}


def test_a_large_memory_that_was_emptied_says_so(opened):
    memory, other = opened(exact_up_to=2), opened()
    for _ in range(4):
        memory.add("0.5", "text")
    assert found(memory.search("query", 1)) == [1] and memory._large
    other.forget("fifo", 4)
    assert memory.search("query").reason == "the memory is empty" and not memory._large
    other.add("no digit", "text")
    assert memory.search("query").reason == "no lesson has a word the embedder knows"
    other.add("0.7", "text")
    assert found(memory.search("query", 1)) == [6] and memory.near_duplicates() == []


def test_a_counter_that_moves_leaves_vectors_and_index_alone(opened):
    memory = opened(Hashed(16))
    for number in range(20):
        memory.add(f"text {number}", "lesson")
    size = "SELECT pg_relation_size('embedding'), pg_relation_size('embedding_nearest')"
    before = sql(memory, size)
    for number in range(200):
        memory.record(f"e{number}", [1 + number % 20, 1 + (number + 7) % 20], "success")
    assert sql(memory, size) == before


def test_vectors_too_wide_for_an_index_are_searched_without(opened):
    class Wide(Exact):
        def embed(self, texts):
            return np.pad(super().embed(texts), ((0, 0), (0, 2098)))
    memory = opened(Wide(), exact_up_to=0)
    memory.add("0.5", "half")
    memory.add("0.9", "near")
    assert found(memory.search("query")) == [2, 1]
    assert sql(memory, "SELECT count(*) FROM pg_indexes WHERE indexname = 'embedding_nearest' AND schemaname = %s",
               memory.name) == [(0,)]


def test_the_server_knows_what_was_shown_bad_as_well_as_wilson_does(opened):
    rng, memory = np.random.default_rng(4), opened(exact_up_to=0)
    counts = [(0, 0), (0, 1), (3, 4), *rng.integers(0, 9, size=(12, 2)).tolist(), *rng.random((6, 2)).tolist()]
    for number, pair in enumerate(counts, 1):
        memory.add("0.5", f"lesson {number}")
        for outcome, weight in zip(("success", "failure"), pair, strict=True):
            memory.record(f"{number} {outcome}", [number], outcome, [weight])
    for limit in sorted({wilson(*pair)[1] for pair in counts}):  # each just passes at its own bound
        expected = [number for number, pair in enumerate(counts, 1) if wilson(*pair)[1] >= limit]
        assert found(memory.search("query", 99, min_worth=limit)) == expected != []


def test_a_search_begins_again_when_all_vectors_are_made_anew_under_it(opened, monkeypatch):
    memory, other = opened(BagOfWords()), opened(BagOfWords())
    memory.add("secret words", "text")
    memory.add("open words", "text")
    memory.delete(1)
    seen, real = [], pg_vectors.SharedVectors.follow

    def follow(self, cursor, now):
        real(self, cursor, now)
        if self is memory._vectors and not seen:
            seen.append(now.generation)
            other.compact()  # now the word "open" has another column
    monkeypatch.setattr(pg_vectors.SharedVectors, "follow", follow)
    assert found(memory.search("open")) == [2] and seen == [0]
    assert list(memory.embedder.vocabulary) == ["open", "words"] and issubclass(Stale, Exception)


# -- races -----------------------------------------------------------------------------------------------------------

def test_a_new_memory_is_made_once_whoever_comes_first(opened):
    handles: list[PgVectorMemory] = []
    assert at_once(*[lambda: handles.append(opened())] * 6) == []
    assert at_once(*[lambda handle=handle: handle.add("0.5", "text") for handle in handles]) == []
    assert len(handles) == 6 and len(handles[0]) == 6
    assert sql(handles[0], "SELECT version, width FROM memory") == [(len(pg_schema.MIGRATIONS), 2)]


def test_agents_that_record_the_same_lessons_in_any_order_neither_lose_nor_block(opened):
    handles = [opened() for _ in range(6)]
    for _ in range(4):
        handles[0].add("0.5", "text")

    def work(number):
        rng = np.random.default_rng(number)
        for step in range(20):
            handles[number].record(f"{number} {step}", rng.permutation(4)[:3] + 1, "success")
            assert handles[number].record(f"shared {step}", [1, 2], "failure") in (True, False)
    assert at_once(*[lambda number=number: work(number) for number in range(6)]) == []
    told = {number: [0, 0] for number in range(1, 5)}
    for receipt in handles[0].receipts.values():
        for number in receipt.weights:
            told[number][receipt.outcome == "failure"] += 1
    assert {one.id: [one.hits_plus, one.hits_minus] for one in handles[0]} == told
    assert handles[0].outcomes["failure"] == 20 and len(handles[0].receipts) == 140


def test_of_one_episode_told_differently_at_once_one_telling_counts(opened):
    handles = [opened() for _ in range(4)]
    handles[0].add("0.5", "text")
    errors = at_once(*[lambda n=n: handles[n].record("e", [1], "success", [float(n)]) for n in range(4)])
    assert [type(error) for error in errors] == [EpisodeConflict] * 3
    assert handles[0].get(1).hits_plus == handles[0].receipts["e"].weights[1]


def test_new_words_met_at_once_get_one_column_each(opened):
    handles = [opened(BagOfWords()) for _ in range(5)]
    assert at_once(*[lambda n=n: [handles[n].add(f"shared w{n} x{step}", "text") for step in range(6)]
                     for n in range(5)]) == []
    words = [word for _, word in sql(handles[0], "SELECT place, word FROM word ORDER BY place")]
    assert len(words) == len(set(words)) == 1 + 5 + 6 and [handle.search("shared w3 x2", 1)[0].score
                                                           for handle in handles] == [1.0] * 5
    assert {tuple(handle.embedder.vocabulary) for handle in handles} == {tuple(words)}


def test_the_capacity_holds_whoever_writes_at_once(opened):
    handles = [opened(capacity=5, policy="lru") for _ in range(4)]
    assert at_once(*[lambda handle=handle: [handle.add("0.5", "text") for _ in range(8)] for handle in handles]) == []
    assert len(handles[0]) == 5 and len(handles[0].archived) == 27
    assert sql(handles[0], "SELECT count(*) FROM embedding") == [(5,)]


def test_two_that_forget_at_once_forget_different_lessons(opened):
    handles, gone = [opened() for _ in range(4)], []
    for _ in range(12):
        handles[0].add("0.5", "text")
    assert at_once(*[lambda handle=handle: gone.extend(handle.forget("fifo", 2)) for handle in handles]) == []
    assert sorted(gone) == list(range(1, 9)) and [one.id for one in handles[0].archived] == sorted(gone)


# -- lost connections ------------------------------------------------------------------------------------------------

@pytest.fixture
def lose_the_answer(monkeypatch):
    """After `armed.append(1)`: the next commit is made, and then the connection is lost before anybody knows."""
    armed, real = [], psycopg.Connection.transaction

    @contextmanager
    def transaction(self, *arguments, **options):
        with real(self, *arguments, **options) as inner:
            yield inner
        if armed:
            armed.pop()
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
    monkeypatch.setattr(psycopg.Connection, "transaction", transaction)
    return armed


@pytest.mark.parametrize("embedder", [Exact, BagOfWords])
def test_what_was_kept_without_an_answer_is_not_done_twice(opened, lose_the_answer, embedder):
    memory = opened(embedder())
    memory.add("0.5", "first")
    lose_the_answer.append(1)
    assert memory.add("0.6", "kept, though the answer was lost") == 2
    lose_the_answer.append(1)
    assert memory.record("e", [1, 2], "success") is True  # it was news, and it counts once
    assert memory.record("e", [1, 2], "success") is False
    assert [lesson.uses for lesson in memory] == [1, 1] and memory.add("0.7", "next") == 3
    assert found(memory.search("0.7", 1)) == ([3] if embedder is BagOfWords else found(memory.search("0.7", 1)))
    lose_the_answer.append(1)
    assert len(memory) == 3


def test_what_cannot_be_told_from_a_repetition_is_said(opened, lose_the_answer):
    memory = opened()
    for _ in range(3):
        memory.add("0.5", "text")
    for act in (lambda: memory.forget("fifo", 1), lambda: memory.delete(2)):
        assert len(memory) > 0  # connected
        lose_the_answer.append(1)
        with pytest.raises(MemoryServerError, match=r"lost while a change was being kept; .*look at the mem") as caught:
            act()
        assert caught.value.kind == "lost"
    assert [one.id for one in memory] == [3] and [one.id for one in memory.archived] == [1]  # once each


def test_a_connection_that_the_server_ended_is_made_anew(opened):
    memory, other = opened(), opened()
    memory.add("0.5", "text")
    held = state(memory)
    for act in (lambda: memory.search("query"), lambda: memory.add("0.6", "more"), lambda: memory.forget("lru", 1),
                lambda: memory.compact(), lambda: state(memory)):
        sql(other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'course memory' "
                   "AND pid <> pg_backend_pid()")
        act()
    assert [one.id for one in memory] == [2] and held[0][0].text == memory.archived[0].text
    memory.close()
    assert len(memory) == 1  # closing gives the connection back; using it takes another


def test_who_gives_way_to_another_tries_again(opened):
    memory, tries = opened(), []

    def work(cursor):
        tries.append(cursor)
        if len(tries) < 3:
            raise psycopg.errors.DeadlockDetected("deadlock detected")
        return "done"
    assert memory._session.run(work) == "done" and len(tries) == 3
    memory._session.patience_s, tries[:] = 0, []
    with pytest.raises(MemoryServerError, match="deadlock detected"):
        memory._session.run(work)


def test_an_error_in_the_middle_keeps_nothing(opened, monkeypatch):
    memory = opened()
    memory.add("0.5", "text")
    held = state(memory)

    def fail(*arguments, **options):
        raise KeyboardInterrupt
    for name, act in [("_count", lambda: memory.record("e", [1], "success")),
                      ("_archive_overflow", lambda: memory.add("0.6", "never")),
                      ("_archive_overflow", lambda: memory.delete(1)), ("_victims", lambda: memory.forget("lru", 1))]:
        with monkeypatch.context() as patch:
            patch.setattr(memory, name, fail)
            with pytest.raises(KeyboardInterrupt):
                act()
        assert state(memory) == held and found(memory.search("query")) == [1]
    with pytest.raises(UnknownLesson):
        memory.record("e", [1, 9], "success")
    assert memory.record("e", [1], "success") is True


# -- tables, names, limits -------------------------------------------------------------------------------------------

def test_names_and_texts_are_never_part_of_a_statement(opened):
    evil = "x\"; DROP SCHEMA public; -- %s {}'"
    memory = opened(name=evil)
    memory.add("0.5", evil, source=evil, family=evil)
    assert found(memory.search("query", family=evil)) == [1] and not memory.search("query", exclude=evil)
    assert memory.record(evil, [1], "success", problem=evil) and memory.audit() == [(evil, 1)]
    assert opened(name=evil).get(1).text == evil and repr(evil) in repr(memory)
    for wrong in ("", "public", "pg_x", "information_schema", "x" * 64, "a\nb", "a\x00b", 3, None):
        with pytest.raises(ValueError, match="name: expected 1 to 63 bytes"):
            opened(name=wrong)


def test_two_memories_of_one_database_know_nothing_of_each_other(opened):
    one, two = opened(), opened(Hashed(4), name=new_name())
    one.add("0.5", "one")
    assert len(two) == 0 and two.search("0.5").reason == "the memory is empty" and two.add("a", "two") == 1
    assert [lesson.text for lesson in one] == ["one"] and one.receipts == two.receipts == {}


def test_limits_are_said_before_anything_is_written(opened, monkeypatch):
    memory = opened(BagOfWords())
    memory.add(" ".join(f"w{number}" for number in range(1500)), "x" * 3_000_000, family="f" * 5000)
    assert memory.search("w3", threshold=0, family="f" * 5000)[0].lesson.text == "x" * 3_000_000
    assert memory.record("é" * 1000, [1], "success") and memory.record("é" * 1000, [1], "success") is False
    with pytest.raises(ValueError, match="episode_id: expected at most 2000 bytes, got 2001"):
        memory.record("x" * 2001, [1], "success")
    monkeypatch.setattr(pg_vectors, "SPARSE_WIDTH", 1501)
    with pytest.raises(EmbeddingError, match="expected a vocabulary of at most 1,501 words"):
        memory.add("two more", "text")
    assert memory.add("one w3", "text") == 2 and len(memory.embedder.vocabulary) == 1501
    for option in ({"exact_up_to": -1}, {"ef_search": 0}):
        with pytest.raises(ValueError, match="expected"):
            opened(**option)


def test_a_growing_embedder_has_to_be_able_to_say_what_it_knows(opened):
    class Mute(Exact):
        def partial_fit(self, texts):
            return self
    with pytest.raises(TypeError, match=r"embedder: expected state\(\) and from_state\(\) beside partial_fit\(\)"):
        opened(Mute())


def test_a_vector_of_another_width_is_refused(opened):
    memory = opened()
    memory.add("0.5", "text")
    memory.embedder.embed = lambda texts: np.ones((len(texts), 3))
    for act in (lambda: memory.add("0.6", "text"), lambda: memory.search("0.6")):
        with pytest.raises(EmbeddingError, match=r"0\.6.*expected 2 numbers as for the lessons before, got 3"):
            act()
    assert len(memory) == 1


def test_an_older_version_is_brought_up_to_date_once_and_a_newer_one_refused(opened, monkeypatch):
    memory = opened()
    memory.add("0.5", "text")
    held = state(memory)
    more = (*pg_schema.MIGRATIONS, "ALTER TABLE lesson ADD COLUMN note text; UPDATE lesson SET note = 'moved'")
    with monkeypatch.context() as patch:
        patch.setattr(pg_schema, "MIGRATIONS", (*more[:-1], more[-1] + "; SELECT 1 / 0"))
        with pytest.raises(MemoryServerError, match="division by zero"):
            opened()
        assert sql(memory, "SELECT version FROM memory") == [(1,)]  # all of it or nothing
        patch.setattr(pg_schema, "MIGRATIONS", more)
        assert at_once(*[lambda: opened().close()] * 4) == []
        assert sql(opened(), "SELECT version, note FROM memory, lesson") == [(2, "moved")] and state(memory) == held
        assert state(opened(name=new_name())) == ([], [], {}, dict.fromkeys(memory.outcomes, 0))
    with pytest.raises(NotAMemory, match=f"memory '{memory.name}': expected version 1 to 1, got 2; open it"):
        opened()


def test_opening_searching_and_asking_write_nothing(opened):
    writer = opened()
    writer.add("0.5", "text")
    url = with_options(quick_url().partition("&options")[0], "-c default_transaction_read_only=on")
    with PgVectorMemory(url, Exact(), name=writer.name) as reader:
        assert found(reader.search("query", rng=np.random.default_rng(0))) == [1] and state(reader) == state(writer)
        assert reader.near_duplicates() == reader.audit() == []
        with pytest.raises(MemoryServerError, match="read-only transaction") as caught:
            reader.add("0.5", "text")
        assert caught.value.kind == "forbidden"


def test_a_handle_left_behind_by_reembed_notices_at_its_next_connection_too(opened):
    old = opened(Hashed(8))
    old.add("words", "text")
    PgVectorMemory.reembed(quick_url(), BagOfWords(), name=old.name).close()
    old.close()
    with pytest.raises(EmbedderMismatch):
        len(old)
    with pytest.raises(NotAMemory, match="got nothing of this name"):
        PgVectorMemory.reembed(quick_url(), BagOfWords(), name=new_name())
    assert Request.of().k == 3
