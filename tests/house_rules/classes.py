"""A class can be entered: it has few declarations, and its members are in few source files."""
import os
import re

from tree import is_cpp

DECLARATIONS = 60
SOURCE_FILES = 4

# Declarations and source files of those that grew before the rule; they may shrink only.
LARGER = {
    "aggregator/shard/shard.h Shard": (160, 16),
    "aggregator/engine/engine_impl.h Engine::Impl": (132, 12),
    "dataplane/loop/packet_loop.h PacketLoop": (132, 6),
    "worker/api/progress.h Progress": (121, 2),
    "worker/session/session.h Session": (109, 8),
    "dataplane/aggregation/aggregation.h Aggregation": (103, 4),
    "aggregator/shard/shard_job.h ShardJob": (68, 0),
    "aggregator/engine/engine.h Engine": (66, 13),
    "aggregator/chunk/chunk_table.h ChunkTable": (64, 1),
}

_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.S | re.M)
_CLASS = re.compile(r"(?<!enum )\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([A-Z]\w*(?:::[A-Z]\w*)*)\s*(?:final\s*)?(?::[^{;()]*)?\{")


def check_classes(texts):
    """Those beyond a limit, or beyond what they had; and rows of what has become small."""
    sizes = dict(class_sizes(texts))
    found = []
    for name, (declarations, files) in sizes.items():
        most, most_files = LARGER.get(name, (DECLARATIONS, SOURCE_FILES))
        if declarations > most or files > most_files:
            found.append(f"{name}: {declarations} declarations in {files} source files, at most {most} in {most_files}")
    for name, (most, most_files) in LARGER.items():
        declarations, files = sizes.get(name, (0, 0))
        if declarations < most or files < most_files:
            found.append(f"{name}: has {declarations} declarations in {files} source files: so write it in LARGER")
    return sorted(found)


def class_sizes(texts):
    """("FOLDER/HEADER CLASS", (declarations, source files)) of each class of the product's headers."""
    sources = {}
    for path, text in texts.items():
        if is_cpp(path) and path.endswith(".cc") and not path.startswith(("tests/", "bench/")):
            sources.setdefault(os.path.dirname(path), []).append(_NOISE.sub(" ", text))
    for path, text in texts.items():
        if not path.endswith((".h", ".hpp")) or path.startswith(("tests/", "bench/")):
            continue
        near = sources.get(os.path.dirname(path), [])
        for name, body in _classes(_NOISE.sub(" ", text)):
            defines = re.compile(rf"^(?=[^\s/}}])[^\n;]*\b{name}::~?\w+\s*\(", re.M)
            files = sum(defines.search(source) is not None for source in near)
            yield f"{path} {name}", (_declarations(body), files)


def _classes(text, outer=""):
    at = 0
    while match := _CLASS.search(text, at):
        end = _close(text, match.end() - 1)
        name = outer + match[1]
        body = text[match.end():end]
        yield name, body
        yield from _classes(body, name + "::")
        at = end


def _close(text, opening):
    depth = 0
    for at in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text)


def _declarations(body):
    """Statements at the outermost level: members, functions with or without a body, types, aliases."""
    count, at, parens, begun = 0, 0, 0, False
    while at < len(body):
        char = body[at]
        if char == "(":
            parens += 1
        elif char == ")":
            parens -= 1
        elif char == "{" and parens == 0:
            at = _close(body, at)
            behind = body[at + 1:].lstrip()[:1]
            if behind not in (";", "{", ",", "(", "=", ":"):  # a function's body
                count += begun
                begun = False
        elif char == ";" and parens == 0:
            count += begun
            begun = False
        elif not char.isspace():
            begun = True
        at += 1
    return count
