"""Instruments LLVM IR to detect reads of uninitialized local variables.

The instrumentation edits the text from clang's front end, in which each variable is a separate `alloca`. A
watched variable gets a shadow variable of the same type. A byte of the shadow is zero while the same byte of
the variable is uninitialized. The address of an element or field is also computed in the shadow variable, and
stores and copies are also made there. Each use of a loaded value calls cuda_src/sim/uninitialized.h with the
shadow value. The optimizer removes the shadow code where it can prove the result.

These operations count as uses of a loaded value: arithmetic, conditions, indices and stores to memory. Copies
to another variable, arguments and return values are not uses, because a function may ignore an argument. When
a pointer to the variable is passed anywhere else, the whole variable counts as initialized.
"""

from __future__ import annotations

import re

from numbalite.compilers.sim import ir as syntax
from numbalite.compilers.sim.ir import NAME as _NAME
from numbalite.compilers.sim.ir import VALUE as _TOKEN
from numbalite.compilers.sim.ir import debug_location as _debug_of

_VARIABLE = re.compile(r'^(!\d+) = !DILocalVariable\(name: "(\w+)", scope: !\d+, file', re.M)
_DECLARED = re.compile(
    rf"(?:@llvm\.dbg\.declare\(metadata|#dbg_declare\()\s*(?:ptr|[^,\n]*\*) (?P<name>{_NAME}), "
    r"(?:metadata )?(?P<about>!\d+)"
)
_ALLOCA = re.compile(rf"^  ({_NAME}) = alloca (.*?), align (\d+)")
_STRUCT = re.compile(r'^(%(?:[\w.:$-]+|"[^"\n]*")) = type (.*)$', re.M)
_PART = re.compile(
    rf"^  (?P<name>{_NAME}) = (?:bitcast|getelementptr) (?:\w+ )*?(?:[^\n]*?)(?:\*|\bptr) (?P<base>{_NAME})"
)
_LOAD = re.compile(
    rf"^  (?P<name>{_NAME}) = load (?:volatile )?(?P<type>.*), (?P<pointer>ptr|[^,\n]*\*) (?P<at>{_NAME}),"
)
_STORE = re.compile(
    rf"^  store (?:volatile )?(?P<what>.*), (?P<pointer>ptr|[^,\n]*\*) (?P<at>{_NAME}), align"
)
_MOVE = re.compile(
    r"^  (?:tail )?call void @llvm\.mem(?P<kind>cpy|move|set)\.[^(\n]*\((?P<type>ptr|i8\*) "
    rf"(?:\w+(?:\(\d+\))? )*(?P<to>{_NAME}), (?P<what>[^\n]*?), (?P<size>i\d+ [^,\n]+), i1 \w+\)"
)
_SOURCE = re.compile(rf"(?:ptr|i8\*) (?:\w+(?:\(\d+\))? )*(?P<name>{_NAME})")
_INDEX = re.compile(
    r"getelementptr [^\n]*?\[\d+ x [^\n]*, i\d+ 0, i(?P<bits>\d+) (?P<index>[^ ,\n]+)"
)
_CALLED = re.compile(r"@([\w.$]+)\(")
# Functions that use all of their arguments, such as the functions of the C library.
_LOOKS = re.compile(
    r"(?:__)?(?:atomic\w+|(?:max|min|abs|fma|pow|exp|exp2|exp10|expm1|log|log2|log10|log1p|r?sqrt|r?cbrt|sin"
    r"|cos|tan|sinh|cosh|tanh|asin|acos|atan|atan2|hypot|floor|ceil|round|rint|trunc|erfc?|fabs|fmax|fmin"
    r"|fmod|fdim|add|sub|mul|div|fadd|fsub|fmul|fdiv|frcp|dadd|dmul|ddiv)f?(?:_r[nzud]|divide)?)"
)
# Functions that implement x += y for complex numbers and for types with a non-member operator.
_ADDS = re.compile(
    rf"@_Z(?:N9numbalite7complexI[fd]E|(?=\w\wR))(?:pL|mI|mL|dV)\w+\([^%\n]*(?:%[^%\n]*\* [^%\n]*)?({_NAME})"
)
# Functions that read the fragments of warp matrix operations: all arguments but the first.
_MATRICES = re.compile(
    r"@_ZN6nvcuda4wmma(?:8mma_sync|9bmma_sync|17store_matrix_sync)\w*\((?P<given>.*)\)"
)
_POINTER = re.compile(rf"(?P<type>ptr|%[^\n]*?\*) [^%\n]*(?P<name>{_NAME})")
_SCALARS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_LARGEST = 4096  # maximum bytes of a watched variable, because its shadow needs stack space, too
_TELL, _FETCH, _PUT = "nl_sim_unset", "nl_sim_fetch_written", "nl_sim_put_written"
NAMES = (_TELL, _FETCH, _PUT)
"""The functions of cuda_src/sim/uninitialized.h."""


class LocalVariables:
    """Instruments the local variables of one module."""

    def __init__(self, ir: str) -> None:
        self._variables = dict(_VARIABLE.findall(ir))
        self._structs = dict(_STRUCT.findall(ir))
        self._sizes: dict = {}
        self._checked = syntax.sanitized_groups(ir)
        self._defined = syntax.defined_symbols(ir)
        self._strings: dict = {}
        self.is_typed = re.search(r"\bi8\*", ir) is not None
        self.bytes_pointer = "i8*" if self.is_typed else "ptr"
        space = "p0i8" if self.is_typed else "p0"
        self.memset = f"llvm.memset.{space}.i64"
        self.memmove = f"llvm.memmove.{space}.{space}.i64"
        self._is_declared = {name: f"@{name}(" in ir for name in (self.memset, self.memmove)}

    def instrument_function(self, text: str) -> str:
        """Returns the instrumented text of a function."""
        if not syntax.has_attribute_group(text, self._checked):
            return text
        about = {
            found["name"]: self._variables[found["about"]]
            for found in _DECLARED.finditer(text)
            if found["about"] in self._variables
        }
        return _FunctionInstrumenter(self, text, about).instrumented_text() if about else text

    def module_declarations(self) -> str:
        """Returns declarations and strings that instrumented functions need, for the end of the
        module."""
        pointer = self.bytes_pointer
        others = {self.memset: "i8", self.memmove: pointer}
        declared = "".join(
            f"declare void @{name}({pointer}, {other}, i64, i1 immarg)\n"
            for name, other in others.items()
            if not self._is_declared[name]
        )
        return declared + "".join(
            f'@nl.unset.{at} = private unnamed_addr constant [{len(name) + 1} x i8] c"{name}\\00"\n'
            for name, at in self._strings.items()
        )

    def string_pointer(self, name: str) -> str:
        """Returns a pointer to a string constant that contains the name."""
        at = self._strings.setdefault(name, len(self._strings))
        if not self.is_typed:
            return f"ptr @nl.unset.{at}"
        kind = f"[{len(name) + 1} x i8]"
        return f"i8* getelementptr ({kind}, {kind}* @nl.unset.{at}, i64 0, i64 0)"

    def reads_arguments(self, function: str) -> bool:
        """Returns whether the function uses all of its arguments."""
        if mangled := re.match(r"_Z(\d+)", function):
            name = function[mangled.end() :][: int(mangled[1])]
            return _LOOKS.fullmatch(name) is not None
        return function[0] != "_" and function[:3] != "nl_" and function not in self._defined

    def pointer_type(self, type_: str) -> str:
        """Returns the type of a pointer to a type."""
        return f"{type_}*" if self.is_typed else "ptr"

    def approximate_size(self, type_: str) -> int:
        """Returns the approximate size in bytes of a variable of the type."""
        if type_ not in self._sizes:
            self._sizes[type_] = 0  # ends the recursion for a type that contains itself
            self._sizes[type_] = self._element_count(self._structs.get(type_, type_))
        return self._sizes[type_]

    def _element_count(self, text):
        if found := re.fullmatch(r"(?:\[|<)(\d+) x (.*)(?:\]|>)", text):
            return int(found[1]) * self.approximate_size(found[2])
        if text[:1] in "{<":
            return sum(map(self.approximate_size, syntax.split_list(text.strip("<>")[1:-1])))
        return 8


def _loaded_fragments(line):
    """Returns (type, name) of the pointers to matrix fragments that the call in this line of IR reads."""
    called = _MATRICES.search(line) if "4wmma" in line else None
    found = (
        [_POINTER.fullmatch(one) for one in syntax.split_list(called["given"])[1:]]
        if called
        else []
    )
    return [(one["type"], one["name"]) for one in found if one]


def _bit_count(type_):
    """Returns the number of bits of a type that can be cast to an integer; otherwise 0."""
    if type_ in _SCALARS:
        return _SCALARS[type_]
    if re.fullmatch(r"i\d+", type_):
        return int(type_[1:])
    if type_ == "ptr" or type_.endswith("*"):
        return 64
    vector = re.fullmatch(r"<(\d+) x (\w+)>", type_)
    return int(vector[1]) * _bit_count(vector[2]) if vector else 0


def _nonzero_constant(type_):
    """Returns the text of a constant of the type whose bytes are all nonzero."""
    if re.fullmatch(r"i\d+", type_):
        return "-1"
    if type_ == "ptr" or type_.endswith("*"):
        return f"inttoptr (i64 -1 to {type_})"
    return f"bitcast (i{_bit_count(type_)} -1 to {type_})"


def _type_text(what):
    """Returns the type in a text of the form "type value"."""
    if what[0] not in "{<[%":
        return re.match(r"[^ (]+(?: \([^)]*\))?\**", what)[0]
    depth = 0
    for at, sign in enumerate(what):
        depth += (sign in "[{<(") - (sign in "]}>)")
        if depth == 0 and sign == " ":
            return what[:at]
    return what


def _shadow_name(name):
    return f"%nl.second.{name[1:]}" if name[1] != '"' else f'%"nl.second.{name[2:]}'


class _FunctionInstrumenter:
    """Instruments one function. `about` maps the name of an alloca to the source variable."""

    def __init__(self, module, text, about):
        self.module, self.about = module, about
        self.lines = text.split("\n")
        self.roots = {}  # name -> type
        self.own = set()  # names of all allocas, and of pointers into them
        self.whole = {}  # pointer into a watched variable -> the variable
        self.parts = {}  # pointer into a watched variable -> the line of IR that computes the pointer
        self.used = {}  # name of a value -> the lines of IR that contain it
        self.started = set()  # watched variables, which each declaration makes uninitialized again
        self.second = set()  # loaded values that have a shadow
        self.count = 0

    def instrumented_text(self):
        self._find_roots()
        if not self.roots:
            return "\n".join(self.lines)
        self._find_derived_pointers()
        self._exclude_variables()
        if not self.roots:
            return "\n".join(self.lines)
        for at, line in enumerate(self.lines):
            for name in set(_TOKEN.findall(line)):
                self.used.setdefault(name, []).append(at)
        out = []
        for line in self.lines:
            self._instrument_line(line, out)
        return "\n".join(out)

    # ---- which variables ----

    def _find_roots(self):
        for line in self.lines:
            found = _ALLOCA.match(line)
            if not found:
                continue
            self.own.add(found[1])
            name, type_ = found[1], found[2]
            plain = not re.search(r", i\d+ ", type_)  # a single object, not a dynamic array
            if name in self.about and plain and self.module.approximate_size(type_) <= _LARGEST:
                self.roots[name] = type_

    def _find_derived_pointers(self):
        self.whole = {name: name for name in self.roots}
        known = -1
        while known != len(self.own):
            known = len(self.own)
            for line in self.lines:
                if " = bitcast " not in line and " = getelementptr " not in line:
                    continue
                found = _PART.match(line)
                if found and found["base"] in self.own:
                    self.own.add(found["name"])
                    self.parts[found["name"]] = line
                    if found["base"] in self.whole:
                        self.whole[found["name"]] = self.whole[found["base"]]

    def _exclude_variables(self):
        """Excludes variables that are initialized at each declaration, and variables that cannot be
        tracked."""
        events, block = {root: [] for root in self.roots}, 0
        for line in self.lines:
            block += line[:1] not in (" ", "}", "")  # a label
            roots = {self.whole[name] for name in _TOKEN.findall(line) if name in self.whole}
            if roots and (_ALLOCA.match(line) or not self._accesses_no_memory(line)):
                for root in roots:
                    events[root].append((block, line))
        for root, met in events.items():
            starts = [at for at, (_, line) in enumerate(met) if "@llvm.lifetime.start" in line]
            if starts:
                self.started.add(root)
            starts = starts or [0]  # at its alloca
            follow = [(met[at], met[at + 1]) if at + 1 < len(met) else None for at in starts]
            written = all(
                f is None or (f[0][0] == f[1][0] and self._initializes_variable(f[1][1], root))
                for f in follow
            )
            if written or any(" = phi " in line for _, line in met):
                del self.roots[root]
        self.whole = {name: root for name, root in self.whole.items() if root in self.roots}

    @staticmethod
    def _accesses_no_memory(line):
        """Returns whether a line of IR accesses no memory through the pointer."""
        return (
            "dbg.declare" in line
            or "#dbg_" in line
            or "@llvm.lifetime.end" in line
            or (" = ptrtoint " in line and "!nosanitize" in line)
            or _ALLOCA.match(line) is not None
            or _PART.match(line) is not None
        )

    def _initializes_variable(self, line, root):
        """Returns whether the variable must count as initialized after this line of IR. The result is True if
        the line writes the whole variable, or if the effect of the line is unclear."""
        if any(self.whole.get(name) == root for _, name in _loaded_fragments(line)):
            return False
        if store := _STORE.match(line):
            type_ = self.roots.get(store["at"])
            return store["at"] not in self.whole or type_ == _type_text(store["what"])
        if move := _MOVE.match(line):
            return move["kind"] == "set" or "@__const." in line
        return " = load " not in line and not _ADDS.search(line)

    # ---- inserted code ----

    def _instrument_line(self, line, out):
        names = [name for name in _TOKEN.findall(line) if name in self.whole]
        if not names:
            out.append(line)
        elif found := _ALLOCA.match(line):
            self._begin_lifetime(line, found, out)
        elif _PART.match(line):
            out += line, self._shadow_address(line)
        elif self._accesses_no_memory(line):
            out.append(line)
        elif "@llvm.lifetime.start" in line:
            out.append(line)
            for name in names:
                self._set_shadow_bytes(name, 0, self._variable_size(self.whole[name]), out)
        elif found := _LOAD.match(line):
            self._instrument_load(line, found, out)
        elif (found := _STORE.match(line)) and names == [found["at"]]:
            self._instrument_store(line, found, out)
        elif found := _MOVE.match(line):
            self._instrument_copy(line, found, out)
        else:
            self._report_updated_number(line, out)
            self._report_read_fragments(line, out)
            for root in dict.fromkeys(self.whole[name] for name in names):
                self._set_shadow_bytes(root, -1, self._variable_size(root), out)
            out.append(line)

    def _new_name(self):
        self.count += 1
        return f"%nl.local.{self.count}"

    def _shadow_address(self, line):
        """Returns the line that computes the address in the shadow variable that corresponds to the address computed in
        this line."""
        found = _PART.match(line)
        names = {
            found["name"]: _shadow_name(found["name"]),
            found["base"]: _shadow_name(found["base"]),
        }
        head, tail = line[: found.end()], line[found.end() :]
        return _TOKEN.sub(lambda match: names.get(match[0], match[0]), head) + tail

    def _begin_lifetime(self, line, found, out):
        out += line, line.replace(found[1], _shadow_name(found[1]), 1)
        if found[1] not in self.started:
            self._set_shadow_bytes(found[1], 0, self._variable_size(found[1]), out)

    def _variable_size(self, root):
        """Returns the size of a variable, as a constant expression of LLVM IR."""
        type_ = self.roots[root]
        pointer = self.module.pointer_type(type_)
        return f"i64 ptrtoint ({pointer} getelementptr ({type_}, {pointer} null, i64 1) to i64)"

    def _set_shadow_bytes(self, name, value, size, out):
        """Returns code that sets the bytes of the shadow variable. `name` is the variable or a pointer to its
        bytes."""
        to = self.module.bytes_pointer
        second = _shadow_name(name)
        if name in self.roots and self.module.is_typed:
            second = self._new_name()
            out.append(f"  {second} = bitcast {self.roots[name]}* {_shadow_name(name)} to i8*")
        out.append(
            f"  call void @{self.module.memset}({to} {second}, i8 {value}, {size}, i1 false)"
        )

    def _instrument_load(self, line, found, out):
        out.append(line)
        type_, name, debug = found["type"], found["name"], _debug_of(line)
        uses = [use for at in self.used[name] if (use := self.lines[at]) != line]
        is_reported = (
            debug and not name.startswith("%bf.") and any(self._uses_value(u, name) for u in uses)
        )
        handed = any((s := _STORE.match(u)) and s["at"] in self.whole for u in uses)
        if not _bit_count(type_) or not (is_reported or handed):
            return
        out.append(
            f"  {_shadow_name(name)} = load {type_}, {found['pointer']} {_shadow_name(found['at'])}, align 1"
        )
        self.second.add(name)
        if is_reported:
            number, unset, what = (
                self._shadow_as_integer(_shadow_name(name), type_, out),
                self._new_name(),
                self._describe_read(found["at"], out),
            )
            out.append(f"  {unset} = icmp eq i{_bit_count(type_)} {number}, 0")
            out.append(f"  call void @{_TELL}(i1 zeroext {unset}, {what}){debug}")

    def _report_updated_number(self, line, out):
        """Inserts a report for a number that a function updates; the shadow of the number's first byte
        represents all of its bytes."""
        found, debug = _ADDS.search(line), _debug_of(line)
        name = found[1] if found and debug else None
        if name not in self.roots:
            return
        pointer, state, unset = _shadow_name(name), self._new_name(), self._new_name()
        if self.module.is_typed:
            pointer = self._new_name()
            out.append(f"  {pointer} = bitcast {self.roots[name]}* {_shadow_name(name)} to i8*")
        out.append(f"  {state} = load i8, {self.module.bytes_pointer} {pointer}, align 1")
        out.append(f"  {unset} = icmp eq i8 {state}, 0")
        out.append(
            f"  call void @{_TELL}(i1 zeroext {unset}, {self._describe_read(name, out)}){debug}"
        )

    def _report_read_fragments(self, line, out):
        """Inserts reports for the fragments that a function reads; the shadow of a fragment's first byte
        represents the fragment."""
        debug, kind = _debug_of(line), self.module.bytes_pointer
        for type_, name in dict.fromkeys(_loaded_fragments(line)):
            if name not in self.whole or not debug:
                continue
            pointer, state, unset = _shadow_name(name), self._new_name(), self._new_name()
            if self.module.is_typed:
                pointer = self._new_name()
                out.append(f"  {pointer} = bitcast {type_} {_shadow_name(name)} to i8*")
            out.append(f"  {state} = load i8, {kind} {pointer}, align 1")
            out.append(f"  {unset} = icmp eq i8 {state}, 0")
            what = self._describe_read(name, out)
            out.append(f"  call void @{_TELL}(i1 zeroext {unset}, {what}){debug}")

    def _uses_value(self, line, name):
        """Returns whether a line of IR uses a value."""
        if store := _STORE.match(line):
            return store["at"] == name or store["at"] not in self.own
        if " call " in line:
            called = _CALLED.search(line)
            return called is not None and self.module.reads_arguments(called[1])
        return not (line.startswith("  ret ") or " = insertvalue " in line)

    def _shadow_as_integer(self, value, type_, out):
        if re.fullmatch(r"i\d+", type_):
            return value
        number = self._new_name()
        cast = "ptrtoint" if type_ == "ptr" or type_.endswith("*") else "bitcast"
        out.append(f"  {number} = {cast} {type_} {value} to i{_bit_count(type_)}")
        return number

    def _describe_read(self, pointer, out):
        """Returns the arguments that describe the read to the checker: variable name, number of indices (-1:
        a field), the indices."""
        root, indices, at = self.whole[pointer], [], pointer
        while at != root:
            line = self.parts[at]
            if " = getelementptr " in line:
                found = _INDEX.search(line)
                indices.insert(0, found and (found["bits"], found["index"]))
            at = _PART.match(line)["base"]
        count = len(indices)
        if None in indices:
            count, indices = -1, []
        elif count > 3:
            count, indices = 0, []
        values = []
        for bits, index in indices:
            if bits != "64" and index.startswith("%"):
                wide = self._new_name()
                out.append(f"  {wide} = sext i{bits} {index} to i64")
                index = wide
            values.append(f"i64 {index}")
        values += ["i64 0"] * (3 - len(values))
        name = self.module.string_pointer(self.about[root])
        return f"{name}, i32 {count}, {', '.join(values)}"

    def _instrument_store(self, line, found, out):
        type_ = _type_text(found["what"])
        out.append(line)
        if not _bit_count(type_):
            root = self.whole[found["at"]]
            self._set_shadow_bytes(root, -1, self._variable_size(root), out)
            return
        value = found["what"][len(type_) + 1 :]
        value = _shadow_name(value) if value in self.second else _nonzero_constant(type_)
        out.append(
            f"  store {type_} {value}, {found['pointer']} {_shadow_name(found['at'])}, align 1"
        )

    def _instrument_copy(self, line, found, out):
        to, size, debug = found["to"], found["size"], _debug_of(line)
        source = _SOURCE.match(found["what"])
        from_ = source["name"] if source else ""
        kind = self.module.bytes_pointer
        if to not in self.whole:
            out.append(line)
            if to not in self.own and debug:
                given = f"{kind} {to}, {kind} nocapture {_shadow_name(from_)}, {size}"
                out.append(f"  call void @{_PUT}({given}){debug}")
            return
        if from_ in self.whole:
            given = f"{kind} {_shadow_name(to)}, {kind} {_shadow_name(from_)}, {size}, i1 false"
            out.append(f"  call void @{self.module.memmove}({given})")
        elif found["kind"] == "set" or not from_ or from_ in self.own or not debug:
            self._set_shadow_bytes(to, -1, size, out)
        else:
            given = f"{kind} nocapture {_shadow_name(to)}, {kind} {from_}, {size}"
            out.append(f"  call void @{_FETCH}({given}){debug}")
        out.append(line)
