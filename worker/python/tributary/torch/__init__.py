"""The backend "tributary" of torch.distributed: sums in the network, with Gloo for all else.

    TRIBUTARY_ADDRESS=udp://10.77.0.254 TRIBUTARY_JOB=1 torchrun --nproc_per_node 4 train.py

    import tributary.torch                      # torch before 2.5; later ones load it themselves
    torch.distributed.init_process_group("tributary")

Environment, read when a process group is made:

TRIBUTARY_ADDRESS: the switch, as in tributary.init(); {rank}, {local_rank}, {job} are replaced.
TRIBUTARY_JOB: jobs of the switch that process groups may use, such as "1" or "1-4,7/2"; each group
    takes one at its first call for the switch. "/2": only for groups of 2 ranks. Default: 1.
TRIBUTARY_REQUEST, TRIBUTARY_MANAGER, TRIBUTARY_WORKER: instead of these two, a cluster's manager gives
    each group a job of its own: a file with the request, the manager, this rank's worker.
TRIBUTARY_TORCH_THRESHOLDS: bytes between which a collective goes to the switch, such as
    "allreduce=64K-4M,all_gather=1K,broadcast=never". Those of the group's rank 0 hold for all.
TRIBUTARY_TORCH_DEGRADED: what a result is that lacks late ranks, in a job that allows such results:
    "error", the default, or "scale": sums of floats are multiplied by the group's size over the
    number of ranks in them. That of the group's rank 0 holds for all.
TRIBUTARY_TORCH_LOG: 1 prints for each call where it goes and why, on standard error.

docs/torch.md says which calls the switch serves. Errors are RuntimeError and ValueError.
"""

from .registration import allreduce_block_scaled, calls, close, register

__all__ = ["allreduce_block_scaled", "calls", "close", "register"]

register()
