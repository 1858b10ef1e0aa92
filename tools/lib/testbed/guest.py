"""Virtual machines: QEMU without KVM, Debian's kernel, busybox, and what a test adds.

The kernel comes from Debian's package, unpacked into the user's cache folder and never installed:
`python3 -m testbed.guest` fetches it ahead of the tests. The
guest lives in memory: an initial RAM disk with busybox, the modules of its network card, and the
files that it is given, programs with their shared libraries. It brings eth0 up, runs a script, and
switches itself off when that ends. What the script prints is the output of the process.

A `Guest` is a peer: its network card's other end is a vhost-user port of a switch, which must be
there first. An `RdmaGuest` has a RoCE device on a cable to another such machine. A `TwoSockets` is a machine for a switch of its own, as few have one at hand.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

from .process import Process

_MODULES = ("virtio_pci", "virtio_net")
_MEMORY = "192M"
_RDMA_MEMORY = "320M"  # rdma-core's libraries are in the RAM disk
_NODE_MEMORY = "384M"  # of each socket
_RDMA_MODULES = ("ib_uverbs", "rdma_ucm", "crc32_generic", "rdma_rxe")
_RDMA_PROGRAM = "/usr/bin/rdma"
_RDMA_DRIVER = "/etc/libibverbs.d/rxe.driver"
_DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_e1000", "net_memif")
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


def _cache():
    """The folder of what is fetched once for all builds of the user."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "tributary/guest"


def _unpack(package, version, root):
    """Several at a time may: the first whole one stays."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        folder = pathlib.Path(folder)
        _run(["apt-get", "download", package], cwd=folder)
        _run(["dpkg-deb", "-x", *folder.glob("*.deb"), folder / "root"])
        _run(["depmod", "-b", folder / "root", version])
        try:
            (folder / "root").rename(root)
        except OSError:
            if not root.exists():
                raise


def kernel(wanted=_MODULES):
    """(vmlinuz, [modules in the order of loading]), fetched at the first call of a user."""
    package = _kernel_package()
    version = package.removeprefix("linux-image-")
    root = _cache() / version
    if not root.exists():
        _unpack(package, version, root)
    lines = []
    for module in wanted:
        listed = _run(["modprobe", "-d", root, "-S", version, "--show-depends", module])
        lines += [line.split()[1] for line in listed.splitlines() if line.startswith("insmod")]
    return root / "boot" / f"vmlinuz-{version}", [pathlib.Path(line) for line in dict.fromkeys(lines)]


def _libraries(program):
    """Paths of what a program is linked to; none of a script, or of a static one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


def _add(tree, source, name):
    target = tree / name.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _add_drivers(tree):
    """DPDK's, which it looks for in a directory of its own: links, or it would load some twice."""
    directory = next(pathlib.Path("/usr/lib").glob("*/dpdk/pmds-*"))
    version = directory.name.removeprefix("pmds-")
    (tree / str(directory).lstrip("/")).mkdir(parents=True)
    for name in _DRIVERS:
        library = f"/lib/{directory.parents[1].name}/librte_{name}.so.{version.split('.')[0]}"
        for file in (library, *_libraries(library)):
            _add(tree, file, file)
        (tree / str(directory).lstrip("/") / f"librte_{name}.so.{version}").symlink_to(library)


def _disk(path, script, programs, address, mtu, modules=_MODULES, files=(), drivers=False):
    """Writes the initial RAM disk; returns the kernel. `files`: pairs of a name, and text or a path."""
    vmlinuz, modules = kernel(modules)
    with tempfile.TemporaryDirectory() as directory:
        tree = pathlib.Path(directory)
        _add(tree, "/bin/busybox", "/bin/busybox")
        for module in modules:
            _add(tree, module, f"/modules/{module.name}")
        for program in programs:
            _add(tree, program, f"/usr/bin/{pathlib.Path(program).name}")
            for library in _libraries(program):
                _add(tree, library, library)
        if drivers:
            _add_drivers(tree)
        for name, content in files:
            (tree / name.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, pathlib.Path):
                shutil.copy(content, tree / name.lstrip("/"))
            else:
                (tree / name.lstrip("/")).write_text(content)
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


class _Machine:
    """A context manager; up, with its address, when entered."""

    def __init__(self, loop, run, name, vmlinuz, disk, hardware, options=""):
        command = f"""qemu-system-x86_64 -accel tcg,thread=multi -cpu Nehalem -nodefaults
            -no-user-config -display none -no-reboot -serial stdio -kernel {vmlinuz} -initrd {disk}
            -append 'console=ttyS0 quiet panic=-1 nokaslr mitigations=off {options}' {hardware}"""
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


def _with_rdma(script):
    """A script that has rxe0, the kernel's RoCE in software, over eth0, and the files for it."""
    provider = next(pathlib.Path("/usr/lib").glob("*/libibverbs/librxe-rdmav*.so"))
    files = [(str(provider), provider), (_RDMA_DRIVER, pathlib.Path(_RDMA_DRIVER))]
    return f"rdma link add rxe0 type rxe netdev eth0 || exit 1\n{script}", files


class Guest(_Machine):
    """A peer.

    `socket` is the vhost-user port's; `script` runs in busybox's shell; `programs` are files of this
    machine that it finds in its PATH, `modules` more of its kernel's. `rdma`: it has rxe0.
    """

    def __init__(self, loop, run, name, socket, address, script, programs=(), mtu=9000, modules=(), rdma=False):
        disk = run / f"{name}.cpio"
        files, memory = (), _RDMA_MEMORY if rdma else _MEMORY
        if rdma:
            script, files = _with_rdma(script)
            programs, modules = (_RDMA_PROGRAM, *programs), (*modules, *_RDMA_MODULES)
        vmlinuz = _disk(disk, script, programs, address, mtu, (*_MODULES, *modules), files)
        # vectors=0: with MSI-X this QEMU ends when it emulates the CPU and the card is vhost-user.
        mac = ":".join(f"{byte:02x}" for byte in (0x52, 0x54, 0, 0, 0, int(address.split(".")[-1])))
        super().__init__(loop, run, name, vmlinuz, disk, f"""
            -machine q35,memory-backend=mem -m {memory}
            -object memory-backend-memfd,id=mem,size={memory},share=on
            -chardev socket,id=port,path={socket} -netdev vhost-user,id=net,chardev=port
            -device virtio-net-pci,netdev=net,mac={mac},vectors=0""")


class RdmaGuest(_Machine):
    """A machine with rxe0, the kernel's RoCE in software, over eth0.

    `cable`: a socket's path, made by the machine that `listens` and joined by another. `files`: names
    in the machine, and text or paths of this one.
    """

    def __init__(self, loop, run, name, cable, listens, address, script, programs, files):
        disk = run / f"{name}.cpio"
        script, own_files = _with_rdma(script)
        vmlinuz = _disk(disk, script, (_RDMA_PROGRAM, *programs), address, 9000,
                        (*_MODULES, *_RDMA_MODULES), (*files.items(), *own_files))
        server = "on" if listens else "off"
        super().__init__(loop, run, name, vmlinuz, disk, f"""
            -machine q35 -m {_RDMA_MEMORY}
            -netdev stream,id=net,server={server},addr.type=unix,addr.path={cable}
            -device virtio-net-pci,netdev=net,mac=52:54:00:00:01:{int(address.split(".")[-1]):02x}""",
            "no_timer_check")  # on a busy machine the kernel may take the emulated timer for a dead one


class TwoSockets(_Machine):
    """CPU 0 on node 0, CPU 1 on node 1, and there a network card, CARD, behind an IOMMU.

    Its cable ends at eth0, the kernel's own. DPDK's drivers and `files` are there, too.
    """

    CARD = "0000:81:00.0"

    def __init__(self, loop, run, name, address, script, programs, files):
        disk = run / f"{name}.cpio"
        modules = (*_MODULES, "vfio_iommu_type1", "vfio_pci")
        vmlinuz = _disk(disk, script, programs, address, 1500, modules, files, drivers=True)
        nodes = " ".join(
            f"-object memory-backend-ram,id=mem{node},size={_NODE_MEMORY}"
            f" -numa node,nodeid={node},cpus={node},memdev=mem{node}"
            for node in (0, 1)
        )
        super().__init__(loop, run, name, vmlinuz, disk, f"""
            -machine q35 -m {2 * int(_NODE_MEMORY[:-1])}M -smp 2 {nodes}
            -device intel-iommu,caching-mode=on
            -device pxb-pcie,id=bus1,bus_nr=128,bus=pcie.0,numa_node=1
            -device pcie-root-port,id=slot1,bus=bus1,slot=1,chassis=1
            -netdev hubport,id=net0,hubid=0 -device virtio-net-pci,netdev=net0,bus=pcie.0
            -netdev hubport,id=net1,hubid=0 -device e1000e,bus=slot1,netdev=net1""", "intel_iommu=on")


if __name__ == "__main__":
    print(kernel(_RDMA_MODULES)[0])
