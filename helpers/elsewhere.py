"""Open the course without installing it: addresses for Binder, Colab and Codespaces, and the Colab copies.

Colab opens one file of a repository and nothing beside it, so the copy made here begins with a cell that fetches the
course. The committed notebooks stay free of it: the site's workflow publishes the copies on a branch of their own.
Left out: an account anywhere, and settings of those services.
"""

import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from helpers.curriculum import ROOT

PAGES_BRANCH, COLAB_FOLDER = "gh-pages", "colab"
BADGES = {"Binder": "https://mybinder.org/badge_logo.svg",
          "Colab": "https://colab.research.google.com/assets/colab-badge.svg"}
COLAB_CELL = '''\
# Only on Colab: fetch the course and install what it needs; Colab's own Jupyter packages stay as they are.
try:
    import google.colab  # noqa: F401
except ImportError:
    print("not on Colab: nothing to fetch")
else:
    import os
    import subprocess
    import sys
    course = os.environ.setdefault("COURSE_FOLDER", os.path.abspath("course"))  # the same when run again
    if not os.path.isdir(course):
        source = os.environ.get("COURSE_CLONE", "https://github.com/{repository}")
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", source, course], check=True)
    subprocess.run([sys.executable, "-m", "helpers.colab"], cwd=course, check=True)
    sys.path.insert(0, course)
    os.chdir(os.path.join(course, "notebooks"))
    print("the course is here")'''


def declared_repository(root: Path = ROOT) -> str:
    """OWNER/NAME on GitHub as pyproject.toml says it under project.urls; "" where it says nothing.

    Raises:
        ValueError: what stands there is not the address of a repository on GitHub.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", "").rstrip("/")
    named = address.removeprefix("https://github.com/")
    if address and not re.fullmatch(r"[\w.-]+/[\w.-]+", named):
        raise ValueError(f"expected https://github.com/OWNER/NAME as Repository in pyproject.toml, got {address!r}")
    return named


def repository(root: Path = ROOT) -> str:
    """The repository that a site is built for: that of the workflow (GITHUB_REPOSITORY), else the declared one."""
    return os.environ.get("GITHUB_REPOSITORY") or declared_repository(root)


def addresses(path: Path, repository: str) -> dict[str, str]:
    """Where the notebook at `path` (seen from the repository's top) can be opened, by the service's name.

    >>> addresses(Path("notebooks/00_go.ipynb"), "us/course")["Binder"]
    'https://mybinder.org/v2/gh/us/course/HEAD?labpath=notebooks/00_go.ipynb'
    """
    file = path.as_posix()
    return {
        "Binder": f"https://mybinder.org/v2/gh/{repository}/HEAD?labpath={file}",
        "Colab": "https://colab.research.google.com/github/"
                 f"{repository}/blob/{PAGES_BRANCH}/{COLAB_FOLDER}/{path.name}",
        "Codespaces": f"https://codespaces.new/{repository}?quickstart=1",
        "GitHub": f"https://github.com/{repository}/blob/HEAD/{file}",
    }


def links_elsewhere(path: Path, repository: str) -> str:
    """One line of Markdown that opens the notebook at `path` elsewhere.

    >>> print(links_elsewhere(Path("notebooks/00_go.ipynb"), "us/course")[:60])
    Open this notebook in [Binder](https://mybinder.org/v2/gh/us
    """
    links = [f"[{name}]({address})" for name, address in addresses(path, repository).items()]
    return f"Open this notebook in {', '.join(links[:-1])} or see it on {links[-1]}."


def badges(repository: str) -> Callable[[Path], str] | None:
    """A function that gives a notebook's badges for the README's table; None without a repository.

    >>> badges("") is None
    True
    """
    def of(path: Path) -> str:
        found = addresses(Path("notebooks") / path.name, repository)
        return " ".join(f"[![{name}]({picture})]({found[name]})" for name, picture in BADGES.items())
    return of if repository else None


def for_colab(notebook: NotebookNode, repository: str) -> NotebookNode:
    """A copy of `notebook` that fetches the course where `google.colab` can be imported; its outputs are left out."""
    copy = nbformat.from_dict(notebook)
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    code = COLAB_CELL.format(repository=repository)
    copy.cells.insert(1, nbformat.v4.new_code_cell(code, id="colab"))
    return copy
