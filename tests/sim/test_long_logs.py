"""Compilers' messages about long lines and about many mistakes are short, and are printed quickly."""

import random

import pytest

from numbalite import cuda
from numbalite.compilers import longlines, process
from numbalite.errors import CompileError

pytestmark = pytest.mark.sim
KERNEL = "\n__global__ void k(int *x) { x[0] = 1; }"


@pytest.mark.parametrize("prefix", ["", "    1 | "])
def test_long_source_lines_are_cut_around_the_caret(prefix):
    rng = random.Random(1)
    for _ in range(200):
        length, at = rng.randrange(400, 5000), 0
        at = rng.randrange(length)
        line = "".join(rng.choice("abc +;") for _ in range(length - 1)) + "z"
        line = line[:at] + "#" + line[at + 1 :]
        below = " " * (len(prefix) and len(prefix) - 2) + ("| " if prefix else "") + " " * at + "^"
        got = longlines.shorten_lines(f"k.cu:1: error: x\n{prefix}{line}\n{below}\nend").split("\n")
        assert got[0] == "k.cu:1: error: x" and got[3] == "end"
        assert len(got[1]) <= 306 and got[1][got[2].index("^")] == "#"


def test_short_lines_and_long_messages_are_unchanged():
    for text in (
        "",
        "k.cu(1): error: x\n  x;\n  ^",
        "k.cu(1): error: " + "vector<" * 500 + "\n  x;\n  ^",
    ):
        assert longlines.shorten_lines(text) == text
    assert longlines.shorten_lines("x" * 20_000) == "x" * 300 + "..."


def test_compiler_is_ended_after_the_error_limit():
    """Without a limit, clang parses the rest of the source for minutes."""
    last = process.STOPPED.decode()
    result = process.run_program(
        ["sh", "-c", f"cat >&2; echo '{last}' >&2; exec sleep 1000"], b"x" * 300_000
    )
    assert result.returncode and result.stderr == b"x" * 300_000 + process.STOPPED + b"\n"


@pytest.mark.parametrize("declarations", ["foo x;", "wrong{i} v{i};"])
def test_many_errors_on_one_line_are_limited(declarations):
    """For equal declarations, clang's time is quadratic: 70 s for these without the limit."""
    text = " ".join(declarations.replace("{i}", str(i)) for i in range(20_000))
    with pytest.raises(CompileError) as caught:
        cuda.module(text + KERNEL).k
    assert declarations.split()[0].replace("{i}", "0") in str(caught.value)
    assert len(str(caught.value)) < 20_000 and len(caught.value.log) < 30_000
