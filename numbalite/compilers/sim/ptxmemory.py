"""Translates inline PTX memory instructions to C++, for numbalite/compilers/sim/ptx.py: loads, stores,
atomics, and addresses of the state spaces."""

from __future__ import annotations

from numbalite.compilers.sim.ptxtext import (
    PTX,
    TYPES,
    UnknownInstruction,
    instruction_type,
    registers_of,
    type_size,
)
from numbalite.compilers.sim.ptxthreads import fence_statement

_ATOMICS = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd", "or": "atomicOr",
            "xor": "atomicXor", "exch": "atomicExch", "cas": "atomicCAS", "inc": "atomicInc", "dec": "atomicDec"}  # fmt: skip
_ATOMIC_TYPES = {
    "u32": "unsigned", "s32": "int", "b32": "unsigned", "u64": "unsigned long long",
    "s64": "unsigned long long", "b64": "unsigned long long", "f32": "float", "f64": "double",
    "b16": "unsigned short", ("min", "s64"): "long long", ("max", "s64"): "long long",
}  # fmt: skip


class MemoryInstructions:
    """Mixin with a method for each memory instruction; ptx.py's statement class provides the operands."""

    def do_cvta(self, modifiers, operands):
        way = "to" if modifiers[0] == "to" else "from"
        space = modifiers[1] if way == "to" else modifiers[0]
        value = self.operand_text(operands[1])
        if way == "from" and space.startswith("shared"):
            return self.write_register(operands[0], f"{PTX}shared({value})")
        return self.write_register(operands[0], f"{PTX}as<unsigned long long>({value})")

    def do_isspacep(self, modifiers, operands):
        function = {
            "shared": "__isShared",
            "global": "__isGlobal",
            "local": "__isLocal",
            "const": "__isConstant",
        }
        if modifiers[0] == "shared::cluster":
            function = {"shared": "__isClusterShared"}
        pointer = f"reinterpret_cast<const void *>({self.operand_value(operands[1], 'unsigned long long')})"
        return self.write_register(
            operands[0], f"({function[modifiers[0].partition('::')[0]]}({pointer}) != 0)"
        )

    def do_mapa(self, modifiers, operands):
        shared = any(m.startswith("shared") for m in modifiers)
        at = f"{PTX}{'shared' if shared else 'generic'}({self.operand_text(operands[1])})"
        rank = self.operand_value(operands[2], "unsigned")
        return self.write_register(operands[0], f"{PTX}mapa({at}, {rank})")

    def do_getctarank(self, modifiers, operands):
        shared = any(m.startswith("shared") for m in modifiers)
        at = f"{PTX}{'shared' if shared else 'generic'}({self.operand_text(operands[1])})"
        return self.write_register(operands[0], f"{PTX}ctarank({at})")

    def do_ld(self, modifiers, operands):
        kind = instruction_type(modifiers)
        to, at = operands[0], self.address_expression(operands[1], modifiers)
        access = _access_kind(modifiers)
        parts = registers_of(to)
        out = [f"{_scope_declaration(modifiers)}unsigned long long nl_at = {at};"]
        if len(parts) > 1:
            out.append(f"{TYPES[kind]} nl_parts[{len(parts)}]; {PTX}load_all(nl_parts, nl_at);")
            out += [self.write_register(one, f"nl_parts[{i}]") for i, one in enumerate(parts)]
        else:
            out.append(self.write_register(to, f"{PTX}load<{TYPES[kind]}, {access}>(nl_at)"))
        if "acquire" in modifiers:
            out.append(fence_statement(modifiers))
        return " ".join(out)

    do_ldu = do_ld

    def do_st(self, modifiers, operands):
        kind = instruction_type(modifiers)
        at, source, access = (
            self.address_expression(operands[0], modifiers),
            operands[1],
            _access_kind(modifiers),
        )
        parts = registers_of(source)
        if "async" in modifiers:
            return self.asynchronous_store(TYPES[kind], type_size(kind), operands, parts)
        values = [self.operand_value(one, TYPES[kind]) for one in parts]
        if len(parts) > 1:
            joined = ", ".join(values)
            return f"const {TYPES[kind]} nl_parts[] = {{{joined}}}; {PTX}store_all({at}, nl_parts);"
        before = f"{fence_statement(modifiers)} " if "release" in modifiers else ""
        return f"{before}{_scope_declaration(modifiers)}{PTX}store<{TYPES[kind]}, {access}>({at}, {values[0]});"

    def do_atom(self, modifiers, operands):
        return self.atomic_statement(modifiers, operands[1:], operands[0])

    def do_red(self, modifiers, operands):
        if "async" in modifiers:
            raise UnknownInstruction("red.async")
        return self.atomic_statement(modifiers, operands, "_")

    def atomic_statement(self, modifiers, operands, to):
        kind = instruction_type(modifiers)
        name = next(m for m in modifiers if m in _ATOMICS)
        if kind in ("f16", "bf16", "f16x2", "bf16x2"):  # `add` alone is there
            at = f"({self.address_expression(operands[0], modifiers)})"
            value = self.operand_value(operands[1], TYPES[kind])
            return self.write_register(to, f"{PTX}atomic_add<{PTX}{kind}>({at}, {value})")
        cxx = _ATOMIC_TYPES.get((name, kind)) or _ATOMIC_TYPES[kind]
        at = f"reinterpret_cast<{cxx} *>({self.address_expression(operands[0], modifiers)})"
        values = ", ".join(self.operand_value(one, cxx) for one in operands[1:])
        scope = "_block" if "cta" in modifiers else ""
        call = f"{_ATOMICS[name]}{scope}({at}, {values})"
        around = (
            fence_statement(modifiers) if {"acquire", "release", "acq_rel"} & set(modifiers) else ""
        )
        return f"{around} {self.write_register(to, call)} {around}"


def _scope_declaration(modifiers):
    """Returns the C++ declaration of a variable that limits an atomic access to the scope of the thread block, or "" for a
    wider scope."""
    narrow = "cta" in modifiers and _access_kind(modifiers) == "2"
    return "::numbalite_sim::narrow_scope nl_scope(true); " if narrow else ""


def _access_kind(modifiers):
    """Returns the kind of an access as ptx.h numbers them: "0" plain, "1" volatile, "2" with a memory order."""
    found = set(modifiers)
    if "volatile" in found or "cv" in found or "mmio" in found:
        return "1"
    return "2" if found & {"relaxed", "acquire", "release"} else "0"
