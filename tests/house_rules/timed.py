"""Suites that use a clock, threads, sockets or processes end in Timed, and are tests of their own: the
gate repeats no other, and runs several of the others at a time."""
import re

LIST = "tests/timed.txt"
_TEXT_OR_COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
_USES = re.compile(
    r"\bstd::j?thread\b|\bstd::async\b|\bpthread_create\b|\b(?:steady|system)_clock::now\b|\bclock_gettime\s*\("
    r"|\b(?:u|nano)?sleep(?:_for|_until)?\s*\(|\b(?:socket|socketpair|pipe2?)\s*\("
    r"|\b(?:v?fork|posix_spawnp?|popen|system)\s*\(")
# Methods of these names are no system calls.
_METHOD = re.compile(r"(?:\.|->)\w+\s*\(")
_SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+),", re.M)
_INCLUDE = re.compile(r'#include "(tests/[^"]+)\.h"')
_TIMED = re.compile(r"Timed(DeathTest)?$")


def _code(text):
    plain = _TEXT_OR_COMMENT.sub(lambda match: '""' if match[0][0] in 'R"' else "", text)
    return _METHOD.sub("", plain)


def _with_helpers(texts, path):
    """The path, the test headers that it includes, and these headers' sources."""
    seen, left = set(), [path]
    while left:
        path = left.pop()
        if path in seen or path not in texts:
            continue
        seen.add(path)
        for header in _INCLUDE.findall(texts[path]):
            left += [header + ".h", header + ".cc"]
    return sorted(seen)


def check_suites(texts):
    uses = {path: _USES.search(_code(text)) for path, text in texts.items()
            if path.startswith("tests/") and path.endswith((".h", ".cc"))}
    found = []
    for path, text in sorted(texts.items()):
        suites = sorted({suite for suite in _SUITE.findall(text) if not _TIMED.search(suite)})
        if not path.startswith("tests/") or not path.endswith("_test.cc") or not suites:
            continue
        for near in _with_helpers(texts, path):
            if uses[near]:
                found.append(f"{path}: {', '.join(suites)}: name it ...Timed, because {near} has {uses[near][0].strip()}")
                break
    return found


def check_list(texts):
    """The list has the folders with such suites: without it none of them would run."""
    timed = {path.split("/")[1] for path, text in texts.items()
             if path.startswith("tests/") and path.endswith("_test.cc")
             and any(_TIMED.search(suite) for suite in _SUITE.findall(text))}
    listed = {line for line in texts.get(LIST, "").splitlines() if line and line[0] != "#"}
    return [f"{LIST}: lacks {name}" for name in sorted(timed - listed)] + \
           [f"{LIST}: {name} has no suite that ends in Timed" for name in sorted(listed - timed)]
