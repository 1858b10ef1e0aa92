"""Data by name (C4) on a tree of real switches: what rank 0 puts is read through another leaf, by a
host that is no member, and after rank 0 got kill -9. The example's topology."""

import signal
from pathlib import Path

from testbed.fabric import Impairment
from testbed.tree import PYTHON, TOP, binary

from named_values import digest, values

MEMBER = Path(__file__).resolve().parent / "names_member.py"
TOPOLOGY = TOP / "examples/named_data/topology.yaml"
PLACES = ("w1", "w2", "w3", "w4")
LIMIT_S = 60
DIGESTS = {name: digest(array) for name, array in values().items()}


def start_members(bed):
    members = [bed.start(f"member-{place}",
                         [PYTHON, MEMBER, "--rank", str(rank), "--address", bed.address(place)], place)
               for rank, place in enumerate(PLACES)]
    for member in members:
        member.wait_line("^joined", LIMIT_S)
    members[0].wait_line("^refused name-taken", LIMIT_S)
    return members


def ask(member):
    """What a member gets, which is asked once."""
    before = len(member.stdout)
    member.signal(signal.SIGUSR1)
    member.wait_line("^done 1", LIMIT_S)
    return list(member.stdout)[before:-1]


def expected():
    return [*(f"got {name} {text}" for name, text in DIGESTS.items()), "no none/v=1 name-unknown"]


def names_of(bed, switch):
    (row,) = [row for row in bed.show(switch, "names") if row["job"] == 7]
    return row


def get(bed, place, name, out, status=0):
    client = bed.start(f"get-{place}-{out.name}",
                       [binary(bed.build, "tributary"), "get", name, "-o", str(out), "--address",
                        bed.address(place)], place)
    assert client.wait_exit(LIMIT_S) == status, client.describe()
    return "\n".join(client.stderr)


def test_c4_a_value_outlives_its_producer_in_the_caches(make_tree, tmp_path):
    bed = make_tree(TOPOLOGY, job_options={})
    members = start_members(bed)
    names = [line.split()[1] for line in members[0].stdout if line.startswith("put")]
    assert ask(members[2]) == expected()
    first = names_of(bed, "B")
    assert first["forwarded"] >= first["segments"] > 50
    assert (first["evicted"], first["expired"]) == (0, 0) and first["bytes"] > 50_000
    members[0].signal(signal.SIGKILL)
    members[0].wait_exit(LIMIT_S)
    for member in (members[1], members[3]):
        assert ask(member) == expected(), member.describe()
    second = names_of(bed, "B")
    # All but the name that nobody has is answered by leaf B itself.
    assert second["hits"] - first["hits"] >= first["segments"]
    assert second["forwarded"] - first["forwarded"] <= 3
    assert second["refused"] == 0
    # A host that the job lists, and one that it does not.
    get(bed, "desk", names[0], tmp_path / "small.npy")
    array = values()["small/v=1"]
    assert (tmp_path / "small.npy").read_bytes().endswith(array.tobytes())
    said = get(bed, "w1", names[0], tmp_path / "refused.npy", status=1)
    assert "not-allowed" in said and not (tmp_path / "refused.npy").exists()
    assert "name-unknown" in get(bed, "desk", names[0].replace("v=1", "v=2"), tmp_path / "x", status=1)


def test_c4_values_come_through_cables_that_lose_repeat_and_swap(make_tree):
    impairment = Impairment(("--drop", "5%", "--duplicate", "5%", "--reorder", "5%"), seed=3)
    bed = make_tree(TOPOLOGY, impairment=impairment, job_options={})
    members = start_members(bed)
    for member in members[1:]:
        assert ask(member) == expected(), member.describe()
