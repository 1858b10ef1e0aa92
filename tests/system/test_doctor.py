"""`tributary doctor` beside a real switch: each mistake is named with what to do about it."""

import json
import subprocess

from testbed.fabric import SWITCH_ADDRESS, worker_address
from testbed.tree import binary

LIMIT_S = 50


def doctor(bed, name, *arguments, rank=0):
    process = bed.start(name, [binary(bed.build, "tributary"), "doctor", "--json", *arguments],
                        rank=rank)
    process.wait_exit(LIMIT_S)
    return process.returncode, json.loads(process.text())


def errors(findings):
    return [f["subject"] + ": " + f["state"] for f in findings if f["level"] == "error"]


def test_a_good_host_has_no_errors(make_bed):
    bed = make_bed("veth", 2)
    status, found = doctor(bed, "good", "--address", bed.address(0), "--job", 1)
    assert (status, errors(found)) == (0, []), found
    assert any("answers for job 1" in f["state"] for f in found)


def test_an_address_on_another_interface_is_no_mistake(make_bed):
    """Results by multicast come by the interface of the route, wherever the address is."""
    bed = make_bed("veth", 2)
    host = bed.fabric.namespace(0)
    host.run(["ip", "addr", "flush", "dev", "eth0"])
    host.run(["ip", "link", "set", "lo", "up"])
    host.run(["ip", "addr", "add", f"{worker_address(0)}/32", "dev", "lo"])
    host.run(["ip", "route", "add", SWITCH_ADDRESS, "dev", "eth0", "src", worker_address(0)])
    status, found = doctor(bed, "elsewhere", "--address", bed.address(0), "--job", 1)
    assert (status, errors(found)) == (0, []), found
    assert not any("multicast" in f["state"] for f in found), found


def test_a_job_that_the_switch_lacks_is_named(make_bed):
    bed = make_bed("veth", 2)
    status, found = doctor(bed, "job", "--address", bed.address(0), "--job", 77)
    assert status == 1
    assert any("has no job 77" in text for text in errors(found)), found


def test_chunks_beyond_the_mtu_are_named_with_the_command(make_bed):
    bed = make_bed("veth", 2)
    status, found = doctor(bed, "mtu", "--address", bed.address(0), "--chunk-bytes", 60000)
    assert status == 1
    assert any("mtu 60" in (f["remedy"] or "") for f in found if f["level"] == "error"), found


def test_an_address_without_a_switch_is_silent(make_bed):
    bed = make_bed("veth", 2)
    wrong = bed.address(0).rsplit(".", 1)[0] + ".253"
    status, found = doctor(bed, "nobody", "--address", wrong)
    assert status == 1
    assert any("no host answers ARP" in text for text in errors(found)), found


def test_a_switch_by_its_socket_names_who_is_missing(make_bed):
    bed = make_bed("veth", 2)
    status, found = doctor(bed, "socket", "--socket", bed.switch.socket)
    assert status == 0, found
    assert any("ranks that have not joined here: 0, 1" in f["state"] for f in found), found
    status, found = doctor(bed, "gone", "--socket", "/nonexistent/switchd.sock")
    assert status == 1 and "control socket" in errors(found)[0]


def test_a_bad_address_is_a_usage_error(make_bed):
    bed = make_bed("memif", 2)
    done = subprocess.run([binary(bed.build, "tributary"), "doctor", "--address", "tcp://x"],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 2 and "allowed: udp://" in done.stderr, done.stderr
