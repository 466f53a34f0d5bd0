"""Removes host code from the files of a CUDA project, so that the rest can be compiled as kernels.

nvcc compiles such a file twice, once for the host and once for the device. NVRTC and the simulator compile
the file once, for the device. This module keeps kernels, device functions, __constant__ and __device__
variables, and all declarations that they use. Host code is replaced by blanks, so that line numbers stay
valid.

The module works on text, because a kernel compiler fails at the first name of a host library. The module
recognizes device code by CUDA's keywords and by the names that the code uses. Of 900 files of public projects, NVRTC
compiles about 60 % of the results; the other files use features that NVRTC lacks (other projects' headers,
old texture references).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from numbalite.cxx import scanner
from numbalite.types.keywords import KEYWORDS

_DEVICE = frozenset("__global__ __device__ __constant__ __managed__ __shared__".split())
_KEPT_ALWAYS = frozenset("__global__ __constant__ __managed__ __shared__".split())
# Names that are used only in host code.
_HOST_CALL = re.compile(
    r"""(?:cuda(?:Malloc|Free|Memcpy|Memset|Event|Stream|Graph|Set|Get|Peek|Host|Device(?!Synchronize)|Func|Create
        |Destroy|Bind|Unbind|Launch|Mem|Profiler|Occupancy|Import|Export|Thread)\w*
      |(?:cublas|cufft|cusparse|cusolver|cudnn|curand(?=[A-Z](?!RNG))|nvtx|nccl|MPI_|cuMem|cuModule|cuCtx)\w+
      |check_?[cC]uda\w*|f?close|fopen|fprintf|gettimeofday|getopt\w*|exit|atoi|atof|srand|rand|drand48|perror
      |std|cout|cerr|endl|chrono|vector|string|ifstream|ofstream|torch|at|c10|thrust|argv|argc)\Z""",
    re.VERBOSE,
)
_HOST_OF_STD = frozenset(
    """cout cerr clog cin endl vector string map unordered_map set unordered_set list deque queue stack
    ifstream ofstream fstream stringstream ostringstream istringstream ostream istream chrono thread mutex
    shared_ptr unique_ptr make_unique make_shared function random_device mt19937 runtime_error exception
    default_random_engine uniform_real_distribution uniform_int_distribution normal_distribution sort
    accumulate to_string setw setprecision filesystem exit getline variant any regex async future
    generate shuffle iota nth_element stable_sort""".split()
)
_OUTSIDE = frozenset(("at", "torch", "c10", "thrust"))  # namespaces of libraries for the host
_STREAMS = frozenset(
    """cout cerr argv argc FILE ostream istream ofstream ifstream stringstream ostringstream
    istringstream""".split()
)
_ATTRIBUTES = frozenset(
    "__align__ alignas __attribute__ decltype noexcept explicit __declspec requires".split()
)
_NAMESPACES = frozenset("std cooperative_groups nvcuda cuda cub numbalite".split())


class ProjectFile(NamedTuple):
    """A file of a project: its text and its declarations."""

    text: str
    declarations: tuple
    macros: dict
    """Name -> names in its definition."""
    launching: frozenset
    """The macros that launch kernels."""
    members: tuple = ()
    """(name, line) of the member functions that were removed from the text."""


class Declaration(NamedTuple):
    """One declaration at namespace scope."""

    start: int
    end: int
    line: int
    """Starts at 0."""
    names: frozenset
    """All names that occur in it."""
    declares: frozenset
    """The names that it may declare."""
    head: frozenset
    """The names outside of braces."""
    title: str
    """Its name in messages."""
    is_function: bool
    is_prototype: bool
    """A function without its body."""
    is_member: bool
    """A member of a class, defined outside of it."""
    is_host: bool
    """Whether the declaration contains a launch, or a name that only host code has."""

    def has_device_marks(self, marks) -> bool:
        """Returns whether the declaration is marked for the device. The markers of a function precede its
        body; those of a class may be anywhere in the class."""
        return bool((self.head if self.is_function else self.names) & marks)


def read_declarations(text: str) -> ProjectFile:
    """Returns a ProjectFile with the declarations in its text."""
    tokens = scanner.tokenize(text)
    plain = [token for token in tokens if token.kind != "directive"]
    starts = {token.start: at for at, token in enumerate(plain)}
    found = []
    for start, end in scanner.declarations(text):
        first = at = starts[start]
        while at < len(plain) and plain[at].start < end:
            at += 1
        found.append(_declaration(plain[first:at], start, end))
    macros: dict[str, frozenset] = {}
    for name, used in _macro_names(tokens):  # a macro may be defined in both branches of an #if
        macros[name] = macros.get(name, frozenset()) | used
    return ProjectFile(text, tuple(found), macros, frozenset(_functions_with_launches(tokens)))


def _functions_with_launches(tokens):
    for token in tokens:
        if token.kind == "directive" and "<<<" in token.text:
            if scanner.directive_word(token.text) == "define":
                yield from scanner.directive_names(token.text)[1][:1]


def _macro_names(tokens):
    for token in tokens:
        if token.kind == "directive" and scanner.directive_word(token.text) == "define":
            _, own, used = scanner.directive_names(token.text)
            if own:
                yield own[0], frozenset(used)


def _declaration(tokens, start, end):
    head, declares, mentioned, depth = set(), set(), set(), 0
    body = has_parameters = has_value = is_member = False
    title = pointer = ""
    for at, token in enumerate(tokens):
        text = token.text
        if text in ("{", "(", "["):
            if text == "{" and depth == 0 and has_parameters and not has_value:
                body = True
            if text == "(" and depth == 0 and not has_parameters:
                has_parameters = True
                pointer = _pointer_type(tokens, at)
                is_member = at > 2 and tokens[at - 2].text in ("::", "~")
            depth += 1
        elif text in ("}", ")", "]"):
            depth -= 1
        has_value |= text == "=" and depth == 0
        if token.kind != "name":
            continue
        if not (body or (depth and _is_class(tokens) and not _is_enum(tokens))):
            head.add(text)
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        before = tokens[at - 1].text if at else ""
        is_type = before in ("class", "struct", "union", "enum", "__align__", ")")
        if is_type and after not in ("{", ":", ";"):
            mentioned.add(text)  # struct s *f();
        names_it = depth == 0 and after in ("(", ";", "=", "[", ",", "{", ":", "<")
        if (names_it or (depth == 0 and is_type) or _is_enum(tokens)) and not body:
            if text not in KEYWORDS and text not in _DEVICE:
                declares.add(text)
                title = title or (text if after in ("(", "=", "[", ";", "{") else "")
    if pointer:
        declares, title = {pointer}, pointer
    elif has_parameters:
        declares -= mentioned - {title}
    names = frozenset(t.text for t in tokens if t.kind == "name")
    is_prototype = has_parameters and not body and not pointer and tokens[-1].text == ";"
    return Declaration(
        start, end, tokens[0].line, names, frozenset(declares), frozenset(head), title,
        is_prototype or (has_parameters and body), is_prototype, is_member,
        _has_launch(tokens) or _is_host_function(tokens),
    )  # fmt: skip


def _pointer_type(tokens, at):
    """Returns the name that `typedef R (*name)(A)` declares, whose first parenthesis is at `at`, or "" for other
    tokens."""
    words = [token.text for token in tokens[at + 1 : at + 4]]
    is_one = tokens[0].text == "typedef" and words[:1] == ["*"] and words[2:] == [")"]
    return words[1] if is_one else ""


def _is_class(tokens):
    words = [t.text for t in tokens[:12]]
    return "struct" in words or "class" in words or "union" in words or "enum" in words


def _is_enum(tokens):
    return any(t.text == "enum" for t in tokens[:3])


def _has_launch(tokens):
    for at, token in enumerate(tokens):
        if token.text == "<" and [t.text for t in tokens[at : at + 3]] == ["<", "<", "<"]:
            if tokens[at + 2].start == token.start + 2:
                return True
    return False


def _is_host_function(tokens):
    for at, token in enumerate(tokens):
        if token.kind != "name":
            continue
        after = [t.text for t in tokens[at + 1 : at + 3]]
        if token.text == "std":
            if after[:1] == ["::"] and after[1:] and after[1] in _HOST_OF_STD:
                return True
        elif token.text in _OUTSIDE:
            if after[:1] == ["::"]:
                return True
        elif token.text in _STREAMS:
            return True
        elif after[:1] in (["("], ["<"]) and token.text not in ("std", "string", "vector"):
            if _HOST_CALL.match(token.text):
                return True
    return False


def remove_host_members(files: Iterable[ProjectFile]) -> list[ProjectFile]:
    """Returns the files, with the host-only members of their classes replaced by spaces. A member or friend is host-only
    if it has no marker such as __device__, and uses names of the host's library or another host-only member."""
    files = list(files)
    macros: dict[str, set] = {}
    for file in files:
        for name, used in file.macros.items():
            macros.setdefault(name, set()).update(used)
    # Virtual functions are kept, because they determine the layout of the class.
    marks = _device_keywords(macros) | {"__host__", "virtual", "override"}
    return [_remove_host_members(file, marks) for file in files]


def _remove_host_members(file, marks):
    tokens = [token for token in scanner.tokenize(file.text) if token.kind != "directive"]
    pairs, text, names = scanner.match_brackets(tokens), file.text, []
    for at, token in enumerate(tokens):
        if token.text not in ("struct", "class", "union"):
            continue
        opening = _class_body_start(tokens, pairs, at)
        for name, member in _host_members(tokens, pairs, at, opening, marks) if opening else ():
            start, end = member[0].start, member[-1].start + 1
            text = text[:start] + _blank_text(text[start:end]) + text[end:]
            names.append((name, member[0].line))
    return read_declarations(text)._replace(members=tuple(names)) if names else file


def _class_body_start(tokens, pairs, keyword):
    """Returns the token index of the opening brace of the class with this keyword, or None."""
    has_bases = False
    for at in _indices_outside_arguments(tokens, pairs, keyword):
        text = tokens[at].text
        if text == "{":
            return at if at in pairs else None
        has_bases |= text == ":"
        if text in (";", ")", ">", "=", "(") or (text == "," and not has_bases):
            return None
    return None


def _indices_outside_arguments(tokens, pairs, at):
    """Yields the indices of the tokens from `at` on, without arguments of attributes and templates."""
    while at < len(tokens):
        text, before = tokens[at].text, tokens[at - 1]
        if text == "(" and before.text in _ATTRIBUTES:
            at = pairs.get(at, at)
        elif text == "<" and before.kind == "name" and before.text != "operator":
            depth = 0
            while at < len(tokens) and tokens[at].text not in (";", "{", "}"):
                depth += (tokens[at].text == "<") - (tokens[at].text == ">")
                if depth == 0:
                    break
                at += 1
            at -= depth > 0
        else:
            yield at
        at += 1


def _host_members(tokens, pairs, keyword, opening, marks):
    """Returns a list with (name, tokens) of each member function of a class that only the CPU can run."""
    members: list[tuple[str, Sequence[scanner.Token]]] = []
    at, end = opening + 1, pairs[opening]
    while at < end:
        if tokens[at].text in ("public", "private", "protected") and tokens[at + 1].text == ":":
            at += 2
        first, parameters = at, _parameters_start(tokens, pairs, at)
        if parameters is not None:
            _, at = _body_range(tokens, pairs, pairs.get(parameters, parameters) + 1)
            member = tokens[first : at + 1]
            if not any(token.text in marks for token in member):
                members.append((_function_name(tokens, first, parameters), member))
        else:  # a field, a class, a type
            while at < end and tokens[at].text not in (";", "}"):
                at = pairs.get(at, at) + 1
        at += 1
    own = {token.text for token in tokens[keyword:opening]}
    gone: list = []
    while True:
        only = {name for name, _ in gone} - own
        only -= {name for name, member in members if (name, member) not in gone}
        found = [
            (name, member) for name, member in members
            if _is_host_function(member) or _has_launch(member) or only & {t.text for t in member[1:]}
        ]  # fmt: skip
        if found == gone:
            return gone
        gone = found


def _function_name(tokens, first, parameters):
    words = [token.text for token in tokens[first:parameters]]
    return "".join(words[words.index("operator") :]) if "operator" in words else words[-1]


def _parameters_start(tokens, pairs, first):
    """Returns the token index of the parenthesis that opens a function's parameters, or None if no function
    is declared."""
    has_operator = False
    for at in _indices_outside_arguments(tokens, pairs, first):
        text = tokens[at].text
        if text == "operator":
            has_operator = True
        elif text in (";", "{", "}") or (text == "=" and not has_operator):
            return None
        elif text == "(":
            words = [token.text for token in tokens[at + 1 : at + 3]]
            if has_operator and words == [")", "("]:
                return at + 2
            return None if words[0] in ("*", "&") else at  # a pointer to a function
    return None


def is_host_declaration(declaration: Declaration) -> bool:
    """Returns whether every kernel compiler certainly rejects the declaration."""
    if declaration.head & _KEPT_ALWAYS:
        return False
    return declaration.is_host or (declaration.is_function and "main" in declaration.declares)


def declarations_to_compile(
    files: Iterable[ProjectFile], names: Iterable[str] = ()
) -> dict[int, list[Declaration]]:
    """Returns {index of a file: the declarations to compile}. `names` are requested by the caller."""
    files = list(files)
    macros: dict[str, set] = {}
    for file in files:
        for name, used in file.macros.items():
            macros.setdefault(name, set()).update(used)
    marks = _device_keywords(macros)
    places: dict[str, list] = {}
    for number, file in enumerate(files):
        for declaration in file.declarations:
            for name in declaration.declares:
                places.setdefault(name, []).append((number, declaration))
    host = _host_declarations(places, marks, frozenset().union(*(f.launching for f in files)))
    chosen, todo = set(), [*names]
    for number, file in enumerate(files):
        for declaration in file.declarations:
            if _is_root_declaration(declaration, marks) and declaration not in host:
                chosen.add((number, declaration.start))
                todo += declaration.names
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo += macros.get(name, ())
        for number, declaration in places.get(name, ()):
            if (number, declaration.start) not in chosen and declaration not in host:
                chosen.add((number, declaration.start))
                todo += declaration.names
    namespaces = _NAMESPACES | {name for f in files for name in _namespace_names(f.text)}
    return {
        number: [
            d for d in file.declarations
            if (number, d.start) in chosen or _is_using_host_code(d, namespaces)
        ]
        for number, file in enumerate(files)
    }  # fmt: skip


def _host_declarations(places, marks, launching):
    """Returns the set of declarations that a kernel compiler rejects: declarations with host names,
    and functions that call these declarations. Prototypes are treated like their definitions."""
    all_ = {declaration for found in places.values() for _, declaration in found}
    marks = marks - {"__host__"}
    host = {
        d for d in all_
        if d.is_host
        or (d.is_function and (d.is_member or "main" in d.declares or d.names & launching))
    }  # fmt: skip
    host = {d for d in host if not d.has_device_marks(marks)}
    only: set[str] = set()
    while True:
        lost = {
            name for name, found in places.items()
            if any(d in host for _, d in found)
            and all(
                d.is_function and (d in host or (d.is_prototype and not d.has_device_marks(marks)))
                for _, d in found
            )
        }  # fmt: skip
        if lost == only:
            return host
        only = lost
        host |= {
            d for d in all_ if d.is_function and d.names & only and not d.has_device_marks(marks)
        }


def _device_keywords(macros):
    """Returns the set of keywords that mark device code: CUDA's, and macros for them."""
    marks, size = set(_DEVICE), 0
    while size != len(marks):
        size = len(marks)
        marks |= {name for name, used in macros.items() if used & marks and len(used) < 40}
    return marks


def _is_root_declaration(declaration, marks):
    return bool(declaration.head & _KEPT_ALWAYS) or declaration.has_device_marks(marks)


def _is_using_host_code(declaration, namespaces):
    return {"using", "namespace"} <= declaration.names and bool(declaration.names & namespaces)


def _namespace_names(text):
    return re.findall(r"\bnamespace\s+(\w+)\s*\{", text)


_OF_A_LOOP = re.compile(
    r"#\s*pragma\s+(?:(?:GCC|clang)\s+)?(?:unroll\w*|nounroll\w*|loop|ivdep|omp|acc)\b"
)
"""A preprocessor line that belongs to the following loop: compilers reject it elsewhere."""


def blank_other_declarations(
    file: ProjectFile, kept: Iterable[Declaration]
) -> tuple[str, list[Declaration]]:
    """Blanks all declarations that are not in `kept`, except preprocessor lines outside of statements.
    Returns the text and the blanked declarations."""
    left_out = sorted(set(file.declarations) - set(kept))
    directives = [t for t in scanner.tokenize(file.text) if t.kind == "directive"]
    directives = [t for t in directives if not _OF_A_LOOP.match(t.text)]
    out, at = [], 0
    for declaration in left_out:
        out.append(file.text[at : declaration.start])
        at = declaration.start
        for token in directives:
            if at <= token.start < declaration.end:
                out += _blank_text(file.text[at : token.start]), token.text
                at = token.start + len(token.text)
        out.append(_blank_text(file.text[at : declaration.end]))
        at = declaration.end
    return "".join([*out, file.text[at:]]), left_out


def replace_host_functions(text: str) -> str:
    """Replaces functions with the marker __host__ alone by prototypes: NVRTC rejects the marker, and kernels
    never call them.

    Functions with host types are removed. The bodies of constexpr functions (which kernels may call) and of
    functions with a deduced return type are kept. The keyword __extension__ is removed, because NVRTC does
    not support it.
    """
    text = text.replace("__extension__", " " * len("__extension__"))
    if "__host__" not in text:
        return text
    plain = [token for token in scanner.tokenize(text) if token.kind != "directive"]
    pairs = scanner.match_brackets(plain)
    out, done = [], 0

    def replace_range(start, end, by=""):
        nonlocal done
        out.extend((text[done:start], by, _blank_text(text[start + len(by) : end])))
        done = end

    for at, token in enumerate(plain):
        if token.text != "__host__" or token.start < done:
            continue
        begin, parameters = _signature_range(plain, at)
        words = {other.text for other in plain[begin:parameters]}
        if words & _DEVICE:
            continue
        after = pairs.get(parameters, parameters) + 1
        first, last = _body_range(plain, pairs, after)
        end = plain[last].start + 1 if last < len(plain) else len(text)
        if _is_host_function(plain[begin:after]):
            replace_range(max(done, plain[begin].start), end)
            continue
        replace_range(token.start, token.start + len(token.text))
        if first < last and not words & {"constexpr", "auto"}:
            replace_range(plain[first].start, end, ";")
    return "".join([*out, text[done:]])


def _signature_range(tokens, at):
    """Returns the token indices of the start of a function's declaration and of the parenthesis that opens
    its parameters."""
    begin, end = at, at
    while begin and tokens[begin - 1].text not in (";", "{", "}"):
        if tokens[begin - 1].text == ":" and tokens[begin - 2].text in (
            "public",
            "private",
            "protected",
        ):
            break
        begin -= 1
    while end < len(tokens) and tokens[end].text not in ("(", ";", "{", "}"):
        end += 1
    return begin, end


def _body_range(tokens, pairs, at):
    """Returns two token indices: the start of a constructor's initializers or of the body, and the end of the
    function. The two indices are equal if the function has no body."""
    first = None
    while at < len(tokens) and tokens[at].text not in (";", "}"):
        text = tokens[at].text
        if text == ":" and first is None:
            first = at
        if text == "{" and (first is None or tokens[at - 1].text in (")", "}")):
            return (at if first is None else first), pairs.get(at, at)
        at = pairs.get(at, at) + 1
    return at, at


def _blank_text(text):
    return re.sub(r"[^\n]", " ", text)
