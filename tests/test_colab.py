"""On Colab the course goes into a kernel that is not its own: what is installed there, and what is left alone."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers import colab, doctor
from helpers.colab import EXTRAS, KEPT, held, on_colab, package_of, wanted
from helpers.curriculum import NOTEBOOKS, ROOT
from helpers.doctor import Package, check_packages
from helpers.elsewhere import for_colab

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [line for lines in (PROJECT["dependencies"], *(PROJECT["optional-dependencies"][name] for name in EXTRAS))
            for line in lines]
# As Colab has them: IPython and its kernel by pins, the others old enough to be upgraded by a plain install.
BROUGHT = ("ipython==7.34.0", "ipykernel==6.17.1", "jupyter-client==7.4.9", "tornado==6.5.1", "ipywidgets==7.7.1",
           "nbformat==5.10.4", "psutil==5.9.5", "numpy==2.0.2", "scipy==1.16.3", "matplotlib==3.10.0")


def test_nothing_that_colab_s_kernel_is_made_of_is_installed():
    names = {canonicalize_name(Requirement(line).name) for line in wanted()}
    assert not names & {"ipython", "ipykernel", "jupyter-client", "jupyterlab", "tornado", "ipywidgets", "nbclient",
                        "nbconvert", "papermill", "pyzmq", "traitlets", "numpy", "scipy", "matplotlib"}
    assert names >= {"openai", "pydantic-monty", "python-dotenv", "dask"}


def test_every_requirement_is_installed_or_named_as_kept():
    left = [line for line in DECLARED if line not in wanted()]
    assert {package_of(line) for line in left} <= KEPT and len(left) + len(wanted()) == len(DECLARED)
    assert [package_of(line) for line in DECLARED] == [canonicalize_name(Requirement(line).name) for line in DECLARED]


def test_a_project_of_two_lines(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_text('[project]\ndependencies = ["Jupyter_Client>=8", "b>=1"]\n[project.optional-dependencies]\n'
                    'neural = []\npostgres = ["c[x]; os_name == \'posix\'"]\nscale = ["numpy"]\n', encoding="utf-8")
    assert wanted(path) == ["b>=1", "c[x]; os_name == 'posix'"]


def test_what_is_here_of_the_kept_is_held_at_its_version(monkeypatch):
    assert f"ipython=={metadata.version('ipython')}" in held() and len(held()) > 10
    monkeypatch.setattr(colab, "KEPT", {"numpy", "not-there-at-all"})
    assert held() == [f"numpy=={metadata.version('numpy')}"]


def test_the_two_installs_hold_the_kept_and_take_no_dependencies_of_the_course(monkeypatch):
    calls = []

    def run(command, *, check):
        constraints = command[command.index("--constraint") + 1] if "--constraint" in command else None
        calls.append((command, check, constraints and Path(constraints).read_text(encoding="utf-8").split()))
    monkeypatch.setattr(colab.subprocess, "run", run)
    colab.install()
    (first, checked, pins), (second, checked_too, _) = calls
    assert checked and checked_too and pins == held()
    assert first[:4] == [sys.executable, "-m", "pip", "install"] and first[-len(wanted()):] == wanted()
    assert second[-3:] == ["--no-deps", "--editable", str(ROOT)]


def test_an_install_that_fails_is_not_passed_over(monkeypatch):
    monkeypatch.setattr(colab, "wanted", lambda: ["not a requirement"])
    with pytest.raises(subprocess.CalledProcessError, match="not a requirement"):
        colab.install()


def test_the_program_needs_only_the_standard_library():
    code = "import sys; import helpers.colab; print([m for m in ('packaging', 'dotenv', 'numpy') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_colab_is_known_by_its_package(tmp_path, monkeypatch):
    assert not on_colab()
    (tmp_path / "google" / "colab").mkdir(parents=True)
    (tmp_path / "google" / "colab" / "__init__.py").write_text("", encoding="utf-8")
    code = "from helpers.colab import on_colab; print(on_colab())"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT,
                         env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert run.stdout.strip() == "True", run.stderr


def test_the_doctor_does_not_call_colab_s_own_packages_broken(monkeypatch):
    here = [Package("ipython", ">=9", "7.34.0"), Package("jupyterlab", ">=4", None), Package("tqdm", ">=4", "4.67")]
    assert not check_packages(here).ok
    monkeypatch.setattr(doctor, "on_colab", lambda: True)
    check = check_packages(here)
    assert (check.ok, check.detail) == (True, "tqdm 4.67; left as Colab has it: ipython 7.34.0, jupyterlab missing")
    missing = check_packages([*here, Package("openai", ">=3", "1.0")])
    assert (missing.ok, missing.detail) == (False, "openai 1.0 (needs >=3)")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """A Python with the packages of `BROUGHT` and a `google.colab`, registered as the kernel `runtime`."""
    folder = tmp_path_factory.mktemp("runtime")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *BROUGHT], check=True)
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                           capture_output=True, text=True).stdout.strip()
    (Path(where) / "google" / "colab").mkdir(parents=True)
    (Path(where) / "google" / "colab" / "__init__.py").write_text("", encoding="utf-8")
    spec = folder / "jupyter" / "kernels" / "runtime"
    spec.mkdir(parents=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "r", "language": "python"}),
                                      encoding="utf-8")
    return folder, python


def versions(python: Path) -> dict[str, str]:
    """What pip lists as installed there."""
    command = [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {package_of(package["name"]): package["version"] for package in json.loads(listed)}


@pytest.mark.slow  # an environment, two installs and two notebooks; needs a package index and the committed state
def test_notebooks_run_in_a_kernel_with_colab_s_ipython(runtime, monkeypatch):
    folder, python = runtime
    before = {name: version for name, version in versions(python).items() if name in KEPT}
    assert {f"{name}=={version}" for name, version in before.items()} >= set(BROUGHT)
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    monkeypatch.setenv("COURSE_CLONE", str(ROOT))
    monkeypatch.delenv("BATCH_MODE")  # as there: a reader sits before it, with widgets
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("CI", raising=False)
    for name in ("00_start_here", "05_memory_worth_convergence"):
        notebook = for_colab(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4), "us/course")
        NotebookClient(notebook, kernel_name="runtime", timeout=900,
                       resources={"metadata": {"path": str(folder)}}).execute()
        printed = "".join(output.get("text", "") for cell in notebook.cells if cell.cell_type == "code"
                          for output in cell.outputs)
        assert "the course is here" in printed and "✔" in printed
        if name.startswith("00"):
            assert "to mend: nothing" in printed
        else:
            assert any("image/png" in output.get("data", {}) or "text/html" in output.get("data", {})
                       for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
    assert {name: version for name, version in versions(python).items() if name in KEPT} == before
