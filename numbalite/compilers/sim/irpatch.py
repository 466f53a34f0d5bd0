"""Rewrites LLVM IR so that operations which C++ leaves undefined have the results of a GPU.

`rewrite_ir` edits the text of the IR from clang's front end, before any optimization: each operation is on its own
line there, and the optimizer then receives well-defined code.

Alternatives that do not work:

* Marks in the source, as for g++ (divisions.py), cover divisions only: implicit conversions are invisible in
* the source. Headers cannot redefine the operators of built-in types. The handlers that sanitizers call
* cannot return a result.
* -fno-strict-float-cast-overflow saturates to integers of fewer than 32 bits and converts NaN to 0 for 64 bits; no
  GPU does either. There is no compiler option for shifts.
* A compiler plug-in must be built against the headers of each LLVM version.

Cost for a small kernel: 2 ms for rewriting, and 10 ms for the second run of the compiler, of a total of 140 ms;
forkserver.py makes the second run short.

All images:

* Integer division by zero returns all ones, the remainder by zero the dividend. INT_MIN / -1 returns INT_MIN,
  its remainder 0. Integer division never traps.
* Shifts by the width or more return 0, or the sign bits for an arithmetic right shift.
* A conversion from floating point to an integer saturates. NaN becomes 0 from float to 32 bits; if either type has
  64 bits, NaN becomes the integer that has only the top bit set. Integers of fewer than 32 bits are truncated from
  the 32-bit result.
* An uninitialized variable may be passed to a function (`noundef` is removed): lanes that receive values from
  shuffles pass such variables.
* Integer arithmetic of Python bodies wraps on overflow, as in numba.
* Before each volatile access, except to a local variable, nl_sim_volatile_access (cuda_src/sim/library.h) is
  called. A volatile load counts as a spin, so that a thread may wait for another thread in a loop, and the lanes
  of a warp synchronize at the access.

Images with checks:

* "nan": a call of cuda_src/sim/arithmetic.h after each floating-point operation, and after each call of an
  external function of one or two numbers, detects NaN and infinity.
* "divide": a call at each signed division detects a quotient that does not fit.
* "memory": before a struct is copied, both addresses are checked for the alignment of its type. The check is
  needed because clang's sanitizer does not check struct copies, and the optimizer may split a copy of a
  float4. The back edge of each loop gets an instruction with a line number: an endless loop is then not
  removed, and the report has its line.
* "unwritten": accesses to local variables are recorded (locals.py).
* "profile": calls at loops (loops.py), and one call for each load and store of a struct copy.
* "race": before a call of an atomic function whose result is not used, nl_sim_drop_value (cuda_src/sim/check.h).
* All checks of memory accesses: copies of structs of 3, 5, 6 or 7 bytes become calls, because the optimizer
  creates accesses that clang's instrumentation omits. For the check "unwritten", copies of 2, 4 and 8 bytes
  become calls, too, because the optimizer would turn each into an access of a single number. Before a
  bit-field is stored, its storage unit is marked as written, because the store first loads the other fields
  of the unit.

On the host target, declarations of libm functions name their vector versions in libmvec, so that the optimizer
vectorizes loops that call them (for g++, see cuda_src/host/vector.h).

Newer clang versions wrap the address of a thread-local variable in an intrinsic. The intrinsic hides from
alias analysis that threadIdx is private to a thread, so a plain address replaces it.
"""

from __future__ import annotations

import re
import struct

from numbalite.compilers.sim import indices, loops
from numbalite.compilers.sim import ir as syntax
from numbalite.compilers.sim.locals import NAMES, LocalVariables

_OPERATION = re.compile(
    r"^  (?P<result>%[\w.]+) = "
    r"(?P<name>sdiv|udiv|srem|urem|shl|lshr|ashr|fptosi|fptoui|"
    r"fadd|fsub|fmul|fdiv|frem|(?:tail )?call (?:[a-z]+ )*(?:float|double) @|"
    r"(?:tail )?call [^\n]*?@llvm\.threadlocal\.address[\w.]*)"
    r"(?P<rest>[^\n]*?)(?P<debug>, !dbg ![0-9]+)?$",
    re.MULTILINE,
)
_BINARY = re.compile(r"(?: exact| nuw| nsw)* (i\d+) ([^ ,]+), ([^ ,]+)(.*)", re.DOTALL)
_CONVERSION = re.compile(r" (float|double) ([^ ,]+) to (i\d+)(.*)", re.DOTALL)
_THREAD_LOCAL = re.compile(r"\(ptr [^@]*(@[\w.$]+|@\"[^\"]+\")\)")
_LOCAL = re.compile(r"^  (%[\w.]+) = alloca ", re.MULTILINE)
_HIDDEN = re.compile(r"\Adefine hidden (?=[^@\n]*@(?!__))")
_ACCESS = "nl_sim_volatile_access"
_PURE_VIRTUAL = "__cxa_pure_virtual"
_OVERFLOW, _NOT_FINITE = "nl_sim_quotient_overflow", "nl_sim_not_finite"
_COPY = re.compile(
    r"^  (?:tail )?call void @llvm\.memcpy\.[^(\n]*\((?P<to>[^,\n]*), (?P<from>[^,\n]*), "
    r"[^)\n]*\)[^,\n]*(?P<debug>, !dbg ![0-9]+)?",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"(?P<type>i8\*|ptr) (?:\w+ )*align (?P<align>\d+) (?P<name>%[\w.]+)")
_CAST = re.compile(r"^  (%[\w.]+) = bitcast [^\n]*? (%[\w.]+) to i8\*", re.MULTILINE)
_ODD_COPY = re.compile(
    r"^  (?:tail )?call void @llvm\.memcpy\.[^(\n]*\((?P<to>[^,\n]*), (?P<from>[^,\n]*), "
    r"i64 (?P<size>\d+), i1 false\)[^,\n]*(?P<debug>, !dbg ![0-9]+)?[^\n]*$",
    re.MULTILINE,
)
_COPIES = "__tsan_memcpy"
MAX_PIECES = 16
_CALL_OF_COPY = (
    "notail call"  # the return address of the call determines the source line of a report
)
_TOLD_COPY = re.compile(rf"^  %nl\.copy\.\d+ = {_CALL_OF_COPY} (\S+) @{_COPIES}\(", re.MULTILINE)
_POINTER = re.compile(r"(?P<type>i8\*|ptr) [^%\n]*(?P<name>%[\w.]+)")
_PART = re.compile(
    r"^  (%[\w.]+) = (?:bitcast|getelementptr) [^\n]*?(?:\*|ptr) (%[\w.]+)", re.MULTILINE
)
_FIELD = re.compile(
    r"^  %bf\.load\d* = load i(?P<bits>\d+), (?P<type>i\d+\*|ptr) (?P<at>%[\w.]+),"
    r"[^,\n]*(?P<debug>, !dbg ![0-9]+)?[^\n]*\n(?:  %bf\.[^\n]*\n){1,4}"
    r"  store i\d+ %bf\.set\d*, (?P=type) (?P=at),",
    re.MULTILINE,
)
_WRITE_FIELD = "nl_sim_write_field"
_DROP = "nl_sim_drop_value"
_UNUSED_ATOMIC = re.compile(
    r"^  (?P<result>%[\w.]+) = (?:tail )?call [^@\n]*@(?:"
    # Atomic functions of CUDA (sim/atomics.h) and of Python kernels (numbalite/atomics.cuh)
    r"_Z\d+atomic(?:Add|Sub|And|Or|Xor|Min|Max|Inc|Dec|Exch)(?:_block|_system)?"
    r"(?:P(?P<own>[ijlmxyf])(?P=own)(?:PKci)?|ILi0EEdPdd|P\d?6__half\w+|P\d?13__nv_bfloat16\w+)"
    r"|_ZN9numbalite\d+atomic_(?:add|sub|and|or|xor|min|max|nanmin|nanmax|inc|dec|exch)E"
    r"P(?P<python>[ijlmxyfd])(?P=python)"
    r"|_Z\d+__nv_atomic_(?:fetch_(?:add|sub|and|or|xor|min|max)|exchange_n)I\w+"
    r"|_ZNK4cuda16numbalite_detail10operationsI\w+E"
    r"(?:\d(?:fetch_(?:add|sub|and|or|xor|min|max)|exchange)|pp|mm|pL|mI|aN|oR|eO)E\w+"
    r")\([^\n]*$",
    re.MULTILINE,
)
_ACCESSES = {"memory", "unwritten", "race", "profile"}
_ALIGNED = "nl_sim_aligned"
_LABEL = re.compile(r"label %([\w.]+)")
_NOTHING = '  call void asm sideeffect "nop", ""()'
_REAL = re.compile(r"(?: [a-z]+)* (float|double) ([^ ,]+), ([^ ,]+)(.*)", re.DOTALL)
_SIGNS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "frem": "%"}
_FUNCTION = re.compile(r'([\w.$]+|"[^"]+")\(([^()]*)\)(.*)', re.DOTALL)
_ALL_ONES = "-1"
_NO_OVERFLOW = re.compile(r"^(  %[\w.]+ = (?:add|sub|mul|shl)) (?:nuw )?nsw ", re.MULTILINE)
_ENGINES = "numbalite_sim"
_LIBRARYS = re.compile(r"@_ZN?K?(?:9numbalite|13numbalite_sim)")


def rewrite_ir(
    ir: str, spins: bool = True, vectors: int = 0, checks=(), is_python: bool = False
) -> str:
    """Returns the IR of a whole module, rewritten as the module's docstring describes.

    ``spins`` is True to rewrite volatile accesses, and False for code that runs without simulated threads.
    ``vectors`` is the level from host.vector_math(), 0 for no vector functions. ``checks`` are the names in
    config.CHECKS that the image is compiled with. ``is_python`` states that the kernels have Python bodies,
    whose integers wrap.
    """
    # Removes noundef of parameters and results, but not the metadata !noundef
    ir = ir.replace(" noundef ", " ")
    head, functions = syntax.split_functions(ir)
    if not functions:
        return ir
    defined = syntax.defined_symbols(ir) if "nan" in checks else ()
    if spins and "volatile " in ir and _VOLATILE.search(ir):
        functions = _report_volatile_accesses(functions)
    if "unwritten" in checks:
        variables = LocalVariables(ir)
        functions = [variables.instrument_function(f) for f in functions]
        functions[-1] += variables.module_declarations()
    watched = syntax.sanitized_groups(ir)
    if is_python:
        functions = [_remove_nsw(f) for f in functions]
    elif "overflow" in checks:
        only = watched if _ACCESSES.intersection(checks) else None
        functions = indices.insert_overflow_checks(
            functions, lambda text: _is_user_function(text, only)
        )
        functions[-1] += indices.overflow_intrinsics(functions)
    if "profile" in checks:
        functions = _add_loop_calls(functions, watched)
    if "race" in checks:
        functions = [_report_unused_atomics(f) for f in functions]
    functions = [_rewrite_function(f, checks, defined, watched) for f in functions]
    functions[-1] += _copy_declaration(functions)
    head, functions = _remove_unused_support(head, functions)
    # Kernels are inlined into their callers, and no other module refers to their symbols.
    if not checks:
        functions = [_HIDDEN.sub("define internal ", text) for text in functions]
    ir = "".join([head, *functions])
    return add_vector_versions(ir, vectors) if vectors else ir


# --- unused support functions ---------------------------------------------------------------------------------

_LISTS = re.compile(r"@llvm\.(compiler\.)?used =")
_ENTRY = re.compile(r"(i8\* bitcast \([^@]*|ptr )@(\w+)( to i8\*\))?(, )?")


def _remove_unused_support(head, functions):
    """Removes the support functions of cuda_src/sim/library.h that the module does not call.

    The support functions have the attribute `used`, because this module and clang's front end insert calls by
    symbol name.
    """
    idle = {}
    for name in (_ACCESS, _PURE_VIRTUAL, *NAMES):
        mark = f"@{name}"
        naming = [text for text in functions if mark in text]
        own = [text for text in naming if f"{mark}(" in text.partition("\n")[0]]
        if not own or len(naming) > len(own):
            continue
        if not any(mark in x for x in head.split("\n") if not _LISTS.match(x)):
            idle[name] = own[0]
    return _remove_functions(head, functions, idle)


def _remove_functions(head, functions, idle):
    """Removes functions, and their entries in llvm.used. idle: {symbol: text of the function}."""
    if not idle:
        return head, functions
    lines = [
        _remove_from_used_list(line, idle) if _LISTS.match(line) else line
        for line in head.split("\n")
    ]
    gone = set(idle.values())
    return "\n".join(lines), [
        _text_after_function(text) if text in gone else text for text in functions
    ]


def _remove_from_used_list(line, names):
    """Returns an llvm.used line without these symbols."""

    def without_removed_entry(match):
        return "" if match[2] in names else match[0]

    rest = _ENTRY.sub(without_removed_entry, line[1:]).replace(", ]", "]")
    removed = sum(found[2] in names for found in _ENTRY.finditer(line, 1))
    return "@" + re.sub(r"\[(\d+) x", lambda n: f"[{int(n[1]) - removed} x", rest, count=1)


def _text_after_function(text):
    """Returns the text after the end of a function: declarations and attributes that precede the next function."""
    return text.partition("\n}\n")[2]


# --- vector functions ------------------------------------------------------------------------------------

_VECTOR = (
    "sin cos exp log pow".split(),
    "tan asin acos atan sinh cosh tanh asinh acosh atanh exp2 expm1 log2 log10 log1p cbrt erf erfc "
    "atan2 hypot".split(),
)
_CALL = re.compile(
    r"^(?P<before>  %[\w.]+ = (?:tail )?call [a-z ]*?)(?P<type>double|float) "
    r"@(?P<name>llvm\.\w+\.f(?:32|64)|\w+)\((?P<arguments>[^\n()]*)\)",
    re.MULTILINE,
)
_USED = re.compile(
    r'^@llvm\.compiler\.used = appending global \[(\d+) x [^\]]*\] \[(.*)\], section "llvm\.metadata"$',
    re.MULTILINE,
)
_MIN_WIDTH = re.compile(r'"min-legal-vector-width"="\d+"')
# (letter of the vector ABI, required CPU feature, bytes of a vector)
_WIDTHS = (("b", "+sse2", 16), ("d", "+avx2", 32), ("e", "+avx512f", 64))


def add_vector_versions(ir: str, level: int) -> str:
    """Adds to each call of a libm function the attribute that names its vector versions in libmvec.

    level: how many groups of _VECTOR the installed libmvec provides.
    """
    known = {name for names in _VECTOR[:level] for name in names}
    widths = [(letter, size) for letter, feature, size in _WIDTHS if feature in ir]
    declared = {}

    def add_attribute(match):
        name, kind = match["name"], match["type"]
        plain = name.split(".")[1] if name.startswith("llvm.") else name
        if name == plain and kind == "float":
            plain = plain[:-1] if plain.endswith("f") else ""
        count = match["arguments"].count(",") + 1
        if plain not in known or count != (2 if plain in ("pow", "atan2", "hypot") else 1):
            return match[0]
        variants = []
        for letter, size in widths:
            lanes = size // (8 if kind == "double" else 4)
            signs = "v" * count
            symbol = f"_ZGV{letter}N{lanes}{signs}_{plain}{'f' * (kind == 'float')}"
            variants.append(f"_ZGV_LLVM_N{lanes}{signs}_{name}({symbol})")
            vector = f"<{lanes} x {kind}>"
            declared[symbol] = (vector, ", ".join([vector] * count))
        return f'{match[0]} "vector-function-abi-variant"="{",".join(variants)}"'

    ir = _CALL.sub(add_attribute, ir)
    if not declared:
        return ir
    # If LLVM prefers 32-byte vectors, it passes a 64-byte vector to a function in two registers of 32 bytes.
    # The functions of libmvec expect a 64-byte vector in one register.
    ir = _MIN_WIDTH.sub(f'"min-legal-vector-width"="{8 * widths[-1][1]}"', ir)
    # llvm.compiler.used keeps the declarations until the loop vectorizer runs.
    if re.search(r"\bptr\b", ir):
        element, kept = "ptr", [f"ptr @{name}" for name in declared]
    else:
        element = "i8*"
        kept = [f"i8* bitcast ({r} ({a})* @{n} to i8*)" for n, (r, a) in declared.items()]
    lines = [f"declare {result} @{name}({args})" for name, (result, args) in declared.items()]
    listed = _USED.search(ir)
    if listed:
        kept += [listed[2]]
        ir = ir[: listed.start()] + ir[listed.end() :]
    count = len(declared) + (int(listed[1]) if listed else 0)
    lines.append(
        f"@llvm.compiler.used = appending global [{count} x {element}] [{', '.join(kept)}], "
        'section "llvm.metadata"'
    )
    return ir + "\n" + "\n".join(lines) + "\n"


# --- volatile accesses -----------------------------------------------------------------------------------

_VOLATILE = re.compile(
    r"^  (?:(?P<result>%[\w.]+) = load|store) volatile (?:[^\n]*?), (?P<type>ptr|[^,\n]*\*) "
    r"(?P<pointer>[^\n]+?), align [^\n]*",
    re.MULTILINE,
)
_CALLED = re.compile(r'@([\w.$]+|"[^"]+")\(')


def _report_volatile_accesses(functions):
    """Inserts a call of nl_sim_volatile_access before each volatile access, with its address and position.

    Position numbers increase in program order, and callees have smaller numbers than their callers. The
    lowest bit of a position number is 0 for loads and 1 for stores.
    """
    place = 0

    def add_access_report(match):
        nonlocal place
        pointer = match["pointer"]
        if pointer in own:
            return match[0]
        place += 1
        debug = syntax.debug_location(match[0])
        lines, type_ = [], match["type"]
        if type_ != "ptr":
            lines.append(f"  %nl.v{place} = bitcast {type_} {pointer} to i8*{debug}")
            type_, pointer = "i8*", f"%nl.v{place}"
        number = 2 * place + (match["result"] is None)
        lines.append(f"  call void @{_ACCESS}({type_} {pointer}, i32 {number}){debug}")
        return "\n".join([*lines, match[0]])

    reporting = list(functions)
    for at in _callees_first(functions):
        if "volatile " in functions[at]:
            own = set(_LOCAL.findall(functions[at]))
            reporting[at] = _VOLATILE.sub(add_access_report, functions[at])
    return reporting


def _callees_first(functions):
    """Returns indices of the functions, callees before their callers (recursive functions in any order)."""
    names = [syntax.DEFINED.match(text) for text in functions]  # None: the function was removed
    numbers = {name[1]: at for at, name in enumerate(names) if name}
    order, seen = [], set()
    stack = [(at, False) for at in reversed(range(len(functions)))]
    while stack:
        at, done = stack.pop()
        if done:
            order.append(at)
        elif at not in seen:
            seen.add(at)
            stack.append((at, True))
            called = _CALLED.findall(functions[at].partition("\n")[2])
            stack += [(numbers[name], False) for name in called if name in numbers]
    return order


# --- operations ------------------------------------------------------------------------------------------


def _add_loop_calls(functions, watched):
    marked, number = [], 0
    for text in functions:
        if syntax.has_attribute_group(text, watched):
            text, number = loops.insert_loop_calls(text, number)
        marked.append(text)
    if number:
        marked[-1] += loops.call_declarations(functions)
    return marked


def _report_unused_atomics(text):
    """Inserts nl_sim_drop_value before calls of atomic functions whose results are not used."""

    def add_unused_report(match):
        if len(re.findall(rf"{re.escape(match['result'])}(?![\w.])", text)) > 1:
            return match[0]
        return f"  call void @{_DROP}(){syntax.debug_location(match[0])}\n{match[0]}"

    return (
        _UNUSED_ATOMIC.sub(add_unused_report, text)
        if "atomic" in text or "cuda16" in text
        else text
    )


def _is_user_function(text, watched):
    """Returns whether the text is a function of the user with one of the attribute groups; None accepts any
    group."""
    if _LIBRARYS.search(syntax.first_line(text)):
        return False
    return watched is None or syntax.has_attribute_group(text, watched)


def _remove_nsw(text):
    """Removes `nsw` from additions, multiplications and shifts, except in functions of the simulator's
    engine."""
    return text if _ENGINES in syntax.first_line(text) else _NO_OVERFLOW.sub(r"\1 ", text)


def _rewrite_function(text, checks, defined, watched):
    head = syntax.first_line(text)
    if _NOT_FINITE in head or _OVERFLOW in head:
        checks = ()
    if not syntax.has_attribute_group(
        text, watched
    ):  # functions with NUMBALITE_SIM_UNCHECKED (sim/attributes.h) have no access checks
        checks = tuple(check for check in checks if check not in _ACCESSES)
    if _ACCESSES.intersection(checks):
        if "profile" in checks:
            text = _count_copies(text)
        text = _report_field_writes(_replace_uninstrumented_copies(text, "unwritten" in checks))
    if "memory" in checks:
        text = _insert_loop_markers(_check_copies(text) if "@llvm.memcpy." in text else text)
    state = _FunctionRewriter(checks, defined)
    return _OPERATION.sub(state.rewrite_operation, text)


def _insert_loop_markers(text):
    """Inserts a no-op with a line number before each branch to an earlier label (a loop's back edge)."""
    out, seen = [], set()
    for line in text.split("\n"):
        if line.startswith("  br "):
            if not seen.isdisjoint(_LABEL.findall(line)):
                out.append(_NOTHING + syntax.debug_location(line))
        elif line and line[0] not in " }" and ":" in line:
            seen.add(line[: line.index(":")])
        out.append(line)
    return "\n".join(out)


def _replace_uninstrumented_copies(text, by_bytes):
    """Replaces copies of 3, 5, 6 or 7 bytes (modulo 8) by calls, because clang would not instrument their accesses.

    by_bytes: also replace copies of 2, 4 and 8 bytes between non-local addresses. The optimizer would load a
    copy as one number, although some bytes of a struct may be uninitialized.
    """
    if "@llvm.memcpy." not in text:
        return text
    own = _local_pointer_names(text)

    def replace_copy(match):
        sides = [_POINTER.fullmatch(match[side]) for side in ("to", "from")]
        size = int(match["size"])
        if not all(sides):
            return match[0]
        inside = [side["name"] in own for side in sides]
        odd = size % 8 in (3, 5, 6, 7) and not all(inside)
        if not odd and not (by_bytes and size in (2, 4, 8) and not any(inside)):
            return match[0]
        kind = sides[0]["type"]
        given = ", ".join(f"{kind} nocapture {side['name']}" for side in sides)
        call = f"{_CALL_OF_COPY} {kind} @{_COPIES}({given}, i64 {match['size']})"
        return f"  %nl.copy.{match.start()} = {call}{match['debug'] or ''}"

    return _ODD_COPY.sub(replace_copy, text)


def _count_copies(text):
    """Replaces each struct copy by the calls that count its accesses on a GPU.

    A GPU copies a struct in units of its alignment, at most 16 bytes. A copy of more than MAX_PIECES units
    becomes one call.
    """
    if "@llvm.memcpy." not in text:
        return text
    own = _local_pointer_names(text)

    def add_copy_count(match):
        sides = [_ADDRESS.fullmatch(match[side]) for side in ("to", "from")]
        size = int(match["size"])
        if not all(sides) or all(side["name"] in own for side in sides):
            return match[0]
        piece = min(16, *(int(side["align"]) for side in sides))
        if size > piece * MAX_PIECES:
            piece = size
        lines, debug = [], match["debug"] or ""
        for at in range(0, size, piece):
            given = []
            for n, side in enumerate(sides):
                name, kind = side["name"], side["type"]
                if at:
                    name = f"%nl.piece.{match.start()}.{at}.{n}"
                    line = f"getelementptr i8, {kind} {side['name']}, i64 {at}"
                    lines.append(f"  {name} = {line}{debug}")
                given.append(f"{kind} nocapture {name}")
            call = f"{_CALL_OF_COPY} {sides[0]['type']} @{_COPIES}({', '.join(given)}, i64 {min(piece, size - at)})"
            lines.append(f"  %nl.copy.{match.start() * 1000 + at} = {call}{debug}")
        return "\n".join(lines)

    return _ODD_COPY.sub(add_copy_count, text)


def _local_pointer_names(text):
    """Returns the names of the local variables, and of pointers into local variables."""
    own = set(_LOCAL.findall(text))
    for part, whole in _PART.findall(text):
        if whole in own:
            own.add(part)
    return own


def _copy_declaration(functions):
    """Returns the declaration of __tsan_memcpy (cuda_src/sim/hooks.h), if a call of that function was
    inserted; otherwise ""."""
    for text in functions:
        if "%nl.copy." in text and (found := _TOLD_COPY.search(text)):
            kind = found[1]
            return f"\ndeclare {kind} @{_COPIES}({kind}, {kind}, i64)\n"
    return ""


def _report_field_writes(text):
    """Inserts nl_sim_write_field before the load that precedes the store of a bit-field."""

    def add_field_report(match):
        lines, kind, at = [], match["type"], match["at"]
        if kind not in ("ptr", "i8*"):
            lines.append(f"  %nl.field.{match.start()} = bitcast {kind} {at} to i8*")
            kind, at = "i8*", f"%nl.field.{match.start()}"
        call = f"call void @{_WRITE_FIELD}({kind} {at}, i64 {int(match['bits']) // 8})"
        lines.append(f"  {call}{match['debug'] or ''}")
        return "\n".join([*lines, match[0]])

    return _FIELD.sub(add_field_report, text) if "%bf.set" in text else text


def _check_copies(text):
    """Inserts an alignment check of both addresses before struct copies, except of local variables' addresses."""
    own = set(_LOCAL.findall(text))
    own |= {cast for cast, pointer in _CAST.findall(text) if pointer in own}

    def add_copy_checks(match):
        calls = []
        for side, kind in (("from", 0), ("to", 1)):
            found = _ADDRESS.fullmatch(match[side])
            if found and found["name"] not in own and int(found["align"]) > 1:
                address = f"{found['type']} {found['name']}, i32 {found['align']}, i32 {kind}"
                calls.append(f"  call void @{_ALIGNED}({address}){match['debug'] or ''}\n")
        return "".join(calls) + match[0]

    return _COPY.sub(add_copy_checks, text)


class _FunctionRewriter:
    """Rewrites the operations of one function; creates unique names of new values.

    defined: names of the functions that the module defines, whose results need no check for NaN.
    """

    def __init__(self, checks=(), defined=()):
        self.divisions = "divide" in checks
        self.reals = "nan" in checks
        self.defined = defined
        self.count = 0

    def rewrite_operation(self, match):
        name = match["name"]
        if name in ("sdiv", "udiv", "srem", "urem"):
            lines = self._rewrite_division(name, match["rest"], match["result"])
        elif name in ("shl", "lshr", "ashr"):
            lines = self._rewrite_shift(name, match["rest"], match["result"])
        elif name in ("fptosi", "fptoui"):
            lines = self._rewrite_conversion(name, match["rest"], match["result"])
        elif name in _SIGNS:
            lines = self._rewrite_float_operation(match) if self.reals else None
        elif name.endswith("@"):
            lines = self._check_call_result(match) if self.reals else None
        else:
            variable = _THREAD_LOCAL.match(match["rest"])
            lines = variable and [f"{match['result']} = getelementptr i8, ptr {variable[1]}, i64 0"]
        if not lines:
            return match[0]
        debug = match["debug"] or ""
        return "\n".join(f"  {line}{debug}" for line in lines)

    def _new_name(self):
        self.count += 1
        return f"%nl.{self.count}"

    def _rewrite_division(self, name, rest, result):
        match = _BINARY.fullmatch(rest)
        if match is None:
            return None
        type_, a, b, _ = match.groups()
        signed = name[0] == "s"
        if _is_number(b) and int(b) != 0 and not (signed and int(b) == -1):
            return None
        zero, divisor, quotient = self._new_name(), self._new_name(), self._new_name()
        lines = [f"{zero} = icmp eq {type_} {b}, 0"]
        unsafe = zero
        if signed:
            minus, unsafe = self._new_name(), self._new_name()
            lines += [
                f"{minus} = icmp eq {type_} {b}, -1",
                f"{unsafe} = or i1 {zero}, {minus}",
            ]
            if self.divisions:
                lines += self._report_overflow(type_, a, minus)
        lines += [
            f"{divisor} = select i1 {unsafe}, {type_} 1, {type_} {b}",
            f"{quotient} = {name} {type_} {a}, {divisor}",
        ]
        if name.endswith("rem"):
            lines.append(f"{result} = select i1 {zero}, {type_} {a}, {type_} {quotient}")
            return lines
        if signed:
            negated, either = self._new_name(), self._new_name()
            lines += [
                f"{negated} = sub {type_} 0, {a}",
                f"{either} = select i1 {minus}, {type_} {negated}, {type_} {quotient}",
            ]
            quotient = either
        lines.append(f"{result} = select i1 {zero}, {type_} {_ALL_ONES}, {type_} {quotient}")
        return lines

    def _report_overflow(self, type_, a, minus):
        """Inserts the call that reports a division of the lowest integer by -1."""
        least, both = self._new_name(), self._new_name()
        lowest = -(1 << (int(type_[1:]) - 1))
        return [
            f"{least} = icmp eq {type_} {a}, {lowest}",
            f"{both} = and i1 {minus}, {least}",
            f"call void @{_OVERFLOW}(i1 zeroext {both})",
        ]

    def _rewrite_float_operation(self, match):
        found = _REAL.fullmatch(match["rest"])
        if found is None:
            return None
        type_, a, b, _ = found.groups()
        return self._report_if_overflow(match, type_, a, b, _SIGNS[match["name"]])

    def _check_call_result(self, match):
        """Inserts a NaN check of a call's result, if the module does not define the called function and the
        function has one or two numeric parameters."""
        found = _FUNCTION.match(match["rest"])
        if found is None or found[1] in self.defined:
            return None
        type_ = match["name"].split()[-2]
        arguments = [a.split() for a in found[2].split(",")]
        if not 1 <= len(arguments) <= 2 or any(a[:1] != [type_] for a in arguments):
            return None
        return self._report_if_overflow(match, type_, arguments[0][-1], arguments[-1][-1], "f")

    def _report_if_overflow(self, match, type_, a, b, sign):
        line = match[0][2 : len(match[0]) - len(match["debug"] or "")]
        lines, arguments = [line], []
        for value in (match["result"], a, b):
            if type_ == "float":
                wide = self._new_name()
                lines.append(f"{wide} = fpext float {value} to double")
                value = wide
            arguments.append(f"double {value}")
        lines.append(f"call void @{_NOT_FINITE}({', '.join(arguments)}, i32 {ord(sign)})")
        return lines

    def _rewrite_shift(self, name, rest, result):
        match = _BINARY.fullmatch(rest)
        if match is None:
            return None
        type_, a, b, _ = match.groups()
        width = int(type_[1:])
        if _is_number(b) and 0 <= int(b) < width:
            return None
        inside, other = self._new_name(), self._new_name()
        lines = [f"{inside} = icmp ult {type_} {b}, {width}"]
        if name == "ashr":
            lines += [
                f"{other} = select i1 {inside}, {type_} {b}, {type_} {width - 1}",
                f"{result} = ashr {type_} {a}, {other}",
            ]
        else:
            lines += [
                f"{other} = {name} {type_} {a}, {b}",
                f"{result} = select i1 {inside}, {type_} {other}, {type_} 0",
            ]
        return lines

    def _rewrite_conversion(self, name, rest, result):
        match = _CONVERSION.fullmatch(rest)
        if match is None:
            return None
        real, value, wanted, _ = match.groups()
        width = int(wanted[1:])
        signed = name == "fptosi"
        if width < 32:
            whole = self._new_name()
            lines = self._saturate_conversion(name, real, value, 32, signed, whole)
            return [*lines, f"{result} = trunc i32 {whole} to {wanted}"]
        return self._saturate_conversion(name, real, value, width, signed, result)

    def _saturate_conversion(self, name, real, value, width, signed, result):
        type_ = f"i{width}"
        above = 2.0 ** (width - 1 if signed else width)
        below = -above if signed else 0.0
        largest = int(above) - 1 if signed else -1
        for_nan = 0 if real == "float" and width == 32 else -(1 << (width - 1))
        plain, low, high, order, first, second = (self._new_name() for _ in range(6))
        return [
            f"{plain} = {name} {real} {value} to {type_}",
            f"{low} = fcmp ole {real} {value}, {_number_text(below)}",
            f"{high} = fcmp oge {real} {value}, {_number_text(above)}",
            f"{order} = fcmp ord {real} {value}, {value}",
            f"{first} = select i1 {low}, {type_} {int(below)}, {type_} {plain}",
            f"{second} = select i1 {high}, {type_} {largest}, {type_} {first}",
            f"{result} = select i1 {order}, {type_} {second}, {type_} {for_nan}",
        ]


def _is_number(text):
    return text.lstrip("-").isdecimal()


def _number_text(value):
    """Returns the text of a floating-point constant as a double, because LLVM IR writes floats as doubles,
    too."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
