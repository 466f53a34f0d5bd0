"""Runs one process for each GPU, and computes sums over all GPUs by NCCL, which PyTorch includes.

    torchrun --nproc-per-node 2 torch_ranks.py [MEGABYTES]

Without GPUs: NUMBALITE_DRIVER=sim NUMBALITE_SIM_DEVICES=2 torchrun ... (gloo then passes the messages).
"""

import os
import sys
import time

import numpy as np
import torch
import torch.distributed as dist

from numbalite import cuda, vectorize

local = int(os.environ["LOCAL_RANK"])
cuda.set_default_device(local % len(cuda.gpus))
if cuda.is_simulated():
    dist.init_process_group("gloo")
else:
    torch.cuda.set_device(local % len(cuda.gpus))
    dist.init_process_group("nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
rank, size = dist.get_rank(), dist.get_world_size()


@vectorize(["float32(float32)"], target="cuda")
def square(x):
    "return x * x;"


# Creates a tensor over the memory of a device array, without a copy. PyTorch and numbalite both use the device's
# default stream, so their work runs in order without a wait.
d = cuda.to_device(np.arange(8, dtype=np.float32) + rank)
squares = square(d)
dist.all_reduce(torch.from_dlpack(squares))
root = np.sqrt(squares)
expected = sum((np.arange(8, dtype=np.float32) + r) ** 2 for r in range(size))
np.testing.assert_allclose(root.copy_to_host(), np.sqrt(expected), rtol=1e-6)
print(f"rank {rank} of {size} on device {d.device}", flush=True)


def bandwidth(tensor, rounds=20):
    """Returns the bytes per second that each rank sends, as NCCL's own tests count them."""
    for _ in range(3):
        dist.all_reduce(tensor)
    times = []
    for _ in range(rounds):
        cuda.synchronize()
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(tensor)
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return tensor.numel() * tensor.element_size() * 2 * (size - 1) / size / np.median(times)


if len(sys.argv) > 1:
    n = int(sys.argv[1]) * (1 << 18)
    d = cuda.to_device(np.ones(n, np.float32))
    t = torch.ones(n, device="cpu" if cuda.is_simulated() else "cuda")
    theirs, ours = bandwidth(t), bandwidth(torch.from_dlpack(d))
    theirs, ours = max(theirs, bandwidth(t)), max(ours, bandwidth(torch.from_dlpack(d)))
    if rank == 0:
        print(
            f"all_reduce of {sys.argv[1]} MB: {ours / 1e9:.1f} GB/s, PyTorch's own tensor {theirs / 1e9:.1f} GB/s"
        )
dist.destroy_process_group()
