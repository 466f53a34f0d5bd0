"""Finds the names that a C++ source uses from the Python scope of its function.

A name that the source uses but does not declare is looked up as in Python: in the enclosing functions, then
in the module. Numbers become constants, NumPy arrays constant memory, device functions are included, dtypes
become type names. If a value cannot be used, the reason is stored: if the compiler then reports the name, the
message explains it.
"""

from __future__ import annotations

import math
import re
import sys
from enum import Enum, EnumMeta
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from numbalite import types
from numbalite.cxx.freenames import dotted_names
from numbalite.types.keywords import KEYWORDS

CONSTANT_MEMORY = 64 * 1024  # size of constant memory on a GPU in bytes

# Macros of the C library and of the simulator, which would hide names of the Python scope.
_MACRO = re.compile(
    r"M_\w+|NAN|INFINITY|HUGE_VALF?|NULL|EOF|RAND_MAX|SIZE_MAX|CLOCKS_PER_SEC|CUDART_\w+|BUFSIZ"
    r"|(FLT|DBL|LDBL|FP|U?INT|U?LONG|U?LLONG|[SU]?CHAR|U?SHRT|PTRDIFF)\d*_\w+|assert|errno"
    r"|threadIdx|blockIdx|blockDim|gridDim|warpSize"
)


class Scope:
    """A Python scope for name lookup: first the locals of the enclosing functions at decoration time, then
    the module's globals at compile time."""

    def __init__(self, locals_=None, globals_=None, later=None):
        self.locals = locals_ or {}
        self.later = later or {}
        """Variables of the enclosing functions that had no value yet -> the function's name."""
        self.globals = {} if globals_ is None else globals_

    def find(self, name):
        """Returns (True, value) or (False, None)"""
        for place in (self.locals, self.globals):
            if name in place:
                return True, place[name]
        return False, None

    def get(self, name):
        return self.find(name)[1]

    def with_values(self, values: dict) -> Scope:
        """Returns a copy with other values for some names."""
        return Scope({**self.locals, **values}, self.globals, self.later)

    def frozen_copy(self, names) -> Scope:
        """Returns a picklable copy that stores the present values of the given names."""
        found = {name: self.get(name) for name in names if self.find(name)[0]}
        return Scope({name: v for name, v in found.items() if not _has_members(v)})

    def module_member(self, parts):
        """Returns (the value of ``module.name`` or a longer chain, the number of names in the chain); (None,
        0) if the first name is not a module or enumeration. In a frozen scope, the complete name is looked
        up."""
        for n in range(len(parts), 1, -1):
            known, value = self.find(".".join(parts[:n]))
            if known:
                return value, n
        value, n = self.get(parts[0]), 1
        while n < len(parts) and (_has_members(value) or isinstance(value, Enum)):
            if isinstance(value, Enum) and parts[n] != "value":
                break
            try:
                value = getattr(value, parts[n])
            except AttributeError:
                return None, 0
            n += 1
        return (value, n) if n > 1 else (None, 0)


def scope_of(function, names) -> Scope:
    """Returns the Scope of a function's body. Only the locals in ``names`` are stored.

    A body that is only a string has no closure cells, so the locals of the enclosing functions come from the
    frames in which the function is defined, if they are on the stack.
    """
    local: dict[str, Any] = {}
    later: dict[str, str] = {}
    if "<locals>" in function.__qualname__:
        code = function.__code__
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if code in frame.f_code.co_consts or _is_nested_code(frame.f_code, code):
                values = frame.f_locals
                is_class_body = "__qualname__" in values and "__module__" in values
                if values is not frame.f_globals and not is_class_body:
                    for name in names:
                        if name in values:
                            local.setdefault(name, values[name])
                        elif name in frame.f_code.co_varnames + frame.f_code.co_cellvars:
                            later.setdefault(name, frame.f_code.co_name)
                code = frame.f_code
            frame = frame.f_back
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name in names:
            try:
                local.setdefault(name, cell.cell_contents)
            except ValueError:
                pass  # not assigned yet
    return Scope(local, function.__globals__, later)


def _has_members(value):
    return isinstance(value, (ModuleType, EnumMeta))


def _is_nested_code(outer, code):
    """Returns whether `code` is nested in `outer` via the separate code object of a function with type
    parameters (``def f[T]``)."""
    return any(
        getattr(c, "co_name", "").startswith("<generic") and code in c.co_consts
        for c in outer.co_consts
    )


class CapturedValues:
    """The values that a source uses from a Python scope, grouped by type. Each group is a dict in the order
    of first use."""

    def __init__(self):
        self.constants = {}  # name -> Python or NumPy number, or a tuple of numbers
        self.macros = {}  # name -> int that the source uses in a preprocessor #if
        self.arrays = {}  # name -> NumPy array, C order, native byte order
        self.pointers = {}  # name -> device array
        self.functions = {}  # name -> DeviceFunction
        self.types = {}  # name -> types.Type
        self.refused = {}  # name -> the reason why its value cannot be used

    def names(self) -> tuple:
        """Returns the names of all values that are used, except those that become macros."""
        return (*self.constants, *self.arrays, *self.pointers, *self.functions, *self.types)

    @property
    def array_bytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


def capture_values(names, scope: Scope) -> CapturedValues:
    """Looks up the free names of a source (a freenames.FreeNames)."""
    found = CapturedValues()
    for name, uses in names.items():
        known, value = scope.find(name)
        if known:
            _classify_name(found, name, value, uses)
        elif name in scope.later:
            found.refused[name] = (
                f"{name} gets its value in {scope.later[name]} after the kernel is made: give it one before"
            )
    return found


class ModuleMember(NamedTuple):
    """A use of ``module.name`` in a source: the position, and the generated C++ name."""

    start: int
    end: int
    dotted: str
    name: str
    value: object
    use: str


def module_members(text: str, names, scope: Scope) -> list:
    """Returns the list of Members of modules and enumerations of the scope that a source uses. ``names`` are its free
    names."""
    found = []
    for start, ends, parts, uses in dotted_names(text) if "." in text else ():
        value, count = scope.module_member(parts) if parts[0] in names else (None, 0)
        if count == 0:
            continue
        name = "_".join(parts[:count])
        while re.search(rf"\b{name}\b", text):
            name += "_"
        trial = CapturedValues()
        _classify_name(trial, name, value, {uses[count - 1]})
        if trial.names():
            dotted = ".".join(parts[:count])
            found.append(ModuleMember(start, ends[count - 1], dotted, name, value, uses[count - 1]))
    return found


def add_members(found: CapturedValues, used) -> None:
    for member in used:
        _classify_name(found, member.name, member.value, {member.use})


def _classify_name(found, name, value, uses):
    value = device_function(value)
    if isinstance(value, Enum):
        value = value.value
    if _role_of_function(value) == "device function":
        found.functions[name] = value
    elif uses == {"template"} and not _is_type_object(value):
        # grid<1>(): a name in a template call is not a number or an array of the scope
        found.refused[name] = unusable_reason(name, value)
    elif isinstance(value, np.ndarray) and value.ndim > 0:
        _classify_array(found, name, value)
    elif _is_device_array(value):
        found.pointers[name] = value
    elif uses <= {"call", "template"} and not _is_type_object(value):
        # sin(x): a called name cannot be a number, but may be an array: table(i, j)
        found.refused[name] = unusable_reason(name, value)
    elif _is_number(value):
        value = value[()] if isinstance(value, np.ndarray) else value
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            found.refused[name] = f"{name} = {value} does not fit in 64 bits"
        elif "directive" in uses and isinstance(value, (int, np.integer)):
            found.macros[name] = int(value)
        else:
            found.constants[name] = value
    elif isinstance(value, tuple) and constant_type(value) is not None:
        found.constants[name] = value
    elif _is_type_object(value):
        t = types.as_type(value)
        if name not in (t.name, t.cxx):
            found.types[name] = t
    else:
        found.refused[name] = unusable_reason(name, value)


def _is_number(value):
    if isinstance(value, np.ndarray):
        value = value[()]
    if isinstance(value, np.generic):
        return value.dtype.kind in "biufcmM" and value.dtype.itemsize <= 16 - 8 * (
            value.dtype.kind == "f"
        )
    return isinstance(value, (bool, int, float, complex))


def _is_device_array(value):
    if isinstance(value, type) or not hasattr(value, "__cuda_array_interface__"):
        return False
    try:
        types.typeof(value)
    except TypeError:
        return False
    return True


def _is_type_object(value):
    if isinstance(value, types.Type):
        return isinstance(value, (types.Scalar, types.Record, types.Array))
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        try:
            types.as_type(value)
        except TypeError:
            return False
        return True
    return False


def _classify_array(found, name, value):
    try:
        types.from_dtype(value.dtype)
    except TypeError as problem:
        found.refused[name] = f"{name} is a NumPy array that kernels cannot use: {problem}"
        return
    if isinstance(value, np.ma.MaskedArray):
        found.refused[name] = f"{name} is a masked array"
    elif found.array_bytes + value.nbytes > CONSTANT_MEMORY:
        found.refused[name] = too_large_reason(name, value.nbytes)
    else:
        native = value.dtype.newbyteorder("=")
        found.arrays[name] = np.array(value, native, order="C", copy=True, subok=False)


def too_large_reason(name, size) -> str:
    return (
        f"{name} is a NumPy array of {size} bytes: arrays that a source names go into constant "
        f"memory, which has {CONSTANT_MEMORY} bytes in all; pass it as an argument"
    )


def unusable_reason(name, value) -> str:
    """Returns the reason why a value cannot be used in a source, and an alternative."""
    kind = type(value).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    if isinstance(value, ModuleType):
        return _module_member_error(name, value)
    if isinstance(value, list) and value and all(_is_number(v) for v in value):
        remedy = f"make it a tuple, or a NumPy array: {name} = np.array(...)"
    elif isinstance(value, tuple):
        remedy = "the items of a tuple are numbers, or tuples of numbers"
    elif _is_kernel(value):
        remedy = "only device functions, cuda.jit(device=True), can be called from a kernel"
        kind, article = "kernel", "a"
    elif callable(value) and not isinstance(value, type):
        remedy = "only device functions, cuda.jit(device=True), can be called from a kernel"
        kind, article = "Python function", "a"
    elif hasattr(value, "__cuda_array_interface__"):
        remedy = "pass it as an argument"
        kind, article = "device array", "a"
    elif value is None:
        return f"{name} is None in the Python scope"
    else:
        remedy = "numbalite takes int, float, bool, complex, tuples, NumPy scalars and arrays"
    return f"{name} is {article} {kind} in the Python scope: {remedy}"


def device_array_reason(name) -> str:
    """Returns the reason why a device array can only be used in a kernel's body."""
    return f"{name} is a device array in the Python scope: pass it as an argument"


def device_function(value):
    """Returns the DeviceFunction for a CPU function that ``jit`` compiled; returns any other value
    unchanged."""
    return value.device_function if _role_of_function(value) == "host function" else value


def device_function_of(value):
    """Returns the device function for a value of the Python scope, or None."""
    value = device_function(value)
    return value if _role_of_function(value) == "device function" else None


def _is_kernel(value):
    return _role_of_function(value) == "kernel"


def _role_of_function(value):
    """Returns the role of a compiled function in a source, such as "device function"; None
    for other values."""
    return getattr(type(value), "source_role", None)


def _module_member_error(name, module):
    text = f"{name} is a Python module"
    if module.__name__ in ("numbalite.cuda", "numba.cuda"):
        return (
            f"{text}: in CUDA C++ write grid<1>() for cuda.grid(1), __syncthreads() for "
            f"cuda.syncthreads(), __shared__ float s[N] for cuda.shared.array, atomic_add(a, i, v) for "
            f"cuda.atomic.add, atomic_add(a, {{i, j}}, v) with two dimensions"
        )
    if module.__name__ in ("random", "numpy.random"):
        return (
            f"{text}: functions on the CPU call random_uniform() or random_normal(), kernels "
            f"xoroshiro128p_uniform_float32(states, i)"
        )
    if module.__name__ in ("math", "numpy", "cmath"):
        return f"{text}: in CUDA C++ write sin(x) for {name}.sin(x); {name}.pi is a constant"
    return (
        f"{text}: the source can name the numbers, tuples, arrays, dtypes and device functions in it, "
        f"{name}.x"
    )


# --- names ---------------------------------------------------------------------------------------------


def ascii_name(name: str) -> str:
    """Returns a Python name as a C++ name: NVRTC accepts only ASCII letters, and C++ keywords and macros
    cannot be names (``def double(x)``)."""
    if name.isascii():
        return f"{name}_" if name in KEYWORDS or may_be_macro_name(name) else name
    return "".join(c if c.isascii() else f"u{ord(c):04x}_" for c in name)


def check_parameters(name: str, parameters) -> None:
    """Raises TypeError for parameters whose names C++ cannot use."""
    for parameter in parameters:
        if parameter in KEYWORDS:
            raise TypeError(
                f"{name}: the parameter {parameter!r} is a C++ keyword; use another name"
            )


def may_be_macro_name(name: str) -> bool:
    return _MACRO.fullmatch(name) is not None


# --- C++ text of values --------------------------------------------------------------------------------


def constant_definition(name: str, value) -> str:
    """Returns the C++ definition of a constant."""
    ctype, text = literal_text(value)
    kind = "__device__ constexpr" if isinstance(value, tuple) else "constexpr"
    return f"{kind} {ctype} {name} = {text};\n"


def macro_definition(name: str, value: int) -> str:
    return f"#undef {name}\n#define {name} {_integer_literal(value)}\n"


_INTEGERS = [
    (t, int(np.iinfo(t.dtype).min), int(np.iinfo(t.dtype).max))
    for t in (types.int32, types.int64, types.uint64)
]


def constant_type(value):
    """Returns the types.Type of a constant, a number or a tuple of numbers, or None for other values."""
    if isinstance(value, tuple):
        found = [constant_type(item) for item in value]
        return None if None in found else types.tuple_of(type(value), found)
    if isinstance(value, Enum):
        return constant_type(value.value)
    if not _is_number(value):
        return None
    if isinstance(value, np.generic):
        return types.from_dtype(value.dtype)
    if isinstance(value, bool):
        return types.boolean
    if isinstance(value, int):
        for t, low, high in _INTEGERS:
            if low <= value <= high:
                return t
        return None
    return types.float64 if isinstance(value, float) else types.complex128


def literal_text(value) -> tuple[str, str]:
    """Returns (C++ type, C++ expression) of a number or a tuple of them."""
    t = constant_type(value)
    if t is None:
        raise OverflowError(f"{value} does not fit in 64 bits")
    return t.cxx, _type_literal(value, t)


def _tuple_literal(value, t):
    items = [_type_literal(item, of) for item, of in zip(value, t.types, strict=True)]
    if len(items) > 8 and not isinstance(t, types.NamedTuple):
        items[8:] = [_tuple_literal(value[8:], types.Tuple(t.types[8:]))]
    return f"{{{', '.join(items)}}}"


def _type_literal(value, t):
    if isinstance(t, types.Tuple):
        return _tuple_literal(value, t)
    if isinstance(value, Enum):
        value = value.value
    if isinstance(t, types.Time):
        return _integer_literal(int(value.view(np.int64)))
    if isinstance(value, np.generic):
        value = value.item()
    kind = t.dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return _integer_literal(value)
    if kind == "c":
        value = complex(value)
        part = types.float32 if t is types.complex64 else types.float64
        return f"{t.cxx}({_type_literal(value.real, part)}, {_type_literal(value.imag, part)})"
    if t is types.float16:
        return f"float16(__half_raw{{{int(np.float16(value).view(np.uint16)):#06x}}})"
    return _float_literal(value, t is types.float32)


def _integer_literal(value):
    if -(2**31) < value < 2**31:
        return str(value)
    if value == -(2**31):
        return "(-2147483647 - 1)"
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return f"{value}LL" if value < 2**63 else f"{value}ULL"


def _float_literal(value, single):
    if math.isfinite(value):
        return f"{np.float32(value)!s}f" if single else repr(value)
    if single:
        bits = int(np.float32(value).view(np.uint32))
        return f"__builtin_bit_cast(float, {bits:#x}u)"
    bits = int(np.float64(value).view(np.uint64))
    return f"__builtin_bit_cast(double, {bits:#x}ull)"


def constant_array(name: str, value: np.ndarray) -> str:
    """Returns the C++ definition of the __constant__ variable for an array."""
    t = types.from_dtype(value.dtype)
    extents = ", ".join(map(str, value.shape))
    items = [_element_text(item, t) for item in value.ravel()]
    return f"__constant__ const constant_array<{t.cxx}, {extents}> {name} = {{{{\n{_wrap_lines(items)}}}}};\n"


def _element_text(value, t):
    if isinstance(t, types.Scalar):
        return _type_literal(value, t)
    parts, position = [], 0
    for name in sorted(t.dtype.names, key=lambda n: t.dtype.fields[n][1]):
        field, offset = t.dtype.fields[name][:2]
        if offset > position:
            parts.append("{}")  # padding
        item = value[name]
        if field.subdtype is not None:
            element = types.from_dtype(field.base)
            parts.append("{" + ", ".join(_element_text(v, element) for v in np.ravel(item)) + "}")
        else:
            parts.append(_element_text(item, types.from_dtype(field)))
        position = offset + field.itemsize
    return "{" + ", ".join(parts) + "}"


def _wrap_lines(items, width=100):
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > width:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line]) + "\n"
