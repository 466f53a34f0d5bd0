"""Device arrays raise the same kind of exception as NumPy for wrong axes, shapes, dtypes and
outputs."""

import inspect
import warnings

import numpy as np
import pytest
from kit.drawn import is_same_kind, result_or_error
from kit.likenumpy import assert_same_result, to_device
from kit.needs import numpy_since
from kit.numpycalls import CALLS, NEEDED, M, V
from kit.sample import draw_cases

from numbalite import cuda
from numbalite.ndarray import dispatch

AXES = (7, -8, 1.5, "a")
DTYPES = ("nonsense", "i4", "c8")
ARRAYS = {
    "0-d": np.array(2.0), "empty": np.zeros((0, 3)), "3-d": np.ones((2, 3, 4)), "7": np.ones(7),
    "5 x 5": np.ones((5, 5)),
}  # fmt: skip
LISTS = {
    "ragged": [np.ones((2, 3)), np.ones((3, 2))], "dimensions": [V, M], "none": [],
    "0-d": [np.array(1.0)] * 2,
}  # fmt: skip
LESS_IS_REFUSED = {
    ("polyint", "argument 0: 3-d"),  # 2-D coefficients, which some functions of NumPy accept
    ("tensordot", "argument 0: 0-d"), ("tensordot", "argument 1: 0-d"),
    ("linalg.tensorinv", "argument 0: 0-d"), ("fft.fftshift", "argument 0: 0-d"),
}  # fmt: skip


def invalid_outputs(result):
    """Returns invalid outputs: objects that are not arrays, or arrays with the wrong shape or dtype."""
    shape, dtype = np.shape(result), np.asarray(result).dtype
    yield "wrong shape", np.zeros((*shape, 7), dtype)
    yield "other lengths", np.zeros([n + 1 for n in shape] or [2], dtype)
    for other in ("u1", "f4", "c16"):
        yield other, np.zeros(shape, other)
    yield "no array", [1, 2]


def host_and_device_variants(name, function, args):
    """Yields (description of the error, arguments, keywords)."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        parameters = {}
    given = list(parameters)[: len(args)]
    if "axis" in parameters and "axis" not in given:
        yield from ((f"axis {axis!r}", args, {"axis": axis}) for axis in AXES)
    if "dtype" in parameters:
        yield from ((f"dtype {dtype}", args, {"dtype": dtype}) for dtype in DTYPES)
    if "out" in parameters or name in ("take", "dot", "concatenate", "einsum"):
        for what, out in invalid_outputs(function(*args, **NEEDED.get(name, {}))):
            yield f"out: {what}", args, NEEDED.get(name, {}) | {"out": out}
    for i, given in enumerate(args):
        if isinstance(given, np.ndarray):
            of_kinds = {"complex": given * 1j, "booleans": given.astype(bool)}
            for what, array in (ARRAYS | of_kinds).items():
                yield f"argument {i}: {what}", (*args[:i], array, *args[i + 1 :]), {}
        elif isinstance(given, list) and isinstance(given[0], np.ndarray):
            for what, arrays in LISTS.items():
                yield f"argument {i}: {what}", (*args[:i], arrays, *args[i + 1 :]), {}
    yield "keyword", args, {"nonsense": 1}


def is_of_indices(error):
    """Functions do not wait for index arrays on the device: indices out of bounds are reduced
    modulo the length, or raise KernelError."""
    return str(error).startswith(("index ", "invalid entry in choice"))


SINCE = {
    "trim_zeros": numpy_since("2.2", "np.trim_zeros accepts an axis"),
    "linalg.matrix_rank": numpy_since("2.4", "the rank of an empty matrix is 0"),
}
NAMES = [
    pytest.param(name, marks=SINCE[name]) if name in SINCE else name
    for name in draw_cases(90, CALLS)
]


@pytest.mark.cases(40)
@pytest.mark.parametrize("name", NAMES)
def test_invalid_arguments_raise_numpys_errors(name):
    function = dispatch.numpy_function(name)
    if function is None:
        pytest.skip("this NumPy has no such function")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, args, keywords in host_and_device_variants(name, function, CALLS[name]):
            on_device = to_device(args), to_device(keywords)  # NumPy may write to the arguments
            try:
                _, refused = result_or_error(function, *args, **keywords)
            except AttributeError as attribute:  # errors for lists where NumPy expects arrays
                refused = TypeError(attribute)
            if refused is None or (name, what) in LESS_IS_REFUSED or is_of_indices(refused):
                continue
            made, error = result_or_error(function, *on_device[0], **on_device[1])
            assert error is not None, f"{what}: {made!r}, NumPy {refused!r}"
            assert is_same_kind(error, refused), f"{what}: {error!r}, NumPy {refused!r}"


def test_invalid_out_is_named_in_the_error():
    d = cuda.to_device(M)
    for name, call in (
        ("mean", lambda: d.mean(out=d)), ("argmax", lambda: np.argmax(d, out=d)),
        ("compress", lambda: np.compress([True, False], d, 0, out=d)),
        ("nanstd", lambda: np.nanstd(d, out=d)), ("median", lambda: np.median(d, out=d)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name}: out has shape \(2, 3\), the result \("):
            call()


VALUES = [1j, [1j, 1j], 300, [300, 1], [2.7, 1], -1]
ASSIGNMENTS = {
    "integers": lambda x, v: x.__setitem__([0, 1], v),
    "mask": lambda x, v: x.__setitem__(np.array([True, True, False, False]), v),
    "put": lambda x, v: np.put(x, [0, 1], v),
    "putmask": lambda x, v: np.putmask(x, x > 0, v),
    "place": lambda x, v: np.place(x, x > 0, v),
    "insert": lambda x, v: np.insert(x, 1, v),
    "fill_diagonal": lambda x, v: np.fill_diagonal(x.reshape(2, 2), v),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("dtype", ["f4", "u1", "i8"])
def test_out_of_range_numbers_in_lists_raise(name, dtype):
    def assigned_array(x, value):
        made = ASSIGNMENTS[name](x, value)
        return x if made is None else made

    for value in VALUES:
        assert_same_result(assigned_array, np.arange(4).astype(dtype), value)


def test_fill_rejects_arrays():
    with pytest.raises(ValueError, match="takes a scalar"):
        cuda.zeros(3).fill([1, 2, 3])


def test_nan_to_num_replacements_must_have_the_arrays_shape():
    x = np.array([1, np.nan, np.inf])
    for value in (5, np.array([5.0, 6, 7]), np.array([5.0])):
        assert_same_result(lambda x, v: np.nan_to_num(x, nan=v, posinf=v), x, value)
    with pytest.raises(ValueError, match="could not be broadcast"):
        np.nan_to_num(cuda.to_device(x), nan=np.ones((2, 3)))
