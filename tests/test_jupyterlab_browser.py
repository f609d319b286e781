"""JupyterLab in Chromium: a reader opens a notebook, restarts and runs all of it, and sees figures and no error."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from browsing import browser, keep
from playwright.sync_api import Page

from helpers.curriculum import find_notebooks

pytestmark = pytest.mark.browser
NUMBERS = ("00", "05")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copies of the notebooks, as a reader has them in work/."""
    folder = tmp_path_factory.mktemp("lab")
    for path in find_notebooks(list(NUMBERS)):
        shutil.copy(path, folder)
    return folder


@pytest.fixture(scope="module")
def lab(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on loopback with settings of its own; ended with its kernels."""
    token = secrets.token_hex(16)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = tmp_path_factory.mktemp("jupyter")
    environment = {name: value for name, value in os.environ.items() if name != "BATCH_MODE"}
    environment |= {"JUPYTER_CONFIG_DIR": str(own), "JUPYTER_DATA_DIR": str(own), "JUPYTER_RUNTIME_DIR": str(own),
                    "JUPYTERLAB_SETTINGS_DIR": str(own), "JUPYTERLAB_WORKSPACES_DIR": str(own)}
    options = [f"--ServerApp.root_dir={folder}", f"--ServerApp.port={port}", f"--IdentityProvider.token={token}",
               "--ServerApp.ip=127.0.0.1", "--no-browser", "--allow-root", "--LabApp.news_url=None",
               "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], env=environment, cwd=folder,
                               stdout=(log := (own / "log").open("w")), stderr=subprocess.STDOUT)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_it_answers(f"{address}/api", process, own / "log")
        yield f"{address}/lab/tree/{{}}?token={token}&reset"
    finally:
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        for child in family:
            if child.is_running():
                child.kill()
        process.wait()
        log.close()


def wait_until_it_answers(address: str, process: subprocess.Popen, log: Path) -> None:
    for _ in range(240):
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:  # refused, reset or too slow
            time.sleep(0.5)
    raise AssertionError(f"JupyterLab did not answer in two minutes:\n{log.read_text()}")


def wait_until_connected(page: Page) -> None:
    """Until the page talks to its kernel: before that, the menu asks which kernel to start."""
    address = urlsplit(page.url)
    sessions = f"{address.scheme}://{address.netloc}/api/sessions"
    for _ in range(240):
        if any(session["kernel"]["connections"] for session in page.request.get(sessions).json()):
            return
        page.wait_for_timeout(500)
    raise AssertionError("the page did not connect to a kernel in two minutes")


def restart_and_run_all(page: Page) -> None:
    """By the menu, as a reader does it; under load a dialog may ask late, or ask which kernel first."""
    dialog = page.get_by_role("dialog")
    restart = dialog.get_by_role("button", name="Confirm Kernel Restart")
    select = dialog.get_by_role("button", name="Select Kernel")
    for _ in range(3):
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Restart Kernel and Run All Cells").click()
        restart.or_(select).first.wait_for()
        if restart.is_visible():
            restart.click()
            return
        select.click()
        dialog.wait_for(state="detached")
    raise AssertionError("JupyterLab never asked whether to restart the kernel")


def saved(path: Path) -> list[dict]:
    """The code cells of the notebook as JupyterLab has saved it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]


@pytest.mark.parametrize("number", NUMBERS)
def test_restart_and_run_all_shows_figures_and_no_error(lab, folder, number):
    path = next(folder.glob(f"{number}_*.ipynb"))
    cells = saved(path)
    for_reader = json.loads(path.read_text(encoding="utf-8"))
    for cell in for_reader["cells"]:
        if cell["cell_type"] == "code":  # so that nothing seen later comes from the file
            cell["outputs"], cell["execution_count"] = [], None
    path.write_text(json.dumps(for_reader), encoding="utf-8")
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(90_000)
        page.goto(lab.format(path.name))
        page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        wait_until_connected(page)
        restart_and_run_all(page)
        deadline = time.monotonic() + 240
        while True:
            page.keyboard.press("Control+s")
            page.wait_for_timeout(1_500)
            counts = [cell["execution_count"] for cell in saved(path)]
            if counts == list(range(1, len(cells) + 1)) or time.monotonic() > deadline:
                break
        outputs = [output for cell in saved(path) for output in cell["outputs"]]
        keep(page, f"jupyterlab-{number}")
        figures = sum("<figure" in "".join(output.get("data", {}).get("text/html", "")) for output in outputs)
        if figures:
            page.locator(".jp-RenderedHTML figure img").first.scroll_into_view_if_needed(timeout=20_000)
            assert page.locator(".jp-RenderedHTML figure img").first.evaluate("image => image.naturalWidth") > 100
            keep(page, f"jupyterlab-{number}-figure")
    assert counts == list(range(1, len(cells) + 1)), "not every cell ran"
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []
    wanted = sum("<figure" in "".join(output.get("data", {}).get("text/html", ""))
                 for cell in cells for output in cell["outputs"])
    assert figures == wanted
