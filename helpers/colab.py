"""Install the course into Colab's own kernel without changing what that kernel is made of.

Run as a program from a fresh clone, so it needs nothing beyond the standard library. Colab holds its kernel to old
releases of the Jupyter packages, and its runtime breaks when they are upgraded: they stay as they are, whatever
`pyproject.toml` asks for. Left out: everything outside notebooks (`course run`, `course check`), which Colab cannot
do without those packages.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata, util
from pathlib import Path

COURSE = Path(__file__).parent.parent
EXTRAS = ("neural", "postgres", "scale")
# What Colab brings, or what notebooks do without: never installed, upgraded or replaced there.
KEPT = frozenset(("ipykernel", "ipython", "ipywidgets", "jupyter-client", "jupyter-core", "jupyter-server",
                  "jupyterlab", "matplotlib", "matplotlib-inline", "nbclient", "nbconvert", "nbformat", "nbval",
                  "notebook", "numpy", "papermill", "prompt-toolkit", "psutil", "pyzmq", "scipy", "tornado",
                  "traitlets"))


def on_colab() -> bool:
    """Whether this Python is Colab's, in a notebook or in a terminal there."""
    try:
        return util.find_spec("google.colab") is not None
    except ModuleNotFoundError:  # no package `google` at all
        return False


def package_of(requirement: str) -> str:
    """The normalised name of the package that a line of requirements asks for.

    >>> package_of("Jupyter_Client>=8.6; python_version < '4'")
    'jupyter-client'
    """
    return re.sub("[-_.]+", "-", re.match(r"[A-Za-z0-9._-]+", requirement)[0]).lower()


def wanted(pyproject: Path = COURSE / "pyproject.toml") -> list[str]:
    """The requirements that `pyproject` declares, with those of `EXTRAS`, without the packages in `KEPT`."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lists = (project["dependencies"], *(project["optional-dependencies"][extra] for extra in EXTRAS))
    return [line for lines in lists for line in lines if package_of(line) not in KEPT]


def held() -> list[str]:
    """A line `name==version` for each package in `KEPT` that is here, so that no other requirement moves it."""
    found = []
    for name in sorted(KEPT):
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue  # nothing to hold
    return found


def install() -> None:
    """Install what is wanted beside what is held, then the course itself.

    Raises:
        subprocess.CalledProcessError: pip refused, and has said why; nothing that is held was changed.
    """
    # What is held need not fit what `pyproject` asks for, and pip would say so as an error each time.
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-conflicts"]
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "held.txt"
        constraints.write_text("\n".join(held()) + "\n", encoding="utf-8")
        subprocess.run([*pip, "--constraint", str(constraints), *wanted()], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(COURSE)], check=True)


if __name__ == "__main__":
    install()
