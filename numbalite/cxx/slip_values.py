"""Implements rules for values: comparisons with a constant result, unsigned differences converted to floating
point, wrong formulas for grid indices, calls whose result is unused or whose arguments do not match.

The methods of RULES receive the index of the operator's token, those of STATEMENTS a Statement.
"""

from __future__ import annotations

import math
import re
import struct

from numbalite.cxx.scanner import TYPE_WORDS
from numbalite.cxx.slip_search import (
    ASSIGNMENTS,
    COMPARISONS,
    FLOAT_TYPES,
    INTEGER,
    INTEGER_TYPES,
    LITERAL,
    MistakeSearch,
    value_of,
)
from numbalite.types.keywords import KEYWORDS

_NAN = frozenset(("NAN", "CUDART_NAN", "CUDART_NAN_F"))
_DOUBLE = re.compile(r"\d*\.\d+(?:[eE][-+]?\d+)?|\d+\.(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+")
_FLOAT = re.compile(rf"(?:{_DOUBLE.pattern})[fF]?")
_LARGEST = {"int": 2**31, "int32": 2**31, "int32_t": 2**31, "unsigned": 2**32, "uint32_t": 2**32}
_CONVERSION = re.compile(
    r"%(?:%|[-+ #0]*(\*|\d*)(?:\.(\*|\d*))?(?:hh|ll|[hljztL])?[diouxXeEfFgGaAcspn])"
)
_PURE = frozenset(
    f"{prefix}{name}{suffix}"
    for name in (
        "min max abs fabs sqrt rsqrt cbrt exp exp2 log log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh "
        "floor ceil trunc round rint fmin fmax fmod hypot isnan isinf isfinite clamp"
    ).split()
    for prefix in ("", "std::")
    for suffix in ("", "f")
) | frozenset(
    "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __popc __popcll __clz __clzll __ffs __ffsll "
    "__brev".split()
)
_WITHIN = {"*", "/", "%", ".", "->", "::", "<<", ">>", "-", "~"}
_OPPOSITE = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_HOLDS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class ValueRules(MistakeSearch):
    """The rules."""

    # ---- comparisons

    def _check_equality(self, at):
        code = self.code
        first, end = self.operand_start(at - 1), self.operand_end(at + 1)
        left, right = code.range_text(first, at), code.range_text(at + 1, end)
        is_operand = self.is_operand(at - 1) and code.text(first - 1) not in _WITHIN
        if not is_operand or code.text(at - 1) == "operator":
            return
        if right in _NAN:
            wanted = f"isnan({left})" if code.text(at) == "==" else f"!isnan({left})"
            result = "false" if code.text(at) == "==" else "true"
            self.add(
                "nan", at, f"{left} {code.text(at)} {right} is always {result}: write {wanted}"
            )
            return
        self._check_equality_chain(at)
        self._check_double_comparison(at, first, left)
        self._check_mask_comparison(at, left, right)
        arrays = [self._is_array(i) for i in (at - 1, at + 1)]
        if all(arrays) and end == at + 2 and first == at - 1:
            self.add(
                "array", at, f"{left} and {right} are arrays: this compares their addresses: write {left}[k] "
                f"{code.text(at)} {right}[k] for each k",
            )  # fmt: skip
        elif left == right and first == at - 1 and self.is_integer(first) and self.is_local(first):
            result = "true" if code.text(at) == "==" else "false"
            self.add("repeated", at, f"both sides of {code.text(at)} are {left}: it is {result}")

    def _check_equality_chain(self, at):
        code = self.code
        first, last = self.segment_around(at)
        top = list(code.top_level_tokens(first, last))
        signs = [i for i in top if code.text(i) in COMPARISONS]
        if len(signs) != 2 or signs[0] != at or {code.text(i) for i in signs} != {"=="}:
            return
        if any(code.text(i) in ("&", "|", "^", "true", "false") for i in top):
            return
        a, b, c = (
            code.range_text(i, k)
            for i, k in ((first, at), (at + 1, signs[1]), (signs[1] + 1, last))
        )
        self.add(
            "chain", at,
            f"{a} == {b} == {c} compares the result of the first comparison, 0 or 1: write {a} == {b} && {b} == {c}",
        )  # fmt: skip

    def _check_double_comparison(self, at, first, left):
        """Reports comparisons of a float with a double literal such as 0.1, which no float equals."""
        code, number = self.code, self.code.text(at + 1)
        if not _DOUBLE.fullmatch(number) or code.text(at + 2) in _WITHIN | {"+"}:
            return
        value = float(number)
        if abs(value) > 3e38 or struct.unpack("f", struct.pack("f", value))[0] == value:
            return
        is_element = code.text(at - 1) == "]" and code.partner.get(at - 1) == first + 1
        if (is_element or first == at - 1) and self._is_float(first, is_element):
            result = "false" if code.text(at) == "==" else "true"
            self.add(
                "literal", at,
                f"{number} is a double, which no float equals, so this is always {result}: write {left} "
                f"{code.text(at)} {number}f, or compare the distance",
            )  # fmt: skip

    def _is_float(self, at, is_element):
        """Returns whether a name is declared once, as a float, as a pointer to floats, or as an array of
        floats."""
        code, body = self.code, self.body_of(at)
        if body is None:
            return False
        name = code.text(at)
        found = self.declarations(body).get(name, ())
        if not is_element:
            return len(found) == 1 and code.text(found[0] - 1) in ("float", "float32")
        first, last = body.parameters
        for i in range(first, last):
            if code.text(i) == name and code.text(i - 1) == "*":
                return code.text(i - 2) == "float" and not found
        return len(found) == 1 and code.text(found[0] - 1) == "float"

    def _check_mask_comparison(self, at, left, right):
        """Reports comparisons that a mask makes constant: (i & 1) == 2"""
        code = self.code
        opening = code.partner.get(at - 1, -1)
        value = LITERAL.fullmatch(right)
        if code.text(at - 1) != ")" or opening < 0 or value is None:
            return
        inside = list(code.top_level_tokens(opening + 1, at - 1))
        signs = [i for i in inside if code.text(i) == "&"]
        mask = LITERAL.fullmatch(code.text(at - 2)) if len(signs) == 1 else None
        if code.tokens[opening - 1].kind == "name" and code.text(opening - 1) not in KEYWORDS:
            return  # a call
        if mask is None or signs[0] != at - 3 or not value_of(value) & ~value_of(mask):
            return
        result = "false" if code.text(at) == "==" else "true"
        self.add(
            "bits", at,
            f"{left} has no bit of {right} that {mask[0]} has not, so this is always {result}: write the mask {right}",
        )  # fmt: skip

    def _is_array(self, at):
        body = self.body_of(at)
        name = self.code.tokens[at]
        return (
            body is not None
            and name.kind == "name"
            and self.is_local_array(body, name.text)
            and len(self.declarations(body).get(name.text, ())) == 1
        )

    def _check_range(self, at):
        """Reports conditions that are always true or false: i > 5 && i < 3, i != 1 || i != 2"""
        code = self.code
        sides = [self._comparison_operands(*self.segment_around(i)) for i in (at - 1, at + 1)]
        if None in sides or sides[0][0] != sides[1][0]:
            return
        (operand, *one), (_, *other) = sides
        low, high = sorted((one[1], other[1]))
        tried = [low - 1, low, (low + high) / 2, high, high + 1]
        results = {(_HOLDS[one[0]](x, one[1]), _HOLDS[other[0]](x, other[1])) for x in tried}
        both = code.text(at) == "&&"
        if {(all if both else any)(result) for result in results} == {not both}:
            wanted = "||" if both else "&&"
            self.add(
                "range", at,
                f"{'no' if both else 'each'} value of {operand} makes this true: write {wanted}, or another number",
            )  # fmt: skip

    def _comparison_operands(self, first, last):
        """Returns (operand, sign, number) of a comparison with a number, or None for any other comparison."""
        code = self.code
        signs = [i for i in code.top_level_tokens(first, last) if code.text(i) in COMPARISONS]
        if len(signs) != 1:
            return None
        at = signs[0]
        texts = code.range_text(first, at), code.range_text(at + 1, last)
        if any("(" in text or "++" in text or "--" in text for text in texts):
            return None
        numbers = [_number_value(text) for text in texts]
        if numbers[1] is not None and numbers[0] is None:
            return texts[0], code.text(at), numbers[1]
        if numbers[0] is not None and numbers[1] is None:
            return texts[1], _OPPOSITE[code.text(at)], numbers[0]
        return None

    def _check_conditional(self, at):
        code = self.code
        first, last = self.segment_around(at - 1)
        if last != at:
            return
        top = list(code.top_level_tokens(first, last))
        signs = [code.text(i) for i in top if code.tokens[i].kind == "sign" and i > first]
        if "+" in signs and not set(signs) & (COMPARISONS | {"&", "|", "^", "<<", ">>", "!", "<"}):
            where = max(i for i in top if code.text(i) == "+")
            self.add(
                "question", at,
                f"?: comes after +, so {code.range_text(first, last)} is the condition: write "
                f"{code.range_text(first, where)} + ({code.range_text(where + 1, last)} ? ... : ...)",
            )  # fmt: skip
        literal = LITERAL.fullmatch(code.text(at - 1))
        if literal and first == at - 1 and code.text(at - 2) == "=" and self.is_operand(at - 3):
            name = code.range_text(self.operand_start(at - 3), at - 2)
            self.add(
                "assigned", at - 2, f"the condition is {literal[0]} alone: write {name} == {literal[0]} to compare"
            )  # fmt: skip
        colon, end = self._has_equal_branches(at)
        if colon and code.range_text(at + 1, colon) == code.range_text(colon + 1, end):
            self.add(
                "repeated", at, f"both results of ?: are {code.range_text(at + 1, colon)}: write another one"
            )  # fmt: skip

    def _has_equal_branches(self, at):
        code, depth, colon = self.code, 1, at + 1
        while depth and code.text(colon) not in (";", ")", "]", "}", ""):
            depth += (code.text(colon) == "?") - (code.text(colon) == ":")
            if depth:
                colon = code.index_after(colon)
        if depth or any(code.text(i) == "?" for i in range(at + 1, colon)):
            return 0, 0
        return colon, self.segment_around(colon + 1)[1]

    # ---- sums and products

    def _check_difference(self, at):
        code = self.code
        self._check_unsigned_difference(at)
        if not self.is_operand(at - 1):
            return
        first, end = self.operand_start(at - 1), self.operand_end(at + 1)
        left = code.range_text(first, at)
        if not ("[" in left or "." in left) or "(" in left or left != code.range_text(at + 1, end):
            return
        if code.text(first - 1) in _WITHIN or code.text(end) in _WITHIN | {"[", "("}:
            return
        if code.text(end) == "+" and _FLOAT.fullmatch(code.text(end + 1)):
            return  # an index that depends on a loaded value, as benchmarks use it
        self.add("repeated", at, f"both sides of - are {left}: it is 0")

    def _check_unsigned_difference(self, at):
        """Reports unsigned differences converted to float: float d = threadIdx.x - 5;, (threadIdx.x - 16) *
        0.1f"""
        code = self.code
        first, last = self.segment_around(at)
        top = list(code.top_level_tokens(first, last))
        start = first + (first == at)
        if code.text(start) not in ("threadIdx", "blockIdx") or first == last:
            return
        if [i for i in top if code.text(i) == "-"] != [at] or code.text(at + 1) == "0":
            return
        for i in top:
            token = code.tokens[i]
            if token.kind == "sign" and token.text not in ("+", "-", "*", "/", "."):
                return
            if token.kind == "number" and not INTEGER.fullmatch(token.text):
                return
            if token.kind == "name" and not self._is_grid_index(i) and not self.is_integer(i):
                return
        is_value = code.text(first - 1) == "=" and code.text(first - 3) in FLOAT_TYPES
        if not (is_value or self._is_scaled_by_float(first, last)) or self._is_compared_index(
            start
        ):
            return
        name = code.range_text(start, start + 3)
        self.add(
            "unsigned", at,
            f"{name} is unsigned, so a difference below 0 becomes about 4.29e9: write (int){name} first",
        )  # fmt: skip

    def _check_ratio(self, at):
        """Reports an integer division assigned to a float: float u = i / n;"""
        code = self.code
        is_value = code.text(at - 2) == "=" and code.text(at - 4) in FLOAT_TYPES
        if not is_value or code.text(at + 2) != ";":
            return
        if self.is_integer(at - 1) and (self.is_integer(at + 1)):
            left, right = code.text(at - 1), code.text(at + 1)
            self.add(
                "quotient", at, f"{left} / {right} divides integers and drops the fraction: write (float){left} / {right}"
            )  # fmt: skip

    def _is_grid_index(self, at):
        code = self.code
        if code.text(at - 1) == ".":
            at -= 2
        return code.text(at) in ("threadIdx", "blockIdx", "blockDim", "gridDim")

    def _is_scaled_by_float(self, first, last):
        code = self.code
        if code.text(first - 1) != "(" or code.text(last) != ")":
            return False
        if code.text(first - 2) in FLOAT_TYPES:
            return True
        if code.text(first - 2) == ")" and code.text(first - 3) in FLOAT_TYPES:
            return code.text(first - 4) == "("
        return (code.text(last + 1) in ("*", "/") and _FLOAT.fullmatch(code.text(last + 2))) or (
            code.text(first - 2) == "*" and _FLOAT.fullmatch(code.text(first - 3))
        )

    def _is_compared_index(self, at):
        """Returns whether the function compares the index with any value."""
        code, body = self.code, self.body_of(at)
        if body is None:
            return True
        name = code.range_text(at, at + 3)
        for i in range(body.block.first, body.block.last):
            if code.text(i) == code.text(at) and code.range_text(i, i + 3) == name:
                if {code.text(i - 1), code.text(i + 3)} & COMPARISONS or code.text(i + 3) == "?":
                    return True
                if code.text(i - 1) == "(" and code.text(i + 3) == ")":
                    return True  # if (threadIdx.x)
        return False

    def _check_index_formula(self, at):
        """Reports a wrong formula for the global index: threadIdx.x * blockDim.x + blockIdx.x"""
        code = self.code
        first, last = self.segment_around(at)
        if last - first != 11 or at != first + 3:
            return
        parts = [code.range_text(first + k, first + k + 3) for k in (0, 4, 8)]
        signs = [code.text(first + 3), code.text(first + 7)]
        names = [part[:-2] for part in parts]
        if len({part[-2:] for part in parts}) != 1 or not set(signs) <= {"+", "*"}:
            return
        kinds = set(names)
        size = {frozenset(("threadIdx", "blockIdx", "blockDim")): "blockDim",
                frozenset(("threadIdx", "blockIdx", "gridDim")): "gridDim"}.get(frozenset(kinds))  # fmt: skip
        if size is None:
            return
        product = names[:2] if signs == ["*", "+"] else names[1:] if signs == ["+", "*"] else []
        right = {"blockIdx", "blockDim"} if size == "blockDim" else {"threadIdx", "gridDim"}
        if set(product) == right:
            return
        axis = parts[0][-2:]
        self.add(
            "formula", first,
            f"{code.range_text(first, last)} gives several threads one index: write blockIdx{axis} * blockDim{axis} + "
            f"threadIdx{axis}",
        )  # fmt: skip

    # ---- calls

    def _check_call(self, at):
        name = self.code.text(at - 1)
        if name == "printf":
            self._check_printf(at)
        elif name in ("memset", "memcpy"):
            self._check_memory_call(at, name)
        elif name.startswith("atomic"):
            self._check_atomic(at, name)

    def _check_printf(self, at):
        code, arguments = self.code, self.arguments(at)
        if not arguments:
            return
        first, last = arguments[0]
        tokens = code.tokens[first:last]
        if any(token.kind != "string" for token in tokens) or any(
            code.text(i) == "..." for i in range(at, code.partner[at])
        ):
            return
        wanted = sum(
            1 + match[0].count("*")
            for match in _CONVERSION.finditer("".join(token.text for token in tokens))
            if match[0] != "%%"
        )
        given = len(arguments) - 1
        if wanted != given:
            self.add(
                "format", at - 1,
                f"the text of printf has {_count_with_noun(wanted, 'conversion')}, and {_count_with_noun(given, 'value')} "
                f"{'follows' if given == 1 else 'follow'} it",
            )  # fmt: skip

    def _check_memory_call(self, at, name):
        code, arguments = self.code, self.arguments(at)
        if len(arguments) != 3 or code.text(at - 2) in (".", "->"):
            return
        target, value, size = (code.range_text(*one) for one in arguments)
        opening = arguments[2][0] + 1
        if name == "memset" and size == "0" and value != "0":
            self.add(
                "memory", at - 1, f"memset sets 0 bytes here: write memset({target}, 0, {value})"
            )
            return
        is_simple = arguments[0][1] == arguments[0][0] + 1
        body = self.body_of(at)
        if not is_simple or body is None:
            return
        is_array = self.is_local_array(body, target)
        if size.replace(" ", "") == f"sizeof({target})" and self._is_pointer(body, target):
            self.add(
                "memory", opening, f"sizeof({target}) is the size of a pointer: write the number of bytes"
            )  # fmt: skip
        number = LITERAL.fullmatch(value)
        found = self.declarations(body).get(target, ())
        words = {code.text(i - 1) for i in found}
        is_wide = is_array and words <= (INTEGER_TYPES - {"char", "int8", "uint8"}) | FLOAT_TYPES
        if name == "memset" and number and is_wide and value_of(number) not in (0, 0xFF):
            self.add(
                "memory", arguments[1][0],
                f"memset sets each byte to {value}, not each element: write a loop",
            )  # fmt: skip

    def _is_pointer(self, body, name):
        code = self.code
        places = (*range(*body.parameters), *range(body.block.first, body.block.last))
        return not self.is_local_array(body, name) and any(
            code.text(i) == name and code.text(i - 1) == "*" and code.text(i - 2) in TYPE_WORDS | INTEGER_TYPES
            for i in places
        )  # fmt: skip

    def _check_atomic(self, at, name):
        """Reports atomicAdd(&sum, x[i]) if sum is a thread-local variable."""
        code, body = self.code, self.body_of(at)
        if code.text(at + 1) != "&" or code.tokens[at + 2].kind != "name" or body is None:
            return
        if code.text(at + 3) not in (",", "["):
            return
        variable = code.text(at + 2)
        found = self.declarations(body).get(variable, ())
        if len(found) != 1 or not body.block.first <= found[0] < at:
            return
        if code.text(at + 3) == "[" and not self.is_local_array(body, variable):
            return
        start = found[0]
        while code.text(start - 1) not in (";", "{", "}", "(", ""):
            start -= 1
        words = {code.text(i) for i in range(start, found[0])}
        numbers = TYPE_WORDS | INTEGER_TYPES | FLOAT_TYPES
        if not words <= numbers or "auto" in words:
            return
        self.add(
            "atomic", at - 1,
            f"{variable} is a variable of this thread, which no other thread has: write __shared__ in front of it, or "
            f"{variable} += without {name}",
        )  # fmt: skip

    # ---- statements

    def _check_unused_value(self, statement):
        code = self.code
        first, last = statement.first, statement.last - 1
        if code.text(last) != ";" or not self.is_user_code(first):
            return
        if code.text(first) == "*" and last == first + 3 and code.text(last - 1) in ("++", "--"):
            name, sign = code.text(first + 1), code.text(last - 1)
            self.add(
                "unused", first, f"*{name}{sign} moves {name} and drops the element: write (*{name}){sign}"
            )  # fmt: skip
            return
        if code.tokens[first].kind != "name" or code.text(first) in KEYWORDS:
            return
        is_whole = first + 1 < last and code.index_after(first + 1) == last
        if code.text(first + 1) == "[" and is_whole and last > first + 3:
            self.add(
                "unused", first, f"{code.range_text(first, last)} alone does nothing: assign it"
            )
        start = first + 2 if code.text(first + 1) == "::" else first
        is_call = code.text(start + 1) == "(" and code.index_after(start + 1) == last
        if (
            is_call
            and code.range_text(first, start + 1) in _PURE
            and not self._is_source_function(start)
        ):
            operand = self.arguments(start + 1)
            wanted = "assign it, or remove the line"
            if code.text(start).startswith("__shfl"):
                wanted = f"assign it, as in v += {code.text(start)}(...)"
            elif len(operand) > 1 and code.tokens[operand[0][0]].kind == "name":
                wanted = f"write {code.range_text(*operand[0])} = {code.range_text(first, last)}"
            self.add(
                "unused", first, f"the result of {code.range_text(first, start + 1)} is dropped: {wanted}"
            )  # fmt: skip

    def _is_source_function(self, at):
        """Returns whether the source defines a function or a macro of this name."""
        code, name = self.code, self.code.text(at)
        if re.search(rf"#\s*define\s+{name}\b", self.text):
            return True
        return any(
            token.text == name
            and code.text(i + 1) == "("
            and code.tokens[i - 1].kind == "name"
            and (code.text(i - 1) in TYPE_WORDS or code.text(i - 1) not in KEYWORDS)
            for i, token in enumerate(code.tokens)
        )

    def _check_value_range(self, statement):
        """Reports values that an integer variable cannot represent: int k = 3000000000;, sum += 0.5f"""
        code = self.code
        first, last = statement.first, statement.last - 1
        if (
            code.text(last) != ";"
            or not self.is_user_code(first)
            or last != first + (3 if code.text(first + 1) in ("+=", "-=") else 4)
        ):
            return  # fmt: skip
        if code.text(first + 1) in ("+=", "-="):
            number = code.text(first + 2)
            if (
                self.is_integer(first)
                and _FLOAT.fullmatch(number)
                and 0 < float(number.rstrip("fF")) < 1
            ):
                name = code.text(first)
                self.add(
                    "truncated", first + 1, f"{name} is an integer, so a sum with {number} drops the fraction: write float {name} where it is declared"
                )  # fmt: skip
        elif code.text(first + 2) == "=" and code.text(first) in _LARGEST:
            literal = LITERAL.fullmatch(code.text(first + 3))
            if (
                literal
                and literal["value"][1:2] not in tuple("xXbB")
                and value_of(literal) >= _LARGEST[code.text(first)]
            ):
                self.add(
                    "truncated", first + 3,
                    f"{literal[0]} does not fit into {code.text(first)}: write long long {code.text(first + 1)}",
                )  # fmt: skip

    def _check_hidden_variable(self, block):
        """Reports a variable of an inner block that hides an outer variable and whose value is never read."""
        code, body = self.code, self.body_of(block.first)
        if body is None or block.first == body.block.first:
            return
        for part in block.parts:
            at = part.first + 1
            is_one = part.kind == "plain" and code.text(part.first) in FLOAT_TYPES | INTEGER_TYPES
            if not is_one or code.text(at + 1) != "=" or not self.is_user_code(at):
                continue
            name = code.text(at)
            if name in code.in_macros:
                continue
            outer = [i for i in self.declarations(body).get(name, ()) if i < block.first]
            is_local = any(i > body.block.first and self._is_in_scope(i, block) for i in outer)
            used = any(code.text(i) == name for i in range(at + 1, block.last))
            if is_local and not used:
                self.add(
                    "hidden", at,
                    f"{name} is declared again here and not read: write {name} = without the type where the outer "
                    f"{name} is meant",
                )  # fmt: skip

    def _is_in_scope(self, at, block):
        """Returns whether a block is within the block, or the statement, that contains a declaration."""
        code = self.code
        while at > 0 and code.text(at) not in ("{", "("):
            at = (
                code.partner[at] - 1
                if code.text(at) in ("}", ")", "]") and at in code.partner
                else at - 1
            )
        return code.text(at) == "{" and code.partner.get(at, 0) > block.first

    def _check_constant_if(self, statement):
        """Reports if (s) for an array, if (i | 1), if (!(n = 3)), and equal branches."""
        code = self.code
        if statement.head is None:
            return
        if statement.kind == "if" and len(statement.parts) == 2:
            one, other = (code.range_text(part.first, part.last) for part in statement.parts)
            if one == other and len(one) > 3 and not self._is_intended_repetition(statement):
                self.add(
                    "repeated", statement.parts[1].first - 1, "this else does what the if does: write another statement"
                )  # fmt: skip
        first, last = statement.head
        if last == first + 1 and self._is_array(first):
            name = code.text(first)
            self.add("array", first, f"{name} is an array, which is always true: write {name}[k]")
        signs = [i for i in code.top_level_tokens(first, last) if code.tokens[i].kind == "sign"]
        literal = LITERAL.fullmatch(code.text(last - 1))
        texts = [code.text(i) for i in signs]
        if literal and value_of(literal) and last == first + 3 and texts == ["|"]:
            self.add(
                "bits", first + 1, f"{code.range_text(first, last)} is never 0: write {code.text(first)} & {literal[0]}"
            )  # fmt: skip
        if code.text(first) == "!" and code.text(first + 1) == "(" and last == first + 6:
            if code.text(first + 3) == "=" and LITERAL.fullmatch(code.text(first + 4)):
                name, value = code.text(first + 2), code.text(first + 4)
                self.add(
                    "assigned", first + 3, f"{name} = {value} sets {name}: write {name} == {value} to compare"
                )  # fmt: skip

    def _is_intended_repetition(self, statement):
        """Returns whether an `if` with two equal branches is one of several cases, or a comment explains a
        branch."""
        code, tokens = self.code, self.code.tokens
        spans = [
            (tokens[part.first].start, tokens[part.last - 1].start) for part in statement.parts
        ]
        is_explained = any(re.search(r"//|/\*", self.text[first:last]) for first, last in spans)
        return is_explained or code.text(statement.first - 1) == "else"

    def _check_loop(self, statement):
        code = self.code
        first, last = statement.head
        stops = [at for at in code.top_level_tokens(first, last) if code.text(at) == ";"]
        signs = (
            [at for at in code.top_level_tokens(first, stops[0]) if code.text(at) == "="]
            if stops
            else []
        )
        if len(stops) != 2 or len(signs) != 1 or not statement.parts:
            return
        own = code.text(signs[0] - 1)
        types = {code.text(at) for at in range(first, signs[0] - 1)}
        condition = range(stops[0] + 1, stops[1])
        if types & FLOAT_TYPES and len(condition) == 3:
            left, sign, right = (code.text(i) for i in condition)
            if left == own and sign == "!=":
                self.add(
                    "step", condition[1], f"{own} may never be exactly {right}, and the loop goes on: write {own} < {right}"
                )  # fmt: skip
        self._check_other_variable(statement, own, types, condition)
        if len(condition) == 3 and [code.text(i) for i in condition[:2]] == [own, "<="]:
            self._check_loop_end(statement, own, condition[2])

    def _check_other_variable(self, statement, own, types, condition):
        """Reports a loop condition that tests the variable of another loop: for (int j = 0; k < n; ++j)"""
        code = self.code
        texts = [code.text(i) for i in condition]
        names = [i for i in condition if code.tokens[i].kind == "name"]
        if not types or own in texts or len(texts) < 3 or texts[1] not in ("<", "<=", ">", ">="):
            return
        if "(" in texts or not names or names[0] != condition[0]:
            return
        inside = range(condition[-1] + 1, statement.last)
        if any(
            code.text(i) in ("break", "return", "goto", "{") and code.text(i) != "{" for i in inside
        ):
            return  # fmt: skip
        changed = {
            code.text(i)
            for i in inside
            if code.text(i + 1) in (*ASSIGNMENTS, "++", "--", "[")
            or code.text(i - 1) in ("++", "--", "&")
            or (code.text(i - 1) in ("(", ",") and code.text(i + 1) in (")", ","))
        }
        if not {code.text(i) for i in names} & changed:
            self.add(
                "step", condition[0],
                f"the condition of this loop never changes: write {own} {' '.join(texts[1:])}",
            )  # fmt: skip

    def _check_loop_end(self, statement, own, end):
        """Reports a loop past the end of an array: for (int k = 0; k <= 4; ++k) a[k] with 4 elements."""
        code, body = self.code, self.body_of(end)
        if body is None:
            return
        for at in range(statement.parts[0].first, statement.last):
            is_element = code.tokens[at].kind == "name" and [
                code.text(at + k) for k in (1, 2, 3)
            ] == ["[", own, "]"]
            if is_element and self._has_length(body, code.text(at), end):
                name, length = code.text(at), code.text(end)
                if any(code.text(i) in ("if", "?", "break") for i in range(end, at)):
                    return
                self.add(
                    "bounds", end - 1,
                    f"{name} has {length} elements, and {own} reaches {length}: write {own} < {length}",
                )  # fmt: skip
                return

    def _has_length(self, body, name, at):
        """Returns whether a local array has the length of the number or constant at token `at`."""
        code = self.code
        found = self.declarations(body).get(name, ())
        if len(found) != 1 or found[0] < body.block.first:
            return False
        is_one = code.text(found[0] + 1) == "[" and code.text(found[0] + 3) == "]"
        is_type = code.text(found[0] - 1) in TYPE_WORDS | INTEGER_TYPES | FLOAT_TYPES
        if not (is_one and is_type):  # a macro may precede v[t]
            return False
        return code.text(found[0] + 2) == code.text(at) or (
            self.number(at) is not None and self.number(at) == self.number(found[0] + 2)
        )

    def _check_constant_index(self, at):
        """Reports an index past the end: a[N] with float a[N]"""
        code, body = self.code, self.body_of(at)
        if code.tokens[at + 1].kind != "name" or code.text(at + 2) != "]" or body is None:
            return
        name, index = code.text(at - 1), code.text(at + 1)
        before = code.tokens[at - 2]
        is_declared = before.kind == "name" and before.text not in ("return", "case", "else")
        if is_declared or before.text in (".", "->", "::", ","):
            return
        if any(
            code.text(i) == index
            and (
                {code.text(i - 1), code.text(i + 1)} & {"++", "--", "&"}
                or (code.text(i + 1) in ASSIGNMENTS and code.tokens[i - 1].kind != "name")
            )
            for i in range(body.block.first, body.block.last)
        ):
            return  # it has changed since
        if self._has_length(body, name, at + 1):
            self.add(
                "bounds", at + 1,
                f"{name} has {index} elements, {name}[0] to {name}[{index} - 1]: {name}[{index}] is past its end",
            )  # fmt: skip

    def _check_cases(self, statement):
        code = self.code
        for part in statement.walk_statements():
            if part.kind != "label" or code.text(part.first) != "case":
                continue
            at = part.first + 1
            while code.text(at) not in ("||", ":", ";", ""):
                at = code.index_after(at)
            if code.text(at) == "||":
                left, right = code.text(at - 1), code.text(at + 1)
                self.add(
                    "logical", at, f"case {left} || {right} is case 1: write case {left}: case {right}:"
                )  # fmt: skip

    def _check_plain(self, statement):
        self._check_unused_value(statement)
        self._check_value_range(statement)


def _number_value(text):
    try:
        number = float(text.replace("'", "").rstrip("fFuUlL"))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _count_with_noun(count, noun):
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


RULES = {
    "==": (ValueRules._check_equality,),
    "!=": (ValueRules._check_equality,),
    "&&": (ValueRules._check_range,),
    "||": (ValueRules._check_range,),
    "?": (ValueRules._check_conditional,),
    "-": (ValueRules._check_difference,),
    "/": (ValueRules._check_ratio,),
    "*": (ValueRules._check_index_formula,),
    "+": (ValueRules._check_index_formula,),
    "(": (ValueRules._check_call,),
    "[": (ValueRules._check_constant_index,),
}
"""Operator -> the methods with its rules."""
STATEMENTS = {
    "block": (ValueRules._check_hidden_variable,),
    "if": (ValueRules._check_constant_if,),
    "while": (ValueRules._check_constant_if,),
    "do": (ValueRules._check_constant_if,),
    "for": (ValueRules._check_loop,),
    "switch": (ValueRules._check_cases,),
    "plain": (ValueRules._check_plain,),
}
"""Kind of a statement -> the methods with its rules."""
