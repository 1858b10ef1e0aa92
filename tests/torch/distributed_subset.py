"""Runs tests of PyTorch's own distributed_test.py on the backend "tributary".

    distributed_subset.py TEST...      environment: TRIBUTARY_ADDRESS, TRIBUTARY_JOB, WORLD_SIZE

They come with torch. Ranks are forked from this process, which has imported torch already.
"""

import contextlib
import importlib
import io
import os
import sys
import tempfile
import types
import unittest


def _expecttest():
    """What torch's test helpers import and no test here needs: Debian 12 does not have it."""
    module = types.ModuleType("expecttest")
    module.TestCase, module.ACCEPT = unittest.TestCase, False
    sys.modules.setdefault("expecttest", module)


def main():
    _expecttest()
    with tempfile.TemporaryDirectory(prefix="tributary-torch-") as directory:
        # Its decorators let Gloo do what a new backend may not even try.
        os.environ.update(BACKEND="gloo", TEMP_DIR=directory, MASTER_ADDR="127.0.0.1",
                          INIT_METHOD=f"file://{directory}/shared_init_file")
        sys.exit(run(sys.argv[1:]))


def run(names):
    import torch
    import tributary.torch  # noqa: F401  (registers the backend)

    with contextlib.redirect_stderr(io.StringIO()):  # of GPUs that are not here
        tests = importlib.import_module("torch.testing._internal.distributed.distributed_test")
    tests.BACKEND = "tributary"
    for feature in ("subgroup", "ddp"):
        tests.DistTestCases.backend_feature.setdefault(feature, set()).add("tributary")

    class OnTributary(tests.TestDistBackend, tests.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    OnTributary.__module__ = "__main__"
    suite = unittest.TestSuite(OnTributary(name) for name in names)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    return 0 if result.wasSuccessful() and not result.skipped else 1


if __name__ == "__main__":
    main()
