"""Repeated reductions of arrays with the same dtypes have the same results and raise the same
errors as the first call."""

import gc
import sys

import numpy as np
import pytest

from numbalite import _core, cuda, vectorize
from numbalite.runtime import shapes

RNG = np.random.default_rng(5)


@vectorize(target="cuda", identity=0)
def add(x, y):
    "x + y"


@pytest.fixture
def sum_reduction():
    return cuda.reduce("a + b")


@pytest.fixture
def uncached_calls(monkeypatch):
    """Returns the number of calls of cuda.reduce that were not cached."""
    seen = []
    usual = cuda.reduce._reduce_in_python

    def record_and_reduce(self, *arguments, **keywords):
        seen.append(arguments)
        return usual(self, *arguments, **keywords)

    monkeypatch.setattr(cuda.reduce, "_reduce_in_python", record_and_reduce)
    return seen


def random_integers(shape):
    return RNG.integers(-9, 9, shape).astype(np.float32)


GEOMETRIES = {
    "dense": lambda d: d,
    "every other": lambda d: d[:, ::2],
    "transposed": lambda d: d.T,
    "not at 16 bytes": lambda d: d[:, 1:],
    "turned round": lambda d: d[::-1, ::-1],
}


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", GEOMETRIES)
def test_cached_reductions_read_new_values(name, axis, sum_reduction, uncached_calls):
    seen = GEOMETRIES[name]
    for _ in range(3):
        x = random_integers((40, 30))
        d = seen(cuda.to_device(x))
        want = seen(x).sum(axis)
        for got in (
            sum_reduction(d, axis=axis),
            add.reduce(d, axis=axis),
            add.reduce(d, axis, keepdims=True),
        ):
            got = got.copy_to_host() if isinstance(got, _core.DeviceArray) else got
            np.testing.assert_array_equal(np.squeeze(got), want)
        out = cuda.device_array(1 if axis is None else want.shape, np.float32)
        assert sum_reduction(d, res=out, axis=axis) is None
        np.testing.assert_array_equal(np.squeeze(out.copy_to_host()), want)
        if axis is not None:
            assert add.reduce(d, axis, out=out.reshape(want.shape)).shape == want.shape
            np.testing.assert_array_equal(out.copy_to_host().reshape(want.shape), want)
    assert len(uncached_calls) == 2  # with and without res=


def test_cached_calls_return_the_same_results(sum_reduction):
    d = cuda.to_device(random_integers((8, 50)))
    first, again = (sum_reduction(d, axis=1) for _ in range(2))
    assert type(again) is type(first) and again.shape == first.shape and again.dtype == first.dtype
    assert again._address != first._address
    assert type(sum_reduction(d)) is type(sum_reduction(d)) is np.float32
    kept = [add.reduce(d, axis=0, keepdims=True) for _ in range(2)]
    assert [k.shape for k in kept] == [(1, 50)] * 2
    scalars = [add.reduce(d, axis=None) for _ in range(2)]
    assert [(type(s), s.shape) for s in scalars] == [(type(d), ())] * 2


def test_reduction_out_may_overlap_the_operand(sum_reduction):
    x = random_integers((20, 20))
    apart, shared = cuda.to_device(x), cuda.to_device(x)
    for _ in range(2):
        sum_reduction(apart, res=cuda.device_array(20, np.float32), axis=0)
    sum_reduction(shared, res=shared[3], axis=0)
    x[3] = x.sum(0)
    np.testing.assert_array_equal(shared.copy_to_host(), x)
    flat = cuda.to_device(random_integers(64))
    want = flat.copy_to_host().sum()
    other = cuda.device_array(64, np.float32)
    for res in (other, other, flat):
        sum_reduction(flat, res=res)
        assert res.copy_to_host()[0] == want


@pytest.mark.parametrize("axis", [1.0, True, [1], (1.0,), 2, (1, 1)])
def test_another_axis_has_its_own_reduction_plan(axis, sum_reduction):
    d = cuda.to_device(random_integers((4, 5)))
    for known in (1, (1,)):
        sum_reduction(d, axis=known)
        sum_reduction(d, axis=known)
    fresh = cuda.reduce("a + b")
    try:
        want = fresh(d, axis=axis).copy_to_host()
    except Exception as error:
        with pytest.raises(type(error), match=".") as found:
            sum_reduction(d, axis=axis)
        assert str(found.value) == str(error)
    else:
        np.testing.assert_array_equal(sum_reduction(d, axis=axis).copy_to_host(), want)


def test_read_only_outputs_raise(sum_reduction):
    d = cuda.to_device(random_integers((4, 5)))
    out = cuda.device_array(4, np.float32)
    for _ in range(2):
        add.reduce(d, 1, out=out)

    class ReadOnlyInterface:
        def __init__(self, array):
            self.__cuda_array_interface__ = {
                **array.__cuda_array_interface__, "data": (array._address, True),
            }  # fmt: skip

    with pytest.raises(ValueError, match="read-only"):
        add.reduce(d, 1, out=cuda.as_cuda_array(ReadOnlyInterface(out)))
    for wrong in (cuda.device_array(5, np.float32), cuda.device_array(4, np.int32)):
        for _ in range(2):
            with pytest.raises((TypeError, ValueError)):
                sum_reduction(d, res=wrong, axis=1)


def test_only_calls_with_device_arrays_are_cached(sum_reduction, uncached_calls):
    x = random_integers((4, 5))
    for _ in range(3):
        np.testing.assert_array_equal(sum_reduction(x, axis=1), x.sum(1))
    assert len(uncached_calls) == 3


def test_reductions_with_optional_arguments_bypass_the_cache(sum_reduction):
    d = cuda.to_device(random_integers(50))
    whole = sum_reduction(d), sum_reduction(d)
    assert sum_reduction(d, init=3) == whole[0] + 3 == whole[1] + 3
    assert sum_reduction(d, size=10) == d.copy_to_host()[:10].sum()
    assert float(add.reduce(d, initial=5).copy_to_host()) == whole[0] + 5
    assert add.reduce(d, dtype=np.float64).dtype == np.float64


def test_cached_reductions_run_on_the_given_stream(sum_reduction):
    d, stream = cuda.to_device(random_integers((64, 64))), cuda.stream()
    want = d.copy_to_host().sum(1)
    for _ in range(3):
        out = cuda.device_array(64, np.float32, stream=stream)
        sum_reduction(d, res=out, axis=1, stream=stream)
        np.testing.assert_array_equal(out.copy_to_host(stream=stream), want)
        assert sum_reduction(d, stream=stream) == want.sum()


def test_cached_reductions_keep_no_array_alive(sum_reduction):
    gc.collect()
    before = _core.live()["buffers"]
    for _ in range(3):
        d = cuda.to_device(random_integers((30, 30)))
        sum_reduction(d), sum_reduction(d, axis=0), add.reduce(d, 1)
    del d
    gc.collect()
    assert _core.live()["buffers"] == before


def test_cached_reduction_geometries_are_evicted(sum_reduction):
    """More than are kept."""
    x = random_integers(700)
    d = cuda.to_device(x)
    for _ in range(2):
        for n in range(1, 700, 2):
            assert sum_reduction(d[:n]) == x[:n].sum()


def python_functions_of(call):
    """Returns the names of the Python functions that a call runs."""
    names = []
    gc.disable()  # a garbage collection calls functions of other packages
    sys.setprofile(
        lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None
    )
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return names[1:]  # the call itself


CALLS = [
    lambda d, out, total: np.add.reduce(d, axis=0),
    lambda d, out, total: np.add.reduce(d, axis=0, out=out),
    lambda d, out, total: np.multiply.accumulate(d, axis=1),
    lambda d, out, total: add.reduce(d, None, keepdims=True),
    lambda d, out, total: add.accumulate(d),
    lambda d, out, total: total(d, axis=1),
    lambda d, out, total: total(d, res=out, axis=0),
    lambda d, out, total: np.add(d, 1.0),
    lambda d, out, total: np.add.reduce(d, axis=1, initial=3),
    lambda d, out, total: np.maximum.reduce(d, axis=1, where=d > 0, initial=-50.0),
    lambda d, out, total: np.add.reduce(d, axis=0, where=d[0] > 0, out=out),
]


@pytest.mark.parametrize("call", CALLS)
def test_cached_reductions_run_no_python(call, sum_reduction):
    d = cuda.to_device(
        random_integers((6, 40000))
    )  # longer than the row that one thread scans or reduces
    out = cuda.device_array(40000, np.float32)
    call(d, out, sum_reduction)
    assert python_functions_of(lambda: call(d, out, sum_reduction)) in ([], ["<lambda>"])


@pytest.mark.parametrize("call", CALLS)
def test_reductions_of_new_shapes_run_no_python(call, sum_reduction):
    d = cuda.to_device(random_integers((6, 40000)))
    out = cuda.device_array(40000, np.float32)
    call(d, out, sum_reduction)
    part = d[1:]
    assert python_functions_of(lambda: call(part, out, sum_reduction)) in ([], ["<lambda>"])


def random_layout(rng):
    """Returns a host array of integers with a random layout: transposed, reversed, with gaps or
    repeated elements."""
    shape = [int(n) for n in rng.integers(1, 6, rng.integers(1, 5))]
    x = np.array(rng.integers(-9, 9, shape), np.float32).transpose(rng.permutation(len(shape)))
    x = x[tuple(slice(None, None, int(step)) for step in rng.choice([1, 1, -1, 2], x.ndim))]
    if rng.random() < 0.3:
        x = np.broadcast_to(x[:1], x.shape)
    return x


def device_array_with_layout(x):
    """Returns a device array with the layout of a host array."""
    base = x
    while base.base is not None:
        base = base.base
    offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    d = cuda.to_device(np.ascontiguousarray(base).ravel())
    first = d[offset // 4 :] if offset < base.nbytes else d
    return first._view(x.shape, x.strides, np.dtype("f4"))


def test_results_have_the_layout_of_numpy(sum_reduction):
    rng = np.random.default_rng(6)
    (
        add.reduce(cuda.to_device(random_integers((2, 2)))),
        add.accumulate(cuda.to_device(random_integers(2))),
    )
    for _ in range(150):
        x = random_layout(rng)
        d = device_array_with_layout(x)
        axes = tuple(int(i) for i in np.flatnonzero(rng.random(x.ndim) < 0.5))
        keepdims = bool(rng.random() < 0.4)
        found, want = add.reduce(d, axes, keepdims=keepdims), x.sum(axes, keepdims=keepdims)
        kept = x.strides if keepdims else [s for i, s in enumerate(x.strides) if i not in axes]
        np.testing.assert_array_equal(found.copy_to_host(), want)
        assert found.strides == shapes.packed_as(want.shape, 4, tuple(kept))
        axis = int(rng.integers(x.ndim))
        found, want = add.accumulate(d, axis), np.add.accumulate(x, axis)
        np.testing.assert_array_equal(found.copy_to_host(), want)
        assert found.strides == shapes.packed_as(x.shape, 4, x.strides)
        found, want = sum_reduction(d, axis=axes), x.sum(axes)
        np.testing.assert_array_equal(found.copy_to_host(), want)
        assert found.is_c_contiguous()


def test_results_are_written_to_outputs_of_any_layout(sum_reduction):
    rng = np.random.default_rng(7)
    for _ in range(100):
        x = random_layout(rng)
        d, axis = device_array_with_layout(x), int(rng.integers(x.ndim))
        want = x.sum(axis)
        memory = cuda.device_array(3 * want.size + 5, np.float32)
        memory.fill(0)
        step = int(rng.choice([1, 2, -1]))
        parts = shapes.packed(want.shape, 4 * abs(step), str(rng.choice(["C", "F"])))
        out = memory[2:]._view(want.shape, parts, np.dtype("f4"))
        if step < 0 and out.ndim:
            out = out[(slice(None, None, -1),) * out.ndim]
        for reduce, name in (add.reduce, "out"), (sum_reduction, "res"):
            out.fill(0)
            for _ in range(2):
                reduce(d, axis=axis, **{name: out})
            np.testing.assert_array_equal(out.copy_to_host(), want)
            assert not memory[:2].copy_to_host().any()


def mask_for(rng, x):
    """Returns a host mask of a random shape that broadcasts to the array, with a random layout."""
    shape = [n if rng.random() < 0.7 else 1 for n in x.shape][int(rng.integers(x.ndim)) :]
    mask = rng.random(shape) < rng.choice([0.0, 0.3, 0.8])
    return mask.transpose(rng.permutation(mask.ndim)).T if len(set(shape)) == 1 else mask


INITIALS = [3, -2.5, True, np.float32(4), np.int8(-3), np.float64(1e3)]


def test_reductions_with_where_and_initial_match_numpy():
    rng = np.random.default_rng(8)
    for ufunc in (np.add, np.multiply, np.maximum):
        ufunc.reduce(cuda.to_device(random_integers(3)))
    for _ in range(120):
        x = random_layout(rng)
        d, ufunc = (
            device_array_with_layout(x),
            (np.add, np.multiply, np.maximum)[int(rng.integers(3))],
        )
        axes = tuple(int(i) for i in np.flatnonzero(rng.random(x.ndim) < 0.5))
        given = {"keepdims": bool(rng.random() < 0.4)}
        if rng.random() < 0.6 or ufunc is np.maximum:
            given["initial"] = INITIALS[int(rng.integers(len(INITIALS)))]
        want, host = dict(given), dict(given)
        if rng.random() < 0.7:
            mask = mask_for(rng, x)
            want["where"], host["where"] = cuda.to_device(mask), mask
        found = ufunc.reduce(d, axes, **want)
        np.testing.assert_allclose(found.copy_to_host(), ufunc.reduce(x, axes, **host), rtol=1e-5)


def test_invalid_where_and_initial_raise_numpys_errors():
    x = random_integers((3, 4)).astype(np.int8)
    d, mask = cuda.to_device(x), x > 0
    for _ in range(2):
        for given in ({"where": mask}, {"initial": 1000, "dtype": "i1"}):
            with pytest.raises((ValueError, OverflowError)) as theirs:
                np.maximum.reduce(x, **given)
            where = {"where": cuda.to_device(mask)} if "where" in given else {}
            with pytest.raises(theirs.type):
                np.maximum.reduce(d, **(given | where))
        np.testing.assert_array_equal(
            np.maximum.reduce(d, 1, initial=None).copy_to_host(), np.maximum.reduce(x, 1)
        )
        with pytest.raises(ValueError, match="broadcast"):
            np.add.reduce(d, where=cuda.to_device(mask[:2]))


def test_reduction_out_may_be_the_mask():
    x = np.arange(12).reshape(3, 4) % 3 == 0
    for _ in range(2):
        d, mask = cuda.to_device(x), cuda.to_device(~x)
        np.logical_or.reduce(d, 1, where=mask, out=mask[:, 0])
        want = np.logical_or.reduce(x, 1, where=~x)
        np.testing.assert_array_equal(mask[:, 0].copy_to_host(), want)


def test_cached_scans_match_numpy():
    for _ in range(2):
        x = random_integers((3, 70000))
        for axis in (0, 1):
            got = np.add.accumulate(cuda.to_device(x), axis=axis)
            np.testing.assert_array_equal(got.copy_to_host(), np.add.accumulate(x, axis=axis))
    with pytest.raises(TypeError, match="keepdims"):
        add.accumulate(cuda.to_device(x), keepdims=True)
