"""Measures the host time of calls without a GPU: the driver does nothing (idle.c), so only
numbalite and Python take time.

    python tests/bench/run.py --host [--shapes] [--only sum,fft]

Prints for each row the microseconds, and the number of numbalite's Python functions that a repeated
call runs.
Functions that wait for the device (selections, searches, reads) return immediately with this
driver; the values that they compute are meaningless. The time does not include the driver, which needs about 2 us more for a launch on a
GPU.
"""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import timeit
import warnings

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CALLS, ROUNDS, WARM = 2000, 5, 8


def measure_in_subprocess(only=None, with_shapes=False):
    """Builds the driver of idle.c, and measures in a process that loads this driver as libcuda."""
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "libcuda.so.1"
        compiler = os.environ.get("CC", "cc")
        subprocess.run(
            [compiler, "-O2", "-shared", "-fPIC", f"-I{ROOT / 'cext'}", HERE / "idle.c", "-o", library],
            check=True,
        )  # fmt: skip
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": folder,
            "NUMBALITE_DRIVER": "cuda",
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests"))),
        }
        mode = "shapes" if with_shapes else "rows"
        command = [sys.executable, __file__, str(library), mode, *([only] if only else [])]
        return subprocess.run(command, env=environment).returncode


def host_calls():
    """Returns {name: call}"""
    import numpy as np

    from numbalite import cuda, vectorize
    from numbalite.cuda.libs import cufft

    @cuda.jit
    def empty_kernel(x, value):
        ";"

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(a, b):
        "a + b"

    x, y, out = (cuda.to_device(np.ones(1000, np.float32)) for _ in range(3))
    m, c = (
        cuda.to_device(np.ones((32, 32), np.float32)),
        cuda.to_device(np.ones(1024, np.complex64)),
    )
    i, gaps = cuda.to_device(np.arange(10)), cuda.to_device(np.ones(2000, np.float32))[::2]
    mask, launcher = cuda.to_device(np.ones(1000, bool)), empty_kernel[1, 128]
    stream, rng = cuda.stream(), cuda.random.default_rng(1)
    bound = x.bind(stream)

    def set_item(array, key, value):
        array[key] = value

    one = "mean var max argmax any cumsum diff sort argsort round ravel flip ptp median unique nonzero"
    return {
        "launch": lambda: launcher(x, 1.0),
        "kernel[...](...)": lambda: empty_kernel[1, 128](x, 1.0),
        "ufunc, out=": lambda: add(x, y, out=out),
        "x + y": lambda: x + y,
        "x * 2": lambda: x * 2,
        "x ** 2": lambda: x**2,
        "x += y": lambda: x.__iadd__(y),
        "x > 0": lambda: x > 0,
        "np.sqrt": lambda: np.sqrt(x),
        "np.sum": lambda: np.sum(x),
        "sum, axis": lambda: m.sum(axis=0),
        "np.sum of a bound array": lambda: np.sum(bound),
        **{f"np.{name}": functools.partial(getattr(np, name), x) for name in one.split()},
        "m @ m": lambda: m @ m,
        "np.dot": lambda: np.dot(x, y),
        "np.einsum": lambda: np.einsum("ij,jk->ik", m, m),
        "np.linalg.norm": lambda: np.linalg.norm(x),
        "np.where": lambda: np.where(mask, x, y),
        "np.clip": lambda: np.clip(x, 0, 1),
        "np.isclose": lambda: np.isclose(x, y),
        "np.concatenate": lambda: np.concatenate([x, y]),
        "np.stack": lambda: np.stack([x, y]),
        "np.roll": lambda: np.roll(x, 1),
        "np.tile": lambda: np.tile(x, 2),
        "np.pad": lambda: np.pad(x, 1),
        "np.triu": lambda: np.triu(m),
        "np.interp": lambda: np.interp(x, x, y),
        "np.convolve": lambda: np.convolve(x, y[:10]),
        "np.take": lambda: np.take(x, i),
        "x[i]": lambda: x[i],
        "x[3]": lambda: x[3],
        "x[2:9]": lambda: x[2:9],
        "x[mask]": lambda: x[mask],
        "x[...] = y": lambda: set_item(x, ..., y),
        "x[:] = 1": lambda: set_item(x, slice(None), 1),
        "m[:, 0] = 1.5": lambda: set_item(m, (slice(None), 0), 1.5),
        "x[i] = 1": lambda: set_item(x, i, 1),
        "m.T": lambda: m.T,
        "m.reshape": lambda: m.reshape(-1, 16),
        "m.swapaxes": lambda: m.swapaxes(0, 1),
        "copy": lambda: x.copy(),
        "copy, with gaps": lambda: gaps.copy(),
        "astype": lambda: x.astype(np.float64),
        "cuda.device_array": lambda: cuda.device_array(1000, np.float32),
        "cuda.zeros": lambda: cuda.zeros(1000),
        "cuda.arange": lambda: cuda.arange(1000),
        "cuda.linspace": lambda: cuda.linspace(0, 1, 100),
        "np.fft.fft": lambda: np.fft.fft(c),
        "np.fft.fft, real": lambda: np.fft.fft(x),
        "np.fft.irfft": lambda: np.fft.irfft(c),
        "fft_inplace": lambda: cufft.fft_inplace(c),
        "fftconvolve": lambda: cufft.fftconvolve(x, x),
        "rng.random": lambda: rng.random(1000),
        "rng.normal": lambda: rng.normal(size=1000),
    }  # fmt: skip


def print_rows(only):
    """Prints a line for each row."""
    from kit.frames import numbalite_functions_in

    for name, call in host_calls().items():
        if only and not any(word in name for word in only):
            continue
        for _ in range(WARM):
            call()
        seconds = min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS
        print(
            f"{name:26} {seconds * 1e6:7.2f} us {len(numbalite_functions_in(call)):4}", flush=True
        )


def main(library, mode, only=""):
    from numbalite.runtime.libraries import table

    warnings.simplefilter("ignore")
    table.Library.path = lambda self: library
    words = only.split(",") if only else []
    if mode == "shapes":
        import shapes

        shapes.measure_host_time(words)
    else:
        print_rows(words)


if __name__ == "__main__":
    main(*sys.argv[1:])
