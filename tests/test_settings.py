"""What the reader may set: from `.env`, from the environment, and what cannot be meant."""

import os
import sys
import types
from pathlib import Path

import pytest

from helpers.settings import DATA, VARIABLES, Settings, SettingsError, front_end, load_settings, on_this_machine


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*VARIABLES, "CI", "JPY_SESSION_NAME", "VSCODE_PID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def env_file(text: str, folder: str = ".", **how) -> None:
    Path(folder, ".env").write_text(text, **{"encoding": "utf-8", **how})


def test_nothing_set_is_batch_replay_without_key_and_with_the_parent_courses_models():
    settings = load_settings()
    assert settings == Settings(batch=True, source="auto", api_key=None, base_url="https://openrouter.ai/api/v1",
                                model_fast="meta-llama/llama-3.3-70b-instruct", model_big="openai/gpt-5-nano",
                                budget_usd=None, price_usd=5.0, model_path=None, servers=None,
                                database_url="", scheduler="")
    assert not settings.live


def test_every_variable_is_read():
    env_file("BATCH_MODE=no\nOPENROUTER_API_KEY=sk-one\nOPENROUTER_BASE_URL=http://127.0.0.1:9/v1/\n"
             "OPENAI_MODEL_FAST=f\nOPENAI_MODEL_BIG=b\nCOURSE_SOURCE=Live\nCOURSE_BUDGET_USD=0.5\n"
             "COURSE_PRICE_USD=2\nCOURSE_MODEL_PATH=~/m.gguf\nCOURSE_SERVERS=3\nDATABASE_URL=postgresql://h/d\n"
             "DASK_SCHEDULER_ADDRESS=tcp://h:8786\n")
    assert load_settings() == Settings(
        batch=False, api_key="sk-one", base_url="http://127.0.0.1:9/v1", model_fast="f", model_big="b", source="live",
        budget_usd=0.5, price_usd=2.0, model_path=Path.home() / "m.gguf", servers=3, database_url="postgresql://h/d",
        scheduler="tcp://h:8786")


def test_env_file_is_found_upward_and_never_written_to_the_environment(tmp_path, monkeypatch):
    env_file("OPENROUTER_API_KEY=sk-above\n")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    before = dict(os.environ)
    assert load_settings().api_key == "sk-above"
    assert dict(os.environ) == before


def test_a_real_variable_hides_the_line_of_the_file_even_when_empty(monkeypatch):
    env_file("OPENAI_MODEL_FAST=from-file\nOPENROUTER_API_KEY=sk-file\n")
    monkeypatch.setenv("OPENAI_MODEL_FAST", "from-environment")
    monkeypatch.setenv("OPENROUTER_API_KEY", "")
    settings = load_settings()
    assert (settings.model_fast, settings.api_key) == ("from-environment", None)


@pytest.mark.parametrize("encoding, newline", [("utf-8-sig", "\n"), ("utf-8", "\r\n")])
def test_files_of_other_editors(encoding, newline):
    env_file("OPENROUTER_API_KEY= 'sk-quoted' # mine\nOPENAI_MODEL_FAST=é${HOME}\n", encoding=encoding, newline=newline)
    settings = load_settings()
    assert (settings.api_key, settings.model_fast) == ("sk-quoted", "é${HOME}")


def test_a_file_that_is_not_utf8_is_an_error_without_its_bytes():
    env_file("OPENROUTER_API_KEY=sk-wide\n", encoding="utf-16")
    with pytest.raises(SettingsError, match=r"\.env: expected UTF-8 text; save the file again") as caught:
        load_settings()
    assert "sk-wide" not in repr(caught.value) and caught.value.__suppress_context__


@pytest.mark.parametrize("value, batch", [("true", True), ("TRUE", True), ("1", True), ("on", True), ("Yes", True),
                                          ("false", False), ("0", False), ("off", False), (" no ", False)])
def test_batch_mode(monkeypatch, value, batch):
    monkeypatch.setenv("BATCH_MODE", value)
    monkeypatch.setenv("JPY_SESSION_NAME", "" if not batch else "a.ipynb")
    assert load_settings().batch is batch


@pytest.mark.parametrize("ci, front, batch", [("", "a.ipynb", False), ("true", "a.ipynb", True),
                                              ("0", "a.ipynb", False), ("", "", True)])
def test_batch_mode_unset_follows_ci_and_the_front_end(monkeypatch, ci, front, batch):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("JPY_SESSION_NAME", front)
    assert load_settings().batch is batch


def test_front_ends(monkeypatch):
    monkeypatch.delitem(sys.modules, "google.colab", raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert front_end({"VSCODE_PID": "7"}) is None, "a terminal of VS Code is no notebook"
    shell = types.SimpleNamespace(user_ns={})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    assert front_end({}) is None, "a kernel of papermill has no front end"
    assert front_end({"VSCODE_PID": "7"}) == "VS Code"
    shell.user_ns["__vsc_ipynb_file__"] = "a.ipynb"
    assert front_end({}) == "VS Code"
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert front_end({}) == "Colab"
    assert front_end({"JPY_SESSION_NAME": "a.ipynb"}) == "Jupyter"


@pytest.mark.parametrize("name, value, message", [
    ("BATCH_MODE", "maybe", r"BATCH_MODE: expected one of true, .*; got 'maybe'"),
    ("COURSE_SOURCE", "cloud", r"COURSE_SOURCE: expected one of auto, replay, local, live, record; got 'cloud'"),
    ("COURSE_BUDGET_USD", "ten", r"COURSE_BUDGET_USD: expected US dollars .*; got 'ten'"),
    ("COURSE_BUDGET_USD", "nan", "COURSE_BUDGET_USD: expected"),
    ("COURSE_BUDGET_USD", "inf", "COURSE_BUDGET_USD: expected"),
    ("COURSE_BUDGET_USD", "-1", "COURSE_BUDGET_USD: expected"),
    ("COURSE_PRICE_USD", "cheap", "COURSE_PRICE_USD: expected"),
    *(("COURSE_SERVERS", value, rf"COURSE_SERVERS: expected a whole number of 1 or more, such as 2; got '{value}'")
      for value in ("0", "-1", "two", "1.5", "²")),
    ("OPENROUTER_BASE_URL", "openrouter.ai", "OPENROUTER_BASE_URL: expected the address before /chat/completions"),
    ("OPENROUTER_BASE_URL", "http://h/v1/chat/completions", "OPENROUTER_BASE_URL: expected the address before"),
    ("OPENROUTER_BASE_URL", "http://[bad", "OPENROUTER_BASE_URL: expected the address before"),
])
def test_values_that_mean_nothing(monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=message):
        load_settings()


@pytest.mark.parametrize("name, value", [("OPENROUTER_API_KEY", "sk-sec…ret"), ("OPENROUTER_API_KEY", "sk-sec ret"),
                                         ("OPENROUTER_BASE_URL", "https://me:sk-sec-ret@h/v1")])
def test_a_secret_that_cannot_be_used_is_not_quoted(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as caught:
        load_settings()
    assert "sk-sec" not in str(caught.value)


def test_a_budget_of_nothing_is_a_budget(monkeypatch):
    monkeypatch.setenv("COURSE_BUDGET_USD", "0")
    assert load_settings().budget_usd == 0.0


def test_no_secret_is_in_a_repr():
    settings = Settings(api_key="sk-secret", database_url="postgresql://ann:sk-secret@h", scheduler="tls://sk-secret@h")
    assert "sk-secret" not in f"{settings!r}{settings}" and settings.live


def test_an_address_of_this_machine():
    assert on_this_machine("http://localhost:11434/v1") and on_this_machine("http://[::1]:8000/v1")
    assert not on_this_machine("https://127.0.0.1.example.org/v1")
    assert Settings(base_url="http://127.0.0.1:1/v1").live, "it may need no key"


def test_the_data_folder_is_the_repositorys():
    assert (DATA / "problems.json").is_file()


def test_the_example_names_every_variable_and_changes_nothing_but_the_budget(tmp_path):
    example = (DATA.parent / ".env.example").read_text(encoding="utf-8")
    env_file(example)
    assert load_settings() == Settings(budget_usd=1.0)
    assert {name for name in VARIABLES if f"{name}=" in example} == set(VARIABLES)
    uncommented = "".join(line.removeprefix("#") + "\n" for line in example.splitlines()
                          if line.removeprefix("#").startswith(VARIABLES))
    env_file(uncommented)
    assert load_settings() == Settings(batch=False, base_url="http://127.0.0.1:11434/v1", budget_usd=1.0,
                                       model_path=Path.home() / "models" / "another-model.gguf", servers=2,
                                       database_url="postgresql://USER:PASSWORD@HOST:5432/DATABASE",
                                       scheduler="tcp://HOST:8786")


@pytest.mark.parametrize("name", ["OPENROUTER_BASE_URL", "COURSE_BUDGET_USD", "COURSE_SERVERS", "BATCH_MODE"])
def test_a_key_on_the_wrong_line_is_not_quoted(name, monkeypatch):
    monkeypatch.setenv(name, "sk-test-1234567890")
    with pytest.raises(SettingsError, match="looks like a key") as caught:
        load_settings()
    assert "1234" not in str(caught.value)
