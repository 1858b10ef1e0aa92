"""What may not stand in a file, and how a file begins."""
import re

import wording
from tree import is_cpp, is_python, is_shell

# Put together here so that the rules do not find themselves.
_MARKERS = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, "HA" + "CK"]) + r")\b")
_MACHINE = re.compile(r"(?<![\w.$}~-])/(" + "|".join(["wor" + "k", "far" + "m", "roo" + "t", "home"]) +
                      r")/|/tmp/(wt|bash_jobs)\b")
_SLEEP = re.compile("|".join(["sleep" + "_(for|until)", r"\bu" + r"sleep\s*\(", r"\bnanosleep\s*\(",
                              r"time\." + "sleep", r"(?<![\w.])sleep\s*\(\s*\d"]))
_SHELL_SLEEP = re.compile(r"^\s*sleep\s+[\d.$]", re.M)
_SKIP = re.compile("GTEST" + "_SKIP|DISABLED" + r"_|pytest\." + "skip|unittest" + r"\.skip")
# A document names the actor: the user, the operator, the rank, the port; and the project's terms.
_IDIOMS = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whosever|people)\b"
                     r"|\*\*Who\b(?![^*]*\?)", re.I)
# Terms that the glossary must have.
_TERMS = ("worker", "slot", "chunk", "seq", "epoch", "op", "plane", "shard", "stream", "host", "escalation")
_ROW = re.compile(r"^\| ((?:\*\*[^*|]+\*\*(?:, )?)+) \| ", re.M)
_GLOSSARY = "docs/glossary.md"
# Rows of keys are compared with the code, whose words they have.
_KEY_ROW = re.compile(r"^\| `.*$", re.M)


def _hits(pattern, path, text, complaint):
    return [f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {complaint}: {m.group().strip()}"
            for m in pattern.finditer(text)]


def check_markers(texts):
    found = []
    for path, text in texts.items():
        found += _hits(_MARKERS, path, text, "left-over marker")
    return found


def check_machine_paths(texts):
    found = []
    for path, text in texts.items():
        found += _hits(_MACHINE, path, text, "path of one machine")
    return found


def check_wording(texts):
    """Documents in plain English: no actor without a name."""
    found = []
    for path, text in texts.items():
        if not path.endswith(".md"):
            continue
        if path.startswith("docs/configuration/"):
            text = _KEY_ROW.sub("", text)
        found += _hits(_IDIOMS, path, text, "name the actor (CONTRIBUTING.md)")
        found += _hits(wording.IDIOMS, path, text, "use the field's term (CONTRIBUTING.md)")
    return found


def check_changelog(texts):
    """Each entry is there once, in one section."""
    entries = [" ".join(entry.split())
               for entry in re.findall(r"^- .*(?:\n  .*)*", texts.get("CHANGELOG.md", ""), re.M)]
    return [f"CHANGELOG.md: twice: {entry[:80]}" for entry in sorted(set(entries))
            if entries.count(entry) > 1]


def check_glossary(texts):
    """Each term of the project has one meaning, in one row."""
    if _GLOSSARY not in texts:
        return []
    terms = [t for row in _ROW.findall(texts[_GLOSSARY]) for t in re.findall(r"\*\*(.*?)\*\*", row)]
    found = [f"{_GLOSSARY}: {term} has no row" for term in _TERMS if term not in terms]
    return found + [f"{_GLOSSARY}: {term} has {terms.count(term)} rows" for term in sorted(set(terms))
                    if terms.count(term) > 1]


def check_no_sleep_in_tests(texts):
    """A test waits for an event, or sets the time; it never hopes that some time is enough."""
    found = []
    for path, text in texts.items():
        if path.startswith("tests/"):
            found += _hits(_SLEEP, path, text, "sleeping in a test")
            if is_shell(text):
                found += _hits(_SHELL_SLEEP, path, text, "sleeping in a test")
    return found


def check_no_skipped_tests(texts):
    found = []
    for path, text in texts.items():
        if path.startswith("tests/"):
            found += _hits(_SKIP, path, text, "a test that does not run")
    return found


def check_opening(texts):
    """A file says what it is. A .cc may leave that to its own header, which it includes first."""
    found = []
    for path, text in texts.items():
        if path.endswith((".h", ".hpp")) and not text.startswith(("//", "/*")):
            found.append(f"{path}:1: opens without a comment that says what it is")
        elif path.endswith((".h", ".hpp")) and "#pragma once" not in text and "#ifndef" not in text:
            found.append(f"{path}:1: has no include guard")
        elif path.endswith((".cc", ".c")) and not _opens_well(text):
            found.append(f"{path}:1: opens neither with a comment nor with its own header")
        elif is_python(path, text) and text.strip() and not _documented_python(text):
            found.append(f"{path}:1: has no docstring")
        elif is_shell(text) and not text.split("\n", 1)[1].startswith("#"):
            found.append(f"{path}:2: has no comment that says what it is")
    return found


def _opens_well(text):
    return text.startswith(("//", "/*", '#include "'))


def _documented_python(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines).lstrip().startswith(('"""', "'''", 'r"""'))


def check_final_newline(texts):
    return [f"{path}: does not end with one newline" for path, text in texts.items()
            if text and (not text.endswith("\n") or text.endswith("\n\n"))
            and (is_cpp(path) or path.endswith((".md", ".py", ".txt", ".build", ".cmake")))]
