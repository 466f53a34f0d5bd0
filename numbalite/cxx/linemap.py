"""Maps each line of a string literal with C++ code to its file and line number.

The generated source then contains ``#line 14 "lesson.py"``, so that compilers' messages refer to the user's
lines. The literal is searched in the syntax tree of its file, which linecache reads, so that notebook cells
are supported.
"""

from __future__ import annotations

import ast
import collections
import io
import linecache
import re
import sys
import textwrap
import threading
import tokenize
import types
from typing import NamedTuple

from numbalite.cxx.executed import source_name


class Text(NamedTuple):
    """A C++ text with the file and line number of each line."""

    value: str
    label: str
    """The file's name in messages."""
    lines: tuple
    """For each line of ``value``, its line number in the file (from 1)."""

    def with_line_directives(self) -> str:
        """Returns the text with #line directives, so that compiler messages refer to the origin."""
        out, expected = [], None
        for piece, number in zip(self.value.split("\n"), self.lines, strict=True):
            if number != expected:
                out.append(f'#line {number} "{quote_label(self.label)}"')
            out.append(piece)
            expected = number + 1
        return "\n".join(out)

    def replace(self, value: str) -> Text:
        """Returns a Text with a new value and the same line numbers."""
        return self._replace(value=value)


def quote_label(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"')


def consecutive_text(value: str, label: str, first: int = 1) -> Text:
    """Returns a text whose lines are consecutive."""
    return Text(value, label, tuple(range(first, first + value.count("\n") + 1)))


_DIRECTIVE = re.compile(r'#(?:line)? +(\d+)(?: +"((?:[^"\\]|\\.)*)")?')


def line_positions(source: str) -> list[tuple[str, int]]:
    """Returns (file, line) of each line of a source with #line directives. The line number of a directive
    itself is 0."""
    found: list[tuple[str, int]] = []
    file, number = "", 0
    for text in source.split("\n"):
        directive = _DIRECTIVE.match(text)
        if directive is not None:
            number = int(directive[1]) - 1
            if directive[2] is not None:
                file = re.sub(r"\\(.)", r"\1", directive[2])
            found.append((file, 0))
            continue
        number += 1
        found.append((file, number))
    return found


def count_copies(source: str) -> collections.Counter[tuple[tuple[str, int], str]]:
    """Returns {((file, line), text): number of source lines with this origin and text}."""
    return collections.Counter(zip(line_positions(source), source.split("\n"), strict=True))


# --- functions whose body is a string -------------------------------------------------------------


def function_text(function, what="kernel") -> Text:
    """Returns the Text of a function whose body is a string. Raises TypeError for any other body."""
    if not isinstance(function, types.FunctionType) or function.__name__ == "<lambda>":
        raise TypeError(
            f"expected a function whose body is a string, got {_describe_body(function)}"
        )
    code = function.__code__
    node = function_node(function)
    if node is not None:
        if len(node.body) == 1 and isinstance(node.body[0], ast.Expr):
            literal = node.body[0].value
            if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                if _is_same_docstring(literal.value, function.__doc__):
                    return _literal_text(literal, source_name(code), function.__globals__)
                node = None  # the file has changed since the import
    if node is not None:
        raise TypeError(_usage_message(function, what, node))
    if function.__doc__ is None or code.co_code != _empty_function.__code__.co_code:
        raise TypeError(_usage_message(function, what, None))
    # Without the source file, the lines are estimated (a decorator, the def, then the string).
    first = code.co_firstlineno + (2 if "\n" in function.__doc__ else 1)
    label = code.co_filename if code.co_filename.startswith("<") else "<string>"
    return consecutive_text(function.__doc__, label, first)


def is_string_function(function) -> bool:
    """Returns whether the body of a function is a single string, not Python. An f-string counts as a string;
    ``function_text`` rejects an f-string."""
    node = function_node(function)
    if node is None:
        is_empty = function.__code__.co_code == _empty_function.__code__.co_code
        if is_empty and function.__doc__ is None and sys.flags.optimize > 1:
            raise TypeError(
                f"{function.__name__}: python -OO has removed the string that is the function's body, and the "
                f"source ({source_name(function.__code__)}) is not available: run without -OO, or keep the source"
            )
        return function.__doc__ is not None and is_empty
    if isinstance(node, ast.Lambda):
        return False
    if len(node.body) != 1 or not isinstance(node.body[0], ast.Expr):
        return False
    value = node.body[0].value
    return isinstance(value, ast.JoinedStr) or isinstance(getattr(value, "value", None), str)


def _empty_function():
    """A function with an empty body, for comparison with the bytecode of other functions."""


def _is_same_docstring(literal, doc):
    # Since Python 3.13 a docstring loses its indentation; python -OO drops it.
    return doc is None or [s.strip() for s in literal.split("\n")] == [
        s.strip() for s in doc.split("\n")
    ]


def _describe_body(value):
    if isinstance(value, types.FunctionType):
        return "a lambda"
    return f"{type(value).__name__} {value!r}"


_USAGE = {  # kind -> (decorator, body) to show
    "kernel": ("@cuda.jit", "int i = grid<1>();\n        ..."),
    "device function": ("@cuda.jit(device=True)", "return ...;"),
    "ufunc": ('@vectorize(["float32(float32)"], target="cuda")', "return ...;"),
    "generalized ufunc": (
        '@guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")',
        "for (int i = 0; i < x.size(); ++i)\n            ...",
    ),
    "reduction": ("@cuda.reduce", "return a + b;"),
    "host function": ("@jit", "return ...;"),
}


def _usage_message(function, what, node):
    name = function.__name__
    parameters = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    decorator, body = _USAGE.get(what, _USAGE["kernel"])
    problem = ""
    offender = _first_python_statement(node) if node is not None else None
    if isinstance(offender, ast.Expr) and isinstance(offender.value, ast.JoinedStr):
        problem = (
            f" (line {offender.lineno} is an f-string: write a plain one; numbers that it names are "
            "taken from the Python scope)"
        )
    elif offender is not None:
        problem = f" (line {offender.lineno} is Python)"
    return (
        f"{name}: the body of a {what} is one string of CUDA C++ and nothing else{problem}. Write\n"
        f'    {decorator}\n    def {name}({parameters}):\n        r"""\n        {body}\n        """'
    )


def _first_python_statement(node):
    for i, statement in enumerate(node.body):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if i or not (is_text and isinstance(statement.value.value, str)):
            return statement
    return None


def function_node(function):
    """Returns the function's definition in the syntax tree of its file, or None."""
    code = function.__code__
    tree = _parse_file(source_name(code), function.__globals__)
    if tree is None:
        return None
    found = []
    for node in tree.functions:
        is_named = getattr(node, "name", "<lambda>") == code.co_name
        if is_named and code.co_firstlineno == min(
            node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ())), node.lineno
        ):
            found.append(node)
    if len(found) > 1:  # lambdas in one line
        found = _innermost_lambda(found, code) or [
            node for node in found if _has_same_code(node, code)
        ]
    # If several functions have the same code, any of them is correct
    return found[0] if found else None


def _innermost_lambda(nodes, code):
    """Returns a list with the innermost lambda that contains the positions of the code's instructions, or []
    before Python 3.11."""
    positions = list(getattr(code, "co_positions", list)())
    spans = [(a, c, b, d) for a, b, c, d in positions if None not in (a, b, c, d) and (c or d)]
    if not spans:
        return []
    first = min(span[:2] for span in spans)
    last = max(span[2:] for span in spans)

    def start_position(node):
        return node.lineno, node.col_offset

    around = [
        node
        for node in nodes
        if start_position(node) <= first and last <= (node.end_lineno, node.end_col_offset)
    ]
    return [max(around, key=start_position)] if around else []


def _has_same_code(node, code):
    """Returns whether a lambda's syntax node may belong to a code object."""
    made = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
    inner = next(c for c in made.co_consts if isinstance(c, types.CodeType))
    return (inner.co_code, inner.co_consts, inner.co_names, inner.co_varnames) == (
        code.co_code, code.co_consts, code.co_names, code.co_varnames,
    )  # fmt: skip


# --- strings given as arguments ---------------------------------------------------------------------


def source_text(value: str, name: str, frame=None) -> Text:
    """Returns the Text of a source string; its origin is the string literal in the caller's file."""
    if frame is not None:
        filename = frame.f_code.co_filename
        tree = _parse_file(filename, frame.f_globals)
        if tree is not None:
            literal = _find_literal(tree, value, frame.f_lineno)
            if literal is not None:
                text = _literal_text(literal[0], filename, frame.f_globals)
                lines = text.lines[literal[1] :]
                count = value.count("\n") + 1
                lines = lines[:count]
                lines += tuple(range(lines[-1] + 1, lines[-1] + 1 + count - len(lines)))
                return Text(value, text.label, lines)
    return consecutive_text(value, f"<source of {name}>")


def _find_literal(tree, value, lineno):
    """Returns the string literal nearest to the call whose trimmed text equals the value's, and how many
    more leading empty lines the literal has."""
    wanted, leading = _trim_lines(value)
    if not wanted:
        return None
    best = None
    for node in tree.strings:
        if node.value == value:
            skip = 0
        elif wanted[0] in node.value:
            lines, blank = _trim_lines(node.value)
            if lines != wanted or blank < leading:
                continue
            skip = blank - leading
        else:
            continue
        distance = (node.lineno > lineno, abs(lineno - node.lineno))
        if best is None or distance < best[0]:
            best = distance, node, skip
    return best and best[1:]


def _trim_lines(text):
    """Returns (lines without indentation and without blank lines at both ends, number of blank lines
    before)"""
    lines = [line.strip() for line in text.split("\n")]
    leading = 0
    while lines and not lines[0]:
        del lines[0]
        leading += 1
    while lines and not lines[-1]:
        del lines[-1]
    return lines, leading


# --- files and literals ------------------------------------------------------------------------------


class _ParsedSource(NamedTuple):
    lines: list
    functions: list
    strings: list


_files: dict = {}
_parsing = threading.Lock()


def parse_source(text: str) -> ast.Module:
    """Calls ast.parse in one thread at a time, because CPython 3.11 counts the recursion depths of all
    threads together. Docstrings are kept, which ast.parse of CPython 3.15 omits under python -OO."""
    with _parsing:
        tree = compile(text, "<unknown>", "exec", ast.PyCF_ONLY_AST, True, optimize=0)
    assert isinstance(tree, ast.Module)
    return tree


def _parse_file(filename, namespace):
    """Returns a _ParsedSource with the functions and the strings of a file, or None if the source is not
    available."""
    lines = linecache.getlines(filename, namespace)
    if not lines:
        return None
    known = _files.get(filename)
    if known is None or known.lines is not lines:
        try:
            nodes = list(ast.walk(parse_source("".join(lines))))
        except (SyntaxError, ValueError):
            nodes = _parse_functions(lines)
        known = _ParsedSource(
            lines,
            [n for n in nodes if isinstance(n, (ast.FunctionDef, ast.Lambda))],
            [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)],
        )
        _files[filename] = known
        if len(_files) > 64:
            _files.pop(next(iter(_files)))
    return known


def _parse_functions(lines):
    """Parses each function of a text alone, and returns the syntax nodes. The text may contain lines that are
    not Python, such as magics."""
    nodes = []
    for i, line in enumerate(lines):
        if line.lstrip().startswith(("@", "def ")):
            indent = len(line) - len(line.lstrip())
            end = _block_end(lines, i, indent)
            try:
                tree = parse_source(textwrap.dedent("".join(lines[i:end])))
            except (SyntaxError, ValueError):
                continue
            ast.increment_lineno(tree, i)
            nodes += ast.walk(tree)
    return nodes


def _block_end(lines, start, indent):
    try:
        depth = 0
        for token in tokenize.generate_tokens(io.StringIO("".join(lines[start:])).readline):
            depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
            if token.type == tokenize.DEDENT and depth <= 0:
                return start + token.start[0] - 1
    except (tokenize.TokenError, SyntaxError):
        pass
    return len(lines)


def _literal_text(literal, filename, namespace):
    """Returns the Text of a string literal in a file."""
    value = literal.value
    lines = _literal_lines(literal, linecache.getlines(filename, namespace))
    if lines is None or len(lines) != value.count("\n") + 1:
        lines = tuple(range(literal.lineno, literal.lineno + value.count("\n") + 1))
    return Text(value, file_label(filename), lines)


def _literal_lines(literal, source):
    """Returns the line number in the file for each line of the value, which may contain escapes and
    implicitly joined literals, or None if the numbers cannot be determined."""
    if literal.end_lineno - literal.lineno == literal.value.count("\n"):
        return tuple(range(literal.lineno, literal.end_lineno + 1))
    piece = "".join(source[literal.lineno - 1 : literal.end_lineno])
    lines, current, row = [], None, literal.lineno
    try:
        for token in tokenize.generate_tokens(io.StringIO("(" + piece + "\n)").readline):
            if token.type != tokenize.STRING:
                continue
            first = literal.lineno + token.start[0] - 1
            for is_newline, row in _characters_with_lines(token.string, first):
                current = current or row
                if is_newline:
                    lines.append(current)
                    current = None
    except (tokenize.TokenError, SyntaxError):
        return None
    return (*lines, current or row)


def _characters_with_lines(text, row):
    """Yields (whether the character is a newline, its line in the file) for the characters of one string
    token."""
    quote_at = min(at for at in (text.find("'"), text.find('"')) if at >= 0)
    raw = "r" in text[:quote_at].lower()
    width = 3 if text[quote_at : quote_at + 3] in ("'''", '"""') else 1
    i, end = quote_at + width, len(text) - width
    while i < end:
        if text[i] == "\\" and not raw:
            i += 1
            if text[i] == "\n":
                row += 1
            else:
                yield text[i] == "n", row
        else:
            yield text[i] == "\n", row
            row += text[i] == "\n"
        i += 1


def file_label(filename: str) -> str:
    """Returns the name of a file for messages; for a notebook, the name of its cell."""
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    formatter = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if formatter is not None:
        try:
            named = formatter(filename)
        except Exception:
            named = None
        if named:
            return f"{named[0]} {named[1]}".strip()
    return filename
