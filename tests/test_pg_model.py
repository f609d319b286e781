"""PgVectorMemory against the plain dictionary that VectorMemory is held against, by the same rules."""

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from memory_fakes import Exact
from pg_fakes import quick_url
from psycopg import sql
from test_memory_model import MemoryAgainstModel

from helpers.pg_memory import PgVectorMemory


class ServerAgainstModel(MemoryAgainstModel):
    """The rules that damage a file find none, and do nothing."""

    def open(self):
        return PgVectorMemory(quick_url(), Exact(), name=self.folder.name, **self.options)

    def teardown(self):
        super().teardown()
        for memory in self.handles:
            memory.close()
        with psycopg.connect(quick_url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self.folder.name)))


@pytest.mark.parametrize("examples", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_the_memory_on_a_server_and_a_dictionary_agree_whatever_is_done(examples):
    run_state_machine_as_test(ServerAgainstModel, settings=settings(
        max_examples=examples, stateful_step_count=30, deadline=None, derandomize=True, print_blob=True,
        suppress_health_check=list(HealthCheck)))
    assert ServerAgainstModel.open is not MemoryAgainstModel.open
