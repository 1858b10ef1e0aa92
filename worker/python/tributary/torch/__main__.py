"""Runs a script, or -m MODULE, with the backend registered: for torch before 2.5.

    torchrun --nproc_per_node 4 -m tributary.torch train.py ARGUMENTS
"""

import runpy
import sys
from pathlib import Path


def main():
    del sys.argv[0]
    if not sys.argv or sys.argv[0] == "-m" and len(sys.argv) < 2:
        sys.exit("usage: python3 -m tributary.torch SCRIPT [ARGUMENTS]\n"
                 "       python3 -m tributary.torch -m MODULE [ARGUMENTS]")
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
