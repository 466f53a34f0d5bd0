"""Compiles a source to a shared object with the host C++ compiler, for the simulator or for the CPU targets.

g++ compiles to an object file in one step. clang++ runs twice: the front end generates LLVM IR, irpatch rewrites
operations that C++ leaves undefined, and the back end generates the object file. hostlink links the shared object.

The image does not use a C++ library, and exports only its tables (cuda_src/sim/exports.h, cuda_src/host/exports.h).
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from typing import NamedTuple

from numbalite import config
from numbalite.compilers import (
    cccl,
    elf,
    folders,
    forkserver,
    headers,
    host,
    hostlink,
    hostlog,
    hostoptions,
    hostprelude,
    hostunit,
    longlines,
    process,
    slipwarnings,
)
from numbalite.compilers.hostheaders import CopiedHeaders, escape_file_name
from numbalite.compilers.image import Image, wrap_shared_object
from numbalite.compilers.sim import coverage, debugger, irpatch, staticshared, translation
from numbalite.cxx import scanner
from numbalite.errors import CompileError, CudaSupportError, SimulatorWarning, warn
from numbalite.types.demangle import demangle

_OLDEST = {"gcc": (9, 0), "clang": (10, 0)}
_DESCRIPTION = re.compile(rb"const[ -~]*NLDESC\(\) \[(?:with int )?index = (\d+)[^\0]*")
_SANITIZER = re.compile(r"lib(clang_rt\.)?(a|hwa|l|m|t|ub)san\b")
_UNFIT = re.compile(r"\bPCH\b|precompiled|\.pch|\.gch")
# The warnings of g++ about C++ extensions that NVRTC rejects.
_REFUSED = re.compile(
    r"variable length array|zero-size array|flexible array|compound-literals|braced-groups"
    r"|omitted middle operand|omitting the middle term|range expressions in switch"
    r"|address of a label|computed goto|only available with .-std=c\+\+2|'register' storage class"
    # g++ treats the end of a function without a return statement as unreachable.
    r"|no return statement in function returning non-void"
)
# Link without a C++ library and without undefined symbols, which dlopen would report too late.
# With -Bsymbolic, an image calls its own functions, never functions of other libraries with the same name.
_LINK = ["-shared", "-Wl,-z,defs", "-Wl,--as-needed", "-Wl,-Bsymbolic"]
_SHARED_LIMIT, _CONSTANT_LIMIT = 48 << 10, 64 << 10
# Matches warp reductions in volatile shared memory: x[t] += x[t + 16]
_IN_STEP = re.compile(
    r"\bvolatile\b[^;{}()]*?\b(\w+)\s*(?=[\[,;)=])"
    r".*\b\1\s*\[\s*(\w+)\s*\]\s*[+*|&^]?=[^;=]*\b\1\s*\[\s*\2\s*[+^-]",
    re.DOTALL,
)
_NOT_IN_STEP = (
    "g++ does not tell the simulator of volatile accesses: lanes of a warp that count on lockstep run one "
    "after the other. With clang++ they meet there (NUMBALITE_CXX=clang++); __syncwarp() is right anywhere"
)
_MAY_BE_ENDLESS = re.compile(r"\bwhile\b|\bfor *\( *; *; *\)")
"""Flags for loops without side effects: C++ compilers assume that they end, and remove endless ones. On a GPU,
and in Python, such loops do not end."""
# Matches errors about names that are missing in numbalite's subset of libcu++ and cuRAND.
_OF_CCCL = re.compile(r"error: .*\bcuda::")
_OF_CURAND = re.compile(r"error: .*\bcurand")
# Zig's name for the copy of its standard input
_ZIG_STDIN = re.compile(r"[^\s:]*/tmp/[0-9a-f]+-stdin\.cpp")
_NOBODYS = (
    hostunit.END,
    "<stdin>",
    "<built-in>",
    "<command line>",
    "<command-line>",
    "<scratch space>",
)


class CompilerVersion(NamedTuple):
    """The result of a compiler's --version. family: "clang" or "gcc"; title: the line with its name."""

    family: str
    version: tuple
    title: str


_identities: dict[tuple, CompilerVersion] = {}  # command -> CompilerVersion


def identify_compiler(compiler) -> CompilerVersion:
    """Runs the compiler's --version, once per process. Raises CudaSupportError if the host compiler is not
    supported."""
    identity = _identities.get(compiler.command)
    if identity is None:
        result = _run_in_folder([*compiler.command, "--version"])
        if result.returncode:
            log = result.stderr.decode(errors="replace").strip()
            raise CudaSupportError(f"{shlex.join(compiler.command)} --version fails: {log[-2000:]}")
        identity = _identities[compiler.command] = _compiler_version(
            compiler, result.stdout.decode(errors="replace")
        )
    return identity


def describe_compiler() -> str:
    """Returns a line about the host compiler for ``python -m numbalite info``."""
    compiler = host.find_compiler()
    return f"{identify_compiler(compiler).title} ({' '.join(compiler.command)})"


def _compiler_version(compiler, text):
    title = text.partition("\n")[0].strip()
    clang = re.search(r"clang version (\d+)\.(\d+)", text)
    gcc = not clang and re.search(r"(?:g\+\+|gcc|GCC|c\+\+).*?\b(\d+)\.(\d+)\.\d+", title)
    match = clang or gcc
    if match is None:
        name = shlex.join(compiler.command)
        raise CudaSupportError(f"{name} is neither g++ nor clang++ ({title!r}): {host.INSTALL}")
    family = "clang" if clang else "gcc"
    version = (int(match[1]), int(match[2]))
    if version < _OLDEST[family]:
        raise CudaSupportError(
            f"{title} is too old: g++ 9, clang++ 10, or newer are needed: {host.INSTALL}"
        )
    return CompilerVersion(family, version, title)


def _compiler_family(compiler):
    """Returns "clang" or "gcc", by the compiler's file name if possible: running the compiler takes as long
    as a compilation."""
    if compiler.is_zig:
        return "clang"
    name = os.path.basename(os.path.realpath(compiler.path))
    if "clang" in name:
        return "clang"
    return (
        "gcc"
        if re.search(r"(^|-)(g\+\+|gcc)(-\d+)?$", name)
        else identify_compiler(compiler).family
    )


def _compiler_environment(command):
    """Returns the compiler's environment variables: English messages, no preloaded sanitizer of this process, and a
    cache folder that zig can write to."""
    environment = {**os.environ, "LC_ALL": "C"}
    if host.Compiler(tuple(command), command[0]).is_zig and not _can_zig_write_cache():
        environment["ZIG_GLOBAL_CACHE_DIR"] = _temporary_zig_cache().name
    preloaded = re.split(r"[\s:]+", environment.pop("LD_PRELOAD", "").strip())
    kept = [name for name in preloaded if name and not _SANITIZER.match(os.path.basename(name))]
    if kept:
        environment["LD_PRELOAD"] = ":".join(kept)
    return environment


def _can_zig_write_cache():
    """Returns whether zig can write to its cache folder, which zig needs even for --version."""
    folder = config.read_external("ZIG_GLOBAL_CACHE_DIR")
    if not folder:
        home = config.read_external("HOME")
        parent = config.read_external("XDG_CACHE_HOME") or (home and os.path.join(home, ".cache"))
        if not parent:
            return False
        folder = os.path.join(parent, "zig")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


@functools.cache
def _temporary_zig_cache():
    """Returns a working folder for zig's cache, which exists until the process ends."""
    return folders.WorkingFolder()


def _run_in_folder(command, stdin=b"", folder=os.sep):
    """Runs a compiler, by the fork server if possible. The compiler runs in `folder`, because the current
    directory of the process may have been deleted."""
    if "clang" in os.path.basename(os.path.realpath(command[0])):
        result = forkserver.run_compiler(
            command, stdin, folder, _compiler_environment(command), _run_program
        )
        if result is not None:
            return result
    return _run_program(command, stdin, folder)


def _run_program(command, stdin=b"", folder=os.sep):
    """Runs a program to its end. An interrupt ends the program and its child processes."""
    try:
        return process.run_program(command, stdin, folder, _compiler_environment(command))
    except OSError as problem:
        raise CudaSupportError(f"{command[0]} cannot be run: {problem}") from problem


def _absolute_path(path):
    """Returns the absolute path, because compilers run in other working directories.

    If the current directory was deleted, the returned path is in a nonexistent folder.
    """
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return os.path.join("/deleted", path)


def _has_fmad_option(source):
    return any(option.lstrip("-").startswith("fmad") for option in source.options)


def compile(source, kind="sim", *checks) -> Image:
    """Compiles a source to an Image for the simulator ("sim") or for the CPU targets ("host").

    checks: the names in config.CHECKS for which an image of the simulator is instrumented.
    """
    compiler = host.find_compiler()
    family = _compiler_family(compiler)
    covers, checks = host.split_coverage(checks)
    if covers and family == "gcc":
        raise CudaSupportError(
            "coverage of kernels needs clang++ or zig: set NUMBALITE_CXX=clang++"
        )
    options = hostoptions.read_options(source)
    if kind == "host" and source.is_python and not (source.fastmath or _has_fmad_option(source)):
        # No contraction, as in Python, and as numba on the CPU
        options = options._replace(fmad=False)
    flags = host.code_flags(family, options, source.opt, kind, checks, covers)
    if checks and family == "clang" and identify_compiler(compiler).version >= (16, 0):
        # The last array of a struct has its declared length; without the flag, clang++ treats it as flexible.
        flags.append("-fstrict-flex-arrays=1")
    flags += _without_outlined_atomics(compiler, family)
    text = source.text
    users = [_absolute_path(path) for path in (*options.includes, *config.INCLUDE_PATH)]
    if kind == "sim":
        text = translation.replace_host_headers(text, dict(source.headers), users)
        if family == "gcc" and _IN_STEP.search(text):
            warn(_NOT_IN_STEP, SimulatorWarning)
    near = _absolute_path(os.path.dirname(source.name))
    with folders.WorkingFolder() as folder:
        own = os.path.join(folder, "include")
        marks = family == "gcc" and "divide" not in checks
        included = CopiedHeaders(
            source, options.before, users, near, own, bool(checks), kind, marks
        )
        text = included.translate_source_text(text)
        whole = hostunit.translation_unit(
            source, included.include_copies(text), kind, checks, covers
        )
        whole = included.include_copies(options.before) + whole
        cuda_src = headers.cuda_src()
        last = ["-I", cuda_src, "-I", f"{cuda_src}/sim/include"]
        if _MAY_BE_ENDLESS.search(source.text):
            last.append("-fno-finite-loops")
        if options.debug:
            last += _text_flags(source, folder)
        output = os.path.join(folder, "image.so")

        def build_image(real, behind=()):
            between = [word for path in real for word in ("-I", path)]
            end = [word for path in behind for word in ("-I", path)]
            search = [*included.search_options(), *between, *last, *end]
            build = _Compilation(source, compiler, family, flags, search, output, kind, checks)
            build.marked, build.covers = included.has_division_marks, covers
            build.header = "prelude.h" if options.before else "head.h"
            if (
                kind == "sim"
                and family == "clang"
                and not (options.before or real or source.headers)
            ):
                build.macros = hostprelude.header_macros(source.text)
            return build.run(f'#include "sim/cccl.h"\n{whole}' if real else whole), build.unit

        real = cccl.search_folders(included.texts) if kind == "sim" else []
        try:
            log, unit = build_image(real)
        except CompileError as problem:
            if kind != "sim":
                raise
            front, behind = _additional_include_folders(problem.log, included.texts, real)
            if cccl.forget_damaged_headers():
                front = cccl.search_folders(included.texts)
            elif len(front) == len(real):
                raise
            log, unit = build_image(front, behind)
        with open(output, "rb") as file:
            data = file.read()
    slips = tuple(slipwarnings.slips_of_host_log(log, source))
    log = "" if family == "gcc" else _log_reader(source).warnings(log)
    return _create_image(source, kind, data, log, unit).replace(slips=slips)


def _without_outlined_atomics(compiler, family):
    """Returns a list with the flag that disables out-of-line atomics on 64-bit Arm, or [] for other processors and for
    compilers without the flag.

    Without the flag, compilers call atomics in libgcc, which queries the processor's features from the C
    library. Images are linked without libgcc and the C library, and are compiled for this processor.
    """
    if os.uname().machine not in ("aarch64", "arm64"):
        return []
    since = (10, 0) if family == "gcc" else (12, 0)
    return ["-mno-outline-atomics"] if identify_compiler(compiler).version >= since else []


def _additional_include_folders(log, texts, real):
    """Returns two lists of the toolkit's include folders that declare the names missing in the log: those to search
    before numbalite's folders, and after them."""
    behind = []
    if not real and _OF_CCCL.search(log):
        real = cccl.search_folders(texts, all_of_it=True)
    if _OF_CURAND.search(log) and (curand := cccl.search_curand()):
        real, behind = [*real, *curand[0]], curand[1]
    return real, behind


def _create_image(source, kind, data, log, unit):
    """Creates the Image of a shared object. unit: the IR of the kernels, if the compiler generated it."""
    names = [*source.kernels, *source.variables]
    texts = {int(match[1]): match[0].decode() for match in _DESCRIPTION.finditer(data)}
    symbols = names  # the runtime reads the description table in the image
    if kind == "sim":
        _check_shared_size(data, source, unit)
        _check_constant_size(data, source)
        data = wrap_shared_object(data)
        symbols = [f"nl_sim_kernel_{i}" for i in range(len(source.kernels))]
        symbols += [f"nl_sim_variable_{i}" for i in range(len(source.variables))]
    return Image(
        kind=kind,
        data=data,
        arch=kind,
        lowered=dict(zip(names, symbols, strict=True)),
        descriptions={name: texts[i] for i, name in enumerate(names)} if source.describe else {},
        log=log,
        source=source.text,
    )


def _text_flags(source, folder):
    """Returns a list with the flag that maps the build folder to the folder where debuggers find generated source
    texts."""
    texts = debugger.write_texts(source.text)
    return [f"-fdebug-prefix-map={folder}={texts}"] if texts else []


def _check_shared_size(data, source, unit):
    """Raises CompileError if a kernel and its callees have more than 48 KiB of static __shared__ variables,
    the limit of a GPU.

    unit: the kernels' LLVM IR, or None for g++, for which each function is checked separately.
    """
    sizes = {
        symbol: size
        for symbol, size in elf.thread_local_variables(data)
        if not symbol.startswith("_ZN13numbalite_sim")
    }
    if unit is None:
        functions = {}
        for symbol, size in sizes.items():
            place, _, name = _split_local_name(symbol)
            functions.setdefault(place or symbol, []).append((name, size))
        kernels = functions.values()
    elif sum(sizes.values()) <= _SHARED_LIMIT and "shared_variable" not in unit:
        return
    else:
        kept = {*sizes, *(symbol for symbol, _ in elf.global_variables(data))}
        kernels = [
            [
                (
                    v.name or _split_local_name(v.symbol)[2],
                    sizes.get(v.symbol, 0) if v.size is None else v.size,
                )
                for v in variables
                if v.symbol in kept
            ]
            for variables in staticshared.shared_variables_by_kernel(unit)
        ]
    how = "cuda.shared.array(0, dtype)" if source.is_python else "extern __shared__ memory"
    for variables in kernels:
        larger = f"{how}, sized by the launch, can be larger"
        _check_variables_size("shared", variables, _SHARED_LIMIT, larger, source)


def _check_constant_size(data, source):
    """Raises CompileError for more than 64 KiB of __constant__ variables, the limit of a GPU."""
    texts = (source.text, *dict(source.headers).values())
    found = [v for text in texts if "__constant__" in text for v in scanner.scan_source(text)[1]]
    names = {variable.name for variable in found if variable.space == "__constant__"}
    last_names = {scanner.last_name(name) for name in names}
    variables = {}
    for symbol, size in elf.global_variables(data) if names else ():
        if not any(name in symbol for name in last_names):
            continue
        name = _demangle(symbol).replace("(anonymous namespace)::", "").partition("<")[0]
        if name in names:
            variables[name] = size + variables.get(name, 0)
    _check_variables_size(
        "constant", variables.items(), _CONSTANT_LIMIT, "__device__ memory can be larger", source
    )


def _check_variables_size(kind, variables, limit, larger, source):
    total = sum(size for _, size in variables)
    if total <= limit:
        return
    largest = sorted(variables, key=lambda variable: variable[1])[::-1]
    names = ", ".join(f'"{name}"' for name in dict.fromkeys(name for name, _ in largest))
    several = len(variables) > 1
    raise CompileError(
        f"error: the {kind} variable{'s' * several} {names} {'have' if several else 'has'} {total} "
        f"bytes{' together' * several}, {limit} are possible; {larger}",
        source=source.text,
    )


def _split_local_name(name):
    """Splits the mangled name of a function's variable, such as "_ZZ4kernPfE1a", into ("_ZZ4kernPf", "E1",
    "a"); returns ("", "", name) for other names."""
    found = re.fullmatch(r"(_ZZ.*)(E\d+)(\w+?)(?:_\d*_?)?", name)
    if found:
        length = int(found[2][1:])
        rest = name[found.end(2) :]
        return found[1], found[2], rest[:length]
    return "", "", re.sub(r"^_ZL?\d+(?=\D)", "", name)


def _is_numbalite_file(file):
    return file.startswith(headers.cuda_src()) or _is_system_file(file)


def _is_simulator_file(file):
    """Returns whether the file implements the simulator: its code runs before the flags are mapped."""
    return file.startswith(os.path.join(headers.cuda_src(), "sim", "")) or _is_system_file(file)


def _is_system_file(file):
    """Returns whether the file is generated text, or a file of the compiler or of the system."""
    if file in _NOBODYS or file.startswith(("numbalite/", "/usr/include/", "/usr/lib")):
        return True
    return "/include/c++/" in file or "/libcxx/include/" in file or "/lib/clang/" in file


class _Compilation:
    """The steps and the state of one compilation."""

    def __init__(self, source, compiler, family, flags, search, output, kind, checks=()):
        self.source, self.compiler, self.family, self.flags = source, compiler, family, flags
        self.search, self.output, self.kind = search, output, kind
        self.checks, self.log, self.whole = checks, "", ""
        self.unit = None  # the kernels' LLVM IR, which the front end generated
        self.marked = False  # whether the source contains marks at divisions
        self.covers = None  # a name of host.COVERAGE
        self.header = "prelude.h"  # the precompiled parts
        self.macros = ()  # the numbalite headers with which the source begins (hostprelude.header_macros)
        # Flags for delayed template parsing: NVRTC parses template bodies only when they are instantiated.
        # clang++ cannot use precompiled headers with these flags, so they are tried second.
        self.delayed = []

    def run(self, whole):
        """Writes the shared object to `output` and returns the compiler's log."""
        self.whole = whole
        text = whole.encode("utf-8", "surrogatepass")
        of = (self.kind, self.header)
        if self.macros and hostprelude.has_common_headers(
            self.compiler, self.family, self.flags, self.kind, self.macros
        ):
            of = (self.kind, hostprelude.LIBRARY_HEAD, *self.macros)
        prelude = hostprelude.prelude_arguments(
            self.compiler, self.family, self.flags, _run_in_folder, *of
        )
        try:
            self._compile_objects(text, prelude)
        except CompileError as problem:
            as_text = hostprelude.text_arguments(self.kind)
            # The precompiled prelude was damaged or removed meanwhile, or the compiler rejects it.
            build = self.compiler, self.family, self.flags
            damaged = prelude != as_text and hostprelude.discard_damaged_header(*build, *of)
            if damaged or (prelude != as_text and _UNFIT.search(problem.log)):
                if not damaged:
                    hostprelude.discard_header(self.compiler, self.flags, *of)
                self.log = ""
                self._compile_objects(text, as_text)
            elif self.family == "clang" and self.kind == "sim" and "template" in whole:
                self.log = ""
                self.delayed = ["-fdelayed-template-parsing"]
                self._compile_objects(text, as_text)
            else:
                raise
        return self.log

    def _compile_objects(self, text, prelude):
        objects = [self._compile_unit(text, prelude, self.output[: -len(".so")])]
        if self.checks:
            objects.append(f"{self.output}.hooks.o")
            hooks = hostprelude.hooks_object_file(self.compiler, self.flags, self._compile_hooks)
            with open(objects[1], "wb") as file:
                file.write(hooks)
        if self.family == "gcc":
            self._turn_warnings_into_errors()
        self._link_objects(objects)
        if self.compiler.is_zig:
            self._check_undefined_names()

    def _compile_hooks(self):
        """Compiles the functions that instrumented code calls; their object file is equal for all kernels."""
        header, output = f"{headers.cuda_src()}/sim/hooks.h", f"{self.output}.hooks.o"
        self._run_step([*self._compile_command(), "-x", "c++", "-c", header, "-o", output])
        with open(output, "rb") as file:
            return file.read()

    def _compile_command(self):
        command = [*self.compiler.command, *self.flags, "-fdiagnostics-color=never"]
        if self.compiler.is_zig:  # without optimization, zig enables UBSan
            command.append("-fno-sanitize=undefined")
        return command

    def _compile_unit(self, text, prelude, path):
        """Compiles a unit to an object file next to `path`. Returns its path."""
        gcc = self.family == "gcc"
        common = self._compile_command()
        limit = "-fmax-errors=20" if gcc else "-ferror-limit=20"
        front = [*common, limit, *self.delayed, *prelude, *self.search, "-x", "c++", "-"]
        object_file = path + ".o"
        if gcc:
            self._run_step([*front, "-c", "-o", object_file], text)
            return object_file
        self._run_step(
            [*front, "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", path + ".ll"],
            text,
        )
        with open(path + ".ll", encoding="utf-8", errors="surrogateescape") as file:
            ir = file.read()
            if path == self.output[: -len(".so")]:
                self.unit = ir
            if self.covers:
                only_users = self.covers == host.OF_USERS
                excluded = _is_numbalite_file if only_users else _is_simulator_file
                ir = coverage.insert_flags(ir, lambda file: not excluded(file))
            ir = irpatch.rewrite_ir(
                ir,
                self.kind == "sim",
                self._vectorized_function_level(),
                self.checks,
                self.source.is_python,
            )
        with open(path + ".ll", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(ir)
        # The front end marked the operations that may be contracted; "fast" would contract all others, too.
        common = [flag.replace("contract=fast", "contract=on") for flag in common]
        self._run_step([*common, "-c", path + ".ll", "-o", object_file])
        return object_file

    def _link_objects(self, objects):
        command = self.compiler.command
        if self.compiler.is_zig:
            # Without -nostdlib, zig would build a C library to link with.
            # _check_undefined_names checks the few names of the C library that images use.
            self._run_step([*command, "-shared", "-nostdlib", *objects, "-o", self.output])
            return
        gcc = ["-nodefaultlibs", "-lm", "-lc", "-lgcc"]
        flags = [*_LINK, *(gcc if self.family == "gcc" else ["-nostdlib++", "-lm"])]
        self._check_step_result(
            hostlink.link_image(command, flags, objects, self.output, self._run_in_folder)
        )

    def _vectorized_function_level(self):
        """Returns how many groups of vectorized libm functions (host.vector_math) the code can call, from 0 to 2, or 0 with
        zig, which does not link with their library."""
        return host.vector_math_level() if self.kind == "host" and not self.compiler.is_zig else 0

    def _run_in_folder(self, command, stdin=b""):
        return _run_in_folder(command, stdin, os.path.dirname(self.output))

    def _turn_warnings_into_errors(self):
        """Converts warnings of g++ about C++ extensions to errors; clang++ has flags for this purpose
        (host.py)."""
        errors = (
            hostlog.warnings_as_errors(self.log, _REFUSED, _is_numbalite_file)
            if self.kind == "sim"
            else ""
        )
        if errors:
            raise self._compile_error(errors)

    def _run_step(self, command, stdin=b""):
        return self._check_step_result(self._run_in_folder(command, stdin))

    def _check_step_result(self, result):
        log = result.stderr.decode("utf-8", "replace")
        self.log += log
        if result.returncode:
            raise self._compile_error(log)
        return result.stdout

    def _check_undefined_names(self):
        """Raises the linker's error for names that neither the image nor the C library defines."""
        import ctypes

        libraries = [ctypes.CDLL(None), ctypes.CDLL("libm.so.6")]
        with open(self.output, "rb") as file:
            names = elf.undefined_symbols(file.read())
        missing = [n for n in names if not any(hasattr(library, n) for library in libraries)]
        if missing:
            log = "".join(f"undefined reference to '{_demangle(name)}'\n" for name in missing)
            raise self._compile_error(log)

    def _compile_error(self, log):
        if self.compiler.is_zig:
            log = _ZIG_STDIN.sub("<stdin>", log)
        text = _log_reader(self.source, self.whole, self.marked).errors(log)
        if not text:
            identify_compiler(self.compiler)  # raises an exception if the compiler is too old
            full = folders.full_disk_reason(os.path.dirname(self.output))
            text = f"{shlex.join(self.compiler.command)} failed:\n{full or log.strip()[-2000:]}"
        elif all(
            hostunit.END in line or _is_numbalite_file(line)
            for line in text.splitlines()
            if "): error" in line
        ):
            text = _unclosed_bracket_error(self.source) or text
        return CompileError(text, log=longlines.shorten_lines(log), source=self.source.text)


def _demangle(name):
    """Returns the demangled name of a symbol, or the symbol itself if demangling fails."""
    try:
        return demangle(name)
    except ValueError:
        return name


def _log_reader(source, read="", marked=False):
    names = [*source.kernels, *source.variables]
    meanings = {f"{hostunit.END}/{i}": f'in the name "{name}"' for i, name in enumerate(names)}
    text = f'#line 1 "{escape_file_name(source.name)}"\n{source.text}'
    return hostlog.LogReader(text, read, _is_numbalite_file, meanings, marked)


def _unclosed_bracket_error(source):
    """Returns an error message at the position of an unclosed bracket, because compilers report a later
    position."""
    tokens = scanner.tokenize(source.text)
    partner = scanner.match_brackets(tokens)
    for at in reversed(range(len(tokens))):
        token = tokens[at]
        if token.kind == "sign" and token.text in ("{", "(", "[") and at not in partner:
            before = f'#line 1 "{escape_file_name(source.name)}"\n' + source.text[: token.start + 1]
            file, line = list(hostlog.texts_by_line(before))[-1]
            return f'{file}({line}): error: this "{token.text}" is never closed'
    return ""
