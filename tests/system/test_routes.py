"""Trees over routers (O12: a non-aggregating network may join the levels; C1).

Linux namespaces that forward are the routers of examples/routed.yaml. The switches know them by
their routes, and nothing of what is behind them but IP addresses.
"""

import pytest
from testbed import tree_bed
from testbed.namespace import Namespace, add_veth
from testbed.tree import TOP

ROUTED = TOP / "examples/routed.yaml"
# Whose cable goes through a router: its addresses towards the root, and away from it.
ROUTERS = {"A": ("10.77.0.1/24", "10.78.0.254/24"), "w3": ("10.77.0.2/24", "10.79.0.254/24")}
LIMIT_S = 30


class RoutedBed(tree_bed.TreeBed):
    """A tree with a router in some of its cables: `above` and `below` are its two interfaces."""

    def _cable_veth(self):
        enter = self._stack.enter_context
        topology = self.topology
        self.routers = {}
        for name in (*topology.switches, *topology.workers):
            self._namespaces[name] = enter(Namespace())
        for cable in topology.cables:
            upper, lower = self._namespaces[cable.switch], self._namespaces[cable.below]
            end = cable.uplink or "eth0"
            if cable.below not in ROUTERS:
                add_veth(upper, cable.port, lower, end, cable.mtu)
            else:
                router = self.routers[cable.below] = enter(Namespace())
                add_veth(upper, cable.port, router, "above", cable.mtu)
                add_veth(router, "below", lower, end, cable.mtu)
                router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
                for link, address in zip(("above", "below"), ROUTERS[cable.below], strict=True):
                    router.run(["ip", "addr", "add", address, "dev", link])
            if not cable.uplink:
                self._address(cable.below)
        via = ROUTERS["w3"][1].split("/")[0]
        self._namespaces["w3"].run(["ip", "route", "add", "default", "via", via])

    def neighbour(self, switch, address):
        rows = {row["address"]: row for row in self.show(switch, "neighbours")}
        return rows[address]

    def dropped(self, switch, reason):
        return sum(row["packets"] for row in self.show(switch, "drops") if row["reason"] == reason)


@pytest.fixture
def bed(loop):
    options = {"arithmetic": "modular"}
    with RoutedBed(loop, ROUTED, job_options=options) as made:
        yield made


def steps(repeat):
    return [
        {"do": "allreduce", "count": 20_000, "dtype": dtype, "repeat": repeat, "seed": 5}
        for dtype in ("int32", "float32")
    ]


def finish(workers):
    for worker in workers:
        worker.finish()


def test_o12_sums_and_results_pass_routers(bed, launch_tree):
    finish(launch_tree(bed).start([*steps(3), {"do": "barrier"}]))
    rows = {row["address"]: row for row in bed.show("root", "neighbours")}
    assert {row["state"] for row in rows.values()} <= {"reachable", "checking"}
    assert {address: row["port"] for address, row in rows.items()} == {
        "10.77.0.1": "a",
        "10.77.0.2": "c",
    }
    link = bed.routers["A"].run(["ip", "link", "show", "dev", "above"])
    assert rows["10.77.0.1"]["mac"] in link
    assert [row["to"] for row in bed.show("A", "routes")] == ["0.0.0.0/0", "10.78.0.0/24"]
    assert {row["via"] for row in bed.show("A", "routes")} == {"10.78.0.254", "on the link"}
    for switch in ("root", "A"):
        assert bed.show(switch, "jobs")[0]["aborts"] == 0
        assert bed.dropped(switch, "wrong-ingress-port") == 0
        assert bed.dropped(switch, "sender-mismatch") == 0


def test_o12_where_a_member_is_says_show(bed, launch_tree):
    workers = launch_tree(bed).start(steps(300))
    for worker in workers:
        worker.wait_event("progress")
    macs = {row["address"].split(":")[0]: row["mac"] for row in bed.show("root", "members")}
    assert macs["10.78.0.201"] == "routed"
    assert macs["10.79.0.3"] == "routed"
    assert macs["10.77.0.4"] not in ("routed", None)
    finish(workers)


def test_o12_routers_get_other_addresses_while_a_job_runs(bed, launch_tree):
    """As where another one takes over: nobody is told, and everybody goes on."""
    workers = launch_tree(bed).start(steps(400))
    for worker in workers:
        worker.wait_event("progress", 2)
    router = bed.routers["A"]
    router.run(["ip", "link", "set", "dev", "above", "address", "02:00:00:00:99:01"])
    router.run(["ip", "link", "set", "dev", "below", "address", "02:00:00:00:99:02"])
    bed.routers["w3"].run(["ip", "link", "set", "dev", "above", "address", "02:00:00:00:99:03"])

    def moved():
        return (
            bed.neighbour("root", "10.77.0.1")["mac"] == "02:00:00:00:99:01"
            and bed.neighbour("A", "10.78.0.254")["mac"] == "02:00:00:00:99:02"
            and bed.neighbour("root", "10.77.0.2")["mac"] == "02:00:00:00:99:03"
        )

    bed.loop.wait(moved, LIMIT_S, "the new addresses are known")
    finish(workers)
    assert bed.neighbour("root", "10.77.0.1")["moves"] == 1
    assert bed.show("root", "jobs")[0]["aborts"] == 0


def test_c1_a_router_that_does_not_answer_costs_packets_and_no_more(bed, launch_tree):
    """It is away for a moment, and silent after that until somebody mends it."""
    workers = launch_tree(bed).start(steps(400))
    for worker in workers:
        worker.wait_event("progress", 2)
    router = bed.routers["A"]
    router.run(["ip", "addr", "del", ROUTERS["A"][1], "dev", "below"])
    router.run(["ip", "link", "set", "dev", "below", "down"])
    bed.loop.wait(
        lambda: bed.neighbour("A", "10.78.0.254")["state"] == "asking", LIMIT_S, "the link is lost"
    )
    router.run(["ip", "link", "set", "dev", "below", "up"])
    bed.loop.wait(
        lambda: bed.dropped("A", "no-next-hop") > 0, LIMIT_S, "packets without a next hop count"
    )
    router.run(["ip", "addr", "add", ROUTERS["A"][1], "dev", "below"])
    bed.loop.wait(
        lambda: bed.neighbour("A", "10.78.0.254")["state"] == "reachable", LIMIT_S, "it answers"
    )
    finish(workers)
    assert bed.neighbour("A", "10.78.0.254")["losses"] == 1
    assert bed.show("A", "jobs")[0]["aborts"] == 0
