"""The claims of the lab's notebooks hold for other seeds than the committed ones: slow, 20 for each notebook."""

import re

import nbformat
import pytest
from matplotlib import pyplot as plt

from helpers import notebook
from helpers.curriculum import NOTEBOOKS

LABS = [path for number in ("05", "06", "07") for path in sorted(NOTEBOOKS.glob(f"{number}_*.ipynb"))]
FIRST_SEEDS = [300 * (i + 1) for i in range(20)]  # no seed is used twice: a notebook takes up to 200 from its first one


def code_cells(path, first_seed: int) -> list[str]:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    parameters = next(cell for cell in cells if "parameters" in cell.metadata.get("tags", []))
    parameters.source, changed = re.subn(r"(?m)^FIRST_SEED = \d+", f"FIRST_SEED = {first_seed}", parameters.source)
    assert changed == 1
    return [cell.source for cell in cells]


def close(figure, *, caption: str, alt: str) -> None:
    assert caption
    assert alt
    plt.close(figure)


def test_the_lab_has_three_notebooks_that_take_a_first_seed() -> None:
    assert [path.name[:2] for path in LABS] == ["05", "06", "07"]
    assert all(len(code_cells(path, 1)) > 20 for path in LABS)


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", FIRST_SEEDS)
@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_the_claims_hold_for_other_seeds(path, first_seed: int, monkeypatch) -> None:
    monkeypatch.setattr(notebook, "show", close)
    monkeypatch.setattr(notebook, "_checked", checked := [])
    namespace: dict = {"__name__": "__main__"}
    for number, source in enumerate(code_cells(path, first_seed)):
        exec(compile(source, f"{path.stem}, code cell {number}, first seed {first_seed}", "exec"), namespace)
    assert len(checked) > 20
