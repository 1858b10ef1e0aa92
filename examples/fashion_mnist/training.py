"""Synchronous data-parallel SGD; who sums gradients over the ranks, and who steps the optimizer, are
parameters.

The same loop runs in a worker (its own shard, summed by the network) and in the single-process
reference (all shards, summed in memory), so that a difference in the outcome can only come from
the summation; or from the parameter server, where that steps the optimizer (T21).
"""

import itertools
import json
import sys
import time
from dataclasses import dataclass

import numpy as np

import pooled
from data import DEFAULT_DIRECTORY, Shard, load
from late import OpDelay
from model import Model, MomentumSgd


@dataclass(frozen=True)
class Settings:
    workers: int = 4
    epochs: int = 5
    batch: int = 64  # images per worker and step
    hidden: int = 256
    rate: float = 0.1
    momentum: float = 0.9
    seed: int = 1
    steps: int = 0  # at most so many; 0: all of all epochs
    images: int = 0  # only the first so many; 0: all
    directory: str = str(DEFAULT_DIRECTORY)
    pool: str = ""  # file of a memory pool that has the training set; "": it is in the directory

    @staticmethod
    def add_arguments(parser):
        for name, value in Settings().__dict__.items():
            parser.add_argument(f"--{name}", type=type(value), default=value)

    @staticmethod
    def of(arguments):
        settings = Settings(**{name: getattr(arguments, name) for name in Settings().__dict__})
        for name in ("workers", "epochs", "batch", "hidden"):
            if getattr(settings, name) < 1:
                raise SystemExit(f"--{name} must be at least 1")
        for name in ("steps", "images"):
            if getattr(settings, name) < 0:
                raise SystemExit(f"--{name} must be at least 0")
        return settings


def emit(event, **fields):
    """One JSON object a line on stdout: what a supervisor follows, and a person can read."""
    print(json.dumps({"event": event, **fields}), flush=True)


class LocalSum:
    """Sums the shards of all ranks in this process, in rank order."""

    def __init__(self, settings, images, labels):
        self._settings = settings
        self.shards = [
            Shard(images, labels, rank, settings.workers, settings.batch, settings.seed)
            for rank in range(settings.workers)
        ]
        self.seconds = 0.0

    def reduce(self, contributions):
        total = contributions[0]
        for other in contributions[1:]:
            total += other
        return total


class NetworkSum:
    """Sums this rank's shard with the other ranks' through a communicator."""

    def __init__(
        self, settings, images, labels, communicator, rank, delay=None, scale_exponent=None
    ):
        self.shards = [
            Shard(images, labels, rank, settings.workers, settings.batch, settings.seed)
        ]
        self._communicator = communicator
        self._how = {}
        if scale_exponent is not None:
            self._how = {"encoding": "block-scaled", "scale_exponent": scale_exponent}
        self.delay = delay or OpDelay()
        self.seconds = 0.0

    def reduce(self, contributions):
        self.delay.before_op()
        started = time.monotonic()
        self._communicator.allreduce(contributions[0], op="sum", **self._how).wait()
        self.seconds += time.monotonic() - started
        return contributions[0]


class ModelLost(Exception):
    """What was trained so far is gone; to begin anew without a word would be no training."""


class OptimizerHere:
    """Every rank steps an optimizer of its own with the summed gradient."""

    def __init__(self, settings, model, summation, steps):
        self._settings = settings
        self._summation = summation
        self._optimizer = MomentumSgd(model.parameters, settings.rate, settings.momentum, steps)

    def begin(self):
        """How many steps the model has behind it."""
        return 0

    def step(self, buffers):
        """One step; each buffer is a shard's gradient, and its loss at the end. The mean loss."""
        total = self._summation.reduce(buffers)
        total /= np.float32(self._settings.workers)
        self._optimizer.step(total[:-1])
        return float(total[-1])


class OptimizerAtServer:
    """The parameter server has the model: gradients go there, parameters come back."""

    def __init__(self, model, summation, communicator, must_exist):
        self._model = model
        self._must_exist = must_exist
        self._summation = summation
        self._communicator = communicator

    def begin(self):
        done = self._communicator.model_step()
        if done is None and self._must_exist:
            raise ModelLost("the parameter server has lost the model that was trained so far")
        self._communicator.open_model(self._model.parameters).wait()
        return done or 0

    def step(self, buffers):
        self._summation.delay.before_op()
        started = time.monotonic()
        gradient, loss = buffers[0][:-1], buffers[0][-1:]
        update = self._communicator.update_model(gradient, op="mean")
        self._communicator.allreduce(loss, op="mean").wait()
        update.wait()
        self._summation.seconds += time.monotonic() - started
        self._model.parameters[:] = gradient
        return float(loss[0])


def gradients(model, batches, buffers, settings):
    """Each shard's gradient over its part of the global batch."""
    for (images, labels), buffer in zip(batches, buffers):
        # The last element carries the loss, so that every rank reports the global one.
        buffer[-1] = model.gradient(images, labels, buffer[:-1])
        # A short last batch counts as what it is: a smaller part of the nominal batch.
        buffer /= np.float32(settings.batch)


def train(settings, make_summation, make_optimizer=OptimizerHere):
    """Runs all epochs, emits an event after each, and returns the report.

    Which images a step works on follows from its number alone, so a model that has some steps behind
    it goes on as if it had never been interrupted.
    """
    if settings.pool:
        train_images, train_labels = pooled.load(settings.pool, settings.images)
    else:
        train_images, train_labels = load("train", settings.directory, settings.images)
    test_images, test_labels = load("t10k", settings.directory)
    summation = make_summation(train_images, train_labels)
    model = Model(settings.hidden, settings.seed)
    buffers = [np.empty(len(model.parameters) + 1, np.float32) for _ in summation.shards]
    steps = summation.shards[0].steps
    planned = min(steps * settings.epochs, settings.steps or steps * settings.epochs)
    optimizer = make_optimizer(settings, model, summation, planned)
    done = optimizer.begin()
    emit("begins", step=done)
    accuracy = model.accuracy(test_images, test_labels)
    started = time.monotonic()
    step_ends = [started]
    for epoch in range(1 + done // steps, 1 + -(-planned // steps)):
        epoch_started, summed_before, losses = time.monotonic(), summation.seconds, []
        batches_of_epoch = zip(*(shard.epoch(epoch) for shard in summation.shards))
        before = (epoch - 1) * steps
        for batches in itertools.islice(batches_of_epoch, done - before, planned - before):
            gradients(model, batches, buffers, settings)
            losses.append(optimizer.step(buffers))
            step_ends.append(time.monotonic())
            done += 1
        seconds = time.monotonic() - epoch_started
        summed = summation.seconds - summed_before
        accuracy = model.accuracy(test_images, test_labels)
        emit(
            "epoch",
            epoch=epoch,
            epochs=settings.epochs,
            loss=sum(losses) / len(losses),
            accuracy=accuracy,
            steps_per_second=len(losses) / seconds,
            # Bytes of one rank's array over the time the all-reduce took, as nccl-tests has it.
            algbw=len(losses) * buffers[0].nbytes / summed if summed > 0 else None,
        )
    return {
        "accuracy": accuracy,
        "sha256": model.sha256(),
        "parameters": len(model.parameters),
        "steps": done,
        "images": len(train_images),
        "seconds": time.monotonic() - started,
        "step_seconds": [round(b - a, 6) for a, b in itertools.pairwise(step_ends)],
        "allreduce_seconds": summation.seconds,
    }


def fail(text):
    """Reports a failure both as an event and in words; the exit status."""
    emit("error", text=text)
    print(text, file=sys.stderr)
    return 1
