"""Images are linked by the linker itself, or by the compiler's driver if the linker is
unsuitable."""

import ctypes
import os
import shutil
import subprocess

import pytest

from numbalite.compilers import host, hostlink

FLAGS = ["-shared", "-Wl,-z,defs", "-lm"]
PLAIN = 'extern "C" int f() { return 3; }'
COPIES = (
    'extern "C" void *memcpy(void *, const void *, unsigned long); extern "C" int f() { return 3; }'
)
COPIES += "struct s { int x[999]; }; void copy(s &a, const s &b) { a = b; }"
THREADS = 'thread_local int x = 3; extern "C" int f() { return x; }'
MATH = (
    'extern "C" double exp(double); volatile double x = 1.1; extern "C" int f() { return exp(x); }'
)
VERSIONED = 'extern "C" void *get(void *); __asm__(".symver get, __tls_get_addr@GLIBC_2.3");'
VERSIONED += 'extern "C" int f() { return get != nullptr ? 3 : 0; }'
MISSING = "void missing(); void f() { missing(); }"


@pytest.fixture(params=["g++", "clang++"])
def link_source(monkeypatch, tmp_path, request):
    """Returns a function link_source(source, *options) -> (result, programs that were run, command of the last
    program)."""
    compiler = shutil.which(request.param)
    if not compiler or not shutil.which("ld"):
        pytest.skip("needs a linker, and " + request.param)
    monkeypatch.setattr(hostlink, "_unfit", set())

    def compile_and_link(source, *options):
        compiled, ran = tmp_path / "in here.o", []
        command = [compiler, "-fPIC", "-x", "c++", "-c", "-", "-o", compiled]
        subprocess.run(command, input=source, text=True, check=True)

        def run_and_record(command):
            ran.append(command)
            return subprocess.run(command, capture_output=True, check=False)

        output = str(tmp_path / "out here.so")
        result = hostlink.link_image(
            [compiler, *options], FLAGS, [str(compiled)], output, run_and_record
        )
        return result, [words[0] for words in ran], ran[-1]

    compile_and_link.compiler, compile_and_link.output = compiler, tmp_path / "out here.so"
    return compile_and_link


@pytest.mark.parametrize("source", [PLAIN, COPIES, THREADS])
def test_plain_images_link_without_libraries(link_source, source):
    result, ran, command = link_source(source)
    assert result.returncode == 0 and ran == [host.find_program("ld")] and "-lc" not in command
    assert ctypes.CDLL(str(link_source.output)).f() == 3


@pytest.mark.skipif(
    not os.path.exists(hostlink._DYNAMIC_LINKER), reason="the C library is not glibc"
)
def test_dynamic_linker_symbols_need_no_library(link_source):
    result, ran, command = link_source(VERSIONED)
    assert result.returncode == 0 and ran == [host.find_program("ld")] and "-lc" not in command
    assert ctypes.CDLL(str(link_source.output)).f() == 3


def test_images_with_math_functions_link_two_libraries(link_source):
    result, ran, command = link_source(MATH)
    assert result.returncode == 0 and ran == [host.find_program("ld")] and "-lm" in command
    assert ctypes.CDLL(str(link_source.output)).f() == 3
    version = subprocess.run(
        ["nm", "-D", link_source.output], capture_output=True, text=True, check=True
    )
    assert "exp@" in version.stdout  # the current symbol version, not the oldest version


def test_the_compiler_driver_reports_link_errors(link_source):
    result, ran, _ = link_source(MISSING)
    assert result.returncode and b"missing" in result.stderr and ran[-1] == link_source.compiler
    assert link_source(PLAIN)[1] == [
        host.find_program("ld")
    ]  # the failure is not an error of the linker


def test_unsuitable_linker_is_tried_only_once(link_source, monkeypatch):
    monkeypatch.setattr(host, "find_program", lambda name: "/bin/false")
    result, ran, _ = link_source(PLAIN)
    assert ran == ["/bin/false", link_source.compiler] and result.returncode == 0
    assert link_source(PLAIN)[1] == [link_source.compiler]


def test_without_a_linker_or_with_options_the_driver_links(link_source, monkeypatch):
    assert link_source(PLAIN, "-pipe")[1] == [link_source.compiler]
    monkeypatch.setattr(host, "find_program", lambda name: None)
    assert link_source(PLAIN)[1] == [link_source.compiler]
