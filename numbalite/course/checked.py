"""Checks a launch on the simulator; on a machine with a GPU, in another process.

A process has one driver, and only the simulator can check accesses. A lesson that runs on a GPU sends
the kernel (its source) and copies of the arguments to a Python process with NUMBALITE_DRIVER=sim, and
receives the report.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

_CHILD = "from numbalite.course.checked import _serve_check_task; _serve_check_task()"


def examine(launch, *args, checks="all", seed=None, limit=None):
    """Checks one launch with ``cuda.checks``, prints the report and returns it.

    The launch runs on the simulator and on copies of the arguments, so the
    caller's arrays are not changed.

    Parameters
    ----------
    launch : configured kernel
        ``kernel[blocks, threads]``.
    *args : numpy.ndarray, DeviceNDArray or number
        The arguments of the launch.
    checks : str or list of str
        The name of a check or several ("race", "memory", ...: those of
        ``cuda.checks``).
    seed : int
        Selects the order of blocks and threads.
    limit : float
        The number of seconds after which a kernel counts as hanging.

    Returns
    -------
    KernelError or None
        The error that the launch raised, or None.

    Raises
    ------
    CudaSupportError
        There is a GPU, but no C++ compiler for the simulator.

    Examples
    --------
    >>> @cuda.jit
    ... def count(values, counts):
    ...     "counts[values[grid<1>()]] += 1;"
    >>> from numbalite.course import examine
    >>> report = examine(count[1, 32], np.zeros(32, int), np.zeros(1, int), checks="race")
    count (...
    >>> report.kind, report.array
    ('race', 'counts')
    """
    from numbalite.course.device import simulated
    from numbalite.required import require

    require(
        launch, "examine", "a configured kernel, kernel[blocks, threads]", "dispatcher", "griddim"
    )
    wanted = (checks,) if isinstance(checks, str) else tuple(checks)
    parts = launch.dispatcher, launch.griddim, launch.blockdim, launch.sharedmem
    task = (*parts, tuple(map(_host_copy, args)), wanted, seed, limit)
    found = _run_check_task(task) if simulated() else run_in_other_process(task)
    print(found if found is not None else f"nothing found by {', '.join(wanted)}")
    return found


def _host_copy(value):
    import numpy as np

    from numbalite import cuda

    if isinstance(value, np.ndarray):
        return value.copy()
    return cuda.as_cuda_array(value).copy_to_host() if cuda.is_cuda_array(value) else value


def _run_check_task(task):
    from numbalite import cuda, errors

    kernel, grid, block, shared, args, wanted, seed, limit = task
    try:
        with cuda.checks(*wanted, seed=seed, limit=limit):
            kernel[grid, block, 0, shared](*map(as_device_value, args))
            cuda.synchronize()
    except errors.KernelError as found:
        return found
    return None


def as_device_value(value):
    """Returns a device array for a NumPy array; returns other values unchanged."""
    import numpy as np

    from numbalite import cuda

    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def run_in_other_process(task, run=None):
    """Returns run(task), computed by another process on the simulator. By default ``run`` returns the KernelError of
    a launch, or None; the task is (kernel, grid, block, shared, arguments, checks, seed, limit)."""
    from numbalite import errors

    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _CHILD],
        input=pickle.dumps(([p for p in sys.path if p], (run or _run_check_task, task))),
        capture_output=True,
        env={**os.environ, "NUMBALITE_DRIVER": "sim"},
    )
    if child.returncode:
        last = child.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise errors.CudaSupportError(f"the simulator could not check the launch: {last}")
    return pickle.loads(child.stdout)


def _serve_check_task():
    """Runs in the other process: reads a task from stdin and writes the report to stdout."""
    out = os.dup(1)
    os.dup2(2, 1)  # output of printf in the kernel must not be mixed with the report
    path, (run, task) = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    found = run(task)
    with os.fdopen(out, "wb") as stream:
        pickle.dump(found, stream)
