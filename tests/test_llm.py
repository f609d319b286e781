"""One call, three sources: who answers, what a failure is called, what is spent, and that no secret comes out."""

import pickle
import re
import socket
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import openai
import pytest
from loopback import Canned, completion, error, loopback

from helpers import llm, local_model
from helpers.chat_request import WHOLE_TURN_TOKENS
from helpers.llm import Chat, LLMError, ReplayMiss, Reply, Usage, connect, transcript_path
from helpers.provider import KINDS, SPENT, clear_errors, most_it_costs, redact, status_error
from helpers.request_key import canonical_request, request_key
from helpers.settings import DATA, VARIABLES, Settings
from helpers.transcript import Transcript, TranscriptError, provenance

KEY = "sk-or-v1-0123456789abcdef"
HI = [{"role": "user", "content": "hi"}]
BEGUN = [*HI, {"role": "assistant", "content": "def f():"}]
HEADER = provenance(local_model.MODEL_NAME, file="f.gguf", sha256=local_model.MODEL_SHA256, engine="engine 1")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable, no .env, no model in the cache, nothing spent, and no proxy that a reader may have."""
    for name in (*VARIABLES, "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BATCH_MODE", "true")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local_model, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(SPENT, "usd", 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A transcript in which "hi" is answered with "recorded", and BEGUN with a whole turn."""
    transcript = Transcript(tmp_path / "nb.jsonl")
    for messages, text in ((HI, "recorded"), (BEGUN, "def f(): return 1")):
        request = {"model": local_model.MODEL_NAME, "messages": messages, "temperature": 0, "max_tokens": 256,
                   "seed": 0}
        transcript.append(request, {"text": text, "prompt_tokens": 7, "completion_tokens": 2, "finish_reason": "stop",
                                    "seconds": 0.25}, HEADER)
    return transcript.path


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds waited between tries, without waiting them."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def live(server, **changes) -> Chat:
    settings = Settings(**{"base_url": server.base_url, "api_key": KEY} | changes)
    return connect("nb.jsonl", source="live", settings=settings)


def local(monkeypatch: pytest.MonkeyPatch, server) -> None:
    """Let `server` pass for the local model."""
    fake = local_model.LocalServer(server.base_url, local_model.MODEL_NAME, Path("f.gguf"), 2, None)
    monkeypatch.setattr(local_model.LocalServer, "header", lambda self: HEADER)
    monkeypatch.setattr(local_model, "is_ready", lambda settings=None: True)
    monkeypatch.setattr(local_model, "serve", lambda settings=None, *, number=0: fake)


def key_of(messages, **changes) -> str:
    return request_key({"model": local_model.MODEL_NAME, "messages": messages, "temperature": 0.0, "max_tokens": 256,
                        "seed": 0, "stop": None} | changes)


def failure(chat: Chat, messages=HI, **how) -> LLMError:
    with pytest.raises(LLMError) as caught:
        chat(messages, **how)
    assert caught.value.kind in KINDS
    said = "".join(traceback.format_exception(caught.value))
    assert KEY not in said and KEY not in repr(caught.value), "a secret came out"
    return caught.value


class TestReplay:
    def test_a_recorded_answer(self, path, no_sockets):
        chat = connect(path)
        assert chat(HI) == Reply("recorded", 7, 2, "stop", "replay", 0.25, key_of(HI))
        assert chat(BEGUN, stop=None).text == "def f(): return 1"
        assert chat.usage == Usage(calls=2, prompt_tokens=14, completion_tokens=4, cost_usd=0.0)
        assert chat.prefill

    def test_batch_needs_no_key_and_opens_no_socket_even_with_one(self, path, no_sockets, monkeypatch):
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
        monkeypatch.setenv("COURSE_SOURCE", "live")
        chat = connect(path)
        assert chat(HI).source == "replay"
        assert chat.describe() == (
            f"replay: 2 recorded answers of SmolLM2-135M-Instruct.Q4_1 (engine 1, {HEADER['recorded']}); no network "
            "(BATCH_MODE is on, so COURSE_SOURCE=live is not followed)")

    def test_a_miss_comes_out_as_itself_at_once(self, path, no_sockets, waits):
        with pytest.raises(ReplayMiss, match=r"nb\.jsonl holds 2 .* seed: recorded 0, asked 9.*course record nb"):
            connect(path)(HI, seed=9)
        assert waits == []

    def test_a_missing_transcript_is_said_when_connecting(self, tmp_path):
        with pytest.raises(ReplayMiss, match="no such transcript"):
            connect(tmp_path / "none.jsonl")

    def test_answers_of_another_model_are_refused(self, path):
        path.write_bytes(path.read_bytes().replace(local_model.MODEL_SHA256.encode(), b"cd" * 32))
        with pytest.raises(TranscriptError, match=r"expected answers of SmolLM2-135M-Instruct.Q4_1 .* \(SHA-256 cdcd"):
            connect(path)

    def test_recordings_of_a_readers_own_model_replay_under_its_name_only(self, tmp_path, no_sockets):
        own = Settings(model_path=tmp_path / "own.gguf")
        transcript = Transcript(tmp_path / "own.jsonl")
        answer = {"text": "mine", "prompt_tokens": 1, "completion_tokens": 1, "finish_reason": "stop", "seconds": 0.1}
        transcript.append({"model": "other:own.gguf", "messages": HI, "temperature": 0, "max_tokens": 256, "seed": 0},
                          answer, provenance("other:own.gguf", sha256="ef" * 32))
        assert connect(transcript.path, source="replay", settings=own)(HI).text == "mine"
        with pytest.raises(TranscriptError, match=r"recorded from other:own\.gguf"):
            connect(transcript.path, source="replay", settings=Settings())


class TestSources:
    def test_by_default_recorded_then_local_then_live(self, path, monkeypatch):
        with loopback(completion("from live")) as far, loopback(completion("from local")) as near:
            chat = connect(path, settings=Settings(batch=False, base_url=far.base_url, api_key=KEY))
            assert [chat(HI).text, chat(HI, seed=1).text] == ["recorded", "from live"]
            assert "new requests go to the live model meta-llama/llama-3.3-70b-instruct at 127.0.0.1" in chat.describe()
            local(monkeypatch, near)
            assert (chat(HI, seed=1).text, chat(HI, seed=1).source) == ("from local", "local")
            assert "new requests go to the local model SmolLM2" in chat.describe()
            assert near.seen[0].body["cache_prompt"] is False
            assert KEY in str(far.seen[0].headers) and KEY not in str(near.seen[0].headers), "it goes to one address"

    def test_a_reply_names_its_request_whoever_answers(self, path, monkeypatch):
        with loopback(completion("x")) as far, loopback(completion("y")) as near:
            settings = Settings(batch=False, base_url=far.base_url, api_key=KEY)
            live_key = key_of(BEGUN, stop=["\n"], seed=1)
            assert connect(path, source="live", settings=settings)(BEGUN, stop="\n", seed=1).key == live_key
            assert far.seen[0].body["messages"] == HI, "what was asked of the provider is less"
            local(monkeypatch, near)
            for source in ("replay", "auto", "local", "record"):
                assert connect(path, source=source, settings=settings)(HI).key == key_of(HI)
            for source in ("auto", "local", "record"):
                assert connect(path, source=source, settings=settings)(HI, seed=2).key == key_of(HI, seed=2)
        assert key_of(HI, seed=2) in Transcript.load(path).exchanges
        assert len(near.seen) == 4 and "x-request-key" not in str([seen.headers for seen in near.seen + far.seen])

    def test_a_miss_when_nobody_else_can_answer(self, path):
        with pytest.raises(ReplayMiss, match="course model fetch"):
            connect(path, settings=Settings(batch=False))(HI, seed=1)

    def test_a_new_notebook_has_nothing_recorded_yet(self, tmp_path):
        chat = connect(tmp_path / "new.jsonl", settings=Settings(batch=False))
        assert chat.describe() == ("auto: nothing recorded yet in new.jsonl; new requests go to nobody: no local model "
                                   "is fetched and no key is set")
        with pytest.raises(ReplayMiss, match="holds 0 recorded"):
            chat(HI)

    @pytest.mark.parametrize("batch, variable, expected", [
        (True, "auto", "replay"), (True, "live", "replay"), (True, "local", "replay"), (True, "record", "record"),
        (False, "auto", "auto"), (False, "live", "live"), (False, "local", "local"), (False, "replay", "replay")])
    def test_which_source_a_variable_asks_for(self, path, batch, variable, expected):
        settings = Settings(batch=batch, source=variable, api_key=KEY)
        assert connect(path, settings=settings).source == expected
        assert connect(path, source="replay", settings=settings).source == "replay", "the argument comes first"

    def test_an_unknown_source(self, path):
        with pytest.raises(ValueError, match="source: expected one of auto, replay, local, live, record; got 'cloud'"):
            connect(path, source="cloud")

    @pytest.mark.parametrize("text", ["def f(): return 2", " return 2"])
    def test_the_whole_turn_comes_back_from_a_source_that_continues_it(self, monkeypatch, text):
        with loopback(completion(text)) as server:
            local(monkeypatch, server)
            assert connect("nb.jsonl", source="local")(BEGUN).text == "def f(): return 2"
            assert server.seen[0].body["messages"] == BEGUN

    def test_recording_asks_the_local_model_once_and_finish_tidies(self, path, monkeypatch, tmp_path):
        with loopback(completion("kept")) as server:
            local(monkeypatch, server)
            chat = connect(path, source="record")
            assert [chat(HI, seed=1).source, chat(HI, seed=1).source, chat(HI).source] == ["local", "replay", "replay"]
            assert len(server.seen) == 1 and chat.describe().startswith("record: 3 recorded answers of SmolLM2")
            assert chat.finish() == 2
        assert [e["request"]["seed"] for e in Transcript.load(path).exchanges.values()] == [0, 1]
        assert connect(path)(HI, seed=1).text == "kept"
        with pytest.raises(ValueError, match="only a recording is finished"):
            connect(path).finish()

    def test_an_empty_answer_of_the_local_model_is_an_error_and_not_recorded(self, path, monkeypatch):
        before = path.read_bytes()
        with loopback(completion("")) as server:
            local(monkeypatch, server)
            assert failure(connect(path, source="record"), seed=1).kind == "empty"
        assert path.read_bytes() == before

    @pytest.mark.parametrize("messages, how, said", [
        ([], {}, "expected at least one"), ([{"role": "robot", "content": "x"}], {}, r"messages\[0\]: expected a role"),
        ([{"role": "user", "content": None}], {}, r"messages\[0\]"), (HI, {"temperature": -1}, "temperature"),
        (HI, {"temperature": float("nan")}, "temperature"), (HI, {"max_tokens": 0}, "max_tokens: .*got 0"),
        (HI, {"model": "gpt"}, "model: expected fast or big, got 'gpt'")])
    def test_what_cannot_be_asked(self, path, messages, how, said):
        with pytest.raises(ValueError, match=said):
            connect(path)(messages, **how)

    def test_the_path_of_a_transcript(self):
        assert transcript_path("04_memory") == DATA / "transcripts" / "04_memory.jsonl"
        assert transcript_path(Path("a") / "b.jsonl") == Path("a") / "b.jsonl"
        for wrong in ("a/b", "", "../x"):
            with pytest.raises(ValueError, match=r"transcript: expected a notebook's name or a path ending in \.jsonl"):
                transcript_path(wrong)


class TestSeveralCallers:
    @pytest.fixture
    def servers(self, monkeypatch):
        """A function that lets loopback servers, each answering with its function, pass for those of the model."""
        with ExitStack() as stack:
            def run(*answers):
                fakes = [stack.enter_context(loopback(answer)) for answer in answers]
                self.started = []

                def serve(settings=None, *, number=0):
                    self.started.append(number)
                    return local_model.LocalServer(fakes[number].base_url, local_model.MODEL_NAME, Path("f"), 1, None)
                local(monkeypatch, fakes[0])
                monkeypatch.setattr(local_model, "serve", serve)
                return fakes
            yield run

    @pytest.mark.parametrize("source", ["local", "record", "auto"])
    def test_two_are_answered_side_by_side(self, path, servers, source):
        both = threading.Barrier(2, timeout=30)  # broken, and no answer, unless both requests are there at once

        def answer(seen):
            both.wait()
            return completion(f"to {seen.body['seed']}")
        fakes = servers(answer, answer)
        chat = connect(path, source=source, settings=Settings(batch=False, servers=2))
        with ThreadPoolExecutor(2) as workers:
            texts = list(workers.map(lambda seed: chat(HI, seed=seed).text, (1, 2, 3, 4)))
        assert texts == ["to 1", "to 2", "to 3", "to 4"] and sorted(self.started) == [0, 1]
        assert [len(fake.seen) for fake in fakes] == [2, 2] and chat.usage.calls == 4

    def test_one_server_is_never_asked_twice_at_once_and_every_caller_gets_its_own_answer(self, path, servers):
        busy, most, lock = Counter(), Counter(), threading.Lock()

        def server(name):
            def answer(seen):
                with lock:
                    busy[name] += 1
                    most[name] = max(most[name], busy[name])
                time.sleep(0.002)
                with lock:
                    busy[name] -= 1
                return completion(f"to {seen.body['seed']}")
            return answer
        servers(server("a"), server("b"))
        chat = connect(path, source="record", settings=Settings(servers=2))
        seeds = [1, 2, 3, 1, 2, 3, 0] * 5 + list(range(1, 41))
        with ThreadPoolExecutor(8) as workers:
            texts = list(workers.map(lambda seed: chat(HI, seed=seed).text, seeds))
        assert texts == [f"to {seed}" if seed else "recorded" for seed in seeds]
        assert most == {"a": 1, "b": 1}
        used = chat.transcript.used_path.read_text(encoding="ascii").split()
        assert sorted(used) == sorted(key_of(HI, seed=seed) for seed in range(41)), "each is noted once"
        assert len(Transcript.load(path).exchanges) == 42 and chat.finish() == 41

    def test_a_single_caller_starts_a_single_server(self, path, servers):
        servers(completion("x"), completion("y"))
        chat = connect(path, source="local", settings=Settings(servers=2))
        assert [chat(HI, seed=seed).text for seed in range(3)] == ["x", "x", "x"] and self.started == [0]

    def test_whoever_wants_what_is_being_recorded_waits_for_it(self, path, servers, monkeypatch):
        asked, release, wanted, real = threading.Event(), threading.Event(), [], Transcript.asking
        monkeypatch.setattr(Transcript, "asking", lambda self, key: (wanted.append(key), real(self, key))[1])

        def answer(seen):
            asked.set()
            assert release.wait(30)
            return completion("once")
        first, second = servers(answer, answer)
        chat = connect(path, source="record", settings=Settings(servers=2))
        with ThreadPoolExecutor(2) as workers:
            one = workers.submit(chat, HI, seed=1)
            assert asked.wait(30)
            two = workers.submit(chat, HI, seed=1)
            while len(wanted) < 2 and not two.done():
                time.sleep(0.001)
            release.set()
            assert one.result().text == two.result().text == "once"
        assert len(first.seen) + len(second.seen) == 1 and len(Transcript.load(path).exchanges) == 3

    def test_a_server_that_failed_is_asked_again(self, path, servers):
        fake, = servers(error(400))
        fake.replies.append(completion("better"))
        chat = connect(path, source="local", settings=Settings(servers=1))
        assert failure(chat).kind == "bad_response"
        assert chat(HI).text == "better"

    @pytest.mark.parametrize("source, ready, parallel", [
        ("replay", True, 2), ("live", True, 1), ("local", True, 3), ("record", True, 3), ("auto", True, 3),
        ("auto", False, 2)])
    def test_how_many_are_worth_having(self, path, monkeypatch, source, ready, parallel):
        monkeypatch.setattr(local_model, "is_ready", lambda settings=None: ready)
        assert connect(path, source=source, settings=Settings(api_key=KEY, servers=3)).parallel == parallel

    def test_with_one_server_recorded_answers_still_replay_side_by_side(self, path, monkeypatch):
        monkeypatch.setattr(local_model, "is_ready", lambda settings=None: True)
        assert connect(path, source="auto", settings=Settings(servers=1)).parallel == 2

    def test_live_calls_wait_for_each_other_so_that_the_budget_holds(self, monkeypatch):
        monkeypatch.setattr(llm, "most_it_costs", lambda *a: 0.6)
        with loopback(completion("x", cost=0.5)) as server:
            chat = live(server, budget_usd=1.0)

            def ask(seed):
                try:
                    return chat(HI, seed=seed).text
                except LLMError as err:
                    return err.kind
            with ThreadPoolExecutor(4) as workers:
                assert sorted(workers.map(ask, range(4))) == ["budget", "budget", "budget", "x"]
        assert SPENT.usd == pytest.approx(0.5)


class TestLive:
    def test_what_is_sent_and_what_comes_back(self):
        with loopback(completion("4", finish_reason="length", cost=0.001)) as server:
            chat = live(server)
            reply = chat(HI, temperature=0.5, max_tokens=9, seed=3, stop="x")
        assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finish_reason, reply.source) == (
            "4", 10, 5, "length", "live")
        assert 0 < reply.seconds < 60 and not chat.prefill
        assert server.seen[0].path == "/v1/chat/completions"
        assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.seen[0].body == {"model": "meta-llama/llama-3.3-70b-instruct", "messages": HI, "temperature": 0.5,
                                       "max_tokens": 9, "seed": 3, "stop": ["x"]}
        assert chat.usage.cost_usd == pytest.approx(0.001) == SPENT.usd

    def test_a_begun_turn_is_left_out_with_what_belongs_to_it(self):
        with loopback(completion("def f(): pass")) as server:
            live(server)(BEGUN, max_tokens=64, stop=["\ndef "], model="big")
        body = server.seen[0].body
        assert body["messages"] == HI and "stop" not in body and body["max_tokens"] == WHOLE_TURN_TOKENS
        assert body["model"] == "openai/gpt-5-nano"

    def test_a_server_without_any_key(self):
        with loopback(completion("local server")) as server:
            chat = live(server, api_key=None)
            assert chat(HI).text == "local server"
            assert "127.0.0.1" in chat.describe()

    def test_openrouter_is_asked_for_the_cost_and_others_are_not(self):
        request = canonical_request({"model": "m", "messages": HI})
        with loopback(completion("x")) as server:
            chat = live(server)
            chat(HI)
            object.__setattr__(chat.settings, "base_url", "https://openrouter.ai/api/v1")
            chat(HI)  # the client is open: the server of this test still answers
        assert ["usage" in seen.body for seen in server.seen] == [False, True] and "usage" not in request

    def test_live_without_a_key_is_said_when_connecting(self):
        with pytest.raises(LLMError, match="OPENROUTER_API_KEY") as caught:
            connect("nb.jsonl", source="live")
        assert caught.value.kind == "no_key"

    def test_missing_token_counts_are_zero(self):
        body = completion("x").body
        del body["usage"]
        with loopback(Canned(body)) as server:
            assert live(server)(HI).prompt_tokens == 0


class TestFailures:
    @pytest.mark.parametrize("status, kind, tries", [
        (400, "bad_response", 1), (401, "unauthorised", 1), (402, "budget", 1), (403, "unauthorised", 1),
        (404, "not_found", 1), (422, "bad_response", 1), (408, "timeout", 4), (429, "rate_limited", 4),
        (500, "server", 4), (503, "server", 4), (307, "bad_response", 1)])
    def test_every_status_has_its_kind_and_at_most_four_tries(self, status, kind, tries, waits):
        with loopback(error(status, f"no: {KEY}", location="http://127.0.0.1:9/")) as server:
            err = failure(live(server))
        assert (err.kind, len(server.seen), len(waits)) == (kind, tries, tries - 1)
        assert f"HTTP {status}" in str(err) and "no: [key]" in str(err) and "at 127.0.0.1" in str(err)

    def test_a_wish_to_wait_is_honoured_up_to_a_limit(self, waits):
        with loopback(error(429, retry_after="7"), error(503, retry_after="0.5"), completion("at last")) as server:
            assert live(server)(HI).text == "at last"
        assert waits == [7.0, 0.5]
        with loopback(error(429, retry_after="3600")) as server:
            assert failure(live(server)).kind == "rate_limited"
            assert len(server.seen) == 1 and waits == [7.0, 0.5], "nobody waits an hour"

    def test_without_such_a_wish_waits_grow_and_end(self, waits):
        with loopback(error(429)) as server:
            failure(live(server))
        assert len(waits) == 3 and all(0.75 * b <= w <= b for w, b in zip(waits, (0.5, 1, 2), strict=True))

    def test_a_wrong_key_where_none_is_set_is_a_missing_one(self):
        with loopback(error(401)) as server:
            assert failure(live(server, api_key=None)).kind == "no_key"

    @pytest.mark.parametrize("reply", [Canned(completion("late").body, delay_s=30),
                                       Canned(completion("late").body, drip_s=0.06)])
    def test_a_slow_server_is_a_timeout(self, reply, waits):
        with loopback(reply) as server:
            chat = connect("nb.jsonl", source="live", settings=Settings(base_url=server.base_url), timeout_s=0.2)
            assert failure(chat).kind == "timeout"
        assert len(server.seen) <= 4

    def test_nobody_listens(self, waits):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            err = failure(connect("nb.jsonl", source="live", settings=Settings(base_url=url, api_key=KEY)))
        assert err.kind == "unreachable" and len(waits) == 3

    def test_the_server_hangs_up(self, waits):
        with loopback(Canned(hang_up=True)) as server:
            assert failure(live(server)).kind == "unreachable"

    @pytest.mark.parametrize("reply, kind, said", [
        (Canned("<html><h1>Welcome</h1></html>"), "bad_response", "not the JSON of an answer"),
        (Canned("<html><h1>Bad gateway</h1></html>", 404), "not_found", "Bad gateway"),
        (Canned(b"{\"choices\": [", headers={"content-type": "application/json"}), "bad_response", "not the JSON"),
        (Canned(b""), "bad_response", "not the JSON"), (Canned([]), "bad_response", "expected a JSON object"),
        (Canned(b"\xff\xfe", headers={"content-type": "application/json"}), "bad_response", "not the JSON"),
        (Canned({}), "bad_response", "with a message"), (Canned({"choices": []}), "bad_response", "with a message"),
        (Canned({"choices": None}), "bad_response", "with a message"),
        (Canned({"choices": "x"}), "bad_response", "with a message"),
        (Canned({"choices": [{"message": None}]}), "bad_response", "with a message"),
        (Canned({"choices": [{"message": {"content": [{"text": "x"}]}}]}), "bad_response", "expected text"),
        (Canned({"error": {"code": 429, "message": KEY}}), "rate_limited", r"\[key\]"),
        (Canned({"error": {"message": "upstream"}}), "server", "upstream"),
        (completion(None), "empty", "no text"), (completion(""), "empty", "no text"),
        (completion(" \n"), "empty", "no text"),
        (completion(None, finish_reason="content_filter"), "empty", "filtered"),
        (completion("", finish_reason="length"), "empty", "allow more"),
        (completion(None, finish_reason=None), "empty", "finish reason None")])
    def test_what_is_no_answer(self, reply, kind, said):
        with loopback(reply) as server:
            err = failure(live(server))
        assert err.kind == kind
        assert re.search(said, str(err)), str(err)

    def test_a_filtered_answer_with_text_is_an_answer(self):
        with loopback(completion("some", finish_reason="content_filter")) as server:
            assert live(server)(HI).finish_reason == "content_filter"

    def test_what_a_transport_raises_comes_out_as_itself(self):
        for inner in (ReplayMiss("gone"), LLMError("budget", "stop")):
            with pytest.raises(type(inner)) as caught, clear_errors(Settings()):
                try:
                    raise inner
                except Exception as err:
                    raise openai.APIConnectionError(request=None) from err
            assert caught.value is inner

    def test_errors_can_be_sent_between_processes(self):
        err = pickle.loads(pickle.dumps(LLMError("timeout", "late")))
        assert (err.kind, str(err)) == ("timeout", "late")

    def test_advice_fits_the_status(self):
        assert "models are retired" in str(status_error(404, "no such model", Settings(), "m"))
        assert "ask for less" in str(status_error(400, "too long", Settings(), "m"))


class TestBudget:
    def test_it_stops_before_the_call_that_could_exceed_it(self):
        # "hi" is 2 bytes + 16 for its message, and 9 tokens may come: 27 tokens at $1,000 a million are $0.027.
        settings = Settings(base_url="http://example.org/v1", price_usd=1000.0)
        assert most_it_costs(settings, 2 + 16, 9) == pytest.approx(0.027)

    @pytest.mark.parametrize("cost, calls", [(0.4, 2), (None, 6)])
    def test_reported_costs_and_assumed_ones(self, monkeypatch, cost, calls):
        # Assumed: 15 tokens at $10,000 a million are $0.15; one more call may cost (18 + 1) tokens, $0.19.
        monkeypatch.setattr(llm, "most_it_costs", lambda *a: 0.19)
        with loopback(completion("x", cost=cost)) as server:
            chat = live(server, budget_usd=1.0 if cost is None else 0.95, price_usd=10_000.0)
            for _ in range(calls):
                chat(HI, max_tokens=1)
            err = failure(chat)
            assert len(server.seen) == calls == chat.usage.calls
            again = live(server, budget_usd=0.95, price_usd=10_000.0)
            assert failure(again).kind == "budget", "connecting again does not begin a new budget"
        assert err.kind == "budget" and "COURSE_BUDGET_USD" in str(err) and "COURSE_PRICE_USD=10000" in str(err)

    def test_nothing_to_spend_is_a_budget_and_recorded_answers_are_free(self, path):
        settings = Settings(batch=False, base_url="http://192.0.2.1/v1", budget_usd=0.0)
        chat = connect(path, settings=settings)
        assert chat(HI).text == "recorded"
        assert failure(chat, seed=1).kind == "budget"
        assert "budget $0 ($0.0000 spent)" in chat.describe()

    def test_a_server_on_this_machine_costs_nothing(self):
        with loopback(completion("x")) as server:
            chat = live(server, budget_usd=0.0)
            chat(HI)
        assert SPENT.usd == chat.usage.cost_usd == 0

    def test_an_answer_that_was_not_seen_may_have_been_billed(self, monkeypatch, waits):
        monkeypatch.setattr(llm, "most_it_costs", lambda *a: 0.25)
        with loopback(error(408)) as server:
            failure(live(server))
        assert SPENT.usd == 0.25

    def test_an_empty_answer_is_paid_for(self):
        with loopback(completion("", cost=0.3)) as server:
            failure(live(server))
        assert SPENT.usd == pytest.approx(0.3)


@pytest.mark.parametrize("text", [f"bad key {KEY}", f"Authorization: Bearer {KEY}", "sk-other-0123456789 is wrong",
                                  "Incorrect API key provided: sk-proj-ab***cd", "Bearer\nabc.def"])
def test_redact(text):
    said = redact(text, Settings(api_key=KEY))
    assert "[key]" in said and not {"0123456789", "cd", "abc.def"} & set(said.replace(":", " ").split())
    assert KEY not in said and "0123" not in said


def test_a_key_of_any_form_is_redacted():
    assert redact("wrong key my-own-token!", Settings(api_key="my-own-token")) == "wrong key [key]!"


def test_redact_shortens_to_one_line():
    assert redact("a\n b" * 400, Settings()).count("\n") == 0 and len(redact("x" * 999, Settings())) == 300


def test_nothing_shows_the_key(path):
    with loopback(completion("x")) as server:
        chat = live(server)
        assert KEY not in repr(chat) + chat.describe() + repr(chat.settings) + repr(chat.usage)
