"""Reads the PTX of a compiler: functions with their statements, labels, branches and calls, and source positions."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|(?P<loc>\.loc\s[^\n]*)|(?P<file>\.file\s[^\n]*)|(?P<mark>[{};])"
    r"|(?<![\w$%])(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)",
    re.DOTALL,
)
_BRANCH = re.compile(
    r"(?:@!?\s*[\w$%]+\s+)?(?:bra(?:\.uni)?\s+|brx\.idx(?:\.uni)?\s+[^,]+,\s*)([\w$%]+)"
)
_CALL = re.compile(r"(?:@!?\s*[\w$%]+\s+)?call(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([\w$%]+)")
_FUNCTION = re.compile(r"\.(entry|func)\b\s*(?:\([^)]*\)\s*)?([\w$%]+)")
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')


class Statement(NamedTuple):
    """A statement: its text without the semicolon, the offsets at which the statement begins and ends, the
    path of scopes, and its source position (file, line, column)."""

    begin: int
    end: int
    text: str
    path: tuple
    location: tuple | None


class Branch(NamedTuple):
    """A branch: the index of its statement, and its label or the name of its list of labels."""

    number: int
    target: str


class Label(NamedTuple):
    """The offsets at which a label begins and at which its colon ends."""

    begin: int
    end: int


class Function:
    """A function with a body; the function begins and ends at these offsets."""

    def __init__(self, name: str, is_kernel: bool, begin: int) -> None:
        self.name, self.is_kernel, self.begin = name, is_kernel, begin
        self.end = begin
        self.statements: list[Statement] = []
        self.branches: list[Branch] = []
        self.labels: dict[tuple, Label] = {}  # (path of scopes, name) -> offsets
        self.lists: dict[
            tuple, list[str]
        ] = {}  # (scope, name) -> targets of a .branchtargets directive
        self.calls: set[str] = set()
        self.location: tuple | None = None

    def branch_targets(self, branch: Branch) -> list[Label | None]:
        """Returns the possible target labels of a branch, or None for a label that was not found."""
        path = self.statements[branch.number].path
        names = _find_declaration(self.lists, path, branch.target) or [branch.target]
        return [_find_declaration(self.labels, path, name) for name in names]


class Module(NamedTuple):
    """The functions of a PTX module, {file number: name}, and {position: position of the inlining call}."""

    functions: list[Function]
    files: dict[int, str]
    parents: dict[tuple, tuple | None]


def _find_declaration(table, path, name):
    """Returns the value stored for a name at its innermost declaration that is visible in a scope. Returns
    None for an unknown name."""
    for count in range(len(path), 0, -1):
        found = table.get((path[:count], name))
        if found is not None:
            return found
    return None


def read_ptx(ptx: str) -> Module:
    return _PtxReader(ptx).read_module()


class _PtxReader:
    def __init__(self, ptx):
        self.ptx = ptx
        self.functions, self.files, self.parents = [], {}, {}
        self.function = None
        # The path of scopes, and the number of scopes opened so far
        self.scopes, self.opened = [], 0
        self.start = 0  # of the statement
        self.depth = 0  # depth of braces within a statement: vectors, initializers
        self.skipped = 0  # braces of a .section
        self.location = None
        self.last_label = None

    def read_module(self):
        for token in _TOKEN.finditer(self.ptx):
            kind = token.lastgroup
            if kind == "loc":
                self._read_location(token[0])
                self.start = token.end()
            elif kind == "file":
                named = _FILE.match(token[0])
                if named:
                    self.files[int(named[1])] = named[2]
                self.start = token.end()
            elif kind == "label":
                self._read_label(token)
            elif kind is None:
                if not self._statement_text(token):
                    self.start = token.end()  # a comment before a statement
            elif token[0] == "{":
                self._open_scope(token)
            elif token[0] == "}":
                self._close_scope(token)
            elif not self.depth and not self.skipped:
                self._read_statement(token)
        return Module(self.functions, self.files, self.parents)

    def _statement_text(self, token):
        return self.ptx[self.start : token.start()].strip()

    def _read_location(self, text):
        where = _LOCATION.match(text)
        if where is None:
            return
        numbers = [int(n) if n else None for n in where.groups()]
        call = tuple(numbers[3:]) if numbers[3] is not None else None
        if numbers[1]:  # line 0 marks a statement without a source line
            self.location = tuple(numbers[:3])
            self.parents[self.location] = call or self.parents.get(self.location)
        if self.function is not None and self.function.location is None:
            self.function.location = self.location

    def _read_label(self, token):
        if self.function is not None and not self.depth and not self._statement_text(token):
            self.last_label = tuple(self.scopes), token["label"]
            self.function.labels[self.last_label] = Label(token.start(), token.end())
            self.start = token.end()

    def _open_scope(self, token):
        text = self._statement_text(token)
        if self.skipped or text.startswith(".section"):
            self.skipped += 1
        elif self.function is None:
            head = _FUNCTION.search(text)
            if head is None or "=" in text:
                self.depth += 1
                return
            self.function = Function(head[2], head[1] == "entry", token.end())
            self.scopes, self.opened, self.location = [0], 1, None
            self.start = token.end()
        elif text:
            self.depth += 1
        else:
            self.scopes = [*self.scopes, self.opened]
            self.opened += 1
            self.start = token.end()

    def _close_scope(self, token):
        if self.skipped:
            self.skipped -= 1
            self.start = token.end()
        elif self.depth:
            self.depth -= 1
        elif self.function is not None:
            self.scopes = self.scopes[:-1]
            if not self.scopes:
                self.function.end = token.start()
                self.functions.append(self.function)
                self.function = None
            self.start = token.end()

    def _read_statement(self, token):
        function = self.function
        if function is not None:
            text = self._statement_text(token)
            begin = token.start() - len(self.ptx[self.start : token.start()].lstrip())
            path = tuple(self.scopes)
            if text.startswith(".branchtargets"):
                names = text.removeprefix(".branchtargets").replace(",", " ").split()
                function.lists[self.last_label] = names
                function.labels.pop(self.last_label, None)
            else:
                if branch := _BRANCH.match(text):
                    function.branches.append(Branch(len(function.statements), branch[1]))
                elif call := _CALL.match(text):
                    function.calls.add(call[1])
                function.statements.append(Statement(begin, token.end(), text, path, self.location))
        self.start = token.end()
