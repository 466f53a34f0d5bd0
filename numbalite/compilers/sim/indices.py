"""Instruments signed overflow in the computation of indices, in LLVM IR from clang's front end.

An index is followed backwards from its use (a getelementptr of an array element) through local variables,
sums and products, to the functions that return it and the callers that pass it. For each signed sum,
difference and product on that path whose overflow is undefined in C++, a call of cuda_src/sim/check.h is
inserted. Unsigned sums and products are followed, but not checked: row * width + threadIdx.x adds a signed
product to an unsigned number. Masked, divided and shifted values are not followed: hashes and random numbers wrap on purpose.
"""

from __future__ import annotations

import re

from numbalite.compilers.sim import ir as syntax
from numbalite.compilers.sim.ir import NAME as _NAME

_RESULT = re.compile(rf"  ({_NAME}) = (.*)")
_STORE = re.compile(rf"  store i(?:32|64) ({_NAME}), (?:ptr|i\d+\*) ({_NAME}),")
_LOAD = re.compile(rf"load i(?:32|64), (?:ptr|i\d+\*) ({_NAME}),")
_WIDER = re.compile(rf"[sz]ext (?:nneg )?i32 ({_NAME}) to i64")
_SUM = re.compile(r"(add|sub|mul) (?:nuw )?(nsw )?(i32|i64) ([^ ,]+), ([^ ,]+)(.*)")
_CHOICE = re.compile(r"(?:phi|select) ")
_CALL = re.compile(r'call [^@\n]*?\b(?:i32|i64|void|ptr|[^ @\n]*\*) @([\w.$]+|"[^"]+")\((.*)\)')
_INDEX = re.compile(rf"\bi(?:32|64) ({_NAME})")
_ARRAY = "9numbalite5array"
_TELL = "nl_sim_index_overflow"
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}


def argument_names(text: str) -> list[str]:
    """Returns the value names in a list of parameters or arguments, or "" for constants."""
    last = (part.rsplit(" ", 1)[-1] for part in syntax.split_list(text))
    return [name if name.startswith("%") else "" for name in last]


class _IndexFunction:
    def __init__(self, name, text):
        self.name, self.text = name, text
        head, _, body = text.partition("\n")
        given = syntax.DEFINED.match(head)[2]
        depth = 1
        for at, sign in enumerate(given):
            depth += (sign == "(") - (sign == ")")
            if depth == 0:
                given = given[:at]
                break
        self.parameters = {n: i for i, n in enumerate(argument_names(given)) if n}
        self.results, self.stored, self.calls = {}, {}, []
        self.seeds, self.returned = set(), set()
        for line in body.split("\n"):
            call = None
            if found := _RESULT.match(line):
                rest = found[2]
                self.results[found[1]] = rest
                if rest.startswith("getelementptr"):
                    self.seeds.update(_INDEX.findall(rest))
                call = _CALL.search(rest) if "call " in rest else None
            elif found := _STORE.match(line):
                self.stored.setdefault(found[2], []).append(found[1])
            elif line.startswith(("  ret i32 %", "  ret i64 %")):
                self.returned.update(syntax.VALUE.findall(line.partition(", !dbg")[0]))
            elif "call " in line:
                call = _CALL.search(line)
            if call:
                values = argument_names(call[2])
                self.calls.append((call[1].strip('"'), values))
                if _ARRAY in call[1]:
                    self.seeds.update(filter(None, values))
        self.reached, self.sums = set(), set()

    def trace_indices(self, values):
        """Follows values backwards through a function. Returns the functions that return indices, and the
        parameters that are indices."""
        waiting, functions, parameters = list(values), set(), set()
        while waiting:
            value = waiting.pop()
            if value in self.reached:
                continue
            self.reached.add(value)
            if value in self.parameters:
                parameters.add(self.parameters[value])
            rest = self.results.get(value, "")
            if found := _WIDER.match(rest):
                waiting.append(found[1])
            elif found := _LOAD.match(rest):
                waiting += self.stored.get(found[1], ())
            elif found := _SUM.match(rest):
                if found[2]:
                    self.sums.add(value)
                waiting += (one for one in (found[4], found[5]) if one.startswith("%"))
            elif _CHOICE.match(rest):
                waiting += syntax.VALUE.findall(syntax.without_debug_locations(rest))
            elif "call " in rest and (found := _CALL.search(rest)):
                functions.add(found[1].strip('"'))
        return functions, parameters


def insert_overflow_checks(functions: list[str], is_watched) -> list[str]:
    """Returns the texts of all functions, with a check inserted after each operation of an index that may
    overflow. is_watched(text) returns whether a function is user code; functions of other code are
    unchanged."""
    functions_by_name = {}
    for at, text in enumerate(functions):
        if (found := syntax.DEFINED.match(text)) and is_watched(text):
            functions_by_name[found[1].strip('"')] = (at, _IndexFunction(found[1].strip('"'), text))
    callers: dict[str, list[tuple[_IndexFunction, list[str]]]] = {}
    for _, function in functions_by_name.values():
        for called, values in function.calls:
            if called in functions_by_name:
                callers.setdefault(called, []).append((function, values))
    waiting = [(f, f.seeds) for _, f in functions_by_name.values() if f.seeds]
    while waiting:
        function, values = waiting.pop()
        returning, parameters = function.trace_indices(values)
        waiting += (
            (functions_by_name[n][1], functions_by_name[n][1].returned)
            for n in returning
            if n in functions_by_name
        )
        for caller, given in callers.get(function.name, ()) if parameters else ():
            waiting.append((caller, {given[i] for i in parameters if i < len(given)} - {""}))
    result = list(functions)
    for at, function in functions_by_name.values():
        if function.sums:
            result[at] = _insert_check_calls(function)
    return result


def overflow_intrinsics(functions: list[str]) -> str:
    """Returns the declarations of the intrinsics that the inserted calls need."""
    found = sorted(
        {m for text in functions for m in re.findall(r"@llvm\.s\w+\.with\.overflow\.i\d+", text)}
    )
    return "".join(
        f"declare {{ {(t := name.rpartition('.')[2])}, i1 }} {name}({t}, {t})\n" for name in found
    )


def _insert_check_calls(function):
    out = []
    for line in function.text.split("\n"):
        found = _RESULT.match(line) if " nsw " in line else None
        if not found or found[1] not in function.sums:
            out.append(line)
            continue
        operation, _, type_, a, b, _ = _SUM.match(found[2]).groups()
        debug, new = syntax.debug_location(line), f"%nl.index.{len(out)}"
        both = f"{{ {type_}, i1 }}"
        out.append(f"  {found[1]} = {operation} {type_} {a}, {b}{debug}")
        out.append(
            f"  {new} = call {both} @llvm.s{operation}.with.overflow.{type_}({type_} {a}, {type_} {b}){debug}"
        )
        out.append(f"  {new}.o = extractvalue {both} {new}, 1{debug}")
        wide = []
        for i, value in enumerate((a, b)):
            if type_ == "i32":
                out.append(f"  {new}.{i} = sext i32 {value} to i64{debug}")
                value = f"{new}.{i}"
            wide.append(f"i64 {value}")
        how = f"i32 {ord(_SIGNS[operation])}, i32 {type_[1:]}"
        out.append(f"  call void @{_TELL}(i1 zeroext {new}.o, {', '.join(wide)}, {how}){debug}")
    return "\n".join(out)
