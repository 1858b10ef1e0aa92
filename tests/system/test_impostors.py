"""What claims to be the switch, and what other switches say to each other: at the ports of a real one."""

import json
import os

import pytest
from testbed.fabric import worker_address
from testbed.switch import Job
from testbed.tree import PYTHON, binary

LIMIT_S = 50
SWITCH = bytes((10, 77, 0, 254))

# Sends one frame, given in hexadecimal, `count` times.
SEND = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
for _ in range(int(sys.argv[2])):
    s.send(bytes.fromhex(sys.argv[1]))
"""
# Prints each frame that comes with the switch's address as its sender's or with a BPDU's destination.
HEAR = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("eth0", 0))
print("listens", flush=True)
while True:
    frame, (_, _, kind, *_) = s.recvfrom(65535)
    if kind != socket.PACKET_OUTGOING:
        print(frame.hex(), flush=True)
"""


def row(bed, what, **keys):
    rows = [r for r in bed.switch.show(what) if keys.items() <= r.items()]
    return rows[0] if rows else {}


def said(bed):
    return "\n".join([*bed.switch.process.stdout, *bed.switch.process.stderr])


def send(bed, rank, frame, count=1):
    sender = bed.start("send", [PYTHON, "-c", SEND, frame.hex(), count], rank=rank)
    assert sender.wait_exit(LIMIT_S) == 0, sender.describe()


def hear(bed, rank):
    ear = bed.start("hear", [PYTHON, "-c", HEAR], rank=rank)
    ear.wait_line("listens", LIMIT_S)
    return ear


def result_from(source, group, mac=b"\x02\x09\x09\x09\x09\x09"):
    """A datagram as a switch sends it to the group of its job: headers, and anything behind them."""
    body = bytes(100)
    udp = (47000).to_bytes(2) + (47000).to_bytes(2) + (8 + len(body)).to_bytes(2) + bytes(2)
    header = bytes((0x45, 0)) + (28 + len(body)).to_bytes(2) + bytes((0, 0, 0, 0, 64, 17, 0, 0))
    header += source + group
    total = sum(int.from_bytes(header[i:i + 2]) for i in range(0, 20, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + (0xFFFF - total).to_bytes(2) + header[12:]
    to = b"\x01\x00\x5e" + bytes((group[1] & 0x7F, *group[2:]))
    return to + mac + b"\x08\x00" + header + udp + body


def checksum(data):
    total = sum(int.from_bytes(data[i:i + 2]) for i in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return (0xFFFF - total).to_bytes(2)


def ipv4(body, protocol, source, destination):
    header = bytes((0x45, 0)) + (20 + len(body)).to_bytes(2) + bytes((0, 0, 0, 0, 64, protocol, 0, 0))
    header += source + destination
    return header[:10] + checksum(header) + header[12:] + body


def port_unreachable(epoch, rank, nonce, port, mac):
    """As if the rank's host sent back a START to it."""
    start = bytearray(54)
    start[0], start[1], start[53] = 1, 12, 4  # version, type, words of extensions
    start[6:10], start[10:12] = (1).to_bytes(4), epoch.to_bytes(2)
    start[34:36], start[43] = rank.to_bytes(2), 1  # child, reduce operation
    start += bytes((0x8A, 3, 0, 0)) + nonce.to_bytes(8) + bytes((0, 1, 0, 0))
    host = bytes((10, 77, 0, rank + 1))
    udp = (47000).to_bytes(2) + port.to_bytes(2) + (8 + len(start)).to_bytes(2) + bytes(2) + start
    message = bytes((3, 3, 0, 0, 0, 0, 0, 0)) + ipv4(udp, 17, SWITCH, host)
    message = message[:2] + checksum(message) + message[4:]
    return b"\x02\x74\x0a\x4d\x00\xfe" + mac + b"\x08\x00" + ipv4(message, 1, host, SWITCH)


def arp_claim(address, mac=b"\x02\x09\x09\x09\x09\x09"):
    body = b"\x00\x01\x08\x00\x06\x04\x00\x01" + mac + address + bytes(6) + address
    return b"\xff" * 6 + mac + b"\x08\x06" + body + bytes(18)


def test_frames_with_the_switchs_address_end_at_their_port(make_bed, launch):
    """They reach no rank, are counted and reported with the port, and the address is defended."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    ear, own = hear(bed, 1), hear(bed, 0)
    group = bytes((239, 1, 0, 1))
    send(bed, 0, result_from(SWITCH, group), 5)
    send(bed, 0, arp_claim(SWITCH), 3)
    # Kernels take tags of VLAN 0 off, and would believe what is behind them.
    for tags in (b"\x81\0\0\0" * 2, b"\x88\xa8\0\0\x81\0\0\0", b"\x88\xa8\0\0"):
        for frame in (result_from(SWITCH, group), arp_claim(SWITCH)):
            send(bed, 0, frame[:12] + tags + frame[12:])
    bed.loop.wait(lambda: row(bed, "drops", port="w0", reason="own-address").get("packets") == 14,
                  LIMIT_S, "fourteen drops")
    bed.loop.wait(lambda: "port w0:" in said(bed) and "the switch's own address" in said(bed), LIMIT_S,
                  "the switch reports it")
    defence = arp_claim(SWITCH, b"\x02\x74\x0a\x4d\x00\xfe")[6:38].hex()
    bed.loop.wait(lambda: defence in own.text(), LIMIT_S, "the address is defended")
    # A frame of the sender's own shows that all before it have been dealt with.
    send(bed, 0, result_from(bytes((10, 77, 0, 1)), group, b"\x02\x09\x09\x09\x09\x0a"))
    bed.loop.wait(lambda: "02090909090a" in ear.text(), LIMIT_S, "an honest frame")
    assert "020909090909" not in ear.text()
    for worker in launch(bed).start([{"do": "allreduce", "count": 1000, "dtype": "int32"}]):
        worker.finish()


JOB_GROUP = bytes((239, 195, 0, 1))
HOST = bytes((10, 77, 0, 3))


def as_fragment(frame):
    """A later fragment of the same datagram: it shows no UDP port."""
    header = bytearray(frame[14:34])
    header[6:8], header[10:12] = (64).to_bytes(2), bytes(2)
    total = sum(int.from_bytes(header[i:i + 2]) for i in range(0, 20, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (0xFFFF - total).to_bytes(2)
    return frame[:14] + bytes(header) + frame[34:]


def test_rule18_a_jobs_group_is_closed_to_all_but_declared_senders(make_bed, launch):
    """Results that a rank forges, as itself or as the completion host, reach no other rank."""
    options = (("completion_hosts", ["ps0"]), ("notify", "direct"))
    host = {"name": "ps0", "address": worker_address(2), "port": "w2"}
    bed = make_bed("veth", 3, jobs=[Job(1, 2, options=options)], completion={"hosts": [host]})
    ear = hear(bed, 1)
    (link,) = json.loads(bed.fabric.namespace(1).run(["ip", "-json", "link", "show", "eth0"]))
    rank_1 = bytes.fromhex(link["address"].replace(":", ""))
    forged = {"sender-mismatch": 0, "wrong-ingress-port": 0}
    for source, reason in ((bytes((10, 77, 0, 1)), "sender-mismatch"), (HOST, "wrong-ingress-port")):
        result = result_from(source, JOB_GROUP)
        frames = [result, as_fragment(result), rank_1 + result[6:]]
        for tags in (b"\x91\0\0\0" * 2, b"\x88\xa8\0\0" + b"\x81\0\0\0" * 2, b"\x81\0\0\0"):
            frames += [frame[:12] + tags + frame[12:] for frame in frames[:2]]
        if source == HOST:
            frames += [arp_claim(HOST), arp_claim(HOST)[:12] + b"\x81\0\0\0" * 2 + arp_claim(HOST)[12:]]
        for frame in frames:
            send(bed, 0, frame)
        forged[reason] = len(frames)
    for reason, count in forged.items():
        bed.loop.wait(lambda reason=reason, count=count:
                      row(bed, "drops", port="w0", reason=reason).get("packets") == count,
                      LIMIT_S, f"{count} drops: {reason}")
    # The host's own frames pass, and show that all before them have been dealt with.
    send(bed, 2, result_from(HOST, JOB_GROUP, b"\x02\x09\x09\x09\x09\x0a"))
    bed.loop.wait(lambda: "02090909090a" in ear.text(), LIMIT_S, "the host is heard")
    assert "020909090909" not in ear.text()
    steps = [{"do": "allreduce", "count": 1000, "dtype": "int32"}]
    for worker in launch(bed).start(steps, ports=[0, 1]):
        worker.finish()


BPDU = b"\x01\x80\xc2\x00\x00\x00\x02\x09\x09\x09\x09\x09\x00\x26\x42\x42\x03" + bytes(43)


@pytest.mark.parametrize("rule", ("forward", "drop", "guard"))
def test_bpdus_follow_their_rule(make_bed, rule):
    """`forward`: neighbours find loops through the switch. `guard`: the port that hears one is down."""
    bed = make_bed("veth", 2, jobs=[], sections={"forwarding": {"bpdu": rule}})
    ear = hear(bed, 1)
    send(bed, 0, BPDU)
    if rule == "forward":
        bed.loop.wait(lambda: BPDU.hex() in ear.text(), LIMIT_S, "the neighbour hears it")
        return
    reason = {"drop": "bridge-reserved", "guard": "bpdu-guard"}[rule]
    bed.loop.wait(lambda: row(bed, "drops", port="w0", reason=reason), LIMIT_S, reason)
    assert BPDU.hex() not in ear.text()
    if rule == "guard":
        bed.loop.wait(lambda: row(bed, "ports", port="w0")["link"] == "down", LIMIT_S, "w0 is down")
        link = bed.fabric.namespace(0)

        def is_up_after_a_loss():
            """A loss that ends between two looks of the switch at its ports is none to it."""
            link.run(["ip", "link", "set", "eth0", "down"])
            for _ in range(5):
                row(bed, "ports", port="w0")
            link.run(["ip", "link", "set", "eth0", "up"])
            return any(row(bed, "ports", port="w0")["link"] == "up" for _ in range(20))

        bed.loop.wait(is_up_after_a_loss, LIMIT_S, "w0 is up")


# What neighbours say to each other in groups that no bridge forwards by itself: the key of its rule,
# the group's last byte, and the frame behind the sender's address.
NEIGHBOURS = {
    "lacp": (0x02, b"\x88\x09\x01\x01" + bytes(108)),
    "eapol": (0x03, b"\x88\x8e\x02\x01" + bytes(42)),
    "pdelay": (0x0E, b"\x88\xf7\x02\x02" + bytes(52)),
}


@pytest.mark.parametrize("rule", ("forward", "drop"))
def test_link_aggregation_authentication_and_time_follow_their_rules(make_bed, rule):
    """Dropped unless the file says `forward`: they are between two devices that share a link."""
    bed = make_bed("veth", 2, jobs=[], sections={"forwarding": {key: rule for key in NEIGHBOURS}})
    ear = hear(bed, 1)
    frames = [b"\x01\x80\xc2\x00\x00" + bytes((group,)) + b"\x02\x09\x09\x09\x09\x09" + rest
              for group, rest in NEIGHBOURS.values()]
    for frame in frames:
        send(bed, 0, frame)
    if rule == "forward":
        for frame in frames:
            bed.loop.wait(lambda frame=frame: frame.hex() in ear.text(), LIMIT_S, "the neighbour hears it")
        return
    bed.loop.wait(lambda: row(bed, "drops", port="w0", reason="bridge-reserved").get("packets") == 3,
                  LIMIT_S, "three drops")
    assert not any(frame.hex() in ear.text() for frame in frames)


def test_checksums_that_were_left_to_an_interface_are_named_on_both_sides(make_bed):
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    bed.fabric.namespace(0).run(["ethtool", "-K", "eth0", "tx", "on"])
    words = ["--job", 1, "--size", 2, "--rank", 0, "--timeout", 1, "--address", bed.address(0)]
    rank = bed.start("rank", [binary(bed.build, "tributary"), "allreduce", *words, "--count", 10],
                     rank=0)
    assert rank.wait_exit(LIMIT_S) == 1
    assert "ethtool -K eth0 tx off" in "\n".join(rank.stderr), rank.describe()
    assert row(bed, "drops", port="w0", reason="checksum-offloaded")
    bed.loop.wait(lambda: "ethtool -K INTERFACE tx off" in said(bed), LIMIT_S, "the switch reports it")


def test_a_port_that_is_not_required_may_come_later(make_bed):
    """The switch starts without its interface, and opens the port when it is there."""
    bed = make_bed("veth", 2, jobs=[], port_options=[{}, {"required": False}])
    bed.switch.stop()
    switch = bed.fabric.switch_namespace
    switch.run(["ip", "link", "set", "w1", "name", "gone"])
    bed.switch.start()
    assert "is not required" in said(bed), said(bed)
    assert row(bed, "ports", port="w1")["link"] == "down"
    switch.run(["ip", "link", "set", "gone", "name", "w1"])
    switch.run(["ip", "link", "set", "w1", "up"])
    ping = ["ping", "-c", "1", "-W", "1", worker_address(1)]
    bed.loop.wait(lambda: bed.start("ping", ping, rank=0).wait_exit(LIMIT_S) == 0, LIMIT_S, "w1 passes frames")


def test_a_port_that_is_required_ends_the_start(make_bed):
    bed = make_bed("veth", 2, jobs=[])
    bed.switch.stop()
    bed.fabric.switch_namespace.run(["ip", "link", "set", "w1", "name", "gone"])
    with pytest.raises(Exception, match="No such device"):
        bed.switch.start()


def test_a_forged_answer_to_a_question_ends_no_epoch(make_bed, launch):
    """Neither from another host nor from the rank's own: both lack its nonce."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    releases = [bed.run / f"release{rank}" for rank in range(2)]
    for release in releases:
        os.mkfifo(release, 0o666)
    step = {"do": "allreduce", "count": 1000, "dtype": "int32"}
    workers = launch(bed).start(
        lambda rank: [step, {"do": "wait_fifo", "path": str(releases[rank])}, step])
    for worker in workers:
        worker.wait_event("step")
    member = row(bed, "members", job=1, rank=1)
    port, mac = int(member["address"].rsplit(":", 1)[1]), bytes.fromhex(member["mac"].replace(":", ""))
    epoch = row(bed, "jobs", job=1)["epoch"]
    send(bed, 0, port_unreachable(epoch, 1, 12345, port, mac), 2)
    send(bed, 1, port_unreachable(epoch, 1, 12345, port, mac), 3)
    send(bed, 1, port_unreachable(epoch + 1, 1, 12345, port, mac), 4)
    for link, reason, packets in (("w0", "sender-mismatch", 2), ("w1", "sender-mismatch", 3),
                                  ("w1", "stale-epoch", 4)):
        bed.loop.wait(lambda: row(bed, "drops", port=link, reason=reason).get("packets") == packets,
                      LIMIT_S, f"{packets} drops at {link} by {reason}")
    for release in releases:
        with open(release, "w", encoding="ascii"):
            pass
    for worker in workers:
        worker.finish()
