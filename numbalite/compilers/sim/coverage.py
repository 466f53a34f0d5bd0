"""Inserts flags into LLVM IR that record the executed lines and branches of the user's kernels.

`insert_flags` edits the IR of clang's front end, like irpatch.py. A basic block with an instruction on a line
of the user gets a flag, which the block sets. The target of a conditional branch gets a flag, too. If the
target has other predecessors, the branch gets a new block of its own. The flags cover the same code as `clang
--coverage`, without counting: setting a flag needs no atomic operation, and the optimizer can move it out of
a loop. cuda_src/sim/coverage.h maps the flags to a file.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from numbalite.compilers import cache
from numbalite.compilers.sim import ir as syntax

if TYPE_CHECKING:
    from collections.abc import Callable

FLAGS, NAME, TABLE, SIZES = (
    "__llvm_gcov_ctr_nl",
    "nl_coverage_name",
    "nl_coverage_table",
    "nl_coverage_sizes",
)
_PAGE = 4096
_LOCATION = re.compile(r"^(!\d+) = (?:distinct )?!DILocation\((.*)\)$", re.M)
_SCOPE = re.compile(
    r"^(!\d+) = (?:distinct )?!DI(?:Subprogram|LexicalBlock|LexicalBlockFile)\((.*)\)$", re.M
)
_FILE = re.compile(
    r'^(!\d+) = !DIFile\(filename: "((?:[^"\\]|\\.)*)", directory: "((?:[^"\\]|\\.)*)"', re.M
)
_FIELD = {name: re.compile(rf"\b{name}: (!?\d+)") for name in ("line", "column", "scope", "file")}
_OF = re.compile(r"!dbg (!\d+)")
_TARGET = re.compile(rf"label ({syntax.NAME})")
_PHI = re.compile(rf"^  {syntax.NAME} = phi ")
_SANITIZER = "%handler."  # matches basic blocks that report a sanitizer's errors
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


class Position(NamedTuple):
    file: str
    line: int
    column: int


class _Block:
    def __init__(self, label):
        self.label = label
        self.start = self.end = 0  # the lines of its instructions
        self.last = 0  # the first line of the block's terminator
        self.places: dict[tuple, None] = {}  # (file, line)
        self.branch: Position | None = None
        self.targets: list[str] = []


def insert_flags(ir: str, is_users: Callable[[str], bool]) -> str:
    """Returns the IR with code that sets a flag for each executed line and branch. ``is_users(file)`` returns
    whether the file's coverage is recorded."""
    head, functions = syntax.split_functions(ir)
    places = _SourcePositions(ir, is_users)
    made = _CoverageFlags(
        "ptr" if re.search(r"^define [^\n]*\bptr\b|\bload [^\n]*, ptr ", ir, re.M) else "i8*"
    )
    functions = [_instrument_function(text, places, made) for text in functions]
    return _define_variables("".join([head, *functions]), made)


class _SourcePositions:
    """Maps the debug locations of a module to source positions in the user's files."""

    def __init__(self, ir, is_users):
        files = {
            name: _absolute_path(_unescape(file), _unescape(folder))
            for name, file, folder in _FILE.findall(ir)
        }
        wanted = {name: file for name, file in files.items() if is_users(file)}
        self._files = {
            name: wanted.get(_metadata_number("file", text)) for name, text in _SCOPE.findall(ir)
        }
        self._lines = {name: _metadata_number("line", text) for name, text in _SCOPE.findall(ir)}
        self._found = {}
        for name, text in _LOCATION.findall(ir):
            file = self._files.get(_metadata_number("scope", text))
            line = int(_metadata_number("line", text) or 0)
            if file and line and "isImplicitCode: true" not in text:
                self._found[name] = Position(file, line, int(_metadata_number("column", text) or 0))

    def position_of_instruction(self, instruction: str) -> Position | None:
        found = _OF.search(instruction)
        return self._found.get(found[1]) if found else None

    def position_of_function(self, first_line: str) -> tuple | None:
        """Returns (file, line) of a function's declaration."""
        found = _OF.search(first_line)
        file = self._files.get(found[1]) if found else None
        line = int(self._lines.get(found[1]) or 0) if found and file else 0
        return (file, line) if line else None


def _metadata_number(name, text):
    found = _FIELD[name].search(text)
    return found[1] if found else None


def _unescape(quoted):
    return (
        _ESCAPE.sub(lambda m: chr(int(m[1], 16)), quoted)
        .encode("latin-1", "replace")
        .decode("utf-8", "replace")
    )


def _absolute_path(file, folder):
    """Returns the absolute path of a file that exists; returns a name such as "<source of k>" unchanged."""
    # Clang splits a path that begins with the path of the compilation folder.
    for path in (os.path.join(folder, file), os.path.abspath(file)):
        if os.path.isfile(path):
            return path
    return file


class _CoverageFlags:
    """The coverage flags of a module, and their lines and branches."""

    def __init__(self, pointer):
        self.pointer = pointer
        self.count = 0
        self.files: dict[str, int] = {}
        self.lines: list = []  # [file, line, flag]
        self.branches: list = []  # [file, line, column, index among the entries of this position, [flags]]

    def new_flag(self):
        self.count += 1
        return self.count - 1

    def file_number(self, name):
        return self.files.setdefault(name, len(self.files))

    def flag_store(self, flag):
        array = "[NL x i8]"  # the length of the array is filled in at the end
        if self.pointer == "ptr":
            at = f"ptr getelementptr inbounds ({array}, ptr @{FLAGS}, i64 0, i64 {flag})"
        else:
            at = f"i8* getelementptr inbounds ({array}, {array}* @{FLAGS}, i64 0, i64 {flag})"
        return f"  store i8 1, {at}, align 1"


def _instrument_function(text, places, made):
    if "!dbg" not in text:
        return text
    body, close, rest = text.partition("\n}\n")
    rows = body.split("\n")
    blocks = _blocks(rows, places)
    if not any(block.places for block in blocks):
        return text
    declared = places.position_of_function(rows[0])
    if declared:
        blocks[0].places.setdefault(declared)
    entries: dict[str, int] = {}
    for block in blocks:
        for target in block.targets:
            entries[target] = entries.get(target, 0) + 1
    by_label = {block.label: block for block in blocks}
    flags: dict[int, int] = {}  # of blocks
    added: dict[int, list] = {}  # row number -> rows to insert before this row
    last: list[str] = []

    def block_flag(block):
        if id(block) not in flags:
            flags[id(block)] = made.new_flag()
            at = block.start
            while at < block.last and _PHI.match(rows[at]):
                at += 1
            added.setdefault(at, []).append(made.flag_store(flags[id(block)]))
        return flags[id(block)]

    for block in blocks:
        for file, line in block.places:
            made.lines.append([made.file_number(file), line, block_flag(block)])
    seen: dict = {}
    for block in blocks:
        if block.branch is None or len(set(block.targets)) < 2:
            continue
        taken = []
        for target in dict.fromkeys(block.targets):
            to = by_label[target]
            if entries[target] == block.targets.count(target):
                taken.append(block_flag(to))
            elif block.targets.count(target) == 1 or not _has_phi(rows, to):
                flag = made.new_flag()
                label = f"%nl.coverage.{flag}"
                _redirect_branch(rows, block, to, label)
                last += [f"\n{label[1:]}:", made.flag_store(flag), f"  br label {target}"]
                taken.append(flag)
        file, line, column = block.branch
        count = seen[block.branch] = seen.get(block.branch, -1) + 1
        made.branches.append([made.file_number(file), line, column, count, taken])
    out = []
    for at, row in enumerate(rows):
        out += added.get(at, ())
        out.append(row)
    return "\n".join([*out, *last]) + close + rest


def _blocks(rows, places):
    blocks: list[_Block] = []
    at = 1
    while at < len(rows):
        row = rows[at]
        found = syntax.LABEL.match(row)
        if found or not blocks:
            blocks.append(_Block(f"%{found[1]}" if found else "%0"))
            blocks[-1].start = at + bool(found)
            at += bool(found)
            continue
        if not row.startswith("  "):
            at += 1
            continue
        block, whole = blocks[-1], row
        block.last = at
        if row.startswith("  switch "):
            while not rows[at].startswith("  ]"):
                at += 1
                whole += rows[at]
        block.end = at
        place = None if "@llvm.dbg." in row else places.position_of_instruction(whole)
        if place:
            block.places.setdefault(place[:2])
        if row.startswith(("  br ", "  switch ")):
            block.targets = _TARGET.findall(whole)
            is_check = any(target.startswith(_SANITIZER) for target in block.targets)
            block.branch = None if is_check else place
        at += 1
    return blocks


def _has_phi(rows, block):
    return any(_PHI.match(rows[at]) for at in range(block.start, block.last))


def _redirect_branch(rows, block, to, label):
    """Redirects a branch to a new block that sets a flag and jumps to the target."""
    target = re.compile(rf"(label ){re.escape(to.label)}(?![\w.$-])")
    for at in range(block.last, block.end + 1):
        rows[at] = target.sub(lambda m: m[1] + label, rows[at])
    source = re.compile(rf", {re.escape(block.label)} \]")
    for at in range(to.start, to.last):
        if _PHI.match(rows[at]):
            rows[at] = source.sub(f", {label} ]", rows[at])


def _define_variables(ir, made):
    """Returns the IR with definitions of the variables that coverage.h declares."""
    size = -(-made.count // _PAGE) * _PAGE
    table = json.dumps(
        {"files": list(made.files), "lines": made.lines, "branches": made.branches},
        separators=(",", ":"),
    ).encode()
    name = f"{cache.hash_values(table).hex()}.{size}.cov".encode()
    texts = {NAME: name + b"\0", TABLE: table}
    values = {
        FLAGS: f"hidden global [{size} x i8] zeroinitializer, align {_PAGE}",
        SIZES: f"hidden constant [2 x i64] [i64 {size}, i64 {len(table)}], align 16",
        **{n: f"hidden constant [{len(t)} x i8] c\"{_escape_bytes(t)}\", align 1" for n, t in texts.items()},
    }  # fmt: skip
    ir = ir.replace("[NL x i8]", f"[{size} x i8]")
    for variable, value in values.items():
        ir = _define_variable(ir, variable, value)
    # The simulator shares variables of one name between the images of a kernel with different checks, by copying them.
    return ir.replace(f"@{FLAGS}", f"@{FLAGS}.{cache.hash_values(table).hex()}")


def _define_variable(ir, name, value):
    """Returns the IR in which a declared variable is defined with this value."""
    declared = re.compile(rf"^@{name} = external [^\n]*?(\[\d+ x i\d+\])[^\n]*$", re.M)
    found = declared.search(ir)
    if found is None:
        raise ValueError(f"the image does not declare {name}")
    old, new = re.escape(found[1]), re.search(r"\[\d+ x i\d+\]", value)
    assert new is not None
    ir = declared.sub(lambda _: f"@{name} = {value}", ir, count=1)
    # Matches uses of the variable as an array of unknown length, with typed pointers.
    ir = re.sub(rf"{old}\* @{name}\b", f"{new[0]}* @{name}", ir)
    return re.sub(rf"\({old}, ({re.escape(new[0])}\*|ptr) @{name}\b", rf"({new[0]}, \1 @{name}", ir)


def _escape_bytes(data):
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
