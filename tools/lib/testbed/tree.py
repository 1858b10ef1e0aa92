"""Where things are: the source tree, the binaries of a build, the interpreter."""

import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
# Debian's interpreter, which sees Debian's packages; another one may come first in PATH.
PYTHON = "/usr/bin/python3"


def build_directory():
    """CMake's Release build, unless TRIBUTARY_BUILD names another, of CMake or meson."""
    return Path(os.environ.get("TRIBUTARY_BUILD", TOP / "build/release"))


def binary(build, name):
    """CMake gathers binaries in bin/; meson leaves them where their sources are."""
    places = (build / "bin" / name, build / "tools" / name, build / "tests" / name)
    found = next((p for p in places if p.exists()), None)
    if found is None:
        raise FileNotFoundError(f"{places[0]} does not exist; build it: "
                                "cmake --preset release && "
                                "cmake --build --preset release --target programs")
    return found


def module_directory(build):
    """Folders that PYTHONPATH needs for `import tributary`."""
    return build / "python" if (build / "python").exists() else build / "worker/python"
