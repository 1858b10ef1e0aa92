"""docs/requirements.md: every cited id is defined, and what a row points at exists."""
import re

PAGE = "docs/requirements.md"
_ID = r"(?:T(?:[1-9]|1\d|2[0-2])|A[1-7]|O(?:[1-9]|1[0-2])|L[1-5]|C[1-7])"
_ROW = re.compile(rf"^\| ({_ID}) \|(.*)\|$", re.M)
_STATES = ("built", "partly: ", "not yet")
# T3_O6_Name of a test, or (T3, O6) and "T3:" in a comment. L2 to L4 are network layers elsewhere.
_IN_NAMES = re.compile(rf"(?:\w+, )((?:{_ID}_)+)[A-Z]")
_IN_COMMENTS = re.compile(r"(?://|#)[^\n]*?\(([^()\n]*)\)")
_ANY = re.compile(r"\b([TAOC]\d{1,2})\b")


def rows(page):
    """id → (state, sources, tests)"""
    found = {}
    for match in _ROW.finditer(page):
        _, state, sources, tests = (cell.strip() for cell in match.group(2).split("|"))
        found[match.group(1)] = (state, re.findall(r"`([^`]+)`", sources), re.findall(r"`([^`]+)`", tests))
    return found


def check_requirements(texts):
    page = rows(texts.get(PAGE, ""))
    found = []
    for name, (state, sources, tests) in page.items():
        found += [f"{PAGE}: {name}: no such file: {path}" for path in sources + tests if path not in texts]
        if not state.startswith(_STATES):
            found.append(f"{PAGE}: {name}: state '{state}'; allowed: {', '.join(_STATES)}")
        if state == "built" and not (sources and tests):
            found.append(f"{PAGE}: {name}: built, but names no source or no test")
        if state == "not yet" and (sources or tests):
            found.append(f"{PAGE}: {name}: not yet built, but names files")
        found += [f"{PAGE}: {name}: {path} does not cite it" for path in tests
                  if path in texts and not re.search(rf"(?<![A-Za-z0-9]){name}(?![0-9])", texts[path])]
    for path, line, name in _cited(texts):
        if name not in page:
            found.append(f"{path}:{line}: cites {name}, which {PAGE} does not define")
    return found


def _cited(texts):
    for path, text in texts.items():
        if not path.startswith("tests/") or not path.endswith((".cc", ".py")) or "house_rules" in path:
            continue
        for match in _IN_NAMES.finditer(text):
            for name in re.findall(_ID, match.group(1)):
                yield path, text.count("\n", 0, match.start()) + 1, name
        for match in _IN_COMMENTS.finditer(text):
            words = match.group(1)
            if re.fullmatch(r"(?:requirement )?(?:[TAOCL]\d{1,2}(?:, | and |; ?|$))+.*", words):
                for name in _ANY.findall(words):
                    yield path, text.count("\n", 0, match.start()) + 1, name
