"""Interprets the PTX of a kernel over an array of bytes, and fails where an address is not a multiple of the size of an
load_or_store. The simulator checks the alignment of the accesses of a source; this module checks the accesses of the
code that NVRTC generates, which merges and widens accesses.

Threads run one after another, without shared memory and barriers: enough for the kernels of ufuncs. A register is an
integer with the register's bits. Other instructions raise NotImplementedError.
"""

import re
import struct

_TYPE = re.compile(r"\.([usbf])(8|16|32|64)(?=\.|$)")
_COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
_OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "neg": lambda a: -a, "not": lambda a: ~int(a),
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "min": min, "max": max, "mov": lambda a: a, "abs": abs,
}  # fmt: skip


class MisalignedAccess(AssertionError):
    pass


def run_ptx(ptx, parameters, memory, base, threads, blocks=1):
    """Runs the only kernel of a PTX text: `parameters` are the bytes of its one parameter, `memory` a bytearray, whose
    first byte has the address `base`."""
    if isinstance(ptx, bytes):
        ptx = ptx.decode()
    program, labels = _parse_ptx(ptx)
    for block in range(blocks):
        for thread in range(threads):
            _PTXThread(parameters, memory, base, block, thread, threads, blocks).run(
                program, labels
            )


def _parse_ptx(ptx):
    text = re.sub(r"//.*", "", ptx)
    body = text[text.index(".entry") :]
    body = body[body.index("{") + 1 : body.rindex("}")]
    program, labels = [], {}
    # a statement ends with a semicolon, a label with a colon
    for label, statement in re.findall(r"([$\w]+):(?!:)|([^;:]+);", body):
        if label:
            labels[label] = len(program)
            continue
        statement = " ".join(statement.split())
        if statement.startswith("."):
            continue
        match = re.fullmatch(r"(?:@(!?)(%p\d+) )?([\w.]+)(?: (.*))?", statement)
        inverted, predicate, name, rest = match.groups()
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest or "")
        program.append((predicate, bool(inverted), name, operands))
    return program, labels


def _to_signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _to_float(value, bits):
    formats = {16: ("H", "e"), 32: ("I", "f"), 64: ("Q", "d")}[bits]
    return struct.unpack(formats[1], struct.pack(formats[0], value & ((1 << bits) - 1)))[0]


def _reinterpret_bits(value, bits):
    formats = {16: ("H", "e"), 32: ("I", "f"), 64: ("Q", "d")}[bits]
    return struct.unpack(formats[0], struct.pack(formats[1], value))[0]


def _to_kind(value, kind, bits):
    if kind == "f":
        return _to_float(value, bits)
    return _to_signed(value, bits) if kind == "s" else value & ((1 << bits) - 1)


class _PTXThread:
    def __init__(self, parameters, memory, base, block, thread, threads, blocks):
        self.parameters = parameters
        self.memory = memory
        self.base = base
        self.registers = {
            "%tid.x": thread, "%ctaid.x": block, "%ntid.x": threads, "%nctaid.x": blocks,
        }  # fmt: skip

    def run(self, program, labels):
        at = 0
        while at < len(program):
            predicate, inverted, name, operands = program[at]
            at += 1
            if predicate and self.registers[predicate] == inverted:
                continue
            if name in ("ret", "exit"):
                return
            if name.startswith("bra"):
                at = labels[operands[0]]
            else:
                self.execute_instruction(name, operands)

    def operand_value(self, text):
        if text.startswith("%"):
            # Some registers are read before they are set; the value is not used
            return self.registers.get(text, 0)
        if text.startswith(("0f", "0d")):
            return int(text[2:], 16)
        try:
            return int(text, 0)
        except ValueError:
            return 0  # the parameter's name: its address

    def operand_address(self, text):
        name, sign, offset = re.fullmatch(r"\[([^+\-\]]+)(?:(\+-?|-)(\d+))?\]", text).groups()
        distance = int(offset or 0)
        return self.operand_value(name) + (-distance if sign and "-" in sign else distance)

    def execute_instruction(self, name, operands):
        types = _TYPE.findall(name)
        operation = name.split(".")[0]
        if operation in ("ld", "st"):
            return self.load_or_store(name, types, operands)
        to, *of = operands
        if operation == "setp":
            kind, bits = types[0]
            compare = name.split(".")[1]
            a, b = (_to_kind(self.operand_value(text), kind, int(bits)) for text in of[:2])
            unordered = kind == "f" and (a != a or b != b)
            compared = _COMPARE[compare.removesuffix("u") if kind == "f" else compare](a, b)
            if unordered:
                compared = compare in ("ne", "neu") or compare.endswith("u")
            self.registers[to] = compared
            return None
        if name.endswith(".pred"):
            values = [self.operand_value(text) for text in of]
            result = _OPERATIONS[operation](*values)
            self.registers[to] = (not values[0]) if operation == "not" else bool(result)
            return None
        kind, bits = types[0] if types else ("b", "64")
        bits = int(bits)
        if to.startswith("{") or (of and of[0].startswith("{")):
            return self.move_parts(to, of[0], bits)
        mask = (1 << bits) - 1
        values = [self.operand_value(text) for text in of]
        if operation == "selp":
            result = values[0] if self.registers[of[2]] else values[1]
        elif operation == "cvta":
            result = values[0]
        elif operation == "cvt":
            result = self.convert_number(values[0], types)
        elif operation in ("shl", "shr"):
            shift = min(values[1], 64)
            first = _to_kind(values[0], kind, bits)
            result = first << shift if operation == "shl" else first >> shift
        elif operation in ("mul", "mad"):
            a, b = (_to_kind(value, kind, bits) for value in values[:2])
            result = a * b
            if ".wide" in name:
                mask = (1 << 2 * bits) - 1
            elif ".hi" in name:
                result >>= bits
            result += values[2] if operation == "mad" else 0
        elif operation in ("div", "rem"):
            a, b = (_to_kind(value, kind, bits) for value in values)
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            result = quotient if operation == "div" else a - b * quotient
        elif operation == "bfi":
            first, second, start, length = values
            field = ((1 << length) - 1) << start
            result = (second & ~field) | (first << start & field)
        elif operation == "bfe":
            result = _to_kind(values[0], kind, bits) >> values[1] & ((1 << values[2]) - 1)
        elif operation == "prmt":
            octets = (values[1] << 32 | values[0] & 0xFFFFFFFF).to_bytes(8, "little")
            chosen = (octets[values[2] >> 4 * i & 7] for i in range(4))
            result = int.from_bytes(bytes(chosen), "little")
        elif operation == "shf":
            both, shift = values[1] << 32 | values[0] & 0xFFFFFFFF, values[2] & 31
            result = both >> shift if name.startswith("shf.r") else both << shift >> 32
        elif operation in _OPERATIONS and kind != "f":
            result = _OPERATIONS[operation](*(_to_kind(value, kind, bits) for value in values))
        elif operation == "mov":
            result = values[0]
        else:
            raise NotImplementedError(f"{name} {', '.join(operands)}")
        self.registers[to] = result & mask
        return None

    def convert_number(self, value, types):
        (kind, bits), (of, of_bits) = types[0], types[-1]
        number = _to_kind(value, of, int(of_bits))
        if kind == "f":
            return _reinterpret_bits(float(number), int(bits))
        return int(number)

    def move_parts(self, to, of, bits):
        """mov.b64 %rd, {%r1, %r2}, and the reverse."""
        if to.startswith("{"):
            names = re.findall(r"[^{},\s]+", to)
            each = bits // len(names)
            for i, name in enumerate(names):
                self.registers[name] = self.operand_value(of) >> each * i & ((1 << each) - 1)
            return
        names = re.findall(r"[^{},\s]+", of)
        each = bits // len(names)
        self.registers[to] = sum(
            (self.operand_value(name) & ((1 << each) - 1)) << each * i
            for i, name in enumerate(names)
        )

    def load_or_store(self, name, types, operands):
        size = int(types[0][1]) // 8
        of, at = operands if name.startswith("ld") else operands[::-1]
        registers = re.findall(r"[^{},\s]+", of)
        address, count = self.operand_address(at), len(registers)
        if address % (size * count):
            raise MisalignedAccess(
                f"{name} at {address:#x}, which is no multiple of {size * count}"
            )
        # A generic address is an address of the parameter, which begins at 0, or of the memory,
        # which begins far behind it.
        if ".param" in name or (".global" not in name and 0 <= address < len(self.parameters)):
            memory, start = self.parameters, address
        elif ".shared" in name or ".local" in name:
            raise NotImplementedError(name)
        else:
            memory, start = self.memory, address - self.base
        if not 0 <= start <= len(memory) - size * count:
            raise AssertionError(f"{name} at {start}, of {len(memory)} bytes")
        for i, register in enumerate(registers):
            part = slice(start + i * size, start + (i + 1) * size)
            if name.startswith("ld"):
                loaded = int.from_bytes(memory[part], "little")
                self.registers[register] = (
                    _to_signed(loaded, 8 * size) & 0xFFFFFFFF if types[0][0] == "s" else loaded
                )
            else:
                stored = self.operand_value(register) & ((1 << 8 * size) - 1)
                memory[part] = stored.to_bytes(size, "little")
