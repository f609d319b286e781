"""What is stored of an episode: a worked example only of code that passed; the reviewed fix whatever happened."""

from dataclasses import replace

import pytest

from helpers.embeddings import BagOfWords
from helpers.learning import lesson_about, outcomes_only, own_lesson, own_pass, reviewed_fix
from helpers.llm import LLMError, Reply
from helpers.memory import EpisodeConflict, VectorMemory
from helpers.problems import load_problems
from helpers.prompts import LESSON_FORMATS
from helpers.reflexion import Episode, solve

PROBLEMS = {problem.id: problem for problem in load_problems()}
LARGEST, SMALLEST = PROBLEMS["largest"], PROBLEMS["smallest"]
WRONG = "```python\ndef largest(xs):\n    return 0"
UNSUPPORTED = "```python\ndef largest(xs):\n    for x in xs:\n        yield x"


def right(problem) -> str:
    return f"```python\n{problem.solution}"


class Scripted:
    """Gives the answers of a list, one a call; an exception among them is raised."""

    def __init__(self, *answers) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, messages, **settings) -> Reply:
        self.asked.append(messages)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer, 10, 5, "stop", "replay", 0.1)


@pytest.fixture
def memory(tmp_path) -> VectorMemory:
    return VectorMemory(tmp_path / "m.jsonl", BagOfWords())


def test_a_loop_with_memory_retrieves_records_and_stores(memory) -> None:
    solve(SMALLEST, Scripted(right(SMALLEST)), memory=memory, episode_id="e1")
    chat = Scripted(WRONG, right(LARGEST))
    episode = solve(LARGEST, chat, memory=memory, episode_id="e2")
    first, second = memory
    assert (first.source, second.source) == ("smallest", "largest")
    assert chat.asked[0][1]["content"] == right(SMALLEST) + "\n```"  # shown as an earlier turn
    assert [hit.lesson.id for hit in episode.retrieved] == [first.id]
    assert (first.hits_plus, first.hits_minus) == (1.0, 0.0)
    assert memory.receipts["e2"].problem == "largest"
    assert second.code.strip() == LARGEST.solution.strip()
    assert second.text.startswith("success after 2 attempts")
    assert memory.outcomes["success"] == 2
    assert memory.audit() == []


def test_a_failed_episode_counts_against_the_lesson_and_leaves_no_worked_example(memory) -> None:
    solve(SMALLEST, Scripted(right(SMALLEST)), memory=memory)
    solve(LARGEST, Scripted(WRONG), memory=memory, iterations=1)
    first, second = memory
    assert (first.hits_plus, first.hits_minus) == (0.0, 1.0)
    assert second.code == ""
    assert second.text.startswith("failure after 1 attempt, ")


def test_a_lesson_that_the_format_cannot_show_is_neither_shown_nor_counted(memory) -> None:
    solve(LARGEST, Scripted(WRONG), memory=memory, iterations=1)  # stores a status without code
    chat = Scripted("```python\ndef smallest(xs):\n    return 0")
    episode = solve(SMALLEST, chat, memory=memory, iterations=1, learn=outcomes_only)
    assert episode.retrieved == ()
    assert len(chat.asked[0]) == 2
    assert memory.get(1).uses == 0
    shown = solve(SMALLEST, Scripted(right(SMALLEST)), memory=memory, lesson_format="status", learn=outcomes_only)
    assert [hit.lesson.id for hit in shown.retrieved] == [1]
    assert memory.get(1).hits_plus == 1.0


@pytest.mark.parametrize(("answer", "outcome", "recorded", "lessons"), [
    (LLMError("timeout", "no answer"), "infrastructure", "infrastructure", 1),
    (UNSUPPORTED, "unsupported", "unobserved", 2)])
def test_what_says_nothing_about_a_lesson_moves_no_counter(memory, answer, outcome, recorded, lessons) -> None:
    solve(SMALLEST, Scripted(right(SMALLEST)), memory=memory)
    episode = solve(LARGEST, Scripted(answer), memory=memory, iterations=1)
    assert episode.outcome == outcome
    assert len(memory) == lessons  # nothing is learnt where nothing happened
    assert (memory.get(1).hits_plus, memory.get(1).hits_minus) == (0.0, 0.0)
    assert memory.outcomes[recorded] == 1


def test_one_episode_is_recorded_and_learnt_from_once(memory) -> None:
    for _ in range(2):
        solve(LARGEST, Scripted(right(LARGEST)), memory=memory, episode_id="e1")
    assert len(memory) == 1
    assert memory.outcomes["success"] == 1
    with pytest.raises(EpisodeConflict, match="e1"):
        solve(LARGEST, Scripted(WRONG), memory=memory, iterations=1, episode_id="e1")
    for _ in range(2):  # without an id every call is an episode of its own
        solve(LARGEST, Scripted(right(LARGEST)), memory=memory)
    assert memory.outcomes["success"] == 3


class OnALine(BagOfWords):
    """An embedder that can fail as one that is asked over a network does."""

    broken = False

    def embed(self, texts):
        if OnALine.broken:
            raise LLMError("timeout", "no answer")
        return super().embed(texts)


def test_an_embedder_that_fails_costs_an_episode_and_no_lesson(tmp_path, monkeypatch) -> None:
    memory, chat = VectorMemory(tmp_path / "m.jsonl", OnALine()), Scripted(right(LARGEST))
    memory.add(**reviewed_fix(SMALLEST, solve(SMALLEST, Scripted(right(SMALLEST)))))
    monkeypatch.setattr(OnALine, "broken", True)
    searched = solve(LARGEST, chat, memory=memory, episode_id="e1")
    assert (searched.outcome, searched.error, searched.attempts) == ("infrastructure", "timeout: no answer", ())
    monkeypatch.setattr(VectorMemory, "search", lambda *anything, **named: [])
    stored = solve(LARGEST, chat, memory=memory, episode_id="e1")
    assert (stored.outcome, stored.error) == ("infrastructure", "the lesson was not stored: timeout: no answer")
    assert (len(memory), memory.receipts) == (1, {})
    monkeypatch.undo()
    for _ in range(2):
        assert solve(LARGEST, Scripted(right(LARGEST)), memory=memory, episode_id="e1").outcome == "success"
    assert (len(memory), memory.outcomes["success"]) == (2, 1)


def test_own_pass_keeps_passing_code_only(memory) -> None:
    assert own_pass(LARGEST, solve(LARGEST, Scripted(WRONG), iterations=1)) is None
    passed = own_pass(LARGEST, solve(LARGEST, Scripted(WRONG, right(LARGEST))))
    assert passed["code"].strip() == LARGEST.solution.strip()
    assert own_lesson(LARGEST, solve(LARGEST, Scripted(WRONG), iterations=1))["code"] == ""


def test_the_reviewed_fix_comes_whatever_the_agent_did() -> None:
    failed = solve(LARGEST, Scripted(WRONG), iterations=1)
    assert reviewed_fix(LARGEST, failed) == {"spec": LARGEST.text, "text": LARGEST.instruction,
                                             "code": LARGEST.solution, "source": "largest", "family": LARGEST.family}


def test_the_text_of_a_reviewed_lesson_is_what_its_format_shows() -> None:
    failed, passed = (solve(LARGEST, Scripted(answer), iterations=1) for answer in (WRONG, right(LARGEST)))
    texts = {name: lesson_about(LARGEST, failed, name)["text"] for name in LESSON_FORMATS}
    assert texts["status"].startswith("failure after 1 attempt, ")
    assert texts["failing_tests"].startswith("Failed: largest([1,5,2]) gave 0, expected 5")
    assert {texts[name] for name in ("instruction", "code", "worked_example")} == {LARGEST.instruction}
    assert lesson_about(LARGEST, passed, "failing_tests")["text"] == "No test failed"


def test_an_episode_that_never_reached_the_model_has_no_status() -> None:
    episode = Episode("largest", (), "infrastructure")
    assert (episode.status, episode.lesson, episode.passing_code) == ("", "", "")
    assert replace(episode, outcome="failure").status == ""
