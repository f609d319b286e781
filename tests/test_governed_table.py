import numpy as np
import pytest
from governed_fakes import GENERIC, GOOD, OTHER, SUCCESSOR, WRONG, rule_table, small_world

from helpers.governed_table import (
    FAILED,
    PASSED,
    UNKNOWN,
    UNSUPPORTED,
    Table,
    both_verdicts,
    build_table,
    load_table,
)
from helpers.llm import Reply


def look(table, task, places, draw=0, version=0):
    verdict, tokens = table.look(np.array([task]), np.array([places]), np.array([draw]), np.array([version]))
    return int(verdict[0]), int(tokens[0])


def test_a_choice_is_looked_up_by_place_and_version():
    table = rule_table(small_world())  # places of task 0: WRONG, GOOD, SUCCESSOR, GENERIC, nothing
    assert look(table, 0, [1]) == (PASSED, 15)
    assert look(table, 0, [1], version=1) == (FAILED, 15)
    assert look(table, 0, [0, 2], version=1) == look(table, 0, [2, 0], version=1) == (PASSED, 20)
    assert look(table, 0, [4]) == look(table, 0, [4, 4]) == (FAILED, 10)
    assert look(table, 0, [4, 1]) == (PASSED, 15)


def test_what_is_not_recorded_is_an_error():
    table = Table.of(small_world(), lambda task, shown, draw: ((PASSED, PASSED), 1), most=1)
    assert look(table, 0, [0]) == (PASSED, 1)
    with pytest.raises(ValueError, match="none for 1 of 1 episodes with 2 places"):
        look(table, 0, [0, 1])
    with pytest.raises(ValueError, match="none for 1 of 1 episodes"):
        look(table, 1, [2])  # task 1 has two candidates
    with pytest.raises(ValueError, match="expected 1 to 2 places an episode, got 3"):
        look(table, 0, [0, 1, 2])


def test_the_rate_without_memory_counts_both_draws_and_all_tasks():
    table = Table.of(small_world(), lambda task, shown, draw: ((int(task == 0 == draw), PASSED), 1))
    assert table.without_memory() == 0.25
    assert table.without_memory(version=1) == 1.0


def test_a_saved_table_comes_back_for_the_same_world_only(tmp_path):
    world, path = small_world(), tmp_path / "table.npz"
    table = rule_table(world)
    table.save(path)
    back = load_table(path, small_world())
    assert (back.verdicts == table.verdicts).all() and (back.tokens == table.tokens).all()
    small = small_world()
    other = type(small)(small.tasks, small.lessons[:-1], small.candidates, small.similarity)
    with pytest.raises(ValueError, match=r"table\.npz: expected the answers of world .*build the table again"):
        load_table(path, other)


def test_a_table_is_built_from_answers_run_against_both_versions():
    world, asked, judged_codes = small_world(), [], []

    def chat(messages, **settings):
        asked.append((messages, settings["seed"]))
        value = 2 if any("return 2" in m["content"] for m in messages) else 1  # imitates the successor
        return Reply(f"{messages[-1]['content']}\n    return {value}", 100, 7, "stop", "replay", 0.0, "")

    def judge(code, tests):
        from helpers.reflexion import judged
        judged_codes.append(code)
        return judged(code, tests)

    table = build_table(world, chat, judge=judge)
    assert len(asked) == 2 * (1 + 4 + 6) + 2 * (1 + 2 + 1)
    assert len(judged_codes) == len(set(judged_codes)) == 3  # t0 with 1 and 2, t1 with 1
    successor = world.candidates[0].tolist().index(SUCCESSOR)
    assert look(table, 0, [successor]) == (FAILED, 107)
    assert look(table, 0, [successor], version=1) == look(table, 0, [successor, 0], version=1) == (PASSED, 107)
    assert look(table, 0, [0]) == (PASSED, 107)
    assert look(table, 1, [0]) == (FAILED, 107)
    assert (table.verdicts[1, 2] == UNKNOWN).all()


def test_verdicts_of_both_versions_from_one_run():
    task = small_world().tasks[0]
    assert both_verdicts(task, "def t0(x):\n    return 2") == (FAILED, PASSED)
    assert both_verdicts(task, "def t0(x:") == (FAILED, FAILED)
    assert both_verdicts(task, "") == (FAILED, FAILED)
    assert both_verdicts(task, "import heapq\ndef t0(x):\n    return 1") == (UNSUPPORTED, UNSUPPORTED)


def test_ids_of_the_fakes():
    assert [small_world().lessons[i].kind for i in (GOOD, WRONG, SUCCESSOR, OTHER, GENERIC)] == [
        "useful", "wrong", "successor", "useful", "generic"]
