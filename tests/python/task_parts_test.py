"""C3: the parts of a task that need no job: pieces, digests, criteria, manifests, arrays."""

import hashlib
import io
import math

import numpy as np
import pytest
import tributary
from tributary._task import arrays, criterion, manifest, pieces

DATA = bytes(range(251)) * 5
STATED = {"most_rounds": 9}


def sink_of(data, piece_bytes=100, **changes):
    wanted = {"length": len(data), "digest": hashlib.sha256(data).hexdigest(), **changes}
    return pieces.Sink(piece_bytes=piece_bytes, **wanted)


def packed(data, piece_bytes=100):
    source = pieces.Source(data)
    for index in range(pieces.count_of(source.length, piece_bytes)):
        size = pieces.length_of(index, source.length, piece_bytes)
        yield index, pieces.pack(index, source.read(index * piece_bytes, size))


@pytest.mark.parametrize("length", [0, 1, 99, 100, 101, 1255])
@pytest.mark.parametrize("to_file", [False, True])
def test_c3_pieces_are_put_together(length, to_file, tmp_path):
    data = DATA[:length]
    sink = sink_of(data, into=tmp_path / "data" if to_file else None)
    for index, array in packed(data):
        sink.take(index, array)
    assert sink.check()
    sink.close()
    assert (sink.value.read_bytes() if to_file else bytes(sink.value)) == data


def test_c3_data_of_every_kind_are_the_same_bytes(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    digest = hashlib.sha256(DATA).hexdigest()
    kinds = [DATA, bytearray(DATA), memoryview(DATA), np.frombuffer(DATA, np.uint8), path, str(path),
             io.BytesIO(DATA)]
    for kind in kinds:
        source = pieces.Source(kind)
        assert (source.length, source.digest) == (len(DATA), digest)
        assert bytes(source.read(7, 100)) == DATA[7:107]
        source.close()
    for bad in (7, "x" * 5, np.zeros((4, 4))[:, :2]):
        with pytest.raises((TypeError, FileNotFoundError)):
            pieces.Source(bad)


def test_c3_a_file_that_shrinks_is_named(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    source = pieces.Source(path)
    path.write_bytes(DATA[:10])
    with pytest.raises(tributary.TaskError, match="shrunk to less than 100 bytes"):
        source.read(0, 100)


@pytest.mark.parametrize("at", [0, 8, 12, 16, 60])
def test_c3_a_damaged_piece_is_not_kept(at):
    """Index, length, CRC and payload, one bit each; the piece comes again, and all is well."""
    sink, all_pieces = sink_of(DATA), list(packed(DATA))
    array = all_pieces[0][1].copy()
    array[at] ^= 1
    sink.take(0, array)
    assert sink.held == 0
    for index, good in all_pieces[1:]:
        sink.take(index, good)  # not the next one: ignored
    assert sink.held == 0 and not sink.check()
    for index, good in all_pieces:
        sink.take(index, good)
    assert sink.check()


def test_c3_a_wrong_digest_begins_anew():
    sink = sink_of(DATA, digest="0" * 64)
    for index, array in packed(DATA):
        sink.take(index, array)
    assert sink.held == sink.pieces and not sink.check() and sink.held == 0


# ---- the criterion


def lanes_norm(values):
    """The definition, with Python's own floats."""
    lanes = [0.0] * 1024
    for at, value in enumerate(values):
        lanes[at % 1024] += float(value) * float(value)
    width = 1024
    while width > 1:
        width //= 2
        for at in range(width):
            lanes[at] += lanes[at + width]
    return math.sqrt(lanes[0])


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
def test_c3_the_norm_has_the_bits_of_its_definition(count, dtype):
    values = (np.random.default_rng(count).standard_normal(count) * 50).astype(np.int64).astype(dtype)
    if dtype in ("f4", "f8"):
        values = np.random.default_rng(count).standard_normal(count).astype(dtype)
    assert criterion.norm(values) == lanes_norm(values.tolist())
    assert criterion.norm(values.reshape(1, -1)) == lanes_norm(values.tolist())


def decide(stated, totals, degraded=()):
    progress = criterion.Progress(criterion.Criterion.of(stated))
    for number, total in enumerate(totals, 1):
        progress.add(np.array([total], np.float64), number in degraded)
        if progress.final:
            break
    return progress


@pytest.mark.parametrize(
    "stated, totals, rounds, why",
    [
        ({"most_rounds": 5, "norm_below": 1.0}, [4, 2, 1, 0.5, 0.1], 4, "norm"),  # 1 is not below 1
        ({"most_rounds": 3, "norm_below": 1.0}, [4, 2, 1, 0.5], 3, "rounds"),
        ({"most_rounds": 9, "relative_change_below": 0.1}, [100, 50, 46, 45, 1], 3, "relative-change"),
        ({"most_rounds": 9, "relative_change_below": 0.1, "over_rounds": 2},
         [100, 97, 85, 88, 80], 4, "relative-change"),
        ({"most_rounds": 9, "relative_change_below": 0.1}, [0, 0], 2, "relative-change"),
        ({"most_rounds": 2}, [1, 1, 1], 2, "rounds"),
    ],
)
def test_c3_rounds_end_where_the_criterion_says(stated, totals, rounds, why):
    progress = decide(stated, totals)
    assert (progress.completed, progress.why) == (rounds, why)
    assert progress.converged == (why != "rounds" or set(stated) == {"most_rounds"})


def test_c3_a_degraded_round_never_converges():
    """Nor is a later one compared with it."""
    assert decide({"most_rounds": 9, "norm_below": 1.0}, [4, 0.5, 0.4], degraded=[2]).completed == 3
    stated = {"most_rounds": 4, "relative_change_below": 0.1}
    assert decide(stated, [4, 3, 3, 1], degraded=[3]).why == "rounds"


def test_c3_nan_is_said_not_looped():
    total = np.ones(3000, np.float32)
    total[[1700, 2000]] = np.nan
    progress = criterion.Progress(criterion.Criterion.of({"most_rounds": 5, "norm_below": 1.0}))
    with pytest.raises(tributary.NormError, match="round 1.* 2 of 3000 elements are NaN.*element 1700"):
        progress.add(total, False)
    with pytest.raises(tributary.NormError, match="1 of 2 elements are infinite.*element 1"):
        progress.add(np.array([0, np.inf]), False)
    with pytest.raises(tributary.NormError, match="beyond float64"):
        progress.add(np.array([1e200]), False)
    assert progress.completed == 0
    assert decide({"most_rounds": 1}, [np.nan]).why == "rounds"  # no norm is asked for


@pytest.mark.parametrize(
    "stated, text",
    [
        ({}, "most_rounds is missing"),
        (None, "most_rounds is missing"),
        ({"most_rounds": -1}, "most_rounds is -1; allowed are 0 to"),
        ({"most_rounds": True}, "most_rounds is True"),
        ({"most_rounds": 1, "norm": 1}, "unknown key 'norm'; allowed: most_rounds, norm_below"),
        ({"most_rounds": 1, "norm_below": 0}, "norm_below is 0; allowed: a finite number above 0"),
        ({"most_rounds": 1, "norm_below": math.nan}, "norm_below is nan"),
        ({"most_rounds": 1, "relative_change_below": "1"}, "relative_change_below is '1'"),
        ({"most_rounds": 1, "over_rounds": 0}, "over_rounds is 0; allowed are 1 to 1000"),
    ],
)
def test_c3_bad_criteria_are_named(stated, text):
    with pytest.raises(ValueError) as caught:
        criterion.Criterion.of(stated)
    assert text in str(caught.value)


def test_c3_progress_keeps_its_bits_on_its_way():
    progress = decide({"most_rounds": 9, "relative_change_below": 1e-9, "over_rounds": 3}, [0.1, 1 / 3, 7])
    again = criterion.Progress.of_json(progress.criterion, progress.to_json())
    assert again == progress
    for bad in (None, {}, {**progress.to_json(), "completed": -1}, {**progress.to_json(), "norms": [None]}):
        with pytest.raises(ValueError):
            criterion.Progress.of_json(progress.criterion, bad)


# ---- what travels


def made(**changes):
    whole = {"length": 3, "digest": "a" * 64, "piece_bytes": 100, "keep": "sum",
             "criterion": criterion.Criterion.of(STATED), "metadata": {"model": [1, "x"]}}
    return manifest.Manifest(**{**whole, **changes})


def test_c3_manifests_travel():
    assert manifest.Manifest.decode(made().encode()) == made()
    assert manifest.identity(made().encode()) != manifest.identity(made(metadata=None).encode())


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"metadata": "x" * 70_000}, "metadata: the manifest has 70"),
        ({"metadata": b"x"}, "not JSON serializable"),
        ({"metadata": math.nan}, "not JSON compliant"),
        ({"keep": "all"}, "keep is 'all'; allowed: sum, worker, both"),
        ({"piece_bytes": 0}, "piece_bytes is 0; allowed are 1 to"),
        ({"keep": "worker", "criterion": criterion.Criterion.of({"most_rounds": 1, "norm_below": 1.0})},
         "keep is 'worker', and the criterion looks at the norm"),
    ],
)
def test_c3_bad_manifests_are_named(changes, text):
    with pytest.raises((TypeError, ValueError)) as caught:
        made(**changes).encode()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[1]", b"[" * 50_000, b'{"tributary_task": 2}', b'{"tributary_task": 1}',
     made().encode().replace(b'"length": 3', b'"length": -3'),
     made().encode().replace(b'"length": 3', b'"length": 1e99'),
     made().encode().replace(b"a" * 64, b"z" * 64),
     made().encode().replace(b'"most_rounds": 9', b'"most_rounds": null')],
)
def test_c3_hostile_manifests_are_refused(data):
    with pytest.raises(ValueError):
        manifest.Manifest.decode(data)


def test_c3_arrays_travel():
    given = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array(True), "c": np.zeros((0, 4))}
    blob = arrays.encode({"x": 1.5}, given)
    head, found = arrays.decode(blob)
    assert head == {"x": 1.5} and list(found) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype and not found[name].flags.writeable
    for cut in (0, 7, 8, 20, len(blob) - 1):
        with pytest.raises(ValueError):
            arrays.decode(blob[:cut])
    with pytest.raises(ValueError, match="1 bytes too many"):
        arrays.decode(blob + b"x")
    for bad in ([1], np.array(["x"]), np.zeros(1, ">f4"), np.zeros(1, "c8")):
        with pytest.raises(TypeError):
            arrays.encode({}, {"a": bad})


@pytest.mark.parametrize(
    "entry", [[1, "<f4", [1]], ["a", "|O", [1]], ["a", "<f4", [-1]], ["a", "<f4", [1 << 50]], ["a", "<f4"],
              ["a", "<f4", [True]], "a"])
def test_c3_hostile_arrays_are_refused(entry):
    blob = arrays.encode({}, {})
    head = blob[8:].replace(b'"arrays": []', b'"arrays": [' + repr(entry).replace("'", '"').encode() + b"]")
    with pytest.raises(ValueError):
        arrays.decode(len(head).to_bytes(8, "big") + head)
