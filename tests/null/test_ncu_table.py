"""Tests the table of the comparison with Nsight Compute, from output that was written for these tests in ncu's
format."""

import math

import pytest
from bench import ncu_table
from bench.ncu_table import COUNTERS, CounterRow, LaunchRecord

METRICS = list(
    dict.fromkeys(
        m.lstrip("-") for counter in COUNTERS for m in counter.metrics + counter.otherwise
    )
)
HEAD = [
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
    "Device", "CC", *METRICS,
]  # fmt: skip


def csv_line(fields):
    return ",".join(f'"{field}"' for field in fields)


def output_of_ncu(*launches, units=None):
    """Returns the output of ncu. launches: (kernel, block, grid, {metric: text})."""
    out = [
        "==PROF== Connected to process 4711 (/usr/bin/python3.12)",
        '==PROF== Profiling "nl_transpose": 0%....50%....100% - 8 passes',
        "the program's own output, with a \" and a comma",
        "==PROF== Disconnected from process 4711",
        csv_line(HEAD),
        csv_line([""] * 11 + [(units or {}).get(metric, "") for metric in METRICS]),
    ]
    for number, (kernel, block, grid, values) in enumerate(launches):
        row = [number, 4711, "python3.12", "127.0.0.1", kernel, 1, 7, block, grid, 0, "9.0"]
        out.append(csv_line(row + [values.get(metric, "0") for metric in METRICS]))
    return "\n".join(out) + "\n"


LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"


def test_ncu_output_is_parsed():
    text = output_of_ncu(
        ("nl_transpose", "(32, 32, 1)", "(4, 4, 1)",
         {LOADS: "2,048", "dram__bytes_read.sum": "65,536", "dram__bytes_write.sum": "1.5",
          "gpu__time_duration.sum": "3,100", "sm__maximum_warps_per_active_cycle_pct": "100"}),
        ("void scale<float>(float *, int)", "(128, 1, 1)", "(7, 1, 1)", {}),
        units={"dram__bytes_write.sum": "Kbyte", "gpu__time_duration.sum": "nsecond"},
    )  # fmt: skip
    first, second = ncu_table.read_ncu(text)
    assert (first.kernel, first.grid, first.block) == ("transpose", (4, 4, 1), (32, 32, 1))
    assert first.values["global_load_sectors"] == 2048
    assert first.values["dram_bytes"] == 65536 + 1500
    assert first.values["time"] == pytest.approx(3.1e-6)
    assert first.values["occupancy"] == 1
    assert (second.kernel, second.block) == ("scale", (128, 1, 1))


def test_a_metric_that_ncu_does_not_have_is_not_compared():
    values = {"dram__bytes_read.sum": "n/a", LOADS: "n/a", STORES: "4"}
    (launch,) = ncu_table.read_ncu(output_of_ncu(("f", "(32, 1, 1)", "(4, 4, 1)", values)))
    assert launch.values["global_store_sectors"] == 4
    assert not {"dram_bytes", "global_load_sectors"} & set(launch.values)


CONFLICTS = "derived__memory_l1_wavefronts_shared_excessive"
ALL_CONFLICTS = [
    f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st")
]


def test_conflicts_of_addresses_are_preferred_to_all_conflicts():
    of_atomics = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"
    values = {CONFLICTS: "20", ALL_CONFLICTS[0]: "30", ALL_CONFLICTS[1]: "12"}
    values.update({of_atomics: "18", "smsp__inst_executed_op_shared_atom.sum": "5"})
    (launch,) = ncu_table.read_ncu(output_of_ncu(("f", "(32, 1, 1)", "(4, 4, 1)", values)))
    assert launch.values["bank_conflicts"] == 7
    values[CONFLICTS] = "n/a"
    (launch,) = ncu_table.read_ncu(output_of_ncu(("f", "(32, 1, 1)", "(4, 4, 1)", values)))
    assert launch.values["bank_conflicts"] == 42


def test_a_second_recording_adds_metrics_to_the_launches_of_the_first():
    def make_launch(kernel, **values):
        return LaunchRecord(kernel, (1, 1, 1), (32, 1, 1), values)

    first = [
        make_launch("f", loads=1, conflicts=9),
        make_launch("f", loads=2),
        make_launch("g", loads=3),
    ]
    second = [
        make_launch("f", conflicts=4),
        make_launch("h", conflicts=5),
        make_launch("f", conflicts=6),
    ]
    merged = ncu_table.merge_recordings([first, second])
    assert [one.kernel for one in merged] == ["f", "f", "g"]
    assert [one.values for one in merged] == [
        {"loads": 1, "conflicts": 4},
        {"loads": 2, "conflicts": 6},
        {"loads": 3},
    ]


def test_other_output_is_an_error():
    with pytest.raises(ValueError, match="no output of ncu"):
        ncu_table.read_ncu("==ERROR== ERR_NVGPUCTRPERM\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nl_saxpy", "saxpy"), ("void k::f<float>(float *, int)", "f"), ("int_", "int"),
        ("reduce<add, 4>", "reduce"),
    ],
)  # fmt: skip
def test_kernel_names_are_shortened(name, expected):
    assert ncu_table.short_kernel_name(name) == expected


@pytest.mark.parametrize(
    ("predicted", "measured", "error"),
    [
        (100, 100, 0),
        (98, 100, 0.02),
        ((90, 110), 95, 0),
        ([90, 110], 200, 0.45),
        (5, 0, math.inf),
        (0, 0, 0),
    ],
)
def test_errors_are_relative_and_zero_inside_of_a_range(predicted, measured, error):
    assert ncu_table.relative_error(predicted, measured) == pytest.approx(error)


@pytest.mark.parametrize(
    ("predicted", "measured", "error"),
    [(0.15625, 0.1562, 0), (0.02, 0.05, 0.03), ((0.5, 0.6), 0.9, 0.3), ((0.5, 0.6), 0.55, 0)],
)
def test_rates_are_compared_in_points(predicted, measured, error):
    assert ncu_table.relative_error(predicted, measured, is_rate=True) == pytest.approx(error)


def test_launches_are_matched_by_kernel_and_shape_in_their_order():
    def make_launch(kernel, blocks, number):
        return LaunchRecord(kernel, (blocks, 1, 1), (32, 1, 1), {"n": number})

    expected = [
        make_launch("f", 1, 0),
        make_launch("f", 2, 1),
        make_launch("f", 1, 2),
        make_launch("g", 1, 3),
    ]
    measured = [
        make_launch("fill", 1, 9),
        make_launch("f", 2, 1),
        make_launch("f", 1, 0),
        make_launch("f", 1, 2),
    ]
    pairs, alone = ncu_table.match_launches(expected, measured)
    assert all(a.values == b.values for a, b in pairs)
    assert len(pairs) == 3
    assert [one.kernel for one in alone] == ["g", "fill"]


def test_kernel_versions_are_compared_by_time():
    times = {
        "copy_1": (2.0, 4.0), "copy_2": (1.0, 3.0),
        "sum_1": (1.0, 4.0), "sum_2": (2.0, 3.0),
        "same_1": (1.0, 3.0), "same_2": (2.0, 3.1),
        "alone_1": (1.0, 1.0),
    }  # fmt: skip
    assert ncu_table.compare_versions(times) == [("copy", True), ("sum", False)]


def test_the_time_of_a_kernel_is_the_sum_of_its_launches():
    def make_launch(kernel, time):
        return LaunchRecord(kernel, (1, 1, 1), (32, 1, 1), {"time": time})

    pairs = [
        (make_launch("f", 1.0), make_launch("f", 2.0)),
        (make_launch("g", None), make_launch("g", 5.0)),
    ]
    pairs.append((make_launch("f", 0.5), make_launch("f", 0.25)))
    assert ncu_table.times_by_kernel(pairs) == {"f": (1.5, 2.25), "g": (0, 5.0)}


def test_the_table_has_shares_targets_and_misses():
    def make_row(counter, predicted, measured, bound="DRAM"):
        error = ncu_table.relative_error(predicted, measured)
        return CounterRow("p", "k", counter, predicted, measured, error, bound)

    rows = [make_row("registers", 32, 32), make_row("registers", 30, 32)]
    rows += [make_row("dram_bytes", (90, 110), 100)] * 4 + [make_row("dram_bytes", (90, 110), 200)]
    rows += [
        make_row("time", 1e-4, 1.05e-4),
        make_row("time", 1e-4, 2e-4),
        make_row("time", 1e-4, 1e-4, "issue"),
    ]
    lonely = [("p", LaunchRecord("other", (1, 1, 1), (32, 1, 1), {}))]
    text = ncu_table.format_table(rows, [("copy", True), ("sum", False)], lonely)
    assert "| registers | 2 | ± 0% | 50% | 100% **missed** |" in text
    assert "| dram_bytes | 5 | ± 10% | 80% | 80% |" in text
    assert "median error 4.8% (target 10%)" in text
    assert "within 20%: 1 of 2" in text
    assert "for 1 of 2 pairs" in text
    assert "- not for sum" in text
    assert "- p, k: registers 30, measured 32" in text
    assert "dram_bytes 90 to 110, measured 200" in text
    assert "no counterpart of a launch of other" in text


PROGRAM = """
import numpy as np
from numbalite import cuda

@cuda.jit("void(const float32[:, ::1], float32[:, ::1])")
def transpose(a, out):
    "auto [x, y] = grid<2>(); out(x, y) = a(y, x);"

a = np.ones((128, 128), np.float32)
transpose[(4, 4), (32, 32)](a, np.zeros_like(a))
"""


@pytest.mark.sim
def test_a_folder_of_programs_is_compared_with_recorded_output(tmp_path, capsys):
    (tmp_path / "transposes.py").write_text(PROGRAM)
    sectors = {LOADS: "2,048", STORES: "16,384", "launch__registers_per_thread": "999"}
    text = output_of_ncu(("nl_transpose", "(32, 32, 1)", "(4, 4, 1)", sectors))
    (tmp_path / "transposes.csv").write_text(text)
    file = tmp_path / "rows.json"
    command = [str(tmp_path), "--recorded", str(tmp_path), "--json", str(file), "--gpu", "A100"]
    assert ncu_table.main(command) == 0
    out = capsys.readouterr().out
    assert "| global_load_sectors | 1 | ± 2% | 100% | 95% |" in out
    assert "| global_store_sectors | 1 | ± 2% | 100% | 95% |" in out
    assert "transposes, transpose: global_load_requests 512, measured 0" in out
    assert '"measured": 16384.0' in file.read_text()


def test_a_program_that_fails_under_ncu_does_not_stop_the_others(tmp_path, capsys, monkeypatch):
    tool = tmp_path / "ncu"
    tool.write_text(
        "#!/bin/sh\nfor last; do :; done\ncase $last in *bad.py) exit 1;; esac\necho ID\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in "bad", "good":
        (tmp_path / f"{name}.py").write_text("")
    assert ncu_table.main([str(tmp_path), "--record", str(tmp_path / "out")]) == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.csv"]
    assert "ncu fails for" in capsys.readouterr().out


def test_a_folder_without_programs_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="has no programs"):
        ncu_table.main([str(tmp_path)])
