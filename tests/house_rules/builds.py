"""CMake and meson build the same executables and run the same tests."""
import json
import os
import re
import subprocess
import tempfile


def cmake_executables(build):
    """Names of the programs that a CMake build directory makes."""
    targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True,
                             text=True, check=True).stdout
    return {os.path.basename(m) for m in
            re.findall(r"^(\S+): (?:C|CXX)_EXECUTABLE_LINKER__", targets, re.M)}


def cmake_tests(build):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                           capture_output=True, text=True, check=True).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def meson_introspect(top):
    """(executables, tests) of a fresh meson configuration; nothing is compiled."""
    with tempfile.TemporaryDirectory(prefix="tributary-house-rules-") as build:
        done = subprocess.run(["meson", "setup", build, top], capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise AssertionError("meson setup fails:\n" + done.stdout[-3000:])
        asked = [json.loads(subprocess.run(["meson", "introspect", what, build],
                                           capture_output=True, text=True, check=True).stdout)
                 for what in ("--targets", "--tests")]
    executables = {os.path.basename(t["filename"][0]) for t in asked[0]
                   if t["type"] == "executable"}
    return executables, {test["name"] for test in asked[1]}


def differences(cmake, meson):
    """Complaints about what only one of two sets holds."""
    return ([f"only CMake has {name}" for name in sorted(cmake - meson)] +
            [f"only meson has {name}" for name in sorted(meson - cmake)])
