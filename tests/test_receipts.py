"""A receipt is enough to replay an episode, and the replay notices what differs."""

import json
from dataclasses import replace

import pytest

from helpers.embeddings import BagOfWords
from helpers.llm import connect
from helpers.memory import VectorMemory
from helpers.problems import load_problems
from helpers.receipts import receipt, replay
from helpers.reflexion import Episode, solve
from helpers.replay import ReplayMiss, Transcript
from helpers.settings import Settings

PROBLEMS = {problem.id: problem for problem in load_problems()}
TOTAL = PROBLEMS["total"]


@pytest.fixture(scope="module")
def chat():
    return connect("01_volatile_reflexion", source="replay", settings=Settings())


def test_a_receipt_is_plain_data_and_replays_without_a_difference(chat) -> None:
    episode = solve(TOTAL, chat, iterations=3, retry_temperature=0.6)
    kept = json.loads(json.dumps(receipt(episode)))
    assert kept["problem"] == "total"
    assert kept["outcome"] == episode.outcome
    assert [attempt["verdict"] for attempt in kept["attempts"]] == [a.verdict for a in episode.attempts]
    assert sum(attempt["prompt_tokens"] for attempt in kept["attempts"]) == episode.prompt_tokens > 0
    assert replay(kept, TOTAL, chat.transcript) == []


def test_a_receipt_names_the_lessons_shown_with_their_scores(tmp_path, chat) -> None:
    memory = VectorMemory(tmp_path / "m.jsonl", BagOfWords())
    memory.add("total of a list", "no code, so a worked example shows nothing", source="other")
    silent = solve(TOTAL, chat, iterations=1, memory=memory, learn=None)
    assert receipt(silent)["lessons"] == []
    memory.add(PROBLEMS["largest"].text, "note", code=PROBLEMS["largest"].solution, source="largest")
    hit = memory.search(PROBLEMS["largest"].text, 1)[0]
    kept = receipt(replace(silent, retrieved=(hit,)))
    assert kept["lessons"] == [{"id": 2, "source": "largest", "score": 1.0}]


def test_what_differs_is_named(chat) -> None:
    kept = receipt(solve(TOTAL, chat, iterations=1))
    kept["attempts"][0]["prompt_tokens"] += 1
    kept["attempts"][0]["tests"][0] = "crash"
    words = replay(kept, TOTAL, chat.transcript)
    assert len(words) == 2
    assert words[0].startswith("attempt 1, tests: the receipt says ['crash'")
    assert "prompt_tokens" in words[1]


def test_another_problem_or_a_missing_answer_is_an_error(chat, tmp_path) -> None:
    kept = receipt(solve(TOTAL, chat, iterations=1))
    with pytest.raises(ValueError, match="expected the receipt of 'largest', got that of 'total'"):
        replay(kept, PROBLEMS["largest"], chat.transcript)
    with pytest.raises(ReplayMiss, match=r"empty\.jsonl has no answer under .* attempt 1 of total"):
        replay(kept, TOTAL, Transcript(tmp_path / "empty.jsonl"))


def test_an_episode_without_an_answer_has_a_receipt_too() -> None:
    kept = receipt(Episode("total", (), "infrastructure", (), "timeout: no answer"))
    assert kept["attempts"] == []
    assert kept["error"] == "timeout: no answer"
