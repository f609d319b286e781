"""The loop, against models made for the test: what is asked, when it stops, what an episode says."""

from dataclasses import dataclass, field, replace

import pytest

from helpers.arms import ARMS
from helpers.embeddings import BagOfWords
from helpers.llm import LLMError, Reply
from helpers.memory import VectorMemory
from helpers.problems import load_problems
from helpers.prompts import MAX_TOKENS, STOP, retry_messages, task_messages
from helpers.reflexion import extract_code, solve
from helpers.replay import ReplayMiss

PROBLEM = next(p for p in load_problems() if p.id == "largest")
RIGHT = f"```python\n{PROBLEM.solution}"
WRONG = "```python\ndef largest(xs):\n    return 0"
UNSUPPORTED = "```python\ndef largest(xs):\n    for x in xs:\n        yield x"


@dataclass
class Scripted:
    """A chat that gives the next of its answers, and keeps what it was asked; an exception is raised."""

    answers: list
    asked: list[dict] = field(default_factory=list)

    def __call__(self, messages, **settings) -> Reply:
        self.asked.append({"messages": messages, **settings})
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return Reply(text=answer, prompt_tokens=10, completion_tokens=3, finish_reason="stop", source="replay",
                     seconds=0.5)


def test_a_right_first_answer_ends_the_episode() -> None:
    chat = Scripted([RIGHT])
    episode = solve(PROBLEM, chat)
    assert (episode.problem, episode.outcome, len(episode.attempts)) == ("largest", "success", 1)
    assert episode.attempts[0].code == PROBLEM.solution
    assert (episode.prompt_tokens, episode.completion_tokens, episode.seconds) == (10, 3, 0.5)
    assert chat.asked == [{"messages": task_messages(PROBLEM), "temperature": 0.0, "max_tokens": MAX_TOKENS, "seed": 0,
                           "stop": list(STOP)}]


def test_the_failing_tests_go_back_and_the_second_answer_counts() -> None:
    chat = Scripted([WRONG, RIGHT, RIGHT])
    episode = solve(PROBLEM, chat)
    assert (episode.outcome, [a.verdict for a in episode.attempts]) == ("success", ["failed", "passed"])
    first = episode.attempts[0]
    assert chat.asked[1]["messages"] == retry_messages(PROBLEM, task_messages(PROBLEM), first.code, first.report)
    assert "gave 0, expected None" in chat.asked[1]["messages"][-2]["content"]
    assert (episode.prompt_tokens, episode.completion_tokens, episode.seconds) == (20, 6, 1.0)


def test_only_the_newest_attempt_is_fed_back() -> None:
    chat = Scripted([WRONG, WRONG.replace("return 0", "return 1"), RIGHT])
    assert solve(PROBLEM, chat).outcome == "success"
    shown = str(chat.asked[2]["messages"])
    assert "return 1" in shown
    assert "return 0" not in shown


def test_without_feedback_the_same_prompt_is_asked_again_with_another_draw() -> None:
    chat = Scripted([WRONG] * 3)
    episode = solve(PROBLEM, chat, seed=7, **ARMS["plain retry"])
    assert episode.outcome == "failure"
    assert [a["messages"] for a in chat.asked] == [task_messages(PROBLEM)] * 3
    assert [(a["temperature"], a["seed"]) for a in chat.asked] == [(0.0, 0), (0.6, 7001), (0.6, 7002)]


def test_different_seeds_draw_differently_and_share_the_first_attempt() -> None:
    draws = {seed: Scripted([WRONG] * 3) for seed in (0, 1)}
    for seed, chat in draws.items():
        solve(PROBLEM, chat, seed=seed, **ARMS["Reflexion"])
    assert draws[0].asked[0] == draws[1].asked[0]
    assert draws[0].asked[1]["seed"] != draws[1].asked[1]["seed"]


@pytest.mark.parametrize(("arm", "calls"), [("single attempt", 1), ("plain retry", 3), ("Reflexion", 3),
                                            ("Reflexion, tests only", 3), ("Reflexion, temperature 0", 3)])
def test_every_arm_spends_what_it_says(arm: str, calls: int) -> None:
    chat = Scripted([WRONG] * 3)
    assert solve(PROBLEM, chat, **ARMS[arm]).outcome == "failure"
    assert len(chat.asked) == calls


def test_a_failed_call_is_infrastructure_and_never_a_wrong_answer() -> None:
    episode = solve(PROBLEM, Scripted([LLMError("timeout", "no answer in 60 s")]))
    assert (episode.outcome, episode.attempts, episode.error) == ("infrastructure", (), "timeout: no answer in 60 s")
    assert episode.lesson == ""
    later = solve(PROBLEM, Scripted([WRONG, LLMError("server", "503")]))
    assert (later.outcome, len(later.attempts), later.error) == ("infrastructure", 1, "server: 503")


def test_a_missing_recording_is_raised_through() -> None:
    with pytest.raises(ReplayMiss, match="not recorded"):
        solve(PROBLEM, Scripted([ReplayMiss("not recorded")]))


def test_what_the_sandbox_cannot_run_is_unsupported_not_failure() -> None:
    assert solve(PROBLEM, Scripted([UNSUPPORTED]), iterations=1).outcome == "unsupported"
    assert solve(PROBLEM, Scripted([UNSUPPORTED, WRONG]), iterations=2).outcome == "failure"
    assert solve(PROBLEM, Scripted([UNSUPPORTED, RIGHT]), iterations=2).outcome == "success"


def test_a_reply_without_code_fails_and_says_so_to_the_model() -> None:
    chat = Scripted(["I would rather not.", RIGHT])
    episode = solve(PROBLEM, chat)
    assert [a.verdict for a in episode.attempts] == ["failed", "passed"]
    assert episode.attempts[0].code == ""
    assert "no code" in chat.asked[1]["messages"][-2]["content"].lower()


def test_the_lesson_is_one_line_of_status_and_diagnosis() -> None:
    assert solve(PROBLEM, Scripted([RIGHT])).lesson == "success after 1 attempt, 4 of 4 tests pass"
    lesson = solve(PROBLEM, Scripted([WRONG, RIGHT])).lesson
    assert lesson.startswith("success after 2 attempts, 4 of 4 tests pass. Failed: largest([1,5,2]) gave 0,")
    assert "\n" not in lesson


@pytest.mark.parametrize(("change", "settings", "words"), [
    ({"tests": ()}, {}, "'largest' has no tests"), ({}, {"iterations": 0}, "at least one iteration, got 0"),
    ({}, {"lesson_format": "poem"}, "expected a lesson format out of .*; got 'poem'"),
    ({}, {"feedback": "praise"}, "expected feedback out of .*; got 'praise'")])
def test_an_episode_that_would_mean_nothing_is_refused(change, settings, words) -> None:
    chat = Scripted([RIGHT])
    with pytest.raises(ValueError, match=words):
        solve(replace(PROBLEM, **change), chat, **settings)
    assert chat.asked == []


def test_extract_code_is_offered_here_too() -> None:
    assert extract_code(RIGHT, "largest") == PROBLEM.solution


def test_an_endless_answer_costs_the_loops_own_limit_and_the_feedback_says_so() -> None:
    chat = Scripted(["```python\ndef largest(xs):\n    while True:\n        pass", RIGHT])
    episode = solve(replace(PROBLEM, tests=PROBLEM.tests[:1]), chat)
    assert episode.attempts[0].report.results[0].status == "timeout"
    assert "timed out after 1 s" in chat.asked[1]["messages"][-2]["content"]
    assert episode.outcome == "success"


def test_a_memory_gives_lessons_of_other_problems_and_without_learn_the_loop_only_reads_it(tmp_path) -> None:
    memory = VectorMemory(tmp_path / "lessons.jsonl", BagOfWords())
    other = next(p for p in load_problems() if p.id == "smallest")
    for problem in (PROBLEM, other):
        memory.add(problem.text, "solved", code=problem.solution, source=problem.id, family=problem.family)
    before = (tmp_path / "lessons.jsonl").read_bytes()
    chat = Scripted([WRONG, RIGHT])
    episode = solve(PROBLEM, chat, memory=memory, k=1, learn=None)
    assert [hit.lesson.source for hit in episode.retrieved] == ["smallest"]
    for asked in chat.asked:  # the lesson stays in the conversation of a retry
        assert asked["messages"][:2] == task_messages(PROBLEM, [episode.retrieved[0].lesson])[:2]
    assert other.solution in chat.asked[0]["messages"][1]["content"]
    assert (tmp_path / "lessons.jsonl").read_bytes() == before


def test_an_answer_may_be_given_more_room() -> None:
    chat = Scripted([WRONG, RIGHT, RIGHT])
    solve(PROBLEM, chat, max_tokens=200)
    solve(PROBLEM, chat)
    assert [asked["max_tokens"] for asked in chat.asked] == [200, 200, MAX_TOKENS]
