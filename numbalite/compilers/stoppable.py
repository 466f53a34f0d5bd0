"""Kernels that can be stopped: a transformation of PTX.

A GPU runs a kernel until its threads end. Here each thread gets a test of a flag in device memory, which the host sets
to stop the kernel (cext/core/stop.c). A register counts the backward branches that a thread takes; at each
INTERVAL-th one the thread loads the flag, and exits if it is set. Every loop has a backward branch, whatever its form:
`bra`, or `brx.idx` through a list of targets, in code of the compiler or in inline PTX with labels of its own.
Functions that can call themselves, directly or through pointers, test the flag at their beginning, and so do kernels
that have a test, so that kernels which were queued end at once.

The first thread that exits writes the number of its test and its block and thread into the record RECORD, as the
struct `record` in cext/core/stop.c. `instrument` returns the function and the position in the source of each test.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from numbalite.compilers import headers

RECORD = "nl_stop"
"""The record: flag, claimed, number of the test, block[3], thread[3], all 32 bits."""
INTERVAL = 16
"""Backward branches from one test to the next: a power of two."""

_DECLARATION = f".visible .global .align 4 .b8 {RECORD}[36];\n"
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|(?P<loc>\.loc\s[^\n]*)|(?P<file>\.file\s[^\n]*)|(?P<mark>[{};])"
    r"|(?<![\w$%])(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)",
    re.DOTALL,
)
_BRANCH = re.compile(
    r"(?:@!?\s*[\w$%]+\s+)?(?:bra(?:\.uni)?\s+|brx\.idx(?:\.uni)?\s+[^,]+,\s*)([\w$%]+)"
)
_PLAIN = re.compile(r"(?:@(!?)\s*([\w$%]+)\s+)?bra(?:\.uni)?\s+([\w$%]+)")
_CALL = re.compile(r"(?:@!?\s*[\w$%]+\s+)?call(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([\w$%]+)")
_FUNCTION = re.compile(r"\.(entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$%]+)")
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_ENDS = re.compile(r"(?:ret|exit|trap|bra|brx)\b")


class Site(NamedTuple):
    """A test: the symbol of its function, and the file and the line, which are "" and 0 if the PTX has none."""

    function: str
    file: str
    line: int


class _Branch(NamedTuple):
    """A branch: its text without the semicolon, which begins and ends at these offsets."""

    begin: int
    end: int
    text: str
    target: str
    path: tuple
    location: tuple | None


class _Function:
    """A function with a body: where it begins and ends, its statements, and what it calls."""

    def __init__(self, name, is_kernel, begin):
        self.name, self.is_kernel, self.begin = name, is_kernel, begin
        self.end = begin
        self.branches = []
        self.labels = {}  # (path of scopes, name) -> offset
        self.lists = {}  # the same -> targets of a .branchtargets
        self.calls = set()
        self.location = None
        self.falls_through = False


def instrument(ptx: str, is_users=lambda file: True) -> tuple[str, list[Site]]:
    """The PTX with its tests, and the tests in the order of their numbers.

    ``is_users``: is this a file of the user? The position of a test in another file is that of the call there.
    """
    functions, files, parents = _read(ptx)
    recursive = _recursive(functions, ptx)
    sites, edits = [], []

    def site(function, location):
        sites.append(_site(function.name, location, files, parents, is_users))
        return len(sites) - 1

    for function in functions:
        own = [branch for branch in function.branches if _is_backward(function, branch)]
        entry = function.name in recursive
        if not own and not entry:
            continue
        head = _looked(site(function, function.location)) if entry else ""
        edits.append((function.begin, function.begin, _head(function.is_kernel) + head))
        for branch in own:
            number = site(function, branch.location)
            each_time = _sleeps(ptx, function, branch)
            edits.append((branch.begin, branch.end, _tested(branch, number, each_time)))
        tail = "ret;\n" if function.falls_through else ""
        edits.append((function.end, function.end, tail + _EXIT))
    if not sites:
        return ptx, []
    at = ptx.index("\n", ptx.index(".address_size")) + 1
    pieces, last = [ptx[:at], _DECLARATION], at
    for begin, end, text in sorted(edits, key=lambda edit: edit[0]):
        pieces += ptx[last:begin], text
        last = end
    pieces.append(ptx[last:])
    return "".join(pieces), sites


def of_source(ptx: bytes, source, symbols: dict, lowered: dict) -> tuple[bytes, bytes | None]:
    """The PTX of a compiled source with its tests, and the tests as Image.stop has them; None without any."""
    own = headers.cuda_src()
    names = {lowered[expression]: _plain(name) for name, expression in symbols.items()}

    def is_users(file):
        is_own = file.startswith(own) or ("numbalite/" in file and file.endswith(".cuh"))
        return bool(file) and not is_own and "/include/" not in file

    text, sites = instrument(ptx.rstrip(b"\0").decode(), is_users)
    rows = (f"{names.get(site.function, '')}\t{_position(site)}\0" for site in sites)
    return text.encode(), "".join(rows).encode("utf-8", "replace") or None


def _plain(expression):
    """The user's name of a kernel: "saxpy" of "k_saxpy::nl_saxpy"."""
    return expression.rpartition("::")[2].removeprefix("nl_")


def _position(site):
    return f"{os.path.basename(site.file)}:{site.line}" if site.line else ""


# --- reading


def _read(ptx):
    """The functions with their branches, the names of files, and the calls that positions were inlined at."""
    functions, files, parents = [], {}, {}
    function = None
    scopes, opened = [], 0  # of the innermost first; how many scopes there were
    start = 0  # of the statement
    depth = 0  # of braces in a statement: vectors, initializers
    skipped = 0  # braces of a .section
    location = None
    for token in _TOKEN.finditer(ptx):
        kind = token.lastgroup
        if kind == "loc":
            where = _LOCATION.match(token[0])
            if where:
                numbers = [int(n) if n else None for n in where.groups()]
                call = tuple(numbers[3:]) if numbers[3] is not None else None
                if numbers[1]:  # line 0: no line of its own
                    location = tuple(numbers[:3])
                    parents[location] = call or parents.get(location)
                if function is not None and function.location is None:
                    function.location = location
            start = token.end()
        elif kind == "file":
            named = _FILE.match(token[0])
            if named:
                files[int(named[1])] = named[2]
            start = token.end()
        elif kind == "label":
            if function is not None and not depth and not ptx[start : token.start()].strip():
                function.labels[tuple(scopes), token["label"]] = token.start()
                start = token.end()
                last_label = tuple(scopes), token["label"]
        elif kind is None:
            if not ptx[start : token.start()].strip():
                start = token.end()  # a comment before a statement
        elif token[0] == "{":
            text = ptx[start : token.start()].strip()
            if skipped or text.startswith(".section"):
                skipped += 1
            elif function is None:
                head = _FUNCTION.search(text)
                if head is None or "=" in text:
                    depth += 1
                    continue
                function = _Function(head[2], head[1] == "entry", token.end())
                scopes, opened, location = [0], 1, None
                start = token.end()
            elif text:
                depth += 1
            else:
                scopes = [*scopes, opened]
                opened += 1
                start = token.end()
        elif token[0] == "}":
            if skipped:
                skipped -= 1
                start = token.end()
            elif depth:
                depth -= 1
            elif function is not None:
                scopes = scopes[:-1]
                if not scopes:
                    function.end = token.start()
                    functions.append(function)
                    function = None
                start = token.end()
        elif not depth and not skipped:  # ;
            if function is not None:
                text = ptx[start : token.start()].strip()
                path = tuple(scopes)
                function.falls_through = _ENDS.match(text) is None
                if text.startswith(".branchtargets"):
                    names = text.removeprefix(".branchtargets").replace(",", " ").split()
                    function.lists[last_label] = names
                    function.labels.pop(last_label, None)
                elif branch := _BRANCH.match(text):
                    begin = token.start() - len(ptx[start : token.start()].lstrip())
                    function.branches.append(
                        _Branch(begin, token.end(), text, branch[1], path, location)
                    )
                elif call := _CALL.match(text):
                    function.calls.add(call[1])
            start = token.end()
    return functions, files, parents


def _find(table, path, name):
    """What a name means in a scope: the innermost declaration."""
    for count in range(len(path), 0, -1):
        found = table.get((path[:count], name))
        if found is not None:
            return found
    return None


def _is_backward(function, branch):
    targets = _find(function.lists, branch.path, branch.target) or [branch.target]
    for name in targets:
        label = _find(function.labels, branch.path, name)
        if label is None or label <= branch.begin:  # not found: a test does no harm
            return True
    return False


def _sleeps(ptx, function, branch):
    """Does the loop of a branch sleep? Then it tests at each iteration."""
    label = _find(function.labels, branch.path, branch.target)
    return label is not None and "nanosleep" in ptx[label : branch.begin]


def _recursive(functions, ptx):
    """The names of functions that may be called again before they return."""
    bodies = {function.name for function in functions}
    kernels = {function.name for function in functions if function.is_kernel}
    indirect = any(name.startswith("%") for function in functions for name in function.calls)
    taken = _taken(functions, ptx) if indirect else set()
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


def _taken(functions, ptx):
    """The functions whose address something has: their names outside of declarations and direct calls."""
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


def _site(function, location, files, parents, is_users):
    """The position of a location, or of the call in the user's file that it was inlined at."""
    seen = set()
    place = location
    while place is not None and place not in seen:
        seen.add(place)
        if is_users(files.get(place[0], "")):
            return Site(function, files.get(place[0], ""), place[1])
        place = parents.get(place)
    if location is None:
        return Site(function, "", 0)
    return Site(function, files.get(location[0], ""), location[1])


# --- writing

_DECLARED = """
.reg .b32 %nl_count, %nl_word, %nl_site;
.reg .pred %nl_hit;
mov.u32 %nl_count, 0;
"""
_LOAD = f"ld.volatile.global.u32 %nl_word, [{RECORD}];\nsetp.ne.u32 %nl_hit, %nl_word, 0;\n"
_COUNT = f"add.u32 %nl_count, %nl_count, 1;\nand.b32 %nl_word, %nl_count, {INTERVAL - 1};\n"
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


def _head(is_kernel):
    """The beginning of a function; a kernel that was queued ends there."""
    return _DECLARED + (_LOAD + "@%nl_hit exit;\n" if is_kernel else "")


def _looked(number):
    """Loads the flag, and leaves if it is set."""
    return f"{_LOAD}mov.u32 %nl_site, {number};\n@%nl_hit bra $nl_exit;\n"


def _tested(branch, number, each_time):
    """A branch with its test."""
    test = _looked(number)
    if each_time:
        return f"\n{test}{branch.text};"
    parts = _PLAIN.fullmatch(branch.text)
    if parts is None:  # brx.idx
        return (
            f"\n{_COUNT}setp.ne.u32 %nl_hit, %nl_word, 0;\n@%nl_hit bra $nl_next{number};\n{test}"
            f"$nl_next{number}:\n{branch.text};"
        )
    # The loop keeps a single branch: it is taken if the loop goes on and there is no test.
    negated, predicate, target = parts.groups()
    if predicate is None:
        return f"\n{_COUNT}setp.ne.u32 %nl_hit, %nl_word, 0;\n@%nl_hit bra {target};\n{test}bra {target};"
    other = "" if negated else "!"
    return (
        f"\n{_COUNT}setp.ne.and.u32 %nl_hit, %nl_word, 0, {negated}{predicate};\n@%nl_hit bra {target};\n"
        f"@{other}{predicate} bra $nl_next{number};\n{test}bra {target};\n$nl_next{number}:\n"
    )
