"""numbalite's speed, beside the floor measured in the same run and the peers that are installed.

    python tests/bench/run.py [--json FILE] [--only L1,S1] [--no-peers]

One table: what we need, the floor (plain C on the same machine: floor.c), the ratio, the target and
whether it is met, and the peers. Without a GPU it measures what does not need one and says what it left
out. Absolute times differ from machine to machine; ratios hardly do.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import numpy as np
import rows  # noqa: F401  (registers)
import ufunc_rows  # noqa: F401
from measure import HERE, ROOT, ROWS, Floor, LeftOut


def peers(real):
    """{peer: {row: value}}, each peer measured in a process of its own."""
    found = {}
    if not real:
        return found
    for name in ("numba", "cupy", "cuda.core", "torch", "triton"):
        command = [sys.executable, str(HERE / "peers.py"), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found[name] = json.loads(done.stdout.splitlines()[-1])
        except (IndexError, ValueError):
            found[name] = {}
        if done.stderr.strip():
            print(f"  of {name} left out: {done.stderr.strip()[-600:]}", flush=True)
    return {name: values for name, values in found.items() if values}


def show(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def measure(floor, others, wanted, real):
    results, left_out = {}, []
    print(f"{'row':<4} {'work':<50} {'ours':>9} {'floor':>9} {'ratio':>6}  {'limit':>9}      peers")
    for key, (what, unit, target, gpu, function) in ROWS.items():
        if wanted and key not in wanted:
            continue
        try:
            if gpu and not real:
                raise LeftOut("needs a GPU")
            ours, least, limit = function(floor)
        except LeftOut as reason:
            left_out.append(f"{key}: {reason}")
            continue
        except Exception as error:
            left_out.append(f"{key}: FAILED: {type(error).__name__}: {error}")
            continue
        beside = {name: values[key] for name, values in others.items() if key in values}
        verdict = "" if limit is None else "met" if ours <= limit else "NOT met"
        ratio = f"{ours / least:.2f}" if least else "-"
        told = ", ".join(f"{name} {show(value)}" for name, value in beside.items())
        print(
            f"{key:<4} {f'{what} [{unit}]':<50} {show(ours):>9} {show(least):>9} {ratio:>6}"
            f"  {show(limit):>9} {verdict:<8} {told}",
            flush=True,
        )
        results[key] = {
            "work": what,
            "unit": unit,
            "ours": ours,
            "floor": least,
            "limit": limit,
            "target": target,
            "peers": beside,
        }
    for line in left_out:
        print("left out", line)
    return results, left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--only", help="rows, separated by commas")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # As users have it: modules are compiled to bytecode once. Not into the checkout, though.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        os.environ["NUMBALITE_CACHE_DIR"] = str(folder / "cache")
        os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
        sys.path.insert(0, str(ROOT))
        import warnings

        warnings.simplefilter("ignore")
        from numbalite import cuda

        real = not cuda.is_simulated()
        device = cuda.get_current_device().name
        device = device.decode() if isinstance(device, bytes) else device
        print(
            f"{device}; {platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}, "
            f"NumPy {np.__version__}\n",
            flush=True,
        )
        others = {} if options.no_peers else peers(real)
        wanted = set(options.only.split(",")) if options.only else None
        results, left_out = measure(Floor(folder), others, wanted, real)
    if options.json:
        record = {
            "device": device,
            "python": platform.python_version(),
            "rows": results,
            "left_out": left_out,
        }
        pathlib.Path(options.json).write_text(json.dumps(record, indent=1) + "\n")
    return 1 if any("FAILED" in line for line in left_out) else 0


if __name__ == "__main__":
    sys.exit(main())
