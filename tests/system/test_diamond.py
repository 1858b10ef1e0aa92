"""Two ways between main server and workers: trees move to the better one, and no op fails (C7)."""

import re
import signal

import pytest
from diamond import DIAMOND, LONG, check, uplink, wait_on
from testbed.process import ProcessFailed
from testbed.topology import TopologyError

LIMIT_S = 50
# The new way opens before R takes it. The old one closes last: what closes it earlier cuts the job.
IN_ORDER = ("B", "R", "L", "A")


def move(bed, way, names=IN_ORDER):
    for name in names:
        bed.client(name, "set", "switches.R.active_uplink", way)


def test_a_tree_is_moved_by_hand_and_back(make_tree, launch_tree):
    bed = make_tree(DIAMOND)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)
    assert uplink(bed) == "a"
    for way, names in (("b", IN_ORDER), ("a", ("A", "R", "L", "B")), ("b", ("L", "R", "B", "A"))):
        move(bed, way, names)
        wait_on(workers)
        assert uplink(bed) == way
        member = next(row for row in bed.show("L", "tree") if row["is"] == "switch")
        assert (member["port"], member["state"]) == (way, "present")
        check(workers)
    [overridden] = bed.show("R", "overrides")
    assert (overridden["path"], overridden["value"]) == ("switches.R.active_uplink", "b")
    assert bed.show("L", "jobs")[0]["aborts"] == 0


def test_a_way_that_is_none_is_refused(make_tree):
    bed = make_tree(DIAMOND)
    for key, said in (("switches.R.active_uplink", "'x' is no way up of R; allowed: a, b"),
                      ("switches.Q.active_uplink", "the document has no switch 'Q'"),
                      ("switches.A.active_uplink", "allowed: up")):
        with pytest.raises(ProcessFailed, match=said):
            bed.client("R", "set", key, "x")
    assert bed.show("R", "overrides") == []


def test_c7_the_tree_leaves_the_way_that_becomes_bad(make_tree, launch_tree):
    bed = make_tree(DIAMOND, telemetry=16)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)

    def path():
        return next(row for row in bed.telemetry.show("paths") if (row["from"], row["to"]) == ("R", "L"))

    bed.loop.wait(lambda: path()["latency_us"] is not None, LIMIT_S, "both links of the way by A are measured")
    ways = ("A", "b"), ("B", "a")
    for bad, good in ways if uplink(bed) == "a" else reversed(ways):
        bed.set_cable_delay(f"{bad}-R", "20ms")
        bed.loop.wait(lambda good=good: uplink(bed) == good, LIMIT_S, f"R uses {good}")
        wait_on(workers)
        check(workers)
        bed.loop.wait(lambda good=good: path()["uplink"] == good, LIMIT_S, "the server shows it")
        assert path()["moves"] >= 1 and path()["latency_us"] < 20_000, path()
        bed.set_cable_delay(f"{bad}-R", "off")
    assert bed.show("L", "jobs")[0]["aborts"] == 0
    for name in bed.topology.switches:
        (row,) = bed.show(name, "telemetry")
        assert row["malformed"] == row["untrusted"] == 0, row


def test_c7_a_dead_server_leaves_everything_as_it_is(make_tree, launch_tree):
    bed = make_tree(DIAMOND, telemetry=16)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)
    bed.telemetry.stop()
    way = uplink(bed)
    bed.set_cable_delay(f"{way.upper()}-R", "20ms")
    wait_on(workers)
    check(workers)
    assert uplink(bed) == way
    with pytest.raises(TopologyError, match="no cable A-Q"):
        bed.set_cable_delay("A-Q", "1ms")


DOWN, BACK = "10.77.0.2", "10.77.0.1"  # w1 on R, main on L


def tell_all(bed, switch, port, value):
    """The switch itself comes last where a path begins, and first where it ends."""
    others = [name for name in bed.topology.switches if name != switch]
    for name in [switch, *others] if value == "[]" else [*others, switch]:
        bed.client(name, "set", f"switches.{switch}.ports.{port}.paths", value)


def sent_to(bed, switch, port):
    return next(row["tx_packets"] for row in bed.show(switch, "ports") if row["port"] == port)


def test_c7_other_traffic_takes_the_other_way_and_comes_back(make_tree, launch_tree):
    """Pings by A, by B there and back, and by A again: none is lost, and the job goes on."""
    bed = make_tree(DIAMOND)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)
    with pytest.raises(ProcessFailed, match="the way of 10.77.0.2/32 is a cycle: L -> B -> L"):
        bed.client("L", "set", "switches.L.ports.b.paths", f"[{DOWN}]")
    ping = bed.start("ping", ["ping", "-i", "0.01", DOWN], "main")

    def answers(more):
        wanted = len(ping.stdout) + more
        bed.loop.wait(lambda: len(ping.stdout) >= wanted, LIMIT_S, f"{more} answers")

    def sent_off_the_tree():
        return sent_to(bed, "B", "r"), sent_to(bed, "R", "b")

    before = sent_off_the_tree()
    answers(50)
    assert all(now < then + 10 for now, then in zip(sent_off_the_tree(), before, strict=True))  # no ping
    paths = [("B", "r", DOWN), ("L", "b", DOWN), ("B", "up", BACK), ("R", "b", BACK)]  # downstream first
    for switch, port, to in paths:
        tell_all(bed, switch, port, f"[{to}]")
        answers(20)
    before = sent_off_the_tree()
    answers(100)
    assert all(now >= then + 90 for now, then in zip(sent_off_the_tree(), before, strict=True))
    for switch, port, _ in reversed(paths):
        tell_all(bed, switch, port, "[]")
        answers(20)
    before = sent_off_the_tree()
    answers(50)
    assert all(now < then + 10 for now, then in zip(sent_off_the_tree(), before, strict=True))  # no ping
    ping.signal(signal.SIGINT)
    ping.check_exit(LIMIT_S)
    assert " 0% packet loss" in ping.text() and "DUP" not in ping.text(), ping.text()[-300:]
    check(workers)


def test_c7_the_server_sets_the_path_of_other_traffic_and_dies(make_tree, launch_tree):
    """Pings leave the way that becomes bad, there and back; none is lost. Without the server they stay there."""
    bed = make_tree(DIAMOND, telemetry=16)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)

    def path(start, end):
        return next(row for row in bed.telemetry.show("paths") if (row["from"], row["to"]) == (start, end))

    def lead(by):
        rows = path("main", "w1"), path("w1", "main")
        return all(f"-> {by} -" in (row["path"] or "") and row["installed"] for row in rows)

    bed.loop.wait(lambda: path("main", "w1")["installed"] and path("w1", "main")["installed"], LIMIT_S,
                  "both paths are set")
    row = path("main", "w1")
    assert row["destinations"] == [f"{DOWN}/32"] and len(row["candidates"]) == 2, row
    bad, good = ("A", "B") if "-> A -" in row["path"] else ("B", "A")
    ping = bed.start("ping", ["ping", "-i", "0.01", DOWN], "main")

    def answers(more):
        wanted = len(ping.stdout) + more
        bed.loop.wait(lambda: len(ping.stdout) >= wanted, LIMIT_S, f"{more} answers")

    def sent_by(way):
        return sent_to(bed, way, "r"), sent_to(bed, way, "up")

    answers(20)
    bed.set_cable_delay(f"{bad}-R", "20ms")
    bed.loop.wait(lambda: lead(good), LIMIT_S, f"both paths lead by {good}")
    assert path("main", "w1")["moves"] >= 1
    before = sent_by(good)
    answers(100)
    assert all(now >= then + 90 for now, then in zip(sent_by(good), before, strict=True))
    bed.loop.wait(lambda: not any(port["paths"] for port in bed.show(bad, "telemetry ports")), LIMIT_S,
                  f"{bad} has no path left")
    bed.telemetry.stop()
    bed.set_cable_delay(f"{good}-R", "20ms")
    bed.set_cable_delay(f"{bad}-R", "off")
    before = sent_by(good)
    answers(100)
    assert all(now >= then + 90 for now, then in zip(sent_by(good), before, strict=True))
    ping.signal(signal.SIGINT)
    ping.check_exit(LIMIT_S)
    # The last ones may not be back when it ends.
    numbers = sorted(map(int, re.findall(r"icmp_seq=(\d+)", ping.text())))
    assert numbers == [*range(1, len(numbers) + 1)], ping.text()[-300:]
    check(workers)


def test_other_traffic_follows_the_tree_and_nothing_circles(make_tree, launch_tree):
    bed = make_tree(DIAMOND)
    workers = launch_tree(bed).start(LONG)
    wait_on(workers)
    ping = bed.start("ping", ["ping", "-i", "0.01", "10.77.0.2"], "main")
    for way, names in (("b", IN_ORDER), ("a", ("A", "R", "L", "B"))):
        move(bed, way, names)
        # Answers go on, and not for the requests of before alone.
        sent = len(ping.stdout)
        bed.loop.wait(lambda sent=sent: len(ping.stdout) >= sent + 50, LIMIT_S, f"answers by {way}")
    assert "DUP" not in ping.text()
    check(workers)
