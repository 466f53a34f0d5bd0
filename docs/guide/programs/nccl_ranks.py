"""Runs one process for each GPU, and computes sums over all GPUs by NCCL itself.

    mpiexec -n 2 python nccl_ranks.py           pip install "nccl4py[cu13]" mpi4py

NCCL runs only on GPUs, not on the simulator.
"""

import nccl.core as nccl
import numpy as np
from mpi4py import MPI

from numbalite import cuda, vectorize

ranks = MPI.COMM_WORLD
cuda.set_default_device(ranks.Split_type(MPI.COMM_TYPE_SHARED).rank % len(cuda.gpus))
cuda.synchronize()  # NCCL uses the current device of this thread
name = ranks.bcast(nccl.get_unique_id() if ranks.rank == 0 else None)
comm = nccl.Communicator.init(ranks.size, ranks.rank, name)


@vectorize(["float32(float32)"], target="cuda")
def square(x):
    "return x * x;"


# NCCL accepts device arrays as buffers and numbalite's streams, so the sum runs in stream order.
stream = cuda.stream()
x = np.arange(8, dtype=np.float32)
squares = square(cuda.to_device(x + ranks.rank, stream), stream=stream)
comm.allreduce(squares, squares, nccl.SUM, stream=stream)
total = squares.copy_to_host(stream=stream)
stream.synchronize()
expected = sum((x + r) ** 2 for r in range(ranks.size))
np.testing.assert_allclose(total, expected, rtol=1e-6)
print(f"rank {ranks.rank} of {ranks.size} on device {squares.device}", flush=True)
comm.destroy()
