"""Compares every function on device arrays with CuPy and torch, for all dtypes, sizes and memory
layouts, in one run. Cases slower than the fastest library by more than 5 % are printed at the end;
docs/performance.md has the reasons.

    python tests/bench/run.py --sweep [--part 2/5] [--only sum,add] [--seconds 200] [--after "sum f4"] [--json FILE]

After --seconds it prints the --after argument of the next run: `--after` continues behind that
case.

Times of small arrays are dominated by the host, times of large arrays by the device.
Small results are compared with NumPy's before they are timed. Large arrays are made on the device,
once for all functions and libraries, which share the memory; kernels are compiled before, by
several threads.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import time
import warnings

import numpy as np

from numbalite import cuda

SIZES = (1, 1000, 1_000_000, 1 << 26)
HOST_CALLS = 40
SECONDS, ROUNDS = 0.009, 3  # of one measurement
KEPT_BYTES = 12 << 30  # of large arrays
SLACK = 1.05
NOISE = 0.3  # µs that are no loss
COMPILED = 12  # number of functions with a dtype whose kernels are compiled in parallel


def unary_call(name):
    return lambda xp, x, y: getattr(xp, name)(x)


def binary_call(name):
    return lambda xp, x, y: getattr(xp, name)(x, y)


def call_along_axis(name, axis):
    return lambda xp, x, y: getattr(xp, name)(x, axis)


def make_assignment(key):
    def assign_key(xp, x, y):
        x[key] = y[key]
        return x

    return assign_key


def make_number_assignment(key):
    def assign_number(xp, x, y):
        x[key] = 1.5
        return x

    return assign_number


UNARY = "sqrt exp log sin tanh absolute negative square floor isnan reciprocal"
BINARY = "add subtract multiply divide power maximum arctan2 less logical_and hypot"
FOLDS = "sum prod max min mean var std any all argmax argmin count_nonzero"
SHIFTED = "bitwise_and left_shift floor_divide remainder gcd"

FUNCTIONS = {
    **{name: (unary_call(name), "fd") for name in UNARY.split()},
    **{name: (binary_call(name), "fd") for name in BINARY.split()},
    **{f"{name} of integers": (binary_call(name), "i") for name in ["add", *SHIFTED.split()]},
    **{name: (unary_call(name), "fdi") for name in FOLDS.split()},
    **{f"{name} axis {axis}": (call_along_axis(name, axis), "f") for name in ("sum", "max", "var", "argmax") for axis in (0, 1)},
    "cumsum": (lambda xp, x, y: xp.cumsum(x, 0), "fi"),
    "where": (lambda xp, x, y: xp.where(x > y, x, y), "fd"),
    "clip": (lambda xp, x, y: xp.clip(x, 0.25, 0.75), "fd"),
    "copy": (lambda xp, x, y: copy_call(xp, x), "fdD"),
    "astype": (lambda xp, x, y: cast_to_float64(xp, x), "fi"),
    "x[...] = y": (make_assignment(...), "fD"),
    "x[::2] = y[::2]": (make_assignment(np.s_[::2]), "fD"),
    "x[...] = 1.5": (make_number_assignment(...), "fdD"),
    "x[::2] = 1.5": (make_number_assignment(np.s_[::2]), "fdD"),
    "concatenate": (lambda xp, x, y: xp.concatenate((x, y)), "f"),
    "roll": (lambda xp, x, y: xp.roll(x, 3, 0), "f"),
    "tile": (lambda xp, x, y: xp.tile(x, (2, 1)), "f"),
    "repeat": (lambda xp, x, y: xp.repeat(x, 2, 0), "f"),
    "take": (lambda xp, x, y: xp.take(x, random_indices(xp, x), 0), "f"),
    "x[indices]": (lambda xp, x, y: x[random_indices(xp, x)], "fD"),
    "sort": (lambda xp, x, y: xp.sort(x, 0), "f"),
    "matmul": (lambda xp, x, y: xp.matmul(x[:64], y[:64].T), "f"),
    "isclose": (lambda xp, x, y: xp.isclose(x, y), "f"),
    "round": (lambda xp, x, y: xp.round(x), "f"),
    "diff": (lambda xp, x, y: xp.diff(x, axis=0), "f"),
}  # fmt: skip
DTYPES = {"f": "f4", "d": "f8", "i": "i4", "D": "c16"}
# Returns the name of torch's equivalent, if any.
TORCH = {
    **{name: unary_call(name) for name in ("sqrt exp log sin tanh absolute negative square floor isnan reciprocal").split()},
    **{name: binary_call(name) for name in ("add subtract multiply divide maximum arctan2 less hypot").split()},
    "power": binary_call("pow"),
    **{name: unary_call(name) for name in ("sum prod max min mean any all argmax argmin count_nonzero").split()},
    **{f"{name} axis {axis}": call_along_axis(name, axis) for name in ("sum", "argmax") for axis in (0, 1)},
    **{f"max axis {axis}": call_along_axis("amax", axis) for axis in (0, 1)},
    "cumsum": lambda xp, x, y: xp.cumsum(x, 0),
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "clip": lambda xp, x, y: xp.clip(x, 0.25, 0.75),
    "copy": lambda xp, x, y: x.contiguous() if not x.is_contiguous() else x.clone(),
    "x[...] = y": make_assignment(...),
    "x[::2] = y[::2]": make_assignment(np.s_[::2]),
    "x[...] = 1.5": make_number_assignment(...),
    "x[::2] = 1.5": make_number_assignment(np.s_[::2]),
    "concatenate": lambda xp, x, y: xp.cat((x, y)),
    "roll": lambda xp, x, y: xp.roll(x, 3, 0),
    "tile": lambda xp, x, y: xp.tile(x, (2, 1)),
    "repeat": lambda xp, x, y: xp.repeat_interleave(x, 2, 0),
    "x[indices]": lambda xp, x, y: x[random_indices(xp, x)],
    "sort": lambda xp, x, y: xp.sort(x, 0)[0],
    "matmul": lambda xp, x, y: xp.matmul(x[:64], y[:64].T),
    "round": unary_call("round"),
    "diff": lambda xp, x, y: xp.diff(x, dim=0),
}  # fmt: skip
_kept: dict = {}
_large: dict = {}


def copy_call(xp, x):
    return x.copy()


def cast_to_float64(xp, x):
    return x.astype("f8")


def random_indices(xp, x):
    """Returns random indices, as many as there are rows."""
    key = xp.__name__, x.shape[0]
    if key not in _kept:
        host = np.random.default_rng(1).integers(0, x.shape[0], x.shape[0])
        _kept[key] = LIBRARIES[xp.__name__].array(host)
    return _kept[key]


# ------------------------------------------------------------------------------------ who is measured


class NumbaliteLibrary:
    xp = np

    def array(self, host):
        return cuda.to_device(host)

    def view(self, array):
        return array

    def host(self, made):
        return made.copy_to_host() if hasattr(made, "copy_to_host") else np.asarray(made)


class CuPyLibrary:
    def __init__(self):
        import cupy

        self.xp = cupy

    def array(self, host):
        return self.xp.asarray(host)

    view = array

    def host(self, made):
        return self.xp.asnumpy(made)


class TorchLibrary:
    def __init__(self):
        import torch

        self.xp = torch

    def array(self, host):
        return self.xp.from_numpy(host).cuda()

    def view(self, array):
        return self.xp.from_dlpack(array)

    def host(self, made):
        return made.cpu().numpy()


LIBRARIES: dict = {}


def open_libraries():
    LIBRARIES["numpy"] = NumbaliteLibrary()
    for kind in (CuPyLibrary, TorchLibrary):
        with contextlib.suppress(ImportError):
            made = kind()
            LIBRARIES[made.xp.__name__] = made


def synchronize():
    for library in LIBRARIES.values():
        if library.xp.__name__ == "torch":
            library.xp.cuda.synchronize()
        elif library.xp.__name__ == "cupy":
            library.xp.cuda.Device().synchronize()
    cuda.synchronize()


# ------------------------------------------------------------------------------------------ arrays


def matrix_shape(size):
    columns = 1 if size == 1 else 10 if size == 1000 else 1000 if size == 1_000_000 else 8192
    return size // columns, columns


def operand_layouts(size):
    """Returns a dict from names to (operation, views of its operands), for two operands."""
    rows, columns = matrix_shape(size)
    found = {"contiguous": (((rows, columns), lambda x: x),) * 2}
    if size > 1:
        found["strided"] = (((rows, 2 * columns), lambda x: x[:, ::2]),) * 2
        found["broadcast"] = ((rows, columns), lambda x: x), ((1, columns), lambda x: x)
        found["transposed"] = ((columns, rows), lambda x: x.T), ((rows, columns), lambda x: x)
        found["unaligned"] = (((rows, columns + 1), lambda x: x[:, 1:]),) * 2
    if size > 1000:
        found["rows of 33"] = (((size // 33, 33), lambda x: x),) * 2
        found["of 50 apart"] = (((size // 50, 100), lambda x: x[:, ::2]),) * 2
    return found


def random_values(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    small = rng.integers(1, 9, min(shape[0] * shape[1], 1 << 16))
    made = np.resize(small, shape)
    return made.astype(dtype) if dtype[0] == "i" else (made / 10).astype(dtype)


def cached_device_array(shape, dtype, seed):
    """Returns the same numbers repeatedly; functions that write into an array replace them by other such
    numbers."""
    key = shape, dtype, seed
    found = _large.get(key)
    if found is None:
        if sum(array.nbytes for array in _large.values()) > KEPT_BYTES:
            _large.clear()
        part = cuda.to_device(random_values((1, 1 << 16), dtype, seed))
        count = -(-shape[0] * shape[1] // part.size)
        made = cuda.empty((count, part.size), dtype)
        made[...] = part
        found = _large[key] = made.reshape(-1)[: shape[0] * shape[1]].reshape(shape)
    return found


def make_operands(library, hosts, dtype, operand_views):
    """Returns both operands for a library; `hosts` is None if the arrays are large."""
    for seed, (shape, used) in enumerate(operand_views):
        if hosts is None:
            yield used(library.view(cached_device_array(shape, dtype, seed)))
        else:
            yield used(library.array(hosts[seed]))


def per_call(run):
    """Returns the microseconds of a call, from several calls in sequence: the host's or the device's part,
    whichever is longer."""
    run()
    synchronize()
    begin = time.perf_counter()
    run()
    synchronize()
    once = time.perf_counter() - begin
    count = max(1, min(HOST_CALLS, int(SECONDS / ROUNDS / max(once, 1e-6))))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        synchronize()
        best = min(best, (time.perf_counter() - begin) / count)
    return best * 1e6


def is_close_to_expected(made, expected):
    if made.shape != expected.shape:
        return False
    return np.allclose(made, expected, rtol=1e-3, atol=1e-3, equal_nan=True)


def measure_case(name, function, dtype, size, operand_views):
    """Returns {library: µs} of a case, or numbalite's error."""
    hosts = None
    if size <= 1000:
        hosts = [random_values(shape, dtype, seed) for seed, (shape, _) in enumerate(operand_views)]
    found = {}
    for label, library in LIBRARIES.items():
        run = TORCH.get(name) if label == "torch" else function
        if run is None:
            continue
        try:
            x, y = make_operands(library, hosts, dtype, operand_views)
            if label == "numpy" and hosts:
                expected = np.asarray(
                    function(
                        np,
                        *(
                            used(h.copy())
                            for h, (_, used) in zip(hosts, operand_views, strict=True)
                        ),
                    )
                )
                made = library.host(run(np, x, y))
                if not is_close_to_expected(made, expected):
                    return {"wrong": True}
            found[label] = per_call(
                lambda run=run, library=library, x=x, y=y: run(library.xp, x, y)
            )
        except Exception as problem:
            if label == "numpy":
                return {"refused": f"{type(problem).__name__}: {problem}"[:100]}
        finally:
            x = y = made = None
    return found


def case_label(case):
    name, _, code = case
    return f"{name} {DTYPES[code]}"


def select_cases(part, only, after):
    every = [
        (name, function, code)
        for name, (function, codes) in FUNCTIONS.items()
        for code in codes
        if not only or name in only
    ]
    number, count = part
    every = every[number - 1 :: count]
    if not after:
        return every
    labels = [case_label(case) for case in every]
    if after not in labels:
        raise SystemExit(f"--after {after!r}: one of {', '.join(labels)}")
    return every[labels.index(after) + 1 :]


def compile_first(every):
    """Calls each function once for each layout and library, by as many threads as there are cores."""

    def make_call(label, name, function, code, operand_views):
        library, run = LIBRARIES[label], TORCH.get(name) if label == "torch" else function
        if run is not None:
            with contextlib.suppress(Exception):
                run(library.xp, *make_operands(library, None, DTYPES[code], operand_views))

    shapes = [
        operand_views for size in SIZES[1:3] for operand_views in operand_layouts(size).values()
    ]
    for _, _, code in every:  # made by one thread
        for operand_views in shapes:
            list(make_operands(LIBRARIES["numpy"], None, DTYPES[code], operand_views))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for operand_views in shapes:
            for case in every:
                for label in LIBRARIES:
                    pool.submit(make_call, label, *case, operand_views)
    synchronize()


def measure_case_sizes(case):
    name, function, code = case
    for size in SIZES:
        if code == "D" and size == SIZES[-1]:
            size //= 2
        if name == "sort" and size > 1_000_000:
            continue
        for layout, operand_views in operand_layouts(size).items():
            found = measure_case(name, function, DTYPES[code], size, operand_views)
            yield {"function": name, "dtype": DTYPES[code], "size": size, "layout": layout, **found}


def run_sweep(part=(1, 1), only=(), file=None, seconds=None, after=None):
    warnings.simplefilter("ignore")
    open_libraries()
    begin, rows, every = time.perf_counter(), [], select_cases(part, only, after)
    for number, case in enumerate(every):
        if seconds and time.perf_counter() - begin > seconds:
            last = case_label(every[number - 1])
            print(f"{len(every) - number} are left: --after {last!r}")
            break
        if number % COMPILED == 0:
            compile_first(every[number : number + COMPILED])
        rows += measure_case_sizes(case)
        with contextlib.suppress(Exception):
            LIBRARIES["cupy"].xp.get_default_memory_pool().free_all_blocks()
        with contextlib.suppress(Exception):
            LIBRARIES["torch"].xp.cuda.empty_cache()
        if file:  # written after each function, so that an interrupted run still has results
            pathlib.Path(file).write_text(json.dumps(rows, indent=0))
    print_report(rows, time.perf_counter() - begin)
    return rows


def print_report(rows, seconds):
    losses = []
    for row in rows:
        where = f"{row['function']:<26} {row['dtype']:<4} {row['size']:>9,} {row['layout']:<11}"
        if "numpy" not in row:
            losses.append((float("inf"), f"{where} {row.get('refused', 'WRONG')}"))
            continue
        peers = {label: row[label] for label in ("cupy", "torch") if label in row}
        best = min(peers.values(), default=float("inf"))
        if row["numpy"] > SLACK * best + NOISE:
            told = "  ".join(f"{label} {value:,.1f}" for label, value in peers.items())
            losses.append((row["numpy"] / best, f"{where} {row['numpy']:>10,.1f}  {told}"))
    timed = sum("numpy" in row for row in rows)
    print(f"{timed} of {len(rows)} cases timed in {seconds:.0f} s; {len(losses)} lost, µs a call:")
    for ratio, line in sorted(losses, reverse=True):
        print(f"{ratio:6.2f}  {line}")
