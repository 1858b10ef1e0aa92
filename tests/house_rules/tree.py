"""What the rules look at: the text of every file that git knows or could be asked to add."""
import os
import subprocess

# Inputs of fuzz targets: bytes, even where they look like text.
DATA = "tests/fuzz/corpus/"
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(top=TOP):
    """path → text of the tree; what is not UTF-8 text is left out."""
    listed = subprocess.run(
        ["git", "-C", top, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=True, text=True).stdout.split("\0")
    texts = {}
    for path in filter(None, listed):
        if path.startswith(DATA):
            continue
        try:
            with open(os.path.join(top, path), encoding="utf-8") as f:
                texts[path] = f.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return texts


def is_cpp(path):
    return path.endswith((".cc", ".h", ".hpp", ".c"))


def is_python(path, text):
    return path.endswith(".py") or text.startswith("#!") and "python" in text.splitlines()[0]


def is_shell(text):
    return text.startswith("#!") and text.splitlines()[0].rstrip().endswith(("bash", "/sh"))
