"""One connection to a server that outlives the server's restarts: work is done whole, or not at all, or told apart.

Left out: pools of connections. One session is one connection, which threads take in turns; after `fork` open a new
one. Behind a pooler, let it pool sessions, not transactions: settings are made once a connection.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import psycopg

from helpers.pg_errors import Address, MemoryServerError, explained

Result = TypeVar("Result")
CONNECT_SECONDS = 10
SILENCE_SECONDS = 20                # of a network; then the connection counts as lost
GONE = ("57P01", "57P02", "57P03")  # shut down, crashed, starting up
AGAIN = ("40001", "40P01")          # the server chose this transaction to give way to another


class Session:
    """Runs work in transactions; when the connection is lost, connects anew for up to `patience_s` seconds.

    `prepare` is called with every new connection before any work. The first connection is not waited for: what is
    wrong with an address or a password should be seen at once.
    """

    def __init__(self, address: Address, prepare: Callable[[psycopg.Connection], None], *,
                 patience_s: float = 15.0) -> None:
        self.address, self.patience_s = address, patience_s
        self._prepare = prepare
        self._guard = threading.RLock()
        self._connection: psycopg.Connection | None = None
        self._committing = False  # something whose repetition could not be told from the first time
        with self._guard:
            try:
                self._connect()
            except psycopg.Error as error:
                raise self.explained(error) from error

    def run(self, work: Callable[[psycopg.Cursor], Result], *, repeatable: bool = True) -> Result:
        """What `work(cursor)` returns, its changes committed; on any error none of them is kept.

        After a lost connection all of it is done once more. When it was lost during the commit, nobody knows whether
        the changes were kept: `repeatable` work, which finds out for itself, is done once more; else that is said.
        """
        def whole(connection: psycopg.Connection) -> Result:
            with connection.transaction():
                with connection.cursor(binary=True) as cursor:
                    result = work(cursor)
                self._committing = not repeatable
            return result
        return self._try(whole)

    def read(self, work: Callable[[psycopg.Cursor], Result]) -> Result:
        """What `work(cursor)` returns, without a transaction around it: each statement sees what was kept before it."""
        def ask(connection: psycopg.Connection) -> Result:
            with connection.cursor(binary=True) as cursor:
                return work(cursor)
        return self._try(ask)

    def alone(self, statement: str) -> None:
        """Run a statement that no transaction may contain and that may be run twice, such as VACUUM."""
        self._try(lambda connection: connection.execute(statement))

    def _try(self, act: Callable[[psycopg.Connection], Result]) -> Result:
        """What `act` returns, on this connection or, while there is patience, on the next."""
        with self._guard:
            deadline, pause = None, 0.02
            while True:
                self._committing = False
                try:
                    return act(self._connection or self._connect())
                except psycopg.Error as error:
                    gone = self._gone(error)
                    if not gone and error.sqlstate not in AGAIN:
                        raise self.explained(error) from error
                    if self._committing:
                        raise MemoryServerError("lost", f"{self.address}: the connection was lost while a change was "
                                                "being kept; expected to know whether it was, got no answer; look at "
                                                "the memory before doing it again") from error
                    deadline = deadline or time.monotonic() + self.patience_s
                    if time.monotonic() + pause > deadline:
                        raise self.explained(error, lost=gone) from error
                time.sleep(pause)
                pause = min(2 * pause, 0.5)

    def close(self) -> None:
        """Give the connection back; the next work opens another."""
        with self._guard:
            self._drop()

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the interpreter anything may be missing
            self._drop()

    def explained(self, error: psycopg.Error, *, lost: bool = False) -> MemoryServerError:
        """The error to raise instead of a driver's."""
        return explained(error, self.address, lost=lost)

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self.address.url, autocommit=True, connect_timeout=CONNECT_SECONDS,
                                     tcp_user_timeout=1000 * SILENCE_SECONDS, application_name="course memory")
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _gone(self, error: psycopg.Error) -> bool:
        """Whether the connection is lost; it is then given up. True as well when there was none to begin with."""
        if self._connection is not None and not self._connection.closed and error.sqlstate not in GONE:
            return False
        refused = (self._connection is None and error.sqlstate not in GONE
                   and self.explained(error).kind not in ("unreachable", "busy"))
        self._drop()
        return not refused

    def _drop(self) -> None:
        if getattr(self, "_connection", None) is not None:
            connection, self._connection = self._connection, None
            connection.close()
