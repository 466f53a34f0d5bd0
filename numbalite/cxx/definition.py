"""Defines Definition: C++ text of the user, with the names that it uses from the Python scope. The text is
the body of a kernel or of a device function, or complete declarations. A Definition has no argument types
yet."""

from __future__ import annotations

import functools
import unicodedata

from numbalite.cxx import capture as capturing
from numbalite.cxx import cooperative
from numbalite.cxx.capture import ascii_name
from numbalite.cxx.freenames import FreeNames, free_names
from numbalite.cxx.linemap import Text
from numbalite.cxx.scanner import directive_word, tokenize

INCLUDES = ("include", "import")


class Definition:
    """A text of C++ by the user, before its types are known."""

    is_python = False
    """Whether the body is Python (python/definition.py), which has C++ text only for given types."""
    defaults: dict = {}  # noqa: RUF012
    """Default values of parameters."""
    rest: str = ""
    """The parameter *args, a tuple."""
    read_only: frozenset = frozenset()
    """Array parameters to which the body is known not to write."""
    is_translated = False
    """Was it a Python body?"""
    slips: tuple = ()
    """The Slips of a Python body."""
    exceptions: dict = {}  # noqa: RUF012
    """The exceptions that a Python body may raise (fault.Raised), by the texts that identify them."""
    variables: dict = {}  # noqa: RUF012
    """The types of a Python body's variables, by name."""
    warnings: list = []  # noqa: RUF012
    """The warnings of the translation: (function, message)."""

    def __init__(
        self, name, parameters, text: Text, scope, *, is_unit=False, qualname=None, module=None
    ):
        self.name = name
        self.parameters = tuple(parameters)
        self.text = text
        self.scope = scope
        self.is_unit = is_unit
        """True for whole declarations, False for the body of one function."""
        self.qualname = qualname or name
        self.module = module or "__main__"
        normal = (unicodedata.normalize("NFKC", p) for p in self.parameters)
        self.names: FreeNames = free_names(text.value, normal)

    @property
    def doc(self):
        """The ``__doc__`` of the kernel or function with this definition."""
        return self.text.value

    @property
    def cxx(self) -> Text | None:
        """The C++ text, which is searched for probable mistakes, or None for a Python body."""
        return None if self.is_python else self.text

    @property
    def expression(self) -> str:
        """The C++ text; for a Python body, the C++ text of the returned expression. The text shows whether
        the function is commutative."""
        return self.text.value

    @property
    def last_defaults(self) -> tuple:
        """A tuple of the default values of the last parameters."""
        found: list = []
        for name in reversed(self.parameters):
            if name not in self.defaults:
                break
            found.insert(0, self.defaults[name])
        return tuple(found)

    @property
    def waits_for_grid(self) -> bool:
        """Returns whether the text may wait for the whole grid, which requires a cooperative launch."""
        return cooperative.waits_for_grid(self.text.value)

    def array_results(self, functions, args) -> tuple | None:
        """Returns the description of a CPU function's array results, or None for a C++ body."""
        return None

    def typed_definition(self, args, debug=False) -> Definition:
        """Returns the definition of a kernel (of a debug kernel if ``debug``) for a list of argument
        types."""
        return self

    def kernel_contents(self, args, options) -> tuple | None:
        """Returns (cache key of a kernel, its Contents), or None if the body is not Python or the key cannot
        be computed."""
        return None

    def device_function_contents(self, function, lists, options, caller) -> tuple | None:
        """Returns (cache key, Contents) of a device function for lists of argument types; otherwise like
        `kernel_contents`."""
        return None

    @functools.cached_property
    def members(self) -> list:
        """The uses of module members in the text, such as ``module.name``."""
        return capturing.module_members(self.text.value, self.names, self.scope)

    @functools.cached_property
    def _text_and_includes(self):
        return _without_includes(self.text, self.members)

    def body(self, macros=()) -> str:
        """Returns the text without its #include lines, with names that compilers accept; ``macros`` are Python names
        that may be macros of a compiler."""
        return (
            _replace_names(self._text_and_includes[0], macros)
            if macros
            else self._text_and_includes[0]
        )

    @property
    def includes(self) -> list:
        """A list of (line number, text) of the #include lines."""
        return self._text_and_includes[1]

    def capture(self):
        """Returns the values that the source uses from the Python scope, with their present values."""
        found = capturing.capture_values(self.names, self.scope)
        capturing.add_members(found, self.members)
        return found

    def frozen_copy(self) -> Definition:
        """Returns a copy that stores the present values of the used names."""
        scope = self.scope.frozen_copy(self.names)
        scope.locals.update((member.dotted, member.value) for member in self.members)
        return self._with_scope(scope)

    def with_names(self, values: dict) -> Definition:
        """Returns a copy whose scope contains other values for some names."""
        return self._with_scope(self.scope.with_values(values))

    def _with_scope(self, scope):
        return Definition(
            self.name, self.parameters, self.text, scope,
            is_unit=self.is_unit, qualname=self.qualname, module=self.module,
        )  # fmt: skip

    def __reduce__(self):
        frozen = self.frozen_copy()
        state = (self.name, self.parameters, tuple(self.text), frozen.scope.locals)
        return unpickle, (*state, self.is_unit, self.qualname, self.module)


def device_functions(definition: Definition):
    """Yields the device functions that a definition uses, directly and indirectly, each once."""
    seen, waiting = set(), [definition]
    while waiting:
        for function in waiting.pop().capture().functions.values():
            if function not in seen:
                seen.add(function)
                waiting.append(function.definition)
                yield function


def device_texts(definition: Definition):
    """Returns an iterable of the C++ Texts of the device functions that a definition uses, directly and indirectly."""
    return filter(None, (function.definition.cxx for function in device_functions(definition)))


def calls_cooperative(definition: Definition) -> bool:
    """Returns whether a definition uses, directly or indirectly, a function that waits for the whole grid."""
    seen, todo = set(), [definition]
    while todo:
        scope, names = todo[-1].scope, todo.pop().names
        for function in filter(None, map(capturing.device_function_of, map(scope.get, names))):
            if function.options and function.options.cooperative:
                return True
            if function.definition.is_python and function.definition.waits_for_grid:
                return True
            if function not in seen:
                seen.add(function)
                todo.append(function.definition)
    return False


def unpickle(name, parameters, text, values, is_unit, qualname, module):
    scope = capturing.Scope(values)
    return Definition(
        name, parameters, Text(*text), scope, is_unit=is_unit, qualname=qualname, module=module
    )


def linked_code(definition: Definition, options=None) -> tuple:
    """Returns the compiled code that must be linked with a definition: the code in its options, and in the
    options of the device functions that the definition calls."""
    found = dict.fromkeys(options.linked if options else ())
    for function in device_functions(definition):
        if function.options:
            found.update(dict.fromkeys(function.options.linked))
    return tuple(found)


def _without_includes(text: Text, members=()):
    """Returns (the text with blank #include lines, ASCII names and generated names of members,
    [(line number, #include)])"""
    value, includes = text.value, []
    tokens = tokenize(value)
    taken = {member.start: member for member in members}
    out: list[str] = []
    at = 0
    for token in tokens:
        new = None
        if token.start < at:
            continue
        if token.start in taken:
            member = taken[token.start]
            out += (value[at : token.start], ascii_name(member.name))
            at = member.end
            continue
        if token.kind == "directive" and directive_word(token.text) in INCLUDES:
            includes.append((text.lines[token.line], token.text.strip()))
            new = "\n" * token.text.count("\n")
        elif token.kind == "directive" and not token.text.isascii():
            new = _ascii_directive(token.text)
        elif token.kind == "name" and not token.text.isascii():
            new = ascii_name(unicodedata.normalize("NFKC", token.text))
        if new is not None:
            out += (value[at : token.start], new)
            at = token.start + len(token.text)
    return "".join(out) + value[at:], includes


def _ascii_directive(text):
    out, at = [], 1
    for token in tokenize(" " + text[1:]):
        if token.kind == "name" and not token.text.isascii():
            out += (text[at : token.start], ascii_name(unicodedata.normalize("NFKC", token.text)))
            at = token.start + len(token.text)
    return "#" + "".join(out) + text[at:]


def _replace_names(text, names):
    """Replaces names in the text by their C++ names, except for names of members."""
    out, at, before = [], 0, ""
    for token in tokenize(text):
        new = None
        if token.kind == "directive":
            new = "#" + _replace_names(" " + token.text[1:], names)[1:]
        elif token.text in names and before not in (".", "->", "::"):
            new = ascii_name(token.text)
        if new is not None:
            out += (text[at : token.start], new)
            at = token.start + len(token.text)
        before = token.text
    return "".join(out) + text[at:]
