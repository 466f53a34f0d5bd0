"""Writes the C++ structs for records and named tuples."""

from __future__ import annotations

import re

from numbalite.types.keywords import KEYWORDS


def of_record(record, packed, member):
    """Returns the struct of a Record; ``member`` returns the C++ text of a field."""
    dtype = record.dtype
    nested, lines, position = [], [], 0
    for name in sorted(dtype.names, key=lambda n: dtype.fields[n][1]):
        field, offset = dtype.fields[name][:2]
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS:
            raise TypeError(f"the field name {name!r} of the record {dtype} is no C++ name")
        if offset < position:
            raise TypeError(
                f"fields of the record {dtype} overlap, which is impossible in a C++ struct"
            )
        if offset > position:
            lines.append(f"    unsigned char padding_{position}[{offset - position}];")
        cxx, extents, _, inner = member(field)
        if inner is not None and not inner.is_predefined and inner not in nested:
            nested.append(inner)
        lines.append(f"    {cxx} {name}{extents};")
        position = offset + field.itemsize
    if dtype.itemsize > position:
        lines.append(f"    unsigned char padding_{position}[{dtype.itemsize - position}];")
    guard = f"NUMBALITE_{record.cxx.upper()}"
    text = "".join(inner.definition() for inner in nested)
    text += f"#ifndef {guard}\n#define {guard}\n"
    if packed:
        text += "#pragma pack(push, 1)\n"
    text += f"struct {record.cxx} {{\n" + "\n".join(lines) + "\n};\n"
    if packed:
        text += "#pragma pack(pop)\n"
    return text + (
        f"static_assert(sizeof({record.cxx}) == {dtype.itemsize}, "
        f'"a record has another size than in NumPy");\n#endif\n'
    )


def of_named_tuple(t):
    """Returns the struct of a NamedTuple."""
    names = t.instance_class._fields
    for name in names:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS:
            raise TypeError(f"the field name {name!r} of {t} is no C++ name")
    cxx, guard = t.cxx, f"NUMBALITE_{t.cxx.upper()}"
    members = "".join(
        f"    {item.cxx} {name};\n" for item, name in zip(t.types, names, strict=True)
    )
    text = (
        f"#ifndef {guard}\n#define {guard}\nnamespace numbalite {{\nstruct {cxx} {{\n{members}}};\n"
    )
    for const in ("", "const ") if names else ():
        text += f"template <int I> __device__ constexpr {const}auto &get({const}{cxx} &t) {{\n"
        for i, name in enumerate(names):
            text += f"    if constexpr (I == {i}) return (t.{name});\n"
        text += "}\n"
    return f"{text}}}\n#endif\n"
