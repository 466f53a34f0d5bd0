"""Reads CUDA C++ text: tokens, and the declarations at namespace scope.

This module is not a parser: only the compiler decides the meaning of the source. The module finds the kernels
and variables that a source defines, so that users need not list them, and the names of kernel parameters,
which compilers drop. Users can specify the names of kernels that the module does not find, for example
kernels that macros generate.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from numbalite.types.keywords import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Sequence


TYPE_WORDS = frozenset(
    """auto bool char char8_t char16_t char32_t const constexpr double float int long short signed
    unsigned void volatile wchar_t""".split()
)

_QUALIFIERS = frozenset("const volatile __restrict__ __restrict restrict __grid_constant__".split())
_ATTRIBUTES = frozenset(
    """__launch_bounds__ __attribute__ __maxnreg__ __block_size__ __cluster_dims__ alignas __align__
    decltype __declspec requires noexcept explicit""".split()
)
_SPACES = frozenset("__constant__ __device__ __managed__".split())

# The most frequent first.
_TOKEN = re.compile(
    r"""
    [ \t]*
    (?:
    (?P<name>(?!(?:u8|[uUL])?(?:R?"|'))[^\W\d]\w*)
  | (?P<space>\s+|(?:\\\r?\n)+)
  | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\\\s"]{0,16})\(.*?(?:\)(?P=fence)"|\Z)
              |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z))
  | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\Z))
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<prefix>[^\W\d]\w*)
  | (?P<sign>::|->|\.\.\.|.)
  | \Z
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS = re.compile(r"[ \t]*")
_DIRECTIVE = re.compile(r"(?:#|%:)(?:\\\r?\n|/\*.*?(?:\*/|\Z)|//[^\n]*|[^\n])*", re.DOTALL)
_DIRECTIVE_WORD = re.compile(r"(?:#|%:)(?:\s|/\*.*?\*/)*(\w+)", re.DOTALL)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = {close: open_ for open_, close in _OPEN.items()}


class Token(NamedTuple):
    kind: str
    """"name", "number", "string", "char", "sign" or "directive" (a whole preprocessor line)."""
    text: str
    start: int
    line: int
    """Starts at 0."""


class Function(NamedTuple):
    """The name and attributes of a kernel as written in the source."""

    name: str
    """With its namespaces; an explicit instantiation has its arguments, "saxpy<float>", and overloads have the
    types of their parameters, "scale(float*, int)"."""
    parameters: tuple
    """Parameter names, or "" for an unnamed one."""
    template: bool
    conditional: bool
    """Whether the declaration is inside #if, and may not exist."""
    line: int
    returns_void: bool
    threads: str = ""
    """The maximum number of threads per block from __launch_bounds__: an expression that is valid at the end of
    the source, or "" (none, or one with names that are valid only at the kernel)."""
    cluster: str = ""
    """The expressions of __cluster_dims__: one to three, separated by commas."""
    cluster_head: str = ""
    """The template's parameters, if these expressions use them: "int n"."""


class Variable(NamedTuple):
    """A __constant__, __device__ or __managed__ variable at namespace scope."""

    name: str
    space: str
    conditional: bool
    line: int
    template: bool = False
    unnamed: bool = False
    """Whether the variable is in an unnamed namespace."""


@functools.lru_cache(maxsize=32)
def tokenize(text: str) -> tuple[Token, ...]:
    """Returns the tokens of a source, without comments."""
    with pause_garbage_collector(text):
        return _tokenize_text(text)


@contextlib.contextmanager
def pause_garbage_collector(text):
    """Pauses Python's garbage collector while a long text is tokenized, because each collection would visit
    all tokens."""
    pauses = len(text) > 100_000 and gc.isenabled()
    if pauses:
        gc.disable()
    try:
        yield
    finally:
        if pauses:
            gc.enable()


def _tokenize_text(text):
    tokens: list[Token] = []
    append, match_token, new = tokens.append, _TOKEN.match, tuple.__new__
    match: Any  # one of the two regular expressions always matches
    kind: Any
    at, line, end, line_is_new = 0, 0, len(text), True
    while at < end:
        if line_is_new:
            at = _BLANKS.match(text, at).end()
            if text.startswith(("#", "%:"), at):
                match = _DIRECTIVE.match(text, at)
                append(Token("directive", match[0], at, line))
                line += match[0].count("\n")
                at = match.end()
                line_is_new = False
                continue
        match = match_token(text, at)
        at, kind = match.end(), match.lastgroup
        if kind == "name" or kind == "sign" or kind == "number":
            append(new(Token, (kind, match[kind], match.start(kind), line)))
            line_is_new = False
        elif kind == "space":
            count = match[0].count("\n")
            line += count
            line_is_new |= count > 0
        elif kind == "comment":
            line += match[0].count("\n")
        elif kind:
            group = "string" if kind == "fence" else kind
            kind = "name" if group == "prefix" else group
            append(Token(kind, match[group], match.start(group), line))
            line += match[0].count("\n")
            line_is_new = False
    return tuple(tokens)


@functools.lru_cache(maxsize=4)
def blank_comments(text: str) -> str:
    """Returns the source with comments, strings and preprocessor lines blanked; line numbers
    stay."""
    out, at = [], 0
    for token in tokenize(text):
        out.append(_blank_match(text[at : token.start]))
        at = token.start + len(token.text)
        keep = token.kind not in ("string", "char", "directive")
        out.append(token.text if keep else _blank_match(token.text))
    return "".join(out) + _blank_match(text[at:])


def _blank_match(text):
    if "\n" not in text:
        return " " * len(text)
    return "\n".join(" " * len(line) for line in text.split("\n"))


def directive_word(text: str) -> str:
    """Returns "include" for a line such as ``# include <x.h>``."""
    match = _DIRECTIVE_WORD.match(_remove_line_splices(text))
    return match[1] if match else ""


def _remove_line_splices(text):
    return re.sub(r"\\\r?\n", "", text) if "\\" in text else text


_UNROLLED = re.compile(r"^\s*unroll\b[\s(]*([^\W\d]\w*)")
"""The count of a #pragma unroll, if it is a name."""


def directive_names(text: str) -> tuple[str, list[str], list[str]]:
    """Returns (directive, names that a #define defines or has as parameters, names that the line
    uses)."""
    text = _remove_line_splices(text)
    word = directive_word(text)
    body = text[text.index(word) + len(word) :] if word else ""
    if word == "pragma":
        return word, [], _UNROLLED.findall(body)
    if word in ("include", "import", "line", "error", "warning", "undef", ""):
        return word, [], []
    names = [t.text for t in tokenize(" " + body) if t.kind == "name"]
    if word != "define":
        return word, [], [name for name in names if name != "defined"]
    head = re.match(r"(?:\s|\\\n)*(\w+)(\(([^)]*)\))?", body)
    own = [head[1], *re.findall(r"\w+", head[3] or "")] if head else []
    return word, own, [name for name in names if name not in own]


def normalized_expression(expression: str) -> str:
    """Returns the canonical spelling of a name expression, without unnecessary spaces."""
    text = re.sub(r"\s+", " ", expression.strip())
    return re.sub(r"(?<=[^\w\s])\s+|\s+(?=[^\w\s])", "", text).replace(",", ", ")


def base_name(expression: str) -> str:
    """Returns "ns::f" for the name expressions "ns::f<int>" and "ns::f(float*)"."""
    return re.split("[<(]", expression, maxsplit=1)[0]


def last_name(expression: str) -> str:
    """Returns "f" for the name expressions "ns::f<int>" and "ns::f(float*)"."""
    return base_name(expression).rpartition("::")[2].strip()


def function_address(expression: str, plain: str = "") -> str:
    """Returns the C++ expression for the address of a function: ``&f``, or ``plain`` if passed; for
    an overload such as "f(float*)", a cast to its type."""
    expression = expression.strip()
    if not expression.endswith(")"):
        return plain or f"&{expression}"
    at, depth = len(expression), 0
    while at > 0:
        at -= 1
        depth += (expression[at] in _CLOSE) - (expression[at] in _OPEN)
        if depth == 0:
            break
    return f"static_cast<void (*){expression[at:]}>(&{expression[:at]})"


def has_kernel(text: str) -> bool:
    """Returns whether the source defines or declares a kernel (outside comments and strings)."""
    return "__global__" in text and any(t.text == "__global__" for t in tokenize(text))


def find_broken_string(text: str) -> int | None:
    """Returns the line number (from 0) of the first string that does not end on its line."""
    for token in tokenize(text):
        if token.kind == "string" and "R" not in token.text.partition('"')[0]:
            if not token.text.endswith('"') or len(token.text.partition('"')[2]) == 0:
                return token.line
    return None


def match_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """Returns {index of each bracket: index of its partner}. Unmatched brackets are omitted."""
    partner, stack = {}, []
    for i, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in _OPEN:
            stack.append(i)
        elif token.text in _CLOSE:
            while stack and tokens[stack[-1]].text != _CLOSE[token.text]:
                stack.pop()
            if stack:
                partner[i] = stack.pop()
                partner[partner[i]] = i
    return partner


def functions(text: str) -> dict[str, frozenset]:
    """Returns (function, names that it uses) of each function or kernel that a source defines at namespace
    scope."""
    return _cached_reader(text).functions


def declarations(text: str) -> list[tuple[int, int]]:
    """Returns (start, end) in the text of each declaration at namespace scope, in order; functions and
    classes include their bodies."""
    return _cached_reader(text).declaration_spans


def parameter_lists(text: str) -> dict[str, list]:
    """Returns {function that a source defines at namespace scope: for each definition (overloads have
    several) the names of its parameters, "" if unnamed}."""
    return _cached_reader(text).parameter_lists


def uses_names(text: str, function: str, words) -> bool:
    """Returns whether a function uses one of the names, directly or through functions of the source that it
    may call."""
    return any(names & words for _, names in _reachable_functions(text, function))


def reachable_text(text: str, function: str) -> list[str]:
    """Returns the text of a function, and of the functions of the source that it may call."""
    names = {name for name, _ in _reachable_functions(text, function)}
    return [
        text[start:end] for name, start, end in _cached_reader(text).function_spans if name in names
    ]


def _reachable_functions(text, function):
    """Yields (name without namespaces, used names) of a function and of all functions of the source that it
    may call."""
    bodies = {}
    for name, names in functions(text).items():
        base = name.rpartition("::")[2]
        bodies[base] = bodies.get(base, frozenset()) | names
    todo, seen = [last_name(function)], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            names = bodies.get(name, frozenset())
            yield name, names
            todo += names & bodies.keys()


def scan_source(text: str) -> tuple[list[Function], list[Variable]]:
    """Returns the kernels and the variables that a source defines, in order, without repetitions."""
    reader = _cached_reader(text)
    kernels: list[Function] = []
    for name, kernel in reader.kernels.items():
        if name not in reader.defined:
            continue  # another file has it
        overloads = reader.overloads.get(name, {})
        kernels += overloads.values() if len(overloads) > 1 else [kernel]
    return kernels, list(reader.variables.values())


def without_kernels(text: str) -> str:
    """Returns the source with blanked kernels, for inclusion in other sources; line numbers
    stay."""
    for start, end in _cached_reader(text).kernel_spans:
        text = text[:start] + _blank_match(text[start:end]) + text[end:]
    return text


_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\\\n]|\\\n|\\.)*)", re.M)


def reachable_names(text: str, function: str) -> list[str]:
    """Returns the names that a function may use: names in the function, in text outside of functions and
    macros, and in all functions and macros that are used."""
    outside: list[str] = []
    spans: dict[str, list[str]] = {}
    at = 0
    for name, start, end in _cached_reader(text).function_spans:
        outside.append(text[at:start])
        spans.setdefault(name, []).append(text[start:end])
        at = end

    def collect_macro(match):
        spans.setdefault(match[1], []).append(match[2])
        return ""

    rest = _DEFINE.sub(collect_macro, "".join([*outside, text[at:]]))
    todo = [rest, *spans.pop(function, ()), *spans.pop("operator", ())]
    found = []
    while todo:
        names = re.findall(r"[A-Za-z_]\w*", todo.pop())
        found += names
        for name in spans.keys() & set(names):
            todo += spans.pop(name)
    return found


@functools.lru_cache(maxsize=8)
def _cached_reader(text: str) -> _DeclarationReader:
    """Returns the _DeclarationReader of a source, after it has read the source; the result is cached, because callers
    query several properties."""
    with pause_garbage_collector(text):
        reader = _DeclarationReader(text)
        reader.read_scope(0, len(reader.tokens), ())
    return reader


class _DeclarationReader:
    """Reads the declarations at namespace scope; skips the bodies of functions and classes."""

    def __init__(self, text):
        tokens = tokenize(text)
        self.tokens = [t for t in keep_first_branches(tokens) if t.kind != "directive"]
        self.conditional = _conditional_starts(tokens)
        self.partner = match_brackets(self.tokens)
        self.kernels, self.variables, self.functions = {}, {}, {}
        self.overloads = {}  # name of a kernel -> {types of its parameters: Function}, of definitions
        self.defined = (
            set()
        )  # the names of kernels that have a body, or are instances of a template
        self.parameter_lists = {}
        self.kernel_spans = []  # (start, end) of definitions and declarations of kernels in the text
        self.unnamed = []  # (opening, closing) of unnamed namespaces
        self.function_spans = []  # (name without namespaces, start, end) of function definitions
        self.declaration_spans = []

    def is_in_unnamed_namespace(self, at):
        return any(opening < at < closing for opening, closing in self.unnamed)

    def is_in_conditional(self, token):
        return any(start <= token.start < end for start, end in self.conditional)

    def read_scope(self, at, end, path):
        while at < end:
            text = self.tokens[at].text
            if text == ";" or text == "}":
                at += 1
            elif (inner := self.find_block(at, path)) is not None:
                at, stop, inner_path = inner
                self.read_scope(at, stop, inner_path)
                at = stop + 1
            else:
                first, at = at, self.read_declaration(at, end, path)
                last = self.tokens[min(at, len(self.tokens)) - 1]
                self.declaration_spans.append(
                    (self.tokens[first].start, last.start + len(last.text))
                )

    def find_block(self, at, path):
        """Returns (first, closing brace, path) if a namespace or an extern "C" block starts
        here."""
        tokens, start = self.tokens, at
        if tokens[at].text == "inline" and self.token_text(at + 1) == "namespace":
            at += 1
        if tokens[at].text == "namespace":
            names = []
            at += 1
            while at < len(tokens) and tokens[at].text != "{":
                if tokens[at].text in ("=", ";"):
                    return None  # an alias
                if tokens[at].text == "(" or tokens[at].text == "[":
                    at = self.partner.get(at, at)  # attributes
                elif tokens[at].kind == "name" and tokens[at].text not in (
                    "inline",
                    *_ATTRIBUTES,
                ):
                    names.append(tokens[at].text)
                at += 1
            path = (*path, *names)
            if not names and at in self.partner:
                self.unnamed.append((at, self.partner[at]))
        elif (
            tokens[at].text == "extern"
            and self.token_text(at + 2) == "{"
            and self.is_string(at + 1)
        ):
            at += 2
        else:
            return None
        if at not in self.partner:
            return start, start, path
        return at + 1, self.partner[at], path

    def token_text(self, at):
        return self.tokens[at].text if at < len(self.tokens) else ""

    def is_string(self, at):
        return at < len(self.tokens) and self.tokens[at].kind == "string"

    def read_declaration(self, at, end, path):
        """Reads one declaration; returns the index after it."""
        tokens, start = self.tokens, at
        seen_equals = seen_parameters = False
        while self.token_text(at) == "template" and self.token_text(at + 1) == "<":
            at = self.closing_angle(at + 1, end) + 1
        while at < end:
            text = tokens[at].text
            if text == ";":
                self.record_declaration(start, at, path)
                self.record_span(start, at, at)
                return at + 1
            if (
                text == "operator"
            ):  # the = of operator+= does not begin an initializer, the () of operator() no parameter list
                at += 2
                while at < end and self.token_text(at) not in ("(", ";"):
                    at += 1
                continue
            if text == "=":
                seen_equals |= not self.is_comparison(at)
            elif text == "(" or text == "[":
                attribute = at > start and tokens[at - 1].text in _ATTRIBUTES
                seen_parameters |= text == "(" and not attribute
                at = self.partner.get(at, at)
            elif text == "{":
                close = self.partner.get(at, end)
                if seen_parameters and not seen_equals:  # the body of a function
                    self.record_declaration(start, at, path)
                    self.record_function(start, at, close, path)
                    self.record_span(start, at, close)
                    return close + 1
                at = close
            elif text == "}":
                return at + 1
            at += 1
        return end

    def is_comparison(self, at):
        """Is the ``=`` part of ``==``, ``<=``, ``>=`` or ``!=``?"""
        first, this, last = (self.tokens[i : i + 1] for i in (at - 1, at, at + 1))
        after = bool(first) and first[0].text in "=<>!" and first[0].start + 1 == this[0].start
        return after or (bool(last) and last[0].text == "=" and this[0].start + 1 == last[0].start)

    def record_declaration(self, start, end, path):
        words, at = set(), start
        while at < end:
            words.add(self.tokens[at].text)
            at = self.partner.get(at, at) + 1 if self.tokens[at].text in _OPEN else at + 1
        if "__global__" in words:
            self.record_kernel(start, end, path)
        elif words & _SPACES:
            self.record_variables(start, end, path, words)

    def record_span(self, start, end, last):
        if last < len(self.tokens) and any(t.text == "__global__" for t in self.tokens[start:end]):
            self.kernel_spans.append((self.tokens[start].start, self.tokens[last].start + 1))

    def record_function(self, start, end, close, path):
        while self.token_text(start) == "template" and self.token_text(start + 1) == "<":
            start = self.closing_angle(start + 1, end) + 1
        spot = self.find_declarator(start, end)
        if spot is not None:
            name = "::".join((*path, self.tokens[spot[0]].text))
            names = frozenset(t.text for t in self.tokens[start:close] if t.kind == "name")
            self.functions[name] = self.functions.get(name, frozenset()) | names
            if close < len(self.tokens):
                span = self.tokens[start].start, self.tokens[close].start + 1
                self.function_spans.append((self.tokens[spot[0]].text, *span))
            listed = self.parameter_names(spot[1] + 1, self.partner.get(spot[1], end))
            self.parameter_lists.setdefault(name, []).append(listed)

    # --- kernels

    def record_kernel(self, start, end, path):
        tokens = self.tokens
        at, template, instance, heads = start, False, False, []
        while self.token_text(at) == "template":
            if self.token_text(at + 1) != "<":
                instance = True
                at += 1
                break
            close = self.closing_angle(at + 1, end)
            # template<> is a specialization, whose name has the arguments
            template |= close > at + 2
            heads.append(" ".join(token.text for token in tokens[at + 2 : close]))
            at = close + 1
        marked = next((i for i in range(at, end) if tokens[i].text == "__global__"), at)
        spot = self.find_declarator(marked, end)  # macro calls may precede it
        if spot is None:
            return
        name_at, open_at = spot
        name = "".join(t.text for t in tokens[name_at:open_at])
        if not instance and "<" in name:
            self.defined.add("::".join((*path, name.partition("<")[0])))
            return  # an explicit specialization is launched by the name of its template
        parameters = self.parameter_names(open_at + 1, self.partner.get(open_at, end))
        full = "::".join((*path, name))
        void = any(t.text == "void" for t in tokens[at:name_at])
        deduced = any(t.text == "auto" for t in tokens[at:name_at])
        conditional = self.is_in_conditional(tokens[start])
        head = heads[0] if template and len(heads) == 1 and not path else ""
        cluster = self.attribute_arguments(
            at, name_at, "__cluster_dims__", (template or path) and not head
        )
        constant = self.attribute_arguments(at, name_at, "__cluster_dims__", True)
        kernel = Function(
            full, parameters, template, conditional, tokens[name_at].line, void or deduced,
            "".join(self.attribute_arguments(at, name_at, "__launch_bounds__", template or path)[:1]),
            ", ".join(cluster), head if cluster != constant else "",
        )  # fmt: skip
        self.kernels.setdefault(full, kernel)
        if instance or self.token_text(end) == "{":
            self.defined.add(full)
        if self.token_text(end) == "{" and not (template or instance or conditional):
            types = self.parameter_types(open_at + 1, self.partner.get(open_at, end))
            overload = normalized_expression(f"{full}({types})")
            overloads = self.overloads.setdefault(full, {})
            overloads.setdefault(types, kernel._replace(name=overload))

    def attribute_arguments(self, at, end, word, names_are_local):
        """Returns the texts of the arguments of an attribute such as __launch_bounds__ among the tokens before a
        kernel's name, up to the first argument that is valid only in the attribute, or [] without the
        attribute."""
        words = [token.text for token in self.tokens[at:end]]
        if word not in words:
            return []
        opening = at + words.index(word) + 1
        close = self.partner.get(opening, opening)
        arguments, depth = [[]], 0
        for token in self.tokens[opening + 1 : close]:
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if token.text == "," and depth == 0:
                arguments.append([])
            else:
                arguments[-1].append(token)
        found = []
        for argument in arguments:
            if names_are_local and any(token.kind == "name" for token in argument):
                break
            found.append(" ".join(token.text for token in argument))
        return found

    def closing_angle(self, at, end):
        """Returns the token index of the ``>`` that closes the ``<`` at ``at``."""
        depth = 0
        while at < end:
            text = self.tokens[at].text
            if text in _OPEN:
                at = self.partner.get(at, at)
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return at
            at += 1
        return end

    def find_declarator(self, at, end):
        """Returns (first token of the function's name, its opening parenthesis)"""
        tokens = self.tokens
        while at < end:
            text = tokens[at].text
            if text in _ATTRIBUTES:
                at += 1
                if self.token_text(at) == "(":
                    at = self.partner.get(at, at) + 1
                continue
            if text == "[" or text == "(":
                at = self.partner.get(at, at) + 1
                continue
            if tokens[at].kind == "name" and text not in KEYWORDS:
                first = at
                while self.token_text(at + 1) == "::":
                    at += 2
                if self.token_text(at + 1) == "<":
                    close = self.closing_angle(at + 1, end)
                    if self.token_text(close + 1) == "(":
                        return first, close + 1
                    at = close
                elif self.token_text(at + 1) == "(":
                    return first, at + 1
            at += 1
        return None

    def parameter_names(self, at, end):
        return tuple(self.parameter_name(*one) for one in self.parameter_ranges(at, end))

    def parameter_types(self, at, end):
        """Returns the types of parameters as one text, spelled as in the source and separated by commas."""
        texts = []
        for first, last in self.parameter_ranges(at, end):
            name, kept = self.parameter_name(first, last), []
            for token in self.tokens[first:last]:
                if token.text == "=":
                    break
                if token.text not in _QUALIFIERS or token.text in ("const", "volatile"):
                    kept.append(token.text)
            if name:
                del kept[len(kept) - 1 - kept[::-1].index(name)]
            texts.append(" ".join(kept))
        return ", ".join(texts)

    def parameter_ranges(self, at, end):
        """Returns (first token, end) of each parameter of a list."""
        found, first, depth = [], at, 0
        while at < end:
            text = self.tokens[at].text
            if text in _OPEN:
                at = self.partner.get(at, at)
            elif text == "<":
                depth += 1
            elif text == ">":
                depth -= 1
            elif text == "," and depth <= 0:
                found.append((first, at))
                first = at + 1
            at += 1
        if first < end and [t.text for t in self.tokens[first:end]] != ["void"]:
            found.append((first, end))
        return found

    def parameter_name(self, at, end):
        """Returns the name of one parameter, or ""."""
        kept, depth = [], 0
        while at < end:
            token = self.tokens[at]
            if token.text == "=" and depth == 0:
                break
            if token.text == "[":
                if self.token_text(at + 1) == "[":  # an attribute
                    at = self.partner.get(at, at) + 1
                    continue
                break
            if token.text in _ATTRIBUTES:
                at = self.partner.get(at + 1, at) + 1
                continue
            if token.text == "(" and self.token_text(at + 1) in ("*", "&"):
                inner = self.tokens[at + 1 : self.partner.get(at, end)]
                found = [t.text for t in inner if t.kind == "name" and t.text not in KEYWORDS]
                return found[-1] if found else ""
            if token.text == "...":
                return ""
            depth += (token.text == "<") - (token.text == ">")
            if depth == 0 and token.text not in _QUALIFIERS:
                kept.append(token)
            at += 1
        if len(kept) < 2 or kept[-1].kind != "name" or kept[-1].text in KEYWORDS:
            return ""
        if kept[-2].text == "::" or kept[-2].text in (
            "struct",
            "class",
            "union",
            "typename",
        ):
            return ""
        return kept[-1].text

    # --- variables

    def record_variables(self, start, end, path, words):
        tokens = self.tokens
        if not words.isdisjoint(("using", "typedef", "friend", "operator")):
            return
        space = min(words & _SPACES)
        declared_only = "extern" in words and not any(t.text == "=" for t in tokens[start:end])
        if declared_only and not self.is_string(start + 1):
            return
        name, at = None, start
        while at <= end:
            token = tokens[at] if at < end else None
            text = token.text if token else ";"
            if text in ("(", "{") and token and self.token_text(at - 1) in _ATTRIBUTES:
                at = self.partner.get(at, at)
            elif text == "(":
                return  # a function's declaration
            elif text == "[" and self.token_text(at + 1) == "[":
                at = self.partner.get(at, at)
            elif text == "<":
                at = self.closing_angle(at, end)
            elif text in ("=", "[", "{", ",", ";"):
                if text == "{" and self.is_class_body(at):
                    at = self.partner.get(at, at) + 1
                    continue
                if name is not None:
                    full = "::".join((*path, name.text))
                    if full not in self.variables:
                        self.variables[full] = Variable(
                            full, space, self.is_in_conditional(tokens[start]), name.line,
                            "template" in words, self.is_in_unnamed_namespace(start),
                        )  # fmt: skip
                name = None
                at = self.next_declarator(at, end)
            elif token.kind == "name" and text not in KEYWORDS:
                name = token
            at += 1

    def is_class_body(self, at):
        back = at - 1
        while back >= 0 and self.token_text(back) not in (";", "}", "{"):
            if self.token_text(back) in ("struct", "class", "union", "enum"):
                return True
            if self.token_text(back) == "=":
                return False
            back -= 1
        return False

    def next_declarator(self, at, end):
        """Skips an initializer up to the comma before the next declarator, or to the end."""
        while at < end:
            text = self.tokens[at].text
            if text in _OPEN:
                at = self.partner.get(at, at)
            elif text == "<" and (close := self.closing_angle(at, end)) < end:
                at = close
            elif text == ",":
                return at
            at += 1
        return end


def keep_first_branches(tokens):
    """Returns the tokens, but omits each branch of #else or #elif that opens or closes the same brackets as an
    earlier branch. For example, `#if A f() { #else g() { #endif` opens only one brace."""
    gone, stack = set(), []  # start positions of the branches of each open #if
    for at, token in enumerate(tokens):
        if token.kind != "directive":
            continue
        word = directive_word(token.text)
        if word.startswith("if"):
            stack.append([at])
        elif word.startswith("el") and stack:
            stack[-1].append(at)
        elif word == "endif" and stack:
            starts, seen = [*stack.pop(), at], set()
            for start, end in itertools.pairwise(starts):
                opened = _count_open_brackets(tokens[start:end]) if len(starts) > 2 else (0, 0)
                if any(opened) and opened in seen:
                    gone.update(range(start + 1, end))
                seen.add(opened)
    return [token for at, token in enumerate(tokens) if at not in gone] if gone else tokens


def _count_open_brackets(tokens):
    """Returns the numbers of parentheses and of braces that stay open."""
    signs = [token.text for token in tokens if token.kind == "sign"]
    return signs.count("(") - signs.count(")"), signs.count("{") - signs.count("}")


def _conditional_starts(tokens):
    """Returns [(start, end)] of the text inside #if, except for an include guard around the complete file."""
    spans, stack = [], []
    directives = [t for t in tokens if t.kind == "directive"]
    for i, token in enumerate(directives):
        word = directive_word(token.text)
        if word in ("if", "ifdef", "ifndef"):
            guard = word == "ifndef" and i + 1 < len(directives) and (
                directive_word(directives[i + 1].text) == "define"
                and token.text.split()[-1] == directives[i + 1].text.split()[1]
            )  # fmt: skip
            stack.append((token.start, guard))
        elif word == "endif" and stack:
            start, guard = stack.pop()
            if not guard:
                spans.append((start, token.start))
    return spans
