"""The Python module without a switch: arguments, errors, documentation."""

import ast
import inspect
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tributary

STUBS = Path(__file__).resolve().parents[2] / "worker/python/tributary/__init__.pyi"
SILENT = "udp://127.0.0.1:1"  # nobody answers


def init(**changes):
    return tributary.init(**{"job": 1, "rank": 0, "size": 2, "address": SILENT, **changes})


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"rank": -1}, "rank is -1; allowed are 0 to 4294967295"),
        ({"job": 2**32}, "job is 4294967296"),
        ({"size": 10**30}, "size is 1" + "0" * 30),
        ({"rank": 2}, "rank 2 of size 2"),
        ({"size": 0}, "rank 0 of size 0"),
        ({"size": None}, "size is None; give both of rank and size, or neither"),
        ({"rank": None}, "rank is None; give both"),
        ({"address": "tcp://1.2.3.4"}, "unknown scheme"),
        ({"address": "udp://nowhere"}, "no IPv4 address"),
        ({"address": "memif:///run/s?switch=224.0.0.1"}, "is not a unicast IPv4 address"),
        ({"address": "memif://run/s?id=1&switch=10.0.0.1"}, "absolute"),
        ({"join_timeout": 0}, "join_timeout is 0.0; it is in seconds"),
        ({"op_timeout": float("nan")}, "op_timeout is nan"),
        ({"op_timeout": float("inf")}, "op_timeout is inf"),
        ({"loss_group": 3}, "loss_group 3: allowed are 0"),
        ({"loss_group": -1}, "loss_group is -1; allowed are 0 to"),
        ({"open": "inlin"}, 'open is "inlin"; allowed: inline, control, wait'),
        ({"open": ""}, 'open is ""; allowed: inline, control, wait'),
        ({"units": 2}, "units, nodes, window, chunk_bytes are of a job that ranks open"),
        ({"open": "inline", "units": 3}, "units 3 x nodes 0 are not the size, 2"),
        ({"open": "control", "window": 63}, "window 63; allowed: 1 to 4096, power of two"),
        ({"open": "inline", "nodes": -1}, "nodes is -1; allowed are 0 to 4294967295"),
        ({"open": "inline", "manager": "unix:/run/m"}, "a manager says which jobs there are"),
    ],
)
def test_bad_arguments_are_named(changes, text):
    with pytest.raises(ValueError) as caught:
        init(**changes)
    assert text in str(caught.value)


LAUNCHERS = [name for pair in (("RANK", "WORLD_SIZE"),
                               ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                               ("PMI_RANK", "PMI_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"))
             for name in pair]


@pytest.mark.parametrize("rank, size", [("RANK", "WORLD_SIZE"),
                                        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")])
def test_launchers_say_rank_size_and_address(monkeypatch, rank, size):
    """A2: torchrun and mpirun; the error shows that rank 1 of 4 asked for that address."""
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("TRIBUTARY_ADDRESS", raising=False)
    with pytest.raises(ValueError, match="size is 0, and the environment.*RANK and WORLD_SIZE"):
        tributary.init(job=1)
    monkeypatch.setenv(rank, "1")
    with pytest.raises(ValueError, match=f"has {rank} and not {size}"):
        tributary.init(job=1)
    monkeypatch.setenv(size, "4")
    with pytest.raises(ValueError, match="TRIBUTARY_ADDRESS is not set"):
        tributary.init(job=1)
    monkeypatch.setenv("TRIBUTARY_ADDRESS", "memif:///nowhere/{rank}?id={rank}&switch=10.77.0.254")
    with pytest.raises(tributary.Error, match="/nowhere/1"):
        tributary.init(job=1, join_timeout=0.2)


@pytest.mark.parametrize("changes", [{"rank": "0"}, {"rank": 0.5}, {"address": 7}, {"port": 1}])
def test_arguments_of_the_wrong_kind(changes):
    with pytest.raises(TypeError):
        init(**changes)


def test_integers_of_numpy_are_integers():
    with pytest.raises(tributary.Error, match="127.0.0.1"):
        init(job=np.uint32(1), rank=np.int64(0), size=np.int32(2), loss_group=np.uint8(8),
             join_timeout=0.1)
    with pytest.raises(ValueError, match="rank is -1; allowed are"):
        init(rank=np.int64(-1))


def test_a3_address_bits_choose_among_several_switches(monkeypatch):
    two = "udp://127.0.0.1:9,127.0.0.1:10"
    for bits, text in [((16, 0), "a count of 0 for 2 switches; allowed: 1 to 31"),
                       ((31, np.int32(1)), "low and count together are above 31"),
                       ((-1, 1), "low of address_bits is -1")]:
        with pytest.raises(ValueError, match=text):
            init(address=two, address_bits=bits)
    with pytest.raises(ValueError, match="one switch in the address"):
        init(address_bits=(16, 1))
    for wrong in [(16,), (16, 1, 2), 16, ("16", "1")]:
        with pytest.raises(TypeError):
            init(address=two, address_bits=wrong)
    monkeypatch.setenv("TRIBUTARY_ADDRESS_BITS", "16")
    with pytest.raises(ValueError, match="TRIBUTARY_ADDRESS_BITS.*'16': allowed are .* LOW,COUNT"):
        init(address=two)


def test_arguments_have_names():
    with pytest.raises(TypeError):
        tributary.init(1, 0, 2, SILENT)


def test_silent_switch_is_an_error_not_a_hang():
    with pytest.raises(tributary.Error) as caught:
        init(join_timeout=0.3)
    assert "127.0.0.1" in str(caught.value)
    assert caught.value.reason is None
    assert caught.value.missing_ranks == []
    assert isinstance(caught.value, RuntimeError)


NO_SOCKET = "memif:///nowhere/s?id=0&switch=10.77.0.254"


@pytest.mark.parametrize("address", [SILENT, NO_SOCKET])
def test_ctrl_c_ends_joining(address):
    """The signal comes when init() has released the GIL: only then can the other thread run."""
    main = threading.main_thread().ident
    interrupt = threading.Thread(target=lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        init(join_timeout=1000, address=address)
    interrupt.join()


def test_a_socket_that_is_not_there_is_tried_for_the_time_to_join():
    with pytest.raises(tributary.Error, match=r"No such file.* \(tried for [1-9]\d{2,3} ms\)"):
        init(join_timeout=0.2, address=NO_SOCKET)


DAEMON = """
import select, sys, threading
sys.path.insert(0, sys.argv[1])
import tributary

class Slow:
    def __del__(self, wait=select.select):  # at exit: threads that ask for the lock are ended
        wait([], [], [], 0.3)

def join():
    inside.set()
    tributary.init(job=1, rank=0, size=2, address="udp://127.0.0.1:1", join_timeout=1000)

sys.slow, inside = Slow(), threading.Event()
threading.Thread(target=join, daemon=True).start()
inside.wait()
"""


def test_daemon_threads_that_wait_do_not_abort_the_interpreters_exit():
    module = str(Path(tributary.__file__).parents[1])
    ended = subprocess.run([sys.executable, "-c", DAEMON, module], timeout=60)
    assert ended.returncode == 0


def test_errors_can_be_made_by_tests_of_applications():
    error = tributary.Error("text")
    assert error.reason is None and list(error.missing_ranks) == []


def test_overflow_is_pythons_and_ours():
    error = tributary.OverflowError("text")
    assert isinstance(error, tributary.Error) and isinstance(error, OverflowError)
    assert error.reason is None


def documented(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_everything_has_a_docstring():
    assert tributary.__doc__
    for name in documented(tributary):
        thing = getattr(tributary, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member in documented(thing):
                assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_stubs_name_what_the_module_has():
    tree = ast.parse(STUBS.read_text())
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    assert documented(tributary) == set(classes) | functions
    for name in ("Communicator", "Request", "Task"):
        in_stub = {
            n.name
            for n in classes[name].body
            if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")
        }
        assert in_stub == documented(getattr(tributary, name)), name
    (init_stub,) = (n for n in tree.body if getattr(n, "name", "") == "init")
    for argument in init_stub.args.kwonlyargs:
        assert f"{argument.arg}: " in tributary.init.__doc__


# A6: the vectors are Megatron-LM's; tests/worker/layout has more of them.
def test_a6_groups_of_a_parallel_layout():
    layout = {"tensor": 2, "data": 0, "pipeline": 4}
    groups = tributary.groups(16, layout, "data")
    assert groups == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9, 11], [12, 14], [13, 15]]
    assert tributary.groups(8, {"data": 8}, "expert", expert=2) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert tributary.group_jobs(4, {"tensor": 2, "data": 2}, ["data"], 7) == [
        (7, "data", [0, 2]), (8, "data", [1, 3])]
    assert tributary.task_information([0, 4, 8, 12], 8) == [(0, 2), (1, 2)]
    with pytest.raises(ValueError, match="tensor 3 is not the world size 16: the product is 3"):
        tributary.groups(16, {"tensor": 3}, "tensor")
