"""Lists the Python functions and attributes that kernels support, each with the rule for its type and its C++
text.

The tables have one line per function. The keys of the tables are the Python objects themselves; functions
that exist only in kernels (``cuda.grid``) are objects of the class KernelName (numbalite/types/inkernel.py), with
rules in intrinsics.py. A rule receives a Call (calls.py) and returns a Value.
"""

from __future__ import annotations

import ast
import cmath
import functools
import math
import operator
import types as python_types
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python import (
    bfloat,
    intrinsics,
    memory,
    pointers,
    randoms,
    reductions,
    rounding,
    rules,
    subscripts,
    times,
    vectors,
)
from numbalite.python.arithmetic import convert_branches, convert_value
from numbalite.python.calls import (
    Call,
    Rule,
    complex_rule,
    float_predicate_rule,
    float_rule,
    integral_rule,
    intrinsic_rule,
    operation_rule,
    predicate_rule,
    rule_of_several_results,
    same_type_rule,
    select_rule,
    string_literal,
    type_text,
)
from numbalite.python.intrinsics import NAMED, WORDS, bit_count_rule
from numbalite.python.unroll import literal_unroll
from numbalite.python.values import (
    EQUAL,
    NOTHING,
    PRIMARY,
    UNARY,
    CompileTimeType,
    Sequence,
    Value,
    full_range,
    is_complex,
    is_in_range,
    is_integral,
    is_number,
    is_real,
    number,
    tuple_of,
)
from numbalite.types.inkernel import KernelName
from numbalite.types.parallelrange import prange

# --- Python's own ---------------------------------------------------------------------------------------


def _extreme_rule(name: str) -> Rule:
    def translate_call(call):
        args = call.args
        if len(args) == 1 and isinstance(args[0].type, types.Tuple):
            args = list(call.of.items(call.node, args[0]))
        if not args or any(not is_number(a.type) for a in args):
            call.fail("takes two or more numbers")
        result = args[0]
        pick = min if name == "min" else max
        for value in args[1:]:
            t = rules.unified_type(result.type, value.type)
            a, b, cxx = convert_branches(result, value, t)
            if a.cxx != b.cxx:
                a, b = convert_value(a, cxx), convert_value(b, cxx)
            limits = None
            if is_integral(t):
                limits = tuple(map(pick, a.range, b.range))
            result = call.result(t, f"{name}({a.text}, {b.text})", cxx=cxx, range=limits)
        return result

    return translate_call


def _translate_sum(call):
    values, start = call.bind_arguments("iterable", "start", optional=1)
    total = start or number(0)
    if isinstance(values.type, types.Tuple):
        for item in call.of.items(call.node, values):
            total = call.of.binary(call.node, ast.Add, total, item)
        return total
    if not isinstance(values.type, types.Array) or values.type.ndim == 0:
        call.fail(f"a tuple or an array is required, not {rules.describe_type(values.type)}")
    if not is_number(total.type):
        call.fail(f"the start is a number, not {rules.describe_type(total.type)}")
    summed = reductions.translate_sum(call, values, total.type)
    return summed if start is None else call.of.binary(call.node, ast.Add, start, summed)


def _numpy_extreme_rule(name: str) -> Rule:
    """Translates np.maximum and np.minimum: the result is NaN if an operand is NaN, also for complex
    numbers."""

    def translate_call(call):
        a, b = call.number_arguments(2)
        if is_integral(a.type) and is_integral(b.type):
            return _extreme_rule(name)(call)
        t = rules.common_type(a.type, b.type)
        return call.result(
            t, f"np_{name}imum({convert_value(a, t).text}, {convert_value(b, t).text})"
        )

    return translate_call


def _translate_clip(call):
    value, *limits = call.bind_arguments("a", "a_min", "a_max")
    for name, limit in zip(("max", "min"), limits, strict=True):
        if not isinstance(limit.type, types.Empty):
            found = Call(call.of, call.node, call.name, [value, limit])
            value = _numpy_extreme_rule(name)(found)
    return value


def _translate_abs(call):
    (value,) = call.number_arguments(1)
    if is_complex(value.type):
        part = types.float32 if value.type is types.complex64 else types.float64
        return call.result(part, f"abs({value.text})")
    if is_integral(value.type):
        if value.is_nonnegative:
            return value
        limits = (0, min(max(map(abs, value.range)), full_range(value.type)[1]))
        cxx = rules.promoted_type(value.cxx, value.cxx)
        if not is_in_range(limits, cxx):
            value, cxx = convert_value(value, value.type), value.type
        return call.result(value.type, f"abs({value.text})", cxx=cxx, range=limits)
    return call.result(value.type, f"abs({value.text})")


def _finfo_rule(of: Any) -> Rule:
    """Translates np.finfo and np.iinfo for a type, or for the type of a value."""
    of = functools.cache(of)  # the cache returns the same object in each round

    def translate_call(call):
        (value,) = call.bind_arguments("dtype")
        t = value.type if is_number(value.type) else memory.element_type(call, value)
        try:
            found = of(t.dtype)
        except (AttributeError, TypeError, ValueError) as problem:
            call.fail(str(problem))
        return Value(CompileTimeType(found), constant=found)

    return translate_call


def _any_all_rule(op: type, reduction: Rule) -> Rule:
    """Translates any and all for the items of a tuple or the elements of an array."""

    def translate_call(call):
        (value,) = call.bind_arguments("iterable")
        if not isinstance(value.type, types.Tuple):
            return reduction(call)
        items = call.of.items(call.node, value)
        node = ast.BoolOp(op(), [])
        return call.of.join_conditions(
            node, [call.of.value_as_condition(call.node, item) for item in items]
        )

    return translate_call


def _translate_len(call):
    (value,) = call.bind_arguments("obj")
    if isinstance(value.type, Sequence) and value.type.kind in ("range", "prange"):
        texts = [convert_value(part, types.int64).text for part in value.items]
        return call.result(types.int64, f"py::range_size({', '.join(texts)})", range=(0, 2**63 - 1))
    if isinstance(value.type, types.Tuple):
        return number(len(value.type))
    if not isinstance(value.type, types.Array) or value.type.ndim == 0:
        call.fail(f"{rules.describe_type(value.type)} has no length")
    return subscripts.extent_text(value, 0)


def cast_argument(call: Any, t: Any) -> Value:
    """``float32(x)``."""
    (value,) = call.bind_arguments("x")
    if bfloat.is_bfloat(value):
        return bfloat.bfloat_as_number(value, t)
    if isinstance(value.type, types.Tuple) or not isinstance(value.type, types.Scalar):
        call.fail(f"a number is wanted, not {rules.describe_type(value.type)}")
    return _converted_value(value, t)


def _converted_value(value, t) -> Value:
    if not is_number(value.type) or not is_number(t):
        return value.replace(type=t, cxx=t, text=f"{type_text(t)}({value.text})", precedence=PRIMARY,
                             range=None)  # fmt: skip
    if is_integral(t) and is_integral(value.type) and is_in_range(value.range, t):
        if value.cxx == t or value.text.isdigit():
            return value.replace(type=t)
        return convert_value(value, t)
    made = convert_value(value.replace(range=None) if is_integral(value.type) else value, t)
    constant = _cast_constant(value.constant, t) if value.is_constant else NOTHING
    limits = full_range(t) if is_integral(t) else None
    if limits is not None and constant is not NOTHING:
        limits = (constant, constant)
    return made.replace(type=t, range=limits, constant=constant)


def _cast_constant(constant, t):
    """Returns a constant converted to a number type; NOTHING if the result is undefined in C++."""
    if t is types.boolean:
        return bool(constant)
    if is_complex(t) or isinstance(constant, complex):
        return NOTHING
    if is_real(t):
        with np.errstate(over="ignore"):
            return float(t.dtype.type(constant))
    low, high = full_range(t)
    if not isinstance(constant, int) and not low <= constant <= high:
        return NOTHING
    return (int(constant) - low) % (high - low + 1) + low


def _conversion_rule(choose) -> Rule:
    """Translates int(), float() and bool(), whose result type depends on the argument's type."""

    def translate_call(call):
        if len(call.args) == 1 and bfloat.is_bfloat(call.args[0]):
            return bfloat.bfloat_as_number(call.args[0], choose(types.float64))
        return _converted_value(call.number_arguments(1)[0], choose(call.args[0].type))

    return translate_call


def _translate_float(call):
    text = call.args[0].constant if len(call.args) == 1 else None
    if isinstance(text, str):
        try:
            return number(float(text))
        except ValueError as problem:
            call.fail(str(problem))
    return _conversion_rule(lambda t: t if is_real(t) else types.float64)(call)


def _translate_tuple(call):
    (value,) = call.bind_arguments("iterable")
    if isinstance(value.type, types.Tuple):
        return value
    call.fail(f"a tuple can be made of a tuple, not of {rules.describe_type(value.type)}")


def _translate_isinstance(call):
    value, classes = call.bind_arguments("obj", "class_or_tuple")
    wanted = [item.type for item in call.of.items(call.node, classes)] if isinstance(
        classes.type, types.Tuple
    ) else [classes.type]  # fmt: skip
    if not all(isinstance(t, CompileTimeType) for t in wanted):
        call.fail("the second argument is a type, or a tuple of types")
    return number(any(_is_instance(value.type, t.value) for t in wanted))


def _is_instance(t, wanted) -> bool:
    """Returns whether a value of type t is an instance of this Python class."""
    if isinstance(wanted, types.Type):
        return t == wanted
    if isinstance(wanted, KernelName):
        return wanted.path in bfloat.TYPES and t == bfloat.BFLOAT16
    if isinstance(t, types.Tuple):
        return issubclass(getattr(t, "instance_class", tuple), wanted)
    if isinstance(t, types.Array):
        return wanted is np.ndarray
    python = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
    kind = t.dtype.kind if is_number(t) else ""
    return wanted in (python.get(kind), object) or (is_number(t) and wanted is t.dtype.type)


def _translate_complex(call):
    a, b = call.bind_arguments("real", "imag", optional=1)
    for given in (a, b):
        if given is not None and not is_number(given.type):
            call.fail(f"takes numbers, not {rules.describe_type(given.type)}")
    if b is None:
        return _converted_value(a, a.type if is_complex(a.type) else types.complex128)
    t = rules.common_type(a.type, b.type)
    part = types.float32 if t is types.float32 else types.float64
    made = types.complex64 if part is types.float32 else types.complex128
    return call.result(
        made, f"{made.name}({convert_value(a, part).text}, {convert_value(b, part).text})"
    )


def _translate_divmod(call):
    a, b = call.number_arguments(2)
    if rules.unified_type(a.type, b.type) is types.float64:  # for uint64 and int64, too
        a, b = convert_value(a, types.float64), convert_value(b, types.float64)
    pair = [call.of.binary(call.node, op, a, b) for op in (ast.FloorDiv, ast.Mod)]
    return tuple_of(pair)


def _complex_predicate_rule(name: str) -> Rule:
    """cmath.isnan etc."""

    def translate_call(call):
        (value,) = call.number_arguments(1)
        return call.result(types.boolean, f"{name}({_to_complex(value).text})")

    return translate_call


def _to_complex(value):
    if is_complex(value.type):
        return value
    return convert_value(
        value, types.complex64 if value.type is types.float32 else types.complex128
    )


def _translate_log(call):
    value, base = call.bind_arguments("x", "base", optional=1)
    if base is None:
        return complex_rule("log")(call)
    for given in (value, base):
        if not is_number(given.type):
            call.fail(f"takes numbers, not {rules.describe_type(given.type)}")
    z, of = _to_complex(value), _to_complex(base)
    return call.of.binary(
        call.node,
        ast.Div,
        call.result(z.type, f"log({z.text})"),
        call.result(of.type, f"log({of.text})"),
    )


def _translate_phase(call):
    z = _to_complex(*call.number_arguments(1))
    return call.result(z.type.underlying_float, f"arg({z.text})")


def _translate_polar(call):
    z = _to_complex(*call.number_arguments(1))
    t = z.type.underlying_float
    return call.result(types.Tuple((t, t)), f"py::polar({z.text})")


def _translate_rect(call):
    r, angle = call.number_arguments(2)
    t = types.float32 if r.type is angle.type is types.float32 else types.float64
    made = types.complex64 if t is types.float32 else types.complex128
    return call.result(
        made, f"py::rect({convert_value(r, t).text}, {convert_value(angle, t).text})"
    )


def _translate_isnat(call):
    if len(call.args) != 1 or not times.is_time(call.args[0].type):
        call.fail("takes a datetime64 or a timedelta64")
    return call.result(types.boolean, f"py::is_nat({call.args[0].text})")


def _logical_rule(symbol: str) -> Rule:
    """Translates np.logical_and etc.: both operands are computed, as in NumPy."""

    def translate_call(call):
        a, b = call.number_arguments(2)
        if symbol != "!=" and b.calls:
            return call.result(
                types.boolean, f"bool({_boolean_text(a)} {symbol[0]} {_boolean_text(b)})"
            )
        return call.result(types.boolean, f"({_boolean_text(a)} {symbol} {_boolean_text(b)})")

    return translate_call


def _boolean_text(value):
    """Returns the C++ text of a value as a boolean operand of an operator."""
    return (
        value.text_at(PRIMARY)
        if value.type is types.boolean
        else f"({value.text_at(EQUAL + 1)} != 0)"
    )


def _translate_logical_not(call):
    (value,) = call.number_arguments(1)
    return call.result(types.boolean, f"!{_boolean_text(value)}", UNARY)


def _translate_ldexp(call):
    x, n = call.number_arguments(2)
    if not is_integral(n.type):
        call.fail(f"the second argument is an integer, not {n.type}")
    call.check_real(x.type)
    t = types.float64 if is_integral(x.type) else x.type
    return call.result(
        t, f"ldexp({convert_value(x, t).text}, {convert_value(n, types.int32).text})"
    )


def _translate_numpy_fmod(call):
    """For integers the result is an integer, unlike the result of math.fmod."""
    a, b = call.number_arguments(2)
    rule = (
        same_type_rule("np_fmod", 2)
        if is_integral(a.type) and is_integral(b.type)
        else float_rule("fmod", 2)
    )
    return rule(call)


def _translate_gcd(call):
    a, b = call.integer_arguments(2)
    t = rules.common_type(a.type, b.type)
    return call.result(t, f"np_gcd({convert_value(a, t).text}, {convert_value(b, t).text})")


def _integer_function_rule(name):
    rule = same_type_rule(name, 2)

    def translate_call(call):
        call.integer_arguments(2)
        return rule(call)

    return translate_call


def _translate_range(call):
    if not 1 <= len(call.args) <= 3 or any(
        not (is_integral(a.type) or is_real(a.type)) for a in call.args
    ):
        call.fail("takes one to three integers")
    args = [a if is_integral(a.type) else convert_value(a, types.int64) for a in call.args]
    start, stop = (number(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else number(1)
    kinds = {a.type for a in args if not (a.is_constant and a.text.isdigit())}
    if (
        kinds
        and kinds <= {types.int8, types.int16, types.int32, types.uint8, types.uint16}
        and (len(kinds) == len({a.type for a in args}))
    ):
        t = types.int32
    else:
        t = types.uint64 if {a.type for a in args} == {types.uint64} else types.int64
    return Value(Sequence("range", t), "", items=(start, stop, step))


def _translate_enumerate(call):
    over, start = call.bind_arguments("iterable", "start", optional=1)
    return Value(Sequence("enumerate", None), "", items=(over, start or number(0)))


def _translate_zip(call):
    return Value(Sequence("zip", None), "", items=tuple(call.args))


def _translate_print(call):
    values: list[str] = []
    text = " ".join([_printf_format(call, value, values) for value in call.args]) + "\n"
    return Value(types.void, f"printf({', '.join([string_literal(text), *values])})", calls=True)


def _printf_format(call, value, values) -> str:
    """Returns the printf format of a value, and adds the arguments of printf to ``values``."""
    given = value.type.value if isinstance(value.type, CompileTimeType) else None
    if isinstance(given, str):
        return given.replace("%", "%%")
    if isinstance(given, KernelName) and f"{given.path}.x" in WORDS:  # threadIdx
        items = [WORDS[f"{given.path}.{axis}"](call) for axis in "xyz"]
        return f"({', '.join([_printf_format(call, item, values) for item in items])})"
    if isinstance(value.type, types.Tuple):
        items = call.of.items(call.node, value)
        shown = ", ".join([_printf_format(call, item, values) for item in items])
        return f"({shown},)" if len(items) == 1 else f"({shown})"
    if bfloat.is_bfloat(value):
        value = bfloat.bfloat_as_number(value, types.float32)
    if not is_number(value.type):
        call.fail(
            f"numbers and texts can be printed in a kernel, not {rules.describe_type(value.type)}"
        )
    kind = value.type.dtype.kind
    if kind == "c":
        values += [f"{value.text_at(PRIMARY)}.real()", f"{value.text_at(PRIMARY)}.imag()"]
        return "(%g%+gj)"
    if kind == "b":
        values.append(f'{value.text_at(EQUAL)} ? "True" : "False"')
        return "%s"
    if kind == "f":
        is_wide = value.cxx in (types.float32, types.float64)
        values.append(value.text if is_wide else f"float({value.text})")
        return "%f"
    if value.cxx.size == 4 and value.cxx.dtype.kind == "i":
        values.append(value.text)
        return "%d"
    wide = types.uint64 if value.type.dtype.kind == "u" else types.int64
    values.append(convert_value(value, wide).text)
    return "%llu" if wide is types.uint64 else "%lld"


def _return_argument(call):
    return call.bind_arguments("container")[0]


def _translate_getitem(call):
    a, i = call.bind_arguments("a", "b")
    return subscripts.load_item(call.of, call.node, a, [i])


# --- the table -----------------------------------------------------------------------------------------

FUNCTIONS: dict[Any, Rule] = {
    abs: _translate_abs,
    np.abs: _translate_abs,
    math.fabs: float_rule("fabs"),
    min: _extreme_rule("min"),
    max: _extreme_rule("max"),
    sum: _translate_sum,
    round: rounding.translate_round,
    len: _translate_len,
    any: _any_all_rule(ast.Or, reductions.FUNCTIONS[np.any]),
    all: _any_all_rule(ast.And, reductions.FUNCTIONS[np.all]),
    np.finfo: _finfo_rule(np.finfo),
    np.iinfo: _finfo_rule(np.iinfo),
    range: _translate_range,
    pointers.carray: pointers.array_rule("C"),
    pointers.farray: pointers.array_rule("F"),
    prange: lambda call: _translate_range(call).replace(type=Sequence("prange", types.int64)),
    enumerate: _translate_enumerate,
    zip: _translate_zip,
    divmod: _translate_divmod,
    print: _translate_print,
    int: _conversion_rule(
        lambda t: t if is_integral(t) and t is not types.boolean else types.int64
    ),
    float: _translate_float,
    bool: _conversion_rule(lambda t: types.boolean),
    complex: _translate_complex,
    tuple: _translate_tuple,
    isinstance: _translate_isinstance,
    pow: operation_rule(ast.Pow),
    math.pow: float_rule("pow", 2),
    math.floor: integral_rule("floor"),
    math.ceil: integral_rule("ceil"),
    math.trunc: integral_rule("trunc"),
    math.isnan: predicate_rule("isnan"),
    math.isinf: predicate_rule("isinf"),
    math.isfinite: predicate_rule("isfinite"),
    math.gcd: _translate_gcd,
    math.remainder: float_rule("remainder", 2),
    np.isnat: _translate_isnat,
    cmath.isnan: _complex_predicate_rule("isnan"),
    cmath.isinf: _complex_predicate_rule("isinf"),
    cmath.isfinite: _complex_predicate_rule("isfinite"),
    cmath.log: _translate_log,
    cmath.phase: _translate_phase,
    cmath.polar: _translate_polar,
    cmath.rect: _translate_rect,
    math.frexp: rule_of_several_results("py::frexp", None, types.int32),
    math.modf: rule_of_several_results("py::modf", None, None),
    math.ldexp: _translate_ldexp,
    np.isnan: predicate_rule("isnan"),
    np.isinf: predicate_rule("isinf"),
    np.isfinite: predicate_rule("isfinite"),
    math.degrees: float_rule("np_degrees"),
    math.radians: float_rule("np_radians"),
    np.degrees: float_rule("np_degrees"),
    np.rad2deg: float_rule("np_degrees"),
    np.radians: float_rule("np_radians"),
    np.deg2rad: float_rule("np_radians"),
    np.sign: intrinsic_rule("np_sign({0})", lambda t: t, None, effect=False),
    np.maximum: _numpy_extreme_rule("max"),
    np.minimum: _numpy_extreme_rule("min"),
    np.clip: _translate_clip,
    np.where: select_rule("condition", "x", "y"),
    np.floor: float_rule("floor"),
    np.ceil: float_rule("ceil"),
    np.trunc: float_rule("trunc"),
    np.rint: float_rule("rint"),
    np.round: rounding.translate_numpy_round,
    np.around: rounding.translate_numpy_round,
    operator.getitem: _translate_getitem,
    **reductions.FUNCTIONS,
    literal_unroll: _return_argument,
}
# Functions of floats under their names in math, numpy and cmath: {C++ name: Python names}.
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


def _comparison_rule(op: type, name: str, swap: bool) -> Rule:
    """Returns the rule for a comparison. Complex numbers are compared as in NumPy: first by their real parts,
    then by their imaginary parts."""

    def translate_call(call):
        a, b = call.bind_arguments("x1", "x2")
        if not (is_complex(a.type) or is_complex(b.type)):
            return operation_rule(op)(call)
        t = rules.common_type(a.type, b.type)
        texts = [convert_value(value, t).text for value in ((b, a) if swap else (a, b))]
        return call.result(types.boolean, f"np_{name}({', '.join(texts)})")

    return translate_call


_ORDERS = {
    "less": _comparison_rule(ast.Lt, "less", False),
    "less_equal": _comparison_rule(ast.LtE, "less_equal", False),
    "greater": _comparison_rule(ast.Gt, "less", True),
    "greater_equal": _comparison_rule(ast.GtE, "less_equal", True),
}

_NUMPY: dict[str, Rule] = {
    **{name: same_type_rule(f"np_{name}", 2) for name in ("fmax", "fmin")},
    **{name: _integer_function_rule(f"np_{name}") for name in ("gcd", "lcm")},
    **{name: float_rule(f"np_{name}", 2) for name in ("logaddexp", "logaddexp2", "heaviside")},
    "reciprocal": same_type_rule("np_reciprocal", 1),
    "signbit": float_predicate_rule("np_signbit"),
    "fabs": float_rule("fabs"),
    "fix": float_rule("trunc"),
    "fmod": _translate_numpy_fmod,
    "ldexp": _translate_ldexp,
    "conjugate": lambda call: _translate_conjugate(call, *call.number_arguments(1)),
    "positive": operation_rule(ast.UAdd),
    "square": lambda call: call.of.binary(call.node, ast.Pow, *call.number_arguments(1), number(2)),
    "logical_and": _logical_rule("&&"),
    "logical_or": _logical_rule("||"),
    "logical_xor": _logical_rule("!="),
    "logical_not": lambda call: _translate_logical_not(call),
}


def _add_functions(modules, names: str, rule: Rule):
    for module in modules:
        for name in names.split():
            if hasattr(module, name):
                FUNCTIONS.setdefault(getattr(module, name), rule)


for _name, _names in _FLOATING.items():
    _add_functions([math], _names, float_rule(_name))
    for _ufunc in (getattr(np, n) for n in _names.split() if hasattr(np, n)):
        _is_complex = any("D" in loop for loop in _ufunc.types)
        FUNCTIONS.setdefault(_ufunc, float_rule(_name, complex_too=_is_complex))
    _add_functions([cmath], _names, complex_rule(_name))
for _name, _rule in _NUMPY.items():
    _add_functions([np], _name, _rule)
for _name, _names in _FLOATING_2.items():
    _add_functions([math, np], _names, float_rule(_name, 2))
for _name, _rule in _ORDERS.items():
    _add_functions([np], _name, _rule)
for _op, _names in _OPERATORS.items():
    _add_functions([operator, np], _names, operation_rule(_op))


def _type_of_class(call, value):
    """Returns the types.Type of a NumPy number class such as np.float32."""
    try:
        return types.from_dtype(value)
    except TypeError:
        call.fail("there are no such values in a kernel", "Numbers have types such as np.float32.")


def function_rule(value: Any) -> Rule | None:
    """Returns the rule for a called Python object."""
    if isinstance(value, KernelName):
        return WORDS.get(value.path)
    if isinstance(value, types.Scalar):
        return lambda call: cast_argument(call, value)
    if isinstance(value, types.Vector):
        return lambda call: vectors.make_vector(call, value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return lambda call: cast_argument(call, _type_of_class(call, value))
    if getattr(
        type(value), "is_numpys", False
    ):  # cuda.cbrt: in NumPy, a function of arrays; in a kernel, the function of a number
        value = getattr(np, value.__name__)
    try:
        found = FUNCTIONS.get(value) or randoms.RULES.get(value)
    except TypeError:
        return None
    if found is None and isinstance(value, (python_types.FunctionType, python_types.MethodType)):
        found = NAMED.get((value.__module__, value.__name__))
    return found


def builtin_value_rule(value: Any) -> Rule | None:
    """Returns the rule for a KernelName that is not a function, such as threadIdx.x or laneid."""
    if isinstance(value, KernelName) and value.path in WORDS and value.is_value:
        return WORDS[value.path]
    return None


def function_name(value: Any) -> str:
    """Returns the name of a function for messages."""
    if isinstance(value, KernelName):
        return f"cuda.{value.path}"
    return getattr(value, "__name__", str(value))


# --- attributes and methods -----------------------------------------------------------------------------


def _complex_part_rule(name):
    def translate_call(call):
        (value,) = call.args
        if is_complex(value.type):
            part = types.float32 if value.type is types.complex64 else types.float64
            return call.result(part, f"{value.text_at(PRIMARY)}.{name}()")
        return value if name == "real" else number(0)

    return translate_call


def _translate_conjugate(call, value):
    return call.result(value.type, f"conj({value.text})") if is_complex(value.type) else value


def _require_contiguous(call, array: Value) -> Value:
    if array.type.layout != "C":
        call.fail(
            "the elements do not lie one behind the other",
            "Index the array with one index for each dimension.",
        )
    return array


def _translate_flat(call):
    return subscripts.translate_reshape(_require_contiguous(call, call.args[0]), [number(-1)])


def _translate_reshape(call):
    array, *shape = call.args
    if len(shape) == 1 and isinstance(shape[0].type, types.Tuple):
        shape = list(call.of.items(call.node, shape[0]))
    if not shape or not all(is_integral(item.type) for item in shape):
        call.fail("a shape is made of integers")
    return subscripts.translate_reshape(_require_contiguous(call, array), shape)


def _translate_view(call):
    array, dtype = call.bind_arguments("self", "dtype")
    return subscripts.translate_view(array, *_scalar_type(call, dtype))


def _scalar_type(call, dtype):
    t = memory.element_type(call, dtype)
    if not is_number(t):
        call.fail(f"a type of numbers is wanted, not {t}")
    return t, type_text(t)


_METHODS_OF_ARRAYS: dict[str, Rule] = {
    **reductions.METHODS,
    "reshape": _translate_reshape,
    "ravel": _translate_flat,
    "view": _translate_view,
    "transpose": lambda call: subscripts.translate_transpose(call.args[0]),
}
_OF_ARRAYS: dict[str, Rule] = {
    "size": lambda call: subscripts.size_text(call.args[0]),
    "shape": lambda call: tuple_of(subscripts.extent_text(call.args[0], k) for k in range(call.args[0].type.ndim)),
    "strides": lambda call: tuple_of(subscripts.stride_text(call.args[0], k) for k in range(call.args[0].type.ndim)),
    "ndim": lambda call: number(call.args[0].type.ndim),
    "dtype": lambda call: Value(CompileTimeType(call.args[0].type.dtype), constant=call.args[0].type.dtype),
    "itemsize": lambda call: number(call.args[0].type.dtype.size),
    "nbytes": lambda call: call.of.binary(
        call.node, ast.Mult, subscripts.size_text(call.args[0]), number(call.args[0].type.dtype.size)
    ),
    "T": lambda call: subscripts.translate_transpose(call.args[0]),
    "real": lambda call: subscripts.complex_parts(call.args[0], 0),
    "imag": lambda call: subscripts.complex_parts(call.args[0], 1),
    "flat": lambda call: _translate_flat(call),
}  # fmt: skip
_OF_NUMBERS: dict[str, Rule] = {
    "real": _complex_part_rule("real"),
    "imag": _complex_part_rule("imag"),
}
_METHODS_OF_NUMBERS: dict[str, Rule] = {
    "conjugate": lambda call: _translate_conjugate(call, *call.number_arguments(1)),
    "bit_count": bit_count_rule("__popc", "__popcll"),
}
# Functions and attributes of 0-d arrays of numbers; their rules receive the element.
_OF_ELEMENTS: dict[str, Rule] = {
    **_OF_NUMBERS,
    "size": lambda call: number(1),
    "shape": lambda call: tuple_of(()),
    "strides": lambda call: tuple_of(()),
    "ndim": lambda call: number(0),
    "dtype": lambda call: Value(CompileTimeType(call.args[0].type), constant=call.args[0].type),
    "itemsize": lambda call: number(call.args[0].type.size),
    "nbytes": lambda call: number(call.args[0].type.size),
    "T": lambda call: call.args[0],
}
_METHODS_OF_ELEMENTS: dict[str, Rule] = {
    **_METHODS_OF_NUMBERS,
    "item": lambda call: call.number_arguments(1)[0],
}


def attribute_names(t: Any) -> list[str]:
    """Returns the names of a value's attributes."""
    if isinstance(t, types.Array) and t.ndim > 0:
        return [*_OF_ARRAYS, *_METHODS_OF_ARRAYS]
    if isinstance(t, types.NamedTuple):
        return list(t.instance_class._fields)
    record = t.dtype if isinstance(t, types.Array) else t
    return list(record.dtype.names or ()) if isinstance(record, types.Record) else []


def attribute_rule(t: Any, name: str) -> Rule | None:
    """Returns the rule for an attribute of a value."""
    if isinstance(t, types.Array) and t.ndim > 0:
        if subscripts.has_fields(t, name):
            return lambda call: subscripts.fields_view(call.args[0], name)
        return _OF_ARRAYS.get(name)
    if isinstance(t, types.Array):
        t = t.dtype
        if is_number(t):
            return _OF_ELEMENTS.get(name)
    if isinstance(t, types.Record):
        return (
            (lambda call: subscripts.field_value(call.of, call.node, call.args[0], name))
            if name in (t.dtype.names or ())
            else None
        )
    if isinstance(t, types.Vector) and name in t.axes:
        return lambda call: vectors.component_value(call.args[0], name)
    if isinstance(t, types.NamedTuple) and name in t.instance_class._fields:
        return lambda call: memory.named_tuple_field(call, name)
    return _OF_NUMBERS.get(name) if is_number(t) else None


def method_rule(t: Any, name: str) -> Rule | None:
    """Returns the rule for a method of a value."""
    if isinstance(t, types.Array) and t.ndim > 0:
        return _METHODS_OF_ARRAYS.get(name)
    if isinstance(t, types.Array) and is_number(t.dtype):
        return _METHODS_OF_ELEMENTS.get(name)
    return _METHODS_OF_NUMBERS.get(name) if is_number(t) else intrinsics.method_rule(t, name)
