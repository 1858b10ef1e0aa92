"""README.md is true: its tour runs as typed and prints what it shows.

Run by ctest with the build directory of the tour in TRIBUTARY_BUILD. As root the tour gets a
network and a folder in /tmp of its own, so that nothing else on the machine can disturb it.
"""
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import tour  # noqa: E402

# Run by ctest or by the build server: tests/system/test_quickstart.py and .ci/run.
ELSEWHERE = {"tools/quickstart", "tools/check"}
BUILD_COMMAND = "cmake --preset release && cmake --build --preset release"
STEP_LIMIT_S = 120
FOLDER = "/tmp/tributary-tour"
# The shell is the first process of its namespace: when it ends, all that it started ends.
ISOLATED = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
            "--", "bash", "-c",
            f"ip link set lo up && mkdir -p {FOLDER} && mount -t tmpfs none {FOLDER} && "
            "exec bash --norc -s"]


def readme():
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        return f.read()


class Shell:
    """One bash that is given a command at a time, as a person would."""

    MARK = "tributary-readme-step-done"

    def __init__(self):
        command = ISOLATED if os.geteuid() == 0 else ["bash", "--norc", "-s"]
        # DPDK's run directory has the process's number, which another namespace has, too.
        environment = {**os.environ, "RUNTIME_DIRECTORY": FOLDER}
        # Unbuffered, a line and its end are two writes, between which another rank's may come.
        environment.pop("PYTHONUNBUFFERED", None)
        self._shell = subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env=environment)

    def run(self, command):
        """(exit status, output)"""
        self._shell.stdin.write(f"{command}\necho; echo {self.MARK} $?\n")
        self._shell.stdin.flush()
        output = []
        for line in self._shell.stdout:
            if line.startswith(self.MARK):
                return int(line.split()[1]), "".join(output)
            output.append(line)
        raise AssertionError(f"the shell ended in: {command}\n" + "".join(output))

    def close(self):
        # What a failed step left running must not outlive the test.
        self._shell.stdin.write("kill -9 $(jobs -p) 2>/dev/null\n")
        self._shell.stdin.close()
        self._shell.wait(STEP_LIMIT_S)
        self._shell.stdout.close()


class Readme(unittest.TestCase):
    def test_commands_outside_the_tour_are_tested_elsewhere(self):
        text, _ = tour.section(readme(), "Two commands")
        self.assertEqual({step.command for step in tour.steps(text)}, ELSEWHERE)
        for command in ELSEWHERE:
            self.assertTrue(os.access(os.path.join(TOP, command), os.X_OK))

    def test_tour_runs_as_typed(self):
        text, line = tour.section(readme(), "Five-minute tour")
        steps = tour.steps(text, line)
        self.assertGreater(len(steps), 10)
        self.assertEqual(steps[0].command, BUILD_COMMAND, "the build directory is given, see below")
        shell = Shell()
        self.addCleanup(shell.close)
        for step in steps[1:]:
            with self.subTest(f"README.md:{step.line}"):
                # The build under test stands where the tour's own would.
                build = os.environ["TRIBUTARY_BUILD"]
                status, output = shell.run(step.command.replace("$PWD/build/release", build))
                self.assertEqual(status, 0, f"{step.command}\n{output}")
                self.assertTrue(tour.matches(step.output, output),
                                f"{step.command}\nprints\n{output}\nthe page shows\n" +
                                "\n".join(step.output))


class Tour(unittest.TestCase):
    PAGE = "## A\n```console\n$ cat <<E\n> x\n> E\nx\n$ true\n```\ntext\n## B\n"

    def test_steps(self):
        text, line = tour.section(self.PAGE, "A")
        self.assertEqual(tour.steps(text, line),
                         [tour.Step(3, "cat <<E\nx\nE", ["x"]), tour.Step(7, "true", [])])

    def test_matching(self):
        self.assertTrue(tour.matches(["a ... c", "..."], "a b c\nd\ne\n"))
        self.assertTrue(tour.matches([], "\n"))
        self.assertFalse(tour.matches([], "surprise\n"))
        self.assertFalse(tour.matches(["a"], "b\n"))


if __name__ == "__main__":
    unittest.main()
