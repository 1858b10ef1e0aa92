"""examples/remote_training: shares add up to the gradient of the loss, and other tasks are refused (C3)."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/remote_training"
sys.path.insert(0, str(EXAMPLE))

from model import DESCRIPTION, Share, digest, make_data  # noqa: E402  (needs the path above)

WORKERS = 4


def loss(data, weights):
    """As the docstring of model.py has it."""
    with np.load(io.BytesIO(data)) as arrays:
        inputs, labels = arrays["inputs"], arrays["labels"]
    logits = inputs @ weights
    penalty = DESCRIPTION["l2"] / 2 * weights @ weights
    return np.mean(np.logaddexp(0, logits) - labels * logits) + penalty


def test_c3_the_shares_add_up_to_the_gradient_of_the_loss():
    data, weights, step = make_data(50, 3), np.array([0.3, -0.2, 0.1]), 1e-6
    total = sum(Share(data, DESCRIPTION, rank, WORKERS).gradient(weights) for rank in range(WORKERS))
    slopes = [(loss(data, weights + d) - loss(data, weights - d)) / (2 * step) for d in step * np.eye(3)]
    np.testing.assert_allclose(total, slopes, atol=1e-8)


def test_c3_data_are_the_same_in_every_process():
    assert bytes(make_data(20, 3)) == bytes(make_data(20, 3))
    assert digest(np.zeros(2)) != digest(np.ones(2))


def test_c3_a_task_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="the task is 'a tree'; this program does 'logistic regression'"):
        Share(make_data(8, 2), {"model": "a tree"}, 0, WORKERS)
