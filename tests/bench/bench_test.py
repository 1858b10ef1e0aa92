"""tools/bench with made-up suite binaries: what it accepts, refuses, writes and exits with."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "bench"))
import dut  # noqa: E402  (needs the path above)
import overload  # noqa: E402
import shares  # noqa: E402

ROW = {"suite": "reduce", "case": "int32 sum, 1 KiB", "metric": "input rate", "value": 15.0,
       "unit": "GB/s", "reference": "memcpy", "reference_value": 12.0, "ratio": 1.25, "runs": 11,
       "min": 14.0, "max": 16.0, "verified": True}


class Device(unittest.TestCase):
    """bench/dut.py: what suites `forward` and `switch` share."""

    def test_a_row_is_one_of_tools_bench_and_its_ratio_the_median_of_the_rounds(self):
        row = dut.row("switch", "c", "m", [2.0, 9.0, 4.0], "Mpps", "testpmd", [4.0, 3.0, 4.0])
        self.assertEqual(set(row), set(ROW))
        self.assertEqual((row["value"], row["reference_value"], row["ratio"]), (4.0, 4.0, 1.0))
        self.assertEqual((row["min"], row["max"], row["runs"]), (2.0, 9.0, 3))

    def test_less_may_be_better(self):
        row = dut.row("switch", "c", "p99", [5.0], "us", "testpmd", [10.0], less_is_better=True)
        self.assertEqual(row["ratio"], 2.0)

    def test_a_round_without_traffic_has_no_ratio(self):
        self.assertEqual(dut.row("switch", "c", "m", [0.0], "Mpps", "t", [1.0])["ratio"], 0)

    def test_time_beyond_another_side_is_of_each_round_and_never_negative(self):
        self.assertEqual(dut.beyond([5.0, 10.0], [10.0, 10.0]), [100.0, 0.1])
        self.assertEqual(dut.beyond([11.0], [10.0]), [0.1])

    def test_a_row_may_say_that_nothing_was_measured(self):
        row = dut.not_measured("forward", "64 B", "Open vSwitch's", "package x is missing")
        self.assertEqual(set(row), set(ROW))
        self.assertEqual((row["runs"], row["verified"]), (0, False))
        self.assertEqual(row["metric"], "Open vSwitch's: not measured: package x is missing")

    def test_both_ends_of_a_memif_name_the_same_interface(self):
        ends = [dut.memif("/run", 3, role, 2048) for role in ("server", "client")]
        self.assertEqual(ends[0].replace("server", "client"), ends[1])
        self.assertIn("id=3,socket=/run/memif.sock", ends[0])


class Overload(unittest.TestCase):
    """bench/overload.py: what a flood stands beside, and what its rows call verified."""

    class Suite:
        workers = 8

        def __init__(self):
            self.rows = {}

        def row(self, case, metric, values, unit, reference="", reference_values=(), verified=True, less_is_better=False):
            self.rows[metric, case.rpartition("offered ")[2]] = dut.row(
                "switch", case, metric, values, unit, reference, reference_values, verified, less_is_better)

    GOODPUT = "verified payload (bar 0.9)", "all"
    LEAST = "the job with least, of a fair share", "all, in one piece"

    def rows(self, least=0.9, shares=(0.1,), goodput=None):
        suite = self.Suite()
        load = overload.Overload(suite, 1024, 1e6)
        load.goodput = goodput or dict.fromkeys(load.goodput, [0.1])
        load.seconds = [0.08, 0.1, 0.09]
        load.job_shares = [least, 1.1]
        load.busy_ms, load.idle_ms = {"set": [20.0, 30.0]}, {"set": [10.0]}
        load.shares = list(shares)
        load.rows("1 KiB")
        return suite.rows

    def test_bars_are_in_the_names_and_every_offer_has_a_row(self):
        offers = {("verified payload", f"{offer:g} of a tenth") for offer in overload.OFFERS}
        rows = self.rows()
        long = {("verified payload, by seconds", "all, in one piece"), ("set, slowest answer (bar 100 ms)", "all, in one piece")}
        self.assertEqual(set(rows), offers | {self.GOODPUT, self.LEAST} | long)
        self.assertTrue(all(row["verified"] for row in rows.values()))
        self.assertEqual([rows[key]["value"] for key in sorted(long)], [30.0, 0.09])

    def test_a_starved_job_is_no_success(self):
        self.assertFalse(self.rows(least=0.05)[self.LEAST]["verified"])

    def test_a_switch_that_had_more_than_its_tenth_was_not_overloaded(self):
        self.assertFalse(self.rows(shares=(0.12, 0.3))[self.GOODPUT]["verified"])

    def test_the_peak_is_the_highest_median_and_no_lucky_round(self):
        goodput = {0.5: [0.1, 0.1, 0.9], 0.75: [0.2, 0.25, 0.24], 1: [0.21, 0.2, 0.22], 1.5: [0.2] * 3,
                   overload.FLOOD: [0.19, 0.2, 0.21]}
        self.assertEqual(overload.peak(goodput), 0.75)
        row = self.rows(goodput=goodput)[self.GOODPUT]
        self.assertEqual((row["reference"], row["reference_value"]), ("peak, offered 0.75 of a tenth", 0.24))
        # Of 0.95, 0.8 and 0.875: each round's flood beside that round's own offer.
        self.assertEqual(row["ratio"], 0.21 / 0.24)

    def test_a_flood_that_is_served_best_is_the_peak_and_no_better_than_that(self):
        goodput = dict.fromkeys(overload.OFFERS, [0.1, 0.1, 0.1]) | {overload.FLOOD: [0.3, 0.1, 0.2]}
        row = self.rows(goodput=goodput)[self.GOODPUT]
        self.assertEqual((row["reference"], row["ratio"]), ("peak, offered all", 1))
        self.assertEqual((row["min"], row["max"]), (0.1, 0.3))

    def test_a_flood_lies_amid_all_offers_whose_order_changes(self):
        rounds = [overload.schedule(turn) for turn in range(len(overload.OFFERS))]
        for one in rounds:
            self.assertEqual(one[len(one) // 2], overload.FLOOD)
            self.assertEqual({*one} - {overload.FLOOD}, {*overload.OFFERS})
        for place in (0, -1):
            self.assertEqual({one[place] for one in rounds}, {*overload.OFFERS})

    def test_a_second_counts_neither_before_memory_is_touched_nor_after_the_end(self):
        class Device:
            @staticmethod
            def loadgen_each_second(*options, meanwhile):
                self.assertEqual(options, ("--duration", "5000ms", "--warm-up", "2s", "--rate", "max"))
                self.assertIsNotNone(meanwhile, "the throttle")
                return {"total": {"results_wrong": 0}}, [9.0, 8.0, 0.1, 0.0, 0.5, 7.0]

        load = overload.Overload(self.Suite(), 1024, 1e6)
        self.assertEqual(load._load(Device, "max", 3)[1], [0.1, 0.0, 0.5])

    def test_the_generators_lines_say_what_each_second_was_like(self):
        lines = ["loadgen: 154000 contributions/s, 0.158 GB/s verified, 0 wrong, 3 probes, 0 resends",
                 "some warning", "loadgen: 0 contributions/s, 0.000 GB/s verified, 0 wrong, 3 probes, 0 resends"]
        self.assertEqual(dut.seconds_of(lines), [0.158, 0.0])


class Idle(unittest.TestCase):
    """bench/switch: the CPU that a switch may use to which nothing comes."""

    def row(self, used):
        loader = importlib.machinery.SourceFileLoader("switch_suite", str(TOP / "bench/switch"))
        script = importlib.util.module_from_spec(importlib.util.spec_from_loader("switch_suite", loader))
        loader.exec_module(script)
        rows = []
        suite = script.Suite(None, "", True, rows.append)
        suite.idle_row(used)
        self.assertEqual(suite.good, rows[0]["verified"])
        return rows[0]

    def test_the_ratio_stands_beside_the_bar(self):
        row = self.row([2.0, 2.5, 9.0])
        self.assertEqual((row["ratio"], row["reference"], row["verified"]), (2.0, "the bar", True))

    def test_more_than_the_bar_fails_the_suite(self):
        self.assertFalse(self.row([4.9, 5.1, 5.2])["verified"])
        self.assertFalse(self.row([0.0])["verified"], "nothing was measured")


class Shares(unittest.TestCase):
    """bench/shares.py: what floods, beside what, and which rows are verified."""

    MOST = 1e6

    def rows(self, beside=(1.0, 1.0, 1.0), flood=(4.0, 4.0, 4.0), shares_had=(0.1,), exact=True):
        """The shares; alone each has 5."""
        cases = shares.cases(self.MOST)
        for case, had, others in zip(cases, beside, flood):
            case.alone_had, case.beside_had, case.flood_had = [5.0, 5.0], [had, had], [others, others]
        both = [[*shares.rows(case, shares_had, exact)] for case in cases]
        for delivered, share in both:
            self.assertEqual((delivered["metric"], delivered["reference_value"]), ("delivered", 5.0))
            self.assertEqual(share["metric"], "share (bar 0.9)")
        return [share for _, share in both]

    def verified(self, **had):
        return [row["verified"] for row in self.rows(**had)]

    def test_a_share_is_fair_if_it_is_a_part_of_what_was_handled(self):
        rows = self.rows(beside=(4.0, 1.0, 1.25), flood=(1.0, 4.0, 3.75))
        for row in rows:
            self.assertAlmostEqual(row["ratio"], 1.0)
            self.assertTrue(row["verified"])
        # By the same part, however little the loop could do.
        self.assertEqual(self.verified(beside=(0.4, 0.1, 0.125), flood=(0.1, 0.4, 0.375)), [True] * 3)
        self.assertEqual(self.verified(beside=(3.5, 0.8, 1.0), flood=(1.5, 4.2, 4.0)), [False] * 3)

    def test_or_if_it_is_all_that_was_asked_for(self):
        self.assertEqual(self.verified(beside=(5.0,) * 3, flood=(1000.0,) * 3), [True] * 3)
        self.assertEqual(self.verified(beside=(4.4,) * 3, flood=(1000.0,) * 3), [False] * 3)

    def test_a_row_is_no_success_without_a_flood_or_with_a_loop_that_lacked_nothing_or_with_wrong_results(self):
        kept = {"beside": (5.0,) * 3}
        for wrong in ({"flood": (0.0,) * 3}, {"shares_had": (0.1, 0.3)}, {"exact": False}):
            self.assertFalse(any(self.verified(**kept, **wrong)), wrong)

    def test_floods_are_of_other_traffic_than_what_is_measured(self):
        jobs, frames, slow = shares.cases(self.MOST)
        self.assertEqual((jobs.alone, jobs.beside[:2]), ([], ["--l2", shares.FLOOD_PPS]))
        ports = [word for word in jobs.beside if str(word).startswith("p")]
        self.assertEqual(ports, ["p8", "p9"], "where no worker is")
        # Two of ten queues have a quarter of what eight have: of what all have, and of that half.
        self.assertEqual(frames.alone[:2], ["--l2", int(self.MOST / 4 * 0.8 * 0.5)])
        self.assertEqual((frames.alone, frames.plain), (frames.beside, True))
        self.assertEqual(slow.beside, ["--job-rate", "2:125000"])
        self.assertEqual(slow.alone, ["--job", 2, *slow.beside])

    def test_of_jobs_goodput_of_frames_those_that_came(self):
        report = {"l2": {"received": 9000, "received_per_s": 2000.0, "damaged": 0},
                  "total": {"goodput_gbytes_per_s": 0.5, "contributions_per_s": 5e5, "results_wrong": 0},
                  "jobs": [{"id": 1, "goodput_gbytes_per_s": 0.4}, {"id": 2, "goodput_gbytes_per_s": 0.1}]}
        jobs, frames, slow = shares.cases(self.MOST)
        self.assertEqual((jobs.figure(report), jobs.flood(report)), (500, 2.0))
        self.assertEqual((frames.figure(report), frames.flood(report)), (2.0, 500))
        self.assertEqual(slow.figure(report), 0.1)
        self.assertAlmostEqual(slow.flood(report), 0.4)
        self.assertTrue(shares.right(report))
        report["l2"]["damaged"] = 1
        self.assertFalse(shares.right(report))


class Bench(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.build = pathlib.Path(self.scratch.name)
        (self.build / "bin").mkdir()

    def suite(self, rows, status=0, name="reduce_bench"):
        """A binary that prints these rows (dictionaries or raw text)."""
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path = self.build / "bin" / name
        path.write_text("#!/bin/sh\necho \"$@\" >&2\ncat <<'END'\n" + "\n".join(lines)
                        + f"\nEND\nexit {status}\n")
        path.chmod(0o755)

    def bench(self, *arguments):
        return subprocess.run([TOP / "tools/bench", "--build-dir", self.build, *arguments],
                              capture_output=True, text=True, check=False, timeout=60)

    def test_writes_rows_and_table(self):
        self.suite([ROW, dict(ROW, case="other", reference="", reference_value=0, ratio=0)])
        md, js = self.build / "t.md", self.build / "t.json"
        done = self.bench("reduce", "--quick", "--json", js, "--md", md)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(js.read_text())[0], ROW)
        self.assertEqual(len(json.loads(js.read_text())), 2)
        self.assertEqual(md.read_text(), done.stdout)
        header, rule, first, second = done.stdout.splitlines()
        self.assertEqual(header.count("|"), rule.count("|"))
        self.assertIn("| 15.00 GB/s | 14.00..16.00 | memcpy 12.00 | 1.25 ", first)
        self.assertIn("| - ", second)
        self.assertIn("--json --quick", done.stderr)

    def test_unverified_row_fails(self):
        self.suite([dict(ROW, verified=False)])
        done = self.bench("reduce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOT VERIFIED: reduce: int32 sum, 1 KiB", done.stderr)
        self.assertIn("| NO ", done.stdout)

    def test_what_was_not_measured_is_shown_and_fails_nothing(self):
        self.suite([ROW, dict(ROW, metric="Gloo's: not measured: no network", runs=0, verified=False)])
        done = self.bench("reduce")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not measured: no network | - ", done.stdout)
        self.assertIn("not measured: no network", done.stderr)

    def test_failing_suite_fails_but_its_rows_stay(self):
        self.suite([ROW], status=3)
        done = self.bench("reduce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit status 3", done.stderr)
        self.assertIn("int32 sum", done.stdout)

    def test_refuses_rows_of_another_form(self):
        for wrong in ("no json", {k: v for k, v in ROW.items() if k != "runs"},
                      dict(ROW, suite="checksum")):
            self.suite([wrong])
            self.assertEqual(self.bench("reduce").returncode, 1, wrong)

    def test_no_rows_fail(self):
        self.suite([])
        self.assertEqual(self.bench("reduce").returncode, 1)

    def test_missing_binary_says_what_to_build(self):
        done = self.bench("reduce")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cmake --build --preset release", done.stderr)

    def test_unknown_suite_names_the_known(self):
        done = self.bench("nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("reduce, engine, checksum, allreduce, mpi, torch, ring, rdma, host, forward, switch, "
                      "isolation, stragglers, storms, telemetry, task, names, manager, placement, pool, rejoin, simulation",
                      done.stderr)

    def test_lists_suites(self):
        done = self.bench("--list")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines()],
                         ["reduce", "engine", "checksum", "allreduce", "mpi", "torch", "ring", "rdma", "host", "forward", "switch",
                          "isolation", "stragglers", "storms", "telemetry", "task", "names", "manager", "placement", "pool", "rejoin",
                          "simulation"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
