"""Runs a tree of switches, its parameter servers and its workers on this machine.

  tools/testbed up examples/hpcc-12.yaml     switches, namespaces and cables, until `down`
  tools/testbed status
  tools/testbed run -- tributary allreduce --job 1 --size {size} --rank {rank} \\
                --address {address} --count 1000 --dtype int32
  tools/testbed kill S201                    kill -9; `start S201` brings it back
  tools/testbed show S250 stragglers         what a switch or server says of itself
  tools/testbed telemetry links              latency of each port; `up` with --telemetry
  tools/testbed manager job submit FILE      what `tributary` says to the manager; `up` with --manager
  tools/testbed delay w112 200ms --every 3   late in every third op from now on; `delay w112 off`
  tools/testbed delay A-R 5ms                the cable between these switches, both ways
  tools/testbed train                        a training with and without late workers, compared
  tools/testbed down                         leaves nothing behind

`run` starts the command once for every worker of the job, behind that worker's port. {worker},
{rank}, {size}, {job} and {address} in it, and TRIBUTARY_WORKER and so on in its environment, say
where it is. Exit status: 0 if all was well, 1 if something failed, 2 for a wrong call.
"""

import argparse
import json
import os
import select
import subprocess
import sys
from pathlib import Path

from . import keeper, late_training, rights, run_directory
from .delay import DelayError
from .keeper import KeeperError, ask
from .loop import Interrupted, Loop
from .namespace import NamespaceError
from .process import Process, ProcessFailed
from .report import print_table
from .run_directory import RunDirectory
from .topology import TopologyError
from .tree import binary, build_directory

_DAY_S = 86400
_DOWN_S = 120
_SHOW_S = 30


def main(arguments):
    options = _parse(arguments)
    try:
        return options.do(options)
    except Interrupted as interrupt:
        print(f"testbed: {interrupt}", file=sys.stderr)
        return 128 + interrupt.number
    except (
        DelayError, KeeperError, TopologyError, ProcessFailed, NamespaceError, TimeoutError, OSError
    ) as e:
        print(f"testbed: {e}", file=sys.stderr)
        return 1


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tools/testbed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--name",
        default=os.environ.get("TRIBUTARY_TESTBED", "default"),
        help="which testbed, where there are several (default: 'default', or TRIBUTARY_TESTBED)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name, do, text):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(do=do)
        return sub

    for name, do, text in (
        ("up", _up, "starts the switches and servers of a topology file"),
        ("keep", _keep, argparse.SUPPRESS),
    ):
        sub = add(name, do, text)
        sub.add_argument("file", type=Path)
        sub.add_argument("--ports", choices=("veth", "memif"), help="default: veth, if allowed")
        sub.add_argument(
            "--impair", default="", help='faults of every cable, e.g. "--drop 1%% --duplicate 1%%"'
        )
        sub.add_argument("--seed", type=int, default=1, help="seed of the faults of --impair")
        sub.add_argument("--telemetry", type=int, nargs="?", const=16, metavar="N",
                         help="in-band telemetry of one packet in N (default: 16), and its server")
        sub.add_argument("--manager", action="store_true",
                         help="a manager and its agent: jobs are submitted, and the file's are left out")
    status = add("status", _status, "list the running nodes, and where they run")
    status.add_argument("--json", action="store_true")
    run = add("run", _run, "a command at every worker of a job")
    run.add_argument("--job", help="its id, by default the first of the file; at a manager, its name")
    run.add_argument("--worker", action="append", help="only there; may be repeated")
    run.add_argument("command", nargs="+")
    for name, text in (
        ("kill", "kill -9 of a switch or server"),
        ("start", "a switch or server that was killed"),
    ):
        add(name, _node, text).add_argument("node")
        commands.choices[name].set_defaults(what=name)
    show = add("show", _show, "`tributary show` of a switch or server")
    show.add_argument("node")
    show.add_argument("what", nargs="+", help="such as jobs, or: op 1/42")
    manager = add("manager", _manager, "a command of `tributary` for the manager: job, topology, run, ...")
    manager.add_argument("words", nargs=argparse.REMAINDER)
    telemetry = add("telemetry", _telemetry, "`tributary show` of the telemetry server")
    telemetry.add_argument("what", choices=("links", "paths"))
    delay = add("delay", _delay, "a worker whose ops begin late, or a cable A-R between switches: 500us, 2s; or off")
    delay.add_argument("worker", help="or the cable, the upper switch first")
    delay.add_argument("time")
    delay.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth op")
    late_training.add_arguments(
        add("train", _train, "trains on a tree with and without late workers, and compares")
    )
    add("down", _down, "ends all of it")
    add("clean", _clean, "removes what runs that were killed could not remove themselves")
    return parser.parse_args(arguments)


def _ports(options):
    if options.ports is not None:
        return options.ports
    missing = rights.missing_for_veth()
    if missing:
        print(f"testbed: no {', '.join(missing)}: memif ports instead of namespaces")
        return "memif"
    return "veth"


def _up(options):
    """Starts the keeper, a process of its own, and waits until it says how it went."""
    command = [sys.executable, "-B", sys.argv[0], "--name", options.name, "keep"]
    command += [str(options.file), "--ports", _ports(options), "--seed", str(options.seed)]
    command += [f"--impair={options.impair}"]
    if options.telemetry is not None:
        command += ["--telemetry", str(options.telemetry)]
    if options.manager:
        command.append("--manager")
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, text=True
    ) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            if line.startswith("up"):
                child.returncode = 0  # it stays; this process does not wait for it
                return 0
    return 1


def _keep(options):
    return keeper.keep(options.name, options.file, options.ports, options.impair, options.seed,
                       options.telemetry, options.manager)


def _status(options):
    state = ask(options.name, "status")
    if options.json:
        print(json.dumps(state, indent=2))
        return 0
    rows = [("node", "kind", "on", "address", "pid", "state", "late by")]
    for node in state["nodes"]:
        columns = [str(node[k]) for k in ("name", "kind", "on", "address", "pid", "state")]
        rows.append((*columns, node.get("delay", "-")))
    print_table(f"{state['file']} on {state['ports']} ports, files in {state['directory']}", rows)
    dead = [n for n in state["nodes"] if n["state"] == "dead"]
    return 1 if dead else 0


class _Borrowed:
    """A namespace of the keeper."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)


def _run(options):
    places = ask(options.name, "places", job=options.job)["places"]
    if options.worker:
        unknown = set(options.worker) - {p["worker"] for p in places}
        if unknown:
            raise KeeperError(f"no worker {', '.join(sorted(unknown))} in this job")
        places = [p for p in places if p["worker"] in options.worker]
    width = max(len(p["worker"]) for p in places)

    def show(process, text):
        print(f"{process.name:{width}} | {text}", flush=True)

    with Loop() as loop, RunDirectory() as run:
        processes = []
        try:
            for place in places:
                words = [_filled(word, place) for word in options.command]
                space = _Borrowed(place["namespace"]) if place["namespace"] else None
                log = run / place["worker"]
                processes.append(
                    Process(loop, place["worker"], words, log, space, None,
                            place["environment"], None, show)
                )
            loop.wait(lambda: not any(p.running for p in processes), _DAY_S, "the workers end")
        finally:
            for process in processes:
                process.stop()
    failed = [p for p in processes if p.returncode != 0]
    for process in failed:
        print(f"testbed: {process.name} ended with status {process.returncode}", file=sys.stderr)
    return 1 if failed else 0


def _filled(word, place):
    for name, value in place["environment"].items():
        if name.startswith("TRIBUTARY_"):
            word = word.replace("{" + name.removeprefix("TRIBUTARY_").lower() + "}", value)
    return word


def _node(options):
    print(ask(options.name, options.what, node=options.node)["text"])
    return 0


def _show(options):
    state = ask(options.name, "status")
    names = [node["name"] for node in state["nodes"] if node["kind"] != "worker"]
    if options.node not in names:
        raise KeeperError(f"no switch or server {options.node}; there are {', '.join(names)}")
    socket = Path(state["directory"]) / f"{options.node}.sock"
    command = [binary(build_directory(), "tributary"), "show", *options.what, "--socket", socket]
    return subprocess.run(command, check=False, timeout=_SHOW_S).returncode


def _manager(options):
    address = ask(options.name, "status")["manager"]
    if address is None:
        raise KeeperError("it has no manager; tools/testbed up FILE --manager")
    command = [binary(build_directory(), "tributary"), *options.words]
    return subprocess.run(command, env={**os.environ, "TRIBUTARY_MANAGER": address}, check=False).returncode


def _telemetry(options):
    server = ask(options.name, "status")["telemetry"]
    if server is None:
        raise KeeperError("it has no telemetry; tools/testbed up FILE --telemetry")
    command = [binary(build_directory(), "tributary"), "show", options.what,
               "--telemetry", server["http"]]
    if server["namespace"]:
        command = ["nsenter", f"--net={server['namespace']}", "--", *command]
    return subprocess.run(command, check=False, timeout=_SHOW_S).returncode


def _delay(options):
    print(ask(options.name, "delay", worker=options.worker, time=options.time,
              every=options.every)["text"])
    return 0


def _train(options):
    with Loop() as loop:
        return late_training.run(loop, options, _ports(options))


def _down(options):
    pid = ask(options.name, "down")["pid"]
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return 0
    if not select.select([pidfd], [], [], _DOWN_S)[0]:
        raise TimeoutError(f"process {pid} still tidies up after {_DOWN_S} s")
    return 0


def _clean(_options):
    for path in run_directory.sweep():
        print(f"removed {path}")
    return 0
