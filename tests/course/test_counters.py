"""Exercises with limits for counters: an answer with right results but inefficient memory accesses
does not pass."""

import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.course import counters, judge
from numbalite.course.arguments import Arguments
from numbalite.course.catalogue import find_exercise
from numbalite.course.checked import run_in_other_process
from numbalite.course.referee import Referee
from numbalite.judge.verdict import Failed

pytestmark = pytest.mark.sim


def _make_rotate_kernel(width, by_rows):
    """Returns a kernel that rotates a matrix through a shared tile of ``width`` columns; it writes along the rows
    or the columns of the result."""

    @cuda.jit
    def rotate_kernel(a, out):
        """
        __shared__ float tile[32][width];
        auto [column, row] = grid<2>();
        int x = threadIdx.x, y = threadIdx.y, rows = a.shape[0], columns = a.shape[1];
        if (row < rows && column < columns) tile[y][x] = a(row, column);
        __syncthreads();
        int r = blockIdx.y * 32 + x, c = blockIdx.x * 32 + y;
        if (by_rows && r < rows && c < columns) out(c, rows - 1 - r) = tile[x][y];
        if (!by_rows && row < rows && column < columns) out(column, rows - 1 - row) = tile[y][x];
        """

    return rotate_kernel


def test_uncoalesced_stores_exceed_the_sector_limit():
    verdict = judge("rotate", _make_rotate_kernel(33, False), speed=False)
    assert not verdict and verdict.reason == (
        "The results are right, but a store of a warp touches 25 sectors of 32 bytes, with 100 rows of 75; "
        "at most 6.5 passes."
    )
    place, counter, hint = verdict.case.split("\n")
    assert re.match(r"test_counters.py, line \d+: if \(!by_rows", place)
    assert counter == "    store_sectors_per_request of this line: 25"
    assert hint.startswith("Let neighbouring threads")


def _exceeded_limit(name, solution):
    """Returns the `Failed` verdict of an answer whose results are right but which exceeds a
    limit."""
    exercise = find_exercise(name)
    arguments = Arguments(exercise, Referee(exercise).draw(exercise.counted).data, 0)
    counted = counters.count_accesses(lambda: exercise.call(solution, *arguments.passed))
    with pytest.raises(Failed) as failed:
        counters.check_limits(exercise.limits, counted, "this size")
    return failed.value


def test_bank_conflicts_exceed_the_limit():
    failed = _exceeded_limit("rotate", _make_rotate_kernel(32, True))
    assert (
        "bank conflicts add 7,200 passes over the shared memory, with this size; at most 0"
        in failed.reason
    )
    assert "if (by_rows" in failed.case and "bank_conflicts of this line: 7,200\n" in failed.case
    assert "Add a column to the tile" in failed.case


def test_correct_answers_stay_within_counter_limits():
    verdict = judge("rotate", _make_rotate_kernel(33, True), speed=False)
    assert verdict, verdict
    (note,) = (note for note in verdict.notes if note.startswith("counted with 100 rows of 75: "))
    assert "load_sectors_per_request 4 (at most 6.5)" in note
    assert "bank_conflicts 0 (at most 0)" in note


def test_idle_lanes_exceed_the_limit():
    @cuda.jit
    def dot(x, y, out):
        """
        __shared__ float part[256];
        int t = threadIdx.x;
        float sum = 0;
        for (int i = grid<1>(); i < x.size(); i += gridsize<1>()) sum += x[i] * y[i];
        part[t] = sum;
        for (int width = 1; width < 256; width *= 2) {
            __syncthreads();
            if (t % (2 * width) == 0) part[t] += part[t + width];
        }
        if (t == 0) atomicAdd(&out[0], part[0]);
        """

    failed = _exceeded_limit("dot", dot)
    reason = (
        r"but [\d.]+ of the 32 threads of a warp take part in an access, .*; at least 16 passes.$"
    )
    assert re.search(reason, failed.reason)
    assert "part[t] += part[t + width]" in failed.case and "active_lanes of this" in failed.case


def test_launches_of_a_function_exceed_a_counter_limit():
    @cuda.jit
    def wave_step(before, now, after):
        """
        auto [row, column] = grid<2>();
        int rows = now.shape[0], columns = now.shape[1];
        if (row >= rows || column >= columns) return;
        auto at = [&](int r, int c) { return r >= 0 && r < rows && c >= 0 && c < columns ? now(r, c) : 0; };
        float around = at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1);
        after(row, column) = 2 * now(row, column) - before(row, column) + 0.2f * (around - 4 * now(row, column));
        """

    def simulate_wave(before, now, steps):
        fields = [cuda.device_array_like(now) for _ in range(3)]
        for i in range(steps):
            wave_step[(5, 5), (16, 16)](before, now, fields[i % 3])
            before, now = now, fields[i % 3]
        return now

    failed = _exceeded_limit("wave", simulate_wave)
    assert re.search(r"but a load of a warp touches 1\d.* sectors", failed.reason)
    assert "now(r, c) : 0" in failed.case


def test_a_limit_names_the_line_that_contributes_most():
    rows = [
        {"file": "k.py", "line": 3, "text": "a", "load_sectors_per_request": 32.0, "global_load_requests": 1},
        {"file": "k.py", "line": 4, "text": "b", "load_sectors_per_request": 16.0, "global_load_requests": 50},
        {"file": "k.py", "line": 5, "text": "", "load_sectors_per_request": 4.0, "global_load_requests": 500},
    ]  # fmt: skip
    total = {"load_sectors_per_request": 5.1}
    limit = counters.Limit("load_sectors_per_request", most=5, hint="Read rows.")
    with pytest.raises(Failed) as failed:
        counters.check_limits((limit,), counters.CallCounters(total, rows), "9 rows")
    assert failed.value.case.startswith("k.py, line 4: b\n")
    assert failed.value.case.endswith("16\nRead rows.")
    kept = counters.Limit("load_sectors_per_request", most=5.2)
    assert "5.1 (at most 5.2)" in counters.check_limits(
        (kept,), counters.CallCounters(total, rows), "9 rows"
    )


def test_a_launch_is_counted_by_another_process():
    arguments = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    task = _make_rotate_kernel(32, True), (2, 2), (32, 32), 0, arguments
    found = run_in_other_process(task, counters.count_launch)
    assert found.total["bank_conflicts"] == 31 * 32 * 4
    assert any("= tile[x][y]" in line["text"] for line in found.lines)
