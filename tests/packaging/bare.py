"""A bare Debian: what debootstrap makes, and nothing else. Made once for all tests of a run."""

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TRIBUTARY_BUILD"])
MIRROR = os.environ.get("TRIBUTARY_DEBIAN_MIRROR", "http://deb.debian.org/debian")
LIMIT_S = 1800


def run(*command, **options):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}"
    return done.stdout


def make_root(folder):
    """A root file system; TRIBUTARY_BARE_ROOT names one that is there already, which is copied."""
    known = os.environ.get("TRIBUTARY_BARE_ROOT")
    if known:
        run("cp", "-a", known, folder)
    else:
        run("debootstrap", "--variant=minbase", "bookworm", folder, MIRROR)
    return folder


class Machine:
    """Commands in a root, which has /proc, /sys and /dev; nothing of them outlives a command."""

    ENTER = ('mount --make-rprivate / && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && '
             'mount --rbind /sys "$1/sys" && '
             'cp /etc/resolv.conf "$1/etc/resolv.conf" && exec chroot "$1" /bin/bash -c "$2"')

    def __init__(self, root):
        self.root = root

    def command(self, script):
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", self.ENTER, "sh",
                str(self.root), script]

    def run(self, script):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
                       "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                       **{name: value for name, value in os.environ.items() if "proxy" in name.lower()}}
        return run(*self.command(script), env=environment)
