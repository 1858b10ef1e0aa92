"""Prints where torch is, for both build systems: version, C++ ABI (0 or 1), the folder of its
libraries, then include folders, one a line. Exit status 1 where it is missing."""
import importlib.util
import os
import pathlib
import sys


def main():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        sys.exit("this Python has no module torch")
    folder = pathlib.Path(spec.origin).parent
    libraries = folder / "lib"
    missing = [name for name in ("torch_python", "torch_cpu", "c10")
               if not (libraries / f"lib{name}.so").exists()]
    if missing:
        # Debian has these where all libraries are, for the linker alone.
        libraries = pathlib.Path("/usr/lib") / (os.uname().machine + "-linux-gnu")
    # Beside the module in PyTorch's own packages, with all others in Debian's.
    roots = [root for root in (folder / "include", pathlib.Path("/usr/include"))
             if (root / "torch/csrc/distributed/c10d/ProcessGroup.hpp").exists()]
    if not roots or not (libraries / "libtorch_python.so").exists():
        sys.exit("torch's C++ headers or libraries are missing (Debian: libtorch-dev)")
    import torch
    print(torch.__version__, int(torch._C._GLIBCXX_USE_CXX11_ABI), libraries, roots[0],
          roots[0] / "torch/csrc/api/include", sep="\n")


if __name__ == "__main__":
    main()
