"""Files and functions stay small."""
import ast
import collections
import os
import re

from tree import is_cpp, is_python, is_shell

FILE_LINES = 500
USUAL_FILE_LINES = 250
EARLY_FILE_LINES = 450
FUNCTION_LINES = 70
FOLDER_FILES = 30
EARLY_FOLDER_FILES = 27

_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
_MEMBER = re.compile(r"\)\s*(noexcept\s*)?:(?!:)[^;]*[\w>]\s*\Z")
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def check_files(texts):
    return [f"{path}: {lines} lines, at most {FILE_LINES}" for path, lines in _source_lengths(texts)
            if lines > FILE_LINES]


def check_folders(texts):
    """Product code: folders small enough to be looked over."""
    return [f"{folder}/: {number} files of C++, at most {FOLDER_FILES}"
            for folder, number in _folder_sizes(texts) if number > FOLDER_FILES]


def near_limits(texts):
    """Not a violation: what two changes, each within the limits, may together take beyond them."""
    near = [f"{path}: {lines} of at most {FILE_LINES} lines" for path, lines in _source_lengths(texts)
            if EARLY_FILE_LINES <= lines <= FILE_LINES]
    return near + [f"{folder}/: {number} of at most {FOLDER_FILES} files"
                   for folder, number in _folder_sizes(texts) if EARLY_FOLDER_FILES <= number <= FOLDER_FILES]


def _folder_sizes(texts):
    files = collections.Counter(os.path.dirname(path) for path in texts
                                if is_cpp(path) and not path.startswith(("tests/", "bench/")))
    return sorted(files.items())


def long_files(texts):
    """Not a violation: what is longer than most files should be."""
    return sorted(((lines, path) for path, lines in _source_lengths(texts)
                   if lines > USUAL_FILE_LINES), reverse=True)


def _source_lengths(texts):
    for path, text in texts.items():
        if is_cpp(path) or is_python(path, text) or is_shell(text):
            yield path, text.count("\n")


DOCUMENT_LINES = {"README.md": 150}
USUAL_DOCUMENT_LINES = 250
LONG_DOCUMENTS = {"CHANGELOG.md"}


def check_documents(texts):
    """A page answers one question; a change log grows with each version."""
    found = []
    for path, text in texts.items():
        most = DOCUMENT_LINES.get(path, USUAL_DOCUMENT_LINES)
        if path.endswith(".md") and path not in LONG_DOCUMENTS and text.count("\n") > most:
            found.append(f"{path}: {text.count(chr(10))} lines, at most {most}")
    return found


def check_functions(texts):
    found = []
    for path, text in texts.items():
        if is_cpp(path):
            functions = cpp_functions(text)
        elif is_python(path, text):
            functions = python_functions(text)
        else:
            continue
        found += [f"{path}:{first}: function of {last - first + 1} lines, at most {FUNCTION_LINES}"
                  for first, last in functions if last - first + 1 > FUNCTION_LINES]
    return found


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def cpp_functions(text):
    """(first line, last line) of each function body, by its braces: enough for a length."""
    # Blank out comments, strings and preprocessor lines; keep every newline.
    text = _NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.M)
    functions, stack, head = [], [], 0
    for match in re.finditer(r"[{};]", text):
        at = match.start()
        if match.group() == "{":
            inside = any(kind == "function" for kind, _ in stack)
            opener = text[head:at]
            plain = _SCOPE.search(opener.split("(")[0]) or ")" not in opener
            if _MEMBER.search(opener):
                kind = "member"  # A() : b_{1} {: not yet the body
            else:
                kind = "scope" if inside or plain else "function"
            # The head starts at its first word, behind the blanks.
            stack.append((kind, head + len(opener) - len(opener.lstrip())))
        elif match.group() == "}" and stack:
            kind, start = stack.pop()
            if kind == "member":
                head = start
                continue
            if kind == "function":
                functions.append((text.count("\n", 0, start) + 1, text.count("\n", 0, at) + 1))
        head = at + 1
    return functions
