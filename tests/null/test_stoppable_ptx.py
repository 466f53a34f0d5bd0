"""Tests the instructions that test the stop flag: their positions in PTX, and whether NVRTC and
nvJitLink accept them."""

import re
import textwrap

import pytest
from kit import endless
from kit.needs import needs_nvrtc

from numbalite.compilers import Source, linking, nvrtc, stoppable
from numbalite.compilers.image import Image

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def instrumented_ptx(body, kind=".visible .entry k(.param .u64 a)", more=""):
    ptx = f"{HEAD}{more}{kind}\n{{\n{textwrap.dedent(body)}\n}}\n"
    return stoppable.insert_stop_tests(ptx)


def count_checks(body, **how):
    return len(instrumented_ptx(body, **how)[1])


@pytest.mark.parametrize(
    ("body", "tests"),
    [
        ("L: add.u32 %r1, %r1, 1;\nbra L;\nret;", 1),
        ("L: add.u32 %r1, %r1, 1;\n@%p1 bra.uni L;\nret;", 1),
        ("L:\n@!%p1 bra L;\nret;", 1),
        ("@%p1 bra L;\nadd.u32 %r1, %r1, 1;\nL: ret;", 0),
        ("A: B: @%p1 bra A;\n@%p2 bra B;\nret;", 2),
        ("L: { .reg .pred p; M: @p bra M; @p bra L; }\nret;", 2),
        ("{ L: bra M; M: }\n{ L: @p bra L; }\nret;", 1),
        ("{ M: } { bra M; } M: ret;", 0),
        ("L: brx.idx %r1, table;\nM: ret;\ntable: .branchtargets L, M;", 1),
        ("brx.idx.uni %r1, table;\nL: ret; M: ret;\ntable: .branchtargets L, M;", 0),
        ("L: ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]; @%p1 bra L; ret;", 1),
        ('L: .pragma "{ L: bra L; }"; @%p1 bra L; // { bra L;\nret;', 1),
        ("/* L: */ bra M; M: ret;", 0),
        ("ret;", 0),
    ],
)
def test_each_backward_branch_has_a_test(body, tests):
    assert count_checks(body) == tests


def test_a_kernel_without_loops_is_unchanged():
    ptx = HEAD + ".visible .entry k() {\n@%p1 bra L;\nL: ret;\n}\n"
    assert stoppable.insert_stop_tests(ptx) == (ptx, [])


def test_braces_outside_of_functions_are_no_bodies():
    more = (
        ".global .align 4 .b32 t[2] = {1, 2};\n.func (.param .b32 r) f(.param .b32 a);\n"
        ".section .debug_info { .b8 1\n.b32 L }\n"
    )
    text, sites = instrumented_ptx("L: @%p1 bra L; ret;", more=more)
    assert [site.function for site in sites] == ["k"]
    assert more in text


def test_functions_that_may_call_themselves_test_at_their_beginning():
    functions = """
    .func a() { call.uni b, (); ret; }
    .func b() { @%p1 call (r), a, (); ret; }
    .func c() { call d, (); ret; }
    .func d() { ret; }
    """
    _, sites = instrumented_ptx("call a, (); call c, (); ret;", more=functions)
    assert [site.function for site in sites] == ["a", "b"]


def test_functions_whose_address_is_taken_may_be_called_through_pointers():
    functions = """
    .global .u64 table[1] = {a};
    .func a() { call (r), %rd1, (), prototype; ret; }
    .func b() { call (r), %rd1, (), prototype; ret; }
    """
    _, sites = instrumented_ptx("call a, (); call b, (); ret;", more=functions)
    assert [site.function for site in sites] == ["a"]


def test_a_function_that_falls_off_its_end_returns_before_the_added_code():
    text, _ = instrumented_ptx("L: @%p1 bra L;\nadd.u32 %r1, %r1, 1;", kind=".func f()")
    assert re.search(r"add\.u32 %r1, %r1, 1;\s+ret;\s+\$nl_exit:", text)
    text, _ = instrumented_ptx("L: @%p1 bra L;\nret;", kind=".func f()")
    assert text.count("ret;") == 1


def test_sleeping_loops_test_the_stop_flag_at_each_iteration():
    text, _ = instrumented_ptx("L: nanosleep.u32 1000; @%p1 bra L; ret;")
    assert "%nl_count, %nl_count" not in text


def test_stop_tests_report_the_users_line():
    body = """
    .loc 1 10 3
    .loc 2 99 1, function_name $L1, inlined_at 1 12 7
    .loc 3 50 1, function_name $L2, inlined_at 2 99 1
    L: .loc 3 0 1
    @%p1 bra L;
    .loc 1 14 1
    M: @%p1 bra M;
    ret;
    """
    ptx = f'{HEAD}.visible .entry k() {{ {body} }}\n.file 1 "/u/lesson.cu"\n.file 2 "/x/a.h"\n.file 3 "/x/b.h"\n'
    _, sites = stoppable.insert_stop_tests(ptx, lambda file: file.endswith(".cu"))
    assert [(site.file, site.line) for site in sites] == [
        ("/u/lesson.cu", 12),
        ("/u/lesson.cu", 14),
    ]


def endless_kernel_source(name):
    head = '#include "numbalite.cuh"\nusing namespace numbalite;\n#line 1 "endless.cu"\n'
    return Source(head + endless.kernel_source_of(name), kernels=(name,), stoppable=True)


@pytest.mark.cases(1)
@needs_nvrtc
@pytest.mark.parametrize("name", endless.BODIES)
def test_the_assembler_accepts_the_code_of_endless_kernels(name):
    for capability in ((7, 5), (9, 0)):
        if "cluster" in name and capability < (9, 0):
            continue
        image = nvrtc.compile(endless_kernel_source(name), capability)
        plain = nvrtc.compile(endless_kernel_source(name).replace(stoppable=False), capability)
        assert image.kind in ("cubin", "ptx") and plain.stop is None
        assert image.stop.count(b"\0") >= 1 and b"$nl_exit" in image.ptx
        assert image.lowered == plain.lowered
        assert Image.from_bytes(image.to_bytes()) == image


@needs_nvrtc
def test_the_tests_are_reported_by_the_users_names_and_lines():
    source = Source(
        '#include "numbalite.cuh"\n#line 1 "/u/lesson.cu"\n__global__ void spins(volatile int *x) {\n'
        "    int n = 0;\n    while (x[0] == 0)\n        n++;\n    x[1] = n;\n}\n",
        kernels=("spins",),
        stoppable=True,
    )
    (row,) = nvrtc.compile(source, (9, 0)).stop.decode().split("\0")[:-1]
    assert re.fullmatch(r"spins\tlesson.cu:[34]", row)


@needs_nvrtc
def test_debugged_kernels_and_those_with_options_for_the_assembler_compile():
    for changes in (
        {"debug": True},
        {"opt": 0},
        {"max_registers": 32},
        {"options": ("-Xptxas=-v",)},
    ):
        image = nvrtc.compile(endless_kernel_source("while_volatile").replace(**changes), (9, 0))
        assert image.kind in ("cubin", "ptx") and image.stop


def test_shared_arrays_are_aligned_where_there_is_room():
    """Without alignment of shared arrays, the assembler does not combine loads, and a tiled product takes
    1.26 times as long."""
    text = b".shared .align 4 .b8 _ZZ1kvE1s[%d];\n.shared .align 4 .b8 t[20];\n.extern .shared .align 4 .b8 d[];\n"
    assert linking._align_shared_arrays(text % 1024) == (text % 1024).replace(
        b"align 4 .b8 _", b"align 16 .b8 _"
    )
    assert linking._align_shared_arrays(text % 49104) == text % 49104
    wide = b".shared .align 128 .b8 s[1024];\n"
    assert linking._align_shared_arrays(wide) == wide
