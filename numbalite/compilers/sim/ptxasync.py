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


class Asynchronous:
    """Translates the asynchronous instructions. Mixin with methods for barriers and bulk copies; the
    statement class provides the operands."""

    def do_mbarrier(self, modifiers, operands):
        what = modifiers[0]
        if what == "pending_count":
            state = self.value(operands[1], "unsigned long long")
            return self.set(operands[0], f"{_MBARRIER}pending({state})")
        if what in ("test_wait", "try_wait"):
            at = self.barrier(operands[1])
            if "parity" in modifiers:
                asked = f"is_parity_over({at}, {self.value(operands[2], 'unsigned')})"
            else:
                asked = f"is_over({at}, {self.value(operands[2], 'unsigned long long')})"
            asked = f"{_MBARRIER}{asked}"
            return self.set(
                operands[0],
                f"{_MBARRIER}yield_unless_over({asked})" if what == "try_wait" else asked,
            )
        if what in ("arrive", "arrive_drop"):
            return self.arrival(what, modifiers, operands)
        at = self.barrier(operands[0])
        if what == "inval":
            return f"{_MBARRIER}invalidate({at});"
        count = self.value(operands[1], "unsigned")
        if what == "expect_tx":
            return f"{_MBARRIER}arrive({at}, 0, {count});"
        return {"init": f"{_MBARRIER}init({at}, {count});",
                "complete_tx": f"{_MBARRIER}complete({at}, {count});"}[what]  # fmt: skip

    def arrival(self, what, modifiers, operands):
        to, rest = ("_", operands) if operands[0].startswith("[") else (operands[0], operands[1:])
        number = self.value(rest[1], "unsigned") if len(rest) > 1 else None
        count, more = ("1", number) if "expect_tx" in modifiers else (number or "1", "0")
        dropped = count if what == "arrive_drop" else "0"
        return self.set(
            to, f"{_MBARRIER}arrive({self.barrier(rest[0])}, {count}, {more}, {dropped})"
        )

    def barrier(self, operand):
        return f"reinterpret_cast<unsigned long long *>({self.address(operand, ['shared'])})"

    def do_cp(self, modifiers, operands):
        """Translates cp.async, of up to 16 bytes or in bulk, and cp.reduce.async.bulk."""
        if modifiers[0] == "reduce":
            return self.bulk_reduction(modifiers[1:], operands)
        if modifiers[0] != "async" or "tensor" in modifiers:
            raise UnknownInstruction("cp." + ".".join(modifiers))
        if modifiers[1] == "bulk":
            return self.bulk(modifiers[2:], operands)
        if modifiers[1] == "mbarrier":
            # Otherwise the copy is counted for the current phase, and arrives at the barrier
            arrives = "noinc" in modifiers
            at = self.barrier(operands[0])
            return f"{_COPY}bind({at});" + (f" {_MBARRIER}arrive({at});" if arrives else "")
        if modifiers[1] in ("commit_group", "wait_group", "wait_all"):
            return self.groups(modifiers[1:], operands, "false")
        to = self.address(operands[0], ["shared"])
        source = self.address(operands[1], [])
        size = self.value(operands[2], "unsigned")
        kept = self.value(operands[3], "unsigned") if len(operands) > 3 else size
        return f"{_SIM}ptx::copy({to}, {source}, {size}, {kept});"

    def bulk(self, modifiers, operands):
        if modifiers[0] == "prefetch":
            return ""
        if modifiers[0] in ("commit_group", "wait_group"):
            return self.groups(modifiers, operands, "true")
        to, source, size = self.ends(modifiers, operands)
        if "bulk_group" in modifiers:
            return f"{_SIM}bulk_copy({to}, {source}, {size});"
        barrier = f"({self.address(operands[3], ['shared'])})"
        if "multicast::cluster" in modifiers:
            blocks = self.value(operands[4], "unsigned short")
            return f"{_SIM}bulk_copy_all({to}, {source}, {size}, {barrier}, {blocks});"
        return f"{_SIM}bulk_copy_tx({to}, {source}, {size}, {barrier});"

    def groups(self, modifiers, operands, bulk):
        """Returns the C++ statement that ends a group of the thread's asynchronous copies, or that waits for
        all groups except the last n."""
        if modifiers[0] == "commit_group":
            return f"{_COPY}commit({bulk});"
        if modifiers[0] == "wait_all":
            return f"{_COPY}wait({_COPY}open_too);"
        but = self.value(operands[0], "unsigned")
        return (
            f"{_COPY}wait_read({but});" if "read" in modifiers else f"{_COPY}wait({but}, {bulk});"
        )

    def ends(self, modifiers, operands):
        """Returns the C++ expressions for the destination, the source and the size of a bulk copy. The first two
        modifiers are the address spaces."""
        spaces = [m for m in modifiers if m in ("global", "shared::cluster", "shared::cta")]
        if len(spaces) != 2 or "cp_mask" in modifiers:
            raise UnknownInstruction("cp.async.bulk." + ".".join(modifiers))
        to, source = (
            self.address(operand, [space])
            for operand, space in zip(operands[:2], spaces, strict=True)
        )
        return to, source, self.value(operands[2], "unsigned")

    def bulk_reduction(self, modifiers, operands):
        if modifiers[:2] != ["async", "bulk"] or "tensor" in modifiers:
            raise UnknownInstruction("cp.reduce." + ".".join(modifiers))
        to, source, size = self.ends(modifiers, operands)
        kind = next(_TYPES[m] for m in reversed(modifiers) if m in _TYPES)
        function = next(_REDUCTIONS[m] for m in modifiers if m in _REDUCTIONS)
        change = f"[]({kind} *nl_p, {kind} nl_v) {{ {function}(nl_p, nl_v); }}"
        if "bulk_group" in modifiers:
            return f"{_SIM}bulk_reduce<{kind}>({to}, {source}, {size}, {change});"
        at = self.barrier(operands[3])
        return (
            f"{_SIM}bulk_reduce<{kind}>({to}, {source}, {size}, {change}, {at});"
            f" {_MBARRIER}complete({at}, {size});"
        )

    def store_async(self, kind, size, operands, parts):
        """Translates st.async, which stores and then counts the bytes at the barrier."""
        at = self.address(operands[0], ["shared"])
        values = ", ".join(self.value(one, kind) for one in parts)
        done = f"{_MBARRIER}complete({self.barrier(operands[2])}, {size * len(parts)});"
        return (
            f"const {kind} nl_parts[] = {{{values}}}; {_SIM}ptx::store_all({at}, nl_parts); {done}"
        )
