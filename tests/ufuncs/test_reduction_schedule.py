"""Schedules of reductions (cext/core/reduceplan.c): properties that hold for each geometry."""

import math

import numpy as np
import pytest

from numbalite import _core, cuda

LENGTHS = 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 100, 256, 1000, 4096, 5000, 123_457


def geometry(rng, itemsize):
    """(kept dimensions, reduced dimensions) of an array with gaps, transposed at random."""
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


@pytest.mark.parametrize("serial", [False, True])
def test_parts_cover_each_row_once(serial):
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(4000):
        itemsize = int(rng.choice([1, 2, 4, 8, 16]))
        kept, reduced = geometry(rng, itemsize)
        masked, any_order = (bool(rng.random() < 0.2) for _ in range(2))
        kind, threads, team, parts, chunk, groups = _core.reduction_schedule(
            kept, reduced, itemsize, 0, itemsize, masked, any_order, serial
        )
        length = math.prod(one[0] for one in reduced)
        assert parts * chunk >= length > (parts - 1) * chunk
        assert threads <= 256 and team >= 1 and groups >= 1
        assert kind == "serial" or not serial
        kinds.add(kind.rstrip("0123456789x"))
    assert kinds == {"serial"} if serial else len(kinds) > 8


@pytest.mark.parametrize(
    ("dims", "error"),
    [([(0, 1, 0, 0)], ValueError), ([(1, 2)], TypeError), ([(2, 4, 0, 0)] * 40, ValueError)],
)
def test_dimensions_that_cannot_be_scheduled(dims, error):
    with pytest.raises(error):
        _core.reduction_schedule([], dims, 4, 0, 4, False, True, False)


def test_an_unknown_limit():
    with pytest.raises(ValueError, match="no limit LENGTH"):
        _core.reduction_limit("LENGTH", 3)


def test_calls_with_more_shapes_than_a_table_holds():
    """The oldest calls are evicted, not all of them."""
    ones = cuda.to_device(np.ones(1200, "i4"))
    for _ in range(2):
        sums = [int(np.add.reduce(ones[:n])) for n in range(1, 1150)]
        assert sums == list(range(1, 1150))
    assert int(np.add.reduce(ones[:1149])) == 1149
