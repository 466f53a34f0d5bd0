"""Tests element-wise functions, reductions and scans for every layout that has its own kernel:
different misalignments, transposed arrays, ends of rows, columns. Column reductions must combine
the elements in order."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from numbalite import cuda, vectorize

DTYPES = ("i1", "i2", "f4", "f8", "c16")


@pytest.fixture(scope="module")
def add():
    @vectorize(target="cuda")
    def add(x, y):
        "x + y"

    return add


def random_array(shape, dtype, seed=1):
    return np.random.default_rng(seed).integers(0, 50, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
def test_ufuncs_of_unaligned_runs_match_numpy(add, dtype, masked):
    """With a mask, whose elements have one byte, accesses are shifted; a few elements of more than one byte
    are not."""
    for n in (1, 2, 5, 17, 64, 100, 1000):
        a = random_array(n + 8, dtype)
        x, y = cuda.to_device(a), cuda.to_device(a[::-1].copy())
        wanted = random_array(n, "i1") > 9
        where = {"where": cuda.to_device(wanted)} if masked else {}
        for first in range(4):
            out = cuda.to_device(np.full(n + 8, 77, dtype))
            add(x[first : first + n], y[1 : 1 + n], out=out[2 : 2 + n], **where)
            expected = np.full(n + 8, 77, dtype)
            sums = a[first : first + n] + a[::-1][1 : 1 + n]
            expected[2 : 2 + n] = np.where(wanted, sums, 77) if masked else sums
            assert_array_equal(out.copy_to_host(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ufuncs_of_unaligned_rows_match_numpy(add, dtype):
    a = random_array((20, 90), dtype)
    x = cuda.to_device(a)
    assert_array_equal(add(x[:, 1:81], x[:, 2:82]).copy_to_host(), a[:, 1:81] + a[:, 2:82])
    assert_array_equal(add(x[:, 1:81], x[:1, 3:83]).copy_to_host(), a[:, 1:81] + a[:1, 3:83])
    mask, out = a[:, :80] == a[:, 5:85], np.ones((20, 80), dtype)
    got = add(x[:, 1:81], x[:, 2:82], where=cuda.to_device(mask), out=cuda.to_device(out))
    assert_array_equal(got.copy_to_host(), np.where(mask, a[:, 1:81] + a[:, 2:82], out))


def test_complex_numbers_aligned_to_8_bytes_are_added(add):
    x = cuda.to_device(np.zeros(8 + 16 * 50, "u1"))[8:].view("c16")
    x[:] = np.arange(50) * (1 + 2j)
    assert_array_equal(add(x, x).copy_to_host(), np.arange(50) * (2 + 4j))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(33, 40), (64, 64), (70, 130)], ids=str)
def test_transposed_operands_match_numpy(add, dtype, shape):
    a, b = random_array(shape, dtype), random_array(shape[::-1], dtype, 2)
    x, y = cuda.to_device(a), cuda.to_device(b)
    assert_array_equal(add(x, y.T).copy_to_host(), a + b.T)
    assert_array_equal(add(x[1:, 1:], y.T[1:, 1:]).copy_to_host(), (a + b.T)[1:, 1:])
    out = cuda.device_array(shape, dtype)
    add(x[:, ::-1], y.T, out=out)
    assert_array_equal(out.copy_to_host(), a[:, ::-1] + b.T)
    out = cuda.device_array(shape[::-1], dtype)
    add(x, y.T, out=out.T)
    assert_array_equal(out.copy_to_host().T, a + b.T)


@pytest.mark.parametrize("dtype", ["i1", "f4", "c16"])
def test_column_sums_match_numpy(dtype):
    total = cuda.reduce("a + b")
    for shape in ((5, 64), (1000, 64), (300, 33), (60, 4, 64), (40, 600)):
        a = random_array(shape, dtype)
        x = cuda.to_device(a)
        for axis in range(len(shape)):
            assert_array_equal(total(x, axis=axis).copy_to_host(), a.sum(axis=axis, dtype=dtype))
        assert_array_equal(
            total(x[..., 1:], axis=0).copy_to_host(), a[..., 1:].sum(axis=0, dtype=dtype)
        )


SMALL_PLAN = 288  # bytes of a plan for elements of up to 16 bytes and six dimensions


def kernel_kinds_of(plans):
    """Returns the kinds of kernels of planned reductions or scans."""
    return {step[0].rstrip("0123456789x") for steps in plans for step in steps}


def team_size(plan):
    """Returns the field of a small plan (reduce.cuh)."""
    return int.from_bytes(plan[60:64], "little")


def test_columns_are_reduced_in_order():
    a = np.arange(3000 * 64, dtype="i4").reshape(3000, 64)
    x, first, last = cuda.to_device(a), cuda.reduce("a"), cuda.reduce("b")
    assert_array_equal(first(x, axis=0).copy_to_host(), a[0])
    assert_array_equal(last(x, axis=0).copy_to_host(), a[-1])
    assert_array_equal(last(x, axis=1).copy_to_host(), a[:, -1])
    assert (first(x), last(x)) == (0, a[-1, -1])
    assert_array_equal(first(x, axis=0, init=7).copy_to_host(), np.full(64, 7))


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_reductions_of_short_axes_match_numpy(reduction_limits, reduction_steps, dtype):
    """Tests rows of a few bytes reduced by a few lanes each, columns of a few elements reduced by one thread
    each, and few columns reduced by several threads each: a GPU uses these schedules only above some size."""
    reduction_limits(TEAM_ROWS=8, STRIPE_BYTES=1, NARROW_PART_BYTES=4096)
    total, first, last = (cuda.reduce(text) for text in ("a + b", "a", "b"))
    for shape, axis in (
        ((70, 16), 1),
        ((16, 128), 0),
        ((3000, 16), 0),
        ((2000, 3), 0),
        ((5, 3, 64), 1),
        ((5, 3, 62), 1),
        ((4, 1500, 3), 1),
    ):
        a = random_array(shape, dtype)
        x = cuda.to_device(a)
        assert_array_equal(total(x, axis=axis).copy_to_host(), a.sum(axis=axis, dtype=dtype))
        if shape[axis] <= 16:
            assert_array_equal(first(x, axis=axis).copy_to_host(), a.take(0, axis))
            assert_array_equal(last(x, axis=axis, init=7).copy_to_host(), a.take(-1, axis))
    assert kernel_kinds_of(reduction_steps) >= {"teams", "stripes", "narrow"}


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_reductions_of_short_rows_match_numpy(reduction_limits, reduction_steps, scan_steps, dtype):
    """Tests rows of any length and offset: reduced by a few lanes each, scanned in shared memory and by
    warps."""
    reduction_limits(TEAM_ROWS=8, SCANNED_ROWS=8, SCANNED_ROWS_EACH=0, WARP_ROWS=8)
    for rows, length in ((70, 33), (37, 100), (19, 300)):
        a = random_array((rows, length), dtype)
        device = cuda.to_device(a)
        for part in np.s_[:, :], np.s_[:, 1:], np.s_[::-1, ::-1], np.s_[:, ::2]:
            x, d = a[part], device[part]
            assert_array_equal(np.sum(d, 1).copy_to_host(), np.sum(x, 1))
            assert_array_equal(np.argmin(d, 1).copy_to_host(), np.argmin(x, 1))
            assert_array_equal(np.cumsum(d, 1).copy_to_host(), np.cumsum(x, 1))
            if hasattr(np, "vecdot"):
                assert_array_equal(np.vecdot(d, d).copy_to_host(), np.vecdot(x, x))
        np.cumsum(device, 1, out=device, dtype=dtype)  # in place
        assert_array_equal(device.copy_to_host(), np.cumsum(a, 1, dtype=dtype))
    assert kernel_kinds_of(reduction_steps) >= {"short_packed", "short_strided"}
    assert kernel_kinds_of(scan_steps) >= {"scan_rows", "scan_warps"}


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_scans_of_vectorized_columns_match_numpy(reduction_limits, scan_steps, dtype):
    """Each schedule loads neighbouring columns as one element (all columns if they are few, otherwise some of
    them), also if the columns are unaligned."""
    reduction_limits(VEC_THREADS=1, SCANNED_ROWS=8, SCANNED_ROWS_EACH=0, WARP_ROWS=8)
    for shape in (40, 30, 3), (20, 200, 2), (2, 2000, 3), (1, 700, 4), (3, 9, 8), (2, 5, 64):
        a = random_array((shape[0], shape[1] + 1, shape[2]), dtype)
        device = cuda.to_device(a)
        for part in np.s_[:, :-1], np.s_[:, 1:], np.s_[:, -2::-1]:
            x, d = a[part], device[part]
            assert_array_equal(np.cumsum(d, 1).copy_to_host(), np.cumsum(x, 1))
            out = device[:, 1:].copy()[:, : x.shape[1]]
            np.maximum.accumulate(d, 1, out=out)
            assert_array_equal(out.copy_to_host(), np.maximum.accumulate(x, 1))
    of_vecs = [[step for step in steps if step[4] > 1] for steps in scan_steps]
    assert kernel_kinds_of(of_vecs) >= {"scan_rows", "scan_warps", "scan_tiles", "scan_serial"}


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("in_tiles", [True, False])
def test_scans_of_long_columns_match_numpy(reduction_limits, scan_steps, dtype, in_tiles):
    """Scans long columns in tiles, in several groups of which the last is incomplete, or in
    parts."""
    reduction_limits(COLUMN_TILE_THREADS=1)
    if not in_tiles:
        reduction_limits(COLUMN_TILE_NUMBER=0)
    for shape, axis in ((1100, 64), 0), ((2, 700, 33), 1), ((129, 3, 50), 0):
        a = random_array(shape, dtype)
        device = cuda.to_device(a)
        for part in np.s_[:], np.s_[1:], np.s_[::-1, 1:], np.s_[..., ::2]:
            x, d = a[part], device[part]
            assert_array_equal(np.cumsum(d, axis).copy_to_host(), np.cumsum(x, axis))
        np.cumsum(device, axis, dtype=dtype, out=device)
        assert_array_equal(device.copy_to_host(), np.cumsum(a, axis, dtype=dtype))
    in_parts = {steps[-1][0] for steps in scan_steps if len(steps) > 1}
    tiled = kernel_kinds_of(scan_steps) & {"scan_columns"}
    assert (in_parts, tiled) == (
        (set(), {"scan_columns"}) if in_tiles else ({"scan_serial"}, set())
    )


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_column_reductions_in_shared_memory_match_numpy(reduction_limits, reduction_steps, dtype):
    """Tests groups of columns that wide accesses cannot read: one group or many in a block, several threads
    for a column and several columns for a thread, remaining groups, rows at any offset."""
    reduction_limits(MIN_STAGED_BYTES=0, BUSY_BLOCKS=3)
    for shape in (31, 2, 11), (40, 50, 7), (7, 3, 301), (5, 1000, 3), (2, 2, 2):
        a = random_array(shape, dtype)
        device = cuda.to_device(a)
        for part in np.s_[:], np.s_[1:]:
            x, d = a[part], device[part]
            assert_array_equal(np.sum(d, 1).copy_to_host(), np.sum(x, 1))
            assert_array_equal(np.argmin(d, 1).copy_to_host(), np.argmin(x, 1))
            assert_array_equal(np.max(d, 1, initial=3).copy_to_host(), np.max(x, 1, initial=3))
            np.testing.assert_allclose(np.var(d, 1).copy_to_host(), np.var(x, 1), rtol=1e-3)
            out = cuda.device_array((x.shape[2], x.shape[0]), dtype).T
            np.max(d, 1, out=out)
            assert_array_equal(out.copy_to_host(), np.max(x, 1))
    staged = [steps[0] for steps in reduction_steps if steps[0][0] == "staged_columns"]
    assert {team_size(plan) > 1 for *_, plan, _ in staged if len(plan) == SMALL_PLAN} == {
        True,
        False,
    }


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_contiguous_short_rows_are_reduced_in_shared_memory(
    reduction_limits, reduction_steps, dtype
):
    reduction_limits(MIN_STAGED_BYTES=0, BUSY_BLOCKS=3)
    lengths = np.random.default_rng(7).choice(np.arange(3, 20, 2), 3, replace=False).tolist()
    for length in 2, 6, *lengths:
        a = random_array((1500, length), dtype)
        device = cuda.to_device(a)
        for part in np.s_[:], np.s_[1:], np.s_[:77]:
            x, d = a[part], device[part]
            assert_array_equal(np.sum(d, 1).copy_to_host(), np.sum(x, 1))
            assert_array_equal(np.argmax(d, 1).copy_to_host(), np.argmax(x, 1))
            assert_array_equal(np.min(d, 1, initial=3).copy_to_host(), np.min(x, 1, initial=3))
            np.testing.assert_allclose(np.std(d, 1).copy_to_host(), np.std(x, 1), rtol=1e-3)
            out = cuda.device_array((len(x), 2), dtype)[:, 1]
            np.max(d, 1, out=out)
            assert_array_equal(out.copy_to_host(), np.max(x, 1))
    assert "staged_columns" in kernel_kinds_of(reduction_steps)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_reductions_of_separated_axes_match_numpy(reduction_steps, dtype):
    """Reduces axes that are not neighbours, in one part and in several."""
    for shape, axes in (((60, 3, 50), (0, 2)), ((300, 2, 190), (0, 2))):
        a = random_array(shape, dtype)
        device = cuda.to_device(a)
        for part in np.s_[:], np.s_[..., 1:], np.s_[::-1, ..., ::-2]:
            x, d = a[part], device[part]
            assert_array_equal(
                np.sum(d, axes, initial=3).copy_to_host(), np.sum(x, axes, initial=3)
            )
    assert kernel_kinds_of(reduction_steps) >= {"gapped_packed", "gapped_stepped"}


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_two_launch_reductions_match_numpy(reduction_limits, reduction_steps, dtype):
    """A short axis between the result's axes is reduced after the other axes, then an outer axis of few
    rows."""
    reduction_limits(TEAM_ROWS=8, TWO_LAUNCHES_BYTES=0)
    for shape, axes in (
        ((150, 31, 3), (0, 2)),
        ((600, 4, 9, 2), (0, 3)),
        ((5, 60, 7, 3), (0, 1, 3)),
        ((130, 11, 2, 7), (0, 2)),
        ((9, 3, 4, 150), (1, 3)),
        ((2, 8, 3, 2, 140), (0, 2, 4)),
    ):
        a = random_array(shape, dtype)
        device = cuda.to_device(a)
        for part in np.s_[:], np.s_[1:], np.s_[::-1, ..., 1:]:
            x, d = a[part], device[part]
            found = np.max(d, axes, initial=3).copy_to_host()
            assert_array_equal(found, np.max(x, axes, initial=3))
            np.testing.assert_allclose(np.var(d, axes).copy_to_host(), np.var(x, axes), rtol=1e-3)
            out = cuda.device_array(found.shape[::-1], dtype).T
            assert_array_equal(
                np.sum(d, axes, dtype=dtype, out=out).copy_to_host(), np.sum(x, axes, dtype=dtype)
            )
    first = kernel_kinds_of(steps[:1] for steps in reduction_steps if len(steps) == 2)
    assert len(first) > 1 and any(len(steps) == 1 for steps in reduction_steps)


def test_variance_of_uneven_parts_matches_numpy(reduction_limits):
    reduction_limits(MIN_PART_BYTES=64, MAX_PART_BYTES_ANY_ORDER=64, BLOCK_BYTES=4096)
    a = np.zeros(16 * 1023 + 1, "f4")
    a[-1] = 1000  # alone in the last part
    np.testing.assert_allclose(np.var(cuda.to_device(a)), np.var(a, dtype="f8"), rtol=1e-5)


AFTER = {  # composes maps x -> m x + c, with m in the lower half of the bits and c in the upper half
    "u4": "((a & 65535) * (b & 65535) & 65535) | ((a >> 16) * (b & 65535) + (b >> 16)) << 16",
    "u8": "((a & 0xffffffff) * (b & 0xffffffff) & 0xffffffff)"
    " | ((a >> 32) * (b & 0xffffffff) + (b >> 32)) << 32",
}


def compose_in_order(maps):
    """Returns the composition of the maps, computed in Python one after the other."""
    half = maps.itemsize * 4
    mask = (1 << half) - 1
    m, c = 1, 0
    for one in maps.tolist():
        m, c = m * (one & mask) & mask, (c * (one & mask) + (one >> half)) & mask
    return c << half | m


@pytest.mark.parametrize("dtype", AFTER)
def test_long_parts_are_reduced_in_order(reduction_limits, dtype):
    """Also tests arrays that are too small for this schedule: one part, several parts, a block for
    each row."""
    after = cuda.reduce(AFTER[dtype])
    maps = np.random.default_rng(3).integers(0, 1 << 31, 50_001).astype(dtype)
    maps = maps * maps | maps.dtype.type(1)
    x = cuda.to_device(maps)
    assert after(x) == compose_in_order(maps)
    reduction_limits(USUAL_PARTS=1)
    assert after(x[1:30_000]) == compose_in_order(maps[1:30_000])
    reduction_limits(BUSY_PARTS=1)
    rows = maps[: 3 * 15_000].reshape(3, 15_000)
    got = after(cuda.to_device(rows), axis=1).copy_to_host()
    assert got.tolist() == [compose_in_order(row) for row in rows]
