"""Extremely deep or long signatures and layouts raise a short error quickly."""

import pytest

from numbalite.errors import SignatureError
from numbalite.types import signatures

MANY = 10_000
TEXTS = {
    "parentheses": "(" * MANY,
    "closed": "void(" + "(" * MANY + ")" * MANY + ")",
    "brackets": "void(float32" + "[:]" * MANY + ")",
    "tuples": "void(" + "Tuple((" * MANY + "f4" + "))" * MANY + ")",
    "unituples": "void(" + "UniTuple(" * MANY + "f4" + ", 2)" * MANY + ")",
    "optional": "void(" + "Optional(" * MANY + "f4" + ")" * MANY + ")",
    "words": "void(" + "const " * MANY + "float32)",
    "stars": "void(float32" + "*" * MANY + ")",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_deeply_nested_signatures_raise_a_short_error(text):
    with pytest.raises(SignatureError) as caught:
        signatures.parse(text)
    assert len(str(caught.value)) < 1000


def test_moderately_nested_signatures_parse():
    nested = "void(" + "Tuple((" * 20 + "f4" + "))" * 20 + ")"
    assert str(signatures.parse(nested)).count("Tuple") or str(signatures.parse(nested)).count("(")
