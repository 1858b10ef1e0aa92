"""The packaged units under a real systemd, process 1 of a machine of its own (machine.py).

Its package is installed there as by an operator, and its services are driven by systemctl alone.
Nothing waits for a time: `systemctl start` ends when the service says that it is ready.
"""

import json
import re
import shutil

import pytest
from machine import Machine
from testbed.loop import Loop

UNITS = ("tributary-switchd", "tributary-psd")
NODES = ("tributary-switchd@root", "tributary-switchd@leaf-1")
SOCKETS = {"tributary-switchd": "/run/tributary/switchd.sock",
           "tributary-psd": "/run/tributary-psd/psd.sock"}
SWITCH = "10.77.0.254"

CONFIG = """
switch: {name: vswitch0, address: 10.77.0.254}
ports:
  - {name: w0, devargs: "%s", mtu: 1500}
control: {socket: /run/tributary/switchd.sock}
"""
SERVER = """
server:
  name: ps0
  address: 10.77.0.21
  dpdk: {devargs: "%s", mtu: 1500}
jobs:
  - {id: 1, name: pair, workers: 2, chunk_bytes: 1024, root: 10.77.0.254}
control: {socket: /run/tributary-psd/psd.sock}
"""

# Two nodes of one file on one host, joined by a cable of its kernel.
TREE = """
switches:
  - name: root
    id: 1
    address: 10.77.0.254
    ports:
      - {name: leaf, devargs: "net_af_packet0,iface=te0"}
      - {name: w1, devargs: "net_null0"}
    control: {socket: /run/tributary/root.sock}
  - name: leaf-1
    id: 2
    address: 10.77.0.253
    parent: root
    parent_port: leaf
    uplink: up
    ports:
      - {name: up, devargs: "net_af_packet0,iface=te1"}
      - {name: w0, devargs: "net_null0"}
    control: {socket: /run/tributary/leaf-1.sock}
workers: [{name: w0, switch: leaf-1, port: w0}, {name: w1, switch: root, port: w1}]
jobs: [{id: 1, workers: 2, name: before}]
"""

# A port of each kind that needs something of the kernel, whose other end is an interface.
KERNEL_PORTS = {
    "net_af_packet0,iface=ve0": "wo0",
    "net_pcap0,iface=ve0": "wo0",
    "net_af_xdp0,iface=ve0": "wo0",
    "net_tap0,iface=tap0": "tap0",
}
# A port that serves a socket, and the parameter server's end of it.
SOCKET_PORTS = {
    "net_memif0,id=0,socket=/run/tributary/p.sock,socket-abstract=no,role=server":
        "net_memif0,id=0,socket=/run/tributary/p.sock,socket-abstract=no,role=client",
    "net_vhost0,iface=/run/tributary/p.sock": "net_virtio_user0,path=/run/tributary/p.sock",
}


@pytest.fixture(scope="module")
def booted(package, tmp_path_factory):
    with Loop() as loop, Machine(loop, tmp_path_factory.mktemp("machine")) as machine:
        shutil.copy(package, machine.folder / "host/package.deb")
        machine.run("ip", "address", "add", "10.77.0.21/32", "dev", "lo")
        machine.run("useradd", "--no-create-home", "outsider")
        install(machine)
        machine.run("useradd", "--no-create-home", "--groups=tributary", "insider")
        machine.run("cp", "-r", "/etc/tributary", "/run/as-packaged")
        yield machine


@pytest.fixture
def machine(booted):
    """The machine with the package's own files, and no service running."""
    if booted.try_to("ls", "/usr/bin/tributary-switchd").returncode != 0:
        install(booted)
    yield booted
    for name in (*UNITS, *NODES, "tributary-node", "tributary-managerd"):
        booted.try_to("systemctl", "stop", name)
        booted.run("rm", "-rf", f"/etc/systemd/system/{name}.service.d")
    booted.run("cp", "-r", "/run/as-packaged/.", "/etc/tributary")
    booted.run("systemctl", "daemon-reload")
    booted.run("systemctl", "reset-failed")


def install(machine):
    # Without triggers, which would look at the whole machine: ldconfig is for programs of others.
    machine.run("dpkg", "--force-unsafe-io", "--install", "--no-triggers", "/run/host/package.deb")


def drop_in(machine, name, text):
    machine.run("mkdir", "-p", f"/etc/systemd/system/{name}.service.d")
    machine.write(f"/etc/systemd/system/{name}.service.d/test.conf", text)
    machine.run("systemctl", "daemon-reload")


def show(machine, what, name="tributary-switchd", user="insider"):
    return machine.run("tributary", "show", what, "--socket", SOCKETS[name], user=user)


def test_nothing_runs_before_it_is_wanted(machine):
    for name in UNITS:
        assert machine.show(name, "ActiveState") == "inactive"
        assert machine.show(name, "UnitFileState") == "disabled"


def test_the_switch_serves_its_group_and_stops(machine):
    machine.run("systemctl", "start", "tributary-switchd")
    assert machine.run("systemctl", "is-active", "tributary-switchd") == "active\n"
    assert re.findall(r"^w\d", show(machine, "ports"), re.M) == ["w0", "w1"]
    socket = SOCKETS["tributary-switchd"]
    refused = machine.try_to("tributary", "show", "ports", "--socket", socket, user="outsider")
    assert refused.returncode != 0 and "ermission" in refused.stderr, refused

    ranks = [
        machine.start("tributary", "allreduce", "--job=1", f"--rank={rank}", "--size=2",
                      "--count=1000", "--address",
                      f"memif:///run/tributary/memif.sock?id={rank}&switch={SWITCH}",
                      user="insider")
        for rank in range(2)
    ]
    for rank in ranks:
        rank.check_exit(60)

    machine.run("systemctl", "stop", "tributary-switchd")
    assert machine.show("tributary-switchd", "ActiveState") == "inactive"
    assert machine.show("tributary-switchd", "Result") == "success"
    assert machine.show("tributary-switchd", "ExecMainStatus") == "0"
    assert machine.try_to("ls", "/run/tributary").returncode != 0, "its sockets are left"


def test_nodes_of_a_tree_are_instances(machine):
    machine.run("systemctl", "start", "tributary-switchd")
    machine.write("/etc/tributary/tree.yaml", TREE)
    machine.write("/etc/tributary/switchd.env", "TOPOLOGY=/etc/tributary/tree.yaml\n")
    machine.write("/etc/tributary/switchd@root.env", "OPTIONS=--log-level warning --log-format json\n")
    machine.run("ip", "link", "add", "te0", "type", "veth", "peer", "name", "te1")
    try:
        for name in ("te0", "te1"):
            machine.run("ip", "link", "set", name, "up")
        # A host is one switch, or nodes of a tree.
        machine.run("systemctl", "start", *NODES)
        assert machine.show("tributary-switchd", "ActiveState") == "inactive"
        command = machine.run("cat", f"/proc/{machine.show(NODES[0], 'MainPID')}/cmdline").split("\0")
        assert command[1:-1] == ["--config", "/etc/tributary/tree.yaml", "--node", "root", "--overrides",
                                 "/var/lib/tributary/root.overrides", "--log-level", "warning", "--log-format", "json"]
        assert re.search(r"^ +1 .*root +parent", show_node(machine, "leaf-1", "tree"), re.M)

        machine.run("tributary", "set", "forwarding.fdb_ageing", "77s", "--socket", "/run/tributary/root.sock")
        assert "77s" in machine.run("cat", "/var/lib/tributary/root.overrides")

        pid = machine.show(NODES[1], "MainPID")
        machine.write("/etc/tributary/tree.yaml", TREE.replace("before", "after"))
        for unit in NODES:
            machine.run("systemctl", "reload", unit)
        assert machine.show(NODES[1], "MainPID") == pid
        assert "after" in show_node(machine, "leaf-1", "jobs")

        machine.run("systemctl", "stop", NODES[0])
        show_node(machine, "leaf-1", "jobs")  # the folder of its socket is there
    finally:
        machine.run("systemctl", "stop", *NODES)
        machine.run("ip", "link", "delete", "te0")
        machine.run("rm", "-f", "/etc/tributary/tree.yaml", "/etc/tributary/switchd@root.env")


def show_node(machine, node, what):
    return machine.run("tributary", "show", what, "--socket", f"/run/tributary/{node}.sock", user="insider")


def test_the_parameter_server_serves_its_group_and_stops(machine):
    machine.run("systemctl", "start", "tributary-psd")
    assert "no" in show(machine, "seats", "tributary-psd")
    machine.run("systemctl", "stop", "tributary-psd")
    assert machine.show("tributary-psd", "Result") == "success"
    assert machine.show("tributary-psd", "ExecMainStatus") == "0"


def test_an_agent_of_containers_joins_and_is_started_again(machine, packages):
    """C2: the node is called as the host is; an agent that dies would leave containers to nobody."""
    shutil.copy(packages["libtributary-manager0"], machine.folder / "host/manager.deb")
    machine.run("dpkg", "--force-unsafe-io", "--install", "--no-triggers", "/run/host/manager.deb")
    machine.run("ldconfig")
    machine.run("systemctl", "start", "tributary-managerd")
    machine.run("systemctl", "start", "tributary-node")
    name = machine.run("hostname", "--short").strip()

    def ready():
        nodes = json.loads(machine.run("tributary", "node", "--json"))
        return [node["name"] for node in nodes if node.get("ready")] == [name]

    machine.wait_for("tributary-node", "the manager has it", ready)
    first = machine.show("tributary-node", "MainPID")
    machine.run("systemctl", "kill", "--signal=KILL", "tributary-node")
    machine.wait_for("tributary-node", "it is there again",
                     lambda: machine.show("tributary-node", "MainPID") not in ("0", first))
    machine.wait_for("tributary-node", "the manager has it again", ready)


def test_a_reload_ends_when_the_change_holds(machine):
    machine.run("systemctl", "start", "tributary-switchd")
    path = "/etc/tributary/switchd.yaml"
    good = machine.run("cat", path)
    more = 'ports:\n  - {name: more, devargs: "net_null0", mtu: 9000}\n'
    machine.write(path, good.replace("ports:\n", more))
    machine.run("systemctl", "reload", "tributary-switchd")
    assert re.search(r"^more ", show(machine, "ports"), re.M)
    pid = machine.show("tributary-switchd", "MainPID")

    machine.write(path, good.replace("ports:\n", "sports:\n"))
    assert machine.try_to("systemctl", "reload", "tributary-switchd").returncode != 0
    assert f"{path}:" in machine.journal("--unit=tributary-switchd"), "nobody is told why"
    assert re.search(r"^more ", show(machine, "ports"), re.M)
    assert machine.show("tributary-switchd", "ActiveState") == "active"
    assert machine.show("tributary-switchd", "MainPID") == pid


@pytest.mark.parametrize("name", UNITS)
def test_one_that_hangs_is_restarted(machine, name):
    drop_in(machine, name, "[Service]\nWatchdogSec=2s\nRestartSec=0\n")
    machine.run("systemctl", "start", name)
    before = machine.show(name, "MainPID")
    machine.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", name)
    machine.wait_for(name, "a restart", lambda: machine.show(name, "NRestarts") != "0")
    machine.wait_for(name, "to be active", lambda: machine.show(name, "ActiveState") == "active")
    assert machine.show(name, "MainPID") != before
    assert "Failed with result 'watchdog'" in machine.journal(f"--unit={name}")
    show(machine, "config", name)


@pytest.mark.parametrize("device", KERNEL_PORTS)
def test_the_unit_allows_ports_of_the_kernel(machine, device):
    if "af_xdp" in device:
        drop_in(machine, "tributary-switchd",
                machine.run("cat", "/usr/share/doc/tributary/af_xdp.conf"))
    machine.run("ip", "link", "add", "ve0", "type", "veth", "peer", "name", "wo0")
    try:
        machine.run("ip", "link", "set", "ve0", "up")
        machine.write("/etc/tributary/switchd.yaml", CONFIG % device)
        machine.run("systemctl", "start", "tributary-switchd")
        machine.run("ip", "address", "add", "10.77.0.9/24", "dev", KERNEL_PORTS[device])
        machine.run("ip", "link", "set", KERNEL_PORTS[device], "up")
        # The first may be lost while the other end's link comes up.
        machine.run("ping", "-c", 1, "-w", 30, SWITCH)
    finally:
        machine.run("systemctl", "stop", "tributary-switchd")
        machine.run("ip", "link", "delete", "ve0")


@pytest.mark.parametrize("device", SOCKET_PORTS, ids=("memif", "vhost"))
def test_the_units_meet_at_a_port_of_shared_memory(machine, device):
    machine.write("/etc/tributary/switchd.yaml", CONFIG % device)
    machine.write("/etc/tributary/psd.yaml", SERVER % SOCKET_PORTS[device])
    machine.run("systemctl", "start", "tributary-switchd")
    machine.run("systemctl", "start", "tributary-psd")

    def heard():
        lines = show(machine, "ports").splitlines()
        port = dict(zip(lines[0].split(), lines[1].split()))
        return port["link"] == "up" and int(port["rx_packets"]) and int(port["tx_packets"])

    machine.wait_for("tributary-switchd", "the server's ARP", heard)


def test_an_upgrade_restarts_what_runs(machine):
    machine.run("systemctl", "start", "tributary-switchd")
    before = machine.show("tributary-switchd", "MainPID")
    install(machine)
    assert machine.show("tributary-switchd", "ActiveState") == "active"
    assert machine.show("tributary-switchd", "MainPID") != before
    assert machine.show("tributary-psd", "ActiveState") == "inactive"


def test_what_runs_ends_before_the_package_goes(machine):
    machine.run("systemctl", "enable", "--now", *UNITS)
    machine.run("systemctl", "enable", NODES[0])
    machine.run("dpkg", "--no-triggers", "--remove", "tributary")
    links = machine.try_to("ls", "/etc/systemd/system/multi-user.target.wants")
    assert "switchd@" not in links.stdout
    for name in UNITS:
        assert machine.show(name, "ActiveState") == "inactive"
        assert machine.show(name, "Result") == "success"
        assert machine.show(name, "LoadState") == "not-found"
    assert machine.try_to("ls", "/usr/bin/tributary-switchd").returncode != 0
