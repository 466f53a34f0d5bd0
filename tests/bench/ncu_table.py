"""Compares the profiler's counters and times with Nsight Compute's, for a folder of programs.

    python tests/bench/ncu_table.py FOLDER --record RECORDS
    python tests/bench/ncu_table.py FOLDER --recorded RECORDS ... [--gpu H200] [--json FILE]
    python tests/bench/ncu_table.py FOLDER [--gpu H200] [--json FILE]

Each FOLDER/*.py is a program that launches kernels with numbalite, without arguments. It runs on
the GPU under `ncu --csv`, and on the simulator by `numbalite profile --json`. --record only runs
ncu, and stores its output as RECORDS/NAME.csv; --recorded makes the table from these files, without
a GPU. If --recorded names several folders, the metrics of the later folders are added to the
launches of the first. Without either option, ncu runs and the table is made from its output. Two
kernels of a program whose names are equal up to the suffixes "_1" and "_2" are versions of one
kernel: the table states whether the profiler predicted which version is faster.

Launches are matched by the kernel's name, grid and block, in their order.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
_SHARED = "l1tex__data_{}_mem_shared_op_{}.sum"
_BY_ADDRESS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
_CONFLICTS_BY_ADDRESS = "derived__memory_l1_wavefronts_shared_excessive"  # of SourceCounters
"""What follows from the addresses of instructions. The metrics of _SHARED also count passes that are
repeated because another access occupies the data path."""


class CounterMetrics(NamedTuple):
    """A counter of the profiler, the metrics of ncu whose sum equals it ("-NAME": subtracted), and
    the allowed error."""

    name: str
    metrics: tuple
    tolerance: float
    share: float
    """Of the kernels, so many must be within the tolerance."""
    otherwise: tuple = ()
    """The metrics that are compared if the recorded output lacks `metrics`."""


COUNTERS = (
    CounterMetrics("global_load_requests", (_GLOBAL.format("requests", "ld"),), 0.02, 0.95),
    CounterMetrics("global_load_sectors", (_GLOBAL.format("sectors", "ld"),), 0.02, 0.95),
    CounterMetrics("global_store_requests", (_GLOBAL.format("requests", "st"),), 0.02, 0.95),
    CounterMetrics("global_store_sectors", (_GLOBAL.format("sectors", "st"),), 0.02, 0.95),
    CounterMetrics(
        "shared_load_wavefronts",
        (_BY_ADDRESS.format("ld"),),
        0.02,
        0.95,
        (_SHARED.format("pipe_lsu_wavefronts", "ld"),),
    ),
    CounterMetrics(
        "shared_store_wavefronts",
        (_BY_ADDRESS.format("st"),),
        0.02,
        0.95,
        (_SHARED.format("pipe_lsu_wavefronts", "st"),),
    ),
    CounterMetrics(
        "shared_load_instructions", ("smsp__inst_executed_op_shared_ld.sum",), 0.02, 0.95
    ),
    CounterMetrics(
        "shared_store_instructions", ("smsp__inst_executed_op_shared_st.sum",), 0.02, 0.95
    ),
    CounterMetrics(
        "bank_conflicts",
        (
            _CONFLICTS_BY_ADDRESS,
            "-" + _BY_ADDRESS.format("atom"),  # without the conflicts of atomics
            "smsp__inst_executed_op_shared_atom.sum",
        ),
        0.02,
        0.95,
        (
            _SHARED.format("bank_conflicts_pipe_lsu", "ld"),
            _SHARED.format("bank_conflicts_pipe_lsu", "st"),
        ),
    ),
    CounterMetrics(
        "global_atomic_requests",
        (_GLOBAL.format("requests", "atom"), _GLOBAL.format("requests", "red")),
        0.02,
        0.95,
    ),
    CounterMetrics(
        "shared_atomic_requests", ("smsp__inst_executed_op_shared_atom.sum",), 0.02, 0.95
    ),
    CounterMetrics(
        "active_threads", ("smsp__thread_inst_executed_per_inst_executed.ratio",), 0.02, 0.95
    ),
    CounterMetrics("dram_bytes", ("dram__bytes_read.sum", "dram__bytes_write.sum"), 0.1, 0.8),
    CounterMetrics(
        "l1_hit_rate", ("l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",), 0.1, 0.8
    ),
    CounterMetrics("l2_hit_rate", ("lts__t_sector_hit_rate.pct",), 0.1, 0.8),
    CounterMetrics("registers", ("launch__registers_per_thread",), 0.0, 1.0),
    CounterMetrics("occupancy", ("sm__maximum_warps_per_active_cycle_pct",), 0.0, 1.0),
    CounterMetrics("time", ("gpu__time_duration.sum",), 0.1, 0.5),
)
_SCALES = {"l1_hit_rate": 0.01, "l2_hit_rate": 0.01, "occupancy": 0.01, "time": 1e-9}
_RATES = ("l1_hit_rate", "l2_hit_rate", "occupancy")
_SHORT = 20e-6
"""Seconds: times of shorter kernels are not compared."""
_MEMORY_TOLERANCE = 0.2
_ROUNDED = 5e-5
"""Half of the last decimal of a rate."""
_FASTER = 1.1
"""Two versions are compared if their times differ by this factor."""


class LaunchRecord(NamedTuple):
    """A launch, either predicted or measured."""

    kernel: str
    grid: tuple
    block: tuple
    values: dict
    """CounterMetrics -> number, or (low, high)."""
    bound: str = ""


# --- the simulator


def predicted_launches(path: pathlib.Path, gpu: str) -> list:
    """Returns the launches of a program on the simulator."""
    command = [sys.executable, "-m", "numbalite", "profile", "--json", "--gpu", gpu, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=path.parent, env=_subprocess_environment()
    )
    if done.returncode:
        raise SystemExit(f"{path} fails on the simulator:\n{done.stderr}")
    return launches_of_profile(json.loads(done.stdout))


def _subprocess_environment(**changes):
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **changes}


def launches_of_profile(profile: dict) -> list:
    """Returns the launches of a profile in JSON, in their order."""
    found = []
    for kernel in profile["kernels"]:
        for launch in kernel["launches"]:
            values = {**launch["counters"], **launch}
            values = {counter.name: values.get(counter.name) for counter in COUNTERS}
            found.append(
                LaunchRecord(
                    short_kernel_name(launch["kernel"]),
                    tuple(launch["grid"]),
                    tuple(launch["block"]),
                    values,
                    launch["bound"],
                )
            )
    return found


def short_kernel_name(kernel: str) -> str:
    """Returns the kernel's name without numbalite's prefix, namespaces, parameters and template
    arguments."""
    name = re.sub(r"<.*|\(.*", "", kernel.removeprefix("void "))
    return name.rpartition("::")[2].removeprefix("nl_").rstrip("_")


# --- Nsight Compute


def run_ncu(path: pathlib.Path) -> str:
    """Returns the output of ncu for a program on the GPU."""
    metrics = dict.fromkeys(m.lstrip("-") for counter in COUNTERS for m in counter.metrics)
    del metrics[_CONFLICTS_BY_ADDRESS]
    command = [
        "ncu", "--csv", "--page", "raw", "--print-units", "base", "--kernel-name-base", "function",
        "--cache-control", "all", "--clock-control", "none", "--section", "SourceCounters", "--metrics",
        ",".join(metrics),
        sys.executable, str(path),
    ]  # fmt: skip
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=path.parent,
        env=_subprocess_environment(NUMBALITE_DRIVER=""),
    )
    if done.returncode or "ERR_NVGPUCTRPERM" in done.stdout:
        raise SystemExit(f"ncu fails for {path}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def record_programs(programs: list, folder: pathlib.Path) -> int:
    """Runs ncu for each program and stores its output; returns how many programs failed."""
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    for path in programs:
        start = time.monotonic()
        try:
            text = run_ncu(path)
        except SystemExit as problem:
            print(problem, flush=True)
            failures += 1
            continue
        (folder / f"{path.stem}.csv").write_text(text)
        print(f"{path.stem}: {time.monotonic() - start:.0f} s", flush=True)
    return failures


def read_ncu(text: str) -> list:
    """Returns the launches in the output of `ncu --csv --page raw`; other lines, such as the
    program's own, are skipped."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        raise ValueError('this is no output of ncu --csv --page raw: no line begins with "ID",')
    rows = list(csv.reader(line for line in lines[start:] if line.startswith('"')))
    head, units, *rows = rows
    units = dict(zip(head, units, strict=True))
    return [
        _measured_values(dict(zip(head, row, strict=True)), units)
        for row in rows
        if row[0].isdigit()
    ]


_UNITS = {"usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6, "second": 1e9, "s": 1e9,
          "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}  # fmt: skip
"""Factors to nanoseconds and bytes, for output without --print-units base."""


def _measured_values(row, units):
    values = {}
    for counter in COUNTERS:
        for metrics in filter(None, (counter.metrics, counter.otherwise)):
            parts = [_signed_value(metric, row, units) for metric in metrics]
            if None not in parts:
                values[counter.name] = sum(parts) * _SCALES.get(counter.name, 1)
                break
    return LaunchRecord(
        short_kernel_name(row["Kernel Name"]),
        _parse_sizes(row["Grid Size"]),
        _parse_sizes(row["Block Size"]),
        values,
    )


def _signed_value(metric, row, units):
    name = metric.lstrip("-")
    text = row.get(name, "n/a")
    if text in ("", "n/a"):
        return None
    return _parse_number(text) * _UNITS.get(units[name], 1) * (-1 if metric != name else 1)


def _parse_number(text):
    return float(text.replace(",", ""))


def _parse_sizes(text):
    return tuple(map(int, re.findall(r"\d+", text)))


def merge_recordings(recordings: list) -> list:
    """Returns the launches of the first recording with the counters of all recordings; if several
    recordings have a counter, the last value is used."""
    first, *others = recordings
    for other in others:
        pairs, _ = match_launches(first, other)
        for launch, same in pairs:
            launch.values.update(same.values)
    return first


# --- the comparison


class CounterRow(NamedTuple):
    """One counter of one launch."""

    program: str
    kernel: str
    counter: str
    predicted: object
    measured: float
    error: float
    """0 inside of a predicted range."""
    bound: str


def match_launches(expected: list, measured: list) -> tuple:
    """Returns ([(predicted, measured), ...], launches without a counterpart)"""
    rest = list(measured)
    pairs, alone = [], []
    for launch in expected:
        key = launch[:3]
        found = next((n for n, other in enumerate(rest) if other[:3] == key), None)
        if found is None:
            alone.append(launch)
        else:
            pairs.append((launch, rest.pop(found)))
    return pairs, alone + rest


def relative_error(predicted, measured: float, is_rate: bool = False) -> float:
    """Returns the error of a number, or for a range the distance from the range. is_rate: a difference of
    rates from 0 to 1, which ncu prints with four decimals; otherwise relative."""
    low, high = predicted if isinstance(predicted, (list, tuple)) else (predicted, predicted)
    distance = max(low - measured, measured - high, 0)
    if is_rate:
        return distance if distance > _ROUNDED else 0.0
    if distance == 0:
        return 0.0
    return distance / abs(measured) if measured else math.inf


def compare_counters(program: str, pairs: list) -> list:
    """Returns the rows of a program."""
    rows = []
    for expected, measured in pairs:
        for counter in COUNTERS:
            value, truth = expected.values.get(counter.name), measured.values.get(counter.name)
            if value is None or truth is None or (counter.name == "time" and truth < _SHORT):
                continue
            if value == 0 and truth == 0:
                continue  # says nothing
            error = relative_error(value, truth, counter.name in _RATES)
            rows.append(
                CounterRow(
                    program, expected.kernel, counter.name, value, truth, error, expected.bound
                )
            )
    return rows


def is_within(row: CounterRow, counter: CounterMetrics) -> bool:
    """Returns whether the error is within the counter's tolerance."""
    return row.error <= counter.tolerance + 1e-9


def times_by_kernel(pairs: list) -> dict:
    """Returns {kernel: (predicted, measured)}, the sums over the launches of each kernel."""
    times: dict = {}
    for launches in pairs:
        total = times.get(launches[0].kernel, (0, 0))
        times[launches[0].kernel] = tuple(
            sum_ + (launch.values.get("time") or 0)
            for sum_, launch in zip(total, launches, strict=True)
        )
    return times


def compare_versions(times: dict) -> list:
    """Returns (name, whether the faster version was predicted) for each two versions of a kernel whose
    measured times differ. `times` is a result of times_by_kernel."""
    found = []
    for name in sorted(times):
        other = name.removesuffix("_1") + "_2"
        if not name.endswith("_1") or other not in times:
            continue
        (a, x), (b, y) = times[name], times[other]
        if max(x, y) >= _FASTER * min(x, y):
            found.append((name.removesuffix("_1"), (a < b) == (x < y)))
    return found


def format_table(rows: list, pairs: list, alone: list) -> str:
    """Returns the table, and the list of counters outside of their tolerance."""
    out = ["| counter | launches | within | share | target |", "|---|---|---|---|---|"]
    misses = []
    for counter in COUNTERS:
        own = [row for row in rows if row.counter == counter.name]
        good = [row for row in own if is_within(row, counter)]
        misses += [row for row in own if row not in good]
        if own:
            mark = "" if len(good) >= counter.share * len(own) else " **missed**"
            out.append(
                f"| {counter.name} | {len(own)} | ± {counter.tolerance:.0%} | {len(good) / len(own):.0%} | "
                f"{counter.share:.0%}{mark} |"
            )
    out += _summary_of_times(rows)
    right = sum(is_right for _, is_right in pairs)
    if pairs:
        out.append(f"\nThe faster of two versions was predicted for {right} of {len(pairs)} pairs.")
        out += [f"- not for {name}" for name, is_right in pairs if not is_right]
    if misses:
        out.append("\nMisses:")
    out += [
        f"- {row.program}, {row.kernel}: {row.counter} {_format_value(row.predicted)}, measured {_format_value(row.measured)}"
        for row in misses
    ]
    out += [
        f"- {program}: no counterpart of a launch of {launch.kernel}, grid {launch.grid}"
        for program, launch in alone
    ]
    return "\n".join(out)


def _summary_of_times(rows):
    times = sorted(row.error for row in rows if row.counter == "time")
    if not times:
        return []
    memory = [row.error for row in rows if row.counter == "time" and row.bound in ("DRAM", "L2")]
    out = [
        f"\nTimes of kernels of 20 us and more: median error {times[len(times) // 2]:.1%} (target 10%)."
    ]
    if memory:
        good = sum(error <= _MEMORY_TOLERANCE for error in memory)
        out.append(f"Kernels bound by memory within 20%: {good} of {len(memory)} (target: all).")
    return out


def _format_value(value):
    if isinstance(value, (list, tuple)):
        return f"{_format_value(value[0])} to {_format_value(value[1])}"
    return f"{value:.4g}"


def main(arguments: list) -> int:
    """Returns the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gpu", default="H200")
    parser.add_argument("--record", type=pathlib.Path, help="only run ncu, and store its output")
    parser.add_argument(
        "--recorded", type=pathlib.Path, action="append", help="a folder that --record has made"
    )
    parser.add_argument("--json", type=pathlib.Path, help="store the rows in this file")
    given = parser.parse_args(arguments)
    programs = sorted(given.folder.glob("*.py"))
    if not programs:
        raise SystemExit(f"{given.folder} has no programs (*.py)")
    if given.record:
        return min(record_programs(programs, given.record), 1)
    rows, alone, faster = [], [], []
    for path in programs:
        expected, measured = predicted_launches(path, given.gpu), _measured_launches(path, given)
        pairs, others = match_launches(expected, measured)
        rows += compare_counters(path.stem, pairs)
        alone += [(path.stem, launch) for launch in others]
        faster += [
            (f"{path.stem}, {name}", is_right)
            for name, is_right in compare_versions(times_by_kernel(pairs))
        ]
    print(format_table(rows, faster, alone))
    if given.json:
        given.json.write_text(json.dumps([row._asdict() for row in rows], indent=1))
    return 0


def _measured_launches(path, given):
    if not given.recorded:
        return read_ncu(run_ncu(path))
    files = [folder / f"{path.stem}.csv" for folder in given.recorded]
    return merge_recordings(
        [read_ncu(file.read_text()) for file in files if file == files[0] or file.exists()]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
