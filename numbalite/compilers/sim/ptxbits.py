"""Translates inline PTX instructions on bits to C++, for numbalite/compilers/sim/ptx.py: shifts, bit fields,
counts, and instructions on the bytes and halves of a 32-bit word (dp4a, the video instructions)."""

from __future__ import annotations

import re

from numbalite.compilers.sim.ptxtext import PTX, TYPES, UnknownInstruction, instruction_type

_SELECTED = re.compile(r"(.*)\.([bh])([0-3])")


class BitInstructions:
    """Mixin with a method for each bit instruction; ptx.py's statement class provides the operands."""

    def do_bfe(self, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        values = [
            self.operand_value(operands[1], kind),
            *(self.operand_value(one, "unsigned") for one in operands[2:]),
        ]
        return self.write_register(operands[0], f"{PTX}bfe<{kind}>({', '.join(values)})")

    def do_bfi(self, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        values = [self.operand_value(one, kind) for one in operands[1:3]]
        values += [self.operand_value(one, "unsigned") for one in operands[3:]]
        return self.write_register(operands[0], f"{PTX}bfi<{kind}>({', '.join(values)})")

    def do_shl(self, modifiers, operands):
        return self.shift_statement("shl", modifiers, operands)

    def do_shr(self, modifiers, operands):
        return self.shift_statement("shr", modifiers, operands)

    def shift_statement(self, name, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        values = f"{self.operand_value(operands[1], kind)}, {self.operand_value(operands[2], 'unsigned')}"
        return self.write_register(operands[0], f"{PTX}{name}<{kind}>({values})")

    def do_shf(self, modifiers, operands):
        function = "__funnelshift_" + modifiers[0] + ("c" if "clamp" in modifiers else "")
        values = ", ".join(self.operand_value(one, "unsigned") for one in operands[1:])
        return self.write_register(operands[0], f"{function}({values})")

    def do_bmsk(self, modifiers, operands):
        values = ", ".join(self.operand_value(one, "unsigned") for one in operands[1:])
        return self.write_register(operands[0], f"{PTX}bmsk_{modifiers[0]}({values})")

    def do_szext(self, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        values = f"{self.operand_value(operands[1], kind)}, 0, {PTX}szext_{modifiers[0]}({self.operand_value(operands[2], 'unsigned')})"
        return self.write_register(operands[0], f"{PTX}bfe<{kind}>({values})")

    def do_prmt(self, modifiers, operands):
        if len(modifiers) > 1:
            raise UnknownInstruction("prmt." + ".".join(modifiers))
        values = ", ".join(self.operand_value(one, "unsigned") for one in operands[1:])
        return self.write_register(operands[0], f"__byte_perm({values})")

    def do_lop3(self, modifiers, operands):
        values = ", ".join(self.operand_value(one, "unsigned") for one in operands[1:5])
        return self.write_register(operands[0], f"{PTX}lop3({values})")

    def do_popc(self, modifiers, operands):
        return self.write_register(
            operands[0],
            f"{PTX}popc({self.operand_value(operands[1], TYPES[instruction_type(modifiers)])})",
        )

    def do_clz(self, modifiers, operands):
        return self.write_register(
            operands[0],
            f"{PTX}clz({self.operand_value(operands[1], TYPES[instruction_type(modifiers)])})",
        )

    def do_bfind(self, modifiers, operands):
        function = "bfind_shift" if "shiftamt" in modifiers else "bfind"
        return self.write_register(
            operands[0],
            f"{PTX}{function}({self.operand_value(operands[1], TYPES[instruction_type(modifiers)])})",
        )

    def do_fns(self, modifiers, operands):
        values = [
            self.operand_value(one, kind)
            for one, kind in zip(operands[1:], ("unsigned", "unsigned", "int"), strict=True)
        ]
        return self.write_register(operands[0], f"__fns({', '.join(values)})")

    def do_dp4a(self, modifiers, operands):
        a, b = ("int" if m == "s32" else "unsigned" for m in modifiers)
        c = "int" if "s32" in modifiers else "unsigned"
        values = f"{self.operand_value(operands[1], 'unsigned')}, {self.operand_value(operands[2], 'unsigned')}, {self.operand_value(operands[3], c)}"
        return self.write_register(operands[0], f"{PTX}dp4a<{a}, {b}>({values})")

    def do_dp2a(self, modifiers, operands):
        half, *kinds = modifiers
        a, b = ("int" if m == "s32" else "unsigned" for m in kinds)
        c = "int" if "s32" in kinds else "unsigned"
        shift = {"lo": 0, "hi": 16}[half]
        values = f"{self.operand_value(operands[1], 'unsigned')}, {self.operand_value(operands[2], 'unsigned')} >> {shift}, {self.operand_value(operands[3], c)}"
        return self.write_register(operands[0], f"{PTX}dp2a<{a}, {b}>({values})")

    def simd_video_instruction(self, name, count, modifiers, operands):
        """Translates vadd2, vset4, ...: SIMD video instructions on 16- and 8-bit lanes; with .add, the result
        is the sum of the lanes and c."""
        kinds = [m for m in modifiers if m in ("u32", "s32")]
        compare = [m for m in modifiers if m in ("eq", "ne", "lt", "le", "gt", "ge")]
        kinds = kinds if name != "set" else ["u32", *kinds]
        known = {"u32", "s32", "sat", "add", *compare}
        if set(modifiers) - known or len(kinds) != 3 or bool(compare) != (name == "set"):
            raise ValueError
        lanes = [
            f"{'signed' if kind == 's32' else 'unsigned'} {'short' if count == '2' else 'char'}"
            for kind in kinds
        ]
        values = ", ".join(self.operand_value(one, "unsigned") for one in operands[1:4])
        flags = ", ".join(str(m in modifiers).lower() for m in ("sat", "add"))
        function = (
            f"video_operation<{', '.join(lanes)}, {flags}, {PTX}lanes_{(compare or [name])[0]}>"
        )
        return self.write_register(operands[0], f"{PTX}{function}({values})")

    def scalar_video_instruction(self, name, modifiers, operands):
        """Translates vadd, vmad and the other scalar video instructions. The suffix of an operand's name
        selects a byte or a half; without a suffix, the operand is the 32-bit word."""
        kinds = [m for m in modifiers if m in ("u32", "s32")]
        after = [m for m in modifiers if m in ("add", "min", "max")]
        if set(modifiers) - {"u32", "s32", "sat", *after} or _SELECTED.match(operands[0]):
            raise ValueError
        if len(kinds) != 3 or len(operands) != 3 + (name == "mad" or len(after)):
            raise ValueError
        a, b = (
            self.selected_video_operand(*pair)
            for pair in zip(operands[1:3], kinds[1:], strict=True)
        )
        kind = TYPES[kinds[0]]
        result = f"{PTX}wide_{name}({a}, {b})"
        if name == "mad":
            result = f"{a} * {b} + {self.operand_value(operands[3], kind)}"
        result = f"{PTX}{'clamped' if 'sat' in modifiers else 'lowest'}<{kind}>({result})"
        if after and name != "mad":
            result = f"{PTX}{after[0]}<{kind}>({result}, {self.operand_value(operands[3], kind)})"
        return self.write_register(operands[0], result)

    def selected_video_operand(self, operand, kind):
        """Returns the C++ expression for an operand of a video instruction as a signed 64-bit integer."""
        found = _SELECTED.fullmatch(operand)
        if not found:
            return f"static_cast<long long>({self.operand_value(operand, TYPES[kind])})"
        part = ("char" if found[2] == "b" else "short", 8 if found[2] == "b" else 16)
        sign = "signed" if kind == "s32" else "unsigned"
        word = f"{self.operand_value(found[1], 'unsigned')} >> {part[1] * int(found[3])}"
        return f"static_cast<long long>(static_cast<{sign} {part[0]}>({word}))"
