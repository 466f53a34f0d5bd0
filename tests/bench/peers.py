"""Prints the times of other libraries for the same rows: `python peers.py NAME [ROW ...]` prints
each row as JSON, {row: value}, as soon as it is measured.

Each peer library runs in a separate process, because the libraries are slow to import and some
conflict with each other. Each result is checked against NumPy before it is timed; a row that fails
is left out, with the reason on stderr.
"""

import importlib
import sys

from peer_measure import import_time, run_row

# Peers by name. A suffix selects a part of the rows: "numba/cpu" measures numba's rows on the CPU.
PEERS = {
    "numba": ("peer_numba", "on_gpu"),
    "numba-cuda-mlir": ("peer_numba", "successor"),
    "cupy": ("peer_others", "cupy"),
    "cuda.core": ("peer_others", "cuda_core"),
    "torch": ("peer_others", "torch"),
    "triton": ("peer_others", "triton"),
    "warp": ("peer_warp", "warp"),
    "numba/cpu": ("peer_numba", "on_cpu"),
    "numba/simulator": ("peer_numba", "simulator"),
    "scipy/cpu": ("peer_course", "scipy"),
    "math/cpu": ("peer_course", "python"),
    "cupy/cpu": None,
    "cuda.core/cpu": None,
    "torch/cpu": ("peer_others", "torch_cpu"),
}


def main(name):
    if PEERS[name] is None:  # the peers that need no GPU must be importable
        package = name.partition("/")[0]
        importlib.import_module(package)
        run_row("C4")(lambda: import_time(f"import {package}"))
    else:
        module, function = PEERS[name]
        getattr(importlib.import_module(module), function)()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except ImportError as error:
        print(f"not installed: {error}", file=sys.stderr)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
