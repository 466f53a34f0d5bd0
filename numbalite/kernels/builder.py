"""Generates the complete C++ source of kernels, of ufunc loops (ufuncs/*loops.py) and of CPU functions (cpu/entries.py).

A SourceBuilder collects the user's text, the device functions that it calls, the captured Python names and the includes.

A kernel written as a body becomes

    #include "numbalite.cuh"            and the library headers that the source uses
    using namespace numbalite;
    struct record_... { ... };          records among the parameters
    namespace f1_axpy { ... }           each device function, after the functions that it calls
    namespace k_saxpy {
        constants, constant arrays, using-declarations of the device functions that it calls
        extern "C" __global__ void nl_saxpy(float a, array<float, 1> x) { the user's lines }
    }

A captured Python name thus hides a C++ name of the same spelling, and a declaration in the body hides the Python name.
#line directives give the user's lines their own file and line numbers.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from typing import Any

from numbalite import types
from numbalite.compilers import Source, headers, templates
from numbalite.cxx import capture as capturing
from numbalite.cxx import reserved, scanner
from numbalite.cxx.capture import ascii_name
from numbalite.cxx.definition import INCLUDES, Definition, linked_code
from numbalite.cxx.freenames import free_names
from numbalite.cxx.linemap import Text, consecutive_text, quote_label
from numbalite.cxx.scanner import directive_word, tokenize
from numbalite.cxx.slip import LineRange, Slip
from numbalite.kernels import macros
from numbalite.types.keywords import KEYWORDS


def has_statement(text: str) -> bool:
    """Returns whether the text contains a statement. An expression such as ``a + b``, which needs a ``return``,
    contains none."""
    return any(t.text in (";", "{", "return") or t.kind == "directive" for t in tokenize(text))


# Names in generated text that a user's macro may redefine.
_NAME = re.compile(r"\b(?!nl_|NUMBALITE|numbalite)[A-Za-z]\w*")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Names in the spelling of array types: numbalite.cuh declares them, and the layout letters need no include.
_OF_THE_HEAD = frozenset(["array", "layout", "any", "C", "F"])


_FLOATING = ("float", "double")
_FLOATING_ALIASES = {
    "float32": "float", "float64": "double",
    "complex64": "numbalite::complex<float>", "complex128": "numbalite::complex<double>",
}  # fmt: skip


class _UserText(str):
    """Source text that the user wrote."""


class _CapturedText(str):
    """Source text that defines a captured Python name."""

    name: str
    has_includes: bool  # does the definition include headers?


class SourceBuilder:
    """Collects the parts of one source; `source` and `join_source` concatenate them."""

    def __init__(self, name: str, title: str = ""):
        self.file = f"{ascii_name(name)}.cu"
        self.title = title
        self.pieces: list[str | None] = []  # None stands for a #line back to the generated file
        self.ahead: list[
            str
        ] = []  # library text before the user's headers, because their macros may redefine any name
        self.line = 1
        self.names: set[str] = set()  # every identifier that occurs
        self.includes: list[tuple] = []  # (line, #include line, file)
        self.records: dict = {}
        self.functions: dict[Any, str] = {}  # DeviceFunction -> its namespace
        self.copies: dict[
            tuple, Any
        ] = {}  # (DeviceFunction, number type) -> copy of the DeviceFunction with this number type
        self.linked: dict[Text, None] = {}  # Texts of link= -> None; each Text is added once
        self.given = False  # options such as -DN=5
        self.unfinished: list = []
        self.users: dict[LineRange, None] = {}
        self.slips: list[Slip] = []  # of Python bodies
        self.refused: dict = {}
        self.array_bytes = 0
        self.takes_pointers = (
            False  # whether captured device arrays can be bound, which only kernels allow
        )
        self.pointers: dict[str, tuple] = {}  # name expression -> (name, device array)
        # Names of the open namespace, and of the parameters of its function
        self.hiding: frozenset[str] = frozenset()
        # The names in `hiding` that compilers may define as macros
        self.macros: frozenset[str] = frozenset()

    @property
    def has_macros(self) -> bool:
        """Returns whether user macros may be defined at some point of the source (by includes, link=, options
        or whole units)."""
        is_unit = any(function.definition.is_unit for function in self.functions)
        return bool(self.includes or self.linked or self.given or is_unit)

    # --- writing

    def write(self, text: str):
        self.pieces.append(text)

    def write_captured(self, definition: Definition, name: str, text: str):
        piece = _CapturedText(text)
        piece.name = name
        piece.has_includes = bool(definition.includes)
        self.pieces.append(piece)

    def write_generated(self, text: str):
        """Writes generated text after all user text. Before the text, undefines user macros that collide with
        its names."""
        if self.has_macros:
            functions = {function.cxx_name for function in self.functions}
            for name in sorted(set(_NAME.findall(text)) - functions - KEYWORDS):
                if not capturing.may_be_macro_name(name):
                    self.write(f"#undef {name}\n")
        self.write(text)

    def write_user(self, text: Text, closing: str = ""):
        """Writes the user's lines, then a #line directive back to the generated file.

        ``closing`` is the text that ends the function. ``closing`` has the line number of the user's last line,
        so that a debugger that steps past the last statement stays in the user's file.
        """
        self.pieces.append(_UserText(f"{text.with_line_directives()}\n"))
        if closing:
            self.pieces.append(f'#line {text.lines[-1]} "{quote_label(text.label)}"\n{closing}\n')
        self.pieces.append(None)

    def join_source(self, fields=None) -> str:
        """Joins all parts to the complete source text. ``fields`` are the other fields of the Source
        (headers, options)."""
        head = f"// {self.title}\n" if self.title else ""
        includes = [included_name(text) for _, text, _ in self.includes]
        includes += _included_names(self.linked_texts())
        pieces = [head + _library_includes(self.names, includes), *self.ahead]
        for number, include, label in dict.fromkeys(self.includes):
            pieces.append(_UserText(f'#line {number} "{quote_label(label)}"\n{include}\n'))
        if self.includes:
            pieces.append(None)
        behind = ["using namespace numbalite;\n\n", *self.records.values()]
        for text in self.linked_texts():
            behind += [_UserText(f"{text.with_line_directives()}\n"), None]
        out, line = [], 1
        for piece in pieces + self.avoid_macros(behind + self.pieces, fields or {}):
            if piece is None:
                piece = f'#line {line + 1} "{self.file}"\n'
            out.append(piece)
            line += piece.count("\n")
        return "".join(out)

    def avoid_macros(self, pieces, fields) -> list:
        """In generated text, replaces names that user macros redefine by alternative names
        (kernels/macros.py).

        ``pieces`` are the parts of the source after the user's headers. User text is unchanged; a captured
        Python name is omitted if a macro has its name.
        """
        if not self.has_macros:
            return pieces
        texts = [text for text in pieces if isinstance(text, _UserText)]
        if self.includes:
            included = "".join(f"{line}\n" for _, line, _ in self.includes)
            context = {key: fields[key] for key in ("headers", "options") if key in fields}
            name = fields.get("name", self.file)
            texts += headers.included_texts(Source(text=included, name=name, **context))
        given = macros.defined_macros((), fields.get("options", ()))
        found = macros.defined_macros(texts) | given

        def replace_macros(piece):
            if piece is None or isinstance(piece, _UserText):
                return piece
            text = macros.avoid_macros(piece, found)
            if isinstance(piece, _CapturedText) and piece.name in (
                found if piece.has_includes else given
            ):
                # A macro with the name of a captured value hides the value
                return f"#ifndef {piece.name}\n{text}#endif\n"
            return text

        return [replace_macros(piece) for piece in pieces]

    def source(
        self, definition, options, kernels, *, suffix="", describe=False, is_python=None
    ) -> Source:
        """Returns the Source for the compilers, with a file name in the folder of the user's file.

        is_python: whether the body was written in Python; default: ``definition.is_python``, which may be
        False for the C++ translation of a Python body.
        """
        name = ascii_name(plain_name(definition.name)) + suffix
        fields = {
            **options.source_fields(),
            "name": generated_path(name, definition.text.label),
            "kernels": tuple(kernels),
            "variables": tuple(self.pointers),
            "describe": describe,
            "is_python": definition.is_python if is_python is None else is_python,
            "linked": linked_code(definition, options),
            "users": tuple(span for span in self.users if not is_package_file(span.file)),
            "slips": tuple(dict.fromkeys(self.slips)),
        }
        return Source(text=self.join_source(fields), **fields)

    def labels(self, *first) -> tuple:
        """Returns the labels (file names) by which line directives name the user's files: the files of the
        definitions ``first`` and of all device functions."""
        definitions = (*first, *(function.definition for function in self.functions))
        return tuple(dict.fromkeys(definition.text.label for definition in definitions))

    def warnings(self) -> list:
        """Returns the list of warnings of the translations of the device functions, each (function, message)."""
        of_all = (function.definition.warnings for function in self.functions)
        return list(dict.fromkeys(itertools.chain.from_iterable(of_all)))

    def add_types(self, *used):
        """Adds the record definitions and library headers for the types in the source."""
        for t in used:
            self.names |= names_of_type(t) - _OF_THE_HEAD
            if isinstance(t, (types.Array, types.Pointer)):
                t = t.dtype
            if isinstance(t, types.Tuple):
                self.add_types(*t.types)
            if isinstance(t, types.NamedTuple):
                self.names.add("tuple")
                self.records[t.cxx] = t.definition() + "\n"
            elif isinstance(t, types.Record) and not t.is_predefined and t.cxx not in self.records:
                self.names |= identifiers(t.definition())
                self.records[t.cxx] = t.definition() + "\n"

    def add_linked_texts(self, texts):
        """Adds Texts of complete declarations, which are compiled before the rest of the source."""
        for text in texts:
            self.names |= identifiers(text.value)
            self.linked[text] = None
            if text.label != DECLARATION:
                self.users[line_range(text)] = None

    def linked_texts(self) -> list:
        """Returns the list of Texts to compile first, without declarations of functions that another Text defines.

        A declaration is omitted because its types may differ from those of the definition, with equal memory
        layout.
        """
        found = [text for text in self.linked if text.label != DECLARATION]
        if len(found) == len(self.linked):
            return found
        defined = {name for text in found for name in scanner.functions(text.value)}
        declared = [text for text in self.linked if text.label == DECLARATION]
        return found + [
            text for text in declared if defined.isdisjoint(_declared_names(text.value))
        ]

    # --- captured Python names

    def with_numbers(self, function, number_type):
        """Returns the copy of a device function that uses this number type for float and double. A source
        contains only one copy of each device function."""
        if not number_type:
            return function
        key = function, number_type
        if key not in self.copies:
            self.copies[key] = function.with_numbers(number_type)
        return self.copies[key]

    def open_namespace(self, namespace: str, definition: Definition, number_type=""):
        """Opens the namespace of a definition and writes its captured names. Returns the captured names.

        Names that cannot be captured are added to ``refused``, with the reason.
        """
        taken = definition.capture()
        for name, function in taken.functions.items():
            taken.functions[name] = self.with_numbers(function, number_type)
        self.refused.update(taken.refused)
        self.users[line_range(definition.text, definition.is_translated)] = None
        self.slips += definition.slips
        for name, array in list(taken.arrays.items()):
            if self.array_bytes + array.nbytes > capturing.CONSTANT_MEMORY:
                self.refused[name] = capturing.too_large_reason(name, array.nbytes)
                del taken.arrays[name]
            else:
                self.array_bytes += array.nbytes
        if not self.takes_pointers:
            self.refused.update((n, capturing.device_array_reason(n)) for n in taken.pointers)
            taken.pointers.clear()
        inner = {name: self.add_function(f) for name, f in taken.functions.items()}
        named = (*taken.names(), *taken.macros, *definition.parameters)
        self.macros = frozenset(filter(capturing.may_be_macro_name, named))
        for name in (definition.name, reserved.avoid_reserved(ascii_name(definition.name))):
            if self.functions.get(taken.functions.get(name)) == namespace:
                del taken.functions[name]  # recursion
        self.names |= identifiers(definition.text.value, definition.parameters)
        for number, include in definition.includes:
            self.includes.append((number, include, definition.text.label))
        self.hiding = frozenset(map(ascii_name, (*taken.names(), *definition.parameters)))
        self.write(f"namespace {namespace} {{\n")
        for name, function in taken.functions.items():
            self.write_alias(ascii_name(name), function, inner[name])
        for name, t in taken.types.items():
            self.add_types(t)
            name = ascii_name(name)
            self.write_captured(definition, name, f"using {name} = {self.type_text(t)};\n")
        for name, value in taken.macros.items():
            self.write(capturing.macro_definition(ascii_name(name), value))
        for name, value in taken.constants.items():
            self.add_types(capturing.constant_type(value))
            text = capturing.constant_definition(ascii_name(name), value)
            self.names |= identifiers(text)
            self.write_captured(definition, ascii_name(name), text)
        for name, array in taken.pointers.items():
            pointed: Any = types.typeof(array)
            view = pointed if pointed.ndim else types.Pointer(pointed.dtype)
            self.add_types(view)
            self.pointers[f"{namespace}::{ascii_name(name)}"] = name, array
            self.write(f"__constant__ {self.type_text(view)} {ascii_name(name)};\n")
        for name, array in taken.arrays.items():
            self.names.add("constant_array")
            self.add_types(types.from_dtype(array.dtype))
            name = ascii_name(name)
            self.write_captured(definition, name, capturing.constant_array(name, array))
        return taken

    def user_text(self, definition: Definition) -> Text:
        """Returns the Text of the user's lines, adapted to the macros of the open namespace."""
        return definition.text.replace(definition.body(self.macros))

    def close_namespace(self, namespace: str, definition: Definition, taken):
        for name in (*taken.macros, *(() if definition.is_unit else definition.names.defined)):
            self.write(f"#undef {ascii_name(name)}\n")
        self.write(f"}} // namespace {namespace}\n\n")

    def type_text(self, t) -> str:
        """Returns the C++ spelling of a type, qualified with ``numbalite::`` if captured names or headers may
        hide the type's name."""
        from numbalite.cxx import devicelib

        words = names_of_type(t)
        # The type is also qualified if a user's header may declare a name of numbalite's headers.
        hidden = words & (devicelib.LIBRARY_NAMES if self.includes else self.hiding)
        cxx = t.cxx.replace("layout::", "layout::nl_") if self.has_macros else t.cxx
        if not hidden:
            return cxx
        return re.sub(rf"(?<!:)\b({'|'.join(sorted(hidden))})\b", r"numbalite::\1", cxx)

    def add_function(self, function) -> str:
        """Writes a device function if the source does not contain it yet. Returns its namespace."""
        if function in self.functions:
            namespace = self.functions[function]
            if function in self.unfinished and function is not self.unfinished[-1]:
                self.forward_declare(function)
            return namespace
        if function.definition.is_python:
            return self.add_instances(function)
        plain_name = re.sub(r"\W+", "_", ascii_name(function.name)).strip("_")  # "f<float>"
        namespace = f"f{len(self.functions) + 1}_{plain_name}"
        self.functions[function] = namespace
        self.unfinished.append(function)
        if function.options:
            self.add_linked_texts(function.options.link)
            self.given = self.given or bool(function.options.options)
        definition = function.definition
        taken = self.open_namespace(namespace, definition, function.number_type)
        self.replace_numbers(function.number_type)
        if definition.is_unit:
            self.write_user(self.user_text(definition))
        else:
            self.write_bodies(function, self.user_text(definition))
        self.restore_numbers(function.number_type)
        self.close_namespace(namespace, definition, taken)
        self.unfinished.remove(function)
        return namespace

    def add_instances(self, function) -> str:
        """Writes a device function with a Python body, once for each signature; returns a namespace that
        contains all versions."""
        instances = function.definition.instances(function)
        number_type = function.number_type
        inner = [self.add_function(self.with_numbers(i, number_type)) for i in instances]
        plain_name, name = ascii_name(function.name), function.cxx_name
        namespace = self.functions[function] = f"f{len(self.functions) + 1}_{plain_name}"
        using = "".join(f"using {of}::{name};\n" for of in inner)
        self.write(f"namespace {namespace} {{\n{using}}} // namespace {namespace}\n\n")
        return namespace

    def replace_numbers(self, number_type):
        """Replaces float and double by ``number_type`` in the following text, by macros.

        `restore_numbers` removes the macros.
        """
        if number_type:
            for name in (
                _FLOATING
            ):  # a macro may contain its own name, which the preprocessor does not expand again
                self.write(f"#define {name} {number_type.format(name)}\n")
            for name, of in _FLOATING_ALIASES.items():
                self.write(f"#define {name} {of}\n")

    def restore_numbers(self, number_type):
        if number_type:
            names = (*_FLOATING, *_FLOATING_ALIASES)
            self.write("".join(f"#undef {name}\n" for name in names))

    def write_alias(self, name, function, namespace):
        """Declares a device function in C++ under its name in the Python scope."""
        own = function.cxx_name
        if own == name:
            self.write(f"using {namespace}::{own};\n")
            return
        # The return type is a decltype, and a #line directive refers to a separate file.
        # Compilers therefore report a wrong call at the user's line.
        call = f"{namespace}::{own}(static_cast<nl_T &&>(nl_t)...)"
        is_object = reserved.is_reserved(name)
        called, const = ("operator()", " const") if is_object else (name, "")
        text = (
            f"template <class... nl_T> __device__ __forceinline__ auto {called}(nl_T &&...nl_t){const} -> "
            f"decltype({call}) {{ return {call}; }}"
        )
        # A function object also prevents argument-dependent lookup of CUDA's functions of this name
        if is_object:
            text = (
                f"struct nl_of_{name} {{ {text} }};\n__device__ constexpr nl_of_{name} {name}{{}};"
            )
        self.write(f'#line 1 "numbalite/{name}"\n{text}\n')
        self.pieces.append(None)

    def forward_declare(self, function):
        """Declares a function before its definition, for mutual recursion; raises TypeError if the function
        has no declared types."""
        if not function.signatures or any(s.return_type is None for s in function.signatures):
            raise TypeError(
                f"the device function {function.name} calls itself through others: it needs a "
                f'signature with its return type, such as cuda.jit("float32(float32)", device=True)'
            )
        self.write(f"namespace {self.functions[function]} {{\n")
        self.replace_numbers(function.number_type)
        for signature in function.signatures:
            self.write(self.function_head(function, signature) + ";\n")
        self.restore_numbers(function.number_type)
        self.write("}\n")

    def function_head(self, function, signature):
        definition = function.definition
        parameters = [ascii_name(p) for p in definition.parameters]
        forced = function.options and function.options.forceinline
        inline = "__forceinline__" if forced else "inline"  # __forceinline__ implies inline
        name = function.cxx_name
        if signature is None:
            if not parameters:
                return f"{inline} __device__ auto {name}()"
            heads = ", ".join(f"class {p}_type" for p in parameters)
            args = ", ".join(f"{p}_type {p}" for p in parameters)
            head = "__forceinline__ __device__" if forced else "__device__"
            return f"template <{heads}>\n{head} auto {name}({args})"
        self.add_types(*signature.args, *filter(None, [signature.return_type]))
        result = "auto" if signature.return_type is None else self.type_text(signature.return_type)
        pairs = zip(signature.args, parameters, strict=True)
        args = ", ".join(f"{self.type_text(t)} {p}" for t, p in pairs)
        return f"{inline} __device__ {result} {name}({args})"

    def write_bodies(self, function, body):
        expression = bool(body.value.strip()) and not has_statement(body.value)
        for signature in function.signatures or (None,):
            self.write(self.function_head(function, signature) + " {\n")
            self.write("return (\n" if expression else "")
            self.write_user(body, "); }" if expression else "}")


# --- whole sources -----------------------------------------------------------------------------------


def kernel_source(
    definition: Definition, signature, launch_bounds=(), prepended=(), macros=False
) -> tuple[SourceBuilder, str]:
    """Builds the source of a kernel from its body, for one signature.

    ``prepended`` are Texts of complete declarations to compile first. ``macros`` is True if the compiler
    options define macros. Returns (SourceBuilder, name expression of the kernel).
    """
    name = ascii_name(definition.name)
    builder = SourceBuilder(definition.name, f"{definition.name}: {signature}")
    builder.takes_pointers = True
    builder.given = macros
    builder.add_types(*signature.args)
    builder.add_linked_texts(prepended)
    namespace = f"k_{name}"
    taken = builder.open_namespace(namespace, definition)
    args, lead = _kernel_parameters(builder, definition.parameters, signature.args)
    bounds = f"__launch_bounds__({', '.join(map(str, launch_bounds))}) " if launch_bounds else ""
    before, behind = templates.template_halves(
        "kernel", kernel=f"nl_{name}", bounds=bounds, parameters=args, lead=lead
    )
    builder.write(before)
    builder.write_user(builder.user_text(definition), behind)
    builder.close_namespace(namespace, definition, taken)
    return builder, f"{namespace}::nl_{name}"


def _kernel_parameters(builder, names, args):
    """Returns (the parameter list of a kernel, the declarations before the user's lines).

    A 0-dimensional array is a reference in the body. A kernel cannot have a reference parameter, so the
    parameter is a pointer, and the body begins with a declaration of the reference. A dtype argument becomes
    a type alias.
    """
    heads, lead = [], ""
    for name, t in zip(map(ascii_name, names), args, strict=True):
        ctype = builder.type_text(t)
        if isinstance(t, types.Array) and t.ndim == 0:
            heads.append(f"{ctype.removesuffix('&')}*nl_{name}")
            lead += f"{ctype}{name} = *nl_{name};\n"
        elif isinstance(t, types.Empty) and t.dtype is not None:
            heads.append(ctype)
            lead += f"using {name} = {builder.type_text(t.dtype)};\n"
        else:
            heads.append(f"{ctype} {name}")
        if isinstance(t, types.Tuple):
            lead += f'static_assert(sizeof({ctype}) == {t.size}, "a tuple of another size");\n'
    return ", ".join(heads), lead


def device_source(function, exported: str = "", signature=None) -> str:
    """Returns the C++ source of a device function; with ``exported``, also an extern "C" function of this name that
    calls it."""
    builder = SourceBuilder(function.name, repr(function))
    namespace = builder.add_function(function)
    if exported:
        builder.add_types(*signature.args)
        names = [f"a{i}" for i in range(len(signature.args))]
        args = ", ".join(f"{t.cxx} {n}" for t, n in zip(signature.args, names, strict=True))
        result = "auto" if signature.return_type is None else signature.return_type.cxx
        builder.write(
            f'extern "C" __device__ {result} {exported}({args}) '
            f"{{ return {namespace}::{function.cxx_name}({', '.join(names)}); }}\n"
        )
    return builder.join_source()


def unit_source(text: Text, prepended=()) -> str:
    """Returns the C++ source of a complete translation unit of the user. ``prepended`` are the Texts to
    compile before the unit."""
    texts = *prepended, text
    used = set().union(*(identifiers(piece.value) for piece in texts))
    head = _library_includes(used, _included_names(texts)) + "using namespace numbalite;\n"
    return head + "".join(piece.with_line_directives() + "\n" for piece in (*prepended, text))


DECLARATION = "<declaration>"
"""The label of a Text that only declares a function, which another Text may define."""


def _declared_names(text):
    return re.findall(r"(\w+)\(", text)


STAND_IN = "nl_absent"


def placeholder_text(variables) -> str:
    """Returns the C++ text for the end of a unit that declares placeholders for variables which an #if may have
    removed.

    A lookup of ``::x`` finds the unit's x if it exists; otherwise, it finds the placeholder through a
    using-directive.
    """
    if not variables:
        return ""
    inner = {name.rpartition("::")[2]: True for name in variables}
    text = f"namespace nl_not_there {{ struct {STAND_IN} {{}}; "
    text += " ".join(f"__device__ {STAND_IN} {name};" for name in inner) + " }\n"
    for outer in dict.fromkeys(name.rpartition("::")[0] for name in variables):
        use = "using namespace nl_not_there;"
        for part in reversed(outer.split("::") if outer else ()):
            use = f"namespace {part} {{ {use} }}"
        text += use + "\n"
    return text


def scope_source(definition: Definition) -> tuple[Text, dict]:
    """Generates the Python names that a complete unit captures.

    Returns (Text to compile before the unit, names that cannot be captured -> reason). The Text is empty if
    the unit captures no Python names.
    """
    builder = SourceBuilder(definition.name)
    taken = builder.open_namespace(_SCOPE, definition)
    builder.write(f"}} // namespace {_SCOPE}\nusing namespace {_SCOPE};\n")
    for name in sorted(builder.macros):
        builder.write(f"#undef {name}\n#define {name} {ascii_name(name)}\n")
    kinds = taken.constants, taken.macros, taken.arrays, taken.functions, taken.types
    included = [line for _, line, label in builder.includes if label != definition.text.label]
    pieces = [*dict.fromkeys(included), *builder.records.values()]
    pieces += [text.with_line_directives() for text in builder.linked_texts()]
    pieces += filter(None, builder.pieces)
    value = "\n".join(pieces) if any(kinds) else ""
    return consecutive_text(value, "<names of the Python scope>"), builder.refused


_SCOPE = "from_python"


def plain_name(name: str) -> str:
    """Returns a C++ name without its namespaces and template arguments."""
    return name.partition("<")[0].rpartition("::")[2].strip()


def line_range(text: Text, is_python: bool = False) -> LineRange:
    """Returns the line range of a Text; warnings at these lines belong to the Text."""
    return LineRange(text.label, min(text.lines), max(text.lines), is_python)


def is_package_file(label: str) -> bool:
    """Returns whether the file belongs to the numbalite package."""
    return label.startswith(_PACKAGE)


def generated_path(name: str, label: str) -> str:
    """Returns the path of the generated file. The generated file is in the user's folder, so that quoted
    #includes are found relative to the folder."""
    folder = os.path.dirname(label) if os.path.isabs(label) else ""
    return os.path.join(folder, f"{name}.cu")


@functools.lru_cache(maxsize=128)
def identifiers(text: str, parameters=()) -> frozenset:
    """Returns the set of names in a source that may belong to numbalite's headers: unqualified names, and
    names next to a ``::``."""
    found = set(free_names(text, parameters))
    tokens = tokenize(text)
    for before, token in itertools.pairwise(tokens):
        if token.text == "::" and before.kind == "name":
            found.add(before.text)
        elif before.text == "::" and token.kind == "name":
            found.add(token.text)
    return frozenset(found)


def names_of_type(t: types.Type) -> set:
    """Returns the set of names in the C++ spelling of a type, such as `array`, `float16` and others in
    `array<const float16, 1>`."""
    return {token.text for token in tokenize(t.cxx) if token.kind == "name"}


def included_name(line: str) -> str:
    """Returns the file name in an #include line: "x.h" for ``#include <x.h>``; "" in other
    lines."""
    return next((name for name, _ in headers.included_names(line)), "")


def _included_names(texts) -> list:
    """Returns the list of names in the #include lines of these Texts."""
    return [
        included_name(token.text)
        for text in texts
        for token in tokenize(text.value)
        if token.kind == "directive" and directive_word(token.text) in INCLUDES
    ]


def _library_includes(used, includes):
    from numbalite.cxx import devicelib

    return devicelib.prologue_text(set(used), includes)
