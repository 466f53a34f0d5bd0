"""Parses the layouts of generalized ufuncs, in the syntax of NEP 20. For example, ``(m,n),(n,p)->(m,p)``.

A dimension is a name, a fixed size (``(3),(3)->(3)``), optionally followed by a ``?`` if an operand may lack
the dimension (``(m?,n),(n,p?)->(m?,p?)``, as numpy.matmul's). Syntax and meaning are those of NumPy; all
fixed dimensions of equal size count as one dimension. A mistake raises a SignatureError that shows the text
with a caret below the position.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from ..errors import SignatureError

_SPACE = re.compile(r"[ \t]*")
_DIMENSION = re.compile(r"(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+))(\?)?")
_MAX_OPERANDS = 32
_MAX_DIMENSIONS = 8


class Dimension(NamedTuple):
    """One core dimension, which several operands may share."""

    name: str
    """As written, without ``?``; of a fixed dimension its size."""
    size: int
    """The size of a fixed dimension; else -1."""
    optional: bool
    """Operands may lack it."""


class CoreLayout(NamedTuple):
    """The core dimensions of every operand."""

    dimensions: tuple[Dimension, ...]
    inputs: tuple[tuple[int, ...], ...]
    """For each input the places of its core dimensions in ``dimensions``."""
    outputs: tuple[tuple[int, ...], ...]

    @property
    def nin(self) -> int:
        return len(self.inputs)

    @property
    def nout(self) -> int:
        return len(self.outputs)

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    @property
    def unspecified(self) -> tuple[int, ...]:
        """Dimensions that occur in outputs only: out= determines their sizes."""
        known = {i for operand in self.inputs for i in operand}
        return tuple(
            i for i, d in enumerate(self.dimensions) if d.size < 0 and i not in known
        )  # fmt: skip

    def __str__(self):
        def read_operand(places):
            found = (self.dimensions[i] for i in places)
            return "(" + ",".join(d.name + "?" * d.optional for d in found) + ")"

        inputs = ",".join(map(read_operand, self.inputs))
        return f"{inputs}->{','.join(map(read_operand, self.outputs))}" if self.outputs else inputs


@functools.lru_cache(256)
def parse_layout(text: str, may_lack_outputs: bool = False) -> CoreLayout:
    """Returns the CoreLayout that ``text`` describes. ``may_lack_outputs``: a layout without outputs, "(n),(m)" or "(n)->",
    is allowed.

    >>> str(parse("(m, n), (n, p) -> (m, p)"))
    '(m,n),(n,p)->(m,p)'
    """
    if not isinstance(text, str):
        raise TypeError(f"a layout is text such as '(m,n),(n,p)->(m,p)', not {text!r}")
    parser = _Parser(text)
    inputs = parser.operands()
    is_at_end = parser.at == len(text.rstrip())
    if not parser.take("->") and not (may_lack_outputs and is_at_end):
        parser.fail("'->' is missing" if is_at_end else "expected ',' or '->'")
    has_outputs = not may_lack_outputs or parser.at < len(text)
    outputs = parser.operands() if has_outputs else ()
    if parser.at < len(text):
        parser.fail("expected ','")
    if len(inputs) + len(outputs) > _MAX_OPERANDS:
        parser.fail(f"a function has at most {_MAX_OPERANDS} operands", 0)
    return CoreLayout(tuple(parser.dimensions), tuple(inputs), tuple(outputs))


class _Parser:
    def __init__(self, text):
        self.text = text
        self.dimensions = []
        self.places = {}  # name or size of a dimension -> index in dimensions
        self.at = 0
        self.skip_spaces()

    def skip_spaces(self):
        self.at = _SPACE.match(self.text, self.at).end()

    def take(self, sign):
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.skip_spaces()
        return True

    def fail(self, message, at=None):
        at = self.at if at is None else at
        if not self.text.strip():
            raise SignatureError("empty layout: write for example '(m,n),(n,p)->(m,p)'")
        line = re.sub(r"[^\S\t]", " ", self.text)
        indent = re.sub(r"[^\t]", " ", line[:at])
        raise SignatureError(f"{message}\n  {line}\n  {indent}^")

    def operands(self):
        found = [self.read_operand()]
        while self.take(","):
            found.append(self.read_operand())
        return found

    def read_operand(self):
        if not self.take("("):
            self.fail("expected '('")
        found = []
        if self.take(")"):
            return ()
        while True:
            found.append(self.read_dimension())
            if self.take(")"):
                break
            if not self.take(","):
                self.fail("')' is missing" if self.at == len(self.text) else "expected ',' or ')'")
            if self.text.startswith(")", self.at):
                self.fail("a dimension is missing after ','")
        if len(found) > _MAX_DIMENSIONS:
            self.fail(f"an operand has at most {_MAX_DIMENSIONS} core dimensions", self.at - 1)
        return tuple(found)

    def read_dimension(self):
        start = self.at
        match = _DIMENSION.match(self.text, start)
        if not match:
            self.fail("expected the name of a dimension, or its size")
        name, number, optional = match[1], match[2], bool(match[3])
        size = -1
        if number:
            size = int(number)
            if size == 0:
                self.fail("a fixed size is greater than 0")
            if size >= 2**63:
                self.fail("this size is too large")
            following = self.text[match.end() : match.end() + 1]
            if not match[3] and (following.isalpha() or following == "_"):
                self.fail("a name begins with a letter")
        key = name or size
        place = self.places.setdefault(key, len(self.dimensions))
        if place == len(self.dimensions):
            self.dimensions.append(Dimension(str(key), size, optional))
        elif optional and not self.dimensions[place].optional:
            self.fail(f"{key} stands without '?' before: then it has none here", match.end() - 1)
        elif not optional and self.dimensions[place].optional:
            self.fail(f"{key} has a '?' before: then it needs one here", match.end())
        self.at = match.end()
        self.skip_spaces()
        return place
