"""Tests errors of vectorize and guvectorize before compilation, and all forms of the decorated
function. No driver, no compiler."""

import pytest

from numbalite import errors, guvectorize, types, vectorize
from numbalite.ufuncs import element

K = 2.5


def times_k(x):
    "return K * x;"


def copy_first(x, y):
    "y[0] = x[0];"


def assert_refused(error, words, make):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("target", ["cuda", "cpu", "parallel"])
def test_invalid_arguments_of_vectorize_raise(target):
    def make_vectorize_call(*given, function=times_k, **more):
        return lambda: vectorize(*given, target=target, **more)(function)

    assert_refused(
        errors.SignatureError, "1 parameter, .* has 2", make_vectorize_call(["f4(f4, f4)"])
    )
    assert_refused(errors.SignatureError, "guvectorize", make_vectorize_call(["f4(f4[:])"]))
    assert_refused(errors.SignatureError, "returns nothing", make_vectorize_call(["void(f4)"]))
    assert_refused(errors.SignatureError, "twice", make_vectorize_call(["f4(f4)", "f8(f4)"]))
    assert_refused(
        errors.SignatureError,
        "different numbers",
        make_vectorize_call(["f4(f4)", "UniTuple(f8, 2)(f8)"]),
    )
    assert_refused(errors.SignatureError, "not a type", make_vectorize_call(["flot(f4)"]))
    assert_refused(
        TypeError, "did you mean fastmath", make_vectorize_call(["f4(f4)"], fastmaths=True)
    )
    assert_refused(TypeError, "object mode", make_vectorize_call(["f4(f4)"], forceobj=True))
    assert_refused(ValueError, "reorderable", make_vectorize_call(["f4(f4)"], identity="none"))
    assert_refused(
        TypeError, "name= and args= require source=", make_vectorize_call(["f4(f4)"], name="f")
    )
    assert_refused(
        TypeError, "a list is not possible", make_vectorize_call(["f4(f4)"], function=lambda x: [x])
    )
    assert_refused(TypeError, "whose body is a string", make_vectorize_call(["f4(f4)"], function=3))


def test_invalid_arguments_of_guvectorize_raise():
    def make_guvectorize_call(*given, **more):
        return lambda: guvectorize(*given, **more)(copy_first)

    assert_refused(TypeError, "needs the layout", make_guvectorize_call(["void(f4[:], f4[:])"]))
    assert_refused(
        errors.SignatureError,
        "cannot return values",
        make_guvectorize_call(["f4(f4[:], f4[:])"], "(n)->()"),
    )
    assert_refused(
        errors.SignatureError, "2 parameters", make_guvectorize_call(["void(f4[:])"], "(n)->()")
    )
    assert_refused(
        ValueError, 'block=True is for target="cuda"', make_guvectorize_call("(n)->()", block=True)
    )
    assert_refused(
        ValueError, "no parameter 'z'", make_guvectorize_call("(n)->()", writable_args=("z",))
    )
    assert_refused(
        ValueError, "1 is not an input", make_guvectorize_call("(n)->()", writable_args=(1,))
    )
    assert_refused(
        TypeError, "by name or number", make_guvectorize_call("(n)->()", writable_args="x")
    )
    const = make_guvectorize_call(["void(const f4[:], f4[:])"], "(n)->()", writable_args=(0,))
    assert_refused(errors.SignatureError, "which is not const", const)
    assert_refused(TypeError, "no option 'fastmth'", make_guvectorize_call("(n)->()", fastmth=True))
    assert_refused(
        ValueError, "cuda, cpu, parallel", make_guvectorize_call("(n)->()", target="tpu")
    )


def test_element_functions_accept_every_form():
    made = element.element_function(times_k)
    assert (
        element.is_from_body(made) and element.parameter_count(made) == 1 and made.name == "times_k"
    )
    assert element.element_function(made) is made
    local = 3
    made = element.element_function(source="local * x + K * y", args="x, y")
    taken = made.definition.capture()
    assert taken.constants == {"local": local, "K": K} and element.parameter_count(made) == 2
    made = element.element_function(
        source="float helper(float x) { return x; }\n"
        "template <class T> T f(T x, T y = {}) { return helper(x); }"
    )
    assert (
        made.name == "f" and element.parameter_count(made) == 2 and not element.is_from_body(made)
    )
    made = element.element_function(
        source="int f(int x); int f(int x, int y) { return x; }", name="f"
    )
    assert element.parameter_count(made) == 2
    made = element.element_function(
        source="int f(int x) { return x; } int f(int x, int y) { return x; }", name="f<int>"
    )
    assert element.parameter_count(made) is None and element.plain_name(made) == "f"
    signature = types.float32(types.float32)
    assert element.typed_function(element.element_function(times_k), signature).signatures == (
        signature,
    )
    assert_refused(errors.SignatureError, "2 parameters", lambda: element.typed_function(
        element.element_function(copy_first), signature))  # fmt: skip


def test_invalid_functions_raise():
    def make_element_function(**given):
        return lambda: element.element_function(**given)

    assert_refused(TypeError, "no function was found", make_element_function(source="x + y"))
    assert_refused(TypeError, "empty", make_element_function(source=" ", args="x"))
    assert_refused(TypeError, "names of parameters", make_element_function(source="x", args="x, 3"))
    assert_refused(TypeError, "twice", make_element_function(source="x", args="x, x"))
    assert_refused(TypeError, "keyword", make_element_function(source="x", args="float"))
    assert_refused(
        TypeError, "no name for a function", make_element_function(source="x", args="x", name="a b")
    )
    assert_refused(TypeError, "not both", make_element_function(function=times_k, source="x"))
