"""Tests %gpu_timeit, and the result that it returns."""

import pytest
from IPython.core.error import UsageError

from numbalite.jupyter.timing import GpuTiming, duration_text, rate_text

# These tests pass host arrays to kernels for convenience.

KERNEL = "@cuda.jit('void(float32[:])')\ndef add_one(x):\n    'int i = grid<1>(); if (i < x.size()) x[i] += 1;'"


@pytest.fixture
def time_line(run_cell):
    """Returns time_line(line), which returns the result of %gpu_timeit; the notebook has a kernel and a
    device array."""
    run_cell(KERNEL)
    run_cell("d = cuda.to_device(np.zeros(64, 'f4'))")
    return run_cell


def test_gpu_timeit_returns_times_and_bandwidth(time_line, capsys):
    result = time_line("r = %gpu_timeit -o -n 5 -r 3 -b 2*d.nbytes add_one[1, 64](d)\nr")
    assert (result.loops, len(result.times), result.launches, result.bytes) == (5, 3, 1, 512)
    assert result.best <= result.median <= result.worst
    assert result.bandwidth == pytest.approx(512 / result.median)
    shown = capsys.readouterr().out
    assert "in 3 runs of 5 loops, 1 launch per loop), " in shown and "B/s" in shown
    # two runs to warm up and to count, then 3 x 5 timed runs
    assert time_line("d.copy_to_host()[0]") == 17


def test_gpu_timeit_chooses_the_number_of_loops(time_line):
    result = time_line("%gpu_timeit -o -q -r 2 add_one[1, 64](d)")
    assert result.loops > 10
    assert result.loops * result.worst > 0.01


def test_gpu_timeit_cell_runs_its_setup_once(time_line, capsys):
    time_line("%%gpu_timeit -n 2 -r 1 e = d.copy()\nadd_one[1, 64](e)\nadd_one[1, 64](e)")
    assert "1 run of 2 loops, 2 launches per loop" in capsys.readouterr().out
    assert time_line("d.copy_to_host()[0]") == 0


def test_gpu_timeit_times_the_given_stream(time_line):
    time_line("s = cuda.stream()")
    assert time_line("%gpu_timeit -o -q -n 2 -r 1 -s s add_one[1, 64, s](d)").launches == 1


@pytest.mark.sim
def test_times_of_the_simulator_are_labelled(time_line, capsys):
    result = time_line("%gpu_timeit -o -n 1 -r 1 add_one[1, 64](d)")
    assert result.simulated
    assert "simulated: this is the time of a CPU" in capsys.readouterr().out


@pytest.mark.gpu
def test_gpu_timeit_uses_events_on_a_gpu(time_line, capsys):
    result = time_line("%gpu_timeit -o add_one[1, 64](d)")
    assert not result.simulated and 1e-7 < result.median < 1e-3
    assert "simulated" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "write a statement"),
        ("-n 0 add_one", "-n 0: the value must be an integer"),
        ("-r x d", "-r x: the value must be"),
    ],
)
def test_gpu_timeit_rejects_invalid_options(time_line, line, message):
    with pytest.raises(UsageError, match=message):
        time_line(f"%gpu_timeit {line}")


def test_errors_of_the_timed_statement_propagate(time_line):
    with pytest.raises(ZeroDivisionError):
        time_line("%gpu_timeit 1 / 0")


def test_counting_launches_leaves_the_driver_as_it_was(time_line):
    """The counting trace is removed: later calls are not slower."""
    from numbalite import _core

    time_line("%gpu_timeit -q -n 1 -r 1 add_one[1, 64](d)")
    assert _core.traced()
    before = len(_core.traced())
    time_line("add_one[1, 64](d)")
    assert len(_core.traced()) == before


def test_durations_and_rates_are_formatted():
    assert [duration_text(t) for t in (0, 1.5e-9, 2.34567e-6, 0.0123, 1.0, 75.0, 4000)] == [
        "0 ns", "1.5 ns", "2.35 µs", "12.3 ms", "1 s", "75 s", "4000 s",
    ]  # fmt: skip
    assert [rate_text(r) for r in (3.21e12, 4.5e9, 1.2e6, 999, 0.5)] == [
        "3.21 TB/s", "4.5 GB/s", "1.2 MB/s", "999 B/s", "0.5 B/s",
    ]  # fmt: skip
    bound = GpuTiming([2e-6], 3e-6, 10, 1)
    assert bound.is_host_bound and "the GPU waits for the host, which needs 3 µs" in str(bound)
    assert not GpuTiming([2e-6], 3e-6, 10, 1, simulated=True).is_host_bound


def test_the_result_mentions_stoppable_kernels():
    assert "STOPPABLE = False" in str(GpuTiming([2e-6], 1e-6, 10, 1, stoppable=True))
    for other in (
        GpuTiming([2e-6], 1e-6, 10, 1),
        GpuTiming([2e-6], 1e-6, 10, 0, stoppable=True),
        GpuTiming([2e-6], 3e-6, 10, 1, stoppable=True),
    ):
        assert "STOPPABLE" not in str(other)
