"""The committed table of notebook 08 is what its recorded answers say."""

import numpy as np
import pytest

from helpers.governed_table import UNKNOWN, build_table, every_prompt, load_table
from helpers.governed_world import load_world
from helpers.llm import connect
from helpers.settings import DATA


@pytest.fixture(scope="module")
def table():
    return load_table(DATA / "governed_table.npz", load_world())


def replayed(**options):
    return build_table(load_world(), connect("08_governed_reflexion", source="replay"), **options)


def test_the_table_knows_every_prompt_and_no_other(table):
    known = table.verdicts != UNKNOWN
    assert known.all(axis=-1).sum() == known.any(axis=-1).sum()  # both versions of the rule, or none
    # A pair of lessons stands twice, one lesson as (lesson, nothing) and the other way round, no lesson once.
    k = np.array([len(shown) for _, shown, _ in every_prompt(table.world)])
    assert known.all(axis=-1).sum() == (k == 0).sum() + 2 * (k > 0).sum()
    assert (table.tokens[known.all(axis=-1)] > 0).all()


def test_without_a_lesson_the_recorded_answers_give_the_table(table):
    fresh, nothing = replayed(most=0), table.nothing
    assert (fresh.verdicts[:, nothing, nothing] == table.verdicts[:, nothing, nothing]).all()
    assert (fresh.tokens[:, nothing, nothing] == table.tokens[:, nothing, nothing]).all()


@pytest.mark.slow
def test_the_recorded_answers_give_the_whole_table(table):
    fresh = replayed()
    assert (fresh.verdicts == table.verdicts).all() and (fresh.tokens == table.tokens).all()
