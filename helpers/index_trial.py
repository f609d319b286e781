"""Measure what the index of a server is worth: how many of the true neighbours it finds, and what a search costs.

Left out: many clients at once, and other kinds of index. Times depend on the machine and its load; what means
something elsewhere are the ratios within one trial, and the recall.
"""

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import numpy as np

from helpers.memory import VectorMemory
from helpers.memory_content import Content, to_file
from helpers.neural_embeddings import VECTORS, MiniLM
from helpers.pg_content import to_server
from helpers.pg_memory import PgVectorMemory
from helpers.progress_bar import progress_bar
from helpers.settings import DATA
from helpers.unit_vectors import unit_rows

FORCED = "-c enable_seqscan=off -c enable_sort=off"  # settings with which the index is used, also where it is slower
KEPT = DATA / "index_trial.json"  # a trial of large sizes, which a reader need not wait for
NOISE = 0.6  # length of what is added to a unit vector: the result has cosine 0.86 with it on average


class Given:
    """An embedder whose vectors are given: text number i, "lesson i" or "query i", has row i."""

    fingerprint = "Given()"

    def __init__(self, lessons: np.ndarray, queries: np.ndarray) -> None:
        self._rows = {"lesson": lessons, "query": queries}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """(n, d) float32."""
        pairs = [text.split() for text in texts]
        rows = [self._rows[kind][int(number)] for kind, number in pairs]
        return np.array(rows, np.float32).reshape(len(rows), self._rows["query"].shape[1])


@dataclass(frozen=True)
class Measured:
    """Of one size: seconds to load and index all lessons; milliseconds a search and an add; recall of the index.

    `recall` is the share of the true best k that the index finds, over all queries, by `ef_search`, as is
    `indexed_ms`.
    """

    size: int
    load_s: float
    file_ms: float
    exact_ms: float
    indexed_ms: dict[int, float]
    recall: dict[int, float]
    file_add_ms: float
    server_add_ms: float


def keep_trial(rows: Sequence[Measured], path: Path = KEPT) -> None:
    """Write what was measured to `path`, with the day and the kind of machine."""
    kept = {"recorded": f"{datetime.now(UTC):%Y-%m-%d}", "cores": os.cpu_count(),
            "machine": f"{platform.system()} {platform.machine()}", "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8", newline="\n")


def kept_trial(path: Path = KEPT) -> tuple[list[Measured], str]:
    """The rows of a trial that was kept, smallest size first, and one line that says when and where it was made.

    Raises:
        ValueError: the file does not hold a trial.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        by_ef = {"indexed_ms", "recall"}
        rows = [Measured(**{name: {int(ef): each for ef, each in value.items()} if name in by_ef else value
                            for name, value in row.items()}) for row in kept["rows"]]
        made = f"{kept['recorded']}, {kept['machine']}, {kept['cores']} cores"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name}: expected what `python tests/bench_pg.py --keep` writes, "
                         f"got {error!r}") from None
    return sorted(rows, key=lambda row: row.size), made


def likeness(n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 384) float32 unit vectors that lie as those of texts do: the course's own, each with noise of length NOISE.

    Vectors drawn evenly from all directions would be the hardest case for an index, and no case of texts: there,
    all are about equally far from each other.
    """
    with np.load(VECTORS, allow_pickle=False) as file:
        known = file["vectors"]
    rows = known[rng.integers(len(known), size=n)]  # (n, 384)
    return unit_rows(rows + rng.standard_normal(rows.shape, np.float32) * (NOISE / np.sqrt(MiniLM.dimension)))


def index_trial(size: int, url: str, folder: str | Path, *, rng: np.random.Generator, name: str = "trial",
                k: int = 3, queries: int = 50, ef_search: Sequence[int] = (40, 100), rounds: int = 3) -> Measured:
    """Fill a new memory `name` on the server and a new file in `folder` with the same lessons; search and add in both.

    All ways of searching take turns, and the best of `rounds` counts, since other programs only add to it.
    """
    lessons, asked = likeness(size, rng), likeness(queries, rng)
    embedder = Given(np.concatenate([lessons, asked]), asked)
    path = Path(folder) / f"{name}.jsonl"
    load_s = _filled(lessons, embedder, path, url, name)
    texts = [f"query {i}" for i in range(queries)]
    forced = f"{url}{'&' if '?' in url else '?'}options={quote(FORCED)}"
    with ExitStack() as stack:
        ways: dict[str | int, VectorMemory | PgVectorMemory] = {
            "file": VectorMemory(path, embedder), "exact": PgVectorMemory(url, embedder, name=name, exact_up_to=size)}
        ways |= {ef: PgVectorMemory(forced, embedder, name=name, exact_up_to=0, ef_search=ef) for ef in ef_search}
        for memory in ways.values():
            stack.enter_context(memory)
        found = {way: [_ids(memory, text, k) for text in texts]
                 for way, memory in progress_bar(ways.items(), "ways of searching", total=len(ways))}
        if found["exact"] != found["file"]:
            raise RuntimeError("expected the same lessons from server and file, got others; the exact search is wrong")
        cost = _best({way: lambda memory=memory: [memory.search(text, k, None) for text in texts]
                      for way, memory in ways.items()}, rounds)
        adds = _best({way: lambda memory=ways[way]: [memory.add(f"lesson {size + i}", "new") for i in range(10)]
                      for way in ("file", "exact")}, rounds)
    search_ms = {way: 1e3 * seconds / queries for way, seconds in cost.items()}
    return Measured(size, load_s, search_ms["file"], search_ms["exact"], {ef: search_ms[ef] for ef in ef_search},
                    {ef: _recall(found["file"], found[ef]) for ef in ef_search}, 100 * adds["file"],
                    100 * adds["exact"])


def _filled(lessons: np.ndarray, embedder: Given, path: Path, url: str, name: str) -> float:
    """Write the lessons to both; seconds the server took."""
    events = [{"event": "add", "id": i + 1, "spec": f"lesson {i}", "text": f"what was learnt from task {i}", "code": "",
               "source": f"task {i}", "family": f"family {i % 16}", "time": ""} for i in range(len(lessons))]
    content = Content(embedder.fingerprint, events, len(lessons) + 1, dict(enumerate(lessons, 1)))
    to_file(content, path)
    start = time.perf_counter()
    to_server(content, url, name, embedder)
    return time.perf_counter() - start


def _recall(truth: Sequence[Sequence[int]], found: Sequence[Sequence[int]]) -> float:
    """The share of the true ids that were found, over all queries."""
    return sum(len({*true} & {*ids}) for true, ids in zip(truth, found, strict=True)) / sum(map(len, truth))


def _ids(memory: VectorMemory | PgVectorMemory, text: str, k: int) -> list[int]:
    return [hit.lesson.id for hit in memory.search(text, k, None)]


def _best(turns: dict[str | int, Callable[[], object]], rounds: int) -> dict[str | int, float]:
    """Least seconds of each, over rounds in which each has one turn."""
    least = dict.fromkeys(turns, float("inf"))
    for _ in progress_bar(range(rounds), "rounds of timing"):
        for name, turn in turns.items():
            start = time.perf_counter()
            turn()
            least[name] = min(least[name], time.perf_counter() - start)
    return least
