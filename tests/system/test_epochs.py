"""A tree whose shape, planes, hosts and settings change under a running job of twelve ranks (rule 22,
O1, T1): no op fails, every sum is exact, and callers notice pauses. A job with several planes has no
hosts elsewhere, and only a restart of a switch changes which hosts there are; which one serves does.

TRIBUTARY_SEED and TRIBUTARY_ROUNDS choose another run, or a longer one.
"""

import os
import random
import signal

import pytest
import yaml

LEAVES = ("A", "B", "C", "D")
MIDDLE = ("M1", "M2")
RANKS_OF_A_LEAF = 3
LIMIT_S = 30
BETWEEN = 40  # ops of each rank from one change to the next
LONG = [{"do": "allreduce", "count": 5_000, "dtype": "int32", "repeat": 1_000_000, "seed": 6}]


def switch(number, name, ports, **more):
    """Each link between switches is a VLAN of its own: the tree has two ways, and no spanning tree."""
    return {
        "name": name,
        "id": number,
        "address": f"10.77.0.{200 + number}",
        "lcores": [-1, -1],
        "memory": {"megabytes": 128, "reserve_megabytes": 16},
        "ports": [
            {"name": port, "devargs": f"net_null{index}", **({"vlan": {"mode": "access", "id": vlan}} if vlan else {})}
            for index, (port, vlan) in enumerate(ports)
        ],
        **more,
    }


def vlan_of(leaf, middle):
    return 100 + 10 * LEAVES.index(leaf) + MIDDLE.index(middle)


def tree(**of_job):
    root = switch(1, "root", [(m.lower(), 90 + at) for at, m in enumerate(MIDDLE)])
    middle = [
        switch(
            2 + at, m, [("up", 90 + at), *((leaf.lower(), vlan_of(leaf, m)) for leaf in LEAVES)],
            parent="root", parent_port=m.lower(), uplink="up",
        )
        for at, m in enumerate(MIDDLE)
    ]
    leaves = [
        switch(
            10 + at, leaf,
            [*((f"up{m}", vlan_of(leaf, m)) for m in MIDDLE), *((f"w{i}", 0) for i in range(RANKS_OF_A_LEAF))],
            parent=MIDDLE[at % 2], parent_port=leaf.lower(), uplink=f"up{MIDDLE[at % 2]}",
        )
        for at, leaf in enumerate(LEAVES)
    ]
    workers = [
        {"name": f"{leaf.lower()}{i}", "switch": leaf, "port": f"w{i}", "address": f"10.77.{at + 1}.{i + 1}"}
        for at, leaf in enumerate(LEAVES)
        for i in range(RANKS_OF_A_LEAF)
    ]
    job = {"id": 1, "workers": len(workers), "chunk_bytes": 1024, "window": 32, "lease": "10s", **of_job}
    return {"switches": [root, *middle, *leaves], "workers": workers, "jobs": [job]}


def spare_cables():
    """From each leaf to the switch that is not its parent."""
    return [
        (m, leaf.lower(), leaf, f"up{m}")
        for at, leaf in enumerate(LEAVES)
        for m in MIDDLE
        if m != MIDDLE[at % 2]
    ]


@pytest.fixture
def make_bed_of(make_tree, tmp_path):
    def make(**of_job):
        file = tmp_path / "tree.yaml"
        file.write_text(yaml.safe_dump(tree(**of_job)))
        return make_tree(file, spare_cables=spare_cables())

    return make


class Changes:
    """Draws one change after the other: of planes, or where the job has some, of its hosts."""

    def __init__(self, bed, dice):
        self._bed, self._topology, self._dice = bed, bed.topology, dice
        self._job = self._topology.jobs[1]
        self.hosts = [host for host in self._job.get("completion_hosts", []) if host != "root"]

    def make(self):
        return self._dice.choice([self._parent, self._host if self.hosts else self._planes, self._settings])()

    def _parent(self):
        """A leaf gets the other switch above it; that one keeps a leaf."""
        switches = self._topology.switches
        below = {m: [leaf for leaf in LEAVES if switches[leaf]["parent"] == m] for m in MIDDLE}
        leaf = self._dice.choice([leaf for leaf in LEAVES if len(below[switches[leaf]["parent"]]) > 1])
        other = next(m for m in MIDDLE if m != switches[leaf]["parent"])
        switches[leaf].update(parent=other, uplink=f"up{other}")
        return f"{leaf} below {other}"

    def _settings(self):
        if self.hosts:  # a switch that hosts was told the window
            self._job["lease"] = f"{self._dice.randrange(8, 60)}s"
            return f"lease {self._job['lease']}"
        window = self._dice.choice([w for w in (16, 32, 64) if w != self._job["window"]])
        self._job["window"] = window
        return f"window {window}"

    def _host(self):
        """The root is asked for one at once."""
        best = self._dice.choice(self.hosts)
        loads = [word for host in self.hosts for word in ("--load", f"{host}={0 if host == best else 9}")]
        self._bed.client("root", "place-host", "1", *loads)
        return f"{best} completes"

    def _planes(self):
        self._job["planes"] = 3 - self._job.get("planes", 1)
        return f"{self._job['planes']} planes"


def wait_on(workers, ops):
    counts = [len(worker.of("progress")) for worker in workers]
    for worker, count in zip(workers, counts):
        worker.wait_event("progress", count + ops)


def change_again_and_again(bed, launch_tree, rounds):
    """TRIBUTARY_ROUNDS changes, or so many."""
    rounds = int(os.environ.get("TRIBUTARY_ROUNDS", rounds))
    dice = random.Random(int(os.environ.get("TRIBUTARY_SEED", "1")))
    changes = Changes(bed, dice)
    workers = launch_tree(bed).start(LONG)
    for number in range(rounds):
        wait_on(workers, BETWEEN)
        what = changes.make()
        bed.write_file()
        names = list(bed.topology.switches)
        dice.shuffle(names)
        bed.reload_at_once(names)
        print(f"change {number}: {what}")
    wait_on(workers, BETWEEN)
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done)))
        assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"
    rows = bed.show("root", "jobs")
    assert max(row["drains"] for row in rows) > 0
    took = sorted(op["took_s"] for worker in workers for op in worker.of("progress"))
    print(
        f"{rounds} changes in {len(workers[0].of('progress'))} ops: drains "
        f"{max(row['drains'] for row in rows)}, pauses p99 at most "
        f"{max(row['pause_p99_us'] for row in rows) / 1000:.0f} ms; ops: median "
        f"{took[len(took) // 2] * 1000:.1f} ms, longest {took[-1] * 1000:.0f} ms"
    )


def test_rule22_o1_parents_planes_and_settings_change_under_twelve_ranks(make_bed_of, launch_tree):
    change_again_and_again(make_bed_of(), launch_tree, 50)


def test_rule22_t11_parents_hosts_and_settings_change_under_twelve_ranks(make_bed_of, launch_tree):
    bed = make_bed_of(completion_hosts=[*MIDDLE, "root"], host_choice="least_load", planes=1)
    change_again_and_again(bed, launch_tree, 25)
    [host] = bed.show("root", "hosts")
    assert host["chosen"] == "requested", host


def is_refused(bed, switch, reason):
    return any(row["refused"] == reason for row in bed.show(switch, "tree"))


def test_rule23_ranks_go_on_by_another_tree_when_a_switch_is_gone_for_good(make_bed_of, launch_tree):
    """M1 dies and stays dead; its leaves get M2 above them, where the job then ends. The root reads
    that first, and has no such job while the others still send their ranks there. No op fails.
    """
    bed = make_bed_of()
    workers = launch_tree(bed).start(LONG, retry="ops")
    wait_on(workers, BETWEEN)
    bed.switches["M1"].signal(signal.SIGKILL)
    for leaf in LEAVES:
        bed.topology.switches[leaf].update(parent="M2", uplink="upM2")
    bed.write_file()
    bed.reload("root")
    bed.loop.wait(lambda: is_refused(bed, "M2", "unknown-job"), LIMIT_S, "M2 hears that its job is gone")
    bed.reload_at_once(["M2", *LEAVES])
    wait_on(workers, BETWEEN)
    for worker in workers:
        assert worker.process.running, worker.events[-1]
        done = worker.of("progress")
        assert [op["op"] for op in done] == list(range(len(done)))
        assert all(op["exact"] for op in done), f"rank {worker.rank}: a wrong sum"
    assert bed.show("root", "jobs") == [], "all ranks are below M2, where the job ends"
    assert max(row["retries"] for row in bed.show("M2", "jobs")) > 0
