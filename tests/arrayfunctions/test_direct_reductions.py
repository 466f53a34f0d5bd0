"""Calls of reductions that C code makes return the results of the first call with a dtype, which
Python code makes, for arguments of every kind."""

import sys

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda

FUNCTIONS = ("sum", "prod", "max", "min", "any", "all", "count_nonzero", "mean", "var", "std", "argmax", "argmin")  # fmt: skip
DTYPES = "?", "i1", "i4", "u8", "f2", "f4", "f8", "c8"
OPTIONS = {
    "dtype": ("sum", "prod", "mean", "var", "std"),
    "ddof": ("var", "std"),
    "where": ("sum", "prod", "any", "all", "mean", "var", "std"),
    "initial": ("sum", "prod", "max", "min"),
}


def random_array(rng, dtype):
    shape = rng.integers(1, 6, rng.integers(0, 4))
    x = np.asarray((3 * rng.random(shape)).astype(dtype))
    x = x.transpose(rng.permutation(x.ndim))
    return x[tuple(slice(None, None, rng.choice((1, 2, -1))) for _ in range(x.ndim))]


def random_axis(rng, ndim):
    axes = [int(axis) for axis in rng.permutation(ndim)]
    return [None, 0, -1, ndim, 1.0, True, tuple(axes), tuple(axes[:1]), ()][rng.integers(9)]


def random_keywords(rng, name, x):
    keywords = {}
    if rng.integers(2):
        keywords["axis"] = random_axis(rng, x.ndim)
    if rng.integers(3) == 0:
        keywords["keepdims"] = [True, False, 1, 0][rng.integers(4)]
    values = {
        "dtype": [None, "f8", "i8"][rng.integers(3)],
        "ddof": [0, 1, 1.5, 7, np.int64(1)][rng.integers(5)],
        "where": [True, False, rng.random(x.shape) > 0.3][rng.integers(3)],
        "initial": [None, 0, 2.0][rng.integers(3)],
    }
    option = list(values)[rng.integers(4)]
    if name in OPTIONS[option] and rng.integers(2):
        keywords[option] = values[option]
    return keywords


def result_or_error(call):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(call())
        except (TypeError, ValueError, IndexError) as error:
            return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_direct_reductions_match_numpy(name):
    rng = random_generator()
    function = getattr(np, name)
    for dtype in DTYPES:
        function(cuda.to_device(np.ones(2, dtype)))  # later calls with this dtype are direct
    for _ in range(120):
        x = random_array(rng, DTYPES[rng.integers(len(DTYPES))])
        keywords = random_keywords(rng, name, x)
        d = cuda.to_device(x)
        expected = result_or_error(lambda x=x, k=keywords: function(x, **k))
        if isinstance(keywords.get("where"), np.ndarray):
            keywords["where"] = cuda.to_device(keywords["where"])
        found = result_or_error(lambda d=d, k=keywords: function(d, **k))
        if isinstance(expected, type) or isinstance(found, type):
            assert found is expected, (x.dtype, x.shape, keywords)
            continue
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (x.dtype, keywords)
        np.testing.assert_allclose(
            found, expected, rtol=3e-3 if x.dtype == "f2" else 1e-5, err_msg=str(keywords)
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_new_shapes_are_reduced_without_python_code(name):
    function = getattr(np, name)
    function(cuda.to_device(np.ones((3, 3), "f4")))
    arrays = [cuda.to_device(np.ones((n, n + 1), "f4")) for n in range(3, 20)]
    function(arrays[0], 0)
    function(arrays[0], 1)
    seen = []

    def record(frame, event, _):
        if event == "call" and "numbalite/functions" in frame.f_code.co_filename:
            seen.append(frame.f_code.co_name)

    sys.setprofile(record)
    try:
        for d in arrays:
            function(d)
            function(d, axis=0)
            function(d, axis=1, keepdims=True)
    finally:
        sys.setprofile(None)
    assert not seen
