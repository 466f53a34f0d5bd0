"""Implements rules for operands: tests of truth values and unsigned numbers whose result is constant, limits
in the wrong order, values that an integer cannot represent, atomic results, and macros without parentheses.

The methods of RULES receive the index of the operator's token, those of STATEMENTS a Statement.
"""

from __future__ import annotations

import re

from numbalite.cxx import scanner
from numbalite.cxx.slip_search import (
    ASSIGNMENTS,
    COMPARISONS,
    INTEGER_TYPES,
    LITERAL,
    MistakeSearch,
    value_of,
)
from numbalite.types.keywords import KEYWORDS

_FLOAT = re.compile(r"(?:\d*\.\d+|\d+\.|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fF]?")
_LOWER = frozenset(("min", "fmin", "fminf"))
_UPPER = frozenset(("max", "fmax", "fmaxf"))
_ANGLES = frozenset(("30", "45", "60", "90", "120", "135", "150", "180", "270", "360"))
_OF_ANGLES = frozenset(("sin", "cos", "tan", "sinf", "cosf", "tanf", "__sinf", "__cosf", "__tanf"))
_GRID = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_LIMITS = (1.401298464324817e-45 / 2, 3.4028235677973366e38)
_SUM = re.compile(r"([A-Za-z_]\w*|[\d.]+[fF]?)\s*[-+]\s*([A-Za-z_]\w*|[\d.]+[fF]?)")
_MACRO = re.compile(r"#\s*define\s+(\w+)(\(([\w\s,]*)\))?[ \t]+(.*?)\s*(?://.*)?", re.S)


class OperandRules(MistakeSearch):
    """The rules."""

    def _check_not_of_bits(self, at):
        """Reports `!` where `~` is meant: !i & 1 and flags & !4"""
        code = self.code
        end = at + 2
        is_name = code.tokens[at + 1].kind == "name" and code.text(at + 1) not in KEYWORDS
        if code.text(at - 1) in ("&", "&=") and self.is_operand(at - 2):
            literal = LITERAL.fullmatch(code.text(at + 1))
            if literal and value_of(literal):
                self.add("bits", at, f"!{literal[0]} is 0: write ~{literal[0]} for the other bits")
            return
        if not is_name or code.text(end) != "&" or code.text(end + 2) not in (")", ";", "&&", "||"):
            return
        literal = LITERAL.fullmatch(code.text(end + 1))
        if literal and not self._is_bool_variable(at + 1):
            operand = code.text(at + 1)
            self.add("bits", at, f"! applies to {operand} alone: write !({operand} & {literal[0]})")

    def _is_bool_variable(self, at):
        body = self.body_of(at)
        found = self.declarations(body).get(self.code.text(at), ()) if body else ()
        return len(found) == 1 and self.code.text(found[0] - 1) == "bool"

    def _check_complement(self, at):
        code = self.code
        if self._is_bool_variable(at + 1) and code.text(at + 2) not in ("(", "[", ".", "->"):
            name = code.text(at + 1)
            self.add("bits", at, f"~{name} of a bool is never 0: write !{name}")

    def _check_truth_test(self, at):
        self._check_truth_comparison(at)
        self._check_unsigned_comparison(at)

    def _check_truth_comparison(self, at):
        """Reports comparisons of a truth value with a number: (a < b) == 2"""
        code = self.code
        literal = LITERAL.fullmatch(code.text(at + 1))
        if code.text(at - 1) != ")" or at - 1 not in code.partner or literal is None:
            return
        opening = code.partner[at - 1]
        before = code.tokens[opening - 1]
        if (before.kind == "name" and before.text not in KEYWORDS) or before.text in (
            "*", "/", "%", "+", "-", "<<", ">", "]", ")",
        ):  # fmt: skip
            return
        inside = [code.text(i) for i in code.top_level_tokens(opening + 1, at - 1)]
        is_truth = any(text in ("==", "!=", "&&", "||", "<=", ">=") for text in inside)
        if not is_truth or {"&", "|", "^", "?", ",", "+", "-", "*", "<<", "="} & set(inside):
            return
        if value_of(literal) > 1 and code.text(at + 2) not in ("*", "/", "+", "-", "<<", "%"):
            left = code.range_text(opening, at)
            self.add(
                "range", at, f"{left} is 0 or 1, so the comparison with {literal[0]} has one result"
            )

    def _check_unsigned_comparison(self, at):
        """Reports comparisons of unsigned numbers with negative numbers: threadIdx.x > -1"""
        code, sign = self.code, self.code.text(at)
        if sign in ("==", "!=") or code.text(at + 1) != "-" or code.tokens[at + 2].kind != "number":
            return
        if code.text(at - 3) not in _GRID or code.text(at - 2) != ".":
            return
        if code.text(at - 4) in (")", "*", "+", "-", "/", "%"):
            return
        name, number = code.range_text(at - 3, at), code.text(at + 2)
        result = "false" if sign[0] == ">" else "true"
        self.add(
            "unsigned", at,
            f"{name} is unsigned, and -{number} becomes a large number, so this is always {result}: write "
            f"(int){name} {sign} -{number}",
        )  # fmt: skip

    # ---- calls

    def _check_call_values(self, at):
        code, name = self.code, self.code.text(at - 1)
        if name in _LOWER or name in _UPPER:
            self._check_limit_order(at, name)
        elif name == "clamp":
            arguments = self.arguments(at)
            if len(arguments) == 3:
                self._report_limit_order(at - 1, arguments[1], arguments[2])
        elif name == "assert":
            self._check_assert(at)
        elif name in _OF_ANGLES:
            arguments = self.arguments(at)
            text = code.range_text(*arguments[0]) if len(arguments) == 1 else ""
            number = re.sub(r"\.0*[fF]?$", "", text)
            if number in _ANGLES:
                pi = name.strip("_").removesuffix("f") + "pi"
                self.add("angle", at + 1, f"the angle is in radians: write {pi}({number} / 180.0)")
        elif name.startswith("atomic"):
            self._check_atomic_value(at, name)

    def _check_limit_order(self, at, name):
        """Reports min(max(v, 1), 0), whose result is always 0."""
        code, arguments = self.code, self.arguments(at)
        if len(arguments) != 2:
            return
        for (first, last), outer in (arguments, arguments[::-1]):
            inner = code.text(first)
            is_call = code.text(first + 1) == "(" and code.index_after(first + 1) == last
            if not is_call or inner not in (_UPPER if name in _LOWER else _LOWER):
                continue
            for limit in self.arguments(first + 1):
                pair = (limit, outer) if name in _LOWER else (outer, limit)
                self._report_limit_order(at - 1, *pair)

    def _report_limit_order(self, at, low, high):
        below, above = (_number_value(self.code.range_text(*one)) for one in (low, high))
        if below is not None and above is not None and below > above:
            self.add(
                "range", at,
                f"the lower limit {self.code.range_text(*low)} is above the upper limit {self.code.range_text(*high)}, so the "
                "result is one number: exchange them",
            )  # fmt: skip

    def _check_assert(self, at):
        code, closing = self.code, self.code.partner.get(at, 0)
        for i in code.top_level_tokens(at + 1, closing):
            if code.text(i) == "=" and code.text(i - 1) != "]" and self.is_operand(i - 1):
                left, right = code.range_text(at + 1, i), code.range_text(i + 1, closing)
                self.add(
                    "assigned",
                    i,
                    f"{left} = {right} sets {left}: write {left} == {right} to compare",
                )
                return

    def _check_atomic_value(self, at, name):
        code, arguments = self.code, self.arguments(at)
        if not arguments or code.text(at + 1) != "&":
            return
        target = code.range_text(at + 2, arguments[0][1])
        sign = at - 2
        if (
            code.text(sign) in ("=", "+=")
            and code.range_text(self.operand_start(sign - 1), sign) == target
        ):
            self.add(
                "atomic", sign,
                f"{name} returns the old value, and = stores it over the new one: write {name}(...); alone",
            )  # fmt: skip
        if len(arguments) == 2 and name in ("atomicAdd", "atomicSub", "atomicExch"):
            first, last = arguments[1]
            self._is_fraction(at + 2, first, last)

    # ---- integers

    def _check_stored_fraction(self, at):
        """Reports a fraction stored in an array of integers: counts[i] = 0.5f"""
        code = self.code
        if code.text(at - 1) not in ("]", ")") or at - 1 not in code.partner:
            return
        name = code.partner[at - 1] - 1
        if code.text(name - 1) not in (";", "{", "}", ")", "else"):
            return
        end = at + 1
        while code.text(end) not in (";", ",", ")", "}", ""):
            end = code.index_after(end)
        if code.text(end) == ";":
            self._is_fraction(name, at + 1, end)

    def _is_fraction(self, name, first, last):
        code = self.code
        first += code.text(first) == "-"
        number = code.text(first)
        if last != first + 1 or not _FLOAT.fullmatch(number) or not self._has_integers(name):
            return
        value = float(number.rstrip("fF"))
        if value != int(value):
            self.add(
                "truncated", first,
                f"the elements of {code.text(name)} are integers, so {number} becomes {int(value)}: write an array of floats",
            )  # fmt: skip

    def _has_integers(self, at):
        """Returns whether a name is a parameter with integer elements, or a local array of integers."""
        code, body = self.code, self.body_of(at)
        name = code.text(at)
        if body is None or code.tokens[at].kind != "name" or code.text(at - 1) in (".", "->", "::"):
            return False
        found = [i for i in self.declarations(body).get(name, ()) if i >= body.block.first]
        if found:
            return (
                len(found) == 1
                and code.text(found[0] - 1) in INTEGER_TYPES
                and code.text(found[0] + 1) == "["
            )
        first, last = body.parameters
        for i in range(first, last):
            if code.text(i) != name or code.text(i + 1) not in (",", ")"):
                continue
            if code.text(i - 1) in ("__restrict__", "*"):
                star = i - 1 - (code.text(i - 1) == "__restrict__")
                return code.text(star) == "*" and code.text(star - 1) in INTEGER_TYPES
            start = i
            while start > first and code.text(start) != "array":
                start -= 1
            types = [code.text(k) for k in range(start + 2, i)]
            return (
                types[:1] != ["const"]
                and bool(types)
                and types[0] in INTEGER_TYPES
                and types[1:2] == [","]
            )
        return False

    def check_literal(self, at):
        """Reports literals outside of float's range: 1e-50f, and float v = 1e40"""
        code, text = self.code, self.code.text(at)
        if not _FLOAT.fullmatch(text):
            return
        is_value = (
            code.text(at - 1) == "="
            and code.text(at - 3) in ("float", "float32")
            and code.text(at + 1) == ";"
        )
        if text[-1] not in "fF" and not is_value:
            return
        value = float(text.rstrip("fF"))
        if value and not _LIMITS[0] < value < _LIMITS[1]:
            becomes = "infinity" if value > 1 else "0"
            self.add(
                "truncated",
                at,
                f"float cannot hold {text}, which becomes {becomes}: write a double",
            )

    # ---- indices

    def _check_second_index(self, at):
        """Reports an index past the end of the second dimension: s[0][8] of float s[4][8]"""
        code = self.code
        if code.text(at - 1) != "]" or code.text(at + 2) != "]" or at - 1 not in code.partner:
            return
        name = code.partner[at - 1] - 1
        body, literal = self.body_of(at), LITERAL.fullmatch(code.text(at + 1))
        if body is None or literal is None or code.tokens[name].kind != "name":
            return
        found = self.declarations(body).get(code.text(name), ())
        if len(found) != 1 or found[0] < body.block.first or found[0] == name:
            return
        start = found[0]
        if [code.text(start + k) for k in (1, 3, 4, 6)] != ["[", "]", "[", "]"] or code.text(
            start + 7
        ) == "[":
            return
        size = self.number(start + 5)
        if size and value_of(literal) >= size:
            text = code.text(name)
            self.add("bounds", at + 1, f"the second index of {text} ends at {size - 1}")

    def _check_bounds_test(self, statement):
        """Reports bounds checks that allow x[x.size()]: k <= x.size(), and if (k > x.size()) return;"""
        code = self.code
        if statement.head is None or not statement.parts:
            return
        first, last = statement.head
        signs = [at for at in range(first, last) if code.text(at) in ("<=", ">")]
        for at in signs:
            size = [code.text(at + k) for k in (2, 3, 4, 5)]
            own = code.text(at - 1)
            if (
                size != [".", "size", "(", ")"]
                or code.tokens[at - 1].kind != "name"
                or code.text(at - 2) in (".", "->")
            ):
                continue
            if code.text(at + 6) not in (")", ";", "&&", "||") or self.kind_of(at + 1) not in (
                "array",
                "generic",
            ):
                continue
            array, body = code.text(at + 1), statement.parts[0]
            uses = [array, "[", own, "]"]
            is_leaving = code.text(body.first) == "return" or (
                code.text(body.first) == "{" and code.text(body.first + 1) == "return"
            )
            is_used = any(
                [code.text(i + k) for k in range(4)] == uses for i in range(body.first, body.last)
            )
            if (code.text(at) == "<=" and is_used) or (
                code.text(at) == ">" and is_leaving and statement.kind == "if"
            ):
                wanted = "<" if code.text(at) == "<=" else ">="
                self.add(
                    "bounds", at,
                    f"{array} ends at {array}.size() - 1: write {own} {wanted} {array}.size()",
                )  # fmt: skip

    def _check_repeated_change(self, statement):
        """Reports two changes of one variable in an expression: s = k++ + k++;"""
        code = self.code
        first, last = statement.first, statement.last - 1
        texts = [code.text(at) for at in range(first, last)]
        if code.text(last) != ";" or {",", "&&", "||", "?", "{"} & set(texts):
            return
        sign = next(
            (at for at in code.top_level_tokens(first, last) if code.text(at) in ASSIGNMENTS),
            first - 1,
        )
        steps = {}
        for at in range(sign + 1, last):
            if code.text(at) in ("++", "--"):
                name = at - 1 if code.tokens[at - 1].kind == "name" else at + 1
                if code.text(name - 1) in (".", "->") or code.tokens[name].kind != "name":
                    continue
                if code.text(name) in steps:
                    self.add(
                        "twice", at,
                        f"{code.text(name)} changes twice here, and C++ leaves the order open: write two lines",
                    )  # fmt: skip
                    return
                steps[code.text(name)] = at

    # ---- macros

    def check_macros(self):
        """Reports uses of macros whose text lacks parentheses: #define SQUARE(x) x * x in SQUARE(i + 1)."""
        functions, numbers, ended = {}, {}, set()
        for token in scanner.tokenize(self.text):
            match = _MACRO.fullmatch(token.text) if token.kind == "directive" else None
            if match is None or not self.searched[token.line] or "\\" in match[4]:
                continue
            name, parameters, text = match[1], match[3], match[4]
            if match[2]:
                names = [one.strip() for one in parameters.split(",")]
                bare = {
                    position
                    for position, one in enumerate(names)
                    if one
                    and re.search(rf"[*/%]\s*{one}\b|(?<!\()\b{one}\s*[*/%]", text)
                    and "#" not in text
                }
                if bare:
                    functions[name] = bare, text
            elif _SUM.fullmatch(text):
                numbers[name] = text
            elif re.fullmatch(r"[\w.]+\s*;", text):
                ended.add(name)
        if not functions and not numbers and not ended:
            return
        for at, token in enumerate(self.code.tokens):
            if token.kind == "name" and self.is_user_code(at):
                if token.text in functions:
                    self._check_macro_parameters(at, *functions[token.text])
                elif token.text in numbers:
                    self._check_macro_number(at, numbers[token.text])
                elif token.text in ended and self.code.text(at + 1) in ("+", "-"):
                    self.add(
                        "macro",
                        at,
                        f"{token.text} ends with ;, which drops the rest of this line: remove it",
                    )

    def _check_macro_parameters(self, at, bare, text):
        code = self.code
        if code.text(at + 1) != "(":
            return
        for position, (first, last) in enumerate(self.arguments(at + 1)):
            signs = [
                i
                for i in code.top_level_tokens(first, last)
                if code.text(i) in ("+", "-") and self._is_binary(i)
            ]
            if position in bare and signs:
                self.add(
                    "macro", at,
                    f"{code.text(at)} is replaced by {text}, without parentheses around {code.range_text(first, last)}: "
                    "write them in the macro, or a function",
                )  # fmt: skip
                return

    def _is_binary(self, at):
        before = self.code.tokens[at - 1]
        return before.kind in ("name", "number") or before.text in (")", "]")

    def _check_macro_number(self, at, text):
        code, products = self.code, ("*", "/", "%")
        is_factor = code.text(at + 1) in products or (
            code.text(at - 1) in products and self._is_binary(at - 1)
        )
        if is_factor:
            self.add(
                "macro",
                at,
                f"{code.text(at)} is replaced by {text}, without parentheses: write them in the macro",
            )


def _number_value(text):
    try:
        return float(text.replace(" ", "").rstrip("fFuUlL"))
    except ValueError:
        return None


RULES = {
    "!": (OperandRules._check_not_of_bits,),
    "~": (OperandRules._check_complement,),
    "(": (OperandRules._check_call_values,),
    "[": (OperandRules._check_second_index,),
    "=": (OperandRules._check_stored_fraction,),
    "+=": (OperandRules._check_stored_fraction,),
    "-=": (OperandRules._check_stored_fraction,),
    **dict.fromkeys(COMPARISONS, (OperandRules._check_truth_test,)),
}
"""Operator -> the methods with its rules."""
STATEMENTS = {
    "plain": OperandRules._check_repeated_change,
    "for": OperandRules._check_bounds_test,
    "if": OperandRules._check_bounds_test,
    "while": OperandRules._check_bounds_test,
}
"""Kind of a statement -> the method with its rule."""
