"""The whole testbed: run directory, fabric, switch and workers, made and unmade together."""

import contextlib
import os
import pwd

from .fabric import FABRICS
from .process import Process
from .run_directory import RunDirectory, sweep
from .switch import Job, Switch, configuration
from .tree import build_directory, module_directory


class Bed:
    """A context manager. `ports`: "veth" or "memif"; one port per worker.

    `more_ports` makes ports besides, a list, of the run directory.

    Entering sets up the fabric and starts the switch; start() then runs commands where the
    ranks' ports are.
    """

    def __init__(
        self, loop, ports, workers, jobs=None, impairment=None, user=None, metrics=None,
        more_ports=None, **options
    ):
        self.loop = loop
        self.build = build_directory()
        self.workers = workers
        self._ports = ports
        self._jobs = jobs if jobs is not None else [Job(1, workers)]
        self._impairment = impairment
        self._user = user
        self._metrics = metrics
        self._more_ports = more_ports
        self._options = options
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with self._stack as stack:
            sweep()
            self.run = stack.enter_context(RunDirectory())
            if self._user is not None:
                _give(self.run.path, self._user)
            self.fabric = stack.enter_context(
                FABRICS[self._ports](
                    self.build, self.loop, self.run, self.workers, self._impairment
                )
            )
            ports = list(self.fabric.ports)
            if self._more_ports is not None:
                ports += self._more_ports(self.run)
            config = configuration(
                self.run, ports, self._jobs, self._metrics, **self._options
            )
            self.switch = stack.enter_context(
                Switch(self.build, self.loop, self.run, self.fabric, config, self._user)
            )
            self.fabric.start_cables()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception):
        return self._stack.__exit__(*exception)

    def start(self, name, argv, rank=None, on_line=None, env=None, cwd=None):
        """A process at a rank's port (None: on the machine itself), stopped with the bed."""
        process = Process(
            self.loop,
            name,
            argv,
            self.run / f"{name}.log",
            namespace=None if rank is None else self.fabric.namespace(rank),
            user=self._user,
            env={
                "PYTHONPATH": str(module_directory(self.build)),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OPENBLAS_NUM_THREADS": "1",
                "RUNTIME_DIRECTORY": str(self.run.path),
                **(env or {}),
            },
            cwd=cwd,
            on_line=on_line,
        )
        self._stack.enter_context(process)
        return process

    def address(self, rank):
        return self.fabric.address(rank)


def _give(path, user):
    entry = pwd.getpwnam(user)
    os.chown(path, entry.pw_uid, entry.pw_gid)
