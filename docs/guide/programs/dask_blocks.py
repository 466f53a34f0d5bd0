"""Computes the blocks of a Dask array on several GPUs, with one worker process for each GPU.

    python dask_blocks.py

Without GPUs: NUMBALITE_DRIVER=sim NUMBALITE_SIM_DEVICES=2 python dask_blocks.py
"""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, get_worker

from numbalite import cuda, vectorize
from numbalite.cuda.workers import DevicePerWorker


@vectorize(["float64(float64, float64)"], target="cuda")
def damped(x, y):
    "return exp(-0.5 * x) * cos(y);"


@cuda.jit
def smooth(x, out):
    """
    for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) {
        int left = i > 0 ? i - 1 : 0, right = i < x.size() - 1 ? i + 1 : i;
        out[i] = (x[left] + x[i] + x[right]) / 3;
    }
    """


def smooth_block(block):
    """What one block becomes: The function computes one block: Applies the kernel on the worker's device
    to a NumPy array, and returns a NumPy array."""
    x = cuda.to_device(block)
    out = cuda.device_array_like(x)
    if block.size:
        smooth[64, 128](x, out)
    return out.copy_to_host()


def whole_array():
    """Computes blocks that are copied from the host to a device and back at each step."""
    x = da.linspace(0, 3, 100_000, chunks=10_000)
    y = da.overlap.overlap(damped(x, x), depth=1, boundary="nearest")
    return y.map_blocks(smooth_block, dtype="f8").map_blocks(
        lambda block: block[1:-1], chunks=x.chunks
    )


def where(array):
    """Task: returns its worker, and the device of its input."""
    return get_worker().name, array.device


def share(array):
    """Task: returns a handle by which processes of this machine access the array's memory."""
    return array.get_ipc_handle()


def take(handle):
    """Task on another worker: copies the array from device to device."""
    with handle as theirs:
        mine = cuda.device_array(theirs.shape, theirs.dtype)
        mine.copy_to_device(theirs)
        cuda.synchronize()
    return mine


def main():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.register_plugin(DevicePerWorker())
        result = whole_array().compute()
        x = np.linspace(0, 3, 100_000)
        y = np.pad(np.exp(-0.5 * x) * np.cos(x), 1, "edge")
        np.testing.assert_allclose(result, (y[:-2] + y[1:-1] + y[2:]) / 3)
        print(len(result), "elements of a Dask array")

        first, second = sorted(client.scheduler_info()["workers"])
        there = client.submit(cuda.to_device, np.arange(1000.0), workers=[first])
        handle = client.submit(share, there, workers=[first])
        here = client.submit(take, handle, workers=[second])
        for array in (there, here):
            name, device = client.submit(where, array).result()
            print(f"worker {name} has it on device {device}")
        np.testing.assert_array_equal(here.result().copy_to_host(), np.arange(1000.0))


if __name__ == "__main__":
    main()
