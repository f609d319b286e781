"""Find what was handed in, and read the cells of a notebook; what cannot be read has a reason, never a traceback.

Left out: which cells are answers (`grading_submission.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from helpers.curriculum import CurriculumError
from helpers.plain_data import one_line

MAX_FILE = 20_000_000  # bytes of a notebook; its outputs count
OURS = frozenset({".csv", ".md", ".ods", ".rst", ".tsv", ".xls", ".xlsx"})  # what a teacher keeps beside submissions
LINK = "a symbolic link, which is not followed; hand in the file itself"


class NotGradable(CurriculumError):
    """A submission that has no answers to grade; the message says why."""


def find_submissions(paths: Iterable[Path]) -> list[tuple[str, Path, str]]:
    """Name, path and, where nothing can be graded, the reason, of each submission among files and folders.

    A notebook in a folder is named by its path from there without the ending. A folder in that folder that holds no
    notebook is a row as well, and so is any visible file beside them that is neither a README nor of a kind in OURS:
    somebody handed in something else. What is given twice is one submission.
    """
    rows: dict[Path, tuple[str, str]] = {}
    for path in paths:
        inside = _in_folder(path) if path.is_dir() else [(_plain(path.name), path, _no_notebook(path))]
        for name, file, why in inside:
            rows.setdefault(file.absolute(), (name, why))
    names = [name for name, _ in rows.values()]
    return [(name if names.count(name) == 1 else _plain(file.as_posix()), file, why)
            for file, (name, why) in rows.items()]


def _is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb")  # some systems write endings in capitals


def _plain(name: str) -> str:
    return name[:-len(".ipynb")] if _is_notebook(name) else name


def _no_notebook(path: Path) -> str:
    return "" if _is_notebook(path.name) or not path.exists() else "not a notebook: its name does not end in .ipynb"


def _in_folder(folder: Path) -> list[tuple[str, Path, str]]:
    rows, first = [], []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(name for name in folders if name not in links and not name.startswith((".", "__")))
        if here == folder:
            first = [here / name for name in folders]
            rows += [(name, here / name, _no_notebook(here / name)) for name in files if not _is_notebook(name)
                     and not name.startswith((".", "README")) and Path(name).suffix.lower() not in OURS]
        found = [(here / name, LINK) for name in links]
        found += [(here / name, "") for name in files if _is_notebook(name) and not name.startswith(".")]
        rows += [(_plain(path.relative_to(folder).as_posix()), path, why) for path, why in found]
    empty = [place for place in first if not any(path.is_relative_to(place) for _, path, _ in rows)]
    rows += [(place.name, place, "no notebook in this folder") for place in empty]
    return sorted(rows) or [(folder.resolve().name, folder, "no notebook in this folder")]


def read_cells(path: Path) -> list[dict]:
    """The cells of the notebook at `path`, each with cell_type, source, metadata, outputs and id in place.

    Raises:
        NotGradable: what is wrong with the file.
    """
    try:
        notebook = json.loads(_content(path).decode("utf-8-sig"), parse_int=_whole_number)
    except UnicodeDecodeError:
        raise NotGradable("not a notebook: its text is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise NotGradable(f"not a notebook: damaged JSON ({one_line(str(error), 80)})") from None
    except RecursionError:
        raise NotGradable("not a notebook: its JSON nests too deeply") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise NotGradable("not a notebook of format 4: it has no list of cells; save it again in JupyterLab")
    return [_whole(cell) for cell in cells]


def _whole_number(digits: str) -> int:
    return int(digits[:100])  # Python refuses one of thousands of digits; none that counts here is so long


def _content(path: Path) -> bytes:
    if path.is_symlink():
        raise NotGradable(LINK)
    try:
        if not path.is_file():
            raise NotGradable("not a file" if path.exists() else "there is no such file")
        if (size := path.stat().st_size) > MAX_FILE:
            raise NotGradable(f"{size / 1e6:.0f} MB, larger than {MAX_FILE / 1e6:.0f} MB; clear its outputs")
        return path.read_bytes()
    except OSError as error:
        raise NotGradable(f"cannot be read: {error.strerror or type(error).__name__}") from None


def _whole(cell: object) -> dict:
    """A cell with every field in its type; what is not a cell becomes an empty one."""
    cell = cell if isinstance(cell, dict) else {}
    metadata = cell.get("metadata") if isinstance(cell.get("metadata"), dict) else {}
    tags = metadata.get("tags") if isinstance(metadata.get("tags"), list) else []
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str)).encode("utf-8", "replace").decode("utf-8")
    outputs = cell.get("outputs") if isinstance(cell.get("outputs"), list) else []
    outputs = [output for output in outputs if isinstance(output, dict)]
    return {"cell_type": cell.get("cell_type"), "source": text.replace("\r\n", "\n"), "id": str(cell.get("id")),
            "tags": [tag for tag in tags if isinstance(tag, str)], "outputs": outputs}
