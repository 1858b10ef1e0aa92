"""The packages by Debian's own judge, and on a Debian that has nothing else."""

import re
import shlex
import sys

from bare import TOP, run

sys.path.insert(0, str(TOP / "tests/docs"))
import tour  # noqa: E402

# The project has no address for mail; CPack calls ldconfig, beside the trigger; tests/system/test_units.py
# has systemd run the units as the scripts ask for it.
NOT_OURS = ("bogus-mail-host", "bogus-mail-host-in-debian-changelog", "maintscript-calls-ldconfig",
            "maintainer-script-calls-systemctl")


def test_lintian_finds_nothing(packages):
    said = run("lintian", "--fail-on", "none", "--display-level", ">=warning", "--tag-display-limit", "0",
               "--suppress-tags", ",".join(NOT_OURS), "--allow-root", *sorted(packages.glob("*.deb")))
    found = [line for line in said.splitlines() if re.match(r"[EW]: ", line)]
    assert not found, "\n".join(found)


def from_packages(command):
    """Whether the guide's command is for those who have the packages, too."""
    return not re.match(r"export |cmake --install", command) or "TRIBUTARY_ADDRESS" in command


def test_the_guides_programs_build_and_run_on_a_bare_debian(bare):
    """C, C++ and Python, as typed, with what the packages have installed and nothing of the tree."""
    steps = tour.steps((TOP / "docs/guides/library.md").read_text(encoding="utf-8"))
    typed = [step for step in steps if from_packages(step.command)]
    assert len(typed) > 15
    script = "exec 2>&1\nset -o pipefail\nexport RUNTIME_DIRECTORY=/tmp\n"
    for number, step in enumerate(typed):
        script += f"{step.command}\nstatus=$?; echo; echo step-{number} $status\n"
    said = bare.run(script)
    for number, step in enumerate(typed):
        output, _, said = said.partition(f"step-{number} ")
        status, _, said = said.partition("\n")
        assert status == "0", f"{step.command}\n{output}"
        assert tour.matches(step.output, output), f"{step.command}\nprints\n{output}"


def test_documents_and_reference_are_there(bare):
    for path in ("docs/README.md", "reference/c/index.html", "reference/python/tributary.html"):
        bare.run(f"test -s {shlex.quote('/usr/share/doc/tributary/' + path)}")
