"""`course run`, `course verify` and `course record` on small notebooks."""

import os
from pathlib import Path

import nbformat
import pytest
from test_execute import outputs, write

from helpers import llm, recording
from helpers.jobs import Run
from helpers.local_model import INSTALL, MODEL_NAME, MODEL_SHA256
from helpers.request_key import request_key
from helpers.runs import (
    RunError,
    answers_from,
    known_parameters,
    parse_value,
    run_notebooks,
    store,
    unknown_parameters,
    verify_notebooks,
)
from helpers.transcript import Transcript, provenance

FIGURE = """import matplotlib.pyplot as plt
from helpers.notebook import show
figure, axes = plt.subplots()
axes.plot([1, 2])
show(figure, caption="It rises to 2.", alt="Line from 1 to 2.")"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> tuple[Path, str]:
    """A folder of three notebooks run with `update`, one of which fails; what was printed."""
    folder = tmp_path_factory.mktemp("course") / "notebooks"
    paths = [write(folder, "00_good", "{'a', 'bc'}", FIGURE), write(folder, "01_bad", "print(1)", "1 / 0"),
             write(folder, "02_good", "n = 4", "print(n)", tags=("parameters",))]
    build = folder.parent / "build"
    assert run_notebooks(paths, output=build, update=True) == 1
    return folder


def test_update_stores_what_passed_and_only_that(stored):
    build = stored.parent / "build"
    assert (stored / "00_good.ipynb").read_bytes() == (build / "00_good.ipynb").read_bytes()
    assert outputs(stored / "02_good.ipynb") == ["4\n"]
    assert outputs(stored / "01_bad.ipynb") == []
    assert sorted(path.name for path in stored.iterdir()) == ["00_good.ipynb", "01_bad.ipynb", "02_good.ipynb"]


def test_the_report_names_each_notebook(stored):
    report = (stored.parent / "build" / "report.html").read_text(encoding="utf-8")
    assert "2 of 3 notebooks passed" in report and "ZeroDivisionError" in report and "no recording of its own" in report
    assert "matplotlib 3" in report


def test_a_plain_run_with_a_parameter_leaves_the_notebook_alone(stored, tmp_path, capsys):
    path = stored / "02_good.ipynb"
    before = path.read_bytes()
    assert run_notebooks([path], output=tmp_path, parameters={"n": 7}) == 0
    assert path.read_bytes() == before
    assert outputs(tmp_path / "02_good.ipynb") == ["7\n"]
    out = capsys.readouterr().out
    assert f"1 passed, 0 failed; report: {tmp_path / 'report.html'}" in out


def test_stored_outputs_are_compared_word_by_word_and_pixels_are_not(stored, tmp_path, capfd):
    text = (stored / "00_good.ipynb").read_text(encoding="utf-8")
    start = text.index("base64,") + len("base64,")
    copies = {"00_good": text, "01_other_pixels": f"{text[:start]}AAAA{text[start + 4:]}",
              "02_other_words": text.replace("<figcaption>It rises to 2", "<figcaption>It rises to 3")}
    paths = [tmp_path / f"{name}.ipynb" for name in copies]
    for path, copy in zip(paths, copies.values(), strict=True):
        path.write_text(copy, encoding="utf-8")
    assert verify_notebooks(paths) == 1
    out = capfd.readouterr().out
    assert "rises to 3.</figcaption>" in out
    assert "02_other_words.ipynb::Cell 1" in out
    assert "1 failed, 5 passed" in out, "expected all cells of the three, none taken for another"


def test_storing_the_same_bytes_writes_nothing(tmp_path, capsys):
    old, new = tmp_path / "01_x.ipynb", tmp_path / "new.ipynb"
    for path, text in ((old, "a"), (new, "b")):
        path.write_text(text, encoding="utf-8")
    store(new, old)
    assert (old.read_text(encoding="utf-8"), capsys.readouterr().out) == ("b", "stored the outputs of 01_x.ipynb\n")
    written = old.stat().st_mtime_ns
    store(new, old)
    assert (old.stat().st_mtime_ns, capsys.readouterr().out) == (written, "")


def test_parameters_are_known_before_anything_runs(tmp_path):
    path = write(tmp_path, "01_x", "n_seeds: int = 20  # how many\nname = 'a'\nprint(name)", tags=("parameters",))
    assert known_parameters(path) == ["n_seeds", "name"]
    assert unknown_parameters(path, {"n_seeds": 1}) == ""
    assert unknown_parameters(path, {"n_sedes": 1}) == "01_x has no parameter n_sedes; it has n_seeds, name"
    assert "none (no cell tagged `parameters`)" in unknown_parameters(write(tmp_path, "02_y", "a = 1"), {"a": 1})


def test_parameters_that_cannot_be_read_are_an_error_that_names_the_notebook(tmp_path):
    for path in (write(tmp_path, "01_magic", "%time n = 1", tags=("parameters",)), tmp_path / "02_text.ipynb"):
        if not path.exists():
            path.write_text("no JSON", encoding="utf-8")
        with pytest.raises(RunError, match=rf"^{path.name}: its parameters cannot be read"):
            known_parameters(path)


@pytest.mark.parametrize(("text", "value"), [
    ("-2", -2), ("1e-3", 0.001), ("true", True), ("True", True), ("null", None), ("'3'", "3"), ("lru", "lru"),
    ("a b", "a b"), ("", ""), ("01", "01")])
def test_a_value_is_what_it_looks_like(text, value):
    assert parse_value(text) == value and type(parse_value(text)) is type(value)


def refused(notebooks: list[Path], folder: Path, **options) -> str:
    """The message with which a run is refused, before anything is written."""
    with pytest.raises(RunError) as caught:
        run_notebooks(notebooks, output=options.pop("output", folder / "build"), **options)
    assert not (folder / "build").exists()
    return str(caught.value)


def test_what_cannot_be_run_is_refused_before_anything_runs(tmp_path):
    path = write(tmp_path / "notebooks", "01_x", "a = 1", tags=("parameters",))
    assert "leave out -p and --live" in refused([path], tmp_path, update=True, parameters={"a": 2})
    assert "leave out -p and --live" in refused([path], tmp_path, update=True, live=True)
    assert "01_x has no parameter b; it has a" in refused([path], tmp_path, parameters={"b": 2})
    assert "would be overwritten; name another folder" in refused([path], tmp_path, output=path.parent)
    assert "set OPENROUTER_API_KEY" in refused([path], tmp_path, live=True)
    twin = write(tmp_path / "work", "01_x", "a = 2")
    assert "two of the notebooks are called 01_x.ipynb" in refused([path, twin], tmp_path)


def test_the_report_says_which_recording_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(llm, "DATA", tmp_path)
    assert answers_from("01_x", "replay") == "no recording of its own"
    transcript = Transcript(tmp_path / "transcripts" / "01_x.jsonl")
    transcript.append(*EXCHANGE, HEADER)
    assert f"1 recorded answers of {MODEL_NAME}" in answers_from("01_x", "replay")
    transcript.path.write_text("damaged", encoding="utf-8")
    assert "01_x.jsonl, line 1" in answers_from("01_x", "replay")


EXCHANGE = ({"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5},
            {"text": "ho", "prompt_tokens": 1, "completion_tokens": 1, "finish_reason": "stop", "seconds": 0.1})
HEADER = provenance(MODEL_NAME, sha256=MODEL_SHA256)


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A function that records a notebook which asks one question, or none; the kernel is left out."""
    monkeypatch.setattr(llm, "DATA", tmp_path)
    monkeypatch.setattr(recording, "is_ready", lambda: True)

    def run(*, passes: bool = True, asks: bool = True, fresh: bool = False, servers: int | None = None) -> int:
        def execute(jobs, *, processes, progress):
            job, = jobs
            run.seen = progress.expected, len(progress.before), os.environ.get("COURSE_SERVERS")
            assert (job.source, job.cell_timeout_s, processes) == ("record", None, 1)
            if asks:
                path = llm.transcript_path(job.notebook.stem)
                transcript = Transcript.load(path, missing_ok=True, repair=True)
                if request_key(EXCHANGE[0]) not in transcript.exchanges:
                    transcript.append(*EXCHANGE, HEADER)
                transcript.mark_used(request_key(EXCHANGE[0]))
            return [Run(name=job.notebook.stem, passed=passes, seconds=1.0, problem="" if passes else "In [1]: stop")]
        monkeypatch.setattr(recording, "execute_all", execute)
        return recording.record_notebooks([tmp_path / "01_x.ipynb"], output=tmp_path / "build", fresh=fresh,
                                          servers=servers)
    return run


def test_a_recording_keeps_what_was_asked_and_a_second_one_adds_nothing(record, tmp_path, capsys):
    assert record() == 0
    path = tmp_path / "transcripts" / "01_x.jsonl"
    first = path.read_bytes()
    assert "1 exchanges in" in capsys.readouterr().out
    assert record() == 0
    assert path.read_bytes() == first and [item.name for item in path.parent.iterdir()] == [path.name]


def test_a_fresh_recording_that_fails_keeps_the_former_one(record, tmp_path, capsys):
    path = tmp_path / "transcripts" / "01_x.jsonl"
    old = Transcript(path)
    old.append({**EXCHANGE[0], "seed": 7}, EXCHANGE[1], HEADER)
    former = path.read_bytes()
    assert record(passes=False, fresh=True) == 1
    assert path.with_suffix(".jsonl.old").read_bytes() == former
    assert "`course record 01_x` without --fresh continues" in capsys.readouterr().out
    assert record(passes=False, fresh=True) == 1
    assert path.with_suffix(".jsonl.old").read_bytes() == former, "a second failure must not put the wreck in its place"
    assert record() == 0
    assert list(Transcript.load(path).exchanges) == [request_key(EXCHANGE[0])]
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_how_many_answers_are_expected(record, tmp_path):
    """The former recording tells; a first one that stopped tells nothing."""
    assert record(passes=False) == 1 and record.seen[:2] == (None, 0)
    assert record(passes=False) == 1 and record.seen[:2] == (None, 1)
    assert record(passes=False, fresh=True) == 1 and record.seen[:2] == (None, 0)
    assert record() == 0  # what --fresh put aside was a part too, and is taken at its word
    assert record() == 0 and record.seen[:2] == (1, 1)
    assert record(fresh=True, passes=False) == 1 and record.seen[:2] == (1, 0)
    assert record() == 0 and record.seen[:2] == (1, 1), "the former one still tells when it goes on"


def test_the_number_of_servers_reaches_the_notebook_and_nobody_else(record, monkeypatch):
    monkeypatch.delenv("COURSE_SERVERS", raising=False)
    record(servers=3)
    assert record.seen[2] == "3" and "COURSE_SERVERS" not in os.environ
    monkeypatch.setenv("COURSE_SERVERS", "2")
    record()
    assert record.seen[2] == "2"
    record(servers=1)
    assert record.seen[2] == "1" and os.environ["COURSE_SERVERS"] == "2"


def test_a_notebook_that_asks_nothing_gets_no_transcript(record, tmp_path, capsys):
    assert record(asks=False) == 0
    assert "asked the model nothing" in capsys.readouterr().out
    assert not (tmp_path / "transcripts").exists()


def test_without_the_model_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "is_ready", lambda: False)
    with pytest.raises(RunError, match="run `course model fetch`") as caught:
        recording.record_notebooks([tmp_path / "01_x.ipynb"], output=tmp_path)
    assert INSTALL in str(caught.value)


def test_a_notebook_with_its_outputs_is_still_valid(stored):
    paths = list(stored.glob("*.ipynb"))
    assert paths
    for path in paths:
        nbformat.validate(nbformat.read(path, as_version=4))
