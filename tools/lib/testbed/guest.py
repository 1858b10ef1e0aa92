"""A virtual machine as a peer: QEMU without KVM, Debian's kernel, busybox, and what a test adds.

The kernel comes from Debian's package, unpacked into the build directory and never installed. The
guest lives in memory: an initial RAM disk with busybox, the modules of its network card, and the
files that it is given, programs with their shared libraries. It brings eth0 up, runs a script, and
switches itself off when that ends. What the script prints is the output of the process.

Its network card is virtio-net, whose other end is a vhost-user port of a switch: that must be there
first.
"""

import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from .process import Process
from .tree import build_directory

_MODULES = ("virtio_pci", "virtio_net")
_MEMORY = "192M"
_READY_S = 120

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /usr/bin /usr/sbin /sbin
/bin/busybox --install -s
mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
for module in {modules}; do insmod $module; done
ip link set lo up
ip link set eth0 mtu {mtu} up
ip addr add {address}/24 dev eth0
ip route add 224.0.0.0/4 dev eth0
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
echo guest: up
sh /script
echo guest: ended $?
poweroff -f
"""


def _run(command, **options):
    return subprocess.run(
        list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout


def _kernel_package():
    """The package that linux-image-amd64 stands for."""
    for _ in range(2):
        known = _run(["apt-cache", "depends", "linux-image-amd64"])
        if found := re.search(r"Depends: (linux-image-\S+)", known):
            return found[1]
        _run(["apt-get", "-o", "DPkg::Lock::Timeout=300", "update"])
    raise RuntimeError("Debian's package lists have no linux-image-amd64")


def kernel():
    """(vmlinuz, [modules in the order of loading]), fetched at the first call."""
    package = _kernel_package()
    version = package.removeprefix("linux-image-")
    home = build_directory() / "guest" / version
    root = home / "root"
    if not (root / "lib/modules" / version / "modules.dep").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _run(["apt-get", "download", package], cwd=home)
        _run(["dpkg-deb", "-x", *home.glob("*.deb"), root])
        _run(["depmod", "-b", root, version])
    lines = []
    for module in _MODULES:
        wanted = ["modprobe", "-d", root, "-S", version, "--show-depends", module]
        lines += [line.split()[1] for line in _run(wanted).splitlines() if line.startswith("insmod")]
    return root / "boot" / f"vmlinuz-{version}", [pathlib.Path(line) for line in dict.fromkeys(lines)]


def _libraries(program):
    """Paths of what a program is linked to; none of a script, or of a static one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def _add(tree, source, name):
    target = tree / name.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _disk(path, script, programs, address, mtu):
    """Writes the initial RAM disk; returns the kernel."""
    vmlinuz, modules = kernel()
    with tempfile.TemporaryDirectory() as directory:
        tree = pathlib.Path(directory)
        _add(tree, "/bin/busybox", "/bin/busybox")
        for module in modules:
            _add(tree, module, f"/modules/{module.name}")
        for program in programs:
            _add(tree, program, f"/usr/bin/{pathlib.Path(program).name}")
            for library in _libraries(program):
                _add(tree, library, library)
        names = " ".join(f"/modules/{module.name}" for module in modules)
        (tree / "init").write_text(_INIT.format(modules=names, mtu=mtu, address=address))
        (tree / "init").chmod(0o755)
        (tree / "script").write_text(script)
        files = _run(["find", "."], cwd=tree)
        with open(path, "wb") as disk:
            subprocess.run(
                ["cpio", "--quiet", "-o", "-H", "newc"],
                cwd=tree, input=files.encode(), stdout=disk, check=True,
            )
    return vmlinuz


class Guest:
    """A context manager; up, with its address, when entered.

    `socket` is the vhost-user port's; `script` runs in busybox's shell; `programs` are files of this
    machine that it finds in its PATH.
    """

    def __init__(self, loop, run, name, socket, address, script, programs=(), mtu=9000):
        disk = run / f"{name}.cpio"
        vmlinuz = _disk(disk, script, programs, address, mtu)
        # vectors=0: with MSI-X this QEMU ends when it emulates the CPU and the card is vhost-user.
        mac = ":".join(f"{byte:02x}" for byte in (0x52, 0x54, 0, 0, 0, int(address.split(".")[-1])))
        command = f"""qemu-system-x86_64 -machine q35,memory-backend=mem -accel tcg,thread=multi
            -cpu Nehalem -m {_MEMORY} -nodefaults -no-user-config -display none -no-reboot
            -serial stdio -kernel {vmlinuz} -initrd {disk}
            -append 'console=ttyS0 quiet panic=-1 nokaslr mitigations=off'
            -object memory-backend-memfd,id=mem,size={_MEMORY},share=on
            -chardev socket,id=port,path={socket} -netdev vhost-user,id=net,chardev=port
            -device virtio-net-pci,netdev=net,mac={mac},vectors=0"""
        self._arguments = loop, name, shlex.split(command), run / f"{name}.log"
        self.process = None

    def __enter__(self):
        self.process = Process(*self._arguments)
        try:
            self.process.wait_line("guest: up", _READY_S)
        except BaseException:
            self.process.stop()
            raise
        return self

    def __exit__(self, *_):
        self.process.stop()
