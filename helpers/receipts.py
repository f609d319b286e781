"""The receipt of an episode: plain data from which it can be replayed, and the replay that checks it.

Left out: the answers themselves. They stand in the transcript, under the keys a receipt names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.code_blocks import extract_code
from helpers.problems import Problem
from helpers.reflexion import Episode, judged
from helpers.replay import ReplayMiss, Transcript
from helpers.sandbox import TestReport


def receipt(episode: Episode) -> dict[str, Any]:
    """What happened, as data for JSON: lessons shown with their scores, and of every attempt the key of its request,
    its verdicts and its tokens.
    """
    return {
        "problem": episode.problem, "outcome": episode.outcome, "error": episode.error,
        "lessons": [{"id": hit.lesson.id, "source": hit.lesson.source, "score": round(float(hit.score), 6)}
                    for hit in episode.retrieved],
        "attempts": [{"key": a.reply.key, "temperature": a.temperature, "seed": a.seed, "verdict": a.verdict,
                      "tests": [result.status for result in a.report.results],
                      "prompt_tokens": a.reply.prompt_tokens, "completion_tokens": a.reply.completion_tokens}
                     for a in episode.attempts]}


def replay(kept: dict[str, Any], problem: Problem, transcript: Transcript,
           judge: Callable[..., TestReport] = judged) -> list[str]:
    """Run the recorded answers of a receipt through the tests again; what differs from it, in words, if anything.

    Raises:
        ValueError: the receipt is another problem's. ReplayMiss: an answer of it is not in `transcript`.
    """
    if kept["problem"] != problem.id:
        raise ValueError(f"expected the receipt of {problem.id!r}, got that of {kept['problem']!r}")
    differences = []
    for number, attempt in enumerate(kept["attempts"], start=1):
        if attempt["key"] not in transcript.exchanges:
            raise ReplayMiss(f"{transcript.path.name} has no answer under {attempt['key'][:12]!r}…, attempt {number} "
                             f"of {problem.id}; take the transcript the episode was run with")
        answer = transcript.exchanges[attempt["key"]]["response"]
        report = judge(extract_code(answer["text"], problem.entry_point), problem.tests)
        now = {"tests": [result.status for result in report.results],
               "prompt_tokens": answer["prompt_tokens"], "completion_tokens": answer["completion_tokens"]}
        differences += [f"attempt {number}, {name}: the receipt says {attempt[name]}, the replay {value}"
                        for name, value in now.items() if value != attempt[name]]
    return differences
