"""Measures first calls, with an empty cache, in one process: the delay that an interactive user
sees.

    python tests/bench/first_calls.py [--dtype f4] [--peer cupy] [--json FILE]

Each function is called twice on small arrays. The first call takes longer by the cost of imports,
compilation, and loading of the code. `.ci/images` collects the sources of these
calls with other dtypes, shapes and layouts, and compiles them for the wheels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import numpy as np


def calls_by_name(xp, array, dtype, size=1000, shape=(32, 32)):
    """Returns {name: call} for an array library with NumPy's names; ``array(numpy_array)`` creates arrays of
    this library. ``size`` and ``shape`` are those of the arrays with one and two axes."""
    dtype = np.dtype(dtype)
    host = (np.arange(size) % 100).astype(dtype)
    x, m = array(host), array(np.resize(host, shape))
    mask, index = array(np.arange(size) % 3 == 0), array(np.arange(size)[::-1].copy())
    counts = array(np.arange(size) % 50)
    two = array(dtype.type(2))
    found = {
        "a + a": lambda: x + x,
        "a * 2": lambda: x * 2,
        "a - b": lambda: x - two,
        "a / 3": lambda: x / 3,
        "-a": lambda: -x,
        "abs": lambda: abs(x),
        "a > 0": lambda: x > 0,
        "a == a": lambda: x == x,
        "a ** 2": lambda: x**2,
        "sqrt": lambda: xp.sqrt(x),
        "exp": lambda: xp.exp(x),
        "log": lambda: xp.log(x + 1),
        "sin": lambda: xp.sin(x),
        "tanh": lambda: xp.tanh(x),
        "maximum": lambda: xp.maximum(x, two),
        "clip": lambda: xp.clip(x, 1, 3),
        "where": lambda: xp.where(mask, x, two),
        "astype f8": lambda: x.astype("f8"),
        "astype f4": lambda: x.astype("f4"),
        "astype i4": lambda: x.astype("i4"),
        "sum": lambda: x.sum(),
        "sum(where)": lambda: x.sum(where=mask),
        "sum(0)": lambda: m.sum(0),
        "sum(1)": lambda: m.sum(1),
        "prod": lambda: x.prod(),
        "max": lambda: x.max(),
        "min": lambda: x.min(),
        "max(0)": lambda: m.max(0),
        "max(1)": lambda: m.max(1),
        "min(0)": lambda: m.min(0),
        "min(1)": lambda: m.min(1),
        "mean": lambda: x.mean(),
        "mean(0)": lambda: m.mean(0),
        "mean(1)": lambda: m.mean(1),
        "std": lambda: x.std(),
        "std(0)": lambda: m.std(0),
        "std(1)": lambda: m.std(1),
        "var": lambda: x.var(),
        "var(0)": lambda: m.var(0),
        "var(1)": lambda: m.var(1),
        "argmax": lambda: x.argmax(),
        "argmax(0)": lambda: m.argmax(0),
        "argmax(1)": lambda: m.argmax(1),
        "argmin": lambda: x.argmin(),
        "any": lambda: x.any(),
        "all": lambda: x.all(),
        "count_nonzero": lambda: xp.count_nonzero(x),
        "cumsum": lambda: xp.cumsum(x),
        "cumsum(0)": lambda: xp.cumsum(m, 0),
        "cumsum(1)": lambda: xp.cumsum(m, 1),
        "searchsorted": lambda: xp.searchsorted(x, x),
        "sort": lambda: xp.sort(x),
        "argsort": lambda: xp.argsort(x),
        "unique": lambda: xp.unique(x),
        "a[mask]": lambda: x[mask],
        "a[index]": lambda: x[index],
        "a[1:]": lambda: x[1:].copy(),
        "a[::2]": lambda: x[::2] + x[::2],
        "nonzero": lambda: xp.nonzero(x),
        "bincount": lambda: xp.bincount(counts),
        "histogram": lambda: xp.histogram(x, 10),
        "norm": lambda: xp.linalg.norm(x),
        "dot": lambda: xp.dot(x, x),
        "m.T.copy()": lambda: m.T.copy(),
        "m + row": lambda: m + m[0],
        "m + column": lambda: m + m[:, :1],
        "concatenate": lambda: xp.concatenate([x, x]),
        "fill": lambda: xp.full(size, 3, dtype),
        "arange": lambda: xp.arange(size),
        "linspace": lambda: xp.linspace(0, 1, size),
        "diff": lambda: xp.diff(x),
        "median": lambda: xp.median(x),
        "isnan": lambda: xp.isnan(x),
    }
    floating = ("sqrt", "exp", "log", "sin", "tanh", "isnan", "norm", "a / 3")
    if dtype.kind == "b":
        kept = "a == a|where|astype f4|astype i4|sum|sum(0)|sum(1)|any|all|count_nonzero|a[mask]|a[index]|nonzero|concatenate|mean"
        return {name: call for name, call in found.items() if name in kept.split("|")}
    return found if dtype.kind == "f" else {n: c for n, c in found.items() if n not in floating}


def load_library(name):
    """Returns (module, function that makes an array, function that waits)"""
    if name == "cupy":
        import cupy

        return cupy, cupy.asarray, cupy.cuda.Device().synchronize
    from numbalite import cuda

    return cuda, cuda.to_device, cuda.synchronize


def count_compilations(name):
    if name != "numbalite":
        return 0
    from numbalite import compilers

    return compilers.compile_count()


def measure_first_calls(name, dtype):
    """Returns {function: [milliseconds, number of compiler runs]}."""
    xp, array, wait = load_library(name)
    found = {}
    for function, call in calls_by_name(xp, array, dtype).items():
        wait()
        times, before = [], count_compilations(name)
        for _ in range(3):
            begin = time.perf_counter()
            call()
            wait()
            times.append(time.perf_counter() - begin)
        found[function] = 1000 * (times[0] - min(times[1:])), count_compilations(name) - before
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dtype", default="f4")
    parser.add_argument("--peer", help="cupy: measured in a process of its own")
    parser.add_argument("--library", default="numbalite", help=argparse.SUPPRESS)
    parser.add_argument("--json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            NUMBALITE_CACHE_DIR=f"{folder}/numbalite", CUPY_CACHE_DIR=f"{folder}/cupy"
        )
        os.environ["CUDA_CACHE_PATH"] = f"{folder}/driver"
        if given.library != "numbalite" or not given.peer:
            columns = {given.library: measure_first_calls(given.library, given.dtype)}
        else:
            columns = {}
            for name in ("numbalite", given.peer):
                file = f"{folder}/{name}.json"
                command = [sys.executable, __file__, "--dtype", given.dtype, "--library", name]
                os.spawnv(os.P_WAIT, sys.executable, [*command, "--json", file])
                with open(file) as opened:
                    columns.update(json.load(opened))
    if given.json:
        with open(given.json, "w") as opened:
            json.dump(columns, opened)
        if given.library != "numbalite" or not given.peer:
            return
    print("| first call, ms |", " | ".join(columns), "| compiled |")
    print("|---|" + "---|" * (len(columns) + 1))
    for function, (_, runs) in columns["numbalite"].items():
        print(f"| {function} |", *(f"{c[function][0]:.0f} |" for c in columns.values()), runs, "|")
    for what, of in (("all functions", sum), ("median", statistics.median), ("largest", max)):
        print(
            f"| {what} |",
            *(f"{of([t for t, _ in c.values()]):.0f} |" for c in columns.values()),
            "|",
        )


if __name__ == "__main__":
    main()
