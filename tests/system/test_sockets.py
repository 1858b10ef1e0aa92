"""A switch on a machine with two sockets (NUMA nodes), which is virtual: memory of each, a CPU on
each, and a network card on the second.
"""

import json
import re

import pytest
import yaml
from testbed.guest import TwoSockets
from testbed.tree import binary

SWITCH = "10.77.0.254"
LIMIT_S = 150
COUNT = 20480
QUEUE = 256  # descriptors
FAR = "port card is on socket 1, and lcore 0, which polls its queue 0, on socket 0"

# Of each node, the hugepages; then, in turn, what the kernel, the switch and its workers do.
PREPARE = """
pages() { echo $2 > /sys/devices/system/node/node$1/hugepages/hugepages-2048kB/nr_hugepages; }
mkdir -p /var/run; pages 0 100; pages 1 SECOND
echo vfio-pci > /sys/bus/pci/devices/CARD/driver_override
echo CARD > /sys/bus/pci/drivers/vfio-pci/bind
say() { echo "$1 $(tributary show $2 --json --socket /tmp/switchd.sock | tr -d '\\n')"; }
reload() { cp /etc/$1.yaml /etc/switchd.yaml; tributary reload --socket /tmp/switchd.sock; }
memif() { echo "memif:///tmp/switch.memif?id=$1&switch=SWITCH"; }
ranks() { tributary allreduce --size 2 --count COUNT --dtype int32 --timeout 60 "$@"; }
across() {
  ranks --job $1 --rank 0 --address "$(memif 0)" & RANK=$!
  ranks --job $1 --rank 1 --address udp://SWITCH && wait $RANK
}
cp /etc/first.yaml /etc/switchd.yaml
tributary-switchd --config /etc/switchd.yaml & DAEMON=$!
for i in $(seq 100); do [ -S /tmp/switchd.sock ] && break; sleep 0.2; done
""".replace("CARD", TwoSockets.CARD).replace("SWITCH", SWITCH).replace("COUNT", str(COUNT))
END = "kill $DAEMON; wait $DAEMON\n"


def configuration(card_lcore):
    """Lcores on both sockets. Job 1 is lcore 1's, job 2 lcore 0's, both with much to keep."""
    ports = [
        {"name": f"w{i}", "mtu": 1500, "lcores": [i],
         "devargs": f"net_memif{i},id={i},socket=/tmp/switch.memif,socket-abstract=no,rsize=8,role=server"}
        for i in (0, 1)
    ]
    if card_lcore is not None:
        ports.append({"name": "card", "devargs": TwoSockets.CARD, "mtu": 1500, "lcores": [card_lcore]})
    return yaml.safe_dump({
        "switch": {"name": "two", "address": SWITCH, "lcores": [0, 1], "slots": 8192,
                   "memory": {"hugepages": True, "megabytes": 120}},
        "ports": ports,
        "jobs": [{"id": i, "name": f"job{i}", "workers": 2, "planes": 1, "chunk_bytes": 1024, "window": 4096}
                 for i in (1, 2)],
        "control": {"socket": "/tmp/switchd.sock"},
    })


FILES = [("/etc/first.yaml", configuration(0)), ("/etc/near.yaml", configuration(1)),
         ("/etc/without.yaml", configuration(None))]


@pytest.fixture
def play(make_bed):
    """What a machine prints, by lines, that has so many hugepages on its second node."""
    bed = make_bed("memif", 1)

    def run(script, second):
        programs = [binary(bed.build, name) for name in ("tributary-switchd", "tributary")]
        script = PREPARE.replace("SECOND", str(second)) + script + END
        with TwoSockets(bed.loop, bed.run, "two", "10.77.0.77", script, programs, FILES) as machine:
            machine.process.wait_line("guest: ended 0", LIMIT_S)
            return [line.strip() for line in machine.process.stdout]

    return run


def said(lines, tag):
    return next(json.loads(line[len(tag) + 1:]) for line in lines if line.startswith(tag + " ["))


def by_port(rows):
    return {row["port"]: (row["socket"], row["port_socket"], row["buffers_socket"], row["far"]) for row in rows}


def right(lines):
    return sum(line == f"checked: 0 of {COUNT} elements wrong" for line in lines)


def test_c1_each_socket_has_its_pool_and_its_lcores_memory(play):
    """C1: sums across sockets, through a real driver, are right; no buffer is lost on either."""
    lines = play("""
    say rxq rxq; say before buffers
    for job in 1 2; do across $job; done
    say after buffers
    free() { cat /sys/devices/system/node/node$1/hugepages/hugepages-2048kB/free_hugepages; }
    echo free $(free 0) $(free 1)
    grep -o 'anon=.*' /proc/$DAEMON/numa_maps
    reload near; say rxq2 rxq; across 1
    reload without; say without buffers
    reload near; say rxq3 rxq; across 2
    """, second=100)
    assert any(line.startswith(FAR) for line in lines)
    assert by_port(said(lines, "rxq")) == {
        "w0": (0, None, 0, False), "w1": (1, None, 1, False), "card": (0, 1, 1, True)}
    near = {"w0": (0, None, 0, False), "w1": (1, None, 1, False), "card": (1, 1, 1, False)}
    assert by_port(said(lines, "rxq2")) == near
    # The card was given up, and taken again.
    assert by_port(said(lines, "rxq3")) == near
    assert right(lines) == 8
    before = said(lines, "before")
    assert [pool["socket"] for pool in before] == [0, 1]
    # A card holds buffers for what comes, and of whatever pool what it has sent: until it is closed.
    # Two of the latter are the announcements of the switch's address, as far as they are sent by now.
    assert before[0]["in_use"] <= 2 and before[1]["in_use"] == QUEUE, before
    after = [pool["in_use"] for pool in said(lines, "after")]
    assert 0 < sum(after) - QUEUE <= QUEUE and after[1] >= QUEUE, after
    assert [pool["in_use"] for pool in said(lines, "without")] == [0, 0]
    free = next(line.split()[1:] for line in lines if line.startswith("free "))
    assert all(int(pages) < 90 for pages in free), "both have given hugepages"
    # Sums and results of a job, 8 MiB, are on each, in a mapping that may have no page of the other.
    mappings = [dict(re.findall(r"(N[01])=(\d+)", line)) for line in lines if line.startswith("anon=")]
    assert all(any(int(pages.get(node, 0)) >= 2048 for pages in mappings) for node in ("N0", "N1")), mappings


def test_c1_a_socket_without_hugepages_has_no_pool(play):
    """C1: the switch says so, and works."""
    lines = play("say rxq rxq; across 1; say buffers buffers\n", second=0)
    assert any("packet buffers of" in line and "on socket 1" in line and "got none: other pools stand in" in line
               for line in lines)
    assert [pool["socket"] for pool in said(lines, "buffers")] == [0]
    assert by_port(said(lines, "rxq"))["card"] == (0, 1, 0, True)
    assert right(lines) == 2
