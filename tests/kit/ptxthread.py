"""Executes the integer instructions of a PTX function for one thread, up to a number of statements,
and records its stores. kit/ptxrun.py runs whole kernels over memory."""

import re

from numbalite.compilers import ptxreader

_GUARD = re.compile(r"@(!?)\s*(\S+)\s+")
_COMPARE = {
    "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__, "ne": int.__ne__,
}  # fmt: skip
_BINARY = {
    "add": int.__add__, "sub": int.__sub__, "mul": int.__mul__, "min": min, "max": max, "div": int.__floordiv__,
}  # fmt: skip


class PTXThread:
    """`flag(executed)` is the value that a load of the flag returns after `executed` statements.
    `end`: "ret", "exit", or None."""

    def __init__(self, ptx, flag):
        (self.function,) = ptxreader.read_ptx(ptx).functions
        self.labels = {
            name: index
            for (_, name), label in self.function.labels.items()
            for index in [sum(s.begin < label.begin for s in self.function.statements)]
        }
        self.flag, self.registers = flag, {}
        self.stored, self.executed, self.loads, self.end = [], 0, 0, None

    def run(self, most, stores=1 << 30):
        """Executes statements up to the given number of statements, or of stored numbers."""
        index, statements = 0, self.function.statements
        while index < len(statements) and self.executed < most and len(self.stored) < stores:
            text = " ".join(statements[index].text.split())
            index += 1
            if text.startswith("."):
                continue
            self.executed += 1
            if guard := _GUARD.match(text):
                text = text[guard.end() :]
                if bool(self.registers[guard[2]]) == bool(guard[1]):
                    continue
            name, _, rest = text.partition(" ")
            operands = [operand.strip() for operand in rest.split(",")]
            kind = name.split(".")
            if kind[0] == "bra":
                index = self.labels[operands[0]]
            elif kind[0] in ("ret", "exit"):
                self.end = kind[0]
                return self
            else:
                self._execute(kind, operands)
        return self

    def _read(self, operand, kind):
        """Returns an operand as a number of the kind's sign and width."""
        value = self.registers[operand] if operand.startswith("%") else int(operand, 0)
        width = int(kind[1:])
        value &= (1 << width) - 1
        return value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value

    def _execute(self, kind, operands):
        name, last = kind[0], kind[-1]
        result = operands[0]
        if name == "st":
            self.stored.append(self._read(operands[1], last))
        elif name == "ld":
            self.loads += 1
            self.registers[result] = self.flag(self.executed)
        elif name == "atom":
            self.registers[result] = 0
        elif last == "pred":
            left, right = (self.registers[operand] for operand in operands[1:])
            self.registers[result] = left & right if name == "and" else left | right
        elif name == "setp":
            value = int(
                _COMPARE[kind[1]](self._read(operands[1], last), self._read(operands[2], last))
            )
            if len(operands) == 4:
                operand = operands[3]
                other = (
                    1 - self.registers[operand[1:]]
                    if operand[0] == "!"
                    else self.registers[operand]
                )
                value = value & other if kind[2] == "and" else value | other
            self.registers[result] = value
        elif name == "selp":
            self.registers[result] = self._read(
                operands[1 if self.registers[operands[3]] else 2], last
            )
        elif name == "mov" and operands[1].startswith(("%tid", "%ctaid")):
            self.registers[result] = 0
        elif name in ("mov", "cvt"):
            self.registers[result] = self._read(operands[1], last)
        elif name == "shr":
            count = self._read(operands[2], "u32")
            self.registers[result] = self._read(operands[1], last) >> min(count, 64)
        elif name == "bfind":
            self.registers[result] = self._read(operands[1], last).bit_length() - 1
        elif name == "mad":
            left, right, more = (self._read(operand, last) for operand in operands[1:])
            self.registers[result] = left * right + more
        else:
            self.registers[result] = _BINARY[name](
                *(self._read(operand, last) for operand in operands[1:])
            )
