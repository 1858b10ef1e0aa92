"""Every type, op and arithmetic beside NumPy, through reduce_tool, for each instruction set here."""
import os
import subprocess
import unittest

import numpy as np

SEED = 20240607
# Up to eight sources are one group of a fused pass; more are taken in groups, block by block.
FAN_INS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 25, 40)
SOURCES = max(FAN_INS)
# Of elements of each size more than one block of an accumulator, and no whole vectors.
BLOCK_BYTES = 2048

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


def tame_values(rng, name, shape):
    """So small, or so near to one, that many of them have a sum and a product that fit."""
    dtype = DTYPES[name][1]
    if name == "bool":
        return np.ones(shape, dtype)
    if name == "bfloat16":
        return to_bfloat16(rng.uniform(0.5, 1.75, shape).astype(np.float32))
    if "float" in name:
        return rng.uniform(0.5, 1.75, shape).astype(dtype)
    values = np.where(rng.integers(0, 30, shape) == 0, 2, 1)
    return np.where(rng.integers(0, 3, shape) == 0, -values, values).astype(dtype) \
        if np.iinfo(dtype).min < 0 else values.astype(dtype)


def special_values(name):
    """Of the edges of the type."""
    if name == "bool":
        return [0, 1, 2, 128, 255]
    if name == "bfloat16":
        return [0x7F80, 0xFF80, 0x7FC0, 0, 0x8000, 1, 0x8001, 0x7F7F, 0xFF7F, 0x0080]
    if "float" in name:
        limits = np.finfo(DTYPES[name][1])
        return [np.inf, -np.inf, np.nan, 0.0, -0.0, limits.smallest_subnormal, limits.max,
                limits.min, limits.tiny]
    limits = np.iinfo(DTYPES[name][1])
    return [limits.min, limits.max, 0, 1, limits.max // 2, limits.max - 1]


def inputs_of(rng, name, wild=True):
    """SOURCES arrays. Wild: a quarter of the elements are in every array any bits, tame, or at the
    edges of the type. So that not all results of many sources are infinite, NaN, zero or true, a
    quarter are tame, and a quarter zero, but for one at the edges in one array; the others are
    tame."""
    dtype = np.dtype(DTYPES[name][1])
    shape = SOURCES, BLOCK_BYTES // dtype.itemsize + 41
    values = tame_values(rng, name, shape)
    if not wild:
        return values
    special = np.array(special_values(name), dtype=dtype)
    special = special[rng.integers(0, special.size, shape)]
    raw = rng.integers(0, 256, values.nbytes, dtype=np.uint8).view(dtype).reshape(shape)
    columns = rng.integers(0, 4, shape[1])
    kind = rng.integers(0, 3, shape)
    values = np.where((columns == 0) & (kind == 1), raw, values)
    values = np.where((columns == 0) & (kind == 2), special, values)
    values = np.where(columns == 1, np.zeros(1, dtype), values)
    where = np.arange(SOURCES)[:, None] == rng.integers(0, SOURCES, shape[1])
    return np.where(((columns == 1) | (columns == 2)) & where, special, values)


class Reference:
    """What NumPy makes of a type, an op and an arithmetic: open, combine and finish like the
    kernels; the last two also say whether anything was saturated."""

    def __init__(self, name, op, arithmetic):
        self.name, self.op, self.dtype = name, op, np.dtype(DTYPES[name][1])
        self.function = FUNCTIONS[op]
        self.truth = name == "bool" or op in ("land", "lor", "lxor")
        self.floats = "float" in name
        self.grows = op in ("sum", "mean", "prod")
        self.saturating = self.grows and not self.floats and arithmetic == SATURATING
        # 8-bit integers pass through 32 bits, and are narrowed once.
        self.wide = np.dtype(f"{self.dtype.kind}4") if self.dtype.itemsize == 1 else self.dtype

    def open(self, source):
        if self.truth:
            return source != 0
        if self.saturating:
            return source.astype(object)  # Python's integers do not wrap
        if self.name == "bfloat16":
            return from_bfloat16(source)
        return source.astype(np.float32) if self.name == "float16" and self.grows else source

    @staticmethod
    def clip(exact, dtype):
        limits = np.iinfo(dtype)
        clipped = np.clip(exact, int(limits.min), int(limits.max))
        return clipped, bool((clipped != exact).any())

    def combine(self, acc, other):
        result = self.function(acc, other)
        return self.clip(result, self.wide) if self.saturating else (result, False)

    def finish(self, acc, divisor):
        if self.saturating:
            acc, saturated = self.clip(acc, self.dtype)
            return acc.astype(self.dtype), saturated
        if self.op == "mean":
            acc = acc / acc.dtype.type(divisor)
        return to_bfloat16(acc) if self.name == "bfloat16" else acc.astype(self.dtype), False

    def fold_each(self, sources):
        acc, saturated = self.open(sources[0]), False
        for source in sources[1:]:
            acc, more = self.combine(acc, self.open(source))
            saturated |= more
        return acc, saturated

    def results(self, inputs):
        """What reduce_tool prints."""
        for fan_in in FAN_INS:
            acc, saturated = self.fold_each(inputs[:fan_in])
            result, narrowed = self.finish(acc, fan_in)
            for _ in "fold", "fuse", "fold_all":
                yield result, saturated or narrowed
            if fan_in == 1:
                continue
            half = (fan_in + 1) // 2
            first, in_first = self.fold_each(inputs[:half])
            second, in_second = self.fold_each(inputs[half:fan_in])
            acc, merged = self.combine(first, second)
            result, narrowed = self.finish(acc, fan_in)
            yield result, in_first or in_second or merged or narrowed


WAYS = [(fan_in, way) for fan_in in FAN_INS for way in ("fold", "fuse", "fold_all", "merge")
        if (fan_in, way) != (1, "merge")]


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
        """(result, saturated) of each of WAYS; None if there is no such kernel."""
        count = inputs.shape[1]
        command = [os.environ["TRIBUTARY_REDUCE_TOOL"], *map(str, (
            DTYPES[name][0], OPS[op], arithmetic, isa, count, *FAN_INS))]
        done = subprocess.run(command, input=inputs.tobytes(), capture_output=True, check=False,
                              timeout=60)
        if done.returncode == 2:
            return None
        self.assertEqual(done.returncode, 0, done.stderr)
        size = inputs[0].nbytes
        self.assertEqual(len(done.stdout), len(WAYS) * (size + 1))
        parts = (done.stdout[at:at + size + 1] for at in range(0, len(done.stdout), size + 1))
        return [(np.frombuffer(part[:size], dtype=inputs.dtype), bool(part[size]))
                for part in parts]

    def compare(self, name, op, arithmetic, wild):
        """The instruction sets that have such a kernel, all of which do as NumPy does."""
        inputs = inputs_of(np.random.default_rng([SEED, DTYPES[name][0], OPS[op]]), name, wild)
        with np.errstate(all="ignore"):
            expected = list(Reference(name, op, arithmetic).results(inputs))
        self.marks.update(saturated for _, saturated in expected)
        isas = []
        for isa, code in ISAS.items():
            answers = self.tool(name, op, arithmetic, code, inputs)
            if answers is None:
                continue
            isas.append(isa)
            for (fan_in, way), got, right in zip(WAYS, answers, expected):
                wrong = np.flatnonzero(~same(got[0], right[0], name, op))[:1]
                text = f"seed {SEED}, {isa}, {way} of {fan_in}, element {wrong}"
                self.assertFalse(wrong.size, f"{text}: {inputs[:fan_in, wrong].ravel()} give "
                                 f"{got[0][wrong]}, not {right[0][wrong]}")
                self.assertEqual(got[1], right[1], text)
        return isas

    def test_every_kernel(self):
        compared = dict.fromkeys(ISAS, 0)
        self.marks = set()
        for name in DTYPES:
            for op in ops_of(name):
                arithmetics = [SATURATING] if name == "bool" or "float" in name else [
                    SATURATING, MODULAR]
                for arithmetic in arithmetics:
                    with self.subTest(dtype=name, op=op, arithmetic=arithmetic):
                        for isa in self.compare(name, op, arithmetic, wild=True):
                            compared[isa] += 1
                        # Where nothing at all saturates there must be no mark.
                        if op in ("sum", "prod") and arithmetic == SATURATING:
                            self.compare(name, op, arithmetic, wild=False)
        self.assertEqual(self.marks, {False, True})
        # 7 integer types with 10 ops and both arithmetics, 4 floats with 5 ops, bool with 8.
        self.assertEqual(compared["portable"], 2 * 7 * 10 + 4 * 5 + 8)
        for isa, kernels in compared.items():
            self.assertIn(kernels, (0, compared["portable"]), isa)


if __name__ == "__main__":
    unittest.main()
