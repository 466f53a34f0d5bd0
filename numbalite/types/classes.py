"""Defines the classes of types: numbers, records, CUDA's vectors, arrays, pointers, tuples, and signatures.

Array types and signatures are created by indexing and calling any type, so the classes refer to each other. The
public names are in the package's ``__init__.py``.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any, overload

import numpy as np

# numba's layouts in C++
LAYOUTS = {"A": "layout::any", "C": "layout::C", "F": "layout::F"}


class Type:
    """Base of all types. ``name`` is the type's spelling in a signature."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str):
        object.__setattr__(self, "name", name)

    def __setattr__(self, attribute, value):
        raise AttributeError(f"types are immutable: cannot set {attribute!r} of {self.name}")

    def __delattr__(self, attribute):
        raise AttributeError(f"types are immutable: cannot delete {attribute!r} of {self.name}")

    def _key(self):
        return self.name

    def __eq__(self, other):
        if self is other:
            return True
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self).__name__, self._key()))

    def __repr__(self):
        return self.name

    def __reduce__(self):
        raise TypeError(f"cannot pickle the type {self.name}")

    @property
    def cxx(self) -> str:
        """The C++ spelling in generated source."""
        raise TypeError(f"{self.name} has no counterpart in C++")

    @property
    def ctype(self) -> str:
        """The C++ spelling for messages."""
        return self.cxx

    def __getitem__(self, index: Any) -> Array:
        if isinstance(self, (Array, Void, Tuple)):
            raise TypeError(f"there are no arrays of {self.name}")
        return Array(self, *_dimensions_of_index(self, index))

    @overload
    def __call__(self, *args: Type) -> Signature: ...
    @overload
    def __call__(self, value: Any, /) -> Any: ...
    def __call__(self, *args: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], Type):
            return self._convert(args[0])
        for arg in args:
            if not isinstance(arg, Type):
                raise TypeError(
                    f"{self.name}(...) returns a signature from types, not from {arg!r}"
                )
        return Signature(self, args)

    def _convert(self, value):
        raise TypeError(f"cannot make a value of type {self.name}")

    @property
    def is_array(self) -> bool:
        return isinstance(self, Array)


class Void(Type):
    """The type of no value: the return type of kernels."""

    __slots__ = ()

    @property
    def cxx(self):
        return "void"

    def __reduce__(self):
        return _void_type, ()


@functools.total_ordering
class Scalar(Type):
    """A number: ``dtype`` is the NumPy dtype of the number, ``cxx`` the C++ type with the same
    representation."""

    __slots__ = ("_cxx", "align", "dtype")
    dtype: np.dtype
    align: int

    def __init__(self, name, cxx, align=0):
        super().__init__(name)
        dtype = np.dtype("bool" if name == "boolean" else name)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "_cxx", cxx)
        object.__setattr__(self, "align", align or dtype.itemsize)

    @property
    def cxx(self):
        return self._cxx

    @property
    def bitwidth(self) -> int:
        return self.dtype.itemsize * 8

    def __instancecheck__(self, value: object) -> bool:
        """Makes isinstance(value, cuda.float32) the same as isinstance(value, np.float32)."""
        return isinstance(value, self.dtype.type)

    def __lt__(self, other: object) -> bool:
        """Returns whether this type has fewer bits than another type. As in numba, only types of the same NumPy kind are compared."""
        if not isinstance(other, Scalar) or self.dtype.kind != other.dtype.kind:
            return NotImplemented
        return self.bitwidth < other.bitwidth

    @property
    def underlying_float(self) -> Scalar:
        """The real type of a complex type."""
        if self.dtype.kind != "c":
            raise AttributeError(f"{self.name} is no complex type")
        return scalar(self.dtype.type().real.dtype)

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    def _convert(self, value):
        return self.dtype.type(value)

    def __reduce__(self):
        return scalar, (self.dtype.name,)


class _ScalarKind(type):
    """The metaclass of types.Integer and others: isinstance() is true for the Scalars of some NumPy kinds."""

    kinds: str

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Scalar) and value.dtype.kind in cls.kinds


class Number(metaclass=_ScalarKind):
    """The class of all numeric types, for isinstance: integers, real and complex numbers."""

    kinds = "iufc"


class Integer(Number):
    """A class for isinstance: the types of integers."""

    kinds = "iu"


class Float(Number):
    """A class for isinstance: the types of real numbers."""

    kinds = "f"


class Complex(Number):
    """A class for isinstance: the types of complex numbers."""

    kinds = "c"


class Boolean(metaclass=_ScalarKind):
    """For isinstance: the boolean type."""

    kinds = "b"


class Time(Scalar):
    """The type datetime64 or timedelta64 with a unit. The C++ type is ``long long``, the count of units, or the
    smallest integer for NaT."""

    __slots__ = ()

    def __init__(self, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind not in "mM" or not dtype.isnative:
            raise TypeError(f"not a date or time: {dtype}")
        Type.__init__(self, str(dtype))
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "_cxx", "long long")
        object.__setattr__(self, "align", 8)

    def _convert(self, value):
        return np.array(value, self.dtype)[()]

    def __reduce__(self):
        return Time, (self.dtype,)


class Empty(Type):
    """The type of an argument without data, either None, or a dtype, which C++ code uses as a type name.
    ``dtype``: the type, or None."""

    __slots__ = ("dtype",)
    dtype: Scalar | None

    def __init__(self, dtype=None):
        super().__init__("none" if dtype is None else f"dtype({dtype})")
        object.__setattr__(self, "dtype", dtype)

    def _key(self):
        return self.dtype

    @property
    def cxx(self):
        return "none_type" if self.dtype is None else f"type_of<{self.dtype.cxx}>"

    size = align = property(lambda self: 1)

    def __reduce__(self):
        return Empty, (self.dtype,)


RECORD_NAMES: dict[str, str] = {}
"""The C++ struct of a record -> its name in messages."""


class Record(Type):
    """The type of a NumPy structured dtype, as a C++ struct with the same layout."""

    __slots__ = ("_cxx", "dtype")
    dtype: np.dtype

    def __init__(self, dtype, name=None):
        dtype = np.dtype(dtype)
        if dtype.names is None:
            raise TypeError(f"a record needs a structured dtype, not {dtype}")
        key = repr((_field_layouts(dtype), dtype.itemsize, dtype.alignment)).encode()
        cxx = _KNOWN_RECORDS.get(_field_layouts(dtype)) or f"record_{zlib.crc32(key):08x}"
        readable = f"record({', '.join(dtype.names)})"
        super().__init__(name or readable)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "_cxx", cxx)
        RECORD_NAMES.setdefault(cxx, readable)

    def _key(self):
        return _field_layouts(self.dtype), self.dtype.itemsize, self.dtype.alignment

    @property
    def cxx(self):
        return self._cxx

    @property
    def size(self):
        return self.dtype.itemsize

    @property
    def align(self):
        return _record_layout(self.dtype)[1]

    @property
    def is_predefined(self) -> bool:
        """Whether numbalite.cuh already defines the record's struct."""
        return _field_layouts(self.dtype) in _KNOWN_RECORDS

    def _convert(self, value):
        return np.array(value, self.dtype)[()]

    def __reduce__(self):
        return Record, (self.dtype, self.name)

    def definition(self) -> str:
        """Returns the C++ struct; nested records first."""
        from numbalite.types import structs

        return structs.of_record(self, _record_layout(self.dtype)[0], _member_declaration)


class Vector(Type):
    """The type of a CUDA vector, such as ``float32x4``, which is ``float4`` in C++: up to four numbers of one
    type."""

    __slots__ = ("_cxx", "align", "base_type", "dtype")
    base_type: Scalar
    dtype: np.dtype
    align: int

    def __init__(self, base: Scalar, count: int):
        if not isinstance(base, Scalar) or base.name not in _VECTORS_OF:
            raise TypeError(f"Vector accepts the type of a number, not {base!r}")
        if count not in (1, 2, 3, 4):
            raise ValueError(f"Vector takes 1 to 4 numbers, not {count!r}")
        super().__init__(f"{base.name}x{count}")
        axes = [(axis, base.dtype) for axis in "xyzw"[:count]]
        wide = "_16a" if (base.size, count) == (8, 4) else ""
        object.__setattr__(self, "base_type", base)
        object.__setattr__(self, "dtype", np.dtype(axes))
        object.__setattr__(self, "align", min(base.size * (count if count != 3 else 1), 16))
        object.__setattr__(self, "_cxx", f"{_VECTORS_OF[base.name]}{count}{wide}")

    @property
    def cxx(self):
        return self._cxx

    @property
    def size(self) -> int:
        return self.dtype.itemsize

    @property
    def num_elements(self) -> int:
        return len(self.axes)

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of its components."""
        return self.dtype.names or ()

    @property
    def aliases(self) -> list[str]:
        """Its other names: ``float4`` for float32x4."""
        cuda, count = _VECTORS_OF[self.base_type.name], self.num_elements
        names = [f"{cuda}{count}"]
        if cuda.endswith("longlong"):
            names.append(f"{cuda.removesuffix('long')}{count}")
        return names

    user_facing_object = property(lambda self: self)  # numba's constructor function

    def __call__(self, *args: Any) -> Any:
        if not all(isinstance(arg, Type) for arg in args):
            raise TypeError(f"{self.name}(...) makes a vector in kernels only")
        return super().__call__(*args)

    def __reduce__(self):
        return Vector, (self.base_type, self.num_elements)


_VECTORS_OF = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "longlong", "uint8": "uchar",
    "uint16": "ushort", "uint32": "uint", "uint64": "ulonglong", "float32": "float", "float64": "double",
}  # fmt: skip


class Array(Type):
    """The type of a strided array: element type, dimensions, layout "A" (any strides), "C" or "F".

    An array without dimensions, ``float32[()]``, is in C++ a reference to its one element.
    """

    __slots__ = ("dtype", "layout", "ndim", "readonly")
    dtype: Scalar | Record | Vector
    ndim: int
    layout: str
    readonly: bool

    def __init__(self, dtype, ndim, layout="A", readonly=False):
        if not isinstance(dtype, (Scalar, Record, Vector)):
            raise TypeError(f"there are no arrays of {dtype!r}")
        if layout not in LAYOUTS:
            raise ValueError(f"layout is 'A', 'C' or 'F', not {layout!r}")
        if ndim < 0:
            raise ValueError(f"an array type has no {ndim} dimensions")
        if ndim == 0 or (ndim == 1 and layout == "F"):
            layout = "C"
        super().__init__(_array_name(dtype, ndim, layout, readonly))
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "ndim", ndim)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "readonly", bool(readonly))

    def _key(self):
        return self.dtype, self.ndim, self.layout, self.readonly

    @property
    def cxx(self):
        element = ("const " if self.readonly else "") + self.dtype.cxx
        if self.ndim == 0:
            return f"{element} &"
        layout = "" if self.layout == "A" else f", {LAYOUTS[self.layout]}"
        return f"array<{element}, {self.ndim}{layout}>"

    size = property(lambda self: 8 + 16 * self.ndim)
    align = property(lambda self: 8)

    def copy(self, *, dtype=None, ndim=None, layout=None, readonly=None) -> Array:
        return Array(
            self.dtype if dtype is None else dtype,
            self.ndim if ndim is None else ndim,
            self.layout if layout is None else layout,
            self.readonly if readonly is None else readonly,
        )

    def __reduce__(self):
        return Array, self._key()


class Pointer(Type):
    """``CPointer(float32)``: a plain C pointer."""

    __slots__ = ("dtype", "readonly")
    dtype: Scalar | Record | Void
    readonly: bool

    def __init__(self, dtype, readonly=False):
        if not isinstance(dtype, (Scalar, Record, Void)):
            raise TypeError(f"there are no pointers to {dtype!r}")
        super().__init__(("const " if readonly else "") + f"CPointer({dtype})")
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "readonly", bool(readonly))

    def _key(self):
        return self.dtype, self.readonly

    @property
    def cxx(self):
        return ("const " if self.readonly else "") + self.dtype.cxx + "*"

    size = align = property(lambda self: 8)

    def __reduce__(self):
        return Pointer, self._key()


class Opaque(Type):
    """A C++ parameter type without a counterpart in Python: a struct that is passed by value."""

    __slots__ = ()

    @property
    def cxx(self):
        return self.name

    def __reduce__(self):
        return Opaque, (self.name,)


class Tuple(Type):
    """The type of a tuple of values, ``numbalite::tuple<...>`` in C++; device functions may return it."""

    __slots__ = ("types",)
    types: tuple[Type, ...]

    def __init__(self, types):
        found = []
        for t in types:
            if not isinstance(t, Type):
                raise TypeError(f"a tuple type consists of types, not of {t!r}")
            found.append(t)
        types = tuple(found)
        super().__init__(f"Tuple(({', '.join(map(str, types))}{',' * (len(types) == 1)}))")
        object.__setattr__(self, "types", types)

    def _key(self):
        return self.types

    @property
    def cxx(self):
        return f"tuple<{', '.join(t.cxx for t in self.types)}>"

    @property
    def fields(self) -> tuple:
        """The names of the tuple's items in messages."""
        return tuple(f"[{i}]" for i in range(len(self.types)))

    @property
    def offsets(self) -> tuple:
        """The offsets of the tuple's items, in bytes."""
        return _tuple_layout(self.types)[0]

    size = property(lambda self: _tuple_layout(self.types)[1])
    align = property(lambda self: max((t.align for t in self.types), default=1))

    def of(self, types) -> Tuple:
        """Returns a tuple type of the same class with other item types."""
        return Tuple(types)

    def __len__(self):
        return len(self.types)

    def __iter__(self):
        return iter(self.types)

    def __reduce__(self):
        return Tuple, (self.types,)


class NamedTuple(Tuple):
    """The type of a named tuple: in C++ a struct with its fields, which ``get<I>`` also accepts."""

    __slots__ = ("instance_class",)
    instance_class: Any

    def __init__(self, types, cls):
        super().__init__(types)
        if not isinstance(cls, type) or not isinstance(getattr(cls, "_fields", None), tuple):
            raise TypeError(f"NamedTuple accepts the class of a named tuple, not {cls!r}")
        fields = ", ".join(f"{n}: {t}" for n, t in zip(cls._fields, self.types, strict=True))
        object.__setattr__(self, "name", f"{cls.__name__}({fields})")
        object.__setattr__(self, "instance_class", cls)

    def _key(self):
        return self.types, self.instance_class

    @property
    def cxx(self):
        return f"{self.instance_class.__name__}_{zlib.crc32(self.name.encode()):08x}"

    @property
    def fields(self):
        return tuple(f".{name}" for name in self.instance_class._fields)

    @property
    def offsets(self):
        return _struct_layout(self.types)[0]

    size = property(lambda self: _struct_layout(self.types)[1])

    def of(self, types):
        return NamedTuple(types, self.instance_class)

    def definition(self) -> str:
        """Returns the C++ struct."""
        from numbalite.types import structs

        return structs.of_named_tuple(self)

    def __reduce__(self):
        return NamedTuple, (self.types, self.instance_class)


class Signature:
    """A signature: the return type (None if not declared) and the argument types."""

    __slots__ = ("args", "return_type")
    args: tuple
    return_type: Type | None

    def __init__(self, return_type, args):
        # numba's none is the same type as void: no result, or the argument None.
        args = tuple(Empty() if isinstance(arg, Void) else arg for arg in args)
        object.__setattr__(self, "return_type", return_type)
        object.__setattr__(self, "args", args)

    def __setattr__(self, attribute, value):
        raise AttributeError("signatures are immutable")

    def __eq__(self, other):
        if not isinstance(other, Signature):
            return NotImplemented
        return (self.return_type, self.args) == (other.return_type, other.args)

    def __hash__(self):
        return hash((self.return_type, self.args))

    def __str__(self):
        args = ", ".join(map(str, self.args))
        if self.return_type is None:
            return f"({args}{',' * (len(self.args) == 1)})"
        return f"{self.return_type}({args})"

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        return Signature, (self.return_type, self.args)

    def __len__(self):
        return len(self.args)


# --- dimensions -----------------------------------------------------------------------------------


def _dimensions_of_index(element, index):
    """``[:, ::1]`` -> (2, "C"), ``[()]`` -> (0, "C")"""
    index = index if isinstance(index, tuple) else (index,)
    usage = f"write {element}[:], {element}[:, :], {element}[:, ::1] or {element}[::1, :]"
    steps = []
    for part in index:
        if not isinstance(part, slice) or part.start is not None or part.stop is not None:
            raise TypeError(f"{part!r} is not a dimension: {usage}")
        if part.step is not None and (part.step != 1 or isinstance(part.step, bool)):
            raise TypeError(f"::{part.step} is not a dimension: {usage}")
        steps.append(part.step == 1)
    return len(steps), layout_of(steps, usage)


def layout_of(steps, usage="write [:, ::1] or [::1, :]") -> str:
    """Returns the layout of dimensions written as ``:`` (False) and ``::1`` (True)."""
    if not any(steps):
        return "A"
    if sum(steps) > 1:
        raise TypeError(f"only one dimension can be contiguous (::1): {usage}")
    if steps[-1]:
        return "C"
    if steps[0]:
        return "F"
    raise TypeError(f"only the first or the last dimension can be contiguous (::1): {usage}")


def _array_name(dtype, ndim, layout, readonly):
    if ndim == 0:
        return f"{'const ' if readonly else ''}{dtype}[()]"
    dims = [":"] * ndim
    if layout == "C":
        dims[-1] = "::1"
    elif layout == "F":
        dims[0] = "::1"
    return f"{'const ' if readonly else ''}{dtype}[{', '.join(dims)}]"


# --- records --------------------------------------------------------------------------------------

_STATES = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)


def _field_layouts(dtype):
    """Returns a tuple of (name, type, offset) of each field; the tuples of two dtypes are equal if the layouts
    are."""
    return tuple((name, dtype.fields[name][0].str if dtype.fields[name][0].names is None
                  and dtype.fields[name][0].subdtype is None
                  else repr(dtype.fields[name][0]), dtype.fields[name][1])
                 for name in dtype.names)  # fmt: skip


_KNOWN_RECORDS = {_field_layouts(_STATES): "xoroshiro128p_state"}


def _member_declaration(dtype):
    """Returns the C++ declaration of a field as (type, extents after the name, alignment, nested record or None)."""
    base, shape = dtype.subdtype or (dtype, ())
    extents = "".join(f"[{n}]" for n in shape)
    if base.names is not None:
        record = Record(base)
        return record.cxx, extents, record.align, record
    if base.kind in "biufc" and base.itemsize <= 16:
        if not base.isnative:
            raise TypeError(f"a record field of dtype {base} has another machine's byte order")
        element = scalar(base)
        return element.cxx, extents, element.align, None
    if base.kind in "mM":
        return "long long", extents, 8, None
    return "char", f"{extents}[{base.itemsize}]", 1, None  # text, void: bytes


def _record_layout(dtype):
    """Returns (whether the struct needs packing, alignment)"""
    align, packed = 1, False
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        wanted = _member_declaration(field)[2]
        align = max(align, wanted)
        packed |= offset % wanted != 0
    packed |= dtype.itemsize % align != 0
    return packed, 1 if packed else align


# --- tuples ---------------------------------------------------------------------------------------


def _struct_layout(types):
    """Returns (the offsets of members of these types, the size of the struct), with the layout of C++ compilers."""
    offsets, end, align = [], 0, 1
    for t in types:
        end += -end % t.align
        offsets.append(end)
        end += t.size
        align = max(align, t.align)
    return tuple(offsets), max(end + -end % align, 1)


def _tuple_layout(types):
    """Returns the result of `_struct_layout` for tuple<...>, which stores its items from the ninth on in a
    nested tuple."""
    if len(types) <= 8:
        return _struct_layout(types)
    more = Tuple(types[8:])
    offsets, size = _struct_layout((*types[:8], more))
    return (*offsets[:8], *(offsets[8] + offset for offset in more.offsets)), size


# --- types that exist only once -----------------------------------------------------------------

void = Void("void")
SCALARS = (
    Scalar("boolean", "bool"),
    Scalar("int8", "signed char"),
    Scalar("int16", "short"),
    Scalar("int32", "int"),
    Scalar("int64", "long long"),
    Scalar("uint8", "unsigned char"),
    Scalar("uint16", "unsigned short"),
    Scalar("uint32", "unsigned int"),
    Scalar("uint64", "unsigned long long"),
    Scalar("float16", "float16"),
    Scalar("float32", "float"),
    Scalar("float64", "double"),
    Scalar("complex64", "complex<float>", 4),
    Scalar("complex128", "complex<double>", 8),
)
_BY_DTYPE = {(s.dtype.kind, s.dtype.itemsize): s for s in SCALARS}
VECTORS = tuple(Vector(s, n) for s in SCALARS if s.name in _VECTORS_OF for n in (1, 2, 3, 4))


def _void_type():
    return void


def scalar(dtype) -> Scalar:
    """Returns the scalar type of a NumPy dtype (or of an argument of np.dtype)."""
    dtype = np.dtype(dtype)
    try:
        return _BY_DTYPE[dtype.kind, dtype.itemsize]
    except KeyError:
        raise TypeError(f"dtype {dtype} has no type in kernels") from None
