"""The state of a memory as the fold of its events."""

import pytest

from helpers.lessons import Ledger, Lesson, check_event, compacted, own_source
from helpers.memory_format import BadLine

TIME = "2025-01-01T00:00:00.000Z"


def add(number, *, time=TIME, **fields):
    texts = {"spec": "s", "text": "t", "code": "", "source": "", "family": ""}
    return {"event": "add", "id": number, "time": time, **texts, **fields}


def outcome(episode, ids, kind="success", problem="", weights=None):
    return {"event": "outcome", "episode": episode, "ids": ids, "weights": weights or [1.0] * len(ids), "outcome": kind,
            "problem": problem, "time": TIME}


def test_events_add_up_by_hand():
    ledger = Ledger()
    for event in (add(1), add(2, source="p"), outcome("e", [1, 2], weights=[0.5, 2]), outcome("f", [2], "failure", "p"),
                  {"event": "archive", "archived": [1], "policy": "lru", "time": TIME}, add(3, archived=[2])):
        ledger.apply(event)
    assert ledger.live == {3: Lesson(3, "s", "t", created=TIME)} and ledger.next_id == 4
    assert ledger.archived == {
        1: Lesson(1, "s", "t", created=TIME, hits_plus=0.5, uses=1, last_used=TIME),
        2: Lesson(2, "s", "t", source="p", created=TIME, hits_plus=2, hits_minus=1, uses=2, last_used=TIME)}
    assert own_source(ledger) == [("f", 2)]
    ledger.apply({"event": "delete", "id": 2, "time": TIME})
    assert list(ledger.archived) == [1] and own_source(ledger) == [] and ledger.outcomes["success"] == 1


@pytest.mark.parametrize("event", [add(1), outcome("e", [1]), {"event": "delete", "id": 1, "time": TIME},
                                   {"event": "archive", "archived": [1], "policy": "", "time": TIME}])
def test_an_event_applied_twice_is_the_same_as_once(event):
    once, twice = Ledger(), Ledger()
    before = [] if event["event"] == "add" else [add(1)]
    for ledger, events in ((once, [*before, event]), (twice, [*before, event, event])):
        for each in events:
            ledger.apply(each)
    assert (once.live, once.archived, once.receipts, once.outcomes, once.next_id) == (
        twice.live, twice.archived, twice.receipts, twice.outcomes, twice.next_id)


def test_an_id_is_taken_once_even_after_its_lesson_was_deleted():
    ledger = Ledger(next_id=10)
    ledger.apply(add(3))
    for other in (add(3, text="another"), add(3, time="later")):
        with pytest.raises(BadLine, match="id 3 is taken by another lesson"):
            ledger.apply(other)
    ledger.apply({"event": "delete", "id": 3, "time": TIME})
    with pytest.raises(BadLine, match="id 3 is taken"):
        ledger.apply(add(3))
    assert ledger.next_id == 10 and ledger.live == {}


@pytest.mark.parametrize(("event", "message"), [
    ({"event": "explode"}, "unknown event 'explode'"), ({}, "unknown event None"),
    ({"event": ["add"]}, "unknown event"),
    (add(-1), "field 'id'"), (add(True), "field 'id'"), (add(2 ** 60), "field 'id'"),
    (add(1, text=None), "field 'text'"),
    (add(1, archived=[True]), "field 'archived'"), (outcome("e", [1], "won"), "field 'outcome'"),
    (outcome("e", [1], weights=[1, 1]), "one weight an id"), (outcome("e", [1], weights=[-1]), "field 'weights'"),
    (outcome("e", [1], ["success"]), "field 'outcome'"),
    ({"event": "delete", "id": "1", "time": ""}, "field 'id'"),
    ({"event": "compacted", "time": ""}, "field 'next_id'")])
def test_an_event_that_is_none_says_what_is_wrong_and_changes_nothing(event, message):
    ledger = Ledger()
    with pytest.raises(BadLine, match=message):
        ledger.apply(event)
    with pytest.raises(BadLine, match=message):
        check_event(event)
    assert (ledger.live, ledger.receipts, ledger.next_id) == ({}, {}, 1)


def test_compaction_drops_deleted_lessons_and_keeps_order_receipts_and_evictions():
    events = [add(1), add(2, archived=[1]), outcome("e", [2]), add(3), {"event": "delete", "id": 2, "time": TIME},
              {"event": "compacted", "next_id": 4, "time": TIME}]
    kept = list(compacted(events, {1, 3}))
    assert kept == [events[0], {"event": "archive", "policy": "", "archived": [1], "time": TIME}, events[2], events[3]]
    before, after = Ledger(), Ledger()
    for ledger, some in ((before, events), (after, kept)):
        for event in some:
            ledger.apply(event)
    assert (before.live, before.archived, before.receipts) == (after.live, after.archived, after.receipts)
