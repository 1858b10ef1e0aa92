"""Makes torch.distributed know the backend, and makes its process groups."""

import atexit
import inspect
import os
import socket

import torch
import torch.distributed as dist

from . import environment
from .binding import Agreement, ListedJobs, share_settings
from .managed import ManagedJobs, Manager, check_template

NAME = "tributary"


def register():
    """Tells torch.distributed of the backend. May be called again."""
    if not dist.is_available() or NAME.upper() in dist.Backend._plugins:
        return
    options = {"extended_api": True}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        options["devices"] = ["cpu"]
    dist.Backend.register_backend(NAME, _create, **options)


def _module():
    """The extension module; ImportError says what it was built for."""
    try:
        from . import _backend
    except ImportError as error:
        raise ImportError(
            f"tributary.torch was not built for torch {torch.__version__} and this Python: {error}"
        ) from error
    return _backend


def _create(options, _backend_options=None):
    store, rank, size = options.store, options.group_rank, options.group_size
    timeout = options.timeout
    backend = _module()
    global_ranks = list(options.global_ranks_in_group)
    global_rank = global_ranks[rank] if global_ranks else rank
    places = {"rank": global_rank, "local_rank": os.environ.get("LOCAL_RANK", global_rank)}
    group = options.group_id or "default"
    address = os.environ.get("TRIBUTARY_ADDRESS", "")
    jobs = _managed_jobs(places, group) or _listed_jobs(address, places, group)
    log = environment.parse_flag("TRIBUTARY_TORCH_LOG", os.environ.get("TRIBUTARY_TORCH_LOG", ""))
    thresholds = environment.parse_thresholds(
        os.environ.get("TRIBUTARY_TORCH_THRESHOLDS", ""), environment.default_thresholds(address)
    )
    degraded = environment.parse_degraded(os.environ.get("TRIBUTARY_TORCH_DEGRADED", ""))
    shared = share_settings(store, rank, {"thresholds": thresholds, "degraded": degraded}, timeout)
    inner = dist.ProcessGroupGloo(dist.PrefixStore("inner", store), rank, size, timeout)
    agreement = Agreement(store, rank, size, timeout, jobs, group)
    _close_at_exit(backend)
    return backend.create(
        inner=inner,
        agreement=agreement,
        rank=rank,
        size=size,
        group=group,
        timeout_ms=max(1, round(timeout.total_seconds() * 1000)),
        thresholds={name: tuple(found) for name, found in shared["thresholds"].items()},
        log=log,
        scale_degraded=shared["degraded"] == "scale",
    )


def _managed_jobs(places, group):
    """The source of jobs for a group where TRIBUTARY_REQUEST says that a manager gives them; or None."""
    file = os.environ.get("TRIBUTARY_REQUEST", "")
    if not file:
        return None
    target = os.environ.get("TRIBUTARY_MANAGER", "")
    if not target:
        raise ValueError("backend tributary: TRIBUTARY_REQUEST is for a manager; needed as well: "
                         "TRIBUTARY_MANAGER, such as unix:/run/tributary/manager.sock")
    if "TRIBUTARY_JOB" in os.environ:
        raise ValueError("backend tributary: TRIBUTARY_JOB and TRIBUTARY_REQUEST are set; allowed: one")
    try:
        with open(file, encoding="utf-8") as opened:
            template = check_template(file, opened.read())
    except OSError as error:
        raise ValueError(f"TRIBUTARY_REQUEST: {file}: {error.strerror}") from None
    worker = environment.fill(os.environ.get("TRIBUTARY_WORKER", "") or socket.gethostname(), "TRIBUTARY_WORKER",
                              places)
    return ManagedJobs(Manager(target, os.environ), file, template, worker, group)


def _listed_jobs(address, places, group):
    """The same of TRIBUTARY_JOB's jobs, at TRIBUTARY_ADDRESS."""
    if not address:
        raise ValueError(
            "backend tributary: TRIBUTARY_ADDRESS is not set; it is the switch's address, such as "
            "udp://10.77.0.254 or memif:///run/tributary/s.sock?id={rank}&switch=10.77.0.254"
        )
    environment.fill(address, "TRIBUTARY_ADDRESS", {**places, "job": 0})  # a bad one is told at once
    return ListedJobs(environment.parse_jobs(os.environ.get("TRIBUTARY_JOB", "1")), address, places, group)


_registered_exits = set()


def _close_at_exit(backend):
    """Ranks leave their jobs while the interpreter still runs: they wait for each other."""
    if backend.__name__ not in _registered_exits:
        _registered_exits.add(backend.__name__)
        atexit.register(backend.close_all)


def _backend_of(group):
    """The tributary backend of a process group; None: of the default one."""
    if group is None:
        group = dist.distributed_c10d._get_default_group()
    if hasattr(group, "_get_backend"):  # from 2.0 on a group has a backend for each device
        return group._get_backend(torch.device("cpu"))
    return group


def calls(group=None):
    """(calls that the switch served, calls that went to Gloo) of a process group so far."""
    return _module().calls(_backend_of(group))


def close(group=None):
    """Leaves the group's job, and frees it for another group; the group is of no more use.

    destroy_process_group() and the end of the process do it, too.
    """
    _module().close(_backend_of(group))


def allreduce_block_scaled(tensor, group=None):
    """Starts a sum of float32 as integers under exponents that the ranks agree on; returns a Work.

    In place. Every rank gets the same bits, in whatever order data arrives.
    """
    return _module().allreduce_block_scaled(_backend_of(group), tensor)
