import dataclasses
import json
from collections import Counter

import numpy as np
import pytest
from governed_fakes import GENERIC, GOOD, OTHER, SUCCESSOR, WRONG, small_world

from helpers.arms import judge_once
from helpers.governed_world import CANDIDATES, DRAWS, KINDS, TEMPERATURE, ask, load_world, prompts
from helpers.problems import load_problems
from helpers.settings import DATA


@pytest.fixture(scope="module")
def world():
    return load_world()


def test_the_world_has_lessons_of_every_kind_for_the_tasks_of_six_families(world):
    bank = load_problems()
    assert len(world.families) == 6
    assert [task.id for task in world.tasks] == [p.id for p in bank if p.family in world.families]
    assert Counter(one.kind for one in world.lessons) == {"useful": 18, "successor": 18, "wrong": 12, "generic": 9}
    assert [one.id for one in world.lessons] == list(range(57))


def test_a_candidate_is_of_the_family_or_of_none_and_never_of_the_own_problem(world):
    for task, row in zip(world.tasks, world.candidates, strict=True):
        lessons = [world.lessons[i] for i in row if i >= 0]
        assert len({one.id for one in lessons}) == len(lessons) <= CANDIDATES
        assert all(one.family in (task.family, "") and one.source != task.id for one in lessons), task.id


def test_candidates_are_the_most_similar_ones_in_order(world):
    assert (np.diff(world.similarity, axis=1) <= 0).all()
    for i, task in enumerate(world.tasks):
        may = [one for one in world.lessons if one.family in (task.family, "") and one.source != task.id]
        left = {one.id for one in may} - set(world.candidates[i].tolist())
        assert len(may) - len(left) == (world.candidates[i] >= 0).sum() == min(CANDIDATES, len(may))


def test_a_task_says_nothing_of_the_house_rule(world):
    rules = {p.id: (p.rule, p.revised.rule) for p in load_problems() if p.revised}
    for i, task in enumerate(world.tasks):
        text = json.dumps(world.messages(i, tuple(world.candidates[i][:2])))
        assert not any(rule in text for rule in rules[task.id])
        assert world.messages(i, ())[0]["content"] == f"{task.text}\nReply only with Python code."


def test_every_lesson_is_what_its_kind_says(world):
    tests = {task.id: task.tests for task in world.tasks}
    right = {"useful": [True, False], "successor": [False, True], "wrong": [False, False]}
    for one in world.lessons:
        if one.kind != "generic":
            assert [judge_once(one.code, tests[one.source][v]).passed for v in (0, 1)] == right[one.kind], one


def test_every_generic_lesson_does_what_it_says(world):
    entries = json.loads((DATA / "governed_lessons.json").read_text(encoding="utf-8"))["generic"]
    assert {entry["code"] for entry in entries} == {one.code for one in world.lessons if one.kind == "generic"}
    for entry in entries:
        assert judge_once(entry["code"], tuple(entry["tests"])).passed, entry


def test_the_most_similar_lesson_stands_last_however_the_set_is_given():
    world = small_world()
    first, second = world.messages(0, (GENERIC, WRONG)), world.messages(0, (WRONG, GENERIC))
    assert first == second
    assert [m["content"].split("\n")[0] for m in first if m["role"] == "user"] == ["Spec 4.", "Spec 1.", "Zero."]
    assert first[-1] == {"role": "assistant", "content": "```python\ndef t0(x):"}


def test_a_lesson_that_is_no_candidate_or_stands_there_twice_is_refused():
    world = small_world()
    with pytest.raises(ValueError, match=r"task 't1': expected lessons out of \[3, 4\], got 0"):
        world.messages(1, (GOOD,))
    with pytest.raises(ValueError, match="expected each lesson once"):
        world.messages(1, (OTHER, OTHER))


def test_every_set_of_at_most_two_candidates_is_a_prompt(world):
    assert [len(prompts(world, k)) for k in (0, 1, 2)] == [76, 608, 2128]
    small = small_world()
    assert list(small.choices(1, 1)) == [(OTHER,), (GENERIC,)]
    assert list(small.choices(1, 2)) == [(OTHER, GENERIC)]
    assert prompts(small, 0) == [(0, (), 0), (1, (), 0), (0, (), 1), (1, (), 1)]


def test_no_two_prompts_are_the_same_text(world):
    texts = [json.dumps(world.messages(i, s)) for k in (0, 1, 2) for i, s, draw in prompts(world, k) if draw == 0]
    assert len(set(texts)) == len(texts) == 1406


def test_ask_sends_the_draw_as_a_seed():
    asked = []
    world = small_world()
    ask(world, lambda messages, **settings: asked.append((messages, settings)), 1, (OTHER,), 1)
    (messages, settings), = asked
    assert messages == world.messages(1, (OTHER,))
    assert settings["seed"] == 1000 * DRAWS[1] and settings["temperature"] == TEMPERATURE


def test_the_arrays_of_the_small_world():
    world = small_world()
    assert world.cosine.tolist() == [[0.8, 0.9, 0.8, 0, 0.5], [0, 0, 0, 0.7, 0.6]]
    assert [np.nonzero(row)[0].tolist() for row in world.good[0]] == [[GOOD], [OTHER]]
    assert [np.nonzero(row)[0].tolist() for row in world.good[1]] == [[SUCCESSOR], []]
    assert world.task_family.tolist() == [0, 1] and world.lesson_family.tolist() == [0, 0, 0, 1, -1]
    assert np.nonzero(world.of_kind("wrong", "generic"))[0].tolist() == [WRONG, GENERIC]


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match=f"{', '.join(KINDS)}; got 'stale'"):
        small_world().of_kind("stale")


def test_the_fingerprint_follows_every_text_and_the_candidates():
    world = small_world()
    changed = dataclasses.replace(world.lessons[0], code="def s0(x): return 9")
    others = [dataclasses.replace(world, lessons=(changed, *world.lessons[1:])),
              dataclasses.replace(world, candidates=world.candidates[:, ::-1]), small_world()]
    assert [other.fingerprint == world.fingerprint for other in others] == [False, False, True]


def test_a_family_without_a_revised_rule_cannot_be_a_task(tmp_path):
    path = tmp_path / "lessons.json"
    path.write_text(json.dumps({"families": {"inclusive": {"reviewed": []}}, "wrong": [], "generic": []}))
    with pytest.raises(ValueError, match="expected a family with a revised rule, got 'inclusive'"):
        load_world(path)


@pytest.mark.parametrize("entry", [{"families": {"ok_text": {"reviewed": ["largest"]}}, "wrong": []},
                                   {"families": {"ok_text": {"reviewed": []}}, "wrong": [{"source": "largest"}]}])
def test_a_lesson_about_a_problem_of_another_family_is_named(tmp_path, entry):
    path = tmp_path / "lessons.json"
    path.write_text(json.dumps(entry | {"generic": []}))
    with pytest.raises(ValueError, match=r"lessons\.json: expected problems of the families ok_text; got 'largest'"):
        load_world(path)
