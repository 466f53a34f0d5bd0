"""Tests order= of NumPy's functions on device arrays: upper and lower case, None, and invalid
values."""

import numpy as np
import pytest
from kit.likenumpy import assert_same_result

from numbalite import cuda

ORDERS = ["C", "F", "c", "f", "A", "a", "K", "k", None, "X", "", 1]
LINES = np.arange(3)
ARRAY = np.asfortranarray(np.arange(8.0).reshape(2, 4))
CALLS = {
    "ravel": lambda x, order: np.ravel(x, order),
    "flatten": lambda x, order: x.flatten(order),
    "reshape": lambda x, order: x.reshape(2, x.shape[1], order=order),
    "copy": lambda x, order: np.copy(x, order),
    "copy, the method": lambda x, order: x.copy(order),
    "astype": lambda x, order: x.astype("f4", order),
    "astype, the same": lambda x, order: x.astype("f8", order, copy=False),
    "zeros_like": lambda x, order: np.zeros_like(x, order=order),
    "full_like": lambda x, order: np.full_like(x, 3, order=order),
    "einsum": lambda x, order: np.einsum("ij,kj->ik", x, x, order=order),
    "matmul": lambda x, order: np.matmul(np.stack([x, x]), x.T, order=order),
    "asarray": lambda x, order: np.asarray(x, order=order, **like_argument(x)),
    "asarray, another dtype": lambda x, order: np.asarray(x, "f4", order=order, **like_argument(x)),
    "array": lambda x, order: np.array(x, order=order, **like_argument(x)),
    "array, once": lambda x, order: np.array(x, order=order, copy=None, **like_argument(x)),
    "zeros": lambda x, order: np.zeros((2, 3), order=order, **like_argument(x)),
    "full": lambda x, order: np.full((2, 3), 7, order=order, **like_argument(x)),
    "eye": lambda x, order: np.eye(2, 3, order=order, **like_argument(x)),
    "unravel_index": lambda x, order: np.unravel_index(
        array_on_side_of(x, LINES), (3, 4), order=order
    ),
    "ravel_multi_index": lambda x, order: np.ravel_multi_index(
        (array_on_side_of(x, LINES),) * 2, (3, 4), order=order
    ),
}


def like_argument(x):
    return {} if isinstance(x, np.ndarray) else {"like": x}


def array_on_side_of(x, array):
    return array if isinstance(x, np.ndarray) else cuda.to_device(array)


def result_and_layout(made):
    """Returns the result of a call, and the result's memory layout."""
    return made, made.flags.c_contiguous, made.flags.f_contiguous


@pytest.mark.filterwarnings("ignore:reshape of")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("step", [1, 2])
def test_order_argument_gives_numpys_layout(name, step):
    def call_with_order(x, order):
        made = CALLS[name](x[:, ::step], order)
        # The layout of NumPy's result depends on its inner loops,
        # and NumPy's index arrays are views of one array.
        return made if name in ("einsum", "matmul", "unravel_index") else result_and_layout(made)

    for order in ORDERS:
        assert_same_result(call_with_order, ARRAY, order)


def test_order_argument_of_products_gives_numpys_layout():
    for name in ("einsum", "matmul"):
        for order in "CF":
            assert_same_result(
                lambda x, name=name, order=order: result_and_layout(CALLS[name](x, order)), ARRAY
            )


def test_zero_dimensional_arrays_become_one_dimensional():
    assert_same_result(lambda x: np.asfortranarray(x, **like_argument(x)), np.array(1.5))
    assert_same_result(lambda x: np.ascontiguousarray(x, **like_argument(x)), np.array(1.5))


def test_ravel_in_memory_order_matches_numpy():
    host = np.arange(24).reshape(2, 3, 4)
    for view in (
        lambda x: np.broadcast_to(x[:1], (3, 3, 4)),
        lambda x: np.broadcast_to(x[:, :1], (2, 3, 4)).transpose(1, 0, 2),
        lambda x: np.broadcast_to(x[:, :, :1], (5, 2, 3, 4)).transpose(2, 3, 0, 1),
        lambda x: x.transpose(2, 0, 1)[::-1, :, 1:2],
    ):
        for name in ("ravel", "flatten", "copy"):
            assert_same_result(lambda x, view=view, name=name: getattr(view(x), name)("K"), host)


LAYOUTS = {
    "C": lambda x: x.reshape(2, 3, 4),
    "F": lambda x: x.reshape(4, 3, 2).T,
    "turned": lambda x: x.reshape(2, 3, 4).transpose(1, 2, 0),
    "backwards": lambda x: x.reshape(2, 3, 4).transpose(2, 0, 1)[::-1],
    "with gaps": lambda x: x.reshape(6, 4).T[::2, ::3],
}
KEPT = {
    "copy": lambda x: np.copy(x),
    "astype": lambda x: x.astype("f4"),
    "zeros_like": lambda x: np.zeros_like(x),
    "zeros_like, a shape": lambda x: np.zeros_like(x[:1], shape=x.shape[::-1]),
    "a ufunc": lambda x: np.sqrt(x) + x,
    "where": lambda x: np.where(x > 3, x, 0),
    "clip": lambda x: np.clip(x, 2, 5),
    "sum": lambda x: np.sum(x, 0),
    "sum, axes kept": lambda x: np.sum(x, -1, keepdims=True),
    "max": lambda x: x.max(1),
    "mean": lambda x: np.mean(x, 0),
    "any": lambda x: np.any(x, 1, keepdims=True),
    "argmax": lambda x: np.argmax(x, 0),
    "cumsum": lambda x: np.cumsum(x, 0),
    "accumulate": lambda x: np.add.accumulate(x, 1),
    "sort": lambda x: np.sort(x),
    "sort, an axis": lambda x: np.sort(x, 0),
    "argsort": lambda x: np.argsort(x, 0, stable=True),
    "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 1, 0),
    "tile": lambda x: np.tile(x, 1),
    "concatenate": lambda x: np.concatenate([x, x], 1),
    "concatenate, two orders": lambda x: np.concatenate([x, x.copy("C")]),
    "stack": lambda x: np.stack([x, x]),
    "pad": lambda x: np.pad(x, 1),
    "pad, reflect": lambda x: np.pad(x, 1, "reflect"),
    "a list": lambda x: np.array([x, x], **like_argument(x)),
}


@pytest.mark.parametrize("name", KEPT)
def test_layouts_of_results_match_numpy(name):
    host = np.arange(24.0)

    def call_and_axis_order(x):
        made = KEPT[name](x)
        steps = [step for step, n in zip(made.strides, made.shape) if n != 1]
        return made, steps

    for layout in LAYOUTS.values():
        for _ in range(3):  # the calls of the first round are cached by C code
            assert_same_result(lambda x, layout=layout: call_and_axis_order(layout(x)), host)
