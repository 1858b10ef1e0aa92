"""The tables of docs/protocol.md and docs/protocol/numbers.md say what the C++ code does.

Run by ctest with the path of wire_tool in TRIBUTARY_WIRE_TOOL.
"""
import copy
import json
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generate  # noqa: E402
import golden_test  # noqa: E402
import tributary_layer as layer  # noqa: E402

DOCS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs")
PAGES = [os.path.join(DOCS, "protocol.md"), os.path.join(DOCS, "protocol", "numbers.md"),
         os.path.join(DOCS, "protocol", "drains.md"), os.path.join(DOCS, "protocol", "names.md")]
LAYOUTS = ["task-information", "start-info", "result-info", "error", "drain", "value-info",
           "open-job"]


def table(text, heading):
    """Rows of the first table under a heading, as lists of cells; its title row left out."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.group(1).splitlines() if line.startswith("|")]
    return rows[2:]


def numbers(text, heading):
    """name → number."""
    return {row[1]: int(row[0]) for row in table(text, heading)}


def extension_bytes(name, values):
    """The bytes that the C++ writer makes of one extension."""
    frame = bytes.fromhex(golden_test.ask(
        "build", [json.dumps(generate.packet("probe", [[name, values]]))])[0])
    area = frame[42 + 54:]
    return area[:4 * area[1]]


def set_deep(values, path, value):
    for key in path[:-1]:
        values = values[key]
    values[path[-1]] = value


class ProtocolTables(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.text = ""
        for page in PAGES:
            with open(page, encoding="utf-8") as f:
                cls.text += f.read()
        cls.layout = json.loads(golden_test.ask("layout", [])[0])

    def test_header(self):
        rows = [[row[2], int(row[0]), int(row[1])] for row in table(self.text, "Header")]
        self.assertEqual(rows, self.layout["header"])
        self.assertEqual(rows[-1][1] + rows[-1][2], self.layout["header_bytes"])

    def test_numbers(self):
        for heading, key in (("Packet types", "types"), ("Reduce operations", "reduce_ops"),
                             ("Data types", "dtypes"), ("Encodings", "encodings"),
                             ("Collectives", "collectives"), ("Reasons", "reasons"),
                             ("Extensions", "extensions")):
            with self.subTest(heading):
                self.assertEqual(numbers(self.text, heading), self.layout[key])

    def test_flags(self):
        self.assertEqual({n: 1 << b for n, b in numbers(self.text, "Flags").items()},
                         self.layout["flags"])
        self.assertEqual(self.layout["must_understand"], 0xFF000000)

    def test_element_sizes(self):
        sizes = {row[1]: int(row[2]) for row in table(self.text, "Data types")}
        self.assertEqual(sizes, self.layout["dtype_sizes"])

    def test_extension_layouts(self):
        """Sets one field at a time to all ones and sees which bytes change."""
        known = dict(e for g in generate.GOLDEN.values() for e in g["extension_list"])
        for name in LAYOUTS:
            zero = zeroed(known[name.replace("-", "_")])
            base = extension_bytes(name.replace("-", "_"), zero)
            at = 4
            for offset, size, field in table(self.text, name):
                with self.subTest(f"{name}.{field}"):
                    self.assertEqual(int(offset), at, "fields leave no gap")
                    at += int(size)
                    if field == "reserved":
                        continue
                    changed = copy.deepcopy(zero)
                    most = 1 if field.endswith(".last") else (1 << 8 * int(size)) - 1
                    set_deep(changed, field.split("."), most)
                    bytes_ = extension_bytes(name.replace("-", "_"), changed)
                    self.assertEqual([i for i in range(len(base)) if base[i] != bytes_[i]],
                                     list(range(int(offset), at)))
            self.assertEqual(at, len(base), name)

    def test_critical_extensions(self):
        critical = {row[1] for row in table(self.text, "Extensions") if row[2] == "yes"}
        known = dict(e for g in generate.GOLDEN.values() for e in g["extension_list"])
        known.pop("raw")
        written = {name.replace("_", "-") for name, values in known.items()
                   if extension_bytes(name, values)[0] & 0x80}
        self.assertEqual(critical, written)

    def test_the_scapy_layer_has_the_same_numbers(self):
        for names, key in ((layer.PACKET_TYPES, "types"), (layer.DTYPES, "dtypes"),
                           (layer.REDUCE_OPS, "reduce_ops"), (layer.ENCODINGS, "encodings"),
                           (layer.COLLECTIVES, "collectives"), (layer.REASONS, "reasons"),
                           (layer.EXTENSION_TYPES, "extensions")):
            self.assertEqual({n: k for k, n in names.items()}, self.layout[key])


def zeroed(values):
    return {k: zeroed(v) if isinstance(v, dict) else 0 for k, v in values.items()}


class Parser(unittest.TestCase):
    """The tables are really read: a wrong document is seen."""

    def test_table(self):
        text = "## A\nx\n| n | m |\n|---|---|\n| 1 | a |\n\n## B\n| n |\n|---|\n| 2 |\n"
        self.assertEqual(table(text, "A"), [["1", "a"]])
        self.assertEqual(numbers(text, "A"), {"a": 1})


if __name__ == "__main__":
    unittest.main()
