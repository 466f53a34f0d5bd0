"""Implements rules for statements: empty bodies, an `else` of another `if`, unused results, loops with a
wrong step, uninitialized variables.

Each method receives a Statement, and adds a Slip if the rule is violated.
"""

from __future__ import annotations

import itertools
import re

from numbalite.cxx import uninitialized
from numbalite.cxx.scanner import TYPE_WORDS
from numbalite.cxx.slip_search import ASSIGNMENTS, FLOAT_TYPES, INTEGER_TYPES, MistakeSearch
from numbalite.types.keywords import KEYWORDS

_LEAVING = frozenset(("return", "break", "continue", "goto", "throw"))
"""No code after these runs, so a line that is indented like them is not intended as a part of the body."""
_FRACTION = re.compile(r"\d*\.\d*[1-9]\d*[fF]?")


class StatementRules(MistakeSearch):
    """The rules."""

    def _check_if(self, statement):
        self._check_condition(statement)
        if statement.parts and statement.parts[0].kind == "empty" and len(statement.parts) == 1:
            self._check_empty_body(statement, "if")
        self._check_dangling_else(statement)
        self._check_repeated_condition(statement)

    def _check_while(self, statement):
        self._check_condition(statement)
        if (
            statement.parts
            and statement.parts[0].kind == "empty"
            and self._is_followed_by_body(statement)
        ):
            self._check_empty_body(statement, "while")

    def _check_do(self, statement):
        self._check_condition(statement)

    def _check_block(self, statement):
        for body, following in itertools.pairwise(statement.parts):
            self._check_indentation(body, following)
        for part in statement.parts:
            self._check_self_assignment(part)

    def _check_indentation(self, statement, following):
        """Reports a line after an `if` or a loop without braces if the line is indented like the body."""
        code = self.code
        if statement.kind not in ("if", "for", "while") or not statement.parts:
            return
        last = statement.parts[-1]
        if last.kind in ("block", "empty", "if", "for", "while", "do", "switch"):
            return
        if code.text(last.first) in _LEAVING or self._has_unended_call(last):
            return
        tokens = code.tokens
        head = (
            tokens[code.partner[statement.head[0] - 1]]
            if len(statement.parts) == 1
            else tokens[last.first - 1]
        )
        body, other = tokens[last.first], tokens[following.first]
        behind = tokens[last.last - 1]
        if not (head.line < body.line <= behind.line < other.line) or not self.is_user_code(
            following.first
        ):
            return
        if following.kind == "label" or not (
            self.is_first_on_line(body) and self.is_first_on_line(other)
        ):
            return
        if self.column(other) == self.column(body) > self.column(tokens[statement.first]):
            word = "else" if len(statement.parts) == 2 else statement.kind
            self.add(
                "indented", following.first,
                f"the {word} of line {self.line_of(last.first - 1)[1]} ends before this line, which runs in any case: "
                "write { } around both lines",
            )  # fmt: skip

    def _has_unended_call(self, statement):
        """Returns whether the statement contains a macro without a semicolon, so that it includes the
        following lines."""
        code = self.code
        return any(
            code.text(at) == ")"
            and code.tokens[at + 1].kind == "name"
            and code.tokens[at + 1].line > code.tokens[at].line
            for at in range(statement.first, statement.last - 1)
        )

    def _check_switch(self, statement):
        code = self.code
        for part in statement.walk_statements():
            name = code.text(part.first)
            if (
                part.kind == "label"
                and name not in ("case", "default")
                and name not in self.targets
            ):
                wanted = f"case {name[4:]}" if name[:4] == "case" and name[4:] else "default"
                self.add("label", part.first, f"no goto jumps to {name}: write {wanted}:")

    def _check_step_direction(self, statement):
        """Reports a loop whose step changes a variable that is not in the condition, or changes it away from
        the end."""
        code = self.code
        first, last = statement.head
        stops = [at for at in code.top_level_tokens(first, last) if code.text(at) == ";"]
        if len(stops) != 2 or stops[1] + 1 >= last or stops[0] + 1 == stops[1]:
            return
        start = [at for at in code.top_level_tokens(first, stops[0]) if code.text(at) in ("=", "{")]
        if not start or not code.tokens[start[0] - 1].kind == "name":
            return
        own = code.text(start[0] - 1)
        types = {code.text(at) for at in range(first, start[0] - 1)}
        condition = [code.text(at) for at in range(stops[0] + 1, stops[1])]
        step = [code.text(at) for at in range(stops[1] + 1, last)]
        inside = range(statement.parts[0].first, statement.last) if statement.parts else ()
        if own not in condition or not types or "," in step:
            return
        if own not in step:
            changes = any(
                code.text(i) == own and (code.text(i + 1) in (*ASSIGNMENTS, "++", "--") or code.text(i - 1) in ("++", "--", "&", "(", ","))
                for i in (*range(stops[0] + 1, stops[1]), *inside)
            )  # fmt: skip
            leaves = any(code.text(i) in ("break", "return", "goto") for i in inside)
            names = [text for text in step if text[0].isalpha() or text[0] == "_"]
            if not changes and not leaves and len(names) == 1 and ("++" in step or "--" in step):
                self.add(
                    "step",
                    stops[1] + 1,
                    f"the loop never changes {own}: write {''.join(step).replace(names[0], own)}",
                )
            return
        if (
            condition[0] != own
            or len(condition) < 3
            or {"unsigned", "size_t", "auto"} & types
            or any("uint" in t for t in types)
        ):
            return
        up, down = "++" in step or "+=" in step, "--" in step or "-=" in step
        if any(sign in condition for sign in ("&&", "||")) or len(step) != 2:
            return
        if (condition[1] in ("<", "<=") and down) or (condition[1] in (">", ">=") and up):
            wanted = f"{own}++" if down else f"{own}--"
            self.add(
                "step",
                stops[1] + 1,
                f"{''.join(step)} leads away from {' '.join(condition)}: write {wanted}",
            )

    def _check_for(self, statement):
        self._check_step_direction(statement)
        for part in statement.parts:
            self._check_self_assignment(part)
        if not statement.parts or statement.parts[0].kind != "empty":
            return
        if self._is_followed_by_body(statement) or self._changes_only_own_variable(statement):
            self._check_empty_body(statement, "for")

    def _check_empty_body(self, statement, word):
        at = statement.parts[0].first
        self.add(
            "empty", at,
            f"the ; ends the {word}: it is the whole body, and the statement behind it runs in any case: remove the ;",
        )  # fmt: skip

    def _is_followed_by_body(self, statement):
        """Returns whether the text after an empty body looks like the intended body: a block, or a line that
        is indented further."""
        code = self.code
        empty, after = code.tokens[statement.parts[0].first], statement.last
        before = code.tokens[statement.last - 2]
        if after >= len(code.tokens) or empty.line != before.line:
            return False  # a ; on a separate line is intended
        following = code.tokens[after]
        if following.text == "{":
            return True
        first = code.tokens[statement.first]
        return following.line > empty.line and self.column(following) > self.column(first)

    def _changes_only_own_variable(self, statement):
        """Returns whether a loop without a body changes only its own variable."""
        code = self.code
        first, last = statement.head
        stops = [at for at in code.top_level_tokens(first, last) if code.text(at) == ";"]
        if (
            len(stops) != 2
            or code.tokens[first].kind != "name"
            or code.tokens[first + 1].kind != "name"
        ):
            return False
        own = code.text(first + 1)
        for at in range(first, last):
            text = code.text(at)
            if text == "(" and code.tokens[at - 1].kind == "name":
                return False
            if text in ASSIGNMENTS and code.text(at - 1) != own:
                return False
            if text in ("++", "--") and own not in (code.text(at - 1), code.text(at + 1)):
                return False
        return True

    def _check_condition(self, statement):
        code = self.code
        if statement.head is None:
            return
        first, last = statement.head
        stops = [at for at in code.top_level_tokens(first, last) if code.text(at) == ";"]
        first = stops[-1] + 1 if stops else first
        signs = [at for at in code.top_level_tokens(first, last) if code.text(at) == "="]
        if len(signs) != 1:
            return
        at = signs[0]
        start = first
        while code.text(start) == "*":
            start += 1
        if self.operand_start(at - 1) != start or code.tokens[start].kind != "name":
            return  # a declaration, or part of a comparison
        if code.text(at + 1) == "!" and code.tokens[at + 1].start == code.tokens[at].start + 1:
            return  # =! is a separate slip
        left, right = code.range_text(first, at), code.range_text(at + 1, last)
        self.add(
            "assigned", at, f"{left} = {right} sets {left}: write {left} == {right} to compare"
        )

    def _check_repeated_condition(self, statement):
        """Reports an `else if` that repeats an earlier condition."""
        code = self.code
        condition = code.range_text(*statement.head)
        other = statement
        while len(other.parts) == 2 and other.parts[1].kind == "if":
            other = other.parts[1]
            first, last = other.head
            if code.range_text(first, last) == condition and not any(
                code.text(i) in ("(", "++", "--", *ASSIGNMENTS) for i in range(first, last)
            ):
                line = self.line_of(statement.first)[1]
                self.add(
                    "repeated",
                    other.first,
                    f"line {line} has this condition already: this branch never runs",
                )

    def _check_dangling_else(self, statement):
        """Reports an `else` that is indented like the outer `if`'s."""
        code = self.code
        if len(statement.parts) != 1 or statement.parts[0].kind != "if":
            return
        inner = statement.parts[0]
        if len(inner.parts) != 2:
            return
        at = inner.parts[0].last
        token, first, second = (
            code.tokens[at],
            code.tokens[statement.first],
            code.tokens[inner.first],
        )
        is_first = self.lines[token.line].strip().startswith(("else", "} else", "}else"))
        if is_first and second.line > first.line and self.column(token) >= self.column(second):
            return  # its column shows to which `if` the else belongs
        self.add(
            "dangling", at,
            "this else belongs to the inner if: write { } around the body of the outer one",
        )  # fmt: skip

    def _check_plain(self, statement):
        self._check_unused_result(statement)

    def _check_self_assignment(self, statement):
        """Reports assignments of a variable's own value: x = x;, i = i++;, float s = s + x[k];"""
        code = self.code
        first, last = statement.first, statement.last - 1
        if statement.kind != "plain" or code.text(last) != ";" or not self.is_user_code(first):
            return
        signs = [at for at in code.top_level_tokens(first, last) if code.text(at) == "="]
        if len(signs) != 1 or any(code.text(at) == "{" for at in range(signs[0], last)):
            return
        at = signs[0]
        left, right = code.range_text(first, at), code.range_text(at + 1, last)
        if self.operand_start(at - 1) == first and code.tokens[first].kind == "name":
            if left == right:
                self.add(
                    "itself",
                    at,
                    f"{left} = {right} changes nothing: write another value, or remove the line",
                )
            elif right in (f"{left}++", f"{left}--"):
                self.add("itself", at, f"{left} = {right} keeps the old value: write {right}")
            return
        name = code.tokens[at - 1]
        is_integer = first + 2 == at and code.text(first) in INTEGER_TYPES
        if is_integer and last == at + 2 and _FRACTION.fullmatch(code.text(at + 1)):
            value, whole = code.text(at + 1), code.text(at + 1).split(".")[0] or "0"
            self.add(
                "truncated",
                at + 1,
                f"{code.text(first)} {name.text} = {value} keeps {whole}: write float {name.text}",
            )
        is_declared = code.text(at - 2) in TYPE_WORDS or code.text(at - 2) in FLOAT_TYPES
        if name.kind == "name" and is_declared:
            uses = [i for i in range(at + 1, last) if code.text(i) == name.text]
            uses = [
                i
                for i in uses
                if code.text(i - 1) not in (".", "->", "::", "&", "sizeof", "template")
                and code.text(i + 1) not in ("<", "(", "::")
            ]
            if uses and not any(
                code.text(i - 1) == "(" and code.text(i - 2) == "sizeof" for i in uses
            ):
                self.add(
                    "unset", uses[0],
                    f"{name.text} is declared here and read in its own value: write {name.text} = without the type "
                    f"where the outer {name.text} is meant",
                )  # fmt: skip

    def _check_unused_result(self, statement):
        code = self.code
        first, last = statement.first, statement.last - 1
        if last == first + 1 and code.text(first).startswith(("__sync", "__threadfence")):
            name = code.text(first)
            self.add("unused", first, f"{name} is not called: write {name}();")
        if code.text(last) != ";" or last - first < 2:
            return
        token = code.tokens[first]
        if (token.text in KEYWORDS and token.text != "this") or token.kind not in (
            "name",
            "sign",
            "number",
        ):
            return
        top = list(code.top_level_tokens(first, last))
        texts = [code.text(at) for at in top]
        if any(
            t in ASSIGNMENTS or t in ("++", "--", "<<", "?", ",", "&&", "||", "{", "<", ">")
            for t in texts
        ):
            return
        if token.kind == "sign" and token.text not in ("(", "-", "!"):
            return
        for at in top[1:]:
            sign = code.text(at)
            end = at - 1
            is_operand = code.tokens[end].kind in ("name", "number", "char") or code.text(end) in (
                ")",
                "]",
            )
            if not is_operand or (code.tokens[end].kind == "name" and code.text(end) in KEYWORDS):
                continue
            if sign in ("==", "!=", ">=") or (sign == "<=" and "operator" not in texts):
                left, right = code.range_text(first, at), code.range_text(at + 1, last)
                wanted = f": write {left} = {right}" if sign == "==" else ""
                self.add(
                    "unused", at, f"{left} {sign} {right} compares and drops the result{wanted}"
                )
                return
            is_product = sign == "*" and (
                code.text(end) in (")", "]") or code.tokens[end].kind == "number"
            )
            if sign in ("+", "-", "/", "%", "^", "|") or is_product:
                left, right = code.range_text(first, at), code.range_text(at + 1, last)
                wanted = ""
                if self.operand_start(at - 1) == first and code.tokens[first].kind == "name":
                    wanted = f": write {left} {sign}= {right}"
                self.add(
                    "unused", at, f"{left} {sign} {right} computes and drops the result{wanted}"
                )
                return

    def check_uninitialized(self, body):
        if any(
            self.conditional[self.code.tokens[at].line]
            for at in (body.block.first, body.block.last - 1)
        ):
            return
        lines = range(
            self.code.tokens[body.block.first].line, self.code.tokens[body.block.last - 1].line
        )
        if any(self.conditional[line] for line in lines):
            return
        for read in uninitialized.find_uninitialized_reads(self.code, body):
            if not self.is_user_code(read.at):
                continue
            if read.branch is None:
                text = f"{read.name} is read before it has a value: write one where it is declared, {read.name} = 0"
            else:
                line = self.line_of(read.branch.first)[1]
                text = (
                    f"{read.name} has no value where the if of line {line} does not set it: write one where it is "
                    f"declared, {read.name} = 0, or set it in both branches"
                )
            self.add("unset", read.at, text)


RULES = {
    "block": StatementRules._check_block,
    "if": StatementRules._check_if,
    "switch": StatementRules._check_switch,
    "while": StatementRules._check_while,
    "do": StatementRules._check_do,
    "for": StatementRules._check_for,
    "plain": StatementRules._check_plain,
}
"""Kind of a statement -> the method with its rule."""
