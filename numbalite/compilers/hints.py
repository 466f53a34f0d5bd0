"""Adds hints to a compiler's messages from information that only Python has: why names of the Python scope were
not usable, which arrays are const, and Python constructs in C++ text (pythonisms.py)."""

from __future__ import annotations

import linecache
import re
from typing import Any

from numbalite.compilers import headers, toolkit
from numbalite.compilers.pythonisms import (
    OTHER_NAMES,
    PYTHON_NAMES,
    explain_missing_name,
    is_assigned_without_type,
    python_hints,
)
from numbalite.cxx.capture import ascii_name
from numbalite.cxx.linemap import Text
from numbalite.cxx.scanner import blank_comments
from numbalite.errors import CompileError
from numbalite.types import RECORD_NAMES, Record

_UNDEFINED = re.compile(
    r"""identifier\ "(?P<nvrtc>\w+)"\ is\ undefined
      | incomplete\ type\ "(?P<incomplete>\w+)"\ is\ not\ allowed
      | use\ of\ undeclared\ identifier\ '(?P<clang>\w+)'
      | unknown\ type\ name\ '(?P<type>\w+)'
      | ['‘](?P<gcc>\w+)['’]\ was\ not\ declared\ in\ this\ scope
      | ['‘](?P<template>\w+)['’]\ is\ not\ a\ class
      | name\ followed\ by\ "::"\ must\ be\ a\ class\ or\ namespace\ name""",
    re.VERBOSE,
)
_TOO_MANY_INDICES = (
    "expression must have pointer-to-object",
    "invalid types",
    "subscripted value is not an array",
    "takes one index for each dimension",
    "no viable overloaded '=",
    'no operator "=',
    "no match for 'operator=",
)
_INDICES_ARE_SHOWN = " indices; an array takes one index for each dimension; "  # slip_operators.py
_NOT_ON_A_GPU = (
    "vector|string|map|unordered_map|set|list|deque|cout|cerr|endl|unique_ptr|shared_ptr"
)
_HINTS = [
    (
        r"no (?:matching function for call to|instance of function template) ['\"‘](?:numbalite::)?grid",
        "the dimensions are a template argument: grid<1>(), auto [x, y] = grid<2>();",
    ),
    (
        r"numbalite::index[23]|requires an initializer|\(initializer required\)|has no initializer",
        "write names of several values in brackets: auto [x, y] = grid<2>();",
    ),
    (
        r"bound function may only|non-static member function|from type '[^'\n]*\(numbalite::array<[^'\n]*>::\)",
        "call methods of arrays with parentheses: {a}.size()",
    ),
    (
        r"return value type does not match|void function '\w+' should not return|returning 'void'",
        "a void function, such as a kernel, returns no value: write results to an array, out[i] = ...",
    ),
    (
        r"type \"long long\" has no components to bind|cannot decompose non-[^\n]*long long",
        "grid<1>() is one number: int i = grid<1>(); in two dimensions auto [x, y] = grid<2>();",
    ),
    (
        r"(?:no operator \"|invalid operands to binary|no match for 'operator)(?![^\n]*operator=|=)"
        r"[^;]*[ ('](?:numbalite::)?array<",
        "kernels have no array arithmetic: each thread computes one element, {a}[i]",
    ),
    (
        r"array<[^\n]*has no member|no member named '\w+' in 'numbalite::array",
        "arrays in kernels have {a}[i], {a}(i, j), {a}.shape[k], {a}.strides[k], {a}.size(), {a}.ndim and {a}.data()",
    ),
    (
        r"(?:conversion(?: function)? from|convert) ['\"‘](?:numbalite::)?array<[^\n]*>['\"’] to [^\n]*\*",
        "an array is not a pointer: use {a}.data()",
    ),
    (
        r"no (?:matching function for call to|instance of overloaded function) ['\"‘]atomic_",
        "use atomic_add({a}, i, value) for arrays of one dimension, atomic_add({a}, {i, j}, value) for two, "
        "atomic_add(&{a}(i, j), value) for an address",
    ),
    (
        r"no (?:matching function for call to|instance of overloaded function) ['\"‘]atomic[A-Z]",
        "CUDA's atomics accept addresses, &{a}[i], of few types; atomic_add({a}, i, value) and similar functions accept "
        "arrays of every type, int64 too",
    ),
    (
        r"operand.*[ ('‘](?:const )?(?:uint3|dim3)\b|(?:convert|from) ['\"‘](?:const )?uint3",
        "threadIdx, blockIdx, blockDim and gridDim have components: threadIdx.x",
    ),
    (
        r"variable length array|must have a constant value|variable-sized|storage size of .* isn't constant",
        "the size of an array must be a constant: a Python name, or constexpr int n = 32; shared memory of "
        "another size is extern __shared__ float s[]; with kernel[grid, block, stream, bytes]",
    ),
    (
        r"initializer not allowed for __shared__|__shared__ variables? .*initial",
        "shared memory cannot be initialized: let threads write the values, then call __syncthreads()",
    ),
    (
        r"no (?:matching function for call to|instance of overloaded function) ['\"](?:\w+::)?__\w+_sync",
        "the first argument of warp functions is the mask of the lanes: "
        "__shfl_down_sync(0xffffffff, x, 1)",
    ),
    (
        r"no (?:matching function for call to|instance of overloaded function) ['\"](?:\w+::)?(?:max|min)\b",
        "max and min accept two numbers: max(a, max(b, c)); use a loop for the largest element of an array",
    ),
    (
        r"deduced return type \"[^\n]*\" conflicts|in return type deduced as '|must match previous return type"
        r"|inconsistent (?:deduction for auto return|types '[^\n]*' deduced)",
        "all return statements of a function must have one type: return 1.0f; and return 0.5f; or a signature with the "
        'result, @cuda.jit("float32(float32)", device=True)',
    ),
    (
        r"with deduced return type cannot be used|cannot deduce the return type of|before deduction of",
        'a device function that calls itself needs a signature: @cuda.jit("int32(int32)", device=True)',
    ),
    (
        rf"namespace \"std\" has no member \"(?:{_NOT_ON_A_GPU})\"|'(?:{_NOT_ON_A_GPU})' in namespace 'std'"
        rf"|'(?:{_NOT_ON_A_GPU})' is not a member of 'std",
        "the C++ library of a GPU has no containers and streams: use arrays, float v[16]; or parameters, "
        "and printf for text",
    ),
    (
        rf"namespace \"std\" has no member \"(?!{_NOT_ON_A_GPU})|'(?!{_NOT_ON_A_GPU})\w+' in namespace 'std'"
        rf"|'(?!{_NOT_ON_A_GPU})\w+' is not a member of [‘']std",
        "call CUDA's own functions without std::, max(a, b), sqrt(x); with std:: they need #include <cmath> or <algorithm>",
    ),
    (
        r"namespace \"numbalite::groups\" has no member",
        "without an #include, only a part of cooperative groups is available: #include <cooperative_groups.h> has all",
    ),
    (
        r"dynamic initialization is not supported",
        "initialize a global or static variable with a constant: a number, a constexpr "
        "function's result, or a name of the Python scope",
    ),
    (
        r"cannot call non-constexpr function \"__half::__half\(const __half_raw",
        "NVRTC 12.0 and 12.1 have no constants of float16: make the number a float32, pass it as an argument, or "
        "install a newer NVRTC",
    ),
    (
        r"Unresolved extern function '(?!_Z\d+powi)|\" is declared and used, but not defined",
        "pass the code that defines a declared function as link= of cuda.declare_device or of the kernel",
    ),
    (
        r"nl_dual<",
        "a derivative is compiled with dual numbers for float and double, which have no conversion and no rule "
        "here: write (int)x for an integer, or define the derivative by f.defvjp(...)",
    ),
    (
        r"texture is not a template|identifier \"tex(?:ture)?\w*\" is undefined",
        "CUDA 12 has no texture references: read arrays, through const parameters",
    ),
]
_HOSTS = re.compile(r'cannot open source file "([^"]+)"')
_MAIN = re.compile(r"\b(?:int|void|auto)\s+main\s*\(")
_MAIN_HINT = (
    "a source must not contain main and other host code, only kernels and their functions. Python "
    "makes the arrays (cuda.to_device), launches, kernel[blocks, threads](...), and copies back. From a file, "
    'cuda.module(Path("program.cu")) uses the kernels alone'
)
_INTEGER_POWER = re.compile(r"Unresolved extern function '_Z\d+powi")
# The hint is given only if a line with an error contains the construct.
_AT_LINES = [
    (
        r"must have integral or unscoped enum|invalid operands (?:to binary|of types)",
        r"[\w)\]]\s*%",
        "% is for integers: fmod(a, b) for floating-point numbers, np_remainder(a, b) with Python's sign",
    ),
    (
        r"must have integral or unscoped enum|invalid operands (?:to binary|of types)",
        r"\^",
        "^ is for the bits of integers: powers are x * x and pow(x, 3)",
    ),
    (
        r"must have integral or unscoped enum|invalid operands (?:to binary|of types)",
        r"(?<![&|])[&|](?![&|])",
        "& and | are for the bits of integers: conditions are joined with && and ||",
    ),
]
_WRITES_CONST = re.compile(
    r"must be a modifiable lvalue|read-only (?:location|reference)|(?:const-qualified type|a const value)"
    r"|invalid conversion from 'const|function (?:for call to |\")'?(?:numbalite::)?atomic"
)
# Patterns of erroneous text; `{}` stands for the name.
_WRITTEN = (
    r"\b{}\b[^=;]*(?<![=<>!])=(?!=)|\b{}\b[^;]*(?:\+\+|--)|(?:\+\+|--)\s*{}\b|:\s*{}\s*\)"
    r"|\batomic\w*\s*\(\s*&?\s*{}\b"
)


def undefined_names(log: str) -> list[str]:
    """Returns the undeclared names that the compiler reports, each once."""
    found = {}
    for match in _UNDEFINED.finditer(log):
        for name in match.groupdict().values():
            if name:
                found[name] = True
    return list(found)


_LONGEST = 500_000  # maximum length of a source that is searched for hints: generated sources may be longer


def add_hints(
    problem: CompileError, kernel: str, refused, parameters=(), text: Text | None = None, others=()
):
    """Returns the error with hints.

    ``refused`` maps names of the Python scope to the reasons why they were not usable; ``parameters`` are
    (name, types.Array) of the array parameters; ``text`` is the user's text; ``others`` are the Texts of the
    device functions that the kernel calls.
    """
    if text is not None and len(text.value) > _LONGEST:
        text, others = None, ()
    log = f"{problem}\n{problem.log}"
    message = str(problem)
    wrong = "" if text is None else _reported_lines(message, text)
    hints = [] if text is None else list(_host_code_hints(log, text, wrong))
    in_program = bool(hints and hints[0] == _MAIN_HINT)
    for name in undefined_names(log):
        if name in refused:
            hints.append(refused[name])
        elif name in PYTHON_NAMES:
            hints.append(f"{name} does not exist in C++: {PYTHON_NAMES[name]}")
        elif name in OTHER_NAMES:
            hints.append(f"{name} does not exist in CUDA C++: {OTHER_NAMES[name]}")
        elif text is not None and (line := _line_of_value(name, text)):
            hints.append(
                f"{name} gets its value on line {line} of the file, after the kernel is compiled (with a "
                "signature, that is at its definition): assign it before"
            )
        elif explain_missing_name(name, in_program):
            hints.append(explain_missing_name(name, in_program))
        elif text is not None and is_assigned_without_type(name, text):
            hints.append(f"declare {name} with a type: auto {name} = ..., int {name} = ...")
    if parameters and any(words in log for words in _TOO_MANY_INDICES):
        listed = ", ".join(f"{name} is {t}" for name, t in parameters)
        hints.append(f"the number of indices must equal the number of dimensions: {listed}")
    if _INTEGER_POWER.search(log):
        hints.append(
            "NVRTC 12.0 and 12.1 cannot link pow(x, n) with an integer n: write pow(x, (float)n), or "
            "install a newer NVRTC"
        )
    hints += [hint for words, hint in _HINTS if re.search(words, log)]
    if text is not None:
        if _WRITES_CONST.search(log):
            hints += _read_only_array_hints(parameters, wrong)
        for piece in (text, *others):
            wrong = _reported_lines(message, piece)
            if piece is text or wrong:
                hints += _hint_at_lines(log, wrong)
                hints += python_hints(piece, message)
        if _INDICES_ARE_SHOWN in message:
            hints = [hint for hint in hints if "] does not exist in C++" not in hint]
        hints = list(dict.fromkeys(hints))
        lines = _reported_lines(message, text, with_texts=True)
        hints = record_hints(parameters, lines, log) + hints
    array = _first_array_name(
        _reported_lines(message, text) if text is not None else "", parameters
    )
    hints = [hint.replace("{a}", array) for hint in hints]
    message = _RECORD.sub(lambda found: RECORD_NAMES.get(found[0], found[0]), message)
    for letter in sorted(set(text.value) if text else ()):
        if not letter.isascii():
            message = message.replace(ascii_name(letter), letter)
    lines = [f"{kernel} does not compile", message.rstrip(), *(f"hint: {hint}" for hint in hints)]
    message = "\n".join(lines)
    return CompileError(message, log=problem.log, source=problem.source)


def _first_array_name(wrong, parameters):
    """Returns the name of the first array on the lines with errors, or "a" if they use no array."""
    names = [name for name, _ in parameters]
    found = re.search(rf"\b(?:{'|'.join(map(re.escape, names))})\b", wrong) if names else None
    found = found or re.search(r"\b\w+(?=\.(?:size|ndim|data|shape|strides)\b)", wrong)
    return found[0] if found else "a"


_RECORD = re.compile(r"\brecord_[0-9a-f]{8}\b")
_FIELD_BY_TEXT = re.compile(
    r"""(\b\w+(?:\s*\[[^\[\]"']*\])?)\s*\[\s*["'](\w+)["']\s*\](\s*\[[^\[\]"']*\])?"""
)


def record_hints(parameters: Any, wrong: str, log: str) -> list[str]:
    """Yields hints about fields of records that are accessed as in Python. ``wrong``: the lines with
    errors."""
    found = []
    arrays = {
        name: t.dtype.dtype.names or () for name, t in parameters if isinstance(t.dtype, Record)
    }
    for whole in _FIELD_BY_TEXT.finditer(wrong):
        owner, field, index = whole[1], whole[2], (whole[3] or "").strip()
        name = owner.partition("[")[0].strip()
        if field in arrays.get(name, ()):
            element = owner if "[" in owner else f"{owner}{index or '[i]'}"
            rest = index if "[" in owner else ""
            found.append(f"{whole[0].strip()} does not exist in C++: write {element}.{field}{rest}")
    for name, fields in arrays.items():
        for whole in re.finditer(rf"\b{name}\s*\.\s*(\w+)(\s*\[[^\[\]]*\])?", wrong):
            if whole[1] in fields:
                element = f"{name}{(whole[2] or '[i]').strip()}"
                found.append(f"fields belong to an element: {element}.{whole[1]}")
        for member in re.finditer(rf"\b{name}\s*\[[^\[\]]*\]\s*(?:\.|->)\s*(\w+)", wrong):
            if member[1] not in fields:
                found.append(f"the records of {name} have the fields {', '.join(fields)}")
            elif "->" in member[0]:
                found.append(f"an element is not a pointer: {member[0].replace('->', '.')}")
        element = rf"\b{name}\s*\[[^\[\]]*\](?!\s*[\[.\-])"
        if not found and _RECORD.search(log) and re.search(element, wrong):
            found.append(
                f"the elements of {name} are records: {name}[i].{fields[0]} is a field of one"
            )
    return list(dict.fromkeys(found))


def _line_of_value(name, text):
    """Returns the line number in the Python file, after the kernel, on which the module assigns the name."""
    value = re.compile(rf"(?:{name}\s*(?::[^=]+)?=(?!=)|def {name}\b)")
    for number, line in enumerate(linecache.getlines(text.label), 1):
        if number > text.lines[-1] and value.match(line):
            return number
    return None


def _reported_lines(message, text, with_texts=False):
    """Returns the lines of the user's text that contain errors, joined to one text. String and character
    literals are replaced by blanks, unless `with_texts`."""
    numbers = set(re.findall(rf"{re.escape(text.label)}\((\d+)\): error", message))
    source = text.value if with_texts else blank_comments(text.value)
    lines = zip(source.split("\n"), text.lines, strict=True)
    return "\n".join(line for line, number in lines if str(number) in numbers)


def _hint_at_lines(log, wrong):
    return [h for words, sign, h in _AT_LINES if re.search(words, log) and re.search(sign, wrong)]


def _host_code_hints(log, text, wrong):
    """Yields advice about host code in a complete CUDA program. `wrong` are the lines with errors."""
    plain = blank_comments(text.value)
    if _MAIN.search(plain):
        yield _MAIN_HINT
    elif "<<<" in wrong:
        yield "Python launches kernels: kernel[blocks, threads](...) is kernel<<<blocks, threads>>>(...)"
    if "cub/cub.cuh" in text.value:
        yield "kernels include the parts of CUB that they use: #include <cub/block/block_reduce.cuh>"
    if "thrust::" in plain or "thrust/" in text.value:
        yield (
            "of Thrust, kernels have tuple.h, pair.h, functional.h and the iterators; instead of thrust::complex write "
            "cuda::std::complex (<cuda/std/complex>), instead of an algorithm with thrust::seq a loop, or CUB; Python has "
            "cuda.reduce and methods of device arrays"
        )
    from numbalite.compilers.sim.translation import is_host_header

    for name, _ in headers.included_names(text.value):
        if toolkit.is_for_host_code(name) and (name.endswith(".h") or name.startswith("cub/")):
            yield f"<{name}> is for code on the CPU, and kernels do not need it: remove this #include"
    for name in dict.fromkeys(_HOSTS.findall(log)):
        if is_host_header(name):
            yield f"<{name}> is of the host's library; kernels have <cuda/std/...>, <cmath>, <cstdint> and their like"


def _read_only_array_hints(parameters, wrong):
    for name, t in dict.fromkeys(parameters):
        if t.readonly and re.search(_WRITTEN.replace("{}", name), wrong):
            yield (
                f"{name} cannot be written: the array given is read-only, or cuda.In, or the parameter is "
                f"declared {t}: declare it {str(t).removeprefix('const ')}, without const"
            )
