"""Opening the course elsewhere: addresses, and a notebook that fetches the course where it stands alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from helpers.curriculum import NOTEBOOKS, ROOT, contents_table, list_notebooks, load_chapters
from helpers.elsewhere import COLAB_CELL, addresses, badges, for_colab, links_elsewhere, repository

START = NOTEBOOKS / "00_start_here.ipynb"


def project(folder: Path, url: str) -> Path:
    urls = f'[project.urls]\nRepository = "{url}"\n' if url else ""
    (folder / "pyproject.toml").write_text(f'[project]\nname = "x"\n{urls}', encoding="utf-8")
    return folder


@pytest.mark.parametrize(("url", "expected"), [
    ("https://github.com/us/course", "us/course"), ("https://github.com/us/course/", "us/course"), ("", "")])
def test_the_repository_stands_in_pyproject(tmp_path, monkeypatch, url, expected):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert repository(project(tmp_path, url)) == expected


def test_a_workflow_s_repository_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_REPOSITORY", "fork/course")
    assert repository(project(tmp_path, "https://github.com/us/course")) == "fork/course"


def test_another_address_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    with pytest.raises(ValueError, match=r"expected https://github.com/OWNER/NAME .* got 'https://example.org/a/b'"):
        repository(project(tmp_path, "https://example.org/a/b"))


def test_badges_stand_in_the_table_only_once_there_is_an_address():
    chapters = load_chapters()[:1]
    assert badges("") is None and "open in" not in contents_table(chapters, opens=badges(""))
    table = contents_table(chapters, opens=badges("us/course")).splitlines()
    assert table[0].endswith("| builds on | open in |") and table[1].count("|") == table[0].count("|")
    assert "[![Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab" in table[2]
    assert f"labpath=notebooks/{chapters[0].path.name})" in table[2]


def test_every_notebook_has_an_address_with_each_service():
    for path in list_notebooks():
        inside = path.relative_to(ROOT)
        found = addresses(inside, "us/course")
        assert list(found) == ["Binder", "Colab", "Codespaces", "GitHub"]
        assert found["Binder"].endswith(f"labpath=notebooks/{path.name}")
        assert found["Colab"].endswith(f"us/course/blob/gh-pages/colab/{path.name}")
        assert all(address in links_elsewhere(inside, "us/course") for address in found.values())


def test_the_dev_container_installs_from_the_lock():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert "--require-hashes -r requirements.lock" in container["postCreateCommand"]
    assert "--no-deps -e ." in container["postCreateCommand"]
    # Not `course`: pip may put programs where only an interactive shell finds them.
    assert container["postCreateCommand"].endswith(" && python -m helpers.cli doctor")
    # The image holds a second Python, Debian's, which VS Code could take as the notebooks' kernel.
    assert container["customizations"]["vscode"]["settings"] == {
        "python.defaultInterpreterPath": "/usr/local/bin/python"}


def test_a_copy_for_colab_fetches_the_course_first_and_carries_no_outputs():
    notebook = nbformat.read(START, as_version=4)
    cells = len(notebook.cells)
    copy = for_colab(notebook, "us/course")
    assert [cell.cell_type for cell in copy.cells[:2]] == ["markdown", "code"]
    assert "https://github.com/us/course" in copy.cells[1].source and len(copy.cells) == cells + 1
    assert not any(cell.outputs for cell in copy.cells if cell.cell_type == "code")
    assert len(notebook.cells) == cells and any(cell.get("outputs") for cell in notebook.cells)
    nbformat.validate(copy)


def test_elsewhere_than_on_colab_the_first_cell_does_nothing(tmp_path):
    run = subprocess.run([sys.executable, "-c", COLAB_CELL.format(repository="us/course")], cwd=tmp_path,
                         capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("not on Colab: nothing to fetch\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow  # makes an environment and a clone
def test_a_notebook_alone_in_a_folder_fetches_the_course_and_runs(tmp_path):
    """As on Colab: a Python that has the packages but not the course, and a folder that holds nothing else."""
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    binaries = environment / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / ("python.exe" if os.name == "nt" else "python")
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True,
                          capture_output=True, text=True).stdout.strip()
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (Path(site) / "packages.pth").write_text("\n".join(packages) + "\n", encoding="utf-8")
    (Path(site) / "google" / "colab").mkdir(parents=True)
    (Path(site) / "google" / "colab" / "__init__.py").write_text("", encoding="utf-8")
    alone = tmp_path / "content"
    alone.mkdir()
    copy = for_colab(nbformat.read(START, as_version=4), "us/course")
    copy.cells[2:2] = [copy.cells[1]]  # the cell run twice is the cell run once
    code = [cell.source for cell in copy.cells if cell.cell_type == "code"]
    (alone / "run.py").write_text("\n\n".join(code), encoding="utf-8")
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), variables["PATH"]])  # Monty's program
    run = subprocess.run([python, "run.py"], cwd=alone, capture_output=True, text=True, encoding="utf-8",
                         env=variables | {"COURSE_CLONE": str(ROOT), "BATCH_MODE": "true", "PYTHONUTF8": "1"})
    assert run.returncode == 0, run.stderr[-2000:]
    assert "the course is here" in run.stdout and "✔" in run.stdout
    assert sorted(path.name for path in alone.iterdir()) == ["course", "run.py"]
