"""Implements rules for the flow of statements: loops that never change their condition, steps without an
effect, stored values that are lost, barriers in a branch, functions without a result.

The methods of RULES receive a Statement, `check_missing_return` a Body.
"""

from __future__ import annotations

import itertools

from numbalite.cxx import uninitialized
from numbalite.cxx.slip_search import (
    ASSIGNMENTS,
    COMPARISONS,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LITERAL,
    MistakeSearch,
    value_of,
)
from numbalite.types.keywords import KEYWORDS

_LARGEST = {
    "char": 127, "int8": 127, "int8_t": 127, "uint8": 255, "uint8_t": 255, "unsigned char": 255,
    "short": 2**15 - 1, "int16": 2**15 - 1, "int16_t": 2**15 - 1,
    "uint16": 2**16 - 1, "uint16_t": 2**16 - 1, "unsigned short": 2**16 - 1,
}  # fmt: skip
_CHANGES = frozenset((*ASSIGNMENTS, "++", "--"))
_LEAVING = frozenset(("break", "return", "goto", "throw", "asm", "__trap", "volatile"))
_INDEX = (
    "blockIdx.x * blockDim.x + threadIdx.x", "blockDim.x * blockIdx.x + threadIdx.x",
    "threadIdx.x + blockIdx.x * blockDim.x", "threadIdx.x + blockDim.x * blockIdx.x",
)  # fmt: skip
_INDICES = frozenset(text.replace(" ", "") for text in (*_INDEX, "grid<1>()"))


class LoopRules(MistakeSearch):
    """The rules."""

    def _for_head_ranges(self, statement):
        """Returns the token ranges of the three parts of a for loop's head, or None for a range-based for."""
        code, (first, last) = self.code, statement.head
        stops = [at for at in code.top_level_tokens(first, last) if code.text(at) == ";"]
        if len(stops) != 2:
            return None
        return (first, stops[0]), (stops[0] + 1, stops[1]), (stops[1] + 1, last)

    def _token_texts(self, part):
        return [self.code.text(at) for at in range(*part)]

    def _check_for(self, statement):
        parts = self._for_head_ranges(statement)
        if parts is None:
            return
        start, condition, step = parts
        self._check_step(step)
        self._check_comma_condition(*condition)
        if condition[0] == condition[1]:
            return
        signs = [at for at in self.code.top_level_tokens(*start) if self.code.text(at) == "="]
        if step[0] == step[1]:
            self._check_unchanged_condition(statement, *condition)
        elif len(signs) == 1:
            self._check_loop_variable(start, signs[0], condition, step)

    def _check_loop_variable(self, start, sign, condition, step):
        code = self.code
        own, tests, steps = (
            code.text(sign - 1),
            self._token_texts(condition),
            self._token_texts(step),
        )
        if len(tests) < 3 or tests[0] != own:
            return
        kind = " ".join(self._token_texts((start[0], sign - 1)))
        value = self.number(condition[0] + 2) if len(tests) == 3 else None
        if kind in _LARGEST and value is not None and tests[1] in ("<", "<="):
            if value > _LARGEST[kind] - (tests[1] == "<="):
                self.add(
                    "step", condition[0] + 1,
                    f"{kind} holds numbers to {_LARGEST[kind]}, so the loop never ends: write int {own}",
                )  # fmt: skip
        is_up = "++" in steps or "+=" in steps
        if (
            len(tests) == 3
            and tests[1] == "=="
            and is_up
            and code.range_text(sign + 1, start[1]) != tests[2]
        ):
            self.add(
                "step", condition[0] + 1,
                f"the loop ends as soon as {own} is not {tests[2]}: write {own} < {tests[2]}",
            )  # fmt: skip
        if steps in ([own, "=", own, "++"], [own, "=", own, "--"]):
            self.add(
                "itself",
                step[0] + 1,
                f"{own} = {own}{steps[3]} keeps the old value: write {own}{steps[3]}",
            )
        is_index = code.range_text(sign + 1, start[1]).replace(" ", "") in _INDICES
        is_whole = len(tests) == 3 or tests[3:] == [".", "size", "(", ")"]
        if is_index and is_whole and steps == [own, "+=", "blockDim", ".", "x"]:
            self.add(
                "formula", step[0],
                f"the blocks have the same elements, because {own} begins at the index in the grid: write {own} += "
                "blockDim.x * gridDim.x",
            )  # fmt: skip

    def _check_step(self, step):
        """Reports a step such as s >> 1, which does not change s."""
        code, texts = self.code, self._token_texts(step)
        if len(texts) < 3 or code.tokens[step[0]].kind != "name" or texts[0] in KEYWORDS:
            return
        if _CHANGES & set(texts) or set(texts) & {"(", ",", ">=", "<="}:
            return
        sign = texts[1] if texts[1] in ("+", "-", "*", "/", "%", "<<") else ""
        sign = ">>" if texts[1:3] == [">", ">"] else sign
        if sign:
            rest = code.range_text(step[0] + 1 + (2 if sign == ">>" else 1), step[1])
            self.add(
                "unused", step[0] + 1,
                f"{code.range_text(*step)} changes nothing: write {texts[0]} {sign}= {rest}",
            )  # fmt: skip

    def _check_comma_condition(self, first, last):
        """Reports k < n, j < m as a condition: the comma drops the first comparison."""
        code = self.code
        commas = [at for at in code.top_level_tokens(first, last) if code.text(at) == ","]
        if len(commas) != 1:
            return
        left, right = (
            self._token_texts((first, commas[0])),
            self._token_texts((commas[0] + 1, last)),
        )
        if (
            not COMPARISONS & set(left)
            or not COMPARISONS & set(right)
            or {"(", "[", *_CHANGES} & set(left)
        ):
            return
        if "<" in left and ">" in right:  # perhaps of a template
            return
        one, other = code.range_text(first, commas[0]), code.range_text(commas[0] + 1, last)
        self.add("comma", commas[0], f", drops {one}: write {one} && {other}")

    def _check_while(self, statement):
        if statement.head is not None:
            self._check_comma_condition(*statement.head)
            if statement.parts and statement.parts[0].kind != "empty":
                self._check_unchanged_condition(statement, *statement.head)

    def _check_unchanged_condition(self, statement, first, last):
        """Reports a loop that never changes the two thread-local variables in its condition."""
        code = self.code
        if last != first + 3 or code.text(first + 1) not in COMPARISONS:
            return
        names = [at for at in (first, first + 2) if code.tokens[at].kind == "name"]
        if not names or not all(self.is_integer(at) for at in names):
            return
        texts = {code.text(at) for at in names}
        body = self.body_of(first)
        if texts & code.in_macros or _LEAVING & {
            code.text(at) for at in range(*statement_range(statement))
        }:
            return
        if any(
            code.text(at) == "&" and code.text(at - 1) == "["
            for at in range(body.block.first, body.block.last)
        ):
            return  # a lambda may change it
        for at in range(body.block.first, body.block.last):
            if code.text(at) in texts and code.text(at - 1) == "&":
                return
        for at in range(*statement_range(statement)):
            before, after = code.text(at - 1), code.text(at + 1)
            if code.text(at) not in texts or at in range(first, last):
                continue
            if (
                after in _CHANGES
                or before in ("++", "--", ">>")
                or (after == ">" and code.text(at + 2) == ">=")
            ):
                return
            if before in ("(", ",") and after in (")", ","):
                return
        listed = " and ".join(sorted(texts))
        self.add("step", first + 1, f"nothing in this loop changes {listed}, so it never ends")

    def _check_if(self, statement):
        if statement.head is None:
            return
        self._check_comma_condition(*statement.head)
        if len(statement.parts) == 2:
            self._check_empty_else(statement)
        self._check_barrier(statement)

    def _check_empty_else(self, statement):
        tokens, other = self.code.tokens, statement.parts[1]
        if other.kind != "empty" or tokens[other.first].line != tokens[other.first - 1].line:
            return
        following = tokens[statement.last]
        is_deeper = self.column(following) > self.column(tokens[statement.first])
        if following.text == "{" or (following.line > tokens[other.first].line and is_deeper):
            self.add(
                "empty", other.first,
                "the ; ends the else: it is the whole body, and the next statement runs in any case: remove the ;",
            )  # fmt: skip

    def _check_barrier(self, statement):
        """Reports __syncthreads() in a branch that some threads of a block do not take."""
        code, (first, last) = self.code, statement.head
        texts = self._token_texts((first, last))
        if len(statement.parts) != 1 or texts[:3] != ["threadIdx", ".", "x"] or len(texts) != 5:
            return
        if texts[3] not in COMPARISONS or not LITERAL.fullmatch(texts[4]):
            return
        for at in range(statement.parts[0].first, statement.last):
            if (
                code.text(at) == "__syncthreads"
                and code.text(at + 1) == "("
                and self.is_user_code(at)
            ):
                self.add(
                    "barrier", at,
                    f"only threads with {code.range_text(first, last)} reach this barrier, and __syncthreads() waits for all "
                    "of the block: write it after the if",
                )  # fmt: skip
                return

    def _check_switch(self, statement):
        code = self.code
        if statement.head is None or not statement.parts or statement.parts[0].kind != "block":
            return
        parts = statement.parts[0].parts
        if parts and parts[0].kind == "plain" and not self._is_declaration(parts[0]):
            self.add("switch", parts[0].first, "this line is before the first case and never runs")
        first, last = statement.head
        is_truth = code.text(first) == "!" or any(
            code.text(at) in (*COMPARISONS, "&&", "||") for at in code.top_level_tokens(first, last)
        )
        if not is_truth or {"<", "::"} <= set(self._token_texts((first, last))):
            return
        for part in statement.walk_statements():
            literal = LITERAL.fullmatch(code.text(part.first + 1)) if part.kind == "label" else None
            if literal and code.text(part.first) == "case" and value_of(literal) > 1:
                self.add(
                    "switch",
                    part.first,
                    f"{code.range_text(first, last)} is 0 or 1, so this case never runs",
                )
                return

    def _is_declaration(self, statement):
        code = self.code
        signs = [
            at
            for at in code.top_level_tokens(statement.first, statement.last)
            if code.text(at) in ASSIGNMENTS
        ]
        return not signs or self.operand_start(signs[0] - 1) != statement.first

    def _check_block(self, block):
        for one, other in itertools.pairwise(block.parts):
            if one.kind == other.kind == "plain" and self.is_user_code(one.first):
                self._check_double_store(one, other)

    def _assignment_operands(self, statement):
        """Returns (left, right) of a statement `left = right;`, or None for any other statement."""
        code = self.code
        first, last = statement.first, statement.last - 1
        signs = [
            at for at in code.top_level_tokens(first, last) if code.text(at) in ("=", ",", "?")
        ]
        if len(signs) != 1 or code.text(signs[0]) != "=" or code.text(last) != ";":
            return None
        if self.operand_start(signs[0] - 1) != first or code.tokens[first].kind != "name":
            return None
        texts = self._token_texts((first, last))
        if {"++", "--", "(", "volatile", "{"} & set(texts):
            return None
        return code.range_text(first, signs[0]), code.range_text(signs[0] + 1, last)

    def _check_double_store(self, one, other):
        """Reports a = b; b = a; and two consecutive assignments to one element."""
        code = self.code
        before, after = self._assignment_operands(one), self._assignment_operands(other)
        if before is None or after is None:
            return
        if before == after[::-1] and before[0] != before[1]:
            left, right = after
            self.add(
                "itself", other.first,
                f"{right} has the value of {left} already, so nothing is exchanged: keep the old {right} in a variable",
            )  # fmt: skip
        elif code.tokens[other.first].line > code.tokens[one.last - 1].line + 1:
            return
        elif before[0] == after[0] and code.text(one.first) not in self._token_texts(
            (other.first + 1, other.last)
        ):
            self.add(
                "overwritten",
                other.first,
                f"this replaces the value of {before[0]} from the line above",
            )

    # ---- functions

    def _check_returned_address(self, statement):
        """Reports return &s[0]; for a variable of the function or of the lambda."""
        code, first = self.code, statement.first
        if [code.text(first), code.text(first + 1)] != ["return", "&"]:
            return
        name, after = code.text(first + 2), code.text(first + 3)
        inner = [one for one in self.function_bodies if one.block.first < first < one.block.last]
        if not inner or after not in ("[", ";"):
            return
        block = max(inner, key=lambda one: one.block.first).block
        found = [
            at
            for at in range(block.first, first)
            if code.text(at) == name and code.text(at - 1) in FLOAT_TYPES | INTEGER_TYPES
        ]
        is_array = bool(found) and code.text(found[0] + 1) == "["
        if len(found) != 1 or (after == "[") != is_array:
            return
        start = found[0]
        while code.text(start - 1) not in (";", "{", "}", "(", ""):
            start -= 1
        if {"static", "__shared__"} & set(self._token_texts((start, found[0]))):
            return
        self.add(
            "address", first + 1,
            f"{name} ends with the function, so its address is of no use: return a value, or pass a pointer to it",
        )  # fmt: skip

    def check_missing_return(self, body):
        """Reports functions with a return type whose end has no return statement."""
        code = self.code
        first, last = body.start, body.parameters[0] - 2
        if body.is_lambda or body.parameters == (0, 0):
            return
        if code.text(last - 1) not in (INTEGER_TYPES | FLOAT_TYPES | {"bool"}) or first == last:
            return
        inside = {code.text(at) for at in range(body.block.first, body.block.last)}
        if code.text(last) == "main" or inside & {"asm", "throw", "goto", "__trap", "co_return"}:
            return
        if any(
            self.conditional[code.tokens[at].line]
            for at in range(body.block.first, body.block.last)
        ):
            return
        if not body.block.parts:
            return  # a primary template without a body, whose specializations have bodies
        end = body.block.parts[-1]
        branch = end
        while branch.kind == "if" and len(branch.parts) == 2 and not self._is_constant(branch):
            branch = branch.parts[1]
        is_partly = branch.kind == "if" and len(branch.parts) == 1 and not self._is_constant(branch)
        if (inside - code.in_macros) & {"return"} and not is_partly:
            return
        if any(
            uninitialized.ends_thread(code, part.first) for part in body.block.walk_statements()
        ):
            return
        if inside & code.in_macros or any(
            "assert" in text or "unreachable" in text for text in inside
        ):
            return
        where = next(
            (at for at in range(end.last - 1, body.block.first, -1) if self.is_user_code(at)), None
        )
        if where is not None:
            self.add(
                "return",
                where,
                f"{code.text(last)} ends here without a return: its result is undefined",
            )

    def _is_constant(self, statement):
        code = self.code
        first, last = statement.head
        names = {code.text(at) for at in range(first, last) if code.tokens[at].kind == "name"}
        return code.text(first - 2) == "constexpr" or not names or names <= code.constants or all(
            name.isupper() for name in names
        )  # fmt: skip


def statement_range(statement):
    """Returns (first, last) of a loop without the initialization in its head."""
    return statement.head[0], statement.last


RULES = {
    "for": LoopRules._check_for,
    "while": LoopRules._check_while,
    "if": LoopRules._check_if,
    "switch": LoopRules._check_switch,
    "block": LoopRules._check_block,
    "plain": LoopRules._check_returned_address,
}
"""Kind of a statement -> the method with its rules."""
