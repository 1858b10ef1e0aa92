"""A shell for the pages of docs/ and README.md, whose commands a test types.

As root it gets a network and a folder in /tmp of its own, so that nothing else on the machine can
disturb it, and nothing is left of it.
"""
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEP_LIMIT_S = 120


def isolated(folder):
    # The shell is the first process of its namespace: when it ends, all that it started ends.
    return ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
            "--", "bash", "-c",
            f"ip link set lo up && mkdir -p {folder} && mount -t tmpfs none {folder} && "
            "exec bash --norc -s"]


class Shell:
    """One bash that is given a command at a time, as a person would."""

    MARK = "tributary-docs-step-done"

    def __init__(self, folder):
        command = isolated(folder) if os.geteuid() == 0 else ["bash", "--norc", "-s"]
        # DPDK's run directory has the process's number, which another namespace has, too.
        environment = {**os.environ, "RUNTIME_DIRECTORY": folder}
        # Unbuffered, a line and its end are two writes, between which another rank's may come.
        environment.pop("PYTHONUNBUFFERED", None)
        self._shell = subprocess.Popen(command, cwd=TOP, stdin=subprocess.PIPE, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env=environment)

    def run(self, command):
        """(exit status, output)"""
        # Programs that read their input, as mpirun does, would take the commands that follow.
        self._shell.stdin.write(f"{{\n{command}\n}} < /dev/null\nprintf '\\n%s %d\\n' {self.MARK} $?\n")
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
