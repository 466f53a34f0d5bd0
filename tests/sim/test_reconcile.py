"""Tests the correction of counters by the machine code of a GPU. machine_code/kernels.sass is the output of
``nvdisasm -gi
-c`` of CUDA 13 for kernels.cu, compiled by NVRTC for compute capability 9.0; if nvdisasm is
installed, it is called, too."""

import pathlib

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import disassembler, host, hostbuild
from numbalite.profiler import execution, gpus, machinecode, reconcile, timing
from numbalite.profiler.counters import COUNTERS, Line

pytestmark = [pytest.mark.sim, needs_nvrtc]

FOLDER = pathlib.Path(__file__).parent / "machine_code"
SASS = (FOLDER / "kernels.sass").read_text()
KERNELS = cuda.module(FOLDER / "kernels.cu")
TOOL = disassembler.find_tool("nvdisasm")


@pytest.fixture(
    params=[
        "recorded",
        pytest.param("nvdisasm", marks=pytest.mark.skipif(not TOOL, reason="no nvdisasm")),
    ]
)
def machine_code(request, monkeypatch):
    """Returns the machine code of the kernels: the recorded code and, if nvdisasm is installed, the code made
    on this machine."""
    if request.param == "recorded":
        monkeypatch.setattr(
            machinecode,
            "disassemble_cubin",
            lambda _, symbol: machinecode.parse_disassembly(SASS, symbol),
        )


def line_with_mark(profiled, mark):
    (line,) = [line for line in profiled.lines if mark in line.text]
    return line


def test_four_reads_of_a_row_of_shared_memory_are_one_of_16_bytes(machine_code):
    n = 32
    a, b, c = (cuda.to_device(np.ones((n, n), np.float32)) for _ in range(3))
    with cuda.profile(gpu="H200") as p:
        KERNELS.product[(n // 16, n // 16), (16, 16)](a, b, c, n)
    (launch,) = p.launches
    inner = line_with_mark(launch, "// inner")
    steps = n // 16 * (n // 16) ** 2 * 8  # of 16 products, by each warp
    assert launch.counters_are == "as compiled"
    assert inner.as_written["shared_load_requests"] == 32 * steps
    assert inner.shared_load_requests == (16 + 4) * steps
    # A wide read covers two rows of the tile, each for 16 threads, and so needs two passes.
    assert inner.shared_load_wavefronts == (16 + 4 * 2) * steps
    assert inner.active_lanes == 32
    assert launch.work.barriers == 2 * steps
    assert launch.work.float32 == 16 * steps
    assert launch.spills == 0


def test_adjacent_reads_of_global_memory_stay_apart_unless_the_machine_code_merges_them(
    machine_code,
):
    x, out = cuda.to_device(np.ones(128, np.float32)), cuda.to_device(np.zeros(32, np.float32))
    with cuda.profile(gpu="H200") as p:
        KERNELS.sum_four[1, 32](x, out)
    code = p.launches[0].code
    wide = {i.access_width for i in code.instructions if i.access_kind == "global_load"}
    line = line_with_mark(p.launches[0], "// four")
    requests = 128 // 4 // 32 * 16 // max(wide)
    assert wide in ({4}, {16})
    assert (line.global_load_requests, line.global_load_sectors) == (requests, 16 * requests)
    assert line.global_load_bytes == 512


def test_register_values_are_not_counted_as_reads(machine_code):
    x, out = cuda.to_device(np.ones(32, np.float32)), cuda.to_device(np.zeros(64, np.float32))
    with cuda.profile(gpu="H200") as p:
        KERNELS.twice[1, 32](x, out)
    launch = p.launches[0]
    assert launch.global_load_requests == 1
    assert line_with_mark(launch, "// once").global_load_requests == 1
    assert line_with_mark(launch, "// again").global_load_requests == 0
    assert launch.global_store_requests == 2
    assert out.copy_to_host().tolist() == [1] * 32 + [2] * 32


HOISTED = """
.text.f:
	//## File "user.cu", line 6
        /*0000*/                   LDG.E R8, desc[UR4][R2.64] ;
.L_x_1:
	//## File "user.cu", line 7
        /*0020*/                   LDG.E R4, desc[UR4][R6.64] ;
        /*0030*/                   FFMA R5, R4, R8, R5 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
	//## File "user.cu", line 8
        /*0060*/                   STG.E desc[UR4][R2.64], R5 ;
        /*0060*/                   EXIT ;
"""


def make_line(number, **counters):
    return Line("user.cu", number, [counters.get(name, 0) for name in COUNTERS])


def test_accesses_that_are_moved_out_of_a_loop_are_counted_once():
    code = machinecode.parse_disassembly(HOISTED, "f")
    loads = make_line(
        7, global_load_requests=400, global_load_sectors=1000, global_repeated_requests=198,
        global_repeated_sectors=792, requests=400, lanes=12800,
    )  # fmt: skip
    stores = make_line(8, global_store_requests=200, global_store_sectors=800)
    reconcile.correct_counters([loads, stores], code, warps=2)
    assert (loads.global_load_requests, loads.global_load_sectors) == (202, 208)
    assert (stores.global_store_requests, stores.global_store_sectors) == (2, 8)
    assert loads.active_lanes == 32
    counts, lanes = execution.execution_counts(code, [loads, stores], 2)
    assert counts == [2, 202, 2]
    assert lanes[1] == 32


EXITS = """
.text.f:
	//## File "user.cu", line 3
        /*0000*/                   FMUL R5, R5, R5 ;
        /*0010*/              @P0 BRA `(.L_x_1) ;
        /*0020*/                   FMUL R5, R5, R5 ;
        /*0030*/              @P0 BRA `(.L_x_1) ;
        /*0040*/                   FMUL R5, R5, R5 ;
        /*0050*/              @P0 BRA `(.L_x_1) ;
	//## File "user.cu", line 4
.L_x_1:
        /*0060*/              @P0 BRA `(.L_x_2) ;
        /*0070*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_sqrt_rn_f32_slowpath) ;
.L_x_2:
        /*0080*/                   CALL.REL.NOINC `(_Z5otherf) ;
        /*0090*/                   EXIT ;
_Z5otherf:
        /*00a0*/                   RET.REL.NODEC R4 `(f) ;
.L_x_3:
        /*00b0*/                   BRA `(.L_x_3);
        /*00c0*/                   NOP;
"""


@pytest.mark.parametrize("iterations", [11, 37, 299])
def test_unrolled_loops_with_exits_and_calls_are_counted(iterations):
    warps = 100
    code = machinecode.parse_disassembly(EXITS, "f")
    line = make_line(3, loop_iterations=iterations, loop_lanes=20 * iterations)
    counts, lanes = execution.execution_counts(code, [line], warps)
    assert counts == [iterations / 3] * 3 + [warps, 0, warps, warps]
    assert lanes == [20] * 3 + [None] * 4
    assert execution.active_threads(code, counts, lanes, 32) == pytest.approx(
        # all threads execute the first block
        (32 * 2 * iterations / 3 + 20 * 4 * iterations / 3 + 32 * 4 * warps)
        / (2 * iterations + 4 * warps)
    )
    assert {i.name for i in code.instructions} == {"FMUL", "BRA", "CALL", "EXIT", "RET"}


STRAIGHT = """
.text.f:
	//## File "user.cu", line 2
        /*0000*/              @P0 BRA `(.L_x_1) ;
	//## File "user.cu", line 3
        /*0010*/                   FFMA R5, R5, R5, R5 ;
        /*0020*/                   FFMA R5, R5, R5, R5 ;
        /*0030*/                   FFMA R5, R5, R5, R5 ;
        /*0040*/                   FFMA R5, R5, R5, R5 ;
.L_x_1:
	//## File "user.cu", line 4
        /*0050*/                   EXIT ;
"""


@pytest.mark.parametrize("part", [1, 0.5, 0.02])
def test_loops_of_straight_code_are_executed_by_those_warps_that_iterate(part):
    warps = 100
    iterations = int(4 * warps * part)
    line = make_line(3, loop_iterations=iterations, loop_lanes=32 * iterations)
    counts, _ = execution.execution_counts(
        machinecode.parse_disassembly(STRAIGHT, "f"), [line], warps
    )
    assert counts == [warps, warps * part, warps]


PREDICATED = """
.text.f:
.L_x_1:
	//## File "user.cu", line 2
        /*0000*/              @!P0 LDS R5, [R2] ;
        /*0010*/              @!P0 STS [R2], R5 ;
	//## File "user.cu", line 3
        /*0020*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0030*/              @P1 BRA `(.L_x_1) ;
        /*0040*/                   EXIT ;
"""


def test_warps_whose_accesses_are_switched_off_are_counted_by_their_barriers():
    access = make_line(2, shared_load_requests=30, shared_store_requests=30, requests=60, lanes=300)
    barrier = make_line(3, barrier_waits=80)
    code = machinecode.parse_disassembly(PREDICATED, "f")
    counts, lanes = execution.execution_counts(code, [access, barrier], 10)
    assert counts == [80, 10]
    assert lanes == [32, None]
    assert execution.instructions(code, counts, "shared_load") == 80
    assert access.shared_load_requests == 30


ELECTED = """
.text.f:
	//## File "user.cu", line 2
        /*0000*/                   VOTEU.ANY UR4, UPT, PT ;
        /*0010*/                   UFLO.U32 UR4, UR4 ;
        /*0020*/              @P0 REDG.E.ADD.STRONG.GPU desc[UR6][R2.64], R5 ;
	//## File "user.cu", line 3
        /*0030*/                   REDG.E.ADD.STRONG.GPU desc[UR6][R2.64], R5 ;
        /*0040*/                   EXIT ;
"""


def test_atomics_that_the_compiler_reduces_in_a_warp_are_one_a_warp():
    atomics = {
        "global_atomic_requests": 7, "global_atomic_lanes": 224, "global_atomic_sectors": 9,
        "global_atomic_passes": 200, "atomic_passes": 200, "requests": 7, "lanes": 224,
    }  # fmt: skip
    elected, plain = make_line(2, **atomics), make_line(3, **atomics)
    reconcile.correct_counters(
        [elected, plain], machinecode.parse_disassembly(ELECTED, "f"), warps=7
    )
    assert elected.atomic_serialisation == 1
    assert (elected.global_atomic_passes, elected.global_atomic_lanes) == (7, 7)
    assert (plain.global_atomic_passes, plain.atomic_passes) == (200, 200)


SPLIT = """
.text.f:
	//## File "user.cu", line 1
        /*0000*/                   LDG.E R2, desc[UR6][R2.64] ;
        /*0010*/                   FADD R2, R2, R2 ;
        /*0020*/               @P0 EXIT ;
	//## File "user.cu", line 2
        /*0030*/                   FADD R2, R2, R2 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
        /*0050*/                   FADD R2, R2, R2 ;
.L_x_1:
        /*0060*/                   VOTEU.ANY UR4, UPT, PT ;
        /*0070*/                   UFLO.U32 UR4, UR4 ;
        /*0080*/               @P0 REDG.E.ADD.STRONG.GPU desc[UR6][R2.64], R5 ;
        /*0090*/                   EXIT ;
"""


@pytest.mark.parametrize("reach", [1, 7, 32])
def test_threads_before_a_branch_are_not_those_after_it(reach):
    load = make_line(1, global_load_requests=9, requests=9, lanes=9 * 32)
    atomic = make_line(
        2, global_atomic_requests=9, global_atomic_lanes=9 * reach, requests=9, lanes=9 * reach
    )
    code = machinecode.parse_disassembly(SPLIT, "f")
    reconcile.correct_counters([load, atomic], code, warps=9)
    counts, lanes = execution.execution_counts(code, [load, atomic], 9)
    assert counts == [9] * 4
    assert lanes == [32, None, None, reach]
    # the count of the block between the branches is unknown,
    # so the larger count of its neighbours is used
    expected = (3 * 32 + 2 * 32 + 1 * reach + 4 * reach) / 10
    assert execution.active_threads(code, counts, lanes, 256) == pytest.approx(expected)


MOVED = """
.text.f:
	//## File "user.cu", line 1
        /*0000*/                   LDS R2, [UR4] ;
        /*0010*/              {} LDS R3, [R5] ;
        /*0020*/                   EXIT ;
"""


@pytest.mark.parametrize(("guard", "times"), [("", 10), ("@P0", 10), ("", 2)])
def test_all_warps_execute_a_load_that_was_moved_before_a_branch(guard, times):
    code = machinecode.parse_disassembly(MOVED.format(guard), "f")
    line = make_line(1, shared_load_requests=5, shared_load_wavefronts=25, shared_load_conflicts=15)
    reconcile.count_loads_of_all_warps([line], code, [times])
    is_more = not guard and times == 10
    assert line.shared_load_requests == (20 if is_more else 5)
    assert line.shared_load_wavefronts == 25 + (15 * 2 if is_more else 0)
    assert line.shared_load_conflicts == 15


@pytest.mark.skipif(
    hostbuild.identify_compiler(host.find_compiler()).family == "gcc",
    reason="g++ has no LLVM IR, in which loops are marked",
)
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_arithmetic_in_a_loop_without_accesses_is_counted(machine_code, n):
    x = cuda.to_device(np.zeros(64, np.float32))
    with cuda.profile(gpu="H200") as p:
        KERNELS.steps[3, 64](x, 0.25, n)
    assert p.launches[0].work.float32 == pytest.approx(6 * n, abs=6 * 8)


def test_counters_as_written_can_be_requested(machine_code):
    x, out = cuda.to_device(np.ones(128, np.float32)), cuda.to_device(np.zeros(32, np.float32))
    with cuda.profile(as_written=True) as p:
        KERNELS.sum_four[1, 32](x, out)
    assert p.counters_are == "as written"
    assert line_with_mark(p.launches[0], "// four").global_load_requests == 4
    assert p.launches[0].spills is None
    assert "as written" in repr(p)


def test_missing_disassembler_is_reported_in_the_profile(monkeypatch):
    monkeypatch.setattr(disassembler, "find_tool", lambda name: None)
    x = cuda.to_device(np.ones(64, np.float32))
    with cuda.profile() as p:
        KERNELS.steps[1, 64](x, 0.25, 3)
    assert "nvdisasm was not found" in p.launches[0].written_because
    assert "as written" in repr(p)
    assert "nvdisasm was not found" in p._repr_html_()
    assert p.launches[0].registers > 0
    assert p.launches[0].time_range.high == float("inf")
    assert "arithmetic and latency are not predicted" in repr(p)


# --- times


def test_predicted_time_names_the_limiting_resource(machine_code):
    x = cuda.to_device(np.zeros(132 * 8 * 256, np.float32))
    with cuda.profile(gpu="H200") as p:
        KERNELS.steps[2, 32](x, 0.25, 2000)
        KERNELS.steps[132 * 8, 256](x, 0.25, 400)
    few, many = p.launches
    assert few.bound == "too few blocks"
    assert many.bound in ("float32", "issue", "latency")
    for launch in p.launches:
        low, high = launch.time_range
        assert launch.time_at_least <= low <= launch.time <= high
        assert launch.time == pytest.approx(timing.EMPTY + max(launch.units.values()), rel=0.5)
    # each scheduler has 8 warps with 400 steps, which need at least one cycle each
    assert many.time_at_least >= 132 * 8 * 8 * 400 / 132 / 4 / 1.98e9
    assert p.as_dict()["kernels"][0]["time"] == pytest.approx(few.time + many.time)


def test_predicted_causes_are_lines_with_shares(machine_code):
    x = cuda.to_device(np.zeros(132 * 8 * 256, np.float32))
    a, b, c = (cuda.to_device(np.ones((32, 32), np.float32)) for _ in range(3))
    with cuda.profile(gpu="H200") as p:
        KERNELS.steps[132 * 8, 256](x, 0.25, 400)
        KERNELS.product[(2, 2), (16, 16)](a, b, c, 32)
    for launch in p.launches:
        shares = [cause.share for cause in launch.causes]
        assert sum(shares) == pytest.approx(1)
        assert shares == sorted(shares, reverse=True)
    steps, product = p.launches
    assert "// step" in steps.causes[0].line.text
    assert steps.causes[0].share > 0.7
    assert f"{steps.causes[0].share:.0%} kernels.cu:{steps.causes[0].line.number}" in repr(p)
    arithmetic = product.instructions_by_line("float32")
    assert {line.text.strip()[:3] for line in arithmetic} == {"sum"}
    assert sum(arithmetic.values()) == product.work.float32


@cuda.jit("void(const float32[::1], float32[::1])")
def copy(x, out):
    "out[grid<1>()] = x[grid<1>()];"


def test_predicted_copy_time_depends_on_its_bytes(monkeypatch):
    monkeypatch.setattr(disassembler, "find_tool", lambda name: None)
    figures = gpus.find_gpu("H200")
    small = figures._replace(multiprocessors=2, l2_bytes=1 << 16, dram_bytes_per_second=48e9)
    n = 1 << 18
    x, out = (cuda.to_device(np.ones(n, np.float32)) for _ in range(2))
    with cuda.profile(gpu=small) as p:
        copy[n // 256, 256](x, out)
    (launch,) = p.launches
    assert launch.bound == "DRAM"
    assert launch.dram_bytes == (8 * n - (1 << 16), 8 * n)
    assert launch.time_at_least == pytest.approx(launch.dram_bytes.low / 48e9)
    expected = launch.units["DRAM"] * 48e9 * 0.91  # bytes
    assert launch.dram_bytes.low < expected < launch.dram_bytes.high


# --- reading the listing


def test_sass_listing_is_parsed_into_blocks_and_loops():
    code = machinecode.parse_disassembly(SASS, "product")
    loops = [block for block in code.blocks if block.loops]
    loads = [i for block in loops for i in block.instructions if i.access_kind == "shared_load"]
    assert sorted({i.access_width for i in loads}) == [4, 16]
    assert [i.access_width for i in loads].count(16) == 4
    assert all(i.frames[0][0] == "kernels.cu" for i in loads)
    assert not code.blocks[0].loops
    with pytest.raises(LookupError):
        machinecode.parse_disassembly(SASS, "other")


INLINED = """
.text.f:
	//## File "array.cuh", line 35 inlined at "user.py", line 6
	//## File "user.py", line 6
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 EXIT ;
.L_x_1:
	//## File "user.py", line 7
        /*0020*/                   LDL.64 R4, [R1+0x8] ;
        /*0030*/                   STL [R1+-0x8], R4 ;
        /*0040*/                   STL [R9], R4 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
        /*0060*/                   EXIT ;
.L_x_2:
        /*0070*/                   BRA `(.L_x_2);
.L_x_3:
"""


def test_sass_listing_has_inlined_frames_and_spills():
    code = machinecode.parse_disassembly(INLINED, "f")
    first = code.blocks[0].instructions[0]
    assert first.frames == (("array.cuh", 35), ("user.py", 6))
    assert code.blocks[0].instructions[1].guard == "@!P0"
    assert [block.loops for block in code.blocks] == [(), (0,), ()]
    assert code.spills == 1
    assert code.blocks[1].instructions[0].access_width == 8
    assert execution.execution_counts(code, [], 5) == ([5, 5, 5], [None] * 3)
