"""Tests properties of the schedules of reductions and scans of random arrays (cext/core/reduceplan.c,
scanplan.c)."""

import math

import numpy as np
import pytest

from numbalite import _core, cuda
from numbalite.ufuncs import element, reduceloops

LENGTHS = 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 100, 256, 1000, 4096, 5000, 123_457


def random_geometry(rng, itemsize):
    """Returns (kept dimensions, reduced dimensions) of an array with gaps, transposed at random."""
    lengths = [int(n) for n in rng.choice(LENGTHS, rng.integers(1, 6))]
    step, dims = itemsize * int(rng.choice([1, 1, 1, 2])), []
    for length in lengths:
        dims.append((length, step, 0, 4))
        step *= length
        step += itemsize * int(rng.choice([0, 0, 1]))
    reduced = rng.random(len(dims)) < 0.5
    dims = [one for one in dims[::-1] if one[0] > 1]
    kept = [one for one, is_reduced in zip(dims, reduced, strict=False) if not is_reduced]
    return kept, [one for one, is_reduced in zip(dims, reduced, strict=False) if is_reduced]


def test_parts_cover_each_row_once():
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(4000):
        itemsize = int(rng.choice([1, 2, 4, 8, 16]))
        kept, reduced = random_geometry(rng, itemsize)
        masked, any_order = (bool(rng.random() < 0.2) for _ in range(2))
        kind, threads, team, parts, chunk, groups = _core.reduction_schedule(
            kept, reduced, itemsize, 0, itemsize, masked, any_order
        )
        length = math.prod(one[0] for one in reduced)
        assert parts * chunk >= length > (parts - 1) * chunk
        assert threads <= 256 and team >= 1 and groups >= 1
        kinds.add(kind.rstrip("0123456789x"))
    assert len(kinds) > 8


def shared_properties(kind, sizes, vec=1):
    """Returns the properties that all kernels of an image share: the kind, and the width of a scan,
    which alignment decides."""
    word = kind.rstrip("0123456789x")
    width = kind.removeprefix(word).partition("x")[0] if word.startswith("scan") else ""
    return word, width, *sizes, vec


def test_reduction_kernels_list_all_variants_for_other_shapes():
    """Each kernel lists all kernels that other shapes may need as its variants."""
    rng, images = np.random.default_rng(6), {}
    for _ in range(4000):
        itemsize = int(rng.choice([1, 2, 4, 8, 16]))
        sizes = itemsize, max(itemsize, int(rng.choice([4, 8, 16, 24])))
        kept, reduced = random_geometry(rng, itemsize)
        kind, *_ = _core.reduction_schedule(kept, reduced, itemsize, 0, sizes[1], False, False)
        image = reduceloops._kernel_variants(kind, "", *sizes)
        assert (kind, "") in image
        assert (("serial", "") in image) == kind.startswith(("columns", "serial"))
        assert images.setdefault(shared_properties(kind, sizes), image) == image
    assert max(map(len, images.values())) >= 5


def test_scan_kernels_list_all_variants_for_other_shapes():
    rng, images = np.random.default_rng(7), {}
    memory = cuda.device_array(1 << 24, "u1")
    for _ in range(1000):
        itemsize = int(rng.choice([1, 2, 4, 8, 16]))
        rows, length = int(rng.choice([1, 40, 5000])), int(rng.choice(LENGTHS[:-3]))
        if rows * length * itemsize > memory.size:
            continue
        x = memory._view((rows, length), (length * itemsize, itemsize), np.dtype(f"V{itemsize}"))
        kind, _, _, _, vec, *_ = _core.scan_plan(x, x, 1, itemsize, b"")[0][-1]
        sizes = itemsize, vec * itemsize
        image = reduceloops._kernel_variants(kind, "", *sizes, vec)
        assert (kind, "") in image
        assert images.setdefault(shared_properties(kind, sizes, vec), image) == image
    assert max(map(len, images.values())) >= 3


@pytest.mark.parametrize(
    ("dims", "error"),
    [([(0, 1, 0, 0)], ValueError), ([(1, 2)], TypeError), ([(2, 4, 0, 0)] * 40, ValueError)],
)
def test_invalid_reduction_dimensions_raise(dims, error):
    with pytest.raises(error):
        _core.reduction_schedule([], dims, 4, 0, 4, False, True)


def test_unknown_limit_name_raises():
    with pytest.raises(ValueError, match="no limit LENGTH"):
        _core.reduction_limit("LENGTH", 3)


def test_reduction_plans_are_cached_for_many_shapes():
    ones = cuda.to_device(np.ones(1200, "i4"))
    for _ in range(2):
        sums = [int(np.add.reduce(ones[:n])) for n in range(1, 1150)]
        assert sums == list(range(1, 1150))
    assert int(np.add.reduce(ones[:1149])) == 1149


def test_reducer_rejects_invalid_arrays():
    f4 = np.dtype("f4")
    function = element.element_function(source="a + b", args="a, b", name="total")
    reducer = reduceloops.Loops(lambda dtype: function, "total").reduction_planner(f4, f4, f4)
    x, out = cuda.to_device(np.ones((3, 4), f4)), cuda.device_array(3, f4)
    mask, ends = cuda.to_device(np.ones((3, 3), bool)), cuda.to_device(np.zeros((3, 2), "i8"))
    bytes_ = cuda.to_device(np.zeros(49, "u1"))
    misaligned = bytes_[1:]._view((3, 4), (16, 4), f4)
    for arguments, keywords, error in (
        ((np.ones((3, 4), f4), (1,), out), {}, TypeError),
        ((x, (1,), np.ones(3, f4)), {}, TypeError),
        ((x, (1,), None), {}, TypeError),
        ((misaligned, (1,), out), {}, ValueError),
        ((x[:0], (1,), out), {}, ValueError),
        ((x, (0,), out), {}, ValueError),
        ((x, (2,), out), {}, ValueError),
        ((x, (1, 1), out), {}, ValueError),
        ((x, (1,), x), {}, ValueError),
        ((x, (1,), out), {"where": mask}, ValueError),
        ((x, (1,), out), {"initial": bytes(5)}, ValueError),
        ((x, (1,), out), {"segments": ends}, ValueError),
    ):
        with pytest.raises(error):
            reducer.reduce(*arguments, **keywords)
    for arguments in ((x, out, 1), (x, x, 2), (x, x, -1), (x[:0], x[:0], 0), (x, x, 1, bytes(5))):
        with pytest.raises(ValueError):
            reducer.scan(*arguments)
    with pytest.raises(TypeError, match=r"find must return \(Dispatcher, dtype of its plan\)"):
        _core.Reducer(lambda *given: None, f4, f4, f4, True).reduce(x, (1,), out)
    with pytest.raises(TypeError, match="numpy.dtype"):
        _core.Reducer(print, f4, f4, 4, True)


def read_plan(plan, itemsize):
    """Returns (rows, length, parts, elements of a part) of a plan (reduce.cuh)."""
    begin = max(16, -(-itemsize // 16) * 16)
    return np.frombuffer(plan, "i8", 4, begin).tolist()


@pytest.mark.parametrize("pipelines", [0, 3])
def test_parts_of_a_scan_cover_each_row_once(reduction_limits, pipelines):
    reduction_limits(PIPELINES=pipelines)
    rng, kinds = np.random.default_rng(2), set()
    memory = cuda.device_array(1 << 24, "u1")
    for _ in range(1000):
        itemsize = int(rng.choice([1, 2, 4, 8, 16]))
        dims, _ = random_geometry(rng, itemsize)
        dims = [(length, step) for length, step, *_ in dims] or [(5, itemsize)]
        size = sum(length * step for length, step in dims)
        if size > memory.size:
            continue
        axis = int(rng.integers(len(dims)))
        dtype = np.dtype(f"V{itemsize}")
        x = memory._view(*zip(*dims, strict=True), dtype)
        steps, scratch = _core.scan_plan(x, x, axis, itemsize, b"")
        kind, reads, writes, wide, vec, grid, threads, plan, slots, shared = steps[-1]
        rows, length, parts, chunk = read_plan(plan, vec * itemsize)
        assert (rows * vec, length) == (math.prod(x.shape) // x.shape[axis], x.shape[axis])
        assert parts * chunk >= length > (parts - 1) * chunk
        assert (reads, writes) == (0, 2) and grid >= 1 and threads <= 384
        assert max(slots) < 4 + len(scratch) and shared >= 0
        kinds.add(kind.rstrip("0123456789x"))
    assert kinds >= {"scan_serial", "scan_tiles"}
    assert ("pipelined_scan" in kinds) == bool(pipelines)


def test_scan_planner_rejects_invalid_arguments():
    x, y = cuda.to_device(np.ones((3, 4))), cuda.to_device(np.ones((4, 3)))
    for arrays, axis, itemsize, error in (
        ((x, y), 0, 8, ValueError),
        ((x, x), 2, 8, ValueError),
        ((x, x), -1, 8, ValueError),
        ((x[:0], x[:0]), 1, 8, ValueError),
        ((x, np.ones((3, 4))), 1, 8, TypeError),
        ((x, x), 1, 0, ValueError),
        ((x, x), 1, 1 << 40, ValueError),
        ((x, x), 1, 4, ValueError),
    ):
        with pytest.raises(error):
            _core.scan_plan(*arrays, axis, itemsize, bytes(8))


def test_scan_of_large_records_starts_with_the_initial_value(optimized_host_code):
    """The parameter of a launch contains initial values of any element size."""
    x = np.zeros(300, [("a", "i4", 150)])
    x["a"] = np.arange(300)[:, None]
    got = cuda.scan("b")(cuda.to_device(x), initial=x[7]).copy_to_host()
    np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize("itemsize", [1 << 14, 1 << 17, 3 << 20])
def test_elements_larger_than_a_part_are_scheduled(itemsize):
    for rows, row in ((100, 5000), (3, 100_000)):
        reduced = [(rows, 2 * itemsize * row, 0, 0), (row, itemsize, 0, 0)]
        _, _, _, parts, chunk, _ = _core.reduction_schedule(
            [], reduced, itemsize, 0, itemsize, False, True
        )
        assert parts * chunk >= rows * row > (parts - 1) * chunk
        assert _core.reduction_row_part(rows, row, itemsize, 1, True) >= 0


def test_invalid_reduction_plans_raise():
    one = [(2, 4, 0, 0)]
    for given, error in (
        ((one, [(1, 2)], 1, 1, 1, 0, None, True, 4, 0), TypeError),
        ((one * 33, one, 1, 1, 1, 0, None, True, 4, 0), ValueError),
        ((one, one, 1, 1, 1, 0, bytes(8), True, 4, 0), ValueError),
        ((one, one, 1, 1, 1, 0, None, True, 0, 0), ValueError),
        ((one, tuple(one), 1, 1, 1, 0, None, True, 4, 0), TypeError),
    ):
        with pytest.raises(error):
            _core.kernel_plan(*given)
