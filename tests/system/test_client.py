"""The `tributary` client against the real switch: files in, sum out; the sweep; what it says."""

import json
import re

import numpy as np
import pytest
from testbed.switch import Job
from testbed.tree import TOP, binary

LIMIT_S = 50


def start_client(bed, rank, *arguments):
    return bed.start(f"client{rank}", [binary(bed.build, "tributary"), *arguments], rank=rank)


def error_of(client):
    """What a client that must fail wrote to standard error."""
    client.wait_exit(LIMIT_S)
    assert client.returncode == 1, client.describe()
    return "\n".join(client.stderr)


def everywhere(bed, command, *arguments):
    """One client for each rank, at that rank's port; their outputs, in the order of ranks."""
    clients = []
    for rank in range(bed.workers):
        job = ["--job", 1, "--size", bed.workers, "--rank", rank, "--address", bed.address(rank)]
        mine = [a(rank) if callable(a) else a for a in arguments]
        clients.append(start_client(bed, rank, *command, *job, *mine))
    return [client.check_exit(LIMIT_S).text() for client in clients]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_allreduce_of_npy_files(make_bed, tmp_path, dtype):
    bed = make_bed("veth", 3)
    random = np.random.default_rng(1)
    inputs = [random.integers(-999, 999, (37, 211)).astype(dtype) for _ in range(3)]
    for rank, array in enumerate(inputs):
        np.save(tmp_path / f"in{rank}.npy", array)
    everywhere(
        bed,
        ["allreduce"],
        "--input",
        lambda rank: tmp_path / f"in{rank}.npy",
        "--output",
        lambda rank: tmp_path / f"out{rank}.npy",
    )
    for rank in range(3):
        out = np.load(tmp_path / f"out{rank}.npy")
        assert out.dtype == dtype and out.shape == (37, 211)
        assert (out == sum(inputs)).all()


def test_allreduce_checks_generated_data(make_bed):
    bed = make_bed("veth", 2)
    for text in everywhere(bed, ["allreduce"], "--count", "100K"):
        assert "checked: 0 of 102400 elements wrong" in text


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_bench_prints_the_sweep_from_rank_0(make_bed, ports):
    bed = make_bed(ports, 2)
    sweep = ("--min", "4K", "--max", "256K", "--factor", "8", "--iters", "3", "--warmup", "1")
    first, second = everywhere(bed, ["bench", "allreduce"], *sweep)
    rows = [line.split() for line in first.splitlines() if not line.startswith("#")]
    assert [row[:5] for row in rows] == [
        ["4096", "1024", "float32", "sum", "-1"],
        ["32768", "8192", "float32", "sum", "-1"],
        ["262144", "65536", "float32", "sum", "-1"],
    ]
    assert all(row[5:9] == ["-"] * 4 and float(row[9]) > 0 and row[12] == "0" for row in rows)
    assert second == ""
    first, _ = everywhere(bed, ["bench", "allreduce"], *sweep, "--json")
    assert [row["wrong"] for row in json.loads(first)] == [0, 0, 0]


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_bench_measures_every_collective_and_its_stages(make_bed, ports):
    bed = make_bed(ports, 2)
    sweep = ("--min", "64K", "--max", "64K")
    for collective in ("reduce", "broadcast", "all_gather", "reduce_scatter", "barrier"):
        words = () if collective == "barrier" else sweep
        first, _ = everywhere(bed, ["bench", collective], *words, "--iters", "4", "--warmup", "1",
                              "--stages", "--json")
        (row,) = json.loads(first)
        assert row["collective"] == collective and row["wrong"] == 0
        parts = collective in ("all_gather", "reduce_scatter")
        assert (row["out_of_place"] is not None) == (parts or collective == "barrier")
        assert (row["in_place"] is not None) == (collective != "barrier")
        assert row["count"] == (0 if collective == "barrier" else 8192 if parts else 16384)
        stages = row["stages"]
        assert all(stages[name] > 0 for name in ("session_us", "send_us", "unpack_us", "packets"))
        # Rank 0 is the root of reduce and broadcast.
        assert stages["datagrams"] >= 2, "the barrier's and the operation's"
    text, _ = everywhere(bed, ["bench", "all_gather"], *sweep, "--iters", "2", "--stages")
    assert text.count("us an iteration: session ") == 2, text


def test_all_ranks_in_one_process(make_bed):
    """A port that several ranks share: results reach all of them."""
    bed = make_bed("veth", 1, jobs=[Job(1, 3)])
    arguments = ("--job", 1, "--size", 3, "--address", bed.address(0))
    text = start_client(bed, 0, "allreduce", *arguments, "--count", 5000).check_exit(LIMIT_S).text()
    assert "checked: 0 of 15000 elements wrong" in text
    sweep = ("--local", "--min", "64K", "--max", "64K", "--iters", "2")
    client = start_client(bed, 0, "bench", "allreduce", *arguments, *sweep)
    assert "# wrong elements: 0 OK" in client.check_exit(LIMIT_S).text()


def test_all_ranks_in_one_process_over_memif(make_bed):
    """Each rank has a memif of its own; {rank} in the address stands for its number."""
    bed = make_bed("memif", 3)
    address = bed.address(0).replace("id=0", "id={rank}")
    assert "{rank}" in address
    client = start_client(
        bed, 0, "allreduce", "--job", 1, "--size", 3, "--address", address, "--count", "1M"
    )
    assert "checked: 0 of 3145728 elements wrong" in client.check_exit(LIMIT_S).text()


def test_disagreeing_ranks_are_told_who_sent_what(make_bed):
    bed = make_bed("veth", 2)
    clients = []
    for rank, count in enumerate((1000, 2000)):
        job = ["--job", 1, "--size", 2, "--rank", rank, "--address", bed.address(rank)]
        clients.append(start_client(bed, rank, "allreduce", *job, "--count", count))
    for client in clients:
        text = error_of(client)
        assert "1000" in text and "2000" in text


def test_show_again_and_again(make_bed):
    bed = make_bed("veth", 1)
    show = ("show", "stages", "--socket", bed.switch.socket)
    text = start_client(bed, 0, *show, "--every", "100ms", "--times", 3).check_exit(30).text()
    assert text.count("cycles_per_packet") == 3 and text.count("stages, ") == 2, text
    # The loop turns all the time.
    assert "/s" in text, text
    for wrong in (("--every", "1ms"), ("--every", "often"), ("--times", 2)):
        process = start_client(bed, 0, *show, *wrong)
        assert process.wait_exit(30) == 2, process.describe()
        assert "--every" in "\n".join(process.stderr)


def test_every_table_may_be_looked_at_again_and_again(make_bed):
    """Also by who reads --help; the man page says so, too."""
    bed = make_bed("veth", 1)
    text = start_client(bed, 0, "show", "--help").check_exit(30).text()
    assert "--every TIME" in text and "at any of these" in " ".join(text.split()), text
    assert "any of its tables" in (TOP / "packaging/man/tributary.1").read_text()
    tables = re.search(r"WHAT.*?(ports .*?)\n\s*WHICH", text, re.DOTALL)[1]
    names = re.findall(r"(?:^|\n) +([a-z]+)  ", "\n " + tables)
    assert {"ports", "drops", "groups", "overrides"} <= set(names), names
    # Some need a name of an op or a job; others ask another program.
    for name in sorted({*names} - {"op", "ops", "models", "links", "paths", "tasks"}):
        show = ("show", name, "--socket", bed.switch.socket, "--every", "100ms", "--times", 2)
        looks = start_client(bed, 0, *show).check_exit(30).text()
        assert re.search(rf"^{name}, [0-9:]+$", looks, re.MULTILINE), looks
    start_client(bed, 0, "show", "ops", 1, "--socket", bed.switch.socket).check_exit(30)


def test_a_switch_that_is_not_there(make_bed):
    bed = make_bed("veth", 1)
    bed.switch.stop()
    show = start_client(bed, 0, "show", "ports", "--socket", bed.switch.socket)
    assert "start tributary-switchd" in error_of(show)
    job = ("--job", 1, "--size", 1, "--address", bed.address(0), "--timeout", "0.5")
    assert "rank 0" in error_of(start_client(bed, 0, "allreduce", *job, "--count", 1))
