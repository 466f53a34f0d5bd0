"""Compares the text of LLVM IR before and after the change; test_golden.py tests that the changed
code computes the right results."""

from __future__ import annotations

import re

import pytest

from numbalite.compilers.sim import loops
from numbalite.compilers.sim.irpatch import add_vector_versions, rewrite_ir


def patched_instruction(line, before=""):
    """Returns one instruction in a function, after patching."""
    text = f"define i32 @f(i32 %0, i32 %1) {{\n{before}  {line}\n  ret i32 0\n}}\n"
    patched = rewrite_ir(text)
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
def test_other_instructions_are_unchanged(line):
    assert patched_instruction(line) == ["  " + line]


@pytest.mark.parametrize("name", ["sdiv", "udiv", "srem", "urem"])
@pytest.mark.parametrize("type_", ["i32", "i64"])
def test_integer_division_is_guarded_against_zero(name, type_):
    lines = patched_instruction(f"%3 = {name} {type_} %0, %1, !dbg !12")
    assert all(line.endswith(", !dbg !12") for line in lines)
    assert lines[0].startswith(f"  %nl.1 = icmp eq {type_} %1, 0")
    assert lines[-1].startswith("  %3 = select i1 %nl.1, ")
    assert sum(f" = {name} " in line for line in lines) == 1


def test_division_by_a_constant_zero_or_minus_one_is_guarded():
    assert len(patched_instruction("%3 = sdiv i32 %0, 0")) > 1
    assert len(patched_instruction("%3 = sdiv i32 %0, -1")) > 1


@pytest.mark.parametrize("name", ["shl", "lshr", "ashr"])
def test_shift_is_guarded_against_large_counts(name):
    lines = (
        patched_instruction(f"%3 = {name} nuw nsw i32 %0, %1")
        if name == "shl"
        else patched_instruction(f"%3 = {name} i32 %0, %1")
    )
    assert lines[0] == "  %nl.1 = icmp ult i32 %1, 32"
    assert lines[-1].startswith("  %3 = ")
    assert len(patched_instruction(f"%3 = {name} i32 %0, 32")) == 3
    assert len(patched_instruction(f"%3 = {name} i32 %0, -1")) == 3


@pytest.mark.parametrize("type_", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", ["fptosi", "fptoui"])
def test_float_to_integer_conversion_saturates(name, real, type_):
    lines = patched_instruction(f"%3 = {name} {real} %0 to {type_}")
    wide = "i64" if type_ == "i64" else "i32"
    assert f" = {name} {real} %0 to {wide}" in lines[0]
    assert len(lines) == (7 if type_ in ("i32", "i64") else 8)
    assert lines[-1].startswith("  %3 = ")


def test_volatile_accesses_are_reported_to_the_engine():
    """Returns the addresses of the accesses, and their ids: odd numbers for stores, accesses of called
    functions first."""
    assert patched_instruction("%3 = load volatile i32, i32* %2, align 4, !dbg !5") == [
        "  %nl.v1 = bitcast i32* %2 to i8*, !dbg !5",
        "  call void @nl_sim_volatile_access(i8* %nl.v1, i32 2), !dbg !5",
        "  %3 = load volatile i32, i32* %2, align 4, !dbg !5",
    ]
    assert patched_instruction("store volatile i32 %1, ptr @flag, align 4")[0] == (
        "  call void @nl_sim_volatile_access(ptr @flag, i32 3)"
    )
    local = "  %2 = alloca i32, align 4\n"
    assert len(patched_instruction("%3 = load volatile i32, ptr %2, align 4", before=local)) == 1
    function = "define void @{}() {{\n  {}\n  store volatile i32 1, ptr @flag, align 4\n}}\n"
    text = function.format("caller", "call void @callee()") + function.format("callee", "")
    assert re.findall(r"i32 (\d+)\)", rewrite_ir(text)) == ["5", "3"]


def test_thread_locals_are_plain_addresses():
    line = "%3 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4here)"
    assert patched_instruction(line) == ["  %3 = getelementptr i8, ptr @_ZL4here, i64 0"]


COPIES = """\
define void @f(i8* %0, i8* %1) {
  %3 = alloca %struct.float4, align 16
  %4 = bitcast %struct.float4* %3 to i8*
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 16 %4, i8* align 16 %1, i64 16, i1 false), !dbg !7, !tbaa.struct !2
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 8 %0, i8* align 1 %1, i64 8, i1 false)
  ret void
}
"""


def test_copies_of_structs_are_checked():
    assert rewrite_ir(COPIES) == rewrite_ir(COPIES, checks=("race",)) == COPIES
    added = [
        line for line in rewrite_ir(COPIES, checks=("memory",)).split("\n") if "aligned" in line
    ]
    assert added == [
        "  call void @nl_sim_aligned(i8* %1, i32 16, i32 0), !dbg !7",
        "  call void @nl_sim_aligned(i8* %0, i32 8, i32 1)",
    ]
    constant = COPIES.replace(
        "%1, i64 8", "getelementptr (%struct.half, %struct.half* @x, i64 1), i64 8"
    )
    assert "%struct.half, i32" not in rewrite_ir(constant, checks=("memory",))
    opaque = re.sub(r"\n  %4 = .*", "", COPIES).replace("%4", "%3")
    opaque = opaque.replace("i8*", "ptr").replace("p0i8.p0i8", "p0.p0")
    assert rewrite_ir(opaque, checks=("memory",)).count("@nl_sim_aligned(ptr %") == 2


def with_opaque_pointers(text):
    """Returns the text as newer versions of clang write it."""
    return text.replace("p0i8.p0i8", "p0.p0").replace("i32*", "ptr").replace("i8*", "ptr")


PIXELS = """\
define void @f(i8* %0) {
  %c = alloca [6 x i8], align 1
  %part = getelementptr inbounds [6 x i8], i8* %c, i64 0, i64 3
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 1 %0, i8* align 1 %c, i64 SIZE, i1 false), !dbg !7, !tbaa.struct !2
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 1 %c, i8* align 1 %part, i64 SIZE, i1 false)
  ret void
}
"""


@pytest.mark.parametrize("size", range(1, 17))
@pytest.mark.parametrize("form", [str, with_opaque_pointers])
def test_large_struct_copies_become_calls(size, form):
    text = form(PIXELS.replace("SIZE", str(size)))
    patched = rewrite_ir(text, checks=("race",))
    if size % 8 not in (3, 5, 6, 7):
        assert patched == text
    else:
        kind = form("i8*")
        call = f"call {kind} @__tsan_memcpy({kind} nocapture %0, {kind} nocapture %c, i64 {size}), !dbg !7\n"
        assert patched.count(call) == 1 and patched.count("@llvm.memcpy") == 1
    assert rewrite_ir(text) == text


def test_copies_in_unchecked_code_are_unchanged():
    def patch_with_attributes(attributes):
        text = PIXELS.replace("SIZE", "6").replace(") {", ") #3 {")
        return rewrite_ir(
            f"{text}\nattributes #3 = {{ {attributes} }}\n", checks=("memory", "race")
        )

    assert "__tsan_memcpy" in patch_with_attributes("noinline sanitize_thread uwtable")
    assert "__tsan_memcpy" not in patch_with_attributes(
        "disable_sanitizer_instrumentation noinline uwtable"
    )


FIELD = """\
define void @f(i32* %0, i32 %1) {
  %bf.load = load i32, i32* %0, align 4, !dbg !7, !tbaa !2
  %bf.value = and i32 %1, 7
  %bf.clear = and i32 %bf.load, -8
  %bf.set = or i32 %bf.clear, %bf.value
  store i32 %bf.set, i32* %0, align 4, !dbg !7
  %bf.load1 = load i32, i32* %0, align 4
  %bf.clear2 = and i32 %bf.load1, 7
  store i32 %bf.clear2, i32* %0, align 4
  ret void
}
"""


@pytest.mark.parametrize("form", [str, with_opaque_pointers])
def test_written_fields_are_reported_before_the_store(form):
    text = form(FIELD)
    patched = rewrite_ir(text, checks=("unwritten",))
    assert patched.count("@nl_sim_write_field(") == 1 and rewrite_ir(text) == text
    before, _, after = patched.partition("@nl_sim_write_field(")
    assert after.partition("\n")[0].endswith("i64 4), !dbg !7") and "%bf.load = " not in before


def test_loop_back_edges_have_an_instruction():
    loop = "define void @f() {\n  br label %1, !dbg !3\n\n1:\n  br label %1, !dbg !4\n}\n"
    assert rewrite_ir(loop) == loop
    assert rewrite_ir(loop, checks=("memory",)).split("\n")[3:6] == [
        "1:",
        '  call void asm sideeffect "nop", ""(), !dbg !4',
        "  br label %1, !dbg !4",
    ]


UNASKED = """\
@llvm.compiler.used = appending global [3 x i8*] [i8* bitcast (void (i8*, i32)* @nl_sim_volatile_access to i8*), \
i8* bitcast (void ()* @g to i8*), i8* bitcast (void ()* @__cxa_pure_virtual to i8*)], section "llvm.metadata"
define hidden void @nl_sim_volatile_access(i8* %0, i32 %1) {
  ret void
}

declare void @kept()

define hidden void @__cxa_pure_virtual() {
  ret void
}

define void @g(i32* %0) {
  BODY
  ret void
}
"""


def test_unused_functions_are_removed():
    patched = rewrite_ir(UNASKED.replace("BODY", "store i32 1, i32* %0, align 4"), checks=("race",))
    assert "@nl_sim" not in patched and "[1 x i8*] [i8* bitcast (void ()* @g to i8*)]," in patched
    assert "declare void @kept()" in patched
    patched = rewrite_ir(
        UNASKED.replace("BODY", "store volatile i32 1, i32* %0, align 4"), checks=("race",)
    )
    assert "pure_virtual" not in patched and patched.count("@nl_sim_volatile_access") == 3
    assert "[2 x i8*]" in patched


def test_names_are_new_in_each_function():
    function = "define void @{}(i32 %0, i32 %1) {{\n  %3 = shl i32 %0, %1\n  %4 = shl i32 %0, %3\n  ret void\n}}\n"
    patched = rewrite_ir("; head\n" + function.format("a") + function.format("b"))
    for text in patched.split("define ")[1:]:
        names = re.findall(r"^  (%nl\.\d+) = ", text, re.MULTILINE)
        assert len(names) == len(set(names)) == 4
    assert rewrite_ir("; nothing here\n") == "; nothing here\n"


def test_unused_inline_functions_are_not_compiled():
    own = "define hidden void @nl_sim_volatile_access() #1 {\n  ret void\n}\n"
    pure = "define hidden void @__cxa_pure_virtual() #1 {\n  ret void\n}\n"
    kernel = (
        "\ndefine void @k(i32* %0) #0 {{\n  %2 = load{} i32, i32* %0, align 4\n  ret void\n}}\n"
    )
    names = [
        f"i8* bitcast (void ()* @{name} to i8*)"
        for name in ("__cxa_pure_virtual", "nl_sim_volatile_access", "nl_sim_image_init")
    ]
    kept = f"[3 x i8*] [{', '.join(names)}]"
    head = '@llvm.compiler.used = appending global {}, section "llvm.metadata"\n\n'
    plain = rewrite_ir(head.format(kept) + pure + own + kernel.format(""))
    assert plain == head.format(f"[1 x i8*] [{names[2]}]") + kernel.format("")
    table = "@table = constant [1 x i8*] [i8* bitcast (void ()* @__cxa_pure_virtual to i8*)]\n"
    asked = rewrite_ir(table + head.format(kept) + pure + own + kernel.format(" volatile"))
    assert pure in asked and own.replace("hidden", "internal") in asked and kept in asked


def test_a_kernel_that_is_inlined_everywhere_is_not_kept():
    text = "define hidden void @k() #0 {\n  ret void\n}\n\ndefine void @g() #0 {\n  ret void\n}\n"
    assert rewrite_ir(text) == text.replace("hidden", "internal")
    assert rewrite_ir(text, checks=("race",)) == text


LOOPS = """define void @f(i32 %n) #0 {
entry:
  br label %outer

outer:                                            ; preds = %inner.end, %entry
  %i = phi i32 [ 0, %entry ], [ 1, %inner.end ]
  br label %inner

inner:                                            ; preds = %inner, %outer
  br i1 undef, label %inner, label %inner.end, !dbg !4

inner.end:                                        ; preds = %inner
  %j = phi i32 [ 0, %inner ]
  switch i32 %j, label %outer [
    i32 1, label %end
    i32 2, label %other
  ]

other:                                            ; preds = %inner.end
  br label %end

end:                                              ; preds = %other, %inner.end
  ret void
}
"""


def test_loops_get_calls_at_back_edges_and_at_all_exits():
    marked, number = loops.insert_loop_calls(LOOPS, 7)
    assert number == 9
    calls = {"outer": [], "inner": [], "inner.end": [], "other": [], "end": [], "entry": []}
    label = ""
    for line in marked.split("\n"):
        if line[:1].isalpha() and ":" in line:
            label = line.partition(":")[0]
        if "call" in line:
            calls[label].append(line.split("@nl_sim_loop_")[1])
    assert calls["entry"] == calls["outer"] == []
    (inner,) = calls["inner"]
    assert inner.startswith("repeat")
    inside = inner.partition("(")[2].partition(",")[0]
    outside = "i32 7)" if inside == "i32 8)" else "i32 8)"
    assert calls["inner.end"] == [f"leave({inside}", f"repeat({outside}"]
    assert calls["other"] == calls["end"] == [f"leave({outside}"]
    assert marked.index("%j = phi") < marked.index("@nl_sim_loop_leave")


def test_functions_without_loops_stay_as_they_are():
    text = "define void @f() {\nentry:\n  ret void\n}\n"
    assert loops.insert_loop_calls(text, 3) == (text, 3)


@pytest.mark.parametrize("features", ["+sse2", "+sse2,+avx2", "+avx512f,+avx2,+sse2"])
def test_functions_of_vectors_have_registers_of_their_width(features):
    ir = (
        "define double @f(double %0) #0 {\n  %2 = call double @sin(double %0)\n  ret double %2\n}\n"
        f'attributes #0 = {{ "min-legal-vector-width"="0" "target-features"="{features}" }}\n'
    )
    marked = add_vector_versions(ir, 1)
    lanes = [int(n) for n in re.findall(r"_ZGV_LLVM_N(\d+)v_sin", marked)]
    assert lanes == [2, 4, 8][: features.count("+")]
    assert f'"min-legal-vector-width"="{64 * max(lanes)}"' in marked
