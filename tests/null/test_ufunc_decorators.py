"""Errors of vectorize and guvectorize before compilation, and the function in all its forms. No
driver, no compiler."""

import pytest

from numbalite import errors, guvectorize, types, vectorize
from numbalite.ufuncs import element

K = 2.5


def one(x):
    "return K * x;"


def two(x, y):
    "y[0] = x[0];"


def assert_refused(error, words, make):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("target", ["cuda", "cpu", "parallel"])
def test_invalid_arguments_of_vectorize_raise(target):
    def of(*given, function=one, **more):
        return lambda: vectorize(*given, target=target, **more)(function)

    assert_refused(errors.SignatureError, "1 parameter, .* has 2", of(["f4(f4, f4)"]))
    assert_refused(errors.SignatureError, "guvectorize", of(["f4(f4[:])"]))
    assert_refused(errors.SignatureError, "returns nothing", of(["void(f4)"]))
    assert_refused(errors.SignatureError, "twice", of(["f4(f4)", "f8(f4)"]))
    assert_refused(
        errors.SignatureError, "different numbers", of(["f4(f4)", "UniTuple(f8, 2)(f8)"])
    )
    assert_refused(errors.SignatureError, "not a type", of(["flot(f4)"]))
    assert_refused(TypeError, "did you mean fastmath", of(["f4(f4)"], fastmaths=True))
    assert_refused(TypeError, "object mode", of(["f4(f4)"], forceobj=True))
    assert_refused(ValueError, "reorderable", of(["f4(f4)"], identity="none"))
    assert_refused(TypeError, "name= and args= go with source=", of(["f4(f4)"], name="f"))
    assert_refused(TypeError, "a list is not possible", of(["f4(f4)"], function=lambda x: [x]))
    assert_refused(TypeError, "whose body is a string", of(["f4(f4)"], function=3))


def test_invalid_arguments_of_guvectorize_raise():
    def of(*given, **more):
        return lambda: guvectorize(*given, **more)(two)

    assert_refused(TypeError, "needs the layout", of(["void(f4[:], f4[:])"]))
    assert_refused(
        errors.SignatureError, "cannot return values", of(["f4(f4[:], f4[:])"], "(n)->()")
    )
    assert_refused(errors.SignatureError, "2 parameters", of(["void(f4[:])"], "(n)->()"))
    assert_refused(ValueError, 'block=True is for target="cuda"', of("(n)->()", block=True))
    assert_refused(ValueError, "no parameter 'z'", of("(n)->()", writable_args=("z",)))
    assert_refused(ValueError, "1 is not an input", of("(n)->()", writable_args=(1,)))
    assert_refused(TypeError, "by name or number", of("(n)->()", writable_args="x"))
    const = of(["void(const f4[:], f4[:])"], "(n)->()", writable_args=(0,))
    assert_refused(errors.SignatureError, "which is not const", const)
    assert_refused(TypeError, "no option 'fastmth'", of("(n)->()", fastmth=True))
    assert_refused(ValueError, "cuda, cpu, parallel", of("(n)->()", target="tpu"))


def test_the_function_in_all_its_forms():
    made = element.element_function(one)
    assert element.from_body(made) and element.arity(made) == 1 and made.name == "one"
    assert element.element_function(made) is made
    local = 3
    made = element.element_function(source="local * x + K * y", args="x, y")
    taken = made.definition.capture()
    assert taken.constants == {"local": local, "K": K} and element.arity(made) == 2
    made = element.element_function(
        source="float helper(float x) { return x; }\n"
        "template <class T> T f(T x, T y = {}) { return helper(x); }"
    )
    assert made.name == "f" and element.arity(made) == 2 and not element.from_body(made)
    made = element.element_function(
        source="int f(int x); int f(int x, int y) { return x; }", name="f"
    )
    assert element.arity(made) == 2
    made = element.element_function(
        source="int f(int x) { return x; } int f(int x, int y) { return x; }", name="f<int>"
    )
    assert element.arity(made) is None and element.plain_name(made) == "f"
    signature = types.float32(types.float32)
    assert element.typed(element.element_function(one), signature).signatures == (signature,)
    assert_refused(errors.SignatureError, "2 parameters", lambda: element.typed(
        element.element_function(two), signature))  # fmt: skip


def test_invalid_functions_raise():
    def of(**given):
        return lambda: element.element_function(**given)

    assert_refused(TypeError, "no function was found", of(source="x + y"))
    assert_refused(TypeError, "empty", of(source=" ", args="x"))
    assert_refused(TypeError, "names of parameters", of(source="x", args="x, 3"))
    assert_refused(TypeError, "twice", of(source="x", args="x, x"))
    assert_refused(TypeError, "word of C", of(source="x", args="float"))
    assert_refused(TypeError, "no name for a function", of(source="x", args="x", name="a b"))
    assert_refused(TypeError, "not both", of(function=one, source="x"))
