"""Plain English in product code: comments, docstrings and texts for the user (CONTRIBUTING.md)."""
import re

from includes import ORDER
from tree import is_cpp, is_python, is_shell

# Put together here so that the rules do not find themselves.
_PEOPLE = re.compile(r"\b(" + "|".join(
    ["no" + "body", "some" + "body", "any" + "body", "every" + "body", "who" + "ever", "whos" + "ever",
     "peo" + "ple"]) + r")\b", re.I)
# Idioms that a second reading costs.
IDIOMS = re.compile(r"\b(" + "|".join(["in va" + "in", "han" + "gs? on"]) + r")\b", re.I)
_OPENER = r"(?:Of|Who|Whose|What|Whatever)\b"
_CPP_COMMENT = re.compile(r"[ \t]*///? ?(.*)")
_HASH_COMMENT = re.compile(r"[ \t]*#(?!!) ?(.*)")
# A text for the user, or a docstring.
_TEXT = re.compile(rf'"({_OPENER} [a-z`].*)')


def check_product(texts):
    """A text names the actor, and starts with what the thing is or does."""
    found = []
    for path, text in texts.items():
        if path.split("/")[0] not in ORDER or not _is_source(path, text):
            continue
        comment = _CPP_COMMENT if is_cpp(path) else _HASH_COMMENT
        inside = False
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{path}:{number}: {complaint} (CONTRIBUTING.md): {line.strip()}"
                      for complaint in _complaints(line, comment, inside)]
            inside = comment.match(line) is not None
    return found


def _complaints(line, comment, inside):
    """`inside`: the line before is a comment, too. One at the end of a line may be a phrase."""
    if _PEOPLE.search(line):
        yield "name the actor"
    if IDIOMS.search(line):
        yield "use the field's term"
    own = comment.match(line)
    if own and not inside and re.match(_OPENER, own.group(1)) or _TEXT.search(line):
        yield "start with what it is or does"


def _is_source(path, text):
    return is_cpp(path) or is_python(path, text) or is_shell(text)
