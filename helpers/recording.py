"""Record a notebook's transcript from the local model: what `course record` does.

Left out: how one exchange is written (`transcript.py`), and storing outputs (`course run --update`, afterwards).
"""

from collections.abc import Sequence
from pathlib import Path

from helpers.execute import execute_all
from helpers.jobs import Job
from helpers.llm import transcript_path
from helpers.local_model import INSTALL, is_ready, model_path
from helpers.progress import Progress
from helpers.runs import RunError
from helpers.transcript import start_recording, tidy


def record_notebooks(notebooks: Sequence[Path], *, output: Path, fresh: bool = False) -> int:
    """Execute `notebooks` one after the other, recording what is not recorded yet; return how many failed.

    What a notebook that passed did not ask for is dropped from its transcript. `fresh` records all of it anew; the
    former transcript stays as `*.old` until that has succeeded, and a recording that stops can be continued.

    Raises:
        RunError: the local model, or the package that runs it, is not there.
    """
    if not is_ready():
        raise RunError(f"recording needs the local model ({model_path().name}) and the package that runs it: "
                       f"run `course model fetch` and `{INSTALL}`")
    return sum(not _record(notebook, output, fresh) for notebook in notebooks)


def _record(notebook: Path, output: Path, fresh: bool) -> bool:
    transcript = transcript_path(notebook.stem)
    former = transcript.with_suffix(".jsonl.old")
    if fresh and former.exists():
        transcript.unlink(missing_ok=True)  # what a recording left that did not end; the former one is safe already
    elif fresh and transcript.exists():
        transcript.replace(former)
    start_recording(transcript)
    job = Job(notebook=notebook, output=output, source="record", cell_timeout_s=None)
    run = execute_all([job], processes=1, progress=Progress(1))[0]
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
