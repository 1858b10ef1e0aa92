"""The C++ wire code and the Scapy layer must agree on every golden packet, both ways.

Run by ctest with the path of wire_tool in TRIBUTARY_WIRE_TOOL.
"""
import glob
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generate  # noqa: E402
import scapy_codec as codec  # noqa: E402
import tributary_layer as layer  # noqa: E402


def ask(mode, lines):
    """One answer a line from wire_tool."""
    done = subprocess.run([os.environ["TRIBUTARY_WIRE_TOOL"], mode], input="\n".join(lines) + "\n",
                          capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.splitlines()


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def load():
    """name → (description, frame) of the committed files."""
    packets = {}
    for path in sorted(glob.glob(os.path.join(HERE, "packets", "*.json"))):
        frame = bytes.fromhex(read(path[:-5] + ".hex").replace("\n", ""))
        packets[os.path.basename(path)[:-5]] = (json.loads(read(path)), frame)
    return packets


class Golden(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.packets = load()

    def test_files_are_what_the_scapy_layer_writes(self):
        self.assertEqual(set(self.packets), set(generate.GOLDEN))
        for name, description in generate.GOLDEN.items():
            with self.subTest(name):
                base = os.path.join(generate.FOLDER, name)
                self.assertEqual(read(base + ".json"), generate.json_text(description))
                self.assertEqual(read(base + ".hex"),
                                 generate.hex_text(codec.to_frame(description)))

    def test_cpp_parses_golden_packets(self):
        answers = ask("parse", [frame.hex() for _, frame in self.packets.values()])
        self.assertEqual(len(answers), len(self.packets))
        for (name, (description, _)), answer in zip(self.packets.items(), answers):
            with self.subTest(name):
                self.assertEqual(json.loads(answer), codec.expected(description))

    def test_scapy_parses_what_cpp_serialises(self):
        answers = ask("build", [json.dumps(d) for d, _ in self.packets.values()])
        self.assertEqual(len(answers), len(self.packets))
        for (name, (description, frame)), answer in zip(self.packets.items(), answers):
            with self.subTest(name):
                self.assertEqual(codec.from_frame(bytes.fromhex(answer)),
                                 codec.expected(description))
                self.assertEqual(answer, frame.hex(), "bytes differ")

    def test_one_flipped_bit_is_seen_by_both(self):
        for name in ("contribution_float32", "crc32c_only"):
            with self.subTest(name):
                frame = bytearray(self.packets[name][1])
                frame[-1] ^= 1
                answer = json.loads(ask("parse", [frame.hex()])[0])
                self.assertEqual(answer["at"], "integrity")
                with self.assertRaises(ValueError):
                    codec.from_frame(bytes(frame))

    def test_every_type_and_laid_out_extension_is_covered(self):
        types = {d["header"]["type"] for d, _ in self.packets.values()}
        self.assertEqual(types, set(layer.PACKET_TYPES))
        seen = {n for d, _ in self.packets.values() for n, _ in d["extension_list"]}
        self.assertEqual(seen, set(codec.CLASSES) | {"error", "raw"})
        raw = {v["type_byte"] & 0x7F for d, _ in self.packets.values()
               for n, v in d["extension_list"] if n == "raw"}
        self.assertLessEqual({2, 4, 7}, raw)


class RoceCarriage(unittest.TestCase):
    def test_elements_start_after_64_bytes(self):
        inner = layer.RocePadding() / layer.Tributary(dtype="int32") / codec.Raw(b"\1\0\0\0")
        payload = bytes(inner)
        self.assertEqual(payload[:10], bytes(10))
        self.assertEqual(payload[64:], b"\1\0\0\0")

    def test_dissected_behind_a_base_transport_header(self):
        frame = (codec.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") /
                 codec.IP(src="10.0.0.1", dst="10.0.0.2") / codec.UDP(sport=49152, dport=4791) /
                 layer.BTH(opcode=4) / layer.RocePadding() / layer.Tributary(type="probe", job=9))
        seen = codec.Ether(bytes(frame))
        self.assertEqual(seen[layer.Tributary].job, 9)

    def test_dissected_in_a_send_on_a_ud_queue_pair(self):
        frame = (codec.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") /
                 codec.IP(src="10.0.0.1", dst="10.0.0.2") / codec.UDP(sport=49152, dport=4791) /
                 layer.BTH(opcode=0x64, dqpn=0x800009) / layer.DETH(source_qp=17) / layer.RocePadding() /
                 layer.Tributary(type="probe", job=9))
        seen = codec.Ether(bytes(frame))
        self.assertEqual(seen[layer.DETH].source_qp, 17)
        self.assertEqual(seen[layer.Tributary].job, 9)


if __name__ == "__main__":
    unittest.main()
