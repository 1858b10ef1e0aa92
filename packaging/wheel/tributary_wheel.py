"""Builds the Python wheel: a back end for pip (PEP 517) over CMake.

    pip wheel --no-build-isolation --no-deps .

The wheel is one file with the module and its type stubs, for transports over kernel UDP and memif. It
has neither DPDK nor PyTorch's backend nor the memory pool inside. It needs CMake, ninja, a compiler,
pybind11, yaml-cpp and the package wheel: those of Debian do.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from wheel.wheelfile import WheelFile

TOP = Path(__file__).resolve().parents[2]
SOURCES = TOP / "worker/python"
BUILD = TOP / "build/wheel"


def _metadata():
    (folder,) = SOURCES.glob("tributary-*.dist-info")
    return folder.name.split("-")[1].removesuffix(".dist"), (folder / "METADATA").read_text()


def _compile():
    """The extension module, in the build directory."""
    options = {"CMAKE_BUILD_TYPE": "Release", "TRIBUTARY_ENDPOINTS_ALONE": "ON", "TRIBUTARY_TORCH": "OFF",
               "TRIBUTARY_MPI": "OFF", "Python3_EXECUTABLE": sys.executable}
    subprocess.run(["cmake", "-G", "Ninja", "-S", TOP, "-B", BUILD,
                    *(f"-D{key}={value}" for key, value in options.items())], check=True)
    subprocess.run(["cmake", "--build", BUILD, "--target", "tributary_python"], check=True)
    (module,) = (BUILD / "python/tributary").glob("_native.*.so")
    subprocess.run([os.environ.get("STRIP", "strip"), module], check=True)
    return module


def _python_files():
    """Paths of the package that the wheel has, relative to SOURCES."""
    listed = (SOURCES / "package.txt").read_text().splitlines()
    return [path for path in listed if path.startswith("tributary/") and not path.startswith("tributary/torch/")]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517: makes the wheel in that folder, returns its name."""
    version, metadata = _metadata()
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    name = f"tributary-{version}-{python}-{python}-{platform}.whl"
    module = _compile()
    with WheelFile(Path(wheel_directory) / name, "w") as wheel:
        for path in _python_files():
            wheel.write(SOURCES / path, path)
        wheel.write(module, f"tributary/{module.name}")
        folder = f"tributary-{version}.dist-info"
        wheel.writestr(f"{folder}/METADATA", metadata)
        wheel.writestr(f"{folder}/WHEEL", "Wheel-Version: 1.0\nGenerator: tributary\n"
                       f"Root-Is-Purelib: false\nTag: {python}-{python}-{platform}\n")
        wheel.write(TOP / "LICENSE", f"{folder}/LICENSE")
    return name
