"""Jobs that grow and shrink between two ops (rule 24): no op fails, and every sum is of all the ranks
that there are."""

from testbed.switch import Job

LIMIT_S = 50
ELASTIC = (("min_workers", 2), ("lease", "1s"))


def ops(seed, repeat=20, dtype="int32"):
    return {"do": "allreduce", "count": 5_000, "dtype": dtype, "repeat": repeat, "seed": seed}


def resize(size):
    return {"do": "resize", "size": size}


def ended(workers):
    for worker in workers:
        worker.finish()
        assert all(op["exact"] for op in worker.of("progress")), f"rank {worker.rank}: a wrong sum"


def job(bed):
    [row] = bed.switch.show("jobs")
    return row


def test_rule24_a_job_grows_and_shrinks(make_bed, gate, launch):
    """2 ranks, then 4, then 3, which goes on for as long as all are there to be looked at."""
    bed = make_bed("veth", 4, jobs=[Job(1, 4, ELASTIC)])
    launcher = launch(bed)
    last = [ops(3, dtype="float32"), gate.step, ops(4)]
    first = [ops(1), resize(4), ops(2), resize(3), *last]
    workers = [launcher.start_rank(rank, 2, first) for rank in (0, 1)]
    for worker in workers:
        worker.wait_event("progress")
    newcomers = [launcher.start_rank(rank, 4, first[2:]) for rank in (2, 3)]
    newcomers[1].finish()
    for worker in (*workers, newcomers[0]):
        worker.wait_event("step", 3 if worker in workers else 2)
    row = job(bed)
    assert row["aborts"] == 0 and row["drains"] == 2 and row["state"] == "running", row
    gate.open()
    ended(workers + newcomers)
    assert [event["size"] for event in workers[0].of("resized")] == [4, 3]
    assert len(newcomers[1].of("step")) == 1
    epochs = {worker.of("resized")[-1]["epoch"] for worker in (*workers, newcomers[0])}
    assert len(epochs) == 1


def failing(size, text):
    return lambda rank: [{"do": "resize_fails", "size": size(rank), "text": text}, ops(5)]


def test_rule24_mistakes_are_named_and_the_job_goes_on(make_bed, launch):
    bed = make_bed("veth", 3, jobs=[Job(1, 3, ELASTIC)])
    launcher = launch(bed)
    for size, text in (
        (lambda rank: 4, "resize to 4: job 1 has 2 to 3 ranks"),
        (lambda rank: 0, "resize to 0: job 1 has 2 to 3 ranks"),
        (lambda rank: 2 + rank % 2, "the ranks want different sizes: rank 0 wants 2, rank 1 wants 3"),
    ):
        ended(launcher.start(failing(size, text)))
    assert job(bed)["aborts"] == 0


def test_rule24_a_rank_that_does_not_call_it_is_named(make_bed, gate, launch):
    bed = make_bed("veth", 3, jobs=[Job(1, 3, ELASTIC)])
    workers = launch(bed).start(
        lambda rank: [ops(1, 1), gate.step if rank == 2 else resize(2)], op_timeout=2.0
    )
    for rank in (0, 1):
        error = workers[rank].fail()
        assert error["missing_ranks"] == [2], error


def test_rule24_a_newcomer_that_does_not_come_is_named(make_bed, launch):
    bed = make_bed("veth", 3, jobs=[Job(1, 3, ELASTIC)])
    launcher = launch(bed)
    workers = [launcher.start_rank(rank, 2, [ops(1), resize(3)], op_timeout=2.0) for rank in (0, 1)]
    for worker in workers:
        error = worker.fail()
        assert error["missing_ranks"] == [2] and "waiting for rank 2" in error["text"], error


def test_rule24_an_elastic_launcher_starts_more_or_fewer(make_bed, launch):
    """Ranks are killed and started anew, as torchrun does where a node comes or goes."""
    bed = make_bed("veth", 4, jobs=[Job(1, 4, ELASTIC)])
    launcher = launch(bed)
    for size in (3, 2, 4):
        workers = [launcher.start_rank(rank, size, [ops(size, 100_000)]) for rank in range(size)]
        for worker in workers:
            worker.wait_event("progress", 5)
        for worker in workers:
            worker.process.signal(9)
        for worker in workers:
            worker.process.wait_exit(LIMIT_S)
            assert all(op["exact"] for op in worker.of("progress"))
