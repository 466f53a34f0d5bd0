"""Transforms PTX so that kernels can be stopped.

A GPU runs a kernel until its threads end. This module inserts tests of a flag in device memory. To stop the
kernel, the host sets the flag (cext/core/stop.c): a thread loads the flag, and exits if it is
set.

- A counted loop (ptxloops.py) is divided into strips: the comparison gets a nearer bound; when the counter
  reaches this bound, the thread tests the flag and begins the next strip. An iteration executes the same
  instructions as before, and the assembler unrolls the loop as before. A strip has at most the remaining
  iterations of the loop, and it ends for all values of counter, step and bound. A loop with few iterations
  gets no test.
- Each other backward branch adds the cost of an iteration to a register. If the sum reaches BUDGET, the thread tests
  the flag. Every loop has a backward branch: `bra`, or `brx.idx` with a list of targets, in compiled code or
  in inline PTX with its own labels. Inner counted loops add their cost to the register.
- Functions that can call themselves, directly or through pointers, test the flag at their beginning. Kernels
  with a test also test the flag at their beginning, so that kernels which are already queued end at once.

The first thread that exits writes the number of its test and its block and thread into the record RECORD, as
the struct `record` in cext/core/stop.c. `insert_stop_tests` returns the function and the source position of each test.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from numbalite.compilers import headers, ptxloops, ptxreader
from numbalite.compilers.ptxloops import BUDGET

RECORD = "nl_stop"
"""The record: flag, claimed, number of the test, block[3], thread[3], all 32 bits."""

_DECLARATION = f".visible .global .align 4 .b8 {RECORD}[36];\n"


class StopSite(NamedTuple):
    """A test of the stop flag: the symbol of its function, and its file and line, which are "" and 0 if the
    PTX has no position."""

    function: str
    file: str
    line: int


def insert_stop_tests(ptx: str, is_users=lambda file: True) -> tuple[str, list[StopSite]]:
    """Returns the PTX with tests of the stop flag, and the tests in the order of their numbers.

    ``is_users(file)`` returns whether the file is the user's. A stop test in a header is reported at the line
    of the user's call into the header.
    """
    module = ptxreader.read_ptx(ptx)
    recursive = _recursive_functions(module.functions, ptx)
    sites, edits = [], []

    def make_site(function, location):
        sites.append(_stop_site(function.name, location, module.files, module.parents, is_users))
        return len(sites) - 1

    for function in module.functions:
        writer = _StopTestWriter(ptx, function, make_site)
        writer.collect_edits(function.name in recursive)
        edits += writer.edits
    if not sites:
        return ptx, []
    at = ptx.index("\n", ptx.index(".address_size")) + 1
    pieces, last = [ptx[:at], _DECLARATION], at
    for begin, end, text in sorted(edits, key=lambda edit: edit[:2]):
        pieces += ptx[last:begin], text
        last = end
    pieces.append(ptx[last:])
    return "".join(pieces), sites


def instrument_source(
    ptx: bytes, source, symbols: dict, lowered: dict
) -> tuple[bytes, bytes | None]:
    """Returns the PTX of a compiled source with tests of the stop flag, and the tests in the form of
    Image.stop. Returns None if there are no tests."""
    own = headers.cuda_src()
    names = {lowered[expression]: _user_name(name) for name, expression in symbols.items()}

    def is_user_file(file):
        is_own = file.startswith(own) or ("numbalite/" in file and file.endswith(".cuh"))
        return bool(file) and not is_own and "/include/" not in file

    text, sites = insert_stop_tests(ptx.rstrip(b"\0").decode(), is_user_file)
    rows = (f"{names.get(site.function, '')}\t{_position_text(site)}\0" for site in sites)
    return text.encode(), "".join(rows).encode("utf-8", "replace") or None


def _user_name(expression):
    """Returns the user's name of a kernel: "saxpy" for "k_saxpy::nl_saxpy"."""
    return expression.rpartition("::")[2].removeprefix("nl_")


def _position_text(site):
    return f"{os.path.basename(site.file)}:{site.line}" if site.line else ""


def _recursive_functions(functions, ptx):
    """Returns the set of names of functions that may be called recursively."""
    bodies = {function.name for function in functions}
    kernels = {function.name for function in functions if function.is_kernel}
    indirect = any(name.startswith("%") for function in functions for name in function.calls)
    taken = _names_with_address_taken(functions, ptx) if indirect else set()
    edges = {}
    for function in functions:
        called = {name for name in function.calls if name in bodies}
        if any(name.startswith("%") for name in function.calls):
            called |= taken
        edges[function.name] = called - kernels
    found = set()
    for name in edges:
        seen, waiting = set(), list(edges[name])
        while waiting:
            other = waiting.pop()
            if other == name:
                found.add(name)
                break
            if other not in seen:
                seen.add(other)
                waiting.extend(edges[other])
    return found


def _names_with_address_taken(functions, ptx):
    """Returns the names of the functions whose address is used: names that occur outside of declarations and
    direct calls."""
    result = set()
    for function in functions:
        if function.is_kernel:
            continue
        for use in re.finditer(rf"(?<![\w$%]){re.escape(function.name)}(?![\w$%])", ptx):
            before = ptx[max(use.start() - 400, 0) : use.start()]
            statement = before[max(before.rfind(c) for c in ";{}") + 1 :]
            if before.rstrip().endswith(("{", ",")) and "call" not in statement:
                result.add(function.name)
            elif not re.search(r"\.func\b|\bcall\b|\.entry\b", statement):
                result.add(function.name)
    return result


def _stop_site(function, location, files, parents, is_users):
    """Returns a StopSite for a location: its file and line, or the position of the user's call into which the
    code was inlined."""
    seen = set()
    place = location
    while place is not None and place not in seen:
        seen.add(place)
        if is_users(files.get(place[0], "")):
            return StopSite(function, files.get(place[0], ""), place[1])
        place = parents.get(place)
    if location is None:
        return StopSite(function, "", 0)
    return StopSite(function, files.get(location[0], ""), location[1])


# --- writing

_LOAD = f"ld.volatile.global.u32 %nl_word, [{RECORD}];\nsetp.ne.u32 %nl_hit, %nl_word, 0;\n"
# A load in a kernel may hit in the L1 cache, which each launch invalidates.
# Volatile loads by all warps would wait for one slice of the L2 cache.
_BEGIN = f"ld.global.u32 %nl_word, [{RECORD}];\nsetp.ne.u32 %nl_hit, %nl_word, 0;\n@%nl_hit exit;\n"
_EXIT = (
    "$nl_exit:\n"
    f"atom.global.cas.b32 %nl_word, [{RECORD}+4], 0, 1;\n"
    "setp.ne.u32 %nl_hit, %nl_word, 0;\n"
    "@%nl_hit exit;\n"
    f"st.volatile.global.u32 [{RECORD}+8], %nl_site;\n"
    + "".join(
        f"mov.u32 %nl_word, %{register}.{axis};\nst.volatile.global.u32 [{RECORD}+{at + 4 * i}], %nl_word;\n"
        for register, at in (("ctaid", 12), ("tid", 24))
        for i, axis in enumerate("xyz")
    )
    + "exit;\n"
)


class _StopTestWriter:
    """Returns the edits of a function: (begin, end, text). `make_site` returns the number of a new test of the
    flag."""

    def __init__(self, ptx, function, site):
        self.ptx, self.function, self.site = ptx, function, site
        self.edits = []
        self.declared = (
            ".reg .b32 %nl_count, %nl_word, %nl_site;\n.reg .pred %nl_hit;\nmov.u32 %nl_count, 0;\n"
        )

    def collect_edits(self, is_recursive):
        function = self.function
        for loop in ptxloops.find_loops(function) if function.branches else ():
            if loop.max_cost is not None and loop.max_cost <= BUDGET:
                continue
            if loop.counted is not None:
                self._split_counted_loop(loop, loop.counted)
                continue
            if loop.begin is not None and not self._has_sleep(loop.latches[0]):
                self._split_uncounted_loop(loop)
                continue
            for latch in loop.latches:
                self._insert_test(loop, latch)
        if not self.edits and not is_recursive:
            return
        head = self.declared + (_BEGIN if function.is_kernel else "")
        if is_recursive:
            head += _stop_test_ptx(self.site(function, function.location))
        tail = "ret;\n" if ptxloops.returns_at_end(function) else ""
        self.edits.append((function.begin, function.begin, head))
        self.edits.append((function.end, function.end, tail + _EXIT))

    def _insert_test(self, loop, latch):
        """Inserts a test at a backward branch."""
        branch = self.function.statements[latch.number]
        number = self.site(self.function, branch.location)
        text = branch.text
        if self._has_sleep(latch):
            self._replace_statement(branch, f"\n{_stop_test_ptx(number)}{text};")
            return
        count = f"add.u32 %nl_count, %nl_count, {min(loop.cost, BUDGET)};\n"
        test = f"mov.u32 %nl_count, 0;\n{_stop_test_ptx(number)}"
        goes_on = f"setp.lt.u32 %nl_hit, %nl_count, {BUDGET};\n"
        parts = ptxloops.PLAIN_BRANCH.fullmatch(text)
        if parts is None:  # brx.idx
            next_ = f"$nl_next{number}"
            self._replace_statement(
                branch, f"\n{count}{goes_on}@%nl_hit bra {next_};\n{test}{next_}:\n{text};"
            )
            return
        # The loop keeps a single branch, which is taken if the loop continues without a test.
        negated, predicate, target = parts.groups()
        if predicate is None:
            self._replace_statement(
                branch, f"\n{count}{goes_on}@%nl_hit bra {target};\n{test}bra {target};"
            )
            return
        other = "" if negated else "!"
        self._replace_statement(
            branch,
            f"\n{count}setp.lt.and.u32 %nl_hit, %nl_count, {BUDGET}, {negated}{predicate};\n"
            f"@%nl_hit bra {target};\n@{other}{predicate} bra $nl_next{number};\n{test}bra {target};\n"
            f"$nl_next{number}:\n",
        )

    def _has_sleep(self, latch):
        """Returns whether the loop of a branch sleeps; such a loop tests the flag at each iteration."""
        begin = self.function.statements[latch.number].begin
        label = self.function.branch_targets(latch)[0]
        return label is not None and "nanosleep" in self.ptx[label.begin : begin]

    def _split_uncounted_loop(self, loop):
        """Splits an innermost loop with an unknown number of iterations into strips of BUDGET instructions. A
        new outer loop around the strips tests the flag. A test in the loop itself would be slower: the
        assembler would then synchronize the threads of a warp at each iteration."""
        branch = self.function.statements[loop.latches[0].number]
        number = self.site(self.function, branch.location)
        negated, predicate, target = ptxloops.PLAIN_BRANCH.fullmatch(branch.text).groups()
        left, body, cost = f"%nl_left{number}", f"$nl_strip{number}", min(loop.cost, BUDGET)
        self.declared += f".reg .b32 {left};\n"
        head = f"mov.u32 {left}, {BUDGET};\n"
        leave = ""
        if loop.is_nested:
            head = f"sub.s32 {left}, {BUDGET}, %nl_count;\n"
            leave = f"sub.s32 %nl_count, {BUDGET}, {left};\n"
        self.edits.append((loop.begin, loop.begin, f"\n{head}{body}:\n"))
        goes_on = "gt.s32" if predicate is None else "gt.and.s32"
        joined = "" if predicate is None else f", {negated}{predicate}"
        text = f"\nsub.s32 {left}, {left}, {cost};\nsetp.{goes_on} %nl_hit, {left}, 0{joined};\n@%nl_hit bra {body};\n"
        if predicate is not None:
            other = "" if negated else "!"
            text += f"{leave}@{other}{predicate} bra $nl_next{number};\n"
        text += f"mov.u32 %nl_count, 0;\n{_stop_test_ptx(number)}bra {target};\n"
        self._replace_statement(
            branch, text + (f"$nl_next{number}:\n" if predicate is not None else "")
        )

    def _split_counted_loop(self, loop, counted):
        """Divides a loop into strips."""
        branch = self.function.statements[loop.latches[0].number]
        number = self.site(self.function, branch.location)
        negated, predicate, target = ptxloops.PLAIN_BRANCH.fullmatch(branch.text).groups()
        near, left, body = f"%nl_near{number}", f"%nl_left{number}", f"$nl_strip{number}"
        width = counted.width
        self.declared += f".reg .b{width} {near}, {left};\n"
        most = max(BUDGET // loop.cost, 1)
        most = 1 << (most.bit_length() - 1)
        operands = f"{counted.compared} {counted.result}, {counted.tested}"
        if isinstance(counted.step, str):
            head = _set_strip_bound(counted, near, left, most)
            condition = "lt" if counted.goes_on == counted.condition else "ge"
            nearer = f"setp.{condition}.{operands}, {near};"
        else:
            head = _iteration_count_ptx(counted, left, most)
            goes_on = "ne" if counted.goes_on == counted.condition else "eq"
            nearer = f"sub.s{width} {left}, {left}, 1;\nsetp.{goes_on}.u{width} {counted.result}, {left}, 0;"
        if loop.is_nested:
            head += _add_strip_cost(counted, near, left, loop.cost)
        self.edits.append((loop.begin, loop.begin, f"\n{head}{body}:\n"))
        self._replace_statement(counted.compare, nearer)
        again = f"setp.{counted.condition}.{operands}, {counted.bound};\n"
        if counted.joined is not None:
            again += f"{counted.joined.text};\n"
        other = "" if negated else "!"
        self._replace_statement(
            branch,
            f"@{negated}{predicate} bra {body};\n{again}@{other}{predicate} bra $nl_next{number};\n"
            f"mov.u32 %nl_count, 0;\n{_stop_test_ptx(number)}bra {target};\n$nl_next{number}:\n",
        )

    def _replace_statement(self, statement, text):
        self.edits.append((statement.begin, statement.end, text))


def _stop_test_ptx(number):
    """Returns PTX that loads the flag, and exits if the flag is set."""
    return f"{_LOAD}mov.u32 %nl_site, {number};\n@%nl_hit bra $nl_exit;\n"


def _iteration_count_ptx(counted, left, most):
    """Returns PTX that sets `left` to the number of iterations of a strip, for a loop with a constant
    step."""
    width, register, step, bound = counted.width, counted.register, counted.step, counted.bound
    size = abs(step)
    high, low = (bound, register) if step > 0 else (register, bound)
    text = f"sub.s{width} {left}, {high}, {low};\n"
    if counted.goes_on in ("lt", "gt"):
        text += f"sub.s{width} {left}, {left}, 1;\n"
    if size & (size - 1):
        text += f"div.u{width} {left}, {left}, {size};\n"
    elif size > 1:
        text += f"shr.u{width} {left}, {left}, {size.bit_length() - 1};\n"
    if counted.goes_on == "ne":
        return f"{text}min.u{width} {left}, {left}, {most};\nmax.u{width} {left}, {left}, 1;\n"
    # If the condition of the loop is already false, the strip has one iteration.
    return (
        f"{text}min.u{width} {left}, {left}, {most - 1};\nadd.s{width} {left}, {left}, 1;\n"
        f"setp.{counted.goes_on}.{counted.kind}{width} %nl_hit, {register}, {bound};\n"
        f"selp.b{width} {left}, {left}, 1, %nl_hit;\n"
    )


def _set_strip_bound(counted, near, away, most):
    """Returns PTX that sets `near` to the bound of a strip without a division, for a loop with a step in a
    register."""
    width, register, step = counted.width, counted.register, counted.step
    kind = f"{counted.kind}{width}"
    smallest, largest = ptxloops.counter_limits(counted)
    text = f"min.{kind} {away}, {step}, {1 << width - 12};\n"
    if counted.kind == "s":
        text += f"max.{kind} {away}, {away}, 0;\n"
    text += (
        f"mul.lo.s{width} {away}, {away}, {min(most, 1 << 10)};\nadd.s{width} {near}, {register}, {away};\n"
        f"setp.lt.{kind} %nl_hit, {near}, {register};\nselp.b{width} {near}, {largest}, {near}, %nl_hit;\n"
        f"min.{kind} {near}, {near}, {counted.bound};\n"
        # If the step is not positive, or the counter overflows before it reaches `near`, the strip has one iteration.
        f"sub.s{width} {away}, {largest}, {step};\nsetp.gt.{kind} %nl_hit, {near}, {away};\n"
        f"setp.gt.or.{kind} %nl_hit, {register}, {away}, %nl_hit;\n"
        f"setp.lt.or.{kind} %nl_hit, {step}, 1, %nl_hit;\n"
    )
    if counted.goes_on == "le":
        text += f"add.s{width} {near}, {near}, 1;\n"
    return text + f"selp.b{width} {near}, {smallest}, {near}, %nl_hit;\n"


def _add_strip_cost(counted, near, left, cost):
    """Returns PTX that adds the cost of a strip to the count."""
    width, step = counted.width, counted.step
    text = ""
    if isinstance(step, str):  # cost divided by the largest power of two in the step
        text = (
            f"sub.s{width} {left}, {near}, {counted.register};\nbfind.u{width} %nl_word, {step};\n"
            f"shr.u{width} {left}, {left}, %nl_word;\nmin.u{width} {left}, {left}, {BUDGET // cost + 1};\n"
        )
    convert = "mov.b32" if width == 32 else "cvt.u32.u64"
    return (
        f"{text}{convert} %nl_word, {left};\nmad.lo.s32 %nl_count, %nl_word, {cost}, %nl_count;\n"
    )
