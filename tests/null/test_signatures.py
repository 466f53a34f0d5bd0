"""Tests numba's type language, and the messages for mistakes in it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import numbalite
from numbalite import types
from numbalite.errors import SignatureError
from numbalite.types import Signature, Tuple, const, float32, float64, int32, int64, void
from numbalite.types.signatures import parse, parse_type, signature, signatures


@pytest.mark.parametrize(
    "text, expected",
    [
        ("void(float32[:], int32)", void(float32[:], int32)),
        ("void(f4[:],i4)", void(float32[:], int32)),
        ("float32(float32, float32)", float32(float32, float32)),
        ("f4(f4,f4)", float32(float32, float32)),
        ("void(float32[:, ::1], float32[::1, :])", void(float32[:, ::1], float32[::1, :])),
        ("void(const float32[:], float32[ : ])", void(const(float32[:]), float32[:])),
        ("(float32[:], int64)", Signature(None, (float32[:], int64))),
        ("(f4,)", Signature(None, (float32,))),
        ("void()", void()),
        (" void ( ) ", void()),
        ("()", Signature(None, ())),
        ("int32[:], float32[:, ::1]", Signature(None, (int32[:], float32[:, ::1]))),
        ("(f4, i4), const f4[:],", Signature(None, (Tuple((float32, int32)), const(float32[:])))),
        ("none, UniTuple(f4, 2)", Signature(None, (types.none, types.UniTuple(float32, 2)))),
        ("none(boolean, b1, bool_, bool)", void(*[types.boolean] * 4)),
        ("Tuple((f4, f8))(f4)", Tuple([float32, float64])(float32)),
        ("UniTuple(float32, 2)(f4)", types.UniTuple(float32, 2)(float32)),
        ("(f4, f4)(f4)", types.UniTuple(float32, 2)(float32)),
        ("void(types.float32[:], numba.int32)", void(float32[:], int32)),
        ("void(array(float32, 2d, C), Array(int32, 1, 'A'))", void(float32[:, ::1], int32[:])),
        (
            "void(float32*, const int32 *)",
            void(types.CPointer(float32), types.CPointer(int32, True)),
        ),
        ("void(CPointer(float32))", void(types.CPointer(float32))),
        ("void(\n    float32[:],\n    int32\n)", void(float32[:], int32)),
        ("void(none, types.none)", void(types.none, types.none)),
    ],
)
def test_signatures_are_parsed(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text, message, column",
    [
        ("void(float32[:, foat32)", "expected ':' or '::1'", 16),
        ("void(flot32)", "did you mean float32", 5),
        ("void(float)", "float32", 5),
        ("void(int)", "int32 or int64", 5),
        ("void(float32[::2])", "only 1", 15),
        ("void(float32[:, ::1, :])", "first or the last", 12),
        ("void(float32[...])", "'...'|expected ':'", 13),
        ("float32", "argument types", 7),
        ("void(float32 x)", "no names", 13),
        ("void(f4) 3", "nothing more", 9),
        ("i4, f4)", "expected ','", 6),
        ("i4, , f4", "type is missing", 4),
        ("i4, f4 x", "no names", 7),
        ("void, f4", "void\\(\\)", 0),
        ("void(f4", "'\\)' is missing", 7),
        ("(f4 i4)", "no names", 4),
        ("void(f4,, i4)", "type is missing", 8),
        ("void(void)", "void\\(\\)", 5),
        ("void(const float32)", "by value", 5),
        ("void(float32[:][:])", "no arrays of", 15),
        ("float32[:, :](Tuple(f4)[:])", "no arrays of", 23),
        ("void(UniTuple(f4, x))", "number", 18),
        ("void(array(f4, 2d, Q))", "A, C or F", 19),
        ("void)", "expected '\\('", 4),
        (
            "void(i4, Optional(f4[:]))",
            r'None or float32\[:\].*\["void\(float32\[:\]\)", "void\(none\)"\]',
            9,
        ),
    ],
)
def test_signature_errors_have_a_caret(text, message, column):
    with pytest.raises(SignatureError, match=message) as caught:
        parse(text)
    shown, caret = str(caught.value).splitlines()[1:]
    assert shown == "  " + text
    assert caret.index("^") - 2 == column


def test_caret_is_below_the_wrong_line():
    with pytest.raises(SignatureError) as caught:
        parse("void(float32[:],\n\tflot32)")
    assert str(caught.value).splitlines()[1:] == ["  \tflot32)", "  \t^"]


def test_empty_signature_raises():
    with pytest.raises(SignatureError, match="empty"):
        parse("  ")


def test_a_signature_error_is_a_type_error_and_a_value_error():
    assert issubclass(SignatureError, TypeError) and issubclass(SignatureError, ValueError)


@pytest.mark.parametrize(
    "what, expected",
    [
        ("void(f4)", [void(float32)]),
        (void(float32), [void(float32)]),
        ((float32[:], int32), [Signature(None, (float32[:], int32))]),
        (["void(f4)", void(float64)], [void(float32), void(float64)]),
        ([(float32,), (float64,)], [Signature(None, (float32,)), Signature(None, (float64,))]),
        (("void(f4)", "void(f8)"), [void(float32), void(float64)]),
        (("float32[:]", "int32"), [Signature(None, (float32[:], int32))]),
        ((np.float32, np.dtype("i4")), [Signature(None, (float32, int32))]),
        ((), [Signature(None, ())]),
    ],
)
def test_jit_arguments_become_signatures(what, expected):
    assert signatures(what) == expected


@pytest.mark.parametrize("what", [3, float32, (3,), [3], {"a": 1}, ["void(f4)", "void(float32)"]])
def test_invalid_arguments_of_jit_raise(what):
    with pytest.raises(SignatureError):
        signatures(what)


def test_none_is_void_as_a_result_and_none_as_an_argument():
    made = parse("none(none)")
    assert made.return_type is void and made.args == (types.typeof(None),) and str(made)
    for optional in (types.Optional, numbalite.optional):
        with pytest.raises(TypeError, match=r"Optional\(float32\): .* None or float32"):
            optional(float32)


def test_signatures_use_names_from_the_scope():
    scope = {"particle": np.dtype([("x", "f4")]), "real": float32, "N": 3}
    assert parse("void(particle[:], real)", scope.get).args[1] is float32
    assert parse_type("particle", scope.get) == types.from_dtype(scope["particle"])
    with pytest.raises(SignatureError, match="N is not a type"):
        parse("void(N)", scope.get)


scalars = st.sampled_from(types.SCALARS)
arrays = st.builds(
    types.Array, scalars, st.integers(1, 5), st.sampled_from("ACF"), readonly=st.booleans()
)
tuples = st.builds(types.Tuple, st.lists(scalars, min_size=1, max_size=3))
made = st.builds(Signature, st.one_of(st.just(void), scalars, tuples), st.lists(scalars | arrays))


@settings(max_examples=100, deadline=None)
@given(made)
def test_printed_signatures_can_be_parsed(written):
    assert parse(str(written)) == written
    listed = str(Signature(None, written.args))
    assert signature(listed).args == written.args
    if written.args:  # without parentheses the signature is a tuple of types, as in numba
        text = listed[1:-1].rstrip(",") + ","
        assert parse(text) == Signature(None, written.args)


@settings(max_examples=200, deadline=None)
@given(st.text("void(float32[:,1]) Tuple\"'*.\n4", max_size=30) | st.text(max_size=12))
def test_random_text_parses_or_raises_signature_error(text):
    try:
        parse(text)
    except SignatureError:
        pass
