"""Checks an LRU memory (exercise 2): which lessons are left after a few steps.

Left out: lessons on disk, and other rules of eviction, which the course's own memory has (`eviction.py`).
"""

from collections.abc import Callable

from helpers.exercises import TODO, NotAttempted, Part, check


def _played(answer: Callable, room: int, steps: str) -> object:
    """The memory after `steps`, such as "add a, touch a"."""
    memory = answer(room)
    for step in steps.split(", "):
        verb, key = step.split()
        if (memory.add(key, key.upper()) if verb == "add" else memory.touch(key)) is TODO:
            raise NotAttempted
    return memory


def _typed(room: int, steps: str) -> str:
    """The same steps as a reader would type them.

    >>> _typed(1, "add a, touch a")
    'm = LRU(1); m.add("a", "A"); m.touch("a")'
    """
    calls = [f'm.add("{key}", "{key.upper()}")' if verb == "add" else f'm.touch("{key}")'
             for verb, key in (step.split() for step in steps.split(", "))]
    return "; ".join([f"m = LRU({room})", *calls])


def _left(answer: Callable, room: int, steps: str, expected: str, why: str, points: int = 1) -> Part:
    return Part(f"{_typed(room, steps)}; sorted(m.lessons)", lambda: sorted(_played(answer, room, steps).lessons),
                expected.split(), points=points, why=why)


def _missing(answer: Callable) -> object:
    """What touching a key that was never added leads to, and what is left after three more lessons."""
    memory = _played(answer, 2, "add a, add b")
    try:
        outcome = memory.touch("z")
    except KeyError:
        outcome = "KeyError"
    for key in "cde":
        memory.add(key, key.upper())
    return [outcome, sorted(memory.lessons)]


def _clock(memory: object) -> object:
    """What the counter shows, and the keys in the order in which they were used last."""
    return [memory.accesses, sorted(memory.last_used, key=memory.last_used.get)]


@check(number=2, title="LRU eviction")
def check_lru(answer: Callable) -> list[Part]:
    """The parts for a class made as `answer(max_entries)`, with `add`, `touch`, `lessons` and `accesses`."""
    return [
        _left(answer, 2, "add a, add b, touch a, add c", "a c", points=2,
              why="b was not used for longest. Without the touch it would be a: that rule is first in, first out."),
        _left(answer, 2, "add a, touch a, touch a, add b, add c", "b c",
              why="a was used more often, but b later. Least recently used asks when, not how often (that is LFU)."),
        _left(answer, 2, "add a, add b", "a b", why="There is room for two; one goes when there are more than that."),
        _left(answer, 1, "add a, add b", "b",
              why="The newcomer is the one used last, so it is never its own victim: put it in, then look who goes."),
        _left(answer, 2, "add a, add b, add b", "a b", why="b is there already, so nothing has to make room for it."),
        _left(answer, 2, "add a, add b, add a, add c", "a c", why="To add a lesson again is to use it."),
        Part(f'{_typed(2, "add a, add b")}; m.touch("z"); then c, d, e are added: what came of z, sorted(m.lessons)',
             lambda: _missing(answer), ["KeyError", ["d", "e"]],
             why="There is no z: that is a KeyError, and no trace of z may stay in any of the dictionaries."),
        Part(_typed(2, "add a, touch a"), lambda: _played(answer, 2, "add a").touch("a"), "A",
             why="touch is how a lesson is read: it returns the lesson."),
        Part(f"{_typed(2, 'add a, add b, touch a')}; m.accesses, sorted(m.last_used, key=m.last_used.get)",
             lambda: _clock(_played(answer, 2, "add a, add b, touch a")), [3, ["b", "a"]],
             why="Each add and each touch is one access; the counter is the clock that last_used is read from."),
    ]
