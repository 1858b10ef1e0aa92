"""What a run against one daemon has: a folder, processes, honest clients, attacks; and its judgement."""

import contextlib
import json
import re
import tempfile
import time
from pathlib import Path

from daemon import Daemon, Failed

_STALLED_S = 30
_SETTLE_S = 60  # silent connections end by the daemons' own patience
_TURN_S = 0.5


class Tenant:
    """An honest client in a process of its own, which prints how much it has verified as JSON lines.

    `may_fail`: of what it asks for, some may fail, as long as nothing is wrong.
    """

    def __init__(self, name, may_fail):
        self.name, self.process = name, None
        self.done = self.failed = 0
        self.began = False
        self._may_fail = may_fail
        self.last_progress = time.monotonic()

    def line(self, _process, text):
        if not text.startswith("{"):
            return
        said = json.loads(text)
        self.began = True
        self.failed = said.get("failed", 0)
        if said["done"] > self.done or self._may_fail:
            self.done, self.last_progress = said["done"], time.monotonic()

    def check(self):
        if not self.process.running:
            raise Failed(f"honest client: {self.process.describe()}")
        if self.failed and not self._may_fail:
            raise Failed(f"honest client {self.name}: {self.failed} failures\n{self.process.describe()}")
        if time.monotonic() > self.last_progress + _STALLED_S:
            raise Failed(f"honest client {self.name} has had no answer for {_STALLED_S} s\n{self.process.describe()}")


class Bed:
    """A context manager. `build`: of the daemons; `tools`: of honest clients, which are no sanitized ones."""

    def __init__(self, loop, build, tools, seed, rate):
        self.loop, self.build, self.tools, self.seed, self.rate = loop, build, tools, seed, rate
        self.daemons, self.tenants, self.attacks, self.facts, self.checks = [], [], [], [], []
        self._victims = []
        self.liars = []  # with pause() and resume(), beside the attacks
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tributary-hostile-")))
        return self

    def __exit__(self, *exception):
        for attack in self.attacks:
            attack.stop()
        return self._stack.__exit__(*exception)

    def enter(self, context):
        return self._stack.enter_context(context)

    def daemon(self, name, command, ready, **options):
        self.daemons.append(Daemon(self, name, command, ready, **options))
        return self.daemons[-1]

    def tenant(self, name, start, may_fail=False):
        """`start(on_line)` makes the process."""
        made = Tenant(name, may_fail)
        made.process = self.enter(start(made.line))
        self.tenants.append(made)
        return made

    def victim(self, name, command, may_fail, **options):
        """A client that is judged as daemons are, and checks what it gets; `tenant` says more."""
        watch = Tenant(name, may_fail)
        made = self.daemon(name, command, "^{", on_line=watch.line, **options)
        watch.process = made.process
        self._victims.append(watch)
        return made

    def attack(self, made):
        self.attacks.append(made)
        made.start()

    def look(self):
        """One turn of the loop, and all that must hold at any time."""
        self.loop.turn(_TURN_S)
        for daemon in self.daemons:
            daemon.sample()
        for tenant in (*self.tenants, *self._victims):
            tenant.check()
        for check in self.checks:
            check()
        for attack in self.attacks:
            if attack.problem is not None:
                raise attack.problem

    def wait_for_clients(self):
        """Until each of them has had an answer."""
        while not all(client.began for client in (*self.tenants, *self._victims)):
            self.look()

    def watch(self, seconds):
        """Goodput of each honest client, a second, over that time."""
        begin, counts = time.monotonic(), [tenant.done for tenant in self.tenants]
        while time.monotonic() < begin + seconds:
            self.look()
        took = time.monotonic() - begin
        return [(tenant.done - count) / took for tenant, count in zip(self.tenants, counts)]

    def settle(self):
        """Without attacks, what a daemon held for them goes."""
        end = time.monotonic() + _SETTLE_S
        while not all(daemon.quiet_again() for daemon in self.daemons):
            if time.monotonic() > end:
                raise Failed("held after the attack: " + "; ".join(d.report() + f", now {d.usage()}" for d in self.daemons))
            self.look()

    def set_hostile(self, hostile):
        for each in (*self.attacks, *self.liars):
            each.resume() if hostile else each.pause()

    def end_tenants(self):
        for tenant in self.tenants:
            tenant.process.stop()
        self.tenants.clear()

    def last_messages(self):
        return "\n".join(f"{attack.name}: {line}" for attack in self.attacks for line in attack.last)


def metric(text, name):
    """The sum of a family's values, whatever their labels."""
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))
