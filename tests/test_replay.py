"""Recorded answers: the key, the file, the transport that replays and records, and what a miss says."""

import base64
import hashlib
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import openai
import pytest
from loopback import Canned, completion, embeddings, error, loopback

from helpers.provider import clear_errors, open_client
from helpers.replay import first_difference, miss_message, response_body
from helpers.request_key import canonical_request, request_key
from helpers.settings import Settings
from helpers.transcript import ReplayMiss, Transcript, TranscriptError, provenance, start_recording, tidy

HEADER = provenance("m", file="m.gguf", sha256="ab" * 32, engine="engine 1", settings={"threads": 2})
ANSWER = {"text": "def f(): é\u2028…", "prompt_tokens": 7, "completion_tokens": 3, "finish_reason": "stop",
          "seconds": 0.5}


def ask(text: str = "hi", **changes) -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text}], "temperature": 0.0, "max_tokens": 8,
            "seed": 0, "stop": []} | changes


def recorded(path: Path, *texts: str) -> Transcript:
    """A transcript in which every text is asked and answered."""
    transcript = Transcript(path)
    for text in texts:
        transcript.append(ask(text), ANSWER | {"text": f"to {text}"}, HEADER)
    return transcript


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcripts" / "04_memory.jsonl"


class TestKey:
    def test_worked_by_hand(self):
        text = ('{"max_tokens":8,"messages":[{"content":"é","role":"user"}],"model":"m","seed":0,"stop":["\\n"],'
                '"temperature":0.0}')
        assert request_key(ask("é", stop="\n")) == hashlib.sha256(text.encode()).hexdigest()

    def test_one_meaning_is_one_key(self):
        same = [ask(stop=None), ask(temperature=0), ask(cache_prompt=False), ask(user="u", stream=False),
                dict(reversed(ask().items())), ask(messages=[{"content": "hi", "role": "user", "name": "x"}])]
        assert {request_key(one) for one in same} == {request_key(ask())}

    @pytest.mark.parametrize("change", [{"model": "n"}, {"temperature": 0.1}, {"max_tokens": 9}, {"seed": 1},
                                        {"stop": ["x"]}, {"messages": [{"role": "user", "content": "hi "}]},
                                        {"messages": [{"role": "system", "content": "hi"}]}])
    def test_another_meaning_is_another_key(self, change):
        assert request_key(ask(**change)) != request_key(ask())

    def test_what_could_change_the_answer_unseen_is_refused(self):
        with pytest.raises(ValueError, match="no field tools, top_p"):
            canonical_request(ask(top_p=0.5, tools=[]))

    def test_embeddings_have_their_own_form(self):
        one = {"model": "e", "input": "a"}
        assert request_key(one) == request_key({"model": "e", "input": ["a"], "encoding_format": "base64"})
        assert len({request_key(one | more) for more in ({}, {"dimensions": 2}, {"input": ["a", "b"]})}) == 3


class TestFile:
    def test_what_is_appended_is_loaded(self, path):
        recorded(path, "one", "two")
        loaded = Transcript.load(path)
        assert loaded.header == HEADER
        assert list(loaded.exchanges) == [request_key(ask("one")), request_key(ask("two"))]
        assert loaded.exchanges[request_key(ask("two"))]["response"]["text"] == "to two"

    def test_lines_are_compact_sorted_utf8_without_anything_else(self, path):
        Transcript(path).append(ask("é") | {"user": "someone"}, ANSWER, HEADER)
        lines = path.read_bytes().decode().split("\n")
        assert len(lines) == 3 and lines[2] == ""
        assert [json.dumps(json.loads(x), sort_keys=True, separators=(",", ":"), ensure_ascii=False) for x in lines[:2]
                ] == lines[:2]
        assert json.loads(lines[1]).keys() == {"key", "request", "response"} and "someone" not in lines[1]

    @pytest.mark.parametrize("damage, message", [
        (lambda lines: [], r"04_memory\.jsonl: the file is empty"),
        (lambda lines: lines[1:], r"04_memory\.jsonl, line 1: expected the provenance"),
        (lambda lines: ["<<<<<<< HEAD", *lines], "line 1: expected the provenance"),
        (lambda lines: [lines[0].replace('"format":1', '"format":2'), *lines[1:]], "line 1: format 2, .* format 1"),
        (lambda lines: [*lines[:2], lines[2][:-9], lines[3]], "line 3: damaged, expected one recorded exchange"),
        (lambda lines: [*lines[:2], "", *lines[2:]], "line 3: damaged"),
        (lambda lines: [*lines[:2], "[1]", *lines[2:]], "line 3: damaged"),
        (lambda lines: [*lines[:2], '{"key":"a","request":{},"response":null}'], "line 3: damaged"),
        (lambda lines: [*lines[:3], lines[3].replace('"seconds"', '"secs"')], "line 4: damaged"),
        (lambda lines: [*lines, lines[1]], "line 5: the request of line 2 is recorded again"),
        (lambda lines: [*lines[:3], lines[3].replace('"three"', '"tree"')], "line 4: the request does not belong"),
    ])
    def test_a_damaged_file_names_file_line_and_way_out(self, path, damage, message):
        recorded(path, "one", "two", "three")
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        path.write_text("".join(f"{line}\n" for line in damage(lines)), encoding="utf-8", newline="\n")
        with pytest.raises(TranscriptError, match=message) as caught:
            Transcript.load(path)
        assert "ecord" in str(caught.value) and str(path.parent.parent) not in str(caught.value)
        assert isinstance(caught.value, ReplayMiss)

    def test_a_missing_file(self, path):
        with pytest.raises(TranscriptError, match=r"no such transcript in transcripts/.*course record 04_memory"):
            Transcript.load(path)
        assert Transcript.load(path, missing_ok=True).exchanges == {}

    def test_bytes_that_are_no_text(self, path):
        recorded(path, "one")
        path.write_bytes(path.read_bytes() + b"\xff\n")
        with pytest.raises(TranscriptError, match="line 3: not UTF-8"):
            Transcript.load(path)

    def test_line_ends_of_windows_and_a_missing_last_one_are_no_damage(self, path):
        recorded(path, "one", "two")
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n")[:-2])
        assert len(Transcript.load(path).exchanges) == 2

    def test_answers_of_another_model_are_refused(self, path):
        transcript = recorded(path, "one")
        transcript.expect_model("ab" * 32, "m")
        with pytest.raises(TranscriptError, match=r"line 1: expected answers of other \(SHA-256 cdcdcdcdcdcd…\), but "
                                                  r"they were recorded from m \(SHA-256 abababababab…\)"):
            transcript.expect_model("cd" * 32, "other")

    def test_an_exchange_costs_little_more_than_its_texts(self, path):
        recorded(path, "one")
        assert len(path.read_bytes().split(b"\n")[1]) < 340


class TestReplay:
    def client(self, transcript: Transcript) -> openai.OpenAI:
        return open_client(transcript, source="replay", settings=Settings())

    def test_the_client_sees_an_ordinary_completion_and_no_socket_is_opened(self, path, no_sockets):
        recorded(path, "one")
        with self.client(Transcript.load(path)) as client:
            got = client.chat.completions.create(**ask("one"))
        assert (got.choices[0].message.content, got.choices[0].finish_reason) == ("to one", "stop")
        assert (got.usage.prompt_tokens, got.usage.completion_tokens, got.usage.total_tokens) == (7, 3, 10)
        assert got.model_extra["seconds"] == 0.5

    @pytest.mark.parametrize("encoding", ["float", "base64"])
    def test_embeddings_replay_in_either_encoding(self, path, no_sockets, encoding):
        vectors = [[1.0, -0.5], [0.25, 0.1]]
        transcript = Transcript(path)
        answer = {"vectors": [base64.b64encode(np.array(v, "<f4").tobytes()).decode() for v in vectors],
                  "prompt_tokens": 4, "seconds": 0.1}
        transcript.append({"model": "e", "input": ["a", "b"]}, answer, HEADER)
        with self.client(transcript) as client:
            got = client.embeddings.create(model="e", input=["a", "b"], encoding_format=encoding)
        rows = [row.embedding if isinstance(row.embedding, list)
                else np.frombuffer(base64.b64decode(row.embedding), "<f4") for row in got.data]
        assert np.array_equal(np.asarray(rows, np.float32), np.asarray(vectors, np.float32))

    def test_a_miss_says_where_how_near_and_three_ways_on(self, path, no_sockets):
        transcript = recorded(path, "sum the list", "sort the list by length", "reverse")
        with pytest.raises(ReplayMiss) as caught, clear_errors(Settings()), self.client(transcript) as client:
            client.chat.completions.create(**ask("sort the list by height"))
        said = str(caught.value)
        assert said.startswith("04_memory.jsonl holds 3 recorded answers, but none to this request")
        assert ("begins 'sort the list by length' and differs first in messages[0].content, character 17: recorded "
                "'sort the list by length', asked 'sort the list by height'") in said
        for way in ("course model fetch", "OPENROUTER_API_KEY", "course record 04_memory", "BATCH_MODE=false"):
            assert way in said

    def test_a_miss_is_not_retried(self, path, no_sockets, monkeypatch):
        monkeypatch.setattr(time, "sleep", lambda s: pytest.fail("waited for a request that cannot be answered"))
        with pytest.raises(ReplayMiss), clear_errors(Settings()), self.client(Transcript(path)) as client:
            client.embeddings.create(model="e", input="a")

    def test_a_miss_among_nothing_and_among_the_other_kind(self, path):
        assert "nothing comparable is recorded" in miss_message(Transcript(path), canonical_request(ask()))
        embedding = canonical_request({"model": "e", "input": "a"})
        assert "nothing comparable is recorded" in miss_message(recorded(path, "a"), embedding)

    def test_the_nearest_of_five_thousand_is_found_within_a_moment(self, path):
        transcript = Transcript(path, HEADER)
        for i in range(5000):
            request = canonical_request(ask(f"Problem {i}. " + "words " * 100))
            transcript.exchanges[str(i)] = {"request": request, "response": ANSWER}
        said = miss_message(transcript, canonical_request(ask("Problem 4321. " + "words " * 99 + "other ")))
        assert "begins 'Problem 4321." in said


@pytest.mark.parametrize("change, said", [
    ({"seed": 3}, "seed: recorded 0, asked 3"),
    ({"stop": ["x"], "max_tokens": 9}, "max_tokens: recorded 8, asked 9"),
    ({"stop": ["x"]}, "stop: recorded [], asked ['x']"),
    ({"messages": [{"role": "system", "content": "hi"}]},
     "messages[0].role, character 0: recorded 'user', asked 'system'"),
    ({"messages": []}, "messages: recorded 1 of them, asked 0"),
    ({"messages": [{"role": "user", "content": "hi!"}]},
     "messages[0].content, character 2: recorded 'hi', asked 'hi!'"),
    ({}, "nothing"),
])
def test_first_difference(change, said):
    assert first_difference(canonical_request(ask()), canonical_request(ask(**change))) == said


def test_first_difference_of_embedding_requests():
    one, other = ({"model": "e", "input": ["a", text]} for text in ("bc", "bd"))
    assert (first_difference(canonical_request(one), canonical_request(other))
            == "input[1], character 1: recorded 'bc', asked 'bd'")


class TestRecording:
    def client(self, path: Path, server, source: str = "record") -> openai.OpenAI:
        transcript = Transcript.load(path, missing_ok=True, repair=True)
        return open_client(transcript, source=source, settings=Settings(), base_url=server.base_url, header=HEADER)

    def ask_all(self, client: openai.OpenAI, *texts: str) -> list[str]:
        return [client.chat.completions.create(**ask(text)).choices[0].message.content for text in texts]

    def test_each_request_is_asked_once_and_kept_at_once(self, path):
        with loopback(lambda seen: completion("to " + seen.body["messages"][0]["content"])) as server:
            with self.client(path, server) as client:
                assert self.ask_all(client, "one", "two", "one") == ["to one", "to two", "to one"]
            assert len(Transcript.load(path).exchanges) == len(server.seen) == 2
            with self.client(path, server) as client:  # a second run goes on where the first ended
                assert self.ask_all(client, "two", "three") == ["to two", "to three"]
            assert len(server.seen) == 3
        response = Transcript.load(path).exchanges[request_key(ask("one"))]["response"]
        assert response.keys() == ANSWER.keys() and 0 <= response["seconds"] < 60

    def test_auto_asks_the_server_and_keeps_nothing(self, path):
        recorded(path, "one")
        before = path.read_bytes()
        with loopback(completion("new")) as server, self.client(path, server, "auto") as client:
            assert self.ask_all(client, "one", "two") == ["to one", "new"]
        assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == [path.name]

    @pytest.mark.parametrize("reply", [
        error(400), completion(""), completion(" \n"), completion(None), completion("x", finish_reason=None),
        Canned("<html>"), Canned({"choices": []}), Canned({"error": {"code": 429}}), Canned([1])])
    def test_errors_and_empty_answers_are_never_kept(self, path, reply):
        with loopback(reply) as server, self.client(path, server) as client:
            try:
                client.chat.completions.create(**ask())
            except openai.OpenAIError:
                assert reply.status == 400
        assert not path.exists()

    def test_embeddings_are_recorded_as_float32(self, path):
        vectors = [[0.1, 0.2], [1 / 3, -1.0]]
        request = {"model": "e", "input": ["a", "b"], "dimensions": 2}
        reply = embeddings(vectors)
        reply.body["data"].reverse()  # order in the reply is not promised: the index counts
        with loopback(reply) as server, self.client(path, server) as client:
            first = client.embeddings.create(**request)
            again = client.embeddings.create(**request)
            assert len(server.seen) == 1
        assert [row.embedding for row in first.data] == [row.embedding for row in again.data]
        assert np.allclose([row.embedding for row in again.data], vectors, atol=1e-7)

    @pytest.mark.parametrize("reply", [embeddings([]), error(400), Canned({"data": [{"index": 0, "embedding": []}]}),
                                       embeddings([[1.0], [1.0]]), embeddings([["x"]])])
    def test_embeddings_that_are_none_are_not_kept(self, path, reply):
        with loopback(reply) as server, self.client(path, server) as client:
            try:
                assert client.embeddings.create(model="e", input="a").data[0].embedding in ([], [1.0], ["x"])
            except (openai.OpenAIError, ValueError) as err:
                assert reply.status == 400 or "No embedding data" in str(err)
        assert not path.exists()

    def test_a_torn_last_line_is_cut_when_recording_goes_on_and_an_error_in_replay(self, path):
        recorded(path, "one", "two")
        whole = path.read_bytes()
        first = whole.index(b"\n", whole.index(b"\n") + 1) + 1
        for size in (0, 5, whole.index(b"\n"), first - 1, first, first + 1, len(whole) - 1):
            path.write_bytes(whole[:size])
            if size not in (first, len(whole) - 1, whole.index(b"\n"), first - 1):
                with pytest.raises(TranscriptError):
                    Transcript.load(path)
            with loopback(completion("to two")) as server, self.client(path, server) as client:
                self.ask_all(client, "two")
            assert request_key(ask("two")) in Transcript.load(path).exchanges

    def test_another_engine_or_setting_does_not_mix_in(self, path):
        transcript = recorded(path, "one")
        before = path.read_bytes()
        transcript.append(ask("two"), ANSWER, HEADER | {"recorded": "1999-01-01"})
        for change in ({"engine": "engine 2"}, {"settings": {"threads": 1}}):
            with pytest.raises(TranscriptError, match=r"recorded with m on engine 1 \(threads 2\), this one would"):
                transcript.append(ask("three"), ANSWER, HEADER | change)
            with pytest.raises(TranscriptError, match="Delete the file to record all of it anew"):
                open_client(transcript, source="record", settings=Settings(), header=HEADER | change)
        assert path.read_bytes().startswith(before) and path.read_bytes().count(b"\n") == 3

    def test_two_recordings_give_the_same_bytes_and_keep_what_was_asked(self, path, tmp_path):
        texts = ("b", "a", "c", "b")
        files = []
        with loopback(lambda seen: completion("to " + seen.body["messages"][0]["content"])) as server:
            for name, before in (("x", ()), ("y", ("old", "c", "unused"))):
                file = tmp_path / name / "04.jsonl"
                with self.client(file, server) as client:
                    self.ask_all(client, *before)
                start_recording(file)
                with self.client(file, server) as client:
                    self.ask_all(client, *texts)
                assert tidy(file) == 3
                assert [p.name for p in file.parent.iterdir()] == ["04.jsonl"], "no list, no temporary file is left"
                files.append(file.read_text(encoding="utf-8"))
        seconds = re.compile(r'"seconds":[\d.]+')
        assert seconds.sub("", files[0]) == seconds.sub("", files[1])
        asked = [json.loads(line)["request"]["messages"][0]["content"] for line in files[0].splitlines()[1:]]
        assert asked == ["a", "b", "c"], "sorted by request, whoever came first"

    def test_tidy_sorts_what_was_used_and_refuses_what_is_not_there(self, path):
        recorded(path, "two", "one", "three")
        before = path.read_bytes()
        with pytest.raises(TranscriptError, match="no recording has used it"):
            tidy(path)
        with pytest.raises(TranscriptError, match="it has no exchange 0123"):
            tidy(path, ["0123"])
        assert path.read_bytes() == before
        assert tidy(path, [request_key(ask("two")), request_key(ask("one")), request_key(ask("two"))]) == 2
        assert list(Transcript.load(path).exchanges) == [request_key(ask("one")), request_key(ask("two"))]

    def test_threads_that_append_and_note_at_once_write_whole_lines(self, path, monkeypatch):
        monkeypatch.setattr("os.fsync", lambda descriptor: time.sleep(0.001))  # lets the other threads go on
        long = "x" * 20_000  # more than one buffer: lines would mix
        transcript = Transcript(path)
        start = threading.Barrier(8, timeout=30)

        def work(thread):
            start.wait()
            for i in range(10):
                transcript.append(ask(f"{thread} {i} {long}"), ANSWER, HEADER)
                transcript.mark_used(request_key(ask(f"{i} by all")))
        with ThreadPoolExecutor(8) as workers:
            list(workers.map(work, range(8)))
        assert Transcript.load(path).exchanges.keys() == transcript.exchanges.keys() and len(transcript.exchanges) == 80
        assert sorted(transcript.used_path.read_text(encoding="ascii").split()) == sorted(
            request_key(ask(f"{i} by all")) for i in range(10))

    def test_one_key_is_asked_for_by_one_thread_at_a_time_also_after_a_failure(self, path):
        transcript, inside, most = Transcript(path), [], []

        def work(number):
            with suppress(OSError), transcript.asking("same"):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.001)
                inside.remove(number)
                raise OSError
        with ThreadPoolExecutor(4) as workers:
            list(workers.map(work, range(100)))
        assert max(most) == 1 and len(most) == 100
        with transcript.asking("one"), transcript.asking("another"):
            pass

    def test_tidy_that_cannot_replace_leaves_the_file(self, path, monkeypatch):
        recorded(path, "one")
        before = path.read_bytes()

        def refuse(source, target):
            raise PermissionError(13, "in use")

        monkeypatch.setattr("os.replace", refuse)
        with pytest.raises(PermissionError):
            tidy(path, [request_key(ask("one"))])
        assert path.read_bytes() == before

    @pytest.mark.parametrize("source", ["replay", "record"])
    def test_a_field_that_is_not_in_the_key_is_refused(self, path, source, no_sockets):
        transcript = recorded(path, "one")
        with pytest.raises(ReplayMiss, match="no field top_p"), clear_errors(Settings()), open_client(
                transcript, source=source, settings=Settings(), header=HEADER) as client:
            client.with_options(max_retries=0).chat.completions.create(**ask("one"), top_p=0.1)


def test_a_rebuilt_body_holds_the_recorded_words_only():
    body = response_body({"request": {"model": "m"}, "response": ANSWER})
    assert body["choices"] == [{"index": 0, "finish_reason": "stop",
                                "message": {"role": "assistant", "content": ANSWER["text"]}}]
    assert body["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert body["seconds"] == 0.5
