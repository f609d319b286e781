"""Self-check questions: predict, choose, reveal, with an explanation behind every option.

Left out: scores and memory of what was chosen; graded tasks are exercises, guesses before a result are predictions.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from IPython.display import display

from helpers.notebook import wrap

RIGHT, WRONG = "Right.", "Not so."


@dataclass(frozen=True)
class SelfCheck:
    """A question, its options with their explanations in the order shown, and which option is right.

    A notebook shows one folded `<details>` an option: it opens by click, Enter or Space, needs neither kernel nor
    script, and takes its colours from the page. Elsewhere it is text: the options first, then the answer.
    """

    question: str
    options: Mapping[str, str]
    answer: str

    def __post_init__(self) -> None:
        if len(self.options) < 2:
            raise ValueError(f"expected at least two options, got {list(self.options)}; add a plausible wrong one")
        if self.answer not in self.options:
            raise ValueError(f"expected one of {list(self.options)} as the answer, got {self.answer!r}; copy an option")
        for name, text in {"question": self.question, **{f"option {o!r}": o for o in self.options},
                           **{f"explanation of {o!r}": e for o, e in self.options.items()}}.items():
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"expected a sentence as {name}, got {text!r}; every option needs its explanation")

    def _lettered(self) -> list[tuple[str, str, str]]:
        """For every option: its letter, its text, and verdict with explanation."""
        return [(chr(ord("a") + i), option, f"{RIGHT if option == self.answer else WRONG} {explanation}")
                for i, (option, explanation) in enumerate(self.options.items())]

    def __str__(self) -> str:
        options = [wrap(f"  ({letter}) {option}") for letter, option, _ in self._lettered()]
        letter, _, verdict = next(row for row in self._lettered() if row[1] == self.answer)
        return "\n".join([wrap(self.question), *options, wrap(f"answer: ({letter}) {verdict}")])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Both forms; IPython calls this with the types it wants and does not want, and filters by itself."""
        rows = "\n".join(f"<details><summary>({letter}) {marked_up(option)}</summary>"
                         f"<p>{marked_up(verdict)}</p></details>" for letter, option, verdict in self._lettered())
        return {"text/plain": str(self), "text/html": f"<p><strong>{marked_up(self.question)}</strong></p>\n{rows}"}


def marked_up(text: str) -> str:
    """`text` as HTML: escaped, and what stands between backticks as code.

    >>> marked_up("is `a < b`?")
    'is <code>a &lt; b</code>?'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def ask(question: str, options: Mapping[str, str], *, answer: str) -> None:
    """Show `question` with its `options`, each mapped to the explanation found behind it; `answer` names the right one.

    The verdict is added in words, so that an explanation need not start with one. Fewer than two options, an answer
    that is none of them and an empty explanation are a `ValueError`. The cell that asks names the answer in its code:
    give it the tag `hide-input` and the metadata `{"jupyter": {"source_hidden": true}}`, which fold the code away.

    >>> ask("What is 2 + 2?", {"22": "That joins texts.", "4": "Numbers are added."}, answer="4")
    What is 2 + 2?
      (a) 22
      (b) 4
    answer: (b) Right. Numbers are added.
    """
    display(SelfCheck(question, dict(options), answer))
