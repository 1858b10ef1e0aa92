"""The images of a switch and a worker, and the pod that runs both (packaging/containers)."""

import os
import resource
import shlex
import shutil
import tempfile

import pytest
from bare import TOP, make_root, run

CONTAINERS = TOP / "packaging/containers"
LIMITS = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}


@pytest.fixture
def podman(tmp_path, monkeypatch):
    """A podman whose images and containers are in folders of the test's; podman wants a short name."""
    # Its own default of open files may be more than this machine lets even root have.
    mine = [f"{name}={':'.join(['1024'] * 2)}" for name in LIMITS if resource.getrlimit(LIMITS[name])[1] != -1]
    conf = tmp_path / "containers.conf"
    conf.write_text(f"[containers]\ndefault_ulimits = {mine}\n".replace("'", '"'))
    monkeypatch.setenv("CONTAINERS_CONF", str(conf))
    state = tempfile.mkdtemp(prefix="podman-")
    command = ["podman", "--root", f"{tmp_path}/storage", "--runroot", state, "--cgroup-manager", "cgroupfs"]
    yield command
    run(*command, "pod", "rm", "--all", "--force")
    run(*command, "rmi", "--all", "--force")
    shutil.rmtree(state, ignore_errors=True)


def test_a_pod_of_the_images_sums(packages, podman, tmp_path):
    """Images from a bare Debian and the packages; the switch and two workers of pod.yaml."""
    environment = {**os.environ, "PODMAN": shlex.join(podman), "BUILD_OPTIONS": "--network host"}
    run(CONTAINERS / "build-images", packages, make_root(tmp_path / "root"), env=environment)
    run(*podman, "play", "kube", "--network", "none", CONTAINERS / "pod.yaml")
    for rank in (0, 1):
        name = f"tributary-worker-{rank}"
        status = run(*podman, "wait", name).strip()
        said = run(*podman, "logs", name)
        assert status == "0" and "sum: [2. 2. 2. 2.]" in said, f"{said}\n{run(*podman, 'logs', 'tributary-switch')}"
