"""examine() runs a launch with the simulator's checks: in this process, or in another process if
there is a GPU."""

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda
from numbalite.course import device, examine

CONSTANT = 2


@cuda.jit
def count_values(values, counts):
    """
    int i = grid<1>();
    if (i < values.size()) {
        int before = counts[values[i]];
        counts[values[i]] = before + CONSTANT;
    }
    """


RACE = line_numbers_of("counts[values[i]]", __file__)[:2]


@pytest.fixture(params=["here", "elsewhere"])
def run_here_or_in_child(request, monkeypatch):
    if request.param == "elsewhere":
        monkeypatch.setattr(device, "simulated", lambda: False)


def test_examine_reports_a_race(run_here_or_in_child, capsys):
    values, counts = np.zeros(64, np.int32), cuda.to_device(np.zeros(4, np.int32))
    found = examine(count_values[2, 32], values, counts, checks="race")
    assert (found.kind, found.kernel, found.array, found.index) == (
        "race",
        "count_values",
        "counts",
        0,
    )
    assert found.file == __file__ and found.line in RACE
    assert found.other_file == __file__ and found.other_line in RACE
    assert found.other_thread not in (None, found.thread)
    assert {found.access, found.other_access} <= {"reads", "writes"}
    assert capsys.readouterr().out == f"{found}\n"
    assert counts.copy_to_host().sum() == 0  # the launch worked on copies


def test_examine_reports_that_nothing_was_found(run_here_or_in_child, capsys):
    values = np.arange(32, dtype=np.int32)
    assert examine(count_values[2, 32], values, values.copy(), checks=("race", "memory")) is None
    assert capsys.readouterr().out == "nothing found by race, memory\n"
    assert values[-1] == 31
