"""A server that is killed while processes write to it: they go on when it is back, and nothing acknowledged is lost."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from memory_fakes import Exact, Hashed, found
from pg_fakes import new_name, server

from helpers.agent_trial import audited
from helpers.pg_errors import MemoryServerError
from helpers.pg_memory import PgVectorMemory
from helpers.pg_server import PostgresServer

WRITER = """
    import os, sys
    from memory_fakes import Hashed
    from helpers.pg_memory import PgVectorMemory
    memory = PgVectorMemory(os.environ["PLACE"], Hashed(8), name=sys.argv[1], patience_s=120)
    for step in range(100_000):
        lesson_id = memory.add(f"spec {step}", f"{sys.argv[2]}.{step}")
        print(f"lesson {sys.argv[2]}.{step}", flush=True)
        memory.record(f"{sys.argv[2]}.{step}", [1, lesson_id], "success", [1, 0.5])
        print(f"episode {sys.argv[2]}.{step}", flush=True)
"""


def writer(place: PostgresServer, name: str, number: int) -> subprocess.Popen:
    here = Path(__file__).parent
    environment = os.environ | {"PLACE": place.url, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]),
                                "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), name, str(number)], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


def trouble(place: PostgresServer, kind: str, memory: PgVectorMemory) -> None:
    """Kill the server and start it again, or kill one of its processes, upon which it ends all and recovers."""
    if kind == "the server":
        place.crash()
        time.sleep(0.1)
        place.start()
    else:
        pid = memory._session.run(lambda cursor: cursor.execute("SELECT pg_backend_pid()").fetchone()[0])
        psutil.Process(pid).kill()


@pytest.mark.parametrize("kind", ["the server", "one of its processes"])
def test_writers_go_on_and_nothing_acknowledged_is_lost_or_done_twice(kind):
    victim = server()
    memory = PgVectorMemory(victim.url, Hashed(8), name=new_name(), patience_s=120)
    memory.add("shared", "the lesson of all")
    processes = [writer(victim, memory.name, number) for number in range(2)]
    said: list[str] = []
    try:
        for process in processes:
            said += [process.stdout.readline() for _ in range(6)]
        trouble(victim, kind, memory)
        done = [sum(lesson.text.startswith(f"{number}.") for lesson in memory) for number in range(2)]
        for number, process in enumerate(processes):
            while f"episode {number}.{done[number] + 5}\n" not in said[-1:]:  # five more than when it was back
                said.append(process.stdout.readline())
                assert said[-1], process.stderr.read()
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            out, errors = process.communicate()
            said += [line for line in out.splitlines(keepends=True) if line.endswith("\n")]
            assert errors == ""
    acknowledged = {line.strip() for line in said}
    texts = [lesson.text for lesson in memory]
    assert acknowledged <= {f"lesson {text}" for text in texts} | {f"episode {name}" for name in memory.receipts}
    assert len(acknowledged) >= 2 * sum(done) and len(texts) == len(set(texts))
    result = audited(memory)
    assert result.lost == 0 and result.differing == []
    memory.close()


def test_while_the_server_is_away_there_is_one_clear_error_and_then_it_works_again():
    victim = server()
    memory = PgVectorMemory(victim.url, Exact(), name=new_name(), patience_s=0.2)
    memory.add("0.5", "text")
    victim.crash()
    for act in (lambda: memory.search("query"), lambda: memory.add("0.6", "text"), lambda: len(memory), memory.compact,
                lambda: memory.record("e", [1], "success")):
        with pytest.raises(MemoryServerError, match="this memory connects anew by itself") as caught:
            act()
        assert caught.value.kind == "lost"
    with pytest.raises(MemoryServerError) as caught:
        PgVectorMemory(victim.url, Exact())
    assert caught.value.kind == "unreachable"
    victim.start()
    assert found(memory.search("query")) == [1] and memory.receipts == {}
    assert memory.add("0.6", "text") > 1  # a crash may leave a gap in the ids; none is given twice
    memory.close()
