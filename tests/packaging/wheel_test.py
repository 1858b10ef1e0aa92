"""The Python wheel: one file, made by pip with Debian's packages, without DPDK inside."""

import zipfile

from bare import TOP, run

PYTHON = "/usr/bin/python3"
USE = """
import tributary
try:
    tributary.init(job=1, rank=0, size=2, address="memif:///nowhere/s?id=0&switch=10.77.0.254", join_timeout=0.2)
except tributary.Error as error:
    assert "No such file" in str(error), error
try:
    tributary.init(job=1, rank=0, size=2, address="udp://127.0.0.1:1", join_timeout=0.2)
except tributary.Error as error:
    print(tributary.__file__)
"""


def test_the_wheel_is_one_file_that_needs_no_dpdk(tmp_path):
    run(PYTHON, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-cache-dir", "-w", tmp_path,
        ".", cwd=TOP)
    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "there")
    assert {"tributary/__init__.py", "tributary/__init__.pyi", "tributary/py.typed"} <= names
    assert not any("torch" in name or "data/" in name for name in names), names
    (module,) = (tmp_path / "there/tributary").glob("_native*.so")
    needed = run("readelf", "-d", module)
    assert "librte" not in needed, needed
    installed = tmp_path / "installed"
    run(PYTHON, "-m", "pip", "install", "--no-deps", "--no-index", "--target", installed, wheel)
    shown = run(PYTHON, "-B", "-c", USE, env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"})
    assert shown.strip() == str(installed / "tributary/__init__.py")
