"""Reads signatures as text: numba's type language, with a small recursive descent parser.

    void(float32[:, ::1], const float32[:], int64)      a signature
    (f4[:], i8)        f4[:], i8                        arguments only
    float32[:]    Tuple((f4, f4))    float32*           types

An error raises SignatureError, which shows the text with a caret under the position.
"""

from __future__ import annotations

import re

from numbalite import types
from numbalite.errors import SignatureError
from numbalite.types import Array, Pointer, Record, Scalar, Signature, Tuple, Type, Void

_TOKEN = re.compile(r"\s*(?:([^\W\d]\w*(?:\.[^\W\d]\w*)*)|(\d+)|(['\"][A-Za-z]['\"])|(\S))")
_CPP_NAMES = {
    "float": "float32 (or float64, Python's float)",
    "int": "int32 or int64",
    "long": "int64",
    "str": "no text: kernels take numbers and arrays",
    "object": "no objects: kernels take numbers and arrays",
}


def parse(text: str, names=None) -> Signature:
    """Returns the signature in ``text``. ``names`` maps further names to types (or dtypes)."""
    parser = _Parser(text, names)
    signature = parser.signature()
    parser.end()
    return signature


def parse_type(text: str, names=None) -> Type:
    """Returns the type in ``text``."""
    parser = _Parser(text, names)
    t = parser.type()
    parser.end()
    return t


def signature(what, names=None) -> Signature:
    """Returns one signature from a text, a Signature, or a tuple or list of types."""
    if isinstance(what, Signature):
        return what
    if isinstance(what, str):
        return parse(what, names)
    if isinstance(what, (tuple, list)):
        return Signature(None, [_parsed_type(item, names) for item in what])
    if isinstance(what, Type):
        raise SignatureError(
            f"{what} is a type, not a signature: write void({what}) for a kernel that takes it"
        )
    raise SignatureError(
        f"a signature must be text such as 'void(float32[:], int32)', types such as "
        f"void(float32[:], int32), or a tuple of types; not {what!r}"
    )


def signatures(what, names=None) -> list[Signature]:
    """Returns all signatures in an argument of cuda.jit: one signature, or a list of them."""
    if isinstance(what, list) or (
        isinstance(what, tuple) and what and not any(_is_argument_type(item) for item in what)
    ):
        found = [signature(item, names) for item in what]
        for i, item in enumerate(found):
            if item.args in [other.args for other in found[:i]]:
                raise SignatureError(f"the signature {item} is there twice")
        return found
    return [signature(what, names)]


def is_signature(what) -> bool:
    """Returns whether the object may be a signature argument of cuda.jit."""
    return isinstance(what, (str, Signature, Type, list, tuple))


def _is_argument_type(item):
    if isinstance(item, str):
        return "(" not in item
    return isinstance(item, Type) or not isinstance(item, (Signature, tuple, list))


def _parsed_type(item, names):
    if isinstance(item, str):
        return parse_type(item, names)
    try:
        return types.as_type(item)
    except TypeError as problem:
        raise SignatureError(str(problem)) from None


_DEEPEST = 50  # maximum depth of nested types
_SHOWN = 200  # characters of a line, in messages


class _Parser:
    def __init__(self, text, names):
        self.text = text
        self.names = names
        self.tokens = []  # (kind, text, start)
        at = 0
        while match := _TOKEN.match(text, at):
            kind = ("name", "number", "quoted", "sign")[match.lastindex - 1]
            self.tokens.append((kind, match[match.lastindex], match.start(match.lastindex)))
            at = match.end()
        self.tokens.append(("end", "", len(text.rstrip())))
        self.next = 0
        self.depth = 0  # nesting depth

    # --- tokens

    @property
    def token(self):
        return self.tokens[self.next]

    def take(self, *signs):
        """Returns the next token if it is one of these punctuators, otherwise None."""
        if self.token[0] != "end" and self.token[1] in signs:
            self.next += 1
            return self.tokens[self.next - 1][1]
        return None

    def expect(self, *signs):
        if not self.take(*signs):
            self.fail("expected " + " or ".join(repr(s) for s in signs))

    def end(self):
        if self.token[0] != "end":
            self.fail("nothing more was expected here")

    def fail(self, message, token=None):
        start = (token or self.token)[2]
        head = self.text.rfind("\n", 0, start) + 1
        line = self.text[head:].split("\n", 1)[0]
        at = start - head
        if len(line) > _SHOWN:  # the text around the error
            first = max(0, at - _SHOWN // 2)
            line, at = line[first : first + _SHOWN], at - first
        indent = re.sub(r"[^\t]", " ", line[:at])
        raise SignatureError(f"{message}\n  {line}\n  {indent}^" if line.strip() else message)

    # --- grammar

    def signature(self):
        if self.token[0] == "end":
            self.fail("empty signature: write for example void(float32[:], int32)")
        if self.is_bare_list():
            return Signature(None, self.type_list())
        if self.token[1] == "(":
            args = self.arguments()
            if self.token[1] == "(" and self.token[0] == "sign":
                return Signature(Tuple(args), self.arguments())
            return Signature(None, args)
        t = self.type()
        if self.token[0] == "end":
            self.fail(f"{t} is a type, no signature: the argument types in parentheses are missing")
        return Signature(t, self.arguments())

    def is_bare_list(self):
        """Returns whether the text is a list of types without parentheses around it, as in ``f4[:], i8``."""
        depth = 0
        for kind, text, _ in self.tokens:
            if kind == "sign":
                depth += (text in ("(", "[")) - (text in (")", "]"))
                if text == "," and depth == 0:
                    return True
        return False

    def type_list(self):
        """Returns the types up to the end of the text."""
        args = [self.argument()]
        while self.take(","):
            if self.token[0] == "end":
                break
            args.append(self.argument())
        if self.token[0] != "end":
            self.expect_closing(",")
        return args

    def arguments(self):
        self.expect("(")
        args = []
        while not self.take(")"):
            args.append(self.argument())
            if not self.take(","):
                self.expect_closing(")")
                break
        return args

    def expect_closing(self, sign):
        if not self.take(sign):
            if self.token[0] == "end":
                self.fail(f"{sign!r} is missing")
            self.fail(f"expected ',' or {sign!r}")

    def argument(self):
        at = self.token
        t = self.type()
        if isinstance(t, Void):
            if at[1].rpartition(".")[2] == "none":
                return types.Empty()
            self.fail("void is no type of an argument; a signature without arguments is void()", at)
        if self.token[0] == "name":
            self.fail("a signature has types only, no names of parameters")
        return t

    def type(self):
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(f"types are nested more than {_DEEPEST} deep")
        t = self.type_at_depth()
        self.depth -= 1
        return t

    def type_at_depth(self):
        at = self.token
        const = bool(self.take("const"))
        t = self.primary()
        while True:
            if self.token[1] == "[":
                t = self.array(t)
            elif self.token[1] == "*":
                self.pointer_of(t)
                t = Pointer(t, const)
                const = False
                self.next += 1
            else:
                break
        if const:
            if not isinstance(t, (Array, Record, Pointer)):
                self.fail(f"only arrays can be const: a plain {t} is passed by value", at)
            t = types.const(t)
        return t

    def pointer_of(self, t):
        if not isinstance(t, (Scalar, Record, Void)):
            self.fail(f"there are no pointers to {t}")

    def primary(self):
        at = self.token
        kind, text, _ = at
        if text == "(":
            return Tuple(self.arguments())
        if kind != "name":
            self.fail("a type is missing here" if kind != "end" else "the text ends too early")
        self.next += 1
        name = text.removeprefix("numbalite.").removeprefix("numba.").removeprefix("nb.")
        name = name.removeprefix("cuda.").removeprefix("types.").removeprefix("np.")
        if self.token[1] == "(" and name in _FORMS:
            return _FORMS[name](self)
        if name in types.NAMES:
            return types.NAMES[name]
        return self.named_type(name, at)

    def named_type(self, name, at):
        """Returns the object of a name from the scope of the signature, or raises an error."""
        value = self.names(name) if self.names else None
        if value is not None and not isinstance(value, (int, float, str)):
            try:
                return types.as_type(value)
            except TypeError:
                pass
        if name in _CPP_NAMES:
            self.fail(f"{name} is not a type here; write {_CPP_NAMES[name]}", at)
        import difflib

        near = difflib.get_close_matches(name, [*types.NAMES, *_FORMS], 1, 0.7)
        hint = f"; did you mean {near[0]}?" if near else ""
        self.fail(f"{name} is not a type{hint}", at)

    def array(self, element):
        if not isinstance(element, (Scalar, Record)):
            self.fail(f"there are no arrays of {element}")
        start = self.token
        self.expect("[")
        steps = []
        if self.take("("):
            self.expect(")")
            self.expect_closing("]")
            return Array(element, 0)
        while True:
            if self.take("..."):
                self.fail("'...' is no number of dimensions; write one ':' for each")
            if not self.take(":"):
                self.fail("expected ':' or '::1'")
            contiguous = False
            if self.take(":"):
                if self.token[1] != "1":
                    self.fail("after '::' only 1 can stand, for contiguous")
                self.next += 1
                contiguous = True
            steps.append(contiguous)
            if not self.take(","):
                self.expect_closing("]")
                break
        try:
            layout = types.layout_of(steps, f"write {element}[:, ::1] or {element}[::1, :]")
        except TypeError as problem:
            self.fail(str(problem), start)
        return Array(element, len(steps), layout)

    # --- forms with parentheses

    def form_tuple(self):
        self.expect("(")
        double = self.token[1] == "("
        if double:
            args = self.arguments()
            self.expect_closing(")")
            return Tuple(args)
        self.next -= 1
        return Tuple(self.arguments())

    def form_unituple(self):
        self.expect("(")
        t = self.argument()
        self.expect(",")
        count = self.number()
        self.expect_closing(")")
        return Tuple([t] * count)

    def form_pointer(self):
        self.expect("(")
        t = self.type()
        self.pointer_of(t)
        self.expect_closing(")")
        return Pointer(t)

    def form_array(self):
        """Reads ``array(float32, 2d, C)``, as numba prints array types."""
        self.expect("(")
        t = self.type()
        self.expect(",")
        ndim = self.number()
        self.take("d")
        self.expect(",")
        text = self.token[1]
        layout = text.strip("'\"")
        if layout not in ("A", "C", "F"):
            self.fail("a layout is A, C or F")
        self.next += 1
        self.expect_closing(")")
        if not isinstance(t, (Scalar, Record)):
            self.fail("expected for example array(float32, 2d, C)")
        return Array(t, ndim, layout)

    def form_optional(self):
        at = self.tokens[self.next - 1]
        self.expect("(")
        t = self.type()
        self.expect_closing(")")
        self.fail(types.no_optional(t), at)

    def number(self):
        kind, text, _ = self.token
        if kind != "number":
            self.fail("expected a number")
        self.next += 1
        return int(text)


_FORMS = {
    "Tuple": _Parser.form_tuple,
    "UniTuple": _Parser.form_unituple,
    "CPointer": _Parser.form_pointer,
    "array": _Parser.form_array,
    "Array": _Parser.form_array,
    "Optional": _Parser.form_optional,
    "optional": _Parser.form_optional,
}
