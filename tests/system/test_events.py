"""The event log: what an operator asks about the next day."""

import json
import signal

from testbed.switch import Job
from testbed.tree import binary

LIMIT_S = 50
EPOCHS = 4  # more than the switch looks at within the time that they take


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
    bed.loop.wait(lambda: told("error", " ended: lease-expired"), LIMIT_S, "the epoch has ended")
    ended = told("error", " ended: lease-expired")[0]
    assert ended["kind"] == "epoch" and "1" in ended["text"].split("rank(s)")[-1], ended
    said = "\n".join(bed.switch.process.stderr)
    assert f"job 1: {ended['text']}" in said, said
    assert all(e["level"] == "error" for e in events(bed, "--level", "error"))
    assert len(events(bed, "--since", "1h")) == len(events(bed))


def epochs_told(bed):
    return [e for e in events(bed) if e["kind"] == "epoch" and e["job"] == 1]


def test_the_log_has_every_epoch_however_short(make_bed, launch):
    """Epochs that follow each other within milliseconds: each begin and each end has its line."""
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    op = {"do": "allreduce", "count": 100, "dtype": "int32"}
    for worker in launch(bed).start([op, *[{"do": "rejoin"}, op] * (EPOCHS - 1)]):
        worker.finish()
    bed.loop.wait(lambda: len(epochs_told(bed)) >= 2 * EPOCHS, LIMIT_S, "all lines")
    told = epochs_told(bed)
    first = int(told[0]["text"].split()[2])
    assert [e["text"] for e in told] == [
        f"'job1' epoch {epoch} {what}" for epoch in range(first, first + EPOCHS)
        for what in ("runs with 2 ranks", "is over: its ranks left")]
    assert [e["time"] for e in told] == sorted(e["time"] for e in told)
    assert all(e["level"] == "notice" for e in told)
    said = "\n".join(bed.switch.process.stderr)
    assert all(f"job 1: {e['text']}" in said for e in told), said


def test_the_log_says_that_the_switch_ended_an_epoch_as_it_stopped(make_bed, launch):
    bed = make_bed("veth", 2, jobs=[Job(1, 2)])
    ranks = launch(bed).start([{"do": "allreduce", "count": 100, "dtype": "int32", "repeat": 10**6}])
    for rank in ranks:
        rank.wait_event("progress")
    process = bed.switch.process
    process.signal(signal.SIGTERM)
    for rank in ranks:
        rank.fail()
    assert process.wait_exit(LIMIT_S) == 0
    assert any("job 1: 'job1' epoch " in line and " ended: shutdown" in line for line in process.stderr), \
        process.stderr


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
