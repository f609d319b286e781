"""Read what each notebook says about itself, find notebooks by name, and keep the README's table in step.

Left out: a second list of the notebooks. Their number is in the file's name; question, minutes, objectives and
prerequisites are in the notebook's own metadata, under the key `course`.
"""

import difflib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from helpers.settings import DATA

ROOT = DATA.parent
NOTEBOOKS = ROOT / "notebooks"
TABLE_BEGINS, TABLE_ENDS = "<!-- notebooks: begin -->", "<!-- notebooks: end -->"


class CurriculumError(ValueError):
    """A notebook cannot be found, or does not say what the course needs to know about it."""


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What one notebook says about itself; `minutes` is reading and running time for a reader.

    >>> Chapter(path=Path("notebooks/03_a_name.ipynb"), question="What stays?", minutes=50).number
    3
    """

    path: Path
    question: str
    minutes: int
    objectives: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The number the file's name begins with."""
        return int(self.path.stem[:2])


def read_chapter(path: Path) -> Chapter:
    """The metadata under `course` of the notebook at `path`.

    Raises:
        CurriculumError: the file is not a notebook, has no such metadata, or a field has the wrong type.
    """
    try:
        course = json.loads(path.read_text(encoding="utf-8"))["metadata"]["course"]
    except (ValueError, KeyError, TypeError) as error:
        raise CurriculumError(f"{path.name}: expected a notebook with metadata `course`; got {error!r}") from None
    if not re.match(r"\d\d_", path.name):
        raise CurriculumError(f"{path.name}: expected a name such as 03_persistent_vector_memory.ipynb")
    for name, kind, what in (("question", str, "a string"), ("minutes", int, "a whole number"),
                             ("objectives", list, "a list of strings"), ("prerequisites", list, "a list of strings")):
        value = course.get(name)
        filled = value or name == "prerequisites"  # the first notebook has none
        strings = not isinstance(value, list) or all(isinstance(item, str) for item in value)
        if not isinstance(value, kind) or isinstance(value, bool) or not filled or not strings:
            raise CurriculumError(f"{path.name}: metadata course.{name}: expected {what}, got {value!r}")
    return Chapter(path=path, question=course["question"], minutes=course["minutes"],
                   objectives=tuple(course["objectives"]), prerequisites=tuple(course["prerequisites"]))


def list_notebooks(folder: Path = NOTEBOOKS) -> list[Path]:
    """The notebooks of `folder` in reading order, solutions and other subfolders left out."""
    return sorted(folder.glob("[0-9][0-9]_*.ipynb"))


def load_chapters(folder: Path = NOTEBOOKS) -> list[Chapter]:
    """All notebooks of `folder`, in reading order."""
    return [read_chapter(path) for path in list_notebooks(folder)]


def find_notebooks(names: list[str], folder: Path = NOTEBOOKS) -> list[Path]:
    """The notebooks meant by `names`, each once, in the order given; all of `folder` when there is no name.

    A name is a number (`1` or `01`), the beginning of a file's name (`01_vol`), or the path of any notebook.

    Raises:
        CurriculumError: nothing is there, a name fits nothing, or it fits more than one notebook.
    """
    known = list_notebooks(folder)
    if not known and not names:
        raise CurriculumError(f"no notebook to run: {folder.name}/ holds none; expected files such as "
                              "00_start_here.ipynb (is this folder a complete clone?)")
    found = [_find(name, known) for name in names] or known
    return list({path.resolve(): path for path in found}.values())


def _find(name: str, known: list[Path]) -> Path:
    path = Path(name)
    if path.suffix == ".ipynb" and path.is_file():
        return path
    stem = path.name.removesuffix(".ipynb")
    if path.parent != Path() and not (path.parent.is_dir() and any(path.parent.resolve() == item.parent.resolve()
                                                                   for item in known)):
        raise CurriculumError(f"there is no file {name}; for the course's own notebook give its number or its name")
    number = f"{int(stem):02d}_" if re.fullmatch(r"[0-9]+", stem) else None
    exact = [item for item in known if item.stem == stem]
    fits = exact or [item for item in known if stem and item.stem.startswith(number or stem)]
    if len(fits) == 1:
        return fits[0]
    stems = [item.stem for item in known]
    if fits:
        raise CurriculumError(f"the name {name!r} fits {', '.join(item.stem for item in fits)}; "
                              "give more of the one you mean")
    near = difflib.get_close_matches(stem, stems, n=3, cutoff=0.4)
    raise CurriculumError(f"there is no notebook {name!r}; " + (
        f"did you mean {' or '.join(near)}?" if near else f"the notebooks are: {', '.join(stems) or 'none yet'}"))


def contents_table(chapters: list[Chapter], *, folder: str = "notebooks/",
                   opens: Callable[[Path], str] | None = None) -> str:
    """The notebooks in reading order as a Markdown table: number and link, question, minutes, prerequisites.

    `folder` is where the links lead, seen from the page that holds the table. `opens` says for a notebook's path where
    else it can be opened; without it there is no such column.

    >>> print(contents_table([Chapter(path=Path("notebooks/00_go.ipynb"), question="Does it run?", minutes=10)]))
    | notebook | question | minutes | builds on |
    |---|---|---:|---|
    | [00_go](notebooks/00_go.ipynb) | Does it run? | 10 | – |
    """
    rows = ["| notebook | question | minutes | builds on |" + " open in |" * bool(opens),
            "|---|---|---:|---|" + "---|" * bool(opens)]
    for chapter in chapters:
        cells = (f"[{chapter.path.stem}]({folder}{chapter.path.name})", chapter.question,
                 str(chapter.minutes), ", ".join(chapter.prerequisites) or "–")
        cells += (opens(chapter.path),) if opens else ()
        rows.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(rows)


def with_table(readme: str, chapters: list[Chapter], *, opens: Callable[[Path], str] | None = None) -> str:
    """The text of a README with the table of `chapters` between its two marker comments; `opens` as above.

    Raises:
        CurriculumError: one of the two comments is missing or stands twice.
    """
    if readme.count(TABLE_BEGINS) != 1 or readme.count(TABLE_ENDS) != 1:
        raise CurriculumError(f"README.md: expected the lines {TABLE_BEGINS} and {TABLE_ENDS} once each, "
                              "around the table of notebooks; put them where the table belongs")
    before, rest = readme.split(TABLE_BEGINS)
    after = rest.split(TABLE_ENDS)[1]
    return f"{before}{TABLE_BEGINS}\n{contents_table(chapters, opens=opens)}\n{TABLE_ENDS}{after}"
