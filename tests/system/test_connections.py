"""Listening sockets of every daemon while clients hold connections to all of them open, idle or with a byte now and
then: a new client is served, and SIGTERM ends the daemon."""

import contextlib
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from flood import HTTP, HTTP2, LINE, POOL, TLS, Flood, Limit, Target, answer_of
from manager_bed import Authority, tree
from testbed.fabric import free_address
from testbed.loop import WaitExpired
from testbed.process import Process
from testbed.run_directory import RunDirectory
from testbed.tree import binary, build_directory

READY_S = 60
END_S = 5
SHELLS_FILES = 1024  # the usual limit of open files

# Idle and dripping connections to each socket, and the time in which a new client is served.
SIZES = {"full": (1100, 1000, 1), "small": (60, 40, 20)}


@pytest.fixture(params=SIZES)
def size(request):
    return SIZES[request.param]


@pytest.fixture(autouse=True)
def usual_files():
    """Daemons start with the limit of a shell; the test's own connections need more."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (SHELLS_FILES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def flooded(targets, size):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with contextlib.closing(Flood(targets, size[0], size[1])):
        yield


def inet(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def http(address):
    return Target(inet(address), HTTP)


def check_http(target, limit_s):
    with Limit(limit_s, f"{target.address}: a scrape"), target.connect(limit_s) as client:
        request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert answer_of(client, request, lambda _: False).startswith(b"HTTP/1.1 200 OK")


def check_https(target, limit_s, tls):
    with Limit(limit_s, f"{target.address}: HTTPS"), target.connect(limit_s) as client:
        client.settimeout(limit_s)
        with tls.wrap_socket(client, server_hostname="localhost") as session:
            request = b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            assert answer_of(session, request, lambda _: False).startswith(b"HTTP/1.1 200 OK")


def check_control(target, limit_s):
    with Limit(limit_s, f"{target.address}: a request"), target.connect(limit_s) as client:
        assert b'"ok"' in answer_of(client, b'{"show": "drops"}\n', lambda text: text.endswith(b"\n"))


def check_http2(target, limit_s, tls=None):
    """The server's first frame, SETTINGS, to a client's first one."""
    with Limit(limit_s, f"{target.address}: HTTP/2"), contextlib.ExitStack() as stack:
        client = stack.enter_context(target.connect(limit_s))
        if tls is not None:
            client.settimeout(limit_s)
            client = stack.enter_context(tls.wrap_socket(client, server_hostname="localhost"))
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
        assert answer_of(client, preface, lambda text: len(text) >= 9)[3] == 4


def check_end(process):
    process.signal(signal.SIGTERM)
    assert process.wait_exit(END_S) == 0, process.describe()


def test_the_switch(make_bed, size):
    address = free_address()
    bed = make_bed("memif", 1, metrics=address)
    metrics, control = http(address), Target(str(bed.switch.socket), LINE)
    with flooded([metrics, control], size):
        check_http(metrics, size[2])
        check_control(control, size[2])
        check_end(bed.switch.process)


@pytest.fixture
def folder(loop):
    with RunDirectory() as made:
        yield made


@pytest.fixture
def start(loop, folder):
    with contextlib.ExitStack() as stack:

        def start(name, *arguments):
            command = [binary(build_directory(), name), *arguments]
            process = stack.enter_context(Process(loop, name, command, folder / f"{name}.log"))
            process.wait_line("^ready", READY_S)
            return process

        yield start


def test_the_parameter_server(folder, start, size):
    path, address = folder / "ps.sock", free_address()
    (folder / "ps.yaml").write_text(yaml.safe_dump({
        "server": {"name": "ps", "address": "10.77.0.9", "dpdk": {"devargs": "net_null0", "mtu": 1500}},
        "jobs": [{"id": 1, "workers": 2, "chunk_bytes": 1024, "root": "10.77.0.254"}],
        "control": {"socket": str(path)},
        "metrics": {"listen": address},
    }))
    server = start("tributary-psd", "--config", folder / "ps.yaml")
    metrics, control = http(address), Target(str(path), LINE)
    with flooded([metrics, control], size):
        check_http(metrics, size[2])
        check_control(control, size[2])
        check_end(server)


def test_the_telemetry_server(start, size):
    server = start("tributary-telemetryd", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
                   "--switch", "99=127.0.0.1")
    metrics = http("127.0.0.1:" + re.search(r"HTTP port (\d+)", server.text())[1])
    with flooded([metrics], size):
        check_http(metrics, size[2])
        check_end(server)


def test_the_manager(folder, tmp_path, start, size):
    authority = Authority(tmp_path / "certificates")
    authority.make("server", "DNS:localhost")
    authority.make("client", "URI:tributary://operator/alice")
    (folder / "topology.yaml").write_text(yaml.safe_dump(tree()))
    (folder / "tenants.yaml").write_text("tenants: [{name: vision}]\n")
    path = folder / "manager.sock"
    manager = start(
        "tributary-managerd", "--store", f"sqlite:{folder / 'state.db'}", "--topology", folder / "topology.yaml",
        "--tenants", folder / "tenants.yaml", "--socket", path, "--http", "127.0.0.1:0",
        "--listen", "127.0.0.1:0", "--kubernetes", "127.0.0.1:0", *authority.words("server"))
    tls = ssl.create_default_context(cafile=authority.folder / "ca.pem")
    tls.load_cert_chain(authority.folder / "client.pem", authority.folder / "client.key")
    tls.set_alpn_protocols(["h2", "http/1.1"])
    ports = re.search(r"port (\d+), HTTP port (\d+), Kubernetes (\d+)", manager.text()).groups()
    grpc, metrics, kubectl = ports
    metrics, local = http(f"127.0.0.1:{metrics}"), Target(str(path), HTTP2)
    grpc, kubectl = (Target(inet(f"127.0.0.1:{port}"), TLS) for port in (grpc, kubectl))
    with flooded([metrics, local, grpc, kubectl], size):
        check_http(metrics, size[2])
        check_http2(local, size[2])
        check_http2(grpc, size[2], tls)
        check_https(kubectl, size[2], tls)
        check_end(manager)


def mapped_socket(pid):
    """The abstract socket by which a node hands out its memory."""
    own = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
    for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if f"socket:[{words[6]}]" in own and words[-1].startswith("@tributary-pool-"):
            return words[-1].replace("@", "\0", 1)
    raise AssertionError("the node has no such socket")


def check_reads(pool_class, config, limit_s):
    """A loader gets a record from the node's memory."""
    done = []

    def read():
        pool = pool_class(config)
        pool.get_batch([0, 1, 2])
        done.append(pool.stats())

    loader = threading.Thread(target=read, daemon=True)
    loader.start()
    loader.join(limit_s)
    if not done:
        raise WaitExpired(f"a loader has no record within {limit_s} s")
    assert (done[0]["hits"], done[0]["misses"]) == (3, 0)


def test_the_pools_node(tmp_path, size):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
    from bed import PoolBed, package
    from records import write_files

    package()
    from tributary.data import Pool

    address = free_address()
    with PoolBed(tmp_path, f"file://{write_files(tmp_path / 'data')}", nodes=1) as bed:
        bed.config.write_text(re.sub("(megabytes: [0-9]+)", rf'\1, metrics_listen: "{address}"', bed.config.read_text()))
        bed.ready()
        node = bed.processes["a"]
        reader = inet(re.search(r'address: "([0-9.:]+)"', bed.config.read_text())[1])
        metrics, operators = http(address), Target(f"{bed.memory}/a.sock", POOL)
        mapped = Target(mapped_socket(node.pid), None, socket.SOCK_SEQPACKET)
        with flooded([metrics, Target(reader, POOL), operators, mapped], size):
            check_http(metrics, size[2])
            check_reads(Pool, str(bed.config), size[2])
            with Limit(size[2], "an operator's command"):
                bed.command("pin", "--first", "0", "--count", "1")
            node.send_signal(signal.SIGTERM)
            try:
                assert node.wait(timeout=END_S) == 0
            except subprocess.TimeoutExpired:
                raise WaitExpired(f"the node ends: not within {END_S} s") from None
