"""Packages of the build under test, and a bare Debian that has them."""

import os
import shutil
import subprocess

import pytest
from bare import BUILD, Machine, make_root, run


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The folder with the .deb files of this build, the reference of the interfaces in them."""
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run(["cmake", "--build", BUILD, "--target", "api_reference"], check=True)
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder)
    shutil.rmtree(folder / "_CPack_Packages")
    return folder


@pytest.fixture(scope="session")
def bare(packages, tmp_path_factory):
    """A bare Debian with the packages and what the guide asks for, as apt brings it."""
    assert os.geteuid() == 0, "debootstrap needs root"
    machine = Machine(make_root(tmp_path_factory.mktemp("bare") / "root"))
    (machine.root / "packages").mkdir()
    for package in packages.glob("*.deb"):
        if "-torch" not in package.name:  # brings PyTorch: two gigabytes
            shutil.copy(package, machine.root / "packages")
    machine.run("apt-get update && apt-get install -y --no-install-recommends /packages/*.deb "
                "gcc g++ libc6-dev make cmake pkg-config")
    yield machine
    shutil.rmtree(machine.root)
