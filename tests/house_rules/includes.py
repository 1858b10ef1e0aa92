"""Who may include whom, and what the pure folders keep out."""
import re

from tree import is_cpp

# Lowest first: a folder includes itself and what stands before it.
ORDER = ["core", "config", "aggregator", "completion", "worker", "dataplane", "control", "tools"]
# Not part of the product: may include anything, and nothing of the product includes them.
OUTSIDE = ["tests", "bench", "examples"]
# Libraries outside the product that tools are made of: (who, what).
LENT = [("tools/sim/", "tests/sim/")]
PURE = ["core", "aggregator", "completion", "config"]
DPDK_ALLOWED = re.compile(r"(dataplane/|worker/memif|tools/impair/|tools/loadgen/|"
                          r"(tests|bench)/(dataplane|forward_load|fuzz/packet_|impair|ring_(bench|forward)|worker_memif))")

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


def check_directions(texts):
    found = []
    for path, text in texts.items():
        folder = path.split("/")[0]
        if not is_cpp(path) or folder not in ORDER:
            continue
        for line, quote, name in _numbered(text):
            target = name.split("/")[0]
            if quote != '"' or target == folder or _lent(path, name):
                continue
            if target in OUTSIDE or target in ORDER and ORDER.index(target) > ORDER.index(folder):
                found.append(f"{path}:{line}: {folder}/ may not include {name}")
            elif target not in ORDER:
                found.append(f"{path}:{line}: name '{name}' from the top of the tree")
    return found


def _lent(path, name):
    return any(path.startswith(who) and name.startswith(what) for who, what in LENT)


def check_dpdk(texts):
    found = []
    for path, text in texts.items():
        if not is_cpp(path) or DPDK_ALLOWED.match(path):
            continue
        for line, _, name in _numbered(text):
            if name.split("/")[-1].startswith("rte_"):
                found.append(f"{path}:{line}: DPDK's {name} is for dataplane/ and transports")
    return found


def check_purity(texts):
    """Pure folders know no clock, thread or I/O. What reads configuration files may do that."""
    found = []
    for path, text in texts.items():
        folder = path.split("/")[0]
        if not is_cpp(path) or folder not in PURE:
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
