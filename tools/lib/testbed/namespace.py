"""Network namespaces without names, and veth pairs between them.

A name in /run/netns would outlive a killed run; a file descriptor does not. To look inside while
a run lasts: nsenter --net=/proc/PID/ns/net, with the pid of a process that runs there.
"""

import ctypes
import os
import subprocess

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class NamespaceError(Exception):
    """A namespace or link could not be made; the text has the command and the reason."""


def _call(function, *arguments):
    if function(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{function.__name__}: {os.strerror(error)}")


class Namespace:
    """Lives until close() and the end of the last process in it."""

    def __init__(self):
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _call(_libc.unshare, _CLONE_NEWNET)
            try:
                self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            finally:
                _call(_libc.setns, home, _CLONE_NEWNET)
        finally:
            os.close(home)
        self.run(["ip", "link", "set", "lo", "up"])
        # Router solicitations and the like would make counters and traces depend on luck.
        self.run(["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"], check=False)
        self.run(["sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"], check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    @property
    def path(self):
        """The namespace's name for iproute2."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def run(self, command, check=True):
        """Runs a short command inside; its standard output."""
        done = subprocess.run(
            ["nsenter", f"--net=/proc/self/fd/{self.fd}", "--", *command],
            pass_fds=(self.fd,),
            start_new_session=True,
            capture_output=True,
            text=True,
        )
        if check and done.returncode != 0:
            raise NamespaceError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


def add_veth(here, name, there, peer, mtu, offloads=False):
    """A veth pair, both ends up: `name` in namespace `here`, `peer` in `there`.

    Offloads are off unless both ends are the kernel's: a frame that a DPDK port reads must be
    whole, with its checksum in it.
    """
    here.run(
        ["ip", "link", "add", "name", name, "mtu", str(mtu), "type", "veth"]
        + ["peer", "name", peer, "mtu", str(mtu), "netns", there.path]
    )
    for namespace, link in ((here, name), (there, peer)):
        if not offloads:
            namespace.run(["ethtool", "-K", link, "tx", "off", "gso", "off", "gro", "off"])
        namespace.run(["ip", "link", "set", "dev", link, "up"])
