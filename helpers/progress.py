"""Say how far a run of several notebooks is: one line that moves in a terminal, plain lines in a log.

Left out: bars, colours and estimates of the time left.
"""

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Notebook, cell and seconds of everything that runs, written to `stream` (standard output by default).

    In a terminal one line is redrawn; elsewhere a line is written every `every_s` seconds, so that a log stays
    readable and still shows where a run hangs. `clock` counts seconds.
    """

    def __init__(self, total: int, stream: TextIO | None = None, *, every_s: float = 10.0,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.every_s, self.clock = total, every_s, clock
        self.stream = sys.stdout if stream is None else stream
        self.terminal = self.stream.isatty()
        self.finished = 0
        self.running: dict[str, tuple[int, int]] = {}  # name: the cell that runs, the number of cells
        self.begun: dict[str, float] = {}
        self.last = clock()

    def cell(self, name: str, number: int, cells: int) -> None:
        """Cell `number` of `cells` of the notebook `name` starts; number 0 says the notebook is being opened."""
        self.begun.setdefault(name, self.clock())
        self.running[name] = number, cells

    def tick(self) -> None:
        """Redraw the moving line, or write the lines that are due; call it as often as you like."""
        if self.terminal:
            columns = shutil.get_terminal_size().columns - 1
            self._write("\r" + " | ".join(self._state(name) for name in self.running)[:columns].ljust(columns))
        elif self.clock() - self.last >= self.every_s:
            self.last = self.clock()
            self._write("".join(f"      {self._state(name)}\n" for name in self.running))

    def done(self, name: str, *, passed: bool, seconds: float) -> None:
        """The notebook `name` ended: one line that stays."""
        self.running.pop(name, None)
        self.finished += 1
        wipe = "\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r" if self.terminal else ""
        mark = "passed" if passed else "FAILED"
        self._write(f"{wipe}[{self.finished}/{self.total}] {name:<36} {mark} {seconds:7.1f} s\n")

    def _state(self, name: str) -> str:
        number, cells = self.running[name]
        where = f"cell {number}/{cells}" if number else "starting"
        return f"{name} {where}, {self.clock() - self.begun[name]:.0f} s"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
