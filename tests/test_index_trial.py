"""The trial of the index: what it measures is right where it is known, and its report can be read."""

import bench_pg
import numpy as np
import psycopg
import pytest
from pg_fakes import new_name, quick_url

from helpers import index_trial as module
from helpers import progress_bar
from helpers.index_trial import Given, Measured, index_trial, keep_trial, kept_trial, likeness
from helpers.neural_embeddings import VECTORS


def test_lessons_lie_near_the_texts_of_the_course():
    rows = likeness(200, np.random.default_rng(0))
    assert rows.shape == (200, 384) and np.linalg.norm(rows, axis=1) == pytest.approx(1)
    with np.load(VECTORS) as file:
        nearest = (rows @ file["vectors"].T).max(axis=1)
    assert nearest.mean() == pytest.approx(1 / np.hypot(1, module.NOISE), abs=0.01)
    assert (rows[:3] == likeness(3, np.random.default_rng(0))).sum() < 3 * 384  # drawn in one go, not one by one
    given = Given(rows[:2], rows[2:])
    assert (given.embed(["lesson 1", "query 0"]) == rows[1:3]).all() and given.embed([]).shape == (0, 384)


def test_a_reader_who_waits_sees_a_bar_and_batch_mode_is_silent(capsys, monkeypatch):
    monkeypatch.setattr(progress_bar, "DELAY_S", 0)
    module._best({"file": lambda: None}, 2)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("BATCH_MODE", "false")
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert module._best({"file": lambda: None}, 2)["file"] >= 0
    assert "rounds of timing:   0%|" in capsys.readouterr().err


def test_the_kept_trial_has_three_sizes_and_every_way():
    rows, _ = kept_trial()
    assert [row.size for row in rows] == [1_000, 10_000, 100_000]
    for row in rows:
        assert row.recall.keys() == row.indexed_ms.keys() and len(row.recall) >= 3
        assert all(0 <= found <= 1 for found in row.recall.values())
        assert min(row.file_ms, row.exact_ms, *row.indexed_ms.values()) > 0


def test_a_trial_finds_in_both_what_is_there(tmp_path):
    row = index_trial(150, quick_url(), tmp_path, rng=np.random.default_rng(1), name=new_name(), queries=10,
                      ef_search=(100,), rounds=1)
    assert row.size == 150 and row.recall.keys() == row.indexed_ms.keys() == {100} and row.recall[100] >= 0.9
    assert min(row.load_s, row.file_ms, row.exact_ms, row.indexed_ms[100], row.file_add_ms, row.server_add_ms) > 0


def test_a_wrong_exact_search_is_noticed(tmp_path, monkeypatch):
    real = module._ids
    monkeypatch.setattr(module, "_ids", lambda memory, text, k: real(memory, text, k)[:k - hasattr(memory, "name")])
    with pytest.raises(RuntimeError, match="expected the same lessons from server and file"):
        index_trial(20, quick_url(), tmp_path, rng=np.random.default_rng(1), name=new_name(), queries=2)


def test_the_benchmark_prints_a_line_a_size_and_leaves_nothing(capsys, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", quick_url())
    monkeypatch.setattr(bench_pg, "EF_SEARCH", (40,))
    bench_pg.main(["6_0", "8,0"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["60", "80"] and "recall 1.000" in lines[1]
    with psycopg.connect(quick_url()) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'scratch%'").fetchone() == (0,)


def test_a_trial_that_is_kept_is_read_as_it_was(tmp_path):
    rows = [Measured(20, 1.0, 2.0, 3.0, {40: 4.0}, {40: 0.5}, 5.0, 6.0),
            Measured(10, 1.0, 2.0, 3.0, {40: 4.0}, {40: 1.0}, 5.0, 6.0)]
    keep_trial(rows, tmp_path / "kept.json")
    again, made = kept_trial(tmp_path / "kept.json")
    assert again == rows[::-1]
    assert made.startswith("20") and made.endswith("cores")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": [{}]}', '{"rows": [{"size": 1}], "recorded": "x"}'])
def test_what_is_no_trial_says_how_one_is_made(tmp_path, text):
    (tmp_path / "kept.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"kept.json: expected what `python tests/bench_pg.py --keep` writes, got"):
        kept_trial(tmp_path / "kept.json")
