"""Compares numbalite's parser for the layout texts of generalized ufuncs with NumPy's own
parser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numbalite.errors import SignatureError
from numbalite.ufuncs.gusignature import Dimension, parse_layout

oracle = pytest.importorskip("numpy._core._umath_tests").test_signature

CAN_IGNORE = 4  # NumPy's flag of dimensions with '?'


def parse_as_numpy(text):
    """Returns (core_num_dims, core_dim_ixs, optional, sizes) as NumPy reads the text."""
    inputs, outputs = (side.count("(") for side in text.split("->"))
    _, counts, places, flags, sizes = oracle(inputs, outputs, text)
    return tuple(counts), tuple(places), [bool(f & CAN_IGNORE) for f in flags], list(sizes)


def parse_as_numbalite(text):
    layout = parse_layout(text)
    operands = layout.operands
    return (
        tuple(map(len, operands)),
        tuple(i for operand in operands for i in operand),
        [d.optional for d in layout.dimensions],
        [d.size for d in layout.dimensions],
    )


@pytest.mark.parametrize(
    "text",
    [
        "(m,n),(n,p)->(m,p)",
        "(i)->()",
        "(3),(3)->(3)",
        "(03),(3)->(3)",
        "(m?,n),(n,p?)->(m?,p?)",
        "(3?),(n)->()",
        "( i , j ),( )->(j),(i)",
        "\t(i)\t->(i)",
        "(n),(k)->(n)",
        "(i)->(i,j)",
        "(a_1,_b),(_b)->(a_1,3)",
        "(),()->()",
        "(i,i)->(i)",
    ],
)
def test_gufunc_layouts_parse_as_in_numpy(text):
    assert parse_as_numbalite(text) == parse_as_numpy(text)
    assert parse_layout(str(parse_layout(text))) == parse_layout(text)


def test_layout_is_parsed():
    layout = parse_layout(" ( m , 3 ) , (n?) -> ( ) , (m)")
    assert layout.dimensions == (
        Dimension("m", -1, False),
        Dimension("3", 3, False),
        Dimension("n", -1, True),
    )
    assert (layout.inputs, layout.outputs) == (((0, 1), (2,)), ((), (0,)))
    assert (layout.nin, layout.nout, str(layout)) == (2, 2, "(m,3),(n?)->(),(m)")
    assert str(parse_layout(np.matmul.signature)) == np.matmul.signature
    assert parse_layout("(i),(3)->(j,3)").unspecified == (2,)


@pytest.mark.parametrize(
    "text, message, column",
    [
        ("", "empty", None),
        ("   ", "empty", None),
        ("(i)", "'->' is missing", 3),
        ("(i)->", "expected '\\('", 5),
        ("(i,)->()", "missing after ','", 3),
        ("(,i)->()", "name of a dimension", 1),
        ("(0)->()", "greater than 0", 1),
        ("(2i)->()", "begins with a letter", 1),
        ("(i)(j)->()", "expected ',' or '->'", 3),
        ("(i)->()->()", "expected ','", 7),
        ("(i)->() x", "expected ','", 8),
        ("i->()", "expected '\\('", 0),
        ("(i?),(i)->()", "needs one here", 7),
        ("(i),(i?)->()", "without '\\?' before", 6),
        ("(i j)->()", "expected ',' or '\\)'", 3),
        ("(i", "'\\)' is missing", 2),
        ("(i ?)->()", "expected ',' or '\\)'", 3),
        ("(i??)->()", "expected ',' or '\\)'", 3),
        ("(99999999999999999999)->()", "too large", 1),
        ("->()", "expected '\\('", 0),
        ("(\u00e9)->()", "name of a dimension", 1),
        ("(a,b,c,d,e,f,g,h,i)->()", "at most 8", 18),
    ],
)
def test_layout_errors_have_a_caret(text, message, column):
    with pytest.raises(SignatureError, match=message) as caught:
        parse_layout(text)
    if column is not None:
        shown, caret = str(caught.value).split("\n")[-2:]
        assert shown == "  " + text
        assert caret == " " * (2 + column) + "^"


def test_layout_that_is_not_a_string_raises():
    with pytest.raises(TypeError, match="a layout is text"):
        parse_layout(3)


@settings(deadline=None, max_examples=300)
@given(st.text("ij3?,()-> ", max_size=14) | st.from_regex(
    r"\A\( ?(i|j|3)\??(, ?(i|k|2)\??)?\)(,\((i|3)\??\))?->\((k|j)?\??\)\Z"))  # fmt: skip
def test_random_layout_text_parses_as_in_numpy(text):
    if text.count("->") != 1 or not all("(" in side for side in text.split("->")):
        with pytest.raises(SignatureError):
            parse_layout(text)
        return
    try:
        expected = parse_as_numpy(text)
    except ValueError:
        with pytest.raises(SignatureError):
            parse_layout(text)
    else:
        assert parse_as_numbalite(text) == expected
