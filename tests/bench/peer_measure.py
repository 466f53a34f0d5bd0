"""Functions that measure benchmark rows with peer libraries. Each result is checked against NumPy
before it is
timed.

A row that fails, or whose result is wrong, is left out, with the reason on stderr.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

WANTED = set(sys.argv[2:])
SMALL = bool(os.environ.get("NUMBALITE_BENCH_SMALL"))  # run.py --small
LARGE = 1 << 17 if SMALL else 1 << 28  # elements of one dimension
SIDE = 1 << 10 if SMALL else 1 << 14  # of a square array
MANY = 1000 if SMALL else 1_000_000
TEXT = """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""


def assert_result(got, want, rtol=1e-5):
    """Checks a result; `got` may be any argument of np.asarray."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape} instead of {want.shape}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6)


def median(function, inner=1, sync=lambda: None, rounds=7):
    """Returns microseconds of one call."""
    if SMALL:
        inner, rounds = min(inner, 3), 1
    function()
    sync()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        times.append((time.perf_counter() - start) / inner * 1e6)
        sync()
    return statistics.median(times)


def run_row(name):
    """Decorates a function that measures a row: calls it and prints its result, unless the row was not requested."""

    def print_row(function):
        if WANTED and name not in WANTED:
            return
        try:
            print(json.dumps({name: function()}), flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip()[:200]}", file=sys.stderr)

    return print_row


def time_row(name, call, want, inner=1, sync=lambda: None, rounds=7, read=np.asarray):
    """Prints the row `name`: microseconds of call(), after a comparison of read(call()) with `want`, which
    may be a function that returns the expected result."""

    @run_row(name)
    def time_call():
        assert_result(read(call()), want() if callable(want) else want)
        return median(call, inner, sync, rounds)


def import_time(code):
    """Returns microseconds of `code` in a fresh process that has imported NumPy."""
    program = f"import time, numpy\nt = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    times = []
    for _ in range(1 if SMALL else 3):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        times.append(float(done.stdout))
    return min(times) * 1e6


def process_time(program):
    times = []
    for _ in range(1 if SMALL else 4):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def event_times(function, record, wait, elapsed, inner=5, rounds=5):
    """Returns the device time of a call in microseconds. record() returns an event, elapsed(a, b)
    returns milliseconds."""
    if SMALL:
        inner, rounds = 1, 1
    function()
    times = []
    for _ in range(rounds):
        wait()
        start = record()
        for _ in range(inner):
            function()
        end = record()
        wait()
        times.append(elapsed(start, end) / inner * 1e3)
    return statistics.median(times)


# ---- what several of them compute ------------------------------------------------------------------------
def angle_ramp():
    """Returns the arguments of sincos, U4 and P1."""
    return np.linspace(0, np.pi, MANY)


def expected_sincos(x, y):
    return np.sin(x) * np.cos(y)


def arguments_of_powers():
    """Returns the arguments of powers, U5."""
    return np.random.default_rng(7).random((4, 5 * MANY), np.float32)


def expected_powers(p, q, r, s):
    return np.sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)


def small_matrices():
    """Measures small products of matrices: rows G1 and G2."""
    return np.random.default_rng(7).random((4 * MANY, 2, 2), np.float32)


def large_copies(to_device, to_host):
    """Measures T1 and T2: copies a gibibyte of pageable memory to the device, and back into a new array."""
    host = np.arange(LARGE, dtype=np.float32)
    kept = []
    call = lambda: kept.__setitem__(slice(None), [to_device(host)])
    time_row("T1", call, host, rounds=3, read=lambda _: to_host(kept[0]))
    kept[:] = [to_device(host)]
    time_row("T2", lambda: to_host(kept[0]), host, rounds=3)


def element_rows(xp, time):
    """Measures the rows U3, E and R: ``xp`` has add, sum, periodic_integers(shape, dtype) and host(x),
    ``time(function)`` gives microseconds on the device."""

    def last_elements(x):
        """Returns the last elements of a device array."""
        return xp.host(x[(slice(-64, None),) * x.ndim])

    def add_element_row(key, a, b, first=lambda x: x, second=lambda y: y):
        @run_row(key)
        def time_add():
            x, y = first(xp.numbers(*a)), second(xp.numbers(*b))
            z = xp.add(x, y)
            z[...] = 77
            call = lambda: xp.add(x, y, out=z)
            call()
            assert_result(last_elements(z), last_elements(x) + last_elements(y))
            return time(call)

    def add_sum_row(key, dtype, axis):
        @run_row(key)
        def time_sum():
            shape = SIDE // (2 if dtype == "float64" else 1), SIDE
            x = xp.numbers(shape, dtype)
            call = lambda: xp.sum(x, axis)
            rows, columns = (np.arange(n) % p for n, p in zip(shape, PERIODS))
            want = {
                None: rows.sum() * shape[1] + columns.sum() * shape[0],
                1: rows * shape[1] + columns.sum(),
                0: rows.sum() + columns * shape[0],
            }[axis]
            assert_result(xp.host(call()), np.asarray(want).astype(dtype))
            return time(call)

    n, square = LARGE, ((SIDE, SIDE), "float32")
    add_element_row("U3", ((n,), "float32"), ((n,), "float32"))
    add_element_row("E1", ((n,), "int8"), ((n,), "int8"))
    add_element_row("E2", ((n,), "int16"), ((n,), "int16"))
    add_element_row("E3", ((n // 2,), "float64"), ((n // 2,), "float64"))
    add_element_row("E4", ((n // 2,), "float32"), ((n // 2,), "float64"))
    add_element_row("E6", square, ((SIDE,), "float32"))
    add_element_row("E7", square, ((SIDE,), "float32"), second=lambda y: y.reshape(SIDE, 1))
    add_element_row("E8", square, square, second=lambda y: y.T)
    add_element_row("E9", ((n,), "float32"), ((n // 2,), "float32"), first=lambda x: x[::2])
    half = (n // 2,), "float32"
    add_element_row("E10", half, half, lambda x: x[1:], lambda y: y[:-1])
    for number, dtype in enumerate(("float32", "float64", "int8"), 1):
        for letter, axis in (("a", None), ("b", 1), ("c", 0)):
            add_sum_row(f"R{number}{letter}", dtype, axis)


# Period of the elements of the array that `numbers` returns, along each dimension
PERIODS = (5, 7)


def periodic_integers(arange, shape):
    """Returns small integers that repeat along each dimension."""
    parts = [arange(n) % period for n, period in zip(shape, PERIODS)]
    return parts[0] if len(parts) == 1 else parts[0][:, None] + parts[1]
