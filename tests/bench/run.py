"""Compares numbalite's speed with the floor measured in the same run, and with the peers that are installed.

    python tests/bench/run.py [--json FILE] [--page FILE] [--only L1,S1] [--no-peers] [--write]
    python tests/bench/run.py --from FILE --write      the table of an earlier run
    python tests/bench/run.py --sweep [--seconds 200] [--after "sum f4"]  array functions against CuPy and torch
    python tests/bench/run.py --cases [--only unique]   array functions with operands of their own, against both
    python tests/bench/run.py --shapes [--only sum]     array functions with 300 shapes, against CuPy and torch
    python tests/bench/run.py --host [--shapes] [--only sum,fft]   the host's part of calls, without a GPU
    python tests/bench/run.py --small                   tiny sizes, also on the simulator: are all rows right?

One table: numbalite's time, the floor (plain C or CUDA C++ on the same machine: driver.c, floor.c,
hand.cu), the ratio, the limit that the row's target gives and whether it is met, and the peers,
each in a process of its own. Every row checks its result before it times it. Without a GPU it
measures the rows that do not need one, and lists the others. Absolute times differ from machine to
machine; ratios hardly do.

bench_rows.py passes the rows of single calls to pytest-benchmark, to compare commits.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from importlib import metadata

PEERS = ("numba", "numba-cuda-mlir", "cupy", "cuda.core", "torch", "triton", "warp")
PACKAGES = (
    *("cupy-cuda13x", "cupy-cuda12x", "torch", "triton", "numba", "numba-cuda", "numba-cuda-mlir"),
    *("cuda-core", "warp-lang", "numpy", "scipy"),
)
PEER_SECONDS = 240  # for all rows of one
PEERS_ANYWHERE = (
    *("numba/cpu", "numba/simulator", "cupy/cpu", "cuda.core/cpu", "torch/cpu"),
    *("scipy/cpu", "math/cpu"),
)


def measure_peers(real, wanted):
    """Returns {peer: {row: value}}; each peer is measured in a separate process."""
    from measure import HERE

    found = {}
    for name in (*(PEERS if real else ()), *PEERS_ANYWHERE):
        command = [sys.executable, str(HERE / "peers.py"), name, *sorted(wanted)]
        simulate = {"NUMBA_ENABLE_CUDASIM": "1"} if name == "numba/simulator" else {}
        rows, log = run_peer(command, {**os.environ, **simulate})
        found.setdefault(name.split("/")[0], {}).update(rows)
        if log.strip():
            print(f"  of {name} left out: {log.strip()[-600:]}", flush=True)
    return {name: values for name, values in found.items() if values}


def run_peer(command, environment):
    """Returns ({row: value}, the other output of the peer)."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as peer:
        late = ""
        try:
            output, log = peer.communicate(timeout=PEER_SECONDS)
        except subprocess.TimeoutExpired:
            peer.kill()
            output, log = peer.communicate()
            late = f"\nwhat it had not measured after {PEER_SECONDS} s"
    rows = {}
    for line in output.splitlines():  # some libraries print other lines
        if line.startswith('{"'):
            rows.update(json.loads(line))
    return rows, log + late


def format_number(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def print_line(key, entry):
    ours, least, limit = entry["ours"], entry["floor"], entry["limit"]
    verdict = "" if limit is None else "met" if ours <= limit else "NOT met"
    ratio = f"{ours / least:.2f}" if least else "-"
    peers = ", ".join(f"{name} {format_number(value)}" for name, value in entry["peers"].items())
    if entry["moved"]:
        peers = f"[{entry['moved'] / ours / 1e3:.0f} GB/s] {peers}"
    what = f"{entry['work']} [{entry['unit']}]"
    print(
        f"{key:<4} {what:<58} {format_number(ours):>9} {format_number(least):>9} {ratio:>6}"
        f"  {format_number(limit):>9} {verdict:<8} {peers}",
        flush=True,
    )


def measure_rows(floor, wanted, real, results, left_out, save):
    """Fills `results` and `left_out`; calls save() after each row."""
    from measure import NOTES, ROWS, SMALL, RowSkipped

    print(f"{'row':<4} {'work':<58} {'ours':>9} {'floor':>9} {'ratio':>6}  {'limit':>9}      peers")
    for key, row in ROWS.items():
        if wanted and key not in wanted:
            continue
        NOTES.clear()
        try:
            if row.gpu and not real and not SMALL:
                raise RowSkipped("needs a GPU")
            ours, least, limit = row.measure(floor)
        except RowSkipped as reason:
            left_out.append(f"{key}: {reason}")
            continue
        except Exception as error:
            left_out.append(f"{key}: FAILED: {type(error).__name__}: {str(error)[:1500]}")
            continue
        results[key] = {
            "work": row.what,
            "unit": row.unit,
            "moved": row.moved,
            "ours": ours,
            "floor": least,
            "limit": limit,
            "target": row.target,
            "peers": {name: values[key] for name, values in floor.peers.items() if key in values},
            "notes": list(NOTES),
        }
        print_line(key, results[key])
        save()
    for line in left_out:
        print("left out", line)


def bytecode_environment(folder):
    """Compiles modules to bytecode once, as in a user's installation. Not into the checkout, though."""
    from measure import ROOT

    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    os.environ["NUMBALITE_CACHE_DIR"] = str(folder / "cache")
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    sys.path.insert(0, str(ROOT))


def package_versions():
    """Returns {package: version} of numbalite and the peers that are installed, and of CUDA's driver."""
    from numbalite import __version__, cuda
    from numbalite.cuda.cudadrv import driver

    found = {"numbalite": __version__}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    if not cuda.is_simulated():
        found["CUDA of the driver"] = ".".join(map(str, driver.get_version()))
    return found


def measure_all_rows(options):
    """Measures all rows, and returns the record of the results."""
    import numpy as np
    import rows  # noqa: F401  (registers, as the others do)
    from measure import HardwareFloor

    import ufunc_rows  # noqa: F401  isort: skip
    import element_rows  # noqa: F401  isort: skip
    import memory_rows  # noqa: F401  isort: skip
    import library_rows  # noqa: F401  isort: skip
    import array_rows  # noqa: F401  isort: skip
    import python_rows  # noqa: F401  isort: skip
    import operator_rows  # noqa: F401  isort: skip
    import course_rows  # noqa: F401  isort: skip

    wanted = set(options.only.split(",")) if options.only else set()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        bytecode_environment(folder)
        import warnings

        warnings.simplefilter("ignore")
        from numbalite import cuda

        real = not cuda.is_simulated()
        device = cuda.get_current_device().name
        device = device.decode() if isinstance(device, bytes) else device
        machine = (
            f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
            f"NumPy {np.__version__}"
        )
        print(f"{device}; {machine}\n", flush=True)
        peers = {} if options.no_peers else measure_peers(real, wanted)
        record = {
            "device": device,
            "machine": machine,
            "versions": package_versions(),
            "rows": {},
            "left_out": [],
        }

        def save_json():
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")

        measure_rows(
            HardwareFloor(folder, peers),
            wanted,
            real,
            record["rows"],
            record["left_out"],
            save_json,
        )
        save_json()
    return record


def run_sweep(options):
    only = set(options.only.split(",")) if options.only else ()
    if options.cases:
        import cases

        rows = cases.measure_cases(only, options.json, options.small)
    else:
        import sweep as sweeping

        number, count = map(int, options.part.split("/"))
        rows = sweeping.run_sweep(
            (number, count), only, options.json, options.seconds, options.after
        )
    return 1 if any("wrong" in row or "refused" in row for row in rows) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--page", help="also write the results to this HTML file")
    parser.add_argument("--only", help="rows, separated by commas")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument(
        "--small", action="store_true", help="a try of all rows; its times say nothing"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the tables of docs/performance.md and README.md"
    )
    parser.add_argument(
        "--from", dest="source", help="do not measure: take the results of this file"
    )
    parser.add_argument(
        "--sweep", action="store_true", help="array functions against CuPy and torch"
    )
    parser.add_argument(
        "--host",
        action="store_true",
        help="the host's part of calls, with a driver that does nothing",
    )
    parser.add_argument(
        "--shapes", action="store_true", help="array functions, each with 300 shapes"
    )
    parser.add_argument(
        "--cases", action="store_true", help="array functions with operands of their own"
    )
    parser.add_argument("--part", default="1/1", help="of the sweep, as 2/5")
    parser.add_argument("--seconds", type=float, help="after which the sweep begins nothing more")
    parser.add_argument("--after", help="where the sweep goes on, as 'sum f4'")
    options = parser.parse_args()
    if options.sweep or options.cases:
        return run_sweep(options)
    if options.host:
        import host

        return host.measure_in_subprocess(options.only, options.shapes)
    if options.shapes:
        import shapes

        only = options.only.split(",") if options.only else ()
        return shapes.measure_shapes(only, options.json, options.source, options.write)
    if options.small:
        os.environ["NUMBALITE_BENCH_SMALL"] = "1"
    record = (
        json.loads(pathlib.Path(options.source).read_text())
        if options.source
        else measure_all_rows(options)
    )
    if options.page:
        import page

        page.write_page(options.page, record)
    if options.write:
        import speed_table

        speed_table.update_pages(pathlib.Path(__file__).resolve().parents[2], record)
    return 1 if any("FAILED" in line for line in record["left_out"]) else 0


if __name__ == "__main__":
    sys.exit(main())
