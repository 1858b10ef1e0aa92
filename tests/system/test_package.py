"""The Debian package: made, installed and started as a newcomer's machine would.

The installation is real, dpkg and maintainer scripts and all, on a copy-on-write view of this machine's
files in namespaces of its own; nothing of it is left. The units are started by hand the way
systemd would: as their user, with their capabilities, notify socket and watchdog; test_units.py has
them started by systemd itself.
"""

import configparser
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from testbed.loop import Loop
from testbed.namespace import Namespace, add_veth
from testbed.process import Process

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TRIBUTARY_BUILD"])
UNITS = ("tributary-switchd", "tributary-psd")
# A node of the pool starts with a manifest that its operator makes; tests/data starts it.
PACKAGED = (*UNITS, "tributary-poold")
PAGES = sorted(page.name for page in (TOP / "packaging/man").iterdir())

# Becomes the init of an installation: a view of / that forgets, with the package in it.
INSTALL = """
set -e
mount --make-rprivate /
mkdir "$1/view"
mount -t tmpfs none "$1/view"
mkdir "$1/view/upper" "$1/view/work" "$1/installed"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/view/upper,workdir=$1/view/work" "$1/installed"
for name in proc sys dev run; do mount --rbind "/$name" "$1/installed/$name"; done
mount -t tmpfs none "$1/installed/run"
mkdir "$1/installed/run/manager"
mount --bind "$1/manager" "$1/installed/run/manager"
ip link set lo up
ip address add 10.77.0.21/24 dev lo
cp "$2" "$1/installed/package.deb"
exec chroot "$1/installed" sh -c "$3"
"""


def installed(package, folder, script):
    """The command that runs a shell script where the package has been installed."""
    (folder / "manager").mkdir()
    install = "dpkg -i --no-triggers /package.deb >/dev/null && " + script
    namespaces = ["unshare", "--mount", "--net"]
    return [*namespaces, "sh", "-c", INSTALL, "sh", str(folder), str(package), install]


def unit(name):
    """A unit file of the source tree, section by section."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(TOP / "packaging" / f"{name}.service")
    return parser


def as_systemd(name):
    """A shell script that starts the unit's command as its user, with what its unit allows."""
    service = unit(name)["Service"]
    caps = [c.removeprefix("CAP_").lower() for c in service.get("AmbientCapabilities", "").split()]
    granted = ",".join("+" + c for c in caps)
    wanted = f"--inh-caps={granted} --ambient-caps={granted} " if caps else ""
    runtime = "/run/" + service["RuntimeDirectory"]
    environment = f"export {service['Environment']} && " if "Environment" in service else ""
    return (
        f"mkdir {runtime} && chown {service['User']}:{service['Group']} {runtime} && {environment}"
        f"export RUNTIME_DIRECTORY={runtime} && "
        f"exec setpriv --reuid={service['User']} --regid={service['Group']} --clear-groups "
        f"--no-new-privs {wanted}{service['ExecStart']}"
    )


class Manager:
    """Stands for systemd: hears what a service says of itself."""

    environment = {"NOTIFY_SOCKET": "/run/manager/notify", "WATCHDOG_USEC": "200000"}

    def __init__(self, folder):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "notify"))
        (folder / "notify").chmod(0o777)
        self._socket.settimeout(60)

    def wait(self, text):
        while self._socket.recv(256).decode() != text:
            pass

    def close(self):
        self._socket.close()


def test_the_package_holds_what_it_should(package):
    listing = subprocess.run(
        ["dpkg-deb", "--contents", package], check=True, capture_output=True, text=True
    ).stdout
    files = {line.split()[5].removeprefix(".") for line in listing.splitlines()}
    for path in (
        "/usr/bin/tributary",
        "/usr/bin/tributary-switchd",
        "/usr/bin/tributary-psd",
        "/usr/bin/tributary-poold",
        "/usr/bin/tributary-loadgen",
        "/usr/include/tributary/tributary.h",
        "/usr/include/tributary/tributary_pool.h",
        "/usr/lib/systemd/system/tributary-switchd.service",
        "/usr/lib/systemd/system/tributary-psd.service",
        "/usr/lib/systemd/system/tributary-poold.service",
        "/usr/lib/sysusers.d/tributary.conf",
        "/etc/tributary/switchd.yaml",
        "/etc/tributary/psd.yaml",
        "/etc/tributary/pool.yaml",
        "/usr/share/doc/tributary/af_xdp.conf",
        *(f"/usr/share/man/man{page[-1]}/{page}" for page in PAGES),
    ):
        assert path in files, sorted(files)
    for library in ("libtributary", "libtributary-pool"):
        assert any(re.fullmatch(rf"/usr/lib/[^/]+/{library}\.so\.0", f) for f in files)
    control = subprocess.run(
        ["dpkg-deb", "--field", package, "Depends", "Version"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for need in ("libc6", "librte-eal", "librte-meta-net", "libyaml-cpp", "libsystemd0"):
        assert need in control, control


@pytest.mark.parametrize("name", PACKAGED)
def test_the_unit_is_one_that_systemd_accepts(package, name, tmp_path):
    script = f"systemd-analyze verify --man=no /usr/lib/systemd/system/{name}.service"
    done = subprocess.run(
        installed(package, tmp_path, script), capture_output=True, text=True, timeout=120
    )
    # Of other units of the machine it may complain too.
    assert name not in done.stderr, done.stderr
    assert "not found" not in done.stderr, done.stderr
    service = unit(name)["Service"]
    assert service["Type"] == "notify" and service["User"] != "root"


@pytest.mark.parametrize("name", PACKAGED)
def test_the_default_configuration_is_good(package, name, tmp_path):
    command = unit(name)["Service"]["ExecStart"]
    done = subprocess.run(
        installed(package, tmp_path, command + " --check"),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stdout.endswith(": good\n"), done


# What the units may at most be exposed to, in tenths, as `systemd-analyze security` counts it.
@pytest.mark.parametrize("name, most", [("tributary-switchd", 24), ("tributary-psd", 14),
                                        ("tributary-poold", 16)])
def test_the_unit_leaves_little_exposed(name, most):
    file = TOP / "packaging" / f"{name}.service"
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={most}", file],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    exposed = [line for line in done.stdout.splitlines() if line.startswith(("✗", "→"))]
    assert exposed, done.stderr
    assert done.returncode == 0, "\n".join(exposed)


def asks_for_huge_pages(pid):
    """Whether the kernel may give the heap transparent huge pages."""
    maps = Path(f"/proc/{pid}/smaps").read_text()
    heap = re.search(r"\[heap\]$.*?^VmFlags: (.*?)$", maps, re.M | re.S)
    return "hg" in heap[1].split()


@pytest.mark.parametrize("name", UNITS)
def test_the_service_starts_feeds_the_watchdog_and_stops(package, name, tmp_path):
    command = installed(package, tmp_path, as_systemd(name))
    manager = Manager(tmp_path / "manager")
    try:
        log = tmp_path / "service.log"
        with Process(Loop(), name, command, log, env=Manager.environment) as service:
            manager.wait("READY=1")
            for _ in range(3):
                manager.wait("WATCHDOG=1")
            status = Path(f"/proc/{service.pid}/status").read_text()
            assert re.search(r"^Uid:\s+0\b", status, re.M) is None, "runs as root"
            assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)
            if name == "tributary-switchd":
                assert asks_for_huge_pages(service.pid), "its heap lies on small pages"
            service.signal(signal.SIGTERM)
            manager.wait("STOPPING=1")
            service.wait_exit(30)
            assert service.returncode == 0, service.describe()
    finally:
        manager.close()


@pytest.mark.parametrize("granted, starts", [(("unit",), False), (("unit", "drop-in"), True)])
def test_af_xdp_needs_what_its_drop_in_adds(tmp_path, granted, starts):
    """C1: as the service does, with no right but those of the unit, or of the unit and the drop-in."""
    rights = []
    for file in ("tributary-switchd.service", "af_xdp.conf")[: len(granted)]:
        text = (TOP / "packaging" / file).read_text()
        (caps,) = re.findall(r"^AmbientCapabilities=(.*)", text, re.M)
        assert f"CapabilityBoundingSet={caps}\n" in text
        rights += [c.removeprefix("CAP_").lower() for c in caps.split()]
    wanted = ",".join("+" + right for right in rights)
    config = tmp_path / "switchd.yaml"
    config.write_text('switch: {address: 10.77.0.254}\n'
                      'ports: [{name: x, devargs: "net_af_xdp0,iface=ve0"}]\n')
    runtime = Path(tempfile.mkdtemp(prefix="tributary-run-"))
    shutil.chown(runtime, "nobody", "nogroup")
    shutil.copy(config, runtime)
    argv = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs",
            f"--inh-caps={wanted}", f"--ambient-caps={wanted}",
            BUILD / "bin" / "tributary-switchd", "--config", runtime / config.name]
    try:
        with Namespace() as here:
            add_veth(here, "ve0", here, "wo0", mtu=1500)
            environment = {"RUNTIME_DIRECTORY": str(runtime)}
            with Process(Loop(), "switch", argv, tmp_path / "log", here, env=environment) as switch:
                if starts:
                    switch.wait_line("^ready", 60)
                else:
                    assert switch.wait_exit(60) == 1
                    assert "CAP_SYS_ADMIN" in "\n".join(switch.stderr)
    finally:
        shutil.rmtree(runtime)


@pytest.mark.parametrize("page", PAGES)
def test_the_manual_page_explains_every_option(page):
    program = Path(page).stem
    told = subprocess.run(
        [BUILD / "bin" / program, "--help"], check=True, capture_output=True, text=True
    ).stdout
    options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", told, re.M))
    text = (TOP / "packaging/man" / page).read_text()
    explained = {"--" + o for o in re.findall(r"^\.It Fl -([a-z-]+)", text, re.M)}
    assert options == explained
    commands = re.findall(r"^  ([\w-]+)  +[A-Z]", told.partition("Subcommands:")[2], re.M)
    assert all(f".It Cm {c}" in text for c in commands), commands
