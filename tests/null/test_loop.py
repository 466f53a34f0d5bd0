"""Tests the geometry of element-wise loops (core/loop). The C file is compiled alone, and Python
visits the elements as a kernel does."""

import ctypes
import itertools
import pathlib
import shutil
import struct
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIMS, OPERANDS = 32, 64
KINDS = ["flat", "rows", "shifted", "tiled", "single", "strided32", "strided64"]


class LoopOperand(ctypes.Structure):
    _fields_ = (
        ("ndim", ctypes.c_int),
        ("by_value", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("address", ctypes.c_uint64),
        ("itemsize", ctypes.c_int64),
        ("align", ctypes.c_int64),
    )


class LoopPlan(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int),
        ("operands", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("dims", ctypes.c_int),
        ("count", ctypes.c_int64),
        ("by_value", ctypes.c_uint64),
        ("advance", ctypes.c_uint64),
        ("across", ctypes.c_uint64),
        ("shape", ctypes.c_int64 * DIMS),
        ("address", ctypes.c_uint64 * OPERANDS),
        ("strides", ctypes.c_int64 * DIMS * OPERANDS),
    )


class FastDivider(ctypes.Structure):
    _fields_ = (("magic", ctypes.c_uint32), ("shift", ctypes.c_uint32))


@pytest.fixture(scope="module")
def core_library(tmp_path_factory):
    compiler = next((c for c in ("gcc", "clang", "cc") if shutil.which(c)), None)
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("loop") / "loop.so"
    subprocess.run(
        [compiler, "-std=gnu11", "-O1", "-shared", "-fPIC", "-I", ROOT / "cext", "-o", path,
         ROOT / "cext" / "core" / "loop.c"],
        check=True,
    )  # fmt: skip
    library = ctypes.CDLL(str(path))
    library.nl_loop_magic_divisor.restype = FastDivider
    library.nl_loop_magic_divisor.argtypes = [ctypes.c_uint32]
    library.nl_loop_size.restype = ctypes.c_size_t
    library.nl_loop_threads.restype = ctypes.c_int64
    library.nl_loop_threads.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.nl_loop_write.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    return library


def int64_array(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def describe_operands(arrays):
    operands = (LoopOperand * len(arrays))()
    for operand, a in zip(operands, arrays):
        operand.ndim, operand.by_value = a.ndim, 0
        operand.shape, operand.strides = int64_array(a.shape), int64_array(a.strides)
        operand.address, operand.itemsize = a.__array_interface__["data"][0], a.itemsize
        operand.align = a.dtype.alignment
    return operands


def make_loop(core, *arrays):
    operands, loop = describe_operands(arrays), LoopPlan()
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    core.nl_loop_make(ctypes.byref(loop), operands, len(arrays), len(shape), int64_array(shape))
    return loop


def walk_loop(core, loop, itemsizes, per_thread=4):
    """Returns the addresses that a kernel computes, one tuple for each element, from the parameter
    block alone."""
    n, dims, kind = loop.operands, loop.dims, KINDS[loop.kind]
    block = ctypes.create_string_buffer(core.nl_loop_size(ctypes.byref(loop)))
    core.nl_loop_write(ctypes.byref(loop), per_thread, block)
    slots = [struct.unpack_from("<Q", block, 16 * i)[0] for i in range(n)]
    words = struct.unpack_from(f"<{(len(block) - 16 * n) // 8}q", block, 16 * n)
    if kind == "flat":
        count, advance = words[:2]
        return [
            tuple(a + (advance >> k & 1) * i * s for k, (a, s) in enumerate(zip(slots, itemsizes)))
            for i in range(count)
        ]
    high, steps = 1, dims + 2 * (kind == "tiled")
    if kind in ("rows", "shifted"):
        (count, columns, advance, by_row), rest = words[:4], words[4:]
        pieces = core.nl_loop_threads(ctypes.byref(loop), per_thread)
        by_row = FastDivider.from_buffer_copy(struct.pack("<q", by_row))
        for piece in range(pieces):
            row = ((piece * by_row.magic >> 32) + piece) >> by_row.shift
            assert row == piece // (pieces // count)
    elif kind == "tiled":
        (count, columns, high, advance, across), rest = words[:5], words[5:]
    else:
        (count, columns, advance), rest = (words[0], 1, 0), words[1:]
    shape, rest = rest[:dims], rest[dims:]
    by, rest = (
        [FastDivider.from_buffer_copy(struct.pack("<q", w)) for w in rest[:dims]],
        rest[dims:],
    )
    strides = np.array(rest[: n * steps]).reshape(n, steps)
    inner = [(advance >> k & 1) * size for k, size in enumerate(itemsizes)]
    around = [0] * n
    if kind == "tiled":
        for k in range(n):
            assert (advance >> k & 1) == (strides[k, -1] == itemsizes[k])
            assert (across >> k & 1) == (strides[k, -2] == itemsizes[k])
        around, inner, strides = strides[:, -2], strides[:, -1], strides[:, :-2]
    met = []
    for i, row, j in itertools.product(range(count), range(high), range(columns)):
        index, left = [0] * dims, i
        for d in reversed(range(1, dims)):
            over = ((left * by[d].magic >> 32) + left) >> by[d].shift
            index[d], left = left - over * shape[d], over
        index[0] = left
        met.append(
            tuple(
                a + int(np.dot(strides[k], index) + row * around[k] + j * inner[k])
                for k, a in enumerate(slots)
            )
        )
    return met


def expected_addresses(arrays):
    """Returns the addresses that the loop must visit."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    whole = [np.broadcast_to(a, shape) for a in arrays]
    return {
        tuple(
            a.__array_interface__["data"][0] + int(np.dot(a.strides, index)) for a in whole
        )
        for index in np.ndindex(shape)
    }  # fmt: skip


def check_loop_coverage(core, *arrays):
    loop = make_loop(core, *arrays)
    met = walk_loop(core, loop, [a.itemsize for a in arrays])
    assert set(met) == expected_addresses(arrays)
    assert len(met) == loop.count == np.prod(np.broadcast_shapes(*(a.shape for a in arrays)))
    return KINDS[loop.kind], loop.dims


def make_array_at_offset(shape, dtype="f4", shift=0):
    dtype = np.dtype(dtype)
    n = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(n + 64 + shift, "u1")
    start = -raw.__array_interface__["data"][0] % 64 + shift
    return raw[start : start + n].view(dtype).reshape(shape)


def test_contiguous_and_broadcast_operands_select_kernels(core_library):
    a = make_array_at_offset((4, 6, 64))
    assert check_loop_coverage(core_library, a, a) == ("flat", 0)
    assert check_loop_coverage(core_library, a, make_array_at_offset(())) == ("flat", 0)
    assert check_loop_coverage(
        core_library, make_array_at_offset(()), make_array_at_offset(())
    ) == (
        "flat",
        0,
    )
    assert check_loop_coverage(core_library, a, a[0, 0]) == ("rows", 1)
    assert check_loop_coverage(core_library, a, a[:, 0:1]) == ("rows", 2)
    assert check_loop_coverage(core_library, a, a[:, :, :1]) == ("rows", 1)
    assert check_loop_coverage(core_library, a[:, ::2], a[:, :3]) == ("rows", 2)
    assert check_loop_coverage(core_library, a[:, :, ::2], a[:, :, :32]) == ("strided32", 2)
    assert check_loop_coverage(core_library, a[::-1, ::-1, ::-1], a[::-1, ::-1, ::-1]) == (
        "flat",
        0,
    )
    assert check_loop_coverage(core_library, a[::-1], a) == ("rows", 1)
    assert check_loop_coverage(core_library, a.T, a.T) == ("flat", 0)
    assert check_loop_coverage(
        core_library, make_array_at_offset((4, 8)), make_array_at_offset((8,))
    ) == (
        "strided32",
        2,
    )  # rows too short


def test_alignment_selects_the_kernel(core_library):
    a = make_array_at_offset((256,))
    assert check_loop_coverage(core_library, a[4:132], a[:128]) == ("flat", 0)
    assert check_loop_coverage(core_library, a[1:129], a[:128]) == ("strided32", 1)
    eight, bytes_of = make_array_at_offset((256,), "f8"), make_array_at_offset((256,), "u1")
    assert check_loop_coverage(core_library, eight[1:129], eight[:128]) == ("single", 1)
    assert check_loop_coverage(core_library, bytes_of[1:129], bytes_of[:128]) == ("shifted", 1)
    assert check_loop_coverage(core_library, a[1:129], bytes_of[:128]) == ("shifted", 1)
    many = np.lib.stride_tricks.as_strided(a[1:], ((1 << 21) + 1,), (4,))
    assert KINDS[make_loop(core_library, many).kind] == "shifted"
    assert check_loop_coverage(core_library, a[:128], a[1:2]) == (
        "flat",
        0,
    )  # one element needs only its own alignment
    assert check_loop_coverage(core_library, make_array_at_offset((16,), shift=2), a[:16]) == (
        "strided64",
        1,
    )
    rows = make_array_at_offset((4, 130))[:, :128]
    assert check_loop_coverage(core_library, rows, make_array_at_offset((4, 128))) == (
        "strided32",
        2,
    )
    assert check_loop_coverage(core_library, rows, make_array_at_offset((4, 128), "u1")) == (
        "shifted",
        1,
    )
    cube = make_array_at_offset((3, 4, 130))[:, :3, 1:129]
    assert check_loop_coverage(core_library, cube, make_array_at_offset((3, 3, 128))) == (
        "strided32",
        3,
    )
    assert check_loop_coverage(core_library, cube, make_array_at_offset((3, 3, 128), "u1")) == (
        "shifted",
        2,
    )
    assert check_loop_coverage(
        core_library, make_array_at_offset((16,), "c16", 8), make_array_at_offset((16,), "c16")
    ) == ("shifted", 1)


def test_transposed_operands_select_tiles(core_library):
    a, b = make_array_at_offset((40, 48)), make_array_at_offset((48, 40))
    assert check_loop_coverage(core_library, a, b.T) == ("tiled", 1)
    assert check_loop_coverage(core_library, a, b.T, a) == ("tiled", 1)
    assert check_loop_coverage(core_library, a, b.T[:, 1:2]) == ("strided32", 2)  # a short row
    assert check_loop_coverage(core_library, a[:, ::2], b.T[:, :24]) == (
        "strided32",
        2,
    )  # too few columns
    assert check_loop_coverage(core_library, a[:, ::-1], b.T) == ("tiled", 1)
    cube, other = make_array_at_offset((33, 3, 40)), make_array_at_offset((40, 3, 33))
    assert check_loop_coverage(core_library, cube, other.transpose(2, 1, 0)) == ("tiled", 1)
    four, other = make_array_at_offset((2, 33, 3, 32)), make_array_at_offset((2, 32, 3, 33))
    assert check_loop_coverage(core_library, four, other.transpose(0, 3, 2, 1)) == ("tiled", 2)
    assert check_loop_coverage(core_library, make_array_at_offset((40, 40), "f4", 2), b[:40].T) == (
        "strided64",
        2,
    )

    def thread_count(per_thread, *arrays):
        return core_library.nl_loop_threads(
            ctypes.byref(make_loop(core_library, *arrays)), per_thread
        )

    assert thread_count(16, a, b.T) == 256
    assert thread_count(4, a, b.T) == 4 * 256
    assert thread_count(16, cube, make_array_at_offset((40, 3, 33)).transpose(2, 1, 0)) == 3 * 256


def test_large_strides_select_64_bit_offsets(core_library):
    far = np.lib.stride_tricks.as_strided(make_array_at_offset((1,)), (3,), (1 << 30,))
    loop = make_loop(core_library, far)
    assert KINDS[loop.kind] == "strided64"
    near = np.lib.stride_tricks.as_strided(make_array_at_offset((1,)), (2,), (1 << 30,))
    assert KINDS[make_loop(core_library, near).kind] == "strided32"
    many = np.lib.stride_tricks.as_strided(make_array_at_offset((1,), "u1"), (1 << 32,), (1,))
    loop = make_loop(core_library, many)
    assert (KINDS[loop.kind], loop.count) == ("flat", 1 << 32)
    assert core_library.nl_loop_threads(ctypes.byref(loop), 16) == 1 << 28


@pytest.mark.parametrize(("rows", "by_row"), [(1 << 15, True), (1 << 17, False)])
def test_large_loops_are_split_below_32_bits(core_library, rows, by_row):
    """Divisors above 2**32 need no magic number."""
    one, column = make_array_at_offset((1,)), make_array_at_offset((rows, 1))
    wide = np.lib.stride_tricks.as_strided(one, (rows, 1 << 16), (0, 4))
    loop = make_loop(core_library, wide, column)
    assert KINDS[loop.kind] == "rows" and loop.operands == 2
    block = ctypes.create_string_buffer(core_library.nl_loop_size(ctypes.byref(loop)))
    core_library.nl_loop_write(ctypes.byref(loop), 4, block)
    divider = FastDivider.from_buffer_copy(block, 16 * 2 + 8 * 3)
    assert (divider.magic != 0) == by_row and core_library.nl_loop_threads(
        ctypes.byref(loop), 4
    ) == rows << 14


@pytest.mark.parametrize("seed", range(60))
def test_random_views_are_covered_exactly_once(core_library, seed):
    random = np.random.default_rng(seed)
    ndim = int(random.integers(1, 6))
    shape = tuple(int(n) for n in random.integers(1, 5, ndim))
    arrays = []
    for _ in range(int(random.integers(1, 4))):
        steps = [int(random.choice([-2, -1, 1, 1, 2])) for _ in shape]
        own = [1 if random.random() < 0.2 else n for n in shape]
        base = make_array_at_offset(
            [n * abs(s) for n, s in zip(own, steps)], random.choice(["f4", "u1", "c16"])
        )
        a = base.transpose(order := random.permutation(ndim)).copy().transpose(np.argsort(order))
        a = a[tuple(slice(None, None, s) for s in steps)]
        arrays.append(a[(0,) * int(random.integers(0, ndim))] if random.random() < 0.3 else a)
    check_loop_coverage(core_library, *arrays)


@pytest.mark.parametrize("ndim", range(1, 33))
def test_strides_are_padded_to_the_kernels_dimensions(core_library, ndim):
    steps = [8 * 3 ** min(k, 30) for k in reversed(range(ndim))]
    a = np.lib.stride_tricks.as_strided(make_array_at_offset((1,)), (2,) * ndim, steps)
    loop = make_loop(core_library, a)
    assert loop.ndim == ndim
    assert loop.dims == next(d for d in (1, 2, 3, 4, 8, 16, 32) if d >= ndim)


def test_division_by_multiplication_is_exact(core_library):
    random = np.random.default_rng(1)
    divisors = [*range(1, 70), 2**16 - 1, 2**16, 2**16 + 1, 2**30, 2**31 - 1, 2**31]
    divisors += [int(d) for d in random.integers(1, 2**31, 200)]
    for divisor in divisors:
        by = core_library.nl_loop_magic_divisor(divisor)
        near = [
            k * divisor + e for k in (1, 2, 3, 1000, (2**31 - 2) // divisor) for e in (-1, 0, 1)
        ]
        for n in [0, 1, 2**31 - 1, *near, *(int(n) for n in random.integers(0, 2**31, 50))]:
            if 0 <= n < 2**31:
                high = n * by.magic >> 32
                assert high + n < 2**32
                assert (high + n) >> by.shift == n // divisor, (n, divisor)


def test_axis_order_matches_numpys_iterator(core_library):
    """The strides of NumPy's results show its axis order."""
    random = np.random.default_rng(2)
    for _ in range(200):
        ndim = int(random.integers(2, 6))
        shape = [int(n) for n in random.integers(1, 4, ndim)]
        arrays = []
        for _ in range(int(random.integers(1, 4))):
            own = [1 if random.random() < 0.3 else n for n in shape]
            order = random.permutation(ndim)
            arrays.append(np.zeros(np.array(own)[order]).transpose(np.argsort(order)))
        arrays.append(np.zeros(shape)[..., :1][..., 0] if ndim == 1 else np.zeros(shape[1:]))
        whole = np.broadcast_shapes(*(a.shape for a in arrays))
        iterator = np.nditer(
            [*arrays, None], flags=["reduce_ok"],
            op_flags=[["readonly"]] * len(arrays) + [["writeonly", "allocate"]],
        )  # fmt: skip
        expected = iterator.operands[-1].strides
        found = (ctypes.c_int * ndim)()
        strides = (ctypes.c_int64 * ndim)()
        core_library.nl_loop_sort_dimensions(describe_operands(arrays), len(arrays), ndim, found)
        core_library.nl_loop_dense_strides(
            ndim, int64_array(whole), found, ctypes.c_int64(8), strides
        )
        assert tuple(strides) == expected
