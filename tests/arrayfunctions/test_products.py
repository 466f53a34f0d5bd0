"""Compares products of arrays, from dot to einsum, and norms with NumPy."""

import warnings

import numpy as np
import pytest
from kit.calls import driver_calls_when_warm
from kit.drawn import assert_close

from numbalite import cuda


def random_integers(*shape, dtype="f8"):
    rng = np.random.default_rng(sum(shape))
    values = rng.integers(-4, 5, shape)
    return (values + (1j * rng.integers(-4, 5, shape) if dtype[0] == "c" else 0)).astype(dtype)


def to_device_values(value):
    if isinstance(value, np.ndarray):
        return cuda.to_device(value)
    return [to_device_values(one) for one in value] if isinstance(value, list) else value


def assert_same_result(function, *args, **keywords):
    expected = np.asarray(function(*args, **keywords))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = function(*map(to_device_values, args), **keywords)
    assert_close(result, expected, ulps=16, scale=100.0, device=True)


DOTS = [((3, 4), (4, 2)), ((4,), (4,)), ((2, 3, 4), (5, 4, 6)), ((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((), (3,)), ((0, 2), (2, 3))]  # fmt: skip


@pytest.mark.parametrize("shapes", DOTS)
def test_dot_matches_numpy(shapes):
    for dtype in ("f8", "i4", "c8"):
        assert_same_result(np.dot, *(random_integers(*shape, dtype=dtype) for shape in shapes))


@pytest.mark.parametrize("shapes", DOTS)
def test_dot_writes_directly_to_out(shapes):
    """Written at once."""
    a, b = hosts = [random_integers(*shape, dtype="f4") for shape in shapes]
    x, y = map(to_device_values, hosts)
    out = cuda.empty(np.dot(a, b).shape, "f4")
    made = len(driver_calls_when_warm(lambda: np.dot(x, y)))
    assert len(driver_calls_when_warm(lambda: np.dot(x, y, out=out))) <= made
    assert np.dot(x, y, out) is out
    assert_close(out, np.dot(a, b))
    for other in (cuda.empty((*out.shape, 1), "f4"), cuda.empty(out.shape, "f8")):
        with pytest.raises(ValueError, match="not acceptable"):
            np.dot(x, y, out=other)


def test_dot_out_may_be_an_operand():
    a = random_integers(3, 3)
    x = to_device_values(a)
    np.dot(x, x.T, out=x)
    assert_close(x, np.dot(a, a.T))


def test_vector_and_tensor_products_match_numpy():
    assert_same_result(
        np.vdot, random_integers(2, 3, dtype="c16"), random_integers(3, 2, dtype="c16")
    )
    assert_same_result(np.inner, random_integers(2, 3), random_integers(4, 3))
    assert_same_result(np.inner, random_integers(3), random_integers(3))
    assert_same_result(np.outer, random_integers(3), random_integers(2, 2))
    assert_same_result(np.tensordot, random_integers(2, 3, 4), random_integers(3, 4, 5))
    assert_same_result(
        np.tensordot, random_integers(2, 3, 4), random_integers(4, 3, 5), axes=([1, 2], [1, 0])
    )
    assert_same_result(np.tensordot, random_integers(2, 3), random_integers(2), axes=0)
    assert_same_result(np.trace, random_integers(3, 4), 1)
    assert_same_result(np.kron, random_integers(2, 3), random_integers(3, 1))
    assert_same_result(
        np.linalg.multi_dot, [random_integers(2, 3), random_integers(3, 10), random_integers(10)]
    )
    for power in range(6):
        assert_same_result(np.linalg.matrix_power, random_integers(2, 3, 3), power)
    if hasattr(np, "vecdot"):
        assert_same_result(
            np.vecdot, random_integers(2, 3, dtype="c8"), random_integers(2, 3, dtype="c8")
        )
        assert_same_result(np.vecdot, random_integers(3, 2), random_integers(3, 2), axis=0)
    if hasattr(np, "matvec"):
        assert_same_result(np.matvec, random_integers(2, 3, 4), random_integers(4))
        assert_same_result(
            np.vecmat, random_integers(3, dtype="c8"), random_integers(3, 4, dtype="c8")
        )
        for call in (np.matvec, np.vecmat):
            with pytest.raises(ValueError, match="does not have enough dimensions"):
                call(to_device_values(random_integers(3)), to_device_values(random_integers(3)))


def test_norm_matches_numpy():
    for order in (None, "fro", 1, -1, np.inf, -np.inf):
        assert_same_result(np.linalg.norm, random_integers(3, 4), order)
        assert_same_result(np.linalg.norm, random_integers(2, 3, 4), order, axis=(2, 0))
        assert_same_result(
            np.linalg.norm, random_integers(2, 3, 4), order, axis=(0, 1), keepdims=True
        )
    for order in (None, 0, 1, 2, 3, np.inf, -np.inf):
        assert_same_result(np.linalg.norm, random_integers(4, dtype="c16"), order)
        assert_same_result(np.linalg.norm, random_integers(3, 4, dtype="i4"), order, axis=1)
    assert_same_result(np.linalg.norm, random_integers(2, 3, 4))
    with pytest.raises(ValueError, match="Invalid norm order"):
        np.linalg.norm(to_device_values(random_integers(3)), "fro")


EINSUMS = [
    ("ij,jk", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("ij->ji", (2, 3)), ("ii", (3, 3)),
    ("ii->i", (3, 3)), ("i,i", (3,), (3,)), ("i,j->ij", (3,), (2,)), ("ijk->k", (2, 3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("...ij,...jk", (2, 3, 4), (4, 5)),
    ("abc,cd,de->abe", (2, 3, 4), (4, 5), (5, 2)), ("iij->j", (3, 3, 2)),
    ("a...,...b->ab...", (2, 3), (3, 4)), ("ij,kl->", (2, 3), (4, 2)), ("ij,ij->ij", (1, 3), (2, 3)),
    ("ij,jk->ik", (2, 1), (3, 2)), ("ab,b,c->ac", (2, 3), (3,), (4,)), ("ij->j", (0, 3)),
    ("ijk,ilm,njm,nlk,abc->", (2, 3, 2), (2, 2, 3), (2, 3, 3), (2, 2, 2), (1, 1, 1)),
    ("ij,jk", (2, 0), (0, 3)),
]  # fmt: skip


@pytest.mark.parametrize("case", EINSUMS, ids=lambda case: case[0])
def test_einsum_matches_numpy(case):
    text, *shapes = case
    for dtype in ("f8", "i4"):
        arrays = [random_integers(*shape, dtype=dtype) for shape in shapes]
        for optimize in (False, True, "optimal") if len(arrays) > 2 else (False,):
            assert_same_result(np.einsum, text, *arrays, optimize=optimize)


def test_einsum_with_sublists_dtype_and_out_matches_numpy():
    a, b = random_integers(3, 4), random_integers(4, 2)
    x, y = to_device_values(a), to_device_values(b)
    assert_close(np.einsum(x, [0, 1], y, [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0]))
    assert_close(np.einsum("ij,jk", x, b, dtype="f4", casting="same_kind"), (a @ b).astype("f4"))
    out = cuda.device_array((3, 2), "f8")
    assert np.einsum("ij,jk", x, y, out=out) is out
    assert_close(out, a @ b)
    square = to_device_values(random_integers(3, 3))
    np.einsum("ii->i", square)[...] = 9  # a view, as NumPy's
    assert_close(np.diagonal(square), np.full(3, 9.0))
    shown = np.einsum_path("ij,jk,kl->il", x, y, to_device_values(random_integers(2, 5)))
    assert shown[0][0] == "einsum_path" and isinstance(shown[1], str)


@pytest.mark.parametrize(
    "case",
    [("ij,jk", (3, 4), (5, 5)), ("ij", (3,)), ("ij->k", (2, 2)), ("i$", (2,)), ("i,j", (3,)),
     ("ij->ii", (2, 2)), ("ii", (2, 3)), ("......", (2, 2))],
)  # fmt: skip
def test_einsum_rejects_invalid_subscripts(case):
    text, *shapes = case
    arrays = [random_integers(*shape) for shape in shapes]
    for operands in (arrays, to_device_values(arrays)):
        with pytest.raises(ValueError):
            np.einsum(text, *operands)


@pytest.mark.parametrize("product", [np.dot, np.matmul], ids=lambda f: f.__name__)
def test_products_of_unsupported_numbers_raise(product):
    d = cuda.to_device(np.ones((3, 3), np.longdouble))
    with pytest.raises(TypeError, match=r"matmul: .*longdouble|matmul: .*float128.*copy_to_host"):
        product(d, d)


@pytest.mark.parametrize("order", ["A", "F", "C"])
def test_einsum_order_argument_matches_numpy(order):
    for letters in ("FF", "FC", "CC"):
        a, b = (np.ones(s, order=o) for s, o in zip(((2, 3, 5), (4, 3)), letters, strict=True))
        expected = np.einsum("aft,mf->amt", a, b, order=order, optimize=True)
        found = np.einsum("aft,mf->amt", cuda.to_device(a), cuda.to_device(b), order=order)
        assert found.strides == expected.strides
