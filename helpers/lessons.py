"""Lessons, and the state of a memory computed from its events: what lives, what is archived, what was counted.

Left out: the file the events stand in (`helpers.journal`), vectors, and the choice of what to forget.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from helpers.memory_format import BadLine

OUTCOMES = ("success", "failure", "infrastructure", "unobserved")


@dataclass(frozen=True)
class Lesson:
    """What was learnt from one problem, with what became of the episodes that retrieved it.

    `spec` is the text that is embedded, `source` the problem it was learnt from, `created` and `last_used` are
    UTC in ISO 8601. `hits_plus` and `hits_minus` sum the weights of successful and of failed episodes; `uses`
    counts episodes, a success, a failure or one whose outcome nobody saw.
    """

    id: int
    spec: str
    text: str
    code: str = ""
    source: str = ""
    family: str = ""
    created: str = ""
    hits_plus: float = 0.0
    hits_minus: float = 0.0
    uses: int = 0
    last_used: str | None = None


@dataclass(frozen=True)
class Receipt:
    """What `record` was told about one episode: the weight of each lesson by id, the outcome, the problem."""

    weights: dict[int, float]
    outcome: str
    problem: str = ""


class Ledger:
    """The fold of a memory's events; applying the last event twice is the same as once.

    >>> ledger = Ledger()
    >>> ledger.apply({"event": "add", "id": 1, "spec": "s", "text": "t", "code": "", "source": "", "family": "",
    ...               "time": "2025-01-01T00:00:00.000Z"})
    >>> ledger.apply({"event": "outcome", "episode": "e1", "ids": [1], "weights": [1.0], "outcome": "success",
    ...               "problem": "", "time": "2025-01-01T00:01:00.000Z"})
    >>> ledger.live[1].hits_plus, ledger.live[1].uses, ledger.next_id
    (1.0, 1, 2)
    """

    def __init__(self, next_id: int = 1) -> None:
        self.live: dict[int, Lesson] = {}
        self.archived: dict[int, Lesson] = {}
        self.receipts: dict[str, Receipt] = {}
        self.outcomes: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
        self.next_id = next_id
        self.touched: dict[int, int] = {}  # id -> number of the event that last added or used it; clocks may jump
        self._events = 0

    def apply(self, event: dict[str, Any]) -> None:
        """Move the state by one event; BadLine, changing nothing, when it is none this version knows."""
        check_event(event)
        self._events += 1
        if event["event"] == "add":
            self._add(event)
        elif event["event"] == "outcome":
            self._count(event)
        elif event["event"] == "delete":
            self.live.pop(event["id"], None)
            self.archived.pop(event["id"], None)
        self.next_id = max(self.next_id, event.get("next_id", 1))
        for lesson_id in event.get("archived", ()):
            if lesson_id in self.live:
                self.archived[lesson_id] = self.live.pop(lesson_id)

    def _add(self, event: dict[str, Any]) -> None:
        known = self.live.get(event["id"]) or self.archived.get(event["id"])
        if known and (known.spec, known.text, known.created) == (event["spec"], event["text"], event["time"]):
            return
        if event["id"] in self.touched:
            raise BadLine(f"id {event['id']} is taken by another lesson")
        fields = {name: event[name] for name in ("spec", "text", "code", "source", "family")}
        self.live[event["id"]] = Lesson(event["id"], created=event["time"], **fields)
        self.touched[event["id"]] = self._events
        self.next_id = max(self.next_id, event["id"] + 1)

    def _count(self, event: dict[str, Any]) -> None:
        weights = dict(zip(event["ids"], event["weights"], strict=True))
        if event["episode"] in self.receipts:
            return
        self.receipts[event["episode"]] = Receipt(weights, event["outcome"], event["problem"])
        self.outcomes[event["outcome"]] += 1
        if event["outcome"] == "infrastructure":  # the model never answered: nothing was used, nothing was shown
            return
        for lesson_id, weight in weights.items():
            for place in (self.live, self.archived):
                if lesson_id in place:
                    place[lesson_id] = _counted(place[lesson_id], event, weight)
                    self.touched[lesson_id] = self._events


def compacted(events: Iterable[dict[str, Any]], kept: Collection[int]) -> Iterator[dict[str, Any]]:
    """The same events in the same order without the lessons that are not in `kept`, the deleted ones.

    Receipts all stay: counters are rebuilt from them, and a repeated episode is still known.

    >>> list(compacted([{"event": "add", "id": 1, "archived": [7], "time": ""}, {"event": "delete", "id": 1}], [7]))
    [{'event': 'archive', 'policy': '', 'archived': [7], 'time': ''}]
    """
    for event in events:
        if event["event"] in ("outcome", "archive") or (event["event"] == "add" and event["id"] in kept):
            yield event
        elif event.get("archived"):
            yield {"event": "archive", "policy": "", "archived": event["archived"], "time": event["time"]}


def own_source(ledger: Ledger) -> list[tuple[str, int]]:
    """(episode, lesson id) of every episode that was given a lesson learnt from its own problem."""
    lessons = ledger.live | ledger.archived
    return [(episode, lesson_id) for episode, receipt in ledger.receipts.items() for lesson_id in receipt.weights
            if receipt.problem and lesson_id in lessons and lessons[lesson_id].source == receipt.problem]


def _counted(lesson: Lesson, event: dict[str, Any], weight: float) -> Lesson:
    won, lost = event["outcome"] == "success", event["outcome"] == "failure"
    return replace(lesson, hits_plus=lesson.hits_plus + weight * won, hits_minus=lesson.hits_minus + weight * lost,
                   uses=lesson.uses + 1, last_used=event["time"])


def check_event(event: dict[str, Any]) -> None:
    """BadLine when a field is missing or of the wrong kind: such an event is set aside like any damaged line.

    >>> check_event({"event": "delete", "id": 3, "time": ""})
    """
    fields = _FIELDS.get(str(event.get("event")))
    if fields is None:
        raise BadLine(f"unknown event {event.get('event')!r}")
    for name, fits in fields.items():
        if not fits(event.get(name)):
            raise BadLine(f"event {event['event']!r}: field {name!r} is missing or of the wrong kind")
    if not _are_ids(event.get("archived", [])):
        raise BadLine(f"event {event['event']!r}: field 'archived' is of the wrong kind")
    if event["event"] == "outcome" and len(event["ids"]) != len(event["weights"]):
        raise BadLine("event 'outcome': expected one weight an id")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2 ** 53


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_id, value))


def _are_weights(value: Any) -> bool:
    return isinstance(value, list) and all(type(w) in (int, float) and 0 <= w < math.inf for w in value)


_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "add": {"id": _is_id, **dict.fromkeys(("spec", "text", "code", "source", "family", "time"), _is_text)},
    "outcome": {"episode": _is_text, "ids": _are_ids, "weights": _are_weights, "outcome": OUTCOMES.__contains__,
                "problem": _is_text, "time": _is_text},
    "archive": {"archived": _are_ids, "policy": _is_text, "time": _is_text},
    "delete": {"id": _is_id, "time": _is_text},
    "compacted": {"next_id": _is_id, "time": _is_text},
}
