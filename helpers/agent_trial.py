"""Many agents at once on one memory, as real processes that meet at the same moment; then the counters are audited.

Left out: what the agents would be doing in between. One kind of memory makes the usual mistake on purpose, to show
what it costs: it reads a counter, adds to it in Python, and writes the sum back.
"""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from helpers.embeddings import MiniLM
from helpers.lessons import Receipt
from helpers.memory import VectorMemory
from helpers.pg_memory import PgVectorMemory
from helpers.problems import load_problems

SHARED = 3          # lessons that every agent is given, and records, in every round
PATIENCE_S = 120.0  # agents that say nothing for so long are ended, and that is an error
PLACES = "COURSE_TRIAL_PLACES"  # a variable: an address in the arguments would show its password to all users


class ReadThenWrite(PgVectorMemory):
    """The mistake. `meanwhile` is called between reading and writing, where other agents may do the same."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def _hold(self, cursor: psycopg.Cursor, receipt: Receipt) -> set[int]:
        return set(receipt.weights)

    def _count(self, cursor: psycopg.Cursor, receipt: Receipt, time: str, event: int) -> None:
        won, ids = float(receipt.outcome == "success"), sorted(receipt.weights)
        rows = cursor.execute("SELECT id, hits_plus, hits_minus, uses FROM lesson WHERE id = ANY(%s) ORDER BY id",
                              [ids]).fetchall()
        self.meanwhile()
        for lesson_id, plus, minus, uses in rows:
            weight = receipt.weights[lesson_id]
            cursor.execute("UPDATE lesson SET hits_plus = %s, hits_minus = %s, uses = %s WHERE id = %s",
                           [plus + weight * won, minus + weight * (1 - won), uses + 1, lesson_id])


KINDS = {"file": VectorMemory, "server": PgVectorMemory, "read, then write": ReadThenWrite}


@dataclass(frozen=True)
class Trial:
    """What the receipts say each counter should be, and what it is, each summed over all lessons."""

    agents: int
    rounds: int
    lessons: int          # in the memory at the end
    episodes: int         # with a receipt
    told: float
    counted: float
    differing: list[int]  # ids of lessons whose counters are not what their receipts say

    @property
    def lost(self) -> float:
        """Outcomes that were recorded and are in no counter."""
        return self.told - self.counted


def trial(kind: str, place: str | Path, *, name: str = "trial", agents: int = 8, rounds: int = 5) -> Trial:
    """Let `agents` processes add a lesson and record an episode in each round, all at the same moment; audit them.

    `place` is the path of a file (kind "file") or the address of a server ("server", "read, then write"), where the
    memory `name` must be new. RuntimeError, with its last words, when an agent ends before its work is done.
    """
    return trials({kind: place}, name=name, agents=agents, rounds=rounds)[kind]


def trials(places: Mapping[str, str | Path], *, name: str = "trial", agents: int = 8,
           rounds: int = 5) -> dict[str, Trial]:
    """`trial` of several kinds, one after the other, by the same processes; on a server, the kind ends the name."""
    if unknown := places.keys() - KINDS:
        raise ValueError(f"kind: expected some of {', '.join(KINDS)}; got {sorted(unknown)}")
    for kind, place in places.items():
        with _opened(kind, place, name) as memory:
            for problem in load_problems()[:SHARED]:
                memory.add(problem.spec, problem.instruction, source=problem.id, family=problem.family)
    _run(places, name, agents, rounds)
    result = {}
    for kind, place in places.items():
        with _opened(kind, place, name) as memory:
            result[kind] = audited(memory, agents, rounds)
    return result


def _run(places: Mapping[str, str | Path], name: str, agents: int, rounds: int) -> None:
    """Start the processes, let them meet as often as they will, and see each of them end well."""
    meetings = rounds * (len(places) + ("read, then write" in places))
    with ExitStack() as stack:
        processes = [stack.enter_context(_agent(places, name, number, rounds)) for number in range(agents)]
        timer = threading.Timer(PATIENCE_S, lambda: [process.kill() for process in processes])
        timer.start()
        stack.callback(timer.cancel)
        stack.callback(lambda: [process.kill() for process in processes])
        for _ in range(meetings):
            _meet(processes)
        for process in processes:
            if process.wait():
                raise _failed(process)


def audited(memory: VectorMemory | PgVectorMemory, agents: int = 1, rounds: int = 1) -> Trial:
    """Compare every counter with the sum of the receipts."""
    plus, minus, uses = Counter(), Counter(), Counter()
    receipts, lessons = memory.receipts, [*memory, *memory.archived]
    for receipt in receipts.values():
        for lesson_id, weight in receipt.weights.items():
            plus[lesson_id] += weight * (receipt.outcome == "success")
            minus[lesson_id] += weight * (receipt.outcome == "failure")
            uses[lesson_id] += receipt.outcome != "infrastructure"
    differing = [lesson.id for lesson in lessons if (lesson.hits_plus, lesson.hits_minus, lesson.uses)
                 != (plus[lesson.id], minus[lesson.id], uses[lesson.id])]
    return Trial(agents, rounds, len(lessons), len(receipts), float(sum(plus.values()) + sum(minus.values())),
                 sum(lesson.hits_plus + lesson.hits_minus for lesson in lessons), differing)


def work(kind: str, place: str, name: str, number: int, rounds: int, meet: Callable[[], object]) -> None:
    """What one agent does; `meet` returns when all agents have called it."""
    problems = load_problems()
    with _opened(kind, place, name) as memory:
        if isinstance(memory, ReadThenWrite):
            memory.meanwhile = meet
        for step in range(rounds):
            problem = problems[(SHARED + number * rounds + step) % len(problems)]
            own = memory.add(problem.spec, f"{number} {step}: {problem.instruction}", source=problem.id)
            shared = [1 + (number + step + place) % SHARED for place in range(SHARED)]  # each in another order
            meet()
            memory.record(f"{number} {step}", [*shared, own], "failure" if (number + step) % 3 == 0 else "success",
                          [1.0] * SHARED + [0.5], problem=f"none {number}")


def _opened(kind: str, place: str | Path, name: str) -> VectorMemory | PgVectorMemory:
    return KINDS[kind](place, MiniLM(), **({} if kind == "file" else {"name": f"{name} {kind}"}))


def _agent(places: Mapping[str, str | Path], name: str, number: int, rounds: int) -> subprocess.Popen:
    root = Path(__file__).resolve().parent.parent
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    told = json.dumps({kind: str(place) for kind, place in places.items()})
    environment = os.environ | {PLACES: told, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-m", "helpers.agent_trial", name, str(number), str(rounds)],
                            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            encoding="utf-8")


def _meet(processes: list[subprocess.Popen]) -> None:
    """Wait until each process has written a line, then give each a line."""
    for process in processes:
        if not process.stdout.readline():
            process.kill()
            raise _failed(process)
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()


def _failed(process: subprocess.Popen) -> RuntimeError:
    words = process.stderr.read().strip().splitlines() or ["silence"]
    return RuntimeError(f"expected an agent to do its work, got: {words[-1]}")


def _wait_for_the_others() -> None:
    print("here", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    for its_kind, its_place in json.loads(os.environ[PLACES]).items():
        work(its_kind, its_place, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), _wait_for_the_others)
