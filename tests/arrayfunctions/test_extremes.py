"""argmax, argmin and nanargmax find the first of equal extremes in every kind of reduction, as
NumPy does."""

import random

import numpy as np
import pytest

from numbalite import cuda

NAMES = ("argmax", "argmin", "nanargmax", "nanargmin")
DTYPES = ("f4", "f8", "f2", "i1", "u2", "i4", "i8", "?", "c8")
KINDS = [(name, dtype) for name in NAMES for dtype in DTYPES]


def random_few_values(rng, shape, dtype, has_nans):
    """Returns an array in which most extremes occur several times."""
    x = rng.integers(0, 3, shape).astype(dtype)
    if x.dtype.kind == "c":
        x += 1j * rng.integers(0, 2, shape).astype(dtype)
    if has_nans and x.dtype.kind in "fc":
        x[rng.random(shape) < 0.2] = np.nan
    return x


@pytest.mark.parametrize("name, dtype", KINDS)
def test_argmax_returns_the_first_of_equal_extremes(name, dtype, reduction_limits):
    """Rows of 32 to 512 bytes are reduced by a few lanes each, other rows by a warp, a block or several
    blocks each."""
    reduction_limits(
        TEAM_ROWS=8,
        STRIPE_BYTES=random.choice((1, 1 << 11)),
        MIN_PART_BYTES=64,
        MAX_PART_BYTES_ANY_ORDER=random.choice((64, 1 << 18)),
        BLOCK_BYTES=random.choice((256, 1 << 16)),
    )
    rng = np.random.default_rng(random.randrange(10**6))
    few_lanes = (32 << random.randrange(4)) // np.dtype(dtype).itemsize
    for length, order, step in (
        (few_lanes, "C", 1),
        (random.randrange(1, 700), random.choice("CF"), random.choice((1, 2, -1))),
    ):
        shape = random.randrange(8, 300), length
        x = np.asarray(random_few_values(rng, shape, dtype, name.startswith("arg")), order=order)
        d, x = cuda.to_device(x)[:, ::step], x[:, ::step]
        for axis in (1, random.choice((0, None))):
            found = np.asarray(getattr(np, name)(d, axis=axis))
            expected = np.asarray(getattr(np, name)(x, axis=axis))
            assert (found == expected).all(), (x.shape, x.strides, axis)
