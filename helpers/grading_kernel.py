"""Run cells in a kernel that is watched from outside: time, memory, number of processes, length of the output.

Left out: what the kernel refuses by itself (`grading_guard.py`) and what the cells are (`grading.py`).
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from jupyter_client import KernelManager
from jupyter_core.utils import ensure_event_loop

from helpers.exercises import MIME
from helpers.grading_guard import KEY_FILE
from helpers.jobs import kernel_environment

START_S = 120.0  # for a kernel to answer and for our own cells, on a slow machine
POLL_S = 0.1
TREE_S = 0.5  # between two looks at all processes, which cost more than a look at the kernel
MAX_OUTPUT = 1_000_000  # characters of one cell
MAX_PROCESSES = 64
MARK = "COURSE_GRADING_RUN"  # finds processes that have cut themselves loose
KEPT = ("PATH", "HOME", "USERPROFILE", "USER", "USERNAME", "LANG", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC",
        "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "VIRTUAL_ENV", "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME", "XDG_DATA_HOME", "JUPYTER_PATH", "PYTHONPATH")


@dataclass(frozen=True)
class Limits:
    """Of one exercise: seconds, and MB of memory of the kernel with all it starts; `total_s` is for a submission."""

    seconds: float = 60.0
    memory_mb: int = 2048

    @property
    def total_s(self) -> float:
        """Seconds for a submission, kernels started again included."""
        return 10 * self.seconds


@dataclass
class CellRun:
    """Verdicts that a cell showed, and what they told, its error on one line, and why the kernel is gone, if it is."""

    verdicts: list[dict] = field(default_factory=list)
    told: str = ""
    error: str = ""
    ended: str = ""


def environment(folder: Path, mark: str, base: dict[str, str] | None = None) -> dict[str, str]:
    """What a graded kernel finds in its environment: batch mode, its own folders, and nothing secret of `base`."""
    base = dict(os.environ) if base is None else base
    kept = {name: value for name, value in base.items() if name.upper() in KEPT or name.startswith("LC_")}
    own = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))
    own |= {"IPYTHONDIR": str(folder / "ipython"), "PYTHONDONTWRITEBYTECODE": "1", MARK: mark}
    return kernel_environment(base=kept) | own


class WatchedKernel:
    """A kernel in `folder`, ended when it takes too much; use it as a context manager."""

    def __init__(self, folder: Path, limits: Limits, stop: threading.Event) -> None:
        self.limits, self._stop, self._seen = limits, stop, {}
        self.key, self._mark = secrets.token_bytes(32), secrets.token_hex(16)
        for name in ("tmp", "ipython"):
            (folder / name).mkdir(exist_ok=True)
        (folder / KEY_FILE).write_bytes(self.key)
        self.ended = ""
        self.allow(START_S)
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(cwd=str(folder), env=environment(folder, self._mark), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, extra_arguments=["--HistoryManager.enabled=False"])
        self._process = psutil.Process(self._manager.provisioner.pid)
        self._client = self._manager.blocking_client()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def answers(self) -> bool:
        """Wait until the kernel answers; one that does not is ended."""
        try:
            self._client.start_channels()
            self._client.wait_for_ready(timeout=START_S)
        except RuntimeError:
            self.close()
            return False
        return True

    def __enter__(self) -> WatchedKernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def allow(self, seconds: float) -> None:
        """The kernel may work for so long from now on, until the next call."""
        self._deadline, self._late = time.monotonic() + seconds, f"stopped after {seconds:.0f} s"

    def run(self, code: str) -> CellRun:
        """Run one cell. After a result with `ended`, the kernel is of no use any more."""
        done, size = CellRun(), 0
        message = self._client.execute(code, store_history=False, allow_stdin=False)
        while not done.ended:
            finished = False
            try:
                reply = self._client.get_iopub_msg(timeout=POLL_S)
                size += _size(reply["content"])
                finished = reply["parent_header"].get("msg_id") == message and _take(reply, done)
            except queue.Empty:
                if not self.ended and not self._manager.is_alive():
                    self.ended = "the kernel ended"
            except Exception as error:  # an answer can send the grader anything
                self._end(f"sent what is no message ({type(error).__name__})")
            if size > MAX_OUTPUT:
                self._end(f"printed more than {MAX_OUTPUT:,} characters")
            done.ended = self.ended
            if finished:
                break
        return done

    def _watch(self) -> None:
        """The life of the watching thread: look at the limits until the kernel is gone."""
        looked = 0.0
        while not self.ended:
            time.sleep(POLL_S)
            now, tree = time.monotonic(), [self._process]
            if now - looked > TREE_S:
                looked, tree = now, self._family()
            try:
                memory = sum(process.memory_info().rss for process in tree) / 2**20
            except psutil.Error:  # one of them ended just now
                if not self._process.is_running() or self._process.status() == psutil.STATUS_ZOMBIE:
                    return
                continue
            if memory > self.limits.memory_mb:
                self._end(f"took more than {self.limits.memory_mb} MB of memory")
            elif len(tree) > MAX_PROCESSES:
                self._end(f"started more than {MAX_PROCESSES} processes")
            elif now > self._deadline:
                self._end(self._late)
            elif self._stop.is_set():
                self._end("interrupted")

    def _family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            family = [self._process, *self._process.children(recursive=True)]
            self._seen.update((process.pid, process) for process in family)
            return family
        return [self._process]

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        _kill([*self._family(), *self._seen.values()])

    def close(self) -> None:
        """End the kernel and everything it started."""
        self.ended = self.ended or "closed"
        self._end("")
        self._watcher.join()
        with contextlib.suppress(RuntimeError):  # channels that never started
            self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        ensure_event_loop().close()  # Jupyter made it for this thread, and makes another for the next kernel
        _kill([process for process in psutil.process_iter() if _marked(process, self._mark)])


def _size(content: dict) -> int:
    """Characters of a message; a flood of empty ones is one, too."""
    return 200 + sum(len(str(value)) for value in content.values())


def _take(reply: dict, done: CellRun) -> bool:
    """Note in `done` what a message says; whether it says that the cell has come to its end."""
    content, kind = reply["content"], reply["msg_type"]
    if kind == "error":
        done.error = f"{content['ename']}: {content['evalue']}"
    elif kind == "display_data" and isinstance(verdict := content["data"].get(MIME), dict):
        done.verdicts.append(verdict)
        done.told = " ".join(str(content["data"].get("text/plain")).split())
    return kind == "status" and content["execution_state"] == "idle"


def _marked(process: psutil.Process, mark: str) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return process.environ().get(MARK) == mark
    return False


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):  # psutil compares the time of the start: never another process
            process.kill()
