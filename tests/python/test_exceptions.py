"""With debug=True, exceptions of kernels with Python bodies are raised on the host, with numba's
messages."""

import numpy as np
import pytest

from numbalite import cuda, jit, vectorize
from numbalite.errors import KernelError


class UnlikeError(Exception):
    pass


ready_made = KeyError("ready", 2)


@cuda.jit(device=True)
def raise_by_value(x):
    if x == 1:
        raise UnlikeError
    if x == 2:
        raise UnlikeError('a "text" with \\ and %', 3)
    if x == 3:
        raise ready_made
    assert x != 4
    assert x != 5 and x < 100, "five"
    return x


def divide_and_check(x, out):
    i = cuda.grid(1)
    out[i] = raise_by_value(x[i])
    out[i] = 60 / x[i] + 60 // x[i] + 61 % x[i] - x[i] % 7


debugged, released = cuda.jit(debug=True)(divide_and_check), cuda.jit(divide_and_check)


def test_kernel_exceptions_are_raised_on_the_host():
    line = raise_by_value.py_func.__code__.co_firstlineno

    def raised_by_kernel(kind, value):
        x, out = np.full(4, 10), cuda.to_device(np.zeros(4))
        x[3] = value
        with pytest.raises(kind) as found:
            debugged[2, 2](x, out)
        assert type(found.value) is kind
        assert out.copy_to_host()[:3].tolist() == [6 + 6 + 1 - 3] * 3
        return found.value

    def expected_position(function, line):
        return (
            f"In function {function!r}, file {__file__}, line {line}, tid=[1, 0, 0] ctaid=[1, 0, 0]"
        )

    assert raised_by_kernel(UnlikeError, 1).args == (expected_position("raise_by_value", line + 3),)
    two = raised_by_kernel(UnlikeError, 2)
    assert two.args == (
        f'{expected_position("raise_by_value", line + 5)}: a "text" with \\ and %',
        3,
    )
    assert raised_by_kernel(KeyError, 3).args == (
        f"{expected_position('raise_by_value', line + 7)}: ready",
        2,
    )
    assert raised_by_kernel(AssertionError, 4).args == (
        expected_position("raise_by_value", line + 8),
    )
    assert raised_by_kernel(AssertionError, 5).args == (
        f"{expected_position('raise_by_value', line + 9)}: five",
    )
    line = divide_and_check.__code__.co_firstlineno + 3
    assert raised_by_kernel(ZeroDivisionError, 0).args == (
        f"{expected_position('divide_and_check', line)}: division by zero",
    )


def test_out_of_bounds_tuple_index_raises():
    def index_tuple_and_shape(x, i, out):
        out[0] = (3, x.size)[i]
        x.shape[i - 1]

    x, out = np.zeros(7), np.zeros(1, np.int64)
    for i, wanted in ((0, 3), (1, 7), (-1, 7)):
        try:
            cuda.jit(debug=True)(index_tuple_and_shape)[1, 1](x, i, out)
        except IndexError as problem:
            assert i == -1 and f"line {index_tuple_and_shape.__code__.co_firstlineno + 2}, " in str(
                problem
            )
            assert str(problem).endswith("tuple index out of range")
        assert out[0] == wanted
    cuda.jit(index_tuple_and_shape)[1, 1](x, 5, out)


def test_exceptions_without_debug_end_the_thread():
    x, out = np.array([10, 2, 1, 10]), np.zeros(4)
    released[2, 2](x, out)
    assert out.tolist() == [10, 0, 0, 10]


def test_exceptions_with_variable_arguments_raise():
    with pytest.raises(Exception, match="by its name"):

        @cuda.jit("void(int64)")
        def raise_argument(x):
            raise x


def test_cpu_function_exceptions_raise_kernel_error():
    def raise_if_large(x):
        if x > 2:
            raise UnlikeError("large")
        return x

    function = vectorize(["float64(float64)"], target="cpu")(raise_if_large)
    with pytest.raises(KernelError, match="UnlikeError: large"):
        function(np.arange(4.0))
    with pytest.raises(KernelError, match="UnlikeError: large"):
        jit(raise_if_large)(3)
