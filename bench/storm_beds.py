"""What suite `storms` puts up: for each storm a topology, what the network loses, and who sums.

Every storm has the same job several times, on the same switches and the same parameter server, whose
packets differ in nothing but what the table of sides says. Pure: dictionaries in, dictionaries out.
"""

from dataclasses import dataclass

WORKERS = 4
WINDOW = 64
CHUNK_BYTES = 8192
MTU = 9000
SERVER = "ps1"
STORM, ALONE, SUFFERING, HOLDER = 1, 2, 3, 9  # jobs
LEAST_HIT = 0.99  # of its chunks, or it was no storm; barriers, say, have nothing that overflows


@dataclass(frozen=True)
class Side:
    """One job. `at_host`: the parameter server alone sums it."""

    job: int
    name: str
    at_host: bool = False
    overflows: bool = False


@dataclass(frozen=True)
class Storm:
    name: str
    text: str
    sides: tuple  # the job in the storm, then what it is compared with
    levels: int = 1
    job: tuple = ()  # pairs: more keys of all jobs
    losses: tuple = ()  # arguments of tributary-impair
    lossy: frozenset = frozenset()  # lower ends of its cables
    holder: bool = False  # another job has all slots
    counter: str = ""  # of a rank's statistics: what happens to every chunk; empty: it is escalated


_IN_STORM = Side(STORM, "in the storm")
_ALONE = Side(ALONE, "the server alone", at_host=True)
_ALONE_IN_STORM = Side(SUFFERING, "the server alone, in such a storm", at_host=True)


def worker(rank):
    return f"w{rank}"


def storms():
    everybody = frozenset(map(worker, range(WORKERS)))

    def lose(*what):
        return tuple(word for loss in what for word in ("--lose-first", loss))

    return (
        Storm("collision", "another job holds every slot", (_IN_STORM, _ALONE),
              job=(("slots", "dynamic"),), holder=True),
        Storm("resend", "the first copy of every contribution is lost",
              (_IN_STORM, _ALONE_IN_STORM, _ALONE), lossy=everybody, counter="resends",
              losses=lose(f"contribution:{STORM}", f"contribution:{SUFFERING}")),
        Storm("overflow", "every fixed-point sum overflows",
              (Side(STORM, "in the storm", overflows=True),
               Side(SUFFERING, "the server alone, in such a storm", at_host=True, overflows=True),
               _ALONE), counter="float_retries"),
        Storm("lost aggregates", "the first copy of every sum between the levels is lost",
              (_IN_STORM, Side(SUFFERING, "the server alone, contributions are lost there",
                               at_host=True), _ALONE),
              levels=2, lossy=frozenset({"A", "B"}),
              losses=lose(f"aggregate:{STORM}", f"contribution:{SUFFERING}")),
    )


def _port(index, name):
    return {"name": name, "mtu": MTU,
            "devargs": f"net_af_packet{index},iface={name},framesz=16384,blocksz=65536,framecnt=128"}


def _switch(name, number, below, parent=None):
    switch = {"name": name, "id": 200 + number, "address": f"10.77.0.{200 + number}",
              "slots": WINDOW * 4, "memory": {"megabytes": 160}}
    if parent:
        switch.update(parent=parent, parent_port=name, uplink="up")
        below = ["up", *below]
    return {**switch, "ports": [_port(index, port) for index, port in enumerate(below)]}


def _job(number, workers, options):
    return {"id": number, "workers": workers, "window": WINDOW, "chunk_bytes": CHUNK_BYTES,
            "deadline": "30s", "lease": "10s", "completion_hosts": [SERVER], **dict(options)}


def topology(storm):
    names = [worker(rank) for rank in range(WORKERS)]
    if storm.levels == 1:
        above = {name: "root" for name in names}
        switches = [_switch("root", 50, [*names, SERVER])]
    else:
        half = WORKERS // 2
        above = {name: "A" if rank < half else "B" for rank, name in enumerate(names)}
        switches = [_switch("root", 50, ["A", "B", SERVER]),
                    _switch("A", 1, names[:half], "root"), _switch("B", 2, names[half:], "root")]
    jobs = [_job(side.job, WORKERS, storm.job) for side in storm.sides]
    if storm.holder:
        for switch in switches:
            switch.update(slots=WINDOW, preempt_idle="3600s")
        # Nobody takes back what a job of higher priority has borrowed.
        jobs.append(_job(HOLDER, 2, (("slots", "dynamic"), ("priority", 1), ("deadline", "3600s"))))
    return {
        "switches": switches,
        "workers": [{"name": name, "switch": above[name], "port": name,
                     "address": f"10.77.0.{rank + 1}"} for rank, name in enumerate(names)],
        "servers": [{"name": SERVER, "switch": "root", "port": SERVER, "address": "10.77.0.21"}],
        "jobs": jobs,
    }


def order(storm, rank, address, rounds, ops, op_bytes):
    """What a rank is told."""
    return {
        "rank": rank, "size": WORKERS, "address": address, "rounds": rounds, "ops": ops,
        "bytes": op_bytes, "holder": HOLDER if storm.holder and rank < 2 else None,
        "holds_bytes": WINDOW * CHUNK_BYTES,
        "sides": [{"job": side.job, "at_host": side.at_host, "overflows": side.overflows}
                  for side in storm.sides],
    }


def slots_held(slots):
    """Of those that a switch shows, the holder's."""
    return sum(slot["job"] == HOLDER for slot in slots)


def share_hit(storm, all_stats, jobs):
    """Of the storm's chunks those that it has hit, as the worst rank, or the root, counts them.

    `all_stats`: each rank's, of that job. `jobs`: what the root shows.
    """
    if storm.counter:
        return min(stats[storm.counter] / stats["contributions"] for stats in all_stats)
    job = next(job for job in jobs if job["job"] == STORM)
    return job["escalations"] / (job["escalations"] + job["completions"])


def rates(reports, op_bytes):
    """GB/s by job, a figure a round: each rank reports by job and round the seconds of its ops.

    An op lasts as long as its slowest rank; a round's first does not count, as everything is new to it.
    """
    by_job = {}
    for job in reports[0]["seconds"]:
        rounds = zip(*(report["seconds"][job] for report in reports))
        slowest = [[max(times) for times in zip(*ranks)] for ranks in rounds]
        by_job[int(job)] = [op_bytes * len(ops) / sum(ops) * 1e-9 for ops in slowest]
    return by_job
