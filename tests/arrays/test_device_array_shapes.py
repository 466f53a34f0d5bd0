"""Compares shape methods of device arrays with NumPy: the same methods return views or copies, and
the same exceptions are raised."""

import random
import warnings

import numpy as np
import pytest
from kit.arrays import assert_same_as_host

from numbalite import config, cuda, errors

pytestmark = pytest.mark.filterwarnings("ignore:reshape of")


def assert_same_view(device, base, host, host_base):
    """Asserts that both arrays have the same elements, strides and address."""
    assert_same_as_host(device, host)
    assert device.size == 0 or np.shares_memory(host, host_base), "the judge's is a view"
    if device.size:
        offset = host.__array_interface__["data"][0] - host_base.__array_interface__["data"][0]
        assert device.address - base.address == offset
    for n, mine, numpys in zip(host.shape, device.strides, host.strides, strict=True):
        assert mine == numpys or n < 2 or not device.size


def random_array(rng, most=4):
    """Returns a host array with random strides, and the same array on the device: (base, view, device base,
    device)."""
    shape = [rng.choice([0, 1, 1, 2, 2, 3, 4, 6]) for _ in range(rng.randint(0, most))]
    if 0 in shape and rng.random() < 0.8:
        shape = [n or 2 for n in shape]
    dtype = rng.choice(["i2", "f4", "f8", "c16"])
    base = np.arange(max(int(np.prod(shape)), 1) * 2, dtype="i4").astype(dtype)
    base = base[: int(np.prod(shape))].reshape(shape)
    axes = list(range(base.ndim))
    if rng.random() < 0.4:
        rng.shuffle(axes)
    index = tuple(
        rng.choice([slice(None), slice(None), slice(None, None, -1), slice(None, None, 2), slice(1, None)])
        for _ in shape
    ) + (...,)  # fmt: skip
    device = cuda.to_device(base)
    return base, base[index].transpose(axes), device, device[index].transpose(axes)


def random_shape(rng, size):
    """Returns a shape with this number of elements."""
    shape = []
    while size > 1 and len(shape) < 6:
        n = rng.choice([d for d in range(1, size + 1) if size % d == 0][:6])
        shape.append(n)
        size //= n
    shape.append(size)
    rng.shuffle(shape)
    if rng.random() < 0.3 and 0 not in shape:
        shape[rng.randrange(len(shape))] = -1
    return tuple(shape)


def outcome(function):
    try:
        return function()
    except (ValueError, IndexError, TypeError) as error:
        return type(error)


# ---- reshape ----
@pytest.mark.parametrize("seed", range(8))
def test_random_reshapes_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(60):
        host_base, host, base, device = random_array(rng)
        shape = random_shape(rng, host.size)
        order = rng.choice("CFA")
        expected = host.reshape(shape, order=order)
        if host.size and np.shares_memory(expected, host_base):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                got = device.reshape(shape, order=order)
            assert_same_view(got, base, expected, host_base)
            assert_same_view(
                device.reshape(shape, order=order, copy=False), base, expected, host_base
            )
        elif host.size:
            with pytest.warns(errors.PerformanceWarning, match="reshape of an array of shape"):
                got = device.reshape(*shape, order=order)
            assert_same_as_host(got, expected)
            with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
                device.reshape(shape, order=order, copy=False)
        assert_same_as_host(device.reshape(shape, order=order, copy=True), expected)


def test_reshape_warns_when_it_copies(monkeypatch):
    device = cuda.to_device(np.arange(6).reshape(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        device.reshape(6)
        made = device.T.reshape(6, copy=True)  # meant
        device.T.ravel(), device.T.flatten()  # whose names say so
    made[0] = 77
    assert device[0, 0] == 0
    with pytest.warns(errors.PerformanceWarning, match=r"\(3, 2\) and strides \(8, 24\) to \(6,\)"):
        device.T.reshape(6)
    monkeypatch.setattr(config, "DISABLE_PERFORMANCE_WARNINGS", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device.T.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("shape", [7, (7,), (4, -1), (-1, -1), (-2, 3), (0, -1), (2, 3.0), "6", None, ()], ids=str)  # fmt: skip
def test_invalid_reshapes_raise(shape):
    host = np.arange(6)
    device = cuda.to_device(host)
    for order in "CF":
        with pytest.raises((ValueError, TypeError)):
            host.reshape(shape, order=order)
            raise ValueError  # reshape(None) is NumPy's own
        with pytest.raises((ValueError, TypeError)):
            device.reshape(shape, order=order)
    with pytest.raises(ValueError, match="order must be"):
        device.reshape(6, order="K")
    with pytest.raises(ValueError, match=r"cannot reshape array of size 6 into shape \(7,\)"):
        device.reshape(7)


def test_numpy_shape_functions_return_views():
    host = np.arange(24).reshape(2, 3, 1, 4)
    device = cuda.to_device(host)
    for function in (
        lambda a: np.moveaxis(a, 0, -1),
        lambda a: np.moveaxis(a, [0, 1], [-1, 0]),
        lambda a: np.rollaxis(a, 3, 1),
        lambda a: np.swapaxes(a, 0, 3),
        lambda a: np.transpose(a, (3, 1, 0, 2)),
        lambda a: np.squeeze(a, 2),
        lambda a: np.reshape(a, (4, 6)),
    ):
        assert_same_view(function(device), device, function(host), host)


# ---- ravel, flatten ----
@pytest.mark.parametrize("seed", range(4))
def test_random_ravels_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(40):
        host_base, host, base, device = random_array(rng)
        for order in "CFAK":
            if order == "K" and min(host.strides, default=0) < 0:
                continue  # NumPy does not document the order of axes of length one
            expected = host.ravel(order)
            got = device.ravel(order)
            assert_same_as_host(got, expected)
            if order != "K" and host.size:
                assert (got.address == device.address) == np.shares_memory(expected, host_base)
                assert got.flags["OWNDATA"] == expected.flags.owndata
            made = device.flatten(order)
            assert_same_as_host(made, host.flatten(order))
            assert made.flags["OWNDATA"]
            assert not host.size or made.address != device.address
    with pytest.raises(ValueError, match="order must be one of"):
        device.ravel("X")


# ---- axes ----
@pytest.mark.parametrize("seed", range(6))
def test_random_axis_operations_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(80):
        host_base, host, base, device = random_array(rng)
        n = host.ndim

        def random_axis(n=n):
            return rng.randint(-n - 1, n)

        kind = rng.randrange(6)
        if kind == 0:
            axes = [random_axis() for _ in range(rng.choice([n, n, n, n + 1]))]
            if rng.random() < 0.7:
                axes = rng.sample(range(-n, 0), n)
            steps = [lambda a: a.transpose(axes), lambda a: a.transpose(*axes)]  # noqa: B023
        elif kind == 1:
            i, j = random_axis(), random_axis()
            steps = [lambda a: a.swapaxes(i, j)]  # noqa: B023
        elif kind == 2:
            chosen = rng.choice(
                [
                    None,
                    random_axis(),
                    (random_axis(), random_axis()),
                    (),
                    tuple({random_axis(), random_axis()}),
                ]
            )
            steps = [lambda a: a.squeeze(chosen)]  # noqa: B023
        elif kind == 3:
            offset, i, j = rng.randint(-3, 3), random_axis(), random_axis()
            steps = [lambda a: a.diagonal(offset, i, j)]  # noqa: B023
        elif kind == 4:
            steps = [lambda a: a.T, lambda a: a.transpose(), lambda a: a.transpose(None)]
        else:
            key = rng.choice([None, (..., None), (None, ...), (slice(None, None, -1), None), np.s_[::-2], ...])  # fmt: skip
            steps = [lambda a: a[key]]  # noqa: B023
        for step in steps:
            expected, got = outcome(lambda: step(host)), outcome(lambda: step(device))  # noqa: B023
            if isinstance(expected, type):
                assert isinstance(got, type) and issubclass(got, (ValueError, IndexError)), (
                    step,
                    got,
                )
                assert issubclass(expected, got) or issubclass(got, expected) or got is expected
            else:
                assert_same_view(got, base, expected, host_base)


def test_shape_errors_have_numpys_messages():
    host = np.zeros((2, 1, 3))
    device = cuda.to_device(host)
    for wrong in (
        lambda a: a.transpose(0, 1),
        lambda a: a.transpose(0, 1, 1),
        lambda a: a.transpose(0, 1, 3),
        lambda a: a.swapaxes(0, 5),
        lambda a: a.squeeze(0),
        lambda a: a.squeeze(7),
        lambda a: a.squeeze((1, 1)),
        lambda a: a.diagonal(0, 1, 1),
        lambda a: a[0, 0].diagonal(),
        lambda a: a[0, 0].mT,
        lambda a: a.reshape(7),
        lambda a: a[:, 0, 0].item(5),
        lambda a: a.item(0, 0),
        lambda a: a[:, :, ::2].view("f4"),
        lambda a: a.view("S3"),
        lambda a: a[..., :1].view("c16"),
        lambda a: a[0, 0, 0:1].reshape(()).view("f4"),
    ):
        with pytest.raises(Exception) as numpys:
            wrong(host)
        with pytest.raises(numpys.type) as ours:
            wrong(device)
        assert str(ours.value) == str(numpys.value)


def test_shapes_and_axes_accept_integer_arrays():
    """NumPy accepts arrays of integers where it accepts tuples."""
    host = np.arange(6.0).reshape(2, 3)
    d = cuda.to_device(host)
    for function in (
        lambda x: x.transpose(np.array([1, 0])),
        lambda x: x.reshape(np.array([3, 2])),
        lambda x: np.broadcast_to(x, np.array([4, 2, 3])),
        lambda x: np.tensordot(x, x, np.array([[0, 1], [0, 1]])),
        lambda x: np.full_like(x, 2, shape=np.array([2, 2])),
    ):
        np.testing.assert_array_equal(function(d).copy_to_host(), function(host))
    with pytest.raises(TypeError, match=r"a sequence of integers or a single integer, got 2\.5"):
        d.reshape(2.5)


def test_matrix_transpose_real_and_imag_match_numpy():
    host = np.arange(24).reshape(2, 3, 4) * (1 + 2j)
    device = cuda.to_device(host)
    assert_same_as_host(device.mT, host.swapaxes(-1, -2))
    assert_same_as_host(device[::-1].real, host[::-1].real)
    assert_same_as_host(device[..., ::2].imag, host[..., ::2].imag)
    device.imag[0] = 5
    assert (device.copy_to_host()[0].imag == 5).all(), "a view"
    plain = cuda.to_device(np.arange(3, dtype="f4"))
    assert plain.real is plain
    assert_same_as_host(plain.imag, np.zeros(3, "f4"))
    assert_same_as_host(cuda.to_device(host.astype("c8")).imag, host.astype("c8").imag)


# ---- view ----
@pytest.mark.parametrize("seed", range(4))
def test_views_with_random_dtypes_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(60):
        host_base, host, base, device = random_array(rng)
        dtype = rng.choice(
            ["u1", "i2", "f4", "f8", "c8", "c16", "S3", "S8", [("a", "i2"), ("b", "f2")]]
        )
        expected, got = outcome(lambda: host.view(dtype)), outcome(lambda: device.view(dtype))  # noqa: B023
        if isinstance(expected, type):
            assert got is expected
        else:
            assert_same_view(got, base, expected, host_base)


def test_invalid_dtype_views_raise():
    device = cuda.to_device(np.zeros((2, 3), "f4"))
    assert device.view().address == device.address
    with pytest.raises(ValueError, match="0d array"):
        cuda.to_device(np.float32(1)).view("f8")
    with pytest.raises(ValueError, match="last axis must be contiguous"):
        device.T.view("u1")
    with pytest.raises(ValueError, match="divisor of the total size"):
        device.view("f8")
    with pytest.raises(ValueError, match="divisor of the size of original"):
        device.view("S3")
    with pytest.raises(TypeError, match="takes a dtype"):
        device.view(np.ndarray)
    with pytest.raises(TypeError):
        device.view("O")


# ---- what is refused ----
def test_split_returns_views_on_the_stream():
    host = np.arange(10)
    stream = cuda.stream()
    device = cuda.to_device(host)
    pieces = list(device.split(4, stream=stream))
    assert [piece.tolist() for piece in pieces] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert all(piece.stream is stream for piece in pieces)
    pieces[1][:] = 0
    assert device[4] == 0, "views"
    for wrong, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError)):
        with pytest.raises(error):
            list(device.split(wrong))
    with pytest.raises(ValueError, match="one-dimensional"):
        list(device.reshape(2, 5).split(2))
