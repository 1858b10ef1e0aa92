"""Settings in the environment: address, jobs, thresholds, degraded results. Pure functions of text."""

import re

# (least, most) bytes between which the switch is faster than Gloo, by the scheme of rank 0's address;
# tools/bench torch measures them and docs/torch.md shows the curve. A barrier has 0 bytes.
NEVER = 2**64 - 1
ALWAYS = (0, NEVER)
COLLECTIVES = ("allreduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "barrier")
_NOTHING = (NEVER, NEVER)
DEFAULT_THRESHOLDS = {
    "memif": {
        "allreduce": ALWAYS,
        "reduce": (0, 512 << 10),
        "broadcast": _NOTHING,
        "all_gather": (0, 128 << 10),
        "reduce_scatter": ALWAYS,  # Gloo has none
        "barrier": ALWAYS,
    },
    "udp": {
        "allreduce": (0, 512 << 10),
        "reduce": (0, 384 << 10),
        "broadcast": (0, 8 << 10),
        "all_gather": (0, 96 << 10),
        "reduce_scatter": ALWAYS,
        "barrier": ALWAYS,
    },
}
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_MOST_JOB = 2**32 - 1
_MOST_JOBS = 1024


def parse_jobs(text):
    """[(job, size of groups that may have it, or None)] of "1", "1-4,7/2"."""
    found = []
    for entry in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?(?:/(\d+))?\s*", entry)
        if match is None:
            raise ValueError(
                f"TRIBUTARY_JOB: '{entry.strip()}' in '{text}' is no job; allowed are a number, a "
                "range such as 1-4, and either with /SIZE, for groups of that many ranks alone"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last <= _MOST_JOB or last - first >= _MOST_JOBS:
            raise ValueError(
                f"TRIBUTARY_JOB: '{entry.strip()}': jobs are 0 to {_MOST_JOB}, in ascending ranges "
                f"of at most {_MOST_JOBS}"
            )
        found += [(job, int(match[3]) if match[3] else None) for job in range(first, last + 1)]
    return found


def default_thresholds(address):
    """Thresholds for an address's scheme. An unknown scheme is refused when a rank joins."""
    return dict(DEFAULT_THRESHOLDS.get(address.partition(":")[0], DEFAULT_THRESHOLDS["udp"]))


def parse_thresholds(text, defaults):
    """The defaults, changed by text such as "allreduce=64K-4M,all_gather=1K,broadcast=never"."""
    thresholds = dict(defaults)
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = entry.partition("=")
        if name not in thresholds:
            raise ValueError(
                f"TRIBUTARY_TORCH_THRESHOLDS: '{name}' is no collective; allowed are "
                + ", ".join(thresholds)
            )
        match = re.fullmatch(r"(\d+)([KMG]?)(?:-(\d+)([KMG]?))?", value)
        if value == "never":
            thresholds[name] = _NOTHING
            continue
        least = most = NEVER
        if match is not None:
            least = int(match[1]) * _UNITS[match[2]]
            most = int(match[3]) * _UNITS[match[4]] if match[3] else NEVER
        if not least <= most <= NEVER or least == NEVER:
            raise ValueError(
                f"TRIBUTARY_TORCH_THRESHOLDS: '{entry}': allowed are bytes, such as 4096, 64K or "
                "1M, a range of them, such as 64K-4M, and never"
            )
        thresholds[name] = (least, most)
    return thresholds


def parse_degraded(text):
    """The treatment of results that lack late ranks: "error" or "scale"."""
    if text in ("", "error"):
        return "error"
    if text == "scale":
        return "scale"
    raise ValueError(f"TRIBUTARY_TORCH_DEGRADED is '{text}'; allowed are error and scale")


def fill(template, variable, places):
    """A variable's text with {rank}, {local_rank} and the other names of `places` replaced."""

    def value(match):
        if match[1] not in places:
            raise ValueError(
                f"{variable}: {match[0]} in '{template}' is unknown; allowed are "
                + ", ".join("{" + name + "}" for name in places)
            )
        return str(places[match[1]])

    return re.sub(r"\{(\w*)\}", value, template)


def parse_flag(name, text):
    if text in ("", "0"):
        return False
    if text == "1":
        return True
    raise ValueError(f"{name} is '{text}'; allowed are 0 and 1")
