"""Compares array functions with changing shapes with CuPy and torch in one run: each function is called once with
each of 300 shapes, after 20 others, and then repeatedly with one shape. Another process makes the same calls before,
so that the libraries' compiled kernels are in their caches, as in the second run of a program.

    python tests/bench/run.py --shapes [--only sum,cumsum] [--json FILE] [--write]
    python tests/bench/run.py --shapes --from FILE --write     the tables of an earlier run
    python tests/bench/run.py --host --shapes [--only sum]     the host's part, with a driver that does nothing

For each row microseconds per call: changing shapes, and in brackets one shape. The last lines are the rows that need
more than the better of the peers, or more than 10 us over the same call on one shape.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time
import warnings

import numpy as np
import speed_table
import sweep

from numbalite import cuda

WARM, COUNT = 20, 300
ALLOWED = 10.0  # microseconds that a call with a new shape may take longer than with one shape
PLANNED_BY_CUFFT = {"rfft"}  # a new length needs a plan of cuFFT, also in the peers
FUSED_BY_TORCH = {"softmax, written out"}  # torch has one function for these calls
REPEATS = 3
SIZES = 10_000, 1_000_000  # smallest and largest number of elements
BEGIN = "<!-- make bench ARGS=--shapes writes from here -->"
README_ROWS = 5


def function_caller(name, *given):
    return lambda xp, x: getattr(xp, name)(x, *given)


def softmax(xp, x):
    e = xp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_of_torch(xp, x):
    return xp.softmax(x, 1)


def rfft(xp, x):
    return xp.fft.rfft(x)


def random_indices(xp, x):
    """Returns device indices, half as many as the array has elements."""
    library = cuda if xp is np else xp
    return library.arange(x.shape[0] // 2, **({"device": "cuda"} if xp.__name__ == "torch" else {}))


def take_indices(xp, x):
    return xp.take(x, random_indices(xp, x))


# name -> (dimensions, the call, torch's call if it differs, None if torch has no such function)
ROWS = {
    "a + a": (1, lambda xp, x: x + x),
    "exp": (1, function_caller("exp")),
    "sum": (1, function_caller("sum")),
    "max": (1, function_caller("max")),
    "sum, axis 0": (2, function_caller("sum", 0)),
    "sum, axis 1": (2, function_caller("sum", 1)),
    "max, axis 0": (2, function_caller("max", 0), function_caller("amax", 0)),
    "max, axis 1": (2, function_caller("max", 1), function_caller("amax", 1)),
    "mean": (1, function_caller("mean")),
    "mean, axis 1": (2, function_caller("mean", 1)),
    "std": (1, function_caller("std")),
    "var, axis 0": (2, function_caller("var", 0)),
    "argmax": (1, function_caller("argmax")),
    "argmax, axis 1": (2, function_caller("argmax", 1)),
    "any": (1, lambda xp, x: (x > 2).any()),
    "count_nonzero": (1, function_caller("count_nonzero")),
    "cumsum": (1, function_caller("cumsum", 0)),
    "cumsum, axis 1": (2, function_caller("cumsum", 1)),
    "sort": (1, function_caller("sort"), lambda xp, x: xp.sort(x)[0]),
    "argsort": (1, function_caller("argsort")),
    "a[a > 0.5]": (1, lambda xp, x: x[x > 0.5]),
    "nonzero": (1, function_caller("nonzero")),
    "unique": (1, function_caller("unique")),
    "percentile": (1, function_caller("percentile", 50.0), lambda xp, x: xp.quantile(x, 0.5)),
    "softmax, written out": (2, softmax, softmax_of_torch),
    "concatenate": (1, lambda xp, x: xp.concatenate((x, x)), lambda xp, x: xp.cat((x, x))),
    "stack": (1, lambda xp, x: xp.stack((x, x))),
    "pad": (1, function_caller("pad", 1), lambda xp, x: xp.nn.functional.pad(x, (1, 1))),
    "tile": (1, function_caller("tile", 2)),
    "roll": (1, function_caller("roll", 1)),
    "flip": (1, function_caller("flip", 0), function_caller("flip", [0])),
    "a.T.copy()": (2, lambda xp, x: x.T.copy(), lambda xp, x: x.T.contiguous()),
    "where": (1, lambda xp, x: xp.where(x > 0.5, x, 0.0)),
    "clip": (1, function_caller("clip", 0.25, 0.75)),
    "rfft": (1, rfft),
    "a[index]": (1, lambda xp, x: x[random_indices(xp, x)]),
    "take": (1, take_indices),
    "searchsorted": (1, lambda xp, x: xp.searchsorted(x, x)),
    "sum, where=": (1, lambda xp, x: x.sum(where=x > 0.5), None),
    "sum, initial=": (1, lambda xp, x: x.sum(initial=1.0), None),
    "add.reduceat": (1, lambda xp, x: xp.add.reduceat(x, [0, 100]), None),
}  # fmt: skip


def random_shapes(dimensions, smallest, largest):
    """Returns 320 different shapes, the same in each run."""
    rng = np.random.default_rng(7)
    sizes = rng.choice(np.arange(smallest, largest), WARM + COUNT, replace=False)
    if dimensions == 1:
        return [(int(n),) for n in sizes]
    columns = rng.integers(17, 900, len(sizes))
    return [(max(1, int(n) // int(c)), int(c)) for n, c in zip(sizes, columns, strict=True)]


def function_of_row(row, label):
    return row[2] if label == "torch" and len(row) > 2 else row[1]


def time_call(call, arrays):
    """Returns the microseconds per call of a function that is called with each of the arrays."""
    sweep.synchronize()
    begin = time.perf_counter()
    for one in arrays:
        call(one)
    sweep.synchronize()
    return (time.perf_counter() - begin) / len(arrays) * 1e6


def measure_row(label, library, row, hosts):
    """Returns (changing shapes, one shape) in us per call."""
    run, xp = function_of_row(row, label), library.xp
    if run is None:
        raise NotImplementedError
    arrays = [library.array(host) for host in hosts]
    call = lambda x: run(xp, x)
    time_call(call, arrays[:WARM])
    changing = time_call(call, arrays[WARM:])
    one = min(time_call(call, arrays[WARM : WARM + 1] * COUNT) for _ in range(REPEATS))
    return changing, one


def selected_rows(only, smallest, largest):
    """Yields (name, row, host arrays of its shapes)"""
    rng = np.random.default_rng(3)
    for name, row in ROWS.items():
        if not only or any(word in name for word in only):
            shapes = random_shapes(row[0], smallest, largest)
            yield name, row, [rng.random(shape, np.float32) for shape in shapes]


def fill_caches(only):
    """Makes the calls of all rows in another process."""
    subprocess.run([sys.executable, __file__, *only], check=True)


def call_rows(only):
    """Calls each row once with each shape, without a measurement."""
    sweep.open_libraries()
    for _, row, hosts in selected_rows(only, *SIZES):
        for label, library in sweep.LIBRARIES.items():
            run = function_of_row(row, label)
            with contextlib.suppress(Exception):  # the measurement lists what a library refuses
                for host in hosts:
                    run(library.xp, library.array(host))
            sweep.synchronize()


def measure_rows_with_shapes(only, smallest, largest):
    """Returns {row: {library: (time of calls with changing shapes, time of calls with one shape)}}. Prints each row
    when it is measured."""
    found = {}
    for name, row, hosts in selected_rows(only, smallest, largest):
        found[name] = {}
        for label, library in sweep.LIBRARIES.items():
            try:
                found[name][label] = measure_row(label, library, row, hosts)
            except Exception as problem:
                if label == "numpy":
                    found[name]["refused"] = f"{type(problem).__name__}: {problem}"[:200]
        print_row(name, found[name])
    return found


def print_row(name, row):
    told = "  ".join(
        f"{'numbalite' if label == 'numpy' else label} {value[0]:,.1f} ({value[1]:,.1f})"
        for label, value in row.items()
        if label != "refused"
    )
    print(f"{name:<22} {told or row.get('refused')}", flush=True)


def excess_of_row(name, row):
    """Returns the ratio of the measured time to the allowed time if the row is too slow, else 0."""
    if "numpy" not in row:
        return float("inf")
    changing, one = row["numpy"]
    compared = ("cupy",) if name in FUSED_BY_TORCH else ("cupy", "torch")
    peers = [value[0] for label, value in row.items() if label in compared]
    allowed = min(peers if name in PLANNED_BY_CUFFT and peers else [one + ALLOWED, *peers])
    return changing / allowed if changing > sweep.SLACK * allowed + sweep.NOISE else 0.0


def print_report(found):
    losses = sorted(
        (
            (excess_of_row(name, row), name)
            for name, row in found.items()
            if excess_of_row(name, row)
        ),
        reverse=True,
    )
    print(f"{len(losses)} of {len(found)} rows are slower than allowed:")
    for ratio, name in losses:
        print(f"{ratio:6.2f}  {name}")


def ratio_to_peers(row):
    return row["numpy"][0] / min(row[label][0] for label in ("cupy", "torch") if label in row)


def format_shapes_table(found, most=None):
    """Returns the table of all rows, or of the `most` rows that are slowest relative to the better peer."""
    compared = {
        name: row
        for name, row in found.items()
        if "numpy" in row and len(row) > 1 and name not in PLANNED_BY_CUFFT | FUSED_BY_TORCH
    }
    names = sorted(compared, key=lambda name: ratio_to_peers(compared[name]), reverse=True)
    lines = [
        "| call, a new shape each time (one shape) | numbalite | cupy | torch |",
        "|---|---|---|---|",
    ]
    for name in names[:most]:
        cells = (
            f"{row[0]:.1f} µs ({row[1]:.1f})" if row else ""
            for row in map(found[name].get, ("numpy", "cupy", "torch"))
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def update_pages(found):
    """Replaces the tables of docs/performance.md and README.md."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for path, most in (("docs/performance.md", None), ("README.md", README_ROWS)):
        speed_table.replace_between_markers(root / path, format_shapes_table(found, most), BEGIN)


def measure_shapes(only=(), file=None, source=None, writes=False):
    """Measures numbalite and the installed peers on the device, or reads the results of the file `source`; 1 if
    numbalite refused a row."""
    if source:
        found = json.loads(pathlib.Path(source).read_text())
    else:
        warnings.simplefilter("ignore")
        fill_caches(only)
        sweep.open_libraries()
        found = measure_rows_with_shapes(only, *SIZES)
    print_report(found)
    if writes:
        update_pages(found)
    if file:
        pathlib.Path(file).write_text(json.dumps(found, indent=1) + "\n")
    return 1 if any("refused" in row for row in found.values()) else 0


def measure_host_time(only):
    """Measures the host's part of numbalite's calls: with small arrays, on a driver whose calls do nothing."""
    sweep.LIBRARIES["numpy"] = sweep.NumbaliteLibrary()
    print_report(measure_rows_with_shapes(only, 1000, 20_000))


if __name__ == "__main__":
    call_rows(sys.argv[1:])
