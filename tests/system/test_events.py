"""The event log: what an operator asks about the next day."""

import json
import signal

from testbed.switch import Job
from testbed.tree import binary

LIMIT_S = 50


def events(bed, *options):
    return json.loads(bed.switch.client("events", "--json", *options, "--socket", bed.switch.socket))


def test_the_log_says_why_an_epoch_ended(make_bed, launch):
    """A rank that is killed is named, with the reason, by `tributary events` and on standard error."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2, (("lease", "1s"),))])
    ranks = launch(bed).start([{"do": "allreduce", "count": 1000, "dtype": "int32", "repeat": 10**6}])

    def told(level, text):
        return [e for e in events(bed) if e["level"] == level and text in e["text"] and e["job"] == 1]

    bed.loop.wait(lambda: told("notice", "runs with 2 ranks"), LIMIT_S, "the epoch has begun")
    ranks[1].process.signal(signal.SIGKILL)
    ranks[0].fail()
    bed.loop.wait(lambda: told("error", "epoch ended"), LIMIT_S, "the epoch has ended")
    ended = told("error", "epoch ended")[0]
    assert ended["kind"] == "epoch" and "1" in ended["text"].split("rank(s)")[-1], ended
    said = "\n".join(bed.switch.process.stderr)
    assert f"job 1: {ended['text']}" in said, said
    assert all(e["level"] == "error" for e in events(bed, "--level", "error"))
    assert len(events(bed, "--since", "1h")) == len(events(bed))


def test_the_log_can_be_json(make_bed):
    bed = make_bed("veth", 1, jobs=[])
    file = bed.run / "other.yaml"
    file.write_text("switch: {address: 10.88.0.254}\nports: [{name: p0, devargs: 'net_null0'}]\n")
    other = bed.start("other", ["env", f"RUNTIME_DIRECTORY={bed.run.path}",
                                binary(bed.build, "tributary-switchd"), "--config", file,
                                "--log-format", "json"])
    other.wait_line("^ready", LIMIT_S)
    other.signal(signal.SIGTERM)
    assert other.wait_exit(LIMIT_S) == 0
    lines = [json.loads(line) for line in other.stderr]
    assert any(line["level"] == "notice" and "stopping" in line["text"] for line in lines), lines
