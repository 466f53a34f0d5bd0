"""Implements rules for operators: quotients of integers, `^` as a power, chained comparisons, indices.

Each method receives the index of the operator's token, and adds a Slip if the rule is violated.
"""

from __future__ import annotations

import itertools
import re

from numbalite.cxx.scanner import TYPE_WORDS
from numbalite.cxx.slip_search import (
    COMPARISONS,
    FLOAT_TYPES,
    INTEGER,
    LITERAL,
    MistakeSearch,
    WrongIndexCount,
    value_of,
)
from numbalite.types.keywords import KEYWORDS

_OF_BITS = frozenset(("^", "|", "&", "~", "<<", ">", "%"))
_OF_FLOATS = frozenset(
    f"{name}{suffix}"
    for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "cbrt")
    for suffix in ("", "f")
)
_OCTAL = re.compile(r"0[0-7]+")
_OF_THE_GRID = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_POWERS = re.compile(r"(?:std::)?powf?|np_power|__powf")


class OperatorRules(MistakeSearch):
    """The rules."""

    def _check_division(self, at):
        code = self.code
        self._check_sizeof(at)
        left, right = (
            code.tokens[at - 1],
            code.tokens[at + 1] if at + 1 < len(code.tokens) else None,
        )
        if right is None:
            return
        if right.kind == "number" and _is_zero(right.text):
            sign = code.text(at)
            what = "a division" if sign == "/" else "a remainder"
            self.add(
                "division",
                at,
                f"{what} by 0 gives no number: the divisor must not be 0 (0.0f gives infinity)",
            )
            return
        if code.text(at) == "%" or left.kind != "number" or not INTEGER.fullmatch(left.text):
            return
        divisor = self._divisor_value(at + 1)
        if divisor is None:
            return
        end, value = divisor
        above = int(left.text.replace("'", ""))
        if not above or value == 0 or (value and above % value == 0):
            return
        before = code.text(at - 2)
        if before in ("*", "/", "%", "<<", ">>", ".") or code.text(end) in ("%", "<<", "."):
            return
        below = code.range_text(at + 1, end)
        if value is None:
            if above == 1 and self._is_scaled_quotient(at - 1, end):  # 1024/n may be intended
                self.add(
                    "quotient", at - 1,
                    f"{left.text}/{below} divides integers, which gives 0 where {below} is larger than 1: write "
                    f"{left.text}.0f/{below}",
                )  # fmt: skip
            return
        quotient = above // value
        if quotient and not self._is_scaled_quotient(at - 1, end):
            return
        if quotient == 0 and self._is_array_size(at):
            return
        self.add(
            "quotient", at - 1,
            f"{left.text}/{below} divides integers, which gives {quotient}: write {left.text}.0f/{below}",
        )  # fmt: skip

    def check_octal(self, at):
        text = self.code.text(at)
        if _OCTAL.fullmatch(text) and int(text) != int(text, 8):
            self.add(
                "octal",
                at,
                f"{text} begins with 0, so it is octal and means {int(text, 8)}: write {int(text)}",
            )

    def _divisor_value(self, at):
        """Returns (index after the divisor at `at`, its value or None for an integer variable), or None for
        any other divisor."""
        code = self.code
        token = code.tokens[at]
        if token.kind == "number":
            return (
                (at + 1, int(token.text.replace("'", "")))
                if INTEGER.fullmatch(token.text)
                else None
            )
        if token.kind != "name" or code.text(at + 1) in ("::", "(", "[", "->"):
            return None
        if code.text(at + 1) == ".":
            if token.text in _OF_THE_GRID and code.text(at + 2) in ("x", "y", "z"):
                return at + 3, None
            is_size = code.text(at + 2) == "size" and self.kind_of(at) == "array"
            return (at + 5, None) if is_size and code.text(at + 3) == "(" else None
        if token.text in self.values:
            return at + 1, self.values[token.text]
        return (at + 1, None) if self.is_integer(at) else None

    def _is_scaled_quotient(self, first, last):
        """Returns whether a quotient is multiplied, is an exponent, or is the value of a floating-point
        variable."""
        code = self.code
        while code.text(first - 1) == "(" and code.text(last) == ")":
            if code.tokens[first - 2].kind == "name" and code.text(first - 2) not in KEYWORDS:
                return code.text(first - 2) in _OF_FLOATS
            first, last = first - 1, last + 1
        if code.text(first - 1) == "*" or code.text(last) == "*":
            return True
        if code.text(first - 1) == "," and code.text(last) == ")" and last in code.partner:
            return _POWERS.fullmatch(code.text(code.partner[last] - 1)) is not None
        is_value = code.text(first - 1) == "=" and code.text(last) in (";", ",")
        return is_value and code.text(first - 3) in FLOAT_TYPES

    def _is_array_size(self, at):
        """Returns whether the token is in the brackets of an array, or in a template argument."""
        first, last = self.segment_around(at)
        return (
            self.code.text(first - 1) == "["
            or self.code.text(last) == ">"
            or "<" in [self.code.text(i) for i in range(first, at)]
        )

    def _check_power_or_bits(self, at):
        if self.text[self.code.tokens[at].start] == "^":  # `xor` combines bits
            self._check_xor_as_power(at)
        self._check_bit_precedence(at)

    def _check_xor_as_power(self, at):
        code = self.code
        left, right = (
            code.tokens[at - 1],
            code.tokens[at + 1] if at + 1 < len(code.tokens) else None,
        )
        if right is None:
            return
        base = self.operand_start(at - 1)
        shown = code.range_text(base, at)
        if left.kind == "number" and code.text(at - 2) not in (".",):
            if left.text not in ("2", "10") or code.text(at - 2) in _OF_BITS:
                return
            if right.kind == "number" and not INTEGER.fullmatch(right.text):
                return
            if right.kind not in ("name", "number"):
                return
            end = self.operand_end(at + 1)
            exponent = code.range_text(at + 1, end)
            wanted = f"1 << {exponent}" if left.text == "2" else f"1e{exponent}"
            if left.text == "10" and right.kind != "number":
                wanted = f"pow(10.0, {exponent})"
            self.add(
                "power", at, f"^ combines bits, {left.text}^{exponent} is no power: write {wanted}"
            )
            return
        is_operand = (left.kind == "name" and left.text not in KEYWORDS) or left.text in (")", "]")
        if (
            not is_operand
            or right.text not in ("2", "3")
            or code.text(at + 2) in ("^", "|", "&", "<<")
        ):
            return
        if code.text(base - 1) in _OF_BITS or self._has_lane_exchange(at):
            return
        factor = f"({shown})" if left.text == ")" and code.partner.get(at - 1) != base else shown
        power = " * ".join([factor] * int(right.text))
        self.add(
            "power", at,
            f"^ combines bits, {shown}^{right.text} is no power: write {power} (or ^ 0x{right.text} for the bits)",
        )  # fmt: skip

    def _has_lane_exchange(self, at):
        """Returns whether the function combines other indices with powers of two, as in exchanges between
        lanes."""
        body = self.body_of(at)
        if body is None:
            return False
        first = body.block.first
        if first not in self.exchanging:
            texts = [self.code.text(other) for other in range(first, body.block.last)]
            self.exchanging[first] = any(text.startswith("__shfl") for text in texts) or any(
                text == "^" and right in ("1", "4", "8", "16", "32", "64")
                for text, right in itertools.pairwise(texts)
            )
        return self.exchanging[first]

    def _check_comparison_chain(self, at):
        code = self.code
        first, last = self.segment_around(at)
        top = list(code.top_level_tokens(first, last))
        compared = [i for i in top if code.text(i) in ("<", "<=", ">", ">=")]
        if len(compared) < 2 or compared[0] != at:
            return
        if any(code.text(i) in ("==", "!=", "&", "|", "^", "<<", "::") for i in top):
            return
        directions = {code.text(i)[0] for i in compared}
        if len(directions) > 1 or self._is_template_bracket(first, last, *directions):
            return
        if any(
            code.text(i) in TYPE_WORDS or code.text(i) in ("template", "operator")
            for i in range(first, last)
        ):
            return
        edges = [first - 1, *compared, last]
        operands = [code.range_text(a + 1, b) for a, b in itertools.pairwise(edges)]
        if not all(operands):
            return
        pairs = zip(operands, compared, operands[1:], strict=False)
        wanted = " && ".join(f"{a} {code.text(i)} {b}" for a, i, b in pairs)
        self.add(
            "chain", at,
            f"{code.range_text(first, last)} compares the result of the first comparison, 0 or 1: write {wanted}",
        )  # fmt: skip

    def _is_template_bracket(self, first, last, sign):
        """Returns whether the comparison sign in tokens[first:last] is a bracket of a template argument list,
        whose other bracket is in the same statement."""
        code, step = self.code, 1 if sign == "<" else -1
        at, partner = (last, ">") if sign == "<" else (first - 1, "<")
        while 0 <= at < len(code.tokens) and code.text(at) not in (";", "{", "}", "&&", "||"):
            text = code.text(at)
            if text[:1] == partner:
                return True
            if text in (("(", "[") if step > 0 else (")", "]")):
                at = code.partner.get(at, at)
            elif text in ("(", "[", ")", "]"):
                return False
            at += step
        return False

    def _check_negated_comparison(self, at):
        code = self.code
        if code.text(at - 1) == "!" or code.text(at + 1) in ("!", "("):
            return
        end = self.operand_end(at + 1)
        if code.text(end) not in COMPARISONS or end + 1 >= len(code.tokens):
            return
        right = code.tokens[end + 1]
        if right.kind != "number" or code.text(end + 2) in ("*", "/", "+", "-", "<<", "%"):
            return
        operand = code.range_text(at + 1, end)
        opposite = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}[
            code.text(end)
        ]
        self.add(
            "not", at,
            f"! applies to {operand} alone, so 0 or 1 is compared with {right.text}: "
            f"write {operand} {opposite} {right.text}",
        )  # fmt: skip

    def _check_logical(self, at):
        code = self.code
        (first, end), (start, last) = self.segment_around(at - 1), self.segment_around(at + 1)
        if (
            start < last
            and code.range_text(first, end) == code.range_text(start, last)
            and not any(code.text(i) in ("(", "++", "--") for i in range(start, last))
        ):
            self.add(
                "repeated", at, f"both sides of {code.text(at)} are {code.range_text(start, last)}"
            )
        for number, is_right in ((at + 1, True), (at - 1, False)):
            if not 0 <= number < len(code.tokens):
                continue
            token = code.tokens[number]
            literal = LITERAL.fullmatch(token.text) if token.kind == "number" else None
            if literal is None or value_of(literal) < 2:
                continue
            outer = code.text(number + 1) if is_right else code.text(number - 1)
            if outer not in (
                (")", ";", "&&", "||", ",", "?", "]")
                if is_right
                else ("(", ",", "=", "return", "&&", "||")
            ):
                continue
            sign = code.text(at)
            first, last = self.segment_around(at - 1) if is_right else self.segment_around(at + 1)
            compared = [
                i for i in code.top_level_tokens(first, last) if code.text(i) in COMPARISONS
            ]
            wanted = "compare it with a value"
            if len(compared) == 1:
                operand = code.range_text(first, compared[0])
                wanted = f"write {operand} {code.text(compared[0])} {token.text}"
            self.add(
                "logical", at,
                f"{token.text} as a condition is true, so that "
                f"{'the whole is true' if sign == '||' else 'it changes nothing'}: {wanted}",
            )  # fmt: skip

    def _check_bit_precedence(self, at):
        """Reports i & 1 == 0 and i == 1 | 2: the operators & | and ^ have a lower precedence than
        comparisons."""
        code = self.code
        if code.text(at - 1) in (
            "(",
            ",",
            "=",
            "return",
            "{",
            ";",
            "[",
            ":",
            "?",
            "&&",
            "||",
            ">",
            "*",
            "&",
        ):
            return  # an address, a reference
        if code.text(at - 1) == ")" and (
            code.text(at - 2) == "*" or code.text(at - 2) in TYPE_WORDS
        ):
            return  # an address that is cast
        first, last = self.segment_around(at)
        top = list(code.top_level_tokens(first, last))
        if [i for i in top if code.text(i) in ("&", "|", "^")] != [at]:
            return
        compared = [i for i in top if code.text(i) in ("==", "!=")]
        if len(compared) != 1 or any(code.text(i) in ("<", ">", "<=", ">=") for i in top):
            return
        sign, comparison = code.text(at), code.text(compared[0])
        left, right = code.range_text(first, at), code.range_text(at + 1, last)
        if compared[0] > at:
            mask = code.range_text(at + 1, compared[0])
            wanted = f"({left} {sign} {mask}) {comparison} {code.range_text(compared[0] + 1, last)}"
        elif sign == "|" and code.tokens[at + 1].kind == "number":
            operand = code.range_text(first, compared[0])
            wanted = f"{operand} {comparison} {code.range_text(compared[0] + 1, at)} || {operand} {comparison} {right}"
        else:
            return
        self.add(
            "bits", at,
            f"{comparison} comes before {sign}, so the comparison gives 0 or 1 and {sign} combines its bits: "
            f"write {wanted}",
        )  # fmt: skip

    def _check_assignment(self, at):
        """Reports mistyped assignments: x =+ 1, x =! y, out[i] = 3,14;"""
        code, tokens = self.code, self.code.tokens
        if at + 3 < len(tokens) and [tokens[at + k].kind for k in (1, 3)] == ["number"] * 2:
            if code.text(at + 2) == "," and code.text(at + 4) == ";" and self.is_operand(at - 1):
                left, right = tokens[at + 1].text, tokens[at + 3].text
                is_declared = tokens[at - 1].kind == tokens[at - 2].kind == "name"
                if INTEGER.fullmatch(left) and right.isdigit() and not is_declared:
                    self.add("comma", at + 2, f"{left},{right} is {left}: write {left}.{right}")
        sign = tokens[at + 1] if at + 1 < len(tokens) else None
        if (
            sign is None
            or sign.text not in ("+", "-", "!", "*")
            or sign.start != tokens[at].start + 1
        ):
            return
        before, after = tokens[at - 1], tokens[at + 2]
        if before.start + len(before.text) == tokens[at].start or after.start == sign.start + 1:
            return
        name = code.range_text(self.operand_start(at - 1), at)
        wanted = f"{name} != " if sign.text == "!" else f"{name} {sign.text}= "
        self.add(
            "reversed",
            at,
            f"{name} ={sign.text} sets {name} to {sign.text}{after.text}: write {wanted}{after.text}",
        )

    def _check_sizeof(self, at):
        """Reports sizeof(x) / sizeof(x[0]) if x is an array parameter."""
        code = self.code
        if code.text(at - 1) != ")" or code.text(at + 1) != "sizeof" or at - 1 not in code.partner:
            return
        opening = code.partner[at - 1]
        if code.text(opening - 1) != "sizeof" or at - 1 - opening != 2:
            return
        name = code.text(opening + 1)
        body = self.body_of(at)
        kind = self.kind_of(opening + 1)
        if body is None or kind is None or (kind == "memory" and self.is_local_array(body, name)):
            return
        wanted = (
            f"write {name}.size()"
            if kind in ("array", "generic")
            else "pass the length as an argument"
        )
        self.add(
            "size",
            opening - 1,
            f"sizeof({name}) is the size of a pointer or a view, not of the elements: {wanted}",
        )

    def _check_shift(self, at):
        code = self.code
        left, right = (
            code.tokens[at - 1],
            code.tokens[at + 1] if at + 1 < len(code.tokens) else None,
        )
        if right is None or left.kind != "number" or right.kind != "number":
            return
        one, count = LITERAL.fullmatch(left.text), LITERAL.fullmatch(right.text)
        if one is None or count is None or code.text(at + 2) == ".":
            return
        if code.text(at - 2) == ")":
            return  # after a cast, the compiler determines the width
        width = 64 if "l" in one["suffix"].lower() or value_of(one) >= 1 << 32 else 32
        if value_of(count) >= width:
            wanted = (
                f"{one['value']}LL << {right.text}" if value_of(count) < 64 else "a smaller shift"
            )
            self.add(
                "shift", at,
                f"{left.text} has {width} bits, and a shift by {right.text} has no value: write {wanted}",
            )  # fmt: skip

    def _check_subscript(self, at):
        code = self.code
        before = code.tokens[at - 1]
        if not (
            (before.kind == "name" and before.text not in KEYWORDS) or before.text in (")", "]")
        ):
            return
        closing = code.partner.get(at, 0)
        if closing <= at or code.text(at + 1) == "[":
            return
        inside = list(code.top_level_tokens(at + 1, closing))
        commas = [i for i in inside if code.text(i) == ","]
        if commas and not any(code.text(i) == "<" for i in inside):
            self._check_index_count(at, closing, commas)
            return
        if before.kind == "name" and code.text(at + 1) == "-" and closing == at + 3:
            self._check_negative_index(at - 1, at + 1)
        if before.kind == "name" and closing == at + 2 and code.tokens[at + 1].kind == "number":
            self._check_index_past_end(at - 1, at + 1)

    def _check_index_past_end(self, name, at):
        """Reports an index such as s[8] into a local array of 8 elements."""
        code, body = self.code, self.body_of(at)
        index = LITERAL.fullmatch(code.text(at))
        if body is None or index is None or code.text(name - 1) in (".", "->", "::"):
            return
        before = code.tokens[name - 1]
        if before.kind == "name" and before.text not in ("return", "case", "else"):
            return  # the declaration
        size = self.length(body, code.text(name))
        if size and value_of(index) >= size:
            text = code.text(name)
            self.add(
                "bounds", at,
                f"{text} has {size} elements, {text}[0] to {text}[{size - 1}]: {text}[{code.text(at)}] is behind them",
            )  # fmt: skip

    def _check_array_call(self, at):
        """Reports x(-1) and x(i, -1) of an array."""
        code = self.code
        name = code.tokens[at - 1] if at else None
        closing = code.partner.get(at, 0)
        if name is None or name.kind != "name" or closing <= at:
            return
        first = at + 1
        for end in [
            *(i for i in code.top_level_tokens(at + 1, closing) if code.text(i) == ","),
            closing,
        ]:
            is_negative = code.text(first) == "-" and end == first + 2
            if is_negative and self.kind_of(at - 1) == "array":
                self._check_negative_index(at - 1, first)
            first = end + 1

    def _check_negative_index(self, name, at):
        code = self.code
        number = code.tokens[at + 1]
        literal = LITERAL.fullmatch(number.text) if number.kind == "number" else None
        if literal is None or value_of(literal) == 0 or self.kind_of(name) is None:
            return
        text = code.text(name)
        from_end = f"{text}.size() - {number.text}"
        if self.kind_of(name) == "array" and code.text(name + 1) == "[":
            wanted = f"; the element from the end is {text}[{from_end}]"
        elif self.kind_of(name) == "array":
            wanted = f"; an index from the end is {text}.shape[k] - {number.text}"
        else:
            wanted = "; the element from the end is the one at the length minus " + number.text
        self.add(
            "negative", at,
            f"the index -{number.text} is in front of {text}: in C++ indices begin at 0 and none counts from the "
            f"end{wanted}",
        )  # fmt: skip

    def _check_index_count(self, at, closing, commas):
        code = self.code
        if re.search(r"2[3b-z6-9]$", self.std):
            return  # several indices have a meaning
        first = self.operand_start(at - 1)
        name = code.range_text(first, at)
        given = code.range_text(at + 1, closing)
        kind = self.kind_of(first) if first == at - 1 else None
        if kind in ("array", "generic"):
            file, line = self.line_of(at)
            has, count = self.dimensions(first), len(commas) + 1
            wanted = f"write {name}({given})"
            if kind == "generic":
                wanted += f" for {count}, {name}[{code.range_text(at + 1, commas[0])}] for one"
            if has == 1:
                last = code.range_text(at + 1, commas[0])
                wanted = f"{name} has one dimension: write {name}[{last}]"
            text = f"{name}[{given}] has {count} indices; an array takes one index for each dimension; {wanted}"
            self.refused.append(WrongIndexCount(file, line, text, self.source_line_with_caret(at)))
            return
        last = code.range_text(commas[-1] + 1, closing)
        indices = [code.range_text(a + 1, b) for a, b in zip([at, *commas], [*commas, closing])]
        wanted = f"{name}[{']['.join(indices)}]"
        self.add(
            "comma", at,
            f"{name}[{given}] is {name}[{last}]: , drops what stands before it: write {wanted}",
        )  # fmt: skip


RULES = {
    "/": OperatorRules._check_division,
    "%": OperatorRules._check_division,
    "^": OperatorRules._check_power_or_bits,
    "&": OperatorRules._check_bit_precedence,
    "|": OperatorRules._check_bit_precedence,
    "=": OperatorRules._check_assignment,
    "<": OperatorRules._check_comparison_chain,
    "<=": OperatorRules._check_comparison_chain,
    ">": OperatorRules._check_comparison_chain,
    ">=": OperatorRules._check_comparison_chain,
    "!": OperatorRules._check_negated_comparison,
    "&&": OperatorRules._check_logical,
    "||": OperatorRules._check_logical,
    "<<": OperatorRules._check_shift,
    "[": OperatorRules._check_subscript,
    "(": OperatorRules._check_array_call,
}
"""Operator -> the method with its rule."""


def _is_zero(text):
    return re.fullmatch(r"0(?:[xXbB]?0+)?[uUlLzZ]*", text) is not None
