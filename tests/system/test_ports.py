"""Ports that come and go while the switch runs, and queues that move: what else runs loses nothing."""

import os
import re
import signal
from pathlib import Path

import pytest
import yaml
from testbed.fabric import worker_address
from testbed.switch import Job

STEADY = {"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 1_000_000}
SHORT = {"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 3}
# Memory is settled after WARM rounds.
ROUNDS, WARM = (20, 3) if os.environ.get("TRIBUTARY_FULL") else (10, 1)
BUFFERS_ON_THE_WAY = 2048  # more than ports, rings and a job have in use at any time
LATE = 3  # the port that comes and goes: w3
LOSSES = {"tx-full", "tx-link-down", "handover-full", "job-moved", "no-mbuf", "no-egress"}
MEMORY = {"hugepages": False, "megabytes": 512, "reserve_megabytes": 64}


class Reloads:
    """The switch's file, with changes."""

    def __init__(self, bed):
        self._bed = bed
        self._file = bed.run / "switchd.yaml"
        self.whole = yaml.safe_load(self._file.read_text())

    def __call__(self, **sections):
        self._file.write_text(yaml.safe_dump({**self.whole, **sections}, sort_keys=False))
        return self._bed.switch.client("reload", "--socket", self._bed.switch.socket)

    def without_late(self, jobs=None):
        ports = [port for port in self.whole["ports"] if port["name"] != f"w{LATE}"]
        return self(ports=ports, jobs=self.whole["jobs"][:1] if jobs is None else jobs)


def two_lcores():
    """Two CPUs that this process may use, or the same loops without pinning."""
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[:2] if len(cpus) > 1 else [-1, -1]


def holdings(bed):
    """What a switch must not have more of after each round."""
    pid = bed.switch.process.pid
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return {
        "files": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": int(status["Threads"]),
        "maps": len(Path(f"/proc/{pid}/maps").read_text().splitlines()),
        # Of what DPDK reserved at start, packet buffers that are used for the first time become resident.
        "memory_kib": int(status["RssAnon"].split()[0]),
        "buffers": sum(pool["in_use"] for pool in bed.switch.show("buffers")),
    }


def names(bed, what="ports"):
    return [row["port"] for row in bed.switch.show(what)]


def lost(bed, *ports):
    """Frames that did not find their way: of these ports, or of all."""
    rows = [row for row in bed.switch.show("drops") if row["reason"] in LOSSES]
    return [row for row in rows if not ports or row["port"] in ports]


def start_steady(bed, launch):
    workers = launch(bed).start([STEADY], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")
    return workers


def end_stream(ping):
    """Every request had its answer; the last one may have been on its way."""
    ping.signal(signal.SIGINT)
    ping.wait_exit(20)
    sent, received = map(int, re.search(r"(\d+) packets.*, (\d+) received", ping.text()).groups())
    assert received >= sent - 1 > 100, ping.text()


def check_steady(workers):
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


def tied_to_late():
    """Two jobs: one on the first two ports, and one with a rank that is tied to the late port."""
    members = ("members", [{"rank": 1, "port": f"w{LATE}"}])
    return [Job(1, 2), Job(2, 2, options=(members,))]


def check_grown(first, last):
    """What each round leaves behind is many by now; a few are of the moment: mappings are the allocator's
    to choose, and the connection of the command before may be open still."""
    assert last["files"] <= first["files"] + 2 and last["threads"] <= first["threads"]
    assert last["buffers"] <= first["buffers"] + BUFFERS_ON_THE_WAY
    assert last["maps"] <= first["maps"] + 4
    assert last["memory_kib"] <= first["memory_kib"] + 2048


@pytest.mark.parametrize("lcores", [1, 2])
def test_a_port_comes_and_goes_under_traffic(make_bed, launch, lcores):
    """C1, O1: a kernel host and a rank of a job behind it each time; others lose not one frame."""
    options = {"lcores": two_lcores()} if lcores == 2 else {}
    bed = make_bed("veth", 4, jobs=tied_to_late(), memory=MEMORY, **options)
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    stream = ["ping", "-i", "0.005", "-q", worker_address(1)]
    ping = bed.start("stream", stream, rank=0)
    launcher = launch(bed)
    with pytest.raises(Exception, match="there is no port 'w3'"):
        reload.without_late(jobs=reload.whole["jobs"])
    first = None
    for i in range(ROUNDS):
        said = reload.without_late()
        assert "port w3 removed" in said and "2 removed" in said, said
        assert names(bed) == ["w0", "w1", "w2"] and "w3" not in names(bed, "rxq")
        assert "w3" not in names(bed, "fdb")
        said = reload()
        assert "port w3 added" in said and "2 added" in said, said
        assert sorted(names(bed)) == ["w0", "w1", "w2", "w3"]
        late = {row["port"]: row for row in bed.switch.show("ports")}["w3"]
        assert late["link"] == "up" and late["rx_packets"] < 100, "a new port's counters"
        host = ["ping", "-c", "1", "-W", "5", worker_address(LATE)]
        bed.start(f"host{i}", host, rank=2).check_exit(20)
        if i % 9 == 0:
            for worker in launcher.start([SHORT], job=2, ports=(2, LATE)):
                worker.finish()
        if i == WARM:
            first = holdings(bed)
    check_grown(first, holdings(bed))
    end_stream(ping)
    assert not lost(bed, "w0", "w1")
    check_steady(steady)


def test_a_memif_client_joins_through_a_port_that_comes_and_goes(make_bed, launch):
    """C1, O1: the same over shared memory; the job that stays is exact throughout."""
    bed = make_bed("memif", 4, jobs=tied_to_late(), memory=MEMORY)
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    launcher = launch(bed)
    first = None
    for i in range(ROUNDS):
        assert "port w3 removed" in reload.without_late()
        assert names(bed) == ["w0", "w1", "w2"]
        assert "port w3 added" in reload()
        if i % 3 == 0:
            for worker in launcher.start([SHORT], job=2, ports=(2, LATE)):
                worker.finish()
        if i == WARM:
            first = holdings(bed)
    check_grown(first, holdings(bed))
    assert not lost(bed, "w0", "w1")
    check_steady(steady)


def test_ranks_behind_a_port_that_goes_are_told(make_bed, launch):
    """T1, rule 16: nobody waits for a lease; through another port, or the same anew, all join again."""
    bed = make_bed("veth", 4, jobs=[Job(1, 2), Job(2, 2)])
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    workers = launch(bed).start([STEADY], job=2, ports=(2, LATE))
    for worker in workers:
        worker.wait_event("progress")
    reload.without_late(jobs=reload.whole["jobs"])
    for worker in workers:
        assert worker.fail()["reason"] == "configuration-changed"
    reload()
    for worker in launch(bed).start([SHORT], job=2, ports=(2, LATE)):
        worker.finish()
    check_steady(steady)


def test_a_device_that_cannot_be_opened_changes_nothing(make_bed, launch):
    """O1: refused whole; also what would take a device, or an interface, that another port has."""
    bed = make_bed("veth", 3, jobs=[Job(1, 2)])
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    ports = reload.whole["ports"]
    before = bed.switch.show("config")
    device = ports[2]["devargs"]
    for devargs, why in (
        (device.replace("net_af_packet2,iface=w2", "net_af_packet9,iface=x"), "there is no interface 'x' here"),
        (device.replace("iface=w2", "iface=w9"), "port w2 has a device of that name"),
        (device.replace("net_af_packet2,iface=w2", "net_af_packet9,iface=w1"),
         "switchd.yaml:.*: port 'x' wants interface 'w1', which port 'w1' on line"),
    ):
        with pytest.raises(Exception, match=why):
            reload(ports=[*ports[:2], {"name": "x", "devargs": devargs, "mtu": ports[2]["mtu"]}])
        assert bed.switch.show("config") == before
        assert names(bed) == ["w0", "w1", "w2"]
    assert "nothing changed" in reload(ports=ports[::-1])
    ports[2] = {**ports[2], "name": "uplink"}
    assert "port w2 is called uplink" in reload(ports=ports)
    assert names(bed) == ["w0", "w1", "uplink"]
    check_steady(steady)


def with_devargs(ports, index, more):
    """That port's device with more arguments."""
    changed = [*ports]
    changed[index] = {**ports[index], "devargs": ports[index]["devargs"] + more}
    return changed


def queues_of(bed, port):
    return sorted(row["queue"] for row in bed.switch.show("rxq") if row["port"] == port)


@pytest.mark.parametrize("lcores", [1, 2])
def test_a_port_is_opened_again_under_traffic(make_bed, launch, lcores):
    """C1, O5: more queues, larger frames; others lose not one frame, the rank behind it catches up."""
    options = {"lcores": two_lcores()} if lcores == 2 else {}
    memory = {**MEMORY, "spare_queues": 4}
    bed = make_bed("veth", 4, jobs=[Job(1, 2), Job(2, 2)], memory=memory, **options)
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    behind = launch(bed).start([STEADY], job=2, ports=(2, LATE))
    for worker in behind:
        worker.wait_event("progress")
    ping = bed.start("stream", ["ping", "-i", "0.005", "-q", worker_address(1)], rank=0)
    epochs = {row["job"]: row["epoch"] for row in bed.switch.show("jobs")}
    first = None
    for i in range(ROUNDS // 2):
        ports = with_devargs(reload.whole["ports"], LATE, ",qpairs=2")
        ports[LATE]["queues"] = 2
        said = reload(ports=ports)
        assert "ports[3].devargs, ports[3].queues" in said and "jobs" not in said, said
        assert queues_of(bed, "w3") == [0, 1]
        assert len({row["lcore"] for row in bed.switch.show("rxq") if row["port"] == "w3"}) == lcores
        assert "ports[3].queues" in reload()
        assert queues_of(bed, "w3") == [0]
        progress = len(behind[1].of("progress"))
        behind[1].wait_event("progress", progress + 1)
        if i == WARM:
            first = holdings(bed)
    check_grown(first, holdings(bed))
    end_stream(ping)
    assert not lost(bed, "w0", "w1")
    assert {row["job"]: row["epoch"] for row in bed.switch.show("jobs")} == epochs
    check_steady(steady)
    check_steady(behind)


def test_a_memif_port_is_opened_again_under_traffic(make_bed, launch):
    """C1, O5: shorter rings and back; its client connects anew, and ranks of the same socket lose not one frame."""
    bed = make_bed("memif", 4, jobs=[Job(1, 2), Job(2, 2)], memory=MEMORY)
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    behind = launch(bed).start([STEADY], job=2, ports=(2, LATE))
    for worker in behind:
        worker.wait_event("progress")
    epochs = {row["job"]: row["epoch"] for row in bed.switch.show("jobs")}
    ports = [*reload.whole["ports"]]
    ports[LATE] = {**ports[LATE], "devargs": ports[LATE]["devargs"].replace("rsize=10", "rsize=9")}
    first = None
    for i in range(ROUNDS // 2):
        for said in (reload(ports=ports), reload()):
            assert said.strip() == "changed: ports[3].devargs", said
            progress = len(behind[1].of("progress"))
            behind[1].wait_event("progress", progress + 1)
        if i == WARM:
            first = holdings(bed)
    check_grown(first, holdings(bed))
    assert not lost(bed, "w0", "w1")
    assert {row["job"]: row["epoch"] for row in bed.switch.show("jobs")} == epochs
    check_steady(steady)
    check_steady(behind)


def test_a_slip_in_a_ports_device_changes_nothing(make_bed, launch):
    """C1: what is known before is refused before, also by --dry-run; what only opening shows is taken back."""
    bed = make_bed("veth", 3, jobs=[Job(1, 2)], memory=MEMORY)
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    ports = reload.whole["ports"]
    assert bed.start("before", ["ping", "-c", "1", "-W", "5", worker_address(0)], rank=2).wait_exit(20) == 0
    before = bed.switch.show("config")
    for change, why in (
        ({"queues": 2}, "queues: 2 pairs; the device has 1"),
        ({"devargs": ports[2]["devargs"].replace("framesz=16384", "framesz=32768")},
         "needs packet buffers of 32768 bytes; they have 16384 since the start"),
        ({"devargs": ports[2]["devargs"].replace("iface=w2", "ifac=w2")}, "did you mean 'iface'"),
        ({"devargs": ports[2]["devargs"].replace("iface=w2", "iface=gone")}, "no interface 'gone' here"),
    ):
        with pytest.raises(Exception, match=why):
            reload(ports=[*ports[:2], {**ports[2], **change}])
        assert bed.switch.show("config") == before
    assert "not reloaded: " in bed.switch.client("events", "--level", "warning", "--socket", bed.switch.socket)
    wrong = {**ports[2], "devargs": ports[2]["devargs"].replace("blocksz=65536", "blocksz=32769")}
    with pytest.raises(Exception, match="not all of it.*\n.*stays as before: port w2 "):
        reload(ports=[*ports[:2], wrong])
    row = {row["port"]: row for row in bed.switch.show("ports")}["w2"]
    assert row["link"] == "up" and row["device"] == ports[2]["devargs"], row
    assert names(bed, "rxq") == ["w0", "w1", "w2"]
    reload()
    assert bed.switch.show("config") == before
    assert bed.start("after", ["ping", "-c", "1", "-W", "5", worker_address(0)], rank=2).wait_exit(20) == 0
    check_steady(steady)


def test_queues_move_between_lcores_under_traffic(make_bed, launch):
    """C1: which lcore polls which queue changes, to and fro, and nobody loses a frame."""
    bed = make_bed("veth", 4, jobs=[Job(1, 2)], lcores=two_lcores())
    reload = Reloads(bed)
    steady = start_steady(bed, launch)
    ping = bed.start("stream", ["ping", "-i", "0.005", "-c", "400", "-q", worker_address(3)], rank=2)
    i = 0
    while ping.running or i < 10:
        ports = [{**port, "lcores": [(n + i) % 2]} for n, port in enumerate(reload.whole["ports"])]
        said = reload(ports=ports)
        assert ("ports[3].lcores" in said) == (i > 0), said
        queues = {(q["port"], q["lcore"]) for q in bed.switch.show("rxq")}
        assert queues == {(f"w{n}", (n + i) % 2) for n in range(4)}
        i += 1
    assert "400 packets transmitted, 400 received" in ping.text()
    assert not lost(bed)
    check_steady(steady)
