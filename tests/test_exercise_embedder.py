"""Exercise 1: the solution passes against the server, the stub is not attempted, and each usual mistake is named."""

import numpy as np
import openai
import pytest
from exercise_answers import outcome, solution, stub

from helpers.exercise_embedder import MODEL, all_zeros, check_embedder, one_short, overloaded, provider
from helpers.exercises import TODO

Solution = solution(1)["OpenAIEmbedder"]


def ask(self, texts):
    """The vectors of the provider as they come, without a look at them."""
    return [item.embedding for item in self.client.embeddings.create(model=self.model, input=list(texts)).data]


class ZerosForFailure(Solution):
    def embed(self, texts):
        try:
            return super().embed(texts)
        except Exception:
            return np.zeros((len(texts), 2), dtype=np.float32)


class OrderOfArrival(Solution):
    def embed(self, texts):
        rows = np.array(ask(self, texts), dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class NotUnit(Solution):
    def embed(self, texts):
        rows = super().embed(texts)
        return rows * np.float32(2) if self.fingerprint.startswith("OpenAI") else rows


class OneLengthForAll(Solution):
    def embed(self, texts):
        rows = np.array(ask(self, texts), dtype=np.float32)
        return rows / np.linalg.norm(rows)


class Float64(Solution):
    def embed(self, texts):
        return super().embed(texts).astype(np.float64)


class OneByOne(Solution):
    def embed(self, texts):
        one = super().embed
        return np.concatenate([one([text]) for text in texts]) if texts else one([])


class AsksForNothing(Solution):
    def embed(self, texts):
        if not texts:
            ask(self, texts)
        return super().embed(texts)


class Unnamed(Solution):
    def embed(self, texts):
        try:
            return super().embed(texts)
        except RuntimeError as error:
            raise RuntimeError("it did not work") from error


class FallbackUnasked(Solution):
    def __init__(self, client, model, fallback=None):
        from helpers.embeddings import BagOfWords
        super().__init__(client, model, fallback or BagOfWords().fit(["right", "up"]))


class FallbackOnce(Solution):
    """Goes back to the provider, under the provider's name, as soon as it answers again."""

    def embed(self, texts):
        try:
            return Solution(self.client, self.model).embed(texts)
        except RuntimeError:
            if self.fallback is None:
                raise
            return self.fallback.embed(texts)


class FallbackForErrorsOnly(Solution):
    """Takes the fallback when the provider says no, and not when its vectors are of no use."""

    def embed(self, texts):
        if self.fallback is None:
            return super().embed(texts)
        try:
            self.client.embeddings.create(model=self.model, input=texts)
        except openai.OpenAIError:
            self.embed, self.fingerprint = self.fallback.embed, self.fallback.fingerprint
            return self.embed(texts)
        return Solution(self.client, self.model).embed(texts)


class NoName(Solution):
    def __init__(self, client, model, fallback=None):
        super().__init__(client, model, fallback)
        self.fingerprint = "OpenAIEmbedder"


class TakesWhatComes(Solution):
    def embed(self, texts):
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        try:
            rows = np.array(ask(self, texts), dtype=np.float32)
        except openai.OpenAIError as error:
            raise RuntimeError(f"{self.model} failed") from error
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def test_the_solution_is_right_and_the_stub_not_attempted():
    right = outcome(check_embedder, Solution)
    assert (right.outcome, right.points, right.of) == ("right", 10, 10), right.message
    assert outcome(check_embedder, stub(1)["OpenAIEmbedder"]).outcome == "not attempted"
    assert outcome(check_embedder, TODO).outcome == "not attempted"


WRONG = [
    (ZerosForFailure, "a fallback is used only when one was given", 7),
    (OrderOfArrival, "carries an `index`", 4), (NotUnit, "divided by its own length", 8),
    (OneLengthForAll, "divided by its own length", 3), (Float64, "'float64'", 9),
    (OneByOne, "All texts go in one request", 8), (AsksForNothing, "No texts, no request", 9),
    (Unnamed, "says which model failed", 7), (FallbackUnasked, "an error whose text names model-a", 7),
    (FallbackForErrorsOnly, "Vectors that cannot be used are a failure, too", 9),
    (FallbackOnce, "rows of two embedders cannot be compared", 9), (NoName, "The fingerprint names the model", 9),
    (TakesWhatComes, "Two texts need two vectors", 6),
]


@pytest.mark.parametrize(("answer", "words", "points"), WRONG)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_usual_mistake_is_named(answer, words, points):
    said = outcome(check_embedder, answer)
    assert (said.outcome, said.points) == ("wrong", points), said.message
    assert words in " ".join(said.message.split())


def test_half_an_answer_has_its_points():
    class Half(stub(1)["OpenAIEmbedder"]):
        fingerprint = property(lambda self: f"half of {self.model}", lambda self, value: None)

    said = outcome(check_embedder, Half)
    assert (said.outcome, said.points) == ("wrong", 1)
    assert said.message.count("–") == 9


@pytest.mark.parametrize(("reply", "words"), [
    (overloaded, "model-a gave no vectors that can be used: Error code: 503"),
    (one_short, "that can be used: 1 vectors for 2 texts"),
    (all_zeros, "model-a gave no vectors that can be used: 2 vectors for 2 texts, of lengths")])
def test_the_server_fails_as_told_and_is_gone_afterwards(reply, words):
    with provider(reply) as there:
        with pytest.raises(RuntimeError, match=words):
            Solution(there.client, MODEL).embed(["right", "up"])
        assert there.asked == [["right", "up"]]
        address = there.client.base_url
    with (openai.OpenAI(api_key="none", base_url=address, max_retries=0) as late,
          pytest.raises(openai.APIConnectionError)):
        late.embeddings.create(model=MODEL, input=["up"])
