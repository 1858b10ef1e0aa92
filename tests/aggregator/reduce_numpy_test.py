"""Every type, op and arithmetic beside NumPy, through reduce_tool, for each instruction set here."""
import os
import subprocess
import unittest

import numpy as np

SEED = 20240607
SOURCES = 9
COUNT = 203

DTYPES = {"int8": (1, np.int8), "int16": (2, np.int16), "int32": (3, np.int32),
          "int64": (4, np.int64), "uint8": (5, np.uint8), "uint32": (6, np.uint32),
          "uint64": (7, np.uint64), "float16": (8, np.float16), "bfloat16": (9, np.uint16),
          "float32": (10, np.float32), "float64": (11, np.float64), "bool": (12, np.uint8)}
OPS = {"sum": 1, "mean": 2, "prod": 3, "min": 4, "max": 5, "band": 6, "bor": 7, "bxor": 8,
       "land": 9, "lor": 10, "lxor": 11}
SATURATING, MODULAR = 0, 1
ISAS = {"portable": 0, "avx2": 1, "avx512": 2, "neon": 3}
FUNCTIONS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "min": np.minimum,
             "max": np.maximum, "band": np.bitwise_and, "bor": np.bitwise_or,
             "bxor": np.bitwise_xor, "land": np.logical_and, "lor": np.logical_or,
             "lxor": np.logical_xor}


def ops_of(name):
    if name == "bool":
        return ["min", "max", "band", "bor", "bxor", "land", "lor", "lxor"]
    if "float" in name:
        return ["sum", "mean", "prod", "min", "max"]
    return [op for op in OPS if op != "mean"]


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat16(values):
    """To nearest even, by integers; NumPy has no such type."""
    bits = values.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def inputs_of(rng, name):
    """SOURCES arrays: any bits, small numbers, and numbers at the edges of the type."""
    dtype = DTYPES[name][1]
    raw = rng.integers(0, 256, SOURCES * COUNT * np.dtype(dtype).itemsize, dtype=np.uint8)
    values = raw.view(dtype).copy()
    kind = rng.integers(0, 3, values.size)
    small = rng.integers(0 if dtype in (np.uint32, np.uint64, np.uint8) else -3, 4, values.size)
    if name == "bool":
        special = [0, 1, 2, 128, 255]
    elif name == "bfloat16":
        small = to_bfloat16(small.astype(np.float32) / 4)
        special = [0x7F80, 0xFF80, 0x7FC0, 0, 0x8000, 1, 0x8001, 0x7F7F, 0xFF7F, 0x0080]
    elif "float" in name:
        small = small / 4
        limits = np.finfo(dtype)
        special = [np.inf, -np.inf, np.nan, 0.0, -0.0, limits.smallest_subnormal, limits.max,
                   limits.min, limits.tiny]
    else:
        limits = np.iinfo(dtype)
        special = [limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1]
    values = np.where(kind == 1, small.astype(dtype), values)
    special = np.array(special, dtype=dtype)
    return np.where(kind == 2, special[rng.integers(0, special.size, values.size)],
                    values).reshape(SOURCES, COUNT)


def reduce_integers(inputs, op, arithmetic):
    """(result, whether anything was saturated); Python's integers do not wrap."""
    dtype = inputs.dtype
    if op not in ("sum", "prod"):
        return FUNCTIONS[op].reduce(inputs, axis=0).astype(dtype), False
    if arithmetic == MODULAR:
        with np.errstate(over="ignore"):
            return FUNCTIONS[op].reduce(inputs, axis=0, dtype=dtype), False
    # 8-bit integers pass through 32 bits, and are narrowed once.
    wide = {1: np.dtype(f"{dtype.kind}4")}.get(dtype.itemsize, dtype)
    saturated = False
    acc = inputs[0].astype(object)
    for limits, sources in ((np.iinfo(wide), inputs[1:]), (np.iinfo(dtype), [None])):
        for more in sources:
            exact = acc if more is None else FUNCTIONS[op](acc, more.astype(object))
            acc = np.clip(exact, int(limits.min), int(limits.max))
            saturated = saturated or bool((acc != exact).any())
    return acc.astype(dtype), saturated


def reduce_floats(inputs, op, name):
    if name == "bfloat16":
        inputs = from_bfloat16(inputs)
    if op in ("min", "max"):
        result = FUNCTIONS[op].reduce(inputs, axis=0)
        return to_bfloat16(result) if name == "bfloat16" else result
    wide = inputs.astype(np.float64 if name == "float64" else np.float32)
    acc = wide[0]
    for more in wide[1:]:
        acc = FUNCTIONS[op](acc, more)
    if op == "mean":
        acc = acc / acc.dtype.type(SOURCES)
    return to_bfloat16(acc) if name == "bfloat16" else acc.astype(DTYPES[name][1])


def same(got, expected, name, op):
    """Bits, but for NaNs, and for the sign of a zero that is a minimum or a maximum."""
    if "float" not in name:
        return got == expected
    if name == "bfloat16":
        got_numbers, numbers = from_bfloat16(got), from_bfloat16(expected)
    else:
        got_numbers, numbers = got, expected
    bits = got.view(f"u{got.itemsize}") == expected.view(f"u{got.itemsize}")
    free = np.isnan(got_numbers) & np.isnan(numbers)
    if op in ("min", "max"):
        free |= (got_numbers == 0) & (numbers == 0)
    return bits | free


class BesideNumPy(unittest.TestCase):
    maxDiff = None

    def tool(self, name, op, arithmetic, isa, inputs):
        """[(result, saturated) of folds, of the fused pass], None if there is no such kernel."""
        command = [os.environ["TRIBUTARY_REDUCE_TOOL"], *map(str, (
            DTYPES[name][0], OPS[op], arithmetic, isa, SOURCES, COUNT))]
        done = subprocess.run(command, input=inputs.tobytes(), capture_output=True, check=False,
                              timeout=60)
        if done.returncode == 2:
            return None
        self.assertEqual(done.returncode, 0, done.stderr)
        size = inputs[0].nbytes
        self.assertEqual(len(done.stdout), 2 * (size + 1))
        halves = done.stdout[:size + 1], done.stdout[size + 1:]
        return [(np.frombuffer(half[:size], dtype=inputs.dtype), bool(half[size]))
                for half in halves]

    def compare(self, name, op, arithmetic, isa):
        inputs = inputs_of(np.random.default_rng([SEED, DTYPES[name][0], OPS[op]]), name)
        answers = self.tool(name, op, arithmetic, isa, inputs)
        if answers is None:
            return False
        with np.errstate(all="ignore"):
            if name == "bool":
                expected = FUNCTIONS[op].reduce(inputs != 0, axis=0).astype(np.uint8), False
            elif "float" in name:
                expected = reduce_floats(inputs, op, name), False
            else:
                expected = reduce_integers(inputs, op, arithmetic)
        for result, saturated in answers:
            wrong = np.flatnonzero(~same(result, expected[0], name, op))
            self.assertFalse(wrong.size, f"seed {SEED}, element {wrong[:1]}: {inputs[:, wrong[:1]]}"
                             f" give {result[wrong[:1]]}, not {expected[0][wrong[:1]]}")
            self.assertEqual(saturated, expected[1])
        return True

    def test_every_kernel(self):
        compared = dict.fromkeys(ISAS, 0)
        for isa, isa_code in ISAS.items():
            for name in DTYPES:
                for op in ops_of(name):
                    for arithmetic in (SATURATING, MODULAR):
                        with self.subTest(isa=isa, dtype=name, op=op, arithmetic=arithmetic):
                            compared[isa] += self.compare(name, op, arithmetic, isa_code)
        # 7 integer types with 10 ops, 4 floats with 5, bool with 8.
        self.assertEqual(compared["portable"], 2 * (7 * 10 + 4 * 5 + 8))
        for isa, pairs in compared.items():
            self.assertIn(pairs, (0, compared["portable"]), isa)


if __name__ == "__main__":
    unittest.main()
