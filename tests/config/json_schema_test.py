"""packaging/schema is what tools/json-schema writes, and judges files as the programs do; packaging/man has
its keys.

Run by ctest with the build directory in TRIBUTARY_BUILD.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(os.environ["TRIBUTARY_BUILD"], "bin")
CONFIG = ("--check", "--config")
# How each file is checked: the program, and its words before the file's name.
PROGRAMS = {"switch": ("tributary-switchd", *CONFIG), "topology": ("tributary-switchd", *CONFIG),
            "server": ("tributary-psd", *CONFIG), "pool": ("tributary-poold", *CONFIG),
            "network": ("tributary-telemetryd", "--check", "--topology"), "scenario": ("tributary-sim", "--check"),
            "tenants": ("tributary-managerd", "--check", "--topology", os.path.join(TOP, "packaging/topology.yaml"),
                        "--tenants"),
            "devices": ("tributary-agentd", "--check", "--devices")}
if not os.path.exists(os.path.join(BIN, "tributary-managerd")):  # built without the manager
    PROGRAMS = {name: words for name, words in PROGRAMS.items() if name not in ("tenants", "devices")}
# Which schema a file is for.
OF_KEY = {"switches": "topology", "server": "server", "pool": "pool", "tenants": "tenants", "nodes": "network",
          "devices": "devices"}
OF_FILES = ("switch", "topology", "server", "pool", "network", "scenario", "tenants", "devices")
MARK = "unheard_of"  # a key that no file has
BATCH = 8  # mistakes in a file
NAME = "^[A-Za-z0-9._-]{1,64}$"
# By the start of what is allowed: texts of which some are right and some are not.
TEXTS = {
    "a unicast address, e.g. 10": ["10.77.0.1", "10.77.0.256", "10.77.0.01", "127.0.0.1", "224.0.0.1", "1.2.3"],
    "a unicast address, e.g. 02": ["02:00:00:00:00:aF", "03:00:00:00:00:01", "00:00:00:00:00:00", "2:0:0:0:0:1"],
    "an IPv4 prefix": ["10.0.0.0/8", "0.0.0.0/0", "10.0.0.0/33", "256.0.0.0/8", "10.0.0.0"],
    "IPV4:PORT": ["127.0.0.1:0", "0.0.0.0:65535", "127.0.0.1:65536", "[::1]:90", "::1:90", "localhost:90"],
    "a DPDK device": ["net_tap0", ",iface=x", "-x", "net tap"],
    "an absolute path": ["/a", "a", "/" + "x" * 106, "/" + "x" * 107],
    "a number of records": [4096, "64 MiB", "1 record", "64MiB", 0, "0 MiB", "64 TiB", "-1", "MiB", "1.5 MiB"],
    "host, or gpu:N": ["host", "gpu:0", "gpu:63", "gpu:64", "gpu:07", "gpu:", "gpu:a", "cuda:0"],
    "file:///DIRECTORY": ["file:///data", "file://data/x", "ftp://h/d", "data", "s3://", "webhdfs:///d",
                          "webhdfs://h:1/d", "swebhdfs://h:1/d"],
    "a pattern of a shell": ["*.tar", "", "x" * 200, "x" * 201],
    "an IPv4 address such as": ["10.0.0.7", "127.0.0.1", "0.0.0.0", "0.0.0.1", "256.0.0.1", "1.2.3", ""],
    "bytes, such as": ["16Gi", 1024, 1.5, "1.5Gi", ".5k", "5.", "1Gb", "1 Gi", "", ".", "-1", "Gi"],
    "1 to 63 of": ["npu0", 7, "a.b-c", "x" * 63, "x" * 64, "-a", ".a", "A", "", "a b"],
    "vendor/kind": ["example.com/npu", "npu", "a/b/c", "/a", "a/", "A/b", "a/" + "x" * 64],
}
# How programs begin what they say of a text of the wrong form.
WRONG = ("is not a", "is no ", "is out of range", "has no length", "has a wrong length", "cannot be used", "is not that")


def load(name):
    with open(os.path.join(TOP, "packaging/schema", f"{name}.schema.json"), encoding="utf-8") as f:
        return json.load(f)


def kinds(schema):
    kind = schema.get("type")
    return kind if isinstance(kind, list) else [kind]


def wrong_type(schema):
    return "x" if {"object", "array"} & set(kinds(schema)) else [[]]


def out_of_range(schema):
    """A value of the right type that the schema refuses; None where there is none."""
    if "enum" in schema:
        return 3 if isinstance(schema["enum"][0], int) else "nonsense"
    for bound, step in (("minimum", -1), ("maximum", 1), ("exclusiveMaximum", 1)):
        if bound in schema and kinds(schema)[0] in ("integer", "number"):
            return schema[bound] + step
    if "maxItems" in schema:
        return None
    if "pattern" not in schema:
        return None
    return "" if re.search(schema["pattern"], "!? ?!") else "!? ?!"


def keys(schema, above=()):
    """All keys that are no mappings, each as its path and schema; lists of mappings have one, [0]."""
    for key, inner in schema["properties"].items():
        path = (*above, key)
        if "properties" in inner:
            yield from keys(inner, path)
        elif "properties" in inner.get("items", {}):
            yield from keys(inner["items"], (*path, 0))
        else:
            yield path, inner


def mappings(schema, above=()):
    yield above
    for key, inner in schema["properties"].items():
        if "properties" in inner:
            yield from mappings(inner, (*above, key))
        elif "properties" in inner.get("items", {}):
            yield from mappings(inner["items"], (*above, key, 0))


def put(document, path, value):
    for key, after in zip(path[:-1], path[1:]):
        empty = [] if after == 0 else {}
        if key == 0:
            document.extend([empty] * (not document))
        else:
            document.setdefault(key, empty)
        document = document[key]
    if path[-1] == 0:
        document.append(value)
    else:
        document[path[-1]] = value


def text_of(path):
    text = ""
    for part in path:
        text = f"{text}[{part}]" if isinstance(part, int) else f"{text}.{part}" if text else part
    return text


def by_schema(schema, document):
    """The paths that it refuses."""
    paths = set()
    for error in jsonschema.Draft7Validator(schema).iter_errors(document):
        unknown = [MARK] * (error.validator == "additionalProperties")
        paths.add(text_of([*error.absolute_path, *unknown]))
    return paths


def by_program(name, document):
    """The paths that the program names, and its exit status."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        yaml.safe_dump(document, file, sort_keys=False)
        file.flush()
        program, *words = PROGRAMS[name]
        done = subprocess.run([os.path.join(BIN, program), *words, file.name],
                              capture_output=True, text=True, check=False)
    said = re.findall(r"\.yaml:\d+:\d+: ([^:\s]+): ", done.stderr)
    return set(said), done.returncode, done.stderr


def texts_for(schema):
    """Texts for a key with a pattern, on both sides of what it allows."""
    allowed = schema.get("patternErrorMessage", "").removeprefix("allowed: ")
    if schema.get("pattern") == NAME:
        return [1.5, 7, True, "a", "1.50", "yes", "a b", "", "x" * 64, "x" * 65]
    if bounds := re.match("([0-9]+)([a-z]+) to ([0-9]+)([a-z]+)", allowed):
        low, high = int(bounds[1]), int(bounds[3])
        return [f"{low}{bounds[2]}", f"{max(0, low - 1)}{bounds[2]}", f"{high}{bounds[4]}",
                f"{high + 1}{bounds[4]}", f"00{high}{bounds[4]}", "0s", "0h", "999999h", "1500us", "1000001ns",
                "9" * 30 + "h", "1.5s", "1 s", "-1s", "1m"]
    return next((texts for start, texts in TEXTS.items() if allowed.startswith(start)), [])


class Schema(unittest.TestCase):
    maxDiff = None

    def test_texts_are_judged_as_the_programs_do(self):
        """Each alone: a program says what it finds in its first reading of a file."""
        self.assertEqual({text for text in TEXTS}, {
            start for start in TEXTS for name in OF_FILES for _, schema in keys(load(name))
            if schema.get("patternErrorMessage", "").removeprefix("allowed: ").startswith(start)})
        for name in PROGRAMS:
            schema = load(name)
            tried = [(path, text) for path, inner in keys(schema) for text in texts_for(inner)]
            self.assertGreater(len(tried), 5)
            columns = {}
            for path, text in tried:
                columns.setdefault(path, []).append(text)
            for turn in range(max(map(len, columns.values()))):
                self.compare(name, schema, {path: texts[turn] for path, texts in columns.items()
                                            if turn < len(texts)})

    def compare(self, name, schema, values):
        """Both refuse the same of `values`, by their form: what keys ask of each other is the program's."""
        for first in range(0, len(values), BATCH):
            document = {"switches": [{}]} if name == "topology" else {}
            some = dict(list(values.items())[first:first + BATCH])
            for path, value in some.items():
                put(document, path, value)
            paths = {text_of(path) for path in some}
            _, _, text = by_program(name, document)
            told = {path for path, problem in re.findall(r"\.yaml:\d+:\d+: ([^:\s]+): '[^']*' (.*)", text)
                    if problem.startswith(WRONG)}
            with self.subTest(f"{name}: {some}"):
                self.assertEqual(paths & told, paths & by_schema(schema, document), text)

    def test_files_are_what_the_tool_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(TOP, "tools/json-schema"), folder],
                           check=True)
            for name in OF_FILES:
                with open(os.path.join(folder, f"{name}.schema.json"), encoding="utf-8") as f:
                    self.assertEqual(json.load(f), load(name), "run tools/json-schema")
            self.assertEqual(len(os.listdir(folder)), len(OF_FILES))

    def test_manual_pages_are_what_the_tool_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", os.path.join(TOP, "tools/man-pages"), folder], check=True)
            for name in OF_FILES:
                page = f"tributary-{name}.5"
                with open(os.path.join(folder, page), encoding="utf-8") as made:
                    with open(os.path.join(TOP, "packaging/man", page), encoding="utf-8") as kept:
                        self.assertEqual(made.read(), kept.read(), "run tools/man-pages")

    def test_every_example_is_accepted(self):
        files = glob.glob(os.path.join(TOP, "examples/**/*.yaml"), recursive=True)
        files += glob.glob(os.path.join(TOP, "packaging/*.yaml"))
        files += glob.glob(os.path.join(TOP, "**/scenarios/*.yaml"), recursive=True)
        files = [f for f in files if not f.endswith("/examples/pods/train.yaml")]  # manifests
        self.assertGreater(len(files), 8)
        for path in files:
            with open(path, encoding="utf-8") as f:
                document = yaml.safe_load(f)
            name = next((name for key, name in OF_KEY.items() if key in document), "switch")
            name = "scenario" if "/scenarios/" in path else name
            with self.subTest(path):
                self.assertEqual(by_schema(load(name), document), set())

    def test_the_programs_accept_examples(self):
        """Of a switch, a tree, a server and a pool other tests start the programs."""
        for name, path in (("network", "packaging/telemetry.yaml"), ("tenants", "packaging/tenants.yaml"),
                           ("devices", "examples/pods/devices.yaml"), ("scenario", "tools/sim/scenarios/small.yaml")):
            if name in PROGRAMS:
                with open(os.path.join(TOP, path), encoding="utf-8") as f:
                    told, status, text = by_program(name, yaml.safe_load(f))
                self.assertEqual((told, status, text), (set(), 0, ""), path)

    def assert_both_refuse(self, wrong_of):
        """`wrong_of(schema)`: pairs of a path and a value that is wrong there. A program stops after
        some mistakes, so a file has a few."""
        for name in PROGRAMS:
            schema = load(name)
            wrong = list(wrong_of(schema))
            self.assertGreater(len(wrong), 1)
            for first in range(0, len(wrong), BATCH):
                document = {"switches": [{}]} if name == "topology" else {}
                for path, value in wrong[first:first + BATCH]:
                    put(document, path, value)
                paths = {text_of(path) for path, _ in wrong[first:first + BATCH]}
                told, status, text = by_program(name, document)
                with self.subTest(f"{name} from {first}"):
                    self.assertEqual(status, 2 if name == "scenario" else 1, text)
                    self.assertEqual(paths - told, set(), f"the program takes it: {text}")
                    self.assertEqual(paths - by_schema(schema, document), set(), "the schema takes it")

    def test_wrong_types_are_refused_as_the_programs_do(self):
        self.assert_both_refuse(
            lambda schema: [(path, wrong_type(inner)) for path, inner in keys(schema)])

    def test_values_out_of_range_are_refused_as_the_programs_do(self):
        self.assert_both_refuse(
            lambda schema: [(path, value) for path, inner in keys(schema)
                            if (value := out_of_range(inner)) is not None])

    def test_unknown_keys_are_refused_as_the_programs_do(self):
        self.assert_both_refuse(lambda schema: [((*path, MARK), 1) for path in mappings(schema)])


if __name__ == "__main__":
    unittest.main()
