"""Measure the memory against what it could be replaced by: `python tests/bench_memory.py` prints everything in one run.

Search is compared with faiss, scikit-learn and the loop over entries, on the same vectors, threads and queries; a
durable add with rewriting a JSON file and with SQLite. Everybody takes turns, so that a busy machine slows all of
them. For a search the quickest turn counts, since other programs only add to it; for an add the median, since the disk
belongs to it. Milliseconds mean little elsewhere; the ratios are what to look at.
"""

import json
import math
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from helpers.journal import Journal
from helpers.memory import VectorMemory
from helpers.memory_format import FORMAT, VERSION

SIZE, WIDTH, K = 10_000, 384, 3
SIZES = (10, 1_000, 10_000)
SPEC = "Write `largest(values)` that returns the largest of a list of numbers, number {}."
TEXT = "For an empty list the house rule asks for None, not for an exception. Lesson {}."


class Given:
    """Looks vectors up that were drawn beforehand, so that no embedding is timed."""

    fingerprint = "Given()"

    def __init__(self, rng: np.random.Generator, queries: int) -> None:
        vectors = rng.standard_normal((SIZE + queries, WIDTH)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.vectors, self.queries = vectors[:SIZE], vectors[SIZE:]
        self._row = {SPEC.format(i): vectors[i] for i in range(SIZE)}
        self._row |= {f"query {i}": vectors[SIZE + i] for i in range(queries)}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._row[text] if text in self._row else self.vectors[0] for text in texts])


def filled(path: Path, size: int, embedder: Given) -> VectorMemory:
    """A memory of `size` lessons, written in one go."""
    header = {"format": FORMAT, "version": VERSION, "embedder": embedder.fingerprint, "log": "bench", "next_id": 1}
    journal = Journal(path)
    with journal.lock():
        journal.replace(header, ({"event": "add", "id": i + 1, "spec": SPEC.format(i), "text": TEXT.format(i),
                                  "code": "", "source": f"p{i}", "family": f"f{i % 16}", "time": ""}
                                 for i in range(size)))
    memory = VectorMemory(path, embedder)
    memory.search("query 0")
    return memory


def timed(turns: dict[str, Callable[[], object]], statistic: Callable[[list[float]], float], *, rounds: int,
          budget: float = 4.0) -> dict[str, float]:
    """Seconds of each by `statistic`, over rounds in which each has one turn; fewer rounds when `budget` is spent."""
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    begun = time.perf_counter()
    for number in range(rounds):
        for name, turn in turns.items():
            start = time.perf_counter()
            turn()
            seconds[name].append(time.perf_counter() - start)
        if number >= 2 and time.perf_counter() - begun > budget:
            break
    return {name: statistic(times) for name, times in seconds.items()}


def loop_over_lists(entries: list[list[float]], query: list[float]) -> list[int]:
    """The search of a memory kept as JSON: one cosine after the other, in Python."""
    scores = [sum(a * b for a, b in zip(entry, query, strict=True)) for entry in entries]
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:K]


def loop_over_arrays(entries: list[np.ndarray], query: np.ndarray) -> list[int]:
    """The same with one numpy call an entry."""
    scores = [float(np.dot(entry, query)) for entry in entries]
    return sorted(range(len(scores)), key=lambda i: -scores[i])[:K]


def bench_search(folder: Path, threads: int, embedder: Given) -> None:
    """Print the search table for one number of threads."""
    memory, vectors = filled(folder / f"search{threads}.jsonl", SIZE, embedder), embedder.vectors
    index = faiss.IndexFlatIP(WIDTH)
    index.add(vectors)
    brute = NearestNeighbors(n_neighbors=K, metric="cosine", algorithm="brute").fit(vectors)
    lists, arrays = vectors.tolist(), list(vectors)
    faiss.omp_set_num_threads(threads)
    single = math.nan  # seconds of one search for one query
    with threadpool_limits(threads):
        for batch, rounds in ((1, 300), (32, 40)):
            names, queries = [f"query {i}" for i in range(batch)], embedder.queries[:batch]
            ours = [[hit.lesson.id - 1 for hit in hits] for hits in memory.search_many(names, K)]
            assert ours == index.search(queries, K)[1].tolist(), "the memory and faiss disagree"
            found = timed({"memory": lambda names=names: memory.search_many(names, K),
                           "product": lambda queries=queries: memory._vectors.index.scores(queries),
                           "faiss": lambda queries=queries: index.search(queries, K),
                           "sklearn": lambda queries=queries: brute.kneighbors(queries)}, min, rounds=rounds)
            base = found["memory"]
            single = base if batch == 1 else single
            print(f"search, {SIZE:,} x {WIDTH}, {threads} thread(s), {batch:>2} queries: memory {base * 1e3:7.3f} ms "
                  f"(of which the product {found['product'] * 1e3:.3f}), faiss {found['faiss'] * 1e3:.3f}, "
                  f"scikit-learn {found['sklearn'] * 1e3:.3f}; memory/faiss {base / found['faiss']:.2f} "
                  f"(reach <= 1.5), scikit-learn/memory {found['sklearn'] / base:.1f}")
        query = embedder.queries[0]
        filters = {"exclude": "p1", "family": "f3", "min_worth": 0.4}
        loops = timed({"filtered": lambda: memory.search("query 0", K, **filters),
                       "lists": lambda: loop_over_lists(lists, query.tolist()),
                       "arrays": lambda: loop_over_arrays(arrays, query)}, min, rounds=5)
        print(f"search, one query, {threads} thread(s): loop over entries {loops['lists'] * 1e3:.0f} ms, loop/memory "
              f"{loops['lists'] / single:.0f} (reach >= 100); with a numpy call an entry "
              f"{loops['arrays'] * 1e3:.1f} ms, {loops['arrays'] / single:.0f}; memory with three filters "
              f"{loops['filtered'] * 1e3:.2f} ms")


def rewrite_json(path: Path, entries: list[dict]) -> None:
    """An add as a memory in one JSON list does it, made atomic and durable for the comparison."""
    entries.append(entries[-1])
    fresh = path.with_suffix(".tmp")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(entries, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def sqlite_of(path: Path, size: int, embedder: Given, mode: str) -> sqlite3.Connection:
    """A table of `size` lessons with their vectors, every commit on the disk before it returns."""
    database = sqlite3.connect(path)
    database.execute(f"pragma journal_mode={mode}")
    database.execute("pragma synchronous=full")
    database.execute("create table lesson (id integer primary key autoincrement, spec, text, vector)")
    database.executemany("insert into lesson (spec, text, vector) values (?, ?, ?)",
                         ((SPEC.format(i), TEXT.format(i), embedder.vectors[i].tobytes()) for i in range(size)))
    database.commit()
    return database


def insert(database: sqlite3.Connection, embedder: Given) -> None:
    database.execute("insert into lesson (spec, text, vector) values (?, ?, ?)",
                     (SPEC.format(0), TEXT.format(0), embedder.vectors[0].tobytes()))
    database.commit()


def bench_add(folder: Path, embedder: Given) -> None:
    """Print the table of durable adds, and how flat each row is."""
    rows: dict[str, list[float]] = {"memory": [], "memory, disk not waited for": [], "SQLite, full, WAL": [],
                                    "SQLite, full, rollback journal": [], "one fsync": [], "JSON rewritten": []}
    for size in SIZES:
        memory = filled(folder / f"add{size}.jsonl", size, embedder)
        wal, rollback = (sqlite_of(folder / f"{size}.{mode}.db", size, embedder, mode) for mode in ("wal", "delete"))
        entries = [{"id": i, "spec": SPEC.format(i), "lesson": TEXT.format(i), "vector": embedder.vectors[i].tolist()}
                   for i in range(size)]
        with (folder / f"{size}.raw").open("ab", buffering=0) as raw:
            found = timed({
                "memory": lambda memory=memory: memory.add(SPEC.format(0), TEXT.format(0)),
                "SQLite, full, WAL": lambda database=wal: insert(database, embedder),
                "SQLite, full, rollback journal": lambda database=rollback: insert(database, embedder),
                "one fsync": lambda raw=raw: (raw.write(b"x" * 300), os.fsync(raw.fileno()))},
                statistics.median, rounds=50)
        with mock.patch("os.fsync"):
            found |= timed({"memory, disk not waited for":
                            lambda memory=memory: memory.add(SPEC.format(0), TEXT.format(0))}, min, rounds=200)
        found |= timed({"JSON rewritten": lambda size=size, entries=entries: rewrite_json(
            folder / f"{size}.json", entries)}, statistics.median, rounds=5 if size < 10_000 else 1)
        for name, row in rows.items():
            row.append(found[name])
        wal.close()
        rollback.close()
    print(f"\n{'one add, milliseconds':<32}" + "".join(f"{f'at {size:,}':>12}" for size in SIZES)
          + f"{'last/first':>12}{'vs memory at the last':>24}")
    for name, row in rows.items():
        print(f"{name:<32}" + "".join(f"{seconds * 1e3:12.3f}" for seconds in row)
              + f"{row[-1] / row[0]:12.2f}{row[-1] / rows['memory'][-1]:24.2f}")


def bench_open(folder: Path, embedder: Given) -> None:
    """Print what it takes to open a memory and search it once, with and without the cache of vectors."""
    path = folder / "open.jsonl"
    filled(path, SIZE, embedder).compact()
    seconds = timed({"open": lambda: VectorMemory(path, embedder),
                     "open and search": lambda: VectorMemory(path, embedder).search("query 0")}, min, rounds=5)
    print(f"\nopen {SIZE:,} lessons: {seconds['open'] * 1e3:.0f} ms; with the first search, vectors from the cache: "
          f"{seconds['open and search'] * 1e3:.0f} ms; log {path.stat().st_size / 1e6:.1f} MB, cache "
          f"{path.with_name(path.name + '.vectors.npz').stat().st_size / 1e6:.1f} MB")


def main() -> None:
    """Run all of it, in about a minute."""
    embedder = Given(np.random.default_rng(0), 32)
    if hasattr(os, "getloadavg"):
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; with a load near or above the cores, read the "
              "rows of one thread only")
    assert math.isclose(float(np.linalg.norm(embedder.vectors[0])), 1, rel_tol=1e-6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for threads in sorted({1, min(2, os.cpu_count() or 1)}):
            bench_search(folder, threads, embedder)
        bench_add(folder, embedder)
        bench_open(folder, embedder)


if __name__ == "__main__":
    main()
