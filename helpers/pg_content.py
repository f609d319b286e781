"""A memory's content taken out of a server's tables, and put into them: one transaction each.

Left out: files (`helpers.memory_content`). Many rows travel at once, by COPY, and the index is built at the end.
"""

from typing import Any

import psycopg
from pgvector.psycopg import register_vector

from helpers import pg_schema
from helpers.lessons import Ledger, Lesson
from helpers.memory_content import Content, TransferError
from helpers.memory_store import EmbedderMismatch
from helpers.pg_errors import Address
from helpers.pg_rows import LESSON, RECEIPT, array_of, lesson_of, receipt_of, row_of, stored
from helpers.pg_session import Session
from helpers.pg_store import PgLessonStore
from helpers.unit_vectors import Embedder


def from_server(url: str, name: str = "lessons") -> Content:
    """All of a memory, as it was at one moment; NotAMemory when there is none. No embedder is needed."""
    address = Address(url)

    def prepare(connection: psycopg.Connection) -> None:
        pg_schema.enter(connection, name, address, embedder=None)
        register_vector(connection)
    session = Session(address, prepare)
    try:
        return session.run(_content)
    finally:
        session.close()


def to_server(content: Content, url: str, name: str, embedder: Embedder) -> None:
    """Fill the memory `name`; TransferError when it holds or held anything, EmbedderMismatch for another embedder."""
    if content.embedder != embedder.fingerprint:
        raise EmbedderMismatch(f"expected the embedder the memory was made with, {content.embedder}, got "
                               f"{embedder.fingerprint}; give that one")
    with _Target(url, embedder, name=name) as target:
        target.fill(content)


class _Target(PgLessonStore):
    def fill(self, content: Content) -> None:
        """Put everything into tables that are empty, all of it or nothing."""
        ledger = content.ledger
        specs = [(event["id"], event["spec"], event["id"] in ledger.archived) for event in content.events
                 if event["event"] == "add"]
        done = dict(content.vectors)
        if not self._vectors.grows:
            self._embed_missing(specs, done)

        def work(cursor: psycopg.Cursor) -> int:
            now = self._about(cursor)
            used, = cursor.execute("SELECT is_called OR EXISTS (SELECT FROM receipt) FROM lesson_id_seq").fetchone()
            if used:
                raise TransferError(f"{self._address}, memory {self.name!r}: expected one that never held a lesson, "
                                    "got one that did; nothing was written; give another name")
            self._vectors.follow(cursor, now)
            self._vectors.learn(cursor, [spec for _, spec, _ in specs])
            self._embed_missing(specs, done)
            _fill_tables(cursor, content, ledger)
            self._make_vectors(cursor, {lesson_id: done[lesson_id] for lesson_id, _, archived in specs if not archived})
            return now.generation
        self._vectors.kept(self._write(work, alone=True))
        self._session.alone("ANALYZE lesson")


def _fill_tables(cursor: psycopg.Cursor, content: Content, ledger: Ledger) -> None:
    lessons, numbers = ledger.live | ledger.archived, enumerate(content.events, 1)
    added = {event["id"]: number for number, event in numbers if event["event"] == "add"}
    with cursor.copy(f"COPY lesson ({LESSON}, archived, added, touched) FROM STDIN") as copy:
        for lesson_id, lesson in sorted(lessons.items()):
            copy.write_row([*row_of(lesson), lesson_id in ledger.archived, added[lesson_id],
                            ledger.touched[lesson_id]])
    with cursor.copy(f"COPY receipt ({RECEIPT}, event, time) FROM STDIN") as copy:
        for number, event in enumerate(content.events, 1):
            if event["event"] == "outcome":
                copy.write_row([stored(event["episode"]), event["ids"], event["weights"], event["outcome"],
                                stored(event["problem"]), number, event["time"]])
    if content.next_id > 1:
        cursor.execute("SELECT setval('lesson_id_seq', %s)", [content.next_id - 1])
    cursor.execute("SELECT setval('event', %s)", [len(content.events) + 1])


def _content(cursor: psycopg.Cursor) -> Content:
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    now = pg_schema.about(cursor)
    numbered: list[tuple[int, dict[str, Any]]] = []
    archived = []
    for *row, gone, added in cursor.execute(f"SELECT {LESSON}, archived, added FROM lesson ORDER BY id"):
        lesson = lesson_of(row)
        archived += [lesson.id] * gone
        numbered.append((added, _added(lesson)))
    for *row, event, time in cursor.execute(f"SELECT {RECEIPT}, event, time FROM receipt"):
        episode, receipt = receipt_of(row)
        numbered.append((event, {"event": "outcome", "episode": episode, "outcome": receipt.outcome, "time": time,
                                 "problem": receipt.problem, "ids": list(receipt.weights),
                                 "weights": list(receipt.weights.values())}))
    events = [event for _, event in sorted(numbered, key=lambda pair: pair[0])]
    if archived:
        events.append({"event": "archive", "policy": "", "archived": archived, "time": events[-1]["time"]})
    vectors = {} if not now.width else {
        lesson_id: array_of(vector, now.width) for lesson_id, vector in cursor.execute("SELECT * FROM embedding")}
    last, = cursor.execute("SELECT last_value * is_called::integer FROM lesson_id_seq").fetchone()
    return Content(now.embedder, events, last + 1, vectors)


def _added(lesson: Lesson) -> dict[str, Any]:
    return {"event": "add", "id": lesson.id, "spec": lesson.spec, "text": lesson.text, "code": lesson.code,
            "source": lesson.source, "family": lesson.family, "time": lesson.created}
