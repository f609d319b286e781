"""VectorMemory against a plain dictionary: whatever is done in whatever order, through two handles, both agree."""

import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from memory_fakes import Exact

from helpers.eviction import shown_worth
from helpers.lessons import Lesson
from helpers.memory import DamageWarning, EpisodeConflict, UnknownLesson, VectorMemory

COSINES = ("0.9", "0.8", "0.8", "0.4", "0.05", "0.0", "-0.7", "no digit")
IDS = st.integers(0, 12)
OUTCOME = st.sampled_from(["success", "failure", "infrastructure", "unobserved"])


class Model:
    """What the memory should be, without files, vectors or events: one dictionary a lesson."""

    def __init__(self, capacity, policy):
        self.live, self.archived, self.episodes = {}, {}, {}
        self.next_id, self.time, self.capacity, self.policy = 1, 0, capacity, policy

    def victims(self, policy, n, lessons):
        keys = {"fifo": lambda one: one["id"], "lru": lambda one: (one["touched"], one["id"]),
                "lfu": lambda one: (one["uses"], one["touched"], one["id"]),
                "worth": lambda one: (shown_worth(Lesson(1, "", "", hits_plus=one["plus"], hits_minus=one["minus"])),
                                      one["touched"], one["id"])}
        return [one["id"] for one in sorted(lessons, key=keys[policy])[:n]]

    def archive(self, ids):
        for number in ids:
            self.archived[number] = self.live.pop(number)

    def evict(self, newcomer=None):
        if self.capacity is not None and len(self.live) > self.capacity:
            old = [one for one in self.live.values() if one["id"] != newcomer]
            self.archive(self.victims(self.policy, len(self.live) - self.capacity, old))

    def add(self, spec, text, source, family):
        number, self.next_id, self.time = self.next_id, self.next_id + 1, self.time + 1
        self.live[number] = {"id": number, "spec": spec, "text": text, "source": source, "family": family, "plus": 0.0,
                             "minus": 0.0, "uses": 0, "touched": self.time}
        self.evict(number)
        return number

    def known(self, number):
        return number in self.live or number in self.archived

    def record(self, episode, ids, outcome, weights):
        self.episodes[episode] = (dict(zip(ids, weights, strict=True)), outcome)
        self.evict()  # by the state before: what is about to be counted is decided upon as it stood
        self.time += 1
        for number, weight in zip(ids, weights, strict=True):
            one = self.live.get(number) or self.archived[number]
            if outcome != "infrastructure":
                one["uses"] += 1
                one["touched"] = self.time
                one["plus"] += weight * (outcome == "success")
                one["minus"] += weight * (outcome == "failure")

    def search(self, k, threshold, family, exclude, cap):
        hits = []
        for one in self.live.values():
            if one["spec"] != "no digit":
                score = float(one["spec"])
                if ((threshold is None or score >= threshold) and one["source"] not in exclude
                        and family in (None, one["family"])):
                    hits.append((-score, one["id"], one["source"]))
        chosen, sources = [], []
        for score, number, source in sorted(hits):
            if len(chosen) < k and (not source or cap is None or sources.count(source) < cap):
                chosen.append((number, -score))
                sources.append(source)
        return chosen


class MemoryAgainstModel(RuleBasedStateMachine):
    @initialize(capacity=st.sampled_from([None, None, 1, 3]), policy=st.sampled_from(["fifo", "lru", "lfu", "worth"]))
    def begin(self, capacity, policy):
        self.folder = Path(tempfile.mkdtemp())
        self.options = {"capacity": capacity, "policy": policy} if capacity else {}
        self.model = Model(capacity, policy)
        self.handles = [self.open(), self.open()]

    def open(self):
        return VectorMemory(self.folder / "m.jsonl", Exact(), **self.options)

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(which=st.integers(0, 1), spec=st.sampled_from(COSINES), text=st.text(min_size=1).filter(str.strip),
          source=st.sampled_from(["", "p", "q"]), family=st.sampled_from(["", "f"]))
    def add(self, which, spec, text, source, family):
        new = self.handles[which].add(spec, text, source=source, family=family)
        assert new == self.model.add(spec, text, source, family)

    @rule(which=st.integers(0, 1), number=IDS)
    def delete(self, which, number):
        if self.model.known(number):
            self.handles[which].delete(number)
            self.model.live.pop(number, None)
            self.model.archived.pop(number, None)
            self.model.evict()
            self.model.time += 1
        else:
            with pytest.raises(UnknownLesson, match=str(number)):
                self.handles[which].delete(number)

    @rule(which=st.integers(0, 1), episode=st.sampled_from("abcdefgh"), ids=st.lists(IDS, max_size=3, unique=True),
          outcome=OUTCOME, weight=st.sampled_from([0.0, 0.5, 1.0]))
    def record(self, which, episode, ids, outcome, weight):
        memory, weights = self.handles[which], [weight] * len(ids)
        before = self.model.episodes.get(episode)
        if before is not None and before != (dict(zip(ids, weights, strict=True)), outcome):
            with pytest.raises(EpisodeConflict):
                memory.record(episode, ids, outcome, weights)
        elif before is not None:
            assert memory.record(episode, ids, outcome, weights) is False
        elif all(map(self.model.known, ids)):
            assert memory.record(episode, ids, outcome, weights) is True
            self.model.record(episode, ids, outcome, weights)
        else:
            with pytest.raises(UnknownLesson):
                memory.record(episode, ids, outcome, weights)

    @rule(which=st.integers(0, 1), policy=st.sampled_from(["fifo", "lru", "lfu", "worth"]), n=st.integers(0, 3))
    def forget(self, which, policy, n):
        gone = self.model.victims(policy, n, self.model.live.values())
        assert self.handles[which].forget(policy, n) == gone
        self.model.archive(gone)
        self.model.time += bool(gone)

    @rule(which=st.integers(0, 1), k=st.integers(0, 9), threshold=st.sampled_from([None, -1, 0, 0.05, 0.8, 0.81]),
          family=st.sampled_from([None, "", "f"]), exclude=st.sampled_from([(), "p", ("p", "")]),
          cap=st.sampled_from([None, 1, 2]))
    def search(self, which, k, threshold, family, exclude, cap):
        names = (exclude,) if isinstance(exclude, str) else exclude
        hits = self.handles[which].search("query", k, threshold, family=family, exclude=exclude, max_per_source=cap)
        assert [(hit.lesson.id, hit.score) for hit in hits] == self.model.search(k, threshold, family, names, cap)
        assert (hits.reason == "") == bool(hits)

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.handles[which].close()
        self.handles[which] = self.open()

    @rule(which=st.integers(0, 1))
    def compact(self, which):
        self.handles[which].compact()

    @rule(which=st.integers(0, 1), junk=st.binary(min_size=1, max_size=60).filter(lambda junk: junk.strip()),
          finished=st.booleans())
    def damage_and_repair(self, which, junk, finished):
        path = self.folder / "m.jsonl"
        if path.exists():
            with path.open("ab") as file:
                file.write(junk.replace(b"\n", b"-") + b"\n" * finished)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DamageWarning)
                report = self.handles[which].repair()
                assert report.saved_to.read_bytes() == junk.replace(b"\n", b"-") + b"\n"
                assert len(self.handles[1 - which]) == len(self.model.live)
            self.model.next_id += 1  # the damaged line might have given an id away

    @invariant()
    def both_handles_agree_with_the_model(self):
        if not hasattr(self, "model"):
            return
        for memory in self.handles:
            for lessons, expected in ((memory, self.model.live), (memory.archived, self.model.archived)):
                assert [(lesson.id, lesson.spec, lesson.text, lesson.source, lesson.family, lesson.hits_plus,
                         lesson.hits_minus, lesson.uses) for lesson in lessons] == [
                    tuple(expected[number][name] for name in ("id", "spec", "text", "source", "family", "plus", "minus",
                                                              "uses")) for number in sorted(expected)]
            assert {episode: (receipt.weights, receipt.outcome) for episode, receipt in memory.receipts.items()} == (
                self.model.episodes)
            assert len(memory) == len(self.model.live)


def test_the_memory_and_a_dictionary_agree_whatever_is_done(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    from hypothesis.stateful import run_state_machine_as_test
    run_state_machine_as_test(MemoryAgainstModel, settings=settings(
        max_examples=30, stateful_step_count=40, deadline=None, derandomize=True, print_blob=True,
        suppress_health_check=list(HealthCheck)))


def test_the_model_itself_forgets_as_it_should():
    model = Model(2, "lru")
    first, second = model.add("0.9", "A", "", ""), model.add("0.8", "B", "", "")
    model.record("e", [first], "success", [1.0])
    third = model.add("0.4", "C", "", "")
    assert list(model.live) == [first, third] and list(model.archived) == [second]
    assert model.search(3, 0.05, None, (), None) == [(first, 0.9), (third, 0.4)]
    assert model.victims("lfu", 1, model.live.values()) == [third] and np.isfinite(model.live[first]["plus"])
