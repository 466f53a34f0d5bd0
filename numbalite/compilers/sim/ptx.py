"""Translates inline PTX to C++ for the simulator: each asm statement becomes statements that use cuda_src/sim/ptx.h.

A register becomes a local variable of the size and kind of its type. An instruction converts its operands to
its own type and stores its result in the register: bits are copied unchanged between integers and floating
point, and integers are sign-extended. `{`, `}`, predicates and labels become blocks, ifs and gotos. For an
instruction that is not in the tables, translation raises an error with the instruction's name.

ptxtext.py parses the text. This module has statements, arithmetic and conversions; ptxmemory.py, ptxbits.py,
ptxmatrix.py, ptxasync.py and ptxthreads.py have the other instructions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from numbalite.compilers.sim.ptxasync import AsynchronousInstructions
from numbalite.compilers.sim.ptxbits import BitInstructions
from numbalite.compilers.sim.ptxmatrix import MatrixInstructions
from numbalite.compilers.sim.ptxmemory import MemoryInstructions
from numbalite.compilers.sim.ptxtext import (
    PTX,
    TYPES,
    UnknownInstruction,
    instruction_type,
    split_operands,
    split_template,
    type_size,
)
from numbalite.compilers.sim.ptxthreads import ThreadInstructions
from numbalite.cxx.scanner import Token

_CONSTRAINTS = {
    "r": "unsigned", "h": "unsigned short", "l": "unsigned long long", "f": "float", "d": "double",
    "q": "unsigned __int128", "n": "long long", "i": "long long", "C": "const void *",
}  # fmt: skip
_SPACES = frozenset(
    ("global", "shared", "local", "const", "param", "generic", "shared::cta", "shared::cluster")
)
_NARROW = "::numbalite_sim::"
_PAIRS = frozenset(("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"))
_SPECIAL = {
    **{f"{p}.{x}": f"{word}.{x}" for p, word in (
        ("%tid", "threadIdx"), ("%ntid", "blockDim"), ("%ctaid", "blockIdx"), ("%nctaid", "gridDim"),
    ) for x in "xyz"},
    "%laneid": "::numbalite_sim::lane()", "%warpid": "(::numbalite_sim::rank() / 32)", "WARP_SZ": "32",
    "%nwarpid": "((::numbalite_sim::block_threads() + 31) / 32)", "%smid": "::numbalite_sim::smid()",
    "%nsmid": "132u", "%gridid": "0u", "%clock": "static_cast<unsigned>(clock64())", "%clock64": "clock64()",
    "%clock_hi": "static_cast<unsigned>(clock64() >> 32)",
    "%globaltimer": "::numbalite_sim::globaltimer()",
    "%globaltimer_lo": "static_cast<unsigned>(::numbalite_sim::globaltimer())",
    "%globaltimer_hi": "static_cast<unsigned>(::numbalite_sim::globaltimer() >> 32)",
    "%lanemask_lt": "((1u << ::numbalite_sim::lane()) - 1)", "%lanemask_eq": "(1u << ::numbalite_sim::lane())",
    "%lanemask_le": "((2u << ::numbalite_sim::lane()) - 1)", "%lanemask_ge": "(~0u << ::numbalite_sim::lane())",
    "%lanemask_gt": "(~1u << ::numbalite_sim::lane())",
    "%dynamic_smem_size": "::numbalite_sim::here.dynamic_bytes",
    **{f"{p}.{x}": f"{word}().{x}" for p, word in (
        ("%cluster_ctaid", "__clusterRelativeBlockIdx"), ("%cluster_nctaid", "__clusterDim"),
        ("%clusterid", "__clusterIdx"), ("%nclusterid", "__clusterGridDimInClusters"),
    ) for x in "xyz"},
    "%cluster_ctarank": "__clusterRelativeBlockRank()", "%cluster_nctarank": "__clusterSizeInBlocks()",
    "%is_explicit_cluster": "(__clusterDimIsSpecified() != 0)",
}  # fmt: skip
_VIDEO = re.compile(r"v(add|sub|avrg|absdiff|min|max|set)([24])")
_SCALAR_VIDEO = re.compile(r"v(add|sub|absdiff|min|max|mad)")
_IMMEDIATE = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?\Z")
_REAL = re.compile(r"-?(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|\d+\.\d*(?:[eE][+-]?\d+)?)\Z")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "\n": ""}


def translate_asm(tokens: Sequence[Token], text: str, number: int) -> str:
    """Translates the tokens between the parentheses of an asm statement of `text`. Raises UnknownInstruction
    for an unsupported instruction. `number` must be different for each statement of a source."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.kind == "sign" and depth == 0 and token.text in (":", "::"):
            parts += [[]] * (token.text == "::")
            parts.append([])
            parts[-1] = []
        else:
            parts[-1] = [*parts[-1], token]
    template = _template_text(parts[0])
    operands = []
    for part, is_output in (
        (parts[1] if len(parts) > 1 else [], True),
        (parts[2] if len(parts) > 2 else [], False),
    ):
        operands += _asm_operands(part, text, is_output)
    return _AsmStatement(template, operands, len(parts) > 1, number).statement_text()


def _template_text(tokens):
    out = []
    for before, token in itertools.pairwise([None, *tokens]):
        if token.kind == "string":
            if "R" in token.text.partition('"')[0]:
                out.append(token.text[token.text.index("(") + 1 : token.text.rindex(")")])
            else:
                out.append(
                    re.sub(
                        r"\\(.)",
                        lambda m: _ESCAPES.get(m[1], m[1]),
                        _TEXT.search(token.text)[1],
                        flags=re.S,
                    )
                )
        elif token.text == "#" or (before is not None and before.text == "#"):
            continue  # a stringized macro argument, such as the cache operator in "ld." #op ".u32"
        else:
            raise UnknownInstruction(f"with the macro {token.text} in its text")
    return _COMMENT.sub(" ", "".join(out))


def _asm_operands(tokens, text, is_output):
    """Returns (constraint, expression, is_output) of each operand."""
    found, at = [], 0
    while at < len(tokens):
        if tokens[at].text == ",":
            at += 1
            continue
        if tokens[at].text == "[":
            raise UnknownInstruction("with named operands, which NVRTC does not accept,")
        constraint = tokens[at].text.strip('"') if at < len(tokens) else ""
        opening = at + 1
        if opening >= len(tokens) or tokens[opening].text != "(":
            raise UnknownInstruction("with operands that are not written out")
        depth, closing = 0, opening
        for closing in range(opening, len(tokens)):
            depth += (tokens[closing].text in "([{") - (tokens[closing].text in ")]}")
            if depth == 0:
                break
        expression = _join_tokens(tokens[opening + 1 : closing])
        found.append((constraint, expression, is_output))
        at = closing + 1
    return found


def _join_tokens(tokens):
    """Returns the text of the tokens; tokens that are adjacent in the source stay adjacent (`>>` is two
    tokens)."""
    out = ""
    for before, token in itertools.pairwise([None, *tokens]):
        apart = before is not None and before.start + len(before.text) != token.start
        out += " " * apart + token.text
    return out


class _AsmStatement(
    MemoryInstructions,
    BitInstructions,
    MatrixInstructions,
    AsynchronousInstructions,
    ThreadInstructions,
):
    def __init__(self, template, operands, is_extended, number):
        self.template, self.number = template, number
        self.operands = operands
        self.is_extended = is_extended
        self.registers = []  # for each open block: {name: (variable, type)}
        self.serial = 0
        self.labels = {}
        self.uses_carry = False

    def statement_text(self):
        body = self.translate_template(self.template)
        before, after = [], []
        for i, (constraint, expression, is_output) in enumerate(self.operands):
            letter = constraint.lstrip("=+&%")
            if letter.isidentifier() and letter not in _CONSTRAINTS and not is_output:
                before.append(f"auto nl_{i} = {PTX}operand({expression});")  # a macro's parameter
                continue
            if letter not in _CONSTRAINTS:
                raise UnknownInstruction(f"with the constraint {constraint!r}")
            kind = _CONSTRAINTS[letter]
            if is_output and "+" not in constraint:
                before.append(f"{kind} nl_{i}; __builtin_memset(&nl_{i}, 0, sizeof nl_{i});")
            else:
                before.append(f"{kind} nl_{i} = {PTX}as<{kind}>({expression});")
            if is_output:
                after.append(f"{PTX}put({expression}, nl_{i});")
        carry = "bool nl_carry = false;" if self.uses_carry else ""
        inner = " ".join([*before, carry, body, *after])
        if self.labels:
            return f"[&] {{ {inner} }}()"
        return f"do {{ {inner} }} while (0)"

    def translate_template(self, text):
        """Translates the instructions of a template in order."""
        out, heads, at = [], [], 0
        self.registers.append({})
        for piece in split_template(text):
            if piece == "{":
                self.registers.append({})
                out.append("{")
            elif piece == "}":
                if len(self.registers) > 1:
                    self.registers.pop()
                out.append("}")
            elif label := re.match(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)", piece):
                out.append(f"{self.label_name(label[1])}:;")
                rest = piece[label.end() :].strip()
                if rest:
                    out.append(self.translate_instruction(rest))
            elif piece.strip():
                out.append(self.translate_instruction(piece.strip()))
        if self.labels:  # declare all variables first, because a goto must not cross a declaration
            heads, out = self.hoist_declarations(out)
        del at
        return " ".join([*heads, *out])

    def hoist_declarations(self, out):
        declared = re.compile(
            r"(?:unsigned __int128|unsigned long long|long long|[\w ]+?) nl_r\d+_\d+;"
        )
        heads, rest = [], []
        for one in out:
            heads += declared.findall(one)
            rest.append(declared.sub("", one))
        return heads, rest

    def label_name(self, name):
        return self.labels.setdefault(name, f"nl_l{self.number}_{len(self.labels)}")

    # ---- operands ----

    def operand_value(self, operand, kind):
        """Returns the C++ expression for an operand, converted to a C++ type."""
        operand = operand.strip()
        if operand.startswith("!"):
            return f"(!{self.operand_value(operand[1:], 'bool')})"
        if re.match(r"[%A-Za-z_$]", operand) and operand not in _SPECIAL:
            is_predicate = self.register_variable(operand)[1] == "bool"
            if is_predicate != (kind == "bool"):
                raise UnknownInstruction(
                    f"with the operand {operand}, which is {'a' if is_predicate else 'no'} predicate,"
                )
        return f"{PTX}as<{kind}>({self.operand_text(operand)})"

    def operand_text(self, operand):
        operand = operand.strip()
        if _IMMEDIATE.match(operand):
            return (
                operand.rstrip("U") + "LL"
                if not operand.lower().startswith("0x")
                else operand.rstrip("U") + "ULL"
            )
        if _REAL.match(operand):
            sign, digits = ("-", operand[1:]) if operand[0] == "-" else ("", operand)
            if digits[1:2] in ("f", "F"):
                return f"({sign}{PTX}as<float>(0x{digits[2:]}u))"
            if digits[1:2] in ("d", "D"):
                return f"({sign}{PTX}as<double>(0x{digits[2:]}ull))"
            return operand
        if operand.startswith("-"):
            return f"(-{self.operand_text(operand[1:])})"
        return self.register_variable(operand)[0]

    def register_variable(self, operand):
        """Returns (variable, C++ type) of a register; (variable, None) if the type is unknown. The operand
        `_` has no variable: it discards a result, and is not a source (see write_register)."""
        special = operand.replace("%%", "%")
        if special in _SPECIAL:
            return _SPECIAL[special], None
        if self.is_extended:
            if found := re.fullmatch(r"%(\d+)", operand):
                if int(found[1]) < len(self.operands):
                    return f"nl_{found[1]}", None
        for scope in reversed(self.registers):
            if special in scope:
                return scope[special]
        raise UnknownInstruction(f"with the operand {operand}")

    def write_register(self, operand, value):
        """Returns a C++ statement that writes a register."""
        if operand.strip() == "_":
            return f"(void)({value});"
        return f"{PTX}put({self.register_variable(operand.strip())[0]}, {value});"

    def address_expression(self, operand, modifiers):
        """Returns the C++ expression for the address [register + offset], as an integer."""
        inner = operand.strip()
        if not (inner.startswith("[") and inner.endswith("]")):
            raise UnknownInstruction(f"with the address {operand}")
        base, sign, offset = re.fullmatch(
            r"\s*([^+\-]+?)\s*(?:([+-])\s*([\w%+\-\s]+))?", inner[1:-1]
        ).groups()
        space = "shared" if any(m.startswith("shared") for m in modifiers) else "generic"
        text = f"{PTX}{space}({self.operand_text(base)})"
        if offset:
            text += f" {sign} {PTX}as<long long>({self.operand_text(offset)})"
        return f"({text})"

    # ---- instructions ----

    def translate_instruction(self, text):
        guard = ""
        if found := re.match(r"@(!?)\s*([%\w$\[\]]+)\s+", text):
            guard = f"if ({found[1]}{self.operand_value(found[2], 'bool')}) "
            text = text[found.end() :]
        if text.startswith("."):
            return self.declare_registers(text)
        opcode, _, rest = text.partition(" ") if " " in text else (text, "", "")
        if found := re.match(r"[\w.:]+", text):
            opcode, rest = found[0], text[found.end() :]
        name, *modifiers = [part for part in re.split(r"\.", opcode) if part]
        operands = [one.strip() for one in split_operands(rest)]
        if "L2::cache_hint" in modifiers:
            operands.pop()  # the cache policy has no effect on the simulator
        method = getattr(self, f"do_{name}", None)
        try:
            if method is not None:
                done = method(modifiers, operands)
            elif name in _PLAIN:
                done = self.simple_instruction(name, modifiers, operands)
            elif found := _SCALAR_VIDEO.fullmatch(name):
                done = self.scalar_video_instruction(found[1], modifiers, operands)
            elif found := _VIDEO.fullmatch(name):
                done = self.simd_video_instruction(found[1], found[2], modifiers, operands)
            else:
                raise UnknownInstruction(opcode)
        except (IndexError, ValueError, KeyError, AttributeError, TypeError, StopIteration):
            raise UnknownInstruction(opcode) from None
        return f"{guard}{{ {done} }}"

    def declare_registers(self, text):
        found = re.fullmatch(r"\.reg\s*\.(\w+)\s+(.*)", text, re.S)
        if not found or found[1] not in TYPES:
            raise UnknownInstruction(text.split()[0])
        kind, out = TYPES[found[1]], []
        for name in found[2].split(","):
            name = name.strip().replace("%%", "%")
            several = re.fullmatch(r"([%\w$]+)<(\d+)>", name)
            names = [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
            for one in names:
                self.serial += 1
                variable = f"nl_r{self.number}_{self.serial}"
                self.registers[-1][one] = variable, kind
                out.append(f"{kind} {variable};")
        return " ".join(out)

    def simple_instruction(self, name, modifiers, operands):
        """Returns the C++ statement for an instruction d = name(a, b, c) with operands and result of one type."""
        kind = instruction_type(modifiers)
        if "xorsign" in modifiers or (kind == "f32x2" and {"rz", "rm", "rp"} & {*modifiers}):
            raise UnknownInstruction(".".join([name, *modifiers]))
        if kind in ("f16", "bf16", "f16x2", "bf16x2"):
            return self.half_instruction(name, kind, modifiers, operands)
        if kind == "f32x2":
            values = ", ".join(self.operand_value(one, TYPES[kind]) for one in operands[1:])
            return self.write_register(operands[0], f"{PTX}f32x2::{name}({values})")
        function = _PLAIN[name]
        if kind in ("f32", "f64"):
            rounding = next((m for m in modifiers if m in ("rz", "rm", "rp")), None)
            if rounding and name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt"):
                named = {"rz": "rz", "rm": "rd", "rp": "ru"}[rounding]
                letter = "f" if kind == "f32" else "d"
                if kind == "f64" and name != "fma":
                    function = f"::__d{name}_{named}"
                elif kind == "f64":
                    function = f"::__fma_{named}"
                elif name == "fma":
                    function = f"::__fmaf_{named}"
                else:
                    function = f"::__{letter}{name}_{named}"
                values = ", ".join(self.operand_value(one, TYPES[kind]) for one in operands[1:])
                return self.write_register(operands[0], f"{function}({values})")
        values = ", ".join(self.operand_value(one, TYPES[kind]) for one in operands[1:])
        result = f"{PTX}{function}<{TYPES[kind]}>({values})"
        if "sat" in modifiers:
            result = (
                f"{PTX}saturated_{name}<{TYPES[kind]}>({values})"
                if kind == "s32"
                else f"{PTX}saturate({result})"
            )
        if "relu" in modifiers:
            raise UnknownInstruction(".".join([name, *modifiers]))
        if "cc" in modifiers:
            self.uses_carry = True
            return self.write_register(
                operands[0], f"{PTX}{function}_cc<{TYPES[kind]}>({values}, false, nl_carry)"
            )
        return self.write_register(operands[0], result)

    def half_instruction(self, name, kind, modifiers, operands):
        """Returns the C++ statement for an instruction on 16-bit numbers, or on pairs of 16-bit numbers."""
        known = "add sub mul fma min max neg abs tanh ex2".split()
        if name not in known or (name == "sub" and "relu" in modifiers):
            raise UnknownInstruction(".".join([name, *modifiers]))
        values = ", ".join(self.operand_value(one, TYPES[kind]) for one in operands[1:])
        nan = "_nan" if "NaN" in modifiers else ""
        result = f"{PTX}{kind}::{name}{nan}({values})"
        for after in ("sat", "relu"):
            if after in modifiers:
                result = f"{PTX}{kind}::{after}({result})"
        return self.write_register(operands[0], result)

    def carry_instruction(self, name, modifiers, operands):
        self.uses_carry = True
        kind = TYPES[instruction_type(modifiers)]
        values = ", ".join(self.operand_value(one, kind) for one in operands[1:])
        out = "nl_carry" if "cc" in modifiers else f"{PTX}lost()"
        return self.write_register(
            operands[0], f"{PTX}{name}_cc<{kind}>({values}, nl_carry, {out})"
        )

    def do_addc(self, modifiers, operands):
        return self.carry_instruction("add", modifiers, operands)

    def do_subc(self, modifiers, operands):
        return self.carry_instruction("sub", modifiers, operands)

    def do_mul(self, modifiers, operands):
        return self.multiply_instruction("mul", modifiers, operands)

    def do_mad(self, modifiers, operands):
        return self.multiply_instruction("mad", modifiers, operands)

    def do_madc(self, modifiers, operands):
        return self.multiply_instruction("madc", modifiers, operands)

    def multiply_instruction(self, name, modifiers, operands):
        kind = instruction_type(modifiers)
        if kind in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"):
            return self.simple_instruction("fma" if name == "mad" else name, modifiers, operands)
        which = next(m for m in modifiers if m in ("lo", "hi", "wide"))
        a, b = (self.operand_value(one, TYPES[kind]) for one in operands[1:3])
        result = f"{PTX}mul_{which}<{TYPES[kind]}>({a}, {b})"
        if name == "mul":
            return self.write_register(operands[0], result)
        wide = _WIDER[kind] if which == "wide" else TYPES[kind]
        c = self.operand_value(operands[3], wide)
        if "cc" in modifiers or name == "madc":
            self.uses_carry = True
            given = "nl_carry" if name == "madc" else "false"
            out = "nl_carry" if "cc" in modifiers else f"{PTX}lost()"
            return self.write_register(
                operands[0], f"{PTX}add_cc<{wide}>({result}, {c}, {given}, {out})"
            )
        return self.write_register(operands[0], f"{PTX}add<{wide}>({result}, {c})")

    def do_mov(self, modifiers, operands):
        kind = instruction_type(modifiers)
        to, source = operands
        if source.startswith("{"):
            parts = split_operands(source[1:-1])
            piece = _integer_type(type_size(kind) // len(parts))
            values = ", ".join(self.operand_value(one, piece) for one in parts)
            return self.write_register(
                to, f"{PTX}packed<{_integer_type(type_size(kind))}, {piece}>({values})"
            )
        if to.startswith("{"):
            parts = split_operands(to[1:-1])
            piece, whole = (
                _integer_type(type_size(kind) // len(parts)),
                _integer_type(type_size(kind)),
            )
            out = [f"{whole} nl_whole = {self.operand_value(source, whole)};"]
            out += [
                self.write_register(one, f"{PTX}part<{piece}>(nl_whole, {i})")
                for i, one in enumerate(parts)
            ]
            return " ".join(out)
        return self.write_register(to, self.operand_value(source, TYPES[kind]))

    def do_setp(self, modifiers, operands):
        compare, *rest = modifiers
        result = self.comparison(compare, instruction_type(rest), operands[1:])
        first, _, second = operands[0].partition("|")
        join = next((m for m in rest if m in ("and", "or", "xor")), None)
        sign = {"and": "&", "or": "|", "xor": "^"}
        out = f"bool nl_is = {result};"
        other = self.operand_value(operands[3], "bool") if join else ""
        joined = f"(nl_is {sign[join]} {other})" if join else "nl_is"
        opposite = f"(!nl_is {sign[join]} {other})" if join else "(!nl_is)"
        if second.strip():
            out += f" bool nl_not = {opposite};" + self.write_register(second, "nl_not")
        return out + self.write_register(first, joined)

    def comparison(self, compare, kind, operands):
        a, b = (self.operand_value(one, TYPES[kind]) for one in operands[:2])
        if compare in ("lo", "ls", "hi", "hs"):
            compare = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[compare]
        if kind in ("f16", "bf16"):
            a, b = f"{PTX}{kind}::real({a})", f"{PTX}{kind}::real({b})"
        sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        either = f"({a} != {a} || {b} != {b})"
        if compare == "num":
            return f"(!{either})"
        if compare == "nan":
            return either
        if compare.endswith("u") and compare[:-1] in sign and kind[0] in "fb":
            return f"({either} || {a} {sign[compare[:-1]]} {b})"
        if compare == "ne" and kind in ("f32", "f64", "f16", "bf16"):
            return f"(!{either} && {a} != {b})"
        return f"({a} {sign[compare]} {b})"

    def do_set(self, modifiers, operands):
        to = TYPES[modifiers[-2]]
        result = self.comparison(modifiers[0], modifiers[-1], operands[1:])
        yes = "1.0f" if to == "float" else f"static_cast<{to}>(-1)"
        return self.write_register(operands[0], f"({result} ? {yes} : static_cast<{to}>(0))")

    def do_selp(self, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        a, b = (self.operand_value(one, kind) for one in operands[1:3])
        return self.write_register(
            operands[0], f"({self.operand_value(operands[3], 'bool')} ? {a} : {b})"
        )

    def do_slct(self, modifiers, operands):
        kind, by = TYPES[modifiers[-2]], TYPES[modifiers[-1]]
        a, b = (self.operand_value(one, kind) for one in operands[1:3])
        return self.write_register(
            operands[0], f"({self.operand_value(operands[3], by)} >= 0 ? {a} : {b})"
        )

    def do_cvt(self, modifiers, operands):
        if any(m in _PAIRS for m in modifiers):
            return self.convert_pairs(modifiers, operands)
        kinds = [m for m in modifiers if m in TYPES]
        to, source = kinds[-2], kinds[-1]
        rounding = next(
            (
                m
                for m in modifiers
                if m in ("rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna")
            ),
            "rn",
        )
        if len(operands) == 3:
            if (
                to not in ("f16x2", "bf16x2")
                or source != "f32"
                or rounding != "rn"
                or "relu" in modifiers
            ):
                raise UnknownInstruction("cvt." + ".".join(modifiers))
            a, b = (self.operand_value(one, "float") for one in operands[1:])
            return self.write_register(operands[0], f"{PTX}{to}::both({b}, {a})")
        value = self.operand_value(operands[1], TYPES[source])
        if source in ("f16", "bf16"):
            value, source = f"{PTX}{source}::real({value})", "f32"
        if to in ("f16", "bf16"):
            if rounding != "rn":
                raise UnknownInstruction("cvt." + ".".join(modifiers))
            return self.write_register(operands[0], f"{PTX}{to}::from(static_cast<float>({value}))")
        if to in ("f16x2", "bf16x2") or source in ("f16x2", "bf16x2"):
            raise UnknownInstruction("cvt." + ".".join(modifiers))
        a, b = TYPES[to], TYPES[source]
        if to in ("f32", "f64"):
            if source in ("f32", "f64") and rounding.endswith("i"):
                result = f"{PTX}rounded<{b}>({value}, '{rounding[1]}')"
                result = f"static_cast<{a}>({result})"
            elif rounding in ("rn", "rni") or to == "f64":
                result = f"static_cast<{a}>({value})"
            elif source == "f64":
                named = {"rz": "rz", "rm": "rd", "rp": "ru"}[rounding]
                result = f"__double2float_{named}({value})"
            else:
                raise UnknownInstruction("cvt." + ".".join(modifiers))
            if "sat" in modifiers:
                result = f"{PTX}saturate({result})"
        elif source in ("f32", "f64"):
            result = f"{PTX}whole<{a}>({PTX}rounded<{b}>({value}, '{rounding[1]}'))"
        elif "sat" in modifiers:
            result = f"{PTX}clamped<{a}>({value})"
        else:
            result = f"static_cast<{a}>({value})"
        return self.write_register(operands[0], result)

    def convert_pairs(self, modifiers, operands):
        """Translates conversions from and to pairs of 8-, 6- or 4-bit numbers in one register."""
        to, source = [m for m in modifiers if m in _PAIRS or m in TYPES]
        rest = {*modifiers} - {to, source}
        if to in _PAIRS and source in ("f32", "f16x2") and rest == {"rn", "satfinite"}:
            kind = "float" if source == "f32" else "unsigned"
            values = ", ".join(self.operand_value(one, kind) for one in reversed(operands[1:]))
            function = f"pair_of_{'floats' if source == 'f32' else 'halves'}"
            return self.write_register(
                operands[0], f"{PTX}{function}<{_NARROW}{to[:-2]}>({values})"
            )
        if to == "f16x2" and source in _PAIRS and rest == {"rn"}:
            value = self.operand_value(operands[1], "unsigned short")
            return self.write_register(
                operands[0], f"{PTX}halves_of_pair<{_NARROW}{source[:-2]}>({value})"
            )
        raise UnknownInstruction("cvt." + ".".join(modifiers))

    def do_createpolicy(self, modifiers, operands):
        return self.write_register(operands[0], "0")

    def do_testp(self, modifiers, operands):
        value = self.operand_value(operands[1], TYPES[modifiers[1]])
        test = {
            "finite": "isfinite({})",
            "infinite": "isinf({})",
            "number": "!isnan({})",
            "notanumber": "isnan({})",
        }
        return self.write_register(operands[0], f"({test[modifiers[0]].format(value)})")

    def do_copysign(self, modifiers, operands):
        kind = TYPES[instruction_type(modifiers)]
        a, b = (self.operand_value(one, kind) for one in operands[1:])
        return self.write_register(operands[0], f"copysign({b}, {a})")

    def do_prefetch(self, modifiers, operands):
        return ""

    do_prefetchu = do_applypriority = do_discard = do_prefetch
    do_griddepcontrol = do_setmaxnreg = do_pmevent = do_prefetch

    def do_exit(self, modifiers, operands):
        return "::numbalite_sim::exit_thread();"

    def do_trap(self, modifiers, operands):
        return "__trap();"

    def do_brkpt(self, modifiers, operands):
        return "__brkpt();"

    def do_ret(self, modifiers, operands):
        raise UnknownInstruction("ret")

    def do_nanosleep(self, modifiers, operands):
        return f"__nanosleep({self.operand_value(operands[0], 'unsigned')});"

    def do_bra(self, modifiers, operands):
        return f"goto {self.label_name(operands[0])};"


_PLAIN = {
    **{name: name for name in (
        "add", "sub", "div", "rem", "min", "max", "abs", "neg", "fma", "mul", "sqrt", "rsqrt", "rcp", "sin", "cos",
        "ex2", "lg2", "tanh", "brev", "cnot", "sad", "mul24", "mad24",
    )},
    "and": "and_", "or": "or_", "xor": "xor_", "not": "not_",
}  # fmt: skip
_WIDER = {"u16": "unsigned", "s16": "int", "u32": "unsigned long long", "s32": "long long",
          "u64": "unsigned __int128", "s64": "__int128"}  # fmt: skip


def _integer_type(size):
    kinds = {
        1: "unsigned char",
        2: "unsigned short",
        4: "unsigned",
        8: "unsigned long long",
        16: "unsigned __int128",
    }
    return kinds[size]
