"""Logistic regression in float64: the data that main owns, and what each worker computes of them.

The loss is the mean log-loss over all samples plus l2 / 2 times the squared weights. A worker's
share of its gradient is over every workers-th sample; the shares of all workers add up to it.
"""

import hashlib
import io

import numpy as np

# What main tells the workers beside the data; any worker program could follow it.
DESCRIPTION = {"model": "logistic regression", "rate": 2.0, "l2": 0.05}
CRITERION = {"norm_below": 1e-4, "most_rounds": 1000}


def make_data(samples, features, seed=1):
    """Synthetic samples with labels of a noisy linear rule, as the bytes of an .npz file."""
    generator = np.random.default_rng(seed)
    inputs = generator.standard_normal((samples, features))
    rule = generator.standard_normal(features)
    labels = inputs @ rule + generator.standard_normal(samples) > 0
    file = io.BytesIO()
    np.savez(file, inputs=inputs, labels=labels)
    return file.getbuffer()


class Share:
    """One worker's samples."""

    def __init__(self, data, description, rank, workers):
        if description.get("model") != DESCRIPTION["model"]:
            raise ValueError(f"the task is {description.get('model')!r}; this program does "
                             f"'{DESCRIPTION['model']}'")
        with np.load(io.BytesIO(data)) as arrays:
            inputs, labels = arrays["inputs"], arrays["labels"]
        self.weights = inputs.shape[1]
        self._samples = len(labels)
        self._inputs = np.ascontiguousarray(inputs[rank::workers])
        self._labels = labels[rank::workers].astype(np.float64)
        self._l2 = description["l2"] / workers

    def gradient(self, weights):
        """This share of the gradient at these weights."""
        error = 1.0 / (1.0 + np.exp(-(self._inputs @ weights))) - self._labels
        return self._inputs.T @ error / self._samples + self._l2 * weights


def digest(weights):
    """"Bit for bit the same" as one text."""
    return hashlib.sha256(weights.tobytes()).hexdigest()
