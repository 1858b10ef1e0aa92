"""The Debian packages: made, installed and started as a newcomer's machine would.

The installation is real, dpkg and maintainer scripts and all, on a copy-on-write view of this machine's
files in namespaces of its own; nothing of it is left. The units are started by hand the way
systemd would: as their user, with their capabilities, notify socket and watchdog; test_units.py has
them started by systemd itself.
"""

import configparser
import gzip
import io
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tarfile
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
PACKAGED = (*UNITS, "tributary-telemetryd", "tributary-poold", "tributary-managerd", "tributary-agentd")
UNIT_FILES = (*PACKAGED, "tributary-node", "tributary-switchd@")  # an agent, for containers; a tree's switch
NODE = "A"  # of packaging/topology.yaml
COMPLETED = (*PACKAGED, "tributary-loadgen")  # beside `tributary` itself
# Those of programs, and of files: tests/config/json_schema_test.py compares the latter.
PAGES = sorted(page.name for page in (TOP / "packaging/man").iterdir() if page.suffix != ".5")
FILE_PAGES = sorted(page.name for page in (TOP / "packaging/man").iterdir() if page.suffix == ".5")

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
cp -r "$1/packages" "$1/installed/packages"
exec chroot "$1/installed" sh -c "$2"
"""


def installed(packages, folder, script):
    """The command that runs a shell script where a package, or some, have been installed."""
    packages = packages if isinstance(packages, list) else [packages]
    (folder / "manager").mkdir()
    (folder / "packages").mkdir()
    for package in packages:
        shutil.copy(package, folder / "packages")
    install = "dpkg -i --no-triggers /packages/*.deb >/dev/null && ldconfig && " + script
    namespaces = ["unshare", "--mount", "--net"]
    return [*namespaces, "sh", "-c", INSTALL, "sh", str(folder), install]


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
    state = "/var/lib/" + service.get("StateDirectory", "tributary-none")
    return (
        f"mkdir -p {state} && chown {service['User']}:{service['Group']} {state} && "
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


# What each package has to hold, as patterns: LIB is the folder of libraries.
CONTENTS = {
    "tributary": [
        *(f"/usr/bin/{name}" for name in ("tributary", *PACKAGED, "tributary-loadgen")),
        *(f"/usr/lib/systemd/system/{name}.service" for name in UNIT_FILES),
        *(f"/etc/tributary/{name}.yaml" for name in ("switchd", "psd", "telemetry", "pool", "tenants", "topology")),
        "/etc/tributary/switchd.env",
        *(f"/usr/share/man/man{page[-1]}/{page}.gz" for page in (*PAGES, *FILE_PAGES)),
        "/usr/lib/sysusers.d/tributary.conf", "/usr/share/doc/tributary/af_xdp.conf",
        "/usr/share/bash-completion/completions/tributary",
        *(f"/usr/share/bash-completion/completions/{name}" for name in COMPLETED),
        *(f"/usr/share/fish/vendor_completions.d/{name}.fish" for name in COMPLETED),
        "/usr/share/fish/vendor_completions.d/tributary.fish",
        "/usr/share/zsh/vendor-completions/_tributary", "LIB/wireshark/plugins/tributary.lua",
        "LIB/wireshark/plugins/tributary-telemetry.lua",
        "/usr/share/doc/tributary/grafana/tributary-job.json",
        "/usr/share/doc/tributary/prometheus/tributary.rules.yml",
        *(f"/usr/share/tributary/schema/{file.name}" for file in (TOP / "packaging/schema").iterdir()),
    ],
    "libtributary0": ["LIB/libtributary.so.0"],
    "libtributary-pool0": ["LIB/libtributary-pool.so.0"],
    "libtributary-manager0": ["LIB/libtributary-manager.so.0"],
    "libtributary-dev": [
        *(f"/usr/include/tributary/{name}" for name in
          ("tributary.h", "tributary.hpp", "tributary_pool.h")),
        "LIB/libtributary.so", "LIB/libtributary-pool.so", "LIB/pkgconfig/tributary.pc",
        "LIB/pkgconfig/tributary-pool.pc", "LIB/cmake/Tributary/TributaryConfig.cmake",
        "LIB/cmake/Tributary/TributaryConfigVersion.cmake",
        "LIB/cmake/Tributary/TributaryTargets.cmake",
    ],
    "python3-tributary": [
        *(f"PYTHON/tributary/{name}" for name in
          ("__init__.py", "__init__.pyi", "py.typed", "_native.cpython-[^/]*.so", "_task/task.py", "data/pool.py",
           "data/_pool.cpython-[^/]*.so")),
        "PYTHON/tributary-[0-9.]*.dist-info/METADATA",
    ],
    "python3-tributary-torch": ["PYTHON/tributary/torch/__init__.py",
                                "PYTHON/tributary/torch/_backend.cpython-[^/]*.so"],
    "tributary-doc": ["/usr/share/doc/tributary/README.md",
                      "/usr/share/doc/tributary/docs/guides/library.md"],
}
NEEDS = {
    "tributary": ["libc6", "librte-eal", "librte-meta-net", "librte-meta-mempool", "libyaml-cpp", "libsystemd0"],
    "libtributary-dev": ["libtributary0 (= ", "libtributary-pool0 (= "],
    "python3-tributary": ["python3 (>= 3.", "python3 (<< 3.", "python3-numpy", "libfabric1"],
    "python3-tributary-torch": ["python3-torch", "python3-tributary (= "],
}


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True,
                          text=True).stdout


def files_of(package):
    listing = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True,
                             text=True).stdout
    return {line.split()[5].removeprefix(".") for line in listing.splitlines()}


def test_the_packages_hold_what_they_should(packages):
    assert set(packages) == set(CONTENTS)
    owners = {}
    for name, patterns in CONTENTS.items():
        files = files_of(packages[name])
        for pattern in [*patterns, f"/usr/share/doc/{name}/copyright",
                        f"/usr/share/doc/{name}/changelog.gz"]:
            pattern = pattern.replace("LIB", "/usr/lib/[^/]+-linux-gnu")
            pattern = pattern.replace("PYTHON", "/usr/lib/python3/dist-packages")
            assert any(re.fullmatch(pattern, file) for file in files), (pattern, sorted(files))
        for file in files:
            assert file.endswith("/") or owners.setdefault(file, name) == name, f"{file}: two packages"
        for need in NEEDS.get(name, []):
            assert need in field(packages[name], "Depends"), name
    assert "librte" not in field(packages["libtributary0"], "Depends")
    assert field(packages["tributary-doc"], "Architecture") == "all\n"


def test_the_packages_have_the_form_that_debian_wants(packages):
    """What lintian judges by these files; tests/packaging asks lintian itself."""
    for name, package in packages.items():
        assert re.fullmatch(r"[^<]+ <[^@ ]+@[^@ ]+>\n", field(package, "Maintainer")), name
        version = field(package, "Version").strip()
        with tarfile.open(fileobj=io.BytesIO(data_of(package))) as files:
            members = {member.name.removeprefix("."): member for member in files.getmembers()}
            docs = f"/usr/share/doc/{name}"
            copyright_ = files.extractfile(members[f"{docs}/copyright"]).read().decode()
            assert copyright_.startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n")
            assert "\nFiles: *\nCopyright: 20" in copyright_ and "\nLicense: BSD-3-Clause\n" in copyright_, name
            changelog = files.extractfile(members[f"{docs}/changelog.gz"]).read()
            assert changelog[4:8] == bytes(4), f"{name}: the time of compression is in {docs}/changelog.gz"
            assert gzip.decompress(changelog).decode().startswith(f"tributary ({version}) "), name
        for path, member in members.items():
            assert (member.uname, member.gname) == ("root", "root") and not member.mode & 0o022 or member.issym(), path
            assert not path.startswith("/usr/share/man/") or not member.isfile() or path.endswith(".gz"), path
            if path.startswith("/usr/bin/") and member.isfile():
                program = path.rpartition("/")[2]
                assert any(re.fullmatch(rf"/usr/share/man/man[18]/{program}\.[18]\.gz", page) for page in members), path
            assert "__pycache__" not in path, f"{name}: {path} is of programs that ran here"
        control = control_of(package)
        configurations = {path for path, member in members.items() if path.startswith("/etc/") and member.isfile()}
        assert configurations == set(control.get("conffiles", "").split()), name
        for path in members:
            if library := re.fullmatch(r"/usr/lib/[^/]+/(libtributary[^/]*)\.so\.0", path):
                assert control["shlibs"] == f"{library[1]} 0 {name} (>= {version})\n"
                assert control["triggers"] == "activate-noawait ldconfig\n"


def data_of(package):
    return subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout


def control_of(package):
    """name → text of what dpkg reads of it."""
    packed = subprocess.run(["dpkg-deb", "--ctrl-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        return {member.name.removeprefix("./"): files.extractfile(member).read().decode()
                for member in files.getmembers() if member.isfile()}


def test_the_target_package_builds_what_is_installed():
    """And no test, benchmark or fuzz target."""
    listed = subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", "package"], check=True, capture_output=True,
                            text=True, timeout=60).stdout.split()
    for name in ("client", *(program.removeprefix("tributary-") for program in COMPLETED)):
        assert f"tools/{name}/CMakeFiles/tributary-{name}.dir/main.cc.o" in listed
    # Of those that CMake makes some are named in full.
    assert not [path for path in listed if path.removeprefix(f"{BUILD}/").startswith(("tests/", "bench/"))]


# How bash finds the completion of a program: by the program's name, in this folder.
COMPLETE = ("for name in {names}; do source /usr/share/bash-completion/completions/$name; "
            "complete -p $name && _tributary_offer $name --conf; done")


def test_each_program_is_completed(package, tmp_path):
    script = COMPLETE.format(names=" ".join(COMPLETED))
    done = subprocess.run(installed(package, tmp_path, f"bash -c {shlex.quote(script)}"), capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for name in COMPLETED:
        assert re.search(rf"^complete -F _tributary_daemon {name}$", done.stdout, re.M), done.stdout
    assert "--config" in done.stdout, done.stdout


def test_configurations_name_what_is_in_the_package(package):
    """Manual pages and files; what another package has is named with it."""
    files = files_of(package)
    for file in sorted((TOP / "packaging").glob("*.yaml")):
        text = file.read_text()
        pages = re.findall(r"`man ([1-9]) ([a-z-]+)`", text)
        paths = re.findall(r"/usr/share/[\w./-]*\w", text)
        assert "docs/" not in text, f"{file.name}: in no folder of the package"
        for section, page in pages:
            paths.append(f"/usr/share/man/man{section}/{page}.{section}.gz")
        for path in paths:
            assert path in files, f"{file.name}: {path}"
        if "schema.json" in text:
            assert pages, f"{file.name}: says where its keys are explained"


# Compiles and runs in a system that has the packages; a rank alone needs no switch to be refused.
PROGRAM = """
#include <tributary/tributary.hpp>
#include <tributary/tributary_pool.h>
#include <cstring>
int main() {
  try {
    tributary::Communicator({.job = 1, .rank = 2, .size = 2, .address = "udp://127.0.0.1"});
  } catch (const tributary::Error& error) {
    return std::strstr(error.what(), "rank 2 of size 2") == nullptr;
  }
  return 1;
}
"""
FROM_PYTHON = "import tributary, tributary.data; assert tributary.__file__.startswith('/usr/lib/python3/')"


def test_programs_build_with_the_packages_alone(packages, tmp_path):
    """tests/docs/guides_test.py runs programs against a switch, from a folder of a user's own."""
    script = (f"cd /tmp && printf %s {shlex.quote(PROGRAM)} > p.cc && "
              "c++ -std=c++20 p.cc -o p $(pkg-config --cflags --libs tributary tributary-pool) && ./p && "
              f"/usr/bin/python3 -B -c {shlex.quote(FROM_PYTHON)}")
    wanted = [packages[name] for name in CONTENTS if name not in ("tributary", "tributary-doc")]
    done = subprocess.run(installed(wanted, tmp_path, script), capture_output=True, text=True,
                          timeout=120, env={**os.environ, "PYTHONPATH": "/nowhere"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", UNIT_FILES)
def test_the_unit_is_one_that_systemd_accepts(package, name, tmp_path):
    file = f"{name}{NODE}" if name.endswith("@") else name
    script = f"systemd-analyze verify --man=no /usr/lib/systemd/system/{file}.service"
    done = subprocess.run(
        installed(package, tmp_path, script), capture_output=True, text=True, timeout=120
    )
    # Of other units of the machine it may complain too.
    assert name not in done.stderr, done.stderr
    assert "not found" not in done.stderr, done.stderr
    service = unit(name)["Service"]
    assert service["Type"] == "notify"
    # podman's socket is root's.
    assert (service.get("User", "root") == "root") == (name == "tributary-node")


def test_a_switch_of_a_tree_takes_its_node_from_the_instance(package, tmp_path):
    """With the environment file of the package, which changes nothing, and an option."""
    text = (TOP / "packaging/tributary-switchd@.service").read_text().replace("%i", NODE)
    variables = " ".join(re.findall(r"^Environment=(.*)", text, re.M))
    files = re.findall(r"^EnvironmentFile=-(.*)", text, re.M)
    assert files == ["/etc/tributary/switchd.env", f"/etc/tributary/switchd@{NODE}.env"]
    (command,) = re.findall(r"^ExecStart=(.*)", text, re.M)
    # A unit's variables are a shell's here: the same marks, and words are split where there are no braces.
    script = f"export {variables} OPTIONS=--check && . {files[0]} && exec {command}"
    done = subprocess.run(installed(package, tmp_path, script), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.endswith("/etc/tributary/topology.yaml: good\n"), done


@pytest.mark.parametrize("name", [n for n in PACKAGED if n != "tributary-agentd"])
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
@pytest.mark.parametrize("name, most", [("tributary-switchd", 24), ("tributary-switchd@", 24), ("tributary-psd", 14),
                                        ("tributary-poold", 16), ("tributary-managerd", 14), ("tributary-telemetryd", 14),
                                        ("tributary-agentd", 14), ("tributary-node", 25)])
def test_the_unit_leaves_little_exposed(name, most, tmp_path):
    # A template is judged as one of its instances.
    file = tmp_path / f"{name}{NODE if name.endswith('@') else ''}.service"
    shutil.copy(TOP / "packaging" / f"{name}.service", file)
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


@pytest.mark.parametrize("name", (*UNITS, "tributary-telemetryd", "tributary-managerd",
                                  "tributary-agentd"))
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
