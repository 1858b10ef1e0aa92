#!/usr/bin/python3
"""Ordinary data-parallel training: a small convolutional network on Fashion-MNIST, under DDP.

    torchrun --nproc_per_node 4 train.py --backend gloo

Prints one JSON line for each report from rank 0, and one from each rank at the end, with a digest of
the parameters' bits.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

IMAGES = "train-images-idx3-ubyte.gz"
LABELS = "train-labels-idx1-ubyte.gz"


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()

        def block(inputs, outputs):
            return nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
                nn.MaxPool2d(2),
            )

        self.features = nn.Sequential(block(1, width), block(width, 2 * width))
        self.classes = nn.Sequential(
            nn.Flatten(), nn.Linear(2 * width * 7 * 7, 256), nn.ReLU(), nn.Linear(256, 10)
        )

    def forward(self, images):
        return self.classes(self.features(images))


def read(folder, count):
    with gzip.open(folder / IMAGES) as file:
        images = torch.frombuffer(bytearray(file.read()[16:]), dtype=torch.uint8)
    with gzip.open(folder / LABELS) as file:
        labels = torch.frombuffer(bytearray(file.read()[8:]), dtype=torch.uint8)
    images = images.reshape(-1, 1, 28, 28)[:count].float() / 255
    return images, labels[:count].long()


def digest(model):
    bits = hashlib.sha256()
    for tensor in model.parameters():
        bits.update(tensor.detach().contiguous().numpy().tobytes())
    return bits.hexdigest()


def emit(**what):
    print(json.dumps(what), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="gloo", help="of torch.distributed (default: gloo)")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=32, help="images of each rank and step")
    parser.add_argument("--width", type=int, default=16, help="channels of the first layer")
    parser.add_argument("--report", type=int, default=10, help="steps between reports")
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    options = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group(options.backend)
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DistributedDataParallel(Network(options.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    images, labels = read(options.data, options.steps * options.batch * size)
    losses, times = torch.zeros(1), []
    for step in range(options.steps):
        begin = time.perf_counter()
        first = (step * size + rank) * options.batch % (len(images) - options.batch + 1)
        chosen = slice(first, first + options.batch)
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
        losses += loss.detach()
        if (step + 1) % options.report == 0:
            dist.all_reduce(losses)
            if rank == 0:
                emit(step=step + 1, loss=losses.item() / (options.report * size))
            losses.zero_()
    times.sort()
    for turn in range(size):  # in the order of the ranks
        if turn == rank:
            emit(rank=rank, digest=digest(model.module), step_ms=1000 * times[len(times) // 2])
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
