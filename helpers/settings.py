"""Read what the reader may set, from `.env` and the environment, into one frozen record.

Left out: profiles, several `.env` files, writing anything back. `os.environ` is read and never changed, so
that a key in `.env` does not leak into the processes a notebook starts.
"""

import contextlib
import ipaddress
import math
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values, find_dotenv

DATA = Path(__file__).resolve().parent.parent / "data"
DEFAULT_BASE_URL = "https://openrouter.ai/api/v1"
SOURCES = ("auto", "replay", "local", "live", "record")
YES, NO = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
VARIABLES = ("BATCH_MODE", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", "OPENAI_MODEL_FAST", "OPENAI_MODEL_BIG",
             "COURSE_SOURCE", "COURSE_BUDGET_USD", "COURSE_PRICE_USD", "COURSE_MODEL_PATH", "COURSE_SERVERS",
             "DATABASE_URL", "DASK_SCHEDULER_ADDRESS")


class SettingsError(ValueError):
    """A variable holds what it cannot mean; the message names it, what is expected and what came."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the reader set. `budget_usd` None is no cap; `price_usd` is US dollars a million tokens; `servers` is how
    many copies of the local model may answer side by side, None as many as the machine is good for. `database_url`
    and `scheduler` are addresses of a PostgreSQL server and of a Dask scheduler, "" for none of one's own; both may
    hold a password and are not shown.

    >>> Settings(api_key="sk-secret").live, "sk-secret" in repr(Settings(api_key="sk-secret"))
    (True, False)
    """

    batch: bool = True
    source: str = "auto"
    api_key: str | None = field(default=None, repr=False)
    base_url: str = DEFAULT_BASE_URL
    model_fast: str = "meta-llama/llama-3.3-70b-instruct"
    model_big: str = "openai/gpt-5-nano"
    budget_usd: float | None = None
    price_usd: float = 5.0
    model_path: Path | None = None
    servers: int | None = None
    database_url: str = field(default="", repr=False)
    scheduler: str = field(default="", repr=False)

    @property
    def live(self) -> bool:
        """Whether a live provider can be asked: a key is set, or an address that may need none."""
        return self.api_key is not None or self.base_url != DEFAULT_BASE_URL

    @property
    def host(self) -> str:
        """The host of `base_url`, for messages."""
        return urlsplit(self.base_url).hostname or ""


def on_this_machine(url: str) -> bool:
    """Whether `url` is an address of this machine: nothing to pay there, and no proxy in between.

    >>> on_this_machine("http://127.0.0.1:11434/v1"), on_this_machine("https://openrouter.ai/api/v1")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    with contextlib.suppress(ValueError):  # a name, not a number
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def load_settings() -> Settings:
    """Settings from the environment and, below it, the first `.env` found upward from the working folder.

    A variable that is set, even to nothing, hides the same line of `.env`; an empty value means the default.
    `BATCH_MODE` unset means batch, unless a Jupyter front end is open; under `CI` it means batch.

    Raises:
        SettingsError: a value that cannot be read, or a `.env` that is not UTF-8.
    """
    read = {name: (value or "").strip() for name, value in {**_env_file(), **os.environ}.items()}
    given = {name: read[name] for name in VARIABLES if read.get(name)}
    default = Settings()
    return Settings(
        batch=_batch(given.get("BATCH_MODE"), os.environ),
        source=_one_of("COURSE_SOURCE", given.get("COURSE_SOURCE", default.source).lower(), SOURCES),
        api_key=_key(given.get("OPENROUTER_API_KEY")),
        base_url=_address(given.get("OPENROUTER_BASE_URL", default.base_url)),
        model_fast=given.get("OPENAI_MODEL_FAST", default.model_fast),
        model_big=given.get("OPENAI_MODEL_BIG", default.model_big),
        budget_usd=_dollars("COURSE_BUDGET_USD", given.get("COURSE_BUDGET_USD"), default.budget_usd),
        price_usd=_dollars("COURSE_PRICE_USD", given.get("COURSE_PRICE_USD"), default.price_usd),
        model_path=Path(given["COURSE_MODEL_PATH"]).expanduser() if "COURSE_MODEL_PATH" in given else None,
        servers=_count("COURSE_SERVERS", given.get("COURSE_SERVERS")),
        database_url=given.get("DATABASE_URL", ""),
        scheduler=given.get("DASK_SCHEDULER_ADDRESS", ""),
    )


def front_end(environ: Mapping[str, str]) -> str | None:
    """The name of the Jupyter front end this process serves, or None: papermill and nbval open none.

    >>> front_end({"JPY_SESSION_NAME": "notebooks/00_start_here.ipynb"})
    'Jupyter'
    """
    if environ.get("JPY_SESSION_NAME"):
        return "Jupyter"
    if "google.colab" in sys.modules:
        return "Colab"
    if "ipykernel" in sys.modules:
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        names = getattr(shell, "user_ns", {})
        if "VSCODE_PID" in environ or "__vsc_ipynb_file__" in names:
            return "VS Code"
    return None


def _env_file() -> dict[str, str | None]:
    path = find_dotenv(usecwd=True)
    try:
        # utf-8-sig: Notepad begins a file with a byte order mark, which would become part of the first name.
        return dotenv_values(path, encoding="utf-8-sig", interpolate=False) if path else {}
    except UnicodeDecodeError:  # its text would quote bytes of the file, keys among them
        raise SettingsError(f"{path}: expected UTF-8 text; save the file again as UTF-8") from None


def _batch(value: str | None, environ: Mapping[str, str]) -> bool:
    if value is not None:
        return _one_of("BATCH_MODE", value.lower(), YES + NO) in YES
    ci = environ.get("CI", "").strip().lower() not in ("", *NO)
    return ci or front_end(environ) is None


def _shown(value: str) -> str:
    """The value as an error quotes it: a key may stand on the wrong line."""
    return "what looks like a key (not shown here)" if re.search(r"(?i)\b[sp]k-", value) else repr(value)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise SettingsError(f"{name}: expected one of {', '.join(allowed)}; got {_shown(value)}")
    return value


def _key(value: str | None) -> str | None:
    if value is not None and not (value.isascii() and value.isprintable() and " " not in value):
        raise SettingsError("OPENROUTER_API_KEY: expected printable ASCII without spaces; "
                            "the value has another character: copy the key again (its text is not shown here)")
    return value


def _address(value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if parts.username or parts.password:
        raise SettingsError("OPENROUTER_BASE_URL: expected an address without user or password; "
                            "put the key in OPENROUTER_API_KEY")
    if parts.scheme not in ("http", "https") or not parts.hostname or value.rstrip("/").endswith("/completions"):
        raise SettingsError("OPENROUTER_BASE_URL: expected the address before /chat/completions, "
                            f"such as {DEFAULT_BASE_URL} or http://127.0.0.1:11434/v1; got {_shown(value)}")
    return value.rstrip("/")


def _count(name: str, value: str | None) -> int | None:
    if value is not None and not (value.isdecimal() and int(value) >= 1):
        raise SettingsError(f"{name}: expected a whole number of 1 or more, such as 2; got {_shown(value)}")
    return None if value is None else int(value)


def _dollars(name: str, value: str | None, default: float | None) -> float | None:
    if value is None:
        return default
    try:
        amount = float(value)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise SettingsError(f"{name}: expected US dollars as a number of 0 or more, such as 0.50; got {_shown(value)}")
    return amount
