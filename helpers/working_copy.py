"""Give a reader a copy of a notebook to write in, so that pulling a new version of the course never conflicts.

Left out: merging a copy with a newer notebook.
"""

import shutil
from pathlib import Path

from helpers.curriculum import ROOT

WORK = ROOT / "work"


def make_copy(notebook: Path, *, folder: Path = WORK, again: bool = False) -> tuple[Path, bool]:
    """The copy of `notebook` in `folder`, and whether it was made now.

    A copy that exists is never overwritten. With `again` it is kept under the first free number
    (`01_name.1.ipynb`) and a new one is made.
    """
    copy = folder / notebook.name
    if copy.exists() and not again:
        return copy, False
    folder.mkdir(parents=True, exist_ok=True)
    if copy.exists():
        copy.rename(_free_name(copy))
    shutil.copyfile(notebook, copy)
    return copy, True


def _free_name(path: Path) -> Path:
    number = 1
    while (kept := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return kept
