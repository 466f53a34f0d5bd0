"""Runs one ufunc on several workers of dask.distributed; each worker has its own device.

    python notebooks/dask_workers.py [workers]

By default there is a worker for each device. Without GPUs the devices are simulated:
NUMBALITE_DRIVER=sim NUMBALITE_SIM_DEVICES=2. Needs dask and distributed, with array support.

Each worker is a process, in which a plug-in makes one device the default. The function is sent to the
workers as source, once. Arrays are passed in one of two ways: blocks of a dask array are NumPy arrays
on the host, and copied to the device at each call; device arrays stay on the worker's device, from one task to
the next, and distributed's serializers copy them only where a task needs an array of another worker.
"""

import math
import sys

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, as_completed, get_worker

from numbalite import cuda, vectorize
from numbalite.cuda.workers import DevicePerWorker

SCALE = 0.5


@vectorize(["float64(float64, float64)"], target="cuda")
def damped(x, y):
    "return exp(-SCALE * x) * cos(y);"


total = cuda.reduce("a + b")


def expected(x, y):
    return np.exp(-SCALE * x) * np.cos(y)


def where(*arrays):
    """Task: returns (worker, device); the arrays are copied to this device."""
    number = cuda.get_current_device().id
    assert all(array.device == number for array in arrays)
    return get_worker().name, number


def dask_arrays(client):
    """Applies the ufunc to blocks on the host, as any NumPy ufunc."""
    x = da.from_array(np.linspace(0, 3, 1 << 16), chunks=1 << 12)
    y = da.from_array(np.linspace(-math.pi, math.pi, 1 << 16), chunks=1 << 12)
    result = client.compute(damped(x, y)).result()
    np.testing.assert_allclose(result, expected(*da.compute(x, y)), rtol=1e-12, atol=1e-15)
    print(f"dask arrays: {len(x.chunks[0])} blocks, {result.nbytes} bytes")


def device_arrays(client):
    """The blocks stay on the devices; only the sums are copied to the host."""
    pieces = [np.linspace(i, i + 1, 10_000) for i in range(8)]
    on_devices = client.map(cuda.to_device, pieces, pure=False)
    results = client.map(damped, on_devices, on_devices)
    sums = client.gather(client.map(total, results))
    np.testing.assert_allclose(sums, [expected(piece, piece).sum() for piece in pieces])
    places = {client.submit(where, a, pure=False): i for i, a in enumerate(results)}
    used = {future.result() for future in as_completed(places)}
    print("device arrays:", ", ".join(f"worker {name} on device {i}" for name, i in sorted(used)))
    return results, pieces


def between_workers(client, results, pieces):
    """Runs a task with two inputs on each worker: an input of another worker is sent over the network."""
    first, last = (expected(piece, piece) for piece in (pieces[0], pieces[-1]))
    for address in sorted(client.scheduler_info()["workers"]):
        both = client.submit(damped, results[0], results[-1], workers=[address], pure=False)
        name, number = client.submit(where, both, workers=[address], pure=False).result()
        back = both.result()  # computes in this process, on its default device
        np.testing.assert_allclose(back.copy_to_host(), expected(first, last))
        print(f"computed by worker {name} on device {number}, fetched as {type(back).__name__}")


def main(workers):
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.register_plugin(DevicePerWorker())
        dask_arrays(client)
        results, pieces = device_arrays(client)
        between_workers(client, results, pieces)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else max(2, len(cuda.gpus)))
