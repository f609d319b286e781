"""The file of recorded answers: one JSON line says where they come from, then one exchange a line.

Left out: HTTP. A transcript knows requests and answers; `helpers.replay` makes them pass for a server.

    {"engine": …, "format": 1, "model": {"file": …, "name": …, "sha256": …}, "recorded": "2026-01-31", "settings": {…}}
    {"key": …, "request": {"max_tokens": …, "messages": […], …}, "response": {"finish_reason": …, "text": …, …}}

What is kept of an answer is what the course reads: a chat's text, token counts, finish reason; an embedding's
vectors (float32, base64) and token count; and the seconds it took when it was made. No header, no address.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from helpers.request_key import canonical_request, compact_json, digest

FORMAT = 1
RESPONSE_FIELDS = {"chat": {"completion_tokens", "finish_reason", "prompt_tokens", "seconds", "text"},
                   "embeddings": {"prompt_tokens", "seconds", "vectors"}}


class ReplayMiss(Exception):
    """The recordings cannot answer: something in the set-up to mend, never an outcome of an experiment."""


class TranscriptError(ReplayMiss):
    """A transcript cannot be read or trusted; the message names file, line and what to do."""


def provenance(name: str, *, file: str | None = None, sha256: str | None = None, engine: str = "",
               settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """The first line of a transcript that is begun today: which model, run by what, with which settings.

    >>> provenance("m", engine="server 1")["model"]
    {'file': None, 'name': 'm', 'sha256': None}
    """
    return {"engine": engine, "format": FORMAT, "model": {"file": file, "name": name, "sha256": sha256},
            "recorded": date.today().isoformat(), "settings": dict(sorted((settings or {}).items()))}


@dataclass
class Transcript:
    """Recorded exchanges by key, in file order; `header` is None until something is recorded.

    Threads of one process may replay and record through one `Transcript`; two processes need a file each.
    """

    path: Path
    header: dict[str, Any] | None = None
    exchanges: dict[str, dict[str, Any]] = field(default_factory=dict)
    _turn: threading.Condition = field(default_factory=threading.Condition, init=False, repr=False, compare=False)
    _asked: set[str] = field(default_factory=set, init=False, repr=False, compare=False)  # and not yet answered
    _used: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, path: Path, *, missing_ok: bool = False, repair: bool = False) -> "Transcript":
        """Read `path`; 5,000 exchanges take about 0.1 s.

        `repair` is for a recording that was interrupted: a torn last line is cut off the file and of two
        exchanges with one key the first counts. Nothing else is ever mended silently.

        Raises:
            TranscriptError: missing, empty, damaged, edited, recorded twice, or of a newer format.
        """
        if not path.exists():
            if missing_ok:
                return cls(path)
            raise TranscriptError(f"{path.name}: there is no such transcript in {path.parent.name}/. {_ways(path)}")
        if repair and not _cut_torn_line(path):
            return cls(path)
        lines = _lines(path)
        transcript = cls(path, _header(path, lines[0]))
        seen: dict[str, int] = {}
        for number, line in enumerate(lines[1:], start=2):
            key, exchange = _exchange(path, number, line)
            if key not in seen:
                seen[key], transcript.exchanges[key] = number, exchange
            elif not repair:
                raise TranscriptError(f"{path.name}, line {number}: the request of line {seen[key]} is recorded "
                                      f"again; two answers to one request cannot be replayed. {_ways(path)}")
        return transcript

    def expect_model(self, sha256: str, name: str) -> None:
        """Refuse a transcript whose answers come from another model file than `sha256`."""
        model = self.header["model"] if self.header else {"sha256": sha256}
        if model["sha256"] != sha256:
            raise TranscriptError(
                f"{self.path.name}, line 1: expected answers of {name} (SHA-256 {sha256[:12]}…), but they were "
                f"recorded from {model['name']} (SHA-256 {str(model['sha256'])[:12]}…). {_ways(self.path)}")

    def expect_provenance(self, header: dict[str, Any]) -> None:
        """Refuse to mix answers: `header` says another model, engine or settings than the file (dates may differ)."""
        if {**header, "recorded": ""} != {**(self.header or header), "recorded": ""}:
            raise TranscriptError(f"{self.path.name}: its answers were recorded with {_short(self.header)}, this one "
                                  f"would come from {_short(header)}. Delete the file to record all of it anew.")

    def append(self, request: dict[str, Any], response: dict[str, Any], header: dict[str, Any]) -> None:
        """Add one exchange to the file at once; the first one writes `header` before it.

        Raises:
            TranscriptError: `header` is not the file's (see `expect_provenance`).
        """
        exchange = {"request": canonical_request(request), "response": dict(sorted(response.items()))}
        key = digest(exchange["request"])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._turn:
            self.expect_provenance(header)
            new = [_line(header)] if self.header is None else []
            with self.path.open("ab") as file:
                file.write("".join([*new, _line({"key": key, **exchange})]).encode())
                file.flush()
                os.fsync(file.fileno())
            self.header = self.header or header
            self.exchanges[key] = exchange

    @contextlib.contextmanager
    def asking(self, key: str) -> Iterator[None]:
        """While one thread asks a model for `key`, others that want the same wait: then it may be recorded."""
        with self._turn:
            self._turn.wait_for(lambda: key not in self._asked)
            self._asked.add(key)
        try:
            yield
        finally:
            with self._turn:
                self._asked.remove(key)
                self._turn.notify_all()

    def save(self) -> None:
        """Write header and exchanges anew, replacing the file in one step."""
        lines = [_line(self.header), *(_line({"key": key, **one}) for key, one in self.exchanges.items())]
        fresh = self.path.with_name(self.path.name + ".tmp")
        with fresh.open("wb") as file:
            file.write("".join(lines).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.path)

    @property
    def used_path(self) -> Path:
        """The list of keys a recording has asked for, one a line in order of first use."""
        return self.path.with_name(self.path.name + ".used")

    def mark_used(self, key: str) -> None:
        """Note on disk, once, that a recording asked for `key`: another process reads how far it is, and calls `tidy`
        when the notebook is done."""
        with self._turn:
            if key not in self._used:
                with self.used_path.open("a", encoding="ascii", newline="\n") as file:
                    file.write(key + "\n")
                self._used.add(key)


def start_recording(path: Path) -> None:
    """Forget which exchanges an earlier, unfinished recording of `path` asked for; its answers stay."""
    Transcript(path).used_path.unlink(missing_ok=True)


def tidy(path: Path, used: Iterable[str] | None = None) -> int:
    """Keep only the exchanges asked for, sorted by request, and return their number.

    `used` None reads the list that the recording kept. The file is replaced in one step; two recordings with the
    same answers then differ in date and seconds only, whichever thread was first.

    Raises:
        TranscriptError: nothing was asked for, or a key that is not in the file.
    """
    transcript = Transcript.load(path, repair=True)
    if used is None:
        noted = transcript.used_path
        used = noted.read_text(encoding="ascii").split() if noted.exists() else ()
    keys = set(used)
    unknown = keys - transcript.exchanges.keys()
    if unknown or not keys:
        raise TranscriptError(f"{path.name}: cannot be tidied, "
                              + (f"it has no exchange {min(unknown)[:12]}…" if unknown else "no recording has used it"))
    kept = sorted((exchange for key, exchange in transcript.exchanges.items() if key in keys),
                  key=lambda exchange: compact_json(exchange["request"]))
    transcript.exchanges = {digest(exchange["request"]): exchange for exchange in kept}
    transcript.save()
    transcript.used_path.unlink(missing_ok=True)
    return len(keys)


def _line(value: Any) -> str:
    return compact_json(value) + "\n"


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as err:
        number = data.count(b"\n", 0, err.start) + 1
        raise TranscriptError(f"{path.name}, line {number}: not UTF-8 text. {_ways(path)}") from None
    if not text.strip():
        raise TranscriptError(f"{path.name}: the file is empty, expected a first line of provenance. {_ways(path)}")
    lines = text.split("\n")  # not splitlines: a recorded text may hold other line separators
    return lines[:-1] if lines[-1] == "" else lines


def _header(path: Path, line: str) -> dict[str, Any]:
    header: Any = None
    with contextlib.suppress(ValueError):
        header = json.loads(line)
    if not (isinstance(header, dict) and isinstance(header.get("format"), int)
            and isinstance(header.get("model"), dict) and {"name", "sha256"} <= header["model"].keys()):
        raise TranscriptError(f"{path.name}, line 1: expected the provenance of the answers. {_ways(path)}")
    if header["format"] != FORMAT:
        raise TranscriptError(f"{path.name}, line 1: format {header['format']}, this version of the course reads "
                              f"format {FORMAT}. Update the course, or record the transcript again.")
    return header


def _exchange(path: Path, number: int, line: str) -> tuple[str, dict[str, Any]]:
    try:
        exchange = json.loads(line)
        key, request, response = exchange.pop("key"), exchange["request"], exchange["response"]
        fields = RESPONSE_FIELDS["embeddings" if "input" in request else "chat"]
        whole = exchange.keys() == {"request", "response"} and response.keys() == fields
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        raise TranscriptError(f"{path.name}, line {number}: damaged, expected one recorded exchange. {_ways(path)}")
    if digest(request) != key:
        raise TranscriptError(f"{path.name}, line {number}: the request does not belong to its key: the line was "
                              f"edited. {_ways(path)}")
    return key, exchange


def _cut_torn_line(path: Path) -> int:
    """Cut what an interrupted write left after the last line break; the number of bytes that remain."""
    size = path.read_bytes().rfind(b"\n") + 1
    os.truncate(path, size)
    return size


def _short(header: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in header["settings"].items())
    return f"{header['model']['name']} on {header['engine']} ({settings})"


def _ways(path: Path) -> str:
    return (f"Restore it (`git checkout -- data/{path.parent.name}/{path.name}`) or record it again "
            f"(`course record {path.stem}`).")
