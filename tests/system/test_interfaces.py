"""The kernel's interfaces under ports: they come, go, change, and lose what nobody else counts."""

import os
import re
import signal

import pytest
import testbed.fabric
import yaml
from testbed.fabric import MTU, Port, worker_address
from testbed.namespace import add_veth
from testbed.process import Process
from testbed.switch import Job
from testbed.tree import PYTHON, binary

LIMIT_S = 50
SMALL = 1500
KINDS = {
    "af_packet": testbed.fabric._AF_PACKET,
    "pcap": "net_pcap{index},iface={link}",
}
BLAST = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({count}):
    s.sendto(bytes({size}), ("{to}", 9))
"""


def answers(bed, rank, address, *options):
    """Whether one echo comes back."""
    command = ["ping", "-c", "1", "-W", "1", *options, address]
    return bed.start("ping", command, rank=rank).wait_exit(LIMIT_S) == 0


def wait_answer(bed, rank, address):
    bed.loop.wait(lambda: answers(bed, rank, address), LIMIT_S, f"{address} answers rank {rank}")


def said(process):
    return "\n".join([*process.stdout, *process.stderr])


def wait_said(bed, text):
    bed.loop.wait(lambda: text in said(bed.switch.process), LIMIT_S, f"the switch says '{text}'")


def row(bed, what, **keys):
    """The only one with these values; {} where there is none."""
    rows = [r for r in bed.switch.show(what) if keys.items() <= r.items()]
    return rows[0] if rows else {}


def ip(bed, *words):
    bed.fabric.switch_namespace.run(["ip", *words])


def promiscuity(bed, link):
    text = bed.fabric.switch_namespace.run(["ip", "-d", "-o", "link", "show", link])
    return int(re.search(r"promiscuity (\d+)", text)[1])


def remake(bed, rank):
    """The container of a rank's starts again: another interface with the same names and addresses.

    Other ranks would send to the old hardware address until the kernel has doubts, up to a minute.
    """
    namespace = bed.fabric.namespace(rank)
    ip(bed, "link", "del", f"w{rank}")
    add_veth(bed.fabric.switch_namespace, f"w{rank}", namespace, "eth0", MTU)
    namespace.run(["ip", "addr", "add", f"{worker_address(rank)}/24", "dev", "eth0"])
    namespace.run(["ip", "route", "add", "224.0.0.0/4", "dev", "eth0"])
    for other in set(range(bed.fabric.workers)) - {rank}:
        bed.fabric.namespace(other).run(["ip", "neigh", "flush", "dev", "eth0"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_interface_is_made_again(make_bed, launch, monkeypatch, kind):
    """Its device is deaf for good; the port is opened on the new one, and jobs run as before."""
    monkeypatch.setattr(testbed.fabric, "_AF_PACKET", KINDS[kind])
    bed = make_bed("veth", 2, jobs=[Job(1, 2, (("chunk_bytes", 1024),))])
    wait_answer(bed, 0, worker_address(1))
    for _ in range(2):
        remake(bed, 1)
        wait_answer(bed, 0, worker_address(1))
    assert said(bed.switch.process).count("port w1: its interface is another one now") >= 2
    if kind == "af_packet":
        for worker in launch(bed).start([{"do": "allreduce", "count": 1000, "dtype": "int32"}]):
            worker.finish()


def test_an_interface_goes_to_another_namespace_and_comes_back(make_bed):
    """Also where the kernel gives it the index that it had."""
    bed = make_bed("veth", 2)
    wait_answer(bed, 0, worker_address(1))
    other = bed.fabric.namespace(0)
    ip(bed, "link", "set", "w1", "netns", other.path)
    bed.loop.wait(lambda: row(bed, "ports", port="w1")["link"] == "down", LIMIT_S, "the link is down")
    other.run(["ip", "link", "set", "w1", "netns", bed.fabric.switch_namespace.path])
    ip(bed, "link", "set", "w1", "up")
    wait_answer(bed, 0, worker_address(1))


def test_an_interface_with_a_smaller_mtu_is_named_and_what_it_would_lose_is_counted(make_bed):
    bed = make_bed("veth", 2)
    large = ("-s", "8000", "-M", "do")
    wait_answer(bed, 0, worker_address(1))
    assert answers(bed, 0, worker_address(1), *large)
    ip(bed, "link", "set", "w1", "mtu", "1500")
    wait_said(bed, "port w1: interface 'w1' has mtu 1500, the port 9000")
    assert not answers(bed, 0, worker_address(1), *large)
    assert row(bed, "drops", port="w1", reason="mtu-exceeded")["packets"] == 1
    ip(bed, "link", "set", "w1", "mtu", "9000")
    wait_said(bed, "port w1: interface 'w1' has mtu 9000, enough")
    assert answers(bed, 0, worker_address(1), *large)


def test_a_rank_behind_an_interface_with_a_smaller_mtu_is_told(make_bed, launch):
    """Its own end, and so the route that it looks at, takes larger packets."""
    bed = make_bed("veth", 2)
    ip(bed, "link", "set", "w1", "mtu", "1500")
    steps = [{"do": "allreduce", "count": 20_000, "dtype": "int32"}]
    workers = launch(bed).start(steps, op_timeout=2.0)
    texts = [worker.fail()["text"] for worker in workers]
    assert "no packet of this size, " in texts[1] and "smaller MTU" in texts[1], texts


def test_a_switch_leaves_no_interface_promiscuous(make_bed):
    """However it ends."""
    bed = make_bed("veth", 2)
    assert promiscuity(bed, "w0") == 1
    bed.switch.stop()
    assert promiscuity(bed, "w0") == 0
    bed.switch.start()
    assert promiscuity(bed, "w0") == 1
    bed.switch.process.signal(signal.SIGKILL)
    bed.switch.process.wait_exit(LIMIT_S)
    assert promiscuity(bed, "w0") == 0


def start_switch(bed, name, ports, before="true"):
    """Another switch in the first one's namespace, after a shell command that knows its pid as $$."""
    file = bed.run / f"{name}.yaml"
    lines = [f"{{name: p{i}, devargs: '{device}'}}" for i, device in enumerate(ports)]
    file.write_text(f"switch: {{address: 10.88.0.254}}\nports: [{', '.join(lines)}]\n")
    daemon = binary(bed.build, "tributary-switchd")
    return Process(bed.loop, name, ["sh", "-c", f'{before} && exec {daemon} --config {file}'],
                   bed.run / f"{name}.log", namespace=bed.fabric.switch_namespace,
                   env={"RUNTIME_DIRECTORY": str(bed.run.path)})


def test_two_switches_share_a_namespace(make_bed):
    """Where DPDK's number for the second one's sockets, of pid and interface, is the first one's."""
    bed = make_bed("veth", 1)
    namespace = bed.fabric.switch_namespace
    index = int(namespace.run(["ip", "-o", "link", "show", "dev", "w0"]).split(":")[0])
    add = f"ip link add same index $(( {bed.switch.process.pid} ^ {index} ^ $$ )) type veth peer name other"
    with start_switch(bed, "second", ["net_af_packet0,iface=same"],
                      f"{add} && ip link set same up && ip link set other up") as second:
        second.wait_line("^ready", LIMIT_S)


def test_an_interface_that_cannot_be_opened_is_named_with_the_systems_reason(make_bed):
    bed = make_bed("veth", 1)
    reasons = {
        "net_af_packet0,iface=nowhere": "interface 'nowhere': No such device",
        "net_af_xdp0,iface=nowhere": "interface 'nowhere': No such device",
        "net_pcap0,iface=nowhere": "interface 'nowhere': No such device",
        "net_af_packet0,iface=sixteen-letters-": "longer than the 15 characters",
    }
    for number, (device, reason) in enumerate(reasons.items()):
        with start_switch(bed, f"wrong{number}", [device]) as process:
            assert process.wait_exit(LIMIT_S) == 1
            assert reason in said(process) and "CAP_NET" not in said(process), said(process)


def test_a_tap_that_moved_to_another_namespace_stays_a_host(make_bed):
    """Its queues are the driver's, wherever the kernel's end of it is."""
    bed = make_bed("veth", 1, jobs=[], port_options=[{"mtu": SMALL}],
                   more_ports=lambda _run: [Port("host", "net_tap0,iface=tributary0", SMALL)])
    there = bed.fabric.add_host("unused", SMALL)
    namespace = bed.fabric.namespace(there)
    namespace.run(["ip", "addr", "flush", "dev", "eth0"])  # the same network would be there twice
    ip(bed, "link", "set", "tributary0", "netns", namespace.path)
    namespace.run(["ip", "addr", "add", "10.77.0.200/24", "dev", "tributary0"])
    namespace.run(["ip", "link", "set", "tributary0", "up"])
    wait_answer(bed, 0, "10.77.0.200")
    assert row(bed, "ports", port="host")["link"] == "up"


def test_received_frames_that_are_merged_are_named_with_the_remedy(make_bed):
    """A card's default (GRO): TCP would crawl, as what is merged is longer than the MTU."""
    bed = make_bed("veth", 1, jobs=[])
    assert "merges received frames" not in said(bed.switch.process)
    bed.switch.stop()
    bed.fabric.switch_namespace.run(["ethtool", "-K", "w0", "gro", "on"])
    bed.switch.start()
    remedy = "port w0: interface 'w0' merges received frames (GRO)"
    assert remedy in said(bed.switch.process) and "ethtool -K w0 gro off" in said(bed.switch.process)


def test_fragments_between_hosts_pass(make_bed):
    """They are the hosts' own: no kernel on the way puts them together."""
    bed = make_bed("veth", 2, jobs=[], port_options=[{"mtu": SMALL}] * 2)
    for rank in (0, 1):
        bed.fabric.namespace(rank).run(["ip", "link", "set", "eth0", "mtu", str(SMALL)])
        ip(bed, "link", "set", f"w{rank}", "mtu", str(SMALL))
    wait_answer(bed, 0, worker_address(1))
    assert answers(bed, 0, worker_address(1), "-s", "4000")


def test_a_shaped_interface_holds_up_nobody_else(make_bed, launch, monkeypatch):
    """What it has no room for is counted; the others' job runs meanwhile."""
    monkeypatch.setattr(testbed.fabric, "_AF_PACKET",
                        KINDS["af_packet"].replace("qdisc_bypass=1", "qdisc_bypass=0"))
    bed = make_bed("veth", 3, jobs=[Job(1, 2)])
    slow = bed.fabric.switch_namespace
    slow.run(["tc", "qdisc", "replace", "dev", "w2", "root", "tbf", "rate", "100kbit", "burst",
              "16kb", "latency", "60s"])
    wait_answer(bed, 0, worker_address(1))
    wait_answer(bed, 0, worker_address(2))
    blast = bed.start("blast", [PYTHON, "-c", BLAST.format(count=20_000, size=1400,
                                                          to=worker_address(2))], rank=0)
    assert blast.wait_exit(LIMIT_S) == 0
    bed.loop.wait(lambda: row(bed, "drops", port="w2", reason="tx-full"), LIMIT_S, "drops of w2")
    steps = [{"do": "allreduce", "count": 100_000, "dtype": "int32"}]
    for worker in launch(bed).start(steps, ports=(0, 1)):
        worker.finish()


def test_what_the_kernel_loses_in_front_of_a_port_is_counted(make_bed):
    bed = make_bed("veth", 2)
    wait_answer(bed, 0, worker_address(1))
    before = row(bed, "ports", port="w0")
    bed.switch.process.pause()
    count = 5000
    blast = bed.start("blast", [PYTHON, "-c", BLAST.format(count=count, size=1000,
                                                          to=worker_address(1))], rank=0)
    assert blast.wait_exit(LIMIT_S) == 0
    bed.switch.process.signal(signal.SIGCONT)

    bed.loop.wait(lambda: row(bed, "ports", port="w0")["rx_missed"] > before["rx_missed"], LIMIT_S,
                  "what the ring had no room for is counted")


def test_an_address_on_the_loopback_interface_hears_multicast(make_bed, launch):
    """As with BGP to the host: the group is joined where the route to the switch leads."""
    bed = make_bed("veth", 2)
    host = bed.fabric.namespace(0)
    host.run(["ip", "addr", "del", f"{worker_address(0)}/24", "dev", "eth0"])
    host.run(["ip", "addr", "add", f"{worker_address(0)}/32", "dev", "lo"])
    host.run(["ip", "route", "add", "10.77.0.0/24", "dev", "eth0", "src", worker_address(0)])
    steps = [{"do": "allreduce", "count": 100_000, "dtype": "int32", "repeat": 5}]
    stats = [worker.finish() for worker in launch(bed).start(steps)]
    assert stats[0]["probes"] < stats[0]["results"] // 2, stats[0]


def test_a_rank_whose_results_come_by_probe_only_says_so(make_bed):
    """A firewall on the way lets no multicast through."""
    bed = make_bed("veth", 2, port_options=[{"mtu": MTU}] * 2)
    bed.fabric.namespace(0).run(["ip", "route", "del", "224.0.0.0/4"])
    bed.fabric.namespace(0).run(["iptables", "-A", "INPUT", "-d", "224.0.0.0/4", "-j", "DROP"])

    def start(rank):
        words = ["--job", 1, "--size", 2, "--rank", rank, "--address", bed.address(rank)]
        command = [binary(bed.build, "tributary"), "allreduce", *words, "--count", 100_000]
        return bed.start(f"rank{rank}", command, rank=rank)

    deaf, hears = [start(rank) for rank in (0, 1)]
    assert (deaf.wait_exit(LIMIT_S), hears.wait_exit(LIMIT_S)) == (0, 0)
    assert "multicast from the switch does not reach this host" in said(deaf)
    assert "multicast" not in said(hears)


def test_a_memif_client_with_fewer_rings_than_its_port_is_refused_in_words(make_bed, launch):
    """The driver would read one ring as another."""
    bed = make_bed("memif", 2, port_options=[{"queues": 2}] * 2, lcores=[-1, -1])
    steps = [{"do": "allreduce", "count": 1000, "dtype": "int32"}]
    worker = launch(bed).start_rank(0, 2, steps, join_timeout=5.0).process
    assert worker.wait_exit(LIMIT_S) != 0
    assert "the port has queues: 2, the client makes 1 of these rings" in said(worker)
    assert not row(bed, "drops", port="w0")


def test_a_memif_port_that_goes_closes_its_listener(make_bed):
    """Its descriptors are there for the next one, however often."""
    bed = make_bed("memif", 2, jobs=[])
    file = bed.run / "switchd.yaml"
    whole = yaml.safe_load(file.read_text())
    other = {"name": "other", "devargs": f"net_memif7,id=0,socket={bed.run / 'other'},socket-abstract=no,role=server"}

    def reload(ports):
        file.write_text(yaml.safe_dump({**whole, "ports": ports}, sort_keys=False))
        bed.switch.client("reload", "--socket", bed.switch.socket)

    def files():
        return len(os.listdir(f"/proc/{bed.switch.process.pid}/fd"))

    for _ in range(2):
        reload([*whole["ports"], other])
        reload(whole["ports"])
    before = files()
    for _ in range(10):
        reload([*whole["ports"], other])
        reload(whole["ports"])
    assert files() <= before + 2


SNIFF = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x806))
s.bind(("eth0", 0))
print("listens", flush=True)
while True:
    try:
        frame = s.recv(2000)
    except OSError:  # the link is down for a moment
        continue
    print(frame[6:12].hex(":"), frame[28:32].hex(), frame[38:42].hex(), flush=True)
"""


def test_who_has_the_switchs_address_is_said_when_a_link_comes_up(make_bed):
    """Gratuitous ARP, twice: a host that knows another switch's address for it goes on with this one."""
    bed = make_bed("veth", 1, jobs=[])
    sniff = bed.start("sniff", [PYTHON, "-c", SNIFF], rank=0)
    sniff.wait_line("listens", LIMIT_S)
    ip(bed, "link", "set", "w0", "down")
    wait_said(bed, "port w0: link down")
    ip(bed, "link", "set", "w0", "up")
    own = "02:74:0a:4d:00:fe 0a4d00fe 0a4d00fe"
    bed.loop.wait(lambda: sniff.text().count(own) >= 2, LIMIT_S, "two announcements")
