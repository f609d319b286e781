"""A memory carried from file to server and back is the memory it was, to the last digit and event."""

import threading

import numpy as np
import pytest
from memory_fakes import Clock, Exact, Hashed, filled, found, state
from pg_fakes import new_name, quick_url

from helpers.embeddings import BagOfWords, MiniLM
from helpers.memory import VectorMemory
from helpers.memory_content import from_file
from helpers.pg_content import from_server
from helpers.pg_memory import PgVectorMemory
from helpers.problems import load_problems
from helpers.transfer import Transfer, TransferError, carry, is_address

pytestmark = pytest.mark.usefixtures("quick_disk")


def lively(memory) -> None:
    """Everything a memory can hold: fractions, archive, gaps, zero vectors, odd texts, receipts of deleted lessons."""
    rng = np.random.default_rng(2)
    for number in range(12):
        memory.add("no digit" if number == 4 else f"0.{number % 5 + 1}", f"text\x00 {number} \x1a", code="é",
                   source=f"p{number % 3}", family="f")
    for number in range(40):
        ids = (rng.choice(12, size=3, replace=False) + 1).tolist()
        memory.record(f"episode {number}", ids, ["success", "failure", "infrastructure", "unobserved"][number % 4],
                      rng.random(3), problem=f"p{number % 3}")
        if number % 10 == 5:
            memory.add("0.7", f"later {number}")
    memory.delete(3)
    memory.forget("lru", 3)
    memory.record("late", [memory.archived[0].id, 1], "success")
    memory.delete(memory.add("0.2", "the last one, deleted"))


def held(path):
    """A file's state and the order in which its lessons were used, which is what `lru` goes by."""
    content = from_file(path)
    ledger = content.ledger
    order = sorted(ledger.live, key=lambda lesson_id: (ledger.touched[lesson_id], lesson_id))
    return content.embedder, ledger.live, ledger.archived, ledger.receipts, ledger.outcomes, content.next_id, order


def test_from_file_to_server_to_file_everything_is_the_same(path, tmp_path):
    with VectorMemory(path, Exact(), clock=Clock()) as memory:
        lively(memory)
    name = new_name()
    told = carry(path, quick_url(), name=name, embedder=Exact())
    assert told == Transfer(len(memory), 3, 41) and str(told) == "12 lessons, 3 archived ones, 41 receipts"
    with PgVectorMemory(quick_url(), Exact(), name=name) as there:
        assert state(there) == state(memory) and there.audit() == memory.audit() != []
        assert there.search("query", 9, None) == memory.search("query", 9, None) != []
        assert there.embedder.calls == [["query"]]  # vectors came with it
    back = tmp_path / "back.jsonl"
    assert carry(quick_url(), back, name=name) == told
    assert held(back) == held(path)
    with VectorMemory(back, Exact()) as again, PgVectorMemory(quick_url(), Exact(), name=name) as there:
        assert state(again) == state(memory) and found(again.search("query", 9, None)) == found(
            memory.search("query", 9, None))
        assert ["query"] in again.embedder.calls and again.notes == []  # so they did here
        assert again.add("0.3", "new") == there.add("0.3", "new") == memory.add("0.3", "new")  # no id is used again
        assert again.forget("lru", 4) == there.forget("lru", 4) == memory.forget("lru", 4)


def test_from_server_to_file_to_server_everything_is_the_same(tmp_path):
    first, second, url = new_name(), new_name(), quick_url()
    with PgVectorMemory(url, Hashed(8), name=first) as memory:
        lively(memory)
    carry(url, tmp_path / "m.jsonl", name=first)
    carry(tmp_path / "m.jsonl", url, name=second, embedder=Hashed(8))
    with PgVectorMemory(url, Hashed(8), name=first) as one, PgVectorMemory(url, Hashed(8), name=second) as two:
        assert state(one) == state(two) and one.search("0.3", 9, None) == two.search("0.3", 9, None) != []
        assert one.forget("lru", 9) == two.forget("lru", 9) and one.add("0.1", "x") == two.add("0.1", "x")
        known = one.receipts["episode 1"]
        assert two.record("episode 1", known.weights, known.outcome, known.weights.values(), problem="p1") is False
    assert [event["event"] for event in from_server(url, second).events][-2:] == ["add", "archive"]


def test_fractions_added_by_many_at_once_are_the_same_sums_in_a_file(tmp_path):
    url, name = quick_url(), new_name()
    handles = [PgVectorMemory(url, Exact(), name=name) for _ in range(6)]
    for _ in range(3):
        handles[0].add("0.5", "text")

    def work(number):
        rng = np.random.default_rng(number)
        for step in range(15):
            handles[number].record(f"{number} {step}", rng.permutation(3) + 1, "success", rng.random(3))
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    carry(url, tmp_path / "m.jsonl", name=name)
    with VectorMemory(tmp_path / "m.jsonl", Exact()) as memory:
        assert state(memory) == state(handles[0]) and len(memory.receipts) == 90
    for handle in handles:
        handle.close()


@pytest.mark.parametrize("embedder", [MiniLM, BagOfWords])
def test_the_embedders_of_the_course_are_known_by_their_fingerprint(path, embedder, monkeypatch):
    texts = [problem.spec for problem in load_problems()[:3]]  # with MiniLM, vectors that need no neural package
    filled(path, *texts, embedder=embedder()).close()
    name = new_name()
    monkeypatch.setenv("DATABASE_URL", quick_url())
    assert carry(path, "", name=name).lessons == 3  # where DATABASE_URL says
    with PgVectorMemory(quick_url(), embedder(), name=name) as there, VectorMemory(path, embedder()) as here:
        assert there.search(texts[1]) == here.search(texts[1]) and found(there.search(texts[1], 1)) == [2]
    filled(path.with_name("other.jsonl"), "0.5").close()
    with pytest.raises(TransferError, match=r"MiniLM\(\) or BagOfWords\(\), got one made with Exact\(\)"):
        carry(path.with_name("other.jsonl"), quick_url(), name=new_name())


def test_what_cannot_be_carried_is_said_and_nothing_is_written(path, tmp_path, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    url, name, other = quick_url(), new_name(), tmp_path / "other.jsonl"
    with pytest.raises(TransferError, match=r"m\.jsonl: expected a memory, got no file"):
        carry(path, url, name=name)
    path.write_bytes(b"")
    with pytest.raises(TransferError, match="got an empty file"):
        carry(path, url, name=name)
    path.write_bytes(b"{}")
    with pytest.raises(TransferError, match=r"m\.jsonl: .*nothing was written"):
        carry(path, url, name=name)
    path.unlink()
    filled(path, "0.5", "0.6").close()
    with pytest.raises(TransferError, match="expected a memory, got nothing of this name"):
        carry(url, other, name=name)
    with pytest.raises(TransferError, match=r"made with, Exact\(\), got Hashed"):
        carry(path, url, name=name, embedder=Hashed())
    with pytest.raises(TransferError, match="name: expected 1 to 63 bytes"):
        carry(path, url, name="public", embedder=Exact())
    carry(path, url, name=name, embedder=Exact())
    with pytest.raises(TransferError, match="expected one that never held a lesson"):
        carry(path, url, name=name, embedder=Exact())
    other.write_bytes(b"mine")
    with pytest.raises(TransferError, match=r"other\.jsonl: expected no file, got one"):
        carry(url, other, name=name)
    assert other.read_bytes() == b"mine"
    with pytest.raises(TransferError, match="DATABASE_URL: expected the address of a server, postgresql://…, got none"):
        carry(path, "")
    monkeypatch.setenv("DATABASE_URL", "ann:secret@host:5432/x")  # without its beginning it would be a file's name
    with pytest.raises(TransferError, match="postgresql://…, got another text") as caught:
        carry(path, "")
    assert "secret" not in str(caught.value)
    with pytest.raises(TransferError, match="Connection refused"):
        carry("postgresql://ann:secret@127.0.0.1:1/x", tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_a_damaged_file_is_repaired_first(path):
    filled(path, "0.5", "0.6").close()
    path.write_bytes(path.read_bytes().replace(b"lesson of 0.6", b"lesson of 0.X"))
    with pytest.raises(TransferError, match=r"m\.jsonl: .*damaged lines: 1; open it with VectorMemory"):
        carry(path, quick_url(), name=new_name(), embedder=Exact())


def test_a_file_is_carried_to_a_file_too(path, tmp_path):
    with VectorMemory(path, Exact()) as memory:
        lively(memory)
    carry(path, tmp_path / "copy.jsonl")
    assert held(tmp_path / "copy.jsonl") == held(path)
    assert is_address("postgres://x/y") and not is_address(path) and not is_address("C:/x")
