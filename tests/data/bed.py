"""A pool on this machine: its file, its nodes as processes, and what operators type."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/lib"))

from testbed.free_port import free_port  # noqa: E402  (needs the path above)

BUILD = Path(os.environ["TRIBUTARY_BUILD"])


def package():
    """The folder that holds the Python package, found by sys.path from now on."""
    folder = BUILD / "python" if (BUILD / "python").exists() else BUILD / "worker/python"
    sys.path.insert(0, str(folder))
    import tributary

    if not hasattr(tributary, "__path__"):  # a single extension module: its folder stands beside it
        tributary.__path__ = [str(folder / "tributary")]
    return folder


def program(name):
    """CMake's build has all programs in bin/, meson's each beside its sources."""
    for folder in ("bin", "tools", "examples"):
        if (BUILD / folder / name).exists():
            return str(BUILD / folder / name)
    raise FileNotFoundError(f"{BUILD}: no {name}; build it first")


class PoolBed:
    """Nodes `a`, `b`, ...; memory files are in /dev/shm and removed by close()."""

    def __init__(self, folder, store, nodes=2, megabytes=64, replicas=0, dataset="", extra="",
                 transport="auto", env=None, host="127.0.0.1", prefix=()):
        """host: address of the nodes. prefix: command words before each program's."""
        self.folder = Path(folder)
        self.config = self.folder / "pool.yaml"
        self.names = [chr(ord("a") + n) for n in range(nodes)]
        self.memory = tempfile.mkdtemp(prefix="tributary-pool-", dir="/dev/shm")
        self.env = {**os.environ, **(env or {})}
        self.prefix = prefix
        self.processes = {}
        lines = "".join(
            f'    - {{name: {name}, address: "{host}:{free_port()}", '
            f"memory: {self.memory}/{name}, megabytes: {megabytes}}}\n" for name in self.names
        )
        self.config.write_text(
            f"pool:\n  name: test\n  transport: {transport}\n  replicas: {replicas}\n  nodes:\n{lines}"
            f"  dataset:\n    store: \"{store}\"\n    manifest: {self.folder}/manifest\n{dataset}"
            f"  prefetch: {{retries: 2, backoff: 1ms, backoff_max: 10ms, stall_timeout: 3s}}\n{extra}"
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        for name in self.names:
            Path(self.memory, name).unlink(missing_ok=True)
            Path(self.memory, name + ".sock").unlink(missing_ok=True)  # of a process that was killed
        os.rmdir(self.memory)

    def command(self, *words, check=True):
        done = subprocess.run([*self.prefix, program("tributary"), "pool", *words, "--config", self.config],
                              capture_output=True, text=True, timeout=120, env=self.env, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done

    def start(self, *names, log=os.devnull, errors=None, options=()):
        """log, errors: the files of what they print, and of their logs, which else are the test's."""
        for name in names or self.names:
            reading, writing = os.pipe()
            with open(log, "a", encoding="utf-8") as output, open(errors or os.devnull, "a", encoding="utf-8") as lines:
                self.processes[name] = subprocess.Popen(
                    [*self.prefix, program("tributary-poold"), "--config", self.config, "--node", name,
                     "--ready-fd", str(writing), *options],
                    pass_fds=[writing], stdout=output, stderr=lines if errors else None, env=self.env)
            os.close(writing)
            with os.fdopen(reading) as pipe:
                assert pipe.readline() == "ready\n", f"node {name} does not start"

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()

    def ready(self):
        """Manifest, nodes, records: all there is."""
        self.command("fill", "--manifest")
        self.start()
        self.command("fill")
        return self

    def status(self):
        return {row["node"]: row for row in json.loads(self.command("status", "--json", check=False).stdout)}
