"""Reads a compiler's description of a kernel's parameters or of a variable from its text.

cuda_src/numbalite/describe.cuh creates a type whose name contains everything that a launch needs. The
text is either a mangled name (NVRTC's lowered name of a name expression), which is demangled first, or
the __PRETTY_FUNCTION__ of g++ and clang++.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite.types.demangle import demangle

HEADER = "numbalite/describe.cuh"

KINDS = ("scalar", "pointer", "array", "struct", "tuple", "empty")
# NumPy's names in the order of nl_dtype (cext/core/dtype.h).
DTYPES = (
    "",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
DTYPE_SIZES = {name: int(re.sub(r"\D", "", name) or 8) // 8 for name in DTYPES if name}
LAYOUTS = "ACF"

# Classes with a NumPy type.
_NAMED = {
    "__half": "float16",
    "float16": "float16",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
}
# Maps the prefixes of CUDA's vector types (char4) to NumPy's names of their components.
_LANES = {
    "char": "int8",
    "uchar": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "float": "float32",
    "double": "float64",
}
_VECTORS = {f"{name}{n}": (lane, n) for name, lane in _LANES.items() for n in (1, 2, 3, 4)}
_VECTORS |= {
    "dim3": ("uint32", 3),
    "__half2": ("float16", 2),
    "__nv_bfloat16": ("__nv_bfloat16", 1),
    "__nv_bfloat162": ("__nv_bfloat16", 2),
}
_ALIGNED_VECTOR = re.compile(r"_(?:16|32)a$")  # double4_16a
_NAMESPACES = re.compile(r"^(?:(?:cuda::std::(?:__\w+::)?|thrust::|numbalite::|std::))?")
_INTEGER = {
    "long long int": "long long",
    "long long unsigned int": "unsigned long long",
    "long unsigned int": "unsigned long",
    "short unsigned int": "unsigned short",
    "long int": "long",
    "short int": "short",
}
_INTEGERS = re.compile(r"\b(?:" + "|".join(_INTEGER) + r")\b")
_FIELDS = re.compile(r"I((?:Li\d+E){8})")


class Parameter(NamedTuple):
    """One parameter of a kernel, or a component of a parameter.

    name: set later ("" here). kind: one of KINDS. ctype: the C++ type, for messages. dtype: the NumPy name of
    the value or pointed-to type, "" if NumPy has none; itemsize: bytes of this dtype (0: unknown). size, align:
    bytes in the parameter block. ndim, layout ("A", "C", "F"): of an array. const: whether the pointed-to type is
    const. parts: the components of a tuple or a vector such as float4, each with its offset in bytes; for a
    pointer to vectors, the components of one vector.
    """

    name: str
    kind: str
    ctype: str
    dtype: str
    itemsize: int
    size: int
    align: int
    ndim: int
    layout: str
    const: bool
    offset: int = 0
    parts: tuple = ()

    def named(self, name) -> Parameter:
        """Returns a copy with a name; the names of its components begin with this name."""
        parts = tuple(part.named(name + part.name) for part in self.parts)
        return self._replace(name=name, parts=parts)


def kernel_expression(address: str) -> str:
    """Returns the NVRTC name expression whose lowered name `parameters` reads; needs HEADER in the
    source.

    `address` is the C++ expression of the kernel's address (`scanner.address`)."""
    return f"&numbalite::nl_describe<numbalite::nl_kernel_description<decltype({address})>>"


def variable_expression(variable: str) -> str:
    """Returns the NVRTC name expression whose lowered name `variable` reads; needs HEADER in the
    source."""
    return f"&numbalite::nl_describe<numbalite::nl_variable_description<decltype({variable})>>"


_MARK = re.compile(r"[][<>(){},]")


def _split_arguments(text):
    """Returns the parts of `text` between commas that are outside of brackets."""
    parts, depth, start = [], 0, 0
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark == ",":
            if depth == 0:
                parts.append(text[start : match.start()].strip())
                start = match.end()
        else:
            depth += 1 if mark in "<([{" else -1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


def _arguments(text, template):
    """Returns the list of arguments of the first `template<...>` in `text`."""
    start = text.find(template + "<")
    if start < 0:
        raise ValueError(f"no {template}<...> in {text!r}")
    start += len(template) + 1
    depth = 1
    for match in _MARK.finditer(text, start):
        depth += (match[0] in "<(") - (match[0] in ">)")
        if depth == 0:
            return _split_arguments(text[start : match.start()])
    raise ValueError(f"{text!r} ends early")


def _readable_type(ctype):
    """Returns a C++ type in its readable spelling: short names of integers, no blanks before *, no numbalite::."""
    ctype = _INTEGERS.sub(lambda m: _INTEGER[m.group()], ctype)
    ctype = ctype.replace("numbalite::", "").replace("{anonymous}::", "")
    ctype = ctype.replace("(anonymous namespace)::", "").replace("> >", ">>")
    return re.sub(r"(?<![(:])\s*(?<!:)([*&])(?:\s*(const|volatile))?", _star_text, ctype)


def _star_text(match):
    star, qualifier = match.groups()
    return f"{star} {qualifier}" if qualifier else star


def _pointee_type(ctype):
    """Returns the C++ type to which a pointer points, without const and volatile."""
    ctype = re.sub(r"\b(?:const|volatile)\b", "", ctype).strip()
    return _NAMESPACES.sub("", ctype, count=1)


def _dtype_name(code, element, itemsize):
    """Returns NumPy's name of the number `code` of nl_dtype, or of a C++ class such as complex<float>."""
    named = _NAMED.get(_pointee_type(element), "")
    if code or not named:
        return DTYPES[code]
    return named if itemsize == {"float16": 2, "complex64": 8, "complex128": 16}[named] else ""


def _vector_components(element, itemsize):
    """Returns the Parameters of the components of a vector type, by the type's name, or () for other types."""
    lane, count = _VECTORS.get(_ALIGNED_VECTOR.sub("", _pointee_type(element)), ("", 0))
    size = itemsize // count if count else 0
    if not count or DTYPE_SIZES.get(lane, 2) != size or size * count != itemsize:
        return ()
    kind, dtype = ("scalar", lane) if lane in DTYPES else ("struct", "")
    return tuple(
        Parameter(f".{name}", kind, lane, dtype, size, size, size, 0, "", False, size * i)
        for i, name in enumerate("xyzw"[:count])
    )


def _parameter_of_fields(fields, ctype):
    kind, size, align, code, itemsize, ndim, layout, const = fields
    kind = KINDS[kind]
    plain = _readable_type(ctype)
    element = plain
    if kind == "pointer":
        element = plain[:-1] if plain.endswith("*") else plain
    elif kind == "array":
        element = _readable_type(_arguments(ctype, "array")[0]) if ctype else "?"
        order = "" if layout == 0 else f", layout::{LAYOUTS[layout]}"
        plain = f"array<{element}, {ndim}{order}>"
    dtype = _dtype_name(code, element, itemsize)
    if kind == "struct" and dtype:
        kind = "scalar"
    if kind == "pointer" and element.removesuffix("const").rstrip().endswith("*"):
        dtype = "uint64"  # addresses
    parts = (
        () if dtype or kind not in ("pointer", "struct") else _vector_components(element, itemsize)
    )
    if kind == "struct" and len(parts) == 1 and parts[0].ctype == plain:
        parts = ()  # a bfloat16
    return Parameter(
        name="",
        kind=kind,
        ctype=plain or dtype or "?",
        dtype=dtype,
        itemsize=itemsize,
        size=size,
        align=align,
        ndim=ndim,
        layout=LAYOUTS[layout],
        const=bool(const),
        parts=parts,
    )


def _normalize_description(text):
    """Returns the normalized form of a description from any compiler."""
    return demangle(text) if text.startswith("_Z") else text


def parameters(text: str) -> list:
    """Returns the parameters of a kernel, as a list of Parameter, from its description."""
    try:
        readable = _normalize_description(text)
    except ValueError:
        # If demangle() does not support a parameter type, read the description without type names.
        if "9signatureI" not in text:
            raise
        return [
            _parameter_of_fields([int(n) for n in re.findall(r"\d+", fields)], "")
            for fields in _FIELDS.findall(text)
        ]
    found = []
    for argument in _arguments(readable, "signature"):
        *fields, ctype = _arguments(argument, "parameter")
        # No type contains a comma outside of brackets, so the first eight items are the fields.
        found.append(_parameter_of_fields([int(n) for n in fields[:8]], ctype))
    return found


def variable(text: str) -> tuple:
    """Returns (dtype, shape) of a variable from its description: dtype is NumPy's name, or
    "V<bytes>" for a class without a NumPy name; shape is () for a single value."""
    code, itemsize, ctype, *extents = _arguments(_normalize_description(text), "variable")
    dtype = _dtype_name(int(code), _readable_type(ctype), int(itemsize)) or f"V{itemsize}"
    return dtype, tuple(int(re.sub(r"[lL]+$", "", n)) for n in extents)
