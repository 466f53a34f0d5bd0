"""Tests device arrays as buffers of mpi4py, which accepts them by DLPack or the CUDA Array
Interface.

On the simulator device memory is the host's, so that any MPI can send it; on a GPU the MPI library
must be CUDA-aware, so the test only reads the buffer that mpi4py makes of an array.
"""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from numbalite import cuda

PROGRAM = """
import numpy as np
from mpi4py import MPI
from numbalite import cuda, vectorize

@vectorize(["float64(float64, float64)"], target="cuda")
def plus(x, y):
    "x + y"

comm = MPI.COMM_WORLD
rank, other = comm.rank, 1 - comm.rank
assert comm.size == 2
cuda.set_default_device(rank)
mine, total = cuda.to_device(np.arange(10.0) + rank), cuda.device_array(10)
doubled = plus(mine, mine)
cuda.synchronize()                    # MPI knows nothing of streams
comm.Allreduce(doubled, total)
np.testing.assert_array_equal(total.copy_to_host(), 4 * np.arange(10) + 2)
if rank == 0:
    comm.Send(mine[2:5], other, tag=3)
else:
    part = cuda.to_device(np.zeros(10))
    comm.Recv(part[4:7], other, tag=3)
    assert part.copy_to_host().tolist() == [0, 0, 0, 0, 2, 3, 4, 0, 0, 0]
for dtype in "?bhiqBHIQfdFD":
    sent = cuda.to_device(np.array([rank, 1, 0], dtype))
    got = cuda.device_array_like(sent)
    comm.Sendrecv(sent, other, recvbuf=got, source=other)
    assert got.copy_to_host().tolist() == np.array([other, 1, 0], dtype).tolist(), dtype
turned = cuda.to_device(np.asfortranarray(np.arange(6.0).reshape(2, 3) * (1 - rank)))
comm.Bcast(turned)
assert (turned.copy_to_host() == np.arange(6.0).reshape(2, 3)).all()
try:
    comm.Send(mine[::2], other)
except BufferError as error:
    assert "contiguous" in str(error)
else:
    raise SystemExit("a strided buffer was taken")
moved = comm.bcast(mine if rank == 0 else None)  # by pickle
assert type(moved) is cuda.DeviceNDArray and moved.device == rank and moved[1] == 1
open(f"good-{rank}", "w").close()  # mpiexec may mix what its ranks print
"""


@pytest.mark.sim
def test_mpi_messages_carry_device_arrays(tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which(
        "mpiexec", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    )
    if mpiexec is None:
        pytest.skip("needs mpiexec")
    import numbalite

    env = {
        **os.environ,
        "PYTHONPATH": os.path.dirname(os.path.dirname(numbalite.__file__)),
        "NUMBALITE_SIM_DEVICES": "2",
        # In a container the tests run as root, for which Open MPI needs two options.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    (tmp_path / "program.py").write_text(PROGRAM)
    result = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, tmp_path / "program.py"],
        capture_output=True, text=True, timeout=120, env=env, cwd=tmp_path, check=False,
    )  # fmt: skip
    if "cannot load MPI library" in result.stderr:
        pytest.skip("mpi4py finds no MPI library")
    assert result.returncode == 0, result.stdout + result.stderr
    assert sorted(path.name for path in tmp_path.glob("good-*")) == ["good-0", "good-1"]


def test_mpi4py_reads_the_array_interface(run_python):
    """Reads the address, the size and the element type of a buffer; no message is sent."""
    pytest.importorskip("mpi4py")
    code = """
import numpy as np
try:
    from mpi4py import MPI
except (ImportError, RuntimeError):
    raise SystemExit(77)
from numbalite import cuda
array = cuda.to_device(np.arange(10.0))
for part in (array, array[3:5], array.reshape(2, 5)):
    buffer = MPI.buffer(part)
    assert (buffer.address, buffer.nbytes) == (part._address, part.nbytes)
"""
    result = run_python(code, check=False)
    if result.returncode == 77:
        pytest.skip("mpi4py finds no MPI library")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("dtype", "?bhiqBHIQfdFD")
def test_device_arrays_export_what_mpi4py_reads(dtype):
    """The steps of mpi4py: mpi4py requests DLPack with stream=-1 (no wait), or the CUDA Array
    Interface of an object without DLPack; arrays must be contiguous, with plain dtypes."""
    array = cuda.to_device(np.ones((3, 4), dtype))
    kind, number = array.__dlpack_device__()
    assert (kind, number) == ((1, 0) if cuda.is_simulated() else (2, array.device))
    capsule = array.__dlpack__() if kind == 1 else array.__dlpack__(stream=-1)
    again = cuda.from_dlpack(capsule)
    assert again._address == array._address and again.dtype == array.dtype
    interface = array.__cuda_array_interface__
    assert interface["shape"] == (3, 4) and interface["strides"] is None
    assert np.dtype(interface["typestr"]) == array.dtype and interface.get("mask") is None
    assert interface["data"] == (array._address, False)
    assert array.T.__cuda_array_interface__["strides"] == (array.itemsize, 4 * array.itemsize)
