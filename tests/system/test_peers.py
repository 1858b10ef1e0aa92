"""Kernel hosts that move data through the switch: iperf3 beside a job, a tap port, AF_XDP, frames of 9,216 bytes."""

import json
import signal
import sys

import pytest
import yaml
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap
from testbed.fabric import Port, worker_address
from testbed.switch import Job
from testbed.tree import binary

STEADY = {"do": "allreduce", "count": 20_000, "dtype": "int32", "repeat": 1_000_000}
LOSSES = {"tx-full", "tx-link-down", "handover-full", "no-mbuf", "no-egress", "mtu-exceeded"}
SMALL_CHUNKS = [Job(1, 2, options=(("chunk_bytes", 1024),))]  # for ports of 1,500 bytes
TAP = "10.77.0.200"
JUMBO = 9216
XDP_HEADROOM = 256
BLAST = """
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5000):
    sender.sendto(bytes(1000), ("{}", 9))
"""
LIMIT_S = 60


class Iperf:
    """iperf3 from the host of one rank to that of another, and back."""

    def __init__(self, bed, client, server):
        self._bed, self._client, self._server = bed, client, server
        self._count = 0

    def __call__(self, *options):
        """The summary of a transfer, as its receiver counts."""
        self._count += 1
        name = f"iperf{self._count}"
        server = self._bed.start(f"{name}-server", ["iperf3", "-s", "-1", "--forceflush"], self._server)
        server.wait_line("Server listening", LIMIT_S)
        command = ["iperf3", "-c", worker_address(self._server), "-J", *options]
        client = self._bed.start(name, command, self._client).check_exit(LIMIT_S)
        server.check_exit(LIMIT_S)
        return json.loads(client.text())["end"]


class Reloads:
    """The switch's file, with other ports besides."""

    def __init__(self, bed):
        self._bed = bed
        self._file = bed.run / "switchd.yaml"
        self._whole = yaml.safe_load(self._file.read_text())

    def __call__(self, more):
        ports = [port for port in self._whole["ports"] if port["name"] != "waits"]
        self._file.write_text(yaml.safe_dump({**self._whole, "ports": [*ports, *more]}))
        return self._bed.switch.client("reload", "--socket", self._bed.switch.socket)


def losses(bed):
    return [row for row in bed.switch.show("drops") if row["reason"] in LOSSES]


def ping(bed, rank, address, *options):
    command = ["ping", "-c", "3", "-i", "0.2", "-W", "5", *options, address]
    bed.start(f"ping-{address}-{len(options)}", command, rank).check_exit(LIMIT_S)


@pytest.fixture
def iperf_bed(make_bed, launch):
    """Hosts 2 and 3 are free; a job runs between the first two, and must still be right at the end."""
    bed = make_bed("veth", 4, jobs=[Job(1, 2)])
    workers = launch(bed).start([STEADY], ports=(0, 1))
    for worker in workers:
        worker.wait_event("progress")
    yield bed
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        assert all(op["exact"] for op in worker.of("progress"))


def test_tcp_moves_all_its_bytes(iperf_bed):
    """O1: both ways, and four streams at once, beside a job."""
    iperf = Iperf(iperf_bed, 2, 3)
    for options in ((), ("-R",), ("-P", "4")):
        end = iperf("-n", "48M", "-w", "256K", *options)
        assert end["sum_sent"]["bytes"] >= 48 << 20
        # What is in the sockets' buffers when the receiver is told of the end does not count.
        assert end["sum_received"]["bytes"] >= 40 << 20
    moved = {row["port"]: row for row in iperf_bed.switch.show("ports")}
    assert min(moved[port]["rx_bytes"] for port in ("w2", "w3")) > 40 << 20


@pytest.mark.parametrize("payload", [1400, 8900])
def test_udp_of_a_modest_rate_loses_nothing_in_the_switch(iperf_bed, payload):
    """O1: a receiver that is not scheduled may overflow its socket; that is the kernel's, which counts it."""
    def overflows():
        text = iperf_bed.fabric.namespace(3).run(["cat", "/proc/net/snmp"])
        names, values = (line.split() for line in text.splitlines() if line.startswith("Udp:"))
        return int(dict(zip(names, values))["RcvbufErrors"])

    before = overflows()
    end = Iperf(iperf_bed, 2, 3)("-u", "-b", "20M", "-n", "4M", "-l", str(payload))["sum"]
    assert end["packets"] >= (4 << 20) // payload
    assert end["lost_packets"] <= overflows() - before
    assert not losses(iperf_bed)


def test_the_machine_itself_is_a_host_through_a_tap_port(make_bed):
    """C1: host access. The interface appears where the switch runs, and is the kernel's other end."""
    def port(_run):
        return [Port("host", "net_tap0,iface=tributary0", 1500)]

    bed = make_bed("veth", 2, jobs=SMALL_CHUNKS, more_ports=port)
    here = bed.fabric.switch_namespace
    here.run(["ip", "addr", "add", f"{TAP}/24", "dev", "tributary0"])
    ping(bed, 0, TAP)
    ping(bed, 0, TAP, "-M", "do", "-s", "1472")
    said = here.run(["ping", "-c", "3", "-i", "0.2", "-W", "5", worker_address(1)])
    assert " 0% packet loss" in said
    assert {row["port"] for row in bed.switch.show("fdb")} == {"w0", "w1", "host"}
    rows = {row["port"]: row for row in bed.switch.show("ports")}
    assert rows["host"]["link"] == "up" and rows["host"]["rx_packets"] >= 9
    here.run(["ip", "link", "set", "tributary0", "down"])


@pytest.mark.parametrize("mtu", [1500, 2900])
def test_c1_a_host_behind_an_interface_that_is_read_through_xdp(make_bed, launch, mtu):
    """C1, O1: it comes while the switch runs, is a host and a rank like any other, and goes."""
    small = [{"devargs": f"net_af_packet{i},iface=w{i}", "mtu": 1500} for i in range(2)]
    waits = [Port("waits", "net_null9,no-rx=1", mtu + XDP_HEADROOM)]
    bed = make_bed("veth", 2, jobs=[Job(1, 3, options=(("chunk_bytes", 1024),))], port_options=small,
                   more_ports=lambda _run: waits)
    ranks = [bed.fabric.add_host(link, mtu) for link in ("x0", "x1")]
    reload = Reloads(bed)
    xdp = [{"name": f"xdp{i}", "devargs": f"net_af_xdp{i},iface=x{i}", "mtu": mtu} for i in range(2)]
    said = reload(xdp)
    assert "port xdp0 added, port xdp1 added" in said
    ping(bed, 0, worker_address(ranks[0]))
    ping(bed, ranks[1], worker_address(1), "-M", "do", "-s", "1472")
    ping(bed, ranks[0], worker_address(ranks[1]), "-M", "do", "-s", str(mtu - 28))
    for worker in launch(bed).start([{**STEADY, "repeat": 3}], ports=(0, *ranks)):
        worker.finish()
    assert not losses(bed)
    # Where the switch does not read, the kernel counts.
    bed.switch.process.pause()
    bed.fabric.namespace(ranks[0]).run([sys.executable, "-c", BLAST.format(worker_address(ranks[1]))])
    bed.switch.process.signal(signal.SIGCONT)
    bed.loop.wait(lambda: {row["port"]: row for row in bed.switch.show("ports")}["xdp0"]["rx_missed"] > 0, 50,
                  "lost frames are counted")
    # The driver keeps 2,048 buffers of each: they go with the ports, and others' are all there.
    assert [row["port"] for row in bed.switch.show("buffers")] == [None, "xdp0", "xdp1"]
    for _ in range(3):
        assert "port xdp0 removed, port xdp1 removed" in reload([])
        (common,) = bed.switch.show("buffers")
        assert common["in_use"] < 2048
        reload([{"name": "xdp0", "devargs": "net_af_xdp0,iface=x0", "mtu": mtu}])
        ping(bed, 0, worker_address(ranks[0]))
        reload(xdp)
        ping(bed, ranks[0], worker_address(ranks[1]), "-M", "do", "-s", str(mtu - 28))
    reload([])
    ping(bed, 0, worker_address(1))


@pytest.mark.parametrize("device", ["net_af_xdp8,iface=x0", "net_af_packet8,iface=x0", "net_tap8,iface=tributary8"])
def test_c1_packet_buffers_come_back_with_each_port_that_goes(make_bed, device):
    """C1, O1: added and removed twenty times; each time as many buffers are free as before."""
    small = [{"devargs": f"net_af_packet{i},iface=w{i}", "mtu": 1500} for i in range(2)]
    waits = [Port("waits", "net_null9,no-rx=1", 1500 + XDP_HEADROOM)]
    bed = make_bed("veth", 2, jobs=SMALL_CHUNKS, port_options=small, more_ports=lambda _run: waits)
    host = bed.fabric.add_host("x0", 1500)
    reload = Reloads(bed)
    reload([])

    def free():
        return {row["port"]: row["buffers"] - row["in_use"] for row in bed.switch.show("buffers")}

    ping(bed, 0, worker_address(1))
    before = free()
    for _ in range(20):
        assert "port late added" in reload([{"name": "late", "devargs": device, "mtu": 1500}])
        if "tap" in device:
            here = bed.fabric.switch_namespace
            here.run(["ip", "addr", "add", f"{TAP}/24", "dev", "tributary8"])
            # From there: each interface has another address of its own, which the other side learns so.
            here.run(["ping", "-c", "2", "-i", "0.2", "-W", "5", worker_address(1)])
        else:
            ping(bed, host, worker_address(1))
        assert "port late removed" in reload([])
        bed.loop.wait(lambda: free() == before, LIMIT_S, f"as many buffers are free as before: {before}")


def test_c1_packets_of_9216_bytes_between_kernels(make_bed):
    """C1: over packet sockets. A port that waits has reserved such buffers at the start."""
    def port(_run):
        return [Port("waits", "net_null9,no-rx=1", JUMBO)]

    bed = make_bed("veth", 1, jobs=[Job(1, 1)], more_ports=port)
    reload = Reloads(bed)
    ranks = [bed.fabric.add_host(link, JUMBO) for link in ("j0", "j1")]
    devices = {link: f"net_af_packet8{i},iface={link},framesz=16384,blocksz=65536"
               for i, link in enumerate(("j0", "j1"))}
    reload([{"name": link, "devargs": device, "mtu": JUMBO} for link, device in devices.items()])
    ping(bed, ranks[0], worker_address(ranks[1]), "-M", "do", "-s", str(JUMBO - 28))
    assert not losses(bed)
    # The first host's cable carries less: it gets nothing of that.
    bed.start("too-long", ["ping", "-c", "1", "-W", "1", "-M", "do", "-s", str(JUMBO - 28), worker_address(0)],
              ranks[0]).wait_exit(LIMIT_S)
    assert [(row["port"], row["reason"]) for row in losses(bed)] == [("w0", "mtu-exceeded")]


def frames_of(*sizes):
    """Ethernet frames to everybody, each of as many bytes behind its header."""
    header = b"\xff" * 6 + bytes([2, 0, 0, 0, 0, 1]) + b"\x88\xb5"
    return [header + bytes(i % 251 for i in range(size)) for size in sizes]


def test_c1_packets_of_9216_bytes_over_memif(make_bed, loop):
    """C1: from a capture file into one port, out of the other to a file; one byte more is counted."""
    bed = make_bed("memif", 2, port_options=[{"mtu": JUMBO} for _ in range(2)])
    good, bad = frames_of(JUMBO, 100, JUMBO), frames_of(JUMBO + 1)
    cables = []
    for rank, frames in ((1, frames_of(60)), (0, [*good, *bad])):
        came, went = (bed.run / f"{name}{rank}.pcap" for name in ("in", "out"))
        wrpcap(str(came), [Ether(frame) for frame in frames])
        command = [binary(bed.build, "tributary-impair"), "--wait-for-links", "--b", bed.fabric.client(rank),
                   "--a", f"net_pcap0,rx_pcap={came},tx_pcap={went}"]
        cables.append(bed.start(f"cable{rank}", command))
        cables[-1].wait_line("^ready", LIMIT_S)

    def counted():
        return {row["port"]: row for row in bed.switch.show("ports")}

    # Beside them the switch says where it is (ARP).
    bytes_of_good = sum(map(len, good))
    loop.wait(lambda: counted()["w0"]["rx_packets"] == 4 and counted()["w1"]["tx_bytes"] >= bytes_of_good,
              LIMIT_S, "the switch has them")
    too_long = [row for row in losses(bed) if row["reason"] == "mtu-exceeded"]
    assert [(row["port"], row["packets"]) for row in too_long] == [("w0", 1)]
    for cable in cables:
        cable.stop()
    got = [bytes(frame) for frame in rdpcap(str(bed.run / "out1.pcap"))]
    assert [frame for frame in got if frame[12:14] != b"\x08\x06"] == good
