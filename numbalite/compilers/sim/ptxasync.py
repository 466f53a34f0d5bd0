"""Translates inline PTX for barriers in shared memory (mbarrier) and bulk copies, for
numbalite/compilers/sim/ptx.py, with cuda_src/sim/mbarrier.h."""

from __future__ import annotations

from numbalite.compilers.sim.ptxtext import UnknownInstruction

_SIM = "::numbalite_sim::"
_MBARRIER = f"{_SIM}mbarrier::"
_COPY = f"{_SIM}asynccopy::"
_REDUCTIONS = {"add": "atomicAdd", "min": "atomicMin", "max": "atomicMax", "and": "atomicAnd", "or": "atomicOr",
               "xor": "atomicXor", "inc": "atomicInc", "dec": "atomicDec"}  # fmt: skip
_TYPES = {"u32": "unsigned", "s32": "int", "b32": "unsigned", "u64": "unsigned long long", "f32": "float",
          "f64": "double", "b64": "unsigned long long"}  # fmt: skip


class AsynchronousInstructions:
    """Translates the asynchronous instructions. Mixin with methods for barriers and bulk copies; the
    statement class provides the operands."""

    def do_mbarrier(self, modifiers, operands):
        what = modifiers[0]
        if what == "pending_count":
            state = self.operand_value(operands[1], "unsigned long long")
            return self.write_register(operands[0], f"{_MBARRIER}pending({state})")
        if what in ("test_wait", "try_wait"):
            at = self.barrier_pointer(operands[1])
            if "parity" in modifiers:
                asked = f"is_parity_over({at}, {self.operand_value(operands[2], 'unsigned')})"
            else:
                asked = f"is_over({at}, {self.operand_value(operands[2], 'unsigned long long')})"
            asked = f"{_MBARRIER}{asked}"
            return self.write_register(
                operands[0],
                f"{_MBARRIER}yield_unless_over({asked})" if what == "try_wait" else asked,
            )
        if what in ("arrive", "arrive_drop"):
            return self.barrier_arrival(what, modifiers, operands)
        at = self.barrier_pointer(operands[0])
        if what == "inval":
            return f"{_MBARRIER}invalidate({at});"
        count = self.operand_value(operands[1], "unsigned")
        if what == "expect_tx":
            return f"{_MBARRIER}arrive({at}, 0, {count});"
        return {"init": f"{_MBARRIER}init({at}, {count});",
                "complete_tx": f"{_MBARRIER}complete({at}, {count});"}[what]  # fmt: skip

    def barrier_arrival(self, what, modifiers, operands):
        to, rest = ("_", operands) if operands[0].startswith("[") else (operands[0], operands[1:])
        number = self.operand_value(rest[1], "unsigned") if len(rest) > 1 else None
        count, more = ("1", number) if "expect_tx" in modifiers else (number or "1", "0")
        dropped = count if what == "arrive_drop" else "0"
        return self.write_register(
            to, f"{_MBARRIER}arrive({self.barrier_pointer(rest[0])}, {count}, {more}, {dropped})"
        )

    def barrier_pointer(self, operand):
        return f"reinterpret_cast<unsigned long long *>({self.address_expression(operand, ['shared'])})"

    def do_cp(self, modifiers, operands):
        """Translates cp.async, of up to 16 bytes or in bulk, and cp.reduce.async.bulk."""
        if modifiers[0] == "reduce":
            return self.bulk_reduction(modifiers[1:], operands)
        if modifiers[0] != "async" or "tensor" in modifiers:
            raise UnknownInstruction("cp." + ".".join(modifiers))
        if modifiers[1] == "bulk":
            return self.bulk_instruction(modifiers[2:], operands)
        if modifiers[1] == "mbarrier":
            # Without .noinc, the copy is counted for the current phase, and arrives at the barrier
            arrives = "noinc" in modifiers
            at = self.barrier_pointer(operands[0])
            return f"{_COPY}bind_to_barrier({at});" + (
                f" {_MBARRIER}arrive({at});" if arrives else ""
            )
        if modifiers[1] in ("commit_group", "wait_group", "wait_all"):
            return self.copy_group_statement(modifiers[1:], operands, "false")
        to = self.address_expression(operands[0], ["shared"])
        source = self.address_expression(operands[1], [])
        size = self.operand_value(operands[2], "unsigned")
        kept = self.operand_value(operands[3], "unsigned") if len(operands) > 3 else size
        return f"{_SIM}ptx::copy({to}, {source}, {size}, {kept});"

    def bulk_instruction(self, modifiers, operands):
        if modifiers[0] == "prefetch":
            return ""
        if modifiers[0] in ("commit_group", "wait_group"):
            return self.copy_group_statement(modifiers, operands, "true")
        to, source, size = self.copy_operands(modifiers, operands)
        if "bulk_group" in modifiers:
            return f"{_SIM}bulk_copy({to}, {source}, {size});"
        barrier = f"({self.address_expression(operands[3], ['shared'])})"
        if "multicast::cluster" in modifiers:
            blocks = self.operand_value(operands[4], "unsigned short")
            return f"{_SIM}bulk_copy_all({to}, {source}, {size}, {barrier}, {blocks});"
        return f"{_SIM}bulk_copy_tx({to}, {source}, {size}, {barrier});"

    def copy_group_statement(self, modifiers, operands, bulk):
        """Returns the C++ statement that ends a group of the thread's asynchronous copies, or that waits for
        all groups except the last n."""
        if modifiers[0] == "commit_group":
            return f"{_COPY}commit({bulk});"
        if modifiers[0] == "wait_all":
            return f"{_COPY}wait({_COPY}open_too);"
        but = self.operand_value(operands[0], "unsigned")
        return (
            f"{_COPY}wait_read({but});" if "read" in modifiers else f"{_COPY}wait({but}, {bulk});"
        )

    def copy_operands(self, modifiers, operands):
        """Returns the C++ expressions for the destination, the source and the size of a bulk copy. The first two
        modifiers are the address spaces."""
        spaces = [m for m in modifiers if m in ("global", "shared::cluster", "shared::cta")]
        if len(spaces) != 2 or "cp_mask" in modifiers:
            raise UnknownInstruction("cp.async.bulk." + ".".join(modifiers))
        to, source = (
            self.address_expression(operand, [space])
            for operand, space in zip(operands[:2], spaces, strict=True)
        )
        return to, source, self.operand_value(operands[2], "unsigned")

    def bulk_reduction(self, modifiers, operands):
        if modifiers[:2] != ["async", "bulk"] or "tensor" in modifiers:
            raise UnknownInstruction("cp.reduce." + ".".join(modifiers))
        to, source, size = self.copy_operands(modifiers, operands)
        kind = next(_TYPES[m] for m in reversed(modifiers) if m in _TYPES)
        function = next(_REDUCTIONS[m] for m in modifiers if m in _REDUCTIONS)
        change = f"[]({kind} *nl_p, {kind} nl_v) {{ {function}(nl_p, nl_v); }}"
        if "bulk_group" in modifiers:
            return f"{_SIM}bulk_reduce<{kind}>({to}, {source}, {size}, {change});"
        at = self.barrier_pointer(operands[3])
        return (
            f"{_SIM}bulk_reduce<{kind}>({to}, {source}, {size}, {change}, {at});"
            f" {_MBARRIER}complete({at}, {size});"
        )

    def asynchronous_store(self, kind, size, operands, parts):
        """Translates st.async, which stores and then counts the bytes at the barrier."""
        at = self.address_expression(operands[0], ["shared"])
        values = ", ".join(self.operand_value(one, kind) for one in parts)
        done = f"{_MBARRIER}complete({self.barrier_pointer(operands[2])}, {size * len(parts)});"
        return (
            f"const {kind} nl_parts[] = {{{values}}}; {_SIM}ptx::store_all({at}, nl_parts); {done}"
        )
