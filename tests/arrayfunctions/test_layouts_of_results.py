"""The memory layout of results equals NumPy's (*_like, several quantiles), and results own their
memory."""

import itertools

import numpy as np
import pytest
from kit.sample import random_generator

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


def drawn_array(random):
    """Returns an array of one to four axes, a view of a larger array in C order: its axes are
    permuted, cut, reversed, or have steps."""
    shape = tuple(random.integers(2, 5, random.integers(1, 5)))
    whole = cuda.to_device(random.integers(-20, 20, [2 * n for n in shape]) / 8)
    parts = [(slice(None, 2 * n, 2), slice(n), slice(n - 1, None, -1)) for n in shape]
    index = tuple(slice(n) if random.random() < 0.6 else p[random.integers(3)]
                  for n, p in zip(shape, parts, strict=True))  # fmt: skip
    axes = random.permutation(len(shape)).tolist()
    view = lambda a: a[index].transpose(axes)
    device, host = view(whole), view(whole.copy_to_host())
    if random.random() < 0.5:
        return device.copy(order="K"), host.copy(order="K")
    return device, host


FUNCTIONS = {
    "gradient": lambda x: np.gradient(x),
    "gradient of an axis": lambda x: np.gradient(x, 2.0, axis=-1),
    "trapezoid": lambda x: np.trapezoid(x),
    "trapezoid of an axis": lambda x: np.trapezoid(x, dx=0.5, axis=0),
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, 1),
    "select": lambda x: np.select([x > 1, x < 0], [x, 2 * x], 7.0),
    "select numbers": lambda x: np.select([x > 1], [1.5], 0),
    "round": lambda x: np.round(x, 1),
    "round to integers": lambda x: np.round(x),
    "round to tens": lambda x: x.round(-1),
    "round float32": lambda x: np.around(x.astype("f4"), 1),
    "round complex": lambda x: np.round(x + 0j, 1),
    "clip": lambda x: np.clip(x, -1, 1),
    "where": lambda x: np.where(x > 0, x, 0),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x, kind="stable"),
    "diff": lambda x: np.diff(x, axis=0),
    "roll": lambda x: np.roll(x, 1, 0),
    "pad": lambda x: np.pad(x, 1),
    "repeat": lambda x: np.repeat(x, 2, axis=0),
    "concatenate": lambda x: np.concatenate([x, x], axis=-1),
    "stack": lambda x: np.stack([x, x], axis=-1),
    "delete": lambda x: np.delete(x, 0, axis=-1),
    "insert": lambda x: np.insert(x, 1, 5, axis=0),
    "sum": lambda x: np.sum(x, axis=0),
    "mean": lambda x: np.mean(x, axis=-1, keepdims=True),
    "median": lambda x: np.median(x, axis=0),
    "quantile": lambda x: np.quantile(x, [[0.1, 0.2], [0.3, 0.4]], axis=-1),
    "nanpercentile": lambda x: np.nanpercentile(x, [10, 90], axis=0),
    "interp": lambda x: np.interp(x, [-1.0, 0, 1], [3.0, 4, 5]),
    "angle": lambda x: np.angle(x),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "isclose": lambda x: np.isclose(x, 0.5),
    "astype": lambda x: x.astype("f4", order="A"),
    "copy": lambda x: x.copy(),
    "flip": lambda x: np.flip(x, 0),
    "accumulate": lambda x: np.maximum.accumulate(x, axis=-1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_for_random_views_have_numpys_layout(name):
    random, call = random_generator(), FUNCTIONS[name]
    for _ in range(25):
        device, host = drawn_array(random)
        assert device.strides == host.strides
        try:
            expected = call(host)
        except ValueError:  # for example, tril needs two axes
            continue
        found = call(device)
        pairs = (
            zip(found, expected, strict=True) if type(expected) is tuple else [(found, expected)]
        )
        for one, other in pairs:
            other = np.asarray(other)
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-6, atol=1e-12)
            assert strides_of_long_axes(one) == strides_of_long_axes(other), host.strides


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
