"""Output of the quickstart, and whether the two trainings agree."""

from dataclasses import dataclass

ACCURACY_TOLERANCE = 0.5  # percentage points


@dataclass(frozen=True)
class Check:
    name: str
    value: str
    reference: str
    ok: bool


class EpochTable:
    """One row per epoch, as they come."""

    def __init__(self, title):
        self._title = title

    def event(self, kind, event):
        if kind != "epoch":
            return
        if event["epoch"] == 1:
            print(f"{self._title}\n  epoch     loss  test accuracy  steps/s  algbw", flush=True)
        algbw = f"{event['algbw'] / 1e9:.3f} GB/s" if event["algbw"] else "-"
        print(
            f"  {event['epoch']:>2}/{event['epochs']:<3} {event['loss']:>8.4f}"
            f"  {event['accuracy']:>11.2f} %  {event['steps_per_second']:>7.1f}  {algbw}",
            flush=True,
        )


def compare_bits(name, report, reference):
    """One process against another: the same parameters, bit for bit."""
    return Check(name, report["sha256"][:12], f"{reference['sha256'][:12]} (from files)",
                 report["sha256"] == reference["sha256"])


def compare(reports, reference, shown):
    """The checks that decide the exit status."""
    accuracy = reports[0]["accuracy"]
    difference = abs(accuracy - reference["accuracy"])
    hashes = sorted({report["sha256"] for report in reports})
    steps = sorted({report["steps"] for report in reports})
    summed = shown["jobs"][0]["completions"]
    return [
        Check(
            "test accuracy",
            f"{accuracy:.2f} %",
            f"{reference['accuracy']:.2f} % (within {ACCURACY_TOLERANCE})",
            difference <= ACCURACY_TOLERANCE,
        ),
        Check(
            "workers' parameters",
            " ".join(digest[:12] for digest in hashes),
            f"one SHA-256 on all {len(reports)}",
            len(hashes) == 1,
        ),
        Check(
            "steps",
            " ".join(map(str, steps)),
            str(reference["steps"]),
            steps == [reference["steps"]],
        ),
        Check(
            "chunks summed by the switch",
            str(summed),
            "at least one per step",
            summed >= reference["steps"],
        ),
    ]


def print_switch(shown):
    """Table of the switch's work for the workers, and of its drops."""
    job = shown["jobs"][0]
    rows = [
        ("chunks aggregated", str(job["completions"]), f"of {job['contributions']} contributions"),
        ("slots used", str(job["slots_high_water"]), "at most at once"),
        ("probes", str(job["probes"]), "workers asking for a late result"),
        ("resends", str(job["resends"]), "contributions sent again"),
        ("results resent", str(job["results_resent"]), "answers from kept results"),
        ("duplicates", str(job["duplicates"]), "contributions not counted twice"),
    ]
    for drop in shown["drops"]:
        where = f"port {drop['port']}: {drop['meaning']}"
        rows.append((f"drop {drop['reason']}", str(drop["packets"]), where))
    if not shown["drops"]:
        rows.append(("drops", "0", ""))
    print_table("what the switch did", rows)


def print_table(title, rows):
    """Rows of equal length as left-aligned columns."""
    print(title)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def print_checks(checks):
    rows = [("", "through the switch", "expected", "")]
    rows += [(c.name, c.value, c.reference, "ok" if c.ok else "DIFFERS") for c in checks]
    print_table("comparison with one process", rows)
