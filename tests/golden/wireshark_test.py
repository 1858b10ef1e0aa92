"""Wireshark, with the packaged dissector, reads every golden packet as its description has it.

Further captures say what it tells about packets of one chunk together, and about bad ones."""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import generate  # noqa: E402
import scapy_codec as codec  # noqa: E402
import tributary_layer as layer  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

SCRIPT = os.path.join(TOP, "packaging/wireshark/tributary.lua")
NOTES = ("resend", "late", "asked_again", "escalated", "congestion", "degraded", "overflow",
         "refused", "aborted", "dropped", "bad_crc", "cut")


def dissect(frames, fields, *options, snap=65535):
    """A dictionary for each frame: the fields that it has, each a list of texts.

    snap: bytes of each frame that the capture keeps."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, frame in enumerate(frames):
            kept = frame[:snap]
            file.write(struct.pack("<IIII", 1, number * 1000, len(kept), len(frame)) + kept)
        file.flush()
        command = ["tshark", "-r", file.name, "-2", "-X", "lua_script:" + SCRIPT, "-T", "fields",
                   "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;", *options]
        for field in fields:
            command += ["-e", field]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    if "Lua" in done.stderr:
        raise AssertionError(done.stderr)
    return [{field: text.split(";") for field, text in zip(fields, line.split("|")) if text}
            for line in done.stdout.splitlines()]


def numbers(texts):
    return [int(text, 0) for text in texts]


def expert(name):
    return "tributary.expert." + name


class Golden(unittest.TestCase):
    maxDiff = None

    def test_every_field_of_every_packet(self):
        header = ["tributary." + name for name in codec.HEADER_FIELDS]
        extra = ["tributary.version", "tributary.payload", "tributary.ext.type",
                 "tributary.crc32c.good", "_ws.malformed", "_ws.lua.error", expert("dropped"),
                 expert("bad_crc"), "_ws.col.Protocol"]
        frames = [codec.to_frame(d) for d in generate.GOLDEN.values()]
        shown = dissect(frames, header + extra)
        self.assertEqual(len(shown), len(frames))
        for (name, description), got in zip(generate.GOLDEN.items(), shown):
            with self.subTest(name):
                self.assertEqual(got["_ws.col.Protocol"], ["Tributary"])
                for field in ("_ws.malformed", "_ws.lua.error", expert("dropped"),
                              expert("bad_crc")):
                    self.assertNotIn(field, got)
                for field, value in description["header"].items():
                    self.assertEqual(numbers(got["tributary." + field]), [value], field)
                payload = "".join(got.get("tributary.payload", [])).replace(":", "")
                self.assertEqual(payload, description["payload"])
                kinds = [kind for kind, _ in description["extension_list"]]
                if "crc32c" in kinds:
                    self.assertEqual(got["tributary.crc32c.good"], ["1"])
                seen = [t for t in numbers(got.get("tributary.ext.type", [])) if t != 0]
                self.assertEqual(len(seen), len(kinds))

    def test_extensions(self):
        wanted = {
            "join_run": {"run_id": [0xFEDCBA9876543211]},
            "join_open": {"open.units": [2], "open.nodes": [3], "open.window": [64],
                          "open.chunk_bytes": [1024]},
            "pending_join": {"nonce": [0x0123456789ABCDEF], "missing.count": [2],
                             "missing.id": [1, 3]},
            "start": {"start.window": [64], "start.chunk_bytes": [1024], "start.workers": [4],
                      "start.lease_ms": [10000], "start.udp_base_port": [47000]},
            "start_direct": {"start.notify": [2], "start.host_term": [3],
                             "start.host_udp_port": [52001]},
            "nack_taken": {"nack.holder_udp_port": [41234]},
            "contribution_reduce": {"task.total_elements": [1 << 40], "task.workers": [4],
                                    "task.nodes": [2], "target_rank": [0xFFFFFFFF]},
            "aggregate": {"bitmap.base": [32], "bitmap.word": [0xF0F0F0F0, 1],
                          "result_info.window": [128],
                          "result_info.effective_from_seq": [0xFFFFFF00],
                          "result_info.host_term": [3], "result_info.seed_generation": [9]},
            "lease_drain_end": {"drain.step": [6], "drain.id": [0xFEDCBA9876543210],
                                "drain.op": [42], "drain.by": [7]},
            "data": {"name.length": [35], "value.digest": [0x44BC2CF5AD770999],
                     "value.bytes": [3], "value.segments": [1],
                     "value.whole": [0x44BC2CF5AD770999], "value.lifetime_ms": [3600000]},
            "abort_mismatch": {"error.expected.total_elements": [1000],
                               "error.got.total_elements": [(1 << 64) - 1],
                               "error.got.rank": [0xFFFFFFFF], "error.got.dtype": [3],
                               "error.got.reduce_op": [11], "error.got.collective": [5],
                               "error.got.last": [1], "error.got.target": [3],
                               "error.got.encoding": [1]},
        }
        fields = sorted({"tributary." + f for of in wanted.values() for f in of})
        shown = dissect([codec.to_frame(generate.GOLDEN[name]) for name in wanted], fields)
        for (name, values), got in zip(wanted.items(), shown):
            for field, value in values.items():
                with self.subTest(f"{name}: {field}"):
                    self.assertEqual(numbers(got["tributary." + field]), value)

    def test_header_fields_that_mean_an_address(self):
        """Shown where they are one, and nowhere else."""
        fields = ["tributary.start.host_udp_port", "tributary.nack.holder", "tributary.nack.holder_udp_port"]
        shown = dissect([codec.to_frame(d) for d in generate.GOLDEN.values()], fields)
        found = {name: list(got.values()) for name, got in zip(generate.GOLDEN, shown) if got}
        self.assertEqual(found, {"start_direct": [["52001"]], "nack_taken": [["10.77.0.11"], ["41234"]]})

    def test_names_are_the_protocols(self):
        """The tables of the dissector are those of the Scapy layer, which others compare."""
        with open(SCRIPT, encoding="utf-8") as file:
            text = file.read()
        flags = [name for name in layer.FLAGS if not name.startswith("bit")]
        tables = {"TYPES": layer.PACKET_TYPES, "FLAGS": dict(enumerate(flags)),
                  "DTYPES": layer.DTYPES, "REDUCE_OPS": layer.REDUCE_OPS,
                  "ENCODINGS": layer.ENCODINGS, "COLLECTIVES": layer.COLLECTIVES,
                  "REASONS": layer.REASONS, "EXTENSIONS": layer.EXTENSION_TYPES}
        program = text[text.index("local TYPES"):text.index("-- Fields")].replace("local ", "")
        for name in tables:
            program += f"for k, v in pairs({name}) do print('{name}', k, v) end\n"
        done = subprocess.run(["lua5.4", "-e", program], capture_output=True, text=True,
                              check=True, timeout=60)
        found = {name: {} for name in tables}
        for line in done.stdout.splitlines():
            name, number, value = line.split("\t")
            found[name][int(number)] = value
        self.assertEqual(found, tables)


def data(**fields):
    return generate.packet("contribution", [], generate.ints(1, 2), "int32", covered=1, **fields)


def result(**fields):
    return generate.packet("result", [], generate.ints(1, 2), "int32", to_group=True, covered=4,
                           **fields)


class Chunk(unittest.TestCase):
    """Packets of one capture, together."""

    def shown(self, *packets):
        fields = ["tributary.conversation", "tributary.result_in", "tributary.opened_in",
                  "tributary.since_opened", *map(expert, NOTES)]
        return dissect([codec.to_frame(p) for p in packets], fields)

    def notes(self, got):
        return {name for name in NOTES if expert(name) in got}

    def test_contributions_and_results_name_each_other(self):
        chunk = {"op": 42, "chunk": 3, "seq": 9}
        shown = self.shown(data(origin=0, **chunk), data(origin=1, op=42, chunk=4, seq=10),
                           data(origin=1, **chunk), generate.packet("probe", origin=0, **chunk),
                           result(**chunk), data(origin=2, **chunk))
        self.assertEqual([got["tributary.conversation"] for got in shown], [["1/7/42"]] * 6)
        self.assertEqual([got.get("tributary.result_in") for got in shown],
                         [["5"], None, ["5"], ["5"], None, ["5"]])
        self.assertEqual([got.get("tributary.opened_in") for got in shown],
                         [None, None, ["1"], ["1"], ["1"], ["1"]])
        self.assertEqual(float(shown[4]["tributary.since_opened"][0]), 0.004)
        self.assertEqual([self.notes(got) for got in shown], [set()] * 5 + [{"late"}])

    def test_expert_infos(self):
        flag = generate.flag
        for packet, notes in (
                (data(flags=flag("resend")), {"resend"}),
                (data(flags=flag("ce", "last")), {"congestion"}),
                (result(flags=flag("degraded")), {"degraded"}),
                (result(flags=flag("overflow")), {"overflow"}),
                (generate.packet("unknown"), {"asked_again"}),
                (generate.packet("escalation", reason=3), {"escalated"}),
                (generate.packet("nack", reason=16), {"refused"}),
                (generate.packet("abort", reason=32), {"aborted"}),
                (data(), set())):
            with self.subTest(packet["header"]):
                self.assertEqual(self.notes(self.shown(packet)[0]), notes)

    def test_bad_packets_say_why_a_receiver_drops_them(self):
        short = data()
        short["header"]["element_count"] = 3
        unknown = generate.packet("probe", [generate.raw(0xFE, 0, b"data")])
        flags = data(flags=1 << 30)
        good = codec.to_frame(generate.GOLDEN["crc32c_only"])
        flipped = good[:-1] + bytes([good[-1] ^ 1])
        cut = codec.to_frame(generate.GOLDEN["start"])
        cut = cut[:42 + 53] + b"\xff" + cut[42 + 54:]
        frames = [*map(codec.to_frame, (short, unknown, flags)), flipped, cut]
        shown = dissect(frames, ["_ws.malformed", *map(expert, NOTES)])
        self.assertEqual([self.notes(got) for got in shown],
                         [{"dropped"}, {"dropped"}, {"dropped"}, {"bad_crc"}, {"dropped"}])
        self.assertFalse(any("_ws.malformed" in got for got in shown))

    def test_a_cut_packet_is_marked_and_not_judged_by_what_is_missing(self):
        """What the capture has not, a receiver had."""
        frames = [codec.to_frame(d) for d in generate.GOLDEN.values()]
        fields = ["tributary.job", "tributary.crc32c.good", "_ws.malformed", "_ws.lua.error",
                  *map(expert, NOTES)]
        whole = dissect(frames, fields)
        for snap in (47, 97, 98, 99, 103, 110, 128, 145, 200):
            for frame, got, all_of_it in zip(frames, dissect(frames, fields, snap=snap), whole):
                with self.subTest(snap=snap, bytes=len(frame)):
                    if snap >= len(frame):
                        self.assertEqual(got, all_of_it)
                        continue
                    if snap > 42 + 54 + 4:  # some frames have a VLAN tag
                        self.assertIn("tributary.job", got)
                    for field in ("tributary.crc32c.good", "_ws.malformed", "_ws.lua.error",
                                  expert("dropped"), expert("bad_crc")):
                        self.assertNotIn(field, got)
                    self.assertIn(expert("cut"), got)

    def test_a_mistake_that_a_cut_packet_shows_is_told(self):
        short = data()
        short["header"]["element_count"] = 3
        got = dissect([codec.to_frame(short)], [*map(expert, NOTES)], snap=42 + 54)[0]
        self.assertEqual(self.notes(got), {"cut", "dropped"})

    def test_another_port_and_roce(self):
        packet = data(job=5)
        packet["destination_port"] = 50000
        frame = codec.to_frame(packet)
        self.assertEqual(dissect([frame], ["tributary.job"]), [{}])
        self.assertEqual(dissect([frame], ["tributary.job"], "-o", "tributary.ports:50000-50003"),
                         [{"tributary.job": ["5"]}])
        roce = codec.Ether() / codec.IP() / codec.UDP(sport=49152, dport=4791) / \
            layer.BTH(opcode=4, dqpn=17) / layer.RocePadding() / layer.Tributary(type=5, job=6)
        self.assertEqual(dissect([bytes(roce)], ["tributary.job"]), [{"tributary.job": ["6"]}])



class TelemetryReports(unittest.TestCase):
    """Datagrams of docs/protocol/telemetry.md, in the other script."""

    FIELDS = ("node", "sequence", "latency_ns", "link_ns", "op_end.job", "op_end.op", "op_end.epoch", "op_end.plane",
              "op_end.planes", "inner", "signature.sequence", "signature.hmac",
              "expert.malformed")
    # Ports and latency of the reporter, and a packet of 8 bytes; a link's latency; the end of an op.
    REPORTS = bytes.fromhex("21400005 00000007"
                            "14060210 6000000000000000 00010002 000003e8 4500000000000000"
                            "10040200 4000545280000000 ffff0003 00001234"
                            "10060400 4000545240000000 ffffffff 00000005 00000009 00070102")
    TRAILER = bytes.fromhex("020b0000 54520001") + (77).to_bytes(8, "big") + bytes(range(32))

    def shown(self, datagram):
        frame = bytes(Ether() / IP() / UDP(sport=40000, dport=32766) / datagram)
        (got,) = dissect([frame], ["tributary_telemetry." + name for name in self.FIELDS],
                         "-X", f"lua_script:{os.path.dirname(SCRIPT)}/tributary-telemetry.lua")
        return {name.removeprefix("tributary_telemetry."): texts for name, texts in got.items()}

    def test_reports_and_their_signature(self):
        plain = {"node": ["7"], "sequence": ["5"], "latency_ns": ["1000"], "link_ns": [str(0x1234)],
                 "op_end.job": ["5"], "op_end.op": ["9"], "op_end.epoch": ["7"], "op_end.plane": ["1"],
                 "op_end.planes": ["2"], "inner": ["4500000000000000"]}
        self.assertEqual(self.shown(self.REPORTS), plain)
        self.assertEqual(self.shown(self.REPORTS + self.TRAILER),
                         plain | {"signature.sequence": ["77"], "signature.hmac": [bytes(range(32)).hex()]})

    def test_lengths_that_do_not_fit_are_told(self):
        self.assertIn("expert.malformed", self.shown(self.REPORTS[:-1]))
        self.assertIn("expert.malformed", self.shown(self.REPORTS + self.TRAILER[:-4]))


if __name__ == "__main__":
    unittest.main()
