"""The host C++ compiler: a source to a shared object, for the simulator or for the CPU itself.

g++ goes in one step to an object file. A compiler of the clang family goes in two: the front end gives
LLVM IR, irpatch writes a GPU's meaning of what C++ leaves undefined into it, the back end makes the
object file. hostlink makes a shared object of it.

The image brings no C++ library and exports nothing but its tables (cuda_src/sim/exports.h,
cuda_src/host/exports.h).
"""

from __future__ import annotations

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
    process,
    reported,
)
from numbalite.compilers.hostheaders import Headers, quoted
from numbalite.compilers.image import Image, simulated
from numbalite.compilers.sim import debugger, irpatch, staticshared, translation
from numbalite.cxx import scanner
from numbalite.errors import CompileError, CudaSupportError, SimulatorWarning, warn
from numbalite.types.demangle import demangle

_OLDEST = {"gcc": (9, 0), "clang": (10, 0)}
_DESCRIPTION = re.compile(rb"const[ -~]*NLDESC\(\) \[(?:with int )?index = (\d+)[^\0]*")
_SANITIZER = re.compile(r"lib(clang_rt\.)?(a|hwa|l|m|t|ub)san\b")
_UNFIT = re.compile(r"\bPCH\b|precompiled|\.pch|\.gch")
# Extensions of C++ that NVRTC does not know, as g++ warns of them.
_REFUSED = re.compile(
    r"variable length array|zero-size array|flexible array|compound-literals|braced-groups"
    r"|omitted middle operand|omitting the middle term|range expressions in switch"
    r"|address of a label|computed goto|only available with .-std=c\+\+2|'register' storage class"
    # Its end would be taken for one that is never reached.
    r"|no return statement in function returning non-void"
)
# No C++ library, nothing undefined (dlopen would find it out too late), nobody else's functions.
_LINK = ["-shared", "-Wl,-z,defs", "-Wl,--as-needed", "-Wl,-Bsymbolic"]
_SHARED_LIMIT, _CONSTANT_LIMIT = 48 << 10, 64 << 10
# A warp's lanes add to shared memory that is declared volatile: x[t] += x[t + 16]
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
"""Loops that C++ takes to end, so that compilers leave out endless ones, and go on behind them. On a GPU, and in
Python, they do not end."""
# What our parts of libcu++ and cuRAND lack.
_OF_CCCL = re.compile(r"error: .*\bcuda::")
_OF_CURAND = re.compile(r"error: .*\bcurand")
_ZIG_STDIN = re.compile(r"[^\s:]*/tmp/[0-9a-f]+-stdin\.cpp")  # zig keeps what it reads from there
_NOBODYS = (
    hostunit.END,
    "<stdin>",
    "<built-in>",
    "<command line>",
    "<command-line>",
    "<scratch space>",
)


class Identity(NamedTuple):
    """What a compiler says of itself. family: "clang" or "gcc"; title: the line of its name."""

    family: str
    version: tuple
    title: str


_known: dict[tuple, Identity] = {}  # command -> Identity


def identify(compiler) -> Identity:
    """Asks the compiler, once in a process. CudaSupportError if it is none, or too old."""
    known = _known.get(compiler.command)
    if known is None:
        result = _run([*compiler.command, "--version"])
        known = _known[compiler.command] = _named(compiler, result.stdout.decode(errors="replace"))
    return known


def describe() -> str:
    """One line for ``python -m numbalite info``."""
    compiler = host.find()
    return f"{identify(compiler).title} ({' '.join(compiler.command)})"


def _named(compiler, text):
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
    return Identity(family, version, title)


def _family(compiler):
    """ "clang" or "gcc", by its file's name if that tells: asking costs as much as compiling."""
    if compiler.is_zig:
        return "clang"
    name = os.path.basename(os.path.realpath(compiler.path))
    if "clang" in name:
        return "clang"
    return "gcc" if re.search(r"(^|-)(g\+\+|gcc)(-\d+)?$", name) else identify(compiler).family


def _environment():
    """The compiler's: its messages in English; a sanitizer preloaded into this process stays here."""
    environment = {**os.environ, "LC_ALL": "C"}
    preloaded = re.split(r"[\s:]+", environment.pop("LD_PRELOAD", "").strip())
    kept = [name for name in preloaded if name and not _SANITIZER.match(os.path.basename(name))]
    if kept:
        environment["LD_PRELOAD"] = ":".join(kept)
    return environment


def _run(command, stdin=b"", folder=os.sep):
    """Runs a compiler, as a fork where that is possible. The working directory may have been deleted."""
    if "clang" in os.path.basename(os.path.realpath(command[0])):
        result = forkserver.run(command, stdin, folder, _environment(), _start)
        if result is not None:
            return result
    return _start(command, stdin, folder)


def _start(command, stdin=b"", folder=os.sep):
    """Runs a program to its end; it ends with us where we are interrupted, and what it has started."""
    try:
        return process.run(command, stdin, folder, _environment())
    except OSError as problem:
        raise CudaSupportError(f"{command[0]} cannot be run: {problem}") from problem


def _absolute(path):
    """The path from the root: compilers run in folders of their own. In a working directory that has been
    deleted there is nothing, as in a folder that never was."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return os.path.join("/deleted", path)


def _says_fmad(source):
    return any(option.lstrip("-").startswith("fmad") for option in source.options)


def compile(source, kind="sim", *checks) -> Image:
    """Compiles a source for the simulator ("sim") or for the CPU itself ("host"): an Image of that kind.

    checks, for the simulator: what the image is instrumented for (the names in config.CHECKS).
    """
    compiler = host.find()
    family = _family(compiler)
    options = hostoptions.read(source)
    if kind == "host" and source.is_python and not (source.fastmath or _says_fmad(source)):
        options = options._replace(fmad=False)  # as numba on the CPU, and as Python
    flags = host.flags(family, options, source.opt, kind, checks)
    if checks and family == "clang" and identify(compiler).version >= (16, 0):
        # A struct's last array has the length that it is declared with.
        flags.append("-fstrict-flex-arrays=1")
    flags += _without_outlined_atomics(compiler, family)
    text = source.text
    users = [_absolute(path) for path in (*options.includes, *config.INCLUDE_PATH)]
    if kind == "sim":
        text = translation.without_host_headers(text, dict(source.headers), users)
        if family == "gcc" and _IN_STEP.search(text):
            warn(_NOT_IN_STEP, SimulatorWarning)
    near = _absolute(os.path.dirname(source.name))
    with folders.Working() as folder:
        own = os.path.join(folder, "include")
        marks = family == "gcc" and "divide" not in checks
        included = Headers(source, options.before, users, near, own, bool(checks), kind, marks)
        text = included.translated(text)
        whole = hostunit.translation_unit(source, included.with_copies(text), kind, checks)
        whole = included.with_copies(options.before) + whole
        cuda_src = headers.cuda_src()
        last = ["-I", cuda_src, "-I", f"{cuda_src}/sim/include"]
        if _MAY_BE_ENDLESS.search(source.text):
            last.append("-fno-finite-loops")
        if options.debug:
            last += _text_flags(source, folder)
        output = os.path.join(folder, "image.so")

        def build(real, behind=()):
            between = [word for path in real for word in ("-I", path)]
            end = [word for path in behind for word in ("-I", path)]
            search = [*included.search(), *between, *last, *end]
            build = _Build(source, compiler, family, flags, search, output, kind, checks)
            build.marked = included.marked
            build.header = "prelude.h" if options.before else "head.h"
            return build.run(f'#include "sim/cccl.h"\n{whole}' if real else whole), build.unit

        real = cccl.search(included.texts) if kind == "sim" else []
        try:
            log, unit = build(real)
        except CompileError as problem:
            if kind != "sim":
                raise
            front, behind = _more_folders(problem.log, included.texts, real)
            if cccl.forget_damaged():
                front = cccl.search(included.texts)
            elif len(front) == len(real):
                raise
            log, unit = build(front, behind)
        with open(output, "rb") as file:
            data = file.read()
    slips = tuple(reported.of_host(log, source))
    log = "" if family == "gcc" else _reader(source).warnings(log)
    return _image(source, kind, data, log, unit).replace(slips=slips)


def _without_outlined_atomics(compiler, family):
    """On 64-bit Arm, compilers replace atomics by calls of libgcc's, which asks the C library for the processor's
    features: images are linked without both, and are compiled for this processor anyway."""
    if os.uname().machine not in ("aarch64", "arm64"):
        return []
    since = (10, 0) if family == "gcc" else (12, 0)
    return ["-mno-outline-atomics"] if identify(compiler).version >= since else []


def _more_folders(log, texts, real):
    """The toolkit's include folders, in front of our own and behind, that have what the log says is lacking."""
    behind = []
    if not real and _OF_CCCL.search(log):
        real = cccl.search(texts, all_of_it=True)
    if _OF_CURAND.search(log) and (curand := cccl.search_curand()):
        real, behind = [*real, *curand[0]], curand[1]
    return real, behind


def _image(source, kind, data, log, unit):
    """The Image of a shared object, which tells what it describes. unit: the kernels' IR, where there is one."""
    names = [*source.kernels, *source.variables]
    told = {int(match[1]): match[0].decode() for match in _DESCRIPTION.finditer(data)}
    symbols = names  # the runtime looks into the image's table
    if kind == "sim":
        _check_shared(data, source, unit)
        _check_constant(data, source)
        data = simulated(data)
        symbols = [f"nl_sim_kernel_{i}" for i in range(len(source.kernels))]
        symbols += [f"nl_sim_variable_{i}" for i in range(len(source.variables))]
    return Image(
        kind=kind,
        data=data,
        arch=kind,
        lowered=dict(zip(names, symbols, strict=True)),
        descriptions={name: told[i] for i, name in enumerate(names)} if source.describe else {},
        log=log,
        source=source.text,
    )


def _text_flags(source, folder):
    """Says that everything was compiled where debuggers find the texts that are in no file."""
    texts = debugger.keep_texts(source.text)
    return [f"-fdebug-prefix-map={folder}={texts}"] if texts else []


def _check_shared(data, source, unit):
    """Refuses what a GPU refuses: more than 48 KiB of __shared__ variables that are not extern, in all that
    a kernel and its functions have. unit: the kernels' IR, or None, from a compiler that has none: then what each
    function has.
    """
    sizes = {
        symbol: size
        for symbol, size in elf.thread_locals(data)
        if not symbol.startswith("_ZN13numbalite_sim")
    }
    if unit is None:
        functions = {}
        for symbol, size in sizes.items():
            place, _, name = _split_local(symbol)
            functions.setdefault(place or symbol, []).append((name, size))
        kernels = functions.values()
    elif sum(sizes.values()) <= _SHARED_LIMIT and "shared_variable" not in unit:
        return
    else:
        kept = {*sizes, *(symbol for symbol, _ in elf.objects(data))}
        kernels = [
            [
                (
                    v.name or _split_local(v.symbol)[2],
                    sizes.get(v.symbol, 0) if v.size is None else v.size,
                )
                for v in variables
                if v.symbol in kept
            ]
            for variables in staticshared.by_kernel(unit)
        ]
    how = "cuda.shared.array(0, dtype)" if source.is_python else "extern __shared__ memory"
    for variables in kernels:
        larger = f"{how}, sized by the launch, can be larger"
        _check_size("shared", variables, _SHARED_LIMIT, larger, source)


def _check_constant(data, source):
    """Refuses what a GPU refuses: more than 64 KiB of __constant__ variables."""
    texts = (source.text, *dict(source.headers).values())
    found = [v for text in texts if "__constant__" in text for v in scanner.scan(text)[1]]
    names = {variable.name for variable in found if variable.space == "__constant__"}
    last_names = {scanner.last_name(name) for name in names}
    variables = {}
    for symbol, size in elf.objects(data) if names else ():
        if not any(name in symbol for name in last_names):
            continue
        name = _plain(symbol).replace("(anonymous namespace)::", "").partition("<")[0]
        if name in names:
            variables[name] = size + variables.get(name, 0)
    _check_size(
        "constant", variables.items(), _CONSTANT_LIMIT, "__device__ memory can be larger", source
    )


def _check_size(kind, variables, limit, larger, source):
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


def _split_local(name):
    """("_ZZ4kernPf", "E1", "a") of the mangled name of a function's variable; ("", "", name) of others."""
    found = re.fullmatch(r"(_ZZ.*)(E\d+)(\w+?)(?:_\d*_?)?", name)
    if found:
        length = int(found[2][1:])
        rest = name[found.end(2) :]
        return found[1], found[2], rest[:length]
    return "", "", re.sub(r"^_ZL?\d+(?=\D)", "", name)


def _is_ours(file):
    if file in _NOBODYS or file.startswith(
        (headers.cuda_src(), "numbalite/", "/usr/include/", "/usr/lib")
    ):
        return True
    return "/include/c++/" in file or "/libcxx/include/" in file or "/lib/clang/" in file


class _Build:
    """One run of the compiler's steps."""

    def __init__(self, source, compiler, family, flags, search, output, kind, checks=()):
        self.source, self.compiler, self.family, self.flags = source, compiler, family, flags
        self.search, self.output, self.kind = search, output, kind
        self.checks, self.log, self.whole = checks, "", ""
        self.unit = None  # the kernels' IR as the front end gives it
        self.marked = False  # has the source marks at divisions?
        self.header = "prelude.h"  # what is precompiled
        # As NVRTC has it, a template's body is read when there is an instance. clang++ cannot precompile
        # headers that way, so it is tried second.
        self.delayed = []

    def run(self, whole):
        """Leaves the shared object at `output`; gives the log."""
        self.whole = whole
        text = whole.encode("utf-8", "surrogatepass")
        of = (self.kind, self.header)
        prelude = hostprelude.arguments(self.compiler, self.family, self.flags, _run, *of)
        try:
            self._steps(text, prelude)
        except CompileError as problem:
            as_text = hostprelude.text_arguments(self.kind)
            # A precompiled prelude that was damaged or removed meanwhile, or that the compiler refuses.
            known = self.compiler, self.family, self.flags
            damaged = prelude != as_text and hostprelude.forget_damaged(*known, *of)
            if damaged or (prelude != as_text and _UNFIT.search(problem.log)):
                if not damaged:
                    hostprelude.forget(self.compiler, self.flags, *of)
                self.log = ""
                self._steps(text, as_text)
            elif self.family == "clang" and self.kind == "sim" and "template" in whole:
                self.log = ""
                self.delayed = ["-fdelayed-template-parsing"]
                self._steps(text, as_text)
            else:
                raise
        return self.log

    def _steps(self, text, prelude):
        objects = [self._compile(text, prelude, self.output[: -len(".so")])]
        if self.checks:
            objects.append(f"{self.output}.hooks.o")
            hooks = hostprelude.hooks(self.compiler, self.flags, self._compile_hooks)
            with open(objects[1], "wb") as file:
                file.write(hooks)
        if self.family == "gcc":
            self._refuse_what_is_warned_of()
        self._link(objects)
        if self.compiler.is_zig:
            self._check_names()

    def _compile_hooks(self):
        """The object file of what instrumented code calls: the same for every kernel."""
        header, output = f"{headers.cuda_src()}/sim/hooks.h", f"{self.output}.hooks.o"
        self._step([*self._command(), "-x", "c++", "-c", header, "-o", output])
        with open(output, "rb") as file:
            return file.read()

    def _command(self):
        command = [*self.compiler.command, *self.flags, "-fdiagnostics-color=never"]
        if self.compiler.is_zig:  # it would check for undefined behaviour without optimisation
            command.append("-fno-sanitize=undefined")
        return command

    def _compile(self, text, prelude, path):
        """Leaves an object file of a unit beside `path`; gives its path."""
        gcc = self.family == "gcc"
        common = self._command()
        limit = "-fmax-errors=20" if gcc else "-ferror-limit=20"
        front = [*common, limit, *self.delayed, *prelude, *self.search, "-x", "c++", "-"]
        object_file = path + ".o"
        if gcc:
            self._step([*front, "-c", "-o", object_file], text)
            return object_file
        self._step(
            [*front, "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", path + ".ll"],
            text,
        )
        with open(path + ".ll", encoding="utf-8", errors="surrogateescape") as file:
            ir = file.read()
            if path == self.output[: -len(".so")]:
                self.unit = ir
            ir = irpatch.patch(
                ir, self.kind == "sim", self._vectors(), self.checks, self.source.is_python
            )
        with open(path + ".ll", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(ir)
        # The front end has marked what may be fused; "fast" would fuse the rest too.
        common = [flag.replace("contract=fast", "contract=on") for flag in common]
        self._step([*common, "-c", path + ".ll", "-o", object_file])
        return object_file

    def _link(self, objects):
        command = self.compiler.command
        if self.compiler.is_zig:
            # It would build a C library to link with. The process has one, and the few names that
            # are wanted of it are known.
            self._step([*command, "-shared", "-nostdlib", *objects, "-o", self.output])
            return
        gcc = ["-nodefaultlibs", "-lm", "-lc", "-lgcc"]
        flags = [*_LINK, *(gcc if self.family == "gcc" else ["-nostdlib++", "-lm"])]
        self._finish(hostlink.link(command, flags, objects, self.output, self._run))

    def _vectors(self):
        """The vector functions that may be called; zig does not link with their library."""
        return host.vector_math() if self.kind == "host" and not self.compiler.is_zig else 0

    def _run(self, command, stdin=b""):
        return _run(command, stdin, os.path.dirname(self.output))

    def _refuse_what_is_warned_of(self):
        """g++ warns, and only by its words, of what clang++ has switches for (host.py)."""
        errors = hostlog.as_errors(self.log, _REFUSED, _is_ours) if self.kind == "sim" else ""
        if errors:
            raise self._failure(errors)

    def _step(self, command, stdin=b""):
        return self._finish(self._run(command, stdin))

    def _finish(self, result):
        log = result.stderr.decode("utf-8", "replace")
        self.log += log
        if result.returncode:
            raise self._failure(log)
        return result.stdout

    def _check_names(self):
        """What a linker with the C library at hand would say of names that nobody defines."""
        import ctypes

        known = [ctypes.CDLL(None), ctypes.CDLL("libm.so.6")]
        with open(self.output, "rb") as file:
            names = elf.undefined(file.read())
        missing = [n for n in names if not any(hasattr(library, n) for library in known)]
        if missing:
            log = "".join(f"undefined reference to '{_plain(name)}'\n" for name in missing)
            raise self._failure(log)

    def _failure(self, log):
        if self.compiler.is_zig:
            log = _ZIG_STDIN.sub("<stdin>", log)
        text = _reader(self.source, self.whole, self.marked).errors(log)
        if not text:
            identify(self.compiler)  # which says so if it is too old
            full = folders.without_room(os.path.dirname(self.output))
            text = f"{shlex.join(self.compiler.command)} failed:\n{full or log.strip()[-2000:]}"
        elif all(
            hostunit.END in line or _is_ours(line)
            for line in text.splitlines()
            if "): error" in line
        ):
            text = _unclosed(self.source) or text
        return CompileError(text, log=log, source=self.source.text)


def _plain(name):
    """A symbol as people write it, where it can be read."""
    try:
        return demangle(name)
    except ValueError:
        return name


def _reader(source, read="", marked=False):
    names = [*source.kernels, *source.variables]
    meanings = {f"{hostunit.END}/{i}": f'in the name "{name}"' for i, name in enumerate(names)}
    text = f'#line 1 "{quoted(source.name)}"\n{source.text}'
    return hostlog.Reader(text, read, _is_ours, meanings, marked)


def _unclosed(source):
    """Says of a bracket that is never closed where it stands; compilers tell where they noticed."""
    tokens = scanner.tokenize(source.text)
    partner = scanner.brackets(tokens)
    for at in reversed(range(len(tokens))):
        token = tokens[at]
        if token.kind == "sign" and token.text in ("{", "(", "[") and at not in partner:
            before = f'#line 1 "{quoted(source.name)}"\n' + source.text[: token.start + 1]
            file, line = list(hostlog.places(before))[-1]
            return f'{file}({line}): error: this "{token.text}" is never closed'
    return ""
