"""The simulated switch against the real one: what links carry is equal to the byte."""

import json
import os
import subprocess

from testbed.tree import PYTHON, TOP


def test_links_carry_what_the_simulation_says(tmp_path):
    """Packets and tensor bytes, exactly; how op times compare is only reported."""
    with open(tmp_path / "rows", "w", encoding="utf-8") as rows:
        done = subprocess.run(
            [PYTHON, TOP / "bench/simulation", "--quick", "--json"],
            stdout=rows,
            stderr=subprocess.PIPE,
            text=True,
            timeout=200,
            check=False,
            env=dict(os.environ),
        )
    lines = [json.loads(line) for line in (tmp_path / "rows").read_text().splitlines()]
    for line in lines:
        print(f"{line['case']}: {line['metric']}: {line['value']}, "
              f"simulated {line['reference_value']}")
    assert done.returncode == 0, (done.stderr, [line for line in lines if not line["verified"]])
    exact = [line for line in lines if line["unit"] in ("packets", "bytes")]
    assert len(exact) == 8
    for line in exact:
        assert line["value"] == line["reference_value"] > 0, line
