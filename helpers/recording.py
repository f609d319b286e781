"""Record a notebook's transcript from the local model: what `course record` does.

Left out: how one exchange is written (`transcript.py`), and storing outputs (`course run --update`, afterwards).
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from helpers.execute import execute_all
from helpers.jobs import Job
from helpers.llm import transcript_path
from helpers.local_model import INSTALL, is_ready, model_path
from helpers.recording_progress import RecordingProgress
from helpers.runs import RunError
from helpers.transcript import Transcript, start_recording, tidy


def record_notebooks(notebooks: Sequence[Path], *, output: Path, fresh: bool = False,
                     servers: int | None = None) -> int:
    """Execute `notebooks` one after the other, recording what is not recorded yet; return how many failed.

    What a notebook that passed did not ask for is dropped from its transcript. `fresh` records all of it anew; the
    former transcript stays as `*.old` until that has succeeded, and a recording that stops can be continued.
    `servers` of the local model answer side by side where the notebook asks so, by default as COURSE_SERVERS says.

    Raises:
        RunError: the local model, or the package that runs it, is not there.
    """
    if not is_ready():
        raise RunError(f"recording needs the local model ({model_path().name}) and the package that runs it: "
                       f"run `course model fetch` and `{INSTALL}`")
    with _variable("COURSE_SERVERS", servers):
        return sum(not _record(notebook, output, fresh) for notebook in notebooks)


@contextmanager
def _variable(name: str, value: int | None) -> Iterator[None]:
    """Set an environment variable for the processes that are started meanwhile; None leaves it as it is."""
    before = os.environ.get(name)
    if value is not None:
        os.environ[name] = str(value)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def _record(notebook: Path, output: Path, fresh: bool) -> bool:
    transcript = transcript_path(notebook.stem)
    former = transcript.with_suffix(".jsonl.old")
    # Its list of used keys is left by a recording that stopped: then the transcript is a part of unknown size.
    whole = former.exists() or not Transcript(transcript).used_path.exists()
    if fresh and former.exists():
        transcript.unlink(missing_ok=True)  # what a recording left that did not end; the former one is safe already
    elif fresh and transcript.exists():
        transcript.replace(former)
    start_recording(transcript)
    progress = RecordingProgress(Transcript.load(transcript, missing_ok=True, repair=True),
                                 _exchanges(former if former.exists() else transcript) if whole else None)
    job = Job(notebook=notebook, output=output, source="record", cell_timeout_s=None)
    run = execute_all([job], processes=1, progress=progress)[0]
    if not run.passed:
        print(f"FAILED {run.name} at {run.problem}\n  what was recorded stays in {transcript}; "
              f"`course record {run.name}` without --fresh continues")
    elif not transcript.exists():
        print(f"{run.name} asked the model nothing: there is no transcript to write")
    else:
        print(f"{tidy(transcript)} exchanges in {transcript}; store the new outputs with "
              f"`course run {run.name} --update`")
        former.unlink(missing_ok=True)
    return run.passed


def _exchanges(path: Path) -> int | None:
    """How many exchanges a transcript holds, by its lines; None when there is no such file."""
    return path.read_bytes().count(b"\n") - 1 if path.exists() else None
