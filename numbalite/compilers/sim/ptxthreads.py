"""Translates inline PTX that involves several threads to C++, for numbalite/compilers/sim/ptx.py: fences,
barriers, and exchanges between the lanes of a warp."""

from __future__ import annotations

from numbalite.compilers.sim.ptxtext import PTX, TYPES, UnknownInstruction, instruction_type


def fence_statement(modifiers):
    """Returns the C++ statement for a fence instruction, with the scope in its modifiers."""
    return "__threadfence_block();" if "cta" in modifiers else "__threadfence();"


class ThreadInstructions:
    """Mixin with a method for each thread instruction; the statement class provides the operands."""

    def do_membar(self, modifiers, operands):
        return fence_statement(modifiers)

    def do_fence(self, modifiers, operands):
        return fence_statement(modifiers)

    def do_bar(self, modifiers, operands):
        if modifiers[0] == "warp":
            return f"__syncwarp({self.operand_value(operands[0], 'unsigned')});"
        modifiers = [m for m in modifiers if m not in ("cta", "aligned")]
        if modifiers[0] == "cluster":
            return f"__cluster_barrier_{modifiers[1]}();"
        if modifiers[0] == "red":
            function = {
                "popc": "__syncthreads_count",
                "and": "__syncthreads_and",
                "or": "__syncthreads_or",
            }
            call = f"{function[modifiers[1]]}({self.operand_value(operands[-1], 'bool')})"
            return self.write_register(operands[0], call)
        if modifiers[0] == "sync":
            values = ", ".join(self.operand_value(one, "unsigned") for one in operands)
            return f"__barrier_sync{'_count' * (len(operands) == 2)}({values});"
        if modifiers[0] == "arrive":
            barrier, count = (self.operand_value(one, "unsigned") for one in operands)
            return f"__barrier_arrive({barrier}, {count});"
        raise UnknownInstruction("bar." + ".".join(modifiers))

    do_barrier = do_bar

    def do_shfl(self, modifiers, operands):
        modifiers = [m for m in modifiers if m != "sync"]
        to, _, predicate = operands[0].partition("|")
        value = self.operand_value(operands[1], "unsigned")
        more = ", ".join(self.operand_value(one, "unsigned") for one in operands[2:])
        out = f"bool nl_is; unsigned nl_got = {PTX}shuffle_{modifiers[0]}({value}, {more}, &nl_is);"
        out += self.write_register(to, "nl_got")
        return out + (self.write_register(predicate, "nl_is") if predicate.strip() else "")

    def do_vote(self, modifiers, operands):
        function = {
            "all": "__all_sync",
            "any": "__any_sync",
            "uni": "__uni_sync",
            "ballot": "__ballot_sync",
        }
        mode = next(m for m in modifiers if m in function)
        call = f"{function[mode]}({self.operand_value(operands[2], 'unsigned')}, {self.operand_value(operands[1], 'bool')})"
        return self.write_register(operands[0], call if mode == "ballot" else f"({call} != 0)")

    def do_match(self, modifiers, operands):
        type_ = TYPES[instruction_type(modifiers)]
        to, _, predicate = operands[0].partition("|")
        value, mask = (
            self.operand_value(operands[1], type_),
            self.operand_value(operands[2], "unsigned"),
        )
        if modifiers[0] == "any":
            return self.write_register(to, f"__match_any_sync({mask}, {value})")
        out = (
            f"int nl_all; unsigned nl_got = __match_all_sync({mask}, {value}, &nl_all);"
            + self.write_register(to, "nl_got")
        )
        return out + (self.write_register(predicate, "(nl_all != 0)") if predicate.strip() else "")

    def do_redux(self, modifiers, operands):
        type_ = TYPES[instruction_type(modifiers)]
        name = next(m for m in modifiers if m in ("add", "min", "max", "and", "or", "xor"))
        value, mask = (
            self.operand_value(operands[1], type_),
            self.operand_value(operands[2], "unsigned"),
        )
        return self.write_register(operands[0], f"__reduce_{name}_sync({mask}, {value})")

    def do_activemask(self, modifiers, operands):
        return self.write_register(operands[0], "__activemask()")

    def do_elect(self, modifiers, operands):
        to, _, predicate = operands[0].partition("|")
        mask = self.operand_value(operands[1], "unsigned")
        out = (
            f"__syncwarp({mask}); unsigned nl_first = static_cast<unsigned>(__builtin_ctz({mask}));"
        )
        out += self.write_register(to, "nl_first")
        return out + self.write_register(predicate, "(nl_first == ::numbalite_sim::lane())")
