"""Tests the choice of the host compiler, its options, and the contents of an image."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import numbalite
from numbalite.compilers import elf, folders, forkserver, host, hostbuild, hostoptions, hostprelude
from numbalite.compilers.source import Source
from numbalite.errors import CompileError, CudaSupportError
from numbalite.types import describe

PLAIN = '#include "numbalite.cuh"\n__global__ void k(float* x, int n) { x[0] = n; }\n__constant__ int c[3];'


@pytest.fixture
def hide_compilers(monkeypatch, tmp_path):
    for name in ("NUMBALITE_CXX", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [])

    def add(name, text="#!/bin/sh\n", folder=tmp_path):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return add


def test_missing_compiler_raises_with_a_hint(hide_compilers):
    with pytest.raises(
        CudaSupportError, match=r"no C\+\+ compiler.*pip install ziglang.*apt install clang"
    ):
        host.find_compiler()


def test_compilers_are_searched_in_order(hide_compilers, monkeypatch, tmp_path):
    zig = hide_compilers("site/ziglang/zig")
    monkeypatch.setattr("sys.path", [str(tmp_path / "site")])
    assert host.find_compiler() == ((zig, "c++"), zig) and host.find_compiler().is_zig
    assert host.find_compiler().path == zig
    gcc = hide_compilers("g++")
    assert host.find_compiler().command == (gcc,)
    clang = hide_compilers("clang++")
    assert host.find_compiler().command == (clang,)
    monkeypatch.setenv("CXX", "g++ -m64")
    assert host.find_compiler() == ((gcc, "-m64"), gcc)
    monkeypatch.setenv("NUMBALITE_CXX", clang)
    assert host.find_compiler() == ((clang,), clang)
    for name in (
        zig,
        "zig",
    ):  # "zig" alone means its C++ compiler; the package's program is not in PATH
        monkeypatch.setenv("NUMBALITE_CXX", name)
        assert host.find_compiler() == ((zig, "c++"), zig)


def test_relative_compiler_path_is_made_absolute(hide_compilers, monkeypatch, tmp_path):
    """The compiler runs in other folders, so its path is made absolute."""
    path = hide_compilers("tools/my++")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBALITE_CXX", "tools/my++ -m64")
    assert host.find_compiler() == ((path, "-m64"), path)


def test_compilation_works_in_a_deleted_directory(compile_image, monkeypatch, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert compile_image(Source(PLAIN, "user.cu", ("k",), options=("-Imine",))).data
    program = host.find_compiler().path
    monkeypatch.setitem(forkserver._asked, program, 99)
    assert hostbuild._run_in_folder([program, "--version"]).returncode == 0


def test_full_disk_raises_a_compile_error(compile_image, monkeypatch):
    monkeypatch.setattr(
        hostbuild._Compilation, "_link_objects", lambda build, *_: build._run_step(["false"])
    )
    room = SimpleNamespace(f_bavail=4, f_frsize=1024)
    monkeypatch.setattr(os, "statvfs", lambda folder: room)
    with pytest.raises(CompileError, match="failed:\n.* has room for 4096 bytes: .*TMPDIR"):
        compile_image(Source(PLAIN, "user.cu", ("k",)))


@pytest.mark.parametrize("name", ["NUMBALITE_CXX", "CXX"])
def test_missing_configured_compiler_raises(hide_compilers, monkeypatch, name):
    monkeypatch.setenv(name, "no-such-c++")
    with pytest.raises(CudaSupportError, match=rf"\${name} names the compiler 'no-such-c\+\+'"):
        host.find_compiler()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", ("gcc", (12, 2))),
        ("x86_64-conda-linux-gnu-c++ (conda-forge gcc 13.3.0-1) 13.3.0", ("gcc", (13, 3))),
        ("Debian clang version 14.0.6", ("clang", (14, 0))),
        ("clang version 22.1.8\nTarget: x86_64", ("clang", (22, 1))),
        ("g++ (GCC) 8.5.0 20210514", "g++ 9"),
        ("clang version 9.0.1-12", "too old"),
        ("tcc version 0.9.27", "neither"),
    ],
)
def test_compiler_version_is_parsed(hide_compilers, version, expected):
    path = hide_compilers("some-c++", f"#!/bin/sh\ncat <<'EOF'\n{version}\nEOF\n")
    compiler = host.Compiler((path, version), path)
    if isinstance(expected, str):
        os.environ["PATH"] += os.pathsep + "/bin"
        with pytest.raises(CudaSupportError, match=expected.replace("+", r"\+")):
            hostbuild.identify_compiler(compiler)
    else:
        os.environ["PATH"] += os.pathsep + "/bin"
        assert hostbuild.identify_compiler(compiler)[:2] == expected


def test_description_is_found_after_other_bytes():
    """In the image, constants may directly precede the code."""
    said = b"constexpr const char *numbalite_sim::NLDESC() [index = 3, T = int]"
    assert hostbuild._DESCRIPTION.search(b"\0\x3f\xff" + said + b"\0")[0] == said


def test_host_image_has_names_and_descriptions(compile_image):
    image = compile_image(Source(PLAIN, "user.cu", ("k",), ("c",)))
    assert image.kind == image.arch == "sim"
    assert image.lowered == {"k": "nl_sim_kernel_0", "c": "nl_sim_variable_0"}
    assert image.source == PLAIN and image.log == ""
    first, second = describe.parameters(image.descriptions["k"])
    assert (first.kind, first.dtype, second.kind, second.dtype) == (
        "pointer",
        "float32",
        "scalar",
        "int32",
    )
    assert describe.variable(image.descriptions["c"]) == ("int32", (3,))
    wanted = elf.undefined_symbols(image.data[16:])
    assert not [
        name for name in wanted if name.startswith(("_Z", "__cxa_", "printf", "malloc", "nl_"))
    ]


def test_fingerprint_depends_on_options_and_compiler(compile_image, monkeypatch):
    unit = Source(PLAIN, "user.cu", ("k",))
    found = host.compiler_fingerprint(unit)
    assert found == host.compiler_fingerprint(unit)
    assert found != host.compiler_fingerprint(unit.replace(fastmath=True))
    assert found != host.compiler_fingerprint(unit.replace(debug=True))
    other = shutil.which("true")
    monkeypatch.setenv("NUMBALITE_CXX", other)
    assert found != host.compiler_fingerprint(unit)


def test_cache_hits_do_not_import_compiler_modules(run_python):
    code = """
import sys
before = set(sys.modules)
from numbalite.compilers import host, source
host.compiler_fingerprint(source.Source("", "user.cu"))
new = set(sys.modules) - before
print(*sorted({"subprocess", "tempfile", "shutil", "shlex", "numbalite.cxx.scanner"} & new))
"""
    assert run_python(code, NUMBALITE_CXX="").stdout.strip() == ""  # words are for shlex


def test_nvrtc_options_are_translated():
    options = ("-DA=2", "-D", "B", "--define-macro=C(x)=x", "-UD", "-I/one", "--include-path=/two", "-I", "/three",
               "--std=c++20", "--fmad=false", "-lineinfo", "--use_fast_math", "-arch=sm_80", "--maxrregcount=32",
               "--pre-include=x.h", "-default-device", "--ptxas-options=-O1")  # fmt: skip
    read = hostoptions.read_options(Source("", options=options, debug=True))
    assert read.before.splitlines() == [
        "#define NUMBALITE_DEBUG 1", "#define A 2", "#define B 1", "#define C(x) x", "#undef D", '#include "x.h"',
    ]  # fmt: skip
    assert read.includes == ("/one", "/two", "/three")
    assert (read.std, read.fmad, read.lineinfo, read.fastmath, read.debug) == (
        "c++20",
        False,
        True,
        True,
        True,
    )
    with pytest.raises(CompileError, match="lacks its value"):
        hostoptions.read_options(Source("", options=("-I",)))


def test_options_reach_the_source(compile_image, tmp_path):
    (tmp_path / "mine.h").write_text("#define MINE 7\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "near.h").write_text("#define NEAR 8\n")
    source = """
    #include <mine.h>
    #include "near.h"
    #include "memory.h"
    static_assert(MINE == 7 && NEAR == 8 && MEMORY == 9 && OPTION == 10 && __cplusplus > 201703L, "");
    __global__ void k(float* x) { extern_shared()[0] = 1; }
    """
    memory = "#define MEMORY 9\n__device__ float* extern_shared() { extern __shared__ float s[]; return s; }"
    unit = Source(source, str(tmp_path / "sub" / "user.cu"), ("k",), options=(f"-I{tmp_path}", "-DOPTION=10"),
                std="c++20", headers=(("memory.h", memory),), describe=False)  # fmt: skip
    assert compile_image(unit).data


def test_included_headers_are_translated(compile_image, tmp_path):
    (tmp_path / "inner.h").write_text("""#pragma once
__device__ float* dynamic() { extern __shared__ float s[]; return s; }
""")
    (tmp_path / "outer.h").write_text('#include "inner.h"\n#include "outer.h"\n#define OUTER 1\n')
    source = (
        '#include "outer.h"\nstatic_assert(OUTER, "");\n__global__ void k() { dynamic()[0] = 1; }'
    )
    unit = Source(source, str(tmp_path / "user.cu"), ("k",), describe=False)
    (tmp_path / "outer.h").write_text("#pragma once\n" + (tmp_path / "outer.h").read_text())
    assert compile_image(unit).data
    (tmp_path / "inner.h").write_text(
        "#define N (M / K)\n#define M 8\n#define K 4\n__device__ int f(int n) { return n / N / n; }\n"
    )
    halves = unit._replace(
        text='#include "outer.h"\n#if N == 2\n__global__ void k() { f(N); }\n#endif'
    )
    assert compile_image(halves).data
    (tmp_path / "inner.h").write_text("__device__ void f() {\n  undefined_x;\n}")
    with pytest.raises(CompileError, match=r"inner\.h\(2\): error: "):
        compile_image(unit)
    (tmp_path / "inner.h").write_text('__device__ void f() {\n  asm("x");\n}')
    calling = unit._replace(text='#include "outer.h"\n__global__ void k() { f(); }')
    with pytest.raises(CompileError, match=r"inner\.h\(2\): error: inline PTX"):
        compile_image(calling)


@pytest.mark.parametrize("fields", [
    {"debug": True}, {"opt": False}, {"opt": 3}, {"lineinfo": True}, {"fastmath": True}, {"std": "c++14"},
    {"std": "c++20"},
])  # fmt: skip
def test_images_run_when_compiled_with_each_option_set(load_alone, fields):
    image = load_alone(
        "__global__ void k(float* x, float a) { x[threadIdx.x] = a / 3 + threadIdx.x; }",
        "k",
        **fields,
    )
    out = (ctypes.c_float * 8)()
    image.run("k", (1,), (8,), ctypes.c_void_p(ctypes.addressof(out)), ctypes.c_float(6))
    assert [round(x, 5) for x in out] == [2, 3, 4, 5, 6, 7, 8, 9]


def test_products_are_fused_as_on_a_gpu(load_alone):
    source = """__global__ void k(float* x) {
        float a = x[0], b = x[1], product = a * b;
        x[2] = product - x[3];
    }
    __global__ void apart(float* x) { x[4] = __fmul_rn(x[0], x[1]) - x[3]; }"""
    for options, fused in (((), True), (("--fmad=false",), False)):
        image = load_alone(source, "k", "apart", options=options)
        a = 1 + 2.0**-12
        x = (ctypes.c_float * 5)(a, a, 0, 1 + 2.0**-11, 0)
        for name in ("k", "apart"):
            image.run(name, (1,), (1,), ctypes.c_void_p(ctypes.addressof(x)))
        assert x[2] == (2.0**-24 if fused else 0)
        assert x[4] == 0


@pytest.mark.parametrize("preloaded, left", [
    ("/usr/lib/libtsan.so.2", ""),
    ("libm.so.6 /usr/lib/gcc/x86_64-linux-gnu/12/libasan.so:libc.so.6", "libm.so.6:libc.so.6"),
    ("libclang_rt.asan-x86_64.so", ""),
    ("libm.so.6", "libm.so.6"),
    ("", ""),
])  # fmt: skip
def test_the_compiler_runs_without_this_process_sanitizer(monkeypatch, preloaded, left):
    monkeypatch.setenv("LD_PRELOAD", preloaded)
    done = hostbuild._run_in_folder(["/bin/sh", "-c", "echo $LD_PRELOAD $LC_ALL"])
    assert done.stdout.decode().split() == [*left.split(), "C"]


SLEEPER = """#!/bin/sh
sleep 600 &
echo $$ $! > {pids}.half
mv {pids}.half {pids}
wait
"""
COMPILES = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from numbalite.compilers import hostbuild
from numbalite.compilers.source import Source
hostbuild.compile(Source("__global__ void k() {}", kernels=("k",)))
"""


def is_running(pid):
    """Returns whether the process runs: without a waiting parent, an ended process stays a
    zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the process may end while its state is read
        return False


def test_an_interrupted_compilation_ends_the_compiler(tmp_path):
    """Processes that the compiler has started are also killed, and its folder is removed."""
    compiler, pids, temporary = (tmp_path / name for name in ("clang++", "pids", "temporary"))
    compiler.write_text(SLEEPER.format(pids=pids))
    compiler.chmod(0o755)
    temporary.mkdir()
    package = os.path.dirname(os.path.dirname(numbalite.__file__))
    own = {"NUMBALITE_CXX": str(compiler), "TMPDIR": str(temporary), "PYTHONPATH": package}
    process = subprocess.Popen(
        [sys.executable, "-c", COMPILES], env={**os.environ, **own}, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not pids.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert os.listdir(temporary)
    process.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in process.communicate(timeout=60)[1]
    for pid in pids.read_text().split():
        while is_running(pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_running(pid)
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder, file: folder.chmod(0o777),
        lambda folder, file: file.chmod(0o666),
        lambda folder, file: (file.rename(f"{file}.real"), file.symlink_to(f"{file}.real")),
        lambda folder, file: (folder / "CACHEDIR.TAG").unlink(),
        lambda folder, file: (os.geteuid() == 0 and os.chown(file, 12345, -1)) or file.chmod(0o666),
    ],
    ids=["open folder", "open file", "link", "no mark", "others"],
)
def test_a_precompiled_prelude_that_may_be_others_is_not_used(monkeypatch, tmp_path, spoil):
    """The cached file is executed as code; tests/kernels/test_damaged_cache.py tests damaged images."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    made = []

    def record_and_compile(command):
        made.append(command)
        with open(command[-1], "w") as file:
            file.write("compiled")
        return subprocess.CompletedProcess(command, 0)

    def ask_for_prelude():
        compiler = host.Compiler(("clang++",), sys.executable)
        for memory in (hostprelude._made, hostprelude._asked):
            memory.clear()
        for _ in range(2):
            found = hostprelude.prelude_arguments(compiler, "clang", [], record_and_compile, "sim")
        return found

    assert ask_for_prelude()[0] == "-include-pch" and len(made) == 1
    assert ask_for_prelude()[0] == "-include-pch" and len(made) == 1
    (folder,) = tmp_path.glob("prelude-*")
    spoil(folder, folder / "prelude.pch")
    assert hostprelude._precompiled_arguments("clang", str(folder)) is None
    is_marked = folders.has_marker(folder)  # otherwise the file is kept, and another name is used
    assert ask_for_prelude()[0] == "-include-pch" and len(made) == 2
    assert len(list(tmp_path.glob("prelude-*"))) == (1 if is_marked else 2)


ON_ZIG = """
import numpy as np
from numbalite import cuda, jit, vectorize
from numbalite.compilers import host

assert host.find_compiler().is_zig

@cuda.jit
def doubled(x):
    "extern __shared__ float s[]; int i = grid<1>(); s[i] = x[i]; __syncthreads(); x[i] = s[i] + sqrt(s[i] * s[i]);"

@vectorize(["float32(float32)"])
def more(x):
    "return sin(x) + 1;"

@jit("float64(float64)")
def less(x):
    "return x - 1;"

x = cuda.to_device(np.arange(4, dtype=np.float32))
doubled[1, 4, 0, 16](x)
with cuda.checks():
    doubled[1, 4, 0, 16](x)
print(x.copy_to_host().tolist(), more(np.zeros(2, np.float32)).tolist(), less(1.5))
"""


def test_simulator_works_with_zig_only(run_python, tmp_path):
    """`pip install ziglang` is sufficient for the simulator and the CPU targets."""
    zig = pytest.importorskip("ziglang")
    package = os.path.dirname(os.path.dirname(numbalite.__file__))
    done = run_python(
        ON_ZIG, PYTHONPATH=f"{package}:{os.path.dirname(os.path.dirname(zig.__file__))}", PATH=str(tmp_path), NUMBALITE_CXX=None, CXX=None, NUMBALITE_DRIVER="sim",
        NUMBALITE_CACHE_DIR=str(tmp_path / "cache"),
    )  # fmt: skip
    assert done.stdout == "[0.0, 4.0, 8.0, 12.0] [1.0, 1.0] 0.5\n"


@pytest.mark.parametrize("home", ["/dev/null", None])
def test_zig_needs_no_home_folder(run_python, tmp_path, home):
    """Zig fails without a writable cache folder, also in a container whose user has no home folder."""
    zig = pytest.importorskip("ziglang")
    package = os.path.dirname(os.path.dirname(numbalite.__file__))
    done = run_python(
        ON_ZIG, PYTHONPATH=f"{package}:{os.path.dirname(os.path.dirname(zig.__file__))}", PATH=str(tmp_path), NUMBALITE_CXX=None, CXX=None, NUMBALITE_DRIVER="sim",
        NUMBALITE_CACHE_DIR=str(tmp_path / "cache"), HOME=home, XDG_CACHE_HOME=None, ZIG_GLOBAL_CACHE_DIR=None, TMPDIR=str(tmp_path),
    )  # fmt: skip
    assert done.stdout == "[0.0, 4.0, 8.0, 12.0] [1.0, 1.0] 0.5\n"
    assert not list(tmp_path.glob("numbalite-*"))


def test_error_of_a_compiler_that_fails_is_reported(hide_compilers):
    hide_compilers("c++", "#!/bin/sh\necho no cache >&2\nexit 1\n")
    with pytest.raises(CudaSupportError, match=r"c\+\+ --version fails: no cache"):
        hostbuild.identify_compiler(host.find_compiler())


def test_prelude_is_precompiled_once(compile_image, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    unit = Source(PLAIN, "user.cu", ("k",), options=("-DFIRST",), opt=1)
    for _ in range(3):
        assert compile_image(unit).data
    made = [path.parent for path in tmp_path.glob("prelude-*/prelude.h")]
    assert len(made) == 1
    # A precompiled prelude that the compiler rejects is not used.
    compiled_file = next(p for p in made[0].iterdir() if p.suffix in (".pch", ".gch"))
    compiled_file.write_bytes(b"nonsense")
    assert compile_image(unit).data


def test_prelude_of_a_source_is_precompiled(compile_image, monkeypatch, tmp_path):
    """The text before a source, head.h, is precompiled. If options define macros, only prelude.h is
    precompiled, because the macros precede the rest of head.h."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    asked = []
    real = hostprelude.prelude_arguments

    def record_arguments(*given):
        asked.append((given[-1], real(*given)))
        return asked[-1][1]

    monkeypatch.setattr(hostprelude, "prelude_arguments", record_arguments)
    source = '#include "numbalite.cuh"\n__global__ void k(numbalite::array<float> x) { x[0] = 1; }'
    plain = Source(source, "user.cu", ("k",), describe=True, opt=1)
    macro = Source(source, "user.cu", ("k",), options=("-DNUMBALITE_DEBUG=1",), opt=1)
    assert all(compile_image(unit).data for unit in (plain, plain, macro))
    assert [name for name, _ in asked] == ["head.h", "head.h", "prelude.h"]
    assert asked[1][1] != hostprelude.text_arguments("sim")


def test_hooks_are_compiled_once(monkeypatch, tmp_path):
    """Compiles the functions that instrumented code calls once, and again if the cached file is
    damaged."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    commands = []
    real = hostbuild._run_in_folder
    monkeypatch.setattr(
        hostbuild, "_run_in_folder", lambda *given: commands.append(given[0]) or real(*given)
    )

    def compile_commands(value):
        commands.clear()
        source = f"__global__ void k(int *x) {{ x[0] = {value}; }}"
        assert hostbuild.compile(Source(source, "user.cu", ("k",)), "sim", "race").data
        return sum(word.endswith("hooks.h") for command in commands for word in command)

    monkeypatch.setattr(hostprelude, "_hooks", {})
    assert [compile_commands(value) for value in range(2)] == [1, 0]
    monkeypatch.setattr(hostprelude, "_hooks", {})
    assert compile_commands(3) == 0
    (kept,) = tmp_path.glob("*/hooks.o")
    for data in (kept.read_bytes()[:200], b"nonsense"):
        monkeypatch.setattr(hostprelude, "_hooks", {})
        kept.write_bytes(data)
        assert [compile_commands(value) for value in range(2)] == [1, 0]


@pytest.mark.parametrize(
    ("level", "expected"), [(None, ["-O2", "-O3"]), ("0", ["-O0"] * 2), ("1", ["-O1"] * 2)]
)
def test_environment_variable_sets_the_optimization_level(monkeypatch, level, expected):
    """The level is part of the fingerprint; opt= has precedence, and images with checks have level
    1 or less."""
    plain, given = Source(PLAIN, kernels=("k",)), Source(PLAIN, kernels=("k",), opt=3)
    before = {kind: host.compiler_fingerprint(plain, kind) for kind in ("sim", "host")}
    if level is not None:
        monkeypatch.setenv("NUMBALITE_CPU_OPT", level)

    def optimization_levels(source, kind, checks=()):
        options = hostoptions.read_options(source)
        flags = host.code_flags("clang", options, source.opt, kind, checks)
        return [flag for flag in flags if flag.startswith("-O")]

    assert [*optimization_levels(plain, "sim"), *optimization_levels(plain, "host")] == expected
    assert optimization_levels(given, "sim") == optimization_levels(given, "host") == ["-O3"]
    assert optimization_levels(plain, "sim", ("memory",)) == [min(expected[0], "-O1")]
    for kind, fingerprint in before.items():
        assert (host.compiler_fingerprint(plain, kind) == fingerprint) == (level is None)


def test_headers_with_which_many_sources_begin_are_precompiled(monkeypatch, tmp_path):
    """Sources that begin with the same headers of numbalite use them precompiled, with equal results."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(hostprelude, "_sources", {})
    first = '// a comment\n#include "numbalite.cuh"\n#include "numbalite/ufunc.cuh"\n'
    source = f"{first}__global__ void k(numbalite::array<float> x) {{ x[0] = __LINE__; }}"
    commands = []
    real = hostbuild._run_in_folder
    monkeypatch.setattr(
        hostbuild, "_run_in_folder", lambda *given: commands.append(given[0]) or real(*given)
    )
    images = []
    for _ in range(hostprelude._MIN_SOURCES + 1):
        unit = Source(source, "user.cu", ("k",), opt=0)
        images.append(hostbuild.compile(unit).descriptions)
    assert all(image == images[0] for image in images)
    headers = [command for command in commands if "c++-header" in command]
    macros = '-DNUMBALITE_HEAD_1="numbalite/ufunc.cuh"'
    assert [macros in command for command in headers] == [False, True]
    used = [c[c.index("-include-pch") + 1] for c in commands if "-include-pch" in c]
    assert used[-1] == used[-2] != used[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('#include "numbalite.cuh"\nint x;\n#include "numbalite/ufunc.cuh"\n', ()),
        ('#include "numbalite/a.cuh"\n', ('-DNUMBALITE_HEAD_1="numbalite/a.cuh"',)),
        (
            '#define NUMBALITE_REDUCE_DIMS 6\n#define NUMBALITE_REDUCE_CACHED\n\n'
            '#include "numbalite/a.cuh"\n#include "numbalite/b.cuh"\nusing namespace numbalite;\n',
            ("-DNUMBALITE_REDUCE_DIMS=6", "-DNUMBALITE_REDUCE_CACHED=",
             '-DNUMBALITE_HEAD_1="numbalite/a.cuh"', '-DNUMBALITE_HEAD_2="numbalite/b.cuh"'),
        ),
        ("".join(f'#include "numbalite/{name}.cuh"\n' for name in "abcde"), ()),
        ('#define N 3\n#include "numbalite/a.cuh"\n', ()),
        ('// continued \\\n#include "numbalite/a.cuh"\n', ()),
    ],
)  # fmt: skip
@pytest.mark.every_case
def test_headers_at_the_beginning_of_a_source_become_macros(text, expected):
    assert hostprelude.header_macros(text) == expected
