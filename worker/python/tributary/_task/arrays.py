"""Arrays with a JSON head as bytes, and back; for sums, states and results that travel.

    8 bytes: length of the head, big-endian │ head │ the arrays' bytes, one after the other

The head is a dict; under "arrays" it has name, dtype and shape of each array. The bytes come from
another member, so decode() checks all of it.
"""

import hashlib
import json
import math
import struct

import numpy as np

_LENGTH = struct.Struct(">Q")
_MOST_HEAD = 1 << 20
_DTYPES = {np.dtype(name).str for name in (
    "bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")}


def check(array, name):
    """TypeError unless it is a numpy.ndarray of a type that travels."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}; allowed: numpy.ndarray")
    if array.dtype.str not in _DTYPES:
        raise TypeError(f"{name} is an array of {array.dtype}; allowed: bool, integers and floats of "
                        "at most 64 bits, in native byte order")


def encode(head, arrays):
    """head: a dict for JSON. arrays: name to array. The same input gives the same bytes."""
    listed = []
    for name, array in arrays.items():
        check(array, name)
        listed.append([name, array.dtype.str, list(array.shape)])
    text = json.dumps({**head, "arrays": listed}, allow_nan=False, sort_keys=True).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in arrays.values())])


def decode(data):
    """(head, arrays by name); arrays are read-only views. ValueError for what encode() never made."""
    view = memoryview(data).toreadonly()
    if len(view) < _LENGTH.size:
        raise ValueError("arrays: too short")
    (length,) = _LENGTH.unpack_from(view)
    start = _LENGTH.size + length
    if length > _MOST_HEAD or start > len(view):
        raise ValueError(f"arrays: a head of {length} bytes")
    try:
        head = json.loads(bytes(view[_LENGTH.size : start]).decode())
    except RecursionError:
        raise ValueError("arrays: a head that is nested too deep") from None
    if not isinstance(head, dict) or not isinstance(head.get("arrays"), list):
        raise ValueError("arrays: no list of arrays")
    found = {}
    for entry in head.pop("arrays"):
        name, dtype, shape = _entry(entry)
        size = math.prod(shape) * dtype.itemsize
        if start + size > len(view):
            raise ValueError(f"arrays: {name} is longer than the data")
        found[name] = np.frombuffer(view[start : start + size], dtype).reshape(shape)
        start += size
    if start != len(view):
        raise ValueError(f"arrays: {len(view) - start} bytes too many")
    return head, found


def _entry(entry):
    if not isinstance(entry, list) or len(entry) != 3 or entry[1] not in _DTYPES:
        raise ValueError(f"arrays: {str(entry)[:100]} is no name, type and shape")
    name, dtype, shape = entry
    if not isinstance(name, str) or not isinstance(shape, list) or len(shape) > 32:
        raise ValueError("arrays: damaged name or shape")
    if not all(type(one) is int and 0 <= one < 1 << 48 for one in shape):
        raise ValueError(f"arrays: shape {shape}")
    return name, np.dtype(dtype), tuple(shape)


def digest(data):
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
