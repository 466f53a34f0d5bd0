"""Measures the time of a ufunc call in excess of a bare launch: `python tests/bench/ufunc_call.py`,
with a GPU or the simulator.

Rows are the minimum of many short rounds, in microseconds; each round is shorter than the queue of
launches, so no launch waits for the device.
"""

import time

import numpy as np

from numbalite import cuda, vectorize

CALLS = 60
ROUNDS = 500


def best_time(function, calls=CALLS, rounds=ROUNDS):
    function()
    cuda.synchronize()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls)
        cuda.synchronize()
    return min(times) * 1e6


@cuda.jit("void(float32[:], float32[:], float32[:], int32)")
def add_kernel(x, y, z, n):
    "int i = grid<1>(); if (i < n) z[i] = x[i] + y[i];"


def main():
    add = vectorize(["float32(float32, float32)"], source="x + y", args="x, y", target="cuda")
    launcher = add_kernel[1, 256]
    host = np.ones(1, "f4")
    a, b, out = (cuda.to_device(host) for _ in range(3))
    cube = cuda.to_device(np.ones((4, 4, 4), "f4"))
    view = cube[:, ::2, ::-1]
    empty = cuda.device_array(0, "f4")
    rows = {
        "an empty function": lambda: None,
        "launch": lambda: launcher(a, b, out, 1),
        "ufunc, out=": lambda: add(a, b, out=out),
        "ufunc, positional output": lambda: add(a, b, out),
        "ufunc, a number and an array": lambda: add(a, 1.5, out),
        "ufunc, 3 dimensions": lambda: add(cube, cube, cube),
        "ufunc, strided": lambda: add(view, view, view),
        "ufunc without elements: no launch": lambda: add(empty, empty, empty),
        "ufunc, result made": lambda: add(a, b),
    }
    for name, function in rows.items():
        print(f"{name:40} {best_time(function):8.3f}")
    print(f"{'ufunc on host arrays':40} {best_time(lambda: add(host, host), 10, 200):8.3f}")
    print(f"{'ufunc on numbers':40} {best_time(lambda: add(1.0, 2.0), 10, 200):8.3f}")


if __name__ == "__main__":
    main()
