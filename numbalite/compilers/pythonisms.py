"""Finds Python constructs in C++ text that compilers report at another position or in terms that do not help a
Python programmer. The search for Python constructs runs only if a source does not compile."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from numbalite.cxx.linemap import Text
from numbalite.cxx.scanner import (
    TYPE_WORDS,
    blank_comments,
    find_broken_string,
    match_brackets,
    tokenize,
)

# Identifiers from Python that the compiler rejects -> what to write instead.
PYTHON_NAMES = {
    "True": "write true",
    "False": "write false",
    "None": "write nullptr",
    "elif": "write else if",
    "pass": "write {} for an empty block",
    "lambda": "write [&](float x) { return ...; }",
    "def": "write a Python function with @cuda.jit(device=True), or inside of a kernel "
    "auto f = [&](float x) { return ...; };",
    "global": "pass arrays as parameters",
    "import": "write #include in a source",
    "from": "write #include in a source",
    "range": "write for (int i = 0; i < n; ++i)",
    "enumerate": "write for (int i = 0; i < n; ++i)",
    "len": "write {a}.size() or {a}.shape[0]",
    "sum": "add in a loop, for (float value : {a}) total += value;",
    "print": "write printf",
    "str": "a string is a const char *; print numbers with printf",
    "syncthreads": "write __syncthreads()",
    "syncwarp": "write __syncwarp()",
    "threadfence": "write __threadfence()",
    "pi": "write M_PI",
    **dict.fromkeys(
        ("zeros", "empty", "ones"),
        "declare a private array of the thread as float v[16] = {}; an array of the block as __shared__ float v[16];",
    ),
}
# Identifiers from other languages and older versions of CUDA that the compiler rejects -> what to write instead.
OTHER_NAMES = {
    "let": "write auto i = ...;",
    "var": "write auto i = ...;",
    "real": "the types are float and double",
    "string": "a string is a const char *; print numbers with printf",
    "elseif": "write else if",
    "shared": "declare shared memory as __shared__ float s[32];",
    **{
        f"__{name}": f"pass the mask of the lanes: __{name}_sync(0xffffffff, ...)"
        for name in ("shfl", "shfl_down", "shfl_up", "shfl_xor", "ballot", "any", "all")
    },
}
# Features that need an #include, by prefixes of their names.
_HEADERS = {
    "curand": "curand_kernel.h",
    "__nv_bfloat16": "cuda_bf16.h",
    "nv_bfloat16": "cuda_bf16.h",
    "__half": "cuda_fp16.h",
    "__nv_fp8": "cuda_fp8.h",
    "__nv_fp6": "cuda_fp6.h",
    "__nv_fp4": "cuda_fp4.h",
    "nvcuda": "mma.h",
    "wmma": "mma.h",
    "cub": "cub/block/block_reduce.cuh",
    "cuComplex": "cuComplex.h",
    "cuFloatComplex": "cuComplex.h",
    "cuDoubleComplex": "cuComplex.h",
    "CUDART_": "math_constants.h",
    "__pipeline_": "cuda_pipeline.h",
}
# Host functions: prefix of the name -> what to use instead.
_HOSTS = {
    "cudaMalloc": "cuda.device_array(n, np.float32) in Python",
    "cudaMemcpyToSymbol": "module.get_global(name) in Python",
    "cudaMemcpy": "cuda.to_device(a) and d.copy_to_host() in Python",
    "cudaDeviceSynchronize": "cuda.synchronize() in Python",
    "cudaEvent": "cuda.event() in Python",
    "cudaStream": "cuda.stream() in Python",
    "cuda": "numbalite.cuda in Python",
    "fprintf": "printf in a kernel",
    "stderr": "printf in a kernel",
    "exit": "__trap() in a kernel",
    "rand": "xoroshiro128p_uniform_float32 or <curand_kernel.h> in a kernel",
    "srand": "seeds are arguments of kernels",
}


def explain_missing_name(name: str, in_program: bool) -> str:
    """Explains an undeclared name that exists in a header, in Python or in numba; returns "" for other names.
    in_program: the source is a complete program with a main, whose host code gets a single hint.
    """
    from numbalite.types.inkernel import INSTEAD

    for start, header in _HEADERS.items():
        if name.startswith(start):
            return f"{name} is not built in: #include <{header}>"
    if name in INSTEAD:
        return f"{name} is a name of numba: in C++ write {INSTEAD[name]}"
    for start, instead in () if in_program else _HOSTS.items():
        if name == start or (start.startswith("cuda") and re.match(rf"{start}[A-Z]", name)):
            return f"{name} is a function of the host: use {instead}"
    return ""


def _hint_for_loop(written):
    """Matches `for i in range(n)` and `for v in a` in C++."""
    counted = re.match(r"for\s*\(?\s*(\w+)\s+in\s+range\s*\(([^(),]*(?:\([^()]*\))?)\)", written)
    if counted:
        name, end = counted[1], counted[2].strip()
        return f"write for (int {name} = 0; {name} < {end}; ++{name})"
    over = re.match(r"for\s*\(?\s*(\w+)\s+in\s+(\w+)\s*\)?\s*:", written)
    if over:
        return f"write for (auto {over[1]} : {over[2]})"
    return "write for (int i = 0; i < n; ++i), or for the elements of an array for (float v : a)"


def _hint_for_condition(written):
    found = re.match(r"(if|while|elif)\s+(.+?)\s*:", written)
    if not found:
        return "write if (x > 1) { ... }, while (x > 1) { ... }"
    keyword = {"elif": "else if"}.get(found[1], found[1])
    condition = found[2] if re.fullmatch(r"\([^()]*\)", found[2]) else f"({found[2]})"
    return f"write {keyword} {condition} {{ ... }}"


def _hint_for_comparison(written):
    text = re.sub(r"\s+is\s+not\s+", " != ", written.strip())
    text = re.sub(r"\s+is\s+", " == ", text)
    return "write " + re.sub(r"\bNone\b", "nullptr", text)


def _hint_for_choice(written):
    found = re.fullmatch(r"\s*(?:return\s+)?(.+?)\s+if\s+(.+?)\s+else\s+(.+?)\s*", written)
    return f"write {found[2]} ? {found[1]} : {found[3]}" if found else "write x > 0 ? x : 0"


def _hint_for_index(written):
    name, _, rest = written.strip().partition("[")
    return f"write {name}({rest[:-1]})" if rest.endswith("]") else "write a(i, j)"


def _hint_for_element(written):
    name = written.strip().partition("[")[0]
    return f"each thread processes one element: {name}[i]"


def _hint_for_list(written):
    return f"write {written.strip().strip('=;').strip().replace('[', '{').replace(']', '}')}"


def _hint_for_power(written):
    base, _, power = written.partition("**")
    return f"write pow({base.strip()}, {power.strip()})"


def _hint_for_imaginary(written):
    return f"write complex64(0, {written.strip()[:-1]})"


def _hint_for_number(written):
    return "write " + written.strip().replace("_", "'")


_SLIPS: list[tuple[str, str | Callable[[str], str]]] = [
    (
        r"\bfor\s*\(?\s*(?:\w+\s+)?\w+(?:\s*,\s*\w+)*\s+in\b[^;\n{]*",
        _hint_for_loop,
    ),
    (
        r"\b(?:if|while|elif)\b(?:[^({;?\n]*:(?!:)|[^{;?\n]*:\s*$)",
        _hint_for_condition,
    ),
    (r"\belse\s*:", "write else { ... }"),
    (r"[\w)\]]\s+not\s+in\s+\w+|[\w)\]]\s+in\s+\w+", "search the value in a loop"),
    (r"[\w)\]]\s+is\s+(?:not\s+)?\w+(?:\[[^\[\]]*\])?", _hint_for_comparison),
    (r"[^=;{}\n]*[\w)\]]\s+if\b[^;{}\n]*\belse\b[^;{}\n]*", _hint_for_choice),
    (r"\bassert\s+[^\s(][^;\n]*", "write assert(x > 0)"),
    (
        r"\b(?:float|int|uint|complex|bool)\w*\s*\[[:,\s]*\]\s*\w+",
        "write auto v = a; and float v[16]; for a private array of the thread",
    ),
    (
        r"\b(?!(?:float|int|uint|complex|bool)\d*\b)\w+\[[^\[\]();?:]*:(?!:)[^\[\]();?]*\]",
        _hint_for_element,
    ),
    (r"\w\[[^\[\]();]*,[^\[\]();]*\]\s*(?!=?\s*(?:grid|make_))", _hint_for_index),
    (r"=\s*\[\s*[-\w.+]+(?:\s*,\s*[-\w.+]+)*\s*\]\s*;", _hint_for_list),
    (r"[\w)\]]\s*\*\*\s*[\d(]|[\w)\]]\s*\*\*\s*\w+\s*(?=[-+*/%<>;])", _hint_for_power),
    (r"\b\d+j\b|\b\d+\.\d*j\b", _hint_for_imaginary),
    (r"\b\d+_\d[\d_]*\b", _hint_for_number),
]
# Patterns of text that is valid in other contexts: (pattern, the compiler's message, the hint).
_OTHERS = [
    (
        r"\b(?:if|while)[ \t]+(?!constexpr\b)[^(\s{;][^{;:\n]*\{",
        "error",
        lambda found: (
            f"{found} lacks the parentheses: {_hint_for_condition(found.rstrip('{').rstrip() + ':')[6:]}"
        ),
    ),
    (
        r"\bfor\s*\([^;(){}\n]*,[^;(){}\n]*,[^;(){}\n]*\)",
        "error",
        lambda found: f"{found} needs semicolons: {found.replace(',', ';')}",
    ),
    (
        r"\bgrid(?:size)?\s*<\s*\d\s*>(?!\s*\()",
        "error",
        lambda found: f"{found} is a function: {found}()",
    ),
    (
        r"\w*\.\s*(?:shape|strides)\b(?!\s*\[)",
        r"error",
        lambda found: f"{found} needs the dimension in brackets: {found}[0]",
    ),
    (
        r"\bfor\s*\(\s*auto\s*&\s*\w+\s*:",
        r"reference to non-const must be an lvalue|cannot bind",
        lambda found: (
            "the rows of an array are temporaries: write for (auto row : a); for (auto &v : a) is for the elements "
            "of an array of one dimension"
        ),
    ),
]
_DIRECTIVES = (
    "define undef include if ifdef ifndef elif else endif pragma error warning line".split()
)
_HASH = re.compile(rf"#(?!\s*(?:{'|'.join(_DIRECTIVES)})\b)[^\n]*")
_NO_SEMICOLON = re.compile(r"""\((\d+)\): error: expected (?:a ";"|';'|',' or ';')""")
_BLOCK = re.compile(r"\s*(?:if|for|while|else|do|switch|template|struct|case|default|#)\b")


def python_hints(text: Text, message: str):
    """Yields hints for a text that does not compile, from the text and the compiler's messages."""
    line = find_broken_string(text.value)
    if line is not None:
        yield (
            f"the text in quotes on line {text.lines[line]} does not end there: write the source as a "
            'raw string, r"""...""", so that Python leaves \\n alone'
        )
        return
    tokens = tokenize(text.value)
    for token in tokens:
        begins = token.kind == "directive" or token.text == "#"
        if begins and _HASH.match(token.text):
            yield f"the # on line {text.lines[token.line]} does not begin a comment: write // ..."
            return
    partner = match_brackets(tokens)
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in "()[]{}" and i not in partner:
            yield f"the {token.text} on line {text.lines[token.line]} has no partner"
            return
    for before, token in itertools.pairwise(tokens):
        if token.kind == "string" and before.text == "f" and before.start + 1 == token.start:
            yield f'f{token.text} does not exist in C++: write printf("%d %f\\n", i, x)'
            break
    for token in tokens:
        if token.kind == "char" and re.fullmatch(r"'(?:[^'\\]|\\.){2,}'", token.text):
            yield f'{token.text} does not exist in C++: write strings in double quotes, "%d"'
            break
    plain = _strip_source(text)
    reported: list[tuple[int, int]] = []
    for slip, instead in _SLIPS:
        found = re.search(slip, plain, re.MULTILINE)
        if found and not any(start <= found.start() < end for start, end in reported):
            start, end = _extend_to_terms(plain, *found.span())
            if not _DECLARED.search(plain[start:end]):
                written = plain[start:end].strip()
                advice = instead if isinstance(instead, str) else instead(written)
                yield f"{written} does not exist in C++: {advice}"
                reported.append((start, end))
    for slip, words, rewritten in _OTHERS:
        found = re.search(slip, plain)
        if found and re.search(words, message):
            yield rewritten(found[0].strip())
            reported.append(found.span())
    if not reported:
        yield from _missing_semicolon_hints(text, tokens, message)


_LONG = (
    1000  # maximum length of a line that is scanned; longer lines are generated, and need no hints
)


def _strip_source(text):
    """Returns the source without comments, strings, blank lines and repeated spaces."""
    lines = (" ".join(line[:_LONG].split()) for line in blank_comments(text.value).split("\n"))
    return "\n".join(filter(None, lines))


_DECLARED = re.compile(rf"^(?:{'|'.join(sorted(TYPE_WORDS))})\s*\*\*\s*\w+\s*$")


def _extend_to_terms(plain, start, end):
    """Extends a span to complete names and brackets: counts[i] ** 2, not ] ** 2."""
    while plain[start] in ")]" or (start and _IN_A_TERM.match(plain[start - 1])):
        if plain[start] in ")]":
            start = _opening_bracket_of(plain, start)
            if not start or not _IN_A_TERM.match(plain[start - 1]):
                break
        start -= 1
    while end < len(plain) and re.match(r"[\w.]", plain[end]):
        end += 1
    return start, end


_IN_A_TERM = re.compile(r"[\w.)\]]")


def _opening_bracket_of(plain, at):
    """Returns the position of the opening bracket that matches the closing bracket at ``at``, or 0."""
    depth = 0
    for i in range(at, -1, -1):
        depth += (plain[i] in ")]") - (plain[i] in "([")
        if depth == 0:
            return i
    return 0


def is_assigned_without_type(name: str, text: Text) -> bool:
    """Returns whether the name is assigned as in Python, at the start of a statement."""
    start = rf"(?:^|[;{{}}])[ ]?(?:\w+ ?, ?)*{name} ?(?:, ?\w+ ?)*=(?!=)"
    return name in text.value and bool(re.search(start, _strip_source(text), re.MULTILINE))


def _missing_semicolon_hints(text, tokens, message):
    """Yields a hint for a statement without a semicolon; compilers report the statement after it."""
    found = _NO_SEMICOLON.search(message)
    if found is None or not tokens:
        return
    at = next((i for i, n in enumerate(text.lines) if n == int(found[1])), len(text.lines))
    lines = text.value.split("\n")
    last = {token.line: (i, token) for i, token in enumerate(tokens)}
    for line in (at, max((n for n in last if n < at), default=-1)):
        if line not in last or _BLOCK.match(lines[line]):
            continue
        i, token = last[line]
        following = tokens[i + 1].text if i + 1 < len(tokens) else "}"
        is_whole = token.kind in ("name", "number", "string") or token.text in (")", "]")
        if not is_whole or not (following[0].isalnum() or following[0] in "_}"):
            continue
        end = token.start + len(token.text)
        rest = text.value[end:].partition("\n")[0].strip()
        written = blank_comments(lines[line]).strip()
        if rest.startswith("//"):
            yield (
                f"// begins a comment, so that line {text.lines[line]} ends with {written}: a / b of "
                "integers leaves out the remainder, floor(a / b) rounds down"
            )
        else:
            yield f"line {text.lines[line]} lacks a semicolon at its end: {written}"
        return
