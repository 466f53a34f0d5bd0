"""Translates the intrinsics of numba.cuda in kernels: thread indices, barriers, atomics, warp operations, bit
operations.

Outside of kernels, each intrinsic is an object of the class KernelName (numbalite/types/inkernel.py). The table
WORDS contains the rule for each dotted name.
"""

from __future__ import annotations

import ast
from typing import Any

from numbalite import types
from numbalite.python import bfloat, half, libdevice, memory, pointers, rules, subscripts
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call, Rule, float_rule, intrinsic_rule, select_rule
from numbalite.python.values import (
    PRIMARY,
    Value,
    is_complex,
    is_integral,
    is_number,
    number,
    tuple_of,
)


def _grid_rule(name: str, most: int) -> Rule:
    def translate_call(call):
        (ndim,) = call.bind_arguments("ndim")
        if not ndim.is_constant or ndim.constant not in (1, 2, 3):
            call.fail("RequireLiteralValue: takes the number of dimensions, 1, 2 or 3")
        limits = (0 if name == "grid" else 1, most)
        text = f"{name}<{ndim.constant}>()"
        if ndim.constant == 1:
            return Value(types.int64, text, range=limits)
        items = (
            Value(types.int64, f"{text}.{axis}", range=limits) for axis in "xyz"[: ndim.constant]
        )
        return tuple_of(items).replace(text=text)

    return translate_call


def special_register_rule(text: str, low: int, high: int) -> Rule:
    """Returns the rule for a special register: an int32 in numba, unsigned in C++."""
    return lambda call: Value(types.int32, text, cxx=types.uint32, range=(low, high))


def _atomic_rule(name: str, values: int = 1) -> Rule:
    names = ("val",) if values == 1 else ("old", "val")

    def translate_call(call):
        if _is_element_argument(call, values):
            call.fail("the array, the index and the value are three arguments", _index_hint(call))
        target, index, *given = call.bind_arguments("ary", "idx", *names)
        return _translate_atomic(call, name, target, index, given)

    return translate_call


def _is_element_argument(call, values):
    """Returns whether the first argument is an element, a[i], whose array and index are needed."""
    return len(call.args) == 1 + values and not call.keywords and isinstance(call.node, ast.Call)


def _index_hint(call):
    """Returns a hint that shows the call with the array and the index as separate arguments."""
    first, *given = call.node.args
    rest = "".join(f", {ast.unparse(node)}" for node in given)
    if isinstance(first, ast.Subscript):
        array, index = ast.unparse(first.value), ast.unparse(first.slice)
    elif isinstance(first, ast.Attribute) and isinstance(call.args[0].type, types.Scalar):
        return f"Make the field an array of its own, a: {call.function_text}(a, index{rest})."
    else:
        array = ast.unparse(first)
        ndim = getattr(call.args[0].type, "ndim", 1)
        index = "i" if ndim < 2 else f"({', '.join('ijklmnpq'[:ndim])})"
    return f"Write {call.function_text}({array}, {index}{rest})."


def _translate_atomic(call, name, target, index, given):
    if not isinstance(target.type, types.Array) or target.type.readonly:
        what = (
            "a read-only array"
            if isinstance(target.type, types.Array)
            else rules.describe_type(target.type)
        )
        call.fail(f"an array is wanted that can be written to, not {what}")
    indices = call.of.items(call.node, index) if isinstance(index.type, types.Tuple) else [index]
    element = subscripts.load_item(call.of, call.node, target, list(indices))
    if not isinstance(element.type, types.Scalar):
        call.fail(f"one index for each of the {target.type.ndim} dimensions is wanted")
    _check_numbers(call, name, element.type, given)
    texts = ", ".join(value.text for value in given)
    native, elements = _NATIVE_ATOMICS.get(name, ("", ()))
    if element.type in elements and all(is_number(v.type) for v in given):
        name = native
    return call.result(element.type, f"{name}(&{element.text_at(PRIMARY)}, {texts})", calls=True)


def _check_numbers(call, name, element, given):
    """Raises an error for values of an atomic operation that C++ cannot convert to the element type."""
    for value in given:
        if not is_number(value.type) and not bfloat.is_bfloat(value) and value.type != element:
            what = rules.describe_type(value.type)
            call.fail(f"{what} is no value for an element of type {rules.describe_type(element)}")
        if is_complex(value.type) and not is_complex(element):
            call.fail(f"{value.type} does not fit into {element}", "z.real is its real part.")
    if name in _OF_BITS and not is_integral(element):
        call.fail(f"takes arrays of integers, not of {rules.describe_type(element)}")


_OF_BITS = ("atomic_and", "atomic_or", "atomic_xor", "atomic_inc", "atomic_dec")
_WORDS = (types.int32, types.uint32, types.uint64)
_NATIVE_ATOMICS = {
    "atomic_add": ("atomicAdd", (*_WORDS, types.float32)),
    "atomic_sub": ("atomicSub", (types.int32, types.uint32)),
    "atomic_max": ("atomicMax", (*_WORDS, types.int64)),
    "atomic_min": ("atomicMin", (*_WORDS, types.int64)),
    "atomic_and": ("atomicAnd", _WORDS),
    "atomic_or": ("atomicOr", _WORDS),
    "atomic_xor": ("atomicXor", _WORDS),
    "atomic_exch": ("atomicExch", (*_WORDS, types.float32)),
    "atomic_inc": ("atomicInc", (types.uint32,)),
    "atomic_dec": ("atomicDec", (types.uint32,)),
    "atomic_cas": ("atomicCAS", _WORDS),
}
"""Operations for which CUDA's own functions are equivalent: a text with only these does not need
numbalite/atomics.cuh, whose parsing takes a seventh of a small kernel's compile time."""


_GRID = types.Opaque("cg::grid_group")


def _cached_element(call: Call, target: Value, index: Value) -> Value:
    """Returns the Value of the element that a load or a store with a cache hint accesses."""
    t = target.type
    dtype = getattr(t, "dtype", None)
    if not isinstance(t, (types.Array, types.Pointer)) or not is_number(dtype) or is_complex(dtype):
        call.fail(
            f"{call.name} requires array of integer or float type, not {rules.describe_type(t)}".removeprefix(
                "cuda."
            )
        )
    is_tuple = isinstance(index.type, types.Tuple)
    return subscripts.load_item(
        call.of, call.node, target, list(call.of.items(call.node, index)) if is_tuple else [index]
    )


def _cached_load_rule(name: str) -> Rule:
    def translate_call(call):
        element = _cached_element(call, *call.bind_arguments("array", "index"))
        return call.result(element.type, f"__{name}(&{element.text_at(PRIMARY)})", calls=True)

    return translate_call


def _cached_store_rule(name: str) -> Rule:
    def translate_call(call):
        target, index, value = call.bind_arguments("array", "index", "value")
        element = _cached_element(call, target, index)
        stored = convert_value(value, element.type).text
        return Value(types.void, f"__{name}(&{element.text_at(PRIMARY)}, {stored})", calls=True)

    return translate_call


def _translate_compare_and_swap(call):
    target, old, value = call.bind_arguments("ary", "old", "val")
    if isinstance(target.type, types.Scalar) and isinstance(call.node, ast.Call):
        first = call.node.args[0] if call.node.args else None
        if isinstance(first, ast.Subscript):
            rest = "".join(f", {ast.unparse(node)}" for node in call.node.args[1:])
            call.fail(
                "works on the first element of an array",
                f"Write cuda.atomic.cas({ast.unparse(first.value)}, {ast.unparse(first.slice)}{rest}).",
            )
    zero = tuple_of([number(0)] * getattr(target.type, "ndim", 1))
    return _translate_atomic(call, "atomic_cas", target, zero, [old, value])


def _mask_text(value):
    """Returns the C++ text of a lane mask; a literal is written in hexadecimal."""
    if value.text.rstrip("UL").isdigit() and value.constant < 2**32:
        return f"{value.constant:#x}"
    return value.text


def _shuffle_rule(name: str) -> Rule:
    def translate_call(call):
        mask, value, lane = call.number_arguments(3)
        return call.result(
            value.type,
            f"{name}({_mask_text(mask)}, {_to_declared_type(value).text}, {lane.text})",
            calls=True,
        )

    return translate_call


def _to_declared_type(value):
    return value if value.cxx == value.type else convert_value(value, value.type)


def _vote_rule(text: str, result: Any) -> Rule:
    def translate_call(call):
        mask, predicate = call.number_arguments(2)
        if not is_integral(mask.type) or mask.type is types.boolean:
            call.fail(f"Mask type must be an integer, not {rules.describe_type(mask.type)}")
        if not is_integral(predicate.type):
            call.fail(
                f"Predicate must be an integer or boolean, not {rules.describe_type(predicate.type)}"
            )
        return call.result(result, text.format(_mask_text(mask), predicate.text), calls=True)

    return translate_call


def _translate_match_all(call):
    mask, value = call.number_arguments(2)
    t = types.Tuple((types.int32, types.boolean))
    return call.result(
        t, f"py::match_all({_mask_text(mask)}, {_to_declared_type(value).text})", calls=True
    )


def _translate_syncwarp(call):
    (mask,) = call.bind_arguments("mask", optional=1)
    if mask is not None and not is_integral(mask.type):
        call.fail(f"the mask is an integer, not {rules.describe_type(mask.type)}")
    return Value(types.void, f"__syncwarp({'' if mask is None else _mask_text(mask)})", calls=True)


def _random_rule(name: str, t) -> Rule:
    def translate_call(call):
        states, index = call.bind_arguments("states", "index")
        if not getattr(getattr(states.type, "dtype", None), "is_predefined", False):
            call.fail(
                f"the first argument is an array of states, not {rules.describe_type(states.type)}",
                "cuda.random.create_xoroshiro128p_states(n, seed) makes it, outside of kernels.",
            )
        where = subscripts.load_item(call.of, call.node, states, [index])
        return call.result(t, f"{name}({where.text})", calls=True)

    return translate_call


def bit_count_rule(narrow: str, wide: str) -> Rule:
    """Returns the rule for a bit-counting function with separate names for 32 and 64 bits."""

    def translate_call(call):
        (value,) = call.number_arguments(1)
        if not is_integral(value.type):
            call.fail(f"takes an integer, not {value.type}")
        name = wide if value.type.size == 8 else narrow
        return call.result(types.int32, f"{name}({_to_declared_type(value).text})", range=(0, 64))

    return translate_call


def _translate_brev(call):
    """Reverses all 64 bits of a uint64, the low 32 bits of any other integer, as in numba.cuda."""
    (value,) = call.number_arguments(1)
    if not is_integral(value.type):
        call.fail(f"takes an integer, not {value.type}")
    if value.type is types.uint64:
        return call.result(types.uint64, f"uint64(__brevll({_to_declared_type(value).text}))")
    return call.result(types.uint32, f"__brev({convert_value(value, types.uint32).text})")


def _translate_fma(call):
    a, b, c = call.number_arguments(3)
    t = rules.common_type(rules.common_type(a.type, b.type), c.type)
    t = types.float64 if is_integral(t) else t
    return call.result(t, f"fma({', '.join(convert_value(v, t).text for v in (a, b, c))})")


_BLOCK = 1024  # maximum number of threads per block
_MOST = (2**31 - 1) * _BLOCK

WORDS: dict[str, Rule] = {
    "grid": _grid_rule("grid", _MOST),
    "gridsize": _grid_rule("gridsize", _MOST),
    **{f"threadIdx.{x}": special_register_rule(f"threadIdx.{x}", 0, _BLOCK - 1) for x in "xyz"},
    **{f"blockIdx.{x}": special_register_rule(f"blockIdx.{x}", 0, 2**31 - 2) for x in "xyz"},
    **{f"blockDim.{x}": special_register_rule(f"blockDim.{x}", 1, _BLOCK) for x in "xyz"},
    **{f"gridDim.{x}": special_register_rule(f"gridDim.{x}", 1, 2**31 - 1) for x in "xyz"},
    "laneid": lambda call: Value(types.int32, "laneid()", range=(0, 31)),
    "warpsize": lambda call: Value(types.int32, "warpSize", range=(32, 32)),
    "syncthreads": intrinsic_rule("__syncthreads()"),
    "syncthreads_count": intrinsic_rule(
        "__syncthreads_count({0})", types.int32, None, limits=(0, _BLOCK)
    ),
    "syncthreads_and": intrinsic_rule("__syncthreads_and({0})", types.int32, None),
    "syncthreads_or": intrinsic_rule("__syncthreads_or({0})", types.int32, None),
    "syncwarp": _translate_syncwarp,
    "threadfence": intrinsic_rule("__threadfence()"),
    "threadfence_block": intrinsic_rule("__threadfence_block()"),
    "threadfence_system": intrinsic_rule("__threadfence_system()"),
    "nanosleep": intrinsic_rule("__nanosleep({0})", types.void, types.uint32),
    "shared.array": memory.array_rule("shared"),
    "local.array": memory.array_rule("local"),
    "const.array_like": memory.translate_array_like,
    **{
        f"atomic.{name}": _atomic_rule(f"atomic_{of}")
        for name, of in (
            *((n, n) for n in "add sub max min nanmax nanmin inc dec exch xor".split()),
            ("and_", "and"),
            ("or_", "or"),
        )
    },
    "atomic.cas": _atomic_rule("atomic_cas", 2),
    "atomic.compare_and_swap": _translate_compare_and_swap,
    **{
        name: _shuffle_rule(name)
        for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync")
    },
    "all_sync": _vote_rule("__all_sync({0}, {1}) != 0", types.boolean),
    "any_sync": _vote_rule("__any_sync({0}, {1}) != 0", types.boolean),
    "eq_sync": _vote_rule("eq_sync({0}, {1})", types.boolean),
    "ballot_sync": _vote_rule("int32(__ballot_sync({0}, {1}))", types.int32),
    "match_any_sync": intrinsic_rule(
        "int32(match_any_sync({0}, {1}))", types.int32, types.uint32, None
    ),
    "match_all_sync": _translate_match_all,
    "activemask": intrinsic_rule("int32(__activemask())", types.int32),
    "lanemask_lt": intrinsic_rule("int32(lanemask_lt())", types.int32),
    "popc": bit_count_rule("__popc", "__popcll"),
    "clz": bit_count_rule("__clz", "__clzll"),
    "ffs": bit_count_rule("__ffs", "__ffsll"),
    "brev": _translate_brev,
    "fma": _translate_fma,
    "cbrt": float_rule("cbrt"),
    "selp": select_rule("test", "a", "b"),
    "cg.this_grid": lambda call: Value(_GRID, "cg::this_grid()"),
    **{f"ld{how}": _cached_load_rule(f"ld{how}") for how in ("ca", "cg", "cs", "lu", "cv")},
    **{f"st{how}": _cached_store_rule(f"st{how}") for how in ("cg", "cs", "wb", "wt")},
    **half.WORDS,
    **bfloat.WORDS,
    **libdevice.WORDS,
}

_METHODS_OF_GRIDS: dict[str, Rule] = {
    "sync": lambda call: Value(types.void, f"{call.args[0].text_at(PRIMARY)}.sync()", calls=True),
}


def method_rule(t: types.Type, name: str) -> Rule | None:
    """Returns the rule for a method of an object that exists only in CUDA."""
    return _METHODS_OF_GRIDS.get(name) if t == _GRID else None


# The rule is found by the name and the module of the function, without an import of the function.
NAMED: dict[tuple[str, str], Rule] = {
    ("cffi.api", "from_buffer"): pointers.from_buffer_rule,
    **{
        ("numbalite.cuda.random", f"xoroshiro128p_{kind}_{t}"): _random_rule(
            f"xoroshiro128p_{kind}_{t}", types.NAMES[t]
        )
        for kind in ("uniform", "normal")
        for t in ("float32", "float64")
    },
}
