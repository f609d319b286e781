"""The embedded server: starts, stays private, comes back after a crash, and is gone when its starter is, however."""

import os
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from helpers import pg_keeper, pg_server
from helpers.pg_errors import Address, MemoryServerError
from helpers.pg_server import PostgresServer, database

ROOT = Path(__file__).resolve().parent.parent


def query(url: str, statement: str):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else None


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and was not yet asked for is none."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


@pytest.fixture(scope="module")
def folder():
    """A place that the user the server runs as can reach, also when that is not the one who runs the tests."""
    with tempfile.TemporaryDirectory(prefix="course-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_server_that_was_not_started_says_so():
    server = PostgresServer()
    assert server.pid is None
    with pytest.raises(RuntimeError, match="expected one that runs, got one that does not; call start"):
        _ = server.url
    server.stop()
    server.crash()


def test_it_keeps_its_data_through_crashes_and_in_its_folder_through_the_end(folder):
    place = folder / "kept" / "data"
    server = PostgresServer(place)
    with server:
        url, pid = server.url, server.pid
        assert server.start() is server and server.pid == pid
        assert query(url, "SHOW data_checksums") == [("on",)] and query(url, "SHOW fsync") == [("on",)]
        query(url, "CREATE TABLE t AS SELECT 1 AS a")
        server.crash()
        assert server.pid is None and not runs(pid)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        server.start()
        assert server.pid != pid and query(server.url, "SELECT a FROM t") == [(1,)]
        if os.name == "posix":
            run = Path(Address(server.url).parts["host"])
            assert stat.S_IMODE(run.stat().st_mode) == 0o700 and query(server.url, "SHOW listen_addresses") == [("",)]
        with pytest.raises(MemoryServerError, match="expected a folder no other process serves") as caught:
            PostgresServer(place).start()
        assert caught.value.kind == "busy" and server.pid is not None
        pid = server.pid
    assert not runs(pid) and server.pid is None and place.exists() and not run.exists()
    with PostgresServer(place, tcp=True) as again:
        assert query(again.url, "SELECT a FROM t") == [(1,)] and "@127.0.0.1:" in again.url
        assert Address(again.url).secret and Address(again.url).secret not in repr(again)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(again.url.replace(Address(again.url).secret, "wrong"))
        url = again.url
        again.crash()
        assert again.start().url == url and query(url, "SELECT a FROM t") == [(1,)]


def test_a_server_whose_starter_is_killed_is_stopped_and_leaves_nothing(tmp_path):
    code = """
        import sys, time
        from helpers.pg_server import PostgresServer
        server = PostgresServer().start()
        print(server.pid, server._run, flush=True)
        time.sleep(600)
    """
    starter = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, encoding="utf-8",
                               env=os.environ | {"PYTHONPATH": str(ROOT)})
    with starter:
        pid, run = starter.stdout.readline().split()
        assert runs(int(pid)) and Path(run).exists()
        starter.kill()
    deadline = time.monotonic() + 120
    while (runs(int(pid)) or Path(run).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(int(pid)) and not Path(run).exists()


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(folder, monkeypatch):
    monkeypatch.setitem(pg_server.SETTINGS, "shared_buffers", "'much'")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    server = PostgresServer(folder / "bad")
    with pytest.raises(MemoryServerError, match=r"pg_ctl: expected .*shared_buffers.*DATABASE_URL") as caught:
        server.start()
    assert caught.value.kind == "server" and server.pid is None and server._keeper is None
    assert list(folder.glob("pg-*")) == [] and (folder / "bad" / "PG_VERSION").exists()


def test_a_program_that_may_not_be_run_is_said(folder, monkeypatch):
    monkeypatch.setattr(PostgresServer, "_path", lambda self, name: self._bin / "no such program")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(MemoryServerError, match=r"initdb: expected .*no such program.*set DATABASE_URL"):
        PostgresServer().start()


def test_without_the_package_the_way_out_is_named(folder, monkeypatch):
    monkeypatch.setattr(pg_server, "PACKAGE", "no_such_package")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(MemoryServerError, match=r'expected the package no_such_pack.*"\.\[postgres\]".*DATABASE_URL'):
        PostgresServer().start()
    assert list(folder.glob("pg-*")) == []


def test_database_url_comes_first_and_starts_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(PostgresServer, "start", lambda self: pytest.fail("a server was started"))
    monkeypatch.setenv("DATABASE_URL", " postgresql://ann@db.example/course ")
    with database() as url:
        assert url == "postgresql://ann@db.example/course"
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("DATABASE_URL=postgresql://ben@db.example/course\n", encoding="utf-8")
    with database() as url:
        assert url == "postgresql://ben@db.example/course"


def test_without_database_url_a_server_lasts_as_long_as_it_is_needed(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setattr(pg_server, "LONGEST_SOCKET", 3)  # as where the temporary folder has a long name
    with database() as url:
        assert url.startswith("postgresql://postgres:") and "@127.0.0.1:" in url
        assert query(url, "SHOW listen_addresses") == [("127.0.0.1",)]
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root has to become somebody else")
def test_started_by_root_it_runs_as_nobody_and_also_where_nobody_cannot_read_the_package(monkeypatch):
    real, tries = subprocess.run, []

    def unreadable(command, **options):
        if "-V" in command:
            tries.append(command)
            raise PermissionError(13, "Permission denied")
        return real(command, **options)
    monkeypatch.setattr(pg_server.subprocess, "run", unreadable)
    with PostgresServer() as server:
        assert psutil.Process(server.pid).username() == "nobody" and len(tries) == 1
        assert server._bin.is_relative_to(server._run) and query(server.url, "SELECT 1") == [(1,)]
        query(server.url, "CREATE EXTENSION vector")
    assert pg_keeper.identity()["user"] != 0


def test_the_keeper_stops_no_server_but_its_own(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from helpers import pg_keeper; " \
           f"pg_keeper.keep('/no/such/program', {str(tmp_path)!r}, {str(tmp_path / 'run')!r})"
    (tmp_path / "postmaster.pid").write_text("77\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    for told, fails in (("78\n", False), ("", False), ("77\n", True)):
        done = subprocess.run([sys.executable, "-c", code], input=told, capture_output=True, encoding="utf-8")
        assert ("FileNotFoundError" in done.stderr) == fails  # it tried to run the program that stops it
    assert not (tmp_path / "run").exists()
