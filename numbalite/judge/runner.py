"""Runs as the process that launches a submission. The process receives a source and arguments, and returns
the contents of all arrays; it never receives the expected results. Requests come as pickles from the judge;
replies are messages of `messages`."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import runpy
import statistics
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from numbalite.judge.guarded import GuardedArray
from numbalite.judge.messages import send

_ROUNDS = 20
_TEXT_LIMIT = 20_000  # characters of an error
_L2_BYTES = 38  # CUdevice_attribute


def serve() -> None:
    """Runs the submission. The arguments ``FD MISSING`` are the judge's pipe, and what `isolation` could not
    restrict."""
    pipe = Connection(int(sys.argv[1]))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from numbalite import config, cuda

    cuda.get_current_device()
    simulated = cuda.is_simulated()
    send(pipe, {"simulated": simulated, "unrestricted": sys.argv[2].split()})
    submission: Any = None
    while True:
        try:
            asked, given = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        # Limits stop kernels on a GPU. Times are measured with kernels compiled without this option.
        config.STOPPABLE = asked in ("open", "call")
        if asked == "open":
            submission = Submission(given)
        function = {"open": _open_submission, "call": _call_submission, "time": _gpu_times}[asked]
        send(pipe, *_result_or_error(function, submission, given))


def _result_or_error(function, *arguments):
    """Returns (header, arrays) for a request; the header contains the error if the request fails."""
    from numbalite import errors
    from numbalite.judge import refusal

    try:
        return function(*arguments)
    except refusal.RefusedSubmission as refused:
        return {"hacks": refused.hacks}, []
    except Exception as problem:
        is_launch = isinstance(problem, (errors.KernelError, errors.KernelTimeout))
        text = str(problem) if is_launch else f"{type(problem).__name__}: {problem}"
        return {"error": text[:_TEXT_LIMIT]}, []


def kernel_of(submission: dict) -> Any:
    """Returns the submission as a Dispatcher."""
    from numbalite import cuda
    from numbalite.cxx import capture, linemap, scanner
    from numbalite.cxx.definition import Definition
    from numbalite.kernels import options
    from numbalite.kernels.dispatcher import Dispatcher, body_kernel
    from numbalite.types import signatures

    name, text = submission["name"], submission["text"]
    if submission["kind"] == "py":
        found = runpy.run_path(submission["path"]).get(name)
        if not isinstance(found, Dispatcher):
            raise TypeError(f"the file has no kernel {name!r} under @cuda.jit")
        return found
    if submission["kind"] == "source":
        names = [kernel.name for kernel in scanner.scan_source(text)[0]]
        chosen = name if name in names or len(names) != 1 else names[0]
        return cuda.jit(source=text, name=chosen)
    definition = Definition(
        name,
        submission["parameters"],
        linemap.consecutive_text(text, submission["path"]),
        capture.Scope(),
    )
    given = signatures.signatures(submission["signature"])
    return body_kernel(definition, options.parse_options({}), given)


class Submission:
    """A submission and its kernels. The kernels are compiled with and without the option ``stoppable``."""

    def __init__(self, given: dict) -> None:
        self.given = given
        self._kernels: dict = {}
        self._launched: dict = {}

    def kernel(self, checked: bool = False, new: bool = True) -> Any:
        """Returns a kernel in a new module, in which variables have their initial values. With ``new=False``, this may
        be the module of an earlier launch, as in a program that launches a kernel many times: a random choice that the
        submission cannot know."""
        from numbalite import config
        from numbalite.judge.fresh import reload_solution

        key = config.STOPPABLE, checked
        if not new and key in self._launched and os.urandom(1)[0] % 2:
            return self._launched[key]
        if config.STOPPABLE not in self._kernels:
            self._kernels[config.STOPPABLE] = kernel_of(self.given)
        kernel = reload_solution(self._kernels[config.STOPPABLE])
        if self.given["kind"] != "py":
            self._check_image(kernel, checked)
        self._launched[key] = kernel
        return kernel

    def _check_image(self, kernel, checked):
        """Compiles a kernel, and raises RefusedSubmission if only its image shows a forbidden call."""
        from numbalite.judge import refusal

        if kernel.specialized:
            kernel.compile_given()
        else:
            kernel.compile(self.given["signature"])
        for overload in kernel._overloads.values():
            for image in overload.images.compiled.values():
                hacks = image.kind == "sim" and refusal.reasons_of_image(image.data, checked)
                if hacks:
                    raise refusal.RefusedSubmission(hacks)


def _open_submission(submission, given):
    """Compiles the submission."""
    from numbalite.compilers.slipwarnings import collect_slips

    with collect_slips() as slips:
        submission.kernel()
    return {"slips": [f"{slip.file}:{slip.line}: {slip.text}" for slip in slips]}, []


def _copy_to_device(values):
    """Returns (arguments, larger arrays) on the device, at addresses that differ from call to call."""
    from numbalite import cuda

    spacer = cuda.device_array(256 * (1 + os.urandom(1)[0]), np.uint8)
    arguments, wholes = [], [spacer]
    for value in values:
        if isinstance(value, GuardedArray):
            wholes.append(cuda.to_device(value.whole))
            value = value.view_of_array(wholes[-1])
        arguments.append(value)
    return arguments, wholes


def _launcher(submission, given, new=True):
    grid, block, *shared = given["launch"]
    return submission.kernel(given.get("checks", False), new)[
        grid, block, 0, shared[0] if shared else 0
    ]


def _call_submission(submission, given):
    from numbalite import cuda

    arguments, wholes = _copy_to_device(given["arguments"])
    checks = cuda.checks(limit=given["limit"]) if given["checks"] else contextlib.nullcontext()
    with checks, cuda.limit(given["limit"]):
        _launcher(submission, given, new=False)(*arguments)
        cuda.synchronize()
    return {}, [whole.copy_to_host() for whole in wholes[1:]]


def _gpu_times(submission, given):
    """Returns the times of a GPU in milliseconds, with a flushed cache and with a warm cache; or the
    profiler's prediction. The arrays are those after one of the timed launches."""
    from numbalite import _core, cuda

    arguments, wholes = _copy_to_device(given["arguments"])
    if given["simulated"]:
        launcher = _launcher(submission, given)  # the profiler's image is not checked
        with cuda.limit(given["limit"]), cuda.profile(given["gpu"]) as p:
            launcher(*arguments)
        launch = p.launches[-1]
        header = {"predicted": launch.time_at_least, "gpu": launch.gpu.name, "bound": launch.bound}
        return header, [whole.copy_to_host() for whole in wholes[1:]]
    flushed = cuda.device_array(max(1 << 20, _core.device_attribute(0, _L2_BYTES)) // 2, np.float32)
    launch = TimedLaunch(submission, given, arguments, wholes)
    # The judge compares the results of one launch, which the submission cannot know.
    compared = os.urandom(1)[0] % (2 * _ROUNDS)
    times, returned = [], []
    with cuda.limit(given["limit"]):
        for count in range(2 * _ROUNDS):
            is_cold = count < _ROUNDS
            times.append(launch.time(flushed if is_cold else None))
            if count == compared:
                returned = [whole.copy_to_host() for whole in wholes[1:]]
    medians = [1e3 * statistics.median(part) for part in (times[:_ROUNDS], times[_ROUNDS:])]
    return {"cold_ms": medians[0], "warm_ms": medians[1]}, returned


class TimedLaunch:
    """Measures launches that cannot return the results of earlier launches: each has a new module. The first launch of
    a module is slower, so it has other data, and is not measured."""

    def __init__(self, submission: Any, given: dict, arguments: list, wholes: list) -> None:
        self.submission, self.given, self.arguments = submission, given, arguments
        self.others, more = _copy_to_device(given["others"])
        self.wholes = [*more, *wholes]
        self.originals = [whole.copy() for whole in self.wholes]

    def time(self, flushed: Any) -> float:
        """Returns the seconds of a launch, with a cache that was flushed by ``flushed`` unless it is None."""
        from numbalite.judge.fresh import time_one_call

        launcher = _launcher(self.submission, self.given)
        launcher(*self.others)
        for whole, original in zip(self.wholes, self.originals, strict=True):
            whole.copy_to_device(original)
        if flushed is not None:
            flushed.fill(0)
        return time_one_call(lambda: launcher(*self.arguments))[1]
