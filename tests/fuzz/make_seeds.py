#!/usr/bin/python3
"""Writes the seeds of the fuzz corpora: corpus/TARGET/seed-NAME, from the golden packets, the
example configurations, the simulation's scenarios, and a few bytes written by hand.

    tests/fuzz/make_seeds.py

What fuzzing adds to a corpus has other names and stays. The same tree gives the same seeds."""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
CORPUS = HERE / "corpus"
sys.path.insert(0, str(TOP / "tools/scapy"))

from connected_seeds import connected_queue_pairs  # noqa: E402
from scapy.layers.inet import ICMP, IP, UDP, fragment  # noqa: E402  (the path above is for the next one)
from scapy.layers.l2 import ARP, Dot1Q, Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from tributary_layer import Nonce, Tributary  # noqa: E402


def write(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{name}").write_bytes(data)


def golden_frames():
    for path in sorted((TOP / "tests" / "golden" / "packets").glob("*.hex")):
        yield path.stem, bytes.fromhex("".join(path.read_text().split()))


def udp_payload(frame):
    tagged = frame[12:14] == b"\x81\x00"
    return frame[46 if tagged else 42:]


def packets():
    for name, frame in golden_frames():
        if len(frame) > 2048:  # one largest chunk teaches nothing that a small one does not
            continue
        write("frame", name, frame)
        write("classify", name, frame)
        write("wire", name, udp_payload(frame))
        write("integrity", name, udp_payload(frame) + b"\x07\x01")


def host_frames():
    switch, host = bytes.fromhex("02740a4d00fe"), bytes.fromhex("020000000001")
    ips = bytes([10, 77, 0, 1]), bytes([10, 77, 0, 254])
    body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + host + ips[0] + bytes(6) + ips[1]
    arp = b"\xff" * 6 + host + b"\x08\x06" + body
    tagged = b"\xff" * 6 + host + b"\x81\x00\x00\x05\x08\x06" + body
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + 8, 0, 0, 64, 1, 0) + ips[0] + ips[1]
    echo = switch + host + b"\x08\x00" + ip + struct.pack(">BBHHH", 8, 0, 0, 1, 2) + b"pingpong"
    for name, frame in (("arp", arp), ("arp-tagged", tagged), ("echo", echo)):
        write("frame", name, frame)
        write("classify", name, frame)
    write("arp", "request", body)
    write("arp", "reply", body[:7] + b"\x02" + body[8:])


class Loop:
    """An input of packet_loop.cc, step by step."""

    PADDED = (0, 60, 590, 594, 1514, 1519, 9019, 20000)

    def __init__(self, start=0, rules=0):
        self.data = bytearray([start, rules])

    def arrive(self, frame, port=0, right=0, padded=0, kind=0, cuts=(), offset=0, flags=0, times=1):
        """`kind`: external 1, indirect 2, shared 4; `right`: epoch 1, CRC32C 2, checksums 4, what a connected
        queue pair and its ICRC need 8."""
        frame = bytes(frame)
        many = next(n for n in range(0xE0, 256) if n % 3 == port) if times > 1 else port
        self.data += struct.pack("<BBBBH", 0, many, right, padded, len(frame)) + frame
        self.data += bytes([kind, len(cuts)])
        left = max(len(frame), self.PADDED[padded])
        for cut in cuts:
            self.data += struct.pack("<B" if left + 1 <= 256 else "<H", cut)
            left -= cut
        self.data += bytes([offset, flags, 0]) + (b"\x05\x00" if flags == 4 else b"")
        return self

    def then(self, *choice):
        """5 clock, 6 link, 7 starve, 8 reload, 9 slow, and what each is asked."""
        self.data += bytes(choice)
        return self


def loop_frames():
    """Real ones, by name."""
    switch, everybody = "02:74:0a:4d:00:fe", "ff:ff:ff:ff:ff:ff"

    def to_switch(rank):
        return (Ether(src=f"02:00:00:00:01:{rank:02x}", dst=switch)
                / IP(src=f"10.77.0.{1 + rank}", dst="10.77.0.254"))

    def job(rank, header):
        return to_switch(rank) / UDP(sport=6000, dport=47000) / header

    def plain(to, sender=1, size=64):
        return Ether(src=f"02:00:00:00:00:{sender:02x}", dst=to, type=0x88B5) / bytes(size - 14)

    frames = {}
    for rank in (0, 1):
        frames[f"join{rank}"] = job(rank, Tributary(
            type="join", job=1, origin=rank, child=rank, fan_in=2, extensions=[Nonce(nonce=rank + 1)]))
        frames[f"sum{rank}"] = job(rank, Tributary(
            type="contribution", flags="last", job=1, epoch=1, origin=rank, child=rank, fan_in=2, covered=1,
            dtype="int32", reduce_op="sum")) / struct.pack("<16i", *range(16))
    frames["plain"] = plain(everybody)
    frames["back"] = plain("02:00:00:00:00:01", sender=2)
    frames["static"] = plain(everybody, sender=9)
    frames["long"] = plain(everybody, size=1500)
    frames["tagged"] = (Ether(src="02:00:00:00:00:01", dst=everybody) / Dot1Q(vlan=5, prio=3)
                        / Dot1Q(vlan=9, type=0x88B5) / bytes(46))
    frames["arp"] = Ether(src="02:00:00:00:00:01", dst=everybody) / ARP(
        hwsrc="02:00:00:00:00:01", psrc="10.77.0.1", pdst="10.77.0.254")
    frames["router"] = Ether(src="02:00:00:00:00:63", dst=switch) / ARP(
        op=2, hwsrc="02:00:00:00:00:63", psrc="10.77.0.99", hwdst=switch, pdst="10.77.0.254")
    frames["echo"] = to_switch(0) / ICMP(id=1, seq=2) / bytes(40)
    frames["lldp"] = bytes.fromhex("0180c200000e02000000000188cc"
                                   "0207040200000000010404056574680602007800 00".replace(" ", ""))
    return frames


def packet_loops():
    frames = loop_frames()
    right = 1 | 4
    pieces = [Ether(bytes(piece)) for piece in fragment(frames["echo"], fragsize=24)]
    groups = {name: data for name, data in group_frames().items() if name in ("igmp-11", "igmp-22", "mld-143")}
    shapes = {"linear": {}, "external": {"kind": 1}, "indirect": {"kind": 2, "offset": 3}, "shared": {"kind": 4},
              "cut": {"kind": 1, "cuts": (20, 0, 3)}, "empty": {"cuts": (0,)}, "no-headroom": {"kind": 1, "offset": 1},
              "marked": {"flags": 4}, "checked": {"flags": 1}, "bad": {"flags": 2}}
    for start in (0, 1, 16, 17 | 2 | 4):
        loop = Loop(start)
        for rank in (0, 1):
            loop.arrive(frames[f"join{rank}"], port=rank, right=4)
        for step in range(3):
            for rank in (0, 1):
                ranks_sum = frames[f"sum{rank}"].copy()
                ranks_sum[Tributary].op = ranks_sum[Tributary].seq = ranks_sum[Tributary].slot = step
                loop.arrive(ranks_sum, port=rank, right=right, kind=step, flags=step % 2)
        loop.then(5, 1).then(8, 64).then(5, 3)
        write("packet_loop", f"job-{start}", loop.data)
    for name, shape in shapes.items():
        for start, rules in ((0, 0), (17, 1), (16 | 4, 1 | 2 | 8 | 16 | 32)):
            loop = Loop(start, rules)
            for place, frame in enumerate(frames.values()):
                loop.arrive(frame, port=place % 3, right=right, **shape)
            write("packet_loop", f"{name}-{start}-{rules}", loop.data)
    for start in (16 | 4, 17 | 4):
        loop = Loop(start)
        for piece in pieces + pieces[:1] + pieces[1:][::-1]:
            loop.arrive(piece, right=4)
        write("packet_loop", f"fragments-{start}", loop.arrive(pieces[1]).then(5, 1).data)
    for start in (2, 16 | 2 | 1):
        loop = Loop(start, 1)
        for place, message in enumerate(list(groups.values()) * 2):
            loop.arrive(message, port=1 + place % 2, cuts=(40,) if place > 3 else ())
        write("packet_loop", f"groups-{start}", loop.data)
    busy = Loop(16).arrive(frames["back"], port=1).then(9, 2)
    for _ in range(8):
        busy.arrive(frames["plain"], times=40).arrive(frames["echo"], port=1, times=40)
    write("packet_loop", "slow", busy.then(9, 0).then(6, 1, 0).arrive(frames["plain"]).data)
    poor = Loop(0, 1).then(7, 1).arrive(frames["tagged"], port=1, kind=4).arrive(frames["join0"], right=4)
    write("packet_loop", "poor", poor.arrive(frames["plain"], cuts=(15,)).then(7).then(8, 255).data)
    sizes = Loop(0)
    for padded in range(8):
        for kind in (0, 1):
            sizes.arrive(frames["plain"], port=padded % 2, padded=padded, kind=kind)
    for size in (0, 1, 13, 14):
        sizes.arrive(bytes(frames["plain"])[:size], kind=1)
    write("packet_loop", "sizes", sizes.data)


def fragments():
    """For each fragment: microseconds, length, packet, and "its lengths are right"."""

    def fragment(offset, size, more, ident=1, pause=10):
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 0, ident, offset // 8 | more << 13, 64, 17, 0)
        packet = ip + bytes([10, 77, 0, 1, 10, 77, 0, 254]) + bytes(size)
        return struct.pack("<HB", pause, len(packet)) + packet + b"\x01"

    whole = [fragment(0, 40, 1), fragment(40, 40, 1), fragment(80, 7, 0)]
    cases = {
        "whole": whole,
        "backwards": whole[::-1],
        "twice": [whole[0], whole[0], *whole[1:]],
        "overlap": [whole[0], fragment(32, 16, 1)],
        "two-ends": [whole[2], fragment(96, 8, 0)],
        "late": [whole[0]] + [fragment(0, 8, 1, n, 4095) for n in range(2, 8)] + whole[1:],
        "flood": [fragment(0, 8, 1, n) for n in range(12)],
        "too-large": [fragment(65528, 8, 0), fragment(512, 16, 0)],
        "odd": [fragment(0, 9, 1), fragment(0, 0, 1)],
    }
    for name, pieces in cases.items():
        write("fragments", name, b"\x00" + b"".join(pieces))
    for mtu in (28, 100, 255):
        write("fragments", f"cut-{mtu}", b"\x01" + struct.pack("<HHH", mtu - 28, 7, 300) + bytes(60))


def ones_complement(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def group_frames():
    """Reports, queries and leaves, of IGMP and MLD, and IPv6 with extension headers."""
    host, group = bytes.fromhex("020000000001"), bytes([224, 1, 2, 3])

    def igmp(body):
        body = body[:2] + struct.pack(">H", ones_complement(body)) + body[4:]
        head = struct.pack(">BBHHHBBH", 0x46, 0, 24 + len(body), 0, 0, 1, 2, 0)
        head += bytes([10, 0, 0, 1]) + group + bytes([0x94, 4, 0, 0])
        head = head[:10] + struct.pack(">H", ones_complement(head)) + head[12:]
        return bytes.fromhex("01005e010203") + host + b"\x08\x00" + head + body

    def ipv6(protocol, payload):
        addresses = bytes.fromhex("fe80" + "00" * 13 + "01" + "ff02" + "00" * 13 + "16")
        head = struct.pack(">IHBB", 0x60000000, len(payload), protocol, 1) + addresses
        return bytes.fromhex("333300000016") + host + b"\x86\xdd" + head + payload, addresses

    def mld(body):
        _, addresses = ipv6(0, b"")
        pseudo = addresses + struct.pack(">II", len(body), 58)
        body = body[:2] + struct.pack(">H", ones_complement(pseudo + body)) + body[4:]
        return ipv6(0, bytes([58, 0, 5, 2, 0, 0, 1, 0]) + body)[0]

    group6 = bytes.fromhex("ff05" + "00" * 13 + "77")
    frames = {f"igmp-{kind:02x}": igmp(struct.pack(">BBH", kind, 0, 0) + group)
              for kind in (0x11, 0x12, 0x16, 0x17)}
    frames["igmp-22"] = igmp(struct.pack(">BBHHH", 0x22, 0, 0, 0, 2)
                             + b"\x02\x00\x00\x00" + group
                             + b"\x03\x00\x00\x01" + group + bytes([10, 0, 0, 9]))
    frames |= {f"mld-{kind}": mld(struct.pack(">BBHI", kind, 0, 0, 0) + group6)
               for kind in (130, 131, 132)}
    frames["mld-143"] = mld(struct.pack(">BBHHH", 143, 0, 0, 0, 1) + b"\x04\x00\x00\x00" + group6)
    extensions = bytes([43, 0] + [0] * 6 + [44, 0] + [0] * 6 + [17, 0, 0, 1] + [0] * 4)
    frames["ipv6-extensions"] = ipv6(0, extensions + struct.pack(">HHHH", 1, 2, 8, 0))[0]
    for name, frame in frames.items():
        write("groups", name, frame)
        write("classify", name, frame)
    return frames


def lldp_messages():
    """What switches and hosts say of themselves (IEEE 802.1AB), and what they may not say."""

    def tlv(kind, value):
        return struct.pack(">H", kind << 9 | len(value)) + value

    head = tlv(1, bytes.fromhex("04020000000001")) + tlv(2, b"\x05eth0") + tlv(3, b"\x00\x78")
    more = tlv(4, b"uplink") + tlv(5, b"leaf1") + tlv(6, b"Linux\n6.1") + tlv(7, bytes(4))
    addresses = tlv(8, bytes([5, 1, 10, 0, 0, 1, 2, 0, 0, 0, 1, 0]))
    addresses += tlv(8, bytes([17, 2]) + bytes(16) + bytes([2, 0, 0, 0, 1, 0]))
    messages = {
        "least": head + tlv(0, b""),
        "goodbye": head[:-1] + b"\x00" + tlv(0, b""),
        "all": head + more + addresses + tlv(127, b"\x00\x12\x0f\x01") + tlv(0, b""),
        "addresses": tlv(1, bytes([5, 1, 10, 0, 0, 1])) + tlv(2, bytes([4, 1, 10, 0, 0, 2])) + head[-4:],
        "twice": head + tlv(5, b"a") + tlv(5, b"b") + tlv(0, b""),
        "cut": head + struct.pack(">H", 5 << 9 | 200) + b"short",
    }
    for name, body in messages.items():
        write("lldp", name, body)
    frame = bytes.fromhex("0180c200000e 020000000001 88cc".replace(" ", "")) + messages["all"]
    write("classify", "lldp", frame)


def roce_packets():
    """A packet of each kind of RoCEv2, and what rdma_cm asks."""
    deth = struct.pack(">II", 0x01234567, 0x11)
    reth = struct.pack(">QII", 1 << 40, 7, 64)
    lead = bytes(10) + bytes.fromhex("0103") + bytes(52)
    mad = bytearray(256)
    mad[0:4], mad[8:18], mad[24:28] = bytes([1, 7, 2, 3]), bytes(range(1, 9)) + b"\0\x17", b"\0\0\0\4"
    mad[32:40], mad[41], mad[76:88] = struct.pack(">Q", 0x1110000 | 47000), 0x40, b"TRB1" + struct.pack(">II", 1, 0)
    kinds = {
        "ud": (0x64, 0x40, deth + lead), "ud-immediate": (0x65, 0, deth + bytes(4) + lead),
        "ud-pad": (0x64, 0x70, deth + b"hello" + bytes(3)), "sidr": (0x64, 0, deth + bytes(mad)),
        "rc-write": (0x0A, 0x40, reth + bytes(64)), "uc-write-last": (0x29, 0, bytes(4 + 64)),
        "rc-acknowledge": (0x11, 0, b"\x1f\0\0\3"), "cnp": (0x81, 0x40, bytes(16)),
        "read": (0x0C, 0, reth), "reserved": (0x55, 0, bytes(16)), "pad-of-nothing": (0x64, 0x70, deth),
    }
    for name, (opcode, flags, rest) in kinds.items():
        head = bytes([opcode, flags]) + b"\xff\xff\0" + (0x800001).to_bytes(3, "big") + b"\0\xff\xff\xff"
        packet = head + rest + bytes(4)
        write("roce", name, packet)
        frame = Ether(src="02:00:00:00:00:01", dst="02:74:0a:4d:00:fe") / IP(src="10.77.0.1", dst="10.77.0.254")
        write("classify", "roce-" + name, bytes(frame / UDP(sport=0xC001, dport=4791, chksum=0) / Raw(packet)))


def yaml_files():
    for path in sorted((TOP / "examples").glob("*.yaml")):
        write("config", path.stem, path.read_bytes())
    every_key = """name: s
ipv4: 10.0.0.1
mac: 02:00:00:00:00:01
udp_base_port: 47000
slots: 64
lcore: 1
idle_sleep_max: 1us
memory: {hugepages: true, megabytes: 64}
ports: [{name: a, devargs: "net_null0", mtu: 1500}, {name: b, devargs: 'net_null1'}]
jobs:
  - {id: 1, name: j, workers: 2, window: 8, chunk_bytes: 64, shards: 2, deadline: 1s, lease: 500ms,
     integrity: crc32c, members: [{rank: 0, port: a}]}
forwarding: {fdb_entries: 16, fdb_ageing: 1s, static_macs: [{mac: 02:00:00:00:00:02, port: b}]}
metrics_listen: 127.0.0.1:9100
control_socket: /run/c.sock
"""
    write("config", "every-key", every_key.encode())
    switching = """switch: {address: 10.0.0.1}
ports:
  - {name: a, devargs: net_null0, vlan: {mode: access, id: 10}, storm: {broadcast: 5}, max_addresses: 9}
  - {name: b, devargs: net_null1, vlan: {mode: trunk, allowed: [10, 100-199], native: 7}}
forwarding: {snooping: {enabled: true, groups: 64, membership: 9s, router_ports: [b], host_ports: [a], flood_unknown: false}, lldp: {enabled: true, interval: 5s, hold: 2}}
acl:
  default: deny
  rules:
    - {name: x, action: allow, port: a, vlan: 1-9, source: 10.0.0.0/8, protocol: tcp, destination_ports: 80}
    - {destination: "2001:db8::/32", ether_type: ipv6, protocol: 89}
    - {action: allow, ether_type: 0x88b5}
"""
    write("config", "switching", switching.encode())
    for path in sorted((TOP / "tests" / "sim" / "scenarios").glob("*.yaml")):
        write("scenario", path.stem, path.read_bytes())


def texts():
    for number, text in enumerate((
            "memif:///run/s.sock?id=3&switch=10.77.0.254&port=47000&ip=10.78.0.1",
            "net_memif0,socket=/run/s.sock,role=server,bsize=9728,id=0",
            "net_af_packet0,iface=ve0,framesz=4096,blocksz=8192,framecnt=512", "0000:01:00.0,a=b",
            "10.0.0.1", "02:00:00:00:00:01", "100ms", "-12", "[::1]:9100")):
        write("text", str(number), text.encode())
    for number, line in enumerate((
            '{"command":"show","what":"ports"}', '{"command":"show"}', '{"command":7,"what":[]}',
            '{"command":"show","what":"ports","x":1}', '[1e9999, "\\ud800"]', '"',
            '{"command":"set","values":{"ports.w0.storm.broadcast":"7","jobs.1.lease":null}}')):
        write("control_request", str(number), line.encode())


def npy():
    def file(header, data, version=1):
        length = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\x93NUMPY" + bytes([version, 0]) + length + header + data
    plain = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"
    write("npy", "float32", file(plain, bytes(16)))
    write("npy", "version2", file(plain.replace(b"f4", b"i4"), bytes(16), 2))
    write("npy", "scalar", file(plain.replace(b"(2, 2)", b"()"), bytes(4)))
    write("npy", "fortran", file(plain.replace(b"False", b"True").replace(b"2, 2", b"1,"), bytes(4)))
    write("npy", "empty", file(plain.replace(b"2, 2", b"0, 9"), b""))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def checkpoints():
    """As checkpoint.cc expects them: the first byte chooses the model."""
    def file(choice, step=7):
        adam, momentum = choice & 1, choice >> 1 & 1
        planes = 3 if adam else 1 + momentum
        arrays, elements = 1 + (choice >> 2 & 3), 1 + (choice >> 4)
        head = b"TRIBMODL" + struct.pack("<IIQIIII", 1, 7, step, 1 + adam, planes, arrays, 0)
        head += struct.pack("<I", elements) * arrays + bytes(4 * (arrays % 2))
        body = head + bytes(range(4 * planes * arrays * elements))
        return bytes([choice]) + body + struct.pack("<I", crc32c(body))
    for choice in (0, 1, 2, 0x1D, 0x36):
        write("checkpoint", f"model-{choice}", file(choice))
    whole = file(1)
    write("checkpoint", "truncated", whole[:-9])
    write("checkpoint", "flipped", whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    write("checkpoint", "empty", b"\x01")


def pool_inputs():
    def frame(kind, body):
        return struct.pack("<IH", 2 + len(body), kind) + body
    entry = struct.pack("<QQII", 3, 4096, 100, 7)
    for name, kind, body in (
            ("hello", 1, struct.pack("<II", 1, 4) + b"pool" + bytes(24)), ("proof", 3, bytes(33)),
            ("entries", 6, struct.pack("<QBI", 9, 1, 2) + entry * 2),
            ("lookup", 7, struct.pack("<I2Q", 2, 1, 5)), ("command", 11, struct.pack("<BQQ", 1, 0, 9)),
            ("status", 12, b""), ("operate", 15, bytes(range(32))),
            ("long-list", 7, struct.pack("<I", 0x20000001) + bytes(8))):
        write("pool_message", name, frame(kind, body))
    def shard(records, size):
        return struct.pack("<I", 2) + b"s0" + struct.pack("<QQQ", size, 1, records)
    for name, form, records, record_bytes, entries in (
            ("files", 0, 1, 0, b""), ("fixed", 1, 4, 100, b""),
            ("tar", 2, 2, 0, struct.pack("<QIIQII", 0, 1024, 0, 1024, 512, 0))):
        listed = shard(records, 4096)
        head = b"TRBPOOL1" + struct.pack("<IIQQQQQQ", form, 1, records, record_bytes, 0, len(listed), 0, 0)
        write("pool_manifest", name, head + listed + entries)
    member = bytearray(512)
    member[0:5], member[124:136], member[156:157] = b"a.txt", b"00000000004\0", b"0"
    member[148:156] = b" " * 8
    member[148:156] = b"%06o\0 " % sum(member)
    write("pool_manifest", "member", bytes(member) + b"data" + bytes(508 + 1024))


def telemetry_wire():
    """A choice, a marking (port, by DSCP or not), then a frame, a report or an IPv6 packet."""
    port = struct.pack("<HB", 5000, 0)
    udp = bytes.fromhex("9c40138800240000")
    stack = bytes.fromhex("14052328200001079000000000000000") + bytes.fromhex("0000001100000022")
    ip = bytes.fromhex("450000380000400040110000" "0a0000010a000002")
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", ~total & 0xFFFF) + ip[12:]
    udp = udp[:4] + struct.pack(">H", 36) + udp[6:]
    packet = ip + udp + stack + b"data"
    choices = struct.pack("<HBH", 0x9000, 8, 1500)
    ether = bytes(12) + b"\x08\x00"
    write("telemetry_wire", "marked", b"\x00" + port + choices + ether + packet)
    write("telemetry_wire", "insert", b"\x00" + struct.pack("<HB", 5001, 0) + choices + ether + packet)
    head = bytes.fromhex("22000001000000071413022050000000000000000001000200000003")
    write("telemetry_wire", "report", b"\x01" + port + head + packet)
    trailer = bytes.fromhex("020b000054520001") + struct.pack(">Q", 77) + bytes(range(32))
    write("telemetry_wire", "signed", b"\x01" + port + head[:9] + b"\x12" + head[10:] + packet + trailer)
    trace = bytes.fromhex("600000000018003d") + bytes(32) + bytes.fromhex("3b020100310e0000007b08028000000000")
    write("telemetry_wire", "ioam", b"\x02" + struct.pack("<H", 123) + trace + bytes(16))


def memif_clients():
    """Honest until they are connected; then they send, offer, and lie."""
    for queues in (1, 2):
        connected = bytes([queues - 1]) + bytes(3 + 2 * queues)
        for stride in (3, 5, 11):
            write("packet_memif", f"client-{queues}-{stride}",
                  connected + bytes(stride * i * (i + 3) % 251 for i in range(1200)))


def patterns():
    ramp = bytes(range(256))
    for target in ("wire_build", "c_api", "fdb", "engine", "engine_tree", "completion", "servers",
                   "session", "network", "memif_control", "memif_rings", "checksum", "pool_segment",
                   "packet_memif"):
        write(target, "ramp", ramp)
        write(target, "zero", bytes(64))
    # Nobody lies in these: see step().
    for step in (3, 7, 11):
        choices = bytes(step * i // 4 % 19 for i in range(900))
        write("servers", f"honest-{step}", choices.replace(b"\x0a", b"\x0b"))
    for dtype in range(13):
        for op in (dtype % 11, 0):
            choices = bytes([dtype, op, dtype + op, 37, 0, 3, 5, 2, 9])
            write("reduce", f"{dtype}-{op}", choices + ramp[::7])


if __name__ == "__main__":
    packets()
    host_frames()
    packet_loops()
    connected_queue_pairs(Loop, write)
    fragments()
    group_frames()
    lldp_messages()
    roce_packets()
    yaml_files()
    texts()
    npy()
    checkpoints()
    pool_inputs()
    telemetry_wire()
    memif_clients()
    patterns()
