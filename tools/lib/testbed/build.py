"""Builds all programs, by the Release preset, with the packages that they need and no others."""

import os
import re
import shutil
import subprocess
import sys

from .process import Process
from .tree import TOP

_BUILD_LIMIT_S = 3600


def build(loop, run):
    """Configures and builds; ProcessFailed has the compiler's last words."""
    env = {}
    if shutil.which("ccache"):
        env = {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
    configure = ["cmake", "--preset", "release", *_without_tests()]
    # Not more jobs than memory can hold: a C++ compiler may take 1 GiB.
    jobs = max(1, min(os.cpu_count() or 1, _memory_gib()))
    compile_ = ["cmake", "--build", "--preset", "release", "-j", jobs, "--target", "programs"]
    for name, command in (("configure", configure), ("compile", compile_)):
        with Process(
            loop, name, command, run / f"{name}.log", env=env, cwd=TOP, on_line=_show_step
        ) as process:
            process.check_exit(_BUILD_LIMIT_S)
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)


def _without_tests():
    """A new build directory has no tests, no benchmarks and nothing for MPI where their libraries are
    missing."""
    missing = subprocess.run([TOP / "tools/missing-packages", "test"], capture_output=True, text=True,
                             check=True).stdout
    if not missing or (TOP / "build/release/CMakeCache.txt").exists():
        return []
    return ["-DTRIBUTARY_TESTS=OFF", "-DTRIBUTARY_BENCH=OFF", "-DTRIBUTARY_MPI=OFF"]


def _show_step(_process, text):
    """Ninja's [done/all], rewritten in place; a log file gets nothing of it."""
    if sys.stdout.isatty() and (match := re.match(r"\[(\d+)/(\d+)\]", text)):
        print(f"\rbuild      {match[1]}/{match[2]} ", end="", flush=True)


def _memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**30
