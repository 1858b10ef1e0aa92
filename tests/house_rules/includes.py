"""Who may include whom, and what the pure folders keep out."""
import os
import re

from tree import is_cpp

# Lowest first: a folder includes itself and what stands before it.
ORDER = ["core", "gpu", "telemetry", "database", "config", "aggregator", "completion", "worker", "pool", "dataplane", "control", "manager", "sim", "tools"]
# The same inside a folder; "" is the folder itself.
INSIDE = {
    "core": ["", "net", "wire"],
    "telemetry": ["wire", "table", "path"],
    "dataplane": ["host", "frame", "memif", "port", "telemetry", "io", "frontend", "udp", "rdma/connected", "rdma", "multicast", "bridge", "aggregation", "loop", "switch"],
    "aggregator": ["kernels", "chunk", "names", "shard", "engine"],
    "config": ["text", "model", "plan", "schema", "check", "load", "server", "topology", "change"],
    "control": ["http", "socket", "text", "telemetry", "capture", "stragglers", "collisions", "metrics", "show", "events", "change", "open"],
    "worker": ["layout", "wait", "transport", "memif", "rdma", "dial", "session", "agreement", "names", "host", "manager", "api", "task", "python", "torch", "mpi", "mpi/shim"],
    "pool": ["record", "segment", "store", "transport", "link", "loader", "api", "python"],
    "completion": ["pieces", "model", "engine", "host"],
    "manager": ["store", "topology", "admission", "policy", "pods", "service", "kubernetes", "etcd", "listen", "api"],
    "sim": ["network", "scenario", "node", "rules", "check", "run"],
}
# Folders that stand alone: of the product, they include these and nothing else.
ALONE = {"pool": ("core/", "config/text/", "gpu/", "pool/")}
# Not part of the product: may include anything, and nothing of the product includes them.
OUTSIDE = ["tests", "bench", "examples"]
# Mains that stand beside the sub-folders of what they are made of.
AT_THE_FOLDERS_TOP = {"sim/sim_swarm.cc"}
PURE = ["core", "telemetry", "aggregator", "completion", "config", "pool/record", "manager/topology", "manager/admission", "manager/policy", "manager/pods"]
# Protocol engines: they know peers as endpoints alone (core/endpoint.h), which front ends and the
# simulator make. Of other protocols' formats they use checksums.
ENGINES = ("aggregator/", "completion/")
FORMATS_FOR_ENGINES = {"core/net/checksum.h"}
ADDRESSES = re.compile(r"\b(UdpPeer|peers_of_shards|station_of|mac_of|MacAddress|FrontEndId)\b|[.>](station|segment)\(\)")
DPDK_ALLOWED = re.compile(r"(dataplane/|worker/transport/memif|tools/impair/|tools/loadgen/|"
                          r"(tests|bench)/(dataplane|forward_load|fuzz/packet_|impair|host_bench|ring_(bench|forward)|worker_memif))")

CLOCK_AND_THREADS = {
    "chrono", "ctime", "time.h", "sys/time.h", "thread", "mutex", "shared_mutex", "future",
    "condition_variable", "semaphore", "pthread.h",
}
INPUT_OUTPUT = {
    "iostream", "fstream", "cstdio", "stdio.h", "filesystem", "syslog.h", "unistd.h", "fcntl.h",
    "poll.h", "netdb.h", "dirent.h",
}
LOGGING = re.compile(r"\bstd::(cout|cerr|clog)\b|\b(printf|fprintf|syslog|RTE_LOG)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)


def _numbered(text):
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def check_architecture(texts):
    """The document's table of folders has INSIDE, word by word."""
    rows = re.findall(r"^\| `(\w+)/` \|[^|\n]*\|([^|\n]*)\|$", texts["docs/architecture.md"], re.M)
    listed = {folder: re.findall(r"`([\w/]+)`", cell) for folder, cell in rows}
    return [f"docs/architecture.md: {folder}/ has {', '.join(listed.get(folder, ['no row']))}; INSIDE says {', '.join(order)}"
            for folder, order in ((folder, [one for one in order if one]) for folder, order in INSIDE.items())
            if listed.get(folder) != order]


def check_directions(texts):
    found = []
    for path, text in texts.items():
        folder = path.split("/")[0]
        if not is_cpp(path) or folder not in ORDER:
            continue
        for line, quote, name in _numbered(text):
            target = name.split("/")[0]
            if quote != '"':
                continue
            if folder in ALONE and target in ORDER and not name.startswith(ALONE[folder]):
                found.append(f"{path}:{line}: {folder}/ includes only {', '.join(ALONE[folder])}, not {name}")
            elif target in OUTSIDE or target in ORDER and ORDER.index(target) > ORDER.index(folder):
                found.append(f"{path}:{line}: {folder}/ may not include {name}")
            # An installed header for C++ names its neighbour.
            elif target not in ORDER and not path.endswith(".hpp"):
                found.append(f"{path}:{line}: name '{name}' from the top of the tree")
            elif target == folder and _points_up(folder, path, name):
                found.append(f"{path}:{line}: {os.path.dirname(path)}/ may not include {name}")
    return found


def _points_up(folder, path, name):
    order = INSIDE.get(folder)
    if order is None:
        return False
    target, source = _sub_folder(folder, name), _sub_folder(folder, path)
    return source in order and (target not in order or order.index(target) > order.index(source))


def _sub_folder(folder, path):
    return os.path.dirname(path).removeprefix(folder).strip("/")


def check_sub_folders(texts):
    """Where sub-folders have an order, sources stand in one of them."""
    return [f"{path}: {os.path.dirname(path)}/ has no place in INSIDE of tests/house_rules/includes.py"
            for path in sorted(texts) if is_cpp(path) and path.split("/")[0] in INSIDE
            and _sub_folder(path.split("/")[0], path) not in INSIDE[path.split("/")[0]]
            and path not in AT_THE_FOLDERS_TOP]


def check_dpdk(texts):
    found = []
    for path, text in texts.items():
        if not is_cpp(path) or DPDK_ALLOWED.match(path):
            continue
        for line, _, name in _numbered(text):
            if name.split("/")[-1].startswith("rte_"):
                found.append(f"{path}:{line}: DPDK's {name} is for dataplane/ and transports")
    return found


def check_engines(texts):
    """No engine makes an endpoint, or takes one apart as the front end does that made it."""
    found = []
    for path, text in texts.items():
        if not is_cpp(path) or not path.startswith(ENGINES):
            continue
        for line, _, name in _numbered(text):
            if name.startswith("core/net/") and name not in FORMATS_FOR_ENGINES:
                found.append(f"{path}:{line}: {name} in a protocol engine, which knows endpoints alone")
        for match in ADDRESSES.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: {match.group()} in a protocol engine, which knows endpoints alone")
    return found


def check_purity(texts):
    """Pure folders know no clock, thread or I/O. What reads configuration files may do that."""
    found = []
    for path, text in texts.items():
        folder = path.split("/")[0]
        if not is_cpp(path) or not any(path.startswith(pure + "/") for pure in PURE):
            continue
        reads_files = folder == "config" and path.endswith(".cc")
        for line, _, name in _numbered(text):
            if name in CLOCK_AND_THREADS:
                found.append(f"{path}:{line}: <{name}> in a pure folder")
            elif not reads_files and (name in INPUT_OUTPUT or name.startswith("sys/")):
                found.append(f"{path}:{line}: <{name}> in a pure folder")
        for match in LOGGING.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: logging ({match.group()}) in a pure folder")
    return found
