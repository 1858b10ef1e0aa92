"""When a task's rounds have converged: a norm in fixed lanes, and the decision by its history.

Every member has the same bits of each round's sum, computes the same norm of them with the same
operations in the same order, and so comes to the same decision without a message. The norm is

    sqrt(sum of x² in float64), summed in 1,024 lanes: lane l adds x[l]², x[l + 1024]², … in that
    order; then the upper half of the lanes is added to the lower one, ten times.

All of it is element-wise, so that no library or CPU may regroup an addition.
"""

import math
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from .errors import NormError

LANES = 1024
MOST_ROUNDS = 1_000_000_000
MOST_HISTORY = 1000
_KEYS = ("most_rounds", "norm_below", "relative_change_below", "over_rounds")


def norm(array):
    """The Euclidean norm of all elements, as a Python float; see above for its bits."""
    flat = np.asarray(array).reshape(-1)
    lanes = np.zeros(LANES)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, LANES):
            part = flat[start : start + LANES].astype(np.float64)
            lanes[: part.size] += part * part
        width = LANES
        while width > 1:
            width //= 2
            lanes[:width] += lanes[width : 2 * width]
    return math.sqrt(lanes[0])


def checked_norm(array, number):
    """norm(array); NormError if it is not finite."""
    found = norm(array)
    if math.isfinite(found):
        return found
    flat = np.asarray(array).reshape(-1)
    for name, bad in (("NaN", np.isnan(flat)), ("infinite", np.isinf(flat))):
        if bad.any():
            raise NormError(
                f"round {number}: the norm of the sum is {found}: {np.count_nonzero(bad)} of "
                f"{flat.size} elements are {name}, the first is element {int(bad.argmax())}"
            )
    raise NormError(f"round {number}: the square of the sum's norm is beyond float64")


@dataclass(frozen=True)
class Criterion:
    """As a task states it.

    most_rounds: the last round, 0 to 1e9; 0: the task has none.
    norm_below: the norm of a round's sum, above 0; None: not looked at.
    relative_change_below: |norm - earlier| / earlier, above 0, where `earlier` is the norm
        over_rounds complete rounds before; None: not looked at."""

    most_rounds: int
    norm_below: Optional[float] = None
    relative_change_below: Optional[float] = None
    over_rounds: int = 1

    @staticmethod
    def of(stated):
        """Checks a dict; ValueError with the allowed values."""
        if not isinstance(stated, dict) or "most_rounds" not in stated:
            raise ValueError("criterion: most_rounds is missing; rounds without an end are not allowed")
        unknown = sorted(set(stated) - set(_KEYS))
        if unknown:
            raise ValueError(f"criterion: unknown key '{unknown[0]}'; allowed: {', '.join(_KEYS)}")
        _check_count("most_rounds", stated["most_rounds"], 0, MOST_ROUNDS)
        _check_count("over_rounds", stated.get("over_rounds", 1), 1, MOST_HISTORY)
        for name in ("norm_below", "relative_change_below"):
            _check_bound(name, stated.get(name))
        return Criterion(**stated)

    @property
    def needs_norm(self):
        """Whether the rounds may end by their sums."""
        return self.norm_below is not None or self.relative_change_below is not None

    def __str__(self):
        parts = [] if self.norm_below is None else [f"norm < {self.norm_below:g}"]
        if self.relative_change_below is not None:
            parts.append(f"change < {self.relative_change_below:g} over {self.over_rounds}")
        return " or ".join(parts) or "rounds"

    def stated(self):
        """The dict that of() takes."""
        return {name: getattr(self, name) for name in _KEYS if getattr(self, name) is not None}


def _check_count(name, value, least, most):
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"criterion: {name} is {value!r}; allowed are {least} to {most}")


def _check_bound(name, value):
    if value is None:
        return
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"criterion: {name} is {value!r}; allowed: a finite number above 0, or None")


@dataclass
class Progress:
    """Rounds so far. All members hold the same one.

    completed: rounds done. norms: of the last complete rounds, oldest first, as many as the
    criterion looks back. why: "" while it goes on, then "norm", "relative-change" or "rounds"."""

    criterion: Criterion
    completed: int = 0
    norms: list = field(default_factory=list)
    why: str = ""

    def __post_init__(self):
        if self.criterion.most_rounds == 0:
            self.why = "rounds"

    def add(self, total, degraded):
        """Counts a round and returns its norm, or None if the criterion looks at none.

        A degraded round never converges, and no later round is compared with it."""
        number = self.completed + 1
        wanted = total is not None and self.criterion.needs_norm
        found = checked_norm(total, number) if wanted else None
        self.completed = number
        if not degraded and found is not None:
            self.why = self._decide(found)
            self.norms = [*self.norms, found][-self.criterion.over_rounds :]
        if not self.why and number >= self.criterion.most_rounds:
            self.why = "rounds"
        return found

    @property
    def final(self):
        """No round follows."""
        return bool(self.why)

    @property
    def converged(self):
        """The criterion held; or it asks for a number of rounds alone, and they are done."""
        return self.final and (self.why != "rounds" or not self.criterion.needs_norm)

    def _decide(self, found):
        wanted = self.criterion
        if wanted.norm_below is not None and found < wanted.norm_below:
            return "norm"
        if wanted.relative_change_below is not None and len(self.norms) == wanted.over_rounds:
            before = self.norms[0]
            change = abs(found - before)
            # 0 after 0 is no change; 0 has no relative change otherwise.
            if change < wanted.relative_change_below * before or found == before == 0:
                return "relative-change"
        return ""

    def to_json(self):
        """A dict for of_json()."""
        return {"completed": self.completed, "norms": self.norms, "why": self.why}

    @staticmethod
    def of_json(criterion, found):
        """The inverse of to_json(); floats keep their bits. ValueError for what is none."""
        if not isinstance(found, dict) or found.get("why") not in ("", "norm", "relative-change", "rounds"):
            raise ValueError("progress: damaged")
        _check_count("completed", found.get("completed"), 0, MOST_ROUNDS)
        norms = found.get("norms")
        if not isinstance(norms, list) or not all(isinstance(one, float) for one in norms):
            raise ValueError("progress: damaged norms")
        return Progress(criterion, found["completed"], norms, found["why"])
