"""Say how far a recording is: answers asked for, of how many, seconds each, and about how long it will still take.

Left out: what the notebook does between its questions, which the estimate takes to go on as it has so far.
"""

import math
import time
from collections.abc import Callable
from typing import TextIO

from helpers.progress import Progress
from helpers.transcript import Transcript


class RecordingProgress(Progress):
    """Follow the list of keys that a recording in another process asks for (`Transcript.used_path`).

    `transcript` is the recording as it stands before the notebook starts. `total` is how many answers the former
    recording of the notebook held, None when there was none. Answers that stand in `transcript` already are
    replayed, much faster than new ones come: only new ones count for the pace and for the time left.
    """

    def __init__(self, transcript: Transcript, total: int | None, stream: TextIO | None = None, *,
                 clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(1, stream, every_s=30.0, clock=clock)
        self.path, self.before, self.expected = transcript.used_path, set(transcript.exchanges), total
        self.used: set[str] = set()
        self.new: list[tuple[float, int]] = []  # when new answers were first and last seen, and how many there were

    def tick(self) -> None:
        """Look at the list, then do as `Progress` does."""
        self._look()
        super().tick()

    @property
    def seconds_each(self) -> float:
        """Seconds a new answer takes, all of what the notebook does included; NaN before a second look at some."""
        (began, first), (ended, last) = self.new or [(0.0, 0)] * 2
        return (ended - began) / (last - first) if last > first else math.nan

    @property
    def seconds_left(self) -> float:
        """Seconds until `total` answers are recorded; NaN when it is unknown or already exceeded."""
        missing = -1 if self.expected is None else self.expected - len(self.before | self.used)
        return missing * self.seconds_each if missing >= 0 else math.nan

    def _look(self) -> None:
        if self.path.exists():
            listed = self.path.read_bytes()  # 65 bytes an answer; the last line may still be half written
            self.used = set(listed[:listed.rfind(b"\n") + 1].decode("ascii").split())
        seen = self.clock(), len(self.used - self.before)
        if seen[1] and not self.new:
            self.new = [seen, seen]
        elif seen[1] and seen[1] > self.new[1][1]:
            self.new[1] = seen

    def _state(self, name: str) -> str:
        if not self.used:
            return super()._state(name)
        known = self.expected is not None and len(self.used) <= self.expected
        parts = [f"{len(self.used):,} of about {self.expected:,} answers" if known else f"{len(self.used):,} answers"]
        if not self.new:
            parts.append("all recorded before")
        if not math.isnan(self.seconds_each):
            parts.append(f"{self.seconds_each:.1f} s each")
        if not math.isnan(self.seconds_left):
            parts.append(f"{duration(self.seconds_left)} left")
        # In a terminal the line must not be cut: the number of the notebook is enough there.
        return f"{name.split('_')[0] if self.terminal else name}: {', '.join(parts)}"


def duration(seconds: float) -> str:
    """`seconds` in words to plan with, rounded up to minutes.

    >>> duration(9_900), duration(61), duration(60)
    ('about 2 h 45 min', 'about 2 min', 'about 1 min')
    """
    if seconds < 60:
        return "less than a minute"
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"about {hours} h {minutes} min" if hours else f"about {minutes} min"
