"""One real server for all tests of a process, and memories on it that are closed again."""

import functools
import itertools
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from memory_fakes import Exact

from helpers.memory import EmbedderMismatch, VectorMemory
from helpers.pg_memory import PgVectorMemory
from helpers.pg_server import PostgresServer

_number = itertools.count(1)


@functools.cache
def server() -> PostgresServer:
    """A server that is started by the first test that needs it; its keeper stops it when this process ends."""
    return PostgresServer().start()


def quick_url() -> str:
    """Its address, for tests of content: commits are not waited for. What a crash leaves is tested without this."""
    return with_options(server().url, "-c synchronous_commit=off")


def with_options(url: str, options: str) -> str:
    """The address with settings every connection begins with."""
    return f"{url}{'&' if '?' in url else '?'}options={quote(options)}"


def new_name() -> str:
    """A name no memory of this process has yet."""
    return f"m{next(_number)}"


class FileStore:
    """A memory in a file, as the contract sees it: opened as often as one likes."""

    kind = VectorMemory

    def __init__(self, folder: Path) -> None:
        self._opened, self._folder = [], folder
        self.place = folder / "m.jsonl"

    def open(self, embedder=None, **options):
        """Another handle on the memory."""
        return self._keep(self.kind(self.place, embedder or Exact(), **options))

    def reembed(self, embedder, **options):
        """The memory handed over to another embedder."""
        return self._keep(self.kind.reembed(self.place, embedder, **options))

    def another(self) -> "FileStore":
        """The place of a second memory."""
        return FileStore(self._folder / f"{len(self._opened)}")

    def filled(self, *specs, embedder=None, **options):
        """A handle, after one lesson a specification was added."""
        memory = self.open(embedder, **options)
        for spec in specs:
            memory.add(spec, f"lesson of {spec}")
        return memory

    def close(self) -> None:
        for memory in self._opened:
            with suppress(EmbedderMismatch):  # a handle that a test has left behind
                memory.close()

    def _keep(self, memory):
        self._opened.append(memory)
        return memory


class ServerStore(FileStore):
    """The same on a server."""

    kind = PgVectorMemory

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.place, self.name = quick_url(), new_name()

    def open(self, embedder=None, **options):
        return super().open(embedder, name=self.name, **options)

    def reembed(self, embedder, **options):
        return super().reembed(embedder, name=self.name, **options)

    def another(self) -> "ServerStore":
        return ServerStore(self._folder)


STORES = {"file": FileStore, "server": ServerStore}
