"""The text of LLVM IR, before and after. test_golden.py shows that the result means the right thing."""

from __future__ import annotations

import re

import pytest

from numbalite.compilers.irpatch import patch


def body(line, before=""):
    """One instruction in a function, patched."""
    text = f"define i32 @f(i32 %0, i32 %1) {{\n{before}  {line}\n  ret i32 0\n}}\n"
    patched = patch(text)
    assert patched.startswith("define") and patched.endswith("  ret i32 0\n}\n")
    return patched.split("\n")[1 + before.count("\n") : -3]


@pytest.mark.parametrize(
    "line",
    [
        "%3 = sdiv i32 %0, 7",
        "%3 = udiv i64 %0, -1",
        "%3 = srem i32 %0, 10",
        "%3 = shl i32 %0, 31",
        "%3 = ashr i64 %0, 63",
        "%3 = add nsw i32 %0, %1",
        "%3 = sdiv <4 x i32> %0, %1",
        "%3 = fptosi x86_fp80 %0 to i32",
        "%3 = load i32, i32* %0, align 4",
    ],
)
def test_leaves_alone(line):
    assert body(line) == ["  " + line]


@pytest.mark.parametrize("name", ["sdiv", "udiv", "srem", "urem"])
@pytest.mark.parametrize("type_", ["i32", "i64"])
def test_division_is_guarded(name, type_):
    lines = body(f"%3 = {name} {type_} %0, %1, !dbg !12")
    assert all(line.endswith(", !dbg !12") for line in lines)
    assert lines[0].startswith(f"  %nl.1 = icmp eq {type_} %1, 0")
    assert lines[-1].startswith("  %3 = select i1 %nl.1, ")
    assert sum(f" = {name} " in line for line in lines) == 1


def test_division_by_a_constant_zero_or_minus_one():
    assert len(body("%3 = sdiv i32 %0, 0")) > 1
    assert len(body("%3 = sdiv i32 %0, -1")) > 1


@pytest.mark.parametrize("name", ["shl", "lshr", "ashr"])
def test_shift_is_guarded(name):
    lines = (
        body(f"%3 = {name} nuw nsw i32 %0, %1")
        if name == "shl"
        else body(f"%3 = {name} i32 %0, %1")
    )
    assert lines[0] == "  %nl.1 = icmp ult i32 %1, 32"
    assert lines[-1].startswith("  %3 = ")
    assert len(body(f"%3 = {name} i32 %0, 32")) == 3
    assert len(body(f"%3 = {name} i32 %0, -1")) == 3


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", ["fptosi", "fptoui"])
def test_conversion_saturates(name, real, type_):
    lines = body(f"%3 = {name} {real} %0 to {type_}")
    wide = "i64" if type_ == "i64" else "i32"
    assert f" = {name} {real} %0 to {wide}" in lines[0]
    assert len(lines) == (7 if type_ in ("i32", "i64") else 8)
    assert lines[-1].startswith("  %3 = ")


def test_volatile_loads_are_spins():
    assert body("%3 = load volatile i32, i32* %2, align 4, !dbg !5") == [
        "  call void @nl_sim_volatile_read(), !dbg !5",
        "  %3 = load volatile i32, i32* %2, align 4, !dbg !5",
    ]
    assert len(body("%3 = load volatile i32, ptr @flag, align 4")) == 2
    local = "  %2 = alloca i32, align 4\n"
    assert len(body("%3 = load volatile i32, ptr %2, align 4", before=local)) == 1


def test_thread_locals_are_plain_addresses():
    line = "%3 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4here)"
    assert body(line) == ["  %3 = getelementptr i8, ptr @_ZL4here, i64 0"]


def test_names_are_new_in_each_function():
    function = "define void @{}(i32 %0, i32 %1) {{\n  %3 = shl i32 %0, %1\n  %4 = shl i32 %0, %3\n  ret void\n}}\n"
    patched = patch("; head\n" + function.format("a") + function.format("b"))
    for text in patched.split("define ")[1:]:
        names = re.findall(r"^  (%nl\.\d+) = ", text, re.MULTILINE)
        assert len(names) == len(set(names)) == 4
    assert patch("; nothing here\n") == "; nothing here\n"
