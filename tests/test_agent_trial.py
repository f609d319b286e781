"""Eight processes at once: counters exactly what the receipts say, and exactly what a careless store loses."""

from dataclasses import replace

import pytest
from memory_fakes import filled
from pg_fakes import new_name, quick_url

from helpers.agent_trial import SHARED, Trial, audited, trial, trials
from helpers.neural_embeddings import MiniLM
from helpers.pg_memory import PgVectorMemory


def test_eight_agents_at_once_lose_nothing():
    result = trial("server", quick_url(), name=new_name(), agents=8, rounds=3)
    assert result == Trial(agents=8, rounds=3, lessons=SHARED + 24, episodes=24, told=24 * 3.5, counted=24 * 3.5,
                           differing=[])
    assert result.lost == 0


def test_eight_agents_that_read_then_write_lose_seven_of_eight():
    result = trial("read, then write", quick_url(), name=new_name(), agents=8, rounds=2)
    assert result.episodes == 16 and result.lessons == SHARED + 16  # nothing is lost but what was counted
    assert result.lost == 7 * 2 * SHARED and result.differing == [1, 2, 3]


def test_the_same_processes_try_one_kind_after_the_other(tmp_path):
    places = {"file": tmp_path / "m.jsonl", "read, then write": quick_url(), "server": quick_url()}
    result = trials(places, name=new_name(), agents=2, rounds=2)
    assert list(result) == list(places) and [trial.lost for trial in result.values()] == [0, 2 * SHARED, 0]
    assert {(trial.lessons, trial.episodes) for trial in result.values()} == {(SHARED + 4, 4)}
    with pytest.raises(ValueError, match=r"kind: expected some of file, server, read, then write; got \['paper'\]"):
        trials({"paper": tmp_path})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["server", "file"])
def test_eight_agents_for_a_long_time(kind, tmp_path):
    place = tmp_path / "m.jsonl" if kind == "file" else quick_url()
    result = trial(kind, place, name=new_name(), agents=8, rounds=40)
    assert result.lost == 0 and result.differing == [] and result.episodes == 320 and result.lessons == SHARED + 320


@pytest.mark.slow
def test_two_agents_on_a_file_lose_nothing_either(tmp_path):
    result = trial("file", tmp_path / "m.jsonl", agents=2, rounds=2)
    assert result.lost == 0 and result.differing == [] and (result.lessons, result.episodes) == (SHARED + 4, 4)


def test_an_agent_that_fails_is_an_error_with_its_last_words():
    name = new_name()
    with PgVectorMemory(quick_url(), MiniLM(), name=f"{name} server") as memory:
        memory.record("0 0", [], "failure")  # the name of the agent's first episode
    with pytest.raises(RuntimeError, match=r"an agent to do its work, got: helpers\.memory\.EpisodeConflict: e"):
        trial("server", quick_url(), name=name, agents=1, rounds=1)


def test_the_audit_notices_a_counter_that_is_wrong(path):
    memory = filled(path, "0.5", "0.6")
    memory.record("e", [1, 2], "success", [0.5, 2])
    assert audited(memory) == Trial(1, 1, 2, 1, 2.5, 2.5, [])
    memory._ledger.live[2] = replace(memory.get(2), hits_plus=0.5)
    assert audited(memory).differing == [2] and audited(memory).lost == 1.5
    memory._ledger.live[2] = replace(memory.get(2), hits_plus=2.0, uses=2)
    assert audited(memory).differing == [2] and audited(memory).lost == 0
