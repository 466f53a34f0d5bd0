"""Recognizes commutative operations, whose reductions may combine elements in any order.

A user's operation must be associative, but need not be commutative. A recognized operation is faster, because
keeping the order of elements costs shuffles between the lanes of a warp. The recognition uses only the
operation's text; an unclear operation is not recognized. With parameters a and b of one type, in either
order:

    a + b   a * b   a & b   a | b   a ^ b   a && b   a || b
    min(a, b)   and similar ones, if the name denotes the device library's function
    a < b ? a : b   and its variants, for integers (for floats, NaN and signed zeros make a difference)

each as an expression or as the body "return ...;". Sums of floating-point numbers may therefore be rounded
differently.
"""

from __future__ import annotations

from numbalite.cxx.scanner import tokenize

_SIGNS = frozenset("+*&|^")
_NAMES = frozenset(
    "min max fmin fmax fminf fmaxf np_minimum np_maximum np_fmin np_fmax".split()
)  # fmt: skip


def is_commutative(function, dtype) -> bool:
    """Returns whether the function's text proves f(a, b) == f(b, a) for all numbers of this dtype."""
    definition = function.definition
    if definition.is_unit or len(definition.parameters) != 2 or len(function.signatures) > 1:
        return False
    for (
        signature
    ) in function.signatures:  # a function body converts its arguments to the declared types
        if signature.args[0] != signature.args[1]:
            return False
        dtype = signature.args[0].dtype
    a, b = definition.parameters
    match _expression_tokens(definition):
        case [x, sign, y] if sign in _SIGNS:
            pass
        case [name, "(", x, ",", y, ")"] if name in _NAMES and _is_library_function(function, name):
            pass
        case [x, "&", "&", y] | [x, "|", "|", y]:
            pass
        case [
            "np_true", "(", x, ")", "&" | "|" as sign, same, "np_true", "(", y, ")",
        ] if sign == same and _is_library_function(function, "np_true"):  # fmt: skip
            pass
        case [x, "<" | ">", y, "?", p, ":", q] | [x, "<" | ">", "=", y, "?", p, ":", q] if (
            dtype.kind in "biu" and {p, q} == {a, b}
        ):
            pass
        case _:
            return False
    return {x, y} == {a, b}


def is_order_independent(function, dtype) -> bool:
    """Returns whether f(f(a, b), c) == f(f(a, c), b), except for rounding, as in commutative operations and
    in a - b."""
    return is_commutative(function, dtype) or _is_operation(function, "-", dtype)


def is_sum(function, dtype) -> bool:
    """Returns whether the function is a + b, on numbers. (The sum of booleans is a logical or.)"""
    return (
        dtype.kind != "b"
        and is_commutative(function, dtype)
        and _is_operation(function, "+", dtype)
    )


def _is_operation(function, sign, dtype):
    definition = function.definition
    if definition.is_unit or len(definition.parameters) != 2:
        return False
    if any(t.dtype != dtype for s in function.signatures for t in s.args):
        return False
    x, y = definition.parameters
    return _expression_tokens(definition) in ([x, sign, y], [y, sign, x] if sign == "+" else None)


def _expression_tokens(definition):
    """Returns the list of tokens of the expression that the function returns."""
    words = [token.text for token in tokenize(definition.expression)]
    if words[:1] == ["return"] and words[-1:] == [";"]:
        words = words[1:-1]
    return words


def _is_library_function(function, name):
    """Returns whether a name refers to the device library's function, not to a user's function or macro."""
    options = function.options
    given = bool(options and (options.options or options.headers))
    return not given and name not in function.definition.capture().functions
