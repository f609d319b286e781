"""What is to be executed and what became of it: one job a notebook, one run a job, and the kernels' environment.

Left out: executing anything (`execute.py` hands jobs to processes, `fresh_kernel.py` does one).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Every kernel that executes or re-checks a notebook starts with these, so that two runs print the same bytes.
# The names of source files in warnings, hash order, time zone, progress bars, line width and the order in which
# parallel threads add numbers would differ otherwise.
KERNEL_ENVIRONMENT = {
    "PYTHONHASHSEED": "0", "IPYKERNEL_CELL_NAME": "<cell>", "TZ": "UTC", "TQDM_DISABLE": "1",
    "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "80", "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
KERNEL_WITHOUT = ("MPLBACKEND", "JPY_SESSION_NAME", "JPY_PARENT_PID", "VSCODE_PID")
SOURCES = ("replay", "live", "record")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One notebook to execute into the folder `output`. `cell_timeout_s` None is no limit for a cell."""

    notebook: Path
    output: Path
    parameters: Mapping[str, object] = field(default_factory=dict)
    source: str = "replay"
    cell_timeout_s: int | None = 600


@dataclass(frozen=True, kw_only=True)
class Run:
    """What became of one notebook; `problem` names the cell and the error when it did not pass."""

    name: str
    passed: bool
    seconds: float
    problem: str = ""


def kernel_environment(source: str = "replay", base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment a kernel starts with: `base` (this process's by default) with KERNEL_ENVIRONMENT.

    `source` says who answers the notebook's model calls. "replay" is batch mode: recorded answers, no network.

    >>> environment = kernel_environment(base={"MPLBACKEND": "agg", "HOME": "/home/me"})
    >>> environment["HOME"], environment["BATCH_MODE"], "MPLBACKEND" in environment
    ('/home/me', 'true', False)
    """
    if source not in SOURCES:
        raise ValueError(f"expected one of {', '.join(SOURCES)} as source, got {source!r}")
    kept = {name: value for name, value in (os.environ if base is None else base).items()
            if name not in KERNEL_WITHOUT}
    batch = "true" if source == "replay" else "false"
    return kept | KERNEL_ENVIRONMENT | {"BATCH_MODE": batch, "COURSE_SOURCE": source}
