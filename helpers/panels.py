"""Sliders that redraw a figure in an interactive notebook; the figure alone where nobody can move anything.

Left out: what the panels of the course draw (`helpers.panel_worlds`), and animation.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from IPython.display import display
from matplotlib.figure import Figure

from helpers import notebook
from helpers.settings import load_settings

if TYPE_CHECKING:
    from ipywidgets import VBox


@dataclass(frozen=True)
class Slider:
    """One thing to move: the argument `name` of the drawing, in words, through `values`, from `start`.

    `form` is how a value is written, a format specification.

    >>> Slider("n", "memories N", (20, 1_000), start=20, form=",").labels
    ('20', '1,000')
    """

    name: str
    words: str
    values: tuple[float, ...]
    start: float
    form: str = "g"

    def __post_init__(self) -> None:
        if len(self.values) < 2 or self.start not in self.values:
            raise ValueError(f"slider {self.name!r}: expected at least two values and a start among them, got "
                             f"{self.values} and {self.start!r}")

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as the reader sees them."""
        return tuple(format(value, self.form) for value in self.values)


@dataclass(frozen=True)
class Drawn:
    """A figure, with caption and alt text as `helpers.notebook.show` takes them."""

    figure: Figure
    caption: str
    alt: str

    def bundle(self) -> dict[str, str]:
        """The figure by MIME type."""
        return notebook.figure_bundle(self.figure, caption=self.caption, alt=self.alt)


def show_panel(draw: Callable[..., Drawn], sliders: Sequence[Slider]) -> None:
    """Display `draw(**values)` with sliders above it; in batch mode the figure at their start, and how to move it.

    What is displayed with sliders holds the figure as HTML too, for what shows no widgets, such as a preview.
    """
    if load_settings().batch:
        first = draw(**{slider.name: slider.start for slider in sliders})
        notebook.show(first.figure, caption=first.caption, alt=first.alt)
        movable = "; ".join(slider.words for slider in sliders)
        print(notebook.wrap("To move it, open this notebook in JupyterLab, VS Code or Colab and run this cell: it then "
                            f"has sliders, for the mouse or the arrow keys ({movable})."))
        return
    panel, first = panel_of(draw, sliders)
    # ipywidgets 7, which Colab has, displays a widget by other means, and could not lay the figure beside it
    view = {"version_major": 2, "version_minor": 0, "model_id": panel.model_id}
    display({"application/vnd.jupyter.widget-view+json": view} | first, raw=True)
    print("The sliders live as long as the kernel: where they are gone, run this cell again.")


def panel_of(draw: Callable[..., Drawn], sliders: Sequence[Slider]) -> tuple[VBox, dict[str, str]]:
    """The widget, sliders above the figure, and the first figure by MIME type.

    An error of the first drawing is raised; a later one takes the place of the figure, since nobody sees what an
    event handler raises.
    """
    from ipywidgets import HTML, Layout, SelectionSlider, VBox  # a third of a second, which batch runs need not spend

    controls = {slider.name: SelectionSlider(
        options=[*zip(slider.labels, slider.values, strict=True)], value=slider.start, description=slider.words,
        tooltip=slider.words, continuous_update=False, style={"description_width": "18em"},
        layout=Layout(width="95%", max_width="44em")) for slider in sliders}

    def drawn() -> dict[str, str]:
        return draw(**{name: control.value for name, control in controls.items()}).bundle()

    first = drawn()
    picture = HTML(first["text/html"])

    def redraw(_: object) -> None:
        try:
            picture.value = drawn()["text/html"]
        except Exception as error:
            now = _listed([f"{name} = {control.value:g}" for name, control in controls.items()])
            picture.value = (f'<p role="alert"><strong>Not drawn.</strong> With {now}: '
                             f"{type(error).__name__}: {html.escape(str(error))}</p>")

    for control in controls.values():
        control.observe(redraw, names="value")
    return VBox([*controls.values(), picture]), first


def _listed(words: Sequence[str]) -> str:
    """The words as an English list.

    >>> _listed(["N", "k", "noise"]), _listed(["N"])
    ('N, k and noise', 'N')
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
