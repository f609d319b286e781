"""What a memory file looks like line by line, and how files of older formats are read.

Left out: opening and writing files (`helpers.journal`), and what the records mean (`helpers.lessons`).

Format 2, the present one, is JSON Lines in UTF-8: a header, then one event a line, keys sorted; the last key
of a line holds the CRC-32 of the rest, so that a changed byte is noticed. Format 1 had no checksums. Format 0 is
the whole store as one JSON list of {id, spec, lesson, vector}, rewritten at each save.
"""

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = "vector-memory"
VERSION = 2
_CHECKSUM = b', "zlib_crc32": "'  # sorts after every other key, so it always ends the line


class BadLine(ValueError):
    """A line that is no intact record; the message says why."""


class NotAMemory(ValueError):
    """The file is not a memory, or not one that this version can read; nothing was written to it."""


class DamageWarning(UserWarning):
    """Part of a memory file could not be read; the rest was."""


@dataclass(frozen=True)
class Damage:
    """A piece of a file that is no intact record: where it begins, in bytes, why it was refused, and its bytes."""

    offset: int
    reason: str
    data: bytes


@dataclass(frozen=True)
class DamageReport:
    """What could not be read in a file, how many records could, and where the damaged bytes were put, if anywhere."""

    path: Path
    pieces: tuple[Damage, ...]
    kept: int
    saved_to: Path | None = None

    def __str__(self) -> str:
        first = [f"{len(piece.data)} bytes at {piece.offset}: {piece.reason}" for piece in self.pieces[:3]]
        more = [f"and {len(self.pieces) - 3} more"] if len(self.pieces) > 3 else []
        where = (f"set aside in {self.saved_to.name}" if self.saved_to
                 else "left where they are until the next write or repair()")
        return (f"{self.path}: {self.kept} records were read; damaged lines: {len(self.pieces)}, {where} "
                f"({'; '.join(first + more)})")


def encode(record: dict[str, Any]) -> bytes:
    r"""One line with its checksum and its newline; ValueError for what JSON or UTF-8 cannot hold.

    >>> encode({"b": 1, "a": "é"}).decode()
    '{"a": "é", "b": 1, "zlib_crc32": "13ad5883"}\n'
    """
    body = json.dumps(record, ensure_ascii=False, sort_keys=True, allow_nan=False).encode("utf-8")
    return body[:-1] + _CHECKSUM + b'%08x"}\n' % zlib.crc32(body)


def decode(line: bytes, version: int = VERSION) -> dict[str, Any]:
    """The record of one line; BadLine when it was cut, changed, or is no JSON object.

    >>> decode(encode({"event": "delete", "id": 3}))
    {'event': 'delete', 'id': 3}
    """
    line = line.strip()
    if version < 2:
        return _parse(line)
    body, found, checksum = line.rpartition(_CHECKSUM)
    if not found:
        raise BadLine("no checksum at its end: cut short, or not written by the memory")
    if checksum != b'%08x"}' % zlib.crc32(body + b"}"):
        raise BadLine("checksum does not match: changed after it was written")
    return _parse(body + b"}")


def decode_header(line: bytes) -> dict[str, Any]:
    """The header of a format-1 or format-2 file; BadLine when damaged or foreign, NotAMemory when newer.

    >>> decode_header(encode({"format": "vector-memory", "version": 2}))["version"]
    2
    """
    record = _parse(line.strip())
    version = record.get("version")
    if record.get("format") != FORMAT or type(version) is not int:
        raise BadLine(f"no header: expected format {FORMAT!r} and a version")
    if "zlib_crc32" in record or version == 2:
        decode(line)  # a changed byte must not pass for a newer version
    if not 1 <= version <= VERSION:
        raise NotAMemory(f"expected format version 1 to {VERSION}, got {version}; "
                         "open it with the newer course that wrote it")
    record.pop("zlib_crc32", None)
    return record


def events_of_list(data: bytes) -> list[dict[str, Any]]:
    """A format-0 file, [{id, spec, lesson, vector}, …], as today's events; NotAMemory naming the entry at fault.

    Vectors are left behind: the file does not say which embedder made them.

    >>> events_of_list(b'[{"id": 4, "spec": "a", "lesson": "b", "vector": [1]}]')[0]["text"]
    'b'
    """
    try:
        entries = json.loads(data.decode("utf-8-sig"))
        json.dumps(entries, ensure_ascii=False).encode("utf-8")  # as in _parse
    except (ValueError, RecursionError) as error:
        raise NotAMemory(f"expected a JSON list of lessons, got text that cannot be read ({error})") from error
    events = [_event_of_entry(entry, number) for number, entry in enumerate(entries)]
    ids = [event["id"] for event in events]
    if len(set(ids)) < len(ids):
        raise NotAMemory("expected each id once in the JSON list, got one twice; give each entry its own")
    return sorted(events, key=lambda event: event["id"])


def _event_of_entry(entry: Any, number: int) -> dict[str, Any]:
    fits = (isinstance(entry, dict) and type(entry.get("id")) is int and entry["id"] >= 0
            and isinstance(entry.get("spec"), str) and isinstance(entry.get("lesson"), str))
    if not fits:
        raise NotAMemory(f"entry {number} of the JSON list: expected an id (a number from 0), a spec and a "
                         "lesson (text); mend or remove that entry")
    return {"event": "add", "id": entry["id"], "spec": entry["spec"], "text": entry["lesson"], "code": "",
            "source": "", "family": "", "time": ""}


def _parse(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
        if b"\\u" in line:  # half a surrogate pair may be escaped in JSON, and can never be written again
            json.dumps(record, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise BadLine(f"no JSON ({error})") from error
    if not isinstance(record, dict):
        raise BadLine("no JSON object")
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
