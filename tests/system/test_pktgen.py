"""tools/pktgen/make_traffic: its capture files, replayed through net_pcap into the real switch.

tributary-impair joins a net_pcap port, which reads the file, to the switch's memif: a cable from a
capture to a switch that runs already, as the two steps of an epoch need it.
"""

import contextlib
import json
import subprocess
import sys

import pytest
from testbed.process import Process
from testbed.tree import PYTHON, TOP, binary, build_directory

LIMIT_S = 30
MAKE = TOP / "tools/pktgen/make_traffic"
OPS, CHUNKS = 6, 8
JOBS = """
  - {id: 1, workers: 3, lease: 3600s, shards: 2}
  - {id: 2, workers: 2, lease: 3600s, slots: dynamic}
  - {id: 3, workers: 2, lease: 3600s, slots: dynamic}
"""
OVER_RDMA = "  - {id: 4, workers: 2, lease: 3600s, chunk_bytes: 512, rdma: true}\n"


def _program(name):
    return binary(build_directory(), name)


class Bench:
    def __init__(self, loop, stack, directory, jobs=JOBS, slots=192):
        self.loop = loop
        self.directory = directory
        memif = f"socket={directory}/memif.sock,socket-abstract=no,rsize=10"
        self._client = f"net_memif0,id=0,{memif},role=client"
        self.config = directory / "switch.yaml"
        self.config.write_text(
            f"switch:\n  address: 10.77.0.254\n  slots: {slots}\n  memory: {{megabytes: 128}}\n"
            "  telemetry: {node_id: 7, report_to: 127.0.0.1:9, ports: [{port: p0, trusted: true}]}\n"
            f'ports: [{{name: p0, devargs: "net_memif0,id=0,{memif},role=server", rdma: true}}]\n'
            f"jobs:{jobs}control: {{socket: {directory}/control.sock}}\n")
        argv = [_program("tributary-switchd"), "--config", self.config]
        stack.enter_context(Process(loop, "switch", argv, directory / "switch.log")).wait_line(
            "^ready", LIMIT_S)

    def make(self, *words):
        done = subprocess.run([PYTHON, "-B", MAKE, "--config", self.config, "--out",
                               self.directory, *map(str, words)], capture_output=True, text=True,
                              check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def replay(self, name, until):
        """Sends a capture file once; waits for a condition."""
        argv = [_program("tributary-impair"), "--wait-for-links", "--b", self._client, "--a",
                f"net_pcap0,rx_pcap={self.directory / name},tx_pcap={self.directory}/out.pcap"]
        with Process(self.loop, "replay", argv, self.directory / "replay.log") as cable:
            cable.wait_line("^ready", LIMIT_S)
            self.loop.wait(until, LIMIT_S, f"the switch has {name}")
            cable.stop()
            assert "b-to-a" in cable.text() and "a-to-b" in cable.text()
            sent = next(text for text in cable.stdout if text.startswith("a-to-b"))
        assert "transmit_failures=0" in sent, sent

    def show(self, what):
        with subprocess.Popen([_program("tributary"), "show", what, "--json", "--socket",
                               self.directory / "control.sock"], stdout=subprocess.PIPE,
                              text=True) as asked:
            return json.loads(asked.communicate(timeout=LIMIT_S)[0])

    def jobs(self):
        return {row["job"]: row for row in self.show("jobs")}

    def received(self):
        return self.show("ports")[0]["rx_packets"]


@pytest.fixture
def bench(loop, tmp_path):
    with contextlib.ExitStack() as stack:
        yield Bench(loop, stack, tmp_path)


@pytest.fixture
def mixed_bench(loop, tmp_path):
    """Has a job by RoCEv2, too."""
    with contextlib.ExitStack() as stack:
        yield Bench(loop, stack, tmp_path, JOBS + OVER_RDMA, slots=256)


def joined(bench):
    """Joins all jobs; the words for their epochs."""
    bench.make("--plain", 10)
    bench.replay("join.pcap", lambda: all(r["state"] == "running" for r in bench.jobs().values()))
    return [word for job, row in bench.jobs().items() for word in ("--epoch", f"{job}={row['epoch']}")]


def test_c6_a_replayed_capture_gives_the_expected_counters(mixed_bench):
    """One job sends RoCEv2; packets of the others come with metadata, which the switch takes out."""
    bench = mixed_bench
    epochs = joined(bench)
    bench.make(*epochs, "--ops", OPS, "--chunks", CHUNKS, "--resend", 0.1, "--bypass", 0.1,
               "--garbage", 0.2, "--int", 0.3, "--int-hops", 3)
    expected = json.loads((bench.directory / "expected.json").read_text())
    wanted = expected["jobs"]
    bench.replay("aggregate.pcap", lambda: all(
        row["completions"] + row["host_results"] >= wanted[str(job)]["chunks"]
        for job, row in bench.jobs().items()))
    for job, row in bench.jobs().items():
        want = wanted[str(job)]
        assert row["state"] == "running" and row["last_abort"] == "none", row
        assert row["completions"] + row["host_results"] == want["chunks"], (row, want)
        assert want["repeated"] > 0
    drops = {row["reason"]: row["packets"] for row in bench.show("drops")}
    for reason, packets in expected["drops"].items():
        assert drops.get(reason) == packets, (reason, packets, drops)
    assert sum(expected["drops"].values()) > 10
    telemetry = bench.show("telemetry")[0]
    assert telemetry["stripped"] == expected["with_metadata"] > 10 and telemetry["malformed"] == 0, telemetry


def test_o8_chunks_that_are_open_at_once_collide(bench):
    """O8: and are finished all the same, by the completion engine."""
    epochs = joined(bench)
    bench.make(*epochs, "--ops", OPS, "--chunks", 16, "--at-once", 48, "--resend", 0.02)
    chunks = OPS * 16
    bench.replay("aggregate.pcap", lambda: all(
        row["completions"] + row["host_results"] >= chunks for row in bench.jobs().values()))
    for job, row in bench.jobs().items():
        assert row["state"] == "running" and row["completions"] + row["host_results"] == chunks, row
    collisions = {job: row["collisions"] for job, row in bench.jobs().items()}
    assert collisions[1] == 0, "it has slots of its own"
    assert collisions[2] + collisions[3] > 0  # 64 slots, and 96 chunks at a time


def test_sent_again_it_is_old_and_changes_nothing(bench):
    epochs = joined(bench)
    bench.make(*epochs, "--ops", 2, "--chunks", CHUNKS)
    bench.replay("aggregate.pcap", lambda: all(
        row["completions"] == 2 * CHUNKS for row in bench.jobs().values()))
    before, frames = bench.jobs(), bench.received()
    count = (2 + 2 + 3) * 2 * CHUNKS
    bench.replay("aggregate.pcap", lambda: bench.received() >= frames + count)
    for job, row in bench.jobs().items():
        assert row["completions"] == before[job]["completions"] == 2 * CHUNKS, row
        assert row["state"] == "running"


def test_plain_frames_are_learned(bench):
    """And forgotten once who sent them has gone."""
    def learned():
        return len({row["mac"] for row in bench.show("fdb") if row["mac"].startswith("02:4c:")})

    bench.make("--plain", 200, "--macs", 50)
    bench.replay("plain.pcap", lambda: bench.received() >= 250 and learned() == 50)
    bench.loop.wait(lambda: learned() == 0, LIMIT_S, "the addresses are forgotten")


def test_frames_are_what_the_scapy_layer_reads(mixed_bench):
    bench = mixed_bench
    sys.path.insert(0, str(TOP / "tools/scapy"))
    from scapy.all import rdpcap
    from scapy.layers.inet import UDP
    from tributary_layer import BTH, Tributary

    bench.make("--epoch", "1=7", "--epoch", "2=8", "--epoch", "3=9", "--epoch", "4=10", "--ops", 2, "--chunks", 3)
    packets = rdpcap(str(bench.directory / "aggregate.pcap"))
    assert len(packets) == 2 * 3 * (3 + 2 + 2 + 2)
    seqs = {}
    for packet in packets:
        header = packet[Tributary]
        assert (header.epoch, header.element_count) == (6 + header.job, 128 if header.job == 4 else 256)
        seqs.setdefault((header.job, header.origin, header.shard), []).append(header.seq)
        if header.job == 4:
            carried = packet[BTH].icrc
            packet[BTH].icrc = None
            assert type(packet)(bytes(packet))[BTH].icrc == carried
            continue
        carried = packet[UDP].chksum
        del packet[UDP].chksum
        assert type(packet)(bytes(packet))[UDP].chksum == carried
    assert all(seq == list(range(len(seq))) for seq in seqs.values()), seqs


def test_epochs_are_asked_for(bench):
    done = subprocess.run([PYTHON, "-B", MAKE, "--config", bench.config, "--out", bench.directory,
                           "--epoch", "1=7"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no --epoch for job 2, 3" in done.stderr
