"""The host C++ compiler: which one, and what decides how it compiles.

It serves two targets. "sim" is the CPU simulator: kernels with a grid. "host" is code that runs on the
CPU for its own sake, the cpu and parallel targets of vectorize and guvectorize and jit: a source's kernels
are any functions then, each found under its name in the image, and what needs a grid is an error.

A compiler of the clang family is preferred, because a GPU's meaning of what C++ leaves undefined can be
written into its intermediate code (irpatch.py); a kernel takes as long as with g++. So clang++ is taken
before g++ where both are there; $NUMBALITE_CXX and $CXX come before either. Without any,
``python -m ziglang c++`` of the package ziglang does, which is a clang++ too.

The disk cache asks here for every kernel; what compiling needs beyond that is in hostbuild.py and is
imported when something is compiled.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from numbalite import config
from numbalite.compilers import hostoptions
from numbalite.errors import CudaSupportError

INSTALL = (
    "install g++ or clang++ (apt install clang, dnf install clang, conda install gxx), or "
    "pip install ziglang; $NUMBALITE_CXX names a compiler that is not on the PATH"
)


class Compiler(NamedTuple):
    """A host compiler. command: how it is called; path: its program."""

    command: tuple
    path: str

    @property
    def is_zig(self):
        return os.path.basename(self.path) == "zig" or "ziglang" in self.command


def find() -> Compiler:
    """The compiler to use, by name alone: it is not run. CudaSupportError if there is none."""
    for variable, text in (("NUMBALITE_CXX", config.CXX), ("CXX", config.outside("CXX"))):
        if text:
            command = _words(text)
            path = which(command[0]) if command else None
            if path is None and command[:1] == ("zig",):
                path = _packaged_zig()
            if path is None:
                raise CudaSupportError(
                    f"${variable} names the compiler {text!r}, which is not found"
                )
            found = Compiler((path, *command[1:]), path)
            # zig is several compilers: without a word it means the C++ one
            return (
                found._replace(command=(path, "c++"))
                if found.command == (path,) and found.is_zig
                else found
            )
    for name in ("clang++", "c++", "g++"):
        path = which(name)
        if path:
            return Compiler((path,), path)
    program = _packaged_zig()
    if program:
        return Compiler((program, "c++"), program)
    raise CudaSupportError(f"code for the CPU needs a C++ compiler, and there is none: {INSTALL}")


def _packaged_zig():
    """The program of the package ziglang, which puts none on the PATH."""
    for place in sys.path:
        program = os.path.join(place or ".", "ziglang", "zig")
        if os.access(program, os.X_OK):
            return os.path.abspath(program)
    return None


def _words(text):
    """A command line as a tuple; shlex costs more to import than everything here."""
    if not any(sign in text for sign in " '\"\\"):
        return (text,)
    from shlex import split

    return tuple(split(text))


def which(name):
    """A program's path, absolute: compilers run in folders of their own."""
    if os.path.dirname(name):
        return os.path.abspath(name) if os.access(name, os.X_OK) else None
    for folder in (config.outside("PATH") or os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.abspath(path)
    return None


def fingerprint(source, kind="sim", *checks) -> bytes:
    """What decides, beside the source, how it comes out: the compiler and the CPU compiled for."""
    compiler = find()
    path = os.path.realpath(compiler.path)
    status = os.stat(path)
    parts = (compiler.command, path, status.st_size, status.st_mtime_ns, _cpu())
    return repr((*parts, flags("", hostoptions.read(source), source.opt, kind, checks))).encode()


_cpu_text = None


def _cpu():
    """The CPU's model and features, which -march=native looks at."""
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


# Extensions of C++ that NVRTC does not know: clang++ is to refuse them too. (g++ only warns of them, and
# hostbuild.py makes errors of that.)
# What is narrowed in braces, NVRTC lets pass, and F(x) for a macro F(x, ...), which newer ones count among
# C++20's, and a < b < c, an error of newer ones. (-w would take errors and warnings away.)
_SILENT = ["-Wno-narrowing", "-Wno-error=parentheses"]
# Beside what they report anyway: reported.py reads the warnings about the user's lines.
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


def flags(family, options, opt, kind="sim", checks=()) -> list:
    """What decides how code comes out. The same for the prelude as for the source."""
    default = 3 if kind == "host" else 2
    level = default if opt is True or opt is None else int(opt)
    if checks:
        level = min(level, 1)
    result = [
        f"-std={_std(options.std)}",
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
        "-U_FORTIFY_SOURCE",
        _cpu_flag(),
    ]
    if family == "clang":
        result.append("-fno-strict-return")  # a function that returns nothing goes on, as NVRTC's
    result += _thread_locals(family)
    result.append("-g" if options.debug else "-g1" if options.lineinfo or checks else "-g0")
    if checks or options.lineinfo:
        result.append("-gdwarf-4")  # the engine reads line tables of this version
    if checks:
        result += [f"-DNUMBALITE_SIM_CHECKED={checks_mask(checks)}"]
        result += _instrumentation(family, checks)
    if checks or (kind == "sim" and family == "clang"):
        result += ["-fno-delete-null-pointer-checks"]  # accesses of NULL stay, to be found
    if family == "gcc":
        traps = "nan" in checks and _traps_reals()
        result += ["-ftrapping-math" if traps else "-fno-trapping-math"]
        result += [
            "-fno-semantic-interposition",
            "-fno-gnu-unique",
            "-fno-isolate-erroneous-paths-dereference",  # a division by zero is no illegal instruction
        ]  # each image has its own variables
        if options.wraps:
            result.append("-fwrapv")  # clang++: irpatch.py
        if level == 2 and not (options.debug or checks):
            result += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
    result.append("-ffp-contract=fast" if options.fmad else "-ffp-contract=off")
    if kind == "host" and family == "gcc" and vector_math():
        result.append(f"-DNUMBALITE_VECTOR_MATH={vector_math()}")
    if options.fastmath:
        result += ["-freciprocal-math", "-fno-signed-zeros"]
        if kind == "host":
            result += ["-fno-trapping-math", "-fassociative-math"]
    return result


def _thread_locals(family):
    """So that registers of AVX-512 are not lost: see cuda_src/sim/threadlocal.h."""
    if family != "clang" or os.uname().machine != "x86_64":
        return []
    if find().is_zig or not _glibc_version():
        # Its linker does not know the C library's function by version. (-mno-avx512f is lost on zig.)
        return ["-Xclang", "-target-feature", "-Xclang", "-avx512f"]
    return ["-DNUMBALITE_GLIBC"]


def checks_mask(checks) -> int:
    """The bits of cext/driver/checks.h."""
    return sum({**config.CHECKS, "profile": config.PROFILE}[name] for name in checks)


def _instrumentation(family, checks):
    """Calls at accesses of memory, which cuda_src/sim/check.h answers."""
    flags = []
    if "divide" in checks:
        flags.append("-fsanitize=integer-divide-by-zero")
    if "nan" in checks and family == "gcc" and not _traps_reals():  # clang++: irpatch.py
        flags.append("-fsanitize=float-divide-by-zero")
    if not {"memory", "unwritten", "race", "profile"} & set(checks):
        return flags
    places = [] if "profile" in checks else ["-fsanitize=bounds", "-fsanitize=alignment"]
    # An access is told as the source has it: of 16 bytes that were vectorised, neither the alignment nor
    # the element would be the user's, and of more than 16 nothing is told.
    if family == "gcc":
        told = ["distinguish-volatile=1", "instrument-func-entry-exit=0"]
        return [
            *flags,
            "-fno-tree-vectorize",
            *places,
            "-fsanitize=thread",
            "-fno-tree-tail-merge",  # each call of ours has a line of its own
            "-fno-crossjumping",
            *(word for t in told for word in ("--param", f"tsan-{t}")),
        ]
    told = [
        "instrument-func-entry-exit=0",
        "distinguish-volatile=1",
        "instrument-read-before-write=1",
    ]
    flags += ["-fno-vectorize", "-fno-slp-vectorize"]
    flags += [place.replace("=bounds", "=array-bounds") for place in places]
    flags.append("-fsanitize=thread")
    flags += ["-mllvm", "-enable-tail-merge=0"]  # each call of ours has a line of its own
    flags += ["-fno-discard-value-names"]  # which tell irpatch.py of bit-fields
    return [*flags, *(word for t in told for word in ("-mllvm", f"-tsan-{t}"))]


def _traps_reals():
    """Can the processor tell of NaN and infinity (cext/sim/check/reals.c)?"""
    return os.uname().machine == "x86_64"


def vector_math() -> int:
    """What vector versions of libm's functions the C library has: see cuda_src/host/vector.h."""
    if os.uname().machine != "x86_64":
        return 0
    version = _glibc_version()
    return (version >= (2, 22)) + (version >= (2, 35))


def _glibc_version():
    """(2, 36), or () where the C library is another one."""
    try:
        name, _, text = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
        return tuple(map(int, text.split(".")[:2])) if name == "glibc" else ()
    except (AttributeError, OSError, ValueError):
        return ()


def _std(text):
    return text.replace("c++03", "c++11") if text.startswith("c++") else f"c++{text}"


def _cpu_flag():
    return "-mcpu=native" if os.uname().machine in ("aarch64", "arm64") else "-march=native"
