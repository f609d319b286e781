"""Check what the course needs to run here, and say how to mend what is missing; fit to paste into a question.

Left out: mending anything. The home folder, the user's name and any key are removed from every line.
"""

import ast
import getpass
import platform
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from helpers.colab import KEPT, on_colab, package_of
from helpers.curriculum import ROOT
from helpers.settings import DATA, SettingsError, load_settings

INSTALL = "run `make run`, or `python -m pip install -r requirements.lock` and then `python -m pip install -e .`"


@dataclass(frozen=True)
class Check:
    """One line of the report. `ok` None is a note: worth knowing, nothing to mend. `fix` is what to do."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Package:
    """A declared dependency: the range that is wanted, the version that is here, the extra that asks for it."""

    name: str
    wanted: str
    installed: str | None
    extra: str | None = None

    @property
    def fits(self) -> bool:
        """Whether an installed version lies in the range wanted."""
        return self.installed is not None and Requirement(self.name + self.wanted).specifier.contains(
            self.installed, prereleases=True)


def declared_packages(pyproject: Path = ROOT / "pyproject.toml") -> list[Package]:
    """The dependencies that `pyproject` declares for this system, those of the extras last."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lists = [(None, project["dependencies"]), *project.get("optional-dependencies", {}).items()]
    found = []
    for extra, lines in lists:
        for requirement in map(Requirement, lines):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""}):
                found.append(Package(requirement.name, str(requirement.specifier), _version(requirement.name), extra))
    return found


def core_versions() -> dict[str, str]:
    """The installed version of every package the notebooks need, by name."""
    return {package.name: package.installed or "missing" for package in declared_packages() if not package.extra}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def check_python() -> Check:
    """Whether this Python is one the course is made for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = Requirement("python" + project["requires-python"]).specifier
    detail = f"{platform.python_version()} (needs {wanted}), {platform.system()} {platform.machine()}"
    return Check("Python", wanted.contains(platform.python_version(), prereleases=True), detail,
                 f"install Python {wanted} and make the environment again")


def check_packages(packages: Iterable[Package] | None = None) -> Check:
    """Whether every dependency is here in the range wanted; a package of an extra may be absent.

    On Colab, the packages that the set-up leaves as Colab has them are told and no fault.
    """
    packages, kept = declared_packages() if packages is None else list(packages), KEPT if on_colab() else ()
    unfit = [p for p in packages if not p.fits and (p.extra is None or p.installed is not None)]
    wrong = [p for p in unfit if package_of(p.name) not in kept]
    if wrong:
        told = ", ".join(f"{p.name} {p.installed or 'missing'} (needs {p.wanted or 'any'})" for p in wrong)
        return Check("packages", False, told, INSTALL)
    here = ", ".join(f"{p.name} {p.installed}" for p in packages if not p.extra and p not in unfit)
    if unfit:
        here += "; left as Colab has it: " + ", ".join(f"{p.name} {p.installed or 'missing'}" for p in unfit)
    absent = sorted({p.extra for p in packages if p.extra and p.installed is None})
    note = f"; extras not installed: {', '.join(absent)}" if absent else ""
    return Check("packages", True, here + note)


def check_kernel() -> Check:
    """Whether the kernel that notebooks ask for starts, and is the Python of this environment."""
    from jupyter_client.manager import start_new_kernel
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
    try:
        asked = {"python": "__import__('sys').executable", "course": "__import__('helpers').__file__"}
        reply = client.execute("", user_expressions=asked, reply=True, timeout=60)["content"]["user_expressions"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    python, course = (ast.literal_eval(reply[name].get("data", {}).get("text/plain", "''")) for name in asked)
    return compare_kernel(python, course)


def compare_kernel(python: str, course: str) -> Check:
    """What it means that the kernel runs as `python` and finds the package at `course` ("" for not at all)."""
    if Path(python) != Path(sys.executable):
        return Check("kernel", False, f"python3 starts {python}, expected {sys.executable}",
                     "start `course` and JupyterLab from this environment")
    if not course:
        return Check("kernel", False, "python3 starts but cannot import `helpers`", INSTALL)
    return Check("kernel", True, "python3 starts, and is this environment's Python")


def check_sandbox() -> Check:
    """Whether generated code can be run: 1 + 1 in the sandbox."""
    from helpers.sandbox import run_tests
    report = run_tests("def add(a, b):\n    return a + b", ("add(1, 1) == 2",))
    told = "1 + 1 is 2" if report.passed else f"1 + 1 failed: {report.error or report.results}"
    return Check("sandbox", report.passed, told, INSTALL)


def check_transcripts() -> Check:
    """Whether the recorded answers are here and can be read."""
    from helpers.transcript import Transcript, TranscriptError
    paths, fix = sorted((DATA / "transcripts").glob("*.jsonl")), "run `git checkout -- data/transcripts`"
    try:
        count = sum(len(Transcript.load(path).exchanges) for path in paths)
    except TranscriptError as error:
        return Check("transcripts", False, str(error), fix)
    return Check("transcripts", bool(paths), f"{len(paths)} with {count} recorded answers", fix)


def check_key() -> Check:
    """Whether a key for a live model is set; never its value, and none is needed."""
    try:
        settings = load_settings()
    except SettingsError as error:
        return Check("key", False, str(error), "correct it in `.env`, or unset the variable")
    told = "set" if settings.api_key else "not set, none is needed"
    return Check("key", None, f"{told}; provider {settings.host}; batch mode {'on' if settings.batch else 'off'}")


def check_model() -> Check:
    """Whether the local model is fetched; only unrecorded requests need it."""
    from helpers.local_model import INSTALL as INSTALL_LOCAL
    from helpers.local_model import is_ready, model_path
    path = model_path()
    if load_settings().model_path and not path.is_file():
        return Check("model", False, f"there is no file {path}", "correct COURSE_MODEL_PATH in `.env`, or unset it")
    if path.is_file():
        return Check("model", None, f"fetched: {path}", "" if is_ready() else f"to use it, run `{INSTALL_LOCAL}`")
    return Check("model", None, "not fetched; only requests that are not recorded would need it",
                 f"run `course model fetch` if you want it (it would be {path})")


CHECKS: tuple[Callable[[], Check], ...] = (check_python, check_packages, check_kernel, check_sandbox,
                                           check_transcripts, check_model, check_key)


def examine(checks: Iterable[Callable[[], Check]] = CHECKS) -> list[Check]:
    """Every check's result; one that raises is a failed check that says what was raised."""
    results = []
    for check in checks:
        try:
            result = check()
        except Exception as error:  # a broken installation can raise anything, and the report must still be made
            name = check.__name__.removeprefix("check_")
            result = Check(name, False, f"{type(error).__name__}: {error}", INSTALL)
        results.append(replace(result, detail=redact(result.detail), fix=redact(result.fix)))
    return results


def redact(text: str) -> str:
    """`text` on one line, with the home folder as `~` and the user's name removed from what remains of paths."""
    text, home = " ".join(text.split()), str(Path.home())
    if len(home) > 1:  # in some containers it is the root of all paths
        text = re.sub(re.escape(home) + r"(?!\w)", "~", text, flags=re.IGNORECASE)
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run as a number without a name
        return text
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?!\w)", "<user>", text)


def as_text(results: Iterable[Check]) -> str:
    """The report: a line a check, followed by what to do where there is something to do."""
    lines = []
    for result in results:
        mark = {True: "ok", False: "FAIL", None: "note"}[result.ok]
        lines.append(f"{mark:<5}{result.name:<12} {result.detail}")
        if result.fix and not result.ok:
            lines.append(f"     {'':<12} -> {result.fix}")
    return "\n".join(lines)
