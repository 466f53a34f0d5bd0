"""Defines Hypothesis strategies of the property tests (shapes, values, memory layouts, offsets),
and a comparison of results.

An operand is drawn as values and a memory layout: the order of the axes in memory, steps over it
(negative ones too), repeated axes, a field of packed records (so that elements are not aligned).
A NumPy array and a device array of an operand have the same bytes.
"""

import sys

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from numbalite import cuda

from .arrays import DLPackSpeaker, ForeignArray

INTEGERS = "i1 u1 i2 u2 i4 u4 i8 u8".split()
FLOATS = "f2 f4 f8".split()
COMPLEX = "c8 c16".split()
ALL = ["?", *INTEGERS, *FLOATS, *COMPLEX]
NAMES = {np.dtype(t): "boolean" if t == "?" else np.dtype(t).name for t in ALL}
STEPS = [1, 1, 1, 1, 2, 3, -1, -2]


def numba_name(dtype):
    """Returns the name of a dtype in a signature."""
    return NAMES[np.dtype(dtype)]


LONG = any(word.startswith("--hypothesis-profile=long") for word in sys.argv)


def draw_examples(count):
    """Returns a decorator that runs `count` fixed examples; --hypothesis-profile=long runs thirty
    times as many new examples.

    Failing examples are shrunk only in this profile, because shrinking takes too long if each
    example compiles.
    """
    return settings(
        max_examples=count * 30 if LONG else count,
        derandomize=not LONG,
        phases=[p for p in Phase if LONG or p is not Phase.shrink],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


# ---- values ----
def make_values(seed, shape, dtype, special=False, low=-100, high=100):
    """Returns numbers of every kind that the dtype has; with `special` also extremes, infinities
    and NaN."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype("?")
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if special:
            values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            odd = np.array([info.min, info.max, 0, 1], dtype)
        else:
            values = rng.integers(max(low, info.min), min(high, info.max), shape, endpoint=True)
            return values.astype(dtype)
    elif dtype.kind == "f":
        values = rng.normal(size=shape, scale=10).astype(dtype)
        odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, np.finfo(dtype).max], dtype)
    else:
        parts = rng.normal(size=(2, *shape))
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if special and values.size:
        chosen = rng.random(shape) < 0.25
        values[chosen] = rng.choice(odd, chosen.sum())
    return values


# ---- shapes ----
def draw_shapes(min_dims=0, max_dims=5, most=6):
    return st.lists(
        st.sampled_from([0, 1, 1, 2, 2, 3, 3, 4, 5, most]), min_size=min_dims, max_size=max_dims
    ).map(tuple)


@st.composite
def draw_broadcast_shape(draw, shape):
    """Returns a shape that broadcasts to `shape`."""
    kept = draw(st.sampled_from([0, 0, 0, 1, 2, len(shape)]))
    return tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape[min(kept, len(shape)) :])


# ---- layouts ----
@st.composite
def array_recipes(draw, ndim, unaligned=True):
    kind = draw(st.sampled_from(["packed", "packed", "F", "steps", "steps", "records"]))
    if kind == "records" and not unaligned:
        kind = "steps"
    if kind == "packed" or ndim == 0:
        return "packed" if kind != "records" else kind, tuple(range(ndim)), (1,) * ndim
    if kind == "F":
        return kind, tuple(range(ndim))[::-1], (1,) * ndim
    order = draw(st.permutations(range(ndim)))
    return kind, tuple(order), tuple(draw(st.sampled_from(STEPS)) for _ in range(ndim))


class PlacedArray:
    """Values in memory: `host` is a NumPy view of `base`; `device()` returns a device array with
    this layout."""

    def __init__(self, values, recipe, repeat=None):
        kind, order, steps = recipe
        dtype = values.dtype
        memory = np.dtype([("pad", "u1"), ("value", dtype)]) if kind == "records" else dtype
        lengths = [values.shape[axis] * abs(steps[axis]) for axis in order]
        self.base = np.zeros(lengths, memory)
        view = self.base["value"] if kind == "records" else self.base
        if order:
            view = view[tuple(slice(None, None, steps[axis]) for axis in order)]
            view = view.transpose(np.argsort(order))
        view[...] = values
        self.host = view if repeat is None else np.broadcast_to(view, repeat)

    def device(self):
        flat = cuda.to_device(self.base.reshape(-1).view("u1"))
        h = self.host
        offset = h.ctypes.data - self.base.ctypes.data if h.size else 0
        return flat._view(h.shape, h.strides, h.dtype, offset)


PLACES = ["host", "device", "device", "foreign", "dlpack", "list"]


def convert_to_argument(placed, place):
    """Returns the drawn array as an argument of the kind `place`, which is one of PLACES."""
    if place == "device":
        return placed.device()
    if place == "foreign":
        return ForeignArray(placed.device())
    if (
        place == "dlpack"
        and placed.host.size
        and placed.host.strides
        == tuple(s // placed.host.itemsize * placed.host.itemsize for s in placed.host.strides)
    ):
        return DLPackSpeaker(placed.device())
    return placed.host


def is_device_argument(argument):
    return isinstance(argument, (cuda.DeviceNDArray, DLPackSpeaker, ForeignArray))


def to_host(result):
    return result.copy_to_host() if isinstance(result, cuda.DeviceNDArray) else result


# ---- comparing ----
def assert_close(result, expected, ulps=0, scale=0.0, where=None, device=None):
    """Asserts the same dtype, shape and numbers, within `ulps` of each number, or of `scale` if
    that is larger."""
    if device is not None:
        kind = cuda.DeviceNDArray if device else (np.ndarray, np.generic)
        assert isinstance(result, kind), f"{type(result)}, expected {kind}"
        if not device:
            assert isinstance(result, np.ndarray) == isinstance(expected, np.ndarray), type(result)
    assert result.dtype == expected.dtype, f"{result.dtype}, expected {expected.dtype}"
    assert result.shape == expected.shape, f"{result.shape}, expected {expected.shape}"
    got, wanted = np.asarray(to_host(result)), np.asarray(expected)
    if where is not None:
        where = np.broadcast_to(where, got.shape)
        got, wanted = got[where], wanted[where]
    if wanted.dtype.kind in "fc" and (ulps or scale):
        eps = float(np.finfo(wanted.dtype).eps)
        exact = "c16" if wanted.dtype.kind == "c" else "f8"
        np.testing.assert_allclose(
            got.astype(exact), wanted.astype(exact), rtol=ulps * eps, atol=ulps * eps * scale
        )
    else:
        np.testing.assert_array_equal(got, wanted)


def result_or_error(function, *args, **keywords):
    """Returns the result of a call, or the exception that it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*args, **keywords), None
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        return None, error


def assert_same_value_or_error(ours, theirs, compare):
    """Asserts that two outcomes have the same result, or the same kind of error."""
    (result, error), (expected, refused) = ours, theirs
    if refused is None:
        assert error is None, f"{error!r}, NumPy {expected!r}"
        compare(result, expected)
    else:
        assert error is not None, f"{result!r}, NumPy {refused!r}"
        assert is_same_kind(error, refused), f"{error!r}, NumPy {refused!r}"


def is_same_kind(ours, theirs):
    """Compares exceptions with NumPy's: the class is the same, or is derived from the same built-in
    class."""
    for built_in in (OverflowError, TypeError, IndexError, ValueError):
        if isinstance(theirs, built_in):
            return isinstance(ours, built_in)
    return False
