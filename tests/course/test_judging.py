"""The judge of exercises: wrong answers fail with the smallest case, and only right ones pass."""

import functools
import json
import pathlib
import re
import runpy
import signal
import threading
import time
import warnings

import numpy as np
import pytest

from numbalite import cuda, errors, guvectorize, vectorize
from numbalite.course import Assessment, exercises, judge
from numbalite.course.assessment import EXERCISES
from numbalite.course.catalogue import find_exercise
from numbalite.judge.guarded import is_unwritten, unwritten

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "notebooks"

# The judge's own solutions, with which learners' answers are compared, pass.


@pytest.mark.parametrize("name", exercises())
def test_reference_solutions_pass(name):
    verdict = judge(name, find_exercise(name).reference())
    assert verdict.passed, str(verdict)
    assert (verdict and verdict.ratio is None) or verdict.ratio > 0


# ---- what is no answer --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", exercises())
def test_missing_answers_fail_every_exercise(name):
    for solution in ..., None, NotImplemented, 3, "text":
        verdict = judge(name, solution)
        assert not verdict.passed
        assert "fill in the cell" in verdict.reason or "This exercise requires" in verdict.reason
        assert "this is a int" not in verdict.reason


@pytest.mark.parametrize("body", ["...", "// your code", "/* several\n lines */ ;"])
def test_empty_kernel_counts_as_no_answer(body):
    names = {"cuda": cuda}
    exec(f"@cuda.jit\ndef vadd(a, b, out):\n    {body!r}\n", names)
    assert judge("vadd", names["vadd"]).reason == "There is no answer yet: fill in the cell."


@pytest.mark.parametrize("result", [None, ..., NotImplementedError])
def test_empty_function_counts_as_no_answer(result):
    def hidden_layer(greyscales, weights):
        if result is NotImplementedError:
            raise NotImplementedError
        return result

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict and "fill in the cell" in verdict.reason


def test_unknown_exercise_raises_with_suggestions():
    with pytest.raises(KeyError, match="no exercise is called 'vad'; there are zero_suppress, "):
        judge("vad", None)


def test_function_instead_of_a_kernel_fails():
    verdict = judge("vadd", lambda a, b, out: None)
    assert verdict.reason == (
        "This exercise requires a kernel, a function with the decorator @cuda.jit; this is a function."
    )


# ---- wrong answers --------------------------------------------------------------------------------------


def test_verdict_reports_the_smallest_failing_size():
    """The answer is right up to 32 elements, one warp: the smallest size that fails is 33, found
    between 32 and 64."""

    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size() && threadIdx.x < 40) out[i] = a[i] + b[i];
        """

    verdict = judge("vadd", vadd)
    assert not verdict
    assert verdict.reason.startswith("With 41 elements, 1 element is wrong in out.")
    assert "out[40], got" in verdict.case and "(nothing was written there)" in verdict.case
    a, b, expected = (
        float(
            next(line for line in verdict.case.split("\n") if line.startswith(start)).split("=")[1]
        )
        for start in ("a[40]", "b[40]", "out[40], expected")
    )
    assert a + b == pytest.approx(expected, rel=1e-5)


def test_kernel_without_bounds_check_fails():
    @cuda.jit
    def vadd(a, b, out):
        "int i = grid<1>(); out[i] = a[i] + b[i];"

    verdict = judge("vadd", vadd)
    assert not verdict
    assert "With 1 element, something is written into out behind its end" in verdict.reason


@pytest.mark.parametrize("body", ["NAN", "out[i] + a[i]", "(a[i] - a[i]) / (b[i] - b[i])"])
def test_computed_nan_is_not_reported_as_unwritten(body):
    """The message does not mention the unwritten output."""
    names = {"cuda": cuda}
    exec(
        f"@cuda.jit\ndef vadd(a, b, out):\n    'int i = grid<1>(); if (i < out.size()) out[i] = {body};'\n",
        names,
    )
    verdict = judge("vadd", names["vadd"])
    assert not verdict and "= nan" in verdict.case and "nothing was written" not in verdict.case


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "u8", "?"])
def test_unwritten_elements_are_reported(dtype):
    array = unwritten((2, 3), dtype)
    assert is_unwritten(array) == is_unwritten(array[0, 1]) == (dtype != "?")
    array[0, 0] = np.nan if array.dtype.kind in "fc" else 0
    assert not is_unwritten(array) and not is_unwritten(array[0, 0])


def test_kernel_that_omits_the_last_element_fails():
    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size() - 1) out[i] = a[i] + b[i];
        """

    verdict = judge("vadd", vadd)
    assert not verdict and verdict.reason == "With 1 element, out is wrong."


def test_kernel_without_a_grid_stride_loop_fails():
    @cuda.jit
    def saxpy(alpha, x, y):
        """
        int i = grid<1>();
        if (i < y.size()) y[i] = alpha * x[i] + y[i];
        """

    verdict = judge("saxpy", saxpy)
    assert not verdict and verdict.reason.startswith("With 65 elements, 1 element is wrong in y.")


def test_swapped_rows_and_columns_fail():
    @cuda.jit
    def increment_2d(image):
        """
        auto [column, row] = grid<2>();
        if (row < image.shape[1] && column < image.shape[0]) image(row, column) += 1;
        """

    verdict = judge("increment_2d", increment_2d)
    assert not verdict and "row" in verdict.reason


def test_changed_input_fails():
    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size()) { a[i] += b[i]; out[i] = a[i]; }
        """

    verdict = judge("vadd", vadd)
    assert not verdict and "the input a is changed" in verdict.reason


def test_result_with_another_dtype_fails():
    @vectorize(target="cuda")
    def zero_suppress(sample, threshold):
        "return sample < threshold ? 0.0 : double(sample);"

    verdict = judge("zero_suppress", zero_suppress)
    assert not verdict and "the result is float64; it should be int16" in verdict.reason


def test_result_with_another_shape_fails():
    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
    def first_element(vector, length):
        "length[0] = vector[0];"

    verdict = judge("normalized", first_element)
    assert not verdict and "has the shape (1,); it should be (1, 3)" in verdict.reason


@pytest.mark.sim
def test_a_race_with_right_results_fails():
    """The sums are right if the threads happen to run in a good order; cuda.checks detects the
    race."""

    @cuda.jit
    def block_sums(values, sums):
        """
        __shared__ float part[128];
        int t = threadIdx.x;
        part[t] = values[grid<1>()];
        __syncthreads();
        for (int half = 64; half > 0; half /= 2)
            if (t < half) part[t] += part[t + half];
        if (t == 0) sums[blockIdx.x] = part[0];
        """

    verdict = judge("block_sums", block_sums)
    assert not verdict
    assert "wrong" in verdict.reason or "cuda.checks" in verdict.reason


def test_the_race_of_the_exercise_is_reported():
    """The results are wrong, and the message contains the reason: the writing thread, the reading thread, and
    the missing barrier."""
    (given,) = (
        cell["source"]
        for cell in json.loads((NOTEBOOKS / "2_kernels" / "exercises.ipynb").read_text())["cells"]
        if cell["id"] == "block_sums-exercise"
    )
    names = {"cuda": cuda}
    exec("".join(given), names)
    verdict = judge("block_sums", names["block_sums"])
    assert not verdict
    assert "wrong" in verdict.reason and "sums[0], got" in verdict.case, str(verdict)
    assert "cuda.checks finds a mistake, with 2 blocks of 128 values:" in verdict.case
    assert re.search(r"writes part\[.* no barrier between", verdict.case, re.S)


@pytest.mark.sim
def test_a_race_is_found_on_a_machine_with_a_gpu(monkeypatch):
    """With a GPU, the simulator checks the kernel in another process."""
    from numbalite.course import device

    @cuda.jit
    def increment_2d(image):
        """
        auto [column, row] = grid<2>();
        if (row < image.shape[0] && column < image.shape[1]) image(row, column) += 1;
        __shared__ int last;
        last = column;
        """

    monkeypatch.setattr(device, "simulated", lambda: False)
    verdict = judge("increment_2d", increment_2d, speed=False)
    assert not verdict and "cuda.checks" in verdict.case and "last" in verdict.case
    verdict = judge("increment_2d", find_exercise("increment_2d").reference(), speed=False)
    assert verdict and any("on the simulator, finds no race" in note for note in verdict.notes)


def test_histogram_without_atomics_fails():
    @cuda.jit
    def histogram(values, counts):
        """
        int i = grid<1>();
        if (i < values.size() && values[i] >= 0 && values[i] < counts.size()) counts[values[i]] += 1;
        """

    verdict = judge("histogram", histogram)
    assert not verdict


def test_equal_random_numbers_fail():
    @cuda.jit
    def monte_carlo_pi(states, trials, hits):
        """
        int i = grid<1>();
        if (i < hits.size()) hits[i] = trials * 3.14159265f / 4;
        """

    verdict = judge("monte_carlo_pi", monte_carlo_pi)
    assert not verdict and "too much alike" in verdict.reason


def test_wrong_distribution_fails():
    @cuda.jit
    def monte_carlo_pi(states, trials, hits):
        """
        int i = grid<1>();
        if (i >= hits.size()) return;
        hits[i] = 0;
        for (int k = 0; k < trials; ++k) hits[i] += xoroshiro128p_uniform_float32(states, i) < 0.7f;
        """

    verdict = judge("monte_carlo_pi", monte_carlo_pi)
    assert not verdict and "chance alone" in verdict.reason


# ---- exceptions -----------------------------------------------------------------------------------------


def test_exceptions_are_reported_with_their_line():
    def hidden_layer(greyscales, weights):
        return greyscales.no_such_attribute  # here

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict
    assert verdict.reason == "It raises AttributeError:"
    assert "no_such_attribute" in verdict.case
    assert "test_judging.py, line " in verdict.case and "# here" in verdict.case


def test_compile_errors_are_reported_with_their_line():
    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        out[i] = a[i] + c[i];
        """

    verdict = judge("vadd", vadd)
    assert not verdict and verdict.reason == "It does not compile:"
    assert "test_judging.py" in verdict.case and "c" in verdict.case


def test_a_warning_about_a_line_is_part_of_the_verdict():
    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size());
            out[i] = a[i] + b[i];
        """

    verdict = judge("vadd", vadd)
    assert not verdict
    (warning,) = verdict.warnings
    assert "test_judging.py, line" in warning and "the ; ends the if" in warning
    assert "if (i < out.size());" in warning and warning.split("\n")[0] in str(verdict)
    assert "the ; ends the if" in verdict._repr_html_()


def test_a_warning_about_a_right_answer_does_not_fail_it():
    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size()) {
            out[i] == 1;
            out[i] = a[i] + b[i];
        }
        """

    verdict = judge("vadd", vadd, speed=False)
    assert verdict.passed and "compares and drops the result" in str(verdict)


@cuda.jit
def _multiply_by_half(greyscales, weights, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = greyscales[i] * weights[i] * (1/2);
    """


def test_verdict_repeats_warnings_of_compiled_kernels():
    def hidden_layer(greyscales, weights):
        out = cuda.device_array_like(greyscales)
        _multiply_by_half.forall(out.size)(greyscales, weights, out)
        return out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hidden_layer(*[np.ones(3, np.float32)] * 2)
    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict and "write 1.0f/2" in "".join(verdict.warnings)


def test_wrong_number_of_parameters_fails():
    @cuda.jit
    def vadd(a, out):
        "out[0] = a[0];"

    verdict = judge("vadd", vadd)
    assert not verdict and verdict.reason == "It raises TypeError:"
    assert not judge("bank_conflicts", lambda: 3)


@pytest.mark.sim
def test_kernel_error_fails_with_its_message():
    @cuda.jit(debug=True)
    def vadd(a, b, out):
        "int i = grid<1>(); out[i] = a[i] + b[i];"

    verdict = judge("vadd", vadd)
    assert not verdict and verdict.reason == "The kernel makes a mistake:"
    # One of the threads past the end is reported; which one is unspecified.
    assert re.search(r"thread \(\d+, 0, 0\)", verdict.case) and "out of bounds" in verdict.case


@pytest.mark.sim
def test_endless_kernel_fails(monkeypatch):
    """The kernel is stopped, and the judge continues."""
    from numbalite.course import timeouts

    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        while (i < out.size()) out[i] = a[i] + b[i];
        """

    monkeypatch.setattr(timeouts, "LIMIT", 0.5)
    start = time.perf_counter()
    verdict = judge("vadd", vadd)
    assert verdict.reason == "It never ends: look at the condition of each loop."
    assert "not done after 0.5 s" in verdict.case and "vadd" in verdict.case
    assert time.perf_counter() - start < 20
    monkeypatch.undo()
    assert judge("vadd", find_exercise("vadd").reference(), speed=False)


def test_abandoned_answer_is_stopped(monkeypatch):
    """Simulates a GPU on which the kernel does not stop."""
    from numbalite.course import timeouts
    from numbalite.course.mistakes import Failed

    given_up, done = [], threading.Event()
    monkeypatch.setattr(timeouts, "LIMIT", 0.1)
    monkeypatch.setattr(timeouts, "GRACE", 0.1)
    monkeypatch.setattr("numbalite._core.give_up", lambda: given_up.append(1))
    with pytest.raises(Failed, match="It never ends.* restart the notebook's kernel"):
        timeouts.run_in_thread(lambda: done.wait(60))
    done.set()
    monkeypatch.setattr(timeouts, "LIMIT", 60)
    assert given_up == [1] and timeouts.run_in_thread(lambda: 5) == 5
    with pytest.raises(KeyError):
        timeouts.run_in_thread(lambda: {}["x"])


def test_a_limit_stops_a_kernel_and_the_thread_ends(monkeypatch):
    """After the kernel was stopped, the device is idle, and the verdict names the kernel, as on a
    GPU."""
    from numbalite.course import mistakes, timeouts

    waits = cuda.jit(
        "__global__ void waits(volatile int *x) { while (x[0] == 0) { } x[1] = 7; }", stoppable=True
    )
    x = cuda.to_device(np.zeros(2, np.int32))
    monkeypatch.setattr(timeouts, "LIMIT", 0.5)
    begin = time.perf_counter()
    with pytest.raises(errors.KernelTimeout) as raised:
        timeouts.run_in_thread(lambda: waits[2, 32](x))
    assert time.perf_counter() - begin < 0.5 + timeouts.GRACE
    failed = mistakes.exception_message(raised.value)
    assert failed.reason == mistakes.ENDLESS and "waits" in failed.case
    waits[1, 1](cuda.to_device(np.ones(2, np.int32)))
    cuda.synchronize()


def test_a_kernel_that_cannot_be_stopped_is_reported(monkeypatch):
    from numbalite.course import timeouts

    def raise_timeout():
        raise errors.KernelTimeout("the time limit has passed: the kernel runs on, because ...")

    with pytest.raises(timeouts.Failed, match="It never ends.* restart the notebook's kernel"):
        timeouts.run_in_thread(raise_timeout)


def test_endless_python_loop_fails(monkeypatch):
    from numbalite.course import timeouts

    def loop_forever(stride):
        while True:
            pass

    for limit in ("CALL_LIMIT", "LIMIT"):  # on the simulator; on a GPU
        monkeypatch.setattr(timeouts, limit, 0.3)
    with pytest.raises(
        timeouts.Failed, match=r"It never ends: .*\(It was not done.*seconds.\)$"
    ) as failed:
        timeouts.run_in_thread(lambda: loop_forever(2))
    assert "while True" in failed.value.case or "pass" in failed.value.case
    handler = signal.getsignal(signal.SIGALRM)
    verdict = judge("bank_conflicts", loop_forever)
    assert (
        verdict.reason
        == "It never ends: look at the condition of each loop. (It was not done after 0.3 seconds.)"
    )
    assert "test_judging.py, line" in verdict.case
    assert signal.getsignal(signal.SIGALRM) is handler and signal.getitimer(signal.ITIMER_REAL) == (
        0,
        0,
    )


def test_keyboard_interrupt_is_not_caught():
    def raise_interrupt(stride):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge("bank_conflicts", raise_interrupt)


# ---- work in the wrong place ------------------------------------------------------------------------------


def _make_layer_ufuncs():
    @vectorize(target="cuda")
    def scale(x, w):
        "x / 255.0f * w"

    @vectorize(target="cuda")
    def activate(x):
        "tanhf(x)"

    return scale, activate


def _tanh_on_host(greyscales, weights):
    return np.tanh(greyscales / np.float32(255) * weights)


def _tanh_on_host_without_subclass(greyscales, weights):
    return _tanh_on_host(np.asarray(greyscales), np.asarray(weights))


def test_numpy_instead_of_the_gpu_fails():
    verdict = judge("hidden_layer", _tanh_on_host)
    assert not verdict and verdict.reason.startswith(
        "This line computes on the CPU (NumPy's divide)"
    )
    assert "return np.tanh" in verdict.case
    assert not judge("hidden_layer", _tanh_on_host_without_subclass)


def test_numpy_on_copied_results_fails():
    scale, _ = _make_layer_ufuncs()

    def scale_then_numpy_tanh(greyscales, weights):
        x = scale(cuda.to_device(greyscales), cuda.to_device(weights)).copy_to_host()
        return np.tanh(x)

    def from_host_arrays(greyscales, weights):
        return np.tanh(scale(greyscales, weights))

    for solution in (scale_then_numpy_tanh, from_host_arrays):
        verdict = judge("hidden_layer", solution)
        assert not verdict and "NumPy's tanh" in verdict.reason


def test_intermediate_copies_are_reported():
    scale, activate = _make_layer_ufuncs()

    def hidden_layer(greyscales, weights):
        return activate(scale(greyscales, weights))

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict
    assert verdict.reason == "It copies 2.4 MB to the device; 1.6 MB are enough."
    assert verdict.work.launches == 2 and verdict.work.bytes_out == 1_600_000


@pytest.mark.parametrize("name", ["hidden_layer", "noisy_pulses"])
def test_device_array_instead_of_a_numpy_array_fails(name):
    reference = find_exercise(name).reference()
    verdict = judge(name, lambda *arguments: cuda.to_device(reference(*arguments)))
    assert verdict.reason == (
        "The answer returns a device array: copy the result to a NumPy array with copy_to_host()."
    )


def test_unnecessary_copies_of_device_arrays_fail():
    """The results are right and are computed on the GPU, but the heights are copied to the host and
    back."""

    def spectrum_of_host_copy(heights, width, bins):
        return find_exercise("spectrum").reference()(
            cuda.to_device(heights.copy_to_host()), width, bins
        )

    verdict = judge("spectrum", spectrum_of_host_copy)
    assert not verdict
    assert (
        verdict.reason == "It copies 80 kB to the device; the arguments are on the device already."
    )
    assert verdict.work.bytes_out == 80_000


def test_host_arrays_may_be_passed_to_ufuncs():
    @vectorize(target="cuda")
    def layer_ufunc(greyscales, weights):
        "tanhf(greyscales / 255.0f * weights)"

    verdict = judge(
        "hidden_layer", lambda greyscales, weights: layer_ufunc(greyscales, weights), speed=False
    )
    assert verdict, str(verdict)
    assert verdict.work == (1, 1_600_000, 800_000)


def test_ufunc_for_the_cpu_fails():
    @vectorize(["float32(float32)"])
    def magnitude(counts):
        "-2.5f * log10f(counts / 2500.0f)"

    verdict = judge("magnitude", magnitude)
    assert not verdict and 'add target="cuda"' in verdict.reason


def test_uninitialized_shared_tile_fails():
    @cuda.jit
    def rotate(a, out):
        """
        auto [column, row] = grid<2>();
        int rows = a.shape[0];
        if (row < rows && column < a.shape[1]) out(column, rows - 1 - row) = a(row, column);
        """

    verdict = judge("rotate", rotate)
    assert not verdict and "a block uses 0 bytes of shared memory" in verdict.reason


# ---- answers that are remembered ----------------------------------------------------------------------


def _solution_with_cached_results(key):
    scale, activate = _make_layer_ufuncs()
    known = {}

    def hidden_layer(greyscales, weights):
        k = key(greyscales)
        if k not in known:
            x = scale(cuda.to_device(greyscales), cuda.to_device(weights))
            known[k] = activate(x).copy_to_host()
        return known[k]

    return hidden_layer


@pytest.mark.parametrize("key", [id, lambda x: x.ctypes.data])
def test_cached_result_of_an_earlier_call_fails(key):
    verdict = judge("hidden_layer", _solution_with_cached_results(key))
    assert not verdict and "a second one, on the same arrays with other data" in verdict.reason


def _solution_right_by_chance():
    """The answer is right for vectors whose first value is below one half."""

    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size() && a[0] < 0.5f) out[i] = a[i] + b[i];
        else if (i < out.size()) out[i] = a[i];
        """

    return vadd


def test_result_that_is_right_by_chance_fails():
    """New arrays with the same data have the same wrong result, because the judge does not cache results."""
    for solution in [_solution_right_by_chance() for _ in range(6)]:
        verdict = judge("vadd", solution)
        assert not verdict and "wrong" in verdict.reason and "second" not in verdict.reason
    verdict = judge("hidden_layer", _solution_with_cached_results(lambda x: x.shape))
    assert verdict.reason == "With 1 neuron, the result is wrong."


def test_a_wrong_reference_is_reported_instead_of_the_answer(monkeypatch):
    class WrongReference(Assessment):
        name, wants, parameters, large, checked = "twice", "function", ("x",), None, ()

        def make(self, rng, n):
            return (rng.random(n, np.float32),)

        def expected(self, x):
            return 2 * x

        def reference(self):
            return lambda x: (x + x).copy_to_host()

    class RightReference(WrongReference):
        name = "thrice"

        def reference(self):
            return lambda x: x + x

    for kind in WrongReference, RightReference:
        monkeypatch.setitem(EXERCISES, kind.name, kind)
    reason = judge("twice", lambda x: 3 * x).reason
    assert reason.startswith("The exercise's own reference fails, so no answer can pass. It copies")
    assert judge("twice", lambda x: x + x)
    assert judge("thrice", lambda x: 4 * x).reason == "With 1 element, the result is wrong."


@pytest.mark.sim
def test_a_race_is_described():
    """The report names the threads, the element and the missing synchronization."""

    @cuda.jit
    def vadd(a, b, out):
        """
        int i = grid<1>();
        if (i < out.size()) out[i] = a[i] + b[i];
        __shared__ int last;
        last = threadIdx.x;
        """

    verdict = judge("vadd", vadd, speed=False)
    assert verdict.reason.startswith("The kernel has a race: two threads access last, and nothing")
    assert re.search(
        r"thread \(\d+, 0, 0\) of block \(0, 0, 0\) writes it in line \d+: last = thr", verdict.case
    )
    assert "use an atomic operation" in verdict.case


# ---- speed -------------------------------------------------------------------------------------------


def test_slow_solution_fails(monkeypatch):
    """The limit is so high that a busy machine does not reach it."""
    monkeypatch.setattr(type(find_exercise("hidden_layer")), "simulated_limit", 1.2)
    scale, activate = _make_layer_ufuncs()

    def hidden_layer(greyscales, weights):
        if greyscales.size > 10_000:
            time.sleep(0.3 if cuda.is_simulated() else 0.5)
        return activate(scale(cuda.to_device(greyscales), cuda.to_device(weights))).copy_to_host()

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict and verdict.reason.startswith("Right, but too slow: ")
    assert verdict.ratio > 1.2 and verdict.seconds > 0.3
    assert find_exercise("hidden_layer").hint in verdict.reason


def test_large_inputs_are_checked():
    scale, activate = _make_layer_ufuncs()

    def hidden_layer(greyscales, weights):
        x = activate(scale(cuda.to_device(greyscales), cuda.to_device(weights))).copy_to_host()
        if x.size in find_exercise("hidden_layer").large:
            x[-1] += 1
        return x

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict and "1 element is wrong in the result" in verdict.reason
    assert judge("hidden_layer", hidden_layer, speed=False)


@pytest.mark.sim
def test_simulated_times_are_labelled():
    verdict = judge("vadd", find_exercise("vadd").reference())
    assert verdict.simulated
    assert any("times of a CPU, not of a GPU" in note for note in verdict.notes)


# ---- answers with Python bodies ---------------------------------------------------------------------------
IN_PYTHON = NOTEBOOKS / "solutions" / "python"


@functools.cache
def python_solutions(section):
    (path,) = IN_PYTHON.glob(f"{section}_*.py")
    return runpy.run_path(str(path))


@pytest.mark.parametrize("name", [name for name, kind in exercises().items() if kind.section])
def test_answers_with_python_bodies_pass(name):
    """Each exercise may be solved in Python or in CUDA C++."""
    verdict = judge(name, python_solutions(find_exercise(name).section)[name], speed=False)
    assert verdict.passed, str(verdict)


def test_empty_and_wrong_python_bodies_fail():
    @cuda.jit
    def empty_body(a, b, out):
        pass

    @cuda.jit
    def dots(a, b, out): ...

    @cuda.jit
    def docstring_body(a, b, out):
        """A sentence about the kernel."""
        # your code

    @cuda.jit
    def add_without_bounds_check(a, b, out):
        i = cuda.grid(1)
        out[i] = a[i] + b[i]

    @cuda.jit
    def unsupported_body(a, b, out):
        out[:] = np.add(a, b)

    for kernel in (empty_body, dots):
        assert judge("vadd", kernel).reason == "There is no answer yet: fill in the cell."
    assert not judge("vadd", docstring_body).passed
    assert "guard the edges" in str(judge("vadd", add_without_bounds_check))
    verdict = str(judge("vadd", unsupported_body))
    assert "does not compile" in verdict and "out[:] = np.add(a, b)" in verdict, verdict


# ---- which line copies ---------------------------------------------------------------------------------


def _make_layer_ufunc():
    @cuda.jit("void(const float32[:], const float32[:], float32[:])")
    def layer_kernel(greyscales, weights, out):
        """
        int i = grid<1>();
        if (i < out.size()) out[i] = tanhf(greyscales[i] / 255.0f * weights[i]);
        """

    return layer_kernel


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.empty_like(x),
        lambda x: np.empty(x.shape, x.dtype),
        np.zeros_like,
        lambda x: x * 0,
    ],
    ids=["empty_like", "empty", "zeros_like", "product"],
)
def test_unnecessary_copy_of_an_output_is_reported(make, request):
    """Reads of uninitialized numpy.empty arrays are not counted; other reads are counted, and the
    verdict shows their line."""
    layer = _make_layer_ufunc()

    def hidden_layer(greyscales, weights):
        out = make(np.ones(greyscales.size, np.float32))
        layer[(out.size + 255) // 256, 256](greyscales, weights, out)
        return out

    verdict = judge("hidden_layer", hidden_layer, speed=False)
    if "empty" in request.node.callspec.id:
        assert verdict, str(verdict)
        return
    assert verdict.reason == "It copies 2.4 MB to the device; 1.6 MB are enough."
    assert re.search(r"line \d+: layer\[.*\n +copies 2.4 MB to the device", verdict.case)
    assert "out was copied to the device too" in verdict.case and "cuda.Out(out)" in verdict.case
    assert "greyscales was" not in verdict.case


def test_repeated_input_copies_are_reported_with_lines():
    scale, activate = _make_layer_ufuncs()

    def hidden_layer(greyscales, weights):
        scale(greyscales, weights)
        x = scale(cuda.to_device(greyscales), cuda.to_device(weights))
        return activate(x).copy_to_host()

    verdict = judge("hidden_layer", hidden_layer, speed=False)
    assert "greyscales is copied in 2 lines: copy it once" in verdict.case, str(verdict)


def test_copies_to_the_host_are_reported_with_lines():
    @cuda.jit
    def layer_kernel(greyscales, weights, out):
        """
        int i = grid<1>();
        if (i < out.size()) out[i] = tanhf(greyscales[i] / 255.0f * weights[i]);
        """

    def hidden_layer(greyscales, weights):
        out = np.empty_like(greyscales)
        layer_kernel[(out.size + 255) // 256, 256](greyscales, weights, out)
        return out

    verdict = judge("hidden_layer", hidden_layer, speed=False)
    assert verdict.reason == "It copies 2.4 MB from the device to the host; 800 kB are enough."
    assert "copies 2.4 MB to the host" in verdict.case and "cuda.In(weights)" in verdict.case
