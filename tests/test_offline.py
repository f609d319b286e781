"""A notebook runs on recorded answers alone: no key is set, and any attempt to open a connection is an error."""

from pathlib import Path

import nbformat

from helpers.curriculum import find_notebooks
from helpers.execute import execute_all
from helpers.jobs import Job

# Read by every Python that starts with this folder on its path: the kernel, and whatever the notebook starts.
# On Windows a pair of sockets is made by a connection to the own process; nothing else may connect there either.
BLOCK = """
import socket, sys

def refuse(self, address, *rest):
    raise AssertionError(f"a connection to {address!r} was tried")

connect, pair = socket.socket.connect, socket.socketpair

def own_pair(*args, **options):
    socket.socket.connect = connect
    try:
        return pair(*args, **options)
    finally:
        socket.socket.connect = refuse

socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = lambda *address, **options: refuse(None, address[:2])
if sys.platform == "win32":
    socket.socketpair = own_pair
"""
PROOF = """
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    raise SystemExit("the connection was not refused by the test")
except AssertionError as refused:
    assert "was tried" in str(refused)
import os
assert not [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("OPENROUTER")]
"""


def test_a_notebook_runs_with_sockets_blocked_and_no_key(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    notebook = nbformat.read(find_notebooks(["00"])[0], as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(PROOF, id="proof"))
    nbformat.write(notebook, tmp_path / "00_offline.ipynb")
    run = execute_all([Job(notebook=tmp_path / "00_offline.ipynb", output=tmp_path / "out")])[0]
    assert run.passed, run.problem
    executed = nbformat.read(tmp_path / "out" / "00_offline.ipynb", as_version=4)
    assert "replay: " in executed.cells[1].outputs[0].text
    assert executed.cells[-1].execution_count


def test_the_block_itself_is_noticed(tmp_path: Path, monkeypatch) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROOF)])
    nbformat.write(notebook, tmp_path / "00_open.ipynb")
    run = execute_all([Job(notebook=tmp_path / "00_open.ipynb", output=tmp_path / "out")])[0]
    assert not run.passed
