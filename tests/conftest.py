"""What every test shares: batch mode, no keys, and a switch that blocks sockets."""

import os
import signal
import socket
from pathlib import Path

import pytest

KEY_VARIABLES = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "OPENROUTER_BASE_URL", "OPENAI_BASE_URL",
                 "OPENAI_MODEL_FAST", "OPENAI_MODEL_BIG", "COURSE_MODEL_PATH", "COURSE_BUDGET_USD",
                 "COURSE_SOURCE", "COURSE_PRICE_USD", "COURSE_SERVERS", "DATABASE_URL", "DASK_SCHEDULER_ADDRESS")


@pytest.fixture(autouse=True)
def batch_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test starts as CI does: BATCH_MODE on, none of the course's other variables set."""
    for name in KEY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BATCH_MODE", "true")


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to connect anywhere, loopback included, is an error."""
    def refuse(self, address):
        raise AssertionError(f"a socket was opened to {address!r}, expected none at all")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: refuse(None, a[:2]))


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of a store's content; that it reaches the disk is tested with real kills in test_memory_crash."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test may keep one memory."""
    return tmp_path / "m.jsonl"


def pytest_sessionstart(session: pytest.Session) -> None:
    # A shell that starts the suite in the background has it ignore SIGINT, and so would every child.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("PYTHONHASHSEED", "0")
