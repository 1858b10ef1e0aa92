"""Source lists, tests that mirror sources, links between documents."""
import os
import re

# Tests of what is not one source file, and why.
NOT_MIRRORED = {
    "tests/aggregator/broken_shard_test.cc": "what becomes of an epoch whose invariant broke",
    "tests/aggregator/engine_allocation_test.cc": "that no part of the engine allocates",
    "tests/aggregator/engine_footprint_test.cc": "that engines take what was derived",
    "tests/aggregator/engine_planes_test.cc": "an engine that has one plane of a job",
    "tests/aggregator/engine_tree_planes_test.cc": "a job with planes on two switches of a tree",
    "tests/aggregator/partials_cost_test.cc": "the handbook's table of what partial sums cost",
    "tests/aggregator/reduce_layout_test.cc": "every kernel at every alignment and with every tail",
    "tests/aggregator/reproducible_test.cc": "the same bits whatever comes when",
    "tests/aggregator/reproducible_tree_test.cc": "the same bits from trees of the same brackets",
    "tests/aggregator/runs_test.cc": "ranks of two runs of a program, at one switch and in a tree",
    "tests/aggregator/seq_wrap_test.cc": "the engine where sequence numbers wrap",
    "tests/core/wire_mutation_test.cc": "bad input through every parser of core/wire",
    "tests/completion/broken_engine_test.cc": "what becomes of an epoch whose invariant broke",
    "tests/completion/exactly_once_test.cc": "the engine's promises, on random traffic",
    "tests/completion/late_switch_test.cc": "the engine, when a whole subtree is late",
    "tests/completion/server_model_test.cc": "a model, from the ranks' packets to their results",
    "tests/completion/storm_test.cc": "both engines of a root switch together, in storms",
    "tests/manager/admission/random_admission_test.cc": "all of admission, on random traffic",
    "tests/manager/histories/histories_test.cc": "two managers on one simulated store, in histories",
    "tests/control/change/assigned_config_test.cc": "a manager's document in running_config.cc",
    "tests/control/change/open_config_test.cc": "jobs that ranks open in running_config.cc",
    "tests/config/change_keys_test.cc": "the handbook's table of keys that may change",
    "tests/dataplane/aggregation/bent_network_test.cc": "ranks on RC and UC behind a bad network",
    "tests/dataplane/aggregation/connected_repair_test.cc": "what connected*.cc say and ask again",
    "tests/dataplane/aggregation/connected_tree_test.cc": "RC and UC below a leaf switch",
    "tests/dataplane/bad_input_test.cc": "what ranks get wrong, counted at their ports",
    "tests/dataplane/planes_test.cc": "one job on several packet loops",
    "tests/pool/segment/segment_kill_test.cc": "segments of a process that dies at any page",
    "tests/pool/store/lying_store_test.cc": "every store, from lies to records",
    "tests/worker/communicator_planes_test.cc": "jobs with several planes, end to end",
    "tests/worker/switches_by_address_test.cc": "arrays whose addresses choose among switches, end to end",
    "tests/worker/drain_test.cc": "epochs that are drained under callers, end to end",
    "tests/worker/resize_test.cc": "jobs that grow and shrink under callers, end to end",
    "tests/worker/retry_test.cc": "epochs that are lost under callers, end to end",
    "tests/worker/disagreement_test.cc": "communicators and engine together: ranks that call different ops",
    "tests/worker/faults_test.cc": "sessions and engine together, with one fault at a time",
    "tests/worker/session_collectives_test.cc": "what all of session*.cc do with other collectives",
    "tests/worker/transport/transport_suite_test.cc": "what every transport does",
    "tests/worker_memif/memif/transport_suite_test.cc": "the same, of the one that needs DPDK",
    "tests/worker/lossy_network_test.cc": "sessions and engine together, on a bad network",
}
# What of tests/system only CMake runs, because it needs what CMake alone makes.
CMAKE_ALONE = {"tests/system/test_package.py", "tests/system/test_units.py"}
# Where a test folder's sources live, if not in a folder of the same name at the top.
SOURCE_FOLDERS = {"agentd": "tools/agentd", "cli": "tools/cli", "client": "tools/client", "daemon": "tools/daemon",
                  "dataplane_nic": "dataplane", "impair": "tools/impair", "loadgen": "tools/loadgen",
                  "program": "tools/program", "psd": "tools/psd", "poold": "tools/poold", "simtool": "tools/sim",
                  "telemetryd": "tools/telemetryd", "switchd": "tools/switchd", "worker_memif": "worker"}


# Few tests of sources from many sub-folders.
SUB_FOLDERS_LEFT_OUT = {"dataplane_nic"}
# All files at the top; what a run leaves there is none of the project's.
AT_THE_TOP = {".clang-format", ".clang-tidy", ".gitattributes", ".gitignore", "CHANGELOG.md",
              "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE", "README.md",
              "meson.build", "meson_options.txt", "pyproject.toml"}


def check_top_level(texts):
    """At the top are folders, and the few files that are for all of them."""
    return [f"{path}: does not belong at the top" for path in sorted(texts)
            if "/" not in path and path not in AT_THE_TOP]


def _entries(text):
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


def check_source_lists(texts):
    """Each source stands in its folder's sources.txt, or by name in both build systems."""
    found, listed = [], {}
    for path, text in texts.items():
        if os.path.basename(path) != "sources.txt":
            continue
        entries = _entries(text)
        if entries != sorted(entries):
            found.append(f"{path}: not sorted")
        for entry in entries:
            if entry in listed:
                found.append(f"{path}: {entry} is in {listed[entry]} too")
            listed[entry] = path
            if entry not in texts:
                found.append(f"{path}: {entry} does not exist")
        if f"'{os.path.dirname(path)}'" not in texts.get("meson.build", ""):
            found.append(f"meson.build: does not read {path}")
    cmake = _build_text(texts, "CMakeLists.txt")
    meson = _build_text(texts, "meson.build")
    for path in texts:
        if not path.endswith((".cc", ".c")):
            continue
        if path not in listed and not (_names(cmake, path) and _names(meson, path)):
            found.append(f"{path}: in no sources.txt, nor by name in both build systems")
    return found


def _build_text(texts, name):
    """folder → text of its build file."""
    return {os.path.dirname(p): t for p, t in texts.items() if os.path.basename(p) == name}


def _names(builds, path):
    """True where a build file of the path's folder, or of one above it, names the file."""
    folder = os.path.dirname(path)
    while True:
        # A loop may put the name together: foreach(name a b) … ${name}_bench.cc
        relative = os.path.relpath(path, folder or ".")
        stem = re.escape(relative)
        tail = re.sub(r"^(.*/)?[a-z0-9]+(?=_)", "", relative)
        text = builds.get(folder, "")
        if re.search(rf"(?<![\w/]){stem}\b", text):
            return True
        if "_" in relative and re.search(rf"(\$\{{name\}}|name \+ '){re.escape(tail)}", text) and \
                re.search(rf"\b{re.escape(relative[:-len(tail)])}\b", text):
            return True
        if not folder:
            return False
        folder = os.path.dirname(folder)


def check_tests_mirror_sources(texts):
    """tests/FOLDER/SUB/name_test.cc tests FOLDER/SUB/name.cc or .h. What tests sources of several
    sub-folders, as with another device, stands in a test folder that has none."""
    found = []
    for path in texts:
        match = re.fullmatch(r"tests/([^/]+)/(.+)_test\.(cc|py)", path)
        if not match or match.group(3) == "py" or path in NOT_MIRRORED:
            continue
        folder = SOURCE_FOLDERS.get(match.group(1), match.group(1))
        if match.group(1) in SUB_FOLDERS_LEFT_OUT:
            wanted = re.compile(rf"{folder}/(\w+/)?{re.escape(match.group(2))}\.(cc|h)")
        else:
            wanted = re.compile(rf"{folder}/{re.escape(match.group(2))}\.(cc|h)")
        if not any(map(wanted.fullmatch, texts)):
            found.append(f"{path}: tests no {folder}/{match.group(2)}.cc or .h")
    return found


def check_packages(texts):
    """Every package has a group, and the list is sorted, so that a merge of two puts each in its place."""
    path = "tools/packages.txt"
    entries = _entries(texts.get(path, ""))
    found = [f"{path}: '{entry}' is no package and its group: run, build, test, torch or full" for entry in entries
             if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+ (run|build|test|torch|full)( [a-z0-9-]+)?", entry)]
    if entries != sorted(entries, key=lambda entry: entry.split()[0]):
        found.append(f"{path}: not sorted")
    return found


def check_steps(texts):
    """tools/check: a row of its table for each step, a function of that name, and a gate that ends within
    an hour."""
    path, gate = "tools/check", 0
    text = texts.get(path, "")
    table = re.search(r"^table='\n(.*?)^'", text, re.M | re.S)
    found = [] if table else [f"{path}: has no table of steps"]
    for row in table.group(1).splitlines() if table else []:
        match = re.fullmatch(r"([a-z0-9-]+) +(gate|full) +(\d+)  (\S.*)", row)
        if not match:
            found.append(f"{path}: '{row}' is no NAME, gate or full, MINUTES and purpose")
            continue
        gate += int(match.group(3)) if match.group(2) == "gate" else 0
        name = match.group(1).replace("-", "_")
        if not re.search(rf"^{name}\(\) {{", text, re.M):
            found.append(f"{path}: step {match.group(1)} has no function {name}()")
    if gate > 60:
        found.append(f"{path}: the gate takes {gate} minutes, at most 60")
    return found


def check_system_tests_are_run(texts):
    """Both build systems run each file of system tests: one that nobody runs proves nothing."""
    found = []
    wanted = {p for p in texts if re.fullmatch(r"tests/system/test_\w+\.py", p)}
    for build, names in (
            ("tests/CMakeLists.txt", r"foreach\(name ([^)]*)\)\s+tributary_pytest\(system\."),
            ("tests/meson.build", r"foreach name : \[([^]]*)\]\s+test\('system\.'")):
        match = re.search(names, texts.get(build, ""))
        listed = re.findall(r"\w+", match.group(1)) if match else []
        runs = {f"tests/system/test_{name}.py" for name in listed}
        without = wanted - CMAKE_ALONE if build.endswith("meson.build") else wanted
        found += [f"{build}: does not run {path}" for path in sorted(without - runs)]
        found += [f"{build}: runs {path}, which does not exist" for path in sorted(runs - wanted)]
    return found


_CODE_PATH = re.compile(r"`((?:[a-z_]+/)+[A-Za-z0-9_]+\.(?:cc|h|py|map|yaml))`")


def check_paths_in_architecture(texts):
    """Files that the pages name, as on the trips through the code, exist."""
    return [f"{page}: no such file: {path}" for page in texts
            if re.fullmatch(r"docs/architecture(/\w+)?\.md", page)
            for path in _CODE_PATH.findall(texts[page]) if path not in texts]


_TRIPS = ("A contribution", "A `set`", "A tensor")


def check_trips(texts):
    """The three trips through the code name each of their files once."""
    page = "docs/architecture.md"
    found = []
    for trip in _TRIPS:
        told = re.search(rf"^\*\*{trip},.*?(?=\n\n|\Z)", texts[page], re.M | re.S)
        paths = _CODE_PATH.findall(told.group()) if told else []
        if len(paths) < 5:
            found.append(f"{page}: no trip of {trip}")
        found += [f"{page}: {path} is twice on the trip of {trip}"
                  for path in sorted(set(paths)) if paths.count(path) > 1]
    return found


_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def check_links(texts):
    found = []
    folders = {os.path.dirname(p) for p in texts}
    for path, text in texts.items():
        if not path.endswith(".md"):
            continue
        for match in _LINK.finditer(_without_code(text)):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            place = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            line = text.count("\n", 0, match.start()) + 1
            if place not in texts and place.rstrip("/") not in folders:
                found.append(f"{path}:{line}: no such file: {match.group(1)}")
            elif anchor and anchor not in _anchors(texts.get(place, "")):
                found.append(f"{path}:{line}: no such heading: {match.group(1)}")
    return found


_INDEX = "docs/README.md"


def check_index(texts):
    """Two clicks at most lead from the index of documents to each of them, decisions left out."""
    if _INDEX not in texts:
        return []
    first = _linked(texts, _INDEX)
    reached = first.union(*(_linked(texts, page) for page in first), {_INDEX})
    return [f"{path}: more than two clicks from {_INDEX}" for path in sorted(texts)
            if re.fullmatch(r"docs/.*\.md", path) and not path.startswith("docs/decisions/")
            and path not in reached]


def _linked(texts, page):
    """The files that a page links to."""
    targets = (m.group(1).partition("#")[0] for m in _LINK.finditer(texts.get(page, "")))
    return {os.path.normpath(os.path.join(os.path.dirname(page), t)) for t in targets if t}


def _without_code(text):
    return re.sub(r"```.*?```", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def _anchors(text):
    """Headings as GitHub turns them into anchors."""
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-")
            for h in re.findall(r"^#+ (.*)$", _without_code(text), re.M)}
