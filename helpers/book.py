"""Build the site from the committed notebooks and docs/, check its links, and make the copies for Colab.

Left out: executing notebooks (`runs.py`), and publishing, which the workflow does.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat

from helpers.book_links import broken_links
from helpers.book_pages import BookError, stage
from helpers.curriculum import ROOT, list_notebooks
from helpers.elsewhere import COLAB_FOLDER, for_colab, repository


def build_book(output: Path, *, root: Path = ROOT) -> Path:
    """Write the site to `output`/site, with its sources in `output`/source, and return the landing page's path.

    Raises:
        BookError: Sphinx is not installed, warned or failed, or a page leads to something that is not there.
    """
    source, site, named = output / "source", output / "site", repository(root)
    stage(source, root=root, repository=named)
    shutil.rmtree(site, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html",
               "-d", str(output / "doctrees"), str(source), str(site)]
    # Without a fixed hash seed, the order of some of what Sphinx writes differs from run to run.
    environment = os.environ | {"COURSE_REPOSITORY": named, "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if run.returncode:
        missing = "No module named sphinx" in run.stderr
        raise BookError("the site needs the extra `book`: pip install -e '.[book]'" if missing else
                        f"Sphinx expected no warning and gave:\n{run.stderr.strip()}")
    if broken := broken_links(site):
        raise BookError("links that lead nowhere:\n" + "\n".join(broken))
    if named:
        copies = site / COLAB_FOLDER
        copies.mkdir()
        for path in list_notebooks(root / "notebooks"):
            nbformat.write(for_colab(nbformat.read(path, as_version=4), named), copies / path.name)
    (site / ".nojekyll").touch()  # GitHub would otherwise leave out folders that begin with an underscore
    return site / "index.html"
