"""Wait until whoever started this program is gone, then stop the server it had started, and clear up after it.

Left out: starting the server (`helpers.pg_server`). A process that is killed cannot clear up itself; but its end of a
pipe closes, whatever ended it, and this program reads the other end. Imports as little as it can.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any


def identity() -> dict[str, Any]:
    """Whom to run PostgreSQL as, by the keywords of `subprocess`: it refuses to be root, who becomes "nobody"."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    import pwd
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def keep(pg_ctl: str, data: str, run: str) -> None:
    """Read process ids of servers until the pipe closes; stop the last one if it still serves `data`; remove `run`."""
    pid = ""
    for line in sys.stdin:
        pid = line.strip()
    lock = Path(data, "postmaster.pid")
    if pid and lock.exists() and lock.read_text().split("\n")[0].strip() == pid:
        subprocess.run([pg_ctl, "-D", data, "-m", "fast", "-w", "-t", "60", "stop"], cwd=run, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity())
    rmtree(run, ignore_errors=True)


def command(pg_ctl: Path, data: Path, run: Path) -> Sequence[str]:
    """How to start this program."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(pg_ctl), str(data), str(run)]


if __name__ == "__main__":
    keep(*sys.argv[1:])
