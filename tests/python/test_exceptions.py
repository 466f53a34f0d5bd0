"""With debug=True, exceptions of kernels with Python bodies are raised on the host, with numba's
messages."""

import numpy as np
import pytest

from numbalite import cuda, jit, vectorize
from numbalite.errors import KernelError


class Unlike(Exception):
    pass


ready_made = KeyError("ready", 2)


@cuda.jit(device=True)
def checked(x):
    if x == 1:
        raise Unlike
    if x == 2:
        raise Unlike('a "text" with \\ and %', 3)
    if x == 3:
        raise ready_made
    assert x != 4
    assert x != 5 and x < 100, "five"
    return x


def divide_and_check(x, out):
    i = cuda.grid(1)
    out[i] = checked(x[i])
    out[i] = 60 / x[i] + 60 // x[i] + 61 % x[i] - x[i] % 7


debugged, released = cuda.jit(debug=True)(divide_and_check), cuda.jit(divide_and_check)


def test_kernel_exceptions_are_raised_on_the_host():
    line = checked.py_func.__code__.co_firstlineno

    def raised(kind, value):
        x, out = np.full(4, 10), cuda.to_device(np.zeros(4))
        x[3] = value
        with pytest.raises(kind) as found:
            debugged[2, 2](x, out)
        assert type(found.value) is kind
        assert out.copy_to_host()[:3].tolist() == [6 + 6 + 1 - 3] * 3
        return found.value

    def place(function, line):
        return (
            f"In function {function!r}, file {__file__}, line {line}, tid=[1, 0, 0] ctaid=[1, 0, 0]"
        )

    assert raised(Unlike, 1).args == (place("checked", line + 3),)
    two = raised(Unlike, 2)
    assert two.args == (f'{place("checked", line + 5)}: a "text" with \\ and %', 3)
    assert raised(KeyError, 3).args == (f"{place('checked', line + 7)}: ready", 2)
    assert raised(AssertionError, 4).args == (place("checked", line + 8),)
    assert raised(AssertionError, 5).args == (f"{place('checked', line + 9)}: five",)
    line = divide_and_check.__code__.co_firstlineno + 3
    assert raised(ZeroDivisionError, 0).args == (
        f"{place('divide_and_check', line)}: division by zero",
    )


def test_out_of_bounds_tuple_index_raises():
    def extents(x, i, out):
        out[0] = (3, x.size)[i]
        x.shape[i - 1]

    x, out = np.zeros(7), np.zeros(1, np.int64)
    for i, wanted in ((0, 3), (1, 7), (-1, 7)):
        try:
            cuda.jit(debug=True)(extents)[1, 1](x, i, out)
        except IndexError as problem:
            assert i == -1 and f"line {extents.__code__.co_firstlineno + 2}, " in str(problem)
            assert str(problem).endswith("tuple index out of range")
        assert out[0] == wanted
    cuda.jit(extents)[1, 1](x, 5, out)


def test_exceptions_without_debug_end_the_thread():
    x, out = np.array([10, 2, 1, 10]), np.zeros(4)
    released[2, 2](x, out)
    assert out.tolist() == [10, 0, 0, 10]


def test_exceptions_with_variable_arguments_raise():
    with pytest.raises(Exception, match="by its name"):

        @cuda.jit("void(int64)")
        def kernel(x):
            raise x


def test_cpu_function_exceptions_raise_kernel_error():
    def small(x):
        if x > 2:
            raise Unlike("large")
        return x

    function = vectorize(["float64(float64)"], target="cpu")(small)
    with pytest.raises(KernelError, match="Unlike: large"):
        function(np.arange(4.0))
    with pytest.raises(KernelError, match="Unlike: large"):
        jit(small)(3)
