"""Measure the memory on a server beside the one in a file: `python tests/bench_pg.py [--keep] [SIZE…]`, a line a size.

What is measured is in `helpers.index_trial`. The server is the one of DATABASE_URL, else the embedded one. Without
sizes: 1,000, 10,000 and 100,000 lessons, some minutes. `--keep` writes data/index_trial.json, which notebook 10 shows.
"""

import os
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from helpers.index_trial import Measured, index_trial, keep_trial
from helpers.pg_scratch import scratch
from helpers.pg_server import database

SIZES = (1_000, 10_000, 100_000)
EF_SEARCH = (40, 100, 200)


def line(row: Measured) -> str:
    """One size: searches a second of each way, how they compare, recall, and the cost of an add."""
    indexed = "; ".join(f"index at {ef}: {1e3 / ms:7.0f}/s, recall {row.recall[ef]:.3f}, exact/index "
                        f"{row.exact_ms / ms:5.2f}, file/index {row.file_ms / ms:5.2f}"
                        for ef, ms in row.indexed_ms.items())
    return (f"{row.size:>9,} lessons, loaded and indexed in {row.load_s:6.1f} s | searches: file "
            f"{1e3 / row.file_ms:7.0f}/s, server exact {1e3 / row.exact_ms:7.0f}/s; {indexed} | one add: file "
            f"{row.file_add_ms:.2f} ms, server {row.server_add_ms:.2f} ms")


def main(arguments: Sequence[str] = ()) -> None:
    """Print a line for each size given, or for SIZES."""
    sizes = [int(text.replace(",", "").replace("_", "")) for text in arguments if text != "--keep"] or SIZES
    rows = []
    if hasattr(os, "getloadavg"):
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; k 3, vectors of 384 numbers, one client")
    with database() as url, scratch(url) as names, tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            rows.append(index_trial(size, url, folder, rng=np.random.default_rng(0), name=names(str(size)),
                                    ef_search=EF_SEARCH))
            print(line(rows[-1]), flush=True)
    if "--keep" in arguments:
        keep_trial(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
