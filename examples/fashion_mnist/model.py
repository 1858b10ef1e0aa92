"""A two-layer perceptron with all its parameters in one flat float32 array.

One array means that one all-reduce carries the whole gradient, that the optimizer is one
expression, and that "bit-identical" is one hash. The layer views alias it.
"""

import hashlib

import numpy as np

from data import CLASSES, PIXELS


class Model:
    """784 inputs, one hidden layer with ReLU, 10 classes, softmax cross-entropy."""

    def __init__(self, hidden, seed):
        self._shapes = [(PIXELS, hidden), (hidden,), (hidden, CLASSES), (CLASSES,)]
        count = sum(int(np.prod(shape)) for shape in self._shapes)
        self.parameters = np.zeros(count, dtype=np.float32)
        weights_in, _, weights_out, _ = self._views(self.parameters)
        generator = np.random.default_rng(seed)
        for weights in (weights_in, weights_out):
            # He et al., 2015: keeps the variance of activations behind a ReLU.
            scale = np.sqrt(2.0 / weights.shape[0])
            weights[:] = generator.standard_normal(weights.shape, dtype=np.float32) * scale

    def _views(self, flat):
        views, start = [], 0
        for shape in self._shapes:
            length = int(np.prod(shape))
            views.append(flat[start : start + length].reshape(shape))
            start += length
        return views

    def _forward(self, images):
        weights_in, bias_in, weights_out, bias_out = self._views(self.parameters)
        hidden = np.maximum(images @ weights_in + bias_in, 0)
        logits = hidden @ weights_out + bias_out
        return hidden, logits

    def gradient(self, images, labels, out):
        """Writes the gradient of the loss summed over the batch to `out`; returns that loss."""
        _, _, weights_out, _ = self._views(self.parameters)
        hidden, logits = self._forward(images)
        logits -= logits.max(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        exponentials = np.exp(logits)
        totals = exponentials.sum(axis=1, keepdims=True)
        loss = float((np.log(totals[:, 0]) - logits[rows, labels]).sum())
        error = exponentials / totals
        error[rows, labels] -= 1
        d_weights_in, d_bias_in, d_weights_out, d_bias_out = self._views(out)
        d_weights_out[:] = hidden.T @ error
        d_bias_out[:] = error.sum(axis=0)
        d_hidden = (error @ weights_out.T) * (hidden > 0)
        d_weights_in[:] = images.T @ d_hidden
        d_bias_in[:] = d_hidden.sum(axis=0)
        return loss

    def accuracy(self, images, labels):
        """Share of images, in percent, whose class is predicted correctly."""
        _, logits = self._forward(images)
        return 100.0 * float((logits.argmax(axis=1) == labels).mean())

    def sha256(self):
        return hashlib.sha256(self.parameters.tobytes()).hexdigest()


class MomentumSgd:
    """v = momentum * v + gradient; parameters -= rate * v (Polyak's heavy ball).

    The rate falls linearly to zero over the planned steps: with a constant rate the accuracy
    after the last step would still be a random walk, and a comparison of two runs a lottery.
    """

    def __init__(self, parameters, rate, momentum, steps):
        self._parameters = parameters
        self._velocity = np.zeros_like(parameters)
        self._rate = rate
        self._momentum = np.float32(momentum)
        self._steps = steps
        self._done = 0

    def step(self, gradient):
        self._velocity *= self._momentum
        self._velocity += gradient
        rate = np.float32(self._rate * (1.0 - self._done / self._steps))
        self._parameters -= rate * self._velocity
        self._done += 1
