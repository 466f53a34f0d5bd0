"""Runs one process for each GPU, with MPI messages between the processes.

    mpiexec -n 2 python mpi_ranks.py

Without GPUs: NUMBALITE_DRIVER=sim NUMBALITE_SIM_DEVICES=2 mpiexec -n 2 python mpi_ranks.py
"""

import numpy as np
from mpi4py import MPI

from numbalite import cuda

comm = MPI.COMM_WORLD
local = comm.Split_type(MPI.COMM_TYPE_SHARED).rank  # the rank among the processes of this machine
cuda.set_default_device(local % len(cuda.gpus))


@cuda.jit("void(const float64[::1], float64[::1])")
def smooth(x, out):
    """
    int i = grid<1>() + 1;
    if (i < x.size() - 1) out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
    """


N = 1000  # elements of each rank
mine = np.arange(N, dtype=np.float64) + comm.rank * N
x = cuda.to_device(np.concatenate([[0.0], mine, [0.0]]))  # includes one element of each neighbour
out = cuda.device_array_like(x)

# Slices of device arrays are buffers of messages. MPI is not ordered with streams:
# kernels that write the data must be complete before MPI reads the data.
left = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
right = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL
cuda.synchronize()
comm.Sendrecv(x[1:2], left, recvbuf=x[-1:], source=right)
comm.Sendrecv(x[-2:-1], right, recvbuf=x[:1], source=left)

smooth[8, 128](x, out)

total = cuda.device_array(1)
part = out[1:-1].sum(keepdims=True)
cuda.synchronize()
comm.Allreduce(part, total)

whole = np.pad(np.arange(comm.size * N, dtype=np.float64), 1)
expected = (whole[:-2] + whole[1:-1] + whole[2:]) / 3
np.testing.assert_allclose(out.copy_to_host()[1:-1], expected[comm.rank * N :][:N])
np.testing.assert_allclose(total.copy_to_host(), expected.sum())
print(f"rank {comm.rank} of {comm.size} on device {x.device}", flush=True)
