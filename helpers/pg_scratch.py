"""Names for memories that are tried out on a server and removed again, so that a server of one's own stays as it was.

Left out: memories that others are still using at the end; removing them waits for them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg import sql


@contextmanager
def scratch(url: str) -> Iterator[Callable[[str], str]]:
    """A function that makes of a word, such as "kill", the name of a memory nobody has on the server at `url`.

    At the end of the `with` block every memory whose name begins like that is removed, those named longer too.
    """
    beginning = f"scratch_{uuid4().hex[:12]}_"
    try:
        yield lambda word: f"{beginning}{word}"
    finally:
        with psycopg.connect(url) as connection:
            for name, in connection.execute("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)",
                                            [beginning]).fetchall():
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
