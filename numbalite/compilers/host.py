"""Selects the host C++ compiler and its flags.

There are two targets. "sim" is the CPU simulator, which runs kernels with a grid. "host" compiles functions for the CPU:
the cpu and parallel targets of vectorize, guvectorize and jit. For "host", the kernels of a source are
arbitrary functions, which the image exports by name; operations that need a grid are errors. clang++ is
preferred over g++, because its LLVM IR can be rewritten so that undefined operations return a GPU's results
(irpatch.py). $NUMBALITE_CXX and $CXX have priority over both. If neither compiler is installed, ``python -m
ziglang c++`` of the package ziglang is used, which is a clang++, too.

The disk cache uses this module for each kernel. hostbuild.py is imported only to compile.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from numbalite import config
from numbalite.compilers import hostoptions
from numbalite.errors import CudaSupportError

INSTALL = (
    "pip install ziglang, or install g++ or clang++ (apt install clang, dnf install clang, "
    "conda install gxx); $NUMBALITE_CXX names a compiler that is not on the PATH"
)

COVERAGE = OF_USERS, OF_ALL = "coverage", "full coverage"
"""Names among the checks of an image that records the executed lines: those of users' files, or also those of
numbalite's own files."""


class Compiler(NamedTuple):
    """A host compiler. command: its command line; path: its program."""

    command: tuple
    path: str

    @property
    def is_zig(self):
        return os.path.basename(self.path) == "zig" or "ziglang" in self.command


def find_compiler() -> Compiler:
    """Returns the compiler to use, found by name without running it. Raises CudaSupportError if there is no
    host compiler."""
    for variable, text in (("NUMBALITE_CXX", config.CXX), ("CXX", config.read_external("CXX"))):
        if text:
            command = _split_command(text)
            path = find_program(command[0]) if command else None
            if path is None and command[:1] == ("zig",):
                path = _packaged_zig()
            if path is None:
                raise CudaSupportError(
                    f"${variable} names the compiler {text!r}, which is not found"
                )
            found = Compiler((path, *command[1:]), path)
            # zig contains several compilers: the subcommand "c++" selects the C++ compiler
            return (
                found._replace(command=(path, "c++"))
                if found.command == (path,) and found.is_zig
                else found
            )
    for name in ("clang++", "c++", "g++"):
        path = find_program(name)
        if path:
            return Compiler((path,), path)
    program = _packaged_zig()
    if program:
        return Compiler((program, "c++"), program)
    raise CudaSupportError(
        f"no C++ compiler was found, which the simulator and functions on the CPU require: {INSTALL}"
    )


def _packaged_zig():
    """Returns the path of the program of the package ziglang, which is not on the PATH."""
    for place in sys.path:
        program = os.path.join(place or ".", "ziglang", "zig")
        if os.access(program, os.X_OK):
            return os.path.abspath(program)
    return None


def _split_command(text):
    """Splits a command line. shlex is imported only if needed, because its import is slow."""
    if not any(sign in text for sign in " '\"\\"):
        return (text,)
    from shlex import split

    return tuple(split(text))


def find_program(name):
    """Returns the absolute path of a program, because compilers run in other working directories."""
    if os.path.dirname(name):
        return os.path.abspath(name) if os.access(name, os.X_OK) else None
    for folder in (config.read_external("PATH") or os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.abspath(path)
    return None


def compiler_fingerprint(source, kind="sim", *checks) -> bytes:
    """Returns the part of the cache key that does not depend on the text: compiler, flags, and the CPU compiled for."""
    compiler = find_compiler()
    path = os.path.realpath(compiler.path)
    status = os.stat(path)
    parts = (compiler.command, path, status.st_size, status.st_mtime_ns, _cpu_description())
    covers, checks = split_coverage(checks)
    chosen = code_flags("", hostoptions.read_options(source), source.opt, kind, checks, covers)
    # Coverage contains absolute paths.
    return repr((*parts, chosen, covers, os.getcwd() if covers else None)).encode()


def split_coverage(checks) -> tuple[str | None, tuple[str, ...]]:
    """Returns the name of COVERAGE among the checks, or None, and the other checks."""
    covers = next((name for name in checks if name in COVERAGE), None)
    return covers, tuple(name for name in checks if name != covers)


_cpu_text = None


def _cpu_description():
    """Returns a text with the CPU's model and features, which determine the code of -march=native."""
    global _cpu_text
    if _cpu_text is None:
        try:
            with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
                lines = file.read(8192).partition("\n\n")[0].splitlines()
        except OSError:
            lines = []
        wanted = ("model name", "flags", "Features", "CPU part", "CPU implementer")
        _cpu_text = "\n".join(line for line in lines if line.startswith(wanted))
    return _cpu_text


# clang++ flags that turn C++ extensions that NVRTC rejects into errors. (For g++, hostbuild.py does so.)
# NVRTC accepts narrowing in braces, and a < b < c, which is an error in newer compilers.
# NVRTC also accepts F(x) for a macro F(x, ...), which newer compilers count as C++20.
# The flag -w would disable all warnings, and the errors for C++ extensions.
_SILENT = ["-Wno-narrowing", "-Wno-error=parentheses"]
# Additional warnings, from which slipwarnings.py selects warnings about the user's lines.
_REPORTED = {
    "gcc": ["-Wtype-limits", "-Wformat", "-Wuninitialized"],
    "clang": ["-Wtautological-unsigned-zero-compare", "-Wuninitialized"],
}
_AS_NVRTC = {
    "gcc": ["-Wpedantic", "-Wno-narrowing"],
    "clang": """-Werror=vla -Werror=vla-extension -Werror=c99-extensions
    -Werror=gnu-statement-expression -Werror=gnu-conditional-omitted-operand -Werror=gnu-case-range
    -Werror=zero-length-array -Werror=flexible-array-extensions -Werror=gnu-label-as-value
    -Werror=c++20-extensions -Werror=c++20-designator -Wno-c++11-narrowing
    -Wno-unknown-warning-option -Wno-variadic-macro-arguments-omitted
    -Wno-error=parentheses""".split(),
}


def code_flags(family, options, opt, kind="sim", checks=(), covers=None) -> list:
    """Returns the flags that determine the generated code; these flags are equal for the precompiled prelude
    and the source. ``covers``: a name of COVERAGE, or None."""
    level = _default_level(kind) if opt is True or opt is None else int(opt)
    if checks:
        level = min(level, 1)
    result = [
        f"-std={_std_flag(options.std)}",
        f"-O{0 if options.debug else level}",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-exceptions",
        "-fno-rtti",
        "-fno-strict-aliasing",
        "-fno-math-errno",
        "-fno-threadsafe-statics",
        "-fno-asynchronous-unwind-tables",
        "-fsigned-char",
        *(_AS_NVRTC.get(family, _SILENT) if kind == "sim" else _SILENT),
        *_REPORTED.get(family, ()),
        "-UNDEBUG",
        # defaults of some distributions, which call functions of the C library
        "-U_FORTIFY_SOURCE",
        "-fno-stack-protector",
        _cpu_compiler_flag(),
    ]
    if family == "clang":
        # NVRTC accepts a non-void function that ends without a return statement
        result.append("-fno-strict-return")
    if kind == "sim":
        # A stack frame larger than the guard page below the stack would skip the guard page.
        result.append("-fstack-clash-protection")
    result += _thread_local_flags(family)
    has_lines = options.lineinfo or checks or covers
    result.append("-g" if options.debug else "-g1" if has_lines else "-g0")
    if has_lines:
        result.append("-gdwarf-4")  # the simulator's engine reads DWARF line tables of this version
    if not (level or options.debug or has_lines):
        # Debuggers and reports need the user's line of an access in an inlined function.
        result.append("-DNUMBALITE_SIM_NOT_INLINED")
    if checks:
        result += [f"-DNUMBALITE_SIM_CHECKED={checks_mask(checks)}"]
        result += _instrumentation_flags(family, checks)
    if covers:
        result.append("-fno-discard-value-names")  # coverage.py needs the names of all blocks
    if checks or (kind == "sim" and family == "clang"):
        # Keep accesses of NULL, so that the memory check reports them
        result += ["-fno-delete-null-pointer-checks"]
    if family == "gcc":
        traps = "nan" in checks and _can_trap_reals()
        result += ["-ftrapping-math" if traps else "-fno-trapping-math"]
        result += [
            "-fno-semantic-interposition",
            "-fno-gnu-unique",
            "-fno-isolate-erroneous-paths-dereference",  # no trap instruction for a division by zero
        ]  # each image has its own copy of global variables
        if options.wraps:
            result.append("-fwrapv")  # clang++: irpatch.py
        if level == 2 and not (options.debug or checks):
            result += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
    result.append("-ffp-contract=fast" if options.fmad else "-ffp-contract=off")
    if kind == "host" and family == "gcc" and vector_math_level():
        result.append(f"-DNUMBALITE_VECTOR_MATH={vector_math_level()}")
    if options.fastmath:
        result += ["-freciprocal-math", "-fno-signed-zeros"]
        if kind == "host":
            result += ["-fno-trapping-math", "-fassociative-math"]
    return result


def _default_level(kind):
    """Returns the optimization level of code that has no opt=."""
    level = config.CPU_OPT
    return level if level is not None else 3 if kind == "host" else 2


def _thread_local_flags(family):
    """Returns flags that keep accesses of thread-local variables from losing AVX-512 registers: see
    cuda_src/sim/threadlocal.h."""
    if family != "clang" or os.uname().machine != "x86_64":
        return []
    if find_compiler().is_zig or not _glibc_version():
        # The linker of zig cannot resolve the versioned C library function. (zig ignores -mno-avx512f.)
        return ["-Xclang", "-target-feature", "-Xclang", "-avx512f"]
    return ["-DNUMBALITE_GLIBC"]


def checks_mask(checks) -> int:
    """Returns the bit mask of these checks, as defined in cext/driver/checks.h."""
    return sum({**config.CHECKS, "profile": config.PROFILE}[name] for name in checks)


def _instrumentation_flags(family, checks):
    """Returns the list of compiler flags that insert calls of cuda_src/sim/check.h at memory accesses."""
    flags = []
    if "divide" in checks:
        flags.append("-fsanitize=integer-divide-by-zero")
    if "nan" in checks and family == "gcc" and not _can_trap_reals():  # clang++: irpatch.py
        flags.append("-fsanitize=float-divide-by-zero")
    if not {"memory", "unwritten", "race", "profile"} & set(checks):
        return flags
    places = [] if "profile" in checks else ["-fsanitize=bounds", "-fsanitize=alignment"]
    # No vectorization: a vectorized access of 16 bytes has another alignment and element index than the source.
    # The instrumentation also omits accesses of more than 16 bytes.
    if family == "gcc":
        parameters = ["distinguish-volatile=1", "instrument-func-entry-exit=0"]
        return [
            *flags,
            "-fno-tree-vectorize",
            *places,
            "-fsanitize=thread",
            "-fno-tree-tail-merge",  # each inserted call keeps its own source line
            "-fno-crossjumping",
            *(word for t in parameters for word in ("--param", f"tsan-{t}")),
        ]
    parameters = [
        "instrument-func-entry-exit=0",
        "distinguish-volatile=1",
        "instrument-read-before-write=1",
    ]
    flags += ["-fno-vectorize", "-fno-slp-vectorize"]
    flags += [place.replace("=bounds", "=array-bounds") for place in places]
    flags.append("-fsanitize=thread")
    flags += ["-mllvm", "-enable-tail-merge=0"]  # each inserted call keeps its own source line
    flags += ["-fno-discard-value-names"]  # irpatch.py recognizes bit-fields by value names
    return [*flags, *(word for t in parameters for word in ("-mllvm", f"-tsan-{t}"))]


def _can_trap_reals():
    """Returns whether the processor can trap on NaN and infinity (cext/sim/check/reals.c)."""
    return os.uname().machine == "x86_64"


def vector_math_level() -> int:
    """Returns the number of groups of libm functions with vector versions in the C library: see
    cuda_src/host/vector.h."""
    if os.uname().machine != "x86_64":
        return 0
    version = _glibc_version()
    return (version >= (2, 22)) + (version >= (2, 35))


def _glibc_version():
    """Returns the version of glibc, such as (2, 36), or () for another C library."""
    try:
        name, _, text = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
        return tuple(map(int, text.split(".")[:2])) if name == "glibc" else ()
    except (AttributeError, OSError, ValueError):
        return ()


def _std_flag(text):
    return text.replace("c++03", "c++11") if text.startswith("c++") else f"c++{text}"


def _cpu_compiler_flag():
    return "-mcpu=native" if os.uname().machine in ("aarch64", "arm64") else "-march=native"
