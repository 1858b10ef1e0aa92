"""Packet descriptions (the JSON of wire_json.h) to and from frames, through the Scapy layer."""
import os
import socket
import struct
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools", "scapy"))

from scapy.all import IP, UDP, Dot1Q, Ether, Raw  # noqa: E402
import tributary_layer as layer  # noqa: E402

HEADER_FIELDS = ["type", "flags", "job", "epoch", "attempt", "seed_generation", "op", "chunk",
                 "seq", "slot", "origin", "child", "fan_in", "covered", "dtype", "reduce_op",
                 "element_count", "scale_exponent", "encoding", "collective", "ttl", "shard",
                 "plane", "stream", "reason"]
CLASSES = {"missing_ids": layer.MissingIds, "task_information": layer.TaskInformation,
           "result_info": layer.ResultInfo, "nonce": layer.Nonce, "crc32c": layer.Crc32c,
           "start_info": layer.StartInfo, "target_rank": layer.TargetRank,
           "drain": layer.Drain, "name": layer.Name, "value_info": layer.ValueInfo,
           "open_job": layer.OpenJob, "run_id": layer.RunId}
OP_FIELDS = ["total_elements", "rank", "element_count", "dtype", "reduce_op", "collective", "last",
             "target", "scale_exponent", "encoding"]


def dotted(number):
    return socket.inet_ntoa(struct.pack(">I", number))


def number(text):
    return struct.unpack(">I", socket.inet_aton(text))[0]


def mac(digits):
    return ":".join(digits[i:i + 2] for i in range(0, 12, 2))


def extension(name, values):
    """Scapy object of one entry of extension_list."""
    if name == "raw":
        return layer.OpaqueExtension(critical=values["type_byte"] >> 7,
                                     ext=values["type_byte"] & 0x7F, inline=values["inline"],
                                     data=bytes.fromhex(values["data"]))
    if name == "error":
        return layer.OpError(**{side + "_" + f: values[side][f]
                                for side in ("expected", "got") for f in OP_FIELDS})
    values = dict(values)
    if "group_ipv4" in values:
        values["group_ipv4"] = dotted(values["group_ipv4"])
    return CLASSES[name](**values)


def to_frame(d):
    """Bytes of the frame that a description stands for."""
    tagged = d["vlan_tci"] is not None
    frame = Ether(dst=mac(d["destination"]), src=mac(d["source"]))
    if tagged:
        tci = d["vlan_tci"]
        frame /= Dot1Q(prio=tci >> 13, id=tci >> 12 & 1, vlan=tci & 0xFFF)
    frame /= IP(src=dotted(d["source_ip"]), dst=dotted(d["destination_ip"]), id=0, flags="DF",
                ttl=64, tos=3 if d["congestion_experienced"] else 0)
    frame /= UDP(sport=d["source_port"], dport=d["destination_port"],
                 chksum=None if d["udp_checksum"] else 0)
    frame /= layer.Tributary(extensions=[extension(n, v) for n, v in d["extension_list"]],
                             **d["header"])
    if d["payload"]:
        frame /= Raw(bytes.fromhex(d["payload"]))
    return bytes(frame)


def describe_extension(e):
    """(name, values) of a dissected extension; None for what version 1 gives no layout."""
    if isinstance(e, layer.OpError):
        return "error", {side: {f: getattr(e, side + "_" + f) for f in OP_FIELDS}
                         for side in ("expected", "got")}
    for name, cls in CLASSES.items():
        if type(e) is cls:
            skip = {"critical", "ext", "words", "inline", "count", "reserved", "crc", "length",
                    "pad"}
            values = {f.name: getattr(e, f.name) for f in cls.fields_desc if f.name not in skip}
            if "group_ipv4" in values:
                values["group_ipv4"] = number(values["group_ipv4"])
            if isinstance(e, layer.Name):
                values["text"] = values["text"].decode()
            return name, values
    return None


def from_frame(frame):
    """Description of a frame, as wire_tool parse prints it; checksums must be right."""
    p = Ether(frame)
    packet, udp, ip = p[layer.Tributary], p[UDP], p[IP]
    if packet.crc_ok() is False:
        raise ValueError("CRC32C is wrong")
    if udp.chksum:
        rebuilt = p.copy()
        rebuilt[UDP].chksum = None
        if Ether(bytes(rebuilt))[UDP].chksum != udp.chksum:
            raise ValueError("UDP checksum is wrong")
    tag = p.getlayer(Dot1Q)
    return {
        "destination": p.dst.replace(":", ""), "source": p.src.replace(":", ""),
        "vlan_tci": None if tag is None else tag.prio << 13 | tag.id << 12 | tag.vlan,
        "source_ip": number(ip.src), "destination_ip": number(ip.dst),
        "source_port": udp.sport, "destination_port": udp.dport,
        "udp_checksum": udp.chksum != 0, "congestion_experienced": ip.tos & 3 == 3,
        "header": {f: int(getattr(packet, f)) for f in HEADER_FIELDS},
        "extensions": dict(filter(None, map(describe_extension, packet.extensions))),
        "payload": bytes(packet.payload).hex(),
    }


def expected(d):
    """What both decoders must say of the frame of a description."""
    e = {k: v for k, v in d.items() if k != "extension_list"}
    e["extensions"] = {n: v for n, v in d["extension_list"] if n != "raw"}
    return e
