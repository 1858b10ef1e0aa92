"""What the degraded experiment could gain at best: tables of lateness that are worked out by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import straggler_model as model

ORDER = {"size": 2, "steps": 2, "iteration_s": 2.0, "waited_s": 0.5, "seed": 1}


@pytest.fixture(name="late")
def late_table(monkeypatch):
    def use(table):
        monkeypatch.setattr(model, "lateness", lambda order: table)

    return use


def test_nobody_late_takes_as_long_either_way(late):
    late([[0, 0], [0, 0]])
    assert model.seconds(ORDER, True) == model.seconds(ORDER, False) == 4
    assert model.best_ratio(ORDER) == 1


def test_a_late_rank_is_waited_for_no_longer_than_that(late):
    late([[0, 1], [0, 0]])
    # Forever: 3 + 2. Else the first step ends at 2.5; the late rank, there at 3, computes for 1.5 and is in time.
    assert model.seconds(ORDER, True) == 5
    assert model.seconds(ORDER, False) == 4.5


def test_what_is_in_time_is_waited_for_until_it_comes(late):
    late([[0, 0.25], [0, 0]])
    assert model.seconds(ORDER, True) == model.seconds(ORDER, False) == 4.25


def test_a_rank_skips_no_more_than_an_iteration(late):
    late([[0, 4], [0, 0]])
    # It comes at 6, 3.5 behind, and skips the whole second step: at 6 it is 1.5 behind.
    assert model.left_behind(ORDER, 0.0, 4, True) == 3.5
    assert model.computing(ORDER, 3.5) == 0
    assert model.seconds(ORDER, False) == 6


def test_the_table_is_the_same_on_all_ranks():
    order = {**ORDER, "steps": 1000, "size": 8}
    table = model.lateness(order)
    assert (table == model.lateness(order)).all()
    late = table[table > 0]
    assert 0.14 < late.size / table.size < 0.18
    assert late.max() <= 2 * order["iteration_s"]
