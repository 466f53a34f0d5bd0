"""Measures benchmark rows of element-wise functions and reductions on the device, by dtype and by
layout of the operands.

The floor of each row is the fastest hand-written kernel for exactly this case (hand.cu). Events time it
and numbalite's kernel in the same run, on data far larger than the caches. Every result is compared: some
elements
with NumPy, all elements with the hand-written kernel.
"""

import functools

import numpy as np
from measure import HERE, NOTES, SMALL, close, device_calls, median_in_turn, register_row

N = (
    1 << 17 if SMALL else 1 << 28
)  # number of elements in one dimension; 8-byte dtypes use half as many
SIDE = 1 << 12 if SMALL else 1 << 14  # of a square array
NAMES = {"int8": "signed char", "int16": "short", "float32": "float", "float64": "double"}


@functools.cache
def hand_written_kernel(name):
    from numbalite import cuda

    return cuda.jit(source=(HERE / "hand.cu").read_text(), name=name)


def kernel_by_name(name, *parameters):
    """Returns a kernel of hand.cu: kernel_by_name("add", "int8", 16, 2) is add<signed char, 16, 2>."""
    texts = [NAMES.get(p, str(p)) for p in parameters]
    return hand_written_kernel(f"{name}<{', '.join(texts)}>" if texts else name)


def random_device_array(shape, dtype, seed=1):
    """Returns an array of random numbers on the device."""
    from numbalite import cuda

    x = cuda.device_array(shape, dtype)
    flat = x.reshape(x.size)
    kernel_by_name("noise", dtype)[-(-x.size // 256), 256](flat, x.size, seed)
    return x


def filled_with_77(shape, dtype):
    from numbalite import cuda

    x = cuda.device_array(shape, dtype)
    x.fill(77)
    return x


def assert_same(x, y, what):
    """Compares all elements of two dense device arrays."""
    from numbalite import cuda

    count = cuda.to_device(np.zeros(1, np.uint32))
    flat = x.reshape(x.size), y.reshape(y.size)
    kernel_by_name("differences", x.dtype.name)[-(-x.size // 256), 256](*flat, x.size, count)
    different = int(count.copy_to_host()[0])
    assert different == 0, f"{what}: {different} of {x.size} elements differ"


@functools.cache
def make_add_ufuncs():
    from numbalite import vectorize

    @vectorize(target="cuda")
    def add(x, y):
        "x + y"

    @vectorize(["float32(float32)"], target="cuda")
    def scale(x):
        "x * 2.5f"

    return add, scale


def time_against_floor(ours, variants, outputs, moved):
    """Returns (ours, floor, limit) in microseconds. ``variants`` write into outputs[1], numbalite
    into outputs[0]."""
    from numbalite import cuda

    ours()
    for variant in variants:
        outputs[1].fill(55)
        variant()
        cuda.synchronize()
        assert_same(*outputs, "ours and the hand-written kernel's")
    return with_variants(ours, variants)


def with_variants(ours, variants):
    """Returns (numbalite, floor, limit): the floor is the fastest variant."""
    mine, *times = median_in_turn(*map(device_calls, (ours, *variants)), count=5, rounds=9, warm=0)
    NOTES.append([round(t, 1) for t in times])
    return mine, min(times), min(times) / 0.98


def measure_dense_add(a, b, c, n, widths):
    """Returns (numbalite, floor, limit) of c = a + b, dtypes a, b, c; widths are (V, U) of the
    variants."""
    add, _ = make_add_ufuncs()
    x, y = random_device_array(n, a), random_device_array(n, b, 2)
    outputs = filled_with_77(n, c), filled_with_77(n, c)
    add(x, y, out=outputs[0])
    for part in (slice(0, 4096), slice(n - 4096, n)):
        want = x[part].copy_to_host() + y[part].copy_to_host()
        np.testing.assert_array_equal(outputs[0][part].copy_to_host(), want)
    variants = [
        functools.partial(
            kernel_by_name("add", a, b, c, v, u)[n // (v * u * 256), 256], x, y, outputs[1], n
        )
        for v, u in widths
    ]
    itemsizes = sum(np.dtype(t).itemsize for t in (a, b, c))
    return time_against_floor(lambda: add(x, y, out=outputs[0]), variants, outputs, n * itemsizes)


def element_row(key, what, moved):
    return register_row(key, what, "us", "floor / 0.98", gpu=True, moved=moved)


@element_row("E1", "add int8, 2^28", 3 * N)
def add_int8(floor):
    return measure_dense_add("int8", "int8", "int8", N, [(16, 1), (16, 2)])


@element_row("E2", "add int16, 2^28", 6 * N)
def add_int16(floor):
    return measure_dense_add("int16", "int16", "int16", N, [(8, 1), (8, 2)])


@element_row("E3", "add f64, 2^27", 12 * N)
def add_float64(floor):
    return measure_dense_add("float64", "float64", "float64", N // 2, [(2, 1), (2, 2)])


@element_row("E4", "add f32 + f64, 2^27", 10 * N)
def add_mixed(floor):
    return measure_dense_add("float32", "float64", "float64", N // 2, [(2, 1), (4, 1), (4, 2)])


@element_row("E5", "int8 to f32, x * 2.5, 2^28", 5 * N)
def scale_int8(floor):
    _, scale = make_add_ufuncs()
    x, outputs = (
        random_device_array(N, "int8"),
        (filled_with_77(N, "float32"), filled_with_77(N, "float32")),
    )
    scale(x, out=outputs[0])
    part = slice(N - 4096, N)
    close(outputs[0][part].copy_to_host(), x[part].copy_to_host() * np.float32(2.5), 1e-6)
    variants = [
        functools.partial(
            kernel_by_name("scale", "int8", "float32", v, u)[N // (v * u * 256), 256],
            x,
            outputs[1],
            N,
        )
        for v, u in [(4, 1), (4, 4), (16, 1)]
    ]
    return time_against_floor(lambda: scale(x, out=outputs[0]), variants, outputs, 5 * N)


def square(other, hands, view=lambda x: x):
    """Returns (numbalite, floor, limit) of a + view(other) for a square a."""
    add, _ = make_add_ufuncs()
    a, b = random_device_array((SIDE, SIDE), "float32"), random_device_array(other, "float32", 2)
    outputs = [filled_with_77((SIDE, SIDE), "float32") for _ in range(2)]
    seen = view(b)
    add(a, seen, out=outputs[0])
    whole = np.broadcast_to(view(b.copy_to_host()), (SIDE, SIDE))
    for part in (slice(0, 40), slice(SIDE - 40, SIDE)):
        got = outputs[0][part].copy_to_host()
        np.testing.assert_array_equal(got, a[part].copy_to_host() + whole[part])
    flat = [x.reshape(x.size) for x in (a, b, outputs[1])]
    variants = [
        functools.partial(kernel[grid, block], *flat, SIDE) for kernel, grid, block in hands
    ]
    return time_against_floor(
        lambda: add(a, seen, out=outputs[0]), variants, outputs, 12 * SIDE * SIDE
    )


@element_row("E6", "add f32, a row broadcast, 16384^2", 8 * N)
def broadcast_row(floor):
    grid = SIDE // 4 // 256
    return square(SIDE, [(kernel_by_name("add_row", r), (grid, SIDE // r), 256) for r in (1, 4)])


@element_row("E7", "add f32, a column broadcast, 16384^2", 8 * N)
def broadcast_column(floor):
    grid = SIDE // 4 // 256
    hands = [(kernel_by_name("add_column", u), (grid // u, SIDE), 256) for u in (1, 4)]
    return square(SIDE, hands, lambda x: x.reshape(SIDE, 1))


@element_row("E8", "add f32, one transposed, 16384^2", 12 * N)
def add_transposed(floor):
    tiles = SIDE // 32
    hands = [
        (kernel_by_name("add_transposed", 8), (tiles, tiles), (32, 8)),
        (kernel_by_name("add_transposed", 16), (tiles, tiles), (32, 16)),
        (kernel_by_name("add_transposed_squares"), (tiles // 2, tiles // 2), 256),
    ]
    return square((SIDE, SIDE), hands, lambda x: x.T)


def time_shifted_add(other, seen, first, count, hands, moved):
    """Returns (numbalite, floor, limit) of c[:count] = view of a + b."""
    add, _ = make_add_ufuncs()
    a, b = random_device_array(other, "float32"), random_device_array(N // 2, "float32", 2)
    outputs = filled_with_77(N // 2, "float32"), filled_with_77(N // 2, "float32")
    x, y, out = seen(a), b[:count], outputs[0][:count]
    add(x, y, out=out)
    for part in (slice(0, 4096), slice(count - 4096, count)):
        want = x[part].copy_to_host() + y[part].copy_to_host()
        np.testing.assert_array_equal(out[part].copy_to_host(), want)
    variants = [
        functools.partial(
            kernel_by_name(name, u)[N // 2 // (width * u * 256), 256], a, b, outputs[1], N // 2
        )
        for name, u, width in hands
    ]
    same = [x[:count] for x in outputs]
    outputs[0][count:].fill(55)
    assert same[0].size == count
    return time_against_floor(lambda: add(x, y, out=out), variants, (outputs[0], outputs[1]), moved)


@element_row("E9", "add f32, x[::2] + y, 2^27", 8 * N)
def every_other(floor):
    hands = [("add_every_other", 1, 4), ("add_every_other", 2, 4), ("add_every_other_single", 4, 1)]
    return time_shifted_add(N, lambda x: x[::2], 0, N // 2, hands, 8 * N)


@element_row("E10", "add f32, x[1:] + y[:-1], 2^27", 6 * N)
def add_unaligned_views(floor):
    hands = [("add_next", 1, 4), ("add_next", 2, 4), ("add_next_single", 4, 1)]
    return time_shifted_add(N // 2, lambda x: x[1:], 1, N // 2 - 1, hands, 6 * N)


# ---- reductions ----------------------------------------------------------------------------------------
@functools.cache
def sum_reduction():
    from numbalite import cuda

    return cuda.reduce("a + b")


def tolerance(dtype):
    return {"float32": 2e-4, "float64": 1e-11}.get(dtype, 0)


def expected_sum(host, dtype, axis):
    """Returns the expected sum; sums of int8 wrap around modulo 256."""
    if dtype == "int8":
        return host.sum(axis=axis, dtype=np.int64).astype(np.int8)
    return host.sum(axis=axis, dtype=np.float64)


def time_sum(dtype, axis):
    """Returns (numbalite, floor, limit) of the sum of a square array along an axis, or of all elements."""
    from numbalite import cuda

    rows = SIDE // (2 if dtype == "float64" else 1)
    x = random_device_array((rows, SIDE), dtype)
    shape = {None: 1, 1: rows, 0: SIDE}[axis]
    out, theirs = filled_with_77(shape, dtype), filled_with_77(shape, dtype)

    def sum_by_numbalite():
        sum_reduction()(x, res=out, axis=axis)

    variants, flat = [], x.reshape(x.size)
    if axis == 0:
        lanes = 16 // x.dtype.itemsize
        for pieces, threads, ahead in ((64, 128, 8), (128, 128, 8), (256, 64, 8), (256, 128, 4)):
            if SIDE // lanes < threads or rows // pieces < ahead:
                continue
            grid = (SIDE // lanes // threads, pieces)
            parts = cuda.device_array(pieces * SIDE, dtype)
            first = kernel_by_name("sum_columns", dtype, ahead)[grid, threads]
            last = kernel_by_name("sum_columns", dtype, 8)[(SIDE // lanes // 32, 1), 32]
            variants.append(
                lambda p=parts, f=first, g=last, n=pieces: (
                    f(flat, p, SIDE, rows),
                    g(p, theirs, SIDE, n),
                )
            )
    elif axis == 1:
        for threads, ahead in ((128, 4), (256, 4), (512, 4), (128, 8), (256, 8), (256, 2)):
            kernel = kernel_by_name("sum_rows", dtype, ahead)[(1, rows), threads]
            variants.append(lambda k=kernel: k(flat, theirs, SIDE))
    else:
        for blocks, ahead in ((1024, 4), (4096, 4), (1024, 8), (2048, 8), (4096, 8)):
            parts = cuda.device_array(blocks, dtype)
            first = kernel_by_name("sum_rows", dtype, ahead)[(blocks, 1), 256]
            last = kernel_by_name("sum_rows", dtype, 1)[1, 256]
            variants.append(
                lambda p=parts, f=first, g=last, n=blocks: (f(flat, p, x.size), g(p, theirs, n))
            )
    sum_by_numbalite()
    host = x.copy_to_host()
    want = expected_sum(host, dtype, axis)
    np.testing.assert_allclose(out.copy_to_host(), np.reshape(want, shape), rtol=tolerance(dtype))
    for variant in variants:
        theirs.fill(55)
        variant()
        np.testing.assert_allclose(
            theirs.copy_to_host(), np.reshape(want, shape), rtol=tolerance(dtype)
        )
    return with_variants(sum_by_numbalite, variants)


def reduction_rows():
    kinds = {"a": (None, "all axes"), "b": (1, "rows"), "c": (0, "columns")}
    for number, dtype in enumerate(("float32", "float64", "int8"), 1):
        moved = N * np.dtype(dtype).itemsize // (2 if dtype == "float64" else 1)
        for letter, (axis, name) in kinds.items():
            text = {
                "float32": "f32, 16384^2",
                "float64": "f64, 8192 x 16384",
                "int8": "int8, 16384^2",
            }
            element_row(f"R{number}{letter}", f"sum of {name}, {text[dtype]}", moved)(
                lambda floor, dtype=dtype, axis=axis: time_sum(dtype, axis)
            )


reduction_rows()
