"""What a graded kernel refuses by itself, and how it notices that the course's functions were changed."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import exercise_values, exercises, grading_guard, plain_data
from helpers.audit_hook import make_hook, on_loopback
from helpers.grading_guard import unchanged_since_now

WRITE = os.O_WRONLY | os.O_CREAT


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """The hook of a run in a folder, which is the working folder too; a command that begins with py -I may be run."""
    monkeypatch.chdir(tmp_path)
    return make_hook(tmp_path, commands=[("py", "-I")])


@pytest.mark.parametrize(("event", "args"), [
    ("socket.connect", (None, ("192.0.2.1", 80))), ("socket.connect", (None, ("2001:db8::1", 80, 0, 0))),
    ("socket.sendto", (None, ("192.0.2.1", 53))), ("socket.sendmsg", (None, ("192.0.2.1", 53))),
    ("socket.getaddrinfo", ("example.org", 443, 0, 0, 0)), ("socket.getaddrinfo", (b"example.org", 443, 0, 0, 0)),
    ("socket.gethostbyname", ("127.0.0.1.example.org",)), ("socket.gethostbyaddr", ("192.0.2.1",)),
    ("open", ("/etc/x", "w", WRITE)), ("open", (b"/etc/x", None, os.O_RDWR)), ("open", ("../x", "a", WRITE)),
    ("open", (Path("/etc/x"), "w", WRITE)), ("os.remove", ("/etc/x", -1)), ("os.rename", ("x", "/etc/x", -1, -1)),
    ("shutil.rmtree", ("..", None)), ("os.fork", ()), ("os.exec", ("/bin/true", [], None)), ("os.kill", (0, 9)),
    ("os.system", (b"true",)), ("os.posix_spawn", ("/bin/true", [], None)),
    ("subprocess.Popen", ("/bin/sh", ["/bin/sh", "-c", "true"], None, None)),
    ("subprocess.Popen", (None, "cmd.exe /c true", None, None)), ("_winapi.CreateProcess", (None, "cmd.exe", None)),
    ("subprocess.Popen", (sys.executable, [sys.executable, "-c", "pass"], None, None)),
    ("subprocess.Popen", ("/bin/sh", ["py", "-I", "x"], None, None)), ("os.chdir", ("..",)),
    ("subprocess.Popen", ("py", ["py", "-c", "-I"], None, None)), ("subprocess.Popen", (None, "py -Ix", None, None)),
    ("subprocess.Popen", ("py", ["py", "-I", "x"], "..", None)), ("cpython.PyInterpreterState_New", ()),
    ("open", ("/", None, os.O_RDONLY)), ("os.remove", ("a/../x", -1)), ("import", ("_posixsubprocess", None)),
    ("os.kill", (1, 9)), ("os.kill", (-1, 9)), ("os.killpg", (1, 9))])
def test_what_leads_out_is_refused(hook, event, args):
    with pytest.raises(PermissionError, match="an answer"):
        hook(event, args)


@pytest.mark.parametrize(("event", "args"), [
    ("socket.connect", (None, ("127.0.0.1", 80))), ("socket.connect", (None, ("::1", 80, 0, 0))),
    ("socket.connect", (None, "/run/socket")), ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0)),
    ("socket.getaddrinfo", (None, 80, 0, 0, 0)), ("socket.sendmsg", (None, None)), ("socket.bind", (None, ("", 0))),
    ("open", ("x", "w", WRITE)), ("open", ("/etc/hosts", "r", os.O_RDONLY)), ("open", (3, "w", WRITE)),
    ("open", (os.devnull, "w", WRITE)), ("open", ("x", "r", None)), ("os.remove", ("x", -1)),
    ("os.mkdir", ("a/b", 511, -1)), ("os.kill", (os.getpid(), 9)), ("import", ("os", None, None, None, None)),
    ("subprocess.Popen", ("py", ["py", "-I", "x"], None, None)), ("os.chdir", (".",)), ("open", (".", None, 0)),
    ("subprocess.Popen", (None, "py -I x", ".", None)), ("_winapi.CreateProcess", (None, "py -I x", None))])
def test_what_stays_inside_is_not(hook, event, args):
    assert hook(event, args) is None


def test_a_link_out_of_the_folder_is_out(hook, tmp_path):
    try:
        (tmp_path / "link").symlink_to(tmp_path.parent)
    except OSError:
        pytest.skip("links need a permission on Windows")
    with pytest.raises(PermissionError, match="in its working folder only"):
        hook("open", ("link/x", "w", WRITE))


def test_a_child_may_be_ended(hook):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert hook("os.kill", (child.pid, 9)) is None
        child.kill()
    assert hook("os.kill", (child.pid, 9)) is None  # it has ended


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "", None, b"localhost"])
def test_loopback_is_this_machine(host):
    assert on_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.1", "10.0.0.1", "localhost.example.org", "127.0.0.1.org", "::2", "x", 3])
def test_nothing_else_is(host):
    assert not on_loopback(host)


CHILD = """
import os, socket
try:
    socket.create_connection(("127.0.0.1", PORT), 2)
finally:
    os.remove(VICTIM)
"""
WAYS_OUT = """
import multiprocessing, os, subprocess, sys
from pathlib import Path
sys.audit = lambda *event: None  # events of Python code are gone with this, those of C are not
def direct():
    import _posixsubprocess as p
    p.fork_exec([sys.executable, "-c", CHILD], [os.fsencode(sys.executable)], True, (), *[None] * 2, *[-1] * 8, False,
                False, -1, None, None, None, -1, None, False)
def fresh():
    real = sys.modules.pop("_posixsubprocess")
    try:
        import _posixsubprocess
    finally:
        sys.modules["_posixsubprocess"] = real
def inner():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreters.create()
ways = {
    "run": lambda: subprocess.run([sys.executable, "-c", CHILD]),
    "-I": lambda: subprocess.run([sys.executable, "-I", "-S", "-c", CHILD]),
    "a shell": lambda: subprocess.run([sys.executable, "-c", CHILD], executable="/bin/sh"),
    "ours elsewhere": lambda: subprocess.run(COMMAND, cwd=os.path.dirname(VICTIM)),
    "ours by another": lambda: subprocess.run(COMMAND, executable="/bin/sh"),
    "chdir first": lambda: subprocess.run(COMMAND, preexec_fn=lambda: os.chdir("/")),
    "multiprocessing": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    "direct": direct, "fresh": fresh, "another interpreter": inner,
    "an open folder": lambda: os.remove("victim", dir_fd=os.open(os.path.dirname(VICTIM), os.O_RDONLY)),
    "fork": lambda: os.fork(),
}
for name, way in ways.items():
    try:
        way()
        print(name, "worked")
    except (PermissionError, subprocess.SubprocessError) as error:
        pass
    except RuntimeError as error:  # an interpreter that could not be made
        pass
    except Exception as error:
        print(name, repr(error))
print(subprocess.run(COMMAND, input=b"", capture_output=True).stdout.decode().strip())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="most of the ways are those of other systems")
def test_no_second_python_reaches_a_server_or_a_file(tmp_path):
    """A server on this machine hears of nobody, a file beside the folder stays; the course's own command runs."""
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    victim.write_text("precious", encoding="utf-8")
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = f"PORT, VICTIM = {server.getsockname()[1]}, {str(victim)!r}\n{CHILD}"
        code = (f"import os, sys\nfrom helpers.audit_hook import install\nCHILD, VICTIM = {child!r}, {str(victim)!r}\n"
                f"COMMAND = (sys.executable, '-I', '-c', 'print(6 * 7)')\ninstall('.', commands=[COMMAND])\n{WAYS_OUT}")
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (done.stdout, done.stderr) == ("42\n", "")
    assert victim.read_text(encoding="utf-8") == "precious"


def test_a_changed_function_class_or_builtin_is_noticed(monkeypatch):
    unchanged = unchanged_since_now()
    monkeypatch.setattr(exercise_values, "WIDTH", 7)  # a number may change
    assert unchanged()
    for owner, name in ((exercise_values, "agrees"), ("builtins", "bool"), ("math", "isclose"), ("numpy", "allclose"),
                        (plain_data, "why_not_plain"), (exercises, "Part")):
        with monkeypatch.context() as patch:
            patch.setattr(*((owner, name, lambda *_: True) if not isinstance(owner, str) else
                            (f"{owner}.{name}", lambda *_: True)))
            assert not unchanged(), name
        assert unchanged(), name


def test_other_code_in_the_same_function_is_noticed(monkeypatch):
    unchanged = unchanged_since_now()
    monkeypatch.setattr(exercise_values.agrees, "__code__", (lambda got, expected: True).__code__)
    assert not unchanged()


def test_beginning_needs_the_key_and_takes_it_away(tmp_path):
    """In a process of its own, because neither the hook nor the limits can be taken back."""
    (tmp_path / grading_guard.KEY_FILE).write_bytes(b"k" * 32)
    code = ("import os, socket\nfrom helpers.grading_guard import begin\nfrom helpers.exercise_seal import seal\n"
            "begin(memory_mb=500)\nprint(os.listdir(), 'seal' in seal({}))\n"
            "try:\n    socket.create_connection(('192.0.2.1', 80), 1)\nexcept PermissionError as error:\n"
            "    print(error)\n"
            "try:\n    begin(memory_mb=500)\nexcept FileNotFoundError:\n    print('no key')")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "[] True", "no network for an answer: only this machine may be reached, got '192.0.2.1'", "no key"], done.stderr
