"""Console blocks of a Markdown page: commands, and the output that the page shows for them."""
import dataclasses
import re


@dataclasses.dataclass
class Step:
    line: int  # in the page
    command: str
    output: list  # expected lines; "..." stands for anything


def section(text, heading):
    """(text of a section, number of its first line)."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return match.group(1), text.count("\n", 0, match.start(1)) + 1


def steps(text, first_line=1):
    """Each "$ " starts a command, "> " goes on with it, all else is output."""
    found = []
    for block in re.finditer(r"^```console\n(.*?)^```", text, re.M | re.S):
        line = first_line + text.count("\n", 0, block.start(1))
        for row in block.group(1).splitlines():
            if row.startswith("$ "):
                found.append(Step(line, row[2:], []))
            elif row.startswith("> ") or row == ">":
                found[-1].command += "\n" + row[2:]
            else:
                found[-1].output.append(row)
            line += 1
    return found


def matches(expected, actual):
    """True where the output is what the page shows."""
    pattern = re.escape("\n".join(expected)).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, actual.strip("\n"), re.S) is not None
