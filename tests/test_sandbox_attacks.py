"""Attacks on the sandbox: every one of a corpus, siblings of each kind, and what is left when all have run."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil  # comes with ipykernel
import pytest

from helpers import monty_sessions
from helpers.sandbox import TestReport, run_tests

FAKE_KEY = "sk-fake-0123456789"
STATUSES = {"passed", "failed", "error", "timeout", "memory", "unsupported", "crash"}
DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "sandbox_cases.json").read_text(encoding="utf-8"))
SIBLINGS = json.loads((DATA / "sandbox_siblings.json").read_text(encoding="utf-8"))  # kind -> code with its tests
ESCAPES = ("leak", "gone", "file", "net", "sig", "orphan")


@dataclass(frozen=True)
class World:
    """What an escape would reach: a folder with a key and a file, a listening socket, a signal handler."""

    folder: Path
    server: socket.socket
    signals: list[int]

    def filled(self, code: str) -> str:
        port = self.server.getsockname()[1]
        return code.replace("{JAIL}", self.folder.as_posix()).replace("18765", str(port))

    def check(self, report: TestReport) -> None:
        """Nothing was reached, and what is told of the code may go into a prompt."""
        assert FAKE_KEY not in repr(report)
        assert self.folder.as_posix() not in repr(report)
        assert {path.name: path.read_text() for path in self.folder.iterdir()} == {
            ".env": f"OPENROUTER_API_KEY={FAKE_KEY}\n", "victim": "alive"}
        with pytest.raises(BlockingIOError):
            self.server.accept()
        assert not self.signals
        for result in report.results:
            assert result.status in STATUSES
            assert 0 < len(result.detail) <= 300 and result.detail.isprintable()
            assert "```" not in result.detail and "<|" not in result.detail and " at 0x" not in result.detail


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("jail")
    (folder / ".env").write_text(f"OPENROUTER_API_KEY={FAKE_KEY}\n")
    (folder / "victim").write_text("alive")
    signals: list[int] = []
    with socket.socket() as server, pytest.MonkeyPatch.context() as patch:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        patch.setenv("OPENROUTER_API_KEY", FAKE_KEY)
        monty_sessions.close()  # the workers are to be started with the key in their environment
        run_tests("x = 1", ["x == 1"])
        if hasattr(signal, "SIGUSR1"):
            before = signal.signal(signal.SIGUSR1, lambda number, frame: signals.append(number))
        yield World(folder, server, signals)
        if hasattr(signal, "SIGUSR1"):
            signal.signal(signal.SIGUSR1, before)
    monty_sessions.close()


def run(world: World, code: str, tests: list[str], want: str) -> TestReport:
    """Run with short limits, except for right code; no run may take long, whatever the code does."""
    begun = time.monotonic()
    report = run_tests(world.filled(code), tests, timeout_s=30.0 if want in ("fn", "robust", "forge") else 0.2)
    assert time.monotonic() - begun < 60
    assert len(report.results) == len(tests)
    world.check(report)
    return report


VARIANTS = [pytest.param(case, code, id=f"{case['id']}-{number}")
            for case in CASES for number, code in enumerate(case["codes"])]


@pytest.mark.parametrize(("case", "code"), VARIANTS)
def test_corpus(world: World, case: dict, code: str) -> None:
    want = case["want"].partition(":")[0]
    report = run(world, code, case["tests"], want)
    if want == "fn" or case["id"] == "forge_marker_garbage":  # right code that prints nonsense
        assert report.passed, report
    elif case["id"] != "slow_quadratic_str":  # which may take its time and be right
        assert not report.passed
    if want in (*ESCAPES, "forge"):
        assert report.n_passed == 0




def siblings(kind: str) -> list[object]:
    return [pytest.param(row["code"], row["tests"], id=f"{kind}-{n}") for n, row in enumerate(SIBLINGS[kind])]


@pytest.mark.parametrize(("code", "tests"), siblings("escape"))
def test_no_escape(world: World, code: str, tests: list[str]) -> None:
    assert run(world, code, tests, "leak").n_passed == 0


@pytest.mark.parametrize(("code", "tests"), siblings("forge"))
def test_no_forged_pass(world: World, code: str, tests: list[str]) -> None:
    assert run(world, code, tests, "forge").n_passed == 0


@pytest.mark.parametrize(("code", "tests"), siblings("state"))
def test_no_state_from_test_to_test(world: World, code: str, tests: list[str]) -> None:
    report = run(world, code, tests, "forge")
    assert [result.status for result in report.results] == ["passed", "failed", "passed", "passed"]


@pytest.mark.parametrize(("code", "tests"), [*siblings("heavy"), *siblings("crash")])
def test_heavy_code_ends_and_is_no_pass(world: World, code: str, tests: list[str]) -> None:
    assert run(world, code, tests, "dos").n_passed == 0


LONG = ["def f(n): return f(n + 1)  #" + "x" * 40_000, "f = lambda n: undefined" + "a" * 40_000, "x = 1\n" * 10_000,
        "\"\\" * 20_000, "'''\\" * 10_000, "(x for x in y)" * 3_000, "def f(a" * 6_000, "#" * 10**7,
        "(" * 3_000 + ")" * 3_000, "".join(" " * depth + "if 1:\n" for depth in range(300)) + " " * 300 + "pass"]


@pytest.mark.parametrize("code", LONG, ids=range(len(LONG)))
def test_long_code_ends_and_is_no_pass(world: World, code: str) -> None:
    assert run(world, code, ["f(0) == 1"], "dos").n_passed == 0


@pytest.mark.parametrize(("code", "tests"), siblings("inject"))
def test_what_is_told_cannot_break_out_of_a_prompt(world: World, code: str, tests: list[str]) -> None:
    first, second = (run(world, code, tests, "robust") for _ in range(2))
    assert first.n_passed == 0
    assert first.results == second.results


@pytest.mark.parametrize(("code", "tests"), siblings("right"))
def test_right_code_passes(world: World, code: str, tests: list[str]) -> None:
    report = run(world, code, tests, "fn")
    assert report.passed, report


def test_other_tests_keep_their_verdict(world: World) -> None:
    code = ("def f(n):\n    if n == 1:\n        while True: pass\n    if n == 2: return 'a' * 10**10\n"
            "    if n == 3: return 1 / 0\n    if n == 4: return [f] * 5\n    return n")
    report = run_tests(code, [f"f({n}) == {n}" for n in (0, 1, 2, 3, 4, 5)], timeout_s=0.5)
    assert [result.status for result in report.results] == [
        "passed", "timeout", "memory", "error", "failed", "passed"]


def test_nothing_is_left_behind(world: World) -> None:
    """After floods the process is as small as before, and closing ends every worker."""
    me = psutil.Process()
    before = me.memory_info().rss
    for code in ("print('x' * 2 * 10**8)", "def f(n): return [0] * 10**7", "raise ValueError('x' * 10**7)",
                 "def f(n):\n    x = [1]\n    for _ in range(40): x = [x, x]\n    return x"):
        run(world, code, ["f(0) == 1"], "mem")
    assert me.memory_info().rss - before < 100 * 2**20
    assert run_tests("def f(n): return n * n", ["f(2) == 4", "sorted([f(3)]) == [9]"]).passed
    monty_sessions.close()
    assert not [child for child in me.children(recursive=True) if "monty" in child.name()]
    assert not [process.pid for process in psutil.process_iter() if "h6orphan" in _command(process)]
    assert run_tests("def f(n): return n * n", ["f(2) == 4"]).passed


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
