"""O7: dynamic jobs that keep colliding are told apart by the switch itself, and no op fails."""

import pytest
from testbed.switch import Job

LOOP = {"do": "allreduce", "count": 60_000, "dtype": "int32", "repeat": 100_000}
PATIENCE_S = 120
PLACES = {1: (0, 1), 2: (2, 3)}


class Pool:
    """Two jobs of two ranks that share a pool, and call op after op."""

    def __init__(self, bed, loop, launch):
        self._bed, self._loop = bed, loop
        self._workers = [rank for job, ports in PLACES.items() for rank in launch(bed).start([LOOP], job, ports)]
        self.go_on()

    def go_on(self):
        for worker in self._workers:
            worker.wait_event("progress", len(worker.of("progress")) + 3)
            done = worker.of("progress")
            assert [op["op"] for op in done] == list(range(len(done))) and all(op["exact"] for op in done)

    def tell(self, command, *words):
        return self._bed.switch.client(command, "--socket", self._bed.switch.socket, *words)

    def rows(self):
        return {row["job"]: row for row in self._bed.switch.show("collisions")}

    def wait(self, condition, what):
        self._loop.wait(lambda: condition(self.rows().values()), PATIENCE_S, what)

    def act_on(self, verdict):
        """From the verdict, with which nothing is done, to the switch's own change."""
        self.wait(lambda rows: any(row["verdict"] == verdict for row in rows), verdict)
        assert all(row["action"] is None for row in self.rows().values())
        self.tell("set", "switch.collisions", "act")
        self.wait(lambda rows: any(row["action"] for row in rows), "a change")

    def overrides(self):
        return {row["path"]: row["value"] for row in self._bed.switch.show("overrides")}

    def collided(self):
        return {job: row["collisions"] for job, row in self.rows().items()}


@pytest.fixture
def pool(make_bed, loop, launch):
    def make(slots):
        jobs = [Job(i, 2, options=(("slots", "dynamic"), ("window", 32))) for i in PLACES]
        return Pool(make_bed("memif", 4, jobs=jobs, slots=slots), loop, launch)

    return make


def test_o7_a_pool_that_is_too_small_gets_smaller_windows(pool):
    jobs = pool(48)
    jobs.act_on("enlarge")
    jobs.wait(lambda rows: {row["most_slots"] for row in rows} == {16}, "windows that fit")
    assert {row["action"] for row in jobs.rows().values()} == {"jobs.1.window 16", "jobs.2.window 16"}
    assert jobs.overrides() == {"switch.collisions": "act", "jobs.1.window": "16", "jobs.2.window": "16"}
    assert "jobs.1.window 16, because its chunks collide" in jobs.tell("show", "events")
    jobs.go_on()
    before = jobs.collided()
    jobs.go_on()
    assert jobs.collided() == before


def test_o7_a_pool_that_holds_all_windows_is_divided(pool):
    jobs = pool(64)
    jobs.act_on("divide")
    [(job, row)] = [(job, row) for job, row in jobs.rows().items() if row["action"]]
    assert row["action"] == f"jobs.{job}.slots static"
    assert jobs.overrides() == {"switch.collisions": "act", f"jobs.{job}.slots": "static"}
    jobs.go_on()
    before = jobs.collided()
    jobs.go_on()
    assert jobs.collided() == before
    jobs.tell("unset", "--all")
    jobs.wait(lambda rows: all(row["action"] is None for row in rows), "the file to count again")
    assert jobs.overrides() == {}
    jobs.go_on()
