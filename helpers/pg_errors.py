"""Turn what goes wrong with a database server into one clear error: what was expected, what came, what to do.

Left out: trying again, which is `helpers.pg_session`. No message shows a password, nor a piece of an address that
might be one.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from helpers.settings import SettingsError

KINDS = ("unreachable", "unauthorised", "no_database", "no_pgvector", "forbidden", "full", "busy", "lost", "server")
_KIND_OF_STATE = {"28P01": "unauthorised", "28000": "unauthorised", "3D000": "no_database", "42501": "forbidden",
                  "25006": "forbidden", "53100": "full", "53200": "full", "53300": "busy", "57P03": "busy"}
_KIND_OF_WORDS = {  # before there is a connection there is no state either, only words; the first found counts
    "too many": "busy", "connection slots": "busy", "database system": "busy", "permission denied": "forbidden",
    "password": "unauthorised", "pg_hba.conf": "unauthorised", "role ": "unauthorised", "database ": "no_database"}
_WAYS_OUT = {
    "unreachable": "start the server, or correct host and port in DATABASE_URL",
    "unauthorised": "correct user and password in DATABASE_URL; a sign such as @ or / is written %40 or %2F there",
    "no_database": "create the database, or name another one at the end of DATABASE_URL",
    "no_pgvector": "install pgvector 0.8 or newer on the server, or run CREATE EXTENSION vector as its administrator",
    "forbidden": "ask its administrator for the right to create schemas in this database, or to write to this memory",
    "full": "make room on the server; nothing of this change was kept",
    "busy": "wait a moment and try again, or raise max_connections of the server",
    "lost": "see that the server runs, then try again; this memory connects anew by itself",
    "server": "read the log of the server",
}


class MemoryServerError(RuntimeError):
    """The server of a memory did not do what was asked; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Address:
    """Where a server is; prints without its password.

    >>> print(Address("postgresql://ann:secret@db.example:5433/course"))
    postgresql://ann@db.example:5433/course
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        self.parts  # noqa: B018 - an address nobody can read is refused at once

    @property
    def parts(self) -> dict[str, object]:
        """What the address says, by libpq's names; SettingsError, quoting nothing of it, when it cannot be read."""
        wrong = "one that begins otherwise"
        if isinstance(self.url, str) and self.url.startswith(("postgresql://", "postgres://")):
            wrong = "one that cannot be read; in a password, @ is written %40, / is %2F, : is %3A and % is %25"
            with suppress(psycopg.ProgrammingError):  # its text may quote the password
                parts = conninfo_to_dict(self.url)
                # A password with such a sign in it ends early, and the rest of it is taken for host, port, database.
                rest = "".join(str(parts.get(name) or "") for name in ("host", "port", "dbname"))
                if "@" not in rest and all(map(str.isdigit, str(parts.get("port") or "0").split(","))):
                    return parts
        raise SettingsError("address of the server (DATABASE_URL): expected postgresql://USER:PASSWORD@HOST:PORT/"
                            f"DATABASE, got {wrong}")

    @property
    def secret(self) -> str:
        """The password, or ""."""
        return str(self.parts.get("password") or "")

    def __str__(self) -> str:
        parts = self.parts
        user = f"{quote(str(parts['user']))}@" if parts.get("user") else ""
        port = f":{parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user}{parts.get('host') or 'localhost'}{port}/{parts.get('dbname') or ''}"


def explained(error: psycopg.Error, address: Address, *, lost: bool = False) -> MemoryServerError:
    """The error to raise instead: where, which kind, what the server said in its first line, the way out.

    `lost`: the connection had been there before.
    """
    kind = _kind(error, lost)
    words = (error.diag.message_primary or str(error).rpartition("FATAL:")[2]).strip()
    words = words.splitlines()[0] if words else type(error).__name__
    if address.secret and address.secret in words:
        words = type(error).__name__
    return MemoryServerError(kind, f"{address}: expected a PostgreSQL server that answers, got: {words}; "
                                   f"{_WAYS_OUT[kind]}")


def _kind(error: psycopg.Error, lost: bool) -> str:
    if error.sqlstate is not None:
        if error.sqlstate in ("0A000", "58P01") and "extension" in str(error):
            return "no_pgvector"
        return _KIND_OF_STATE.get(error.sqlstate, "lost" if lost else "server")
    answer = str(error).partition(" failed: ")[2] or str(error).partition("FATAL:")[2]
    kinds = [kind for words, kind in _KIND_OF_WORDS.items() if words in answer]
    return "lost" if lost else [*kinds, "unreachable"][0]
