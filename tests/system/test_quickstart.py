"""tools/quickstart as a newcomer runs it, and as an impatient one interrupts it.

It runs in a network namespace and a temporary directory of the test's own, so that whatever it
left behind would be found there.
"""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from testbed.namespace import Namespace
from testbed.process import Process
from testbed.tree import TOP, build_directory

LIMIT_S = 100


class Quickstart:
    def __init__(self, loop, directory, arguments, user=None):
        self.namespace = Namespace()
        self.directory = directory
        directory.chmod(0o777)
        self._log = directory.parent / "quickstart.log"
        self.process = Process(
            loop,
            "quickstart",
            [TOP / "tools/quickstart", "--skip-install", *arguments],
            self._log,
            namespace=self.namespace,
            user=user,
            env={"TMPDIR": str(directory), "TRIBUTARY_BUILD": str(build_directory())},
        )

    def processes(self):
        """Pids, besides its own, of what it started: their environment names the directory."""
        needle, found = f"TMPDIR={self.directory}".encode(), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            try:
                if needle in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass  # ended meanwhile
        return found

    def assert_nothing_left(self):
        assert self.processes() == []
        assert sorted(self.directory.iterdir()) == []
        links = self.namespace.run(["ip", "-brief", "link"]).splitlines()
        assert [link.split()[0] for link in links] == ["lo"]


@pytest.fixture
def quickstart(loop):
    # None of pytest's directories: their paths may be too long for Unix sockets, and each pytest
    # that starts takes the others' rights to them away from all users but its own.
    started = []

    def start(*arguments, user=None):
        parent = Path(tempfile.mkdtemp(prefix="q"))
        parent.chmod(0o755)
        directory = parent / "tmp"
        directory.mkdir()
        started.append(Quickstart(loop, directory, arguments, user))
        return started[-1]

    yield start
    for run in started:
        run.process.stop()
        run.namespace.close()
        shutil.rmtree(run.directory.parent)


@pytest.mark.parametrize("ports, user", [("veth", None), ("memif", "nobody")])
def test_trains_and_agrees_with_one_process(quickstart, ports, user):
    run = quickstart("--skip-build", "--quick", "--ports", ports, user=user)
    assert run.process.wait_exit(LIMIT_S) == 0, run.process.describe() + run.process.text()
    text = run.process.text()
    for words in ("trainings agree", "one SHA-256 on all 4", "within 0.5", "chunks aggregated"):
        assert words in text, text
    assert "DIFFERS" not in text
    run.assert_nothing_left()


@pytest.mark.parametrize("ports", ["veth", "memif"])
def test_l2_trains_from_a_memory_pool_with_the_bits_of_files(quickstart, ports):
    """L2: a node beside each worker; batches come out of their memory, over the switch with veth."""
    run = quickstart("--skip-build", "--quick", "--pool", "--ports", ports)
    assert run.process.wait_exit(2 * LIMIT_S) == 0, run.process.describe() + run.process.text()
    text = run.process.text()
    for words in ("pool       filled, 4 nodes", "trainings agree", "from the pool", "(from files)"):
        assert words in text, text
    assert "DIFFERS" not in text
    run.assert_nothing_left()


def test_a_pytorch_script_trains_as_with_gloo(quickstart):
    """DDP over kernel UDP: the same loss, and the same bits on all ranks."""
    run = quickstart("--skip-build", "--quick", "--torch")
    assert run.process.wait_exit(2 * LIMIT_S) == 0, run.process.describe() + run.process.text()
    text = run.process.text()
    for words in ("trainings agree", "one SHA-256 on all 4", "loss with Gloo", "at least one per step"):
        assert words in text, text
    assert "DIFFERS" not in text
    run.assert_nothing_left()


def test_says_which_right_is_missing_and_offers_memif(quickstart):
    run = quickstart("--skip-build", "--quick", user="nobody")
    assert run.process.wait_exit(LIMIT_S) == 2
    words = "\n".join(run.process.stderr)
    assert "CAP_NET_ADMIN" in words and "--ports memif" in words
    run.assert_nothing_left()


PHASES = {
    "switch-ready": "^switch +ready",
    "training": "^workers .* joined",
    "after-first-epoch": "^ +1/",
    "reference": "^one process, no network",
}


@pytest.mark.parametrize("ports", ["veth", "memif"])
@pytest.mark.parametrize("phase", PHASES)
def test_interrupt_leaves_nothing(quickstart, ports, phase):
    run = quickstart("--skip-build", "--ports", ports, "--epochs", "2")
    run.process.wait_line(PHASES[phase], LIMIT_S)
    run.process.signal(signal.SIGINT)
    assert run.process.wait_exit(LIMIT_S) == 128 + signal.SIGINT, run.process.describe()
    run.assert_nothing_left()


@pytest.mark.skipif("TRIBUTARY_BUILD" in os.environ and not os.environ["TRIBUTARY_BUILD"].endswith(
    "build/release"), reason="the quickstart builds build/release only")
def test_interrupt_while_building_leaves_nothing(quickstart):
    run = quickstart("--quick")
    run.process.wait_line("^build ", LIMIT_S)
    run.process.signal(signal.SIGTERM)
    assert run.process.wait_exit(LIMIT_S) == 128 + signal.SIGTERM, run.process.describe()
    run.assert_nothing_left()


def test_killed_run_leaves_only_what_clean_removes(quickstart, loop):
    run = quickstart("--skip-build", "--epochs", "5")
    run.process.wait_line(PHASES["training"], LIMIT_S)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait_exit(LIMIT_S)
    loop.wait(lambda: run.processes() == [], 30, "the kernel ends what the dead run started")
    assert len(list(run.directory.iterdir())) == 1
    clean = Process(
        loop,
        "clean",
        [TOP / "tools/testbed", "clean"],
        run.directory.parent / "clean.log",
        env={"TMPDIR": str(run.directory), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    with clean:
        clean.check_exit(30)
    run.assert_nothing_left()
