"""tools/remote-bench: what it packs measures where nothing of ours is installed, and leaves nothing there."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOLS = TOP / "tools" / "remote-bench"
BUILD = pathlib.Path(os.environ.get("TRIBUTARY_BUILD", TOP / "build" / "release"))
LIMIT_S = 300
# No network, and no folder of DPDK's drivers: it is to be made, and removed.
BARE = ["unshare", "--mount", "--net", "bash", "-euc"]
WITHOUT_DRIVERS = 'mount -t tmpfs none "$1"; ip link set lo up; shift; "$@"'


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, **options)


class RemoteBench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._scratch = tempfile.TemporaryDirectory(dir=BUILD)  # DPDK loads no drivers from below /tmp
        cls.folder = pathlib.Path(cls._scratch.name) / "bench"
        done = run(TOOLS / "pack", "--build", BUILD, cls.folder)
        assert done.returncode == 0, done.stderr
        cls.drivers = pathlib.Path((cls.folder / "drivers").read_text().splitlines()[0])

    @classmethod
    def tearDownClass(cls):
        cls._scratch.cleanup()

    def bare(self, script, *words):
        return run(*BARE, f"{WITHOUT_DRIVERS}; {script}", "bash", str(self.drivers.parent), *map(str, words),
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def test_measures_beside_gloo_and_leaves_nothing(self):
        left = f'ls -A "{self.drivers.parent}" /tmp | grep -e pmds -e tributary-bench || true'
        done = self.bare(left, self.folder / "run", "--quick", "--python", "/usr/bin/python3")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split("|") for line in done.stdout.splitlines() if line.startswith("| memif")]
        self.assertEqual([row[1].strip() for row in rows], ["memif, one lcore, 2 ranks"])
        self.assertTrue(all(float(figure) > 0 for figure in rows[0][2:-1]), done.stdout)
        if run("/usr/bin/python3", "-c", "import torch").returncode == 0:
            self.assertIn("| Gloo, 2 ranks |", done.stdout)
        self.assertNotIn("pmds", done.stdout)
        self.assertNotIn("tributary-bench", done.stdout)

    def test_a_rank_that_fails_leaves_nothing_running(self):
        with tempfile.TemporaryDirectory() as place:
            python = pathlib.Path(place) / "python"
            python.write_text("#!/bin/sh\ncase $1 in -c) exit 0 ;; esac\necho 'no store' >&2\nexit 1\n")
            python.chmod(0o755)
            done = self.bare("true", self.folder / "run", "--quick", "--python", python)
        self.assertEqual((done.returncode, "no store" in done.stderr), (1, True), done.stderr)
        left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if str(self.folder).encode() in path.read_bytes()]
        self.assertEqual(left, [])

    def test_an_older_machine_gets_the_c_library_that_came_along(self):
        loader = self.folder / "libc" / "ld-linux-x86-64.so.2"
        done = run(loader, "--library-path", f"{self.folder}/lib:{self.folder}/libc", self.folder / "bin" / "tributary",
                   "--version")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_says_what_is_wrong(self):
        for words, said in (
            (["--rank", "3"], "unknown argument '--rank'"),
            (["--ranks", "few"], '--ranks needs numbers, such as "8 4"'),
            (["--python", "/nowhere"], "--python needs a program"),
        ):
            done = run(self.folder / "run", *words)
            self.assertEqual((done.returncode, said in done.stderr), (2, True), done.stderr)
        with tempfile.TemporaryDirectory() as public:
            subprocess.run(["cp", "-r", self.folder, public], check=True)
            done = run(pathlib.Path(public) / "bench" / "run", "--quick")
            self.assertEqual((done.returncode, "every user may write to /tmp" in done.stderr), (1, True), done.stderr)
        done = run("setpriv", "--reuid", "65534", "--clear-groups", "bash", TOOLS / "run")
        self.assertEqual((done.returncode, "must be root" in done.stderr), (1, True), done.stderr)

    def test_packs_only_what_was_built(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run(TOOLS / "pack", "--build", empty, f"{empty}/bench")
            self.assertEqual((done.returncode, "build it first" in done.stderr), (1, True), done.stderr)
            kept = pathlib.Path(empty) / "thesis"
            kept.write_text("mine")
            done = run(TOOLS / "pack", "--build", BUILD, empty)
            self.assertEqual((done.returncode, "no folder that pack made" in done.stderr), (1, True), done.stderr)
            self.assertTrue(kept.exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
