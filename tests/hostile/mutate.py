"""Mutations of messages, and the checksums that make mutated frames be looked at."""

import struct
import zlib

_INTERESTING = (0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 127, 128, 255, 256, 1023, 1024, 4095, 4096, 32767, 32768,
                65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)


def mutate(random, data, first=0):
    """A copy with one to six changes behind byte `first`: bits, bytes, numbers, lengths, repeats."""
    out = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        if len(out) <= first:
            out += random.randbytes(8)
        at = random.randrange(first, len(out))
        kind = random.randrange(9)
        if kind == 0:
            out[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            out[at] = random.randrange(256)
        elif kind in (2, 3):
            size = random.choice((1, 2, 4, 8))
            number = random.choice(_INTERESTING) % 256**size
            out[at:at + size] = number.to_bytes(size, random.choice(("big", "little")))
        elif kind == 4:
            del out[at:]
        elif kind == 5:
            del out[at:at + random.randrange(1, 20)]
        elif kind == 6:
            out[at:at] = random.randbytes(random.randrange(1, 40))
        elif kind == 7:
            there = random.randrange(first, len(out))
            out[at:at + 16] = out[there:there + 16]
        else:
            out += random.randbytes(random.choice((1, 3, 4, 64, 1000)))
    return bytes(out)


def _sum(data, total=0):
    if len(data) % 2:
        data += b"\0"
    total += sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def _not(total):
    return struct.pack(">H", 0xFFFF - total)


def repair(frame, lengths=False):
    """The frame with right checksums of IPv4, UDP and ICMP, and ICRC of RoCEv2; with `lengths`, right lengths
    of IPv4 and UDP as well. Other frames as they are."""
    at = 14
    while frame[at - 2:at] == b"\x81\x00":
        at += 4
    if frame[at - 2:at] != b"\x08\x00" or len(frame) < at + 20 or frame[at] != 0x45:
        return frame
    ip, body = bytearray(frame[at:at + 20]), bytearray(frame[at + 20:])
    if lengths:
        ip[2:4] = struct.pack(">H", (20 + len(body)) & 0xFFFF)
    ip[10:12] = b"\0\0"
    ip[10:12] = _not(_sum(bytes(ip)))
    total = struct.unpack(">H", ip[2:4])[0] - 20
    if ip[9] == 17 and 8 <= total <= len(body):
        if lengths:
            body[4:6] = struct.pack(">H", total)
        if body[2:4] == b"\x12\xb7" and total >= 24:
            body[total - 4:total] = _icrc(bytes(ip), bytes(body[:total - 4]))
        if body[6:8] != b"\0\0":
            body[6:8] = b"\0\0"
            pseudo = bytes(ip[12:20]) + struct.pack(">HH", 17, total)
            body[6:8] = _not(_sum(bytes(body[:total]), _sum(pseudo)))
            if body[6:8] == b"\0\0":
                body[6:8] = b"\xff\xff"
    elif ip[9] == 1 and 4 <= total <= len(body):
        body[2:4] = b"\0\0"
        body[2:4] = _not(_sum(bytes(body[:total])))
    return bytes(frame[:at] + ip + body)


def _icrc(ip, udp):
    """InfiniBand's invariant CRC: what routers change counts as ones."""
    head = bytearray(b"\xff" * 8 + ip + udp)
    head[8 + 1] = head[8 + 8] = 0xFF
    head[8 + 10:8 + 12] = head[8 + 26:8 + 28] = b"\xff\xff"
    head[8 + 28 + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(bytes(head)))


def udp_frame(payload, source="10.77.0.1", destination="10.77.0.254", port=47000,
              mac=b"\x02\x00\x00\x00\x00\x01", to=b"\x02\x74\x0a\x4d\x00\xfe"):
    """A whole frame around a datagram."""
    addresses = b"".join(bytes(map(int, a.split("."))) for a in (source, destination))
    udp = struct.pack(">HHHH", 40001, port, 8 + len(payload), 0xFFFF) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + addresses
    return repair(to + mac + b"\x08\x00" + ip + udp)
