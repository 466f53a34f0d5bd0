"""The memory layout of results equals NumPy's (*_like, several quantiles), and results own their
memory."""

import itertools

import numpy as np
import pytest

from numbalite import cuda

X = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "C": X,
    "F": np.asfortranarray(X),
    "transposed": X.transpose(2, 0, 1),
    "parts": np.arange(96.0).reshape(4, 6, 4)[::2, ::2],
    "row": np.arange(3.0),
    "matrix": np.arange(6.0).reshape(3, 2).T,
    "number": np.array(1.0),
}


def strides_of_long_axes(a):
    """Strides that matter."""
    return [step for step, length in zip(a.strides, a.shape, strict=True) if length > 1]


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "full_like"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_like_functions_with_another_shape_match_numpys_layout(name, layout):
    x, make = LAYOUTS[layout], getattr(np, name)
    args = (2,) if name == "full_like" else ()
    device = cuda.to_device(x)
    for shape in (None, (), 7, (4,), (5, 6), (3, 2), (2, 3, 4), (3, 2, 2), (2, 1, 3), (2, 2, 2, 2)):
        for order in "KACF":
            expected = make(x, *args, shape=shape, order=order)
            found = make(device, *args, shape=shape, order=order)
            assert (found.shape, strides_of_long_axes(found)) == (
                expected.shape,
                strides_of_long_axes(expected),
            ), (shape, order)
            if name != "empty_like":
                np.testing.assert_array_equal(found.copy_to_host(), expected)


QUANTILES = ["quantile", "percentile", "nanquantile", "nanpercentile"]


@pytest.mark.parametrize(
    "function, layout", list(itertools.product(QUANTILES, ["C", "F", "transposed", "parts"]))
)
def test_several_quantiles_have_numpys_layout(function, layout):
    x, call = LAYOUTS[layout], getattr(np, function)
    scale = 100 if "percentile" in function else 1
    device = cuda.to_device(x)
    quantiles = [0.5, [0.5], [0.1, 0.5, 0.9]]
    if not function.startswith("nan"):
        quantiles.append([[0.1, 0.2, 0.3], [0.2, 0.4, 0.5]])
    for q in quantiles:
        for axis in (None, 0, 1, -1, (0, 1), (0, 2), (0, 1, 2)):
            for more in ({}, {"keepdims": True}, {"method": "lower"}, {"method": "hazen"}):
                given = np.multiply(q, scale)
                expected = np.asarray(call(x, given, axis, **more))
                found = call(device, given, axis, **more)
                assert (found.shape, strides_of_long_axes(found)) == (
                    expected.shape,
                    strides_of_long_axes(expected),
                ), (q, axis)
                np.testing.assert_allclose(found.copy_to_host(), expected)


VIEWS = {
    "slice": lambda a: a[1:],
    "every": lambda a: a[...],
    "number": lambda a: a[0, 0, 0, ...],
    "new axis": lambda a: a[None],
    "T": lambda a: a.T,
    "reshape": lambda a: a.reshape(6, 4),
    "ravel": lambda a: a.ravel(),
    "view": lambda a: a.view("i8"),
    "squeeze": lambda a: a[:1].squeeze(),
    "broadcast": lambda a: np.broadcast_to(a, (2, 2, 3, 4)),
    "split": lambda a: np.split(a, 2)[0],
    "diagonal": lambda a: a[0].diagonal(),
    "imaginary": lambda a: a.astype(complex).imag,
    "einsum": lambda a: np.einsum("ijk->kji", a),
    "field": lambda a: a.view([("x", "f4"), ("y", "f4")])["y"],
    "fields": lambda a: a.view([("x", "f4"), ("y", "f4"), ("z", "f8")])[["x", "z"]],
    "flip": lambda a: np.flip(a),
    "copy of a view": lambda a: a[1:].copy(),
    "itself": lambda a: a,
    "sum": lambda a: a.sum(0),
    "kept": lambda a: a.sum(0, keepdims=True),
    "indices": lambda a: a[[0]],
    "add": lambda a: a + 1,
    "sort": lambda a: np.sort(a, 0),
    "stack": lambda a: np.stack([a, a]),
    "like": lambda a: np.zeros_like(a[1:]),
    "mask": lambda a: a[a > 3],
    "small mask": lambda a: a[a > 20],
    "nonzero": lambda a: np.nonzero(a)[0],
    "unique": lambda a: np.unique(a),
    "roll": lambda a: np.roll(a, 1),
    "roll of an axis": lambda a: np.roll(a, 1, 0),
    "roll of a row": lambda a: np.roll(a[0, 0], 1),
    "concatenate": lambda a: np.concatenate([a, a]),
    "take": lambda a: np.take(a, [0], 0),
    "pad": lambda a: np.pad(a, 1),
}


@pytest.mark.parametrize("call", VIEWS.values(), ids=VIEWS)
def test_owndata_flag_matches_numpy(call):
    x = X.copy()
    d = cuda.to_device(x)
    for _ in range(4):  # recorded calls, too
        assert call(d).flags["OWNDATA"] == call(x).flags["OWNDATA"]
        assert call(d).flags.owndata == call(x).flags.owndata


def test_binding_a_stream_creates_no_view():
    d, stream = cuda.to_device(X), cuda.stream()
    assert d.bind(stream).flags["OWNDATA"]
    assert not d[1:].bind(stream).flags["OWNDATA"]
    stream.synchronize()
