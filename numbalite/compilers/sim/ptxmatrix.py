"""Translates inline PTX matrix instructions to C++: mma, ldmatrix, stmatrix and movmatrix, with
cuda_src/sim/matrix.h."""

from __future__ import annotations

import re

from numbalite.compilers.sim.ptxtext import UnknownInstruction, registers_of

_MATRIX = "::numbalite_sim::matrix::"
# For mma: the shapes for each type of matrix A, and the types of the results.
_BYTES_SHAPES = "m8n8k16 m16n8k16 m16n8k32".split()
_HALVES_SHAPES = "m8n8k32 m16n8k32 m16n8k64".split()
_PRODUCTS = {
    "f16": ["m8n8k4", "m16n8k8", "m16n8k16"], "bf16": ["m16n8k8", "m16n8k16"], "tf32": ["m16n8k4", "m16n8k8"],
    "f64": ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"], "s8": _BYTES_SHAPES, "u8": _BYTES_SHAPES,
    "s4": _HALVES_SHAPES, "u4": _HALVES_SHAPES, "b1": ["m8n8k128", "m16n8k128", "m16n8k256"],
    "e4m3": ["m16n8k16", "m16n8k32"], "e5m2": ["m16n8k16", "m16n8k32"],
    "e3m2": ["m16n8k32"], "e2m3": ["m16n8k32"], "e2m1": ["m16n8k32"],
}  # fmt: skip
_IN_BYTES = frozenset(("e3m2", "e2m3", "e2m1"))  # next to fp8
_MIXED = ({"s8", "u8"}, {"s4", "u4"}, {"e4m3", "e5m2", *_IN_BYTES})
_RESULTS = {
    **{kind: {"s32"} for kind in ("s8", "u8", "s4", "u4", "b1")}, "f64": {"f64"}, "bf16": {"f32"}, "tf32": {"f32"},
    **{kind: {"f16", "f32"} for kind in ("f16", "e4m3", "e5m2", *_IN_BYTES)},
}  # fmt: skip
_ELEMENTS = frozenset((*_PRODUCTS, "f32", "s32"))
_BITS = {
    **dict.fromkeys(("f16", "bf16"), 16), **dict.fromkeys(("s8", "u8", "e4m3", "e5m2", *_IN_BYTES), 8), "s4": 4, "u4": 4,
}  # fmt: skip


def _register_type(kind):
    return "unsigned long long" if kind == "f64" else "unsigned"


def _registers_per_lane(kind, elements):
    """Returns the number of registers per lane for a matrix fragment."""
    return elements // 32 // (32 // _BITS[kind]) if kind in _BITS else elements // 32


class MatrixInstructions:
    """Mixin with a method for each matrix instruction; ptx.py's statement class provides the operands."""

    def do_mma(self, modifiers, operands):
        given = set(modifiers) - {"sync", "aligned", "satfinite", "kind::f8f6f4"}
        layouts = [m for m in modifiers if m in ("row", "col")]
        shape = next(m for m in modifiers if re.fullmatch(r"m\d+n\d+k\d+", m))
        d, a, b, c = [m for m in modifiers if m in _ELEMENTS]
        m, n, k = map(int, re.findall(r"\d+", shape))
        operation = {"xor", "and", "popc"} & given
        narrow = {a, b} & _IN_BYTES
        known = (
            {"sync", "aligned"} <= set(modifiers)
            and not given - {*layouts, shape, d, a, b, c, *operation}
            and shape in _PRODUCTS.get(a, ())
            and (a == b or any({a, b} <= kinds for kinds in _MIXED))
            and {c, d} <= _RESULTS[a]
            and (c == d or shape == "m8n8k4")
            and ("satfinite" not in modifiers or (d == "s32" and a != "b1"))
            and (len(operation) == 2 and "popc" in operation) == (a == "b1")
            and ("kind::f8f6f4" in modifiers) >= bool(narrow)
            and (not narrow or shape == "m16n8k32")
        )
        quads = a == "f16" and shape == "m8n8k4"
        if not known or len(layouts) != 2 or (not quads and layouts != ["row", "col"]):
            raise ValueError
        if a == "b1":
            a = b = f"b1<{str('and' in operation).lower()}>"
            k //= 32
        counts = [
            _registers_per_lane(c, m * n),
            _registers_per_lane(a, m * k),
            _registers_per_lane(b, n * k),
        ]
        counts = [4 if c == "f16" else 8, 2, 2] if quads else counts
        lists = [
            self.register_array("nl_" + name, operand, kind, count)
            for name, operand, kind, count in zip(
                "cab", (operands[3], *operands[1:3]), (c, a, b), counts, strict=True
            )
        ]
        to = registers_of(operands[0])
        expected = (4 if d == "f16" else 8) if quads else _registers_per_lane(d, m * n)
        if len(to) != expected:
            raise UnknownInstruction(
                f"mma with {len(to)} registers of the result instead of {expected}"
            )
        if quads:
            rows = ", ".join(str(one == "row").lower() for one in layouts)
            function, more = f"mma_of_quads<{rows}, {_MATRIX}{c}, {_MATRIX}{d}>", ""
        else:
            types = ", ".join(_MATRIX + one for one in (a, b, c, d))
            function = f"mma<{types}, {m}, {n}, {k}>"
            more = f", {str('satfinite' in modifiers).lower()}"
        return " ".join(
            (
                *lists,
                f"{_register_type(d)} nl_d[{len(to)}];",
                f"{_MATRIX}{function}(nl_d, nl_a, nl_b, nl_c{more}, __builtin_FILE(), __builtin_LINE());",
                *(self.write_register(one, f"nl_d[{i}]") for i, one in enumerate(to)),
            )
        )

    def register_array(self, name, operand, kind, count):
        """Returns the C++ declaration of an array with the registers of an operand."""
        given = registers_of(operand)
        if len(given) != count:
            raise UnknownInstruction(
                f"mma with {len(given)} registers of {name[-1]} instead of {count}"
            )
        values = ", ".join(self.operand_value(one, _register_type(kind)) for one in given)
        return f"const {_register_type(kind)} {name}[] = {{{values}}};"

    def matrix_template_arguments(self, modifiers, registers):
        """Returns the text of the template arguments of ldmatrix and stmatrix: the number of matrices, and whether they
        are transposed."""
        known = {"sync", "aligned", "m8n8", "trans", "shared", "shared::cta", "b16"}
        counts = [m for m in modifiers if m in ("x1", "x2", "x4")]
        needed = {"sync", "aligned", "m8n8", "b16"}
        if len(counts) != 1 or set(modifiers) - known - set(counts) or needed - set(modifiers):
            raise ValueError
        if len(registers) != int(counts[0][1]):
            raise UnknownInstruction(
                f"ldmatrix or stmatrix with {len(registers)} registers for .{counts[0]}"
            )
        return f"{counts[0][1]}, {str('trans' in modifiers).lower()}"

    def do_ldmatrix(self, modifiers, operands):
        to = registers_of(operands[0])
        function = f"{_MATRIX}load<{self.matrix_template_arguments(modifiers, to)}>"
        out = f"unsigned nl_to[{len(to)}]; {function}(nl_to, {self.address_expression(operands[1], modifiers)});"
        return out + " ".join(self.write_register(one, f"nl_to[{i}]") for i, one in enumerate(to))

    def do_stmatrix(self, modifiers, operands):
        given = registers_of(operands[1])
        function = f"{_MATRIX}store<{self.matrix_template_arguments(modifiers, given)}>"
        values = ", ".join(self.operand_value(one, "unsigned") for one in given)
        return (
            f"const unsigned nl_from[] = {{{values}}};"
            f"{function}({self.address_expression(operands[0], modifiers)}, nl_from);"
        )

    def do_movmatrix(self, modifiers, operands):
        if sorted(modifiers) != ["aligned", "b16", "m8n8", "sync", "trans"]:
            raise ValueError
        return self.write_register(
            operands[0], f"{_MATRIX}transposed({self.operand_value(operands[1], 'unsigned')})"
        )
