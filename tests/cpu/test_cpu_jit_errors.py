"""jit: messages about wrong arguments, signatures and C++ contain the name and the line."""

import linecache
import math
import re
import textwrap

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda, errors, jit


@jit("float64(float64, float64)")
def hypot(x, y):
    "return sqrt(x * x + y * y);"


@jit
def identity(x):
    "return x;"


@jit
def total(x):
    """
    double sum = 0;
    for (int64 i = 0; i < x.size(); ++i) sum += x[i];
    return sum;
    """


@jit("void(float32[:], float32)")
def scale(x, factor):
    "for (int64 i = 0; i < x.size(); ++i) x[i] *= factor;"


@jit("int32(int32)")
def narrow_to_int32(n):
    "return n;"


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (
            None,
            TypeError,
            r"narrow_to_int32\(\): parameter 1 'n': expected int \(an int from -2147483648 to",
        ),
        ("12", TypeError, r"got str '12'"),
        (b"x", TypeError, r"parameter 1 'n'"),
        (1.5, TypeError, r"got float 1.5: convert it with int\(\)"),
        (1j, TypeError, r"got complex 1j"),
        (2**31, OverflowError, r"got int 2147483648, which does not fit"),
        (10**400, OverflowError, r"does not fit"),
        (np.zeros(3), TypeError, r"got float64 array of shape \(3,\)"),
        ([1], TypeError, r"parameter 1 'n'"),
        ({}, TypeError, r"got dict"),
    ],
    ids=["None", "str", "bytes", "float", "complex", "large", "huge", "array", "list", "dict"],
)
def test_invalid_scalar_arguments_raise(value, error, said):
    with pytest.raises(error, match=said):
        narrow_to_int32(value)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (
            None,
            TypeError,
            r"scale\(\): parameter 1 'x': expected array<float, 1> \(float32\), got No",
        ),
        (1.0, TypeError, r"got float 1.0: pass a NumPy array"),
        ([1.0], TypeError, r"got list: pass a NumPy array, numpy.asarray\(x\)"),
        (
            np.zeros(3),
            TypeError,
            r"got float64 array of shape \(3,\): convert it, x = x.astype\('float(32|64)'\)",
        ),
        (
            np.zeros((2, 2), "f4"),
            TypeError,
            r"got float32 array of shape \(2, 2\): it must have 1 d",
        ),
        (np.zeros(2, ">f4"), TypeError, r"byte order"),
        (np.zeros(2, object), TypeError, r"Python objects"),
        (np.ma.zeros(2, "f4"), TypeError, r"mask"),
        (np.zeros(9, "u1")[1:].view("f4"), ValueError, r"not aligned to 4 bytes: pass a copy"),
    ],
    ids="None number list dtype ndim swapped object masked unaligned".split(),
)
def test_invalid_array_arguments_raise(value, error, said):
    with pytest.raises(error, match=said):
        scale(value, 1)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (
            None,
            TypeError,
            r"identity\(\): parameter 1 'x': NoneType cannot be passed to a function: pass",
        ),
        ("text", TypeError, r"str 'text' cannot be passed to a function"),
        ([1, 2], TypeError, r"numpy.asarray\(x\)"),
        (10**30, OverflowError, r"does not fit in 64 bits"),
        (np.array(["a"]), TypeError, r"no counterpart in C\+\+"),
        (np.array([None]), TypeError, r"no counterpart"),
        (np.zeros(2, ">i4"), TypeError, r"byte order"),
        (np.ma.zeros(2), TypeError, r"mask"),
        (object(), TypeError, r"cannot be passed to a function"),
        (len, TypeError, r"cannot be passed to a function"),
    ],
    ids="None str list huge text object swapped masked other function".split(),
)
def test_a_lazy_function_rejects_unsupported_arguments(value, error, said):
    with pytest.raises(error, match=said):
        identity(value)


def test_device_arrays_are_rejected_with_a_hint():
    d = cuda.to_device(np.ones(3, np.float32))
    for call in (lambda: scale(d, 1), lambda: total(d)):
        with pytest.raises(TypeError, match=r"parameter 1 'x'.*x\.copy_to_host\(\)"):
            call()


def test_wrong_argument_counts_and_names_raise():
    with pytest.raises(TypeError, match=r"hypot\(\) missing 1 required positional argument: 'y'"):
        hypot(1.0)
    with pytest.raises(TypeError, match=r"hypot\(\) takes 2 positional arguments but 3 were given"):
        hypot(1.0, 2.0, 3.0)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'z'"):
        hypot(1.0, 2.0, z=3.0)
    with pytest.raises(TypeError, match=r"multiple values for argument 'x'"):
        hypot(1.0, x=2.0)
    with pytest.raises(TypeError, match=r"missing required argument 'x'"):
        hypot(y=2.0)


def test_arguments_converted_by_python_code_stay_valid():
    class IndexObject:
        def __index__(self):
            return 5

    class FailingIndexObject:
        def __index__(self):
            raise LookupError("no")

    assert narrow_to_int32(IndexObject()) == 5
    with pytest.raises(LookupError):
        narrow_to_int32(FailingIndexObject())


def test_invalid_signatures_raise():
    with pytest.raises(
        errors.SignatureError,
        match=r"too_few_parameters has 1 parameter \(x\), the signature .* has 2",
    ):

        @jit("int32(int32, int32)")
        def too_few_parameters(x):
            "return x;"

    with pytest.raises(errors.SignatureError, match="returns .*take it as a parameter and write"):

        @jit("float64[:](float64[:])")
        def returns_array(x):
            "return x;"


def test_mismatched_tuples_raise():
    @jit("float64(Tuple((int32, float64[:])))")
    def scale_first(t):
        "return get<0>(t) * get<1>(t)[0];"

    x = np.ones(1)
    for value, error, said in [
        ((3,), TypeError, r"parameter 1 't': .*a tuple of 2 items.*got tuple of 1 item"),
        (3, TypeError, r"parameter 1 't': .*a tuple of 2 items.*got int 3"),
        ((3, [1.0]), TypeError, r"parameter 1 't\[1\]': .*got list: pass a NumPy array"),
        ((1 << 40, x), OverflowError, r"parameter 1 't\[0\]': .*does not fit"),
    ]:
        with pytest.raises(error, match=said):
            scale_first(value)
    with pytest.raises(TypeError, match="tuple of 2 items cannot be passed to a function"):
        jit(source="double g(double x) { return x; }")((1, "a"))
    assert scale_first((3, x)) == 3

    with pytest.raises(errors.SignatureError):
        jit("no such type(float32)")(identity.py_func)
    with pytest.raises(errors.SignatureError, match=r"write C\+\+ in the body of a function"):
        jit("return x * 2;")


def test_invalid_functions_raise():
    with pytest.raises(TypeError):
        jit(42)
    with pytest.raises(TypeError, match="compiled already"):
        jit(hypot)


def test_unsupported_result_types_raise():
    for body, said in (
        ("return x;", "cannot return an array: take it as a parameter and write"),
        ("return x.data();", "returns a number, a tuple of numbers, or nothing"),
        ("return make_tuple(1, x);", "can contain only numbers"),
    ):
        f = jit(source=body, args="x")
        with pytest.raises(errors.CompileError, match=said):
            f(np.zeros(1))


def test_compile_errors_name_the_users_line():
    with pytest.raises(errors.CompileError) as caught:

        @jit("float64(float64)")
        def undefined_name(x):
            """
            double y = x;
            return y + undefined_z;   // HERE eager
            """

    line = line_numbers_of("// HERE eager", __file__)[0]
    assert re.search(rf"test_cpu_jit_errors\.py\({line}\): error", str(caught.value))
    assert "undefined_z" in str(caught.value) and "undefined_name" in str(caught.value)

    @jit
    def undefined_member(x):
        "return x.nothing;   // HERE lazy"

    with pytest.raises(
        errors.CompileError, match=rf"\({line_numbers_of('// HERE lazy', __file__)[0]}\): error"
    ):
        undefined_member(1.0)

    @jit
    def python_len(x):
        "return True + len(x);"

    with pytest.raises(errors.CompileError, match="hint: .*write true"):
        python_len(np.zeros(1))


def test_compile_errors_in_a_cell():
    name = "<ipython-input-3-cell>"
    cell = textwrap.dedent(
        '''
        @jit
        def undefined_name_in_cell(x):
            """
            int y = 0;
            return missing_name;
            """
        '''
    )
    linecache.cache[name] = len(cell), None, cell.splitlines(True), name
    namespace = {"jit": jit}
    exec(compile(cell, name, "exec"), namespace)
    with pytest.raises(errors.CompileError, match=re.escape(f"{name}(6): error")):
        namespace["undefined_name_in_cell"](1)


def test_using_pythons_random_module_gets_a_hint():
    import random  # noqa: F401

    @jit
    def python_random(x):
        "return x + random.random();"

    with pytest.raises(
        errors.CompileError, match="hint: random is a Python module.*random_uniform"
    ):
        python_random(1.0)


def test_grid_builtins_raise_on_the_cpu():
    @jit
    def grid_builtin(x):
        "return threadIdx.x + x;"

    with pytest.raises(errors.CompileError, match="needs a grid of threads"):
        grid_builtin(1)


def test_integer_division_by_zero_does_not_crash():
    @jit
    def divide(x, y):
        "return x / y;"

    divide(1, 0)
    divide(-(2**63), -1)
    divide(np.int32(1), np.int32(0))
    assert divide(1.0, 0.0) == math.inf
    assert divide(7, 2) == 3
