"""Open vSwitch with DPDK as a device under test: one bridge whose only flow is NORMAL, a learning switch.

Everything of it lies in the round's directory, and its bridge in a network namespace of its own, so no
Open vSwitch of this machine is touched. It insists on hugepages, which the other sides do without.
Debian: openvswitch-switch-dpdk.
"""

import contextlib
import os
import shutil
from pathlib import Path

import dut
from testbed.process import Process

VSWITCHD = Path("/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk")
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
MEGABYTES = 1024
_PAGES = Path("/proc/sys/vm/nr_hugepages")
_PAGE_MEGABYTES = 2


def missing():
    """What it needs and this machine lacks; empty: nothing."""
    if not VSWITCHD.exists() or shutil.which("ovsdb-server") is None:
        return "package openvswitch-switch-dpdk is missing"
    if os.geteuid() != 0:
        return "it needs root, for hugepages and a network namespace"
    return ""


@contextlib.contextmanager
def hugepages():
    """Enough of them for one Open vSwitch, until the end."""
    before = int(_PAGES.read_text())
    wanted = before + MEGABYTES // _PAGE_MEGABYTES + 64
    try:
        _PAGES.write_text(str(wanted))
        if (got := int(_PAGES.read_text())) < wanted:
            raise OSError(f"the kernel gives {got} of {wanted} hugepages")
        yield
    finally:
        _PAGES.write_text(str(before))


class Ovs(dut.Device):
    """Its poll-mode thread has the device's CPU, everything else of it the generator's."""

    def __init__(self, loop, stack, directory, ports, bsize):
        super().__init__(loop, directory, ports, bsize)
        generator, device = dut.cpus()
        self._environment = {name: str(directory) for name in (
            "OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")}
        self._once("ovsdb-tool", "create", directory / "conf.db", SCHEMA)
        self._start(stack, "ovsdb-server", directory / "conf.db",
                    f"--remote=punix:{directory}/db.sock", f"--unixctl={directory}/ovsdb.ctl")
        loop.wait((directory / "db.sock").exists, dut.LIMIT_S, "ovsdb-server listens")
        self._configure("--no-wait", "init")
        options = {"dpdk-init": "true", "dpdk-extra": "--no-pci", "dpdk-socket-mem": MEGABYTES,
                   "pmd-cpu-mask": f"{1 << device:#x}", "dpdk-lcore-mask": f"{1 << generator:#x}"}
        self._configure("--no-wait", "set", "Open_vSwitch", ".",
                        *(f"other_config:{key}={value}" for key, value in options.items()))
        self._start(stack, VSWITCHD, f"unix:{directory}/db.sock",
                    f"--unixctl={directory}/vswitchd.ctl")
        self._configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
        for i in range(ports):
            self._configure("add-port", "br0", f"p{i}", "--", "set", "Interface", f"p{i}",
                            "type=dpdk",
                            f"options:dpdk-devargs={dut.memif(directory, i, 'server', bsize)}")

    def generator(self, *options):
        # Its poll-mode thread sends through the second queue: the first is the main thread's.
        return super().generator("--queues", 2, *options)

    def _start(self, stack, program, *arguments):
        name = Path(program).name
        argv = ["unshare", "--net", program, *arguments, "--no-chdir"]
        return stack.enter_context(Process(self.loop, name, argv, self.directory / f"{name}.log",
                                           env=self._environment))

    def _once(self, *argv):
        with Process(self.loop, argv[0], argv, self.directory / "configure.log",
                     env=self._environment) as process:
            process.check_exit(dut.LIMIT_S)

    def _configure(self, *arguments):
        self._once("ovs-vsctl", f"--db=unix:{self.directory}/db.sock", f"--timeout={dut.LIMIT_S}",
                   *arguments)
