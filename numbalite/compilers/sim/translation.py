"""Translates CUDA C++ text into C++ that a host compiler accepts.

Macros and functions of cuda_src/sim/prelude.h implement nearly all of CUDA's language. This module edits the
tokens of the source where a macro cannot. Line numbers do not change.

* ``extern __shared__ T x[];`` becomes a reference to the block's dynamic shared memory. A declaration at namespace
  scope is removed, and each function that mentions the name begins with the reference.
* ``alignas`` after ``__shared__`` is moved before it.
* For instrumented images, a struct or union that such a declaration defines gets a declaration of its own before it.
* ``static`` next to ``__shared__`` is removed, because the macro contains it. For instrumented images, these
  variables become references, too, to memory from the simulator's engine, which separates the variables.
* ``asm(...)`` becomes equivalent C++ (ptx.py), or an error that names the instruction.
* A launch inside a kernel, ``k<<<1, 32>>>(x)``, becomes a call of a function in nested.h.
* Code that host compilers accept and NVRTC rejects becomes an error before its statement: shared variables with an
  initializer, __constant__ and __device__ variables of a function that are not static, thread_local, __typeof__.
  (The host compilers report the other GNU extensions: host.py, hostbuild.py.)
* For the simulator, a namespace-scope or static variable whose initializer is not constant is an error, too: the
  compiler checks it by NUMBALITE_SIM_CONSTANT.
* Initializers of declarations that a goto or a switch jumps over become assignments (gotos.py).
* For instrumented images, an atomicExch whose result is unused is marked: it does not count as a read.
* A declaration of ``void __syncthreads()`` and similar builtins, which the prelude declares already, is renamed.
* ``__noinline__`` of lambdas, ``[] __noinline__ (float x) {...}``, is removed, because clang++ rejects it.
* For g++, divisions by values that may be zero are marked (divisions.py).

Includes of the host's library headers become errors, too: the host compiler would find them, but no GPU compiler does.
"""

from __future__ import annotations

import functools
import glob
import itertools
import os
import re

from numbalite.compilers import headers, toolkit
from numbalite.compilers.sim import divisions, gotos, ptx
from numbalite.cxx import scanner

_TRIGGER = re.compile(
    r"__shared__|\basm\b|__asm|<<<|\bthread_local\b|__thread\b|__typeof|__extension__|\]\s*__noinline__"
    r"|__(?:constant|device)__[^(){};]*[;=[{]|\b(?:const|static)\b[^(){};]*=|\bgoto\b|\bcase\b|\batomicExch"
    r"|\bvoid\s+__(?:syncthreads|threadfence)"
)
_HEADER = re.compile(r"\s*<[^<>]*>\s*$")  # matches the tokens after the header name of an #include
_CONDITIONS = ("if", "ifdef", "ifndef")
_ASM = frozenset(("asm", "__asm__", "__asm"))
_ASM_WORDS = frozenset(("volatile", "__volatile__", "__volatile", "goto", "inline", "__inline__"))
_WITH_PARENTHESES = frozenset(
    ("__align__", "alignas", "__attribute__", "__launch_bounds__", "__builtin_align__")
)
_NOT_OF_A_GPU = {
    "thread_local": "NUMBALITE_SIM_THREAD_LOCAL",
    "__thread": "NUMBALITE_SIM_THREAD_LOCAL",
    "__typeof__": "NUMBALITE_SIM_TYPEOF",
    "__typeof": "NUMBALITE_SIM_TYPEOF",
    "__extension__": "NUMBALITE_SIM_EXTENSION",
}
_BARRIERS = frozenset(
    ("__syncthreads", "__threadfence", "__threadfence_block", "__threadfence_system")
)
_DROPPED = frozenset(("extern", "static", "__shared__", "__device__", "__host__"))
_ATTRIBUTES = frozenset(("__shared__", "__device__", "__host__", "alignas", "__align__"))
_NO_VARIABLES = frozenset(
    """using typedef template constexpr constinit namespace operator extern __shared__ enum concept friend
    requires ( =""".split()
)
# Keywords after which a name follows, unlike type specifiers
_NO_NAMES = frozenset(("return", "else", "do"))
_OWN_TYPES = frozenset("float double int char short long unsigned signed bool".split())
_TYPES = frozenset(("class", "struct", "union", "enum"))
_DROPPED_VALUE = "::numbalite_sim::drop_value(), "
_REFERENCE = "auto &{name} = ::numbalite_sim::dynamic_shared<{type}>({label});"
_VARIABLE = "auto &{name} = ::numbalite_sim::shared_variable<{type}, __COUNTER__>({label});"


def translate_source(
    text: str, checked: bool = False, kind: str = "sim", spared: frozenset | None = None
) -> str:
    """Returns the translated source, which follows the prelude.

    ``checked`` is True for an image with instrumented memory accesses. ``kind`` is "sim", or "host" for code of
    the CPU targets, which may use features that no GPU has. ``spared`` is the result of divisions.py for the
    unit, or None for a compiler that needs no marks.
    """
    if not _source_needs_translation(text, spared):
        return text
    return _SourceTranslation(text, False, checked, kind, spared).translated_text()


def _source_needs_translation(text, spared):
    return _TRIGGER.search(text) or (spared is not None and divisions.has_divisions(text))


_HOST_HEADERS = frozenset(
    """any barrier bitset cctype cerrno cfenv charconv clocale codecvt compare condition_variable
    coroutine csetjmp csignal cstdarg cuchar cwchar cwctype deque exception execution expected
    filesystem format forward_list fstream future generator iomanip ios iosfwd iostream istream latch
    list locale map memory memory_resource mutex numbers ostream print queue random ranges regex
    scoped_allocator semaphore set shared_mutex source_location sstream stack stdexcept stop_token
    streambuf string string_view strstream syncstream system_error thread typeindex typeinfo
    unordered_map unordered_set valarray variant vector complex.h ctype.h errno.h fenv.h locale.h
    setjmp.h signal.h stdarg.h tgmath.h uchar.h wchar.h wctype.h unistd.h pthread.h""".split()
)
_SYSTEM = (  # default include folders of host compilers
    *("/usr/local/include", "/usr/include", "/usr/include/*-linux-*", "/usr/include/c++/*"),
    *(
        "/usr/lib*/gcc/*/*/include",
        "/usr/lib*/clang/*/include",
        "/usr/lib/llvm*/lib/clang/*/include",
    ),
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([\w./+-]+)>", re.MULTILINE)


def is_host_header(name: str) -> bool:
    """Returns whether the name is a header of the host's library, which kernel compilers do not have."""
    if name in headers.memory_headers() or toolkit.packages_for(name):
        return False
    if os.path.isfile(os.path.join(headers.cuda_src(), "sim", "include", name)):
        return False
    if name in _HOST_HEADERS:
        return True
    if headers.find_header(name, _system_folders()) is None:
        return False
    return headers.find_header(name, toolkit.include_directories()) is None


@functools.cache
def _system_folders():
    return tuple(folder for pattern in _SYSTEM for folder in glob.glob(pattern))


_REFUSED = (("thrust_for_nvcc.h", toolkit.is_for_nvcc), ("host_library.h", is_host_header))


def replace_host_headers(text: str, given, folders) -> str:
    """Replaces #includes of host library headers by errors. Headers in ``given``, or found in one of
    ``folders``, belong to the user and stay unchanged."""

    def replace_include(match):
        name = match[1]
        refused = next((f"sim/{header}" for header, holds in _REFUSED if holds(name)), None)
        if name in given or refused is None:
            return match[0]
        if any(os.path.isfile(os.path.join(folder, name)) for folder in folders):
            return match[0]
        return match[0].replace(name, refused)

    return _INCLUDE.sub(replace_include, text) if "#" in text else text


def _string_literal(text):
    return '"' + re.sub(r'[\\"\n]', " ", text) + '"'


def _conditional_branches(tokens):
    """Returns (directive, tokens) for each branch of the #if among the tokens, of which there may be at most
    one; ("", tokens) without an #if. An asm statement that contains an #if is written once for each of its
    branches."""
    places = [i for i, token in enumerate(tokens) if token.kind == "directive"]
    words = [scanner.directive_word(tokens[i].text) for i in places]
    ways = [word in ("elif", "else") for word in words[1:-1]]
    if len(words) < 2 or words[0] not in _CONDITIONS or words[-1] != "endif" or not all(ways):
        return [("", tokens)]
    before, after = tokens[: places[0]], tokens[places[-1] + 1 :]
    found = [
        (f"\n{tokens[at].text.strip()}\n", [*before, *tokens[at + 1 : end], *after])
        for at, end in itertools.pairwise(places)
    ]
    return found if "else" in words else [*found, ("\n#else\n", [*before, *after])]


class _SourceTranslation:
    def __init__(self, text, inside_function, checked, kind, spared, in_macro=False):
        self.text = text
        self.in_macro = in_macro
        self.checked = checked
        self.kind = kind
        self.spared = spared
        self.tokens = scanner.tokenize(text)
        self.edits = []  # (start, end, replacement)
        self.externs = {}  # name of extern shared memory -> (tokens of its type, source position)
        self.partner = scanner.match_brackets(
            self.tokens
        )  # index of a bracket -> index of the matching bracket
        self.inside_function = inside_function  # macro bodies are translated like functions

    def translated_text(self):
        bodies, scopes = self._function_scopes()
        wide = []  # (token index, name, reference) of shared variables at namespace scope
        for at, token in enumerate(self.tokens):
            if token.kind == "directive":
                self._translate_directive(token)
            elif token.text == "__shared__" and token.kind == "name":
                wide += self._translate_shared(at, scopes[at])
            elif token.text in _BARRIERS and at > 0 and self.tokens[at - 1].text == "void":
                self._replace_tokens(at, at, f"nl_declared{token.text}")
            elif token.text in _ASM and token.kind == "name":
                self._translate_asm(at)
            elif token.text in _NOT_OF_A_GPU and token.kind == "name":
                self._insert_error(at, _NOT_OF_A_GPU[token.text])
            elif self._is_unused_exchange(at):
                self.edits.append((token.start, token.start, _DROPPED_VALUE))
            elif token.text in ("__constant__", "__device__") and scopes[at]:
                self._report_function_variables(at)
            elif (
                token.text == "__noinline__"
                and self.tokens[at - 1].text == "]"
                and self._is_opening_parenthesis(at + 1)
            ):
                self._replace_tokens(at, at, "")
            elif token.text == "<" and self._has_adjacent_punctuators(at, "<<<"):
                self._translate_launch(at)
        self._declare_in_functions(bodies, wide)
        if self.kind == "sim":
            for first, last, replacement in gotos.declaration_edits(
                self.text, self.tokens, self.partner
            ):
                self._replace_tokens(first, last, replacement)
        if self.spared is not None:
            for place, mark in divisions.division_edits(self.tokens, self.partner):
                self.edits.append((place, place, mark))
        out, at = [], 0
        for start, end, replacement in sorted(self.edits):
            if start < at:
                continue  # skip an edit inside the range of another edit
            out += self.text[at:start], replacement
            at = end
        out.append(self.text[at:])
        return "".join(out)

    # ---- positions ----

    def _replace_tokens(self, first, last, replacement):
        """Replaces the tokens first to last (inclusive), and keeps the number of line ends."""
        start, end = self.tokens[first].start, self._token_end(last)
        lost = self.text.count("\n", start, end) - replacement.count("\n")
        self.edits.append((start, end, replacement + "\n" * lost))

    def _token_end(self, at):
        return self.tokens[at].start + len(self.tokens[at].text)

    def _has_adjacent_punctuators(self, at, signs):
        found = self.tokens[at : at + len(signs)]
        return len(found) == len(signs) and all(
            token.text == sign and token.start == found[0].start + i
            for i, (token, sign) in enumerate(zip(found, signs, strict=True))
        )

    def _function_scopes(self):
        """Returns the outermost function bodies as (opening, closing) token indices, and for each token
        whether it is inside a function."""
        bodies, scopes, stack, head = [], [], [], 0
        for at, token in enumerate(self.tokens):
            scopes.append(self.inside_function or "function" in stack)
            if token.kind != "sign":
                continue
            if token.text == "{":
                kind = self._block_kind(head, at)
                if kind == "function" and "function" not in stack and at in self.partner:
                    bodies.append((head, at, self.partner[at]))
                stack.append(kind)
                head = at + 1
            elif token.text == "}":
                if stack:
                    stack.pop()
                head = at + 1
            elif token.text == ";":
                head = at + 1
            elif token.text == "=" and self.kind == "sim":
                self._check_constant_initializer(head, at, stack)
        return bodies, scopes

    def _check_constant_initializer(self, head, at, stack):
        """Makes the compiler check that the initializer of a static or namespace-scope variable is constant."""
        for i in range(head, at):
            if self.tokens[i].kind == "directive":
                head = i + 1
        words = [token.text for token in self.tokens[head:at]]
        in_function = self.inside_function or "function" in stack
        if in_function:
            lasts = "static" in words and "class" not in stack[-1:]
        else:
            lasts = stack.count("namespace") == len(stack)
        names = [word for word in words if word.isidentifier()]
        if lasts and len(names) > 1 and _NO_VARIABLES.isdisjoint(words):
            if self.tokens[head].kind == "name":
                start = self.tokens[head].start
                self.edits.append((start, start, "NUMBALITE_SIM_CONSTANT "))

    def _block_kind(self, head, opening):
        words, at = [], head
        while at < opening:
            token = self.tokens[at]
            if token.text in _WITH_PARENTHESES and self._is_opening_parenthesis(at + 1):
                at = self.partner[at + 1]
            elif token.kind != "directive":
                words.append(token)
            at += 1
        texts = {word.text for word in words if word.kind in ("name", "sign")}
        if "namespace" in texts or (
            len(words) >= 2 and words[-2].text == "extern" and words[-1].kind == "string"
        ):
            return "namespace"
        if texts & _TYPES and ")" not in texts:
            return "class"
        return "function" if ")" in texts else "block"

    def _is_opening_parenthesis(self, at):
        return at < len(self.tokens) and self.tokens[at].text == "(" and at in self.partner

    def _is_unused_exchange(self, at):
        """Returns whether the tokens are a call of atomicExch whose result is unused, for g++. For clang,
        irpatch.py finds all atomics whose results are unused."""
        if not self.checked or self.spared is None or not self._is_statement(at):
            return False
        inside = self.tokens[at + 2 : self.partner[at + 1]]
        return self.tokens[at].text.startswith("atomicExch") and not any(
            token.text.startswith("atomic") for token in inside
        )

    def _is_statement(self, at):
        """Returns whether the call whose name is at `at` is a whole statement, so that its result is
        unused."""
        if not self._is_opening_parenthesis(at + 1) or at == 0:
            return False
        after = self.partner[at + 1] + 1
        before, opening = self.tokens[at - 1].text, self.partner.get(at - 1)
        if before == ")" and opening:
            begins = self.tokens[opening - 1].text in ("if", "while", "for")
        else:
            begins = before in (";", "{", "}", "else", "do")
        return begins and after < len(self.tokens) and self.tokens[after].text == ";"

    # ---- shared memory ----

    def _translate_shared(self, at, in_function):
        """Translates one __shared__ declaration. Returns the reference declarations that functions need
        instead of a variable at namespace scope."""
        first = self._skip_type_definition(self._declaration_start(at))
        last = self._declaration_end(at)
        own = self._type_definition(first, last)
        words = {
            self.tokens[i].text
            for i in self._specifier_indices(first, last)
            if own is None or i < own[0]
        }
        if "alignas" in words:
            self._move_alignas_to_start(
                first, last, "extern" in words or self._can_become_reference(first, last)
            )
        if "extern" not in words:
            if self._has_initializer(first, last):
                self._insert_error(first, "NUMBALITE_SIM_SHARED_VALUE")
            if own and self._can_become_reference(first, last):
                return self._split_shared_type_definition(
                    at, first, last, own, in_function, _VARIABLE
                )
            for i in self._specifier_indices(first, last):
                if self.tokens[i].text == "static" and not self._can_become_reference(first, last):
                    self._replace_tokens(i, i, "")
            if not self._can_become_reference(first, last):
                return []
            pattern = _VARIABLE
        else:
            pattern = _REFERENCE
            if own:
                return self._split_shared_type_definition(
                    at, first, last, own, in_function, _REFERENCE
                )
            self._check_single_type(first, last)
        found = [
            (name, self._reference_declaration(pattern, name, type_))
            for name, type_ in self._declared_variables(first, last)
        ]
        if in_function:
            self._replace_tokens(first, last, " ".join(text for _, text in found))
            return []
        self._replace_tokens(first, last, ";")
        return [(at, name, text) for name, text in found]

    def _reference_declaration(self, pattern, name, type_):
        return pattern.format(name=name, type=type_, label=f'"{name}"' if self.checked else "")

    def _split_shared_type_definition(self, at, first, last, own, in_function, pattern):
        """Splits a declaration that also defines its struct or union into the type definition and reference
        declarations."""
        keyword, opening, closing, name = own
        declared = [name for name, _ in self._declared_variables(first, last, own, "")]
        if not declared:
            return []
        if name is None:
            paste = "##" if self.in_macro else ""
            name = f"nl_type_of_{paste}{declared[0]}"
            start = self._name_position(keyword, opening)
            self.edits.append((start, start, f" {name} "))
        found = [
            (variable, self._reference_declaration(pattern, variable, type_))
            for variable, type_ in self._declared_variables(first, last, own, name)
        ]
        if keyword > first:
            self._replace_tokens(first, keyword - 1, "")
        rest = " ".join(["", *(text for _, text in found)]) if in_function else ";"
        self._replace_tokens(closing + 1, last, f";{rest}")
        return [] if in_function else [(at, variable, text) for variable, text in found]

    def _skip_type_definition(self, first):
        """Returns the token index of the start of a declaration whose specifiers begin with a type definition;
        otherwise `first`."""
        opening = self.partner.get(first - 1)
        if opening is not None and self.tokens[first - 1].text == "}":
            head = self._declaration_start(opening)
            if self._block_kind(head, opening) == "class":
                return head
        return first

    def _type_definition(self, first, last):
        """Token indices (keyword, {, }, name or None) of the struct or union that a declaration defines; or None."""
        for keyword in range(first, last):
            text = self.tokens[keyword].text
            if text in ("{", "=", "["):
                return None
            if text in _TYPES and text != "enum":
                break
        else:
            return None
        name, at = None, keyword + 1
        while at < last and self.tokens[at].text not in ("{", "=", ";"):
            token = self.tokens[at]
            if token.text in _WITH_PARENTHESES and self._is_opening_parenthesis(at + 1):
                at = self.partner[at + 1]
            elif token.text == ":":
                while at < last and self.tokens[at + 1].text not in ("{", ";"):
                    at += 1
            elif token.kind == "name":
                if name is not None:
                    return None  # struct S x
                name = token.text
            at += 1
        if at >= last or self.tokens[at].text != "{" or at not in self.partner:
            return None
        return keyword, at, self.partner[at], name

    def _name_position(self, keyword, opening):
        """Returns the text position at which the name of an unnamed type is inserted: after its attributes."""
        end = keyword
        while self.tokens[end + 1].text in _WITH_PARENTHESES and self._is_opening_parenthesis(
            end + 2
        ):
            end = self.partner[end + 2]
        return self._token_end(end)

    def _move_alignas_to_start(self, first, last, is_replaced):
        """Moves alignas to the start of its declaration. NVRTC accepts alignas after __shared__, because
        __shared__ is an attribute for NVRTC, but two specifiers for host compilers."""
        specifiers = list(self._specifier_indices(first, last))
        at = next(i for i in specifiers if self.tokens[i].text == "alignas")
        if any(self.tokens[i].text not in _ATTRIBUTES for i in specifiers[: specifiers.index(at)]):
            self._insert_error(first, "NUMBALITE_SIM_ALIGNAS")
        elif at > first and not is_replaced and self._is_opening_parenthesis(at + 1):
            closing = self.partner[at + 1]
            start = self.tokens[first].start
            self.edits.append(
                (
                    start,
                    start,
                    self.text[self.tokens[at].start : self._token_end(closing)] + " ",
                )
            )
            self._replace_tokens(at, closing, "")

    def _check_single_type(self, first, last):
        """Raises an error for two declarations of one name with different builtin types."""
        for name, type_ in self._declared_variables(first, last):
            words = re.findall(r"\w+", type_)
            if not _OWN_TYPES.issuperset(words):
                continue
            known, at = self.externs.setdefault(name, (sorted(words), first))
            between = (t.text for t in self.tokens[at:first] if t.kind == "directive")
            if known != sorted(words) and not any(re.match(r"#\s*el", text) for text in between):
                self._insert_error(first, f"NUMBALITE_SIM_SHARED_TYPES({name})")

    def _has_initializer(self, first, last):
        """Returns whether a declaration has an initializer, by = or {...}."""
        at, is_type = first, False
        while at < last:
            token = self.tokens[at]
            is_type |= token.text in _TYPES
            if token.text == "=":
                return True
            if token.text == "{" and not is_type:
                return True
            at = self.partner.get(at, at) + 1 if token.text in ("(", "[", "{") else at + 1
        return False

    def _can_become_reference(self, first, last):
        """Returns whether a declaration without `extern` can become a reference (in instrumented images
        only)."""
        if not self.checked:
            return False
        texts = set(self._declaration_texts(first, last))
        own = self._type_definition(first, last)
        if (
            "=" in texts
            or ("{" in texts and not own)
            or (own and "{" in self._declaration_tail(own, last))
        ):
            return False
        return not self._declares_several_names(first, last) or not {"*", "&", "("} & set(
            self._texts_outside_templates(first, last)
        )

    def _texts_outside_templates(self, first, last):
        """Yields the texts of the tokens outside template arguments."""
        angles = 0
        for text in self._declaration_texts(first, last):
            angles += text.count("<")
            if angles == 0:
                yield text
            angles -= text.count(">")

    def _declaration_tail(self, own, last):
        return [token.text for token in self.tokens[own[2] + 1 : last]]

    def _declaration_texts(self, first, last):
        """Yields the texts of the tokens, without the arguments of alignas and the members of a type definition."""
        at = first
        own = self._type_definition(first, last)
        while at < last:
            yield self.tokens[at].text
            is_alignment = self.tokens[at].text in ("alignas", "__align__")
            at = self.partner.get(at + 1, at) + 1 if is_alignment else at + 1
            if own and at == own[1] + 1:
                at = own[2]

    def _declares_several_names(self, first, last):
        """Returns whether the declaration declares several names. Commas in template arguments do not
        separate names."""
        at, angles = first, 0
        while at < last:
            text = self.tokens[at].text
            if text in ("(", "[", "{") and at in self.partner:
                at = self.partner[at]
            elif text == "," and angles == 0:
                return True
            angles += text.count("<") - text.count(">")
            at += 1
        return False

    def _declaration_start(self, at):
        while at > 0:
            before = self.tokens[at - 1]
            if before.text == ")" and before.kind == "sign":
                opening = self.partner.get(at - 1)
                if opening is None or self.tokens[opening - 1].text not in _WITH_PARENTHESES:
                    return at
                at = opening
            elif before.kind in ("directive", "string") or before.text in (";", "{", "}", ":", ">"):
                return at
            else:
                at -= 1
        return at

    def _declaration_end(self, at):
        while at < len(self.tokens) - 1 and self.tokens[at].text != ";":
            at = self.partner.get(at, at) if self.tokens[at].text in ("(", "[", "{") else at
            at += 1
        return at

    def _specifier_indices(self, first, last):
        """Yields indices of the tokens before the first declarator's name, except tokens in parentheses."""
        at = first
        while at < last and self.tokens[at].text not in ("[", "=", ";", "{", ","):
            yield at
            at = self.partner[at] + 1 if self._is_opening_parenthesis(at) else at + 1

    def _declared_variables(self, first, last, own=None, type_name=None):
        """Returns (name, type) of each variable that a declaration declares. own: the type definition in the
        declaration, if any; type_name: the name of that type."""
        parts, kept = [[]], []
        at, angles = first, 0
        while at < last:
            token = self.tokens[at]
            if own and at == own[0]:
                parts[-1].append(type_name)
                at = own[2]
            elif token.text in _WITH_PARENTHESES and self._is_opening_parenthesis(at + 1):
                at = self.partner[at + 1]
            elif token.text in ("(", "[") and at in self.partner:
                parts[-1] += (t.text for t in self.tokens[at : self.partner[at] + 1])
                at = self.partner[at]
            elif token.text == "," and angles == 0:
                parts.append([])
            elif token.text not in _DROPPED:
                angles += token.text.count("<") - token.text.count(">")
                parts[-1].append(token.text)
            at += 1
        base = None
        for texts in parts:
            name_at = texts.index("[") - 1 if "[" in texts else len(texts) - 1
            if name_at < 0:
                continue
            if base is None:
                if own and name_at == 0:
                    continue  # only a type
                base = " ".join(texts[:name_at])
            kept.append((texts[name_at], " ".join([base, *texts[name_at + 1 :]])))
        return kept

    def _declare_in_functions(self, bodies, wide):
        """Declares the shared variables of namespace scope in each function that uses them."""
        for head, opening, closing in bodies:
            mentioned = {
                self.tokens[i].text
                for i in range(opening + 1, closing)
                if self.tokens[i].kind == "name" and self.tokens[i - 1].text not in (".", "->")
            }
            own = {
                self.tokens[i].text
                for i in range(head, opening)
                if self.tokens[i].kind == "name" and self.tokens[i + 1].text in (",", ")", "[", "=")
            }
            text = "".join(
                " " + reference
                for at, name, reference in wide
                if at < head and name in mentioned and name not in own
            )
            if text:
                after = self._token_end(opening)
                self.edits.append((after, after, text + " {"))
                self.edits.append((self.tokens[closing].start, self.tokens[closing].start, "} "))

    # ---- errors ----

    def _insert_error(self, at, macro):
        """Inserts an error macro before the statement that contains a token."""
        if self.kind == "sim":
            start = self.tokens[self._declaration_start(at)].start
            self.edits.append((start, start, f"{macro} "))

    def _report_function_variables(self, at):
        """Reports __constant__ and __device__ variables in a function as errors, except static variables, and
        variables in lambdas and local classes."""
        first = self._declaration_start(at)
        words = [token.text for token in self.tokens[first:at]]
        if not self.in_macro and set(words) <= {"const", "volatile", "constexpr"}:
            head = itertools.takewhile(
                lambda t: t.text not in ("=", ";", "[", "{"), self.tokens[at:]
            )
            if all(token.text not in ("(", "static", "extern", "__shared__") for token in head):
                self._insert_error(
                    at, f"NUMBALITE_SIM_AUTOMATIC({self.tokens[at].text.strip('_')})"
                )

    def _translate_asm(self, at):
        opening = at + 1
        while opening < len(self.tokens) and self.tokens[opening].text in _ASM_WORDS:
            opening += 1
        if not self._is_opening_parenthesis(opening):
            return
        closing = self.partner[opening]
        inside = self.tokens[opening + 1 : closing]
        made = [
            directive + self._translate_asm_tokens(tokens, self.tokens[at].start)
            for directive, tokens in _conditional_branches(inside)
        ]
        end = "\n#endif\n" if len(made) > 1 else ""
        self._replace_tokens(at, closing, "".join(made) + end)

    def _translate_asm_tokens(self, tokens, number):
        try:
            if self.kind != "sim":
                raise ptx.UnknownInstruction("")
            return ptx.translate_asm(tokens, self.text, number)
        except ptx.UnknownInstruction as problem:
            return f"NUMBALITE_SIM_ASM({_string_literal(str(problem))})"

    def _translate_launch(self, at):
        end = at + 3
        while end < len(self.tokens) and self.tokens[end].text not in (";", "{", "}"):
            if self._has_adjacent_punctuators(end, ">>>"):
                self._rewrite_launch(at, end)
                return
            end += 1

    def _rewrite_launch(self, at, end):
        """Rewrites the launch whose <<< and >>> are at these tokens."""
        first = self._qualified_name_start(at)
        if first is None or self.kind != "sim":
            self._replace_tokens(at, at + 2, " NUMBALITE_SIM_CHEVRONS(")
            self._replace_tokens(end, end + 2, ")")
            return
        name = self.text[self.tokens[first].start : self._token_end(at - 1)]
        shape = f"{_string_literal(name)}, ::numbalite_sim::nested_shape("
        if (
            self.tokens[at - 1].kind == "name"
            and self.tokens[at - 1].text in self._template_names()
        ):
            called = f"[](auto... nl_a) {{ {name}(nl_a...); }}"
            made = f" ::numbalite_sim::nl_nested_by({called}, {shape}"
        else:
            made = f" ::numbalite_sim::nl_nested<decltype(&{name}), &{name}>({shape}"
        self._replace_tokens(first, at + 2, made)
        self._replace_tokens(end, end + 2, "))")

    def _qualified_name_start(self, at):
        """Returns the index of the first token of the qualified name (with template arguments) that ends
        before a token, or None."""
        at -= 1
        if self.tokens[at].text == ">":
            depth = 0
            while at > 0 and self.tokens[at].text not in (";", "{", "}"):
                depth += {">": 1, "<": -1}.get(self.tokens[at].text, 0)
                at -= 1
                if depth == 0:
                    break
        if at < 0 or self.tokens[at].kind != "name":
            return None
        while at >= 1 and self.tokens[at - 1].text == "::":
            at -= 1
            if self.tokens[at - 1].kind == "name" and self.tokens[at - 1].text not in _NO_NAMES:
                at -= 1
        return at

    def _template_names(self):
        """Returns the set of unqualified names of kernels that are templates or overloaded."""
        found = scanner.scan_source(self.text)[0]
        return {
            scanner.last_name(k.name.partition("(")[0])
            for k in found
            if k.template or "(" in k.name
        }

    def _translate_directive(self, token):
        """Translates the body of a macro as code inside a function."""
        if scanner.directive_word(token.text) != "define" or not _source_needs_translation(
            token.text, self.spared
        ):
            return
        head = re.match(r"#(?:\s|\\\r?\n)*define(?:\s|\\\r?\n)+(\w+)(?:\([^)]*\))?", token.text)
        if head is None:
            return
        body = token.text[head.end() :].replace("\\\r\n", " \n").replace("\\\n", " \n")
        marked = self.spared is not None and head[1] not in self.spared and not _HEADER.match(body)
        spared = self.spared if marked else None
        inside = _SourceTranslation(body, True, self.checked, self.kind, spared, in_macro=True)
        body = inside.translated_text().replace("\n", "\\\n")
        start = token.start + head.end()
        self.edits.append((start, token.start + len(token.text), body))
