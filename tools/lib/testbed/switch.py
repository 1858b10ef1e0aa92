"""tributary-switchd under test: its configuration, its start, and what it says of itself."""

import json
from dataclasses import dataclass

import yaml

from .fabric import SWITCH_ADDRESS
from .process import Process
from .tree import binary


@dataclass(frozen=True)
class Job:
    """One entry of `jobs`; `options` adds or replaces keys of the configuration."""

    id: int
    workers: int
    options: tuple = ()  # pairs


def configuration(run, ports, jobs, metrics=None, port_options=(), sections=None, **switch_options):
    """The whole file as a dictionary; docs/configuration.md describes the keys.

    `port_options` are more keys of the first ports, `sections` more keys of the file.
    """
    config = {
        "switch": {
            "name": "testbed",
            "address": SWITCH_ADDRESS,
            "memory": {"hugepages": False, "megabytes": 512},
            **switch_options,
        },
        "ports": [{"name": p.name, "devargs": p.devargs, "mtu": p.mtu} for p in ports],
        "jobs": [
            {
                "id": job.id,
                "name": f"job{job.id}",
                "workers": job.workers,
                "chunk_bytes": 8192,
                "window": 64,
                **dict(job.options),
            }
            for job in jobs
        ],
        "control": {"socket": str(run / "switchd.sock")},
        **(sections or {}),
    }
    for port, options in zip(config["ports"], port_options):
        port.update(options)
    if metrics is not None:
        config["metrics"] = {"listen": metrics}
    return config


class Switch:
    """A context manager; ready, that is: forwarding, when entered."""

    def __init__(self, build, loop, run, fabric, config, user=None):
        self._build, self._loop, self._run = build, loop, run
        self._fabric, self._config, self._user = fabric, config, user
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def socket(self):
        return self._run / "switchd.sock"

    def start(self):
        file = self._run / "switchd.yaml"
        file.write_text(yaml.safe_dump(self._config, sort_keys=False))
        self.process = Process(
            self._loop,
            "tributary-switchd",
            [binary(self._build, "tributary-switchd"), "--config", file,
             "--overrides", self._run / "switchd.overrides"],
            self._run / "switchd.log",
            namespace=self._fabric.switch_namespace,
            user=self._user,
            env={"RUNTIME_DIRECTORY": str(self._run.path)},
        )
        try:
            self.process.wait_line(r"\bready\b", 60)
        except BaseException:
            self.process.stop()
            raise

    def stop(self):
        if self.process is not None:
            self.process.stop()

    def show(self, what):
        """The parsed output of `tributary show WHAT --json`."""
        return json.loads(self.client("show", what, "--json", "--socket", self.socket))

    def client(self, *arguments):
        """Standard output of the client, run where the switch runs."""
        with Process(
            self._loop,
            f"tributary {arguments[0]}",
            [binary(self._build, "tributary"), *arguments],
            self._run / "client.log",
            namespace=self._fabric.switch_namespace,
            user=self._user,
        ) as process:
            return process.check_exit(30).text()
