"""Linking by the linker itself, as clang's driver would call it."""

import shutil
import subprocess

import pytest

from numbalite.compilers import hostlink

FLAGS = ["-shared", "-Wl,-z,defs"]


@pytest.fixture
def link(monkeypatch, tmp_path):
    """link(source, name) -> (the result, the programs that were run); the compiler's driver is not known yet."""
    if not shutil.which("clang++"):
        pytest.skip("only clang++ is linked so, and it is not installed")
    monkeypatch.setattr(hostlink, "_known", {})

    def link(source, name):
        compiled, ran = tmp_path / "in here.o", []
        command = ["clang++", "-fPIC", "-x", "c++", "-c", "-", "-o", compiled]
        subprocess.run(command, input=source, text=True, check=True)

        def run(command):
            ran.append(command[0].rpartition("/")[2])
            return subprocess.run(command, capture_output=True, check=False)

        return hostlink.link(["clang++"], FLAGS, str(compiled), str(tmp_path / name), run), ran

    return link


def test_the_driver_is_asked_once(link, tmp_path):
    source = 'extern "C" int f() { return 3; }'
    result, ran = link(source, "first.so")
    assert ran == ["clang++"] and (result.returncode, result.stderr) == (0, b"")
    result, ran = link(source, "second.so")
    assert len(ran) == 1 and ran != ["clang++"] and result.returncode == 0
    first, second = ((tmp_path / name).read_bytes() for name in ("first.so", "second.so"))
    assert first == second


@pytest.mark.parametrize("after", [0, 1])
def test_the_driver_says_what_is_wrong(link, after):
    for i in range(after):
        link("int g;", f"{i}.so")
    result, ran = link("void missing(); void f() { missing(); }", "fails.so")
    assert result.returncode and b"missing" in result.stderr and ran[-1] == "clang++"
    assert b"-dynamic" not in result.stderr and b"InstalledDir" not in result.stderr


def test_a_linker_that_has_gone(link):
    link("int g;", "first.so")
    for words in hostlink._known.values():
        words[0] = "/bin/false"
    result, ran = link("int g;", "second.so")
    assert ran == ["false", "clang++"] and result.returncode == 0


def test_other_words(tmp_path):
    """What is not understood leaves linking to the driver."""
    for text in ("", ' "ld" "-shared" "a.o" "b.so"\n' * 2, ' "ld" "a.o" "b.so"', ' "ld" "b.so'):
        assert hostlink._linker(text, "a.o", "b.so") is None
    assert hostlink._linker('x\n "ld" "-shared" "a.o" "-o" "b.so"', "a.o", "b.so") is not None
