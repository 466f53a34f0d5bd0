"""What a kernel may call or ask for: Python's functions and attributes, each with the rule for its type and
its text in C++.

A table: a new function is a new line. The keys are the Python objects themselves; what exists in kernels
only (``cuda.grid``) is a Word (numbalite/cuda/inkernel.py), which stands here under its path. A rule gets a
Call and gives a Value.
"""

from __future__ import annotations

import ast
import builtins
import cmath
import math
import operator
import types as python_types
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from numbalite import types
from numbalite.cpu.prange import prange
from numbalite.cuda.inkernel import Word
from numbalite.python import arithmetic, memory, rules, subscripts
from numbalite.python.arithmetic import alike, converted
from numbalite.python.values import (
    EQUAL,
    PRIMARY,
    Known,
    Sequence,
    Value,
    full_range,
    hull,
    is_complex,
    is_number,
    is_real,
    is_whole,
    number,
    tuple_of,
    within,
)


class Call:
    """A call, or the use of an attribute: what a rule needs to know."""

    def __init__(self, of, node, name, args, keywords=None):
        self.of = of
        """The Expressions that it is in."""
        self.node = node
        self.name = name
        self.args: list[Value] = list(args)
        self.keywords: dict[str, Value] = dict(keywords or {})

    def fail(self, message: str, remedy: str = "") -> NoReturn:
        self.of.fail(self.node, f"{self.name}: {message}", remedy)

    def take(self, *names: str, optional: int = 0) -> list[Value | None]:
        """The arguments by position or name; the last ``optional`` ones may be missing."""
        found: list[Value | None] = [*self.args]
        if len(found) > len(names):
            self.fail(f"takes {len(names)} argument{'s' * (len(names) != 1)}, not {len(found)}")
        found += [self.keywords.get(name) for name in names[len(found) :]]
        for name, value in zip(names[: len(names) - optional], found, strict=False):
            if value is None:
                self.fail(f"the argument {name!r} is missing")
        for name in self.keywords:
            if name not in names:
                self.fail(f"there is no argument {name!r}")
        return found

    def numbers(self, count: int) -> list[Value]:
        """That many arguments, all of them numbers."""
        if self.keywords or len(self.args) != count:
            self.fail(f"takes {count} argument{'s' * (count != 1)}, not {len(self.args)}")
        for value in self.args:
            if not is_number(value.type):
                self.fail(f"takes numbers, not {rules.described(value.type)}")
        return self.args

    def made(self, t, text, precedence=PRIMARY, **more) -> Value:
        """The result; it has effects if an argument has."""
        given = [*self.args, *self.keywords.values()]
        more.setdefault("calls", any(value.calls for value in given))
        more.setdefault("loads", any(value.loads for value in given))
        return Value(t, text, precedence, **more)


Rule = Callable[[Call], Value]


def spelled(t) -> str:
    """A type as generated C++ spells it."""
    t = rules.stored(t)
    if isinstance(t, types.Scalar):
        return arithmetic.spelled(t)
    if isinstance(t, types.Array) and t.ndim > 0:
        element = ("const " if t.readonly else "") + spelled(t.dtype)
        layout = "" if t.layout == "A" else f", {types.LAYOUTS[t.layout]}"
        return f"array<{element}, {t.ndim}{layout}>"
    if isinstance(t, types.Tuple) and not isinstance(t, types.NamedTuple):
        return f"tuple<{', '.join(map(spelled, t.types))}>"
    return t.cxx


# --- rules ---------------------------------------------------------------------------------------------


def floating(name: str, count: int = 1, complex_too: bool = False) -> Rule:
    """A function of floats: integers count as float64."""

    def rule(call):
        args = call.numbers(count)
        t = args[0].type
        for value in args[1:]:
            t = rules.common(t, value.type)
        if is_whole(t):
            t = types.float64
        if is_complex(t) and not complex_too:
            call.fail(f"takes real numbers, not {t}", f"cmath.{call.name} takes complex ones.")
        return call.made(t, f"{name}({', '.join(converted(a, t).text for a in args)})")

    return rule


def complex_function(name: str) -> Rule:
    def rule(call):
        (value,) = call.numbers(1)
        t = value.type if is_complex(value.type) else types.complex128
        if value.type is types.float32:
            t = types.complex64
        return call.made(t, f"{name}({converted(value, t).text})")

    return rule


def predicate(name: str) -> Rule:
    """A question about a float."""

    def rule(call):
        (value,) = call.numbers(1)
        if is_whole(value.type):
            return number(name == "isfinite")
        return call.made(types.boolean, f"{name}({value.text})")

    return rule


def whole(name: str) -> Rule:
    """math.floor and the like: a float to an integer."""

    def rule(call):
        (value,) = call.numbers(1)
        if is_whole(value.type):
            return value
        return call.made(types.int64, f"int64({name}({value.text}))")

    return rule


def operation(op: type) -> Rule:
    """A function that is an operator: operator.add, np.add."""

    def rule(call):
        if len(call.args) == 1:
            found = arithmetic.unary(op, call.args[0])
            if found is None:
                call.fail(f"has no meaning for {rules.described(call.args[0].type)}")
            return found
        a, b = call.take("a", "b")
        if op in arithmetic.COMPARE:
            return call.of.compare(call.node, op, a, b)
        return call.of.binary(call.node, op, a, b)

    return rule


def intrinsic(
    text: str, result=types.void, *parameters, limits=None, effect=True, cxx=None
) -> Rule:
    """A function of CUDA C++. ``text`` has {0}, {1} for the arguments, which are converted to the types of
    ``parameters``; None keeps a type."""

    def rule(call):
        if len(call.args) != len(parameters):
            call.fail(f"takes {len(parameters)} argument{'s' * (len(parameters) != 1)}")
        given = []
        for value, t in zip(call.args, parameters, strict=True):
            if not is_number(value.type):
                call.fail(f"takes numbers, not {rules.described(value.type)}")
            given.append(value.text if t is None or is_whole(t) else converted(value, t).text)
        t = result if isinstance(result, types.Type) else result(*(a.type for a in call.args))
        of_c = t if cxx is None else cxx
        return call.made(t, text.format(*given), cxx=of_c, range=limits, calls=effect)

    return rule


def constant(value) -> Rule:
    return lambda call: number(value)


# --- Python's own ---------------------------------------------------------------------------------------


def _extreme(name: str) -> Rule:
    def rule(call):
        args = call.args
        if len(args) == 1 and isinstance(args[0].type, types.Tuple):
            args = list(call.of.items(call.node, args[0]))
        if not args or any(not is_number(a.type) for a in args):
            call.fail("takes two or more numbers")
        result = args[0]
        pick = min if name == "min" else max
        for value in args[1:]:
            t = rules.unified(result.type, value.type)
            a, b, cxx = alike(result, value, t)
            if a.cxx != b.cxx:
                a, b = converted(a, cxx), converted(b, cxx)
            limits = None
            if is_whole(t):
                limits = tuple(map(pick, a.range, b.range))
            result = call.made(t, f"{name}({a.text}, {b.text})", cxx=cxx, range=limits)
        return result

    return rule


def _abs(call):
    (value,) = call.numbers(1)
    if is_complex(value.type):
        part = types.float32 if value.type is types.complex64 else types.float64
        return call.made(part, f"abs({value.text})")
    if is_whole(value.type):
        if value.is_natural:
            return value
        top = max(map(abs, value.range))
        limits = (0, min(top, full_range(value.type)[1]))
        return call.made(value.type, f"abs({value.text})", cxx=rules.promoted(value.cxx, value.cxx),
                         range=limits)  # fmt: skip
    return call.made(value.type, f"abs({value.text})")


def _round(call):
    value, digits = call.take("number", "ndigits", optional=1)
    if digits is not None:
        return call.made(value.type, f"py::round_to({value.text}, {digits.text})")
    if is_whole(value.type):
        return value
    return call.made(types.int64, f"int64(rint({value.text}))")


def _len(call):
    (value,) = call.take("obj")
    if isinstance(value.type, types.Tuple):
        return number(len(value.type))
    if not isinstance(value.type, types.Array) or value.type.ndim == 0:
        call.fail(f"{rules.described(value.type)} has no length")
    return subscripts.extent(value, 0)


def cast(call, t) -> Value:
    """``float32(x)``."""
    (value,) = call.take("x")
    if isinstance(value.type, types.Tuple) or not isinstance(value.type, types.Scalar):
        call.fail(f"a number is wanted, not {rules.described(value.type)}")
    return _as(value, t)


def _as(value, t) -> Value:
    if not is_number(value.type) or not is_number(t):
        return value.replace(type=t, cxx=t, text=f"{spelled(t)}({value.text})", precedence=PRIMARY,
                             range=None)  # fmt: skip
    if is_whole(t) and is_whole(value.type) and within(value.range, t):
        if value.cxx == t or value.text.isdigit():
            return value.replace(type=t)
        return converted(value, t)
    made = converted(value.replace(range=None) if is_whole(value.type) else value, t)
    return made.replace(type=t, range=full_range(t) if is_whole(t) else None)


def _to_type(choose) -> Rule:
    """int(), float(), bool(): the type depends on the argument's."""
    return lambda call: _as(call.numbers(1)[0], choose(call.args[0].type))


def _complex(call):
    a, b = call.take("real", "imag", optional=1)
    if b is None:
        return _as(a, a.type if is_complex(a.type) else types.complex128)
    t = rules.common(a.type, b.type)
    part = types.float32 if t is types.float32 else types.float64
    made = types.complex64 if part is types.float32 else types.complex128
    return call.made(made, f"{made.name}({converted(a, part).text}, {converted(b, part).text})")


def _divmod(call):
    a, b = call.numbers(2)
    pair = [arithmetic.binary(op, a, b) for op in (ast.FloorDiv, ast.Mod)]
    return tuple_of(pair)


def _gcd(call):
    a, b = call.numbers(2)
    t = rules.common(a.type, b.type)
    return call.made(t, f"np_gcd({converted(a, t).text}, {converted(b, t).text})")


def _range(call):
    if not 1 <= len(call.args) <= 3 or any(not is_whole(a.type) for a in call.args):
        call.fail("takes one to three integers")
    args = list(call.args)
    start, stop = (number(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else number(1)
    kinds = {a.type for a in args if not (a.is_known and a.text.isdigit())}
    if (
        kinds
        and kinds <= {types.int8, types.int16, types.int32, types.uint8, types.uint16}
        and (len(kinds) == len({a.type for a in args}))
    ):
        t = types.int32
    else:
        t = types.uint64 if {a.type for a in args} == {types.uint64} else types.int64
    return Value(Sequence("range", t), "", items=(start, stop, step))


def _enumerate(call):
    over, start = call.take("iterable", "start", optional=1)
    return Value(Sequence("enumerate", None), "", items=(over, start or number(0)))


def _zip(call):
    return Value(Sequence("zip", None), "", items=tuple(call.args))


_FORMATS = {"b": "%s", "i": "%lld", "u": "%llu", "f": "%.17g"}


def _print(call):
    parts, values = [], []
    for value in call.args:
        if isinstance(value.type, Known) and isinstance(value.type.value, str):
            parts.append(value.type.value.replace("%", "%%"))
            continue
        for item in (
            call.of.items(call.node, value) if isinstance(value.type, types.Tuple) else (value,)
        ):
            _print_number(call, item, parts, values)
    text = _quoted(" ".join(parts) + "\\n")
    return Value(types.void, f"printf({', '.join([text, *values])})", calls=True)


def _print_number(call, value, parts, values):
    if not is_number(value.type):
        call.fail(
            f"numbers and texts can be printed in a kernel, not {rules.described(value.type)}"
        )
    kind = value.type.dtype.kind
    if kind == "c":
        parts.append("(%g%+gj)")
        values += [f"{value.at(PRIMARY)}.real()", f"{value.at(PRIMARY)}.imag()"]
        return
    if kind == "b":
        parts.append("%s")
        values.append(f'{value.at(EQUAL)} ? "True" : "False"')
    elif kind == "f":
        parts.append("%f")
        values.append(
            value.text if value.cxx in (types.float32, types.float64) else f"float({value.text})"
        )
    elif value.cxx.size == 4 and value.cxx.dtype.kind == "i":
        parts.append("%d")
        values.append(value.text)
    else:
        wide = types.uint64 if value.type.dtype.kind == "u" else types.int64
        parts.append("%llu" if wide is types.uint64 else "%lld")
        values.append(converted(value, wide).text)


def _quoted(text):
    return '"' + text.replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def _getitem(call):
    a, i = call.take("a", "b")
    return subscripts.load(call.of, call.node, a, [i])


# --- CUDA's --------------------------------------------------------------------------------------------


def _grid(name: str, most: int) -> Rule:
    def rule(call):
        (ndim,) = call.take("ndim")
        if not ndim.is_known or ndim.constant not in (1, 2, 3):
            call.fail("takes the number of dimensions: 1, 2 or 3")
        limits = (0 if name == "grid" else 1, most)
        text = f"{name}<{ndim.constant}>()"
        if ndim.constant == 1:
            return Value(types.int64, text, range=limits)
        items = (
            Value(types.int64, f"{text}.{axis}", range=limits) for axis in "xyz"[: ndim.constant]
        )
        return tuple_of(items).replace(text=text)

    return rule


def special(text: str, low: int, high: int) -> Rule:
    """A special register: an int32 to numba, unsigned in C++."""
    return lambda call: Value(types.int32, text, cxx=types.uint32, range=(low, high))


def _atomic(name: str, values: int = 1) -> Rule:
    names = ("val",) if values == 1 else ("old", "val")

    def rule(call):
        target, index, *given = call.take("ary", "idx", *names)
        return _atomic_on(call, name, target, index, given)

    return rule


def _atomic_on(call, name, target, index, given):
    if not isinstance(target.type, types.Array) or target.type.readonly:
        what = (
            "a read-only array"
            if isinstance(target.type, types.Array)
            else rules.described(target.type)
        )
        call.fail(f"an array is wanted that can be written to, not {what}")
    indices = call.of.items(call.node, index) if isinstance(index.type, types.Tuple) else [index]
    element = subscripts.load(call.of, call.node, target, list(indices))
    if not isinstance(element.type, types.Scalar):
        call.fail(f"one index for each of the {target.type.ndim} dimensions is wanted")
    texts = ", ".join(value.text for value in given)
    return call.made(element.type, f"{name}(&{element.at(PRIMARY)}, {texts})", calls=True)


def _compare_and_swap(call):
    target, old, value = call.take("ary", "old", "val")
    zero = tuple_of([number(0)] * getattr(target.type, "ndim", 1))
    return _atomic_on(call, "atomic_cas", target, zero, [old, value])


def _shuffle(name: str) -> Rule:
    def rule(call):
        mask, value, lane = call.numbers(3)
        return call.made(
            value.type, f"{name}({mask.text}, {_exactly(value).text}, {lane.text})", calls=True
        )

    return rule


def _exactly(value):
    return value if value.cxx == value.type else converted(value, value.type)


def _match_all(call):
    mask, value = call.numbers(2)
    t = types.Tuple((types.int32, types.boolean))
    return call.made(t, f"py::match_all({mask.text}, {_exactly(value).text})", calls=True)


def _selp(call):
    test, a, b = call.take("test", "a", "b")
    return call.of.choice(call.node, call.of.as_truth(call.node, test), a, b)


def _syncwarp(call):
    (mask,) = call.take("mask", optional=1)
    return Value(types.void, f"__syncwarp({'' if mask is None else mask.text})", calls=True)


def _random(name: str, t) -> Rule:
    def rule(call):
        states, index = call.take("states", "index")
        where = subscripts.load(call.of, call.node, states, [index])
        return call.made(t, f"{name}({where.text})", calls=True)

    return rule


def _bits(narrow: str, wide: str, result=types.int32) -> Rule:
    """A function that counts bits, which has a name for 32 and one for 64 of them."""

    def rule(call):
        (value,) = call.numbers(1)
        if not is_whole(value.type):
            call.fail(f"takes an integer, not {value.type}")
        value = _exactly(value)
        t = result or value.type
        text = f"{wide if value.type.size == 8 else narrow}({value.text})"
        return call.made(
            t, text if result else f"{spelled(t)}({text})", range=(0, 64) if result else None
        )

    return rule


def _fma(call):
    a, b, c = call.numbers(3)
    t = rules.common(rules.common(a.type, b.type), c.type)
    t = types.float64 if is_whole(t) else t
    return call.made(t, f"fma({', '.join(converted(v, t).text for v in (a, b, c))})")


# --- the table -----------------------------------------------------------------------------------------

FUNCTIONS: dict[Any, Rule] = {
    abs: _abs,
    np.abs: _abs,
    math.fabs: floating("fabs"),
    min: _extreme("min"),
    max: _extreme("max"),
    round: _round,
    len: _len,
    range: _range,
    prange: lambda call: _range(call).replace(type=Sequence("prange", types.int64)),
    enumerate: _enumerate,
    zip: _zip,
    divmod: _divmod,
    print: _print,
    int: _to_type(lambda t: t if is_whole(t) and t is not types.boolean else types.int64),
    float: _to_type(lambda t: t if is_real(t) else types.float64),
    bool: _to_type(lambda t: types.boolean),
    complex: _complex,
    pow: operation(ast.Pow),
    math.pow: floating("pow", 2),
    math.floor: whole("floor"),
    math.ceil: whole("ceil"),
    math.trunc: whole("trunc"),
    math.isnan: predicate("isnan"),
    math.isinf: predicate("isinf"),
    math.isfinite: predicate("isfinite"),
    math.gcd: _gcd,
    np.isnan: predicate("isnan"),
    np.isinf: predicate("isinf"),
    np.isfinite: predicate("isfinite"),
    math.degrees: floating("np_degrees"),
    math.radians: floating("np_radians"),
    np.degrees: floating("np_degrees"),
    np.rad2deg: floating("np_degrees"),
    np.radians: floating("np_radians"),
    np.deg2rad: floating("np_radians"),
    np.sign: intrinsic("np_sign({0})", lambda t: t, None, effect=False),
    np.maximum: _extreme("max"),
    np.minimum: _extreme("min"),
    np.floor: floating("floor"),
    np.ceil: floating("ceil"),
    np.trunc: floating("trunc"),
    np.rint: floating("rint"),
    operator.getitem: _getitem,
}
# Functions of floats under the names that math, numpy and cmath have for them: {C++: names}.
_FLOATING = {
    "acos": "acos arccos", "acosh": "acosh arccosh", "asin": "asin arcsin", "asinh": "asinh arcsinh",
    "atan": "atan arctan", "atanh": "atanh arctanh", "cos": "cos", "cosh": "cosh", "sin": "sin",
    "sinh": "sinh", "tan": "tan", "tanh": "tanh", "exp": "exp", "expm1": "expm1", "exp2": "exp2",
    "log": "log", "log10": "log10", "log2": "log2", "log1p": "log1p", "sqrt": "sqrt", "cbrt": "cbrt",
    "erf": "erf", "erfc": "erfc", "tgamma": "gamma", "lgamma": "lgamma",
}  # fmt: skip
_FLOATING_2 = {
    "atan2": "atan2 arctan2", "hypot": "hypot", "fmod": "fmod", "copysign": "copysign",
    "nextafter": "nextafter",
}  # fmt: skip
_OPERATORS = {
    ast.Add: "add iadd", ast.Sub: "sub isub subtract", ast.Mult: "mul imul multiply",
    ast.Div: "truediv itruediv divide true_divide", ast.FloorDiv: "floordiv ifloordiv floor_divide",
    ast.Mod: "mod imod remainder", ast.Pow: "pow ipow power", ast.LShift: "lshift ilshift left_shift",
    ast.RShift: "rshift irshift right_shift", ast.BitAnd: "and_ iand bitwise_and",
    ast.BitOr: "or_ ior bitwise_or", ast.BitXor: "xor ixor bitwise_xor", ast.Lt: "lt less",
    ast.LtE: "le less_equal", ast.Gt: "gt greater", ast.GtE: "ge greater_equal", ast.Eq: "eq equal",
    ast.NotEq: "ne not_equal", ast.USub: "neg negative", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip


def _fill(modules, names: str, rule: Rule):
    for module in modules:
        for name in names.split():
            if hasattr(module, name):
                FUNCTIONS.setdefault(getattr(module, name), rule)


for _name, _names in _FLOATING.items():
    _fill([math], _names, floating(_name))
    _fill([np], _names, floating(_name, complex_too=True))
    _fill([cmath], _names, complex_function(_name))
for _name, _names in _FLOATING_2.items():
    _fill([math, np], _names, floating(_name, 2))
for _op, _names in _OPERATORS.items():
    _fill([operator, np], _names, operation(_op))

_BLOCK = 1024  # threads of a block, at most
_MOST = (2**31 - 1) * _BLOCK

WORDS: dict[str, Rule] = {
    "grid": _grid("grid", _MOST),
    "gridsize": _grid("gridsize", _MOST),
    **{f"threadIdx.{x}": special(f"threadIdx.{x}", 0, _BLOCK - 1) for x in "xyz"},
    **{f"blockIdx.{x}": special(f"blockIdx.{x}", 0, 2**31 - 2) for x in "xyz"},
    **{f"blockDim.{x}": special(f"blockDim.{x}", 1, _BLOCK) for x in "xyz"},
    **{f"gridDim.{x}": special(f"gridDim.{x}", 1, 2**31 - 1) for x in "xyz"},
    "laneid": lambda call: Value(types.int32, "laneid()", range=(0, 31)),
    "warpsize": lambda call: Value(types.int32, "warpSize", range=(32, 32)),
    "syncthreads": intrinsic("__syncthreads()"),
    "syncthreads_count": intrinsic(
        "__syncthreads_count({0})", types.int32, None, limits=(0, _BLOCK)
    ),
    "syncthreads_and": intrinsic("__syncthreads_and({0})", types.int32, None),
    "syncthreads_or": intrinsic("__syncthreads_or({0})", types.int32, None),
    "syncwarp": _syncwarp,
    "threadfence": intrinsic("__threadfence()"),
    "threadfence_block": intrinsic("__threadfence_block()"),
    "threadfence_system": intrinsic("__threadfence_system()"),
    "nanosleep": intrinsic("__nanosleep({0})", types.void, types.uint32),
    "shared.array": memory.array("shared"),
    "local.array": memory.array("local"),
    "const.array_like": memory.constant,
    **{
        f"atomic.{name}": _atomic(f"atomic_{of}")
        for name, of in (
            *((n, n) for n in "add sub max min nanmax nanmin inc dec exch xor".split()),
            ("and_", "and"),
            ("or_", "or"),
        )
    },
    "atomic.cas": _atomic("atomic_cas", 2),
    "atomic.compare_and_swap": _compare_and_swap,
    **{
        name: _shuffle(name)
        for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
    },
    "all_sync": intrinsic("__all_sync({0}, {1}) != 0", types.boolean, types.uint32, None),
    "any_sync": intrinsic("__any_sync({0}, {1}) != 0", types.boolean, types.uint32, None),
    "eq_sync": intrinsic("eq_sync({0}, {1})", types.boolean, types.uint32, None),
    "ballot_sync": intrinsic("int32(__ballot_sync({0}, {1}))", types.int32, types.uint32, None),
    "match_any_sync": intrinsic("int32(match_any_sync({0}, {1}))", types.int32, types.uint32, None),
    "match_all_sync": _match_all,
    "activemask": intrinsic("int32(__activemask())", types.int32),
    "lanemask_lt": intrinsic("int32(lanemask_lt())", types.int32),
    "popc": _bits("__popc", "__popcll"),
    "clz": _bits("__clz", "__clzll"),
    "ffs": _bits("__ffs", "__ffsll"),
    "brev": _bits("__brev", "__brevll", None),
    "fma": _fma,
    "cbrt": floating("cbrt"),
    "selp": _selp,
}

# By the name and the module of the function, which need not be imported for it.
NAMED: dict[tuple[str, str], Rule] = {
    ("numbalite.cuda.random", f"xoroshiro128p_{kind}_{t}"): _random(f"xoroshiro128p_{kind}_{t}", types.NAMES[t])
    for kind in ("uniform", "normal")
    for t in ("float32", "float64")
}  # fmt: skip


def function(value: Any) -> Rule | None:
    """The rule for a Python object that is called."""
    if isinstance(value, Word):
        return WORDS.get(value.path)
    if isinstance(value, types.Scalar):
        return lambda call: cast(call, value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return lambda call: cast(call, types.from_dtype(value))
    try:
        found = FUNCTIONS.get(value)
    except TypeError:
        return None
    if found is None and isinstance(value, python_types.FunctionType):
        found = NAMED.get((value.__module__, value.__name__))
    return found


def word(value: Any) -> Rule | None:
    """The rule for a Word that is no function: threadIdx.x, laneid."""
    if isinstance(value, Word) and value.path in WORDS and value.is_value:
        return WORDS[value.path]
    return None


def name_of(value: Any) -> str:
    """How messages call a function."""
    if isinstance(value, Word):
        return f"cuda.{value.path}"
    return getattr(value, "__name__", str(value))


# --- attributes and methods -----------------------------------------------------------------------------


def _part(name):
    def rule(call):
        (value,) = call.args
        if is_complex(value.type):
            part = types.float32 if value.type is types.complex64 else types.float64
            return call.made(part, f"{value.at(PRIMARY)}.{name}()")
        return value if name == "real" else number(0)

    return rule


def _conjugate(call):
    (value,) = call.args
    return call.made(value.type, f"conj({value.text})") if is_complex(value.type) else value


_OF_ARRAYS: dict[str, Rule] = {
    "size": lambda call: subscripts.size(call.args[0]),
    "shape": lambda call: tuple_of(subscripts.extent(call.args[0], k) for k in range(call.args[0].type.ndim)),
    "strides": lambda call: tuple_of(subscripts.stride(call.args[0], k) for k in range(call.args[0].type.ndim)),
    "ndim": lambda call: number(call.args[0].type.ndim),
    "dtype": lambda call: Value(Known(call.args[0].type.dtype), constant=call.args[0].type.dtype),
    "itemsize": lambda call: number(call.args[0].type.dtype.size),
    "nbytes": lambda call: arithmetic.binary(
        ast.Mult, subscripts.size(call.args[0]), number(call.args[0].type.dtype.size)
    ),
    "T": lambda call: subscripts.transposed(call.args[0]),
}  # fmt: skip
_OF_NUMBERS: dict[str, Rule] = {"real": _part("real"), "imag": _part("imag")}
_METHODS_OF_NUMBERS: dict[str, Rule] = {"conjugate": _conjugate}


def attribute(t, name: str) -> Rule | None:
    """The rule for an attribute of a value."""
    if isinstance(t, types.Array) and t.ndim > 0:
        return _OF_ARRAYS.get(name)
    if isinstance(t, types.Array):
        t = t.dtype
    if isinstance(t, types.Record):
        return (
            (lambda call: subscripts.field(call.of, call.node, call.args[0], name))
            if name in t.dtype.names
            else None
        )
    if isinstance(t, types.NamedTuple) and name in t.instance_class._fields:
        return lambda call: memory.member(call, name)
    return _OF_NUMBERS.get(name) if is_number(t) else None


def method(t, name: str) -> Rule | None:
    """The rule for a method of a value."""
    return _METHODS_OF_NUMBERS.get(name) if is_number(t) else None


__all__ = ["FUNCTIONS", "NAMED", "WORDS", "Call", "Rule", "builtins", "hull"]
