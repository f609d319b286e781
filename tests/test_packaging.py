"""One list of dependencies, a lock that fits it, the same two commands everywhere, and a repository fit to clone."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers.curriculum import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [Requirement(line) for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
            for line in lines]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = ({"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"},
           {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64", "os_name": "posix"},
           {"sys_platform": "win32", "platform_system": "Windows", "platform_machine": "AMD64", "os_name": "nt"})
# Written in two parts, so that this file does not hold what it looks for.
ADDRESSES = re.compile("|".join(("index-" + "url", "find-" + "links", r"https?://\S+/simp" + r"le\b",
                                 "files.python" + "hosted", r"https?://\S+\.whl")))


def tracked() -> list[Path]:
    """The files of the repository, by git; without git, all but what `.gitignore` names."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode == 0:
        return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]
    ignored = [line.strip("/*\n") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    return [path for path in ROOT.rglob("*") if path.is_file()
            and not any(name.endswith(tuple(ignored)) for name in path.relative_to(ROOT).parts)]


def locked(lock: str) -> dict[str, list[tuple[Requirement, int]]]:
    """What the text of a lock pins, by name: each requirement and the number of its hashes."""
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for block in re.findall(r"^[A-Za-z0-9].*(?:\n    --hash=.*)*", lock.replace("\\\n", "\n"), flags=re.MULTILINE):
        line, *hashes = block.split("\n")
        requirement = Requirement(line.strip())
        found.setdefault(canonicalize_name(requirement.name), []).append((requirement, len(hashes)))
    return found


LOCKED = locked((ROOT / "requirements.lock").read_text(encoding="utf-8"))


def problems_of_lock(declared: list[Requirement], pins: dict[str, list[tuple[Requirement, int]]]) -> list[str]:
    """Declared requirements that some system and Python would not get from `pins`, in a version that fits."""
    problems = []
    for requirement in declared:
        for system in SYSTEMS:
            for python in PYTHONS:
                place = {**system, "python_version": python, "python_full_version": f"{python}.2",
                         "implementation_name": "cpython", "platform_python_implementation": "CPython", "extra": ""}
                if not applies(requirement.marker, place):
                    continue
                named = pins.get(canonicalize_name(requirement.name), ())
                pinned = [pin for pin, _ in named if applies(pin.marker, place)]
                version = str(pinned[0].specifier).removeprefix("==") if len(pinned) == 1 else ""
                if not version or not requirement.specifier.contains(version, prereleases=True):
                    where = f"{system['sys_platform']}, Python {python}"
                    problems.append(f"{requirement} on {where}: {pinned or 'missing'}")
    return problems


def applies(marker: Marker | None, place: dict[str, str]) -> bool:
    """Whether a line with `marker` counts at `place`."""
    return marker is None or marker.evaluate(place)


def test_the_lock_holds_what_is_declared_for_every_system_and_python():
    assert problems_of_lock(DECLARED, LOCKED) == [], "run `make lock`"


def test_everything_in_the_lock_is_pinned_and_hashed():
    loose = [str(pin) for pins in LOCKED.values() for pin, hashes in pins
             if hashes < 1 or not re.fullmatch("==[^*,]+", str(pin.specifier))]
    assert loose == [] and len(LOCKED) > len(DECLARED)


@pytest.mark.parametrize(("declared", "problem"), [
    ("numpy>=99", "numpy>=99 on linux, Python 3.11: "), ("not-there", "missing"), ("numpy", None)])
def test_a_lock_that_does_not_fit_is_noticed(declared, problem):
    problems = problems_of_lock([Requirement(declared)], LOCKED)
    assert (problem in "\n".join(problems)) if problem else problems == []


def test_the_lock_is_read_as_pip_reads_it():
    lock = """# make lock
a==1 ; python_version < "3.12" \\
    --hash=sha256:00 \\
    --hash=sha256:01
    # via b
B==2
"""
    pins = locked(lock)
    assert [(name, [(str(pin), hashes) for pin, hashes in found]) for name, found in pins.items()] == [
        ("a", [('a==1; python_version < "3.12"', 2)]), ("b", [("B==2", 0)])]


def test_the_environment_for_conda_names_the_python_and_no_other_version():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == PROJECT["name"] and environment["channels"] == ["conda-forge"]
    python, pip, packages = environment["dependencies"]
    assert (pip, list(packages)) == ("pip", ["pip"])
    # Binder reads the line so: without a number, or with `>=`, it takes a Python of its own choice.
    version = re.fullmatch(r"python=(3\.\d+)", python)[1]
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(version) and version in PYTHONS
    editable, = packages["pip"]
    extras = re.fullmatch(r"-e \.\[([a-z,]+)\]", editable)[1].split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


def test_nothing_comes_before_the_environment_on_binder():
    """There, a folder `binder` or a file of another kind would be read in place of environment.yml, or beside it."""
    assert (ROOT / "environment.yml").is_file()
    assert [name for name in ("binder", ".binder", "Dockerfile", "postBuild", "start", "runtime.txt", "apt.txt")
            if (ROOT / name).exists()] == []


@pytest.mark.slow
def test_the_pip_part_of_the_conda_environment_installs(tmp_path):
    """Needs a package index. conda hands pip these lines in a file; the rest of the solve is conda's own."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("\n".join(environment["dependencies"][2]["pip"]) + "\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", wanted], cwd=ROOT, check=True)
    done = subprocess.run([python, "-m", "helpers.cli", "doctor"], cwd=tmp_path, capture_output=True, text=True)
    assert "FAIL packages" not in done.stdout and "FAIL kernel" not in done.stdout, done.stdout


def test_no_address_of_an_index_is_written_anywhere():
    found = [path.relative_to(ROOT).as_posix() for path in tracked()
             if ADDRESSES.search(path.read_bytes().decode("utf-8", errors="ignore"))]
    assert found == []


def test_no_path_is_too_long_for_windows_and_the_clone_is_small():
    paths = tracked()
    assert [path for path in paths if len(path.relative_to(ROOT).as_posix()) > 120] == []
    assert sum(path.stat().st_size for path in paths) <= 25 * 2**20
    assert {"README.md", "LICENSE", "Makefile"} <= {path.name for path in paths}


def test_what_a_run_leaves_behind_is_ignored():
    names = [".venv/x", "build/x", "work/x.ipynb", ".env", "helpers/__pycache__/x", "notebooks/.ipynb_checkpoints/x"]
    ignored = subprocess.run(["git", "check-ignore", "--no-index", *names], cwd=ROOT, capture_output=True, text=True)
    if ignored.returncode == 128:  # not a clone: read the file itself
        text = (ROOT / ".gitignore").read_text(encoding="utf-8")
        assert all(name.split("/")[-2 if "__" in name or "check" in name else 0] in text for name in names)
        return
    assert ignored.stdout.split() == names


def test_the_two_commands_are_the_same_in_readme_make_and_ci():
    makefile, readme, ci = (ROOT.joinpath(*path.split("/")).read_text(encoding="utf-8")
                            for path in ("Makefile", "README.md", ".ci/run"))
    commands = [line for line in ci.splitlines() if line.startswith("make")]
    assert commands == ["make test", "make run", "make browser"]  # the README's two, then the pages they leave
    for target in ("run", "test"):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE) and f"make {target}" in readme
    wanted = Requirement("python" + PROJECT["requires-python"]).specifier
    assert wanted.contains("3.11") and not wanted.contains("3.10") and "version_info < (3, 11)" in makefile


def test_ci_runs_everywhere_and_hides_no_failure():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    jobs, events = workflow["jobs"], workflow[True]  # YAML reads the key `on` as true
    assert set(events) == {"push", "pull_request", "schedule"}
    matrix = jobs["commands"]["strategy"]["matrix"]
    assert tuple(matrix["python"]) == PYTHONS
    assert [system.split("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    commands = [step["run"] for step in jobs["commands"]["steps"] if step.get("run", "").startswith("make ")]
    assert [command.split()[1] for command in commands] == ["test", "run"]
    assert "make slow" in [step.get("run") for step in jobs["slow"]["steps"]]
    assert "continue-on-error" not in text and "|| true" not in text
