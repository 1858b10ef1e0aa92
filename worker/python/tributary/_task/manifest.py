"""A task's manifest: what main states of its data before it sends them. JSON, at most 64 KiB."""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from . import pieces
from .criterion import Criterion

MOST_BYTES = 64 << 10
MOST_DATA = 1 << 62
VERSION = 1
KEEP = ("sum", "worker", "both")
_TENSOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True)
class Manifest:
    """length: bytes of the data. digest: their SHA-256. keep, publish, cache: see Task.distribute()."""

    length: int
    digest: str
    piece_bytes: int
    keep: str
    criterion: Criterion
    metadata: Any
    publish: str = ""
    cache: bool = False

    def __post_init__(self):
        _check_integer("length", self.length, 0, MOST_DATA)
        _check_integer("piece_bytes", self.piece_bytes, pieces.MIN_PIECE, pieces.MAX_PIECE)
        if not isinstance(self.digest, str) or not _DIGEST.match(self.digest):
            raise ValueError("manifest: the digest is no SHA-256 in hexadecimal")
        if self.keep not in KEEP:
            raise ValueError(f"keep is {self.keep!r}; allowed: {', '.join(KEEP)}")
        if self.keep == "worker" and self.criterion.needs_norm:
            raise ValueError("keep is 'worker', and the criterion looks at the norm of a sum; "
                             "allowed: keep 'sum' or 'both', or most_rounds alone")
        if not isinstance(self.publish, str) or (self.publish and not _TENSOR.match(self.publish)):
            raise ValueError(f"publish is {self.publish!r}; allowed: up to 64 letters, digits, '_', '-' "
                             "and '.', of which a letter is the first, or None")
        if self.publish and self.keep == "worker":
            raise ValueError("keep is 'worker', and publish names a sum; allowed: keep 'sum' or 'both'")
        if not isinstance(self.cache, bool):
            raise ValueError(f"cache is {self.cache!r}; allowed: True, False")

    def encode(self):
        """The bytes that travel; ValueError or TypeError if they are too many, or no JSON."""
        text = json.dumps(
            {
                "tributary_task": VERSION,
                "length": self.length,
                "sha256": self.digest,
                "piece_bytes": self.piece_bytes,
                "keep": self.keep,
                "criterion": self.criterion.stated(),
                "metadata": self.metadata,
                **({"publish": self.publish} if self.publish else {}),
                **({"cache": True} if self.cache else {}),
            },
            allow_nan=False,
        ).encode()
        if len(text) > MOST_BYTES:
            raise ValueError(f"metadata: the manifest has {len(text)} bytes with them, at most "
                             f"{MOST_BYTES}; large descriptions belong into the data")
        return text

    @staticmethod
    def decode(text):
        """The manifest in these bytes; ValueError if there is none."""
        try:
            found = json.loads(bytes(text).decode())
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise ValueError(f"manifest: no JSON: {error}") from None
        if not isinstance(found, dict) or found.get("tributary_task") != VERSION:
            raise ValueError(f"manifest: not of version {VERSION}")
        return Manifest(
            found.get("length"),
            found.get("sha256"),
            found.get("piece_bytes"),
            found.get("keep"),
            Criterion.of(found.get("criterion")),
            found.get("metadata"),
            found.get("publish", ""),
            found.get("cache", False),
        )


def _check_integer(name, value, least, most):
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} is {value!r}; allowed are {least} to {most}")


def identity(encoded):
    """A task's name: the SHA-256 of its manifest. Other data or another criterion is another task."""
    return hashlib.sha256(encoded).hexdigest()
