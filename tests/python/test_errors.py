"""Errors of Python bodies have the file, the line, a caret and the remedy on one screen; also tests
warnings."""

import math
import pickle
import re

import numpy as np
import pytest

from numbalite import cuda, errors, float32
from numbalite.errors import PerformanceWarning, TranslationError

LIST = [1, 2]


def kernel_with_try(x):
    try:
        x[0] = 1
    except ValueError:
        x[0] = 2


def kernel_with_with(x):
    with open("f"):
        x[0] = 1


def kernel_with_comprehension(x):
    x[0] = sum([i for i in range(3)])  # noqa: C416


def kernel_with_list(x):
    y = [1, 2, 3]
    x[0] = y[0]


def kernel_with_dict(x):
    x[0] = {1: 2}[1]


def kernel_with_class(x):
    class EmptyClass:
        pass


def kernel_with_raise(x):
    raise ValueError(x[0])


def kernel_with_closure(x):
    y = x[0]
    f = lambda v: v + y
    y += 1
    x[0] = f(1)


def kernel_with_closure_elsewhere(x):
    y = x[0]
    f = lambda v: v + y
    g = lambda v: f(v)
    x[0] = g(1)


def kernel_with_fstring(x):
    print(f"{x[0]}")


def kernel_with_unknown_name(x):
    x[0] = nothing_like_it  # noqa: F821


def kernel_with_numpy_array(x):
    y = np.zeros(3)
    x[0] = y[0]


def kernel_with_dimensions(x):
    x[0] = cuda.grid(x.size)


def kernel_with_odd_alignment(x):
    y = cuda.local.array(3, np.float64, alignment=12)
    x[0] = y[0]


def kernel_with_text_as_alignment(x):
    y = cuda.shared.array(3, np.float64, alignment="16")
    x[0] = y[0]


def kernel_with_float_mask(x):
    x[0] = cuda.all_sync(x[0], 1)


def kernel_with_float_vote(x):
    x[0] = cuda.any_sync(-1, x[0])


def kernel_with_text(x):
    x[0] = "a" + 1


def kernel_with_float_index(x):
    x[0.5] = 1


def kernel_with_too_many_indices(x):
    x[0, 1] = 1


def kernel_with_array_arithmetic(x):
    y = x + 1
    x[0] = y[0]


def kernel_with_a_result(x):
    return x[0]


def kernel_with_text_stored(x):
    x[0] = "a"


def kernel_with_undefined(x):
    x[0] = y  # noqa: F821
    y = 1


def kernel_with_tuple_store(x):
    t = (1, 2)
    t[0] = x[0]


def kernel_with_complex_added_to_float(x):
    x[0] += 1j


def kernel_with_complex_to_float(x):
    x[0] = 1j


def kernel_with_strange_shape(x):
    s = cuda.shared.array(x.size, float32)
    s[0] = x[0]


def kernel_with_captured_list(x):
    x[0] = LIST[0]


def kernel_with_wrong_count(x):
    a, b = (1, 2, 3)
    x[0] = a + b


def kernel_with_list_call(x):
    y = list()  # noqa: C408
    y.append(x[0])


def kernel_with_captured_dict(x):
    x[0] = TABLE["a"]


def kernel_with_sorted(x):
    x[0] = sorted(x)[0]


def kernel_with_dot(x):
    x[0] = np.dot(x, x)


def kernel_with_random(x):
    x[0] = np.random.rand()


def kernel_with_array_method(x):
    x.fill(0)


def kernel_with_array_attribute(x):
    x[0] = x.length


def kernel_with_misspelt_word(x):
    x[cuda.gird(1)] = 0


def kernel_with_misspelt_function(x):
    x[0] = math.sine(x[0])


def kernel_with_no_axis(x):
    x[cuda.threadIdx.w] = 0


def kernel_with_half_index(x):
    n = x.size
    x[n / 2] = 0


def kernel_with_place_as_index(x):
    i = cuda.grid(2)
    x[i[0], 0] = 1


def kernel_with_thread_as_index(x):
    x[cuda.threadIdx] = 1


def kernel_with_barrier_not_called(x):
    cuda.syncthreads
    x[0] = 1


def kernel_with_array_as_condition(x):
    if x > 0:
        x[0] = 1


def kernel_with_shared_array_of_nothing(x):
    s = cuda.shared.array(16)
    x[0] = s[0]


def kernel_with_host_function(x):
    x[0] = open_host_file(x[0])


def open_host_file(y):
    with open("log") as file:
        return file, y


def kernel_with_launch(x):
    open_host_file[1, 1](x)


TABLE = {"a": 1}
REFUSED = {
    kernel_with_list_call: (r"list\(\)", "list has no meaning", "a tuple, or cuda.local"),
    kernel_with_captured_dict: ("TABLE", "dict", "a record, an array"),
    kernel_with_sorted: (r"sorted\(x\)", "sorted has no meaning", "for i in range"),
    kernel_with_dot: (r"np.dot", "dot has no meaning", "for i in range"),
    kernel_with_random: (r"np.random", "rand has no meaning", "xoroshiro128p_uniform"),
    kernel_with_array_method: (r"x.fill", "no method 'fill'", r"y\[:\] = 0"),
    kernel_with_array_attribute: ("x.length", "no attribute 'length'", r"x.size, or len\(x\)"),
    kernel_with_misspelt_word: ("cuda.gird", "cuda has no 'gird'", "Is grid meant?"),
    kernel_with_misspelt_function: ("math.sine", "no attribute 'sine'", "Is sin meant?"),
    kernel_with_no_axis: ("threadIdx.w", "cuda.threadIdx has no 'w'", "There are x, y and z"),
    kernel_with_half_index: (
        "n / 2",
        "float64 is not a valid index: an index is an integer",
        "// divides integers",
    ),
    kernel_with_place_as_index: (r"x\[i\[0\], 0\]", "2 indices for an array of 1 dim", "Write one"),
    kernel_with_thread_as_index: (
        "threadIdx",
        "cuda.threadIdx is not a valid index",
        "cuda.threadIdx.x is one",
    ),
    kernel_with_barrier_not_called: ("syncthreads", "is not called", r"Write cuda.syncthreads\(\)"),
    kernel_with_array_as_condition: ("x > 0", "cannot be compared", "each thread computes"),
    kernel_with_shared_array_of_nothing: ("shared", "'dtype' is missing", r"\(shape, float32\)"),
    kernel_with_host_function: (
        "with open",
        "with is not possible",
        "open_host_file is called here",
    ),
    kernel_with_launch: (r"\[1, 1\]\(x\)", "has no elements", "launch it from the host"),
    kernel_with_dimensions: (
        "cuda.grid",
        "RequireLiteralValue: takes the number of dimensions",
        "",
    ),
    kernel_with_odd_alignment: ("alignment=12", "Alignment must be a power of two, .* not 12", ""),
    kernel_with_text_as_alignment: (
        "alignment",
        "RequireLiteralValue: alignment must be a const",
        "",
    ),
    kernel_with_float_mask: ("all_sync", "Mask type must be an integer, not float64", ""),
    kernel_with_float_vote: ("any_sync", "Predicate must be an integer or boolean", ""),
    kernel_with_try: (r"try:", "try is not possible in a kernel", "Write a test"),
    kernel_with_with: (r"with open", "with is not possible", "Write the calls themselves"),
    kernel_with_comprehension: (r"\[i for", "list comprehension", "cuda.local.array"),
    kernel_with_list: (r"y = \[1, 2", "a list is not possible", "tuple, or cuda.local.array"),
    kernel_with_dict: (r"\{1: 2\}", "a dict", "arrays or a record"),
    kernel_with_raise: (r"x\[0\]", "arguments of an exception must be known", "Write a text"),
    kernel_with_closure: (r"lambda v", "cannot use y, which is assigned more than once", "Pass it"),
    kernel_with_closure_elsewhere: (
        r"f\(v\)",
        "reads variables of kernel_with_closure_elsewhere",
        "Pass it",
    ),
    kernel_with_class: (r"class EmptyClass", "a class is not possible", "record"),
    kernel_with_fstring: (r"print\(f", "an f-string", 'print\\("x =", x\\)'),
    kernel_with_unknown_name: ("nothing_like_it", "'nothing_like_it' is not defined", ""),
    kernel_with_numpy_array: (r"np.zeros", "zeros has no meaning in a kernel", "makes no arrays"),
    kernel_with_text: (r'"a" \+ 1', "has no meaning in a kernel", ""),
    kernel_with_float_index: (
        r"x\[0.5\]",
        "float64 is not a valid index: an index is an integer",
        "int\\(x\\)",
    ),
    kernel_with_too_many_indices: (r"x\[0, 1\]", "2 indices for an array of 1 dimension", ""),
    kernel_with_array_arithmetic: (r"x \+ 1", "has no meaning in a kernel", "each thread computes"),
    kernel_with_a_result: (r"return x\[0\]", "a kernel returns nothing", "into an array"),
    kernel_with_text_stored: (r'x.0. = "a"', "str 'a' cannot be stored into float64", ""),
    kernel_with_undefined: (r"x\[0\] = y", "y is used before it is assigned", ""),
    kernel_with_tuple_store: (r"t\[0\]", "items of a tuple cannot be assigned", ""),
    kernel_with_complex_to_float: (r"1j", "complex128 does not fit into float64", "z.real"),
    kernel_with_complex_added_to_float: (r"1j", "complex128 does not fit into float64", "z.real"),
    kernel_with_strange_shape: (
        r"cuda.shared",
        "must be known when compiling",
        "names of the Python",
    ),
    kernel_with_captured_list: ("LIST", "list", ""),
    kernel_with_wrong_count: ("a, b", "3 values for 2 targets", ""),
}


@pytest.mark.every_case
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_invalid_arguments_raise(function):
    line, words, remedy = REFUSED[function]
    with pytest.raises(TranslationError) as caught:
        cuda.jit(function)[1, 1](np.zeros(3))
    message = str(caught.value)
    assert re.search(words, message) and re.search(remedy, message), message
    place, shown, carets, *_ = message.split("\n")
    assert place.startswith(f"{__file__}({caught.value.line}): {function.__name__}: ")
    assert caught.value.file == __file__ and re.search(line, shown), message
    assert re.fullmatch(r" +\^+", carets) and len(carets) <= len(shown)
    assert len(message.split("\n")) <= 8
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == message and again.line == caught.value.line
    assert isinstance(again, (errors.UnsupportedError, errors.TypingError))
    inner = caught.value.__context__  # tblib, which Dask uses, pickles the exception, too
    assert str(pickle.loads(pickle.dumps(inner))) == str(inner)


def test_incompatible_variable_types_raise():
    def incompatible_assignment(x, n):
        if n > 1:
            y = x
        else:
            y = 1
        x[0] = y

    with pytest.raises(TranslationError) as caught:
        cuda.jit(incompatible_assignment)[1, 1](np.zeros(3), 2)
    message = str(caught.value)
    assert "y is int64 here, and float64[::1] elsewhere" in message
    assert "y = 1\n" in message and "y = x\n" in message and "another name" in message

    @cuda.jit(device=True)
    def array_or_number(x, n):
        if n:
            return x
        return n

    @cuda.jit
    def call_array_or_number(x):
        x[0] = array_or_number(x, x.size)

    with pytest.raises(
        TranslationError, match="(?s)array_or_number returns int64 here, .*return n"
    ):
        call_array_or_number[1, 1](np.zeros(3))

    def index_or_none(x, n):
        for i in range(x.size):
            if x[i] == n:
                return i
        return None

    def store_index_or_none(x):
        x[0] = index_or_none(x, 1)

    with pytest.raises(TranslationError, match="(?s)returns None here, and int64 .* such as -1"):
        cuda.jit(store_index_or_none)[1, 1](np.zeros(3))


def test_launch_error_traceback_has_one_internal_frame():
    def index_list(x):
        x[0] = [1][0]

    def undefined_y(x):
        "x[0] = y;"

    for function in (index_list, undefined_y):
        with pytest.raises(errors.NumbaliteError) as caught:
            cuda.jit(function)[1, 1](np.zeros(1))
        assert len(caught.traceback) == 2


def test_endless_recursion_and_wrong_calls_raise():
    @cuda.jit(device=True)
    def endless_recursion(n):
        return endless_recursion(n + 1)

    @cuda.jit
    def call_endless_recursion(x):
        x[0] = endless_recursion(1)

    @cuda.jit
    def wrong_argument_count(x):
        x[0] = abs(1, 2)

    with pytest.raises(TranslationError, match="cannot type infer runaway recursion") as raised:
        call_endless_recursion[1, 1](np.zeros(3))
    assert "\n    return endless_recursion(n + 1)\n           ^^^^^^^^^^^^^^" in str(raised.value)
    with pytest.raises(TranslationError, match=r"abs: takes 1 argument, not 2"):
        wrong_argument_count[1, 1](np.zeros(3))


def test_float64_literals_in_float32_kernels_warn_once():
    @cuda.jit
    def float64_literals(x):
        i = cuda.grid(1)
        x[i] = x[i] * 0.5 + 1.0

    with pytest.warns(
        PerformanceWarning, match=r"0\.5 is a float64: write float32\(0\.5\)"
    ) as told:
        float64_literals[1, 1](np.ones(1, np.float32))
    assert len(told) == 1 and "^^^" in str(told[0].message)
    float64_literals[1, 1](np.ones(1, np.float64))


scale = 0.1


def kernel_with_float_start(x, n, out):
    total = 0.0
    for k in range(x.size):
        total += x[k] * x[k]
    out[0] = total


def kernel_with_integer_start(x, n, out):
    total = 0
    for k in range(x.size):
        total += x[k]
    out[0] = total


def kernel_with_an_integer_variable(x, n, out):
    v = x[0]
    k = 0
    while k < x.size:
        v = v + x[k] * n
        k += 1
    out[0] = v


def kernel_with_a_number_of_python(x, n, out):
    v = x[0]
    for k in range(x.size):
        v = v + x[k] * scale
    out[0] = v


def kernel_with_integers_in_an_iteration(x, n, out):
    v = x[0]
    for _ in range(n):
        v = float32(3.7) * v * (1 - v)
    out[0] = v


def kernel_with_an_integer_factor(x, n, out):
    v = x[0]
    for k in range(x.size):
        v = v * n + x[k]
    out[0] = v


def multiplied_in_place(x, n, out):
    v = x[0]
    for _ in range(x.size):
        v *= n
    out[0] = v


def kernel_with_a_written_factor(x, n, out):
    v = x[0]
    for k in range(x.size):
        v = 2 * v - x[k]
    out[0] = v


DOUBLE_LOOPS = {
    kernel_with_float_start: r"total begins with 0\.0, .*write total = float32\(0\.0\)",
    kernel_with_integer_start: r"total begins with 0, .*write total = float32\(0\)",
    kernel_with_an_integer_variable: r"x\[k\] \* n is of float32 and int64, .*write float32\(n\)",
    kernel_with_a_number_of_python: r"scale is a float64: write float32\(scale\)",
    kernel_with_integers_in_an_iteration: r"1 is no float32: write float32\(1\)",
    kernel_with_an_integer_factor: r"v \* n is of float32 and int64, .*write float32\(n\)",
    multiplied_in_place: r"n is of float32 and int64, .*write float32\(n\)",
    kernel_with_a_written_factor: r"2 is no float32: write float32\(2\)",
}


@pytest.mark.parametrize("body", DOUBLE_LOOPS, ids=lambda body: body.__name__)
def test_a_loop_over_float32_that_computes_in_float64_is_reported_once(body):
    x, out = np.ones(4, "f4"), np.zeros(4, "f4")
    kernel = cuda.jit(body)
    with pytest.warns(PerformanceWarning, match=DOUBLE_LOOPS[body]) as reported:
        kernel[1, 1](x, 2, out)
    assert len(reported) == 1
    assert "computes a loop in float64" in str(reported[0].message)
    kernel[1, 1](x, np.int32(2), out)  # compiled again, without a second report


def double_elements(x, n, out):
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[k] = 2 * x[k] + n


def kernel_with_float32(x, n, out):
    total = float32(0)
    for k in range(x.size):
        total += x[k] * float32(n)
    out[0] = total


def sum_in_float64(x, n, out):
    total = np.float64(0)
    for k in range(x.size):
        total += x[k]
    out[0] = total


def polynomial_in_float64(x, n, out):
    total = np.float64(0)
    if n:
        total = x[0]
    for k in range(x.size):
        total = total * n + x[k]
    out[0] = total


def kernel_with_integers(x, n, out):
    count = 0
    for k in range(x.size):
        count += x[k] > 0.5
    out[0] = count


def kernel_with_powers(x, n, out):
    v = x[0]
    for k in range(n):
        v = v**2 - x[k] ** 3
    out[0] = v


@pytest.mark.parametrize(
    "body", [double_elements, kernel_with_float32, sum_in_float64, polynomial_in_float64, kernel_with_integers, kernel_with_powers],
    ids=lambda body: body.__name__,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_other_loops_are_not_reported_as_float64(body, dtype):
    cuda.jit(body)[1, 1](np.ones(4, dtype), 2, np.zeros(4, dtype))


@pytest.mark.parametrize("body", DOUBLE_LOOPS, ids=lambda body: body.__name__)
def test_loops_over_float64_are_not_reported(body):
    cuda.jit(body)[1, 1](np.ones(4), 2, np.zeros(4))


def test_float32_times_int32_is_float64_as_in_numba():
    @cuda.jit
    def product(x, n, out):
        out[0] = x[0] * n[0]
        out[1] = x[0] * 16777217

    x, n, out = np.ones(1, "f4"), np.array([16777217], "i4"), np.zeros(2)
    product[1, 1](x, n, out)
    assert out.tolist() == [16777217, 16777217]


# ---- the checks of the simulator


@cuda.jit
def read_too_early(x):
    s = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    s[i] = x[i]
    x[i] = s[x.size - 1 - i]


@cuda.jit
def increment_first(x):
    x[0] += 1


@pytest.mark.skipif(not cuda.is_simulated(), reason="only the simulator looks for races")
@pytest.mark.parametrize(
    "kernel, grid, block, advice",
    [
        (read_too_early, 1, 64, r"with no barrier between: cuda\.syncthreads\(\)"),
        (read_too_early, 1, 32, r"with no cuda\.syncwarp\(\) between"),
        (
            increment_first,
            1,
            64,
            r"\(cuda\.atomic\.add, cuda\.atomic\.max, \.\.\.\), or cuda\.syncthreads\(\)",
        ),
        (increment_first, 4, 1, r"nothing that orders the blocks: .* \(cuda\.atomic\.add, "),
    ],
)
def test_races_in_python_bodies_name_python_functions(kernel, grid, block, advice):
    with pytest.raises(errors.KernelError, match=advice), cuda.checks("race"):
        kernel[grid, block](np.ones(block, np.float32))
        cuda.synchronize()


@cuda.jit
def wait_in_some_threads(x):
    if cuda.threadIdx.x < 3:
        cuda.syncthreads()


@cuda.jit
def vote_in_some_threads(x):
    if cuda.threadIdx.x < 3:
        cuda.any_sync(0xFFFFFFFF, x[0] > 0)


@pytest.mark.skipif(not cuda.is_simulated(), reason="only the simulator looks for it")
@pytest.mark.parametrize(
    "kernel, advice",
    [
        (wait_in_some_threads, r"waits in cuda\.syncthreads, where threads 3-31 never came"),
        (vote_in_some_threads, r"calls cuda\.any_sync with mask 0xffffffff"),
    ],
)
def test_barrier_errors_use_python_names(kernel, advice):
    with pytest.raises(errors.KernelError, match=advice), cuda.checks("sync"):
        kernel[1, 32](np.ones(32, np.float32))
        cuda.synchronize()


@cuda.jit
def divide_by_parts(x, parts):
    i = cuda.threadIdx.x
    x[i] = divmod(x[i], parts)[1]
    x[i] = x[i] // parts
    x[i] %= parts


@pytest.mark.sim
def test_a_division_by_zero_is_reported_with_its_line():
    with pytest.raises(errors.KernelError, match="by zero") as caught, cuda.checks("divide"):
        divide_by_parts[1, 1](cuda.to_device(np.ones(1, np.int32)), 0)
    first = divide_by_parts.py_func.__code__.co_firstlineno
    assert (caught.value.file, caught.value.line) == (__file__, first + 3)
