"""The host C++ compiler: a unit to a shared object for the simulator.

A compiler of the clang family goes in two steps, so that a GPU's meaning of what C++ leaves undefined
can be written into its intermediate code (irpatch.py); g++ goes in one. clang++ is therefore taken
before g++ where both are there; $NUMBALITE_CXX and $CXX come before either. Without any,
``python -m ziglang c++`` from the package ziglang does.

The image brings no C++ library and exports nothing but its tables (cuda_src/sim/image.h).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from struct import Struct
from typing import NamedTuple

from numbalite import config
from numbalite.compilers import (
    elf,
    headers,
    hostlog,
    hostoptions,
    hostprelude,
    irpatch,
    simsource,
)
from numbalite.compilers.image import Image
from numbalite.errors import CompileError, CudaSupportError

INSTALL = (
    "install g++ or clang++ (apt install clang, dnf install clang, conda install gxx), or "
    'pip install "numbalite[zig]"; $NUMBALITE_CXX names a compiler that is not on the PATH'
)
_MAGIC = Struct("<8sQ")  # nl_sim_image_header
_OLDEST = {"gcc": (9, 0), "clang": (10, 0)}
_DESCRIPTION = re.compile(rb"[^\0]*NLDESC\(\) \[(?:with int )?index = (\d+)[^\0]*")
_UNFIT = re.compile(r"\bPCH\b|precompiled|\.pch|\.gch")
# No C++ library, nothing undefined (dlopen would find it out too late), nobody else's functions.
_LINK = ["-shared", "-Wl,-z,defs", "-Wl,--as-needed", "-Wl,-Bsymbolic"]
_END = "numbalite/sim/image"  # the pretended file of what follows the user's source


class Compiler(NamedTuple):
    """A host compiler. command: how it is called; path: its program."""

    command: tuple
    path: str
    family: str = ""
    """"clang" or "gcc"; "" as long as nobody asked it."""
    version: tuple = ()
    title: str = ""
    """The first line of its --version."""


# ---- finding one ----

_known = {}  # command -> Compiler that has been asked


def find() -> Compiler:
    """The compiler to use, by name alone: it is not run. CudaSupportError if there is none."""
    for variable, text in (("NUMBALITE_CXX", config.CXX), ("CXX", config.outside("CXX"))):
        if text:
            command = tuple(shlex.split(text))
            path = shutil.which(command[0]) if command else None
            if path is None:
                raise CudaSupportError(f"${variable} names the compiler {text!r}, which is not found")
            return Compiler(command, path)
    for name in ("clang++", "c++", "g++"):
        path = shutil.which(name)
        if path:
            return Compiler((path,), path)
    from importlib.util import find_spec

    spec = find_spec("ziglang")
    if spec is not None and spec.origin:
        program = os.path.join(os.path.dirname(spec.origin), "zig")
        if os.path.exists(program):
            return Compiler((program, "c++"), program)
        return Compiler((sys.executable, "-m", "ziglang", "c++"), spec.origin)
    raise CudaSupportError(f"the CPU simulator needs a C++ compiler, and there is none: {INSTALL}")


def identify(compiler: Compiler) -> Compiler:
    """The compiler with its family and version, which it is asked for once in a process."""
    known = _known.get(compiler.command)
    if known is None:
        result = _run([*compiler.command, "--version"])
        known = _known[compiler.command] = _named(compiler, result.stdout.decode(errors="replace"))
    return known


def _named(compiler, text):
    title = text.partition("\n")[0].strip()
    clang = re.search(r"clang version (\d+)\.(\d+)", text)
    gcc = None if clang else re.search(r"\b(\d+)\.(\d+)\.\d+", title)
    match = clang or gcc
    if match is None:
        name = shlex.join(compiler.command)
        raise CudaSupportError(f"{name} is neither g++ nor clang++ ({title!r}): {INSTALL}")
    family = "clang" if clang else "gcc"
    version = (int(match[1]), int(match[2]))
    if version < _OLDEST[family]:
        raise CudaSupportError(
            f"{title} is too old, the simulator needs g++ 9, clang++ 10, or newer: {INSTALL}"
        )
    return compiler._replace(family=family, version=version, title=title)


def describe() -> str:
    """One line for ``python -m numbalite info``."""
    compiler = identify(find())
    return f"{compiler.title} ({shlex.join(compiler.command)})"


def fingerprint(unit) -> bytes:
    """What decides, beside the unit, how it comes out: the compiler and the CPU compiled for."""
    compiler = find()
    path = os.path.realpath(compiler.path)
    status = os.stat(path)
    parts = (compiler.command, path, status.st_size, status.st_mtime_ns, _cpu())
    return repr((*parts, _flags_for("", hostoptions.read(unit), unit.opt))).encode()


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


# ---- compiling ----


def _flags_for(family, options, opt) -> list:
    """What decides how code comes out. The same for the prelude as for the source."""
    level = 2 if opt is True or opt is None else int(opt)
    flags = [
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
        "-w",
        _cpu_flag(),
    ]
    if options.debug:
        flags.append("-g")
    elif options.lineinfo:
        flags.append("-g1")
    if family == "gcc":
        flags += ["-fno-trapping-math", "-fno-semantic-interposition"]
        if level == 2 and not options.debug:
            flags += ["-ftree-vectorize", "-fvect-cost-model=dynamic"]
    flags.append("-ffp-contract=fast" if options.fmad else "-ffp-contract=off")
    if options.fastmath:
        flags += ["-freciprocal-math", "-fno-signed-zeros"]
    return flags


def _std(text):
    return text.replace("c++03", "c++11") if text.startswith("c++") else f"c++{text}"


def _cpu_flag():
    return "-mcpu=native" if os.uname().machine in ("aarch64", "arm64") else "-march=native"


def _run(command, stdin=b"", folder=None):
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, env=environment, cwd=folder, check=False
        )
    except OSError as problem:
        raise CudaSupportError(f"{command[0]} cannot be run: {problem}") from problem


def compile(unit) -> Image:
    """Compiles a unit for the simulator."""
    compiler = identify(find())
    options = hostoptions.read(unit)
    flags = _flags_for(compiler.family, options, unit.opt)
    source = _whole(unit, options)
    with tempfile.TemporaryDirectory(prefix="numbalite-") as folder:
        for name, text in unit.headers:
            path = os.path.join(folder, "include", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(simsource.translate(text))
        search = _search(unit, options, folder)
        output = os.path.join(folder, "image.so")
        log = _Build(unit, compiler, flags, search, output).run(source)
        with open(output, "rb") as file:
            data = file.read()
    names = [*unit.kernels, *unit.variables]
    told = {int(match[1]): match[0].decode() for match in _DESCRIPTION.finditer(data)}
    symbols = [f"nl_sim_kernel_{i}" for i in range(len(unit.kernels))]
    symbols += [f"nl_sim_variable_{i}" for i in range(len(unit.variables))]
    return Image(
        kind="sim",
        data=_MAGIC.pack(b"NLSIMG01", len(data)) + data,
        arch="sim",
        lowered=dict(zip(names, symbols, strict=True)),
        descriptions={name: told[i] for i, name in enumerate(names)} if unit.describe else {},
        log=hostlog.warnings(log, _is_ours),
        source=unit.source,
    )


def _search(unit, options, folder):
    """The include directories, in the order in which NVRTC looks."""
    cuda_src = headers.cuda_src()
    search = []
    if unit.headers:
        search += ["-I", os.path.join(folder, "include")]
    directory = os.path.dirname(unit.name)
    search += ["-iquote", directory or os.getcwd()]
    for path in (*options.includes, *config.INCLUDE_PATH):
        search += ["-I", path]
    return [*search, "-I", cuda_src, "-I", os.path.join(cuda_src, "sim", "include")]


def _quoted(name):
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _whole(unit, options):
    """The text for the compiler, but for the prelude: the user's source, then the tables."""
    lines = [f'#line 1 "{_quoted(unit.name)}"', simsource.translate(unit.source)]
    lines += [f'#line 1 "{_END}"', '#include "sim/image.h"']
    if unit.describe:
        lines.append('#include "numbalite/describe.cuh"')
    for i, name in enumerate(unit.kernels):
        lines.append(f'#line 1 "{_END}/{i}"')
        lines.append(f'NUMBALITE_SIM_KERNEL({i}, "{_quoted(name)}", (&{name}))')
        if unit.describe:
            lines.append(
                f"NUMBALITE_SIM_DESCRIBE({i}, numbalite::kernel_description<decltype(&{name})>)"
            )
    for i, name in enumerate(unit.variables):
        at = len(unit.kernels) + i
        lines.append(f'#line 1 "{_END}/{at}"')
        lines.append(f"NUMBALITE_SIM_VARIABLE({i}, {name})")
        if unit.describe:
            lines.append(
                f"NUMBALITE_SIM_DESCRIBE({at}, numbalite::variable_description<decltype({name})>)"
            )
    return options.before + "\n".join(lines) + "\n"


def _is_ours(file):
    return file.startswith((headers.cuda_src(), "/usr/", "<")) or file == _END


class _Build:
    """One run of the compiler's steps."""

    def __init__(self, unit, compiler, flags, search, output):
        self.unit, self.compiler, self.flags = unit, compiler, flags
        self.search, self.output = search, output
        self.is_zig = "zig" in os.path.basename(compiler.path) or "ziglang" in compiler.command
        self.log = ""

    def run(self, source):
        """Leaves the shared object at `output`; gives the log."""
        text = source.encode("utf-8", "surrogatepass")
        prelude = hostprelude.arguments(self.compiler, self.flags, _run)
        try:
            self._steps(text, prelude, source)
        except CompileError as problem:
            # A precompiled prelude that is not to the compiler's liking: the text is.
            if prelude == hostprelude.text_arguments() or not _UNFIT.search(problem.log):
                raise
            hostprelude.forget(self.compiler, self.flags)
            self._steps(text, hostprelude.text_arguments(), source)
        return self.log

    def _steps(self, text, prelude, source):
        gcc = self.compiler.family == "gcc"
        common = [*self.compiler.command, *self.flags, "-fdiagnostics-color=never"]
        limit = "-fmax-errors=20" if gcc else "-ferror-limit=20"
        front = [*common, limit, *prelude, *self.search, "-x", "c++", "-"]
        if gcc:
            libraries = ["-nodefaultlibs", "-lm", "-lc", "-lgcc"]
            self._step([*front, "-o", self.output, *_LINK, *libraries], text, source)
            return
        path = self.output[: -len(".so")]
        self._step(
            [*front, "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", path + ".ll"],
            text,
            source,
        )
        with open(path + ".ll", encoding="utf-8", errors="surrogateescape") as file:
            ir = irpatch.patch(file.read())
        with open(path + ".ll", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(ir)
        # The front end has marked what may be fused; "fast" would fuse the rest too.
        common = [flag.replace("contract=fast", "contract=on") for flag in common]
        if self.is_zig:
            # zig would build a C library to link with. The process has one, and the few names that
            # are wanted of it are known.
            self._step([*common, "-c", path + ".ll", "-o", path + ".o"], b"", source)
            link = [*self.compiler.command, "-shared", "-nostdlib", path + ".o", "-o", self.output]
            self._step(link, b"", source)
            self._check_names()
        else:
            libraries = ["-nostdlib++", "-lm"]
            self._step([*common, path + ".ll", "-o", self.output, *_LINK, *libraries], b"", source)

    def _step(self, command, stdin, source):
        result = _run(command, stdin)
        log = result.stderr.decode("utf-8", "replace")
        self.log += log
        if result.returncode:
            raise self._failure(log, source)
        return result.stdout

    def _check_names(self):
        """What a linker with the C library at hand would say of names that nobody defines."""
        import ctypes

        known = [ctypes.CDLL(None), ctypes.CDLL("libm.so.6")]
        with open(self.output, "rb") as file:
            names = elf.undefined(file.read())
        missing = [n for n in names if not any(hasattr(library, n) for library in known)]
        if missing:
            log = "".join(f"undefined reference to '{name}'\n" for name in missing)
            raise self._failure(log, "")

    def _failure(self, log, source):
        names = [*self.unit.kernels, *self.unit.variables]
        meanings = {f"{_END}/{i}": f'in the name "{name}"' for i, name in enumerate(names)}
        text = hostlog.readable(log, _is_ours, meanings)
        if not text:
            text = f"{shlex.join(self.compiler.command)} failed:\n{log.strip()[-2000:]}"
        return CompileError(text, log=log, source=source)
