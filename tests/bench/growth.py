"""Measures how costs grow: with arguments, dimensions, sizes, streams, threads that call
concurrently, and devices.

    python tests/bench/growth.py --json FILE [--only sizes,threads]    measures
    python tests/bench/growth.py --from FILE[,FILE] --plot docs        draws (needs matplotlib)

A curve is {"x", "y", "label"}; a figure has several, and the labels of its axes. A cost is
the time until a call returns; if the curve's label contains "wait", the call waits for the device. Costs in microseconds are the minimum of many short
rounds, in each of which all points of a curve are measured: other load then disturbs rounds, not
points. A round is shorter than the driver's queue of launches. Figures mark the curves of
free-threaded CPython.
"""

import argparse
import gc
import json
import os
import pathlib
import platform
import sys
import tempfile
import threading
import time

import numpy as np
from measure import ROOT, SMALL, HardwareFloor, RowSkipped, device_median, make_call_measure, median

FIGURES = {}
sys.path.insert(0, str(ROOT))


def register_figure(name, title, x, y, log_y=False, base=2):
    """Registers the function that measures the curves of a figure: a function of (floor) that
    yields (label, xs, ys)."""

    def add_to_figures(function):
        FIGURES[name] = {
            "title": title, "x": x, "y": y, "log_y": log_y, "base": base, "measure": function,
        }  # fmt: skip
        return function

    return add_to_figures


def measure_curve(label, xs, measure):
    """Returns (label, xs, ys) for the sizes that fit into memory."""
    from numbalite import cuda

    done, ys = [], []
    for x in xs:
        try:
            y = measure(x)
        except (MemoryError, RowSkipped) as error:
            print(f"  {label} at {x}: {type(error).__name__}: {str(error)[:100]}", flush=True)
            break
        done.append(x)
        ys.append(y)
        cuda.synchronize()
    return label, done, ys


def curve_of_calls(label, xs, make, calls=200, rounds=100):
    """Returns (label, xs, ys): the microseconds of a call of make(x), the minimum of many rounds
    over all x."""
    from numbalite import cuda

    return curve_of_measures(
        label, xs, lambda x: make_call_measure(make(x), cuda.synchronize), calls, rounds
    )


def curve_of_measures(label, xs, make, calls=200, rounds=100):
    """Returns (label, xs, ys) for functions make(x) that return a measure of measure.py."""
    measures = [make(x) for x in xs]
    least = [float("inf")] * len(measures)
    calls, rounds = (3, 1) if SMALL else (calls, rounds)
    gc.disable()
    for _ in range(rounds + 1):  # the first also warms up
        for i, measure in enumerate(measures):
            least[i] = min(least[i], measure(calls))
    gc.enable()
    return label, list(xs), least


# ---- arguments -----------------------------------------------------------------------------------------
COUNTS = (1, 2, 4, 8, 16, 24, 32, 48, 64)


def parameter_list(pattern, n):
    return ", ".join(pattern.format(i) for i in range(n))


@register_figure(
    "arguments", "A launch, by its number of arguments", "arguments", "µs a call", base=None
)
def measure_argument_counts(floor):
    from numbalite import cuda, vectorize

    x = cuda.to_device(np.ones(32, np.float32))

    def make_launch_factory(pattern, value):
        def make_launch(n):
            text = f"__global__ void k({parameter_list(pattern, n)}) {{}}"
            bound = cuda.jit(text)[1, 32]
            arguments = (value,) * n
            return lambda: bound(*arguments)

        return make_launch

    def make_launch_in_c(n):
        text = (
            "struct view { float* data; long long shape, stride; };\n"
            f'extern "C" __global__ void takes_views({parameter_list("view a{}", n)}) {{}}'
        )
        return floor.view_launches(floor.compile_cubin(f"views{n}", text))

    def make_add_ufunc(n):
        add = vectorize(
            [f"float32({parameter_list('float32', n)})"], source=" + ".join(f"x{i}" for i in range(n)),
            args=parameter_list("x{}", n), target="cuda",
        )  # fmt: skip
        out = cuda.device_array(32, np.float32)
        add(*(x,) * n, out=out)
        assert (out.copy_to_host() == n).all()
        inputs = (x,) * n
        return lambda: add(*inputs, out=out)

    yield curve_of_calls("device arrays", COUNTS, make_launch_factory("array<float> a{}", x))
    yield curve_of_calls("Python ints", COUNTS, make_launch_factory("int a{}", 7))
    yield curve_of_measures("device arrays, in C", COUNTS, make_launch_in_c)
    yield curve_of_calls("a ufunc's inputs", (1, 2, 4, 8, 16, 24, 32, 48, 62), make_add_ufunc)


# ---- dimensions ----------------------------------------------------------------------------------------
@register_figure(
    "dimensions", "A call, by the dimensions of its arrays", "dimensions", "µs a call", base=None
)
def measure_dimension_counts(floor):
    from numbalite import cuda, vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "x + y"

    def make_launch(n):
        bound = cuda.jit(f"__global__ void k(array<float, {n}> a) {{}}")[1, 32]
        x = cuda.device_array((1,) * n, np.float32)
        return lambda: bound(x)

    def make_dense_add(n):
        x, y, z = (cuda.device_array((2,) * min(n, 8) + (1,) * (n - 8), np.float32) for _ in "123")
        return lambda: add(x, y, out=z)

    def make_transposed_add(n):
        x, y, z = (cuda.device_array((2,) * n, np.float32) for _ in "123")
        y = y.T
        return lambda: add(x, y, out=z)

    dims = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32)
    yield curve_of_calls("launch, one array", dims, make_launch)
    yield curve_of_calls("ufunc, dense arrays", dims, make_dense_add)
    yield curve_of_calls(
        "ufunc, 2 × 2 × …, one transposed",
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14),
        make_transposed_add,
    )


# ---- sizes ---------------------------------------------------------------------------------------------
LARGEST = 12 if SMALL else 32
SIZES = [1 << k for k in range(0, LARGEST + 1, 2)]


@register_figure(
    "sizes", "Arrays on the device, by their size", "elements", "µs a call", log_y=True
)
def measure_sizes(floor):
    from numbalite import cuda, vectorize

    @vectorize(["int8(int8, int8)", "float32(float32, float32)"], target="cuda")
    def add(x, y):
        "x + y"

    total = cuda.reduce("a + b")

    def make_add_measure(dtype):
        def measure_add(n):
            x, y, z = (cuda.device_array(n, dtype) for _ in "123")
            x.fill(1)
            y.fill(2)
            add(x, y, out=z)
            assert (z[-min(n, 99) :].copy_to_host() == 3).all()
            return device_median(lambda: add(x, y, out=z), max(1, min(50, (1 << 30) // n)), 5)

        return measure_add

    def measure_sum(n):
        x, result = cuda.device_array(n, np.float32), cuda.device_array(1, np.float32)
        x.fill(1)
        total(x, res=result)
        np.testing.assert_allclose(result.copy_to_host(), n, rtol=1e-5)
        return device_median(lambda: total(x, res=result), max(1, min(50, (1 << 30) // n)), 5)

    yield measure_curve("add, float32", SIZES, make_add_measure(np.float32))
    yield measure_curve("add, int8", SIZES, make_add_measure(np.int8))
    yield measure_curve("sum, float32", SIZES, measure_sum)


@register_figure("bandwidth", "Bandwidth on the device, by array size", "bytes moved", "GB/s")
def convert_to_bandwidth(floor):
    measured = FIGURES["sizes"].get("curves") or []
    each = {"add, float32": 12, "add, int8": 3, "sum, float32": 4}
    for c in measured:
        moved = [n * each[c["label"]] for n in c["x"]]
        yield c["label"], moved, [m / t / 1e3 for m, t in zip(moved, c["y"])]


@register_figure("copies", "Host arrays, by their size", "bytes of one array", "GB/s")
def measure_copies(floor):
    from numbalite import cuda, vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "x + y"

    def repeat_counts(n):
        return max(1, min(200, (1 << 24) // n)), 5

    def transfer_rate(n, function):
        inner, times = repeat_counts(n)
        return n / median(function, inner, rounds=times) / 1e3

    def to_device(n):
        x = np.ones(n, np.uint8)
        assert (cuda.to_device(x)[-min(n, 99) :].copy_to_host() == 1).all()
        return transfer_rate(n, lambda: (cuda.to_device(x), cuda.synchronize()))

    def to_host(n):
        d = cuda.device_array(n, np.uint8)
        d.fill(1)
        assert (d.copy_to_host()[-99:] == 1).all()
        return transfer_rate(n, d.copy_to_host)

    def to_given_host_array(n):
        d, x = cuda.device_array(n, np.uint8), np.zeros(n, np.uint8)
        d.fill(1)
        d.copy_to_host(x)
        assert (x == 1).all()
        return transfer_rate(n, lambda: d.copy_to_host(x))

    def host_ufunc_rate(n):
        if n < 4 or n > 1 << 30:
            raise RowSkipped("not of that size")
        x = np.ones(n // 4, np.float32)
        assert (add(x, x)[-99:] == 2).all()
        return 3 * transfer_rate(n, lambda: add(x, x))

    bytes_ = [1 << k for k in range(2, LARGEST + 1, 2)]
    yield measure_curve("to_device", bytes_, to_device)
    yield measure_curve("copy_to_host, new array", bytes_, to_host)
    yield measure_curve("copy_to_host, into an array", bytes_, to_given_host_array)
    yield measure_curve("ufunc of two host arrays, all three counted", bytes_, host_ufunc_rate)


# ---- streams, threads, devices --------------------------------------------------------------------------
def small_kernel():
    from numbalite import cuda

    return cuda.jit(
        "__global__ void k(array<float> a, int n) { int i = grid<1>(); if (i < n) a[i] += 1; }"
    )


@register_figure(
    "streams",
    "Launches into several streams in turn, and the wait for all",
    "streams",
    "µs a launch",
)
def measure_stream_counts(floor):
    from numbalite import cuda

    kernel = small_kernel()

    launches = 3 if SMALL else 2048

    def make_round_robin(n):
        arrays = [cuda.to_device(np.zeros(32, np.float32)) for _ in range(n)]
        bound = [kernel[1, 32, cuda.stream()] for _ in range(n)]
        turns = max(1, launches // n)

        def launch_in_turn():
            for _ in range(turns):
                for launch, array in zip(bound, arrays):
                    launch(array, 32)
            cuda.synchronize()

        launch_in_turn()
        assert {float(a.copy_to_host()[5]) for a in arrays} == {turns}
        return launch_in_turn

    counts = [1 << k for k in range(9)]
    label, _, ys = curve_of_calls(
        "launch and its share of the wait", counts, make_round_robin, 1, 40
    )
    yield label, counts, [y / (max(1, launches // n) * n) for n, y in zip(counts, ys)]


def concurrent_call_time(count, make, calls, rounds=8):
    """Returns microseconds per call, over all calls, when `count` threads call concurrently: make()
    creates a separate callable for each. The result is the minimum of several rounds, without the first
    round. A round lasts from the start of the first thread to the end of the last one, measured by the
    threads' clocks, because the host is notified late."""
    rounds = 2 if SMALL else rounds
    gate = threading.Barrier(count)
    failures = []
    begins, ends = ([[0.0] * count for _ in range(rounds)] for _ in "12")

    def call_in_a_loop(me):
        try:
            call, finish = make()
            for number in range(rounds):
                gate.wait()
                begins[number][me] = time.perf_counter()
                for _ in range(calls):
                    call()
                finish()
                ends[number][me] = time.perf_counter()
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            failures.append(error)
            gate.abort()

    threads = [threading.Thread(target=call_in_a_loop, args=(me,)) for me in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    least = min(max(end) - min(begin) for begin, end in zip(begins[1:], ends[1:]))
    return least / calls / count * 1e6


def lock_text():
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)()
    return "with the interpreter's lock" if enabled else "free-threaded"


@register_figure(
    "threads", "Threads that call at once", "threads", "µs a call, over all threads", log_y=True
)
def measure_thread_counts(floor):
    from numbalite import cuda, vectorize

    kernel = small_kernel()

    @vectorize(["float32(float32, float32)"], target="cuda")
    def add(x, y):
        "x + y"

    add(np.ones(10, np.float32), np.ones(10, np.float32))

    def make_launcher():
        stream, array = cuda.stream(), cuda.to_device(np.zeros(32, np.float32))
        bound = kernel[1, 32, stream]
        return (lambda: bound(array, 32)), stream.synchronize

    def host_ufuncs():
        x = np.ones(10, np.float32)
        return (lambda: add(x, x)), (lambda: None)

    def make_copy():
        x = np.ones(1 << 18, np.float32)
        return (lambda: cuda.to_device(x)), cuda.synchronize

    counts = (1, 2, 4, 8, 16)
    lock = lock_text()
    yield measure_curve(
        f"launch, {lock}",
        counts,
        lambda n: concurrent_call_time(n, make_launcher, 5000 if not SMALL else 20),
    )
    yield measure_curve(
        "launch, in C",
        counts,
        lambda n: floor.threaded_launch_time(n, 5000),
    )
    yield measure_curve(
        f"ufunc on small host arrays, {lock}",
        counts,
        lambda n: concurrent_call_time(n, host_ufuncs, 500 if not SMALL else 5),
    )
    yield measure_curve(
        f"to_device of 1 MB, {lock}",
        counts,
        lambda n: concurrent_call_time(n, make_copy, 100 if not SMALL else 5),
    )


@register_figure("devices", "Several devices", "devices", "µs a call", base=None)
def measure_device_counts(floor):
    from numbalite import cuda

    counts = range(1, len(cuda.gpus) + 1)
    if len(counts) < 2:
        return
    kernel = small_kernel()

    def make_launches_in_turn(n):
        launchers = []
        for device in range(n):
            with cuda.gpus[device]:
                array = cuda.to_device(np.zeros(32, np.float32))
                stream = cuda.stream()
                launchers.append((device, kernel[1, 32, stream], array))

        def launch_on_devices():
            for _ in range(500):
                for device, launch, array in launchers:
                    with cuda.gpus[device]:
                        launch(array, 32)
            for device, _, _ in launchers:
                with cuda.gpus[device]:
                    cuda.synchronize()

        return median(launch_on_devices, rounds=5) / 500 / n

    def make_launches_by_threads(n):
        order = iter(range(n))

        def make_thread_launch():
            device = next(order)
            cuda.select_device(device)
            array, stream = cuda.to_device(np.zeros(32, np.float32)), cuda.stream()
            bound = kernel[1, 32, stream]
            return (lambda: bound(array, 32)), stream.synchronize

        return concurrent_call_time(n, make_thread_launch, 3000)

    yield measure_curve("launch, devices in turn, chosen by `with`", counts, make_launches_in_turn)
    yield measure_curve(
        f"launch, a thread for each device, {lock_text()}", counts, make_launches_by_threads
    )


# ---- running and drawing ---------------------------------------------------------------------------------
def measure_figures(wanted, path):
    from numbalite import cuda

    result = {}
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else device
    record = {
        "device": device,
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}, {lock_text()}",
        "figures": result,
    }
    with tempfile.TemporaryDirectory() as folder:
        floor = HardwareFloor(pathlib.Path(folder), {})
        for name, f in FIGURES.items():
            if wanted and name not in wanted:
                continue
            start = time.perf_counter()
            f["curves"] = []
            try:
                for label, xs, ys in f["measure"](floor):
                    f["curves"].append({"label": label, "x": list(xs), "y": ys})
                    print(
                        f"{name}: {label}: " + ", ".join(f"{x}: {y:.3g}" for x, y in zip(xs, ys)),
                        flush=True,
                    )
            except Exception as error:
                print(f"{name}: FAILED: {type(error).__name__}: {str(error)[:400]}", flush=True)
            print(f"  {time.perf_counter() - start:.1f} s", flush=True)
            result[name] = {k: v for k, v in f.items() if k != "measure"}
            cuda.synchronize()
            if path:
                pathlib.Path(path).write_text(json.dumps(record) + "\n")
    return record


def join_records(records):
    """Merges records into one; if several curves have the same label, the last one is used. For example,
    CPython with and without the GIL are two runs."""
    first, *others = records
    for record in others:
        for name, other in record["figures"].items():
            figure = first["figures"].setdefault(name, {**other, "curves": []})
            curves = {c["label"]: c for c in (*figure["curves"], *other["curves"])}
            figure["curves"] = list(curves.values())
    return first


def draw_figures(record, folder):
    """Draws one small SVG for each figure that has curves."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.fonttype": "none", "font.size": 9, "svg.hashsalt": "numbalite"}
    )
    from matplotlib import pyplot

    folder.mkdir(exist_ok=True)
    for name, f in record["figures"].items():
        if not f["curves"]:
            continue
        drawn, axes = pyplot.subplots(figsize=(5.2, 3.4))
        for c in f["curves"]:
            axes.plot(c["x"], c["y"], marker=".", label=c["label"], linewidth=1)
        if f["base"]:
            axes.set_xscale("log", base=f["base"])
        if f["log_y"]:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set(xlabel=f["x"], ylabel=f["y"], title=f["title"])
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
        drawn.tight_layout()
        drawn.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", help="write what was measured to this file")
    parser.add_argument("--only", help="figures, separated by commas")
    parser.add_argument(
        "--from",
        dest="sources",
        help="do not measure: take the curves of these files, separated by commas",
    )
    parser.add_argument("--plot", help="draw into this folder")
    options = parser.parse_args()
    if options.sources:
        records = [json.loads(pathlib.Path(p).read_text()) for p in options.sources.split(",")]
        record = join_records(records)
    else:
        import warnings

        warnings.simplefilter("ignore")
        record = measure_figures(
            set(options.only.split(",")) if options.only else set(), options.json
        )
    if options.plot:
        draw_figures(record, pathlib.Path(options.plot))


if __name__ == "__main__":
    main()
