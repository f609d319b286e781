"""What goes wrong with a server is one clear error each, seen on a real one, and no message shows a password."""

import socket
import threading
import traceback
from urllib.parse import quote

import psycopg
import pytest
from memory_fakes import Exact, Hashed
from pg_fakes import new_name, quick_url, with_options

from helpers.memory import EmbedderMismatch
from helpers.memory_format import NotAMemory
from helpers.pg_errors import KINDS, Address, MemoryServerError, explained
from helpers.pg_memory import PgVectorMemory
from helpers.pg_server import PostgresServer
from helpers.settings import SettingsError

PASSWORD = "pa:ss/w@rd%?"


@pytest.fixture(scope="module")
def guarded():
    """A server that asks for passwords, with a role that may do nothing."""
    with PostgresServer(tcp=True) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE ROLE weak LOGIN PASSWORD 'pa:ss/w@rd%?'")
            connection.execute("CREATE DATABASE closed")
            connection.execute("REVOKE ALL ON DATABASE closed FROM public")
            connection.execute("CREATE DATABASE bare")
        yield server


def as_weak(server: PostgresServer, password: str, database: str = "postgres") -> str:
    return f"postgresql://weak:{quote(password, safe='')}@127.0.0.1:{Address(server.url).parts['port']}/{database}"


def refused(url: str, kind: str, *words: str) -> None:
    """Opening a memory there fails with that kind and those words; nothing that is printed shows the password."""
    with pytest.raises(MemoryServerError) as caught:
        PgVectorMemory(url, Exact(), name=new_name())
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert caught.value.kind == kind in KINDS
    for word in words:
        assert word in str(caught.value)
    assert str(Address(url)) in str(caught.value) and "expected" in str(caught.value)
    assert not [part for part in (PASSWORD, "w@rd", "secret", "wrong", Address(url).secret) if part and part in told]


def test_nobody_listens():
    refused("postgresql://ann:secret@127.0.0.1:1/course", "unreachable", "Connection refused", "start the server",
            "postgresql://ann@127.0.0.1:1/course")
    refused("postgresql:///course?host=/no/such/folder&user=ann", "unreachable", "No such file")
    refused("postgresql://ann:secret@no.such.host.invalid/course", "unreachable", "no.such.host.invalid")


def test_something_else_listens():
    with socket.create_server(("127.0.0.1", 0)) as other:
        def answer():
            connection, _ = other.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        thread = threading.Thread(target=answer)
        thread.start()
        url = f"postgresql://ann:secret@127.0.0.1:{other.getsockname()[1]}/x?sslmode=disable"
        refused(url, "unreachable", "start the server, or correct host and port")
        thread.join()


def test_wrong_password_wrong_user_and_none(guarded):
    refused(as_weak(guarded, "wrong"), "unauthorised", 'password authentication failed for user "weak"', "%40")
    refused(as_weak(guarded, "wrong").replace("weak", "ghost"), "unauthorised", "ghost")
    refused(as_weak(guarded, ""), "unauthorised", "password")


def test_no_such_database(guarded):
    refused(as_weak(guarded, PASSWORD, "none"), "no_database", 'database "none" does not exist', "create the database")
    refused(as_weak(guarded, PASSWORD, "closed"), "forbidden", 'permission denied for database "closed"')


def test_a_server_without_pgvector():
    refused(with_options(quick_url(), "-c extension_control_path=/nowhere").replace("/postgres?", "/template1?"),
            "no_pgvector", 'extension "vector" is not available', "install pgvector")


def test_a_server_whose_pgvector_is_too_old():
    admin = quick_url()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("CREATE DATABASE old")
    old = admin.replace("/postgres?", "/old?")
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        new, = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        refused(old, "no_pgvector", "expected pgvector 0.8 or newer, got 0.7.4; run ALTER EXTENSION vector UPDATE")
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'm%'").fetchone() == (0,)
        connection.execute("UPDATE pg_extension SET extversion = %s WHERE extname = 'vector'", [new])
    PgVectorMemory(old, Exact(), name=new_name()).close()


def test_no_right_to_make_tables(guarded):
    refused(as_weak(guarded, PASSWORD, "bare"), "forbidden", "permission denied", "ask its administrator")


def test_a_role_that_may_only_read_can_search_and_is_told_when_it_writes(guarded):
    name = new_name()
    with PgVectorMemory(guarded.url, Exact(), name=name) as memory:
        memory.add("0.5", "text")
    with psycopg.connect(guarded.url, autocommit=True) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA {name} TO weak")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO weak")
    with PgVectorMemory(as_weak(guarded, PASSWORD), Exact(), name=name) as memory:
        assert memory.search("query")[0].lesson.text == "text" and len(memory) == 1
        with pytest.raises(MemoryServerError, match=r"permission denied.*the right to") as caught:
            memory.add("0.6", "text")
        assert caught.value.kind == "forbidden" and PASSWORD not in str(caught.value)
        assert PASSWORD not in repr(memory) and "weak@127.0.0.1" in repr(memory)


def test_too_many_connections(guarded):
    with psycopg.connect(guarded.url, autocommit=True) as connection:
        connection.execute("ALTER ROLE weak CONNECTION LIMIT 1")
        try:
            with psycopg.connect(as_weak(guarded, PASSWORD)):
                refused(as_weak(guarded, PASSWORD), "busy", "too many connections", "max_connections")
        finally:
            connection.execute("ALTER ROLE weak CONNECTION LIMIT -1")


def test_tables_of_another_embedder_and_schemas_of_something_else():
    url, name, other = quick_url(), new_name(), new_name()
    PgVectorMemory(url, Hashed(8, "Old"), name=name).close()
    with pytest.raises(EmbedderMismatch, match=rf"memory '{name}': expected the embedder it was made with, Old\(d=8\), "
                                               r"got New\(d=8\); .*PgVectorMemory\.reembed\(url"):
        PgVectorMemory(url, Hashed(8, "New"), name=name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {other} CREATE TABLE memory (version text, mine integer)")
        for _ in range(2):
            with pytest.raises(NotAMemory, match="expected a memory, got a schema that is none; nothing was written"):
                PgVectorMemory(url, Exact(), name=other)
            connection.execute(f"DROP TABLE IF EXISTS {other}.memory")
        assert connection.execute("SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace",
                                  [other]).fetchone() == (0,)


@pytest.mark.parametrize("url", [
    "", None, 3, "mysql://u:secret@h/x", "secret", "host=h password=secret", "postgresql+psycopg://u:secret@h/x",
    "postgresql://u:sec@ret@h/x", "postgresql://u:sec/ret@h/x", "postgresql://u:12/34secret@h/x",
    "postgresql://u:sec%ret@h/x", "postgresql://u:p@[::secret/x", "postgresql://u:secret@h:port/x",
    "postgresql://u:secret@h/x?secret=1", "postgresql://u:se:cr/et@127.0.0.1:1/x"])
def test_an_address_that_cannot_be_read_is_refused_without_quoting_it(url):
    with pytest.raises(SettingsError, match="expected postgresql://USER:PASSWORD@HOST:PORT/DATABASE, got") as caught:
        PgVectorMemory(url, Exact())
    told = "".join(traceback.format_exception(caught.value, chain=True)).replace("PgVectorMemory(url", "")
    words = told.rpartition("SettingsError")[2]
    assert not [part for part in ("secret", "sec@", "sec/", "34secret", "sec%", "se:cr") if part in words]
    assert "ProgrammingError" not in told  # libpq's own message would quote the password


def test_an_address_prints_without_its_password():
    for url, printed in [("postgresql://u:secret@h:5/x?sslmode=require", "postgresql://u@h:5/x"),
                         ("postgres://h/x", "postgresql://h/x"),
                         ("postgresql://u%20v@h1:1,h2:2/x?password=secret", "postgresql://u%20v@h1,h2:1,2/x"),
                         ("postgresql:///x?host=/tmp/a", "postgresql:///tmp/a/x"),
                         (f"postgresql://u:{quote(PASSWORD, safe='')}@h/x", "postgresql://u@h/x")]:
        address = Address(url)
        assert str(address) == printed and "secret" not in repr(address) + str(address)
    assert Address(url).secret == PASSWORD and Address("postgresql://h/x").secret == ""


def test_a_message_in_which_the_server_repeats_the_password_is_not_passed_on():
    address = Address("postgresql://u:secret@h/x")
    error = explained(psycopg.OperationalError("FATAL:  no such thing as secret"), address)
    assert "secret" not in str(error) and "OperationalError" in str(error)
    assert explained(psycopg.OperationalError(""), address).kind == "unreachable"
    assert explained(psycopg.errors.DiskFull("could not extend file"), address).kind == "full"
    assert explained(psycopg.errors.AdminShutdown("terminating"), address, lost=True).kind == "lost"
    assert explained(psycopg.OperationalError("FATAL:  the database system is starting up"), address).kind == "busy"
