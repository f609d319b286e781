"""OpenAIEmbedder against a real HTTP server on loopback: order, batches, retries, and every unfit answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import openai
import pytest
from loopback import Canned, Loopback, Seen, embeddings, error, loopback

from helpers.embeddings import Embedder, OpenAIEmbedder
from helpers.provider import SPENT, LLMError
from helpers.replay import ReplayMiss
from helpers.settings import Settings

TEXTS = ["right", "up", "slope"]
VECTORS = {"right": [2.0, 0.0], "up": [0.0, 0.5], "slope": [3.0, 4.0]}


def by_text(seen: Seen) -> Canned:
    return embeddings([VECTORS[text] for text in seen.body["input"]])


@pytest.fixture
def client() -> Iterator[Callable[..., openai.OpenAI]]:
    opened = []

    def open_one(server: Loopback, retries: int = 0) -> openai.OpenAI:
        opened.append(openai.OpenAI(api_key="sk-secret-key-123", base_url=server.base_url, max_retries=retries,
                                    timeout=5))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


def test_unit_rows_in_the_order_of_the_texts(client):
    def backwards(seen: Seen) -> Canned:
        reply = by_text(seen)
        reply.body["data"].reverse()
        return reply

    with loopback(backwards) as server:
        embedder = OpenAIEmbedder(client(server), model="m")
        vectors = embedder.embed(TEXTS)
    assert vectors.tolist() == [[1, 0], [0, 1], [pytest.approx(.6), pytest.approx(.8)]]
    assert vectors.dtype == "float32"
    assert vectors.flags.c_contiguous
    assert isinstance(embedder, Embedder)
    assert [seen.path for seen in server.seen] == ["/v1/embeddings"]
    assert server.seen[0].body == {"model": "m", "input": TEXTS, "encoding_format": "float"}


def test_texts_go_in_batches_and_blank_ones_are_not_sent(client):
    with loopback(by_text) as server:
        embedder = OpenAIEmbedder(client(server), model="m", batch_size=2)
        vectors = embedder.embed(["right", "", "up", " \n", "slope"])
    assert [seen.body["input"] for seen in server.seen] == [["right", "up"], ["slope"]]
    assert vectors.any(axis=1).tolist() == [True, False, True, False, True]
    assert embedder.embed([]).shape == (0, 2)
    assert embedder.embed([""]).tolist() == [[0, 0]]


def test_no_text_before_the_first_answer(client):
    with loopback(by_text) as server:
        assert OpenAIEmbedder(client(server), model="m").embed([]).shape == (0, 0)
        assert OpenAIEmbedder(client(server)).embed([""]).shape == (1, 1536)
        assert OpenAIEmbedder(client(server), model="openai/text-embedding-3-large").embed([]).shape == (0, 3072)
        assert OpenAIEmbedder(client(server), model="m", dimensions=8).embed([]).shape == (0, 8)
    assert not server.seen


def test_dimensions_are_asked_for_and_a_lone_surrogate_can_be_sent(client):
    with loopback(embeddings([[1.0, 0.0]])) as server:
        OpenAIEmbedder(client(server), model="m", dimensions=2).embed(["a\ud800"])
    assert server.seen[0].body["dimensions"] == 2
    assert server.seen[0].body["input"] == ["a?"]


def test_a_busy_server_is_asked_again(client):
    with loopback(error(429, retry_after="0"), by_text) as server:
        assert OpenAIEmbedder(client(server, retries=2), model="m").embed(["up"]).tolist() == [[0, 1]]
    assert len(server.seen) == 2


@pytest.mark.parametrize(("reply", "kind"), [
    (error(401, "bad key sk-secret-key-123"), "unauthorised"), (error(404), "not_found"), (error(429), "rate_limited"),
    (error(500), "server"), (error(400, "too long"), "bad_response"), (Canned(hang_up=True), "unreachable"),
    (Canned("<html>"), "bad_response"), (Canned([]), "bad_response"), (Canned({"data": None}), "bad_response"),
    (Canned({}), "bad_response"), (Canned({"data": [None, None]}), "bad_response"),
    (embeddings([]), "bad_response"), (embeddings([[1.0, 2.0]]), "bad_response"),
    (embeddings([[1.0]] * 3), "bad_response"), (embeddings([[1.0, 2.0], [1.0]]), "bad_response"),
    (embeddings([[], []]), "bad_response"), (embeddings([[1.0], [None]]), "bad_response"),
    (embeddings([[1.0], [float("nan")]]), "bad_response"), (embeddings([[1.0], [float("inf")]]), "bad_response"),
    (embeddings([[1.0], [1e300]]), "bad_response"), (embeddings([[1.0], [0.0]]), "bad_response"),
    (embeddings([[1.0], ["x"]]), "bad_response"), (embeddings(["AACAPw==", "AACAPw=="]), "bad_response"),
    (Canned({"data": [{"index": 0, "embedding": [1.0]}] * 2}), "bad_response"),
    (Canned({"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}), "bad_response"),
])
def test_a_failure_is_an_error_and_never_a_vector(client, reply, kind):
    with loopback(reply) as server, pytest.raises(LLMError) as caught:
        OpenAIEmbedder(client(server), model="m").embed(["one", "two"])
    assert caught.value.kind == kind
    assert "m at 127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_unfit_vector_is_named_by_its_text(client):
    with loopback(embeddings([[1.0, 0.0], [float("nan"), 1.0]])) as server, \
            pytest.raises(LLMError, match=r"for the text 'two', got shape \(2,\) and length nan"):
        OpenAIEmbedder(client(server), model="m").embed(["one", "two"])


@pytest.mark.parametrize("options", [{"dimensions": 3}, {"model": "text-embedding-3-small"}, {}])
def test_the_dimension_may_not_change(client, options):
    with loopback(embeddings([[1.0, 0.0]]), embeddings([[1.0, 0.0, 0.0, 0.0]])) as server, \
            pytest.raises(LLMError, match=r"expected a vector of (3|1536|2) finite numbers"):
        embedder = OpenAIEmbedder(client(server), **{"model": "m"} | options)
        embedder.embed(["one"])
        embedder.embed(["two"])


def test_wrong_arguments_are_named(client):
    with loopback(by_text) as server:
        embedder = OpenAIEmbedder(client(server), model="m")
        with pytest.raises(TypeError, match="expected a list of str, got str"):
            embedder.embed("up")
        with pytest.raises(TypeError, match=r"texts\[0\]: expected a str, got NoneType"):
            embedder.embed([None])
        with pytest.raises(ValueError, match="batch_size: expected 1 or more"):
            OpenAIEmbedder(client(server), batch_size=0)
    assert not server.seen


def test_every_configuration_has_its_own_fingerprint(client):
    with loopback(by_text) as server:
        made = [OpenAIEmbedder(client(server), **options) for options in
                ({}, {"model": "m"}, {"model": "m", "dimensions": 2}, {"dimensions": 2})]
        assert len({embedder.fingerprint for embedder in made}) == 4
        before = made[1].fingerprint
        made[1].embed(["up"])
        assert made[1].fingerprint == before


# --- recorded and replayed, as chat is -----------------------------------------------------------------------

def settings(server: Loopback, **options) -> Settings:
    return Settings(**{"base_url": server.base_url, "api_key": "sk-secret-key-123", "batch": False} | options)


def test_record_then_replay_without_a_socket(tmp_path, request):
    path = tmp_path / "vectors.jsonl"
    with loopback(by_text) as server:
        recording = OpenAIEmbedder(model="m", transcript=path, batch_size=2, settings=settings(server, source="record"))
        live = recording.embed(TEXTS)
        assert recording.embed(TEXTS).tobytes() == live.tobytes()
        assert len(server.seen) == 2
    request.getfixturevalue("no_sockets")
    replaying = OpenAIEmbedder(model="m", transcript=path, batch_size=2)
    assert replaying.embed(TEXTS).tobytes() == live.tobytes()
    assert replaying.fingerprint == recording.fingerprint
    with pytest.raises(ReplayMiss, match=r"vectors\.jsonl holds 2 recorded answers"):
        replaying.embed(["another"])
    assert "secret" not in path.read_text(encoding="utf-8")


def test_auto_asks_only_what_is_not_recorded(tmp_path):
    path = tmp_path / "vectors.jsonl"
    with loopback(by_text) as server:
        OpenAIEmbedder(model="m", transcript=path, settings=settings(server, source="record")).embed(["up"])
        embedder = OpenAIEmbedder(model="m", transcript=path, settings=settings(server))
        embedder.embed(["up"])
        assert len(server.seen) == 1
        embedder.embed(["right"])
        assert len(server.seen) == 2


@pytest.mark.parametrize("options", [{}, {"batch": False}, {"batch": False, "source": "live"},
                                     {"source": "record", "batch": False}])
def test_nobody_to_ask_is_one_clear_error(options, no_sockets):
    with pytest.raises(LLMError, match=r"OpenAIEmbedder: expected a client, a transcript or.*OPENROUTER_API_KEY") as e:
        OpenAIEmbedder(settings=Settings(**options))
    assert e.value.kind == "no_key"


def test_batch_never_asks_a_provider(no_sockets, tmp_path):
    keyed = Settings(api_key="sk-secret-key-123", batch=True)
    with pytest.raises(LLMError, match="expected a client, a transcript"):
        OpenAIEmbedder(settings=keyed)
    with pytest.raises(ReplayMiss, match="no such transcript"):
        OpenAIEmbedder(transcript=tmp_path / "none.jsonl", settings=keyed)


def test_the_budget_stops_a_call_before_it_is_made(monkeypatch, no_sockets):
    monkeypatch.setattr(SPENT, "usd", 0.0)
    poor = Settings(api_key="sk-secret-key-123", base_url="https://provider.invalid/v1", batch=False, budget_usd=1e-6)
    with pytest.raises(LLMError) as caught:
        OpenAIEmbedder(settings=poor).embed(["up"])
    assert caught.value.kind == "budget"


def test_what_is_billed_is_counted(monkeypatch):
    monkeypatch.setattr(SPENT, "usd", 0.0)
    monkeypatch.setattr("helpers.provider.on_this_machine", lambda url: False)
    with loopback(embeddings([[1.0, 0.0]], prompt_tokens=900)) as server:
        OpenAIEmbedder(model="m", settings=settings(server, price_usd=5.0)).embed(["up" * 500])
    assert SPENT.usd == pytest.approx(0.0045)


@pytest.mark.parametrize("usage", [[1], {"prompt_tokens": "12"}, {"prompt_tokens": -5_000_000}, None])
def test_a_count_that_cannot_be_is_taken_as_the_most(monkeypatch, usage):
    monkeypatch.setattr(SPENT, "usd", 0.0)
    monkeypatch.setattr("helpers.provider.on_this_machine", lambda url: False)
    answer = embeddings([[1.0, 0.0]])
    with loopback(replace(answer, body={**answer.body, "usage": usage})) as server:
        OpenAIEmbedder(model="m", settings=settings(server, price_usd=5.0)).embed(["up" * 500])
    assert SPENT.usd == pytest.approx(0.005)


def test_embeddings_wait_for_each_other_so_that_the_budget_holds(monkeypatch):
    monkeypatch.setattr(SPENT, "usd", 0.0)
    monkeypatch.setattr("helpers.provider.on_this_machine", lambda url: False)
    answer = embeddings([[1.0, 0.0]])
    with loopback(replace(answer, body={**answer.body, "usage": None}, delay_s=0.1)) as server:
        embedder = OpenAIEmbedder(model="m", settings=settings(server, price_usd=5.0, budget_usd=0.012))

        def ask(number):
            try:
                return embedder.embed([f"{number:0>1000}"]).shape
            except LLMError as err:
                return err.kind
        with ThreadPoolExecutor(8) as workers:
            assert sorted(map(str, workers.map(ask, range(8)))) == ["(1, 2)"] * 2 + ["budget"] * 6
    assert SPENT.usd == pytest.approx(0.01)


def test_neither_a_replayed_answer_nor_the_readers_own_client_is_billed(client, monkeypatch, tmp_path):
    monkeypatch.setattr(SPENT, "usd", 0.0)
    path = tmp_path / "vectors.jsonl"
    with loopback(by_text) as server:
        OpenAIEmbedder(model="m", transcript=path, settings=settings(server, source="record")).embed(["up"])
        monkeypatch.setattr("helpers.provider.on_this_machine", lambda url: False)
        poor = settings(server, budget_usd=1e-9)
        assert OpenAIEmbedder(model="m", transcript=path, settings=poor).embed(["up"]).any()
        assert OpenAIEmbedder(client(server), model="m", settings=poor).embed(["right"]).any()
    assert SPENT.usd == 0


def test_the_local_model_does_not_embed_so_its_setting_counts_as_auto(tmp_path):
    path = tmp_path / "vectors.jsonl"
    with loopback(by_text) as server:
        OpenAIEmbedder(model="m", transcript=path, settings=settings(server, source="record")).embed(["up"])
        embedder = OpenAIEmbedder(model="m", transcript=path, settings=settings(server, source="local"))
        assert embedder.embed(["up"]).tolist() == [[0, 1]]
        assert len(server.seen) == 1
        assert embedder.embed(["right"]).tolist() == [[1, 0]]
