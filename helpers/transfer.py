"""Carry a memory between a file and a server, whole: ids, counters, archive, receipts, times, and the order of events.

Left out: carrying into a memory that holds something already, and changing the embedder on the way (`reembed`).
"""

from dataclasses import dataclass
from pathlib import Path

from helpers.embeddings import BagOfWords, MiniLM
from helpers.memory_content import TransferError, from_file, to_file
from helpers.pg_content import from_server, to_server
from helpers.pg_errors import MemoryServerError
from helpers.settings import load_settings
from helpers.unit_vectors import Embedder

__all__ = ["Transfer", "TransferError", "carry", "is_address"]


@dataclass(frozen=True)
class Transfer:
    """What was carried: how many lessons, archived ones and receipts."""

    lessons: int
    archived: int
    receipts: int

    def __str__(self) -> str:
        return f"{self.lessons} lessons, {self.archived} archived ones, {self.receipts} receipts"


def carry(source: str | Path, target: str | Path, *, name: str = "lessons",
          embedder: Embedder | None = None) -> Transfer:
    """Carry the memory at `source` to `target`, each a file or the address of a server, where `name` is its name.

    An empty text stands for the address in DATABASE_URL (also in `.env`), so that no password has to be typed. The
    target must not exist yet, or hold nothing. `embedder` is needed by a target on a server; without one, the course's
    own are tried by the fingerprint of the source. Vectors that are known already are not embedded again.

    Raises:
        TransferError: the source is no memory or a damaged one, the target holds something, no server answers.
    """
    source, target = (place or _database_url() for place in (source, target))
    try:
        content = from_server(str(source), name) if is_address(source) else from_file(Path(source))
        if is_address(target):
            to_server(content, str(target), name, embedder or _known_embedder(content.embedder))
        else:
            to_file(content, Path(target))
    except (ValueError, ImportError, MemoryServerError) as error:  # another embedder, a bad name, no server: all say so
        raise TransferError(str(error)) from error
    ledger = content.ledger
    return Transfer(len(ledger.live), len(ledger.archived), len(ledger.receipts))


def _database_url() -> str:
    """The address in DATABASE_URL; never taken for a file's name, and never quoted, since a password may be in it."""
    address = load_settings().database_url
    if not address or not is_address(address):
        raise TransferError(f"DATABASE_URL: expected the address of a server, postgresql://…, got "
                            f"{'another text' if address else 'none'}; set it, also in .env, or give both places")
    return address


def is_address(place: str | Path) -> bool:
    """Whether this is the address of a server, not the path of a file.

    >>> is_address("postgresql://localhost/course"), is_address("lessons.jsonl")
    (True, False)
    """
    return isinstance(place, str) and "://" in place


def _known_embedder(fingerprint: str) -> Embedder:
    for made in (MiniLM(), BagOfWords()):
        if made.fingerprint == fingerprint:
            return made
    raise TransferError(f"expected a memory made with MiniLM() or BagOfWords(), got one made with {fingerprint}; call "
                        "helpers.transfer.carry(source, target, embedder=…) with that one")
