"""Array functions with operands of their own, next to CuPy and torch in one run: random numbers, sorting, searching,
linear algebra, sparse arrays, unusual dtypes and extreme shapes.

    python tests/bench/run.py --cases [--only unique,dot] [--json FILE] [--small]

A result of 2**20 elements or fewer is compared with CuPy's and torch's before it is timed. The cases that are slower
than the faster of CuPy and torch are printed; docs/performance.md has the reasons. With more than 45 GB of free
device memory, functions of 2**32 int8 are measured, too. The times of large cases are printed as multiples of the time in
which a copy moves the bytes that a function reads and writes.
"""

import contextlib
import json
import pathlib
import time
import warnings

import numpy as np
import sweep
from sweep import LIBRARIES

from numbalite import cuda
from numbalite.cuda import sparse

CASES: list = []
SMALL = 1 << 12  # largest number of elements with --small
COMPARED = 1 << 20  # elements
LARGE, LARGE_BYTES = 1 << 32, 45 << 30


def register_case(name, dtypes="f4", size=1 << 25, **options):
    """Adds cases with a function (library, random generator, dtype, size, options) that returns the call to time, or
    None if the library has no such function."""

    def add(function):
        CASES.extend((name, dtype, size, function, options) for dtype in dtypes.split())
        return function

    return add


def is_ours(lib):
    return lib.xp is np


def is_torch(lib):
    return lib.xp.__name__ == "torch"


def random_numbers(rng, dtype, shape):
    """Returns random numbers: floats in [0, 1), integers up to 30,000 or a third of the dtype's range."""
    if dtype == "?":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        most = min(np.iinfo(dtype).max // 3, 30_000)
        return rng.integers(-most, most, shape).astype(dtype)
    return rng.random(shape, np.float32).astype(dtype)


def call_sorting_function(lib, name, *arguments):
    """Calls a sorting function; torch's functions return (values, indices)."""
    made = getattr(lib.xp, name)(*arguments)
    return made[0] if is_torch(lib) else made


# ----------------------------------------------------------------------------------------- random numbers


@register_case("poisson", "f8", arguments=(3.0,))
@register_case("binomial", "f8", arguments=(20, 0.3))
@register_case("beta", "f8", arguments=(2.0, 3.0))
def draw_distribution(lib, rng, dtype, n, name, arguments):
    if is_torch(lib):
        rates = lib.xp.full((n,), arguments[0], device="cuda", dtype=lib.xp.float64)
        return (lambda: lib.xp.poisson(rates)) if name == "poisson" else None
    draw = getattr((cuda if is_ours(lib) else lib.xp).random.default_rng(1), name)
    return lambda: draw(*arguments, n)


@register_case("permutation", "i8", 1000)
@register_case("permutation", "i8", 1_000_000)
def draw_permutation(lib, rng, dtype, n, name):
    if is_torch(lib):
        return lambda: lib.xp.randperm(n, device="cuda")
    permute = cuda.random.default_rng(1) if is_ours(lib) else lib.xp.random
    return lambda: permute.permutation(n)


# ---------------------------------------------------------------------------------- sorting and searching


@register_case("unique", "? i1 i2 i4 f2 f4 f8", 1 << 24)
@register_case("unique", "i4", 1_000_000)
def unary_function(lib, rng, dtype, n, name):
    x = lib.array(random_numbers(rng, dtype, n))
    return lambda: getattr(lib.xp, name)(x)


@register_case("sort", "i1 i2 i4 f4 f8", 1 << 24)
@register_case("sort", "i1 i2 i4 i8 f2 f4 f8", 1 << 24, columns=4096)
def sort(lib, rng, dtype, n, name, columns=None):
    x = lib.array(random_numbers(rng, dtype, (-(-n // columns), columns) if columns else n))
    return lambda: call_sorting_function(lib, "sort", x, -1)


@register_case("indices of the 10 smallest", "f4", 1 << 24, columns=4096)
def topk_indices(lib, rng, dtype, n, name, columns):
    x = lib.array(random_numbers(rng, dtype, (-(-n // columns), columns)))
    if is_torch(lib):
        return lambda: x.topk(10, 1, largest=False, sorted=False)[1]
    return lambda: lib.xp.argpartition(x, 10, 1)[:, :10]


@register_case("searchsorted", "i4 f4 f8", count=1000)
@register_case("searchsorted", "i4 f4 f8", count=1 << 20)
@register_case("digitize", "f8", 1_000_000, count=100)
@register_case("isin", "i4 f4", count=1000)
def search_sorted(lib, rng, dtype, n, name, count):
    x = lib.array((rng.random(n) * 40_960).astype(dtype))
    a = lib.array(np.sort((rng.random(count) * 40_960).astype(dtype)))
    if name == "searchsorted":
        return lambda: lib.xp.searchsorted(a, x)
    if name == "digitize" and is_torch(lib):
        return lambda: lib.xp.bucketize(x, a, right=True)
    return lambda: getattr(lib.xp, name)(x, a)


@register_case("nonzero")
@register_case("argwhere", "f4", 1 << 24)
def nonzero_positions(lib, rng, dtype, n, name):
    x = lib.array(random_numbers(rng, dtype, n) * (rng.random(n) < 0.5))
    if is_torch(lib):
        return lambda: lib.xp.nonzero(x)
    return lambda: getattr(lib.xp, name)(x)


@register_case("x[mask]", "f4")
@register_case("x[mask]", "f8", 1 << 24)
@register_case("x[mask] of rows", "f4", 30_000_000, columns=3)
@register_case("x[mask] of rows", "f4", 30_000_000, columns=10_000_000)
@register_case("x[mask] of rows", "f4", 64_000_000, columns=1_000_000)
def select_by_mask(lib, rng, dtype, n, name, columns=None):
    columns = min(columns or 0, n)
    x = lib.array(random_numbers(rng, dtype, (n // columns, columns) if columns else n))
    mask = lib.array(rng.random(x.shape[0]) < 0.5)
    return lambda: x[mask]


# ------------------------------------------------------------------------------------------ linear algebra


@register_case("solve", "f4", 64)
@register_case("solve", "f4", 8, batch=10_000)
@register_case("inv", "f4", 100)
@register_case("inv", "f4", 4, batch=10_000)
@register_case("cholesky", "f4", 512)
@register_case("cholesky", "f4", 2048)
@register_case("svd", "f4", 64)
@register_case("svd", "f4", 512)
@register_case("qr", "f4", 64)
@register_case("eigh", "f4", 32, batch=1000)
def factorize_matrix(lib, rng, dtype, n, name, batch=None):
    shape = (batch, n, n) if batch else (n, n)
    a = random_numbers(rng, dtype, shape)
    a = lib.array(a + a.swapaxes(-1, -2) + 2 * n * np.eye(n, dtype=dtype))
    function = getattr(lib.xp.linalg, name)
    if name != "solve":
        return lambda: function(a)
    b = lib.array(random_numbers(rng, dtype, (*shape[:-1], 1)))
    return lambda: function(a, b)


@register_case("dot", "f4")
@register_case("dot", "i1 i8 f2 f8", 1 << 24)
def dot(lib, rng, dtype, n, name):
    x, y = (lib.array(random_numbers(rng, dtype, n)) for _ in range(2))
    return lambda: lib.xp.dot(x, y)


@register_case("matrix @ vector", "f8", 4096)
def matrix_times_vector(lib, rng, dtype, n, name):
    a, x = lib.array(random_numbers(rng, dtype, (n, n))), lib.array(random_numbers(rng, dtype, n))
    return lambda: a @ x


@register_case("norm", "f2 f4", 1 << 24)
def norm(lib, rng, dtype, n, name):
    x = lib.array(
        random_numbers(rng, dtype, n) / np.dtype(dtype).type(64)
    )  # CuPy adds squares of float16 in float16
    return lambda: lib.xp.linalg.norm(x)


# ------------------------------------------------------------------------------------------- sparse arrays


def coo_parts(rng, dtype, rows, each, columns):
    """Returns (data, rows, columns) with `each` elements in each row, in sorted order and without duplicates."""
    places = np.sort(rng.integers(0, columns - each, (rows, each)), axis=1) + np.arange(each)
    indices = np.repeat(np.arange(rows, dtype=np.int32), each)
    return random_numbers(rng, dtype, rows * each), indices, places.ravel().astype(np.int32)


def sparse_array_of(lib, name, parts, shape):
    if is_ours(lib):
        make = getattr(sparse, f"{name}_array")
    else:
        import cupyx.scipy.sparse

        make = getattr(cupyx.scipy.sparse, f"{name}_matrix")
    data, rows, columns = map(lib.array, parts)
    return make((data, (rows, columns)), shape=shape)


@register_case("csr + csr", "f4", 1000, each=1000)
@register_case("csr + csr", "f4", 10, each=100_000)
@register_case("csr + csr", "f4", 10_000, each=20)
@register_case("csr + csr", "f4", 1_000_000, each=10)
@register_case("csr @ matrix", "f4", 10_000, each=10)
@register_case("coo to csr", "f4", 10_000, each=20)
@register_case("coo to csr", "f4", 1_000_000, each=10)
def sparse_call(lib, rng, dtype, n, name, each):
    if is_torch(lib):
        return None
    columns = 20 * each
    shape = n, columns
    one, two = (coo_parts(rng, dtype, n, each, columns) for _ in range(2))
    if name == "coo to csr":
        order = rng.permutation(n * each)
        one = [part[order] for part in one]
        left = sparse_array_of(lib, "coo", one, shape)
        return lambda: left.tocsr()
    left = sparse_array_of(lib, "csr", one, shape)
    right = lib.array(random_numbers(rng, dtype, (columns, 64)))
    if name == "csr @ matrix":
        return lambda: left @ right
    right = sparse_array_of(lib, "csr", two, shape)
    return lambda: left + right


# ------------------------------------------------------------------------------- unusual dtypes and shapes


@register_case("x ** 3", "i2 f2 f4 f8", 1 << 24)
def cube(lib, rng, dtype, n, name):
    x = lib.array(random_numbers(rng, dtype, n))
    return lambda: x**3


@register_case("triu", "f4", 2048)
def upper_triangle(lib, rng, dtype, n, name):
    x = lib.array(random_numbers(rng, dtype, (n, n)))
    return lambda: lib.xp.triu(x)


@register_case("concatenate", "f4", 1000, count=1000)
@register_case("stack", "f4", 1000, count=1000)
def join_arrays(lib, rng, dtype, n, name, count):
    arrays = [lib.array(random_numbers(rng, dtype, n)) for _ in range(count)]
    return lambda: getattr(lib.xp, name)(arrays)


@register_case("cross", "f4", 30_000_000)
def cross_product(lib, rng, dtype, n, name):
    x, y = (lib.array(random_numbers(rng, dtype, (n // 3, 3))) for _ in range(2))
    return lambda: lib.xp.cross(x, y)


@register_case("sum", "f4", 30_000_000)
@register_case("max", "f4", 30_000_000)
def reduce_axis_of_three(lib, rng, dtype, n, name):
    x = lib.array(random_numbers(rng, dtype, (n // 3, 3)))
    function = getattr(lib.xp, "amax" if is_torch(lib) and name == "max" else name)
    return lambda: function(x, 1)


# -------------------------------------------------------------------------------------------- measurement

RANDOM = "poisson binomial beta permutation".split()
# Results of these functions may differ from NumPy's in order or sign
MANY_RIGHT = ["indices of the 10 smallest", "svd", "qr", "eigh"]


def are_equal(lib, ours, theirs):
    first, second = LIBRARIES["numpy"].host(ours), lib.host(theirs)
    return np.allclose(first, second.reshape(first.shape), rtol=1e-2, atol=1e-3, equal_nan=True)


def measure_case(name, dtype, size, function, options):
    """Returns {library: µs} of a case, or numbalite's error."""
    found, ours = {}, None
    for label, lib in LIBRARIES.items():
        try:
            call = function(lib, np.random.default_rng(1), dtype, size, name, **options)
            if call is None:
                continue
            made = call()
            if label == "numpy":
                ours = made
            elif name not in (*RANDOM, *MANY_RIGHT) and getattr(ours, "size", COMPARED) < COMPARED:
                with contextlib.suppress(
                    TypeError, ValueError, AttributeError
                ):  # sparse arrays, tuples
                    if not are_equal(lib, ours, made):
                        return {"wrong": True}
            made = None
            found[label] = sweep.per_call(call)
        except Exception as problem:
            if label == "numpy":
                return {"refused": f"{type(problem).__name__}: {problem}"[:100]}
        finally:
            call = None
    return found


def free_memory_pools():
    for label, release in (
        ("cupy", lambda xp: xp.get_default_memory_pool().free_all_blocks()),
        ("torch", lambda xp: xp.cuda.empty_cache()),
    ):
        if label in LIBRARIES:
            release(LIBRARIES[label].xp)


def copy_time(x):
    target = cuda.device_array(x.shape, x.dtype)
    return sweep.per_call(lambda: target.copy_to_device(x))


def large_functions(n):
    """Prints the times of functions of n int8, divided by the copy time of the same number of
    bytes."""
    x = cuda.device_array(n, np.int8)
    part = random_numbers(np.random.default_rng(1), "i1", min(n, 1 << 26))
    for begin in range(0, n, len(part)):
        x[begin : begin + len(part)] = part[: n - begin]
    per_byte = copy_time(x) / (2 * n)
    print(f"{n} int8: multiples of the time in which a copy moves the bytes")
    for name, call, moved in (
        ("max", lambda: x.max(), n),
        ("sum", lambda: x.sum(), n),
        ("count_nonzero", lambda: np.count_nonzero(x), n),
        ("norm", lambda: np.linalg.norm(x), n),
        ("histogram", lambda: np.histogram(x, 10), n),
        ("median", lambda: np.median(x), n),
        ("unique", lambda: np.unique(x), n),
        ("sort", lambda: np.sort(x), 2 * n),
        ("x[::-1].copy()", lambda: x[::-1].copy(), 2 * n),
    ):
        taken = sweep.per_call(call)
        print(f"    {name:<16} {taken:>12,.1f} us {taken / (per_byte * moved):>8.1f}")


def measure_cases(only, file, is_small):
    """Measures the cases, prints those that a peer wins, and returns the rows."""
    warnings.simplefilter("ignore")
    sweep.open_libraries()
    begin, rows = time.perf_counter(), []
    for name, dtype, size, function, options in CASES:
        if only and name not in only:
            continue
        options = {
            k: min(v, 64) if is_small and isinstance(v, int) else v for k, v in options.items()
        }
        size = min(size, SMALL if size > 1 << 16 else 64) if is_small else size
        note = ", ".join(f"{key} {value}" for key, value in options.items())
        found = measure_case(name, dtype, size, function, options)
        rows.append({"function": name, "dtype": dtype, "size": size, "layout": note, **found})
        free_memory_pools()
        times = "  ".join(
            f"{label} {value:,.1f}" for label, value in found.items() if label in LIBRARIES
        )
        print(f"{name:<28} {dtype:<3} {size:>11,} {note:<24} {times or found}")
        if file:  # written after each case, so that an interrupted run still has results
            pathlib.Path(file).write_text(json.dumps(rows, indent=0))
    sweep.print_report(rows, time.perf_counter() - begin)
    if not only and (is_small or cuda.current_context().get_memory_info()[0] > LARGE_BYTES):
        large_functions(SMALL if is_small else LARGE)
    return rows
