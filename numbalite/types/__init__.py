"""The types that signatures are made of: what each is in C++, in NumPy and as a parameter.

A type is immutable and compares by what it means, so ``types.f4 is types.float32`` and two
``float32[:, ::1]`` written in two places are equal and hash alike. Indexing makes array types
(``float32[:, ::1]``), calling makes signatures (``float32(float32)``) and, with a value instead of
a type, a NumPy scalar of the type (``float32(0.25)``).

structs.py writes the C++ structs of records, signatures.py reads signatures, parameters.py says what types are as
parameters of kernels, describe.py reads what a compiler says of these, demangle.py mangled names. Uses text and errors alone. Begin with this file.
"""

from __future__ import annotations

import zlib
from enum import Enum
from typing import Any

import numpy as np

# numba's layouts in C++
LAYOUTS = {"A": "layout::any", "C": "layout::C", "F": "layout::F"}


class Type:
    """Base of all types. ``name`` is how the type is written in a signature."""

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
        """The C++ spelling, as it stands in generated source."""
        raise TypeError(f"{self.name} has no counterpart in C++")

    @property
    def ctype(self) -> str:
        """The C++ spelling for messages."""
        return self.cxx

    def __getitem__(self, index) -> Array:
        if isinstance(self, (Array, Void, Tuple)):
            raise TypeError(f"there are no arrays of {self.name}")
        return Array(self, *_dimensions(self, index))

    def __call__(self, *args):
        if len(args) == 1 and not isinstance(args[0], Type):
            return self._convert(args[0])
        for arg in args:
            if not isinstance(arg, Type):
                raise TypeError(f"{self.name}(...) makes a signature from types, not from {arg!r}")
        return Signature(self, args)

    def _convert(self, value):
        raise TypeError(f"cannot make a value of type {self.name}")

    @property
    def is_array(self) -> bool:
        return isinstance(self, Array)


class Void(Type):
    """Nothing: what kernels return."""

    __slots__ = ()

    @property
    def cxx(self):
        return "void"

    def __reduce__(self):
        return _void, ()


class Scalar(Type):
    """A number: ``dtype`` is NumPy's, ``cxx`` the C++ type of the same bits."""

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

    @property
    def underlying_float(self) -> Scalar:
        """Of a complex type: the type of its two parts."""
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


class Time(Scalar):
    """datetime64 or timedelta64 of some unit, which is ``long long`` in C++: the count of units, the
    smallest one for NaT."""

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
    """What an argument has nothing of but its type: None, or a dtype, which is a name for the type in
    C++. ``dtype``: the type that it is, or None."""

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


class Record(Type):
    """A NumPy structured dtype, as a C++ struct with the same layout."""

    __slots__ = ("_cxx", "dtype")
    dtype: np.dtype

    def __init__(self, dtype, name=None):
        dtype = np.dtype(dtype)
        if dtype.names is None:
            raise TypeError(f"a record needs a structured dtype, not {dtype}")
        key = repr((_fields(dtype), dtype.itemsize, dtype.alignment)).encode()
        cxx = _KNOWN_RECORDS.get(_fields(dtype)) or f"record_{zlib.crc32(key):08x}"
        super().__init__(name or cxx)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "_cxx", cxx)

    def _key(self):
        return _fields(self.dtype), self.dtype.itemsize, self.dtype.alignment

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
    def is_known(self) -> bool:
        """True if numbalite.cuh already defines the struct."""
        return _fields(self.dtype) in _KNOWN_RECORDS

    def _convert(self, value):
        return np.array(value, self.dtype)[()]

    def __reduce__(self):
        return Record, (self.dtype, self.name)

    def definition(self) -> str:
        """The C++ struct; nested records first."""
        from numbalite.types import structs

        return structs.of_record(self, _record_layout(self.dtype)[0], _member)


class Vector(Type):
    """One of CUDA's vectors, ``float32x4``, which is ``float4`` in C++: up to four numbers of one type."""

    __slots__ = ("_cxx", "align", "base_type", "dtype")
    base_type: Scalar
    dtype: np.dtype
    align: int

    def __init__(self, base: Scalar, count: int):
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
        """The names of its numbers."""
        return self.dtype.names or ()

    @property
    def aliases(self) -> list[str]:
        """Its other names: ``float4`` of float32x4."""
        return [name for name, t in _VECTOR_NAMES.items() if t == self and name != self.name]

    user_facing_object = property(lambda self: self)  # numba's: what programs make one with

    def __call__(self, *args):
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
    """A strided array: element type, dimensions, layout "A" (any strides), "C" or "F".

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
    """A C++ type of a source's kernel that has no counterpart here: a struct by value."""

    __slots__ = ()

    @property
    def cxx(self):
        return self.name

    def __reduce__(self):
        return Opaque, (self.name,)


class Tuple(Type):
    """Several values, as numbalite's ``tuple<...>``: what a device function can return."""

    __slots__ = ("types",)
    types: tuple[Type, ...]

    def __init__(self, types):
        types = tuple(types)
        for t in types:
            if not isinstance(t, Type):
                raise TypeError(f"a tuple type is made of types, not of {t!r}")
        super().__init__(f"Tuple(({', '.join(map(str, types))}{',' * (len(types) == 1)}))")
        object.__setattr__(self, "types", types)

    def _key(self):
        return self.types

    @property
    def cxx(self):
        return f"tuple<{', '.join(t.cxx for t in self.types)}>"

    @property
    def fields(self) -> tuple:
        """The names of its items in messages."""
        return tuple(f"[{i}]" for i in range(len(self.types)))

    @property
    def offsets(self) -> tuple:
        """Of the items, in bytes."""
        return _tuple_layout(self.types)[0]

    size = property(lambda self: _tuple_layout(self.types)[1])
    align = property(lambda self: max((t.align for t in self.types), default=1))

    def of(self, types) -> Tuple:
        """The same tuple with other types of items."""
        return Tuple(types)

    def __len__(self):
        return len(self.types)

    def __iter__(self):
        return iter(self.types)

    def __reduce__(self):
        return Tuple, (self.types,)


class NamedTuple(Tuple):
    """A named tuple: in C++ a struct with its fields, which ``get<I>`` takes as well."""

    __slots__ = ("instance_class",)
    instance_class: Any

    def __init__(self, types, cls):
        super().__init__(types)
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
        """The C++ struct."""
        from numbalite.types import structs

        return structs.of_named_tuple(self)

    def __reduce__(self):
        return NamedTuple, (self.types, self.instance_class)


class Signature:
    """A return type (None: not said) and the argument types."""

    __slots__ = ("args", "return_type")
    args: tuple
    return_type: Type | None

    def __init__(self, return_type, args):
        # void is numba's none, too: as a result nothing, as an argument None.
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


def _dimensions(element, index):
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
    """The layout that dimensions written as ``:`` (False) and ``::1`` (True) mean."""
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


def _fields(dtype):
    """The fields with their offsets, comparable and the same for equal layouts."""
    return tuple((name, dtype.fields[name][0].str if dtype.fields[name][0].names is None
                  and dtype.fields[name][0].subdtype is None
                  else repr(dtype.fields[name][0]), dtype.fields[name][1])
                 for name in dtype.names)  # fmt: skip


_KNOWN_RECORDS = {_fields(_STATES): "xoroshiro128p_state"}


def _member(dtype):
    """What a field is in C++: (type, extents after the name, alignment, nested record or None)."""
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
    """(does it need packing?, alignment)"""
    align, packed = 1, False
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        wanted = _member(field)[2]
        align = max(align, wanted)
        packed |= offset % wanted != 0
    packed |= dtype.itemsize % align != 0
    return packed, 1 if packed else align


# --- tuples ---------------------------------------------------------------------------------------


def _struct_layout(types):
    """(the offsets of members of these types, the size of the struct), as C++ compilers lay it out."""
    offsets, end, align = [], 0, 1
    for t in types:
        end += -end % t.align
        offsets.append(end)
        end += t.size
        align = max(align, t.align)
    return tuple(offsets), max(end + -end % align, 1)


def _tuple_layout(types):
    """The same for tuple<...>, which has its items from the ninth on in a tuple of their own."""
    if len(types) <= 8:
        return _struct_layout(types)
    more = Tuple(types[8:])
    offsets, size = _struct_layout((*types[:8], more))
    return (*offsets[:8], *(offsets[8] + offset for offset in more.offsets)), size


# --- the types ------------------------------------------------------------------------------------

void = none = Void("void")
boolean = bool_ = b1 = Scalar("boolean", "bool")
int8 = i1 = char = Scalar("int8", "signed char")
int16 = i2 = short = Scalar("int16", "short")
int32 = i4 = intc = Scalar("int32", "int")
int64 = i8 = longlong = Scalar("int64", "long long")
uint8 = u1 = byte = uchar = Scalar("uint8", "unsigned char")
uint16 = u2 = ushort = Scalar("uint16", "unsigned short")
uint32 = u4 = uintc = Scalar("uint32", "unsigned int")
uint64 = u8 = ulonglong = Scalar("uint64", "unsigned long long")
float16 = f2 = Scalar("float16", "float16")
float32 = f4 = float_ = Scalar("float32", "float")
float64 = f8 = double = Scalar("float64", "double")
complex64 = c8 = Scalar("complex64", "complex<float>", 4)
complex128 = c16 = Scalar("complex128", "complex<double>", 8)
intp = int_ = long_ = ssize_t = int64
uintp = uint = ulong = size_t = uint64

SCALARS = (
    boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, float32, float64, complex64, complex128,
)  # fmt: skip
_BY_NAME = {s.name: s for s in SCALARS}
# numba's sets of them
signed_domain = frozenset([int8, int16, int32, int64])
unsigned_domain = frozenset([uint8, uint16, uint32, uint64])
integer_domain = signed_domain | unsigned_domain
real_domain = frozenset([float32, float64])
complex_domain = frozenset([complex64, complex128])
number_domain = integer_domain | real_domain | complex_domain
_VECTOR_NAMES = {
    name: vector
    for base, of in _VECTORS_OF.items()
    for n in (1, 2, 3, 4)
    for vector in [Vector(_BY_NAME[base], n)]
    for name in (vector.name, f"{of}{n}", *([f"{of[:-4]}{n}"] if of.endswith("longlong") else ()))
}
globals().update(_VECTOR_NAMES)
NAMES = {name: value for name, value in list(globals().items()) if isinstance(value, Type)}
NAMES["bool"] = boolean
_BY_DTYPE = {(s.dtype.kind, s.dtype.itemsize): s for s in SCALARS}


NoneType = Void


def _void():
    return void


def scalar(dtype) -> Scalar:
    """The scalar type of a NumPy dtype (or of what np.dtype takes)."""
    dtype = np.dtype(dtype)
    try:
        return _BY_DTYPE[dtype.kind, dtype.itemsize]
    except KeyError:
        raise TypeError(f"dtype {dtype} has no type in kernels") from None


def from_dtype(dtype, name=None) -> Scalar | Record:
    """The type of elements of a NumPy dtype; structured dtypes give records. TypeError for dtypes that
    kernels cannot have (objects, text).

    >>> numbalite.types.from_dtype("i4")[:]
    int32[:]
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "mM":
        return Time(dtype)
    return scalar(dtype) if dtype.names is None else Record(dtype, name)


def as_type(value) -> Type:
    """A type, or what stands for one: a dtype, a NumPy scalar class, float, int, bool, None."""
    if isinstance(value, Type):
        return value
    if value is None:
        return void
    if isinstance(value, (type, np.dtype)):
        try:
            return from_dtype(value)
        except TypeError:
            pass
    raise TypeError(f"{value!r} is not a type: write for example float32 or float32[:]")


def const(t: Array | Record | Pointer) -> Array | Pointer:
    """The type of an input: ``const(float32[:])`` is ``"const float32[:]"``, never copied back."""
    if isinstance(t, Array):
        return t.copy(readonly=True)
    if isinstance(t, Record):
        return Array(t, 0, readonly=True)
    if isinstance(t, Pointer):
        return Pointer(t.dtype, True)
    raise TypeError(f"only arrays, records and pointers can be const, not {t}")


def CPointer(t, readonly=False) -> Pointer:
    return Pointer(as_type(t), readonly)


def no_optional(t) -> str:
    """What is said of a type that numba has and C++ has not."""
    return (
        f"an argument is either None or {t} when a function is compiled: give a signature for each, "
        f'["void({t})", "void(none)"], or none, so that each call decides'
    )


def Optional(t):
    """numba's name. TypeError says what to write: there is no such type in C++."""
    raise TypeError(f"Optional({t}): {no_optional(t)}")


optional = Optional


def NPDatetime(unit="") -> Time:
    """The type of ``np.datetime64`` in a unit."""
    return Time(f"M8[{unit}]" if unit else "M8")


def NPTimedelta(unit="") -> Time:
    """The type of ``np.timedelta64`` in a unit."""
    return Time(f"m8[{unit}]" if unit else "m8")


class _Uniform(type):
    def __instancecheck__(cls, t):
        return isinstance(t, Tuple) and len(set(t.types)) == 1


class UniTuple(metaclass=_Uniform):
    """``UniTuple(t, count)``: the Tuple of ``count`` values of the same type."""

    def __new__(cls, t, count) -> Tuple:  # type: ignore[misc]
        return Tuple([as_type(t)] * count)


def typeof(value) -> Type:
    """The type that an argument has for a kernel without a signature: NumPy numbers and arrays, device
    arrays, Python numbers (``int64``, ``float64``, ``complex128``, ``boolean``), tuples and named tuples
    of such, members of enumerations, None, dtypes. TypeError for others.

    >>> numbalite.types.typeof(np.zeros((2, 3), np.float32)), numbalite.types.typeof(1)
    (float32[:, ::1], int64)
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(value, np.ndarray) or interface is not None:
        return _array_typeof(value, interface)
    if isinstance(value, np.void) and value.dtype.names is not None:
        return Record(value.dtype)
    if isinstance(value, np.generic):
        return from_dtype(value.dtype)
    if isinstance(value, tuple):
        return tuple_of(type(value), map(typeof, value))
    if value is None:
        return Empty()
    is_class = isinstance(value, type) and issubclass(value, np.generic)
    if isinstance(value, (np.dtype, Scalar)) or is_class:
        return Empty(scalar(value))
    if isinstance(value, Enum):
        return typeof(value.value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int64 if -(2**63) <= value < 2**63 else uint64
    for python, t in ((bool, boolean), (float, float64), (complex, complex128)):
        if isinstance(value, python):
            return t
    raise TypeError(f"cannot tell the type of {type(value).__name__} for a kernel")


def _array_typeof(value, interface):
    if interface is None:
        dtype, ndim = value.dtype, value.ndim
        c, f = value.flags.c_contiguous, value.flags.f_contiguous
    else:
        descr = interface.get("descr")
        structured = interface["typestr"][1] == "V" and descr and descr[0][0]
        dtype = np.dtype(descr if structured else interface["typestr"])
        shape, strides = tuple(interface["shape"]), interface.get("strides")
        ndim = len(shape)
        c = strides is None or tuple(strides) == _packed(shape, dtype.itemsize)
        f = tuple(strides or ()) == _packed(shape[::-1], dtype.itemsize)[::-1]
    element = from_dtype(dtype)
    if ndim == 0 and isinstance(element, Record):
        return element
    return Array(element, ndim, "C" if c else "F" if f else "A")


def _packed(shape, itemsize):
    strides = []
    for n in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= n
    return tuple(strides)


def tuple_of(cls, types) -> Tuple:
    """The type of a tuple of this class."""
    return NamedTuple(types, cls) if hasattr(cls, "_fields") else Tuple(types)


def from_code(code: int) -> Type:
    """The type that the extension's typecodes() describes by one 32-bit number."""
    dtype, ndim = code & 0xFF, code >> 8 & 0x3F
    layout, is_array = "ACF"[code >> 14 & 3], code >> 16 & 3
    index, is_other = code >> 20, code >> 18 & 1
    if index:
        from numbalite import _core

        known = _core.code_object(index)
    if is_other:
        if not isinstance(known, tuple):
            return Empty(known if known is None else scalar(known))
        return tuple_of(known[0], map(from_code, np.frombuffer(known[1], "<u4").tolist()))
    element = from_dtype(known) if index else SCALARS[dtype - 1]
    if not is_array or (ndim == 0 and isinstance(element, Record)):
        return element
    return Array(element, ndim, layout, is_array == 3)
