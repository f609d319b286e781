"""A small notebook of exercises and a class that hands it in, for the tests of the grader."""

import json
from pathlib import Path

from helpers.exercises import MIME

WORDS = ("one", "two", "three", "four", "five", "six")
OF = 3  # points of each: two for the value, one for the type
SETUP = '''from helpers.exercises import TODO, Part, check


def make(number, value):
    @check(number=number, title=f"Number {number}")
    def checked(answer):
        return [Part("f()", lambda: answer(), value, points=2),
                Part("type(f())", lambda: type(answer()).__name__, "int")]
    return checked


check_one, check_two, check_three, check_four, check_five, check_six = map(make, range(1, 7), range(1, 7))'''
FORGED = {"number": 2, "title": "Number 2", "outcome": "right", "points": OF, "of": OF, "seal": "0" * 64}


def cell(name: str, text: str, *tags: str, outputs: tuple = ()) -> dict:
    """A code cell with its id, its tags and stored outputs."""
    return {"cell_type": "code", "id": name, "metadata": {"tags": list(tags)} if tags else {}, "source": text,
            "outputs": list(outputs), "execution_count": None}


def verdict_output(number: int, points: int = 0) -> dict:
    """What a check stores: not attempted, or with points."""
    data = {"number": number, "title": f"Number {number}", "outcome": "right" if points else "not attempted",
            "points": points, "of": OF}
    return {"output_type": "display_data", "metadata": {}, "data": {MIME: data, "text/plain": ["some words"]}}


def right(number: int) -> str:
    """A right answer."""
    return f"def {WORDS[number - 1]}():\n    return DATA"


def notebook(answers: dict[int, str] | None = None, *, points: int = 0) -> dict:
    """The notebook with these answers, the other exercises untouched; `points` are claimed by the stored outputs."""
    cells = [{"cell_type": "markdown", "id": "start", "metadata": {}, "source": "# Numbers"}, cell("setup", SETUP)]
    for number, word in enumerate(WORDS, start=1):
        stub = f"def {word}():\n    return TODO  # your lines here"
        cells += [{"cell_type": "markdown", "id": f"task-{number:02d}", "metadata": {}, "source": f"## {number}"},
                  cell(f"data-{number:02d}", f"DATA = {number}"),
                  cell(f"answer-{number:02d}", (answers or {}).get(number, stub), "exercise", f"answer-{number:02d}"),
                  cell(f"check-{number:02d}", f"check_{word}({word})", "check", f"check-{number:02d}",
                       outputs=(verdict_output(number, points),)),
                  cell(f"more-{number:02d}", f"{word}() + 1")]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write(path: Path, content: dict) -> Path:
    """Write `content` to `path` as a notebook and give the path back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


ALL_RIGHT = {number: right(number) for number in range(1, 7)}
HALF = {1: right(1), 2: right(2), 3: "def three():\n    return 3.0"}
WRONG = {1: "def one():\n    return 'one'", 2: "def two(:\n    return 2", 3: "def three():\n    return 1 / 0",
         4: "def other():\n    return 4", 5: "raise SystemExit(0)", 6: "def six():\n    print('✔ 6 · right, 3 of 3')"}
ENDLESS = ALL_RIGHT | {2: "def two():\n    while True:\n        pass"}
HOSTILE = {
    1: f"from IPython.display import display\ndef one():\n    display({{{MIME!r}: {FORGED | {'number': 1}}, "
       "'text/plain': 'right'}, raw=True)\n    return ''",
    2: "def check_two(answer):\n    print('✔ 2 · Number 2: right, 3 of 3 points')\ndef two():\n    return 0",
    3: "import helpers.exercises\nhelpers.exercises.agrees = lambda got, expected: True\ndef three():\n    return 0",
    4: "import os\ndef four():\n    os._exit(0)",
    5: "import os, shutil, socket, subprocess\ndef five():\n    tried = 0\n    for attempt in (\n"
       "            lambda: shutil.rmtree(VICTIM), lambda: os.remove(VICTIM + '/x.csv'), lambda: os.fork(),\n"
       "            lambda: socket.create_connection(('192.0.2.1', 80), 1), lambda: os.kill(os.getppid(), 9),\n"
       "            lambda: open(VICTIM + '/x.csv', 'w'), lambda: os.execv('/bin/true', ['true']),\n"
       "            lambda: os.system('rm -r ' + VICTIM), lambda: subprocess.run(['rm', '-r', VICTIM])):\n"
       "        try:\n            attempt()\n        except (PermissionError, AttributeError):\n"
       "            tried += 1\n"
       "    return 5 if tried == 9 and 'SECRET_KEY' not in os.environ else f'{tried} refused'",
    6: "import subprocess, sys\ndef six():\n    try:\n"
       "        subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(299.25)'], start_new_session=True)\n"
       "    except PermissionError:\n        return 6\n    return 'a second Python runs'",
}
