"""Values and arguments whose result depends on NumPy's order of operations: steps that underflow,
sums of products with infinities, operators of other objects, empty indices, copy= as a string."""

import decimal
import fractions
import operator
import random

import numpy as np
import pytest
from kit.needs import numpy_since
from kit.sample import random_generator

from numbalite import cuda

TINY = [5e-324, 1e-323, -5e-324, 0.0, 1e-310, 3e-322, 1e-300, 1.0, -2.5]


def result_or_error(call, *args):
    with np.errstate(all="ignore"):
        try:
            made = np.asarray(call(*args))
        except (TypeError, ValueError, IndexError) as problem:
            return type(problem)
    return made.shape, made.dtype, made.tolist()


# --- steps


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace_with_underflowing_steps_matches_numpy(endpoint):
    for start in TINY:
        for stop in TINY:
            for count in (1, 2, 3, 10, 1000):
                found = cuda.linspace(start, stop, count, endpoint=endpoint)
                expected = np.linspace(start, stop, count, endpoint=endpoint)
                np.testing.assert_array_equal(found.copy_to_host(), expected)


def test_linspace_of_arrays_with_underflowing_steps_matches_numpy():
    """If one step of linspace underflows to 0, all steps are computed by another formula, as in
    NumPy."""
    start, stop = np.array([0.0, 1.0, 5e-324]), np.array([5e-324, 2.0, 1e-322])
    for a, b in ((start, stop), (start[1:2], stop[1:2]), (start, 1e-320)):
        found = np.linspace(cuda.to_device(a), b, 7)
        np.testing.assert_array_equal(found.copy_to_host(), np.linspace(a, b, 7))
    np.testing.assert_array_equal(
        cuda.linspace(0, 5e-324j, 10).copy_to_host(), np.linspace(0, 5e-324j, 10)
    )


@pytest.mark.parametrize("dtype", [None, "f8", "f4", "f2", "c16", "c8", "i4"])
def test_arange_step_is_the_difference_of_its_first_two_numbers(dtype):
    for args in (
        (0, 5e-323, 5e-324),
        (1e16, 1e16 + 10, 1.0),
        (2.0**24, 2.0**24 + 9, 1.0),
        (0.0, 1e-44, 1e-45),
        (0, 9, 0.75),
        (5, 0, -1.5),
        (2048, 2055, 1),
    ):
        if (dtype == "i4" and args[1] > 2**31) or (dtype == "f2" and args[1] > 1e4):
            continue
        found, expected = cuda.arange(*args, dtype=dtype), np.arange(*args, dtype=dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)


# --- einsum


def drawn_einsum(rng):
    """Returns an einsum pattern of one or two terms, and the length of each label."""
    letters = "ijkl"
    words = [
        "".join(rng.sample(letters, rng.randrange(4))) for _ in range(rng.choice([1, 2, 2, 2]))
    ]
    every = sorted(set("".join(words)))
    result = "".join(rng.sample(every, rng.randrange(len(every) + 1)))
    return ",".join(words) + "->" + result, words, {one: rng.choice([1, 2, 3]) for one in letters}


def sum_of_products(text, given):
    """Computes the sum that a pattern describes. If an operand repeats one element, NumPy's inner
    loop may multiply this element by the sum of the other operand; this depends on the strides."""
    inputs, result = text.split("->")
    words = inputs.split(",")
    gone = sorted(set("".join(words)) - set(result))
    every = [*result, *gone]
    product = 1
    with np.errstate(all="ignore"):
        for word, x in zip(words, given, strict=True):
            order = [one for one in every if one in word]
            x = x.transpose([word.index(one) for one in order])
            place = tuple(slice(None) if one in word else None for one in every)
            product = product * x[place].astype("f4" if x.dtype == "e" else x.dtype)
        axes = tuple(range(len(result), len(every)))
        return np.asarray(np.sum(product, axes, dtype=product.dtype)).astype(given[0].dtype)


@pytest.mark.parametrize("code", "dfDei")
def test_einsum_accumulates_products(code):
    rng, numbers = random.Random(f"{code} {random.random()}"), random_generator()
    values = np.array([0, 1, -1, 2, 1, -2, 3, 0])
    if code != "i":
        values = np.array([0.0, 1, -1, 2, np.inf, -np.inf, np.nan, 0.5])
    for _ in range(25):
        text, words, lengths = drawn_einsum(rng)
        shapes = [tuple(lengths[one] for one in word) for word in words]
        chance = [0.8, 0.05][rng.randrange(2)]
        given = []
        for shape in shapes:
            x = numbers.choice(values[:4], shape)
            given.append(
                np.where(numbers.random(shape) < chance, x, numbers.choice(values, shape)).astype(
                    code
                )
            )
        expected = sum_of_products(text, given)
        found = np.asarray(np.einsum(text, *map(cuda.to_device, given)))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), text
        if code == "D":  # if a product of complex numbers is infinite, its parts are unspecified
            is_finite = np.isfinite(expected)
            np.testing.assert_array_equal(np.isfinite(found), is_finite, text)
            found, expected = found[is_finite], expected[is_finite]
        np.testing.assert_allclose(found, expected, 1e-3 if code == "e" else 1e-6, err_msg=text)


def test_einsum_adds_products_as_numpy():
    x = np.array([[1, np.inf], [2.0, -3]])
    for text in ("ij,kl->jl", "ij,kl->il", "ij,kl->", "ij,jl->il"):
        with np.errstate(all="ignore"):
            expected = np.einsum(text, x, x)
        np.testing.assert_array_equal(
            np.einsum(text, cuda.to_device(x), cuda.to_device(x)), expected
        )


def test_einsum_views_ignore_dtype():
    for x, text in (
        (np.array(2.5), ""),
        (np.arange(6.0).reshape(2, 3), "ij->ji"),
        (np.eye(3), "ii->i"),
    ):
        device = cuda.to_device(x)
        for keywords in ({}, {"dtype": "f4"}, {"dtype": "i4", "casting": "unsafe"}, {"order": "F"}):
            found, expected = np.einsum(text, device, **keywords), np.einsum(text, x, **keywords)
            assert found.dtype == expected.dtype == float
            np.testing.assert_array_equal(found.copy_to_host(), expected)
            assert found.ndim == 0 or np.shares_memory(x, expected)
        with pytest.raises(TypeError):
            np.einsum("ij->", cuda.to_device(np.eye(2)), dtype="f4")


# --- operators of other objects

OPERATORS = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()


class ObjectWithOperators:
    """An object with all operators, which return the name of the called operator."""

    __hash__ = None

    def __init__(self, answers):
        self.answers = answers

    def make_operator(name):
        return lambda self, other: (name, type(other).__name__) if self.answers else NotImplemented

    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        locals()[f"__{name}__"] = make_operator(name)
    for name in OPERATORS:
        locals()[f"__r{name}__"] = make_operator("r" + name)
    del name


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_defer_to_other_objects(name):
    symbol = getattr(operator, name + "_" * (name in ("and", "or")))
    d = cuda.to_device(np.arange(3))
    assert symbol(d, ObjectWithOperators(True)) == ("r" + name, "DeviceNDArray")
    with pytest.raises(TypeError, match="no counterpart on the device"):
        symbol(d, ObjectWithOperators(False))
    for other in (object(), None, decimal.Decimal(1), fractions.Fraction(1, 2), len):
        if name == "pow" and isinstance(other, fractions.Fraction):  # it answers by d ** 0.5
            assert symbol(d, other).dtype == float
            continue
        with pytest.raises(TypeError):
            symbol(d, other)


@pytest.mark.parametrize(
    "name, asked", {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.items()
)
def test_comparisons_defer_to_other_objects(name, asked):
    d = cuda.to_device(np.arange(3))
    compared = getattr(operator, name)
    assert compared(d, ObjectWithOperators(True)) == (asked, "DeviceNDArray")
    assert compared(d.flat, ObjectWithOperators(True)) == (asked, "DeviceNDArray")


class ExpressionObject:
    """An object whose == returns an expression, as in libraries for symbolic mathematics; Python derives !=
    from its truth."""

    def __init__(self, text="", is_true=True):
        self.text, self.is_true = text, is_true

    def __bool__(self):
        return self.is_true

    def __eq__(self, other):
        return ExpressionObject(f"{type(other).__name__} of {other.shape}", self.is_true)


@pytest.mark.parametrize("is_true", [False, True])
def test_comparison_calls_the_other_object_once_for_the_array(is_true):
    """NumPy calls another object's operator for each element, which would happen on the host."""
    x, other = cuda.to_device(np.arange(6).reshape(2, 3)), ExpressionObject(is_true=is_true)
    for found in (x == other, other == x):
        assert isinstance(found, ExpressionObject) and found.text == "DeviceNDArray of (2, 3)"
    assert (x != other) is (other != x) is (not is_true)


class ObjectEqualToAll:
    def __eq__(self, other):
        return True


class ComparableWrapper:
    """Compares what it has."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other


class ObjectWithTypedEquality:
    def __eq__(self, other):
        return NotImplemented if not isinstance(other, ObjectWithTypedEquality) else True


class ObjectEqualToNumbers:
    """Knows numbers, but not arrays."""

    def __eq__(self, other):
        return other == 1 if isinstance(other, int) else NotImplemented


@pytest.mark.parametrize(
    "other",
    [
        ObjectEqualToAll(),
        ComparableWrapper(1),
        ObjectWithTypedEquality(),
        object(),
        None,
        len,
        {1},
        "a",
        ComparableWrapper("a"),
    ],
)
def test_equality_with_any_object_matches_numpy(other):
    x = np.arange(3)
    d = cuda.to_device(x)
    for compared in (operator.eq, operator.ne):
        with np.errstate(all="ignore"):
            expected = np.asarray(compared(x, other), bool)
        found = compared(d, other)
        assert cuda.is_cuda_array(found)
        np.testing.assert_array_equal(found.copy_to_host(), expected)


@pytest.mark.parametrize(
    "other", [decimal.Decimal(1), fractions.Fraction(1, 1), ObjectEqualToNumbers()]
)
def test_comparisons_reject_objects_equal_to_some_numbers(other):
    """NumPy calls the operators of such objects for each element; the result False for all elements would be
    wrong."""
    assert (np.arange(3) == other).tolist() == [False, True, False]
    with pytest.raises(TypeError):
        cuda.to_device(np.arange(3)) == other  # noqa: B015


# --- take


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_from_empty_axes_matches_numpy(mode):
    lists = [[], (), [[]], [[], []], [0], [0, 1], 0, -1]
    arrays = [
        np.zeros(shape, t) for shape in [0, (0, 2), (2, 0)] for t in ("i8", "u1", "?", "f8", "O")
    ]
    for shape in [(0,), (0, 3), (3, 0), (2, 0, 3), (3,), ()]:
        x = np.zeros(shape)
        d = cuda.to_device(x)
        for axis in (None, *range(x.ndim)):
            for indices in lists + arrays:
                expected = result_or_error(lambda x, i=indices, a=axis: x.take(i, a, mode=mode), x)
                assert (
                    result_or_error(lambda x, i=indices, a=axis: x.take(i, a, mode=mode), d)
                    == expected
                )
                assert (
                    result_or_error(lambda x, i=indices, a=axis: np.take(x, i, a, mode=mode), d)
                    == expected
                )
                if isinstance(indices, np.ndarray) and indices.dtype.kind != "O":
                    on_device = cuda.to_device(indices)
                    assert (
                        result_or_error(lambda x, i=on_device, a=axis: x.take(i, a, mode=mode), d)
                        == expected
                    )


# --- copy=


@numpy_since("2.1", "reshape has copy=")
@pytest.mark.parametrize("copy", ["never", "always", "", None, True, False, 0, 2])
def test_invalid_copy_argument_raises(copy):
    x = np.arange(3.0)
    d = cuda.to_device(x)
    for call in (
        lambda a: a.reshape((3, 1), copy=copy),
        lambda a: np.reshape(a, (3, 1), copy=copy),
        lambda a: np.nan_to_num(a, copy=copy),
        lambda a: a.astype("f4", copy=copy),
        lambda a: np.array(a, copy=copy, like=a),
    ):
        assert result_or_error(call, d) == result_or_error(call, x)


@pytest.mark.parametrize(("shape", "axis"), [((3, 0), 0), ((2, 0, 3), 0), ((3, 0), 1), ((0, 0), 0)])
def test_take_with_rows_of_no_elements_checks_the_indices(shape, axis):
    x = np.zeros(shape)
    for indices in ([5], 9, -9, [[0, 7]]):
        with pytest.raises(IndexError):
            np.take(x, indices, axis)
        with pytest.raises(IndexError):
            np.take(cuda.to_device(x), indices, axis)


def test_index_arrays_of_empty_arrays_are_checked_as_in_numpy():
    rng = random_generator()
    for _ in range(80):
        x = np.zeros(rng.integers(0, 3, rng.integers(1, 4)))
        key = []
        for _ in range(rng.integers(1, x.ndim + 1)):
            shape = [(), (1,), (2,), (0,), (0, 1), (1, 2)][rng.integers(6)]
            key.append([slice(None), rng.integers(-3, 4, shape)][rng.integers(2)])
        read = lambda a, key=tuple(key): a[key]
        assert result_or_error(read, cuda.to_device(x)) == result_or_error(read, x)

        def write(a, key=tuple(key)):
            a[key] = 1
            return a

        assert result_or_error(write, cuda.to_device(x)) == result_or_error(write, x)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_without_rows_checks_no_index(mode):
    for shape, axis in (((0, 3), 1), ((0, 0), 1), ((2, 0, 0), 2)):
        x = np.zeros(shape)
        for indices in ([5], -9, [[0, 1]]):
            made = np.take(cuda.to_device(x), indices, axis, mode=mode)
            assert made.shape == np.take(x, indices, axis, mode=mode).shape
