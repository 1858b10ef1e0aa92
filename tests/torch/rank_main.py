"""One rank: runs cases by name until its pipe closes. Its place is in the environment."""

import os
import sys
import traceback
from datetime import timedelta
from multiprocessing.connection import Client

import torch
import torch.distributed as dist
import tributary.torch  # noqa: F401  (registers the backend)

import callback_cases
import cases
import closing_cases
import group_cases
import settings_cases


def main():
    torch.set_num_threads(1)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    with Client(sys.argv[1]) as pipe:
        while True:
            try:
                name, meeting, arguments = pipe.recv()
            except EOFError:
                return
            modules = (cases, callback_cases, closing_cases, group_cases, settings_cases)
            case = next(getattr(module, name) for module in modules if hasattr(module, name))
            try:
                dist.init_process_group(
                    "tributary", rank=rank, world_size=size, init_method=f"file://{meeting}",
                    timeout=timedelta(seconds=getattr(case, "timeout_s", 60)),
                )
                answer = ("returned", case(rank, size, *arguments))
            except BaseException as error:
                answer = ("raised", [type(error).__name__, str(error), traceback.format_exc()])
            if dist.is_initialized():
                dist.destroy_process_group()
            pipe.send(answer)


if __name__ == "__main__":
    main()
