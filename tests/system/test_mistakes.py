"""Fifteen mistakes that a newcomer makes: each error names the cause, and what to do about it."""

import itertools
import signal

import pytest
import yaml
from testbed.switch import Job
from testbed.tree import binary

LIMIT_S = 60
NEVER = "udp://10.77.0.99"  # nobody has it
COUNT = itertools.count()


@pytest.fixture
def bed(make_bed):
    return make_bed("veth", 2, jobs=[Job(1, 2, (("lease", "5s"),))])


def client(bed, *arguments, at=0):
    """`tributary` at a rank's port."""
    return bed.start(f"client{next(COUNT)}", [binary(bed.build, "tributary"), *arguments], rank=at)


def start_rank(bed, rank, *more, job=1, size=2, address=None, timeout=30, at=None):
    words = ["--job", job, "--size", size, "--rank", rank, "--timeout", timeout, "--address",
             address or bed.address(rank)]
    more = more or ("--count", 1000)
    return client(bed, "allreduce", *words, *more, at=rank if at is None else at)


def bench(bed, rank):
    """A rank that is busy for long."""
    words = ["--job", 1, "--size", 2, "--rank", rank, "--address", bed.address(rank)]
    sweep = ["--min", "1M", "--max", "1M", "--iters", 100000, "--warmup", 0, "--timeout", 20]
    return client(bed, "bench", "allreduce", *words, *sweep, at=rank)


def says(process, *texts):
    """It fails, and says all of this."""
    assert process.wait_exit(LIMIT_S) == 1, process.describe()
    error = "\n".join(process.stderr)
    for text in texts:
        assert text in error, f"'{text}' is not in: {error}"


def test_01_a_wrong_job_id(bed):
    says(start_rank(bed, 0, job=9), "the switch has no such job", "`tributary show jobs`")


def test_02_a_rank_twice(bed):
    first = start_rank(bed, 0)
    bed.loop.wait(lambda: bed.switch.show("members")[0]["present"], LIMIT_S, "rank 0 has joined")
    here = "rank 0 is already here, from 10.77.0.1 UDP port"
    for at in (0, 1):  # the same host, and another one
        says(start_rank(bed, 0, at=at, timeout=2), f"not joined within the timeout of 2 s: {here}",
             "end the other process that is this rank")
    assert first.running
    second = start_rank(bed, 0)
    bed.loop.wait(lambda: any(here in line for line in second.stderr), LIMIT_S, "the second one says so")
    assert first.running and second.running
    before = bed.switch.show("members")[0]["address"]
    first.signal(signal.SIGKILL)
    bed.loop.wait(lambda: bed.switch.show("members")[0]["address"] != before, LIMIT_S, "the second one is in")
    third = start_rank(bed, 1)
    for rank in (second, third):
        assert rank.wait_exit(LIMIT_S) == 0, rank.describe()


def test_03_another_number_of_ranks(bed):
    says(start_rank(bed, 0, size=3), "another worker count", "give --size the job's `workers`")


def test_04_a_wrong_address(bed):
    says(start_rank(bed, 0, address=NEVER, timeout=0.5), f"the switch did not answer at {NEVER}",
         "check that tributary-switchd runs, that the address is its switch.address")


def test_05_a_switch_that_is_down(bed):
    bed.switch.stop()
    says(start_rank(bed, 0, timeout=0.5), "the switch did not answer at", "tributary-switchd runs")
    says(client(bed, "show", "ports", "--socket", bed.switch.socket), "no socket at",
         "start tributary-switchd")


def test_06_a_misspelt_port(bed):
    socket = ("--socket", bed.switch.socket)
    says(client(bed, "capture", "w00", "-w", "/dev/null", *socket), "no port is called 'w00'",
         "did you mean 'w0'?", "`show ports` lists them")
    says(client(bed, "show", "fdb", "port=w7", *socket), "no port 'w7'", "`show ports` lists them")


def test_07_an_mtu_that_is_too_small(bed):
    for number in (0, 1):
        bed.fabric.namespace(number).run(["ip", "link", "set", "eth0", "mtu", "1500"])
    ranks = [start_rank(bed, rank) for rank in (0, 1)]
    says(ranks[0], "chunks of 8192 bytes need datagrams of", "the path carries 1472",
         "raise the MTU, lower chunk_bytes")


def start_switch(bed, change, *before, options=()):
    """A second switch on a changed copy of the file."""
    config = yaml.safe_load((bed.run / "switchd.yaml").read_text())
    config["control"]["socket"] = str(bed.run / "second.sock")
    config["ports"] = config["ports"][:1]
    change(config)
    file = bed.run / "second.yaml"
    file.write_text(yaml.safe_dump(config))
    command = [*before, binary(bed.build, "tributary-switchd"), "--config", file, *options]
    environment = {"RUNTIME_DIRECTORY": str(bed.run.path)}
    return bed.start(f"second{next(COUNT)}", command, rank=1, env=environment)


def use_interface(config, name="eth0"):
    config["ports"][0]["devargs"] = f"net_af_packet0,iface={name}"
    config["ports"][0]["mtu"] = 1500
    config["jobs"] = []


def test_08_no_hugepages(bed):
    def change(config):
        use_interface(config)
        config["switch"]["memory"] = {"hugepages": True, "megabytes": 65536}

    says(start_switch(bed, change), "DPDK did not start",
         "lower memory.megabytes, or reserve that many hugepages")


def test_09_no_capabilities(bed):
    """Root is none without them, as in many a container."""
    nothing = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    says(start_switch(bed, use_interface, *nothing), "net_af_packet0,iface=eth0", "CAP_NET_RAW")


def test_10_an_interface_that_is_not_there(bed):
    for options in ((), ("--log-level", "error")):
        says(start_switch(bed, lambda config: use_interface(config, "eht0"), options=options),
             "eht0", "must exist")


def test_11_types_that_differ(bed):
    ranks = [start_rank(bed, rank, "--count", 1000, "--dtype", dtype)
             for rank, dtype in enumerate(("float32", "int32"))]
    for rank in ranks:
        says(rank, "1000 float32", "1000 int32", "rank 0 sent", "rank 1 sent",
             "give every rank the same collective, count, type and operation")


def test_12_a_rank_that_never_starts(bed):
    says(start_rank(bed, 0, timeout=1), "waiting for rank 1",
         "start these ranks, or see in `tributary show members`")


def wait_until_running(bed):
    def running():
        (job,) = bed.switch.show("jobs")
        return job["state"] == "running" and job["completions"] > 0

    bed.loop.wait(running, LIMIT_S, "the job runs")


def test_13_a_rank_that_is_killed(bed):
    ranks = [bench(bed, rank) for rank in (0, 1)]
    wait_until_running(bed)
    ranks[1].signal(signal.SIGKILL)
    says(ranks[0], "rank 1 fell silent and the lease expired",
         "find out what ended it, then start all ranks again")


def test_14_a_switch_that_is_started_anew(bed):
    ranks = [bench(bed, rank) for rank in (0, 1)]
    wait_until_running(bed)
    bed.switch.process.signal(signal.SIGKILL)
    bed.switch.process.wait_exit(LIMIT_S)
    bed.switch.start()
    for rank in ranks:
        says(rank, "restarted", "start all ranks again")


def test_15_a_socket_that_is_not_there(bed):
    says(client(bed, "show", "jobs", "--socket", bed.run / "nowhere.sock"), "no socket at",
         "name another with --socket PATH")
