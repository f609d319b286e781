"""Memories that are tried out leave nothing, and take nothing of others with them."""

import psycopg
import pytest
from memory_fakes import Exact
from pg_fakes import new_name, quick_url

from helpers.pg_memory import PgVectorMemory
from helpers.pg_scratch import scratch


def schemas() -> set[str]:
    with psycopg.connect(quick_url()) as connection:
        return {name for name, in connection.execute("SELECT nspname FROM pg_namespace").fetchall()}


def test_what_was_tried_is_gone_also_after_an_error_and_the_rest_stays():
    kept = new_name()
    with PgVectorMemory(quick_url(), Exact(), name=kept) as memory:
        memory.add("0.5", "stays")
    before = schemas()
    with pytest.raises(ZeroDivisionError), scratch(quick_url()) as names, scratch(quick_url()) as others:
        assert names("a") == names("a") != others("a")
        for name in (names("a"), names("a") + ' and "more"', others("a")):
            with PgVectorMemory(quick_url(), Exact(), name=name) as memory:
                memory.add("0.5", "goes")
        assert len(schemas() - before) == 3
        raise ZeroDivisionError
    assert schemas() == before >= {kept}
    with scratch(quick_url()):
        pass  # nothing was made, nothing is removed
    assert schemas() == before
