"""Sentences and figures that the run vouches for: `claim()`, `show()`, and predictions made before looking.

Left out: numbering, styling and cross-references of figures; a page built from the notebooks does that.
"""

from __future__ import annotations

import base64
import html
import io
import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from IPython.display import display
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

WIDTH = 96  # characters a printed sentence may take before it wraps
_checked: list[str] = []


class ClaimFailed(AssertionError):
    """A sentence of a notebook is no longer true for the numbers of this run."""


def claim(sentence: str, condition: bool) -> None:
    """Print `sentence` with a tick when `condition` holds; stop the notebook when it does not.

    `condition` must be a single truth value (`bool` or a numpy scalar): an array, a number, a string or `None`
    would be a claim that cannot fail, and is a `TypeError`.

    >>> claim(f"Two and two make {2 + 2}.", 2 + 2 == 4)
    ✔ Two and two make 4.
    """
    if not isinstance(condition, bool | np.bool_):
        raise TypeError(f"claim() expected True or False as its condition, got {type(condition).__name__} "
                        f"({condition!r:.60}); write a comparison, such as `gain > 0`")
    if not isinstance(sentence, str) or not sentence.strip():
        raise TypeError(f"claim() expected a sentence, got {sentence!r:.60}")
    if not condition:
        raise ClaimFailed(f"no longer true in this run: {sentence}")
    _checked.append(sentence)
    print(wrap(f"✔ {sentence}"))


def claims_checked() -> int:
    """How many claims this kernel has checked so far; all of them held, or the run would have stopped."""
    return len(_checked)


def wrap(text: str, width: int = WIDTH) -> str:
    """`text` with each of its lines wrapped at `width` characters, continuation lines indented by two.

    >>> print(wrap("one two three", width=9))
    one two
      three
    """
    lines = text.split("\n")
    return "\n".join(textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False,
                                   break_on_hyphens=False) for line in lines)


def side_by_side(texts: dict[str, str], width: int = WIDTH) -> None:
    """Print texts in columns under their names; a line that does not fit its column goes on below, indented.

    >>> side_by_side({"one": "a\\nb", "two": "c"}, width=10)
    one   two
    ----  ----
    a     c
    b
    """
    if not texts:
        raise ValueError("expected at least one text to print, got none")
    column = (width + 2) // len(texts) - 2
    folded = [[line for whole in text.splitlines() for line in textwrap.wrap(
        whole, column, subsequent_indent="    ", drop_whitespace=False, replace_whitespace=False) or [""]]
              for text in texts.values()]
    head = [[name, "-" * column] for name in texts]
    rows = zip_longest(*(top + body for top, body in zip(head, folded, strict=True)), fillvalue="")
    print("\n".join("  ".join(f"{cell:<{column}}" for cell in row).rstrip() for row in rows))


def show(figure: Figure, *, caption: str, alt: str) -> None:
    """Display `figure` with a caption that states the finding, and alt text for those who do not see it.

    Kept as one HTML output (`<figure>`, `<img alt>`, `<figcaption>`), because the alt text in a notebook's output
    metadata is read by neither JupyterLab nor nbconvert; the plain-text form carries caption and alt text.
    The figure is closed, so that it is not drawn twice. Empty captions and alt texts are a `ValueError`.
    """
    display(figure_bundle(figure, caption=caption, alt=alt), raw=True)


def figure_bundle(figure: Figure, *, caption: str, alt: str) -> dict[str, str]:
    """What `show` displays, by MIME type, for those who put it elsewhere; the figure is closed as well."""
    for name, text in (("caption", caption), ("alt", alt)):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"show() expected a sentence as {name}, got {text!r}; say what the figure shows")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    encoded = base64.b64encode(picture.getvalue()).decode("ascii")
    markup = (f'<figure><img src="data:image/png;base64,{encoded}" alt="{html.escape(alt, quote=True)}" '
              f'style="max-width:100%"><figcaption>{html.escape(caption)}</figcaption></figure>')
    return {"text/html": markup, "text/plain": wrap(f"{caption}\n[figure: {alt}]")}


@dataclass
class Predictions:
    """Guesses made before a result is seen, kept to stand beside the answers at the end.

    A missing guess (`None`) never stops the notebook; a guess that is none of the options does, with the options.

    >>> predictions = Predictions()
    >>> predictions.ask("sky", "What colour is the sky?", ["blue", "green"], my_guess=None)
    What colour is the sky?
      (a) blue   (b) green
      your guess: none yet
    >>> predictions.answer("sky", "blue")
    >>> predictions.review()
    What colour is the sky?
      answer: blue; your guess: none
    """

    questions: dict[str, tuple[str, tuple[str, ...], str | None]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)

    def ask(self, name: str, question: str, options: list[str], my_guess: str | None) -> None:
        """Print `question` with its `options` and keep `my_guess`: an option, its letter, or `None`."""
        letters = {chr(ord("a") + i): option for i, option in enumerate(options)}
        guess = letters.get(my_guess, my_guess) if my_guess is not None else None
        if guess is not None and guess not in options:
            raise ValueError(f"expected my_guess to be None, one of {options} or its letter; got {my_guess!r}")
        self.questions[name] = (question, tuple(options), guess)
        print(wrap(question))
        print(wrap("  " + "   ".join(f"({letter}) {option}" for letter, option in letters.items())))
        print(f"  your guess: {guess or 'none yet'}")

    def answer(self, name: str, answer: str) -> None:
        """Keep what the run found for question `name`; it must be one of that question's options."""
        if name not in self.questions:
            raise KeyError(f"no question named {name!r}; asked so far: {sorted(self.questions)}")
        if answer not in self.questions[name][1]:
            raise ClaimFailed(f"the run's answer to {name!r} is {answer!r}, none of {self.questions[name][1]}")
        self.answers[name] = answer

    def review(self) -> None:
        """Print every question with its answer and the guess made before it; each must have been answered."""
        missing = sorted(set(self.questions) - set(self.answers))
        if missing:
            raise ClaimFailed(f"asked but never answered: {missing}")
        for name, (question, _, guess) in self.questions.items():
            mark = "" if guess is None else (" (right)" if guess == self.answers[name] else " (not so)")
            print(wrap(question))
            print(f"  answer: {self.answers[name]}; your guess: {guess or 'none'}{mark}")
